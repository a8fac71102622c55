"""The two stages of a stream worker: killed anywhere, they end with what the pipeline makes.

Topics and the table's changelog are lists here; what a crash leaves of them is any beginning of
what was being sent. Brokers and real workers are in the tests of the Faust runtime.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, timedelta
from pathlib import Path
from random import Random

import msgspec
import pytest
from histories import PRIVATE, histories, history
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memstream.processors.pipeline import Pipeline
from memstream.processors.standard import standard_pipeline
from memstream.schemas.attributes import builtin
from memstream.schemas.codec import Codec
from memstream.schemas.errors import KeyDestroyed
from memstream.schemas.events import ErasureRequested, Event, MemoryChanged, Source
from memstream.schemas.instants import to_micros
from memstream.schemas.memories import canonical
from memstream.schemas.sealing import Sealer
from memstream.streams.bundles import Bundle, BundleCodec, Place, StateSeal
from memstream.streams.clock import SystemClock
from memstream.streams.kafka_messages import message_of
from memstream.streams.keyring_in_sqlite import SqliteKeyRing
from memstream.streams.scope_history import Message, ScopeHistory
from memstream.streams.stages import BrokenSequence, Deriving, Resolving
from memstream.streams.versioned_state import Table, VersionedState

PIPELINE = standard_pipeline()


class Store(Table):
    """The entries of one partition, in memory."""

    def __init__(self) -> None:
        self.entries: dict[bytes, bytes] = {}
        self.written: list[tuple[bytes, bytes | None]] = []

    def get(self, key: bytes) -> bytes | None:
        return self.entries.get(key)

    def put(self, key: bytes, entry: bytes) -> None:
        self.written.append((key, entry))
        self.entries[key] = entry

    def delete(self, key: bytes) -> None:
        self.written.append((key, None))
        self.entries.pop(key, None)

    def keys(self, prefix: bytes) -> Iterator[bytes]:
        return iter([key for key in self.entries if key.startswith(prefix)])


class Partition:
    """One partition of the whole application, and a worker that may be killed."""

    def __init__(self, codec: Codec, pipeline: Pipeline = PIPELINE, generation: str = "g") -> None:
        self.codec = codec
        self.generation = generation
        self.pipeline = pipeline
        self.topics: dict[str, list[bytes]] = {"events": [], "candidates": [], "memories": []}
        self.committed = {"events": 0, "candidates": 0}
        self.changelogs: dict[str, list[tuple[bytes, bytes | None]]] = {
            "deriving": [],
            "resolving": [],
        }
        self.start_worker()

    def start_worker(self) -> None:
        """A fresh worker: its tables are what the changelogs hold."""
        tables = {name: Store() for name in self.changelogs}
        for name, changelog in self.changelogs.items():
            for key, entry in changelog:
                if entry is None:
                    tables[name].entries.pop(key, None)
                else:
                    tables[name].entries[key] = entry
        self.tables = tables
        self.read = dict(self.committed)
        self.deriving = Deriving(
            self.pipeline, self.codec, tables["deriving"], 0, self._history,
            generation=self.generation,
        )  # fmt: skip
        self.resolving = Resolving(
            self.pipeline, self.codec, tables["resolving"], 0, generation=self.generation
        )

    def record(self, events: Iterable[Event]) -> None:
        self.topics["events"] += [self.codec.to_wire(each) for each in events]

    def step(self, stage: str, size: int, *, dies: Random | None = None) -> int:
        """A batch of one stage; how many messages it took. ``dies``: before its end, somewhere."""
        source, target = (
            ("events", "candidates") if stage == "deriving" else ("candidates", "memories")
        )
        work = self.deriving if stage == "deriving" else self.resolving
        start = self.read[source]
        batch: list[Message] = list(enumerate(self.topics[source]))[start : start + size]
        table = self.tables[stage]
        table.written.clear()
        made = work(batch)
        work.state.flush(self.committed[source])
        if dies is not None:
            self.topics[target] += made[: dies.randint(0, len(made))]
            self.changelogs[stage] += table.written[: dies.randint(0, len(table.written))]
            self.start_worker()
            return len(batch)
        self.topics[target] += made
        self.changelogs[stage] += table.written
        self.read[source] = start + len(batch)
        return len(batch)

    def commit(self, source: str) -> None:
        self.committed[source] = self.read[source]

    def drain(self, size: int = 7) -> None:
        for stage in ("deriving", "resolving"):
            while self.step(stage, size):
                pass

    def _history(self, scope: str, below: int) -> Iterable[Message]:
        for offset, wire in enumerate(self.topics["events"][:below]):
            if BundleCodec.names(wire)[0] == scope:
                yield offset, wire

    def bundles(self) -> list[Bundle]:
        """What a reader of the memories topic is left with: each bundle once, in order."""
        found: list[Bundle] = []
        place = Place()
        for message in self.topics["memories"]:
            bundle = BundleCodec.decode(message, where="memories")
            follows = BundleCodec.follows(bundle, place)
            if follows is None:
                continue
            assert follows, "a bundle is missing"
            found.append(bundle)
            place = Place(bundle.offset, bundle.part, bundle.last)
        return found

    def versions(self) -> dict[str, list[bytes]]:
        """Every memory version by scope, as a projection would hold them."""
        held: dict[str, list[bytes]] = defaultdict(list)
        codec = BundleCodec(self.codec)
        for bundle in self.bundles():
            if bundle.clears:
                held[bundle.scope].clear()
            for event in codec.readable(bundle, codec.raw(bundle)):
                if isinstance(event.data, MemoryChanged):
                    held[bundle.scope].append(canonical(event.data.memory))
        return {scope: found for scope, found in held.items() if found}


class _Plain(dict[str, msgspec.Struct]):
    def get(self, key: str, kind: type[msgspec.Struct]) -> msgspec.Struct | None:  # type: ignore[override]
        return super().get(key)

    def put(self, key: str, value: msgspec.Struct) -> None:
        self[key] = value

    def delete(self, key: str) -> None:
        self.pop(key, None)


def undisturbed(events: Sequence[Event]) -> dict[str, list[bytes]]:
    """What the uncut pipeline makes of the events, in one go."""
    state, held = _Plain(), defaultdict(list)
    for event in events:
        for out in PIPELINE(state, event):  # type: ignore[arg-type]
            if isinstance(out.data, MemoryChanged):
                held[event.subject].append(canonical(out.data.memory))
    return dict(held)


def recorded(events: Sequence[Event]) -> list[Event]:
    """The events with recorded times, as a log's clock gives them."""
    start = max(each.time for each in events).astimezone(UTC)
    return [
        msgspec.structs.replace(each, recordedtime=start + timedelta(seconds=number))
        for number, each in enumerate(events)
    ]


@pytest.fixture
def codec(tmp_path: Path) -> Iterator[Codec]:
    ring = SqliteKeyRing(tmp_path / "keys.db", SystemClock())
    yield Codec(Sealer(ring))
    ring.close()


SLOW = settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def test_the_first_keys_of_all_scopes_of_a_batch_are_made_in_one_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit takes milliseconds: one for each key would be most of what a new scope costs."""
    ring = SqliteKeyRing(tmp_path / "keys.db", SystemClock())
    partition = Partition(Codec(Sealer(ring)))
    partition.record(history(Random(5), 40))
    commits, made = list[set[str]](), list[str]()
    ensure, insert, making = ring.ensure, ring._insert_missing, list[str]()

    def ensures(subjects: Iterable[str]) -> None:
        making.clear()
        ensure(subjects)
        commits.append(set(making))

    def inserts(subject: str) -> None:
        making.append(subject)
        made.append(subject)
        insert(subject)

    monkeypatch.setattr(ring, "ensure", ensures)
    monkeypatch.setattr(ring, "_insert_missing", inserts)
    size = len(partition.topics["events"])
    for stage in ("deriving", "resolving"):
        assert partition.step(stage, size) == size
    assert len(commits) == 2
    assert set(made) == commits[0] | commits[1]
    assert len(made) > 8
    ring.close()


class TestCut:
    @SLOW
    @given(histories(longest=30), st.integers(1, 9))
    def test_the_stages_make_what_the_whole_pipeline_makes(
        self, codec: Codec, events: list[Event], size: int
    ) -> None:
        events = recorded(events)
        partition = Partition(codec)
        partition.record(events)
        partition.drain(size)
        assert partition.versions() == undisturbed(events)

    @SLOW
    @given(histories(longest=40), st.randoms(use_true_random=False))
    def test_a_worker_killed_anywhere_ends_with_the_same(
        self, codec: Codec, events: list[Event], random: Random
    ) -> None:
        events = recorded(events)
        partition = Partition(codec)
        partition.record(events)
        disturb(partition, random)
        partition.drain()
        assert partition.versions() == undisturbed(events)

    @SLOW
    @given(histories(longest=25), st.randoms(use_true_random=False))
    def test_events_sent_again_change_nothing(
        self, codec: Codec, events: list[Event], random: Random
    ) -> None:
        events = recorded(events)
        sent: list[Event] = []
        for event in events:
            sent.append(event)
            if random.random() < 0.3:
                sent.append(random.choice(sent))
        partition = Partition(codec)
        partition.record(sent)
        disturb(partition, random)
        partition.drain()
        assert partition.versions() == undisturbed(events)

    def test_state_that_forgets_which_message_wrote_it_is_found_out(
        self, codec: Codec, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The canary: were every message to read all that was ever written, this would show."""
        later = itertools.count(10**12)
        monkeypatch.setattr(
            VersionedState, "begin", lambda self, _: _began(self, next(later)), raising=True
        )
        events = recorded(history(Random(5), 60))
        wrong = 0
        for seed in range(6):
            partition = Partition(codec)
            partition.record(events)
            try:
                disturb(partition, Random(seed))
                partition.drain()
                wrong += partition.versions() != undisturbed(events)
            except (AssertionError, BrokenSequence):
                wrong += 1
        assert wrong

    def test_a_missing_bundle_stops_the_stage(self, codec: Codec) -> None:
        partition = Partition(codec)
        partition.record(recorded(history(Random(1), 8)))
        while partition.step("deriving", 3):
            pass
        del partition.topics["candidates"][3]
        with pytest.raises(BrokenSequence, match=r"event 4 \(part 0, after 3\) follows that of 2"):
            partition.drain()

    def test_clocks_that_run_backwards_are_put_right(self, codec: Codec) -> None:
        events = recorded(history(Random(3), 40, scopes=PRIVATE[:1]))
        skewed = [
            msgspec.structs.replace(
                each, recordedtime=each.recorded_at - timedelta(hours=number % 3)
            )
            for number, each in enumerate(events)
        ]
        partition = Partition(codec)
        partition.record(skewed)
        partition.drain()
        times = [bundle.recordedtime for bundle in partition.bundles()]
        assert times == sorted(times)  # type: ignore[type-var]
        assert len(set(times)) == len(times)

    def test_a_poison_message_is_a_dead_letter_and_the_rest_goes_on(self, codec: Codec) -> None:
        events = recorded(history(Random(2), 12))
        partition = Partition(codec)
        partition.record(events[:6])
        partition.topics["events"].append(b"\xff not an event")
        partition.record(events[6:])
        partition.drain()
        outcomes = [bundle.outcome for bundle in partition.bundles()]
        assert outcomes.count("dead_lettered") == 1
        assert outcomes[6] == "dead_lettered"
        assert "no event of memstream" in BundleCodec(codec).error(partition.bundles()[6])
        assert partition.versions() == undisturbed(events)


class TestErasure:
    @SLOW
    @given(histories(shortest=12, longest=30, scopes=PRIVATE[:2]), st.randoms())
    def test_what_stays_is_what_the_rest_makes(
        self, codec: Codec, events: list[Event], random: Random
    ) -> None:
        """With the keys destroyed at any time after the request was recorded."""
        events = recorded(events)
        cut = random.randrange(4, len(events))
        victim = random.choice(events[:cut])
        request = msgspec.structs.replace(
            victim,
            id="request",
            type="erasure.requested",
            data=ErasureRequested(events=(victim.id,)),
            source=Source("admin_edit", 4),
            recordedtime=events[cut - 1].recorded_at + timedelta(milliseconds=1),
        )
        partition = Partition(codec)
        partition.record([*events[:cut], request, *events[cut:]])
        disturb(partition, random)
        partition.drain()
        rest = [each for each in events if each is not victim]
        assert partition.versions() == undisturbed(rest)

    def test_a_whole_scope_goes_and_nothing_of_it_opens(self, codec: Codec) -> None:
        events = recorded(history(Random(8), 30, scopes=PRIVATE[:2]))
        gone = events[0].subject
        request = msgspec.structs.replace(
            events[-1],
            id="request",
            subject=gone,
            type="erasure.requested",
            data=ErasureRequested(),
            source=Source("admin_edit", 4),
            recordedtime=events[-1].recorded_at + timedelta(seconds=1),
        )
        partition = Partition(codec)
        partition.record(events)
        partition.drain()
        assert codec.sealer is not None
        before = partition.versions()
        codec.sealer.ring.destroy(gone)
        codec.sealer.forget()
        partition.record([request])
        partition.drain()
        cleared = [at for at, bundle in enumerate(partition.bundles()) if bundle.clears]
        assert len(cleared) == 1
        bundles = BundleCodec(codec)
        for bundle in partition.bundles()[: cleared[0]]:
            if bundle.scope == gone:
                assert bundles.raw(bundle) is None
                if bundle.derived:
                    with pytest.raises(KeyDestroyed):
                        bundles.flowing(bundle, None)
        said = [each for each in words_of(events) if each not in gone]
        assert said
        for opened in everything_readable(partition, gone):
            assert not any(each.encode() in opened for each in said)
        assert before.keys() - {gone}

    @pytest.mark.parametrize("whole", [False, True], ids=["one event", "the scope"])
    @pytest.mark.parametrize("seed", range(8))
    def test_on_a_topic_the_rest_stands_where_it_stood_and_the_erased_opens_nowhere(
        self, codec: Codec, seed: int, whole: bool
    ) -> None:
        """Twice: the second erasure dooms the key of the first one's request and copies. Workers
        die anywhere, and a second generation reads all of it when the keys are gone."""
        random = Random(seed)
        events = recorded(history(random, 24, scopes=PRIVATE[:2]))
        subject = events[0].subject
        partition, erased = Partition(codec), set[str]()
        for at, event in enumerate(events):
            partition.record([event])
            if at in (9, 17):
                own = [each for each in events[: at + 1] if each.subject == subject]
                names = {each.id for each in own} if whole else {random.choice(own).id}
                erased |= names
                erase(partition, subject, set() if whole else names, event, random)
        disturb(partition, random)
        partition.drain()
        again = Partition(codec, generation="another")
        again.topics["events"] = partition.topics["events"]
        again.drain(3)
        rest = [each for each in events if each.subject != subject or each.id not in erased]
        kept = undisturbed(rest)
        assert partition.versions() == again.versions() == kept
        # A word that memories of the rest hold (the name of an attribute) says nothing.
        held = b" ".join(each for versions in kept.values() for each in versions).decode()
        gone = words_of(each for each in events if each not in rest) - words_of(rest)
        gone = {each for each in gone if each not in held}
        for each in (partition, again):
            for opened in everything_readable(each, subject):
                assert not [(word, opened) for word in gone if word.encode() in opened]

    def test_what_was_erased_does_not_come_back_by_its_id(self, codec: Codec) -> None:
        events = recorded(history(Random(4), 20, scopes=PRIVATE[:1]))
        partition = Partition(codec)
        partition.record(events)
        erase(partition, events[0].subject, {events[3].id}, events[-1])
        partition.record([events[3]])  # a producer that does not know sends it again
        partition.drain()
        rest = [each for each in events if each is not events[3]]
        assert partition.versions() == undisturbed(rest)

    def test_an_event_under_a_doomed_key_that_comes_late_counts_when_its_copy_comes(
        self, codec: Codec
    ) -> None:
        assert codec.sealer is not None
        events = recorded(history(Random(6), 20, scopes=PRIVATE[:1]))
        partition = Partition(codec)
        partition.record(events[:-1])
        late = codec.to_wire(events[-1])
        erase(partition, events[0].subject, {events[3].id}, events[-2])
        partition.topics["events"].append(late)
        partition.drain()
        assert [each.outcome for each in partition.bundles()][-1] == "erased"
        partition.record(events[-1:])
        partition.drain()
        rest = [each for each in events if each is not events[3]]
        assert partition.versions() == undisturbed(rest)

    @pytest.mark.parametrize("sent", [0, 1, 3, 100])
    def test_a_request_whose_key_went_while_its_bundles_were_sent(
        self, codec: Codec, sent: int
    ) -> None:
        events = recorded(history(Random(7), 20, scopes=PRIVATE[:1]))
        subject, partition = events[0].subject, Partition(codec)
        partition.record(events[:12])
        partition.drain()
        partition.commit("events")
        partition.commit("candidates")
        erase(partition, subject, {events[2].id}, events[11])
        request = len(partition.topics["events"]) - 1
        partition.record(events[12:])
        batch = list(enumerate(partition.topics["events"]))[12:]
        partition.topics["candidates"] += partition.deriving(batch)[: request - 12 + sent]
        partition.start_worker()
        (_, _, key_id) = BundleCodec.names(partition.topics["events"][request])
        erase(partition, subject, {events[4].id}, events[-1], also={key_id})
        partition.drain()
        rest = [each for each in events if each not in (events[2], events[4])]
        assert partition.versions() == undisturbed(rest)

    def test_what_a_dead_letter_says_is_sealed(
        self, codec: Codec, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fails(self: object, state: object, event: Event) -> list[Event]:
            raise ValueError(f"cannot read {event.data}")

        monkeypatch.setattr(type(PIPELINE.processors[1]), "__call__", fails)
        events = recorded(history(Random(2), 6, scopes=PRIVATE[:1]))
        partition = Partition(codec)
        partition.record(events)
        partition.drain()
        (letter, *_) = [each for each in partition.bundles() if each.outcome == "dead_lettered"]
        assert letter.error == "ValueError"
        assert "cannot read" in BundleCodec(codec).error(letter)
        written = b"".join(partition.topics["candidates"] + partition.topics["memories"])
        assert not [each for each in words_of(events) if each.encode() in written]


def erase(
    partition: Partition,
    scope: str,
    names: set[str],
    last: Event,
    random: Random | None = None,
    also: Iterable[str] = (),
) -> None:
    """As an erasure writes it: a new key, copies of what the doomed keys seal, the request; and
    then the keys go, while workers are anywhere."""
    codec = partition.codec
    assert codec.sealer is not None
    ring = codec.sealer.ring
    ring.rotate(scope)
    written = list(partition.topics["events"])
    history = ScopeHistory(codec, scope, enumerate(written))
    doomed = {
        copy.row.key_id for told in history for copy in told.copies if not names or told.id in names
    } & set(ring.keys(scope)) | {*also}
    if not names:
        doomed = set(ring.keys(scope)[:-1])
    request = msgspec.structs.replace(
        last,
        id=f"request {len(written)}",
        subject=scope,
        type="erasure.requested",
        data=ErasureRequested(events=tuple(sorted(names)), keys=tuple(sorted(doomed))),
        source=Source("admin_edit", 4),
        recordedtime=last.recorded_at + timedelta(milliseconds=1),
    )
    for told in history:
        kept = None if history.is_erased(told) else history.kept(told)
        if names and told.id not in names and kept and kept.row.key_id in doomed:
            row = codec.resealed(kept.row)
            assert row.recordedtime is not None
            partition.topics["events"].append(message_of(row, to_micros(row.recordedtime)).value)
    partition.record([request])
    if random is not None:
        disturb(partition, random, 8)
    ring.destroy(scope, key_ids=doomed)
    codec.sealer.forget()
    if random is not None:
        disturb(partition, random, 8)


def words_of(events: Iterable[Event]) -> set[str]:
    """The words in the events' texts that are long enough to look for; those in the names of
    attributes say nothing."""
    found: set[str] = set()
    for event in events:
        said = msgspec.to_builtins(event.data)
        for name in ("text", "value", "note", "replacement"):
            found |= {each for each in re.findall(r"\w+", said.get(name, "")) if len(each) >= 6}
    named = " ".join(builtin())
    return {each for each in found if each not in named}


def everything_readable(partition: Partition, scope: str) -> Iterator[bytes]:
    """All that present keys still open of what was written about a scope: topics, tables and
    changelogs, dead workers' among them."""
    codec = partition.codec
    for wire in partition.topics["events"]:
        with suppress(KeyDestroyed):
            event = codec.from_wire(wire)
            if event.subject == scope and not isinstance(event.data, ErasureRequested):
                yield codec.plain(codec.to_row(event))
    bundles = BundleCodec(codec)
    for message in partition.topics["candidates"] + partition.topics["memories"]:
        bundle = BundleCodec.decode(message, where="")
        if bundle.scope == scope:
            yield from (msgspec.json.encode(each.data) for each in bundles.readable(bundle, None))
    for stage, changelog in partition.changelogs.items():
        seal = StateSeal(codec, partition.generation, stage)
        for key, entry in changelog:
            if entry is not None and key.startswith(scope.encode() + b"\x1f"):
                yield seal.open(scope, key, entry) or b""


def disturb(partition: Partition, random: Random, steps: int = 40) -> None:
    """Steps of both stages in any order, with deaths and commits anywhere between."""
    for _ in range(steps):
        stage = random.choice(("deriving", "resolving"))
        dies = random if random.random() < 0.3 else None
        partition.step(stage, random.randint(1, 9), dies=dies)
        if random.random() < 0.4:
            partition.commit("events" if stage == "deriving" else "candidates")
        if random.random() < 0.1:
            partition.start_worker()


_begin = VersionedState.begin


def _began(state: VersionedState, offset: int) -> None:
    _begin(state, offset)

"""The state store: a batch happens or does not, readers see whole steps, and erased is erased."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstream.processors.pipeline import State, key
from memstream.projections.projection import Generation
from memstream.schemas.errors import ProjectionDamaged, WrongGeneration
from memstream.schemas.events import (
    CandidateExtracted,
    Event,
    MemoryChanged,
    Source,
    TurnRecorded,
    WriteDecided,
)
from memstream.schemas.memories import Assertion, Memory, Outcome, canonical, digest
from memstream.streams.sqlite_files import FileUnavailable
from memstream.streams.state_in_sqlite import StateStore
from memstream.streams.state_transaction import Transaction
from memstream.streams.state_values import Values

GENERATION = Generation(pipeline="p1", embedder="none", schema="1")
START = datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)
ADA, BOB = "acme/user:ada", "acme/user:bob"


class Slot(msgspec.Struct, frozen=True):
    value: str
    count: int = 0


class Other(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: int


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


@pytest.fixture
def store(path: Path) -> Iterator[StateStore]:
    store = StateStore.open(path, GENERATION)
    yield store
    store.close()


def memory(name: str, version: int = 1, scope: str = ADA, **changes: object) -> Memory:
    made = Memory(
        id=f"m-{name}",
        version=version,
        scope=scope,
        kind="fact",
        status="active",
        attribute="allergy",
        value=name,
        text=f"The user is allergic to {name}.",
        observed_at=START,
        valid_from=START,
        created_at=START + timedelta(minutes=version),
        trust=3,
        source_kind="user_said",
        content_key=name,
        supports=("e1",),
    )
    return msgspec.structs.replace(made, **changes)


def event(event_id: str, scope: str = ADA, text: str = "hello there") -> Event:
    return Event(
        id=event_id,
        type="turn.recorded",
        subject=scope,
        time=START.astimezone(timezone(timedelta(hours=8))),
        source=Source("user_said", 3, "tests", "r1"),
        data=TurnRecorded(role="user", text=text, actor="user"),
        recordedtime=START,
    )


def decided(about: str, outcome: Outcome, scope: str = ADA) -> Event:
    raw = event(about, scope)
    data = WriteDecided(
        event=about, outcome=outcome, reason="because", factors={"z": 1.5, "a": 0.1}
    )
    return msgspec.structs.replace(raw, id=f"d-{about}", type="write.decided", data=data)


def asserted(made: Memory, cause: str = "e1") -> Event:
    data = MemoryChanged(memory=made, actor="resolve")
    raw = event(cause, made.scope)
    kind = "memory.asserted"
    return msgspec.structs.replace(raw, id=f"a-{made.id}-{made.version}", type=kind, data=data)


def candidate(cause: str, words: str, scope: str = ADA) -> Event:
    assertion = Assertion(
        event=cause, ordinal=0, scope=scope, kind="fact", value=words, valid_from=START,
        observed_at=START, trust=3, source_kind="user_said", text=words, quote=words, span=(0, 5),
    )  # fmt: skip
    data = CandidateExtracted(assertion=assertion)
    return msgspec.structs.replace(
        event(cause, scope), id=f"c-{cause}", type="candidate.extracted", data=data
    )


def add(batch: Transaction, offset: int, raw: Event, *derived: Event) -> None:
    batch.add_step(
        partition=0, offset=offset, scope=raw.subject, event_id=raw.id, event=raw, derived=derived
    )
    batch.advance(0, max(offset + 1, batch.positions.get(0, 0)))


def test_what_is_put_is_seen_in_the_batch_and_after_it(store: StateStore) -> None:
    a, b = key(ADA, "slot", "a"), key(ADA, "slot", "b")
    with store.transaction() as batch:
        state: State = batch
        assert state.get(a, Slot) is None
        state.put(a, Slot("one"))
        assert state.get(a, Slot) == Slot("one")
        state.delete(a)
        assert state.get(a, Slot) is None
        state.put(a, Slot("two"))
        state.put(b, Slot("b"))
    with store.transaction() as batch:
        assert batch.get(a, Slot) == Slot("two")
        batch.delete(b)
    with store.transaction() as batch:
        assert batch.get(b, Slot) is None


def test_a_value_is_read_again_after_reopening(store: StateStore, path: Path) -> None:
    with store.transaction() as batch:
        batch.put("k", Slot("北京 ☂", 7))
    store.close()
    again = StateStore.open(path, GENERATION)
    with again.transaction() as batch:
        assert batch.get("k", Slot) == Slot("北京 ☂", 7)
    with pytest.raises(ProjectionDamaged, match=r"is no Other.*mend"), again.transaction() as batch:
        batch.get("k", Other)
    again.close()


@pytest.mark.parametrize("limits", [{"most_unmerged": 40}, {"most_unmerged_bytes": 900}])
def test_values_are_the_same_before_and_after_they_are_merged(
    path: Path, limits: dict[str, int]
) -> None:
    store, model = StateStore.open(path, GENERATION, values=Values(**limits, cached=5)), {}
    merges = 0
    for number in range(60):
        with store.transaction() as batch:
            for at in range(5):
                name = f"k{number * 7 % 11}-{at}"
                if (number + at) % 6:
                    batch.put(name, Slot(name, number))
                    model[name] = number
                else:
                    batch.delete(name)
                    model.pop(name, None)
        with sqlite3.connect(path) as look:
            merges += look.execute("SELECT count(*) FROM unmerged").fetchone() == (0,)
        if number % 13 == 0:
            store.close()
            store = StateStore.open(path, GENERATION, values=Values(**limits, cached=5))
    assert 2 < merges < 50
    with store.transaction() as batch:
        found = {f"k{a}-{b}": batch.get(f"k{a}-{b}", Slot) for a in range(11) for b in range(5)}
    assert {name: slot.count for name, slot in found.items() if slot} == model
    store.close()


def test_an_exception_rolls_the_whole_batch_back(store: StateStore) -> None:
    with store.transaction() as batch:
        batch.put("k", Slot("kept"))
        add(batch, 0, event("e0"), decided("e0", "stored"))

    def failing() -> None:
        with store.transaction() as batch:
            batch.put("k", Slot("lost"))
            batch.put("new", Slot("lost"))
            add(batch, 1, event("e1"), decided("e1", "stored"), asserted(memory("nuts")))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing()
    with store.transaction() as batch:
        assert batch.get("k", Slot) == Slot("kept")
        assert batch.get("new", Slot) is None
    assert store.last_seq() == 1
    assert store.positions() == {0: 1}
    assert store.outcomes() == {"stored": 1}
    assert store.tally().count == 0


def test_one_failing_event_leaves_the_rest_of_the_batch(store: StateStore) -> None:
    def failing(batch: Transaction) -> None:
        with batch.isolated() as state:
            assert state.get("k", Slot) == Slot("first")
            state.put("k", Slot("spoiled"))
            state.delete("gone")
            assert state.get("k", Slot) == Slot("spoiled")
            raise ValueError("bad")

    with store.transaction() as batch:
        with batch.isolated() as state:
            state.put("k", Slot("first"))
        with pytest.raises(ValueError, match="bad"):
            failing(batch)
        with batch.isolated() as state:
            assert state.get("k", Slot) == Slot("first")
            state.delete("k")
            assert state.get("k", Slot) is None
        assert batch.get("k", Slot) is None


KEYS = st.sampled_from("abcd")
ACTIONS = st.lists(
    st.lists(
        st.tuples(
            st.booleans(), st.lists(st.tuples(KEYS, st.none() | st.integers(0, 9)), max_size=4)
        ),
        max_size=4,
    ),
    max_size=5,
)


@given(ACTIONS, st.sets(st.integers(0, 4)))
def test_the_store_is_a_dict_that_forgets_failures(
    tmp_path_factory: pytest.TempPathFactory,
    batches: list[list[tuple[bool, list[tuple[str, int | None]]]]],
    failing: set[int],
) -> None:
    path = tmp_path_factory.mktemp("state") / "state.db"
    # So few that values lie unmerged, merged, cached and evicted within one example.
    values = Values(most_unmerged=3, cached=1)
    store, model = StateStore.open(path, GENERATION, values=values), dict[str, int]()
    for number, batch in enumerate(batches):
        trial = dict(model)
        try:
            with store.transaction() as transaction:
                for fails, changes in batch:
                    inner = dict(trial)
                    try:
                        with transaction.isolated() as state:
                            for name, value in changes:
                                held = state.get(name, Slot)
                                assert (held and held.count) == inner.get(name)
                                if value is None:
                                    state.delete(name)
                                    inner.pop(name, None)
                                else:
                                    state.put(name, Slot("v", value))
                                    inner[name] = value
                            if fails:
                                raise LookupError
                        trial = inner
                    except LookupError:
                        pass
                if number in failing:
                    raise ArithmeticError
            model = trial
        except ArithmeticError:
            pass
    for look in (store, StateStore.open(path, GENERATION)):
        with look.transaction() as transaction:
            found = {name: transaction.get(name, Slot) for name in "abcd"}
        assert {name: slot.count for name, slot in found.items() if slot} == model
        look.close()


def test_steps_come_back_whole_and_in_order(store: StateStore) -> None:
    derived = [
        (decided("e0", "stored"), candidate("e0", "allergic to nuts"), asserted(memory("nuts"))),
        (),
        (asserted(memory("nuts", 2)), decided("e2", "stored"), asserted(memory("soy"))),
    ]
    made = []
    with store.transaction() as batch:
        for offset, events in enumerate(derived):
            raw = event(f"e{offset}")
            made.append(
                batch.add_step(
                    partition=0,
                    offset=offset,
                    scope=ADA,
                    event_id=raw.id,
                    event=raw,
                    derived=events,
                )
            )
    assert [step.seq for step in made] == [1, 2, 3]
    without_raw = [msgspec.structs.replace(step, event=None) for step in made]
    assert store.steps_from(0, 10) == without_raw
    assert store.steps_from(1, 1) == without_raw[1:2]
    assert store.steps_from(3, 10) == []
    assert store.steps_of(ADA, "e2") == without_raw[2:]
    assert store.steps_of(BOB, "e2") == []
    assert [each.time.utcoffset() for each in store.steps_from(0, 1)[0].derived] == [
        timedelta(hours=8)
    ] * 3


def test_memories_expire_when_their_next_version_was_made(store: StateStore) -> None:
    versions = [memory("nuts", 1), memory("nuts", 2, status="superseded"), memory("soy", 1)]
    with store.transaction() as batch:
        add(batch, 0, event("e0"), asserted(versions[0]), asserted(versions[2]))
        add(batch, 1, event("e1"), asserted(versions[1]))
        add(batch, 2, event("e2", BOB), asserted(memory("dust", scope=BOB)))
    found = store.memories_of(ADA)
    assert [(each.id, each.version, each.expired_at) for each in found] == [
        ("m-nuts", 1, versions[1].created_at),
        ("m-nuts", 2, None),
        ("m-soy", 1, None),
    ]
    assert [canonical(each) for each in found[1:]] == [canonical(each) for each in versions[1:]]
    assert store.memories_of(ADA, "m-soy") == [versions[2]]
    assert store.memories_of("acme/user:cy") == []


def test_the_tally_is_of_the_versions_up_to_a_step(store: StateStore) -> None:
    made = [memory(f"food {number}") for number in range(6)]
    with store.transaction() as batch:
        for number in range(0, 6, 2):
            pair = [asserted(each) for each in made[number : number + 2]]
            add(batch, number, event(f"e{number}"), *pair)
    for seq in range(4):
        tally = store.tally(seq)
        assert tally.count == 2 * seq
        assert tally.checksum == sum(digest(each) for each in made[: 2 * seq])
    assert store.tally() == store.tally(3)


def test_outcomes_count_every_event_once_as_it_stands(store: StateStore) -> None:
    with store.transaction() as batch:
        add(batch, 0, event("e0"), decided("e0", "stored"))
        add(batch, 1, event("e1"), decided("e1", "held"))
        add(batch, 2, event("e2"))
        add(batch, 3, event("e3"), decided("e3", "rejected"))
    assert store.outcomes() == {"held": 1, "rejected": 1, "stored": 1, "undecided": 1}
    with store.transaction() as batch:
        # A review in a later batch, one in the same batch, one of an event yet to come.
        add(batch, 4, event("r1"), decided("e1", "stored"), decided("r1", "stored"))
        add(batch, 5, event("e5"), decided("e5", "quarantined"))
        add(batch, 6, event("r5"), decided("e5", "rejected"), decided("r5", "stored"))
        add(batch, 7, event("r8"), decided("e8", "stored"), decided("r8", "stored"))
        add(batch, 8, event("e8"), decided("e8", "held"))
    assert store.outcomes() == {"held": 1, "rejected": 2, "stored": 5, "undecided": 1}
    assert store.outcome_of(ADA, "e1") == "stored"
    assert store.outcome_of(ADA, "e5") == "rejected"
    assert store.outcome_of(ADA, "e8") == "held"
    assert store.outcome_of(BOB, "e8") is None
    assert sum(store.outcomes().values()) == store.positions()[0]


def test_an_outcome_can_be_given(store: StateStore) -> None:
    with store.transaction() as batch:
        batch.add_step(
            partition=0, offset=0, scope=ADA, event_id="e0", event=None, derived=(),
            outcome="erased",
        )  # fmt: skip
    assert store.outcomes() == {"erased": 1}
    assert store.outcome_of(ADA, "e0") == "erased"


def test_a_dead_letter_is_counted_until_the_event_goes_through(store: StateStore) -> None:
    def fail(batch: Transaction, attempts: int, retry_at: datetime | None) -> None:
        batch.add_dead_letter(
            partition=0, offset=1, scope=ADA, event_id="e1", attempts=attempts,
            error="ValueError: no", retry_at=retry_at,
        )  # fmt: skip

    with store.transaction() as batch:
        add(batch, 0, event("e0"), decided("e0", "stored"))
        fail(batch, 1, START)
        add(batch, 1, event("e1"))
        add(batch, 2, event("e2"), decided("e2", "stored"))
    assert store.outcomes() == {"dead_lettered": 1, "stored": 2}
    (letter,) = store.dead_letters(due=START)
    assert (letter.event_id, letter.attempts, letter.retry_at) == ("e1", 1, START)
    assert store.dead_letters(due=START - timedelta(seconds=1)) == []
    assert store.dead_letters(BOB) == []
    with store.transaction() as batch:
        fail(batch, 2, None)
    assert store.dead_letters(due=START + timedelta(days=1)) == []
    assert store.dead_letters(ADA)[0].attempts == 2
    with store.transaction() as batch:
        batch.resolve_dead_letter(0, 1)
        add(batch, 1, event("e1"), decided("e1", "rejected"))
    assert store.dead_letters() == []
    assert [each.event_id for each in store.dead_letters(resolved=True)] == ["e1"]
    assert store.outcomes() == {"rejected": 1, "stored": 2}
    assert store.positions() == {0: 3}
    assert [step.seq for step in store.steps_of(ADA, "e1")] == [2, 4]


def test_readers_see_whole_batches_while_one_is_written(store: StateStore) -> None:
    stop = threading.Event()
    torn: list[object] = []

    def read() -> None:
        while not stop.is_set():
            steps = store.steps_from(0, 10_000)
            if len(steps) % 7 or any(len(step.derived) != 2 for step in steps):
                torn.append(steps)
            count = store.tally().count
            if count % 7:
                torn.append(count)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(25):
        with store.transaction() as batch:
            for at in range(7):
                name = f"{number}-{at}"
                add(
                    batch,
                    number * 7 + at,
                    event(name),
                    decided(name, "stored"),
                    asserted(memory(name)),
                )
    stop.set()
    for thread in threads:
        thread.join()
    assert torn == []
    assert store.outcomes() == {"stored": 175}


def test_another_process_reads_and_its_erasure_is_noticed(store: StateStore, path: Path) -> None:
    with store.transaction() as batch:
        batch.put(key(ADA, "slot"), Slot("old"))
        add(batch, 0, event("e0"), decided("e0", "stored"), asserted(memory("nuts")))
    source = (
        "import sys; from pathlib import Path\n"
        "from memstream.streams.state_in_sqlite import StateStore\n"
        "store = StateStore.open(Path(sys.argv[1]), None)\n"
        "print(store.last_seq(), len(store.memories_of(sys.argv[2])))\n"
        "print(store.erase_scope(sys.argv[2]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", source, str(path), ADA], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["1", "1", "3"]
    with store.transaction() as batch:
        assert batch.get(key(ADA, "slot"), Slot) is None
        add(batch, 1, event("e1"), decided("e1", "stored"))
    assert [step.seq for step in store.steps_from(0, 9)] == [1, 2]


def filled(store: StateStore, word: str, scope: str, count: int, first: int) -> None:
    with store.transaction() as batch:
        for at in range(count):
            name, words = f"{word}{at}", f"{word}-{at} " * (1 + at % 40)
            batch.put(key(scope, "slot", words), Slot(words))
            with batch.isolated() as state:
                state.put(key(scope, "memo", name), Slot(words))
            batch.add_dead_letter(
                partition=1, offset=first + at, scope=scope, event_id=name, attempts=1,
                error=words, retry_at=None,
            )  # fmt: skip
            add(
                batch, first + at, event(name, scope, words), decided(name, "stored", scope),
                candidate(name, words, scope),
                asserted(memory(name, scope=scope, text=words), name),
            )  # fmt: skip


def in_no_file(path: Path, word: str) -> bool:
    return not any(word.encode() in file.read_bytes() for file in path.parent.iterdir())


def test_an_erased_scope_is_in_no_byte_of_any_file(store: StateStore, path: Path) -> None:
    for turn in range(8):
        filled(store, f"porcupine{turn}x", ADA, 60, turn * 120)
        filled(store, f"walrus{turn}x", BOB, 60, turn * 120 + 60)
    assert not in_no_file(path, "porcupine7x-59 ")
    before, outcomes = store.memories_of(BOB), store.outcomes()
    assert store.erase_scope(ADA) == 480 * 4
    assert in_no_file(path, "-59 porcupine")
    for turn in range(8):
        assert in_no_file(path, f"porcupine{turn}x-")
    assert not in_no_file(path, "walrus7x-59 ")
    assert store.memories_of(ADA) == []
    assert store.memories_of(BOB) == before
    assert store.outcomes() == outcomes
    steps = store.steps_from(0, 10_000)
    assert [step.seq for step in steps] == list(range(1, 961))
    assert all(bool(step.derived) == (step.scope == BOB) for step in steps)
    assert {each.error for each in store.dead_letters(ADA)} == {"erased"}
    assert store.tally().count == 480
    assert store.erase_scope(ADA) == 0


def test_erased_events_go_and_the_others_stay(store: StateStore, path: Path) -> None:
    filled(store, "porcupine", ADA, 20, 0)
    with store.transaction() as batch:
        add(batch, 50, event("later"), asserted(memory("porcupine3", 2, text="porcupine-3 again")))
    events, memories = ["porcupine3", "porcupine4"], ["m-porcupine3", "m-porcupine4"]
    assert store.erase_events(ADA, events, memories) == 2 + 3 + 40
    for number in (3, 4):
        assert in_no_file(path, f"porcupine-{number} ")
    assert not in_no_file(path, "porcupine-5 ")
    assert len(store.memories_of(ADA)) == 18
    assert len(store.steps_from(0, 100)) == 21
    assert store.steps_of(ADA, "later")[0].derived == ()
    assert store.steps_of(ADA, "porcupine4")[0].derived == ()
    assert len(store.steps_of(ADA, "porcupine5")[0].derived) == 3
    with store.transaction() as batch:
        assert batch.get(key(ADA, "memo", "porcupine5"), Slot) is None


def test_a_scope_whose_name_begins_alike_is_left_alone(store: StateStore) -> None:
    with store.transaction() as batch:
        for scope in (ADA, ADA + "2", ADA + "-lovelace"):
            batch.put(key(scope, "slot"), Slot(scope))
    assert store.erase_scope(ADA) == 1
    with store.transaction() as batch:
        assert batch.get(key(ADA, "slot"), Slot) is None
        assert batch.get(key(ADA + "2", "slot"), Slot) is not None
        assert batch.get(key(ADA + "-lovelace", "slot"), Slot) is not None


def test_another_generation_is_refused(store: StateStore, path: Path) -> None:
    other = msgspec.structs.replace(GENERATION, embedder="e5")
    with pytest.raises(WrongGeneration, match=r"built by .*mend: rebuild"):
        StateStore.open(path, other)
    same = StateStore.open(path, None)
    assert same.generation() == GENERATION
    same.close()


def test_damage_is_stated(store: StateStore, path: Path) -> None:
    filled(store, "x", ADA, 200, 0)
    store.scrub()
    store.close()
    whole = path.read_bytes()
    os.truncate(path, len(whole) // 2)
    with pytest.raises(ProjectionDamaged, match="mend: rebuild it from the log"):
        StateStore.open(path, GENERATION).tally()
    path.write_bytes(b"")
    with pytest.raises(ProjectionDamaged, match=r"empty.*mend"):
        StateStore.open(path, GENERATION)
    path.write_bytes(b"\x00garbage" * 999)
    with pytest.raises(ProjectionDamaged, match="mend"):
        StateStore.open(path, GENERATION)
    path.unlink()
    sqlite3.connect(path).execute("CREATE TABLE other(x)").connection.close()
    with pytest.raises(ProjectionDamaged, match="another kind"):
        StateStore.open(path, GENERATION)
    with pytest.raises(FileUnavailable, match="mend"):
        StateStore.open(path.with_name("absent.db"), None)


def test_a_full_disk_loses_the_batch_and_nothing_else(store: StateStore) -> None:
    filled(store, "x", ADA, 10, 0)
    (pages,) = store._writer.execute("PRAGMA page_count").fetchone()
    store._writer.execute(f"PRAGMA max_page_count={pages}")
    with pytest.raises(FileUnavailable, match="full; nothing was written; mend"):
        filled(store, "y", ADA, 500, 10)
    store._writer.execute("PRAGMA max_page_count=1000000")
    assert store.last_seq() == 10
    filled(store, "y", ADA, 500, 10)
    assert store.last_seq() == 510
    assert store.outcomes() == {"stored": 510}

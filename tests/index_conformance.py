"""What every search index must do. A backend runs this suite by subclassing it.

A subclass supplies ``open_index``, and ``program`` where its index outlives a killed process; the
class attribute ``embedder`` says with which vectors it is run.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))

from index_steps import (
    DAY,
    NOW,
    OTHER_WORDS,
    START,
    bytes_hold,
    child_process,
    found,
    history,
    memory,
    step,
    steps,
    tally,
)
from index_surroundings import Surroundings
from thorough import first_of

from memstream.processors.lexemes import lexemes
from memstream.projections.embedders import Embedder, HashEmbedder
from memstream.projections.points import point_id
from memstream.projections.projection import Generation, Step
from memstream.projections.queries import (
    Channel,
    IndexClosed,
    IndexQuery,
    SearchIndex,
    admits,
)
from memstream.schemas.errors import InvalidScope, UnsupportedFilter, WrongGeneration
from memstream.schemas.instants import to_micros
from memstream.schemas.memories import Interval, Memory, Status, Tally


def _intervals(days: st.SearchStrategy[datetime]) -> st.SearchStrategy[Interval]:
    """Spells with ends, and those that are open on one side."""
    return (
        st.builds(lambda day, count: Interval(day, day + count * DAY), days, st.integers(1, 3))
        | st.builds(lambda day: Interval(start=day), days)
        | st.builds(lambda day: Interval(end=day), days)
    )


class IndexConformance(Surroundings, ABC):
    """Obligations of ``SearchIndex``, one test each."""

    embedder: Embedder = HashEmbedder(32)

    @abstractmethod
    def open_index(self, path: Path, embedder: Embedder, generation: Generation) -> SearchIndex:
        """Opens the index at ``path``, made there if absent."""

    @abstractmethod
    def program(self, path: Path) -> str:
        """Python source that opens the same index as ``index`` in another process."""

    def holds(self, index: SearchIndex, path: Path, words: str) -> bool:
        """Whether anything that the index keeps holds the words: any byte of its files."""
        return bytes_hold(path, words)

    @property
    def generation(self) -> Generation:
        return Generation("pipeline-1", self.embedder.identity, "schema-1")

    @property
    def channels(self) -> tuple[Channel, ...]:
        return ("bm25", "dense") if self.embedder.dimension else ("bm25",)

    def reopened(self, path: Path) -> SearchIndex:
        return self.open_index(path, self.embedder, self.generation)

    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        return tmp_path / "index"

    @pytest.fixture
    def index(self, path: Path) -> Iterator[SearchIndex]:
        opened = self.reopened(path)
        yield opened
        opened.close()

    def query(self, text: str, **changes: Any) -> IndexQuery:
        made: dict[str, Any] = {
            "tenant": "acme",
            "scopes": ("acme/user:ada",),
            "valid_at": None,
            "known_at": to_micros(NOW),
            "lexemes": lexemes(text),
            "vector": self.embedder.query(text).tolist() if self.embedder.dimension else None,
            "channels": self.channels,
        }
        return IndexQuery(**(made | changes))

    def found(self, index: SearchIndex, text: str, **changes: Any) -> set[tuple[str, int]]:
        """(id, version) of every hit of any channel."""
        answer = found(index, self.query(text, **changes))
        assert set(answer) == set(self.channels)
        return {(each.id, each.version) for memories in answer.values() for each in memories}

    def test_a_new_index_is_empty(self, index: SearchIndex) -> None:
        assert index.position() == 0
        assert index.tally() == Tally(0, 0)
        assert self.found(index, "anything") == set()

    def test_what_was_found_before_is_shown_as_it_is_stored_now(self, index: SearchIndex) -> None:
        first = memory("m1", "a compass")
        index.apply(steps(first))
        for _ in range(2):
            assert found(index, self.query("compass"))["bm25"][0].expired_at is None
        closing = memory("m1", "a brass compass", version=2, created_at=START + DAY)
        index.apply(steps(closing, first=2))
        before = self.query("compass", known_at=to_micros(START))
        assert found(index, before)["bm25"][0].expired_at == START + DAY
        index.erase("acme/user:ada")
        again = memory("m1", "a gilded compass", created_at=START + 2 * DAY)
        index.apply(steps(again, first=3))
        assert found(index, self.query("compass"))["bm25"] == [again]

    def test_hits_are_the_memories_best_first(self, index: SearchIndex) -> None:
        boat = memory("m1", "Her boat is moored in Split.", entities=("Split",), context="sailing")
        stove = memory("m2", "The stove in the kitchen is broken.")
        index.apply(steps(boat, stove))
        asked = self.query("where is the boat moored?")
        for memories in found(index, asked).values():
            assert memories[0] == boat
        for hits in index.search(asked).values():
            assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
            assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        assert [each.id for each in found(index, self.query("sailing"))["bm25"]] == ["m1"]

    def test_the_memories_of_a_scope_are_listed_whole_or_by_status(
        self, index: SearchIndex
    ) -> None:
        made: tuple[Status, ...] = ("active", "superseded", "pending_review", "active")
        said = [memory(f"m{at}", f"Boat number {at}.", status=each) for at, each in enumerate(made)]
        index.apply(steps(*said, memory("other", "A stove.", scope="acme/user:bob")))
        listed = index.memories_of(said[0].scope)
        assert len(listed) == len(said)
        cases: tuple[tuple[Status, ...], ...] = (
            ("active",),
            ("superseded", "pending_review"),
            ("quarantined",),
        )
        for asked in cases:
            of_status = [each for each in listed if each.status in asked]
            assert index.memories_of(said[0].scope, asked) == of_status

    def test_text_without_spaces_is_found(self, index: SearchIndex) -> None:
        asked = {
            "她在苏州学习古琴。": "古琴",
            "他对猕猴桃过敏。": "什么水果会过敏？",
            "她的狗叫麻薯。": "狗叫什么名字",
            "大阪でラーメンを食べた。": "ラーメン",
            "우리는 제주도에서 살았다.": "제주도",
        }
        index.apply(steps(*(memory(f"m{at}", text) for at, text in enumerate(asked))))
        for statement, question in asked.items():
            memories = found(index, self.query(question))["bm25"]
            assert [each.text for each in memories] == [statement]

    def test_a_question_without_lexemes_has_no_lexical_hits(self, index: SearchIndex) -> None:
        index.apply(steps(memory("m1", "of the"), memory("m2", "A trombone.")))
        assert index.search(self.query("the of"))["bm25"] == []
        assert index.tally().count == 2

    def test_what_was_believed_then_is_found_as_of_then(self, index: SearchIndex) -> None:
        first = memory("m1", "Her harbour is Split.")
        second = memory("m1", "Her harbour is Zadar.", version=2, created_at=START + 5 * DAY)
        third = memory("m1", "Her harbour is Pula.", version=3, created_at=START + 9 * DAY)
        index.apply(steps(first))
        index.apply(steps(second, third, first=2))

        def known(at: datetime) -> set[tuple[str, int]]:
            return self.found(index, "harbour", known_at=to_micros(at))

        tick = timedelta(microseconds=1)
        assert known(START - tick) == set()
        assert known(START) == known(second.created_at - tick) == {("m1", 1)}
        assert known(second.created_at) == known(third.created_at - tick) == {("m1", 2)}
        assert known(third.created_at) == known(NOW) == {("m1", 3)}
        shown = found(index, self.query("harbour", known_at=to_micros(START)))["bm25"][0]
        assert shown == msgspec.structs.replace(first, expired_at=second.created_at)

    def test_what_was_true_then_is_found_as_of_then(self, index: SearchIndex) -> None:
        old = memory("m1", "Her harbour was Split.", valid_to=START + 3 * DAY)
        new = memory("m2", "Her harbour is Zadar.", valid_from=START + 3 * DAY)
        index.apply(steps(old, new))

        def valid(at: datetime) -> set[tuple[str, int]]:
            return self.found(index, "harbour", valid_at=to_micros(at))

        tick = timedelta(microseconds=1)
        assert valid(START - tick) == set()
        assert valid(START) == valid(new.valid_from - tick) == {("m1", 1)}
        assert valid(new.valid_from) == valid(NOW) == {("m2", 1)}

    def test_what_is_about_an_entity_is_found_by_its_name(self, index: SearchIndex) -> None:
        named = memory("m1", "The harbour of Split.", entities=("Split",))
        about = memory("m2", "A harbour with boats.", subject="Ida Lund")
        index.apply(steps(named, about, memory("m3", "A harbour.")))

        def of(*names: str) -> set[tuple[str, int]]:
            return self.found(index, "harbour", entities=names)

        assert of("split") == of("ＳＰＬＩＴ", "nobody") == {("m1", 1)}
        assert of("ida  lund") == {("m2", 1)}
        assert of("Split", "Ida Lund") == {("m1", 1), ("m2", 1)}
        assert of("Spl") == set()

    def test_what_took_place_in_a_time_is_found(self, index: SearchIndex) -> None:
        told = memory("m1", "A harbour.", observed_at=START + 9 * DAY)
        spell = Interval(START + 2 * DAY, START + 4 * DAY, "day")
        trip = memory("m2", "A harbour trip.", observed_at=START + 9 * DAY, occurred=spell)
        since_then = memory("m3", "A harbour job.", occurred=Interval(START + 6 * DAY))
        index.apply(steps(told, trip, since_then))

        def within(first: int | None, last: int | None) -> set[str]:
            since = None if first is None else to_micros(START + first * DAY)
            until = None if last is None else to_micros(START + last * DAY)
            return {name for name, _ in self.found(index, "harbour", since=since, until=until)}

        assert within(None, None) == {"m1", "m2", "m3"}
        assert within(None, 2) == within(4, 6) == set()
        assert within(None, 3) == within(3, 4) == {"m2"}
        assert within(4, 9) == {"m3"}
        assert within(9, None) == within(9, 10) == {"m1", "m3"}
        assert within(10, None) == {"m3"}

    def test_instants_far_away_are_told_apart(self, index: SearchIndex) -> None:
        far = datetime(8123, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
        index.apply(steps(memory("m1", "A velvet saddle.", valid_from=far)))
        for ticks, expected in ((-1, set()), (0, {("m1", 1)}), (1, {("m1", 1)})):
            at = to_micros(far) + ticks
            assert self.found(index, "velvet", valid_at=at) == expected

    # Every subclass inherits the test, which Hypothesis would take for a slip.
    @settings(max_examples=10, suppress_health_check=[HealthCheck.differing_executors])
    @given(data=st.data())
    def test_hits_are_exactly_what_the_filters_admit(self, data: st.DataObject) -> None:
        days = st.integers(0, 6).map(lambda day: START + day * DAY)
        stored: list[Memory] = []
        for number in range(data.draw(st.integers(1, 6), label="memories")):
            created = data.draw(days)
            for version in range(1, data.draw(st.integers(1, 3)) + 1):
                start = data.draw(days)
                stored.append(
                    memory(
                        f"m{number}",
                        "a walnut compass",
                        version=version,
                        scope=data.draw(st.sampled_from(["acme/user:ada", "acme/agent:bo"])),
                        kind=data.draw(st.sampled_from(["fact", "episode"])),
                        status=data.draw(st.sampled_from(["active", "superseded"])),
                        entities=data.draw(st.sampled_from([(), ("Split",), ("Ida", "Split")])),
                        observed_at=data.draw(days),
                        occurred=data.draw(st.none() | _intervals(days)),
                        valid_from=start,
                        valid_to=data.draw(st.none() | st.integers(1, 4).map(lambda n: n * DAY))
                        and start + 2 * DAY,
                        created_at=created,
                    )
                )
                created += data.draw(st.integers(0, 2)) * DAY
        with tempfile.TemporaryDirectory() as directory:
            index = self.reopened(Path(directory))
            cut = data.draw(st.integers(0, len(stored)))
            index.apply(steps(*stored[:cut]))
            index.apply(steps(*stored[cut:], first=cut + 1))
            following = {(each.id, each.version - 1): each.created_at for each in stored}
            closed = [
                msgspec.structs.replace(each, expired_at=following.get((each.id, each.version)))
                for each in stored
            ]
            for _ in range(6):
                query = self.query(
                    "walnut",
                    scopes=data.draw(
                        st.sampled_from([("acme/user:ada",), ("acme/user:ada", "acme/agent:bo")])
                    ),
                    kinds=data.draw(st.sampled_from([None, ("episode",)])),
                    entities=data.draw(st.sampled_from([None, ("split",), ("IDA", "nobody")])),
                    since=data.draw(st.none() | days.map(to_micros)),
                    until=data.draw(st.none() | days.map(lambda day: to_micros(day + 7 * DAY))),
                    statuses=data.draw(st.sampled_from([("active",), ("active", "superseded")])),
                    valid_at=data.draw(st.none() | days.map(to_micros)),
                    known_at=to_micros(data.draw(days)),
                )
                expected = {(each.id, each.version) for each in closed if admits(query, each)}
                for memories in found(index, query).values():
                    assert {(each.id, each.version) for each in memories} == expected
            index.close()

    def test_no_other_scope_or_tenant_is_ever_found(self, index: SearchIndex) -> None:
        scopes = ("acme/user:ada", "acme/user:bo", "acme/agent:ada", "bmce/user:ada")
        index.apply(
            steps(*(memory(f"m{at}", "orchid", scope=each) for at, each in enumerate(scopes)))
        )
        for at, scope in enumerate(scopes):
            tenant = scope.partition("/")[0]
            assert self.found(index, "orchid", tenant=tenant, scopes=(scope,)) == {(f"m{at}", 1)}
        assert self.found(index, "orchid", scopes=("acme/user:nobody",)) == set()

    @pytest.mark.parametrize(
        "changes",
        [
            {"scopes": ()},
            {"scopes": ("bmce/user:ada",)},
            {"scopes": ("acme/user:ada", "bmce/user:ada")},
            {"statuses": ()},
            {"kinds": ()},
            {"entities": ()},
            {"entities": ("Split", " ")},
            {"since": 5, "until": 5},
            {"limit": 0},
            {"channels": ()},
            {"channels": ("sparkle",)},
            {"channels": ("dense",), "vector": None},
        ],
    )
    def test_what_cannot_be_filtered_is_refused(self, changes: dict[str, Any]) -> None:
        with pytest.raises(UnsupportedFilter):
            self.query("orchid", **changes)

    def test_a_scope_that_is_none_is_refused(self) -> None:
        with pytest.raises(InvalidScope):
            self.query("orchid", scopes=("acme",))

    def test_a_channel_the_index_does_not_have_is_refused(self, index: SearchIndex) -> None:
        if self.embedder.dimension:
            with pytest.raises(UnsupportedFilter):
                index.search(self.query("orchid", vector=None))
        else:
            with pytest.raises(UnsupportedFilter, match="no dense vectors"):
                index.search(self.query("orchid", channels=("dense",), vector=[1.0]))

    def test_another_tenants_words_do_not_change_a_score(self, index: SearchIndex) -> None:
        index.apply(steps(memory("m1", "a walnut saddle"), memory("m2", "a velvet saddle")))
        before = index.search(self.query("walnut saddle"))
        crowd = [memory(f"n{at}", f"walnut {at}", scope="bmce/user:eve") for at in range(50)]
        index.apply(steps(*crowd, first=3))
        assert index.search(self.query("walnut saddle")) == before

    def test_rare_words_count_more_than_common_ones(self, index: SearchIndex) -> None:
        common = [memory(f"m{at}", f"glacier number {at}") for at in range(20)]
        index.apply(steps(*common, memory("rare", "trombone number")))
        assert found(index, self.query("trombone glacier"))["bm25"][0].id == "rare"

    def test_equal_scores_come_in_the_order_of_point_ids(self, index: SearchIndex) -> None:
        index.apply(steps(*(memory(f"m{at}", "a compass") for at in range(25))))
        expected = sorted((f"m{at}" for at in range(25)), key=lambda name: point_id(name, 1))
        for limit in (2, 7, 30):
            for memories in found(index, self.query("compass", limit=limit)).values():
                assert [each.id for each in memories] == expected[:limit]

    def test_the_limit_holds_for_every_channel(self, index: SearchIndex) -> None:
        index.apply(steps(*(memory(f"m{at}", "a compass") for at in range(9))))
        answer = index.search(self.query("compass", limit=4))
        assert {channel: len(hits) for channel, hits in answer.items()} == dict.fromkeys(
            self.channels, 4
        )

    def test_applying_again_changes_nothing(self, index: SearchIndex) -> None:
        first = memory("m1", "a compass")
        second = memory("m1", "a brass compass", version=2, created_at=START + DAY)
        third = memory("m2", "a sextant")
        run = steps(first, second, third)
        index.apply(run)
        once = index.tally(), index.position(), index.search(self.query("compass sextant"))
        assert once[:2] == (tally(first, second, third), 3)
        for again in (run, run[:1], run[1:], run[1:2], []):
            index.apply(again)
            assert once == (
                index.tally(),
                index.position(),
                index.search(self.query("compass sextant")),
            )

    def test_a_version_made_again_by_a_later_step_is_counted_once(self, index: SearchIndex) -> None:
        made = memory("m1", "a compass")
        index.apply(steps(made))
        index.apply(steps(made, first=2))
        assert index.tally() == tally(made)
        assert index.position() == 2

    @pytest.mark.parametrize("size", first_of(2, 1, 7))
    def test_batches_of_any_size_give_the_same_index(self, path: Path, size: int) -> None:
        run = [
            memory(f"m{at % 5}", f"{word} chest", version=at // 5 + 1, created_at=START + at * DAY)
            for at, word in enumerate(OTHER_WORDS.split())
        ]
        whole = self.reopened(path / "whole")
        whole.apply(steps(*run))
        cut = self.reopened(path / "cut")
        for at in range(0, len(run), size):
            cut.apply(steps(*run[at : at + size], first=at + 1))
        for known in (START + 3 * DAY, NOW):
            query = self.query("chest", known_at=to_micros(known))
            assert cut.search(query) == whole.search(query)
        assert cut.tally() == whole.tally() == tally(*run)
        cut.close()
        whole.close()

    def test_steps_without_memories_move_the_position(self, index: SearchIndex) -> None:
        index.apply([step(1), step(2)])
        assert index.position() == 2
        assert index.tally() == Tally(0, 0)

    def test_the_next_offset_of_every_partition_is_kept(self, path: Path) -> None:
        def of(seq: int, partition: int, offset: int, *made: Memory) -> Step:
            moved = {"partition": partition, "offset": offset}
            return msgspec.structs.replace(step(seq, *made), **moved)

        run = [of(1, 0, 0), of(2, 7, 41, memory("m1", "a compass")), of(3, 0, 1), of(4, 7, 42)]
        late = of(5, 7, 12, memory("m2", "a sextant"))  # a dead letter that went through at last
        index = self.reopened(path)
        assert index.positions() == {}
        index.apply(run[:2])
        assert index.positions() == {0: 1, 7: 42}
        index.apply(run)
        index.apply([late])
        assert index.positions() == {0: 2, 7: 43}
        index.erase("acme/user:ada")
        index.close()
        again = self.reopened(path)
        assert (again.position(), again.positions()) == (5, {0: 2, 7: 43})
        again.close()

    def test_everything_is_there_after_opening_again(self, path: Path) -> None:
        first = memory("m1", "a compass")
        second = memory("m1", "a brass compass", version=2, created_at=START + DAY)
        index = self.reopened(path)
        index.apply(steps(first, second))
        answer = index.search(self.query("compass"))
        index.close()
        again = self.reopened(path)
        assert again.position() == 2
        assert again.tally() == tally(first, second)
        assert again.search(self.query("compass")) == answer
        again.close()

    def test_a_closed_index_says_so(self, path: Path) -> None:
        index = self.reopened(path)
        index.close()
        index.close()
        for use in (
            index.tally,
            lambda: index.search(self.query("compass")),
            lambda: index.apply(steps(memory("m1", "a compass"))),
        ):
            with pytest.raises(IndexClosed, match="open it again"):
                use()

    @pytest.mark.parametrize("changed", first_of("pipeline", "embedder", "schema"))
    def test_another_generation_is_refused_and_both_are_named(
        self, path: Path, changed: str
    ) -> None:
        self.reopened(path).close()
        other = msgspec.structs.replace(self.generation, **{changed: "something else"})
        embedder = self.embedder
        if changed == "embedder":
            # As many dimensions, another model.
            embedder = HashEmbedder(self.embedder.dimension or 8)
            embedder.identity = other.embedder
        with pytest.raises(WrongGeneration) as raised:
            self.open_index(path, embedder, other)
        assert "something else" in str(raised.value)
        assert getattr(self.generation, changed) in str(raised.value)
        self.reopened(path).close()

    def test_an_embedder_that_is_not_the_generations_is_refused(self, path: Path) -> None:
        with pytest.raises(WrongGeneration):
            self.open_index(path, HashEmbedder(7), self.generation)

    def test_erasing_a_scope_leaves_no_byte_of_it(self, path: Path, index: SearchIndex) -> None:
        secret = "quokkavault"
        kept = [memory(f"m{at}", f"a compass {at}") for at in range(40)]
        gone = [
            memory(
                f"s{at}",
                f"the {secret} is {at}",
                scope="acme/user:bo",
                context=secret,
                entities=(secret,),
            )
            for at in range(12)
        ]
        index.apply(steps(*kept, *gone))
        before = found(index, self.query("compass"))
        assert self.holds(index, path, secret)
        assert index.erase("acme/user:bo") == 12
        assert not self.holds(index, path, secret)
        assert self.found(index, secret, scopes=("acme/user:bo",)) == set()
        assert found(index, self.query("compass"))["bm25"] == before["bm25"]
        assert index.tally() == tally(*kept)
        assert index.position() == 52
        index.close()
        again = self.reopened(path)
        assert (again.tally(), again.position()) == (tally(*kept), 52)
        assert again.erase("acme/user:bo") == 0
        again.close()

    def test_readers_see_an_apply_whole_or_not_at_all(self, index: SearchIndex) -> None:
        names = [f"m{at}" for at in range(12)]
        faults: list[object] = []
        done = threading.Event()
        index.apply([step(1, *(memory(name, "a compass") for name in names))])

        def read() -> None:
            while not done.is_set():
                for memories in found(index, self.query("compass")).values():
                    versions = {each.version for each in memories}
                    if len(versions) != 1 or len(memories) != len(names):
                        faults.append((versions, len(memories)))
                index.tally()

        readers = [threading.Thread(target=read) for _ in range(3)]
        for reader in readers:
            reader.start()
        for version in range(2, 30):
            at = START + version * DAY
            made = [memory(name, "a compass", version=version, created_at=at) for name in names]
            index.apply([step(version, *made)])
        index.erase("acme/user:nobody")
        done.set()
        for reader in readers:
            reader.join()
        assert faults == []

    @pytest.mark.parametrize("after", first_of(23, 1))
    def test_a_killed_writer_is_healed_by_applying_again(self, path: Path, after: int) -> None:
        source = self.program(path) + (
            "from index_steps import history\n"
            "for each in history():\n"
            "    index.apply([each])\n"
            "    print(each.seq, flush=True)\n"
        )
        child = child_process(source)
        assert child.stdout is not None
        while int(child.stdout.readline()) < after:
            pass
        child.kill()
        child.communicate()
        index = self.reopened(path)
        assert index.position() >= after
        self.heal_and_compare(index, path)

    def heal_and_compare(self, index: SearchIndex, path: Path) -> None:
        """Applies what is left of ``history`` and closes; the index must equal an unbroken one."""
        run = history()
        index.apply(run[index.position() :])
        whole = self.reopened(path.with_name("whole"))
        whole.apply(run)
        assert index.tally() == whole.tally()
        assert index.position() == whole.position() == len(run)
        for known in (START + 10 * DAY, NOW):
            query = self.query("chest", known_at=to_micros(known), limit=100)
            assert index.search(query) == whole.search(query)
        index.close()
        whole.close()
        self.reopened(path).close()

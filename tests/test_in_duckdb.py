"""The analytics file: what apply adds, how it is opened, and what an erasure leaves: nothing."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, get_args

import duckdb
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memstream.projections import in_duckdb
from memstream.projections.in_duckdb import DuckIndex, IndexUnavailable, sql_file
from memstream.projections.projection import Generation
from memstream.projections.scripted import SCOPE as ANN
from memstream.projections.scripted import Story, at, memory, plain_steps, tally_of
from memstream.schemas.errors import ProjectionDamaged, WrongGeneration
from memstream.schemas.events import (
    ContextServed,
    ErasureRequested,
    Event,
    FeedbackGiven,
    ServedItem,
    Source,
    TurnRecorded,
)
from memstream.schemas.memories import Assertion, Interval, Memory, Status, Tally, canonical, digest

STAMP = Generation("pipe-1", "none", "1")
BOB = "b%2Fc/user:bob"
EAST = timezone(timedelta(hours=8))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "index" / "analytics.duckdb"


@pytest.fixture
def index(path: Path) -> Iterator[DuckIndex]:
    opened = DuckIndex.open(path, STAMP)
    yield opened
    opened.close()


def rows(index: DuckIndex, query: str) -> list[tuple[Any, ...]]:
    return index.sql(query)[1]


def records(index: DuckIndex, query: str) -> list[dict[str, Any]]:
    columns, found = index.sql(query)
    return [dict(zip(columns, row, strict=True)) for row in found]


class TestApply:
    def test_each_part_of_a_step_lands_in_its_table(self, index: DuckIndex) -> None:
        story = Story()
        version = memory("m1", lemmas=("live", "Oslo"), occurred=Interval(at(1), None, "day"))
        story.turn(
            "I live in Oslo.", version, when=datetime(2025, 3, 1, 20, tzinfo=EAST), scope=BOB
        )
        index.apply(story.steps)

        (event,) = records(index, "FROM events")
        assert event["tenant"] == "b/c"
        assert event["scope"] == BOB
        assert event["observed_at"] == datetime(2025, 3, 1, 12)  # UTC
        assert event["utc_offset_minutes"] == 480
        assert event["recorded_at"] == datetime(2025, 3, 1, 12, 0, 2)
        assert (event["log_partition"], event["log_offset"], event["erased"]) == (1, 0, False)
        assert (event["text"], event["role"], event["actor"]) == ("I live in Oslo.", "user", "ann")
        assert msgspec.json.decode(event["data"])["conversation"] == "c1"
        (decision,) = records(index, "FROM decisions")
        assert decision["factors"] == {"utility": 0.5, "trust": 1.0}
        assert (decision["event"], decision["outcome"]) == ("e1", "stored")
        assert decision["decided_at"] == datetime(2025, 3, 1, 12, 0, 2)
        (candidate,) = records(index, "FROM candidates")
        assert (candidate["span_start"], candidate["span_end"]) == (0, 15)
        assert candidate["occurred_granularity"] == "day"
        assert (candidate["withdraws"], candidate["confidence"]) == (False, 1.0)
        (version_row,) = records(index, "FROM memory_versions")
        assert version_row["record"].encode() == canonical(version)
        assert version_row["digest"] == digest(version)
        assert version_row["lemmas"] == ["live", "Oslo"]
        assert (version_row["event"], version_row["change"]) == ("e1", "memory.asserted")

    def test_repeated_steps_change_nothing(self, index: DuckIndex) -> None:
        steps = plain_steps(7)
        index.apply(steps[:4])
        index.apply(steps[:4])
        index.apply(steps[1:])
        index.apply([])
        assert index.position() == 7
        assert index.tally() == tally_of(steps)
        assert rows(index, "SELECT count(*), count(DISTINCT seq) FROM events") == [(7, 7)]

    @pytest.mark.parametrize("cut", [1, 2, 3])
    def test_an_event_processed_again_has_one_row(self, index: DuckIndex, cut: int) -> None:
        """A dead letter leaves the rows of its last attempt, whatever batches its steps come in."""
        story = Story()
        item = ServedItem("m1", 1, 1, 0.9)
        story.add(ContextServed(query="code?", items=(item,)), "context.served", when=at(2))
        (done,) = story.steps
        failed = msgspec.structs.replace(done, derived=())
        other = msgspec.structs.replace(
            done, seq=2, offset=done.offset + 1, event_id="other", derived=(),
            event=None,
        )  # fmt: skip
        steps = [failed, other, msgspec.structs.replace(done, seq=3)]
        index.apply(steps[:cut])
        index.apply(steps[cut:])
        assert sorted(rows(index, "SELECT seq, id FROM events")) == [
            (2, "other"),
            (3, done.event_id),
        ]
        assert rows(index, "SELECT seq FROM contexts") == [(3,)]
        assert set(rows(index, "SELECT seq FROM context_items")) == {(3,)}

    @pytest.mark.parametrize("cut", [0, 1, 2, 3])
    @pytest.mark.parametrize("kind", ["context.served", "turn.recorded"])
    def test_an_event_of_another_scope_is_no_earlier_attempt(
        self, index: DuckIndex, kind: str, cut: int
    ) -> None:
        """What is made anew after an erasure may come to stand where another scope's event does,
        and ids are unique within a scope only."""
        story = Story()
        for number, scope in enumerate((ANN, BOB, BOB)):
            if kind == "turn.recorded":
                story.turn(f"sentence {number}", when=at(1), scope=scope, event_id="e1")
            else:
                item = ServedItem("m1", 1, 1, 0.9)
                data = ContextServed(query=f"{number}?", items=(item,))
                story.add(data, kind, when=at(1), scope=scope, event_id="e1")
        steps = [msgspec.structs.replace(each, partition=0, offset=4) for each in story.steps]
        index.apply(steps[:cut])
        index.apply(steps[cut:])
        found = rows(index, "SELECT scope, event, seq, outcome FROM captured ORDER BY seq")
        assert found == [(ANN, "e1", 1, "stored"), (BOB, "e1", 3, "stored")]
        if kind == "context.served":
            assert rows(index, "SELECT seq FROM contexts ORDER BY seq") == [(1,), (3,)]

    def test_the_next_offset_of_every_partition_is_kept(self, path: Path) -> None:
        steps = plain_steps(5)  # partitions 1, 0, 1, 0, 1 with offsets 0, 1, 1, 2, 2
        late = Story()
        late.steps = [*steps]
        late.erased("e2")
        index = DuckIndex.open(path, STAMP)
        assert index.positions() == {}
        index.apply(steps[:2])
        assert index.positions() == {0: 2, 1: 1}
        index.apply(steps)
        retried = msgspec.structs.replace(late.steps[-1], partition=1, offset=0)
        index.apply([retried])
        assert index.positions() == {0: 3, 1: 3}
        index.erase(ANN)
        assert index.positions() == {0: 3, 1: 3}
        index.close()
        again = DuckIndex.open(path, STAMP)
        assert (again.position(), again.positions()) == (6, {0: 3, 1: 3})
        again.close()

    def test_a_missing_step_is_refused_and_nothing_is_kept(self, index: DuckIndex) -> None:
        steps = plain_steps(4)
        with pytest.raises(ProjectionDamaged, match=r"step 3 .* step 2 was due"):
            index.apply([steps[0], steps[2]])
        assert index.position() == 0
        assert index.tally() == Tally(0, 0)

    def test_a_call_that_fails_in_the_middle_keeps_nothing(self, index: DuckIndex) -> None:
        steps = plain_steps(3)
        foreign = Event(
            id="x",
            type="turn.recorded",
            subject=ANN,
            time=at(1),
            source=Source("user_said", 3),
            data=TurnRecorded(role="user", text="not derived"),
        )
        broken = msgspec.structs.replace(steps[2], derived=(foreign,))
        with pytest.raises(TypeError, match="not derived"):
            index.apply([*steps[:2], broken])
        assert index.position() == 0
        index.apply(steps)
        assert index.position() == 3

    def test_a_killed_process_leaves_the_last_whole_call(self, path: Path) -> None:
        steps = plain_steps(6)
        index = DuckIndex.open(path, STAMP)
        index.apply(steps[:3])
        index.close()
        code = f"""
import os
import msgspec
from pathlib import Path
from memstream.projections import in_duckdb
from memstream.projections.projection import Generation
index = in_duckdb.DuckIndex.open(Path({str(path)!r}), Generation("pipe-1", "none", "1"))
connection = index._connected()
connection.begin()
connection.execute("INSERT INTO events SELECT * REPLACE (seq + 3 AS seq) FROM events")
connection.execute("UPDATE generation SET position = 6")
os._exit(9)
"""
        assert start(code).wait(timeout=30) == 9
        again = DuckIndex.open(path, STAMP)
        assert again.position() == 3
        again.apply(steps)
        assert again.tally() == tally_of(steps)
        again.close()

    def test_a_full_disk_is_stated_and_nothing_of_the_call_is_kept(self, path: Path) -> None:
        code = f"""
import resource
from pathlib import Path
from memstream.projections.in_duckdb import DuckIndex, IndexUnavailable
from memstream.projections.projection import Generation
from memstream.projections.scripted import plain_steps
index = DuckIndex.open(Path({str(path)!r}), Generation("pipe-1", "none", "1"))
steps = plain_steps(400)
index.apply(steps[:100])
free = resource.RLIM_INFINITY
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, free))
try:
    index.apply(steps)
except IndexUnavailable as error:
    print("mend: " in str(error), index.position())
resource.setrlimit(resource.RLIMIT_FSIZE, (free, free))
index.apply(steps)
print(index.position(), index.tally().count)
index.close()
"""
        output, _ = start(code).communicate(timeout=30)
        assert output.split() == ["True", "100", "400", "400"]

    def test_an_erased_event_leaves_its_envelope_only(self, index: DuckIndex) -> None:
        story = Story()
        story.erased("e1")
        index.apply(story.steps)
        (event,) = records(index, "FROM events")
        assert (event["id"], event["type"], event["erased"]) == ("e1", "erased", True)
        assert event["data"] is None
        assert rows(index, "FROM silent_loss") == []

    def test_release_frees_the_file_and_the_next_use_opens_it(self, index: DuckIndex) -> None:
        steps = plain_steps(5)
        index.apply(steps[:2])
        index.release()
        assert sql_file(index.path, "SELECT position FROM generation")[1] == [(2,)]
        assert not index.path.with_name(index.path.name + ".wal").exists()
        index.apply(steps)
        assert index.position() == 5

    def test_every_field_of_a_memory_and_an_assertion_is_a_column(self, index: DuckIndex) -> None:
        for table, kind in (("memories", Memory), ("candidates", Assertion)):
            columns = {row[0] for row in rows(index, f"DESCRIBE {table}")}
            for field in kind.__struct_fields__:
                assert field in columns or f"{field}_from" in columns or f"{field}_start" in columns


offsets = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
instants = st.builds(
    lambda moment, offset: moment.replace(tzinfo=offset),
    st.datetimes(datetime(1000, 1, 2), datetime(8999, 12, 30)),
    offsets,
)
words = st.text(st.characters(codec="utf-8"), max_size=12)
some_words = st.lists(words, max_size=3).map(tuple)
any_memory = st.builds(
    Memory,
    id=words,
    version=st.integers(1, 2**31 - 1),
    scope=st.just(ANN),
    kind=st.sampled_from(["profile", "fact", "episode", "experience"]),
    status=st.sampled_from(get_args(Status)),
    subject=words,
    attribute=words,
    value=words,
    qualifier=words,
    text=words,
    quote=words,
    context=words,
    observed_at=instants,
    valid_from=instants,
    valid_to=st.none() | instants,
    created_at=instants,
    expired_at=st.none(),
    occurred=st.none() | st.builds(Interval, st.none() | instants, st.none() | instants, words),
    update_reason=words,
    trust=st.integers(0, 4),
    source_kind=words,
    confidence=st.floats(0, 1),
    sensitivity=words,
    content_key=words,
    language=words,
    lemmas=some_words,
    entities=some_words,
    links=some_words,
    supports=some_words,
    conflicts=some_words,
    previous=words,
    reason=words,
    origin=words,
    pipeline=words,
)


class TestFidelity:
    @settings(
        max_examples=15,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
    @given(st.lists(any_memory, min_size=1, max_size=6))
    def test_every_column_holds_what_the_memory_said(
        self, tmp_path: Path, memories: list[Memory]
    ) -> None:
        """Any Unicode, NUL included; any instant at any offset, to the microsecond."""
        story = Story()
        for each in memories:
            story.turn("x", each, when=at(1))
        index = DuckIndex.open(tmp_path / f"{secrets.token_hex(6)}.duckdb", STAMP)
        index.apply(story.steps)
        found = records(index, "FROM memory_versions ORDER BY seq")
        index.close()
        assert len(found) == len(memories)
        for row, each in zip(found, memories, strict=True):
            assert row["record"].encode() == canonical(each)
            for name in Memory.__struct_fields__:
                value = getattr(each, name)
                if name == "occurred":
                    spell = value or Interval(granularity="")
                    assert row["occurred_from"] == naive(spell.start)
                    assert row["occurred_to"] == naive(spell.end)
                    assert (row["occurred_granularity"] or "") == spell.granularity
                elif isinstance(value, datetime):
                    assert row[name] == naive(value)
                elif name != "expired_at":
                    assert row[name] == (list(value) if isinstance(value, tuple) else value)


def naive(instant: datetime | None) -> datetime | None:
    return None if instant is None else instant.astimezone(UTC).replace(tzinfo=None)


class TestErase:
    """Markers are random hex, which no compression shortens or splits."""

    @staticmethod
    def in_files(index: DuckIndex, marker: str) -> bool:
        index.release()
        found = [file for file in index.path.parent.rglob("*") if file.is_file()]
        assert found
        return any(marker.encode() in file.read_bytes() for file in found)

    @staticmethod
    def marked(marker: str, scope: str) -> Memory:
        return memory(f"m-{scope}", scope=scope, value=marker, text=f"Code {marker}.")

    def test_a_whole_scope_leaves_no_byte(self, index: DuckIndex) -> None:
        story, gone, kept = Story(), secrets.token_hex(32), secrets.token_hex(32)
        for marker, scope in ((gone, ANN), (kept, BOB)):
            version = self.marked(marker, scope)
            story.turn(f"The code is {marker}.", version, when=at(1), scope=scope)
            story.add(
                ContextServed(query=f"code {marker}?"), "context.served", when=at(2), scope=scope
            )
            story.add(
                FeedbackGiven(target="m", verdict="used", note=marker),
                "feedback.given",
                when=at(2),
                scope=scope,
            )
        story.add(ErasureRequested(reason="asked"), "erasure.requested", when=at(3))
        index.apply(story.steps)
        assert self.in_files(index, gone)

        removed = index.erase(ANN)

        # Of each: events, decisions, candidates, versions, queries, notes, erasures.
        assert removed == 4 + 4 + 1 + 1 + 1 + 1 + 1
        assert not self.in_files(index, gone)
        assert self.in_files(index, kept)
        assert index.position() == 7
        assert rows(index, f"FROM events WHERE scope = '{ANN}'") == []
        assert rows(index, "FROM erasures") == []
        assert rows(index, "FROM silent_loss") == []
        assert index.erase(ANN) == 0

    def test_holds_text_finds_what_is_left_in_any_spelling(self, index: DuckIndex) -> None:
        story = Story()
        story.turn('He said "hush".\nTwice.', when=at(1))
        story.add(ContextServed(query="what did he say?"), "context.served", when=at(2))
        index.apply(story.steps)
        for text in ('said "hush".\nTw', "what did he say?"):
            assert index.holds_text(text)
        assert not index.holds_text("something else")
        assert not index.holds_text("said", outside=ANN)
        index.erase(ANN)
        assert not index.holds_text("what did he say?")

    def test_holds_text_finds_what_was_derived(self, index: DuckIndex) -> None:
        """Two who live in one place lead to the same sentence, in whatever words they said it."""
        story = Story()
        story.turn("My home is Oslo.", memory("home", text="The user lives in Oslo."), when=at(1))
        index.apply(story.steps)
        assert index.holds_text("The user lives in Oslo.")
        assert not index.holds_text("The user lives in Oslo.", outside=ANN)

    def test_another_scopes_event_of_the_same_id_stays(self, index: DuckIndex) -> None:
        story = Story()
        story.turn("mine", when=at(1), event_id="same")
        story.turn("theirs", when=at(1), event_id="same", scope=BOB)
        index.apply(story.steps)
        index.erase(ANN)
        assert rows(index, "SELECT text FROM events ORDER BY seq") == [("theirs",)]

    def test_a_crash_between_deleting_and_rewriting_is_finished_on_open(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        marker, story = secrets.token_hex(32), Story()
        story.turn(f"The code is {marker}.", when=at(1))
        story.turn("Something else.", when=at(1), scope=BOB)
        index = DuckIndex.open(path, STAMP)
        index.apply(story.steps)
        index.release()

        def crash(self: DuckIndex) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(DuckIndex, "_rewrite", crash)
            with pytest.raises(KeyboardInterrupt):
                index.erase(ANN)
        index.close()
        half = path.with_name(path.name + ".rewrite")
        half.write_text(marker)

        again = DuckIndex.open(path, STAMP)
        assert not self.in_files(again, marker)
        assert again.position() == 2
        assert rows(again, "SELECT text FROM events") == [("Something else.",)]
        again.close()

    def test_views_and_comments_survive_the_rewrite(self, index: DuckIndex) -> None:
        index.apply(plain_steps(20))
        before = rows(index, "FROM help")
        index.erase(BOB)
        assert rows(index, "FROM help") == before
        assert index.tally() == tally_of(plain_steps(20))


class TestOpening:
    def test_another_generation_is_refused_with_both_named(self, path: Path) -> None:
        DuckIndex.open(path, STAMP).close()
        with pytest.raises(WrongGeneration, match=r"pipe-1.*pipe-2.*mend: memstream rebuild"):
            DuckIndex.open(path, Generation("pipe-2", "none", "1"))

    def test_another_layout_is_refused(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        DuckIndex.open(path, STAMP).close()
        written = in_duckdb.LAYOUT
        monkeypatch.setattr(in_duckdb, "LAYOUT", 99)
        with pytest.raises(WrongGeneration, match=rf"layout {written}.*layout 99"):
            DuckIndex.open(path, STAMP)

    @pytest.mark.parametrize(
        "damage",
        [
            lambda size: 0,
            lambda size: 100,
            lambda size: 4096,
            lambda size: 12288,
            lambda size: size // 2,
            lambda size: size - 10,
        ],
    )
    def test_a_truncated_file_is_damaged(self, path: Path, damage: Callable[[int], int]) -> None:
        index = DuckIndex.open(path, STAMP)
        index.apply(plain_steps(2000))
        index.close()
        os.truncate(path, damage(path.stat().st_size))
        with pytest.raises(ProjectionDamaged, match="mend: memstream rebuild"):
            DuckIndex.open(path, STAMP)

    def test_a_file_released_between_small_writes_is_whole(self, path: Path) -> None:
        index = DuckIndex.open(path, STAMP)
        steps = plain_steps(400)
        for start in range(0, 400, 10):
            index.apply(steps[start : start + 10])
            index.release()
        assert index.tally() == tally_of(steps)
        index.close()

    def test_a_file_of_something_else_is_damaged(self, path: Path) -> None:
        path.parent.mkdir()
        path.write_text("a diary, not a database" * 1000)
        with pytest.raises(ProjectionDamaged, match="not a valid DuckDB database"):
            DuckIndex.open(path, STAMP)

    def test_a_strangers_duckdb_file_is_not_touched(self, path: Path) -> None:
        path.parent.mkdir()
        with duckdb.connect(str(path)) as stranger:
            stranger.execute("CREATE TABLE diary (line VARCHAR)")
        with pytest.raises(ProjectionDamaged, match="not one of memstream's"):
            DuckIndex.open(path, STAMP)
        with duckdb.connect(str(path)) as stranger:
            assert stranger.execute("SHOW TABLES").fetchall() == [("diary",)]

    def test_altered_bytes_are_found_when_they_are_read(self, path: Path) -> None:
        index = DuckIndex.open(path, STAMP)
        index.apply(plain_steps(2000))
        index.close()
        content = bytearray(path.read_bytes())
        for place in range(12288 + 4096, len(content), 8192):
            content[place] ^= 0xFF
        path.write_bytes(content)
        with pytest.raises(ProjectionDamaged, match="damaged"):
            DuckIndex.open(path, STAMP).sql("SELECT sum(digest), max(record) FROM memory_versions")

    def test_a_second_process_is_told_who_writes(self, index: DuckIndex) -> None:
        code = f"""
from pathlib import Path
from memstream.projections.in_duckdb import DuckIndex, IndexUnavailable
from memstream.projections.projection import Generation
try:
    DuckIndex.open(Path({str(index.path)!r}), Generation("pipe-1", "none", "1"), wait_s=0.2)
except IndexUnavailable as error:
    print(error)
"""
        output, _ = start(code).communicate(timeout=30)
        assert f"PID {os.getpid()}" in output

    def test_an_unwritable_place_is_unavailable(self, tmp_path: Path) -> None:
        place = tmp_path / "taken"
        place.mkdir()
        with pytest.raises(IndexUnavailable, match="mend"):
            DuckIndex.open(place, STAMP, wait_s=0.1)


def start(code: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
    )

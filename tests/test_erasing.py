"""Erasing: nothing of the erased is left in any byte, and nothing else is lost by it."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

import msgspec
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from holding import files_with
from simulation import MEMORY_DISK
from thorough import first_of

from memstream import Memory, Scope
from memstream.projections.duckdb_rows import TABLES
from memstream.projections.in_duckdb import DuckIndex
from memstream.projections.in_edge import EdgeIndex
from memstream.projections.snapshot import holds, verify
from memstream.schemas.codec import SealedRow
from memstream.schemas.errors import KeyDestroyed
from memstream.schemas.events import (
    Data,
    Event,
    ExtractionAnswered,
    Source,
    ToolCalled,
    TurnRecorded,
)
from memstream.schemas.ids import content_key, derived_id, served_key
from memstream.streams.clock import ManualClock
from memstream.streams.log import Position
from memstream.streams.log_in_sqlite import SqliteLog
from memstream.streams.state_in_sqlite import StateStore

ANN = Scope(tenant="acme", user="ann")
SAID = datetime(2026, 1, 5, 9, tzinfo=UTC)

ERASES = """
import sys
from memstream import Memory, Scope
with Memory.open(sys.argv[1], worker=False) as memory:
    memory.erase(Scope(tenant="acme", user="ann"), event=sys.argv[2] or None)
"""


@pytest.fixture
def directory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=MEMORY_DISK, prefix="erasing-") as folder:
        yield Path(folder) / "memory"


@pytest.fixture
def memory(directory: Path) -> Iterator[Memory]:
    with Memory.open(directory, worker=False, clock=ManualClock(SAID)) as memory:
        yield memory


def assert_sound(memory: Memory) -> None:
    """Everything is healthy, and a rebuild makes the same memories."""
    memory.flush()
    diagnosis = memory.doctor()
    assert diagnosis.healthy, diagnosis
    report = memory.rebuild()
    assert report.identical, report.problems


class TestWhatIsNotErased:
    """Erasing one event leaves every other event of the scope as it was."""

    @pytest.mark.parametrize(
        ("kind", "version", "plain"),
        [
            ("dream.recorded", 1, b'{"dream":"of flying"}'),
            ("turn.recorded", 7, b'{"said":"in another shape"}'),
            ("turn.recorded", 1, b'{"text":"no role"}'),
            ("turn.recorded", 1, b"\xff\x00 not JSON at all"),
        ],
    )
    def test_an_event_that_this_release_cannot_decode_stays_readable(
        self, memory: Memory, kind: str, version: int, plain: bytes
    ) -> None:
        files = memory._host.files
        erased = memory.record_turn(ANN, text="I live in Xochimilco.")
        row = SealedRow("later", kind, ANN.path, SAID, "user_said", 3, "r", "", version, "", b"")
        files.log.append([files.codec.with_plain(row, plain)])
        memory.flush()
        before = memory._host.store.outcomes()
        memory.erase(erased)
        found = files.log.find(ANN.path, "later")
        assert found is not None
        assert files.codec.plain(found.row) == plain
        assert (found.row.type, found.row.dataversion) == (kind, version)
        assert memory._host.store.outcomes()["dead_lettered"] == before["dead_lettered"] == 1

    @pytest.mark.parametrize("elsewhere", first_of(True, False), ids=["in another process", "here"])
    @pytest.mark.parametrize("whole", first_of(False, True), ids=["one event", "the scope"])
    def test_what_was_sealed_before_and_arrives_afterwards_is_kept(
        self, directory: Path, memory: Memory, elsewhere: bool, whole: bool
    ) -> None:
        first = memory.record_turn(ANN, text="I live in Xochimilco.", event_id="e1")
        log = memory._host.files.log
        append, delayed = log.append, list[object]()

        def after_an_erasure(rows: Sequence[SealedRow]) -> list[Position]:
            if not delayed:
                delayed.append(rows)
                if elsewhere:
                    program = [sys.executable, "-c", ERASES, str(directory)]
                    subprocess.run([*program, "" if whole else "e1"], check=True)
                else:
                    memory.erase(ANN if whole else first)
            return append(rows)

        with patch.object(log, "append", after_an_erasure):
            memory.record_turn(ANN, text="I work at Hooli.", event_id="e2")
        assert delayed
        memory.flush()
        assert [each.value for each in memory.memories(ANN)] == ["Hooli"]
        for name, gone in (("e1", True), ("e2", False)):
            entry = log.find(ANN.path, name)
            assert entry is not None
            assert is_erased(memory, entry.row) is gone
        assert_sound(memory)

    def test_appends_during_many_erasures_are_all_kept(self, memory: Memory) -> None:
        """Every append is overtaken by an erasure, at each point between sealing and storing."""
        seal, depth = memory._host.files.codec.to_row, list[object]()

        def sealed(event: Any) -> SealedRow:
            row = seal(event)
            if not depth and event.type == "turn.recorded":
                depth.append(row)
                memory.erase(memory.record_turn(ANN, text="Forget this at once."))
            return row

        with patch.object(memory._host.files.codec, "to_row", sealed):
            for number in range(4):
                depth.clear()
                memory.state(ANN, attribute="likes", value=f"tea {number}")
                memory.record_turn(ANN, text=f"I like pie number {number}.")
        memory.flush()
        assert len(memory.memories(ANN)) == 8
        assert_sound(memory)


MARK = "Xochimilcotenango"
SENTENCE = f"I live in {MARK}."


class Told:
    """A scope in which much was recorded about one event, ``e1``."""

    def __init__(self, memory: Memory, value: str = MARK) -> None:
        self.memory, self.value = memory, value
        text = f"I live in {value}." if value.isascii() else f"我住在{value}。"
        memory.record_turn(ANN, text=text, event_id="e1")
        memory.flush()
        (self.found,) = memory.memories(ANN)
        assert self.found.value == value

    def carriers(self) -> dict[str, str]:
        """Records something of each kind that must go with the event; ids, by kind."""
        memory, found, value = self.memory, self.found, self.value
        memory.append(
            [
                self.event(
                    "answer",
                    "extraction.answered",
                    ExtractionAnswered(event="e1", model="m", prompt="p", answer=found.text),
                ),
                self.event(
                    "echo", "turn.recorded", TurnRecorded(text=found.text, role="assistant")
                ),
                self.event(
                    "call", "tool.called", ToolCalled(tool="t", arguments={"for": found.text})
                ),
            ]
        )
        memory.review(ANN, "e1", approve=True, reviewer="lead", reason=value, event_id="review")
        memory.record_tool_result(ANN, tool="t", text=f"> {found.text}", event_id="result")
        memory.record_feedback(ANN, target=found.id, verdict="used", event_id="feedback")
        note = f"not {value}"
        memory.record_feedback(ANN, target="m", verdict="used", note=note, event_id="note")
        forgotten = memory.forget(ANN, found, reason=f"{value} is wrong").event
        memory.flush()
        restored = memory.restore(ANN, found).event
        names = ("answer", "echo", "call", "review", "result", "feedback", "note")
        return {each: each for each in names} | {"forget": forgotten, "restore": restored}

    def event(self, name: str, kind: str, data: Data) -> Event:
        return Event(
            id=name,
            type=kind,
            subject=ANN.path,
            time=SAID,
            source=Source("model_derived", 1),
            data=data,
        )


def files_holding(directory: Path, *texts: str) -> list[str]:
    """Every file in which any of the texts stands, raw, as JSON, in UTF-16, or as a key of it."""
    forms: set[bytes] = set()
    for text in texts:
        keys = {text, content_key(text), served_key(text), derived_id(content_key(text))}
        for each in keys:
            forms |= {each.encode(), msgspec.json.encode(each)[1:-1], each.encode("utf-16-le")}
    return files_with(directory, forms)


def plain_texts(memory: Memory) -> dict[str, bytes]:
    """The data of every readable event of the scope, by id."""
    files = memory._host.files
    entries = files.log.of_subject(ANN.path)
    return {
        each.row.id: files.codec.plain(each.row)
        for each in entries
        if not is_erased(memory, each.row)
    }


class TestWhatCarriesTheErased:
    def test_everything_recorded_about_it_goes_with_it_and_is_named(
        self, memory: Memory, directory: Path
    ) -> None:
        told = Told(memory)
        carriers = told.carriers()
        memory.flush()
        memory.rebuild()  # a generation that is not served holds all of it as well
        assert files_holding(directory, MARK, SENTENCE, told.found.text)
        report = memory.erase(ANN, event="e1")
        assert report.complete, report
        assert report.with_them.keys() == set(carriers.values())
        assert report.events == 1 + len(carriers)
        assert not files_holding(directory, MARK, SENTENCE, told.found.text)
        assert not any(MARK.encode() in each for each in plain_texts(memory).values())
        assert not memory.memories(ANN, everything=True)
        assert_sound(memory)
        assert not files_holding(directory, MARK, SENTENCE, told.found.text)

    @pytest.mark.parametrize("value", first_of("杭州", MARK, "Oslo"))
    def test_what_a_correction_says_is_right_outlives_what_it_took_back(
        self, memory: Memory, directory: Path, value: str
    ) -> None:
        told = Told(memory, value)
        correction = memory.correct(ANN, told.found, "Bergenhus", reason=f"{value} was wrong")
        memory.flush()
        report = memory.erase(ANN, event="e1")
        assert report.complete, report
        assert list(report.with_them) == [correction.event]
        (after,) = memory.memories(ANN, everything=True)
        assert (after.value, after.attribute, after.trust) == ("Bergenhus", "residence", 3)
        assert after.supports == report.restated
        assert after.valid_from >= told.found.valid_from
        assert not any(value.encode() in each for each in plain_texts(memory).values())
        if value == MARK:
            assert not files_holding(directory, MARK, SENTENCE, told.found.text)
        assert_sound(memory)

    def test_a_correction_of_a_free_text_is_kept_as_well(self, memory: Memory) -> None:
        memory.state(ANN, "The spare key hangs behind the boiler.", event_id="e1")
        memory.flush()
        (found,) = memory.memories(ANN)
        memory.correct(ANN, found, "The spare key lies in the shed.")
        memory.flush()
        report = memory.erase(ANN, event="e1")
        assert report.complete, report
        assert [each.text for each in memory.memories(ANN, everything=True)] == [
            "The spare key lies in the shed."
        ]
        assert_sound(memory)

    def test_corrections_of_corrections_keep_the_last_word(self, memory: Memory) -> None:
        told = Told(memory)
        first = memory.correct(ANN, told.found, "Bergenhus")
        memory.flush()
        (second,) = memory.memories(ANN)
        memory.correct(ANN, second, "Trondheim")
        memory.flush()
        report = memory.erase(ANN, event="e1")
        assert list(report.with_them) == [first.event]
        assert report.complete, report
        assert [each.value for each in memory.memories(ANN)] == ["Trondheim"]
        assert_sound(memory)

    def test_a_replacement_that_holds_the_erased_goes_too_and_the_report_says_so(
        self, memory: Memory, directory: Path
    ) -> None:
        told = Told(memory)
        correction = memory.correct(ANN, told.found, f"{MARK}, Mexico")
        memory.flush()
        report = memory.erase(ANN, event="e1")
        assert report.complete, report
        assert (list(report.with_them), report.restated) == ([correction.event], ())
        assert not memory.memories(ANN, everything=True)
        assert not files_holding(directory, MARK)

    def test_erasing_the_correction_itself_keeps_nothing_of_it(
        self, memory: Memory, directory: Path
    ) -> None:
        memory.record_turn(ANN, text="I live in Oslo.", event_id="e1")
        memory.flush()
        (found,) = memory.memories(ANN)
        correction = memory.correct(ANN, found, MARK)
        memory.flush()
        memory.recall(ANN, "Where does the user live?")
        report = memory.erase(correction)
        assert report.complete, report
        assert not report.restated
        assert [each.value for each in memory.memories(ANN)] == ["Oslo"]
        assert not files_holding(directory, MARK)

    def test_a_served_context_loses_what_is_erased_and_keeps_the_rest(
        self, memory: Memory, directory: Path
    ) -> None:
        told = Told(memory)
        memory.record_turn(ANN, text="I work at Hooli.")
        memory.flush()
        contexts = [
            memory.recall(ANN, "Where does the user live and work?").context,
            memory.recall(ANN, f"Is it {MARK}?").context,
        ]
        echo = "The user works at Hooli."
        memory.flush()
        report = memory.erase(ANN, event="e1")
        assert report.complete, report
        assert set(report.scrubbed) == set(contexts)
        assert not files_holding(directory, MARK, SENTENCE, told.found.text)
        texts = plain_texts(memory)
        assert told.found.id.encode() not in texts[contexts[0]]
        assert b"live and work" in texts[contexts[0]]
        assert memory.memories(ANN)[0].id.encode() in texts[contexts[0]]
        memory.record_turn(ANN, text=echo, role="assistant", event_id="echo")
        memory.flush()
        assert memory._host.store.outcome_of(ANN.path, "echo") == "rejected"
        assert_sound(memory)

    def test_what_recall_had_injected_is_blanked_in_the_turns_that_held_it(
        self, memory: Memory, directory: Path
    ) -> None:
        told = Told(memory)
        context = memory.recall(ANN, "Where does the user live?").text
        assert MARK in context
        text = f"{context} I work at Hooli."
        memory.record_turn(ANN, text=text, served_spans=[(0, len(context))], event_id="turn")
        memory.flush()
        report = memory.erase(ANN, event="e1")
        assert report.complete, report
        assert "turn" in report.scrubbed
        assert [each.value for each in memory.memories(ANN, everything=True)] == ["Hooli"]
        assert not files_holding(directory, MARK, SENTENCE, told.found.text)
        assert_sound(memory)

    def test_a_statement_of_its_own_stays_and_the_report_is_not_complete(
        self, memory: Memory
    ) -> None:
        Told(memory)
        memory.record_turn(ANN, text=f"{MARK} is lovely in spring.", event_id="e2")
        memory.record_turn(ANN, text=SENTENCE, event_id="e3")
        memory.flush()
        report = memory.erase(ANN, event="e1")
        assert not report.complete
        assert set(report.also_in) == {"e2", "e3"}
        assert not report.with_them
        assert [each.supports for each in memory.memories(ANN, attribute="residence")] == [("e3",)]
        assert not memory.erase(ANN, event="e3").complete
        assert memory.erase(ANN, event="e2").complete

    def test_an_event_of_a_newer_release_that_holds_it_is_named(self, memory: Memory) -> None:
        Told(memory)
        files = memory._host.files
        row = SealedRow("new", "dream.told", ANN.path, SAID, "user_said", 3, "r", "", 1, "", b"")
        plain = msgspec.json.encode({"dream": f"I was in {MARK}"})
        files.log.append([files.codec.with_plain(row, plain)])
        report = memory.erase(ANN, event="e1")
        assert report.also_in == ("new",)
        assert not report.complete

    def test_another_scope_that_says_the_same_is_neither_touched_nor_named(
        self, memory: Memory
    ) -> None:
        ben = Scope(tenant="acme", user="ben")
        memory.record_turn(ben, text=SENTENCE, event_id="theirs")
        Told(memory)
        before = memory.history(ben)
        report = memory.erase(ANN, event="e1")
        assert report.complete, report
        assert report.elsewhere
        assert not report.also_in
        assert memory.history(ben) == before

    def test_the_report_never_says_complete_while_a_store_keeps_it(
        self, memory: Memory, directory: Path
    ) -> None:
        """A store that forgets to erase is found out, whichever it is."""
        for kind in (StateStore, DuckIndex, EdgeIndex):
            name = "erase_scope" if kind is StateStore else "erase"
            memory.record_turn(ANN, text=f"I live in {MARK}{kind.__name__}.")
            memory.flush()
            with patch.object(kind, name, lambda *_, **__: 0):
                report = memory.erase(ANN)
            assert not report.complete, kind
            assert memory.erase(ANN).complete


def analytics(memory: Memory) -> dict[str, list[Any]]:
    """Every row of every analytics table, in order of the log and without the step's number."""
    found: dict[str, list[Any]] = {}
    for table in TABLES:
        columns = "* EXCLUDE (seq)"
        found[table] = sorted(map(repr, memory.sql(f"SELECT {columns} FROM {table}")[1]))
    return found


class TestWhatIsLeft:
    @pytest.mark.parametrize("whole", first_of(False, True), ids=["one event", "the scope"])
    def test_analytics_are_row_for_row_those_of_a_rebuild(
        self, memory: Memory, directory: Path, whole: bool
    ) -> None:
        told = Told(memory)
        told.carriers()
        memory.recall(ANN, "Where does the user live?")
        memory.record_turn(ANN, text="I work at Hooli.")
        memory.erase(memory.record_turn(ANN, text="A first erasure of something else."))
        memory.erase(ANN, event=None if whole else "e1")
        memory.record_turn(ANN, text="I like chess.")
        memory.flush()
        live = analytics(memory)
        memory.close()
        (stored,) = directory.glob("generations/*/analytics.duckdb")
        stored.unlink()
        with Memory.open(directory, worker=False, clock=ManualClock(SAID, seed=1)) as again:
            again.flush()
            assert analytics(again) == live
            assert again.rebuild().identical
            assert analytics(again) == live
            assert again.doctor().healthy

    @pytest.mark.parametrize("whole", first_of(False, True), ids=["one event", "the scope"])
    def test_snapshots_in_the_directory_are_taken_again_and_others_named(
        self, memory: Memory, directory: Path, whole: bool
    ) -> None:
        Told(memory)
        memory.record_turn(ANN, text="I work at Hooli.")
        memory.flush()
        inside, outside = directory / "snapshots" / "today", directory.parent / "elsewhere"
        for target in (inside, outside):
            memory.snapshot(target)
        memory.rebuild()  # a generation of its own counts steps anew
        report = memory.erase(ANN, event=None if whole else "e1")
        assert report.snapshots_renewed == (str(inside),)
        assert report.snapshots_left == (str(outside),)
        assert not report.complete
        assert not holds(inside, ANN.path, ["e1"])
        assert bool(verify(inside).tally.count) is not whole
        memory.snapshot(directory / "snapshots" / "later")
        memory.record_turn(ANN, text="I like chess.", event_id="e9")
        assert memory.erase(ANN, event="e9").complete  # no snapshot has it

    def test_a_snapshot_that_was_cut_off_is_removed(self, memory: Memory, directory: Path) -> None:
        Told(memory)
        target = directory / "snapshots" / "today"
        memory.snapshot(target)
        target.rename(target.with_name(".today.building"))
        report = memory.erase(ANN, event="e1")
        assert report.complete, report
        assert not list(target.parent.iterdir())


class TestWhereContentHides:
    """Places other than rows and points: none of them keeps a byte."""

    def check(self, memory: Memory, directory: Path, event: str | None) -> None:
        assert files_holding(directory, MARK), "nothing to erase: the test shows nothing"
        report = memory.erase(ANN, event=event)
        assert report.complete, report
        assert report.searched
        assert not files_holding(directory, MARK)

    @pytest.mark.parametrize("whole", first_of(False, True), ids=["one event", "the scope"])
    def test_the_error_of_a_dead_letter(self, memory: Memory, directory: Path, whole: bool) -> None:
        files = memory._host.files
        row = SealedRow("bad", "turn.recorded", ANN.path, SAID, "user_said", 3, "r", "", 1, "", b"")
        plain = msgspec.json.encode({"role": "user", "text": "I live here.", MARK: MARK})
        files.log.append([files.codec.with_plain(row, plain)])
        memory.record_turn(ANN, text="I like chess.")
        memory.flush()
        assert MARK in memory._host.store.dead_letters()[0].error
        self.check(memory, directory, None if whole else "bad")
        assert_sound(memory)

    def test_generations_that_a_crash_left_half_made_or_half_removed(
        self, memory: Memory, directory: Path
    ) -> None:
        Told(memory)
        memory.rebuild()
        generations = directory / "generations"
        served = memory._host.generation
        (other,) = (each for each in generations.glob("g-*") if each.name != served)
        (other / "generation.json").unlink()
        shutil.copytree(other, generations / "g-000099")
        self.check(memory, directory, "e1")
        assert [each.name for each in generations.glob("g-*")] == [served]
        assert_sound(memory)

    def test_a_replay_that_was_killed(self, memory: Memory, directory: Path) -> None:
        Told(memory)
        shutil.copytree(directory / "generations", directory / ".replay-killed")
        self.check(memory, directory, "e1")

    def test_shards_and_rewrites_that_a_crash_left(self, memory: Memory, directory: Path) -> None:
        Told(memory)
        folder = memory._host.stores.folder
        memory.close()
        shutil.copytree(folder / "vectors" / "shard-1", folder / "vectors" / "shard-7")
        (folder / "analytics.duckdb.rewrite").write_bytes(
            (folder / "analytics.duckdb").read_bytes()
        )
        with Memory.open(directory, worker=False, clock=ManualClock(SAID, seed=1)) as again:
            self.check(again, directory, "e1")
            assert_sound(again)

    def test_write_ahead_logs_freed_pages_and_what_is_not_merged_yet(
        self, memory: Memory, directory: Path
    ) -> None:
        """Many versions and keys of long texts, so that pages split, spill and are freed."""
        for number in range(60):
            text = f"I like {MARK} number {number}, " + "and its gardens " * 40
            memory.record_turn(ANN, text=text, event_id=f"n{number}")
            if number % 20 == 0:
                memory.flush()
        memory.flush()
        assert any("-wal" in each for each in files_holding(directory, MARK))
        self.check(memory, directory, None)

    def test_content_that_a_crash_within_the_erasure_left_is_gone_at_the_next_start(
        self, memory: Memory, directory: Path
    ) -> None:
        told = Told(memory)
        memory.correct(ANN, told.found, "Bergenhus")
        memory.recall(ANN, f"Is it {MARK}?")
        memory.flush()
        cut_off = patch.object(SqliteLog, "scrub", side_effect=KeyboardInterrupt)
        with cut_off, pytest.raises(KeyboardInterrupt):
            memory.erase(ANN, event="e1")
        memory.close()
        with Memory.open(directory, worker=False, clock=ManualClock(SAID, seed=1)) as again:
            again.flush()
            assert not files_holding(directory, MARK, SENTENCE, told.found.text)
            assert [each.value for each in again.memories(ANN, everything=True)] == ["Bergenhus"]
            assert not any(MARK.encode() in each for each in plain_texts(again).values())
            assert_sound(again)


def is_erased(memory: Memory, row: SealedRow) -> bool:
    try:
        memory._host.files.codec.plain(row)
    except KeyDestroyed:
        return True
    return False

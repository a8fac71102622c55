"""An event id that is recorded again changes nothing; where it says something else, it is told."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs
from typer.testing import CliRunner

sys.path.insert(0, str(Path(__file__).parent))

from test_rules import turn

from memstream import Memory, Scope
from memstream.schemas.events import TurnRecorded
from memstream.service.cli import app
from memstream.service.importing import import_file
from memstream.service.recording import captured
from memstream.streams.importers import Told
from memstream.streams.log import Position

ANN = Scope(tenant="acme", user="ann")
USER = ("-t", "acme", "--user", "ann")
NOW = datetime(2025, 5, 1, tzinfo=UTC)
WARNING = "event_id_recorded_again_with_other_content"

Recording = Callable[[Memory, str], Position]
RECORDED: dict[str, Recording] = {
    "turn": lambda memory, said: memory.record_turn(ANN, text=said, event_id="one"),
    "call": lambda memory, said: memory.record_tool_call(
        ANN, tool="look", arguments={"for": said, "at": (1, 2)}, event_id="one"
    ),
    "result": lambda memory, said: memory.record_tool_result(
        ANN, tool="look", text=said, event_id="one"
    ),
    "feedback": lambda memory, said: memory.record_feedback(
        ANN, target="t", verdict="used", note=said, event_id="one"
    ),
    "state": lambda memory, said: memory.state(
        ANN, said, valid_from=datetime(2025, 1, 1, tzinfo=UTC), event_id="one"
    ),
    "review": lambda memory, said: memory.review(
        ANN, "e", approve=True, reviewer="kim", reason=said, event_id="one"
    ),
    "in parts": lambda memory, said: memory.record_turn(
        ANN, text="a word " * 20_000 + said, event_id="one"
    ),
}


TIMED: dict[str, Callable[..., Position]] = {
    "turn": lambda memory, **named: memory.record_turn(ANN, text="Hi.", **named),
    "call": lambda memory, **named: memory.record_tool_call(ANN, tool="look", **named),
    "state": lambda memory, **named: memory.state(ANN, "Tea is on.", **named),
    "in parts": lambda memory, **named: memory.record_turn(ANN, text="a word " * 20_000, **named),
}


def kept(memory: Memory, position: Position) -> tuple[Any, ...]:
    log = memory._host.files.log
    return log.end_offsets(), log.find(position.scope, position.event)


def warned(logs: list[Any]) -> list[Any]:
    return [each for each in logs if each["event"] == WARNING]


@pytest.mark.parametrize("kind", RECORDED)
def test_the_same_id_with_other_content_is_told(tmp_path: Path, kind: str) -> None:
    record = RECORDED[kind]
    with Memory.open(tmp_path, worker=False) as memory, capture_logs() as logs:
        first = record(memory, "The harbour is closed.")
        again = record(memory, "The harbour is closed.")
        assert (first.duplicate, first.differs) == (False, False)
        assert again == msgspec.structs.replace(first, duplicate=True)
        assert not warned(logs)
        there = kept(memory, first)
        other = record(memory, "The harbour is open.")
        assert other == msgspec.structs.replace(first, duplicate=True, differs=True)
        (warning,) = warned(logs)
        assert warning["count"] == 1
        assert kept(memory, first) == there


def test_another_type_or_trust_under_the_same_id_is_told_too(tmp_path: Path) -> None:
    with Memory.open(tmp_path, worker=False) as memory:
        memory.record_turn(ANN, text="Nice.", event_id="one")
        assert memory.record_turn(ANN, text="Nice.", trust=1, event_id="one").differs
        assert memory.record_turn(ANN, text="Nice.", source="document", event_id="one").differs
        assert memory.record_tool_result(ANN, tool="t", text="Nice.", event_id="one").differs
        assert memory.record_turn(ANN, text="Nice.", role="system", event_id="one").differs
        assert memory.record_turn(ANN, text="Nice.", actor="ann", event_id="one").differs
        assert memory.record_turn(ANN, text="Nice.", conversation="c", event_id="one").differs


@pytest.mark.parametrize("kind", TIMED)
def test_another_time_under_the_same_id_is_told(tmp_path: Path, kind: str) -> None:
    def record(when: datetime | None) -> Position:
        return TIMED[kind](memory, observed_at=when, event_id="one")

    with Memory.open(tmp_path, worker=False) as memory:
        first = record(NOW)
        there = kept(memory, first)
        assert not record(NOW).differs
        # A repeated call that leaves the time out says it at another moment, and means the same.
        assert not record(None).differs
        assert record(NOW + timedelta(microseconds=1)).differs
        assert record(NOW.astimezone(timezone(timedelta(hours=8)))).differs, "another local day"
        assert kept(memory, first) == there


def test_what_was_erased_is_compared_with_nothing(tmp_path: Path) -> None:
    with Memory.open(tmp_path, worker=False) as memory, capture_logs() as logs:
        said = memory.record_turn(ANN, text="I live in Porto.", event_id="one")
        memory.record_turn(ANN, text="I like tea.", event_id="two")
        memory.flush()
        memory.erase(said)
        again = memory.record_turn(ANN, text="I live in Faro.", event_id="one")
        assert (again.duplicate, again.differs) == (True, False)
        assert memory.record_turn(ANN, text="I like coffee.", event_id="two").differs
        assert len(warned(logs)) == 1


@pytest.mark.parametrize("at", [0, 1, 2])
@pytest.mark.parametrize("again", [False, True])
def test_a_group_without_an_event_is_none(tmp_path: Path, at: int, *, again: bool) -> None:
    long = msgspec.structs.replace(
        turn("x"), id="long", data=TurnRecorded(role="user", text="a word " * 20_000)
    )
    groups = [captured(turn("I like tea.")), captured(long)]
    assert len(groups[1]) > 1
    with Memory.open(tmp_path / "with", worker=False) as memory:
        there = memory._host.append(groups)
        if again:
            there = memory._host.append(groups)
        ends = memory._host.files.log.end_offsets()
    groups.insert(at, [])
    with Memory.open(tmp_path / "without", worker=False) as memory:
        found = memory._host.append(groups)
        if again:
            found = memory._host.append(groups)
        assert [(each.offset, each.event, each.duplicate) for each in found] == [
            (each.offset, each.event, each.duplicate) for each in there
        ]
        assert memory._host.files.log.end_offsets() == ends


def lines(path: Path, *texts: str) -> Path:
    rows = [
        {"id": f"c{number}", "type": "turn.recorded", "observed_at": "2025-05-01T10:00:00Z",
         "scope": {"tenant": "acme", "user": "ann"}, "data": {"text": text}}
        for number, text in enumerate(texts, start=1)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_file_that_was_edited_names_the_lines_that_differ(tmp_path: Path) -> None:
    texts = [f"I like tea number {number}." for number in range(30)]
    edited = list(texts)
    edited[4], edited[20] = "I like coffee.", "I like cocoa."
    with Memory.open(tmp_path / "memory", worker=False) as memory:
        chat = lines(tmp_path / "chat.jsonl", *texts)
        assert not import_file(memory, chat, scope=ANN, now=NOW).differing
        again = import_file(memory, chat, scope=ANN, now=NOW)
        assert (again.already_there, again.differing) == (30, ())
        lines(chat, *edited, "I like milk.", "I like milk.")
        report = import_file(memory, chat, scope=ANN, now=NOW)
        assert (report.added, report.already_there) == (2, 30)
        assert report.differing == ("line 5: c5", "line 21: c21")


def test_no_format_that_is_imported_again_later_differs(tmp_path: Path) -> None:
    files = sorted((Path(__file__).with_name("fixtures") / "importers").iterdir())
    with Memory.open(tmp_path, worker=False) as memory:
        for file in files:
            told = Told(speaker="Zoe") if file.stem == "whatsapp" else None
            first = import_file(memory, file, scope=ANN, now=NOW, told=told)
            later = datetime(2026, 2, 1, tzinfo=UTC)
            again = import_file(memory, file, scope=ANN, now=later, told=told)
            assert (again.already_there, again.differing) == (first.read, ()), file.name


def test_two_that_differ_in_one_write_are_told(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "memory", worker=False) as memory:
        chat = lines(tmp_path / "chat.jsonl", "I like tea.", "I like milk.")
        chat.write_text(chat.read_text().replace('"c2"', '"c1"'))
        report = import_file(memory, chat, scope=ANN, now=NOW)
        assert (report.added, report.differing) == (1, ("line 2: c1",))


def test_the_command_line_says_that_it_was_not_recorded(tmp_path: Path) -> None:
    def invoke(*arguments: str) -> Any:
        return CliRunner().invoke(app, [*arguments, *USER, "-d", str(tmp_path / "memory")])

    said = ("record", "--id", "c1", "--text")
    assert invoke(*said, "I like tea.").stdout.startswith("recorded")
    assert invoke(*said, "I like tea.").stdout.startswith("already there: event c1")
    other = invoke(*said, "I like milk.")
    assert other.exit_code == 0
    assert other.stdout.startswith(
        "not recorded, already there with other content or time: event c1"
    )
    assert WARNING in other.stderr
    assert json.loads(invoke(*said, "I like milk.", "--json").stdout)["differs"] is True
    chat = lines(tmp_path / "chat.jsonl", "I like cocoa.", "I like rain.")
    report = invoke("import", str(chat))
    assert report.exit_code == 0
    assert "there already with other content or time: line 1: c1." in report.stderr

"""The command line: every answer a program reads, every exit code a script relies on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from memstream.service.cli import app
from memstream.streams.clock import SystemClock
from memstream.streams.lease import WorkerLease

SCOPE = ("--tenant", "acme", "--user", "u1")
Run = Callable[..., Result]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a move in it."""
    path = tmp_path_factory.mktemp("cli") / "memory"
    for text, at in (
        ("I live in Bergen.", "2025-03-01T08:00:00Z"),
        ("I moved to Trieste last month.", "2025-07-15T08:00:00Z"),
    ):
        found = invoke(path, "record", "--text", text, "--observed-at", at, *SCOPE)
        assert found.exit_code == 0, found.output
    assert invoke(path, "worker", "--once").exit_code == 0
    return path


def invoke(folder: Path, command: str, *arguments: str) -> Result:
    return CliRunner().invoke(app, [command, *arguments, "--dir", str(folder)])


def test_recall_as_json_is_one_document(folder: Path) -> None:
    found = invoke(folder, "recall", "where does the user live?", "--json", *SCOPE)
    assert found.exit_code == 0, found.output
    answer = json.loads(found.stdout)
    assert "Trieste" in answer["text"]
    assert "Bergen" not in answer["text"]


def test_recall_of_the_past(folder: Path) -> None:
    then = ("--as-of", "2025-04-01T00:00:00Z")
    found = invoke(folder, "recall", "where does the user live?", *then, *SCOPE)
    assert found.exit_code == 0, found.output
    assert "Bergen" in found.stdout


@pytest.mark.parametrize("command", ["memories", "history", "doctor"])
def test_what_a_program_reads_is_json(folder: Path, command: str) -> None:
    scope = () if command == "doctor" else SCOPE
    found = invoke(folder, command, "--json", *scope)
    assert found.exit_code == 0, found.output
    json.loads(found.stdout)


def test_explain_shows_the_chain(folder: Path) -> None:
    listed = json.loads(invoke(folder, "memories", "--json", *SCOPE).stdout)
    memories = listed["memories"] if isinstance(listed, dict) else listed
    found = invoke(folder, "explain", memories[0]["id"], *SCOPE)
    assert found.exit_code == 0, found.output
    assert "Trieste" in found.stdout


def test_sql_reads_and_cannot_write(folder: Path) -> None:
    found = invoke(folder, "sql", "SELECT count(*) AS n FROM memory_versions", "--json")
    assert found.exit_code == 0, found.output
    assert invoke(folder, "sql", "DELETE FROM events").exit_code == 4


def test_importing_twice_adds_nothing_and_a_broken_line_is_named(
    folder: Path, tmp_path: Path
) -> None:
    chat = tmp_path / "chat.jsonl"
    line = {
        "id": "c1",
        "type": "turn.recorded",
        "scope": {"tenant": "acme", "user": "u2"},
        "observed_at": "2025-05-01T10:00:00Z",
        "role": "user",
        "data": {"text": "I work at Fjordline."},
    }
    chat.write_text(json.dumps(line) + "\n{broken\n")
    user = ("--tenant", "acme", "--user", "u2")
    first = invoke(folder, "import", str(chat), "--json", *user)
    assert first.exit_code == 3, first.output
    report = json.loads(first.stdout)
    assert report["added"] == 1
    assert "line 2" in str(report["broken"])
    again = json.loads(invoke(folder, "import", str(chat), "--json", *user).stdout)
    assert (again["added"], again["already_there"]) == (0, 1)


def test_rebuild_replay_and_snapshot(folder: Path, tmp_path: Path) -> None:
    assert json.loads(invoke(folder, "rebuild", "--json").stdout)["identical"] is True
    assert invoke(folder, "replay", "--json").exit_code == 0
    assert invoke(folder, "snapshot", str(tmp_path / "parquet")).exit_code == 0
    assert list((tmp_path / "parquet").rglob("*.parquet"))


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("recall", "anything"), 2),
        (("recall", "anything", "--tenant", "acme"), 2),
        (("record", "--text", "x", "--observed-at", "2025-03-01T08:00:00", *SCOPE), 2),
        (("import", "/nowhere/at/all.json", *SCOPE), 2),
        (("explain", "no-such-memory", *SCOPE), 4),
    ],
)
def test_what_cannot_be_done_is_said_without_a_traceback(
    folder: Path, arguments: tuple[str, ...], code: int
) -> None:
    found = invoke(folder, *arguments)
    assert found.exit_code in (2, 4), found.output
    assert found.exit_code == code
    assert "Traceback" not in found.output
    assert found.output.strip()


def test_a_directory_that_another_process_works_on_says_who(folder: Path) -> None:
    lease = WorkerLease(folder, SystemClock())
    assert lease.acquire()
    try:
        found = invoke(folder, "rebuild")
        assert found.exit_code == 4
        assert "process" in found.output
        read = invoke(folder, "recall", "where does the user live?", "--json", *SCOPE)
        assert read.exit_code == 0, read.output
        assert json.loads(read.stdout)["degraded"]
    finally:
        lease.release()


def test_schema_is_json_schema() -> None:
    found = CliRunner().invoke(app, ["schema"])
    assert found.exit_code == 0
    assert "$defs" in json.loads(found.stdout) or "turn.recorded" in found.stdout


def test_the_demo_keeps_its_promises(tmp_path: Path) -> None:
    found = invoke(tmp_path / "demo", "demo")
    assert found.exit_code == 0, found.output
    assert "byte for byte" in found.output


def test_erase_leaves_no_trace(tmp_path: Path) -> None:
    path = tmp_path / "memory"
    invoke(path, "record", "--text", "I live in Quetzaltenango.", *SCOPE)
    found = invoke(path, "erase", "--yes", "--json", *SCOPE)
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["traces"] == []

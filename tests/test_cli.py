"""The command line: every answer a program reads, every exit code a script relies on."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
import structlog
from thorough import first_of
from typer.main import get_command
from typer.testing import CliRunner, Result

from memstream.schemas.codec import Codec
from memstream.schemas.events import DATA_TYPES, Event, Source, TurnRecorded
from memstream.schemas.json_schema import all_events_schema, event_schema
from memstream.service.cli import app
from memstream.service.commands_logging import configure_logging
from memstream.streams.clock import SystemClock
from memstream.streams.lease import WorkerLease

SCOPE = ("--tenant", "acme", "--user", "u1")
ROOT = Path(__file__).resolve().parents[1]
COMMANDS = sorted(get_command(app).commands)  # type: ignore[attr-defined]  # it is a group


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


# Recording and correcting


def test_a_memory_is_corrected_forgotten_and_restored(tmp_path: Path) -> None:
    path = tmp_path / "memory"
    invoke(path, "state", "--attribute", "residence", "--value", "Lund", *SCOPE)

    def homes() -> list[str]:
        found = invoke(path, "memories", "--attribute", "residence", "--json", *SCOPE)
        return [each["value"] for each in json.loads(found.stdout)]

    def named(value: str) -> str:
        found = json.loads(invoke(path, "history", "--json", *SCOPE).stdout)
        return next(str(each["id"]) for each in found if each["value"] == value)[:10]

    assert homes() == ["Lund"]
    assert invoke(path, "correct", named("Lund"), "Malmö", *SCOPE).exit_code == 0
    assert homes() == ["Malmö"]
    explained = invoke(path, "explain", named("Malmö"), *SCOPE)
    assert "replace residence: Lund, right is Malmö" in explained.stdout, explained.output
    assert invoke(path, "forget", named("Malmö"), "--reason", "a test", *SCOPE).exit_code == 0
    assert homes() == []
    assert invoke(path, "restore", named("Malmö"), *SCOPE).exit_code == 0
    assert homes() == ["Malmö"]


def _by_event(path: Path, scope: tuple[str, ...]) -> str:
    return "said-1"


def _by_a_beginning(path: Path, scope: tuple[str, ...]) -> str:
    return "said"


def _by_memory(path: Path, scope: tuple[str, ...]) -> str:
    waiting = invoke(path, "memories", "--status", "pending_review", "--json", *scope)
    (memory,) = json.loads(waiting.stdout)
    return str(memory["id"])[:12]


@pytest.mark.parametrize("name", [_by_event, _by_a_beginning, _by_memory])
def test_what_a_channel_says_waits_until_a_review_approves_it(
    tmp_path: Path, name: Callable[[Path, tuple[str, ...]], str]
) -> None:
    path, scope = tmp_path / "memory", ("--tenant", "acme", "--channel", "ops")
    said = ("--text", "We run the tests with `make unit`.", "--id", "said-1")
    assert invoke(path, "record", *said, *scope).exit_code == 0
    assert json.loads(invoke(path, "memories", "--json", *scope).stdout) == []
    for asking in (("memories",), ("recall", "how are the tests run?")):
        told = invoke(path, *asking, *scope)
        assert told.exit_code == 0
        assert (
            "1 memory held for review, see memstream memories --status pending_review"
            in told.output
        )
    decided = invoke(path, "review", name(path, scope), "--approve", "--reviewer", "ana", *scope)
    assert decided.exit_code == 0, decided.output
    found = json.loads(invoke(path, "memories", "--json", *scope).stdout)
    assert "make unit" in str(found)


@pytest.mark.parametrize("name", ["zzz", "", "said", "said-1", "id"])
def test_a_review_is_of_one_event_that_waits(tmp_path: Path, name: str) -> None:
    path = tmp_path / "memory"
    for number, text in enumerate(("I live in Oslo.", "I work at Northwind."), 1):
        said = ("--text", text, "--id", f"said-{number}")
        assert invoke(path, "record", *said, *SCOPE).exit_code == 0
    if name == "id":
        (first, *_) = json.loads(invoke(path, "memories", "--json", *SCOPE).stdout)
        name = str(first["id"])
    refused = invoke(path, "review", name, "--approve", "--reviewer", "ana", *SCOPE)
    assert refused.exit_code != 0
    assert "mend:" in refused.output


@pytest.mark.parametrize(
    "arguments",
    [
        ("tool-call", "--tool", "search", "--arguments", '{"q": "tea"}', "--call", "c1"),
        ("tool-result", "--tool", "search", "--text", "Open at ten.", "--call", "c1", "--ok"),
        ("session-closed", "--conversation", "chat-1"),
        ("turn", "--role", "assistant", "--text", "Noted.", "--actor", "bot"),
    ],
)
def test_every_kind_of_event_is_recorded(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    found = invoke(tmp_path / "memory", "record", *arguments, "--json", *SCOPE)
    assert found.exit_code == 0, found.output
    position = json.loads(found.stdout)
    assert (position["scope"], position["offset"]) == ("acme/user:u1", 0)


def test_feedback_names_what_is_there_by_its_id_or_its_beginning(folder: Path) -> None:
    whose = ("--tenant", "acme", "--user", "fed-back")
    invoke(folder, "record", "--text", "I live in Narvik.", "--id", "e1", *whose)
    answer = json.loads(invoke(folder, "recall", "Where does she live?", "--json", *whose).stdout)
    (home,) = (item["memory"]["id"] for item in answer["items"])
    other = ("--tenant", "acme", "--agent", "guide")  # to whom the memory is served
    invoke(folder, "recall", "Where does she live?", "--also", "acme/user:fed-back", *other)
    for name, scope in (
        (home, whose), (home[:9], whose), (answer["context"], whose), ("e1", whose), (home, other)
    ):  # fmt: skip
        given = ("record", "feedback", "--target", name, "--verdict", "cited", "--json", *scope)
        found = invoke(folder, *given)
        assert found.exit_code == 0, found.output
    query = (
        f"SELECT cited, context_verdicts['cited'] AS c FROM served_usage WHERE memory = '{home}'"
    )
    assert json.loads(invoke(folder, "sql", query, "--json").stdout)["rows"] == [[3, 1]]


def test_feedback_on_what_was_just_recorded_finds_it(tmp_path: Path) -> None:
    invoke(tmp_path / "m", "state", "The ferry leaves at nine.", "--id", "s1", *SCOPE)
    (memory,) = json.loads(invoke(tmp_path / "m", "memories", "--json", *SCOPE).stdout)
    invoke(tmp_path / "n", "state", "The ferry leaves at nine.", "--id", "s1", *SCOPE)
    given = ("feedback", "--target", memory["id"], "--verdict", "used", *SCOPE)  # not processed yet
    assert invoke(tmp_path / "n", "record", *given).exit_code == 0


@pytest.mark.parametrize("target", ["zzz", "00000000-0000-5000-8000-000000000000", "e", " "])
def test_feedback_on_nothing_is_refused_and_not_recorded(folder: Path, target: str) -> None:
    whose = ("--tenant", "acme", "--user", "twice")
    for name in ("e1", "e2"):
        invoke(folder, "record", "--text", "I live in Narvik.", "--id", name, *whose)
    given = ("feedback", "--target", target, "--verdict", "used")
    found = invoke(folder, "record", *given, *whose)
    assert found.exit_code == (4 if target.strip() else 2), found.output
    counted = invoke(folder, "sql", "SELECT count(*) AS n FROM feedback WHERE scope LIKE '%twice'")
    assert "0" in counted.stdout


@pytest.mark.parametrize(
    "given",
    [("record", "feedback", "--target", "x", "--verdict", "used", *SCOPE), ("worker", "--once")],
)
def test_what_needs_a_directory_makes_none(tmp_path: Path, given: tuple[str, ...]) -> None:
    found = invoke(tmp_path / "none", *given)
    assert (found.exit_code, "no memory directory" in found.output) == (4, True)
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_the_version_is_an_option_too(option: str) -> None:
    found = CliRunner().invoke(app, [option])
    number = json.loads(CliRunner().invoke(app, ["version", "--json"]).stdout)["memstream"]
    assert (found.exit_code, found.stdout) == (0, f"memstream {number}\n")


def test_the_short_options_name_a_scope(folder: Path) -> None:
    command = ["memories", "-d", str(folder), "-t", "acme", "-u", "u1", "--json"]
    assert CliRunner().invoke(app, command).stdout == invoke(
        folder, "memories", "--json", *SCOPE
    ).stdout  # fmt: skip


def test_one_case_is_run_by_its_file(tmp_path: Path) -> None:
    case = {
        "events": [{"id": "e1", "type": "turn.recorded", "scope": {"tenant": "acme", "user": "u1"},
                    "observed_at": "2025-05-01T10:00:00Z", "data": {"text": "I live in Narvik."}}],
        "expect": {},
    }  # fmt: skip
    for name in ("one", "other"):
        (tmp_path / f"{name}.json").write_text(json.dumps({"name": name, **case}))
    found = CliRunner().invoke(app, ["cases", str(tmp_path / "one.json"), "--json"])
    assert [each["name"] for each in json.loads(found.stdout)] == ["one"], found.output
    assert CliRunner().invoke(app, ["cases", str(tmp_path / "none.json")]).exit_code == 2


def test_text_is_read_from_standard_input_and_an_id_counts_once(tmp_path: Path) -> None:
    command = ["record", "--text", "-", "--id", "e1", "--dir", str(tmp_path / "m"), *SCOPE]
    said = "I live in Tromsø.\n".encode()
    assert "recorded: event e1" in CliRunner().invoke(app, command, input=said).stdout
    assert "already there: event e1" in CliRunner().invoke(app, command, input=said).stdout
    found = invoke(tmp_path / "m", "explain", "e1", *SCOPE)
    assert "I live in Tromsø." in found.stdout


def test_the_environment_gives_directory_and_scope_and_options_win(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMSTREAM_DIR", str(folder))
    monkeypatch.setenv("MEMSTREAM_TENANT", "acme")
    monkeypatch.setenv("MEMSTREAM_USER", "u1")
    found = CliRunner().invoke(app, ["memories", "--json"])
    assert "Trieste" in found.stdout
    other = CliRunner().invoke(app, ["memories", "--json", "--agent", "coder"])
    assert other.exit_code == 0, other.output
    assert json.loads(other.stdout) == []


# Answers


def test_history_shows_every_version_and_why(folder: Path) -> None:
    found = json.loads(
        invoke(folder, "history", "--attribute", "residence", "--json", *SCOPE).stdout
    )
    assert {each["status"] for each in found} >= {"active", "superseded"}
    one = invoke(folder, "history", found[0]["id"][:10], *SCOPE)
    assert one.exit_code == 0
    assert "status, believed from (UTC): why" in one.stdout
    assert "closed by 'Trieste'" in one.stdout or "stated" in one.stdout


def test_memories_of_another_time_and_status(folder: Path) -> None:
    then = ("--as-of", "2025-04-01T00:00:00+02:00", "--attribute", "residence")
    found = json.loads(invoke(folder, "memories", *then, "--json", *SCOPE).stdout)
    assert [each["value"] for each in found] == ["Bergen"]
    ended = invoke(folder, "memories", "--status", "superseded", "--json", *SCOPE)
    assert "Bergen" in ended.stdout
    assert "Bergen" in invoke(folder, "memories", "--all", *SCOPE).stdout


def test_recall_prints_evidence_only_and_explains_when_asked(folder: Path) -> None:
    question = ("recall", "Where does the user live?", "--no-record")
    plain = invoke(folder, *question, *SCOPE)
    assert plain.stdout.startswith("<memory-evidence")
    assert plain.stdout.endswith("</memory-evidence>\n")
    explained = invoke(folder, *question, "--explain", *SCOPE).stdout
    head, best = (explained.splitlines()[at].split() for at in (1, 3))
    assert head == ["score", "bm25", "outcome", "id", "memory"]
    assert (best[0], best[2], best[4]) == ("1", "#1", "served")
    nothing = invoke(folder, "recall", "zymurgy", "--no-record", *SCOPE)
    assert (nothing.exit_code, nothing.stdout) == (0, "")
    wrong = invoke(folder, *question, "--kind", "rumour", *SCOPE)
    assert wrong.exit_code == 2


def test_rows_come_as_csv_or_json_and_not_as_both(folder: Path) -> None:
    query = "SELECT id, 'a,b' AS \"x\" FROM events ORDER BY seq LIMIT 1"
    lines = invoke(folder, "sql", query, "--csv").stdout.splitlines()
    assert lines[0] == "id,x"
    assert lines[1].endswith(',"a,b"')
    found = json.loads(invoke(folder, "sql", query, "--json").stdout)
    assert found["columns"] == ["id", "x"]
    assert len(found["rows"]) == 1
    assert invoke(folder, "sql", query, "--json", "--csv").exit_code == 2


def test_stored_text_steers_no_terminal_and_is_no_markup(tmp_path: Path) -> None:
    path = tmp_path / "memory"
    values = ["[/bold] [red]x[/red]", "\x1b[2Jcleared", "a\u202eb", ":boom:"]
    for value in values:
        stated = ("--attribute", "nickname", "--value", value)
        assert invoke(path, "state", *stated, *SCOPE).exit_code == 0
    for command in ("memories", "history"):
        options = ("--all",) if command == "memories" else ()
        found = invoke(path, command, *options, *SCOPE)
        assert found.exit_code == 0, found.output
        assert "\x1b" not in found.stdout
        assert "\u202e" not in found.stdout
        assert "[/bold]" in found.stdout
        assert ":boom:" in found.stdout


def test_a_question_to_a_directory_that_is_not_there_makes_none(tmp_path: Path) -> None:
    found = invoke(tmp_path / "typo", "recall", "anything", *SCOPE)
    assert found.exit_code == 4
    assert "mend:" in found.stderr
    assert not (tmp_path / "typo").exists()


def test_an_unknown_format_names_the_known_and_makes_no_directory(tmp_path: Path) -> None:
    chat = tmp_path / "chat.json"
    chat.write_text('[{"who": "a", "what": "b"}]')
    for options in ((), ("--format", "papyrus")):
        found = invoke(tmp_path / "memory", "import", str(chat), *options, *SCOPE)
        assert found.exit_code == 4
        assert "own_jsonl" in found.stderr
        assert not (tmp_path / "memory").exists()


def test_a_schema_of_one_type_and_of_none() -> None:
    found = json.loads(CliRunner().invoke(app, ["schema", "turn.recorded"]).stdout)
    assert found["properties"]["type"] == {"const": "turn.recorded"}
    unknown = CliRunner().invoke(app, ["schema", "turn.forgotten"])
    assert unknown.exit_code == 4
    assert "turn.recorded" in unknown.stderr


def test_the_envelope_schema_knows_every_field_that_the_codec_writes() -> None:
    event = Event(
        id="e1",
        type="turn.recorded",
        subject="acme/user:u1",
        time=datetime(2025, 1, 1, tzinfo=UTC),
        recordedtime=datetime(2025, 1, 2, tzinfo=UTC),
        source=Source("user_said", 3),
        data=TurnRecorded(role="user", text="hello"),
    )
    written = json.loads(Codec().to_wire(event))
    schema = event_schema("turn.recorded")
    assert set(written) <= set(schema["properties"])
    assert set(schema["required"]) <= set(written)
    fields = schema["$defs"]["TurnRecorded"]
    assert set(written["data"]) <= set(fields["properties"])
    assert [each["title"] for each in all_events_schema()["oneOf"]] == sorted(DATA_TYPES)


def test_version_names_what_it_stands_on() -> None:
    found = json.loads(CliRunner().invoke(app, ["version", "--json"]).stdout)
    assert {"memstream", "python", "sqlite", "duckdb"} <= set(found)


def test_alone_it_prints_help_and_every_command_has_an_example() -> None:
    alone = CliRunner().invoke(app, [])
    assert alone.exit_code == 0
    assert "Exit codes" in alone.stdout
    for name in COMMANDS:
        found = CliRunner().invoke(app, [name, "--help"])
        assert found.exit_code == 0, name
        assert f"Example: memstream {name}" in found.stdout


# Keeping


def test_swap_back_serves_the_generation_before(tmp_path: Path) -> None:
    path = tmp_path / "memory"
    invoke(path, "record", "--text", "I live in Ghent.", *SCOPE)
    beside = json.loads(invoke(path, "rebuild", "--no-swap", "--json").stdout)
    assert (beside["verified"], beside["swapped"]) == (True, False)
    built = json.loads(invoke(path, "rebuild", "--json").stdout)
    back = json.loads(invoke(path, "rebuild", "--swap-back", "--json").stdout)
    assert back == {"generation": built["previous"]}
    assert invoke(path, "rebuild", "--swap-back", "--no-swap").exit_code == 2


def test_one_event_is_erased_and_the_rest_stays(tmp_path: Path) -> None:
    path = tmp_path / "memory"
    invoke(path, "record", "--text", "I live in Pamplona.", "--id", "e1", *SCOPE)
    invoke(path, "record", "--text", "My name is Itziar.", "--id", "e2", *SCOPE)
    refused = invoke(path, "erase", "--event", "e1", *SCOPE)
    assert refused.exit_code == 2
    assert "--yes" in refused.stderr
    assert invoke(path, "erase", "--event", "e1", "--yes", *SCOPE).exit_code == 0
    left = invoke(path, "memories", "--json", *SCOPE).stdout
    assert "Pamplona" not in left
    assert "Itziar" in left


def test_cases_tell_which_of_them_fail(tmp_path: Path) -> None:
    said = {
        "id": "e1",
        "type": "turn.recorded",
        "scope": {"tenant": "acme", "user": "u1"},
        "observed_at": "2025-05-01T10:00:00Z",
        "role": "user",
        "data": {"text": "I live in Turku."},
    }
    for name, value in (("right", "Turku"), ("wrong", "Oulu")):
        expect = {"current": [{"attribute": "residence", "value": value}]}
        case = {"name": name, "events": [said], "orders": "given", "expect": expect}
        (tmp_path / f"{name}.json").write_text(json.dumps(case))
    found = CliRunner().invoke(app, ["cases", str(tmp_path), "--json"])
    assert found.exit_code == 1, found.output
    assert {each["name"]: each["passed"] for each in json.loads(found.stdout)} == {
        "right": True,
        "wrong": False,
    }
    only = CliRunner().invoke(app, ["cases", str(tmp_path), "--only", "right"])
    assert only.exit_code == 0, only.output


# As a process


def process(*arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "memstream.service.cli", *arguments]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )


@pytest.mark.parametrize("number", first_of(signal.SIGTERM, signal.SIGINT))
def test_a_worker_processes_until_it_is_told_to_stop(tmp_path: Path, number: int) -> None:
    path = tmp_path / "memory"
    with process("worker", "--log-json", "--dir", str(path)) as worker:
        assert worker.stderr is not None
        lines = iter(worker.stderr.readline, b"")
        assert any(b"worker_started" in line for line in lines)
        recorded = invoke(path, "record", "--text", "I live in Cork.", *SCOPE)
        assert recorded.exit_code == 0, recorded.output
        # The worker hands the work over to whoever asks, and has it back afterwards.
        found = invoke(path, "recall", "Where does the user live?", "--json", *SCOPE)
        assert "Cork" in found.stdout
        assert "degraded" not in found.stderr
        assert invoke(path, "worker", "--once").exit_code == 0
        worker.send_signal(number)
        assert worker.wait(20) == 0
        log = worker.stderr.read()
    assert b"worker_stopped" in log
    assert b"Traceback" not in log
    assert json.loads(invoke(path, "doctor", "--json").stdout)["balance"]["in_flight"] <= 1


def test_a_reader_that_goes_away_is_no_error(folder: Path) -> None:
    with process("schema") as schema:
        assert schema.stdout is not None
        schema.stdout.close()
        assert schema.wait(20) == 141
        assert schema.stderr is not None
        assert schema.stderr.read() == b""


def test_what_libraries_log_is_told_as_our_own_lines_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    handlers, level = list(logging.root.handlers), logging.root.level
    try:
        for verbose, told in ((0, 1), (2, 2)):
            configure_logging(verbose, as_json=True)
            configure_logging(verbose, as_json=True)
            logging.getLogger("faust.worker").info("ready %s", "now")
            logging.getLogger("faust.worker").log(35, "slow %s", 1)
            lines = [json.loads(each) for each in capsys.readouterr().err.splitlines()]
            assert len(lines) == told
            assert lines[-1]["event"] == "slow 1"
            assert lines[-1]["logger"] == "faust.worker"
            assert lines[-1]["level"] == "warning"
            assert lines[-1]["timestamp"].endswith("Z")
    finally:
        logging.root.handlers[:], logging.root.level = handlers, level
        structlog.reset_defaults()

"""Plain-text conversations: who speaks, who of them is the user, when; and what is only text."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from memstream.schemas.errors import ImportFault
from memstream.schemas.events import TurnRecorded
from memstream.schemas.scope import Scope
from memstream.service import importing
from memstream.service.cli import app
from memstream.streams.importers import (
    FORMATS,
    Broken,
    Imported,
    Item,
    Note,
    Told,
    detect,
    read_file,
)
from memstream.streams.importers.plain_text import DateOrder

SCOPE = Scope(tenant="acme", user="u1")
NOW = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)
ANN = Told("Ann")


def items_of(folder: Path, text: str, told: Told | None = None, **more: Any) -> list[Item]:
    path = folder / "talk"
    path.write_text(text, encoding="utf-8")
    return list(read_file(path, scope=more.pop("scope", SCOPE), now=NOW, told=told, **more))


def said_in(items: list[Item]) -> list[tuple[str, str]]:
    """(role, or the name of another person; the words) of each turn."""
    turns = [item.event.data for item in items if isinstance(item, Imported)]
    return [
        (each.actor or each.role, each.text) for each in turns if isinstance(each, TurnRecorded)
    ]


def ids_of(items: list[Item]) -> list[str]:
    return [item.event.id for item in items if isinstance(item, Imported)]


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        ("User:", "Assistant:"),
        ("Human:", "AI:"),
        ("USER :", "BOT :"),
        ("You said:", "ChatGPT said:"),
        ("Me:", "ChatGPT:"),
        ("我：", "助手："),
        ("用户:", "AI助手:"),
        ("**User:**", "**Assistant:**"),
        ("**User**:", "**Assistant**:"),
        ("__Human__ :", "__AI__ :"),
        ("### **User:**", "### **Assistant:**"),
        ("## User\n", "## Assistant\n"),
        ("[2025-03-01 09:30] User:", "[2025-03-01 09:31] Assistant:"),
    ],
)
def test_the_turns_of_a_transcript_are_read_with_all_their_lines(
    mine: str, theirs: str, tmp_path: Path
) -> None:
    text = f"{mine} I live in Oslo.\n\nAnd Bergen: before.\n\n{theirs} Noted.\r\n{mine} 好的"
    items = items_of(tmp_path, text)
    assert said_in(items) == [
        ("user", "I live in Oslo.\n\nAnd Bergen: before."),
        ("assistant", "Noted."),
        ("user", "好的"),
    ]
    assert detect(tmp_path / "talk") == "transcript"
    assert ids_of(items) == ids_of(items_of(tmp_path, text))
    assert ids_of(items) == ids_of(items_of(tmp_path, text + f"\n{theirs} Bye."))[:3]


@pytest.mark.parametrize(
    "line",
    [
        "Note: bring a coat.",
        "  User: indented is quoted",
        "- User: who logs in",
        "> User: said before",
        "Users: three of them",
        "Prompt: I live in Rome.",
        "Me: I live in Rome.",
        "我：我住在罗马。",
        "Response: none",
        "The user: whoever logs in",
        "user://host",
        "**User:** in another style",
        "```\nUser: root\nAssistant: none\n```",
        '{"role": "user", "content": "I live in Rome."}',
    ],
)
def test_what_begins_no_turn_is_text(line: str, tmp_path: Path) -> None:
    items = items_of(tmp_path, f"User: Look.\nAssistant: Well.\n{line}\nUser: Thanks.\n")
    assert said_in(items) == [
        ("user", "Look."), ("assistant", f"Well.\n{line}"), ("user", "Thanks.")
    ]  # fmt: skip


def test_the_time_of_a_turn_is_kept_and_one_without_is_not_known(tmp_path: Path) -> None:
    (dated,) = items_of(tmp_path, "[2025-03-01T09:30:00+01:00] User: I rowed yesterday.")
    assert isinstance(dated, Imported)
    assert (dated.timed, dated.event.time.isoformat()) == (True, "2025-03-01T09:30:00+01:00")
    undated, note = items_of(tmp_path, "User: I rowed yesterday.")
    assert isinstance(undated, Imported)
    assert (undated.timed, undated.event.time) == (False, NOW)
    assert isinstance(note, Note)
    assert "--observed-at" in note.text


@pytest.mark.parametrize(
    ("text", "told", "scope", "said"),
    [
        ("Ann: a\nBen: b\nAnn: c\nBen: d\n", ANN, SCOPE, ["user", "Ben", "user", "Ben"]),
        (
            "Ann: a\nBen: b\nAnn: c\nBen: d\n", None, Scope(tenant="acme", user="ann"),
            ["user", "Ben", "user", "Ben"],
        ),
        (
            "Ann: a\nJarvis: b\nAnn: c\nJarvis: d\n", Told("Ann", ("Jarvis",)), SCOPE,
            ["user", "assistant", "user", "assistant"],
        ),
        (
            "User: a\nJarvis: b\nUser: c\nJarvis: d\n", Told(assistants=("Jarvis",)), SCOPE,
            ["user", "assistant", "user", "assistant"],
        ),
        ("Ann: a\nAssistant: b\nAnn: c\n", ANN, SCOPE, ["user", "assistant", "user"]),
    ],
)  # fmt: skip
def test_names_that_are_no_roles_are_told(
    text: str, told: Told | None, scope: Scope, said: list[str], tmp_path: Path
) -> None:
    assert [who for who, _ in said_in(items_of(tmp_path, text, told, scope=scope))] == said


@pytest.mark.parametrize(
    ("text", "told", "words"),
    [
        ("Ann: a\nBen: b\nAnn: c\nBen: d\n", None, ("--speaker", "Ann, Ben")),
        ("Ann: a\nAssistant: b\nAnn: c\nAssistant: d\n", None, ("--speaker", "Ann")),
        ("User: a\nJarvis: b\nUser: c\nJarvis: d\n", None, ("--assistant", "Jarvis")),
        ("User: a\nAssistant: b\n", ANN, ("'Ann' says nothing", "User, Assistant")),
        ("[27/03/2024, 10:15:03] Ann: a\n[27/03/2024, 10:16:00] Ben: b\n", None,
         ("--speaker", "Ann, Ben")),
        ("12/03/2024, 10:15 - Ann: a\n", ANN, ("line 1", "--date-order day-first")),
        ("13/03/2024, 10:15 - Ann: a\n03/13/2024, 10:16 - Ann: b\n", ANN,
         ("line 1", "line 2", "--date-order")),
        ("13/03/2024, 10:15 - Ann: a\n", Told("Ann", (), "month-first"), ("line 1", "leave")),
    ],
)  # fmt: skip
def test_what_a_text_leaves_open_is_asked_for(
    text: str, told: Told | None, words: tuple[str, ...], tmp_path: Path
) -> None:
    with pytest.raises(ImportFault, match="mend") as caught:
        items_of(tmp_path, text, told)
    for word in (str(tmp_path / "talk"), *words):
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("stamp", "order", "expected"),
    [
        ("[27/03/2024, 22:15:03]", None, "2024-03-27T22:15:03"),
        ("[3/27/24, 10:15:03\u202fPM]", None, "2024-03-27T22:15:03"),
        ("\u200e[27.03.24, 22:15:03]", None, "2024-03-27T22:15:03"),
        ("[02.03.24, 22:15:03]", None, "2024-03-02T22:15:03"),
        ("[2024/3/2 下午10:15:03]", None, "2024-03-02T22:15:03"),
        ("[02/03/2024, 22:15:03]", "day-first", "2024-03-02T22:15:03"),
        ("[02/03/2024, 22:15:03]", "month-first", "2024-02-03T22:15:03"),
        ("[03/03/2024, 12:15:03 a.m.]", None, "2024-03-03T00:15:03"),
        ("27/03/2024, 22:15 -", None, "2024-03-27T22:15:00"),
        ("3/27/24, 10:15 PM -", None, "2024-03-27T22:15:00"),
    ],
)
def test_the_times_of_a_whatsapp_export_are_read(
    stamp: str, order: DateOrder | None, expected: str, tmp_path: Path
) -> None:
    items = items_of(tmp_path, f"{stamp} Ann: I live in Oslo.\n", Told("Ann", (), order))
    (event,) = [item.event for item in items if isinstance(item, Imported)]
    assert (event.time.replace(tzinfo=None).isoformat(), event.data.actor) == (expected, "")
    assert detect(tmp_path / "talk") == "whatsapp"


CHAT = """\
27/03/2024, 10:15 - Messages and calls are end-to-end encrypted.
27/03/2024, 10:15 - Ann: I live in Oslo.
Note: since May.
27/03/2024, 10:15 - ~ Ben: I live in Rome.
99/99/2024, 10:16 - Ann: lost
of no day
27/03/2024, 10:16 - Ann: <Media omitted>
27/03/2024, 10:17 - Ann: the image omitted my face
27/03/2024, 10:17 - Ann: ok
27/03/2024, 10:17 - Ann: ok
27/03/2024, 10:18 - Helper: Noted.
"""


def test_a_whatsapp_export_says_what_people_said_and_no_more(tmp_path: Path) -> None:
    items = items_of(tmp_path, CHAT, Told("ann", ("Helper",)))
    assert said_in(items) == [
        ("user", "I live in Oslo.\nNote: since May."),
        ("Ben", "I live in Rome."),
        ("user", "the image omitted my face"),
        ("user", "ok"),
        ("user", "ok"),
        ("assistant", "Noted."),
    ]
    (broken,) = [item for item in items if isinstance(item, Broken)]
    assert broken.where == "line 5"
    notes = " ".join(item.text for item in items if isinstance(item, Note))
    assert "1 messages without words of their own, 1 notices of the program" in notes


def test_a_later_or_shortened_export_adds_only_what_is_new(tmp_path: Path) -> None:
    told = Told("ann")
    whole = ids_of(items_of(tmp_path, CHAT, told))
    assert len(set(whole)) == len(whole)
    lines = CHAT.splitlines(keepends=True)
    assert ids_of(items_of(tmp_path, "".join(lines[:-1]), told)) == whole[:-1]
    assert ids_of(items_of(tmp_path, "".join(lines[3:]), told)) == whole[1:]
    assert ids_of(items_of(tmp_path, CHAT, Told("Ben"))) == whole


def test_broken_lines_are_named_with_their_place(tmp_path: Path) -> None:
    path = tmp_path / "talk"
    path.write_bytes("User: 我\nmore \n".encode() + b"\xff\nAssistant: ok\n```\nopen\nUser: b\n")
    items = list(read_file(path, scope=SCOPE, now=NOW))
    broken = [item for item in items if isinstance(item, Broken)]
    assert [each.where for each in broken] == ["line 3", "line 5"]
    assert "byte 16 of" in broken[0].problem
    assert "never ends" in broken[1].problem
    assert said_in(items) == [("user", "我\nmore")]


@pytest.mark.parametrize(
    "text",
    [
        "Total: 3\nPrice: 4\n",
        "name: x\nversion: 1\nname: y\nversion: 2\n",
        "From: ann\nTo: ben\nSubject: tea\n\nHello.\n",
        "12/03/2024 was a fine day.\n13/03/2024 was not.\n",
        "The user: somebody.\n",
        "INFO 10:15 started\nINFO 10:16 ended\n",
    ],
)
def test_what_is_no_conversation_is_none(text: str, tmp_path: Path) -> None:
    with pytest.raises(ImportFault, match="--format transcript --speaker NAME"):
        items_of(tmp_path, text)


def test_the_command_takes_what_a_text_leaves_open(tmp_path: Path) -> None:
    path = tmp_path / "chat.txt"
    path.write_text("02/03/2024, 10:15 - Ann: I live in Oslo.\n02/03/2024, 10:16 - Bo: Nice.\n")
    command = ["import", str(path), "-d", str(tmp_path / "m"), "-t", "acme", "-u", "u1"]
    told = ["--speaker", "Ann", "--assistant", "Bo", "--date-order", "month-first"]
    refused = CliRunner().invoke(app, [*command, *told[:4]])
    assert (refused.exit_code, "--date-order" in refused.output) == (4, True)
    assert not (tmp_path / "m").exists()
    for added in ('"added":2', '"added":0'):
        found = CliRunner().invoke(app, [*command, *told, "--json"])
        assert (found.exit_code, added in found.output) == (0, True), found.output


def _examples() -> list[tuple[str, str]]:
    page = Path(__file__).resolve().parents[1] / "docs" / "importing.md"
    if not page.is_file():
        return []
    found = re.findall(
        r"^### (\w+)\n.*?^```(?:json|text)\n(.*?)^```", page.read_text("utf-8"), re.M | re.S
    )
    return [(name, example) for name, example in found if name in FORMATS]


@pytest.mark.parametrize(("name", "example"), _examples())
def test_every_example_of_the_documentation_is_in_its_format(
    name: str, example: str, tmp_path: Path
) -> None:
    items = items_of(tmp_path, example)
    assert detect(tmp_path / "talk") == name
    assert ids_of(items)
    assert not [item for item in items if isinstance(item, Broken)]


def test_every_format_of_programs_and_people_has_an_example() -> None:
    if examples := _examples():
        sets = {"locomo", "longmemeval", "madial", "everos"}
        assert {name for name, _ in examples} == set(FORMATS) - sets


def test_an_interrupted_import_says_that_what_it_recorded_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(importing, "import_file", interrupted)
    path = tmp_path / "chat.txt"
    path.write_text("User: I live in Oslo.\n")
    command = ["import", str(path), "-d", str(tmp_path / "m"), "-t", "acme", "-u", "u1"]
    found = CliRunner().invoke(app, command)
    assert (found.exit_code, "what was recorded is kept" in found.stderr) == (130, True)


@pytest.mark.parametrize(
    "text",
    [
        "class A:\n    pass\n\nuser: str = 'x'\nsystem: int = 3\n",
        "# Guide\n\n## User\n\nA person.\n\n## System\n\nA machine.\n\n## Model\n\nA drawing.\n",
        "Some notes\nuser: what they see\nsystem: what it does\nprompt: what is typed\n",
    ],
)
def test_labels_of_one_side_within_another_text_are_no_talk(tmp_path: Path, text: str) -> None:
    with pytest.raises(ImportFault):
        items_of(tmp_path, text)


@pytest.mark.parametrize(("mark", "other"), [("```", "~~~"), ("~~~", "```")])
def test_a_block_of_code_is_closed_by_its_own_mark(tmp_path: Path, mark: str, other: str) -> None:
    code = f"{mark}\n{other}\nAssistant: no\n{mark}"
    items = items_of(tmp_path, f"User: a\n{code}\nAssistant: b\nUser: c\n")
    assert said_in(items) == [("user", f"a\n{code}"), ("assistant", "b"), ("user", "c")]


@pytest.mark.parametrize(
    "line", ["# A" + " " * 100_000 + "x", "**A" + " " * 100_000 + "x", "[2025 " * 30_000]
)
def test_no_line_takes_longer_than_in_proportion_to_its_length(tmp_path: Path, line: str) -> None:
    items = items_of(tmp_path, f"## User\na\n## Assistant\n{line}\n")
    assert said_in(items) == [("user", "a"), ("assistant", line.strip())]

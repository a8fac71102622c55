"""Texts that begin like a transcript and are none are refused, with the line that shows it; real
transcripts that look like them are read."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memstream.schemas.errors import ImportFault
from memstream.schemas.events import TurnRecorded
from memstream.schemas.scope import Scope
from memstream.streams.importers import Broken, Imported, Item, detect, read_file

SCOPE = Scope(tenant="acme", user="u1")
NOW = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)

OTHERS = {
    "settings": ("user: ann\nhost: db.example.org\nport: 54\nmodel: a\n", "line 2 sets 'host'"),
    "a model's settings": ("user: ann\nmodel: tiny-2\n", "line 2 sets 'model'"),
    "settings of roles": ("user: ann\nassistant: rob\nmodel: small\n", "line 3 sets 'model'"),
    "nested settings": ("user:\n  name: ann\n  city: Lund\nmodel: small\n", "line 2 sets 'name'"),
    "settings with lists": ("user: ann\n# who may\nroles:\n  - admin\n  - guest\n", "line 3 sets"),
    "settings with a long text": (
        "user: ann\nnote: |\n  We meet at noon.\n  Bring tea.\nseats: 4\n", "line 2 sets 'note'"
    ),
    "settings after a blank": ("\nuser: ann\n\ntimeout: 3\n", "line 4 sets 'timeout'"),
    "a log with levels": (
        "[2025-03-01 09:30:00] User: ann logged in\n[2025-03-01 09:30:02] INFO: started\n",
        "line 2 has the level INFO",
    ),
    "a log with levels in small letters": (
        "[2025-03-01 09:30:00] User: ann logged in\n[2025-03-01 09:30:02] [warn] disk is full\n",
        "line 2 has the level warn",
    ),
    "a log": (
        "[2025-03-01 09:30:00] User: ann logged in\n[2025-03-01 09:30:02] GET /tea 200\n",
        "line 2 has a time and nobody who speaks",
    ),
    "a table": ("User: name,age,city\nann,3,Lund\nben,4,Rome\n", "line 1 is the first of rows"),
    "a narrow table": ('User: who;said\nann;"I like tea; and rice."\n', "rows of 2 fields"),
    "a table of numbers": ("User: name,low,high\nann,1,200\nben,2,400\n", "rows"),
    "a table with tabs": ("User: who\tsaid\nann\tI like tea, and rice.\n", "rows of 2 fields"),
    "a table in Chinese": ("User: 名字,年龄,城市\n小红,3,北京\n小明,4,上海\n", "rows of 3 fields"),
}  # fmt: skip

CONVERSATIONS = {
    "in small letters": "user: hi\nassistant: hello\nuser: how are you?\n",
    "of one turn each": "user: hi\nassistant: hello\n",
    "of a model": "user: hi\nmodel: hello\n",
    "with a model's name as an answer": "user: Which one is quickest?\nmodel: tiny-2\n",
    "with settings in a turn": "user: my settings\nhost: x\nport: 3\nuser: are they right?\n",
    "with settings in a turn of one": "user: Are these settings right?\nhost: x\nport: 3\n",
    "with settings in an answer": "user: ann\nassistant: Put this there.\nhost: x\nport: 3\n",
    "with a list": "user: tea\n- green\n- black\nassistant: Noted\n",
    "with a note": "User: I like tea\nNote: green\nAssistant: Noted\n",
    "with a log in a turn": (
        "[2025-03-01 09:30] User: what is this?\n[2025-03-01 09:29:02] ERROR: disk is full\n"
        "[2025-03-01 09:31] Assistant: Your disk is full.\n"
    ),
    "with times": "[2025-03-01 09:30] User: I like tea.\n[2025-03-01 09:31] User: And rice.\n",
    "with another person": (
        "[2025-03-01 09:30] User: I like tea.\n[2025-03-01 09:31] Ann: So do I.\n"
        "[2025-03-01 09:32] Ben joined\n"
    ),
    "with footnotes": "[2025-03-01 09:30] User: I like tea [1].\n[1] green\n[2024] black\n",
    "with commas": "User: I like tea, rice, jazz.\nI like chess, maths, boats.\n",
    "with commas at the end": "User: tea,\nrice,\nand jazz\n",
    "of a line": "User: tea,rice,jazz\n",
    "with numbers": "User: It cost 1,000.\nNow it costs 2,000 or more.\n",
    "with commas in Chinese": "User: 我喜欢茶,不喜欢咖啡\n我住在北京,在海淀\n",
}


def items_of(folder: Path, text: str, **more: Any) -> list[Item]:
    path = folder / "talk"
    path.write_bytes(text.encode())
    return list(read_file(path, scope=SCOPE, now=NOW, **more))


def said_in(items: list[Item]) -> list[tuple[str, str | None]]:
    turns = [item.event.data for item in items if isinstance(item, Imported)]
    return [(each.role, each.text) for each in turns if isinstance(each, TurnRecorded)]


@pytest.mark.parametrize("kind", OTHERS)
def test_what_only_begins_like_a_transcript_is_refused(tmp_path: Path, kind: str) -> None:
    text, problem = OTHERS[kind]
    for written in (text, text.replace("\n", "\r\n"), text.replace("\n", "\r"), "\ufeff" + text):
        with pytest.raises(ImportFault) as refused:
            items_of(tmp_path, written)
        assert problem in str(refused.value)
        assert "mend: --format transcript" in str(refused.value)
    assert said_in(items_of(tmp_path, text, format="transcript"))


@pytest.mark.parametrize("kind", CONVERSATIONS)
def test_a_transcript_that_looks_like_another_text_is_read(tmp_path: Path, kind: str) -> None:
    items = items_of(tmp_path, CONVERSATIONS[kind])
    assert detect(tmp_path / "talk") == "transcript"
    assert said_in(items)


def test_in_a_folder_it_is_named_and_the_rest_goes_on(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(OTHERS["settings"][0])
    (tmp_path / "b.txt").write_text("User: I like tea.\nAssistant: Noted.\n")
    items = list(read_file(tmp_path, scope=SCOPE, now=NOW))
    (broken,) = [item for item in items if isinstance(item, Broken)]
    assert "line 2 sets 'host'" in broken.problem
    assert len(said_in(items)) == 2


TURNS = ("User: I like tea.", "And rice.", "Assistant: Noted.", "User: 我住在北京")


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ends=st.lists(st.sampled_from(["\n", "\r", "\r\n"]), min_size=4, max_size=4))
def test_a_line_ends_as_it_will(tmp_path: Path, ends: list[str]) -> None:
    written = "".join(line + end for line, end in zip(TURNS, ends, strict=True))
    assert said_in(items_of(tmp_path, written)) == [
        ("user", "I like tea.\nAnd rice."),
        ("assistant", "Noted."),
        ("user", "我住在北京"),
    ]


def test_bytes_that_are_no_text_are_named_by_their_place_behind_carriage_returns(
    tmp_path: Path,
) -> None:
    path = tmp_path / "talk"
    path.write_bytes(b"User: tea\rAssistant: \xff\rUser: rice\r\n")
    items = list(read_file(path, scope=SCOPE, now=NOW))
    (broken,) = [item for item in items if isinstance(item, Broken)]
    assert broken.where == "line 2"
    assert "byte 21 of" in broken.problem

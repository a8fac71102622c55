"""A file in no known format: the error names the line, what is missing and what is strange."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memstream.schemas.errors import ImportFault
from memstream.schemas.scope import Scope
from memstream.streams.importers import Broken, Imported, detect, read_file
from memstream.streams.importers.nearest import FORMS

SCOPE = Scope(tenant="acme", user="zoe")
NOW = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)
SHORT = {
    "id": "1", "type": "turn.recorded", "observed_at": "2025-05-01T10:00:00Z",
    "data": {"text": "I live in Oslo."},
}  # fmt: skip
WIRE = {
    "specversion": "1.0", "id": "1", "type": "turn.recorded", "subject": "acme/user:zoe",
    "time": "2025-05-01T10:00:00Z", "data": {"text": "Hello.", "role": "user"},
}  # fmt: skip
MESSAGE = {"role": "user", "content": "I live in Oslo."}


def write(path: Path, *values: Any) -> Path:
    path.write_text("\n".join(value if isinstance(value, str) else json.dumps(value)
                              for value in values))  # fmt: skip
    return path


def renamed(record: dict[str, Any], old: str, new: str) -> dict[str, Any]:
    return {new if name == old else name: value for name, value in record.items()}


STRANGERS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "another time": (
        renamed(SHORT, "observed_at", "when"),
        ("own_jsonl:", "missing observed_at", "unknown when"),
    ),
    "another type": (
        {**SHORT, "type": "turn"},
        ("own_jsonl:", "type 'turn' is unknown", "turn.recorded"),
    ),
    "half an event": ({"id": "1", "type": "turn.recorded"}, ("missing observed_at, data",)),
    "no subject": (
        renamed(WIRE, "subject", "user"),
        ("CloudEvents", "missing subject", "unknown user"),
    ),
    "another role": (renamed(MESSAGE, "role", "who"), ("missing role", "unknown who")),
    "a role of its own": (
        {**MESSAGE, "role": "customer"},
        ("openai_messages", "role 'customer' is unknown", "assistant"),
    ),
    "nothing in common": (
        {"user": "ann", "message": "I live in Oslo"},
        ("missing role, content", "unknown message, user"),
    ),
    "many keys": (
        {f"column_{number:02}": number for number in range(40)},
        ("unknown column_00, column_01", "and 28 more"),
    ),
    "no keys": ({}, ("missing role, content",)),
    "a text": ('"just words"', ("is a text", "an object is expected")),
    "a number": ("42\n43", ("is 42", "an object is expected")),
}


@pytest.mark.parametrize(
    ("name", "before"),
    [(name, ()) for name in STRANGERS] + [("another time", ("{broken", ""))],
)
def test_the_nearest_format_is_told_with_its_line(
    name: str, before: tuple[str, ...], tmp_path: Path
) -> None:
    value, words = STRANGERS[name]
    path = write(tmp_path / "chat.jsonl", *before, value, value)
    with pytest.raises(ImportFault) as caught:
        read_file(path, scope=SCOPE, now=NOW)
    problem, _, mend = str(caught.value).partition("; mend: ")
    assert problem.startswith(f"{path}: its format is not recognised; line {len(before) + 1} is ")
    for word in words:
        assert word in problem
    assert mend.startswith("write each line as {")
    assert "--format" in mend


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_what_the_mend_shows_can_be_imported(form: Any, tmp_path: Path) -> None:
    path = write(tmp_path / "chat.jsonl", form.example)
    items = read_file(path, scope=SCOPE, now=NOW)
    assert sum(isinstance(item, Imported) for item in items) == 1
    assert detect(path) in {form.name.partition(" ")[0], "dated_chat"}


def test_messages_that_are_none_say_which_keys_they_have(tmp_path: Path) -> None:
    strange = (renamed(MESSAGE, "role", "who"), renamed(MESSAGE, "content", "words"),
               {**MESSAGE, "role": "customer"})  # fmt: skip
    path = write(tmp_path / "chat.jsonl", MESSAGE, *strange)
    items = read_file(path, scope=SCOPE, now=NOW)
    broken = [item for item in items if isinstance(item, Broken)]
    assert [each.where for each in broken] == ["line 2", "line 3", "line 4"]
    assert "its keys: who, content; expected: role, content" in broken[0].problem
    assert "its keys: role, words; expected: role, content" in broken[1].problem
    assert "role 'customer' is unknown (known: user" in broken[2].problem


def test_unknown_keys_are_each_named_and_the_known_told_once(tmp_path: Path) -> None:
    path = write(tmp_path / "chat.jsonl", SHORT, {"user": "ann", "words": "Hi.", "when": 1})
    items = read_file(path, scope=SCOPE, now=NOW)
    (broken,) = [item for item in items if isinstance(item, Broken)]
    for name in ("user", "words", "when", "id", "type", "observed_at"):
        assert f"$.{name}: is" in broken.problem
    assert broken.problem.count("known: ") == 1

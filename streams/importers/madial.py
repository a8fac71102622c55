"""MADial-Bench: dialogues between a child and an assistant, and dated notes about the child.

A dialogue line reads ``<Name>: "words"``. Notes ("memories") are read as said by the user on their
day, with their number as origin. Records stand one after another, without commas.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from memstream.streams.importers.contract import Broken, Importer, Item, Records
from memstream.streams.importers.event_making import Making, answered, name_of, said

_LINE = re.compile(r"\s*<(?P<who>[^<>]+)>\s*[:：]?\s*(?P<words>.*?)\s*", re.DOTALL)
_QUOTES = "\"'“”「」"
_MARKS = {"BOD", "EOD"}


def _claims(values: list[Any]) -> bool:
    return any(_is_dialogue(value) or bool(_notes(value)) for value in values)


def _is_dialogue(value: Any) -> bool:
    lines = value.get("dialogue") if isinstance(value, dict) else None
    return isinstance(lines, list) and bool(lines) and isinstance(lines[0], str)


def _notes(value: Any) -> dict[str, dict[str, Any]]:
    """The notes of a record by number, or nothing where it is no record of notes."""
    if not isinstance(value, dict) or not value:
        return {}
    for number, note in value.items():
        if not number.isdecimal() or not isinstance(note, dict) or "event" not in note:
            return {}
    return value


def _read(records: Records, making: Making) -> Iterator[Item]:
    for record in records:
        if isinstance(record, Broken):
            yield record
        elif _is_dialogue(record.value):
            yield from _dialogue(record.value, record.where, making)
        elif _notes(record.value):
            for number, note in _notes(record.value).items():
                yield from _note(number, note, record.where, making)
        else:
            yield Broken(record.where, "is neither a dialogue nor a note")


def _dialogue(dialogue: Mapping[str, Any], where: str, making: Making) -> Iterator[Item]:
    own = name_of(dialogue.get("id"))
    talk = making.conversation(f"dialogue-{own}" if own else "")
    for number, line in enumerate(dialogue["dialogue"], 1):
        at = f"{where}, message {number}"
        parts = _LINE.fullmatch(line) if isinstance(line, str) else None
        if not isinstance(line, str):
            yield Broken(at, f"expected a line of text, got {type(line).__name__}")
            continue
        # Taken as the assistant's, who is believed less: none of them may become the child's.
        who, words = (
            (parts["who"].strip(), parts["words"]) if parts else ("assistant", line.strip())
        )
        if parts is None:
            making.note("lines that name no speaker were taken as the assistant's")
        if who in _MARKS and not words:
            continue
        if len(words) > 1 and words[0] in _QUOTES and words[-1] in _QUOTES:
            words = words[1:-1]
        draft = answered(words) if who.lower() == "assistant" else said(words, who)
        yield from talk.hear(draft, at, origin=f"{own}/{number}" if own else "")


def _note(number: str, note: Mapping[str, Any], where: str, making: Making) -> Iterator[Item]:
    user = name_of(note.get("user-id"))
    talk = making.conversation(f"user-{user}" if user else "notes")
    time = making.instant(note.get("time"), where)
    yield from talk.hear(
        said(str(note["event"])), where, time=time, origin=number, native=("note", number)
    )


IMPORTER = Importer("madial", _claims, _read)

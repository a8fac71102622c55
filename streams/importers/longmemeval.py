"""LongMemEval: questions, each with a haystack of dated sessions between a user and an assistant.

Questions share sessions; a session that was met before adds nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memstream.streams.importers.chat_messages import drafts_of
from memstream.streams.importers.contract import Broken, Importer, Item, Records, Unreadable
from memstream.streams.importers.event_making import Making, name_of


def _claims(values: list[Any]) -> bool:
    return any(_is_question(value) for value in values)


def _is_question(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("haystack_sessions"), list)


def _read(records: Records, making: Making) -> Iterator[Item]:
    for record in records:
        if isinstance(record, Broken):
            yield record
        elif not _is_question(record.value):
            yield Broken(record.where, "is no question: expected haystack_sessions")
        else:
            yield from _sessions(record.value, record.where, making)


def _sessions(question: Mapping[str, Any], where: str, making: Making) -> Iterator[Item]:
    names, dates = (_list(question.get(key)) for key in ("haystack_session_ids", "haystack_dates"))
    asked = name_of(question.get("question_id"))
    for index, turns in enumerate(question["haystack_sessions"]):
        name = name_of(names[index]) if index < len(names) else f"{asked}/session-{index + 1}"
        at = f"{where}, conversation {name!r}"
        if not isinstance(turns, list):
            yield Broken(at, f"expected a list of messages, got {type(turns).__name__}")
            continue
        started = making.instant(dates[index], at) if index < len(dates) else None
        talk = making.conversation(name, started=started)
        for number, turn in enumerate(turns, 1):
            place = f"{at}, message {number}"
            try:
                drafts = drafts_of(turn if isinstance(turn, dict) else {})
            except Unreadable as error:
                yield Broken(place, str(error))
                continue
            for draft in drafts:
                yield from talk.hear(draft, place, origin=f"{name}/{number}")


def _list(raw: Any) -> list[Any]:
    return raw if isinstance(raw, list) else []


IMPORTER = Importer("longmemeval", _claims, _read)

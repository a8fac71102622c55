"""Plain chats of {role, content, timestamp}: a list, one message a line, or one list a line.

Programs that log this way often write the whole conversation again at each turn, and put the role
before the text ("User: ..."). A line that repeats what stood before adds nothing; the prefix is
taken off where it equals the role.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from memstream.streams.importers.chat_messages import ROLES, TIMES, first_of, read_chats
from memstream.streams.importers.contract import Importer, Item, Records
from memstream.streams.importers.event_making import Making


def _claims(values: list[Any]) -> bool:
    messages = [inner for value in values[:3] for inner in _flat(value)]
    return bool(messages) and all(_is_dated(message) for message in messages[:20])


def _flat(value: Any) -> list[Any]:
    if not isinstance(value, list):
        return [value]
    return [inner for each in value for inner in (each if isinstance(each, list) else [each])]


def _is_dated(message: Any) -> bool:
    return (
        isinstance(message, dict)
        and isinstance(message.get("role"), str)
        and message["role"].lower() in ROLES
        and isinstance(message.get("content"), str)
        and first_of(message, TIMES) is not None
        and "tool_calls" not in message
    )


def _read(records: Records, making: Making) -> Iterator[Item]:
    return read_chats(records, making, strip_roles=True)


IMPORTER = Importer("dated_chat", _claims, _read)

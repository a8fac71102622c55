"""The Claude.ai data export: ``conversations.json``, conversations with ``chat_messages``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memstream.streams.importers.chat_messages import drafts_of
from memstream.streams.importers.contract import Broken, Importer, Item, Records, Unreadable
from memstream.streams.importers.event_making import Making, name_of, whole_text


def _claims(values: list[Any]) -> bool:
    return any(_is_conversation(value) for value in values)


def _is_conversation(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("chat_messages"), list)


def _read(records: Records, making: Making) -> Iterator[Item]:
    for record in records:
        if isinstance(record, Broken):
            yield record
        elif not _is_conversation(record.value):
            yield Broken(record.where, "is no conversation: expected chat_messages")
        else:
            yield from _conversation(record.value, record.where, making)


def _conversation(chat: Mapping[str, Any], where: str, making: Making) -> Iterator[Item]:
    title = whole_text(str(chat.get("name") or "untitled"))
    name = name_of(chat.get("uuid")) or f"{title} {chat.get('created_at')}"
    started = making.instant(chat.get("created_at"), where)
    talk = making.conversation(name, started=started)
    for number, message in enumerate(chat["chat_messages"], 1):
        at = f"conversation {title!r}, message {number}"
        if not isinstance(message, dict):
            yield Broken(at, f"expected a message, got {type(message).__name__}")
            continue
        own = name_of(message.get("uuid"))
        try:
            drafts = drafts_of(_with_files(message))
        except Unreadable as error:
            yield Broken(at, str(error))
            continue
        time = making.instant(message.get("created_at"), at)
        for index, draft in enumerate(drafts):
            native = (name, own, str(index)) if own else ()
            yield from talk.hear(draft, at, time=time, origin=own, native=native)


def _with_files(message: dict[str, Any]) -> dict[str, Any]:
    """The message with its attachments as blocks; ``text`` repeats ``content`` where it has any."""
    content = message.get("content") or message.get("text") or ""
    blocks = list(content) if isinstance(content, list) else [content]
    for key in ("attachments", "files"):
        named = message.get(key)
        if isinstance(named, list):
            blocks += [{**each, "type": "file"} for each in named if isinstance(each, dict)]
    return {**message, "content": blocks}


IMPORTER = Importer("claude_export", _claims, _read)

"""EverOS chats: one object with ``session_meta`` and a ``conversation_list`` of dated messages.

Who is a person and who is an assistant stands in ``user_details``; times without an offset are
read in the chat's ``default_timezone``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from memstream.streams.importers.chat_messages import ROLES, text_of
from memstream.streams.importers.contract import Broken, Importer, Item, Records
from memstream.streams.importers.event_making import Draft, Making, answered, name_of, said


def _claims(values: list[Any]) -> bool:
    return any(_is_chat(value) for value in values)


def _is_chat(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("conversation_list"), list)


def _read(records: Records, making: Making) -> Iterator[Item]:
    for record in records:
        if isinstance(record, Broken):
            yield record
        elif not _is_chat(record.value):
            yield Broken(record.where, "is no chat: expected a conversation_list")
        else:
            yield from _chat(record.value, making)


def _chat(chat: Mapping[str, Any], making: Making) -> Iterator[Item]:
    meta = chat.get("session_meta")
    meta = meta if isinstance(meta, dict) else {}
    people = meta.get("user_details")
    people = people if isinstance(people, dict) else {}
    name = name_of(meta.get("group_id")) or name_of(meta.get("name"))
    zone = _zone(meta.get("default_timezone"))
    started = making.instant(meta.get("created_at"), "session_meta", offset=zone)
    talk = making.conversation(name, started=started)
    for number, message in enumerate(chat["conversation_list"], 1):
        where = f"conversation {name!r}, message {number}"
        if not isinstance(message, dict) or "content" not in message:
            yield Broken(where, "is a message without content")
            continue
        own = name_of(message.get("message_id"))
        where = f"{where} (id {own})" if own else where
        time = making.instant(message.get("create_time"), where, offset=zone)
        native = (name, own) if own else ()
        yield from talk.hear(_draft(message, people), where, time=time, origin=own, native=native)


def _zone(raw: Any) -> ZoneInfo | None:
    if not isinstance(raw, str) or not raw:
        return None
    try:
        return ZoneInfo(raw)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def _draft(message: Mapping[str, Any], people: Mapping[str, Any]) -> Draft:
    sender = name_of(message.get("sender"))
    person = people.get(sender)
    person = person if isinstance(person, dict) else {}
    actor = name_of(message.get("sender_name")) or name_of(person.get("full_name")) or sender
    kind = message.get("type")
    text = text_of(message["content"])
    if isinstance(kind, str) and kind not in {"text", ""}:
        text = f"[{kind}] {text}".strip()
    role = str(person.get("role") or actor).lower()
    return answered(text, actor) if ROLES.get(role) == "assistant" else said(text, actor)


IMPORTER = Importer("everos", _claims, _read)

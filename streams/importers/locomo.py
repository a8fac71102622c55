"""LoCoMo: long chats between two people, in dated sessions.

Both speakers are people, so both are taken as said, each under its name. All messages of a session
share its time. A session without a date comes after the one before it, but when is not known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from memstream.schemas.ids import derived_id
from memstream.streams.importers.contract import Broken, Importer, Item, Records
from memstream.streams.importers.event_making import Making, name_of, said

_SESSION = re.compile(r"session_(\d+)")


def _claims(values: list[Any]) -> bool:
    return any(_chat_of(value) is not None for value in values)


def _chat_of(value: Any) -> dict[str, Any] | None:
    """The conversation of a sample, or the value itself where it is one."""
    if not isinstance(value, dict):
        return None
    inner = value.get("conversation")
    chat = inner if isinstance(inner, dict) else value
    return chat if "speaker_a" in chat or _sessions(chat) else None


def _sessions(chat: Mapping[str, Any]) -> list[tuple[int, str]]:
    found = ((_SESSION.fullmatch(key), key) for key, turns in chat.items() if _is_turns(turns))
    return sorted((int(match[1]), key) for match, key in found if match)


def _is_turns(turns: Any) -> bool:
    return isinstance(turns, list) and all(isinstance(t, dict) and "dia_id" in t for t in turns[:1])


def _read(records: Records, making: Making) -> Iterator[Item]:
    for record in records:
        if isinstance(record, Broken):
            yield record
            continue
        chat = _chat_of(record.value)
        if chat is None:
            yield Broken(record.where, "is no sample: expected a conversation with sessions")
            continue
        yield from _sample(chat, _name(record.value, chat), making)


def _name(value: Mapping[str, Any], chat: Mapping[str, Any]) -> str:
    """The sample's id; without one, a name made of the speakers and the first words."""
    own = name_of(value.get("sample_id") or chat.get("sample_id"))
    if own:
        return own
    first = [str(chat[key][:1]) for _, key in _sessions(chat)[:1]]
    parts = [str(chat.get("speaker_a")), str(chat.get("speaker_b")), *first]
    return f"chat-{derived_id(*(name_of(part) for part in parts))[:8]}"


def _sample(chat: Mapping[str, Any], sample: str, making: Making) -> Iterator[Item]:
    before: datetime | None = None
    for _, key in _sessions(chat):
        name = f"{sample}/{key}"
        started = making.instant(chat.get(f"{key}_date_time"), f"conversation {name!r}")
        talk = making.conversation(name, started=started, before=before)
        for number, turn in enumerate(chat[key], 1):
            where = f"conversation {name!r}, message {number}"
            if not isinstance(turn, dict) or not isinstance(turn.get("text"), str):
                yield Broken(where, "is a turn without text")
                continue
            own = name_of(turn.get("dia_id"))
            origin = f"{sample}/{own}" if own else ""
            native = (sample, own) if own else ()
            draft = said(_with_image(turn), name_of(turn.get("speaker")))
            yield from talk.hear(
                draft, f"{where} (id {own})" if own else where, origin=origin, native=native
            )
        before = talk.ended


def _with_image(turn: Mapping[str, Any]) -> str:
    shown = [turn[key] for key in ("blip_caption", "query") if isinstance(turn.get(key), str)]
    text: str = turn["text"]
    return f"{text}\n[image: {'; '.join(shown)}]" if shown else text


IMPORTER = Importer("locomo", _claims, _read)

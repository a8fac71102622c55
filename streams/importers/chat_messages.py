"""Role-and-content messages, as OpenAI, Anthropic and most chat programs write them.

Three formats are made of these (``openai_messages``, ``anthropic_blocks``, ``dated_chat``). They
differ in what a file of them is recognised by; one message reads the same in each, and their ids
hang on one family name, so that a file that comes to be recognised as another of the three (its
first tool call, say) keeps its ids.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from memstream.streams.importers.contract import Broken, Item, Records, Unreadable
from memstream.streams.importers.event_making import (
    Conversation,
    Draft,
    Making,
    answered,
    called,
    instructed,
    name_of,
    returned,
    said,
)

FAMILY = "messages"
ROLES = {
    "user": "user", "human": "user",
    "assistant": "assistant", "ai": "assistant", "model": "assistant", "gpt": "assistant",
    "bot": "assistant", "chatgpt": "assistant",
    "system": "system", "developer": "system",
    "tool": "tool", "function": "tool", "observation": "tool", "tool_response": "tool",
    "function_call": "call", "tool_call": "call",
}  # fmt: skip
"""The roles that files use, and what each means here."""

LISTS = ("messages", "traj", "conversation", "conversations", "history", "dialogue", "turns",
         "items")  # fmt: skip
"""Where an object that holds a conversation keeps its messages; the first that is a list."""

ROLE_KEYS = ("role", "from", "author", "speaker", "sender")
CONTENT_KEYS = ("content", "value", "text", "parts")
"""Where a message says who speaks, and what; the first that is there."""

TIMES = ("timestamp", "created_at", "create_time", "time", "datetime", "date", "ts")
_NAMES = ("conversation_id", "session_id", "sessionId", "thread_id", "chat_id", "id", "uuid")
_IMAGES = {"image", "image_url", "input_image", "image_asset_pointer", "image_file"}
_FILES = {"document", "file", "input_file", "attachment", "container_upload"}
_AUDIO = {"audio", "input_audio", "output_audio", "audio_asset_pointer", "video"}
_TEXTS = {"text", "input_text", "output_text", "audio_transcription"}
_THOUGHTS = {"thinking", "redacted_thinking", "reasoning", "thoughts", "reasoning_recap"}


def role_of(message: Any) -> str:
    """The message's role as this module knows it, or "" for what is no message."""
    if not isinstance(message, dict):
        return ""
    for key in ROLE_KEYS:
        raw = message.get(key)
        if isinstance(raw, str):
            return ROLES.get(raw.strip().lower(), "")
    kind = message.get("type")
    if kind in ("function_call", "function_call_output", "reasoning"):
        return "item"
    return ""


def content_of(message: Mapping[str, Any]) -> Any:
    """What the message says, in whichever field it keeps it."""
    for key in CONTENT_KEYS:
        if message.get(key) is not None:
            return message[key]
    return None


def first_of(holder: Mapping[str, Any], keys: tuple[str, ...]) -> Any:
    """The first of the fields that is there and not empty."""
    return next((holder[key] for key in keys if holder.get(key) not in (None, "")), None)


def text_of(content: Any) -> str:
    """All text of a content: itself, or its blocks on lines of their own."""
    return "\n".join(filter(None, (_text_of_block(block) for block in _blocks(content))))


def drafts_of(message: Mapping[str, Any], *, merge: bool = True) -> list[Draft]:
    """What one message says and does, in order. Thinking is left out: it is no evidence.

    ``merge`` joins neighbouring text blocks into one turn. Raises ``Unreadable`` for a message
    whose role or content is none that is known.
    """
    role = role_of(message)
    if role == "item":
        return _item(message)
    if not role:
        raw = first_of(message, ROLE_KEYS)
        if raw is None:
            raise Unreadable(f"is no message: it has no role{_its_keys(message)}")
        raise Unreadable(f"role {str(raw)[:40]!r} is unknown (known: {', '.join(ROLES)})")
    actor = name_of(message.get("name"))
    content = content_of(message)
    if role == "call":
        return [_call_in_text(content)]
    if role == "tool":
        call = name_of(message.get("tool_call_id") or message.get("call_id"))
        return [returned(text_of(content), tool=actor, call=call, ok=_success(message))]
    calls = [*_calls(message.get("tool_calls")), *_calls([message.get("function_call")])]
    if content is None and not calls and "content" not in message:
        raise Unreadable(f"is a message without content{_its_keys(message)}")
    if content not in (None, []) or not calls:
        _check_content(content)
    return [*_spoken(content, role, actor, merge=merge), *calls]


def _check_content(content: Any) -> None:
    """Raises ``Unreadable`` for what can hold no words; text that is blank may stand."""
    if content is None or content == []:
        raise Unreadable(f"says nothing: its content is {'null' if content is None else 'empty'}")
    several = isinstance(content, list)
    for number, block in enumerate(_blocks(content), 1):
        where = f"block {number} of its content" if several else "its content"
        if isinstance(block, dict):
            kind = str(block.get("type") or block.get("content_type") or "text")
            if kind in _TEXTS and not isinstance(block.get("text"), str | dict):
                raise Unreadable(f"{where} has no text")
        elif not (isinstance(block, str) or (several and block is None)):
            problem = f"{where} is {json.dumps(block)[:40]}, expected text or a list of blocks"
            raise Unreadable(problem)


def _its_keys(message: Mapping[str, Any]) -> str:
    keys = ", ".join(str(name)[:40] for name in list(message)[:12])
    return f" (its keys: {keys or 'none'}; expected: role, content)"


def read_chats(records: Records, making: Making, *, strip_roles: bool = False) -> Iterator[Item]:
    """The items of a file of messages, lists of messages, or objects that hold such a list.

    Messages that stand alone are one conversation, or one for each name they carry; a list or an
    object is a conversation of its own. ``strip_roles`` takes "User: " off a text of role user.
    """
    alone: dict[str, Conversation] = {}
    for record in records:
        if isinstance(record, Broken):
            yield record
            continue
        value, where = record.value, record.where
        if isinstance(value, dict) and (role_of(value) or not _list_in(value)):
            name = name_of(first_of(value, _NAMES[:5]))
            if name not in alone:
                alone[name] = making.conversation(name, family=FAMILY)
            yield from _message(value, where, alone[name], making, strip_roles)
        elif isinstance(value, dict):
            yield from _holder(value, where, making, strip_roles)
        elif isinstance(value, list):
            talk = making.conversation(family=FAMILY)
            yield from _messages(value, where, talk, making, strip_roles)
        else:
            yield Broken(where, f"expected a message, got {type(value).__name__}")


def _list_in(holder: Mapping[str, Any]) -> list[Any] | None:
    return next((holder[key] for key in LISTS if isinstance(holder.get(key), list)), None)


def _holder(
    holder: Mapping[str, Any], where: str, making: Making, strip_roles: bool
) -> Iterator[Item]:
    name = name_of(first_of(holder, _NAMES))
    if not name and holder.get("task_id") is not None:
        name = f"task-{name_of(holder['task_id'])}"
        if holder.get("trial") is not None:
            name += f"/trial-{name_of(holder['trial'])}"
    started = making.instant(first_of(holder, TIMES), where)
    talk = making.conversation(name, family=FAMILY, started=started)
    if name:
        where = f"{where}, conversation {name!r}"
    prompt = text_of(holder.get("system")) if "system" in holder else ""
    yield from talk.hear(instructed(prompt), f"{where}, system prompt")
    yield from _messages(_list_in(holder) or [], where, talk, making, strip_roles)


def _messages(
    values: list[Any], where: str, talk: Conversation, making: Making, strip_roles: bool
) -> Iterator[Item]:
    flat = [inner for value in values for inner in (value if isinstance(value, list) else [value])]
    for number, message in enumerate(flat, 1):
        yield from _message(message, f"{where}, message {number}", talk, making, strip_roles)


def _message(
    message: Any, where: str, talk: Conversation, making: Making, strip_roles: bool
) -> Iterator[Item]:
    if not isinstance(message, dict):
        yield Broken(where, f"expected a message, got {type(message).__name__}")
        return
    if strip_roles:
        message = _without_role_prefix(message)
    try:
        drafts = drafts_of(message)
    except Unreadable as error:
        yield Broken(where, str(error))
        return
    time = making.instant(first_of(message, TIMES), where)
    origin = name_of(first_of(message, ("id", "uuid", "message_id")))
    for draft in drafts:
        yield from talk.hear(draft, where, time=time, origin=origin)


def _without_role_prefix(message: dict[str, Any]) -> dict[str, Any]:
    role, content = message.get("role"), message.get("content")
    if isinstance(role, str) and isinstance(content, str):
        prefix = f"{role.lower()}: "
        if content[: len(prefix)].lower() == prefix:
            return {**message, "content": content[len(prefix) :]}
    return message


def _blocks(content: Any) -> list[Any]:
    if content is None:
        return []
    return content if isinstance(content, list) else [content]


def _text_of_block(block: Any) -> str:
    if isinstance(block, str):
        return block
    if not isinstance(block, dict):
        return "" if block is None else str(block)
    kind = str(block.get("type") or block.get("content_type") or "text")
    if kind in _TEXTS:
        text = block.get("text")
        if isinstance(text, dict):
            text = text.get("value")
        return text if isinstance(text, str) else ""
    if kind == "refusal":
        return str(block.get("refusal") or "")
    if kind in _THOUGHTS:
        return ""
    return _mention(kind, block)


def _mention(kind: str, block: Mapping[str, Any]) -> str:
    if kind in _IMAGES:
        return "[image]"
    if kind in _AUDIO:
        transcript = block.get("transcript")
        return transcript if isinstance(transcript, str) else "[audio]"
    if kind in _FILES:
        inner = block.get("file")
        named = {**inner, **block} if isinstance(inner, dict) else block
        name = name_of(first_of(named, ("filename", "file_name", "title", "name")))
        return f"[file {name}]" if name else "[file]"
    return f"[{kind}]"


def _spoken(content: Any, role: str, actor: str, *, merge: bool) -> list[Draft]:
    drafts: list[Draft] = []
    texts: list[str] = []

    def end_turn() -> None:
        if texts:
            drafts.append(_turn("\n".join(texts), role, actor))
            texts.clear()

    for block in _blocks(content):
        kind = block.get("type") if isinstance(block, dict) else None
        if isinstance(kind, str) and kind.endswith("tool_use"):
            end_turn()
            call = name_of(block.get("id"))
            drafts.append(called(name_of(block.get("name")), block.get("input"), call))
        elif isinstance(kind, str) and kind.endswith("tool_result"):
            end_turn()
            drafts.append(_result(block))
        else:
            text = _text_of_block(block)
            if text:
                texts.append(text)
            if not merge:
                end_turn()
    end_turn()
    return drafts


def _turn(text: str, role: str, actor: str) -> Draft:
    if role == "user":
        return said(text, actor)
    return answered(text, actor) if role == "assistant" else instructed(text, actor)


def _result(block: Mapping[str, Any]) -> Draft:
    failed = block.get("is_error")
    ok = not failed if isinstance(failed, bool) else None
    call = name_of(block.get("tool_use_id"))
    return returned(text_of(block.get("content")), call=call, ok=ok)


def _success(message: Mapping[str, Any]) -> bool | None:
    failed = message.get("is_error")
    return not failed if isinstance(failed, bool) else None


def _calls(raw: Any) -> Iterator[Draft]:
    for each in _blocks(raw):
        if not isinstance(each, dict):
            continue
        function = each.get("function")
        inner = function if isinstance(function, dict) else each
        yield called(
            name_of(inner.get("name")),
            first_of(inner, ("arguments", "input", "args")),
            name_of(each.get("id") or each.get("call_id")),
        )


def _call_in_text(content: Any) -> Draft:
    """A call written as the text of a message: JSON with a name and arguments, or anything."""
    draft = called("unknown", content)
    arguments = getattr(draft.data, "arguments", {})
    name = name_of(arguments.get("name"))
    return called(name, arguments.get("arguments"), "") if name else draft


def _item(message: Mapping[str, Any]) -> list[Draft]:
    """An item of the OpenAI Responses form, which has no role."""
    call = name_of(message.get("call_id") or message.get("id"))
    if message["type"] == "function_call":
        return [called(name_of(message.get("name")), message.get("arguments"), call)]
    if message["type"] == "function_call_output":
        return [returned(text_of(message.get("output")), call=call)]
    return []

"""OpenHands event streams: a list of actions and observations, or an object with ``history``.

The stream does not name its conversation and counts its events from 0, so ids hang on the event
before. Times carry no offset.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memstream.streams.importers.chat_messages import text_of
from memstream.streams.importers.contract import Broken, Importer, Item, Records
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

_LISTS = ("history", "trajectory", "events")
_SILENT_ACTIONS = {"change_agent_state", "null", "think", "recall", "condensation", "loop_recovery"}
_SILENT_OBSERVATIONS = {"agent_state_changed", "null", "think", "recall", "condense"}
_NOT_ARGUMENTS = {"thought", "impl_source", "hidden", "confirmation_state", "security_risk"}


def _claims(values: list[Any]) -> bool:
    return any(_is_event(value) or bool(_stream_of(value)) for value in values)


def _is_event(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and "source" in value
        and "id" in value
        and (isinstance(value.get("action"), str) or isinstance(value.get("observation"), str))
    )


def _stream_of(value: Any) -> list[Any]:
    """The events that an object or a list holds, or an empty list."""
    if isinstance(value, dict):
        value = next((value[key] for key in _LISTS if isinstance(value.get(key), list)), None)
    if isinstance(value, list) and any(_is_event(inner) for inner in value[:20]):
        return value
    return []


def _read(records: Records, making: Making) -> Iterator[Item]:
    alone = making.conversation()
    for record in records:
        if isinstance(record, Broken):
            yield record
            continue
        stream = _stream_of(record.value)
        if not stream:
            yield from _event(record.value, record.where, alone, making)
            continue
        name = name_of(record.value.get("sid")) if isinstance(record.value, dict) else ""
        talk = making.conversation(name)
        for number, event in enumerate(stream, 1):
            yield from _event(event, f"{record.where}, event {number}", talk, making)


def _event(event: Any, where: str, talk: Conversation, making: Making) -> Iterator[Item]:
    if not _is_event(event):
        yield Broken(where, "is no OpenHands event: expected a source, an id, and an action or "
                     "an observation")  # fmt: skip
        return
    own = name_of(event["id"])
    where = f"{where} (id {own})"
    time = making.instant(event.get("timestamp"), where)
    drafts = (
        _of_action(event, making)
        if isinstance(event.get("action"), str)
        else _of_observation(event, making)
    )
    for draft in drafts:
        yield from talk.hear(draft, where, time=time, origin=own)


def _of_action(event: Mapping[str, Any], making: Making) -> list[Draft]:
    action = event["action"]
    arguments = event.get("args")
    arguments = dict(arguments) if isinstance(arguments, dict) else {}
    by_user = event["source"] == "user"
    if action == "message":
        text = _message_text(arguments, event)
        return [said(text) if by_user else answered(text)]
    if action == "system":
        return [instructed(_message_text(arguments, event))]
    if action in _SILENT_ACTIONS:
        making.skip(f"{action} actions")
        return []
    thought = arguments.get("final_thought") or arguments.get("thought")
    thought = thought if isinstance(thought, str) else ""
    if action in {"finish", "reject"}:
        return [answered(thought or str(event.get("message") or ""))]
    kept = {name: value for name, value in arguments.items() if name not in _NOT_ARGUMENTS}
    return [answered(thought), called(_tool(event, action), kept, _call(event, "id"))]


def _message_text(arguments: Mapping[str, Any], event: Mapping[str, Any]) -> str:
    text = text_of(arguments.get("content") or event.get("message"))
    images = arguments.get("image_urls")
    shown = ["[image]"] * len(images) if isinstance(images, list) else []
    files = arguments.get("file_urls")
    shown += [f"[file {name_of(each)}]" for each in files] if isinstance(files, list) else []
    return "\n".join([text, *shown])


def _of_observation(event: Mapping[str, Any], making: Making) -> list[Draft]:
    observation = event["observation"]
    if observation in _SILENT_OBSERVATIONS:
        making.skip(f"{observation} observations")
        return []
    text = text_of(event.get("content"))
    tool, call = _tool(event, observation), _call(event, "cause")
    return [returned(text, tool=tool, call=call, ok=_success(event, observation))]


def _tool(event: Mapping[str, Any], otherwise: str) -> str:
    metadata = event.get("tool_call_metadata")
    name = name_of(metadata.get("function_name")) if isinstance(metadata, dict) else ""
    return name or otherwise


def _call(event: Mapping[str, Any], otherwise: str) -> str:
    metadata = event.get("tool_call_metadata")
    call = name_of(metadata.get("tool_call_id")) if isinstance(metadata, dict) else ""
    return call or name_of(event.get(otherwise))


def _success(event: Mapping[str, Any], observation: str) -> bool | None:
    if observation in {"error", "user_rejected"}:
        return False
    success = event.get("success")
    if isinstance(success, bool):
        return success
    extras = event.get("extras")
    metadata = extras.get("metadata") if isinstance(extras, dict) else None
    code = metadata.get("exit_code") if isinstance(metadata, dict) else None
    return code == 0 if isinstance(code, int) else None


IMPORTER = Importer("openhands", _claims, _read)

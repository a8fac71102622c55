"""SWE-agent trajectories: an object with ``history``, or with ``trajectory`` alone.

The task is an issue wrapped in a template: a document, which no user of the memory said.
Demonstrations come from another run and are left out. Where the agent works in plain text, what
the shell answered stands in messages of role user.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memstream.schemas.events import TRUST_CEILING, TurnRecorded
from memstream.streams.importers.chat_messages import drafts_of, text_of
from memstream.streams.importers.contract import Broken, Importer, Item, Records, Unreadable
from memstream.streams.importers.event_making import (
    Conversation,
    Draft,
    Making,
    answered,
    called,
    name_of,
    returned,
)

_SHELL = "shell"


def _claims(values: list[Any]) -> bool:
    return any(_is_run(value) for value in values)


def _is_run(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    steps, history = value.get("trajectory"), value.get("history")
    if isinstance(steps, list) and any(_is_step(step) for step in steps[:5]):
        return True
    return isinstance(history, list) and any(
        isinstance(each, dict) and "role" in each and ("agent" in each or "message_type" in each)
        for each in history[:5]
    )


def _is_step(step: Any) -> bool:
    return isinstance(step, dict) and "action" in step and "observation" in step


def _read(records: Records, making: Making) -> Iterator[Item]:
    for record in records:
        if isinstance(record, Broken):
            yield record
        elif not _is_run(record.value):
            yield Broken(record.where, "is no trajectory: expected a history or a trajectory")
        else:
            yield from _run(record.value, record.where, making)


def _run(run: Mapping[str, Any], where: str, making: Making) -> Iterator[Item]:
    talk = making.conversation(name_of(run.get("instance_id")))
    history = run.get("history")
    if isinstance(history, list) and history:
        run_of = _History(talk, making)
        for number, message in enumerate(history, 1):
            yield from run_of.message(message, f"{where}, message {number}")
        return
    for number, step in enumerate(run["trajectory"], 1):
        yield from _step(step, number, f"{where}, step {number}", talk)


class _History:
    """Reads a history in order; knows which call an observation answers."""

    def __init__(self, talk: Conversation, making: Making) -> None:
        self._talk = talk
        self._making = making
        self._call = ""
        self._calls = 0
        self._acted = False

    def message(self, message: Any, where: str) -> Iterator[Item]:
        """The items of one message."""
        if not isinstance(message, dict):
            yield Broken(where, f"expected a message, got {type(message).__name__}")
            return
        if message.get("is_demo") is True or message.get("message_type") == "demonstration":
            self._making.skip("messages of a demonstration")
            return
        try:
            drafts = self._drafts(message)
        except Unreadable as error:
            yield Broken(where, str(error))
            return
        for draft in drafts:
            yield from self._talk.hear(draft, where)

    def _drafts(self, message: Mapping[str, Any]) -> list[Draft]:
        role = message.get("role")
        if role == "user":
            text = text_of(message.get("content"))
            if self._acted:
                return [returned(text, tool=_SHELL, call=self._call)]
            task = TurnRecorded(role="user", text=text, actor="task")
            return [Draft(task, "document", int(TRUST_CEILING["document"]))]
        if role == "tool":
            calls = message.get("tool_call_ids")
            call = name_of(calls[0]) if isinstance(calls, list) and calls else self._call
            return drafts_of({**message, "tool_call_id": message.get("tool_call_id") or call})
        if role != "assistant":
            return drafts_of(message)
        self._acted = True
        drafts = drafts_of(message)
        action = message.get("action")
        if not message.get("tool_calls") and isinstance(action, str) and action.strip():
            self._calls += 1
            self._call = f"step-{self._calls}"
            drafts.append(called(_SHELL, {"command": action}, self._call))
        return drafts


def _step(step: Any, number: int, where: str, talk: Conversation) -> Iterator[Item]:
    if not _is_step(step):
        yield Broken(where, "is no step: expected an action and an observation")
        return
    call = f"step-{number}"
    drafts = (
        answered(text_of(step.get("thought") or step.get("response"))),
        called(_SHELL, {"command": text_of(step["action"])}, call),
        returned(text_of(step["observation"]), tool=_SHELL, call=call),
    )
    for draft in drafts:
        yield from talk.hear(draft, where)


IMPORTER = Importer("swe_agent", _claims, _read)

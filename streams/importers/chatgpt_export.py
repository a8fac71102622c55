"""The ChatGPT data export: ``conversations.json``, a list of message trees.

An edited prompt or a regenerated answer leaves a branch behind. What was said on an abandoned
branch was still said, so every node is read, parents first. Hidden system messages are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memstream.streams.importers.chat_messages import text_of
from memstream.streams.importers.contract import Broken, Importer, Item, Records, Unreadable
from memstream.streams.importers.event_making import (
    Draft,
    Making,
    answered,
    called,
    instructed,
    name_of,
    returned,
    said,
    whole_text,
)

_THOUGHTS = {"thoughts", "reasoning_recap", "model_editable_context"}


def _claims(values: list[Any]) -> bool:
    return any(_is_tree(value) for value in values)


def _is_tree(value: Any) -> bool:
    mapping = value.get("mapping") if isinstance(value, dict) else None
    return isinstance(mapping, dict) and all(
        isinstance(node, dict) and ("message" in node or "parent" in node)
        for node in list(mapping.values())[:5]
    )


def _read(records: Records, making: Making) -> Iterator[Item]:
    for record in records:
        if isinstance(record, Broken):
            yield record
        elif not _is_tree(record.value):
            yield Broken(record.where, "is no conversation: expected an object with a mapping")
        else:
            yield from _conversation(record.value, record.where, making)


def _conversation(tree: Mapping[str, Any], where: str, making: Making) -> Iterator[Item]:
    mapping: dict[str, Any] = tree["mapping"]
    title = whole_text(str(tree.get("title") or "untitled"))
    name = name_of(tree.get("conversation_id") or tree.get("id"))
    if not name:
        name = f"{title} {tree.get('create_time')}"
    started = making.instant(tree.get("create_time"), where)
    talk = making.conversation(name, started=started)
    current = _branch_of(mapping, tree.get("current_node"))
    aside = 0
    for number, node_id in enumerate(_in_tree_order(mapping), 1):
        node = mapping[node_id]
        message = node.get("message") if isinstance(node, dict) else None
        if message is None:
            continue
        at = f"conversation {title!r}, message {number} (id {whole_text(node_id)})"
        try:
            draft = _draft(message, making)
        except Unreadable as error:
            yield Broken(at, str(error))
            continue
        if draft is None:
            continue
        time = making.instant(message.get("create_time"), at)
        call = _call_of(mapping, node_id, draft)
        for item in talk.hear(
            draft, at, time=time, origin=whole_text(node_id), native=(name, whole_text(node_id)),
            call=call,
        ):  # fmt: skip
            aside += bool(current) and node_id not in current
            yield item
    if aside:
        making.note(f"conversation {title!r}: {aside} of its messages are on abandoned branches")


def _in_tree_order(mapping: Mapping[str, Any]) -> Iterator[str]:
    """Every node once, parents before children; nodes without a known parent are roots."""
    children: dict[str, list[str]] = {node_id: [] for node_id in mapping}
    roots: list[str] = []
    for node_id, node in mapping.items():
        parent = node.get("parent") if isinstance(node, dict) else None
        beside = children.get(parent) if isinstance(parent, str) and parent != node_id else None
        (roots if beside is None else beside).append(node_id)
    seen: set[str] = set()
    # The second list catches what hangs on a circle, which no root leads to.
    waiting = [*reversed(list(mapping)), *reversed(roots)]
    while waiting:
        node_id = waiting.pop()
        if node_id not in seen:
            seen.add(node_id)
            yield node_id
            waiting.extend(reversed(children[node_id]))


def _branch_of(mapping: Mapping[str, Any], node_id: Any) -> set[str]:
    branch: set[str] = set()
    while isinstance(node_id, str) and node_id in mapping and node_id not in branch:
        branch.add(node_id)
        node = mapping[node_id]
        node_id = node.get("parent") if isinstance(node, dict) else None
    return branch


def _call_of(mapping: Mapping[str, Any], node_id: str, draft: Draft) -> str:
    """A call is named by its node; a result names the node it hangs on."""
    if draft.kind == "tool_result":
        return name_of(mapping[node_id].get("parent"))
    return whole_text(node_id)


def _draft(message: Any, making: Making) -> Draft | None:
    if not isinstance(message, dict):
        raise Unreadable("is no message")
    author = message.get("author")
    role = author.get("role") if isinstance(author, dict) else None
    content = message.get("content")
    if not isinstance(content, dict):
        raise Unreadable("is a message without content")
    metadata = message.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    text = _text(content)
    if role == "system" or metadata.get("is_visually_hidden_from_conversation") is True:
        if role == "system" and not metadata.get("is_visually_hidden_from_conversation"):
            return instructed(text)
        making.skip("hidden messages")
        return None
    if str(content.get("content_type")) in _THOUGHTS:
        making.skip("thoughts of the model")
        return None
    if role == "tool":
        tool = name_of(author.get("name")) if isinstance(author, dict) else ""
        return returned(text, tool=tool, ok=_success(content, metadata))
    recipient = name_of(message.get("recipient")) or "all"
    if role == "assistant":
        return answered(text) if recipient == "all" else called(recipient, text)
    if role == "user":
        return said(text)
    raise Unreadable(f"role {role!r} is unknown")


def _text(content: Mapping[str, Any]) -> str:
    parts = content.get("parts")
    if isinstance(parts, list):
        return text_of([_part(part) for part in parts])
    return text_of(next((content[k] for k in ("text", "result") if content.get(k)), ""))


def _part(part: Any) -> Any:
    if isinstance(part, dict) and "content_type" in part:
        return {**part, "type": part["content_type"]}
    return part


def _success(content: Mapping[str, Any], metadata: Mapping[str, Any]) -> bool | None:
    if content.get("content_type") == "system_error":
        return False
    result = metadata.get("aggregate_result")
    status = result.get("status") if isinstance(result, dict) else None
    return status == "success" if isinstance(status, str) else None


IMPORTER = Importer("chatgpt_export", _claims, _read)

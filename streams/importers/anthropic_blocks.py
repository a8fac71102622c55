"""Anthropic-style messages: content is a list of blocks (text, tool_use, tool_result, ...)."""

from __future__ import annotations

from typing import Any

from memstream.streams.importers.chat_messages import read_chats, role_of
from memstream.streams.importers.contract import Importer

_KINDS = {"tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use"}


def _has_blocks(value: Any, depth: int = 0) -> bool:
    if isinstance(value, list):
        return depth < 3 and any(_has_blocks(inner, depth + 1) for inner in value)
    if not isinstance(value, dict):
        return False
    if role_of(value) and isinstance(value.get("content"), list):
        return any(
            isinstance(block, dict) and str(block.get("type")) in _KINDS
            for block in value["content"]
        )
    messages = value.get("messages")
    if not isinstance(messages, list):
        return False
    return "system" in value or _has_blocks(messages)


def _claims(values: list[Any]) -> bool:
    return any(_has_blocks(value) for value in values)


IMPORTER = Importer("anthropic_blocks", _claims, read_chats)

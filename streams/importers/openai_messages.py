"""OpenAI-style messages: objects with ``messages``, lists of messages, or one message a line.

Also what is built of them: tau-bench runs (``traj``), ShareGPT (``from`` and ``value``), the items
of the Responses form. The last to be asked, as it claims the most.
"""

from __future__ import annotations

from typing import Any

from memstream.streams.importers.chat_messages import LISTS, read_chats, role_of
from memstream.streams.importers.contract import Importer


def _is_chat(value: Any, depth: int = 0) -> bool:
    if isinstance(value, list):
        return depth < 3 and any(_is_chat(inner, depth + 1) for inner in value[:3])
    if not isinstance(value, dict):
        return False
    if role_of(value):
        return True
    return any(
        isinstance(value.get(key), list) and _is_chat(value[key], depth + 1) for key in LISTS
    )


def _claims(values: list[Any]) -> bool:
    return any(_is_chat(value) for value in values)


IMPORTER = Importer("openai_messages", _claims, read_chats)

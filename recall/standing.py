"""How a memory stands at a moment: what its stored status means when somebody looks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec

from memstream.schemas.memories import Memory, Status


def standing(
    memories: Iterable[Memory],
    when: datetime,
    *,
    moved: bool,
    status: Status | None = None,
    everything: bool = False,
) -> list[Memory]:
    """The memories as they stand at ``when``: those that are active and hold then, those of a
    ``status``, or ``everything``. ``moved``: ``when`` was asked for, and is not simply now."""
    seen = [as_seen(memory, when, moved=moved) for memory in memories]
    if everything:
        return seen
    if status is not None:
        return [each for each in seen if each.status == status]
    return [each for each in seen if each.status == "active" and each.valid_from <= when]


def as_seen(memory: Memory, when: datetime, *, moved: bool) -> Memory:
    """The memory as it stands at ``when``: expired once its validity ended, active where ``when``
    falls inside the validity of what is superseded later: a past ``as_of``, or now where its end is
    still to come. What has not begun yet is active as ever."""
    ended = memory.valid_to is not None and memory.valid_to <= when
    began = memory.valid_from <= when
    if memory.status == "active" and ended:
        return msgspec.structs.replace(memory, status="expired")
    to_end = moved or memory.valid_to is not None
    if to_end and memory.status == "superseded" and began and not ended:
        return msgspec.structs.replace(memory, status="active")
    return memory


def newest(memories: Sequence[Memory]) -> list[Memory]:
    """The last version of each memory, in the order of their ids."""
    latest: dict[str, Memory] = {}
    for memory in memories:
        latest[memory.id] = memory
    return [latest[name] for name in sorted(latest)]

"""What of a memory the filters for entities and for time compare; the same in every index."""

from __future__ import annotations

from collections.abc import Iterable

from memstream.schemas.ids import content_key
from memstream.schemas.instants import OPEN_MICROS, to_micros
from memstream.schemas.memories import Memory


def entity_keys(memory: Memory) -> tuple[str, ...]:
    """The keys of whom and what a memory is about: its subject and the names in its text. Blind
    to case, width and spacing."""
    return keys_of((memory.subject or "user", *memory.entities))


def keys_of(names: Iterable[str]) -> tuple[str, ...]:
    """The keys of names, each once."""
    return tuple(dict.fromkeys(key for name in names if (key := content_key(name))))


def happened(memory: Memory) -> tuple[int, int]:
    """[start, end) in UTC microseconds: when that took place of which a memory tells; where it
    names no time, when it was told. An open side is ``OPEN_MICROS`` away."""
    told = memory.occurred
    if told is None or (told.start is None and told.end is None):
        at = to_micros(memory.observed_at)
        return at, at + 1
    start = -OPEN_MICROS if told.start is None else to_micros(told.start)
    return start, OPEN_MICROS if told.end is None else to_micros(told.end)

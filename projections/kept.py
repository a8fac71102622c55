"""Memories kept at hand, decoded, so that an index need not read and decode them again."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from memstream.schemas.memories import Memory

AT_MOST = 1 << 14
"""Memories; with their texts, lemmas and links they take about 4 KB each, so 70 MB when full.
Questions to many scopes by turns find nothing here that is smaller than what they all touch."""


class Kept:
    """The memories of the points read last, by point id.

    The index that owns it drops what it changes and clears it when it erases, so what is here is
    what is stored. Not thread-safe: the index's own lock is held around every use.
    """

    def __init__(self, at_most: int = AT_MOST) -> None:
        self._at_most = at_most
        self._memories: dict[int, Memory] = {}

    def get(self, point: UUID) -> Memory | None:
        """The memory of a point, None where it is not at hand."""
        name = point.int
        memory = self._memories.pop(name, None)
        if memory is not None:
            self._memories[name] = memory
        return memory

    def put(self, point: UUID, memory: Memory) -> None:
        """Keeps it, and lets go of the one that was used longest ago where there is no room."""
        self._memories[point.int] = memory
        if len(self._memories) > self._at_most:
            del self._memories[next(iter(self._memories))]

    def drop(self, points: Iterable[str]) -> None:
        """Lets go of these points."""
        if self._memories:
            for each in points:
                self._memories.pop(UUID(each).int, None)

    def clear(self) -> None:
        """Lets go of all."""
        self._memories.clear()

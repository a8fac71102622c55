"""Numbers that nobody said: those of the dates that are written into memories ("yesterday
[2025-03-17]"). A question that names no date does not mean them: "What is 17 times 23?".

An index entry does not tell them from those that were said. Where a question without a date has
numbers, the memories that hold one are read, and their quotes looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from memstream.processors.lexemes import lexemes
from memstream.recall.candidates import Candidates
from memstream.schemas.memories import Memory

Read = Callable[[Sequence[str]], Mapping[str, Memory]]
"""The memories of points."""


class Unsaid:
    """Takes such numbers from candidates as words they hold. Each memory is read once."""

    def __init__(self, numbers: Sequence[str], read: Read) -> None:
        """``numbers`` are those of a question that names no date."""
        self._numbers = numbers
        self._read = read
        self._unsaid: dict[str, list[str]] = {}
        """By point that holds one: those of the numbers that were not said."""

    def forgotten(self, candidates: Candidates) -> None:
        """From now on no candidate holds one that was not said."""
        if not self._numbers:
            return
        holding = candidates.holding(self._numbers)
        fresh = [each for each in holding if each not in self._unsaid]
        read = self._read(fresh) if fresh else {}
        for point in fresh:
            memory = read.get(point)
            # Without a quote its text is all that is known of what was said.
            said = said_in(memory) if memory is not None and memory.quote else {*self._numbers}
            self._unsaid[point] = [each for each in self._numbers if each not in said]
        for point in holding:
            candidates.forget(point, self._unsaid[point])


def said_in(memory: Memory) -> frozenset[str]:
    """The words that somebody said, or stated as a value, for a memory."""
    return frozenset(lexemes(f"{memory.quote}\n{memory.value}\n{memory.context}"))

"""Candidates: the memories looked at for one question; what scoring reads of each, read once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from memstream.processors.episodes import is_question
from memstream.processors.lexemes import lexeme_index, lexemes
from memstream.projections.points import word_indices
from memstream.projections.queries import Place
from memstream.recall.analysis import Analysis
from memstream.recall.settings import Settings
from memstream.recall.thread import moment_of
from memstream.schemas.instants import to_micros
from memstream.schemas.memories import Memory

Values = NDArray[np.float64]


class Candidates:
    """A table with a row for each memory, in the order of their ids.

    ``memories`` and their ``moments``; ``counts`` [n, words]: how often each word asked for stands
    in them; ``lengths`` [n]: how many words they have; ``told`` [n]: whether they are episodes;
    ``gained`` [n]: what they gain by what the question names (see ``_gained``).
    """

    def __init__(self, asked: Analysis, settings: Settings) -> None:
        self.asked = asked
        self._settings = settings
        self._words = frozenset(asked.words)
        indices = np.array([lexeme_index(word) for word in asked.words], dtype=np.uint32)
        self._indices, self._column = np.unique(indices, return_inverse=True)
        self._named: dict[str, bool] = {}
        self._row_of: dict[str, int] = {}
        self.memories: list[Memory] = []
        self.moments: list[Place] = []
        self.counts: Values = np.zeros((0, len(asked.words)))
        self.lengths: Values = np.zeros(0)
        self.told: NDArray[np.bool_] = np.zeros(0, dtype=bool)
        self.gained: Values = np.zeros(0)

    def __len__(self) -> int:
        return len(self.memories)

    def add(self, memories: Iterable[Memory]) -> None:
        """Adds those that are not there yet. Rows change their numbers."""
        fresh = {each.id: each for each in memories if each.id not in self._row_of}
        if not fresh:
            return
        new = list(fresh.values())
        every = self.memories + new
        moments = self.moments + [moment_of(each) for each in new]
        counts, lengths = self._counted(new)
        told = [each.kind == "episode" for each in new]
        gained = [self._gained(each) for each in new]
        order = sorted(range(len(every)), key=lambda row: every[row].id)
        self.memories = [every[row] for row in order]
        self.moments = [moments[row] for row in order]
        self.counts = np.concatenate((self.counts, counts))[order]
        self.lengths = np.concatenate((self.lengths, lengths))[order]
        self.told = np.concatenate((self.told, told))[order]
        self.gained = np.concatenate((self.gained, gained))[order]
        self._row_of = {each.id: row for row, each in enumerate(self.memories)}

    def rows(self, memories: Iterable[Memory]) -> list[int]:
        """The rows of memories that were added."""
        return [self._row_of[each.id] for each in memories]

    def _counted(self, memories: Sequence[Memory]) -> tuple[Values, Values]:
        said = [word_indices(memory) for memory in memories]
        lengths = np.array([len(each) for each in said]) // 4
        asked = len(self._indices)
        found = np.frombuffer(b"".join(said), dtype=np.uint32)
        if not asked:
            return np.zeros((len(memories), 0)), lengths.astype(float)
        column = np.searchsorted(self._indices, found)
        column[column == asked] = 0
        meant = self._indices[column] == found
        cells = np.repeat(np.arange(len(memories)) * asked, lengths)[meant] + column[meant]
        counts = np.bincount(cells, minlength=len(memories) * asked).reshape(-1, asked)
        return counts.take(self._column, axis=1).astype(float), lengths.astype(float)

    def _gained(self, memory: Memory) -> float:
        """What a memory gains by being about whom, and of when, the question asks; what it loses
        by only asking something itself."""
        asked, settings = self.asked, self._settings
        gained = 0.0
        if self._is_named(memory.subject):
            gained += settings.subject_weight
        if asked.asks_when and memory.occurred is not None:
            gained += settings.date_weight
        if asked.times and _within(memory, asked.times):
            gained += settings.time_weight
        if memory.kind == "episode" and is_question(memory.value):
            gained -= settings.question_weight
        return gained

    def _is_named(self, subject: str) -> bool:
        known = self._named.get(subject)
        if known is None:
            name = frozenset(lexemes(subject))
            known = self._named[subject] = bool(name) and name <= self._words
        return known


def _within(memory: Memory, times: Sequence[tuple[int, int]]) -> bool:
    """Whether what the memory tells of, or else its telling, falls into one of the ranges."""
    start = end = to_micros(memory.observed_at)
    if memory.occurred is not None and memory.occurred.start is not None:
        start = to_micros(memory.occurred.start)
        end = start if memory.occurred.end is None else to_micros(memory.occurred.end) - 1
    return any(start < last and end >= first for first, last in times)

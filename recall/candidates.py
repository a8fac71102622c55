"""Candidates: the memories looked at for one question; what scoring reads of each, read once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from memstream.processors.lexemes import AVERAGE_LENGTH, K1, B, lexeme_index
from memstream.projections.sketches import Sketch
from memstream.recall.analysis import Analysis
from memstream.recall.settings import Settings
from memstream.schemas.instants import OPEN_MICROS

Values = NDArray[np.float64]


class Candidates:
    """A table with a row for each memory, in the order in which they were added.

    ``sketches`` of the memories; ``counts`` [n, words]: how often each word asked for stands in
    them; ``alike`` [n, words]: the same with a share of the words that may stand for it;
    ``lengths`` [n]: how many words they have; ``told`` [n]: whether they are episodes; ``gained``
    [n]: what they gain by what the question names (see ``_gained``).
    """

    def __init__(self, asked: Analysis, settings: Settings) -> None:
        self.asked = asked
        self._settings = settings
        indices = [lexeme_index(word) for word in asked.words]
        self._asked = frozenset(indices)
        share = 1.0 if asked.freely else settings.related_weight
        others = [list(map(lexeme_index, each)) for each in asked.related] if share else []
        ordered = sorted(self._asked.union(*others))
        self._indices = np.array(ordered, dtype=np.uint32)
        self._column = [ordered.index(each) for each in indices]
        shares = np.zeros((len(ordered), len(indices)))
        for column, each in enumerate(others):
            shares[[ordered.index(other) for other in each], column] = share
        self._shares = shares if any(others) else None
        self._slots = frozenset(map(lexeme_index, asked.attributes))
        self._row_of: dict[str, int] = {}
        self.sketches: list[Sketch] = []
        self.counts: Values = np.zeros((0, len(asked.words)))
        self.alike: Values = np.zeros((0, len(asked.words)))
        self.lengths: Values = np.zeros(0)
        self.told: NDArray[np.bool_] = np.zeros(0, dtype=bool)
        self.gained: Values = np.zeros(0)

    def __len__(self) -> int:
        return len(self.sketches)

    def add(self, sketches: Iterable[Sketch]) -> None:
        """Adds those that are not there yet."""
        row_of, new = self._row_of, []
        for each in sketches:
            if each.point not in row_of:
                row_of[each.point] = len(row_of)
                new.append(each)
        if not new:
            return
        self.sketches += new
        counts, alike, lengths = self._counted(new)
        self.counts = np.concatenate((self.counts, counts))
        self.alike = np.concatenate((self.alike, alike))
        self.lengths = np.concatenate((self.lengths, lengths))
        self.told = np.concatenate((self.told, [each.told for each in new]))
        self.gained = np.concatenate((self.gained, self._gained(new)))

    def order(self, scores: Values) -> NDArray[np.intp]:
        """The rows, best first; of equal ones first the one whose point has the lesser id."""
        order = np.argsort(-scores, kind="stable")
        best = scores[order]
        if (best[1:] == best[:-1]).any():
            points = [each.point for each in self.sketches]
            rows = sorted(order.tolist(), key=lambda row: (-scores[row], points[row]))
            return np.array(rows, dtype=np.intp)
        return order

    def rows(self, sketches: Iterable[Sketch]) -> list[int]:
        """The rows of memories that were added."""
        return [self._row_of[each.point] for each in sketches]

    def holding(self, words: Sequence[str]) -> list[str]:
        """The points of the memories that hold one of the words asked for."""
        columns = [self.asked.words.index(each) for each in words]
        rows = np.flatnonzero(self.counts[:, columns].any(axis=1))
        return [self.sketches[row].point for row in rows]

    def forget(self, point: str, words: Sequence[str]) -> None:
        """From now on the memory holds none of these of the words asked for."""
        columns = [self.asked.words.index(each) for each in words]
        self.counts[self._row_of[point], columns] = self.alike[self._row_of[point], columns] = 0

    def _counted(self, sketches: Sequence[Sketch]) -> tuple[Values, Values, Values]:
        """How often each word stands in each memory, read back from its lexical vector: a weight
        is a word's frequency, saturated (see ``sparse_weights``). And ``alike``, and lengths."""
        lengths = np.array([each.length for each in sketches], dtype=float)
        asked = len(self._indices)
        if not asked:
            none = np.zeros((len(sketches), 0))
            return none, none, lengths
        found = np.frombuffer(b"".join([each.indices for each in sketches]), dtype=np.uint32)
        weights = np.frombuffer(b"".join([each.weights for each in sketches]), dtype=np.float32)
        column = np.searchsorted(self._indices, found)
        column[column == asked] = 0
        meant = np.flatnonzero(self._indices[column] == found)
        words = [len(each.indices) // 4 for each in sketches]
        row = np.repeat(np.arange(len(sketches)), words)[meant]
        weight = weights[meant].astype(float)
        saturation = K1 * (1 - B + B * lengths / AVERAGE_LENGTH)
        counts = np.zeros((len(sketches), asked))
        counts[row, column[meant]] = np.rint(weight * saturation[row] / (K1 + 1 - weight))
        own = counts.take(self._column, axis=1)
        alike = own if self._shares is None else own + counts @ self._shares
        return alike if self.asked.freely else own, alike, lengths

    def _gained(self, sketches: Sequence[Sketch]) -> list[float]:
        """What memories gain by being about whom, and of when, the question asks; what they lose
        by only asking something themselves."""
        asked, settings = self.asked, self._settings
        named, question = settings.subject_weight, settings.question_weight
        dated = settings.date_weight if asked.asks_when else 0.0
        timely, slot = settings.time_weight, settings.slot_weight
        is_asked = self._asked.issuperset
        within = _within(sketches, asked.times) if asked.times else [False] * len(sketches)
        return [
            (named if each.named and is_asked(each.named) else 0.0)
            + (dated if each.dated else 0.0)
            + (timely if falls_within else 0.0)
            + (slot if each.attribute in self._slots else 0.0)
            - (question if each.asks else 0.0)
            for each, falls_within in zip(sketches, within, strict=True)
        ]


def _within(sketches: Sequence[Sketch], times: Sequence[tuple[int, int]]) -> list[bool]:
    """Whether what each memory tells of, or else its telling, falls into one of the ranges; or a
    fact that is over held in one."""
    spans = [
        (each.start, each.end)
        if each.told or each.valid_to >= OPEN_MICROS - 1
        else (each.valid_from, each.valid_to)
        for each in sketches
    ]
    starts, ends = np.array(spans, dtype=np.int64).T
    found = np.zeros(len(sketches), dtype=bool)
    for first, last in times:
        found |= (starts < last) & (ends > first)
    return found.tolist()

"""Lexical coverage: how much of a question stands in a memory and in what was said beside it.

A question and its answer are told in two turns or three, and each of them alone shares few words
with what is asked later. So a memory is scored as a document of several fields, its own words and
those of its neighbours, by BM25F (Zaragoza, Craswell, Taylor, Saria and Robertson, "Microsoft
Cambridge at TREC-13", 2004): term frequencies are normalised field by field and weighted, added up,
and then saturated, so that covering another word counts for more than repeating one.

The engine keeps the IDF to itself, but its scores are linear in it: those of the hits, whose term
frequencies are known, give it back by least squares.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from memstream.processors.lexemes import AVERAGE_LENGTH, K1, B
from memstream.projections.queries import Place
from memstream.projections.sketches import Sketch
from memstream.recall.candidates import Candidates, Values
from memstream.recall.thread import Thread, moment_of

LENGTH_SHARE = 0.5
"""BM25's b for a field. Less than for whole documents: a window evens lengths out."""
_RIDGE = 1e-8


def idf_of(candidates: Candidates, rows: Sequence[int], scores: Sequence[float]) -> Values:
    """The IDF of each word, read back from the scores of the lexical hits in these rows; of one
    that no hit has, the least found."""
    words = len(candidates.asked.words)
    if not rows or not words:
        return np.zeros(words)
    tf, length = candidates.counts[rows], candidates.lengths[rows, None]
    parts = tf * (K1 + 1) / (tf + K1 * (1 - B + B * length / AVERAGE_LENGTH))
    # By the normal equations, with a ridge that shares out between words that never part.
    squared = parts.T @ parts
    squared.flat[:: words + 1] += _RIDGE * squared.trace() or 1.0
    found = np.linalg.solve(squared, parts.T @ np.array(scores)).round(6)
    present = parts.any(axis=0) & (found > 0)
    least = found[present].min() if present.any() else 0.0
    return np.where(present, found, least)


def covered(candidates: Candidates, idf: Values, windows: Windows) -> Values:
    """The score of each candidate in its surroundings; its own words weigh 1. Only episodes have
    surroundings: a fact says what it says without them."""
    length = candidates.lengths[:, None]
    own = candidates.alike / (1 - LENGTH_SHARE + LENGTH_SHARE * length / AVERAGE_LENGTH)
    total = own if windows.empty else own + candidates.told[:, None] * windows.spread(own)
    result: Values = (total * (K1 + 1) / (total + K1)) @ idf
    return result


class Windows:
    """What stands beside what: for each of the sketches those at the moments a few steps away.

    ``before`` and ``after`` give the weights of the moments on each side, the nearest first.
    """

    def __init__(
        self,
        sketches: Sequence[Sketch],
        thread: Thread,
        before: Sequence[float],
        after: Sequence[float],
    ) -> None:
        known = thread.moments()
        self.empty = not known
        if self.empty:
            return
        instants = {moment.at for moment in known}
        rows_of: dict[Place, list[int]] = {}
        for row, sketch in enumerate(sketches):
            if sketch.at in instants:
                rows_of.setdefault(moment_of(sketch), []).append(row)
        said_at = {moment: _said_there(rows, sketches) for moment, rows in rows_of.items()}
        cells: list[tuple[int, int, float]] = []
        for moment, rows in rows_of.items():
            for joined, weights in ((thread.before, before), (thread.after, after)):
                near = moment
                for weight in weights:
                    if near not in joined:
                        break
                    near = joined[near]
                    for other, share in said_at.get(near, ()):
                        cells += [(row, other, weight * share) for row in rows]
        self._weights = np.zeros((len(sketches), len(sketches)))
        if cells:
            of, others, worth = zip(*cells, strict=True)
            self._weights[of, others] = worth

    def spread(self, values: Values) -> Values:
        """What each row gains of the rows at the moments beside its own: their sum, weighted."""
        if self.empty:
            return np.zeros_like(values)
        gained: Values = self._weights @ values
        return gained


def _said_there(rows: Sequence[int], sketches: Sequence[Sketch]) -> list[tuple[int, float]]:
    """Which memories of a moment speak for it, and with what share: the episodes, for the facts
    say again what they were taken from; facts alone share one voice."""
    told = [row for row in rows if sketches[row].told]
    return [(row, 1.0) for row in told] or [(row, 1 / len(rows)) for row in rows]

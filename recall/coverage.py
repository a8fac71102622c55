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

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from memstream.processors.lexemes import AVERAGE_LENGTH, K1, B
from memstream.projections.queries import Place
from memstream.recall.candidates import Candidates, Values
from memstream.recall.thread import Thread

LENGTH_SHARE = 0.5
"""BM25's b for a field. Less than for whole documents: a window evens lengths out."""
_RARELY = 1e-4


def idf_of(candidates: Candidates, rows: Sequence[int], scores: Sequence[float]) -> Values:
    """The IDF of each word, read back from the scores of the lexical hits in these rows; of one
    that no hit has, the least found."""
    words = len(candidates.asked.words)
    if not rows or not words:
        return np.zeros(words)
    tf, length = candidates.counts[rows], candidates.lengths[rows, None]
    parts = tf * (K1 + 1) / (tf + K1 * (1 - B + B * length / AVERAGE_LENGTH))
    found = np.linalg.lstsq(parts, np.array(scores), rcond=_RARELY)[0].round(6)
    present = parts.any(axis=0) & (found > 0)
    least = found[present].min() if present.any() else 0.0
    return np.where(present, found, least)


def covered(candidates: Candidates, idf: Values, windows: Windows) -> Values:
    """The score of each candidate in its surroundings; its own words weigh 1. Only episodes have
    surroundings: a fact says what it says without them."""
    length = candidates.lengths[:, None]
    own = candidates.counts / (1 - LENGTH_SHARE + LENGTH_SHARE * length / AVERAGE_LENGTH)
    total = own + candidates.told[:, None] * windows.spread(own)
    result: Values = (total * (K1 + 1) / (total + K1)) @ idf
    return result


class Windows:
    """What stands beside what: for each row of ``moments`` the moments a few steps away.

    ``beside`` gives the weight of the moment so many steps later (earlier where negative).
    """

    def __init__(
        self, moments: Sequence[Place], thread: Thread, beside: Mapping[int, float]
    ) -> None:
        at_of = {moment: at for at, moment in enumerate(dict.fromkeys(moments))}
        self._moments = len(at_of)
        self._at = np.array([at_of[each] for each in moments], dtype=np.intp)
        self._steps: list[tuple[float, NDArray[np.intp]]] = []
        known = [(at_of[each], each) for each in thread.moments() if each in at_of]
        for steps, weight in beside.items() if known else ():
            other = np.full(len(at_of), -1, dtype=np.intp)
            for at, moment in known:
                near = thread.beside(moment, steps)
                if near is not None:
                    other[at] = at_of.get(near, -1)
            self._steps.append((weight, other[self._at]))

    def spread(self, values: Values) -> Values:
        """What each row gains of the rows at the moments beside its own: their sum, weighted."""
        gained = np.zeros_like(values)
        if not self._steps:
            return gained
        at_moment = np.zeros((self._moments + 1, *values.shape[1:]))
        np.add.at(at_moment, self._at, values)
        for weight, other in self._steps:
            gained += weight * at_moment[other]
        return gained

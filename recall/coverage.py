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
from memstream.projections.points import words_of
from memstream.projections.queries import Hit, Place
from memstream.recall.thread import Thread, moment_of
from memstream.schemas.memories import Memory

Values = NDArray[np.float64]
LENGTH_SHARE = 0.5
"""BM25's b for a field. Less than for whole documents: a window evens lengths out."""
_RARELY = 1e-4


def idf_of(hits: Sequence[Hit], words: Sequence[str]) -> Values:
    """The IDF of each word, read back from the scores; of one that no hit has, the least found."""
    if not hits or not words:
        return np.zeros(len(words))
    counts = counted([hit.memory for hit in hits], words)
    tf, length = counts[:, :-1], counts[:, -1:]
    parts = tf * (K1 + 1) / (tf + K1 * (1 - B + B * length / AVERAGE_LENGTH))
    scores = np.array([hit.score for hit in hits])
    found = np.linalg.lstsq(parts, scores, rcond=_RARELY)[0].round(6)
    present = parts.any(axis=0) & (found > 0)
    least = found[present].min() if present.any() else 0.0
    return np.where(present, found, least)


def counted(memories: Sequence[Memory], words: Sequence[str]) -> Values:
    """[memories, words + 1]: how often each word stands in each memory, and its length last."""
    column = {word: at for at, word in enumerate(words)}
    found = np.zeros((len(memories), len(words) + 1))
    for row, memory in enumerate(memories):
        said = words_of(memory)
        found[row, -1] = len(said)
        for word in said:
            at = column.get(word)
            if at is not None:
                found[row, at] += 1
    return found


def covered(
    memories: Sequence[Memory],
    words: Sequence[str],
    idf: Values,
    thread: Thread,
    beside: Mapping[int, float],
) -> Values:
    """The score of each memory in its surroundings. ``beside`` gives the weight of the moment so
    many steps later (earlier where negative); the memory's own words weigh 1. Only episodes have
    surroundings: a fact says what it says without them."""
    counts = counted(memories, words)
    own = counts[:, :-1] / (1 - LENGTH_SHARE + LENGTH_SHARE * counts[:, -1:] / AVERAGE_LENGTH)
    moments = [moment_of(each) for each in memories]
    told = np.array([[each.kind == "episode"] for each in memories])
    total = own + told * spread(own, moments, thread, beside)
    result: Values = (total * (K1 + 1) / (total + K1)) @ idf
    return result


def spread(
    values: Values, moments: Sequence[Place], thread: Thread, beside: Mapping[int, float]
) -> Values:
    """What each row gains of the rows at the moments beside its own: their sum, weighted."""
    row_of = {moment: at for at, moment in enumerate(dict.fromkeys(moments))}
    at_moment = np.zeros((len(row_of) + 1, *values.shape[1:]))
    np.add.at(at_moment, [row_of[each] for each in moments], values)
    gained = np.zeros_like(values)
    for steps, weight in beside.items():
        others = [thread.beside(each, steps) for each in moments]
        gained += weight * at_moment[[-1 if o is None else row_of.get(o, -1) for o in others]]
    return gained

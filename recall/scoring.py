"""Scoring: what the channels found, and what stands beside it, to items in one order.

An item's score is the mean of the channels' scores, weighted, over the channels that answered; so
it means the same when one is away. On top of that come shares for what the question names and for
what an item is. Each channel scores an item in its surroundings (``coverage``): a part for the item
with its neighbours, a part for the sitting it belongs to, each relative to the best.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from memstream.projections.queries import Channel, Hit
from memstream.projections.sketches import Sketch
from memstream.recall.candidates import Candidates, Values
from memstream.recall.coverage import Windows, covered
from memstream.recall.settings import Settings
from memstream.recall.thread import Thread

_OF_A_SITTING = 3
"""How many of its items speak for a sitting."""


def weighed(
    hits: Mapping[Channel, Sequence[Hit]],
    candidates: Candidates,
    thread: Thread,
    idf: Values,
    settings: Settings,
) -> list[tuple[float, int]]:
    """(score, row) of all candidates, best first; ties break on the memory's id. ``hits`` are
    candidates, ``idf`` is that of each word asked for."""
    if not len(candidates):
        return []
    together = _together(candidates.sketches, settings)
    windows = Windows(candidates.sketches, thread, _BEFORE, _AFTER)
    worth = _faded(idf, candidates.asked.lines_ago, settings)
    vague = settings.vague_weight and _vagueness(candidates, worth, settings)
    moved = min(settings.vague_weight * vague, settings.lexical_weight)
    weights: list[float] = []
    said: list[Values] = []
    if hits.get("bm25"):
        weights.append(settings.lexical_weight - moved)
        said.append(_relative(covered(candidates, worth, windows)))
    if hits.get("dense"):
        weights.append(settings.dense_weight + moved)
        near = _closeness(candidates, hits["dense"])
        beside = near if windows.empty else near + settings.neighbour_weight * windows.spread(near)
        said.append(_relative(beside))
    share = settings.sitting_weight
    scores = np.zeros(len(candidates))
    for weight, own in zip(weights, said, strict=True):
        scores += weight * ((1 - share) * own + share * _relative(_sittings(own, together)))
    scores = scores / sum(weights) if sum(weights) else scores
    scores += candidates.gained
    order = candidates.order(scores)
    many = candidates.asked.asks_many
    repeat = settings.list_repeat_weight if many else settings.repeat_weight
    if repeat:
        better = np.tril(together[np.ix_(order, order)], -1).sum(axis=1)
        scores[order] -= repeat * better
        order = candidates.order(scores)
    return list(zip(scores[order].tolist(), order.tolist(), strict=True))


def _faded(idf: Values, lines_ago: Sequence[int], settings: Settings) -> Values:
    """The worth of each word: its IDF, less where only an earlier line of the question has it."""
    if not lines_ago:
        return idf
    faded: Values = idf * settings.line_fading ** np.array(lines_ago)
    return faded


def _vagueness(candidates: Candidates, worth: Values, settings: Settings) -> float:
    """1 where no candidate holds anything of what is asked, 0 where one holds enough of it: of a
    long question every text holds little, so that its words tell texts apart less well."""
    total = float(worth.sum())
    if not total:
        return 1.0
    held = float(((candidates.counts > 0) @ worth).max()) / total
    return max(0.0, 1 - held / settings.clear_coverage)


_BEFORE, _AFTER = (0.5, 0.4), (0.3,)
"""The weights of the moments beside a memory: what was said before it says what it is about."""


def _closeness(candidates: Candidates, hits: Sequence[Hit]) -> Values:
    """The cosine of each candidate among the hits, from the worst (0) to the best (1)."""
    found = np.array([hit.score for hit in hits])
    rows = candidates.rows(hit.sketch for hit in hits)
    best, worst = found.max(), found.min()
    near = np.zeros(len(candidates))
    near[rows] = 1.0 if best <= worst else (found - worst) / (best - worst)
    return near


def _relative(values: Values) -> Values:
    best = values.max()
    result: Values = values / best if best > 0 else values
    return result


def _together(sketches: Sequence[Sketch], settings: Settings) -> Values:
    """[n, n]: 1 where two memories were observed in one sitting, else 0."""
    at = np.array([each.at for each in sketches])
    near = abs(at[:, None] - at) <= settings.sitting_seconds * 1e6
    paths = [each.scope for each in sketches]
    number = {path: at for at, path in enumerate(dict.fromkeys(paths))}
    if len(number) > 1:
        scope = np.array([number[path] for path in paths])
        near &= scope[:, None] == scope
    result: Values = near.astype(float)
    return result


def _sittings(scores: Values, together: Values) -> Values:
    """For each memory the sum of the best few of its sitting."""
    left = together * scores
    rows = np.arange(len(scores))
    total = np.zeros(len(scores))
    for _ in range(min(_OF_A_SITTING, len(scores))):
        best = left.argmax(axis=1)
        total += left[rows, best]
        left[rows, best] = 0.0
    return total

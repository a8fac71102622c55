"""Scoring: what the channels found, and what stands beside it, to items in one order.

An item's score is the mean of the channels' scores, weighted, over the channels that answered; so
it means the same when one is away. On top of that come shares for what the question names and for
what an item is. Each channel scores an item in its surroundings (``coverage``): a part for the item
with its neighbours, a part for the sitting it belongs to, each relative to the best.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from memstream.processors.episodes import is_question
from memstream.processors.lexemes import lexemes
from memstream.projections.queries import Channel, Hit, Place
from memstream.recall.analysis import Analysis
from memstream.recall.coverage import Values, covered, spread
from memstream.recall.evidence import Found, Item
from memstream.recall.settings import Settings
from memstream.recall.thread import Thread, moment_of
from memstream.schemas.instants import to_micros
from memstream.schemas.memories import Memory

_OF_A_SITTING = 3
"""How many of its items speak for a sitting."""


def weighed(
    hits: Mapping[Channel, Sequence[Hit]],
    beside: Sequence[Memory],
    thread: Thread,
    asked: Analysis,
    idf: Values,
    settings: Settings,
) -> list[Item]:
    """All hits of all channels, and the memories ``beside`` them, best first; ties break on the
    memory's id. ``idf`` is that of each word asked for."""
    found: dict[str, dict[str, Found]] = {}
    memory_of: dict[str, Memory] = {}
    for channel in sorted(hits):
        for hit in hits[channel]:
            found.setdefault(hit.memory.id, {})[channel] = Found(hit.rank, hit.score)
            memory_of[hit.memory.id] = hit.memory
    for memory in beside:
        memory_of.setdefault(memory.id, memory)
    if not memory_of:
        return []
    memories = [memory_of[name] for name in sorted(memory_of)]
    moments = [moment_of(each) for each in memories]
    scores = np.zeros(len(memories))
    weights = 0.0
    together = _together(moments, settings)
    shares: dict[Channel, float] = {
        "bm25": settings.lexical_weight,
        "dense": settings.dense_weight,
    }
    for channel, weight in shares.items():
        listed = hits.get(channel, ())
        if not listed:
            continue
        if channel == "bm25":
            said = covered(memories, asked.words, idf, thread, _SURROUNDINGS)
        else:
            near = _closeness(memories, listed, settings.candidates)
            said = near + settings.neighbour_weight * spread(near, moments, thread, _SURROUNDINGS)
        said = _relative(said)
        sitting = _relative(_sittings(said, together))
        share = settings.sitting_weight
        scores += weight * ((1 - share) * said + share * sitting)
        weights += weight
    scores = scores / weights if weights else scores
    scores += _named(memories, asked, settings)
    ordered = sorted(zip(scores.tolist(), memories, strict=True), key=lambda e: (-e[0], e[1].id))
    return [
        Item(memory, score, rank, found.get(memory.id, {}))
        for rank, (score, memory) in enumerate(ordered, start=1)
    ]


_SURROUNDINGS = {-1: 0.5, -2: 0.4, 1: 0.3}
"""The weights of the moments beside a memory: what was said before it says what it is about."""


def _closeness(memories: Sequence[Memory], hits: Sequence[Hit], depth: int) -> Values:
    """The cosine of each memory among the hits, from the worst (0) to the best (1)."""
    score_of = {hit.memory.id: hit.score for hit in hits}
    best, worst = max(score_of.values()), min(score_of.values())
    if best <= worst:
        return np.array([1.0 if each.id in score_of else 0.0 for each in memories])
    found = np.array([score_of.get(each.id, worst) for each in memories])
    result: Values = (found - worst) / (best - worst)
    return result


def _relative(values: Values) -> Values:
    best = values.max()
    result: Values = values / best if best > 0 else values
    return result


def _together(moments: Sequence[Place], settings: Settings) -> Values:
    """[n, n]: 1 where two memories were observed in one sitting, else 0."""
    at = np.array([each.at for each in moments])
    scopes = {scope: number for number, scope in enumerate({each.scope: 0 for each in moments})}
    scope = np.array([scopes[each.scope] for each in moments])
    near = abs(at[:, None] - at[None, :]) <= settings.sitting_seconds * 1e6
    result: Values = (near & (scope[:, None] == scope[None, :])).astype(float)
    return result


def _sittings(scores: Values, together: Values) -> Values:
    """For each memory the sum of the best few of its sitting."""
    of_others = together * scores[None, :]
    if of_others.shape[1] > _OF_A_SITTING:
        of_others = np.partition(of_others, -_OF_A_SITTING, axis=1)[:, -_OF_A_SITTING:]
    result: Values = of_others.sum(axis=1)
    return result


def _named(memories: Sequence[Memory], asked: Analysis, settings: Settings) -> Values:
    """What a memory gains by being about whom, and of when, the question asks; what it loses by
    only asking something itself."""
    words = frozenset(asked.words)
    gained = np.zeros(len(memories))
    for at, memory in enumerate(memories):
        name = frozenset(lexemes(memory.subject))
        if name and name <= words:
            gained[at] += settings.subject_weight
        if asked.asks_when and memory.occurred is not None:
            gained[at] += settings.date_weight
        if asked.times and _within(memory, asked.times):
            gained[at] += settings.time_weight
        if memory.kind == "episode" and is_question(memory.value):
            gained[at] -= settings.question_weight
    return gained


def _within(memory: Memory, times: Sequence[tuple[int, int]]) -> bool:
    """Whether what the memory tells of, or else its telling, falls into one of the ranges."""
    start = end = to_micros(memory.observed_at)
    if memory.occurred is not None and memory.occurred.start is not None:
        start = to_micros(memory.occurred.start)
        end = start if memory.occurred.end is None else to_micros(memory.occurred.end) - 1
    return any(start < last and end >= first for first, last in times)

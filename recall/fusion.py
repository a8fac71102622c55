"""Fusion: several ranked lists to one.

Reciprocal rank fusion (Cormack, Clarke and Buettcher, SIGIR 2009): an item's score is the sum
over the channels of weight / (k + rank). It needs no common scale between the channels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memstream.projections.queries import Hit
from memstream.recall.evidence import Found, Item


def fused(
    hits: Mapping[str, Sequence[Hit]], *, k: float = 20.0, weights: Mapping[str, float] | None = None
) -> list[Item]:
    """All items of all channels, best first; ties break on the memory's id."""
    weights = weights or {}
    scores: dict[str, float] = {}
    found: dict[str, dict[str, Found]] = {}
    memory_of: dict[str, Hit] = {}
    for channel in sorted(hits):
        weight = weights.get(channel, 1.0)
        for hit in hits[channel]:
            name = hit.memory.id
            scores[name] = scores.get(name, 0.0) + weight / (k + hit.rank)
            found.setdefault(name, {})[channel] = Found(hit.rank, hit.score)
            memory_of[name] = hit
    order = sorted(scores, key=lambda name: (-scores[name], name))
    return [
        Item(memory_of[name].memory, scores[name], rank, found[name])
        for rank, name in enumerate(order, start=1)
    ]

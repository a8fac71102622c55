"""Fusion: several ranked lists to one, then what the company of an item says about it.

Relative score fusion: every channel's scores are brought to 0..1 (its worst candidate to its
best), and an item's score is the weighted sum, the weights adding up to 1. Bruch, Gai and Ingber,
"An Analysis of Fusion Functions for Hybrid Retrieval" (ACM TOIS 2023) find such a convex
combination better than reciprocal ranks, and so do the conversations measured here
(``python -m bench evaluation``): it keeps a channel's clear winner clear.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from itertools import pairwise

import msgspec

from memstream.projections.queries import Channel, Hit
from memstream.recall.evidence import Found, Item
from memstream.schemas.memories import Memory


def fused(
    hits: Mapping[Channel, Sequence[Hit]],
    *,
    weights: Mapping[str, float] | None = None,
    depth: int = 0,
) -> list[Item]:
    """All items of all channels, best first; ties break on the memory's id.

    A channel without a weight weighs 1. ``depth`` is how many hits each channel was asked for: a
    list that is shorter ends where nothing else matches, so that there a lexical 0 is the worst.
    """
    weights = weights or {}
    total = sum(weights.get(channel, 1.0) for channel in hits if hits[channel])
    scores: dict[str, float] = {}
    found: dict[str, dict[str, Found]] = {}
    memory_of: dict[str, Memory] = {}
    for channel in sorted(hits):
        listed = hits[channel]
        if not listed:
            continue
        share = weights.get(channel, 1.0) / total if total else 0.0
        best = max(hit.score for hit in listed)
        worst = min(hit.score for hit in listed)
        if channel != "dense" and len(listed) < depth:
            worst = min(worst, 0.0)
        for hit in listed:
            name = hit.memory.id
            relative = (hit.score - worst) / (best - worst) if best > worst else 1.0
            scores[name] = scores.get(name, 0.0) + share * relative
            found.setdefault(name, {})[channel] = Found(hit.rank, hit.score)
            memory_of[name] = hit.memory
    return _ranked(Item(memory_of[name], scores[name], 0, found[name]) for name in scores)


def lifted(
    items: Sequence[Item],
    *,
    asked_about: Callable[[Memory], bool],
    subject_weight: float,
    neighbour_weight: float,
    together: timedelta,
) -> list[Item]:
    """The items again, in the order that their company gives them.

    An item about whom the question asks gains ``subject_weight`` of its score. Of two episodes of
    a scope that follow each other within ``together``, each gains ``neighbour_weight`` of the
    other's: a question and its answer are told in two turns, and share few words.
    """
    scores = [
        item.score * (1 + subject_weight if asked_about(item.memory) else 1) for item in items
    ]
    told = sorted(
        (at for at, item in enumerate(items) if item.memory.kind == "episode"),
        key=lambda at: (items[at].memory.scope, items[at].memory.observed_at, items[at].memory.id),
    )
    gained = list(scores)
    for one, other in pairwise(told):
        before, after = items[one].memory, items[other].memory
        if before.scope == after.scope and after.observed_at - before.observed_at <= together:
            gained[one] += neighbour_weight * scores[other]
            gained[other] += neighbour_weight * scores[one]
    return _ranked(
        msgspec.structs.replace(item, score=score)
        for item, score in zip(items, gained, strict=True)
    )


def _ranked(items: Iterable[Item]) -> list[Item]:
    ordered = sorted(items, key=lambda item: (-item.score, item.memory.id))
    return [msgspec.structs.replace(item, rank=rank) for rank, item in enumerate(ordered, start=1)]

"""Ranking: from what an engine found to hits in an order that every rebuild repeats."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memstream.projections.queries import Hit, IndexQuery, admits, rounds
from memstream.schemas.memories import Memory

_TIES = 16
_OF_A_MOMENT = 4


def asked_at_first(query: IndexQuery) -> int:
    """How many points of a channel to ask for, so that ``best`` mostly need not ask again."""
    return 2 * query.limit


def best(
    query: IndexQuery, points: Sequence[Any], more: Callable[[int], Sequence[Any]]
) -> list[tuple[float, Any]]:
    """(score, point id) of a channel's best, in order; ``points`` have a score and an id, and were
    asked for with the limit ``asked_at_first``.

    Where the limit cuts through equal scores, the engine would pick among them by the order in
    which they came, which no rebuild repeats. Twice the limit is asked for, then ``more``, until
    all that tie are there and their ids decide. Documents of one length that share one word with
    the query tie, so this is common at the end of a list.
    """
    asked, limit = asked_at_first(query), query.limit
    while (
        len(points) == asked
        and points[-1].score == points[limit - 1].score
        and asked < _TIES * limit
    ):
        asked *= 4
        points = more(asked)
    needed = len(points)
    if needed > limit:
        last = points[limit - 1].score
        needed = next((at for at in range(limit, needed) if points[at].score != last), needed)
    scored = [(point.score, point.id) for point in points[:needed]]
    scored.sort(key=lambda each: (-each[0], each[1]))
    return scored if rounds(query) else scored[:limit]


def hits(
    query: IndexQuery, scored: Sequence[tuple[float, Any]], memories: Mapping[Any, Memory]
) -> list[Hit]:
    """The hits of one channel. A point that was erased since it was found has no memory, and is
    left out."""
    found = [(score, memories[name]) for score, name in scored if name in memories]
    if rounds(query):
        found = [each for each in found if admits(query, each[1])][: query.limit]
    return [Hit(memory, score, rank) for rank, (score, memory) in enumerate(found, start=1)]


def asked_around(moments: int) -> int:
    """How many points to ask for, nearest in time first, to have all of so many moments."""
    return _OF_A_MOMENT * moments


def of_moments(
    found: Sequence[tuple[int, Any]], memories: Mapping[Any, Memory], query: IndexQuery, count: int
) -> tuple[Memory, ...]:
    """The memories of the first ``count`` moments among (instant, point id), nearest first.

    Of the last moment of a list that the limit cut, some may be missing, so it is left out; a
    moment alone with more than the limit gives what the engine chose.
    """
    moments: dict[int, list[Memory]] = {}
    for instant, name in found:
        moments.setdefault(instant, [])
        if name in memories and (not rounds(query) or admits(query, memories[name])):
            moments[instant].append(memories[name])
    whole = list(moments)
    if len(found) == asked_around(count) and len(whole) > 1:
        whole.pop()
    return tuple(
        memory
        for instant in whole[:count]
        for memory in sorted(moments[instant], key=lambda each: each.id)
    )

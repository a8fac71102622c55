"""Ranking: from what an engine found to hits in an order that every rebuild repeats."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from memstream.projections.queries import Hit, IndexQuery, Place, admits, rounds
from memstream.projections.sketches import Sketch
from memstream.schemas.memories import Memory

Reading = Callable[[IndexQuery, Sequence[str]], Mapping[str, Memory]]

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
    query: IndexQuery, scored: Sequence[tuple[float, Any]], sketch_of: Mapping[Any, Sketch]
) -> list[Hit]:
    """The hits of one channel. A point without a sketch is not to be found."""
    found = [(score, sketch_of[name]) for score, name in scored if name in sketch_of]
    return [
        Hit(sketch, score, rank) for rank, (score, sketch) in enumerate(found[: query.limit], 1)
    ]


def admitted(query: IndexQuery, points: Sequence[Any], read: Reading) -> Sequence[Any]:
    """The points that the query's conditions let through, where the engine rounds them."""
    if not rounds(query):
        return points
    memories = read(query, [str(each) for each in points])
    fit = {name for name, memory in memories.items() if admits(query, memory)}
    return [each for each in points if str(each) in fit]


def asked_around(moments: int) -> int:
    """How many points to ask for, nearest in time first, to have all of so many moments."""
    return _OF_A_MOMENT * moments


def windows_of(places: Iterable[Place], within: int) -> list[tuple[int, int]]:
    """The stretches of time around places of one scope, [first, last], in order; those that touch
    are one."""
    found: list[tuple[int, int]] = []
    for at in sorted({place.at for place in places}):
        first = at - within
        if found and first <= found[-1][1]:
            first = found.pop()[0]
        found.append((first, at + within))
    return found


def nearest(
    told: Sequence[tuple[int, Any]], at: int, count: int, within: int, *, back: bool
) -> list[tuple[int, Any]]:
    """Of (instant, point) in the order of time, those of the first ``count`` moments before or
    after ``at``, nearest first."""
    found: list[tuple[int, Any]] = []
    start = bisect_left(told, at, key=_instant) if back else bisect_right(told, at, key=_instant)
    moments = 0
    last: int | None = None
    for instant, point in reversed(told[:start]) if back else told[start:]:
        if instant != last:
            moments, last = moments + 1, instant
        if moments > count or abs(instant - at) > within:
            break
        found.append((instant, point))
    return found


def _instant(each: tuple[int, Any]) -> int:
    return each[0]


def of_moments(
    found: Sequence[tuple[int, Any]],
    sketch_of: Mapping[Any, Sketch],
    count: int,
    *,
    cut: bool,
) -> tuple[Sketch, ...]:
    """The memories of the first ``count`` moments among (instant, point id), nearest first.

    Of the last moment of a list that the limit ``cut``, some may be missing, so it is left out; a
    moment alone with more than the limit gives what the engine chose.
    """
    moments: dict[int, list[Sketch]] = {}
    for instant, name in found:
        moments.setdefault(instant, [])
        if name in sketch_of:
            moments[instant].append(sketch_of[name])
    whole = list(moments)
    if cut and len(whole) > 1:
        whole.pop()
    return tuple(
        sketch
        for instant in whole[:count]
        for sketch in sorted(moments[instant], key=lambda each: each.point)
    )

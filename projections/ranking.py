"""Ranking: from what an engine found to hits in an order that every rebuild repeats."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from memstream.projections.queries import Hit, IndexQuery, Place, admits, rounds
from memstream.projections.sketches import Sketch
from memstream.schemas.memories import Memory

Scored = tuple[float, Any]
"""The score of a point in a channel, and the point's name in the engine."""
Reading = Callable[[IndexQuery, Sequence[str]], Mapping[str, Memory]]

_TIED = 10
_TIES = 16
_OF_A_MOMENT = 4


def asked_at_first(query: IndexQuery) -> int:
    """How many points of a channel to ask for, so that ``best`` mostly need not ask again."""
    return query.limit + _TIED


def best(
    query: IndexQuery, scored: Sequence[Scored], more: Callable[[int], Sequence[Scored]]
) -> Sequence[Scored]:
    """A channel's best, in order; ``scored`` are what the engine found, best first, with the limit
    ``asked_at_first``.

    Where the limit cuts through equal scores, the engine would pick among them by the order in
    which they came, which no rebuild repeats. A few more are asked for, so that mostly all that tie
    are there and their ids decide. Where there are still more of them, they are left out, or, if
    they are more than half of the list, ``more`` is asked for until all are there. Documents of one
    length that share one word with the query tie, so this is common at the end of a list.
    """
    asked, limit = asked_at_first(query), query.limit
    tied = _tied(scored, asked, limit)
    while tied > limit / 2 and asked < _TIES * limit:
        asked *= 4
        scored = more(asked)
        tied = _tied(scored, asked, limit)
    if tied and tied <= limit / 2:
        scored = scored[: limit - tied]
    scored = sorted(scored, key=_by_score)
    return scored if rounds(query) else scored[:limit]


def _tied(scored: Sequence[Scored], asked: int, limit: int) -> int:
    """How many of the first ``limit`` points tie with the last one of ``asked``, after which
    others may tie too; 0 where it is known that none does."""
    if len(scored) < asked or scored[-1][0] != scored[limit - 1][0]:
        return 0
    last = scored[-1][0]
    return sum(1 for score, _ in scored[:limit] if score == last)


def _by_score(each: Scored) -> tuple[float, Any]:
    return -each[0], each[1]


def hits(query: IndexQuery, scored: Sequence[Scored], sketch_of: Mapping[Any, Sketch]) -> list[Hit]:
    """The hits of one channel. A point without a sketch is not to be found."""
    found = [(score, sketch_of[name]) for score, name in scored if name in sketch_of]
    return [
        Hit(sketch, score, rank) for rank, (score, sketch) in enumerate(found[: query.limit], 1)
    ]


def admitted(query: IndexQuery, points: Sequence[str], read: Reading) -> set[str]:
    """Those of the points that the query's conditions let through, by what is stored of them: for
    a query that ``rounds``."""
    memories = read(query, points)
    return {name for name, memory in memories.items() if admits(query, memory)}


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
    # A pair is less than any that begins alike and is longer, so no key is needed.
    before: Any = (at if back else at + 1,)
    start = bisect_left(told, before)
    moments = 0
    last: int | None = None
    for place in range(start - 1, -1, -1) if back else range(start, len(told)):
        instant = told[place][0]
        if instant != last:
            moments, last = moments + 1, instant
        if moments > count or abs(instant - at) > within:
            break
        found.append(told[place])
    return found


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

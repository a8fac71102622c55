"""At hand: the sketches of what is believed, in memory, so that questions read none: of all there
is in a small store, in a large one of scopes that are asked again."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from memstream.projections.queries import LATEST, IndexQuery, rounds
from memstream.projections.sketches import Sketch

Told = tuple[int, int]
"""When something was said (UTC microseconds), and the name of its point."""


class AtHand:
    """The sketches of the memory versions that are believed now, of ``every`` scope or of those
    that are taken in: by name, and of each scope in the order of time.

    The index that owns it adds what it writes, drops what it closes, and fills a new one after an
    erasure, so what is here is what is stored. Not thread-safe: the index's own lock is held.
    """

    def __init__(self, *, every: bool) -> None:
        self.sketches: dict[int, Sketch] = {}
        self._told: dict[str, list[Told]] = {}
        self._every = every
        self._taken: set[str] = set()

    def holds(self, scopes: Iterable[str]) -> bool:
        """Whether all that is believed of the scopes is here."""
        return self._every or self._taken.issuperset(scopes)

    def take(self, scope: str, sketches: Mapping[int, Sketch]) -> None:
        """Takes a scope in, given all that is believed of it."""
        self._taken.add(scope)
        self.fill(sketches)

    def fill(self, sketches: Mapping[int, Sketch]) -> None:
        """Adds points that are not there, by name."""
        self.sketches.update(sketches)
        for name, sketch in sketches.items():
            self._told.setdefault(sketch.scope, []).append((sketch.at, name))
        for scope in {sketch.scope for sketch in sketches.values()}:
            self._told[scope].sort()

    def add(self, name: int, sketch: Sketch) -> None:
        """Adds a point that is not there, where its scope is held."""
        if self.holds((sketch.scope,)):
            self.sketches[name] = sketch
            insort(self._told.setdefault(sketch.scope, []), (sketch.at, name))

    def drop(self, names: Iterable[int]) -> None:
        """Takes out those of the points that are there."""
        for name in names:
            sketch = self.sketches.pop(name, None)
            if sketch is not None:
                told = self._told[sketch.scope]
                del told[bisect_left(told, (sketch.at, name))]

    def told(self, query: IndexQuery, scope: str, windows: Sequence[tuple[int, int]]) -> list[Told]:
        """What of a scope the query lets through and was said in any of the windows,
        [first, last], which are in order and apart; in the order of time."""
        every = self._told.get(scope, [])
        found: list[Told] = []
        for first, last in windows:
            start = bisect_left(every, (first, 0))
            found += every[start : bisect_left(every, (last + 1, 0), lo=start)]
        return self.let_through(query, found)

    def let_through(self, query: IndexQuery, found: Sequence[tuple[Any, int]]) -> list[Any]:
        """Those of points of the query's scopes, each with its name in the second place, that the
        query lets through (see ``answers``)."""
        sketch_of, statuses, at = self.sketches.get, query.statuses, query.valid_at
        return [
            each
            for each in found
            if (sketch := sketch_of(each[1])) is not None
            and sketch.status in statuses
            and (at is None or sketch.valid_from <= at < sketch.valid_to)
        ]


def answers(query: IndexQuery) -> bool:
    """Whether sketches tell which of the memories that are believed now a query lets through."""
    return (
        query.known_at == LATEST
        and (query.kinds, query.entities, query.since, query.until) == (None,) * 4
        and not rounds(query)
    )

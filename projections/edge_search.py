"""Reading an open shard: searches, surroundings and memories, with what need not be read again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import qdrant_edge as edge

from memstream.projections.at_hand import AtHand, Told, answers
from memstream.projections.edge_requests import (
    OF_A_SKETCH,
    believed,
    observed_of,
    requests,
    scored_of,
    scroll_beside,
    scroll_windows,
)
from memstream.projections.edge_shard import in_engine, retrieved
from memstream.projections.kept import Kept
from memstream.projections.points import NewPoint, decoded
from memstream.projections.queries import (
    Answer,
    Channel,
    IndexQuery,
    Place,
    Surroundings,
    in_scope,
    rounds,
)
from memstream.projections.ranking import (
    Scored,
    admitted,
    asked_around,
    asked_at_first,
    best,
    hits,
    nearest,
    of_moments,
    windows_of,
)
from memstream.projections.sketches import Sketch, sketch_of, sketches
from memstream.schemas.instants import OPEN_MICROS
from memstream.schemas.memories import Memory

SKETCHES_KEPT = 1 << 16
"""About 0.7 KB each, so 45 MB when full."""
MEMORIES_KEPT = 1 << 12
"""About 4 KB each, so 16 MB when full."""
_SCOPES_ASKED = 10_000
_PAYS_FOR = 64
"""What is at hand spares a question 1 ms, the time in which so many sketches are read."""
_AROUND_A_PLACE = 64
_AT_HAND, _AT_HAND_OF = 2, 3
"""So many points of a scope, of so many, are taken to be let through."""
_AT_ONCE = 5_000
_Result = TypeVar("_Result")


class EdgeSearch:
    """One shard, read. Not thread-safe: the index that owns the shard holds its lock around every
    use, and says what it writes."""

    def __init__(self, path: Path, shard: edge.EdgeShard) -> None:
        """``path`` is that of the index, for errors."""
        self._path, self._shard = path, shard
        self._sketches = Kept[int, Sketch](SKETCHES_KEPT)
        self._memories = Kept[str, Memory](MEMORIES_KEPT)
        self._at_hand: AtHand | None = None
        self._asked: Counter[str] = Counter()
        """How often each scope was asked; and how many are believed of those that were counted."""
        self._sizes: dict[str, int] = {}
        self._tenants: set[str] | None = self._names("tenant", 2)
        """All tenants there are, or so many that there are others; None where points were deleted,
        which the engine counts on until the shard is written anew."""

    def search(self, query: IndexQuery) -> Answer:
        """The best ``query.limit`` memories of every channel."""
        self._prepare(query.scopes)
        at_hand = self._holding(query, query.scopes)
        scored_in = (
            self._scored(query, query.channels, asked_at_first(query))
            if at_hand is None
            else self._scored_at_hand(query, at_hand)
        )
        ranked: dict[Channel, Sequence[Scored]] = {
            channel: best(query, scored, partial(self._more, query, channel))
            for channel, scored in zip(query.channels, scored_in, strict=True)
        }
        names = dict.fromkeys(name for scored in ranked.values() for _, name in scored)
        sketch_of = self._sketched(query, names, {})
        return {channel: hits(query, scored, sketch_of) for channel, scored in ranked.items()}

    def around(
        self, query: IndexQuery, places: Sequence[Place], *, before: int, after: int, within: int
    ) -> list[Surroundings]:
        """What was said just before and after each place. Raises ``UnsupportedFilter``.

        Where sketches are not at hand: one request for all places of a scope; where so much was
        said around them that it would be cut off, two for each place.
        """
        sides = ((before, True), (after, False))
        seen: dict[int, edge.Record] = {}
        told = {
            scope: self._told(
                query, scope, [each for each in places if each.scope == scope], within, seen
            )
            for scope in dict.fromkeys(each.scope for each in places)
        }
        found = [
            [
                self._beside(query, place, told[place.scope], moments, within, seen, back=back)
                for moments, back in sides
            ]
            for place in places
        ]
        names = dict.fromkeys(name for pair in found for side, _ in pair for _, name in side)
        sketch_of = self._sketched(query, names, seen)
        return [
            Surroundings(
                *(
                    of_moments(side, sketch_of, moments, cut=cut)
                    for (side, cut), (moments, _) in zip(pair, sides, strict=True)
                )
            )
            for pair in found
        ]

    def read(self, query: IndexQuery, points: Sequence[str]) -> dict[str, Memory]:
        """The memories of points that the query found, as they are stored now."""
        found = {name: kept for name in points if (kept := self._memories.get(name))}
        missing = [name for name in points if name not in found]
        for record in self._retrieved(missing, fields=["record", "expired_at"]):
            payload = record.payload
            memory = decoded(payload["record"], payload["expired_at"])
            name = str(record.id)
            found[name] = memory
            self._memories.put(name, memory)
        return {name: each for name, each in found.items() if each.scope in query.scopes}

    @contextmanager
    def changing(self, stored: Iterable[str], written: Iterable[NewPoint]) -> Iterator[None]:
        """Held while points are written: ``stored`` are those of before that are written anew or
        closed."""
        names = [UUID(each).int for each in stored]
        self._memories.drop(stored)
        self._sketches.drop(names)
        if self._at_hand is not None:
            self._at_hand.drop(names)
        try:
            yield
        except BaseException:
            self.clear()
            raise
        if self._tenants is not None:
            self._tenants.update(new.payload["tenant"] for new in written)
        for new in written:
            # Of the versions of a memory one is believed, so the first alone adds to its scope.
            if new.memory.version == 1 and new.memory.scope in self._sizes:
                self._sizes[new.memory.scope] += 1
        if self._at_hand is not None:
            for new in written:
                if new.payload["expired_at"] == OPEN_MICROS:
                    self._at_hand.add(UUID(new.id).int, sketch_of(new.memory, new.id))
            if len(self._at_hand.sketches) > SKETCHES_KEPT:
                self._at_hand = AtHand(every=False)

    def clear(self) -> None:
        """Forgets everything, for points are about to be deleted."""
        self._tenants = None
        self._memories.clear()
        self._sketches.clear()
        self._sizes.clear()
        self._at_hand = None

    def _prepare(self, scopes: Sequence[str]) -> None:
        """From the second question on, the sketches of all that is believed are at hand; where the
        store is large, those of the scopes that are asked again and again. A process that asks
        once reads none of them."""
        if self._at_hand is None and self._asked:
            every = self._count(None) <= SKETCHES_KEPT
            self._at_hand = AtHand(every=every)
            if every:
                self._at_hand.fill(self._read_all(self._names("scope", SKETCHES_KEPT), None))
        if self._at_hand is not None and not self._at_hand.holds(scopes):
            for scope in scopes:
                if self._asked[scope] and not self._at_hand.holds((scope,)):
                    self._at_hand = self._with(self._at_hand, scope)
        if len(self._asked) > _SCOPES_ASKED:
            self._asked.clear()
            self._sizes.clear()
        self._asked.update(scopes)

    def _with(self, at_hand: AtHand, scope: str) -> AtHand:
        """What is at hand, with a scope taken in once it was asked so often that the reading pays;
        in place of what is there, where there is no room beside that."""
        if scope not in self._sizes:
            self._sizes[scope] = self._count(scope)
        count = self._sizes[scope]
        if count > min(SKETCHES_KEPT, self._asked[scope] * _PAYS_FOR):
            return at_hand
        if len(at_hand.sketches) + count > SKETCHES_KEPT:
            self._asked.clear()
            at_hand = AtHand(every=False)
        at_hand.take(scope, self._read_all((scope,), scope))
        return at_hand

    def _holding(self, query: IndexQuery, scopes: Iterable[str]) -> AtHand | None:
        """What is at hand, where it tells what the query lets through of the scopes."""
        at_hand = self._at_hand
        return at_hand if at_hand is not None and answers(query) and at_hand.holds(scopes) else None

    def _count(self, scope: str | None) -> int:
        request = edge.CountRequest(exact=True, filter=believed(scope))
        return self._call(partial(self._shard.count, request))

    def _names(self, field: str, at_most: int) -> set[str]:
        """What stands in a payload field."""
        every = edge.FacetRequest(field, limit=at_most, exact=True)
        found = self._call(partial(self._shard.facet, every)).hits
        return {str(each.value) for each in found}

    def _read_all(self, scopes: Iterable[str], scope: str | None) -> dict[int, Sketch]:
        """The sketches of all that is believed, of one scope or of all there are."""
        found: dict[int, Sketch] = {}
        offset: Any = None
        while True:
            request = edge.ScrollRequest(
                offset=offset,
                limit=_AT_ONCE,
                filter=believed(scope),
                with_payload=False,
                with_vector=list(OF_A_SKETCH),
            )
            records, offset = self._call(partial(self._shard.scroll, request))
            found |= _made(scopes, records)
            if offset is None:
                return found

    def _told(
        self,
        query: IndexQuery,
        scope: str,
        places: Sequence[Place],
        within: int,
        seen: dict[int, edge.Record],
    ) -> list[Told] | None:
        """What was said around places of a scope, in the order of time; None where it is too much
        to read. Points that are read are added to ``seen``."""
        windows = windows_of(places, within)
        at_hand = self._holding(query, (scope,))
        if at_hand is not None:
            return at_hand.told(in_scope(query, scope), scope, windows)
        limit = _AROUND_A_PLACE * len(places)
        request = scroll_windows(query, scope, windows, limit)
        points, _ = self._call(partial(self._shard.scroll, request))
        return None if len(points) == limit else observed_of(points, seen)

    def _beside(
        self,
        query: IndexQuery,
        place: Place,
        told: list[Told] | None,
        moments: int,
        within: int,
        seen: dict[int, edge.Record],
        *,
        back: bool,
    ) -> tuple[list[Told], bool]:
        """What was said next to a place on one side, nearest first; and whether a limit cut it
        off."""
        if not moments:
            return [], False
        if told is not None:
            return nearest(told, place.at, moments, within, back=back), False
        limit = asked_around(moments)
        request = scroll_beside(query, place, limit, within, back=back)
        points, _ = self._call(partial(self._shard.scroll, request))
        return observed_of(points, seen), len(points) == limit

    def _sketched(
        self, query: IndexQuery, names: Iterable[int], seen: Mapping[int, edge.Record]
    ) -> dict[int, Sketch]:
        """The sketches of points that a query found, but of those that it only seems to admit, by
        name. Those that were ``seen`` came with their vectors."""
        if rounds(query):
            fit = admitted(query, [str(UUID(int=name)) for name in names], self.read)
            names = [name for name in names if str(UUID(int=name)) in fit]
        at_hand = {} if self._at_hand is None else self._at_hand.sketches
        known = {name: at_hand[name] for name in names if name in at_hand}
        others = [name for name in names if name not in known]
        if not others:
            return known
        known |= {name: kept for name in others if (kept := self._sketches.get(name)) is not None}
        missing = [name for name in others if name not in known]
        records: list[Any] = [seen[name] for name in missing if name in seen]
        unseen = [UUID(int=name) for name in missing if name not in seen]
        records += self._retrieved(unseen, vectors=OF_A_SKETCH)
        made = _made(query.scopes, records)
        for name, sketch in made.items():
            self._sketches.put(name, sketch)
        return known | made

    def _scored_at_hand(self, query: IndexQuery, at_hand: AtHand) -> list[list[Scored]]:
        """What ``_scored`` gives, in half the time: the engine is asked for more of the scopes,
        without the other conditions, and their sketches tell what the query lets through. A channel
        where too little of it is let through is asked again."""
        asked = asked_at_first(query)
        limit = asked * _AT_HAND_OF // _AT_HAND
        found = self._scored(query, query.channels, limit, of_scopes=True)
        through = [at_hand.let_through(query, scored)[:asked] for scored in found]
        return [
            self._more(query, channel, asked)
            if len(scored) == limit and len(left) < asked
            else left
            for channel, scored, left in zip(query.channels, found, through, strict=True)
        ]

    def _more(self, query: IndexQuery, channel: Channel, limit: int) -> list[Scored]:
        return self._scored(query, (channel,), limit)[0]

    def _scored(
        self,
        query: IndexQuery,
        channels: Sequence[Channel],
        limit: int,
        *,
        of_scopes: bool = False,
    ) -> list[list[Scored]]:
        """The best ``limit`` points of each channel; see ``requests``."""
        alone = self._tenants == {query.tenant}
        wanted = requests(query, channels, limit, alone=alone, of_scopes=of_scopes)
        batch = edge.QueryBatchRequest(wanted)
        return [scored_of(each) for each in self._call(partial(self._shard.query_batch, batch))]

    def _retrieved(
        self, ids: list[Any], vectors: Sequence[str] = (), fields: Sequence[str] = ()
    ) -> list[Any]:
        return retrieved(self._path, self._shard, ids, vectors, fields)

    def _call(self, call: Callable[[], _Result]) -> _Result:
        return in_engine(self._path, "searching", call)


def _made(scopes: Iterable[str], records: Sequence[Any]) -> dict[int, Sketch]:
    """The sketches of records that came with their vectors, by name."""
    vectors = [record.vector for record in records]
    made = sketches(
        scopes,
        [str(record.id) for record in records],
        [each["sketch"] for each in vectors],
        [(each["bm25"].indices, each["bm25"].values) for each in vectors],
    )
    return {record.id.int: sketch for record, sketch in zip(records, made, strict=True)}

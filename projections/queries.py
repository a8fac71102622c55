"""What a search index is asked and what it answers; the same for every index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Protocol

import msgspec

from memstream.projections.facets import entity_keys, happened, keys_of
from memstream.projections.projection import Projection
from memstream.schemas.errors import MemstreamError, UnsupportedFilter
from memstream.schemas.instants import OPEN_MICROS, to_micros
from memstream.schemas.memories import Kind, Memory, Status, Tally
from memstream.schemas.scope import Scope

if TYPE_CHECKING:
    from memstream.projections.sketches import Sketch

Channel = Literal["bm25", "dense"]
CHANNELS: tuple[Channel, ...] = ("bm25", "dense")
LATEST = OPEN_MICROS - 1
"""``known_at`` of a question for what is believed now: every version was made before it."""


class IndexClosed(MemstreamError):
    """The index was closed, or replaced by another generation, before this call."""


class IndexQuery(msgspec.Struct, frozen=True, kw_only=True):
    """One question to a search index. Every condition is applied by the index, before ranking.

    Instants are UTC microseconds. ``valid_at`` asks for what was true then, None for any time;
    ``known_at`` asks for what the system believed then. ``kinds`` None means all. ``entities``
    asks for what is about one of these names: the subject, or named in the text; ``since`` and
    ``until`` for what took place (or was told, where it names no time) in [since, until). ``limit``
    counts hits per channel. Raises ``UnsupportedFilter`` for a question that has no scope, names
    a scope of another tenant, or could only be answered unfiltered or not at all.
    """

    tenant: str
    scopes: tuple[str, ...]
    valid_at: int | None
    known_at: int
    statuses: tuple[Status, ...] = ("active",)
    kinds: tuple[Kind, ...] | None = None
    entities: tuple[str, ...] | None = None
    since: int | None = None
    until: int | None = None
    lexemes: Sequence[str] = ()
    vector: Sequence[float] | None = None
    limit: int = 30
    channels: tuple[Channel, ...] = CHANNELS

    def __post_init__(self) -> None:
        if not self.scopes:
            raise UnsupportedFilter("search without a scope; mend: name at least one scope path")
        for path in self.scopes:
            tenant = Scope.parse(path).tenant
            if tenant != self.tenant:
                raise UnsupportedFilter(
                    f"search of tenant {self.tenant!r} names scope {path!r} of tenant {tenant!r}; "
                    "mend: ask for one tenant at a time"
                )
        if not self.statuses or self.kinds == ():
            raise UnsupportedFilter(
                "search for no status or no kind at all; mend: name one, or kinds=None for all"
            )
        if self.entities is not None and not (
            self.entities and all(keys_of((each,)) for each in self.entities)
        ):
            raise UnsupportedFilter(
                f"search for entities {self.entities!r}; expected names, or None for all"
            )
        if self.since is not None and self.until is not None and self.since >= self.until:
            raise UnsupportedFilter(
                "search since an instant that is not before until; mend: exchange them"
            )
        if self.limit < 1:
            raise UnsupportedFilter(f"search limit {self.limit}; expected 1 or more")
        unknown = [channel for channel in self.channels if channel not in CHANNELS]
        if unknown or not self.channels:
            raise UnsupportedFilter(
                f"search channels {self.channels!r}; expected some of {', '.join(CHANNELS)}"
            )
        if "dense" in self.channels and self.vector is None:
            raise UnsupportedFilter(
                "search of the dense channel without a vector; mend: embed the query, or ask for "
                'channels=("bm25",)'
            )


class Hit(msgspec.Struct, frozen=True):
    """One memory version found. ``score`` is the channel's own (BM25, or the cosine); ``rank``
    counts from 1. ``SearchIndex.read`` gives the memory itself."""

    sketch: Sketch
    score: float
    rank: int


Answer = dict[Channel, list[Hit]]
"""The hits of every channel asked, best first."""


class Place(msgspec.Struct, frozen=True):
    """A moment in a scope: when something was said there, in UTC microseconds."""

    scope: str
    at: int


class Surroundings(msgspec.Struct, frozen=True):
    """The memories of the moments before a place and of those after it. Each list is ordered by
    how near the moment is, then by point id; the moment itself is in neither."""

    before: tuple[Sketch, ...] = ()
    after: tuple[Sketch, ...] = ()


class SearchIndex(Projection, Protocol):
    """A projection that can be searched.

    Obligations: no hit that ``admits`` refuses; equal scores are ordered by point id; a
    limit that cuts through more of them than the index looks at leaves them out, or, where they
    are more than half of the list, looks at all (of very many the index may choose); IDF is
    computed over the tenant's points alone; a channel the index does not have raises
    ``UnsupportedFilter``; searches from several threads while one other thread applies are safe
    and see every ``apply`` whole or not at all.
    """

    def search(self, query: IndexQuery) -> Answer: ...

    def around(
        self, query: IndexQuery, places: Sequence[Place], *, before: int, after: int, within: int
    ) -> list[Surroundings]:
        """For each place what was said there just before and after it, at most ``within``
        microseconds off: all memories of so many moments that the query's conditions let through,
        in the place's scope alone."""
        ...

    def read(self, query: IndexQuery, points: Sequence[str]) -> dict[str, Memory]:
        """The memories of points that ``query`` found, as they are stored now. One that was erased
        meanwhile, or is not in a scope of the query, is left out."""
        ...

    def recorded_tally(self) -> Tally:
        """What was written, by the index's own account; ``tally`` is what is there."""
        ...

    def memories_of(self, scope: str, statuses: tuple[Status, ...] = ()) -> list[Memory]:
        """Every version of every memory of a scope, or those made with such a status, in the order
        in which they were made."""
        ...

    @property
    def unfinished(self) -> bool:
        """Whether an apply was cut short; applying again from ``position`` heals it."""
        ...


def in_scope(query: IndexQuery, scope: str) -> IndexQuery:
    """The query for one of its scopes alone. Raises ``UnsupportedFilter`` where it is none of
    them."""
    if scope not in query.scopes:
        raise UnsupportedFilter(
            f"surroundings of a place in {scope!r}, which the query does not name; mend: "
            "ask around what the same query found"
        )
    if len(query.scopes) == 1:
        return query
    return msgspec.structs.replace(query, scopes=(scope,))


def admits(query: IndexQuery, memory: Memory) -> bool:
    """Whether the query's conditions let the memory through: what every index must agree with."""
    if memory.scope not in query.scopes or memory.status not in query.statuses:
        return False
    if query.kinds is not None and memory.kind not in query.kinds:
        return False
    if query.entities is not None and not (
        set(keys_of(query.entities)).intersection(entity_keys(memory))
    ):
        return False
    start, end = happened(memory)
    if query.since is not None and end <= query.since:
        return False
    if query.until is not None and start >= query.until:
        return False
    at = query.valid_at
    if at is not None and (
        to_micros(memory.valid_from) > at
        or (memory.valid_to is not None and to_micros(memory.valid_to) <= at)
    ):
        return False
    return to_micros(memory.created_at) <= query.known_at and (
        memory.expired_at is None or query.known_at < to_micros(memory.expired_at)
    )


class Condition(msgspec.Struct, frozen=True):
    """One payload field of a point: it has one of ``values``, or lies between two instants, both
    included."""

    field: str
    values: tuple[str, ...] = ()
    at_least: int | None = None
    at_most: int | None = None


def beside(place: Place, within: int, *, back: bool) -> Condition:
    """That a point was observed so near before a place, or after it; not at its own moment."""
    if back:
        return Condition("observed_at", at_least=place.at - within, at_most=place.at - 1)
    return Condition("observed_at", at_least=place.at + 1, at_most=place.at + within)


def conditions(query: IndexQuery) -> list[Condition]:
    """What a point must meet to be found, for an engine that compares in 64-bit floats: exact
    until the year 2255, within 32 µs after.

    "x > t" is asked as "x >= t + 1", so that rounding can only let too much through; the index
    then takes that out (see ``rounds``).
    """
    must = [
        Condition("tenant", (query.tenant,)),
        Condition("scope", query.scopes),
        Condition("status", query.statuses),
        Condition("expired_at", at_least=query.known_at + 1),
    ]
    if query.known_at != LATEST:
        must.append(Condition("created_at", at_most=query.known_at))
    if query.kinds is not None:
        must.append(Condition("kind", query.kinds))
    if query.entities is not None:
        must.append(Condition("entities", keys_of(query.entities)))
    if query.since is not None:
        must.append(Condition("happened_to", at_least=query.since + 1))
    if query.until is not None:
        must.append(Condition("happened_from", at_most=query.until - 1))
    if query.valid_at is not None:
        must.append(Condition("valid_from", at_most=query.valid_at))
        must.append(Condition("valid_to", at_least=query.valid_at + 1))
    return must


def rounds(query: IndexQuery) -> bool:
    """Whether the query's instants are too far away for the engine to compare them exactly, so
    that hits have to be held against ``admits``. ``LATEST`` is compared exactly: with a power of
    two, from which every instant of a stored memory is far away."""
    known_at = None if query.known_at == LATEST else query.known_at
    instants = (known_at, query.valid_at, query.since, query.until)
    return max(abs(each or 0) for each in instants) >= 2**53

"""What an edge index asks the engine, requests, filters, and the population IDF is taken over; and
how it names what it is answered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import qdrant_edge as edge

from memstream.processors.lexemes import query_weights
from memstream.projections.queries import (
    LATEST,
    Channel,
    Condition,
    IndexQuery,
    Place,
    beside,
    conditions,
    in_scope,
)
from memstream.projections.ranking import Scored

OF_A_SKETCH = ("bm25", "sketch")
"""The vectors that hold what scoring reads of a point."""


def requests(
    query: IndexQuery,
    channels: Sequence[Channel],
    limit: int,
    *,
    alone: bool = False,
    of_scopes: bool = False,
) -> list[edge.QueryRequest]:
    """One engine request per channel, for ids and scores alone. Where the tenant is ``alone`` in
    the shard its IDF is that of the shard, which the engine has at hand. ``of_scopes`` asks for all
    that there is of the query's scopes, whatever else it demands."""
    condition = edge.Filter(must=[matches_any("scope", query.scopes)])
    if not of_scopes:
        condition = _filter(query)
    wanted: list[edge.QueryRequest] = []
    for channel in channels:
        params = None
        if channel == "bm25":
            indices, values = query_weights(query.lexemes)
            vector: Any = edge.SparseVector(indices, values)
            if not alone:
                tenant = edge.Filter(must=[matches("tenant", query.tenant)])
                params = edge.SearchParams(idf=edge.IdfParams(corpus=tenant))
        else:
            vector = [float(value) for value in query.vector or ()]
        nearest = edge.Query.Nearest(vector, using=channel)
        wanted.append(
            edge.QueryRequest(
                limit=limit,
                query=nearest,
                filter=condition,
                with_payload=False,
                params=params,
            )
        )
    return wanted


def scroll_beside(
    query: IndexQuery, place: Place, limit: int, within: int, *, back: bool
) -> edge.ScrollRequest:
    """What was said next to a place, before it or after it, nearest first: with sketches."""
    must = [*conditions(in_scope(query, place.scope)), beside(place, within, back=back)]
    return edge.ScrollRequest(
        limit=limit,
        filter=edge.Filter(must=[_condition(each) for each in must]),
        with_payload=False,
        with_vector=list(OF_A_SKETCH),
        order_by=edge.OrderBy("observed_at", edge.Direction.Desc if back else edge.Direction.Asc),
    )


def scroll_windows(
    query: IndexQuery, scope: str, windows: Sequence[tuple[int, int]], limit: int
) -> edge.ScrollRequest:
    """What was said in a scope in any of the windows, [first, last] microseconds, in the order of
    time: sketches and instants."""
    must: list[Any] = [_condition(each) for each in conditions(in_scope(query, scope))]
    inside = [Condition("observed_at", at_least=first, at_most=last) for first, last in windows]
    must.append(edge.Filter(should=[_condition(each) for each in inside]))
    return edge.ScrollRequest(
        limit=limit,
        filter=edge.Filter(must=must),
        with_payload=False,
        with_vector=list(OF_A_SKETCH),
        order_by=edge.OrderBy("observed_at", edge.Direction.Asc),
    )


def scored_of(points: Sequence[Any]) -> list[Scored]:
    """(score, name) of points. A name is the number of an id, which is quicker to compare."""
    return [(point.score, point.id.int) for point in points]


def observed_of(points: Sequence[Any], seen: dict[int, edge.Record]) -> list[tuple[int, int]]:
    """(instant, name) of points that were scrolled in the order of time, and are added to
    ``seen``."""
    told: list[tuple[int, int]] = []
    for point in points:
        name = point.id.int
        seen[name] = point
        told.append((int(point.order_value or 0), name))
    return told


def _filter(query: IndexQuery) -> edge.Filter:
    return edge.Filter(must=[_condition(each) for each in conditions(query)])


def _condition(wanted: Condition) -> edge.FieldCondition:
    if wanted.values:
        return matches_any(wanted.field, wanted.values)
    low, high = wanted.at_least, wanted.at_most
    within = edge.RangeFloat(
        gte=None if low is None else float(low), lte=None if high is None else float(high)
    )
    return edge.FieldCondition(wanted.field, range=within)


def matches(field: str, value: str) -> edge.FieldCondition:
    """The field has this value."""
    return edge.FieldCondition(field, match=edge.MatchValue(value))


def matches_any(field: str, values: Sequence[str]) -> edge.FieldCondition:
    """The field has one of these values."""
    return edge.FieldCondition(field, match=edge.MatchAny(list(values)))


def believed(scope: str | None) -> edge.Filter:
    """What is believed now, of one scope or of all."""
    must: list[Any] = [_condition(Condition("expired_at", at_least=LATEST + 1))]
    if scope is not None:
        must.append(matches("scope", scope))
    return edge.Filter(must=must)

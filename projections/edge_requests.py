"""What an edge index asks the engine: requests, filters, and the population IDF is taken over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import qdrant_edge as edge

from memstream.processors.lexemes import query_weights
from memstream.projections.queries import (
    Channel,
    Condition,
    IndexQuery,
    Place,
    at_place,
    conditions,
)


def requests(query: IndexQuery, channels: Sequence[Channel], limit: int) -> list[edge.QueryRequest]:
    """One engine request per channel, for ids and scores alone."""
    condition = _filter(query)
    wanted: list[edge.QueryRequest] = []
    for channel in channels:
        params = None
        if channel == "bm25":
            indices, values = query_weights(query.lexemes)
            vector: Any = edge.SparseVector(indices, values)
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


def scroll_from(query: IndexQuery, place: Place, limit: int, *, back: bool) -> edge.ScrollRequest:
    """What was said next to a place, before it or after it, nearest first: ids and instants."""
    direction = edge.Direction.Desc if back else edge.Direction.Asc
    return edge.ScrollRequest(
        limit=limit,
        filter=_filter(at_place(query, place)),
        with_payload=["observed_at"],
        order_by=edge.OrderBy("observed_at", direction, place.at - 1 if back else place.at + 1),
    )


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

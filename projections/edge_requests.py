"""What an edge index asks the engine: requests, filters, and the population IDF is taken over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import qdrant_edge as edge

from memstream.processors.lexemes import query_weights
from memstream.projections.queries import Channel, IndexQuery


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


def _filter(query: IndexQuery) -> edge.Filter:
    """The engine compares in 64-bit floats: exact until the year 2255, within 32 µs after.

    "x > t" is asked as "x >= t + 1", so that rounding can only let too much through; the index
    then takes that out.
    """
    must: list[Any] = [
        matches("tenant", query.tenant),
        matches_any("scope", query.scopes),
        matches_any("status", query.statuses),
        edge.FieldCondition("created_at", range=edge.RangeFloat(lte=float(query.known_at))),
        edge.FieldCondition("expired_at", range=edge.RangeFloat(gte=float(query.known_at + 1))),
    ]
    if query.kinds is not None:
        must.append(matches_any("kind", query.kinds))
    if query.valid_at is not None:
        at = query.valid_at
        must.append(edge.FieldCondition("valid_from", range=edge.RangeFloat(lte=float(at))))
        must.append(edge.FieldCondition("valid_to", range=edge.RangeFloat(gte=float(at + 1))))
    return edge.Filter(must=must)


def matches(field: str, value: str) -> edge.FieldCondition:
    """The field has this value."""
    return edge.FieldCondition(field, match=edge.MatchValue(value))


def matches_any(field: str, values: Sequence[str]) -> edge.FieldCondition:
    """The field has one of these values."""
    return edge.FieldCondition(field, match=edge.MatchAny(list(values)))


def rounds(query: IndexQuery) -> bool:
    """Whether the query's instants are too far away for the engine to compare them exactly, so
    that hits have to be held against ``admits``."""
    return max(abs(query.known_at), abs(query.valid_at or 0)) >= 2**53

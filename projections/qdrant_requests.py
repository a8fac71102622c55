"""What a Qdrant server is asked: collections, requests, filters, and the population of the IDF."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from qdrant_client import QdrantClient, models

from memstream.processors.lexemes import query_weights
from memstream.projections.points import KEYWORDS, RANGES
from memstream.projections.queries import (
    Channel,
    Condition,
    IndexQuery,
    Place,
    beside,
    conditions,
    in_scope,
)
from memstream.projections.sketches import SKETCH_SIZE
from memstream.schemas.memories import Status

LINKS_OF_A_TENANT = 16
"""Edges of a point in its tenant's HNSW graph, the engine's default. There is no graph over all
tenants: every search names one."""


def create(client: QdrantClient, collection: str, dimension: int) -> None:
    """A collection with its payload indexes. Harmless where it is there already.

    It has one shard, because the engine takes the IDF of each shard for itself.
    """
    if not client.collection_exists(collection):
        distance = models.Distance.DOT
        never_searched = models.HnswConfigDiff(m=0, payload_m=0)
        sketch = models.VectorParams(
            size=SKETCH_SIZE, distance=distance, hnsw_config=never_searched
        )
        dense = {"sketch": sketch}
        if dimension:
            # Vectors come normalised, so Dot is the cosine, and they are kept bit for bit.
            dense["dense"] = models.VectorParams(size=dimension, distance=distance)
        client.create_collection(
            collection,
            vectors_config=dense,
            sparse_vectors_config={"bm25": models.SparseVectorParams(modifier=models.Modifier.IDF)},
            shard_number=1,
            hnsw_config=models.HnswConfigDiff(m=0, payload_m=LINKS_OF_A_TENANT),
        )
    tenant = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True)
    keyword = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD)
    instant = models.IntegerIndexParams(
        type=models.IntegerIndexType.INTEGER, lookup=False, range=True
    )
    indexes: dict[str, Any] = {
        "tenant": tenant,
        **dict.fromkeys(KEYWORDS, keyword),
        **dict.fromkeys(RANGES, instant),
    }
    for field, schema in indexes.items():
        client.create_payload_index(collection, field, field_schema=schema, wait=True)


def requests(
    query: IndexQuery, channels: Sequence[Channel], limit: int
) -> list[models.QueryRequest]:
    """One request per channel, for ids and scores alone."""
    condition = models.Filter(must=[_condition(each) for each in conditions(query)])
    wanted: list[models.QueryRequest] = []
    for channel in channels:
        params = None
        if channel == "bm25":
            indices, values = query_weights(query.lexemes)
            vector: Any = models.SparseVector(indices=list(indices), values=list(values))
            tenant = models.Filter(must=[matches_any("tenant", (query.tenant,))])
            params = models.SearchParams(idf=models.IdfCorpusParams(corpus=tenant))
        else:
            vector = [float(value) for value in query.vector or ()]
        wanted.append(
            models.QueryRequest(
                query=models.NearestQuery(nearest=vector),
                using=channel,
                filter=condition,
                limit=limit,
                with_payload=False,
                params=params,
            )
        )
    return wanted


def query_beside(
    query: IndexQuery, place: Place, limit: int, within: int, *, back: bool
) -> models.QueryRequest:
    """What was said next to a place, before it or after it, nearest first: ids and instants."""
    order = models.OrderBy(
        key="observed_at",
        direction=models.Direction.DESC if back else models.Direction.ASC,
    )
    must = [*conditions(in_scope(query, place.scope)), beside(place, within, back=back)]
    return models.QueryRequest(
        query=models.OrderByQuery(order_by=order),
        filter=models.Filter(must=[_condition(each) for each in must]),
        limit=limit,
        with_payload=["observed_at"],
    )


def of_scope(scope: str, statuses: Sequence[Status] = ()) -> models.Filter:
    """The points of a scope, or those of a status."""
    asked = (("scope", (scope,)), ("status", statuses))
    return models.Filter(must=[matches_any(field, values) for field, values in asked if values])


def matches_any(field: str, values: Sequence[str]) -> models.FieldCondition:
    """The field has one of these values."""
    return models.FieldCondition(key=field, match=models.MatchAny(any=list(values)))


def _condition(wanted: Condition) -> models.FieldCondition:
    if wanted.values:
        return matches_any(wanted.field, wanted.values)
    within = models.Range(gte=wanted.at_least, lte=wanted.at_most)
    return models.FieldCondition(key=wanted.field, range=within)

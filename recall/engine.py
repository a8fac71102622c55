"""The engine: one question to the evidence that answers it, or to nothing.

Analyse the query, search the index under hard filters, fuse the channels, drop what is below the
floor, collapse what says the same, pack under the budget, render.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from memstream.processors.lexemes import lexemes
from memstream.projections.queries import Channel, Hit, IndexQuery
from memstream.recall.evidence import Evidence, Item
from memstream.recall.fusion import fused
from memstream.recall.packing import estimated_tokens, packed
from memstream.recall.rendering import line_of, rendered
from memstream.schemas.errors import UnsupportedFilter
from memstream.schemas.instants import OPEN_MICROS, to_micros
from memstream.schemas.memories import Kind, Memory, Status
from memstream.schemas.scope import Scope

SERVED_STATUSES: tuple[Status, ...] = ("active", "superseded")
"""What may be served. A superseded version still holds for the time in which it was valid; the
validity filter keeps it out of the present."""

_SUBJECT_WORDS = frozenset(("user", "用户"))


class Settings(msgspec.Struct, frozen=True):
    """How recall chooses.

    ``floor`` is the least share of the question's rarity-weighted words that an item found by
    words alone must hold; ``dense_floor`` the least cosine for one found by meaning alone. Both
    apply to their channel before fusion.
    """

    candidates: int = 50
    limit: int = 10
    rrf_k: float = 20.0
    floor: float = 0.0
    dense_floor: float = 0.82
    dense_weight: float = 1.0
    lexical_weight: float = 1.0


class Embedding(Protocol):
    """The part of an embedder that recall needs."""

    @property
    def dimension(self) -> int: ...

    def query(self, text: str) -> NDArray[np.float32]: ...


class Request(msgspec.Struct, frozen=True):
    """One question with its filters. ``scopes`` share one tenant; there is at least one."""

    query: str
    scopes: tuple[Scope, ...]
    as_of: datetime
    known_at: datetime | None = None
    kinds: tuple[Kind, ...] | None = None
    budget_tokens: int | None = None
    limit: int | None = None


Search = Callable[[IndexQuery], Mapping[Channel, Sequence[Hit]]]


def recalled(
    request: Request,
    search: Search,
    embedder: Embedding | None,
    settings: Settings,
    degraded: Sequence[str] = (),
) -> Evidence:
    """The evidence for a request. Pure but for ``search`` and ``embedder``."""
    query = _index_query(request, embedder, settings)
    hits = search(query) if query is not None else {}
    kept = {channel: _above_floor(channel, found, settings) for channel, found in hits.items()}
    weights = {"dense": settings.dense_weight, "bm25": settings.lexical_weight}
    items = _collapsed(fused(kept, k=settings.rrf_k, weights=weights))
    most = settings.limit if request.limit is None else request.limit
    chosen, omitted = items[:most], 0
    if request.budget_tokens is not None:
        overhead = estimated_tokens(rendered(items[:1])) - (
            estimated_tokens(line_of(items[0], 1)) if items else 0
        )
        chosen, omitted = packed(
            chosen, lambda item: line_of(item, item.rank), request.budget_tokens - overhead
        )
    chosen = [msgspec.structs.replace(item, rank=rank) for rank, item in enumerate(chosen, 1)]
    text = rendered(chosen)
    return Evidence(
        query=request.query,
        text=text,
        items=tuple(chosen),
        as_of=request.as_of,
        known_at=request.known_at,
        channels=tuple(sorted(hits)),
        degraded=tuple(degraded),
        tokens=estimated_tokens(text) if text else 0,
        omitted=omitted,
    )


def _index_query(
    request: Request, embedder: Embedding | None, settings: Settings
) -> IndexQuery | None:
    """The question for the index; None where nothing in it can be searched for."""
    if not request.scopes:
        raise UnsupportedFilter("recall: no scope given; every read needs at least one")
    tenants = {scope.tenant for scope in request.scopes}
    if len(tenants) > 1:
        raise UnsupportedFilter(
            f"recall: scopes of {len(tenants)} tenants in one question; ask for each tenant alone"
        )
    words = [word for word in lexemes(request.query) if word not in _SUBJECT_WORDS]
    vector = None
    if embedder is not None and embedder.dimension and request.query.strip():
        vector = embedder.query(request.query).tolist()
    channels: list[Channel] = ["bm25"] if words else []
    if vector is not None:
        channels.append("dense")
    if not channels:
        return None
    return IndexQuery(
        tenant=request.scopes[0].tenant,
        scopes=tuple(dict.fromkeys(scope.path for scope in request.scopes)),
        valid_at=to_micros(request.as_of),
        known_at=OPEN_MICROS - 1 if request.known_at is None else to_micros(request.known_at),
        statuses=SERVED_STATUSES,
        kinds=request.kinds,
        lexemes=words,
        vector=vector,
        limit=settings.candidates,
        channels=tuple(channels),
    )


def _above_floor(channel: str, hits: Sequence[Hit], settings: Settings) -> list[Hit]:
    floor = settings.dense_floor if channel == "dense" else settings.floor
    return [hit for hit in hits if hit.score >= floor]


def _collapsed(items: Iterable[Item]) -> list[Item]:
    """One item for each text: the best of those that say the same."""
    seen: set[tuple[str, str]] = set()
    kept: list[Item] = []
    for item in items:
        said = _said(item.memory)
        if said not in seen:
            seen.add(said)
            kept.append(item)
    return kept


def _said(memory: Memory) -> tuple[str, str]:
    return (memory.text, memory.subject)

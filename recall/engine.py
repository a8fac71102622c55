"""The engine: one question to the evidence that answers it, or to nothing.

Analyse the query, search the index under hard filters, fuse the channels, drop what is below the
floor, collapse what says the same, pack under the budget, render.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from memstream.processors.lexemes import lexemes
from memstream.projections.queries import Channel, Hit, IndexQuery
from memstream.recall.evidence import Evidence, Item
from memstream.recall.fusion import fused, lifted
from memstream.recall.packing import estimated_tokens, packed
from memstream.recall.rendering import line_of, rendered
from memstream.recall.trace import Stage, traced
from memstream.schemas.errors import UnsupportedFilter
from memstream.schemas.instants import OPEN_MICROS, to_micros
from memstream.schemas.memories import Kind, Memory, Status
from memstream.schemas.scope import Scope

SERVED_STATUSES: tuple[Status, ...] = ("active", "superseded")
"""What may be served. A superseded version still holds for the time in which it was valid; the
validity filter keeps it out of the present."""

_SUBJECT_WORDS = frozenset(("user", "用户"))


class Settings(msgspec.Struct, frozen=True):
    """How recall chooses. The defaults are those that do best in ``python -m bench evaluation``.

    ``candidates`` are asked of each channel. ``floor`` is the least lexical score, ``dense_floor``
    the least cosine of an item that was found by meaning alone. The weights are the channels'
    shares in the fused score; for ``subject_weight``, ``neighbour_weight`` and
    ``together_seconds`` see ``fusion.lifted``. ``after_seconds`` is the longest that
    ``recall(after=...)`` waits before it answers from what there is.
    """

    candidates: int = 50
    limit: int = 10
    floor: float = 0.0
    dense_floor: float = 0.82
    dense_weight: float = 0.4
    lexical_weight: float = 0.6
    subject_weight: float = 0.2
    neighbour_weight: float = 0.2
    together_seconds: float = 120.0
    after_seconds: float = 10.0
    channels: tuple[Channel, ...] | None = None
    """Those that may serve; None for all that there are."""


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
    explain: bool = False
    """Whether the evidence carries a trace of how it came about."""


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
    ranked = _chosen(request.query, hits, settings)
    items = _collapsed(ranked)
    most = settings.limit if request.limit is None else request.limit
    limited = chosen = items[:most]
    omitted = 0
    if request.budget_tokens is not None:
        overhead = estimated_tokens(rendered(items[:1])) - (
            estimated_tokens(line_of(items[0], 1)) if items else 0
        )
        chosen, omitted = packed(
            chosen, lambda item: line_of(item, item.rank), request.budget_tokens - overhead
        )
    chosen = [msgspec.structs.replace(item, rank=rank) for rank, item in enumerate(chosen, 1)]
    text = rendered(chosen)
    stages: dict[Stage, list[Item]] = {"ranked": ranked, "unique": items, "limited": limited}
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
        trace=traced(hits, stages, chosen, settings) if request.explain else None,
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
    if settings.channels is not None:
        channels = [each for each in channels if each in settings.channels]
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


def _chosen(query: str, hits: Mapping[Channel, Sequence[Hit]], settings: Settings) -> list[Item]:
    """The hits of all channels in one order, without those that no channel vouches for."""
    weights = {"dense": settings.dense_weight, "bm25": settings.lexical_weight}
    items = fused(hits, weights=weights, depth=settings.candidates)
    asked = frozenset(lexemes(query)) - _SUBJECT_WORDS

    def asked_about(memory: Memory) -> bool:
        name = frozenset(lexemes(memory.subject))
        return bool(name) and name <= asked

    return lifted(
        [item for item in items if _above_floor(item, settings)],
        asked_about=asked_about,
        subject_weight=settings.subject_weight,
        neighbour_weight=settings.neighbour_weight,
        together=timedelta(seconds=settings.together_seconds),
    )


def _above_floor(item: Item, settings: Settings) -> bool:
    """Whether a channel vouches for the item: by its words, or else by its meaning."""
    lexical, dense = item.found.get("bm25"), item.found.get("dense")
    return (lexical is not None and lexical.score >= settings.floor) or (
        dense is not None and dense.score >= settings.dense_floor
    )


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

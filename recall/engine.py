"""The engine: one question to the evidence that answers it, or to nothing.

Analyse the query, search the index under hard filters, drop what is below the floor, look up what
was said beside the best, score, collapse what says the same, put in order by a reranker where there
is one, pack under the budget, render.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from memstream.projections.queries import LATEST, Channel, Hit, IndexQuery, Place, Surroundings
from memstream.recall.abstention import answerable, near_enough
from memstream.recall.analysis import Analysis, analysed
from memstream.recall.background import Background, Levels
from memstream.recall.candidates import Candidates
from memstream.recall.coverage import idf_of
from memstream.recall.evidence import Evidence, Found, Item, Trace
from memstream.recall.kin import MOST_HITS, asked_of, may_name
from memstream.recall.packing import estimated_tokens, packed
from memstream.recall.rendering import line_of, rendered
from memstream.recall.reranking import Reranker, RerankerUnavailable, reranked
from memstream.recall.scoring import weighed
from memstream.recall.settings import Settings
from memstream.recall.slots import MOST_WORDS
from memstream.recall.thread import Thread, moment_of
from memstream.recall.trace import Stage, traced
from memstream.recall.unsaid import Unsaid
from memstream.schemas.attributes import Attributes
from memstream.schemas.errors import UnsupportedFilter
from memstream.schemas.instants import to_micros
from memstream.schemas.memories import Kind, Memory, Status
from memstream.schemas.scope import Scope

FACTS: tuple[Kind, ...] = ("profile", "fact")
"""What holds for a while; the other kinds tell of what happened."""
COURTESY = "a greeting, thanks or the like asks for nothing"
"""Why nothing is looked for where that is all that was said."""
SERVED_STATUSES: tuple[Status, ...] = ("active", "superseded")
"""What may be served. A superseded version still holds for the time in which it was valid; the
validity filter keeps it out of the present."""


class Embedding(Protocol):
    """What recall needs of an embedder."""

    @property
    def dimension(self) -> int: ...

    @property
    def background(self) -> Background: ...

    def query(self, text: str) -> NDArray[np.float32]: ...


class Request(msgspec.Struct, frozen=True):
    """One question with its filters. ``scopes`` share one tenant; there is at least one."""

    query: str
    scopes: tuple[Scope, ...]
    as_of: datetime
    known_at: datetime | None = None
    kinds: tuple[Kind, ...] | None = None
    entities: tuple[str, ...] | None = None
    since: datetime | None = None
    until: datetime | None = None
    budget_tokens: int | None = None
    limit: int | None = None
    explain: bool = False
    """Whether the evidence carries a trace of how it came about."""
    attributes: Attributes | None = None
    """The registry of slots that can be asked for; None for the built-in one."""


class Index(Protocol):
    """The part of a search index that recall asks; see ``SearchIndex``."""

    def search(self, query: IndexQuery) -> Mapping[Channel, Sequence[Hit]]: ...

    def around(
        self, query: IndexQuery, places: Sequence[Place], *, before: int, after: int, within: int
    ) -> list[Surroundings]: ...

    def read(self, query: IndexQuery, points: Sequence[str]) -> Mapping[str, Memory]: ...


class Ranked(msgspec.Struct, frozen=True, gc=False):
    """A candidate in its place."""

    point: str
    said: int
    score: float
    rank: int
    found: dict[str, Found]


def recalled(
    request: Request,
    index: Index,
    embedder: Embedding | None,
    settings: Settings,
    degraded: Sequence[str] = (),
    reranker: Reranker | None = None,
) -> Evidence:
    """The evidence for a request. Pure but for ``index``, ``embedder`` and ``reranker``."""
    asked = analysed(request.query, request.as_of, request.attributes)
    vector = levels = None
    if embedder is not None and embedder.dimension and request.query.strip():
        vector = embedder.query(request.query)
    if embedder is not None and vector is not None:
        levels = embedder.background.levels(vector)
    query = _index_query(request, asked, vector, settings)
    query, abstained = (None, COURTESY) if asked.courtesy else (query, "")
    hits: Mapping[Channel, Sequence[Hit]] = {}
    ranking: list[Ranked] = []
    most = settings.limit if request.limit is None else request.limit
    if query is not None:
        hits = index.search(query)
        meant = _of_kin(request, index, query, hits)
        if meant is not None:
            asked = analysed(meant, request.as_of, request.attributes)
            query = msgspec.structs.replace(query, lexemes=asked.searched)
            hits = index.search(query)
        past = _of_the_past(query, asked)
        if past is not None:
            hits = _joined(hits, index.search(past))
        ranking = _chosen(index, query, hits, asked, levels, settings)
        if not ranking and settings.related_weight and asked.may_be_reworded:
            asked = msgspec.structs.replace(asked, freely=True)
            query = msgspec.structs.replace(query, lexemes=asked.searched)
            hits = index.search(query)
            ranking = _chosen(index, query, hits, asked, levels, settings)
    needed = most if reranker is None else max(most, settings.reranked)
    unique = _collapsed(ranking, None if request.explain else needed)
    items = _read(index, query, unique)
    ordered_by = ""
    disordered: tuple[str, ...] = ()
    if reranker is not None and min(len(items), settings.reranked) > 1:
        try:
            items = reranked(reranker, request.query, items, settings.reranked)
            ordered_by = reranker.identity
        except RerankerUnavailable as error:
            disordered = (f"{error}; left in the order of fusion",)
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
    trace = None
    if request.explain:
        stages: dict[Stage, Sequence[Item]] = {
            "ranked": _read(index, query, ranking),
            "unique": items,
            "limited": limited,
        }
        trace = _trace(index, query, hits, stages, chosen, settings, ordered_by)
        trace = msgspec.structs.replace(trace, abstained=abstained or trace.abstained)
    return Evidence(
        query=request.query,
        text=text,
        items=tuple(chosen),
        as_of=request.as_of,
        known_at=request.known_at,
        channels=tuple(sorted(hits)),
        degraded=(*degraded, *disordered),
        tokens=estimated_tokens(text) if text else 0,
        omitted=omitted,
        trace=trace,
        abstained=abstained,
    )


def _index_query(
    request: Request, asked: Analysis, vector: NDArray[np.float32] | None, settings: Settings
) -> IndexQuery | None:
    """The question for the index; None where nothing in it can be searched for."""
    if not request.scopes:
        raise UnsupportedFilter("recall: no scope given; every read needs at least one")
    tenants = {scope.tenant for scope in request.scopes}
    if len(tenants) > 1:
        raise UnsupportedFilter(
            f"recall: scopes of {len(tenants)} tenants in one question; ask for each tenant alone"
        )
    channels: list[Channel] = ["bm25"] if asked.words else []
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
        known_at=LATEST if request.known_at is None else to_micros(request.known_at),
        statuses=SERVED_STATUSES,
        kinds=request.kinds,
        entities=request.entities,
        since=None if request.since is None else to_micros(request.since),
        until=None if request.until is None else to_micros(request.until),
        lexemes=asked.searched,
        vector=None if vector is None else vector.tolist(),
        limit=settings.list_candidates if asked.asks_many else settings.candidates,
        channels=tuple(channels),
    )


def _of_kin(
    request: Request, index: Index, query: IndexQuery, hits: Mapping[Channel, Sequence[Hit]]
) -> str | None:
    """The question with who somebody is beside the name it gives them, where that was told."""
    best = [hit.sketch for hit in hits.get("bm25", ())[:MOST_HITS]]
    naming = [each.point for each in best if may_name(each)]
    if not naming:
        return None
    memory_of = index.read(query, naming)
    told = [memory_of[each] for each in naming if each in memory_of]
    return asked_of(request.query, told)


def _of_the_past(query: IndexQuery, asked: Analysis) -> IndexQuery | None:
    """The same question for facts that held at the end of the time that it names, where that is
    over ("where did I live in 2020?"); None for most, and for long ones, which ask for more than a
    slot: it is a second search."""
    kinds: tuple[Kind, ...] = tuple(
        each for each in FACTS if query.kinds is None or each in query.kinds
    )
    short = len(asked.words) <= MOST_WORDS
    if not asked.times or not short or not kinds or query.valid_at is None:
        return None
    last = max(end for _, end in asked.times)
    if last > query.valid_at:
        return None
    return msgspec.structs.replace(query, valid_at=last - 1, kinds=kinds)


def _joined(
    hits: Mapping[Channel, Sequence[Hit]], more: Mapping[Channel, Sequence[Hit]]
) -> dict[Channel, list[Hit]]:
    """The hits of two searches, channel by channel, each point once."""
    joined: dict[Channel, list[Hit]] = {}
    for channel in hits:
        of_point = {hit.sketch.point: hit for hit in (*hits[channel], *more.get(channel, ()))}
        ordered = sorted(of_point.values(), key=lambda hit: (-hit.score, hit.sketch.point))
        joined[channel] = [Hit(hit.sketch, hit.score, at) for at, hit in enumerate(ordered, 1)]
    return joined


def _chosen(
    index: Index,
    query: IndexQuery,
    hits: Mapping[Channel, Sequence[Hit]],
    asked: Analysis,
    levels: Levels | None,
    settings: Settings,
) -> list[Ranked]:
    """The hits that a channel vouches for, and the episodes told beside the best episodes of
    them, in one order, without those that are worth little beside the best. Facts say what they say
    without their neighbours."""
    vouched = _above_floor(hits, levels, settings)
    unsaid = Unsaid(asked.numbers, partial(index.read, query))
    if asked.numbers and "bm25" in vouched:
        vouched["bm25"] = _held(vouched["bm25"], asked, unsaid, settings)
    candidates = Candidates(asked, settings)
    candidates.add(hit.sketch for channel in sorted(vouched) for hit in vouched[channel])
    lexical = vouched.get("bm25", [])
    rows = candidates.rows(hit.sketch for hit in lexical)
    idf = idf_of(candidates, rows, [hit.score for hit in lexical])
    unsaid.forgotten(candidates)
    if not near_enough(hits, levels, settings) and not answerable(
        vouched, candidates, rows, idf, settings
    ):
        return []
    ranked = weighed(vouched, candidates, Thread((), (), apart=0), idf, settings)
    if settings.expanded:
        told = (candidates.sketches[row] for _, row in ranked if candidates.told[row])
        places = list(dict.fromkeys(map(moment_of, islice(told, settings.expanded))))
        apart = round(settings.apart_seconds * 1e6)
        around = index.around(query, places, before=2, after=2, within=apart)
        thread = Thread(places, around, apart=apart)
        candidates.add(
            sketch
            for place, each in zip(places, around, strict=True)
            for sketch in (*each.before, *each.after)
            if sketch.told and thread.joined(place, moment_of(sketch))
        )
        unsaid.forgotten(candidates)
        ranked = weighed(vouched, candidates, thread, idf, settings)
    found = _found(vouched)
    told_of = candidates.sketches
    least, best = ranked[-1][0], ranked[0][0]
    if not asked.asks_many and not asked.lines_ago:
        least = min(best, settings.least_share * best)
    return [
        Ranked(
            told_of[row].point, told_of[row].said, score, rank, found.get(told_of[row].point, {})
        )
        for rank, (score, row) in enumerate(ranked, start=1)
        if score >= least
    ]


def _held(hits: Sequence[Hit], asked: Analysis, unsaid: Unsaid, settings: Settings) -> list[Hit]:
    """The lexical hits of memories that hold a word of the question which was said."""
    candidates = Candidates(asked, settings)
    candidates.add(hit.sketch for hit in hits)
    unsaid.forgotten(candidates)
    held = candidates.counts.sum(axis=1)[candidates.rows(hit.sketch for hit in hits)]
    return [hit for hit, words in zip(hits, held.tolist(), strict=True) if words]


def _read(index: Index, query: IndexQuery | None, ranked: Sequence[Ranked]) -> list[Item]:
    """The candidates with their memories. One that was erased since it was found is left out."""
    if query is None or not ranked:
        return []
    memory_of = index.read(query, [each.point for each in ranked])
    return [
        Item(memory_of[each.point], each.score, each.rank, each.found)
        for each in ranked
        if each.point in memory_of
    ]


def _found(hits: Mapping[Channel, Sequence[Hit]]) -> dict[str, dict[str, Found]]:
    """How each channel found each point."""
    found: dict[str, dict[str, Found]] = {}
    for channel in sorted(hits):
        for hit in hits[channel]:
            found.setdefault(hit.sketch.point, {})[channel] = Found(hit.rank, hit.score)
    return found


def _trace(
    index: Index,
    query: IndexQuery | None,
    hits: Mapping[Channel, Sequence[Hit]],
    stages: Mapping[Stage, Sequence[Item]],
    served: Sequence[Item],
    settings: Settings,
    reranker: str,
) -> Trace:
    found = _found(hits)
    memory_of = index.read(query, list(found)) if query is not None else {}
    hit = [(memory_of[point], each) for point, each in found.items() if point in memory_of]
    return traced(tuple(hits), hit, stages, served, settings, reranker)


def _above_floor(
    hits: Mapping[Channel, Sequence[Hit]], levels: Levels | None, settings: Settings
) -> dict[Channel, list[Hit]]:
    """The hits of memories that a channel vouches for: by their words, or else by their
    meaning."""
    vouched = {hit.sketch.point for hit in hits.get("bm25", ()) if hit.score >= settings.floor}
    if levels is not None:
        near = levels.near(hits.get("dense", ()), settings.margin)
        vouched.update(hit.sketch.point for hit in near)
    return {
        channel: [hit for hit in hits[channel] if hit.sketch.point in vouched] for channel in hits
    }


def _collapsed(ranked: Iterable[Ranked], most: int | None) -> list[Ranked]:
    """One candidate for each text, the best of those that say the same; not more than ``most``."""
    seen: set[int] = set()
    kept: list[Ranked] = []
    for each in ranked:
        if len(kept) == most:
            break
        if each.said not in seen:
            seen.add(each.said)
            kept.append(each)
    return kept

"""How long one recall takes, against the bare hybrid query it stands on.

Both sides ask the same index file's points the same questions under the same filter, and embed the
question with the same embedder (the hash embedder: instant, so that the rest shows). Ours goes
through ``Memory.recall`` and comes back as rendered evidence; the floor is one qdrant-edge query
with a BM25 and a dense prefetch, fused by reciprocal rank, payloads included, not even decoded.

The floor takes its IDF over the tenant, as recall promises and as whoever asks the engine directly
has to ask for it. With IDF over the whole store, another answer where there are several tenants, it
is a row of its own.
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import msgspec
import qdrant_edge as edge

from bench.growth import turns
from bench.measures import Row, row
from memstream.processors.lexemes import lexemes
from memstream.projections.edge_requests import requests
from memstream.projections.edge_shard import current, loaded
from memstream.projections.embedders import HashEmbedder
from memstream.projections.queries import CHANNELS, LATEST, IndexQuery
from memstream.recall.engine import SERVED_STATUSES
from memstream.recall.settings import Settings
from memstream.schemas.events import Event, TurnRecorded
from memstream.schemas.instants import to_micros
from memstream.schemas.scope import Scope
from memstream.service.memory import Memory

MEMORIES = 20_000
SCOPES = 20
QUESTIONS = 200
OF_ONE_SCOPE = 2_000
AS_OF = datetime(2026, 1, 1, tzinfo=UTC)


def rows() -> Iterator[Row]:
    """The median and the 95th of a hundred, ours over the bare query's."""
    embedder = HashEmbedder()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "memory"
        with Memory.open(folder, embedder=embedder, worker=False) as memory:
            _fill(memory, turns(2 * MEMORIES, SCOPES), MEMORIES)
        ours, bare, plain = _asked(folder, embedder, _questions(SCOPES))
    yield from _rows(MEMORIES, ours, bare, plain, at_most=2.0)


def large_rows() -> Iterator[Row]:
    """The same at ten times the memories, and how much slower one scope of 2,000 gets by them."""
    embedder = HashEmbedder()
    mine = Scope(tenant="bench", user="one")
    of_mine = [(mine, question) for _, question in _questions(1)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "memory"
        with Memory.open(folder, embedder=embedder, worker=False) as memory:
            alone = turns(2 * OF_ONE_SCOPE, 1, seed=5)
            _fill(memory, (_moved(each, mine) for each in alone), OF_ONE_SCOPE)
            _fill(memory, turns(2 * MEMORIES, SCOPES), MEMORIES)
        few, bare_few, _ = _asked(folder, embedder, of_mine)
        with Memory.open(folder, embedder=embedder, worker=False) as memory:
            _fill(memory, turns(20 * MEMORIES, 10 * SCOPES, seed=9), 10 * MEMORIES)
        many, bare_many, _ = _asked(folder, embedder, of_mine)
        ours, bare, plain = _asked(folder, embedder, _questions(10 * SCOPES))
    yield from _rows(10 * MEMORIES, ours, bare, plain, at_most=1.5)
    yield row(
        f"recall p95 of a scope of {OF_ONE_SCOPE:,}, {10 * MEMORIES:,} memories over {MEMORIES:,}",
        _p95(many) * 1e3,
        "ms",
        floor=_p95(few) * 1e3,
        at_most=1.3,
    )
    yield row("  the bare query's, same", _p95(bare_many) * 1e3, "ms", floor=_p95(bare_few) * 1e3)


def _rows(
    count: int, ours: list[float], bare: list[float], plain: list[float], *, at_most: float
) -> Iterator[Row]:
    median, floor = statistics.median(ours), statistics.median(bare)
    yield row(
        f"recall p50 at {count:,} memories",
        median * 1e3, "ms", floor=floor * 1e3, at_most=at_most,
    )  # fmt: skip
    yield row(
        "  over the bare query with IDF over the store",
        median * 1e3, "ms", floor=statistics.median(plain) * 1e3,
    )  # fmt: skip
    yield row(f"recall p95 at {count:,} memories", _p95(ours) * 1e3, "ms", floor=_p95(bare) * 1e3)


def _asked(
    folder: Path, embedder: HashEmbedder, questions: Sequence[tuple[Scope, str]]
) -> tuple[list[float], list[float], list[float]]:
    """Seconds of every recall, and of the bare query for it, by turns: in a process that has
    asked nothing else of the directory yet. Then those of the bare queries with IDF over the
    store."""
    generation = next((folder / "generations").glob("g-*"))
    with tempfile.TemporaryDirectory() as name:
        vectors = Path(name) / "vectors"
        shutil.copytree(generation / "vectors", vectors)
        live = current(vectors)
        assert live is not None
        shard = loaded(vectors / live)
        ours: list[float] = []
        bare: list[float] = []
        with Memory.open(folder, embedder=embedder, worker=False) as memory:
            memory.flush()
            for scope, question in questions:
                started = time.perf_counter()
                found = memory.recall(scope, question, as_of=AS_OF, record=False)
                ours.append(time.perf_counter() - started)
                assert found.items, question
                bare.append(_asked_bare(shard, embedder, scope, question, alone=False))
        plain = [_asked_bare(shard, embedder, *each, alone=True) for each in questions]
        shard.close()
    return ours, bare, plain


def _asked_bare(
    shard: edge.EdgeShard, embedder: HashEmbedder, scope: Scope, question: str, *, alone: bool
) -> float:
    words = [*lexemes(question)]
    started = time.perf_counter()
    vector = embedder.query(question).tolist()
    points = shard.query(_bare(scope, words, vector, alone=alone))
    took = time.perf_counter() - started
    assert points, question
    return took


def _p95(seconds: list[float]) -> float:
    return sorted(seconds)[int(len(seconds) * 0.95)]


def _fill(memory: Memory, made: Iterator[Event], until: int) -> None:
    """Adds events until there are that many memories, a few hundred more at most."""
    while True:
        memory.append(list(islice(made, 1_000)))
        memory.flush()
        (count,) = memory.sql("SELECT count(DISTINCT id) FROM memory_versions")[1][0]
        if count >= until:
            return


def _moved(event: Event, scope: Scope) -> Event:
    return msgspec.structs.replace(event, subject=scope.path)


def _questions(scopes: int) -> list[tuple[Scope, str]]:
    """What other turns of the same making tell, asked as questions."""
    told = [
        (Scope.parse(event.subject), event.data.text)
        for event in turns(QUESTIONS * 4, scopes, seed=11)
        if isinstance(event.data, TurnRecorded) and " with " in event.data.text
    ]
    return [(scope, f"When was it that {text}?") for scope, text in told[:QUESTIONS]]


def _bare(scope: Scope, words: list[str], vector: list[float], *, alone: bool) -> edge.QueryRequest:
    """The hybrid query as the engine offers it, under the filter that ours sends."""
    settings = Settings()
    asked = IndexQuery(
        tenant=scope.tenant,
        scopes=(scope.path,),
        valid_at=to_micros(AS_OF),
        known_at=LATEST,
        statuses=SERVED_STATUSES,
        lexemes=words,
        vector=vector,
        limit=settings.candidates,
    )
    return edge.QueryRequest(
        limit=settings.limit,
        query=edge.Fusion.Rrf(60),  # type: ignore[arg-type]  # its stub forgot the base class
        prefetches=[
            edge.Prefetch(each.limit, each.query, None, each.params, each.filter)
            for each in requests(asked, CHANNELS, settings.candidates, alone=alone)
        ],
        with_payload=["record", "expired_at"],
    )

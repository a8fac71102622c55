"""How long one recall takes at 20,000 memories, against the bare hybrid query it stands on.

Both sides ask the same index file's points the same questions under the same filter, and embed the
question with the same embedder (the hash embedder: instant, so that the rest shows). Ours goes
through ``Memory.recall`` and comes back as rendered evidence; the floor is one qdrant-edge query
with a BM25 and a dense prefetch, fused by reciprocal rank, payloads included, not even decoded.
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

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
from memstream.schemas.events import TurnRecorded
from memstream.schemas.instants import to_micros
from memstream.schemas.scope import Scope
from memstream.service.memory import Memory

MEMORIES = 20_000
SCOPES = 20
QUESTIONS = 200
AS_OF = datetime(2026, 1, 1, tzinfo=UTC)


def rows() -> Iterator[Row]:
    """The median recall over the median bare query."""
    embedder = HashEmbedder()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _fill(folder / "memory", embedder)
        generation = next((folder / "memory" / "generations").glob("g-*"))
        shutil.copytree(generation / "vectors", folder / "vectors")
        live = current(folder / "vectors")
        assert live is not None
        shard = loaded(folder / "vectors" / live)
        with Memory.open(folder / "memory", worker=False) as memory:
            memory.flush()
            ours, bare = [], []
            for scope, question in _questions():
                started = time.perf_counter()
                found = memory.recall(scope, question, as_of=AS_OF, record=False)
                ours.append(time.perf_counter() - started)
                assert found.items, question
                words = [*lexemes(question)]
                started = time.perf_counter()
                vector = embedder.query(question).tolist()
                points = shard.query(_bare(scope, words, vector))
                bare.append(time.perf_counter() - started)
                assert points, question
        shard.close()
    yield row(
        f"recall p50 at {MEMORIES:,} memories",
        statistics.median(ours) * 1e3,
        "ms",
        floor=statistics.median(bare) * 1e3,
        at_most=2.0,
    )
    yield row("recall p95, same", _p95(ours) * 1e3, "ms", floor=_p95(bare) * 1e3)


def _p95(seconds: list[float]) -> float:
    return sorted(seconds)[int(len(seconds) * 0.95)]


def _fill(folder: Path, embedder: HashEmbedder) -> None:
    """Fills a directory until it holds that many memories, a few hundred more at most."""
    made = turns(2 * MEMORIES, SCOPES)
    with Memory.open(folder, embedder=embedder, worker=False) as memory:
        while True:
            memory.append([next(made) for _ in range(1_000)])
            memory.flush()
            (count,) = memory.sql("SELECT count(DISTINCT id) FROM memory_versions")[1][0]
            if count >= MEMORIES:
                return


def _questions() -> list[tuple[Scope, str]]:
    """What other turns of the same making tell, asked as questions."""
    told = [
        (Scope.parse(event.subject), event.data.text)
        for event in turns(QUESTIONS * 4, SCOPES, seed=11)
        if isinstance(event.data, TurnRecorded) and " with " in event.data.text
    ]
    return [(scope, f"When was it that {text}?") for scope, text in told[:QUESTIONS]]


def _bare(scope: Scope, words: list[str], vector: list[float]) -> edge.QueryRequest:
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
            for each in requests(asked, CHANNELS, settings.candidates)
        ],
        with_payload=["record", "expired_at"],
    )

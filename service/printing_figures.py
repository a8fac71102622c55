"""How an evaluation's report is printed: what was measured with what, and one table of figures that
a terminal of 100 columns holds. Everything else is in ``--json``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from memstream.service.evaluating_figures import Comparison, EvalReport, Scores
from memstream.service.printing import plain_table, shown

_FIGURES = {
    "recall_at_5": "@5",
    "recall_at_10": "@10",
    "mean_reciprocal_rank": "mrr",
    "recall_in_300_tokens": "300t",
    "recall_in_600_tokens": "600t",
    "recall_in_1200_tokens": "1200t",
}
"""By figure: the head of its column."""
_LEGEND = (
    "n questions; @5, @10: the share of the evidence among so many results; mrr: 1 / the rank of "
    "the first; 300t …: the share in so many tokens"
)
_QUESTIONS_NAMED = 10


def report_of(report: EvalReport | Comparison) -> RenderableType:
    """A report as it is shown to a reader."""
    return _comparison(report) if isinstance(report, Comparison) else _evaluation(report)


def _evaluation(report: EvalReport) -> RenderableType:
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in report.memories_by_kind.items())
    head = {
        "data": f"{report.format}: {report.conversations:,} conversations, {report.turns:,} turns",
        "embedder": report.embedder,
        "memories": kinds,
        "stored, rejected": f"{report.stored_share:.1%}, {report.rejected_share:.1%} of the events",
        "latency": f"{report.latency_ms_p50:.1f} ms (95 %: {report.latency_ms_p95:.1f}), without "
        f"embedding {report.search_ms_p50:.1f} ({report.search_ms_p95:.1f})",
    }
    silence = report.abstention
    if silence is not None:
        head["off topic"] = (
            f"{silence.off_topic:,} questions, {silence.injected_share:.1%} of them got something; "
            f"{silence.answered_share:.1%} of the others"
        )
    if report.skipped_questions:
        head["skipped"] = f"{report.skipped_questions:,} questions"
    table = _figures_table()
    _rows(table, "", {"overall": report.overall})
    _rows(table, "by category", report.by_category)
    _rows(table, "baselines", report.baselines)
    if report.ratio_to_best_baseline:
        ratio = report.ratio_to_best_baseline
        cells = (f"{ratio[name]:.2f}" if name in ratio else "" for name in _FIGURES)
        table.add_row("ratio to the best", "", *cells)
    _rows(table, "ablation", report.ablation)
    return Group(_pairs(head), table, *_dim((_LEGEND, *report.notes)))


def _comparison(found: Comparison) -> RenderableType:
    head = {
        "served": found.generation,
        "against": f"{found.against}, {found.embedder}",
        "recall at ten": f"better for {found.better:,} questions, worse for {found.worse:,}",
    }
    table = _figures_table()
    _rows(table, "", {found.against: found.scores})
    differences = (f"{found.difference.get(name, 0.0):+.3f}" for name in _FIGURES)
    table.add_row(f"more than {found.generation}", "", *differences)
    worse = [f"worse: {each}" for each in found.changed[:_QUESTIONS_NAMED]]
    if len(found.changed) > _QUESTIONS_NAMED:
        worse.append(f"worse: {len(found.changed) - _QUESTIONS_NAMED:,} more (--json names all)")
    return Group(_pairs(head), table, *_dim((_LEGEND, *worse)))


def _pairs(pairs: Mapping[str, str]) -> Table:
    table = plain_table("", "")
    table.show_header = False
    for name, value in pairs.items():
        table.add_row(name, shown(value))
    return table


def _figures_table() -> Table:
    table = plain_table()
    table.add_column("", overflow="fold")
    table.add_column("n", justify="right", no_wrap=True)
    for head in _FIGURES.values():
        table.add_column(head, justify="right", no_wrap=True)
    return table


def _rows(table: Table, title: str, scores: Mapping[str, Scores]) -> None:
    if not scores:
        return
    if title:
        table.add_section()
        table.add_row(Text(title, style="bold"))
    for name, each in scores.items():
        figures = (f"{getattr(each, figure):.3f}" for figure in _FIGURES)
        table.add_row(shown(name), f"{each.questions:,}", *figures)


def _dim(lines: Iterable[str]) -> Iterator[Text]:
    return (Text(shown(line), style="dim") for line in lines)

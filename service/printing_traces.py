"""How the trace of a recall is printed: one line for each memory that was considered, and below,
once, why those that were not served were not. Everything else is in ``--json``."""

from __future__ import annotations

from collections import Counter

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from memstream.recall.evidence import Considered, Trace
from memstream.service.printing import SHORT_ID, cut, plain_table, shown

MOST_SHOWN = 20
"""Memories that were not served, shown of a trace."""

_WEIGHTS = {"lexical_weight": "words", "dense_weight": "meaning"}


def trace_of(trace: Trace) -> RenderableType:
    """Everything that was considered, the served first: its place and score after fusion, its rank
    and score in every channel that was asked, and what became of it."""
    channels = sorted({name for each in trace.considered for name in each.found})
    table = plain_table()
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("score", justify="right", no_wrap=True)
    for name in channels:
        table.add_column(name, no_wrap=True)
    table.add_column("outcome", no_wrap=True)
    table.add_column("id", no_wrap=True)
    table.add_column("memory")
    left = [each for each in trace.considered if each.outcome != "served"]
    served = [each for each in trace.considered if each.outcome == "served"]
    for each in [*served, *left[:MOST_SHOWN]]:
        _add(table, each, channels)
    return Group(table, *_notes(trace, left))


def _add(table: Table, each: Considered, channels: list[str]) -> None:
    found = {name: f"#{at.rank} {at.score:.3f}" for name, at in each.found.items()}
    table.add_row(
        "" if each.rank is None else str(each.rank),
        "" if each.score is None else f"{each.score:.3f}",
        *(found.get(name, "") for name in channels),
        Text(each.outcome, "green" if each.outcome == "served" else "dim"),
        each.memory[:SHORT_ID],
        Text(cut(each.text), no_wrap=True, overflow="ellipsis"),
    )


def _notes(trace: Trace, left: list[Considered]) -> list[Text]:
    notes: list[str] = []
    if len(left) > MOST_SHOWN:
        notes.append(f"{len(left) - MOST_SHOWN:,} more were considered (--json gives all)")
    if any(not each.found for each in trace.considered):
        notes.append("in no channel: found beside another one")
    for (outcome, detail), count in Counter(_why(each) for each in left).items():
        notes.append(f"{outcome} ({count:,}): {detail}" if detail else f"{outcome}: {count:,}")
    weights = (f"{name} {trace.fusion[key]:g}" for key, name in _WEIGHTS.items())
    notes.append(f"fused with {', '.join(weights)} (--json gives every weight and floor)")
    return [Text(shown(each), style="dim") for each in notes]


def _why(each: Considered) -> tuple[str, str]:
    """What became of it and why, without the id of the one that it repeats."""
    repeats = each.outcome == "collapsed" and each.detail
    return each.outcome, "says the same as one above" if repeats else each.detail

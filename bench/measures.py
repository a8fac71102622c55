"""What every benchmark shares: rows, bars, floors measured in turns, and how a run is written.

Each figure is a ratio against a floor: the bare calls that nobody could avoid, measured in the
same run on the same machine. Both sides take turns, so that a slow moment hits both, and medians
of several rounds count.
"""

from __future__ import annotations

import gc
import json
import os
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

SHARED = Path(__file__).resolve().parents[2] / "shared"
"""Sample data beside the checkout; rows that need it are skipped where it is absent."""

RESULTS = Path(__file__).with_name("results.json")


class Row(msgspec.Struct, frozen=True):
    """One figure. ``holds`` says whether ``ratio`` (or ``value``, where there is no floor) meets
    ``bar``; None for a figure that is only reported."""

    name: str
    value: float
    unit: str
    floor: float | None = None
    ratio: float | None = None
    bar: str = ""
    holds: bool | None = None


class Skipped(Exception):
    """A row cannot be measured here; the message says why."""


def row(
    name: str,
    value: float,
    unit: str,
    *,
    floor: float | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
) -> Row:
    """A row with its ratio to the floor and its verdict. The bar is on the ratio where there is a
    floor, on the value where there is none."""
    ratio = None if floor is None else value / floor
    judged = value if ratio is None else ratio
    bars: list[str] = []
    holds: bool | None = None
    if at_least is not None:
        bars.append(f">= {at_least:g}")
        holds = judged >= at_least
    if at_most is not None:
        bars.append(f"<= {at_most:g}")
        holds = judged <= at_most and holds is not False
    return Row(
        name,
        _short(value),
        unit,
        None if floor is None else _short(floor),
        None if ratio is None else _short(ratio),
        " and ".join(bars),
        holds,
    )


def in_turns(
    ours: Callable[[], float], floor: Callable[[], float], rounds: int
) -> tuple[float, float]:
    """The medians of what both calls give (seconds, as a rule), each called ``rounds`` times."""
    mine, bare = all_in_turns([ours, floor], rounds)
    return mine, bare


def all_in_turns(calls: Sequence[Callable[[], float]], rounds: int) -> list[float]:
    """The same for any number of calls."""
    found: list[list[float]] = [[] for _ in calls]
    for number in range(rounds):
        for call, times in list(zip(calls, found, strict=True))[:: 1 if number % 2 else -1]:
            gc.collect()
            times.append(call())
    return [statistics.median(each) for each in found]


class Stopwatch:
    """Adds up the seconds of what is done inside ``running``."""

    def __init__(self) -> None:
        self.seconds = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Counts the time of the block."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.seconds += time.perf_counter() - started


def shared(*parts: str) -> Path:
    """A file of the sample data. Raises ``Skipped`` where it is absent."""
    path = SHARED.joinpath(*parts)
    if not path.exists():
        raise Skipped(f"{'/'.join(('../shared', *parts))} is not here")
    return path


def load() -> float:
    """How many programs wanted a processor over the last minute."""
    return round(os.getloadavg()[0], 2)


def written(rows: Iterable[Row]) -> None:
    """Puts the rows into ``results.json``, in the place of older ones of the same name."""
    rows = list(rows)
    before: list[Row] = []
    if RESULTS.exists():
        before = msgspec.json.decode(RESULTS.read_bytes(), type=list[Row])
    fresh = {each.name: each for each in rows}
    kept = [fresh.pop(each.name, each) for each in before]
    listed = [msgspec.to_builtins(each) for each in (*kept, *fresh.values())]
    RESULTS.write_text(json.dumps(listed, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _short(number: float) -> float:
    """Four significant digits: what a run tells apart."""
    return float(f"{number:.4g}")

"""Runs the benchmarks and prints one table: ``python -m bench``, or ``python -m bench NAME ...``.

    make bench                  everything, about ten minutes
    make bench BENCH=ingest     one of them
    make bench BENCH=recall-large    recall at 200,000 memories, about ten minutes
    make bench BENCH=crossvalidation    recall with settings chosen on other conversations
    make bench-kafka            the distributed run; needs Java 17 and Maven, about ten minutes

Writes ``bench/results.json``. Exit code 1 where a bar does not hold.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator

from bench import append, crossvalidation, evaluation, growth, ingest, kafka, recall, temporal
from bench.measures import Row, Skipped, load, written
from memstream.schemas.errors import MemstreamError

BENCHMARKS: dict[str, Callable[[], Iterator[Row]]] = {
    "append": append.rows,
    "ingest": ingest.rows,
    "recall": recall.rows,
    "recall-large": recall.large_rows,
    "temporal": temporal.rows,
    "evaluation": evaluation.rows,
    "crossvalidation": crossvalidation.rows,
    "growth": growth.rows,
    "kafka": kafka.rows,
}
ASKED_FOR = {"kafka", "recall-large", "crossvalidation"}
"""Run only where they are named."""


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}")
    names: list[str] = parser.parse_args().names or [
        name for name in BENCHMARKS if name not in ASKED_FOR
    ]
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    before = load()
    rows: list[Row] = []
    broken: list[str] = []
    print(f"{'':<3}{'figure':<50}{'value':>12} {'unit':<13}{'floor':>11}{'ratio':>9}  bar")
    for name in names:
        started = time.perf_counter()
        try:
            for each in BENCHMARKS[name]():
                rows.append(each)
                print(_line(each), flush=True)
        except Skipped as reason:
            print(f"   {name}: skipped, {reason}")
        except MemstreamError as error:
            broken.append(name)
            print(f"NO {name}: {type(error).__name__}: {error}")
        written(rows)
        print(f"   [{name}: {time.perf_counter() - started:.0f} s]", flush=True)
    print(f"load average (1 min): {before} before, {load()} after; see the floors, not the values")
    failed = [each.name for each in rows if each.holds is False]
    print(f"bars that do not hold: {', '.join(failed) or 'none'}")
    if broken:
        print(f"benchmarks that broke off: {', '.join(broken)}")
    return 1 if failed or broken else 0


def _line(each: Row) -> str:
    mark = {True: "ok", False: "NO", None: ""}[each.holds]
    floor = "" if each.floor is None else f"{each.floor:,.6g}"
    ratio = "" if each.ratio is None else f"{each.ratio:.3f}"
    return (
        f"{mark:<3}{each.name:<50}{each.value:>12,.6g} {each.unit:<13}{floor:>11}{ratio:>9}"
        f"  {each.bar}"
    )


if __name__ == "__main__":
    sys.exit(main())

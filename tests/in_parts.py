"""Runs all tests in three processes side by side: those with servers, which mostly wait, those of
whole lives and deaths of a memory, which wait for disks and processes, and the others, which
compute. ``make test`` calls it; arguments go to all of them.

The last part's output is shown as it comes, that of the others when all are done.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).parent
PARTS = (
    ("broker", "kafka", "postgres", "qdrant", "outbox", "worker_failures", "metrics", "traffic",
     "faust", "vectors", "runtimes"),
    ("simulation", "laws", "processes", "turns", "erasing", "evaluating", "snapshot", "cases",
     "changelog"),
)  # fmt: skip
"""Parts of the names of a part's files; the first that fits counts."""


def main() -> int:
    """The worst of the exit codes. No test at all in a part is no failure."""
    others = sorted(TESTS.glob("test_*.py"))
    parts: list[list[Path]] = []
    for names in PARTS:
        parts.append([each for each in others if any(name in each.name for name in names)])
        others = [each for each in others if each not in parts[-1]]
    with tempfile.TemporaryDirectory() as kept:
        outputs = [Path(kept) / f"part-{number}" for number in range(len(parts))]
        beside = [
            subprocess.Popen(_pytest(files), stdout=output.open("wb"), stderr=subprocess.STDOUT)
            for files, output in zip(parts, outputs, strict=True)
        ]
        codes = [subprocess.run(_pytest(others), check=False).returncode]
        for process, output in zip(beside, outputs, strict=True):
            codes.append(process.wait())
            sys.stdout.flush()
            sys.stdout.buffer.write(output.read_bytes())
    return max(0 if code == 5 else code for code in codes)


def _pytest(files: list[Path]) -> list[str]:
    return [sys.executable, "-m", "pytest", *map(str, files), *sys.argv[1:]]


if __name__ == "__main__":
    sys.exit(main())

"""Runs all tests in two processes side by side: those with servers, which mostly wait, and the
others, which mostly compute. ``make test`` calls it; arguments go to both.

The first half's output is shown as it comes, the second's when both are done.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).parent
WITH_SERVERS = (
    "broker", "kafka", "postgres", "qdrant", "outbox", "worker_failures", "metrics", "traffic",
    "faust", "vectors", "erasing", "evaluating", "runtimes",
)  # fmt: skip


def main() -> int:
    """The worse of the two exit codes. No test at all in one half is no failure."""
    files = sorted(TESTS.glob("test_*.py"))
    serving = [each for each in files if any(part in each.name for part in WITH_SERVERS)]
    others = [each for each in files if each not in serving]
    with tempfile.TemporaryFile() as kept:
        second = subprocess.Popen(_pytest(serving), stdout=kept, stderr=subprocess.STDOUT)
        first = subprocess.run(_pytest(others), check=False).returncode
        codes = [first, second.wait()]
        kept.seek(0)
        sys.stdout.flush()
        sys.stdout.buffer.write(kept.read())
    return max(0 if code == 5 else code for code in codes)


def _pytest(files: list[Path]) -> list[str]:
    return [sys.executable, "-m", "pytest", *map(str, files), *sys.argv[1:]]


if __name__ == "__main__":
    sys.exit(main())

"""How the work of a call grows with its input, told by CPU time and not by the clock on the wall.

A busy machine makes both sizes dearer, so only their ratio is looked at, and of several tries the
best: four times the input costs a linear call 4 times the work and a quadratic one 16 times.
"""

from __future__ import annotations

import time
from collections.abc import Callable

TIMES = 4
"""How much larger the second input is."""
ALLOWED = 8.0
"""More than this ratio is not linear: half-way, by factors, between linear and quadratic."""
_TRIES = 6


def assert_linear(work: Callable[[int], object], size: int) -> None:
    """Fails where ``work(4 * size)`` costs more than 8 times ``work(size)`` in each of six tries.

    ``size`` must be large enough that ``work(size)`` takes milliseconds; what ``work`` needs only
    once (imports, caches) is done before by a first call that is not counted.
    """
    work(size)
    best = float("inf")
    for _ in range(_TRIES):
        best = min(best, _seconds(work, TIMES * size) / max(_seconds(work, size), 1e-6))
        if best <= ALLOWED:
            return
    raise AssertionError(f"{TIMES} times the input cost {best:.1f} times the work")


def _seconds(work: Callable[[int], object], size: int) -> float:
    """CPU seconds that this thread spent in the call."""
    started = time.thread_time()
    work(size)
    return time.thread_time() - started

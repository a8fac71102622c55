"""How a command that runs for long is told to stop."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def stop_signals() -> Iterator[threading.Event]:
    """Set by the first SIGINT or SIGTERM; a second one acts as it always does."""
    stopped = threading.Event()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def stop(number: int, frame: FrameType | None) -> None:
        restore()
        stopped.set()

    for number in before:
        signal.signal(number, stop)
    try:
        yield stopped
    finally:
        restore()

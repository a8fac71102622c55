"""How a command that runs for long is told to stop, and what a process closes when it ends."""

from __future__ import annotations

import atexit
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Protocol
from weakref import WeakKeyDictionary


class Closable(Protocol):
    """What has threads or files that end with the process."""

    def close(self) -> None: ...


_OPENED_BY: WeakKeyDictionary[Closable, int] = WeakKeyDictionary()
"""What is open, with the process that opened it."""


def closed_at_exit(opened: Closable) -> None:
    """It is closed when the interpreter ends, if nobody did before: a thread that is still inside
    an engine then would end the process by a signal. A forked child closes nothing of its
    parent's."""
    _OPENED_BY[opened] = os.getpid()


@atexit.register
def _close() -> None:
    for opened, process in list(_OPENED_BY.items()):
        if process == os.getpid():
            opened.close()


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

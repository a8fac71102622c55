"""The background worker: drains while its process holds the lease, and waits while another does."""

from __future__ import annotations

import threading
from collections.abc import Callable

import structlog

from memstream.schemas.errors import MemstreamError

POLL_SECONDS = 0.25
"""How often the worker looks for what other processes recorded, and for a free lease."""
SLOWEST_POLL_SECONDS = 5.0
"""The longest pause after failures; the pause doubles with each."""

_LOGGER = structlog.get_logger(__name__)


class Worker:
    """One thread that calls ``work`` when woken, and every ``poll_s``.

    ``work`` does what there is to do and returns; an error it raises is kept in ``last_error``
    (for ``doctor`` and for whoever waits) and tried again later. One that is not stated is a bug:
    it is logged with its trace, and the thread lives on, since recording must not depend on it.
    """

    def __init__(self, work: Callable[[], None], *, poll_s: float = POLL_SECONDS) -> None:
        self._work = work
        self._poll_s = poll_s
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="memstream-worker", daemon=True)
        self.last_error: Exception | None = None
        self.round_done = threading.Condition()
        self.rounds = 0

    @property
    def stopping(self) -> bool:
        """Whether ``stop`` was called; long work looks at it between batches."""
        return self._stopping.is_set()

    @property
    def trouble(self) -> str:
        """The last error in words; empty where the last round went well."""
        error = self.last_error
        if error is None:
            return ""
        stated = isinstance(error, MemstreamError)
        return str(error) if stated else f"{type(error).__name__}: {error}"

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def wake(self) -> None:
        """There is something to do."""
        self._wake.set()

    def stop(self) -> None:
        """Ends the thread after the batch it is in. Idempotent."""
        self._stopping.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        pause = self._poll_s
        while not self._stopping.is_set():
            self._wake.wait(pause)
            self._wake.clear()
            if self._stopping.is_set():
                return
            try:
                self._work()
            except Exception as error:
                # A stated refusal needs no traceback; anything else is a bug and shows its own.
                told = isinstance(error, MemstreamError)
                _LOGGER.error("worker_failed", error=str(error), exc_info=not told)
                self.last_error = error
                pause = min(pause * 2, SLOWEST_POLL_SECONDS)
            else:
                self.last_error = None
                pause = self._poll_s
            finally:
                with self.round_done:
                    self.rounds += 1
                    self.round_done.notify_all()

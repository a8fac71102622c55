"""What is recorded without making the caller wait: the contexts that recall served."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import structlog

from memstream.schemas.events import Event
from memstream.streams.log import Position

_LOGGER = structlog.get_logger(__name__)


class Later:
    """Appends in the background, one group after the other. A failure is logged and counted in
    ``lost``: nobody is there to be told."""

    def __init__(self, append: Callable[[Sequence[Sequence[Event]]], list[Position]]) -> None:
        self._append = append
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="memstream-later")
        self._pending: set[Future[Any]] = set()
        self.lost = 0

    def append(self, events: Sequence[Event]) -> None:
        """Returns at once."""
        future = self._thread.submit(self._append, [events])
        self._pending.add(future)
        future.add_done_callback(self._settle)

    def wait(self, timeout_s: float | None) -> None:
        """Returns when everything given so far is appended or lost."""
        for future in list(self._pending):
            future.exception(timeout_s)

    def close(self) -> None:
        """Waits for what was given. Idempotent."""
        self._thread.shutdown(wait=True)

    def _settle(self, future: Future[Any]) -> None:
        self._pending.discard(future)
        error = future.exception()
        if error is not None:
            self.lost += 1
            _LOGGER.error("context_not_recorded", error=str(error), kind=type(error).__name__)

"""Turns: one process's share of the worker lease. Takes it when needed, hands it over when asked.

The indexes can be open in one process at a time, so that whoever holds the lease has them open.
It is kept between operations, since opening an index costs more than asking it, until another
process stands in line for it or nothing was done for a while. An operation is never cut off:
the lease goes when the last one inside ends, and new ones wait behind the process in line.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from memstream.streams.clock import Deadline
from memstream.streams.lease import WorkerLease

POLL_SECONDS = 0.02
"""How often a waiter tries, and the holder looks for one."""
SLICE_SECONDS = 0.25
"""How long a turn of many batches goes on although somebody waits, so that each gets on."""


class Turns:
    """The turns of one open directory. Threads of the process share one."""

    def __init__(
        self, lease: WorkerLease, *, let_go: Callable[[], None], idle_s: float | None
    ) -> None:
        """``let_go`` closes what only the holder may have open; it is called before the lease is
        given back, with no operation inside, and must take no lock that is held around ``turn``.
        ``idle_s``: seconds without an operation after which it is given back; None for never."""
        self._lease = lease
        self._let_go = let_go
        self.idle_s = idle_s
        self._changed = threading.Condition()
        self._local = threading.local()
        self._inside = 0
        self._keeping = 0
        self._waiting = 0
        self._yielding = False
        self._closed = False
        self._term = 0
        self._idle = Deadline(None)

    @contextmanager
    def turn(self, wait_s: float | None, *, keep: bool = False) -> Iterator[bool]:
        """The lease for what is done inside; False where it cannot be had within ``wait_s``
        seconds (None: however long it takes). Turns of one thread may nest. ``keep``: nobody is
        let in before this is over, and other threads of this process go on meanwhile."""
        mine = self._enter(wait_s, keep)
        try:
            yield mine
        finally:
            if mine:
                self._leave(keep)

    @property
    def held(self) -> bool:
        """Whether this process has the lease."""
        return self._lease.held

    def yields(self, turn: Deadline) -> bool:
        """Whether work of many batches should end its turn now: there are no more turns, or
        somebody is in line and ``turn``, a deadline of ``SLICE_SECONDS``, has passed."""
        return self._keeping == 0 and (self._closed or (turn.passed and self._lease.wanted))

    def give_back(self) -> None:
        """Gives the lease back now, unless somebody is inside."""
        with self._changed:
            if self._lease.held:
                self._give_back()

    def close(self) -> None:
        """No more turns: who waits for one gets False. What is inside goes on. Idempotent."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _enter(self, wait_s: float | None, keep: bool) -> bool:
        depth = getattr(self._local, "depth", 0)
        deadline = Deadline(wait_s)
        with self._changed:
            self._waiting += 1
            try:
                while not (depth or self._may_enter(stay=wait_s != 0)):
                    if deadline.passed or self._closed:
                        return False
                    self._changed.wait(POLL_SECONDS)
            finally:
                self._waiting -= 1
                if not self._waiting:
                    self._lease.leave()
            self._inside += 1
            self._keeping += keep
            if keep:
                self._yielding = False
            self._local.depth = depth + 1
            return True

    def _may_enter(self, *, stay: bool) -> bool:
        if self._closed or self._yielding:
            return False
        if self._lease.held:
            return True
        if not self._lease.acquire(stay=stay):
            return False
        self._idle = Deadline(self.idle_s)
        self._term += 1
        watch = threading.Thread(
            target=self._keep_watch, args=(self._term,), name="memstream-turns", daemon=True
        )
        watch.start()
        return True

    def _leave(self, keep: bool) -> None:
        with self._changed:
            self._local.depth -= 1
            self._inside -= 1
            self._keeping -= keep
            self._idle = Deadline(self.idle_s)
            if self._yielding:
                self._give_back()

    def _keep_watch(self, term: int) -> None:
        """Runs in a thread while the lease is held."""
        with self._changed:
            while self._lease.held and self._term == term and not self._closed:
                if not self._keeping:
                    self._yielding = self._lease.wanted
                if self._yielding or self._idle.passed:
                    self._give_back()
                self._changed.wait(POLL_SECONDS)

    def _give_back(self) -> None:
        if self._inside:
            return
        try:
            self._let_go()
        finally:
            self._yielding = False
            self._lease.release()
            self._changed.notify_all()

"""The worker lease: one worker at a time per memory directory, free again the moment it dies.

The lease is the system's lock on an open file (``projections/file_lock``), held for as long as
the holder wants or lives; the system drops it when the process ends, however it ends. Who holds it
stands in a file beside it, for messages only: it may be stale and nothing depends on it.

Whoever wants a lease that is held stands in line (``line``). The holder sees that somebody does and
gives the lease back; nobody takes it past those in line, so all that want it take turns. A dead one
leaves the line at once. One that is frozen (a stopped process) does not come when it is its turn;
where the lease lies free for ``FROZEN_SECONDS``, the others go past it.
"""

from __future__ import annotations

import os
import socket
import threading
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from memstream.projections.file_lock import FileLock
from memstream.projections.forks import tell_of_forks
from memstream.schemas.errors import LeaseHeld
from memstream.streams.clock import Clock, Patience
from memstream.streams.line import Line
from memstream.streams.sqlite_files import FileUnavailable

FROZEN_SECONDS = 2.0
"""Whoever is first in line looks fifty times a second whether the lease is free."""


class Holder(msgspec.Struct, frozen=True):
    """Who took the lease last, and when. True only while somebody holds it."""

    pid: int
    host: str
    since: datetime

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host} since {self.since:%Y-%m-%d %H:%M:%S} UTC"


class WorkerLease:
    """The lease of one directory. Two objects exclude each other, also within one process.

    ``with lease:`` takes it or raises ``LeaseHeld``. A child made by a fork does not hold it.
    """

    def __init__(self, directory: Path, clock: Clock) -> None:
        self.path = directory / "worker.lease"
        self._file = FileLock(self.path)
        self._line = Line(directory)
        self._patience = Patience(FROZEN_SECONDS)
        self._holder_path = directory / "worker.json"
        self._clock = clock
        self._lock = threading.Lock()
        tell_of_forks(self)

    @property
    def held(self) -> bool:
        """Whether this object holds the lease."""
        with self._lock:
            return self._file.held

    @property
    def wanted(self) -> bool:
        """Whether somebody else stands in line. A probe of a few system calls."""
        with self._lock:
            return not self._line.standing and self._line.has_others()

    def acquire(self, *, stay: bool = False) -> bool:
        """Takes the lease if it is free and nobody else is in line; True if this object holds it
        now. Never waits. ``stay``: where it is not free, stands in line until it is taken at a
        later call, or until ``leave``.

        Raises ``FileUnavailable`` if the directory cannot be used.
        """
        with self._lock:
            if self._file.held:
                return True
            stay = stay or self._line.standing
            first = stay and self._line.step()
            if not self._taken():
                self._patience.ran_out(None)
                return False
            mine = False
            try:
                mine = first or self._line.step() or self._patience.ran_out("free")
            finally:
                if not mine:
                    self._file.release()
                if mine or not stay:
                    self._line.leave()
            if mine:
                self._patience.ran_out(None)
                self._tell()
            return mine

    def leave(self) -> None:
        """Out of the line. Idempotent."""
        with self._lock:
            self._line.leave()

    def _taken(self) -> bool:
        try:
            return self._file.acquire()
        except OSError as error:
            raise FileUnavailable(
                f"worker lease {self.path} cannot be taken: {error.strerror}; mend: check "
                "that the directory exists and is writable"
            ) from error

    def holder(self) -> Holder | None:
        """Who took the lease last, for messages; None if nobody did or it was released."""
        try:
            return msgspec.json.decode(self._holder_path.read_bytes(), type=Holder)
        except (OSError, msgspec.DecodeError):
            return None

    def release(self) -> None:
        """Gives the lease back, and any place in line. Idempotent."""
        self.leave()
        with self._lock:
            if self._file.held:
                with suppress(OSError):  # information only
                    self._holder_path.unlink(missing_ok=True)
                self._file.release()

    def after_fork(self) -> None:
        """In a forked child: the lease and the place in line are the parent's."""
        self._lock = threading.Lock()
        self._line = Line(self.path.parent)

    def __enter__(self) -> Self:
        if not self.acquire():
            raise LeaseHeld(
                f"worker lease {self.path}: held by {self.holder() or 'another process'}; "
                "mend: stop that worker, or let it do the work"
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()

    def _tell(self) -> None:
        holder = Holder(os.getpid(), socket.gethostname(), self._clock.now())
        fresh = self._holder_path.with_suffix(".new")
        with suppress(OSError):  # information only: a full disk must not stop the worker
            fresh.write_bytes(msgspec.json.encode(holder))
            fresh.replace(self._holder_path)

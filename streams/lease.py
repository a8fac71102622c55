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
from weakref import WeakSet

import msgspec

from memstream.projections.file_lock import try_lock
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
        self._line = Line(directory)
        self._patience = Patience(FROZEN_SECONDS)
        self._holder_path = directory / "worker.json"
        self._clock = clock
        self._lock = threading.Lock()
        self._handle: int | None = None
        _LEASES.add(self)

    @property
    def held(self) -> bool:
        """Whether this object holds the lease."""
        return self._handle is not None

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
            if self._handle is not None:
                return True
            stay = stay or self._line.standing
            first = stay and self._line.step()
            handle = self._locked(self.path)
            if handle is None:
                self._patience.ran_out(None)
                return False
            try:
                first = first or self._line.step()
                if first or self._patience.ran_out("free"):
                    self._handle, handle = handle, None
            finally:
                if handle is not None:
                    os.close(handle)
                if not (stay and handle is not None):
                    self._line.leave()
            if self._handle is None:
                return False
            self._patience.ran_out(None)
            self._tell()
            return True

    def leave(self) -> None:
        """Out of the line. Idempotent."""
        with self._lock:
            self._line.leave()

    def _locked(self, path: Path) -> int | None:
        try:
            handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
        except OSError as error:
            raise FileUnavailable(
                f"worker lease {path} cannot be taken: {error.strerror}; mend: check "
                "that the directory exists and is writable"
            ) from error
        if not try_lock(handle):
            os.close(handle)
            return None
        return handle

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
            handle, self._handle = self._handle, None
            if handle is not None:
                with suppress(OSError):  # information only
                    self._holder_path.unlink(missing_ok=True)
                os.close(handle)

    def _forget(self) -> None:
        """In a forked child: the lease is the parent's. Its lock stays with the parent's file."""
        self._lock = threading.Lock()
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)
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


_LEASES: WeakSet[WorkerLease] = WeakSet()


def _forget_after_fork() -> None:
    for lease in list(_LEASES):
        lease._forget()


if hasattr(os, "register_at_fork"):  # where there is no fork there is nothing to forget
    os.register_at_fork(after_in_child=_forget_after_fork)

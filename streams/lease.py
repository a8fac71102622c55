"""The worker lease: one worker at a time per memory directory, free again the moment it dies.

The lease is an exclusive SQLite transaction on a file of its own, held open. SQLite locks files
the same way on every platform, keeps threads of one process apart as well, and the system drops
the lock when the process ends, however it ends. Who holds it stands in a file beside it, for
messages only: it may be stale and nothing depends on it.
"""

from __future__ import annotations

import os
import socket
import sqlite3
import threading
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from memstream.schemas.errors import LeaseHeld
from memstream.streams.clock import Clock
from memstream.streams.sqlite_files import FileUnavailable


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
        self._holder_path = directory / "worker.json"
        self._clock = clock
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._process = 0

    @property
    def held(self) -> bool:
        """Whether this object holds the lease."""
        return self._connection is not None and self._process == os.getpid()

    def acquire(self) -> bool:
        """Takes the lease if it is free; True if this object holds it now. Never waits.

        Raises ``FileUnavailable`` if the directory cannot be used.
        """
        with self._lock:
            if self.held:
                return True
            connection = None
            try:
                connection = sqlite3.connect(
                    self.path, timeout=0, isolation_level=None, check_same_thread=False
                )
                connection.execute("BEGIN EXCLUSIVE")
            except sqlite3.Error as error:
                if connection is not None:
                    connection.close()
                if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
                    return False
                raise FileUnavailable(
                    f"worker lease {self.path} cannot be taken: {error}; mend: check that the "
                    "directory exists and is writable"
                ) from error
            self._connection, self._process = connection, os.getpid()
            self._tell()
            return True

    def holder(self) -> Holder | None:
        """Who took the lease last, for messages; None if nobody did or it was released."""
        try:
            return msgspec.json.decode(self._holder_path.read_bytes(), type=Holder)
        except (OSError, msgspec.DecodeError):
            return None

    def release(self) -> None:
        """Gives the lease back. Idempotent; harmless for one that is not held."""
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is None or self._process != os.getpid():
                return
            with suppress(OSError):  # information only
                self._holder_path.unlink(missing_ok=True)
            connection.close()

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

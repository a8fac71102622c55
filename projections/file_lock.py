"""A lock on a file that the system drops when its holder dies, however that happens.

It is tied to the open file and not to the process (``flock``, on Windows a byte range lock), so
threads of one process exclude each other as well, and reading the file elsewhere in the process
does not drop it.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

from memstream.projections.forks import tell_of_forks

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


class FileLock:
    """The lock on one file, which is made where it is missing. Two objects exclude each other,
    also within one process. A child made by a fork does not hold it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._handle: int | None = None
        tell_of_forks(self)

    @property
    def held(self) -> bool:
        """Whether this object holds it."""
        return self._handle is not None

    def acquire(self) -> bool:
        """Takes it if it is free; True if this object holds it now. Never waits. ``OSError`` where
        the file cannot be used."""
        with self._lock:
            if self._handle is None:
                handle = os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600)
                try:
                    if try_lock(handle):
                        self._handle = handle
                finally:
                    if self._handle is None:
                        os.close(handle)
            return self._handle is not None

    def release(self) -> None:
        """Gives it back. Idempotent."""
        with self._lock:
            handle, self._handle = self._handle, None
            if handle is not None:
                os.close(handle)

    def __del__(self) -> None:
        self.release()

    def after_fork(self) -> None:
        """In a forked child: the lock stays with the parent's file."""
        self._lock = threading.Lock()
        self.release()


if sys.platform == "win32":

    def try_lock(handle: int) -> bool:
        """Locks an open file; False where another open file of it is locked."""
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:

    def try_lock(handle: int) -> bool:
        """Locks an open file; False where another open file of it is locked."""
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

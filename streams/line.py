"""The line in front of the worker lease: first come, first served, among processes.

Each that waits has a number, one more than the last, and a lock on a file of that name, which the
system drops when its holder dies. Whoever has the lowest is first. Were there one lock that all who
wait try to get, they would get it by chance: two processes that ask again at once could keep a
third one out for as long as they go on.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from memstream.projections.file_lock import FileLock
from memstream.streams.sqlite_files import FileUnavailable

_NAME = "worker.line"
_TRIES = 5
_PAUSE_S = 0.002


class Line:
    """The line of one directory, as one that may stand in it. Not for two threads at once.

    Who looks at the line or changes it holds the lock on ``worker.line`` for as long, which are
    microseconds; ``worker.line.7`` is number 7. One that nobody has locked is of a dead one, and
    removed by whoever comes upon it.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._gate = FileLock(directory / _NAME)
        self._number = 0
        self._mine: FileLock | None = None

    @property
    def standing(self) -> bool:
        """Whether this one is in line."""
        return self._mine is not None

    def step(self) -> bool:
        """Joins the line where it is not in it; whether it is the first. Never waits long. Raises
        ``FileUnavailable``."""
        with self._stated(), self._alone() as alone:
            if not alone:
                return False
            numbers = self._numbers()
            if self._mine is None:
                self._number = max(numbers, default=0) + 1
                lock = self._lock_of(self._number)
                if not lock.acquire():
                    return False
                self._mine = lock
            return not any(self._stands(each) for each in numbers if each < self._number)

    def leave(self) -> None:
        """Out of the line. Idempotent."""
        mine, self._mine = self._mine, None
        if mine is not None:
            with suppress(OSError), self._alone() as alone:
                mine.release()
                if alone:
                    mine.path.unlink(missing_ok=True)
            mine.release()

    def has_others(self) -> bool:
        """Whether somebody else is in line."""
        try:
            with self._stated(), self._alone() as alone:
                mine = self._number if self._mine is not None else None
                return alone and any(self._stands(each) for each in self._numbers() if each != mine)
        except FileUnavailable:  # what cannot be opened, nobody stands in
            return False

    def _numbers(self) -> list[int]:
        """In order; those of the dead among them."""
        ends = (each.suffix[1:] for each in self._directory.glob(f"{_NAME}.*"))
        return sorted(int(each) for each in ends if each.isdecimal())

    def _stands(self, number: int) -> bool:
        lock = self._lock_of(number)
        if not lock.acquire():
            return True
        lock.release()
        lock.path.unlink(missing_ok=True)
        return False

    def _lock_of(self, number: int) -> FileLock:
        return FileLock(self._directory / f"{_NAME}.{number}")

    @contextmanager
    def _alone(self) -> Iterator[bool]:
        """Nobody else is at it meanwhile; False where somebody is."""
        alone = self._gate.acquire()
        for _ in range(_TRIES):
            if alone:
                break
            threading.Event().wait(_PAUSE_S)
            alone = self._gate.acquire()
        try:
            yield alone
        finally:
            self._gate.release()

    @contextmanager
    def _stated(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise FileUnavailable(
                f"{self._gate.path}: nobody can stand in line: {error.strerror}; mend: check that "
                "the directory exists and is writable"
            ) from error

"""SQLite files: how every file of a memory directory is created, opened, read and fails.

Public: ``FileKind`` (what a file is), ``FileUnavailable``, ``open_file``, ``transaction``,
``stated``, ``Readers`` and ``truncate_wal``. The stores beside this module own their tables and
their statements; this one owns stamps, pragmas, locks and error messages.

A file appears under its name only when it is complete: it is built under another name and then
linked, so two processes that create it at once agree, and an empty file is never a new one but
one that lost its content.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

import msgspec

from memstream.schemas.errors import LogUnavailable, MemstreamError

WAIT_SECONDS = 30.0
"""How long a call waits for another process's write lock before it fails."""


class FileUnavailable(LogUnavailable):
    """A file beside the log (keys, state, lease) cannot be opened, read or written."""


class FileKind(msgspec.Struct, frozen=True, kw_only=True):
    """What a file is. ``application_id`` and ``version`` are stamped into its header.

    ``damaged``, ``newer`` and ``unavailable`` are the errors raised for a file that is no such
    file or is corrupt, one that a newer release wrote, and one that cannot be used now.
    """

    name: str
    application_id: int
    version: int
    schema: Sequence[str]
    journal: Literal["WAL", "DELETE"] = "WAL"
    pragmas: Sequence[str] = ("synchronous=FULL", "secure_delete=ON")
    mode: int = 0o666
    mend: str = "restore it from a copy"
    damaged: type[MemstreamError] = LogUnavailable
    newer: type[MemstreamError] = LogUnavailable
    unavailable: type[MemstreamError] = LogUnavailable


def open_file(
    path: Path,
    kind: FileKind,
    *,
    first: Sequence[tuple[str, Sequence[Any]]] = (),
    wait_s: float = WAIT_SECONDS,
) -> sqlite3.Connection:
    """A connection to the file; one that is not there is created, with ``first`` executed in it.

    The connection is in autocommit mode and may be used by any one thread at a time. Raises the
    kind's errors.
    """
    if not path.exists():
        _create(path, kind, first, wait_s)
    return connect(path, kind, wait_s=wait_s)


def connect(path: Path, kind: FileKind, *, wait_s: float = WAIT_SECONDS) -> sqlite3.Connection:
    """A connection to a file that exists, checked for its stamps."""
    connection = None
    try:
        if path.stat().st_size == 0:
            raise kind.damaged(
                f"{kind.name} {path}: the file is empty, it was truncated; mend: {kind.mend}"
            )
        connection = _connection(path, kind, wait_s)
        _check_stamps(connection, path, kind)
    except BaseException as error:
        if connection is not None:
            connection.close()
        if isinstance(error, OSError | sqlite3.Error):
            raise stated(error, path, kind, "opened") from error
        raise
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection, begin: str = "BEGIN IMMEDIATE") -> Iterator[None]:
    """One transaction: committed at the end, rolled back whole on any exception."""
    connection.execute(begin)
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        roll_back(connection)
        raise


def roll_back(connection: sqlite3.Connection) -> None:
    """Ends a transaction that failed. SQLite may have ended it already (full disk, I/O error)."""
    if connection.in_transaction:
        # An I/O error here leaves a transaction that was never committed; the first error counts.
        with suppress(sqlite3.OperationalError):
            connection.execute("ROLLBACK")


def stated(
    error: OSError | sqlite3.Error, path: Path, kind: FileKind, doing: str
) -> MemstreamError:
    """The error to raise for one of SQLite or the system: what, where, how to mend."""
    where = f"{kind.name} {path} cannot be {doing}"
    if isinstance(error, OSError):
        return kind.unavailable(
            f"{where}: {error.strerror}; mend: check that the directory exists and is writable"
        )
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return kind.damaged(f"{where}: {error}; it is damaged; mend: {kind.mend}")
    if code == sqlite3.SQLITE_FULL:
        return kind.unavailable(f"{where}: {error}; nothing was written; mend: free disk space")
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return kind.unavailable(
            f"{where}: {error}; another process held its lock all the time this call waited; "
            "mend: try again, or stop the process that hangs"
        )
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN):
        return kind.unavailable(
            f"{where}: {error}; mend: make the file, its directory and its -wal and -shm files "
            "readable and writable for this user"
        )
    if code == sqlite3.SQLITE_IOERR:
        return kind.unavailable(
            f"{where}: {error} ({error.sqlite_errorname}); mend: check the disk, its quota and "
            "its file size limit; then repeat the call, which is harmless"
        )
    return kind.unavailable(f"{where}: {error}; mend: open it again")


class Readers:
    """Read connections that any number of threads borrow, one thread each at a time."""

    def __init__(self, make: Callable[[], sqlite3.Connection]) -> None:
        self._make = make
        self._idle: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        self._closed = False

    @contextmanager
    def borrow(self) -> Iterator[sqlite3.Connection]:
        """A connection of one's own. Fetch all rows before giving it back."""
        with self._lock:
            if self._closed:
                raise sqlite3.ProgrammingError("it was closed")
            connection = self._idle.pop() if self._idle else None
        if connection is None:
            connection = self._make()
        try:
            yield connection
        finally:
            with self._lock:
                if not self._closed:
                    self._idle.append(connection)
                    connection = None
            if connection is not None:
                connection.close()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()


def truncate_wal(connection: sqlite3.Connection) -> None:
    """Moves everything into the main file and empties the write-ahead log, so that no byte of an
    overwritten row stays in it. Raises ``sqlite3.OperationalError`` if a reader stands in the way
    for longer than the connection waits."""
    busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if busy:
        error = sqlite3.OperationalError("a reader keeps old bytes in the write-ahead log")
        error.sqlite_errorcode = sqlite3.SQLITE_BUSY
        error.sqlite_errorname = "SQLITE_BUSY"
        raise error


def _connection(path: Path, kind: FileKind, wait_s: float) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path.absolute().as_uri() + "?mode=rw",
        uri=True,
        timeout=wait_s,
        isolation_level=None,
        check_same_thread=False,
    )
    for pragma in kind.pragmas:
        connection.execute(f"PRAGMA {pragma}")
    return connection


def _check_stamps(connection: sqlite3.Connection, path: Path, kind: FileKind) -> None:
    (application_id,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application_id != kind.application_id:
        raise kind.damaged(
            f"{kind.name} {path}: the file is of another kind (application id "
            f"{application_id:#x}, expected {kind.application_id:#x}); mend: give the path of "
            "a memory directory, or move this file away"
        )
    if version > kind.version:
        raise kind.newer(
            f"{kind.name} {path}: schema version {version} is newer than this release reads "
            f"({kind.version}); mend: upgrade memstream"
        )


def _create(
    path: Path, kind: FileKind, first: Sequence[tuple[str, Sequence[Any]]], wait_s: float
) -> None:
    journal = path.with_name(path.name + ("-wal" if kind.journal == "WAL" else "-journal"))
    if journal.exists() and not path.exists():
        raise kind.damaged(
            f"{kind.name} {path}: the file is missing but {journal.name} is there; "
            "mend: restore both from a copy, or delete the leftover"
        )
    fresh = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.new")
    try:
        fresh.unlink(missing_ok=True)
        os.close(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_RDWR, kind.mode))
        connection = _connection(fresh, kind, wait_s)
        try:
            connection.execute(f"PRAGMA journal_mode={kind.journal}")
            with transaction(connection):
                for statement in kind.schema:
                    connection.execute(statement)
                for statement, values in first:
                    connection.execute(statement, values)
                connection.execute(f"PRAGMA application_id={kind.application_id}")
                connection.execute(f"PRAGMA user_version={kind.version}")
        finally:
            connection.close()
        # Another process may have been first; its file is as good as this one.
        with suppress(FileExistsError):
            os.link(fresh, path)
        _sync_directory(path.parent)
    except (OSError, sqlite3.Error) as error:
        raise stated(error, path, kind, "created") from error
    finally:
        with suppress(OSError):
            fresh.unlink(missing_ok=True)


def _sync_directory(directory: Path) -> None:
    if os.name == "nt":  # a directory cannot be opened there; NTFS journals its entries
        return
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

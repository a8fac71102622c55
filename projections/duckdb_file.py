"""The analytics file as a file: opening it, restating what DuckDB says, read-only queries.

One process writes it; DuckDB then locks it for everybody else, readers too. The writer lets go
when it is idle (``DuckIndex.release``), so a reader that waits a moment gets its turn; readers do
not exclude each other.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from memstream.schemas.errors import IndexUnavailable, MemstreamError, ProjectionDamaged

WAIT_S = 10.0
"""How long opening waits for a lock that another process holds, in seconds."""

_RETRY_S = 0.05

# Two threads: a batch of a few hundred rows never uses more than one, a scan of millions of rows
# gains from a second, and the machine belongs to the agent. One gigabyte: DuckDB's own default is
# 80% of the memory; what does not fit is spilled beside the file.
_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "threads": 2,
    "memory_limit": "1GB",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
}
# The write-ahead log grows to 128 MB before it is merged, since each merge packs the last,
# unfinished row group of every table again. Measured over 60,000 steps in batches of 500, CPU for
# commits and merges per step: 50 to 52 µs at 16 MB (the default), 33 to 35 at 64, 28 at 128, 29 to
# 31 at 256; the inserts themselves cost about 50. A merge holds its batch up for 0.5 s and more.
_WRITER = _SETTINGS | {"checkpoint_threshold": "128MB"}
_LOCKED = _SETTINGS | {"enable_external_access": "false"}

_DAMAGE = (
    "Corrupt database file",
    "not a valid DuckDB database file",
    "Could not read enough bytes",
    "Failure while replaying WAL",
    "INTERNAL Error",
    "FATAL Error",
    "Serialization Error",
)


class QueryRefused(MemstreamError):
    """A query is no single read, is wrong, or asked for what a read-only query must not do."""


def sql_file(
    path: Path, query: str, *, limit: int | None = None, wait_s: float = WAIT_S
) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """(column names, rows) of one read of an analytics file that another process may be writing.

    The file is opened read-only, without access to any other file, to the network or to
    extensions, and with its settings locked: the query can read this file and nothing else. Times
    come as naive datetimes in UTC. ``limit`` cuts the rows that are fetched. Waits up to
    ``wait_s`` seconds while a writer holds the file.

    Raises ``QueryRefused`` with DuckDB's own message, ``IndexUnavailable`` and
    ``ProjectionDamaged``.
    """
    statement = _single_read(query)
    connection = open_file(path, read_only=True, locked=True, wait_s=wait_s)
    try:
        with restated(path, query=True):
            cursor = connection.execute(statement)
            columns = tuple(str(column[0]) for column in cursor.description or ())
            rows = cursor.fetchall() if limit is None else cursor.fetchmany(limit)
        return columns, rows
    finally:
        connection.close()


def open_file(
    path: Path, *, read_only: bool = False, locked: bool = False, wait_s: float = WAIT_S
) -> duckdb.DuckDBPyConnection:
    """A connection with this project's settings. ``locked`` cuts it off from everything else.

    Raises ``IndexUnavailable`` when the lock is not free within ``wait_s`` seconds, and
    ``ProjectionDamaged`` for a file that is truncated, corrupt or none of DuckDB's.
    """
    if read_only and not path.exists():
        raise IndexUnavailable(
            f"{path}: there is no such analytics file; mend: run the worker once, or memstream "
            "rebuild"
        )
    tries = max(1, round(wait_s / _RETRY_S))
    settings = _LOCKED if locked else _SETTINGS if read_only else _WRITER
    for left in reversed(range(tries)):
        try:
            with restated(path):
                connection = duckdb.connect(str(path), read_only=read_only, config=settings)
                if locked:
                    connection.execute("SET lock_configuration = true")
                return connection
        except _Locked as error:
            if not left:
                raise IndexUnavailable(f"{error} (waited {wait_s:g} s)") from error.__cause__
            time.sleep(_RETRY_S)
    raise AssertionError("the loop returns or raises")


def check_size(path: Path, connection: duckdb.DuckDBPyConnection) -> None:
    """Raises ``ProjectionDamaged`` where a file is shorter than the blocks it uses.

    DuckDB reads a block only when a query needs it, so a cut-off end is looked for here, in a
    file without a write-ahead log: replaying one counts blocks that are not written yet. Blocks
    that are free may be missing: DuckDB itself cuts them off the end.
    """
    block_bytes, used = connection.execute(
        "SELECT block_size, used_blocks FROM pragma_database_size()"
        " WHERE database_name = current_database()"
    ).fetchall()[0]
    needed, there = _HEADER_BYTES + int(block_bytes) * int(used), path.stat().st_size
    if there < needed:
        raise ProjectionDamaged(
            f"{path}: truncated: {there} bytes of at least {needed}; mend: memstream rebuild"
        )


_HEADER_BYTES = 3 * 4096  # DuckDB's main header and two database headers, before the first block


class _Locked(IndexUnavailable):
    """Somebody holds the file now; worth another try."""


@contextmanager
def restated(path: Path, *, query: bool = False) -> Iterator[None]:
    """Turns DuckDB's errors into stated ones; in a ``query``, what is not the file's fault is
    the query's."""
    try:
        yield
    except OSError as error:
        raise IndexUnavailable(
            f"{path}: {error.strerror or error}; mend: give it a writable directory with free "
            "disk, then try again"
        ) from error
    except duckdb.Error as error:
        message = str(error).strip()
        if "Could not set lock" in message:
            holder = message.partition("Conflicting lock is held in ")[2].split(". ")[0]
            raise _Locked(
                f"{path}: another process holds the analytics file"
                + (f": {holder}" if holder else "")
                + "; mend: stop it, or let it become idle, and try again"
            ) from error
        if "different configuration" in message:
            raise _Locked(
                f"{path}: this process has the analytics file open already; mend: ask the "
                "DuckIndex that has it open, or release it first"
            ) from error
        if any(each in message for each in _DAMAGE) or type(error) is duckdb.Error:
            raise ProjectionDamaged(
                f"{path}: the analytics file is damaged: {_one_line(message)}; mend: memstream "
                "rebuild makes it again from the log"
            ) from error
        if query:
            raise QueryRefused(f"query refused: {message}; {_LISTED}") from error
        io = isinstance(error, duckdb.IOException | duckdb.OutOfMemoryException)
        if io or "Could not write" in message:
            raise IndexUnavailable(
                f"{path}: {_one_line(message)}; mend: give it a writable directory with free "
                "disk, then try again"
            ) from error
        raise


def remove_leftovers(path: Path) -> None:
    """Removes what a crash left beside the file: half a rewrite and spilled rows."""
    for suffix in (REWRITE_SUFFIX, f"{REWRITE_SUFFIX}.wal"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    spilled = path.with_name(f"{path.name}.tmp")
    if spilled.is_dir():
        for each in sorted(spilled.iterdir()):
            each.unlink()
        spilled.rmdir()


REWRITE_SUFFIX = ".rewrite"


def flush_to_disk(path: Path) -> None:
    """Makes a file, or the entries of a directory, durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


_LISTED = "mend: SELECT * FROM help lists the tables and views, DESCRIBE a_table its columns"

_READS = (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN, duckdb.StatementType.MULTI)


def _single_read(query: str) -> duckdb.Statement:
    """The one statement of a query. MULTI is a PIVOT, which DuckDB splits in two."""
    try:
        statements = duckdb.extract_statements(query)
    except duckdb.Error as error:
        raise QueryRefused(f"query refused: {str(error).strip()}; {_LISTED}") from error
    if len(statements) != 1:
        raise QueryRefused(
            f"query refused: expected one statement, got {len(statements)}; mend: run them one "
            "by one"
        )
    kind = statements[0].type
    if kind not in _READS:
        raise QueryRefused(
            f"query refused: {kind.name} is no read; mend: only SELECT, FROM, WITH, VALUES, "
            "DESCRIBE, SUMMARIZE, SHOW, PIVOT and EXPLAIN are answered; the view help lists what "
            "there is"
        )
    return statements[0]


def _one_line(message: str) -> str:
    return " ".join(message.split())

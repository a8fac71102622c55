"""The analytics projection: events, decisions, memory versions and what was served, in DuckDB.

One file of plain tables and views (``duckdb_schema.sql``) that answers the questions people ask
about a memory: what is believed, since when, why, what was thrown away, what was ever used. It is
disposable: the log is the truth, and ``memstream rebuild`` makes the file again.

``DuckIndex`` is the one writer. Other processes read with ``sql_file`` or a Parquet ``snapshot``.
"""

# ruff: noqa: S608 - the names in these statements are constants here; values are parameters

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import msgspec

from memstream.projections.duckdb_file import (
    REWRITE_SUFFIX,
    WAIT_S,
    QueryRefused,
    check_size,
    flush_to_disk,
    open_file,
    remove_leftovers,
    restated,
    sql_file,
)
from memstream.projections.duckdb_rows import TABLES, rows_of
from memstream.projections.projection import VOID, Generation, Step, offsets_after
from memstream.schemas.errors import IndexUnavailable, ProjectionDamaged, WrongGeneration
from memstream.schemas.memories import Tally

__all__ = ["LAYOUT", "DuckIndex", "IndexUnavailable", "QueryRefused", "sql_file"]

LAYOUT = 6
"""Version of the tables and views. Raised when one changes; an older file is rebuilt."""

_SCHEMA = Path(__file__).with_name("duckdb_schema.sql")
_STEPS_AT_ONCE = 5_000  # bounds the memory of one INSERT, not the transaction


class DuckIndex:
    """The analytics file of one generation. Safe to share between threads.

    The connection opens on first use and stays open until ``release``, which frees the file for
    other processes; the next use opens it again.
    """

    name = "duckdb"

    def __init__(self, path: Path, generation: Generation, *, wait_s: float = WAIT_S) -> None:
        """Use ``open``, which checks the file at once."""
        self.path = path
        self.generation = generation
        self._wait_s = wait_s
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._readers = 0
        self._release_due = False
        self._lock = threading.RLock()
        self._no_readers = threading.Condition(self._lock)

    @classmethod
    def open(cls, path: Path, generation: Generation, *, wait_s: float = WAIT_S) -> DuckIndex:
        """The index in ``path``, created where there is none.

        Raises ``WrongGeneration`` where the file was built by another one, ``ProjectionDamaged``
        where it is truncated or corrupt, and ``IndexUnavailable`` where another process holds it
        for longer than ``wait_s`` seconds or the directory cannot be written.
        """
        index = cls(path, generation, wait_s=wait_s)
        with index._lock:
            index._connected()
        return index

    def position(self) -> int:
        """The last step this file holds; 0 for none."""
        with self._lock, restated(self.path):
            return _position(self._connected())

    def positions(self) -> dict[int, int]:
        """The next raw offset of every partition, as of ``position``."""
        with self._lock, restated(self.path):
            return _positions(self._connected())

    def apply(self, steps: Sequence[Step]) -> None:
        """Adds the steps and the new position in one transaction; steps it has are skipped.

        Raises ``ProjectionDamaged`` where a step is missing before the first new one, and
        ``IndexUnavailable`` where the disk is full; then nothing of the call is kept.
        """
        with self._lock:
            connection = self._connected()
            with self._transaction(connection):
                position = _position(connection)
                fresh = [step for step in steps if step.seq > position]
                for expected, step in enumerate(fresh, position + 1):
                    if step.seq != expected:
                        raise ProjectionDamaged(
                            f"{self.path}: step {step.seq} ({step.event_id}) came where step "
                            f"{expected} was due; mend: apply steps in order from position + 1"
                        )
                for start in range(0, len(fresh), _STEPS_AT_ONCE):
                    rows = rows_of(fresh[start : start + _STEPS_AT_ONCE])
                    for statement, texts in rows.inserts():
                        connection.execute(statement, texts)
                if fresh:
                    before = _positions(connection)
                    _remove_earlier_attempts(connection, fresh, before)
                    reached = offsets_after(before, fresh)
                    connection.execute(
                        "UPDATE generation SET position = ?, positions = map(?, ?)",
                        [fresh[-1].seq, list(reached), list(reached.values())],
                    )

    def tally(self) -> Tally:
        """Count and digest sum of the memory versions that are in the file now."""
        with self._lock, restated(self.path):
            count, checksum = _one(
                self._connected(), "SELECT count(*), sum(digest) FROM memory_versions"
            )
        return Tally(int(count), int(checksum or 0))

    def holds_text(self, text: str, *, outside: str = "") -> bool:
        """Whether an event or a memory version of any scope, or of any ``outside`` one, holds the
        text, as it is or as JSON spells it."""
        query = (
            "SELECT EXISTS (FROM events WHERE scope <> $1"
            " AND (contains(text, $2) OR contains(data::VARCHAR, $3)))"
            " OR EXISTS (FROM memory_versions WHERE scope <> $1 AND contains(record::VARCHAR, $3))"
        )
        with self._lock, restated(self.path):
            return bool(_one(self._connected(), query, [outside, text, _spelled(text)])[0])

    def texts_in(self, scope: str, texts: Sequence[str]) -> list[str]:
        """Those of the texts that any row of the scope holds. DuckDB compresses what it stores,
        so a search over the bytes of its file would not find them all."""
        query = (
            "SELECT DISTINCT text FROM (SELECT unnest($2::VARCHAR[]) AS text,"
            " unnest($3::VARCHAR[]) AS spelled) JOIN ("
            "SELECT data::VARCHAR AS held FROM events WHERE scope = $1 AND data IS NOT NULL"
            " UNION ALL SELECT record::VARCHAR FROM memory_versions WHERE scope = $1"
            " UNION ALL SELECT query FROM contexts WHERE scope = $1"
            " UNION ALL SELECT note FROM feedback WHERE scope = $1"
            " UNION ALL SELECT text || chr(10) || quote FROM candidates WHERE scope = $1"
            ") ON contains(held, spelled) OR contains(held, text) ORDER BY text"
        )
        with self._lock, restated(self.path):
            spelled = [_spelled(each) for each in texts]
            found = self._connected().execute(query, [scope, list(texts), spelled]).fetchall()
        return [text for (text,) in found]

    def erase(self, scope: str) -> int:
        """Removes content for good: first the rows, then, by rewriting the file, their bytes.

        Everything of the scope goes; what is left of it in the log, its erasure events among it,
        comes again in the next steps.

        After a crash in between, the next ``open`` finishes the rewrite. Costs one pass over the
        whole file. Waits for a running snapshot. Returns how many records were removed.
        """
        with self._lock:
            self._wait_for_readers()
            connection = self._connected()
            with self._transaction(connection):
                removed = sum(
                    int(_one(connection, f"DELETE FROM {table} WHERE scope = ?", [scope])[0])
                    for table in TABLES
                )
                connection.execute("UPDATE generation SET rewrite_due = true")
            self._rewrite()
            return removed

    def sql(
        self, query: str, *, limit: int | None = None
    ) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        """(column names, rows) of one read-only query; see ``sql_file`` for what is refused.

        The writing connection is closed for it, since DuckDB opens a file either for reading or
        for writing; it waits for a running snapshot, and ``apply`` of other threads waits for it.
        """
        with self._lock:
            self._wait_for_readers()
            self._connected()
            self._disconnect()
            return sql_file(self.path, query, limit=limit, wait_s=self._wait_s)

    def release(self) -> None:
        """Closes the connection, so that other processes can open the file. While a snapshot is
        being written it stays open, and closes when the snapshot is done."""
        with self._lock:
            if self._readers:
                self._release_due = True
            else:
                self._disconnect()

    def close(self) -> None:
        """Closes the file after a running snapshot is done. Harmless when repeated."""
        with self._lock:
            self._wait_for_readers()
            self._disconnect()

    @contextmanager
    def reading(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A second connection inside one transaction: it sees one position, while ``apply`` goes
        on in other threads. For our own code only: it is not read-only. ``sql``, ``erase`` and
        ``close`` wait until it is left, so call none of them inside it."""
        with self._lock:
            cursor = self._connected().cursor()
            self._readers += 1
            try:
                # Reading the position makes this the moment that the transaction sees.
                cursor.begin()
                _one(cursor, "SELECT position FROM generation")
            except BaseException:
                self._reader_left(cursor)
                raise
        try:
            with restated(self.path):
                yield cursor
        finally:
            with self._lock:
                self._reader_left(cursor)

    def _reader_left(self, cursor: duckdb.DuckDBPyConnection) -> None:
        cursor.close()
        self._readers -= 1
        if not self._readers:
            if self._release_due:
                self._disconnect()
            self._no_readers.notify_all()

    def _wait_for_readers(self) -> None:
        while self._readers:
            self._no_readers.wait()

    def _connected(self) -> duckdb.DuckDBPyConnection:
        """The open connection; opened, checked and, after a crash, mended first if need be."""
        if self._connection is not None:
            return self._connection
        with restated(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
        replays = self.path.with_name(self.path.name + ".wal").exists()
        connection = open_file(self.path, wait_s=self._wait_s)
        try:
            with restated(self.path):
                rewrite_due = self._check(connection)
                if not replays:
                    check_size(self.path, connection)
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        remove_leftovers(self.path)
        if rewrite_due:
            self._rewrite()
            return self._connected()
        return connection

    def _check(self, connection: duckdb.DuckDBPyConnection) -> bool:
        """Creates the tables in an empty file; checks the stamp of any other. True where an
        erasure was cut off before its rewrite."""
        tables = {str(row[0]) for row in connection.execute("SHOW TABLES").fetchall()}
        if not tables:
            create(connection, self.generation)
            tables = {"generation", *TABLES}
        missing = sorted({"generation", *TABLES} - tables)
        if "generation" in missing:
            raise ProjectionDamaged(
                f"{self.path}: a DuckDB file, but not one of memstream's: it has no table "
                "'generation'; mend: move it away, then memstream rebuild"
            )
        row = _one(connection, "SELECT * FROM generation")
        found, layout, rewrite_due = Generation(*row[:3]), row[3], row[5]
        if found != self.generation or layout != LAYOUT:
            raise WrongGeneration(
                f"{self.path}: built by {_named(found, layout)}, but this is "
                f"{_named(self.generation, LAYOUT)}; mend: memstream rebuild"
            )
        if missing:
            raise ProjectionDamaged(
                f"{self.path}: has no table {', '.join(missing)}; mend: memstream rebuild"
            )
        return bool(rewrite_due)

    def _disconnect(self) -> None:
        connection, self._connection, self._release_due = self._connection, None, False
        if connection is not None:
            with restated(self.path):
                connection.close()

    @contextmanager
    def _transaction(self, connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
        """Commits at the end, or undoes everything. A connection that cannot even undo is
        dropped: the file then stands at its last commit."""
        with restated(self.path):
            connection.begin()
            try:
                yield
                connection.commit()
            except BaseException:
                try:
                    connection.rollback()
                except duckdb.Error:
                    self._connection = None
                    connection.close()
                raise

    def _rewrite(self) -> None:
        """Copies the live rows into a new file and puts it in the place of the old one.

        Deleted rows stay readable in the blocks of a DuckDB file until these are used again, so
        only a new file is free of them. The swap is one rename: a crash leaves the old file,
        whose ``rewrite_due`` starts this again, or the new one.
        """
        connection = self._connected()
        fresh_path = self.path.with_name(self.path.name + REWRITE_SUFFIX)
        remove_leftovers(self.path)
        with restated(self.path):
            fresh = open_file(fresh_path, wait_s=self._wait_s)
            fresh.execute(_SCHEMA.read_text(encoding="utf-8"))
            fresh.close()
            place = str(fresh_path).replace("'", "''")
            connection.execute(f"ATTACH '{place}' AS fresh")
            for table in ("generation", *TABLES):
                connection.execute(f"INSERT INTO fresh.main.{table} SELECT * FROM main.{table}")
            connection.execute("UPDATE fresh.main.generation SET rewrite_due = false")
            connection.execute("CHECKPOINT fresh")
            connection.execute("DETACH fresh")
            connection.execute("CHECKPOINT")
        self._disconnect()
        log = self.path.with_name(f"{self.path.name}.wal")
        if log.exists():
            raise IndexUnavailable(
                f"{log}: could not be merged, so erased content may be left in it; mend: stop "
                "other readers of the file and open the index again"
            )
        with restated(self.path):
            flush_to_disk(fresh_path)
            fresh_path.replace(self.path)
            flush_to_disk(self.path.parent)
            remove_leftovers(self.path)


def create(connection: duckdb.DuckDBPyConnection, generation: Generation) -> None:
    """Makes all tables and views of an empty file and stamps it, in one transaction."""
    connection.begin()
    connection.execute(_SCHEMA.read_text(encoding="utf-8"))
    connection.execute(
        "INSERT INTO generation VALUES (?, ?, ?, ?, 0, false, MAP {})",
        [generation.pipeline, generation.embedder, generation.schema, LAYOUT],
    )
    connection.commit()


def _remove_earlier_attempts(
    connection: duckdb.DuckDBPyConnection, steps: Sequence[Step], before: Mapping[int, int]
) -> None:
    """Leaves of an event that was processed again, a dead letter that was retried, the row of
    the last attempt alone, as a rebuild has it. ``before`` is each partition's next offset
    before these steps."""
    seen: set[tuple[int, int]] = set()
    again: set[tuple[int, int]] = set()
    for step in steps:
        place = (step.partition, step.offset)
        if step.offset == VOID:
            continue
        if place in seen or step.offset < before.get(step.partition, 0):
            again.add(place)
        seen.add(place)
    if not again:
        return
    # On Kafka what is made anew after an erasure stands where the request does, beside others,
    # or one place before it: an event of another scope is there, which may have the same id.
    places = sorted(again)
    removed = connection.execute(
        "WITH places AS (SELECT unnest($1::INTEGER[]) AS log_partition,"
        " unnest($2::BIGINT[]) AS log_offset)"
        " DELETE FROM events USING (SELECT log_partition, log_offset, scope, id, max(seq) AS seq"
        " FROM events SEMI JOIN places USING (log_partition, log_offset)"
        " GROUP BY log_partition, log_offset, scope, id) AS kept"
        " WHERE events.log_partition = kept.log_partition"
        " AND events.log_offset = kept.log_offset"
        " AND events.scope = kept.scope AND events.id = kept.id"
        " AND events.seq < kept.seq RETURNING events.seq",
        [[at[0] for at in places], [at[1] for at in places]],
    ).fetchall()
    gone = [seq for (seq,) in removed]
    for table in ("contexts", "context_items", "feedback", "erasures", "reviews"):
        connection.execute(
            f"DELETE FROM {table} WHERE list_contains($1::BIGINT[], seq)",
            [gone],
        )


def _spelled(text: str) -> str:
    return msgspec.json.encode(text)[1:-1].decode()


def _position(connection: duckdb.DuckDBPyConnection) -> int:
    return int(_one(connection, "SELECT position FROM generation")[0])


def _positions(connection: duckdb.DuckDBPyConnection) -> dict[int, int]:
    found = _one(connection, "SELECT positions FROM generation")[0]
    return {int(partition): int(offset) for partition, offset in found.items()}


def _named(generation: Generation, layout: int) -> str:
    return (
        f"pipeline {generation.pipeline}, embedder {generation.embedder}, schema "
        f"{generation.schema}, layout {layout}"
    )


def _one(
    connection: duckdb.DuckDBPyConnection, query: str, values: Sequence[Any] = ()
) -> tuple[Any, ...]:
    row: tuple[Any, ...] | None = connection.execute(query, list(values)).fetchone()
    if row is None:
        raise ProjectionDamaged(f"no answer to: {query}; mend: memstream rebuild")
    return row

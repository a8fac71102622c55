"""The event log in one SQLite file: many threads and processes append, every event is durable.

One table per partition, keyed by the offset, so an append goes to the right edge of its table (a
page is filled once) and a read is a range scan. A unique index on (subject, id) makes delivery
idempotent. What repeats from event to event (scope, type, source, key id) stands once in
``envelopes`` and is a number in the row. ``recordedtime`` strictly increases inside a partition,
so finding an instant is a binary search and needs no index.

Threads of one process share commits: who comes first writes what has queued meanwhile, and each
caller returns when its own rows are durable. Processes take turns by SQLite's write lock.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import structlog

from memstream.schemas.codec import SealedRow
from memstream.schemas.counting import quantity
from memstream.schemas.errors import (
    Fault,
    InvalidEvent,
    LogUnavailable,
    MemstreamError,
    SealOutdated,
)
from memstream.schemas.instants import to_micros
from memstream.streams.clock import Clock
from memstream.streams.log import Entry, Position, partition_of
from memstream.streams.log_rows_in_sqlite import (
    BY_ID,
    DEFAULT_PARTITIONS,
    INSERT,
    LAST,
    LOG_FILE,
    MOST_PARTITIONS,
    OF_PARTITION,
    SELECT,
    SELECT_IN,
    Envelopes,
    Found,
    envelope_of,
    micros_of,
    of_partition,
    row_of,
)
from memstream.streams.sqlite_files import (
    WAIT_SECONDS,
    Readers,
    connect,
    open_file,
    roll_back,
    stated,
    transaction,
    truncate_wal,
)

_CHUNK = 500
_CHECKPOINT_BYTES = 4 << 20
_OF_ONE_CALL = (sqlite3.Error, MemstreamError, UnicodeEncodeError, OverflowError)

_LOGGER = structlog.get_logger(__name__)


class SqliteLog:
    """``EventLog`` in one file. Open it once per process; share it between threads.

    ``partitions`` counts only when the file is created; a file made with another number refuses
    to open. ``wait_s`` bounds how long a call waits for other processes. An object must not be
    carried over a fork: open another one in the child.

    ``is_current`` tells whether a row is sealed under its subject's current key. It is asked once
    nobody else can append, so a row that comes after an erasure's request in the log is never
    under a key that the erasure destroys.

    After an I/O error during a commit the rows of that call may turn out to be there; appending
    the same ids again is harmless and tells.
    """

    def __init__(
        self,
        path: Path,
        clock: Clock,
        *,
        partitions: int | None = None,
        wait_s: float = WAIT_SECONDS,
        is_current: Callable[[SealedRow], bool] | None = None,
    ) -> None:
        if partitions is not None and not 1 <= partitions <= MOST_PARTITIONS:
            raise LogUnavailable(
                f"event log {path}: {quantity(partitions, 'partition')}; mend: choose 1 to "
                f"{MOST_PARTITIONS}"
            )
        self.path = path
        self._clock = clock
        self._is_current = is_current
        self._process = os.getpid()
        self._waiting: deque[_Call] = deque()
        self._writing = threading.Lock()
        self._closed = False
        self._unchecked_bytes = 0
        first: list[tuple[str, Sequence[Any]]] = [
            ("INSERT INTO meta VALUES ('partitions', ?)", (partitions or DEFAULT_PARTITIONS,))
        ]
        for partition in range(partitions or DEFAULT_PARTITIONS):
            first += [(of_partition(statement, partition), ()) for statement in OF_PARTITION]
        self._writer = open_file(path, LOG_FILE, first=first, wait_s=wait_s)
        try:
            self._partitions = _partitions_of(self._writer, path, partitions)
        except BaseException:
            self._writer.close()
            raise
        self._readers = Readers(lambda: connect(path, LOG_FILE, wait_s=wait_s))
        numbers = range(self._partitions)
        self._select = [of_partition(SELECT, each) for each in numbers]
        self._insert = [of_partition(INSERT, each) for each in numbers]
        self._last = [of_partition(LAST, each) for each in numbers]
        self._by_id = [of_partition(BY_ID, each) for each in numbers]
        self._envelopes = Envelopes(self._partitions)

    @property
    def partitions(self) -> int:
        return self._partitions

    def append(self, rows: Sequence[SealedRow]) -> list[Position]:
        """Appends durably, all or none. Raises ``LogUnavailable``; ``InvalidEvent`` for a row
        that no column can hold (invalid Unicode, a number beyond 64 bits, a naive time);
        ``SealOutdated`` where a row's key is no longer current."""
        if not rows:
            return []
        call = _Call(rows)
        self._waiting.append(call)
        with self._writing:
            if call.positions is None and call.error is None:
                self._commit_waiting()
        if call.error is not None:
            raise call.error
        if call.positions is None:
            raise LogUnavailable(
                f"event log {self.path}: the thread that was committing for this one was "
                "interrupted; mend: append the same events again"
            )
        return call.positions

    def read(self, partition: int, offset: int, limit: int) -> list[Entry]:
        if offset < 0 or limit <= 0:
            return []
        query = self._select[partition] + " WHERE offset >= ? ORDER BY offset LIMIT ?"
        return self._entries(partition, query, offset, limit)

    def end_offsets(self) -> dict[int, int]:
        with self._reading() as connection:
            ends = [connection.execute(query).fetchone() for query in self._last]
        return {partition: 0 if end is None else end[0] + 1 for partition, end in enumerate(ends)}

    def counts(self) -> dict[int, int]:
        """How many events each partition really holds. Equals ``end_offsets`` unless rows were
        lost; reads every index."""
        query = "SELECT count(*) FROM events_P"
        with self._reading() as connection:
            found = [
                connection.execute(of_partition(query, each)) for each in range(self._partitions)
            ]
            return {partition: each.fetchone()[0] for partition, each in enumerate(found)}

    def offset_at(self, partition: int, instant: datetime) -> int:
        sought = to_micros(instant)
        query = of_partition("SELECT recordedtime FROM events_P WHERE offset = ?", partition)
        with self._reading() as connection:
            end = connection.execute(self._last[partition]).fetchone()
            low, high = 0, 0 if end is None else end[0] + 1
            while low < high:
                middle = (low + high) // 2
                if connection.execute(query, (middle,)).fetchone()[0] < sought:
                    low = middle + 1
                else:
                    high = middle
        return low

    def find(self, subject: str, event_id: str) -> Entry | None:
        partition = partition_of(subject, self._partitions)
        query = self._select[partition] + " WHERE subject = ? AND id = ?"
        with self._reading() as connection:
            number = self._envelopes.subject(connection, subject)
        found = [] if number is None else self._entries(partition, query, number, event_id)
        return found[0] if found else None

    def of_subject(self, subject: str) -> Iterator[Entry]:
        """All events of one scope that are there at the first step, in order."""
        partition = partition_of(subject, self._partitions)
        query = of_partition(
            "SELECT offset FROM events_P WHERE subject = ? ORDER BY offset", partition
        )
        with self._reading() as connection:
            number = self._envelopes.subject(connection, subject)
            found = connection.execute(of_partition(query, partition), (number,)).fetchall()
        offsets = [offset for (offset,) in found]
        query = of_partition(SELECT_IN, partition)
        for start in range(0, len(offsets), _CHUNK):
            chunk = str(offsets[start : start + _CHUNK])
            yield from self._entries(partition, query, chunk)

    def replace_all(self, entries: Iterable[Entry]) -> None:
        """Key, payload and data version may differ; anything else that differs raises
        ``LogUnavailable`` and nothing is changed. The old bytes are zeroed; call ``scrub``
        afterwards to clear the write-ahead log too.
        """
        update = "UPDATE events_P SET envelope = ?, payload = ? WHERE offset = ?"
        with self._writing, self._failing("rewritten"):
            try:
                with transaction(self._writer):
                    for entry in entries:
                        query = self._select[entry.partition] + " WHERE offset = ?"
                        found = self._writer.execute(query, (entry.offset,)).fetchone()
                        there = found and self._entry(self._writer, entry.partition, found)
                        _check_same(self.path, entry, there)
                        envelope = self._envelopes.number(self._writer, envelope_of(entry.row))[0]
                        values = (envelope, entry.row.payload, entry.offset)
                        self._writer.execute(of_partition(update, entry.partition), values)
                        self._unchecked_bytes += len(entry.row.payload)
            except BaseException:
                self._envelopes.drop()
                raise
            self._envelopes.keep()
            self._checkpoint()

    def scrub(self, *, compact: bool = False) -> None:
        """Leaves no byte of a replaced row in the write-ahead log or in free pages.

        Pages that SQLite split while rows were replaced may still hold copies of rows they no
        longer own, sealed under a destroyed key; ``compact`` rewrites the whole file without
        them (needs as much free space again, blocks appends meanwhile). Raises
        ``LogUnavailable`` if another process reads for longer than the wait.
        """
        with self._writing, self._failing("scrubbed"):
            if compact:
                self._writer.execute("VACUUM")
            truncate_wal(self._writer)
            self._unchecked_bytes = 0

    def committed(self, consumer: str) -> dict[int, int]:
        query = "SELECT partition, next FROM consumers WHERE consumer = ? ORDER BY partition"
        with self._reading() as connection:
            return dict(connection.execute(query, (consumer,)).fetchall())

    def commit(self, consumer: str, offsets: Mapping[int, int]) -> None:
        statement = "INSERT OR REPLACE INTO consumers VALUES (?, ?, ?)"
        values = [(consumer, partition, offset) for partition, offset in offsets.items()]
        with self._writing, self._failing("written"), transaction(self._writer):
            self._writer.executemany(statement, values)

    def close(self) -> None:
        """Idempotent. The last process to close moves the write-ahead log into the file."""
        with self._writing:
            if self._closed or self._process != os.getpid():
                return
            self._closed = True
            try:
                if self._unchecked_bytes:
                    # A process that lives for one append must not leave the log to grow.
                    self._unchecked_bytes = _CHECKPOINT_BYTES
                    self._checkpoint()
            except sqlite3.Error as error:
                # Nothing is lost: the write-ahead log keeps it and the next process copies it.
                _LOGGER.warning("log_not_checkpointed", path=str(self.path), error=str(error))
            finally:
                self._readers.close()
                self._writer.close()

    def _entries(self, partition: int, query: str, *values: Any) -> list[Entry]:
        with self._reading() as connection:
            found = connection.execute(query, values).fetchall()
            return [self._entry(connection, partition, each) for each in found]

    def _entry(self, connection: sqlite3.Connection, partition: int, found: Found) -> Entry:
        envelope = self._envelopes.named(connection, found[3])
        return Entry(partition, found[0], row_of(found, envelope))

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._failing("read"), self._readers.borrow() as connection:
            yield connection

    @contextmanager
    def _failing(self, doing: str) -> Iterator[None]:
        self._check_process()
        try:
            yield
        except sqlite3.Error as error:
            raise stated(error, self.path, LOG_FILE, doing) from error

    def _check_process(self) -> None:
        if self._process != os.getpid():
            raise LogUnavailable(
                f"event log {self.path}: opened before a fork; mend: open it in the child process"
            )

    # Appending

    def _commit_waiting(self) -> None:
        calls: list[_Call] = []
        while self._waiting:
            calls.append(self._waiting.popleft())
        try:
            self._commit_calls(calls)
        except _OF_ONE_CALL as error:
            if len(calls) == 1:
                calls[0].error = self._stated(error, calls[0])
                return
            # One bad call must not fail its neighbours: each again, on its own.
            for call in calls:
                try:
                    self._commit_calls([call])
                except _OF_ONE_CALL as alone:
                    call.error = self._stated(alone, call)
        try:
            self._checkpoint()
        except sqlite3.Error as error:
            # The events are durable, so the append stands; the next one tries again.
            _LOGGER.warning("log_not_checkpointed", path=str(self.path), error=str(error))

    def _commit_calls(self, calls: Sequence[_Call]) -> None:
        self._check_process()
        connection = self._writer
        connection.execute("BEGIN IMMEDIATE")
        try:
            self._check_seals(calls)
            try:
                answers = self._insert_new(calls)
            except sqlite3.IntegrityError:
                connection.execute("ROLLBACK")
                self._envelopes.drop()
                connection.execute("BEGIN IMMEDIATE")
                answers = self._insert_missing(calls)
            connection.execute("COMMIT")
        except BaseException:
            roll_back(connection)
            self._envelopes.drop()
            raise
        self._envelopes.keep()
        for call, positions in zip(calls, answers, strict=True):
            call.positions = positions
            self._unchecked_bytes += call.size

    def _check_seals(self, calls: Sequence[_Call]) -> None:
        if self._is_current is None:
            return
        sealed = {(row.subject, row.key_id): row for call in calls for row in call.rows}
        for row in sealed.values():
            if not self._is_current(row):
                raise SealOutdated(
                    f"event log {self.path}: event {row.id} is sealed under key {row.key_id}, "
                    f"which is no longer current for {row.subject}; mend: seal and append again"
                )

    def _insert_new(self, calls: Sequence[_Call]) -> list[list[Position]]:
        """Inserts all rows, taking none for a duplicate. ``IntegrityError`` where one is."""
        connection, now = self._writer, to_micros(self._clock.now())
        known, number_of = self._envelopes.known, self._envelopes.number
        ends: dict[int, _End] = {}
        answers: list[list[Position]] = []
        for call in calls:
            positions: list[Position] = []
            for row in call.rows:
                envelope = envelope_of(row)
                number, subject, partition = known.get(envelope) or number_of(connection, envelope)
                end = ends.get(partition)
                if end is None:
                    end = ends[partition] = self._end(partition, now)
                offset = end.offset = end.offset + 1
                recorded = end.recorded = end.recorded + 1
                event_id = row.id
                end.records.append(
                    (offset, recorded, event_id, subject, number, micros_of(row), row.payload)
                )
                positions.append(Position(partition, offset, envelope[0], event_id))
            answers.append(positions)
        for partition, end in ends.items():
            connection.executemany(self._insert[partition], end.records)
        return answers

    def _insert_missing(self, calls: Sequence[_Call]) -> list[list[Position]]:
        """Inserts row by row what is not there yet."""
        connection, now = self._writer, to_micros(self._clock.now())
        answers: list[list[Position]] = []
        for call in calls:
            positions: list[Position] = []
            there: dict[tuple[str, str], Position] = {}
            for row in call.rows:
                number, subject, partition = self._envelopes.number(connection, envelope_of(row))
                found = connection.execute(self._by_id[partition], (subject, row.id)).fetchone()
                if found is None and row.goes_with and (row.subject, row.goes_with) in there:
                    positions.append(there[row.subject, row.goes_with])
                    continue
                if found is None:
                    end = self._end(partition, now)
                    at, recorded = end.offset + 1, end.recorded + 1
                    record = (at, recorded, row.id, subject, number, micros_of(row), row.payload)
                    connection.execute(self._insert[partition], record)
                else:
                    at = found[0]
                duplicate = found is not None
                positions.append(Position(partition, at, row.subject, row.id, duplicate))
                if duplicate:
                    there[row.subject, row.id] = positions[-1]
            answers.append(positions)
        return answers

    def _end(self, partition: int, now: int) -> _End:
        found = self._writer.execute(self._last[partition]).fetchone()
        return _End(-1, now - 1) if found is None else _End(found[0], max(found[1], now - 1))

    def _checkpoint(self) -> None:
        """Copies the write-ahead log into the file when enough has gathered.

        It holds the write lock meanwhile: up to SQLite 3.51.2 a commit that restarts the log at
        the same instant as a checkpoint can damage the file (sqlite.org/wal.html, "WAL-reset").
        """
        if self._unchecked_bytes < _CHECKPOINT_BYTES:
            return
        self._writer.execute("BEGIN IMMEDIATE")
        try:
            with self._readers.borrow() as other:
                other.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            self._unchecked_bytes = 0
        finally:
            roll_back(self._writer)

    def _stated(self, error: Exception, call: _Call) -> MemstreamError:
        if isinstance(error, sqlite3.Error):
            return stated(error, self.path, LOG_FILE, "appended to")
        if isinstance(error, MemstreamError):
            return error
        ids = ", ".join(repr(row.id) for row in call.rows[:3])
        return InvalidEvent(f"append of {ids}", [Fault("$", f"cannot be stored: {error}")])


class _Call:
    """One caller's rows on their way into the log, and the answer."""

    __slots__ = ("error", "positions", "rows", "size")

    def __init__(self, rows: Sequence[SealedRow]) -> None:
        self.rows = rows
        # About what a row takes in the write-ahead log: a page or two for the call, its bytes.
        self.size = 8192 + sum([len(row.payload) + 200 for row in rows])
        self.positions: list[Position] | None = None
        self.error: MemstreamError | None = None


class _End:
    """The last offset and recorded time of a partition in one write transaction."""

    __slots__ = ("offset", "recorded", "records")

    def __init__(self, offset: int, recorded: int) -> None:
        self.offset = offset
        self.recorded = recorded
        self.records: list[tuple[Any, ...]] = []


def _partitions_of(connection: sqlite3.Connection, path: Path, asked: int | None) -> int:
    try:
        query = "SELECT value FROM meta WHERE name = 'partitions'"
        found = connection.execute(query).fetchone()
    except sqlite3.Error as error:
        raise stated(error, path, LOG_FILE, "opened") from error
    if found is None:
        raise LogUnavailable(
            f"event log {path}: its number of partitions is missing; mend: {LOG_FILE.mend}"
        )
    if asked is not None and asked != found[0]:
        raise LogUnavailable(
            f"event log {path}: it has {quantity(found[0], 'partition')}, {asked} were asked for; "
            "mend: leave the number out, it is fixed when the log is created"
        )
    return int(found[0])


def _check_same(path: Path, entry: Entry, found: Entry | None) -> None:
    where = f"event log {path}, partition {entry.partition}, offset {entry.offset}"
    if found is None:
        raise LogUnavailable(f"{where}: there is no event; mend: replace an entry that was read")
    names = "id type subject time source_kind trust runtime run recordedtime".split()
    there, row = found.row, entry.row
    differ = [name for name in names if getattr(there, name) != getattr(row, name)]
    if not differ and there.time.utcoffset() != row.time.utcoffset():
        differ = ["time"]
    if differ:
        raise LogUnavailable(
            f"{where}: event {there.id} would change its {', '.join(differ)}; the log is "
            "immutable; mend: replace an entry by itself, sealed anew"
        )

"""The client for agent runtimes: ``offer`` never waits for a broker, a thread sends in order.

What is offered goes into a small SQLite file at once and is deleted there once the log has it. So
it survives the death of the process the moment ``offer`` returns (a power cut may take the last
second), and a broker that is away for an hour costs disk space and nothing else. After a crash
between append and delete the same events are appended again: their ids are the same, so the log
or whoever derives from it drops them.

    outbox.db      what waits, and what the log refused, with the reason
    worker.lease   which process sends: one at a time, so that the order stays

All processes of a machine may share one directory; when the one that sends dies, another goes on.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec
import structlog

from memstream.schemas.codec import SealedRow
from memstream.schemas.counting import quantity
from memstream.schemas.errors import Fault, InvalidEvent, LogUnavailable, MemstreamError
from memstream.streams.clock import Clock, Deadline
from memstream.streams.lease import WorkerLease
from memstream.streams.log import EventLog
from memstream.streams.sqlite_files import FileKind, connect, open_file, stated, transaction

OUTBOX_FILE = FileKind(
    name="outbox",
    application_id=0x6D736F62,
    version=1,
    schema=(
        "CREATE TABLE waiting(number INTEGER PRIMARY KEY AUTOINCREMENT, subject TEXT NOT NULL,"
        " id TEXT NOT NULL, row BLOB NOT NULL, UNIQUE(subject, id))",
        "CREATE TABLE refused(number INTEGER PRIMARY KEY, row BLOB NOT NULL, why TEXT NOT NULL)",
    ),
    # Checkpoints are taken by the thread that sends: they wait for the disk.
    pragmas=("synchronous=NORMAL", "secure_delete=ON", "wal_autocheckpoint=0"),
    mode=0o600,
    mend="restore it from a copy, or move it away: what it holds was not sent",
)

_BATCH_ROWS = 500
_BATCH_BYTES = 4 << 20
_CHECKPOINT_BYTES = 4 << 20
_LOOK_SECONDS = 0.25
"""How often the sender looks for what other processes offered, and tries a log that was away."""
_REOPEN_AFTER = 10

_DECODER = msgspec.json.Decoder(SealedRow)
_LOGGER = structlog.get_logger(__name__)


class OutboxFull(MemstreamError):
    """The outbox holds as many events as it may; nothing of the call was taken."""


class OutboxCounts(msgspec.Struct, frozen=True):
    """What happened to what was offered. ``offered`` = ``known`` + sent by this or another
    process + ``refused`` + ``waiting``."""

    offered: int
    """Rows of this process's calls."""
    known: int
    """Of those, rows that were waiting already."""
    sent: int
    """Rows that this process appended; the log may have had some of them before."""
    waiting: int
    """On disk, not sent yet, of all processes."""
    refused: int
    """On disk, with the reason, because the log takes them never; see ``refused``."""
    failures: int
    """Tries of this process that found the log away."""
    last_error: str
    """Of the last such try; empty once one went well."""


class Refused(msgspec.Struct, frozen=True):
    """An event that the log does not take, and why."""

    row: SealedRow
    why: str


class Outbox:
    """Takes events for a log that may be away. Open it once per process; share it between
    threads. ``open_log`` is called by the sending thread, again where it failed. ``check`` sees
    every row first and raises ``InvalidEvent`` for what the log would refuse. Not to be carried
    over a fork.
    """

    def __init__(
        self,
        directory: Path,
        open_log: Callable[[], EventLog],
        clock: Clock,
        *,
        most_events: int = 1_000_000,
        check: Callable[[SealedRow], None] | None = None,
    ) -> None:
        self.path = directory / "outbox.db"
        directory.mkdir(parents=True, exist_ok=True)
        self._open_log = open_log
        self._most_events = most_events
        self._check = check
        self._process = os.getpid()
        self._lease = WorkerLease(directory, clock)
        self._taking = open_file(self.path, OUTBOX_FILE)
        self._sending = connect(self.path, OUTBOX_FILE)
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._moved = threading.Condition()
        self._closed = False
        self._offered = self._known = self._sent = self._failures = 0
        self._failed_in_a_row = 0
        self._last_error = ""
        self._unchecked_bytes = 0
        self._log: EventLog | None = None
        self._thread = threading.Thread(target=self._run, name="memstream-outbox", daemon=True)
        self._thread.start()

    def offer(self, rows: Sequence[SealedRow]) -> None:
        """Takes the rows, all or none, in order. A row that waits already is not taken twice.
        Waits for this machine's disk at most. ``OutboxFull``, ``InvalidEvent``, or
        ``LogUnavailable`` where the file cannot be written."""
        if self._closed or self._process != os.getpid():
            raise LogUnavailable(
                f"outbox {self.path}: closed, or opened before a fork; mend: open it again"
            )
        if self._check is not None:
            for row in rows:
                self._check(row)
        try:
            values = [(row.subject, row.id, msgspec.json.encode(row)) for row in rows]
        except UnicodeEncodeError as error:
            fault = Fault("$", f"cannot be stored: {error}")
            raise InvalidEvent(f"offer of {quantity(len(rows), 'event')}", [fault]) from error
        with self._lock:
            try:
                with transaction(self._taking):
                    self._check_room(len(values))
                    before = self._taking.total_changes
                    self._taking.executemany(
                        "INSERT OR IGNORE INTO waiting(subject, id, row) VALUES (?,?,?)", values
                    )
                    taken = self._taking.total_changes - before
            except sqlite3.Error as error:
                raise stated(error, self.path, OUTBOX_FILE, "written") from error
            self._offered += len(values)
            self._known += len(values) - taken
        self._wake.set()

    def counts(self) -> OutboxCounts:
        with self._lock:
            waiting = self._number("SELECT count(*) FROM waiting")
            refused = self._number("SELECT count(*) FROM refused")
            return OutboxCounts(
                self._offered, self._known, self._sent, waiting, refused, self._failures,
                self._last_error,
            )  # fmt: skip

    def refused(self) -> list[Refused]:
        """What the log never takes; it stays on disk until somebody deals with it."""
        with self._lock:
            query = "SELECT row, why FROM refused ORDER BY number"
            found = self._taking.execute(query).fetchall()
        return [Refused(_DECODER.decode(row), why) for row, why in found]

    def flush(self, timeout_s: float) -> bool:
        """Waits until nothing waits any more; False where the time ran out first."""
        deadline = Deadline(timeout_s)
        while True:
            with self._lock:
                if not self._number("SELECT EXISTS (SELECT 1 FROM waiting)"):
                    return True
            if deadline.passed or not self._thread.is_alive():
                return False
            self._wake.set()
            with self._moved:
                self._moved.wait(_LOOK_SECONDS)

    def close(self, timeout_s: float = 5.0) -> bool:
        """Sends what it can within that time; the rest stays on disk for the next process. True
        where nothing is left. Idempotent."""
        if self._closed or self._process != os.getpid():
            return True
        done = self.flush(timeout_s)
        self._closed = True
        self._stop.set()
        self._wake.set()
        self._thread.join(timeout_s)
        if self._thread.is_alive():
            # It hangs in the log's append; what it holds is on disk, the process may end.
            _LOGGER.warning("outbox_still_sending", path=str(self.path))
            return done
        with self._lock:
            self._taking.close()
        return done

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _number(self, query: str) -> int:
        return int(self._taking.execute(query).fetchone()[0])

    def _check_room(self, more: int) -> None:
        first, last = self._taking.execute(
            "SELECT min(number), max(number) FROM waiting"
        ).fetchone()
        held = 0 if last is None else last - first + 1
        if held + more > self._most_events:
            raise OutboxFull(
                f"outbox {self.path}: {quantity(held, 'event')} waiting, {more} more would be "
                "over its limit of "
                f"{self._most_events}; mend: bring the log back (last error: "
                f"{self._last_error or 'none'}), or open the outbox with a higher limit"
            )

    # The sending thread

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                try:
                    sent = self._send_batch()
                except (MemstreamError, sqlite3.Error) as error:
                    sent = False
                    self._note(error)
                if not sent:
                    self._wake.wait(_LOOK_SECONDS)
                    self._wake.clear()
                    if self._last_error:
                        self._stop.wait(_LOOK_SECONDS)
        finally:
            self._lease.release()
            if self._log is not None:
                self._log.close()
            self._sending.close()

    def _send_batch(self) -> bool:
        """Appends what came first, then deletes it. False where there was nothing to do."""
        if not self._lease.acquire():
            return False
        query = "SELECT number, row FROM waiting ORDER BY number LIMIT ?"
        batch: list[tuple[int, bytes]] = []
        size = 0
        for number, encoded in self._sending.execute(query, (_BATCH_ROWS,)).fetchall():
            size += len(encoded)
            if batch and size > _BATCH_BYTES:
                break
            batch.append((number, encoded))
        if not batch:
            return False
        if self._log is None:
            self._log = self._open_log()
        try:
            self._log.append([_DECODER.decode(encoded) for _, encoded in batch])
        except InvalidEvent as error:
            if len(batch) > 1:
                self._send_one_by_one(self._log, batch)
            else:
                self._refuse(batch[0], error)
        else:
            self._delete(batch)
        self._failed_in_a_row, self._last_error = 0, ""
        with self._moved:
            self._moved.notify_all()
        self._checkpoint(size)
        return True

    def _send_one_by_one(self, log: EventLog, batch: Sequence[tuple[int, bytes]]) -> None:
        for each in batch:
            try:
                log.append([_DECODER.decode(each[1])])
            except InvalidEvent as error:
                self._refuse(each, error)
            else:
                self._delete([each])

    def _delete(self, batch: Sequence[tuple[int, bytes]]) -> None:
        with transaction(self._sending):
            self._sending.executemany(
                "DELETE FROM waiting WHERE number = ?", [(number,) for number, _ in batch]
            )
        self._sent += len(batch)

    def _refuse(self, each: tuple[int, bytes], error: InvalidEvent) -> None:
        number, encoded = each
        with transaction(self._sending):
            self._sending.execute("DELETE FROM waiting WHERE number = ?", (number,))
            self._sending.execute(
                "INSERT INTO refused VALUES (?,?,?)", (number, encoded, str(error))
            )
        _LOGGER.error("outbox_event_refused", path=str(self.path), number=number, error=str(error))

    def _note(self, error: Exception) -> None:
        if not self._last_error:
            _LOGGER.warning("outbox_log_away", path=str(self.path), error=str(error))
        self._failures += 1
        self._failed_in_a_row += 1
        self._last_error = f"{type(error).__name__}: {error}"
        if self._failed_in_a_row >= _REOPEN_AFTER and self._log is not None:
            self._failed_in_a_row = 0
            log, self._log = self._log, None
            with suppress(LogUnavailable):  # it is away: that is why another one is opened
                log.close()

    def _checkpoint(self, size: int) -> None:
        """Copies the write-ahead log into the file when enough has gathered, under the write lock
        (see ``SqliteLog``)."""
        self._unchecked_bytes += 2 * size
        if self._unchecked_bytes < _CHECKPOINT_BYTES:
            return
        other = connect(self.path, OUTBOX_FILE)
        try:
            with transaction(self._sending):
                other.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            self._unchecked_bytes = 0
        finally:
            other.close()

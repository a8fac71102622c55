"""What the event log's SQLite file holds: its tables, its statements, and rows in and out.

``log_in_sqlite`` is the only caller.
"""

from __future__ import annotations

import sqlite3
from datetime import UTC, timedelta, timezone
from typing import cast

from memstream.schemas.codec import SealedRow
from memstream.schemas.errors import Fault, InvalidEvent, LogUnavailable
from memstream.schemas.events import SourceKind
from memstream.schemas.instants import EPOCH
from memstream.streams.log import partition_of
from memstream.streams.sqlite_files import FileKind

DEFAULT_PARTITIONS = 4
MOST_PARTITIONS = 1024

LOG_FILE = FileKind(
    name="event log",
    application_id=0x6D736C67,
    version=1,
    schema=(
        "CREATE TABLE meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID",
        "CREATE TABLE consumers(consumer TEXT, partition INTEGER, next INTEGER NOT NULL,"
        " PRIMARY KEY(consumer, partition)) WITHOUT ROWID",
        "CREATE TABLE subjects(number INTEGER PRIMARY KEY, subject TEXT NOT NULL UNIQUE)",
        "CREATE TABLE envelopes(number INTEGER PRIMARY KEY, subject INTEGER NOT NULL,"
        " type TEXT NOT NULL, source_kind TEXT NOT NULL, trust INTEGER NOT NULL,"
        " runtime TEXT NOT NULL, run TEXT NOT NULL, dataversion INTEGER NOT NULL,"
        " key_id TEXT NOT NULL, utc_offset INTEGER NOT NULL,"
        " UNIQUE(subject, type, source_kind, trust, runtime, run, dataversion, key_id,"
        " utc_offset))",
    ),
    # Checkpoints are taken by ``_checkpoint`` under the write lock, never by a commit.
    pragmas=("synchronous=FULL", "secure_delete=ON", "wal_autocheckpoint=0"),
)
"""``next`` is the offset a consumer reads next."""

OF_PARTITION = (
    "CREATE TABLE events_P(offset INTEGER PRIMARY KEY, recordedtime INTEGER, id TEXT,"
    " subject INTEGER, envelope INTEGER, time INTEGER, payload BLOB)",
    "CREATE UNIQUE INDEX events_P_by_id ON events_P(subject, id)",
)
"""P stands for the partition. ``time`` and ``recordedtime`` are UTC microseconds since 1970, the
``utc_offset`` of an envelope is the speaker's offset in microseconds. Columns of events have no
constraints: checking them again costs more than the row."""

_MOST_CACHED = 100_000

Envelope = tuple[str, str, str, int, str, str, int, str, int]
"""subject, type, source kind, trust, runtime, run, data version, key id, utc offset"""
Found = tuple[int, int, str, int, int, bytes]
"""offset, recorded time, event id, envelope number, time, payload"""

SELECT = "SELECT offset, recordedtime, id, envelope, time, payload FROM events_P"
SELECT_IN = SELECT + " WHERE offset IN (SELECT value FROM json_each(?)) ORDER BY offset"  # noqa: S608
INSERT = "INSERT INTO events_P VALUES (?,?,?,?,?,?,?)"
LAST = "SELECT offset, recordedtime FROM events_P ORDER BY offset DESC LIMIT 1"
BY_ID = "SELECT offset FROM events_P WHERE subject = ? AND id = ?"
_ENVELOPE = (
    "SELECT number FROM envelopes WHERE subject = ? AND type = ? AND source_kind = ?"
    " AND trust = ? AND runtime = ? AND run = ? AND dataversion = ? AND key_id = ?"
    " AND utc_offset = ?"
)
_ENVELOPE_AT = (
    "SELECT s.subject, type, source_kind, trust, runtime, run, dataversion, key_id,"
    " utc_offset FROM envelopes e JOIN subjects s ON s.number = e.subject WHERE e.number = ?"
)


def of_partition(statement: str, partition: int) -> str:
    return statement.replace("events_P", f"events_{partition}")


_NO_OFFSET = timedelta(0)
_DAY_MICROS = 86_400_000_000
_ZONES: dict[int, timezone] = {}


def envelope_of(row: SealedRow) -> Envelope:
    """What repeats from event to event."""
    time = row.time
    away = 0
    if time.tzinfo is not UTC:
        offset = time.utcoffset() or _NO_OFFSET
        away = offset.days * _DAY_MICROS + offset.seconds * 1_000_000 + offset.microseconds
    return (
        row.subject, row.type, row.source_kind, row.trust, row.runtime, row.run, row.dataversion,
        row.key_id, away,
    )  # fmt: skip


def micros_of(row: SealedRow) -> int:
    """The row's time in UTC microseconds. ``InvalidEvent`` for a naive one."""
    try:
        since = row.time - EPOCH
    except TypeError as error:
        raise InvalidEvent(row.id, [Fault("$.time", "has no UTC offset")]) from error
    return since.days * _DAY_MICROS + since.seconds * 1_000_000 + since.microseconds


def row_of(found: Found, envelope: Envelope) -> SealedRow:
    """The row of what ``SELECT`` found; its time has the speaker's UTC offset again."""
    _, recorded, event_id, _, micros, payload = found
    subject, event_type, kind, trust, runtime, run, version, key_id, away = envelope
    time = EPOCH + timedelta(microseconds=micros)
    if away:
        time = time.astimezone(_zone(away))
    return SealedRow(
        event_id, event_type, subject, time, cast("SourceKind", kind), trust, runtime, run,
        version, key_id, payload, EPOCH + timedelta(microseconds=recorded),
    )  # fmt: skip


def _zone(offset: int) -> timezone:
    zone = _ZONES.get(offset)
    if zone is None:
        if len(_ZONES) > 1_000:
            _ZONES.clear()
        zone = _ZONES[offset] = timezone(timedelta(microseconds=offset))
    return zone


class Envelopes:
    """The numbers of scopes and envelopes. Numbers never change once committed, so what is
    cached never goes stale; those of an open transaction are kept apart until it commits."""

    def __init__(self, partitions: int) -> None:
        self._partitions = partitions
        self.known: dict[Envelope, tuple[int, int, int]] = {}
        """Envelope -> (its number, its subject's number, its partition)."""
        self._pending: dict[Envelope, tuple[int, int, int]] = {}
        self._names: dict[int, Envelope] = {}

    def subject(self, connection: sqlite3.Connection, subject: str) -> int | None:
        """The number of a scope, None for one that has no event."""
        query = "SELECT number FROM subjects WHERE subject = ?"
        found = connection.execute(query, (subject,)).fetchone()
        return None if found is None else int(found[0])

    def number(self, connection: sqlite3.Connection, envelope: Envelope) -> tuple[int, int, int]:
        """The numbers of an envelope, given to it now if it is new. In a write transaction."""
        found = self.known.get(envelope) or self._pending.get(envelope)
        if found is not None:
            return found
        subject = self.subject(connection, envelope[0])
        if subject is None:
            insert = "INSERT INTO subjects(subject) VALUES (?)"
            subject = int(connection.execute(insert, (envelope[0],)).lastrowid or 0)
        values = (subject, *envelope[1:])
        row = connection.execute(_ENVELOPE, values).fetchone()
        if row is None:
            insert = "INSERT INTO envelopes VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
            number = int(connection.execute(insert, values).lastrowid or 0)
        else:
            number = int(row[0])
        found = number, subject, partition_of(envelope[0], self._partitions)
        self._pending[envelope] = found
        return found

    def named(self, connection: sqlite3.Connection, number: int) -> Envelope:
        """The envelope of a number."""
        found = self._names.get(number)
        if found is None:
            if len(self._names) >= _MOST_CACHED:
                self._names.clear()
            row = connection.execute(_ENVELOPE_AT, (number,)).fetchone()
            if row is None:
                raise LogUnavailable(
                    f"event log: envelope {number} is missing, the file is damaged; "
                    f"mend: {LOG_FILE.mend}"
                )
            found = self._names[number] = cast("Envelope", row)
        return found

    def keep(self) -> None:
        """After a commit."""
        if self._pending:
            if len(self.known) >= _MOST_CACHED:
                self.known.clear()
            self.known.update(self._pending)
            self._pending.clear()

    def drop(self) -> None:
        """After a rollback."""
        self._pending.clear()

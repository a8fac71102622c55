"""The key ring in PostgreSQL, for many workers: the same promises as the ring in one file.

A log that cannot be edited is erased by its keys, so a key must not seal too much: after
``MOST_EVENTS_PER_KEY`` uses, or ``OLDEST_KEY``, a subject goes on to a new key. Uses are counted in
blocks that a ring reserves, so sealing asks the server once in a block and not once an event. What
a process reserved and did not use counts as used.

Keys are cached in memory. One row holds an epoch, which every ``rotate`` and ``destroy`` counts up
in its own transaction; a ring asks for it when its last answer is older than the age that the row
states (``CACHE_SECONDS`` for a new ring), and drops the subjects that changed since. ``rotate`` and
``destroy`` return that age after their commit, so the bound is zero as in the file: a call that
starts later, in any process, gets no destroyed key and does not seal with an older one. A ring that
cannot reach the server uses nothing from its cache beyond that age.

Destroying rewrites the table within the same transaction, without the destroyed keys and without
the dead rows that PostgreSQL leaves behind, so a key that is gone is in no table file. The server's
write-ahead log, its archive, replicas and backups are the operator's: see
docs/decisions/2026-11-30-keys-on-an-immutable-log.md.

The connection string is libpq's (``host=... sslmode=verify-full ...`` or a URI); tables lie in the
first schema of its search path. Connect directly, or through a pooler in session mode.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import timedelta
from typing import Any, TypeVar
from uuid import UUID

import psycopg
import structlog
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from memstream.schemas.errors import KeyDestroyed, LogUnavailable, SealBroken
from memstream.schemas.sealing import KEY_BYTES, may_be_key_id
from memstream.streams.clock import Clock
from memstream.streams.nonces import Nonces

MOST_EVENTS_PER_KEY = 1_000
"""Erasing one event of an immutable log appends again what shares its key: at most so many."""

OLDEST_KEY = timedelta(days=30)
"""A key is replaced after this age, by the server's clock, when its next block is reserved."""

CACHE_SECONDS = 1.0
"""How long a ring trusts its cache without asking for the epoch, and so how long ``rotate`` and
``destroy`` wait. Written into the database when the ring is made; all rings follow that."""

WAIT_SECONDS = 30.0
"""How long a call waits for another session's lock before it fails."""

_VERSION = 1
_SCHEMA = (
    "CREATE TABLE memstream_key_ring(one boolean PRIMARY KEY DEFAULT true CHECK (one),"
    " version integer NOT NULL, epoch bigint NOT NULL, cache_s double precision NOT NULL)",
    "CREATE TABLE memstream_keys(number bigint GENERATED ALWAYS AS IDENTITY,"
    " key_id text PRIMARY KEY, subject text NOT NULL, subject_sha256 bytea NOT NULL,"
    " key bytea, current boolean NOT NULL, used integer NOT NULL,"
    " made_at timestamptz NOT NULL DEFAULT clock_timestamp(), destroyed_at timestamptz,"
    " changed bigint)",
    # A subject may be longer than an index entry.
    "CREATE UNIQUE INDEX memstream_keys_current ON memstream_keys(subject_sha256) WHERE current",
    "CREATE INDEX memstream_keys_by_subject ON memstream_keys(subject_sha256)",
    "CREATE INDEX memstream_keys_changed ON memstream_keys(changed) WHERE changed IS NOT NULL",
    # ANALYZE would copy keys into the catalogue, as the column's most common values.
    "ALTER TABLE memstream_keys ALTER COLUMN key SET STATISTICS 0",
)
"""``number`` grows from key to key of a subject. ``key`` is NULL once it was destroyed; its id
stays, so that it is known to be gone. ``changed`` is the epoch in which it was destroyed, or made
by ``rotate``."""

_MAKE_LOCK = 0x6D736B72
_DEFAULTS: dict[str, str | int] = {
    "application_name": "memstream",
    "connect_timeout": 5,
    "tcp_user_timeout": 10_000,
    "keepalives_idle": 30,
}
_SESSION = (
    "SELECT set_config('synchronous_commit', 'on', false),"
    " set_config('lock_timeout', %(wait)s, false), set_config('statement_timeout', %(wait)s, false)"
)
_SETTINGS = (
    "SELECT name, setting FROM pg_settings WHERE name IN ('fsync', 'log_statement',"
    " 'log_min_duration_statement', 'log_parameter_max_length')"
)
_STALE = "(used + %(block)s > %(most)s OR made_at <= clock_timestamp() - %(oldest)s)"
# Rows are locked in one order, so that two rings never wait for each other.
_LOCKED = (
    "WITH mine AS (SELECT key_id FROM memstream_keys WHERE subject_sha256 = ANY(%(subjects)s)"
    " AND current AND {} ORDER BY subject_sha256 FOR UPDATE)"
    " UPDATE memstream_keys AS kept SET {} FROM mine WHERE kept.key_id = mine.key_id"
)
_RESERVE = (
    _LOCKED.format(f"NOT {_STALE}", "used = kept.used + %(block)s")
    + " RETURNING kept.subject, kept.key_id, kept.key"
)
_RETIRE = _LOCKED.format(_STALE, "current = false")
_INSERT = (
    "INSERT INTO memstream_keys(key_id, subject, subject_sha256, key, current, used)"
    " SELECT key_id, subject, sha256, key, true, %(block)s"
    " FROM unnest(%(ids)s::text[], %(names)s::text[], %(subjects)s::bytea[], %(keys)s::bytea[])"
    " AS fresh(key_id, subject, sha256, key) ORDER BY sha256"
    " ON CONFLICT (subject_sha256) WHERE current DO NOTHING RETURNING subject, key_id, key"
)

_BLOCKS = 4
_MOST_CACHED = 50_000
_AT_ONCE = 5_000

_LOGGER = structlog.get_logger(__name__)

_Result = TypeVar("_Result")
_Row = tuple[Any, ...]
_Connection = psycopg.Connection[_Row]


class KeyRingUnavailable(LogUnavailable):
    """The key ring's server cannot be reached, or refused. The next call connects anew."""


class _Held:
    """A subject's current key, with what is left of the block reserved for it."""

    __slots__ = ("key", "left")

    def __init__(self, key: tuple[str, bytes], left: int) -> None:
        self.key = key
        self.left = left


class PostgresKeyRing:
    """``KeyRing`` in a database. Open it once per process; share it between threads.

    The tables are made at the first opening; the role must own them, because destroying rewrites
    one. ``rotate`` and ``destroy`` take ``CACHE_SECONDS`` each. Must not be carried over a fork: it
    refuses then. Every failure of the server or the way to it raises ``KeyRingUnavailable``, with
    nothing half done; calling again is harmless. ``pause`` sleeps that many seconds.
    """

    def __init__(
        self,
        conninfo: str,
        clock: Clock,
        *,
        most_events_per_key: int = MOST_EVENTS_PER_KEY,
        oldest_key: timedelta = OLDEST_KEY,
        cache_s: float = CACHE_SECONDS,
        wait_s: float = WAIT_SECONDS,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._conninfo, self.where = _readable(conninfo)
        self._clock = clock
        self._wait_s = wait_s
        self._pause = pause
        self._block = max(1, most_events_per_key // _BLOCKS)
        self._limits = {"block": self._block, "most": most_events_per_key, "oldest": oldest_key}
        self._process = os.getpid()
        self._lock = threading.RLock()
        self._nonces = Nonces(clock, self._check_process)
        self._connection: _Connection | None = None
        self._closed = False
        self._epoch: int | None = None
        self._cache_s = cache_s
        self._trusted_until = 0.0
        self._current: dict[str, _Held] = {}
        self._by_id: dict[str, bytes | None] = {}
        self._ask("opened", self._make_tables)

    def key_for(self, subject: str) -> tuple[str, bytes]:
        with self._lock:
            if self._is_fresh():
                held = self._current.get(subject)
                if held is not None and held.left > 0:
                    held.left -= 1
                    return held.key

            def reserved(connection: _Connection) -> _Held:
                self._refresh(connection)
                held = self._current.get(subject)
                if held is None or held.left <= 0:
                    self._reserve(connection, [subject])
                return self._current[subject]

            held = self._ask("written", reserved)
            held.left -= 1
            return held.key

    def ensure(self, subjects: Iterable[str]) -> None:
        """As the protocol says; reserves a block for each subject that has none left."""
        wanted = sorted({*subjects})

        def reserved(connection: _Connection) -> None:
            self._refresh(connection)
            spent = [each for each in wanted if not self._left(each)]
            for start in range(0, len(spent), _AT_ONCE):
                self._reserve(connection, spent[start : start + _AT_ONCE])

        self._ask("written", reserved)

    def key_by_id(self, key_id: str) -> bytes:
        with self._lock:
            if self._is_fresh() and key_id in self._by_id:
                key = self._by_id[key_id]
            else:
                found = self._ask("read", lambda connection: self._load(connection, [key_id]))
                if key_id not in found:
                    raise self._unknown(key_id)
                key = found[key_id]
        if key is None:
            raise KeyDestroyed(
                f"key {key_id}: destroyed by an erasure; its content is gone for good"
            )
        return key

    def keys_by_id(self, key_ids: Iterable[str]) -> dict[str, bytes]:
        wanted = sorted({*key_ids})
        found = self._ask("read", lambda connection: self._load(connection, wanted))
        return {key_id: key for key_id, key in found.items() if key is not None}

    def rotate(self, subject: str) -> tuple[str, bytes]:
        def rotated(connection: _Connection) -> None:
            update = (
                "UPDATE memstream_keys SET current = false WHERE subject_sha256 = %s AND current"
            )
            tell = "UPDATE memstream_keys SET changed = %s WHERE subject_sha256 = %s AND current"
            with connection.transaction():
                epoch = self._count_epoch(connection)
                made: list[_Row] = []
                while not made:  # another ring may be first with a key that is not the newest
                    connection.execute(update, (_sha256(subject),))
                    made = self._insert_missing(connection, [subject])
                connection.execute(tell, (epoch, _sha256(subject)))

        self._ask("written", rotated)
        # Until then another process may seal with the key that was current.
        self._pause(self._cache_s)
        return self.key_for(subject)

    def destroy(
        self,
        subject: str,
        *,
        older_than: str | None = None,
        key_ids: Collection[str] | None = None,
    ) -> list[str]:
        """As the protocol says, durable where the server's disks are: all or nothing in one
        transaction, flushed before it returns. The ids it returns are those destroyed by
        this call."""

        def destroyed(connection: _Connection) -> list[str]:
            update = (
                "UPDATE memstream_keys"
                " SET key = NULL, current = false, destroyed_at = clock_timestamp(), changed = %s"
                " WHERE subject_sha256 = %s AND key IS NOT NULL"
            )
            with connection.transaction():
                values: list[Any] = [self._count_epoch(connection), _sha256(subject)]
                connection.execute("LOCK TABLE memstream_keys IN ACCESS EXCLUSIVE MODE")
                connection.execute("SET LOCAL statement_timeout = 0")
                if older_than is not None:
                    update += " AND number < %s"
                    values.append(self._number(connection, subject, older_than))
                if key_ids is not None:
                    for key_id in key_ids:
                        self._number(connection, subject, key_id)
                    update += " AND key_id = ANY(%s)"
                    values.append(list(key_ids))
                update += " RETURNING number, key_id"
                gone = sorted(connection.execute(update.encode(), values).fetchall())
                if gone:
                    # Makes a new file of the live rows. Unlike VACUUM it keeps no dead row for the
                    # sake of an older snapshot, and it commits together with the destruction.
                    connection.execute(
                        "ALTER TABLE memstream_keys ALTER COLUMN key TYPE bytea"
                        " USING key || ''::bytea"
                    )
            return [key_id for _, key_id in gone]

        gone = self._ask("rewritten", destroyed)
        # Also where nothing was left to destroy: a call that was cut off may not have waited.
        self._pause(self._cache_s)
        return gone

    def keys(self, subject: str) -> list[str]:
        return self._ids(subject, destroyed=False)

    def destroyed(self, subject: str) -> list[str]:
        return self._ids(subject, destroyed=True)

    def _ids(self, subject: str, *, destroyed: bool) -> list[str]:
        query = (
            "SELECT key_id FROM memstream_keys WHERE subject_sha256 = %s AND (key IS NULL) = %s"
            " ORDER BY number"
        )
        values = (_sha256(subject), destroyed)
        rows = self._ask("read", lambda connection: connection.execute(query, values).fetchall())
        return [key_id for (key_id,) in rows]

    def nonce(self) -> bytes:
        return self._nonces.draw()

    def close(self) -> None:
        """Idempotent."""
        with self._lock:
            self._closed = True
            self._disconnect()

    # The cache

    def _is_fresh(self) -> bool:
        return self._clock.monotonic() < self._trusted_until

    def _left(self, subject: str) -> bool:
        held = self._current.get(subject)
        return held is not None and held.left > 0

    def _refresh(self, connection: _Connection) -> None:
        """Before every query whose answer is cached, so that what it finds is at least as new as
        the epoch it is cached under."""
        if self._is_fresh():
            return
        asked = self._clock.monotonic()
        query = "SELECT epoch, cache_s FROM memstream_key_ring"
        epoch, self._cache_s = self._stated_once(connection, query)
        if self._epoch is None or epoch < self._epoch:
            self._forget()
        elif epoch > self._epoch:
            self._drop_changed(connection, self._epoch)
        self._epoch = epoch
        self._trusted_until = asked + self._cache_s

    def _drop_changed(self, connection: _Connection, since: int) -> None:
        query = "SELECT subject, key_id, key IS NULL FROM memstream_keys WHERE changed > %s"
        for subject, key_id, destroyed in connection.execute(query, (since,)).fetchall():
            self._current.pop(subject, None)
            if destroyed and key_id in self._by_id:
                self._by_id[key_id] = None

    def _forget(self) -> None:
        self._trusted_until = 0.0
        self._current, self._by_id = {}, {}

    def _count_epoch(self, connection: _Connection) -> int:
        """The next epoch, to write into what changes; learns for how long others may trust what
        they have. First in its transaction, so that epochs are committed in order."""
        update = "UPDATE memstream_key_ring SET epoch = epoch + 1 RETURNING epoch, cache_s"
        epoch, self._cache_s = self._stated_once(connection, update)
        self._trusted_until = 0.0
        return int(epoch)

    def _stated_once(self, connection: _Connection, query: str) -> _Row:
        row = connection.execute(query.encode()).fetchone()
        if row is None:
            raise KeyRingUnavailable(
                f"{self.where}: the table memstream_key_ring is empty; mend: restore the database"
            )
        return row

    def _remember(self, key_id: str, key: bytes | None) -> None:
        if len(self._by_id) >= _MOST_CACHED:
            del self._by_id[next(iter(self._by_id))]
        self._by_id[key_id] = key

    # The tables

    def _load(self, connection: _Connection, key_ids: Sequence[str]) -> dict[str, bytes | None]:
        """The keys that are there, None for one that was destroyed."""
        self._refresh(connection)
        found = {each: self._by_id[each] for each in key_ids if each in self._by_id}
        wanted = [each for each in key_ids if each not in found and may_be_key_id(each)]
        if wanted:
            query = "SELECT key_id, key FROM memstream_keys WHERE key_id = ANY(%s)"
            for key_id, key in connection.execute(query, (wanted,)).fetchall():
                self._remember(key_id, key)
                found[key_id] = key
        return found

    def _reserve(self, connection: _Connection, subjects: Sequence[str]) -> None:
        """A block of every subject's current key, new keys where they are spent or missing. Every
        statement commits by itself, so nothing is held that another ring waits for."""
        missing = {_sha256(each): each for each in subjects}
        while missing:
            values = {**self._limits, "subjects": sorted(missing)}
            self._hold(connection.execute(_RESERVE.encode(), values).fetchall(), missing)
            if missing:
                connection.execute(_RETIRE.encode(), {**self._limits, "subjects": sorted(missing)})
                made = self._insert_missing(connection, list(missing.values()))
                self._hold(made, missing)

    def _hold(self, rows: Iterable[_Row], missing: dict[bytes, str]) -> None:
        for subject, key_id, key in rows:
            if len(self._current) >= _MOST_CACHED:
                del self._current[next(iter(self._current))]
            self._current[subject] = _Held((key_id, key), self._block)
            self._remember(key_id, key)
            missing.pop(_sha256(subject), None)

    def _insert_missing(self, connection: _Connection, subjects: Sequence[str]) -> list[_Row]:
        """The keys that were made, each with a block in use; none for a subject that another ring
        gave a key first."""
        draw = self._clock.entropy
        fresh = [
            (str(UUID(bytes=draw(16), version=4)), each, _sha256(each), draw(KEY_BYTES))
            for each in sorted(subjects)
        ]
        ids, names, hashes, keys = (list(column) for column in zip(*fresh, strict=True))
        values = {"ids": ids, "names": names, "subjects": hashes, "keys": keys}
        return connection.execute(_INSERT, {**values, "block": self._block}).fetchall()

    def _number(self, connection: _Connection, subject: str, key_id: str) -> int:
        query = "SELECT number FROM memstream_keys WHERE key_id = %s AND subject_sha256 = %s"
        if not may_be_key_id(key_id):
            raise self._unknown(key_id)
        row = connection.execute(query, (key_id, _sha256(subject))).fetchone()
        if row is None:
            raise self._unknown(key_id)
        return int(row[0])

    def _unknown(self, key_id: str) -> SealBroken:
        return SealBroken(
            f"key {key_id!a}: not in {self.where}; mend: restore the key ring that belongs to "
            "this log"
        )

    def _make_tables(self, connection: _Connection) -> None:
        with connection.transaction():
            # Two rings may come first at once.
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_MAKE_LOCK,))
            query = "SELECT 1 WHERE to_regclass('memstream_key_ring') IS NULL"
            if connection.execute(query).fetchone():
                for statement in _SCHEMA:
                    connection.execute(statement.encode())
                insert = (
                    "INSERT INTO memstream_key_ring(version, epoch, cache_s) VALUES (%s, 1, %s)"
                )
                connection.execute(insert, (_VERSION, self._cache_s))
        (version,) = self._stated_once(connection, "SELECT version FROM memstream_key_ring")
        if version != _VERSION:
            raise KeyRingUnavailable(
                f"{self.where}: schema version {version}, and this release reads {_VERSION}; "
                "mend: upgrade memstream"
            )

    # The connection

    def _ask(self, doing: str, work: Callable[[_Connection], _Result]) -> _Result:
        """The result of one piece of work, which may be done twice. A connection that turns out to
        be dead is replaced once; one that fails when it is new raises ``KeyRingUnavailable``."""
        with self._lock:
            self._check_process()
            was_open = self._connection is not None
            try:
                return work(self._connected())
            except psycopg.Error as error:
                broken = self._connection is None or self._connection.closed
                if broken:
                    self._disconnect()
                if not broken or not was_open:
                    raise self._stated(error, doing) from error
            try:
                return work(self._connected())
            except psycopg.Error as error:
                if self._connection is None or self._connection.closed:
                    self._disconnect()
                raise self._stated(error, doing) from error

    def _connected(self) -> _Connection:
        if self._closed:
            raise KeyRingUnavailable(f"{self.where}: it was closed; mend: open it again")
        if self._connection is None:
            # Another server may answer now, with another past.
            self._forget()
            self._epoch = None
            connection = psycopg.connect(self._conninfo, autocommit=True)
            try:
                connection.execute(_SESSION, {"wait": f"{self._wait_s * 1000:.0f}ms"})
                self._check_server(connection)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _check_server(self, connection: _Connection) -> None:
        settings: dict[str, str] = dict(connection.execute(_SETTINGS).fetchall())
        if settings["fsync"] != "on":
            raise KeyRingUnavailable(
                f"{self.where}: the server has fsync off, so a crash may lose keys or bring "
                "destroyed ones back; mend: set fsync = on there"
            )
        logs = settings["log_statement"] in {"mod", "all"}
        logs = logs or settings["log_min_duration_statement"] != "-1"
        if logs and settings.get("log_parameter_max_length") != "0":
            _LOGGER.warning(
                "key_ring_server_logs_keys",
                where=self.where,
                mend="set log_parameter_max_length = 0 there, and delete the logs that hold keys",
            )

    def _disconnect(self) -> None:
        self._forget()
        connection, self._connection = self._connection, None
        if connection is not None and self._process == os.getpid():
            connection.close()

    def _stated(self, error: psycopg.Error, doing: str) -> KeyRingUnavailable:
        problem = " ".join(str(error).split()) or type(error).__name__
        what = f"{self.where} cannot be {doing}: {problem}"
        if isinstance(error, psycopg.errors.LockNotAvailable | psycopg.errors.QueryCanceled):
            mend = "end the session that holds the table memstream_keys, and call again"
        elif isinstance(error, psycopg.errors.InsufficientPrivilege):
            mend = (
                "let the role own memstream_key_ring and memstream_keys, or make them in its schema"
            )
        elif isinstance(error, psycopg.errors.DiskFull):
            mend = "free disk space on the server, and call again"
        elif isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
            mend = (
                "check that the server runs and that the address, the password and the TLS "
                "settings are right, and call again"
            )
        else:
            mend = "check that the tables are as this release made them"
        return KeyRingUnavailable(f"{what}; mend: {mend}")

    def _check_process(self) -> None:
        if self._process != os.getpid():
            raise KeyRingUnavailable(
                f"{self.where}: opened before a fork; mend: open it in the child process"
            )


def _readable(conninfo: str) -> tuple[str, str]:
    """The full connection string, and what may be shown of it: nothing but host, port, database
    and user. libpq's own complaints quote what it could not read, so they are not repeated."""
    try:
        given = conninfo_to_dict(conninfo)
        if not all(port.isdigit() for port in str(given.get("port", "0")).split(",") if port):
            raise psycopg.ProgrammingError("port")
    except psycopg.ProgrammingError:
        raise KeyRingUnavailable(
            "key ring: the connection string is not one of libpq's; mend: write host=... port=... "
            "dbname=... user=..., or a postgresql:// URI with special characters percent-encoded"
        ) from None
    shown = {name: given.get(name) for name in ("host", "port", "dbname", "user")}
    words = " ".join(f"{name}={value}" for name, value in shown.items() if value)
    # A standby may not know of a destruction yet, so only the server that writes will do.
    added = {name: value for name, value in _DEFAULTS.items() if name not in given}
    full = make_conninfo(conninfo, **added, target_session_attrs="read-write")
    return full, f"key ring in PostgreSQL ({words or 'libpq defaults'})"


def _sha256(subject: str) -> bytes:
    return hashlib.sha256(subject.encode()).digest()

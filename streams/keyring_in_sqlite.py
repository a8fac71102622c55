"""The key ring in one SQLite file: a data key per subject, destroyed so that nothing is left.

The file is small and private (mode 0600). Its journal is deleted at every commit, freed bytes are
zeroed, and destroying a key rewrites the file, so a destroyed key is in no file of the directory.

Keys are cached in memory. Beside the file lies ``<name>.epoch``, eight bytes that every process
maps: a destruction makes the number odd before it commits and even afterwards. A cached key is
used only while the number is the even one it was read under, so the bound is zero: a call that
starts after ``destroy`` has returned, in any process, never gets a destroyed key. A call that
overlaps ``destroy`` gets the key of before or of after.
"""

from __future__ import annotations

import json
import mmap
import os
import sqlite3
import stat
import threading
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

import structlog

from memstream.schemas.errors import KeyDestroyed, SealBroken
from memstream.schemas.sealing import KEY_BYTES, may_be_key_id
from memstream.streams.clock import Clock
from memstream.streams.nonces import Nonces
from memstream.streams.sqlite_files import (
    WAIT_SECONDS,
    FileKind,
    FileUnavailable,
    open_file,
    roll_back,
    stated,
    transaction,
)

KEY_FILE = FileKind(
    name="key ring",
    application_id=0x6D736B72,
    version=1,
    schema=(
        "CREATE TABLE keys(number INTEGER PRIMARY KEY, key_id TEXT NOT NULL UNIQUE,"
        " subject TEXT NOT NULL, key BLOB, current INTEGER NOT NULL)",
        "CREATE UNIQUE INDEX keys_current ON keys(subject) WHERE current",
        "CREATE INDEX keys_by_subject ON keys(subject)",
    ),
    journal="DELETE",
    # VACUUM copies live keys into a temporary database; it must not be a file elsewhere.
    pragmas=("synchronous=FULL", "secure_delete=ON", "temp_store=MEMORY"),
    mode=0o600,
    mend="restore it from a copy; without it no sealed event can be read",
    damaged=FileUnavailable,
    newer=FileUnavailable,
    unavailable=FileUnavailable,
)
"""``number`` counts up in the order the keys were made. ``key`` is NULL once it was destroyed; its
id stays, so that it is known to be gone."""

_MOST_CACHED = 50_000
_EPOCH_BYTES = 8

_LOGGER = structlog.get_logger(__name__)


class SqliteKeyRing:
    """``KeyRing`` in one file. Open it once per process; share it between threads.

    Must not be carried over a fork (two processes would draw the same nonces): it refuses then.
    Do not delete the ``.epoch`` file while a process runs.
    """

    def __init__(self, path: Path, clock: Clock, *, wait_s: float = WAIT_SECONDS) -> None:
        self.path = path
        self._clock = clock
        self._process = os.getpid()
        self._lock = threading.RLock()
        self._nonces = Nonces(clock, self._check_process)
        self._current: dict[str, tuple[str, bytes]] = {}
        self._by_id: dict[str, bytes] = {}
        self._connection = open_file(path, KEY_FILE, wait_s=wait_s)
        try:
            _make_private(path)
            self._epoch = _map_epoch(path)
        except OSError as error:
            self._connection.close()
            raise stated(error, path, KEY_FILE, "opened") from error
        self._seen = self._epoch[:]
        if _is_odd(self._seen):
            # A process died inside ``destroy``; writing under the lock makes the number even.
            with self._guard("opened"), self._destroying():
                pass

    def key_for(self, subject: str) -> tuple[str, bytes]:
        if self._epoch[:] == self._seen:
            found = self._current.get(subject)
            if found is not None:
                return found
        return self._current_key(subject)

    def key_by_id(self, key_id: str) -> bytes:
        if self._epoch[:] == self._seen:
            found = self._by_id.get(key_id)
            if found is not None:
                return found
        if not may_be_key_id(key_id):
            raise self._unknown(key_id)
        with self._guard("read"):
            self._refresh()
            query = "SELECT key FROM keys WHERE key_id = ?"
            row = self._connection.execute(query, (key_id,)).fetchone()
            if row is None:
                raise self._unknown(key_id)
            if row[0] is None:
                raise KeyDestroyed(
                    f"key {key_id}: destroyed by an erasure; its content is gone for good"
                )
            key = bytes(row[0])
            self._remember(key_id, key)
            return key

    def keys_by_id(self, key_ids: Iterable[str]) -> dict[str, bytes]:
        with self._guard("read"):
            self._refresh()
            query = (
                "SELECT key_id, key FROM keys WHERE key NOT NULL"
                " AND key_id IN (SELECT value FROM json_each(?))"
            )
            wanted = json.dumps(sorted(each for each in {*key_ids} if may_be_key_id(each)))
            found = {
                key_id: bytes(key)
                for key_id, key in self._connection.execute(query, (wanted,)).fetchall()
            }
            for key_id, key in found.items():
                self._remember(key_id, key)
            return found

    def ensure(self, subjects: Iterable[str]) -> None:
        """As the protocol says, in one commit."""
        with self._guard("written"):
            self._refresh()
            missing = sorted({each for each in subjects if each not in self._current})
            if missing:
                with transaction(self._connection):
                    for subject in missing:
                        self._insert_missing(subject)

    def rotate(self, subject: str) -> tuple[str, bytes]:
        with self._guard("written"):
            # Other processes cache the current key, so a rotation is told like a destruction.
            with self._destroying():
                update = "UPDATE keys SET current = 0 WHERE subject = ? AND current"
                self._connection.execute(update, (subject,))
                self._insert_missing(subject)
            return self._current_key(subject)

    def destroy(
        self,
        subject: str,
        *,
        older_than: str | None = None,
        key_ids: Collection[str] | None = None,
    ) -> list[str]:
        """As the protocol says. Calling it again finishes one that a crash or an error cut off;
        the ids it returns are those destroyed by this call. Raises ``FileUnavailable`` too."""
        with self._guard("rewritten"):
            query = "SELECT key_id, key FROM keys WHERE subject = ? AND key NOT NULL"
            values: list[str | int] = [subject]
            if older_than is not None:
                query += " AND number < ?"
                values.append(self._number(subject, older_than))
            if key_ids is not None:
                for key_id in key_ids:
                    self._number(subject, key_id)
                query += " AND key_id IN (SELECT value FROM json_each(?))"
                values.append(json.dumps(list(key_ids)))
            query += " ORDER BY number"
            with self._destroying():
                gone = self._connection.execute(query, values).fetchall()
                update = "UPDATE keys SET key = NULL, current = 0 WHERE key_id = ?"
                self._connection.executemany(update, [(key_id,) for key_id, _ in gone])
            # Pages that SQLite split earlier may hold copies of rows they no longer own.
            self._connection.execute("VACUUM")
            self._check_gone([bytes(key) for _, key in gone])
            return [key_id for key_id, _ in gone]

    def keys(self, subject: str) -> list[str]:
        return self._ids(subject, destroyed=False)

    def destroyed(self, subject: str) -> list[str]:
        return self._ids(subject, destroyed=True)

    def _ids(self, subject: str, *, destroyed: bool) -> list[str]:
        query = "SELECT key_id FROM keys WHERE subject = ? AND (key IS NULL) = ? ORDER BY number"
        with self._guard("read"):
            found = self._connection.execute(query, (subject, destroyed)).fetchall()
            return [key_id for (key_id,) in found]

    def nonce(self) -> bytes:
        return self._nonces.draw()

    def close(self) -> None:
        """Idempotent."""
        with self._lock:
            self._current, self._by_id = {}, {}
            if self._process == os.getpid():
                self._connection.close()

    def _current_key(self, subject: str) -> tuple[str, bytes]:
        query = "SELECT key_id, key FROM keys WHERE subject = ? AND current"
        with self._guard("written"):
            self._refresh()
            row = self._connection.execute(query, (subject,)).fetchone()
            if row is None:
                with transaction(self._connection):
                    self._insert_missing(subject)
                    row = self._connection.execute(query, (subject,)).fetchone()
            key_id, key = row[0], bytes(row[1])
            if len(self._current) >= _MOST_CACHED:
                self._current.clear()
            self._current[subject] = key_id, key
            self._remember(key_id, key)
            return key_id, key

    def _number(self, subject: str, key_id: str) -> int:
        if not may_be_key_id(key_id):
            raise self._unknown(key_id)
        query = "SELECT number FROM keys WHERE key_id = ? AND subject = ?"
        row = self._connection.execute(query, (key_id, subject)).fetchone()
        if row is None:
            raise self._unknown(key_id)
        return int(row[0])

    def _unknown(self, key_id: str) -> SealBroken:
        return SealBroken(
            f"key {key_id!a}: not in key ring {self.path}; mend: restore the key ring that belongs "
            "to this log"
        )

    def _insert_missing(self, subject: str) -> None:
        key_id = str(UUID(bytes=self._clock.entropy(16), version=4))
        values = (key_id, subject, self._clock.entropy(KEY_BYTES))
        # The partial index lets a subject have one current key: the first process to come wins.
        self._connection.execute("INSERT OR IGNORE INTO keys VALUES (NULL, ?, ?, ?, 1)", values)

    def _remember(self, key_id: str, key: bytes) -> None:
        if len(self._by_id) >= _MOST_CACHED:
            self._by_id.clear()
        self._by_id[key_id] = key

    def _refresh(self) -> None:
        """Drops the caches if keys were destroyed since they were read. Before every query, so
        that what it finds is at least as new as the epoch it is cached under."""
        epoch = self._epoch[:]
        if epoch != self._seen or _is_odd(epoch):
            # New dicts: a reader in another thread may still hold the old ones.
            self._current, self._by_id = {}, {}
            # An odd number never equals: while a destruction runs, every call asks the file.
            self._seen = b"" if _is_odd(epoch) else epoch

    @contextmanager
    def _destroying(self) -> Iterator[None]:
        """One write transaction, announced to every process before and after."""
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        number = int.from_bytes(self._epoch[:], "little") | 1
        self._epoch[:] = number.to_bytes(_EPOCH_BYTES, "little")
        try:
            yield
            connection.execute("COMMIT")
        except BaseException:
            roll_back(connection)
            raise
        finally:
            self._epoch[:] = (number + 1).to_bytes(_EPOCH_BYTES, "little")
            self._refresh()

    def _check_gone(self, keys: list[bytes]) -> None:
        # Through SQLite, page by page as they lie: opening and closing the file beside it would
        # drop the locks of every other connection of this process (POSIX).
        held = self._connection.serialize()
        if any(key in held for key in keys):
            raise FileUnavailable(
                f"key ring {self.path}: a destroyed key is still in the file; mend: destroy again "
                "when no other process reads the ring"
            )

    @contextmanager
    def _guard(self, doing: str) -> Iterator[None]:
        with self._lock:
            self._check_process()
            try:
                yield
            except (sqlite3.Error, OSError) as error:
                raise stated(error, self.path, KEY_FILE, doing) from error

    def _check_process(self) -> None:
        if self._process != os.getpid():
            raise FileUnavailable(
                f"key ring {self.path}: opened before a fork; mend: open it in the child process"
            )


def _is_odd(epoch: bytes) -> bool:
    return bool(epoch[0] & 1)


def _make_private(path: Path) -> None:
    if os.name == "nt":  # no such modes there: the directory's access list decides
        return
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        path.chmod(0o600)
        _LOGGER.warning(
            "key_ring_was_readable_by_others",
            path=str(path),
            mode=oct(mode),
            mend="the mode is 0600 again; rotate the keys if others use this machine",
        )


def _map_epoch(path: Path) -> mmap.mmap:
    handle = os.open(path.with_name(path.name + ".epoch"), os.O_CREAT | os.O_RDWR, 0o600)
    try:
        if os.fstat(handle).st_size < _EPOCH_BYTES:
            os.ftruncate(handle, _EPOCH_BYTES)
        return mmap.mmap(handle, _EPOCH_BYTES)
    finally:
        os.close(handle)

"""The values of the state store: how they are kept decoded, journalled, and merged into ``kv``.

A batch puts many values at keys that lie all over the table, and writing each of them into its
page at every commit costs more than all the rest. So a commit appends its changes to ``unmerged``
as one row, and they are held in memory; when many have gathered, all are merged into ``kv`` in key
order in one go, within the same transaction as the batch. Whoever opens the file reads
``unmerged`` first, so nothing hangs on what a process remembers.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any

import msgspec

from memstream.processors.pipeline import Value
from memstream.schemas.errors import ProjectionDamaged

MOST_UNMERGED = 50_000
"""Values held in memory before they are merged."""
MOST_UNMERGED_BYTES = 16 << 20
"""Bytes in ``unmerged`` before they are merged, however few keys they are of."""
CACHED_VALUES = 40_000
"""Merged values kept decoded; at most twice as many for a moment."""

FILTER_BYTES = 1 << 21
"""Of the filter over merged keys. With ``MOST_FILTERED`` keys one query in thirty is in vain."""
MOST_FILTERED = 2_000_000


class Gone:
    """Stands for a deleted value."""


GONE = Gone()
Held = msgspec.Struct | Gone
"""A value as a batch sees it."""


class Values:
    """The committed values. One writer; ``load`` before use, and after another process wrote."""

    def __init__(
        self,
        *,
        most_unmerged: int = MOST_UNMERGED,
        most_unmerged_bytes: int = MOST_UNMERGED_BYTES,
        cached: int = CACHED_VALUES,
    ) -> None:
        self._most = most_unmerged
        self._most_bytes = most_unmerged_bytes
        self._unmerged: dict[str, Held | bytes] = {}
        self._bytes = 0
        self._cache = _Cache(cached)
        self._merged = _MergedKeys()
        self._merging = False
        self._adding = 0

    def load(self, connection: sqlite3.Connection) -> None:
        """Drops what is cached and reads what is not merged."""
        self._cache.clear()
        self._merged.begin(connection)
        self._unmerged = {}
        self._bytes = 0
        for (entries,) in connection.execute("SELECT entries FROM unmerged ORDER BY number"):
            self._bytes += len(entries)
            for key, raw in _ENTRIES.decode(entries):
                value = bytes(raw)
                self._unmerged[key] = GONE if value == b"null" else value

    def get(self, connection: sqlite3.Connection, key: str, kind: type[Value]) -> Value | None:
        """The value, decoded to ``kind``; None where there is none. ``ProjectionDamaged`` where
        it does not decode."""
        held = self._unmerged.get(key)
        if held is not None:
            if isinstance(held, bytes):
                held = self._unmerged[key] = decode(key, held, kind)
            return as_kind(key, held, kind)
        cached = self._cache.get(key)
        if cached is not None:
            return as_kind(key, cached, kind)
        if not self._merged.may_hold(key):
            return None
        row = connection.execute("SELECT value FROM kv WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        value = decode(key, row[0], kind)
        self._cache.put(key, value)
        return value

    def write(self, connection: sqlite3.Connection, changes: Mapping[str, Held]) -> None:
        """Writes a batch's changes, in its transaction. ``keep`` them after the commit."""
        self._merging, self._adding = False, 0
        if not changes:
            return
        if len(self._unmerged) + len(changes) >= self._most or self._bytes >= self._most_bytes:
            self._merging = True
            self._merged.complete(connection)
            merge(connection, {**self._unmerged, **changes})
            return
        entries = _ENCODER.encode(
            [(key, None if isinstance(held, Gone) else held) for key, held in changes.items()]
        )
        connection.execute("INSERT INTO unmerged(entries) VALUES (?)", (entries,))
        self._adding = len(entries)

    def keep(self, changes: Mapping[str, Held]) -> None:
        """Takes over what ``write`` wrote, once it is committed."""
        if self._merging:
            for key, held in {**self._unmerged, **changes}.items():
                self._cache.put(key, held)
                self._merged.add(key)
            self._unmerged, self._bytes = {}, 0
        else:
            self._unmerged.update(changes)
            self._bytes += self._adding

    def merge_all(self, connection: sqlite3.Connection) -> None:
        """Merges everything into ``kv``, in a transaction; ``load`` after its end."""
        merge(connection, self._unmerged)


def merge(connection: sqlite3.Connection, values: Mapping[str, Held | bytes]) -> None:
    """Puts values into ``kv`` in key order, so that each page is changed once."""
    puts: list[tuple[str, bytes]] = []
    gone: list[tuple[str]] = []
    for key, held in sorted(values.items()):
        if isinstance(held, Gone):
            gone.append((key,))
        else:
            puts.append((key, held if isinstance(held, bytes) else encode(held)))
    connection.executemany("REPLACE INTO kv VALUES (?, ?)", puts)
    connection.executemany("DELETE FROM kv WHERE key = ?", gone)
    connection.execute("DELETE FROM unmerged")


class _MergedKeys:
    """Which keys ``kv`` may hold: a Bloom filter (Bloom, 1970), so that a key that is not there,
    like that of every new event, costs no query. Complete from an empty ``kv`` on; for one that
    was found with keys, from the next merge."""

    def __init__(self) -> None:
        self._bits = bytearray(FILTER_BYTES)
        self._mask = FILTER_BYTES * 8 - 1
        self._complete = False
        self._keys = 0

    def begin(self, connection: sqlite3.Connection) -> None:
        """Starts anew with what the table holds: complete only if that is nothing."""
        if self._keys:
            self._bits = bytearray(FILTER_BYTES)
            self._keys = 0
        found = connection.execute("SELECT 1 FROM kv LIMIT 1").fetchone()
        self._complete = found is None

    def complete(self, connection: sqlite3.Connection) -> None:
        """Reads every key of the table, unless they are known already or too many."""
        if not self._complete and self._keys < MOST_FILTERED:
            limited = "SELECT key FROM kv LIMIT ?"
            for (key,) in connection.execute(limited, (MOST_FILTERED + 1,)):
                self.add(key)
            self._complete = self._keys <= MOST_FILTERED

    def add(self, key: str) -> None:
        self._keys += 1
        self._complete = self._complete and self._keys <= MOST_FILTERED
        bits, mask = self._bits, self._mask
        first = hash(key)
        second = first >> 31 | 1
        for at in (first & mask, first + second & mask, first + 2 * second & mask):
            bits[at >> 3] |= 1 << (at & 7)

    def may_hold(self, key: str) -> bool:
        """False only where the table does not hold the key."""
        if not self._complete:
            return True
        bits, mask = self._bits, self._mask
        first = hash(key)
        at = first & mask
        if not bits[at >> 3] >> (at & 7) & 1:
            return False
        second = first >> 31 | 1
        at = first + second & mask
        if not bits[at >> 3] >> (at & 7) & 1:
            return False
        at = first + 2 * second & mask
        return bool(bits[at >> 3] >> (at & 7) & 1)


class _Cache:
    """Values by key, decoded: the newest ``size`` ones used and some before them."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._young: dict[str, msgspec.Struct] = {}
        self._old: dict[str, msgspec.Struct] = {}

    def get(self, key: str) -> msgspec.Struct | None:
        value = self._young.get(key)
        if value is None:
            value = self._old.get(key)
            if value is not None:
                self.put(key, value)
        return value

    def put(self, key: str, value: Held | bytes) -> None:
        if not isinstance(value, msgspec.Struct):
            self._young.pop(key, None)
            self._old.pop(key, None)
            return
        if len(self._young) >= self._size:
            self._young, self._old = {}, self._young
        self._young[key] = value

    def clear(self) -> None:
        self._young, self._old = {}, {}


_ENCODER = msgspec.json.Encoder()
_ENTRIES = msgspec.json.Decoder(list[tuple[str, msgspec.Raw]])
_DECODERS: dict[type[msgspec.Struct], msgspec.json.Decoder[Any]] = {}


def encode(value: msgspec.Struct) -> bytes:
    """A value's bytes."""
    return _ENCODER.encode(value)


def decode(key: str, encoded: bytes, kind: type[Value]) -> Value:
    """A value from its bytes."""
    decoder = _DECODERS.get(kind)
    if decoder is None:
        decoder = _DECODERS[kind] = msgspec.json.Decoder(kind)
    try:
        value: Value = decoder.decode(encoded)
    except msgspec.DecodeError as error:
        scope = key.partition("\x1f")[0]
        raise ProjectionDamaged(
            f"state of {scope}: a value is no {kind.__name__}: {error}; mend: rebuild from the "
            "log, and raise the version of the processor whose state changed"
        ) from error
    return value


def as_kind(key: str, held: Held, kind: type[Value]) -> Value | None:
    """A held value as the kind asked for, as if it had been read from the file."""
    if type(held) is kind:
        return held
    return None if isinstance(held, Gone) else decode(key, encode(held), kind)

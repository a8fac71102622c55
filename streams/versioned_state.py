"""State that can be replayed into: every value remembers which message wrote it.

A stream worker writes its state to a changelog, its output to a topic and its position to the
broker, and may die between any two of them, or having sent half a batch. So a value is kept with
the offset of the message that wrote it, beside the value from before; a message at offset n reads
only what offsets below n wrote. After a crash the worker starts again at its committed offset,
whatever the changelog holds by then, and since processors are deterministic, it writes and sends
the same again: at-least-once delivery with exactly-once effects.

How many values stay beside one another: the newest from below the committed offset (what a
restart may have to read), and those from above it, one a batch.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Protocol, Self

import msgspec

from memstream.processors.pipeline import Value
from memstream.schemas.errors import ProjectionDamaged
from memstream.streams.state_values import GONE, Gone, Held, as_kind, decode, encode

CACHED_ENTRIES = 20_000
"""Entries of one partition kept decoded; at most twice as many for a moment."""


class Table(Protocol):
    """Where the entries of one partition are kept: a local store with a changelog."""

    def get(self, key: bytes) -> bytes | None: ...

    def put(self, key: bytes, entry: bytes) -> None: ...

    def delete(self, key: bytes) -> None: ...

    def keys(self, prefix: bytes) -> Iterator[bytes]:
        """Every key that begins with ``prefix``."""
        ...


class Seal(Protocol):
    """How entries are sealed, so that erasing a scope's key erases its state as well."""

    def seal(self, scope: str, name: bytes, plain: bytes) -> bytes: ...

    def open(self, scope: str, name: bytes, sealed: bytes) -> bytes | None:
        """The plain bytes; None where the key was destroyed."""
        ...

    def forget(self, scope: str) -> None:
        """Nothing that was sealed for the scope opens any more."""
        ...


class _Version(msgspec.Struct, frozen=True, array_like=True):
    offset: int
    value: msgspec.Raw
    """``null`` where the value was deleted."""


_Entry = list[tuple[int, Held | bytes]]
"""Oldest first. A value is bytes until it is first asked for."""

_ENTRY = msgspec.json.Decoder(list[_Version])
_ENCODER = msgspec.json.Encoder()


class VersionedState:
    """The state of one partition of one stage: a ``State`` for the message begun last.

    ``begin_batch``, then for each message ``begin`` and any number of ``with isolated()``, and at
    the end ``flush``. Not safe for two threads. Offsets of begun messages rise.
    """

    def __init__(self, table: Table, seal: Seal, *, cached: int = CACHED_ENTRIES) -> None:
        self._table = table
        self._seal = seal
        self._size = cached
        self._young: dict[str, _Entry] = {}
        self._old: dict[str, _Entry] = {}
        self._dirty: dict[str, _Entry] = {}
        self._removed: dict[bytes, None] = {}
        self._kept: dict[str, Held] = {}
        self._mine: dict[str, Held] = {}
        self._at = 0
        self._batch_start = 0

    def begin_batch(self, offset: int) -> None:
        """The next messages, from this offset on, are one batch: one value a key is kept."""
        self._fold()
        self._batch_start = offset

    def begin(self, offset: int) -> None:
        """The next gets and puts belong to the message at this offset."""
        self._fold()
        self._at = offset

    def get(self, key: str, kind: type[Value]) -> Value | None:
        held = self._mine.get(key)
        if held is None:
            held = self._kept.get(key)
        if held is not None:
            return as_kind(key, held, kind)
        entry = self._entry(key)
        for place in range(len(entry) - 1, -1, -1):
            offset, value = entry[place]
            if offset < self._at:
                if isinstance(value, bytes):
                    value = decode(key, value, kind)
                    entry[place] = (offset, value)
                return as_kind(key, value, kind)
        return None

    def put(self, key: str, value: msgspec.Struct) -> None:
        """Within ``isolated``, as ``delete``."""
        self._mine[key] = value

    def delete(self, key: str) -> None:
        self._mine[key] = GONE

    def isolated(self) -> Self:
        """A context manager for changes that go together: they are kept at its end and dropped
        on an exception. Not nested."""
        return self

    def __enter__(self) -> Self:
        self._mine = {}
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self._kept.update(self._mine)
        self._mine = {}

    def clear(self, scope: str) -> None:
        """Removes every value of the scope, of all offsets. For erasure only: it cannot be undone
        by starting again at an earlier offset. What the changelog still holds of it does not open
        any more."""
        self._seal.forget(scope)
        prefix = _prefix(scope)
        for name in self._table.keys(prefix):
            self._removed[name] = None
        own = scope + "\x1f"
        for held in (self._young, self._old, self._dirty, self._kept):
            for key in [key for key in held if key.startswith(own)]:
                del held[key]
                self._removed[_name(key)] = None

    def flush(self, committed: int) -> None:
        """Writes the batch's entries to the table. ``committed``: the offset at which a restart
        would begin now; a lower one is safe."""
        self._fold()
        for name in self._removed:
            self._table.delete(name)
        self._removed.clear()
        for key, entry in self._dirty.items():
            kept = _pruned(entry, committed)
            name = _name(key)
            if len(kept) == 1 and kept[0][0] < committed and isinstance(kept[0][1], Gone):
                self._table.delete(name)
                kept = []
            else:
                plain = _ENCODER.encode([_version(*each) for each in kept])
                self._table.put(name, self._seal.seal(_scope(key), name, plain))
            self._remember(key, kept)
        self._dirty.clear()

    def forget(self) -> None:
        """Drops all that is cached: the table was given to, or taken from, another worker."""
        self._young, self._old = {}, {}
        self._dirty, self._kept, self._mine = {}, {}, {}
        self._removed.clear()

    def _fold(self) -> None:
        """What the begun message kept is what later messages read."""
        for key, held in self._kept.items():
            entry = [version for version in self._entry(key) if version[0] < self._at]
            if entry and entry[-1][0] >= self._batch_start:
                entry.pop()
            entry.append((self._at, held))
            self._dirty[key] = entry
        self._kept = {}

    def _entry(self, key: str) -> _Entry:
        entry = self._dirty.get(key)
        if entry is None:
            entry = self._young.get(key)
        if entry is None:
            entry = self._old.get(key)
            if entry is None:
                entry = self._read(key)
            self._remember(key, entry)
        return entry

    def _read(self, key: str) -> _Entry:
        name = _name(key)
        sealed = None if name in self._removed else self._table.get(name)
        plain = None if sealed is None else self._seal.open(_scope(key), name, sealed)
        if plain is None:
            return []
        try:
            versions = _ENTRY.decode(plain)
        except msgspec.DecodeError as error:
            raise ProjectionDamaged(
                f"state of {_scope(key)}: an entry is no list of versions: {error}; "
                "mend: rebuild from the log"
            ) from error
        # What this or a later message wrote before a crash will be written again.
        return [
            (each.offset, GONE if bytes(each.value) == b"null" else bytes(each.value))
            for each in versions
            if each.offset < self._at
        ]

    def _remember(self, key: str, entry: _Entry) -> None:
        if len(self._young) >= self._size:
            self._young, self._old = {}, self._young
        self._young[key] = entry


def _prefix(scope: str) -> bytes:
    return scope.encode() + b"\x1f"


def _name(key: str) -> bytes:
    """The table key: the scope stays readable, the rest may hold words and is hashed."""
    scope = _scope(key)
    return _prefix(scope) + hashlib.blake2b(key.encode(), digest_size=16).hexdigest().encode()


def _scope(key: str) -> str:
    return key.partition("\x1f")[0]


def _pruned(entry: _Entry, committed: int) -> _Entry:
    """Without the values that neither a restart nor a later message can ask for."""
    newest_below = max((each[0] for each in entry if each[0] < committed), default=None)
    return [each for each in entry if each[0] >= committed or each[0] == newest_below]


def _version(offset: int, held: Held | bytes) -> tuple[int, Any]:
    if isinstance(held, Gone):
        return offset, None
    return offset, msgspec.Raw(held if isinstance(held, bytes) else encode(held))

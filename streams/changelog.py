"""The changelog of a stage's state, and what an overtaken worker may write to it.

A worker that was frozen, or cut off, for longer than its session does not know that another has
its partition by now, and finishes its batch. In the topics of bundles that does no harm: it sends
what the other sends, and readers drop what they read before. In the changelog its entries would
stand after newer ones. So every entry begins with the term in which it was written: a worker that
takes a partition over begins a term later than any in what it recovered, and than those of earlier
generations of the consumer group. Whoever recovers skips what stands after a record of a later
term. Whoever writes looks whether others wrote since its last record: where they are of an earlier
term, it writes its own entries of those keys again, so that the changelog may be compacted; where
they are of a later one, it is the overtaken worker, and stops.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import structlog
from rocksdict import WriteBatch

from memstream.schemas.errors import MemstreamError
from memstream.streams.kafka_reading import TopicReader
from memstream.streams.kafka_settings import KafkaSettings

Record = tuple[bytes | None, bytes | None, list[tuple[str, bytes]]]
"""Key, value and headers of a message."""
_TERM = struct.Struct(">II")
TERM_BYTES = _TERM.size
TERM_KEY = b"\x00term"
"""Its entry is written first in every term."""
_TERM_HEADER = "term"

_LOGGER = structlog.get_logger(__name__)


class TakenOver(MemstreamError):
    """Another worker has the partition by now: this one was silent for longer than its session."""


class Entries(Protocol):
    """What is here of one partition."""

    def get(self, key: bytes, /) -> bytes | None: ...

    def write(self, changes: Mapping[bytes, bytes | None], /) -> None:
        """All of them or none. None removes the entry."""
        ...

    def keys(self, from_key: bytes, /) -> Iterator[bytes]:
        """In order, from this one on."""
        ...


def term_of(value: bytes | None, headers: Any) -> bytes:
    """When a changelog record was written; terms compare as bytes. A tombstone's is a header."""
    if value is not None:
        return value[:TERM_BYTES]
    return bytes(dict(headers or ()).get(_TERM_HEADER, b""))


class InMemory(dict[bytes, bytes]):
    """Entries of one partition in a dictionary."""

    def write(self, changes: Mapping[bytes, bytes | None]) -> None:
        for key, entry in changes.items():
            if entry is None:
                self.pop(key, None)
            else:
                self[key] = entry

    def keys(self, from_key: bytes = b"") -> Iterator[bytes]:  # type: ignore[override]
        return iter(sorted(key for key in self if key >= from_key))


class InRocks:
    """Entries of one partition in a RocksDB that is open in raw mode."""

    def __init__(self, database: Any) -> None:
        self._database = database
        self.get = database.get

    def write(self, changes: Mapping[bytes, bytes | None]) -> None:
        batch = WriteBatch(raw_mode=True)
        for key, entry in changes.items():
            if entry is None:
                batch.delete(key)
            else:
                batch.put(key, entry)
        self._database.write(batch)

    def keys(self, from_key: bytes) -> Iterator[bytes]:
        return map(bytes, self._database.keys(from_key=from_key))


class PartitionTable:
    """The table as the state of one partition sees it, for one term. What is put waits here until
    ``changed``: then it is in the local store, and to be sent to the changelog."""

    def __init__(
        self,
        entries: Callable[[], Entries],
        partition: int,
        *,
        generation: int,
        recovered: int | None,
        outdated: Iterable[bytes] = (),
    ) -> None:
        """``entries`` gives what is here of the partition, ``generation`` is the consumer group's,
        ``recovered`` the offset of the changelog's last record that is here (None: not known), and
        the newest records of the ``outdated`` keys are an overtaken worker's."""
        self._entries, self._partition = entries, partition
        before = entries().get(TERM_KEY)
        number = _TERM.unpack(before[:TERM_BYTES])[0] + 1 if before else 1
        self.term = _TERM.pack(number, max(0, generation))
        self.logged = recovered
        """As ``recovered``, for what was written since as well."""
        self._outdated = sorted(outdated)
        self._changed: dict[bytes, bytes | None] = {TERM_KEY: self.term}
        self._write()

    def get(self, key: bytes) -> bytes | None:
        entry = self._changed[key] if key in self._changed else self._entries().get(key)
        return None if entry is None else entry[TERM_BYTES:]

    def put(self, key: bytes, entry: bytes) -> None:
        self._changed[key] = self.term + entry

    def delete(self, key: bytes) -> None:
        self._changed[key] = None

    def keys(self, prefix: bytes) -> Iterator[bytes]:
        """Every key that begins with ``prefix``."""
        self._write()
        found: list[bytes] = []
        for key in self._entries().keys(prefix):
            if not key.startswith(prefix):
                break
            found.append(key)
        return iter(found)

    def changed(self) -> list[Record]:
        """What was changed since the last call, as the changelog gets it."""
        self._write()
        changed, self._changed = self._changed, {}
        outdated, self._outdated = self._outdated, []
        records = [self._record(key, entry) for key, entry in changed.items()]
        return records + [self.record(key) for key in outdated if key not in changed]

    def _write(self) -> None:
        if self._changed:
            self._entries().write(self._changed)

    def record(self, key: bytes) -> Record:
        """The entry of a key as it is now, written in this term."""
        entry = self.get(key)
        return self._record(key, None if entry is None else self.term + entry)

    def _record(self, key: bytes, entry: bytes | None) -> Record:
        return key, entry, [(_TERM_HEADER, self.term)] if entry is None else []

    def between(self, stand: Sequence[range]) -> list[range]:
        """The offsets of the changelog that others wrote to before these own ones."""
        foreign: list[range] = []
        for own in stand:
            if not own:
                self.logged = None
                continue
            if self.logged is not None and own.start > self.logged + 1:
                foreign.append(range(self.logged + 1, own.start))
            self.logged = own[-1]
        return foreign

    def again(self, settings: KafkaSettings, topic: str, foreign: Sequence[range]) -> list[Record]:
        """The own entries of the keys that another wrote to at these offsets of the changelog.
        ``TakenOver`` where the other is the newer one."""
        reader = TopicReader(settings, topic)
        keys: dict[bytes, None] = {}
        try:
            for each in foreign:
                for record in reader.records(self._partition, each.start, len(each)):
                    if term_of(record.value, record.headers) > self.term:
                        raise TakenOver(
                            f"{topic} partition {self._partition} offset {record.offset}: another "
                            "worker has written in a later term, so this one was frozen, or cut "
                            "off, for longer than its session; mend: start it again; if this "
                            "returns, give workers a longer session"
                        )
                    keys[record.key] = None
        finally:
            reader.close()
        _LOGGER.warning("changelog_mended", topic=topic, partition=self._partition)
        return [self.record(key) for key in keys]

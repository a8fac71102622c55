"""The event log: the protocol that every implementation keeps, and what it hands out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Protocol
from zlib import crc32

import msgspec

from memstream.schemas.codec import SealedRow


class Position(msgspec.Struct, frozen=True, gc=False):
    """Where one event stands in the log. Returned by every recording call."""

    partition: int
    offset: int
    scope: str
    event: str
    duplicate: bool = False
    """True where the event id was already there: nothing was appended."""
    differs: bool = False
    """True where what is there under the id says something else than what was given, or says it of
    another time. Told by ``Memory`` on the embedded log; on Kafka workers drop duplicates later."""


class Entry(msgspec.Struct, frozen=True, gc=False):
    """One event as it stands in the log, still sealed."""

    partition: int
    offset: int
    row: SealedRow


class EventLog(Protocol):
    """An append-only, partitioned log of sealed events.

    Obligations of every implementation:

    * all events of one scope (``row.subject``) go to one partition, in append order; offsets of a
      partition count from 0 without gaps;
    * ``append`` returns only after the events are durable; it sets ``recordedtime`` once, strictly
      increasing within a partition;
    * an event id already present in its scope is not appended again: its old position comes back
      with ``duplicate`` set (also within one call); nor is a row that ``goes_with`` such a one:
      it comes back with that one's position;
    * many threads and processes may append at the same time; nothing is lost or doubled;
    * a failure raises ``LogUnavailable`` saying what, where and how to mend it, and leaves
      nothing half-appended.
    """

    @property
    def partitions(self) -> int: ...

    def append(self, rows: Sequence[SealedRow]) -> list[Position]: ...

    def read(self, partition: int, offset: int, limit: int) -> list[Entry]: ...

    def end_offsets(self) -> dict[int, int]:
        """The offset the next event of each partition will get."""
        ...

    def offset_at(self, partition: int, instant: datetime) -> int:
        """The first offset recorded at or after the instant; the end offset where there is none."""
        ...

    def find(self, subject: str, event_id: str) -> Entry | None: ...

    def of_subject(self, subject: str) -> Iterator[Entry]:
        """All events of one scope, in order."""
        ...

    def replace_all(self, entries: Iterable[Entry]) -> None:
        """Puts re-sealed rows in the place of the same events, all or none; content must not
        change. For erasure only."""
        ...

    def scrub(self) -> None:
        """Leaves no byte of a replaced row anywhere in the log's files."""
        ...

    def committed(self, consumer: str) -> dict[int, int]: ...

    def commit(self, consumer: str, offsets: Mapping[int, int]) -> None: ...

    def close(self) -> None: ...


def partition_of(subject: str, partitions: int) -> int:
    """The partition of a scope path: the same in every log with that many partitions, for ever."""
    return crc32(subject.encode()) % partitions

"""Reads one topic by partition and offset, from many threads, without a consumer group.

A kafka-python consumer belongs to one thread at a time and fetches ahead of what it was asked. So
idle ones are kept where they stopped: whoever reads on from there finds what is already fetched.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kafka import KafkaConsumer
from kafka.errors import KafkaError, OffsetOutOfRangeError
from kafka.structs import TopicPartition

from memstream.schemas.errors import LogUnavailable
from memstream.streams.clock import Deadline
from memstream.streams.kafka_messages import row_of
from memstream.streams.kafka_settings import KafkaSettings, connection
from memstream.streams.log import Entry

_MOST_IDLE = 8
_MOST_RECORDS = 10_000
_POLL_MS = 200


class TopicReader:
    """Reads what is committed on a topic. ``LogUnavailable`` where the brokers do not answer
    within the settings' wait, or no longer hold what was asked for."""

    def __init__(self, settings: KafkaSettings, topic: str) -> None:
        self._settings = settings
        self._topic = topic
        self._lock = threading.Lock()
        self._idle: list[_Cursor] = []
        self._closed = False

    def read(self, partition: int, offset: int, limit: int) -> list[Entry]:
        """At most ``limit`` entries from the offset on, of what is there when it is called."""
        if offset < 0 or limit <= 0:
            return []
        return [self._entry(record) for record in self._records(partition, offset, limit)]

    def messages(self, partition: int, offset: int, limit: int) -> list[tuple[int, bytes]]:
        """As ``read``: (offset, value) of each, undecoded; no bytes for a tombstone."""
        if offset < 0 or limit <= 0:
            return []
        found = self._records(partition, offset, limit)
        return [(record.offset, record.value or b"") for record in found]

    def records(self, partition: int, offset: int, limit: int) -> list[Any]:
        """As ``messages``: kafka-python's records, with offset, key, value and headers."""
        return self._records(partition, offset, limit)

    def scan(self, partition: int, subject: str) -> Iterator[Entry]:
        """All entries of one scope that are there at the first step. Others are not decoded."""
        for record in self._of_key(partition, subject, self.end_offset(partition)):
            yield self._entry(record)

    def history(self, partition: int, subject: str, below: int) -> Iterator[tuple[int, bytes]]:
        """The messages of one scope below an offset, undecoded."""
        for record in self._of_key(partition, subject, below):
            yield record.offset, record.value or b""

    def _of_key(self, partition: int, subject: str, end: int) -> Iterator[Any]:
        key, at = subject.encode(), 0
        while at < end:
            records = self._records(partition, at, min(_MOST_RECORDS, end - at))
            if not records:
                return
            at = records[-1].offset + 1
            yield from (each for each in records if each.key == key)

    def end_offset(self, partition: int) -> int:
        return self._ends([partition])[partition]

    def end_offsets(self, partitions: int) -> dict[int, int]:
        return self._ends(range(partitions))

    def offset_at(self, partition: int, millis: int) -> int:
        """The first offset whose timestamp is that millisecond or later; the end without one."""
        at = TopicPartition(self._topic, partition)
        with self._borrow(partition, -1) as cursor:
            found = cursor.consumer.offsets_for_times({at: millis})[at]
            if found is not None:
                return int(found.offset)
            return int(cursor.consumer.end_offsets([at])[at])

    def close(self) -> None:
        """Closes what is idle; what is being read with is closed when given back."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for each in idle:
            each.consumer.close()

    def _ends(self, partitions: Any) -> dict[int, int]:
        asked = [TopicPartition(self._topic, each) for each in partitions]
        with self._borrow(-1, -1) as cursor:
            found = cursor.consumer.end_offsets(asked)
        return {at.partition: end for at, end in found.items()}

    def _records(self, partition: int, offset: int, limit: int) -> list[Any]:
        at = TopicPartition(self._topic, partition)
        records: list[Any] = []
        with self._borrow(partition, offset) as cursor:
            consumer = cursor.consumer
            end = consumer.end_offsets([at])[at]
            if offset >= end:
                return []
            cursor.go_to(at, offset)
            deadline = Deadline(self._settings.wait_s)
            while len(records) < limit and cursor.offset < end:
                most = min(limit - len(records), end - cursor.offset, _MOST_RECORDS)
                found = consumer.poll(_POLL_MS, max_records=most).get(at, ())
                records += found
                # Also past what carries no event: the marks of transactions.
                moved = consumer.position(at)
                if moved == cursor.offset and deadline.passed:
                    raise LogUnavailable(
                        f"topic {self._topic}, partition {partition}: nothing came from offset "
                        f"{cursor.offset} on within {self._settings.wait_s:g} s; "
                        "mend: check that the partition's leader runs"
                    )
                if moved != cursor.offset:
                    cursor.offset, deadline = moved, Deadline(self._settings.wait_s)
        return records

    def _entry(self, record: Any) -> Entry:
        where = f"topic {record.topic}, partition {record.partition}, offset {record.offset}"
        row = row_of(record.value, record.timestamp, where=where)
        return Entry(record.partition, record.offset, row)

    @contextmanager
    def _borrow(self, partition: int, offset: int) -> Iterator[_Cursor]:
        """A cursor of one's own: the one that stands there, another idle one, or a new one."""
        with self._lock:
            if self._closed:
                raise LogUnavailable(
                    f"topic {self._topic}: the log was closed; mend: open it again"
                )
            there = [each for each in self._idle if each.at == (partition, offset)]
            cursor = there[0] if there else self._idle[0] if self._idle else None
            if cursor is not None:
                self._idle.remove(cursor)
        broken = True
        try:
            if cursor is None:
                cursor = _Cursor(self._settings)
            yield cursor
            broken = False
        except OffsetOutOfRangeError as error:
            raise LogUnavailable(
                f"topic {self._topic}, partition {partition}: offset {offset} is gone, the topic "
                "was cut or made anew; mend: restore it from a copy, and run memstream topics"
            ) from error
        except KafkaError as error:
            raise LogUnavailable(
                f"topic {self._topic} of {self._settings.bootstrap} cannot be read: "
                f"{type(error).__name__}: {error}; mend: check that the brokers run"
            ) from error
        finally:
            if cursor is not None:
                self._give_back(cursor, broken)

    def _give_back(self, cursor: _Cursor, broken: bool) -> None:
        with self._lock:
            surplus = [cursor]
            if not broken and not self._closed:
                # The one used last stands last, so the one that waited longest goes first.
                self._idle.append(cursor)
                surplus = self._idle[:-_MOST_IDLE]
                del self._idle[:-_MOST_IDLE]
        for each in surplus:
            each.consumer.close()


class _Cursor:
    """A consumer and where it stands."""

    __slots__ = ("consumer", "offset", "partition")

    def __init__(self, settings: KafkaSettings) -> None:
        self.partition = -1
        self.offset = -1
        options: dict[str, Any] = {
            "group_id": None,
            "enable_auto_commit": False,
            "auto_offset_reset": "none",
            "isolation_level": "read_committed",
            "allow_auto_create_topics": False,
            "max_poll_records": _MOST_RECORDS,
            "fetch_max_bytes": max(16 << 20, settings.max_message_bytes),
            "max_partition_fetch_bytes": max(4 << 20, settings.max_message_bytes),
        }
        self.consumer: Any = KafkaConsumer(**connection(settings), **options)

    @property
    def at(self) -> tuple[int, int]:
        return self.partition, self.offset

    def go_to(self, at: TopicPartition, offset: int) -> None:
        """Stands there; what was fetched ahead is kept where it stood there already."""
        if self.partition != at.partition:
            self.consumer.assign([at])
        if self.at != (at.partition, offset):
            self.consumer.seek(at, offset)
        self.partition, self.offset = at.partition, offset

"""The event log on an Apache Kafka topic: many machines append, what is acknowledged is durable.

An append goes out with acks=all from an idempotent producer, so a retry inside it doubles nothing.
Kafka cannot look at what a topic holds before it appends, so here is where this log differs from
the one in a file:

* An event id that this object appended (or finds among the last ``REMEMBERED`` it saw) is answered
  with its old position. One that another process, or an earlier run, appended is on the topic
  twice. Whoever derives drops the second one by its id; ``find`` and ``of_subject`` return the
  first; ``read`` returns what the topic holds.
* ``recordedtime`` is fixed at append, inside the message, by the appending process. It strictly
  increases within a partition for one process; between processes as far as their clocks agree.
* A call is not all-or-nothing: after ``LogUnavailable`` some of its events may be there. Appending
  the same ids again is harmless. What the topic cannot take is refused before anything is sent.
* A topic cannot be rewritten: an erasure destroys a key and appends what else it sealed again,
  under other keys (``append_again``). Of copies with one id, a reader takes the first that opens.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from kafka import KafkaAdminClient, KafkaProducer
from kafka.errors import (
    InvalidTimestampError,
    KafkaError,
    MessageSizeTooLargeError,
    NoError,
)
from kafka.structs import OffsetAndMetadata, TopicPartition

from memstream.schemas.codec import SealedRow
from memstream.schemas.errors import Fault, InvalidEvent, LogUnavailable
from memstream.schemas.instants import to_micros
from memstream.streams.clock import Clock, Deadline
from memstream.streams.kafka_messages import Message, check_row, message_of
from memstream.streams.kafka_reading import TopicReader
from memstream.streams.kafka_settings import KafkaSettings, connection
from memstream.streams.kafka_topics import EVENTS, topic_faults, topics_of
from memstream.streams.log import Entry, Position, partition_of

REMEMBERED = 65_536
"""How many of the ids it appended last one log object answers as duplicates."""

_CHUNK = 1_000


def row_check(settings: KafkaSettings) -> Callable[[SealedRow], None]:
    """A check that raises ``InvalidEvent`` for a row the topic cannot take, without a broker: for
    whoever keeps rows until there is one (``Outbox``)."""

    def check(row: SealedRow) -> None:
        check_row(row)
        _check_size(row, message_of(row, 0), settings)

    return check


class KafkaLog:
    """``EventLog`` on the topic ``<prefix>.events``. Open it once per process; share it between
    threads. The topic must be there and be as ``memstream topics`` makes it: anything else is
    ``LogUnavailable`` with the command that mends it. Not to be carried over a fork.
    """

    def __init__(self, settings: KafkaSettings, clock: Clock) -> None:
        self.settings = settings
        self.topic = settings.topic(EVENTS)
        self._clock = clock
        self._process = os.getpid()
        self._writing = threading.Lock()
        self._closed = False
        self._recent: OrderedDict[tuple[str, str], _Sent] = OrderedDict()
        spec = next(each for each in topics_of(settings) if each.name == self.topic)
        faults = topic_faults(settings, [spec])
        if faults:
            raise LogUnavailable("; ".join(str(each) for each in faults))
        self._reader = TopicReader(settings, self.topic)
        try:
            self._producer = _producer(settings)
            self._last = self._last_times()
        except BaseException:
            self._reader.close()
            raise

    @property
    def partitions(self) -> int:
        return self.settings.partitions

    def append(self, rows: Sequence[SealedRow]) -> list[Position]:
        """Returns once all brokers in sync have every row. ``InvalidEvent`` for a row that the
        topic cannot take (nothing of the call is sent then); ``LogUnavailable`` where a row was
        not acknowledged in time: append the same rows again."""
        if not rows:
            return []
        self._check_process()
        with self._writing:
            sent = self._send(rows)
        return [
            Position(each.partition, self._offset(each, row), row.subject, row.id, duplicate)
            for row, (each, duplicate) in zip(rows, sent, strict=True)
        ]

    def append_again(self, rows: Sequence[SealedRow]) -> list[Position]:
        """Appends events that are there, sealed under another key: the same ids, the same
        ``recordedtime``, which every row must have. For erasure only. Errors as ``append``."""
        self._check_process()
        for row in rows:
            check_row(row)
            if row.recordedtime is None:
                fault = Fault("$.recordedtime", "is missing", "append again what was read")
                raise InvalidEvent(f"event {row.id}", [fault])
        sent: list[_Sent] = []
        with self._writing:
            # Kafka's own timestamp is that of this append: its index of times stays in order.
            now = to_micros(self._clock.now()) // 1000
            for row in rows:
                assert row.recordedtime is not None
                message = message_of(row, to_micros(row.recordedtime))
                _check_size(row, message, self.settings)
                made = _Sent((row.subject, row.id), partition_of(row.subject, self.partitions))
                self._hand_over(made, message._replace(timestamp_ms=now))
                sent.append(made)
        return [
            Position(each.partition, self._offset(each, row), row.subject, row.id)
            for row, each in zip(rows, sent, strict=True)
        ]

    def read(self, partition: int, offset: int, limit: int) -> list[Entry]:
        """As the topic holds them. ``InvalidEvent``, naming the offset, for a message that is no
        event of ours; ``LogUnavailable`` where the brokers do not answer."""
        self._check_process()
        return self._reader.read(partition, offset, limit)

    def end_offsets(self) -> dict[int, int]:
        self._check_process()
        return self._reader.end_offsets(self.partitions)

    def offset_at(self, partition: int, instant: datetime) -> int:
        """Kafka finds the millisecond, the events of that millisecond are looked through."""
        self._check_process()
        micros = to_micros(instant)
        at = self._reader.offset_at(partition, max(0, micros // 1000))
        while entries := self._reader.read(partition, at, _CHUNK):
            for entry in entries:
                if _recorded(entry) >= micros:
                    return entry.offset
            at = entries[-1].offset + 1
        return at

    def find(self, subject: str, event_id: str) -> Entry | None:
        """The first of that id, or the last copy of it that was appended again. Reads the
        partition from its start: for explaining and erasing, not for every event."""
        found: Entry | None = None
        for entry in self.of_subject(subject):
            if entry.row.id == event_id and (
                found is None or entry.row.recordedtime == found.row.recordedtime
            ):
                found = entry
        return found

    def of_subject(self, subject: str) -> Iterator[Entry]:
        """Each event of one scope, in order, up to the end at the first step; one that was sealed
        again comes once for each key. Reads the whole partition, decodes only the scope."""
        self._check_process()
        partition = partition_of(subject, self.partitions)
        seen: set[tuple[str, str]] = set()
        for entry in self._reader.scan(partition, subject):
            copy = entry.row.id, entry.row.key_id
            if copy not in seen:
                seen.add(copy)
                yield entry

    def messages_of(self, subject: str) -> Iterator[tuple[int, bytes]]:
        """(offset, value) of every message of one scope, every copy among them, undecoded, up to
        the end at the first step. Reads the whole partition."""
        self._check_process()
        partition = partition_of(subject, self.partitions)
        end = self._reader.end_offset(partition)
        return self._reader.history(partition, subject, end)

    def replace_all(self, entries: Iterable[Entry]) -> None:
        """Always refused: a topic cannot be rewritten."""
        for entry in entries:
            raise LogUnavailable(
                f"topic {self.topic}, partition {entry.partition}, offset {entry.offset}: a Kafka "
                "topic cannot be rewritten; mend: destroy the key that seals what must go"
            )

    def scrub(self) -> None:
        """Nothing to do: no row is ever replaced here."""

    def committed(self, consumer: str) -> dict[int, int]:
        """What ``commit`` kept; the brokers forget a consumer that has not committed for as long
        as their offsets.retention.minutes (seven days by default). It then starts anew, which
        changes nothing but takes time."""
        group = self.settings.group(consumer)
        found = self._asked(lambda admin: admin.list_group_offsets([group]))[group]
        mine = {at.partition: kept.offset for at, kept in found.items() if at.topic == self.topic}
        return dict(sorted(mine.items()))

    def commit(self, consumer: str, offsets: Mapping[int, int]) -> None:
        kept = {
            TopicPartition(self.topic, partition): OffsetAndMetadata(offset, "", -1)
            for partition, offset in offsets.items()
        }
        group = self.settings.group(consumer)

        def keep(admin: Any) -> None:
            for at, error in admin.alter_group_offsets(group, kept).items():
                if error is not NoError:
                    raise error(f"offset of partition {at.partition} of group {group} not kept")

        self._asked(keep)

    def close(self) -> None:
        """Idempotent. Waits for what is being sent."""
        with self._writing:
            if self._closed or self._process != os.getpid():
                return
            self._closed = True
            self._producer.close(timeout=self.settings.wait_s)
            self._reader.close()

    # Appending

    def _send(self, rows: Sequence[SealedRow]) -> list[tuple[_Sent, bool]]:
        """Hands all new rows to the producer, in order. Under the lock, so the order of the
        recorded times is the order of the offsets."""
        if self._closed:
            raise LogUnavailable(f"topic {self.topic}: the log was closed; mend: open it again")
        now = to_micros(self._clock.now())
        answers: list[tuple[_Sent, bool]] = []
        messages: list[tuple[_Sent, Message]] = []
        fresh: dict[tuple[str, str], _Sent] = {}
        last = dict(self._last)
        for row in rows:
            name = row.subject, row.id
            known = fresh.get(name) or self._recent.get(name)
            if known is not None:
                answers.append((known, True))
                continue
            check_row(row)
            partition = partition_of(row.subject, self.partitions)
            last[partition] = max(last.get(partition, 0) + 1, now)
            message = message_of(row, last[partition])
            _check_size(row, message, self.settings)
            made = fresh[name] = _Sent(name, partition)
            messages.append((made, message))
            answers.append((made, False))
        self._last = last
        for made, message in messages:
            self._hand_over(made, message)
            self._recent[made.name] = made
            if len(self._recent) > REMEMBERED:
                self._recent.popitem(last=False)
        return answers

    def _hand_over(self, made: _Sent, message: Message) -> None:
        try:
            made.future = self._producer.send(
                self.topic,
                key=message.key,
                value=message.value,
                headers=message.headers,
                partition=made.partition,
                timestamp_ms=message.timestamp_ms,
            )
        except KafkaError as error:
            raise self._stated(error, "appended to") from error

    def _offset(self, sent: _Sent, row: SealedRow) -> int:
        """The offset of a row that was handed to the producer, once it is acknowledged."""
        future = sent.future
        if future is not None:
            try:
                offset = future.get(timeout=self.settings.wait_s + 5).offset
            except KafkaError as error:
                with self._writing:
                    self._recent.pop(sent.name, None)
                if isinstance(error, MessageSizeTooLargeError):
                    fault = Fault("$.data", f"topic {self.topic} does not take it: {error}")
                    raise InvalidEvent(f"event {row.id}", [fault]) from error
                raise self._stated(error, "appended to") from error
            if offset < 0:
                # A retry of what the broker already had, too long ago for it to know where.
                found = self.find(*sent.name)
                if found is None:
                    raise LogUnavailable(
                        f"topic {self.topic}: event {row.id} was acknowledged and is not there; "
                        "mend: append it again"
                    )
                offset = found.offset
            sent.offset, sent.future = offset, None
        return sent.offset

    def _last_times(self) -> dict[int, int]:
        """The recorded time of the last event of every partition that has one."""
        times: dict[int, int] = {}
        for partition, end in self.end_offsets().items():
            if end:
                for entry in self._reader.read(partition, end - 1, 1):
                    times[partition] = _recorded(entry)
        return times

    def _stated(self, error: KafkaError, doing: str) -> LogUnavailable:
        mend = "check that the brokers run and reach each other, then try the same again"
        if isinstance(error, InvalidTimestampError):
            mend = "set this machine's clock right: it is more than an hour ahead of the broker's"
        return LogUnavailable(
            f"topic {self.topic} of {self.settings.bootstrap} cannot be {doing}: "
            f"{type(error).__name__}: {error}; mend: {mend}"
        )

    def _asked(self, question: Callable[[Any], Any]) -> Any:
        """The answer to an admin's question; put again while the brokers are not ready for it (a
        new cluster makes its own topics at the first commit)."""
        self._check_process()
        deadline, pause = Deadline(self.settings.wait_s), threading.Event()
        admin: Any = None
        try:
            admin = KafkaAdminClient(**connection(self.settings))
            while True:
                try:
                    return question(admin)
                except KafkaError as error:
                    if deadline.passed or not error.retriable:
                        raise
                    pause.wait(0.1)
        except KafkaError as error:
            raise self._stated(error, "asked") from error
        finally:
            if admin is not None:
                admin.close()

    def _check_process(self) -> None:
        if self._process != os.getpid():
            raise LogUnavailable(
                f"topic {self.topic}: opened before a fork; mend: open it in the child process"
            )


class _Sent:
    """One event on its way, or arrived: then the future is gone and the offset known."""

    __slots__ = ("future", "name", "offset", "partition")

    def __init__(self, name: tuple[str, str], partition: int) -> None:
        self.name = name
        self.partition = partition
        self.future: Any = None
        self.offset = -1


def _check_size(row: SealedRow, message: Message, settings: KafkaSettings) -> None:
    most = settings.max_message_bytes
    if message.size > most:
        fault = Fault(
            "$.data",
            f"takes {message.size} bytes as a message, topic {settings.topic(EVENTS)} takes {most}",
            "split it, or set MEMSTREAM_KAFKA_MAX_MESSAGE_BYTES to more and run "
            "memstream topics --mend",
        )
        raise InvalidEvent(f"event {row.id}", [fault])


def _producer(settings: KafkaSettings) -> Any:
    wait_ms = int(settings.wait_s * 1000)
    try:
        return KafkaProducer(
            **connection(settings),
            acks="all",
            enable_idempotence=True,
            delivery_timeout_ms=wait_ms,
            max_block_ms=wait_ms,
            max_request_size=settings.max_message_bytes + 65_536,
            batch_size=262_144,
            allow_auto_create_topics=False,
        )
    except KafkaError as error:
        raise LogUnavailable(
            f"Kafka at {settings.bootstrap}: {type(error).__name__}: {error}; "
            "mend: check the address, the credentials, and that the brokers run"
        ) from error


def _recorded(entry: Entry) -> int:
    assert entry.row.recordedtime is not None, "row_of always sets it"
    return to_micros(entry.row.recordedtime)

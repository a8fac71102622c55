"""The Kafka event log on a real broker: the suite of every log, and what only Kafka can do."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import msgspec
import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.structs import TopicPartition

sys.path.insert(0, str(Path(__file__).parent))

from log_conformance import START, LogConformance, everything, row

from memstream.schemas.errors import InvalidEvent, LogUnavailable
from memstream.streams.clock import Clock, ManualClock, SystemClock
from memstream.streams.kafka_settings import KafkaSettings
from memstream.streams.kafka_topics import EVENTS, make_topics, topics_of
from memstream.streams.log import partition_of
from memstream.streams.log_in_kafka import KafkaLog


def settings_of(bootstrap: str, directory: Path, **changes: Any) -> KafkaSettings:
    """Settings whose topics belong to one directory, so that each test has its own."""
    mark = hashlib.sha256(str(directory).encode()).hexdigest()[:16]
    given = {"partitions": 4, "replication": 1, "min_insync": 1, "wait_s": 20.0, **changes}
    return KafkaSettings(bootstrap=bootstrap, prefix=f"test-{mark}", **given)


def opened(settings: KafkaSettings, clock: Clock) -> KafkaLog:
    """The log of these settings; its topic is made where it is not there."""
    make_topics(settings, [each for each in topics_of(settings) if each.name.endswith(EVENTS)])
    return KafkaLog(settings, clock)


def alter(settings: KafkaSettings, topic: str, values: dict[str, str]) -> None:
    """Sets a topic otherwise than memstream does, and waits until the brokers know."""
    admin: Any = KafkaAdminClient(bootstrap_servers=settings.bootstrap)
    admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, values)])
    asked = [ConfigResource(ConfigResourceType.TOPIC, topic)]
    # The controller answers before the brokers know.
    for _ in range(1_000):
        found = admin.describe_configs(asked, config_filter="all")["topic"][topic]
        if all(found[name]["value"] == value for name, value in values.items()):
            break
    else:
        pytest.fail(f"{topic} did not take {values}")
    admin.close()


class TestKafkaLog(LogConformance):
    """The suite of every log, on Kafka."""

    replaces = False  # a topic is append-only; destroying the key is what erases
    orders_writers = False  # a broker appends without looking at what the topic holds

    writers = 4
    bootstrap = ""

    @pytest.fixture(autouse=True)
    def _broker(self, kafka_bootstrap: str) -> None:
        self.bootstrap = kafka_bootstrap

    def open_log(self, directory: Path, clock: Clock) -> KafkaLog:
        return opened(settings_of(self.bootstrap, directory), clock)

    def program(self, directory: Path) -> str:
        settings = settings_of(self.bootstrap, directory)
        opened(settings, SystemClock()).close()
        return (
            "from memstream.streams.clock import SystemClock\n"
            "from memstream.streams.kafka_settings import KafkaSettings\n"
            "from memstream.streams.log_in_kafka import KafkaLog\n"
            f"settings = KafkaSettings(bootstrap={settings.bootstrap!r},\n"
            f"    prefix={settings.prefix!r}, partitions=4, replication=1, min_insync=1)\n"
            "log = KafkaLog(settings, SystemClock())\n"
        )


@pytest.fixture
def settings(kafka_bootstrap: str, tmp_path: Path) -> KafkaSettings:
    return settings_of(kafka_bootstrap, tmp_path)


@pytest.fixture
def log(settings: KafkaSettings) -> Iterator[KafkaLog]:
    log = opened(settings, ManualClock(START))
    yield log
    log.close()


def test_what_stands_on_the_topic_can_be_read_without_us(log: KafkaLog) -> None:
    given = row("event-1", runtime="", run="a/b")
    log.append([given, row("event-2", key_id="", payload=b'{"text":"hi"}', runtime="x/y")])
    partition = partition_of(given.subject, 4)
    consumer: Any = KafkaConsumer(bootstrap_servers=log.settings.bootstrap, group_id=None)
    at = TopicPartition(log.topic, partition)
    consumer.assign([at])
    consumer.seek(at, 0)
    first, second = consumer.poll(10_000)[at]
    consumer.close()
    assert first.key == b"acme/user:ada"
    assert dict(first.headers)["id"] == b"event-1"
    assert dict(first.headers)["content-type"].startswith(b"application/cloudevents+json")
    wire = msgspec.json.decode(first.value)
    assert wire["specversion"] == "1.0"
    assert wire["id"] == "event-1"
    assert wire["subject"] == "acme/user:ada"
    assert "data" not in wire
    recorded = datetime.fromisoformat(wire["recordedtime"])
    assert first.timestamp == int(recorded.timestamp() * 1000)
    assert msgspec.json.decode(second.value)["data"] == {"text": "hi"}
    entries = log.read(partition, 0, 10)
    assert entries[0].row == msgspec.structs.replace(given, recordedtime=recorded)
    assert entries[1].row.runtime == "x/y"


def test_an_event_of_an_earlier_run_is_twice_on_the_topic_and_once_in_its_scope(
    settings: KafkaSettings,
) -> None:
    first = opened(settings, ManualClock(START))
    at = first.append([row("a")])[0]
    first.close()
    second = opened(settings, ManualClock(START))
    again = second.append([row("a"), row("b")])
    assert [each.duplicate for each in again] == [False, False]
    assert [entry.row.id for entry in everything(second)] == ["a", "a", "b"]
    assert [entry.row.id for entry in second.of_subject("acme/user:ada")] == ["a", "b"]
    found = second.find("acme/user:ada", "a")
    assert found is not None
    assert found.offset == at.offset
    # The clock stood still between the runs; the recorded time did not.
    times = [entry.row.recordedtime for entry in everything(second)]
    assert times == sorted(set(times))  # type: ignore[type-var]
    second.close()


def test_what_is_sealed_again_keeps_its_id_and_its_times(log: KafkaLog) -> None:
    log.append([row("a"), row("b"), row("c")])
    before = {entry.row.id: entry for entry in everything(log)}
    other = {"key_id": "key-2", "payload": b"sealed anew"}
    again = [msgspec.structs.replace(before[each].row, **other) for each in ("a", "b")]
    with pytest.raises(InvalidEvent, match="recordedtime"):
        log.append_again([msgspec.structs.replace(again[0], recordedtime=None)])
    assert [each.offset for each in log.append_again(again)] == [3, 4]
    # Every copy is there for whoever holds the keys; asked for one, the log gives the newest.
    held = [(entry.row.id, entry.row.key_id) for entry in log.of_subject("acme/user:ada")]
    assert held == [(each, "key-1") for each in "abc"] + [(each, "key-2") for each in "ab"]
    found = log.find("acme/user:ada", "a")
    assert found is not None
    assert found.row == again[0]
    assert log.find("acme/user:ada", "c") == before["c"]
    # Instants are found as before, and time goes on after the newest event.
    for entry in before.values():
        assert entry.row.recordedtime is not None
        assert log.offset_at(entry.partition, entry.row.recordedtime) == entry.offset
    assert log.append([row("d")])[0].offset == 5
    last = everything(log)[-1].row.recordedtime
    assert last is not None
    assert last > max(each.row.recordedtime for each in before.values() if each.row.recordedtime)


def test_what_the_topic_cannot_take_is_refused_before_anything_is_sent(
    kafka_bootstrap: str, tmp_path: Path
) -> None:
    log = opened(
        settings_of(kafka_bootstrap, tmp_path, max_message_bytes=100_000), ManualClock(START)
    )
    with pytest.raises(InvalidEvent, match=r"takes \d+ bytes.*takes 100000.*split it"):
        log.append([row("small"), row("large", payload=bytes(80_000))])
    assert everything(log) == []
    # The largest that is let through is taken by the broker.
    room = 100_000
    while True:
        try:
            log.append([row("fits", payload=bytes(room))])
        except InvalidEvent:
            room -= 300
        else:
            break
    assert room > 70_000
    assert [entry.row.id for entry in everything(log)] == ["fits"]
    log.close()


@pytest.mark.parametrize(
    "changes",
    [
        {"id": "\ud800"},
        {"subject": "acme/user:\udfff"},
        {"run": "\ud800"},
        {"key_id": "", "payload": b"no json"},
        {"key_id": "", "payload": b""},
        {"time": datetime(2024, 1, 1)},
        {"time": datetime(1900, 1, 1, tzinfo=timezone(timedelta(hours=8, seconds=343)))},
    ],
)
def test_what_json_cannot_hold_is_refused(log: KafkaLog, changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidEvent):
        log.append([row("good"), msgspec.structs.replace(row("bad"), **changes)])
    assert everything(log) == []
    assert log.append([row("good")])[0].duplicate is False


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"",
        b"\xff\xfe",
        b"[]",
        b'{"specversion":"1.0"}',
        b'{"specversion":"0.3","id":"a","type":"t","subject":"a/user:b",'
        b'"time":"2024-01-01T00:00:00Z","sourcekind":"user_said","trust":1,"dataversion":1,'
        b'"source":"memstream://a/b","data":{}}',
        b'{"specversion":"1.0","id":"a","type":"t","subject":"a/user:b",'
        b'"time":"2024-01-01T00:00:00","sourcekind":"user_said","trust":1,"dataversion":1,'
        b'"source":"memstream://a/b","data":{}}',
    ],
)
def test_a_message_that_is_no_event_is_named(log: KafkaLog, value: bytes | None) -> None:
    log.append([row("before")])
    partition = partition_of("acme/user:ada", 4)
    producer: Any = KafkaProducer(bootstrap_servers=log.settings.bootstrap)
    producer.send(log.topic, key=b"other", value=value, partition=partition).get(10)
    producer.close()
    log.append([row("after")])
    with pytest.raises(InvalidEvent, match=rf"{log.topic}, partition {partition}, offset 1"):
        log.read(partition, 0, 10)
    # Around it the log reads on.
    assert [entry.row.id for entry in log.read(partition, 2, 10)] == ["after"]
    assert [entry.row.id for entry in log.of_subject("acme/user:ada")] == ["before", "after"]


def test_a_topic_is_never_rewritten(log: KafkaLog) -> None:
    log.append([row("a")])
    entry = everything(log)[0]
    with pytest.raises(LogUnavailable, match="mend: destroy the key"):
        log.replace_all([entry])
    log.scrub()
    assert everything(log) == [entry]


def test_a_clock_far_ahead_is_told_where_the_topic_refuses_it(settings: KafkaSettings) -> None:
    log = opened(settings, ManualClock(datetime.now(UTC) + timedelta(days=2)))
    assert log.append([row("a")])[0].offset == 0
    alter(settings, settings.topic(EVENTS), {"message.timestamp.after.max.ms": "3600000"})
    with pytest.raises(LogUnavailable, match="clock"):
        log.append([row("b")])
    log.close()


def test_a_missing_topic_and_a_missing_broker_are_told_with_their_mend(
    settings: KafkaSettings,
) -> None:
    with pytest.raises(LogUnavailable, match=r"missing.*mend: memstream topics"):
        KafkaLog(settings, SystemClock())
    nowhere = msgspec.structs.replace(settings, bootstrap="127.0.0.1:1", wait_s=1.0)
    with pytest.raises(LogUnavailable, match=r"127\.0\.0\.1:1.*mend"):
        KafkaLog(nowhere, SystemClock())


def test_a_closed_log_says_so(log: KafkaLog) -> None:
    log.close()
    log.close()
    with pytest.raises(LogUnavailable, match="closed"):
        log.append([row("a")])
    with pytest.raises(LogUnavailable, match="closed"):
        log.read(0, 0, 1)

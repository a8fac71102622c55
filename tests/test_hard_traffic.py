"""One worker and traffic that is not as it should be; and an index that cannot keep up.

Every test ends with: nothing lost, nothing doubled, and the memories of an undisturbed run.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from kafka import KafkaProducer

sys.path.insert(0, str(Path(__file__).parent))

from histories import history
from kafka_installation import USERS, Installation, installed

from memstream import Memory, Scope
from memstream.processors.standard import standard_pipeline
from memstream.projections.embedders import embedder_named
from memstream.projections.in_edge import EdgeIndex
from memstream.schemas.events import Event
from memstream.service.directory import stamp_of
from memstream.streams.clock import ManualClock, SystemClock
from memstream.streams.kafka_reading import TopicReader
from memstream.streams.kafka_settings import connection
from memstream.streams.kafka_topics import DEAD_LETTERS, EVENTS
from memstream.streams.log_in_kafka import KafkaLog


@pytest.fixture(scope="module")
def worked(
    kafka_bootstrap: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Installation, list[Event]]]:
    """An installation with a worker, and all that the module's tests have told it."""
    with installed(kafka_bootstrap, tmp_path_factory.mktemp("traffic")) as installation:
        installation.worker("one")
        yield installation, []


def load(seed: int, length: int) -> list[Event]:
    """A history of its own: its events' ids are the seed's."""
    told = history(Random(seed), length, scopes=USERS)
    return [msgspec.structs.replace(each, id=f"{seed}-{each.id}") for each in told]


def test_messages_that_are_no_events_are_dead_letters(
    worked: tuple[Installation, list[Event]],
) -> None:
    installation, told = worked
    poison = [b"", b"\xff\xfe no event", b"{}", b'{"subject": 3}', b"[" * 5_000]
    producer: Any = KafkaProducer(**connection(installation.kafka))
    events = load(41, 200)
    for number, message in enumerate(poison):
        installation.record(events[number * 40 : (number + 1) * 40])
        for partition in range(installation.kafka.partitions):
            producer.send(installation.kafka.topic(EVENTS), message, partition=partition)
        producer.flush()
    producer.close()
    told += events
    installation.settled(told)
    count = len(poison) * installation.kafka.partitions
    assert installation.outcomes().count("dead_lettered") == count
    letters = TopicReader(installation.kafka, installation.kafka.topic(DEAD_LETTERS))
    assert sum(letters.end_offsets(installation.kafka.partitions).values()) == count
    letters.close()


def test_a_storm_of_producers_that_send_the_same_again(
    worked: tuple[Installation, list[Event]],
) -> None:
    installation, told = worked
    events = load(42, 200)
    rows = [installation.codec.to_row(each) for each in events]
    installation.record(events[:50])

    def storm(seed: int) -> None:
        random = Random(seed)
        log = KafkaLog(installation.kafka, SystemClock())
        for at in range(0, len(rows), 25):
            log.append([*rows[at : at + 25], *random.sample(rows[: at + 25], 20)])
        log.close()

    threads = [threading.Thread(target=storm, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    installation.record(events)
    told += events
    installation.settled(told)


def test_producers_whose_clocks_differ_by_hours(
    worked: tuple[Installation, list[Event]],
) -> None:
    installation, told = worked
    events = load(43, 200)
    now = SystemClock().now()
    logs = [
        KafkaLog(installation.kafka, ManualClock(now + timedelta(hours=hours)))
        for hours in (-3, 5, 0)
    ]
    for number, event in enumerate(events):
        logs[number % 3].append([installation.codec.to_row(event)])
    for log in logs:
        log.close()
    told += events
    installation.settled(told)


class Slow:
    """An index that applies nothing until it is let."""

    def __init__(self, index: EdgeIndex) -> None:
        self._index = index
        self.let = threading.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._index, name)

    def apply(self, steps: Sequence[Any]) -> None:
        self.let.wait()
        self._index.apply(steps)


def test_an_index_that_cannot_keep_up_holds_up_neither_recording_nor_recall(
    worked: tuple[Installation, list[Event]], tmp_path: Path
) -> None:
    installation, told = worked
    embedder = embedder_named("none")
    edge = EdgeIndex.open(tmp_path / "edge", stamp_of(standard_pipeline(), embedder), embedder)
    slow: Any = Slow(edge)
    with Memory.connect(tmp_path, installation.settings, projects=True, index=slow) as memory:
        events = load(44, 100)
        last = memory.append(events)[-1]
        told += events
        found = installation.settled(told)
        evidence = memory.recall(Scope.parse(events[-1].subject), "where?", after=last)
        assert any("stale" in each for each in evidence.degraded)
        slow.let.set()
        memory.flush(60)
        held = {
            (each.scope, each.id, each.version, each.text)
            for scope in USERS
            for each in edge.memories_of(scope.path)
        }
    # An index also notes on a version when it was succeeded, so these are not the same bytes.
    told_of = [json.loads(each) for versions in found.values() for each in versions]
    assert held == {(each["scope"], each["id"], each["version"], each["text"]) for each in told_of}

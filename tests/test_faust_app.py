"""The Faust application: what its producer promises, and what it does about messages left out."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from faust.types import TP

from memstream.processors.standard import standard_pipeline
from memstream.schemas.codec import Codec
from memstream.streams import faust_app, faust_transport
from memstream.streams.faust_app import ChangelogMissing, FaustWorker, WorkerSettings
from memstream.streams.kafka_reading import TopicReader
from memstream.streams.kafka_settings import KafkaSettings
from memstream.streams.kafka_topics import changelog_topic, derived_topics, make_topics
from memstream.streams.stages import BrokenSequence


def worker(settings: KafkaSettings, folder: Path) -> FaustWorker:
    """A worker that is not started."""
    own = WorkerSettings(generation="g", data_directory=folder, store="memory")
    return FaustWorker(settings, own, standard_pipeline(), Codec(), lambda _: lambda *_: ())


def test_the_producer_is_idempotent_and_waits_for_all_replicas(tmp_path: Path) -> None:
    """Else a batch that the client sends again stands twice, or after a later one."""
    app = worker(KafkaSettings(bootstrap="127.0.0.1:1"), tmp_path).app
    assert app.producer._settings_extra()["enable_idempotence"] is True
    assert app.conf.producer_acks == -1


def test_a_fetch_holds_up_what_it_leaves_out_for_a_moment_only(tmp_path: Path) -> None:
    app = worker(KafkaSettings(bootstrap="127.0.0.1:1"), tmp_path).app

    async def fetch_ms() -> Any:
        thread = app.consumer._thread
        return thread._create_worker_consumer(app.transport)._fetch_max_wait_ms

    assert asyncio.run(fetch_ms()) == faust_transport.FETCH_MS


def test_messages_sent_together_stand_in_order_whatever_their_size(
    kafka_bootstrap: str, tmp_path: Path
) -> None:
    settings = KafkaSettings(
        bootstrap=kafka_bootstrap, prefix="together", partitions=2, replication=1, min_insync=1
    )
    (topic, *_) = derived_topics(settings, "g")
    make_topics(settings, [topic])
    sizes = [1, 700_000, 10, 700_000, 2_000_000, 3, 600_000]
    messages: list[tuple[bytes | None, bytes | None, list[tuple[str, bytes]]]] = [
        (b"key %d" % number, bytes([number]) * size, []) for number, size in enumerate(sizes)
    ]

    async def send() -> list[int]:
        producer = worker(settings, tmp_path).app.producer
        await producer.start()
        try:
            first = await producer.send_all(topic.name, 1, messages)
            second = await producer.send_all(topic.name, 1, [(b"gone", None, [])])
            nothing = await producer.send_all(topic.name, 1, [])
            stand = [await each for each in (*first, *second, *nothing)]
            return [offset for each in stand for offset in each]
        finally:
            await producer.stop()

    offsets = asyncio.run(send())
    assert offsets == list(range(len(messages) + 1))
    reader = TopicReader(settings, topic.name)
    try:
        found = reader.messages(1, 0, 100)
        assert reader.end_offset(0) == 0
    finally:
        reader.close()
    assert found == [(at, value) for at, (_, value, _) in enumerate([*messages, (b"", b"", [])])]


class Consumer:
    """Of the Faust application: what is committed, and where it was told to go."""

    def __init__(self, topic: str, committed: int | None) -> None:
        self.confirmed = {} if committed is None else {(topic, 0): committed}
        self._unacked_messages: set[Any] = set()
        self.sought: list[int] = []
        self.ends: dict[Any, int] = {}
        self.flow_active = True

    async def seek_wait(self, places: dict[Any, int]) -> None:
        self.sought += places.values()

    def assignment(self) -> set[Any]:
        return set(self.ends)

    async def highwaters(self, *partitions: Any) -> dict[Any, int]:
        return {each: self.ends[each] for each in partitions}


class Arrived:
    """A message, as much of it as is looked at."""

    def __init__(self, offset: int) -> None:
        self.offset = offset


def arrived(offsets: range) -> list[Any]:
    return [SimpleNamespace(message=Arrived(each)) for each in offsets]


@pytest.mark.parametrize(
    ("coming", "first"),
    [
        ([3], 3),  # one pause, and that is it
        ([50, 50, 3, 50], 103),  # a backlog: until it slows down
        ([600] * 5, faust_app.MOST_IN_BATCH - 1),
    ],
)
def test_a_batch_gets_fuller_while_more_comes_than_can_be_decided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, coming: list[int], first: int
) -> None:
    made = worker(KafkaSettings(bootstrap="127.0.0.1:1"), tmp_path)
    stage: Any = made._stages[0]
    made.app.consumer_generation_id = 1
    waiting, batches = iter(coming), list[int]()

    def arrive(count: int) -> None:
        message = SimpleNamespace(partition=0, generation_id=1)
        stage._arrived.extend([SimpleNamespace(message=message)] * count)

    async def passes(_: float) -> None:
        arrive(next(waiting))

    async def worked(by_partition: Any) -> list[Any]:
        batches.append(sum(map(len, by_partition.values())) - 1)
        raise EOFError

    async def work() -> None:
        arrive(1)
        stage._came.set()
        with pytest.raises(EOFError):
            await stage._batches()

    monkeypatch.setattr(faust_app, "asyncio", SimpleNamespace(sleep=passes))
    monkeypatch.setattr(stage, "_worked", worked)
    asyncio.run(work())
    assert batches == [first]


def test_the_changelogs_are_made_under_the_names_that_faust_gives_them(tmp_path: Path) -> None:
    """Before the worker joins: who leads a group gives out the partitions of topics it knows."""
    settings = KafkaSettings(bootstrap="127.0.0.1:1")
    for stage in worker(settings, tmp_path)._stages:
        made = changelog_topic(settings, "g", stage.name)
        assert made.name == stage._changelog
        assert made.settings["cleanup.policy"] == "compact"


def test_a_partition_without_its_changelog_is_not_worked_on(tmp_path: Path) -> None:
    """Its state would begin empty, and what is decided would be something else."""
    made = worker(KafkaSettings(bootstrap="127.0.0.1:1"), tmp_path)
    made.app.consumer = Consumer("", None)
    with pytest.raises(ChangelogMissing, match="deriving-changelog, partition 3"):
        made._stages[0]._stage_of(3)


def test_a_worker_that_has_not_joined_is_nowhere_and_stays_unstarted(tmp_path: Path) -> None:
    """Prometheus may ask before the worker begins; a consumer made then belongs to no loop."""
    made = worker(KafkaSettings(bootstrap="127.0.0.1:1"), tmp_path)
    assert made.progress() == {}
    assert made.app._consumer is None


class TestMessagesLeftOut:
    """Faust puts away what it has fetched when a rebalance begins; with two workers that begin at
    once and events that come meanwhile, the first ones of a partition were never taken."""

    @pytest.mark.parametrize("committed", [None, 7])
    def test_they_are_read_again_and_nothing_after_them_is_taken(
        self, tmp_path: Path, committed: int | None
    ) -> None:
        start = committed or 0
        stage, consumer = self.stage(tmp_path, committed)
        assert not self.takes(stage, range(start + 12, start + 20))
        assert not self.takes(stage, range(start + 20, start + 22))
        assert consumer.sought == [start, start]
        assert self.takes(stage, range(start, start + 25))
        assert self.takes(stage, range(start + 25, start + 26))
        assert not self.takes(stage, range(start + 27, start + 28))
        assert consumer.sought[2:] == [start + 26]

    def test_one_missing_within_a_batch_counts_too(self, tmp_path: Path) -> None:
        stage, consumer = self.stage(tmp_path, None)
        batch = [*arrived(range(3)), *arrived(range(4, 6))]
        assert not asyncio.run(stage._is_whole(0, batch))
        assert consumer.sought == [0]

    def test_messages_taken_before_may_come_again(self, tmp_path: Path) -> None:
        stage, _ = self.stage(tmp_path, 5)
        assert self.takes(stage, range(2, 9))
        assert self.takes(stage, range(6, 12))

    def test_one_that_never_comes_stops_the_worker(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(faust_app, "MOST_SEEKS", 3)
        stage, _ = self.stage(tmp_path, 5)
        for _ in range(3):
            assert not self.takes(stage, range(6, 9))
        with pytest.raises(BrokenSequence, match="offset 5 does not come"):
            self.takes(stage, range(6, 9))

    @pytest.mark.parametrize(
        "busy", ["", "arrived", "deciding", "rebalancing", "recovering", "held"]
    )
    def test_an_idle_stage_knows_which_partitions_have_more(
        self, tmp_path: Path, busy: str
    ) -> None:
        """One that is not idle may get there by itself, so nothing is fetched again."""
        stage, consumer = self.stage(tmp_path, 5)
        consumer.ends = {TP(stage.source, 0): 9, TP(stage.source, 1): 0, TP("changelog", 0): 7}
        app = stage._app
        app.rebalancing, app.in_recovery = busy == "rebalancing", busy == "recovering"
        stage._deciding, consumer.flow_active = busy == "deciding", busy != "held"
        if busy == "arrived":
            stage._came.set()
        expected = {} if busy else {TP(stage.source, 0): 5}
        assert asyncio.run(stage._waiting()) == expected
        consumer.ends[TP(stage.source, 0)] = 5
        assert not asyncio.run(stage._waiting())

    @staticmethod
    def stage(folder: Path, committed: int | None) -> tuple[Any, Consumer]:
        made = worker(KafkaSettings(bootstrap="127.0.0.1:1"), folder)
        stage = made._stages[0]
        consumer = Consumer(stage.source, committed)
        made.app.consumer = consumer
        return stage, consumer

    @staticmethod
    def takes(stage: Any, offsets: range) -> bool:
        return bool(asyncio.run(stage._is_whole(0, arrived(offsets))))

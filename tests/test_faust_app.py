"""The Faust application on a real broker: what its producer promises."""

from __future__ import annotations

import asyncio
from pathlib import Path

from memstream.processors.standard import standard_pipeline
from memstream.schemas.codec import Codec
from memstream.streams.faust_app import FaustWorker, WorkerSettings
from memstream.streams.kafka_reading import TopicReader
from memstream.streams.kafka_settings import KafkaSettings
from memstream.streams.kafka_topics import derived_topics, make_topics


def worker(settings: KafkaSettings, folder: Path) -> FaustWorker:
    """A worker that is not started."""
    own = WorkerSettings(generation="g", data_directory=folder, store="memory")
    return FaustWorker(settings, own, standard_pipeline(), Codec(), lambda _: lambda *_: ())


def test_the_producer_is_idempotent_and_waits_for_all_replicas(tmp_path: Path) -> None:
    """Else a batch that the client sends again stands twice, or after a later one."""
    app = worker(KafkaSettings(bootstrap="127.0.0.1:1"), tmp_path).app
    assert app.producer._settings_extra()["enable_idempotence"] is True
    assert app.conf.producer_acks == -1


def test_messages_sent_together_stand_in_order_whatever_their_size(
    kafka_bootstrap: str, tmp_path: Path
) -> None:
    settings = KafkaSettings(
        bootstrap=kafka_bootstrap, prefix="together", partitions=2, replication=1, min_insync=1
    )
    (topic, *_) = derived_topics(settings, "g")
    make_topics(settings, [topic])
    sizes = [1, 700_000, 10, 700_000, 2_000_000, 3, 600_000]
    messages = [(b"key %d" % number, bytes([number]) * size) for number, size in enumerate(sizes)]

    async def send() -> list[int]:
        producer = worker(settings, tmp_path).app.producer
        await producer.start()
        try:
            first = await producer.send_all(topic.name, 1, messages)
            second = await producer.send_all(topic.name, 1, [(b"gone", None)])
            nothing = await producer.send_all(topic.name, 1, [])
            return [await each for each in (*first, *second, *nothing)]
        finally:
            await producer.stop()

    offsets = asyncio.run(send())
    assert offsets[-2:] == [len(messages) - 1, len(messages)]
    reader = TopicReader(settings, topic.name)
    try:
        found = reader.messages(1, 0, 100)
        assert reader.end_offset(0) == 0
    finally:
        reader.close()
    assert found == [(at, value) for at, (_, value) in enumerate([*messages, (b"", b"")])]

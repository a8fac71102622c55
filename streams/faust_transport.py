"""How the Faust application reaches the brokers: its consumer and producer, from Faust's own."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping
from typing import Any

from faust.transport.drivers import aiokafka as driver
from faust.types import TP

from memstream.streams.changelog import Record

FETCH_MS = 100
"""How long a broker waits for something to come before it answers a fetch; Faust says 1,500. What
lay here when a fetch was sent is not asked for in it, and so not before it is answered."""


class _Thread(driver.AIOKafkaConsumerThread):
    def _create_worker_consumer(self, transport: Any) -> Any:
        consumer = super()._create_worker_consumer(transport)
        consumer._fetch_max_wait_ms = FETCH_MS
        return consumer


class Consumer(driver.Consumer):
    """Knows which offsets the brokers have as committed: what Faust notes as committed counts
    refused commits too."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.confirmed: dict[TP, int] = {}

    def _new_consumer_thread(self) -> _Thread:
        return _Thread(self, loop=self.loop, beacon=self.beacon)

    async def seek_to_committed(self) -> Mapping[TP, int]:
        """Where nothing is committed yet, to the beginning. Faust itself stays there where it is,
        behind what it has fetched in the meantime and puts away when this call is done."""
        found: Mapping[TP, int] = await super().seek_to_committed()
        self.confirmed = {tp: offset for tp, offset in found.items() if offset}
        taken = self.app.topics.acks_enabled_for
        await self.seek_wait({tp: 0 for tp, at in found.items() if not at and taken(tp.topic)})
        return found

    async def _commit(self, offsets: Mapping[TP, int]) -> bool:
        done: bool = await super()._commit(offsets)
        if done:
            self.confirmed.update(offsets)
        return done

    async def _add_gap(self, tp: TP, offset_from: int, offset_to: int) -> None:
        """Messages that did not come do not count as done."""


class Producer(driver.Producer):
    """Idempotent: a message that is sent again by the client stands once, and in order."""

    def _settings_extra(self) -> Mapping[str, Any]:
        return {"enable_idempotence": True}

    async def send_all(
        self, topic: str, partition: int, messages: Iterable[Record]
    ) -> list[Awaitable[range]]:
        """Sends (key, value, headers) in order, in batches that are full: several times cheaper
        than one by one. Each awaitable is for one batch, and gives the offsets where it stands;
        none where the broker had it already and no longer knows where."""
        producer = self._ensure_producer()
        sent: list[Awaitable[range]] = []
        batch = producer.create_batch()

        async def enqueue() -> Awaitable[range]:
            stands = await producer.send_batch(batch, topic, partition=partition)
            return _offsets(stands, batch.record_count())

        for key, value, headers in messages:
            given = {"key": key, "value": value, "timestamp": None, "headers": headers}
            if batch.append(**given) is None:
                sent.append(await enqueue())
                batch = producer.create_batch()
                batch.append(**given)
        if batch.record_count():
            batch.close()
            sent.append(await enqueue())
        return sent


async def _offsets(first: Awaitable[Any], count: int) -> range:
    start = int((await first).offset)
    return range(start, start + count) if start >= 0 else range(0)


class Transport(driver.Transport):
    Consumer = Consumer
    Producer = Producer

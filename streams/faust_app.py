"""The Faust application: the two stages on Kafka. The only module that knows Faust.

A worker reads batches of a partition, lets a stage decide (``stages``), sends the stage's
messages and its state's changelog, waits until the brokers have both, and only then lets Faust
commit. Whatever is cut off before that is taken again and gives the same, so delivery is at least
once and the effect exactly once; no Kafka transaction is needed for it.

State lies in Faust tables: RocksDB on disk or a dictionary in memory, recovered from a changelog
topic, with standby replicas if wanted. Their entries are sealed.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import faust
import msgspec
import structlog
from faust.streams import _current_event
from faust.transport.drivers import aiokafka as driver
from faust.types import TP, EventT

from memstream.processors.pipeline import Pipeline
from memstream.schemas.codec import Codec
from memstream.schemas.errors import LogUnavailable
from memstream.streams.kafka_settings import KafkaSettings, tls_context
from memstream.streams.kafka_topics import CANDIDATES, DEAD_LETTERS, EVENTS, MEMORIES
from memstream.streams.stages import Deriving, History, Message, Resolving

MOST_IN_BATCH = 500
"""Messages a stage takes at once."""
RETRY_S = (0.5, 1.0, 2.0, 5.0, 10.0)
"""Waits before a batch is taken again while the key ring or the log cannot be reached; after the
last one the worker stops, and whoever supervises it starts it again."""

_LOGGER = structlog.get_logger(__name__)

Store = Literal["rocksdb", "memory"]
Watch = Callable[[str, int, Sequence[Message], Sequence[bytes], float], None]
"""Told of every batch: stage, partition, what it took, what it made, seconds."""


class WorkerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How one worker runs. ``generation`` names the consumer group, the derived topics and the
    tables; workers of one generation share the partitions."""

    generation: str
    data_directory: Path
    store: Store = "rocksdb"
    standby_replicas: int = 1
    commit_interval_s: float = 1.0
    session_timeout_s: float = 30.0


class FaustWorker:
    """The application of one worker. ``run`` blocks until SIGTERM or SIGINT, then drains: what
    was taken is finished, sent and committed.

    ``history`` reads the raw topic (partition, scope, below offset); it is asked only after an
    erasure of single events.
    """

    def __init__(
        self,
        settings: KafkaSettings,
        worker: WorkerSettings,
        pipeline: Pipeline,
        codec: Codec,
        history: Callable[[int], History],
        *,
        watch: Watch = lambda *_: None,
    ) -> None:
        self._watch = watch
        self.app = _application(settings, worker)
        candidates = settings.topic(f"{worker.generation}.{CANDIDATES}")
        self._stages: list[_StageAgent] = [
            _StageAgent(
                self,
                name="deriving",
                source=settings.topic(EVENTS),
                target=candidates,
                dead_letters=settings.topic(DEAD_LETTERS),
                make=lambda table, partition: Deriving(
                    pipeline, codec, table, partition, history(partition)
                ),
            ),
            _StageAgent(
                self,
                name="resolving",
                source=candidates,
                target=settings.topic(f"{worker.generation}.{MEMORIES}"),
                dead_letters=settings.topic(DEAD_LETTERS),
                make=lambda table, partition: Resolving(pipeline, codec, table, partition),
            ),
        ]
        self.app.on_partitions_assigned.connect(self._forget, weak=False)
        self.app.on_partitions_revoked.connect(self._forget, weak=False)

    def run(self) -> None:
        """Works until a signal says stop. Exits the process as Faust does: 0 after a drain."""
        worker = faust.Worker(
            self.app, loglevel="WARNING", redirect_stdouts=False, quiet=True, daemon=True
        )
        worker.execute_from_commandline()

    def told(self, stage: str, partition: int, took: Sequence[Message], made: Sequence[bytes],
             seconds: float) -> None:  # fmt: skip
        """Passes on what a batch did."""
        self._watch(stage, partition, took, made, seconds)

    def _forget(self, *_: Any, **__: Any) -> None:
        """After a rebalance every partition is read anew: another worker may have had it."""
        for stage in self._stages:
            stage.forget()


class _StageAgent:
    """One stage of all partitions that this worker has."""

    def __init__(
        self,
        worker: FaustWorker,
        *,
        name: str,
        source: str,
        target: str,
        dead_letters: str,
        make: Callable[[_PartitionTable, int], Deriving | Resolving],
    ) -> None:
        app = worker.app
        self._worker, self._app, self._name = worker, app, name
        self._source, self._target, self._dead_letters = source, target, dead_letters
        self._make = make
        self._open: dict[int, tuple[Deriving | Resolving, _PartitionTable]] = {}
        self._table = app.Table(name, schema=_bytes_schema())
        app.agent(app.topic(source, schema=_bytes_schema()), name=name)(self._work)

    def forget(self) -> None:
        self._open.clear()

    async def _work(self, stream: Any) -> None:
        """Batches until the worker stops: what has arrived meanwhile, up to ``MOST_IN_BATCH``.

        Not Faust's ``take``: it acknowledges what it buffered also where nothing was done with
        it, when the worker stops or the agent fails. Here a batch is acknowledged when it is
        done, all of it at once, so that no commit falls within it.
        """
        batch: list[EventT[Any]] = []
        arrived = stream.channel.queue
        async for event in stream.noack().events():
            batch.append(event)
            if len(batch) < MOST_IN_BATCH and not arrived.empty():
                continue
            by_partition: dict[int, list[EventT[Any]]] = {}
            for each in batch:
                by_partition.setdefault(each.message.partition, []).append(each)
            for partition, events in by_partition.items():
                await self._take(partition, events)
            for each in batch:
                each.ack()
            batch.clear()

    async def _take(self, partition: int, batch: Sequence[EventT[Any]]) -> None:
        started = asyncio.get_running_loop().time()
        messages = [(event.message.offset, event.message.value or b"") for event in batch]
        token = _current_event.set(weakref.ref(batch[0]))  # tells the table its partition
        try:
            made = await self._decided(partition, messages)
        except Exception as error:
            _LOGGER.error(
                "stage_stopped",
                stage=self._name,
                partition=partition,
                offset=messages[0][0],
                error=f"{type(error).__name__}: {error}",
            )
            await self._app.crash(error)
            raise
        finally:
            _current_event.reset(token)
        seconds = asyncio.get_running_loop().time() - started
        self._worker.told(self._name, partition, messages, made, seconds)

    async def _decided(self, partition: int, messages: Sequence[Message]) -> list[bytes]:
        """One batch, decided and sent. Taken again while the key ring or the log is away."""
        waits = iter(RETRY_S)
        while True:
            stage, table = self._stage_of(partition)
            try:
                made = stage(messages)
                stage.state.flush(self._committed(partition))
            except LogUnavailable as error:
                self._open.pop(partition)
                wait = next(waits, None)
                if wait is None:
                    raise
                _LOGGER.warning("batch_waits", stage=self._name, wait_s=wait, error=str(error))
                await asyncio.sleep(wait)
            else:
                await self._sent(partition, made, stage.dead_letters, table)
                return made

    async def _sent(
        self,
        partition: int,
        made: Sequence[bytes],
        dead: Sequence[bytes],
        table: _PartitionTable,
    ) -> None:
        """Sends what a batch made and changed; returns when the brokers have all of it."""
        send = self._app.producer.send
        sent: list[Awaitable[Any]] = [
            await send(self._target, None, value, partition, None, None) for value in made
        ]
        sent += [await send(self._dead_letters, None, each, partition, None, None) for each in dead]
        logged: list[Awaitable[Any]] = [
            await send(table.changelog, key, entry, partition, None, None)
            for key, entry in table.changed()
        ]
        await asyncio.gather(*sent)
        if logged:
            last = (await asyncio.gather(*logged))[-1]
            self._table.data.set_persisted_offset(TP(table.changelog, partition), last.offset)

    def _stage_of(self, partition: int) -> tuple[Deriving | Resolving, _PartitionTable]:
        found = self._open.get(partition)
        if found is None:
            table = _PartitionTable(self._table)
            found = self._open[partition] = self._make(table, partition), table
        return found

    def _committed(self, partition: int) -> int:
        """The offset from which a restart would read, or a lower one."""
        offsets: Mapping[TP, int | None] = self._app.consumer._committed_offset
        return offsets.get(TP(self._source, partition)) or 0


def _bytes_schema() -> Any:
    """One for each topic and table: Faust changes a schema to fit what it is given to."""
    return faust.Schema(
        key_type=bytes, value_type=bytes, key_serializer="raw", value_serializer="raw"
    )


class _PartitionTable:
    """A Faust table as the state of one partition sees it. What is put is in the local store at
    once and in the changelog when the batch is sent."""

    def __init__(self, table: Any) -> None:
        self._store = table.data
        self.changelog: str = table.changelog_topic.get_topic_name()
        self._changed: dict[bytes, bytes | None] = {}

    def get(self, key: bytes) -> bytes | None:
        entry: bytes | None = self._store.get(key)
        return entry

    def put(self, key: bytes, entry: bytes) -> None:
        self._store[key] = entry
        self._changed[key] = entry

    def delete(self, key: bytes) -> None:
        self._store.pop(key, None)
        self._changed[key] = None

    def keys(self, prefix: bytes) -> Iterator[bytes]:
        return iter([key for key in self._store if key.startswith(prefix)])

    def changed(self) -> list[tuple[bytes, bytes | None]]:
        """What was changed since the last call."""
        changed, self._changed = self._changed, {}
        return list(changed.items())


class _Producer(driver.Producer):
    """Idempotent: a message that is sent again by the client stands once, and in order."""

    def _settings_extra(self) -> Mapping[str, Any]:
        return {"enable_idempotence": True}


class _Transport(driver.Transport):
    Producer = _Producer


def _application(settings: KafkaSettings, worker: WorkerSettings) -> Any:
    worker.data_directory.mkdir(parents=True, exist_ok=True)
    app = faust.App(
        settings.group(worker.generation),
        broker=";".join(f"kafka://{each.strip()}" for each in settings.bootstrap.split(",")),
        broker_credentials=_credentials(settings),
        store="rocksdb://?driver=rocksdict" if worker.store == "rocksdb" else "memory://",
        datadir=str(worker.data_directory),
        topic_partitions=settings.partitions,
        topic_replication_factor=settings.replication,
        table_standby_replicas=worker.standby_replicas,
        processing_guarantee="at_least_once",
        consumer_auto_offset_reset="earliest",
        broker_commit_interval=worker.commit_interval_s,
        broker_session_timeout=worker.session_timeout_s,
        broker_heartbeat_interval=worker.session_timeout_s / 10,
        producer_acks=-1,
        producer_max_request_size=settings.max_message_bytes,
        consumer_max_fetch_size=settings.max_message_bytes,
        stream_wait_empty=True,
        stream_buffer_maxsize=MOST_IN_BATCH * 4,
        web_enabled=False,
        worker_redirect_stdouts=False,
        topic_allow_declare=True,
        key_serializer="raw",
        value_serializer="raw",
    )
    app.transport = _Transport(app.conf.broker_consumer, app)
    return app


def _credentials(settings: KafkaSettings) -> Any:
    """As Faust takes them; None for a plain connection."""
    context = tls_context(settings) if settings.security.endswith("SSL") else None
    if settings.security.startswith("SASL"):
        return faust.SASLCredentials(
            mechanism=settings.sasl_mechanism,
            username=settings.sasl_username,
            password=settings.sasl_password,
            ssl_context=context,
        )
    return faust.SSLCredentials(context=context) if context is not None else None


__all__ = ["FaustWorker", "Store", "WorkerSettings"]

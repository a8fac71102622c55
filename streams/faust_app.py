"""The Faust application: the two stages on Kafka. With ``faust_transport`` alone it knows Faust.

A worker reads batches of a partition, lets a stage decide (``stages``), sends the stage's
messages and its state's changelog, waits until the brokers have both, and only then lets Faust
commit. Whatever is cut off before that is taken again and gives the same, so delivery is at least
once and the effect exactly once; no Kafka transaction is needed for it.

State lies in Faust tables: RocksDB on disk or a dictionary in memory, recovered from a changelog
topic, with standby replicas if wanted. Their entries are sealed.

A worker that was frozen for longer than its session does not know that another has its partition
by now, and finishes its batch: ``changelog`` says what comes of that.
"""

from __future__ import annotations

import asyncio
import gc
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import faust
import msgspec
import structlog
from aiokafka.errors import KafkaError
from faust.exceptions import ConsumerNotStarted
from faust.stores.rocksdb import Store as RocksStore
from faust.types import TP, EventT

from memstream.processors.pipeline import Pipeline
from memstream.schemas.codec import Codec
from memstream.schemas.errors import LogUnavailable, MemstreamError
from memstream.streams.changelog import (
    TERM_BYTES,
    TERM_KEY,
    Entries,
    InMemory,
    InRocks,
    PartitionTable,
    term_of,
)
from memstream.streams.faust_transport import Transport
from memstream.streams.kafka_settings import KafkaSettings, tls_context
from memstream.streams.kafka_topics import (
    CANDIDATES,
    DEAD_LETTERS,
    EVENTS,
    MEMORIES,
    changelog_topic,
    make_topics,
)
from memstream.streams.metrics import Reached
from memstream.streams.scope_history import Message
from memstream.streams.stages import BrokenSequence, Deriving, History, Resolving

MOST_IN_BATCH = 1_000
"""Messages a stage takes at once."""
LINGER_S = 0.01
"""How long a stage waits for more to take at once: every batch costs a round to the brokers, and
writes the state that it changes once."""
TOO_MANY = 10
"""It waits as long again where so many came meanwhile: that is faster than it can decide, so it is
behind anyway, and a full batch costs less."""
MOST_SEEKS = 50
"""How often a message that did not come is asked for again."""
LOOK_S = 5.0
"""How often an idle stage looks whether there is something that does not come."""
RETRY_S = (0.5, 1.0, 2.0, 5.0, 10.0)
"""Waits before a batch is taken again while the key ring or the log cannot be reached; after the
last one the worker stops, and whoever supervises it starts it again."""

_LOGGER = structlog.get_logger(__name__)

Store = Literal["rocksdb", "memory"]
Watch = Callable[[str, int, Sequence[Message], Sequence[bytes], float], None]
"""Told of every batch: stage, partition, what it took, what it made, seconds."""


class ChangelogMissing(MemstreamError):
    """A partition came without that of its state's changelog, so it cannot be worked on."""


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
    erasure.
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
        self._joined = False
        self.kafka = settings
        self._generation = worker.generation
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
                    pipeline,
                    codec,
                    table,
                    partition,
                    history(partition),
                    generation=worker.generation,
                ),
            ),
            _StageAgent(
                self,
                name="resolving",
                source=candidates,
                target=settings.topic(f"{worker.generation}.{MEMORIES}"),
                dead_letters=settings.topic(DEAD_LETTERS),
                make=lambda table, partition: Resolving(
                    pipeline, codec, table, partition, generation=worker.generation
                ),
            ),
        ]
        self.app.on_partitions_assigned.connect(self._forget, weak=False)
        self.app.on_partitions_revoked.connect(self._forget, weak=False)

    def run(self) -> None:
        """Makes the changelogs where they are missing, and works until a signal says stop. Exits
        the process as Faust does: 0 after a drain. Log lines go wherever the process has
        configured them to go."""
        stages = [each.name for each in self._stages]
        make_topics(
            self.kafka, [changelog_topic(self.kafka, self._generation, each) for each in stages]
        )
        worker = faust.Worker(
            self.app, override_logging=False, redirect_stdouts=False, quiet=True, daemon=True
        )
        # What is here by now (the rules, the libraries) stays, so it is not looked through at
        # every full collection: that was a quarter of a worker's processor time.
        gc.freeze()
        worker.execute_from_commandline()

    def progress(self) -> dict[tuple[str, int], Reached]:
        """How far each stage is in each partition that this worker has; from any thread. Nothing
        before it has joined its group: Faust would make its consumer here, in the wrong thread."""
        if not self._joined:
            return {}
        try:
            assigned = self.app.consumer.assignment()
            return {
                (stage.name, at.partition): Reached(stage.next_offset(at.partition), end)
                for stage in self._stages
                for at in assigned
                if at.topic == stage.source and (end := self.app.consumer.highwater(at)) is not None
            }
        except ConsumerNotStarted:
            return {}

    def told(self, stage: str, partition: int, took: Sequence[Message], made: Sequence[bytes],
             seconds: float) -> None:  # fmt: skip
        """Passes on what a batch did."""
        self._watch(stage, partition, took, made, seconds)

    def _forget(self, *_: Any, **__: Any) -> None:
        """After a rebalance every partition is read anew: another worker may have had it."""
        self._joined = True
        for stage in self._stages:
            stage.forget()
        _LOGGER.info("partitions_assigned", count=len(self.app.consumer.assignment()))


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
        make: Callable[[PartitionTable, int], Deriving | Resolving],
    ) -> None:
        app = worker.app
        self._worker, self._app, self.name = worker, app, name
        self.source, self._target, self._dead_letters = source, target, dead_letters
        self._make = make
        self._open: dict[int, tuple[Deriving | Resolving, PartitionTable]] = {}
        self._next: dict[int, int] = {}
        self._missed: dict[int, int] = {}
        self._arrived: deque[EventT[Any]] = deque()
        self._crashing: asyncio.Future[None] | None = None
        self._came, self._taken = asyncio.Event(), asyncio.Event()
        self._deciding = False
        self._table: _TermedTable = app.Table(name, schema=_bytes_schema())
        app.agent(app.topic(source, schema=_bytes_schema()), name=name)(self._work)

    def next_offset(self, partition: int) -> int:
        """The offset that comes next: all before it is taken."""
        return max(self._next.get(partition, 0), self._committed(partition))

    def forget(self) -> None:
        self._open.clear()
        self._next.clear()
        self._missed.clear()

    async def _work(self, stream: Any) -> None:
        """Takes in what comes; ``_batches`` does the work beside it, and ``_looks_after`` sees to
        what does not come.

        Not Faust's ``take``: it acknowledges what it buffered also where nothing was done with
        it, when the worker stops or the agent fails. Nor is a batch filled from the stream: when a
        rebalance begins, the stream drops what it holds, and would not return to give the batch
        that the rebalance waits for.
        """
        beside = [asyncio.create_task(each) for each in (self._batches(), self._looks_after())]
        for each in beside:
            each.add_done_callback(self._stopped)
        try:
            async for event in stream.noack().events():
                self._arrived.append(event)
                self._came.set()
                while len(self._arrived) > MOST_IN_BATCH:
                    self._taken.clear()
                    await self._taken.wait()
        finally:
            for each in beside:
                each.cancel()

    def _stopped(self, beside: asyncio.Task[None]) -> None:
        """Without its batches the worker would only look as if it worked."""
        if not beside.cancelled() and beside.exception() is not None:
            self._crashing = asyncio.ensure_future(self._app.crash(beside.exception()))

    async def _batches(self) -> None:
        """Batches until the worker stops: what arrives within ``LINGER_S``, and while ``TOO_MANY``
        do, up to ``MOST_IN_BATCH``. Acknowledged all at once, so that no commit falls within a
        batch."""
        while True:
            await self._came.wait()
            while (arrived := len(self._arrived)) < MOST_IN_BATCH:
                await asyncio.sleep(LINGER_S)
                if len(self._arrived) < arrived + TOO_MANY:
                    break
            batch = [self._arrived.popleft() for _ in range(min(len(self._arrived), MOST_IN_BATCH))]
            if not self._arrived:
                self._came.clear()
            self._taken.set()
            by_partition: dict[int, list[EventT[Any]]] = {}
            for each in batch:
                if each.message.generation_id == self._app.consumer_generation_id:
                    by_partition.setdefault(each.message.partition, []).append(each)
                else:  # of a partition that went meanwhile: it is read again by whoever has it
                    self._app.consumer._unacked_messages.discard(each.message)
            self._deciding = True
            for each in await self._worked(by_partition):
                each.ack()
            self._deciding = False

    async def _worked(self, by_partition: Mapping[int, Sequence[EventT[Any]]]) -> list[EventT[Any]]:
        """Returns when the brokers have all that the events give; the events that count as taken.
        Stops the worker where it fails: none is acknowledged, so they are taken again."""
        try:
            sent: list[Awaitable[None]] = []
            taken: list[EventT[Any]] = []
            for partition, events in by_partition.items():
                new = self._new(partition, events)
                if await self._is_whole(partition, events):
                    taken += events
                    if new:
                        sent.append(await self._take(partition, new))
            await asyncio.gather(*sent)
            return taken
        except Exception as error:
            _LOGGER.error(
                "stage_stopped",
                stage=self.name,
                from_offsets={at: each[0].message.offset for at, each in by_partition.items()},
                error=f"{type(error).__name__}: {error}",
            )
            await self._app.crash(error)
            raise

    async def _take(self, partition: int, batch: Sequence[EventT[Any]]) -> Awaitable[None]:
        """Decides a batch and sends what it gives. To be awaited until the brokers have it."""
        started = asyncio.get_running_loop().time()
        messages = [(event.message.offset, event.message.value or b"") for event in batch]
        made, dead, table = await self._decided(partition, messages)
        send = self._app.producer.send_all
        sent = await send(self._target, partition, [(None, value, []) for value in made])
        sent += await send(self._dead_letters, partition, [(None, value, []) for value in dead])
        logged = await send(self._changelog, partition, table.changed())
        return self._sent(partition, started, (messages, made), sent, (table, logged))

    @property
    def _changelog(self) -> str:
        name: str = self._table.changelog_topic.get_topic_name()
        return name

    async def _sent(
        self,
        partition: int,
        started: float,
        batch: tuple[Sequence[Message], Sequence[bytes]],
        sent: Sequence[Awaitable[range]],
        changelog: tuple[PartitionTable, Sequence[Awaitable[range]]],
    ) -> None:
        table, logged = changelog
        _, stand = await asyncio.gather(asyncio.gather(*sent), asyncio.gather(*logged))
        while foreign := table.between(stand):
            again = table.again(self._worker.kafka, self._changelog, foreign)
            logged = await self._app.producer.send_all(self._changelog, partition, again)
            stand = await asyncio.gather(*logged)
        if table.logged is not None:
            self._table.data.set_persisted_offset(TP(self._changelog, partition), table.logged)
        seconds = asyncio.get_running_loop().time() - started
        self._worker.told(self.name, partition, *batch, seconds)

    def _new(self, partition: int, batch: Sequence[EventT[Any]]) -> list[EventT[Any]]:
        """Without what was taken before: the state is past that, and could not take it again."""
        following, found = self.next_offset(partition), list[EventT[Any]]()
        for event in batch:
            if event.message.offset >= following:
                found.append(event)
                following = event.message.offset + 1
        return found

    async def _is_whole(self, partition: int, batch: Sequence[EventT[Any]]) -> bool:
        """Whether no message is missing in or before the batch. Where one is, it is read again
        from there, and nothing of the batch counts as taken: around a rebalance, Faust puts away
        what it has fetched, and does not always fetch it again. The topics have no gaps, since
        nothing writes to them in transactions and nothing is cut off."""
        first = expected = self.next_offset(partition)
        for event in batch:
            if event.message.offset > expected:
                break
            expected = max(expected, event.message.offset + 1)
        else:
            self._next[partition] = expected
            self._missed.pop(partition, None)
            return True
        for event in batch:
            self._app.consumer._unacked_messages.discard(event.message)
        await asyncio.sleep(LINGER_S * await self._read_again(partition, first, expected))
        return False

    async def _read_again(self, partition: int, first: int, expected: int) -> int:
        """Has the messages of a partition fetched again from ``first`` on; how often that was done
        since one was taken. Raises ``BrokenSequence`` where ``expected`` never comes."""
        at = TP(self.source, partition)
        missed = self._missed[partition] = self._missed.get(partition, 0) + 1
        if missed > MOST_SEEKS:
            raise BrokenSequence(
                f"topic {at.topic}, partition {partition}: offset {expected} does not come, others "
                "after it do; mend: messages were removed from the topic; restore it from a copy"
            )
        _LOGGER.info("read_again", topic=at.topic, partition=partition, offset=first)
        await self._app.consumer.seek_wait({at: first})
        return missed

    async def _looks_after(self) -> None:
        """Has messages fetched again that are there and do not come. ``_is_whole`` sees what is
        missing before others; where Faust has put away the last ones of a partition, nothing comes
        after them, for as long as nobody records anything."""
        before: dict[TP, int] = {}
        while True:
            await asyncio.sleep(LOOK_S)
            try:
                waiting = await self._waiting()
                for at, following in waiting.items():
                    if before.get(at) == following and self._is_idle():
                        await self._read_again(at.partition, following, following)
                before = waiting
            except KafkaError as error:  # no broker, or a rebalance began meanwhile
                _LOGGER.info("not_looked_after", stage=self.name, error=repr(error))

    async def _waiting(self) -> dict[TP, int]:
        """The offset that comes next in each partition that has more, while the stage is idle."""
        consumer = self._app.consumer
        mine = [at for at in consumer.assignment() if at.topic == self.source]
        if not mine or not self._is_idle():
            return {}
        ends = await consumer.highwaters(*mine)
        following = {at: self.next_offset(at.partition) for at in mine}
        return {at: offset for at, offset in following.items() if offset < (ends[at] or 0)}

    def _is_idle(self) -> bool:
        """Whether it has nothing to do and would take what comes."""
        app = self._app
        busy = self._came.is_set() or self._deciding or app.rebalancing or app.in_recovery
        return not busy and bool(app.consumer.flow_active)

    async def _decided(
        self, partition: int, messages: Sequence[Message]
    ) -> tuple[list[bytes], Sequence[bytes], PartitionTable]:
        """What one batch gives: messages, dead letters, and the table that it changed. Taken
        again while the key ring or the log is away."""
        waits = iter(RETRY_S)
        while True:
            stage, table = self._stage_of(partition)
            try:
                if stage.takes_long(messages):
                    made = await asyncio.to_thread(stage, messages)
                else:
                    made = stage(messages)
                stage.state.flush(self._committed(partition))
            except LogUnavailable as error:
                self._open.pop(partition)
                wait = next(waits, None)
                if wait is None:
                    raise
                _LOGGER.warning("batch_waits", stage=self.name, wait_s=wait, error=str(error))
                await asyncio.sleep(wait)
            else:
                return made, stage.dead_letters, table

    def _stage_of(self, partition: int) -> tuple[Deriving | Resolving, PartitionTable]:
        found = self._open.get(partition)
        if found is None:
            at = TP(self._changelog, partition)
            if at not in self._app.consumer.assignment():
                raise ChangelogMissing(
                    f"topic {at.topic}, partition {partition}: the worker that leads the group "
                    "does not know it yet, so the state of this partition would begin empty; "
                    "mend: start the worker again"
                )
            recovered: int | None = self._app.tables.recovery.active_offsets.get(at)
            table = PartitionTable(
                lambda: self._table.entries(partition),
                partition,
                generation=self._app.consumer_generation_id,
                recovered=recovered,
                outdated=self._table.begin(partition),
            )
            found = self._open[partition] = self._make(table, partition), table
        return found

    def _committed(self, partition: int) -> int:
        """The offset from which a restart would read, or a lower one."""
        confirmed: Mapping[TP, int] = self._app.consumer.confirmed
        return max(0, confirmed.get(TP(self.source, partition), 0))


def _bytes_schema() -> Any:
    """One for each topic and table: Faust changes a schema to fit what it is given to."""
    return faust.Schema(
        key_type=bytes, value_type=bytes, key_serializer="raw", value_serializer="raw"
    )


class _TermedTable(faust.Table[Any, Any]):
    """A Faust table that skips what an overtaken worker wrote to the changelog (``changelog``)."""

    def __init__(self, app: Any, **options: Any) -> None:
        super().__init__(app, **options)
        self.key_serializer = self.value_serializer = "raw"
        self._outdated: defaultdict[int, set[bytes]] = defaultdict(set)
        self._terms: dict[int, bytes] = {}
        self._in_memory: defaultdict[int, InMemory] = defaultdict(InMemory)

    def entries(self, partition: int) -> Entries:
        """The local entries of one partition. Not to be kept: the database behind it is closed
        when the partition goes."""
        store = self.data
        if isinstance(store, RocksStore):
            return InRocks(store._db_for_partition(partition))
        return self._in_memory[partition]

    def begin(self, partition: int) -> set[bytes]:
        """A new term begins. The keys whose newest record in the changelog is an overtaken
        worker's."""
        self._terms.pop(partition, None)
        return self._outdated.pop(partition, set())

    def term(self, partition: int) -> bytes:
        """The latest term of what is here."""
        found = self._terms.get(partition)
        if found is None:
            found = (self.entries(partition).get(TERM_KEY) or b"")[:TERM_BYTES]
            self._terms[partition] = found
        return found

    def apply_changelog_batch(self, batch: Iterable[EventT[Any]]) -> None:
        """Takes over what stands in the changelog, while recovering and as a standby."""
        offsets: dict[TP, int] = {}
        changes: defaultdict[int, dict[bytes, bytes | None]] = defaultdict(dict)
        for event in batch:
            message = event.message
            partition, value = message.partition, message.value
            key = message.key or b""
            if message.topic != self.changelog_topic.get_topic_name():
                continue  # Faust may give what was read for a table that is gone from here
            offsets[message.tp] = message.offset
            term = term_of(value, message.headers)
            if term < self.term(partition):
                self._outdated[partition].add(key)
                continue
            self._terms[partition] = term
            self._outdated[partition].discard(key)
            changes[partition][key] = value
        for partition, entries in changes.items():
            self.entries(partition).write(entries)
        for tp, offset in offsets.items():
            self.data.set_persisted_offset(tp, offset)

    async def on_rebalance(
        self, assigned: set[TP], revoked: set[TP], newly_assigned: set[TP], generation_id: int = 0
    ) -> None:
        """What another worker had meanwhile is read anew; in memory, from the beginning."""
        for tp in (*revoked, *newly_assigned):
            if tp.topic == self.changelog_topic.get_topic_name():
                self._in_memory.pop(tp.partition, None)
                self._terms.pop(tp.partition, None)
                self._outdated.pop(tp.partition, None)
        await super().on_rebalance(assigned, revoked, newly_assigned, generation_id)


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
        producer_max_batch_size=min(1 << 20, settings.max_message_bytes),
        consumer_max_fetch_size=settings.max_message_bytes,
        stream_wait_empty=True,
        stream_buffer_maxsize=MOST_IN_BATCH * 4,
        web_enabled=False,
        worker_redirect_stdouts=False,
        topic_allow_declare=True,
        Table=_TermedTable,
        key_serializer="raw",
        value_serializer="raw",
    )
    app.transport = Transport(app.conf.broker_consumer, app)  # its producer is the app's
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

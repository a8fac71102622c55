"""What runs beside the readers of a memory on Kafka: the worker, and how a memory moves there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from memstream.processors.standard import standard_pipeline
from memstream.schemas.codec import Codec, SealedRow
from memstream.schemas.errors import KeyDestroyed, LogUnavailable
from memstream.schemas.sealing import Sealer
from memstream.service.cluster_settings import ClusterSettings, generation_of, key_ring
from memstream.service.directory import Files
from memstream.streams.clock import Clock
from memstream.streams.faust_app import FaustWorker, Store, Watch, WorkerSettings
from memstream.streams.kafka_reading import TopicReader
from memstream.streams.kafka_settings import KafkaSettings
from memstream.streams.kafka_topics import (
    EVENTS,
    TopicSpec,
    derived_topics,
    make_topics,
    topic_faults,
    topics_of,
)
from memstream.streams.log import Entry
from memstream.streams.log_in_kafka import KafkaLog
from memstream.streams.metrics import Metrics, serve
from memstream.streams.stages import History

MIGRATED_AT_ONCE = 1_000


class Migrated(msgspec.Struct, frozen=True):
    """What ``migrated`` did. ``erased``: events whose content was destroyed before, left out."""

    events: int
    erased: int


def faust_worker(
    root: Path,
    settings: ClusterSettings,
    clock: Clock,
    *,
    store: Store = "rocksdb",
    standby_replicas: int = 1,
    session_timeout_s: float = 30.0,
    watch: Watch = lambda *_: None,
    metrics: str = "",
) -> FaustWorker:
    """A worker of this release's generation; its topics are made where they are missing.

    ``metrics``: ``host:port`` where Prometheus may ask; empty for nowhere. Raises
    ``LogUnavailable`` where a topic differs from what it must be, and ``InvalidMetrics``.
    """
    pipeline = standard_pipeline()
    worker = WorkerSettings(
        generation=generation_of(pipeline),
        data_directory=root / "faust",
        store=store,
        standby_replicas=standby_replicas,
        session_timeout_s=session_timeout_s,
    )
    kafka = settings.kafka
    ready(kafka, [*topics_of(kafka), *derived_topics(kafka, worker.generation)])
    codec = Codec(Sealer(key_ring(settings.keyring, clock)))
    reader = TopicReader(kafka, kafka.topic(EVENTS))

    def history(partition: int) -> History:
        return lambda scope, below: reader.history(partition, scope, below)

    if not metrics:
        return FaustWorker(kafka, worker, pipeline, codec, history, watch=watch)
    told = Metrics(worker.generation, clock)

    def both(*batch: Any) -> None:
        told.watch(*batch)
        watch(*batch)

    made = FaustWorker(kafka, worker, pipeline, codec, history, watch=both)
    told.ask(made.progress)
    serve(told, metrics)
    return made


def ready(kafka: KafkaSettings, specs: Sequence[TopicSpec]) -> None:
    """Makes the topics that are missing; ``LogUnavailable`` for one that is otherwise."""
    make_topics(kafka, specs)
    faults = topic_faults(kafka, specs)
    if faults:
        raise LogUnavailable("; ".join(str(each) for each in faults))


def migrated(
    files: Files,
    settings: ClusterSettings,
    clock: Clock,
    progress: Callable[[int, int], None] = lambda *_: None,
) -> Migrated:
    """Appends every event of a memory directory to the raw topic, sealed by the key ring of the
    memory on Kafka, with its own ids and recorded times.

    The directory remembers how far it has come, so that a call that was cut off goes on; what was
    sent twice counts once. Within a scope the order stays.
    """
    consumer = f"migration to {settings.kafka.prefix}"
    ring = key_ring(settings.keyring, clock)
    codec = Codec(Sealer(ring))
    log = KafkaLog(settings.kafka, clock)
    events = erased = 0
    try:
        at = dict(files.log.committed(consumer))
        ends = files.log.end_offsets()
        total = sum(ends.values())
        for partition, end in sorted(ends.items()):
            while at.get(partition, 0) < end:
                entries = files.log.read(partition, at.get(partition, 0), MIGRATED_AT_ONCE)
                rows = [row for entry in entries if (row := _sealed_anew(files, codec, entry))]
                log.append_again(rows)
                at[partition] = entries[-1].offset + 1
                files.log.commit(consumer, at)
                events += len(rows)
                erased += len(entries) - len(rows)
                progress(sum(at.values()), total)
    finally:
        log.close()
        ring.close()
    return Migrated(events, erased)


def _sealed_anew(files: Files, codec: Codec, entry: Entry) -> SealedRow | None:
    """The row under the other key ring; None where its content was destroyed."""
    try:
        plain = files.codec.plain(entry.row)
    except KeyDestroyed:
        return None
    return codec.with_plain(entry.row, plain)

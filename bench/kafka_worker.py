"""A process of the Kafka benchmarks: ``python -m bench.kafka_worker SPEC``.

Of four kinds. ``ours`` is the product's worker. ``passing`` is the same worker, with the same
batches, sends and commits, whose stages do no work and keep no state: they hand on each message,
filled up to the size of what ``ours`` sends. ``plain`` is two agents that do that as Faust's
documentation writes it, with the same settings.
``projector`` brings the memories into an edge index and DuckDB, and prints a line of JSON whenever
it has come further. Which one, and where, is told in SPEC, a JSON object with ``Spec``'s fields.
"""

from __future__ import annotations

import cProfile
import logging
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Literal

import faust
import msgspec

from memstream.processors.standard import standard_pipeline
from memstream.projections.embedders import NoEmbedder
from memstream.projections.in_duckdb import DuckIndex
from memstream.projections.in_edge import EdgeIndex
from memstream.schemas.codec import Codec
from memstream.schemas.sealing import Sealer
from memstream.service.directory import stamp_of
from memstream.streams import faust_app
from memstream.streams.bundles import BundleCodec
from memstream.streams.clock import SystemClock
from memstream.streams.faust_app import FaustWorker, WorkerSettings
from memstream.streams.kafka_reading import TopicReader
from memstream.streams.kafka_settings import KafkaSettings
from memstream.streams.kafka_topics import CANDIDATES, EVENTS, MEMORIES
from memstream.streams.keyring_in_sqlite import SqliteKeyRing
from memstream.streams.projector import Projector

Kind = Literal["ours", "passing", "plain", "projector"]


class Spec(msgspec.Struct, frozen=True):
    """What one worker is."""

    kind: Kind
    bootstrap: str
    prefix: str
    partitions: int
    generation: str
    data: str
    keys: str
    sizes: tuple[int, int] = (0, 0)
    """Bytes of a message in the candidates and the memories topic, for those that do no work."""
    profile: str = ""
    """Where to write a profile; none for no profile."""

    @property
    def kafka(self) -> KafkaSettings:
        return KafkaSettings(
            bootstrap=self.bootstrap,
            prefix=self.prefix,
            partitions=self.partitions,
            replication=1,
            min_insync=1,
        )


class _Passing:
    """A stage that does no work."""

    def __init__(self, size: int) -> None:
        self._size = size
        self.state = self
        self.dead_letters: list[bytes] = []

    def __call__(self, messages: Sequence[tuple[int, bytes]]) -> list[bytes]:
        return [value.ljust(self._size, b"\0") for _, value in messages]

    def takes_long(self, messages: Sequence[tuple[int, bytes]]) -> bool:
        return False

    def flush(self, committed: int) -> None:
        """Keeps nothing."""


def _passing(size: int, *_: Any) -> Any:
    return _Passing(size)


def main() -> None:
    spec = msgspec.json.decode(sys.argv[1], type=Spec)
    # What Faust and the Kafka clients say, without which nobody sees why nothing comes any more.
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    profile = cProfile.Profile() if spec.profile else None
    if profile:
        profile.enable()
    with suppress(SystemExit):
        if spec.kind == "plain":
            _run_plain(spec)
        elif spec.kind == "projector":
            _run_projector(spec)
        else:
            _run_ours(spec)
    if profile:
        profile.disable()
        profile.dump_stats(spec.profile)


def _settings(spec: Spec) -> WorkerSettings:
    return WorkerSettings(
        generation=spec.generation,
        data_directory=Path(spec.data),
        standby_replicas=0,
        session_timeout_s=10.0,
    )


def _run_ours(spec: Spec) -> None:
    codec = Codec(Sealer(SqliteKeyRing(Path(spec.keys), SystemClock())))
    reader = TopicReader(spec.kafka, spec.kafka.topic(EVENTS))

    def history(partition: int) -> Any:
        return lambda scope, below: reader.history(partition, scope, below)

    worker = FaustWorker(spec.kafka, _settings(spec), standard_pipeline(), codec, history)
    if spec.kind == "passing":
        for stage, size in zip(worker._stages, spec.sizes, strict=True):
            stage._make = partial(_passing, size)
    worker.run()


def _run_plain(spec: Spec) -> None:
    app = faust_app._application(spec.kafka, _settings(spec))
    settings = spec.kafka
    raw = {"key_type": bytes, "value_type": bytes, "key_serializer": "raw"}
    raw["value_serializer"] = "raw"
    events = app.topic(settings.topic(EVENTS), **raw)
    candidates = app.topic(settings.topic(f"{spec.generation}.{CANDIDATES}"), **raw)
    memories = app.topic(settings.topic(f"{spec.generation}.{MEMORIES}"), **raw)

    async def first(stream: Any) -> None:
        async for key, value in stream.items():
            await candidates.send(key=key, value=value.ljust(spec.sizes[0], b"\0"))

    async def second(stream: Any) -> None:
        async for key, value in stream.items():
            await memories.send(key=key, value=value.ljust(spec.sizes[1], b"\0"))

    app.agent(events)(first)
    app.agent(candidates)(second)
    faust.Worker(
        app, loglevel="INFO", redirect_stdouts=False, quiet=False, daemon=True
    ).execute_from_commandline()


def _run_projector(spec: Spec) -> None:
    """Until killed."""
    clock = SystemClock()
    embedder = NoEmbedder()
    folder = Path(spec.data)
    folder.mkdir(parents=True)
    stamp = stamp_of(standard_pipeline(), embedder)
    projector = Projector(
        TopicReader(spec.kafka, spec.kafka.topic(f"{spec.generation}.{MEMORIES}")),
        BundleCodec(Codec(Sealer(SqliteKeyRing(Path(spec.keys), clock)))),
        [
            EdgeIndex.open(folder / "edge", stamp, embedder),
            DuckIndex.open(folder / "analytics.duckdb", stamp),
        ],
        spec.partitions,
    )
    while True:
        if projector.project():
            told = {"at": time.time(), "positions": projector.positions()}
            print(msgspec.json.encode(told).decode(), flush=True)
        else:
            time.sleep(0.02)


if __name__ == "__main__":
    main()

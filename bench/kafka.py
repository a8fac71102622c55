"""What the distributed run costs, on one broker and one machine: ``make bench-kafka``.

Made-up turns of a hundred people, sealed, in eight partitions. Throughput is that of worker
processes that find the turns in the raw topic, from their first message to their last. The floors:

* The same worker passing the same bytes through the same two topics with no work (``passing``):
  its stages hand on what they get, filled up to the size of what the product's worker sends. The
  bar is on this one.
* Faust: two agents that hand on the same bytes, ``await topic.send`` each (``plain``), with the
  worker's own settings: one idempotent producer, acks=all, RocksDB at hand and unused, the same
  commit interval. It shows what the worker's batches save over what Faust's documentation writes.
* Replay: kafka-python's consumer polling the same topic, values untouched.
"""

from __future__ import annotations

import math
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from kafka import KafkaConsumer
from kafka.structs import TopicPartition

from bench.kafka_runs import PARTITIONS, WARM, Broker, Generation, Installation, Spent, broker
from bench.kafka_worker import Kind
from bench.measures import Row, in_turns, row
from memstream.processors.standard import standard_pipeline
from memstream.projections.embedders import NoEmbedder
from memstream.schemas.codec import SealedRow
from memstream.service.directory import stamp_of
from memstream.streams.bundles import BundleCodec
from memstream.streams.clock import SystemClock
from memstream.streams.embedded import EmbeddedRuntime
from memstream.streams.kafka_reading import TopicReader
from memstream.streams.kafka_settings import connection
from memstream.streams.state_in_sqlite import StateStore

ROUNDS = 3
SCALE = float(os.environ.get("MEMSTREAM_BENCH_SCALE", "1"))
"""Less than 1 for a quick look: what it measures is then no figure to publish."""
EVENTS = int(20_000 * SCALE)
STATE = int(100_000 * SCALE)
PACED_S = 20.0
READ_AT_ONCE = 1_000


def rows() -> Iterator[Row]:
    """Throughput, scaling, latency, replay and recovery."""
    with tempfile.TemporaryDirectory() as name, broker() as found:
        bootstrap, folder = found.bootstrap, Path(name)
        loaded = Installation(bootstrap, folder, "loaded")
        loaded.load(loaded.rows(EVENTS))
        ours = yield from _throughput(loaded)
        yield from _replay(loaded, folder)
        yield from _two_workers(found, folder)
        yield from _latency(Installation(bootstrap, folder, "paced"), ours / 2)
        yield from _recovery(Installation(bootstrap, folder, "recovering"))


def _throughput(loaded: Installation) -> Generator[Row, None, float]:
    """Returns our events a second. The first run only warms the broker up, and tells what sizes
    the floors pass on."""
    first = loaded.generation()
    first.rate("ours", EVENTS)
    sizes = first.sizes()
    rates: dict[Kind, list[float]] = {"ours": [], "plain": [], "passing": []}
    for number in range(ROUNDS):
        for kind in list(rates)[:: 1 if number % 2 else -1]:
            rates[kind].append(loaded.generation(sizes).rate(kind, EVENTS))
    ours, plain, passing = (statistics.median(each) for each in rates.values())
    yield row("worker: events to memories", ours, "events/s", floor=passing, at_least=0.5)
    yield row("  same, over plain Faust agents", ours, "events/s", floor=plain)
    return ours


def _replay(loaded: Installation, folder: Path) -> Iterator[Row]:
    consumer = _consumer(loaded)
    read, consumed = in_turns(partial(_opened, loaded), partial(_consumed, consumer), ROUNDS)
    consumer.close()
    floor = EVENTS / consumed
    yield row("replay: read and opened", EVENTS / read, "events/s", floor=floor, at_least=0.4)
    derived = _derived(loaded, folder)
    yield row("  replay with the pipeline", EVENTS / derived, "events/s", floor=floor)


def _two_workers(broker: Broker, folder: Path) -> Iterator[Row]:
    """And what limits them: whose processor time an event takes, and how much of all there is."""
    runs: dict[int, list[Spent]] = {1: [], 2: []}
    for number in range(ROUNDS):
        for workers, found in list(runs.items())[:: 1 if number % 2 else -1]:
            fresh = Installation(broker.bootstrap, folder, f"workers-{number}-{workers}")
            found.append(fresh.generation().several(workers, fresh.rows(EVENTS), broker))
    count = EVENTS - WARM
    one, two = (sorted(each, key=lambda run: run.passed)[ROUNDS // 2] for each in runs.values())
    yield row(
        "two workers, over one, two cores",
        count / two.passed,
        "events/s",
        floor=count / one.passed,
    )
    for part in ("workers", "broker", "appending"):
        with_two, with_one = (getattr(each, part) / count * 1e6 for each in (two, one))
        if not math.isnan(with_two):
            yield row(f"  processor time: {part}", with_two, "µs/event", floor=with_one)
    if not math.isnan(two.share):
        yield row("  share of all processors", two.share, "of 1", floor=one.share)


def _latency(paced: Installation, rate: float) -> Iterator[Row]:
    """From acknowledged to readable, with the worker, the projector and this process beside one
    another. Where the time goes: the timestamps of each event's messages tell."""
    rows = paced.rows(int(rate * PACED_S))
    generation = paced.generation()
    warm = 2 * PARTITIONS * 10
    with generation.process("ours") as worker, generation.process("projector") as projector:
        paced.load(rows[:warm])
        generation.await_made(warm, [worker, projector])
        acknowledged = _paced(paced, rows[warm:], rate)
        generation.await_made(len(rows), [worker, projector])
        readable = _readable(projector.log, paced.log.end_offsets())
    derived = _sent_at(generation.candidates, generation)
    resolved = _sent_at(generation.memories, generation)
    parts: dict[str, list[float]] = {"": [], "derive": [], "resolve": [], "project": []}
    for at, acked in acknowledged.items():
        parts[""].append(readable(at) - acked)
        parts["derive"].append(derived[at] - acked)
        parts["resolve"].append(resolved[at] - derived[at])
        parts["project"].append(readable(at) - resolved[at])
    share = "at half the highest rate"
    yield row(f"write to readable p95, {share}", _p95(parts[""]) * 1e3, "ms")
    yield row("  write to readable p50", statistics.median(parts[""]) * 1e3, "ms")
    for part in ("derive", "resolve", "project"):
        middle = statistics.median(parts[part]) * 1e3
        yield row(f"  of that, {part}, p50", middle, "ms")
        yield row(f"  of that, {part}, p95", _p95(parts[part]) * 1e3, "ms")


def _recovery(recovering: Installation) -> Iterator[Row]:
    """Seconds from a new worker's start to a new event's memories, with a state of so many
    events; on the old worker's disk, and on an empty one."""
    recovering.load(recovering.rows(STATE))
    generation = recovering.generation()
    with generation.process("ours", data="kept") as worker:
        generation.await_made(STATE, [worker])
        worker.kill()
    for number, (folder, name) in enumerate((("kept", "on its disk"), ("lost", "on a new disk"))):
        (new,) = recovering.log.append(recovering.rows(1, seed=100 + number))
        started = time.perf_counter()
        with generation.process("ours", data=folder) as worker:
            seconds = generation.await_event(new, [worker]) - started
            worker.kill()
        yield row(f"recovery after kill -9, {STATE:,} events, {name}", seconds, "s")


# Replay


def _consumer(loaded: Installation) -> Any:
    """kafka-python's, with the fetch sizes of our reader."""
    consumer: Any = KafkaConsumer(
        **connection(loaded.settings),
        group_id=None,
        enable_auto_commit=False,
        isolation_level="read_committed",
        max_poll_records=READ_AT_ONCE,
        fetch_max_bytes=16 << 20,
        max_partition_fetch_bytes=4 << 20,
    )
    consumer.assign([TopicPartition(loaded.log.topic, each) for each in range(PARTITIONS)])
    return consumer


def _consumed(consumer: Any) -> float:
    """Seconds of polling the whole raw topic."""
    started = time.perf_counter()
    consumer.seek_to_beginning()
    count = 0
    while count < EVENTS:
        count += sum(map(len, consumer.poll(1_000).values()))
    return time.perf_counter() - started


def _opened(loaded: Installation) -> float:
    """Seconds of reading every event of the raw topic, decrypted and decoded."""
    started = time.perf_counter()
    count = 0
    for partition, end in loaded.log.end_offsets().items():
        at = 0
        while at < end:
            entries = loaded.log.read(partition, at, READ_AT_ONCE)
            count += len([loaded.codec.from_row(each.row) for each in entries])
            at = entries[-1].offset + 1
    assert count == EVENTS
    return time.perf_counter() - started


def _derived(loaded: Installation, folder: Path) -> float:
    """Seconds of a replay: every event through the pipeline into a fresh state."""
    store = StateStore.open(folder / "state.db", stamp_of(standard_pipeline(), NoEmbedder()))
    runtime = EmbeddedRuntime(
        loaded.log, loaded.codec, standard_pipeline(), store, [], SystemClock(), erases=False
    )
    started = time.perf_counter()
    assert runtime.drain() == EVENTS
    seconds = time.perf_counter() - started
    store.close()
    return seconds


# Latency


def _paced(paced: Installation, rows: Sequence[SealedRow], rate: float) -> dict[Any, float]:
    """Appends at that rate, fifty times a second; when each (partition, offset) was there."""
    pause, every = threading.Event(), 0.02
    found: dict[Any, float] = {}
    started, at = time.perf_counter(), 0
    while at < len(rows):
        due = int((time.perf_counter() - started) * rate) + 1
        for position in paced.log.append(rows[at:due]):
            found[position.partition, position.offset] = time.time()
        at = max(at, due)
        pause.wait(every)
    return found


def _readable(log: Path, ends: dict[int, int]) -> Any:
    """When the projector had an event, from what it printed; waits until it has all."""
    limit = time.perf_counter() + 60
    told: list[tuple[float, dict[int, int]]] = []
    while time.perf_counter() < limit:
        lines = log.read_text(encoding="utf-8").splitlines()
        found = [msgspec.json.decode(each) for each in lines if each.startswith("{")]
        told = [(each["at"], {int(k): v for k, v in each["positions"].items()}) for each in found]
        if told and all(told[-1][1].get(at, 0) >= end for at, end in ends.items()):
            break
        time.sleep(0.1)

    def readable(at: tuple[int, int]) -> float:
        return next(when for when, positions in told if positions.get(at[0], 0) > at[1])

    return readable


def _sent_at(topic: TopicReader, generation: Generation) -> dict[Any, float]:
    """When the bundle of each raw event was sent, by its message's timestamp."""
    codec = BundleCodec(generation.installation.codec)
    found: dict[Any, float] = {}
    for partition, end in topic.end_offsets(PARTITIONS).items():
        for record in topic._records(partition, 0, end):
            bundle = codec.decode(record.value, where="bench")
            found[partition, bundle.offset] = record.timestamp / 1000
    return found


def _p95(values: Sequence[float]) -> float:
    return sorted(values)[int(len(values) * 0.95)]

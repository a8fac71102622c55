"""What the Kafka benchmarks run on: a broker, a topic of made-up turns, and worker processes."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from kafka import KafkaAdminClient

from bench.growth import turns
from bench.kafka_worker import Kind, Spec
from bench.measures import Skipped
from memstream.schemas.codec import Codec, SealedRow
from memstream.schemas.sealing import Sealer
from memstream.streams.bundles import BundleCodec
from memstream.streams.clock import SystemClock
from memstream.streams.kafka_reading import TopicReader
from memstream.streams.kafka_settings import connection
from memstream.streams.kafka_topics import EVENTS, derived_topics, make_topics, topics_of
from memstream.streams.keyring_in_sqlite import SqliteKeyRing
from memstream.streams.log import Position
from memstream.streams.log_in_kafka import KafkaLog

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "infra"))

from kafka_node import KafkaCluster, missing_tools

PARTITIONS = 8
SCOPES = 100
WARM = 2 * SCOPES
"""Events before those that are measured."""
_LOOK_S = 0.02
_LAST_LINES = 25
_PATIENCE_S = 120.0
"""How long nothing at all may come."""
KEPT = Path(__file__).with_name("out")
"""Where the output of processes is kept that did not do what they should."""


class Broker(NamedTuple):
    """Its address, and its process where it was started for this."""

    bootstrap: str
    process_id: int | None


@contextmanager
def broker() -> Iterator[Broker]:
    """The broker of MEMSTREAM_KAFKA_BOOTSTRAP, or else one started for this. Raises ``Skipped``
    where there is neither."""
    given = os.environ.get("MEMSTREAM_KAFKA_BOOTSTRAP")
    if given:
        yield Broker(given, None)
        return
    if missing_tools():
        raise Skipped(f"no Apache Kafka: {missing_tools()} not found")
    with tempfile.TemporaryDirectory() as name:
        cluster = KafkaCluster(Path(name) / "cluster")
        bootstrap = cluster.up()
        try:
            yield Broker(bootstrap, cluster.pid(1))
        finally:
            cluster.down()


class Spent(msgspec.Struct, frozen=True):
    """One run with several workers: seconds that passed, and seconds of processor time that the
    workers, the broker and the process that appends have used meanwhile. NaN where not known."""

    passed: float
    workers: float
    broker: float
    appending: float

    @property
    def share(self) -> float:
        """Of all processors."""
        used = self.workers + self.broker + self.appending
        return used / self.passed / (os.cpu_count() or 1)


def _processor_seconds(process_id: int | None) -> float:
    """What a process has used until now; NaN where the system does not tell (as Linux does)."""
    stat = Path(f"/proc/{process_id}/stat")
    if process_id is None or not stat.exists():
        return math.nan
    user, system = (
        stat.read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[11:13]
    )
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


class Installation:
    """Topics of one prefix, their keys, and a folder for the data of its processes."""

    def __init__(self, bootstrap: str, folder: Path, name: str) -> None:
        self.folder = folder / name
        self.folder.mkdir(parents=True)
        self._generations = 0
        self.spec = Spec(
            kind="ours",
            bootstrap=bootstrap,
            prefix=f"bench-{name}-{os.getpid()}",
            partitions=PARTITIONS,
            generation="",
            data="",
            keys=str(self.folder / "keys.db"),
        )
        self.settings = self.spec.kafka
        make_topics(self.settings, topics_of(self.settings))
        self.codec = Codec(Sealer(SqliteKeyRing(Path(self.spec.keys), SystemClock())))
        self.log = KafkaLog(self.settings, SystemClock())

    def rows(self, count: int, *, seed: int = 7) -> list[SealedRow]:
        """Sealed turns of ``SCOPES`` people."""
        return [self.codec.to_row(each) for each in turns(count, SCOPES, seed=seed)]

    def load(self, rows: Sequence[SealedRow]) -> None:
        """Appends the rows, a thousand at a time."""
        found = iter(rows)
        while batch := list(islice(found, 1_000)):
            self.log.append(batch)

    def generation(self, sizes: tuple[int, int] = (0, 0)) -> Generation:
        """Derived topics of their own, empty. ``sizes``: see ``Spec``."""
        self._generations += 1
        return Generation(self, f"g{self._generations}", sizes)


class Generation:
    """The derived topics of one generation and what works on them."""

    def __init__(self, installation: Installation, name: str, sizes: tuple[int, int]) -> None:
        self.name = name
        self.installation = installation
        self._sizes = sizes
        self._folder = installation.folder / name
        settings = installation.settings
        specs = derived_topics(settings, name)
        make_topics(settings, specs)
        self.candidates, self.memories = (TopicReader(settings, each.name) for each in specs)
        self.events = TopicReader(settings, settings.topic(EVENTS))
        self._started = 0

    @contextmanager
    def process(self, kind: Kind, *, data: str = "", profile: str = "") -> Iterator[Process]:
        """A running process of that kind, ended by SIGTERM. ``data``: a folder used before."""
        self._started += 1
        spec = msgspec.structs.replace(
            self.installation.spec,
            kind=kind,
            generation=self.name,
            data=str(self._folder / (data or f"data-{self._started}")),
            sizes=self._sizes,
            profile=profile,
        )
        self._folder.mkdir(exist_ok=True)
        log = self._folder / f"{kind}-{self._started}.log"
        with log.open("w") as output:
            started = subprocess.Popen(
                [sys.executable, "-m", "bench.kafka_worker", msgspec.json.encode(spec).decode()],
                stdout=output,
                stderr=output,
            )
        process = Process(started, log)
        try:
            yield process
        finally:
            process.end()

    def made(self) -> int:
        """Messages in the memories topic."""
        return sum(self.memories.end_offsets(PARTITIONS).values())

    def sizes(self) -> tuple[int, int]:
        """Bytes of a message in both derived topics, on average."""
        found: list[int] = []
        for topic in (self.candidates, self.memories):
            sizes = [
                len(value)
                for partition, end in topic.end_offsets(PARTITIONS).items()
                for _, value in topic.messages(partition, 0, end)
            ]
            found.append(sum(sizes) // max(1, len(sizes)))
        return found[0], found[1]

    def await_made(self, count: int, processes: Sequence[Process]) -> float:
        """When the memories topic had so many messages (``time.perf_counter``)."""
        before, since = 0, time.perf_counter()
        while (made := self.made()) < count:
            for each in processes:
                each.check()
            now = time.perf_counter()
            if made > before:
                before, since = made, now
            elif now - since > _PATIENCE_S:
                raise Skipped(
                    f"{made} of {count} messages came, then none in {_PATIENCE_S:g} s\n"
                    f"{self._reached()}\n" + "\n".join(each.told() for each in processes)
                )
            time.sleep(_LOOK_S)
        return time.perf_counter()

    def _reached(self) -> str:
        """How many messages each partition of each topic holds."""
        topics = {"events": self.events, "candidates": self.candidates, "memories": self.memories}
        return "\n".join(
            f"{name}: {[*each.end_offsets(PARTITIONS).values()]}" for name, each in topics.items()
        )

    def await_event(self, event: Position, processes: Sequence[Process]) -> float:
        """When the event's bundle stood in the memories topic, whatever stands there twice."""
        codec = BundleCodec(self.installation.codec)
        limit = time.perf_counter() + 5 * _PATIENCE_S
        while time.perf_counter() < limit:
            end = self.memories.end_offset(event.partition)
            for _, message in self.memories.messages(event.partition, max(0, end - 1), 1):
                if codec.decode(message, where="bench").offset >= event.offset:
                    return time.perf_counter()
            for each in processes:
                each.check()
            time.sleep(_LOOK_S)
        told = "\n".join(each.told() for each in processes)
        raise Skipped(f"the event did not come in {5 * _PATIENCE_S:g} s\n{told}")

    def rate(self, kind: Kind, count: int, *, profile: str = "") -> float:
        """Events a second through both topics by one worker, that finds ``count`` of them in the
        raw topic: from its first message to its last, without its start."""
        with self.process(kind, profile=profile) as process:
            while not (ahead := sum(self.candidates.end_offsets(PARTITIONS).values())):
                process.check()
                time.sleep(_LOOK_S)
            if ahead >= count:
                raise Skipped(f"all of {count} events were through at the first look: too few")
            started = time.perf_counter()
            return (count - ahead) / (self.await_made(count, [process]) - started)

    def several(self, workers: int, rows: Sequence[SealedRow], broker: Broker) -> Spent:
        """So many workers, who have joined and worked before, are given the rows: what it takes
        until all but the first ``WARM`` of them are through."""
        warm, rest = rows[:WARM], rows[WARM:]
        with ExitStack() as running:
            processes = [running.enter_context(self.process("ours")) for _ in range(workers)]
            self._await_members(workers, processes)
            self.installation.load(warm)
            self.await_made(len(warm), processes)

            def used() -> list[float]:
                ours = sum(_processor_seconds(each.process_id) for each in processes)
                return [ours, _processor_seconds(broker.process_id), time.process_time()]

            started, before = time.perf_counter(), used()
            self.installation.load(rest)
            passed = self.await_made(len(rows), processes) - started
            return Spent(passed, *(now - then for now, then in zip(used(), before, strict=True)))

    def _await_members(self, count: int, processes: Sequence[Process]) -> None:
        """Returns when the generation's group has so many members and no rebalance is going on."""
        settings = self.installation.settings
        group = settings.group(self.name)
        admin: Any = KafkaAdminClient(**connection(settings))
        try:
            while True:
                found = admin.describe_groups([group])[group]
                if found["group_state"] == "Stable" and len(found["members"]) == count:
                    return
                for each in processes:
                    each.check()
                time.sleep(0.2)
        finally:
            admin.close()


class Process:
    """A running benchmark process and what it prints."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self._process = process
        self.log = log

    @property
    def process_id(self) -> int:
        return self._process.pid

    def check(self) -> None:
        """Raises ``Skipped`` with the end of its output where the process has ended by itself."""
        if self._process.poll() is not None:
            raise Skipped(f"a worker ended with {self._process.returncode}\n{self.told()}")

    def told(self) -> str:
        """The end of its output; all of it is kept, and where is told as well."""
        KEPT.mkdir(exist_ok=True)
        kept = KEPT / f"{self.log.parent.parent.name}-{self.log.parent.name}-{self.log.name}"
        text = self.log.read_text(encoding="utf-8", errors="replace")
        kept.write_text(text, encoding="utf-8")
        end = "\n".join(line[:300] for line in text.splitlines()[-_LAST_LINES:])
        return f"the end of {kept}:\n{end}"

    def kill(self) -> None:
        """As the kernel or a lost machine does."""
        self._process.kill()
        self._process.wait()

    def end(self) -> None:
        """SIGTERM, and SIGKILL for one that does not heed it."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(30)
            except subprocess.TimeoutExpired:
                self.kill()

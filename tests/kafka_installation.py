"""A memstream on Kafka for tests: its topics, its key ring, worker processes that may be killed,
and what its memories must be.

What must be is what the uncut pipeline makes of the raw topic in one go: the first message of
every event id, in the order of its partition. ``settled`` compares every memory version with it.
"""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from random import Random

import msgspec

sys.path.insert(0, str(Path(__file__).parent))

from histories import history
from test_stages import undisturbed

from memstream.processors.standard import standard_pipeline
from memstream.schemas.codec import Codec
from memstream.schemas.errors import InvalidEvent, LogUnavailable
from memstream.schemas.events import Event, MemoryChanged
from memstream.schemas.memories import canonical
from memstream.schemas.scope import Scope
from memstream.schemas.sealing import Sealer
from memstream.service.cluster_settings import ClusterSettings, generation_of, key_ring
from memstream.service.cluster_working import ready
from memstream.streams.bundles import BundleCodec, Place, event_of
from memstream.streams.clock import SystemClock
from memstream.streams.kafka_reading import TopicReader
from memstream.streams.kafka_settings import KafkaSettings
from memstream.streams.kafka_topics import EVENTS, MEMORIES, derived_topics, topics_of
from memstream.streams.log import Position
from memstream.streams.log_in_kafka import KafkaLog

USERS = [Scope(tenant="acme", user=f"u{number}") for number in range(16)]
"""Enough scopes that every partition has some."""
SESSION_S = 3.0
"""After that much silence of a worker others take over."""
PATIENCE_S = 90.0

_SOURCES = Path(__file__).resolve().parents[1] / "src"
_AT_ONCE = 5_000


class Installation:
    """Topics of its own on a broker, made at once. Close it."""

    def __init__(self, bootstrap: str, directory: Path, *, copies: int = 1) -> None:
        mark = hashlib.sha256(str(directory).encode()).hexdigest()[:16]
        self.directory = directory
        self.kafka = KafkaSettings(
            bootstrap=bootstrap,
            prefix=f"test-{mark}",
            partitions=4,
            replication=copies,
            min_insync=min(2, copies),
            wait_s=30.0,
        )
        self.settings = ClusterSettings(kafka=self.kafka, keyring=str(directory / "keys.db"))
        self.generation = generation_of(standard_pipeline())
        ready(self.kafka, [*topics_of(self.kafka), *derived_topics(self.kafka, self.generation)])
        self.ring = key_ring(self.settings.keyring, SystemClock())
        self.codec = Codec(Sealer(self.ring))
        self.log = KafkaLog(self.kafka, SystemClock())
        self._raw = TopicReader(self.kafka, self.kafka.topic(EVENTS))
        self._memories = TopicReader(self.kafka, self.kafka.topic(f"{self.generation}.{MEMORIES}"))
        self._workers: list[WorkerProcess] = []

    def worker(
        self, name: str, *, store: str = "rocksdb", standby: int = 0, before: str = ""
    ) -> WorkerProcess:
        """Starts ``memstream worker --runtime faust``; a name's state directory is its own.
        ``before`` is Python that the process runs first."""
        start = "from memstream.service.cli import main; main()"
        command = [
            sys.executable, "-c", f"{before}\n{start}", "worker", "--log-json",
            "--dir", str(self.directory / name), "--runtime", "faust", "--store", store,
            "--standby", str(standby), "--session-timeout", str(SESSION_S),
        ]  # fmt: skip
        started = WorkerProcess(command, self.environment(), self.directory / f"{name}.log")
        self._workers.append(started)
        return started

    def environment(self) -> dict[str, str]:
        """What a process of this installation finds in its environment."""
        kafka = self.kafka
        return os.environ | {
            "PYTHONPATH": str(_SOURCES),
            "MEMSTREAM_KAFKA_BOOTSTRAP": kafka.bootstrap,
            "MEMSTREAM_KAFKA_PREFIX": kafka.prefix,
            "MEMSTREAM_KAFKA_PARTITIONS": str(kafka.partitions),
            "MEMSTREAM_KAFKA_REPLICATION": str(kafka.replication),
            "MEMSTREAM_KAFKA_MIN_INSYNC": str(kafka.min_insync),
            "MEMSTREAM_KAFKA_WAIT_S": str(kafka.wait_s),
            "MEMSTREAM_KEYRING": self.settings.keyring,
        }

    def record(self, events: Sequence[Event]) -> list[Position]:
        """Appends until the brokers have all of it, as a producer does that does not give up."""
        rows = [self.codec.to_row(each) for each in events]
        for _ in range(10):
            try:
                return self.log.append(rows)
            except LogUnavailable:
                continue
        raise AssertionError(f"{len(rows)} events were never taken")

    @contextmanager
    def recording(self, told: Sequence[Event]) -> Iterator[None]:
        """Half of the events arrive at once, others while the body runs, the rest at its end. They
        come slower as they come to an end: what waits for more bundles must not wait for nothing,
        however long workers take to begin."""
        over = threading.Event()
        half, reserve = len(told) // 2, int(2 * PATIENCE_S)

        def run() -> None:
            self.record(told[:half])
            at = half
            while at < len(told) and not over.wait(0.1 if len(told) - at > reserve else 1.0):
                self.record(told[at : at + 2])
                at += 2
            self.record(told[at:])

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    # What there is

    def further(self, count: int = 1) -> Callable[[], bool]:
        """Whether so many bundles more have come to the memories topic since this call."""

        def sent() -> int:
            return sum(self._memories.end_offsets(self.kafka.partitions).values())

        before = sent()
        return lambda: sent() >= before + count

    def done(self) -> bool:
        """Whether everything recorded has come to the memories topic."""
        ends = self.log.end_offsets()
        return all(self._reached(partition) + 1 >= end for partition, end in ends.items())

    def settled(self, told: Iterable[Event]) -> dict[str, list[bytes]]:
        """Waits until all is processed; then nothing of ``told`` is lost, nothing is doubled, and
        the memories, which it gives, are those of an undisturbed run."""
        self.until(self.done)
        recorded = self.recorded()
        assert {(each.subject, each.id) for each in recorded} == {
            (each.subject, each.id) for each in told
        }
        found = self.versions()
        expected = undisturbed(recorded)
        assert found.keys() == expected.keys(), self.troubles()
        for scope, versions in expected.items():
            assert found[scope] == versions, f"{scope}\n{self.troubles()}"
        return found

    def recorded(self) -> list[Event]:
        """Every event of the raw topic once, with the recorded time that counts: later than all
        before it in its scope."""
        events: dict[tuple[str, str], Event] = {}
        last: dict[str, Event] = {}
        for partition, end in self.log.end_offsets().items():
            for offset, wire in self._read(self._raw, partition, end):
                try:
                    event = event_of(self.codec, wire, where=f"{partition}:{offset}")
                except InvalidEvent:
                    continue  # poison, which a test put there
                if (event.subject, event.id) in events:
                    continue
                before = last.get(event.subject)
                if before is not None and event.recorded_at <= before.recorded_at:
                    later = before.recorded_at + timedelta(microseconds=1)
                    event = msgspec.structs.replace(event, recordedtime=later)
                events[event.subject, event.id] = last[event.subject] = event
        return list(events.values())

    def versions(self) -> dict[str, list[bytes]]:
        """Every memory version by scope, in order, as a projection would come to hold them. What
        was sent again must be what was sent before."""
        held: dict[str, list[bytes]] = defaultdict(list)
        bundles = BundleCodec(self.codec)
        for partition, end in self._memories.end_offsets(self.kafka.partitions).items():
            place, sent = Place(), dict[tuple[int, int], list[bytes]]()
            for offset, message in self._read(self._memories, partition, end):
                bundle = bundles.decode(message, where=f"memories {partition}:{offset}")
                made = [
                    canonical(event.data.memory)
                    for event in bundles.flowing(bundle, bundles.raw(bundle))
                    if isinstance(event.data, MemoryChanged)
                ]
                follows = bundles.follows(bundle, place)
                assert follows is not False, f"memories {partition}:{offset}: one is missing"
                if follows is None:
                    assert made == sent[bundle.offset, bundle.part]
                    continue
                sent[bundle.offset, bundle.part] = made
                held[bundle.scope] += made
                place = Place(bundle.offset, bundle.part, bundle.last)
        return {scope: found for scope, found in held.items() if found}

    def outcomes(self) -> list[str]:
        """Of every bundle of the memories topic, by partition and in order, as often as sent."""
        return [
            BundleCodec.decode(message, where="memories").outcome
            for partition, end in self._memories.end_offsets(self.kafka.partitions).items()
            for _, message in self._read(self._memories, partition, end)
        ]

    def _reached(self, partition: int) -> int:
        """The raw offset of the bundle sent last; -1 without one."""
        end = self._memories.end_offset(partition)
        if not end:
            return -1
        ((_, message),) = self._memories.messages(partition, end - 1, 1)
        return BundleCodec.decode(message, where="memories").offset

    def _read(self, reader: TopicReader, partition: int, end: int) -> Iterator[tuple[int, bytes]]:
        at = 0
        while at < end:
            found = reader.messages(partition, at, _AT_ONCE)
            yield from found
            at = found[-1][0] + 1

    def until(self, true: Callable[[], bool], seconds: float = PATIENCE_S) -> None:
        """Returns once it is true; fails when it does not become so, or no worker runs."""
        limit = time.monotonic() + seconds
        while not true():
            late = time.monotonic() > limit
            if late or all(each.ended() is not None for each in self._workers):
                raise AssertionError(f"not within {seconds:g} s\n{self.troubles()}")
            time.sleep(0.1)

    def troubles(self) -> str:
        """What the workers' logs end with."""
        return "\n".join(each.told() for each in self._workers)

    def close(self) -> None:
        for each in self._workers:
            each.kill()
        self._raw.close()
        self._memories.close()
        self.log.close()
        self.ring.close()


class WorkerProcess:
    """One ``memstream worker``."""

    def __init__(self, command: Sequence[str], environment: dict[str, str], log: Path) -> None:
        self._log = log
        with log.open("ab") as told:
            self._begins = told.tell()
            self._process = subprocess.Popen(
                command, env=environment, stdin=subprocess.DEVNULL, stdout=told, stderr=told
            )

    def kill(self) -> None:
        """As when the machine dies. Also wakes one that was stopped."""
        self._process.kill()
        self._process.wait()

    def freeze(self) -> None:
        """It does nothing any more, and does not know it."""
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def drain(self) -> int:
        """SIGTERM; the exit code."""
        self._process.terminate()
        return self._process.wait(PATIENCE_S)

    def ready(self) -> bool:
        """Whether it has partitions."""
        told = self._log.read_bytes()[self._begins :]
        return told.count(b"partitions_assigned") > told.count(b'"count": 0, "event": "partitions_')

    def ended(self) -> int | None:
        """The exit code; None while it runs."""
        return self._process.poll()

    def told(self) -> str:
        """The end of its log."""
        text = self._log.read_text(encoding="utf-8", errors="replace")[-3_000:]
        return f"{self._log.name} (exit code {self._process.poll()}):\n{text}"


@contextmanager
def installed(bootstrap: str, directory: Path, *, copies: int = 1) -> Iterator[Installation]:
    """An installation that is closed, with its workers, at the end."""
    made = Installation(bootstrap, directory, copies=copies)
    try:
        yield made
    finally:
        made.close()


def load(seed: int, length: int) -> list[Event]:
    """A history over all users."""
    return history(Random(seed), length, scopes=USERS)

"""Erasing on a real broker with a real worker: the report, the bytes, and what stays."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from holding import files_with
from thorough import THOROUGH, first_of

from memstream import Memory, Scope
from memstream.processors.standard import standard_pipeline
from memstream.schemas.errors import KeyDestroyed, NotFound
from memstream.schemas.memories import canonical
from memstream.service import cluster_erasing
from memstream.service.cluster import ClusterHost
from memstream.service.cluster_settings import ClusterSettings, generation_of
from memstream.service.cluster_working import ready
from memstream.streams.deriving_in_memory import derived_versions
from memstream.streams.kafka_settings import KafkaSettings
from memstream.streams.kafka_topics import derived_topics, topics_of
from memstream.streams.scope_history import readable

SAID = datetime(2026, 1, 5, 9, tzinfo=UTC)
MARK, OTHER = "Xochimilcotenango", "Ouagadougoupolis"


class Cluster:
    """A memory on Kafka with one worker process, one projecting reader, and its directories."""

    def __init__(self, bootstrap: str, folder: Path, keyring: str, prefix: str) -> None:
        kafka = KafkaSettings(
            bootstrap=bootstrap, prefix=prefix, partitions=2, replication=1, min_insync=1
        )
        self.folder = folder
        self.settings = ClusterSettings(kafka=kafka, keyring=keyring)
        self.environment = os.environ | {
            "MEMSTREAM_KAFKA_BOOTSTRAP": bootstrap,
            "MEMSTREAM_KAFKA_PREFIX": prefix,
            "MEMSTREAM_KAFKA_PARTITIONS": "2",
            "MEMSTREAM_KAFKA_REPLICATION": "1",
            "MEMSTREAM_KAFKA_MIN_INSYNC": "1",
            "MEMSTREAM_KEYRING": keyring,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        }
        generation = generation_of(standard_pipeline())
        ready(kafka, [*topics_of(kafka), *derived_topics(kafka, generation)])

    @contextmanager
    def worker(self) -> Iterator[subprocess.Popen[bytes]]:
        """``memstream worker --runtime faust``, until the end of the block."""
        program = [sys.executable, "-c", "from memstream.service.cli import main; main()", "worker"]
        with (self.folder / "worker.log").open("ab") as log:
            process = subprocess.Popen(
                [
                    *program,
                    "--runtime",
                    "faust",
                    "--standby",
                    "0",
                    "--dir",
                    str(self.folder / "worker"),
                ],
                env=self.environment,
                stdout=log,
                stderr=log,
            )
            try:
                yield process
            finally:
                process.send_signal(signal.SIGTERM)
                process.wait(30)

    def connect(self, name: str) -> Memory:
        return Memory.connect(self.folder / name, self.settings, projects=True)

    def host(self, memory: Memory) -> ClusterHost:
        host: Any = memory._host
        assert isinstance(host, ClusterHost)
        return host


def cluster_in(folder: Path, bootstrap: str, keyring: str = "") -> Cluster:
    """Topics of its own. Without a conninfo the keys are in a file."""
    mark = hashlib.sha256(str(folder).encode()).hexdigest()[:16]
    return Cluster(bootstrap, folder, keyring or str(folder / "keys.db"), f"erase-{mark}")


@pytest.fixture(scope="module", params=first_of("postgres", "sqlite"))
def cluster(
    request: pytest.FixtureRequest, kafka_bootstrap: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """One with a worker at work, for all tests: each has people of its own."""
    postgres = request.param == "postgres"
    keyring = request.getfixturevalue("postgres_conninfo") if postgres else ""
    made = cluster_in(tmp_path_factory.mktemp("erasing"), kafka_bootstrap, keyring)
    with made.worker():
        yield made


@pytest.fixture
def ann(request: pytest.FixtureRequest) -> Scope:
    """Somebody whom no other test knows."""
    mark = hashlib.sha256(request.node.name.encode()).hexdigest()[:12]
    return Scope(tenant="acme", user=f"ann-{mark}")


def values(memory: Memory, scope: Scope) -> set[str]:
    return {each.value for each in memory.memories(scope)}


def clear_words(folder: Path, *words: str) -> list[str]:
    """The files below the folder in which a word stands in clear."""
    return files_with(folder, [word.encode() for word in words])


def test_erasing_one_event_several_and_a_scope(cluster: Cluster, ann: Scope) -> None:
    bob = Scope(tenant="acme", user=f"{ann.user}-bob")
    with cluster.connect(str(ann.user)) as memory:
        memory.record_turn(ann, text=f"I live in {MARK}.", observed_at=SAID, event_id="e1")
        memory.record_turn(ann, text="I work at Hooli.", observed_at=SAID, event_id="e2")
        memory.record_turn(bob, text=f"I live in {OTHER}.", observed_at=SAID, event_id="b1")
        memory.flush(45)
        (home,) = [each for each in memory.memories(ann) if each.value == MARK]
        memory.record_feedback(ann, target=home.id, verdict="used", event_id="f1")
        memory.correct(ann, home, "Lisbon")
        memory.flush(45)
        with pytest.raises(NotFound):
            memory.erase(ann, event="nothing")
        report = memory.erase(ann, event="e1")
        assert report.complete, report
        assert report.with_them.keys() >= {"f1"}
        assert len(report.restated) == 1
        assert report.keys_destroyed >= 1
        assert values(memory, ann) == {"Hooli", "Lisbon"}
        assert values(memory, bob) == {OTHER}
        assert memory.doctor().healthy, memory.doctor()
        memory.record_turn(ann, text="I like green tea.", observed_at=SAID, event_id="e3")
        memory.flush(45)
        report = memory.erase(ann, event="e2")
        assert report.complete, report
        assert "Hooli" not in str(memory.memories(ann))
        whole = memory.erase(ann)
        assert whole.complete, whole
        assert values(memory, ann) == set()
        memory.record_turn(ann, text="I work at Initech.", observed_at=SAID, event_id="e9")
        memory.flush(45)
        assert values(memory, ann) == {"Initech"}
        assert values(memory, bob) == {OTHER}
    assert clear_words(cluster.folder / "worker", MARK, OTHER, "Hooli") == []


@pytest.mark.parametrize(
    "step",
    [pytest.param(each, marks=THOROUGH) for each in ("append_again", "append", "wait_for")]
    + ["destroy"],
)
def test_an_erasure_cut_off_at_any_step_is_finished_by_the_next(
    cluster: Cluster, ann: Scope, step: str
) -> None:
    class Killed(BaseException):
        pass

    def dies(*_: Any, **__: Any) -> Any:
        raise Killed

    with cluster.connect(str(ann.user)) as memory:
        memory.record_turn(ann, text=f"I live in {MARK}.", observed_at=SAID, event_id="e1")
        memory.record_turn(ann, text="I work at Hooli.", observed_at=SAID, event_id="e2")
        memory.flush(45)
        host = cluster.host(memory)
        owner: Any = {"destroy": host.ring, "wait_for": host}.get(step, host.log)
        with patch.object(owner, step, dies), pytest.raises(Killed):
            memory.erase(ann, event="e1")
        memory.flush(45)
        unfinished = [each for each in memory.doctor().checks if not each.ok]
        assert bool(unfinished) == (step == "destroy"), unfinished
        assert all(each.name == "erasures" and ann.path in each.detail for each in unfinished)
        report = memory.erase(ann, event="e1")
        assert report.complete, report
        assert memory.doctor().healthy, memory.doctor()
        assert values(memory, ann) == {"Hooli"}
        entries = [each for each in host.log.of_subject(ann.path) if each.row.id == "e1"]
        for entry in entries:
            with pytest.raises(KeyDestroyed):
                host.codec.plain(entry.row)


def test_erasing_while_agents_record_loses_none_of_theirs(cluster: Cluster, ann: Scope) -> None:
    with cluster.connect(str(ann.user)) as memory:
        memory.record_turn(ann, text=f"I live in {MARK}.", observed_at=SAID, event_id="e1")
        memory.flush(45)
        stop, recorded = threading.Event(), list[str]()

        def record() -> None:
            while not stop.is_set() and len(recorded) < 400:
                value = f"tea number {len(recorded)}"
                memory.state(ann, attribute="likes", value=value)
                recorded.append(value)

        agents = [threading.Thread(target=record)]
        for agent in agents:
            agent.start()
        report = memory.erase(ann, event="e1")
        stop.set()
        for agent in agents:
            agent.join()
        memory.flush(45)
        assert report.complete, report
        assert values(memory, ann) == set(recorded)


@THOROUGH
def test_without_a_worker_the_content_goes_and_the_report_says_who_is_missing(
    kafka_bootstrap: str, tmp_path: Path, ann: Scope
) -> None:
    cluster = cluster_in(tmp_path, kafka_bootstrap)
    with cluster.connect("reader") as memory:
        with cluster.worker():
            memory.record_turn(ann, text=f"I live in {MARK}.", observed_at=SAID, event_id="e1")
            memory.record_turn(ann, text="I work at Hooli.", observed_at=SAID, event_id="e2")
            memory.flush(45)
        host = cluster.host(memory)
        report = cluster_erasing.erased_on_kafka(host, ann, "e1", "", wait_s=0.5)
        assert not report.complete
        assert any("behind; mend: see that memstream worker" in each for each in report.traces)
        (entry,) = [each for each in host.log.of_subject(ann.path) if each.row.id == "e1"]
        with pytest.raises(KeyDestroyed):
            host.codec.plain(entry.row)
        with cluster.worker():
            report = memory.erase(ann, event="e1")
            assert report.complete, report
            assert values(memory, ann) == {"Hooli"}


@THOROUGH
def test_what_stays_is_what_a_directory_makes_of_it(cluster: Cluster, ann: Scope) -> None:
    """Identical memories, ids and times, in the index that was erased from and in a new one."""
    turns = [
        ("e1", f"I live in {MARK}."),
        ("e2", "I moved to Lisbon."),
        ("e3", "I work at Hooli."),
        ("e4", "My sister Ada lives in Porto."),
    ]
    with cluster.connect(str(ann.user)) as memory:
        for name, text in turns:
            memory.record_turn(ann, text=text, observed_at=SAID, event_id=name)
        memory.flush(45)
        memory.erase(ann, event="e2")
        host = cluster.host(memory)
        found = sorted(canonical(each) for each in host.versions(ann))
        history = cluster_erasing.history_of(host, ann.path)
        events = readable(host.codec, history)
        expected = derived_versions(standard_pipeline(), events.values())
        assert found == sorted(canonical(each) for each in expected)
        with cluster.connect("another") as other:
            other.flush(60)
            assert sorted(canonical(each) for each in cluster.host(other).versions(ann)) == found

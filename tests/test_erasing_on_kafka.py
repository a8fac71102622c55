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

ANN, BOB = Scope(tenant="acme", user="ann"), Scope(tenant="acme", user="bob")
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

    def connect(self, name: str = "reader") -> Memory:
        return Memory.connect(self.folder / name, self.settings, projects=True)

    def host(self, memory: Memory) -> ClusterHost:
        host: Any = memory._host
        assert isinstance(host, ClusterHost)
        return host


@pytest.fixture(params=first_of("postgres", "sqlite"))
def cluster(request: pytest.FixtureRequest, kafka_bootstrap: str, tmp_path: Path) -> Cluster:
    keyring = str(tmp_path / "keys.db")
    if request.param == "postgres":
        keyring = request.getfixturevalue("postgres_conninfo")
    mark = hashlib.sha256(str(tmp_path).encode()).hexdigest()[:16]
    return Cluster(kafka_bootstrap, tmp_path, keyring, f"erase-{mark}")


def values(memory: Memory, scope: Scope = ANN) -> set[str]:
    return {each.value for each in memory.memories(scope)}


def clear_words(folder: Path, *words: str) -> list[str]:
    """The files below the folder in which a word stands in clear."""
    return [
        str(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and any(word.encode() in path.read_bytes() for word in words)
    ]


def test_erasing_one_event_several_and_a_scope(cluster: Cluster) -> None:
    with cluster.worker(), cluster.connect() as memory:
        memory.record_turn(ANN, text=f"I live in {MARK}.", observed_at=SAID, event_id="e1")
        memory.record_turn(ANN, text="I work at Hooli.", observed_at=SAID, event_id="e2")
        memory.record_turn(BOB, text=f"I live in {OTHER}.", observed_at=SAID, event_id="b1")
        memory.flush(45)
        (home,) = [each for each in memory.memories(ANN) if each.value == MARK]
        memory.record_feedback(ANN, target=home.id, verdict="used", event_id="f1")
        memory.correct(ANN, home, "Lisbon")
        memory.flush(45)
        with pytest.raises(NotFound):
            memory.erase(ANN, event="nothing")
        report = memory.erase(ANN, event="e1")
        assert report.complete, report
        assert report.with_them.keys() >= {"f1"}
        assert len(report.restated) == 1
        assert report.keys_destroyed >= 1
        assert values(memory) == {"Hooli", "Lisbon"}
        assert values(memory, BOB) == {OTHER}
        assert memory.doctor().healthy, memory.doctor()
        memory.record_turn(ANN, text="I like green tea.", observed_at=SAID, event_id="e3")
        memory.flush(45)
        report = memory.erase(ANN, event="e2")
        assert report.complete, report
        assert "Hooli" not in str(memory.memories(ANN))
        whole = memory.erase(ANN)
        assert whole.complete, whole
        assert values(memory) == set()
        memory.record_turn(ANN, text="I work at Initech.", observed_at=SAID, event_id="e9")
        memory.flush(45)
        assert values(memory) == {"Initech"}
        assert values(memory, BOB) == {OTHER}
    assert clear_words(cluster.folder / "worker", MARK, OTHER, "Hooli") == []


@pytest.mark.parametrize(
    "cluster", ["sqlite", pytest.param("postgres", marks=THOROUGH)], indirect=True
)
@pytest.mark.parametrize(
    "step",
    [pytest.param(each, marks=THOROUGH) for each in ("append_again", "append", "wait_for")]
    + ["destroy"],
)
def test_an_erasure_cut_off_at_any_step_is_finished_by_the_next(
    cluster: Cluster, step: str
) -> None:
    class Killed(BaseException):
        pass

    def dies(*_: Any, **__: Any) -> Any:
        raise Killed

    with cluster.worker(), cluster.connect() as memory:
        memory.record_turn(ANN, text=f"I live in {MARK}.", observed_at=SAID, event_id="e1")
        memory.record_turn(ANN, text="I work at Hooli.", observed_at=SAID, event_id="e2")
        memory.flush(45)
        host = cluster.host(memory)
        owner: Any = {"destroy": host.ring, "wait_for": host}.get(step, host.log)
        with patch.object(owner, step, dies), pytest.raises(Killed):
            memory.erase(ANN, event="e1")
        memory.flush(45)
        unfinished = [each for each in memory.doctor().checks if not each.ok]
        assert bool(unfinished) == (step == "destroy"), unfinished
        assert all(each.name == "erasures" and ANN.path in each.detail for each in unfinished)
        report = memory.erase(ANN, event="e1")
        assert report.complete, report
        assert memory.doctor().healthy, memory.doctor()
        assert values(memory) == {"Hooli"}
        entries = [each for each in host.log.of_subject(ANN.path) if each.row.id == "e1"]
        for entry in entries:
            with pytest.raises(KeyDestroyed):
                host.codec.plain(entry.row)


@pytest.mark.parametrize("cluster", ["sqlite"], indirect=True)
def test_erasing_while_agents_record_loses_none_of_theirs(cluster: Cluster) -> None:
    with cluster.worker(), cluster.connect() as memory:
        memory.record_turn(ANN, text=f"I live in {MARK}.", observed_at=SAID, event_id="e1")
        memory.flush(45)
        stop, recorded = threading.Event(), list[str]()

        def record() -> None:
            while not stop.is_set() and len(recorded) < 400:
                value = f"tea number {len(recorded)}"
                memory.state(ANN, attribute="likes", value=value)
                recorded.append(value)

        agents = [threading.Thread(target=record)]
        for agent in agents:
            agent.start()
        report = memory.erase(ANN, event="e1")
        stop.set()
        for agent in agents:
            agent.join()
        memory.flush(45)
        assert report.complete, report
        assert values(memory) == set(recorded)


@THOROUGH
@pytest.mark.parametrize("cluster", ["sqlite"], indirect=True)
def test_without_a_worker_the_content_goes_and_the_report_says_who_is_missing(
    cluster: Cluster,
) -> None:
    with cluster.connect() as memory:
        with cluster.worker():
            memory.record_turn(ANN, text=f"I live in {MARK}.", observed_at=SAID, event_id="e1")
            memory.record_turn(ANN, text="I work at Hooli.", observed_at=SAID, event_id="e2")
            memory.flush(45)
        host = cluster.host(memory)
        report = cluster_erasing.erased_on_kafka(host, ANN, "e1", "", wait_s=0.5)
        assert not report.complete
        assert any("behind; mend: see that memstream worker" in each for each in report.traces)
        (entry,) = [each for each in host.log.of_subject(ANN.path) if each.row.id == "e1"]
        with pytest.raises(KeyDestroyed):
            host.codec.plain(entry.row)
        with cluster.worker():
            report = memory.erase(ANN, event="e1")
            assert report.complete, report
            assert values(memory) == {"Hooli"}


@THOROUGH
@pytest.mark.parametrize("cluster", ["sqlite"], indirect=True)
def test_what_stays_is_what_a_directory_makes_of_it(cluster: Cluster) -> None:
    """Identical memories, ids and times, in the index that was erased from and in a new one."""
    turns = [
        ("e1", f"I live in {MARK}."),
        ("e2", "I moved to Lisbon."),
        ("e3", "I work at Hooli."),
        ("e4", "My sister Ada lives in Porto."),
    ]
    with cluster.worker(), cluster.connect() as memory:
        for name, text in turns:
            memory.record_turn(ANN, text=text, observed_at=SAID, event_id=name)
        memory.flush(45)
        memory.erase(ANN, event="e2")
        host = cluster.host(memory)
        found = sorted(canonical(each) for each in host.versions(ANN))
        history = cluster_erasing.history_of(host, ANN.path)
        events = readable(host.codec, history)
        expected = derived_versions(standard_pipeline(), events.values())
        assert found == sorted(canonical(each) for each in expected)
        with cluster.connect("another") as other:
            other.flush(60)
            assert sorted(canonical(each) for each in cluster.host(other).versions(ANN)) == found

"""Starting and stopping a real Apache Kafka through infra/kafka_node.py."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from kafka_broker import need_broker
from kafka_node import HOST, KafkaCluster, KafkaFailed, free_ports, known_brokers
from thorough import THOROUGH

PROGRAM = Path(__file__).resolve().parents[1] / "infra" / "kafka_node.py"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[KafkaCluster]:
    need_broker()
    cluster = KafkaCluster(tmp_path / "cluster")
    yield cluster
    cluster.down()


def port_of(bootstrap: str) -> int:
    return int(bootstrap.rsplit(":", 1)[1])


def test_a_node_starts_answers_and_stops(cluster: KafkaCluster) -> None:
    command = [sys.executable, str(PROGRAM)]
    where = ["--directory", str(cluster.directory)]
    up = subprocess.run([*command, "up", *where], capture_output=True, text=True, check=True)
    assert up.stdout.strip() == cluster.bootstrap
    assert known_brokers(HOST, port_of(cluster.bootstrap)) == 1
    with pytest.raises(KafkaFailed, match="mend: make kafka-down"):
        cluster.up()
    # Again after a crash: the same address, and the node's data is the one it had.
    cluster.stop(1, kill=True)
    assert cluster.pid(1) is None
    assert known_brokers(HOST, port_of(cluster.bootstrap)) == 0
    cluster.start(1)
    assert known_brokers(HOST, port_of(cluster.bootstrap)) == 1
    subprocess.run([*command, "down", *where], check=True)
    assert cluster.pid(1) is None
    assert cluster.log(1).stat().st_size > 0
    cluster.down()


@THOROUGH  # test_kafka_failures.py has three brokers and loses one
def test_three_brokers_know_each_other_and_one_may_be_lost(cluster: KafkaCluster) -> None:
    ports = [port_of(each) for each in cluster.up(3).split(",")]
    assert len(set(ports)) == 3
    assert [known_brokers(HOST, port) for port in ports] == [3, 3, 3]
    cluster.stop(2, kill=True)
    assert cluster.pid(1)
    assert known_brokers(HOST, ports[0]) > 0
    cluster.start(2)
    cluster.wait(3)


def test_a_node_that_cannot_start_shows_its_log(cluster: KafkaCluster) -> None:
    with pytest.raises(KafkaFailed, match=r"node\.log(.|\n)*no\.such\.Class"):
        cluster.up(settings={"metric.reporters": "no.such.Class"})
    assert cluster.log(1).exists()
    assert cluster.pid(1) is None


def test_nothing_answers_where_no_broker_is() -> None:
    assert known_brokers(HOST, free_ports(1)[0]) == 0


def test_tests_are_skipped_without_java_and_fail_under_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    monkeypatch.setenv("CI", "")
    with pytest.raises(pytest.skip.Exception, match="java and mvn"):
        need_broker()
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="java and mvn"):
        need_broker()

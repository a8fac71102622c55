"""Brokers that die, stop and come back under real workers and agents that record.

Every test ends with: nothing lost, nothing doubled, and the memories of an undisturbed run.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from kafka_broker import need_broker
from kafka_installation import installed, load
from kafka_node import KafkaCluster
from thorough import THOROUGH

from memstream.streams.clock import SystemClock
from memstream.streams.log_in_kafka import KafkaLog, row_check
from memstream.streams.outbox_in_sqlite import Outbox

AWAY_S = 15.0
"""How long the broker does not answer: longer than sessions and requests last here. A minute
would show the same and take longer."""


@contextmanager
def cluster(directory: Path, brokers: int) -> Iterator[KafkaCluster]:
    need_broker()
    made = KafkaCluster(directory / "cluster")
    made.up(brokers)
    try:
        yield made
    finally:
        made.down()


def test_a_broker_that_is_killed_and_started_again(tmp_path: Path) -> None:
    told = load(31, 600)
    with cluster(tmp_path, 1) as kafka, installed(kafka.bootstrap, tmp_path) as installation:
        installation.worker("one")
        with installation.recording(told):
            installation.until(installation.further())
            kafka.stop(1, kill=True)
            kafka.start(1)
        installation.settled(told)


@THOROUGH
def test_one_of_three_brokers_lost_under_load(tmp_path: Path) -> None:
    told = load(32, 600)
    with (
        cluster(tmp_path, 3) as kafka,
        installed(kafka.bootstrap, tmp_path, copies=3) as installation,
    ):
        installation.worker("one")
        with installation.recording(told):
            installation.until(installation.further())
            kafka.stop(2, kill=True)
        installation.settled(told)
        kafka.start(2)


def test_agents_record_while_the_broker_does_not_answer(tmp_path: Path) -> None:
    told = load(33, 600)
    with cluster(tmp_path, 1) as kafka, installed(kafka.bootstrap, tmp_path) as installation:
        installation.worker("one")
        rows = [installation.codec.to_row(each) for each in told]
        settings = installation.kafka
        outbox = Outbox(
            tmp_path / "agent",
            lambda: KafkaLog(settings, SystemClock()),
            SystemClock(),
            check=row_check(settings),
        )
        with outbox:
            outbox.offer(rows[:200])
            assert outbox.flush(60)
            installation.until(installation.further(100))
            node = kafka.pid(1)
            assert node is not None
            os.kill(node, signal.SIGSTOP)
            try:
                for row in rows[200:400]:
                    outbox.offer([row])
                time.sleep(AWAY_S)
                assert outbox.counts().waiting == 200
                assert not outbox.refused()
            finally:
                os.kill(node, signal.SIGCONT)
            outbox.offer(rows[400:])
            assert outbox.flush(60), outbox.counts()
            assert not outbox.refused()
        installation.settled(told)

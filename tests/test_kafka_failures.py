"""Brokers that die under an append: what was acknowledged is there, once, in order."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from kafka_broker import need_broker
from kafka_node import KafkaCluster
from log_conformance import row
from test_log_in_kafka import opened, settings_of

from memstream.schemas.errors import LogUnavailable
from memstream.streams.clock import SystemClock
from memstream.streams.log_in_kafka import KafkaLog


def append_all(log: KafkaLog, subject: str, names: list[str], reached: threading.Event) -> None:
    """Appends one by one, each again until it is acknowledged, as a producer would."""
    for at, name in enumerate(names):
        if at == len(names) // 4:
            reached.set()
        for _ in range(20):
            try:
                log.append([row(name, subject)])
                break
            except LogUnavailable:
                continue
        else:
            raise AssertionError(f"{name} was never taken")


def test_one_of_three_brokers_lost_under_load_loses_nothing(tmp_path: Path) -> None:
    need_broker()
    cluster = KafkaCluster(tmp_path / "cluster")
    settings = settings_of(cluster.up(3), tmp_path, replication=3, min_insync=2, wait_s=30.0)
    try:
        log = opened(settings, SystemClock())
        names = [str(at) for at in range(200)]
        subjects = [f"acme/user:u{at}" for at in range(4)]
        reached = threading.Event()
        threads = [
            threading.Thread(target=append_all, args=(log, each, names, reached))
            for each in subjects
        ]
        for thread in threads:
            thread.start()
        assert reached.wait(60)
        cluster.stop(2, kill=True)
        for thread in threads:
            thread.join()
        cluster.start(2)
        cluster.wait(3)
        # Read through brokers of which one was dead: in order, each once.
        reader = opened(settings, SystemClock())
        for subject in subjects:
            assert [entry.row.id for entry in reader.of_subject(subject)] == names
        reader.close()
        log.close()
    finally:
        cluster.down()

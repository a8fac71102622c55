"""The Apache Kafka that tests run against: one broker, started through infra/ when first needed.

MEMSTREAM_KAFKA_BOOTSTRAP names a broker that runs already; it is used then, and left running.
Where there is neither that nor Java and Maven, tests that need a broker are skipped with one line;
under CI=true they fail instead.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "infra"))

from kafka_node import KafkaCluster, missing_tools


@contextmanager
def running_broker(directory: Path, *, brokers: int = 1) -> Iterator[str]:
    """The bootstrap address of a running Kafka; a node started for it is stopped afterwards."""
    given = os.environ.get("MEMSTREAM_KAFKA_BOOTSTRAP")
    if given and brokers == 1:
        yield given
        return
    need_broker()
    cluster = KafkaCluster(directory / "cluster")
    bootstrap = cluster.up(brokers)
    try:
        yield bootstrap
    finally:
        cluster.down()


def need_broker() -> None:
    """Skips the test where no broker can be started here; fails it where CI asks for all tests."""
    absent = missing_tools()
    if not absent:
        return
    line = f"no Apache Kafka: {absent} not found (Java 17, Maven and ps start one)"
    if os.environ.get("CI") == "true":
        pytest.fail(line)
    pytest.skip(line)

"""What ``doctor`` tells of workers that stand still, and of what is missing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from kafka_installation import USERS, Installation, installed, load

from memstream.projections.in_duckdb import DuckIndex
from memstream.projections.projection import Generation
from memstream.projections.scripted import plain_steps
from memstream.service.cluster_examining import STALLED_S, Waiting, losses, workers
from memstream.service.memory import Memory
from memstream.streams.clock import ManualClock

NOW_S = 1_000_000.0


@pytest.fixture
def installation(kafka_bootstrap: str, tmp_path: Path) -> Iterator[Installation]:
    with installed(kafka_bootstrap, tmp_path) as made:
        yield made


@pytest.mark.parametrize("since_s", [NOW_S - STALLED_S + 1, NOW_S, NOW_S + 30])
def test_workers_that_did_something_lately_are_behind_and_no_more(since_s: float) -> None:
    found = workers({2: Waiting(7, since_s), 3: Waiting(1, NOW_S)}, NOW_S, "g")
    assert found.ok
    assert found.detail == "8 events behind the log"


def test_the_partition_that_stands_still_longest_is_named() -> None:
    stood = {1: Waiting(7, NOW_S - 300), 2: Waiting(5, NOW_S - 900), 3: Waiting(1, NOW_S)}
    found = workers(stood, NOW_S, "g")
    assert not found.ok
    assert "13 events behind the log; 5 events of partition 2 wait" in found.detail
    assert "nothing has come for 900 s" in found.detail
    assert "generation g" in found.mend


@pytest.mark.parametrize("lost", [0, 1, 3])
def test_events_that_are_missing_from_the_analytics_are_told(tmp_path: Path, lost: int) -> None:
    duck = DuckIndex.open(tmp_path / "analytics.duckdb", Generation("pipe", "none", "1"))
    duck.apply(plain_steps(5))
    with duck.reading() as connection:
        connection.execute("DELETE FROM events WHERE seq <= ?", [lost])
        connection.commit()
    told = losses(duck.sql)
    duck.close()
    assert (told.split(" event")[0] == str(lost)) is bool(lost)
    assert ("missing from the analytics" in told) is bool(lost)


def test_doctor_sees_that_no_worker_works(installation: Installation) -> None:
    clock = ManualClock(datetime(2026, 11, 30, tzinfo=UTC))
    folder = installation.directory / "reader"
    with Memory.connect(folder, installation.settings, clock=clock, projects=True) as memory:
        memory.record_turn(USERS[0], role="user", text="I live in Oslo.")
        assert memory.doctor().healthy
        clock.advance(timedelta(seconds=STALLED_S + 1))
        told = {each.name: each for each in memory.doctor().checks}["workers"]
        assert not told.ok
        assert "1 event behind the log; 1 event of partition" in told.detail
        installation.record(load(15, 30))
        installation.worker("one")
        installation.until(installation.done)
        assert memory.doctor().healthy

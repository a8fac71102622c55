"""Real workers on a real broker, killed, frozen, joined by others and bereft of their tables.

Every test ends with: nothing lost, nothing doubled, and the memories of an undisturbed run.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from histories import history
from kafka_installation import USERS, Installation, installed

from memstream.schemas.events import Event

LOAD = 1_500
"""Events of a test."""


@pytest.fixture
def installation(kafka_bootstrap: str, tmp_path: Path) -> Iterator[Installation]:
    with installed(kafka_bootstrap, tmp_path) as made:
        yield made


def load(seed: int, length: int = LOAD) -> list[Event]:
    return history(Random(seed), length, scopes=USERS)


@contextmanager
def recording(installation: Installation, told: list[Event], seconds: float) -> Iterator[None]:
    """The events arrive over so many seconds while the body runs; all have at its end."""
    size = max(1, len(told) // max(1, int(seconds * 20)))

    def run() -> None:
        for at in range(0, len(told), size):
            installation.record(told[at : at + size])
            time.sleep(0.05)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def working(installation: Installation) -> Callable[[], bool]:
    """Whether more has come to the memories topic since this call."""
    before = sum(installation.memories_ends().values())
    return lambda: sum(installation.memories_ends().values()) > before


@pytest.mark.parametrize("store", ["rocksdb", "memory"])
def test_a_worker_killed_at_any_moment_under_load(installation: Installation, store: str) -> None:
    told, random = load(11), Random(store)
    worker = installation.worker("one", store=store)
    with recording(installation, told, 12):
        for _ in range(3):
            installation.until(working(installation))
            time.sleep(random.uniform(0, 1.5))
            worker.kill()
            worker = installation.worker("one", store=store)
    installation.settled(told)
    assert worker.drain() == 0, installation.troubles()

"""Closing while another thread is at work: it ends soon, it is told, and nothing is lost."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import msgspec
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from simulation import versions
from test_rules import turn

from memstream import Memory, Scope
from memstream.schemas.errors import LogUnavailable
from memstream.streams import embedded

EVENTS = 800
BATCH = 20
SLOW_SECONDS = 60.0
ANN = Scope(tenant="acme", user="ann")
TOLD = [
    msgspec.structs.replace(turn(f"I like tea number {at}."), id=f"e{at}", subject=ANN.path)
    for at in range(EVENTS)
]


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    with Memory.open(tmp_path_factory.mktemp("whole"), worker=False) as memory:
        memory.append(TOLD)
        memory.flush()
        return versions(memory)


class Beside(threading.Thread):
    """Does something in a thread; keeps what it raised."""

    def __init__(self, work: Callable[[], object]) -> None:
        super().__init__(daemon=True)
        self._work = work
        self.error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            self._work()
        except BaseException as error:
            self.error = error


def at_work(memory: Memory) -> None:
    deadline = time.monotonic() + SLOW_SECONDS
    while not memory._host.store.last_seq():
        assert time.monotonic() < deadline
        time.sleep(0.002)


@pytest.mark.parametrize("flushes", [1, 3])
def test_closing_ends_a_long_flush_at_its_next_batch(
    tmp_path: Path, expected: list[bytes], flushes: int
) -> None:
    with patch.object(embedded, "BATCH", BATCH):
        memory = Memory.open(tmp_path, worker=False)
        memory.append(TOLD)
        threads = [Beside(memory.flush) for _ in range(flushes)]
        at_work(memory)
        memory.close()
        for each in threads:
            each.join(SLOW_SECONDS)
            assert isinstance(each.error, LogUnavailable)
            assert "closed while it was waited for" in str(each.error)
    with Memory.open(tmp_path, worker=False) as again:
        done = sum(again._host.store.positions().values())
        assert 0 < done < EVENTS
        again.flush()
        assert versions(again) == expected
        assert again.doctor().balance.captured == EVENTS
        assert again.recall(ANN, "What about tea number 799?", record=False)


def test_an_erasure_is_not_interrupted(tmp_path: Path) -> None:
    with patch.object(embedded, "BATCH", BATCH):
        memory = Memory.open(tmp_path, worker=False)
        memory.append(TOLD[: EVENTS // 3])
        erasing = Beside(lambda: memory.erase(ANN))
        at_work(memory)
        memory.close()
        erasing.join(SLOW_SECONDS)
        assert erasing.error is None
    with Memory.open(tmp_path, worker=False) as again:
        assert again.memories(ANN) == []
        assert not again._host.stores.behind


def test_a_flush_after_closing_says_that_it_is_closed(tmp_path: Path) -> None:
    memory = Memory.open(tmp_path, worker=False)
    memory.append(TOLD[:3])
    memory.close()
    with pytest.raises(LogUnavailable, match="closed"):
        memory.flush()

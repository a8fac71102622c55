"""Texts read ahead beside something else: a rebuild, a store that fails."""

from __future__ import annotations

import sqlite3
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from histories import START, history
from simulation import versions

from memstream import Memory
from memstream.schemas.errors import MemstreamError
from memstream.schemas.events import Event
from memstream.streams import embedded
from memstream.streams.clock import ManualClock
from memstream.streams.state_in_sqlite import StateStore


def undisturbed(folder: Path, events: Sequence[Event]) -> list[bytes]:
    with Memory.open(folder, worker=False, clock=clock()) as memory:
        memory.append(events)
        memory.flush()
        return versions(memory)


def clock() -> ManualClock:
    return ManualClock(START, step=timedelta(), seed=5)


def test_a_rebuild_beside_the_worker_reads_with_it(tmp_path: Path) -> None:
    """Both tell what comes, of other places of the log, and get their own answers."""
    events = history(Random(11), 240)
    right = undisturbed(tmp_path / "right", events)
    with (
        patch.object(embedded, "BATCH", 20),
        Memory.open(tmp_path / "memory", clock=clock(), readers=1) as memory,
    ):
        memory.append(events[:60])

        def records() -> None:
            for at in range(60, len(events), 10):
                memory.append(events[at : at + 10])

        beside = threading.Thread(target=records)
        beside.start()
        reports = [memory.rebuild() for _ in range(2)]
        beside.join()
        memory.flush()
        reports.append(memory.rebuild())
        assert all(each.verified for each in reports), [each.problems for each in reports]
        assert versions(memory) == right
        assert memory.doctor().balance.closes


@pytest.mark.parametrize("failing", [1, 3])
def test_a_store_that_fails_for_a_while_costs_nothing(tmp_path: Path, failing: int) -> None:
    """What was opened ahead is forgotten with the drain that opened it."""
    events = history(Random(failing), 200)
    right = undisturbed(tmp_path / "right", events)
    whole, calls = StateStore.transaction, 0

    @contextmanager
    def sometimes(self: StateStore, *arguments: Any, **named: Any) -> Iterator[Any]:
        nonlocal calls
        calls += 1
        with whole(self, *arguments, **named) as transaction:
            yield transaction
            if calls == failing:
                raise sqlite3.OperationalError("disk I/O error")

    with (
        patch.object(embedded, "BATCH", 20),
        Memory.open(tmp_path / "memory", worker=False, clock=clock(), readers=1) as memory,
    ):
        memory.append(events[:150])
        with (
            patch.object(StateStore, "transaction", sometimes),
            pytest.raises(MemstreamError, match="disk"),
        ):
            memory.flush()
        assert calls == failing
        memory.append(events[150:])
        memory.flush()
        assert versions(memory) == right
        assert memory.doctor().balance.closes

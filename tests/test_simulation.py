"""The simulation, over a few seeds, and canaries: runtimes broken on purpose that it must catch.

MEMSTREAM_SEEDS=500 (or HYPOTHESIS_PROFILE=thorough) tries more seeds. A failure names its seed and
the command that replays it.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import msgspec
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from simulation import BEGINNING, MEMORY_DISK, Deaths, Died, every_death, simulate, versions
from thorough import IS_THOROUGH

from memstream import Memory, Scope
from memstream.processors.resolve import Resolve
from memstream.projections.in_edge import EdgeIndex
from memstream.streams import embedded
from memstream.streams.clock import ManualClock
from memstream.streams.embedded import EmbeddedRuntime
from memstream.streams.indexing import Indexing
from memstream.streams.log_in_sqlite import SqliteLog

SEEDS = range(int(os.environ.get("MEMSTREAM_SEEDS", "200" if IS_THOROUGH else "4")))


@pytest.mark.parametrize("seed", SEEDS)
def test_every_disturbed_run_ends_like_an_undisturbed_one(seed: int) -> None:
    simulate(seed)


@pytest.mark.parametrize("seed", SEEDS[:1])
def test_so_does_one_that_indexes_beside_the_processing(seed: int) -> None:
    beside = partial(Indexing, beside_from=1)
    with patch.object(embedded, "Indexing", beside), patch.object(embedded, "PROJECT_BATCH", 2):
        simulate(seed)


def test_one_seed_is_one_run() -> None:
    told: list[list[str]] = []
    for _ in range(2):
        lines: list[str] = []
        simulate(3, length=15, say=lines.append)
        told.append(lines)
    assert told[0] == told[1]


def test_a_dead_process_stays_dead() -> None:
    deaths = Deaths()
    deaths.arm(1)
    deaths.point("first")
    for name in ("second", "third"):
        with pytest.raises(Died, match=name):
            deaths.point(name)
    deaths.disarm()
    deaths.point("another life")
    assert deaths.last_point == "second"


# Every point of one operation

MARK = "Kv83Qz-Yt41Pw"
ANN, BOB = Scope(tenant="acme", user="ann"), Scope(tenant="acme", user="bob")


@pytest.fixture
def prepared() -> Iterator[Path]:
    """A directory with two scopes, two generations, and a secret of ann's."""
    with tempfile.TemporaryDirectory(dir=MEMORY_DISK, prefix="prepared-") as folder:
        directory = Path(folder) / "memory"
        clock = ManualClock(BEGINNING)
        with Memory.open(directory, worker=False, clock=clock) as memory:
            memory.record_turn(ANN, text="I live in Porto.", event_id="a1")
            memory.record_turn(ANN, text=f"My locker code is {MARK}.", event_id="a2")
            memory.record_turn(ANN, text=f"I moved to {MARK}.", event_id="a3")
            memory.record_turn(BOB, text="I like chess.", event_id="b1")
            memory.rebuild()
        yield directory


def _healthy(memory: Memory, point: str) -> None:
    diagnosis = memory.doctor()
    assert diagnosis.healthy, (point, diagnosis)


def _bytes_hold(memory: Memory, text: str) -> list[Path]:
    files = [each for each in memory._host.files.root.rglob("*") if each.is_file()]
    return [each for each in files if text.encode() in each.read_bytes()]


def _is_all_or_nothing(memory: Memory, point: str) -> None:
    """An erasure that the log has is finished by the next process; one that it has not is not."""
    entries = list(memory._host.files.log.of_subject(ANN.path))
    requested = any(each.row.type == "erasure.requested" for each in entries)
    memory.flush()
    shown = " ".join(each.text for each in memory.history(ANN))
    assert (MARK in shown) != requested, point
    assert bool(_bytes_hold(memory, MARK)) != requested, point
    assert "chess" in memory.history(BOB)[0].text, point
    _healthy(memory, point)
    if IS_THOROUGH or "destroy" in point:  # a rebuild takes its time
        before = versions(memory, (ANN, BOB))
        assert memory.rebuild().identical, point
        assert versions(memory, (ANN, BOB)) == before, point


def test_an_erasure_may_die_anywhere(prepared: Path) -> None:
    def erase(memory: Memory) -> None:
        memory.erase(ANN)

    points = every_death(prepared, erase, _is_all_or_nothing)
    assert "after SqliteKeyRing.destroy" in points
    assert "after StateStore.erase_scope" in points
    assert "before DuckIndex.erase" in points


def test_a_rebuild_may_die_anywhere(prepared: Path) -> None:
    with Memory.open(prepared, worker=False) as memory:
        expected = versions(memory, (ANN, BOB))

    def goes_on(memory: Memory, point: str) -> None:
        assert versions(memory, (ANN, BOB)) == expected, point
        _healthy(memory, point)
        if IS_THOROUGH or "Generations" in point:
            assert memory.rebuild().identical, point

    points = every_death(prepared, lambda memory: memory.rebuild(), goes_on)
    assert "before Generations.serve" in points


# Canaries


@contextmanager
def _positions_before_state() -> Iterator[None]:
    """Commits how far it read before it commits what it made of it."""
    process = EmbeddedRuntime._process

    def broken(runtime: EmbeddedRuntime, partition: int, start: int, ends: dict[int, int]) -> int:
        end = min(ends[partition], start + 2)
        with runtime.store.transaction() as transaction:
            transaction.advance(partition, end)
        return process(runtime, partition, start, {partition: end})

    with patch.object(EmbeddedRuntime, "_process", broken):
        yield


@contextmanager
def _skips_a_batch_now_and_then() -> Iterator[None]:
    """Moves on without having processed, as after a failure that was swallowed."""
    process, calls = EmbeddedRuntime._process, iter(range(10**6))

    def broken(runtime: EmbeddedRuntime, partition: int, start: int, ends: dict[int, int]) -> int:
        if next(calls) % 5 != 4:
            return process(runtime, partition, start, ends)
        with runtime.store.transaction() as transaction:
            transaction.advance(partition, start + 1)
        return 1

    with patch.object(EmbeddedRuntime, "_process", broken):
        yield


@contextmanager
def _erases_after_moving_on() -> Iterator[None]:
    """Counts an erasure as processed first and carries it out afterwards, if it lives."""
    erasure = EmbeddedRuntime._process_erasure

    def broken(runtime: EmbeddedRuntime, request: Any) -> None:
        with runtime.store.transaction() as transaction:
            runtime._step(transaction, request)
            transaction.advance(request.partition, request.offset + 1)
        erasure(runtime, request)

    with patch.object(EmbeddedRuntime, "_process_erasure", broken):
        yield


@contextmanager
def _an_index_that_forgets() -> Iterator[None]:
    """Says that it applied steps and forgets what every fourth of them made."""
    apply = EdgeIndex.apply

    def broken(index: EdgeIndex, steps: Any) -> None:
        emptied = [msgspec.structs.replace(each, derived=()) for each in steps]
        apply(index, [old if old.seq % 4 else new for old, new in zip(steps, emptied, strict=True)])

    with patch.object(EdgeIndex, "apply", broken):
        yield


@contextmanager
def _decides_by_arrival() -> Iterator[None]:
    """Lets what arrived last win, whatever it is about."""
    assertions = Resolve._assert

    def broken(resolve: Resolve, state: Any, event: Any, new: Any) -> Any:
        late = [msgspec.structs.replace(each, valid_from=event.recorded_at) for each in new]
        return assertions(resolve, state, event, late)

    with patch.object(Resolve, "_assert", broken):
        yield


@contextmanager
def _loses_an_append() -> Iterator[None]:
    """Answers that it has the events when it has all but the last."""
    append = SqliteLog.append

    def broken(log: SqliteLog, rows: Any) -> Any:
        if len(rows) < 2:
            return append(log, rows)
        kept = append(log, rows[:-1])
        return [*kept, kept[-1]]

    with patch.object(SqliteLog, "append", broken):
        yield


@pytest.mark.parametrize(
    "fault",
    [
        _positions_before_state,
        _skips_a_batch_now_and_then,
        _an_index_that_forgets,
        _decides_by_arrival,
        _loses_an_append,
    ],
    ids=lambda fault: fault.__name__.strip("_"),
)
def test_a_broken_runtime_is_caught(fault: Callable[[], AbstractContextManager[None]]) -> None:
    caught = []
    for seed in range(40):
        try:
            simulate(seed, fault=fault, length=25)
        except AssertionError as error:
            caught.append(str(error))
            break
    assert caught, "the simulation did not notice"
    assert "python tests/simulation.py --seed" in caught[0]


def test_an_erasure_that_is_put_off_is_caught(prepared: Path) -> None:
    with _erases_after_moving_on(), pytest.raises(AssertionError, match="commit of a batch"):
        every_death(prepared, lambda memory: memory.erase(ANN), _is_all_or_nothing)

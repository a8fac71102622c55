"""Projections are brought to the store's last step, one after another or beside the processing."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

from memstream.projections.in_edge import EdgeIndex
from memstream.projections.projection import Step, offsets_after
from memstream.projections.scripted import plain_steps, tally_of
from memstream.schemas.errors import MemstreamError, ProjectionDamaged
from memstream.schemas.memories import Tally
from memstream.schemas.scope import Scope
from memstream.service.memory import Memory
from memstream.streams import embedded
from memstream.streams.indexing import Indexing

STEPS = plain_steps(20)
AT_ONCE = 3
BESIDE, ALONE = 1, 10**6


class Kept:
    """A projection in memory. It fails with ``failure`` at the step ``fails_at``, waits for
    ``gate`` before it applies anything, and ``forgets`` all it is given."""

    def __init__(
        self,
        name: str = "kept",
        *,
        fails_at: int = 0,
        failure: BaseException | None = None,
        gate: threading.Event | None = None,
        forgets: bool = False,
    ) -> None:
        self.name = name
        self.steps: list[Step] = []
        self.fails_at = fails_at
        self.failure = failure
        self.gate = gate
        self.forgets = forgets

    def position(self) -> int:
        return self.steps[-1].seq if self.steps else 0

    def positions(self) -> dict[int, int]:
        return offsets_after({}, self.steps)

    def apply(self, steps: Sequence[Step]) -> None:
        if self.gate is not None:
            assert self.gate.wait(timeout=60)
        if self.failure is not None and any(step.seq == self.fails_at for step in steps):
            raise self.failure
        if not self.forgets:
            self.steps += steps

    def tally(self) -> Tally:
        return tally_of(self.steps)

    def erase(self, scope: str) -> int:
        del scope
        return 0

    def close(self) -> None: ...


def _after(position: int) -> list[Step]:
    return STEPS[position : position + AT_ONCE]


def _start(indexing: Indexing, last: int = len(STEPS)) -> None:
    indexing.start(last, _after, lambda: True, fresh=last)


def _start_and_finish(indexing: Indexing) -> None:
    _start(indexing)
    indexing.finish()


@pytest.mark.parametrize("beside_from", [BESIDE, ALONE])
def test_every_projection_gets_every_step_once_and_in_order(beside_from: int) -> None:
    ahead, behind = Kept("ahead"), Kept("behind")
    ahead.apply(STEPS[:7])
    indexing = Indexing([ahead, behind], beside_from=beside_from)
    _start(indexing, 12)
    _start(indexing)
    indexing.finish()
    indexing.settle()
    assert ahead.steps == behind.steps == STEPS


@pytest.mark.parametrize("beside_from", [BESIDE, ALONE])
def test_one_that_fails_keeps_no_other_back_and_its_error_is_raised(beside_from: int) -> None:
    broken = Kept("broken", fails_at=8, failure=ProjectionDamaged("step 8; mend: rebuild"))
    whole = Kept("whole")
    indexing = Indexing([broken, whole], beside_from=beside_from)
    with pytest.raises(ProjectionDamaged, match="step 8"):
        _start_and_finish(indexing)
    assert whole.steps == STEPS
    assert broken.steps == STEPS[:6]
    broken.failure = None
    _start(indexing)
    indexing.finish()
    indexing.settle()
    assert broken.steps == STEPS


def test_the_failure_of_what_was_begun_is_raised_by_the_next_start() -> None:
    broken = Kept(fails_at=2, failure=ProjectionDamaged("step 2; mend: rebuild"))
    indexing = Indexing([broken], beside_from=BESIDE)
    _start(indexing)
    with pytest.raises(ProjectionDamaged, match="step 2"):
        _start(indexing)
    indexing.settle()


def test_an_error_that_nobody_stated_is_raised_before_one_that_is_stated() -> None:
    stated = Kept("stated", fails_at=1, failure=ProjectionDamaged("broken; mend: rebuild"))
    bug = Kept("bug", fails_at=1, failure=ZeroDivisionError("a bug"))
    indexing = Indexing([stated, bug], beside_from=BESIDE)
    _start(indexing)
    with pytest.raises(ZeroDivisionError):
        indexing.finish()
    indexing.settle()


def test_the_caller_goes_on_while_a_projection_is_written_and_settling_waits_for_it() -> None:
    gate = threading.Event()
    slow = Kept("slow", gate=gate)
    indexing = Indexing([slow], beside_from=BESIDE)
    _start(indexing)
    assert slow.steps == []
    gate.set()
    indexing.settle()
    assert slow.steps == STEPS
    indexing.settle()


def test_settling_raises_nothing_and_the_same_steps_fail_again() -> None:
    broken = Kept(fails_at=2, failure=ProjectionDamaged("step 2; mend: rebuild"))
    indexing = Indexing([broken], beside_from=BESIDE)
    _start(indexing)
    indexing.settle()
    _start(indexing)
    with pytest.raises(MemstreamError):
        indexing.finish()
    indexing.settle()


@pytest.mark.parametrize("beside_from", [BESIDE, ALONE])
def test_one_whose_position_does_not_move_is_damaged_and_keeps_no_other_back(
    beside_from: int,
) -> None:
    indexing = Indexing([Kept("still", forgets=True), whole := Kept()], beside_from=beside_from)
    with pytest.raises(ProjectionDamaged, match=r"still: steps up to 3 .* its position is 0"):
        _start_and_finish(indexing)
    indexing.settle()
    assert whole.steps == STEPS


@pytest.mark.parametrize("worker", [False, True])
def test_flush_says_that_an_index_keeps_nothing_in_the_place_of_waiting_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, worker: bool
) -> None:
    ada = Scope(tenant="acme", user="ada")
    with Memory.open(tmp_path, worker=worker) as memory:
        memory.record_turn(ada, text="I live in Oslo.")
        memory.flush(30)
        monkeypatch.setattr(EdgeIndex, "apply", lambda *_: None)
        position = memory.record_turn(ada, text="I work at Hooli.")
        with pytest.raises(ProjectionDamaged, match="its position is 1"):
            memory.flush()
        evidence = memory.recall(ada, "Oslo", after=position, record=False)
        assert any("its position is 1" in each for each in evidence.degraded)
        monkeypatch.undo()
        memory.flush()
        assert {each.value for each in memory.memories(ada)} == {"Oslo", "Hooli"}


@pytest.mark.parametrize("beside_from", [BESIDE, ALONE])
def test_it_stops_between_two_applies_when_told_to(beside_from: int) -> None:
    kept = Kept()
    indexing = Indexing([kept], beside_from=beside_from)
    answers = iter([True, True, False])
    indexing.start(len(STEPS), _after, lambda: next(answers), fresh=len(STEPS))
    indexing.finish()
    indexing.settle()
    assert kept.steps == STEPS[: 2 * AT_ONCE]


def _recorded(directory: Path) -> tuple[object, ...]:
    """What a directory holds after turns of two scopes, an erasure and more turns."""
    ada, bob = Scope(tenant="acme", user="ada"), Scope(tenant="acme", user="bob")
    with Memory.open(directory, worker=False) as memory:
        for number in range(12):
            memory.record_turn(ada, role="user", text=f"I bought lamp number {number} in Oslo.")
            memory.record_turn(bob, role="user", text=f"My cat Tom ate fish {number}.")
        memory.erase(ada)
        memory.record_turn(ada, role="user", text="I live in Bergen.")
        memory.flush()
        assert memory.doctor().healthy
        assert not any("lamp" in hit.text for hit in memory.memories(ada))
        return tuple(
            sorted(
                (each.text, each.status) for scope in (ada, bob) for each in memory.memories(scope)
            )
        )


def test_a_runtime_that_indexes_beside_leaves_what_one_that_does_not_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = _recorded(tmp_path / "plain")
    monkeypatch.setattr(embedded, "Indexing", partial(Indexing, beside_from=BESIDE))
    monkeypatch.setattr(embedded, "BATCH", 2)
    monkeypatch.setattr(embedded, "PROJECT_BATCH", 3)
    assert _recorded(tmp_path / "beside") == plain

"""What a crash or a failure left half done is healed by doing it again."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from memstream import Memory, ProjectionDamaged, Scope
from memstream.processors.gate import Gate
from memstream.processors.pipeline import State
from memstream.projections.in_edge import EdgeIndex
from memstream.schemas.events import Event

ANN = Scope(tenant="acme", user="ann")


def test_an_apply_cut_off_anywhere_is_done_again(monkeypatch: pytest.MonkeyPatch) -> None:
    update = EdgeIndex._update
    for cut_at in range(20):
        with tempfile.TemporaryDirectory() as folder:
            done = 0

            def cut(index: EdgeIndex, *values: Any, at: int = cut_at) -> None:
                nonlocal done
                if done == at:
                    raise ProjectionDamaged("killed here")
                done += 1
                update(index, *values)

            cut_off = False
            with Memory.open(folder, worker=False) as memory:
                memory.record_turn(ANN, text="I live in Porto.")
                memory.flush()
                memory.record_turn(ANN, text="I live in Ghent.")
                memory.record_turn(ANN, text="I like chess.")
                monkeypatch.setattr(EdgeIndex, "_update", cut)
                try:
                    memory.flush()
                except ProjectionDamaged:
                    cut_off = True
                monkeypatch.undo()
            with Memory.open(folder, worker=False) as memory:
                found = memory.recall(ANN, "Where does the user live?", record=False)
                assert "Ghent" in found.text or cut_at == 0
                memory.flush()
                assert memory._host.stores.remade == ""
                diagnosis = memory.doctor()
                assert diagnosis.healthy, diagnosis
        if not cut_off:
            assert cut_at > 2, "cut before the marker, between the points, and after them"
            return
    raise AssertionError("the apply was always cut off")


def test_a_damaged_index_is_still_made_again(tmp_path: Path) -> None:
    with Memory.open(tmp_path, worker=False) as memory:
        memory.record_turn(ANN, text="I live in Porto.")
        memory.flush()
    (current,) = tmp_path.glob("generations/*/vectors/CURRENT")
    current.write_text("shard-9\n", encoding="utf-8")
    with Memory.open(tmp_path, worker=False) as memory:
        found = memory.recall(ANN, "Where does the user live?", record=False)
        assert "Porto" in found.text
        assert any("is being made again" in reason for reason in found.degraded)
        memory.flush()
        assert not memory.recall(ANN, "Where does the user live?", record=False).degraded
        assert memory.doctor().healthy


@pytest.mark.parametrize("failing", [{"e1"}, {"e2"}, {"e1", "e2"}, {"e3"}])
def test_a_dead_letter_that_went_through_leaves_the_rows_of_a_rebuild(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: set[str]
) -> None:
    rows = "SELECT * EXCLUDE (seq) FROM events ORDER BY log_partition, log_offset"
    with Memory.open(tmp_path, worker=False) as memory:
        for number, text in enumerate(("I live in Porto.", "I like chess.", "I live in Ghent."), 1):
            memory.record_turn(ANN, text=text, event_id=f"e{number}")
        sound = Gate.__call__

        def stumbles(gate: Gate, state: State, event: Event) -> Iterable[Event]:
            if event.id in failing:
                raise ValueError("stumbled")
            return sound(gate, state, event)

        monkeypatch.setattr(Gate, "__call__", stumbles)
        memory.flush()
        assert memory.doctor().balance.dead_lettered == len(failing)
        monkeypatch.undo()
        memory._host.retry_dead_letters()
        memory.flush()
        before = memory.sql(rows)
        assert len(before[1]) == 3
        assert memory.rebuild().identical
        assert memory.sql(rows) == before

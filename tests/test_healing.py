"""A crash inside an apply to the vectors is healed by applying again, not by a rebuild."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest

from memstream import Memory, ProjectionDamaged, Scope
from memstream.projections.in_edge import EdgeIndex

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

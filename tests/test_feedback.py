"""Feedback is counted and kept; what is recalled does not hang on it."""

from __future__ import annotations

from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from memstream import Memory, Scope
from memstream.schemas.events import FeedbackGiven

ANN = Scope(tenant="acme", user="ann")
VERDICTS = get_args(get_type_hints(FeedbackGiven)["verdict"])


@pytest.mark.parametrize("on", ["memory", "context"])
def test_no_verdict_changes_a_memory_or_a_later_recall(on: str, tmp_path: Path) -> None:
    with Memory.open(tmp_path, worker=False) as memory:
        memory.record_turn(ANN, text="I live in Porto. My sister Ida plays the cello.")
        memory.flush()
        before = memory.recall(ANN, "Who plays the cello in Porto?")
        known = memory.memories(ANN, everything=True)
        assert before.items
        target = before.items[0].memory.id if on == "memory" else before.context
        for verdict in VERDICTS:
            memory.record_feedback(ANN, target=target, verdict=verdict)
        memory.flush()
        after = memory.recall(ANN, "Who plays the cello in Porto?")
        assert after.items == before.items
        assert memory.memories(ANN, everything=True) == known
        counts = ", ".join(
            each if on == "memory" else f"context_verdicts['{each}']" for each in VERDICTS
        )
        name = before.items[0].memory.id
        _, rows = memory.sql(f"SELECT {counts} FROM served_usage WHERE memory = '{name}'")
        assert rows == [(1,) * len(VERDICTS)]

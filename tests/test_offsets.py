"""The speaker's offset: kept from the event to the memory, through every store and a rebuild."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from memstream import Memory, Scope

ANN = Scope(tenant="acme", user="ann")
EAST = timezone(timedelta(hours=8))
WEST = timezone(timedelta(hours=-7))
TURNS = [
    pytest.param("I moved to Hangzhou this month.", EAST, "2025-06-01", id="day"),
    pytest.param("我这个月搬到了杭州。", EAST, "2025-06-01", id="day-zh"),
    pytest.param("I moved to Hangzhou this month.", WEST, "2025-06-01", id="west"),
    pytest.param("We had a loud party.", EAST, None, id="episode"),
]


@pytest.mark.parametrize(("text", "offset", "from_day"), TURNS)
def test_days_are_the_speakers_own_whatever_was_read_from_where(
    text: str, offset: timezone, from_day: str | None, tmp_path: Path
) -> None:
    said = datetime(2025, 6, 10, 1, 30, tzinfo=offset)
    with Memory.open(tmp_path / "m", embedder="none") as memory:
        memory.record_turn(ANN, role="user", text=text, observed_at=said)
        memory.flush()
        first = _seen(memory)
    with Memory.open(tmp_path / "m", embedder="none") as memory:
        reopened = _seen(memory)
        memory.rebuild()
        rebuilt = _seen(memory)
    assert first == reopened == rebuilt
    [(observed, offset_kept, rendered)] = first
    assert observed == said
    assert offset_kept == offset.utcoffset(None)
    assert "said 2025-06-10" in rendered
    if from_day is not None:
        assert f"valid from {from_day}" in rendered


def _seen(memory: Memory) -> list[tuple[datetime, timedelta | None, str]]:
    text = memory.recall(ANN, "Hangzhou party 杭州").text
    found = memory.memories(ANN)
    return [(each.observed_at, each.observed_at.utcoffset(), text) for each in found]

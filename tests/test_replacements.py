"""What a correction puts in the place of a value: a value, or the sentence that says it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memstream import Memory, Scope

ANN = Scope(tenant="acme", user="ann")
SAID_AT = datetime(2025, 3, 12, 9, 30, tzinfo=UTC)


def corrected(folder: Path, told: str, replacement: str) -> list[str]:
    """What is believed after the one fact of a turn was corrected."""
    with Memory.open(folder, worker=False) as memory:
        memory.record_turn(ANN, text=told, observed_at=SAID_AT)
        memory.flush()
        (known,) = [each for each in memory.memories(ANN) if each.attribute]
        later = SAID_AT + timedelta(days=1)
        memory.correct(ANN, known.id, replacement, observed_at=later)
        memory.flush()
        found = memory.memories(ANN, as_of=later)
        assert {each.attribute for each in found} == {known.attribute}
        memory.rebuild()
        assert memory.memories(ANN, as_of=later) == found
        return sorted(each.value for each in found)


@pytest.mark.parametrize(
    ("told", "replacement", "value"),
    [
        ("I live in Porto.", "Braga", "Braga"),
        ("I live in Porto.", "I live in Braga.", "Braga"),
        ("I live in Porto.", "New York", "New York"),
        ("I like tea.", "I like coffee.", "coffee"),
        ("我住在杭州。", "我住在成都。", "成都"),
        ("我住在杭州。", "成都", "成都"),
        ("My sister lives in Porto.", "My sister lives in Braga.", "Braga"),
        # What says something else, or more than one value, is taken as it stands.
        ("I live in Porto.", "I work at Lego.", "I work at Lego."),
        ("My sister lives in Porto.", "I live in Braga.", "I live in Braga."),
        ("I like tea.", "I like coffee and cake.", "I like coffee and cake."),
        ("I like tea.", "I don't like coffee.", "I don't like coffee."),
    ],
)
def test_a_correction_is_read(tmp_path: Path, told: str, replacement: str, value: str) -> None:
    assert corrected(tmp_path, told, replacement) == [value]

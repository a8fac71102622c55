"""Filters of recall by entity and by time: in the index and in the scan of the state alike."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memstream import Memory, Scope
from memstream.schemas.errors import InvalidEvent, UnsupportedFilter

ANN = Scope(tenant="acme", user="ann")
SAID = {
    datetime(2024, 3, 1, tzinfo=UTC): "My sister Ida plays the cello in the harbour hall.",
    datetime(2024, 6, 1, tzinfo=UTC): "Bruno repaired his boat in the harbour.",
}
APRIL = datetime(2024, 4, 1, tzinfo=UTC)


@pytest.fixture(params=["index", "scan"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path, worker=False) as opened:
        for at, text in SAID.items():
            opened.record_turn(ANN, text=text, observed_at=at)
        opened.flush()
        if request.param == "scan":
            opened._host.stores.no_vectors = "switched off"
        yield opened


def test_only_what_is_about_an_entity_is_recalled(memory: Memory) -> None:
    both = memory.recall(ANN, "What about the harbour?", record=False)
    assert "Ida" in both.text
    assert "Bruno" in both.text
    one = memory.recall(ANN, "What about the harbour?", entities=["bruno"], record=False)
    assert "Bruno" in one.text
    assert "Ida" not in one.text
    assert not memory.recall(ANN, "What about the harbour?", entities=["Zoe"], record=False)


def test_only_what_took_place_in_a_time_is_recalled(memory: Memory) -> None:
    early = memory.recall(ANN, "What about the harbour?", until=APRIL, record=False)
    late = memory.recall(ANN, "What about the harbour?", since=APRIL, record=False)
    assert "Ida" in early.text
    assert "Bruno" not in early.text
    assert "Bruno" in late.text
    assert "Ida" not in late.text


def test_a_filter_that_cannot_be_applied_is_an_error(memory: Memory) -> None:
    with pytest.raises(UnsupportedFilter, match=r"colour is no filter; known: .*entities, since"):
        memory.recall(ANN, "harbour", colour="red")
    with pytest.raises(UnsupportedFilter, match="entities"):
        memory.recall(ANN, "harbour", entities=[])
    with pytest.raises(UnsupportedFilter, match="since"):
        memory.recall(ANN, "harbour", since=APRIL, until=APRIL)
    with pytest.raises(InvalidEvent, match="since"):
        memory.recall(ANN, "harbour", since=datetime(2024, 4, 1))

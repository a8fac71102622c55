"""Wrong arguments of the Python API: refused where they are given, with what, where and how to
mend it; nothing of them reaches the log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memstream import Memory, Scope
from memstream.schemas.errors import InvalidEvent, InvalidScope, MemstreamError

ANN = Scope(tenant="acme", user="ann")
Call = Callable[[Memory], Any]
WRONG: list[tuple[str, type[MemstreamError], str, Call]] = [
    ("role", InvalidEvent, "'u' is unknown", lambda m: m.record_turn(ANN, text="Hi", role="u")),  # type: ignore[arg-type]
    ("source", InvalidEvent, "is unknown", lambda m: m.record_turn(ANN, text="Hi.", source="me")),  # type: ignore[arg-type]
    ("no scope", InvalidScope, "got NoneType", lambda m: m.record_turn(None, text="Hi.")),  # type: ignore[arg-type]
    ("a path", InvalidScope, "got str", lambda m: m.recall("acme/user:ann", "where?")),  # type: ignore[arg-type]
    ("scopes", InvalidScope, "got str", lambda m: m.recall(ANN, "where?", scopes=["bob"])),  # type: ignore[list-item]
    ("erase", InvalidScope, "got str", lambda m: m.erase("acme/user:ann")),  # type: ignore[arg-type]
    ("empty", InvalidEvent, "give a text", lambda m: m.state(ANN)),
    ("no value", InvalidEvent, "give a text", lambda m: m.state(ANN, attribute="employer")),
    ("budget", InvalidEvent, "below 0", lambda m: m.recall(ANN, "where?", budget_tokens=-1)),
    ("limit", InvalidEvent, "below 0", lambda m: m.recall(ANN, "where?", limit=-3)),
    ("verdict", InvalidEvent, "unknown", lambda m: m.record_feedback(ANN, target="x", verdict="-")),
]  # fmt: skip


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "m", embedder="none", worker=False) as memory:
        yield memory


@pytest.mark.parametrize(
    ("error", "told", "call"), [pytest.param(*each[1:], id=each[0]) for each in WRONG]
)
def test_a_wrong_argument_is_refused_where_it_is_given(
    memory: Memory, error: type[MemstreamError], told: str, call: Call
) -> None:
    with pytest.raises(error, match=told):
        call(memory)
    memory.flush()
    diagnosis = memory.doctor()
    assert diagnosis.healthy
    assert diagnosis.balance.captured == 0


def test_what_a_correction_says_is_right_was_right_all_along(memory: Memory) -> None:
    """The first value was wrong from its beginning, so the past has the right one."""
    march, april = datetime(2025, 3, 1, tzinfo=UTC), datetime(2025, 4, 1, tzinfo=UTC)
    memory.record_turn(ANN, text="I live in Oslo.", observed_at=march)
    memory.flush()
    (home,) = memory.memories(ANN, attribute="residence")
    memory.correct(ANN, home, "Bergen", reason="misheard")
    memory.flush()
    then = memory.recall(ANN, "where does she live?", as_of=april).text
    assert "Bergen" in then
    assert "Oslo" not in then
    assert [each.value for each in memory.memories(ANN, attribute="residence")] == ["Bergen"]

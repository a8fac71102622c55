"""Wrong arguments of the Python API: refused where they are given, with what, where and how to
mend it; nothing of them reaches the log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

from memstream import Memory, Scope
from memstream.projections.embedders import EmbedderUnavailable
from memstream.schemas.errors import InvalidEvent, InvalidScope, MemstreamError, NotFound

ANN = Scope(tenant="acme", user="ann")
Call = Callable[[Any], Any]


def statement(name: str, value: Any, memory: Memory) -> Any:
    return memory.state(ANN, "Tea is on.", **{name: value})


def result(name: str, value: Any, memory: Memory) -> Any:
    return memory.record_tool_result(ANN, tool="look", text="Tea.", **{name: value})


def review(name: str, value: Any, memory: Memory) -> Any:
    return memory.review(ANN, "e", approve=True, reviewer="kim", **{name: value})


def explain(memory: Memory, said: Any) -> Any:
    return memory.explain(ANN, said)


def forget(memory: Memory, said: Any) -> Any:
    return memory.forget(ANN, said)


def correct(memory: Memory, said: Any) -> Any:
    return memory.correct(ANN, said, "Oslo")


def history(memory: Memory, said: Any) -> Any:
    return memory.history(ANN, said or "")


def stated(memory: Memory, name: str) -> Any:
    end: dict[str, Any] = {name: datetime(2024, 1, 1, tzinfo=UTC)}
    begin = datetime(2024, 1, 2, tzinfo=UTC)
    return memory.state(ANN, attribute="employer", value="Z", valid_from=begin, **end)


WRONG: list[tuple[str, type[MemstreamError], str, Call]] = [
    ("role", InvalidEvent, "'u' is unknown", lambda m: m.record_turn(ANN, text="Hi", role="u")),
    ("source", InvalidEvent, "is unknown", lambda m: m.record_turn(ANN, text="Hi.", source="me")),
    ("no scope", InvalidScope, "got NoneType", lambda m: m.record_turn(None, text="Hi.")),
    ("a path", InvalidScope, "got str", lambda m: m.recall("acme/user:ann", "where?")),
    ("scopes", InvalidScope, "got str", lambda m: m.recall(ANN, "where?", scopes=["bob"])),
    ("erase", InvalidScope, "got str", lambda m: m.erase("acme/user:ann")),
    ("empty", InvalidEvent, "give a text", lambda m: m.state(ANN)),
    ("no value", InvalidEvent, "give a text", lambda m: m.state(ANN, attribute="employer")),
    ("ends early", InvalidEvent, "valid_to: 2024-01-01", lambda m: stated(m, "valid_to")),
    ("spoilt", InvalidEvent, "expires_at: 2024-01-01", lambda m: stated(m, "expires_at")),
    ("an entity", InvalidEvent, "got int", lambda m: m.recall(ANN, "who?", entities=[5])),
    ("half", InvalidEvent, "surrogate", lambda m: m.recall(ANN, "who?", entities=["\ud800"])),
    ("budget", InvalidEvent, "below 0", lambda m: m.recall(ANN, "where?", budget_tokens=-1)),
    ("limit", InvalidEvent, "below 0", lambda m: m.recall(ANN, "where?", limit=-3)),
    ("verdict", InvalidEvent, "unknown", lambda m: m.record_feedback(ANN, target="x", verdict="-")),
    ("kinds", InvalidEvent, "'dream' is unknown", lambda m: m.recall(ANN, "?", kinds=["dream"])),
    ("one kind", InvalidEvent, "a list, got str", lambda m: m.recall(ANN, "?", kinds="fact")),
    ("one name", InvalidEvent, "expected a list", lambda m: m.recall(ANN, "?", entities="Ann")),
    ("one scope", InvalidEvent, "expected a list", lambda m: m.recall(ANN, "?", scopes=ANN)),
    ("limit text", InvalidEvent, "got str", lambda m: m.recall(ANN, "?", limit="3")),
    ("status", InvalidEvent, "'new' is unknown", lambda m: m.memories(ANN, status="new")),
    ("memories of", InvalidScope, "got str", lambda m: m.memories("acme/user:ann")),
    ("history of", InvalidScope, "got str", lambda m: m.history("acme/user:ann")),
    ("explain of", InvalidScope, "got str", lambda m: m.explain("acme/user:ann", "x")),
    ("span", InvalidEvent, "1 is no", lambda m: m.record_turn(ANN, text="Hi", served_spans=[1])),
    ("role of no kind", InvalidEvent, "unknown", lambda m: m.record_turn(ANN, text="Hi", role=[])),
    ("source of no kind", InvalidEvent, "unknown", lambda m: m.state(ANN, "Hi", source={})),
    ("blank id", InvalidEvent, "is blank", lambda m: m.record_turn(ANN, text="Hi", event_id=" ")),
    ("no id", InvalidEvent, "0 char", lambda m: m.record_turn(ANN, text="Hi", event_id="")),
    ("blank sql", InvalidEvent, "SELECT", lambda m: m.sql(" ")),
    ("after", InvalidEvent, "expected a Position", lambda m: m.recall(ANN, "?", after=5)),
    ("timeout", InvalidEvent, "expected seconds", lambda m: m.flush("soon")),
    ("events", InvalidEvent, r"events\[0\]: expected an Event", lambda m: m.append(["Hi."])),
    ("sql", InvalidEvent, "no valid Unicode", lambda m: m.sql("SELECT '\ud800'")),
    ("embedder", EmbedderUnavailable, "got int", lambda m: m.rebuild(embedder=5)),
    ("a path of none", InvalidScope, "got int", lambda _: Scope.parse(cast(str, 5))),
    *(
        (f"{name}={value!r}", InvalidEvent, rf"\$\.data\.{name}: ", partial(record, name, value))
        for record, name, values in (
            (statement, "valid_from", ("2025-01-01", "2025-01-01T00:00:00", 5, object())),
            (statement, "expires_at", (True, "soon", "\ud800")),
            (statement, "qualifier", (None, 5, ["on weekdays"])),
            (result, "ok", ("yes", 1, object(), "\ud800")),
            (result, "call", (None, 7)),
            (review, "trust", ("high", 1.5, True, object())),
            (review, "reason", (None, b"because")),
        )
        for value in values
    ),
    *(
        (f"{said!r} {name}", InvalidEvent, f"{name}: {told}", partial(call, said=said))
        for said, told in (("", "is blank"), (" \n\u3000", "is blank"), (None, "expected text"))
        for name, call in {
            "text": lambda m, said: m.record_turn(ANN, text=said),
            "tool": lambda m, said: m.record_tool_call(ANN, tool=said),
            "target": lambda m, said: m.record_feedback(ANN, target=said, verdict="used"),
            "reviewer": lambda m, said: m.review(ANN, "e", approve=True, reviewer=said),
            "event": lambda m, said: m.review(ANN, said, approve=True, reviewer="kim"),
            "conversation": lambda m, said: m.close_session(ANN, said),
            "replacement": lambda m, said: m.correct(ANN, "x", said),
            "query": lambda m, said: m.recall(ANN, said),
        }.items()
    ),
    *(
        (f"{said!r} {call.__name__}", NotFound, "no id", partial(call, said=said))
        for said in ("", " ", None)
        for call in (explain, forget, correct, history)
    ),
]  # fmt: skip


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    path = tmp_path_factory.mktemp("arguments") / "m"
    with Memory.open(path, embedder="none", worker=False) as memory:
        yield memory


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "m", embedder="none", worker=False) as memory:
        yield memory


@pytest.mark.parametrize(
    ("error", "told", "call"), [pytest.param(*each[1:], id=each[0]) for each in WRONG]
)
def test_a_wrong_argument_is_refused_where_it_is_given(
    untouched: Memory, error: type[MemstreamError], told: str, call: Call
) -> None:
    with pytest.raises(error, match=told):
        call(untouched)
    assert not any(untouched._host.files.log.end_offsets().values())


def test_what_was_refused_has_left_nothing(untouched: Memory) -> None:
    untouched.flush()
    diagnosis = untouched.doctor()
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

"""Explaining: whole ids come before beginnings of ids, and a later review is part of the chain."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from memstream import Memory, NotFound, Scope
from memstream.schemas.events import WriteDecided
from memstream.service.cli import app

ANN = Scope(tenant="acme", user="ann")
TEAM = Scope(tenant="acme", channel="team")


def outcomes(memory: Memory, scope: Scope, name: str) -> list[str]:
    decided = [each.data for each in memory.explain(scope, name).decisions]
    return [each.outcome for each in decided if isinstance(each, WriteDecided)]


def test_an_event_id_is_not_taken_for_the_beginning_of_a_memory_id(tmp_path: Path) -> None:
    with Memory.open(tmp_path, worker=False) as memory:
        memory.record_turn(ANN, text="I live in Porto.", event_id="first")
        memory.flush()
        (porto,) = memory.memories(ANN, attribute="home") or memory.memories(ANN)
        for length in (1, 2, 8):
            name = porto.id[:length]
            assert memory.explain(ANN, name).events[0].id == "first"
            memory.record_turn(ANN, text=f"I like chess {length}.", event_id=name)
            memory.flush()
            assert [each.id for each in memory.explain(ANN, name).events] == [name]
        assert memory.explain(ANN, porto.id).events[0].id == "first"
        assert memory.explain(ANN, porto.id[:9]).events[0].id == "first"
        with pytest.raises(NotFound, match="neither a memory nor an event"):
            memory.explain(ANN, "no-such")


@pytest.mark.parametrize("approve", [True, False])
def test_the_decision_of_a_later_review_is_shown(tmp_path: Path, approve: bool) -> None:
    after = "stored" if approve else "rejected"
    with Memory.open(tmp_path, worker=False) as memory:
        told = "The gate code changes on Fridays."
        memory.record_turn(TEAM, text=told, event_id="told")
        memory.record_turn(TEAM, text="The lift code changes on Mondays.", event_id="other")
        memory.flush()
        assert outcomes(memory, TEAM, "told") == ["held"]
        memory.review(TEAM, "told", approve=approve, reviewer="kim", event_id="verdict")
        memory.flush()
        assert outcomes(memory, TEAM, "told") == ["held", after]
        assert outcomes(memory, TEAM, "other") == ["held"]
        for found in memory.memories(TEAM):
            assert outcomes(memory, TEAM, found.id) == ["held", after]
        # One that came first stands in the event's own step, and is shown once.
        memory.review(TEAM, "early", approve=approve, reviewer="kim")
        memory.record_turn(TEAM, text="The door code changes on Sundays.", event_id="early")
        memory.flush()
        assert outcomes(memory, TEAM, "early") == ["held", after]


@pytest.mark.parametrize("length", [18, 30, 36])
def test_an_event_is_named_by_its_beginning(length: int, tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m", embedder="none") as memory:
        said = memory.record_turn(ANN, text="I live in Porto.")
        memory.record_turn(ANN, text="I like chess.")
        memory.flush()
        shown = memory.recall(ANN, "Where does she live?").text
        assert said.event[:18] in shown
        assert memory.explain(ANN, said.event[:length]).events[0].id == said.event
        assert memory.erase(ANN, event=said.event[:length]).complete
        with pytest.raises(NotFound, match="neither a memory nor an event"):
            memory.explain(ANN, "nothing-like-it")


ENDING = {
    "negation": ("I work at Fjordline.", "I no longer work at Fjordline."),
    "move": ("I live in Bergen.", "I live in Trieste now."),
    "month": ("I live in Bergen.", "I moved to Trieste last month."),
    "unnamed": ("I work at Fjordline.", "I quit my job."),
    "opposite": ("I like tea.", "I don't like tea anymore."),
    "中文": ("我住在上海。", "我搬到杭州了。"),
}


@pytest.mark.parametrize("together", [True, False], ids=["together", "one by one"])
@pytest.mark.parametrize("backwards", [False, True], ids=["in order", "backwards"])
def test_an_event_shows_what_it_ended(tmp_path: Path, together: bool, backwards: bool) -> None:
    with Memory.open(tmp_path, worker=False) as memory:
        for kind, pair in ENDING.items():
            scope = Scope(tenant="acme", user=kind)
            told = [("before", pair[0], datetime(2025, 1, 10, 9, tzinfo=UTC)),
                    ("after", pair[1], datetime(2025, 6, 20, 9, tzinfo=UTC))]  # fmt: skip
            for name, text, at in reversed(told) if backwards else told:
                memory.record_turn(scope, text=text, observed_at=at, event_id=name)
                if not together:
                    memory.flush()
            memory.flush()
            changed = memory.explain(scope, "after").changed
            assert changed, kind
            assert all("before" in each.supports for each in changed), kind
            assert all("after" not in each.supports for each in changed), kind
            assert not memory.explain(scope, changed[0].id).changed


@pytest.mark.parametrize("done", ["forget", "correct", "restore"])
def test_an_event_shows_what_it_withdrew_or_restored(tmp_path: Path, done: str) -> None:
    with Memory.open(tmp_path, worker=False) as memory:
        memory.record_turn(ANN, text="I live in Bergen.")
        memory.record_turn(ANN, text="I like tea.")
        memory.flush()
        (home,) = memory.memories(ANN, attribute="residence")
        if done == "correct":
            position = memory.correct(ANN, home.id, "Oslo")
        else:
            position = memory.forget(ANN, home.id)
        memory.flush()
        if done == "restore":
            position = memory.restore(ANN, home.id)
            memory.flush()
        (changed,) = memory.explain(ANN, position.event).changed
        assert changed.id == home.id
        assert changed.status == ("active" if done == "restore" else "retracted")
        arguments = ["explain", position.event, "-t", "acme", "--user", "ann", "-d", str(tmp_path)]
    printed = CliRunner().invoke(app, arguments).stdout
    assert "Bergen" in printed.partition("Changed by it")[2].partition("Served")[0]


def test_an_event_that_asserts_nothing_says_so(tmp_path: Path) -> None:
    with Memory.open(tmp_path, worker=False) as memory:
        memory.record_turn(ANN, text="Hm, ok.", event_id="one")
        memory.record_turn(ANN, text="I live in Bergen.", event_id="two")
        memory.flush()
        assert memory.explain(ANN, "one").changed == ()
        assert memory.explain(ANN, "two").changed == ()
    arguments = ["explain", "one", "-t", "acme", "--user", "ann", "-d", str(tmp_path)]
    printed = CliRunner().invoke(app, arguments).stdout
    assert printed.partition("Remembered")[2].split()[0] == "nothing"


def test_an_event_that_ends_two_slots_names_each_in_its_line(tmp_path: Path) -> None:
    with Memory.open(tmp_path, worker=False) as memory:
        memory.record_turn(ANN, text="I work as a nurse at Northwind.")
        memory.record_turn(ANN, text="I left my job.", event_id="left")
        memory.flush()
    shown = CliRunner().invoke(
        app, ["explain", "left", "-t", "acme", "--user", "ann", "-d", str(tmp_path)]
    )
    lines = shown.stdout.partition("Extracted\n")[2].partition("\n\n")[0].splitlines()
    assert {"employer", "job_title"} <= {line.split()[0] for line in lines}
    assert len(set(lines)) == len(lines)

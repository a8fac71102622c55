"""Explaining an answer: what was considered, by which channel, and why it fell out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memstream import Memory, Scope
from memstream.recall.evidence import Trace
from memstream.recall.settings import Settings

ANN = Scope(tenant="acme", user="ann")
SAID = (
    "I live in Porto.",
    "My sister Ida plays the cello in Porto.",
    "We went to Porto on a small green boat last May with nine friends and a dog.",
    "I am allergic to peanuts.",
)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    with Memory.open(tmp_path, embedder="hash", worker=False) as memory:
        for text in SAID:
            memory.record_turn(ANN, text=text)
        memory.flush()
    return tmp_path


def outcomes(trace: Trace) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for each in trace.considered:
        found.setdefault(each.outcome, set()).add(each.text)
    return found


def explained(directory: Path, query: str, settings: Settings | None = None, **asked: int) -> Trace:
    with Memory.open(directory, worker=False, settings=settings) as memory:
        plain = memory.recall(ANN, query, record=False, **asked)  # type: ignore[arg-type]
        told = memory.recall(ANN, query, record=False, explain=True, **asked)  # type: ignore[arg-type]
    assert plain.trace is None
    assert told.trace is not None
    assert told.items == plain.items  # to be explained changes nothing
    served = {each.memory: each for each in told.trace.considered if each.outcome == "served"}
    assert set(served) == {item.memory.id for item in told.items}
    for item in told.items:
        each = served[item.memory.id]
        assert (each.score, each.detail) == (item.score, f"rank {item.rank}") or each.rank
        assert each.found == item.found
    return told.trace


def test_everything_that_was_found_is_accounted_for(directory: Path) -> None:
    trace = explained(directory, "Who plays the cello in Porto?", Settings(margin=0.3))
    assert trace.fusion["margin"] == 0.3
    assert any(name.endswith("_weight") for name in trace.fusion)
    assert not trace.abstained
    assert any("cello" in text for text in outcomes(trace)["served"])
    assert any({"bm25", "dense"} <= set(each.found) for each in trace.considered)
    ranks = [each.rank for each in trace.considered if each.rank is not None]
    assert ranks == sorted(ranks)


def test_what_is_below_the_floor_is_named(directory: Path) -> None:
    settings = Settings(floor=1e9, margin=2.0)
    trace = explained(directory, "Who plays the cello in Porto?", settings)
    assert set(outcomes(trace)) == {"below floor"}
    assert trace.abstained == "everything that was found is below the floor"


def test_limit_and_budget_are_told_apart(directory: Path) -> None:
    trace = explained(directory, "What about Porto?", limit=1)
    assert outcomes(trace)["beyond limit"]
    trace = explained(directory, "What about Porto?", budget_tokens=90)
    assert outcomes(trace)["over budget"]
    trace = explained(directory, "What about Porto?", budget_tokens=5)
    assert trace.abstained == "nothing that was found fits the budget"


def test_what_says_the_same_names_what_was_kept(directory: Path) -> None:
    with Memory.open(directory, worker=False) as memory:
        memory.state(ANN, "The harbour in Porto is closed.")
        other = Scope(tenant="acme", agent="guide")
        memory.state(other, "The harbour in Porto is closed.")
        memory.flush()
        found = memory.recall(
            ANN, "Is the harbour closed?", scopes=[other], explain=True, record=False
        )
    assert found.trace is not None
    (gone,) = [each for each in found.trace.considered if each.outcome == "collapsed"]
    kept = gone.detail.removeprefix("says the same as ")
    assert kept in {item.memory.id for item in found.items}


def test_a_question_with_nothing_to_find_says_why(directory: Path, tmp_path: Path) -> None:
    with Memory.open(directory, worker=False) as memory:
        stranger = Scope(tenant="acme", user="nobody")
        found = memory.recall(stranger, "Who plays the cello?", explain=True, record=False)
        assert found.trace is not None
        assert found.trace.abstained == "no channel found anything in scope"
    with Memory.open(tmp_path / "by words", worker=False) as memory:
        found = memory.recall(ANN, "of the", explain=True, record=False)
        assert found.trace is not None
        assert found.trace.abstained == "nothing in the question can be searched for"


def test_what_was_served_is_kept_with_every_channels_score(directory: Path) -> None:
    with Memory.open(directory, worker=False) as memory:
        evidence = memory.recall(ANN, "Who plays the cello in Porto?")
        assert evidence
        for verdict in ("used", "cited", "corrected", "harmful"):
            memory.record_feedback(ANN, target=evidence.context, verdict=verdict)
        memory.flush()
        _, rows = memory.sql("SELECT memory, rank, score, found FROM context_items ORDER BY rank")
        assert [(name, rank) for name, rank, _, _ in rows] == [
            (item.memory.id, item.rank) for item in evidence.items
        ]
        for item, (_, _, score, found) in zip(evidence.items, rows, strict=True):
            assert score == pytest.approx(item.score, abs=1e-6)
            assert json.loads(found) == {
                channel: {"rank": each.rank, "score": pytest.approx(each.score, abs=1e-6)}
                for channel, each in item.found.items()
            }
        _, verdicts = memory.sql(
            f"SELECT verdict FROM feedback WHERE target = '{evidence.context}' ORDER BY verdict"
        )
        assert [each for (each,) in verdicts] == ["cited", "corrected", "harmful", "used"]

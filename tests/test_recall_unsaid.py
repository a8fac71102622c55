"""The dates that are written into memories are words for a question that names a date, and for no
other: a number that nobody said answers nothing."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from memstream import Memory, Scope

ANN = Scope(tenant="acme", user="ann")
AT = datetime(2025, 3, 18, 9, tzinfo=UTC)
SAILED, CLIMBED, LOCKER = "sailed to the harbour", "爬山", "locker"


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with Memory.open(tmp_path_factory.mktemp("unsaid") / "memory", worker=False) as opened:
        for text, month in (
            ("Yesterday we sailed to the harbour with my sister.", 3),
            ("昨天我们去爬山了，很累。", 4),
            ("My locker has number 17 and is next to the door.", 5),
        ):
            opened.record_turn(ANN, text=text, observed_at=AT.replace(month=month))
        opened.record_turn(ANN, text="I moved to Lima last week.", observed_at=AT.replace(day=23))
        opened.flush()
        written = [each.text for each in opened.memories(ANN)]
        assert any("[2025-03-17]" in each and SAILED in each for each in written)
        assert any("[2025-04-17]" in each and CLIMBED in each for each in written)
        assert any("(since 2025-03-" in each for each in written)
        yield opened


def found(memory: Memory, query: str) -> set[str]:
    """Which of the memories a question recalls."""
    text = memory.recall(ANN, query, record=False).text
    return {each for each in (SAILED, CLIMBED, LOCKER, "Lima") if each in text}


@pytest.mark.parametrize(
    "query", ["What is 4 times 2025?", "2025加4等于多少？", "Is 3 a prime?", "10"]
)
def test_a_number_that_nobody_said_recalls_nothing(query: str, memory: Memory) -> None:
    assert found(memory, query) == set()


@pytest.mark.parametrize(
    "query", ["What is 17 times 23?", "Who has number 17?", "17", "17乘以23等于多少？"]
)
def test_a_number_that_was_said_is_found_and_no_other(query: str, memory: Memory) -> None:
    assert found(memory, query) == {LOCKER}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("What happened on 17 March 2025?", SAILED),
        ("Where were we on 2025-03-17?", SAILED),
        ("我2025年4月17日做了什么？", CLIMBED),
    ],
)
def test_a_question_that_names_a_date_means_it(query: str, expected: str, memory: Memory) -> None:
    assert expected in found(memory, query)


@pytest.mark.parametrize("query", ["Did 17 people sail to the harbour?", "Which 17 of us sailed?"])
def test_a_memory_is_still_found_by_its_other_words(query: str, memory: Memory) -> None:
    assert SAILED in found(memory, query)


def test_a_scan_of_the_state_knows_it_too(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory._host.stores, "no_vectors", "switched off")
    evidence = memory.recall(ANN, "What is 4 times 2025?", record=False)
    assert evidence.degraded
    assert not evidence

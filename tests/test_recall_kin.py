"""A question that names somebody finds what was told of the speaker's brother, wife or dog."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memstream import Memory, Scope
from memstream.recall.kin import asked_of

SAID_AT = datetime(2025, 3, 12, 9, 30, tzinfo=UTC)
ANN = Scope(tenant="acme", user="ann")


def _answers(folder: Path, told: tuple[str, ...], question: str) -> list[str]:
    """The texts that answer a question; each turn was told a day after the one before."""
    with Memory.open(folder, worker=False) as store:
        for at, text in enumerate(told):
            store.record_turn(ANN, text=text, observed_at=SAID_AT + at * timedelta(days=1))
        store.flush()
        return [item.memory.text for item in store.recall(ANN, question).items]


BROTHER = ("My brother is called Paul.", "My brother works as a nurse.")
WANTED = [
    (BROTHER, "What does Paul do?", "The user's brother works as a nurse."),
    (BROTHER[::-1], "What does Paul do?", "The user's brother works as a nurse."),
    (("My brother Paul is a nurse.",), "What is Paul?", "The user's brother works as a nurse."),
    (("My wife's name is Eva.", "My wife comes from Spain."), "What country is Eva from?",
     "The user's wife comes from Spain."),
    (("I have a dog named Rex.", "My dog loves the beach."), "What does Rex love?",
     "The user's dog likes the beach."),
    (("我弟弟叫小明。", "我弟弟在华为工作。"), "小明在哪里工作？", "用户的弟弟在华为工作。"),
    (("我有一个朋友叫小丽。", "我朋友住在苏州。"), "小丽住在哪里？", "用户的朋友住在苏州。"),
]  # fmt: skip


@pytest.mark.parametrize(("told", "question", "answer"), WANTED)
def test_a_name_finds_what_was_told_of_whom_it_names(
    told: tuple[str, ...], question: str, answer: str, tmp_path: Path
) -> None:
    assert answer in _answers(tmp_path, told, question)


def test_of_two_that_are_named_the_one_asked_for_comes_first(tmp_path: Path) -> None:
    told = (
        "My sister is called Eva. My brother is called Paul.",
        "My sister lives in Rome.",
        "My brother lives in Oslo.",
    )
    found = _answers(tmp_path, told, "Where does Paul live?")
    assert found.index("The user's brother lives in Oslo.") < found.index(
        "The user's sister lives in Rome."
    )


@pytest.mark.parametrize(
    ("told", "question"),
    [
        (("My brother is called Paul.", "My sister works as a nurse."), "What does Paul do?"),
        (("My brother works as a nurse.",), "What does Paul do?"),
        (("My brother is called Paul.", "My brother works as a nurse."), "What does Pauline do?"),
        (("我弟弟叫小明。", "我姐姐是护士。"), "小明喜欢什么？"),
    ],
)
def test_a_name_finds_nothing_of_others(
    told: tuple[str, ...], question: str, tmp_path: Path
) -> None:
    found = _answers(tmp_path, told, question)
    assert not any("nurse" in each or "护士" in each for each in found)


def test_who_is_no_longer_called_so_is_not_meant(tmp_path: Path) -> None:
    with Memory.open(tmp_path, worker=False) as store:
        for at, text in enumerate(("My girlfriend is called Sue.", "Sue and I broke up.")):
            store.record_turn(ANN, text=text, observed_at=SAID_AT + at * timedelta(days=1))
        store.flush()
        (gone,) = [
            each
            for each in store.memories(ANN, everything=True)
            if (each.attribute, each.status) == ("partner", "superseded")
        ]
    assert asked_of("What does Sue do?", [gone]) is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("My older brother is called Paul.", "The user's older brother is called Paul."),
        ("I have an older brother named Paul.", "The user's older brother is called Paul."),
        ("My lovely wife Eva is a baker.", "The user's lovely wife is called Eva."),
        ("My dog is called Rex.", "The user has a dog named Rex."),
        ("My kids are called Anna and Leo.", "The user has a child named Leo."),
        ("我哥哥叫小林。", "用户的哥哥叫小林。"),
    ],
)
def test_a_name_is_told_with_who_has_it(text: str, told: str, tmp_path: Path) -> None:
    with Memory.open(tmp_path, worker=False) as store:
        store.record_turn(ANN, text=text, observed_at=SAID_AT)
        store.flush()
        found = store.memories(ANN)
    assert told in {each.text for each in found}
    (naming,) = [each for each in found if each.text == told]
    name = naming.value
    kin = told.removeprefix("The user's ").partition(" is called")[0]
    if kin != told and "called" in told:
        assert asked_of(f"How old is {name}?", [naming]) == f"How old is {kin} {name}?"
        assert asked_of(f"How old is {kin} {name}?", [naming]) is None
        assert asked_of("How old is she?", [naming]) is None

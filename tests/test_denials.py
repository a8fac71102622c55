"""What is taken back as a joke or as wrong, and other ways to deny and to state in daily words."""

from __future__ import annotations

import pytest
from conversing import memories, standing, turns
from test_amendments import said
from test_amendments import standing as stands_of

TAKEN_BACK = [
    ("I work at Volvo.", "I don't work at Volvo, that was a joke."),
    ("I work at Volvo.", "That was a joke, I don't work at Volvo."),
    ("I work at Volvo.", "I was only joking earlier, I don't work at Volvo."),
    ("I'm allergic to figs.", "I said I'm allergic to figs, but that was a lie."),
    ("我在小米工作。", "我刚刚是开玩笑的，我不在小米工作。"),
    ("我在小米工作。", "我不在小米工作，刚才是开玩笑的。"),
    ("我对花生过敏。", "我之前说对花生过敏是不对的。"),
    ("我住在大连。", "我之前说住在大连是骗你的。"),
    ("我对花生过敏。", "我不是对花生过敏，是对芒果过敏。"),
]


@pytest.mark.parametrize(("claim", "denial"), TAKEN_BACK)
def test_what_was_a_joke_or_wrong_never_held(claim: str, denial: str) -> None:
    value = memories(turns(claim))[0].value
    status = [each.status for each in memories(turns(claim, denial)) if each.value == value]
    assert status == ["retracted"]


ENDED = [
    ("I work at Volvo.", "I don't work at Volvo anymore, that was a joke of a job."),
    ("我在小米工作。", "我不在小米工作了。"),
]


@pytest.mark.parametrize(("claim", "denial"), ENDED)
def test_what_ended_did_hold(claim: str, denial: str) -> None:
    assert memories(turns(claim, denial))[0].status == "superseded"


PUT_RIGHT = [
    ("I get up at 7.", "6, sorry.", {"wake_time=06:00"}),
    ("I get up at 7.", "Sorry, 6.", {"wake_time=06:00"}),
    ("I go to bed at 11.", "10, sorry.", {"sleep_time=22:00"}),
    ("我七点起床。", "六点，抱歉。", {"wake_time=06:00"}),
    ("I get up at 7.", "6 eggs, sorry.", {"wake_time=07:00"}),
    ("I live in Turin.", "6, sorry.", {"residence=Turin"}),
    ("I work at Volvo.", "BMW, sorry.", {"employer=BMW"}),
    ("I work at Volvo.", "Tom, sorry.", {"employer=Volvo"}),
    ("I have two dogs.", "Three, sorry.", {"pet=three dogs"}),
    ("I have two parrots.", "Three, sorry.", {"pet=two parrots"}),
    ("I have two sons.", "Three, sorry.", {"children=three sons"}),
]


@pytest.mark.parametrize(("claim", "right", "stands"), PUT_RIGHT)
def test_a_number_or_a_firm_is_put_right(claim: str, right: str, stands: set[str]) -> None:
    assert stands_of(memories(said(claim, right))) == stands


DAILY: list[tuple[tuple[str, ...], set[str]]] = [
    (("I have three parrots.", "We don't have any parrots left."), set()),
    (("I have two dogs.", "We don't have any milk left."), {"pet=two dogs"}),
    (("I like tea.", "I'm over tea."), set()),
    (("I like tea.", "I'm over the moon."), {"likes=tea"}),
    (("I find ballet boring.",), {"dislikes=ballet"}),
    (("I find it boring.",), set()),
    (("I avoid gluten.",), {"diet=no gluten"}),
    (("I avoid gluten in the evening.",), set()),
    (("I avoid conflict.",), set()),
    (("Walnuts give me hives.",), {"allergy=walnuts"}),
    (("Stress gives me hives.",), set()),
    (("I react badly to penicillin.",), {"allergy=penicillin"}),
    (("I react badly to criticism.",), set()),
    (("我忌辛辣。",), {"diet=不吃辛辣"}),
    (("我忌妒他。",), set()),
    (("我家有两只狗，大毛和小黑。",), {"pet=两只狗", "pet=大毛", "pet=小黑"}),
    (("我家有两只狗，黑的和白的。",), {"pet=两只狗"}),
    (
        ("我有两个女儿，一个叫小莲，一个叫小荷。",),
        {"children=两个女儿", "child=小莲", "child=小荷"},
    ),
    (("I've been in Ghent since March.",), {"residence=Ghent"}),
    (("I've been in Ghent since Monday.",), set()),
    (("I've been in Marketing since 2015.",), set()),
    (("I moved out of Bonn. I'm in Ghent now.",), {"residence=Ghent"}),
    (("I moved out of Bonn. I'm in trouble now.",), set()),
    (("I like tea. I'm in Ghent now.",), {"likes=tea"}),
    (("Make sure to run `tox` before pushing.",), {"test_command=tox"}),
    (("Make sure to run `make lint` before pushing.",), set()),
    (("Unit tests run with `jest`, e2e tests with `cypress run`.",), {"test_command=jest"}),
    (("Testing is done with `rspec`.",), {"test_command=rspec"}),
]


@pytest.mark.parametrize(("texts", "stands"), DAILY)
def test_daily_words(texts: tuple[str, ...], stands: set[str]) -> None:
    assert standing(*texts) == stands

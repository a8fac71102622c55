"""What holds now and then, for a while, or is only compared: no more is stated than was said."""

from __future__ import annotations

import pytest
from conversing import memories, standing, turns


@pytest.mark.parametrize(
    ("texts", "stands"),
    [
        # a denial that holds now and then denies nothing
        (("I don't eat meat on Fridays.",), set()),
        (("I don't eat meat at night.",), set()),
        (("I'm vegan.", "I'm not vegan on weekends."), {"diet=vegan"}),
        (("I work at Lego.", "I don't work at Lego on Fridays."), {"employer=Lego"}),
        (("I drink coffee.", "I don't drink coffee today."), {"drinks=coffee"}),
        (("I work at Lego.", "I'm not working at Lego this week."), {"employer=Lego"}),
        (("我周五不吃肉。",), set()),
        (("我在乐高工作。", "我周末不在乐高工作。"), {"employer=乐高"}),
        (("我喝咖啡。", "我今天不喝咖啡。"), {"drinks=咖啡"}),
        # and one that holds from now on does
        (("I don't eat meat.",), {"diet=no meat"}),
        (("I drink coffee.", "I don't drink coffee anymore."), set()),
        (("我喝咖啡。", "我不喝咖啡了。"), set()),
        (("我在乐高工作。", "我今年不在乐高工作了。"), set()),
        # an exception to come ends nothing
        (("I usually get up at 7, but tomorrow I get up at 5.",), {"wake_time=07:00"}),
        (("I live in Ghent.", "Next week I live in Porto."), {"residence=Ghent"}),
        (("我平时七点起床，明天五点起床。",), {"wake_time=07:00"}),
        (("我在华为工作。", "我下周在苹果上班。"), {"employer=华为"}),
    ],
)
def test_an_exception_ends_nothing(texts: tuple[str, ...], stands: set[str]) -> None:
    assert standing(*texts) == stands


@pytest.mark.parametrize(
    ("text", "stands"),
    [
        ("I run every day except Sunday.", {"habit=run/every day except sunday"}),
        (
            "I go to the gym on Mondays and Thursdays.",
            {"habit=go to the gym/on mondays and thursdays"},
        ),
        ("I run every morning and eat well.", {"habit=run/every morning"}),
        ("I eat meat only on Sundays.", {"habit=eat meat/on sundays"}),
    ],
)  # fmt: skip
def test_a_habit_keeps_all_that_is_said_of_when(text: str, stands: set[str]) -> None:
    found = [each for each in memories(turns(text)) if each.attribute == "habit"]
    assert {f"{each.attribute}={each.value}/{each.qualifier}" for each in found} == stands


@pytest.mark.parametrize(
    ("text", "stands"),
    [
        ("I like tea more than coffee.", {"prefers=tea"}),
        ("I love hiking better than swimming.", {"prefers=hiking"}),
        ("我喜欢喝茶胜过喝咖啡。", {"prefers=喝茶"}),
        ("比起咖啡我更喜欢茶。", {"prefers=茶"}),
        ("I'm thinking of naming my son Leo.", set()),
        ("We want to name our dog Rex.", set()),
        ("I'm engaged to Tom.", {"partner=Tom"}),
        ("I'm married to Tom.", {"spouse=Tom"}),
        ("I have a brother named Tom.", {"sibling=Tom"}),
        ("I want a dog named Rex.", set()),
        ("我有一个哥哥叫李雷。", {"sibling=李雷"}),
        ("我没有哥哥叫李雷。", set()),
        ("I'm 30.", {"age=30"}),
        ("I turned 30 last week.", {"age=30"}),
        ("I'm 5 minutes late.", set()),
        ("I'm 30 percent done.", set()),
        ("我三十岁了。", {"age=30"}),
        ("我女儿今年五岁。", {"age=5"}),
        ("I work at the museum on Saturdays.", {"employer=museum"}),
        ("I work at a cafe every morning.", {"employer=cafe"}),
        ("I work at a shop on Main Street.", {"employer=shop"}),
        ("我同事小李住在浦东。", {"colleague=小李", "residence=浦东"}),
    ],
)
def test_people_are_told_as_they_are(text: str, stands: set[str]) -> None:
    assert standing(text) == stands

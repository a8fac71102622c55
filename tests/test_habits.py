"""Habits: what is done again and again, and on which days, however these are listed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from conversing import memories, turns


def _standing(text: str, attribute: str) -> set[str]:
    return {
        f"{each.value} @{each.qualifier}" if each.qualifier else each.value
        for each in memories(turns(text))
        if each.attribute == attribute and each.status == "active"
    }


@pytest.mark.parametrize(
    ("text", "habits"),
    [
        ("I row every Monday, Wednesday and Friday.", set()),  # no verb known for habits
        (
            "I swim every Monday, Wednesday and Friday.",
            {"swim @every monday, wednesday and friday"},
        ),
        ("I swim every Monday and Friday", {"swim @every monday and friday"}),
        (
            "I swim on Mondays, Wednesdays, and Fridays.",
            {"swim @on mondays, wednesdays, and fridays"},
        ),
        (
            "I jog every Monday and Friday before work.",
            {"jog @every monday and friday before work"},
        ),
        ("I jog every Monday and Friday morning.", {"jog @every monday and friday morning"}),
        ("I walk the dog every morning and night.", {"walk the dog @every morning and night"}),
        ("I do pilates every other Thursday.", {"do pilates @every other thursday"}),
        ("I do pilates on Thursday mornings.", {"do pilates @on thursday mornings"}),
        ("Every Monday and Friday I swim.", {"swim @every monday and friday"}),
        ("On Mondays I swim.", {"swim @on mondays"}),
        ("I jog every Monday to Friday.", {"jog @every monday to friday"}),
        ("I see my tutor every Tuesday.", {"see my tutor @every tuesday"}),
        ("我每周一到周五跑步。", {"跑步 @每周一到周五"}),
        ("我每周三和周日去教堂。", {"去教堂 @每周三和周日"}),
        ("I usually swim on Sunday.", {"swim @on sundays"}),
        ("I swim every Monday, and on Friday I met Bo.", {"swim @every monday"}),
        (
            "I swim every day except Monday and Friday.",
            {"swim @every day except monday and friday"},
        ),
        ("我每周二、周四晚上打球。", {"打球 @每周二、周四晚上"}),
        ("我每周一三五跑步。", {"跑步 @每周一三五"}),
        ("我每周一喝三杯茶。", {"喝三杯茶 @每周一"}),
        ("我每个周六上午打羽毛球。", {"打羽毛球 @每个周六上午"}),
        ("我周日一般去西山爬山。", {"去西山爬山 @每周日"}),
        ("周六我通常去游泳。", {"游泳 @每周六"}),
        ("我周日都去游泳。", {"游泳 @每周日"}),
        # what is no habit
        ("I swam every Monday and Friday.", set()),
        ("I don't swim every Monday and Friday.", set()),
        ("I used to swim every Monday and Friday.", set()),
        ("I swim on Saturday.", set()),
        ("I see why you swim every day.", set()),
        ("I met my tutor every Tuesday.", set()),
        ("我每周一到公司开会。", set()),
        ("Every Monday I swam with Bo.", set()),
        ("我周日去游泳。", set()),
        ("我周日一般没空。", set()),
        ("我以前每周二、周四打球。", set()),
        ("我每周一三点开会。", set()),
    ],
)
def test_a_habit_keeps_all_the_days_it_is_told_with(text: str, habits: set[str]) -> None:
    assert _standing(text, "habit") == habits


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("I speak Danish and Polish fluently.", {"Danish", "Polish"}),
        ("I speak Danish, Polish and Greek very well.", {"Danish", "Polish", "Greek"}),
        ("I speak Danish fluently and Polish a little.", {"Danish", "Polish"}),
        ("I speak Danish and hope to visit.", {"Danish"}),
        ("I speak Danish and a bit of Polish.", {"Danish", "Polish"}),
        ("I don't speak Danish or Polish well.", set()),
        ("I can't speak Danish fluently.", set()),
    ],
)
def test_how_well_ends_no_list(text: str, spoken: set[str]) -> None:
    assert _standing(text, "languages_spoken") == spoken


@pytest.mark.parametrize(
    ("text", "attribute", "values"),
    [
        ("I'm learning Danish and Polish online.", "learning", {"Danish", "Polish"}),
        ("I'm allergic to nuts and shrimp severely.", "allergy", {"nuts", "shrimp"}),
        ("I like tea and coffee equally.", "likes", {"tea", "coffee"}),
        ("我们每周二和周四部署。", "deploy_day", {"周二", "周四"}),
        ("我们每周二部署。", "deploy_day", {"周二"}),
    ],
)
def test_a_list_keeps_its_last_value(text: str, attribute: str, values: set[str]) -> None:
    assert _standing(text, attribute) == values

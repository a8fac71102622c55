"""What is taken up again, holds for a while, or is given for something else: diets, stays, cars."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import permutations

import pytest
from conversing import BEGUN, memories, standing, turns

from memstream.processors.dates import find_dates

RESUMED = [
    ("I'm vegan.", "I eat meat again.", {"eats=meat"}),
    ("I'm a vegetarian.", "I've started eating meat again.", {"eats=meat"}),
    ("I'm vegetarian.", "I went back to eating meat.", {"eats=meat"}),
    ("I'm vegetarian.", "I eat chicken now.", {"eats=chicken"}),
    ("I'm vegan.", "I eat cheese again.", {"eats=cheese"}),
    ("I'm vegetarian.", "I eat fish again.", {"eats=fish"}),
    ("I don't eat meat.", "I eat beef again.", {"eats=beef"}),
    ("I'm vegan.", "I gave up being vegan.", set[str]()),
    ("I'm teetotal.", "I drink again.", {"drinks=alcohol"}),
    ("I quit smoking.", "I started smoking again.", {"habit=smoke"}),
    ("我吃素。", "我又开始吃肉了。", {"eats=肉"}),
    ("我是素食者。", "我又吃肉了。", {"eats=肉"}),
    ("我不吃猪肉。", "我又吃猪肉了。", {"eats=猪肉"}),
    ("我是素食主义者。", "我重新吃鱼了。", {"eats=鱼"}),
    ("我戒酒了。", "我又开始喝酒了。", {"drinks=酒"}),
    ("我戒烟了。", "我又抽烟了。", {"habit=抽烟"}),
    # what goes with it, is somebody else's, or comes again now and then
    ("I'm vegetarian.", "I eat cheese again.", {"diet=vegetarian", "eats=cheese"}),
    ("I'm vegetarian.", "I eat fish.", {"diet=vegetarian", "eats=fish"}),
    ("I'm vegan.", "My brother eats meat again.", {"diet=vegan", "eats=meat"}),
    ("I'm vegan.", "I don't eat meat again.", {"diet=vegan", "diet=no meat"}),
    ("I'm vegan.", "I used to eat meat.", {"diet=vegan"}),
    ("I'm keto.", "I eat meat again.", {"diet=keto", "eats=meat"}),
    ("I'm vegan.", "I drink coffee again.", {"diet=vegan", "drinks=coffee"}),
    ("我吃素。", "我又开始吃豆制品了。", {"diet=吃素"}),
    ("我吃素。", "我弟弟又吃肉了。", {"diet=吃素", "eats=肉"}),
]


@pytest.mark.parametrize(("told", "resumed", "stands"), RESUMED)
def test_what_is_taken_up_again_ends_what_forbade_it(
    told: str, resumed: str, stands: set[str]
) -> None:
    for order in permutations(turns(told, resumed)):
        found = [each for each in memories(list(order)) if each.attribute]
        left = {f"{e.attribute}={e.value}" for e in found if e.status == "active"}
        assert left - {"eats=豆制品"} == stands


@pytest.mark.parametrize(
    ("home", "stay", "value", "ends"),
    [
        ("I live in Paris.", "I'm living in London until Friday.", "London", (2025, 3, 28)),
        ("I live in Paris.", "I live in London until April 30.", "London", (2025, 4, 30)),
        ("I live in Paris.", "I'm living in London until June.", "London", (2025, 6, 1)),
        ("I live in Paris.", "I'm living in London this week.", "London", (2025, 3, 24)),
        ("I work at Lego.", "I'm working at Volvo until Friday.", "Volvo", (2025, 3, 28)),
        ("我住在北京。", "我这周住在上海。", "上海", (2025, 3, 24)),
        ("我住在北京。", "我这个月住在上海。", "上海", (2025, 4, 1)),
    ],
)
def test_what_holds_for_a_while_leaves_what_held_before(
    home: str, stay: str, value: str, ends: tuple[int, int, int]
) -> None:
    for order in permutations(turns(home, stay)):
        for_good, for_now = sorted(memories(list(order)), key=lambda each: each.valid_from)
        assert (for_good.status, for_good.valid_to) == ("active", None)
        assert (for_now.value, for_now.status) == (value, "active")
        assert for_now.valid_to == datetime(*ends, tzinfo=UTC)


def test_a_stay_for_some_weeks_ends_after_them() -> None:
    found = memories(turns("I live in Paris.", "I'm living in London for two weeks."))
    homes = {each.value: str(each.valid_to)[:10] for each in found if each.attribute}
    assert homes == {"Paris": "None", "London": "2025-04-05"}


@pytest.mark.parametrize(
    "text", ["I live in London.", "I moved to London.", "I live in London until 2030."]
)
def test_a_home_for_long_ends_the_one_before(text: str) -> None:
    assert standing("I live in Paris.", text) == {"residence=London"}


@pytest.mark.parametrize(
    ("texts", "stands"),
    [
        (("I live in Paris.", "I'm living in London for now."), {"Paris", "London"}),
        (("我住在北京。", "我暂时住在上海。"), {"北京", "上海"}),
        (("I live in Paris.", "I'm living in London for now.", "I moved to Rome."), {"Rome"}),
        (
            ("I live in Paris.", "I'm living in London for now.", "I'm living in Rome for now."),
            {"Paris", "Rome"},
        ),
    ],
)
def test_a_home_for_now_leaves_the_one_before_and_gives_way_to_the_next(
    texts: tuple[str, ...], stands: set[str]
) -> None:
    for order in permutations(turns(*texts)):
        found = [each for each in memories(list(order)) if each.attribute == "residence"]
        assert {each.value for each in found if each.status == "active"} == stands


def test_who_moves_during_a_stay_has_left_both_homes() -> None:
    texts = ("I live in Paris.", "I'm living in London until June.", "I moved to Rome.")
    for order in permutations(turns(*texts)):
        found = [each for each in memories(list(order)) if each.status == "active"]
        assert [each.value for each in found] == ["Rome"]


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("I live in Rome until June.", 2025), ("We're staying here until May.", 2025),
        ("I lived in Rome until June.", 2024), ("I used to live there until May.", 2024),
        ("I drank coffee until May.", 2024), ("I worked at Lego until December.", 2024),
    ],
)  # fmt: skip
def test_until_a_month_looks_ahead_in_the_present_only(text: str, end: int) -> None:
    (date,) = find_dates(text, BEGUN, "en")
    assert date.end is not None
    assert date.end.year == end


@pytest.mark.parametrize(
    ("told", "text", "stands"),
    [
        ("I drive a Mazda.", "I traded my Mazda for a Volvo.", {"vehicle=Volvo"}),
        ("I drive a Mazda.", "I traded in my Mazda for a Volvo.", {"vehicle=Volvo"}),
        ("I drive a Mazda.", "We replaced our old Mazda with a new Volvo.", {"vehicle=Volvo"}),
        ("I drive a Mazda.", "I traded my car in for a Volvo.", {"vehicle=Volvo"}),
        ("I drive a Mazda.", "I sold my Mazda and bought a Volvo.", {"vehicle=Volvo"}),
        ("I drive a Mazda.", "I bought a Volvo and sold my car.", {"vehicle=Volvo"}),
        ("我开一辆马自达。", "我把马自达换成了沃尔沃。", {"vehicle=沃尔沃"}),
        ("我开一辆马自达。", "我用马自达换了一辆沃尔沃。", {"vehicle=沃尔沃"}),
        ("我开一辆马自达。", "我把车换成了沃尔沃。", {"vehicle=沃尔沃"}),
        ("我开一辆马自达。", "我把马自达卖了。", set[str]()),
        # another car, or none at all
        ("I drive a Tesla.", "I traded my Mazda for a Volvo.", {"vehicle=Tesla", "vehicle=Volvo"}),
        ("I drive a Mazda.", "I swapped seats with my brother.", {"vehicle=Mazda"}),
        ("I drive a Mazda.", "My dad traded his Mazda for a Volvo.", {"vehicle=Mazda"}),
        ("I drink coffee.", "I swapped coffee for tea.", {"switched_to=tea"}),
        ("我喝咖啡。", "我把咖啡换成了茶。", {"switched_to=茶"}),
        # what only begins like an animal
        ("我养了一匹马。", "我把马自达卖了。", {"pet=马"}),
        ("我养了一匹马。", "我把马桶卖了。", {"pet=马"}),
        ("我养了一只狗。", "我把狗屋卖了。", {"pet=狗"}),
        ("我养了一只猫。", "我把猫粮送人了。", {"pet=猫"}),
        ("我养了一匹马。", "我把马卖了。", set[str]()),
        ("我有一只叫小白的狗。", "我把狗小白送人了。", set[str]()),
        # no place that has a name
        ("我住在北京。", "我搬回老家了。", {"residence=北京"}),
        ("我住在北京。", "我搬回老家住了。", {"residence=北京"}),
        ("我住在北京。", "我搬回老家成都了。", {"residence=成都"}),
        ("我住在北京。", "我住在老家成都。", {"residence=成都"}),
    ],
)
def test_what_is_given_for_another_ends_by_its_name(told: str, text: str, stands: set[str]) -> None:
    for order in permutations(turns(told, text)):
        found = [e for e in memories(list(order)) if e.attribute and e.subject == "user"]
        assert {f"{e.attribute}={e.value}" for e in found if e.status == "active"} == stands

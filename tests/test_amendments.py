"""A turn that only puts the one before right: "Sorry, I meant Lyon"."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from itertools import permutations
from pathlib import Path

import msgspec
import pytest
from conversing import BEGUN, memories, turns
from hypothesis import given
from hypothesis import strategies as st

from memstream.schemas.events import Event, Source, TurnRecorded
from memstream.schemas.memories import Memory
from memstream.schemas.scope import Scope
from memstream.service.memory import Memory as Store

MINUTE = timedelta(minutes=1)


def said(*texts: str, gap: timedelta = MINUTE) -> list[Event]:
    """Turns of one conversation, a minute apart."""
    return [
        msgspec.structs.replace(each, time=BEGUN + at * gap)
        for at, each in enumerate(turns(*texts))
    ]


def standing(found: Sequence[Memory]) -> set[str]:
    return {f"{e.attribute}={e.value}" for e in found if e.attribute and e.status == "active"}


AMENDED = [
    ("I live in Paris.", "Sorry, I meant Lyon.", "residence=Paris", "residence=Lyon"),
    ("I live in Paris now.", "I meant Lyon, not Paris.", "residence=Paris", "residence=Lyon"),
    ("I moved to Paris in February.", "No wait, Lyon.", "residence=Paris", "residence=Lyon"),
    ("I work at Lego.", "Correction: Volvo.", "employer=Lego", "employer=Volvo"),
    ("I'm a doctor.", "I mean a nurse.", "job_title=doctor", "job_title=nurse"),
    ("My name is Tom.", "Oops, I meant Tim.", "name=Tom", "name=Tim"),
    ("My dog is called Rex.", "Oh sorry, I meant Max.", "pet=Rex", "pet=Max"),
    ("I'm allergic to nuts.", "Scratch that, shellfish.", "allergy=nuts", "allergy=shellfish"),
    ("I like tea.", "I mean coffee.", "likes=tea", "likes=coffee"),
    ("I live in Rome.", "It's Oslo, not Rome.", "residence=Rome", "residence=Oslo"),
    ("I live in Rome.", "Typo: Oslo", "residence=Rome", "residence=Oslo"),
    (
        "I'm allergic to figs.",
        "I said I was allergic to figs, but I meant kiwis.",
        "allergy=figs",
        "allergy=kiwis",
    ),
    ("I live in Rome.", "Oslo, sorry.", "residence=Rome", "residence=Oslo"),
    ("I live in Rome.", "Sorry, Oslo.", "residence=Rome", "residence=Oslo"),
    ("I live in Rome.", "*Oslo", "residence=Rome", "residence=Oslo"),
    ("我住在昆明。", "应该是大理。", "residence=昆明", "residence=大理"),
    ("我住在昆明。", "大理，抱歉。", "residence=昆明", "residence=大理"),
    ("我在腾讯上班。", "应该是美团。", "employer=腾讯", "employer=美团"),
    ("I live in Rome.", "No, not Rome, Oslo.", "residence=Rome", "residence=Oslo"),
    ("I live in Rome.", "Not in Rome but in Oslo.", "residence=Rome", "residence=Oslo"),
    (
        "My favorite color is blue.",
        "I meant green.",
        "favourite_color=blue",
        "favourite_color=green",
    ),
    ("My shoe size is 41.", "Sorry, I meant 42.", "shoe_size=41", "shoe_size=42"),
    ("我住在罗马。", "不是罗马，是柏林。", "residence=罗马", "residence=柏林"),
    ("我住在罗马。", "是柏林，不是罗马。", "residence=罗马", "residence=柏林"),
    ("我最喜欢的颜色是蓝色。", "说错了，是绿色。", "favourite_color=蓝色", "favourite_color=绿色"),
    ("我住在北京。", "说错了，是上海。", "residence=北京", "residence=上海"),
    ("我住在北京。", "不对，是上海，不是北京。", "residence=北京", "residence=上海"),
    ("我在华为工作。", "更正一下，是腾讯。", "employer=华为", "employer=腾讯"),
    ("我对花生过敏。", "我说错了，是杏仁。", "allergy=花生", "allergy=杏仁"),
    ("我女儿叫小雨。", "口误，是小雪。", "child=小雨", "child=小雪"),
    ("我喜欢红茶。", "我是说绿茶。", "likes=红茶", "likes=绿茶"),
    # the verb or the preposition said again is no part of the value
    ("我住在罗马。", "我说错了，住在柏林。", "residence=罗马", "residence=柏林"),
    ("我来自陕西。", "更正一下，来自山西。", "hometown=陕西", "hometown=山西"),
    ("我在华为工作。", "说错了，在腾讯工作。", "employer=华为", "employer=腾讯"),
    ("我对牛奶过敏。", "口误，对鸡蛋过敏。", "allergy=牛奶", "allergy=鸡蛋"),
    ("我叫陈静。", "打错了，叫陈婧。", "name=陈静", "name=陈婧"),
    ("我儿子叫小林。", "不对，叫小凌。", "child=小林", "child=小凌"),
    ("我养了一只狗，叫阿黄。", "记错了，名字叫阿旺。", "pet=阿黄", "pet=阿旺"),
    ("I'm allergic to nuts.", "Sorry, allergic to eggs.", "allergy=nuts", "allergy=eggs"),
    ("I work at Lego.", "I mean at Volvo.", "employer=Lego", "employer=Volvo"),
    ("I live in Rome.", "Wait, live in Oslo.", "residence=Rome", "residence=Oslo"),
    # said with more words
    ("I moved to Rome for a new job.", "I meant Oslo.", "residence=Rome", "residence=Oslo"),
    ("I live in Rome because of work.", "I meant Oslo.", "residence=Rome", "residence=Oslo"),
    ("我住在罗马。", "口误，不是罗马，是柏林。", "residence=罗马", "residence=柏林"),
    ("我在华为工作。", "抱歉，我说错了，不是华为，是腾讯。", "employer=华为", "employer=腾讯"),
    ("我住在罗马。", "不好意思，我说的是柏林。", "residence=罗马", "residence=柏林"),
    # numbers
    ("I'm 41 years old.", "Sorry, 42.", "age=41", "age=42"),
    ("I'm 41.", "No wait, 42.", "age=41", "age=42"),
    ("I have two sons.", "Sorry, three.", "children=two sons", "children=three sons"),
    ("I have two kids.", "I meant three kids.", "children=two kids", "children=three kids"),
    ("我今年41岁。", "错了，42。", "age=41", "age=42"),
    ("我今年41岁。", "说错了，是42岁。", "age=41", "age=42"),
    ("我有两个孩子。", "说错了，三个。", "children=两个孩子", "children=三个孩子"),
]


@pytest.mark.parametrize(("claim", "amendment", "wrong", "right"), AMENDED)
def test_the_next_turn_puts_the_last_value_right_in_any_order(
    claim: str, amendment: str, wrong: str, right: str
) -> None:
    told = said(claim, amendment)
    for order in permutations(told):
        found = memories(list(order))
        assert standing(found) == {right}
        (withdrawn,) = [each for each in found if each.status == "retracted"]
        assert f"{withdrawn.attribute}={withdrawn.value}" == wrong
        (now,) = [each for each in found if each.attribute and each.status == "active"]
        assert (now.supports, now.valid_from) == (("e1",), withdrawn.valid_from)
        assert right.split("=")[1] in now.text
        assert any(each.quote == amendment for each in found), "it is kept as said, too"


@pytest.mark.parametrize(
    ("texts", "stands"),
    [
        # a turn between, or another last value
        (("I live in Paris.", "How is the weather?", "Sorry, I meant Lyon."), "residence=Paris"),
        (("I live in Paris.", "Fly me to Nice.", "Sorry, I meant Lyon."), "residence=Paris"),
        (("I live in Paris. The flight goes to Nice.", "I meant Lyon."), "residence=Paris"),
        (("I work at Lego in London.", "Sorry, I meant Paris."), "employer=Lego"),
        (("I live in Paris.", "I meant Lyon, not Ghent."), "residence=Paris"),
        (("我住在北京。", "天气怎么样？", "说错了，是上海。"), "residence=北京"),
        # no value, or one of another kind
        (("I live in Paris.", "Sorry, I meant to ask about hotels."), "residence=Paris"),
        (("I live in Paris.", "I meant well."), "residence=Paris"),
        (("I live in Paris.", "I mean it."), "residence=Paris"),
        (("I live in Paris.", "Sorry, I meant that as a joke."), "residence=Paris"),
        (("I live in Paris.", "I meant in a good way, you know?"), "residence=Paris"),
        (("I live in Paris.", "No."), "residence=Paris"),
        (("I live in Paris.", "It's Lyon, not Ghent."), "residence=Paris"),
        (("I live in Paris.", "Not Ghent, Lyon."), "residence=Paris"),
        (("I live in Paris.", "It's fun, not work."), "residence=Paris"),
        (("I live in Paris.", "Not bad, thanks."), "residence=Paris"),
        (("我住在北京。", "不是广州，是上海。"), "residence=北京"),
        (("我住在北京。", "不是我，是我哥哥。"), "residence=北京"),
        (("My name is Tom.", "Sorry, I meant London."), "name=Tom"),
        (("我住在北京。", "说错了。"), "residence=北京"),
        (("我住在北京。", "我是说我喜欢这里。"), "residence=北京"),
        (("我住在北京。", "我是说真的。"), "residence=北京"),
        (("I have two sons.", "I meant three daughters."), "children=two sons"),
        (("My mother lives in Rome.", "I meant March 14th."), "residence=Rome"),
        (("I'm 41 years old.", "Sorry, in 42 minutes."), "age=41"),
        (("I live in Paris.", "Sorry, Tom."), "residence=Paris"),
        (("My dog is called Rex.", "No, love it."), "pet=Rex"),
        (("我今年41岁。", "说错了，42分钟。"), "age=41"),
        (("我住在北京。", "我说的是实话。"), "residence=北京"),
        (("我叫陈静。", "说错了，叫外卖。"), "name=陈静"),
    ],
)
def test_what_puts_nothing_right_changes_nothing(texts: tuple[str, ...], stands: str) -> None:
    for order in permutations(said(*texts)):
        assert standing(memories(list(order))) == {stands}


@pytest.mark.parametrize(
    ("claims", "amendment", "stands"),
    [
        ("I live in Rome and work at Lego.", "I meant Oslo.", ["residence=Oslo", "employer=Lego"]),
        (
            "I live in Rome and work at Lego.",
            "Sorry, I meant Volvo, not Lego.",
            ["residence=Rome", "employer=Volvo"],
        ),
        (
            "I work at Lego as a designer.",
            "Sorry, I meant an engineer.",
            ["employer=Lego", "job_title=engineer"],
        ),
        ("I'm a designer at Lego.", "Oops, Volvo.", ["job_title=designer", "employer=Lego"]),
        ("I work at Lego and live in Rome.", "I meant Acme.", ["employer=Lego", "residence=Rome"]),
        (
            "I work at Lego and live in Rome.",
            "I meant Volvo.",
            ["employer=Volvo", "residence=Rome"],
        ),
        ("I have a cat named Mimi.", "Sorry, I meant a dog.", ["pet=Mimi"]),
        ("我在华为做产品经理。", "不对，是腾讯。", ["employer=腾讯", "job_title=产品经理"]),
        ("我在华为上班，做设计师。", "说错了，是腾讯。", ["employer=腾讯", "job_title=设计师"]),
        ("我在华为当工程师。", "哦不对，是设计师。", ["employer=华为", "job_title=设计师"]),
        ("我住在罗马，在华为上班。", "说错了，是柏林。", ["residence=柏林", "employer=华为"]),
        ("我住在罗马，在华为上班。", "说错了，是腾讯。", ["residence=罗马", "employer=华为"]),
        ("我养了一只猫叫咪咪。", "说错了，是狗。", ["pet=咪咪"]),
    ],
)
def test_of_several_claims_it_is_about_the_only_one_its_value_can_be_of(
    claims: str, amendment: str, stands: list[str]
) -> None:
    for order in permutations(said(claims, amendment)):
        assert standing(memories(list(order))) == {*stands}


@pytest.mark.parametrize(
    ("claim", "amendment", "birthday", "told"),
    [
        ("My birthday is March 4th.", "Sorry, I meant March 14th.", "03-14", "March 14th"),
        ("My birthday is on 4 May.", "No wait, 5 May.", "05-05", "5 May"),
        ("我生日是5月3号。", "说错了，5月13号。", "05-13", "5月13号"),
        ("我的生日是5月3日。", "记错了，是6月3日。", "06-03", "6月3日"),
    ],
)
def test_a_date_is_put_right_in_the_words_of_the_one_that_is_meant(
    claim: str, amendment: str, birthday: str, told: str
) -> None:
    for order in permutations(said(claim, amendment)):
        (now,) = [e for e in memories(list(order)) if e.attribute and e.status == "active"]
        assert (now.attribute, now.value) == ("birthday", birthday)
        assert told in now.text


@pytest.mark.parametrize(
    ("claim", "amendment", "subject", "birthday", "told"),
    [
        ("Tom's birthday is May 3.", "Sorry, May 4.", "Tom", "05-04", "Tom's birthday is May 4."),
        (
            "My mother's birthday is March 4th.", "I meant March 14th.",
            "the user's mother", "03-14", "The user's mother's birthday is March 14th.",
        ),
        (
            "我妈妈的生日是5月3日。", "说错了，5月4日。",
            "用户的妈妈", "05-04", "用户的妈妈的生日是5月4日。",
        ),
        ("小王的生日是5月3日。", "记错了，是6月3日。", "小王", "06-03", "小王的生日是6月3日。"),
    ],
)  # fmt: skip
def test_a_birthday_of_somebody_else_is_put_right_for_them(
    claim: str, amendment: str, subject: str, birthday: str, told: str
) -> None:
    for order in permutations(said(claim, amendment)):
        (now,) = [e for e in memories(list(order)) if e.attribute and e.status == "active"]
        assert (now.subject, now.attribute, now.value) == (subject, "birthday", birthday)
        assert now.text == told


@pytest.mark.parametrize(
    ("claim", "amendments", "withdrawn", "stands"),
    [
        ("I live in Rome.", ["I meant Oslo.", "No, I meant Nice."], "Oslo", "residence=Nice"),
        ("I live in Rome.", ["I meant Oslo.", "No wait, Rome."], "Oslo", "residence=Rome"),
        ("I'm 41.", ["Sorry, 42.", "No wait, 43."], "42", "age=43"),
        ("I live in Rome.", ["I meant Oslo.", "I meant Nice.", "I meant Bergen."], "Nice",
         "residence=Bergen"),
        ("我住在北京。", ["说错了，是上海。", "不对，是广州。"], "上海", "residence=广州"),
    ],
)  # fmt: skip
def test_what_put_a_turn_right_is_put_right_itself(
    claim: str, amendments: list[str], withdrawn: str, stands: str
) -> None:
    for order in permutations(said(claim, *amendments)):
        found = memories(list(order))
        assert standing(found) == {stands}
        assert withdrawn in {each.value for each in found if each.status == "retracted"}


def test_a_turn_between_ends_the_chain_of_those_that_put_right() -> None:
    texts = ("I live in Rome.", "I meant Oslo.", "How is the weather?", "No, I meant Nice.")
    for order in permutations(said(*texts)):
        assert standing(memories(list(order))) == {"residence=Oslo"}


@pytest.mark.parametrize(
    ("texts", "stands", "withdrawn"),
    [
        (("I live in Rome.", "Forget what I said, I live in Oslo."), "residence=Oslo", "Rome"),
        (("I live in Rome.", "Forget what I just said. I live in Oslo."), "residence=Oslo", "Rome"),
        (("I live in Rome.", "Ignore that, it's Oslo."), "residence=Oslo", "Rome"),
        (("I live in Rome.", "Oh, disregard that, I live in Oslo."), "residence=Oslo", "Rome"),
        (("我住在北京。", "忘了我刚才说的，我住在上海。"), "residence=上海", "北京"),
        (("我住在北京。", "当我没说，是上海。"), "residence=上海", "北京"),
        (("我住在北京。", "刚才说的不算，我住在上海。"), "residence=上海", "北京"),
        (("I live in Rome.", "I said Rome but I meant Oslo."), "residence=Oslo", "Rome"),
        (("我住在北京。", "我刚才说成北京了，应该是上海。"), "residence=上海", "北京"),
        (("I live in Rome.", "I said Paris but I meant Oslo."), "residence=Rome", None),
        (("I live in Rome.", "I said no but I meant yes."), "residence=Rome", None),
        (("I live in Rome.", "Forget it, I'm tired."), "residence=Rome", None),
        (("I live in Rome.", "Never forget what I said."), "residence=Rome", None),
        (("I live in Rome.", "Forget what they said, I live in Oslo."), "residence=Rome", None),
        (("I live in Rome.", "Ignore that, Oslo is nicer."), "residence=Rome", None),
        (("我住在北京。", "忘了他说的，我住在上海。"), "residence=北京", None),
        (("我住在北京。", "算了，我累了。"), "residence=北京", None),
    ],
)
def test_who_takes_back_what_was_said_says_what_is_right(
    texts: tuple[str, ...], stands: str, withdrawn: str | None
) -> None:
    for order in permutations(said(*texts)):
        found = memories(list(order))
        assert standing(found) == {stands}
        gone = [each.value for each in found if each.status == "retracted"]
        assert gone == ([] if withdrawn is None else [withdrawn])


@pytest.mark.parametrize(
    ("claim", "stands", "others"),
    [
        ("I live in Lyon.", "residence=Lyon",
         ("JSON", "YAML", "Python", "the API", "coffee", "French", "Excel", "PostgreSQL", "blue")),
        ("I work at Lego.", "employer=Lego", ("JSON", "tea", "Paris", "German", "green")),
        ("My name is Tom.", "name=Tom", ("JSON", "Paris", "pizza CSV", "beer")),
        ("My wife is called Anna.", "spouse=Anna", ("XML", "GitHub", "wine")),
        ("I'm allergic to nuts.", "allergy=nuts", ("JSON", "Paris", "Spanish", "a nurse")),
        ("My favorite color is blue.", "favourite_color=blue", ("JSON", "Paris", "coffee")),
        ("My favorite food is rice.", "favourite_food=rice", ("CSV", "Paris", "red")),
        ("我住在北京。", "residence=北京", ("JSON", "咖啡", "英语", "表格", "红色", "微信")),
        ("我在华为工作。", "employer=华为", ("JSON", "咖啡", "文件")),
        ("我叫陈静。", "name=陈静", ("CSV", "咖啡")),
        ("我对花生过敏。", "allergy=花生", ("北京", "英语", "JSON")),
    ],
)  # fmt: skip
def test_a_value_of_another_sort_puts_nothing_right(
    claim: str, stands: str, others: tuple[str, ...]
) -> None:
    for each in others:
        amendment = f"I meant {each}." if claim.isascii() else f"说错了，是{each}。"
        for order in permutations(said(claim, amendment)):
            assert standing(memories(list(order))) == {stands}, amendment


@pytest.mark.parametrize(
    ("claim", "right", "stands"),
    [
        ("I live in Lyon.", "Villeurbanne", "residence=Villeurbanne"),
        ("I live in Lyon.", "Orange", "residence=Lyon"),  # a color as well
        ("I work at Lego.", "IBM", "employer=IBM"),
        ("I work at Lego.", "GitHub", "employer=GitHub"),
        ("I work at Lego.", "Volvo", "employer=Volvo"),
        ("I'm allergic to nuts.", "pollen", "allergy=pollen"),
        ("My favorite food is rice.", "fish", "favourite_food=fish"),
        ("My favorite city is Rome.", "Paris", "favourite_city=Paris"),
        ("My favorite book is Emma.", "Persuasion", "favourite_book=Persuasion"),
        ("I like tea.", "Java", "likes=Java"),
        ("我住在北京。", "石家庄", "residence=石家庄"),
    ],
)
def test_a_value_that_the_slot_admits_does(claim: str, right: str, stands: str) -> None:
    amendment = f"I meant {right}." if claim.isascii() else f"说错了，是{right}。"
    assert standing(memories(said(claim, amendment))) == {stands}


def test_it_must_come_soon_from_the_same_speaker_in_the_same_conversation() -> None:
    told = said("I live in Paris.", "Sorry, I meant Lyon.")
    assert standing(memories(told)) == {"residence=Lyon"}
    assert standing(
        memories(said("I live in Paris.", "I meant Lyon.", gap=timedelta(hours=20)))
    ) == {"residence=Lyon"}
    assert standing(
        memories(said("I live in Paris.", "I meant Lyon.", gap=timedelta(hours=25)))
    ) == {"residence=Paris"}
    spoken = TurnRecorded(role="user", text="Sorry, I meant Lyon.")
    for other in (
        msgspec.structs.replace(spoken, conversation="another"),
        msgspec.structs.replace(spoken, actor="bo"),
        msgspec.structs.replace(spoken, role="assistant"),
        msgspec.structs.replace(spoken, observed_known=False),
    ):
        found = memories([told[0], msgspec.structs.replace(told[1], data=other)])
        assert standing(found) == {"residence=Paris"}
    weak = msgspec.structs.replace(told[1], source=Source("user_said", 1))
    assert standing(memories([told[0], weak])) == {"residence=Paris"}
    answer = msgspec.structs.replace(
        said("…", "…")[1],
        id="a1", time=BEGUN + MINUTE / 2, source=Source("model_derived", 1),
        data=TurnRecorded(role="assistant", text="Paris is lovely."),
    )  # fmt: skip
    assert standing(memories([told[0], answer, told[1]])) == {"residence=Lyon"}


def test_a_turn_that_arrives_late_takes_the_correction_to_itself() -> None:
    """First the amendment seems to follow Paris; then the turn in between arrives."""
    paris, ghent, lyon = said("I live in Paris.", "My mother lives in Ghent.", "I meant Lyon.")
    expected = {"residence=Paris", "residence=Lyon"}
    for order in permutations((paris, ghent, lyon)):
        found = memories(list(order))
        assert standing(found) == expected
        assert {each.value: each.subject for each in found if each.status == "active"}[
            "Lyon"
        ] == "the user's mother"
        shown = [each for each in found if each.status != "merged"]
        assert len({each.id for each in shown}) == len(shown)


@pytest.mark.parametrize(
    "texts",
    [
        ("My dog is called Rex.", "My wife is called Anna.", "Sorry, I meant Leo."),
        ("I live in Rome.", "I was born in Paris.", "Sorry, I meant Lyon."),
        ("我住在北京。", "我出生在成都。", "说错了，是上海。"),
    ],
)
def test_what_moves_to_another_slot_is_another_memory(
    texts: tuple[str, ...], tmp_path: Path
) -> None:
    told = said(*texts)
    views: list[set[str]] = []
    for at, order in enumerate(permutations(told)):
        with Store.open(tmp_path / str(at), worker=False) as store:
            for event in order:
                store.append([event])
                store.flush()
            scope = Scope.parse(told[0].subject)
            views.append(standing(store.memories(scope, everything=True)))
            assert store.doctor().healthy
            assert store.rebuild().verified
    assert all(each == views[0] for each in views)


_TEXTS = (
    "My dog is called Rex.", "My wife is called Anna.", "Sorry, I meant Leo.",
    "I live in Paris.", "I live in Ghent.", "I work at Lego.", "My mother lives in Porto.",
    "What's the weather?", "I like tea.", "I meant Lyon.", "Sorry, I meant Lyon, not Paris.",
    "Correction: Volvo.", "I mean coffee.", "我住在北京。", "说错了，是上海。", "ok",
    "No, I meant Nice.", "No wait, Ghent.", "Forget what I said, I live in Oslo.",
    "I live in Ghent and work at Lego.", "不对，住在天津。", "I'm 41.", "Sorry, 42.",
)  # fmt: skip


@st.composite
def conversations(draw: st.DrawFn) -> list[Event]:
    """Turns at any times of a few hours around midnight, some at one instant."""
    texts = draw(st.lists(st.sampled_from(_TEXTS), min_size=2, max_size=7))
    told = turns(*texts)
    return [
        msgspec.structs.replace(each, time=BEGUN + MINUTE * draw(st.sampled_from(_MINUTES)))
        for each in told
    ]


_MINUTES = (0, 1, 2, 50, 51, 869, 870, 871, 2300, 2310)


def view(found: Sequence[Memory]) -> set[tuple[object, ...]]:
    return {
        (e.id, e.value, e.status, e.valid_from, e.valid_to, e.supports, e.trust, e.conflicts)
        for e in found
        if e.status != "merged"
    }


@pytest.mark.parametrize(
    "amendment",
    [
        "Sorry, I meant Tuesday.",
        "I meant yesterday.",
        "Sorry, I meant 5pm.",
        "I meant the movie.",
        "Sorry, I meant the other one.",
        "说错了，是明天。",
        "不对，是周二。",
        "说错了，是下午五点。",
        "说错了，是第二个问题。",
        "说错了，我是说天气。",
    ],
)
@pytest.mark.parametrize(
    ("claim", "stands"),
    [
        ("I live in Paris.", "residence=Paris"),
        ("I work at Lego.", "employer=Lego"),
        ("I'm allergic to nuts.", "allergy=nuts"),
        ("My wife is called Anna.", "spouse=Anna"),
        ("我住在北京。", "residence=北京"),
        ("我对花生过敏。", "allergy=花生"),
        ("我老婆叫李娜。", "spouse=李娜"),
    ],
)
def test_a_time_or_what_points_at_something_is_no_value(
    claim: str, stands: str, amendment: str
) -> None:
    assert standing(memories(said(claim, amendment))) == {stands}


@pytest.mark.parametrize(
    ("claim", "amendment", "stand"),
    [
        ("I like tea and coffee.", "I meant cocoa.", {"likes=tea", "likes=cocoa"}),
        (
            "I'm allergic to nuts and milk.",
            "Sorry, I meant eggs.",
            {"allergy=nuts", "allergy=eggs"},
        ),
        ("我喜欢红茶和咖啡。", "说错了，是可可。", {"likes=红茶", "likes=可可"}),
    ],
)
def test_of_a_list_the_last_is_put_right(claim: str, amendment: str, stand: set[str]) -> None:
    assert standing(memories(said(claim, amendment))) == stand


@given(conversations().flatmap(lambda told: st.tuples(st.just(told), st.permutations(told))))
def test_the_order_of_arrival_does_not_matter(orders: tuple[list[Event], list[Event]]) -> None:
    assert view(memories(orders[0])) == view(memories(orders[1]))


@given(conversations())
def test_delivered_again_it_changes_nothing(told: list[Event]) -> None:
    assert memories(told) == memories([*told, *told])

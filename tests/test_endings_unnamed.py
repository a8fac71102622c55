"""What ends without its name: all pets, the job one quit, whoever left, the move, the wedding; and
plans that came true."""

from __future__ import annotations

from itertools import permutations

import pytest
from conversing import memories, standing, turns

ENDED = [
    ("I have a dog named Rex and a cat named Luna.", "We have no pets anymore."),
    ("I have a dog named Rex.", "I have no pets any more."),
    ("I have two cats.", "I don't have any pets."),
    ("I have two cats.", "I no longer have pets."),
    ("I have a dog.", "I have no dog any more."),
    ("My dog is called Rex.", "I have no dogs anymore."),
    ("I drive a Tesla.", "I have no car anymore."),
    ("我有一只叫团子的猫。", "我没有宠物了。"),
    ("我有一只叫团子的猫。", "我家不再养宠物了。"),
    ("我有一只叫团子的猫。", "我不养猫了。"),
    ("I work at Lego.", "I quit."),
    ("I work at Lego.", "I just quit!"),
    ("I work at Lego.", "So I quit yesterday."),
    ("I work at Lego. I quit last week.",),
    ("我在乐高工作。", "我不干了。"),
    ("我在乐高工作。", "我昨天辞了。"),
    ("My girlfriend is called Sue.", "Sue left me."),
    ("My girlfriend is called Sue.", "Sue just left me for someone else."),
    ("My girlfriend is called Sue.", "My girlfriend left me last week."),
    ("I'm dating Sue Lind.", "Sue dumped me."),
    ("My wife is called Sue.", "My wife left me for another man."),
    ("My wife is called Sue.", "Sue has left me."),
    ("My wife is called Sue.", "My wife Sue left me."),
    ("My girlfriend is called Sue.", "Sue is no longer my girlfriend."),
    ("My girlfriend is called Sue.", "Sue and I are no longer together."),
    ("My girlfriend is called Sue.", "We're not together anymore."),
    ("我女朋友叫小雪。", "我们不在一起了。"),
    ("我女朋友叫小雪。", "我跟小雪不在一起了。"),
    ("我女朋友叫小雪。", "小雪离开我了。"),
    ("我女朋友叫小雪。", "女朋友离开了我。"),
    ("我女朋友叫小雪。", "我被小雪甩了。"),
    ("我女朋友叫小雪。", "我女朋友跟我分手了。"),
    ("我女朋友叫小雪。", "小雪跟我分手了。"),
    ("我老婆叫小王。", "我老婆跟我离婚了。"),
    ("I'm moving to Oslo in May.", "The move to Oslo is off."),
    ("I'm moving to Oslo in May.", "The move is off."),
    ("I'm moving to Oslo in May.", "We called off the move."),
    ("I'm moving to Oslo in May.", "I'm not moving anymore."),
    ("I'm moving to Oslo in May.", "I've decided not to move."),
    ("I'm getting married in June.", "We called off the wedding."),
    ("I'm getting married in June.", "The wedding has been cancelled."),
    ("I plan to visit Japan in May.", "Our trip is cancelled."),
    ("I plan to quit my job in May.", "I'm not quitting after all."),
    ("我五月要搬到柏林。", "我不搬了。"),
    ("我五月要搬到柏林。", "我们不搬家了。"),
    ("我五月要搬到柏林。", "不搬了。"),
    ("我五月要搬到柏林。", "搬家的事取消了。"),
    ("我打算六月结婚。", "婚礼取消了。"),
    ("我打算六月结婚。", "我们不结婚了。"),
    ("我打算去日本旅游。", "旅行取消了。"),
    ("我下个月要辞职。", "我不辞职了。"),
]


@pytest.mark.parametrize("texts", ENDED, ids=" / ".join)
def test_what_ended_without_its_name_is_over(texts: tuple[str, ...]) -> None:
    for order in permutations(turns(*texts)):
        found = [each for each in memories(list(order)) if each.attribute]
        assert {each.status for each in found} == {"superseded"}
        assert all(each.valid_to is None or each.valid_from < each.valid_to for each in found)


STAYS = {
    "I have a dog named Rex.": (
        "I have no pets at work.", "I have no idea.", "My sister has no pets.", "I have no cats.",
        "I have no pets to feed today.",
    ),
    "我有一只叫团子的猫。": ("我妹妹没有宠物。", "我们公司没有宠物。", "我不养狗。"),
    "I work at Lego.": (
        "I tried chess but I quit.", "Chess was too hard. I quit.", "I quit the game.",
        "I quit my gym.", "My brother quit.", "I never quit.", "If I quit, who cares?",
        "I quit, honestly, this game is too hard.",
    ),
    "我在乐高工作。": ("这游戏太难了，我不干了。", "我辞了健身房的会员。", "我弟弟不干了。"),
    "My girlfriend is called Sue.": (
        "My sister left me.", "My girlfriend left me a note.", "Sue left me at the airport.",
        "Sue left me alone for an hour.", "Sue left me for a minute.", "If Sue left me, I'd cry.",
        "Sue never left me.", "Mia left me.", "Mia and I split up.",
        "Mia isn't my girlfriend.", "Mia and I are no longer together.",
        "We're not together today.", "The files are not together.",
    ),
    "My wife is called Anna.": ("Mia and I split up.", "My boss left me a message."),
    "我女朋友叫小雪。": (
        "小雪离开我家了。", "我妈离开我了。", "我被老板甩了锅。", "小丽跟我分手了。",
        "我和小丽分手了。", "我和小丽不在一起了。", "我们不在一起上班。",
    ),
    "I'm moving to Oslo in May.": (
        "I'm not moving until June.", "I'm not moving the sofa.", "I'm not moving yet.",
        "My brother is not moving after all.", "The move to Bergen is off.", "The wedding is off.",
        "We called off the meeting.", "The move is off to a good start.", "I'm not moving today.",
    ),
    "I'm getting married in June.": (
        "My sister's wedding is off.", "The wedding is off the coast.", "The move is off.",
    ),
    "我五月要搬到柏林。": (
        "我不搬桌子了。", "我今天不搬。", "我弟弟不搬了。", "我还不搬。", "婚礼取消了。",
    ),
    "我打算六月结婚。": ("我朋友不结婚了。", "婚礼很热闹。", "我不搬了。"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("told", "text"), [(told, each) for told, texts in STAYS.items() for each in texts]
)
def test_what_does_not_speak_of_it_ends_nothing(told: str, text: str) -> None:
    (held,) = standing(told)
    for order in permutations(turns(told, text)):
        found = [each for each in memories(list(order)) if each.attribute]
        assert held in {f"{e.attribute}={e.value}" for e in found if e.status == "active"}


@pytest.mark.parametrize(
    ("texts", "stands"),
    [
        (("I'm moving to Oslo in May.", "I moved to Oslo."), {"residence=Oslo"}),
        (("I plan to move to Oslo.", "I live in Oslo now."), {"residence=Oslo"}),
        (("I'm moving to Oslo, Norway in May.", "I moved to Oslo."), {"residence=Oslo"}),
        (("We plan to get married in June.", "We're married now."), {"marital_status=married"}),
        (("我打算戒烟。", "我戒烟了。"), {"gave_up=抽烟"}),
        (("I plan to quit smoking.", "I quit smoking."), {"gave_up=smoking"}),
        (("我打算搬去柏林。", "我搬到柏林了。"), {"residence=柏林"}),
        (("我五月要搬到柏林。", "我现在住在柏林。"), {"residence=柏林"}),
        (("I'm joining Lego in May.", "I started at Lego."), {"employer=Lego"}),
        (("我下个月入职华为。", "我入职华为了。"), {"employer=华为"}),
        (("I'm leaving Lego in May.", "I left Lego."), set()),
        (("我下个月要辞职。", "我辞职了。"), set()),
        (("I'm getting married in June.", "We got married."), {"marital_status=married"}),
        (("I plan to adopt a dog.", "I adopted a dog."), {"pet=dog"}),
        (("I plan to learn Thai.", "I'm learning Thai."), {"learning=Thai"}),
        (("I plan to visit Japan in May.", "I visited Japan."), set()),
        (("我打算去日本旅游。", "我从日本回来了。"), set()),
        # another one, somebody else's, or one of before
        (
            ("I'm moving to Oslo in May.", "I moved to Bergen."),
            {"plan=move to Oslo", "residence=Bergen"},
        ),
        (
            ("I'm moving to Oslo in May.", "My sister moved to Oslo."),
            {"plan=move to Oslo", "residence=Oslo"},
        ),
        (("I live in Oslo.", "I'm moving to Oslo."), {"plan=move to Oslo", "residence=Oslo"}),
        (("我五月要搬到柏林。", "我搬到汉堡了。"), {"plan=搬到柏林", "residence=汉堡"}),
        (
            ("I'm getting married in June.", "My brother got married."),
            {"plan=get married", "marital_status=married"},
        ),
        (
            ("I'm moving to Oslo.", "We called off the move. I'm moving to Bergen instead."),
            {"plan=move to Bergen"},
        ),
        (
            ("I plan to visit Japan. I plan to visit Peru.", "The trip is off."),
            {"plan=visit Japan", "plan=visit Peru"},
        ),
    ],
)
def test_a_plan_that_came_true_is_over(texts: tuple[str, ...], stands: set[str]) -> None:
    for order in permutations(turns(*texts)):
        found = [each for each in memories(list(order)) if each.attribute]
        assert {f"{e.attribute}={e.value}" for e in found if e.status == "active"} == stands


def test_words_before_a_value_that_are_nothing_are_read_as_nothing() -> None:
    assert standing("I quit, honestly, this game is too hard.") == set()
    assert standing("I like, honestly, all of it.") <= {"likes=all of it"}

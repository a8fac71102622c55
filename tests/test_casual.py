"""Sentences as people type them: without their subject, with emoji, in short forms."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from memstream.processors.dates import find_dates
from memstream.processors.extract import Reader
from memstream.processors.facts import CLOSES
from memstream.processors.talk import read_turn
from memstream.schemas.attributes import builtin
from memstream.schemas.events import Event, Source, TurnRecorded
from memstream.schemas.memories import Assertion

SAID_AT = datetime(2025, 3, 12, 9, 30, tzinfo=timezone(timedelta(hours=1)))  # a Wednesday
READER = Reader(builtin())


def facts(text: str) -> list[Assertion]:
    event = Event(
        id="e1",
        type="turn.recorded",
        subject="acme/user:u1",
        time=SAID_AT,
        source=Source("user_said", 3),
        data=TurnRecorded(role="user", text=text),
    )
    return [each for each in READER.read(event) if each.attribute]


def told(text: str) -> set[str]:
    """The facts as "attribute=value", "-" before a negative one, the subject where it is not the
    user."""
    found = set()
    for each in facts(text):
        if not each.rule.endswith(CLOSES):
            who = "" if each.subject in ("user", "project") else f"{each.subject}: "
            how = "-" if each.polarity == "negative" else ""
            found.add(f"{who}{how}{each.attribute}={each.value}")
    return found


STATED = [
    # the speaker left out
    ("Just moved to Ghent yesterday!", {"residence=Ghent"}),
    ("relocated to Perth in May", {"residence=Perth"}),
    ("allergic to walnuts btw", {"allergy=walnuts"}),
    ("Live in Turin, work at Volvo", {"residence=Turin", "employer=Volvo"}),
    ("love climbing", {"likes=climbing"}),
    ("can't stand fennel", {"dislikes=fennel"}),
    ("Not a fan of musicals", {"dislikes=musicals"}),
    ("I have news. Just moved to Ghent!", {"residence=Ghent"}),
    ("住在青岛", {"residence=青岛"}),
    ("对腰果过敏", {"allergy=腰果"}),
    ("喜欢攀岩，不吃香菜", {"likes=攀岩", "diet=不吃香菜"}),
    ("在格力上班", {"employer=格力"}),
    ("我搬家啦！搬到烟台了", {"residence=烟台"}),
    ("本人对腰果过敏", {"allergy=腰果"}),
    # emoji are no words
    ("🙂 I'm a baker 🧑‍🍳", {"job_title=baker"}),
    ("I love dumplings 🥟 and noodles 🍜!", {"likes=dumplings", "likes=noodles"}),
    ("😊我喜欢攀岩🏔️", {"likes=攀岩"}),
    # several things in one breath
    ("Hi, I'm Nora and I live in Ghent", {"name=Nora", "residence=Ghent"}),
    ("I'm vegan and allergic to soy.", {"diet=vegan", "allergy=soy"}),
    ("My name's Otto, and I turn 40 on August 9.", {"name=Otto", "birthday=08-09"}),
    # homes
    ("I live with my parents in Ghent.", {"residence=Ghent"}),
    ("We moved into a new flat in Ghent", {"residence=Ghent"}),
    ("I moved in with my brother in Ghent", {"residence=Ghent"}),
    ("I rent a room in Ghent", {"residence=Ghent"}),
    ("我跟爸妈住在烟台", {"residence=烟台"}),
    ("我六月份搬去了烟台", {"residence=烟台"}),
    ("前天我搬去烟台住了", {"residence=烟台"}),
    ("前年我在烟台住过。", {"residence=烟台"}),
    ("我家住在烟台", {"residence=烟台"}),
    # work
    ("My employer is Volvo.", {"employer=Volvo"}),
    ("I work in logistics at Volvo", {"employer=Volvo"}),
    ("In May 2023 I worked as a waiter.", {"job_title=waiter"}),
    ("I was a lawyer from 2010 to 2015", {"job_title=lawyer"}),
    ("我是格力的产品经理", {"employer=格力", "job_title=产品经理"}),
    ("我在协和医院上班", {"employer=协和医院"}),
    # what somebody eats, and when they rise
    ("I've got a severe walnut allergy", {"allergy=walnut"}),
    ("I keep kosher", {"diet=kosher"}),
    ("I'm on a low-carb diet", {"diet=low-carb"}),
    ("I can't have any dairy", {"diet=no dairy"}),
    ("我吃芒果会过敏", {"allergy=芒果"}),
    ("我一吃虾就过敏", {"allergy=虾"}),
    ("I'm up at 5 every morning", {"wake_time=05:00"}),
    ("My alarm goes off at 6:45", {"wake_time=06:45"}),
    ("on weekdays i get up at 6:15, on weekends at 9", {"wake_time=06:15", "wake_time=09:00"}),
    ("I get up at 7 but on Sundays at 9", {"wake_time=07:00", "wake_time=09:00"}),
    ("我工作日六点起床，周末九点半", {"wake_time=06:00", "wake_time=09:30"}),
    ("I set my alarm for 6", {"wake_time=06:00"}),
    ("我闹钟定的是六点半", {"wake_time=06:30"}),
    ("My allergies are pollen and dust", {"allergy=pollen", "allergy=dust"}),
    ("I'm vegetarian and gluten-free", {"diet=vegetarian", "diet=gluten-free"}),
    ("I eat everything except pork", {"diet=no pork"}),
    ("我在吃低碳饮食", {"diet=低碳饮食"}),
    # tastes
    ("I've always loved the sea", {"likes=sea"}),
    ("I've never liked olives", {"dislikes=olives"}),
    ("I don't care for olives", {"dislikes=olives"}),
    ("Horror movies are not my thing", {"dislikes=Horror movies"}),
    ("I have a soft spot for old trams", {"likes=old trams"}),
    ("我喜欢猫和狗", {"likes=猫", "likes=狗"}),
    ("我一点都不喜欢喝酒", {"dislikes=喝酒"}),
    ("我是窦唯的歌迷", {"likes=窦唯"}),
    # more homes and work
    ("I live in a small flat in Ghent", {"residence=Ghent"}),
    ("I live on Maple Street in Ghent", {"residence=Ghent"}),
    ("Home for me is Ghent", {"residence=Ghent"}),
    ("我把家从北京搬到了烟台", {"residence=烟台"}),
    ("我是去年搬到烟台的", {"residence=烟台"}),
    ("我们俩搬到烟台了", {"residence=烟台"}),
    ("I work part-time at Volvo", {"employer=Volvo"}),
    ("I work for the harbour office for ten years", {"employer=harbour office"}),
    ("My new job is at Volvo", {"employer=Volvo"}),
    ("My job title is data steward", {"job_title=data steward"}),
    ("I'm head of growth at Volvo", {"job_title=head of growth", "employer=Volvo"}),
    ("I got a new role as a baker", {"job_title=baker"}),
    ("我上班的地方是格力", {"employer=格力"}),
    ("我是1990年5月1日出生的", {"birthday=1990-05-01"}),
    # said again, and in small letters
    ("As I told you, I live in Ghent", {"residence=Ghent"}),
    ("Like I said, I work for Volvo!", {"employer=Volvo"}),
    ("Just a reminder that I'm allergic to soy", {"allergy=soy"}),
    ("i live in leeds", {"residence=leeds"}),
    ("i moved to st. louis last year", {"residence=st. louis"}),
    ("昨天搬到烟台了", {"residence=烟台"}),
    ("上个月我因为换工作搬到烟台了。", {"residence=烟台"}),
    # more commands
    ("To run tests use `mvn test`.", {"test_command=mvn test"}),
    ("The new test command is `make check`.", {"test_command=make check"}),
    ("dependencies are managed with pip", {"package_manager=pip"}),
    ("我们迁到 pnpm 了", {"package_manager=pnpm"}),
    ("单测命令：`make check`", {"test_command=make check"}),
    # lists after a colon
    ("Things I like: hiking, jazz", {"likes=hiking", "likes=jazz"}),
    ("I dislike: loud music", {"dislikes=loud music"}),
    ("My allergies: nuts, soy and eggs", {"allergy=nuts", "allergy=soy", "allergy=eggs"}),
    ("Diet: vegan", {"diet=vegan"}),
    ("我的过敏原：花生、虾", {"allergy=花生", "allergy=虾"}),
    ("不喜欢的食物：香菜", {"dislikes=香菜"}),
    # birthdays
    ("My birthday falls on March 9", {"birthday=03-09"}),
    ("5月5日是我的生日", {"birthday=05-05"}),
    # names
    ("The name is Lars", {"name=Lars"}),
    ("This is Maria speaking", {"name=Maria"}),
    # commands
    ("To run the tests: `cargo test`", {"test_command=cargo test"}),
    ("Unit tests: `make check`", {"test_command=make check"}),
    ("You should run the test suite with `tox`.", {"test_command=tox"}),
    ("Just run `make check` for the tests.", {"test_command=make check"}),
    (
        "We left Maven, the test command is now `gradle test`",
        {"test_command=gradle test"},
    ),
    ("Do not use npm, use yarn", {"-package_manager=npm", "package_manager=yarn"}),
    ("测试：`make check`", {"test_command=make check"}),
    ("单元测试用 `go test` 跑", {"test_command=go test"}),
    ("执行 `make check` 就能跑测试", {"test_command=make check"}),
    ("这个项目用的是 poetry", {"package_manager=poetry"}),
]
SILENT = [
    "Love the new design!",
    "Love it here",
    "love your work",
    "Moved to the next item?",
    "allergic to peanuts?",
    "My sister called. Just moved to Ghent!",
    "She is great. Just moved to Ghent!",
    "Moved the file to Downloads",
    "Started the server again",
    "喜欢攀岩的人多吗",
    "对腰果过敏怎么办",
    "住在青岛的人怎么办户口",
    "他很忙。住在青岛。",
    "我妹妹来了。住在青岛。",
    "I can't have kids",
    "I'm up at the office",
    "I'm Happy and I know it",
    "I'm working on a novel at Starbucks",
    "我搬去和女朋友住了",
    "Notes: `make check`",
    "It's Monday here",
    "likes: int",
    "Diet: see below",
    "明天是我妈妈的生日会",
    "She said I live in Ghent",
    "I live in reading",
    "今天讨厌的人来了",
    "I'm happy at Volvo",
    "I'm doing fine",
    "Home is where the heart is",
    "I live in a flat in my dreams",
    "I set my alarm for the meeting",
    "I have a thing for you",
    "I don't care",
    "This is not my thing",
    "My new job is at risk",
    "I got a new role as a challenge",
    "I wake up early, on Sundays at home",
    "我不是去年搬到烟台的",
    "我的公司叫我去烟台出差",
    "我是他的粉丝",
]


@pytest.mark.parametrize(("text", "expected"), STATED)
def test_what_people_type(text: str, expected: set[str]) -> None:
    assert told(text) == expected


@pytest.mark.parametrize("text", SILENT)
def test_what_only_looks_like_it(text: str) -> None:
    assert told(text) == set()


def test_a_job_of_a_year_that_is_over_is_bound_by_it() -> None:
    (fact,) = facts("In 2019 I worked as a waiter.")
    begins = datetime(2019, 1, 1, tzinfo=SAID_AT.tzinfo)
    assert (fact.valid_from, fact.valid_to) == (begins, begins.replace(year=2020))


def test_a_month_that_is_also_a_verb_is_one_before_a_day_and_a_year() -> None:
    (born,) = find_dates("i was born on march 3rd 1990", SAID_AT)
    assert born.start == datetime(1990, 3, 3, tzinfo=SAID_AT.tzinfo)
    assert find_dates("we march 20 miles", SAID_AT) == []


@pytest.mark.parametrize(
    "text",
    [
        "Great, thank you so much for all your help!",
        "Hi Ada, hope you're doing well!",
        "hey, how r u",
        "Happy holidays!",
        "I have a question",
        "no worries at all",
        "谢啦，辛苦了",
        "中秋快乐！",
        "谢谢你的解答",
        "我有个问题",
    ],
)
def test_politeness_says_nothing(text: str) -> None:
    assert read_turn(text).statements == 0


@pytest.mark.parametrize(
    "text",
    [
        "Thank you for helping my sister move to Ghent",
        "Hope you're doing well, I moved to Ghent",
        "I have a question about my flight on Friday",
        "中秋快乐，我搬到烟台了",
        "我有个问题想请教王老师",
    ],
)
def test_politeness_with_something_said_says_it(text: str) -> None:
    assert read_turn(text).statements + read_turn(text).questions > 0


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        ("I live in Ghent with my sister.", "The user lives in Ghent with their sister."),
        ("I moved to Ghent for a new job.", "The user lives in Ghent for a new job."),
        ("我上周因为工作搬到烟台了。", "用户住在烟台，因为工作（自2025-03-03起）。"),
        ("由于工作调动，我上周搬到了烟台。", "用户住在烟台，因为工作调动（自2025-03-03起）。"),
    ],
)
def test_whom_one_lives_with_and_why_stay_with_the_home(text: str, reads: str) -> None:
    (fact,) = facts(text)
    assert fact.text == reads


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        (
            "Because of my reflux, I switched from coffee to tea.",
            "The user switched from coffee to tea because of their reflux.",
        ),
        (
            "After developing an allergy, I switched from milk to soy milk.",
            "The user switched from milk to soy milk after developing an allergy.",
        ),
        (
            "I ditched paper for a tablet because of the clutter.",
            "The user switched from paper to a tablet because of the clutter.",
        ),
        (
            "I left Volvo for a startup called Windly.",
            "The user works at Windly (before: Volvo).",
        ),
        ("因为胃不好，我把咖啡换成了绿茶", "用户从咖啡换成了绿茶，因为胃不好。"),
    ],
)
def test_a_change_keeps_from_what_and_why(text: str, reads: str) -> None:
    assert reads in [fact.text for fact in facts(text)]


@pytest.mark.parametrize("text", ["I left Rome for Oslo", "I left Volvo for lunch"])
def test_a_way_is_no_change_of_work(text: str) -> None:
    assert told(text) == set()


@pytest.mark.parametrize(
    "text",
    [
        "Based on our earlier chats, you live in Ghent.",
        "According to my notes, you're vegan.",
        "I've noted that your birthday is May 5.",
        "If I remember correctly, you work in finance.",
        "It seems you like spicy food.",
        "Considering your walnut allergy, avoid the cake.",
        "Here's what I know about you: you live in Ghent.",
        "根据之前的对话，您住在烟台。",
        "好的，我会记住您喜欢靠窗的座位。",
        "考虑到你对腰果过敏，建议避开蛋糕。",
        "用户姓名：小明。",
        "你老婆叫小红。",
    ],
)
def test_a_claim_about_the_listener(text: str) -> None:
    reading = read_turn(text, listener_claims=True)
    assert (reading.claims, reading.statements) == (1, 0)


@pytest.mark.parametrize(
    "text",
    [
        "Based on the logs, you should restart the server.",
        "Given your code, the bug is in parse().",
        "I've noted the deadline: Friday.",
        "We talked about the roadmap.",
        "您可以在设置里打开深色模式。",
        "根据日志，服务器在凌晨重启了。",
        "考虑到性能，我改用了缓存。",
    ],
)
def test_advice_and_reports_are_no_claims(text: str) -> None:
    assert read_turn(text, listener_claims=True).statements == 1

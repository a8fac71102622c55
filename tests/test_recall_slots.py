"""Questions that ask for a slot by its words find what is known of it before mere talk."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memstream import Memory, Scope
from memstream.recall.analysis import analysed
from memstream.schemas.attributes import builtin

SAID_AT = datetime(2025, 3, 12, 9, 30, tzinfo=UTC)
DAY = timedelta(days=1)
ANN = Scope(tenant="acme", user="ann")


@pytest.mark.parametrize(
    ("question", "attribute"),
    [
        ("What pets does she have?", "pet"),
        ("Does he have pets", "pet"),
        ("What is he allergic to?", "allergy"),
        ("Any allergies?", "allergy"),
        ("Does she have kids?", "children"),
        ("How many children does he have?", "children"),
        ("Where does she live?", "residence"),
        ("What does he do for a living?", "job_title"),
        ("Where does he work?", "employer"),
        ("Who is his wife?", "spouse"),
        ("When is her birthday?", "birthday"),
        ("What languages does he speak?", "languages_spoken"),
        ("What car does she drive?", "vehicle"),
        ("Does he have any health problems?", "health_condition"),
        ("她养了什么宠物？", "pet"),
        ("他对什么过敏？", "allergy"),
        ("她有孩子吗？", "children"),
        ("她住在哪里？", "residence"),
        ("他是做什么的？", "job_title"),
        ("他老婆叫什么？", "spouse"),
        ("他会说什么语言？", "languages_spoken"),
    ],
)
def test_a_short_question_names_the_slot_it_asks_for(question: str, attribute: str) -> None:
    assert attribute in analysed(question, SAID_AT).attributes


@pytest.mark.parametrize(
    "question",
    [
        "What did Melanie say about the painting of the horse at the workshop in July?",
        "How did the meeting go?",
        "上周的会议讨论了什么预算问题？",
        "?",
    ],
)
def test_other_questions_ask_for_no_slot(question: str) -> None:
    assert analysed(question, SAID_AT).attributes == ()


def test_a_user_may_declare_what_a_slot_is_asked_for_by(tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text('[boat]\ncardinality = "one"\naliases = "boat yacht sail"\n', encoding="utf-8")
    asked = analysed("Which yacht?", SAID_AT, builtin().extended(mine))
    assert asked.attributes == ("boat",)


TALK = [
    "The kids at the workshop painted a horse and a dog; all the children loved the pet parade.",
    "We spoke about pets and kids for hours, the children of my neighbours keep asking for a cat.",
    "Kids, kids, kids: the school was full of children today and their pets were in the yard.",
    "孩子们今天在学校画了小狗，宠物店门口全是孩子。",
    "我们聊了好几个小时的宠物和孩子。",
]


def test_what_is_known_of_the_slot_comes_before_talk_about_such_things(tmp_path: Path) -> None:
    facts = ["I have a parrot.", "I have two kids.", "I'm allergic to walnuts."]
    with Memory.open(tmp_path, worker=False) as memory:
        for number, text in enumerate([*TALK, *facts, *TALK]):
            at = SAID_AT + timedelta(hours=3 * number)
            memory.record_turn(ANN, role="user", text=text, observed_at=at)
        memory.flush()
        for question, value in (
            ("What pets does she have?", "parrot"),
            ("她养了什么宠物？", "parrot"),
            ("Does she have kids?", "two kids"),
            ("她有孩子吗？", "two kids"),
            ("What is he allergic to?", "walnuts"),
        ):
            found = memory.recall(ANN, question, record=False)
            assert found.items[0].memory.value == value, question


def test_a_slot_that_the_owner_declared_can_be_asked_for(tmp_path: Path) -> None:
    (tmp_path / "attributes.toml").write_text(
        '[locker]\ncardinality = "one"\naliases = "locker cupboard 储物柜"\n', encoding="utf-8"
    )
    with Memory.open(tmp_path, worker=False) as memory:
        memory.state(ANN, "", attribute="locker", value="number 12", observed_at=SAID_AT)
        for day in range(30):
            text = f"The cupboard of house {day} in the old street was painted in some colour."
            memory.record_turn(ANN, role="user", text=text, observed_at=SAID_AT)
        memory.flush()
        for question in ("Which cupboard does she have?", "哪个储物柜？"):
            assert memory.recall(ANN, question).items[0].memory.attribute == "locker"


@pytest.mark.parametrize(
    ("told", "ended", "question", "word"),
    [
        ("I work at Corvex.", "I quit my job last week.", "Where does the user work?", "quit"),
        ("I have a dog called Rex.", "Rex died yesterday.", "Does she have a pet?", "died"),
        ("I live in Porto.", "I moved out of Porto.", "Where does she live?", "moved out"),
        ("我在青岩公司工作。", "我上周离职了。", "用户在哪里工作？", "离职"),
        ("我养了一只狗，叫旺财。", "旺财昨天去世了。", "她养了什么宠物？", "去世"),
    ],
)
def test_where_a_slot_ended_what_was_said_of_that_answers(
    tmp_path: Path, told: str, ended: str, question: str, word: str
) -> None:
    with Memory.open(tmp_path / "memory", worker=False) as memory:
        for at, text in enumerate((told, ended)):
            when = SAID_AT + at * timedelta(days=40)
            memory.record_turn(ANN, role="user", text=text, observed_at=when)
        memory.flush()
        later = SAID_AT + timedelta(days=90)
        found = memory.recall(ANN, question, as_of=later, record=False)
        assert any(word in item.memory.text for item in found.items)
        before = memory.recall(ANN, question, as_of=SAID_AT + timedelta(days=1), record=False)
        assert not any(word in item.memory.text for item in before.items)


@pytest.mark.parametrize(
    ("told", "questions"),
    [
        ("My name is Lena.", ["Who am I?", "Who is the user?"]),
        ("I'm from Porto.", ["Where is she from?", "Where do they come from?"]),
        ("I live in Porto.", ["Where is she based?"]),
        ("I'm allergic to peanuts.", ["What can't she eat?", "Which foods should she avoid?"]),
        ("I'm vegetarian.", ["Does she eat meat?"]),
        ("I'm married to Tom.", ["Is she single?", "What's her marital status?"]),
        ("I have two kids.", ["Is she a parent?"]),
        ("I get up at six every morning.", ["When does she usually rise?"]),
        ("I love hiking.", ["What is she into?"]),
        ("I plan to travel to Japan next year.", ["Any upcoming trips?"]),
        ("I grew up in Tartu.", ["Where did he grow up?"]),
        ("I'm from Chile.", ["What's her nationality?"]),
        ("I'm planning to move to Cork in spring.", ["Where will she live?"]),
        ("I don't drink coffee.", ["Should I offer her an espresso?"]),
        ("My girlfriend is called Ines.", ["Is he engaged?", "Does he have a girlfriend?"]),
        ("我叫李雷。", ["你知道我是谁吗", "用户是谁？", "我该叫他什么？", "怎么称呼他？"]),
        ("我下个月要去西安出差。", ["他最近有什么安排？"]),
        ("我不吃辣。", ["他能吃火锅吗？"]),
        ("我每天吃一片阿司匹林。", ["他吃什么药？"]),
        ("我来自成都。", ["她是哪里人？", "她是从哪儿来的"]),
        ("我是一名护士。", ["她干什么的？"]),
        ("我对花生过敏。", ["她不能吃什么？"]),
        ("我吃素。", ["她吃肉吗？"]),
        ("我养了一只猫，叫咪咪。", ["她养猫吗？", "她的猫叫什么？"]),
        ("我有两个孩子。", ["她有小孩吗？", "她有没有子女"]),
        ("我每天早上六点起床。", ["她的作息是怎样的"]),
    ],
)
def test_a_slot_is_found_in_other_words_than_its_own(
    tmp_path: Path, told: str, questions: list[str]
) -> None:
    with Memory.open(tmp_path / "memory", worker=False) as memory:
        memory.record_turn(ANN, role="user", text=told, observed_at=SAID_AT)
        memory.flush()
        for question in questions:
            later = SAID_AT + timedelta(days=3)
            assert memory.recall(ANN, question, as_of=later, record=False).items, question


@pytest.mark.parametrize(
    ("told", "question", "word"),
    [
        (
            ("I lived in Rome from 2019 to 2021.", "I live in Ghent."),
            "Where did I live in 2020?",
            "Rome",
        ),
        (
            ("I worked at Corvex from 2015 to 2018.", "I work at Halden."),
            "Where did she work in 2016?",
            "Corvex",
        ),
        (("我2019年到2021年住在成都。", "我住在杭州。"), "我2020年住在哪里？", "成都"),
    ],
)
def test_a_question_about_a_time_that_is_over_finds_what_held_then(
    tmp_path: Path, told: tuple[str, ...], question: str, word: str
) -> None:
    with Memory.open(tmp_path / "memory", worker=False) as memory:
        for at, text in enumerate(told):
            memory.record_turn(ANN, role="user", text=text, observed_at=SAID_AT + at * DAY)
        memory.flush()
        found = memory.recall(ANN, question, as_of=SAID_AT + 9 * DAY, record=False)
        assert word in found.items[0].memory.text
        now = memory.recall(
            ANN,
            "Where does she live, where does she work? 住在哪里？",
            as_of=SAID_AT + 9 * DAY,
            record=False,
        )
        assert not any(word in item.memory.text for item in now.items)


@pytest.mark.parametrize(
    ("attribute", "slot"),
    [
        ("Employer", "employer"),
        ("marital status", "marital_status"),
        ("Marital-Status", "marital_status"),
        ("my_own_slot", "my_own_slot"),
        ("My Own Slot", "My Own Slot"),
    ],
)
def test_a_known_slot_is_meant_however_it_is_written(
    tmp_path: Path, attribute: str, slot: str
) -> None:
    scope = Scope(tenant="acme", user="ann")
    with Memory.open(tmp_path / "memory", worker=False) as memory:
        memory.state(scope, attribute=attribute, value="Teal")
        memory.flush()
        assert [each.attribute for each in memory.memories(scope)] == [slot]

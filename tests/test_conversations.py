"""What a few turns, read and resolved, add up to: the two processors together, with no store."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import permutations

import msgspec
import pytest
from dict_state import DictState

from memstream.processors.extract import Extract, Reader
from memstream.processors.pipeline import State
from memstream.processors.resolve import Resolve
from memstream.schemas.attributes import Attribute, Attributes, InvalidAttribute, builtin
from memstream.schemas.events import Event, MemoryChanged, Source, TurnRecorded
from memstream.schemas.memories import Memory

SCOPE = "acme/user:u1"
BEGUN = datetime(2025, 3, 12, 9, 30, tzinfo=UTC)  # a Wednesday
READER = Reader(builtin())


def turns(*texts: str) -> list[Event]:
    """The turns of a user, ten days apart."""
    return [
        Event(
            id=f"e{number}",
            type="turn.recorded",
            subject=SCOPE,
            time=BEGUN + timedelta(days=10 * number),
            source=Source("user_said", 3),
            data=TurnRecorded(role="user", text=text),
            recordedtime=BEGUN + timedelta(days=10 * number),
        )
        for number, text in enumerate(texts)
    ]


def memories(events: list[Event]) -> list[Memory]:
    """The last version of every memory that reading and resolving the events makes."""
    state: State = DictState()
    extract, resolve = Extract(READER), Resolve(builtin())
    found: dict[str, Memory] = {}
    for event in events:
        for candidate in extract(state, event):
            for made in resolve(state, candidate):
                if isinstance(made.data, MemoryChanged):
                    found[made.data.memory.id] = made.data.memory
    return list(found.values())


def standing(*texts: str) -> set[str]:
    """The facts that are active after the turns, as attribute=value."""
    return {
        f"{each.attribute}={each.value}"
        for each in memories(turns(*texts))
        if each.attribute and each.status == "active"
    }


@pytest.mark.parametrize(
    ("texts", "stands", "reason"),
    [
        (("I like papaya.", "I don't like papaya because it smells."), "dislikes=papaya", "smells"),
        (("I like papaya.", "I hate papaya."), "dislikes=papaya", ""),
        (("I don't like papaya.", "I like papaya."), "likes=papaya", ""),
        (("我喜欢香菜。", "我不喜欢香菜，因为味道太怪。"), "dislikes=香菜", "味道太怪"),
        (("我喜欢香菜。", "我讨厌香菜。"), "dislikes=香菜", ""),
        (("我讨厌香菜。", "我喜欢香菜。"), "likes=香菜", ""),
    ],
)
def test_a_taste_that_turned_supersedes_the_earlier_one(
    texts: tuple[str, str], stands: str, reason: str
) -> None:
    for order in permutations(turns(*texts)):
        found = [each for each in memories(list(order)) if each.attribute]
        (now,) = [each for each in found if each.status == "active"]
        (before,) = [each for each in found if each.status == "superseded"]
        assert f"{now.attribute}={now.value}" == stands
        assert reason in now.reason
        assert before.valid_to == now.valid_from
        assert now.attribute in before.update_reason


@pytest.mark.parametrize(
    "texts", [("I like papaya.", "I don't like mango."), ("我喜欢香菜。", "我不喜欢芒果。")]
)
def test_tastes_for_different_things_live_side_by_side(texts: tuple[str, str]) -> None:
    assert len(standing(*texts)) == 2


def test_a_taste_taken_back_leaves_the_other_alone() -> None:
    assert standing("I don't like papaya.", "I misspoke, I don't hate papaya.") == set()
    assert standing("I like papaya.", "I misspoke, I don't like papaya.") == {"dislikes=papaya"}


JOBLESS = {
    "en": (
        "I quit my job last week.", "I left my job last month.", "I resigned yesterday.",
        "I got laid off on Monday.", "I was fired.", "I lost my job because the plant closed.",
        "I've been let go.", "I'm unemployed now.", "I retired last month.",
        "I quit my job to travel.",
    ),
    "zh": (
        "我上周辞职了。", "我离职了。", "我昨天被裁员了。", "我失业了。", "我这个月退休了。",
        "我辞掉了工作，因为太累。", "我把工作辞了。", "我被炒鱿鱼了。", "我辞职去旅行了。",
    ),
}  # fmt: skip


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_job_that_is_left_unnamed_ends_whatever_it_was(language: str) -> None:
    worked = {"en": "I work at Volvo as a train driver.", "zh": "我在沃尔沃当司机。"}[language]
    assert len(standing(worked)) == 2
    for text in JOBLESS[language]:
        told = turns(worked, "…", "…", text)
        for order in (told, told[::-1]):
            found = memories(order)
            assert {each.status for each in found if each.attribute} == {"superseded"}, text
            assert any(each.value in text for each in found if not each.attribute), text
        again = {"en": "I work at Lego.", "zh": "我在乐高工作。"}[language]
        assert "employer=" + {"en": "Lego", "zh": "乐高"}[language] in standing(worked, text, again)


@pytest.mark.parametrize(
    ("before", "text", "stands"),
    [
        ("I live in Ghent.", "I moved to Porto in March.", {"residence=Porto"}),
        ("I live in Ghent.", "I moved to Porto this month.", {"residence=Porto"}),
        ("I live in Ghent.", "I moved to Porto in 2019.", {"residence=Ghent"}),
        ("I work at Volvo.", "I left my job in March.", set()),
        ("I work at Volvo.", "I left Volvo in March.", set()),
        ("I work at Volvo.", "I left Lego in March.", {"employer=Volvo"}),
        ("I work at Volvo.", "I quit my job in 2019.", {"employer=Volvo"}),
        ("我住在武汉。", "我三月份搬到了成都。", {"residence=成都"}),
        ("我住在武汉。", "我2019年搬到了成都。", {"residence=武汉"}),
        ("我在华为工作。", "我三月份辞职了。", set()),
        ("我在华为工作。", "我2019年辞职了。", {"employer=华为"}),
    ],
)
def test_a_change_came_after_what_was_said_within_its_interval(
    before: str, text: str, stands: set[str]
) -> None:
    """The first is said on March 12, the second on March 22."""
    for order in permutations(turns(before, text)):
        found = memories(list(order))
        active = {f"{e.attribute}={e.value}" for e in found if e.attribute and e.status == "active"}
        assert active == stands
        for each in found:
            assert each.valid_to is None or each.valid_from < each.valid_to


@pytest.mark.parametrize(
    "text",
    [
        "I want to quit my job.", "I haven't quit my job.", "If I lost my job, I'd travel.",
        "Should I quit my job?", "I quit my job search.", "My wife quit her job.",
        "I almost quit my job.", "I resigned from the club.", "I'm quitting my job next month.",
        "我想辞职。", "我没有辞职。", "要是失业了就麻烦了。", "我差点辞职。", "我写了辞职信。",
        "我老婆辞职了。", "我要不要辞职？", "我下周辞职。",
    ],
)  # fmt: skip
def test_a_job_that_is_not_left_stays(text: str) -> None:
    assert "employer=Volvo" in standing("I work at Volvo.", text)


@pytest.mark.parametrize(
    ("before", "text"),
    [
        ("我住在武汉。", "我下个月搬去成都。"),
        ("我在华为工作。", "我下个月从华为离职。"),
        ("我在华为工作。", "我明年入职腾讯。"),
    ],
)
def test_what_is_announced_changes_nothing_yet_and_is_kept(before: str, text: str) -> None:
    found = memories(turns(before, text))
    (fact,) = [each for each in found if each.attribute in ("residence", "employer")]
    assert (fact.status, fact.valid_to) == ("active", None)
    assert any(text[1:-1] in each.quote for each in found)


@pytest.mark.parametrize(
    ("text", "stands"),
    [
        ("I work at Lego and Volvo.", {"employer=Lego", "employer=Volvo"}),
        ("I work for Lego and for Volvo.", {"employer=Lego", "employer=Volvo"}),
        (
            "I work at Lego, Volvo and Philips.",
            {f"employer={e}" for e in ("Lego", "Volvo", "Philips")},
        ),
        ("I work at a bank and a bakery.", {"employer=bank", "employer=bakery"}),
        ("I live in Ghent and Porto.", {"residence=Ghent", "residence=Porto"}),
        ("I live in Ghent, Belgium and Porto.", {"residence=Ghent, Belgium", "residence=Porto"}),
        ("I'm a writer and a teacher.", {"job_title=writer", "job_title=teacher"}),
        ("We use Postgres and Redis.", {"database=Postgres", "database=Redis"}),
        ("我在华为和腾讯工作。", {"employer=华为", "employer=腾讯"}),
        ("我住在武汉和成都。", {"residence=武汉", "residence=成都"}),
        ("我是作家和老师。", {"job_title=作家", "job_title=老师"}),
        # no lists
        ("I live in Ghent or Porto.", {"residence=Ghent"}),
        ("我住在武汉和成都之间。", set()),
        ("I work at Ernst and Young.", {"employer=Ernst and Young"}),
        ("I work at Johnson & Johnson.", {"employer=Johnson & Johnson"}),
        ("I work at Lego and paint.", {"employer=Lego"}),
        ("I live in Bosnia and Herzegovina.", {"residence=Bosnia and Herzegovina"}),
        ("I work at Lego and live in Ghent.", {"employer=Lego", "residence=Ghent"}),
        ("我住在呼和浩特。", {"residence=呼和浩特"}),
    ],
)
def test_a_list_in_a_slot_of_one_value_is_several_values_that_hold_together(
    text: str, stands: set[str]
) -> None:
    assert standing(text) == stands


@pytest.mark.parametrize(
    ("texts", "stands"),
    [
        (("I work at Lego and Volvo.", "I quit Lego."), {"employer=Volvo"}),
        (("I work at Lego and Volvo.", "I quit my job."), set()),
        (("I work at Lego and Volvo.", "I left Lego and Volvo."), set()),
        (("I work at Lego and Volvo.", "I work at Philips now."), {"employer=Philips"}),
        (("我在华为和腾讯工作。", "我从华为离职了。"), {"employer=腾讯"}),
        (("我在华为和腾讯工作。", "我辞职了。"), set()),
    ],
)
def test_of_two_jobs_one_can_be_left(texts: tuple[str, str], stands: set[str]) -> None:
    assert standing(*texts) == stands


@pytest.mark.parametrize(
    ("before", "text", "stands"),
    [
        ("I work at Lego.", "I quit my job last week.", set()),
        ("I live in Ghent.", "I moved to Porto last week.", {"residence=Porto"}),
        ("I drink coffee.", "I stopped drinking coffee last week.", set()),
        ("我在华为工作。", "我上周辞职了。", set()),
        ("我住在武汉。", "我上周搬到了成都。", {"residence=成都"}),
    ],
)
def test_a_change_told_last_counts_though_it_is_dated_before_what_was_said(
    before: str, text: str, stands: set[str]
) -> None:
    """Both are said in one week, the change second and dated in the week before."""
    told = turns(before, text)
    told[1] = msgspec.structs.replace(told[1], time=BEGUN + timedelta(days=1))
    for order in permutations(told):
        found = memories(list(order))
        active = {f"{e.attribute}={e.value}" for e in found if e.attribute and e.status == "active"}
        assert active == stands
        (ended,) = [each for each in found if each.status == "superseded"]
        assert ended.valid_to == datetime(2025, 3, 10, tzinfo=UTC)
        assert ended.valid_from < datetime(2025, 3, 10, tzinfo=UTC)


ANNOUNCED = [
    ("I'm moving to Porto in May.", "move to Porto"),
    ("We're moving to Porto next month.", "move to Porto"),
    ("I'm going to move to Porto next year.", "move to Porto"),
    ("I will join Philips in May.", "join Philips"),
    ("I'm starting a new job at Philips next month.", "join Philips"),
    ("I'm leaving Lego next month.", "leave Lego"),
    ("I'm quitting my job next month.", "quit the job"),
    ("I'm flying to Porto next week.", "go to Porto"),
    ("I'm getting married in June.", "get married"),
    ("I'm retiring in December.", "retire"),
    ("我下个月要搬到成都。", "搬到成都"),
    ("我下个月搬去成都。", "搬到成都"),
    ("我四月要跳槽到腾讯。", "加入腾讯"),
    ("我下周入职腾讯。", "加入腾讯"),
    ("我下个月从华为离职。", "从华为离职"),
    ("我下周辞职。", "辞职"),
    ("下个月我就要从百度离职了。", "从百度离职"),
    ("我六月要结婚了。", "结婚"),
]


@pytest.mark.parametrize(("text", "plan"), ANNOUNCED)
def test_what_is_announced_is_a_plan_with_its_date_and_no_fact_yet(text: str, plan: str) -> None:
    known = "I like papaya." if text.isascii() else "我喜欢香菜。"
    found = {each.attribute: each for each in memories(turns(known, text)) if each.attribute}
    assert found["plan"].value == plan
    assert found["plan"].occurred is not None
    assert all(each.status == "active" for each in found.values())
    assert len(found) == 2


@pytest.mark.parametrize(
    ("texts", "home"),
    [
        (("I live in Ghent.", "I'm moving to Porto in March.", "I moved to Porto."), "Porto"),
        (("我住在武汉。", "我这个月要搬到成都。", "我搬到了成都。"), "成都"),
    ],
)
def test_a_plan_that_came_true_contradicts_nothing(texts: tuple[str, ...], home: str) -> None:
    for order in permutations(turns(*texts)):
        found = memories(list(order))
        active = {each.attribute: each.value for each in found if each.status == "active"}
        assert active["residence"] == home
        assert home in active["plan"]
        assert not any(each.conflicts for each in found)


@pytest.mark.parametrize(
    "text",
    [
        "I'm not moving to Porto.", "Are you moving to Porto?", "I hope I'm moving to Porto.",
        "If I move to Porto I'll be happy.", "我不会搬到成都。", "我想搬到成都。",
    ],
)  # fmt: skip
def test_what_is_not_planned_is_no_plan(text: str) -> None:
    assert not any(each.startswith("plan=") for each in standing(text))


SLIPS = [
    ("I live in Paris, no wait, Lyon.", {"residence=Lyon"}),
    ("I live in Paris, no, wait, Lyon.", {"residence=Lyon"}),
    ("I live in Paris — no, Lyon.", {"residence=Lyon"}),
    ("I live in Paris, oh sorry, I mean Lyon.", {"residence=Lyon"}),
    ("I live in Paris, actually no, in Lyon.", {"residence=Lyon"}),
    ("I live in Paris, or rather Lyon.", {"residence=Lyon"}),
    ("I live in Paris, scratch that, I live in Lyon.", {"residence=Lyon"}),
    ("I live in Paris. No wait, Lyon.", {"residence=Lyon"}),
    ("I live in Paris and work at Lego, sorry, Volvo.", {"residence=Paris", "employer=Volvo"}),
    ("I like tea and coffee, sorry, cocoa.", {"likes=tea", "likes=cocoa"}),
    ("I wake up at 7, no wait, 8.", {"wake_time=08:00"}),
    ("My dog is called Rex, I mean Max.", {"pet=Max"}),
    ("我住在广州，不对，是珠海。", {"residence=珠海"}),
    ("我住在北京，哦不，说错了，是上海。", {"residence=上海"}),
    ("I live in Paris, no wait, sorry, Lyon.", {"residence=Lyon"}),
    ("我住在广州，哦不，珠海。", {"residence=珠海"}),
    ("我住在广州，说错了，我住在珠海。", {"residence=珠海"}),
    ("我叫李雷，不对，叫李磊。", {"name=李磊"}),
    ("我在华为工作，不是，在腾讯工作。", {"employer=腾讯"}),
    ("我在华为工作。不对，是腾讯。", {"employer=腾讯"}),
    ("我对花生过敏，说错了，是杏仁。", {"allergy=杏仁"}),
    # the words that follow complete what is no statement yet
    ("I'm 30, sorry, 31 years old.", {"age=31"}),
    ("我30，不对，31岁。", {"age=31"}),
    ("In May, no wait, June I moved to Ghent.", {"residence=Ghent"}),
    # only a number, a noun without its article, or a date is put right
    ("I have two kids, no wait, three.", {"children=three kids"}),
    ("我有两个孩子，不对，三个。", {"children=三个孩子"}),
    ("I'm a doctor, I mean, a nurse.", {"job_title=nurse"}),
    ("I moved to Ghent in May, no wait, June.", {"residence=Ghent"}),
    ("I moved to Ghent in May. No wait, June.", {"residence=Ghent"}),
    ("我五月搬到了武汉，不对，是六月。", {"residence=武汉"}),
    # the whole statement is somebody else's, or its opposite
    ("I live in Paris, no wait, my sister lives in Lyon.", {"residence=Lyon"}),
    ("I live in Paris. No wait, my sister lives in Paris.", {"residence=Paris"}),
    ("我住在广州，不对，我姐姐住在广州。", {"residence=广州"}),
    ("我住在广州。不对，我姐姐住在珠海。", {"residence=珠海"}),
    ("I like tea, no wait, I hate tea.", {"dislikes=tea"}),
    ("I live in Paris. No, I live in Lyon.", {"residence=Lyon"}),
    ("I live in Paris. Scratch that. I live in Lyon.", {"residence=Lyon"}),
    ("我住在广州。说错了。我住在珠海。", {"residence=珠海"}),
    ("I moved to Paris. No, sorry, that was my brother.", {"residence=Paris"}),
    ("我住在广州，不对，是我姐姐。", {"residence=广州"}),
    ("我老家在长沙，不对，在株洲。", {"hometown=株洲"}),
    ("我女儿叫小雨，口误，叫小雪。", {"child=小雪"}),
    ("I go to bed at 11, I mean 10:30.", {"sleep_time=22:30"}),
    ("I was born on July 4, 1990, no, 1991.", {"birthday=1991-07-04"}),
    # no slips
    ("I have a cat. Sorry, I have a dog.", {"pet=cat", "pet=dog"}),
    ("I was tired, sorry, 31 emails came in.", set()),
    ("He said, no, I live in Paris.", set()),
    ("I live in Paris, sorry for the confusion.", {"residence=Paris"}),
    ("I live in Paris, no kids.", {"residence=Paris"}),
    ("I live in Paris, no, I don't.", {"residence=Paris"}),
    ("I live in Paris, not Lyon.", {"residence=Paris"}),
    ("我住在广州，不是珠海。", {"residence=广州"}),
    ("我住在广州，不错。", {"residence=广州"}),
]


@pytest.mark.parametrize(("text", "stands"), SLIPS)
def test_a_slip_put_right_at_once_asserts_nothing(text: str, stands: set[str]) -> None:
    found = memories(turns(text))
    assert {f"{each.attribute}={each.value}" for each in found if each.attribute} == stands
    assert not any(each.status == "retracted" for each in found)


def test_what_was_taken_back_for_another_is_not_the_speakers() -> None:
    for text, subject in (
        ("I live in Paris, no wait, my sister lives in Lyon.", "the user's sister"),
        ("I live in Paris. No, sorry, that was my sister.", "the user's sister"),
        ("我住在广州，不对，我姐姐住在广州。", "用户的姐姐"),
    ):
        (home,) = [each for each in memories(turns(text)) if each.attribute]
        assert home.subject == subject


def test_a_date_that_is_put_right_counts() -> None:
    for text in (
        "I moved to Ghent in May, no wait, June.",
        "In May, no wait, June I moved to Ghent.",
        "我五月搬到了武汉，不对，是六月。",
    ):
        (home,) = [each for each in memories(turns(text)) if each.attribute]
        assert home.valid_from == datetime(2024, 6, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "stands"),
    [
        ("I don't like tea, I love it!", {"likes=tea"}),
        ("I don't like tea. I adore it!", {"likes=tea"}),
        ("I don't just like tea, I adore it!", {"likes=tea"}),
        ("I don't dislike mushrooms, I hate them.", {"dislikes=mushrooms"}),
        ("I don't hate Mondays, I love them!", {"likes=Mondays"}),
        ("我不是喜欢茶，我是爱茶！", {"likes=茶"}),
        ("我不喜欢茶。我爱死它了！", {"likes=茶"}),
        ("我不讨厌香菜，我恨它！", {"dislikes=香菜"}),
        ("我不只喜欢茶，还喜欢咖啡。", {"likes=茶", "likes=咖啡"}),
        # real denials
        ("I don't like tea, I love coffee.", {"dislikes=tea", "likes=coffee"}),
        ("I don't like tea, but I love it with milk.", {"dislikes=tea"}),
        ("我不喜欢茶，我爱咖啡。", {"dislikes=茶", "likes=咖啡"}),
    ],
)
def test_a_weaker_word_denied_for_a_stronger_one_is_no_denial(text: str, stands: set[str]) -> None:
    assert standing(text) == stands


@pytest.mark.parametrize(
    "text",
    [
        "I like neither tea nor coffee.",
        "I like neither.",
        "I like no coffee.",
        "I like coffee no more.",
        "I like coffee less than tea.",
        "I have no pets.",
    ],
)
def test_a_denial_inside_the_value_is_no_liking(text: str) -> None:
    (found,) = memories(turns(text))
    assert (found.attribute, found.value) == ("", text)


@pytest.mark.parametrize(
    ("earlier", "text"),
    [
        ("I live in Ghent.", "I moved to Paris, no wait, Lyon."),
        ("我住在武汉。", "我搬到了广州，不对，是珠海。"),
    ],
)
def test_a_slip_takes_nothing_back_that_was_said_before(earlier: str, text: str) -> None:
    statuses = {each.value: each.status for each in memories(turns(earlier, text))}
    assert sorted(statuses.values()) == ["active", "superseded"]
    assert "Paris" not in statuses
    assert "广州" not in statuses


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("I have a dog. His name is Rex.", {"pet=Rex"}),
        ("I have a dog. She is called Bella.", {"pet=Bella"}),
        ("I adopted a cat last week. Her name's Luna.", {"pet=Luna"}),
        ("We got a new puppy. We named him Max.", {"pet=Max"}),
        ("I have two cats. They are called Tom and Jerry.", {"pet=Tom", "pet=Jerry"}),
        ("I have a parrot. It is very loud. Its name is Polly.", {"pet=Polly"}),
        ("My dog is sick. His name is Rex.", {"pet=Rex"}),
        ("I have a brother. His name is Tom.", {"sibling=Tom"}),
        ("我养了一条狗。名字叫旺财。", {"pet=旺财"}),
        ("我养了一条狗。它叫旺财。", {"pet=旺财"}),
        ("我家有一只猫。它的名字是团子。", {"pet=团子"}),
        ("我领养了一只仓鼠。很可爱。它的名字叫球球。", {"pet=球球"}),
        ("我有一个女儿。她叫小雪。", {"child=小雪"}),
        # whose name it is is not said, or it is the speaker's
        ("I have a dog. My name is Rex.", {"name=Rex"}),
        ("My sister has a dog. His name is Rex.", set()),
        ("Do you have a dog? His name is Rex.", set()),
        ("I want a dog. His name is Rex.", set()),
        ("I have a daughter. It is called Rex.", set()),
        ("I have a dog. His name is unusual.", set()),
        ("我养了一条狗。我叫小雪。", {"name=小雪"}),
        ("我想养一条狗。名字叫旺财。", set()),
        ("我养了一条狗。它叫个不停。", set()),
        # somebody else may be meant, and nobody is guessed
        ("I have a dog. My friend has a cat. His name is Rex.", set()),
        ("I have a dog. My friend has a cat. Its name is Rex.", set()),
        ("I have a dog. My brother loves him. His name is Rex.", set()),
        ("I have a dog and a cat. Its name is Rex.", set()),
        ("我养了一条狗。我朋友养了一只猫。它叫小黑。", set()),
        ("我养了一条狗，我朋友养了一只猫，它叫小黑。", set()),
        ("我有一条狗和一只猫。它叫小黑。", set()),
        ("我有一条狗和一只猫，它叫小黑。", set()),
        # she cannot be he, and what was brought in last is meant
        ("I have a dog. My wife loves him. His name is Rex.", {"pet=Rex"}),
        ("My sister came by. I have a dog. His name is Rex.", {"pet=Rex"}),
        ("I have a dog and a cat. Their names are Rex and Luna.", {"pet=Rex", "pet=Luna"}),
        ("I have a dog and a cat. The dog is called Rex.", {"pet=Rex"}),
        ("I have a daughter and a son. They are called Mia and Leo.", {"child=Mia", "child=Leo"}),
        ("我有一条狗和一只猫。狗叫小黑。", {"pet=小黑"}),
        ("I like animals. The dog is called Rex.", {"likes=animals"}),
        # what is said after the name
        ("I have a dog. His name is Rex and he lives in Ghent.", {"pet=Rex", "residence=Ghent"}),
        ("I have a brother. His name is Tom, he works at Lego.", {"sibling=Tom", "employer=Lego"}),
        ("I have a dog. His name is Rex and he's lovely.", {"pet=Rex"}),
        ("我有个弟弟。他叫小明，住在武汉。", {"sibling=小明", "residence=武汉"}),
    ],
)
def test_a_name_in_the_next_sentence_is_that_of_what_was_introduced(
    text: str, named: set[str]
) -> None:
    found = {f"{e.attribute}={e.value}" for e in memories(turns(text)) if e.attribute}
    kinds = ("dog", "cat", "puppy", "two cats", "parrot", "狗", "猫", "仓鼠")
    assert {each for each in found if each.partition("=")[2] not in kinds} == named


def test_what_follows_a_name_is_said_of_who_has_it() -> None:
    for text, subject in (
        ("I have a brother. His name is Tom and he lives in Ghent.", "the user's brother"),
        ("我有个弟弟。他叫小明，住在武汉。", "用户的弟弟"),
    ):
        (home,) = [each for each in memories(turns(text)) if each.attribute == "residence"]
        assert home.subject == subject


@pytest.mark.parametrize(
    ("text", "pets"),
    [
        ("I have a dog and a cat.", {"dog", "cat"}),
        ("I have a dog, a cat and two rabbits.", {"dog", "cat", "two rabbits"}),
        ("We got a new puppy and an old golden retriever.", {"puppy", "golden retriever"}),
        ("I have a son and a dog.", {"dog"}),
        ("I have a dog named Rex and a cat named Luna.", {"Rex", "Luna"}),
        ("我有一只狗和两只猫。", {"狗", "两只猫"}),
        ("我家有一只小猫、一条狗和三只兔子。", {"小猫", "狗", "三只兔子"}),
        ("我养了一只叫小黑的狗和一只叫小白的猫。", {"小黑", "小白"}),
        ("我养了一只cat。", {"cat"}),
        ("I have a 猫.", {"猫"}),
        # no animals
        ("I bought a dog for my mom.", set()),
        ("I have a cat allergy.", set()),
        ("I have a dog house and a hot dog.", set()),
        ("I have a horse riding lesson.", set()),
    ],
)
def test_every_animal_of_a_list_is_a_pet(text: str, pets: set[str]) -> None:
    assert {each.value for each in memories(turns(text)) if each.attribute == "pet"} == pets


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I moved to 上海.", "residence=上海"),
        ("I live in 上海", "residence=上海"),
        ("I live in 乌鲁木齐.", "residence=乌鲁木齐"),
        ("I work at 华为.", "employer=华为"),
        ("My name is 欧阳小明。", "name=欧阳小明"),
        ("I'm a 工程师.", "job_title=工程师"),
        ("I speak 中文.", "languages_spoken=中文"),
        ("I'm allergic to 花生.", "allergy=花生"),
        ("I go to 清华大学.", "school=清华大学"),
        ("My wife 小红 is a doctor.", "spouse=小红"),
        ("我在Google工作", "employer=Google"),
        ("我喜欢coffee", "likes=coffee"),
        ("我喜欢喝coffee", "likes=喝coffee"),
        ("我住在New York", "residence=New York"),
        ("我是software engineer", "job_title=software engineer"),
        ("我会说English。", "languages_spoken=English"),
        ("我对peanuts过敏", "allergy=peanuts"),
        ("我不吃beef", "diet=不吃beef"),
        ("我在学guitar", "learning=guitar"),
        ("我从Google跳槽到了Microsoft。", "employer=Microsoft"),
    ],
)
def test_sentences_may_mix_two_scripts(text: str, expected: str) -> None:
    assert expected in standing(text)


def test_opposites_must_name_each_other() -> None:
    one = Attribute(cardinality="many", opposite="leaves")
    with pytest.raises(InvalidAttribute, match="mend"):
        Attributes({"takes": one})
    with pytest.raises(InvalidAttribute, match="same cardinality"):
        Attributes({"takes": one, "leaves": Attribute(cardinality="one", opposite="takes")})
    both = Attributes({"takes": one, "leaves": Attribute(cardinality="many", opposite="takes")})
    assert both.place("takes") == both.place("leaves") == "leaves"

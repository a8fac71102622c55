"""What a few turns add up to: changes, lists, plans."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import permutations

import msgspec
import pytest
from conversing import BEGUN, memories, standing, turns

from memstream.schemas.attributes import Attribute, Attributes, InvalidAttribute


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
    ("texts", "stands"),
    [
        (("I work at Volvo as a designer.", "I quit my job at Volvo last week."), set()),
        (("I work at Volvo as a designer.", "I left Volvo."), set()),
        (("I work at Volvo as a designer.", "I retired last month."), set()),
        (("我在华为当工程师。", "我从华为离职了。"), set()),
        (("我在华为当工程师。", "我上个月退休了。"), set()),
        (
            ("I work at Volvo as a baker.", "I left Volvo and joined Lego."),
            {"employer=Lego", "job_title=baker"},
        ),
        (
            ("I work at Volvo as a baker.", "I left Volvo.", "I'm a designer."),
            {"job_title=designer"},
        ),
        (("I run every Tuesday.", "I run every Sunday.", "I stopped running."), set()),
        (("I play tennis every Tuesday.", "I stopped playing tennis."), set()),
        (("I play tennis every Tuesday.", "I don't play tennis."), set()),
        (("我每周二打网球。", "我不打网球了。"), set()),
        (("I play tennis every Tuesday.", "I stopped playing golf."), {"habit=play tennis"}),
    ],
)
def test_what_goes_with_a_value_ends_with_it(texts: tuple[str, ...], stands: set[str]) -> None:
    assert standing(*texts) == stands


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
        assert "plan" not in active
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


def test_opposites_must_name_each_other() -> None:
    one = Attribute(cardinality="many", opposite="leaves")
    with pytest.raises(InvalidAttribute, match="mend"):
        Attributes({"takes": one})
    with pytest.raises(InvalidAttribute, match="same cardinality"):
        Attributes({"takes": one, "leaves": Attribute(cardinality="one", opposite="takes")})
    both = Attributes({"takes": one, "leaves": Attribute(cardinality="many", opposite="takes")})
    assert both.place("takes") == both.place("leaves") == "leaves"

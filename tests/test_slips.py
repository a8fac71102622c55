"""What a speaker puts right at once, and what is denied only to say more."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from conversing import memories, standing, turns

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
    ("我开的是一辆特斯拉。哦不对，是比亚迪。", {"vehicle=比亚迪"}),
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
    ("I live in Paris. Actually, I live in Lyon.", {"residence=Lyon"}),
    ("I live in Paris. Actually I moved to Lyon last year.", {"residence=Lyon"}),
    ("I work at Lego. Well, actually I work at Volvo.", {"employer=Volvo"}),
    ("我住在广州。其实我去年搬到了珠海。", {"residence=珠海"}),
    ("I live in Paris. Scratch that. I live in Lyon.", {"residence=Lyon"}),
    ("我住在广州。说错了。我住在珠海。", {"residence=珠海"}),
    ("I moved to Paris. No, sorry, that was my brother.", {"residence=Paris"}),
    ("我住在广州，不对，是我姐姐。", {"residence=广州"}),
    ("我老家在长沙，不对，在株洲。", {"hometown=株洲"}),
    ("我女儿叫小雨，口误，叫小雪。", {"child=小雪"}),
    ("I go to bed at 11, I mean 10:30.", {"sleep_time=22:30"}),
    ("I was born on July 4, 1990, no, 1991.", {"birthday=1991-07-04"}),
    # what follows the right value is read too
    ("I live in Paris, no wait, Lyon, and work at Lego.", {"residence=Lyon", "employer=Lego"}),
    ("我住在广州，不对，珠海，在华为工作。", {"residence=珠海", "employer=华为"}),
    # the preposition tells which value was wrong
    ("I moved from Paris to Ghent, sorry, from Lyon.", {"residence=Ghent"}),
    ("I work at Lego as an engineer, no wait, at Volvo.", {"employer=Volvo", "job_title=engineer"}),
    ("I moved to Paris, no wait, my brother did.", {"residence=Paris"}),
    ("I'm a nurse, sorry, I mean a doctor.", {"job_title=doctor"}),
    ("I work at Lego in Oslo, sorry, at Volvo.", {"employer=Volvo"}),
    ("I have lived in Paris since 2019, no wait, Lyon.", {"residence=Lyon"}),
    ("I live in Paris with my wife, sorry, Lyon.", {"residence=Lyon"}),
    ("i live in paris, sorry, lyon", {"residence=lyon"}),
    ("I love tea, no, actually, coffee.", {"likes=coffee"}),
    ("I love my brother. Sorry, I meant my sister.", {"likes=my sister"}),
    ("My name is Bob — actually it's Rob.", {"name=Rob"}),
    ("My dog is Rex, sorry Max.", {"pet=Max"}),
    ("我喜欢咖啡，不，其实是茶。", {"likes=茶"}),
    ("我在腾讯上班，口误，阿里。", {"employer=阿里"}),
    ("我住在成都，不好意思，我是说重庆。", {"residence=重庆"}),
    ("I live in Rome. Correction: I lived in Rome.", set()),
    ("I live in Rome, sorry, I used to live in Rome.", set()),
    # no value, or none of the same kind, follows
    ("I work at Google. I meant well.", {"employer=Google"}),
    ("I live in Rome. Sorry, I meant to ask about hotels.", {"residence=Rome"}),
    ("I live in Rome. Sorry, I meant that as a joke.", {"residence=Rome"}),
    ("I live in Rome, sorry, typing on my phone.", {"residence=Rome"}),
    ("I like tea. Sorry, I meant to say hello first.", {"likes=tea"}),
    ("I like jam. I meant well.", {"likes=jam"}),
    ("I love tea, no, really.", {"likes=tea"}),
    ("I love tea, no, I do.", {"likes=tea"}),
    ("I love tea, no, seriously.", {"likes=tea"}),
    ("I live in Paris, sorry Anna.", {"residence=Paris"}),
    ("My dog is Rex, sorry I forgot.", {"pet=Rex"}),
    ("我住在北京，不对外开放。", {"residence=北京"}),
    ("我住在上海，不对劲。", {"residence=上海"}),
    ("我住在上海，哦不错。", {"residence=上海"}),
    ("我喜欢咖啡，不对花生过敏。", {"likes=咖啡"}),
    ("我喜欢咖啡，不，其实也还好。", {"likes=咖啡"}),
    ("我喜欢咖啡，不，非常喜欢。", {"likes=咖啡"}),
    ("我喜欢茶，不，真的。", {"likes=茶"}),
    # what is nearest before the marker is put right, and no rule reads it
    ("I work at Google in London, sorry, Paris.", {"employer=Google"}),
    ("I work at Google in London, no, Paris.", {"employer=Google"}),
    ("I work at Google in London. I meant Paris.", {"employer=Google"}),
    ("I live in Paris with Tom, sorry, Tim.", {"residence=Paris"}),
    ("My wife Anna works at Lego, sorry, Volvo.", {"employer=Volvo", "spouse=Anna"}),
    ("My name is not Bob, it's Rob.", {"name=Rob"}),
    ("I quit my job and moved to Paris, sorry, Lyon.", {"residence=Lyon"}),
    ("I love tea with milk, sorry, sugar.", {"likes=tea with milk"}),
    ("我喜欢红茶，抱歉，打扰了。", {"likes=红茶"}),
    ("我喜欢红茶，不，喝得不多。", {"likes=红茶"}),
    ("我住在广州，等等，让我想想。", {"residence=广州"}),
    ("我住在广州，抱歉，忘了说。", {"residence=广州"}),
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
        ("I live in Paris, no wait, my sister does.", "the user's sister"),
        ("I live in Paris. Sorry, I meant my sister.", "the user's sister"),
        ("I'm allergic to nuts. Sorry, I meant my son.", "the user's son"),
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
        ("I don't love tea, I just like it.", {"likes=tea"}),
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


def test_another_name_ends_the_one_denied() -> None:
    assert standing("My name is Bob.", "My name is not Bob, it's Rob.") == {"name=Rob"}

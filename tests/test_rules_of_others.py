"""What is told beside the speaker and is not of the speaker: pupils, friends with their tastes,
things of animals, roles in user stories, lines of machines; and what is near it and is."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from conversing import memories, standing, turns
from test_rules import facts, told

TABLE: list[tuple[str, set[str]]] = [
    # children one has, and those one teaches
    ("I have two kids in my class.", set()),
    ("I have three kids on my team.", set()),
    ("We have four children in our group.", set()),
    ("I have three kids to teach today.", set()),
    ("I have two kids in school.", {"children=two kids"}),
    ("I have three children at home.", {"children=three children"}),
    ("I have a son and a daughter.", {"children=a son and a daughter"}),
    ("I have two daughters and a son.", {"children=two daughters and a son"}),
    ("I have a son and a dog.", {"pet=dog"}),
    ("我有一个儿子和一个女儿。", {"children=一个儿子和一个女儿"}),
    ("我有两个儿子和一个女儿。", {"children=两个儿子和一个女儿"}),
    ("我有两个孩子在上小学。", {"children=两个孩子"}),
    ("我有两个孩子都上小学了。", {"children=两个孩子"}),
    ("我有两个孩子在我班上很调皮。", set()),
    ("我有两个孩子的照片。", set()),
    # who has a taste is not the speaker
    ("我喜欢猫的朋友。", set()),
    ("我喜欢猫的朋友来了。", set()),
    ("我讨厌香菜的朋友。", set()),
    ("我会说法语的同事走了。", set()),
    ("我喜欢我的朋友们做的菜。", set()),
    ("我喜欢妈妈做的菜。", {"likes=妈妈做的菜"}),
    ("我讨厌抽烟的人。", {"dislikes=抽烟的人"}),
    ("我和同学一起住在无锡。", {"residence=无锡"}),
    # what is of an animal or an illness
    ("我有一只猫的玩具。", set()),
    ("我有一条狗的照片。", set()),
    ("我有一只会说话的鹦鹉。", set()),
    ("我有一只猫。", {"pet=猫"}),
    ("我有高血压的家族史。", set()),
    ("我有高血压的毛病。", {"health_condition=高血压"}),
    ("我有高血压。", {"health_condition=高血压"}),
    ("I have two dogs to walk every day.", {"pet=two dogs"}),
    ("I have oatmeal every morning.", {"habit=have oatmeal @every morning"}),
    # roles of user stories
    ("As a user, I live in Ghent so that I can test.", set()),
    ("As an admin, I work at Lego.", set()),
    ("As a developer, I work at Lego so that I can log in.", set()),
    ("As a nurse, I work at Lego.", {"employer=Lego"}),
    ("As a student, I live in Leeds.", {"residence=Leeds"}),
    ("作为用户，我住在无锡，以便测试。", set()),
    ("作为一名医生，我在协和医院工作。", {"employer=协和医院"}),
    # lines of machines
    ("at com.Foo(Foo.java:10) I work at Lego", set()),
    ("at /srv/app.js:10:5 I live in Ghent", set()),
    ("W/Tag: I live in Ghent.", set()),
    ("DEBUG - I live in Ghent", set()),
    ("npm ERR! I live in Ghent.", set()),
    ('File "a.py", line 3, in main I live in Ghent', set()),
    ("I live in Ghent.\nat com.Foo(Foo.java:10)", {"residence=Ghent"}),
    ("- I live in Ghent", {"residence=Ghent"}),
    # in a manner of speaking
    ("I work for fun.", set()),
    ("I work as a team.", set()),
    ("I work as hard as I can.", set()),
    ("I work as a nurse.", {"job_title=nurse"}),
    ("I'm a nurse as well.", {"job_title=nurse"}),
    ("I'm married to my job.", set()),
    ("I'm divorced from reality.", set()),
    ("I'm married to Ida.", {"spouse=Ida"}),
    ("I'm married.", {"marital_status=married"}),
    ("I have a horse in this race.", set()),
    ("I have a cat in my dreams.", set()),
    ("I have a parrot on my shirt.", set()),
    ("I have a dog in my flat.", {"pet=dog"}),
    ("We play catch-up every morning.", set()),
    ("I take notes every morning.", set()),
    ("We play catch every Sunday.", {"habit=play catch @every sunday"}),
    ("I'm allergic to nonsense.", set()),
    ("I'm allergic to Mondays and walnuts.", {"allergy=walnuts"}),
    ("我对加班过敏。", set()),
    ("我对花生过敏。", {"allergy=花生"}),
    # teams and branches that are named for a place, and what is named for its owner
    ("I moved to the Berlin team.", set()),
    ("I moved to the Paris branch last month.", set()),
    ("I moved to the Bay Area.", {"residence=Bay Area"}),
    ("I work at Volvo's London office.", {"employer=Volvo"}),
    ("I work at McDonald's.", {"employer=McDonald's"}),
    ("我搬到新的部门了。", set()),
    ("我搬到无锡了。", {"residence=无锡"}),
    ("我是老师的学生。", {"job_title=老师的学生"}),
    ("我是小米的工程师。", {"employer=小米", "job_title=工程师"}),
    # how something is, which does not tell what it is
    ("My team is moving to Ghent.", set()),
    ("My phone is broken.", set()),
    ("My budget is tight.", set()),
    ("My shift is ending.", set()),
    ("My phone is a Pixel.", {"phone=Pixel"}),
    ("My shift is evening.", {"shift=evening"}),
    ("My team is Platform Engineering.", {"team=Platform Engineering"}),
    ("我手机是坏的。", set()),
    ("我的手机是小米。", {"手机=小米"}),
    # near a firm, or there for a time, or trained for it
    ("我在小米附近上班。", set()),
    ("我在公司对面的银行上班。", {"employer=银行"}),
    ("我在小米上班。", {"employer=小米"}),
    ("我在小米干了五年，后来去了美的。", set()),
    ("我在小米干了五年了。", {"employer=小米"}),
    ("I'm an engineer by training.", set()),
    ("I'm an electrician by trade.", {"job_title=electrician"}),
    # not then, or once
    ("I go to the gym except on Mondays.", set()),
    ("I run but not every day.", set()),
    ("I run every day.", {"habit=run @every day"}),
    ("我七点起不来。", set()),
    ("我六点起床了。", set()),
    ("我改成六点起床了。", {"wake_time=06:00"}),
    ("我每天六点就起来了。", {"wake_time=06:00"}),
    ("我今天吃素。", set()),
    ("我现在吃素。", {"diet=吃素"}),
    ("I have diabetes in my family.", set()),
    ("We have asthma on my mother's side.", set()),
    ("I have diabetes.", {"health_condition=diabetes"}),
    ("I'm Dutch at heart.", set()),
    ("I'm Dutch.", {"nationality=Dutch"}),
    # where a verb ends
    ("我爱上海。", {"likes=上海"}),
    ("我喜欢上网和看书。", {"likes=上网", "likes=看书"}),
    ("我爱上了爬山。", {"likes=爬山"}),
    ("我做了十年老师。", set()),
    ("我做老师。", {"job_title=老师"}),
    ("我搬到第二排了。", set()),
    ("我妹妹和妹夫住在苏州。", {"用户的妹妹: residence=苏州"}),
    # relatives, and homes and animals in other words
    ("I have a brother who is a dentist.", {"the user's brother: job_title=dentist"}),
    (
        "I have a son named Max who is allergic to nuts.",
        {"child=Max", "the user's son: allergy=nuts"},
    ),
    ("I have a friend who lives in Ghent.", set()),
    ("I have a brother who said I live in Ghent.", set()),
    ("I live in a small town called Dinan.", {"residence=Dinan"}),
    ("I live in a small town.", set()),
    ("我住在一个叫周庄的小镇。", {"residence=周庄"}),
    ("我和老公养了两只猫。", {"pet=两只猫"}),
    ("我和朋友养了一只猫。", set()),
    ("我会一点法语。", {"languages_spoken=法语"}),
    ("我会英语老师的课。", set()),
    ("我把咖啡戒了。", {"-drinks=咖啡"}),
    ("我爸把酒戒了。", set()),
    # how a project is written
    ("The bug is in src/app.py.", set()),
    ("问题在 src/app.py 里。", set()),
    ("The error messages are in src/errors.py.", {"path=src/errors.py @error messages"}),
    ("The tests are in tests/unit.", {"path=tests/unit @tests"}),
    ("We use four spaces.", {"convention=four spaces"}),
    ("We use tabs for navigation.", set()),
    ("Use snake_case throughout the codebase.", {"convention=snake_case"}),
    ("Please don't use tabs in this repo.", {"convention=no tabs"}),
    ("Use tabs.", set()),
    # asked to be kept
    ("Add this to your notes: I live in Ghent.", {"residence=Ghent"}),
    ("Save this: I'm allergic to walnuts.", {"allergy=walnuts"}),
    ("Please note that I'm vegan.", {"diet=vegan"}),
    ("Remember: I live in Ghent.", {"residence=Ghent"}),
    ("Add this to the tests: I live in Ghent.", set()),
    ("把这个记下来：我住在无锡。", {"residence=无锡"}),
]


@pytest.mark.parametrize(("text", "expected"), TABLE, ids=[text[:40] for text, _ in TABLE])
def test_only_what_is_of_the_speaker_is_told_of_the_speaker(text: str, expected: set[str]) -> None:
    assert told(text) == expected


WIDE = {
    "Ｉ ｌｉｖｅ ｉｎ Ｇｈｅｎｔ.": "residence=Ghent",
    "我今年３５岁。": "age=35",
    "我在ＩＢＭ工作。": "employer=IBM",
}


@pytest.mark.parametrize(("text", "expected"), WIDE.items())
def test_full_width_letters_are_read_and_quoted_as_they_were_written(
    text: str, expected: str
) -> None:
    assert told(text) == {expected}
    for each in facts(text):
        assert each.quote == text
        assert each.span is not None
        assert each.span[1] <= len(text)


GONE = [
    (("I like tea.", "I can't stand tea anymore."), {"dislikes=tea"}),
    (("I like tea.", "I can't drink tea anymore."), {"likes=tea"}),
    (("我喜欢喝茶。", "我现在不爱喝茶了。"), {"dislikes=喝茶"}),
    (("我喜欢茶。", "我老婆不爱喝咖啡。"), {"likes=茶", "dislikes=喝咖啡"}),
    (("We use tabs.", "We use two spaces now."), {"convention=two spaces"}),
    (("We use tabs.", "We don't use tabs anymore."), set()),
    (("We use single quotes.", "We use two spaces."),
     {"convention=single quotes", "convention=two spaces"}),
    (("I drive a Honda Civic.", "The Civic is gone, we sold it."), set()),
    (("I drive a Civic.", "My old Civic is gone because I scrapped it last week."), set()),
    (("I drive a Civic.", "The Civic is gone."), {"vehicle=Civic"}),
    (("I drive a Civic.", "The Volvo is gone, we sold it."), {"vehicle=Civic"}),
    (("I have three cats: Miso, Tofu and Rio.", "One of my cats died."),
     {"pet=three cats", "pet=Miso", "pet=Tofu", "pet=Rio"}),
    (("My girlfriend is called Mia.", "Mia and I got married."),
     {"spouse=Mia", "marital_status=married"}),
]  # fmt: skip


@pytest.mark.parametrize(("texts", "expected"), GONE, ids=[" / ".join(each) for each, _ in GONE])
def test_what_is_over_is_what_was_named(texts: tuple[str, ...], expected: set[str]) -> None:
    assert standing(*texts) == expected
    assert memories(turns(*texts))

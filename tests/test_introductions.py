"""People and animals that a turn brings in, their names and what is said of them; mixed scripts."""

from __future__ import annotations

import pytest
from conversing import memories, standing, turns


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
        # what is said of him or her
        ("I have a brother. He lives in Ghent.", {"residence=Ghent"}),
        ("My sister visited us. She's a doctor.", {"job_title=doctor"}),
        ("I have a wife and a daughter. She works at Lego.", set()),
        ("My brother met Tom. He works at Lego.", set()),
        ("I have two brothers. He works at Lego.", set()),
        ("我有个妹妹。她在华为工作。", {"employer=华为"}),
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
    kinds = {
        "dog",
        "cat",
        "puppy",
        "two cats",
        "parrot",
        "狗",
        "猫",
        "仓鼠",
        "a daughter and a son",
    }
    assert {each for each in found if each.partition("=")[2] not in kinds} == named


def test_what_follows_a_name_is_said_of_who_has_it() -> None:
    for text, subject in (
        ("I have a brother. His name is Tom and he lives in Ghent.", "the user's brother"),
        ("我有个弟弟。他叫小明，住在武汉。", "用户的弟弟"),
        ("I have a brother. He lives in Ghent.", "the user's brother"),
        ("我有个弟弟。他住在武汉。", "用户的弟弟"),
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
        (
            "I have two cats, Miso and Tofu, and a parrot called Rio.",
            {"two cats", "Miso", "Tofu", "Rio"},
        ),
        ("I have two cats named Miso and Tofu.", {"two cats", "Miso", "Tofu"}),
        ("I have a dog named Rex and a cat.", {"Rex", "cat"}),
        ("I have a dog, Rex, and a cat, Tom.", {"Rex", "Tom"}),
        ("I have a dog, my wife has a cat, Tom.", {"dog"}),
        ("我养了一只猫叫豆豆,还有一条金毛。", {"豆豆", "金毛"}),
        ("我养了一只猫叫豆豆，还有一条叫大黄的狗。", {"豆豆", "大黄"}),
        ("我家有一只狗，叫旺财。", {"旺财"}),
        ("我有两只猫，叫豆豆和花花。", {"两只猫", "豆豆", "花花"}),
        # no animals
        ("I bought a dog for my mom.", set()),
        ("I have a cat allergy.", set()),
        ("I have a dog house and a hot dog.", set()),
        ("I have a horse riding lesson.", set()),
    ],
)
def test_every_animal_of_a_list_is_a_pet(text: str, pets: set[str]) -> None:
    assert {
        each.value
        for each in memories(turns(text))
        if each.attribute == "pet" and each.subject == "user"
    } == pets


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("My cat is called Tom.", "The user has a cat named Tom."),
        ("My dog Rex loves the beach.", "The user has a dog named Rex."),
        ("I have two cats, Miso and Tofu.", "The user has a cat named Tofu."),
        ("我的猫叫汤姆。", "用户养了一只叫汤姆的猫。"),
        ("我家有一只狗，叫旺财。", "用户养了一只叫旺财的狗。"),
    ],
)
def test_a_name_is_told_with_the_animal_that_has_it(text: str, told: str) -> None:
    assert told in {each.text for each in memories(turns(text))}


@pytest.mark.parametrize(
    ("before", "text", "left"),
    [
        ("I have a dog.", "My dog died last month.", set()),
        ("I have a dog and a cat.", "Sadly, my dog passed away.", {"pet=cat"}),
        ("I have a dog named Rex.", "Rex died yesterday.", set()),
        ("I have a dog named Rex.", "My dog Rex passed away yesterday.", set()),
        ("I have a dog.", "I gave my dog away.", set()),
        ("I have a dog.", "We had to give up our dog because of the move.", set()),
        ("我养了一只叫旺财的狗。", "旺财上个月去世了。", set()),
        ("我养了一只狗。", "我家的狗上个月去世了。", set()),
        ("我养了一只狗。", "我把狗送人了。", set()),
        # it lives
        ("I have a dog.", "My dog almost died.", {"pet=dog"}),
        ("I have a dog.", "Has my dog died?", {"pet=dog"}),
        ("I have a dog.", "My sister's dog died.", {"pet=dog"}),
        ("I have a dog.", "I gave my dog a bath.", {"pet=dog"}),
        ("我养了一只狗。", "我朋友的狗去世了。", {"pet=狗"}),
        ("我养了一只狗。", "我的狗没有死。", {"pet=狗"}),
    ],
)
def test_an_animal_that_died_or_was_given_away_is_no_pet(
    before: str, text: str, left: set[str]
) -> None:
    assert standing(before, text) == left


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


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Anna is my wife.", {"spouse=Anna"}),
        ("Rex is my dog.", {"pet=Rex"}),
        ("Tom is my best friend.", {"friend=Tom"}),
        ("Blue is my favorite color.", {"favourite_color=Blue"}),
        ("小王是我老婆。", {"spouse=小王"}),
        ("旺财是我的狗。", {"pet=旺财"}),
        ("张伟是我老板，人很好。", {"manager=张伟"}),
        ("蓝色是我最喜欢的颜色。", {"favourite_color=蓝色"}),
        ("我有个同学叫张伟，在谷歌工作。", {"friend=张伟", "employer=谷歌"}),
        ("Mia is my girlfriend. She lives in Ghent.", {"partner=Mia", "residence=Ghent"}),
        ("My brother's name is Tom. He works at Lego.", {"sibling=Tom", "employer=Lego"}),
        ("My sister Mia lives in Ghent. She works at Lego.",
         {"sibling=Mia", "residence=Ghent", "employer=Lego"}),
        ("My sister met Mia. She works at Lego.", set()),
        # several at once
        ("My kids Anna and Leo love tea.", {"child=Anna", "child=Leo"}),
        ("I have three sons: Tom, Max and Leo.",
         {"children=three sons", "child=Tom", "child=Max", "child=Leo"}),
        ("My brothers are Tom and Max.", {"sibling=Tom", "sibling=Max"}),
        # nobody is named, or somebody of another's
        ("Anna is my sister's friend.", set()),
        ("Today is my wife's birthday.", {"birthday=03-12"}),
        ("He is my brother.", set()),
        ("Is Anna my wife?", set()),
        ("That is my favorite color.", set()),
        ("Pizza used to be my favorite food.", set()),
        ("My brothers are Tall and Loud.", set()),
        ("他是我哥哥。", set()),
        ("今天是我生日。", {"birthday=03-12"}),
        ("这是我最喜欢的歌。", set()),
        ("小王是我老婆吗？", set()),
    ],
)  # fmt: skip
def test_a_name_may_come_first_and_several_together(text: str, named: set[str]) -> None:
    assert standing(text) == named
    for each in memories(turns(text)):
        assert each.quote in text

"""Names written in small letters, and what is no name there."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))

from test_rules import READER, told

from memstream.processors.casing import with_names

BOOK = READER.books["en"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("my name is sam", {"name=Sam"}),
        ("call me jo", {"name=Jo"}),
        ("call me jo, everyone does", {"name=Jo"}),
        ("please call me max.", {"name=Max"}),
        ("my name's grace and i like tea", {"name=Grace", "likes=tea"}),
        ("my dog is called lucky", {"pet=Lucky @dog"}),
        ("my wife is called hana", {"spouse=Hana"}),
        ("My dog is called rex.", {"pet=Rex @dog"}),
        ("i have a cat called misty and a dog named rex", {"pet=Misty @cat", "pet=Rex @dog"}),
        ("my kids are called ana and ben", {"child=Ana", "child=Ben"}),
        ("my dog is a border collie called fly", {"pet=Fly @border collie"}),
        ("we got a kitten and named her poppy", {"pet=Poppy @kitten"}),
        ("i got a puppy, his name is biscuit", {"pet=Biscuit @puppy"}),
        ("i'm a software engineer at stripe", {"job_title=software engineer", "employer=Stripe"}),
        ("i got married to omar last june", {"spouse=Omar"}),
        ("my sister lives in leeds", {"the user's sister: residence=leeds"}),
    ],
)
def test_a_name_is_known_without_its_capital_letter(text: str, expected: set[str]) -> None:
    assert told(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "i called customer support",
        "he called me back",
        "my dog is called back by the breeder",
        "the function is called parse",
        "my son is ill",
        "my name is unusual",
        "my wife's name is hard to spell",
        "we named it after my aunt",
        "the meeting was called off",
        "call me later",
        "Call me anytime!",
        "please call me asap",
        "call me paranoid",
        "call me sloppy but this looks wrong",
        "call me old-fashioned",
        "call me lazy.",
        "my name is irish",
        "my name is everywhere",
        "my name is misspelled",
        "my dog's name is japanese",
        "my son's name is biblical",
        "my brother is called often",
        "i got married to soon",
    ],
)
def test_what_follows_is_not_always_a_name(text: str) -> None:
    assert told(text) == set()


def test_who_writes_capitals_writes_names_with_them() -> None:
    text = "My friend Ana has a tool called make."
    assert with_names(text, BOOK) == text


@given(st.lists(st.sampled_from("my dog cat is are called named name , . and rex I it".split())))
def test_nothing_but_the_case_changes(words: list[str]) -> None:
    text = " ".join(words)
    assert with_names(text, BOOK).lower() == text.lower()

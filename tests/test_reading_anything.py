"""Reading never fails, whatever words of its own rules a sentence is made of."""

from __future__ import annotations

import sys
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))

from test_rules import READER, turn

from memstream.processors.rule_files import Language

COMMON: dict[Language, str] = {
    "en": "I my I'm we Anna and , . but not no the a in at to for since OK ? ! - ( ) don't now "
    "because until Lyon Volvo last week yesterday",
    "zh": "我 我的 我们 妹妹 ， 。 和 不 没 了 在 从 到 去年 杭州 华为 吗 ？ 的 是 因为 现在 以前",
}


def words_of(language: Language) -> list[str]:
    book = READER.books[language]
    said = chain.from_iterable(chain.from_iterable(each.runs) for each in book._sequences)
    tables = (*book.lists.values(), *book._grammar.values())
    listed = chain.from_iterable(entries[:10] for entries in tables)
    return sorted({*chain.from_iterable(said), *listed})


@pytest.mark.parametrize("language", ["en", "zh"])
@settings(max_examples=400)
@given(data=st.data())
def test_any_words_are_read(language: Language, data: st.DataObject) -> None:
    either = st.sampled_from(COMMON[language].split()) | st.sampled_from(words_of(language))
    said = data.draw(st.lists(either, min_size=1, max_size=14))
    text = (" " if language == "en" else "").join(said)
    for each in READER.read(turn(data.draw(st.sampled_from((text, text.lower()))))):
        assert each.text


@pytest.mark.parametrize("text", ["I'm doing OK, cheers for asking.", "I'm OK,", "We like, and."])
def test_a_list_with_nothing_in_it_is_read(text: str) -> None:
    READER.read(turn(text))

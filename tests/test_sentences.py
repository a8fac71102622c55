"""Where sentences begin and end, and what in them is not the speaker's own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstream.processors.sentences import LONGEST, language_of, sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Dr. Ohm met J. Watt. They left.", ["Dr. Ohm met J. Watt.", "They left."]),
        ("I work at Foo Inc. and like it.", ["I work at Foo Inc. and like it."]),
        ("I work at Foo Inc. My desk is blue.", ["I work at Foo Inc.", "My desk is blue."]),
        ("I work for the U.S. Coast Guard. I do.", ["I work for the U.S. Coast Guard.", "I do."]),
        ("I live in the U.K. It rains.", ["I live in the U.K.", "It rains."]),
        ("I live on Elm St. We like it.", ["I live on Elm St.", "We like it."]),
        ("We sail to St. Lucia.", ["We sail to St. Lucia."]),
        ("It is at 3 p.m. Friday.", ["It is at 3 p.m. Friday."]),
        ("It is at 3 p.m. Bring tea.", ["It is at 3 p.m.", "Bring tea."]),
        (
            "See No. 7 first. Is it? No. It is not.",
            ["See No. 7 first.", "Is it?", "No.", "It is not."],
        ),
        ("Fruit, e.g. Bramley apples.", ["Fruit, e.g. Bramley apples."]),
        ("so am I. we agree", ["so am I.", "we agree"]),
        ("Version 3.12 of app.toml is out.", ["Version 3.12 of app.toml is out."]),
        ("他来了。她走了！真的？好…", ["他来了。", "她走了！", "真的？", "好…"]),
        ('He said "Go." Then he left.', ['He said "Go."', "Then he left."]),
        ("first line\nsecond line", ["first line", "second line"]),
        ("Hm... maybe not", ["Hm...", "maybe not"]),
        ("  \n ", []),
    ],
)
def test_sentences_end_where_a_reader_would_end_them(text: str, expected: list[str]) -> None:
    assert [each.text for each in sentences(text)] == expected


def test_code_and_quoted_lines_are_of_their_own_kind() -> None:
    text = "Look.\n> I said so.\n```py\nx = 1\n\ny = 2\n```\nDone."
    found = [(each.kind, each.text) for each in sentences(text)]
    assert found == [
        ("said", "Look."),
        ("quoted", "> I said so."),
        ("code", "```py\nx = 1\n\ny = 2\n```"),
        ("said", "Done."),
    ]


def test_a_code_block_that_is_never_closed_runs_to_the_end() -> None:
    assert [each.kind for each in sentences("See:\n```\nx. y.\nz")] == ["said", "code"]


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ('She said "I know" twice.', ['"I know"']),
        ("她说“我知道”。", ["“我知道”"]),
        ("They say 'it's mine' a lot.", ["'it's mine'"]),
        ("It's the dog's bowl.", []),
        ('A 5" screen and a 6" one.', []),
        ('He began "and never ended', ['"and never ended']),
    ],
)
def test_quotations_are_marked(text: str, quoted: list[str]) -> None:
    (found,) = sentences(text)
    assert [found.text[start:end] for start, end in found.quotes] == quoted


def test_a_quotation_may_span_sentences() -> None:
    first, second = sentences('He said "I left. I am free" and went.')
    assert [second.text[start:end] for start, end in second.quotes] == ['I am free"']
    assert first.quotes == ((8, 16),)


def test_hidden_ranges_belong_to_no_sentence() -> None:
    text = "Keep this. Drop this. Keep that."
    assert [each.text for each in sentences(text, [(11, 21)])] == ["Keep this.", "Keep that."]


@pytest.mark.parametrize(
    ("text", "language"),
    [("hello", "en"), ("你好", "zh"), ("我用 pnpm", "zh"), ("My name is 李雷", "en"), ("", "en")],
)
def test_the_language_is_that_of_most_words(text: str, language: str) -> None:
    assert language_of(text) == language


def test_an_endless_sentence_is_cut() -> None:
    found = sentences("word " * 2000)
    assert max(len(each.text) for each in found) <= LONGEST
    assert " ".join(each.text for each in found) == ("word " * 2000).strip()


@given(
    st.text(alphabet=st.sampled_from("ab .!?。\n\"“”'`>，…I"), max_size=200),
    st.lists(st.tuples(st.integers(-5, 250), st.integers(-5, 250)), max_size=3),
)
def test_every_sentence_stands_in_its_text(text: str, hidden: list[tuple[int, int]]) -> None:
    last = 0
    for each in sentences(text, hidden):
        assert each.text == text[each.start : each.end] == each.text.strip() != ""
        assert each.start >= last
        last = each.end
        assert not any(a < each.end and b > each.start for a, b in hidden if a < b and b > 0)
        for start, end in each.quotes:
            assert 0 <= start < end <= len(each.text)


@given(st.text(max_size=300))
def test_nothing_visible_is_lost(text: str) -> None:
    found = "".join("".join(each.text.split()) for each in sentences(text))
    assert found == "".join(text.split())

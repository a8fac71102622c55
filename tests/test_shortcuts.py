"""Fast tests that spare slow ones must never say no where the slow one says yes."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstream.processors import enrich, episodes, rewordings, rules, sentences, talk, words
from memstream.processors.animals import Animals
from memstream.processors.clauses import Speaker
from memstream.processors.extract import Reader
from memstream.processors.repairs import Repairs
from memstream.processors.rule_files import Language
from memstream.processors.rules import Rulebook
from memstream.processors.sentence_patterns import AnyPhrase
from memstream.processors.statements import Statements
from memstream.schemas.attributes import builtin
from memstream.schemas.ids import derived_id

BOOKS = Reader(builtin()).books
PIECES = (
    "I'll ’ll 'll 'llama well-known -x a-b- --c _ _d` / ` ü İ K ſ don't 3rd @ +49 170 123 45 67 "
    "a@example.com 555-123 4567 allergic Debt LOAN hospital's mortgage a.m. Dr. ... … ?! 。 ！” I'm"
).split(" ")


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=12), st.sampled_from(" -'"))
def test_the_words_of_a_sentence_are_the_same_either_way(parts: list[str], joint: str) -> None:
    lower = joint.join(parts).lower()
    slow = set(rules._EN_WORD.findall(lower.replace("’", "'")))
    assert set(rules._english_words(lower)) == slow


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=12), st.sampled_from(" -("))
def test_what_is_private_may_be_private(parts: list[str], joint: str) -> None:
    text = joint.join(parts)
    if text.isascii() and any(form.search(text) for _, form in enrich._PRIVATE):
        assert enrich._may_be_private(text.lower())


@pytest.mark.parametrize("number", range(3))
def test_every_word_of_a_private_form_may_be_private(number: int) -> None:
    stems = (
        ("a@b.c", "0123456789", "+1 (23) 45678 9"),
        tuple(enrich._PERHAPS_PRIVATE[1:15]),
        tuple(enrich._PERHAPS_PRIVATE[15:]),
    )[number]
    kind, form = enrich._PRIVATE[number]
    for stem in stems:
        assert form.search(f"x {stem} y"), (kind, stem)
        assert enrich._may_be_private(f"x {stem} y")


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=12))
def test_every_end_of_a_sentence_begins_with_its_sign(parts: list[str]) -> None:
    text = " ".join(parts)
    for match in sentences._END.finditer(text):
        assert sentences._END_SIGN.match(text, match.start())


SAID: tuple[tuple[Language, str], ...] = (
    ("en", "I have been living in Oslo for years."),
    ("en", "My favourite colour is green, and my wife Anna works as a nurse."),
    ("en", "I dont eat meat and I can't stand cilantro."),
    ("en", "We've moved to Bergen because rents are lower."),
    ("en", "My birthday is May 3rd; I usually get up at 6:30."),
    ("en", "We use `uv run pytest` to run the tests, not tox."),
    ("zh", "我住在杭州，在阿里做工程师。"),
    ("zh", "我对花生过敏，而且不吃辣。"),
    ("zh", "我老婆叫小美，我们养了一只猫叫咪咪。"),
)


@pytest.mark.parametrize(("language", "text"), SAID)
def test_a_trigger_whose_rule_fits_is_possible(
    language: Language, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read with every trigger there is, and only with those that are possible."""
    book = BOOKS[language]
    statements = Statements(book, builtin())
    (sentence,) = sentences.sentences(text)
    anchor = datetime(2024, 5, 6, tzinfo=UTC)

    def read() -> list[tuple[str, str, str]]:
        said = statements.read(sentence, Speaker("user"), anchor, correcting=False)
        return [(fact.rule.id, fact.attribute, fact.value) for fact in said.facts]

    narrow = read()
    monkeypatch.setattr(Rulebook, "possible", lambda book, triggers, words: list(triggers))
    assert narrow == read()
    assert narrow


def test_a_trigger_alone_is_not_possible() -> None:
    book = BOOKS["en"]
    found = book.triggers("I was born.", "i was born.")
    assert found == ["born"]
    assert book.possible(found, ["born"]) == []
    assert book.possible(found, ["i", "was", "born", "in", "oslo"]) == ["born"]


def test_a_derived_id_is_the_uuid_of_its_parts() -> None:
    from uuid import UUID, uuid5

    for number in range(40):
        parts = ("acme/user:ä", str(number), "memory", "é", "1")[: 1 + number % 5]
        name = "".join(f"{len(part)}:{part}" for part in parts)
        namespace = UUID("6f1f6b1e-6d5c-5b0e-9a53-0c7b4a1d2e90")
        assert derived_id(*parts) == str(uuid5(namespace, name))


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=12), st.sampled_from(" -("))
def test_a_plain_text_has_the_same_words_by_every_form(parts: list[str], joint: str) -> None:
    text = joint.join(parts)
    found = [match.group() for match in words._words_in(text, english=True)]
    assert found == [match.group() for match in words._ENGLISH.finditer(text)]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("table", ["corrections", "fiction", "jokes", "second_person_claims"])
def test_every_phrase_is_found_by_its_sign(language: Language, table: str) -> None:
    phrases = BOOKS[language].grammar(table)
    test = AnyPhrase(phrases, language)
    for phrase in phrases:
        assert test.search(f"x {phrase.lower()} y")
    assert test.search("x y") is None


TALK = [*sorted(BOOKS["en"].phrase_list("small_talk")._by_first), "well", "that", "so", "much"]


@given(st.lists(st.sampled_from([*TALK, "bread", "St.", "I'm", "—"]), min_size=1, max_size=7))
def test_two_words_that_begin_no_small_talk_are_none(parts: list[str]) -> None:
    text = " ".join(parts)
    book = BOOKS["en"]
    whole = episodes._is_all_small_talk(words.split_words("en", text), book)
    assert episodes.is_small_talk(text, book) == (whole and len(text) <= 60)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_slip_is_put_right_after_a_pause(language: Language) -> None:
    book = BOOKS[language]
    repairs = Repairs(book)
    for marker in (*book.grammar("repairs"), *book.grammar("repairs_before_comma")):
        for pause in (",", ";", "，", "；", "—", "–", "…", "...", "--", " - ", " ", "."):
            text = f"x{pause}{marker}, y"
            found = repairs._within.search(text) is not None
            assert not found or repairs._may_hold_marker(text)
    assert not repairs._may_hold_marker("x y")


PARTED: tuple[tuple[Language, str], ...] = (
    ("en", "My dog Rex died last month."),
    ("en", "Our old cat passed away."),
    ("en", "My parrot has sadly crossed the rainbow bridge."),
    ("en", "We had to put our cat down."),
    ("en", "I gave my rabbit to my neighbour."),
    ("en", "We’ve rehomed our dog."),
    ("en", "My cat ran away yesterday."),
    ("en", "I sold my horse."),
    ("en", "I lost my hamster."),
    ("zh", "我的狗旺财去世了。"),
    ("zh", "我家猫走丢了。"),
    ("zh", "我上周把猫送人了。"),
    ("zh", "我把狗卖了。"),
)


@pytest.mark.parametrize(("language", "text"), PARTED)
def test_who_parts_from_an_animal_may_part(language: Language, text: str) -> None:
    animals = Animals(BOOKS[language])
    assert any(form.match(text) for form in animals._parted)
    assert animals._may_part(text)
    assert not animals._may_part("I met a dog." if language == "en" else "我遇到一只狗。")


def test_every_relation_is_a_sign_of_a_name_in_passing() -> None:
    statements = Statements(BOOKS["en"], builtin())
    for relation in BOOKS["en"].relations:
        assert statements._names_in_passing(f"I met my {relation} Anna there."), relation
    assert not statements._names_in_passing("I met Anna there.")


@pytest.mark.parametrize("who", sorted(rewordings._DOCTORS))
def test_every_doctor_may_have_said_it(who: str) -> None:
    told = rewordings.plainly(f"My {who} says I have asthma.", "en")
    assert told == "I have asthma."
    assert rewordings.plainly(f"My {who.capitalize()} said that I'm allergic to nuts.", "en")


_ENDS = re.compile(
    r"(?<=[.…])(?<!\bDr\.)(?<!\bMr\.)(?<!\bMs\.)(?<!\bMrs\.)(?<!\bSt\.)(?<!\bProf\.)"
    r"(?<!\be\.g\.)(?<!\bi\.e\.)[\"'”’)]*\s+|(?<=[。！？!?])(?![。！？!?])[\"'”’)」]*|\n+"
)
"""Where a turn is split, told by what stands before the place."""


@given(
    st.lists(st.sampled_from([*PIECES, "\n", ")", "”", "e.g.", "?!", "」"]), max_size=12),
    st.sampled_from(("", " ", "\n", " \n")),
)
def test_a_turn_is_split_in_the_same_places(parts: list[str], joint: str) -> None:
    text = joint.join(parts)
    assert list(talk._split(text)) == _ENDS.split(text)

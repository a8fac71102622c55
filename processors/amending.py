"""Reads turns that do nothing but put the one before right: "Sorry, I meant Lyon", 说错了，是上海.

Here only what they say is read: the value, the value it replaces where that is said, and the
attributes it may be of, by the kinds of value that the rules ask for. Which claim is meant is found
in ``amendments``, when the turn before is known.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from memstream.processors.amendments import ANY
from memstream.processors.repairs import Repairs, without_dates
from memstream.processors.rule_files import Language, Rule
from memstream.processors.rules import Rulebook
from memstream.processors.sentences import language_of
from memstream.processors.values import read_values
from memstream.processors.words import split_words
from memstream.schemas.attributes import Attributes
from memstream.schemas.memories import Assertion

LONGEST = 120
"""Characters; a longer turn does more than put something right."""


class Amending(msgspec.Struct, frozen=True):
    """What a turn puts right: the value, the wrong one (empty where it is not said), and the
    attributes the value may be of."""

    value: str
    wrong: str
    attributes: tuple[str, ...]


class Amendments:
    """Finds them in both languages."""

    def __init__(
        self,
        books: Mapping[Language, Rulebook],
        repairs: Mapping[Language, Repairs],
        attributes: Attributes,
    ) -> None:
        self._books = books
        self._repairs = repairs
        self._kinds = {language: _kinds_of(book) for language, book in books.items()}
        self._attributes = attributes

    def read(self, text: str) -> Amending | None:
        """What a turn without a statement of its own puts right; None for most."""
        if len(text) > LONGEST:
            return None
        language = language_of(text)
        said = self._repairs[language].amendment(text)
        if said is None:
            return None
        right, wrong = said
        book = self._books[language]
        words = split_words(language, right)
        is_place = book.phrase_list("places").length_at(words.norm, 0) == len(words)
        values: dict[str, str] = {}
        for attribute, kind, rule in self._kinds[language]:
            if is_place and kind in _NO_PLACES:
                continue
            found = read_values(right, words, 0, len(words), kind, rule, book)
            if len(found) == 1 and found[0].end == len(right) and found[0].value in right:
                values[attribute] = found[0].value
        if not values:
            return None
        return Amending([*values.values()][-1], wrong, tuple(sorted(values)))


_NO_PLACES = frozenset(("employer", "company", "name", "job"))


def _kinds_of(book: Rulebook) -> list[tuple[str, str, Rule]]:
    """Every attribute with every kind of value it is read as, and a rule that does."""
    found: dict[tuple[str, str], Rule] = {}
    relations = sorted(set(book.relations.values()))
    for rule in book.rules:
        if rule.fixed or rule.polarity == "negative" or rule.dates == "value" or rule.project:
            continue
        if rule.negative == "needs" or not rule.attribute or rule.value in _ACTIONS:
            continue
        named = [rule.attribute.replace("{topic}", ANY)]
        if rule.attribute == "{relation}":
            named = relations
        elif rule.attribute == "{topic}":
            details = [book.labels.get(each, each) for each in book.lists.get("detail", ())]
            named = [re.sub(r"[\s.-]+", "_", each) for each in details]
        for attribute in named:
            found.setdefault((attribute, rule.value), rule)
    return [(attribute, kind, rule) for (attribute, kind), rule in found.items()]


_ACTIONS = frozenset(("action", "habit", "former_habit", "sentence", "time", "number"))


def ends_turn(assertion: Assertion) -> bool:
    """Whether a claim's value is the last that its turn names, so that the next turn may put it
    right without saying what it is about."""
    whole = (assertion.context or assertion.quote).rstrip()
    if not assertion.value or not whole.endswith(assertion.quote):
        return False
    place = whole.lower().rfind(assertion.value.lower())
    rest = whole[place + len(assertion.value) :]
    if place < 0:
        return False
    if assertion.language == "zh":
        return len(_SIGNS.sub("", rest)) <= _MOST_CHARACTERS
    words = without_dates(rest).split()
    return len(words) <= _MOST_WORDS and not any(each[:1].isupper() for each in words)


_SIGNS = re.compile(r"[\W_]")
_MOST_CHARACTERS, _MOST_WORDS = 4, 3

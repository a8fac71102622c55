"""What sets a value apart from the others of its slot: "in Rome in winter, in Oslo in summer"."""

from __future__ import annotations

import re

import msgspec

from memstream.processors.clauses import Clause, qualifier_at, skip
from memstream.processors.dates import DateSpan
from memstream.processors.facts import Fact
from memstream.processors.rule_files import Rule
from memstream.processors.rules import Rulebook
from memstream.processors.words import Words

_QUALIFIED = frozenset(("wake_time", "sleep_time", "habit", "residence", "employer"))


def is_qualified(rule: Rule) -> bool:
    """Whether several values of the rule's attribute hold under different qualifiers."""
    return rule.attribute in _QUALIFIED and rule.tense == "present"


def set_apart(fact: Fact, clause: Clause, text: str, words: Words, book: Rulebook) -> Fact:
    """The fact with the qualifier that stands right behind its value, or else at the beginning of
    the clause, though it reads like a date. ``text`` and ``words`` are those of the sentence."""
    behind = next((at for at in range(len(words)) if words.start[at] >= fact.end), len(words))
    first = words.start.index(clause.spoken.start[0])
    for at in (behind, skip(book, "openers", words, first)):
        qualifier, length = qualifier_at(book, words, at)
        if length:
            left = [each for each in fact.dates if not _recurs(each, text, book)]
            return msgspec.structs.replace(
                fact, qualifier=fact.qualifier or qualifier, dates=tuple(left)
            )
    return fact


def _recurs(date: DateSpan, text: str, book: Rulebook) -> bool:
    """Whether a date is no more than part of a qualifier: the winter of "in winter"."""
    said = text[: date.end_char].lower()
    return any(said.endswith(each) and date.text.lower() in each for each in book.labels)


def frequency(book: Rulebook, text: str, words: Words, start: int, end: int) -> str:
    """How often a value in words[start:end] is, in the speaker's words: the entry of the list of
    frequencies beside it."""
    often = book.phrase_list("frequency")
    weekdays = book.phrase_list("weekday")
    begin = 0 if start else end
    length = often.length_at(words.norm, begin)
    if not length:
        return ""
    last = begin + length
    while last < len(words) and words.norm[last] in _JOINS:
        more = often.length_at(words.norm, last + 1) or weekdays.length_at(words.norm, last + 1)
        if not more:
            break
        last += 1 + more
    finish = words.end[last - 1]
    if words.norm[last : last + 1] == ["except"]:
        finish += len(_TO_SIGN.match(text[finish:])[0])  # type: ignore[index]  # never None
    return text[words.start[begin] : finish].lower().strip()


_JOINS = frozenset(("and", "or", "&", ",", "和", "、", "跟"))
_TO_SIGN = re.compile("[^,.;:!?]*")

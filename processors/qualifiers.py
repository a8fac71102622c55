"""What sets a value apart from the others of its slot: "in Rome in winter, in Oslo in summer"."""

from __future__ import annotations

import re

import msgspec

from memstream.processors.clauses import Clause, qualifier_at, skip
from memstream.processors.dates import DateSpan
from memstream.processors.facts import Fact
from memstream.processors.rule_files import Rule
from memstream.processors.rules import Match, Rulebook
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


def often_apart(book: Rulebook, words: Words, match: Match) -> Match:
    """The match of a habit with no more in its value than what is done: "run every Monday before
    work" is run, and what stands behind 每周二 in 每周二、周四晚上练瑜伽 is 练瑜伽."""
    if match.rule.value != "habit":
        return match
    start, end = match.captures["value"]
    if start:
        start = _last_of(book, words, start)
    else:
        told = (at for at in range(start + 1, end) if _often(book, words, at))
        end = next(told, end)
    captures = {**match.captures, "value": (start, end)}
    return msgspec.structs.replace(match, captures=captures)


def frequency(book: Rulebook, text: str, words: Words, start: int, end: int) -> tuple[str, int]:
    """How often a value in words[start:end] is, in the speaker's words, and where they end: the
    entry of the list of frequencies beside it, with the other days it is listed with."""
    begin = 0 if start else end
    length = _often(book, words, begin)
    if not length:
        return "", 0
    last = _last_of(book, words, begin + length)
    finish = words.end[last - 1]
    if words.norm[last : last + 1] == ["except"]:
        finish += len(_TO_SIGN.match(text[finish:])[0])  # type: ignore[index]  # never None
    return text[words.start[begin] : finish].lower().strip(), finish


def _last_of(book: Rulebook, words: Words, at: int) -> int:
    """The word behind the last of the days that are listed from a word on: "every Monday, Tuesday
    and Friday before work"."""
    weekdays, parts = map(book.phrase_list, ("weekday", "parts_of_day"))
    norm = words.norm
    while at < len(words):
        joined = at
        while joined < len(words) and norm[joined] in _JOINS:
            joined += 1
        more = max(_often(book, words, joined), parts.length_at(norm, joined))
        if joined > at:
            more = max(more, weekdays.length_at(norm, joined))
        if not more and _is_further_day(norm, at, joined):
            more = 1
        if not more:
            return at
        at = joined + more
    return at


def _often(book: Rulebook, words: Words, at: int) -> int:
    """The length of the frequency that stands at a word; 0 for none."""
    return max(
        book.phrase_list(name).length_at(words.norm, at) for name in ("frequency", "frequency_days")
    )


def _is_further_day(norm: list[str], at: int, joined: int) -> bool:
    """Whether the 三 of 每周一、三 is a day: not that of 每周一三点."""
    listed = norm[at - 1] in _DAYS_ZH and norm[joined : joined + 1] != []
    return listed and norm[joined] in _DAYS_ZH and norm[joined + 1 : joined + 2] not in _COUNTED


_DAYS_ZH = frozenset("一二三四五六日")
_COUNTED = tuple([each] for each in "点次时个天小月年号人件杯节")
_JOINS = frozenset(("and", "or", "&", ",", "to", "和", "、", "跟", "以", "及", "，", "到", "至"))
_TO_SIGN = re.compile("[^,.;:!?]*")

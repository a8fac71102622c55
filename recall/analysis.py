"""Query analysis: what a question asks for, read from its words alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

import msgspec

from memstream.processors.dates import DateSpan, find_dates
from memstream.processors.lexemes import lexemes
from memstream.schemas.instants import OPEN_MICROS, to_micros

_SUBJECT_WORDS = frozenset(("user", "用户"))
"""Names of whoever speaks; every text of theirs carries them, so they tell nothing apart."""
_ASKS_WHEN = re.compile(
    r"\s*(?:and |so |but )?(?:when\b|since when\b|until when\b|how long ago\b"
    r"|(?:on |in |at )?(?:what|which) (?:date|day|week|weekend|month|season|year|time)\b)"
    r"|.*(?:什么时候|何时|几时|哪一?[年月天]|哪个月|几[月号]|什么(?:日子|时间)|多久(?:之|以)?前)",
    re.IGNORECASE | re.DOTALL,
)

_NAME = re.compile(r"[A-Z][A-Za-zÀ-ÿ0-9'’-]*")
_SENTENCE_START = re.compile(r"(?:^|[.!?:。！？：\n])[\s\"“”‘'(（]*$")


class Analysis(msgspec.Struct, frozen=True):
    """A question as recall searches for it.

    ``words`` are its distinct lexemes, ``names`` those of them that it writes as names: with a
    capital letter, not at the beginning of a sentence and not in a date. ``times`` are the ranges
    it names, [start, end) in UTC microseconds, relative ones anchored at the moment it is asked as
    of.
    """

    words: tuple[str, ...]
    names: tuple[str, ...] = ()
    asks_when: bool = False
    times: tuple[tuple[int, int], ...] = ()


def analysed(query: str, as_of: datetime) -> Analysis:
    """What the question asks for. Pure: it depends on the question and ``as_of`` alone."""
    words = tuple(dict.fromkeys(each for each in lexemes(query) if each not in _SUBJECT_WORDS))
    dates = find_dates(query, as_of)
    return Analysis(
        words,
        _names(query, words, dates),
        _ASKS_WHEN.match(query) is not None,
        tuple(
            (
                -OPEN_MICROS if each.start is None else to_micros(each.start),
                OPEN_MICROS if each.end is None else to_micros(each.end),
            )
            for each in dates
            if each.start or each.end
        ),
    )


def _names(query: str, words: Sequence[str], dates: Sequence[DateSpan]) -> tuple[str, ...]:
    found = {
        lexeme
        for match in _NAME.finditer(query)
        if not _SENTENCE_START.search(query, 0, match.start())
        and not any(each.start_char <= match.start() < each.end_char for each in dates)
        for lexeme in lexemes(match.group())
    }
    return tuple(each for each in words if each in found)

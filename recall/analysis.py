"""Query analysis: what a question asks for, read from its words alone."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import chain

import msgspec

from memstream.processors.dates import DateSpan, find_dates
from memstream.processors.lexemes import lexemes
from memstream.recall.courtesies import is_courtesy
from memstream.recall.related import related
from memstream.recall.slots import asked_attributes
from memstream.schemas.attributes import Attributes, builtin
from memstream.schemas.instants import OPEN_MICROS, to_micros

_SUBJECT_WORDS = frozenset(("user", "用户"))
"""Names of whoever speaks; every text of theirs carries them, so they tell nothing apart."""
_ASKS_WHEN = re.compile(
    r"\s*(?:and |so |but )?(?:when\b|since when\b|until when\b|how long ago\b"
    r"|(?:on |in |at )?(?:what|which) (?:date|day|week|weekend|month|season|year|time)\b)"
    r"|.*(?:什么时候|何时|几时|哪一?[年月天]|哪个月|几[月号]|什么(?:日子|时间)|多久(?:之|以)?前)",
    re.IGNORECASE | re.DOTALL,
)

_ASKS_MANY = re.compile(
    r"\b(?:what|which) (?:\w+ ){0,2}(?!was\b|is\b|does\b|has\b|his\b|this\b)\w{2,}s\b"
    r"|\bhow many\b|\b(?:kinds?|types?|sorts?) of\b|\ball\b|\bboth\b|\bin common\b"
    r"|哪些|哪几|几[个次种位本]|多少[个次种位本]|都有|分别",
    re.IGNORECASE,
)
"""A plural after what or which, a number of things, what several have in common: the answer is a
list, and its parts were told at different times."""
_IDIOMS = tuple(
    (re.compile(form, re.IGNORECASE), f" {words} ")
    for form, words in (
        (r"\bfor a living\b|[做干]什么的|靠什么(?:生活|谋生)", "job 职业"),
        (
            r"\bwhere (?:am|are|is|was|were|do|does|did)\b[^?.!]{,200}\bfrom\b",
            "hometown birthplace",
        ),
        (r"\bwill\b[^?.!]{0,40}\blive\b", "live move"),
        (r"(?:该|怎么|如何)(?:叫|喊)[我你您他她]|该?叫[我你您他她]什么", "名字"),
        (r"能不?能?吃|可以吃|吃(?:不得|得了?)", "吃 饮食"),
        (r"吃(?:的是)?(?:什么|哪[种些])药", "吃药 药 一片 健康"),
        (r"哪(?:里|儿)人|从哪(?:里|儿)来", "老家 出生地"),
        (r"\bwho am i\b|\bwho (?:is|are) (?:you|she|he|the user)\b", "name"),
        (r"(?:我|你|您|他|她|用户)是谁", "名字"),
        (r"\b(?:am|are|is) (?:i|you|he|she|they|the user) into\b", "like hobby"),
        (r"用户(?![名体数量界端组群手协反登注调访画])", ""),
        (r"[我你您他她咱]们?家(?![人里具庭常务长乡])", "家"),
    )
)
"""Ways of asking for something with none of the words for it, and those words. A word before a
Chinese one joins it to a pair that stands nowhere else: 用户喝什么, 我家在哪里."""
_ASKS_WHERE = frozenset(("哪里", "哪儿"))
_WHENEVER = frozenset("现在 目前 如今 最近 平时 一般 当时 之前 以前".split())
_NAME = re.compile(r"[A-Z][A-Za-zÀ-ÿ0-9'’-]*")
_BEFORE_A_NAME = 32
"""So many characters before a word tell whether a sentence begins with it."""
_MOST_REWORDED = 12
"""A question of more words is answered by a few of its own."""
_SENTENCE_START = re.compile(r"(?:^|[.!?:。！？：\n])[\s\"“”‘'(（]*$")


class Analysis(msgspec.Struct, frozen=True):
    """A question as recall searches for it.

    ``words`` are its distinct lexemes, ``names`` those of them that it writes as names: with a
    capital letter, not at the beginning of a sentence and not in a date. ``times`` are the ranges
    it names, [start, end) in UTC microseconds, relative ones anchored at the moment it is asked as
    of. Of a question of several lines, such as the last turns of a conversation, the last one asks
    when, and of which names and times; ``lines_ago`` tells how many lines before the last each word
    last stands (empty: in the last). ``asks_many``: its answer is a list. ``attributes`` are the
    slots it asks for by their words ("what pets does she have"), most likely first. ``courtesy``:
    it asks for nothing ("thanks!"). ``numbers`` are those of its words, where it names no date.
    ``related`` are for each word those that may stand for it; ``freely``: they count as the word.
    """

    words: tuple[str, ...]
    names: tuple[str, ...] = ()
    asks_when: bool = False
    asks_many: bool = False
    lines_ago: tuple[int, ...] = ()
    times: tuple[tuple[int, int], ...] = ()
    attributes: tuple[str, ...] = ()
    courtesy: bool = False
    numbers: tuple[str, ...] = ()
    related: tuple[tuple[str, ...], ...] = ()
    freely: bool = False

    @property
    def searched(self) -> tuple[str, ...]:
        """What the index is asked for."""
        return (*self.words, *chain.from_iterable(self.related)) if self.freely else self.words

    @property
    def may_be_reworded(self) -> bool:
        """Whether other words may stand for its own where nothing answers it: it is short, some of
        its words have such, and it names nobody whom other texts would have to be about."""
        short = len(self.words) <= _MOST_REWORDED and not self.lines_ago
        return short and not self.names and any(self.related)


def analysed(query: str, as_of: datetime, attributes: Attributes | None = None) -> Analysis:
    """What the question asks for. Pure: it depends on the question, ``as_of`` and the registry of
    attributes (the built-in one where none is given)."""
    said = query
    for form, meant in _IDIOMS:
        said = form.sub(meant, said)
    words = _telling(each for each in lexemes(said) if each not in _SUBJECT_WORDS)
    dates = find_dates(query, as_of)
    lines = [line for line in query.splitlines() if line.strip()] or [""]
    last_start = query.rfind(lines[-1])
    names = _names(query, words, dates, last_start)
    return Analysis(
        words,
        names,
        _ASKS_WHEN.match(lines[-1]) is not None,
        _ASKS_MANY.search(lines[-1]) is not None,
        _lines_ago(lines, words),
        tuple(
            (
                -OPEN_MICROS if each.start is None else to_micros(each.start),
                OPEN_MICROS if each.end is None else to_micros(each.end),
            )
            for each in dates
            if (each.start or each.end) and each.start_char >= last_start
        ),
        asked_attributes(words if len(lines) == 1 else lexemes(lines[-1]), attributes or builtin()),
        is_courtesy(query),
        () if dates else tuple(each for each in words if each.isascii() and each.isdigit()),
        tuple(() if each in names else related(each) for each in words),
    )


def _telling(words: Iterable[str]) -> tuple[str, ...]:
    """The distinct words; without 哪里, by which a home is found, where the question has words
    that tell what it is about: 长城在哪里 asks for no home."""
    found = tuple(dict.fromkeys(words))
    about = any(each not in _ASKS_WHERE and each not in _WHENEVER for each in found)
    return tuple(each for each in found if each not in _ASKS_WHERE) if about else found


def _names(
    query: str, words: Sequence[str], dates: Sequence[DateSpan], start: int
) -> tuple[str, ...]:
    starts = [each.start_char for each in dates]
    found: set[str] = set()
    for match in _NAME.finditer(query, start):
        at = match.start()
        place = bisect_right(starts, at)
        in_date = place > 0 and at < dates[place - 1].end_char
        if not in_date and not _SENTENCE_START.search(query, max(0, at - _BEFORE_A_NAME), at):
            found.update(lexemes(match.group()))
    return tuple(each for each in words if each in found)


def _lines_ago(lines: Sequence[str], words: Sequence[str]) -> tuple[int, ...]:
    if len(lines) == 1:
        return ()
    ago = {word: len(lines) - at for at, line in enumerate(lines, 1) for word in lexemes(line)}
    return tuple(ago.get(each, 0) for each in words)

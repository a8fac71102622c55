"""Date expressions in text, English and Chinese, resolved against the moment of speech.

`find_dates` is the whole surface. It is pure: the same text and anchor give the same spans. What
it cannot resolve honestly it still reports, with the reason, instead of guessing.

The grammars live beside it (`dates_en`, `dates_zh`); both describe expressions in the terms of
`dates_calendar`, where the arithmetic is.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache

import msgspec

from memstream.processors import dates_en, dates_zh
from memstream.processors.dates_calendar import Context, Open, Unresolvable, occurrence, settle
from memstream.processors.dates_expression import Expression
from memstream.processors.dates_zh_tense import plainly_ahead, scheduled

__all__ = ["DateSpan", "find_dates"]


class DateSpan(msgspec.Struct, frozen=True, gc=False):
    """One date expression: where it stands and the time it means.

    `start` and `end` are UTC instants, half-open. An `end` of None with a start is open-ended
    ("since May"), a `start` of None with an end means "before". Both are None when `unresolved`
    holds the reason: "vague", "no anchor", "impossible date", "out of range", "empty range",
    "lunar calendar", "fiscal year". `granularity` is "second", "minute", "hour", "day", "weekend",
    "week", "month", "quarter", "season", "year", "decade", "century" or, for anything else,
    "range". `relative` tells that the reading hangs on the anchor. `recurs` tells that the
    words name one of many ("my birthday is on May 5", "I usually swim on Friday"), so that which
    one it is means nothing.
    `begins` tells that the words before it make it the beginning of something ("as of June").
    """

    start_char: int
    end_char: int
    text: str
    start: datetime | None
    end: datetime | None
    granularity: str
    unresolved: str | None
    relative: bool
    recurs: bool = False
    begins: bool = False


def find_dates(text: str, anchor: datetime | None, language: str | None = None) -> list[DateSpan]:
    """All date expressions of `text`, in order, none overlapping another.

    `anchor` is the aware moment of speech, in the speaker's own offset: "yesterday" is the
    speaker's local day. Without an anchor, days are UTC days and relative expressions come back
    unresolved. `language` is "en" or "zh" (or a tag that starts so); otherwise both grammars
    whose script occurs are tried.

    Raises ValueError for a naive anchor or a `language` that is neither, and nothing else.
    """
    if anchor is not None and anchor.utcoffset() is None:
        raise ValueError(
            f"anchor {anchor!r} is naive; expected an aware datetime carrying the speaker's "
            "UTC offset, e.g. datetime.now(UTC) at capture"
        )
    expressions = _expressions(text, language)
    if not expressions:
        return []
    zone = UTC if anchor is None or anchor.tzinfo is None else anchor.tzinfo
    now = None if anchor is None else anchor.replace(tzinfo=None)
    return [_resolved(text, expression, now, zone) for expression in expressions]


@lru_cache(maxsize=64)
def _expressions(text: str, language: str | None) -> Sequence[Expression]:
    """Found once where a sentence is read as a statement and then kept as it was said."""
    if language is None:
        has_chinese = dates_zh.is_written_in(text)
        if not has_chinese:
            return dates_en.find(text)
        found = dates_zh.find(text)
        return _longest(found + dates_en.find(text)) if dates_en.is_written_in(text) else found
    tag = language[:2].lower()
    if tag == "en":
        return dates_en.find(text)
    if tag == "zh":
        return dates_zh.find(text)
    raise ValueError(f"language {language!r} has no date grammar; expected 'en', 'zh' or None")


def _longest(expressions: list[Expression]) -> list[Expression]:
    """Without overlaps: a longer expression wins, then an earlier one, then the first given."""
    ranked = sorted(expressions, key=lambda found: (found.start - found.end, found.start))
    kept: list[Expression] = []
    for found in ranked:
        place = bisect(kept, found.start, key=lambda other: other.start)
        if place and kept[place - 1].end > found.start:
            continue
        if place < len(kept) and kept[place].start < found.end:
            continue
        kept.insert(place, found)
    return kept


def _looks_ahead(text: str, expression: Expression, context: Context) -> bool:
    """Whether an expression means its next occurrence where no word tells the tense: a deadline
    does, and the date of something arranged, where that is nearer than the last one."""
    meaning = expression.meaning
    begins = _begins(text, expression)
    weekly = isinstance(meaning, Open) and meaning.cycle == "week"
    if expression.is_deadline(text) or begins == "starting" or (begins == "since" and weekly):
        return True
    if not isinstance(meaning, Open):
        return False
    if plainly_ahead(text, expression.start, expression.end):
        return not _is_just_over(meaning, context)
    if meaning.cycle != "year":
        return False
    if begins not in ("as", "since") and not scheduled(text, expression.start, expression.end):
        return False
    today = context.today
    ahead, behind = (occurrence(meaning, today, future) for future in (True, False))
    return ahead.start - today < today - behind.end


def _is_just_over(meaning: Open, context: Context) -> bool:
    """Whether the last occurrence is so near, and the next one so far, that words in no tense may
    well tell of the last one."""
    today = context.today
    ahead, behind = (occurrence(meaning, today, future) for future in (True, False))
    return today - behind.end < _LATELY and ahead.start - today > _FAR


_LATELY = timedelta(days=45)
_FAR = timedelta(days=270)


def _begins(text: str, expression: Expression) -> str:
    """The word by which something begins at an expression, empty for none: "as" for "as of June",
    "since" for 从六月起, "from" where it may also be no more than "the letter from May"."""
    if expression.bound == "since":
        within = text[max(0, expression.end - 12) : expression.end]
        behind = text[expression.end : expression.end + 12]
        return "since" if _SINCE.search(within) and not _LASTING.search(behind) else ""
    before = text[max(0, expression.start - 24) : expression.start]
    found = _BEGINS.search(before) if any(map(before.lower().__contains__, _BEGINNING)) else None
    return "" if found is None or found.lastgroup is None else found.lastgroup


_SINCE = re.compile("(?:起|开始| on| onwards?| forward)$")
_LASTING = re.compile("^[^，。！？,.!?]{0,6}?(?:就|一直|都)")
_BEGINNING = ("from", "as of", "starting", "beginning", "commencing", "effective")
_BEGINS = re.compile(
    r"(?:(?P<starting>(?:(?:^|[.!?;:,] ?|\band |\bbut |\bso )from|starting|beginning|commencing"
    r"|effective)(?: (?:on|in|at|from))?)|\b(?P<as>as (?:of|from))|\b(?P<from>from))(?: the)? $",
    re.IGNORECASE,
)


def _resolved(text: str, expression: Expression, now: datetime | None, zone: tzinfo) -> DateSpan:
    context = Context(now, zone, lambda: expression.spoken_tense(text))
    start: datetime | None = None
    end: datetime | None = None
    reason: str | None = None
    begins = _begins(text, expression)
    unit = expression.meaning.unit
    try:
        found = settle(expression.meaning, context, future=_looks_ahead(text, expression, context))
        unit = found.unit
        first, last = expression.bounds(found)
        start, end = _instant(first, zone), _instant(last, zone)
        if start is not None and end is not None and end <= start:
            raise Unresolvable("empty range")
    except Unresolvable as problem:
        start = end = None
        reason = problem.reason
    return DateSpan(
        start_char=expression.start,
        end_char=expression.end,
        text=text[expression.start : expression.end],
        start=start,
        end=end,
        granularity="range" if expression.bound else unit,
        unresolved=reason,
        relative=context.used,
        recurs=context.used and _recurs(text, expression),
        begins=begins in ("starting", "as") or (begins == "from" and _is_ahead(start, now, zone)),
    )


def _is_ahead(start: datetime | None, now: datetime | None, zone: tzinfo) -> bool:
    return start is not None and now is not None and start > now.replace(tzinfo=zone)


def _recurs(text: str, expression: Expression) -> bool:
    """Whether the day is given as that of a birthday or an anniversary, or as one of many."""
    meaning = expression.meaning
    weekend = expression.end - expression.start == 2 and meaning.unit == "weekend"  # 周末
    if expression.bound or not (isinstance(meaning, Open) or weekend):
        return False
    if expression.recurring(text, expression.start, expression.end):
        return True
    if not isinstance(meaning, Open) or meaning.cycle != "year":
        return False
    before = text[max(0, expression.start - 40) : expression.start]
    after = text[expression.end : expression.end + 60]
    return bool(_ANNUAL_BEFORE.search(before) or _ANNUAL_AFTER.match(after))


_ANNUAL_BEFORE = re.compile(
    r"\b(?:birthday|bday|b-day|anniversary|name day)"
    r"(?: is|'s|’s|:) *(?:always )?(?:on |in )?(?:the )?$"
    r"|(?:生日|纪念日|忌日)(?:是|在|：|:)? *(?:每年)?的?$",
    re.IGNORECASE,
)
_ANNUAL_AFTER = re.compile(
    r",? (?:is|being) (?:my|our|his|her|their|the) (?:[\w'’]+ ){0,3}"
    r"(?:birthday|anniversary)\b(?! \w*party)"
    r"|(?:是|过)[^，。！？,.!?]{0,10}(?:生日|纪念日|忌日)(?!会|聚|派对)",
    re.IGNORECASE,
)


def _instant(local: datetime | None, zone: tzinfo) -> datetime | None:
    if local is None:
        return None
    try:
        return local.replace(tzinfo=zone).astimezone(UTC)
    except (OverflowError, ValueError):
        raise Unresolvable("out of range") from None

"""Dates written in digits, which both languages share: ISO, slashed, dotted, year-month.

The order of day and month in "3/7/2017" is the language's; where only one order is possible, that
one is taken.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import NamedTuple

from memstream.processors.dates_calendar import (
    Context,
    Fixed,
    Interval,
    Meaning,
    Unresolvable,
    date,
    inside,
    seconds_at,
    year_number,
)
from memstream.processors.dates_within import (
    clock_time,
    day_in_year,
    month_in_year,
)


class Numeric(NamedTuple):
    """`weak` forms ("4/22", "5.12") are as often no date: the grammar must see a cue beside."""

    meaning: Meaning
    end: int
    weak: bool


_BEFORE = re.compile(r"(?<![a-zA-Z0-9])(?<![0-9][/.:,])(?<![$€£¥#.@])")
_ISO = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[tT ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.[0-9]{1,9})?)?"
    r" ?(z|Z|[+-][0-9]{2}:?[0-9]{2})?(?![0-9:])"
)
_YEAR_FIRST = re.compile(
    r"([0-9]{4})(?: ?([-/]) ?([0-9]{1,2}) ?\2 ?|\.([0-9]{1,2})\.| ([0-9]{2}) )([0-9]{1,2})"
    r"(?![0-9a-z%:])(?!\.[0-9])(?!/[0-9])"
)
_COMPACT = re.compile(r"((?:19|20)[0-9]{2})(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])(?![0-9a-z])")
_YEAR_LAST = re.compile(
    r"([0-9]{1,2})(?: ?([-/]) ?([0-9]{1,2}) ?(?:\2|,) ?|\.([0-9]{1,2})\.)([0-9]{4}|[0-9]{1,2})"
    r"(?![0-9a-z%:])(?!\.[0-9])(?!/[0-9])"
)
_YEAR_MONTH = re.compile(
    r"([12][0-9]{3})(?: ?[-/] ?|\.)([0-9]{1,2})(?![0-9a-z%:])(?!\.[0-9])(?! ?[-/] ?[0-9])"
)
_MONTH_YEAR = re.compile(
    r"([0-9]{1,2})(?: ?[-/] ?)([12][0-9]{3})(?![0-9a-z%:])(?!\.[0-9])(?! ?/ ?[0-9])"
)
_MONTH_DAY = re.compile(
    r"([0-9]{1,2})([/.])([0-9]{1,2})(?:, ?([12][0-9]{3}))?(?![0-9a-z%:])(?!\.[0-9])(?!/[0-9])"
)


def numeric_date(text: str, at: int, day_first: bool, year_first: bool) -> Numeric | None:
    """The date in digits that begins at `at`, if any.

    `day_first` and `year_first` say how "1/2/2020" and "12-11-10" are read.
    """
    if not _BEFORE.match(text, at):
        return None
    if found := _ISO.match(text, at):
        return Numeric(_iso_moment(found), found.end(), weak=False)
    in_path = at > 0 and text[at - 1] == "/"
    if (found := _YEAR_FIRST.match(text, at)) and not (in_path and found[2] == "/"):
        year, _, slashed, dotted, spaced, day = found.groups()
        month = int(slashed or dotted or spaced)
        if int(year) >= 1000 and min(month, int(day)) in range(1, 13) and max(month, int(day)) < 32:
            return Numeric(_ymd(int(year), month, int(day)), found.end(), weak=False)
    if found := _COMPACT.match(text, at):
        year, month_text, day = found.groups()
        return Numeric(date(int(year), int(month_text), int(day)), found.end(), weak=False)
    if found := _YEAR_LAST.match(text, at):
        meaning = _three_numbers(found, day_first, year_first)
        return None if meaning is None else Numeric(meaning, found.end(), weak=False)
    return None if in_path else _two_numbers(text, at)


def two_digit_year(year: int) -> int:
    """00 to 49 are this century, 50 to 99 the last one."""
    return year + (2000 if year < 50 else 1900) if year < 100 else year


def _ymd(year: int, month: int, day: int) -> Meaning:
    return date(year, day, month) if month > 12 else date(year, month, day)


def _iso_moment(found: re.Match[str]) -> Meaning:
    year, month, day, hour, minute, second, zone = found.groups()
    if not zone:
        whole = date(int(year), int(month), int(day))
        if int(hour) > 24 or int(minute) > 59 or int(second or 0) > 59:
            return whole
        return clock_time(whole, int(hour), int(minute), int(second) if second else None)
    written = f"{year}-{month}-{day}T{hour}:{minute}:{second or '00'}{zone.upper()}"

    def at(context: Context) -> Interval:
        try:
            moment = datetime.fromisoformat(written).astimezone(context.zone)
        except (ValueError, OverflowError):
            raise Unresolvable("impossible date") from None
        return seconds_at(moment.replace(tzinfo=None), "second" if second else "minute")

    return Fixed("second" if second else "minute", at)


def _three_numbers(found: re.Match[str], day_first: bool, year_first: bool) -> Meaning | None:
    first, _, slashed, dotted, last = found.groups()
    a, b = int(first), int(slashed or dotted)
    if year_first and len(first) == 2 and len(last) <= 2 and b <= 12:
        return date(two_digit_year(a), b, int(last))
    if len(last) == 1:
        return None
    year = two_digit_year(int(last))
    day, month = (a, b) if day_first else (b, a)
    if month > 12:
        day, month = month, day
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return None
    return date(year, month, day)


def _two_numbers(text: str, at: int) -> Numeric | None:
    if found := _YEAR_MONTH.match(text, at):
        year, month = int(found[1]), int(found[2])
        if 1 <= month <= 12:
            return Numeric(_month(year, month), found.end(), weak=False)
    if found := _MONTH_YEAR.match(text, at):
        month, year = int(found[1]), int(found[2])
        if 1 <= month <= 12:
            return Numeric(_month(year, month), found.end(), weak=False)
    if found := _MONTH_DAY.match(text, at):
        month, day = int(found[1]), int(found[3])
        if month > 12:
            month, day = day, month
        if not (1 <= month <= 12 and 1 <= day <= 31):
            return None
        child = day_in_year(month, day)
        year_text = found[4]
        meaning = inside(child, year_number(int(year_text)) if year_text else None)
        return Numeric(meaning, found.end(), weak=not year_text)
    return None


def _month(year: int, month: int) -> Meaning:
    return inside(month_in_year(month), year_number(year))

"""Periods inside a larger one, the same for every language.

A `Child` is a rule from a parent interval to the period in it: the n-th week, the last three days,
the late part, the second quarter. `inside` (see `dates_calendar`) joins it to its parent.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal

from memstream.processors.dates_calendar import (
    MONTHS_IN,
    Child,
    Context,
    Cycle,
    Fixed,
    Interval,
    Meaning,
    Open,
    Unresolvable,
    day_of,
    index,
    inside,
    interval,
    midnight,
    monday,
    occurrence,
    period,
    period_at,
    plus_days,
    plus_months,
    seconds_at,
    settle,
    shift,
)


def month_in_year(month: int) -> Child:
    return Child("month", "year", lambda year: period("month", year.start.year * 12 + month - 1))


def months_in_year(first: int, count: int, unit: str) -> Child:
    """Quarters, halves and seasons; a winter runs into the next year."""

    def build(year: Interval) -> Interval:
        start = midnight(year.start.year, first, 1)
        return interval(start, plus_months(start, count), unit)

    return Child(unit, "year", build)


def quarter_in_year(n: int) -> Child:
    return months_in_year(3 * n - 2, 3, "quarter")


def half_in_year(n: int) -> Child:
    return months_in_year(6 * n - 5, 6, "range")


def day_in_month(day: int) -> Child:
    return Child("day", "month", lambda m: day_of(midnight(m.start.year, m.start.month, day)))


def day_in_year(month: int, day: int) -> Child:
    return Child("day", "year", lambda year: day_of(midnight(year.start.year, month, day)))


def weekday_in_week(weekday: int) -> Child:
    return Child("day", "week", lambda week: day_of(plus_days(monday(week.start), weekday)))


def weekday(day: int) -> Open:
    return Open("day", "week", lambda k: day_of(plus_days(period("week", k).start, day)), False)


def weekday_and_day(day_of_week: int, day: int) -> Meaning:
    """ "Friday the 13th": this month where it fits, else the nearest month where it does."""

    def build(k: int) -> Interval:
        found = day_of(midnight(k // 12, k % 12 + 1, day))
        if found.start.weekday() != day_of_week:
            raise Unresolvable("impossible date")
        return found

    def at(context: Context) -> Interval:
        try:
            return build(index("month", context.today))
        except Unresolvable:
            return occurrence(Open("day", "month", build), context.today, bool(context.tense()))

    return Fixed("day", at)


def nth_weekday(n: int, day_of_week: int) -> Child:
    """The n-th (or, for -1, the last) such weekday of a month or year."""

    def build(parent: Interval) -> Interval:
        if n < 0:
            back = (parent.end.weekday() - 1 - day_of_week) % 7
            return day_of(plus_days(parent.end, -1 - back + 7 * (n + 1)))
        ahead_days = (day_of_week - parent.start.weekday()) % 7
        found = day_of(plus_days(parent.start, ahead_days + 7 * (n - 1)))
        if found.start >= parent.end:
            raise Unresolvable("impossible date")
        return found

    return Child("day", "month", build)


def first_week_start(parent: Interval) -> datetime:
    """A week belongs to the month or year that holds its Thursday (ISO 8601)."""
    return monday(plus_days(parent.start, 3))


def last_week_start(parent: Interval) -> datetime:
    return monday(plus_days(parent.end, -4))


def nth_in(n: int, unit: str, cycle: Cycle) -> Child:
    """The n-th (or, for -1, the last) day, week, month, ... of a parent period."""

    def build(parent: Interval) -> Interval:
        if unit == "week":
            first = first_week_start(parent) if n > 0 else last_week_start(parent)
            start = plus_days(first, 7 * (n - 1 if n > 0 else n + 1))
        elif unit == "weekend":
            start = plus_days(parent.start, (5 - parent.start.weekday()) % 7 + 7 * (n - 1))
            if n < 0:
                start = plus_days(parent.end, -1 - (parent.end.weekday() - 6) % 7 + 7 * (n + 1))
        else:
            base = parent.start if n > 0 else parent.end
            start = shift(base, [(abs(n) - (n > 0), unit)], 1 if n > 0 else -1)
        if start >= parent.end or plus_days(start, 7) <= parent.start:
            raise Unresolvable("impossible date")
        end = plus_days(start, 2) if unit == "weekend" else shift(start, [(1, unit)], 1)
        return interval(start, end, "week" if unit == "fortnight" else unit)

    return Child(unit, cycle, build)


def first_in(n: int, unit: str, cycle: Cycle) -> Child:
    if n == 1:
        return nth_in(1, unit, cycle)

    def build(parent: Interval) -> Interval:
        start = first_week_start(parent) if unit == "week" else parent.start
        return interval(start, shift(start, [(n, unit)], 1), "range")

    return Child("range", cycle, build)


def last_in(n: int, unit: str, cycle: Cycle) -> Child:
    if n == 1:
        return nth_in(-1, unit, cycle)

    def build(parent: Interval) -> Interval:
        end = plus_days(last_week_start(parent), 7) if unit == "week" else parent.end
        return interval(shift(end, [(n, unit)], -1), end, "range")

    return Child("range", cycle, build)


def whole_week() -> Child:
    """The week that holds a day."""
    return Child("week", "year", lambda day: period_at("week", day.start))


def whole_weekend() -> Child:
    """The weekend of a day, stretched to hold that day."""

    def build(day: Interval) -> Interval:
        first = monday(day.start)
        if day.start.weekday() <= 1:
            return interval(plus_days(first, -2), day.end, "weekend")
        start = min(day.start, plus_days(first, 5)) if day.start.weekday() >= 3 else None
        return interval(start or plus_days(first, 5), plus_days(first, 7), "weekend")

    return Child("weekend", "year", build)


Part = Literal["early", "mid", "late"]


def part(which: Part, unit: str, named_year: bool = False) -> Child:
    """Early, middle or late in a period. As the bound of a range, "the end" is its last instant."""

    def build(parent: Interval) -> Interval:
        start, end, edge = _part_bounds(which, unit, named_year, parent)
        return interval(start, end, "range", edge)

    return Child("range", "month" if unit == "month" else "year", build)


def end_of_year() -> Child:
    """December. As the bound of a range, its last instant."""

    def build(year: Interval) -> Interval:
        start = plus_months(year.end, -1)
        return interval(start, year.end, "month", year.end)

    return Child("month", "year", build)


def _part_bounds(
    which: Part, unit: str, named_year: bool, parent: Interval
) -> tuple[datetime, datetime, datetime]:
    begin, end = parent.start, parent.end
    if unit == "month":
        early_end, mid_end = plus_days(begin, 15), plus_days(begin, 20)
        mid_start = plus_days(begin, 9)
    elif unit in ("week", "fortnight"):
        early_end, mid_start, mid_end = (plus_days(begin, days) for days in (3, 1, 5))
    elif unit == "year" and not named_year:
        early_end, mid_start, mid_end = (plus_months(begin, months) for months in (6, 3, 9))
    elif unit in ("year", "quarter", "season"):
        third = 4 if unit == "year" else 1
        early_end = mid_start = plus_months(begin, third)
        mid_end = plus_months(begin, 2 * third)
        if which == "late":
            return mid_end, end, end
    elif unit in ("decade", "century"):
        tenth = MONTHS_IN[unit] // 10
        early_end = mid_start = plus_months(begin, 4 * tenth)
        mid_end = plus_months(begin, 7 * tenth)
        if which == "late":
            return mid_end, end, end
    else:
        third_part = (end - begin) / 3
        early_end = mid_start = begin + third_part
        mid_end = end - third_part
    if which == "early":
        return begin, early_end, begin
    if which == "mid":
        return mid_start, mid_end, plus_days(begin, 15) if unit == "month" else mid_start
    return early_end, end, end


def later_in(parent: Meaning, part_of: Meaning) -> Meaning:
    """The late part of the running period, but not before today."""

    def at(context: Context) -> Interval:
        late = settle(part_of, context)
        whole = settle(parent, context)
        start = max(late.start, context.today) if context.today < whole.end else late.start
        return interval(start, late.end, "range")

    return Fixed("range", at)


def earlier_in(part_of: Meaning) -> Meaning:
    """The early part of the running period, but not after today."""

    def at(context: Context) -> Interval:
        early = settle(part_of, context)
        end = min(early.end, context.today)
        return interval(early.start, end if end > early.start else early.end, "range")

    return Fixed("range", at)


def rest_of(parent: Meaning) -> Meaning:
    """From today up to the last day of the running period (that day only if it is today)."""

    def at(context: Context) -> Interval:
        whole = settle(parent, context)
        last = plus_days(whole.end, -1)
        if not whole.start <= context.today < whole.end:
            return whole
        return interval(context.today, max(last, plus_days(context.today, 1)), "range")

    return Fixed("range", at)


def to_date(unit: str) -> Meaning:
    """ "year to date": from the start of the running period up to today."""

    def at(context: Context) -> Interval:
        start = period_at(unit, context.today).start
        if start == context.today:
            raise Unresolvable("empty range")
        return interval(start, context.today, "range")

    return Fixed("range", at)


def clock_time(day: Meaning, hour: int, minute: int | None, second: int | None) -> Meaning:
    """A day narrowed to an hour, a minute or a second; hour 24 and above runs into the next day."""
    unit = "second" if second is not None else "minute" if minute is not None else "hour"

    def build(whole: Interval) -> Interval:
        seconds = hour * 3600 + (minute or 0) * 60 + (second or 0)
        return seconds_at(whole.start + timedelta(seconds=seconds), unit)

    return inside(Child(unit, "year", build), day)


SEASON_START = {"spring": 3, "summer": 6, "autumn": 9, "winter": 12}


def season_in_year(name: str) -> Child:
    """Meteorological, northern hemisphere; a winter is named by the year it begins in."""
    return months_in_year(SEASON_START[name], 3, "season")

"""Calendar arithmetic behind date expressions, the same for every language.

A grammar turns words into a *meaning*. A meaning is either `Fixed` (its interval follows from the
anchor alone) or `Open` (it recurs: "May 5" every year, "the 18th" every month, "Friday" every
week) and is pinned to one occurrence only when the whole expression is known. A `Child` is a
period inside a larger one ("the first week of ...", "the end of ...").

All datetimes here are naive and in the speaker's local time; intervals are half-open. Whatever
cannot be computed raises `Unresolvable` with its reason, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Literal, NamedTuple

Cycle = Literal["year", "month", "week"]

DAY = timedelta(days=1)
WEEK = timedelta(days=7)


class Unresolvable(Exception):
    """The words are a date expression, but no honest interval follows from them."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Interval(NamedTuple):
    """[start, end) in local time. `edge` is the instant it contributes as a bound of a range."""

    start: datetime
    end: datetime
    unit: str
    edge: datetime


class Context:
    """The moment of speech, the tense around an expression, and whether the moment was used.

    `now` is naive local time in `zone`; `tense` answers True for future words around the
    expression, False for past ones, None where the text gives neither.
    """

    __slots__ = ("_now", "_today", "tense", "used", "zone")

    def __init__(
        self, now: datetime | None, zone: tzinfo, tense: Callable[[], bool | None]
    ) -> None:
        self._now = now
        self._today: datetime | None = None
        self.zone = zone
        self.tense = tense
        self.used = False

    @property
    def now(self) -> datetime:
        self.used = True
        if self._now is None:
            raise Unresolvable("no anchor")
        return self._now

    @property
    def today(self) -> datetime:
        self.used = True
        if self._today is None:
            self._today = self.now.replace(hour=0, minute=0, second=0, microsecond=0)
        return self._today


@dataclass(frozen=True, slots=True)
class Fixed:
    unit: str
    at: Callable[[Context], Interval]
    named_year: bool = False  # a year given by number splits in thirds, a relative one in halves


@dataclass(frozen=True, slots=True)
class Open:
    """Recurs once per cycle; `build(k)` is the occurrence in the k-th year, month or week."""

    unit: str
    cycle: Cycle
    build: Callable[[int], Interval]
    today_counts: bool = True  # whether an occurrence today is a past one


Meaning = Fixed | Open


@dataclass(frozen=True, slots=True)
class Child:
    """A period inside a parent; without a stated parent it recurs every `cycle`."""

    unit: str
    cycle: Cycle
    build: Callable[[Interval], Interval]


Duration = Sequence[tuple[float, str]]  # counts and units, e.g. [(1, "year"), (1.5, "month")]

CLOCK_UNITS = {"hour": 3600, "minute": 60, "second": 1}
MONTHS_IN = {"month": 1, "quarter": 3, "year": 12, "decade": 120, "century": 1200}
DAYS_IN = {"day": 1, "week": 7, "fortnight": 14}
_CALENDAR_COUNTED = ("quarter", "decade", "century")
_REACH = {"year": 9, "month": 40, "week": 3}
_COARSENESS = {"year": 3, "month": 2, "week": 1}


# Periods


def interval(start: datetime, end: datetime, unit: str, edge: datetime | None = None) -> Interval:
    return Interval(start, end, unit, start if edge is None else edge)


def day_of(moment: datetime) -> Interval:
    start = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    return interval(start, plus_days(start, 1), "day")


def days_in(year: int, month: int) -> int:
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def midnight(year: int, month: int, day: int) -> datetime:
    if not 1 <= year <= 9998:
        raise Unresolvable("out of range")
    if not 1 <= month <= 12 or not 1 <= day <= days_in(year, month):
        raise Unresolvable("impossible date")
    return datetime(year, month, day)  # noqa: DTZ001 - local time, here as everywhere in this file


def plus_days(moment: datetime, days: int) -> datetime:
    try:
        return moment + timedelta(days=days)
    except OverflowError:
        raise Unresolvable("out of range") from None


def plus_months(moment: datetime, months: int) -> datetime:
    """Same day of the month, or the month's last day where there is no such day."""
    index = moment.year * 12 + moment.month - 1 + months
    year, month = divmod(index, 12)
    if not 1 <= year <= 9999:
        raise Unresolvable("out of range")
    day = min(moment.day, days_in(year, month + 1))
    return moment.replace(year=year, month=month + 1, day=day)


def monday(moment: datetime) -> datetime:
    return plus_days(moment, -moment.weekday())


def index(cycle: Cycle, moment: datetime) -> int:
    if cycle == "year":
        return moment.year
    if cycle == "month":
        return moment.year * 12 + moment.month - 1
    return (moment.toordinal() - 1) // 7


def period(cycle: Cycle, k: int) -> Interval:
    """The k-th year, month or week, counted as `index` counts them."""
    if cycle == "year":
        return years(k, 1, "year")
    if cycle == "month":
        start = midnight(k // 12, k % 12 + 1, 1)
        return interval(start, plus_months(start, 1), "month")
    if not 0 <= k < 521_000:
        raise Unresolvable("out of range")
    start = datetime.fromordinal(k * 7 + 1)
    return interval(start, start + WEEK, "week")


def years(first: int, count: int, unit: str) -> Interval:
    start = midnight(first, 1, 1)
    return interval(start, midnight(first + count, 1, 1), unit)


def period_at(unit: str, today: datetime, offset: int = 0) -> Interval:
    """The `unit` of the calendar that holds `today`, moved by `offset` units."""
    if unit == "day":
        return day_of(plus_days(today, offset))
    if unit in ("week", "weekend", "workweek", "fortnight"):
        step = 14 if unit == "fortnight" else 7
        first = plus_days(monday(today), offset * step)
        skip, length = {"week": (0, 7), "weekend": (5, 2), "workweek": (0, 5)}.get(unit, (0, 14))
        start = plus_days(first, skip)
        return interval(start, plus_days(start, length), "weekend" if skip else "week")
    if unit == "month":
        return period("month", index("month", today) + offset)
    if unit == "quarter":
        start = plus_months(midnight(today.year, (today.month - 1) // 3 * 3 + 1, 1), 3 * offset)
        return interval(start, plus_months(start, 3), "quarter")
    if unit == "half":
        start = plus_months(midnight(today.year, 1 if today.month < 7 else 7, 1), 6 * offset)
        return interval(start, plus_months(start, 6), "range")
    length = {"year": 1, "decade": 10, "century": 100}[unit]
    return years((today.year // length + offset) * length, length, unit)


def seconds_at(moment: datetime, unit: str) -> Interval:
    try:
        return interval(moment, moment + timedelta(seconds=CLOCK_UNITS[unit]), unit)
    except OverflowError:
        raise Unresolvable("out of range") from None


# Moving by a duration


def shift(moment: datetime, duration: Duration, sign: int) -> datetime:
    """`moment` moved by the duration; half a month is fifteen days, half a day is dropped."""
    months = days = 0
    seconds = 0.0
    for count, unit in duration:
        if count > 1e7:
            raise Unresolvable("out of range")
        if unit in MONTHS_IN:
            whole = int(count * MONTHS_IN[unit])
            months += whole
            days += int((count * MONTHS_IN[unit] - whole) * 30)
        elif unit in DAYS_IN:
            days += int(count * DAYS_IN[unit])
        elif unit in CLOCK_UNITS:
            seconds += count * CLOCK_UNITS[unit]
        elif unit in ("weekend", "workweek"):
            days += int(count * 7)
    moved = plus_days(plus_months(moment, sign * months), sign * days)
    for count, unit in duration:
        if unit == "business day":
            moved = shift_business_days(moved, int(count), sign)
    try:
        return moved + timedelta(seconds=sign * seconds)
    except OverflowError:
        raise Unresolvable("out of range") from None


def shift_business_days(moment: datetime, count: int, sign: int) -> datetime:
    weeks, rest = divmod(count, 5)
    moved = plus_days(moment, sign * weeks * 7)
    while rest or moved.weekday() > 4:
        moved = plus_days(moved, sign)
        rest -= 1 if moved.weekday() < 5 and rest else 0
    return moved


def finest_clock_unit(duration: Duration) -> str | None:
    units = [unit for _, unit in duration if unit in CLOCK_UNITS]
    return min(units, key=lambda unit: CLOCK_UNITS[unit]) if units else None


def moved(base: Meaning | None, duration: Duration, sign: int) -> Meaning:
    """The day (or hour, minute, second) a duration away from `base`, or from the anchor."""
    clock = finest_clock_unit(duration)

    def at(context: Context) -> Interval:
        start = context.now if base is None else settle(base, context, future=True).start
        landed = shift(start, duration, sign)
        return seconds_at(landed, clock) if clock else day_of(landed)

    return Fixed(clock or "day", at)


def ahead(duration: Duration) -> Meaning:
    """ "the next 3 days": from tomorrow on; quarters and decades are whole calendar ones."""

    def at(context: Context) -> Interval:
        count, unit = duration[0]
        if unit in _CALENDAR_COUNTED:
            first = period_at(unit, context.today, 1).start
            return interval(first, shift(first, duration, 1), "range")
        if finest_clock_unit(duration):
            return interval(context.now, shift(context.now, duration, 1), "range")
        first = plus_days(context.today, 1)
        if unit == "business day":
            last = shift_business_days(context.today, int(min(count, 1e7)), 1)
            return interval(first, plus_days(last, 1), "range")
        return interval(first, shift(first, duration, 1), "range")

    return Fixed("range", at)


def behind(duration: Duration) -> Meaning:
    """ "the past 3 days": up to today; quarters and decades are whole calendar ones."""

    def at(context: Context) -> Interval:
        unit = duration[0][1]
        if unit in _CALENDAR_COUNTED:
            end = period_at(unit, context.today).start
        else:
            end = context.now if finest_clock_unit(duration) else context.today
        return interval(shift(end, duration, -1), end, "range")

    return Fixed("range", at)


def lasting(duration: Duration, base: Meaning | None) -> Meaning:
    """The duration counted from the start of `base`, or from today."""

    def at(context: Context) -> Interval:
        start = context.today if base is None else settle(base, context, future=True).start
        return interval(start, shift(start, duration, 1), "range")

    return Fixed("range", at)


def weekday_near(weekday: int, target: Meaning, same_week: bool) -> Meaning:
    """ "Monday two weeks from now": in the target's week (from Sunday), or on or after it."""

    def at(context: Context) -> Interval:
        landed = settle(target, context).start
        if same_week:
            sunday = plus_days(landed, -((landed.weekday() + 1) % 7))
            return day_of(plus_days(sunday, (weekday + 1) % 7))
        return day_of(plus_days(landed, (weekday - landed.weekday()) % 7))

    return Fixed("day", at)


# Meanings


def failed(reason: str, unit: str = "day") -> Meaning:
    def at(_: Context) -> Interval:
        raise Unresolvable(reason)

    return Fixed(unit, at)


def year_number(year: int) -> Meaning:
    return Fixed("year", lambda _: years(year, 1, "year"), named_year=True)


def relative(unit: str, offset: int = 0) -> Meaning:
    name = {"workweek": "week", "fortnight": "week", "half": "range"}.get(unit, unit)
    return Fixed(name, lambda context: period_at(unit, context.today, offset))


def date(year: int, month: int, day: int) -> Meaning:
    return Fixed("day", lambda _: day_of(midnight(year, month, day)), named_year=True)


def settle(meaning: Meaning, context: Context, future: bool = False) -> Interval:
    """The interval meant. `future` is the default where the words around it give no tense."""
    if isinstance(meaning, Fixed):
        return meaning.at(context)
    tense = context.tense()
    return occurrence(meaning, context.today, future if tense is None else tense)


def occurrence(meaning: Open, today: datetime, future: bool) -> Interval:
    """The first occurrence that has not ended, or the last one that has begun."""
    here = index(meaning.cycle, today)
    reach = _REACH[meaning.cycle]
    steps = range(here - 1, here + reach) if future else range(here, here - reach, -1)
    for k in steps:
        try:
            found = meaning.build(k)
        except Unresolvable:
            continue
        if future and found.end > today:
            return found
        if not future and (found.start < today or (meaning.today_counts and found.start == today)):
            return found
    raise Unresolvable("impossible date")


def strictly(meaning: Open, future: bool) -> Meaning:
    """The nearest occurrence wholly after, or wholly before, today."""

    def at(context: Context) -> Interval:
        found = occurrence(meaning, context.today, future)
        step = 1 if future else -1
        k = index(meaning.cycle, found.start)
        if future and found.start <= context.today:
            return meaning.build(k + step)
        if not future and found.end > context.today:
            return meaning.build(k + step)
        return found

    return Fixed(meaning.unit, at)


def with_year(meaning: Open, year: Meaning) -> Meaning:
    """A yearly meaning in a stated year."""

    def at(context: Context) -> Interval:
        return meaning.build(settle(year, context).start.year)

    return Fixed(meaning.unit, at)


def inside(child: Child, parent: Meaning | None = None) -> Meaning:
    if parent is None:
        return Open(child.unit, child.cycle, lambda k: child.build(period(child.cycle, k)))
    if isinstance(parent, Open):
        build = parent.build
        return Open(child.unit, parent.cycle, lambda k: child.build(build(k)))
    at = parent.at
    return Fixed(child.unit, lambda context: child.build(at(context)), parent.named_year)


def span(first: Meaning, last: Meaning) -> Meaning:
    """From `first` up to `last`, exclusive; the closed or coarser bound pins the other one."""
    if isinstance(first, Open) and isinstance(last, Open):
        if _COARSENESS[first.cycle] >= _COARSENESS[last.cycle]:
            return Open(
                "range", first.cycle, lambda k: _joined(*_with_follower(first.build(k), last))
            )
        return Open("range", last.cycle, lambda k: _joined(*_with_leader(first, last.build(k))))

    def at(context: Context) -> Interval:
        if isinstance(first, Open):
            return _joined(*_with_leader(first, settle(last, context)))
        if isinstance(last, Open):
            return _joined(*_with_follower(settle(first, context), last))
        return _joined(first.at(context), last.at(context))

    return Fixed("range", at)


def _with_follower(first: Interval, last: Open) -> tuple[Interval, Interval]:
    k = index(last.cycle, first.start)
    found = last.build(k)
    return first, found if found.edge > first.edge else last.build(k + 1)


def _with_leader(first: Open, last: Interval) -> tuple[Interval, Interval]:
    k = index(first.cycle, last.start)
    found = first.build(k)
    return found if found.edge < last.edge else first.build(k - 1), last


def _joined(first: Interval, last: Interval) -> Interval:
    if last.edge <= first.edge:
        raise Unresolvable("empty range")
    return interval(first.edge, last.edge, "range")

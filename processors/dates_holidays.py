"""Holidays that follow from the year alone, as rules shared by every language.

A rule maps a year to a month and a day. Festivals of the Chinese calendar are not here: they do
not follow from a solar rule, so the grammars report them as unresolved.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta

from memstream.processors.dates_calendar import (
    DAY,
    Child,
    Interval,
    Unresolvable,
    day_of,
    midnight,
)

Rule = Callable[[int], tuple[int, int]]


def holiday_in_year(name: str) -> Child:
    """The day of the named holiday; `name` must be a key of `RULES`."""
    rule = RULES[name]

    def build(year: Interval) -> Interval:
        try:
            month, day = rule(year.start.year)
        except (OverflowError, ValueError):
            raise Unresolvable("out of range") from None
        return day_of(midnight(year.start.year, month, day))

    return Child("day", "year", build)


def on(month: int, day: int) -> Rule:
    return lambda year: (month, day)


def nth(n: int, weekday: int, month: int, plus: int = 0) -> Rule:
    """The n-th weekday of a month (last when n is -1), moved by `plus` days."""

    def rule(year: int) -> tuple[int, int]:
        if n > 0:
            first = date(year, month, 1)
            found = first + DAY * ((weekday - first.weekday()) % 7 + 7 * (n - 1))
        else:
            end = date(year, month + 1, 1) - DAY
            found = end - DAY * ((end.weekday() - weekday) % 7)
        found += timedelta(days=plus)
        return found.month, found.day

    return rule


def easter(plus: int = 0) -> Rule:
    """Gregorian Easter Sunday (Meeus, Jones, Butcher), moved by `plus` days."""

    def rule(year: int) -> tuple[int, int]:
        a, b, c = year % 19, year // 100, year % 100
        d, e = divmod(b, 4)
        g = (8 * b + 13) // 25
        h = (19 * a + b - d - g + 15) % 30
        i, k = divmod(c, 4)
        m = (32 + 2 * e + 2 * i - h - k) % 7
        n = (a + 11 * h + 22 * m) // 451
        month, day = divmod(h + m - 7 * n + 114, 31)
        found = date(year, month, day + 1) + timedelta(days=plus)
        return found.month, found.day

    return rule


def islamic(month: int, day: int) -> Rule:
    """The tabular Islamic calendar (Thursday epoch): the first such day in the year."""

    def rule(year: int) -> tuple[int, int]:
        hijri = (year - 622) * 33 // 32
        for candidate in (hijri - 1, hijri, hijri + 1):
            julian_day = (
                (11 * candidate + 3) // 30
                + 354 * candidate
                + 30 * month
                - (month - 1) // 2
                + day
                + 1948439
                - 385
            )
            found = date.fromordinal(julian_day - 1721425)
            if found.year == year:
                return found.month, found.day
        raise ValueError("no such day in this year")

    return rule


_MON, _TUE, _WED, _THU, _FRI, _SAT, _SUN = range(7)

RULES: dict[str, Rule] = {
    "new year": on(1, 1),
    "new year eve": on(12, 31),
    "inauguration day": on(1, 20),
    "martin luther king day": nth(3, _MON, 1),
    "groundhog day": on(2, 2),
    "valentine": on(2, 14),
    "presidents day": nth(3, _MON, 2),
    "girls day": on(3, 7),
    "womens day": on(3, 8),
    "arbor day": on(3, 12),
    "white day": on(3, 14),
    "pi day": on(3, 14),
    "consumer day": on(3, 15),
    "st patrick": on(3, 17),
    "april fools": on(4, 1),
    "earth day": on(4, 22),
    "st george": on(4, 23),
    "may day": on(5, 1),
    "youth day": on(5, 4),
    "star wars day": on(5, 4),
    "cinco de mayo": on(5, 5),
    "nurses day": on(5, 12),
    "mothers day": nth(2, _SUN, 5),
    "memorial day": nth(-1, _MON, 5),
    "childrens day": on(6, 1),
    "flag day": on(6, 14),
    "juneteenth": on(6, 19),
    "fathers day": nth(3, _SUN, 6),
    "canada day": on(7, 1),
    "party day": on(7, 1),
    "independence day": on(7, 4),
    "bastille day": on(7, 14),
    "army day": on(8, 1),
    "labor day": nth(1, _MON, 9),
    "teachers day": on(9, 10),
    "chinese national day": on(10, 1),
    "double tenth": on(10, 10),
    "columbus day": nth(2, _MON, 10),
    "halloween": on(10, 31),
    "all saints": on(11, 1),
    "all souls": on(11, 2),
    "guy fawkes": on(11, 5),
    "veterans day": on(11, 11),
    "singles day": on(11, 11),
    "thanksgiving": nth(4, _THU, 11),
    "thanksgiving eve": nth(4, _THU, 11, -1),
    "black friday": nth(4, _THU, 11, 1),
    "cyber monday": nth(4, _THU, 11, 4),
    "double twelve": on(12, 12),
    "christmas eve": on(12, 24),
    "christmas": on(12, 25),
    "boxing day": on(12, 26),
    "mao birthday": on(12, 26),
    "mardi gras": easter(-47),
    "ash wednesday": easter(-46),
    "palm sunday": easter(-7),
    "maundy thursday": easter(-3),
    "good friday": easter(-2),
    "holy saturday": easter(-1),
    "easter": easter(),
    "easter monday": easter(1),
    "ascension day": easter(39),
    "pentecost": easter(49),
    "whit monday": easter(50),
    "trinity sunday": easter(56),
    "corpus christi": easter(60),
    "islamic new year": islamic(1, 1),
    "eid al fitr": islamic(10, 1),
    "eid al adha": islamic(12, 10),
}

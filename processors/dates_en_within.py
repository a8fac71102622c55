"""English periods named by their place in, or beside, a larger one.

"the first week of May", "the last 3 days of the month", "the week of the 18th", "the year after
next", "mid-November", "the rest of the year".
"""

from __future__ import annotations

from memstream.processors.dates_calendar import (
    Child,
    Context,
    Cycle,
    Fixed,
    Interval,
    Meaning,
    inside,
    period_at,
    relative,
    settle,
)
from memstream.processors.dates_en_absolute import (
    century,
)
from memstream.processors.dates_en_reader import (
    PERIODS,
    Match,
    Points,
)
from memstream.processors.dates_en_words import (
    FULL_STOPS,
    INITIALISMS,
    LAST_WORDS,
    PARTS,
    RUNNING_PARTS,
    UNITS,
    WEEKDAYS,
    count,
    digits,
    ordinal,
    unit,
    whole_number,
)
from memstream.processors.dates_within import (
    Part,
    earlier_in,
    end_of_year,
    first_in,
    half_in_year,
    last_in,
    later_in,
    nth_in,
    nth_weekday,
    part,
    quarter_in_year,
    rest_of,
    to_date,
    whole_week,
    whole_weekend,
)

# "the first week of", "the third quarter", "the last day of"


def ordinal_first(self: Points, i: int) -> Match:
    words, tokens = self.words, self.tokens
    number = (-1, i + 1) if words[i] in LAST_WORDS else ordinal(tokens, i)
    if number is None or words[i - 1] in ("every", "each"):
        return None
    n, j = number
    if n > 0 and words[j : j + 2] == ["to", "last"]:
        n, j = -n, j + 2
    if words[j] in WEEKDAYS:
        parent = self.parent(j + 1)
        if parent and parent[0].unit in ("month", "year", "quarter"):
            return inside(nth_weekday(n, WEEKDAYS[words[j]]), parent[0]), parent[1]
        return (
            (inside(nth_weekday(n, WEEKDAYS[words[j]]), relative("month")), j + 1)
            if n > 0
            else None
        )
    if words[j] == "century" and n > 0:
        return century(n), j + 1
    amount = count(tokens, j) if words[j] not in ("a", "an", "half") else None
    if amount and amount[0] is not None and n in (1, -1):
        return _first_or_last(self, n, int(amount[0]), amount[1])
    if words[j] == "half":
        return _nth_period(self, n, "half", j + 1)
    named = unit(tokens, j)
    return _nth_period(self, n, named[0], named[1]) if named else None


def _nth_period(self: Points, n: int, name: str, j: int) -> Match:
    parent = self.parent(j)
    if parent and parent[0].unit in PERIODS and parent[0].unit != name:
        cycle: Cycle = "month" if parent[0].unit == "month" else "year"
        if name == "half" and parent[0].unit != "year":
            return inside(part("early" if n == 1 else "late", parent[0].unit), parent[0]), parent[1]
        return inside(_nth(n, name, cycle), parent[0]), parent[1]
    if name in ("quarter", "half") and 1 <= n <= (4 if name == "quarter" else 2):
        return inside(_nth(n, name, "year")), j
    return None


def _nth(n: int, name: str, cycle: Cycle) -> Child:
    if name == "quarter" and 1 <= n <= 4:
        return quarter_in_year(n)
    if name == "half":
        return half_in_year(2 if n == -1 else min(n, 2))
    if name == "night":
        name = "day"
    return nth_in(n, name, cycle)


def _first_or_last(self: Points, n: int, amount: int, j: int) -> Match:
    named = unit(self.tokens, j)
    if named is None or not 1 <= amount <= 10_000:
        return None
    parent = self.parent(named[1])
    if parent is None or parent[0].unit not in PERIODS:
        return None
    build = first_in if n == 1 else last_in
    cycle: Cycle = "month" if parent[0].unit == "month" else "year"
    return inside(build(amount, named[0], cycle), parent[0]), parent[1]


# Units on their own: "the week of", "week 31", "the year after next", "year to date"


_OWN = frozenset("off job jobs care one trip bag pass planner out abroad shift shifts".split())
"""What a day or a year of one's own is, whenever that was: "my day job", "my year abroad"."""


def unit_first(self: Points, i: int) -> Match:
    words = self.words
    word = words[i]
    name = UNITS[word]
    if word.endswith("s") or name in ("hour", "minute", "second", "business day"):
        return None
    j = i + 1
    before = words[i - 1]
    if words[j] in ("after", "before", "following", "preceding", "from"):
        return _unit_beside(self, name, j)
    if words[j] == "to" and words[j + 1] == "date" and name in ("year", "month", "week", "quarter"):
        return to_date(name), j + 2
    if name == "week":
        found = _week_named(self, j)
        if found:
            return found
    if name == "quarter" and words[j] in ("1", "2", "3", "4"):
        parent = self.parent(j + 1)
        return inside(quarter_in_year(int(words[j])), parent[0] if parent else None), (
            parent[1] if parent else j + 1
        )
    k = j + 1 if words[j] == "-" else j
    if words[k] == "end" and name in ("year", "month", "quarter", "week"):
        return inside(part("late", name), relative(name)), k + 1
    if name == "weekend":
        return _weekend_named(self, j)
    if before == "my" and name in ("day", "week", "month", "year"):
        return (
            None if words[j] in _OWN or words[j : j + 2] == ["in", "the"] else (relative(name), j)
        )
    if name == "day" and words[i - 2] in ("from", "of"):
        return None
    alone = name == "fortnight" or words[j] in (".", ",", "?", "!", "")
    if before == "the" and alone and (name in PERIODS or word == "day"):
        return relative(name), j
    return None


def _unit_beside(self: Points, name: str, j: int) -> Match:
    """ "the year after next", "the week before Christmas", "the day before"."""
    words = self.words
    sign = 1 if words[j] in ("after", "following") else -1
    k = j + 2 if words[j + 1] == "the" else j + 1
    beyond = (words[j], words[k]) in (("after", "next"), ("before", "last"), ("after", "this"))
    if beyond and words[k + 1] not in UNITS and words[k + 1] not in WEEKDAYS:
        return relative(name, sign * (1 if words[k] == "this" else 2)), k + 1
    if words[j] == "from":
        return None
    if name == "day" and words[j - 3] in ("or", "and"):  # "tomorrow or the day after"
        return None
    if name == "day" and words[j + 1] in FULL_STOPS and words[j - 2] == "the":
        return relative("day", sign), j + 1
    base = self.bare_point(j + 1)
    if base is None:
        return None
    origin = base[0]

    def at(context: Context) -> Interval:
        return period_at(name, settle(origin, context, future=True).start, sign)

    return Fixed(name, at), base[1]


def _week_named(self: Points, j: int) -> Match:
    words = self.words
    if words[j] in ("number", "no"):
        j += 1
    plain = words[j - 2] not in ("the", "in", "of", "since", "until", "from", "to", "and")
    number = digits(words[j], 2) or (whole_number(self.tokens, j) or (0, 0))[0]
    if 1 <= number <= 53 and words[j] not in ("one", "two") and words[j + 1] not in UNITS:
        k = j + 1 if words[j].isdigit() else whole_number(self.tokens, j)[1]  # type: ignore[index]
        parent = self.parent(k)
        if parent and parent[0].unit == "year":
            return inside(nth_in(number, "week", "year"), parent[0]), parent[1]
        if plain and number < 10:  # "Week 1" is more often the first week of a plan
            return None
        return inside(nth_in(number, "week", "year"), relative("year")), k
    if words[j] in ("of", "commencing", "starting", "beginning", "ending", "containing"):
        k = j + 2 if words[j + 1] in ("on", "from", "with") else j + 1
        if words[j] != "of" or words[k] not in ("this", "next", "last"):
            base = _day_point(self, k)
            if base:
                return inside(whole_week(), base[0]), base[1]
    return None


def _day_point(self: Points, i: int) -> Match:
    base = self.bare_point(i)
    return base if base and base[0].unit == "day" else None


def week_commencing(self: Points, i: int) -> Match:
    """ "w/c Feb 4"."""
    if self.words[i + 1 : i + 3] == ["/", "c"]:
        base = _day_point(self, i + 3)
        return (inside(whole_week(), base[0]), base[1]) if base else None
    return None


def _weekend_named(self: Points, j: int) -> Match:
    words = self.words
    if words[j] == "of":
        base = _day_point(self, j + 1)
        return (inside(whole_weekend(), base[0]), base[1]) if base else None
    before = words[j - 2]
    if before in ("each", "every", "a") or before.isdigit():
        return None
    if before not in ("the", "my", "on", "this", "over", "our"):
        return None

    def at(context: Context) -> Interval:
        here = period_at("weekend", context.today)
        past = before != "my" and context.tense() is False and here.start > context.today
        return period_at("weekend", context.today, -1) if past else here

    return Fixed("weekend", at), j


# Parts of periods


def part_first(self: Points, i: int) -> Match:
    """ "mid-November", "late last week", "beginning of 2000", "the end of the month"."""
    words = self.words
    which = PARTS[words[i]]
    j = i + 1
    if words[j] == "-":
        j += 1
    joined = words[j] in ("of", "in", "on")
    is_noun = words[i] in ("beginning", "start", "end", "middle", "close")
    if is_noun and not joined and (words[j] in UNITS or words[j] == "my"):
        return None
    if words[i] in ("start", "end", "close") and words[j] in ("in", "on"):
        return None
    if joined and words[j + 1] in ("year", "month", "week", "quarter"):
        named = words[j + 1]
        if words[j + 2] != "of" and not words[j + 2].isdigit():
            return inside(part(which, named), relative(named)), j + 2
    parent = self.container(j)
    if parent and words[i] in ("end", "close") and words[parent[1] - 1] == "year":
        beside = words[parent[1] - 2] in ("last", "next", "previous", "following", "past")
        if beside and parent[0].unit == "year":
            return inside(end_of_year(), parent[0]), parent[1]
    return _part_of(which, parent) if parent else None


def _part_of(which: Part, parent: tuple[Meaning, int]) -> Match:
    meaning, j = parent
    if meaning.unit not in PERIODS and meaning.unit != "week":
        return None
    named = isinstance(meaning, Fixed) and meaning.named_year
    return inside(part(which, meaning.unit, named), meaning), j


def running_part(self: Points, i: int) -> Match:
    """ "later this year", "earlier this week", "later in the month"."""
    words = self.words
    which: Part = "late" if RUNNING_PARTS[words[i]] == "late" else "early"
    j = i + 1
    if words[j] not in ("in", "this", "the", "on", "next", "last"):
        return None
    if words[j] in ("in", "on") and words[j + 1] not in ("the", "this"):
        return None
    parent = self.container(j)
    found = _part_of(which, parent) if parent else None
    if parent is None or found is None:
        return None
    if words[i] == "later":
        return later_in(parent[0], found[0]), found[1]
    return earlier_in(found[0]), found[1]


def rest_first(self: Points, i: int) -> Match:
    """ "the rest of the week", "the remaining of the year", "remainder of my month"."""
    words = self.words
    j = i + 2 if words[i + 1] in ("part", "days") else i + 1
    if words[j] != "of":
        return None
    j += 1
    if words[j] in ("the", "this", "my", "our", "current"):
        j += 2 if words[j + 1] == "current" else 1
    name = UNITS.get(words[j])
    if name in PERIODS and words[j] == name:
        return rest_of(relative(name)), j + 1
    return None


def initialism(self: Points, i: int) -> Match:
    which, name = INITIALISMS[self.words[i]]
    return inside(part(which, name), relative(name)), i + 1


def date_initialism(self: Points, i: int) -> Match:
    units = {"ytd": "year", "mtd": "month", "qtd": "quarter", "wtd": "week"}
    return to_date(units[self.words[i]]), i + 1

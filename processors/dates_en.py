"""The English grammar of dates: finds expressions, and joins single periods to ranges.

`find` walks the tokens once. At each word that can begin an expression it reads a range ("from A
to B"), a bound ("since A"), a vague phrase, or a single period (rules in `dates_en_absolute`,
`dates_en_relative` and `dates_en_within`), and goes on
after it. A time of day beside a single day narrows it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from memstream.processors.dates_calendar import (
    Child,
    Context,
    Fixed,
    Interval,
    Meaning,
    Open,
    day_of,
    inside,
    midnight,
    relative,
    span,
    year_number,
)
from memstream.processors.dates_en_absolute import (
    day_month,
    decade,
    equals_year,
    holiday,
    listed_day,
    month,
    month_day,
    named_numeric,
    numeric,
    quarter_first,
    season,
    the_day,
    year_alone,
    year_first,
    year_of_era,
    year_word,
)
from memstream.processors.dates_en_holidays import HOLIDAY_STARTS
from memstream.processors.dates_en_names import is_a_name
from memstream.processors.dates_en_reader import Points, Rule, vague
from memstream.processors.dates_en_relative import (
    counted,
    current_date,
    day_named,
    in_duration,
    modified,
    weekday_first,
)
from memstream.processors.dates_en_tense import recurring, tense
from memstream.processors.dates_en_within import (
    date_initialism,
    initialism,
    ordinal_first,
    part_first,
    rest_first,
    running_part,
    unit_first,
    week_commencing,
)
from memstream.processors.dates_en_words import (
    AFTER_DAY,
    CONNECTORS,
    DAYS_NAMED,
    DECADES,
    INITIALISMS,
    LAST_WORDS,
    MODIFIERS,
    MONTHS,
    NOT_AFTER_YEAR,
    ONES,
    ORDINALS,
    PARTS,
    RUNNING_PARTS,
    SCALES,
    SEASONS,
    TENS,
    UNITS,
    VAGUE,
    VAGUE_STARTS,
    WEEKDAYS,
    Tokens,
    day_number,
    lowered,
    may_hold_date,
    ordinal,
    year,
)
from memstream.processors.dates_expression import Bound, Expression, beside
from memstream.processors.dates_within import (
    clock_time,
    day_in_month,
    weekday,
)

__all__ = ["find", "is_written_in"]

_LATIN = re.compile(r"[A-Za-z]{2}")
_BOUNDS: dict[str, Bound] = {
    "since": "since",
    "after": "after",
    "before": "before",
    "until": "until",
    "till": "until",
    "til": "until",
}
_CLOCK = (
    r"(?P<h>[01]?[0-9]|2[0-4])(?::(?P<m>[0-5][0-9])(?::(?P<s>[0-5][0-9]))?)?"
    r" ?(?P<half>[ap]\.?m\b\.?)?(?: ?o'? ?clock)?(?![0-9a-z:])(?!\.[0-9])"
    r"|(?P<word>noon|midnight)\b"
)
_TIME_AFTER = re.compile(
    r",? ?(?:(?:in the )?(?:early |late )?(?P<part>morning|afternoon|evening|night)\b,? ?)?"
    rf"(?P<cue>(?:at|around|about|@) )?(?:{_CLOCK})"
)
_PART_AFTER = re.compile(
    r",? ?(?:in the )?(?:early |late )?(?:morning|afternoon|evening|night)(?![a-z])"
)
_TIME_BEFORE = re.compile(rf"(?:\b(?P<cue>at|around|about) )?\b(?:{_CLOCK}),? (?:on )?$")
_TIME_ENDS = frozenset("0123456789m.nkt")  # the last letters of "3pm", "8:30", "noon", "midnight"
_NIGHTS = ("night", "tonight", "tonite")


class _Found(NamedTuple):
    meaning: Meaning
    end: int  # the token after it
    bound: Bound | None = None


def is_written_in(text: str) -> bool:
    """Whether the text holds a Latin word or a digit, so that this grammar may apply."""
    return _LATIN.search(text) is not None


def find(text: str) -> list[Expression]:
    """The date expressions of `text`, from left to right, without overlap."""
    low = lowered(text)
    if not may_hold_date(low):
        return []
    tokens = Tokens(low, text)
    points = Points(tokens, _RULES, _DIGIT_RULES)
    found: list[Expression] = []
    words, count = tokens.words, tokens.count
    i = 0
    while i < count:
        word = words[i]
        if "0" <= word[:1] <= "9":
            starts = not (tokens.joined(i) and words[i - 1].isalpha())
        else:
            starts = word in _STARTS
        if not starts:
            i += 1
            continue
        at = _expression(points, i)
        listed = _listed(points, i, found) if at is None else _later(points, i, at, found)
        if listed is not None:
            at = listed
        if at is None or (at.end == i + 1 and is_a_name(tokens, i)):
            i += 1
            continue
        located = _located(tokens, i, at, found[-1].end if found else 0)
        found.append(located if listed is None else beside(located, found[-1]))
        i = tokens.index_after(max(at.end, i + 1), found[-1].end)
    return found


def _expression(points: Points, i: int) -> _Found | None:
    words = points.words
    word = words[i]
    if word in VAGUE_STARTS and words[i - 1] != "how":
        phrase = VAGUE.match(points.tokens.text, points.tokens.starts[i])
        if phrase:
            return _Found(vague(), points.tokens.index_after(i, phrase.end()))
    if word in ("from", "between"):
        return _range_after(points, i + 1, word)
    if word == "now":
        here = words[i + 1] in CONNECTORS
        return _joined(points, relative("day"), i + 1, "from") if here else None
    if word in _BOUNDS or (word, words[i + 1]) == ("prior", "to"):
        return _bounded(points, i)
    ranged = _number_range(points, i, "")
    first = points.point(i)
    if first is None or (ranged and ranged.end > first[1]):
        return ranged
    joined = _joined(points, first[0], first[1], "")
    if joined and not (ranged and ranged.end >= joined.end):
        return joined
    if words[first[1]] in ("onwards", "onward"):
        return _Found(first[0], first[1] + 1, "since")
    return ranged or _Found(*first)


def _listed(points: Points, i: int, found: list[Expression]) -> _Found | None:
    """The 26 of "December 25 and 26", once the 25 is found."""
    words, tokens = points.words, points.tokens
    if not found or words[i - 1] not in ("and", "or", "&", ",") or i < 2:
        return None
    last = found[-1]
    day = day_number(tokens, i)
    if day is None or last.meaning.unit != "day" or last.bound:
        return None
    if last.end != tokens.ends[i - 2] or words[day[1]] not in AFTER_DAY | {"&"}:
        return None
    if MONTHS.keys().isdisjoint(words[max(0, i - 7) : i - 1]):
        return None
    return _Found(_in_month_of(last.meaning, day[0]), day[1])


def _later(points: Points, i: int, at: _Found, found: list[Expression]) -> _Found | None:
    """The 12th of "arriving on May 10, leaving on the 12th": a later day of the month named before
    in the same sentence."""
    tokens, words = points.tokens, points.words
    day = ordinal(tokens, i)
    if day is None or not found or day[1] != at.end or at.bound or words[i - 1] != "the":
        return None
    last = found[-1]
    between = tokens.text[last.end : tokens.starts[i]]
    if last.meaning.unit != "day" or last.bound or _SENTENCE_END.search(between):
        return None
    named = _MONTH_AND_DAY.search(tokens.text[last.start : last.end])
    if named is None or int(named["d"] or named["e"]) >= day[0] or len(between) > 40:
        return None
    return _Found(_in_month_of(last.meaning, day[0]), day[1])


_SENTENCE_END = re.compile("[.!?;\n]")
_MONTH_AND_DAY = re.compile(
    rf"\b(?:{'|'.join(MONTHS)})\.? (?:the )?(?P<d>[0-9]{{1,2}})(?![0-9])"
    rf"|\b(?P<e>[0-9]{{1,2}})(?:st|nd|rd|th)? (?:of )?(?:{'|'.join(MONTHS)})\b"
)


def _in_month_of(meaning: Meaning, day: int) -> Meaning:
    def build(first: Interval) -> Interval:
        return day_of(midnight(first.start.year, first.start.month, day))

    return inside(Child("day", "year", build), meaning)


def _bounded(points: Points, i: int) -> _Found | None:
    """ "since May", "before Friday", "until the end of the year"."""
    words = points.words
    bound = _BOUNDS.get(words[i], "before")
    if bound == "until" and not _PUT.isdisjoint(words[max(0, i - 3) : i]):
        return None
    j = i + 2 if words[i] == "prior" else i + 1
    base = points.bare_point(j)
    if base is None or (base[0].unit in ("hour", "minute", "second") and bound != "since"):
        return None
    if words[base[1]] == "'" and words[base[1] + 1] == "s":  # "after tomorrow's exam"
        return None
    return _Found(base[0], base[1], bound)


# Ranges


def _range_after(points: Points, i: int, lead: str) -> _Found | None:
    """What follows "from" or "between"; a lone "from A" is just A, read from its own start."""
    ranged = _number_range(points, i, lead)
    first = _endpoint(points, i)
    if first is None:
        return ranged
    joined = _joined(points, first[0], first[1], lead)
    best = max((found for found in (ranged, joined) if found), key=lambda f: f.end, default=None)
    if best or lead == "between":
        return best
    if points.words[first[1]] in ("on", "onwards", "onward", "forward"):
        return _Found(first[0], first[1] + 1, "since")
    return None


def _joined(points: Points, first: Meaning, j: int, lead: str) -> _Found | None:
    words = points.words
    if lead == "between" and words[j] == "," and words[j + 1] == "and":
        j += 1
    if words[j] == "up" and words[j + 1] == "to":
        j += 1
    if words[j] not in CONNECTORS and not (lead == "between" and words[j] == "and"):
        return None
    if first.unit in ("day", "month", "hour", "minute") and _is_put_elsewhere(words, j):
        return None
    points.range_bound = j + 1
    last = _endpoint(points, j + 1, after=first)
    if last is None:
        return None
    meaning, end = last
    if words[j] == "-" and not lead and _is_listing(points, j, first, meaning):
        return None
    return _Found(span(first, meaning), end)


def _is_put_elsewhere(words: list[str], j: int) -> bool:
    """Whether the word at j leads to where something is put: "moved it from Monday to Friday"."""
    if words[j] not in ("to", "until", "till"):
        return False
    before = words[max(0, j - 12) : j]
    verb = next((at for at, word in enumerate(before) if word in _PUT), None)
    return verb is not None and before[verb + 1] in _THINGS and _ENDS.isdisjoint(before[verb:])


_PUT = frozenset(
    "move moved reschedule rescheduled postpone postponed push pushed shift shifted change changed "
    "switch switched bump bumped delay delayed deferred".split()
)
_THINGS = frozenset("it the my our his her their your from".split())
_ENDS = frozenset(".!?;")


def _is_listing(points: Points, j: int, first: Meaning, last: Meaning) -> bool:
    """A spaced hyphen between unlike things ("Race - this week") separates, it does not join."""
    spaced = not points.tokens.joined(j)
    return spaced and first.unit != last.unit


def _endpoint(points: Points, i: int, after: Meaning | None = None) -> tuple[Meaning, int] | None:
    words = points.words
    if words[i] == "the":
        i += 1
    if words[i] == "now" or words[i : i + 2] == ["right", "now"]:
        return relative("day"), i + (1 if words[i] == "now" else 2)
    if words[i] == "present" and words[i + 1] not in ("day", "date"):
        return relative("day"), i + 1
    found = points.point(i)
    number = year(points.tokens, i)
    if number and words[number[1]] in NOT_AFTER_YEAR:
        return None
    if number and (found is None or found[1] < number[1]) and words[i][:1].isdigit():
        found = (year_number(number[0]), number[1])
    if words[i] in WEEKDAYS and found is None:
        return weekday(WEEKDAYS[words[i]]), i + 1
    day = day_number(points.tokens, i)
    if day is None or (found and found[1] >= day[1]):
        return found
    if after is None:
        ahead = points.words[day[1]]
        ordinal_or_range = ahead in CONNECTORS or ahead == "and"
        return (inside(day_in_month(day[0])), day[1]) if ordinal_or_range else found
    fits = after.unit == "day" and words[day[1]] not in (":", "am", "pm", "/", ".")
    if fits:
        return _day_of_same(points, after, day)
    return found


def _day_of_same(
    points: Points, first: Meaning, day: tuple[int, int]
) -> tuple[Meaning, int] | None:
    """The 17 of "April 9th through 17th", with the year that may follow it."""
    meaning = inside(day_in_month(day[0]))
    later = points.year_after(day[1])
    if later is None or not isinstance(first, Open) or not isinstance(meaning, Open):
        return meaning, day[1]
    build, year_of = first.build, later[0]

    def at(context: Context) -> Interval:
        base = build(_settled_year(year_of, context))
        return meaning.build(base.start.year * 12 + base.start.month - 1)

    return Fixed("day", at), later[1]


def _settled_year(meaning: Meaning, context: Context) -> int:
    assert isinstance(meaning, Fixed)
    return meaning.at(context).start.year


def _number_range(points: Points, i: int, lead: str) -> _Found | None:
    """ "4-23 in next month", "between 3 and 12 of Sept", "the ninth till the 17th of April"."""
    words, tokens = points.words, points.tokens
    if words[i] == "the":
        i += 1
    first = day_number(tokens, i)
    if first is None:
        return None
    j = first[1]
    if words[j] not in CONNECTORS and not (lead == "between" and words[j] == "and"):
        return None
    if words[j] == "-" and tokens.joined(i) and words[i - 1].isdigit():
        return None
    k = j + 2 if words[j + 1] == "the" else j + 1
    second = day_number(tokens, k)
    if second is None:
        return None
    parent = points.container(second[1])
    if parent is None or parent[0].unit != "month":
        return None
    start = inside(day_in_month(first[0]), parent[0])
    end = inside(day_in_month(second[0]), parent[0])
    return _Found(span(start, end), parent[1])


# Times of day


def _located(tokens: Tokens, i: int, found: _Found, floor: int) -> Expression:
    meaning = found.meaning
    start, end = tokens.starts[i], tokens.ends[found.end - 1]
    if meaning.unit == "day" and found.bound is None:
        narrowed = _time_after(tokens, meaning, i, end)
        if narrowed is None:
            narrowed = _time_before(tokens, meaning, start, end, floor)
        if narrowed is not None:
            meaning, start, end = narrowed
    return Expression(start, end, meaning, found.bound, tense, recurring)


def _time_after(
    tokens: Tokens, meaning: Meaning, i: int, end: int
) -> tuple[Meaning, int, int] | None:
    start = tokens.starts[i]
    found = _TIME_AFTER.match(tokens.text, end)
    if found and found.end() > end:
        part = found["part"] or next((w for w in _NIGHTS if w in tokens.text[start:end]), None)
        marked = found["cue"] or found["m"] or found["half"] or found["word"]
        moment = _moment(found, part)
        if marked and moment is not None:
            return clock_time(meaning, *moment), start, found.end()
    part_only = _PART_AFTER.match(tokens.text, end)
    if part_only and part_only.end() > end:
        return meaning, start, part_only.end()
    return None


def _time_before(
    tokens: Tokens, meaning: Meaning, start: int, end: int, floor: int
) -> tuple[Meaning, int, int] | None:
    window = max(floor, start - 24)
    if tokens.text[window:start].removesuffix(" on ").rstrip(" ,")[-1:] not in _TIME_ENDS:
        return None
    found = _TIME_BEFORE.search(tokens.text, window, start)
    if found is None or not (found["m"] or found["half"] or found["word"]):
        return None
    if found.start() > 0 and tokens.text[found.start() - 1] in "-~:./":
        return None
    moment = _moment(found, "night" if "night" in tokens.text[start:end] else None)
    return None if moment is None else (clock_time(meaning, *moment), found.start(), end)


def _moment(found: re.Match[str], part: str | None) -> tuple[int, int | None, int | None] | None:
    """Hour, minute and second; None where "at 8" leaves open which half of the day."""
    if found["word"]:
        return (12, 0, None) if found["word"] == "noon" else (24, 0, None)
    hour = int(found["h"])
    minute = int(found["m"]) if found["m"] else None
    second = int(found["s"]) if found["s"] else None
    half = found["half"]
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half[0] == "p" else 0)
    elif part is None:
        stated = hour > 12 or hour == 0 or (minute is not None and found["h"][0] == "0")
        return (hour, minute, second) if stated else None
    elif part == "morning":
        pass
    elif hour <= 12:
        late = part in _NIGHTS and (hour == 12 or hour < 5)
        hour = hour % 12 + 24 if late else hour % 12 + 12
    return hour, minute, second


# Which word starts what

_DIGIT_RULES: tuple[Rule, ...] = (
    numeric,
    named_numeric,
    day_month,
    listed_day,
    the_day,
    year_first,
    year_alone,
    year_of_era,
    decade,
    counted,
    ordinal_first,
)


def _rules() -> dict[str, tuple[Rule, ...]]:
    rules: dict[str, list[Rule]] = {}

    def start(words: object, *added: Rule) -> None:
        assert isinstance(words, (frozenset, dict, tuple, list))
        for word in words:
            rules.setdefault(word, []).extend(rule for rule in added if rule not in rules[word])

    start(MONTHS, named_numeric, month_day, month)
    start(WEEKDAYS, weekday_first)
    start(MODIFIERS, modified)
    start(UNITS, unit_first)
    start(PARTS, part_first)
    start(RUNNING_PARTS, running_part)
    start(DAYS_NAMED, day_named)
    start(SEASONS, season)
    start(HOLIDAY_STARTS, holiday)
    start(INITIALISMS, initialism)
    start(ORDINALS, day_month, listed_day, the_day, ordinal_first)
    start(LAST_WORDS, ordinal_first)
    start(TENS, day_month, listed_day, the_day, ordinal_first, counted, year_alone, year_first)
    start(ONES, day_month, listed_day, counted, year_alone, year_first, decade)
    start(DECADES, decade)
    start(("twenty",), decade)
    start(SCALES, counted)
    start(("a", "an", "half", "couple", "few", "several", "some", "many"), counted)
    start(("in", "within", "less"), in_duration)
    start(("rest", "remaining", "remainder", "balance"), rest_first)
    start(("year", "cy"), year_word)
    start(("q", "h"), quarter_first)
    start(("w",), week_commencing)
    start(("ytd", "mtd", "qtd", "wtd"), date_initialism)
    start(("current", "present"), current_date)
    start(("=",), equals_year)
    return {word: tuple(added) for word, added in rules.items()}


_RULES = _rules()

_STARTS = (
    frozenset(_RULES)
    | VAGUE_STARTS
    | frozenset(_BOUNDS)
    | {"from", "between", "the", "prior", "now"}
)

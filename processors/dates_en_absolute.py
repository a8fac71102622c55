"""English dates that carry their own place in the calendar.

Dates in digits, days and months by name, years, decades, centuries, quarters, seasons, holidays.
"""

from __future__ import annotations

import re

from memstream.processors.dates_calendar import (
    Child,
    Context,
    Fixed,
    Interval,
    Meaning,
    Open,
    failed,
    inside,
    relative,
    with_year,
    year_number,
    years,
)
from memstream.processors.dates_en_holidays import HOLIDAY_NAMES, HOLIDAYS
from memstream.processors.dates_en_reader import (
    Match,
    Points,
    month_only,
)
from memstream.processors.dates_en_words import (
    AFTER_DAY,
    BEFORE_YEAR,
    DECADES,
    FULL_STOPS,
    MODIFIERS,
    MONTHS,
    NOT_AFTER_YEAR,
    ONES,
    PLAIN_MONTHS,
    POSSESSIVES,
    SEASONS,
    TENS,
    UNITS,
    WEEKDAYS,
    day_number,
    digits,
    ordinal,
    whole_number,
    year,
)
from memstream.processors.dates_holidays import (
    holiday_in_year,
)
from memstream.processors.dates_numeric import (
    numeric_date,
    two_digit_year,
)
from memstream.processors.dates_within import (
    day_in_month,
    day_in_year,
    half_in_year,
    month_in_year,
    quarter_in_year,
    season_in_year,
    whole_weekend,
)

_NEAR_DAY = frozenset("on the by until till since before after from to between for and or".split())
_MONTH_CUES = frozenset(
    "in of since until till by from to during before after through between early mid late for "
    "around and or every last next this on - ~ / ( , start end middle beginning".split()
)
_FESTIVE = frozenset(
    "tree trees light lights decoration decorations ornament ornaments card cards carol carols "
    "movie movies song songs music sweater sweaters theme themed costume costumes egg eggs bunny "
    "candy cookie cookies".split()
)
_SPEECH = frozenset("said says told asked is was has had will would and's loves likes".split())
_NAMED_DATE = re.compile(
    r"(?:(?P<y>[12][0-9]{3})[-/ ](?:(?P<d>[0-9]{1,2})[-/](?P<m>[a-z]{3,9})"
    r"|(?P<m2>[a-z]{3,9})[-/ ](?P<d2>[0-9]{1,2}))"
    r"|(?P<d3>[0-9]{1,2})[-/](?P<m3>[a-z]{3,9})[-/](?P<y3>[12][0-9]{3}|[0-9]{2})"
    r"|(?P<m4>[a-z]{3,9})[-/](?P<y4>[12][0-9]{3})[-/](?P<d4>[0-9]{1,2}))(?![0-9a-z])"
)
_FRACTIONS = frozenset((2, 3, 4, 5, 6, 8, 10, 16))
_VERSIONED = frozenset("python version versions release v run runs running works tested".split())
_FESTIVE = frozenset(
    "tree trees light lights decoration decorations ornament ornaments card cards carol carols "
    "movie movies song songs music sweater sweaters theme themed costume costumes egg eggs bunny "
    "candy cookie cookies".split()
)
_SPEECH = frozenset("said says told asked is was has had will would and's loves likes".split())
_VERSIONED = frozenset("python version versions release v run runs running works tested".split())
_FRACTIONS = frozenset((2, 3, 4, 5, 6, 8, 10, 16))
CONNECTED_YEAR = frozenset(("-", "~", "to", "through", "till", "until"))
_NAMED_DATE = re.compile(
    r"(?:(?P<y>[12][0-9]{3})[-/ ](?:(?P<d>[0-9]{1,2})[-/](?P<m>[a-z]{3,9})"
    r"|(?P<m2>[a-z]{3,9})[-/ ](?P<d2>[0-9]{1,2}))"
    r"|(?P<d3>[0-9]{1,2})[-/](?P<m3>[a-z]{3,9})[-/](?P<y3>[12][0-9]{3}|[0-9]{2})"
    r"|(?P<m4>[a-z]{3,9})[-/](?P<y4>[12][0-9]{3})[-/](?P<d4>[0-9]{1,2}))(?![0-9a-z])"
)
_FRACTIONS = frozenset((2, 3, 4, 5, 6, 8, 10, 16))
_VERSIONED = frozenset("python version versions release v run runs running works tested".split())


# Numerals


def numeric(self: Points, i: int) -> Match:
    tokens, words = self.tokens, self.words
    if (
        words[i - 1] == "-"
        and tokens.joined(i)
        and words[i - 2].isdigit()
        and i != self.range_bound
    ):
        return None
    found = numeric_date(tokens.text, tokens.starts[i], day_first=False, year_first=False)
    if found is None:
        return None
    if found.weak and not _is_month_day(self, i, found.end):
        return None
    j = tokens.index_after(i, found.end)
    if found.weak and words[j] == "in":
        later = self.year_after(j)
        if later and isinstance(found.meaning, Open):
            return with_year(found.meaning, later[0]), later[1]
    return found.meaning, j


def _is_month_day(self: Points, i: int, end: int) -> bool:
    """Whether "4/22" or "5.12" is meant as a date, not a fraction, score or version."""
    words, tokens = self.words, self.tokens
    before = words[i - 1]
    after = words[tokens.index_after(i, end)]
    a, b = digits(words[i], 2) or 0, digits(words[i + 2], 2) or 0
    cued = before in WEEKDAYS or before == "on" or (before == "," and words[i - 2] in WEEKDAYS)
    if words[i + 1] == ".":
        return cued and len(words[i + 2]) <= 2 and _VERSIONED.isdisjoint(words[max(0, i - 6) : i])
    if i == self.range_bound or (words[i + 3] == "-" and words[i + 5] == "/"):
        return True
    if cued or before in ("before", "until", "till", "since", "from", "between", "next"):
        return after not in UNITS and after != "of"
    if (a, b) == (24, 7) or after in UNITS or after in ("of", "cup", "cups", "the", "inch"):
        return False
    if before in ("to", "-", ",", "or", "and", "through", "(") and i >= 3:
        return True
    if (a < b and b in _FRACTIONS) or a == b:
        return not before and after == ""
    return before == "by" or b > 12 or a > 12 or (not before and after == "")


def numeric_at(self: Points, i: int) -> Match:
    found = numeric_date(self.tokens.text, self.tokens.starts[i], False, False)
    return (found.meaning, self.tokens.index_after(i, found.end)) if found else None


def named_numeric(self: Points, i: int) -> Match:
    """ "2019-aug-1", "23/Sep/2020", "September-2020-23"."""
    found = _NAMED_DATE.match(self.tokens.text, self.tokens.starts[i])
    if found is None:
        return None
    group = found.groupdict()
    name = group["m"] or group["m2"] or group["m3"] or group["m4"]
    if name not in MONTHS:
        return None
    year_text = group["y"] or group["y3"] or group["y4"]
    day_text = group["d"] or group["d2"] or group["d3"] or group["d4"]
    child = day_in_year(MONTHS[name], int(day_text))
    meaning = inside(child, year_number(two_digit_year(int(year_text))))
    return meaning, self.tokens.index_after(i, found.end())


# Days, months, years by name


def month(self: Points, i: int) -> Match:
    """A month with an optional year; without one it must look like a month, not a name or verb."""
    found = month_only(self, i)
    if found is None or found[1] > i + 1:
        return found
    before = self.words[i - 1]
    if self.words[i] in PLAIN_MONTHS:
        return None if "_" in (before, self.words[i + 1]) else found
    cued = (before in _MONTH_CUES and before != ",") or (
        before == "the" and self.words[i - 2] == "in"
    )
    if "_" in (before, self.words[i + 1]):
        return None
    if before in ("and", "or", "-"):
        cued = any(word in MONTHS for word in self.words[max(0, i - 4) : i - 1])
        cued = cued or (before == "-" and not self.tokens.joined(i))
    beside = self.words[i + 1] in CONNECTED_YEAR or self.words[i + 1] in ("and", "or", ",")
    cued = cued or (beside and self.words[i + 2] in MONTHS)
    if self.words[i] in ("may", "march", "mar") and not self.tokens.capital(i):
        listed = self.words[i + 2] in MONTHS or self.words[i - 2] in MONTHS
        if not listed and (self.words[i] == "mar" or self.words[i + 1] not in AFTER_DAY):
            return None
    alone = not before and self.words[i + 1] in ("", "-")
    spoken = self.words[i + 1] in _SPEECH and before not in ("in", "since", "during")
    return found if (cued or alone) and not spoken else None


def month_day(self: Points, i: int) -> Match:
    """ "May 5", "May the 5th, 2023", "Dec. 31 , 1994", "Oct2"."""
    words, tokens = self.words, self.tokens
    j = i + 1
    if words[j] == "." and tokens.joined(j):
        j += 1
    if words[j] in ("/", "-") and tokens.joined(j) and tokens.joined(j + 1):
        j += 1
    if words[j] == "the":
        j += 1
    if j == i + 1 and words[i] in ("may", "march") and (words[j] in ONES or words[j] in TENS):
        return None
    found = day_number(tokens, j)
    if found is None:
        return None
    day, j = found
    if (words[j] in UNITS and words[j - 1].isdigit()) or words[j] in ("am", "pm", "o"):
        return None
    later = self.year_after(j)
    verb = words[i] in ("may", "march") and not tokens.capital(i)
    if verb and words[j] not in AFTER_DAY and not later:
        return None
    beyond = 0 if later else _after_no_year(self, j)
    if beyond:
        return failed("out of range", "year"), beyond
    whole = inside(day_in_year(MONTHS[words[i]], day))
    assert isinstance(whole, Open)
    return (with_year(whole, later[0]), later[1]) if later else (whole, j)


def day_month(self: Points, i: int) -> Match:
    """ "5 May", "the 3rd of May 2023", "twenty second of June", "15th day of next month"."""
    words = self.words
    found = day_number(self.tokens, i)
    if found is None:
        return None
    day, j = found
    is_ordinal = ordinal(self.tokens, i) is not None
    if words[j] == "day" and is_ordinal:
        j += 1
    if words[j] in ("of", "-", "/", ",", "in") and (words[j] != "in" or is_ordinal):
        j += 1
    if words[j] == "the":
        j += 1
    if words[j] not in MONTHS:
        return _day_of_relative_month(self, day, j) if is_ordinal or words[i].isdigit() else None
    if words[j] in ("may", "march") and words[j + 1] in ("i", "we", "be", "not", "have", "you"):
        return None
    if words[i - 1] == "$":
        return None
    whole = inside(day_in_year(MONTHS[words[j]], day))
    assert isinstance(whole, Open)
    end = j + 2 if words[j + 1] == "." and self.tokens.joined(j + 1) else j + 1
    later = self.year_after(end)
    beyond = 0 if later else _after_no_year(self, end)
    if beyond:
        return failed("out of range", "year"), beyond
    return (with_year(whole, later[0]), later[1]) if later else (whole, j + 1)


def _after_no_year(self: Points, i: int) -> int:
    """Where it goes on behind a number that stands where a year would and can be none ("31 December
    9999"); 0 where none does."""
    if self.words[i] == "," and self.words[i + 2] in ("", ".", "!"):
        i += 1
    after = self.words[i + 1]
    counts = after[:1].isalnum() and after not in AFTER_DAY
    inside = self.tokens.joined(i + 1) and after not in (".", ",", "!", ";", ")")
    number = self.words[i].isdigit() and len(self.words[i]) > _NO_DAY
    return i + 1 if number and not counts and not inside else 0


_NO_DAY = 3
"""Digits of a number that is no hour and hardly counts anything else."""


def _day_of_relative_month(self: Points, day: int, j: int) -> Match:
    offset = MODIFIERS.get(self.words[j])
    if self.words[j - 1] == "the" and self.words[j] == "month":
        return inside(day_in_month(day), relative("month")), j + 1
    if offset is None or self.words[j + 1] != "month" or self.words[j - 1] not in ("of", "in"):
        return None
    return inside(day_in_month(day), relative("month", offset)), j + 2


def listed_day(self: Points, i: int) -> Match:
    """The first day of "18 and 19 June"."""
    found = day_number(self.tokens, i)
    if found is None or self.words[found[1]] not in ("and", "or", "&", ","):
        return None
    second = day_month(self, found[1] + 1)
    following = day_number(self.tokens, found[1] + 1)
    if second is None or following is None:
        return None
    name = next((w for w in self.words[following[1] : second[1]] if w in MONTHS), None)
    if name is None:
        return None
    whole = inside(day_in_year(MONTHS[name], found[0]))
    later = self.year_after(second[1] - 1)
    if later and isinstance(whole, Open):
        return with_year(whole, later[0]), found[1]
    return whole, found[1]


def the_day(self: Points, i: int) -> Match:
    """ "on the 18th", "for the 27", "on 15": a day of a month not named."""
    words = self.words
    found = day_number(self.tokens, i)
    before, before_that = words[i - 1], words[i - 2]
    if found is None or before not in _NEAR_DAY:
        return None
    day, j = found
    after = words[j]
    numeral = "0" <= words[i][:1] <= "9"
    suffixed = numeral and j == i + 2
    if after == "." and self.tokens.joined(j) and words[j + 1].isdigit():
        return None
    if after in ("/", ":", "-") and self.tokens.joined(j):
        return None
    if suffixed:
        fits = after in AFTER_DAY
    elif numeral:
        fits = before in ("the", "on") and after in FULL_STOPS
    else:
        fits = before == "the" and before_that in ("on", "for") and after in FULL_STOPS
    return (inside(day_in_month(day)), j) if fits else None


_NUMBERED = frozenset("$ € £ ¥ version number page pages line lines room rooms route bus".split())


def year_alone(self: Points, i: int) -> Match:
    """A year that the words around mark as one: "in 2019", "2007 and 2009", "2014 to 2018"."""
    words, tokens = self.words, self.tokens
    found = year(tokens, i)
    if found is None:
        return None
    value, j = found
    before, after = words[i - 1], words[j]
    written = "0" <= words[i][:1] <= "9"
    if not written:
        fits = before in ("in", "year", "since", "of", "by", "and", "from", "to", "until", "before")
        fits = fits or before in ("through", "after", "between", "during")
        return (year_number(value), j) if fits and after not in NOT_AFTER_YEAR else None
    if tokens.joined(i) and (before.isalpha() or before in ("$", "€", "£", "#", ".", "/", "_")):
        return None
    if after in NOT_AFTER_YEAR or (before in _NUMBERED):
        return None
    if after == "/" and tokens.joined(j) and tokens.joined(j + 1):
        return None
    to_now = words[j + 1] in ("present", "now", "today")
    if after == "-" and tokens.joined(j) and not to_now and not year(tokens, j + 1):
        return None
    if before == "-" and tokens.joined(i) and not year(tokens, i - 2):
        return None
    if before in ("and", "or", "&"):
        fits = any(year(tokens, k) for k in (i - 2, i - 3) if k >= 0)
    else:
        joins = after in CONNECTED_YEAR or (before == "between" and after == "and")
        last = year(tokens, j + 1) if joins else None
        if last and words[last[1]] in NOT_AFTER_YEAR | {"a", "per", "each"}:
            return None
        fits = before in BEFORE_YEAR or (last is not None and value >= 1800)
    return (year_number(value), j) if fits and 1500 <= value < 2200 else None


def year_first(self: Points, i: int) -> Match:
    """ "2016 Q3", "2019 h2", "2016 june", "2016 the third quarter"."""
    words = self.words
    found = year(self.tokens, i)
    if found is None:
        return None
    value, j = found
    parent = year_number(value)
    if words[j] in ("-", ",", "'"):
        j += 1
        if words[j] == "s":
            j += 1
    if words[j] == "the":
        j += 1
    half = quarter_or_half(self, j)
    if half:
        return inside(half[0], parent), half[1]
    number = ordinal(self.tokens, j)
    if number and words[number[1]] == "quarter" and number[0] <= 4:
        return inside(quarter_in_year(number[0]), parent), number[1] + 1
    if number and words[number[1]] == "half" and number[0] <= 2:
        return inside(half_in_year(number[0]), parent), number[1] + 1
    if (words[j] in MONTHS and words[j] not in ("may", "march")) or (
        words[j] in MONTHS and words[j + 1] in FULL_STOPS
    ):
        if words[j + 1].isdigit() and len(words[j + 1]) <= 2:
            return None
        return inside(month_in_year(MONTHS[words[j]]), parent), j + 1
    if words[j] in SEASONS and words[j - 1] not in (",", "-"):
        return inside(season_in_year(SEASONS[words[j]]), parent), j + 1
    return None


def year_word(self: Points, i: int) -> Match:
    """ "year 2008", "the year of 2008", "CY 2008", "year two hundred and sixty seven"."""
    j = i + 2 if self.words[i + 1] == "of" else i + 1
    if self.words[i - 1] in ("fiscal", "financial", "school", "academic", "tax"):
        stated = year(self.tokens, j)
        return failed("fiscal year", "year"), stated[1] if stated else j
    if len(self.words[j]) > 4 and self.words[j].isdigit():
        return failed("out of range", "year"), j + 1
    found = year(self.tokens, j)
    if found is None and j == i + 1:
        found = whole_number(self.tokens, j)
        if found and self.words[i] == "year" and self.words[i - 1] in ONES:
            return None
    return (year_number(found[0]), found[1]) if found and 1 <= found[0] <= 9998 else None


def year_of_era(self: Points, i: int) -> Match:
    """ "500 AD", "44 BC"."""
    value = digits(self.words[i], 4)
    j = i + 1
    if self.tokens.joined(j + 1) and self.words[j + 1].isalnum():
        return None
    if not value or self.words[j] not in ("ad", "ce", "bc", "bce") or value > 9998:
        return None
    if self.words[j] in ("bc", "bce"):
        return failed("out of range", "year"), j + 1
    return year_number(value), j + 1


def equals_year(self: Points, i: int) -> Match:
    """ "=2019"."""
    found = year(self.tokens, i + 1)
    return (year_number(found[0]), found[1]) if found else None


def decade(self: Points, i: int) -> Match:
    """ "the 1990s", "the 90's", "the seventies", "the two thousand and tens"."""
    words, tokens = self.words, self.tokens
    before = words[i - 1]
    word = words[i]
    if not POSSESSIVES.isdisjoint(words[max(0, i - 3) : i]):
        return None
    if word in DECADES:
        cued = before in ("the", "early", "late", "mid", "-")
        return (_decade(DECADES[word]), i + 1) if cued else None
    value = digits(word, 4)
    if value is not None:
        j = i + 2 if words[i + 1] == "'" and tokens.joined(i + 1) else i + 1
        if words[j] != "s" or value % 10 or len(word) not in (2, 4) or before.isdigit():
            return None
        if len(word) == 4 and not 1000 <= value <= 2990:
            return None
        if len(word) == 2 and before not in ("the", "in", "'", "early", "late", "-", "since"):
            return None
        return _decade(value), j + 1
    first = {"eighteen": 1800, "nineteen": 1900}.get(word)
    if first and words[i + 1] in DECADES:
        return _decade(first + DECADES[words[i + 1]]), i + 2
    if (word, words[i + 1]) == ("two", "thousand") or (word, words[i + 1]) == ("twenty", "tens"):
        j = i + 3 if words[i + 2] == "and" else i + 2
        if word == "two" and words[j] in DECADES:
            return _decade(2000 + DECADES[words[j]]), j + 1
    return None


def _decade(value: int) -> Meaning:
    if value >= 100:
        return Fixed("decade", lambda _: years(value, 10, "decade"))
    if value >= 30:
        return Fixed("decade", lambda _: years(1900 + value, 10, "decade"))

    def at(context: Context) -> Interval:
        first = 2000 + value if context.today.year >= 2000 + value else 1900 + value
        return years(first, 10, "decade")

    return Fixed("decade", at)


def century(n: int) -> Meaning:
    if n == 1:
        return Fixed("century", lambda _: years(1, 99, "century"))
    return Fixed("century", lambda _: years((n - 1) * 100, 100, "century"))


def quarter_or_half(self: Points, i: int) -> tuple[Child, int] | None:
    word = self.words[i]
    if word not in ("q", "h") or not self.tokens.joined(i + 1):
        return None
    number = self.words[i + 1]
    if word == "q" and number in ("1", "2", "3", "4"):
        return quarter_in_year(int(number)), i + 2
    if word == "h" and number in ("1", "2"):
        return half_in_year(int(number)), i + 2
    return None


def quarter_first(self: Points, i: int) -> Match:
    """ "Q3", "q1-2019", "Q3 of last year", "H1 2020"."""
    found = quarter_or_half(self, i)
    if found is None or (self.tokens.joined(i) and self.words[i - 1] not in ("(", "-")):
        return None
    if self.tokens.joined(found[1]) and self.words[found[1]].isalpha():
        return None
    child, j = found
    parent = self.year_after(j) or self.parent(j)
    if parent and parent[0].unit == "year":
        return inside(child, parent[0]), parent[1]
    return (
        (inside(child), j) if child.unit == "quarter" or self.words[i - 1] in ("in", "of") else None
    )


# Seasons and holidays


def season(self: Points, i: int) -> Match:
    """ "summer 2019", "the summer of last year", "in the winter"."""
    words = self.words
    child = season_in_year(SEASONS[words[i]])
    open_season = inside(child)
    later = self.year_after(i + 1)
    if later:
        return inside(child, later[0]), later[1]
    before = words[i - 1]
    in_season = before in ("in", "during", "since", "until")
    if before == "the" and words[i - 2] in ("in", "during", "over", "since", "for"):
        in_season = True
    if words[i] == "fall" and not (in_season and words[i + 1] in FULL_STOPS):
        return None
    if words[i] == "spring" and words[i + 1] not in AFTER_DAY:
        return None
    return (open_season, i + 1) if in_season and words[i + 1] in AFTER_DAY else None


def holiday_only(self: Points, i: int) -> Match:
    found = HOLIDAYS.match(self.tokens.text, self.tokens.starts[i])
    if found is None or found.lastgroup is None:
        return None
    name = HOLIDAY_NAMES[found.lastgroup]
    j = self.tokens.index_after(i, found.end())
    if name == "chinese new year":
        return failed("lunar calendar"), j
    return inside(holiday_in_year(name)), j


def holiday(self: Points, i: int) -> Match:
    found = holiday_only(self, i)
    if found is None or not isinstance(found[0], Open):
        return found
    meaning, j = found
    later = self.year_after(j)
    if later:
        meaning, j = with_year(found[0], later[0]), later[1]
    if self.words[j] == "weekend":
        later = None if later else self.year_after(j + 1)
        day = with_year(found[0], later[0]) if later else meaning
        return inside(whole_weekend(), day), later[1] if later else j + 1
    return None if self.words[j] in _FESTIVE else (meaning, j)

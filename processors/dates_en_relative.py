"""English dates that count from the moment of speech or from another date.

"tomorrow", weekdays, what "this", "next" and "last" govern, and counts of units ("two weeks ago",
"3 days after Friday", "the next 4 business days").
"""

from __future__ import annotations

from memstream.processors.dates_calendar import (
    Context,
    Duration,
    Fixed,
    Interval,
    Meaning,
    Open,
    Unresolvable,
    ahead,
    behind,
    day_of,
    inside,
    lasting,
    moved,
    period_at,
    plus_days,
    relative,
    settle,
    span,
    strictly,
    weekday_near,
    with_year,
)
from memstream.processors.dates_en_absolute import (
    CONNECTED_YEAR,
    day_month,
    holiday_only,
    month_day,
    named_numeric,
    numeric,
    numeric_at,
    quarter_or_half,
)
from memstream.processors.dates_en_holidays import HOLIDAY_STARTS
from memstream.processors.dates_en_reader import (
    PERIODS,
    Match,
    Points,
    Rule,
    month_only,
    vague,
)
from memstream.processors.dates_en_words import (
    AFTER_DAY,
    DAYS_NAMED,
    FULL_STOPS,
    MODIFIERS,
    MONTHS,
    NEAREST,
    NEXT,
    PARTS_OF_DAY,
    SEASONS,
    THIS,
    UNITS,
    WEEKDAYS,
    count,
    day_number,
    duration,
    ordinal,
    unit,
    year,
)
from memstream.processors.dates_within import (
    season_in_year,
    weekday,
    weekday_and_day,
    weekday_in_week,
)

_WEEKDAY_CUES = frozenset("on by until till from to through or and before after since".split())


def day_named(self: Points, i: int) -> Match:
    return relative("day", DAYS_NAMED[self.words[i]]), i + 1


def current_date(self: Points, i: int) -> Match:
    return (relative("day"), i + 2) if self.words[i + 1] in ("date", "day") else None


# Weekdays


def weekday_first(self: Points, i: int) -> Match:
    """A weekday with what follows: a date, a day, a week, an offset, or nothing."""
    words = self.words
    number = WEEKDAYS[words[i]]
    before = words[i - 1]
    if _is_of_many(self, i):
        return None
    j = i + 1
    if words[j : j + 2] == ["after", "next"]:
        return inside(weekday_in_week(number), relative("week", 2)), j + 2
    if words[j] == "." and self.tokens.joined(j) and len(words[i]) <= 5:
        j += 1
    dated = _weekday_date(self, number, j)
    if dated:
        return dated
    beside = _weekday_beside(self, number, j)
    if beside:
        return beside
    week = _week_after(self, i + 2 if self.words[i + 1] in PARTS_OF_DAY else i + 1)
    if week:
        return inside(weekday_in_week(number), week[0]), week[1]
    offset = _offset_after_weekday(self, number, j)
    if offset:
        return offset
    if len(words[i]) <= 5 and words[i] not in ("friday",):
        strict = words[i] in ("sun", "sat", "wed", "mon")
        if words[j] in CONNECTED_YEAR and words[j + 1] in WEEKDAYS:
            return weekday(number), i + 1
        if before not in _WEEKDAY_CUES or (strict and before not in ("on", "by", "until")):
            return None
        if strict and words[i + 1] not in AFTER_DAY:
            return None
    return weekday(number), i + 1


def _is_of_many(self: Points, i: int) -> bool:
    """Whether a weekday is no day of its own: "every other Friday", "each Monday and Friday", "a
    Friday"."""
    words = self.words
    if words[i - 1] in ("a", "an") or words[i + 1].removesuffix("s") in PARTS_OF_DAY - {
        words[i + 1]
    }:
        return True
    j = i
    while j > 1 and (words[j - 1] in _LISTING or words[j - 1] in PARTS_OF_DAY):
        while j > 1 and (words[j - 1] in _LISTING or words[j - 1] in PARTS_OF_DAY):
            j -= 1
        if words[j - 1].removesuffix("s") not in WEEKDAYS:
            return False
        j -= 1
    if words[j - 1] in ("each", "every", "alternate", "alternating"):
        return True
    nth = words[j - 1] in _SECOND or (words[j - 1] in ("nd", "rd", "th") and words[j - 2].isdigit())
    before = words[j - 3] if words[j - 2].isdigit() else words[j - 2]
    return nth and before in ("each", "every")


_LISTING = frozenset(("and", "or", "&", ",", "/", "+", "to", "through", "-"))
_SECOND = frozenset(("other", "single", "second", "third", "fourth", "last", "first"))


def _weekday_date(self: Points, number: int, j: int) -> Match:
    words = self.words
    if words[j] == ",":
        j += 1
    article = words[j] == "the"
    if article:
        j += 1
    rules: tuple[Rule, ...] = (numeric, day_month, month_day, named_numeric)
    for rule in rules:
        if rule is month_day and words[j] not in MONTHS:
            continue
        found = rule(self, j)
        if found and found[0].unit == "day":
            return found
    day = day_number(self.tokens, j)
    if day is None:
        return None
    suffixed = ordinal(self.tokens, j) is not None
    bare = words[j].isdigit() and words[day[1]] in FULL_STOPS
    if not suffixed and not (bare and words[j - 1] != ","):
        return None
    if words[day[1]] in UNITS or words[day[1]] in (":", "am", "pm"):
        return None
    return weekday_and_day(number, day[0]), day[1]


def _weekday_beside(self: Points, number: int, j: int) -> Match:
    """ "the Friday before 15 July 2023", "the Sunday after Easter"."""
    word = self.words[j]
    if word not in ("before", "after", "preceding", "following"):
        return None
    base = self.bare_point(j + 1)
    if base is None or base[0].unit != "day":
        return None
    origin, forward = base[0], word in ("after", "following")

    def at(context: Context) -> Interval:
        start = settle(origin, context, future=True).start
        if forward:
            return day_of(plus_days(start, (number - start.weekday() - 1) % 7 + 1))
        return day_of(plus_days(start, -((start.weekday() - number - 1) % 7 + 1)))

    return Fixed("day", at), base[1]


def _week_after(self: Points, i: int) -> Match:
    """The week of "Friday next week", "monday of the following week", "Friday this week"."""
    words = self.words
    j = i + 1 if words[i] in ("of", "in", ",") else i
    if words[j] == "the":
        j += 1
    offset = MODIFIERS.get(words[j])
    if offset is not None and words[j + 1] == "week":
        return relative("week", offset), j + 2
    if words[j] == "week" and words[j + 1 : j + 3] == ["after", "next"]:
        return relative("week", 2), j + 3
    if words[j] == "week" and words[j + 1 : j + 3] == ["before", "last"]:
        return relative("week", -2), j + 3
    return None


def _offset_after_weekday(self: Points, number: int, j: int) -> Match:
    """ "Monday two weeks from now", "Thursday, two years from now"."""
    if self.words[j] == ",":
        j += 1
    length = duration(self.tokens, j)
    if length is None or length[0] is None:
        return None
    target = counted(self, j)
    if target is None or target[0].unit != "day":
        return None
    same_week = length[0][-1][1] in ("week", "fortnight")
    return weekday_near(number, target[0], same_week), target[1]


# "this", "next", "last" and what they govern


_NO_DATE = frozenset(("to", "my", "our", "your", "his", "her", "their"))


def modified(self: Points, i: int) -> Match:
    words = self.words
    word = words[i]
    offset = MODIFIERS[word]
    j = i + 1
    nearest = word in NEAREST
    if words[j] in MODIFIERS and word in ("this", "next", "last", "same") and words[j] != "this":
        offset, nearest = MODIFIERS[words[j]], words[j] in NEAREST
        j += 1
    if words[j] == "'" and words[j + 1] == "s":
        return None
    named = unit(self.tokens, j)
    if word in ("that", "same"):  # the time spoken of, which the sentence alone does not tell
        fits = named is not None and named[0] in (*PERIODS, "day", "weekend")
        return (vague(), named[1]) if named and fits else None
    if named == ("day", j + 1) and words[i - 1] in _NO_DATE:  # "to this day", "my last day"
        return None
    if named is not None:
        if named[0] == "weekend" and nearest and offset == NEXT:
            offset = THIS  # "the coming weekend" is the nearest one
        return _modified_unit(self, offset, named[0], named[1])
    if words[j] in WEEKDAYS:
        return _modified_weekday(self, offset, nearest, j)
    if words[j] in MONTHS:
        return _modified_month(self, offset, nearest, j)
    if words[j] in SEASONS:
        open_season = inside(season_in_year(SEASONS[words[j]]))
        return _in_direction(open_season, offset, j + 1)
    if words[j] in HOLIDAY_STARTS:
        found = holiday_only(self, j)
        return _in_direction(found[0], offset, found[1]) if found else None
    if words[j] in ("morning", "afternoon", "evening", "night"):
        if word in ("this", "last", "next") and (word != "last" or words[j] == "night"):
            return relative("day", offset), j + 1
        return None
    quarter = quarter_or_half(self, j)
    if quarter:
        return _in_direction(inside(quarter[0]), offset, quarter[1])
    if words[j].isdigit() and words[j + 1] in ("/", "."):
        found = numeric_at(self, j)
        if found and isinstance(found[0], Open):
            return _in_direction(found[0], offset, found[1])
    if offset == THIS:
        return None
    length = duration(self.tokens, j)
    return _counted_direction(self, offset, length, j) if length else None


def _counted_direction(
    self: Points, offset: int, length: tuple[Duration | None, int], start: int
) -> Match:
    parts, end = length
    if parts is None:
        return vague(), end
    if self.words[end] == "ago" and len(parts) > 1:  # "the last 3 months, and 2 days ago ..."
        amount = count(self.tokens, start)
        named = unit(self.tokens, amount[1]) if amount else None
        if named is None:
            return None
        parts, end = parts[:1], named[1]
    return (ahead(parts) if offset == NEXT else behind(parts)), end


def _in_direction(meaning: Meaning, offset: int, end: int) -> Match:
    if not isinstance(meaning, Open):
        return meaning, end
    if offset == THIS:
        return with_year(meaning, relative("year")), end
    return strictly(meaning, future=offset == NEXT), end


def _modified_unit(self: Points, offset: int, name: str, j: int) -> Match:
    words = self.words
    if name in ("hour", "minute", "second"):
        return (ahead([(1, name)]) if offset > 0 else behind([(1, name)]), j) if offset else None
    if name == "business day":
        return (ahead([(1, name)]), j) if offset > 0 else None
    if words[j] == "of" or (words[j - 1].endswith("s") and words[j - 1] not in ("s",)):
        return None
    meaning = relative(name, offset)
    if name in ("week", "workweek"):
        inner = _within_week(self, meaning, j)
        if inner:
            return inner
    if name == "year":
        number = year(self.tokens, j)
        if number:
            return None
    return meaning, j


def _within_week(self: Points, week: Meaning, j: int) -> Match:
    """ "next week on Friday", "next week between Wednesday and Friday"."""
    words = self.words
    if words[j] in ("between", "from") and words[j + 1] in WEEKDAYS and words[j + 3] in WEEKDAYS:
        first = inside(weekday_in_week(WEEKDAYS[words[j + 1]]), week)
        last = inside(weekday_in_week(WEEKDAYS[words[j + 3]]), week)
        return span(first, last), j + 4
    if words[j] in ("on", ",", "'"):
        j += 2 if words[j] == "'" and words[j + 1] == "s" else 1
    if words[j] in WEEKDAYS and not (words[j + 1].isdigit() or words[j + 1] == "the"):
        return inside(weekday_in_week(WEEKDAYS[words[j]]), week), j + 1
    return None


def _modified_weekday(self: Points, offset: int, nearest: bool, j: int) -> Match:
    number = WEEKDAYS[self.words[j]]
    dated = _weekday_date(self, number, j + 1)
    if dated:
        meaning, end = dated
        return (with_year(meaning, relative("year")), end) if isinstance(meaning, Open) else dated
    if nearest:
        return strictly(weekday(number), future=offset == NEXT), j + 1
    return inside(weekday_in_week(number), relative("week", offset)), j + 1


def _modified_month(self: Points, offset: int, nearest: bool, j: int) -> Match:
    verb = self.words[j] == "may" and not self.tokens.capital(j)
    if verb and self.words[j + 1] not in AFTER_DAY:
        return None
    found = month_day(self, j) or month_only(self, j)
    if found is None or not isinstance(found[0], Open):
        return found
    if nearest:
        return strictly(found[0], future=offset == NEXT), found[1]
    return with_year(found[0], relative("year", offset)), found[1]


# Counts of units


def counted(self: Points, i: int) -> Match:
    """ "two weeks ago", "3 days after Friday", "5 upcoming years", "two Mondays later"."""
    words = self.words
    if _inside_number(self, i):
        return None
    length = duration(self.tokens, i)
    if length is None:
        return _adjective_between(self, i) or _counted_weekdays(self, i)
    parts, j = length
    if parts is None:
        following = words[j] in ("ago", "back", "later", "earlier", "from", "before", "after")
        return (vague(), j + 1) if following else None
    if words[j] == "'" or words[j] == "s":
        j += 1
        if words[j] == "s":
            j += 1
    return _offset(self, i, parts, j)


def _inside_number(self: Points, i: int) -> bool:
    """Whether token i is the tail of "1,000" or "1/2"."""
    words, tokens = self.words, self.tokens
    return tokens.joined(i) and words[i - 1] in (",", ".", "/") and words[i - 2].isdigit()


def _offset(self: Points, i: int, parts: Duration, j: int) -> Match:
    found = _offset_moment(self, i, parts, j)
    if found is None or [name for _, name in parts] != ["weekend"] or found[0].unit != "day":
        return found
    landed = found[0]

    def at(context: Context) -> Interval:  # "two weekends ago" is a weekend, not a day
        return period_at("weekend", settle(landed, context).start)

    return Fixed("weekend", at), found[1]


def _offset_moment(self: Points, i: int, parts: Duration, j: int) -> Match:
    words = self.words
    word, after = words[j], words[j + 1]
    is_length = words[i - 1] == "for" or words[i - 2 : i] in (["less", "than"], ["up", "to"])
    is_length = is_length or words[i - 1] == "within"
    if word == "," and after in ("from", "starting", "beginning"):
        j += 1
        word, after = words[j], words[j + 1]
    if word == "ago" and after == "today":
        return moved(None, parts, -1), j + 2
    if word == "ago":
        return (
            behind(parts) if is_length and words[i - 1] != "for" else moved(None, parts, -1)
        ), j + 1
    if word == "or" and after == "so" and words[j + 2] == "ago":
        return moved(None, parts, -1), j + 3
    if word in ("later", "afterwards"):
        return moved(None, parts, 1), j + 1
    if word == "hence" or words[j : j + 3] == ["in", "the", "future"]:
        return ahead(parts), j + (1 if word == "hence" else 3)
    if word in ("earlier", "prior", "back", "previously") and after not in ("than", "to", "in"):
        return moved(None, parts, -1), j + 1
    if word == "from" and after == "now":
        return (lasting(parts, None) if is_length else moved(None, parts, 1)), j + 2
    if word in ("starting", "beginning"):
        start = j + 2 if after in ("from", "on", "at") else j + 1
        base = self.bare_point(start)
        return (lasting(parts, base[0]), base[1]) if base else None
    sign = 1 if word in ("from", "after", "since", "following", "past") else 0
    if word in ("before", "preceding") or (word, after) in (("prior", "to"), ("ahead", "of")):
        sign = -1
        j += 1 if word in ("prior", "ahead") else 0
    if not sign:
        return None
    base = self.bare_point(j + 1)
    if base is None:
        if word in ("after", "before") and after in FULL_STOPS:
            return moved(None, parts, sign), j + 1
        return None
    if sign > 0 and is_length:
        return lasting(parts, base[0]), base[1]
    return _on_weekday(self, moved(base[0], parts, sign), parts, base[1])


def _on_weekday(self: Points, target: Meaning, parts: Duration, j: int) -> Match:
    """ "two months from today on Tuesday"."""
    if self.words[j] == "on" and self.words[j + 1] in WEEKDAYS and target.unit == "day":
        same_week = parts[-1][1] in ("week", "fortnight")
        return weekday_near(WEEKDAYS[self.words[j + 1]], target, same_week), j + 2
    return target, j


def _adjective_between(self: Points, i: int) -> Match:
    """ "5 upcoming years", "the 10 previous weeks", "two more days" is none."""
    amount = count(self.tokens, i)
    if amount is None or amount[1] == i or self.words[amount[1]] not in MODIFIERS:
        return None
    offset = MODIFIERS[self.words[amount[1]]]
    named = unit(self.tokens, amount[1] + 1)
    if named is None or not offset or self.words[i] in ("a", "an"):
        return None
    if amount[0] is None:
        return vague(), named[1]
    if amount[0] != 1 and not self.words[named[1] - 1].endswith("s"):  # "I turned 30 last week"
        return None
    parts = [(amount[0], named[0])]
    return (ahead(parts) if offset == NEXT else behind(parts)), named[1]


def _counted_weekdays(self: Points, i: int) -> Match:
    """ "two Mondays ago", "two monday later"."""
    amount = count(self.tokens, i)
    if amount is None or amount[0] is None:
        return None
    value, j = int(amount[0]), amount[1]
    word = self.words[j]
    name = word[:-1] if word.endswith("s") and word[:-1] in WEEKDAYS else word
    if name not in WEEKDAYS or not 1 <= value <= 500:
        return None
    after = self.words[j + 1]
    onward = (["from", "now"], ["from", "today"])
    forward = after == "later" or self.words[j + 1 : j + 3] in onward
    if not forward and after != "ago":
        return None
    nearest = strictly(weekday(WEEKDAYS[name]), future=forward)
    end = j + 2 if after in ("later", "ago") else j + 3
    sign = 1 if forward else -1
    return (moved(nearest, [(value - 1, "week")], sign) if value > 1 else nearest), end


def in_duration(self: Points, i: int) -> Match:
    """ "in two weeks", "within the next 3 years", "less than 3 days after tomorrow"."""
    words = self.words
    word = words[i]
    j = i + 1
    if word in ("less", "more"):
        if words[j] != "than":
            return None
        found = counted(self, j + 1)
        return found if word == "less" else None
    if words[j] in ("the", "about", "around", "exactly", "just"):
        j += 1
    direction = MODIFIERS.get(words[j])
    if word == "within" and direction is not None and words[j] not in ("this", "that"):
        length = duration(self.tokens, j + 1)
        if length is None or length[0] is None:
            return (vague(), length[1]) if length else None
        return (lasting(length[0], None) if direction == NEXT else behind(length[0])), length[1]
    length = duration(self.tokens, j)
    if length is None:
        return None
    parts, end = length
    if parts is None or words[end : end + 2] == ["or", "two"]:
        return vague(), end
    if word == "within":
        based = _offset(self, j, parts, end) if words[end] in ("from", "of", "after") else None
        return based or (lasting(parts, None), end)
    if words[end] == "'" and words[end + 1] in ("s", "time"):
        end += 3 if words[end + 1] == "s" else 2
    elif words[end : end + 2] == ["s", "time"]:
        end += 2
    if words[end] in ("from", "after", "since", "before", "of", "-"):
        return _offset(self, j, parts, end)
    target = moved(None, parts, 1)

    def at(context: Context) -> Interval:
        if context.tense() is False:  # "I read it in two days" is how long, not when
            raise Unresolvable("vague")
        return settle(target, context)

    return _on_weekday(self, Fixed(target.unit, at), parts, end)

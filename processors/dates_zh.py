"""The Chinese grammar of dates: finds expressions, and joins single periods to ranges.

Simplified and traditional script alike. At each character that can begin an expression it reads a
range (从A到B, A和B之间), a bound (A以来), a vague word, or a single period (`dates_zh_points`), and
goes on after it. A time of day behind a single day narrows it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import NamedTuple

from memstream.processors.dates_calendar import (
    Child,
    Meaning,
    day_of,
    failed,
    inside,
    midnight,
    period,
    period_at,
    relative,
    span,
    year_number,
)
from memstream.processors.dates_expression import Bound, Expression, beside
from memstream.processors.dates_within import (
    clock_time,
    day_in_month,
    month_in_year,
    weekday_in_week,
)
from memstream.processors.dates_zh_points import STARTS, point
from memstream.processors.dates_zh_tense import recurring, tense
from memstream.processors.dates_zh_within import DAY_CHARS, WEEK
from memstream.processors.dates_zh_words import (
    NUMBER,
    TRIGGER,
    VAGUE,
    WEEKDAYS,
    Folded,
    folded,
    number,
)

__all__ = ["find", "is_written_in"]

_CHINESE = re.compile(r"[\u3007\u4e00-\u9fff]")
_START = re.compile("[" + "".join(sorted(STARTS)) + "从自由在于好很许不改他有某总哪早多数若几日]")
_LEAD = re.compile(r"(?:自从|从|自|由|在|于)")
_TO = re.compile(r" ?(?:一直到|直到|直至|到了?|至|~|-|--) ?(?!现在|目前|今(?![天年日晚早])|如今)")
_TO_NOW = re.compile(r"(?:一直)?(?:到|至)(?:现在|目前|如今|今(?![天年日晚早]))")
_AND = re.compile(r"(?:和|与|跟|及|到|至|-|~)")
_BETWEEN = re.compile(r"(?:之间|期间|间)")
_CLOSING = re.compile(r"(?:为止|之间|期间|止)")
_AFTER_A = re.compile(r"(?:之后|以后|后)(?:到|,|且|并且|和|、)?")
_BEFORE_B = re.compile(r"(?:之前|以前|前)")
_OPEN = re.compile(
    r"(?P<since>以来|(?:那)?(?:开始|起)(?!床|来|身|飞|诉)|至今)|(?P<after>之后|以后|后(?![天来面年台]))"
    r"|(?P<before>(?:或|及)?(?:之前|以前|前(?![天面台年往提途]))|为止)"
)
_BARE_YEAR = re.compile(
    r"(?:19|20)[0-9]{2}(?![0-9年.:%a-zA-Z℃°步毫克米块元人个次字千万亿多余来几左以小分秒天周页行条张份家位名种件台辆"
    r"平公斤里卡度词句首部集组对双套题道层户套届吨升瓦赫词篇幅倍号章款项例章节刀镑円圆美欧日韩])"
)
_LISTED_YEAR = re.compile(r"[12][0-9]{3}(?=(?:[、和与及,] ?[12][0-9]{3}){1,8}年)")
_BARE_FIRST = re.compile(
    rf"(?P<n>{NUMBER})(?:到|至| ?- ?|~)(?=(?P<m>{NUMBER})(?P<unit>年(?![前后内])|月|日|号))"
)
_CLOCK = re.compile(
    r"的?(?P<part>早上|上午|中午|下午|傍晚|晚上|晚间|凌晨|夜里|夜晚|清晨|早晨|午后"
    r"|半夜|深夜|午夜)?[, ]?"
    r"(?:(?P<h>[0-9]{1,2}|[零一二两三四五六七八九十]{1,3})(?:(?:点|(?P<formal>时))"
    rf"(?:(?P<half>半)|(?P<quarter>[一三])刻|(?P<m>{NUMBER})分?(?!钟)|整|钟)?|:(?P<m2>[0-5][0-9]))"
    r"(?:(?P<s>[0-9]{1,2})秒|:(?P<s2>[0-5][0-9]))?)?(?![0-9])"
)
_LATE = frozenset(("晚上", "晚间", "夜里", "夜晚", "半夜", "深夜", "午夜", "晚", "夜"))
_AFTERNOON = frozenset(("下午", "傍晚", "中午", "午后"))


class _Found(NamedTuple):
    meaning: Meaning
    end: int
    bound: Bound | None = None


def is_written_in(text: str) -> bool:
    """Whether the text holds a Chinese character, so that this grammar applies."""
    return _CHINESE.search(text) is not None


def find(text: str) -> list[Expression]:
    """The date expressions of `text`, from left to right, without overlap."""
    if not TRIGGER.search(text) and not TRIGGER.search(text.translate(_QUICK)):
        return []
    fold = folded(text)
    found: list[Expression] = []
    at = 0
    while start := _START.search(fold.text, at):
        at = start.start()
        listed = _listed(fold, at, found)
        expression = listed or _expression(fold.text, at)
        if expression is None:
            at += 1
            continue
        expression = _timed(fold.text, at, expression)
        places = fold.place(at), fold.place(expression.end - 1) + 1
        named = Expression(*places, expression.meaning, expression.bound, tense, recurring)
        found.append(named if listed is None else beside(named, found[-1]))
        at = expression.end
    return found


def _listed(fold: Folded, at: int, found: list[Expression]) -> _Found | None:
    """The 2号 of 10月1号、2号, the 4月 of 2020年3月和4月: what came before completes it."""
    if not found or at < 1:
        return None
    last = found[-1]
    same_week = _in_same_week(fold, at, found)
    if same_week is not None or fold.text[at - 1] not in "、和与及跟,":
        return same_week
    if last.bound or last.end != fold.place(at - 1):
        return None
    number_of = _LISTED.match(fold.text, at)
    if number_of is None:
        return None
    value, unit = int(number(number_of["n"])), last.meaning.unit
    written = fold.text[max(0, at - 14) : at - 1]
    if number_of["unit"] == "月":
        fits = unit == "month" and "年" in written and 1 <= value <= 12
        child = Child("month", "year", lambda m: period("month", m.start.year * 12 + value - 1))
    else:
        fits = unit == "day" and "月" in written and 1 <= value <= 31
        child = Child("day", "year", lambda d: day_of(midnight(d.start.year, d.start.month, value)))
    return _Found(inside(child, last.meaning), number_of.end()) if fits else None


def _in_same_week(fold: Folded, at: int, found: list[Expression]) -> _Found | None:
    """The 周五 of 下周三做手术，周五出院: a day of the week named before it in the sentence."""
    day = _BARE_WEEKDAY.match(fold.text, at)
    for last in reversed(found if day else ()):
        begun = last.start if fold.places is None else bisect_left(fold.places, last.start)
        if last.meaning.unit not in ("day", "hour", "minute") or last.bound or at - begun > 40:
            return None
        told = _OF_A_WEEK.match(fold.text, begun)
        if told is not None and day is not None:
            if _ENDS_SENTENCE.search(fold.text, told.end(), at):
                return None
            child = weekday_in_week(WEEKDAYS[day["n"]])
            week = Child("week", "year", lambda d: period_at("week", d.start))
            return _Found(inside(child, inside(week, last.meaning)), day.end())
        if not _BARE_WEEKDAY.match(fold.text, begun):
            return None
    return None


_OF_A_WEEK = re.compile(f"[上下]+个?{WEEK}{DAY_CHARS}")
_BARE_WEEKDAY = re.compile(
    f"(?<![每逢个上下本这一二两三四五六七八九十0-9]){WEEK}(?P<n>{DAY_CHARS})"
)
_ENDS_SENTENCE = re.compile("[。！？!?;；\n]|[昨今明每]|[上下本这]个?(?:周|星期|礼拜|月)")
_LISTED = re.compile(rf"(?P<n>{NUMBER})(?P<unit>月(?!{NUMBER}[日号])|日|号)")
_QUICK = str.maketrans("週號節慶聖誕鐘０１２３４５６７８９", "周号节庆圣诞钟0123456789")


def _expression(text: str, at: int) -> _Found | None:
    vague = VAGUE.match(text, at)
    lead = _LEAD.match(text, at)
    if lead:
        inner = _ranged(text, lead.end(), led=True)
        if inner is None:
            return None
        from_here = lead[0] not in ("在", "于") or inner.meaning.unit == "range"
        return inner if from_here and (inner.bound or inner.meaning.unit == "range") else None
    found = _ranged(text, at, led=False)
    if vague and (found is None or found.end <= vague.end()):
        return _Found(failed("vague", "range"), vague.end())
    return found


def _ranged(text: str, at: int, led: bool) -> _Found | None:
    first = _first(text, at, led)
    if first is None:
        return None
    meaning, end = first
    to_now = _TO_NOW.match(text, end)
    if to_now:
        return _Found(span(meaning, relative("day")), to_now.end())
    for connector in (_TO, _AND):
        joint = connector.match(text, end)
        last = _last(text, joint.end(), meaning, led) if joint else None
        if last is None:
            continue
        closing = (_CLOSING if connector is _TO else _BETWEEN).match(text, last[1])
        if connector is _AND and closing is None:
            continue
        return _Found(span(meaning, last[0]), closing.end() if closing else last[1])
    return _open_ended(text, meaning, end)


def _open_ended(text: str, meaning: Meaning, end: int) -> _Found:
    after = _AFTER_A.match(text, end)
    if after:
        second = point(text, after.end()) if after.end() < len(text) else None
        closing = _BEFORE_B.match(text, second[1]) if second else None
        if second and closing:
            return _Found(span(meaning, second[0]), closing.end())
    if text[end - 1] in "晚夜早晨":  # 今晚前 still includes a part of today
        return _Found(meaning, end)
    bound = _OPEN.match(text, end) if meaning.unit not in ("hour", "minute", "second") else None
    if bound is None:
        return _Found(meaning, end)
    if bound["since"]:
        return _Found(meaning, bound.end(), "since")
    return _Found(meaning, bound.end(), "after" if bound["after"] else "before")


def _first(text: str, at: int, led: bool) -> tuple[Meaning, int] | None:
    if at >= len(text):
        return None
    shared = _BARE_FIRST.match(text, at)
    if shared and not (at and text[at - 1] in "0123456789零一二三四五六七八九十第/."):
        meaning = _of_unit(
            number(shared["n"]), shared["unit"], shared["n"], text, shared.start("m")
        )
        if meaning is not None:
            return meaning, shared.end("n")
    found = point(text, at)
    if found is not None:
        return found
    listed = _LISTED_YEAR.match(text, at)
    if listed and not (at and text[at - 1] in "0123456789./-:"):
        return year_number(int(listed[0])), listed.end()
    bare = _BARE_YEAR.match(text, at)
    if bare and not (at and text[at - 1] in "0123456789./-:号码价分版型共达超第"):
        joint = _TO.match(text, bare.end())
        if joint and (_BARE_YEAR.match(text, joint.end()) or point(text, joint.end())):
            return year_number(int(bare[0])), bare.end()
    return None


def _of_unit(value: float, unit: str, written: str, text: str, other: int) -> Meaning | None:
    """The 3 of "3到5月": the unit stands only behind the second number."""
    n = int(value)
    if unit == "年":
        return year_number(n) if len(written) == 4 and 1000 <= n < 3000 else None
    if unit == "月":
        return inside(month_in_year(n)) if 1 <= n <= 12 else None
    return inside(day_in_month(n)) if 1 <= n <= 31 and point(text, other) else None


def _last(text: str, at: int, first: Meaning, led: bool) -> tuple[Meaning, int] | None:
    if at >= len(text):
        return None
    found = point(text, at)
    if found is not None:
        return found if _alike(first, found[0]) else None
    bare = _BARE_YEAR.match(text, at)
    if bare and first.unit in ("year", "month", "day"):
        return year_number(int(bare[0])), bare.end()
    return None


def _alike(first: Meaning, last: Meaning) -> bool:
    """Lengths of time ("前3天到...") do not bound a range, moments and calendar periods do."""
    return not (first.unit in ("hour", "minute", "second") and last.unit == "year")


def _timed(text: str, at: int, found: _Found) -> _Found:
    """The day found, narrowed by the time of day that stands behind it."""
    moment = _CLOCK.match(text, found.end)
    if found.meaning.unit != "day" or found.bound or moment is None or moment.end() == found.end:
        return found
    time = _moment(moment, _part_within(text[at : found.end]))
    if time is not None:
        return _Found(clock_time(found.meaning, *time), moment.end())
    return _Found(found.meaning, moment.end("part")) if moment["part"] else found


def _part_within(day: str) -> str | None:
    if day.endswith(("晚", "夜", "晚上")):
        return "晚"
    return "早上" if day.endswith(("早", "晨", "早上")) else None


def _moment(found: re.Match[str], part: str | None) -> tuple[int, int | None, int | None] | None:
    """Hour, minute and second; None where "8点" leaves open which half of the day."""
    if not found["h"]:
        return None
    part = found["part"] or part
    hour = int(number(found["h"]))
    minute = _minute(found)
    second_text = found["s"] or found["s2"]
    second = int(second_text) if second_text else None
    if hour > 24 or (minute or 0) > 59 or (second or 0) > 59:
        return None
    if part is None:
        return (hour, minute, second) if hour > 12 or found["m2"] or found["formal"] else None
    if part in _LATE and hour <= 12:
        hour = hour % 12 + (24 if hour < 5 or hour == 12 else 12)
    elif part in _AFTERNOON and hour < 11:
        hour += 12
    return hour, minute, second


def _minute(found: re.Match[str]) -> int | None:
    if found["half"]:
        return 30
    if found["quarter"]:
        return 15 if found["quarter"] == "一" else 45
    written = found["m"] or found["m2"]
    return int(number(written)) if written else None

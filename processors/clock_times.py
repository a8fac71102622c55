"""Clock times in words, in the one form HH:MM. Gives nothing where the half of the day is open."""

from __future__ import annotations

import re

import msgspec


class ClockTime(msgspec.Struct, frozen=True):
    """A time of day as HH:MM, and how many words said it."""

    value: str
    words: int


def english_time(words: list[str], at: int, evening: bool) -> ClockTime | None:
    """ "6", "6:30 am", "half past six", "noon" at a word. ``evening`` says which half of the day
    an hour without "am" or "pm" means: waking is in the morning, going to bed is not."""
    first = words[at]
    if first in ("noon", "midday"):
        return ClockTime("12:00", 1)
    if first == "midnight":
        return ClockTime("00:00", 1)
    if first in ("half", "quarter") and at + 2 < len(words):
        return _relative_to_hour(words, at, evening)
    match = _ENGLISH.fullmatch(first)
    if match is None and first not in _HOURS:
        return None
    hour = _HOURS[first] if match is None else int(match.group(1))
    minute = 0 if match is None or match.group(2) is None else int(match.group(2))
    half = "" if match is None else (match.group(3) or "").replace(".", "")
    used = 1
    following = words[at + 1 : at + 5]
    if not half and following[:1] and following[0].replace(".", "") in ("am", "pm"):
        half = following[0].replace(".", "")
        used += 1
    elif not half and following[:4] in (["a", ".", "m", "."], ["p", ".", "m", "."]):
        half = following[0] + "m"
        used += 4
    elif following[:3] == ["o", "'", "clock"] or following[:2] == ["o", "'clock"]:
        used += 3 if following[1] == "'" else 2
    elif following[:3] == ["in", "the", "morning"]:
        half = "am"
        used += 3
    elif following[:3] in (["in", "the", "evening"], ["in", "the", "afternoon"]):
        half = "pm"
        used += 3
    elif match is None and following[:1] == ["thirty"]:
        minute = 30
        used += 1
    if words[at + used : at + used + 1] and words[at + used] in _NOT_AFTER:
        return None
    return _time(hour, minute, half, evening, used, first.startswith("0"))


def chinese_time(words: list[str], at: int, evening: bool) -> ClockTime | None:
    """ "六点", "早上7点半", "晚上十一点", "22:30" at a word (words are characters)."""
    match = _CHINESE.match("".join(words[at : at + 16]))
    if match is None or not (match.group("hour") or match.group("clock")):
        return None
    used, length = 0, 0
    while length < match.end():
        length += len(words[at + used])
        used += 1
    part = match.group("part") or ""
    half = "am" if part in _MORNING else "pm" if part in _EVENING else ""
    if match.group("clock"):
        hour, minute = (int(each) for each in re.split("[:：]", match.group("clock")))
        return _time(hour, minute, half, evening, used, hour > 12 or match.group("clock")[0] == "0")
    hour_or_none = _number(match.group("hour"))
    if hour_or_none is None:
        return None
    minute = 0
    if match.group("half"):
        minute = 30
    elif match.group("quarter"):
        minute = 45 if match.group("quarter") == "三刻" else 15
    elif match.group("minute"):
        minute = _number(match.group("minute")) or 0
    return _time(hour_or_none, minute, half, evening, used, False)


_ENGLISH = re.compile(r"(\d{1,2})(?::(\d{2}))?(am|pm|a\.m\.?|p\.m\.?)?")
_HOURS = {
    word: number
    for number, word in enumerate(
        "one two three four five six seven eight nine ten eleven twelve".split(), start=1
    )
}
_NOT_AFTER = frozenset("hours hour minutes times days weeks % percent people".split())
_CHINESE = re.compile(
    r"(?P<part>早上|上午|清晨|凌晨|早晨|中午|下午|晚上|夜里|傍晚|早|晚)?"
    r"(?:(?P<clock>\d{1,2}[:：]\d{2})|(?P<hour>\d{1,2}|[一二两三四五六七八九十]{1,3})点钟?"
    r"(?:(?P<half>半)|(?P<quarter>一刻|三刻)|(?P<minute>\d{1,2}|[一二三四五六七八九十]{1,3})分?)?)"
)
_MORNING = frozenset(("早上", "上午", "清晨", "凌晨", "早晨", "早"))
_EVENING = frozenset(("下午", "晚上", "夜里", "傍晚", "晚"))
_DIGITS = {"一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9}


def _number(text: str) -> int | None:
    if text.isdigit():
        return int(text)
    if "十" in text:
        tens, _, ones = text.partition("十")
        if len(tens) > 1 or len(ones) > 1 or "十" in ones:
            return None
        return _DIGITS.get(tens, 1) * 10 + _DIGITS.get(ones, 0)
    return _DIGITS.get(text) if len(text) == 1 else None


def _relative_to_hour(words: list[str], at: int, evening: bool) -> ClockTime | None:
    past = words[at + 1] in ("past", "after")
    if not past and words[at + 1] not in ("to", "before"):
        return None
    inner = english_time(words, at + 2, evening)
    if inner is None or not inner.value.endswith(":00") or (words[at] == "half" and not past):
        return None
    minutes = 30 if words[at] == "half" else 15
    hour = int(inner.value[:2])
    if not past:
        hour, minutes = (hour - 1) % 24, 60 - minutes
    return ClockTime(f"{hour:02}:{minutes:02}", inner.words + 2)


def _time(
    hour: int, minute: int, half: str, evening: bool, used: int, exact: bool
) -> ClockTime | None:
    if hour > 23 or minute > 59 or (half and hour > 12):
        return ClockTime(f"{hour:02}:{minute:02}", used) if hour < 24 and minute < 60 else None
    if half == "pm" and hour < 12:
        hour += 12
    elif (half == "am" and hour == 12) or (half == "pm" and hour == 12 and evening):
        hour = 0
    elif not half and not exact and hour <= 12:
        if evening and 7 <= hour <= 11:
            hour += 12
        elif evening and hour == 12:
            hour = 0
    return ClockTime(f"{hour:02}:{minute:02}", used)

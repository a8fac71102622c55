"""A home or a job for a while: "I'm living in London until Friday", 我这周住在上海.

Here only its end is read, where the words tell one that no date of theirs does. That such a stay
leaves the home that was told before as it is stands in ``timeline``.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from memstream.processors.dates import find_dates
from memstream.processors.facts import Fact

_OF = frozenset(("residence", "employer"))
_NUMBERS_EN = {
    each: number
    for number, words in enumerate(
        ("", "a one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    )
    for each in words.split()
} | {"a couple of": 2}
_DAYS_EN = {"day": 1, "night": 1, "week": 7, "fortnight": 14, "month": 30}
_FOR_EN = re.compile(
    r"(?:['’]m|\bam|\bare|['’]re|\bis|['’]s) (?:only |just |now )?(?:living|staying|working) .*"
    rf"\bfor (?:the next |just |only )?(?P<number>\d{{1,2}}|{'|'.join(_NUMBERS_EN)}) "
    rf"(?P<unit>{'|'.join(_DAYS_EN)})s?(?! now\b| already\b)",
    re.IGNORECASE,
)
_UNTIL_ZH = re.compile("住到(?P<date>[^，,。！!；;的]{2,8})")


FOR_NOW = "for now"
"""The qualifier of a home or a job that is told to be one only until another is found."""
_FOR_NOW = re.compile(
    r"\b(?:for now|for the time being|temporarily)\b|暂时|临时|暂住", re.IGNORECASE
)


def is_for_now(fact: Fact, text: str) -> bool:
    """Whether a home or a job is told to be one for the time being."""
    present = fact.rule.tense == "present" and not (fact.negative or fact.former)
    return present and fact.attribute in _OF and _FOR_NOW.search(text) is not None


def end_of_stay(fact: Fact, text: str, observed: datetime) -> datetime | None:
    """When a home or a job that is told in a sentence is over again; None for most."""
    if fact.attribute not in _OF or fact.negative or fact.former or fact.rule.tense != "present":
        return None
    for date in fact.dates:
        lasting = date.granularity in ("week", "month") and not date.begins
        if lasting and date.start and date.end and date.start <= observed < date.end:
            return date.end
    until = _UNTIL_ZH.search(text)
    if until is not None:
        dates = find_dates(until["date"], observed, "zh")
        end = dates[0].end if dates and dates[0].start_char == 0 else None
        weekday = end is not None and until["date"].startswith(("周", "星期", "礼拜"))
        return end + timedelta(days=7) if end and weekday and end <= observed else end
    told = _FOR_EN.search(text)
    if told is None:
        return None
    number = told["number"].lower()
    count = int(number) if number.isdecimal() else _NUMBERS_EN[number]
    return observed + timedelta(days=count * _DAYS_EN[told["unit"].lower()])

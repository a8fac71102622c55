"""Patterns of whole sentences that no rule of a rule file can say: introductions, names of
relations in passing, what was meant instead.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from memstream.processors.rules import Rulebook

INTRODUCED_EN = re.compile(
    r"^(?:(?:[Hh]i|[Hh]ello|[Hh]ey)(?: there| all| everyone| team)?[,!.]? )?"
    r"(?P<said>I(?:['’]m| am)) "
    r"(?P<name>[A-Z][a-zà-ÿ]+(?: [A-Z][a-zà-ÿ]+)?)"
    r"(?:[.!]?$|, (?:a|an|the|your) | from |,? and (?:I|my)\b|, I\b| here\b"
    r"|[,.] (?:[Nn]ice|[Pp]leased|[Gg]reat|[Gg]ood|[Ll]ovely) to meet )"
)
MEANT_EN = re.compile(
    r"\bI (?:meant(?: to say)?|mean)[ :,]+(?P<right>[^,.;!?]{1,40}?)"
    r"(?:,? not (?P<wrong>[^,.;!?]{1,40}))?[.!]?$",
    re.IGNORECASE,
)
MEANT_ZH = re.compile(
    r"(?:是|应该是)(?P<right>[^，,。；！]{1,20})[，,]?不是(?P<wrong>[^，,。；！]{1,20})[。！]?$"
)
MEANT_ZH_ALONE = re.compile(
    r"^[^，,。；！]{0,4}(?:不对|错了|口误|更正一?下?)[，,。；：:！! ]*"
    r"(?:应该|其实)?是在?(?P<right>[^，,。；！!？?你我他她它了的吗呢]{1,20})[。！!]?$"
)


class AnyPhrase:
    """A test for any of some phrases in lower-case text."""

    __slots__ = ("_form", "_signs")

    def __init__(self, phrases: Sequence[str], language: str) -> None:
        ordered = sorted(
            {phrase.lower() for phrase in phrases}, key=lambda each: (-len(each), each)
        )
        inner = "|".join(re.escape(phrase).replace("'", "['’]") for phrase in ordered)
        self._form = re.compile(rf"\b(?:{inner})\b" if language == "en" else f"(?:{inner})")
        words = {max(re.findall(r"[^\W_]+", each) or [each], key=len) for each in ordered}
        self._signs = [
            each for each in sorted(words) if not any(o in each for o in words if o != each)
        ]
        """One of these stands in every text that holds a phrase, and few texts hold one."""

    def search(self, lower: str) -> re.Match[str] | None:
        """The first phrase in a text."""
        for sign in self._signs:
            if sign in lower:
                return self._form.search(lower)
        return None


def named_group(relations: Sequence[str]) -> re.Pattern[str]:
    """ "my kids Anna and Leo", "I have two sons, Tom and Max"."""
    plural = "|".join(map(re.escape, relations))
    name = r"[A-Z][a-zà-ÿ]+"
    return re.compile(
        r"\b(?:[Mm]y|[Oo]ur|(?:I|[Ww]e)(?: have(?: got)?|['’]ve got) (?:two|three|four|five|\d))"
        rf" (?:[a-z-]+ ){{0,2}}?(?P<relation>{plural})(?:,| are)?(?: called| named)?:? "
        rf"(?P<names>{name}(?:, {name})*,? and {name})(?=[.,;!]|$| [a-z])"
    )


def introduced_zh(book: Rulebook) -> re.Pattern[str]:
    surnames = "".join(sorted(book.grammar("surnames")))
    return re.compile(
        r"^(?P<hail>(?:大家好|你好|您好|嗨|哈喽|hi|hello)[，,！!。~～ ]*)?(?P<said>我是)"
        rf"(?P<name>(?(hail)[{surnames}][\u4e00-\u9fff]{{1,2}}|[老小阿](?!白)[{surnames}]))"
        r"(?=$|[，,。！!~～])"
    )


def named_relation_zh(book: Rulebook) -> re.Pattern[str]:
    """A relation and a full name right behind it: 我弟弟林晓峰."""
    surnames = "".join(sorted(book.grammar("surnames")))
    relations = "|".join(sorted(map(re.escape, book.relations), key=len, reverse=True))
    return re.compile(rf"我们?家?的?(?:{relations})[{surnames}][\u4e00-\u9fff]{{2}}")


def named_relation(relations: str) -> re.Pattern[str]:
    return re.compile(
        r"\b(?:[Mm]y|[Oo]ur|(?:[Ii]|[Ww]e)(?:\s+have(?:\s+got)?|['’]ve\s+got)\s+(?:an?|one|another))"
        rf"\s+(?:[a-z-]+\s+){{0,2}}?(?P<relation>{relations})"
        r"(?:,?\s+|,?\s+(?:named|called)\s+|\s+is\s+(?:named\s+|called\s+)?|['’]s\s+name\s+is\s+)"
        r"(?P<name>[A-Z][a-zà-ÿ]+(?:\s[A-Z][a-zà-ÿ]+)?|[\u4e00-\u9fff]{2,4})(?=[\s.,;!?'’)。，！]|$)"
    )

"""Clauses that only look as if they said what is so: it is over, wished, or denied after all.

A rule knows the words of a statement. What surrounds them may turn it: 工作过 and "have worked" are
experiences, 会说就好了 is a wish, 不是 may stand behind the topic, and a couple may have parted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from memstream.processors.dates import DateSpan
from memstream.processors.words import Words

_PERFECT = re.compile(r"(?:have|has|'ve) (?:worked|lived)\b")
_LASTING = re.compile(
    r"\b(?:since|always|so far"
    r"|(?:all|whole|entire) (?:my |our |his |her |their )?(?:adult )?(?:life|lives|time)"
    r"|for (?:\S+ ){0,4}?(?:years?|months?|weeks?|days?|decades?|ages|while|time|long))\b"
)


def is_experience(words: Words, places: Sequence[int], language: str) -> bool:
    """Whether a clause tells of what somebody has done some time: 在谷歌工作过, "have worked at
    Google". ``places``: where 过 would stand."""
    if language == "zh":
        return any(
            words.norm[at : at + 1] == ["过"] and words.norm[at + 1 : at + 2] != ["敏"]
            for at in places
        )
    return _PERFECT.match(" ".join(words.norm[:3])) is not None


def lasts(said: str, dates: Sequence[DateSpan]) -> bool:
    """Whether an English clause in the perfect says how long, so that it holds still."""
    open_ended = any(each.start is not None and each.end is None for each in dates)
    return open_ended or _LASTING.search(said.lower()) is not None


def is_bounded(dates: Sequence[DateSpan], anchor: datetime | None) -> bool:
    """Whether a clause says when it was, and that is over."""
    return any(
        each.start is not None and each.end is not None and (anchor is None or each.end <= anchor)
        for each in dates
        if each.unresolved is None
    )


_DENIALS = frozenset("不 没 非 not never no n't".split())


def is_denied(words: Words, start: int, end: int) -> bool:
    """Whether a negation stands between two characters of a clause."""
    return any(
        word in _DENIALS and start <= begin < end
        for word, begin in zip(words.norm, words.start, strict=True)
    )


_WISH = re.compile(r"(?:就|该有?)(?:太|更)?[好多]好?了?[啊呀呐吧哇]*$")
_ONLY_WISH = re.compile(r"(?:那|这)?(?:么)?(?:样)?(?:就|该有?)(?:太|更)?[好多]好?了?[啊呀呐吧哇]*$")


def is_wish(said: str) -> bool:
    """Whether a Chinese clause says how good something would be: 我会说法语就好了."""
    return _WISH.search(said.rstrip("。！!～~")) is not None


def is_only_wish(said: str) -> bool:
    """Whether it says that of the clause before: 那就好了."""
    return _ONLY_WISH.fullmatch(said.rstrip("。！!～~")) is not None


_PARTED = {
    "zh": re.compile(
        r"[，,；;。](?:(?!父母|爸|妈|他们|她们|姐|哥|弟|妹|朋友|同事|前[妻夫女男任]|如果|要是|除非)[^，,；;。！!？?]){0,12}?"
        r"(?<![没不别])(?<!没有)(?<!差点)(?:分手|离婚|离了婚|分了手|分开了|掰了)(?!过的)"
    ),
    "en": re.compile(
        r"\b(?:we(?:['’]ve| have| had| are|['’]re)?"
        r"(?: just| recently| sadly| since| then| now| already| both)*"
        r" (?:broken? up|split(?: up)?|parted|separated|divorced|(?:got|getting) (?:a )?divorced?"
        r"|no longer together|not together any ?more|ended it|ended things)"
        r"|(?:she|he) (?:left|dumped) me)\b(?! (?:his|her|their|the work|the bill|up the))",
        re.IGNORECASE,
    ),
}  # fmt: skip
COUPLES = frozenset(("spouse", "partner"))
"""The attributes that end where a couple parts."""


def parts_after(text: str, at: int, language: str) -> bool:
    """Whether the sentence says after a character that the speaker and somebody parted."""
    return _PARTED[language].search(text, at) is not None


_NAMING = re.compile(r"\b(?:naming|name|calling|call|rename|renaming)\s+$", re.IGNORECASE)


def is_naming(before: str) -> bool:
    """Whether a name is still to be given: "thinking of naming my son Leo"."""
    return _NAMING.search(before) is not None


_FORMER = re.compile(r"\b(?:late|ex|former|previous|first|deceased|departed)\b", re.IGNORECASE)
_LASTING_KIN = frozenset(("parent", "sibling", "child", "relative"))


def is_former(described: str, attribute: str) -> bool:
    """Whether somebody is called by what they were ("my late husband"). Kin stay kin; a first child
    is none that was."""
    return attribute not in _LASTING_KIN and _FORMER.search(described) is not None

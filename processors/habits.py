"""What is usually done, said in the order that the rules of habits know: how often stands behind
the action in English ("I swim every Monday"), before it in Chinese (每周日去钓鱼)."""

from __future__ import annotations

import re

from memstream.processors.rule_files import Language
from memstream.processors.rules import Rulebook, spoken
from memstream.processors.words import split_words

_DAY_EN = "(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_DAYS_EN = rf"{_DAY_EN}s?(?:(?:,? and |,? or |, | & )(?:on )?{_DAY_EN}s?)*"
_FIRST_EN = re.compile(
    rf"(?P<often>(?:every|each) (?:other |single |second )?(?:{_DAYS_EN}|day|morning|afternoon"
    rf"|evening|night|week|weekend|month)(?: mornings?| afternoons?| evenings?| nights?)?"
    rf"|on {_DAYS_EN}(?<=s)(?: mornings?| afternoons?| evenings?| nights?)?)"
    r",? (?P<who>I|my (?:[a-z]+ )?[a-z]+|he|she) (?P<does>[^,;:.!?]{3,60}?)(?P<end>[.!]*)$",
    re.IGNORECASE,
)
_FIRST_LETTERS = ("ev", "ea", "on")
_HOW_OFTEN_EN = frozenset("usually normally typically generally always mostly".split())
_OFTEN_EN = frozenset("every each on".split())
_USUALLY_EN = re.compile(
    r"(?P<who>I|my (?:[a-z]+ )?[a-z]+|he|she)"
    rf" (?:{'|'.join(sorted(_HOW_OFTEN_EN))})"
    rf" (?P<does>[^,;:.!?]{{3,50}}?) on (?P<day>{_DAY_EN})(?P<end>[.!]*)$",
    re.IGNORECASE,
)
_TOGETHER_EN = re.compile(
    r"We (?:all |both |usually |always )*(?P<does>play (?!the\b|an?\b|our\b|back\b|with\b)"
    r"[a-z-]+(?: (?!together\b)[a-z]+)?|swim|jog|hike|cycle|meditate|go (?:[a-z]+ing"
    r"|to (?:the (?:gym|pool|beach|park)|church|mass|yoga)"
    r"|for an? (?:[a-z]+ )?(?:walk|run|ride|swim|hike)))"
    rf"(?: together)? (?P<often>(?:every|each) [^,;:.!?]{{3,30}}|on {_DAYS_EN}(?<=s))"
    r"(?P<end>[.!]*)$"
)
"""What people do for themselves: of what a team does every Monday nothing is one's own habit."""
_OFTEN_ZH = "(?:一般都?|通常都?|平时都?|经常|常常|常|总是|总会|都会?|固定)"
_DAY_ZH = "(?:(?:周|星期|礼拜)[一二三四五六日天]|周末)"
_DAYS_ZH = rf"{_DAY_ZH}(?:[和、跟或]{_DAY_ZH})*"
_PART_ZH = "(?:早上|上午|中午|下午|傍晚|晚上|夜里)?"
_WHO_ZH = "(?:我(?:的?[爸妈哥姐弟妹]+|老婆|老公|女儿|儿子|丈夫|妻子)?)"
_USUALLY_ZH = re.compile(
    rf"(?:(?P<who>{_WHO_ZH})(?P<before>{_OFTEN_ZH})?(?:每逢|逢|每|在)?(?P<days>{_DAYS_ZH}{_PART_ZH})"
    rf"(?P<behind>{_OFTEN_ZH})?"
    rf"|(?P<days2>{_DAYS_ZH}{_PART_ZH})(?P<who2>{_WHO_ZH})(?P<behind2>{_OFTEN_ZH}))"
    r"(?P<does>[^，,。！？；!?;\n了过着没不]{2,20}?)(?P<end>[。！!]*)$"
)


def plainly(text: str, book: Rulebook) -> str | None:
    """The sentence in the order of the rules; None where it tells of no habit, or needs no other
    order."""
    language: Language = book.language
    if language == "zh":
        return _chinese(text, book)
    found = _FIRST_EN.match(text) if text[:2].lower() in _FIRST_LETTERS else None
    if found is not None and _is_done(book, found["does"]):
        return f"{found['who']} {found['does']} {found['often'].lower()}{found['end']}"
    if text.startswith("We ") and not _OFTEN_EN.isdisjoint(spoken(text)):
        found = _TOGETHER_EN.match(text)
        return found and f"I {found['does']} {found['often']}{found['end']}"
    found = None if _HOW_OFTEN_EN.isdisjoint(spoken(text)) else _USUALLY_EN.match(text)
    if found is not None and _is_done(book, found["does"]):
        return f"{found['who']} {found['does']} on {found['day']}s{found['end']}"
    return None


def _chinese(text: str, book: Rulebook) -> str | None:
    found = _USUALLY_ZH.match(text)
    if found is None or not (found["before"] or found["behind"] or found["behind2"]):
        return None
    does = found["does"].removeprefix("会")
    if not (_is_done(book, does) or _is_done(book, does.lstrip("去到")) or does[0] in "去到"):
        return None
    return f"{found['who'] or found['who2']}每{found['days'] or found['days2']}{does}{found['end']}"


def _is_done(book: Rulebook, said: str) -> bool:
    """Whether words begin with a verb that is known for habits."""
    return book.phrase_list("habit_verbs").length_at(split_words(book.language, said).norm, 0) > 0

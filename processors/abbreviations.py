"""English abbreviations that are written with a full stop, and where that stop ends a sentence."""

from __future__ import annotations

import re

__all__ = ["ABBREVIATIONS", "stop_ends"]

_BEFORE_A_NAME = frozenset(
    "mr mrs ms dr prof rev capt vs e.g i.e cf approx fig st ste mt ft".split()
)
"""More always follows these; only a street or a height may stand last ("on Main St. We ...")."""
_MAY_BE_LAST = frozenset("st ste mt ft".split())
_IN_A_NAME = frozenset("u.s u.s.a u.k u.n e.u d.c jr sr ph.d".split())
"""What follows these with a capital is mostly the rest of a name ("U.S. Postal Service")."""
_AFTER_A_NAME = frozenset("inc ltd co corp bros etc a.m p.m dept".split())
"""A capital after these begins a sentence, unless it names a day or a month."""
_BEFORE_A_NUMBER = frozenset(("no",))
ABBREVIATIONS = _BEFORE_A_NAME | _IN_A_NAME | _AFTER_A_NAME | _BEFORE_A_NUMBER
"""Without the last full stop, in lower case."""

_PRONOUNS = "I|We|My|Our|He|She|They|It|Its|You|Your"
_PRONOUN = re.compile(rf"\s*(?:{_PRONOUNS})(?!\w)")
_BEGINNING = re.compile(
    rf"\s*(?:{_PRONOUNS}|His|Her|Their|This|That|These|Those|There|The|A|An|But|And|So|Then|Also"
    r"|In|On|At|When|While|If|As|Before|After|Since|Now|Please|What|Where|Who|How|Why|Is|Are|Do"
    r"|Does|Did|Can|Could|Would|Will|Yes|No|Not|Let|Maybe|Although|However|For|From|Last|Next)"
    r"(?!\w)"
)
_DAY_OR_MONTH = re.compile(
    r"\s*(?:Mon|Tues?|Wednes|Thurs|Fri|Satur|Sun)day|\s*(?:January|February|March|April|May|June"
    r"|July|August|September|October|November|December)\b"
)


def stop_ends(word: str, rest: str) -> bool:
    """Whether the full stop after ``word`` ends a sentence, where ``rest`` is what follows it.
    True for a word that is no abbreviation; an initial ("J.") counts as one, "I" does not."""
    last = word.lower()
    if len(word) == 1 and word.isalpha() and word.isupper():
        return word == "I"
    if last not in ABBREVIATIONS:
        return True
    following = rest.lstrip()
    if last in _BEFORE_A_NUMBER:
        return not following[:1].isdigit()
    if not following:
        return last not in _BEFORE_A_NAME or last in _MAY_BE_LAST
    if last in _BEFORE_A_NAME:
        return last in _MAY_BE_LAST and _PRONOUN.match(rest) is not None
    if last in _IN_A_NAME:
        return _BEGINNING.match(rest) is not None
    return following[0].isupper() and _DAY_OR_MONTH.match(rest) is None

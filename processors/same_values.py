"""Which values of an attribute are the same, though they are written otherwise.

Case, spacing and punctuation never tell values apart (see ``content_key``). What somebody is
allergic to is told of one and of many alike: "a peanut allergy", "allergic to peanuts".
"""

from __future__ import annotations

import re

from memstream.schemas.ids import content_key
from memstream.schemas.memories import Assertion

_OF_ONE_OR_MANY = frozenset(("allergy",))
_SHORTEST = 4
"""Letters; a shorter word is no plural."""
_PLURALS = (("ies", "y"), ("ches", "ch"), ("shes", "sh"), ("xes", "x"), ("oes", "o"))
_NO_PLURALS = ("ss", "us", "is", "as")


def value_key(assertion: Assertion) -> str:
    """Equal for two values of one attribute that are the same."""
    key = content_key(assertion.value)
    return _of_one(key) if assertion.attribute in _OF_ONE_OR_MANY and key.isascii() else key


def _of_one(key: str) -> str:
    if len(key) < _SHORTEST or not key.endswith("s") or key.endswith(_NO_PLURALS):
        return key
    for ending, one in _PLURALS:
        if key.endswith(ending):
            return key.removesuffix(ending) + one
    return key[:-1]


def is_some(value: str, kind: str) -> bool:
    """Whether a value, as a key, is a number of animals of a kind: "two dogs", 两只狗."""
    if not kind.isascii():
        counted = value.removesuffix(kind)
        return counted != value and _COUNT_ZH.fullmatch(counted) is not None
    count, _, several = value.rpartition(" ")
    return count != "" and several != kind and _of_one(several) == _of_one(kind)


_COUNT_ZH = re.compile(r"(?:[一二两三四五六七八九十几\d]+|好几)[只条匹个头]")

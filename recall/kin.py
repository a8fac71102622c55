"""Whom a question means by a name: "What does Paul do?" asks for the brother, who is called Paul.

What is told of "my brother" is kept under those words, whatever his name is and whenever it was
told. So a question that names him is asked with both ("What does brother Paul do?").
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from memstream.processors.lexemes import lexeme_index
from memstream.projections.sketches import Sketch
from memstream.schemas.memories import Memory

MOST_HITS = 8
"""Among so many of the best hits a name must be told of."""
_ATTRIBUTES = (
    "spouse", "partner", "child", "parent", "sibling", "relative", "friend", "roommate", "manager",
    "colleague", "doctor", "therapist", "neighbour", "teacher", "pet",
)  # fmt: skip
_TOLD = re.compile(
    r"['’]s (?P<kin>[a-z][a-z -]*) is called (?P<name>[^().]+?)(?: \(.*\))?\.$"
    r"|has an? (?P<animal>[a-z][a-z ]*) named (?P<its>[^().]+?)(?: \(.*\))?\.$"
    r"|的(?P<亲>[^的，。]{1,5})叫(?P<名>[^，。（）]+?)(?:（.*）)?。$"
    r"|一只叫(?P<它>[^，。（）]+?)的(?P<类>[^，。（）]+?)(?:（.*）)?。$"
)
"""The texts of facts that name somebody or an animal."""


def may_name(sketch: Sketch) -> bool:
    """Whether a memory may tell what somebody is called."""
    return not sketch.told and sketch.attribute in _dimensions()


def asked_of(query: str, told: Iterable[Memory]) -> str | None:
    """The question with the relation beside each name that the memories tell of; None where it
    names nobody of them, or says itself who it is."""
    said = query
    for memory in told:
        match = _TOLD.search(memory.text)
        if match is None or memory.status != "active":
            continue
        kin, name = _pair(match)
        named = _named(name).search(said)
        if named is not None and kin.lower() not in said.lower():
            apart = "" if kin.isascii() else " "
            said = f"{said[: named.start()]}{kin} {name}{apart}{said[named.end() :]}"
    return None if said == query else said


def _pair(match: re.Match[str]) -> tuple[str, str]:
    groups = match.groupdict()
    kin = groups["kin"] or groups["animal"] or groups["亲"] or groups["类"]
    return kin, (groups["name"] or groups["its"] or groups["名"] or groups["它"])


@cache
def _named(name: str) -> re.Pattern[str]:
    """A name where it stands as a word of its own, as it is written."""
    bound = r"\b" if name[:1].isascii() else ""
    return re.compile(f"{bound}{re.escape(name)}{bound}")


@cache
def _dimensions() -> frozenset[int]:
    return frozenset(map(lexeme_index, _ATTRIBUTES))

"""What a rule read in a sentence, and what ends together with it."""

from __future__ import annotations

import re

import msgspec

from memstream.processors.dates import DateSpan
from memstream.processors.rule_files import Rule

CONTRARY = ".not"
"""What ends the name of a rule under which a denial states the contrary."""

WITH_IT = ".with_it"
"""What ends the name of a rule under which something ends together with what the rule ends."""

CLOSES = ".closes"
"""What ends the name of a rule under which a value shows others to be over."""


THE_ONE = ".the_one"
"""What ends the name of a rule that ends one thing without its name: of several it ends none."""


ONE_PARTED = "pet.parted"
"""The rule under which one animal is gone: of several of a kind it is not said which."""


class Fact(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What a rule read in one sentence. ``start`` and ``end`` are relative to the sentence."""

    rule: Rule
    attribute: str
    value: str
    spoken: str
    subject: str
    qualifier: str = ""
    negative: bool = False
    former: bool = False
    dates: tuple[DateSpan, ...] = ()
    reason: str = ""
    previous: str = ""
    species: str = ""
    topic: str = ""
    withdraws: bool = False
    corrects: bool = False
    """Where it is said to mend an earlier slip."""
    beside: bool = False
    """Where it is one of several values said in one list."""
    start: int
    end: int


def said_in(fact: Fact) -> str:
    """What was captured, of a value that a rule has put into other words."""
    before, _, after = fact.rule.fixed.partition("{value}")
    return fact.value[len(before) : len(fact.value) - len(after)]


def ended_with(fact: Fact) -> list[Fact]:
    """What ends with a value that ended: the title with the job. What ends whatever its value is
    has that value as the one before."""
    rule = msgspec.structs.replace(
        fact.rule, id=f"{fact.rule.id}{WITH_IT}", planned="", text="", text_not=""
    )
    found: list[Fact] = []
    for attribute, values in fact.rule.ends_too.items():
        for each in values:
            value = each.replace("{value}", fact.value).replace("{said}", said_in(fact))
            found.append(
                msgspec.structs.replace(
                    fact, rule=rule, attribute=attribute, value=value, spoken=value,
                    beside=False, qualifier="", negative=True,
                    previous=fact.previous if value else fact.value,
                )
            )  # fmt: skip
    return found


_OWN = re.compile(
    r"^(?:(?:my|our|his|her|their|the|an?|old) )+|^(?:我|我们|自己)的|^[那这][辆台]|^旧|^老(?=车)",
    re.IGNORECASE,
)
_ANY_CAR = frozenset(("car", "车", "汽车", "车子"))


def _named(value: str) -> str:
    """A value that ends by its name; "my car" names none."""
    return "" if value.lower() in _ANY_CAR else value


def closed_by(fact: Fact) -> list[Fact]:
    """What a value ends of other attributes: a spouse where somebody is divorced."""
    rule = msgspec.structs.replace(
        fact.rule, id=f"{fact.rule.id}{CLOSES}", planned="", text="", text_not=""
    )
    said = said_in(fact)
    over = [(attribute, "") for attribute in fact.rule.closes.get(fact.value.lower(), ())]
    before = _OWN.sub("", fact.previous)
    over += [
        (attribute, _named(each.replace("{value}", said).replace("{previous}", before)))
        for attribute, values in fact.rule.denies.items()
        for each in values
        if fact.previous or "{previous}" not in each
    ]
    return [
        msgspec.structs.replace(
            fact, rule=rule, attribute=attribute, value=value, spoken=value, beside=False,
            qualifier="", negative=True, corrects=False, previous="",
        )
        for attribute, value in over
    ]  # fmt: skip

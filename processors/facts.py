"""What a rule read in a sentence, and what ends together with it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set

import msgspec

from memstream.processors.dates import DateSpan
from memstream.processors.rule_files import Rule

CONTRARY = ".not"
"""What ends the name of a rule under which a denial states the contrary."""

WITH_IT = ".with_it"
"""What ends the name of a rule under which something ends together with what the rule ends."""

LEFT = ".left"
"""What ends the name of a rule under which something holds since another thing ended."""

CLOSES = ".closes"
"""What ends the name of a rule under which a value shows others to be over."""


THE_ONE = ".the_one"
"""What ends the name of a rule that ends one thing without its name: of several it ends none."""


IF_KNOWN = ".if_known"
"""What ends the name of a rule that says something of a value only where that was told before."""


TITLED = ".with_title"
"""What ends the name of a rule that tells a job only where the same turn tells a title too."""


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


def over_with(facts: Sequence[Fact], lists: Mapping[str, tuple[str, ...]]) -> list[Fact]:
    """What is over together with facts of one rule that ended, or because they hold. ``lists`` are
    those of the rules."""
    if facts[0].negative or facts[0].former:
        return [other for each in facts for other in _ended_with(each)]
    said = {each.value.lower() for each in facts}
    return [other for each in facts for other in _closed_by(each, lists, said)]


def said_in(fact: Fact) -> str:
    """What was captured, of a value that a rule has put into other words."""
    before, _, after = fact.rule.fixed.partition("{value}")
    return fact.value[len(before) : len(fact.value) - len(after)]


def _ended_with(fact: Fact) -> list[Fact]:
    """What ends with a value that ended: the title with the job. What ends whatever its value is
    has that value as the one before."""
    rule = msgspec.structs.replace(
        fact.rule, id=f"{fact.rule.id}{WITH_IT}", planned="", text="", text_not=""
    )
    found: list[Fact] = []
    for attribute, values in fact.rule.ends_too.items():
        for each in values:
            value = each.replace("{value}", fact.value).replace("{said}", said_in(fact))
            value = value.replace("{doing}", _doing(fact.value))
            found.append(
                msgspec.structs.replace(
                    fact, rule=rule, attribute=attribute, value=value, spoken=value,
                    beside=False, qualifier="", negative=True,
                    previous=fact.previous if value else fact.value,
                )
            )  # fmt: skip
    left = msgspec.structs.replace(
        rule, id=f"{fact.rule.id}{LEFT}", polarity="positive", ends_too={}, leaves={}
    )
    for attribute, value in (
        fact.rule.leaves.items() if fact.negative and not fact.withdraws else ()
    ):
        found.append(
            msgspec.structs.replace(
                fact, rule=left, attribute=attribute, value=value, spoken=value, beside=False,
                qualifier="", negative=False, previous="",
            )
        )  # fmt: skip
    return found


_DOUBLED = re.compile(r"[^aeiou][aeiou][bdgmnpt]")


def _doing(verb: str) -> str:
    """ "run" -> "running", "cycle" -> "cycling", "swim" -> "swimming"."""
    first, space, rest = verb.partition(" ")
    if first.endswith("e") and not first.endswith(("ee", "ye")):
        first = first[:-1]
    elif _DOUBLED.fullmatch(first[-3:]):
        first += first[-1]
    return f"{first}ing{space}{rest}"


def _others_of(
    value: str, values: Sequence[str], lists: Mapping[str, tuple[str, ...]]
) -> Iterator[str]:
    """The entries of the lists among ``values`` that do not hold a value, where another does."""
    named = [lists.get(each[1:-1], ()) for each in values if each.startswith("<")]
    own = {entry for each in named if value.lower() in each for entry in each}
    if own:
        yield from (entry for each in named for entry in each if entry not in own)


_OWN = re.compile(
    r"^(?:(?:my|our|his|her|their|the|an?|old) )+|^(?:我|我们|自己)的|^[那这][辆台]|^旧|^老(?=车)",
    re.IGNORECASE,
)
_ANY_CAR = frozenset(("car", "车", "汽车", "车子"))


def _named(value: str) -> str:
    """A value that ends by its name; "my car" names none."""
    return "" if value.lower() in _ANY_CAR else value


def _closed_by(fact: Fact, lists: Mapping[str, tuple[str, ...]], beside: Set[str]) -> list[Fact]:
    """What a value ends of other attributes: a spouse where somebody is divorced. ``lists`` are
    those of the rules, ``beside`` the values that were said in one breath with it."""
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
        if not each.startswith("<") and (fact.previous or "{previous}" not in each)
    ]
    if not fact.qualifier:
        over += [
            (attribute, each)
            for attribute, values in fact.rule.denies.items()
            for each in _others_of(fact.value, values, lists)
            if each not in beside
        ]
    return [
        msgspec.structs.replace(
            fact, rule=rule, attribute=attribute, value=value, spoken=value, beside=False,
            qualifier="", negative=True, corrects=False, previous="",
        )
        for attribute, value in over
    ]  # fmt: skip

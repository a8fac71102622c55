"""What a rule read in a sentence, and what ends together with it."""

from __future__ import annotations

import msgspec

from memstream.processors.dates import DateSpan
from memstream.processors.rule_files import Rule

CONTRARY = ".not"
"""What ends the name of a rule under which a denial states the contrary."""

WITH_IT = ".with_it"
"""What ends the name of a rule under which something ends together with what the rule ends."""


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


def ended_with(fact: Fact) -> list[Fact]:
    """What ends with a value that ended: the title with the job."""
    rule = msgspec.structs.replace(
        fact.rule, id=f"{fact.rule.id}{WITH_IT}", planned="", text="", text_not=""
    )
    found: list[Fact] = []
    for attribute, values in fact.rule.ends_too.items():
        for each in values:
            value = each.replace("{value}", fact.value)
            found.append(
                msgspec.structs.replace(
                    fact, rule=rule, attribute=attribute, value=value, spoken=value,
                    beside=False, qualifier="", negative=True,
                )
            )  # fmt: skip
    return found


def closed_by(fact: Fact) -> list[Fact]:
    """What a value ends of other attributes: a spouse where somebody is divorced."""
    rule = msgspec.structs.replace(
        fact.rule, id=f"{fact.rule.id}.closes", planned="", text="", text_not=""
    )
    return [
        msgspec.structs.replace(
            fact, rule=rule, attribute=attribute, value="", spoken="", beside=False,
            qualifier="", negative=True, corrects=False,
        )
        for attribute in fact.rule.closes.get(fact.value.lower(), ())
    ]  # fmt: skip

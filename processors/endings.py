"""Whether a clause ends what it seems to: "I retired early last night" ends no job, "I don't drink
coffee after lunch" no habit, and "the band and I broke up" no marriage.

What ends too little is told again; what ends too much is lost, so a doubtful clause ends nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta

from memstream.processors.aspects import COUPLES
from memstream.processors.clauses import Clause
from memstream.processors.rule_files import Rule

_NOT_FOR_GOOD = re.compile(
    r"\b(?:retired|let go)\b(?: \w+)*? (?:tonight|last night|for the (?:night|day|evening)|to bed"
    r"|early(?: today| tonight| last night| yesterday| this \w+)?[.!]?$)"
    r"|\b(?:flight|trip|train)\b.*\b(?:re-?book|re-?schedul|postpon|new date|next flight)",
    re.IGNORECASE,
)
_PARTNER = re.compile(
    r"(?:.*[, ])?(?:my (?:wife|husband|spouse|partner|girlfriend|boyfriend|fianc[eé]e?)"
    r"(?: [A-Z]\w+)?)"
)
_NAME = re.compile(r"(?:.*[, ])?(?!The )[A-Z][\w’'-]*(?: [A-Z]\w+)?")
_HABITS = frozenset(("drinks", "eats", "habit", "plays", "languages_spoken", "diet"))
_BEFORE = frozenset(("before", "until", "unless", "without", "if"))


def only_seems(
    rule: Rule, clause: Clause, clauses: Sequence[Clause], text: str, now: datetime | None
) -> bool:
    """Whether a clause only looks like an ending, or like a home or job that lasts."""
    ending = rule.ends or rule.polarity == "negative"
    if ending and _NOT_FOR_GOOD.search(text) is not None:
        return True
    at = clauses.index(clause)
    before = clauses[at - 1] if at else None
    return _is_with_another(rule, clause, before) or _is_for_a_day(rule, clause, now)


def _is_with_another(rule: Rule, clause: Clause, before: Clause | None) -> bool:
    """Whether a couple is said to part that is none: "the band and I broke up"."""
    parts = not COUPLES.isdisjoint(rule.ends) or any(
        not COUPLES.isdisjoint(closed) for closed in rule.closes.values()
    )
    if not parts or before is None or (clause.lead, clause.spoken.norm[0]) != ("and", "i"):
        return False
    said = " ".join(before.spoken.raw)
    said = said[:1].lower() + said[1:] if said.startswith("My ") else said
    return _PARTNER.fullmatch(said) is None and _NAME.fullmatch(said) is None


def _is_for_a_day(rule: Rule, clause: Clause, now: datetime | None) -> bool:
    """ "I'm working at the library today": that is no job."""
    if now is None or rule.attribute not in ("employer", "residence") or rule.tense != "present":
        return False
    return any(
        start <= now + _DAY and now < end <= start + timedelta(days=1)
        for start, end in _bounded(clause)
    )


_DAY = timedelta(hours=23)


def _bounded(clause: Clause) -> list[tuple[datetime, datetime]]:
    return [
        (each.start, each.end)
        for each in clause.dates
        if each.start is not None and each.end is not None and not each.begins
    ]


def is_for_now(rule: Rule, clause: Clause, now: datetime | None, language: str) -> bool:
    """Whether what is denied is not so only for a time that lies around now: "no car today". What
    has ended did so then; but what ends a habit has no time of day."""
    known = _bounded(clause)
    if now is None or not known:
        return False
    if rule.tense == "change" or (language == "zh" and clause.spoken.norm[-1:] == ["了"]):
        return rule.attribute in _HABITS and any(end - start < _DAY for start, end in known)
    if rule.tense == "future":
        return any(start <= now < end for start, end in known)
    return any(end > now for _, end in known)


def must_be_whole(rule: Rule, clause: Clause) -> bool:
    """Whether a denial counts only where its clause says no more: of a listed value, or a plan to
    go somewhere."""
    if rule.attribute == "plan":
        return rule.value == "place" and clause.negated
    listed = rule.value.startswith("<") or rule.value == "pet"
    return listed and rule.attribute in {*_HABITS, "pet"}


def is_put_off(rule: Rule, clause: Clause) -> bool:
    """Whether the clause goes on with what must come first: "I won't move before I sell it"."""
    return must_be_whole(rule, clause) and clause.ended_by in _BEFORE

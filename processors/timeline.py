"""The interval algebra: the timeline of one lane as a pure function of its set of assertions.

A lane is what competes for the same place: a slot (scope, subject, attribute, qualifier) where the
attribute has one value, and (scope, subject, attribute, value) where it has many; of an attribute
that is ``together``, all values under all qualifiers. Within a lane each qualifier stands by
itself, and a denial that names none ends them all. An attribute and its opposite share
their lanes, so values are equal under the same attribute only. Assertions are read in the order
(valid_from, observed_at, event, ordinal), whatever order they arrived in, so the result depends on
the set alone.

The rules, in the order they apply:

1. What the gate held or quarantined stays apart until a review approves it.
2. A withdrawal removes equal values observed before it; a restoration takes a withdrawal back.
3. A change whose date is an interval ("I moved in March") came after what was said before it to
   hold within that interval. What was said to hold, without a date, after the interval was over
   by no more than its own length, a week at least and a month at most ("I work at X", "I quit last
   week"), held when the interval began and ended with it: what was told last counts.
4. An equal value that overlaps or touches adds support.
5. A different value that overlaps closes the earlier one at its own start; so does a negation.
   Values of one list ("I work at X and Y") hold side by side: each is ended by its own negation,
   and all of them by the next value that is none of them. Where the same event denies another
   value by name ("I quit X and joined Y"), the new one replaces that one only. In a lane of values
   that stand side by side ("together"), only what is denied ends, and a qualifier says no more than
   what kind of thing a value is (the dog Rex).
6. A less trusted source closes nothing: it is contested and kept beside.
7. Disjoint intervals never conflict.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

import msgspec

from memstream.processors.aspects import COUPLES
from memstream.processors.facts import CLOSES, ONE_PARTED, THE_ONE
from memstream.processors.plans import PLAN, is_same_trip
from memstream.processors.same_values import is_some, value_key
from memstream.processors.stays import FOR_NOW
from memstream.schemas.ids import content_key
from memstream.schemas.memories import Assertion, Status


def _key(assertion: Assertion) -> tuple[str, str, str]:
    """What must be equal for two assertions of a lane to say the same."""
    return (
        assertion.attribute, value_key(assertion), content_key(assertion.qualifier)
    )  # fmt: skip


def _covers(denial: Assertion, key: tuple[str, str, str]) -> bool:
    """Whether what denies a value speaks of one with a key: without a value of any, without a
    qualifier of what holds under any."""
    attribute, value, qualifier = _key(denial)
    if attribute == "pet" and not value and qualifier and is_some(key[1], qualifier):
        return True
    named = not denial.value or (attribute, value) == key[:2]
    named = named or (attribute == key[0] and _is_part(attribute, value, key[1]))
    return named and (not denial.qualifier or qualifier == key[2])


def _is_part(attribute: str, value: str, held: str) -> bool:
    """Whether a denied name is part of one that is held: who sold the Civic has no Honda Civic, who
    left Acme does not work at Acme Robotics, and who goes to Porto no more plans no trip there."""
    if attribute in COUPLES:
        return _is_first(value, held)
    if attribute == PLAN:
        return is_same_trip(value, held)
    if attribute == "vehicle":
        joint = "" if len(value) > 1 and not held.isascii() else " "
        return held.startswith(f"{value}{joint}") or held.endswith(f"{joint}{value}")
    return attribute in _BEGUN_BY_NAME and held.startswith((f"{value} ", f"{value},"))


_BEGUN_BY_NAME = frozenset(("employer", "residence"))
"""Of these a name may be told without its end: "Acme", "Rome" for "Rome, Italy"."""


def _is_first(one: str, other: str) -> bool:
    """Whether one name begins the other: "Mia" and "Mia Lind"."""
    return other.startswith(f"{one} ") or one.startswith(f"{other} ")


class Review(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The review that counts for one event: the latest by (observed_at, review event id)."""

    approved: bool
    observed_at: datetime
    event: str
    reviewer: str
    trust: int | None = None


class Span(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One entry of a timeline. ``sources`` are its assertions in order; the first one opened it
    and gives it its identity, its wording and its spelling."""

    sources: tuple[Assertion, ...]
    status: Status
    valid_from: datetime
    valid_to: datetime | None
    trust: int
    update_reason: str
    against: tuple[Assertion, ...] = ()
    """Openers of the spans this one disagrees with."""

    @property
    def opener(self) -> Assertion:
        return self.sources[0]


def order_of(assertion: Assertion) -> tuple[datetime, datetime, str, int]:
    """The one order in which assertions are read."""
    return (assertion.valid_from, assertion.observed_at, assertion.event, assertion.ordinal)


def timeline(
    assertions: Iterable[Assertion],
    reviews: Mapping[str, Review] | None = None,
    *,
    together: bool = False,
) -> list[Span]:
    """The spans of one lane, in order. ``reviews`` are by event id, ``together`` tells that its
    values stand side by side; see the module's rules."""
    reviews = reviews or {}
    ordered = sorted(assertions, key=order_of)
    if len(ordered) == 1 and _stands_alone(ordered[0]):
        return [_Open(ordered[0]).span()]
    apart = _Groups()
    admitted: list[Assertion] = []
    for assertion in ordered:
        if assertion.standing == "admitted":
            admitted.append(assertion)
            continue
        review = reviews.get(assertion.event)
        if review is None:
            held = assertion.standing == "held"
            reason = "waits for review" if held else "quarantined by the gate"
            apart.add(assertion, "pending_review" if held else "quarantined", reason)
        elif not review.approved:
            apart.add(assertion, "retracted", f"rejected in review by {review.reviewer}")
        elif review.trust is None:
            admitted.append(assertion)
        else:
            admitted.append(msgspec.structs.replace(assertion, trust=review.trust))
    standing = _after_withdrawals(admitted, apart)
    spans = _walk(_placed(standing, together), apart, together) + apart.spans()
    return sorted(spans, key=lambda span: order_of(span.opener))


def _stands_alone(assertion: Assertion) -> bool:
    """Whether a lane of nothing but this assertion holds it as it is: nearly every lane does."""
    return (
        assertion.standing == "admitted"
        and assertion.polarity == "positive"
        and not assertion.withdraws
        and not assertion.restores
    )


class _Open:
    """A span that may still change while the walk goes on."""

    def __init__(self, assertion: Assertion) -> None:
        self.opener = assertion
        self.sources = [assertion]
        self.key = _key(assertion)
        self.valid_from = assertion.valid_from
        self.valid_to = assertion.valid_to
        self.authority = assertion.trust
        self.reason = "stated"
        self.closed = False
        self.against: list[Assertion] = []

    def overlaps(self, start: datetime) -> bool:
        return self.valid_to is None or self.valid_to > start

    def reaches(self, start: datetime) -> bool:
        return self.valid_to is None or start <= self.valid_to

    def support(self, assertion: Assertion) -> None:
        self.sources.append(assertion)
        self.authority = max(self.authority, assertion.trust)
        if self.valid_to is not None:
            later = assertion.valid_to
            self.valid_to = None if later is None else max(self.valid_to, later)
        self.reason = f"supported by {len(self.sources)} events"

    def close(self, at: datetime, reason: str) -> None:
        self.valid_to = at
        self.closed = True
        self.reason = reason

    def span(self) -> Span:
        return Span(
            sources=tuple(self.sources),
            status="superseded" if self.closed else "active",
            valid_from=self.valid_from,
            valid_to=self.valid_to,
            trust=min(each.trust for each in self.sources),
            update_reason=self.reason,
            against=tuple(self.against),
        )


class _Groups:
    """Spans that take no part in the walk: equal values of one status share a span."""

    def __init__(self) -> None:
        self._groups: dict[tuple[object, ...], tuple[list[Assertion], str, list[Assertion]]] = {}

    def add(
        self, assertion: Assertion, status: Status, reason: str, against: Sequence[Assertion] = ()
    ) -> None:
        place = (status, assertion.polarity, *_key(assertion))
        sources, _, others = self._groups.setdefault(place, ([], reason, []))
        sources.append(assertion)
        others.extend(each for each in against if each not in others)

    def spans(self) -> list[Span]:
        return [
            Span(
                sources=tuple(sources),
                status=status,  # type: ignore[arg-type]  # the key was made from a Status
                valid_from=sources[0].valid_from,
                valid_to=_latest_end(sources),
                trust=min(each.trust for each in sources),
                update_reason=reason,
                against=tuple(others),
            )
            for (status, *_), (sources, reason, others) in self._groups.items()
        ]


def _latest_end(sources: Sequence[Assertion]) -> datetime | None:
    ends = [each.valid_to for each in sources]
    known = [end for end in ends if end is not None]
    return max(known) if len(known) == len(ends) else None


def _after_withdrawals(admitted: list[Assertion], apart: _Groups) -> list[Assertion]:
    """What is left when withdrawals have taken out what was said before them."""
    withdrawals = [each for each in admitted if each.withdraws]
    if not withdrawals:
        return [each for each in admitted if not each.restores]
    withdrawals = [each for each in withdrawals if not _is_of_several(each, admitted)]
    restorations = [each for each in admitted if each.restores]
    for each in withdrawals:
        outranked = [earlier for earlier in admitted if _is_outranked(each, earlier)]
        if outranked:
            apart.add(each, "contested", "contested: a less trusted source disagrees", outranked)
    left: list[Assertion] = []
    for assertion in admitted:
        if assertion.withdraws or assertion.restores:
            continue
        taken = next(
            (
                each
                for each in withdrawals
                if _takes_back(each, assertion)
                and not any(_takes_back(again, each) for again in restorations)
            ),
            None,
        )
        if taken is None:
            left.append(assertion)
        else:
            apart.add(assertion, "retracted", f"withdrawn by {taken.event}")
    return left


def _is_of_several(withdrawal: Assertion, admitted: Sequence[Assertion]) -> bool:
    """Whether it speaks of one value without its name, and there were several."""
    if withdrawal.value or f"{THE_ONE}." not in f"{withdrawal.rule}.":
        return False
    spoken_of = {
        _key(each)
        for each in admitted
        if each.polarity == "positive" and _speaks_of(withdrawal, each)
    }
    return len(spoken_of) > 1


def _takes_back(later: Assertion, earlier: Assertion) -> bool:
    """Whether ``later`` may undo ``earlier``: said after it, as trusted, of the same value."""
    return later.trust >= earlier.trust and _speaks_of(later, earlier)


def _is_outranked(withdrawal: Assertion, earlier: Assertion) -> bool:
    if earlier.withdraws or earlier.restores or earlier.polarity == "negative":
        return False
    return withdrawal.trust < earlier.trust and _speaks_of(withdrawal, earlier)


def _speaks_of(later: Assertion, earlier: Assertion) -> bool:
    said_after = (later.observed_at, later.event, later.ordinal) > (
        earlier.observed_at,
        earlier.event,
        earlier.ordinal,
    )
    return said_after and _covers(later, _key(earlier)) and later.event != earlier.event


SHORTEST_BELATED, LONGEST_BELATED = timedelta(days=7), timedelta(days=31)
"""How long after a change's interval something may be said that the change has ended: as long as
the interval is, within these."""


def _placed(ordered: list[Assertion], together: bool) -> list[Assertion]:
    """The assertions with every change placed within its interval, and what a change had ended
    before it was said placed where that interval begins; in order again."""
    changes = [
        each
        for each in ordered
        if _end_of_change(each) is not None and not (together and each.polarity == "positive")
    ]
    if not changes:
        return ordered
    placed: list[Assertion] = []
    for each in ordered:
        if _is_implied_too_early(each, ordered):
            continue
        ended_by = [change.valid_from for change in changes if _had_ended(each, change)]
        if ended_by:
            each = msgspec.structs.replace(each, valid_from=min(ended_by))
        stays = together and each.polarity == "positive"
        placed.append(each if stays else _after_what_held(each, ordered))
    return sorted(placed, key=order_of)


def _end_of_change(change: Assertion) -> datetime | None:
    """The end of a change's interval, or when it was told, if that is earlier; None for what is no
    change that may be placed anywhere but at its start."""
    when = change.occurred
    if when is None or when.end is None or when.start != change.valid_from:
        return None
    latest = min(when.end, change.observed_at)
    return None if change.valid_to is not None and change.valid_to <= latest else latest


def _after_what_held(change: Assertion, ordered: Sequence[Assertion]) -> Assertion:
    """The change, from the end of its interval (or from when it was told, if that is earlier)
    where it would otherwise begin before something that was told to hold within it."""
    latest = _end_of_change(change)
    if latest is None:
        return change
    for each in ordered:
        if each.polarity == "negative" or each.valid_from <= change.valid_from:
            continue
        within = each.valid_from < latest and each.trust >= change.trust
        told_before = _told_before(each, change)
        if _had_ended(each, change) or (within and told_before and _concerns(change, each)):
            return msgspec.structs.replace(change, valid_from=latest.astimezone(UTC))
    return change


def _had_ended(each: Assertion, change: Assertion) -> bool:
    """Whether a change, told later, had ended what was said without a date to hold."""
    return each.polarity == "positive" and _is_belated(each, change) and _concerns(change, each)


def _is_belated(each: Assertion, change: Assertion) -> bool:
    """Whether something was said without a date soon after a change that was told only later."""
    latest = _end_of_change(change)
    undated = each.valid_from == each.observed_at and each.valid_to is None
    if latest is None or change.occurred is None or change.occurred.start is None:
        return False
    length = latest - change.occurred.start
    belated = max(SHORTEST_BELATED, min(LONGEST_BELATED, length))
    return (
        undated
        and latest <= each.valid_from <= latest + belated
        and _told_before(each, change)
        and each.trust == change.trust
    )


def _is_implied_too_early(denial: Assertion, ordered: Sequence[Assertion]) -> bool:
    """Whether what another value implied is denied no more, since a change that was told later had
    come before: "I'm vegetarian", "I went vegan last month"."""
    return denial.rule.endswith(CLOSES) and any(
        each.polarity == "positive" and _key(each) == _key(denial) and _is_belated(denial, each)
        for each in ordered
    )


def _told_before(each: Assertion, change: Assertion) -> bool:
    """Whether it was said earlier; in one event, earlier in its text ("I live in Rome. I moved to
    Milan last week", "I work at X. I got fired yesterday")."""
    if each.event != change.event:
        return each.observed_at < change.observed_at
    return each.ordinal < change.ordinal


def _concerns(change: Assertion, each: Assertion) -> bool:
    """Whether a change would end a value: it denies that one, or any, or states another."""
    if change.polarity == "negative":
        return _covers(change, _key(each))
    return _compete(_key(each), _key(change))


def _compete(one: tuple[str, str, str], other: tuple[str, str, str]) -> bool:
    """Whether two values of a lane, the earlier one first, cannot hold at once: contraries, or two
    values of one slot that nothing sets apart ("in winter"). What was only for now gives way to
    what is not."""
    same_slot = one[2] == other[2] or (one[2] == _FOR_NOW and not other[2])
    return one[0] != other[0] or (one[1] != other[1] and same_slot)


_FOR_NOW = content_key(FOR_NOW)


def _walk(ordered: list[Assertion], apart: _Groups, together: bool) -> list[Span]:
    done: list[_Open] = []
    now: list[_Open] = []
    lists: dict[str, set[tuple[str, str, str]]] = {}
    for assertion in ordered:
        if assertion.beside:
            lists.setdefault(assertion.event, set()).add(_key(assertion))
    denied = {(e.event, content_key(e.value)) for e in ordered if e.polarity == "negative"}
    for assertion in ordered:
        key = _key(assertion)
        if assertion.polarity == "negative":
            now = _negated(now, assertion, done, apart)
            continue
        same = 2 if together else 3
        equal = [
            each
            for each in now
            if each.key[:same] == key[:same] and each.reaches(assertion.valid_from)
        ]
        if equal:
            equal[0].support(assertion)
            continue
        done.extend(each for each in now if not each.overlaps(assertion.valid_from))
        now = [each for each in now if each.overlaps(assertion.valid_from)]
        beside = lists.get(assertion.event, ()) if assertion.beside else ()
        rivals = [each for each in now if each.key not in beside and _compete(each.key, key)]
        previous = assertion.previous
        if together or (previous and (assertion.event, content_key(previous)) in denied):
            rivals = []
        if _is_for_a_while(assertion):
            rivals = [each for each in rivals if each.valid_to is not None]
        stronger = [each for each in rivals if assertion.trust < each.authority]
        if stronger:
            _contest(stronger[0], assertion, apart)
            continue
        for each in rivals:
            said = f"{assertion.value!r}"
            if assertion.attribute != each.sources[0].attribute:
                said = f"{assertion.attribute}: {said}"
            each.close(assertion.valid_from, f"closed by {said}")
            done.append(each)
        now = [*(each for each in now if each not in rivals), _Open(assertion)]
    return [each.span() for each in (*done, *now)]


A_WHILE = timedelta(days=92)
"""How long something may be told to hold and still be no more than an exception."""


def _is_for_a_while(assertion: Assertion) -> bool:
    """Whether it was told with an end that comes soon after its beginning."""
    end = assertion.valid_to
    return end is not None and end - assertion.valid_from <= A_WHILE


def _negated(
    now: list[_Open],
    assertion: Assertion,
    done: list[_Open],
    apart: _Groups,
) -> list[_Open]:
    """What is current after a negation: it ends equal values that are as or less trusted."""
    left: list[_Open] = []
    one = assertion.rule == ONE_PARTED or assertion.rule.endswith(THE_ONE)
    reached = [e for e in now if any(_covers(assertion, _key(each)) for each in e.sources)]
    if len(reached) > 1 and ((one and not assertion.value) or _is_unclear(assertion, reached)):
        return now  # which one of several, is not said
    if assertion.rule == ONE_PARTED and assertion.value:
        reached += [each for each in now if any(_counts(each, other) for other in reached)]
    for each in now:
        if each not in reached or not each.overlaps(assertion.valid_from):
            left.append(each)
        elif assertion.trust < each.authority:
            _contest(each, assertion, apart)
            left.append(each)
        else:
            each.close(assertion.valid_from, "ended")
            done.append(each)
    return left


def _is_unclear(denial: Assertion, reached: Sequence[_Open]) -> bool:
    """Whether a denied name is no more than part of several that are held: of two Hondas "the
    Honda" names neither."""
    named = content_key(denial.value)
    whole = any(_key(each)[1] == named for span in reached for each in span.sources)
    return denial.attribute == "vehicle" and bool(named) and not whole


_COUNTED = re.compile(
    r"(?:two|three|four|five|six|seven|eight|several|a couple of|a pair of|[2-9]) "
    r"|(?:[两二三四五六七八九几2-9]|好[几多]|一对)"
)


def _counts(span: _Open, parted: _Open) -> bool:
    """Whether a span is how many animals there were of a kind, of which a named one is gone: "two
    cats" where one of them was Miso, a cat."""
    kind = content_key(parted.opener.qualifier)
    value = content_key(span.opener.value)
    named = bool(kind) and span.opener.attribute == "pet" and not span.opener.qualifier
    return named and _COUNTED.match(value) is not None and kind in value


def _contest(current: _Open, assertion: Assertion, apart: _Groups) -> None:
    current.against.append(assertion)
    apart.add(
        assertion, "contested", "contested: a less trusted source disagrees", current.sources[:1]
    )

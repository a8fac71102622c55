"""Amendments: a turn that does nothing but put the one before right ("Sorry, I meant Lyon").

Which turn was the one before hangs on what was said, never on what has arrived: the turns of a
session are kept in the order in which they were said, and each time one of them becomes known, the
amendment that follows it is settled anew. It speaks of the last user turn of its session within
``REACH``, be that an amendment itself, and of a claim there that has one of the attributes that its
value may be of, and another value: the one with the wrong value where that is said, else one that
ends the turn, or the only one that its value can be of. Where it may be of several attributes that
the turn claims, it speaks of none. The claim is withdrawn, and the right one holds in its place.
What an amendment no longer speaks of, because a turn between has arrived, is as if it had never
been made.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import msgspec

from memstream.processors.pipeline import State, key
from memstream.schemas.ids import content_key
from memstream.schemas.memories import Amended, Assertion

REACH = timedelta(days=1)
"""How long after a claim it may be put right by what is said next."""


ANY = "*"
"""What ends the name of many attributes: "favourite_*"."""


_AMENDED = ".amended"


def is_amended(assertion: Assertion) -> bool:
    """Whether an amendment asserts it in the place of another."""
    return assertion.rule.endswith(_AMENDED)


class Made(msgspec.Struct, frozen=True, gc=False):
    """What an amendment asserts in a lane; not any more where it is not ``active``."""

    assertion: Assertion
    active: bool


class Turn(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One turn of a session: its claims that may be put right, and what it puts right itself."""

    observed_at: datetime
    event: str
    claims: tuple[Assertion, ...] = ()
    amendment: Assertion | None = None
    made: tuple[Assertion, ...] = ()

    @property
    def place(self) -> tuple[datetime, str]:
        return self.observed_at, self.event


class Minute(msgspec.Struct, frozen=True, gc=False):
    """The turns of a session within one minute, in order."""

    turns: tuple[Turn, ...] = ()


class Hour(msgspec.Struct, frozen=True, gc=False):
    """The minutes of one hour in which a session has turns."""

    minutes: tuple[int, ...] = ()


class Day(msgspec.Struct, frozen=True, gc=False):
    """The hours of one day in which a session has turns, and its amendments."""

    hours: tuple[int, ...] = ()
    amendments: tuple[tuple[datetime, str], ...] = ()


def heard(
    state: State, scope: str, session: str, event: str, observed_at: datetime
) -> Iterator[Made]:
    """Takes a turn into its session; what is now asserted otherwise."""
    turn = Turn(observed_at.astimezone(UTC), event)
    if _known(state, scope, session, turn) is None:
        _put(state, scope, session, turn)
        yield from _settled_after(state, scope, session, turn)


def claimed(state: State, assertion: Assertion) -> Iterator[Made]:
    """Takes a claim into its turn, or an amendment; what is now asserted otherwise."""
    session = assertion.session
    if session is None:
        return
    scope = assertion.scope
    turn = Turn(assertion.observed_at.astimezone(UTC), assertion.event)
    turn = _known(state, scope, session, turn) or turn
    if assertion.amends:
        if turn.amendment is None:
            turn = msgspec.structs.replace(turn, amendment=assertion)
            _put(state, scope, session, turn)
            yield from _settled(state, scope, session, turn)
    elif assertion not in turn.claims:
        turn = msgspec.structs.replace(turn, claims=(*turn.claims, assertion))
        _put(state, scope, session, turn)
        yield from _settled_after(state, scope, session, turn)


def _settled_after(state: State, scope: str, session: str, turn: Turn) -> Iterator[Made]:
    """Settles the next amendment after a turn, where one is known within reach."""
    for day in (turn.observed_at, turn.observed_at + REACH):
        known = state.get(_place(scope, session, "day", day, _DAY), Day)
        for at, event in () if known is None else known.amendments:
            if (at, event) > turn.place:
                amending = _known(state, scope, session, Turn(at, event))
                assert amending is not None
                yield from _settled(state, scope, session, amending)
                return


def _settled(state: State, scope: str, session: str, turn: Turn) -> Iterator[Made]:
    """What an amendment asserts now and did not before, and the other way round."""
    assert turn.amendment is not None
    before = _turn_before(state, scope, session, turn)
    meant = None if before is None else _put_right(before, turn)
    made = () if meant is None else _made(*meant, turn.amendment)
    if made == turn.made:
        return
    _put(state, scope, session, msgspec.structs.replace(turn, made=made))
    yield from (Made(each, active=False) for each in turn.made)
    yield from (Made(each, active=True) for each in made)
    yield from _settled_after(state, scope, session, turn)  # it may be put right in its turn


def _put_right(before: Turn, turn: Turn) -> tuple[Assertion, Amended] | None:
    """The claim of the turn before that an amendment is about, and what holds in its place."""
    amendment = turn.amendment
    if amendment is None or turn.observed_at - before.observed_at > REACH:
        return None
    wrong = content_key(amendment.previous)
    fitting = [
        (claim, right)
        for claim in sorted(_claims_of(before), key=lambda each: each.ordinal)
        if claim.trust <= amendment.trust and (not wrong or content_key(claim.value) == wrong)
        for right in amendment.readings
        if _may_be(claim, right) and content_key(claim.value) != content_key(right.value)
    ]
    known = [each for each in fitting if each[1].known] or fitting
    if not known or len({claim.attribute for claim, _ in known}) > 1:
        return None
    if wrong:
        return known[0]
    ending = [each for each in known if each[0].last]
    if ending:
        last = ending[-1][0]  # of a list it is what was said last
        return next(each for each in ending if each[0] == last)
    return known[0] if len(known) == 1 and any(each.last for each in _claims_of(before)) else None


def _claims_of(turn: Turn) -> tuple[Assertion, ...]:
    """What a turn claims; one that puts another right claims that: "Sorry, I meant Lyon." "No, I
    meant Nice."."""
    right = tuple(
        msgspec.structs.replace(each, last=True) for each in turn.made if not each.withdraws
    )
    return (*turn.claims, *right)


def _may_be(claim: Assertion, right: Amended) -> bool:
    """Whether a claim may be what a reading of an amendment is about, and can be told anew."""
    if claim.attribute == "pet" and claim.qualifier and right.known:
        return False  # a species puts no name right
    if right.attribute == "children" and claim.value[-2:] != right.value[-2:]:
        return False  # sons are counted by themselves
    if right.attribute == "pet" and right.text and _last(claim.value) != _last(right.value):
        return False  # and so are cats
    begun = right.attribute.removesuffix(ANY)
    same = claim.attribute == right.attribute
    same = same or (begun != right.attribute and claim.attribute.startswith(begun))
    return same and (claim.value in claim.text or right.text != "")


def _last(value: str) -> str:
    return value.rpartition(" ")[2]


def _made(wrong: Assertion, amended: Amended, amendment: Assertion) -> tuple[Assertion, ...]:
    """The right claim in place of a wrong one, and its withdrawal."""
    text = wrong.text.replace(wrong.value, amended.value)
    if wrong.value not in wrong.text:
        text = _told_of(wrong.subject, amended.text)
    right = msgspec.structs.replace(
        wrong, event=amendment.event, ordinal=amendment.ordinal, value=amended.value,
        observed_at=amendment.observed_at, trust=amendment.trust, quote=amendment.quote,
        source_kind=amendment.source_kind, text=text, span=amendment.span, context="",
        session=None, last=False, rule=f"{wrong.rule.removesuffix(_AMENDED)}{_AMENDED}",
    )  # fmt: skip
    withdrawal = msgspec.structs.replace(
        right, ordinal=amendment.ordinal + 1, value=wrong.value, polarity="negative",
        withdraws=True, valid_from=amendment.valid_from, valid_to=None, occurred=None,
    )  # fmt: skip
    return withdrawal, right


def _told_of(subject: str, text: str) -> str:
    """What was worded of the user, of somebody else."""
    if subject == "user":
        return text
    who = f"T{subject[1:]}" if subject.startswith("the user") else subject
    return re.sub("^(?:The user|用户)", lambda _: who, text)


# The turns of a session in order: days know their hours, hours their minutes.

_DAY, _HOUR, _MINUTE = 86_400, 3_600, 60


def _place(scope: str, session: str, unit: str, at: datetime, seconds: int) -> str:
    return key(scope, unit, session, str(int(at.timestamp()) // seconds))


def _turn_before(state: State, scope: str, session: str, turn: Turn) -> Turn | None:
    """The last turn before one, back to the day before its own."""
    second = int(turn.observed_at.timestamp())
    for day in (second // _DAY, second // _DAY - 1):
        hours = state.get(key(scope, "day", session, str(day)), Day) or Day()
        for hour in reversed(hours.hours):
            if hour > second // _HOUR:
                continue
            minutes = state.get(key(scope, "hour", session, str(hour)), Hour) or Hour()
            for minute in reversed(minutes.minutes):
                if minute > second // _MINUTE:
                    continue
                known = state.get(key(scope, "minute", session, str(minute)), Minute) or Minute()
                before = [each for each in known.turns if each.place < turn.place]
                if before:
                    return before[-1]
    return None


def _known(state: State, scope: str, session: str, turn: Turn) -> Turn | None:
    place = _place(scope, session, "minute", turn.observed_at, _MINUTE)
    known = state.get(place, Minute) or Minute()
    return next((each for each in known.turns if each.place == turn.place), None)


def _put(state: State, scope: str, session: str, turn: Turn) -> None:
    at, second = turn.observed_at, int(turn.observed_at.timestamp())
    place = _place(scope, session, "minute", at, _MINUTE)
    known = state.get(place, Minute)
    others = () if known is None else tuple(e for e in known.turns if e.place != turn.place)
    state.put(place, Minute(tuple(sorted((*others, turn), key=lambda each: each.place))))
    day_place = _place(scope, session, "day", at, _DAY)
    if known is None:
        hour_place = _place(scope, session, "hour", at, _HOUR)
        hour = state.get(hour_place, Hour)
        minutes = {*(() if hour is None else hour.minutes), second // _MINUTE}
        state.put(hour_place, Hour(tuple(sorted(minutes))))
        if hour is None:
            day = state.get(day_place, Day) or Day()
            hours = tuple(sorted({*day.hours, second // _HOUR}))
            state.put(day_place, msgspec.structs.replace(day, hours=hours))
    if turn.amendment is not None:
        day = state.get(day_place, Day) or Day()
        amendments = tuple(sorted({*day.amendments, turn.place}))
        state.put(day_place, msgspec.structs.replace(day, amendments=amendments))

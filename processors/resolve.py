"""Resolve: candidates, corrections and reviews to memory versions. No model, no clock.

Keeps every assertion of a lane in state, recomputes the lane's timeline when the set changes,
and yields one event per memory that differs from before: its next version, believed from the
``recorded_at`` of the event that caused it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC

import msgspec

from memstream.processors import versions
from memstream.processors.amendments import Made, claimed, heard, is_amended
from memstream.processors.facts import IF_KNOWN
from memstream.processors.pipeline import Reads, State, key
from memstream.processors.plans import (
    CAME_TRUE,
    PLAN,
    Sign,
    is_there,
    kind_of,
    kinds_shown_by,
    signs_of,
)
from memstream.processors.replacements import value_of
from memstream.processors.same_values import value_key
from memstream.processors.timeline import Review, Span, order_of, timeline
from memstream.schemas.attributes import Attributes, builtin
from memstream.schemas.events import (
    CandidateExtracted,
    Event,
    MemoryChanged,
    MemoryCorrected,
    ReviewDecided,
    TurnRecorded,
    session_of,
)
from memstream.schemas.ids import content_key, derived_id
from memstream.schemas.memories import Assertion, Memory, Status

_EVENT_OF_STATUS: dict[Status, str] = {
    "active": "memory.asserted",
    "pending_review": "memory.asserted",
    "quarantined": "memory.asserted",
    "superseded": "memory.superseded",
    "retracted": "memory.retracted",
    "contested": "memory.contested",
    "merged": "memory.merged",
}


class Known(msgspec.Struct, frozen=True, gc=False):
    """The last version of one memory that was yielded, and what it looked like."""

    id: str
    version: int
    signature: str


class Lane(msgspec.Struct, frozen=True, gc=False):
    """Everything that was ever asserted in one lane, and what became of it."""

    assertions: tuple[Assertion, ...] = ()
    known: tuple[Known, ...] = ()
    amended: tuple[Made, ...] = ()
    """What turns that put others right assert here, or did for a while."""


class LanesOf(msgspec.Struct, frozen=True, gc=False):
    """The lanes that one held event's assertions stand in: where its review must look."""

    keys: tuple[str, ...] = ()


class Resolve:
    """The processor. ``attributes`` tells how many values an attribute has; ``reader`` reads what
    a correction states in a sentence, and without one it is taken for a value."""

    name = "resolve"
    version = versions.RESOLVE

    def __init__(self, attributes: Attributes | None = None, reader: Reads | None = None) -> None:
        self.attributes = attributes or builtin()
        self._reader = reader

    def __call__(self, state: State, event: Event) -> Iterable[Event]:
        if isinstance(event.data, CandidateExtracted):
            assertion = event.data.assertion
            yield event
            if not assertion.amends:
                yield from self._assert(state, event, [assertion])
            if assertion.session is not None and assertion.standing == "admitted":
                yield from self._amended(state, event, claimed(state, assertion))
        elif isinstance(event.data, TurnRecorded):
            session = session_of(event, event.data)
            if session is not None:
                changed = heard(state, event.subject, session, event.id, event.time)
                yield from self._amended(state, event, changed)
        elif isinstance(event.data, MemoryCorrected):
            yield from self._assert(state, event, self._assertions_of(event, event.data))
        elif isinstance(event.data, ReviewDecided):
            yield from self._review(state, event, event.data)
        elif not event.type.startswith("tool."):
            yield event

    def _review(self, state: State, event: Event, review: ReviewDecided) -> Iterator[Event]:
        place = key(event.subject, "review", review.event)
        ceiling = event.source.trust
        verdict = Review(
            approved=review.decision == "approve",
            observed_at=event.observed_at,
            event=event.id,
            reviewer=review.reviewer,
            trust=None if review.trust is None else min(review.trust, ceiling),
        )
        before = state.get(place, Review)
        if before and (before.observed_at, before.event) >= (verdict.observed_at, verdict.event):
            return
        state.put(place, verdict)
        lanes = state.get(key(event.subject, "lanes", review.event), LanesOf) or LanesOf()
        for lane_key in lanes.keys:
            lane = state.get(lane_key, Lane)
            if lane is not None:
                yield from self._recomputed(state, lane_key, lane, event)

    def _assert(self, state: State, event: Event, new: list[Assertion]) -> Iterator[Event]:
        for assertion in new:
            place = self._lane_key(assertion)
            lane = state.get(place, Lane) or Lane()
            same = (assertion.event, assertion.ordinal)
            if any((each.event, each.ordinal) == same for each in lane.assertions):
                continue
            if assertion.standing != "admitted":
                self._remember_lane(state, assertion, place)
            assertions = tuple(sorted((*lane.assertions, assertion), key=order_of))
            grown = msgspec.structs.replace(lane, assertions=assertions)
            yield from self._recomputed(state, place, grown, event)
            yield from self._with_it(state, assertion, event)

    def _amended(self, state: State, event: Event, changed: Iterable[Made]) -> Iterator[Event]:
        """The events by which what an amendment asserts takes its place, or leaves it."""
        for made in changed:
            place = self._lane_key(made.assertion)
            lane = state.get(place, Lane) or Lane()
            others = [each for each in lane.amended if each.assertion != made.assertion]
            amended = sorted([*others, made], key=lambda each: order_of(each.assertion))
            changed_lane = msgspec.structs.replace(lane, amended=tuple(amended))
            yield from self._recomputed(state, place, changed_lane, event)
            yield from self._with_it(state, made.assertion, event)

    def _with_it(self, state: State, told: Assertion, cause: Event) -> Iterator[Event]:
        """The events of what goes with what was told: the title, once the job is known."""
        for attribute in self.attributes.with_it(told.attribute):
            place = self._lane_key(msgspec.structs.replace(told, attribute=attribute))
            lane = state.get(place, Lane)
            if lane is not None and any(_goes_with(each) for each in lane.assertions):
                yield from self._recomputed(state, place, lane, cause)
        for kind in kinds_shown_by(told.attribute):
            plan = msgspec.structs.replace(told, attribute=PLAN, value="", previous=kind)
            place = self._lane_key(plan)
            lane = state.get(place, Lane)
            if lane is not None:
                yield from self._recomputed(state, place, lane, cause)

    def _came_true(self, state: State, plans: Sequence[Assertion]) -> Iterator[Assertion]:
        """What ends plans because something else that was told shows that they came true."""
        held = [each for each in plans if each.polarity == "positive"]
        trust = max((each.trust for each in held), default=0)
        seen: set[str] = set()
        for plan in held:
            if plan.value in seen:
                continue
            seen.add(plan.value)
            for sign in signs_of(plan.value):
                place = self._lane_key(
                    msgspec.structs.replace(
                        plan, attribute=sign.attribute, value=sign.value, qualifier=""
                    )
                )
                for told in _told_in(state.get(place, Lane) or Lane()):
                    if _shows(sign, told) and told.trust >= trust:
                        yield msgspec.structs.replace(
                            told, attribute=PLAN, value=plan.value, qualifier="",
                            polarity="negative", previous="", rule=f"{told.rule}{CAME_TRUE}",
                        )  # fmt: skip

    def _counts(self, state: State, assertion: Assertion, lane: Lane) -> bool:
        """Whether it counts: what ends together with another value does where that was told, and
        what says more of a known one where that stands in its lane."""
        if assertion.rule.endswith(IF_KNOWN):
            same = (assertion.attribute, content_key(assertion.value))
            return any(
                each.polarity == "positive"
                and not each.rule.endswith(IF_KNOWN)
                and (each.attribute, content_key(each.value)) == same
                for each in lane.assertions
            )
        other = self.attributes.get(assertion.attribute).goes_with
        if not other or not _goes_with(assertion):
            return True
        place = self._lane_key(msgspec.structs.replace(assertion, attribute=other))
        lane = state.get(place, Lane) or Lane()
        told = [*lane.assertions, *(each.assertion for each in lane.amended if each.active)]
        named = content_key(assertion.previous)
        return any(
            each.polarity == "positive" and content_key(each.value) == named for each in told
        )

    def _remember_lane(self, state: State, assertion: Assertion, place: str) -> None:
        index = key(assertion.scope, "lanes", assertion.event)
        lanes = state.get(index, LanesOf) or LanesOf()
        if place not in lanes.keys:
            state.put(index, LanesOf((*lanes.keys, place)))

    def _lane_key(self, assertion: Assertion) -> str:
        attribute = self.attributes.get(assertion.attribute)
        one = bool(assertion.attribute) and attribute.cardinality == "one"
        kind = _kind(assertion)
        alone = not (one or attribute.together or kind)
        value = derived_id(value_key(assertion)) if alone else ""
        qualifier = kind if attribute.together or not one else assertion.qualifier
        return key(
            assertion.scope,
            "lane",
            content_key(assertion.subject),
            self.attributes.place(assertion.attribute),
            content_key(qualifier),
            value,
        )

    def _assertions_of(self, event: Event, data: MemoryCorrected) -> list[Assertion]:
        """A correction as assertions: a withdrawal (or a restoration), and what is right."""
        language = "zh" if any("一" <= c <= "鿿" for c in data.value) else "en"

        def made(ordinal: int, value: str, *, withdraws: bool, restores: bool) -> Assertion:
            attribute = self.attributes.get(data.attribute)
            positive = not withdraws and not restores
            text = value
            if data.attribute:
                text = self.attributes.sentence(
                    data.attribute,
                    data.subject,
                    value,
                    qualifier=data.qualifier,
                    language=language,
                    negative=withdraws,
                )
            return Assertion(
                event=event.id,
                ordinal=ordinal,
                scope=event.subject,
                kind=attribute.kind if data.attribute else "fact",
                subject=data.subject,
                attribute=data.attribute,
                value=value,
                qualifier=data.qualifier,
                polarity="positive" if positive else "negative",
                valid_from=(data.since if ordinal and data.since else event.time).astimezone(UTC),
                observed_at=event.time,
                trust=event.source.trust,
                source_kind=event.source.kind,
                text=text,
                withdraws=withdraws,
                restores=restores,
                language=language,
                reason=data.reason,
                rule="correction",
            )

        restore = data.action == "restore"
        found = [made(0, data.value, withdraws=not restore, restores=restore)]
        if data.action == "replace" and data.replacement:
            right = value_of(self._reader, event, data) if self._reader else data.replacement
            found.append(made(1, right, withdraws=False, restores=False))
        return found

    def _recomputed(self, state: State, place: str, lane: Lane, cause: Event) -> Iterator[Event]:
        """The events by which the lane's memories become what its assertions now say."""
        reviews = _reviews_of(state, lane)
        every = [*lane.assertions, *(each.assertion for each in lane.amended)]
        told = [each for each in lane.assertions if self._counts(state, each, lane)]
        counted = [*told, *(each.assertion for each in lane.amended if each.active)]
        if _kind(every[0]):
            counted += self._came_true(state, counted)
        attribute = self.attributes.get(every[0].attribute)
        together = attribute.together or _kind(every[0]) != ""
        together = together and attribute.cardinality == "many"
        timed = timeline(counted, reviews, together=together)
        spans = {_memory_id(span.opener): span for span in timed}
        versions = {each.id: each.version for each in lane.known}
        signatures = {each.id: each.signature for each in lane.known}
        home = {
            (each.event, each.ordinal): memory
            for memory, span in spans.items()
            for each in span.sources
        }
        for assertion in every:
            memory_id = _memory_id(assertion)
            if memory_id in spans or memory_id not in signatures:
                continue
            target = home.get((assertion.event, assertion.ordinal), "")
            # Without a target it is a denial that was contested or withdrawn for a while, or what
            # an amendment said while it followed another turn: in another order of arrival it
            # would never have been a memory, so it is none now.
            spans[memory_id] = Span(
                sources=(assertion,),
                status="merged",
                valid_from=assertion.valid_from,
                valid_to=assertion.valid_to,
                trust=assertion.trust,
                update_reason=f"merged into {target}" if target else "no longer stands",
            )
        known: list[Known] = []
        for memory_id, span in spans.items():
            signature = _signature(span)
            version = versions.get(memory_id, 0)
            if signatures.get(memory_id) != signature:
                version += 1
                yield self._changed(cause, memory_id, version, span)
            known.append(Known(memory_id, version, signature))
        state.put(place, msgspec.structs.replace(lane, known=tuple(known)))

    def _changed(self, cause: Event, memory_id: str, version: int, span: Span) -> Event:
        opener = span.opener
        doubt = 1.0
        for each in span.sources:
            doubt *= 1.0 - each.confidence
        memory = Memory(
            id=memory_id,
            version=version,
            scope=opener.scope,
            kind=opener.kind,
            status=span.status,
            subject=opener.subject,
            attribute=opener.attribute,
            value=opener.value,
            qualifier=opener.qualifier,
            text=opener.text,
            quote=opener.quote,
            context=opener.context,
            observed_at=opener.observed_at,
            valid_from=span.valid_from,
            valid_to=span.valid_to,
            created_at=cause.recorded_at,
            occurred=opener.occurred,
            update_reason=span.update_reason,
            trust=span.trust,
            source_kind=opener.source_kind,
            confidence=round(1.0 - doubt, 6),
            content_key=content_key(opener.value),
            language=opener.language,
            supports=tuple(dict.fromkeys(each.event for each in span.sources)),
            conflicts=tuple(_memory_id(each) for each in span.against),
            previous=opener.previous,
            reason=opener.reason,
        )
        return Event(
            id=derived_id(opener.scope, memory_id, "resolve", str(version)),
            type=_EVENT_OF_STATUS[span.status],
            subject=cause.subject,
            time=cause.time,
            source=cause.source,
            data=MemoryChanged(memory=memory),
            recordedtime=cause.recordedtime,
        )


def _kind(assertion: Assertion) -> str:
    """The kind of a plan, whose plans are kept together; of what ends any of a kind, it is told as
    what was before."""
    if assertion.attribute != PLAN:
        return ""
    return kind_of(assertion.value) if assertion.value else assertion.previous


def _told_in(lane: Lane) -> list[Assertion]:
    """What was told in a lane and not taken back."""
    told = [*lane.assertions, *(each.assertion for each in lane.amended if each.active)]
    back = {content_key(each.value) for each in told if each.withdraws}
    return [
        each
        for each in told
        if each.standing == "admitted"
        and not each.withdraws
        and not each.restores
        and content_key(each.value) not in back
    ]


def _shows(sign: Sign, told: Assertion) -> bool:
    """Whether what was told shows that a plan came true."""
    if sign.holds != (told.polarity == "positive"):
        return False
    same = content_key(told.value) == content_key(sign.value)
    same = same or (sign.attribute == "residence" and is_there(told.value, sign.value))
    return same or not sign.value or (not sign.holds and not told.value)


def _goes_with(assertion: Assertion) -> bool:
    """Whether it ends whatever there is, together with a value of another attribute."""
    return assertion.polarity == "negative" and not assertion.value and bool(assertion.previous)


def _memory_id(opener: Assertion) -> str:
    """What an amendment asserts may stand in one slot and then, when a turn between has arrived, in
    another: those are two memories."""
    place = (opener.scope, opener.event, "memory", str(opener.ordinal))
    if not is_amended(opener):
        return derived_id(*place)
    slot = (opener.subject, opener.attribute, opener.qualifier, opener.value)
    return derived_id(*place, *map(content_key, slot))


def _reviews_of(state: State, lane: Lane) -> dict[str, Review]:
    reviews: dict[str, Review] = {}
    for assertion in lane.assertions:
        if assertion.standing != "admitted" and assertion.event not in reviews:
            review = state.get(key(assertion.scope, "review", assertion.event), Review)
            if review is not None:
                reviews[assertion.event] = review
    return reviews


def _signature(span: Span) -> str:
    """A short hash of everything about a span that a version shows."""
    shown = (
        span.status,
        span.valid_from,
        span.valid_to,
        span.trust,
        span.update_reason,
        [(each.event, each.ordinal) for each in span.sources],
        [(each.event, each.ordinal) for each in span.against],
    )
    return hashlib.blake2b(msgspec.json.encode(shown), digest_size=8).hexdigest()

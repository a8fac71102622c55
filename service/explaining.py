"""Explaining: from a memory or an event to the whole chain around it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from memstream.schemas.counting import quantity
from memstream.schemas.errors import KeyDestroyed, NotFound
from memstream.schemas.events import (
    CandidateExtracted,
    ContextServed,
    Event,
    MemoryChanged,
    ReviewDecided,
    WriteDecided,
)
from memstream.schemas.memories import Memory
from memstream.schemas.scope import Scope, check_scope
from memstream.service.naming import check_name
from memstream.service.reports import Explanation, Served

if TYPE_CHECKING:
    from memstream.service.host import Host


def explained(host: Host, scope: Scope, name: str) -> Explanation:
    """The chain of an event (by id) or of a memory (by id or its beginning). A whole id comes
    before the beginning of one."""
    check_scope(scope)
    check_name("explain", scope, name)
    versions = host.versions(scope)
    memories = {each.id for each in versions if each.id == name}
    if not memories and host.files.log.find(scope.path, name) is None:
        memories = {each.id for each in versions if each.id.startswith(name)}
    if len(memories) > 1:
        raise NotFound(
            f"{name!r} in {scope.path}: {quantity(len(memories), 'memory')} begin so; mend: give "
            "more of it"
        )
    if memories:
        chosen = [each for each in versions if each.id in memories]
        event_ids = list(dict.fromkeys(event for each in chosen for event in each.supports))
        return _chain(host, scope, event_ids, chosen)
    event_id = host.event_id(scope, name)
    named = {each.id for each in versions if event_id in each.supports}
    found = _chain(host, scope, [event_id], [each for each in versions if each.id in named])
    others = [each for each in versions if each.id not in named]
    changed = tuple(_changed(host, scope, event_id, found.candidates, others))
    return msgspec.structs.replace(found, changed=changed)


def fed_back(host: Host, scope: Scope, name: str) -> str:
    """The id that feedback is about: that of a memory or an event of the scope, given whole or by
    its beginning, or of a memory of another scope that was served to this one. Raises
    ``NotFound``."""
    check_scope(scope)
    check_name("feedback on", scope, name)
    host.later.wait(None)
    ids = {each.id for each in host.versions(scope)}
    ids |= {entry.row.id for entry in host.files.log.of_subject(scope.path)}
    ids |= {item.memory for context in _contexts(host, scope) for item in context[1].items}
    found = {name} if name in ids else {each for each in ids if each.startswith(name)}
    if len(found) == 1:
        return found.pop()
    what = f"{quantity(len(found), 'id')} begin so" if found else "nothing has this id yet"
    mend = (
        "give more of it"
        if found
        else (
            "give the id of a context, which recall tells, or of a memory, see memstream memories"
        )
    )
    raise NotFound(f"feedback on {name!r} in {scope.path}: {what}; mend: {mend}")


def _changed(
    host: Host, scope: Scope, event_id: str, candidates: Sequence[Event], others: Sequence[Memory]
) -> Iterator[Memory]:
    """The versions of other memories that an event led to: those made in its own step; and, as an
    event may come to the log before what it ends, those that end in its slot when it says so."""
    made = {
        (each.data.memory.id, each.data.memory.version)
        for step in host.store.steps_of(scope.path, event_id)
        for each in step.derived
        if isinstance(each.data, MemoryChanged)
    }
    said = [each.data.assertion for each in candidates if isinstance(each.data, CandidateExtracted)]
    ended = {
        (each.subject, each.attribute, end)
        for each in said
        if each.attribute
        for end in (each.valid_from, each.occurred and each.occurred.end)
        if end is not None
    }
    withdrawn = f"withdrawn by {event_id}"
    for memory in others:
        if (
            (memory.id, memory.version) in made
            or memory.update_reason == withdrawn
            or (memory.subject, memory.attribute, memory.valid_to) in ended
            or (memory.subject, _closing_slot(memory), memory.valid_to) in ended
        ):
            yield memory


def _closing_slot(memory: Memory) -> str:
    """The attribute that closed a memory of the opposite one (likes and dislikes), as resolve
    states it: "closed by dislikes: 'tea'"."""
    return memory.update_reason.removeprefix("closed by ").partition(":")[0]


def _chain(host: Host, scope: Scope, event_ids: list[str], versions: list[Memory]) -> Explanation:
    events: list[Event] = []
    erased: list[str] = []
    decisions: list[Event] = []
    reviews = _reviews(host, scope)
    candidates: list[Event] = []
    for event_id in event_ids:
        entry = host.files.log.find(scope.path, event_id)
        if entry is None:
            continue
        try:
            events.append(host.files.codec.from_row(entry.row))
        except KeyDestroyed:
            erased.append(event_id)
        for step in host.store.steps_of(scope.path, event_id):
            decisions += [each for each in step.derived if each.type == "write.decided"]
            candidates += [each for each in step.derived if each.type == "candidate.extracted"]
        for review in reviews.get(event_id, ()):
            decisions += _decided_in(host, scope, review, event_id)
    return Explanation(
        events=tuple(events),
        decisions=tuple(decisions),
        candidates=tuple(candidates),
        versions=tuple(versions),
        served=tuple(_served(host, scope, {each.id for each in versions})),
        erased_events=tuple(erased),
    )


def _reviews(host: Host, scope: Scope) -> dict[str, list[str]]:
    """The ids of the reviews of a scope, by the event that they are about, in their order."""
    found: dict[str, list[str]] = {}
    for entry in host.files.log.of_subject(scope.path):
        if entry.row.type != "review.decided":
            continue
        try:
            event = host.files.codec.from_row(entry.row)
        except KeyDestroyed:
            continue
        if isinstance(event.data, ReviewDecided):
            found.setdefault(event.data.event, []).append(event.id)
    return found


def _decided_in(host: Host, scope: Scope, review: str, event_id: str) -> list[Event]:
    """What a review decided about an event: that stands in the review's own step."""
    return [
        each
        for step in host.store.steps_of(scope.path, review)
        for each in step.derived
        if isinstance(each.data, WriteDecided) and each.data.event == event_id
    ]


def _served(host: Host, scope: Scope, memories: set[str]) -> list[Served]:
    return [
        Served(event.id, context.query, event.observed_at, item.rank, item.score)
        for event, context in _contexts(host, scope)
        for item in context.items
        if item.memory in memories
    ]


def _contexts(host: Host, scope: Scope) -> Iterator[tuple[Event, ContextServed]]:
    """Every context that was served to the scope, in order."""
    for entry in host.files.log.of_subject(scope.path):
        if entry.row.type != "context.served":
            continue
        try:
            event = host.files.codec.from_row(entry.row)
        except KeyDestroyed:
            continue
        if isinstance(event.data, ContextServed):
            yield event, event.data

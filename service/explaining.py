"""Explaining: from a memory or an event to the whole chain around it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memstream.schemas.errors import KeyDestroyed, NotFound
from memstream.schemas.events import ContextServed, Event, ReviewDecided, WriteDecided
from memstream.schemas.memories import Memory
from memstream.schemas.scope import Scope
from memstream.service.reports import Explanation, Served

if TYPE_CHECKING:
    from memstream.service.host import Host


def explained(host: Host, scope: Scope, name: str) -> Explanation:
    """The chain of an event (by id) or of a memory (by id or its beginning). A whole id comes
    before the beginning of one."""
    versions = host.versions(scope)
    memories = {each.id for each in versions if each.id == name}
    if not memories and host.files.log.find(scope.path, name) is None:
        memories = {each.id for each in versions if each.id.startswith(name)}
    if len(memories) > 1:
        raise NotFound(
            f"{name}: {len(memories)} memories of {scope.path} begin so; give more of it"
        )
    if memories:
        chosen = [each for each in versions if each.id in memories]
        event_ids = list(dict.fromkeys(event for each in chosen for event in each.supports))
    else:
        event_ids = [host.event_id(scope, name)]
        named = {each.id for each in versions if event_ids[0] in each.supports}
        chosen = [each for each in versions if each.id in named]
    return _chain(host, scope, event_ids, chosen)


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
    found: list[Served] = []
    for entry in host.files.log.of_subject(scope.path):
        if entry.row.type != "context.served":
            continue
        try:
            event = host.files.codec.from_row(entry.row)
        except KeyDestroyed:
            continue
        if isinstance(event.data, ContextServed):
            found += [
                Served(event.id, event.data.query, event.observed_at, item.rank, item.score)
                for item in event.data.items
                if item.memory in memories
            ]
    return found

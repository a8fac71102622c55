"""Explaining: from a memory or an event to the whole chain around it."""

from __future__ import annotations

from memstream.schemas.errors import KeyDestroyed, NotFound
from memstream.schemas.events import ContextServed, Event
from memstream.schemas.memories import Memory
from memstream.schemas.scope import Scope
from memstream.service.host import Host
from memstream.service.reports import Explanation, Served


def explained(host: Host, scope: Scope, name: str) -> Explanation:
    """The chain of a memory (by id or its beginning) or of an event (by id)."""
    versions = host.versions(scope)
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
    return Explanation(
        events=tuple(events),
        decisions=tuple(decisions),
        candidates=tuple(candidates),
        versions=tuple(versions),
        served=tuple(_served(host, scope, {each.id for each in versions})),
        erased_events=tuple(erased),
    )


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

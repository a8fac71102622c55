"""Erasing: a scope or one event, out of the log, the state and every index, and the proof of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from memstream.schemas.errors import (
    InvalidEvent,
    KeyDestroyed,
    NotFound,
    SealBroken,
    UnknownEventType,
)
from memstream.schemas.events import TRUST_CEILING, ErasureRequested, Event, Source, Text
from memstream.schemas.ids import derived_id
from memstream.schemas.scope import Scope
from memstream.service.reports import ErasureReport
from memstream.service.searching import files_that_hold
from memstream.streams.clock import new_id

if TYPE_CHECKING:
    from memstream.service.host import Host

SHORTEST_NEEDLE = 8
"""Bytes. Anything shorter would be found in any file by chance."""


def erased(host: Host, scope: Scope, event_id: str | None, reason: str) -> ErasureReport:
    """Erases and looks for traces. The lease is held and everything recorded is processed."""
    names = () if event_id is None else _with_parts(host, scope, event_id)
    victims = _victims(host, scope, names)
    memories = {
        each.id
        for each in host.versions(scope)
        if event_id is None or set(names) & set(each.supports)
    }
    needles = _strings_of(victims.values()) | _derived_strings(host, scope, memories)
    before = sum(each.id in memories for each in host.versions(scope))
    ring = host.files.ring
    keys_before = len(ring.destroyed(scope.path))
    # The request is sealed under the new key; what is to go stays under the keys before it.
    ring.rotate(scope.path)
    request = Event(
        id=new_id(host.clock),
        type="erasure.requested",
        subject=scope.path,
        time=host.clock.now(),
        source=Source("admin_edit", int(TRUST_CEILING["admin_edit"])),
        # No names mean the whole scope, so they are the ids and not what is still readable.
        data=ErasureRequested(events=names, reason=reason),
    )
    host.append([[request]])
    host.flush()
    host.files.generations.remove_all_but({host.generation, *host.files.building})
    left = [each for each in host.versions(scope) if each.id in memories]
    survivors = {each.id for each in left}
    needles = {each for each in needles if not _said_elsewhere(host, scope, each)}
    files = sorted(each for each in host.files.root.rglob("*") if each.is_file())
    traces = files_that_hold(host.files.root, files, needles)
    return ErasureReport(
        scope=scope.path,
        events=len(victims),
        memories=len(memories - survivors),
        keys_destroyed=len(ring.destroyed(scope.path)) - keys_before,
        records_removed=before - len(left),
        files_searched=len(files),
        searched=len(needles),
        traces=tuple(traces),
    )


def _with_parts(host: Host, scope: Scope, event_id: str) -> tuple[str, ...]:
    """The event's id and, of an oversize event, those of its other parts. Raises ``NotFound``."""
    held = host.files.log.find(scope.path, event_id)
    if held is None:
        raise NotFound(f"event {event_id!r} is not in {scope.path}; nothing was erased")
    try:
        data = host.files.codec.from_row(held.row).data
    except (KeyDestroyed, InvalidEvent, SealBroken, UnknownEventType):
        return (event_id,)
    part = data.part if isinstance(data, Text) else None
    count = 1 if part is None else part.count
    others = [derived_id(scope.path, event_id, "part", str(index)) for index in range(1, count)]
    return (event_id, *others)


def _victims(host: Host, scope: Scope, names: tuple[str, ...]) -> dict[str, Event]:
    """The readable events to be erased, by id: the named ones, or all of the scope."""
    found: dict[str, Event] = {}
    for entry in host.files.log.of_subject(scope.path):
        if not names or entry.row.id in names:
            try:
                found[entry.row.id] = host.files.codec.from_row(entry.row)
            except (KeyDestroyed, InvalidEvent, SealBroken, UnknownEventType):
                continue
    return found


def _strings_of(events: object) -> set[str]:
    """Every text in the data of the events that is long enough to look for."""
    found: set[str] = set()

    def walk(value: object) -> None:
        if isinstance(value, str):
            found.add(value)
        elif isinstance(value, dict):
            for each in value.values():
                walk(each)
        elif isinstance(value, list | tuple):
            for each in value:
                walk(each)

    for event in events:  # type: ignore[attr-defined]
        if not isinstance(event.data, ErasureRequested):
            builtin = msgspec.to_builtins(event.data)
            for name in ("text", "value", "note", "query", "replacement", "arguments", "actor"):
                walk(builtin.get(name))
    return {each for each in found if len(each.encode()) >= SHORTEST_NEEDLE}


def _derived_strings(host: Host, scope: Scope, memories: set[str]) -> set[str]:
    found: set[str] = set()
    for memory in host.versions(scope):
        if memory.id in memories:
            found |= {memory.text, memory.value, memory.quote, memory.context}
    return {each for each in found if len(each.encode()) >= SHORTEST_NEEDLE}


def _said_elsewhere(host: Host, scope: Scope, text: str) -> bool:
    """Whether something that was not erased holds the same words, so that finding them proves
    nothing."""
    if host.store.holds_text(text) or text in scope.path:
        return True
    duck = host.stores.duck
    return duck is not None and duck.holds_text(text)

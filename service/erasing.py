"""Erasing: a scope or one event, out of the log, the state and every index, and the proof of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from memstream.schemas.errors import KeyDestroyed, NotFound
from memstream.schemas.events import TRUST_CEILING, ErasureRequested, Event, Source, Text
from memstream.schemas.ids import derived_id
from memstream.schemas.scope import Scope
from memstream.service.reports import ErasureReport
from memstream.streams.clock import new_id

if TYPE_CHECKING:
    from memstream.service.host import Host

SHORTEST_NEEDLE = 8
"""Bytes. Anything shorter would be found in any file by chance."""
_READ_BYTES = 1 << 22


def erased(host: Host, scope: Scope, event_id: str | None, reason: str) -> ErasureReport:
    """Erases and looks for traces. The lease is held and everything recorded is processed."""
    victims = _victims(host, scope, event_id)
    memories = {
        each.id
        for each in host.versions(scope)
        if event_id is None or victims.keys() & set(each.supports)
    }
    needles = _strings_of(victims.values()) | _derived_strings(host, scope, memories)
    before = host.store.tally().count
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
        data=ErasureRequested(events=() if event_id is None else tuple(victims), reason=reason),
    )
    host.append([[request]])
    host.flush()
    host.files.generations.remove_all_but({host.generation})
    survivors = {each.id for each in host.versions(scope)}
    needles = {each for each in needles if not _said_elsewhere(host, scope, each)}
    files = sorted(each for each in host.files.root.rglob("*") if each.is_file())
    traces = [str(each.relative_to(host.files.root)) for each in files if _holds(each, needles)]
    return ErasureReport(
        scope=scope.path,
        events=len(victims),
        memories=len(memories - survivors),
        keys_destroyed=len(ring.destroyed(scope.path)) - keys_before,
        records_removed=before - host.store.tally().count,
        files_searched=len(files),
        searched=len(needles),
        traces=tuple(traces),
    )


def _victims(host: Host, scope: Scope, event_id: str | None) -> dict[str, Event]:
    """The readable events to be erased, by id; an oversize event with all its parts."""
    codec = host.files.codec
    found: dict[str, Event] = {}
    if event_id is None:
        for entry in host.files.log.of_subject(scope.path):
            try:
                found[entry.row.id] = codec.from_row(entry.row)
            except KeyDestroyed:
                continue
        return found
    wanted = [event_id]
    for name in wanted:
        held = host.files.log.find(scope.path, name)
        if held is None:
            raise NotFound(f"event {name!r} is not in {scope.path}; nothing was erased")
        try:
            event = codec.from_row(held.row)
        except KeyDestroyed:
            continue
        found[name] = event
        part = event.data.part if isinstance(event.data, Text) else None
        if part is not None and name == event_id:
            wanted += [
                derived_id(scope.path, event_id, "part", str(index))
                for index in range(1, part.count)
            ]
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


def _as_json(text: str) -> bytes:
    return msgspec.json.encode(text)[1:-1]


def _holds(path: Path, needles: set[str]) -> bool:
    wanted = [form for each in needles for form in {each.encode(), _as_json(each)}]
    if not wanted:
        return False
    overlap = max(len(each) for each in wanted)
    tail = b""
    with path.open("rb") as file:
        while block := file.read(_READ_BYTES):
            window = tail + block
            if any(each in window for each in wanted):
                return True
            tail = window[-overlap:]
    return False

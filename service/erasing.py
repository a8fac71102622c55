"""Erasing: a scope or some events, out of the log, the state and every index, and the proof of it.

What carries the erased content goes with it (see ``processors.carriers``); the report names it.
The proof is a search over the bytes of every file for every text, value and key that was erased.
A text that other events of the scope hold as well cannot be proved gone: the report names them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from memstream.processors.carriers import planned
from memstream.schemas.errors import (
    InvalidEvent,
    KeyDestroyed,
    NotFound,
    SealBroken,
    UnknownEventType,
)
from memstream.schemas.events import TRUST_CEILING, ErasureRequested, Event, Source
from memstream.schemas.ids import content_key, derived_id, served_key
from memstream.schemas.memories import Memory
from memstream.schemas.scope import Scope
from memstream.service.reports import ErasureReport
from memstream.service.searching import files_that_hold, files_under
from memstream.service.snapshots import renewed_snapshots
from memstream.streams.clock import Clock, new_id

if TYPE_CHECKING:
    from memstream.service.host import Host

SHORTEST_NEEDLE = 8
"""Bytes. Anything shorter would be found in any file by chance."""

_SAID = ("text", "value", "note", "query", "replacement", "answer")
"""The fields of events that hold what was said. What an actor or a tool is called is none."""
SAID_OFTEN = ("prompt", "arguments", "reason")
"""Fields that many events repeat by nature: looked for unless they do."""


def erased(host: Host, scope: Scope, event_id: str | None, reason: str) -> ErasureReport:
    """Erases and looks for traces. The lease is held and everything recorded is processed."""
    whole = event_id is None
    readable = _readable(host, scope)
    before = host.versions(scope)
    asked: tuple[str, ...] = ()
    if event_id is not None:
        there = host.files.log.find(scope.path, event_id) is not None
        asked = with_pieces(readable, scope.path, event_id, there=there)
    plan = planned(readable, before, asked)
    names = (*asked, *plan.with_them)
    victims = [each for name, each in readable.items() if whole or name in names]
    strange = _undecoded(host, scope, None if whole else names, readable)
    memories = {each.id for each in before if whole or set(names) & set(each.supports)}
    gone = plan.content.events
    needles = needles_of(victims, [each for each in before if whole or gone & set(each.supports)])
    # What a correction said is right stays.
    needles = {each: text for each, text in needles.items() if not is_kept(text, plan.restated)}
    ring = host.files.ring
    keys_before = len(ring.destroyed(scope.path))
    # The request is sealed under the new key; what is to go stays under the keys before it.
    ring.rotate(scope.path)
    request = request_of(host.clock, scope, names, reason)
    host.append([[each] for each in (request, *plan.restated)])
    host.flush()
    host.files.forget_copies(host.generation)
    renewed, left = renewed_snapshots(host, scope.path, (*names, *plan.scrubbed))
    after = host.versions(scope)
    often = needles_of(victims, (), fields=SAID_OFTEN).keys() - needles.keys()
    often |= {each for each in strange if len(each.encode()) >= SHORTEST_NEEDLE}
    also_in, said = _also_said(host, scope, needles, after)
    needles |= {each: each for each in often}
    said |= _also_said(host, scope, {each: each for each in often}, after)[1]
    searched = {each: text for each, text in needles.items() if text not in said}
    files = files_under(host.files.root)
    traces, elsewhere = _traces(host, scope, searched, files_that_hold(files, set(searched)))
    traces |= _rows_left(host, scope, searched, names, after)
    return ErasureReport(
        scope=scope.path,
        events=len(victims),
        memories=len(memories - {each.id for each in after}),
        keys_destroyed=len(ring.destroyed(scope.path)) - keys_before,
        records_removed=sum(each.id in memories for each in before)
        - sum(each.id in memories for each in after),
        files_searched=len(files),
        searched=len(searched),
        traces=tuple(sorted(traces)),
        with_them=plan.with_them,
        restated=tuple(each.id for each in plan.restated),
        scrubbed=plan.scrubbed,
        also_in=tuple(also_in),
        elsewhere=elsewhere,
        snapshots_renewed=renewed,
        snapshots_left=left,
    )


def request_of(
    clock: Clock, scope: Scope, names: tuple[str, ...], reason: str, keys: tuple[str, ...] = ()
) -> Event:
    """The event that asks for the erasure of the named events; of the whole scope without names."""
    return Event(
        id=new_id(clock),
        type="erasure.requested",
        subject=scope.path,
        time=clock.now(),
        source=Source("admin_edit", int(TRUST_CEILING["admin_edit"])),
        # No names mean the whole scope, so they are the ids and not what is still readable.
        data=ErasureRequested(events=names, reason=reason, keys=keys),
    )


def with_pieces(
    events: Mapping[str, Event], path: str, event_id: str, *, there: bool
) -> tuple[str, ...]:
    """The event's id and, of an oversize event, those of its other pieces; also of pieces of
    another text that came under the id. Raises ``NotFound`` where it is not ``there``."""
    if not there:
        raise NotFound(f"event {event_id!r} is not in {path}; nothing was erased")
    part = events[event_id].part if event_id in events else None
    own = [event_id] if part is None or part.index else part.ids(path, event_id)
    pieces = ((name, each.part) for name, each in events.items())
    others = (name for name, piece in pieces if piece is not None and piece.of == event_id)
    return tuple(dict.fromkeys((*own, *others)))


def _readable(host: Host, scope: Scope) -> dict[str, Event]:
    """The readable events of the scope, by id."""
    found: dict[str, Event] = {}
    for entry in host.files.log.of_subject(scope.path):
        try:
            found[entry.row.id] = host.files.codec.from_row(entry.row)
        except (KeyDestroyed, InvalidEvent, SealBroken, UnknownEventType):
            continue
    return found


def _undecoded(
    host: Host, scope: Scope, names: Sequence[str] | None, readable: Mapping[str, Event]
) -> set[str]:
    """Every string in the events to erase that cannot be decoded: an error about one quotes it."""
    found: set[str] = set()
    for entry in host.files.log.of_subject(scope.path):
        if entry.row.id in readable or (names is not None and entry.row.id not in names):
            continue
        try:
            found |= strings_in(msgspec.json.decode(host.files.codec.plain(entry.row)))
        except (KeyDestroyed, SealBroken, msgspec.DecodeError):
            continue
    return found


# What to look for


def needles_of(
    victims: Iterable[Event], versions: Iterable[Memory], *, fields: Sequence[str] = _SAID
) -> dict[str, str]:
    """The strings to look for, each with the erased text it stands for: the texts and values
    themselves, and the keys by which stores remember them."""
    texts: set[str] = set()
    for event in victims:
        if not isinstance(event.data, ErasureRequested):
            built = msgspec.to_builtins(event.data)
            for name in fields:
                texts |= strings_in(built.get(name))
    for memory in versions:
        texts |= {memory.text, memory.value, memory.quote, memory.context}
    found: dict[str, str] = {}
    for text in texts:
        if len(text.encode()) < SHORTEST_NEEDLE:
            continue
        key = content_key(text)
        for needle in (text, served_key(text), derived_id(key), key):
            if len(needle.encode()) >= SHORTEST_NEEDLE:
                found.setdefault(needle, text)
    return found


def is_kept(text: str, statements: Sequence[Event]) -> bool:
    """Whether one of the statements says the text: what a correction says is right stays."""
    said = [msgspec.to_builtins(each.data) for each in statements]
    return any(text in each[name] for each in said for name in ("text", "value") if name in each)


def strings_in(value: object) -> set[str]:
    """Every string in what was decoded from JSON."""
    if isinstance(value, str):
        return {value}
    if isinstance(value, dict):
        return set().union(*map(strings_in, value.keys()), *map(strings_in, value.values()))
    if isinstance(value, list | tuple):
        return set().union(*map(strings_in, value))
    return set()


def _also_said(
    host: Host, scope: Scope, needles: Mapping[str, str], after: Sequence[Memory]
) -> tuple[list[str], set[str]]:
    """The events of the scope that are left and hold an erased text, or say the same in other
    words; and those texts. Read as bytes, so that events of a newer release are looked at too."""
    forms = [(spelled(needle), text) for needle, text in needles.items()]
    events: list[str] = []
    said: set[str] = set()
    for entry in host.files.log.of_subject(scope.path):
        try:
            plain = host.files.codec.plain(entry.row)
        except (KeyDestroyed, SealBroken):
            continue
        here = {text for form, text in forms if form in plain}
        if here:
            events.append(entry.row.id)
            said |= here
    for memory in after:
        shown = {memory.text, memory.value, memory.quote, memory.context} & set(needles.values())
        if shown - said:
            events += [each for each in memory.supports if each not in events]
        said |= shown
    return events, said


# The proof


def _traces(
    host: Host, scope: Scope, needles: Mapping[str, str], found: Mapping[str, Sequence[str]]
) -> tuple[set[str], int]:
    """The files that hold something of what was erased, and how many of the texts found say
    nothing because other scopes hold them too."""
    elsewhere = {
        text
        for text in {needles[each] for held in found.values() for each in held}
        if _is_said_in_other_scopes(host, scope, text)
    }
    traces = {
        path for path, held in found.items() if any(needles[each] not in elsewhere for each in held)
    }
    return {str(Path(path).relative_to(host.files.root)) for path in traces}, len(elsewhere)


def _rows_left(
    host: Host,
    scope: Scope,
    needles: Mapping[str, str],
    names: Sequence[str],
    after: Sequence[Memory],
) -> set[str]:
    """The stores whose rows of the scope still hold it, in whatever way they lie in the file."""
    folder = host.stores.folder.relative_to(host.files.root)
    left: set[str] = set()
    if any(set(names) & set(each.supports) for each in after):
        left.add(str(folder / "state.db"))
    duck = host.stores.duck
    if duck is not None and duck.texts_in(scope.path, sorted(set(needles.values()))):
        left.add(str(folder / "analytics.duckdb"))
    return left


def _is_said_in_other_scopes(host: Host, scope: Scope, text: str) -> bool:
    if host.store.holds_text(text, outside=scope.path) or text in scope.path:
        return True
    duck = host.stores.duck
    return duck is not None and duck.holds_text(text, outside=scope.path)


def spelled(text: str) -> bytes:
    """The text as JSON spells it, without the quotation marks."""
    return msgspec.json.encode(text)[1:-1]

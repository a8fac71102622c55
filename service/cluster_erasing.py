"""Erasing on Kafka, where nothing that was written can be written over.

An event goes with the keys that seal it. In this order, so that a crash anywhere loses nothing and
is finished by the next erasure in the scope:

1. The scope gets a new key; nothing more is sealed under the ones that are to go.
2. What else those keys seal is appended again, under the new key, with the same ids and times.
   Served contexts that quote the erased are appended without it.
3. ``erasure.requested`` names the events and the keys. Workers derive the scope again from it.
4. The keys are destroyed, those of what other generations derived as well.

What was recorded meanwhile and carries the erased content goes in a further round.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from memstream.processors.carriers import Content, Plan, carries, planned, scrubbed
from memstream.processors.standard import standard_pipeline
from memstream.schemas.codec import SealedRow
from memstream.schemas.counting import quantity
from memstream.schemas.errors import KeyDestroyed, SealBroken
from memstream.schemas.events import ErasureRequested, Event
from memstream.schemas.memories import Memory
from memstream.schemas.scope import Scope
from memstream.service.erasing import (
    SAID_OFTEN,
    is_kept,
    needles_of,
    request_of,
    spelled,
    with_pieces,
)
from memstream.service.reports import ErasureReport
from memstream.service.searching import files_that_hold, files_under
from memstream.streams.bundles import BundleCodec, derived_subject, state_subject
from memstream.streams.clock import Deadline
from memstream.streams.deriving_in_memory import derived_versions
from memstream.streams.kafka_reading import TopicReader
from memstream.streams.kafka_topics import CANDIDATES, MEMORIES, generations
from memstream.streams.log import Position, partition_of
from memstream.streams.scope_history import ScopeHistory, Told, readable

if TYPE_CHECKING:
    from memstream.service.cluster import ClusterHost

WAIT_SECONDS = 60.0
"""How long an erasure waits until workers and projector have done theirs, before it reports."""
MOST_ROUNDS = 4
"""Times that an erasure looks for what was recorded about the erased while it ran."""

_AT_ONCE = 1_000
_POLL_SECONDS = 0.1


def erased_on_kafka(
    host: ClusterHost, scope: Scope, event_id: str | None, reason: str, *, wait_s: float
) -> ErasureReport:
    """Erases, waits for the workers and looks for traces. The content is destroyed when the keys
    are, whoever is away; a report that is not complete says who has not followed yet."""
    path, whole = scope.path, event_id is None
    finished(host, scope)
    new_key, _ = host.ring.rotate(path)
    history = history_of(host, path)
    events = readable(host.codec, history)
    asked: tuple[str, ...] = ()
    if event_id is not None:
        asked = with_pieces(events, path, event_id, there=event_id in history.events)
    before = derived_versions(standard_pipeline(), events.values())
    plan, done = planned(events, before, asked), _Done({}, {}, [])
    position: Position | None = None
    for _ in range(MOST_ROUNDS):
        names = (*asked, *plan.with_them)
        done.with_them.update(plan.with_them)
        keys = host.ring.keys(path)
        if whole:
            doomed = keys[: keys.index(new_key)]
        else:
            doomed = _sealing(history, keys, {*names, *plan.scrubbed})
        request = request_of(host.clock, scope, names, reason, tuple(doomed))
        position = _requested(host, history, events, plan, request)
        done.restated.update({each.id: each for each in plan.restated})
        done.scrubbed += [each for each in plan.scrubbed if each not in done.scrubbed]
        done.destroyed += _destroyed(host, scope, position, request)
        history = history_of(host, path)
        later = readable(host.codec, history)
        if whole or not _carriers(plan.content, later):
            break
        host.ring.rotate(path)
        events = {**events, **later}
        before = [*before, *derived_versions(standard_pipeline(), later.values())]
        plan = planned(events, before, asked)
    assert position is not None
    names = () if whole else (*asked, *plan.with_them)
    late = _not_followed(host, position, wait_s)
    victims = [each for each in events.values() if whole or each.id in names]
    return _report(host, scope, plan.content, names, victims, before, done, late)


def finished(host: ClusterHost, scope: Scope) -> list[str]:
    """Finishes what an erasure that was cut off had requested; the ids of the keys destroyed."""
    history = history_of(host, scope.path)
    alive = history.void.intersection(host.ring.keys(scope.path))
    gone: list[str] = []
    for place, data in list(history.requests.values()):
        if alive.intersection(data.keys):
            request = request_of(host.clock, scope, data.events, data.reason, data.keys)
            at = Position(partition_of(scope.path, host.log.partitions), place, scope.path, "")
            gone += _destroyed(host, scope, at, request)
    return gone


def history_of(host: ClusterHost, path: str) -> ScopeHistory:
    """The scope's events as the topic holds them now."""
    return ScopeHistory(host.codec, path, host.log.messages_of(path))


def appended_again(host: ClusterHost, events: Sequence[Event], rows: Sequence[SealedRow]) -> None:
    """Sees to events that were just appended under a key which an erasure took meanwhile: they
    count by a copy under another key, unless it was they that were erased."""
    gone: dict[str, Event] = {}
    for event, row in zip(events, rows, strict=True):
        try:
            if row.key_id:
                host.ring.key_by_id(row.key_id)
        except KeyDestroyed:
            gone[event.id] = event
    for path in {each.subject for each in gone.values()}:
        history = history_of(host, path)
        for told in history:
            again = gone.get(told.id)
            if again is None or history.is_erased(told) or history.kept(told) is not None:
                continue
            again = msgspec.structs.replace(again, recordedtime=told.first.recordedtime)
            host.log.append_again([host.codec.to_row(again)])


class _Done(msgspec.Struct):
    """What all rounds did."""

    with_them: dict[str, str]
    restated: dict[str, Event]
    destroyed: list[str]
    scrubbed: list[str] = []


# Writing


def _requested(
    host: ClusterHost,
    history: ScopeHistory,
    events: Mapping[str, Event],
    plan: Plan,
    request: Event,
) -> Position:
    """Appends what stays of the doomed keys' events, what is restated, and the request."""
    data = request.data
    assert isinstance(data, ErasureRequested)
    rows = _copies(host, history, data, plan.content, events)
    for chunk in _chunks(rows):
        host.log.append_again(chunk)
    fresh = [each for each in plan.restated if each.id not in history.events]
    appended = [host.codec.to_row(each) for each in (*fresh, request)]
    return host.log.append(appended)[-1]


def _copies(
    host: ClusterHost,
    history: ScopeHistory,
    data: ErasureRequested,
    content: Content,
    events: Mapping[str, Event],
) -> Iterator[SealedRow]:
    """What stays of the events that the doomed keys seal, under the scope's present key."""
    if not data.events:
        return
    doomed = history.void.union(data.keys)
    for told in history:
        if told.id in data.events or history.is_erased(told):
            continue
        kept = history.kept(told)
        others = (each.row for each in told.copies if each.row.key_id not in doomed)
        if kept is None or any(history.opens(each) for each in others):
            continue
        event = events.get(told.id)
        without = None if event is None else scrubbed(content, event)
        try:
            yield host.codec.resealed(kept.row, without)
        except (KeyDestroyed, SealBroken):
            continue  # altered: nobody can open it, under any key


def _destroyed(host: ClusterHost, scope: Scope, at: Position, request: Event) -> list[str]:
    """Destroys the keys that the request names, when nothing that stays is under them alone.
    What was on its way while the request was written is appended again, and asked for again, so
    that it gets its place."""
    path, data = scope.path, request.data
    assert isinstance(data, ErasureRequested)
    derived = _derived_keys(host, path)
    while True:
        history = history_of(host, path)
        late = [
            row
            for told in history
            if not history.is_erased(told) and history.kept(told) is None
            for row in _first_open(host, told)
        ]
        if not late:
            break
        for chunk in _chunks(late):
            host.log.append_again(chunk)
        again = request_of(host.clock, scope, data.events, data.reason, data.keys)
        host.log.append([host.codec.to_row(again)])
    alive = host.ring.keys(path)
    doomed = [each for each in data.keys if each in alive]
    gone = host.ring.destroy(path, key_ids=doomed) if doomed else []
    for subject, keys in derived.items():
        host.ring.destroy(subject, key_ids=keys)
    if host.codec.sealer is not None:
        host.codec.sealer.forget()
    return gone


def _first_open(host: ClusterHost, told: Told) -> list[SealedRow]:
    for copy in told.copies:
        try:
            return [host.codec.resealed(copy.row)]
        except (KeyDestroyed, SealBroken):
            continue
    return []


def _derived_keys(host: ClusterHost, path: str) -> dict[str, list[str]]:
    """The keys of what generations that this process does not read derived so far: nobody may be
    working on them any more. One that is at work derives the scope again from the request."""
    found: dict[str, list[str]] = {}
    erasures = (-1, *history_of(host, path).erasures)
    for generation in generations(host.settings.kafka):
        if generation == host.generation:
            continue
        for stage in ("deriving", "resolving"):
            state = state_subject(path, generation, stage)
            for subject in (state, *(derived_subject(state, each) for each in erasures)):
                keys = host.ring.keys(subject)
                if keys:
                    found[subject] = keys
    return found


# Planning


def _sealing(history: ScopeHistory, alive: Sequence[str], names: set[str]) -> list[str]:
    """The keys that seal any copy of the named events."""
    used = {copy.row.key_id for told in history if told.id in names for copy in told.copies}
    return [each for each in alive if each in used]


def _carriers(content: Content, events: Mapping[str, Event]) -> bool:
    """Whether something recorded meanwhile holds what was erased."""
    return any(
        carries(content, each) or scrubbed(content, each) is not None for each in events.values()
    )


def _chunks(rows: Iterable[SealedRow]) -> Iterator[list[SealedRow]]:
    """The rows in lists that one append takes."""
    chunk: list[SealedRow] = []
    for row in rows:
        chunk.append(row)
        if len(chunk) >= _AT_ONCE:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


# The proof


def _not_followed(host: ClusterHost, position: Position, wait_s: float) -> list[str]:
    """Who has not come to the request within the time, in words."""
    deadline, pause = Deadline(wait_s), threading.Event()
    need = {position.partition: position.offset + 1}
    late: list[str] = []
    missing = host.wait_for(need, wait_s)
    if missing:
        late.append(
            f"index: {quantity(missing, 'event')} behind; mend: see that memstream worker "
            "--runtime faust and "
            "a projector run, and erase again"
        )
    duck = host.view.duck
    while duck is not None and duck.positions().get(position.partition, 0) <= position.offset:
        if deadline.passed:
            late.append("analytics.duckdb: behind; mend: see the projector's log, and erase again")
            break
        pause.wait(_POLL_SECONDS)
    return late


def _report(
    host: ClusterHost,
    scope: Scope,
    content: Content,
    names: Sequence[str],
    victims: Sequence[Event],
    before: Sequence[Memory],
    done: _Done,
    late: Sequence[str],
) -> ErasureReport:
    whole = not names
    gone = content.events
    memories = {each.id for each in before if whole or set(names) & set(each.supports)}
    of_gone = [each for each in before if whole or gone & set(each.supports)]
    kept = tuple(done.restated.values())
    needles = {
        each: text for each, text in needles_of(victims, of_gone).items() if not is_kept(text, kept)
    }
    often = needles_of(victims, (), fields=SAID_OFTEN).keys() - needles.keys()
    after = host.versions(scope)
    history = history_of(host, scope.path)
    also_in, said = _also_said(host, history, needles, after)
    needles |= {each: each for each in often}
    said |= _also_said(host, history, {each: each for each in often}, ())[1]
    searched = {each: text for each, text in needles.items() if text not in said}
    traces = {*late, *_in_topics(host, scope, history, searched)}
    if any(set(names) & set(each.supports) for each in after):
        traces.add("index")
    duck = host.view.duck
    if duck is not None and duck.texts_in(scope.path, sorted(set(searched.values()))):
        traces.add("analytics.duckdb")
    files = files_under(host.root)
    found = files_that_hold(files, set(searched))
    elsewhere = {
        text
        for text in {searched[each] for held in found.values() for each in held}
        if _is_said_in_other_scopes(host, scope, text)
    }
    traces |= {
        str(Path(file).relative_to(host.root))
        for file, held in found.items()
        if any(searched[each] not in elsewhere for each in held)
    }
    return ErasureReport(
        scope=scope.path,
        events=len(victims),
        memories=len(memories - {each.id for each in after}),
        keys_destroyed=len(done.destroyed),
        records_removed=sum(each.id in memories for each in before)
        - sum(each.id in memories for each in after),
        files_searched=len(files),
        searched=len(searched),
        traces=tuple(sorted(traces)),
        with_them=done.with_them,
        restated=tuple(done.restated),
        scrubbed=tuple(done.scrubbed),
        also_in=tuple(also_in),
        elsewhere=len(elsewhere),
    )


def _also_said(
    host: ClusterHost,
    history: ScopeHistory,
    needles: Mapping[str, str],
    after: Sequence[Memory],
) -> tuple[list[str], set[str]]:
    """The events that are left and hold an erased text, or say the same; and those texts."""
    forms = [(spelled(needle), text) for needle, text in needles.items()]
    events: list[str] = []
    said: set[str] = set()
    for told in history:
        copy = None if history.is_erased(told) else history.kept(told)
        if copy is None or told.id in history.requests:
            continue
        try:
            plain = host.codec.plain(copy.row)
        except (KeyDestroyed, SealBroken):
            continue
        here = {text for form, text in forms if form in plain}
        if here:
            events.append(told.id)
            said |= here
    for memory in after:
        shown = {memory.text, memory.value, memory.quote, memory.context} & set(needles.values())
        if shown - said:
            events += [each for each in memory.supports if each not in events]
        said |= shown
    return events, said


def _in_topics(
    host: ClusterHost, scope: Scope, history: ScopeHistory, needles: Mapping[str, str]
) -> Iterator[str]:
    """The topics in which present keys still open something of it, with the first offset."""
    forms = [spelled(each) for each in needles]
    kafka = host.settings.kafka
    for told in history:
        for copy in told.copies:
            try:
                plain = host.codec.plain(copy.row)
            except (KeyDestroyed, SealBroken):
                continue
            erased = history.is_erased(told) and told.id not in history.requests
            if erased or any(each in plain for each in forms):
                yield f"topic {host.log.topic} offset {copy.offset}"
    bundles = BundleCodec(host.codec)
    partition = partition_of(scope.path, host.log.partitions)
    for generation in generations(kafka):
        for name in (CANDIDATES, MEMORIES):
            topic = kafka.topic(f"{generation}.{name}")
            reader = TopicReader(kafka, topic)
            try:
                place = _first_in(bundles, reader, partition, scope.path, forms)
            finally:
                reader.close()
            if place is not None:
                yield f"topic {topic} offset {place}"


def _first_in(
    bundles: BundleCodec, reader: TopicReader, partition: int, path: str, forms: Sequence[bytes]
) -> int | None:
    offset = 0
    while messages := reader.messages(partition, offset, _AT_ONCE):
        for offset, message in messages:
            bundle = bundles.decode(message, where=f"offset {offset}")
            if bundle.scope == path and any(each in bundles.plain(bundle) for each in forms):
                return offset
        offset += 1
    return None


def _is_said_in_other_scopes(host: ClusterHost, scope: Scope, text: str) -> bool:
    if text in scope.path:
        return True
    duck = host.view.duck
    return duck is not None and duck.holds_text(text, outside=scope.path)

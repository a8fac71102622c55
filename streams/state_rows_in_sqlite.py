"""What the state store's SQLite file holds: its tables, and derived events in and out of rows.

``state_in_sqlite`` is the only caller.

The derived events of a step are one JSON array of envelopes. The data of a memory event stands in
``versions`` instead, so that a memory can be read, summed up and erased by itself; a version's
``vid`` is its step's seq and its place among the step's derived events.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any

import msgspec

from memstream.schemas.errors import ProjectionDamaged, WrongGeneration
from memstream.schemas.events import DATA_TYPES, Event, MemoryChanged, Source, WriteDecided
from memstream.schemas.memories import Memory, Recorded, recorded_as
from memstream.streams.sqlite_files import FileKind, FileUnavailable

STATE_FILE = FileKind(
    name="state store",
    application_id=0x6D737374,
    version=1,
    schema=(
        "CREATE TABLE meta(name TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID",
        "CREATE TABLE kv(key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID",
        "CREATE TABLE unmerged(number INTEGER PRIMARY KEY, entries BLOB NOT NULL)",
        "CREATE TABLE steps(seq INTEGER PRIMARY KEY, partition INTEGER NOT NULL,"
        " offset INTEGER NOT NULL, scope TEXT NOT NULL, event_id TEXT NOT NULL,"
        " outcome TEXT NOT NULL, derived BLOB NOT NULL)",
        "CREATE INDEX steps_by_scope ON steps(scope, seq, event_id)",
        "CREATE TABLE versions(vid INTEGER PRIMARY KEY, seq INTEGER NOT NULL,"
        " scope TEXT NOT NULL, memory TEXT NOT NULL, version INTEGER NOT NULL,"
        " status TEXT NOT NULL, digest INTEGER NOT NULL, record BLOB NOT NULL)",
        "CREATE INDEX versions_by_scope ON versions(scope, vid, memory)",
        "CREATE INDEX versions_sums ON versions(seq, digest)",
        "CREATE TABLE positions(partition INTEGER PRIMARY KEY, offset INTEGER NOT NULL)",
        "CREATE TABLE outcomes(outcome TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID",
        "CREATE TABLE dead_letters(partition INTEGER, offset INTEGER, scope TEXT NOT NULL,"
        " event_id TEXT NOT NULL, attempts INTEGER NOT NULL, error TEXT NOT NULL,"
        " retry_at INTEGER, resolved INTEGER NOT NULL, PRIMARY KEY(partition, offset))"
        " WITHOUT ROWID",
    ),
    # Losing the last transactions with the power is harmless: position and data go together.
    pragmas=(
        "synchronous=NORMAL",
        "secure_delete=ON",
        "cache_size=-64000",
        "wal_autocheckpoint=8000",
    ),
    mend="rebuild it from the log",
    damaged=ProjectionDamaged,
    newer=WrongGeneration,
    unavailable=FileUnavailable,
)
"""``unmerged`` holds changes of ``kv`` as JSON arrays of [key, value or null], oldest first.
``retry_at`` is UTC microseconds; ``offset`` of a position is the one to read next."""

UNDECIDED = "undecided"
"""The outcome of an event that no decision was made about (a served context, feedback)."""
DEAD_LETTERED = "dead_lettered"

MOST_DERIVED = 1 << 16
"""How many events one raw event may lead to."""


class Kept(msgspec.Struct, frozen=True, array_like=True):
    """One derived event as a step keeps it. No ``data`` for a memory: that is in ``versions``."""

    id: str
    type: str
    subject: str
    time: datetime
    recordedtime: datetime | None
    dataversion: int
    kind: str
    trust: int
    runtime: str
    run: str
    actor: str
    data: msgspec.Raw


_ENCODER = msgspec.json.Encoder()
_KEPT = msgspec.json.Decoder(tuple[Kept, ...])
_DECODERS = {name: msgspec.json.Decoder(kind) for name, kind in DATA_TYPES.items()}
MEMORY = msgspec.json.Decoder(Memory)


def encode_derived(derived: Sequence[Event]) -> bytes:
    """The BLOB of ``steps.derived``; empty for no events."""
    if not derived:
        return b""
    kept = []
    for event in derived:
        source, data = event.source, event.data
        kept.append(
            (
                event.id, event.type, event.subject, event.time, event.recordedtime,
                event.dataversion, source.kind, source.trust, source.runtime, source.run,
                data.actor, None if type(data) is MemoryChanged else data,
            )
        )  # fmt: skip
    return _ENCODER.encode(kept)


def decode_derived(blob: bytes, records: Mapping[int, Recorded]) -> tuple[Event, ...]:
    """The derived events; ``records`` are the memory versions by their place. A memory whose
    version was erased is left out."""
    if not blob:
        return ()
    events = []
    for place, kept in enumerate(_KEPT.decode(blob)):
        if DATA_TYPES.get(kept.type) is not MemoryChanged:
            data = _DECODERS[kept.type].decode(kept.data)
        elif place in records:
            data = MemoryChanged(actor=kept.actor, memory=MEMORY.decode(records[place][0]))
        else:
            continue
        source = Source(kept.kind, kept.trust, kept.runtime, kept.run)  # type: ignore[arg-type]
        events.append(
            Event(
                id=kept.id, type=kept.type, subject=kept.subject, time=kept.time, source=source,
                data=data, recordedtime=kept.recordedtime, dataversion=kept.dataversion,
            )
        )  # fmt: skip
    return tuple(events)


def version_rows(seq: int, derived: Sequence[Event]) -> list[tuple[Any, ...]]:
    """The rows of ``versions`` that a step's derived events make."""
    rows: list[tuple[Any, ...]] = []
    for place, event in enumerate(derived):
        data = event.data
        if type(data) is MemoryChanged:
            memory = data.memory
            record, digest = recorded_as(memory)
            rows.append(
                (
                    seq << 16 | place, seq, memory.scope, memory.id, memory.version, memory.status,
                    digest, record,
                )
            )  # fmt: skip
    return rows


def decisions(derived: Sequence[Event]) -> dict[str, str]:
    """What the step decided: event id -> outcome. A review decides about another event."""
    return {
        event.data.event: event.data.outcome
        for event in derived
        if type(event.data) is WriteDecided
    }


def with_expiry(records: Sequence[bytes]) -> list[Memory]:
    """Versions of memories, sorted by (memory, version), each expired when the next was made."""
    memories = [MEMORY.decode(record) for record in records]
    for index, (memory, later) in enumerate(pairwise(memories)):
        if memory.id == later.id:
            memories[index] = msgspec.structs.replace(memory, expired_at=later.created_at)
    return memories

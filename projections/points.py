"""Points: how one memory version is laid out in a vector store. Shared by every vector index.

A point's id is a function of memory and version, so writing it again changes nothing. Its payload
holds what filters need, as plain values, and the whole memory as its canonical JSON; a field that
no filter needs stands in the record alone, for every text in a payload costs 3 µs to hand over
and every list 10: a single entity is a plain value, which filters match alike.
Only ``expired_at`` ever changes: the next version of the memory sets it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

import msgspec

from memstream.processors.lexemes import LEXEMES_VERSION, lexemes
from memstream.projections.facets import entity_keys, happened
from memstream.projections.projection import Step, recorded_in
from memstream.schemas.events import MemoryChanged
from memstream.schemas.ids import derived_id
from memstream.schemas.instants import OPEN_MICROS, from_micros, to_micros
from memstream.schemas.memories import Memory, Recorded
from memstream.schemas.scope import Scope

POINTS_SCHEMA = f"points/8+lexemes/{LEXEMES_VERSION}"
"""Part of a generation's schema: stores with other payloads or other lexemes must be rebuilt."""

KEYWORDS = ("scope", "kind", "status", "entities")
"""Payload fields that filters match exactly, beside "tenant"."""
RANGES = (
    "observed_at",
    "valid_from",
    "valid_to",
    "created_at",
    "expired_at",
    "happened_from",
    "happened_to",
)
"""Payload fields in UTC microseconds that filters compare; an open end is ``OPEN_MICROS``."""


def words_of(memory: Memory) -> list[str]:
    """What of a memory is indexed lexically: its lemmas (its text, and the words a question may
    use for its attribute) and the other words of its event."""
    words = list(memory.lemmas) or lexemes(memory.text)
    return words + lexemes(memory.context) if memory.context else words


def point_id(memory: str, version: int) -> str:
    """The point of one version of one memory."""
    return derived_id(memory, str(version))


class NewPoint(msgspec.Struct, frozen=True, gc=False):
    """One memory version to be stored."""

    id: str
    memory: Memory
    payload: dict[str, Any]


class Changes(msgspec.Struct, frozen=True, gc=False):
    """What a run of steps does to a store: points to write, and stored points to close.

    ``closed`` maps the id of an earlier version to the instant (micros) at which it stopped being
    believed; versions that are written by the same steps are closed in their payload already.
    ``steps`` are the new ones, in order.
    """

    points: list[NewPoint]
    closed: Mapping[str, int]
    last_seq: int
    steps: Sequence[Step] = ()


def changes(steps: Iterable[Step], *, after: int) -> Changes:
    """The changes of all steps later than position ``after``, coalesced."""
    last = after
    fresh: list[Step] = []
    made: dict[str, tuple[Memory, Recorded]] = {}
    closed: dict[str, int] = {}
    for step in steps:
        if step.seq <= after:
            continue
        last = step.seq
        fresh.append(step)
        records = iter(recorded_in(step))
        for event in step.derived:
            if isinstance(event.data, MemoryChanged):
                memory = event.data.memory
                made[point_id(memory.id, memory.version)] = memory, next(records)
                if memory.version > 1:
                    earlier = point_id(memory.id, memory.version - 1)
                    closed[earlier] = to_micros(memory.created_at)
    points = [
        NewPoint(name, memory, _payload(memory, recorded, closed.pop(name, None)))
        for name, (memory, recorded) in made.items()
    ]
    return Changes(points, closed, last, fresh)


def decoded(record: str, expired_at: int) -> Memory:
    """The memory of a stored record, with what became of its transaction time since."""
    memory = _DECODER.decode(record)
    if expired_at == OPEN_MICROS:
        return memory
    return msgspec.structs.replace(memory, expired_at=from_micros(expired_at))


def made_at(memory: Memory) -> tuple[datetime, str, int]:
    """The order in which memory versions were made."""
    return memory.created_at, memory.id, memory.version


_DECODER = msgspec.json.Decoder(Memory)


def _payload(memory: Memory, recorded: Recorded, closed: int | None) -> dict[str, Any]:
    if closed is None:
        closed = OPEN_MICROS if memory.expired_at is None else to_micros(memory.expired_at)
    record, digest = recorded
    start, end = happened(memory)
    about = entity_keys(memory)
    payload: dict[str, Any] = {
        "tenant": _tenant(memory.scope),
        "scope": memory.scope,
        "kind": memory.kind,
        "status": memory.status,
        "observed_at": to_micros(memory.observed_at),
        "valid_from": to_micros(memory.valid_from),
        "valid_to": OPEN_MICROS if memory.valid_to is None else to_micros(memory.valid_to),
        "created_at": to_micros(memory.created_at),
        "expired_at": closed,
        "happened_from": start,
        "happened_to": end,
        "entities": about[0] if len(about) == 1 else list(about),
        "digest": digest,
        "record": record.decode(),
    }
    return payload


@lru_cache(maxsize=1 << 14)
def _tenant(scope: str) -> str:
    return Scope.parse(scope).tenant

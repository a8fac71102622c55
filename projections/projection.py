"""What a projection is: a disposable index of the derived events, with its own position."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import msgspec

from memstream.schemas.events import Event, MemoryChanged
from memstream.schemas.memories import Recorded, Tally, recorded_as

VOID = -1
"""The offset of a step that an erasure emptied: its scope was derived again in later steps."""


class Step(msgspec.Struct, frozen=True, gc=False):
    """One raw event and everything the pipeline made of it. ``seq`` counts steps from 1."""

    seq: int
    partition: int
    offset: int
    scope: str
    event_id: str
    """Empty for a place in the sequence that holds nothing, like a message sent twice."""
    event: Event | None
    """The raw event; None where an erasure destroyed its content."""
    derived: tuple[Event, ...]
    records: tuple[Recorded, ...] = ()
    """What ``recorded_in`` gives, where it is at hand."""


def recorded_in(step: Step) -> tuple[Recorded, ...]:
    """The canonical bytes and the digest of each memory version among a step's derived events, in
    their order."""
    if step.records:
        return step.records
    return tuple(
        recorded_as(event.data.memory)
        for event in step.derived
        if isinstance(event.data, MemoryChanged)
    )


class Generation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a store was built by. A store stamped otherwise raises ``WrongGeneration``."""

    pipeline: str
    embedder: str
    schema: str


class Projection(Protocol):
    """A store derived from steps. It stores its position with its data.

    Obligations: ``apply`` is all-or-nothing per call and harmless when repeated; steps come in
    order of ``seq`` without gaps; ``position`` is the last seq applied, 0 for none; ``positions``
    gives the next raw offset of every partition that a step came from, so that a consumer of
    several partitions can tell what it has delivered; ``tally`` is counted from what the store
    really holds now; ``erase`` removes every trace of the scope (or of the given memory versions
    and events) from every byte of its files and returns how many records it removed.
    """

    @property
    def name(self) -> str: ...

    def position(self) -> int: ...

    def positions(self) -> dict[int, int]: ...

    def apply(self, steps: Sequence[Step]) -> None: ...

    def tally(self) -> Tally: ...

    def erase(self, scope: str) -> int:
        """Removes all of a scope, and gives how many records that were; what lives on comes again
        in the next steps."""
        ...

    def close(self) -> None: ...


def offsets_after(positions: Mapping[int, int], steps: Iterable[Step]) -> dict[int, int]:
    """The next raw offset of every partition once the steps are applied too. A step that comes
    late (a dead letter tried again) does not take its partition back."""
    after = dict(positions)
    for step in steps:
        after[step.partition] = max(after.get(step.partition, 0), step.offset + 1)
    return after

"""The projector: bundles of memories from their topic into the projections, each at its own pace.

A projection stores with its data which raw offset of each partition comes next; reading begins
there, so a projector that was killed repeats nothing and skips nothing. One projector writes to
one set of stores; workers may be many.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

import msgspec
import structlog

from memstream.projections.projection import Projection, Step, recorded_in
from memstream.schemas.errors import MemstreamError
from memstream.streams.bundles import DUPLICATE, LAST_PART, Bundle, BundleCodec, Place
from memstream.streams.indexing import check_moved
from memstream.streams.stages import BrokenSequence

AT_ONCE = 2_000
"""Bundles a projection applies at once, of all partitions."""

_LOGGER = structlog.get_logger(__name__)


class Bundles(Protocol):
    """The memories topic. Offsets of a partition begin at 0."""

    def messages(self, partition: int, offset: int, limit: int) -> list[tuple[int, bytes]]: ...

    def end_offsets(self, partitions: int) -> Mapping[int, int]: ...


class _Opened(NamedTuple):
    """One message of the topic. ``step`` has no seq yet: each projection counts for itself."""

    offset: int
    bundle: Bundle
    step: Step


class _Going:
    """How far a projection has come in one call: per partition where to read on, and after what.
    ``over`` when it has come to the end, or nothing comes."""

    def __init__(self) -> None:
        self.at: dict[int, tuple[int, Place]] = {}
        self.over = False


Applied = Callable[[str, Sequence[Bundle], Sequence[Step]], None]
"""Told of what was applied in one turn: the projection's name, the bundles, of any partition, and
the step of each."""


class Projector:
    """Brings projections to the end of the topic. Not for two threads at once.

    All bundles of an erasure but the last count to the offset before it, so that one that was
    cut off is done again from its beginning.
    """

    def __init__(
        self,
        topic: Bundles,
        codec: BundleCodec,
        projections: Sequence[Projection],
        partitions: int,
        *,
        watch: Applied = lambda *_: None,
    ) -> None:
        self._topic = topic
        self._codec = codec
        self.projections = tuple(projections)
        self._partitions = partitions
        self._watch = watch
        self._read: dict[int, dict[int, int]] = {}
        self._ends: dict[int, Mapping[int, int]] = {}
        self._positions: dict[int, dict[int, int]] = {}
        self._at_hand: dict[tuple[int, int, int], list[_Opened]] = {}

    def add(self, projection: Projection) -> None:
        """One more projection, from its own position on."""
        self.projections = (*self.projections, projection)

    def positions(self) -> dict[int, int]:
        """The raw offset of each partition that comes next: every projection has those before."""
        of_each = [
            self._positions.get(place) or each.positions()
            for place, each in enumerate(self.projections)
        ]
        return {
            partition: min(each.get(partition, 0) for each in of_each)
            for partition in range(self._partitions)
        }

    def project(self, *, keep_going: Callable[[], bool] = lambda: True) -> int:
        """Applies what the topic holds now, in turns of ``AT_ONCE`` bundles, each in one apply; how
        many bundles were new to a projection. One that fails does not keep the others back; its
        error is raised when they are done."""
        applied = 0
        failures: dict[int, MemstreamError] = {}
        ends = dict(self._topic.end_offsets(self._partitions))
        # Where nothing came, the projection is not even opened.
        behind = {at: _Going() for at in range(len(self.projections)) if self._ends.get(at) != ends}
        while behind and keep_going():
            self._at_hand.clear()
            for place, going in tuple(behind.items()):
                try:
                    applied += self._turn(place, going, ends)
                    if going.over:
                        del behind[place]
                except MemstreamError as error:
                    name = self.projections[place].name
                    _LOGGER.error("projection_failed", projection=name, error=str(error))
                    for known in (self._read, self._ends, self._positions, behind):
                        known.pop(place, None)
                    failures[place] = error
        self._at_hand.clear()
        if failures:
            raise failures[min(failures)]
        return applied

    def _turn(self, place: int, going: _Going, ends: Mapping[int, int]) -> int:
        """How many bundles were new to a projection."""
        projection = self.projections[place]
        had = projection.positions()
        read = self._read.setdefault(place, {})
        found: list[_Opened] = []
        after = dict(going.at)
        for partition, end in ends.items():
            following = had.get(partition, 0)
            # A raw message leads to one bundle at least, so the next one is not before this.
            begins = read.get(partition, following), Place(following - 1, LAST_PART)
            at, before = after.setdefault(partition, begins)
            if at < end and len(found) < AT_ONCE:
                try:
                    fresh, at, before = self._fresh(partition, at, before, AT_ONCE - len(found))
                except BrokenSequence:
                    if not found:
                        raise
                    break  # what comes before it first
                after[partition] = at, before
                found += fresh
        self._apply(projection, found)
        self._positions[place] = projection.positions()
        read.update((partition, at) for partition, (at, last) in after.items() if last.last)
        reached = all(after[partition][0] >= end for partition, end in ends.items())
        if reached:
            self._ends[place] = ends
        going.over = reached or after == going.at
        going.at = after
        return len(found)

    def _fresh(
        self, partition: int, at: int, before: Place, limit: int
    ) -> tuple[list[_Opened], int, Place]:
        """The next bundles of a partition that follow ``before``, where to read on, and the place
        of the last one."""
        fresh: list[_Opened] = []
        for each in self._messages(partition, at, limit):
            bundle, at = each.bundle, each.offset + 1
            follows = self._codec.follows(bundle, before)
            if follows is None:
                continue
            if not follows:
                raise BrokenSequence(
                    f"memories partition {partition} offset {each.offset}: the bundle of event "
                    f"{bundle.offset} (part {bundle.part}, after {bundle.after}) follows that of "
                    f"{before.offset} (part {before.part}); mend: rebuild into a new generation"
                )
            fresh.append(each)
            before = Place(bundle.offset, bundle.part, bundle.last)
        return fresh, at, before

    def _messages(self, partition: int, offset: int, limit: int) -> list[_Opened]:
        """What stands there, opened; read once where several projections come by in one turn."""
        asked = partition, offset, limit
        if asked not in self._at_hand:
            self._at_hand[asked] = [
                self._opened(partition, at, message)
                for at, message in self._topic.messages(partition, offset, limit)
            ]
        return self._at_hand[asked]

    def _opened(self, partition: int, offset: int, message: bytes) -> _Opened:
        bundle = self._codec.decode(
            message, where=f"memories partition {partition} offset {offset}"
        )
        reached = bundle.offset if bundle.last else bundle.offset - 1
        step = Step(0, bundle.partition, reached, bundle.scope, "", None, ())
        if bundle.outcome == DUPLICATE or bundle.clears or not bundle.scope:
            return _Opened(offset, bundle, step)
        raw = self._codec.raw(bundle)
        derived = tuple(self._codec.readable(bundle, raw))
        replace = msgspec.structs.replace
        step = replace(step, event_id=bundle.event_id, event=raw, derived=derived)
        return _Opened(offset, bundle, replace(step, records=recorded_in(step)))

    def _apply(self, projection: Projection, found: Sequence[_Opened]) -> None:
        """Applies in order; an erasure takes effect between what came before and after it."""
        if not found:
            return
        seq = projection.position()
        replace = msgspec.structs.replace
        steps = [replace(each.step, seq=seq + at) for at, each in enumerate(found, start=1)]
        start = 0
        for number, (_, bundle, _) in enumerate(found):
            if bundle.clears:
                if steps[start:number]:
                    projection.apply(steps[start:number])
                    start = number
                projection.erase(bundle.scope)
        projection.apply(steps[start:])
        check_moved(projection, steps[-1].seq)
        self._watch(projection.name, [each.bundle for each in found], steps)

"""The projector: bundles of memories from their topic into the projections, each at its own pace.

A projection stores with its data which raw offset of each partition comes next; reading begins
there, so a projector that was killed repeats nothing and skips nothing. One projector writes to
one set of stores; workers may be many.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import structlog

from memstream.projections.projection import Projection, Step
from memstream.schemas.errors import MemstreamError
from memstream.streams.bundles import DUPLICATE, LAST_PART, Bundle, BundleCodec, Place
from memstream.streams.indexing import check_moved
from memstream.streams.stages import BrokenSequence

AT_ONCE = 2_000
"""Bundles a projection applies at once."""

_LOGGER = structlog.get_logger(__name__)


class Bundles(Protocol):
    """The memories topic. Offsets of a partition begin at 0."""

    def messages(self, partition: int, offset: int, limit: int) -> list[tuple[int, bytes]]: ...

    def end_offsets(self, partitions: int) -> Mapping[int, int]: ...


Applied = Callable[[str, Sequence[Bundle], Sequence[Step]], None]
"""Told of what was applied: the projection's name, the bundles, and the step of each."""


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
        """Applies what the topic holds now; how many bundles were new to a projection. One that
        fails does not keep the others back; its error is raised when they are done."""
        applied = 0
        failure: MemstreamError | None = None
        ends = dict(self._topic.end_offsets(self._partitions))
        for place, projection in enumerate(self.projections):
            if self._ends.get(place) == ends:
                continue  # nothing came, so the projection is not even opened
            try:
                count, reached = self._catch_up(place, projection, ends, keep_going)
                applied += count
                self._positions[place] = projection.positions()
                if reached:
                    self._ends[place] = ends
            except MemstreamError as error:
                _LOGGER.error("projection_failed", projection=projection.name, error=str(error))
                for known in (self._read, self._ends, self._positions):
                    known.pop(place, None)
                failure = failure or error
        if failure is not None:
            raise failure
        return applied

    def _catch_up(
        self,
        place: int,
        projection: Projection,
        ends: Mapping[int, int],
        keep_going: Callable[[], bool],
    ) -> tuple[int, bool]:
        """How many bundles were new to it, and whether it has come to the ends."""
        had = projection.positions()
        read = self._read.setdefault(place, {})
        applied, reached = 0, True
        for partition in range(self._partitions):
            following = had.get(partition, 0)
            before = Place(following - 1, LAST_PART)
            # A raw message leads to one bundle at least, so the next one is not before this.
            offset = read.get(partition, following)
            while reached and offset < ends.get(partition, 0):
                messages = self._topic.messages(partition, offset, AT_ONCE) if keep_going() else ()
                if not messages:
                    reached = False
                    break
                bundles: list[Bundle] = []
                for offset, message in messages:
                    where = f"memories partition {partition} offset {offset}"
                    bundle = self._codec.decode(message, where=where)
                    follows = self._codec.follows(bundle, before)
                    if follows is None:
                        continue
                    if not follows:
                        raise BrokenSequence(
                            f"{where}: the bundle of event {bundle.offset} (part {bundle.part}, "
                            f"after {bundle.after}) follows that of {before.offset} (part "
                            f"{before.part}); mend: rebuild into a new generation"
                        )
                    bundles.append(bundle)
                    before = Place(bundle.offset, bundle.part, bundle.last)
                self._apply(projection, bundles)
                applied += len(bundles)
                offset += 1
                if before.last:
                    read[partition] = offset
        return applied, reached

    def _apply(self, projection: Projection, bundles: Sequence[Bundle]) -> None:
        """Applies in order; an erasure takes effect between what came before and after it."""
        seq = projection.position()
        steps = [self._step(seq + number, each) for number, each in enumerate(bundles, start=1)]
        start = 0
        for number, bundle in enumerate(bundles):
            if bundle.clears:
                if steps[start:number]:
                    projection.apply(steps[start:number])
                    start = number
                projection.erase(bundle.scope, events=[], memories=[])
        if steps[start:]:
            projection.apply(steps[start:])
            check_moved(projection, steps[-1].seq)
        self._watch(projection.name, bundles, steps)

    def _step(self, seq: int, bundle: Bundle) -> Step:
        reached = bundle.offset if bundle.last else bundle.offset - 1
        if bundle.outcome == DUPLICATE or bundle.clears or not bundle.scope:
            return Step(seq, bundle.partition, reached, bundle.scope, "", None, ())
        raw = self._codec.raw(bundle)
        derived = tuple(self._codec.readable(bundle, raw))
        return Step(seq, bundle.partition, reached, bundle.scope, bundle.event_id, raw, derived)

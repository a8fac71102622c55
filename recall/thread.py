"""The thread of a conversation, as far as the index has shown it: which moment follows which.

Only moments that the index gave as direct neighbours are joined, so two hits with something unknown
between them never pass for consecutive.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memstream.projections.queries import Place, Surroundings
from memstream.projections.sketches import Sketch


def moment_of(sketch: Sketch) -> Place:
    """When and where the memory's event was observed."""
    return Place(sketch.scope, sketch.at)


class Thread:
    """Moments joined to the ones before and after them, each at most ``apart`` microseconds off."""

    def __init__(
        self, places: Sequence[Place], around: Sequence[Surroundings], *, apart: int
    ) -> None:
        self.before: dict[Place, Place] = {}
        """The moment before each; ``after``: the one after it. Unknown ones are left out."""
        self.after: dict[Place, Place] = {}
        for place, told in zip(places, around, strict=True):
            earlier = dict.fromkeys(moment_of(each) for each in told.before)
            later = dict.fromkeys(moment_of(each) for each in told.after)
            self._join([*reversed(earlier), place, *later], apart)

    def _join(self, row: Iterable[Place], apart: int) -> None:
        last: Place | None = None
        for moment in row:
            if last is not None and moment.at - last.at <= apart:
                self.before[moment] = last
                self.after[last] = moment
            last = moment

    def moments(self) -> set[Place]:
        """All moments that are joined to another."""
        return self.before.keys() | self.after.keys()

    def joined(self, one: Place, other: Place) -> bool:
        """Whether the two moments are in one unbroken row."""
        joined = self.after if one.at < other.at else self.before
        at: Place | None = one
        while at is not None and at != other and (at.at < other.at) == (one.at < other.at):
            at = joined.get(at)
        return at == other

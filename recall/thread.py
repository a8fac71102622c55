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
        self._before: dict[Place, Place] = {}
        self._after: dict[Place, Place] = {}
        for place, told in zip(places, around, strict=True):
            earlier = dict.fromkeys(moment_of(each) for each in told.before)
            later = dict.fromkeys(moment_of(each) for each in told.after)
            self._join([*reversed(earlier), place, *later], apart)

    def _join(self, row: Iterable[Place], apart: int) -> None:
        last: Place | None = None
        for moment in row:
            if last is not None and moment.at - last.at <= apart:
                self._before[moment] = last
                self._after[last] = moment
            last = moment

    def moments(self) -> set[Place]:
        """All moments that are joined to another."""
        return self._before.keys() | self._after.keys()

    def beside(self, moment: Place, steps: int) -> Place | None:
        """The moment so many steps later, or earlier where negative; None where it is unknown."""
        joined = self._after if steps > 0 else self._before
        at: Place | None = moment
        for _ in range(abs(steps)):
            at = None if at is None else joined.get(at)
        return at

    def joined(self, one: Place, other: Place) -> bool:
        """Whether the two moments are in one unbroken row."""
        joined = self._after if one.at < other.at else self._before
        at: Place | None = one
        while at is not None and at != other and (at.at < other.at) == (one.at < other.at):
            at = joined.get(at)
        return at == other

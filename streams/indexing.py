"""Brings projections to the store's last step: one after another, or at once beside the processing.

A projection only ever gets steps that the state store has committed, and stores its position with
its data. So it does not matter in which order projections are written, how far each of them is when
the process dies, or that the state is ahead of them: each goes on from its own position.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from memstream.projections.projection import Projection, Step
from memstream.schemas.errors import MemstreamError, ProjectionDamaged

BESIDE_FROM = 250
"""Steps from which threads are worth their start; fewer are applied by the caller itself."""

StepsAfter = Callable[[int], list[Step]]
"""The next committed steps after a seq; at least one where there is one."""
KeepGoing = Callable[[], bool]


class Indexing:
    """The projections of one runtime. Its methods are called by one thread.

    Engines do their work outside of the interpreter's lock, so ``start`` lets the caller process
    the next events meanwhile. Between ``start`` and the end of ``finish`` or ``settle`` nothing
    else may write to a projection: an erasure settles first.
    """

    def __init__(
        self, projections: Sequence[Projection], *, beside_from: int = BESIDE_FROM
    ) -> None:
        self._projections = tuple(projections)
        self._beside_from = beside_from
        self._threads: ThreadPoolExecutor | None = None
        self._running: list[Future[None]] = []

    def start(self, last: int, after: StepsAfter, keep_going: KeepGoing, *, fresh: int) -> None:
        """Begins to bring every projection to step ``last``, in threads of their own where there
        are many ``fresh`` steps. First finishes what was begun before, and raises its failure."""
        self.finish()
        if fresh >= self._beside_from and self._projections:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(len(self._projections), "memstream-index")
            self._running = [
                self._threads.submit(_bring, each, last, after, keep_going)
                for each in self._projections
            ]
            return
        failure: MemstreamError | None = None
        for each in self._projections:
            try:
                _bring(each, last, after, keep_going)
            except MemstreamError as error:
                failure = failure or error
        if failure is not None:
            raise failure

    def finish(self) -> None:
        """Waits for what ``start`` began. A projection that failed does not keep the others back;
        its error is raised when they are done, one that is not stated before one that is."""
        failures = self._waited_for()
        for failure in failures:
            if not isinstance(failure, MemstreamError):
                raise failure
        if failures:
            raise failures[0]

    def settle(self) -> None:
        """Waits, raises nothing, and ends the threads: for when another error is on its way, and
        before an erasure. A failed projection has not moved, so the same steps fail again."""
        self._waited_for()
        if self._threads is not None:
            self._threads.shutdown()
            self._threads = None

    def _waited_for(self) -> list[BaseException]:
        running, self._running = self._running, []
        found = [each.exception() for each in running]
        return [error for error in found if error is not None]


def _bring(projection: Projection, last: int, after: StepsAfter, keep_going: KeepGoing) -> None:
    position = projection.position()
    while position < last and keep_going():
        steps = after(position)
        projection.apply(steps)
        position = steps[-1].seq
        check_moved(projection, position)


def check_moved(projection: Projection, seq: int) -> None:
    """``ProjectionDamaged`` where steps up to ``seq`` were applied and the projection's position
    is not there: whoever waits for it would wait for ever."""
    reached = projection.position()
    if reached < seq:
        raise ProjectionDamaged(
            f"{projection.name}: steps up to {seq} were applied, and its position is {reached}: "
            "what it writes is not kept; mend: see that its disk or server keeps what is written, "
            "then memstream rebuild"
        )

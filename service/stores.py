"""The stores of one generation: its state, and the indexes that are made from it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar, cast

import structlog

from memstream.projections.projection import Projection
from memstream.schemas.counting import quantity
from memstream.schemas.errors import ProjectionDamaged, WrongGeneration
from memstream.streams.state_in_sqlite import StateStore

if TYPE_CHECKING:
    from memstream.processors.pipeline import Pipeline
    from memstream.projections.embedding import Embedder
    from memstream.projections.in_duckdb import DuckIndex
    from memstream.projections.queries import SearchIndex
    from memstream.service.choosing import Choice
    from memstream.service.directory import Files
    from memstream.streams.embedded import EmbeddedRuntime

_LOGGER = structlog.get_logger(__name__)

Opened = TypeVar("Opened", bound=Projection)

Projected: TypeAlias = Literal["vectors", "analytics"]
"""The indexes of a generation."""

_VECTORS, _ANALYTICS = "vectors", "analytics.duckdb"
_ANALYTICS_NAME = "duckdb"


class Stores:
    """The stores of one generation, open. Only the lease holder opens the two projections."""

    def __init__(
        self,
        files: Files,
        name: str,
        choice: Callable[[], Choice],
        pipeline: Callable[[], Pipeline],
        *,
        writes: bool,
        mends: bool,
    ) -> None:
        """``choice`` finds the embedder, once it is needed. ``writes``: to be built beside the
        served generation, so its erasures are put off. ``mends``: a damaged state is made again
        from the log; the lease must be held for it."""
        self.name = name
        self.files = files
        self._choose = choice
        self.remade = ""
        """What was wrong with the vectors that are being made anew; empty if they were sound."""
        self.stamp = files.generations.stamp(name)
        self.folder = files.generations.folder(name)
        self.state_lost = ""
        """What was wrong with the state that is being made anew; empty if it was sound."""
        self.store = self._sound_state(mends=mends)
        self.index: SearchIndex | None = None
        self.duck: DuckIndex | None = None
        self.runtime: EmbeddedRuntime | None = None
        self.pipeline = pipeline
        self._examined: set[str] = set()
        """The projections that this process read through."""
        self._serves = not writes

    @cached_property
    def _choice(self) -> Choice:
        return self._choose()  # models are not looked for where nothing is searched

    @cached_property
    def embedder(self) -> Embedder | None:
        """What made the vectors; None where it is not to be had."""
        found = self._choice.embedder
        return None if found is None else self.files.cached(found)

    @cached_property
    def no_vectors(self) -> str:
        """Why the vectors can be neither searched nor added to; empty if they can."""
        return self._choice.trouble

    @property
    def behind(self) -> bool:
        """Whether the log has events that are not processed yet."""
        positions, ends = self.store.positions(), self.files.log.end_offsets()
        return any(positions.get(partition, 0) < end for partition, end in ends.items())

    def open_projections(self) -> EmbeddedRuntime:
        """Opens the projections and verifies them; one that is damaged is rebuilt from state."""
        if self.runtime is not None:
            return self.runtime
        index, duck = self.open_vectors(), self.open_analytics()
        self.runtime = self._runtime_of(*(() if index is None else (index,)), duck)
        return self.runtime

    def open_vectors(self) -> SearchIndex | None:
        """Opens the vector index alone; None where there is none."""
        embedder = self.embedder
        if embedder is not None and self.index is None:
            self.index = self._verified(
                _VECTORS,
                lambda: self.files.vectors.opened(
                    self.folder, self.stamp, embedder, serves=self._serves
                ),
                lambda: self.files.vectors.removed(self.folder),
            )
        return self.index

    def open_analytics(self) -> DuckIndex:
        """Opens the analytics alone."""
        if self.duck is None:
            from memstream.projections.in_duckdb import DuckIndex

            path = self.folder / _ANALYTICS
            self.duck = self._verified(
                _ANALYTICS, lambda: DuckIndex.open(path, self.stamp), lambda: _remove(path)
            )
        return self.duck

    def vectors_lag(self) -> str:
        """Why the open vector index is not as far as the state, in words; empty where it is, or
        will be without anybody's doing."""
        if self.index is None:
            return ""
        from memstream.projections.embedders_cache import CachedEmbedder

        waits = self.embedder.trouble if isinstance(self.embedder, CachedEmbedder) else ""
        reason = f"the vector index is being made again: {self.remade}" if self.remade else waits
        return reason if reason and self.index.position() < self.store.last_seq() else ""

    def _runtime_of(self, *projections: Projection) -> EmbeddedRuntime:
        from memstream.streams.embedded import EmbeddedRuntime

        return EmbeddedRuntime(
            self.files.log,
            self.files.codec,
            self.pipeline(),
            self.store,
            projections,
            self.files.clock,
            erases=self._serves,
            forget_copies=lambda: self.files.forget_copies(self.name),
        )

    def damage(self, projection: Projection, *, thorough: bool = True) -> str:
        """What is wrong with a projection, in words; empty when it matches the state. Without
        ``thorough`` the vectors are taken by their own account instead of being read."""
        position = projection.position()
        last = self.store.last_seq()
        if position > last:
            return f"{projection.name} is at step {position}, the state only at {last}"
        expected = self.store.tally(position)
        by_own_account = not thorough and projection.name != _ANALYTICS_NAME
        found = (
            cast("SearchIndex", projection).recorded_tally()
            if by_own_account
            else projection.tally()
        )
        if expected != found:
            return (
                f"{projection.name} holds {quantity(found.count, 'version')} (checksum "
                f"{found.checksum}), "
                f"the state {expected.count} ({expected.checksum}) at step {position}"
            )
        return ""

    def close_projections(self) -> None:
        """Closes what one process at a time may have open; the state stays readable."""
        index, duck = self.index, self.duck
        self.index = self.duck = self.runtime = None
        try:
            if index is not None:
                index.close()
        finally:
            if duck is not None:
                duck.close()

    def close(self) -> None:
        """Closes the stores of this generation."""
        try:
            self.close_projections()
        finally:
            self.store.close()

    def _sound_state(self, *, mends: bool) -> StateStore:
        """The state; damaged, it is removed and made again from the log by the lease holder."""
        path = self.folder / "state.db"
        try:
            return StateStore.open(path, self.stamp)
        except (ProjectionDamaged, WrongGeneration) as error:
            if not mends:
                raise
            self.state_lost = str(error)
        _LOGGER.warning("state_rebuilt", problem=self.state_lost)
        for suffix in ("-wal", "-shm", ""):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        return StateStore.open(path, self.stamp)

    def _verified(
        self, name: str, opened: Callable[[], Opened], removed: Callable[[], None]
    ) -> Opened:
        try:
            projection = opened()
            if name == _VECTORS and cast("SearchIndex", projection).unfinished:
                # A crash cut an apply short. Point ids are deterministic: doing it again mends it.
                self._runtime_of(projection).project()
            # Handed over and back, an index that this process read through is not read again.
            problem = self.damage(projection, thorough=name not in self._examined)
        except (ProjectionDamaged, WrongGeneration) as error:
            problem = str(error)
        else:
            if not problem:
                self._examined.add(name)
                return projection
            projection.close()
        _LOGGER.warning("projection_rebuilt", projection=name, problem=problem)
        if name == _VECTORS:
            self.remade = problem
        removed()
        self._examined.add(name)
        return opened()


def _remove(path: Path) -> None:
    # The write-ahead log first: left alone it would be replayed into the next, empty file.
    for each in (path.with_name(path.name + ".wal"), path):
        each.unlink(missing_ok=True)

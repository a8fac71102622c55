"""A memory directory: its files, and the stores of the generation it serves.

log.db  keys.db  worker.lease           the truth, its keys, who processes it
embeddings.db                           vectors computed once; disposable
attributes.toml  rules/  policy.toml    optional settings of the owner
generations/g-000001/                   state.db, vectors/, analytics.duckdb: disposable
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar, cast

import structlog

from memstream.processors.pipeline import Pipeline
from memstream.projections.embedders import Embedder, HashEmbedder
from memstream.projections.embedders_cache import CachedEmbedder, VectorCache
from memstream.projections.generations import SCHEMA_VERSION
from memstream.projections.in_duckdb import DuckIndex
from memstream.projections.projection import Generation, Projection
from memstream.projections.queries import SearchIndex
from memstream.schemas.codec import Codec
from memstream.schemas.counting import quantity
from memstream.schemas.errors import (
    KeyDestroyed,
    LogUnavailable,
    ProjectionDamaged,
    WrongGeneration,
)
from memstream.schemas.sealing import Sealer
from memstream.service.choosing import Choice
from memstream.service.vectors import Vectors, Where
from memstream.streams.clock import Clock
from memstream.streams.embedded import EmbeddedRuntime
from memstream.streams.keyring_in_sqlite import SqliteKeyRing
from memstream.streams.lease import WorkerLease
from memstream.streams.log_in_sqlite import SqliteLog
from memstream.streams.state_in_sqlite import StateStore

_LOGGER = structlog.get_logger(__name__)

REPLAY_PREFIX = ".replay-"
"""Of the folders in which replays keep a state that is thrown away."""

Opened = TypeVar("Opened", bound=Projection)

_VECTORS, _ANALYTICS = "vectors", "analytics.duckdb"


class Files:
    """The lasting part of a directory: log, keys, lease, generations. Open in every process."""

    def __init__(
        self,
        root: Path,
        clock: Clock,
        *,
        partitions: int | None = None,
        index: Where = None,
    ) -> None:
        try:
            root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LogUnavailable(
                f"memory directory {root}: {error.strerror}; mend: name a folder you may write to"
            ) from error
        self.vectors = Vectors(root, clock, index)
        self.root = root
        self.clock = clock
        self.building: set[str] = set()
        """Generations that this process is building beside the served one."""
        if (root / "log.db").exists() and not (root / "keys.db").exists():
            raise LogUnavailable(
                f"memory directory {root}: log.db is there but keys.db is missing, so no event "
                "can be read; mend: restore keys.db from a copy, or move log.db away to start anew"
            )
        self.ring = SqliteKeyRing(root / "keys.db", clock)
        self.codec = Codec(Sealer(self.ring))
        try:
            self.log = SqliteLog(
                root / "log.db", clock, partitions=partitions, is_current=self.codec.is_current
            )
        except BaseException:
            self.ring.close()
            raise
        try:
            self._check_ring()
        except BaseException:
            self.close_files()
            raise
        self.lease = WorkerLease(root, clock)
        self.generations = self.vectors.generations
        self.vector_cache = VectorCache(root / "embeddings.db", clock.entropy)

    def cached(self, embedder: Embedder) -> Embedder:
        """The embedder with this directory's cache; as it is where there is nothing to save."""
        if isinstance(embedder, (CachedEmbedder, HashEmbedder)) or not embedder.dimension:
            return embedder
        return CachedEmbedder(embedder, self.vector_cache)

    def forget_copies(self, served: str) -> None:
        """Removes the derived data that an erasure cannot reach into: the generations that are
        neither served nor being built, what replays left or are at (a replay that runs is cut
        off by it), and the cached vectors."""
        self.vector_cache.clear()
        self.generations.remove_all_but({served, *self.building})
        for folder in self.root.glob(f"{REPLAY_PREFIX}*"):
            shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        """Closes every file and gives the lease back."""
        self.lease.release()
        self.close_files()

    def close_files(self) -> None:
        """Closes log and keys."""
        self.log.close()
        self.ring.close()

    def _check_ring(self) -> None:
        """Raises ``SealBroken`` where the key ring is another log's: then nothing is readable,
        and events recorded meanwhile would get keys that the right ring does not have."""
        for partition in range(self.log.partitions):
            for entry in self.log.read(partition, 0, 1):
                if entry.row.key_id:
                    with suppress(KeyDestroyed):
                        self.ring.key_by_id(entry.row.key_id)


class Stores:
    """The stores of one generation, open. Only the lease holder opens the two projections."""

    def __init__(
        self,
        files: Files,
        name: str,
        choice: Choice,
        pipeline: Callable[[], Pipeline],
        *,
        writes: bool,
        mends: bool,
    ) -> None:
        """``writes``: to be built beside the served generation, so its erasures are put off.
        ``mends``: a damaged state is made again from the log; the lease must be held for it."""
        self.name = name
        self.files = files
        self.embedder = None if choice.embedder is None else files.cached(choice.embedder)
        self.no_vectors = choice.trouble
        """Why the vectors can be neither searched nor added to; empty if they can."""
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
        self._examined = False
        self._serves = not writes

    def open_projections(self) -> EmbeddedRuntime:
        """Opens the projections and verifies them; one that is damaged is rebuilt from state."""
        if self.runtime is not None:
            return self.runtime
        embedder = self.embedder
        if embedder is not None and self.index is None:
            self.index = self._verified(
                _VECTORS,
                lambda: self.files.vectors.opened(
                    self.folder, self.stamp, embedder, serves=self._serves
                ),
                lambda: self.files.vectors.removed(self.folder),
            )
        if self.duck is None:
            path = self.folder / _ANALYTICS
            self.duck = self._verified(
                _ANALYTICS, lambda: DuckIndex.open(path, self.stamp), lambda: _remove(path)
            )
        self.runtime = self._runtime_of(*((self.index,) if self.index else ()), self.duck)
        self._examined = True
        return self.runtime

    def vectors_lag(self) -> str:
        """Why the open vector index is not as far as the state, in words; empty where it is, or
        will be without anybody's doing."""
        if self.index is None:
            return ""
        waits = self.embedder.trouble if isinstance(self.embedder, CachedEmbedder) else ""
        reason = f"the vector index is being made again: {self.remade}" if self.remade else waits
        return reason if reason and self.index.position() < self.store.last_seq() else ""

    def _runtime_of(self, *projections: Projection) -> EmbeddedRuntime:
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
        if not thorough and not isinstance(projection, DuckIndex):
            found = cast(SearchIndex, projection).recorded_tally()
        else:
            found = projection.tally()
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
            if name == _VECTORS and cast(SearchIndex, projection).unfinished:
                # A crash cut an apply short. Point ids are deterministic: doing it again mends it.
                self._runtime_of(projection).project()
            # Handed over and back, an index that this process read through is not read again.
            problem = self.damage(projection, thorough=not self._examined)
        except (ProjectionDamaged, WrongGeneration) as error:
            problem = str(error)
        else:
            if not problem:
                return projection
            projection.close()
        _LOGGER.warning("projection_rebuilt", projection=name, problem=problem)
        if name == _VECTORS:
            self.remade = problem
        removed()
        return opened()


def _remove(path: Path) -> None:
    # The write-ahead log first: left alone it would be replayed into the next, empty file.
    for each in (path.with_name(path.name + ".wal"), path):
        each.unlink(missing_ok=True)


def stamp_of(pipeline: Pipeline, embedder: Embedder) -> Generation:
    """What a generation made now would be stamped with."""
    return Generation(pipeline.fingerprint, embedder.identity, SCHEMA_VERSION)


def has_settings(files: Files) -> bool:
    """Whether the owner changed the pipeline by files of this directory."""
    root = files.root
    single = ("attributes.toml", "policy.toml")
    return any((root / name).is_file() for name in single) or any((root / "rules").glob("*.toml"))


def pipeline_of(files: Files) -> Pipeline:
    """The pipeline with the directory's own settings. Imports and compiles the rules, which takes
    most of a second in a process; who only records never needs them."""
    from memstream.processors.standard import standard_pipeline

    return standard_pipeline(files.root)

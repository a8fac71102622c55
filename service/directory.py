"""A memory directory: its files, and the stores of the generation it serves.

    log.db  keys.db  worker.lease           the truth, its keys, who processes it
    attributes.toml  rules/  policy.toml    optional settings of the owner
    generations/g-000001/                   state.db, vectors/, analytics.duckdb: disposable
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

import structlog

from memstream.processors.pipeline import Pipeline
from memstream.processors.standard import attributes_in, standard_pipeline
from memstream.projections.embedders import Embedder
from memstream.projections.generations import SCHEMA_VERSION, Generations
from memstream.projections.in_duckdb import DuckIndex
from memstream.projections.in_edge import EdgeIndex
from memstream.projections.projection import Generation, Projection
from memstream.schemas.codec import Codec
from memstream.schemas.errors import LogUnavailable, ProjectionDamaged, WrongGeneration
from memstream.schemas.sealing import Sealer
from memstream.streams.clock import Clock
from memstream.streams.embedded import EmbeddedRuntime
from memstream.streams.keyring_in_sqlite import SqliteKeyRing
from memstream.streams.lease import WorkerLease
from memstream.streams.log_in_sqlite import SqliteLog
from memstream.streams.state_in_sqlite import StateStore

_LOGGER = structlog.get_logger(__name__)

Opened = TypeVar("Opened", bound=Projection)


class Files:
    """The lasting part of a directory: log, keys, lease, generations. Open in every process."""

    def __init__(self, root: Path, clock: Clock, *, partitions: int | None = None) -> None:
        try:
            root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LogUnavailable(
                f"memory directory {root}: {error.strerror}; mend: name a folder you may write to"
            ) from error
        self.root = root
        self.clock = clock
        self.ring = SqliteKeyRing(root / "keys.db", clock)
        self.log = SqliteLog(root / "log.db", clock, partitions=partitions)
        self.codec = Codec(Sealer(self.ring))
        self.lease = WorkerLease(root, clock)
        self.generations = Generations(root / "generations")
        self.attributes = attributes_in(root)

    def close(self) -> None:
        """Closes every file and gives the lease back."""
        self.lease.release()
        self.log.close()
        self.ring.close()


class Stores:
    """The stores of one generation, open. Only the lease holder opens the two projections."""

    def __init__(
        self, files: Files, name: str, embedder: Embedder, pipeline: Pipeline, *, writes: bool
    ) -> None:
        self.name = name
        self.files = files
        self.embedder = embedder
        self.stamp = files.generations.stamp(name)
        self.folder = files.generations.folder(name)
        self.store = StateStore.open(self.folder / "state.db", self.stamp)
        self.edge: EdgeIndex | None = None
        self.duck: DuckIndex | None = None
        self.runtime: EmbeddedRuntime | None = None
        self.pipeline = pipeline
        if writes:
            self.open_projections()

    def open_projections(self) -> EmbeddedRuntime:
        """Opens the projections and verifies them; one that is damaged is rebuilt from state."""
        if self.runtime is not None:
            return self.runtime
        self.edge = self._verified(
            "vectors", lambda path: EdgeIndex.open(path, self.stamp, self.embedder)
        )
        self.duck = self._verified(
            "analytics.duckdb", lambda path: DuckIndex.open(path, self.stamp)
        )
        self.runtime = EmbeddedRuntime(
            self.files.log,
            self.files.codec,
            self.pipeline,
            self.store,
            [self.edge, self.duck],
            self.files.clock,
        )
        return self.runtime

    def damage(self, projection: Projection) -> str:
        """What is wrong with a projection, in words; empty when it matches the state."""
        position = projection.position()
        last = self.store.last_seq()
        if position > last:
            return f"{projection.name} is at step {position}, the state only at {last}"
        expected, found = self.store.tally(position), projection.tally()
        if expected != found:
            return (
                f"{projection.name} holds {found.count} versions (checksum {found.checksum}), "
                f"the state {expected.count} ({expected.checksum}) at step {position}"
            )
        return ""

    def close(self) -> None:
        """Closes the stores of this generation."""
        for projection in (self.edge, self.duck):
            if projection is not None:
                projection.close()
        self.edge = self.duck = self.runtime = None
        self.store.close()

    def _verified(self, name: str, opened: Callable[[Path], Opened]) -> Opened:
        path = self.folder / name
        try:
            projection = opened(path)
            problem = self.damage(projection)
        except (ProjectionDamaged, WrongGeneration) as error:
            problem = str(error)
        else:
            if not problem:
                return projection
            projection.close()
        _LOGGER.warning("projection_rebuilt", projection=name, problem=problem)
        _remove(path)
        return opened(path)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
        return
    # The write-ahead log first: left alone it would be replayed into the next, empty file.
    for each in (path.with_name(path.name + ".wal"), path):
        each.unlink(missing_ok=True)


def stamp_of(pipeline: Pipeline, embedder: Embedder) -> Generation:
    """What a generation made now would be stamped with."""
    return Generation(pipeline.fingerprint, embedder.identity, SCHEMA_VERSION)


def pipeline_of(files: Files) -> Pipeline:
    """The pipeline with the directory's own settings. Compiling its rules takes most of a second,
    and processors keep nothing of their own, so directories with equal settings share one."""
    root = files.root
    paths = [root / "attributes.toml", root / "policy.toml", *sorted(root.glob("rules/*.toml"))]
    settings = tuple((path, path.read_bytes()) for path in paths if path.is_file())
    return _compiled(root if settings else None, settings)


@lru_cache(maxsize=8)
def _compiled(root: Path | None, settings: tuple[tuple[Path, bytes], ...]) -> Pipeline:
    del settings  # part of the key: a changed file is compiled anew
    return standard_pipeline(root)

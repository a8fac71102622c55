"""A memory directory: its lasting files. The stores of a generation are in ``stores``.

log.db  keys.db  worker.lease           the truth, its keys, who processes it
embeddings.db                           vectors computed once; disposable
attributes.toml  rules/  policy.toml    optional settings of the owner
generations/g-000001/                   state.db, vectors/, analytics.duckdb: disposable
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from memstream.schemas.codec import Codec
from memstream.schemas.errors import KeyDestroyed, LogUnavailable
from memstream.schemas.sealing import Sealer
from memstream.service.vectors import Vectors, Where
from memstream.streams.clock import Clock
from memstream.streams.keyring_in_sqlite import SqliteKeyRing
from memstream.streams.lease import WorkerLease
from memstream.streams.log_in_sqlite import SqliteLog

if TYPE_CHECKING:
    from memstream.processors.pipeline import Pipeline
    from memstream.projections.embedders_cache import VectorCache
    from memstream.projections.embedding import Embedder
    from memstream.projections.projection import Generation
    from memstream.streams.reading_ahead import ReadingAhead

REPLAY_PREFIX = ".replay-"
"""Of the folders in which replays keep a state that is thrown away."""

MANY_EVENTS = 5_000
"""Until a process is ready to read texts, another has read some two thousand."""
MOST_READERS = 2
"""More would wait for the one that does everything else."""


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

    @cached_property
    def vector_cache(self) -> VectorCache:
        """The vectors that were computed once."""
        from memstream.projections.embedders_cache import VectorCache

        return VectorCache(self.root / "embeddings.db", self.clock.entropy)

    def cached(self, embedder: Embedder) -> Embedder:
        """The embedder with this directory's cache; as it is where there is nothing to save."""
        if not embedder.dimension:
            return embedder
        from memstream.projections.embedders import HashEmbedder
        from memstream.projections.embedders_cache import CachedEmbedder

        if isinstance(embedder, (CachedEmbedder, HashEmbedder)):
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


def stamp_of(pipeline: Pipeline, embedder: Embedder) -> Generation:
    """What a generation made now would be stamped with."""
    from memstream.projections.generations import schema_version
    from memstream.projections.projection import Generation

    return Generation(pipeline.fingerprint, embedder.identity, schema_version())


def _processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Pipelines:
    """The pipeline with the directory's own settings, as it was when it was first asked for. Its
    fingerprint is to be had without importing it. ``warm``: see ``standard_pipeline``; so many
    ``readers`` more processes read its texts (see ``streams/reading_ahead``) until ``close``. Both
    count when the pipeline is made."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._pipeline: Pipeline | None = None
        self._fingerprint = ""
        self._ahead: ReadingAhead | None = None
        self.warm = False
        self.readers = 0

    @property
    def fingerprint(self) -> str:
        """What a generation is stamped with that the pipeline makes now."""
        if self._pipeline is not None:
            return self._pipeline.fingerprint
        if not self._fingerprint:
            from memstream.processors.settings import standard_fingerprint

            self._fingerprint = standard_fingerprint(self._root)
        return self._fingerprint

    def made(self) -> Pipeline:
        """The pipeline. Who only records or reads never needs it."""
        if self._pipeline is None:
            from memstream.processors.standard import standard_pipeline

            if self.readers:
                from memstream.streams.reading_ahead import ReadingAhead

                self._ahead = ReadingAhead(self._root, self.readers)
                self._pipeline = self._ahead.pipeline
            else:
                self._pipeline = standard_pipeline(self._root, warm=self.warm)
        return self._pipeline

    def expect_many(self, events: int) -> None:
        """Lets other processes read texts as well, if so many events are to be processed that it
        pays and there are processors to spare."""
        from memstream.streams.reading_ahead import can_start

        if events >= MANY_EVENTS and can_start():
            self.readers = self.readers or min(MOST_READERS, _processors() - 1)

    def close(self) -> None:
        """Ends the other processes."""
        if self._ahead is not None:
            self._ahead.close()
            self._ahead = None

    def check(self) -> None:
        """Raises what is wrong with the owner's settings: now, and not at the first read."""
        if self.readers or any((self._root / "rules").glob("*.toml")):
            self.made()
        elif any((self._root / name).is_file() for name in ("attributes.toml", "policy.toml")):
            _ = self.fingerprint

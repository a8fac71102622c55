"""A memory on Kafka, as one process has it open: the same doors as a memory directory.

Recording seals and appends to the raw topic. Workers (``memstream worker --runtime faust``) derive;
a projector brings the memories topic into the index. Where the index is on a Qdrant server, the
projector is a process of its own; without one, each reader projects into an index in its own
directory. Analytics are beside the projector's index, in DuckDB.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import structlog

from memstream.processors.standard import standard_pipeline
from memstream.projections.embedders import Embedder, embedder_named
from memstream.projections.in_duckdb import DuckIndex, sql_file
from memstream.projections.in_edge import EdgeIndex
from memstream.projections.projection import Projection
from memstream.projections.queries import SearchIndex
from memstream.projections.snapshot import snapshot
from memstream.schemas.codec import Codec
from memstream.schemas.counting import quantity
from memstream.schemas.errors import NotFound, ProjectionDamaged, WrongGeneration
from memstream.schemas.events import Event
from memstream.schemas.memories import UNDECIDED, Memory, Status
from memstream.schemas.scope import Scope
from memstream.schemas.sealing import Sealer
from memstream.service.cluster_erasing import WAIT_SECONDS, appended_again, erased_on_kafka
from memstream.service.cluster_examining import examined_cluster
from memstream.service.cluster_settings import ClusterSettings, NotOnKafka, generation_of, key_ring
from memstream.service.directory import Files, stamp_of
from memstream.service.later import Later
from memstream.service.naming import event_named, memory_named
from memstream.service.repeating import Groups, answers, rows_of
from memstream.service.reports import (
    Diagnosis,
    ErasureReport,
    Explanation,
    RebuildReport,
    ReplayReport,
)
from memstream.service.stopping import closed_at_exit
from memstream.streams.bundles import BundleCodec
from memstream.streams.clock import Clock, Deadline
from memstream.streams.kafka_reading import TopicReader
from memstream.streams.kafka_topics import MEMORIES
from memstream.streams.log import Position
from memstream.streams.log_in_kafka import KafkaLog
from memstream.streams.metrics import Reached
from memstream.streams.projector import Applied, Projector
from memstream.streams.stages import BrokenSequence
from memstream.streams.worker import Worker

NOT_BY_WAITING = (ProjectionDamaged, BrokenSequence, WrongGeneration)
"""What a projector meets again however often it tries."""
POLL_SECONDS = 0.05
"""How often a waiting reader looks how far the index is."""
PROJECT_SECONDS = 0.1
"""How often a projector that has nothing to do looks for more: one small question to a broker."""

_LOGGER = structlog.get_logger(__name__)


class ClusterHost:
    """The interface of ``Host``, over Kafka. Thread-safe.

    ``projects``: whether this process brings the index up to date. ``index`` is one to use, and
    to close, in the place of the one that the settings name.
    """

    def __init__(
        self,
        root: Path,
        settings: ClusterSettings,
        clock: Clock,
        *,
        index: SearchIndex | None = None,
        watch: Applied = lambda *_: None,
    ) -> None:
        self.clock = clock
        self.root = root
        self.settings = settings
        self.ring = key_ring(settings.keyring, clock)
        self.codec = Codec(Sealer(self.ring))
        self._closing = ExitStack()
        self._closing.callback(self.ring.close)
        try:
            self.log = KafkaLog(settings.kafka, clock)
        except BaseException:
            self._closing.close()
            raise
        self._closing.callback(self.log.close)
        self._given = index
        self._watch = watch
        self._opening = threading.RLock()
        self._erasing = threading.Lock()
        self._view: _View | None = None
        self._worker: Worker | None = None
        self.later = Later(self.append)

    def start(self, *, worker: bool) -> None:
        """With ``worker`` opens the index and the analytics and keeps them up to date from now on.
        Without, that waits until something has to be read, and there are no analytics."""
        closed_at_exit(self)
        if worker:
            self.view.with_analytics()
            self._project(self.view)

    @property
    def view(self) -> _View:
        """What is read from; opened at first use."""
        with self._opening:
            if self._view is None:
                index = self._given or _opened_index(self.folder, self.settings)
                self._view = _View(self.folder, self.settings, self.codec, index, self._watch)
                self._closing.callback(self._view.close)
                if not self.settings.qdrant_url and self._given is None:
                    self._project(self._view)
            return self._view

    def progress(self) -> dict[tuple[str, int], Reached]:
        """How far each projection of this process is in each partition of the raw topic."""
        ends = self.log.end_offsets()
        return {
            (each.name, at): Reached(each.positions().get(at, 0), end)
            for each in self.view.projections
            for at, end in ends.items()
        }

    def _project(self, view: _View) -> None:
        with self._opening:
            if self._worker is None:
                worker = self._worker = Worker(
                    lambda: view.project(lambda: not worker.stopping), poll_s=PROJECT_SECONDS
                )
                worker.start()
                worker.wake()

    @property
    def generation(self) -> str:
        """The name of the generation that is read."""
        return generation_of(standard_pipeline())

    @property
    def folder(self) -> Path:
        """Where in its directory this process has the generation's index and analytics."""
        embedder = embedder_named(self.settings.embedder).identity.replace("/", "-")
        return self.root / f"{self.generation}-{embedder}"

    @contextmanager
    def index(self) -> Iterator[SearchIndex]:
        """The index as it is, for a look at it: nothing is projected. Raises ``LeaseHeld`` where
        another process has it open, ``NotFound`` where there is none."""
        if self._view is not None:
            yield self._view.index
            return
        if not self.settings.qdrant_url and not (self.folder / "edge").is_dir():
            raise NotFound(f"{self.folder}: no index; mend: name the projector's directory")
        index = _opened_index(self.folder, self.settings)
        try:
            yield index
        finally:
            index.close()

    # Recording

    def append(self, groups: Groups, *, timeless: Collection[str] = ()) -> list[Position]:
        """Appends all events durably; one position per group, at the group's last event. See
        ``answers`` for ``timeless``; only what this process appended lately is compared."""
        rows = rows_of(self.codec, groups)
        positions = self.log.append(rows)
        appended_again(self, [event for group in groups for event in group], rows)
        if self._worker is not None:
            self._worker.wake()
        return answers(self.log, self.codec, groups, positions, timeless)

    def append_later(self, events: Sequence[Event]) -> None:
        """Appends without making the caller wait. ``flush`` and ``close`` wait for it."""
        self.later.append(events)

    # Reading

    @contextmanager
    def reader(
        self, after: Position | None, wait_s: float
    ) -> Iterator[tuple[SearchIndex | None, Embedder | None, list[str]]]:
        """What to search with, and what is degraded about it, in words. Waits up to ``wait_s``
        until ``after`` is indexed."""
        view = self.view
        reasons: list[str] = []
        if after is not None:
            missing = self.wait_for({after.partition: after.offset + 1}, wait_s)
            if missing:
                reasons.append(
                    f"the index is stale by {quantity(missing, 'event')}: workers or the "
                    "projector have not "
                    f"come to offset {after.offset} of partition {after.partition} in {wait_s:g} s"
                )
        if self.worker_error():
            reasons.append(f"the index is not being kept up to date: {self.worker_error()}")
        yield view.index, view.embedder, reasons

    def flush(self, timeout_s: float | None = None) -> None:
        """Returns when everything recorded before the call is in the index, and in the analytics
        where this process has them. ``TimeoutError``."""
        self.later.wait(timeout_s)
        ends = self.log.end_offsets()
        missing = self.wait_for(ends, timeout_s, everywhere=True)
        if not missing:
            return
        worker = self._worker
        if worker is not None and isinstance(worker.last_error, NOT_BY_WAITING):
            raise worker.last_error
        raise TimeoutError(
            f"flush: {quantity(missing, 'event')} not indexed after {timeout_s} s; mend: see that "
            "memstream worker --runtime faust runs for generation "
            f"{self.generation}, and a projector {self.worker_error()}".rstrip()
        )

    def wait_for(
        self, ends: dict[int, int], timeout_s: float | None, *, everywhere: bool = False
    ) -> int:
        """How many events are still missing in the index when the time is over, or when this
        process projects and has met what waiting does not mend; 0 once none is. ``everywhere``:
        in any projection of this process."""
        deadline = Deadline(timeout_s)
        pause = threading.Event()
        before = None if self._worker is None else self._worker.rounds
        while True:
            positions = self.view.positions(everywhere=everywhere)
            missing = sum(max(0, end - positions.get(at, 0)) for at, end in ends.items())
            if not missing or deadline.passed:
                return missing
            worker = self._worker
            if worker is not None:
                before = worker.rounds if before is None else before
                # The second round since this call is the first that began after it.
                if worker.rounds > before + 1 and isinstance(worker.last_error, NOT_BY_WAITING):
                    return missing
                worker.wake()
            pause.wait(POLL_SECONDS)

    def worker_error(self) -> str:
        """Why the index is not kept up to date by this process; empty if it is."""
        error = None if self._worker is None else self._worker.last_error
        return "" if error is None else str(error)

    def versions(self, scope: Scope, *, known_at: datetime | None = None) -> list[Memory]:
        """All memory versions of a scope, or those made by ``known_at``."""
        found = self.view.index.memories_of(scope.path)
        return [each for each in found if known_at is None or each.created_at <= known_at]

    def undecided(self, scopes: Iterable[Scope]) -> dict[Status, int]:
        """How many memories of the scopes wait for a review, by status."""
        paths = {scope.path for scope in scopes}
        found = [each for path in paths for each in self.view.index.memories_of(path, UNDECIDED)]
        return dict(Counter(each.status for each in found if each.expired_at is None))

    def memory_id(self, scope: Scope, name: str) -> str:
        """The full id of a memory given by its id or a beginning of it that only it has."""
        return memory_named(self.versions(scope), scope, name)

    def sql(self, query: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Read-only SQL over the analytics in this directory, whichever process projects them."""
        duck = None if self._view is None else self._view.duck
        file = self.folder / "analytics.duckdb"
        if duck is None and not file.exists():
            raise NotOnKafka(
                f"{file}: no analytics in this directory; mend: name the one of the projector"
            )
        names, rows = sql_file(file, query) if duck is None else duck.sql(query)
        return list(names), rows

    settings_folder: Path | None = None
    """Workers and readers on Kafka have the built-in attributes, rules and policy."""

    @property
    def files(self) -> Files:
        """Not there: some doors are those of a memory directory alone."""
        raise NotOnKafka(
            f"{self.root}: a memory on Kafka has no directory of its own log; mend: see "
            "docs/operations.md for what is done there instead"
        )

    def event_id(self, scope: Scope, name: str) -> str:
        """The id of an event, given whole or by its beginning. Raises ``NotFound``. Reads the
        scope's partition."""
        return event_named(self.log, scope, name)

    def doctor(self) -> Diagnosis:
        """How far behind the index is, and whether the parts are there and as they must be."""
        return examined_cluster(self)

    def explain(self, scope: Scope, name: str) -> Explanation:
        """Not offered: what led to what is in the projector's analytics."""
        raise NotOnKafka(
            f"explain {name} in {scope.path}: decisions and candidates are in the projector's "
            "analytics; mend: memstream sql --kafka in its directory"
        )

    def rebuild(self, **_: Any) -> RebuildReport:
        """Not offered: a new generation is worked on by workers of its own."""
        raise NotOnKafka(
            "rebuild: on Kafka a changed pipeline has a name of its own, and its workers read the "
            "log from the beginning beside the old ones; mend: start memstream worker --runtime "
            "faust with the new release, then a projector, then readers"
        )

    def swap_back(self) -> str:
        """Not offered: see ``rebuild``."""
        raise NotOnKafka("swap back: start readers of the release before; its index is still there")

    def replay(self, *_: Any) -> ReplayReport:
        """Not offered: see ``rebuild``."""
        raise NotOnKafka("replay: mend: memstream migrate --to-directory, and replay there")

    def erase(self, scope: Scope, event: str | None, reason: str) -> ErasureReport:
        """See ``cluster_erasing``. One at a time in a process; waits for workers and projector."""
        self.later.wait(None)
        with self._erasing:
            return erased_on_kafka(self, scope, event, reason, wait_s=WAIT_SECONDS)

    def snapshot(self, target: Path, *, overwrite: bool) -> dict[str, Any]:
        """The analytics tables as Parquet."""
        duck = self.view.duck
        if duck is None:
            raise NotOnKafka(f"snapshot to {target}: this process projects no analytics")
        built: dict[str, Any] = msgspec.to_builtins(snapshot(duck, target, overwrite=overwrite))
        return built

    def close(self) -> None:
        """Waits for what is being recorded, and closes. Idempotent."""
        self.later.close()
        if self._worker is not None:
            self._worker.stop()
        self._closing.close()


class _View:
    """The index, the analytics beside it, and how they are brought up to date."""

    def __init__(
        self,
        folder: Path,
        settings: ClusterSettings,
        codec: Codec,
        index: SearchIndex,
        watch: Applied,
    ) -> None:
        self.embedder = embedder_named(settings.embedder)
        self._closing = ExitStack()
        self.duck: DuckIndex | None = None
        self.index = index
        self._closing.callback(self.index.close)
        self._folder = folder
        topic = settings.kafka.topic(f"{generation_of(standard_pipeline())}.{MEMORIES}")
        reader = TopicReader(settings.kafka, topic)
        self._closing.callback(reader.close)
        self._projector = Projector(
            reader, BundleCodec(codec), [self.index], settings.kafka.partitions, watch=watch
        )

    def with_analytics(self) -> None:
        """Opens the analytics file and projects into it as well."""
        self._folder.mkdir(parents=True, exist_ok=True)
        stamp = stamp_of(standard_pipeline(), self.embedder)
        self.duck = DuckIndex.open(self._folder / "analytics.duckdb", stamp)
        self._closing.callback(self.duck.close)
        self._projector.add(self.duck)

    def project(self, keep_going: Any) -> None:
        """Brings everything to the topic's end, until nothing comes any more. Then others may read
        the analytics file."""
        while self._projector.project(keep_going=keep_going):
            pass
        if self.duck is not None:
            self.duck.release()

    @property
    def projections(self) -> Sequence[Projection]:
        """All that are brought up to date."""
        return self._projector.projections

    def positions(self, *, everywhere: bool = False) -> dict[int, int]:
        """The raw offset of each partition that the index has next, or (``everywhere``) that not
        every projection has."""
        return self._projector.positions() if everywhere else self.index.positions()

    def close(self) -> None:
        self._closing.close()


def _opened_index(folder: Path, settings: ClusterSettings) -> SearchIndex:
    """The index of this release's generation, made where there is none."""
    pipeline = standard_pipeline()
    embedder = embedder_named(settings.embedder)
    stamp = stamp_of(pipeline, embedder)
    if not settings.qdrant_url:
        folder.mkdir(parents=True, exist_ok=True)
        return EdgeIndex.open(folder / "edge", stamp, embedder)
    from memstream.projections.in_qdrant import QdrantIndex
    from memstream.projections.qdrant_server import QdrantServer

    server = QdrantServer(
        url=settings.qdrant_url,
        prefix=settings.qdrant_prefix,
        api_key_env=settings.qdrant_key_env,
    )
    name = f"{generation_of(pipeline)}-{embedder.identity}".replace("/", "-").replace(":", "-")
    return QdrantIndex.open(server, server.collection(name), stamp, embedder)

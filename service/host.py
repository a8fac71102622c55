"""Host: one process's hold on a memory directory. Owns the files, the worker and the lease.

Whatever touches the indexes does so within a turn (``streams/turns``), taken before any lock.
``_work`` is held by whoever drains, erases, rebuilds or swaps; reads never take it. ``_opening``
is held while a generation is opened or replaced, ``_changing`` over a whole rebuild or erasure.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import structlog

from memstream.schemas.counting import quantity
from memstream.schemas.errors import (
    LeaseHeld,
    LogUnavailable,
    MemstreamError,
    NotFound,
    ProjectionDamaged,
    WrongGeneration,
)
from memstream.schemas.events import Event
from memstream.schemas.memories import Memory, Status
from memstream.schemas.scope import Scope
from memstream.service.directory import Files, Pipelines, stamp_of
from memstream.service.later import Later
from memstream.service.naming import event_named, memory_named
from memstream.service.repeating import Groups, answers, appended
from memstream.service.serving import only_served
from memstream.service.state_reading import from_state
from memstream.service.stopping import closed_at_exit
from memstream.service.vectors import Where
from memstream.streams.clock import Clock, Deadline, Patience
from memstream.streams.log import Position
from memstream.streams.turns import SLICE_SECONDS, Turns
from memstream.streams.worker import Worker

if TYPE_CHECKING:
    from memstream.processors.pipeline import Pipeline
    from memstream.projections.embedding import Embedder
    from memstream.projections.in_duckdb import DuckIndex
    from memstream.service.choosing import Choice
    from memstream.service.index_reader import IndexReader
    from memstream.service.reports import (
        Diagnosis,
        ErasureReport,
        Explanation,
        RebuildReport,
        ReplayReport,
    )
    from memstream.service.stores import Projected, Stores
    from memstream.streams.embedded import EmbeddedRuntime, Progress
    from memstream.streams.state_in_sqlite import StateStore

READING_WAIT_SECONDS = 1.0
"""The longest that a recall waits for another process to hand the indexes over; then it scans."""
KEEPING_WAIT_SECONDS = 10.0
"""The longest that a rebuild, an erasure or the like waits for it."""
IDLE_SECONDS = 5.0
"""After so long without an operation a process without a worker gives the lease back."""
_DOUBT_SECONDS = 5.0
"""So long after a wait in vain recall asks without waiting."""
_STUCK_SECONDS = 0.6
"""New events untouched for so long: the holder does not work, so the worker wants the lease."""
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
        index: Where = None,
    ) -> None:
        self.clock = clock
        self.files = Files(root, clock, partitions=partitions, index=index)
        self.pipelines = Pipelines(root)
        self._asked_embedder = embedder
        self._embedders: dict[str, Embedder] = {}
        """Those that were handed over as objects, by identity: no name leads to them."""
        self._work = threading.RLock()
        self._changing = threading.RLock()
        self._opening = threading.RLock()
        self._turns = Turns(self.files.lease, let_go=self._let_go, idle_s=None)
        self._doubt = Deadline(0)
        self._patience = Patience(_STUCK_SECONDS)
        self._indexed = ("", -1)
        self._stores: Stores | None = None
        self._worker: Worker | None = None
        self.later = Later(self.append)
        self._closing = self._closed = False

    def start(self, *, worker: bool) -> None:
        """Opens the directory; with ``worker`` also the served generation (made first in a fresh
        directory), and starts the worker. Without, that waits until something has to be read:
        recording needs neither the rules nor an index."""
        closed_at_exit(self)
        self.pipelines.warm = worker
        self.pipelines.check()
        name = self.files.generations.current()
        chosen = self.files.vectors.elsewhere or (self._asked_embedder or "none") != "none"
        if worker or (name is None and chosen):
            _ = self.stores
        elif name is not None and self._asked_embedder is not None:
            self._choice(self.files.generations.stamp(name).embedder)
        self._turns.idle_s = None if worker else IDLE_SECONDS
        if worker:
            with self._turns.turn(0) as mine:
                if mine:
                    self.runtime()
            self._worker = Worker(self._drain_once)
            self._worker.start()
            self._worker.wake()
        elif self._stores is not None and not self._stores.state_lost:
            self._turns.give_back()

    # What is open

    @property
    def pipeline(self) -> Pipeline:
        """The pipeline with the directory's own settings."""
        return self.pipelines.made()

    @property
    def stores(self) -> Stores:
        """The served generation, opened at first use, and again where another process swaps it."""
        with self._opening:
            if self._closed:
                raise LogUnavailable(f"{self.files.root}: closed; mend: open it again")
            if self._stores is None:
                name = self.files.generations.current() or self._first_generation()
                self._stores = self._opened(name)
            elif not self.files.lease.held:
                self._refresh()
            return self._stores

    def _refresh(self) -> None:
        stores, current = self._stores, self.files.generations.current()
        if stores is not None and current is not None and current != stores.name:
            self._replace(current)

    def runtime(self) -> EmbeddedRuntime:
        """The runtime with the indexes open. Within a turn only."""
        with self._opening:
            return self._held().open_projections()

    def _held(self) -> Stores:
        """The served generation, whose indexes may be opened. Within a turn only."""
        if self.stores.runtime is None:
            self._refresh()
        return self.stores

    def _let_go(self) -> None:
        stores = self._stores
        if stores is not None:
            try:
                stores.close_projections()
            except MemstreamError as error:
                _LOGGER.error("index_not_closed", error=str(error), kind=type(error).__name__)

    @property
    def store(self) -> StateStore:
        """The state store of the served generation."""
        return self.stores.store

    @property
    def settings_folder(self) -> Path | None:
        """Where the owner's attributes, rules and policy are."""
        return self.files.root

    @property
    def generation(self) -> str:
        """The name of the served generation."""
        return self.stores.name

    @contextmanager
    def reader(
        self, after: Position | None, wait_s: float
    ) -> Iterator[tuple[IndexReader | None, Embedder | None, list[str]]]:
        """What to search with, and what is degraded about it, in words; more of them once the
        search had to be done another way. The indexes stay open until it is left. Waits up to
        ``wait_s`` until ``after`` is processed and indexed."""
        with ExitStack() as turn:
            late = "" if after is None else self._awaited(turn, after, wait_s)
            with self._reader() as (index, embedder, reasons):
                if late:
                    reasons.append(late)
                yield index, embedder, reasons

    def _awaited(self, turn: ExitStack, after: Position, wait_s: float) -> str:
        """Enters a turn in which ``after`` is indexed, or says what is missing and why."""
        end = after.offset + 1
        try:
            turn.enter_context(self._reached({after.partition: end}, wait_s))
        except (MemstreamError, TimeoutError) as error:
            missing = max(0, end - self.store.positions().get(after.partition, 0))
            by = f" by {quantity(missing, 'event')}" if missing else ""
            return f"the index is stale{by}: {error}"
        return ""

    @contextmanager
    def _reader(self) -> Iterator[tuple[IndexReader | None, Embedder | None, list[str]]]:
        from memstream.service.index_reader import IndexReader

        reasons = [*self._stale(self.stores)]
        if self.worker_error():
            reasons.append(f"new events are not being processed: {self.worker_error()}")
        if self.stores.state_lost and self.stores.behind:
            reasons.append(f"the state is being made again from the log: {self.stores.state_lost}")
        with self._turns.turn(READING_WAIT_SECONDS if self._doubt.passed else 0) as mine:
            trouble = self.stores.no_vectors
            if not mine:
                self._doubt = Deadline(_DOUBT_SECONDS)
                trouble = trouble or f"the vector index is held by {self.worker_elsewhere()}"
            elif not trouble:
                trouble = self._unreadable()
            index = self.stores.index if mine and not trouble else None
            if index is None:
                reasons.append(f"{trouble}; served by a lexical scan of the state")
                yield None, None, reasons
            else:
                yield IndexReader(self, index, reasons), self.stores.embedder, reasons

    def _unreadable(self) -> str:
        """Why the vector index cannot be searched, in words; opens it where it is not open."""
        try:
            with self._opening:
                self._held().open_vectors()
            return self.stores.vectors_lag()
        except MemstreamError as error:
            return f"the vector index cannot be opened: {error}"

    def worker_elsewhere(self) -> str:
        """Who holds the worker lease, in words."""
        return str(self.files.lease.holder() or "another process")

    def versions(self, scope: Scope, *, known_at: datetime | None = None) -> list[Memory]:
        """All memory versions of a scope, or those made by ``known_at``."""
        found = from_state(self, lambda state: state.memories_of(scope.path))
        return [each for each in found if known_at is None or each.created_at <= known_at]

    def undecided(self, scopes: Iterable[Scope]) -> dict[Status, int]:
        """How many memories of the scopes wait for a review, by status."""
        paths = frozenset(scope.path for scope in scopes)
        return from_state(self, lambda state: state.undecided(paths))

    def memory_id(self, scope: Scope, name: str) -> str:
        """The full id of a memory given by its id or a beginning of it that only it has."""
        return memory_named(self.versions(scope), scope, name)

    def event_id(self, scope: Scope, name: str) -> str:
        """The id of an event, given whole or by its beginning. Raises ``NotFound``."""
        return event_named(self.files.log, scope, name)

    def explain(self, scope: Scope, name: str) -> Explanation:
        """The whole chain around a memory or an event."""
        from memstream.service.explaining import explained

        return explained(self, scope, name)

    # Recording

    def append(self, groups: Groups, *, timeless: Collection[str] = ()) -> list[Position]:
        """Appends all events durably; one position per group, at the group's last event. See
        ``answers`` for ``timeless``."""
        positions = appended(self.files.log, self.files.codec, groups)
        if self._worker is not None:
            self._worker.wake()
        return answers(self.files.log, self.files.codec, groups, positions, timeless)

    def append_later(self, events: Sequence[Event]) -> None:
        """Appends without making the caller wait. ``flush`` and ``close`` wait for it."""
        self.later.append(events)

    # Draining

    def flush(self, timeout_s: float | None = None) -> None:
        """Returns when everything recorded before the call is processed and indexed."""
        self.later.wait(timeout_s)
        with self._reached(self.files.log.end_offsets(), timeout_s):
            pass

    @contextmanager
    def _reached(self, ends: dict[int, int], timeout_s: float | None) -> Iterator[None]:
        """Works, in turns with whoever else wants to, until the ends are processed and indexed;
        what is done inside is within the last of these turns."""
        deadline = Deadline(timeout_s)
        while True:
            with self._turns.turn(deadline.left_s) as mine:
                with self._working(deadline) as alone:
                    able = mine and alone and not self._closed
                    done = able and self._drained(ends, deadline)
                if done:
                    yield
                    return
            if self._closing:
                raise LogUnavailable(f"{self.files.root}: closed while it was waited for")
            if deadline.passed:
                raise TimeoutError(
                    f"{self.files.root}: not processed within {timeout_s} s "
                    f"({self.worker_elsewhere()} is at work); mend: see memstream doctor"
                )

    @contextmanager
    def _working(self, deadline: Deadline) -> Iterator[bool]:
        left_s = deadline.left_s
        alone = self._work.acquire(timeout=-1 if left_s is None else left_s)
        try:
            yield alone
        finally:
            if alone:
                self._work.release()

    def _drained(self, ends: dict[int, int], deadline: Deadline) -> bool:
        self._refuse_stale()
        runtime, turn = self.runtime(), Deadline(SLICE_SECONDS)
        runtime.drain(
            until=ends, keep_going=lambda: not (deadline.passed or self._turns.yields(turn))
        )
        positions, last = self.store.positions(), self.store.last_seq()
        return all(positions.get(partition, 0) >= end for partition, end in ends.items()) and all(
            projection.position() >= last for projection in runtime.projections
        )

    def drain(self, progress: Progress | None = None) -> None:
        """Processes and indexes what is recorded, here, however long it takes. Raises
        ``LeaseHeld`` where another process does not hand the work over."""
        with self._turn_to("process"), self._work:
            self._refuse_stale()
            self.runtime().drain(progress=progress)

    def caught_up(self, *, index: Projected | None) -> bool:
        """Whether nothing waits to be processed, nor to be brought into the ``index``; False, too,
        where another process has that open. For memories no served context has to be processed."""
        if self._waiting(served=index == "analytics"):
            return False
        with self._turns.turn(0) as mine, self._opening:
            if index is None or not mine:
                return index is None
            held = self._held()
            found = held.open_vectors() if index == "vectors" else held.open_analytics()
            return found is None or found.position() >= held.store.last_seq()

    def _waiting(self, *, served: bool = True) -> bool:
        """Whether there are events to process, dead letters that are due among them."""
        behind = self.stores.behind
        if behind and not served:
            behind = not only_served(self.files.log, self.store.positions())
        return behind or bool(self.store.dead_letters(due=self.clock.now()))

    def retry_dead_letters(self) -> int:
        """Tries every unresolved dead letter again; gives how many went through."""
        with self._turn_to("retry dead letters"), self._work:
            return self.runtime().retry_dead_letters()

    def _drain_once(self) -> None:
        """A round of the worker. It takes the lease where it is free, or where its holder leaves
        new events lying."""
        worker = self._worker
        with self._turns.turn(KEEPING_WAIT_SECONDS if self._left_lying() else 0) as mine:
            if not mine:
                return
            with self._work:
                if self._stale(self.stores) or self._nothing_to_do():
                    return
                runtime, turn = self.runtime(), Deadline(SLICE_SECONDS)
                runtime.drain(
                    keep_going=lambda: (
                        not ((worker is not None and worker.stopping) or self._turns.yields(turn))
                    )
                )
                if self.stores.duck is not None:
                    self.stores.duck.release()
                if not self._turns.yields(turn):
                    self._indexed = (self.generation, self.store.last_seq())

    def _nothing_to_do(self) -> bool:
        """Whether everything is processed and indexed; cheaper than asking the indexes."""
        return (
            self.stores.runtime is not None
            and self._indexed == (self.generation, self.store.last_seq())
            and not self._waiting()
        )

    def _left_lying(self) -> bool:
        fine = self._turns.held or not self.stores.behind
        return self._patience.ran_out(None if fine else self.store.positions())

    # Keeping

    def erase(self, scope: Scope, event: str | None, reason: str) -> ErasureReport:
        """Destroys a scope's content, or one event's."""
        from memstream.service.erasing import erased

        with self._turn_to("erase"), self._changing, self._work:
            self._refuse_stale()
            self.flush()  # what is still to be recorded, too: served contexts carry content
            return erased(self, scope, event, reason)

    def rebuild(
        self, *, embedder: str | Embedder | None, swap: bool, progress: Progress | None
    ) -> RebuildReport:
        """The next generation from the log, verified and (``swap``) served."""
        from memstream.service.choosing import embedder_of, present
        from memstream.service.rebuilding import rebuilt

        with self._turn_to("rebuild"), self._changing:
            stores = self.stores
            if embedder is not None:
                chosen = embedder_of(embedder)
            else:
                chosen = stores.embedder or present(stores.stamp.embedder, self._asked_embedder)
            self._embedders[chosen.identity] = chosen
            return rebuilt(self, chosen, swap=swap, progress=progress)

    def replay(
        self, since: datetime | None, until: datetime | None, progress: Progress | None
    ) -> ReplayReport:
        """A part of the log through the pipeline, in a generation that is thrown away."""
        from memstream.service.rebuilding import replayed

        return replayed(self, since, until, progress)

    def serve(self, name: str) -> None:
        """Swaps the served generation. The lease must be held."""
        with self._work, self._opening:
            self.files.generations.serve(name)
            self._replace(name)
            self.runtime()

    def swap_back(self) -> str:
        """Serves the previous generation again."""
        with self._turn_to("swap back"), self._changing:
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
        return "" if self._worker is None else self._worker.trouble

    def doctor(self) -> Diagnosis:
        """Examines everything."""
        from memstream.service.examining import examined

        with self._turns.turn(READING_WAIT_SECONDS) as mine, self._work:
            trouble = ""
            try:
                if mine:
                    self.runtime()
            except MemstreamError as error:
                trouble = str(error)
            return examined(self, trouble)

    def sql(self, query: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Read-only SQL over what is indexed."""
        from memstream.projections.in_duckdb import sql_file

        with self._turns.turn(0) as mine, self._work:
            source = self._analytics(mine)
            names, rows = sql_file(source, query) if isinstance(source, Path) else source.sql(query)
        return list(names), rows

    def snapshot(self, target: Path, *, overwrite: bool) -> dict[str, Any]:
        """The analytics tables as Parquet."""
        from memstream.projections.snapshot import snapshot
        from memstream.service.snapshots import remember

        remember(self.files.root, target)
        with self._turns.turn(0) as mine:
            manifest = snapshot(self._analytics(mine), target, overwrite=overwrite)
        built: dict[str, Any] = msgspec.to_builtins(manifest)
        return built

    def _analytics(self, mine: bool) -> DuckIndex | Path:
        """The analytics for one look: as this process has them open, or their file."""
        stores = self.stores
        return (stores.duck if mine else None) or stores.folder / "analytics.duckdb"

    def close(self) -> None:
        """Stops the worker and closes everything. Idempotent. Work of many batches ends at its next
        batch, and whoever waits for it gets an error; the next one to open goes on with it."""
        if self._closing:
            return
        self._closing = True
        self.later.close()
        self._turns.close()
        if self._worker is not None:
            self._worker.stop()
        with self._work, self._opening:
            self._closed = True
            if self._stores is not None:
                self._stores.close()
                self._stores = None
            self.files.close()
            self.pipelines.close()

    # Generations

    def stale(self) -> str:
        """Why new events are not processed into the served generation; empty if they are."""
        return "; ".join(self._stale(self.stores))

    def _stale(self, stores: Stores) -> list[str]:
        if stores.stamp.pipeline == self.pipelines.fingerprint:
            return []
        return [
            f"generation {stores.name} was built by pipeline {stores.stamp.pipeline}, this is "
            f"{self.pipelines.fingerprint}: new events wait; mend: memstream rebuild"
        ]

    def _refuse_stale(self) -> None:
        _ = self.pipeline  # of the one that processes, not of the settings as they were before
        reason = self.stale()
        if reason:
            raise WrongGeneration(reason)

    @contextmanager
    def _turn_to(self, what: str) -> Iterator[None]:
        with self._turns.turn(KEEPING_WAIT_SECONDS, keep=True) as mine:
            if not mine:
                raise LeaseHeld(
                    f"{self.files.root}: cannot {what} here, {self.worker_elsewhere()} is the "
                    f"worker and did not hand over within {KEEPING_WAIT_SECONDS:g} s; mend: do "
                    "it there, or stop that process first"
                )
            yield

    def _first_generation(self) -> str:
        from memstream.service.choosing import first

        with self._turns.turn(_FIRST_GENERATION_WAIT_SECONDS) as mine:
            name = self.files.generations.current()
            if name is None and not mine:
                raise LogUnavailable(
                    f"{self.files.root}: no generation yet, and {self.worker_elsewhere()} "
                    "holds the worker lease without making one; mend: stop that process"
                )
            if name is None:
                embedder = first(self.files.generations, self._asked_embedder)
                name = self.files.generations.create(stamp_of(self.pipeline, embedder))
                self.files.generations.serve(name)
            return name

    def _choice(self, identity: str) -> Choice:
        from memstream.service.choosing import fitting

        asked = self._embedders.get(identity, self._asked_embedder)
        return fitting(self.files.root, identity, asked)

    def _opened(self, name: str) -> Stores:
        from memstream.service.stores import Stores

        identity = self.files.generations.stamp(name).embedder

        def stores(*, mends: bool) -> Stores:
            return Stores(
                self.files,
                name,
                lambda: self._choice(identity),
                lambda: self.pipeline,
                writes=False,
                mends=mends,
            )

        try:
            return stores(mends=False)
        except (ProjectionDamaged, WrongGeneration):
            with self._turns.turn(KEEPING_WAIT_SECONDS) as mine:
                if not mine:
                    raise
                return stores(mends=True)

    def _replace(self, name: str) -> None:
        before = self._stores
        self._stores = self._opened(name)
        if before is not None:
            before.close()

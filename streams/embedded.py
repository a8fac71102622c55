"""The embedded runtime: drains the log through the pipeline into state, and state into indexes.

One process at a time runs it (see ``lease``). For each batch of one partition, the new state, the
derived events, the memory versions and the position are committed in one transaction, so a crash
loses nothing and repeats nothing. Projections then read the derived events from their own
position. An event whose processing fails goes to the dead letters and the rest goes on; since
arrival order does not matter, it can be tried again at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta

import msgspec
import structlog

from memstream.processors.pipeline import Pipeline
from memstream.projections.projection import Projection, Step
from memstream.schemas.codec import Codec
from memstream.schemas.errors import KeyDestroyed, LogUnavailable
from memstream.schemas.events import Data, ErasureRequested, Event
from memstream.schemas.sealing import Sealer
from memstream.streams.clock import Clock
from memstream.streams.log import Entry, EventLog
from memstream.streams.state_in_sqlite import DeadLetter, StateStore
from memstream.streams.state_transaction import Transaction

BATCH = 500
"""Events in one transaction."""
PROJECT_BATCH = 1_000
"""Steps a projection applies at once."""
MOST_ATTEMPTS = 6
FIRST_RETRY = timedelta(seconds=1)
"""Doubled after every failed attempt; after MOST_ATTEMPTS only an explicit retry tries again."""

ERASURES = "erasures"
"""The consumer whose committed offsets say which erasure requests are finished."""
ERASED = "erased"
"""The outcome of an event whose content was destroyed."""

_LOGGER = structlog.get_logger(__name__)

Progress = Callable[[int, int], None]
"""Called with (events done, events there are)."""


class EmbeddedRuntime:
    """The pipeline of one generation over one log. Not safe for two threads at once."""

    def __init__(
        self,
        log: EventLog,
        codec: Codec,
        pipeline: Pipeline,
        store: StateStore,
        projections: Sequence[Projection],
        clock: Clock,
        *,
        erases: bool = True,
    ) -> None:
        """``erases`` False leaves erasures that were requested and not finished to the runtime
        that serves: a rebuild beside it must not destroy what that one still needs."""
        self.log = log
        self.codec = codec
        self.pipeline = pipeline
        self.store = store
        self.projections = tuple(projections)
        self.clock = clock
        self._erases = erases
        self._fresh: list[Step] = []

    def drain(
        self,
        *,
        until: dict[int, int] | None = None,
        progress: Progress | None = None,
        keep_going: Callable[[], bool] = lambda: True,
    ) -> int:
        """Processes everything the log holds now (or up to ``until``), and indexes it.

        Returns the number of events processed. Stops early, at a batch's end, when
        ``keep_going`` says so. Raises the store's stated errors; never one of a single event.
        """
        ends = until or self.log.end_offsets()
        total = sum(ends.values())
        done = self._retry_due()
        while keep_going():
            worked = 0
            for partition, end in sorted(ends.items()):
                start = self.store.positions().get(partition, 0)
                if start < end and keep_going():
                    worked += self._process(partition, start, min(end - start, BATCH))
                    if progress is not None:
                        progress(sum(self.store.positions().values()), total)
                    self.project(keep_going=keep_going)
            done += worked
            if not worked:
                break
        self.project(keep_going=keep_going)
        return done

    def project(self, *, keep_going: Callable[[], bool] = lambda: True) -> None:
        """Brings every projection to the store's last step."""
        last = self.store.last_seq()
        for projection in self.projections:
            position = projection.position()
            while position < last and keep_going():
                steps = self._steps_after(position)
                projection.apply(steps)
                position = steps[-1].seq
        self._fresh.clear()

    def retry_dead_letters(self) -> int:
        """Tries every unresolved dead letter again, due or not; gives how many now went through."""
        return self._retry(self.store.dead_letters())

    def steps(self, after: int, limit: int) -> list[Step]:
        """Stored steps after a seq, each with its raw event read and opened again."""
        found: list[Step] = []
        for stored in self.store.steps_from(after, limit):
            entry = self._entry(stored.partition, stored.offset)
            found.append(msgspec.structs.replace(stored, event=self._opened(entry)))
        return found

    # One batch

    def _process(self, partition: int, start: int, limit: int) -> int:
        entries = self.log.read(partition, start, limit)
        erasures: list[tuple[Entry, Event]] = []
        with self.store.transaction() as transaction:
            for entry in entries:
                event = self._opened(entry)
                if event is not None and isinstance(event.data, ErasureRequested):
                    erasures.append((entry, event))
                self._fresh.append(self._step(transaction, entry, event))
            transaction.advance(partition, entries[-1].offset + 1)
        for entry, event in erasures:
            self._erase(entry, event.data)
        return len(entries)

    def _step(
        self, transaction: Transaction, entry: Entry, event: Event | None, attempts: int = 1
    ) -> Step:
        """One event through the pipeline; its failure is kept as a dead letter."""
        row = entry.row
        derived: tuple[Event, ...] = ()
        if event is not None:
            try:
                with transaction.isolated() as state:
                    derived = tuple(self.pipeline(state, event))
            except Exception as error:
                self._dead_letter(transaction, entry, error, attempts)
            else:
                if attempts > 1:
                    transaction.resolve_dead_letter(entry.partition, entry.offset)
        return transaction.add_step(
            partition=entry.partition,
            offset=entry.offset,
            scope=row.subject,
            event_id=row.id,
            event=event,
            derived=derived,
            outcome=None if event is not None else ERASED,
        )

    def _dead_letter(
        self, transaction: Transaction, entry: Entry, error: Exception, attempts: int
    ) -> None:
        wait = FIRST_RETRY * 2 ** (attempts - 1)
        _LOGGER.error(
            "dead_letter",
            scope=entry.row.subject,
            event_id=entry.row.id,
            partition=entry.partition,
            offset=entry.offset,
            attempts=attempts,
            error=type(error).__name__,
        )
        transaction.add_dead_letter(
            partition=entry.partition,
            offset=entry.offset,
            scope=entry.row.subject,
            event_id=entry.row.id,
            attempts=attempts,
            error=f"{type(error).__name__}: {error}"[:500],
            retry_at=self.clock.now() + wait if attempts < MOST_ATTEMPTS else None,
        )

    def _retry_due(self) -> int:
        return self._retry(self.store.dead_letters(due=self.clock.now()))

    def _retry(self, letters: Sequence[DeadLetter]) -> int:
        went_through = 0
        for letter in letters:
            entry = self._entry(letter.partition, letter.offset)
            event = self._opened(entry)
            with self.store.transaction() as transaction:
                step = self._step(transaction, entry, event, letter.attempts + 1)
            self._fresh.append(step)
            went_through += bool(step.derived)
        return went_through

    # Erasure

    def _erase(self, request: Entry, data: Data) -> None:
        """Destroys what a request names: keys first, then every derived copy.

        The log remembers which requests are finished, so a replay destroys nothing again; one
        that was cut off is finished when it is processed the next time. Only keys older than the
        request's own go: what was recorded after it stays. Afterwards the scope's state is what
        a replay of the rest makes of it.
        """
        done = self.log.committed(ERASURES).get(request.partition, 0)
        if not self._erases or request.offset < done or not isinstance(data, ErasureRequested):
            return
        sealer = self.codec.sealer
        scope = request.row.subject
        if sealer is None:
            raise LogUnavailable(
                f"{scope}: this log is not sealed, so nothing in it can be erased; "
                "mend: open it with its key ring"
            )
        if data.events:
            self._reseal(sealer, scope, frozenset(data.events))
        sealer.ring.destroy(scope, older_than=request.row.key_id)
        sealer.forget()
        self.log.scrub()
        self.store.erase_scope(scope)
        for projection in self.projections:
            projection.erase(scope, events=[], memories=[])
        self._derive_again(scope)
        self.project()
        self.log.commit(ERASURES, {request.partition: request.offset + 1})

    def _reseal(self, sealer: Sealer, scope: str, erased: frozenset[str]) -> None:
        """Seals every event of the scope but the erased ones under the current key."""
        current = sealer.ring.key_for(scope)[0]
        fresh: list[Entry] = []
        for entry in self.log.of_subject(scope):
            if entry.row.key_id == current or entry.row.id in erased:
                continue
            event = self._opened(entry)
            if event is not None:
                row = self.codec.to_row(event)
                fresh.append(msgspec.structs.replace(entry, row=row))
        self.log.replace_all(fresh)

    def _derive_again(self, scope: str) -> None:
        """Runs what is left of a scope through the pipeline, as a rebuild would."""
        positions = self.store.positions()
        with self.store.transaction() as transaction:
            for entry in self.log.of_subject(scope):
                if entry.offset < positions.get(entry.partition, 0):
                    self._fresh.append(self._step(transaction, entry, self._opened(entry)))

    # Reading the log

    def _steps_after(self, position: int) -> list[Step]:
        """The next steps of a projection: from memory where this process has just made them."""
        fresh = self._fresh
        if fresh and fresh[0].seq <= position + 1 <= fresh[-1].seq:
            start = position + 1 - fresh[0].seq
            return fresh[start : start + PROJECT_BATCH]
        return self.steps(position, PROJECT_BATCH)

    def _entry(self, partition: int, offset: int) -> Entry:
        found = self.log.read(partition, offset, 1)
        if not found:
            raise LogUnavailable(
                f"partition {partition} offset {offset}: the state has processed an event that "
                "the log does not hold; mend: restore the log, or rebuild from it"
            )
        return found[0]

    def _opened(self, entry: Entry) -> Event | None:
        """The event of an entry; None where an erasure destroyed its key."""
        try:
            return self.codec.from_row(entry.row)
        except KeyDestroyed:
            return None

"""The embedded runtime: drains the log through the pipeline into state, and state into indexes.

One process at a time runs it (see ``lease``). For each batch of one partition, the new state, the
derived events, the memory versions and the position are committed in one transaction, so a crash
loses nothing and repeats nothing. Projections then read the derived events from their own
position. An event whose processing fails goes to the dead letters and the rest goes on; since
arrival order does not matter, it can be tried again at any time.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import NamedTuple

import msgspec
import structlog

from memstream.processors.carriers import erased_content, restated_id, scrubbed
from memstream.processors.pipeline import BatchFailed, Pipeline
from memstream.projections.projection import VOID, Projection, Step
from memstream.schemas.codec import Codec
from memstream.schemas.errors import (
    InvalidEvent,
    KeyDestroyed,
    LogUnavailable,
    ProjectionDamaged,
    SealBroken,
    UnknownEventType,
)
from memstream.schemas.events import ErasureRequested, Event
from memstream.schemas.sealing import Sealer
from memstream.streams.clock import Clock
from memstream.streams.indexing import Indexing
from memstream.streams.log import Entry, EventLog
from memstream.streams.state_in_sqlite import DeadLetter, StateStore
from memstream.streams.state_transaction import Transaction

BATCH = 500
"""Events in one transaction."""
BATCHES_AHEAD = 4
"""Batches that are opened before their turn where the pipeline wants to know what comes."""
PROJECT_BATCH = 500
"""Steps a projection applies at once."""
MOST_ATTEMPTS = 6
FIRST_RETRY = timedelta(seconds=1)
"""Doubled after every failed attempt; after MOST_ATTEMPTS only an explicit retry tries again."""

ERASURES = "erasures"
"""The consumer whose committed offsets say which erasure requests are finished."""
ERASED = "erased"
"""The outcome of an event whose content was destroyed."""

_ERASURE = "erasure.requested"
_OF_ONE_EVENT = (UnknownEventType, InvalidEvent, SealBroken)
"""What is wrong with one row only: it becomes a dead letter and the rest goes on."""

_LOGGER = structlog.get_logger(__name__)

Progress = Callable[[int, int], None]
"""Called with (events done, events there are)."""


class _Batch(NamedTuple):
    """Entries of a partition and their events, or none of these where one is broken."""

    entries: list[Entry]
    events: list[Event | None]


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
        forget_copies: Callable[[], None] = lambda: None,
    ) -> None:
        """``erases`` False puts erasures off until ``finish_erasures``: a rebuild beside the
        runtime that serves must not destroy what that one still needs. ``forget_copies`` is
        called within an erasure to remove derived data that this runtime does not keep."""
        self.log = log
        self.codec = codec
        self.pipeline = pipeline
        self.store = store
        self.projections = tuple(projections)
        self.clock = clock
        self._erases = erases
        self._forget_copies = forget_copies
        self._coming: dict[tuple[int, int], _Batch] = {}
        self._put_off: list[Entry] = []
        self._fresh: list[Step] = []
        self._indexing = Indexing(self.projections)

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
        try:
            done = self._retry_due()
            for partition, end in sorted(ends.items()):
                while (start := self.store.positions().get(partition, 0)) < end and keep_going():
                    done += self._process(partition, start, ends)
                    if progress is not None:
                        progress(sum(self.store.positions().values()), total)
                    if len(self._fresh) >= PROJECT_BATCH:
                        self._start_projecting(keep_going)
            self.project(keep_going=keep_going)
        finally:
            self._coming.clear()
            self._indexing.settle()
        return done

    def project(self, *, keep_going: Callable[[], bool] = lambda: True) -> None:
        """Brings every projection to the store's last step. One that fails does not keep the
        others back; its error is raised when they are done."""
        try:
            self._start_projecting(keep_going)
            self._indexing.finish()
        finally:
            self._indexing.settle()

    def _start_projecting(self, keep_going: Callable[[], bool]) -> None:
        """Hands the steps that are kept to the projections; they may go on beside this."""
        fresh, self._fresh = self._fresh, []
        after = partial(self._steps_after, fresh)
        self._indexing.start(self.store.last_seq(), after, keep_going, fresh=len(fresh))

    def retry_dead_letters(self) -> int:
        """Tries every unresolved dead letter again, due or not; gives how many now went through."""
        return self._retry(self.store.dead_letters())

    def steps(self, after: int, limit: int) -> list[Step]:
        """Stored steps after a seq, each with its raw event read and opened again."""
        found: list[Step] = []
        for stored in self.store.steps_from(after, limit):
            if stored.offset == VOID:
                found.append(stored)
                continue
            entry = self._entry(stored.partition, stored.offset)
            found.append(msgspec.structs.replace(stored, event=self._readable(entry)))
        return found

    def finish_erasures(self) -> int:
        """Does the erasures that were put off, as far as they are not done; gives how many were
        not. Afterwards this runtime's stores hold nothing of what they name."""
        put_off, self._put_off = self._put_off, []
        destroyed = 0
        for request in put_off:
            event = self._readable(request)
            if event is not None and isinstance(event.data, ErasureRequested):
                destroyed += self._erase(request, event.data)
        return destroyed

    # One batch

    def _process(self, partition: int, start: int, ends: dict[int, int]) -> int:
        """Processes the next entries, up to the next erasure; an erasure is a batch by itself."""
        entries, events = self._batch(partition, start, ends)
        if not entries:
            raise LogUnavailable(
                f"partition {partition}: no event from offset {start} on, though the log ends "
                "later; mend: restore log.db from a copy"
            )
        if self._erases and entries[0].row.type == _ERASURE:
            self._process_erasure(entries[0])
            return 1
        with self.store.transaction() as transaction:
            steps = self._together(transaction, entries, events)
            if not steps:
                steps = [self._step(transaction, entry) for entry in entries]
            transaction.advance(partition, steps[-1].offset + 1)
        self._put_off += [entry for entry in entries if entry.row.type == _ERASURE]
        self._keep(steps)
        return len(steps)

    def _batch(self, partition: int, start: int, ends: dict[int, int]) -> _Batch:
        """The entries from ``start`` on. Where the pipeline wants to know what comes, those after
        them are opened, too, and kept until it is their turn."""
        if (partition, start) not in self._coming:
            self._coming.clear()
        ahead = 1 if self.pipeline.expect is None else BATCHES_AHEAD
        following = {**self.store.positions(), partition: start}
        for (each, at), batch in self._coming.items():
            following[each] = max(following.get(each, 0), at + len(batch.entries))
        for each in sorted(each for each in ends if each >= partition):
            while (at := following.get(each, 0)) < ends[each] and len(self._coming) < ahead:
                batch = self._opened_batch(each, at, min(ends[each] - at, BATCH))
                self._coming[each, at] = batch
                if not batch.entries:
                    break
                following[each] = at + len(batch.entries)
        return self._coming.pop((partition, start))

    def _opened_batch(self, partition: int, start: int, limit: int) -> _Batch:
        """The next entries. Where erasures are done, up to the next one, or that one alone: what
        is behind it may be erased by it."""
        entries = self.log.read(partition, start, limit)
        if self._erases:
            upto = (at for at, entry in enumerate(entries) if entry.row.type == _ERASURE)
            entries = entries[: max(1, next(upto, limit))]
        try:
            events = [self._opened(entry) for entry in entries]
        except _OF_ONE_EVENT:
            events = []
        if self.pipeline.expect is not None:
            self.pipeline.expect([event for event in events if event is not None])
        return _Batch(entries, events)

    def _process_erasure(self, request: Entry) -> None:
        """Erases first and moves on afterwards, so that one that was cut off is done again."""
        event = self._readable(request)
        if event is not None and isinstance(event.data, ErasureRequested):
            self._erase(request, event.data)
        if self.store.positions().get(request.partition, 0) <= request.offset:
            with self.store.transaction() as transaction:
                step = self._step(transaction, request)
                transaction.advance(request.partition, request.offset + 1)
            self._keep([step])

    def _together(
        self, transaction: Transaction, entries: Sequence[Entry], events: Sequence[Event | None]
    ) -> list[Step]:
        """The entries through the pipeline as one batch; none where one of them fails."""
        if not events:
            return []
        try:
            with transaction.isolated() as state:
                there = [event for event in events if event is not None]
                derived = iter(self.pipeline.batch(state, there))
        except BatchFailed:
            return []
        return [
            transaction.add_step(
                partition=entry.partition,
                offset=entry.offset,
                scope=entry.row.subject,
                event_id=entry.row.id,
                event=event,
                derived=() if event is None else next(derived),
                outcome=ERASED if event is None else None,
            )
            for entry, event in zip(entries, events, strict=True)
        ]

    def _step(self, transaction: Transaction, entry: Entry, attempts: int = 1) -> Step:
        """One event through the pipeline; its failure is kept as a dead letter."""
        derived: tuple[Event, ...] = ()
        event: Event | None = None
        outcome: str | None = ERASED
        try:
            event = self._opened(entry)
            if event is not None:
                with transaction.isolated() as state:
                    derived = tuple(self.pipeline(state, event))
                outcome = None
        except (sqlite3.Error, ProjectionDamaged, LogUnavailable):
            raise  # the store's or the key ring's fault, not the event's
        except Exception as error:
            outcome = None
            self._dead_letter(transaction, entry, error, attempts)
        else:
            if attempts > 1:
                transaction.resolve_dead_letter(entry.partition, entry.offset)
        return transaction.add_step(
            partition=entry.partition,
            offset=entry.offset,
            scope=entry.row.subject,
            event_id=entry.row.id,
            event=event,
            derived=derived,
            outcome=outcome,
        )

    def _keep(self, steps: Sequence[Step]) -> None:
        """Keeps committed steps for the projections, as long as they follow one another."""
        fresh = self._fresh
        if fresh and steps and fresh[-1].seq + 1 != steps[0].seq:
            fresh.clear()
        fresh.extend(steps)

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
        settled: set[str] = set()
        for letter in letters:
            if letter.scope in settled:
                continue
            entry = self._entry(letter.partition, letter.offset)
            if self._is_followed(entry) and self._would_go_through(entry):
                # This tries every other dead letter of the scope as well.
                before = len(self.store.dead_letters(letter.scope))
                self._derive_again_with(entry, letter)
                went_through += before - len(self.store.dead_letters(letter.scope))
                settled.add(letter.scope)
                continue
            with self.store.transaction() as transaction:
                step = self._step(transaction, entry, letter.attempts + 1)
            self._keep([step])
            went_through += bool(step.derived)
        return went_through

    def _is_followed(self, entry: Entry) -> bool:
        """Whether later events of the scope have been processed without this one."""
        end = self.store.positions().get(entry.partition, 0)
        later = self.log.of_subject(entry.row.subject)
        return any(entry.offset < each.offset < end for each in later)

    def _would_go_through(self, entry: Entry) -> bool:
        try:
            with self.store.transaction() as transaction:
                step = self._step(transaction, entry)
                raise _RolledBack(went_through=bool(step.derived))
        except _RolledBack as tried:
            return tried.went_through

    def _derive_again_with(self, entry: Entry, letter: DeadLetter) -> None:
        """Lets a late event take its place in the order of the log, as a rebuild would have it,
        so that versions do not depend on when it went through."""
        with self.store.transaction() as transaction:
            # Due at once: if this is cut off, the next drain does it again.
            transaction.add_dead_letter(
                partition=letter.partition,
                offset=letter.offset,
                scope=letter.scope,
                event_id=letter.event_id,
                attempts=letter.attempts,
                error=letter.error,
                retry_at=self.clock.now(),
            )
        end = self.store.positions().get(entry.partition, 0)
        self._clear(letter.scope)
        self._derive_again(letter.scope, entry.partition, end)

    # Erasure

    def _erase(self, request: Entry, data: ErasureRequested) -> bool:
        """Destroys what a request names: keys first, then every derived copy. Gives whether it
        had not been done before.

        The log remembers which requests are finished, so a replay destroys nothing again; it only
        clears stores that read the content before it was destroyed. Only keys older than the
        request's own go: what was recorded after it stays. Afterwards the scope's state is what
        a replay of the rest makes of it, and the request is processed.
        """
        scope = request.row.subject
        finished = request.offset < self.log.committed(ERASURES).get(request.partition, 0)
        if finished and not self._remembers_erased(request):
            return False
        if not finished:
            sealer = self.codec.sealer
            if sealer is None:
                raise LogUnavailable(
                    f"{scope}: this log is not sealed, so nothing in it can be erased; "
                    "mend: open it with its key ring"
                )
            if data.events:
                self._reseal(sealer, request, data.events)
            sealer.ring.destroy(scope, older_than=request.row.key_id)
            sealer.forget()
            self.log.scrub()
        self._clear(scope)
        self._forget_copies()
        position = self.store.positions().get(request.partition, 0)
        self._derive_again(scope, request.partition, max(position, request.offset + 1))
        self.project()
        if not finished:
            self.log.commit(ERASURES, {request.partition: request.offset + 1})
        return not finished

    def _remembers_erased(self, request: Entry) -> bool:
        """Whether the store processed an event of the scope that was erased meanwhile."""
        scope = request.row.subject
        return any(
            self.store.outcome_of(scope, entry.row.id) not in (ERASED, None)
            for entry in self.log.of_subject(scope)
            if entry.offset < request.offset and self._is_erased(entry)
        )

    def _is_erased(self, entry: Entry) -> bool:
        try:
            return self._opened(entry) is None
        except _OF_ONE_EVENT:
            return False

    def _reseal(self, sealer: Sealer, request: Entry, erased: Sequence[str]) -> None:
        """Seals every event of the scope but the erased ones under the current key: those that
        carry erased content without it, and those of a newer release, which cannot be decoded
        here, as they are. What was done before a crash stays as it is."""
        scope = request.row.subject
        current = sealer.ring.key_for(scope)[0]
        entries = list(self.log.of_subject(scope))
        events = {each.row.id: event for each in entries if (event := self._readable(each))}
        # What a correction said is right was stated anew, so it is not erased with it.
        gone = {each for each in erased if restated_id(scope, each) not in events}
        content = erased_content(events, self.store.memories_of(scope), frozenset(gone))
        fresh: list[Entry] = []
        for entry in entries:
            event = events.get(entry.row.id)
            without = None
            if event is not None and entry.offset < request.offset:
                without = scrubbed(content, event)
            done = entry.row.key_id == current and without is None
            if done or entry.row.id in erased:
                continue
            try:
                row = self.codec.resealed(entry.row, without)
            except (KeyDestroyed, SealBroken):
                continue  # erased before, or altered: nobody can open it, under any key
            fresh.append(msgspec.structs.replace(entry, row=row))
        self.log.replace_all(fresh)

    def _clear(self, scope: str) -> None:
        """Removes all that was derived from a scope, here and in every projection."""
        self._fresh.clear()
        self._coming.clear()
        self._indexing.settle()
        self.store.erase_scope(scope)
        for projection in self.projections:
            projection.erase(scope)

    def _derive_again(self, scope: str, partition: int, end: int) -> None:
        """Runs a scope's events below ``end`` through the pipeline, as a rebuild would, and moves
        there if the partition was not as far."""
        letters = {
            (each.partition, each.offset): each.attempts for each in self.store.dead_letters(scope)
        }
        steps: list[Step] = []
        with self.store.transaction() as transaction:
            for entry in self.log.of_subject(scope):
                if entry.offset < end:
                    attempts = letters.get((entry.partition, entry.offset), 0) + 1
                    steps.append(self._step(transaction, entry, attempts))
            transaction.advance(partition, end)
        self._keep(steps)

    # Reading the log

    def _steps_after(self, fresh: list[Step], position: int) -> list[Step]:
        """The next steps of a projection: from memory where this process has just made them."""
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

    def _readable(self, entry: Entry) -> Event | None:
        """The event of an entry; None where it was erased or cannot be read (a dead letter)."""
        try:
            return self._opened(entry)
        except _OF_ONE_EVENT:
            return None


class _RolledBack(Exception):
    """Ends a trial transaction without keeping anything of it."""

    def __init__(self, *, went_through: bool) -> None:
        super().__init__()
        self.went_through = went_through

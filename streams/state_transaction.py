"""One batch of the state store: the state its events see, and everything it writes at the end.

``state_in_sqlite`` makes and commits it; ``state_values`` keeps what was committed.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Self

import msgspec

from memstream.processors.pipeline import Value
from memstream.projections.projection import Step
from memstream.schemas.counting import quantity
from memstream.schemas.errors import ProjectionDamaged
from memstream.schemas.events import Event
from memstream.schemas.instants import to_micros
from memstream.streams.state_rows_in_sqlite import (
    DEAD_LETTERED,
    MOST_DERIVED,
    UNDECIDED,
    decisions,
    encode_derived,
    version_rows,
)
from memstream.streams.state_values import GONE, Held, Values, as_kind


class Transaction:
    """One batch: a ``State``, and what else a batch writes. Given by ``StateStore.transaction``.

    What is put stays decoded and is encoded once, at the commit.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        committed: Values,
        last_seq: int,
        positions: dict[int, int],
    ) -> None:
        self._connection = connection
        self._committed = committed
        self._values: dict[str, Held] = {}
        self._steps: list[tuple[Any, ...]] = []
        self._versions: list[tuple[Any, ...]] = []
        self._decided: list[tuple[str, str, int, str]] = []
        self._seen: set[tuple[int, int]] = set()
        self._again: list[tuple[str, str, int]] = []
        self._dead: dict[tuple[int, int], tuple[Any, ...]] = {}
        self._resolved: list[tuple[int, int]] = []
        self._counts: Counter[str] = Counter()
        self._start = positions
        self.positions = dict(positions)
        self.last_seq = last_seq

    def get(self, key: str, kind: type[Value]) -> Value | None:
        held = self._values.get(key)
        if held is None:
            return self._committed.get(self._connection, key, kind)
        return as_kind(key, held, kind)

    def put(self, key: str, value: msgspec.Struct) -> None:
        self._values[key] = value

    def delete(self, key: str) -> None:
        self._values[key] = GONE

    def isolated(self) -> Isolated:
        """A context manager for one event: a ``State`` over this one whose changes are merged at
        its end and dropped on an exception, while the rest of the batch stays."""
        return Isolated(self)

    def add_step(
        self,
        *,
        partition: int,
        offset: int,
        scope: str,
        event_id: str,
        event: Event | None,
        derived: Sequence[Event],
        outcome: str | None = None,
    ) -> Step:
        """Appends one raw event and what it led to; the step has the next seq.

        Its outcome is the one given, or the one that a ``write.decided`` among ``derived`` names
        for it; a decision about an earlier event (a review) changes that one's outcome.
        """
        if len(derived) > MOST_DERIVED:
            raise ProjectionDamaged(
                f"event {event_id}: it led to {quantity(len(derived), 'event')}, at most "
                f"{MOST_DERIVED} fit "
                "in a step; mend: see which processor repeats itself"
            )
        seq = self.last_seq + 1
        decided = decisions(derived)
        outcome = decided.pop(event_id, outcome)
        if outcome is None:
            outcome = DEAD_LETTERED if (partition, offset) in self._dead else UNDECIDED
        blob = encode_derived(derived)
        versions = version_rows(seq, derived)
        self._steps.append((seq, partition, offset, scope, event_id, outcome, blob))
        self._versions += versions
        self._counts[outcome] += 1
        at = partition, offset
        if offset < self._start.get(partition, 0) or at in self._seen:
            self._again.append((scope, event_id, seq))
        for other, changed in decided.items():
            self._decided.append((scope, other, seq, changed))
        self._seen.add(at)
        self.last_seq = seq
        records = tuple([(row[7], row[6]) for row in versions])
        return Step(seq, partition, offset, scope, event_id, event, tuple(derived), records)

    def advance(self, partition: int, offset: int) -> None:
        """The partition is processed up to, not including, this offset."""
        self.positions[partition] = offset

    def add_dead_letter(
        self,
        *,
        partition: int,
        offset: int,
        scope: str,
        event_id: str,
        attempts: int,
        error: str,
        retry_at: datetime | None,
    ) -> None:
        """Records a failure, or one more of the same event. Before the event's ``add_step``,
        which then counts it as dead-lettered."""
        micros = None if retry_at is None else to_micros(retry_at)
        row = (partition, offset, scope, event_id, attempts, error, micros, 0)
        self._dead[partition, offset] = row

    def resolve_dead_letter(self, partition: int, offset: int) -> None:
        """The event went through after all; add its step as well."""
        self._dead.pop((partition, offset), None)
        self._resolved.append((partition, offset))

    def write(self) -> None:
        """Writes everything, for the store to commit."""
        many = self._connection.executemany
        many("INSERT INTO steps VALUES (?,?,?,?,?,?,?)", self._steps)
        many("INSERT INTO versions VALUES (?,?,?,?,?,?,?,?)", self._versions)
        self._committed.write(self._connection, self._values)
        many("REPLACE INTO positions VALUES (?, ?)", list(self.positions.items()))
        many("REPLACE INTO dead_letters VALUES (?,?,?,?,?,?,?,?)", list(self._dead.values()))
        resolve = "UPDATE dead_letters SET resolved = 1 WHERE partition = ? AND offset = ?"
        many(resolve, self._resolved)
        self._change_outcomes()
        add = (
            "INSERT INTO outcomes VALUES (?, ?)"
            " ON CONFLICT(outcome) DO UPDATE SET count = count + excluded.count"
        )
        many(add, [(outcome, count) for outcome, count in self._counts.items() if count])

    def keep(self) -> None:
        """Once the store has committed: what was put is the state now."""
        self._committed.keep(self._values)

    def _change_outcomes(self) -> None:
        # An event with an earlier step counts once, as what its newest step says.
        before = (
            "SELECT outcome, seq FROM steps WHERE scope = ? AND event_id = ? AND seq < ?"
            " ORDER BY seq DESC LIMIT 1"
        )
        for again in self._again:
            found = self._connection.execute(before, again).fetchone()
            if found is not None:
                self._counts[found[0]] -= 1
        for scope, event_id, seq, outcome in self._decided:
            found = self._connection.execute(before, (scope, event_id, seq)).fetchone()
            if found is not None and found[0] != outcome:
                update = "UPDATE steps SET outcome = ? WHERE seq = ?"
                self._connection.execute(update, (outcome, found[1]))
                self._counts[found[0]] -= 1
                self._counts[outcome] += 1


class Isolated:
    """``Transaction.isolated``: the changes of one event, until it has gone through."""

    __slots__ = ("_below", "_values")

    def __init__(self, below: Transaction) -> None:
        self._below = below
        self._values: dict[str, Held] = {}

    def get(self, key: str, kind: type[Value]) -> Value | None:
        held = self._values.get(key)
        return self._below.get(key, kind) if held is None else as_kind(key, held, kind)

    def put(self, key: str, value: msgspec.Struct) -> None:
        self._values[key] = value

    def delete(self, key: str) -> None:
        self._values[key] = GONE

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self._below._values.update(self._values)
        self._values = {}

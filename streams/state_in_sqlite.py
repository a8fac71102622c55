"""The state store: processor state and derived topics of one generation, in one SQLite file.

Public: ``StateStore`` and ``DeadLetter``; what a batch writes through is ``state_transaction``.

One process writes (the one that holds the worker lease, or an erasure); any number of threads and
processes read. State, derived events, memory versions, outcomes and the log position of a batch
are committed together, so after a crash the batch either happened or did not. Everything here
can be rebuilt from the log: a damaged file is reported and rebuilt, never repaired.
"""

from __future__ import annotations

import sqlite3
import threading
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from memstream.projections.projection import VOID, Generation, Step
from memstream.schemas.errors import ProjectionDamaged, WrongGeneration
from memstream.schemas.instants import from_micros, to_micros
from memstream.schemas.memories import UNDECIDED, Memory, Recorded, Status, Tally
from memstream.streams.sqlite_files import (
    WAIT_SECONDS,
    Readers,
    connect,
    open_file,
    roll_back,
    stated,
    transaction,
    truncate_wal,
)
from memstream.streams.state_rows_in_sqlite import (
    STATE_FILE,
    decode_derived,
    with_expiry,
)
from memstream.streams.state_transaction import Transaction
from memstream.streams.state_values import Values, encode

_LAST_SEQ = "SELECT coalesce(max(seq), 0) FROM steps"
_RECORDS = "SELECT vid, record, digest FROM versions WHERE vid BETWEEN ? AND ? ORDER BY vid"

encode_text = msgspec.json.Encoder().encode


class DeadLetter(msgspec.Struct, frozen=True):
    """An event whose processing failed. ``attempts`` so far; no ``retry_at``: only on demand."""

    partition: int
    offset: int
    scope: str
    event_id: str
    attempts: int
    error: str
    retry_at: datetime | None
    resolved: bool


class StateStore:
    """State and derived topics of one generation. Share it between threads; not over a fork."""

    def __init__(
        self, path: Path, connection: sqlite3.Connection, wait_s: float, values: Values
    ) -> None:
        self.path = path
        self._writer = connection
        self._readers = Readers(lambda: connect(path, STATE_FILE, wait_s=wait_s))
        self._writing = threading.RLock()
        self._values = values
        self._seen_version = -1
        self._last_seq = 0
        self._positions: dict[int, int] = {}
        self._in_transaction = False

    @classmethod
    def open(
        cls,
        path: Path,
        generation: Generation | None,
        *,
        wait_s: float = WAIT_SECONDS,
        values: Values | None = None,
    ) -> StateStore:
        """The store at ``path``, created for the generation if it is not there.

        ``None`` opens what is there, whatever its generation; ``values`` sets how many values are
        held in memory. Raises ``WrongGeneration`` for
        another stamp, ``ProjectionDamaged`` for a file that is no such store or is corrupt, and
        ``FileUnavailable`` for one that cannot be used now.
        """
        if generation is None:
            connection = connect(path, STATE_FILE, wait_s=wait_s)
        else:
            stamp = ("INSERT INTO meta VALUES ('generation', ?)", (encode(generation),))
            connection = open_file(path, STATE_FILE, first=[stamp], wait_s=wait_s)
        store = cls(path, connection, wait_s, Values() if values is None else values)
        try:
            found = store.generation()
            if generation is not None and found != generation:
                raise WrongGeneration(
                    f"state store {path}: built by {found}, this is {generation}; mend: rebuild "
                    "it from the log, or open it with what built it"
                )
        except BaseException:
            connection.close()
            raise
        return store

    def generation(self) -> Generation:
        """The stamp of the file."""
        found = self._rows("SELECT value FROM meta WHERE name = 'generation'")
        try:
            return msgspec.json.decode(found[0][0], type=Generation)
        except (IndexError, msgspec.DecodeError) as error:
            raise ProjectionDamaged(
                f"state store {self.path}: it has no generation stamp; mend: {STATE_FILE.mend}"
            ) from error

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """One batch: committed whole at the end; rolled back whole, caches too, on any exception.

        Holds the file's write lock meanwhile. What another process wrote since the last one (an
        erasure) is noticed here and the cache dropped.
        """
        with self._writing, self._failing("written"):
            if self._in_transaction:
                raise RuntimeError("a transaction of this store is open in this thread already")
            self._writer.execute("BEGIN IMMEDIATE")
            self._in_transaction = True
            try:
                self._catch_up()
                batch = Transaction(self._writer, self._values, self._last_seq, self._positions)
                yield batch
                batch.write()
                self._writer.execute("COMMIT")
            except BaseException:
                roll_back(self._writer)
                raise
            finally:
                self._in_transaction = False
            batch.keep()
            self._last_seq = batch.last_seq
            self._positions = batch.positions

    def positions(self) -> dict[int, int]:
        """By partition, the offset to read next."""
        return dict(self._rows("SELECT partition, offset FROM positions ORDER BY partition"))

    def last_seq(self) -> int:
        """The seq of the last step, 0 for none."""
        return int(self._rows(_LAST_SEQ)[0][0])

    def steps_from(self, after: int, limit: int) -> list[Step]:
        """Up to ``limit`` steps after seq ``after``, without gaps, without their raw event (the
        log has it). Of an erased event the step is there and ``derived`` is empty."""
        query = "SELECT * FROM steps WHERE seq > ? ORDER BY seq LIMIT ?"
        return self._steps(query, after, limit, contiguous=True)

    def steps_of(self, scope: str, event_id: str) -> list[Step]:
        """Every step of one event: one, or more where it was tried or derived again."""
        query = "SELECT * FROM steps WHERE scope = ? AND event_id = ? ORDER BY seq"
        return self._steps(query, scope, event_id, contiguous=False)

    def outcome_of(self, scope: str, event_id: str) -> str | None:
        """The event's outcome as it stands now; None for an event that was not processed."""
        query = "SELECT outcome FROM steps WHERE scope = ? AND event_id = ? ORDER BY seq DESC"
        found = self._rows(query + " LIMIT 1", scope, event_id)
        return str(found[0][0]) if found else None

    def memories_of(self, scope: str, memory: str | None = None) -> list[Memory]:
        """All versions of a scope's memories (or of one), by id and version, ``expired_at``
        filled in: a version expires when the next one was made."""
        query = "SELECT record FROM versions WHERE scope = ?"
        values = [scope]
        if memory is not None:
            query += " AND memory = ?"
            values.append(memory)
        found = self._rows(query + " ORDER BY memory, version, vid", *values)
        return with_expiry([record for (record,) in found])

    def undecided(self, scopes: Collection[str]) -> dict[Status, int]:
        """How many memories of the scopes wait for a review, by status. Costs nothing where no
        event of the whole store does, as in most."""
        if not {"held", "quarantined"} & self.outcomes().keys():
            return {}
        counts = Counter[Status]()
        query = (
            "SELECT status, count(*) FROM (SELECT status, max(vid) FROM versions WHERE scope = ?1"
            " AND memory IN (SELECT memory FROM versions WHERE scope = ?1 AND status IN (?2, ?3))"
            " GROUP BY memory) WHERE status IN (?2, ?3) GROUP BY status ORDER BY status"
        )
        for scope in scopes:
            counts.update(dict(self._rows(query, scope, *UNDECIDED)))
        return dict(counts)

    def tally(self, upto_seq: int | None = None) -> Tally:
        """Count and digest sum of the versions made by steps up to a seq, or of all."""
        query = "SELECT count(*), coalesce(sum(digest), 0) FROM versions WHERE seq <= ?"
        count, checksum = self._rows(query, 2**62 if upto_seq is None else upto_seq)[0]
        return Tally(count, checksum)

    def outcomes(self) -> dict[str, int]:
        """How many processed events have each outcome now, "undecided" and "dead_lettered" among
        them. Exact: an event counts once, so they add up to the events processed."""
        return dict(self._rows("SELECT outcome, count FROM outcomes WHERE count ORDER BY outcome"))

    def dead_letters(
        self, scope: str | None = None, *, due: datetime | None = None, resolved: bool = False
    ) -> list[DeadLetter]:
        """The unresolved (or the resolved) dead letters, oldest first; with ``due``, only those
        whose time to be tried again has come by then."""
        query = "SELECT * FROM dead_letters WHERE resolved = ?"
        values: list[Any] = [resolved]
        if scope is not None:
            query += " AND scope = ?"
            values.append(scope)
        if due is not None:
            query += " AND retry_at <= ?"
            values.append(to_micros(due))
        found = self._rows(query + " ORDER BY partition, offset", *values)
        return [_dead_letter(*each) for each in found]

    def erase_scope(self, scope: str) -> int:
        """Removes everything derived from a scope and every byte of it, and returns how many
        records went. Steps stay, empty and ``VOID``, so that ``seq`` has no gaps and the outcomes
        add up: what is left of the scope is derived again in later steps."""
        return self._erase(scope, None, None)

    def erase_events(self, scope: str, events: Sequence[str], memories: Sequence[str]) -> int:
        """Removes what was derived from these events, every version of these memories, and the
        scope's whole processor state (it mixes content of all events): put the state that the
        remaining events make in a transaction afterwards. Returns how many records went."""
        return self._erase(scope, list(events), list(memories))

    def holds_text(self, text: str, *, outside: str = "") -> bool:
        """Whether any memory version of any scope, or of any ``outside`` one, holds the text, as
        its JSON spells it."""
        spelled = encode_text(text)[1:-1]
        query = "SELECT 1 FROM versions WHERE scope != ? AND instr(record, ?) LIMIT 1"
        return bool(self._rows(query, outside, spelled))

    def scrub(self) -> None:
        """Rewrites the file and empties its write-ahead log: no byte of a removed row is left.
        An erasure calls it; call it again if one was cut off. Needs the file's size once more."""
        with self._writing, self._failing("scrubbed"):
            self._writer.execute("VACUUM")
            truncate_wal(self._writer)

    def close(self) -> None:
        """Idempotent."""
        with self._writing:
            self._readers.close()
            self._writer.close()

    def _erase(self, scope: str, events: list[str] | None, memories: list[str] | None) -> int:
        steps = "UPDATE steps SET derived = x'' WHERE scope = ? AND derived != x''"
        letters = "UPDATE dead_letters SET error = 'erased' WHERE scope = ?"
        versions = "DELETE FROM versions WHERE scope = ?"
        with self._writing, self._failing("rewritten"):
            # Emptied steps and deleted versions count; of dead letters only the message goes.
            with transaction(self._writer):
                if events is None or memories is None:
                    gone = self._writer.execute(steps, (scope,)).rowcount
                    gone += self._writer.execute(versions, (scope,)).rowcount
                    void = "UPDATE steps SET offset = ? WHERE scope = ?"
                    self._writer.execute(void, (VOID, scope))
                    self._writer.execute(letters, (scope,))
                else:
                    by_event = [(scope, each) for each in events]
                    by_memory = [(scope, each) for each in memories]
                    gone = self._changed(steps + " AND event_id = ?", by_event)
                    gone += self._changed(versions + " AND memory = ?", by_memory)
                    self._changed(letters + " AND event_id = ?", by_event)
                self._values.load(self._writer)
                self._values.merge_all(self._writer)
                state = "DELETE FROM kv WHERE key > ? AND key < ?"
                gone += self._writer.execute(state, (scope + "\x1f", scope + "\x20")).rowcount
            self._values.load(self._writer)
            self.scrub()
        return gone

    def _changed(self, statement: str, values: Sequence[tuple[str, str]]) -> int:
        return sum(self._writer.execute(statement, each).rowcount for each in values)

    def _steps(self, query: str, *values: Any, contiguous: bool) -> list[Step]:
        rows: list[Any] = []
        records: dict[int, dict[int, Recorded]] = {}
        with self._failing("read"), self._readers.borrow() as connection:
            # One snapshot: an erasure between the two reads would tear a step apart.
            connection.execute("BEGIN")
            try:
                rows = connection.execute(query, values).fetchall()
                seqs = [row[0] for row in rows]
                ranges = [(seq, seq) for seq in seqs]
                if contiguous and seqs:
                    ranges = [(seqs[0], seqs[-1])]
                for first, last in ranges:
                    between = (first << 16, last << 16 | 0xFFFF)
                    for vid, *recorded in connection.execute(_RECORDS, between).fetchall():
                        records.setdefault(vid >> 16, {})[vid & 0xFFFF] = tuple(recorded)
            finally:
                connection.execute("ROLLBACK")
        return [
            Step(
                seq, partition, offset, scope, event_id, None,
                decode_derived(derived, records.get(seq, {})), tuple(records.get(seq, {}).values()),
            )
            for seq, partition, offset, scope, event_id, _, derived in rows
        ]  # fmt: skip

    def _rows(self, query: str, *values: Any) -> list[Any]:
        with self._failing("read"), self._readers.borrow() as connection:
            return connection.execute(query, values).fetchall()

    def _catch_up(self) -> None:
        (version,) = self._writer.execute("PRAGMA data_version").fetchone()
        if version == self._seen_version:
            return
        self._values.load(self._writer)
        (self._last_seq,) = self._writer.execute(_LAST_SEQ).fetchone()
        self._positions = dict(self._writer.execute("SELECT partition, offset FROM positions"))
        self._seen_version = version

    @contextmanager
    def _failing(self, doing: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise stated(error, self.path, STATE_FILE, doing) from error


def _dead_letter(
    partition: int,
    offset: int,
    scope: str,
    event_id: str,
    attempts: int,
    error: str,
    retry_at: int | None,
    resolved: int,
) -> DeadLetter:
    due = None if retry_at is None else from_micros(retry_at)
    return DeadLetter(
        partition, offset, scope, event_id, attempts, error, due, resolved=bool(resolved)
    )

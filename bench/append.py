"""How fast events become durable, against the same bytes written by bare sqlite3.

    PYTHONPATH=src:. .venv/bin/python bench/append.py

Both sides use the same pragmas (WAL, synchronous=FULL) in the same directory, and take turns, so
that a slow moment of the machine hits both. Bars: batches of 1,000 sealed and appended at least
half as fast as bare ``executemany``; one turn recorded through the API within 1.5 times a bare
commit.
"""

from __future__ import annotations

import argparse
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

from bench.measures import Row, row
from memstream.schemas.codec import Codec, SealedRow
from memstream.schemas.events import Event, Source, TurnRecorded
from memstream.schemas.scope import Scope
from memstream.schemas.sealing import Sealer
from memstream.service.memory import Memory
from memstream.streams.clock import SystemClock, new_id
from memstream.streams.keyring_in_sqlite import SqliteKeyRing
from memstream.streams.log_in_sqlite import SqliteLog

COLUMNS = 14
CHINA = timezone(timedelta(hours=8))
INSERT = f"INSERT INTO plain VALUES ({','.join('?' * COLUMNS)})"


def rows() -> Iterator[Row]:
    """Both bars: batches through the log, and single turns through the API."""
    with tempfile.TemporaryDirectory() as name:
        ours, theirs = batches(Path(name), 1_000, 15)
    yield row("batched append", 1 / ours, "events/s", floor=1 / theirs, at_least=0.5)
    for worker in (False, True):
        with tempfile.TemporaryDirectory() as name:
            ours, theirs = singles(Path(name), 300, worker=worker)
        yield row(
            "record_turn, durable, p50" + (", while the worker works" if worker else ""),
            ours * 1e6,
            "µs",
            floor=theirs * 1e6,
            at_most=None if worker else 1.5,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--singles", type=int, default=500)
    parser.add_argument("--directory", type=Path, default=None)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.directory) as name:
        ours, theirs = batches(Path(name), given.batch, given.rounds)
    print(
        f"batches of {given.batch:,}, per event: {ours * 1e6:.1f} µs, bare {theirs * 1e6:.1f} µs; "
        f"{1 / ours:,.0f} events a second; ours / bare throughput {theirs / ours:.2f} (bar: at "
        "least 0.5)"
    )
    with tempfile.TemporaryDirectory(dir=given.directory) as name:
        ours, theirs = singles(Path(name), given.singles)
    print(
        f"record_turn p50 {ours * 1e6:.1f} µs, bare commit {theirs * 1e6:.1f} µs; ours / bare "
        f"{ours / theirs:.2f} (bar: at most 1.5)"
    )


def batches(directory: Path, batch: int, rounds: int) -> tuple[float, float]:
    """Seconds per event of sealing and appending a batch, and of writing its bytes barely."""
    clock = SystemClock()
    ring = SqliteKeyRing(directory / "keys.db", clock)
    codec = Codec(Sealer(ring))
    log = SqliteLog(directory / "log.db", clock)
    bare = bare_log(directory)
    ring.ensure({event.subject for event in turns(clock, 100)})
    ours, theirs = [], []
    for number in range(rounds):
        events = turns(clock, batch)
        started = time.perf_counter()
        log.append(codec.to_rows(events))
        ours.append((time.perf_counter() - started) / batch)
        values = [plain(number * batch + at, row) for at, row in enumerate(codec.to_rows(events))]
        started = time.perf_counter()
        bare.execute("BEGIN IMMEDIATE")
        bare.executemany(INSERT, values)
        bare.execute("COMMIT")
        theirs.append((time.perf_counter() - started) / batch)
    assert sum(log.end_offsets().values()) == rounds * batch
    log.close()
    ring.close()
    bare.close()
    return statistics.median(ours), statistics.median(theirs)


def singles(directory: Path, count: int, *, worker: bool = False) -> tuple[float, float]:
    """Seconds of one ``record_turn``, and of one bare commit of the same bytes."""
    clock = SystemClock()
    codec = Codec(Sealer(SqliteKeyRing(directory / "keys.db", clock)))
    bare = bare_log(directory)
    ours, theirs = [], []
    with Memory.open(directory / "memory", worker=worker) as memory:
        for number, event in enumerate(turns(clock, count)):
            scope = Scope.parse(event.subject)
            data = event.data
            assert isinstance(data, TurnRecorded)
            started = time.perf_counter()
            memory.record_turn(
                scope, text=data.text, observed_at=event.time, conversation=data.conversation
            )
            ours.append(time.perf_counter() - started)
            values = plain(number, codec.to_row(event))
            started = time.perf_counter()
            bare.execute("BEGIN IMMEDIATE")
            bare.execute(INSERT, values)
            bare.execute("COMMIT")
            theirs.append(time.perf_counter() - started)
        memory.flush()
    bare.close()
    return statistics.median(ours), statistics.median(theirs)


def bare_log(directory: Path) -> sqlite3.Connection:
    """A table of as many columns as the log has, with the log's pragmas."""
    bare = sqlite3.connect(directory / "bare.db", isolation_level=None)
    bare.execute("PRAGMA journal_mode=WAL")
    bare.execute("PRAGMA synchronous=FULL")
    columns = "place INTEGER PRIMARY KEY, b, c, d, e, f, g, h, i, j, k, l, m, n"
    bare.execute(f"CREATE TABLE plain({columns})")
    return bare


def turns(clock: SystemClock, count: int) -> list[Event]:
    """Prepared events: about 180 bytes of data each, twenty scopes, a quarter off UTC."""
    start = datetime(2024, 3, 1, 8, tzinfo=UTC)
    source = Source("user_said", 3, "bench", "append")
    return [
        Event(
            id=new_id(clock),
            type="turn.recorded",
            subject=f"acme/user:u{at % 20}",
            time=(start + timedelta(seconds=at)).astimezone(UTC if at % 4 else CHINA),
            source=source,
            data=TurnRecorded(
                actor="user",
                role="user",
                text=f"Turn {at}: the harvest of plot {at % 977} was weighed again, and the dry "
                "weight is a tenth lower than what the first scale showed.",
                conversation=f"c{at // 50}",
            ),
        )
        for at in range(count)
    ]


def plain(place: int, row: SealedRow) -> tuple[object, ...]:
    return (
        place, place, row.id, row.subject, row.type, 1_709_280_000_000_000 + place, 0,
        row.source_kind, row.trust, row.runtime, row.run, row.dataversion, row.key_id, row.payload,
    )  # fmt: skip


if __name__ == "__main__":
    main()

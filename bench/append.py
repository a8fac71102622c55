"""How fast events become durable, against the same bytes written by bare sqlite3.

    PYTHONPATH=src .venv/bin/python bench/append.py

Both sides use the same pragmas (WAL, synchronous=FULL) in the same directory, and take turns, so
that a slow moment of the machine hits both. Bars: batches of 1,000 sealed and appended at least
half as fast as bare ``executemany``; one event sealed and appended within 1.5 times a bare commit.
"""

from __future__ import annotations

import argparse
import sqlite3
import statistics
import tempfile
import time
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

from memstream.schemas.codec import Codec, SealedRow
from memstream.schemas.events import Event, Source, TurnRecorded
from memstream.schemas.sealing import Sealer
from memstream.streams.clock import SystemClock, new_id
from memstream.streams.keyring_in_sqlite import SqliteKeyRing
from memstream.streams.log_in_sqlite import SqliteLog

COLUMNS = 14
CHINA = timezone(timedelta(hours=8))
INSERT = f"INSERT INTO plain VALUES ({','.join('?' * COLUMNS)})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--singles", type=int, default=500)
    parser.add_argument("--directory", type=Path, default=None)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.directory) as name:
        measure(Path(name), given.batch, given.rounds, given.singles)


def measure(directory: Path, batch: int, rounds: int, singles: int) -> None:
    clock = SystemClock()
    ring = SqliteKeyRing(directory / "keys.db", clock)
    codec = Codec(Sealer(ring))
    log = SqliteLog(directory / "log.db", clock)
    bare = sqlite3.connect(directory / "bare.db", isolation_level=None)
    bare.execute("PRAGMA journal_mode=WAL")
    bare.execute("PRAGMA synchronous=FULL")
    columns = "place INTEGER PRIMARY KEY, b, c, d, e, f, g, h, i, j, k, l, m, n"
    bare.execute(f"CREATE TABLE plain({columns})")
    ring.ensure({event.subject for event in turns(clock, 100)})

    ours, theirs = [], []
    count = 0
    for _ in range(rounds):
        events = turns(clock, batch)
        started = time.perf_counter()
        log.append([codec.to_row(event) for event in events])
        ours.append((time.perf_counter() - started) / batch)
        values = [plain(count + at, codec.to_row(event)) for at, event in enumerate(events)]
        count += batch
        started = time.perf_counter()
        bare.execute("BEGIN IMMEDIATE")
        bare.executemany(INSERT, values)
        bare.execute("COMMIT")
        theirs.append((time.perf_counter() - started) / batch)
    show(f"batches of {batch:,}, per event", ours, theirs)
    print(
        f"  {1 / statistics.median(ours):,.0f} events a second; ours / bare throughput "
        f"{statistics.median(theirs) / statistics.median(ours):.2f} (bar: at least 0.5)"
    )

    ours, theirs = [], []
    for event in turns(clock, singles):
        started = time.perf_counter()
        log.append([codec.to_row(event)])
        ours.append(time.perf_counter() - started)
        values_of_one = plain(count, codec.to_row(event))
        count += 1
        started = time.perf_counter()
        bare.execute("BEGIN IMMEDIATE")
        bare.execute(INSERT, values_of_one)
        bare.execute("COMMIT")
        theirs.append(time.perf_counter() - started)
    show("single durable events", ours, theirs)
    ratio = statistics.median(ours) / statistics.median(theirs)
    print(f"  p50 ours / p50 bare {ratio:.2f} (bar: at most 1.5)")
    assert sum(log.end_offsets().values()) == rounds * batch + singles
    log.close()
    ring.close()
    bare.close()


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


def show(name: str, ours: list[float], theirs: list[float]) -> None:
    print(f"{name}:")
    for who, seconds in (("memstream", ours), ("bare sqlite3", theirs)):
        ordered = sorted(seconds)
        print(
            f"  {who:<13} p50 {statistics.median(ordered) * 1e6:8.1f} µs   "
            f"p95 {ordered[int(len(ordered) * 0.95)] * 1e6:8.1f} µs"
        )


if __name__ == "__main__":
    main()

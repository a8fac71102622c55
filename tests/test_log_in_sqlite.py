"""The SQLite event log: the suite of every log, and what only a file can do wrong."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))

from log_conformance import START, LogConformance, everything, row

from memstream.schemas.errors import InvalidEvent, LogUnavailable
from memstream.streams.clock import Clock, ManualClock, SystemClock
from memstream.streams.log_in_sqlite import SqliteLog


class TestSqliteLog(LogConformance):
    """The suite of every log, on SQLite."""

    def open_log(self, directory: Path, clock: Clock) -> SqliteLog:
        return SqliteLog(directory / "log.db", clock)

    def program(self, directory: Path) -> str:
        return _opening(directory)


def _opening(directory: Path) -> str:
    return (
        "from pathlib import Path\n"
        "from memstream.streams.clock import SystemClock\n"
        "from memstream.streams.log_in_sqlite import SqliteLog\n"
        f"log = SqliteLog(Path({str(directory / 'log.db')!r}), SystemClock())\n"
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.db"


@pytest.fixture
def log(path: Path) -> Iterator[SqliteLog]:
    log = SqliteLog(path, ManualClock(START))
    yield log
    log.close()


@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 5), st.integers(0, 12)), max_size=6),
        max_size=8,
    )
)
def test_any_deliveries_give_the_first_of_each_event_once(
    tmp_path_factory: pytest.TempPathFactory, batches: list[list[tuple[int, int]]]
) -> None:
    log = SqliteLog(tmp_path_factory.mktemp("log") / "log.db", ManualClock(START), partitions=3)
    seen: dict[tuple[str, str], tuple[int, int]] = {}
    for number, batch in enumerate(batches):
        rows = [row(str(i), f"acme/user:u{s}", payload=bytes([number])) for s, i in batch]
        for sent, position in zip(rows, log.append(rows), strict=True):
            place = (position.partition, position.offset)
            assert position.duplicate == ((sent.subject, sent.id) in seen)
            assert seen.setdefault((sent.subject, sent.id), place) == place
    assert sorted(seen.values()) == [(each.partition, each.offset) for each in everything(log)]
    assert log.counts() == log.end_offsets()
    log.close()


@given(
    st.datetimes(datetime(1000, 1, 2), datetime(8999, 12, 30)),
    st.timedeltas(timedelta(hours=-23), timedelta(hours=23)),
)
def test_any_instant_keeps_its_offset_to_the_microsecond(
    tmp_path_factory: pytest.TempPathFactory, naive: datetime, away: timedelta
) -> None:
    log = SqliteLog(tmp_path_factory.mktemp("log") / "log.db", ManualClock(START), partitions=1)
    time = naive.replace(tzinfo=timezone(away))
    log.append([row("a", time=time)])
    found = log.read(0, 0, 1)[0].row.time
    assert (found, found.utcoffset(), found.replace(tzinfo=None)) == (time, away, naive)
    log.close()


def test_partitions_are_fixed_when_the_log_is_created(path: Path) -> None:
    SqliteLog(path, ManualClock(START), partitions=7).close()
    log = SqliteLog(path, ManualClock(START))
    assert log.partitions == 7
    log.close()
    with pytest.raises(LogUnavailable, match="has 7 partitions, 4 were asked for; mend"):
        SqliteLog(path, ManualClock(START), partitions=4)
    with pytest.raises(LogUnavailable, match="0 partitions; mend"):
        SqliteLog(path.with_name("other.db"), ManualClock(START), partitions=0)


def test_a_file_of_another_kind_is_refused_and_left_alone(path: Path) -> None:
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE recipes(name)")
    other.commit()
    other.close()
    before = path.read_bytes()
    with pytest.raises(LogUnavailable, match=r"of another kind.*mend"):
        SqliteLog(path, SystemClock())
    assert path.read_bytes() == before


def test_a_newer_schema_is_refused(path: Path) -> None:
    SqliteLog(path, SystemClock()).close()
    file = sqlite3.connect(path)
    file.execute("PRAGMA user_version=99")
    file.close()
    with pytest.raises(LogUnavailable, match=r"version 99 is newer.*upgrade"):
        SqliteLog(path, SystemClock())


@pytest.mark.parametrize("left", [0, 40, 1000, 4096, 9000])
def test_a_truncated_file_is_stated(path: Path, left: int) -> None:
    log = SqliteLog(path, SystemClock())
    log.append([row(str(at)) for at in range(200)])
    log.close()
    os.truncate(path, left)
    with pytest.raises(LogUnavailable, match=r"log\.db.*mend: restore it from a copy"):
        everything(SqliteLog(path, SystemClock()))


def test_a_file_that_is_no_database_is_stated(path: Path) -> None:
    path.write_bytes(b"dear diary, " * 1000)
    with pytest.raises(LogUnavailable, match=r"not a database.*mend"):
        SqliteLog(path, SystemClock())


def test_overwritten_pages_are_stated(path: Path) -> None:
    log = SqliteLog(path, SystemClock())
    log.append([row(str(at), f"acme/user:u{at}") for at in range(300)])
    log.close()
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (path.stat().st_size - 4096))
    with pytest.raises(LogUnavailable, match="damaged; mend"):
        everything(SqliteLog(path, SystemClock()))


def test_a_missing_directory_and_a_lost_file_are_stated(path: Path) -> None:
    with pytest.raises(LogUnavailable, match=r"cannot be created.*mend"):
        SqliteLog(path.parent / "nowhere" / "log.db", SystemClock())
    path.with_name("log.db-wal").write_bytes(b"left over")
    with pytest.raises(LogUnavailable, match=r"missing but log.db-wal is there.*mend"):
        SqliteLog(path, SystemClock())


def test_a_full_disk_leaves_nothing_half_appended(log: SqliteLog, path: Path) -> None:
    log.append([row("first")])
    before = everything(log)
    (pages,) = log._writer.execute("PRAGMA page_count").fetchone()
    log._writer.execute(f"PRAGMA max_page_count={pages + 20}")
    batch = [row(f"n{at}", payload=b"x" * 3000) for at in range(100)]
    with pytest.raises(LogUnavailable, match="full; nothing was written; mend: free disk space"):
        log.append(batch)
    assert everything(log) == before
    assert log.append([row("still fits")])[0].offset == before[-1].offset + 1
    log._writer.execute("PRAGMA max_page_count=1000000")
    assert not any(position.duplicate for position in log.append(batch))


def test_a_file_size_limit_is_stated_and_loses_nothing(path: Path) -> None:
    source = _opening(path.parent) + _LIMITED
    done = subprocess.run(
        [sys.executable, "-c", source, str(Path(__file__).parent)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "disk I/O error" in done.stdout
    assert "mend" in done.stdout
    log = SqliteLog(path, SystemClock())
    assert [entry.row.id for entry in log.of_subject("acme/user:ada")] == ["first"]
    log.close()


_LIMITED = """
import resource, sys
sys.path.insert(0, sys.argv[1])
from log_conformance import row
from memstream.schemas.errors import LogUnavailable

log.append([row("first")])
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
try:
    log.append([row(f"n{at}", payload=b"x" * 3000) for at in range(300)])
except LogUnavailable as error:
    print(error)
"""


def test_a_really_full_file_system_is_stated(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", str(disk)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this user cannot mount a small file system")
    try:
        log = SqliteLog(disk / "log.db", SystemClock())
        kept: list[str] = []

        def fill() -> None:
            for at in range(300):
                log.append([row(str(at), payload=b"x" * 5000)])
                kept.append(str(at))

        with pytest.raises(LogUnavailable, match=r"full|I/O error"):
            fill()
        assert len(kept) > 10
        assert [entry.row.id for entry in log.of_subject("acme/user:ada")] == kept
        log.close()
        log = SqliteLog(disk / "log.db", SystemClock())
        assert [entry.row.id for entry in log.of_subject("acme/user:ada")] == kept
        log.close()
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_lock_held_too_long_is_stated(path: Path) -> None:
    log = SqliteLog(path, SystemClock(), wait_s=0.05)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LogUnavailable, match=r"locked; another process held its lock.*mend"):
        log.append([row("a")])
    other.execute("ROLLBACK")
    other.close()
    assert not log.append([row("a")])[0].duplicate
    log.close()


def test_a_row_that_cannot_be_stored_fails_alone(log: SqliteLog) -> None:
    with pytest.raises(InvalidEvent, match="cannot be stored"):
        log.append([row("fine"), row("bad", run="\ud800")])
    with pytest.raises(InvalidEvent, match="UTC offset"):
        log.append([row("naive", time=datetime(2024, 1, 1))])
    with pytest.raises(InvalidEvent, match="cannot be stored"):
        log.append([row("big", dataversion=2**70)])
    assert everything(log) == []
    assert log.append([row("fine")])[0].offset == 0


def test_a_closed_log_says_so(path: Path) -> None:
    log = SqliteLog(path, SystemClock())
    log.close()
    log.close()
    with pytest.raises(LogUnavailable, match="closed"):
        log.append([row("a")])
    with pytest.raises(LogUnavailable, match="closed"):
        log.end_offsets()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_a_log_carried_over_a_fork_is_refused(log: SqliteLog) -> None:
    child = os.fork()
    if child == 0:
        try:
            log.append([row("a")])
        except LogUnavailable as error:
            os._exit(0 if "fork" in str(error) else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_what_was_acknowledged_survives_a_kill(path: Path) -> None:
    source = _opening(path.parent) + _ENDLESS
    writer = subprocess.Popen(
        [sys.executable, "-c", source, str(Path(__file__).parent)], stdout=subprocess.PIPE
    )
    assert writer.stdout is not None
    acknowledged = [writer.stdout.readline().strip() for _ in range(40)]
    writer.send_signal(signal.SIGKILL)
    acknowledged += [line.strip() for line in writer.stdout.read().splitlines(keepends=False)]
    writer.wait()
    log = SqliteLog(path, SystemClock())
    there = [entry.row.id.encode() for entry in log.of_subject("acme/user:ada")]
    assert there[: len(acknowledged)] == acknowledged
    assert len(there) <= len(acknowledged) + 1
    assert not log.append([row("after")])[0].duplicate
    log.close()


_ENDLESS = """
import itertools, os, sys
sys.path.insert(0, sys.argv[1])
from log_conformance import row

for at in itertools.count():
    log.append([row(str(at))])
    os.write(1, b"%d\\n" % at)
"""


@pytest.mark.parametrize("compact", [False, True])
def test_replaced_bytes_are_in_no_file(log: SqliteLog, path: Path, compact: bool) -> None:
    def secret(at: int) -> bytes:
        return f"ciphertext-{at:05}-".encode() * (1 + at % 90)

    for start in range(0, 900, 60):
        span = range(start, start + 60)
        log.append([row(str(at), f"acme/user:u{at % 7}", payload=secret(at)) for at in span])
    for at in range(7):
        entries = [
            msgspec.structs.replace(
                entry, row=msgspec.structs.replace(entry.row, key_id="key-2", payload=b"gone")
            )
            for entry in log.of_subject(f"acme/user:u{at}")
        ]
        log.replace_all(entries)
    log.scrub(compact=compact)
    for file in path.parent.iterdir():
        assert b"ciphertext-" not in file.read_bytes(), file
    assert {entry.row.payload for entry in everything(log)} == {b"gone"}
    assert log.counts() == log.end_offsets()


def test_the_write_ahead_log_stays_small(log: SqliteLog, path: Path) -> None:
    for batch in range(60):
        log.append([row(f"{batch}-{at}", payload=b"x" * 2000) for at in range(100)])
    assert path.stat().st_size > 10_000_000
    assert path.with_name("log.db-wal").stat().st_size < 10_000_000

"""The SQLite key ring: the suite of every ring, and what only a file does."""

from __future__ import annotations

import os
import sqlite3
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

sys.path.insert(0, str(Path(__file__).parent))

from keyring_conformance import ADA, KeyRingConformance

from memstream.schemas.errors import KeyDestroyed, LogUnavailable
from memstream.streams.clock import Clock, SystemClock
from memstream.streams.keyring_in_sqlite import SqliteKeyRing
from memstream.streams.sqlite_files import FileUnavailable


class TestSqliteKeyRing(KeyRingConformance):
    """The suite of every key ring, on SQLite."""

    def open_ring(self, directory: Path, clock: Clock) -> SqliteKeyRing:
        return SqliteKeyRing(directory / "keys.db", clock)

    def program(self, directory: Path) -> str:
        return (
            "from pathlib import Path\n"
            "from memstream.streams.clock import SystemClock\n"
            "from memstream.streams.keyring_in_sqlite import SqliteKeyRing\n"
            f"ring = SqliteKeyRing(Path({str(directory / 'keys.db')!r}), SystemClock())\n"
        )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "keys.db"


@pytest.fixture
def ring(path: Path) -> Iterator[SqliteKeyRing]:
    ring = SqliteKeyRing(path, SystemClock())
    yield ring
    ring.close()


def in_no_file(directory: Path, key: bytes) -> bool:
    return not any(key in file.read_bytes() for file in directory.iterdir())


def test_a_destroyed_key_is_in_no_file_and_known_to_be_destroyed(
    ring: SqliteKeyRing, path: Path
) -> None:
    # Enough subjects that pages split and rows move.
    ring.ensure([f"acme/user:u{number}" for number in range(700)])
    gone = {}
    for number in range(0, 700, 37):
        subject = f"acme/user:u{number}"
        key_id, key = ring.key_for(subject)
        assert not in_no_file(path.parent, key)
        assert ring.destroy(subject) == [key_id]
        gone[key_id] = key
        assert in_no_file(path.parent, key)
        assert ring.destroyed(subject) == [key_id]
    ring.close()
    again = SqliteKeyRing(path, SystemClock())
    for key_id in gone:
        with pytest.raises(KeyDestroyed, match="gone for good"):
            again.key_by_id(key_id)
    assert again.key_for("acme/user:u0")[0] not in gone
    assert again.destroy("acme/user:never-seen") == []
    again.close()


def test_a_process_that_died_while_destroying_leaves_no_stale_cache(path: Path) -> None:
    ring = SqliteKeyRing(path, SystemClock())
    before = ring.key_for(ADA)
    # What such a process leaves behind: the odd number, and here also its committed deletion.
    ring._epoch[:] = (2**32 + 1).to_bytes(8, "little")
    assert ring.key_for(ADA) == before
    other = sqlite3.connect(path)
    other.execute("UPDATE keys SET key = NULL, current = 0")
    other.commit()
    other.close()
    after = ring.key_for(ADA)
    assert after[0] != before[0]
    again = SqliteKeyRing(path, SystemClock())
    assert int.from_bytes(ring._epoch[:], "little") == 2**32 + 2
    assert again.key_for(ADA) == ring.key_for(ADA) == after
    ring.close()
    again.close()


@pytest.mark.skipif(os.name == "nt", reason="no such file modes there")
def test_the_file_is_private_and_an_open_one_is_closed_with_a_warning(path: Path) -> None:
    ring = SqliteKeyRing(path, SystemClock())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    ring.close()
    path.chmod(0o644)
    with capture_logs() as logs:
        SqliteKeyRing(path, SystemClock()).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [(each["event"], each["mode"]) for each in logs] == [
        ("key_ring_was_readable_by_others", "0o644")
    ]


def test_what_cannot_be_used_is_stated(path: Path) -> None:
    with pytest.raises(LogUnavailable, match=r"key ring .*cannot be created.*mend"):
        SqliteKeyRing(path.parent / "nowhere" / "keys.db", SystemClock())
    path.write_bytes(b"")
    with pytest.raises(FileUnavailable, match="empty, it was truncated; mend"):
        SqliteKeyRing(path, SystemClock())
    path.write_bytes(b"not keys " * 999)
    with pytest.raises(FileUnavailable, match="damaged; mend: restore it from a copy"):
        SqliteKeyRing(path, SystemClock())


def test_a_full_disk_makes_no_key(ring: SqliteKeyRing) -> None:
    ring.key_for(ADA)
    (pages,) = ring._connection.execute("PRAGMA page_count").fetchone()
    ring._connection.execute(f"PRAGMA max_page_count={pages}")
    with pytest.raises(FileUnavailable, match="full; nothing was written; mend"):
        ring.ensure([f"acme/user:u{number}" for number in range(500)])
    ring._connection.execute("PRAGMA max_page_count=100000")
    ring.ensure([f"acme/user:u{number}" for number in range(500)])
    assert len({ring.key_for(f"acme/user:u{number}") for number in range(500)}) == 500

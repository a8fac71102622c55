"""The SQLite key ring: keys agree between processes, and a destroyed one is gone everywhere."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest
from structlog.testing import capture_logs

from memstream.schemas.errors import KeyDestroyed, LogUnavailable, SealBroken
from memstream.schemas.sealing import KEY_BYTES, NONCE_BYTES, KeyRing, Sealer
from memstream.streams.clock import ManualClock, SystemClock
from memstream.streams.keyring_in_sqlite import SqliteKeyRing
from memstream.streams.sqlite_files import FileUnavailable

ADA = "acme/user:ada"


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


def test_a_subject_has_one_key_and_keeps_it(ring: KeyRing, path: Path) -> None:
    key_id, key = ring.key_for(ADA)
    assert UUID(key_id).version == 4
    assert len(key) == KEY_BYTES
    assert ring.key_for(ADA) == (key_id, key)
    assert ring.key_by_id(key_id) == key
    assert ring.key_for("acme/user:bob")[1] != key
    ring.close()
    again = SqliteKeyRing(path, SystemClock())
    assert again.key_for(ADA) == (key_id, key)
    again.close()


def test_keys_come_from_the_clock_that_was_given(tmp_path: Path) -> None:
    start = datetime(2024, 1, 1, tzinfo=UTC)
    one = SqliteKeyRing(tmp_path / "one.db", ManualClock(start, seed=5))
    two = SqliteKeyRing(tmp_path / "two.db", ManualClock(start, seed=5))
    assert one.key_for(ADA) == two.key_for(ADA)
    assert one.nonce() == two.nonce()


def test_an_unknown_key_is_no_destroyed_key(ring: SqliteKeyRing) -> None:
    with pytest.raises(SealBroken, match=r"not in key ring.*mend"):
        ring.key_by_id("b7a4a6d2-0000-4000-8000-000000000000")


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


def test_rotation_keeps_old_keys_readable_until_they_are_destroyed(
    ring: SqliteKeyRing, path: Path
) -> None:
    old_id, old = ring.key_for(ADA)
    new_id, new = ring.rotate(ADA)
    assert new_id != old_id
    assert ring.key_for(ADA) == (new_id, new)
    assert ring.key_by_id(old_id) == old
    newest_id, newest = ring.rotate(ADA)
    assert ring.destroy(ADA, older_than=new_id) == [old_id]
    assert ring.key_for(ADA) == (newest_id, newest)
    assert ring.key_by_id(new_id) == new
    assert in_no_file(path.parent, old)
    with pytest.raises(KeyDestroyed):
        ring.key_by_id(old_id)
    with pytest.raises(SealBroken, match="not in key ring"):
        ring.destroy(ADA, older_than="no such key")
    assert ring.destroy(ADA) == [new_id, newest_id]
    assert ring.destroyed(ADA) == [old_id, new_id, newest_id]


def test_two_rings_on_one_file_never_use_a_destroyed_key(ring: SqliteKeyRing, path: Path) -> None:
    other = SqliteKeyRing(path, SystemClock())
    for _ in range(20):
        old_id, old = other.key_for(ADA)
        assert other.key_by_id(old_id) == old
        ring.destroy(ADA)
        assert other.key_for(ADA)[0] != old_id
        with pytest.raises(KeyDestroyed):
            other.key_by_id(old_id)
    new_id = ring.rotate(ADA)[0]
    assert other.key_for(ADA)[0] == new_id
    other.close()


def test_another_process_stops_using_a_key_at_once(ring: SqliteKeyRing, path: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-u", "-c", _ASKING, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdin is not None
    assert child.stdout is not None

    def asked() -> str:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write("?\n")
        child.stdin.flush()
        return child.stdout.readline().strip()

    for _ in range(30):
        mine = ring.key_for(ADA)[0]
        assert asked() == mine
        ring.destroy(ADA)
        assert asked() != mine
    child.stdin.close()
    assert child.wait(timeout=30) == 0


_OPENING = """
import sys
from pathlib import Path
from memstream.streams.clock import SystemClock
from memstream.streams.keyring_in_sqlite import SqliteKeyRing
ring = SqliteKeyRing(Path(sys.argv[1]), SystemClock())
"""
_ASKING = (
    _OPENING
    + """
for line in sys.stdin:
    print(ring.key_for("acme/user:ada")[0])
"""
)


def test_processes_that_make_the_first_key_at_once_agree(path: Path) -> None:
    source = _OPENING + "print(*(ring.key_for(f'acme/user:u{n}')[0] for n in range(30)))"
    children = [
        subprocess.Popen(
            [sys.executable, "-c", source, str(path)], stdout=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    answers = {child.communicate(timeout=60)[0] for child in children}
    assert len(answers) == 1
    assert len(answers.pop().split()) == 30


def test_threads_share_a_ring(ring: SqliteKeyRing) -> None:
    found: list[tuple[str, bytes]] = []
    nonces: list[bytes] = []

    def work() -> None:
        for number in range(200):
            found.append(ring.key_for(f"acme/user:u{number % 10}"))
            nonces.extend(ring.nonce() for _ in range(10))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 10
    assert len(set(nonces)) == len(nonces) == 12_000
    assert {len(nonce) for nonce in nonces} == {NONCE_BYTES}


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


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_a_ring_carried_over_a_fork_gives_no_nonce_and_no_new_key(ring: SqliteKeyRing) -> None:
    ring.nonce()
    child = os.fork()
    if child == 0:
        refused = 0
        for call in (ring.nonce, lambda: ring.key_for("acme/user:new")):
            try:
                call()
            except FileUnavailable as error:
                refused += "fork" in str(error)
        os._exit(0 if refused == 2 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(ring.nonce()) == NONCE_BYTES


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


def test_a_sealer_on_the_ring_seals_and_after_an_erasure_no_longer_opens(
    ring: SqliteKeyRing,
) -> None:
    sealer = Sealer(ring)
    key_id, sealed = sealer.seal(ADA, b"event 1", b"a quiet word")
    assert sealer.open(key_id, b"event 1", sealed) == b"a quiet word"
    with pytest.raises(SealBroken):
        sealer.open(key_id, b"event 2", sealed)
    ring.destroy(ADA)
    sealer.forget()
    with pytest.raises(KeyDestroyed):
        sealer.open(key_id, b"event 1", sealed)
    assert sealer.seal(ADA, b"event 3", b"after")[0] != key_id

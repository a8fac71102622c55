"""The worker lease: one holder, in threads and processes, and free when the holder dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from memstream.schemas.errors import LeaseHeld
from memstream.streams.clock import SystemClock
from memstream.streams.lease import WorkerLease
from memstream.streams.sqlite_files import FileUnavailable


def test_one_at_a_time_within_a_process(tmp_path: Path) -> None:
    one, two = WorkerLease(tmp_path, SystemClock()), WorkerLease(tmp_path, SystemClock())
    assert one.acquire()
    assert one.acquire()
    assert one.held
    assert not two.acquire()
    assert not two.held
    two.release()
    assert not two.acquire()
    one.release()
    one.release()
    assert not one.held
    assert two.acquire()
    two.release()


def test_one_at_a_time_between_threads(tmp_path: Path) -> None:
    leases = [WorkerLease(tmp_path, SystemClock()) for _ in range(12)]
    got: list[bool] = []
    start = threading.Barrier(len(leases))

    def work(lease: WorkerLease) -> None:
        start.wait()
        got.append(lease.acquire())

    threads = [threading.Thread(target=work, args=(lease,)) for lease in leases]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got.count(True) == 1
    for lease in leases:
        lease.release()
    assert leases[0].acquire()
    leases[0].release()


def test_another_directory_has_another_lease(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    with WorkerLease(tmp_path, SystemClock()), WorkerLease(other, SystemClock()) as lease:
        assert lease.held


def test_the_holder_is_told_and_named_in_the_error(tmp_path: Path) -> None:
    clock = SystemClock()
    lease = WorkerLease(tmp_path, clock)
    assert lease.holder() is None
    before = clock.now()
    with lease:
        holder = WorkerLease(tmp_path, clock).holder()
        assert holder is not None
        assert holder.pid == os.getpid()
        assert before <= holder.since <= clock.now()
        with (
            pytest.raises(LeaseHeld, match=rf"held by process {os.getpid()} on .*mend"),
            WorkerLease(tmp_path, clock),
        ):
            pass
    assert lease.holder() is None
    (tmp_path / "worker.json").write_text("scribbles")
    assert lease.holder() is None


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_holder_frees_it_at_once(tmp_path: Path, how: signal.Signals) -> None:
    child = subprocess.Popen(
        [sys.executable, "-u", "-c", _HOLDING, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "True\n"
    lease = WorkerLease(tmp_path, SystemClock())
    assert not lease.acquire()
    holder = lease.holder()
    assert holder is not None
    assert holder.pid == child.pid
    child.send_signal(how)
    child.wait(timeout=30)
    assert lease.acquire()
    lease.release()


_HOLDING = """
import sys, time
from pathlib import Path
from memstream.streams.clock import SystemClock
from memstream.streams.lease import WorkerLease
lease = WorkerLease(Path(sys.argv[1]), SystemClock())
print(lease.acquire())
time.sleep(60)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_a_forked_child_does_not_hold_it_and_does_not_free_it(tmp_path: Path) -> None:
    lease = WorkerLease(tmp_path, SystemClock())
    assert lease.acquire()
    child = os.fork()
    if child == 0:
        held = lease.held
        lease.release()
        os._exit(1 if held else 0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert not WorkerLease(tmp_path, SystemClock()).acquire()
    lease.release()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_a_forked_child_does_not_stand_in_line_and_leaves_its_parent_there(tmp_path: Path) -> None:
    holder, waits = (WorkerLease(tmp_path, SystemClock()) for _ in range(2))
    assert holder.acquire()
    assert not waits.acquire(stay=True)
    with waits._lock:  # as another thread may have it at that moment
        child = os.fork()
        if child == 0:
            waits.release()
            os._exit(0 if waits.wanted else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    holder.release()
    assert not holder.acquire()
    assert waits.acquire()
    waits.release()


def test_one_that_is_dropped_is_free(tmp_path: Path) -> None:
    assert WorkerLease(tmp_path, SystemClock()).acquire()
    lease = WorkerLease(tmp_path, SystemClock())
    assert lease.acquire()
    lease.release()


def test_reading_the_file_does_not_free_it(tmp_path: Path) -> None:
    with WorkerLease(tmp_path, SystemClock()) as lease:
        lease.path.read_bytes()
        source = _HOLDING.replace("time.sleep(60)", "")
        child = [sys.executable, "-c", source, str(tmp_path)]
        assert subprocess.run(child, capture_output=True, check=True).stdout == b"False\n"


def test_a_missing_directory_is_stated(tmp_path: Path) -> None:
    with pytest.raises(FileUnavailable, match=r"worker\.lease cannot be taken.*mend"):
        WorkerLease(tmp_path / "nowhere", SystemClock()).acquire()

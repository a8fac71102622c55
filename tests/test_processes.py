"""Real processes on one directory: many record at once, workers are killed, others read on."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from histories import SCOPES, history
from simulation import LATER, MEMORY_DISK, copy_as_it_lies, versions

from memstream import Memory, Scope
from memstream.service.searching import files_that_hold
from memstream.streams.clock import ManualClock

_TESTS = Path(__file__).parent
_BEGIN = f"""
import sys
sys.path.insert(0, {str(_TESTS)!r})
sys.path.insert(0, {str(_TESTS.parent / "src")!r})
from random import Random
from memstream import Memory, Scope
from histories import history
directory = sys.argv[1]
def ready():
    print("ready", flush=True)
"""

RECORDS = """
number = int(sys.argv[2])
with Memory.open(directory, worker=False) as memory:
    scope = Scope(tenant="acme", user=f"u{number % 4}")
    for turn in range(40):
        memory.record_turn(
            scope, text=f"I like tea {number} and {turn}.", event_id=f"{number}-{turn}"
        )
"""
WORKS = """
with Memory.open(directory) as memory:
    ready()
    sys.stdin.read()
"""
REBUILDS = """
with Memory.open(directory, worker=False) as memory:
    ready()
    while True:
        memory.rebuild()
"""
ERASES = """
with Memory.open(directory, worker=False) as memory:
    memory.flush()
    ready()
    memory.erase(Scope(tenant="acme", user="mira"))
    while True:
        memory.rebuild()
"""


def started(program: str, directory: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _BEGIN + program, str(directory), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def await_ready(process: subprocess.Popen[str]) -> None:
    """Returns once the program said "ready"; log lines may come before."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.strip() == "ready":
            return
    raise AssertionError(process.communicate()[1])


def killed_after(process: subprocess.Popen[str], seconds: float) -> None:
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    process.communicate()


@pytest.fixture
def directory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=MEMORY_DISK, prefix="processes-") as folder:
        yield Path(folder) / "memory"


def undisturbed(directory: Path, scopes: Sequence[Scope] = SCOPES) -> list[bytes]:
    """The memories of a run of the same log from its beginning."""
    copy = directory.with_name("undisturbed")
    copy_as_it_lies(directory, copy)
    for each in sorted((copy / "generations").rglob("*"), reverse=True):
        each.rmdir() if each.is_dir() else each.unlink()
    with Memory.open(copy, worker=False, clock=ManualClock(LATER)) as memory:
        memory.flush()
        return versions(memory, scopes)


def test_ten_processes_record_while_one_works_and_nothing_is_lost_or_doubled(
    directory: Path,
) -> None:
    scopes = [Scope(tenant="acme", user=f"u{number}") for number in range(4)]
    with Memory.open(directory) as memory:
        processes = [started(RECORDS, directory, str(number)) for number in range(10)]
        for process in processes:
            _, errors = process.communicate(timeout=120)
            assert process.returncode == 0, errors
        memory.flush(60)
        diagnosis = memory.doctor()
        assert diagnosis.healthy, diagnosis
        assert diagnosis.balance.captured == 400
        supported = [
            event
            for scope in scopes
            for each in memory.memories(scope, everything=True)
            for event in each.supports
        ]
        assert {*supported} == {f"{a}-{b}" for a in range(10) for b in range(40)}
        found = versions(memory, scopes)
    assert undisturbed(directory, scopes) == found


def test_a_killed_worker_is_followed_by_another_that_goes_on(directory: Path) -> None:
    random = Random(5)
    told = history(random, 180)[:180]
    with Memory.open(directory, worker=False) as reader:
        for life in range(3):
            worker = started(WORKS, directory)
            await_ready(worker)
            positions = reader.append(told[life * 60 : life * 60 + 30])
            evidence = reader.recall(SCOPES[0], "Oslo", after=positions[-1], record=False)
            assert not evidence.degraded, "the worker hands the indexes over"
            reader.append(told[life * 60 + 30 : (life + 1) * 60])
            killed_after(worker, random.uniform(0.0, 0.3))
        reader.flush(60)
        diagnosis = reader.doctor()
        assert diagnosis.healthy, diagnosis
        assert diagnosis.balance.captured == len(told)
        found = versions(reader)
    assert undisturbed(directory) == found


def test_a_rebuild_may_be_killed_at_any_moment(directory: Path) -> None:
    random = Random(6)
    told = history(random, 80)
    with Memory.open(directory, worker=False) as memory:
        memory.append(told)
        memory.flush()
        expected = versions(memory)
    for _ in range(3):
        process = started(REBUILDS, directory)
        await_ready(process)
        killed_after(process, random.uniform(0.05, 1.2))
        with Memory.open(directory, worker=False) as memory:
            assert versions(memory) == expected
            diagnosis = memory.doctor()
            assert diagnosis.healthy, diagnosis
    with Memory.open(directory, worker=False) as memory:
        assert memory.rebuild().identical
        assert len(memory._host.files.generations.names()) == 2, "half-built ones are gone"


def test_an_erasure_may_be_killed_at_any_moment(directory: Path) -> None:
    random = Random(7)
    told = [each for each in history(random, 120) if each.subject != "acme/user:mira"]
    mira, mark = Scope(tenant="acme", user="mira"), "Hb61Vn-Qe82Ls"
    for life in range(3):
        with Memory.open(directory, worker=False) as memory:
            memory.append(told)
            memory.record_turn(mira, text=f"My badge number is {mark}.", event_id=f"m{life}")
        process = started(ERASES, directory)
        await_ready(process)
        killed_after(process, random.uniform(0.0, 0.8))
        with Memory.open(directory, worker=False) as memory:
            memory.flush()
            assert memory.erase(mira).complete
            diagnosis = memory.doctor()
            assert diagnosis.healthy, diagnosis
        files = [each for each in directory.rglob("*") if each.is_file()]
        assert not [each for each in files if mark.encode() in each.read_bytes()]


def test_two_objects_of_one_process_share_a_directory(directory: Path) -> None:
    scope = Scope(tenant="acme", user="mira")
    said = datetime(2025, 4, 1, tzinfo=UTC)
    with Memory.open(directory) as first, Memory.open(directory) as second:
        second.record_turn(scope, text="I live in Ghent.", observed_at=said)
        second.flush(20)
        first.record_turn(scope, text="I work at Hooli.", observed_at=said)
        second.flush(20)  # the state has it, which is what this one reads
        first.flush(20)  # and now the index, which only the holder reads
        for memory in (first, second):
            assert {each.value for each in memory.memories(scope)} == {"Ghent", "Hooli"}
            assert "Ghent" in memory.recall(scope, "Where does the user live?").text
        first.close()
        second.record_turn(scope, text="I like chess.", observed_at=said)
        second.flush(20)
        assert not second.recall(scope, "What does the user like?").degraded
        assert second.doctor().healthy


def test_proving_an_erasure_keeps_the_locks_of_this_process(tmp_path: Path) -> None:
    """Closing a handle of an open database drops its locks; the search must not do that here."""
    ann, ben = Scope(tenant="acme", user="ann"), Scope(tenant="acme", user="ben")
    with Memory.open(tmp_path / "memory", worker=False) as memory:
        memory.record_turn(ann, text="I live in Xochimilco.")
        memory.record_turn(ben, text="I live in Tromso.")
        memory.flush()
        log = memory._host.files.log._writer
        log.execute("BEGIN IMMEDIATE")
        files = sorted(each for each in (tmp_path / "memory").rglob("*") if each.is_file())
        files_that_hold(files, {"I live in Xochimilco."})
        probe = (
            "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], timeout=0.1);"
            "c.execute('BEGIN IMMEDIATE')"
        )
        path = str(tmp_path / "memory" / "log.db")
        refused = subprocess.run(
            [sys.executable, "-c", probe, path], capture_output=True, check=False
        )
        log.execute("ROLLBACK")
        assert b"locked" in refused.stderr
        assert memory.erase(ann).complete

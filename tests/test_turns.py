"""Several long-lived processes on one directory: all record and recall, and take turns at it."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from simulation import MEMORY_DISK
from thorough import first_of

from memstream import Memory, Scope, Settings
from memstream.schemas.errors import LeaseHeld
from memstream.service import host
from memstream.streams import lease
from memstream.streams.clock import Deadline, SystemClock
from memstream.streams.lease import WorkerLease
from memstream.streams.turns import Turns

ANN = Scope(tenant="acme", user="ann")
ANIMALS = ("otter", "heron", "badger", "lynx", "marten", "osprey", "weasel", "stoat")

_AGENT = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent.parent / "src")!r})
from memstream import Memory, Scope, Settings
scope = Scope(tenant="acme", user="ann")
# However slow the machine is: what is tried here is that everybody gets on.
settings = Settings(after_seconds=120)
with Memory.open(sys.argv[1], worker=sys.argv[2] == "worker", settings=settings) as memory:
    print("ready", flush=True)
    for line in sys.stdin:
        doing, _, what = line.strip().partition(" ")
        if doing == "record":
            position = memory.record_turn(scope, text=f"I own a pet called {{what}}.")
            found = memory.recall(scope, what, after=position, record=False)
        elif doing == "flush":
            memory.flush(120)
            found = memory.recall(scope, what, record=False)
        else:
            found = memory.recall(scope, what, record=False)
        good = what in found.text.casefold() and not found.degraded
        print("good" if good else f"bad {{found.text!r}} {{found.degraded}}", flush=True)
"""


class Agent:
    """A process that records and recalls when it is told to."""

    def __init__(self, directory: Path, kind: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _AGENT, str(directory), kind],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._answer() == "ready"

    def asked(self, line: str) -> str:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        while True:
            line = self._process.stdout.readline()
            if not line or line.startswith(("ready", "good", "bad")):
                return line.strip()

    def stop(self) -> None:
        self._process.communicate(timeout=60)
        assert self._process.returncode == 0


@pytest.fixture
def directory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=MEMORY_DISK, prefix="turns-") as folder:
        yield Path(folder) / "memory"


@pytest.mark.parametrize(
    "kinds",
    first_of(("worker", "none"), ("worker", "worker"), ("none", "worker"), ("none", "none")),
)
def test_two_processes_record_and_recall_in_turns(directory: Path, kinds: tuple[str, str]) -> None:
    agents = [Agent(directory, kind) for kind in kinds]
    for round_, animal in enumerate(ANIMALS):
        one, other = agents[round_ % 2], agents[1 - round_ % 2]
        assert one.asked(f"record {animal}") == "good"
        assert other.asked(f"flush {animal}") == "good"
        assert one.asked(f"recall {animal}") == "good"
    for agent in agents:
        agent.stop()
    with Memory.open(directory, worker=False) as memory:
        assert memory.doctor().healthy
        assert memory.doctor().balance.captured == len(ANIMALS)


def test_processes_that_ask_at_the_same_time_all_get_their_turn(directory: Path) -> None:
    agents = [Agent(directory, kind) for kind in ("worker", "worker", "none")]
    answers: list[str] = []

    def use(agent: Agent, number: int) -> None:
        answers.extend(agent.asked(f"record {name}{number}") for name in ANIMALS)

    threads = [
        threading.Thread(target=use, args=(agent, number)) for number, agent in enumerate(agents)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == ["good"] * len(ANIMALS) * len(agents)
    for agent in agents:
        agent.stop()


def test_a_worker_takes_over_from_one_that_does_not_work(directory: Path) -> None:
    """It records nothing itself and is asked for nothing: its background thread has to want it."""
    with Memory.open(directory, worker=False) as idler:
        idler.record_turn(ANN, text="I own a pet called otter.")
        idler.flush(20)
        with Memory.open(directory) as worker:
            position = idler.record_turn(ANN, text="I own a pet called heron.")
            waiting, reached = threading.Event(), position.offset + 1
            for _ in range(400):
                if worker._host.store.positions().get(position.partition, 0) >= reached:
                    break
                waiting.wait(0.02)
            else:
                raise AssertionError("the worker never worked")
        assert "heron" in idler.recall(ANN, "heron").text.casefold()


def test_who_does_not_hand_over_is_not_waited_for_long(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "READING_WAIT_SECONDS", 0.1)
    monkeypatch.setattr(host, "KEEPING_WAIT_SECONDS", 0.1)
    settings = Settings(after_seconds=0.1)
    with Memory.open(directory, worker=False, settings=settings) as memory:
        memory.record_turn(ANN, text="I own a pet called otter.")
        memory.flush(20)
    with (
        WorkerLease(directory, SystemClock()),
        Memory.open(directory, worker=False, settings=settings) as memory,
    ):
        first = memory.record_turn(ANN, text="I own a pet called heron.")
        last = memory.record_turn(ANN, text="I own a pet called lynx.")
        for after, stale in ((last, 2), (first, 1)):
            found = memory.recall(ANN, "Which pet?", after=after)
            assert "otter" in found.text.casefold()
            assert any(f"stale by {stale} event" in reason for reason in found.degraded)
            assert any("lexical scan" in reason for reason in found.degraded)
        assert memory.recall(ANN, "Which pet?").degraded
        with pytest.raises(TimeoutError, match=r"not processed within 0\.1 s"):
            memory.flush(0.1)
        for keeping in (memory.rebuild, memory.swap_back, lambda: memory.erase(ANN)):
            with pytest.raises(LeaseHeld, match="stop that process"):
                keeping()
        assert memory.doctor().balance.in_flight >= 2


# The parts


def turns_of(directory: Path, closed: list[str], name: str, idle_s: float | None = None) -> Turns:
    return Turns(
        WorkerLease(directory, SystemClock()), let_go=lambda: closed.append(name), idle_s=idle_s
    )


def test_a_turn_is_handed_over_and_never_cut_off(tmp_path: Path) -> None:
    closed: list[str] = []
    one, two = turns_of(tmp_path, closed, "one"), turns_of(tmp_path, closed, "two")
    got = threading.Event()

    def want() -> None:
        with two.turn(20) as mine:
            assert mine
            closed.append("two is in")
            got.set()

    with one.turn(0) as mine, one.turn(0) as again:
        assert mine
        assert again
        waiter = threading.Thread(target=want)
        waiter.start()
        assert not got.wait(0.1)
        assert one.yields(Deadline(0))
        with one.turn(0) as nested:
            assert nested, "what is under way may go on"
    assert got.wait(20)
    waiter.join()
    assert closed == ["one", "two is in"]
    with one.turn(20) as mine:
        assert mine
    for each in (one, two):
        each.close()
        each.give_back()


def test_nobody_goes_past_the_one_in_line(tmp_path: Path) -> None:
    holder, first, second = (WorkerLease(tmp_path, SystemClock()) for _ in range(3))
    assert holder.acquire()
    assert not holder.wanted
    assert not first.acquire(stay=True)
    assert holder.wanted
    holder.release()
    assert not second.acquire()
    assert not holder.acquire()
    assert first.acquire()
    assert not first.wanted
    assert not second.acquire(stay=True)
    assert first.wanted
    second.leave()
    assert not first.wanted
    first.release()
    assert second.acquire()
    second.release()


def test_one_that_asks_again_at_once_is_behind_those_who_wait(tmp_path: Path) -> None:
    """Also where these look only now and then."""
    holder, first, second = (WorkerLease(tmp_path, SystemClock()) for _ in range(3))
    assert holder.acquire()
    assert not first.acquire(stay=True)
    assert not second.acquire(stay=True)
    holder.release()
    assert first.acquire(stay=True)
    assert not holder.acquire(stay=True)
    first.release()
    assert not holder.acquire(stay=True)
    assert second.acquire(stay=True)
    second.release()
    assert holder.acquire(stay=True)
    holder.release()


@pytest.mark.parametrize("count", [2, 3, 5, 9])
@pytest.mark.parametrize("seed", range(5))
def test_nobody_gets_two_turns_while_another_waits(tmp_path: Path, count: int, seed: int) -> None:
    """Whoever has had a turn wants another one at once, and all look at times of their own."""
    random = Random(seed)
    leases = [WorkerLease(tmp_path, SystemClock()) for _ in range(count)]
    had: dict[int, list[int]] = {}
    """By each one that waits, who had a turn since it came."""
    weights = [random.choice((1, 1, 9)) for _ in leases]
    turns = 0
    while turns < 20 * count:
        (at,) = random.choices(range(count), weights)
        had.setdefault(at, [])
        if leases[at].held:
            if leases[at].wanted:
                leases[at].release()
                del had[at]
        elif leases[at].acquire(stay=True):
            turns += 1
            assert len(set(had[at])) == len(had[at]), f"{at} waited for {had[at]}"
            for other, since in had.items():
                if other != at:
                    since.append(at)
    for each in leases:
        each.release()


@pytest.mark.parametrize("stays", [False, True])
def test_the_lease_goes_past_one_who_is_frozen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stays: bool
) -> None:
    """Who stands in line and never looks, like a process that was stopped, keeps nobody out."""
    monkeypatch.setattr(lease, "FROZEN_SECONDS", 0.1)
    holder, frozen, other = (WorkerLease(tmp_path, SystemClock()) for _ in range(3))
    assert holder.acquire()
    assert not frozen.acquire(stay=True)
    for _ in range(20):
        assert not other.acquire(stay=stays), "it is held"
        threading.Event().wait(0.01)
    holder.release()
    assert not other.acquire(stay=stays), "the one in line comes first"
    deadline = Deadline(20)
    while not other.acquire(stay=stays):
        assert not deadline.passed
        threading.Event().wait(0.01)
    assert other.wanted
    other.release()
    assert frozen.acquire(stay=True), "it has kept its place"
    frozen.release()


def test_a_dead_one_leaves_the_line(tmp_path: Path) -> None:
    holder, waiter = (WorkerLease(tmp_path, SystemClock()) for _ in range(2))
    assert holder.acquire()
    program = f"""
import sys, time
from pathlib import Path
sys.path.insert(0, {str(Path(__file__).parent.parent / "src")!r})
from memstream.streams.clock import SystemClock
from memstream.streams.lease import WorkerLease
lease = WorkerLease(Path(sys.argv[1]), SystemClock())
print(lease.acquire(stay=True), flush=True)
time.sleep(60)
"""
    child = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "False\n"
    assert not waiter.acquire(stay=True)
    holder.release()
    assert not waiter.acquire(stay=True)
    child.kill()
    child.wait()
    assert waiter.acquire(stay=True)
    waiter.release()


def test_an_idle_lease_is_given_back(tmp_path: Path) -> None:
    closed: list[str] = []
    turns = turns_of(tmp_path, closed, "idle", idle_s=0.05)
    with turns.turn(0) as mine:
        assert mine
        threading.Event().wait(0.2)
        assert turns.held
    for _ in range(500):
        if not turns.held:
            break
        threading.Event().wait(0.02)
    assert not turns.held
    assert closed == ["idle"]


def test_a_closed_one_gets_no_turn(tmp_path: Path) -> None:
    turns = turns_of(tmp_path, [], "closed")
    with WorkerLease(tmp_path, SystemClock()):
        answers: list[bool] = []

        def want() -> None:
            with turns.turn(None) as mine:
                answers.append(mine)

        waiter = threading.Thread(target=want)
        waiter.start()
        turns.close()
        waiter.join(20)
        assert answers == [False]
    assert WorkerLease(tmp_path, SystemClock()).acquire(), "it has left the line"


# A process that only records


def test_recording_compiles_no_rules_and_opens_no_index(directory: Path) -> None:
    program = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent.parent / "src")!r})
from memstream import Memory, Scope
with Memory.open(sys.argv[1], worker=False) as memory:
    memory.record_turn(Scope(tenant="acme", user="ann"), text="I own a pet called otter.")
print(sorted(name for name in ("spacy", "jieba") if name in sys.modules))
"""
    for _ in range(2):  # a fresh directory, and one that is there
        child = [sys.executable, "-c", program, str(directory)]
        ran = subprocess.run(child, capture_output=True, text=True, check=True)
        assert ran.stdout.strip() == "[]"
    assert not (directory / "worker.lease").exists()
    with Memory.open(directory) as memory:
        memory.flush(20)
        assert "otter" in memory.recall(ANN, "otter").text.casefold()
    child = [sys.executable, "-c", program, str(directory)]
    assert subprocess.run(child, capture_output=True, text=True, check=True).stdout == "[]\n"

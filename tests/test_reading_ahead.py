"""Texts read ahead, in other processes: the same memories, whatever happens to those processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from random import Random
from unittest.mock import patch

import msgspec
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from histories import START, history
from simulation import versions
from test_rules import READER, turn

from memstream import Memory
from memstream.schemas.errors import InvalidEvent, LogUnavailable
from memstream.schemas.events import ErasureRequested, Event, TurnRecorded
from memstream.schemas.memories import Assertion
from memstream.schemas.scope import Scope
from memstream.service.directory import MANY_EVENTS, Pipelines
from memstream.service.reports import Balance
from memstream.streams import embedded, reading_ahead
from memstream.streams.clock import ManualClock
from memstream.streams.embedded import EmbeddedRuntime
from memstream.streams.log import Entry
from memstream.streams.reading_ahead import CHUNK, MOST_CALLS_KEPT, Found, ReadingAhead

_LONGEST_START_SECONDS = 60.0
_TEXTS = (
    "I live in Oslo.",
    "我对花生过敏。",
    "My sister Ines works at Hooli.",
    "Thanks!",
    "I like tea.",
)


def told(count: int, *, beginning: int = 0) -> list[Event]:
    """So many turns, each with an id of its own, each with an offset from UTC."""
    return [
        msgspec.structs.replace(turn(_TEXTS[at % len(_TEXTS)]), id=f"e{at}")
        for at in range(beginning, beginning + count)
    ]


def read(events: Sequence[Event]) -> list[list[Assertion]]:
    return [READER.read(event) for event in events]


class Refuses:
    """A reader that must not be asked."""

    def read(self, event: Event) -> list[Assertion]:
        raise AssertionError(f"{event.id} was read here")


@pytest.fixture(scope="module")
def ahead() -> Iterator[ReadingAhead]:
    made = ReadingAhead(None, 1)
    yield made
    made.close()


def eventually(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _LONGEST_START_SECONDS
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def answers(ahead: ReadingAhead) -> list[Found | None]:
    """What is found so far of all that is expected, chunk by chunk."""
    return [chunk.found for chunks in ahead._told for chunk in chunks]


def all_read(ahead: ReadingAhead) -> bool:
    return None not in answers(ahead)


def test_another_process_reads_what_is_expected(ahead: ReadingAhead) -> None:
    events = told(5 * CHUNK + 3)
    ahead.expect(events)
    eventually(lambda: all_read(ahead))
    with patch.object(ahead, "_reader", Refuses()):
        found = [ahead.read(event) for event in events]
    assert found == read(events)
    assert repr(found) == repr(read(events)), "instants keep their offset"


def test_what_is_asked_before_it_is_ready_is_read_here(ahead: ReadingAhead) -> None:
    events = told(4 * CHUNK)
    ahead.expect(events)
    assert [ahead.read(event) for event in events] == read(events)
    unexpected = told(3, beginning=1_000)
    assert [ahead.read(event) for event in unexpected] == read(unexpected)


def test_a_process_that_dies_costs_nothing() -> None:
    ahead = ReadingAhead(None, 1)
    first, second = told(CHUNK), told(60 * CHUNK, beginning=CHUNK)
    ahead.expect(first)
    eventually(lambda: all_read(ahead))
    ahead.expect(second)
    os.kill(ahead.pids[0], signal.SIGKILL)
    events = [*first, *second]
    assert [ahead.read(event) for event in events] == read(events)
    ahead.close()


def test_one_that_reads_by_other_rules_is_not_asked(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "attributes.toml").write_text('[attributes.shoe_size]\ncardinality = "one"\n')
    started = reading_ahead.started
    with patch.object(reading_ahead, "started", lambda settings: started(other)):
        ahead = ReadingAhead(None, 1)
    try:
        events = told(2 * CHUNK)
        ahead.expect(events)
        eventually(lambda: not any(each.is_alive() for each in ahead._threads))
        assert not any(answers(ahead))
        assert [ahead.read(event) for event in events] == read(events)
    finally:
        ahead.close()


def test_what_cannot_be_read_fails_in_its_own_place(ahead: ReadingAhead) -> None:
    broken = msgspec.structs.replace(
        turn("x"),
        id="broken",
        data=TurnRecorded(role="user", text=None),  # type: ignore[arg-type]
    )
    events = [*told(3), broken, *told(3, beginning=3)]
    ahead.expect(events)
    eventually(lambda: all_read(ahead))
    assert [ahead.read(event) for event in events if event is not broken] == read(
        [event for event in events if event is not broken]
    )
    with pytest.raises((TypeError, AttributeError, InvalidEvent)):
        ahead.read(broken)


def test_what_nobody_asks_for_is_forgotten(ahead: ReadingAhead) -> None:
    for number in range(3 * MOST_CALLS_KEPT):
        ahead.expect(told(CHUNK, beginning=number * CHUNK))
    assert len(answers(ahead)) <= MOST_CALLS_KEPT
    events = told(CHUNK)
    ahead.expect(events)
    assert [ahead.read(event) for event in events] == read(events)


def test_several_threads_may_ask(ahead: ReadingAhead) -> None:
    wrong: list[str] = []

    def asks(number: int) -> None:
        for round_ in range(6):
            events = told(3 * CHUNK, beginning=number * 1_000 + round_ * 3 * CHUNK)
            ahead.expect(events)
            if [ahead.read(event) for event in events] != read(events):
                wrong.append(f"{number}/{round_}")

    threads = [threading.Thread(target=asks, args=(number,)) for number in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(_LONGEST_START_SECONDS)
    assert not wrong
    assert not any(each.is_alive() for each in threads)


def test_closed_it_leaves_no_process_and_still_reads() -> None:
    ahead = ReadingAhead(None, 2)
    events = told(4 * CHUNK)
    ahead.expect(events)
    pids = ahead.pids
    ahead.close()
    ahead.close()
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    assert [ahead.read(event) for event in events] == read(events)
    ahead.expect(events)
    assert [ahead.read(event) for event in events] == read(events)


_OPENS = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent.parent / "src")!r})
from memstream import Memory
with Memory.open(sys.argv[1], worker=False, readers=1) as memory:
    print(*memory._host.pipelines.made().processors[1].reader.pids, flush=True)
    sys.stdin.read()
"""


def test_it_ends_with_a_process_that_is_killed(tmp_path: Path) -> None:
    asks = subprocess.Popen(
        [sys.executable, "-c", _OPENS, str(tmp_path / "memory")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert asks.stdout is not None
    assert asks.stdin is not None
    pid = int(asks.stdout.readline())
    asks.kill()
    asks.wait()
    asks.stdout.close()
    asks.stdin.close()
    eventually(lambda: not Path(f"/proc/{pid}/cmdline").is_file() or not _is_alive(pid))


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


@pytest.mark.parametrize("batch", [7, 500])
def test_the_memories_are_the_same_whoever_reads(tmp_path: Path, batch: int) -> None:
    events = history(Random(batch), 120)
    ann = Scope.parse(events[0].subject)
    runs: list[tuple[list[bytes], Balance]] = []
    with patch.object(embedded, "BATCH", batch):
        for readers in (None, 1):
            folder = tmp_path / f"{readers}"
            clock = ManualClock(START, step=timedelta(), seed=3)
            with Memory.open(folder, worker=False, clock=clock, readers=readers) as memory:
                memory.append(events[:60])
                memory.erase(ann, event=events[0].id)
                memory.append(events[60:])
                memory.erase(ann, event=next(e.id for e in events[60:] if e.subject == ann.path))
                memory.flush()
                told = versions(memory)
                memory.rebuild()
                assert versions(memory) == told
                runs.append((told, memory.doctor().balance))
    assert runs[0] == runs[1]


def test_many_events_are_worth_more_processes(tmp_path: Path) -> None:
    with patch("memstream.service.directory._processors", lambda: 4):
        pipelines = Pipelines(tmp_path)
        pipelines.expect_many(MANY_EVENTS - 1)
        assert pipelines.readers == 0
        pipelines.expect_many(MANY_EVENTS)
        assert pipelines.readers == 2
    with patch("memstream.service.directory._processors", lambda: 1):
        alone = Pipelines(tmp_path)
        alone.expect_many(MANY_EVENTS)
        assert alone.readers == 0


def test_a_process_that_is_stopped_stops_nothing() -> None:
    ahead = ReadingAhead(None, 1)
    first, second = told(CHUNK), told(60 * CHUNK, beginning=CHUNK)
    ahead.expect(first)
    eventually(lambda: all_read(ahead))
    pid = ahead.pids[0]
    os.kill(pid, signal.SIGSTOP)
    with patch.object(reading_ahead, "PATIENCE_SECONDS", 0.1):
        ahead.expect(second)
        eventually(lambda: len(ahead._waiting) < len(second) // CHUNK)
        assert [ahead.read(event) for event in [*first, *second]] == read([*first, *second])
    ahead.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_one_that_is_stopped_before_a_long_text_is_written_to_it_is_closed() -> None:
    ahead = ReadingAhead(None, 1)
    ahead.expect(told(CHUNK))
    eventually(lambda: all_read(ahead))
    os.kill(ahead.pids[0], signal.SIGSTOP)
    ahead.expect([turn("I live in Oslo. " * 20_000)])
    eventually(lambda: not ahead._waiting)
    ahead.close()


def test_long_answers_and_long_questions_do_not_wait_for_each_other() -> None:
    ahead = ReadingAhead(None, 1)
    many = " ".join(f"I like {name}." for name in ("tea", "jazz", "rice", "chess") for _ in "ab")
    for number in range(4):
        ahead.expect([msgspec.structs.replace(turn(many * 14), id=f"many{number}")])
        ahead.expect([msgspec.structs.replace(turn("Thanks! " * 40_000), id=f"long{number}")])
    with patch.object(ahead, "_reader", Refuses()):
        eventually(lambda: all_read(ahead))
        assert [None] not in answers(ahead)
    ahead.close()


def test_a_process_that_dies_in_the_middle_of_a_question_can_be_closed() -> None:
    ahead = ReadingAhead(None, 1)
    ahead.expect(told(CHUNK))
    eventually(lambda: all_read(ahead))
    os.kill(ahead.pids[0], signal.SIGSTOP)
    events = told(4 * CHUNK)
    ahead.expect(events)
    ahead.expect([turn("Thanks! " * 40_000)])
    os.kill(ahead.pids[0], signal.SIGKILL)
    assert [ahead.read(event) for event in events] == read(events)
    ahead.close()


def test_the_same_events_may_be_expected_again() -> None:
    ahead = ReadingAhead(None, 1)
    events = told(3)
    for _ in range(2 * MOST_CALLS_KEPT):
        ahead.expect(events)
    assert [ahead.read(event) for event in events] == read(events)
    ahead.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_reads_by_itself_and_keeps_no_process_alive() -> None:
    ahead = ReadingAhead(None, 1)
    events = told(40 * CHUNK)
    ahead.expect(events)
    answer, waits = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        right = [ahead.read(event) for event in events] == read(events)
        os.write(answer[1], b"1" if right else b"0")
        os.read(waits[0], 1)
        os._exit(0)
    pid, other = ahead.pids[0], ahead._others[0]
    assert os.read(answer[0], 1) == b"1"
    assert [ahead.read(event) for event in events] == read(events)
    assert other.stdin is not None
    other.stdin.close()
    assert other.wait(_LONGEST_START_SECONDS) == 0
    ahead.close()
    os.write(waits[1], b"1")
    os.waitpid(child, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_frozen_program_starts_no_other(tmp_path: Path) -> None:
    with patch.object(sys, "frozen", True, create=True):
        with patch("memstream.service.directory._processors", lambda: 4):
            pipelines = Pipelines(tmp_path)
            pipelines.expect_many(MANY_EVENTS)
        assert pipelines.readers == 0
        with pytest.raises(LogUnavailable, match="readers=0"):
            ReadingAhead(None, 1)


def test_what_cannot_be_started_is_done_without() -> None:
    with patch.object(sys, "executable", "/there/is/no/python"):
        ahead = ReadingAhead(None, 2)
    assert ahead.pids == []
    events = told(3 * CHUNK)
    ahead.expect(events)
    assert [ahead.read(event) for event in events] == read(events)
    ahead.close()


def test_an_erasure_does_not_open_again_what_is_behind_it(tmp_path: Path) -> None:
    """Each event is opened once for its batch, however many erasures there are."""
    opened = EmbeddedRuntime._opened
    count = 0

    def counted(runtime: EmbeddedRuntime, entry: Entry) -> Event | None:
        nonlocal count
        count += 1
        return opened(runtime, entry)

    ann, ben = Scope(tenant="acme", user="ann"), Scope(tenant="acme", user="ben")
    requests = [
        msgspec.structs.replace(
            turn("x"), id=f"erase-{at}", type="erasure.requested", subject=ann.path,
            data=ErasureRequested(),
        )
        for at in range(6)
    ]  # fmt: skip
    with Memory.open(tmp_path, worker=False, partitions=1) as memory:
        for request in requests:
            for at in range(20):
                memory.record_turn(ben, text=f"I like tea number {at}.")
            memory._host.append([[request]])
        with patch.object(EmbeddedRuntime, "_opened", counted):
            memory.flush()
    assert count < 5 * 126  # the projections read some again

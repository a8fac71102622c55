"""The outbox: what an agent offers reaches the log once and in order, whatever the log does."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from kafka_broker import need_broker
from kafka_node import KafkaCluster
from log_conformance import everything, row
from test_log_in_kafka import opened, settings_of

from memstream.schemas.codec import SealedRow
from memstream.schemas.errors import Fault, InvalidEvent, LogUnavailable
from memstream.streams.clock import SystemClock
from memstream.streams.log import Position
from memstream.streams.log_in_kafka import KafkaLog, row_check
from memstream.streams.log_in_sqlite import SqliteLog
from memstream.streams.outbox_in_sqlite import Outbox, OutboxFull


class FlakyLog(SqliteLog):
    """A log whose appends follow a script. ``away`` refuses all; ``gate`` holds them; ``lost``
    appends and then says that it did not; ``hates`` are ids it never takes. Opened as often as
    one likes: ``close`` only counts."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, SystemClock())
        self.away = False
        self.lost = 0
        self.hates: set[str] = set()
        self.closes = 0
        self.gate = threading.Event()
        self.gate.set()
        self.entered = threading.Event()

    def append(self, rows: Sequence[SealedRow]) -> list[Position]:
        self.entered.set()
        assert self.gate.wait(30)
        if self.away:
            raise LogUnavailable("the log is away; mend: wait")
        bad = [each.id for each in rows if each.id in self.hates]
        if bad:
            raise InvalidEvent(bad[0], [Fault("$.data", "is hated")])
        positions = super().append(rows)
        if self.lost:
            self.lost -= 1
            raise LogUnavailable("no answer; mend: append the same again")
        return positions

    def close(self) -> None:
        self.closes += 1


@pytest.fixture
def log(tmp_path: Path) -> Iterator[FlakyLog]:
    log = FlakyLog(tmp_path / "log.db")
    yield log
    SqliteLog.close(log)


@pytest.fixture
def outbox(tmp_path: Path, log: FlakyLog) -> Iterator[Outbox]:
    outbox = Outbox(tmp_path / "outbox", lambda: log, SystemClock(), most_events=1_000)
    yield outbox
    log.gate.set()
    outbox.close(0.0)


def ids(log: Any, subject: str = "acme/user:ada") -> list[str]:
    return [entry.row.id for entry in log.of_subject(subject)]


def wait_until(done: Callable[[], bool]) -> None:
    """For what a thread does on its own; fails after half a minute."""
    pause = threading.Event()
    for _ in range(3_000):
        if done():
            return
        pause.wait(0.01)
    pytest.fail("it never happened")


def test_what_is_offered_arrives_in_order(outbox: Outbox, log: FlakyLog) -> None:
    for start in range(0, 700, 7):
        outbox.offer([row(str(at)) for at in range(start, start + 7)])
    assert outbox.flush(30)
    assert ids(log) == [str(at) for at in range(700)]
    counts = outbox.counts()
    assert (counts.offered, counts.sent, counts.waiting, counts.refused) == (700, 700, 0, 0)
    assert (counts.failures, counts.last_error) == (0, "")


def test_offering_does_not_wait_for_a_log_that_hangs(outbox: Outbox, log: FlakyLog) -> None:
    log.gate.clear()
    outbox.offer([row("first")])
    assert log.entered.wait(30)
    outbox.offer([row(str(at)) for at in range(100)])  # returns while the log still hangs
    assert outbox.counts().waiting == 101
    assert outbox.flush(0.0) is False
    log.gate.set()
    assert outbox.flush(30)
    assert ids(log) == ["first", *map(str, range(100))]


def test_a_log_that_is_away_gets_all_when_it_is_back(outbox: Outbox, log: FlakyLog) -> None:
    log.away = True
    outbox.offer([row("0")])
    wait_until(lambda: outbox.counts().failures > 12)  # past the point where it is opened anew
    outbox.offer([row(str(at)) for at in range(1, 50)])
    counts = outbox.counts()
    assert counts.waiting == 50
    assert "away" in counts.last_error
    log.away = False
    assert outbox.flush(30)
    assert ids(log) == [str(at) for at in range(50)]
    assert outbox.counts().last_error == ""
    assert log.closes == 1


def test_an_append_without_an_answer_doubles_nothing(outbox: Outbox, log: FlakyLog) -> None:
    log.lost = 3
    outbox.offer([row(str(at)) for at in range(20)])
    assert outbox.flush(30)
    assert ids(log) == [str(at) for at in range(20)]
    assert outbox.counts().failures == 3


def test_the_same_event_offered_again_is_sent_once(outbox: Outbox, log: FlakyLog) -> None:
    log.gate.clear()
    outbox.offer([row("a"), row("b"), row("a")])
    outbox.offer([row("b"), row("c"), row("a", "acme/user:bob")])
    log.gate.set()
    assert outbox.flush(30)
    assert ids(log) == ["a", "b", "c"]
    assert ids(log, "acme/user:bob") == ["a"]
    assert (outbox.counts().offered, outbox.counts().known, outbox.counts().sent) == (6, 2, 4)


def test_what_the_log_never_takes_is_put_aside_with_its_reason(
    outbox: Outbox, log: FlakyLog
) -> None:
    log.hates = {"3", "7"}
    log.gate.clear()
    outbox.offer([row(str(at)) for at in range(10)])
    log.gate.set()
    assert outbox.flush(30)
    assert ids(log) == [str(at) for at in range(10) if at not in {3, 7}]
    refused = outbox.refused()
    assert [each.row for each in refused] == [row("3"), row("7")]
    assert "is hated" in refused[0].why
    counts = outbox.counts()
    assert counts.offered == counts.sent + counts.refused == 10


def test_a_row_the_check_refuses_is_told_to_the_agent(tmp_path: Path, log: FlakyLog) -> None:
    def check(each: SealedRow) -> None:
        if each.id == "bad":
            raise InvalidEvent(each.id, [Fault("$", "no")])

    with Outbox(tmp_path / "outbox", lambda: log, SystemClock(), check=check) as outbox:
        with pytest.raises(InvalidEvent):
            outbox.offer([row("good"), row("bad")])
        assert outbox.counts().offered == 0
    assert ids(log) == []


def test_a_full_outbox_says_so_and_takes_nothing(outbox: Outbox, log: FlakyLog) -> None:
    log.away = True
    outbox.offer([row(str(at)) for at in range(990)])
    with pytest.raises(OutboxFull, match=r"990 events waiting.*limit of 1000.*mend"):
        outbox.offer([row(f"more-{at}") for at in range(11)])
    assert outbox.counts().waiting == 990
    log.away = False
    assert outbox.flush(30)
    outbox.offer([row("more")])
    assert outbox.flush(30)
    assert ids(log) == [*map(str, range(990)), "more"]


def test_what_was_not_sent_is_sent_by_the_next_process(tmp_path: Path, log: FlakyLog) -> None:
    log.away = True
    first = Outbox(tmp_path / "outbox", lambda: log, SystemClock())
    first.offer([row(str(at)) for at in range(5)])
    assert first.close(0.5) is False
    with pytest.raises(LogUnavailable, match="closed"):
        first.offer([row("late")])
    assert log.closes == 1
    log.away = False
    second = Outbox(tmp_path / "outbox", lambda: log, SystemClock())
    assert second.flush(30)
    assert second.close()
    assert ids(log) == list("01234")


def test_agents_killed_at_any_moment_lose_and_double_nothing(tmp_path: Path) -> None:
    # Each agent says what it has offered; the next one goes on where its word ends.
    said = 0
    for lines in (40, 3, 150):
        source = _AGENT.format(folder=str(tmp_path), start=said)
        agent = subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE, text=True)
        assert agent.stdout is not None
        for _ in range(lines):
            said = int(agent.stdout.readline()) + 1
        agent.send_signal(signal.SIGKILL)
        agent.communicate()
    log = SqliteLog(tmp_path / "log.db", SystemClock())
    with Outbox(
        tmp_path / "outbox", lambda: SqliteLog(log.path, SystemClock()), SystemClock()
    ) as outbox:
        assert outbox.flush(30)
    found = [int(each) for each in ids(log)]
    assert found == list(range(len(found)))
    assert len(found) >= said
    log.close()


_AGENT = """
import itertools
from datetime import UTC, datetime
from pathlib import Path
from memstream.schemas.codec import SealedRow
from memstream.streams.clock import SystemClock
from memstream.streams.log_in_sqlite import SqliteLog
from memstream.streams.outbox_in_sqlite import Outbox

folder = Path({folder!r})
clock = SystemClock()
outbox = Outbox(folder / "outbox", lambda: SqliteLog(folder / "log.db", clock), clock)
about = ("user_said", 3, "tests", "r1", 1, "key-1", b"sealed")
time = datetime(2024, 5, 6, tzinfo=UTC)
for number in itertools.count({start}):
    outbox.offer([SealedRow(str(number), "turn.recorded", "acme/user:ada", time, *about)])
    print(number, flush=True)
"""


def test_two_processes_share_an_outbox_and_one_sends(tmp_path: Path, log: FlakyLog) -> None:
    first = Outbox(tmp_path / "outbox", lambda: log, SystemClock())
    second = Outbox(tmp_path / "outbox", lambda: log, SystemClock())
    for at in range(30):
        (first, second)[at % 2].offer([row(str(at))])
    assert first.flush(30)
    assert ids(log) == [str(at) for at in range(30)]
    assert sorted((first.counts().sent, second.counts().sent)) == [0, 30]
    first.close()
    second.offer([row("after")])
    assert second.flush(30)
    assert ids(log)[-1] == "after"
    second.close()


def test_a_broker_that_was_away_has_everything_once_and_in_order(tmp_path: Path) -> None:
    need_broker()
    cluster = KafkaCluster(tmp_path / "cluster")
    settings = settings_of(cluster.up(), tmp_path, wait_s=3.0)
    try:
        reader = opened(settings, SystemClock())
        outbox = Outbox(
            tmp_path / "outbox",
            lambda: KafkaLog(settings, SystemClock()),
            SystemClock(),
            check=row_check(settings),
        )
        outbox.offer([row(str(at)) for at in range(100)])
        assert outbox.flush(30)
        cluster.stop(1)
        with pytest.raises(InvalidEvent, match=r"takes \d+ bytes"):
            outbox.offer([row("large", payload=bytes(settings.max_message_bytes))])
        for at in range(100, 400):
            outbox.offer([row(str(at), f"acme/user:u{at % 3}")])
        wait_until(lambda: outbox.counts().failures > 0)
        assert outbox.counts().waiting == 300
        cluster.start(1)
        assert outbox.flush(60)
        counts = outbox.counts()
        assert (counts.offered, counts.sent, counts.refused) == (400, 400, 0)
        assert outbox.close()
        assert ids(reader) == [str(at) for at in range(100)]
        for user in range(3):
            expected = [str(at) for at in range(100, 400) if at % 3 == user]
            assert ids(reader, f"acme/user:u{user}") == expected
        assert len(everything(reader)) >= 400
        reader.close()
    finally:
        cluster.down()

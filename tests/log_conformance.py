"""What every event log must do. An implementation runs this suite by subclassing it.

A subclass supplies ``open_log`` and ``program``; a gap is a class attribute with its reason.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import msgspec
import pytest
from thorough import first_of

from memstream.schemas.codec import SealedRow
from memstream.schemas.errors import LogUnavailable
from memstream.streams.clock import Clock, ManualClock, SystemClock
from memstream.streams.log import Entry, EventLog

START = datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)


def row(event_id: str, subject: str = "acme/user:ada", **changes: object) -> SealedRow:
    """A sealed row as the codec would make it."""
    made = SealedRow(
        id=event_id,
        type="turn.recorded",
        subject=subject,
        time=START,
        source_kind="user_said",
        trust=3,
        runtime="tests",
        run="r1",
        dataversion=1,
        key_id="key-1",
        payload=b"sealed " + event_id.encode(),
    )
    return msgspec.structs.replace(made, **changes)


def everything(log: EventLog) -> list[Entry]:
    """All entries of all partitions, partition by partition."""
    return [
        entry
        for partition, end in sorted(log.end_offsets().items())
        for entry in log.read(partition, 0, end)
    ]


class LogConformance(ABC):
    """Obligations of ``EventLog``, one test each."""

    replaces = True
    """False for a log whose broker cannot rewrite a record; state the reason beside it."""

    orders_writers = True
    """False for a log that cannot look before it appends: the same event from two writers (two
    processes, two runs) is there twice, and ``find`` and ``of_subject`` give the first; recorded
    time strictly increases for each writer. State the reason beside it."""

    writers = 10
    """How many processes append at once in the test of that."""

    @abstractmethod
    def open_log(self, directory: Path, clock: Clock) -> EventLog:
        """The log of that directory; the same log when called again."""

    @abstractmethod
    def program(self, directory: Path) -> str:
        """Python source that opens the same log as ``log`` in another process."""

    @pytest.fixture
    def log(self, tmp_path: Path) -> Iterator[EventLog]:
        log = self.open_log(tmp_path, ManualClock(START))
        yield log
        log.close()

    def test_a_row_comes_back_as_it_was_given(self, log: EventLog) -> None:
        given = [
            row("plain"),
            row("far-east", time=datetime(2024, 1, 1, 9, tzinfo=timezone(timedelta(hours=8)))),
            row(
                "west", time=datetime(2024, 1, 1, tzinfo=timezone(-timedelta(hours=3, minutes=30)))
            ),
            row("before 1970", time=datetime(1911, 10, 10, 1, 2, 3, 4, tzinfo=UTC)),
            row("事件/🌾", subject="acme/user:%E5%BC%A0", runtime="框架", run="a b"),
            row("other", type="tool.returned", source_kind="tool_result", trust=0, dataversion=7),
            row("unsealed", key_id="", payload=b"{}"),
            row("empty", payload=b""),
            row("large", payload=bytes(range(256)) * 4096),
        ]
        log.append(given)
        for sent in given:
            entry = log.find(sent.subject, sent.id)
            assert entry is not None
            assert msgspec.structs.replace(entry.row, recordedtime=None) == sent
            assert entry.row.time.utcoffset() == sent.time.utcoffset()
            assert entry.row.recordedtime is not None
            assert entry.row.recordedtime.utcoffset() == timedelta(0)

    def test_one_scope_lies_in_one_partition_in_append_order(self, log: EventLog) -> None:
        subjects = [f"acme/user:u{number}" for number in range(40)]
        positions = log.append([row(f"{at}", subject=each) for at in range(5) for each in subjects])
        for subject in subjects:
            mine = [each for each in positions if each.scope == subject]
            assert len({each.partition for each in mine}) == 1
            assert [each.event for each in mine] == [str(at) for at in range(5)]
            assert [each.offset for each in mine] == sorted(each.offset for each in mine)
            assert [entry.row.id for entry in log.of_subject(subject)] == list("01234")
        assert len({each.partition for each in positions}) == log.partitions

    def test_offsets_count_from_zero_without_gaps(self, log: EventLog) -> None:
        for batch in range(7):
            log.append([row(f"{batch}-{at}", f"acme/user:u{at % 9}") for at in range(batch + 1)])
        for partition, end in log.end_offsets().items():
            offsets = [entry.offset for entry in log.read(partition, 0, 1_000)]
            assert offsets == list(range(end))

    def test_reading_starts_and_stops_where_asked(self, log: EventLog) -> None:
        log.append([row(str(at)) for at in range(10)])
        partition = next(p for p, end in log.end_offsets().items() if end)
        assert [entry.row.id for entry in log.read(partition, 4, 3)] == ["4", "5", "6"]
        assert [entry.row.id for entry in log.read(partition, 8, 100)] == ["8", "9"]
        assert log.read(partition, 10, 5) == []
        assert log.read(partition, 0, 0) == []

    def test_recorded_time_strictly_increases_whatever_the_clock_does(self, tmp_path: Path) -> None:
        clock = ManualClock(START)
        log = self.open_log(tmp_path, clock)
        for batch in range(3):
            log.append([row(f"{batch}-{at}") for at in range(4)])
            clock.advance(timedelta(seconds=-10))
        times = [entry.row.recordedtime for entry in log.of_subject("acme/user:ada")]
        assert len(times) == 12
        assert times == sorted(set(times))  # type: ignore[type-var]
        log.close()

    def test_an_instant_is_found_by_its_recorded_time(self, log: EventLog) -> None:
        log.append([row(str(at)) for at in range(20)])
        entries = list(log.of_subject("acme/user:ada"))
        partition = entries[0].partition
        for entry in entries:
            recorded = entry.row.recordedtime
            assert recorded is not None
            assert log.offset_at(partition, recorded) == entry.offset
            later = recorded + timedelta(microseconds=1)
            assert log.offset_at(partition, later) == entry.offset + 1
        assert log.offset_at(partition, START - timedelta(days=1)) == 0
        for other, end in log.end_offsets().items():
            assert log.offset_at(other, START + timedelta(days=9)) == end

    def test_the_same_event_is_kept_once(self, log: EventLog) -> None:
        first = log.append([row("a"), row("b"), row("a")])
        assert [each.duplicate for each in first] == [False, False, True]
        assert first[2].offset == first[0].offset
        again = log.append([row("c"), row("b", payload=b"other bytes"), row("d")])
        assert [each.duplicate for each in again] == [False, True, False]
        assert again[1].offset == first[1].offset
        assert [entry.row.id for entry in log.of_subject("acme/user:ada")] == list("abcd")
        kept = log.find("acme/user:ada", "b")
        assert kept is not None
        assert kept.row.payload == b"sealed b"

    def test_the_same_id_in_another_scope_is_another_event(self, log: EventLog) -> None:
        positions = log.append([row("a", "acme/user:ada"), row("a", "acme/user:bob")])
        assert not any(each.duplicate for each in positions)
        assert log.find("acme/user:cy", "a") is None
        assert list(log.of_subject("acme/user:cy")) == []

    def test_everything_is_there_after_reopening(self, tmp_path: Path) -> None:
        log = self.open_log(tmp_path, ManualClock(START))
        log.append([row(str(at), f"acme/user:u{at % 5}") for at in range(50)])
        before = everything(log)
        log.commit("indexer", {0: 3})
        log.close()
        again = self.open_log(tmp_path, ManualClock(START))
        assert everything(again) == before
        assert again.committed("indexer") == {0: 3}
        again.close()

    def test_consumers_keep_their_own_offsets(self, log: EventLog) -> None:
        assert log.committed("nobody") == {}
        log.commit("one", {0: 5, 1: 7})
        log.commit("one", {1: 8})
        log.commit("two", {0: 1})
        assert log.committed("one") == {0: 5, 1: 8}
        assert log.committed("two") == {0: 1}

    def test_a_resealed_row_takes_the_place_of_the_same_event(self, log: EventLog) -> None:
        if not self.replaces:
            pytest.skip("this log cannot rewrite a record; destroying the key erases it")
        log.append([row("a"), row("b")])
        entry = log.find("acme/user:ada", "a")
        assert entry is not None
        sealed = msgspec.structs.replace(entry.row, key_id="key-2", payload=b"sealed anew")
        log.replace_all([msgspec.structs.replace(entry, row=sealed)])
        log.scrub()
        found = log.find("acme/user:ada", "a")
        assert found is not None
        assert found.row == sealed
        assert [each.row.id for each in log.of_subject("acme/user:ada")] == ["a", "b"]

    @pytest.mark.parametrize(
        "change",
        [
            {"id": "b"},
            {"subject": "acme/user:bob"},
            {"type": "tool.returned"},
            {"time": START + timedelta(seconds=1)},
            {"time": START.astimezone(timezone(timedelta(hours=1)))},
            {"trust": 4},
            {"recordedtime": START - timedelta(days=1)},
        ],
    )
    def test_replacing_changes_no_content(self, log: EventLog, change: dict[str, object]) -> None:
        if not self.replaces:
            pytest.skip("this log cannot rewrite a record; destroying the key erases it")
        log.append([row("a")])
        entry = log.find("acme/user:ada", "a")
        assert entry is not None
        other = msgspec.structs.replace(entry.row, **change)
        with pytest.raises(LogUnavailable, match="mend"):
            log.replace_all([msgspec.structs.replace(entry, row=other)])
        assert log.find("acme/user:ada", "a") == entry

    def test_many_threads_append_at_once(self, tmp_path: Path) -> None:
        log = self.open_log(tmp_path, SystemClock())
        answers: dict[int, list[int]] = {}

        def write(thread: int) -> None:
            answers[thread] = [
                log.append([row(f"{thread}-{at}", f"acme/user:u{thread}")])[0].offset
                for at in range(30)
            ]

        threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for number in range(8):
            mine = list(log.of_subject(f"acme/user:u{number}"))
            assert [entry.row.id for entry in mine] == [f"{number}-{at}" for at in range(30)]
            assert [entry.offset for entry in mine] == answers[number]
        log.close()

    @pytest.mark.parametrize("batch", first_of(50, 1))
    def test_many_processes_lose_and_double_nothing(self, tmp_path: Path, batch: int) -> None:
        # Every process writes 300 events of its own, and the 20 that all of them share.
        source = self.program(tmp_path) + _WRITER
        writers = [
            subprocess.Popen([sys.executable, "-c", source, str(number), str(batch)])
            for number in range(self.writers)
        ]
        assert {writer.wait(timeout=120) for writer in writers} == {0}
        log = self.open_log(tmp_path, SystemClock())
        found = [(entry.row.subject, entry.row.id) for entry in everything(log)]
        own = {
            (f"acme/user:p{number}", str(at)) for number in range(self.writers) for at in range(300)
        }
        shared = {("acme/user:all", f"s{at}") for at in range(20)}
        assert set(found) == own | shared
        if self.orders_writers:
            assert len(found) == len(set(found))
        assert all(found.count(each) == 1 for each in own)
        assert [entry.row.id for entry in log.of_subject("acme/user:all")] == [
            f"s{at}" for at in range(20)
        ]
        for number in range(self.writers):
            mine = [entry.row.id for entry in log.of_subject(f"acme/user:p{number}")]
            assert mine == [str(at) for at in range(300)]
        for partition, end in log.end_offsets().items():
            entries = log.read(partition, 0, end)
            times = [entry.row.recordedtime for entry in entries]
            assert [entry.offset for entry in entries] == list(range(end))
            if self.orders_writers:
                assert times == sorted(set(times))  # type: ignore[type-var]
            for number in range(self.writers):
                subject = f"acme/user:p{number}"
                mine_at = [e.row.recordedtime for e in entries if e.row.subject == subject]
                assert mine_at == sorted(set(mine_at))  # type: ignore[type-var]
        log.close()


_WRITER = """
import sys
from datetime import UTC, datetime
from memstream.schemas.codec import SealedRow

number, batch = int(sys.argv[1]), int(sys.argv[2])
time = datetime(2024, 5, 6, tzinfo=UTC)


def row(name, subject):
    about = ("user_said", 3, "tests", "r1", 1, "key-1", b"sealed")
    return SealedRow(name, "turn.recorded", subject, time, *about)


rows = [row(str(at), f"acme/user:p{number}") for at in range(300)]
rows[100:100] = [row(f"s{at}", "acme/user:all") for at in range(20)]
for start in range(0, len(rows), batch):
    log.append(rows[start : start + batch])
log.close()
"""

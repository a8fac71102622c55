"""Erasing: nothing of the erased is left in any byte, and nothing else is lost by it."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from simulation import MEMORY_DISK

from memstream import Memory, Scope
from memstream.schemas.codec import SealedRow
from memstream.schemas.errors import KeyDestroyed
from memstream.streams.clock import ManualClock
from memstream.streams.log import Position

ANN = Scope(tenant="acme", user="ann")
SAID = datetime(2026, 1, 5, 9, tzinfo=UTC)

ERASES = """
import sys
from memstream import Memory, Scope
with Memory.open(sys.argv[1], worker=False) as memory:
    memory.erase(Scope(tenant="acme", user="ann"), event=sys.argv[2] or None)
"""


@pytest.fixture
def directory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=MEMORY_DISK, prefix="erasing-") as folder:
        yield Path(folder) / "memory"


@pytest.fixture
def memory(directory: Path) -> Iterator[Memory]:
    with Memory.open(directory, worker=False, clock=ManualClock(SAID)) as memory:
        yield memory


def assert_sound(memory: Memory) -> None:
    """Everything is healthy, and a rebuild makes the same memories."""
    memory.flush()
    diagnosis = memory.doctor()
    assert diagnosis.healthy, diagnosis
    report = memory.rebuild()
    assert report.identical, report.problems


class TestWhatIsNotErased:
    """Erasing one event leaves every other event of the scope as it was."""

    @pytest.mark.parametrize(
        ("kind", "version", "plain"),
        [
            ("dream.recorded", 1, b'{"dream":"of flying"}'),
            ("turn.recorded", 7, b'{"said":"in another shape"}'),
            ("turn.recorded", 1, b'{"text":"no role"}'),
            ("turn.recorded", 1, b"\xff\x00 not JSON at all"),
        ],
    )
    def test_an_event_that_this_release_cannot_decode_stays_readable(
        self, memory: Memory, kind: str, version: int, plain: bytes
    ) -> None:
        files = memory._host.files
        erased = memory.record_turn(ANN, text="I live in Xochimilco.")
        row = SealedRow("later", kind, ANN.path, SAID, "user_said", 3, "r", "", version, "", b"")
        files.log.append([files.codec.with_plain(row, plain)])
        memory.flush()
        before = memory._host.store.outcomes()
        memory.erase(erased)
        found = files.log.find(ANN.path, "later")
        assert found is not None
        assert files.codec.plain(found.row) == plain
        assert (found.row.type, found.row.dataversion) == (kind, version)
        assert memory._host.store.outcomes()["dead_lettered"] == before["dead_lettered"] == 1

    @pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "in another process"])
    @pytest.mark.parametrize("whole", [False, True], ids=["one event", "the scope"])
    def test_what_was_sealed_before_and_arrives_afterwards_is_kept(
        self, directory: Path, memory: Memory, elsewhere: bool, whole: bool
    ) -> None:
        first = memory.record_turn(ANN, text="I live in Xochimilco.", event_id="e1")
        log = memory._host.files.log
        append, delayed = log.append, list[object]()

        def after_an_erasure(rows: Sequence[SealedRow]) -> list[Position]:
            if not delayed:
                delayed.append(rows)
                if elsewhere:
                    program = [sys.executable, "-c", ERASES, str(directory)]
                    subprocess.run([*program, "" if whole else "e1"], check=True)
                else:
                    memory.erase(ANN if whole else first)
            return append(rows)

        with patch.object(log, "append", after_an_erasure):
            memory.record_turn(ANN, text="I work at Hooli.", event_id="e2")
        assert delayed
        memory.flush()
        assert [each.value for each in memory.memories(ANN)] == ["Hooli"]
        for name, gone in (("e1", True), ("e2", False)):
            entry = log.find(ANN.path, name)
            assert entry is not None
            assert is_erased(memory, entry.row) is gone
        assert_sound(memory)

    def test_appends_during_many_erasures_are_all_kept(self, memory: Memory) -> None:
        """Every append is overtaken by an erasure, at each point between sealing and storing."""
        seal, depth = memory._host.files.codec.to_row, list[object]()

        def sealed(event: Any) -> SealedRow:
            row = seal(event)
            if not depth and event.type == "turn.recorded":
                depth.append(row)
                memory.erase(memory.record_turn(ANN, text="Forget this at once."))
            return row

        with patch.object(memory._host.files.codec, "to_row", sealed):
            for number in range(4):
                depth.clear()
                memory.state(ANN, attribute="likes", value=f"tea {number}")
                memory.record_turn(ANN, text=f"I like pie number {number}.")
        memory.flush()
        assert len(memory.memories(ANN)) == 8
        assert_sound(memory)


def is_erased(memory: Memory, row: SealedRow) -> bool:
    try:
        memory._host.files.codec.plain(row)
    except KeyDestroyed:
        return True
    return False

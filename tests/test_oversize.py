"""An oversize text is recorded in pieces; the first text of an id wins whole, whatever follows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path

import msgspec
import pytest
from log_conformance import row
from test_stages import Partition, codec, recorded, undisturbed

from memstream import Memory, Scope
from memstream.processors.capture import LARGEST_PART_BYTES, capture
from memstream.schemas.codec import Codec
from memstream.schemas.events import Event, MemoryStated, Source, TurnRecorded, WriteDecided
from memstream.streams.bundles import BundleCodec
from memstream.streams.clock import ManualClock
from memstream.streams.log import Position
from memstream.streams.log_in_sqlite import SqliteLog

__all__ = ["codec"]  # a fixture

ANN = Scope(tenant="acme", user="ann")
SAID = datetime(2025, 5, 1, tzinfo=UTC)

LENGTHS = {"short": 1, "just over": 1.2, "long": 2.5, "longer": 4.5}
"""In the most bytes of a piece."""
RECORDED: dict[str, Callable[[Memory, str], Position]] = {
    "turn": lambda memory, said: memory.record_turn(ANN, text=said, event_id="one"),
    "statement": lambda memory, said: memory.state(ANN, said, event_id="one"),
    "tool result": lambda memory, said: memory.record_tool_result(
        ANN, tool="read", text=said, event_id="one"
    ),
}


def text(length: str, about: str) -> str:
    line = f"The {about} was painted in the spring. "
    return line * int(LENGTHS[length] * LARGEST_PART_BYTES / len(line))


def held(memory: Memory) -> list[Event]:
    files = memory._host.files
    return [files.codec.from_row(each.row) for each in files.log.of_subject(ANN.path)]


@pytest.mark.parametrize("kind", RECORDED)
@pytest.mark.parametrize("first", LENGTHS)
def test_what_comes_second_under_an_id_leaves_nothing(
    tmp_path: Path, kind: str, first: str
) -> None:
    record = RECORDED[kind]
    with Memory.open(tmp_path, worker=False, partitions=1) as memory:
        said = record(memory, text(first, "harbour"))
        after = memory.record_turn(ANN, text="And I live in Porto.")
        assert said.offset == after.offset - 1
        there = held(memory)
        for length in LENGTHS:
            # The same words as far as they go, and other words: whatever pieces they share.
            for about in ("harbour", "bridge"):
                again = record(memory, text(length, about))
                same = (length, about) == (first, "harbour")
                assert again == msgspec.structs.replace(said, duplicate=True, differs=not same)
                assert held(memory) == there
        other_end = text(first, "harbour")[:-20] + "in the autumn."
        assert record(memory, other_end).differs
        assert held(memory) == there


def test_the_first_of_two_that_record_at_once_wins_whole(tmp_path: Path) -> None:
    """Both had looked before either wrote: the log itself keeps them apart."""
    log = SqliteLog(tmp_path / "log.db", ManualClock(SAID), partitions=1)
    ours = [row("one"), *(row(f"ours-{at}", goes_with="one") for at in range(2))]
    theirs = [row("one"), *(row(f"theirs-{at}", goes_with="one") for at in range(3))]
    given = log.append([row("before"), *ours, row("between")])
    assert not any(each.duplicate for each in given)
    answered = log.append([*theirs, row("after")])
    first = msgspec.structs.replace(given[1], duplicate=True)
    assert answered[:4] == [first] * 4
    assert [each.row.id for each in log.read(0, 0, 99)] == [
        "before", "one", "ours-0", "ours-1", "between", "after",
    ]  # fmt: skip
    # A piece whose first one comes in another call (a file read in batches) goes in.
    assert not log.append([row("late", goes_with="one")])[0].duplicate
    log.close()


def test_an_erased_text_takes_all_its_pieces_and_no_other_returns(tmp_path: Path) -> None:
    with Memory.open(tmp_path, worker=False) as memory:
        said = memory.record_turn(ANN, text=text("long", "Xochimilco"), event_id="one")
        memory.flush()
        report = memory.erase(said)
        assert report.complete
        for about in ("Xochimilco", "harbour"):
            again = memory.record_turn(ANN, text=text("longer", about), event_id="one")
            assert (again.duplicate, again.differs) == (True, False)
        memory.flush()
        assert not memory.memories(ANN, everything=True)
        assert memory.doctor().healthy


# Where the log cannot look (Kafka), the processors come to the same


DATA: dict[str, Callable[[str], TurnRecorded | MemoryStated]] = {
    "turn": lambda said: TurnRecorded(role="user", text=said),
    "statement": lambda said: MemoryStated(text=said),
}


def pieces(kind: str, about: str, lines: int) -> list[Event]:
    said = f"I painted the {about} in 2021. " * lines
    event = Event(
        id="one", type={"turn": "turn.recorded", "statement": "memory.stated"}[kind],
        subject=ANN.path, time=SAID, source=Source("user_said", 3), data=DATA[kind](said),
    )  # fmt: skip
    return capture(event, largest_part=100)


def mixed(ours: Sequence[Event], theirs: Sequence[Event]) -> Iterator[list[Event]]:
    """Every way for the two rows to come into one, with ours first."""
    size = len(ours) + len(theirs)
    for places in combinations(range(1, size), len(ours) - 1):
        first, second = iter(ours), iter(theirs)
        yield [next(first) if at in (0, *places) else next(second) for at in range(size)]


def decided(partition: Partition) -> list[str]:
    """What became of each message, in order."""
    reader = BundleCodec(partition.codec)
    return [
        bundle.outcome or next(
            each.data.outcome
            for each in reader.readable(bundle, reader.raw(bundle))
            if isinstance(each.data, WriteDecided)
        )
        for bundle in partition.bundles()
    ]  # fmt: skip


@pytest.mark.parametrize("kind", DATA)
@pytest.mark.parametrize("lines", [(9, 12), (12, 9), (2, 9), (9, 2)])
def test_pieces_of_two_texts_come_to_what_the_first_makes(
    codec: Codec, kind: str, lines: tuple[int, int]
) -> None:
    ours = pieces(kind, "bridge", lines[0])
    theirs = pieces(kind, "harbour", lines[1])
    assert {each.id for each in ours} & {each.id for each in theirs} == {"one"}
    for events in mixed(ours, theirs):
        sent = recorded(events)
        kept = [each for each, given in zip(sent, events, strict=True) if given in ours]
        partition = Partition(codec)
        partition.record(sent)
        partition.drain()
        assert partition.versions() == undisturbed(kept) == undisturbed(sent)
        outcomes = decided(partition)
        assert len(outcomes) == len(sent), "every piece is accounted for"
        assert outcomes.count("duplicate") == 1
        assert outcomes.count("rejected") == len(theirs) - 1
        assert outcomes.count("stored") == len(ours)


def test_pieces_in_another_order_are_all_kept(codec: Codec) -> None:
    events = pieces("turn", "bridge", 9)
    assert undisturbed(recorded(events[::-1])).keys() == {ANN.path}
    partition = Partition(codec)
    partition.record(recorded(events[::-1]))
    partition.drain()
    assert decided(partition) == ["stored"] * len(events)

"""The projector: bundles from their topic into projections, each from its own position."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from random import Random

import msgspec
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from histories import history
from test_indexing import Kept
from test_stages import Partition, codec, erase, recorded, undisturbed

from memstream.projections.in_duckdb import DuckIndex
from memstream.projections.projection import Generation, Projection, Step
from memstream.schemas.codec import Codec
from memstream.schemas.errors import ProjectionDamaged
from memstream.schemas.events import Event, MemoryChanged
from memstream.schemas.memories import canonical
from memstream.streams import projector
from memstream.streams.bundles import BundleCodec
from memstream.streams.projector import Projector
from memstream.streams.stages import BrokenSequence

__all__ = ["codec"]  # a fixture


class Index(Kept):
    """A projection that keeps steps in memory, and shows nothing of a scope from before it was
    erased."""

    cleared = 0
    gone: Sequence[Step] = ()

    def erase(self, scope: str) -> int:
        self.gone = [each for each in self.steps if each.scope == scope]
        self.cleared += 1
        return len(self.gone)

    def versions(self) -> dict[str, list[bytes]]:
        """What is left of memory versions by scope, in order."""
        held: defaultdict[str, list[bytes]] = defaultdict(list)
        for step in self.steps:
            if step not in self.gone:
                for event in step.derived:
                    if isinstance(event.data, MemoryChanged):
                        held[step.scope].append(canonical(event.data.memory))
        return dict(held)


class Topic:
    """The memories topic of one partition."""

    def __init__(self, bundles: list[bytes]) -> None:
        self.bundles = bundles

    def messages(self, partition: int, offset: int, limit: int) -> list[tuple[int, bytes]]:
        return list(enumerate(self.bundles))[offset : offset + limit]

    def end_offsets(self, partitions: int) -> dict[int, int]:
        return {0: len(self.bundles)}


@pytest.fixture
def partition(codec: Codec, monkeypatch: pytest.MonkeyPatch) -> Partition:
    """Some events, processed. The projector takes few bundles at once."""
    monkeypatch.setattr(projector, "AT_ONCE", 7)
    made = Partition(codec)
    made.record(recorded(history(Random(9), 40)))
    made.drain()
    return made


def projecting(partition: Partition, *projections: Projection) -> Projector:
    topic = Topic(partition.topics["memories"])
    return Projector(topic, BundleCodec(partition.codec), projections, 1)


def test_every_projection_goes_on_from_its_own_position(partition: Partition) -> None:
    fresh, ahead = Index(), Index()
    projecting(partition, ahead).project(keep_going=iter([True, False]).__next__)
    assert ahead.positions() == {0: 7}
    both = projecting(partition, fresh, ahead)
    assert both.positions() == {0: 0}
    both.project()
    assert [each.seq for each in fresh.steps] == list(range(1, len(fresh.steps) + 1))
    assert fresh.versions() == ahead.versions() == partition.versions()
    assert both.positions() == {0: len(partition.topics["events"])}
    assert both.project() == 0


def test_bundles_that_were_sent_again_count_once(partition: Partition) -> None:
    sent = partition.topics["memories"]
    partition.topics["memories"] = [*sent[:20], *sent[11:30], *sent[25:]]
    index = Index()
    projecting(partition, index).project()
    assert index.versions() == partition.versions()


def test_a_bundle_that_is_missing_is_an_error_and_nothing_after_it_is_applied(
    partition: Partition,
) -> None:
    del partition.topics["memories"][10]
    index = Index()
    with pytest.raises(BrokenSequence, match=r"event 11 \(part 0, after 10\) follows that of 9"):
        projecting(partition, index).project()
    assert index.positions() == {0: 7}


def test_an_erasure_cut_off_in_the_middle_is_done_again_from_its_beginning(
    codec: Codec, partition: Partition
) -> None:
    events = [codec.from_wire(each) for each in partition.topics["events"]]
    victim = events[5]
    erase(partition, victim.subject, {victim.id}, events[-1])
    partition.drain()
    index = Index()
    cut = projecting(partition, index)
    while index.positions().get(0, 0) < len(events) or not index.cleared:
        assert cut.project(keep_going=iter([True, False]).__next__)
    assert index.positions()[0] < len(partition.topics["events"])
    projecting(partition, index).project()
    assert index.cleared == 2
    assert index.versions() == undisturbed([each for each in events if each is not victim])


def test_one_that_fails_or_keeps_nothing_keeps_no_other_back(partition: Partition) -> None:
    failing = Index("failing", fails_at=9, failure=ProjectionDamaged("step 9; mend: rebuild"))
    still, whole = Index("still", forgets=True), Index("whole")
    with pytest.raises(ProjectionDamaged, match="step 9"):
        projecting(partition, failing, still, whole).project()
    assert whole.versions() == partition.versions()
    with pytest.raises(ProjectionDamaged, match=r"still: steps up to 7 .* its position is 0"):
        projecting(partition, still).project()


def named_in_each_scope(events: Sequence[Event]) -> list[Event]:
    """The events with the ids that the agents of each scope give: "e1", "e2" and so on."""
    counts: defaultdict[str, int] = defaultdict(int)
    named = list[Event]()
    for event in events:
        counts[event.subject] += 1
        named.append(msgspec.structs.replace(event, id=f"e{counts[event.subject]}"))
    return named


@pytest.mark.parametrize("seed", range(3))
def test_the_analytics_hold_every_event_once_whatever_was_erased_beside_it(
    codec: Codec, tmp_path: Path, seed: int
) -> None:
    """What is derived again after an erasure stands where the events of others stand, and ids are
    unique within a scope only."""
    random, partition = Random(seed), Partition(codec)
    events = named_in_each_scope(recorded(history(random, 60)))
    captured = {(each.subject, each.id) for each in events}
    duck = DuckIndex.open(tmp_path / "analytics.duckdb", Generation("pipe", "none", "1"))
    while events:
        told, events = events[: (at := random.randint(1, 12))], events[at:]
        partition.record(told[:-1])
        scope, written = random.choice(told).subject, partition.topics["events"]
        there = sorted({BundleCodec.names(wire)[:2] for wire in written})
        names = {name for subject, name in there if subject == scope and random.random() < 0.5}
        erase(partition, scope, names, told[-1])
        request = written.pop()
        partition.record(told[-1:])  # while the erasure was being written
        written.append(request)
        captured.add((scope, BundleCodec.names(request)[1]))
        if random.random() < 0.5:
            partition.drain()
            projecting(partition, duck).project()
    partition.drain()
    projecting(partition, duck).project()
    _, found = duck.sql("SELECT scope, event FROM captured")
    duck.close()
    assert sorted(found) == sorted(captured)


class Partitions(Topic):
    """The memories topic of several partitions, each with the same bundles at its own place. Counts
    what it was asked for."""

    def __init__(self, bundles: list[bytes], count: int) -> None:
        super().__init__(bundles)
        self.count, self.asked = count, 0

    def messages(self, partition: int, offset: int, limit: int) -> list[tuple[int, bytes]]:
        self.asked += 1
        decode, moved = BundleCodec.decode, msgspec.structs.replace
        return [
            (at, BundleCodec.encode(moved(decode(message, where="test"), partition=partition)))
            for at, message in super().messages(partition, offset, limit)
        ]

    def end_offsets(self, partitions: int) -> dict[int, int]:
        return {each: len(self.bundles) for each in range(self.count)}


class Counting(Index):
    """Counts how often it is told to apply."""

    applies = 0

    def apply(self, steps: Sequence[Step]) -> None:
        self.applies += 1
        super().apply(steps)


def test_a_turn_reads_once_and_applies_once_for_all_partitions(
    partition: Partition, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit for each partition is what reading one's own writes waited for."""
    monkeypatch.setattr(projector, "AT_ONCE", 500)
    topic = Partitions(partition.topics["memories"], 4)
    one, other = Counting("one"), Counting("other")
    Projector(topic, BundleCodec(partition.codec), [one, other], 4).project()
    assert [one.applies, other.applies, topic.asked] == [1, 1, 4]
    events = len(partition.topics["events"])
    assert one.positions() == other.positions() == dict.fromkeys(range(4), events)
    assert one.steps == other.steps


def test_partitions_that_hold_more_than_a_turn_takes_are_taken_in_several(
    partition: Partition,
) -> None:
    topic, index = Partitions(partition.topics["memories"], 3), Counting()
    Projector(topic, BundleCodec(partition.codec), [index], 3).project()
    assert len(index.steps) == 3 * len(topic.bundles)
    assert index.applies == -(-len(index.steps) // 7)
    assert index.positions() == dict.fromkeys(range(3), len(partition.topics["events"]))


def test_what_was_applied_is_told_with_its_steps(partition: Partition) -> None:
    told: list[Step] = []
    index = Index()
    topic = Topic(partition.topics["memories"])
    Projector(
        topic,
        BundleCodec(partition.codec),
        [index],
        1,
        watch=lambda name, bundles, steps: told.extend(steps),
    ).project()
    assert told == index.steps

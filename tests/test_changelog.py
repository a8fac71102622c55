"""The changelog of a stage's state: terms, and what comes of two workers that write to it at once.

The topic is a list here. What is recovered from it goes through the worker's own table.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))

from test_faust_app import worker

from memstream.streams import changelog
from memstream.streams.changelog import (
    TERM_KEY,
    InMemory,
    PartitionTable,
    Record,
    TakenOver,
    term_of,
)
from memstream.streams.kafka_settings import KafkaSettings

SETTINGS = KafkaSettings(bootstrap="127.0.0.1:1")
KEYS = [b"acme/user:ann\x1f%d" % number for number in range(4)]


class Topic:
    """One partition of a changelog."""

    def __init__(self) -> None:
        self.records: list[Any] = []

    def send(self, records: Sequence[Record]) -> list[range]:
        """Where they stand, as the producer tells it."""
        start = len(self.records)
        if not records:
            return []
        for key, value, headers in records:
            offset = len(self.records)
            self.records.append(
                SimpleNamespace(key=key, value=value, headers=headers, offset=offset)
            )
        return [range(start, len(self.records))]


class Reader:
    """A ``TopicReader`` of that list."""

    def __init__(self, topic: Topic) -> None:
        self._topic = topic

    def records(self, partition: int, offset: int, limit: int) -> list[Any]:
        assert partition == 0
        return self._topic.records[offset : offset + limit]

    def close(self) -> None: ...


class Writer:
    """A worker that has the partition, or believes so."""

    def __init__(self, topic: Topic, generation: int, own: Any, *, until: int) -> None:
        """It has recovered what stood below ``until``, into a table of its ``own``."""
        self.topic = topic
        self.entries, outdated = recovered(topic.records[:until], own)
        self.table = PartitionTable(
            lambda: self.entries,
            0,
            generation=generation,
            recovered=until - 1 if until else None,
            outdated=outdated,
        )

    def sends(self) -> None:
        """As ``faust_app`` does it."""
        stand = self.topic.send(self.table.changed())
        while foreign := self.table.between(stand):
            stand = self.topic.send(self.table.again(SETTINGS, "changelog", foreign))


def recovered(records: Sequence[Any], table: Any) -> tuple[InMemory, set[bytes]]:
    """What a worker's table holds once it has read the records; the keys whose newest record is
    an overtaken worker's."""
    topic = table.changelog_topic.get_topic_name()
    table.apply_changelog_batch(
        [
            SimpleNamespace(
                message=SimpleNamespace(topic=topic, partition=0, tp=(topic, 0), **vars(each))
            )
            for each in records
        ]
    )
    entries: InMemory = table._in_memory.pop(0, InMemory())
    return entries, table.begin(0)


def compacted(records: Sequence[Any]) -> list[Any]:
    """What a broker leaves of them: the newest record of every key."""
    newest = {each.key: each.offset for each in records}
    return [each for each in records if newest[each.key] == each.offset]


def held(entries: InMemory) -> dict[bytes, bytes]:
    """The entries without their terms."""
    return {key: entry[changelog.TERM_BYTES :] for key, entry in entries.items() if key != TERM_KEY}


@pytest.fixture
def topic(monkeypatch: pytest.MonkeyPatch) -> Topic:
    made = Topic()
    monkeypatch.setattr(changelog, "TopicReader", lambda *_: Reader(made))
    return made


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The table of a worker that is not started; it is empty again after each recovery."""
    return worker(SETTINGS, tmp_path_factory.mktemp("worker"))._stages[0]._table


def table(entries: InMemory, generation: int = 7, **more: Any) -> PartitionTable:
    return PartitionTable(lambda: entries, 0, generation=generation, recovered=None, **more)


def test_every_term_is_later_than_the_one_that_was_recovered() -> None:
    entries = InMemory()
    terms = [table(entries, generation).term for generation in (7, 3, -1, 2**31)]
    assert terms == sorted(terms)
    assert len(set(terms)) == len(terms)
    # Two that recovered the same: the later generation of the consumer group is the later term.
    assert table(InMemory(), 8).term > table(InMemory(), 7).term


def test_entries_are_given_without_their_term_and_logged_with_it() -> None:
    made = table(InMemory())
    made.put(KEYS[0], b"one")
    made.put(KEYS[1], b"two")
    made.delete(KEYS[1])
    assert made.get(KEYS[0]) == b"one"
    assert made.get(KEYS[1]) is None
    term, one, gone = made.changed()
    assert term == (TERM_KEY, made.term, [])
    assert one == (KEYS[0], made.term + b"one", [])
    assert gone[:2] == (KEYS[1], None)
    assert [term_of(value, headers) for _, value, headers in (one, gone)] == [made.term] * 2
    assert made.changed() == []


def test_keys_are_those_that_begin_with_the_prefix() -> None:
    made = table(InMemory())
    for key in (b"acme/user:ann\x1fa", b"acme/user:ann\x1fb", b"acme/user:anna\x1fa", b"acme"):
        made.put(key, b"")
    assert list(made.keys(b"acme/user:ann\x1f")) == [b"acme/user:ann\x1fa", b"acme/user:ann\x1fb"]
    assert list(made.keys(b"none")) == []


def test_what_others_wrote_between_is_known_by_the_gap_in_the_offsets() -> None:
    made = PartitionTable(InMemory, 0, generation=1, recovered=9)
    assert made.between([range(10, 13), range(13, 15)]) == []
    assert made.between([range(17, 18), range(20, 21)]) == [range(15, 17), range(18, 20)]
    assert made.logged == 20
    # Where a batch stands is not always known: then nothing is, until the next.
    assert made.between([range(0)]) == []
    assert made.logged is None
    assert made.between([range(30, 31)]) == []
    assert made.logged == 30


def test_the_overtaken_one_stops_when_it_meets_a_later_term(topic: Topic, own: Any) -> None:
    old = Writer(topic, 1, own, until=0)
    old.sends()
    new = Writer(topic, 2, own, until=1)
    new.table.put(KEYS[0], b"new")
    new.sends()
    old.table.put(KEYS[0], b"old")
    with pytest.raises(TakenOver, match="partition 0 offset 1: another worker has written in a la"):
        old.sends()


def test_the_later_one_writes_its_own_entries_of_the_others_keys_again(
    topic: Topic, own: Any
) -> None:
    old = Writer(topic, 1, own, until=0)
    old.table.put(KEYS[0], b"first")
    old.table.put(KEYS[2], b"kept")
    old.sends()
    new = Writer(topic, 2, own, until=3)
    new.table.delete(KEYS[0])
    new.sends()
    for key in KEYS[:2]:
        old.table.put(key, b"late")
    topic.send(old.table.changed())
    new.table.put(KEYS[3], b"next")
    new.sends()
    for records in (topic.records, compacted(topic.records)):
        entries, outdated = recovered(records, own)
        assert held(entries) == held(new.entries) == {KEYS[2]: b"kept", KEYS[3]: b"next"}
        assert not outdated


Step = tuple[str, int, int]
STEPS = st.lists(
    st.tuples(st.sampled_from(["put", "delete", "send", "late"]), st.integers(0, 3), st.integers()),
    max_size=25,
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=STEPS, during=STEPS, after=STEPS)
def test_whatever_an_overtaken_worker_writes_the_state_is_that_of_the_one_that_has_it(
    topic: Topic, own: Any, before: list[Step], during: list[Step], after: list[Step]
) -> None:
    """And so it is for who recovers from the changelog as it is, from its compacted form, and for
    who takes over in the middle and goes on."""
    topic.records.clear()
    old = Writer(topic, 1, own, until=0)
    works(old, None, before)
    old.sends()
    new = Writer(topic, 2, own, until=len(topic.records))
    works(new, old, during)
    new.sends()
    third = Writer(topic, 3, own, until=len(topic.records))
    assert held(third.entries) == held(new.entries)
    works(third, old, after)
    third.table.put(KEYS[0], b"what is written next mends what came late")
    third.sends()
    for records in (topic.records, compacted(topic.records)):
        entries, _ = recovered(records, own)
        assert held(entries) == held(third.entries)


def works(writer: Writer, overtaken: Writer | None, steps: Sequence[Step]) -> None:
    """``late``: the overtaken one sends a batch, and does not come to look at what is there."""
    for what, key, value in steps:
        if what == "put":
            writer.table.put(KEYS[key], b"%d" % value)
        elif what == "delete":
            writer.table.delete(KEYS[key])
        elif what == "send":
            writer.sends()
        elif overtaken is not None:
            overtaken.table.put(KEYS[key], b"late %d" % value)
            overtaken.topic.send(overtaken.table.changed())

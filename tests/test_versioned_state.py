"""State of which every value remembers the message that wrote it, by itself: a restart at any
committed offset, with whatever had been written by then, ends with the same."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))

from test_stages import Store

from memstream.processors.pipeline import key
from memstream.schemas.errors import ProjectionDamaged
from memstream.streams.versioned_state import VersionedState

ANN, BOB = "acme/user:ann", "acme/user:bob"
KEYS = [key(scope, name) for scope in (ANN, BOB) for name in ("a", "b", "c")]


class Count(msgspec.Struct, frozen=True):
    """A value."""

    n: int


class Plain:
    """A seal that hides nothing and can forget."""

    def __init__(self) -> None:
        self.forgotten: set[str] = set()

    def seal(self, scope: str, name: bytes, plain: bytes) -> bytes:
        return plain

    def open(self, scope: str, name: bytes, sealed: bytes) -> bytes | None:
        return None if scope in self.forgotten else sealed

    def forget(self, scope: str) -> None:
        self.forgotten.add(scope)


@pytest.fixture
def table() -> Store:
    return Store()


def put(state: VersionedState, name: str, value: int | None) -> None:
    with state.isolated():
        if value is None:
            state.delete(name)
        else:
            state.put(name, Count(value))


def read(state: VersionedState, name: str) -> int | None:
    found = state.get(name, Count)
    return None if found is None else found.n


def test_a_message_reads_what_lower_offsets_wrote_and_nothing_else(table: Store) -> None:
    state = VersionedState(table, Plain())
    for offset in (3, 5, 8):
        state.begin_batch(offset)
        state.begin(offset)
        put(state, KEYS[0], offset)
        assert read(state, KEYS[0]) == offset
        state.flush(0)
    again = VersionedState(table, Plain())
    for offset, seen in ((3, None), (4, 3), (5, 3), (6, 5), (9, 8)):
        fresh = VersionedState(table, Plain())
        fresh.begin_batch(offset)
        fresh.begin(offset)
        assert read(fresh, KEYS[0]) == seen
    again.begin_batch(5)
    again.begin(5)
    put(again, KEYS[0], 50)
    again.flush(5)
    again.begin_batch(9)
    again.begin(9)
    assert read(again, KEYS[0]) == 50  # what 8 wrote was written before 5 was taken again


def test_only_what_a_restart_may_ask_for_is_kept(table: Store) -> None:
    state = VersionedState(table, Plain())
    for offset, committed in ((1, 0), (2, 0), (3, 3), (4, 4)):
        state.begin_batch(offset)
        state.begin(offset)
        put(state, KEYS[0], offset)
        state.flush(committed)
    (entry,) = table.entries.values()
    assert [offset for offset, _ in msgspec.json.decode(entry)] == [3, 4]
    state.begin_batch(5)
    state.begin(5)
    put(state, KEYS[0], None)
    state.flush(5)
    state.begin_batch(6)
    state.begin(6)
    assert read(state, KEYS[0]) is None
    assert len(table.entries) == 1  # a restart at 5 reads what was there before
    put(state, KEYS[0], None)
    state.flush(7)
    assert not table.entries


def test_one_value_a_batch_is_kept(table: Store) -> None:
    state = VersionedState(table, Plain())
    state.begin_batch(0)
    for offset in range(5):
        state.begin(offset)
        put(state, KEYS[0], offset)
    state.flush(0)
    (entry,) = table.entries.values()
    assert [offset for offset, _ in msgspec.json.decode(entry)] == [4]


def test_what_failed_leaves_nothing(table: Store) -> None:
    state = VersionedState(table, Plain())
    state.begin_batch(1)
    state.begin(1)
    put(state, KEYS[0], 1)

    def fails() -> None:
        with state.isolated():
            state.put(KEYS[0], Count(2))
            state.delete(KEYS[1])
            assert read(state, KEYS[0]) == 2
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    assert read(state, KEYS[0]) == 1


def test_clearing_a_scope_takes_every_value_of_it_and_its_key(table: Store) -> None:
    seal = Plain()
    state = VersionedState(table, seal)
    state.begin_batch(1)
    state.begin(1)
    for number, name in enumerate(KEYS):
        put(state, name, number)
    state.flush(0)
    state.begin_batch(2)
    state.begin(2)
    put(state, KEYS[0], 20)
    state.clear(ANN)
    assert seal.forgotten == {ANN}
    assert [read(state, each) for each in KEYS] == [None, None, None, 3, 4, 5]
    state.flush(0)
    assert all(each.startswith(BOB.encode()) for each in table.entries)


def test_an_entry_that_is_none_is_damage(table: Store) -> None:
    state = VersionedState(table, Plain())
    state.begin_batch(1)
    state.begin(1)
    put(state, KEYS[0], 1)
    state.flush(0)
    table.entries = dict.fromkeys(table.entries, b"{}")
    fresh = VersionedState(table, Plain())
    fresh.begin(2)
    with pytest.raises(ProjectionDamaged, match=f"state of {ANN}: an entry is no list of versions"):
        read(fresh, KEYS[0])


Message = Sequence[tuple[int, int, bool]]
"""Of (key to read, key to write, whether to delete)."""
MESSAGES = st.lists(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.booleans()), max_size=3),
    min_size=1,
    max_size=25,
)


def worked(state: VersionedState, offset: int, message: Message) -> None:
    """What a message makes depends on what it reads."""
    state.begin(offset)
    for source, target, deletes in message:
        value = (read(state, KEYS[source]) or 0) * 3 + offset + 1
        put(state, KEYS[target], None if deletes else value)


@settings(max_examples=80)
@given(MESSAGES, st.randoms(use_true_random=False), st.integers(1, 8))
def test_killed_anywhere_it_ends_as_if_it_had_not_been(
    messages: list[Message], random: Random, cached: int
) -> None:
    def ends(state: VersionedState) -> list[int | None]:
        state.begin_batch(len(messages))
        state.begin(len(messages))
        return [read(state, each) for each in KEYS]

    undisturbed = VersionedState(Store(), Plain())
    for offset, message in enumerate(messages):
        undisturbed.begin_batch(offset)
        worked(undisturbed, offset, message)
    changelog, committed, at = Store(), 0, 0
    table, deaths = Store(), 0
    state = VersionedState(table, Plain(), cached=cached)
    while at < len(messages):
        size = random.randint(1, 4)
        batch = list(enumerate(messages))[at : at + size]
        state.begin_batch(at)
        for offset, message in batch:
            worked(state, offset, message)
        table.written.clear()
        state.flush(committed)
        dies = deaths < 6 and random.random() < 0.4
        count = random.randint(0, len(table.written)) if dies else len(table.written)
        for name, entry in table.written[:count]:
            changelog.entries.pop(name, None)
            if entry is not None:
                changelog.entries[name] = entry
        if dies:
            deaths += 1
            table = Store()
            table.entries = dict(changelog.entries)
            state, at = VersionedState(table, Plain(), cached=cached), committed
            continue
        at += len(batch)
        if random.random() < 0.5:
            committed = at
    assert ends(state) == ends(undisturbed)
    assert ends(VersionedState(changelog, Plain())) == ends(undisturbed)

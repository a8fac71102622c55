"""What a processor is, what state it sees, and what a pipeline of them is."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeVar

import msgspec

from memstream.schemas.events import Event
from memstream.schemas.memories import Assertion

Value = TypeVar("Value", bound=msgspec.Struct)


class State(Protocol):
    """A transactional key-value view, local to one scope's partition.

    Keys start with the scope path (see ``key``). ``get`` decodes to ``kind`` or gives None;
    values are frozen structs. What is put is seen by later gets of the same transaction.
    """

    def get(self, key: str, kind: type[Value]) -> Value | None: ...

    def put(self, key: str, value: msgspec.Struct) -> None: ...

    def delete(self, key: str) -> None: ...


class Processor(Protocol):
    """A pure decision: events in, events out. ``name`` and ``version`` go into the fingerprint.

    Obligations: no clock, randomness, network, environment or set order; the same state and event
    always give the same answer; an event it has nothing to say about is passed through. What it
    writes into the state for one event, no other processor may read for another event: so it does
    not matter whether a batch goes through event by event or processor by processor.
    """

    name: str
    version: int

    def __call__(self, state: State, event: Event) -> Iterable[Event]: ...


class Reads(Protocol):
    """What reads texts: the same event always says the same."""

    def read(self, event: Event) -> list[Assertion]: ...


class Pipeline:
    """Processors in order: what one yields is what the next one reads."""

    def __init__(self, processors: Sequence[Processor], *, policy: Sequence[str] = ()) -> None:
        self.processors = tuple(processors)
        self.expect: Callable[[Sequence[Event]], None] | None = None
        """To be told which events come after the present ones, where anybody wants to know."""
        self.fingerprint = fingerprint_of(
            [(each.name, each.version) for each in self.processors], policy
        )

    def __call__(self, state: State, event: Event) -> list[Event]:
        """All events that one raw event leads to, in order. Derived ones only."""
        flowing: list[Event] = [event]
        for processor in self.processors:
            flowing = [out for each in flowing for out in processor(state, each)]
        return [out for out in flowing if out is not event]

    def batch(self, state: State, events: Sequence[Event]) -> list[list[Event]]:
        """What the events lead to, each for itself, as if they came one after another.

        One processor after another reads the whole batch, which takes a sixth less time: the code
        and the tables of one are in the processor's caches by then. Raises ``BatchFailed`` where
        any of them fails; nothing of ``state`` counts then.
        """
        flowing: list[list[Event]] = [[event] for event in events]
        try:
            for processor in self.processors:
                flowing = [
                    [out for each in one for out in processor(state, each)] for one in flowing
                ]
        except Exception as error:
            raise BatchFailed(f"one of {len(events)} events: {error}") from error
        return [
            [out for out in one if out is not event]
            for one, event in zip(flowing, events, strict=True)
        ]


def fingerprint_of(processors: Sequence[tuple[str, int]], policy: Sequence[str]) -> str:
    """The fingerprint of a pipeline of processors of these names and versions."""
    text = "\n".join([*(f"{name}/{version}" for name, version in processors), *policy])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class BatchFailed(Exception):
    """One event of a batch does not go through; take them one by one to know which."""


def key(scope: str, namespace: str, *parts: str) -> str:
    """A state key. Injective: parts are joined by a character that scope paths and attributes
    cannot hold and values are expected to have lost at capture."""
    return "\x1f".join((scope, namespace, *parts))

"""What a few turns, read and resolved, add up to: the two processors together, with no store."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from dict_state import DictState

from memstream.processors.extract import Extract, Reader
from memstream.processors.pipeline import State
from memstream.processors.resolve import Resolve
from memstream.schemas.attributes import builtin
from memstream.schemas.events import Event, MemoryChanged, Source, TurnRecorded
from memstream.schemas.memories import Memory

SCOPE = "acme/user:u1"
BEGUN = datetime(2025, 3, 12, 9, 30, tzinfo=UTC)  # a Wednesday
READER = Reader(builtin())


def turns(*texts: str) -> list[Event]:
    """The turns of a user, ten days apart."""
    return [
        Event(
            id=f"e{number}",
            type="turn.recorded",
            subject=SCOPE,
            time=BEGUN + timedelta(days=10 * number),
            source=Source("user_said", 3),
            data=TurnRecorded(role="user", text=text),
            recordedtime=BEGUN + timedelta(days=10 * number),
        )
        for number, text in enumerate(texts)
    ]


def memories(events: list[Event]) -> list[Memory]:
    """The last version of every memory that reading and resolving the events makes."""
    state: State = DictState()
    extract, resolve = Extract(READER), Resolve(builtin())
    found: dict[str, Memory] = {}
    for event in events:
        for candidate in extract(state, event):
            for made in resolve(state, candidate):
                if isinstance(made.data, MemoryChanged):
                    found[made.data.memory.id] = made.data.memory
    return list(found.values())


def standing(*texts: str) -> set[str]:
    """The facts that are active after the turns, as attribute=value."""
    return {
        f"{each.attribute}={each.value}"
        for each in memories(turns(*texts))
        if each.attribute and each.status == "active"
    }

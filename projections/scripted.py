"""Scripted steps: what a pipeline would have derived, written by hand. A public double, for tests
of projections and of what reads them.

    story = Story()
    story.turn("I live in Oslo.", memory("home", value="Oslo"), when=at(1))
    index.apply(story.steps)
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from memstream.projections.projection import Step
from memstream.schemas.events import (
    CandidateExtracted,
    Data,
    Event,
    MemoryChanged,
    Source,
    SourceKind,
    TurnRecorded,
    WriteDecided,
)
from memstream.schemas.memories import Assertion, Interval, Memory, Outcome, Tally, digest

SCOPE = "acme/user:ann"


def at(day: int, hour: int = 12) -> datetime:
    """A moment of March 2025, UTC."""
    return datetime(2025, 3, day, hour, tzinfo=UTC)


class Story:
    """Steps in order, one raw event each. ``when`` is when it was said; the log has it two
    seconds later."""

    def __init__(self) -> None:
        self.steps: list[Step] = []

    def add(
        self,
        data: Data,
        kind: str,
        *,
        when: datetime,
        scope: str = SCOPE,
        source: SourceKind = "user_said",
        trust: int = 3,
        derived: Sequence[tuple[str, Data]] = (),
        event_id: str = "",
        decided: bool = True,
    ) -> str:
        """One raw event with what it led to; gives its id. Where ``derived`` holds no decision on
        it, one that merely records it is put first, unless ``decided`` is false."""
        number = len(self.steps) + 1
        event_id = event_id or f"e{number}"

        own = [data for _, data in derived if isinstance(data, WriteDecided)]
        if decided and not any(each.event == event_id for each in own):
            recorded = WriteDecided(event=event_id, outcome="stored", reason="recorded")
            derived = [("write.decided", recorded), *derived]

        def event(name: str, of: str, what: Data) -> Event:
            return Event(
                id=name,
                type=of,
                subject=scope,
                time=when,
                source=Source(source, trust),
                data=what,
                recordedtime=(when + timedelta(seconds=2)).astimezone(UTC),
            )

        self.steps.append(
            Step(
                seq=number,
                partition=number % 2,
                offset=number // 2,
                scope=scope,
                event_id=event_id,
                event=event(event_id, kind, data),
                derived=tuple(
                    event(f"{event_id}-{index}", of, what)
                    for index, (of, what) in enumerate(derived)
                ),
            )
        )
        return event_id

    def turn(self, text: str, *memories: Memory, when: datetime, **more: Any) -> str:
        """A stored turn with one candidate and the given memory versions."""
        event_id = more.pop("event_id", "") or f"e{len(self.steps) + 1}"
        scope = more.get("scope", SCOPE)
        outcome: Outcome = more.pop("outcome", "stored")
        reason = more.pop("reason", "worth keeping")
        decided = WriteDecided(
            event=event_id,
            outcome=outcome,
            reason=reason,
            score=0.25,
            factors={"utility": 0.5, "trust": 1.0},
            policy="p1",
        )
        derived: list[tuple[str, Data]] = [("write.decided", decided)]
        if outcome == "stored":
            derived.append(
                (
                    "candidate.extracted",
                    CandidateExtracted(assertion=claim(text, event_id, scope, when)),
                )
            )
        derived += [("memory.asserted", MemoryChanged(memory=memory)) for memory in memories]
        data = TurnRecorded(role="user", text=text, actor="ann", conversation="c1", origin="o1")
        return self.add(
            data, "turn.recorded", when=when, derived=derived, event_id=event_id, **more
        )

    def erased(self, event_id: str, scope: str = SCOPE) -> None:
        number = len(self.steps) + 1
        self.steps.append(Step(number, 0, number, scope, event_id, None, ()))


def claim(text: str, event_id: str, scope: str, when: datetime) -> Assertion:
    return Assertion(
        event=event_id,
        ordinal=0,
        scope=scope,
        kind="fact",
        value=text,
        text=text,
        quote=text[:20],
        span=(0, len(text)),
        valid_from=when.astimezone(UTC),
        observed_at=when.astimezone(UTC),
        trust=3,
        source_kind="user_said",
        occurred=Interval(at(1), at(2), "day"),
    )


def memory(name: str, version: int = 1, **fields: Any) -> Memory:
    when = fields.pop("when", at(1))
    base: dict[str, Any] = {
        "scope": SCOPE,
        "kind": "fact",
        "status": "active",
        "attribute": "residence",
        "value": "Oslo",
        "text": "The user lives in Oslo.",
        "observed_at": when,
        "valid_from": when,
        "created_at": when,
        "trust": 3,
        "source_kind": "user_said",
        "content_key": "the user lives in oslo",
        "supports": ("e1",),
    }
    return Memory(id=name, version=version, **(base | fields))


def plain_steps(count: int) -> list[Step]:
    """Steps 1 to ``count``: one stored turn, one candidate and one memory each."""
    story = Story()
    for number in range(1, count + 1):
        value = f"place {number}"
        story.turn(f"sentence {number}", memory(f"m{number}", value=value), when=at(1))
    return story.steps


def tally_of(steps: Sequence[Step]) -> Tally:
    """What a store must count once it has applied exactly these steps."""
    made = [
        event.data.memory
        for step in steps
        for event in step.derived
        if isinstance(event.data, MemoryChanged)
    ]
    return Tally(len(made), sum(digest(each) for each in made))

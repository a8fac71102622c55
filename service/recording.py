"""Recording: the event that a call of ``Memory`` stands for, or what is wrong with the call."""

from __future__ import annotations

from datetime import datetime

from memstream.schemas.errors import Fault, InvalidEvent
from memstream.schemas.events import (
    TRUST_CEILING,
    Correction,
    Data,
    Event,
    MemoryCorrected,
    Source,
    SourceKind,
)
from memstream.schemas.memories import Memory
from memstream.schemas.scope import Scope, check_scope
from memstream.streams.clock import Clock, new_id


def event_of(
    clock: Clock,
    event_type: str,
    scope: Scope,
    data: Data,
    observed_at: datetime | None,
    kind: SourceKind,
    event_id: str | None,
    trust: int | None = None,
) -> Event:
    """The event, with a new id and the present time where none is given, and the most trust that
    its source may have. Raises ``InvalidScope`` or ``InvalidEvent``."""
    check_scope(scope)
    ceiling = next((most for name, most in TRUST_CEILING.items() if name == kind), None)
    if ceiling is None:
        raise InvalidEvent(
            event_type,
            [Fault("source", f"{kind!r} is unknown", f"known: {', '.join(TRUST_CEILING)}")],
        )
    return Event(
        id=new_id(clock) if event_id is None else event_id,
        type=event_type,
        subject=scope.path,
        time=clock.now() if observed_at is None else observed_at,
        source=Source(kind, int(ceiling) if trust is None else trust),
        data=data,
    )


def correction_of(
    known: Memory, action: Correction, replacement: str, reason: str
) -> MemoryCorrected:
    """What withdraws or restores a memory's value, named by content."""
    return MemoryCorrected(
        action=action,
        memory=known.id,
        subject=known.subject,
        attribute=known.attribute,
        qualifier=known.qualifier,
        value=known.value,
        replacement=replacement,
        reason=reason,
        since=known.valid_from if replacement else None,
    )


def captured(event: Event) -> list[Event]:
    """The event as it is recorded, in pieces where it is too long."""
    from memstream.processors.capture import capture  # who only reads goes without

    return capture(event)

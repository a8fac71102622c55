"""What the doors refuse before they do anything: arguments of the wrong kind or size."""

from __future__ import annotations

from datetime import datetime

from memstream.schemas.errors import Fault, InvalidEvent
from memstream.schemas.instants import fault_of_instant


def check_instants(**instants: datetime | None) -> None:
    """Raises ``InvalidEvent`` for an instant without an offset or out of range."""
    faults = [
        fault
        for name, instant in instants.items()
        if instant is not None and (fault := fault_of_instant(name, instant))
    ]
    if faults:
        raise InvalidEvent("arguments", faults)


def check_counts(**counts: int | None) -> None:
    """Raises ``InvalidEvent`` for a count below 0."""
    faults = [
        Fault(name, f"{count} is below 0", "give none, or 1 and more")
        for name, count in counts.items()
        if count is not None and count < 0
    ]
    if faults:
        raise InvalidEvent("arguments", faults)

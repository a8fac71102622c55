"""Upcasts: how data written by an older release becomes today's. Pure, one version at a time.

A step takes the decoded JSON object of version N and returns a new object of version N + 1; it
never changes its argument. Between the oldest and the current version there are no gaps (a test
checks that). Add a step, raise ``events.CURRENT_VERSION``, freeze a sample under ``samples``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from memstream.schemas.errors import UnknownEventType
from memstream.schemas.events import CURRENT_VERSION

Step = Callable[[dict[str, Any]], dict[str, Any]]

STEPS: dict[tuple[str, int], Step] = {}
"""(event type, version it reads) -> the step to the next version."""


def upcast(
    event_type: str,
    version: int,
    data: dict[str, Any],
    *,
    steps: Mapping[tuple[str, int], Step] = STEPS,
    current: Mapping[str, int] = CURRENT_VERSION,
) -> dict[str, Any]:
    """``data`` of an old version as today's. Raises ``UnknownEventType`` where none leads there."""
    target = current.get(event_type)
    if target is None:
        known = ", ".join(sorted(current))
        raise UnknownEventType(f"event type {event_type!r} is unknown; known: {known}")
    if version > target:
        raise UnknownEventType(
            f"{event_type} version {version} is newer than this release reads ({target}); "
            "mend: upgrade memstream"
        )
    while version < target:
        step = steps.get((event_type, version))
        if step is None:
            raise UnknownEventType(f"{event_type} version {version}: no upcast to {version + 1}")
        data = step(dict(data))
        version += 1
    return data

"""memstream: the memory data plane for LLM agents.

    from memstream import Memory, Scope

``Memory`` is the one object to open; ``Scope`` says whose memory it is. What they return and
raise is exported here too; everything else is inside and may change.

A name is imported when it is first asked for: each module of the package imports this one first,
and a short command needs few of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memstream.recall.evidence import Evidence, Item
    from memstream.recall.settings import Settings
    from memstream.schemas.errors import (
        ImportFault,
        InvalidEvent,
        InvalidScope,
        LeaseHeld,
        LogUnavailable,
        MemstreamError,
        NotFound,
        ProjectionDamaged,
        UnknownEventType,
        UnsupportedFilter,
        WrongGeneration,
    )
    from memstream.schemas.events import Event, Source, Trust
    from memstream.schemas.memories import Memory as MemoryRecord
    from memstream.schemas.scope import Scope
    from memstream.service.memory import Memory
    from memstream.service.reports import (
        Balance,
        Check,
        Diagnosis,
        ErasureReport,
        Explanation,
        RebuildReport,
        ReplayReport,
    )
    from memstream.streams.log import Position

__version__ = "0.1.0"

__all__ = [
    "Balance",
    "Check",
    "Diagnosis",
    "ErasureReport",
    "Event",
    "Evidence",
    "Explanation",
    "ImportFault",
    "InvalidEvent",
    "InvalidScope",
    "Item",
    "LeaseHeld",
    "LogUnavailable",
    "Memory",
    "MemoryRecord",
    "MemstreamError",
    "NotFound",
    "Position",
    "ProjectionDamaged",
    "RebuildReport",
    "ReplayReport",
    "Scope",
    "Settings",
    "Source",
    "Trust",
    "UnknownEventType",
    "UnsupportedFilter",
    "WrongGeneration",
]

_NAMES_IN = {
    "recall.evidence": ("Evidence", "Item"),
    "recall.settings": ("Settings",),
    "schemas.errors": (
        "ImportFault",
        "InvalidEvent",
        "InvalidScope",
        "LeaseHeld",
        "LogUnavailable",
        "MemstreamError",
        "NotFound",
        "ProjectionDamaged",
        "UnknownEventType",
        "UnsupportedFilter",
        "WrongGeneration",
    ),
    "schemas.events": ("Event", "Source", "Trust"),
    "schemas.scope": ("Scope",),
    "service.memory": ("Memory",),
    "service.reports": (
        "Balance",
        "Check",
        "Diagnosis",
        "ErasureReport",
        "Explanation",
        "RebuildReport",
        "ReplayReport",
    ),
    "streams.log": ("Position",),
}
_PLACES = {name: (module, name) for module, names in _NAMES_IN.items() for name in names}
_PLACES["MemoryRecord"] = ("schemas.memories", "Memory")

if not TYPE_CHECKING:  # the type checkers know the names above, and that there are no others

    def __getattr__(name: str) -> Any:
        if name not in _PLACES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module, original = _PLACES[name]
        found = globals()[name] = getattr(import_module(f"{__name__}.{module}"), original)
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})

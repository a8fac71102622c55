"""memstream: the memory data plane for LLM agents.

    from memstream import Memory, Scope

``Memory`` is the one object to open; ``Scope`` says whose memory it is. What they return and
raise is exported here too; everything else is inside and may change.
"""

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

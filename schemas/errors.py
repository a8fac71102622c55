"""Every error memstream raises on purpose.

Each message says what went wrong, where, and how to mend it. All of them derive from
``MemstreamError``, so a caller can tell a stated refusal from a bug.
"""

from __future__ import annotations

import msgspec


class MemstreamError(Exception):
    """Base of all stated errors."""


class Fault(msgspec.Struct, frozen=True):
    """One thing wrong in one input: where it is, what is wrong, how to mend it."""

    path: str
    problem: str
    mend: str = ""

    def __str__(self) -> str:
        mend = f" ({self.mend})" if self.mend else ""
        return f"{self.path}: {self.problem}{mend}"


class InvalidEvent(MemstreamError):
    """An event or its data does not fit its schema. Carries every fault found, not just one."""

    def __init__(self, what: str, faults: list[Fault]) -> None:
        self.what = what
        self.faults = faults
        lines = "; ".join(str(fault) for fault in faults)
        super().__init__(f"{what}: {lines}")


class InvalidScope(MemstreamError):
    """A scope is empty, ambiguous or has parts that cannot be escaped."""


class UnknownEventType(MemstreamError):
    """The log holds an event type or version this release does not know."""


class UnsupportedFilter(MemstreamError):
    """A read asked for a filter the store cannot apply. Never answered unfiltered."""


class SealBroken(MemstreamError):
    """Sealed data could not be opened: wrong key, altered bytes or unknown algorithm."""


class KeyDestroyed(MemstreamError):
    """The data key of an event was destroyed by an erasure; its content is gone for good."""


class SealOutdated(MemstreamError):
    """A row came to the log under a key that an erasure had replaced meanwhile. Nothing of the
    call was appended: seal it anew and append it again."""


class LogUnavailable(MemstreamError):
    """The log cannot be opened, read or written (full disk, truncated file, wrong schema)."""


class WrongGeneration(MemstreamError):
    """A store was built by another pipeline, embedder or schema; it must be rebuilt."""


class ProjectionDamaged(MemstreamError):
    """A projection's counts or checksum do not match the log's position."""


class IndexUnavailable(MemstreamError):
    """An index cannot be opened, read or written now: locked, no permission, disk full, or its
    server is away or refuses."""


class LeaseHeld(MemstreamError):
    """Another process holds the worker lease of this directory."""


class NotFound(MemstreamError):
    """The event, memory or generation asked for is not in this scope."""


class ImportFault(MemstreamError):
    """A file could not be imported at all (unknown format, unreadable, no usable times)."""

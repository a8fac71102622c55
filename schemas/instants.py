"""Instants: aware datetimes at the edge, UTC microseconds in stores, one way between them.

Four clocks never mix (observed, recorded, valid, believed); all of them are instants of this
kind. Naive datetimes are refused here, at the edge.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from memstream.schemas.errors import Fault

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
FIRST = datetime(1000, 1, 1, tzinfo=UTC)
LAST = datetime(9000, 1, 1, tzinfo=UTC)
OPEN_MICROS = 2**62
"""Stands for "no end" where a store needs a number to compare with."""


def to_micros(instant: datetime) -> int:
    """UTC microseconds since 1970 of an aware datetime."""
    return (instant - EPOCH) // MICROSECOND


def from_micros(micros: int) -> datetime:
    """The UTC datetime of microseconds since 1970."""
    return EPOCH + timedelta(microseconds=micros)


def to_text(instant: datetime) -> str:
    """RFC 3339 in UTC with a Z, microseconds only where there are any."""
    return instant.astimezone(UTC).isoformat().replace("+00:00", "Z")


def fault_of_instant(path: str, instant: object) -> Fault | None:
    """What is wrong with an instant given at the edge, or None."""
    if not isinstance(instant, datetime):
        return Fault(path, f"expected a datetime, got {type(instant).__name__}")
    if instant.utcoffset() is None:
        return Fault(
            path,
            f"{instant.isoformat()} has no UTC offset",
            "give one, e.g. datetime(..., tzinfo=UTC) or 2025-01-01T09:00:00+08:00",
        )
    # Compared by year first: an offset at the edge of the calendar cannot be converted.
    if not FIRST.year <= instant.year < LAST.year:
        return Fault(path, f"{instant.isoformat()} is outside {FIRST.year} to {LAST.year}")
    return None


def parse_instant(path: str, text: str) -> datetime | Fault:
    """An aware datetime from RFC 3339 text, or the fault that says why not."""
    try:
        instant = datetime.fromisoformat(text.strip())
    except (ValueError, OverflowError):
        return Fault(path, f"{text[:40]!r} is no date and time", "e.g. 2025-01-01T09:00:00Z")
    return fault_of_instant(path, instant) or instant

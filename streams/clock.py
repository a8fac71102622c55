"""The one reader of time, and the one source of randomness. Both are passed in, never imported
by what decides."""

from __future__ import annotations

import hashlib
import os
import time
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """``now`` is an aware UTC datetime. ``monotonic`` counts seconds from some moment on and never
    goes back, whatever ``now`` does. ``entropy`` gives that many random bytes."""

    def now(self) -> datetime: ...

    def monotonic(self) -> float: ...

    def entropy(self, count: int) -> bytes: ...


class SystemClock:
    """The machine's clock and the system's randomness."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.clock_gettime(_MONOTONIC) if _MONOTONIC is not None else time.monotonic()

    def entropy(self, count: int) -> bytes:
        return os.urandom(count)


# The clock that goes on while the machine sleeps, where the system has it.
_MONOTONIC: int | None = getattr(time, "CLOCK_BOOTTIME", None)


class ManualClock:
    """A clock for tests and simulations: stands still until ``advance``; entropy from a seed.

    ``step`` moves it forward at every reading, so that no two readings are equal.
    """

    def __init__(
        self, start: datetime, *, step: timedelta = timedelta(microseconds=1), seed: int = 0
    ) -> None:
        self._now = start.astimezone(UTC)
        self._step = step
        self._seed = seed
        self._drawn = 0

    def now(self) -> datetime:
        self._now += self._step
        return self._now

    def monotonic(self) -> float:
        return self._now.timestamp()

    def advance(self, by: timedelta) -> None:
        """Moves the clock forward."""
        self._now += by

    def entropy(self, count: int) -> bytes:
        self._drawn += 1
        return hashlib.shake_256(f"{self._seed}:{self._drawn}".encode()).digest(count)


class Deadline:
    """The end of a bounded wait, on the machine's monotonic clock. None never passes."""

    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds

    @property
    def passed(self) -> bool:
        """Whether the time is up."""
        return self._end is not None and time.monotonic() >= self._end

    @property
    def runs(self) -> bool:
        """Whether it has an end at all."""
        return self._end is not None

    @property
    def left_s(self) -> float | None:
        """Seconds until it passes, never below 0; None where it never does."""
        return None if self._end is None else max(0.0, self._end - time.monotonic())


class Patience:
    """Runs out when something has not moved for so many seconds."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._seen: object = None
        self._end = Deadline(None)

    def ran_out(self, place: object | None) -> bool:
        """Whether it is where it was all that time. None: there is nothing to wait for."""
        if place is None or place != self._seen or not self._end.runs:
            self._seen, self._end = place, Deadline(None if place is None else self._seconds)
        return self._end.passed


def new_id(clock: Clock) -> str:
    """A UUIDv7 (RFC 9562) of the clock's time and entropy: unique, and ordered by time."""
    millis = int(clock.now().timestamp() * 1000) & (2**48 - 1)
    random = int.from_bytes(clock.entropy(10), "big")
    value = (
        millis << 80 | 0x7 << 76 | (random >> 64 & 0xFFF) << 64 | 0b10 << 62 | random & (2**62 - 1)
    )
    digits = f"{value:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"

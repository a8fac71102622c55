"""The times that conversation files hold, in the forms they hold them in."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

from memstream.schemas.instants import fault_of_instant

_MONTHS = {
    name: number
    for number, name in enumerate(
        "jan feb mar apr may jun jul aug sep oct nov dec".split(), start=1
    )
}
_CLOCK = r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}))?\s*(?P<half>[ap]\.?m\.?)?"
_DAY_MONTH = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?\s+(?P<month>[a-z]{3,9})\.?,?\s+(?P<year>\d{4})"
_MONTH_DAY = r"(?P<month>[a-z]{3,9})\.?\s+(?P<day>\d{1,2})(?:st|nd|rd|th)?,?\s+(?P<year>\d{4})"
_NUMBERS = r"(?P<year>\d{4})[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})"
_SPOKEN = [
    re.compile(pattern, re.IGNORECASE)
    for date in (_DAY_MONTH, _MONTH_DAY, _NUMBERS)
    for pattern in (
        rf"{_CLOCK}\s*(?:on|,)?\s*{date}",
        rf"{date}\s*(?:\([^)]{{1,12}}\))?\s*(?:at|,)?\s*{_CLOCK}",
        rf"{date}",
    )
]


def read_time(raw: Any, offset: tzinfo | None) -> tuple[datetime, bool] | None:
    """(the instant, whether it had no offset of its own), or None for what is no time.

    Takes RFC 3339 text, "1:56 pm on 8 May, 2023", "2023/05/30 (Tue) 23:40", a bare date (its
    midnight), and numbers since 1970, in seconds, milli-, micro- or nanoseconds by their size: the
    years from 1973 to 5138, and nothing before. Text without an offset is read in ``offset``, or
    in UTC where that is None.
    """
    if isinstance(raw, bool) or raw is None:
        return None
    if isinstance(raw, int | float):
        return _of_number(raw)
    if not isinstance(raw, str) or not raw.strip():
        return None
    text = raw.strip()
    if re.fullmatch(r"\d{9,19}(\.\d+)?", text):
        return _of_number(float(text))
    instant = _of_text(text)
    if instant is None:
        return None
    naive = instant.utcoffset() is None
    if naive:
        instant = instant.replace(tzinfo=offset or UTC)
    return None if fault_of_instant("", instant) else (instant, naive)


def _of_number(number: float) -> tuple[datetime, bool] | None:
    if not 1e8 <= number < 1e20:
        return None
    seconds = number
    for limit, unit in ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3)):
        if number >= limit:
            seconds = number / unit
            break
    try:
        instant = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    except OverflowError:
        return None
    return None if fault_of_instant("", instant) else (instant, False)


def _of_text(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        pass
    for pattern in _SPOKEN:
        found = pattern.fullmatch(text)
        instant = _of_parts(found.groupdict()) if found else None
        if instant is not None:
            return instant
    return None


def _of_parts(parts: dict[str, str | None]) -> datetime | None:
    month_text = (parts["month"] or "").lower()
    month = int(month_text) if month_text.isdigit() else _MONTHS.get(month_text[:3], 0)
    hour, minute = int(parts.get("hour") or 0), int(parts.get("minute") or 0)
    half = (parts.get("half") or "").lower()
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half.startswith("p") else 0)
    try:
        return datetime(  # noqa: DTZ001  the caller gives it an offset
            int(parts["year"] or 0), month, int(parts["day"] or 0),
            hour, minute, int(parts.get("second") or 0),
        )  # fmt: skip
    except ValueError:
        return None

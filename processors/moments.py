"""Resolved dates as they are written into texts, and what they mean for how long a fact is true."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, tzinfo

import msgspec

from memstream.processors.dates import DateSpan
from memstream.schemas.memories import Interval

_MOMENTS = frozenset(("second", "minute", "hour"))
_DAY = timedelta(days=1)


class Validity(msgspec.Struct, frozen=True, gc=False):
    """How long a fact is true, and ``note``: that in words, empty where no date was given.
    ``ends`` is True where it says no more than that the fact ended at ``valid_from``."""

    valid_from: datetime
    valid_to: datetime | None = None
    note: str = ""
    ends: bool = False


def validity_of(
    tense: str, former: bool, dates: Sequence[DateSpan], observed: datetime, language: str
) -> Validity | None:
    """The validity of a fact from its tense and the first resolved date beside it; None where the
    date cannot belong to the statement, so that nothing is claimed."""
    open_ended = Validity(observed, ends=former)
    date = first_resolved(dates)
    if date is None or (date.granularity in _MOMENTS and not (date.start and date.end is None)):
        return open_ended
    zone = observed.tzinfo or UTC
    start, end = date.start, date.end
    if date.begins and not former and tense != "past":
        end, date = None, msgspec.structs.replace(date, end=None)
    if start is None:
        assert end is not None
        if end > observed and tense == "present" and not former:
            return Validity(observed, end, _until(end, zone, language))
        if tense == "change":
            return open_ended
        if end > observed:
            return open_ended
        return Validity(end, None, _from(end, zone, language), ends=True)
    if former or tense == "past":
        if end is None or start > observed:
            return open_ended if former else None
        return Validity(start, end, written(date, zone, language))
    if tense == "change":
        if start > observed:
            return None
        return Validity(start, None, _since(date, zone, language))
    if tense == "future":
        return open_ended
    return _present(date, start, end, observed, zone, language)


def _present(
    date: DateSpan,
    start: datetime,
    end: datetime | None,
    observed: datetime,
    zone: tzinfo,
    language: str,
) -> Validity | None:
    if end is None:
        return Validity(start, None, _since(date, zone, language))
    if end <= observed:
        # English marks the past in the verb, so a past date beside a present verb is something
        # else ("the festival from 2019"); Chinese leaves it to the date.
        if language == "en":
            return Validity(observed)
        return Validity(start, end, written(date, zone, language))
    if start > observed:  # an exception for a while ends nothing that holds else
        return None
    if date.granularity in ("day", "weekend"):
        return Validity(observed)
    return Validity(start, None, _since(date, zone, language))


def until(observed: datetime, end: datetime, language: str) -> Validity:
    """The validity of what was told to hold until a moment."""
    return Validity(observed, end, _until(end, observed.tzinfo or UTC, language))


def first_resolved(dates: Sequence[DateSpan]) -> DateSpan | None:
    """The first date that was resolved, and is not one of every year."""
    return next((date for date in dates if date.unresolved is None and not date.recurs), None)


def occurred(dates: Sequence[DateSpan]) -> Interval | None:
    """The hull of the resolved dates; None where there is none."""
    resolved = [date for date in dates if date.unresolved is None and not date.recurs]
    if not resolved:
        return None
    starts = [date.start for date in resolved]
    ends = [date.end for date in resolved]
    known_starts = [start for start in starts if start is not None]
    known_ends = [end for end in ends if end is not None]
    return Interval(
        min(known_starts) if known_starts and len(known_starts) == len(starts) else None,
        max(known_ends) if known_ends and len(known_ends) == len(ends) else None,
        resolved[0].granularity if len(resolved) == 1 else "range",
    )


def annotated(text: str, dates: Sequence[DateSpan], zone: tzinfo, language: str) -> str:
    """The text with the absolute date in square brackets after each date it holds."""
    parts: list[str] = []
    position = 0
    for date in dates:
        if date.unresolved is not None or date.recurs:
            continue
        absolute = written(date, zone, language)
        if absolute and absolute not in date.text:
            parts.append(text[position : date.end_char])
            parts.append(f" [{absolute}]" if language == "en" else f"[{absolute}]")
            position = date.end_char
    return "".join(parts) + text[position:] if parts else text


def written(date: DateSpan, zone: tzinfo, language: str) -> str:
    """A resolved date in ISO form, in the speaker's days: 2022, 2022-05, 2022-05-03, or from the
    first to the last day of a longer one."""
    joiner = " to " if language == "en" else "至"
    if date.start is None and date.end is None:
        return ""
    if date.start is None:
        return _until(date.end, zone, language) if date.end is not None else ""
    start = date.start.astimezone(zone)
    if date.end is None:
        return _since(date, zone, language)
    end = date.end.astimezone(zone)
    if date.granularity in _MOMENTS:
        return f"{start:%Y-%m-%d %H:%M}"
    if _is_midnight(start) and _is_midnight(end):
        if (start.month, start.day, end.month, end.day) == (1, 1, 1, 1):
            last_year = end.year - 1
            return (
                _year(start) if last_year == start.year else f"{_year(start)}{joiner}{last_year:04}"
            )
        if start.day == 1 and end == _next_month(start):
            return f"{start:%Y-%m}"
        last = end - _DAY
        return f"{start:%Y-%m-%d}" if last <= start else f"{start:%Y-%m-%d}{joiner}{last:%Y-%m-%d}"
    if start.date() == end.date():
        return f"{start:%Y-%m-%d %H:%M}{joiner}{end:%H:%M}"
    return f"{start:%Y-%m-%d %H:%M}{joiner}{end:%Y-%m-%d %H:%M}"


def _year(start: datetime) -> str:
    return f"{start.year:04}"


def _since(date: DateSpan, zone: tzinfo, language: str) -> str:
    assert date.start is not None
    start = date.start.astimezone(zone)
    if date.granularity in _MOMENTS or not _is_midnight(start):
        day = f"{start:%Y-%m-%d}"
    elif date.granularity == "year" or (date.end is None and (start.month, start.day) == (1, 1)):
        day = f"{start.year:04}"
    elif date.granularity == "month" or (date.end is None and start.day == 1):
        day = f"{start:%Y-%m}"
    else:
        day = f"{start:%Y-%m-%d}"
    return f"since {day}" if language == "en" else f"自{day}起"


def _until(end: datetime, zone: tzinfo, language: str) -> str:
    day = f"{end.astimezone(zone):%Y-%m-%d}"
    return f"until {day}" if language == "en" else f"到{day}为止"


def _from(start: datetime, zone: tzinfo, language: str) -> str:
    day = f"{start.astimezone(zone):%Y-%m-%d}"
    return f"since {day}" if language == "en" else f"自{day}起"


def _is_midnight(moment: datetime) -> bool:
    return not (moment.hour or moment.minute or moment.second or moment.microsecond)


def _next_month(start: datetime) -> datetime:
    return start.replace(year=start.year + start.month // 12, month=start.month % 12 + 1)


def birthday(date: DateSpan, anchor: datetime | None, *, born: bool) -> tuple[str, str]:
    """A birthday in ISO form, and how it is spoken of later: as it was said, but "yesterday" as the
    day it was. The year stands where it was said, or where it is a birth (``born``) by that day."""
    assert date.start is not None
    local = date.start.astimezone(UTC if anchor is None else anchor.tzinfo)
    near = date.relative and _NEAR.search(date.text) is not None
    value = f"{local:%m-%d}" if date.relative and not (near and born) else f"{local:%Y-%m-%d}"
    return value, value if near else date.text


_NEAR = re.compile(
    r"\b(?:to|yester|mon|tues|wednes|thurs|fri|satur|sun)day\b|\btomorrow\b|\b(?:ago|last|next|this|tonight|week|morning)\b"
    r"|[昨今明前后上下这周]|星期|礼拜",
    re.IGNORECASE,
)
"""What names a day by how far it is from the one on which it is said."""

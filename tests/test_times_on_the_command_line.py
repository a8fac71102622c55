"""Times as options: with an offset, or a day or month of UTC."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
import typer

from memstream.service.commands_options import instant, last_instant


@pytest.mark.parametrize(
    ("text", "first", "after"),
    [
        ("2025-04-01", datetime(2025, 4, 1, tzinfo=UTC), datetime(2025, 4, 2, tzinfo=UTC)),
        ("2024-02", datetime(2024, 2, 1, tzinfo=UTC), datetime(2024, 3, 1, tzinfo=UTC)),
        ("2024-12", datetime(2024, 12, 1, tzinfo=UTC), datetime(2025, 1, 1, tzinfo=UTC)),
        ("8999-12", datetime(8999, 12, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)),
        ("2025-04-01Z", datetime(2025, 4, 1, tzinfo=UTC), datetime(2025, 4, 2, tzinfo=UTC)),
        (
            "2025-04-01+08:00",
            datetime(2025, 3, 31, 16, tzinfo=UTC),
            datetime(2025, 4, 1, 16, tzinfo=UTC),
        ),
    ],
)
def test_a_day_is_from_its_start_or_to_its_end(text: str, first: datetime, after: datetime) -> None:
    assert instant(text) == first
    assert last_instant(text) < after
    assert (after - last_instant(text)).total_seconds() == 1e-6


def test_a_time_with_an_offset_is_that_time_for_both() -> None:
    text = "2025-04-01T09:00:00+08:00"
    assert instant(text) == last_instant(text) == datetime(2025, 4, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("2025-02-30", "no day of the calendar"),
        ("2025-13", "no day of the calendar"),
        ("2025-04-01T09:00:00", "no UTC offset"),
        ("20250401", "no UTC offset"),
        ("2025", "no date and time"),
        ("tomorrow", "no date and time"),
        ("", "no date and time"),
        ("9999-12-31", "outside the years 1000 to 8999"),
        ("0001-01", "outside the years 1000 to 8999"),
        ("9999-12-31T00:00:00Z", "outside 1000 to 9000"),
        ("2025-04-01+99:00", "no UTC offset"),
    ],
)
@pytest.mark.parametrize("read", [instant, last_instant])
def test_anything_else_is_refused_with_the_forms_that_are_taken(
    read: object, text: str, why: str
) -> None:
    with pytest.raises(typer.BadParameter) as refused:
        read(text)  # type: ignore[operator]
    told = str(refused.value.message)
    assert repr(text) in told or "+99:00" in told
    assert why in told
    if "+99" not in text:
        for form in ("month (2025-01)", "day (2025-01-31)", "2025-01-31T09:00:00+08:00"):
            assert form in told

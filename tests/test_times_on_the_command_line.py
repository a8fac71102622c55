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
    "text", ["2025-02-30", "2025-13", "2025-04-01T09:00:00", "2025", "tomorrow", "9999-12-31"]
)
@pytest.mark.parametrize("read", [instant, last_instant])
def test_anything_else_is_refused(read: object, text: str) -> None:
    with pytest.raises(typer.BadParameter):
        read(text)  # type: ignore[operator]

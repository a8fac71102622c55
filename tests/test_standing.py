"""How a memory stands when somebody looks: before its validity begins, in it, and after it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from memstream import Memory, Scope

ANN = Scope(tenant="acme", user="ann")
SAID_AT = datetime(2025, 3, 1, 9, tzinfo=UTC)
DAY = timedelta(days=1)


def test_a_memory_is_active_until_it_ends_and_holds_from_when_it_begins(tmp_path: Path) -> None:
    begin, end = SAID_AT + 30 * DAY, SAID_AT + 60 * DAY
    with Memory.open(tmp_path, worker=False) as memory:
        memory.state(
            ANN, attribute="employer", value="Fjordline", observed_at=SAID_AT,
            valid_from=begin, valid_to=end,
        )  # fmt: skip
        memory.flush()

        def seen(at: datetime) -> list[str]:
            return [each.status for each in memory.memories(ANN, everything=True, as_of=at)]

        def holding(at: datetime) -> list[str]:
            return [each.value for each in memory.memories(ANN, as_of=at)]

        assert (seen(SAID_AT), holding(SAID_AT)) == (["active"], [])
        assert (seen(begin), holding(begin)) == (["active"], ["Fjordline"])
        assert (seen(end), holding(end)) == (["expired"], [])
        announced = memory.memories(ANN, status="active", as_of=SAID_AT)
        assert [each.value for each in announced] == ["Fjordline"]


def test_what_holds_until_another_begins_on_a_day_to_come_holds_now(tmp_path: Path) -> None:
    scope = Scope(tenant="acme", user="ann")
    now = datetime.now(UTC)
    next_year = now.year + 1
    for at, (told, coming, attribute, value) in enumerate(
        (
            (
                "I work at Corvex.",
                f"From January {next_year} I work at Halden.",
                "employer",
                "Corvex",
            ),
            ("我住在杭州。", f"我从{next_year}年1月起住在上海。", "residence", "杭州"),
        )
    ):
        with Memory.open(tmp_path / str(at), worker=False) as memory:
            memory.record_turn(scope, text=told, observed_at=now - timedelta(days=3))
            memory.record_turn(scope, text=coming, observed_at=now - timedelta(days=2))
            memory.flush()
            held = memory.memories(scope, attribute=attribute)
            assert [each.value for each in held] == [value]

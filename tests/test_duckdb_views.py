"""What the views of the analytics file answer, on one small history known by heart."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memstream.projections.duckdb_file import open_file
from memstream.projections.in_duckdb import DuckIndex
from memstream.projections.projection import Generation
from memstream.projections.scripted import Story, at, memory
from memstream.schemas.events import (
    ContextServed,
    ErasureRequested,
    FeedbackGiven,
    MemoryChanged,
    MemoryStated,
    ReviewDecided,
    ServedItem,
    ToolReturned,
    WriteDecided,
)

STAMP = Generation("pipe-1", "none", "1")


def history() -> Story:
    """Ann lives in Oslo, says on the 10th that she moved on the 5th; a review, a rejection, a
    contested claim of a tool; Oslo is served twice, once harmfully."""
    story = Story()
    oslo = memory("home-1")
    story.turn("I live in Oslo.", oslo, when=at(1))
    oslo_closed = memory("home-1", 2, status="superseded", valid_to=at(5), created_at=at(10))
    bergen = memory(
        "home-2", value="Bergen", valid_from=at(5), observed_at=at(10), created_at=at(10)
    )
    story.turn("I moved to Bergen last week.", oslo_closed, bergen, when=at(10))
    story.turn("Hello there!", when=at(10), outcome="rejected", reason="greeting")
    story.turn("Deploys need two approvals.", when=at(11), outcome="held", reason="shared scope")
    claimed = memory(
        "job-2", attribute="employer", value="Omega", status="contested", source_kind="tool_result",
        trust=1, conflicts=("job-1",), when=at(12),
    )  # fmt: skip
    story.turn(
        "I work at Beta.",
        memory("job-1", attribute="employer", value="Beta", when=at(12)),
        when=at(12),
    )
    found = WriteDecided(event="e6", outcome="stored", reason="tool", score=0.1)
    story.add(
        ToolReturned(tool="web", text="Ann works at Omega."),
        "tool.returned",
        when=at(12),
        source="tool_result",
        trust=1,
        derived=[("write.decided", found), ("memory.contested", MemoryChanged(memory=claimed))],
    )
    approved = WriteDecided(event="e4", outcome="stored", reason="approved", score=0.1)
    story.add(
        ReviewDecided(event="e4", decision="approve", reviewer="lead"),
        "review.decided",
        when=at(13),
        source="admin_edit",
        derived=[("write.decided", approved)],
    )
    for day in (14, 15):
        items = (ServedItem("home-2", 1, 1, 0.9), ServedItem("home-1", 2, 2, 0.5))
        story.add(
            ContextServed(
                query="where is home?", items=items, channels=("dense",), degraded=("stale",)
            ),
            "context.served",
            when=at(day),
        )
    story.add(FeedbackGiven(target="home-1", verdict="harmful"), "feedback.given", when=at(16))
    story.add(FeedbackGiven(target="e8", verdict="helpful"), "feedback.given", when=at(16))
    story.add(ErasureRequested(events=("e99",)), "erasure.requested", when=at(17))
    return story


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DuckIndex]:
    opened = DuckIndex.open(tmp_path_factory.mktemp("index") / "analytics.duckdb", STAMP)
    opened.apply(history().steps)
    yield opened
    opened.close()


def rows(index: DuckIndex, query: str) -> list[tuple[Any, ...]]:
    return index.sql(query)[1]


def records(index: DuckIndex, query: str) -> list[dict[str, Any]]:
    columns, found = index.sql(query)
    return [dict(zip(columns, row, strict=True)) for row in found]


def naive(instant: datetime | None) -> datetime | None:
    return None if instant is None else instant.astimezone(UTC).replace(tzinfo=None)


class TestViews:
    @pytest.mark.parametrize(
        ("valid_at", "known_at", "homes"),
        [
            ("2025-03-02", "2025-03-04", {"Oslo"}),
            ("2025-03-07", "2025-03-07", {"Oslo"}),  # she had moved, nobody knew
            ("2025-03-07", "2025-03-11", {"Bergen"}),  # known since the 10th
            ("2025-03-02", "2025-03-11", {"Oslo"}),  # the past stays true
            ("2025-03-05 12:00:00", "2025-03-11", {"Bergen"}),  # half-open
            ("2025-02-01", "2025-03-11", set()),
            ("2025-03-07", "2025-02-01", set()),
            (None, "2025-03-11", {"Oslo", "Bergen"}),
            ("2025-03-07", None, {"Bergen"}),
        ],
    )
    def test_as_of_on_both_axes(
        self, told: DuckIndex, valid_at: str | None, known_at: str | None, homes: set[str]
    ) -> None:
        valid = "NULL" if valid_at is None else f"TIMESTAMP '{valid_at}'"
        known = "NULL" if known_at is None else f"TIMESTAMP '{known_at}'"
        query = f"SELECT value FROM memories_as_of({valid}, {known}) WHERE attribute = 'residence'"
        assert {row[0] for row in rows(told, query)} == homes

    def test_expired_at_is_the_next_version(self, told: DuckIndex) -> None:
        query = "SELECT version, expired_at FROM memories WHERE id = 'home-1' ORDER BY version"
        assert rows(told, query) == [(1, naive(at(10))), (2, None)]

    def test_current_is_active_and_valid_now(self, told: DuckIndex) -> None:
        assert {row[0] for row in rows(told, "SELECT value FROM memories_current")} == {
            "Bergen",
            "Beta",
        }

    def test_the_readers_clock_is_utc_in_any_session_zone(self, told: DuckIndex) -> None:
        told.release()
        connection = open_file(told.path, read_only=True)
        answers = []
        for zone in ("Asia/Shanghai", "America/Lima"):
            connection.execute(f"SET TimeZone = '{zone}'")
            answers.append(connection.execute("SELECT utc_now()").fetchall()[0][0])
        connection.close()
        assert abs(answers[0] - answers[1]) < timedelta(minutes=1)

    def test_the_funnel_closes(self, told: DuckIndex) -> None:
        query = """SELECT sum(captured)::INT, sum(stored)::INT, sum(rejected)::INT, sum(held)::INT,
                   sum(quarantined)::INT, sum(erased)::INT, sum(undecided)::INT FROM gate_funnel"""
        assert rows(told, query) == [(12, 11, 1, 0, 0, 0, 0)]
        query = "SELECT rejected_by FROM gate_funnel WHERE rejected > 0"
        assert rows(told, query) == [({"greeting": 1},)]
        assert ("rejected", "greeting", 1) in rows(
            told, "SELECT outcome, reason, events FROM gate_reasons"
        )

    def test_silent_loss_names_both_kinds(self, told: DuckIndex, tmp_path: Path) -> None:
        assert rows(told, "FROM silent_loss") == []
        story = history()
        story.add(MemoryStated(text="Keep this."), "memory.stated", when=at(18), decided=False)
        stray = WriteDecided(event="nowhere", outcome="stored", reason="?")
        story.add(
            FeedbackGiven(target="x", verdict="used"),
            "feedback.given",
            when=at(18),
            derived=[("write.decided", stray)],
            decided=False,
        )
        leaky = DuckIndex.open(tmp_path / "leaky.duckdb", STAMP)
        leaky.apply(story.steps)
        assert rows(
            leaky, "SELECT problem, event FROM silent_loss ORDER BY problem DESC, event"
        ) == [
            ("event without a decision", "e13"),
            ("event without a decision", "e14"),
            ("decision without an event", "nowhere"),
        ]
        leaky.close()

    def test_slot_history_is_a_timeline(self, told: DuckIndex) -> None:
        query = """SELECT value, valid_from, valid_to, status, support_count FROM slot_history
                   WHERE attribute = 'residence'"""
        assert rows(told, query) == [
            ("Oslo", naive(at(1)), naive(at(5)), "superseded", 1),
            ("Bergen", naive(at(5)), None, "active", 1),
        ]

    def test_contested_shows_both_sides(self, told: DuckIndex) -> None:
        query = "SELECT value, trust, against_value, against_trust FROM contested"
        assert rows(told, query) == [("Omega", 1, "Beta", 3)]

    def test_usage_counts_servings_and_verdicts(self, told: DuckIndex) -> None:
        usage = {row["memory"]: row for row in records(told, "FROM served_usage")}
        assert usage["home-1"]["times_served"] == 2
        assert usage["home-1"]["harmful"] == 1
        assert usage["home-1"]["last_served_at"] == naive(at(15))
        assert usage["home-2"]["best_rank"] == 1
        assert usage["home-2"]["context_verdicts"] == {"helpful": 1}
        assert usage["job-1"]["times_served"] == 0

    def test_junk_rate(self, told: DuckIndex) -> None:
        (row,) = records(told, "FROM junk_rate")
        assert (row["judged"], row["rejected"]) == (6, 1)
        assert row["rejected_share"] == pytest.approx(1 / 6)
        assert (row["active_memories"], row["never_served"], row["served_harmful"]) == (2, 1, 0)

    def test_write_lag_stands_per_log_position(self, told: DuckIndex) -> None:
        query = "SELECT log_partition, log_offset, lag_seconds FROM write_lag ORDER BY seq LIMIT 2"
        assert rows(told, query) == [(1, 0, 2.0), (0, 1, 2.0)]
        assert rows(told, "SELECT DISTINCT lag_seconds_p95 FROM write_lag_daily") == [(2.0,)]

    def test_sources_and_activity(self, told: DuckIndex) -> None:
        query = """SELECT source_kind, trust, events, active_memories, contested_memories
                   FROM sources"""
        assert rows(told, query) == [("tool_result", 1, 1, 0, 1), ("user_said", 3, 5, 2, 0)]
        query = """SELECT turns, memory_versions, new_memories FROM daily_activity
                   WHERE day = '2025-03-10'"""
        assert rows(told, query) == [(2, 2, 1)]

    def test_what_was_served_reviewed_and_erased_has_its_tables(self, told: DuckIndex) -> None:
        query = "SELECT query, items, channels, degraded FROM contexts LIMIT 1"
        assert rows(told, query) == [("where is home?", 2, ["dense"], ["stale"])]
        query = "SELECT rank, memory, version FROM context_items WHERE context = 'e8' ORDER BY rank"
        assert rows(told, query) == [(1, "home-2", 1), (2, "home-1", 2)]
        assert rows(told, "SELECT event, decision FROM reviews") == [("e4", "approve")]
        assert rows(told, "SELECT events, whole_scope FROM erasures") == [(["e99"], False)]

    def test_help_has_a_sentence_on_everything(self, told: DuckIndex) -> None:
        listed = records(told, "FROM help")
        assert {"events", "gate_funnel", "memories_as_of", "help"} <= {
            row["name"] for row in listed
        }
        for row in listed:
            assert row["about"], f"{row['name']} has no comment"
            if row["kind"] != "macro":
                rows(told, f"SELECT * FROM {row['name']}")

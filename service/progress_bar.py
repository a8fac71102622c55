"""The bar that ``printing.Meter`` shows once a work lasts: imported only then."""

from __future__ import annotations

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text


def progress_bar(console: Console, unit: str) -> Progress:
    """A bar with the count, the rate in ``unit`` and the time left; it vanishes when stopped."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(unit),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )


class _Rate(ProgressColumn):
    """How many a second."""

    def __init__(self, unit: str) -> None:
        super().__init__()
        self._unit = unit

    def render(self, task: Task) -> Text:
        speed = task.speed
        return Text("" if speed is None else f"{speed:,.0f} {self._unit}/s", style="cyan")

"""How the doors print: tables, evidence, errors, progress. Shared by the command line and the demo.

Everything that was stored by somebody passes ``shown`` first: no control or direction character
of a stored text ever reaches a terminal. The consoles read no markup.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from rich import box
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from memstream.schemas.events import Data, Event, MemoryCorrected, Trust
from memstream.schemas.memories import Memory

if TYPE_CHECKING:
    from rich.panel import Panel
    from rich.progress import Progress, TaskID

    from memstream.recall.evidence import Evidence
    from memstream.service.reports import Balance, Check

SHORT_ID = 8
"""Characters of an id that are shown; enough to name it by in one scope."""
QUIET_SECONDS = 1.0
"""What takes no longer than this shows no progress bar."""
PIPE_WIDTH = 120
"""Columns where the output is no terminal."""

LONGEST_SHOWN = 2_000
"""Characters of one text that are shown."""
WIDE = 100
"""Columns of a terminal that has room for everything beside a text."""
READABLE_WIDTH = 40
"""Columns of the terminal in which a long text can still be read."""
_BESIDE_A_COLUMN = 3
"""Columns of the terminal that a table takes beside each of its own."""
_STATUS_STYLES = {
    "active": "green",
    "contested": "yellow",
    "pending_review": "yellow",
    "quarantined": "red",
}
OUTCOME_STYLES = {"stored": "green", "rejected": "dim", "held": "yellow", "quarantined": "red"}


class _PlainPipes(Console):
    """A console that leaves a broken pipe to its caller."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def standard_output() -> Console:
    """A console on standard output, as it is at this moment."""
    console = _PlainPipes(file=sys.stdout, highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = PIPE_WIDTH
    return console


def standard_error() -> Console:
    """A console on standard error, for everything that is no answer."""
    return _PlainPipes(file=sys.stderr, highlight=False, markup=False, emoji=False, soft_wrap=True)


def shown(text: str) -> str:
    """The text on one line, with every character that steers a terminal replaced."""
    return "".join(map(_visible, " ".join(text.split())))


def shown_lines(text: str) -> str:
    """As ``shown``, with its lines kept."""
    return "\n".join(shown(line) for line in text.split("\n"))


def cut(text: str) -> str:
    """As ``shown``; of a text that would flood the terminal its beginning, and how long it is."""
    if len(text) <= LONGEST_SHOWN:
        return shown(text)
    return f"{shown(text[:LONGEST_SHOWN])}… ({len(text):,} characters; --json gives all)"


def note(text: str) -> None:
    """A remark on standard error."""
    standard_error().print(Text(shown(text), style="dim"))


def warn(text: str) -> None:
    """Something the user should act on, on standard error."""
    standard_error().print(Text.assemble(("warning: ", "yellow"), shown(text)))


def complain(error: BaseException) -> None:
    """A stated error on standard error: what is wrong in red, and below it how to mend it."""
    problem, _, mend = str(error).partition("; mend: ")
    console = standard_error()
    console.print(Text.assemble(("error: ", "bold red"), (shown(problem), "red")))
    if mend:
        console.print(Text.assemble(("mend:  ", "bold green"), shown(mend)))


# Tables


def plain_table(*columns: str, title: str | None = None) -> Table:
    """A table in the house style; further ``add_column`` calls may follow."""
    table = Table(
        box=box.SIMPLE_HEAD,
        title=title,
        title_justify="left",
        title_style="bold",
        header_style="bold",
        pad_edge=False,
    )
    for name in columns:
        table.add_column(name, overflow="fold")
    return table


def memory_table(memories: Iterable[Memory], *, width: int) -> Table:
    """Memories with their validity; everything that does not hold is dimmed. In a terminal of fewer
    than WIDE columns what else is told of one stands below it, to leave the text its room."""
    if width < WIDE:
        return _notes_below(
            memories,
            "status, trust, times said",
            lambda each: f"{each.status}, {_trust(each)}, {len(each.supports)}",
        )
    table = plain_table()
    table.add_column("id", no_wrap=True)
    table.add_column("memory", overflow="fold", ratio=1)
    table.add_column("valid", no_wrap=True)
    table.add_column("status", no_wrap=True)
    table.add_column("trust", no_wrap=True)
    table.add_column("said", justify="right")
    for memory in memories:
        table.add_row(
            memory.id[:SHORT_ID],
            memory_text(memory),
            validity(memory),
            status_text(memory),
            _trust(memory),
            str(len(memory.supports)),
            style=_style(memory),
        )
    return table


def version_table(versions: Iterable[Memory]) -> Table:
    """Versions of memories; below each since when the system believed it, and why it was made."""

    def note(each: Memory) -> str:
        reason = f": {shown(each.update_reason)}" if each.update_reason else ""
        return f"{each.status}, {each.created_at:%Y-%m-%d %H:%M:%S}{reason}"

    return _notes_below(versions, "status, believed from (UTC): why", note, numbered=True)


def _notes_below(
    memories: Iterable[Memory],
    head: str,
    note: Callable[[Memory], str],
    *,
    numbered: bool = False,
) -> Table:
    """A table of memories with a note that begins with the status below each; ``head`` says what
    it holds. ``numbered``: with their versions."""
    table = plain_table()
    table.add_column("id", no_wrap=True)
    if numbered:
        table.add_column("v", justify="right", no_wrap=True)
    table.add_column(f"memory\n{head}", overflow="fold")
    table.add_column("valid", no_wrap=True)
    for memory in memories:
        below = note(memory).removeprefix(memory.status)
        table.add_row(
            memory.id[:SHORT_ID],
            *((str(memory.version),) if numbered else ()),
            Text.assemble(memory_text(memory), "\n", status_text(memory), (below, "dim")),
            validity(memory),
            style=_style(memory),
        )
    return table


def _trust(memory: Memory) -> str:
    return Trust(memory.trust).name.lower()


def _style(memory: Memory) -> str | None:
    return None if memory.status in _STATUS_STYLES else "dim"


def memory_text(memory: Memory) -> Text:
    """The slot, where it has one, and what the memory says."""
    if not memory.attribute:
        return Text(cut(memory.text))
    slot = f"{memory.attribute} ({memory.qualifier})" if memory.qualifier else memory.attribute
    return Text.assemble((cut(slot), "cyan"), " ", cut(memory.text))


def status_text(memory: Memory) -> Text:
    """The status in its colour."""
    return Text(memory.status, style=_STATUS_STYLES.get(memory.status, "dim"))


def validity(memory: Memory) -> str:
    """From when until when it holds, in days; for something that happened, when."""
    if memory.kind == "episode":
        return day(memory, memory.valid_from)
    end = "…" if memory.valid_to is None else day(memory, memory.valid_to)
    return f"{day(memory, memory.valid_from)} – {end}"


def day(memory: Memory, instant: datetime) -> str:
    """The calendar day of an instant where the memory was told."""
    return instant.astimezone(memory.observed_at.tzinfo).date().isoformat()


def balance_table(balance: Balance) -> Table:
    """Where every captured event is, as a sum."""
    table = plain_table()
    table.add_column("events")
    table.add_column("", justify="right")
    for name in ("stored", "rejected", "held", "quarantined", "dead_lettered", "erased"):
        count = getattr(balance, name)
        style = OUTCOME_STYLES.get(name, "red" if name == "dead_lettered" else "")
        table.add_row(name.replace("_", " "), str(count), style=style if count else "dim")
    table.add_row("in flight", str(balance.in_flight), style="" if balance.in_flight else "dim")
    table.add_section()
    closes = (
        Text(" closes", style="green") if balance.closes else Text(" DOES NOT CLOSE", "bold red")
    )
    table.add_row("captured", Text.assemble((str(balance.captured), "bold")))
    table.add_row(Text.assemble("balance", closes), "")
    return table


def check_table(checks: Sequence[Check]) -> Table:
    """Each check with its detail, and below a failed one how to mend it."""
    table = plain_table()
    table.add_column("", no_wrap=True)
    table.add_column("check", no_wrap=True)
    table.add_column("detail", overflow="fold", ratio=1)
    for check in checks:
        mark = Text("ok", style="green") if check.ok else Text("FAILED", style="bold red")
        detail = Text(shown(check.detail))
        if check.mend:
            detail.append(f"\nmend: {shown(check.mend)}", style="green")
        table.add_row(mark, check.name, detail)
    return table


def event_line(event: Event) -> Text:
    """One event: its id, type, when it was observed, by what kind of source, and its words."""
    words = _words_of(event.data)
    return Text.assemble(
        (shown(event.id), "bold"),
        f"  {event.type}  ",
        (f"{event.observed_at:%Y-%m-%d %H:%M %z}  {event.source.kind}", "dim"),
        f"\n  {cut(words)}" if words else "",
    )


def _words_of(data: Data) -> str:
    """What an event says, in one line: of a correction what it does to which value, and why."""
    if isinstance(data, MemoryCorrected):
        instead = f", right is {data.replacement}" if data.replacement else ""
        why = f" ({data.reason})" if data.reason else ""
        return f"{data.action} {data.attribute or 'what was said'}: {data.value}{instead}{why}"
    words: str = (
        getattr(data, "text", "") or getattr(data, "value", "") or getattr(data, "query", "")
    )
    return words


def evidence_panel(evidence: Evidence, *, title: str, mark: str = "") -> Panel:
    """The fenced evidence exactly as a prompt would get it, in a frame; ``mark`` stands out."""
    from rich.panel import Panel

    body = Text("nothing fits: nothing would be injected", style="dim")
    if evidence:
        body = Text(shown_lines(evidence.text))
        body.highlight_words([mark] if mark else [], "bold green")
    return Panel(
        body,
        title=Text(title, style="bold"),
        title_align="left",
        border_style="dim",
        padding=(0, 1),
    )


def rows_of_query(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], console: Console
) -> RenderableType:
    """The rows of a query: a table, or where that is wider than the console, one longest column
    folded to READABLE_WIDTH aside, one block a row."""
    if len(columns) < 2 or _fits(columns, rows, console.width):
        return _rows_table(columns, rows)
    if not rows:
        return Text(f"columns: {', '.join(map(shown, columns))}")
    return Group(*(_block(number, columns, row) for number, row in enumerate(rows, 1)))


def _fits(columns: Sequence[str], rows: Sequence[Sequence[Any]], width: int) -> bool:
    widest = [cell_len(shown(name)) for name in columns]
    for row in rows:
        widest = [
            max(wide, cell_len(_cell(value))) for wide, value in zip(widest, row, strict=True)
        ]
    longest = max(widest)
    folded = sum(widest) - longest + min(longest, READABLE_WIDTH)
    return folded + _BESIDE_A_COLUMN * len(columns) <= width


def _rows_table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Table:
    table = plain_table(*(shown(name) for name in columns))
    for row in rows:
        table.add_row(*(Text(_cell(value)) for value in row))
    return table


def _block(number: int, columns: Sequence[str], row: Sequence[Any]) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, overflow="ellipsis")
    grid.add_column(overflow="fold")
    for name, value in zip(columns, row, strict=True):
        grid.add_row(Text(shown(name), style="bold"), Text(_cell(value)))
    return Group(Rule(f"row {number}", align="left", style="dim"), grid)


def _cell(value: Any) -> str:
    return "" if value is None else cut(str(value))


# Progress


class Meter:
    """A progress bar with rate and time left: ``meter(done, total)`` while it is entered.

    It appears on a terminal only, and only when the work has lasted QUIET_SECONDS. A total of 0
    stands for one that is not known.
    """

    def __init__(self, what: str, *, unit: str = "events") -> None:
        self._what = what
        self._unit = unit
        self._console = standard_error()
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        self._started = perf_counter()

    @property
    def visible(self) -> bool:
        """Whether it could ever show: whether it is worth finding out a total for it."""
        return self._console.is_terminal

    def __call__(self, done: int, total: int) -> None:
        if self._progress is None:
            if not self.visible or perf_counter() - self._started < QUIET_SECONDS:
                return
            from memstream.service.progress_bar import progress_bar

            self._progress = progress_bar(self._console, self._unit)
            self._progress.start()
            self._task = self._progress.add_task(self._what, total=total or None, completed=done)
        assert self._task is not None
        self._progress.update(self._task, completed=done, total=total or None)

    def __enter__(self) -> Self:
        self._started = perf_counter()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._progress is not None:
            self._progress.stop()


_JOINERS = "\u200c\u200d"  # between letters of one word, and between the parts of one emoji


def _visible(character: str) -> str:
    if character.isprintable() or character in _JOINERS:
        return character
    return " " if unicodedata.category(character) == "Zs" else "\N{REPLACEMENT CHARACTER}"

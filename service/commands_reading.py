"""Commands that answer: recall, memories, history, explain, sql, snapshot."""

from __future__ import annotations

import io
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import msgspec
import typer
from rich.text import Text

from memstream.schemas.counting import quantity
from memstream.schemas.events import CandidateExtracted, WriteDecided
from memstream.schemas.memories import Kind, Status
from memstream.schemas.scope import Scope
from memstream.service.commands_kafka import on_kafka
from memstream.service.commands_options import (
    AsJson,
    AsOf,
    InDirectory,
    InScope,
    KnownAt,
    OnKafka,
    Opened,
    caught_up,
    directory_of,
    emit,
    instant,
    opened,
    scope_of,
)
from memstream.service.printing import (
    OUTCOME_STYLES,
    cut,
    event_line,
    memory_table,
    note,
    plain_table,
    rows_of_query,
    shown,
    shown_lines,
    standard_output,
    version_table,
    warn,
)

if TYPE_CHECKING:
    from memstream.recall.evidence import Evidence, Trace
    from memstream.recall.reranking import Reranker
    from memstream.service.reports import Explanation

commands = typer.Typer()

_PANEL = "Ask"


def _kind(text: str) -> str:
    if text not in get_args(Kind):
        raise typer.BadParameter(f"{text!r} is no kind; known: {', '.join(get_args(Kind))}")
    return text


Attribute = Annotated[str | None, typer.Option(help="Only this attribute, e.g. residence.")]
Rerank = Annotated[
    str | None,
    typer.Option(
        metavar="MODEL",
        help="Put the best in order by this cross-encoder (fastembed's; never downloaded).",
    ),
]


@commands.command(
    cls=InScope,
    rich_help_panel=_PANEL,
    epilog="Example: memstream recall 'Where does she live?' -t acme -u u1",
)
def recall(
    ctx: typer.Context,
    query: Annotated[str, typer.Argument(help="The question.")],
    as_of: AsOf = None,
    known_at: KnownAt = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(parser=_kind, metavar="KIND", help="profile, fact, episode or experience."),
    ] = None,
    entity: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only what is about it; may repeat.")
    ] = None,
    since: Annotated[
        datetime | None,
        typer.Option(
            parser=instant,
            metavar="TIME",
            help="Only what took place then or later; a day (of UTC) from its start.",
        ),
    ] = None,
    until: Annotated[
        datetime | None,
        typer.Option(
            parser=instant,
            metavar="TIME",
            help="Only what took place before; a day (of UTC): before its start.",
        ),
    ] = None,
    budget: Annotated[int | None, typer.Option(min=1, help="At most so many tokens.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="At most so many memories.")] = None,
    also: Annotated[
        list[str] | None,
        typer.Option(metavar="PATH", help="Another scope of the tenant, e.g. acme/agent:coder."),
    ] = None,
    rerank: Rerank = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show all that was considered, and why.")
    ] = False,
    no_record: Annotated[
        bool, typer.Option("--no-record", help="Do not record that this was served.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """The memories that answer a question, as fenced evidence for a prompt.

    Standard output holds the evidence and nothing else; where nothing fits, nothing.
    """
    with opened(ctx, reranker=_reranker(rerank)) as here:
        caught_up(here, index="vectors")
        evidence = here.memory.recall(
            scope_of(ctx),
            query,
            as_of=as_of,
            known_at=known_at,
            kinds=[msgspec.convert(each, Kind) for each in kind] if kind else None,
            entities=entity or None,
            since=since,
            until=until,
            budget_tokens=budget,
            limit=limit,
            scopes=[Scope.parse(path) for path in also or ()],
            record=not no_record,
            explain=explain,
        )
    for reason in evidence.degraded:
        warn(f"degraded: {reason}")
    if as_json:
        emit(evidence)
        return
    if evidence.trace is not None:
        _print_trace(evidence.trace)
    if evidence:
        typer.echo(shown_lines(evidence.text))
    elif evidence.abstained and evidence.trace is None:
        note(f"nothing served: {evidence.abstained}")
    note(_served(evidence))
    if evidence.undecided:
        note(_waiting(evidence.undecided))


@commands.command(
    cls=InScope,
    rich_help_panel=_PANEL,
    epilog="Example: memstream memories --as-of 2025-04-01T00:00:00Z -t acme -u u1",
)
def memories(
    ctx: typer.Context,
    status: Annotated[Status | None, typer.Option(help="Of this status. Default: active.")] = None,
    attribute: Attribute = None,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    everything: Annotated[bool, typer.Option("--all", help="Of every status.")] = False,
    as_json: AsJson = False,
) -> None:
    """The memories of a scope: those that hold now, or then.

    With --json one array of memories.
    """
    with opened(ctx) as here:
        caught_up(here)
        found = here.memory.memories(
            scope_of(ctx),
            attribute=_slot(here, scope_of(ctx), attribute),
            status=status,
            as_of=as_of,
            known_at=known_at,
            everything=everything,
        )
        undecided = here.host.undecided([scope_of(ctx)]) if not found else {}
    if as_json:
        emit(found)
    elif found:
        in_order = sorted(found, key=lambda each: (each.attribute, each.valid_from, each.id))
        console = standard_output()
        console.print(memory_table(in_order, width=console.width))
    else:
        note("no such memories")
        if undecided:
            note(_waiting(undecided))


@commands.command(
    cls=InScope,
    rich_help_panel=_PANEL,
    epilog="Example: memstream history --attribute residence -t acme -u u1",
)
def history(
    ctx: typer.Context,
    memory_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="One memory; its id or its beginning.")
    ] = None,
    attribute: Attribute = None,
    as_json: AsJson = False,
) -> None:
    """Every version ever made, of one memory or of all.

    With --json one array of versions, oldest belief first.
    """
    with opened(ctx) as here:
        caught_up(here)
        slot = _slot(here, scope_of(ctx), attribute)
        found = here.memory.history(scope_of(ctx), memory_id, attribute=slot)
    if as_json:
        emit(found)
    elif found:
        standard_output().print(version_table(found))
    else:
        note("no such memories")


@commands.command(
    cls=InScope,
    rich_help_panel=_PANEL,
    epilog="Example: memstream explain 1f0c2a9e -t acme -u u1",
)
def explain(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="ID", help="A memory's id, or an event's.")],
    as_json: AsJson = False,
) -> None:
    """Why a memory is there, or what became of an event: the whole chain."""
    with opened(ctx) as here:
        caught_up(here)
        found = here.memory.explain(scope_of(ctx), name)
    if as_json:
        emit(found)
    else:
        _print_explanation(found)


@commands.command(
    cls=InDirectory,
    rich_help_panel=_PANEL,
    epilog="Example: memstream sql 'SELECT * FROM help'",
)
def sql(
    ctx: typer.Context,
    query: Annotated[str, typer.Argument(help="One SELECT. SELECT * FROM help lists the tables.")],
    as_csv: Annotated[bool, typer.Option("--csv", help="Answer as CSV with a header.")] = False,
    kafka: OnKafka = False,
    as_json: AsJson = False,
) -> None:
    """Read-only SQL over events, decisions and memories.

    DuckDB answers. It sees all scopes: filter on tenant and scope. Times are in UTC. What
    is too wide for the terminal is shown one row a block. With --json one object with
    columns and rows.
    """
    if as_csv and as_json:
        raise typer.BadParameter("--csv or --json, not both")
    if kafka:
        with on_kafka(directory_of(ctx)) as host:
            columns, rows = host.sql(query)
    else:
        with opened(ctx) as here:
            caught_up(here, index="analytics")
            columns, rows = here.memory.sql(query)
    if as_json:
        emit({"columns": columns, "rows": rows})
    elif as_csv:
        import csv

        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
        typer.echo(text.getvalue(), nl=False)
    else:
        console = standard_output()
        console.print(rows_of_query(columns, rows, console))
        note(quantity(len(rows), "row"))


@commands.command(
    cls=InDirectory,
    rich_help_panel=_PANEL,
    epilog="Example: memstream snapshot ./snapshot --overwrite",
)
def snapshot(
    ctx: typer.Context,
    target: Annotated[Path, typer.Argument(help="The folder to write.")],
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a snapshot that is there.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write the analytics tables as a Parquet dataset.

    With --json its manifest.
    """
    with opened(ctx) as here:
        caught_up(here, index="analytics")
        manifest = here.memory.snapshot(target, overwrite=overwrite)
    if as_json:
        emit(manifest)
        return
    table = plain_table("table")
    table.add_column("rows", justify="right")
    for name, files in sorted(manifest["tables"].items()):
        table.add_row(name, f"{files['rows']:,}")
    standard_output().print(table)
    note(f"written to {target}, at step {manifest['position']}")


def _reranker(model: str | None) -> Reranker | None:
    if not model:
        return None
    from memstream.recall.rerankers_fastembed import FastReranker

    return FastReranker(model)


def _slot(here: Opened, scope: Scope, name: str | None) -> str | None:
    """The slot that somebody typed. Raises ``UnsupportedFilter`` for one that nothing is in."""
    if name is None:
        return None
    from memstream.processors.settings import attributes_in
    from memstream.service.naming import slot_named

    used = (each.attribute for each in here.host.versions(scope))
    return slot_named(attributes_in(here.host.settings_folder), used, name, strict=True)


def _served(evidence: Evidence) -> str:
    """How much was served, in one line."""
    left = f", {evidence.omitted} more did not fit the budget" if evidence.omitted else ""
    context = f"; context {evidence.context}" if evidence.context else ""
    tokens = quantity(evidence.tokens, "token")
    return f"{quantity(len(evidence.items), 'memory')}, about {tokens}{left}{context}"


def _waiting(undecided: dict[Status, int]) -> str:
    """What is not believed until somebody decides."""
    how = {"pending_review": "held for review", "quarantined": "in quarantine"}
    told = " and ".join(
        f"{quantity(count, 'memory')} {how[status]}, see memstream memories --status {status}"
        for status, count in sorted(undecided.items())
    )
    return f"{told}; memstream review ID --approve --reviewer NAME admits one"


def _print_trace(trace: Trace) -> None:
    from memstream.service.printing_traces import trace_of

    standard_output().print(trace_of(trace))
    if trace.reranker:
        note(f"the best put in order by {trace.reranker}")
    if trace.abstained:
        note(f"nothing served: {trace.abstained}")


def _print_explanation(found: Explanation) -> None:
    console = standard_output()
    console.print(Text("Said", style="bold"))
    for event in found.events:
        console.print(event_line(event))
    for name in found.erased_events:
        console.print(Text(f"{shown(name)}  erased", style="dim"))
    console.print(Text("\nDecided", style="bold"))
    for decision in found.decisions:
        if isinstance(decision.data, WriteDecided):
            console.print(
                Text.assemble(
                    (decision.data.outcome, OUTCOME_STYLES[decision.data.outcome]),
                    f" {shown(decision.data.reason)}",
                    (f"  score {decision.data.score:.2f}", "dim"),
                )
            )
    console.print(Text("\nExtracted", style="bold"))
    for candidate in found.candidates:
        if isinstance(candidate.data, CandidateExtracted):
            said = candidate.data.assertion
            slot = (f"{cut(said.attribute)} ", "cyan") if said.attribute else ""
            rule = (f"  rule {said.rule or 'none'}", "dim")
            console.print(Text.assemble(slot, cut(said.text), rule))
    if not found.candidates:
        console.print(Text("nothing", style="dim"))
    console.print(Text("\nRemembered", style="bold"))
    if found.versions:
        console.print(version_table(found.versions))
    if found.changed:
        console.print(Text("Changed by it", style="bold"))
        console.print(version_table(found.changed))
    if not found.versions and not found.changed:
        console.print(Text("nothing", style="dim"))
    console.print(Text("Served", style="bold"))
    for served in found.served:
        console.print(f"{served.observed_at:%Y-%m-%d %H:%M:%S} UTC  rank {served.rank}  ", end="")
        console.print(Text(shown(served.query)))
    if not found.served:
        console.print(Text("never", style="dim"))

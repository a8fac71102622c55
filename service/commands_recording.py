"""Commands that append to the log: record, import, state, correct, forget, restore, review."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
import typer

from memstream.schemas.counting import quantity
from memstream.schemas.errors import Fault, InvalidEvent, NotFound
from memstream.schemas.events import Role, SourceKind, WriteDecided
from memstream.schemas.scope import Scope
from memstream.service.commands_options import (
    PARTLY_DONE,
    AsJson,
    EmbedderName,
    IndexPlace,
    InScope,
    ObservedAt,
    Opened,
    Reason,
    answer_position,
    caught_up,
    emit,
    instant,
    opened,
    scope_of,
    utc_offset,
)
from memstream.service.printing import (
    Meter,
    note,
    plain_table,
    shown,
    standard_error,
    standard_output,
    warn,
)
from memstream.streams.clock import SystemClock

if TYPE_CHECKING:
    from memstream.service.memory import Memory
    from memstream.service.reports import ImportReport
    from memstream.streams.log import Position

commands = typer.Typer()

_PANEL = "Record"
_NAMED = 5

DateOrder = Literal["day-first", "month-first"]
What = Literal["turn", "tool-call", "tool-result", "feedback", "session-closed"]
EventId = Annotated[
    str | None,
    typer.Option("--id", help="The event's own id: the same id again changes nothing."),
]
SourceOption = Annotated[
    SourceKind | None, typer.Option(help="Where it comes from. Default: from what it is.")
]
TrustOption = Annotated[
    int | None, typer.Option(min=0, max=4, help="At most what the source may have.")
]
MemoryId = Annotated[str, typer.Argument(metavar="ID", help="A memory's id, or its beginning.")]


@commands.command(
    cls=InScope,
    rich_help_panel=_PANEL,
    epilog="Example: memstream record turn --text 'I live in Oslo.' -t acme -u u1",
)
def record(
    ctx: typer.Context,
    what: Annotated[
        What,
        typer.Argument(
            metavar="WHAT", help="turn, tool-call, tool-result, feedback or session-closed."
        ),
    ] = "turn",
    text: Annotated[
        str, typer.Option(help="What was said or returned; - reads standard input.")
    ] = "",
    role: Annotated[Role, typer.Option(help="Who spoke (turn).")] = "user",
    tool: Annotated[str, typer.Option(help="The tool (tool-call, tool-result).")] = "",
    arguments: Annotated[str, typer.Option(help="A JSON object (tool-call).")] = "{}",
    call: Annotated[str, typer.Option(help="The call's id (tool-call, tool-result).")] = "",
    ok: Annotated[
        bool | None, typer.Option("--ok/--failed", help="How the tool did (tool-result).")
    ] = None,
    target: Annotated[str, typer.Option(help="A context or memory id (feedback).")] = "",
    verdict: Annotated[
        str,
        typer.Option(
            help="used, cited, ignored, corrected, helpful, harmful (feedback). Only counted: to "
            "change what is recalled see correct and forget."
        ),
    ] = "",
    observed_at: ObservedAt = None,
    actor: Annotated[str, typer.Option(help="Who did it, as the source names them.")] = "",
    conversation: Annotated[str, typer.Option(help="The conversation it belongs to.")] = "",
    source: SourceOption = None,
    trust: TrustOption = None,
    event_id: EventId = None,
    embedder: EmbedderName = None,
    index: IndexPlace = None,
    as_json: AsJson = False,
) -> None:
    """Record a turn, a tool call, a tool result or feedback.

    Appends and returns; a worker, or the next command that reads, makes memories of it. Feedback
    is counted (memstream sql 'SELECT * FROM served_usage') and changes no later recall.
    """
    said = _read_input() if text == "-" else text
    scope = scope_of(ctx)
    with opened(ctx, create=what != "feedback", embedder=embedder, index=index) as here:
        memory = here.memory
        when: dict[str, Any] = {"observed_at": observed_at}
        named: dict[str, Any] = {**when, "event_id": event_id}
        talk: dict[str, Any] = {**named, "conversation": conversation}
        position: Position
        if what == "turn":
            _need(what, text=said)
            position = memory.record_turn(
                scope, text=said, role=role, actor=actor, source=source, trust=trust, **talk
            )
        elif what == "tool-call":
            _need(what, tool=tool)
            position = memory.record_tool_call(
                scope, tool=tool, arguments=_object(arguments), call=call, actor=actor, **talk
            )
        elif what == "tool-result":
            _need(what, tool=tool)
            position = memory.record_tool_result(
                scope, tool=tool, text=said, call=call, ok=ok, trust=trust, **talk
            )
        elif what == "feedback":
            _need(what, target=target, verdict=verdict)
            position = memory.record_feedback(
                scope,
                target=_target(here, scope, target),
                verdict=verdict,
                note=said,
                actor=actor,
                **named,
            )
        else:
            _need(what, conversation=conversation)
            position = memory.close_session(scope, conversation, reason=said, **when)
    answer_position(position, as_json=as_json)


@commands.command(
    "import",
    cls=InScope,
    rich_help_panel=_PANEL,
    epilog="Example: memstream import chats.jsonl --utc-offset +08:00 -t acme -u u1",
)
def import_(
    ctx: typer.Context,
    path: Annotated[Path, typer.Argument(exists=True, help="A file, or a folder of files.")],
    format: Annotated[  # noqa: A002  the name of the option
        str, typer.Option(help="The file's format; auto tells it by the content.")
    ] = "auto",
    observed_at: Annotated[
        datetime | None,
        typer.Option(parser=instant, metavar="TIME", help="For messages that hold no time."),
    ] = None,
    offset: Annotated[
        timezone | None,
        typer.Option(
            "--utc-offset",
            parser=utc_offset,
            metavar="OFFSET",
            help="What times without an offset are read in. Default: Z.",
        ),
    ] = None,
    speaker: Annotated[
        str, typer.Option(metavar="NAME", help="The user's name in a plain text.")
    ] = "",
    assistant: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="An assistant's in it; may repeat.")
    ] = None,
    date_order: Annotated[
        DateOrder | None, typer.Option(help="How 03/04/2025 is read in it, if it does not show.")
    ] = None,
    only_append: Annotated[
        bool, typer.Option("--only-append", help="Leave the processing to a worker.")
    ] = False,
    embedder: EmbedderName = None,
    index: IndexPlace = None,
    as_json: AsJson = False,
) -> None:
    """Import conversations from a file or a folder.

    Importing again adds only what is new.

    Exit code 3 when some pieces could not be read; each is named with its place.
    """  # fmt: skip
    from memstream.service.importing import count_events, import_file
    from memstream.streams.importers import Told, read_file

    scope, clock = scope_of(ctx), SystemClock()
    options: dict[str, Any] = {
        "scope": scope, "now": clock.now(), "format": format,
        "observed_at": observed_at, "utc_offset": offset,
        "told": Told(speaker, tuple(assistant or ()), date_order),
    }  # fmt: skip
    # Read first, so that a wrong format leaves no new directory behind.
    items = read_file(path, **options)
    with opened(ctx, create=True, embedder=embedder, index=index) as here:
        with Meter("importing") as meter:
            total = count_events(items) if meter.visible else 0
            report = import_file(
                here.memory, path, progress=lambda done: meter(done, total), **options
            )
        if not only_append:
            caught_up(here)
    if as_json:
        emit(report)
    else:
        _print_import(path, report)
    if report.broken:
        raise typer.Exit(PARTLY_DONE)


@commands.command(
    cls=InScope,
    rich_help_panel=_PANEL,
    epilog="Example: memstream state --attribute residence --value Oslo -t acme -u u1",
)
def state(
    ctx: typer.Context,
    text: Annotated[str, typer.Argument(help="Free text; - reads standard input.")] = "",
    attribute: Annotated[str, typer.Option(help="The slot, e.g. residence.")] = "",
    value: Annotated[str, typer.Option(help="Its value.")] = "",
    subject: Annotated[str, typer.Option(help="Whom it is about.")] = "user",
    qualifier: Annotated[str, typer.Option(help="In which case, e.g. 'on weekdays'.")] = "",
    negative: Annotated[bool, typer.Option("--negative", help="It is not so.")] = False,
    valid_from: Annotated[
        datetime | None, typer.Option(parser=instant, metavar="TIME", help="True from then on.")
    ] = None,
    valid_to: Annotated[
        datetime | None, typer.Option(parser=instant, metavar="TIME", help="True until then.")
    ] = None,
    expires_at: Annotated[
        datetime | None, typer.Option(parser=instant, metavar="TIME", help="Not served after.")
    ] = None,
    observed_at: ObservedAt = None,
    source: SourceOption = None,
    trust: TrustOption = None,
    event_id: EventId = None,
    as_json: AsJson = False,
) -> None:
    """Save a memory explicitly: free text, or an attribute and its value."""
    with opened(ctx, create=True) as here:
        position = here.memory.state(
            scope_of(ctx),
            _read_input() if text == "-" else text,
            attribute=attribute,
            value=value,
            subject=subject,
            qualifier=qualifier,
            negative=negative,
            valid_from=valid_from,
            valid_to=valid_to,
            expires_at=expires_at,
            observed_at=observed_at,
            event_id=event_id,
            source=source or "user_said",
            trust=trust,
        )
    answer_position(position, as_json=as_json)


@commands.command(
    cls=InScope,
    rich_help_panel=_PANEL,
    epilog="Example: memstream correct 1f0c2a9e Bergen --reason 'misheard' -t acme -u u1",
)
def correct(
    ctx: typer.Context,
    memory_id: MemoryId,
    replacement: Annotated[str, typer.Argument(help="What is right.")],
    reason: Reason = "",
    observed_at: ObservedAt = None,
    as_json: AsJson = False,
) -> None:
    """Withdraw a memory's value and state another in its place."""
    _appended(ctx, as_json, lambda memory: memory.correct(
        scope_of(ctx), memory_id, replacement, reason=reason, observed_at=observed_at
    ))  # fmt: skip


@commands.command(
    cls=InScope,
    rich_help_panel=_PANEL,
    epilog="Example: memstream forget 1f0c2a9e -t acme -u u1",
)
def forget(
    ctx: typer.Context,
    memory_id: MemoryId,
    reason: Reason = "",
    observed_at: ObservedAt = None,
    as_json: AsJson = False,
) -> None:
    """Withdraw a memory; restore takes it back.

    To destroy content, see erase.
    """
    _appended(ctx, as_json, lambda memory: memory.forget(
        scope_of(ctx), memory_id, reason=reason, observed_at=observed_at
    ))  # fmt: skip


@commands.command(
    cls=InScope,
    rich_help_panel=_PANEL,
    epilog="Example: memstream restore 1f0c2a9e -t acme -u u1",
)
def restore(
    ctx: typer.Context,
    memory_id: MemoryId,
    reason: Reason = "",
    observed_at: ObservedAt = None,
    as_json: AsJson = False,
) -> None:
    """Take back an earlier forget or correct."""
    _appended(ctx, as_json, lambda memory: memory.restore(
        scope_of(ctx), memory_id, reason=reason, observed_at=observed_at
    ))  # fmt: skip


@commands.command(
    cls=InScope,
    rich_help_panel=_PANEL,
    epilog="Example: memstream review EVENT --approve --reviewer ana -t acme --channel ops",
)
def review(
    ctx: typer.Context,
    event: Annotated[
        str,
        typer.Argument(
            help="The event that was held or quarantined, or a memory that waits: its id."
        ),
    ],
    approve: Annotated[bool, typer.Option("--approve/--reject", help="The decision.")],
    reviewer: Annotated[str, typer.Option(help="Who decides.")],
    reason: Reason = "",
    trust: TrustOption = None,
    observed_at: ObservedAt = None,
    as_json: AsJson = False,
) -> None:
    """Approve or reject an event that the gate held or quarantined."""
    _appended(ctx, as_json, lambda memory: memory.review(
        scope_of(ctx), _undecided(memory, scope_of(ctx), event), approve=approve,
        reviewer=reviewer, reason=reason, trust=trust, observed_at=observed_at,
    ))  # fmt: skip


# Parts


def _appended(ctx: typer.Context, as_json: bool, append: Callable[[Memory], Position]) -> None:
    """One append that names a memory or an event: what was recorded before it is processed first,
    so that the name is known."""
    with opened(ctx) as here:
        caught_up(here)
        position = append(here.memory)
    answer_position(position, as_json=as_json)


def _target(here: Opened, scope: Scope, name: str) -> str:
    """The id that feedback is about; processes what is recorded only where it is not known yet."""
    from memstream.service.explaining import fed_back

    try:
        return fed_back(here.host, scope, name)
    except NotFound:
        caught_up(here)
        return fed_back(here.host, scope, name)


def _undecided(memory: Memory, scope: Scope, name: str) -> str:
    """The event that a review is about, named by its id, by that of a memory it led to, or by the
    beginning of one. Raises ``NotFound`` where the gate let it pass, and for more than one."""
    decided = [each.data for each in memory.explain(scope, name).decisions]
    waiting = dict.fromkeys(
        each.event
        for each in decided
        if isinstance(each, WriteDecided) and each.outcome in ("held", "quarantined")
    )
    if len(waiting) == 1:
        return waiting.popitem()[0]
    found, mend = "the gate neither held nor quarantined it", "see memstream memories --all"
    if waiting:
        found, mend = f"{quantity(len(waiting), 'event')} wait", f"name one: {', '.join(waiting)}"
    raise NotFound(f"review {name!r} in {scope.path}: {found}; mend: {mend}")


def _need(what: str, **given: str) -> None:
    missing = [f"--{name}" for name, value in given.items() if not value.strip()]
    if missing:
        blank = "none may be blank" if len(missing) > 1 else "it may not be blank"
        raise typer.BadParameter(f"record {what} needs {' and '.join(missing)}; {blank}")


def _read_input() -> str:
    """All of standard input. Bytes that are no UTF-8 are kept visible, not refused."""
    return sys.stdin.buffer.read().decode("utf-8", "backslashreplace")


def _object(text: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        mend = 'give one, e.g. {"command": "ls"}'
        fault = Fault("--arguments", f"is no JSON object: {error}", mend)
        raise InvalidEvent("tool-call", [fault]) from error


def _print_import(path: Path, report: ImportReport) -> None:
    console = standard_output()
    table = plain_table(title=f"{shown(str(path))}, format {report.format}")
    for name in ("read", "added", "already there", "broken"):
        table.add_column(name, justify="right")
    table.add_row(
        *(
            f"{count:,}"
            for count in (report.read, report.added, report.already_there, len(report.broken))
        )
    )
    console.print(table)
    for text in report.notes:
        note(f"note: {text}")
    if report.differing:
        warn(_differing(report.differing))
    for text in report.broken:
        warn(text)
    if report.broken:
        standard_error().print(
            f"not imported: {quantity(len(report.broken), 'piece')}; mend what is broken and "
            "import again: what is there already is not added twice"
        )


def _differing(places: Sequence[str]) -> str:
    """What to do about ids that were there already and say something else in this file."""
    more = f" and {len(places) - _NAMED:,} more (--json names all)" if len(places) > _NAMED else ""
    return (
        f"there already with other content or time: {'; '.join(places[:_NAMED])}{more}. What was "
        "recorded first is kept; to record what is new, give it an id of its own"
    )

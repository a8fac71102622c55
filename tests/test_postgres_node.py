"""Starting and stopping a real PostgreSQL through infra/postgres_node.py."""

from __future__ import annotations

import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

sys.path.insert(0, str(Path(__file__).parent))

import postgres_node
from postgres_node import PostgresFailed, PostgresServer
from postgres_server import need_postgres

PROGRAM = Path(__file__).resolve().parents[1] / "infra" / "postgres_node.py"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[PostgresServer]:
    need_postgres()
    server = PostgresServer(tmp_path / "server")
    yield server
    server.down()
    server.remove()


def answer(conninfo: str) -> int:
    with psycopg.connect(conninfo) as connection:
        row = connection.execute("SELECT 42").fetchone()
    assert row is not None
    return int(row[0])


def test_a_server_starts_answers_and_stops(server: PostgresServer) -> None:
    command = [sys.executable, str(PROGRAM)]
    where = ["--directory", str(server.directory)]
    up = subprocess.run([*command, "up", *where], capture_output=True, text=True, check=True)
    place = Path(up.stdout.strip())
    assert place.read_text(encoding="utf-8").strip() == server.conninfo
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert answer(server.conninfo) == 42
    with pytest.raises(PostgresFailed, match="mend: make postgres-down"):
        server.up()
    with psycopg.connect(server.conninfo) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS number")
    # Again after a crash: the same address, and what was committed is there.
    server.stop(kill=True)
    assert not server.running
    with pytest.raises(psycopg.OperationalError):
        answer(server.conninfo)
    server.start()
    with psycopg.connect(server.conninfo) as connection:
        assert connection.execute("SELECT number FROM kept").fetchone() == (7,)
    subprocess.run([*command, "down", *where], check=True)
    assert not server.running
    assert server.log.stat().st_size > 0
    server.down()


def test_the_password_is_needed(server: PostgresServer) -> None:
    conninfo = server.up()
    with pytest.raises(psycopg.OperationalError, match="password"):
        answer(make_conninfo(conninfo, password="another"))


def test_a_server_that_cannot_start_shows_its_log(server: PostgresServer) -> None:
    server.up()
    server.down()
    with (server.data / "postgresql.conf").open("a", encoding="utf-8") as settings:
        settings.write("no_such_setting = 1\n")
    with pytest.raises(PostgresFailed, match=r"node\.log(.|\n)*no_such_setting"):
        server.start()
    server.remove()
    assert not server.directory.exists()
    with pytest.raises(PostgresFailed, match="mend: make postgres-up"):
        _ = server.conninfo


def test_tests_are_skipped_without_postgres_and_fail_under_ci(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_given, **_named: None)
    monkeypatch.setattr(postgres_node, "DEBIAN", tmp_path)
    monkeypatch.setenv("CI", "")
    with pytest.raises(pytest.skip.Exception, match="initdb and pg_ctl"):
        need_postgres()
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="initdb and pg_ctl"):
        need_postgres()
    with pytest.raises(PostgresFailed, match="mend: install"):
        PostgresServer(tmp_path / "none").up()


def test_the_newest_package_is_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for version in ("9", "17", "common"):
        program = tmp_path / version / "bin" / "initdb"
        program.parent.mkdir(parents=True)
        program.touch(mode=0o755)
    monkeypatch.setattr(postgres_node, "DEBIAN", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert postgres_node.found("initdb") == str(tmp_path / "17" / "bin" / "initdb")
    assert postgres_node.found("pg_ctl") is None

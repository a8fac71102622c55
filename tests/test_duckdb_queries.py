"""Queries on the analytics file: every read is answered, everything else is refused."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from memstream.projections.duckdb_file import open_file
from memstream.projections.in_duckdb import DuckIndex, IndexUnavailable, QueryRefused, sql_file
from memstream.projections.projection import Generation
from memstream.projections.scripted import plain_steps, tally_of

STAMP = Generation("pipe-1", "none", "1")


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DuckIndex]:
    opened = DuckIndex.open(tmp_path_factory.mktemp("index") / "analytics.duckdb", STAMP)
    yield opened
    opened.close()


def rows(index: DuckIndex, query: str) -> list[tuple[Any, ...]]:
    return index.sql(query)[1]


def records(index: DuckIndex, query: str) -> list[dict[str, Any]]:
    columns, found = index.sql(query)
    return [dict(zip(columns, row, strict=True)) for row in found]


REFUSED = [
    "COPY events TO 'out.csv'",
    "COPY (SELECT 1) TO 'out.parquet' (FORMAT parquet)",
    "EXPLAIN ANALYZE COPY events TO 'out.csv'",
    "EXPORT DATABASE 'out'",
    "ATTACH 'other.duckdb'",
    "INSTALL fts",
    "LOAD fts",
    "PRAGMA table_info('events')",
    "PRAGMA enable_profiling",
    "SET enable_external_access = true",
    "CALL pragma_version()",
    "CHECKPOINT",
    "CREATE TABLE t (i INT)",
    "CREATE TEMP TABLE t (i INT)",
    "INSERT INTO feedback (seq) VALUES (1)",
    "WITH gone AS (DELETE FROM events RETURNING *) SELECT * FROM gone",
    "EXPLAIN ANALYZE DELETE FROM events",
    "DROP VIEW help",
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM '/etc/passwd'",
    "SELECT * FROM glob('/etc/*')",
    "SELECT * FROM duckdb_secrets()",
    "SELECT * FROM a_python_variable",
    "SELECT 1; SELECT 2",
    "SELECT nonsense FROM events",
    "SELEC 1",
    "",
    "-- nothing",
]


def touches_more(query: str) -> bool:
    """Whether it would change a file or the settings, or read another file, if it were let."""
    harmless = ("PRAGMA table", "CALL", "CHECKPOINT", "CREATE TEMP", "SELECT 1", "--")
    return bool(query) and not query.startswith(harmless)


class TestQueries:
    @pytest.mark.parametrize("query", REFUSED)
    def test_only_reads_of_this_file_are_answered(
        self, index: DuckIndex, query: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        a_python_variable = [(1,)]
        index.apply(plain_steps(2))
        monkeypatch.chdir(tmp_path)
        before = sorted(path.name for path in tmp_path.iterdir())
        with pytest.raises(QueryRefused, match="query refused: "):
            index.sql(query)
        assert sorted(path.name for path in tmp_path.iterdir()) == before
        assert index.tally() == tally_of(plain_steps(2)), a_python_variable

    @pytest.mark.parametrize("query", [each for each in REFUSED if touches_more(each)])
    def test_the_connection_itself_is_shut(
        self, index: DuckIndex, query: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        """A second wall: these fail also where nothing looks at the kind of statement."""
        index.release()
        monkeypatch.chdir(tmp_path)
        with (
            open_file(index.path, read_only=True, locked=True) as connection,
            pytest.raises(duckdb.Error),
        ):
            connection.execute(query)
        assert list(tmp_path.iterdir()) == []

    def test_a_refusal_carries_duckdbs_own_message(self, index: DuckIndex) -> None:
        with pytest.raises(QueryRefused, match=r"nonsense.*not found(?s:.)*LINE 1"):
            index.sql("SELECT nonsense FROM events")

    @pytest.mark.parametrize(
        "query",
        [
            "SELECT count(*) FROM events",
            "FROM events",
            "WITH a AS (SELECT 1) FROM a",
            "DESCRIBE events",
            "SUMMARIZE events",
            "SHOW TABLES",
            "EXPLAIN FROM gate_funnel",
            "PIVOT events ON type USING count(*) GROUP BY scope",
            "SELECT 1;",
        ],
    )
    def test_every_kind_of_read_is_answered(self, index: DuckIndex, query: str) -> None:
        columns, found = index.sql(query)
        assert columns
        assert all(len(row) == len(columns) for row in found)

    def test_limit_cuts_the_rows(self, index: DuckIndex) -> None:
        assert len(index.sql("FROM range(100)", limit=3)[1]) == 3

    def test_extensions_are_never_fetched(self, index: DuckIndex) -> None:
        query = """SELECT name, value FROM duckdb_settings()
                   WHERE name IN ('autoinstall_known_extensions', 'autoload_known_extensions',
                                  'enable_external_access', 'lock_configuration') ORDER BY name"""
        assert [value for _, value in rows(index, query)] == ["false", "false", "false", "true"]
        with index.reading() as connection:
            found = connection.execute(query).fetchall()
        assert found[:2] == [
            ("autoinstall_known_extensions", "false"),
            ("autoload_known_extensions", "false"),
        ]

    def test_a_reader_waits_for_the_writer_to_let_go(self, index: DuckIndex) -> None:
        index.apply(plain_steps(3))
        code = f"""
from pathlib import Path
from memstream.projections.in_duckdb import sql_file
print(sql_file(Path({str(index.path)!r}), "SELECT position FROM generation")[1])
"""
        reader = start(code)
        threading.Timer(0.4, index.release).start()
        output, _ = reader.communicate(timeout=30)
        assert output.strip() == "[(3,)]"

    def test_a_reader_that_waits_in_vain_is_told_who_holds_the_file(self, index: DuckIndex) -> None:
        index.position()
        code = f"""
from pathlib import Path
from memstream.projections.in_duckdb import IndexUnavailable, sql_file
try:
    sql_file(Path({str(index.path)!r}), "FROM help", wait_s=0.2)
except IndexUnavailable as error:
    print(error)
"""
        output, _ = start(code).communicate(timeout=30)
        assert str(index.path) in output
        assert f"PID {os.getpid()}" in output
        assert "mend: stop it" in output

    def test_no_file(self, tmp_path: Path) -> None:
        with pytest.raises(IndexUnavailable, match=r"no such analytics file; mend"):
            sql_file(tmp_path / "none.duckdb", "SELECT 1")


def start(code: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
    )

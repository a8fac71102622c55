"""How fast recorded turns become indexed memories, against the bare calls nobody can avoid.

Ours: LoCoMo's turns, appended in one write and drained into state, vectors (embedder none) and
analytics: in this process alone, and with one more that reads texts (``readers=1``) and is ready
when the time begins, as the rules are compiled by then. The floor does with bare libraries, in the
same batches of the same rows and bytes as our run left behind, what any implementation has to: one
spaCy blank tokenisation of each turn, one SQLite transaction a batch for the log's rows and one for
the state's (their own tables and indexes, same pragmas), one DuckDB INSERT a table and batch, one
qdrant-edge upsert a batch. It decides nothing, extracts nothing, seals nothing and builds no row:
all of that is ours to pay.
"""

from __future__ import annotations

import gc
import json
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import duckdb
import qdrant_edge as edge
import spacy

from bench.measures import Row, Stopwatch, all_in_turns, row, shared
from memstream.projections import in_duckdb
from memstream.projections.duckdb_rows import rows_of
from memstream.projections.edge_shard import created, current, loaded, upsert
from memstream.projections.marker import MARKER
from memstream.projections.projection import Step
from memstream.schemas.events import Event, Text
from memstream.schemas.scope import Scope
from memstream.service.host import Host
from memstream.service.memory import Memory
from memstream.streams.clock import SystemClock
from memstream.streams.embedded import BATCH
from memstream.streams.importers import Imported, read_file

ROUNDS = 3
_READY_SECONDS = 4.0
"""Until another process has imported and compiled what it needs."""

Each = TypeVar("Each")


def rows() -> Iterator[Row]:
    """Turns a second from recorded to indexed, and the parts of the floor."""
    events = locomo_turns(shared("data", "locomo", "locomo_dev.json"))
    with tempfile.TemporaryDirectory() as name:
        floor = Floor(Path(name) / "left", events)
        calls: list[Callable[[], float]] = [
            partial(_ingested, events),
            partial(_ingested, events, readers=1),
            floor.run,
        ]
        ours, helped, bare = all_in_turns(calls, ROUNDS)
    count = len(events)
    yield row("record to indexed", count / ours, "turns/s", floor=count / bare, at_least=0.35)
    yield row("  with a reading process", count / helped, "turns/s", floor=count / bare)
    for part, seconds in floor.parts.items():
        yield row(f"  floor of ingest: {part}", seconds / floor.runs / count * 1e6, "µs/turn")


def locomo_turns(path: Path) -> list[Event]:
    """Every turn of the data set, each conversation in a scope of its own."""
    found: list[Event] = []
    with tempfile.TemporaryDirectory() as name:
        for number, sample in enumerate(json.loads(path.read_text(encoding="utf-8"))):
            file = Path(name) / f"{number}.json"
            file.write_text(json.dumps(sample), encoding="utf-8")
            scope = Scope(tenant="bench", user=f"conversation-{number}")
            for item in read_file(file, scope=scope, now=datetime(2026, 1, 1, tzinfo=UTC)):
                if isinstance(item, Imported):
                    found.append(item.event)
    return found


def _ingested(events: Sequence[Event], readers: int | None = None) -> float:
    """Seconds from the first append to everything indexed, in a fresh directory."""
    watch = Stopwatch()
    with (
        tempfile.TemporaryDirectory() as name,
        Memory.open(Path(name), worker=False, readers=readers) as memory,
    ):
        memory.flush()
        if readers:
            time.sleep(_READY_SECONDS)
        with watch.running():
            memory.append(events)
            memory.flush()
    return watch.seconds


class Floor:
    """The bare calls, with the rows of a run of ours. ``parts`` adds up seconds over ``runs``."""

    def __init__(self, folder: Path, events: Sequence[Event]) -> None:
        self._texts = [each.data.text for each in events if isinstance(each.data, Text)]
        with Memory.open(folder, worker=False) as memory:
            memory.append(events)
            memory.flush()
        generation = next((folder / "generations").glob("g-*"))
        self._log = _dumped(folder / "log.db")
        self._state = _dumped(generation / "state.db")
        self._inserts = [rows_of(steps).inserts() for steps in _steps_of(folder)]
        self._points = _points_of(generation / "vectors")
        self._tokenizer = spacy.blank("en").tokenizer
        self.parts: dict[str, float] = {}
        self.runs = 0

    def run(self) -> float:
        """Seconds of all parts together, in a fresh directory."""
        self.runs += 1
        total = 0.0
        batches = len(self._inserts)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for part, call in (
                ("spaCy tokens", self._tokenised),
                ("SQLite log", partial(_inserted, self._log, folder / "log.db", "FULL", 1)),
                (
                    "SQLite state",
                    partial(_inserted, self._state, folder / "state.db", "NORMAL", batches),
                ),
                ("DuckDB append", partial(self._appended, folder / "analytics.duckdb")),
                ("edge upsert", partial(self._upserted, folder / "shard")),
            ):
                gc.collect()
                seconds = call()
                self.parts[part] = self.parts.get(part, 0.0) + seconds
                total += seconds
        return total

    def _tokenised(self) -> float:
        watch = Stopwatch()
        with watch.running():
            for text in self._texts:
                self._tokenizer(text)
        return watch.seconds

    def _appended(self, path: Path) -> float:
        """The rows as JSON texts, taken apart by DuckDB: the fastest way in that is known."""
        watch = Stopwatch()
        schema = Path(in_duckdb.__file__).with_name("duckdb_schema.sql")
        with duckdb.connect(str(path)) as connection:
            connection.execute(schema.read_text(encoding="utf-8"))
            for inserts in self._inserts:
                with watch.running():
                    connection.begin()
                    for statement, texts in inserts:
                        connection.execute(statement, texts)
                    connection.commit()
        return watch.seconds

    def _upserted(self, path: Path) -> float:
        watch = Stopwatch()
        shard = created(path, 0)
        for points in _batched(self._points, len(self._inserts)):
            with watch.running():
                upsert(shard, points)
        shard.close()
        return watch.seconds


class _Table(NamedTuple):
    name: str
    statements: list[str]
    rows: list[tuple[Any, ...]]


def _dumped(path: Path) -> list[_Table]:
    """Every table of an SQLite file with what is in it, and the statements that make it."""
    with closing(sqlite3.connect(path)) as connection:
        made = connection.execute(
            "SELECT tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid"
        ).fetchall()
        names = list(dict.fromkeys(name for name, _ in made))
        return [
            _Table(
                name,
                [sql for table, sql in made if table == name],
                connection.execute(f"SELECT * FROM {name}").fetchall(),
            )
            for name in names
        ]


def _inserted(tables: Sequence[_Table], path: Path, synchronous: str, batches: int) -> float:
    """Seconds of writing all rows, in so many transactions."""
    watch = Stopwatch()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(f"PRAGMA synchronous={synchronous}")
        for table in tables:
            for statement in table.statements:
                connection.execute(statement)
        cut = [(table, _batched(table.rows, batches)) for table in tables if table.rows]
        for batch in range(batches):
            with watch.running():
                connection.execute("BEGIN IMMEDIATE")
                for table, parts in cut:
                    marks = ",".join("?" * len(table.rows[0]))
                    connection.executemany(
                        f"INSERT INTO {table.name} VALUES ({marks})", parts[batch]
                    )
                connection.execute("COMMIT")
    return watch.seconds


def _steps_of(folder: Path) -> list[list[Step]]:
    """The steps of a directory, in the batches in which they are applied."""
    host = Host(folder, SystemClock(), embedder=None, partitions=None)
    try:
        host.start(worker=False)
        runtime = host.stores.open_projections()
        last = host.store.last_seq()
        return [runtime.steps(after, BATCH) for after in range(0, last, BATCH)]
    finally:
        host.close()


def _points_of(path: Path) -> list[edge.Point]:
    """The memory versions of an index as points that are ready to be written."""
    name = current(path)
    assert name is not None
    shard = loaded(path / name)
    request = edge.ScrollRequest(limit=1_000_000, with_payload=True, with_vector=True)
    found, _ = shard.scroll(request)
    shard.close()
    return [
        edge.Point(each.id, each.vector or {}, each.payload) for each in found if each.id != MARKER
    ]


def _batched(rows: list[Each], batches: int) -> list[list[Each]]:
    """The rows in so many parts of nearly equal size."""
    size = -(-len(rows) // batches)
    return [rows[at * size : (at + 1) * size] for at in range(batches)]

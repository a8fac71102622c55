"""The Parquet snapshot: the analytics tables as files that others read while the pipeline runs.

One folder a table, zstd, sorted so that a reader that filters on tenant or scope skips most of
it, and ``manifest.json`` beside them:

    snapshot/
        manifest.json
        events/part-0.parquet
        memory_versions/part-0.parquet      (with expired_at, as in the view ``memories``)
        ...

Read it with ``read_parquet('snapshot/events/*.parquet')`` in DuckDB or
``polars.scan_parquet('snapshot/events/*.parquet')``. A snapshot is all of one position or is not
there: it is written into a folder beside the target and renamed when it is complete.
"""

# ruff: noqa: S608 - the names in these statements are constants here; values are parameters

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb
import msgspec

from memstream.projections.duckdb_file import flush_to_disk, open_file, restated
from memstream.projections.duckdb_rows import TABLES
from memstream.projections.in_duckdb import LAYOUT, DuckIndex
from memstream.projections.projection import Generation
from memstream.schemas.errors import MemstreamError, NotFound, ProjectionDamaged
from memstream.schemas.memories import Tally

FORMAT = "memstream-snapshot/1"
MANIFEST = "manifest.json"


class SnapshotRefused(MemstreamError):
    """The target holds something that a snapshot must not replace."""


class TableFiles(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One table of a snapshot. ``columns`` maps names to DuckDB types, in order; ``files`` maps
    paths, relative to the snapshot, to the SHA-256 of their bytes."""

    rows: int
    columns: dict[str, str]
    files: dict[str, str]


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a snapshot holds. ``layout`` is the version of the tables; ``tally`` is the count and
    digest sum of its memory versions, to compare with another store at the same position."""

    format: str
    layout: int
    generation: Generation
    position: int
    tally: Tally
    tables: dict[str, TableFiles]


def snapshot(source: DuckIndex | Path, target: Path, *, overwrite: bool = False) -> Manifest:
    """Writes all tables at one position into the folder ``target`` and returns its manifest.

    From a ``DuckIndex`` the pipeline goes on meanwhile; from a path the file is opened read-only,
    which needs its writer to be idle for a moment. ``overwrite`` replaces a snapshot at the same
    or an older position, never anything else; between two renames there is then no target, and a
    crash there is mended by the next call.

    Raises ``SnapshotRefused`` for a target that must not be replaced or cannot be made,
    ``IndexUnavailable`` for a full disk or a file that stays locked, ``ProjectionDamaged`` for a
    damaged one.
    """
    target = target.absolute()
    building = target.with_name(f".{target.name}.building")
    replaced = target.with_name(f".{target.name}.replaced")
    if replaced.exists() and not target.exists():
        replaced.rename(target)
    _refuse_other(target, overwrite)
    for leftover in (building, replaced):
        if leftover.exists():
            shutil.rmtree(leftover)
    try:
        building.mkdir(parents=True)
    except OSError as error:
        raise SnapshotRefused(
            f"{target}: cannot be made: {error.strerror}; mend: name a folder that can be"
        ) from error
    try:
        with _reading(source) as connection:
            manifest = _write(connection, building)
        _refuse_newer(target, manifest.position)
    except BaseException:
        shutil.rmtree(building)
        raise
    if target.exists():
        target.rename(replaced)
    building.rename(target)
    flush_to_disk(target.parent)
    if replaced.exists():
        shutil.rmtree(replaced)
    return manifest


def read_manifest(target: Path) -> Manifest:
    """The manifest of a snapshot. Raises ``NotFound`` where there is no complete one."""
    path = target / MANIFEST
    try:
        manifest = msgspec.json.decode(path.read_bytes(), type=Manifest)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotFound(f"{target}: no snapshot: it has no {MANIFEST}") from error
    except msgspec.DecodeError as error:
        raise NotFound(f"{path}: no manifest of a snapshot: {error}") from error
    if manifest.format != FORMAT:
        raise NotFound(f"{path}: format {manifest.format!r}, expected {FORMAT!r}")
    return manifest


def verify(target: Path) -> Manifest:
    """The manifest, after reading every file of the snapshot. Raises ``ProjectionDamaged`` where
    one is missing or is not as it was written, ``NotFound`` where there is no snapshot."""
    manifest = read_manifest(target)
    for table in manifest.tables.values():
        for name, checksum in table.files.items():
            file = target / name
            if not file.is_file() or _sha256(file) != checksum:
                raise ProjectionDamaged(
                    f"{file}: missing, or not as the manifest has it; mend: take the snapshot again"
                )
    return manifest


def holds(target: Path, scope: str, events: Sequence[str]) -> bool:
    """Whether a snapshot holds content of these events of the scope, or, where none are named, of
    any. True as well for one that cannot be read, since nobody knows."""
    place = str(target / "events" / "*.parquet").replace("'", "''")
    query = (
        f"SELECT count(*) FROM read_parquet('{place}') WHERE scope = $1 AND NOT erased"
        " AND type <> 'erasure.requested' AND (len($2::VARCHAR[]) = 0"
        " OR list_contains($2::VARCHAR[], id))"
    )
    try:
        with duckdb.connect() as connection:
            found = connection.execute(query, [scope, list(events)]).fetchone()
    except duckdb.Error:
        return True
    return found is None or bool(found[0])


# Memory versions carry expired_at, which in the index only the view computes. JSON goes out as
# plain text: Polars reads Parquet's JSON type as bytes.
_QUERIES = {table: f"SELECT * FROM {table}" for table in TABLES} | {
    "events": "SELECT * REPLACE (data::VARCHAR AS data) FROM events",
    "memory_versions": "SELECT * REPLACE (record::VARCHAR AS record), "
    "lead(created_at) OVER (PARTITION BY scope, id ORDER BY version) AS expired_at "
    "FROM memory_versions",
}


@contextmanager
def _reading(source: DuckIndex | Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection in a transaction that sees one position."""
    if isinstance(source, DuckIndex):
        with source.reading() as connection:
            yield connection
        return
    connection = open_file(source, read_only=True)
    try:
        with restated(source):
            connection.begin()
            yield connection
    finally:
        connection.close()


def _write(connection: duckdb.DuckDBPyConnection, folder: Path) -> Manifest:
    stamp = connection.execute("SELECT * FROM generation").fetchone()
    counted = connection.execute("SELECT count(*), sum(digest) FROM memory_versions").fetchone()
    if stamp is None or counted is None or stamp[3] != LAYOUT:
        raise ProjectionDamaged(
            f"the analytics file has layout {stamp and stamp[3]}, this release writes {LAYOUT}; "
            "mend: memstream rebuild"
        )
    tables = {}
    for table, query in _QUERIES.items():
        file = folder / table / "part-0.parquet"
        file.parent.mkdir()
        place = str(file).replace("'", "''")
        connection.execute(
            f"COPY ({query} ORDER BY tenant, scope, seq) TO '{place}' "
            "(FORMAT parquet, COMPRESSION zstd)"
        )
        flush_to_disk(file)
        flush_to_disk(file.parent)
        columns = connection.execute(f"DESCRIBE {query}").fetchall()
        (rows,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone() or (0,)
        tables[table] = TableFiles(
            rows=int(rows),
            columns={str(column[0]): str(column[1]) for column in columns},
            files={file.relative_to(folder).as_posix(): _sha256(file)},
        )
    manifest = Manifest(
        format=FORMAT,
        layout=LAYOUT,
        generation=Generation(*stamp[:3]),
        position=int(stamp[4]),
        tally=Tally(int(counted[0]), int(counted[1] or 0)),
        tables=tables,
    )
    path = folder / MANIFEST
    path.write_bytes(msgspec.json.format(msgspec.json.encode(manifest)) + b"\n")
    flush_to_disk(path)
    flush_to_disk(folder)
    return manifest


def _refuse_other(target: Path, overwrite: bool) -> None:
    if not target.exists():
        return
    if target.is_dir() and not any(target.iterdir()):
        return
    if not overwrite:
        raise SnapshotRefused(
            f"{target}: is there already; mend: choose a new folder, or overwrite the older "
            "snapshot in it"
        )
    try:
        read_manifest(target)
    except NotFound as error:
        raise SnapshotRefused(
            f"{target}: holds something that is no snapshot, so it is not overwritten; mend: "
            "choose a new folder"
        ) from error


def _refuse_newer(target: Path, position: int) -> None:
    there = read_manifest(target).position if (target / MANIFEST).exists() else 0
    if there > position:
        raise SnapshotRefused(
            f"{target}: holds a snapshot at position {there}, newer than {position}; mend: choose "
            "a new folder"
        )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

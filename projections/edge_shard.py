"""The files of an edge index: shards, the one that is live, and what the engine throws.

A directory holds shards (``shard-1``, ``shard-2``, ...) and ``CURRENT``, a file with the name of
the live one. The others are what an erasure replaced or a crash left behind. Whoever has one of
them open holds the lock on ``index.lock``: the engine has a lock of its own, but looks at it only
after it has replayed and removed the journals of the segments, which are those of whoever is
writing there. Its next flush then fails ("Tracker journal ... is shorter than expected").
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import qdrant_edge as edge

from memstream.projections.file_lock import FileLock
from memstream.projections.points import KEYWORDS, RANGES
from memstream.projections.sketches import SKETCH_SIZE
from memstream.schemas.errors import IndexUnavailable, LeaseHeld, ProjectionDamaged

HNSW_FROM_KILOBYTES = 1_000_000
"""Vectors of one segment below this size are scanned exactly, whatever ``optimize`` is told."""

_Result = TypeVar("_Result")


def in_engine(path: Path, doing: str, call: Callable[[], _Result]) -> _Result:
    """The engine's answer. Its errors, and its panics, come out as ``ProjectionDamaged``.

    A panic of the engine is an exception that derives from ``BaseException`` and cannot be
    imported, hence the look at its name; anything else of that base passes untouched.
    """
    try:
        return call()
    except Exception as error:
        raise _damaged(path, doing, error) from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise _damaged(path, doing, error) from None


def _damaged(path: Path, doing: str, error: BaseException) -> ProjectionDamaged:
    first_line = str(error).strip().partition("\n")[0]
    return ProjectionDamaged(
        f"{path}: {doing} failed: {first_line}; mend: free space if the disk is full, otherwise "
        "memstream rebuild"
    )


def locked(path: Path) -> FileLock:
    """The lock of an index directory. Raises ``LeaseHeld`` or ``IndexUnavailable``."""
    lock = FileLock(path / "index.lock")
    try:
        path.mkdir(parents=True, exist_ok=True)
        taken = lock.acquire()
    except OSError as error:
        raise IndexUnavailable(
            f"{path}: {error.strerror or error}; mend: give it a writable directory with free "
            "disk, then try again"
        ) from error
    if not taken:
        raise _held(path)
    return lock


def _held(path: Path) -> LeaseHeld:
    return LeaseHeld(
        f"{path}: another process has this index open; mend: stop it, or read through it"
    )


def created(path: Path, dimension: int) -> edge.EdgeShard:
    """A new, empty shard with its payload indexes."""
    dense = {"sketch": edge.EdgeVectorParams(size=SKETCH_SIZE, distance=edge.Distance.Dot)}
    if dimension:
        # Vectors come normalised, so Dot is the cosine, and they are kept bit for bit.
        dense["dense"] = edge.EdgeVectorParams(size=dimension, distance=edge.Distance.Dot)
    config = edge.EdgeConfig(
        vectors=dense,
        sparse_vectors={"bm25": edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf)},
        optimizers=edge.EdgeOptimizersConfig(indexing_threshold=HNSW_FROM_KILOBYTES),
        wal_enabled=True,
    )
    shard = in_engine(path, "creating", lambda: edge.EdgeShard.create(str(path), config))
    create = edge.UpdateOperation.create_field_index
    operations = [
        create("tenant", edge.KeywordIndexParams(is_tenant=True)),
        *(create(name, edge.PayloadSchemaType.Keyword) for name in KEYWORDS),
        *(create(name, edge.IntegerIndexParams(lookup=False, range=True)) for name in RANGES),
    ]
    for operation in operations:
        in_engine(path, "creating", partial(shard.update, operation))
    return shard


def loaded(path: Path) -> edge.EdgeShard:
    """The shard at ``path``, of a directory whose lock is held. Raises ``ProjectionDamaged``, and
    ``LeaseHeld`` where a program without that lock has it open."""
    if not path.is_dir():
        raise ProjectionDamaged(f"{path}: named by CURRENT but missing; mend: memstream rebuild")
    for file in path.rglob("status.dat"):
        # On one cut short the engine panics, and writes so to the terminal, instead of refusing.
        if file.stat().st_size < (8 if file.parent.name == "vectors" else 16):
            raise ProjectionDamaged(f"{file}: cut short; mend: memstream rebuild")
    try:
        return in_engine(path, "opening", lambda: edge.EdgeShard.load(str(path)))
    except ProjectionDamaged as error:
        if "WouldBlock" in str(error):
            raise _held(path) from error
        raise


def counted(shard: edge.EdgeShard, dimension: int) -> dict[str, int]:
    """How many memory versions each part of the shard knows: its points, its vectors of every
    kind, its payload indexes. All are equal in a sound shard. Takes 7 ms at 20,000 points."""
    counts = {"the shard": shard.count(edge.CountRequest(exact=True)) - 1}
    for name in ("bm25", "sketch", "dense") if dimension else ("bm25", "sketch"):
        having = edge.Filter(must=[edge.HasVectorCondition(name)])
        counts[f"vector {name!r}"] = shard.count(edge.CountRequest(exact=True, filter=having))
    schema = shard.info().payload_schema
    for field in ("tenant", *KEYWORDS, *RANGES):
        counts[f"payload index {field!r}"] = schema[field].points if field in schema else 0
    return counts


def upsert(shard: edge.EdgeShard, points: list[edge.Point]) -> None:
    """Writes the points, in the place of those with the same ids."""
    shard.update(edge.UpdateOperation.upsert_points(points))


def retrieved(
    path: Path,
    shard: edge.EdgeShard,
    ids: Sequence[Any],
    vectors: Sequence[str] = (),
    fields: Sequence[str] = (),
) -> list[Any]:
    """Those of the points that are there, with some of their vectors and payload fields."""
    if not ids:
        return []
    wanted = {"with_payload": list(fields) or False, "with_vector": list(vectors) or False}
    return in_engine(path, "reading", partial(shard.retrieve, list(ids), **wanted))


def current(path: Path) -> str | None:
    """The name of the live shard, None where none was ever finished."""
    try:
        name = (path / "CURRENT").read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise ProjectionDamaged(f"{path}/CURRENT: {error}; mend: memstream rebuild") from error
    if not name.removeprefix("shard-").isdigit():
        raise ProjectionDamaged(f"{path}/CURRENT: holds {name!r}; mend: memstream rebuild")
    return name


def point_to(path: Path, name: str) -> None:
    """Makes ``name`` the live shard, in one atomic and durable step."""
    draft = path / "CURRENT.next"
    with draft.open("w", encoding="utf-8") as file:
        file.write(name + "\n")
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path / "CURRENT")
    directory = os.open(path, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def sweep(path: Path, *, keep: str | None) -> None:
    """Deletes shards that are not live: what an erasure replaced, or a crash left behind."""
    for each in sorted(path.glob("shard-*")):
        if each.name != keep:
            shutil.rmtree(each)

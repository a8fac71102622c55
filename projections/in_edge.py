"""The vector index inside the process: qdrant-edge, the engine of Qdrant without its server.

Beside the memory versions the shard holds one point without vectors, the marker, with the
generation's stamp, the position, and the count and checksum of the points at that position. The
marker has no tenant, so no search and no IDF ever meets it.

How the engine behaves, measured with 0.9 on two cores, and what is made of it:

* Updates go to the write-ahead log, so they outlive a killed process without a flush (a flush
  costs 13 to 50 ms, an update of one point 0.6 ms). ``apply`` therefore never waits for a flush;
  one is made every ``FLUSH_EVERY`` points, which bounds the log's size and the time to open.
* An apply is bracketed in the marker: "pending" before its first change, the new position after
  its last. A crash in between is seen at the next open and healed by applying again from the old
  position. Until the first flush after a power loss the tally tells whether anything is missing.
* All points stay in one appendable segment. Writing a point into 100,000 costs the engine 32 µs,
  into 10,000 it costs 24; searches read the payload indexes and the sparse index from memory.
  ``optimize`` would cut immutable segments with an HNSW graph: 7 s per 20,000 points in which no
  other thread of the process runs (the engine never lets go of the interpreter), to save 1 ms of
  4. Searches are bound to a few scopes, so an exact scan of what the filter lets through is fast,
  and its answers are the same after every rebuild. ``HNSW_FROM_KILOBYTES`` is where that may end
  to be true.
* Every payload index costs about 2 µs a point, and every field 1 to 3 µs on its way into the
  engine, a list 10. A filter on a field without an index reads and parses whole payloads, so a
  point has the fields that a search filters on, each with its index, and few others.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import qdrant_edge as edge

from memstream.projections.edge_requests import matches, matches_any
from memstream.projections.edge_search import EdgeSearch
from memstream.projections.edge_shard import (
    counted,
    created,
    current,
    in_engine,
    loaded,
    locked,
    point_to,
    retrieved,
    sweep,
    upsert,
)
from memstream.projections.embedders import Embedder
from memstream.projections.file_lock import FileLock
from memstream.projections.marker import MARKER, Marker, marker_of, shown
from memstream.projections.points import (
    NewPoint,
    changes,
    decoded,
    made_at,
)
from memstream.projections.projection import Generation, Step
from memstream.projections.queries import (
    Answer,
    IndexClosed,
    IndexQuery,
    Place,
    Surroundings,
)
from memstream.projections.sketches import vectors_of
from memstream.schemas.counting import quantity
from memstream.schemas.errors import ProjectionDamaged, UnsupportedFilter, WrongGeneration
from memstream.schemas.memories import Memory, Status, Tally

FLUSH_EVERY = 5_000
"""Points written between two flushes; replaying as many at open takes about 0.2 s."""
UPSERT_AT_ONCE = 1_000
"""Points per engine call: an entry of the write-ahead log has to fit into 32 MB."""
_Result = TypeVar("_Result")
_SCROLL = 5_000


class EdgeIndex:
    """One generation of the vector index, open. One process at a time may hold it.

    Threads: one may write (``apply``, ``erase``, ``optimize``, ``flush``), any number may read at
    the same time. ``_writing`` serialises writers; ``_engine`` is held around every use of the
    shard, over a whole apply (so a reader sees all of it or nothing), and only briefly, at its
    start and end, during an erase. Tokenising and embedding happen outside of ``_engine``.
    """

    name = "edge"

    def __init__(
        self,
        path: Path,
        shard: edge.EdgeShard,
        marker: Marker,
        embedder: Embedder,
        lock: FileLock,
    ) -> None:
        """Use ``open``, which checks what it finds."""
        self.path = path
        self._lock = lock
        self._shard = shard
        self._marker = marker
        self._embedder = embedder
        self._unflushed = 0
        self._closed = False
        self._reading = EdgeSearch(path, shard)
        self._writing = threading.RLock()
        self._engine = threading.RLock()

    @classmethod
    def open(
        cls,
        path: Path,
        generation: Generation,
        embedder: Embedder,
    ) -> EdgeIndex:
        """Opens the index at ``path``, or creates it where there is none.

        Raises ``WrongGeneration`` where the stamp differs, ``LeaseHeld`` where another process
        has it open (which is not disturbed), ``IndexUnavailable`` where the directory cannot be
        used, ``ProjectionDamaged`` where its files do not open or hold another number of points
        than they should.
        """
        if embedder.identity != generation.embedder:
            raise WrongGeneration(
                f"{path}: the generation was made by embedder {generation.embedder!r}, given was "
                f"{embedder.identity!r}; mend: open it with its own embedder"
            )
        lock = locked(path)
        try:
            return cls._opened(path, generation, embedder, lock)
        except BaseException:
            lock.release()
            raise

    @classmethod
    def _opened(
        cls, path: Path, generation: Generation, embedder: Embedder, lock: FileLock
    ) -> EdgeIndex:
        live = current(path)
        if live is None:
            sweep(path, keep=None)
            shard = created(path / "shard-1", embedder.dimension)
            marker = Marker(generation)
            index = cls(path, shard, marker, embedder, lock)
            in_engine(path, "creating", lambda: upsert(shard, [_point(marker)]))
            in_engine(path, "creating", shard.flush)
            point_to(path, "shard-1")
            return index
        shard = loaded(path / live)
        try:
            marker = _read_marker(path, shard)
            if marker.stamp != generation:
                raise WrongGeneration(
                    f"{path}: built by {shown(marker.stamp)}, asked for {shown(generation)}; "
                    "mend: memstream rebuild"
                )
            index = cls(path, shard, marker, embedder, lock)
            index._settle()
        except BaseException:
            shard.close()
            raise
        sweep(path, keep=current(path))
        return index

    def position(self) -> int:
        """The last step applied, 0 for none. After a crash the store may hold more than that;
        applying from here heals it, and only then is its tally that of its position."""
        return self._marker.position

    def positions(self) -> dict[int, int]:
        """The next raw offset of every partition, as of ``position``."""
        return dict(self._marker.positions)

    @property
    def unfinished(self) -> bool:
        """Whether a crash cut an apply short; the same steps applied again heal it."""
        return bool(self._marker.pending)

    def recorded_tally(self) -> Tally:
        """What was written, by the index's own account; ``tally`` is what is there."""
        return Tally(self._marker.count, self._marker.checksum)

    def apply(self, steps: Sequence[Step]) -> None:
        """Writes every memory version of the steps; those up to ``position`` are skipped.

        Returns once the change would outlive the process. Raises ``ProjectionDamaged`` where the
        engine fails; ``position`` has not moved then, and the same steps may be applied again.
        """
        with self._writing:
            change = changes(steps, after=self._marker.position)
            if change.last_seq == self._marker.position:
                return
            points = self._points(change.points)
            with self._engine:
                self._open_or_raise()
                if self._marker.pending:
                    self._recount()
                stored = self._digests([*(new.id for new in change.points), *change.closed])
                after = self._marker.after(change, stored)
                with self._reading.changing(stored, change.points):
                    if points:
                        self._marker.pending = change.last_seq
                        self._write_marker()
                    for at in range(0, len(points), UPSERT_AT_ONCE):
                        chunk = points[at : at + UPSERT_AT_ONCE]
                        self._update("writing", edge.UpdateOperation.upsert_points(chunk))
                    for name in sorted(change.closed.keys() & stored.keys()):
                        closing = {"expired_at": change.closed[name]}
                        self._update("writing", edge.UpdateOperation.set_payload([name], closing))
                    self._marker = after
                    self._write_marker()
                self._unflushed += len(points)
                if self._unflushed >= FLUSH_EVERY:
                    self.flush()

    def tally(self) -> Tally:
        """Counts every stored point and adds up their digests, from the shard as it is."""
        with self._engine:
            self._open_or_raise()
            count = checksum = 0
            for records in self._scrolled(with_payload=["digest"]):
                count += len(records)
                checksum += sum(record.payload["digest"] for record in records)
        return Tally(count, checksum)

    def search(self, query: IndexQuery) -> Answer:
        """The best ``query.limit`` memories of every channel. Raises ``UnsupportedFilter``."""
        if "dense" in query.channels and not self._embedder.dimension:
            raise UnsupportedFilter(
                f"{self.path}: this generation has no dense vectors (embedder "
                f"{self._embedder.identity!r}); mend: rebuild with an embedder, or ask for "
                'channels=("bm25",)'
            )
        with self._engine:
            self._open_or_raise()
            return self._reading.search(query)

    def around(
        self, query: IndexQuery, places: Sequence[Place], *, before: int, after: int, within: int
    ) -> list[Surroundings]:
        """What was said just before and after each place. Raises ``UnsupportedFilter``."""
        with self._engine:
            self._open_or_raise()
            return self._reading.around(query, places, before=before, after=after, within=within)

    def read(self, query: IndexQuery, points: Sequence[str]) -> dict[str, Memory]:
        """The memories of points that the query found, as they are stored now."""
        with self._engine:
            self._open_or_raise()
            return self._reading.read(query, points)

    def memories_of(self, scope: str, statuses: tuple[Status, ...] = ()) -> list[Memory]:
        """Every version of every memory of a scope, or those made with such a status, in the order
        in which they were made."""
        asked = [matches("scope", scope)]
        if statuses:
            asked.append(matches_any("status", statuses))
        condition = edge.Filter(must=list[Any](asked))
        fields = ["record", "expired_at"]
        with self._engine:
            self._open_or_raise()
            found = [
                decoded(each.payload["record"], each.payload["expired_at"])
                for records in self._scrolled(with_payload=fields, condition=condition)
                for each in records
            ]
        return sorted(found, key=made_at)

    def erase(self, scope: str) -> int:
        """Removes every memory version of a scope.

        The points are gone from searches first; then the living points are copied to a new shard,
        ``CURRENT`` is turned to it and the old shard's files are deleted. A crash in the middle
        is finished at the next open. The rewriting is done even where nothing was found, so that
        it can be asked for again.
        """
        condition = edge.Filter(must=[matches("scope", scope)])
        with self._writing:
            with self._engine:
                self._open_or_raise()
                self._reading.clear()
                removed: list[Any] = []
                for records in self._scrolled(with_payload=["digest"], condition=condition):
                    removed += records
                self._marker.unswept = True
                self._write_marker()
                if removed:
                    ids = [record.id for record in removed]
                    self._update("erasing", edge.UpdateOperation.delete_points(ids))
                self._marker.count -= len(removed)
                self._marker.checksum -= sum(record.payload["digest"] for record in removed)
            self._rewrite()
        return len(removed)

    def optimize(self) -> bool:
        """Lets the engine merge segments and build HNSW graphs; True if it did anything.

        Nothing happens below ``HNSW_FROM_KILOBYTES``. Above, no other thread of the process runs
        until it is done, minutes for a large index: call it after a rebuild, not while serving.
        """
        with self._writing, self._engine:
            self._open_or_raise()
            return self._call("optimizing", self._shard.optimize)

    def flush(self) -> None:
        """Writes everything to the segments' files and empties the write-ahead log."""
        with self._writing, self._engine:
            self._open_or_raise()
            self._call("flushing", self._shard.flush)
            self._unflushed = 0

    def close(self) -> None:
        """Flushes and lets go of the files. Closing twice is harmless."""
        with self._writing, self._engine:
            if not self._closed:
                try:
                    self.flush()
                finally:
                    self._closed = True
                    try:
                        self._shard.close()
                    finally:
                        self._lock.release()

    def _points(self, new: Sequence[NewPoint]) -> list[edge.Point]:
        dense: list[list[float]] = []
        if self._embedder.dimension and new:
            dense = self._embedder.passages([each.memory.text for each in new]).tolist()
        points: list[edge.Point] = []
        for at, each in enumerate(new):
            made = vectors_of(each.memory)
            lexical = edge.SparseVector(made.indices, made.weights)
            vectors: dict[str, Any] = {"bm25": lexical, "sketch": made.sketch}
            if dense:
                vectors["dense"] = dense[at]
            points.append(edge.Point(each.id, vectors, each.payload))
        return points

    def _settle(self) -> None:
        """After opening: finishes what a crash cut short, and counts."""
        if self._marker.unswept:
            self._recount()
            self._rewrite()
        if self._marker.pending:
            return
        count_all = partial(counted, self._shard, self._embedder.dimension)
        for part, count in self._call("counting", count_all).items():
            if count != self._marker.count:
                raise ProjectionDamaged(
                    f"{self.path}: {part} holds {quantity(count, 'memory version')}, should hold "
                    f"{self._marker.count} at position {self._marker.position}; mend: memstream "
                    "rebuild"
                )

    def _recount(self) -> None:
        tally = self.tally()
        self._marker.count, self._marker.checksum = tally.count, tally.checksum

    def _rewrite(self) -> None:
        """Copies the living points to a new shard and puts it in the place of the old one."""
        live = current(self.path)
        if live is None:
            raise ProjectionDamaged(f"{self.path}: CURRENT is gone; mend: memstream rebuild")
        target = f"shard-{int(live.removeprefix('shard-')) + 1}"
        if (self.path / target).exists():
            shutil.rmtree(self.path / target)
        fresh = created(self.path / target, self._embedder.dimension)
        try:
            for records in self._scrolled(
                with_payload=True, with_vector=True, at_once=UPSERT_AT_ONCE
            ):
                self._call("rewriting", partial(upsert, fresh, [_copied(each) for each in records]))
            swept = msgspec.structs.replace(self._marker, unswept=False)
            self._call("rewriting", lambda: upsert(fresh, [_point(swept)]))
            self._call("rewriting", fresh.flush)
        except BaseException:
            fresh.close()
            raise
        with self._engine:
            point_to(self.path, target)
            old, self._shard, self._marker = self._shard, fresh, swept
            self._reading = EdgeSearch(self.path, fresh)
            self._unflushed = 0
            old.close()
        sweep(self.path, keep=target)

    def _scrolled(
        self,
        *,
        with_payload: bool | list[str],
        with_vector: bool = False,
        condition: edge.Filter | None = None,
        at_once: int = _SCROLL,
    ) -> Iterator[list[Any]]:
        """All points but the marker, in chunks; the engine is free for others in between."""
        offset: Any = None
        while True:
            request = edge.ScrollRequest(
                offset=offset,
                limit=at_once,
                filter=condition,
                with_payload=with_payload,
                with_vector=with_vector,
            )
            with self._engine:
                found, offset = self._call("reading", partial(self._shard.scroll, request))
            yield [record for record in found if record.id != MARKER]
            if offset is None:
                return

    def _digests(self, ids: list[str]) -> dict[str, int]:
        return {
            str(record.id): record.payload["digest"]
            for record in retrieved(self.path, self._shard, ids, fields=["digest"])
        }

    def _write_marker(self) -> None:
        operation = edge.UpdateOperation.set_payload([MARKER], self._marker.payload())
        self._update("writing", operation)

    def _update(self, doing: str, operation: edge.UpdateOperation) -> None:
        self._call(doing, lambda: self._shard.update(operation))

    def _call(self, doing: str, call: Callable[[], _Result]) -> _Result:
        return in_engine(self.path, doing, call)

    def _open_or_raise(self) -> None:
        if self._closed:
            raise IndexClosed(f"{self.path}: this index was closed; mend: open it again")


def _read_marker(path: Path, shard: edge.EdgeShard) -> Marker:
    retrieve = partial(shard.retrieve, [MARKER], with_payload=True, with_vector=False)
    found = in_engine(path, "opening", retrieve)
    return marker_of(path, found[0].payload if found else None)


def _point(marker: Marker) -> edge.Point:
    return edge.Point(MARKER, {}, marker.payload())


def _copied(record: edge.Record) -> edge.Point:
    return edge.Point(record.id, record.vector or {}, record.payload)

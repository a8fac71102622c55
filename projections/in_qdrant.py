"""The vector index on a Qdrant server: one collection per generation, the shape of ``in_edge``.

Points, payloads, marker, filters and ranking are those of the edge index. What differs:

* Several processes may have it open. One writes at a time (the holder of the worker lease, or the
  projector that has the partitions); whoever writes reads the marker from the server first, so a
  writer that comes after another goes on from where that one got to.
* An apply is bracketed in the marker, as in the edge index: "pending" before its first change, the
  new position after its last. Every call waits until the server has made its change. One that
  breaks off leaves the old position, and applying again from there heals it.
* Within this process searches see an apply whole or not at all. Those of other processes may see
  it half done, for as long as it takes.
* An erasure deletes the points, and no answer holds them from then on. Their bytes leave the
  server's files when its optimizer rewrites the segment and its write-ahead log has moved on: that
  is the server's business, and this index cannot ask for it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

from qdrant_client import QdrantClient, models

from memstream.projections.embedders import Embedder
from memstream.projections.marker import MARKER, Marker, marker_of, shown
from memstream.projections.points import Changes, NewPoint, changes, decoded, made_at
from memstream.projections.projection import Generation, Step
from memstream.projections.qdrant_requests import create, of_scope, query_beside, requests
from memstream.projections.qdrant_server import (
    QdrantServer,
    check_version,
    connected,
    in_server,
)
from memstream.projections.queries import (
    Answer,
    Channel,
    IndexClosed,
    IndexQuery,
    Place,
    Surroundings,
    rounds,
)
from memstream.projections.ranking import (
    Scored,
    admitted,
    asked_around,
    asked_at_first,
    best,
    hits,
    of_moments,
)
from memstream.projections.sketches import Sketch, sketches, vectors_of
from memstream.projections.turns import Turns
from memstream.schemas.counting import quantity
from memstream.schemas.errors import (
    IndexUnavailable,
    ProjectionDamaged,
    UnsupportedFilter,
    WrongGeneration,
)
from memstream.schemas.memories import Memory, Status, Tally

UPSERT_AT_ONCE = 500
"""Points per call: with a dense vector and its record a point takes about 5 KB."""
IDS_AT_ONCE = 2_000
_SCROLL = 2_000
_Result = TypeVar("_Result")


class QdrantIndex:
    """One generation of the vector index, in one collection of a server.

    Threads: one may write (``apply``, ``erase``), any number may read at the same time. Tokenising
    and embedding happen before a writer takes its turn.
    """

    name = "qdrant"

    def __init__(
        self,
        server: QdrantServer,
        collection: str,
        client: QdrantClient,
        embedder: Embedder,
    ) -> None:
        """Use ``open``, which checks what it finds."""
        self.server = server
        self.collection = collection
        self._client = client
        self._embedder = embedder
        self._closed = False
        self._writer = threading.RLock()
        self._turns = Turns()

    @classmethod
    def open(
        cls,
        server: QdrantServer,
        collection: str,
        generation: Generation,
        embedder: Embedder,
        *,
        client: QdrantClient | None = None,
    ) -> QdrantIndex:
        """Opens the index in the collection, or creates it where there is none.

        ``client`` is one to use, and to close, in the place of a new one. Raises
        ``WrongGeneration`` where the stamp differs, ``ProjectionDamaged`` where the collection
        holds another number of points than it should or was made by something else, and
        ``IndexUnavailable`` where the server is away, refuses or is too old.
        """
        if embedder.identity != generation.embedder:
            raise WrongGeneration(
                f"collection {collection}: the generation was made by embedder "
                f"{generation.embedder!r}, given was {embedder.identity!r}; mend: open it with "
                "its own embedder"
            )
        index = cls(server, collection, client or connected(server), embedder)
        try:
            check_version(server, index._client)
            index._settle(generation)
        except BaseException:
            index.close()
            raise
        return index

    def position(self) -> int:
        """The last step applied, 0 for none, as the server has it now."""
        return self._marker().position

    def positions(self) -> dict[int, int]:
        """The next raw offset of every partition, as of ``position``."""
        return self._marker().positions

    def recorded_tally(self) -> Tally:
        """What was written, by the index's own account; ``tally`` is what is there."""
        marker = self._marker()
        return Tally(marker.count, marker.checksum)

    @property
    def unfinished(self) -> bool:
        """Whether an apply was cut short; applying again from ``position`` heals it."""
        return bool(self._marker().pending)

    def apply(self, steps: Sequence[Step]) -> None:
        """Writes every memory version of the steps; those up to ``position`` are skipped.

        Returns once the server has made every change. Raises ``IndexUnavailable`` or
        ``ProjectionDamaged``; ``position`` has not moved then, and the same steps may be applied
        again.
        """
        with self._writer:
            marker = self._marker()
            change = changes(steps, after=marker.position)
            if change.last_seq == marker.position:
                return
            points = self._points(change.points)
            with self._turns.writing():
                self._write(marker, change, points)

    def tally(self) -> Tally:
        """Counts every stored point and adds up their digests, from the collection as it is."""
        with self._turns.reading():
            return self._counted()

    def search(self, query: IndexQuery) -> Answer:
        """The best ``query.limit`` memories of every channel. Raises ``UnsupportedFilter``."""
        if "dense" in query.channels and not self._embedder.dimension:
            raise UnsupportedFilter(
                f"{self._where()}: this generation has no dense vectors (embedder "
                f"{self._embedder.identity!r}); mend: rebuild with an embedder, or ask for "
                'channels=("bm25",)'
            )
        wanted = requests(query, query.channels, asked_at_first(query))
        with self._turns.reading():
            found = self._asked(wanted)
            ranked: dict[Channel, Sequence[Scored]] = {
                channel: best(query, _scored(points), partial(self._more, query, channel))
                for channel, points in zip(query.channels, found, strict=True)
            }
            ids = list({name: None for scored in ranked.values() for _, name in scored})
            found_of = self._sketched(query, ids)
        return {channel: hits(query, scored, found_of) for channel, scored in ranked.items()}

    def around(
        self, query: IndexQuery, places: Sequence[Place], *, before: int, after: int, within: int
    ) -> list[Surroundings]:
        """What was said just before and after each place, in one call to the server for all.
        Raises ``UnsupportedFilter``."""
        sides = [
            (place, moments, back)
            for place in places
            for moments, back in ((before, True), (after, False))
            if moments
        ]
        wanted = [
            query_beside(query, place, asked_around(moments), within, back=back)
            for place, moments, back in sides
        ]
        with self._turns.reading():
            answers = self._asked(wanted) if wanted else []
            sketch_of = self._sketched(
                query, list({each.id: None for one in answers for each in one})
            )
        found = {
            (place, back): of_moments(
                [((each.payload or {})["observed_at"], each.id) for each in points],
                sketch_of, moments, cut=len(points) == asked_around(moments),
            )
            for (place, moments, back), points in zip(sides, answers, strict=True)
        }  # fmt: skip
        return [
            Surroundings(found.get((place, True), ()), found.get((place, False), ()))
            for place in places
        ]

    def read(self, query: IndexQuery, points: Sequence[str]) -> dict[str, Memory]:
        """The memories of points that the query found, as they are stored now."""
        with self._turns.reading():
            return self._read(query, points)

    def memories_of(self, scope: str, statuses: tuple[Status, ...] = ()) -> list[Memory]:
        """Every version of every memory of a scope, or those made with such a status, in the order
        in which they were made."""
        with self._turns.reading():
            found = [
                decoded(each.payload["record"], each.payload["expired_at"])
                for records in self._scrolled(["record", "expired_at"], of_scope(scope, statuses))
                for each in records
            ]
        return sorted(found, key=made_at)

    def erase(self, scope: str) -> int:
        """Removes every memory version of a scope.

        Returns once the server has deleted the points; a crash in the middle is finished by
        erasing again.
        """
        condition = of_scope(scope)
        with self._writer:
            marker = self._marker()
            with self._turns.writing():
                removed: list[Any] = []
                for records in self._scrolled(["digest"], condition):
                    removed += records
                if not removed and not marker.unswept:
                    return 0
                if marker.pending or marker.unswept:
                    self._recount(marker)
                marker.unswept = True
                self._write_marker(marker)
                selector = models.FilterSelector(filter=condition)
                delete = partial(self._client.delete, self.collection, selector, wait=True)
                self._change("erasing", delete)
                marker.count -= len(removed)
                marker.checksum -= sum(record.payload["digest"] for record in removed)
                marker.unswept = False
                self._write_marker(marker)
        return len(removed)

    def close(self) -> None:
        """Closes the connection. Closing twice is harmless."""
        with self._writer, self._turns.writing():
            if not self._closed:
                self._closed = True
                self._client.close()

    def _settle(self, generation: Generation) -> None:
        """At opening: makes the collection where there is none, checks the one that is there."""
        exists = partial(self._client.collection_exists, self.collection)
        found = self._retrieved([MARKER]) if self._call("opening", exists) else []
        if not found:
            self._create(generation)
            return
        marker = marker_of(self._where(), found[0].payload)
        if marker.stamp != generation:
            raise WrongGeneration(
                f"{self._where()}: built by {shown(marker.stamp)}, asked for "
                f"{shown(generation)}; mend: memstream rebuild"
            )
        if marker.pending or marker.unswept:
            return
        for part, count in self._counts().items():
            if count != marker.count:
                raise ProjectionDamaged(
                    f"{self._where()}: {part} holds {quantity(count, 'memory version')}, "
                    "should hold "
                    f"{marker.count} at position {marker.position}; mend: memstream rebuild"
                )

    def _create(self, generation: Generation) -> None:
        """Makes the collection, or finishes making it. Its marker comes last."""
        make = partial(create, self._client, self.collection, self._embedder.dimension)
        self._call("creating", make)
        count = partial(self._client.count, self.collection, exact=True)
        if self._call("creating", count).count:
            raise ProjectionDamaged(
                f"{self._where()}: holds points but no marker, so memstream did not make it or "
                "its marker was deleted; mend: another prefix, or memstream rebuild"
            )
        point = models.PointStruct(id=MARKER, vector={}, payload=Marker(generation).payload())
        self._change("creating", partial(self._client.upsert, self.collection, [point], wait=True))

    def _counts(self) -> dict[str, int]:
        """How many memory versions each part of the collection knows; all are equal if sound."""
        count = partial(self._client.count, self.collection, exact=True)
        counts = {"the collection": self._call("counting", count).count - 1}
        for name in ("bm25", "sketch", "dense") if self._embedder.dimension else ("bm25", "sketch"):
            having = models.Filter(must=[models.HasVectorCondition(has_vector=name)])
            found = self._call("counting", partial(count, count_filter=having))
            counts[f"vector {name!r}"] = found.count
        return counts

    def _write(self, marker: Marker, change: Changes, points: list[models.PointStruct]) -> None:
        if marker.pending or marker.unswept:
            self._recount(marker)
        stored = self._digests([*(new.id for new in change.points), *change.closed])
        after = marker.after(change, stored)
        closings = _closings({name: at for name, at in change.closed.items() if name in stored})
        if points or closings:
            marker.pending = change.last_seq
            self._write_marker(marker)
        for at in range(0, len(points), UPSERT_AT_ONCE):
            chunk = points[at : at + UPSERT_AT_ONCE]
            self._change("writing", partial(self._client.upsert, self.collection, chunk, wait=True))
        for at in range(0, len(closings), UPSERT_AT_ONCE):
            update = partial(self._client.batch_update_points, self.collection, wait=True)
            self._change("writing", partial(update, closings[at : at + UPSERT_AT_ONCE]))
        self._write_marker(after)

    def _points(self, new: Sequence[NewPoint]) -> list[models.PointStruct]:
        dense: list[list[float]] = []
        if self._embedder.dimension and new:
            dense = self._embedder.passages([each.memory.text for each in new]).tolist()
        points: list[models.PointStruct] = []
        for at, each in enumerate(new):
            made = vectors_of(each.memory)
            lexical = models.SparseVector(indices=made.indices, values=made.weights)
            vectors: dict[str, Any] = {"bm25": lexical, "sketch": made.sketch}
            if dense:
                vectors["dense"] = dense[at]
            points.append(models.PointStruct(id=each.id, vector=vectors, payload=each.payload))
        return points

    def _asked(self, wanted: list[models.QueryRequest]) -> list[list[models.ScoredPoint]]:
        ask = partial(self._client.query_batch_points, self.collection, wanted)
        return [answer.points for answer in self._call("searching", ask)]

    def _read(self, query: IndexQuery, points: Sequence[str]) -> dict[str, Memory]:
        memories: dict[str, Memory] = {}
        for record in self._retrieved(list(points), ["record", "expired_at"]):
            payload = record.payload or {}
            memory = decoded(payload["record"], payload["expired_at"])
            if memory.scope in query.scopes:
                memories[str(record.id)] = memory
        return memories

    def _sketched(self, query: IndexQuery, ids: list[Any]) -> dict[Any, Sketch]:
        """The sketches of points that a query found, but of those that it only seems to admit."""
        if rounds(query):
            fit = admitted(query, [str(each) for each in ids], self._read)
            ids = [each for each in ids if str(each) in fit]
        records = self._retrieved(ids, fields=False, vectors=["bm25", "sketch"])
        vectors = [record.vector for record in records]
        found = sketches(
            query.scopes,
            [str(record.id) for record in records],
            [each["sketch"] for each in vectors],
            [(each["bm25"].indices, each["bm25"].values) for each in vectors],
        )
        return {record.id: sketch for record, sketch in zip(records, found, strict=True)}

    def _more(self, query: IndexQuery, channel: Channel, limit: int) -> list[Scored]:
        return _scored(self._asked(requests(query, (channel,), limit))[0])

    def _counted(self) -> Tally:
        count = checksum = 0
        for records in self._scrolled(["digest"]):
            count += len(records)
            checksum += sum(record.payload["digest"] for record in records)
        return Tally(count, checksum)

    def _recount(self, marker: Marker) -> None:
        tally = self._counted()
        marker.count, marker.checksum, marker.unswept = tally.count, tally.checksum, False

    def _scrolled(
        self, fields: list[str], condition: models.Filter | None = None
    ) -> Iterator[list[Any]]:
        """All points but the marker, in chunks."""
        offset: Any = None
        while True:
            scroll = partial(
                self._client.scroll,
                self.collection,
                scroll_filter=condition,
                limit=_SCROLL,
                offset=offset,
                with_payload=fields,
            )
            found, offset = self._call("reading", scroll)
            yield [record for record in found if record.id != MARKER]
            if offset is None:
                return

    def _digests(self, ids: list[str]) -> dict[str, int]:
        found: dict[str, int] = {}
        for at in range(0, len(ids), IDS_AT_ONCE):
            for record in self._retrieved(ids[at : at + IDS_AT_ONCE], ["digest"]):
                found[str(record.id)] = record.payload["digest"]
        return found

    def _retrieved(
        self,
        ids: list[Any],
        fields: list[str] | bool = True,
        vectors: list[str] | bool = False,
    ) -> list[Any]:
        if not ids:
            return []
        retrieve = partial(self._client.retrieve, self.collection, ids)
        return self._call("reading", partial(retrieve, with_payload=fields, with_vectors=vectors))

    def _marker(self) -> Marker:
        found = self._retrieved([MARKER])
        return marker_of(self._where(), found[0].payload if found else None)

    def _write_marker(self, marker: Marker) -> None:
        put = partial(self._client.set_payload, self.collection, marker.payload(), [MARKER])
        self._change("writing", partial(put, wait=True))

    def _change(self, doing: str, call: Callable[[], Any]) -> None:
        """Makes a change that has to be done when this returns, not only accepted."""
        answer = self._call(doing, call)
        for each in answer if isinstance(answer, list) else [answer]:
            if each.status != models.UpdateStatus.COMPLETED:
                raise IndexUnavailable(
                    f"{self._where()}: {doing} was accepted but not done ({each.status}); mend: "
                    "see why the server's updates lag; the same change may be made again"
                )

    def _call(self, doing: str, call: Callable[[], _Result]) -> _Result:
        if self._closed:
            raise IndexClosed(f"{self._where()}: this index was closed; mend: open it again")
        return in_server(self.server, self.collection, doing, call)

    def _where(self) -> str:
        return f"Qdrant at {self.server.url}, collection {self.collection}"


def _scored(points: Sequence[models.ScoredPoint]) -> list[Scored]:
    return [(point.score, point.id) for point in points]


def _closings(closed: dict[str, int]) -> list[Any]:
    """Operations that close earlier versions, those of one instant in one."""
    ids: dict[int, list[Any]] = {}
    for name, instant in closed.items():
        ids.setdefault(instant, []).append(name)
    return [
        models.SetPayloadOperation(
            set_payload=models.SetPayload(payload={"expired_at": instant}, points=names)
        )
        for instant, names in ids.items()
    ]

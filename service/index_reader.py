"""The vector index as recall asks it, with the state to answer where the index cannot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from memstream.projections.queries import (
    Answer,
    IndexQuery,
    Place,
    SearchIndex,
    Surroundings,
)
from memstream.recall.scan import Scan
from memstream.schemas.errors import MemstreamError, UnsupportedFilter
from memstream.schemas.memories import Memory

if TYPE_CHECKING:
    from memstream.service.host import Host


_Result = TypeVar("_Result")


class IndexReader:
    """The vector index for one question. If it fails or is swapped away meanwhile, the state
    answers in its place and ``reasons`` says so."""

    def __init__(self, host: Host, index: SearchIndex, reasons: list[str]) -> None:
        self._host = host
        self._index: SearchIndex | Scan = index
        self._reasons = reasons

    def search(self, query: IndexQuery) -> Answer:
        """The hits. Raises ``UnsupportedFilter``, and what reading the state raises."""
        return self._asked(
            query, lambda index: index.search(query), "served by a lexical scan of the state"
        )

    def around(
        self, query: IndexQuery, places: Sequence[Place], *, before: int, after: int, within: int
    ) -> list[Surroundings]:
        """What was said beside the places. Raises as ``search`` does."""
        return self._asked(
            query,
            lambda index: index.around(query, places, before=before, after=after, within=within),
            "surroundings read from the state",
        )

    def read(self, query: IndexQuery, points: Sequence[str]) -> dict[str, Memory]:
        """The memories of points. Raises as ``search`` does."""
        return self._asked(
            query, lambda index: index.read(query, points), "memories read from the state"
        )

    def _asked(
        self, query: IndexQuery, ask: Callable[[SearchIndex | Scan], _Result], instead: str
    ) -> _Result:
        """The index's answer. Once it fails, the state gives this one and those that follow."""
        try:
            return ask(self._index)
        except UnsupportedFilter:
            raise
        except MemstreamError as error:
            if isinstance(self._index, Scan):
                raise
            self._reasons.append(f"{error}; {instead}")
        store = self._host.store
        self._index = Scan(each for path in query.scopes for each in store.memories_of(path))
        return ask(self._index)

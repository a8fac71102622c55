"""The vector index as recall asks it, with the state to answer where the index cannot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from memstream.projections.queries import (
    Answer,
    IndexQuery,
    Place,
    SearchIndex,
    Surroundings,
)
from memstream.recall.scan import Scan
from memstream.schemas.errors import MemstreamError, UnsupportedFilter

if TYPE_CHECKING:
    from memstream.service.host import Host


class IndexReader:
    """The vector index for one question. If it fails or is swapped away meanwhile, the state
    answers in its place and ``reasons`` says so."""

    def __init__(self, host: Host, index: SearchIndex, reasons: list[str]) -> None:
        self._host = host
        self._index = index
        self._reasons = reasons

    def search(self, query: IndexQuery) -> Answer:
        """The hits. Raises ``UnsupportedFilter``, and what reading the state raises."""
        try:
            return self._index.search(query)
        except UnsupportedFilter:
            raise
        except MemstreamError as error:
            self._reasons.append(f"{error}; served by a lexical scan of the state")
        return self._scan(query).search(query)

    def around(
        self, query: IndexQuery, places: Sequence[Place], *, before: int, after: int, within: int
    ) -> list[Surroundings]:
        """What was said beside the places. Raises as ``search`` does."""
        try:
            return self._index.around(query, places, before=before, after=after, within=within)
        except UnsupportedFilter:
            raise
        except MemstreamError as error:
            self._reasons.append(f"{error}; surroundings read from the state")
        return self._scan(query).around(query, places, before=before, after=after, within=within)

    def _scan(self, query: IndexQuery) -> Scan:
        store = self._host.store
        return Scan(each for path in query.scopes for each in store.memories_of(path))

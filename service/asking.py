"""Asking: a question with all it is asked with. Its vector, or none and the reason, as recall goes
on by words without it; the attributes it can ask for; the reranker, or why there is none now."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from memstream.service.naming import slot_named
from memstream.streams.clock import Deadline

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memstream.projections.embedders import Embedder
    from memstream.recall.background import Background
    from memstream.recall.engine import Embedding, Index, Request
    from memstream.recall.evidence import Evidence
    from memstream.recall.reranking import Reranker
    from memstream.recall.settings import Settings
    from memstream.schemas.attributes import Attributes
    from memstream.schemas.memories import Memory

DOUBT_SECONDS = 30.0
"""So long after an embedder or a reranker failed no question waits for it."""


class Asking:
    """Answers questions; remembers for a while that an embedder or a reranker could not be asked.
    Thread-safe."""

    def __init__(self, settings: Path | None, reranker: Reranker | None = None) -> None:
        """``settings`` is the directory that may have an ``attributes.toml``, if there is one."""
        self._directory = settings
        self.reranker = None if reranker is None else Doubted(reranker)
        self._background: tuple[str, Background] | None = None
        """Of which embedder, and what it is."""
        self._failed: tuple[Deadline, str, str] | None = None
        """Until when, which embedder, why."""

    @cached_property
    def attributes(self) -> Attributes:
        """The slots that can be asked for: the built-in ones and the owner's."""
        from memstream.processors.settings import attributes_in

        return attributes_in(self._directory)

    def in_slot(self, versions: list[Memory], name: str | None) -> list[Memory]:
        """Those of the slot that was meant, however it is written; all where ``name`` is None.
        Raises ``UnsupportedFilter`` for what looks like a slip."""
        if name is None:
            return versions
        slot = slot_named(self.attributes, (each.attribute for each in versions), name)
        return [each for each in versions if each.attribute == slot]

    def evidence(
        self,
        request: Request,
        index: Index,
        embedder: Embedder | None,
        settings: Settings,
        degraded: list[str],
    ) -> Evidence:
        """The evidence for a request out of ``index``. ``degraded`` is what is known to be missing,
        in words; what turns out to be while it is asked is added."""
        from memstream.recall.engine import recalled

        embedding = self.embedding(embedder, request.query, degraded)
        return recalled(request, index, embedding, settings, degraded, self.reranker)

    def embedding(
        self, embedder: Embedder | None, query: str, reasons: list[str]
    ) -> Embedding | None:
        """What the engine embeds with; None, and one reason more, where the embedder is away."""
        if embedder is None or not embedder.dimension or not query.strip():
            return None
        failed = self._failed
        if failed is not None and failed[1] == embedder.identity and not failed[0].passed:
            reasons.append(f"{failed[2]}; served by words alone")
            return None
        from memstream.projections.embedding import EmbedderUnavailable

        try:
            vector = embedder.query(query)
            found = Embedded(embedder, query, vector, self._background_of(embedder))
        except EmbedderUnavailable as error:
            self._failed = Deadline(DOUBT_SECONDS), embedder.identity, str(error)
            reasons.append(f"{error}; served by words alone")
            return None
        self._failed = None
        return found

    def _background_of(self, embedder: Embedder) -> Background:
        """Made once for each embedder. Raises ``EmbedderUnavailable``."""
        from memstream.recall.background import Background

        if self._background is None or self._background[0] != embedder.identity:
            self._background = embedder.identity, Background(embedder)
        return self._background[1]


class Embedded:
    """An embedder with the vector of one question at hand, and with its background."""

    def __init__(
        self,
        embedder: Embedder,
        query: str,
        vector: NDArray[np.float32],
        background: Background,
    ) -> None:
        self._embedder = embedder
        self._query, self._vector = query, vector
        self.dimension = embedder.dimension
        self.background = background

    def query(self, text: str) -> NDArray[np.float32]:
        return self._vector if text == self._query else self._embedder.query(text)


class Doubted:
    """A reranker that is not asked for a while after it failed. Thread-safe, as it is."""

    def __init__(self, reranker: Reranker) -> None:
        """Raises ``RerankerUnavailable`` for what is none."""
        from memstream.recall.reranking import RerankerUnavailable

        if not callable(getattr(reranker, "scores", None)) or not hasattr(reranker, "identity"):
            raise RerankerUnavailable(
                f"reranker: expected a Reranker, got {type(reranker).__name__}; mend: give an "
                "object, e.g. memstream.recall.rerankers_fastembed.FastReranker(MODEL)"
            )
        self._reranker = reranker
        self.identity = reranker.identity
        self._failed: tuple[Deadline, str] | None = None

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """Its scores, checked. Raises ``RerankerUnavailable``."""
        from memstream.recall.reranking import RerankerUnavailable, scores_of

        failed = self._failed
        if failed is not None and not failed[0].passed:
            raise RerankerUnavailable(failed[1])
        try:
            return scores_of(self._reranker, query, texts)
        except RerankerUnavailable as error:
            self._failed = Deadline(DOUBT_SECONDS), str(error)
            raise

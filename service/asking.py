"""What a question is asked with: its vector, or none and the reason, as recall goes on by words
without it; and the attributes it can ask for."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from memstream.projections.embedders import Embedder, EmbedderUnavailable
from memstream.schemas.attributes import Attributes
from memstream.streams.clock import Deadline

if TYPE_CHECKING:
    from memstream.recall.background import Background
    from memstream.recall.engine import Embedding

DOUBT_SECONDS = 30.0
"""So long after an embedder failed no question waits for it."""


class Asking:
    """Embeds questions; remembers for a while that it could not. Thread-safe."""

    def __init__(self, settings: Path | None) -> None:
        """``settings`` is the directory that may have an ``attributes.toml``, if there is one."""
        self._directory = settings
        self._background: tuple[str, Background] | None = None
        """Of which embedder, and what it is."""
        self._failed: tuple[Deadline, str, str] | None = None
        """Until when, which embedder, why."""

    @cached_property
    def attributes(self) -> Attributes:
        """The slots that can be asked for: the built-in ones and the owner's."""
        from memstream.processors.standard import attributes_in  # recording needs no rules

        return attributes_in(self._directory)

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

"""fastembed's cross-encoders as rerankers; where they are looked for: ``fastembed_models``."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

from memstream.projections.fastembed_models import FastModel, in_utf8
from memstream.recall.reranking import RerankerUnavailable


class FastReranker:
    """A model that fastembed knows, or that was added to it by
    ``TextCrossEncoder.add_custom_model``.

    ``folder`` holds the model's files as its publisher lays them out. The model is loaded at the
    first question, not before. Raises ``RerankerUnavailable``.
    """

    def __init__(self, model: str, folder: str | Path | None = None) -> None:
        make = "fastembed.rerank.cross_encoder.TextCrossEncoder"
        self._model = FastModel("reranker", make, model, folder, RerankerUnavailable)
        self._one_at_a_time = threading.Lock()
        self.identity = self._model.identity

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """How well each text answers, as the model says it."""
        asked = in_utf8(query)
        with self._one_at_a_time:
            model = self._model.loaded()
            # One by one: in a batch, padding changes the last bits of a score.
            return [float(next(iter(model.rerank(asked, [in_utf8(text)])))) for text in texts]

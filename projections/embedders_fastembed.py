"""fastembed's sentence models as embedders; where they are looked for: ``fastembed_models``."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from memstream.projections.embedding import EmbedderUnavailable, Vectors
from memstream.projections.fastembed_models import FastModel, in_utf8


class FastEmbedder:
    """A model that fastembed knows, or that was added to it by ``TextEmbedding.add_custom_model``.

    ``folder`` holds the model's files as its publisher lays them out. The identity is the model's
    name, the hash of its files and its dimension, so it does not change with the place. The model
    is loaded at the first text, not before. Raises ``EmbedderUnavailable``.
    """

    def __init__(self, model: str, folder: str | Path | None = None) -> None:
        self._name = model
        self._model = FastModel(
            "embedder", "fastembed.TextEmbedding", model, folder, EmbedderUnavailable
        )
        self._one_at_a_time = threading.Lock()
        self.dimension = int(self._model.make.get_embedding_size(model))
        self.identity = f"{self._model.identity}/{self.dimension}"

    def passages(self, texts: Sequence[str]) -> Vectors:
        """Vectors for what is stored."""
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        told = [in_utf8(text) for text in texts]
        with self._one_at_a_time:
            model = self._model.loaded()
            # One by one: in a batch, padding changes the last bits of a vector.
            found = [next(iter(model.passage_embed([text]))) for text in told]
        return self._unit(np.stack(found))

    def query(self, text: str) -> Vectors:
        """The vector of a question."""
        with self._one_at_a_time:
            found = next(iter(self._model.loaded().query_embed([in_utf8(text)])))
        unit: Vectors = self._unit(found[np.newaxis])[0]
        return unit

    def _unit(self, found: Any) -> Vectors:
        if found.shape[1] != self.dimension:
            raise EmbedderUnavailable(
                f"embedder 'fastembed', {self._name}: its vectors have {found.shape[1]} "
                f"dimensions, expected {self.dimension}; mend: give the files of that model"
            )
        wide = found.astype(np.float32)
        lengths = np.linalg.norm(wide, axis=1, keepdims=True)
        wide[:, 0] = np.where(lengths[:, 0] == 0, np.float32(1), wide[:, 0])
        unit: Vectors = wide / np.where(lengths == 0, np.float32(1), lengths)
        return unit

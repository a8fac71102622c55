"""fastembed: sentence models in ONNX, run on the CPU, from a folder on this machine.

A model is looked for in the folder given, else in ``$MEMSTREAM_MODELS/MODEL``, else in fastembed's
own cache. Nothing is downloaded: fastembed does that for whoever asks it to
(``python -c "import fastembed; fastembed.TextEmbedding('MODEL')"``).
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from memstream.projections.embedding import EmbedderUnavailable, Vectors

MODELS_VARIABLE = "MEMSTREAM_MODELS"
AT_ONCE = 32
"""Texts run through the model together; more pad every text to the longest of them."""
_HASHED = ("*.onnx", "**/*.onnx", "**/*.onnx_data", "tokenizer.json", "*.safetensors")


class FastEmbedder:
    """A model that fastembed knows, or that was added to it by ``TextEmbedding.add_custom_model``.

    ``folder`` holds the model's files as its publisher lays them out. The identity is the model's
    name, the hash of its files and its dimension, so it does not change with the place. The model
    is loaded at the first text, not before. Raises ``EmbedderUnavailable``.
    """

    def __init__(self, model: str, folder: str | Path | None = None) -> None:
        if find_spec("fastembed") is None:
            raise EmbedderUnavailable(
                "embedder 'fastembed' is not installed; mend: pip install 'memstream[fastembed]', "
                "or choose embedder 'none'"
            )
        self._name = model
        self._folder = _found(model, folder)
        self._model: Any = None
        self._one_at_a_time = threading.Lock()
        text_embedding = import_module("fastembed").TextEmbedding
        try:
            self.dimension = int(text_embedding.get_embedding_size(model))
            # Without loading: it tells where the files are, or that they are not there.
            lazy = self._made(lazy_load=True)
        except (ValueError, OSError) as error:
            raise EmbedderUnavailable(self._trouble(error)) from error
        folder = Path(str(lazy.model._model_dir))
        self.identity = "/".join(
            ("fastembed", quote(model, safe=""), _hash_of(folder, model), str(self.dimension))
        )

    def passages(self, texts: Sequence[str]) -> Vectors:
        """Vectors for what is stored."""
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        told = [_utf8(text) for text in texts]
        with self._one_at_a_time:
            model = self._loaded()
            # One by one: in a batch, padding changes the last bits of a vector.
            found = [next(iter(model.passage_embed([text]))) for text in told]
        return self._unit(np.stack(found))

    def query(self, text: str) -> Vectors:
        """The vector of a question."""
        with self._one_at_a_time:
            found = next(iter(self._loaded().query_embed([_utf8(text)])))
        unit: Vectors = self._unit(found[np.newaxis])[0]
        return unit

    def _loaded(self) -> Any:
        if self._model is None:
            try:
                self._model = self._made(lazy_load=False)
            except Exception as error:
                # onnxruntime raises classes of its own, which share no base but this one.
                raise EmbedderUnavailable(self._trouble(error)) from error
        return self._model

    def _made(self, *, lazy_load: bool) -> Any:
        options = {} if self._folder is None else {"specific_model_path": str(self._folder)}
        make = import_module("fastembed").TextEmbedding
        return make(self._name, lazy_load=lazy_load, local_files_only=True, **options)

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

    def _trouble(self, error: Exception) -> str:
        where = self._folder or "fastembed's own cache"
        first = str(error).strip().partition("\n")[0]
        return (
            f"embedder 'fastembed', {self._name}: does not load from {where}: {first}; mend: put "
            f"its files into ${MODELS_VARIABLE}/{self._name}, or let fastembed download it once"
        )


def _found(model: str, folder: str | Path | None) -> Path | None:
    if folder is not None:
        return Path(folder)
    models = os.environ.get(MODELS_VARIABLE)
    if models and (Path(models) / model).is_dir():
        return Path(models) / model
    return None


def _hash_of(folder: Path, model: str) -> str:
    """The first 16 hexadecimal digits of a hash over everything that shapes a vector."""
    files = sorted({file for pattern in _HASHED for file in folder.glob(pattern)})
    if not files:
        raise EmbedderUnavailable(
            f"embedder 'fastembed', {model}: no model in {folder}; mend: put its files there"
        )
    total = hashlib.sha256()
    for file in files:
        with file.open("rb") as opened:
            total.update(hashlib.file_digest(opened, "sha256").digest())
    return total.hexdigest()[:16]


def _utf8(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")

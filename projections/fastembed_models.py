"""Models that fastembed runs: ONNX, on the CPU, from a folder on this machine.

A model is looked for in the folder given, else in ``$MEMSTREAM_MODELS/MODEL``, else in fastembed's
own cache. Nothing is downloaded: fastembed does that for whoever asks it to
(``python -c "import fastembed; fastembed.TextEmbedding('MODEL')"``).
"""

from __future__ import annotations

import hashlib
import os
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

from memstream.schemas.errors import MemstreamError

MODELS_VARIABLE = "MEMSTREAM_MODELS"
_HASHED = ("*.onnx", "**/*.onnx", "**/*.onnx_data", "tokenizer.json", "*.safetensors")


class FastModel:
    """One model. ``what`` it serves as ("embedder"), ``make`` is fastembed's class for it with its
    module, ``folder`` holds its files as their publisher lays them out.

    ``identity`` is the model's name and a hash of its files, so it does not change with the
    place. The model is loaded at the first call of ``loaded``, not before. Whatever keeps it from
    being used is raised as ``unavailable``.
    """

    def __init__(
        self,
        what: str,
        make: str,
        model: str,
        folder: str | Path | None,
        unavailable: type[MemstreamError],
    ) -> None:
        self._what, self._name, self._unavailable = what, model, unavailable
        if find_spec("fastembed") is None:
            raise unavailable(
                f"{what} 'fastembed' is not installed; mend: pip install 'memstream[fastembed]', "
                f"or do without that {what}"
            )
        self._folder = _found(model, folder)
        module, _, name = make.rpartition(".")
        self.make: Any = getattr(import_module(module), name)
        self._model: Any = None
        try:
            # Without loading: it tells where the files are, or that they are not there.
            lazy = self._made(lazy_load=True)
        except (ValueError, OSError) as error:
            raise unavailable(self.trouble(error)) from error
        found = _hash_of(Path(str(lazy.model._model_dir)))
        if not found:
            raise unavailable(self.trouble("no model in it"))
        self.identity = "/".join(("fastembed", quote(model, safe=""), found))

    def loaded(self) -> Any:
        """fastembed's object, with the model in memory. For one thread at a time."""
        if self._model is None:
            try:
                self._model = self._made(lazy_load=False)
            except Exception as error:
                # onnxruntime raises classes of its own, which share no base but this one.
                raise self._unavailable(self.trouble(error)) from error
        return self._model

    def trouble(self, error: object) -> str:
        """What is wrong, where, and how to mend it."""
        where = self._folder or "fastembed's own cache"
        first = str(error).strip().partition("\n")[0]
        return (
            f"{self._what} 'fastembed', {self._name}: does not load from {where}: {first}; mend: "
            f"put its files into ${MODELS_VARIABLE}/{self._name}, or let fastembed download it once"
        )

    def _made(self, *, lazy_load: bool) -> Any:
        options = {} if self._folder is None else {"specific_model_path": str(self._folder)}
        return self.make(self._name, lazy_load=lazy_load, local_files_only=True, **options)


def in_utf8(text: str) -> str:
    """The text without lone surrogates, which no tokenizer takes."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _found(model: str, folder: str | Path | None) -> Path | None:
    if folder is not None:
        return Path(folder)
    models = os.environ.get(MODELS_VARIABLE)
    if models and (Path(models) / model).is_dir():
        return Path(models) / model
    return None


def _hash_of(folder: Path) -> str:
    """The first 16 hexadecimal digits of a hash over everything that shapes what the model gives;
    empty where there is nothing."""
    files = sorted({file for pattern in _HASHED for file in folder.glob(pattern)})
    total = hashlib.sha256()
    for file in files:
        with file.open("rb") as opened:
            total.update(hashlib.file_digest(opened, "sha256").digest())
    return total.hexdigest()[:16] if files else ""

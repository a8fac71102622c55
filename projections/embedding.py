"""What an embedder owes: the contract of every make of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from memstream.schemas.errors import MemstreamError

Vectors = NDArray[np.float32]


class EmbedderUnavailable(MemstreamError):
    """The embedder is not known, not installed, or cannot load its model."""


class Embedder(Protocol):
    """Turns text into vectors of one length.

    Obligations: the same text gives the same vector, alone or in a batch; vectors are float32 and
    L2-normalised, so that their dot product is the cosine; any text is accepted, also an empty
    one; calls from several threads are safe. ``passages`` gives shape [len(texts), dimension] and
    is for what is stored; ``query`` gives [dimension] and is for what is asked. ``identity``
    names model, version and dimension and changes whenever a vector could. A ``dimension`` of 0
    means that there is no dense channel.
    """

    @property
    def identity(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    def passages(self, texts: Sequence[str]) -> Vectors: ...

    def query(self, text: str) -> Vectors: ...

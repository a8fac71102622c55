"""Sketches: what scoring reads of a memory version, small enough to be read of every candidate.

A vector store hands a payload over whole: it is found, unpacked and parsed even where one field is
asked for, 9 µs at best and 28 µs the first time. Vectors lie together and come in 2 µs. So beside
the vectors that are searched a point has one, "sketch", that never is: numbers below 2**21, which
32-bit floats hold exactly. Its words are the point's lexical vector. Payloads are read for what is
served.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import get_args

import msgspec
import numpy as np

from memstream.processors.lexemes import lexeme_index, lexemes, sparse_weights
from memstream.processors.sentences import is_question, language_of
from memstream.projections.facets import happened
from memstream.projections.points import words_of
from memstream.schemas.instants import OPEN_MICROS, to_micros
from memstream.schemas.memories import Memory, Status

SKETCH_SIZE = 31
"""Numbers in the vector: the five instants, scope and what is said take three each, the subject's
words and the attribute two each, the length and the flags one."""
_NAMED = 3
_INSTANTS = 5
_LIMB = 21
_MASK = (1 << _LIMB) - 1
_TOLD, _ASKS, _DATED, _HAN, _STATUS = 1, 2, 4, 8, 16
_HALVED = 3 * (_INSTANTS + 2)
_SINGLE = _HALVED + 2 * (_NAMED + 1)
_STATUSES: tuple[Status, ...] = get_args(Status)


class Sketch(msgspec.Struct, frozen=True, gc=False):
    """One memory version as scoring knows it. Instants are UTC microseconds.

    ``point`` is the id of its point (see ``point_id``); ``at`` when it was observed;
    [``start``, ``end``) when that took place of which it tells (see ``happened``), ``dated``
    whether it names a time for it; [``valid_from``, ``valid_to``) and ``status`` are the memory's;
    ``said`` 62 bits that are the same for the same text about the same subject; ``named`` the
    dimensions of the subject's words, of the first three of a long name, ``attribute`` that of its
    attribute's name; ``length`` how many words it has; ``told`` whether it is an episode, ``asks``
    whether that only asks; ``han`` whether it is in Chinese; ``indices`` and ``weights`` its
    lexical vector, as 32-bit numbers of this machine.
    """

    point: str
    scope: str
    at: int
    start: int
    end: int
    valid_from: int
    valid_to: int
    said: int
    named: tuple[int, ...]
    attribute: int
    length: int
    told: bool
    asks: bool
    dated: bool
    han: bool
    status: Status
    indices: bytes
    weights: bytes


class Vectors(msgspec.Struct, frozen=True, gc=False):
    """The vectors of a memory version that are made without an embedder."""

    indices: list[int]
    weights: list[float]
    sketch: list[float]


def vectors_of(memory: Memory) -> Vectors:
    """The lexical vector and the sketch of a memory version."""
    words = words_of(memory)
    start, end = happened(memory)
    told = memory.kind == "episode"
    asks = told and is_question(memory.value)
    flags = _TOLD * told | _ASKS * asks | _DATED * (memory.occurred is not None)
    flags |= _HAN * (bool(memory.text) and language_of(memory.text) == "zh")
    flags |= _STATUS * _STATUSES.index(memory.status)
    sketch = [
        *_instant_limbs(to_micros(memory.observed_at)),
        *_instant_limbs(start),
        *_instant_limbs(end),
        *_instant_limbs(to_micros(memory.valid_from)),
        *_instant_limbs(OPEN_MICROS if memory.valid_to is None else to_micros(memory.valid_to)),
        *_scope_limbs(memory.scope),
        *_limbs(_key(f"{memory.subject}\n{memory.text}")),
        *_named_limbs(memory.subject),
        *_halves(lexeme_index(memory.attribute)),
        float(len(words)),
        float(flags),
    ]
    return Vectors(*sparse_weights(words), sketch)


def sketches(
    scopes: Iterable[str],
    points: Sequence[str],
    vectors: Sequence[Sequence[float]],
    words: Iterable[tuple[Sequence[int], Sequence[float]]],
) -> list[Sketch]:
    """The sketches of points from their "sketch" vectors and (indices, weights) of their lexical
    ones. Each of them is of one of the scopes. Raises ``KeyError`` where one is not."""
    if not points:
        return []
    path_of = {_key(path): path for path in scopes}
    columns = np.array(vectors).astype(np.int64).T
    high, middle, low = (columns[at:_HALVED:3] for at in range(3))
    whole = (high << 2 * _LIMB) | (middle << _LIMB) | low
    whole[:_INSTANTS] -= OPEN_MICROS
    dimensions = (columns[_HALVED:_SINGLE:2] << 16) | columns[_HALVED + 1 : _SINGLE : 2]
    rows = zip(
        points,
        *whole.tolist(),
        dimensions[:_NAMED].T.tolist(),
        dimensions[_NAMED].tolist(),
        *columns[_SINGLE:].tolist(),
        words,
        strict=True,
    )
    return [
        Sketch(
            point,
            path_of[scope],
            at,
            start,
            end,
            valid_from,
            valid_to,
            said,
            tuple(filter(None, named)),
            attribute,
            length,
            bool(flags & _TOLD),
            bool(flags & _ASKS),
            bool(flags & _DATED),
            bool(flags & _HAN),
            _STATUSES[flags // _STATUS],
            array("I", indices).tobytes(),
            array("f", weights).tobytes(),
        )
        for (
            point,
            at,
            start,
            end,
            valid_from,
            valid_to,
            scope,
            said,
            named,
            attribute,
            length,
            flags,
            (indices, weights),
        ) in rows
    ]


def sketch_of(memory: Memory, point: str) -> Sketch:
    """The sketch of a memory version that is at hand."""
    made = vectors_of(memory)
    (sketch,) = sketches([memory.scope], [point], [made.sketch], [(made.indices, made.weights)])
    return sketch


def _limbs(number: int) -> tuple[float, float, float]:
    """A number below 2**63 in three that are below 2**21."""
    return (
        float(number >> 2 * _LIMB),
        float((number >> _LIMB) & _MASK),
        float(number & _MASK),
    )


def _instant_limbs(micros: int) -> tuple[float, float, float]:
    return _limbs(min(micros, OPEN_MICROS - 1) + OPEN_MICROS)


def _key(text: str) -> int:
    """62 bits by which a text is told from others."""
    encoded = text.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(encoded, digest_size=8).digest(), "big") >> 2


@lru_cache(maxsize=1 << 12)
def _scope_limbs(scope: str) -> tuple[float, float, float]:
    return _limbs(_key(scope))


@lru_cache(maxsize=1 << 12)
def _named_limbs(subject: str) -> tuple[float, ...]:
    found = [lexeme_index(each) for each in dict.fromkeys(lexemes(subject))][:_NAMED]
    found += [0] * (_NAMED - len(found))
    return tuple(half for each in found for half in _halves(each))


def _halves(index: int) -> tuple[float, float]:
    return float(index >> 16), float(index & 0xFFFF)

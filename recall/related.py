"""Words that people use for each other: who asks after somebody's kids was told of children.

The groups and kinds stand in ``related.toml``. In a memory such a word counts as a part of the word
that was asked with (``Settings.related_weight``); where nothing answers a question in its own
words, it is asked again with these in their place.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from functools import cache
from itertools import permutations
from pathlib import Path

import msgspec

from memstream.processors.lexemes import lexemes


def related(word: str) -> tuple[str, ...]:
    """The lexemes that may stand for this one; none for most."""
    return _table(word.isascii()).get(word, ())


class _Words(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    same: list[str]
    kinds: dict[str, str]


@cache
def _words() -> _Words:
    path = Path(__file__).with_name("related.toml")
    return msgspec.convert(tomllib.loads(path.read_text("utf-8")), _Words)


# Words of Chinese need its dictionary, a tenth of a second to read: those in ASCII go without.


@cache
def _table(in_ascii: bool) -> dict[str, tuple[str, ...]]:
    """By lexeme: those that may stand for it, of the words in ASCII or of the others."""
    found: dict[str, dict[str, None]] = {}

    def add(pairs: Iterable[tuple[str, str]]) -> None:
        for asked, told in pairs:
            if asked.isascii() is in_ascii:
                (word,), (other,) = lexemes(asked), lexemes(told)
                found.setdefault(word, {})[other] = None

    for group in _words().same:
        add(permutations(group.split(), 2))
    for kind, members in _words().kinds.items():
        add((kind, each) for each in members.split())
    return {word: tuple(others) for word, others in found.items()}

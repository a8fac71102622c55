"""The slots that a question asks for by their words: "what pets does she have" asks for ``pet``.

The words are the aliases of the attributes (``schemas/attributes.toml`` and a user's own file), so
what can be asked for can be read and extended there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache

from memstream.processors.lexemes import lexemes
from memstream.schemas.attributes import Attributes

MOST_WORDS = 6
"""A question of more words tells of more than a slot."""
SHARE = 0.6
"""Of the words of a question that must name a slot."""
HAN_SHARE = 0.5
"""The same where they are Chinese: pairs of characters join a word to its neighbour too."""

_OTHER = re.compile(r"[\u2e80-\uffff]+")
"""Characters of words that are none of ASCII, and never stand in one with it."""


def asked_attributes(words: Sequence[str], attributes: Attributes) -> tuple[str, ...]:
    """The attributes that most of the words of a short question name; those that more of them name
    come first. Empty for every other question."""
    ascii_only = all(each.isascii() for each in words)
    empty = _empty(ascii_only)
    asked = [each for each in dict.fromkeys(words) if each not in empty]
    if not asked or len(asked) > MOST_WORDS:
        return ()
    named = _named_by(attributes, ascii_only)
    shares: dict[str, float] = {}
    for word in asked:
        for name in named.get(word, ()):
            shares[name] = shares.get(name, 0.0) + 1 / len(asked)
    least = SHARE if all(each.isascii() for each in asked) else HAN_SHARE
    found = [name for name, share in shares.items() if share >= least]
    return tuple(sorted(found, key=lambda name: (-shares[name], name)))


# The words of Chinese need its dictionary, a tenth of a second to read: a question in ASCII, whose
# words can be no others, goes without.


@cache
def _empty(ascii_only: bool) -> frozenset[str]:
    """Words of a question that name no slot of their own."""
    words = "many much kind kinds any anything something"
    return frozenset(lexemes(words if ascii_only else f"{words} 什么 几个 有没有"))


@lru_cache(maxsize=8)
def _named_by(attributes: Attributes, ascii_only: bool) -> dict[str, tuple[str, ...]]:
    """By word: the attributes it is an alias of."""
    named: dict[str, list[str]] = {}
    for name in attributes:
        aliases = f"{name.replace('_', ' ')} {attributes.get(name).aliases}"
        if ascii_only:
            aliases = _OTHER.sub(" ", aliases)
        for word in dict.fromkeys(lexemes(aliases)):
            named.setdefault(word, []).append(name)
    return {word: tuple(names) for word, names in named.items()}

"""Whether a capitalised word may be somebody's name, by the lists of words that are none, and how
somebody is called who is named."""

from __future__ import annotations

import re
from collections.abc import Sequence

from memstream.processors.rules import Rulebook
from memstream.processors.words import split_words

NOT_CALLED = ("not_names", "not_called", "nationality")
"""The lists of what nobody is called, not even right behind a relation ("my wife Florence")."""
_NOT_INTRODUCED = (
    *NOT_CALLED, "places", "jobs", "diet", "faiths", "condition", "language", "marital_status",
)  # fmt: skip
_ADJECTIVE = re.compile(
    r"\w*(?:ful|less|ous|able|ible|[a-z]{2}(?:ted|ced|ued|sed|ked|ged|zed|ied))"
)


def is_name_like(name: str, book: Rulebook, *, apart: Sequence[str] = _NOT_INTRODUCED) -> bool:
    """Whether no word of it is on one of the lists ``apart``, of words that say what somebody is
    like, where from, or what they do, or looks like an adjective."""
    words = split_words(book.language, name).norm
    if any(book.phrase_list(each).anywhere(words) for each in apart):
        return False
    return not any(_ADJECTIVE.fullmatch(word) for word in words)


def relation_of(described: str, relation: str, book: Rulebook) -> str:
    """A relation as subjects name it: with what sets it apart ("older brother")."""
    known = book.phrase_list("relation_adjectives")
    kept = [each for each in described.lower().split() if known.length_at([each], 0) == 1]
    return " ".join([*kept, relation.lower()])

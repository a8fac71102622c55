"""Sentences into clauses: whose statement it is, whether it is one at all, and what it says.

A rule is only tried on a clause that somebody asserts about themselves or about someone named.
Questions, conditions, wishes, reported speech, quotations, fiction and requests are marked dead
here, by position and by guard words that are data (``grammar`` in the rule files), so that no rule
has to know about them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from memstream.processors.dates import DateSpan
from memstream.processors.rule_files import SubjectKind
from memstream.processors.rules import Rulebook
from memstream.processors.words import Words

_IN_FULL = {
    "gf": "girlfriend", "bf": "boyfriend", "hubby": "husband", "wifey": "wife",
    "媳妇": "老婆", "闺女": "女儿",
}  # fmt: skip
"""Short and spoken words for relations, which are the same as others."""


class Speaker(msgspec.Struct, frozen=True, gc=False):
    """Who speaks: "user", or the name of an actor. ``people`` may be read as subjects."""

    name: str

    def relative(self, relation: str, language: str) -> str:
        """The subject of a statement about someone the speaker is related to."""
        relation = _IN_FULL.get(relation, relation)
        if language == "zh":
            return f"{'用户' if self.name == 'user' else self.name}的{relation}"
        return f"{'the user' if self.name == 'user' else self.name}'s {relation}"


class Clause:
    """One clause. ``words`` are what stands after the subject, without what was recognised as
    adverb, date or negation; ``spoken`` are all its words."""

    __slots__ = (
        "alive", "correction", "dates", "ended_by", "filler", "former", "lead", "name", "negated",
        "only_dates", "qualifier", "reason", "relation", "sometimes", "spoken", "subject", "who",
        "words",
    )  # fmt: skip

    def __init__(self, lead: str = "") -> None:
        self.spoken = Words()
        self.words = Words()
        self.lead = lead
        self.ended_by = ""
        self.subject: SubjectKind = "none"
        self.who = ""
        self.relation = ""
        """A relation of the speaker that the subject names, e.g. "wife"."""
        self.name = ""
        """The name given with that relation, e.g. "Anna" in "my wife Anna"."""
        self.negated = False
        self.former = False
        self.qualifier = ""
        self.dates: list[DateSpan] = []
        self.alive = True
        self.correction = False
        self.filler = False
        self.only_dates = False
        self.sometimes = False
        """Whether it names a time that comes again, though it sets nothing apart ("at night")."""
        self.reason = ""

    def add(self, words: Words, index: int) -> None:
        self.spoken.add(words.norm[index], words.raw[index], words.start[index], words.end[index])


class Dated(msgspec.Struct, frozen=True, gc=False):
    """The words of a sentence that dates take up, and the dates by their first word."""

    taken: frozenset[int]
    by_word: dict[int, DateSpan]


def dated_words(words: Words, dates: Sequence[DateSpan], book: Rulebook) -> Dated:
    """Which words are part of a date, with the preposition before it. What is a qualifier ("周末")
    is none: it says how often, not when."""
    taken: set[int] = set()
    by_word: dict[int, DateSpan] = {}
    before = book.phrase_list("date_prepositions")
    begins = book.phrase_list("date_beginnings")
    during = book.phrase_list("date_endings")
    index = 0
    for date in dates:
        if date.text.lower() in book.labels:
            continue
        while index < len(words) and words.end[index] <= date.start_char:
            index += 1
        first = index
        while index < len(words) and words.start[index] < date.end_char:
            taken.add(index)
            index += 1
        if index == first:
            continue
        if book.language == "zh":
            after = during.length_at(words.norm, index)
            taken.update(range(index, index + after))
        by_word[first] = date
        while first > 0 and (
            words.norm[first - 1] in before
            or (first > 1 and words.norm[first - 1] == "the" and words.norm[first - 2] in before)
        ):
            first -= 1
            taken.add(first)
        if (
            first > 0
            and words.norm[first - 1] in begins
            and words.norm[first - 2 : first - 1] not in _BE
        ):
            taken.add(first - 1)
    return Dated(frozenset(taken), by_word)


_BE = (["am"], ["is"], ["are"], ["be"], ["'m"], ["'s"], ["'re"])
"""After one of these "starting" is a verb of its own: "I'm starting on Monday"."""


def quoted_words(words: Words, quotes: Sequence[tuple[int, int]]) -> frozenset[int]:
    """The words that stand inside quotation marks."""
    if not quotes:
        return frozenset()
    return frozenset(
        index
        for index in range(len(words))
        if any(start <= words.start[index] < end for start, end in quotes)
    )


def copied(words: Words, keep: Sequence[int]) -> Words:
    """The words at the given places."""
    chosen = Words()
    chosen.norm = [words.norm[index] for index in keep]
    chosen.raw = [words.raw[index] for index in keep]
    chosen.start = [words.start[index] for index in keep]
    chosen.end = [words.end[index] for index in keep]
    return chosen


def without(words: Words, taken: Collection[int]) -> Words:
    """The words that do not start at one of the given characters; always a new list of them."""
    if not taken:
        return copied(words, range(len(words)))
    return copied(words, [at for at in range(len(words)) if words.start[at] not in taken])


def skip(book: Rulebook, table: str, words: Words, start: int) -> int:
    """The first word at or after ``start`` where no phrase of the table begins."""
    phrases = book.phrase_list(table)
    while (length := phrases.length_at(words.norm, start)) > 0:
        start += length
    return start


def qualifier_at(book: Rulebook, words: Words, start: int) -> tuple[str, int]:
    """The qualifier that begins at a word, in its one form, and its length in words. The empty
    form stands for phrases like "every day" that set nothing apart."""
    length = book.phrase_list("qualifiers").length_at(words.norm, start)
    if not length:
        return "", 0
    joiner = "" if book.language == "zh" else " "
    return book.labels.get(joiner.join(words.norm[start : start + length]), ""), length


__all__ = [
    "Clause",
    "Dated",
    "Speaker",
    "copied",
    "dated_words",
    "qualifier_at",
    "quoted_words",
    "skip",
    "without",
]

"""Matching the runs of words of a rulebook's sayings, with spaCy's ``Matcher``.

Importing spaCy takes as long as compiling all rules, so ``Rulebook`` imports this module with the
first clause that is to be matched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TypeAlias

from spacy.matcher import Matcher
from spacy.tokens import Doc
from spacy.vocab import Vocab

Run: TypeAlias = tuple[int, int]
"""The number of a saying, and that of a run of literal words in it."""


class Matchers:
    """The runs of each trigger, ``(number, run) -> words``. ``known`` are all words they hold; any
    other one is shown to spaCy as one placeholder, so that its string store does not grow with the
    text that is read."""

    def __init__(
        self,
        runs: Mapping[str, Sequence[tuple[Run, tuple[frozenset[str], ...]]]],
        known: AbstractSet[str],
    ) -> None:
        self._runs = runs
        self._known = known
        self._vocab = Vocab()  # words are compared as they are: nothing of a language is needed
        self._matchers: dict[str, Matcher] = {}
        """By trigger, made when it is first met: most are never."""
        self._place: dict[int, Run] = {}

    def found(
        self, words: Sequence[str], triggers: Sequence[str]
    ) -> list[dict[int, dict[int, list[tuple[int, int]]]]]:
        """For each trigger: by saying and run, the [start, end) places where the run stands."""
        known = self._known
        doc = Doc(self._vocab, words=[word if word in known else "@" for word in words])
        found: list[dict[int, dict[int, list[tuple[int, int]]]]] = []
        for trigger in triggers:
            places: dict[int, dict[int, list[tuple[int, int]]]] = {}
            for hashed, start, end in self._matcher(trigger)(doc):
                number, run = self._place[hashed]
                places.setdefault(number, {}).setdefault(run, []).append((start, end))
            found.append(places)
        return found

    def _matcher(self, trigger: str) -> Matcher:
        matcher = self._matchers.get(trigger)
        if matcher is None:
            matcher = Matcher(self._vocab, validate=False)
            for place, words in self._runs[trigger]:
                name = f"{place[0]}/{place[1]}"
                matcher.add(name, [_token_pattern(words)])
                self._place[self._vocab.strings[name]] = place
            self._matchers[trigger] = matcher
        return matcher


def _token_pattern(words: Sequence[frozenset[str]]) -> list[dict[str, object]]:
    """The token pattern of a run, in spaCy's form."""
    return [
        {"ORTH": next(iter(each))} if len(each) == 1 else {"ORTH": {"IN": sorted(each)}}
        for each in words
    ]

"""Rules as data: rule files, their little pattern language, and matching on spaCy tokens.

A rule file says which words claim which attribute; its form is documented at the top of
``rulebook/en.toml``. Patterns are compiled once, and to token patterns of spaCy's ``Matcher``
(``rule_matching.py``) when they are first needed: no trained model takes part. A clause reaches the
matchers only when it holds one of their trigger words.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from memstream.processors.compiling import uncollected
from memstream.processors.rule_files import InvalidRule, Language, Rule, RuleFile
from memstream.processors.rule_patterns import Saying, entries_of, sayings
from memstream.processors.words import CODE, REDACTED, Phrases

if TYPE_CHECKING:
    from memstream.processors.rule_matching import Matchers, Run


PARENTS = ("mom", "mum", "dad", "grandma", "grandpa")
"""Relations that are called by that word alone, as if it were a name: "mom lives in Leeds"."""


class Match(msgspec.Struct, frozen=True, gc=False):
    """A rule that fits a clause: [start, end) word ranges of its captures. The range of an open
    capture, the last thing in a pattern, runs to the clause's end. ``literals`` counts the words
    the pattern itself named; ``end`` is where the pattern ends, or the clause."""

    rule: Rule
    captures: Mapping[str, tuple[int, int]]
    kinds: Mapping[str, str]
    literals: int
    end: int


class Rulebook:
    """All rules of one language, compiled. Built once and shared; reading changes nothing.

    ``others`` are the files of other languages: the entries of their lists count too where the
    grammar table ``shared_lists`` names the list, because people mix ("我是 software engineer").
    """

    def __init__(
        self, language: Language, files: Sequence[RuleFile], others: Sequence[RuleFile] = ()
    ) -> None:
        self.language: Language = language
        self.lists: dict[str, tuple[str, ...]] = {}
        self.relations: dict[str, str] = {}
        self.labels: dict[str, str] = {}
        self._grammar: dict[str, tuple[str, ...]] = {}
        rules: dict[str, Rule] = {}
        for file in files:
            for name, entries in file.lists.items():
                self.lists[name] = (*self.lists.get(name, ()), *entries)
            for name, entries in file.grammar.items():
                self._grammar[name] = (*self._grammar.get(name, ()), *entries)
            self.relations |= file.relations
            self.labels |= file.labels
            rules |= {rule.id: rule for rule in file.rule}
        for name in self._grammar.get("shared_lists", ()):
            for file in others:
                self.lists[name] = (*self.lists.get(name, ()), *file.lists.get(name, ()))
        self.rules = tuple(rules.values())
        self._phrases: dict[str, Phrases] = {}
        """By list or grammar table, made when it is first asked for."""
        self._common = frozenset(self._grammar.get("common", ()))
        self._frequent = self._common | frozenset(self._grammar.get("frequent", ()))
        self._sequences: list[Saying] = []
        self._known: set[str] = {CODE, REDACTED}
        self._patterns: dict[str, list[tuple[Run, tuple[frozenset[str], ...]]]] = {}
        """By trigger: the runs of words of its sayings, each with its place."""
        self._subjectless: set[str] = set()
        self._firsts: dict[str, set[str] | None] = {}
        """By trigger: the words its patterns begin with; None where one begins with a capture."""
        self._needs: dict[str, set[frozenset[frozenset[str]]]] = {}
        """By trigger: of each of its sayings, the words of which one each must be there."""
        for rule in self.rules:
            for pattern in rule.say:
                self._compile(rule, pattern)
        self._triggering = frozenset(self._patterns)
        self._needed: dict[str, _Needs] = {}
        """By trigger, made when it is first met: most are never."""
        self.heads = self._heads()
        verbs = "|".join(map(re.escape, self._grammar.get("name_verbs", ())))
        self._subject = re.compile(
            rf"\b(?:[Ii]m?|[Ii]ve|[Mm]y|[Ww]e|[Oo]ur|{'|'.join(PARENTS)})\b|[^\W\d_a-z]\w+(?:['’]s|(?:\s\w+){{0,3}}?\s(?:{verbs})\b)"
        )
        self._by_first: dict[str, list[str]] = {}
        for trigger in sorted(self._patterns):
            self._by_first.setdefault(trigger[0], []).append(trigger)

    def grammar(self, name: str) -> tuple[str, ...]:
        """The phrases of a grammar table, as they are written."""
        return self._grammar.get(name, ())

    def phrase_list(self, name: str) -> Phrases:
        """The phrases of a list or a grammar table; an empty one where nobody declared it."""
        found = self._phrases.get(name)
        if found is None:
            entries = self._grammar.get(name, self.lists.get(name, ()))
            found = self._phrases[name] = Phrases(self.language, entries)
        return found

    def declares(self, name: str) -> bool:
        """Whether there is a list or a grammar table of that name."""
        return name in self._grammar or name in self.lists

    def kinds(self) -> list[tuple[Rule, str]]:
        """Every rule with every kind of value it asks for."""
        return [
            (saying.rule, kind)
            for saying in self._sequences
            for kind in (saying.rule.value, *(each.kind for each in saying.captures))
            if kind
        ]

    def triggers(self, sentence: str, lower: str) -> list[str]:
        """The trigger words in a sentence, given also in lower case, sorted; most have none."""
        if self.language == "en":
            found = self._triggering & spoken(sentence)
            if not found or self._subject.search(sentence):
                return sorted(found)
            return sorted(found & self._subjectless)
        seen: set[str] = set()
        for at, character in enumerate(lower):
            for trigger in self._by_first.get(character, ()):
                if lower.startswith(trigger, at):
                    seen.add(trigger)
        return sorted(seen)

    def possible(self, triggers: Sequence[str], words: Sequence[str]) -> list[str]:
        """The triggers of which a saying can fit a clause of a sentence of these words: all the
        words that it names are there. ``words`` are the normalised ones."""
        there = {*words, *_MADE_BY_CLAUSES}
        return [
            trigger
            for trigger in triggers
            if any(
                not any(there.isdisjoint(alternatives) for alternatives in needs)
                for needs in self._needed_by(trigger)
            )
        ]

    def _needed_by(self, trigger: str) -> _Needs:
        found = self._needed.get(trigger)
        if found is None:
            found = self._needed[trigger] = _least(self._needs[trigger])
        return found

    def matches(self, words: Sequence[str], triggers: Sequence[str]) -> list[Match]:
        """The rules that fit a clause of these words, at least one, the most literal first."""
        present = ("" if self.language == "zh" else " ").join(words)
        first = words[0]
        triggers = [
            each
            for each in triggers
            if (not each.isalnum() or each in present)
            and ((firsts := self._firsts[each]) is None or first in firsts)
        ]
        if not triggers:
            return []
        found: list[Match] = []
        for runs in self._matching.found(words, triggers):
            for number in sorted(runs):
                match = _joined(self._sequences[number], runs[number], len(words))
                if match is not None and match not in found:
                    found.append(match)
        found.sort(key=lambda match: (-match.literals, -len(match.captures), match.rule.id))
        return found

    def warm_up(self) -> None:
        """Gets the matcher now, and not with the first clause: importing spaCy takes a while."""
        _ = self._matching

    @cached_property
    def _matching(self) -> Matchers:
        with uncollected():
            from memstream.processors.rule_matching import Matchers

            return Matchers(self._patterns, self._known)

    def _compile(self, rule: Rule, pattern: str) -> None:
        for sequence in sayings(self.language, self.lists, rule, pattern):
            number = len(self._sequences)
            self._sequences.append(sequence)
            literal = frozenset(itertools.chain.from_iterable(sequence.runs))
            for word in itertools.chain.from_iterable(itertools.chain(*sequence.runs)):
                self._known.add(word)
            for trigger in sorted(self._triggers_of(sequence, pattern)):
                needs = frozenset(words for words in literal if words != {trigger})
                self._needs.setdefault(trigger, set()).add(needs)
                patterns = self._patterns.setdefault(trigger, [])
                if "none" in rule.subjects:
                    self._subjectless.add(trigger)
                firsts = self._firsts.setdefault(trigger, set())
                if not sequence.runs[0]:
                    self._firsts[trigger] = None
                elif firsts is not None:
                    firsts |= sequence.runs[0][0]
                for run, words in enumerate(sequence.runs):
                    if words:
                        patterns.append(((number, run), words))

    def _triggers_of(self, sequence: Saying, pattern: str) -> set[str]:
        """The words of which a sentence must hold one for this sequence to be tried."""
        kinds = [capture.kind or sequence.rule.value for capture in sequence.captures]
        if "code" in kinds or "path" in kinds:
            return {"`", "/"}
        if "convention" in kinds and self.language == "en":
            words = self._grammar.get("convention_words", ())
            return {self._rarest(word) for word in words if _EN_WORD.search(word)}
        literal = self._literals(sequence)
        for avoided in (self._frequent, self._common):
            rare = [words for words in literal if not words & avoided]
            if rare:
                rare.sort(key=_rarity)
                return set(rare[-1])
            for kind in kinds:
                names = _LISTS_OF_KINDS.get(kind, (kind[1:-1],) if kind.startswith("<") else ())
                if names:
                    return {
                        self._rarest(entry)
                        for name in names
                        for entry in entries_of(self.lists, name, sequence.rule.id)
                    }
        raise InvalidRule(
            f"rule {sequence.rule.id}: {pattern!r} holds only common words, so every sentence "
            "would try it; mend: name a rarer word in it"
        )

    def _literals(self, sequence: Saying) -> list[frozenset[str]]:
        """The words a sentence must hold; in Chinese, the runs of characters."""
        if self.language == "en":
            return [word for run in sequence.runs for word in run if CODE not in word]
        return [
            frozenset(("".join(next(iter(word)) for word in run),)) for run in sequence.runs if run
        ]

    def _rarest(self, entry: str) -> str:
        if self.language == "zh" and not entry.isascii():
            return entry.lower()
        words: list[str] = _EN_WORD.findall(entry.lower())
        return max(words, key=len)

    def _heads(self) -> dict[str, frozenset[str] | None]:
        """First words of patterns that need a subject, with the words that may follow; None
        where any word may. By these a clause without a subject is known to go on."""
        heads: dict[str, set[str] | None] = {}
        for sequence in self._sequences:
            if "none" in sequence.rule.subjects or not sequence.runs[0]:
                continue
            first, *rest = sequence.runs[0]
            for word in first:
                if not rest or heads.get(word, ()) is None:
                    heads[word] = None
                else:
                    following = heads.setdefault(word, set())
                    assert following is not None
                    following |= rest[0]
        return {word: None if rest is None else frozenset(rest) for word, rest in heads.items()}


_MADE_BY_CLAUSES = ("be", "'s")
"""Words that a clause may hold though its sentence does not: "have been" and "my" become them."""


_LISTS_OF_KINDS = {"job": ("jobs",), "pet": ("pet", "pets"), "car": ("car_make",)}
"""The lists one of whose entries a value of a kind always holds."""


_Needs: TypeAlias = tuple[tuple[frozenset[str], ...], ...]


def _least(needs: Iterable[frozenset[frozenset[str]]]) -> _Needs:
    """The sets of needs without those that hold all of another one; the rarest words first."""
    ordered = sorted(needs, key=len)
    least = [
        each
        for at, each in enumerate(ordered)
        if not any(smaller <= each for smaller in ordered[:at])
    ]
    return tuple(
        tuple(sorted(each, key=lambda words: (len(words), sorted(words)))) for each in least
    )


@lru_cache(maxsize=64)
def spoken(text: str) -> frozenset[str]:
    """The words that an English sentence holds, in lower case, for tests that are made of every
    sentence: whether it can say what is looked for. Kept while the sentence is read."""
    return frozenset(_english_words(text.lower()))


def _english_words(lower: str) -> Iterable[str]:
    """The words of ``_EN_WORD`` in a text; plain text takes a way that is three times as fast."""
    lower = lower.replace("’", "'")
    if not lower.isascii():
        return _EN_WORD.findall(lower)
    special = [sign for sign in ("'ll", "`", "/") if sign in lower]
    words = lower.replace("'ll", " ").translate(_BETWEEN_WORDS).split()
    if "-" in lower:
        hyphened = " ".join([word for word in words if "-" in word])
        words = [word for word in words if "-" not in word]
        special += _EN_WORD.findall(hyphened)
    return words + special


_BETWEEN_WORDS = {code: " " for code in range(128) if not (chr(code).isalnum() or code == ord("-"))}
_EN_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*|'ll|[`/]")


def _rarity(words: frozenset[str]) -> tuple[int, int]:
    """Long words are rarer than short ones, and few alternatives rarer than many."""
    return min(len(word) for word in words), -len(words)


def _joined(
    sequence: Saying, runs: Mapping[int, list[tuple[int, int]]], count: int
) -> Match | None:
    """The match of a sequence from where its runs were found, anchored at the first word."""
    position = 0
    literals = 0
    captures: dict[str, tuple[int, int]] = {}
    for number, words in enumerate(sequence.runs):
        if number == 0:
            if words and (0, len(words)) not in runs.get(0, ()):
                return None
            position = literals = len(words)
            continue
        capture = sequence.captures[number - 1]
        if not words:
            if position >= count:
                return None
            captures[capture.name] = (position, count)
            position = count
            continue
        after = [place for place in runs.get(number, ()) if place[0] > position]
        if not after:
            return None
        start, end = min(after)
        captures[capture.name] = (position, start)
        position = end
        literals += len(words)
    kinds = {
        capture.name: capture.kind or (sequence.rule.value if capture.name == "value" else "thing")
        for capture in sequence.captures
    }
    return Match(sequence.rule, captures, kinds, literals, position)

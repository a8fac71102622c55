"""Rules as data: rule files, their little pattern language, and matching on spaCy tokens.

A rule file says which words claim which attribute; its form is documented at the top of
``rulebook/en.toml``. Patterns are compiled once to token patterns of spaCy's ``Matcher`` on a blank
pipeline: no trained model takes part. A clause reaches the matchers only when it holds one of
their trigger words.

Words the rules do not know are shown to spaCy as one placeholder, so its string store does not
grow with the text that is read.
"""

from __future__ import annotations

import hashlib
import itertools
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec
import spacy
from spacy.matcher import Matcher
from spacy.tokens import Doc

from memstream.processors.words import Words, split_words
from memstream.schemas.errors import MemstreamError

RULEBOOK = Path(__file__).with_name("rulebook")
CODE = "@code"
"""The word that stands for text between backticks."""
REDACTED = "@redacted"
"""The word that stands for a secret that capture cut out."""

Language = Literal["en", "zh"]
SubjectKind = Literal["self", "we", "other", "none"]


class InvalidRule(MemstreamError):
    """A rule file cannot be read, or a pattern in it does not follow the pattern language."""


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One rule; the fields are explained at the top of ``rulebook/en.toml``."""

    id: str
    say: tuple[str, ...]
    attribute: str = ""
    value: str = "thing"
    subjects: tuple[SubjectKind, ...] = ("self", "other")
    tense: Literal["present", "past", "change", "future"] = "present"
    negative: Literal["negates", "blocks", "needs"] = "negates"
    polarity: Literal["positive", "negative"] = "positive"
    many: bool = False
    confidence: float = 0.9
    also: dict[str, str] = {}
    fixed: str = ""
    stops: tuple[str, ...] = ()
    text: str = ""
    text_not: str = ""
    project: bool = False
    dates: Literal["validity", "occurred", "value", "ignored"] = "validity"
    needs_date: bool = False
    whole: bool = False


class RuleFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One rule file as it is written."""

    language: Language
    rule: tuple[Rule, ...] = ()
    lists: dict[str, tuple[str, ...]] = {}
    relations: dict[str, str] = {}
    labels: dict[str, str] = {}
    grammar: dict[str, tuple[str, ...]] = {}


class Capture(msgspec.Struct, frozen=True):
    """``{name:kind}`` in a pattern. ``kind`` is empty where the rule's own ``value`` counts."""

    name: str
    kind: str


class Match(msgspec.Struct, frozen=True):
    """A rule that fits a clause: [start, end) word ranges of its captures. The range of an open
    capture, the last thing in a pattern, runs to the clause's end. ``literals`` counts the words
    the pattern itself named; ``end`` is where the pattern ends, or the clause."""

    rule: Rule
    captures: Mapping[str, tuple[int, int]]
    kinds: Mapping[str, str]
    literals: int
    end: int


Element: TypeAlias = frozenset[str] | Capture


class _Sequence(msgspec.Struct, frozen=True):
    """One way to say a rule: runs of literal words with captures between them. ``runs[0]`` is
    empty where the pattern starts with a capture."""

    rule: Rule
    runs: tuple[tuple[frozenset[str], ...], ...]
    captures: tuple[Capture, ...]


class Rulebook:
    """All rules of one language, compiled. Built once and shared; reading changes nothing."""

    def __init__(self, language: Language, files: Sequence[RuleFile]) -> None:
        self.language = language
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
        self.rules = tuple(rules.values())
        self.phrases = {
            name: Phrases(language, entries)
            for name, entries in (self.lists | self._grammar).items()
        }
        self._vocab = spacy.blank(language).vocab
        self._sequences: list[_Sequence] = []
        self._known: set[str] = {CODE, REDACTED}
        self._matchers: dict[str, Matcher] = {}
        self._place: dict[int, tuple[int, int]] = {}
        self._subjectless: set[str] = set()
        for rule in self.rules:
            for pattern in rule.say:
                self._compile(rule, pattern)
        self.heads = self._heads()
        verbs = "|".join(map(re.escape, self._grammar.get("name_verbs", ())))
        self._subject = re.compile(
            rf"\b(?:[Ii]m?|[Ii]ve|[Mm]y|[Ww]e|[Oo]ur)\b|[^\W\d_a-z]\w+(?:['’]s|(?:\s\w+){{0,3}}?\s(?:{verbs})\b)"
        )
        self._trigger = self._trigger_test()

    def grammar(self, name: str) -> tuple[str, ...]:
        """The phrases of a grammar table, as they are written."""
        return self._grammar.get(name, ())

    def phrase_list(self, name: str) -> Phrases:
        """The phrases of a list or a grammar table; an empty one where nobody declared it."""
        return self.phrases.get(name) or Phrases(self.language, ())

    def triggers(self, sentence: str) -> list[str]:
        """The trigger words in a sentence, sorted; most sentences have none."""
        if self.language == "en":
            found = self._matchers.keys() & set(_EN_WORD.findall(sentence.lower().replace("’", "'")))
            if not found or self._subject.search(sentence):
                return sorted(found)
            return sorted(found & self._subjectless)
        seen = {run for run in self._trigger.findall(sentence.lower()) if run}
        return sorted(each for run in seen for each in self._inside[run])

    def matches(self, words: Sequence[str], triggers: Sequence[str]) -> list[Match]:
        """The rules that fit a clause of these words, the most literal first."""
        known = self._known
        present = ("" if self.language == "zh" else " ").join(words)
        triggers = [each for each in triggers if not each.isalnum() or each in present]
        if self.language == "en" and not triggers:
            return []
        doc = Doc(self._vocab, words=[word if word in known else "@" for word in words])
        found: list[Match] = []
        for trigger in triggers:
            runs: dict[int, dict[int, list[tuple[int, int]]]] = {}
            for hashed, start, end in self._matchers[trigger](doc):
                number, run = self._place[hashed]
                runs.setdefault(number, {}).setdefault(run, []).append((start, end))
            for number in sorted(runs):
                match = _joined(self._sequences[number], runs[number], len(words))
                if match is not None and match not in found:
                    found.append(match)
        found.sort(key=lambda match: (-match.literals, -len(match.captures), match.rule.id))
        return found

    def _compile(self, rule: Rule, pattern: str) -> None:
        for elements in _Parser(self, rule.id, pattern).sequences():
            number = len(self._sequences)
            sequence = _in_runs(rule, elements, pattern)
            self._sequences.append(sequence)
            for word in itertools.chain.from_iterable(itertools.chain(*sequence.runs)):
                self._known.add(word)
            for trigger in sorted(self._triggers_of(sequence, pattern)):
                matcher = self._matchers.setdefault(trigger, Matcher(self._vocab))
                if "none" in rule.subjects:
                    self._subjectless.add(trigger)
                for run, words in enumerate(sequence.runs):
                    if words:
                        name = f"{number}/{run}"
                        matcher.add(name, [_token_pattern(words)])
                        self._place[self._vocab.strings[name]] = (number, run)

    def _triggers_of(self, sequence: _Sequence, pattern: str) -> set[str]:
        """The words of which a sentence must hold one for this sequence to be tried."""
        common = frozenset(self._grammar.get("common", ()))
        frequent = frozenset(self._grammar.get("frequent", ()))
        kinds = [capture.kind or sequence.rule.value for capture in sequence.captures]
        if "code" in kinds or "path" in kinds:
            return {"`", "/"}
        if "convention" in kinds and self.language == "en":
            words = self._grammar.get("convention_words", ())
            return {self._rarest(word) for word in words if _EN_WORD.search(word)}
        literal = self._literals(sequence)
        for avoided in (common | frequent, common):
            rare = [words for words in literal if not words & avoided]
            if rare:
                return set(max(rare, key=lambda words: (len(min(words, key=len)), -len(words))))
            for kind in kinds:
                name = "jobs" if kind == "job" else kind[1:-1] if kind.startswith("<") else ""
                if name:
                    return {self._rarest(entry) for entry in self._list(name, sequence.rule.id)}
        raise InvalidRule(
            f"rule {sequence.rule.id}: {pattern!r} holds only common words, so every sentence would "
            "try it; mend: name a rarer word in it"
        )

    def _literals(self, sequence: _Sequence) -> list[frozenset[str]]:
        """The words a sentence must hold; in Chinese, the runs of characters."""
        if self.language == "en":
            return [word for run in sequence.runs for word in run if CODE not in word]
        return [
            frozenset(("".join(next(iter(word)) for word in run),)) for run in sequence.runs if run
        ]

    def _rarest(self, entry: str) -> str:
        if self.language == "zh":
            return entry.lower()
        return max(_EN_WORD.findall(entry.lower()), key=len)

    def _list(self, name: str, rule: str) -> tuple[str, ...]:
        if name not in self.lists:
            known = ", ".join(sorted(self.lists))
            raise InvalidRule(f"rule {rule}: there is no list <{name}>; known: {known}")
        return self.lists[name]

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

    def _trigger_test(self) -> re.Pattern[str]:
        ordered = sorted(self._matchers, key=lambda run: (-len(run), run))
        self._inside = {
            run: [each for each in ordered if run.startswith(each)] for run in ordered
        }
        return re.compile("(?=(" + "|".join(map(re.escape, ordered)) + "))")


class Phrases:
    """A set of phrases, found as the longest one that starts at a word."""

    def __init__(self, language: Language, entries: Sequence[str]) -> None:
        self._by_first: dict[str, list[tuple[str, ...]]] = {}
        for entry in entries:
            words = tuple(split_words(language, entry).norm)
            if words:
                self._by_first.setdefault(words[0], []).append(words)
        for phrases in self._by_first.values():
            phrases.sort(key=lambda words: (-len(words), words))
        self._alone = frozenset(
            word for word, phrases in self._by_first.items() if len(phrases[-1]) == 1
        )

    def length_at(self, words: Sequence[str], start: int) -> int:
        """How many words the longest phrase at ``start`` has; 0 for none."""
        if start >= len(words):
            return 0
        for phrase in self._by_first.get(words[start], ()):
            size = len(phrase)
            if size == 1 or tuple(words[start : start + size]) == phrase:
                return size
        return 0

    def length_before(self, words: Sequence[str], end: int) -> int:
        """How many words the longest phrase that ends at ``end`` has; 0 for none."""
        for start in range(max(0, end - 6), end):
            if self.length_at(words[:end], start) == end - start:
                return end - start
        return 0

    def begins(self, word: str) -> bool:
        """Whether a phrase begins with the word."""
        return word in self._by_first

    def anywhere(self, words: Sequence[str]) -> bool:
        """Whether one of the phrases stands anywhere in the words."""
        if self._by_first.keys().isdisjoint(words):
            return False
        return any(self.length_at(words, at) for at in range(len(words)))

    def __contains__(self, word: str) -> bool:
        return word in self._alone


def read_rule_file(path: Path) -> RuleFile:
    """A rule file, checked. Raises ``InvalidRule`` saying where and how to mend it."""
    try:
        return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), RuleFile)
    except OSError as error:
        raise InvalidRule(f"{path}: cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise InvalidRule(
            f"{path.name}: {error}; mend: the form is explained at the top of rulebook/en.toml"
        ) from error


def builtin_files() -> list[Path]:
    """The rule files that come with memstream, in a fixed order."""
    return sorted(RULEBOOK.glob("*.toml"))


def hash_of(paths: Sequence[Path]) -> str:
    """A hash over the bytes of files, in the order given."""
    digest = hashlib.sha256()
    for path in paths:
        content = path.read_bytes()
        digest.update(len(content).to_bytes(8, "big") + content)
    return digest.hexdigest()


def _token_pattern(words: Sequence[frozenset[str]]) -> list[dict[str, object]]:
    """The token pattern of a run, in spaCy's form."""
    return [
        {"ORTH": next(iter(each))} if len(each) == 1 else {"ORTH": {"IN": sorted(each)}}
        for each in words
    ]


_EN_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*|'ll|[`/]")
_ELEMENT = re.compile(r"\{(\w+)(?::([\w<>]+))?\}|<(\w+)>|[()\[\]?]|\|")
_SIGN = re.compile(r"[{}<>]")
_MOST_SEQUENCES = 400


def _joined(
    sequence: _Sequence, runs: Mapping[int, list[tuple[int, int]]], count: int
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


def _in_runs(rule: Rule, elements: Sequence[Element], pattern: str) -> _Sequence:
    runs: list[tuple[frozenset[str], ...]] = []
    captures: list[Capture] = []
    run: list[frozenset[str]] = []
    for element in elements:
        if isinstance(element, Capture):
            if captures and not run:
                raise InvalidRule(f"rule {rule.id}: {pattern!r} has two captures side by side")
            runs.append(tuple(run))
            captures.append(element)
            run = []
        else:
            run.append(element)
    if captures or run:
        runs.append(tuple(run))
    if not any(runs):
        raise InvalidRule(f"rule {rule.id}: {pattern!r} names no word of its own")
    return _Sequence(rule, tuple(runs), tuple(captures))


class _Parser:
    """Reads one pattern: words, a|b, (groups), [optional], <list>, {capture:kind}, ~inflected."""

    def __init__(self, book: Rulebook, rule: str, pattern: str) -> None:
        self._book = book
        self._rule = rule
        self._pattern = pattern
        self._tokens = list(self._split())
        self._at = 0
        self._depth = 0

    def sequences(self) -> list[tuple[Element, ...]]:
        """Every sequence of elements the pattern stands for, without repetition."""
        found = self._alternatives()
        if self._at < len(self._tokens):
            raise self._broken(f"unexpected {self._tokens[self._at]!r}")
        if len(found) > _MOST_SEQUENCES:
            raise self._broken(f"stands for {len(found)} sequences; at most {_MOST_SEQUENCES}")
        return list(dict.fromkeys(sequence for sequence in found if sequence))

    def _split(self) -> Iterator[str]:
        for part in self._pattern.split():
            position = 0
            for match in _ELEMENT.finditer(part):
                yield from self._words(part[position : match.start()])
                yield match.group()
                position = match.end()
            yield from self._words(part[position:])

    def _words(self, text: str) -> Iterator[str]:
        if self._book.language == "zh":
            yield from split_words("zh", text).norm
        elif _SIGN.search(text):
            raise self._broken(f"unexpected {text!r}")
        elif text:
            yield text.lower()

    def _alternatives(self) -> list[tuple[Element, ...]]:
        """Inside a group "|" parts whole phrases; outside one it parts single words."""
        found = self._sequence()
        while self._depth and self._peek() == "|":
            self._at += 1
            found = found + self._sequence()
        return found

    def _sequence(self) -> list[tuple[Element, ...]]:
        found: list[tuple[Element, ...]] = [()]
        while (token := self._peek()) not in ("", "|", ")", "]"):
            options = self._element(token)
            while not self._depth and self._peek() == "|":
                self._at += 1
                options = options + self._element(self._peek())
            found = [before + option for before in found for option in self._merged(options)]
        return found

    def _element(self, token: str) -> list[tuple[Element, ...]]:
        self._at += 1
        if token in "([":
            close = ")" if token == "(" else "]"
            self._depth += 1
            inside = self._merged(self._alternatives())
            self._depth -= 1
            if self._peek() != close:
                raise self._broken(f"{token!r} is never closed")
            self._at += 1
            return inside if token == "(" else [(), *inside]
        match = _ELEMENT.fullmatch(token)
        if match is not None and match.group(1):
            return [(Capture(match.group(1), match.group(2) or ""),)]
        if match is not None and match.group(3):
            entries = self._book._list(match.group(3), self._rule)
            return self._merged(
                [
                    tuple(frozenset((word,)) for word in split_words(self._book.language, entry).norm)
                    for entry in entries
                ]
            )
        if match is not None:
            raise self._broken(f"unexpected {token!r}")
        if token.startswith("~"):
            return [(frozenset((token[1:], third_person(token[1:]))),)]
        if token == "be":
            return [(frozenset(_BE),)]
        return [(frozenset((token,)),)]

    def _merged(self, options: list[tuple[Element, ...]]) -> list[tuple[Element, ...]]:
        """One-word alternatives as one set of words; longer ones stay apart. Chinese words are
        characters, and stay apart so that runs of them can be triggers."""
        if len(options) < 2 or self._book.language == "zh":
            return options
        words: set[str] = set()
        longer: list[tuple[Element, ...]] = []
        for option in options:
            only = option[0] if len(option) == 1 else None
            if isinstance(only, frozenset):
                words |= only
            else:
                longer.append(option)
        return [*([(frozenset(words),)] if words else []), *longer]

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _broken(self, problem: str) -> InvalidRule:
        return InvalidRule(
            f"rule {self._rule}: {self._pattern!r}: {problem}; mend: the pattern language is "
            "explained at the top of rulebook/en.toml"
        )


_BE = ("am", "are", "be", "is", "'m", "'re", "'s")


def third_person(verb: str) -> str:
    """ "live" -> "lives", "watch" -> "watches", "study" -> "studies"."""
    irregular = {"have": "has", "do": "does", "go": "goes"}
    if verb in irregular:
        return irregular[verb]
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + ("es" if verb.endswith(("s", "sh", "ch", "x", "z")) else "s")


__all__ = [
    "CODE",
    "REDACTED",
    "InvalidRule",
    "Match",
    "Phrases",
    "Rule",
    "Rulebook",
    "Words",
    "builtin_files",
    "hash_of",
    "read_rule_file",
]

"""The pattern language of rules, read into sayings: runs of words with captures between them.

It is explained at the top of ``rulebook/en.toml``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

import msgspec

from memstream.processors.rule_files import InvalidRule, Language, Rule
from memstream.processors.words import split_words


class Capture(msgspec.Struct, frozen=True):
    """``{name:kind}`` in a pattern. ``kind`` is empty where the rule's own ``value`` counts."""

    name: str
    kind: str


Element: TypeAlias = frozenset[str] | Capture


class Saying(msgspec.Struct, frozen=True):
    """One way to say a rule: runs of literal words with captures between them. ``runs[0]`` is
    empty where the pattern starts with a capture."""

    rule: Rule
    runs: tuple[tuple[frozenset[str], ...], ...]
    captures: tuple[Capture, ...]


def sayings(
    language: Language, lists: Mapping[str, tuple[str, ...]], rule: Rule, pattern: str
) -> list[Saying]:
    """Every saying one pattern of a rule stands for. Raises ``InvalidRule``."""
    parser = _Parser(language, lists, rule.id, pattern)
    return [_in_runs(rule, elements, pattern) for elements in parser.sequences()]


def entries_of(lists: Mapping[str, tuple[str, ...]], name: str, rule: str) -> tuple[str, ...]:
    """The entries of a list. Raises ``InvalidRule`` where there is none of that name."""
    if name not in lists:
        known = ", ".join(sorted(lists))
        raise InvalidRule(f"rule {rule}: there is no list <{name}>; known: {known}")
    return lists[name]


_ELEMENT = re.compile(r"\{(\w+)(?::([\w<>]+))?\}|<(\w+)>|[()\[\]?]|\|")
_SIGN = re.compile(r"[{}<>]")
_MOST_SEQUENCES = 400
_BE = ("am", "are", "be", "is", "'m", "'re", "'s")


def _in_runs(rule: Rule, elements: Sequence[Element], pattern: str) -> Saying:
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
    return Saying(rule, tuple(runs), tuple(captures))


class _Parser:
    """Reads one pattern: words, a|b, (groups), [optional], <list>, {capture:kind}, ~inflected."""

    def __init__(
        self,
        language: Language,
        lists: Mapping[str, tuple[str, ...]],
        rule: str,
        pattern: str,
    ) -> None:
        self._language: Language = language
        self._lists = lists
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
        if self._language == "zh":
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
            entries = entries_of(self._lists, match.group(3), self._rule)
            return self._merged(
                [
                    tuple(frozenset((word,)) for word in split_words(self._language, entry).norm)
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
        if len(options) < 2 or self._language == "zh":
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


def third_person(verb: str) -> str:
    """ "live" -> "lives", "watch" -> "watches", "study" -> "studies"."""
    irregular = {"have": "has", "do": "does", "go": "goes"}
    if verb in irregular:
        return irregular[verb]
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + ("es" if verb.endswith(("s", "sh", "ch", "x", "z")) else "s")

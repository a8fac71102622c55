"""Sentences into words with their places: the tokens that rules are matched on.

English words are split from their clitics ("I'm", "don't"), lower-cased, and common spellings
without an apostrophe are opened ("dont"); the full stop of an abbreviation belongs to its word
("St." is the word ``st``). Chinese characters are one word each, so that no rule hangs on how a
segmenter cuts a sentence; Latin words inside Chinese stay whole. In both, text between backticks is
the word ``@code`` and a secret that capture cut out is ``@redacted``; emoji are no words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from memstream.processors.abbreviations import stop_ends

CODE = "@code"
"""The word that stands for text between backticks."""
REDACTED = "@redacted"
"""The word that stands for a secret that capture cut out."""


class Words:
    """Parallel lists: the normalised word, the word as written, and its [start, end)."""

    __slots__ = ("end", "norm", "raw", "start")

    def __init__(self) -> None:
        self.norm: list[str] = []
        self.raw: list[str] = []
        self.start: list[int] = []
        self.end: list[int] = []

    def __len__(self) -> int:
        return len(self.norm)

    def add(self, norm: str, raw: str, start: int, end: int) -> None:
        self.norm.append(norm)
        self.raw.append(raw)
        self.start.append(start)
        self.end.append(end)


def split_words(language: Literal["en", "zh"], text: str) -> Words:
    """The words of a text. Linear in its length."""
    if language == "en" and (plain := _plain_words(text)) is not None:
        return plain
    words = Words()
    norms, raws = words.norm.append, words.raw.append
    starts, ends = words.start.append, words.end.append
    english = language == "en"
    for match in _words_in(text, english=english):
        raw = match.group()
        start, end = match.span()
        norm = raw.lower()
        kind = match.lastgroup
        if is_picture(raw):
            continue
        if raw == "." and english and _is_abbreviated(words, text, start):
            words.raw[-1] += raw
            words.end[-1] = end
            continue
        if kind is not None:
            norm = CODE if kind == "code" else REDACTED
        elif english:
            opened = _OPENED.get(norm)
            if opened is None:
                if "’" in norm:
                    norm = norm.replace("’", "'")
            else:
                norm, more = opened
                if more:
                    words.add(norm, raw, start, end)
                    norm = more
        norms(norm)
        raws(raw)
        starts(start)
        ends(end)
    return words


def _plain_words(text: str) -> Words | None:
    """The words of an English text, in half the time; None where one of them becomes two, or where
    more than letters has to be looked at."""
    if not text.isascii() or any(map(text.__contains__, _NOT_PLAIN)):
        return None
    words = Words()
    lower = text.lower()
    pattern = _PLAIN_ENGLISH if "'" in text else _UNCONTRACTED_ENGLISH
    spans = [match.span() for match in pattern.finditer(text)]
    norms = [lower[start:end] for start, end in spans]
    if "." in norms[:-1] or not _BECOME_TWO.isdisjoint(norms):
        return None
    words.norm = [_OPENED[each][0] if each in _OPENED else each for each in norms]
    words.raw = [text[start:end] for start, end in spans]
    words.start = [start for start, _ in spans]
    words.end = [end for _, end in spans]
    return words


def _words_in(text: str, *, english: bool) -> Iterator[re.Match[str]]:
    if not english:
        return _CHINESE.finditer(text)
    if any(map(text.__contains__, _NOT_PLAIN)):
        return _ENGLISH.finditer(text)
    contracted = "'" in text or "’" in text
    return (_PLAIN_ENGLISH if contracted else _UNCONTRACTED_ENGLISH).finditer(text)


def _is_abbreviated(words: Words, text: str, at: int) -> bool:
    """Whether the full stop at a place belongs to the word before it: "St. Louis", "J. Watt"."""
    if not words.end or words.end[-1] != at:
        return False
    rest = text[at + 1 : at + 41]
    return rest[:1].isspace() and bool(rest.strip()) and not stop_ends(words.raw[-1], rest)


def is_picture(text: str) -> bool:
    """Whether a text is nothing but emoji and what joins them; they are no words."""
    return not text.isascii() and _PICTURES.fullmatch(text) is not None


def is_capital(word: str) -> bool:
    """Whether a word of an English sentence is written as a name: with a capital, or in Chinese."""
    return word[:1].isupper() or "\u3400" <= word[:1] <= "\u9fff"


class Phrases:
    """A set of phrases, found as the longest one that starts at a word."""

    def __init__(self, language: Literal["en", "zh"], entries: Sequence[str]) -> None:
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

    def begins_two(self, first: str, second: str) -> bool:
        """Whether a phrase begins with the two words, or is the first alone."""
        return first in self._alone or any(
            phrase[1] == second for phrase in self._by_first.get(first, ())
        )

    def anywhere(self, words: Sequence[str]) -> bool:
        """Whether one of the phrases stands anywhere in the words."""
        first = self._by_first
        if first.keys().isdisjoint(words):
            return False
        return any(word in first and self.length_at(words, at) for at, word in enumerate(words))

    def holds_any(self, words: Sequence[str]) -> bool:
        """Whether one of the words is a phrase by itself."""
        return not self._alone.isdisjoint(words)

    def __contains__(self, word: str) -> bool:
        return word in self._alone


_CODE = r"(?P<code>`[^`\n]+`)|(?P<redacted>\[redacted:[^\]\s]*\])"
_ADDRESS = r"https?://[^\s，。）)]+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
_CLITIC = r"['’]cause\b|[A-Za-z]+(?=n['’]t\b)|n['’]t\b|['’](?:s|m|re|ve|d|ll|S|M|RE|VE|D|LL)\b"
_PLAIN = (
    r"[$€£¥]\d[\d.,]*\d|[$€£¥]\d|\d+(?:[.,:]\d+)+(?:[A-Za-z%]+)?"
    + r"|\w+(?:[.\-+/#&@]\w+|['’](?=[A-Z])\w+)*(?:\+\+|#|%)?|\.\.\.|--|\S"
)
_ENGLISH = re.compile(f"{_CODE}|{_ADDRESS}|{_CLITIC}|{_PLAIN}")
_PLAIN_ENGLISH = re.compile(f"{_CLITIC}|{_PLAIN}")
_UNCONTRACTED_ENGLISH = re.compile(_PLAIN)
"""The same words in a text that holds no sign of the others, at half the cost."""
_CHINESE = re.compile(
    _CODE
    + "|"
    + r"https?://[^\s\u3000-\u9fff，。）)]+|[A-Za-z0-9_.+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+"
    + r"|[A-Za-z_\u00c0-\u024f][\w\u00c0-\u024f]*(?:[.\-+/#&:]\w+)*(?:\+\+|#)?"
    + r"|\d+(?:[.:：]\d+)*%?|\S",
    re.ASCII,
)
_NOT_PLAIN = ("`", "@", "http", "[redacted:")
_PICTURES = re.compile("[\u200d\u2600-\u27bf\u2b00-\u2bff\ufe0f\U0001f000-\U0001faff]+")
_OPENED: dict[str, tuple[str, str]] = {
    "ca": ("can", ""),
    "wo": ("will", ""),
    "n't": ("not", ""),
    "n’t": ("not", ""),
    "cannot": ("can", "not"),
    "'cause": ("because", ""),
    "’cause": ("because", ""),
    "cuz": ("because", ""),
    "im": ("i", "'m"),
    "ive": ("i", "'ve"),
    "dont": ("do", "not"),
    "doesnt": ("does", "not"),
    "didnt": ("did", "not"),
    "isnt": ("is", "not"),
    "arent": ("are", "not"),
    "wasnt": ("was", "not"),
    "cant": ("can", "not"),
    "havent": ("have", "not"),
    "youre": ("you", "'re"),
    "gonna": ("going", "to"),
    "wanna": ("want", "to"),
}
_BECOME_TWO = frozenset(word for word, (_, more) in _OPENED.items() if more)

"""Splitting: an oversize text in pieces that are clean, whole words where possible. Used by
`capture`."""

from __future__ import annotations

import re
from itertools import pairwise

from memstream.processors.cleaning import GLUE
from memstream.processors.secrets import placeholders

__all__ = ["pieces_of"]

_SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]]*\s+|[。！？][”’）」』]*\s*")


def pieces_of(text: str, limit: int) -> list[tuple[int, int]]:
    """[start, end) of each part: at most ``limit`` UTF-8 bytes, cut at the end of a paragraph, else
    of a sentence, a line, a word; inside a word only where it fills half a part."""
    cuts = [0]
    blocked = placeholders(text)
    while cuts[-1] < len(text):
        start = cuts[-1]
        window = text[start : start + limit]
        if not window.isascii():
            window = window.encode()[:limit].decode("utf-8", "ignore")
        end = start + len(window)
        if end < len(text):
            end = start + _cut_of(text, start, end, blocked)
        cuts.append(end)
    return list(pairwise(cuts))


def _cut_of(text: str, start: int, end: int, blocked: list[tuple[int, int, str]]) -> int:
    window = text[start:end]
    least = len(window) // 2
    paragraph = window.rfind("\n\n", least)
    if paragraph >= 0:
        return paragraph + 2
    sentence = max((match.end() for match in _SENTENCE_END.finditer(window, least)), default=0)
    if sentence and GLUE.match(text[start + sentence]) is None:
        return sentence
    blank = max(window.rfind(mark, least) for mark in ("\n", " ", "\t"))
    if blank >= 0:
        return blank + 1
    cut = end
    for first, last, _ in blocked:
        if first < cut < last and first > start:
            cut = first
    # Not between a letter and what modifies it: the parts must be clean on their own.
    earliest = max(start + 1, cut - 64)
    place = cut
    while place > earliest and (GLUE.match(text[place]) or GLUE.match(text[place - 1])):
        place -= 1
    return (place if place > earliest else cut) - start

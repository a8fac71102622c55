"""Text into sentences, with what must not be read as the speaker's own statement marked.

Offsets always refer to the text as given. Spans that recall had injected are cut out first, so
they belong to no sentence. Code blocks and lines that start with ``>`` are kept as sentences of
their own kind: they may be remembered as free text and are never read as statements. Words inside
quotation marks are marked, because they may be somebody else's.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Literal

import msgspec

from memstream.processors.abbreviations import stop_ends

SentenceKind = Literal["said", "quoted", "code"]
LONGEST = 1200
"""Characters; a longer run without an end is cut at white space, so that one sentence costs a
bounded time."""


class Sentence(msgspec.Struct, frozen=True, gc=False):
    """One sentence: its [start, end) in the text, its words, its language ("en" or "zh").

    ``quotes`` are [start, end) ranges, relative to the sentence, inside quotation marks.
    ``line`` counts the lines of the text from 0.
    """

    start: int
    end: int
    text: str
    kind: SentenceKind = "said"
    quotes: tuple[tuple[int, int], ...] = ()
    line: int = 0


def sentences(text: str, hidden: Iterable[tuple[int, int]] = ()) -> list[Sentence]:
    """All sentences of ``text`` outside the ``hidden`` [start, end) ranges, in order.

    Every sentence's ``text`` is ``text[start:end]`` and neither starts nor ends with white space.
    Linear in the length of the text. Ranges beyond the text's end are cut to it.
    """
    visible = _without(text, hidden)
    found: list[Sentence] = []
    fences = _fences(visible)
    position = 0
    line = 0
    for start, end in [*fences, (len(visible), len(visible))]:
        line = _read_lines(visible, position, start, line, found)
        if start < end:
            found.extend(_pieces(visible, start, end, "code", (), line))
            line += visible.count("\n", start, end)
        position = end
    return found


def language_of(text: str) -> Literal["en", "zh"]:
    """ "zh" where Chinese characters outnumber the words in Latin letters, else "en"; what begins
    like a sentence of one language is one, whatever names stand in it ("I live in 乌鲁木齐")."""
    if text.isascii() or _BEGINS_ENGLISH.match(text):
        return "en"
    if text[0] in _BEGINS_CHINESE:
        return "zh"
    han = len(_HAN.findall(text))
    return "zh" if han and han > len(_LATIN.findall(text)) else "en"


_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff]")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f][\w.+#/-]*", re.ASCII)
_BEGINS_ENGLISH = re.compile(
    r"\s*(?:(?:Hi|Hello|Hey|Yes|No|So|And|But|Actually|Sorry|Oh|Well|Now)[, ]+)?"
    r"(?:I|My|We|Our|He|She|They|His|Her|Their|It|The|This|That|There)(?:['’](?:m|ve|s|re|ll|d))?\s"
)
_BEGINS_CHINESE = frozenset("我你您他她它咱这那")
_FENCE = re.compile(r"^[ \t]*(```|~~~)", re.MULTILINE)
_END = re.compile(
    r"""[.!?]{1,32}["'”’)\]]{,32}(?=\s|$|[\u3400-\u9fff])|[。！？!?]+[”’」』）)"]*"""
    r"""|[….]{2,32}(?=\s|$)|…+"""
)
"""What needs something behind it is short: a longer run is tried again from within."""
_END_SIGN = re.compile(r"[.!?。！？…]")
"""What every ``_END`` begins with: looking for one of these first is much faster."""
_LAST_WORD = re.compile(r"[\w.]+$")
_QUOTE = re.compile(
    r"""“[^”\n]*”?|„[^“”\n]*[“”]?|«[^»\n]*»?|「[^」\n]*」?|『[^』\n]*』?|(?<!\d)"[^"\n]*"?"""
    r"""|(?<!\w)‘(?:[^’\n]|’(?=\w)){1,200}’(?!\w)"""
    r"""|(?<!\w)'(?=[A-Za-z])(?:[^'\n]|'(?=\w)){1,200}'(?!\w)"""
)
"""Single marks are apostrophes too, so they need their other half, and near enough that a text
of apostrophes is read in linear time."""
_QUOTE_SIGNS = re.compile(r"""[“„«「『"‘']""")


def reworded(sentence: Sentence, text: str) -> Sentence:
    """The sentence with other words. Its quotes stay where the words before them are the same."""
    kept = tuple(each for each in sentence.quotes if sentence.text[: each[1]] == text[: each[1]])
    return msgspec.structs.replace(sentence, text=text, quotes=kept)


def narrowed(found: Sequence[Sentence], text: str) -> Sequence[Sentence]:
    """The sentences of a text with full-width letters and digits written as plain ones, sign for
    sign, so that every offset stays."""
    if text.isascii() or _WIDE.search(text) is None:
        return found
    return [msgspec.structs.replace(each, text=each.text.translate(_NARROW)) for each in found]


_WIDE = re.compile("[０-９Ａ-Ｚａ-ｚ]")
_NARROW = {wide: wide - 0xFEE0 for wide in range(0xFF01, 0xFF5F) if chr(wide).isalnum()}
_NARROW[0x3000] = 0x20  # the space between such letters


def _without(text: str, hidden: Iterable[tuple[int, int]]) -> str:
    """The text with every hidden character made a line end, so that offsets stay."""
    for start, end in hidden:
        start, end = max(0, start), min(end, len(text))
        if start < end:
            text = text[:start] + "\n" * (end - start) + text[end:]
    return text


def _fences(text: str) -> list[tuple[int, int]]:
    """The code blocks; one that is never closed runs to the end of the text."""
    if "```" not in text and "~~~" not in text:
        return []
    found: list[tuple[int, int]] = []
    opened: int | None = None
    sign = ""
    for match in _FENCE.finditer(text):
        if opened is None:
            opened, sign = match.start(), match.group(1)
        elif match.group(1) == sign:
            line_end = text.find("\n", match.end())
            found.append((opened, len(text) if line_end < 0 else line_end))
            opened = None
    if opened is not None:
        found.append((opened, len(text)))
    return found


def _read_lines(text: str, start: int, end: int, line: int, found: list[Sentence]) -> int:
    """Appends the sentences of text[start:end]; gives the number of its last line."""
    position = start
    while position < end:
        line_end = text.find("\n", position, end)
        if line_end < 0:
            line_end = end
        if line_end > position:
            content = text[position:line_end]
            if content.lstrip().startswith(">"):
                found.extend(_pieces(text, position, line_end, "quoted", (), line))
            else:
                _read_line(text, position, line_end, line, found)
        position = line_end + 1
        line += 1
    return line


def _read_line(text: str, start: int, end: int, line: int, found: list[Sentence]) -> None:
    content = text[start:end]
    quotes: list[tuple[int, int]] = []
    if _QUOTE_SIGNS.search(content):
        quotes = [match.span() for match in _QUOTE.finditer(content)]
    begin = at = 0
    while (sign := _END_SIGN.search(content, at)) is not None:
        match = _END.match(content, sign.start())
        at = sign.end() if match is None else match.end()
        if match is None or not _ends(content, match):
            continue
        found.extend(_pieces(text, start + begin, start + match.end(), "said", quotes, line, start))
        begin = match.end()
    if begin < len(content):
        found.extend(_pieces(text, start + begin, end, "said", quotes, line, start))


def _ends(content: str, match: re.Match[str]) -> bool:
    """Whether a full stop ends a sentence here: not after "Dr." or "J."."""
    if not match.group().startswith(".") or len(match.group()) > 1:
        return True
    word = _LAST_WORD.search(content, max(0, match.start() - 12), match.start())
    if word is None:
        return True
    return stop_ends(word.group(), content[match.end() : match.end() + 40])


def _pieces(
    text: str,
    start: int,
    end: int,
    kind: SentenceKind,
    quotes: Sequence[tuple[int, int]],
    line: int,
    origin: int = 0,
) -> Iterable[Sentence]:
    """The sentence at text[start:end] without outer white space, in pieces where it is too long."""
    while start < end:
        stop = end
        if kind == "said" and end - start > LONGEST:
            space = text.rfind(" ", start + LONGEST // 2, start + LONGEST)
            stop = space + 1 if space > 0 else start + LONGEST
        piece = text[start:stop]
        left = start + len(piece) - len(piece.lstrip())
        piece = piece.strip()
        right = left + len(piece)
        if piece:
            inside = tuple(_inside(quotes, left, right, origin)) if quotes else ()
            yield Sentence(left, right, piece, kind, inside, line)
        start = stop


def _inside(
    quotes: Sequence[tuple[int, int]], left: int, right: int, origin: int
) -> Iterator[tuple[int, int]]:
    """The quotations within [left, right), relative to it. They are in order and do not overlap,
    so the first is found by bisection: a line of many quotations stays linear."""
    at = bisect_right(quotes, left - origin, key=itemgetter(1))
    while at < len(quotes) and quotes[at][0] + origin < right:
        begin, finish = quotes[at]
        yield max(0, begin + origin - left), min(right, finish + origin) - left
        at += 1


def is_question(sentence: str) -> bool:
    """Whether a sentence only asks."""
    bare = sentence.rstrip(" \"'”’)）")
    return bare.endswith(("?", "？", "吗", "呢", "吗。", "呢。"))

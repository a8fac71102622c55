"""What shows by its form that a turn holds text of machines and none of its speaker's: log lines,
commits, sessions in a shell, comments and texts in code, files of settings.

Code between fences is known as code already (see ``sentences``); this is what is pasted without.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator


def pasted(text: str) -> list[tuple[int, int]]:
    """The [start, end) ranges of a turn that are such text, in order; none overlaps another."""
    return merged([span for signs, form in _FORMS if _any_in(signs, text) for span in form(text)])


def merged(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The ranges in order, those that overlap made one."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((start, end))
    return found


def _any_in(signs: tuple[str, ...], text: str) -> bool:
    return any(map(text.__contains__, signs))


_LEVEL = r"(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|FATAL|CRITICAL)"
_LOG_LINE = re.compile(
    rf"^[ \t]*(?:[\[(]?\d[\dTZ:.,+/ -]{{4,34}}[\])]?[ \t]+[\[(]?{_LEVEL}\b|\[{_LEVEL}\])[^\n]*",
    re.MULTILINE,
)
_FRAME = re.compile(
    r"^[ \t]*at [\w$.<>/-]+[ \t]?(?:[(\[][^)\]\n]*[)\]]|\S*:\d+)[^\n]*"
    r"|^[ \t]*File \"[^\"\n]+\", line \d+[^\n]*"
    r"|^[ \t]*(?:npm (?:ERR!|WARN)|[VDIWEF]/[\w.-]{1,40}(?:\([ \d]{1,8}\))?:)[^\n]*"
    rf"|^[ \t]*{_LEVEL}[ \t]+[-|–][ \t][^\n]*",
    re.MULTILINE,
)
"""A line of a stack trace, or of a log that gives no time."""
_COMMIT = re.compile(
    r"^commit [0-9a-f]{7,40}\b[^\n]*\n(?:Author|Merge):|^diff --git |^@@ -\d+", re.MULTILINE
)
_SESSION = re.compile(
    r"^[ \t]*(?:\$|>>>|[\w.-]{1,30}@[\w.-]{1,60}:[^\n$#]{0,60}[$#]) [a-z./_][^\n]*(?:\n[^\n]+)*",
    re.MULTILINE,
)
_HERE = re.compile(r"<<-?[ ]?['\"]?(?P<mark>[A-Z_]{2,20})['\"]?[^\n]*\n")
_BLOCK = re.compile(r"^[ \t]*[\w.-]{1,40}:[ \t]*[|>][-+]?[ \t]*\n", re.MULTILINE)
_INDENTED = re.compile(r"(?:[ \t]+[^\n]*(?:\n|$)|\n)*")
_ELEMENT = re.compile(r"<(?P<tag>p|div|span|li|ul|td|h[1-6]|body|title|main|section|article)[ >]")
_COMMENT = re.compile(r"^[ \t]*(?:--|;+)[ \t]+[^\n]*", re.MULTILINE)
_CODE = re.compile(
    r"^[ \t]*(?:SELECT|INSERT|CREATE|ALTER|UPDATE|DELETE|DROP|BEGIN|local)\b[^\n]*"
    r"|^\[[\w.-]+\][ \t]*$|^[\w.-]+[ \t]*=[ \t]*\S",
    re.MULTILINE,
)
"""A line of those languages whose comments begin like a list of dashes, or with a semicolon."""


_BEHIND_CODE = re.compile(r"^[^\n]*[;{}][ \t]{,8}//[^\n]*", re.MULTILINE)
_ROW = re.compile(r"^\d{1,9}[,;\t](?![\d\s])[^\n]*", re.MULTILINE)


def _rows(text: str) -> Iterator[tuple[int, int]]:
    found = [match.span() for match in _ROW.finditer(text)]
    return iter(found if len(found) > 1 else ())


def _log_lines(text: str) -> Iterator[tuple[int, int]]:
    return (match.span() for match in _LOG_LINE.finditer(text))


def _frames(text: str) -> Iterator[tuple[int, int]]:
    return (match.span() for match in _FRAME.finditer(text))


def _commits(text: str) -> Iterator[tuple[int, int]]:
    match = _COMMIT.search(text)
    if match is not None:
        yield match.start(), len(text)


def _sessions(text: str) -> Iterator[tuple[int, int]]:
    return (match.span() for match in _SESSION.finditer(text))


def _between(opening: str, closing: str, text: str) -> Iterator[tuple[int, int]]:
    start = text.find(opening)
    while start >= 0:
        end = text.find(closing, start + len(opening))
        if end < 0:
            return
        yield start, end + len(closing)
        start = text.find(opening, end + len(closing))


def _comments(text: str) -> Iterator[tuple[int, int]]:
    yield from _between("/*", "*/", text)
    yield from _between("<!--", "-->", text)
    yield from (match.span() for match in _BEHIND_CODE.finditer(text))


def _long_texts(text: str) -> Iterator[tuple[int, int]]:
    for opening, closing in (('"""', '"""'), ("'''", "'''"), ("= `\n", "`")):
        yield from _between(opening, closing, text)


def _here_texts(text: str) -> Iterator[tuple[int, int]]:
    match = _HERE.search(text)
    while match is not None:
        end = text.find(f"\n{match['mark']}", match.end() - 1)
        if end < 0:
            return
        yield match.start(), end
        match = _HERE.search(text, end)


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    for match in _BLOCK.finditer(text):
        indented = _INDENTED.match(text, match.end())
        if indented is not None:
            yield match.start(), indented.end()


def _elements(text: str) -> Iterator[tuple[int, int]]:
    match = _ELEMENT.search(text)
    while match is not None:
        end = text.find(f"</{match['tag']}>", match.end())
        if end < 0:
            return
        yield match.start(), end
        match = _ELEMENT.search(text, end)


def _line_comments(text: str) -> Iterator[tuple[int, int]]:
    if _CODE.search(text) is not None:
        yield from (match.span() for match in _COMMENT.finditer(text))


_FORMS = (
    (("DEBUG", "INFO", "WARN", "ERROR", "TRACE", "NOTICE", "FATAL", "CRITICAL"), _log_lines),
    (
        (
            ".java:",
            ".kt:",
            ".scala:",
            ".js:",
            ".ts:",
            ".cs:",
            ".py",
            "(Native",
            "(Unknown",
            "npm ",
            "V/",
            "D/",
            "I/",
            "W/",
            "E/",
            "F/",
            "G -",
            "G |",
            "O -",
            "O |",
            "R -",
            "R |",
            "N -",
        ),
        _frames,
    ),
    (("commit ", "diff --git ", "@@ -"), _commits),
    (("$ ", ">>> ", "# "), _sessions),
    (("/*", "<!--", "//"), _comments),
    (('"""', "'''", "= `"), _long_texts),
    (("<<",), _here_texts),
    (("|\n", ">\n", "|-\n", ">-\n"), _blocks),
    (("</",), _elements),
    (("-- ", "; "), _line_comments),
    (("\n1,", "\n2,", "\n1;", "\n2;", "\n1\t", "\n2\t"), _rows),
)
"""By what a text must hold for it: where such text stands."""

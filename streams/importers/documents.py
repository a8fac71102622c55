"""Reads JSON records off a file, a little at a time.

Four shapes are told apart by content: one JSON value a line (JSONL), one list whose elements are
the records, single objects written over several lines, one after another, and lines of text. UTF-8
is required; a byte order mark is accepted. A piece that is no UTF-8 or no JSON becomes a ``Broken``
with its place, and reading goes on where the shape allows it: after a broken line always, after
broken UTF-8 inside an element too, after a broken element of a list not.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Literal

from memstream.schemas.errors import ImportFault
from memstream.streams.importers.contract import Broken, Record, Records
from memstream.streams.importers.plain_text import Line

Shape = Literal["empty", "lines", "document", "text", "unknown"]

_CHUNK = 64 * 1024
_LONGEST_PROBE = 4 * 1024 * 1024
_SAMPLE = 30
_PROBED_LINES = 200
_BAD_BYTE = re.compile("[\udc80-\udcff]")
_TURN = re.compile(
    r"\u200e?\[?\d{1,4}[./-]\d{1,2}[./-]\d{1,4}\D.{4,14}(?:\]| - )"
    r"|(?:#+ |\*\*|__)?[^\W\d_][\w ]{0,30}(?:\*\*|__)?[:：]|#+ \w+$"
)
"""How a plain-text conversation begins; what JSON lines may follow are part of its text."""
_BLANK = re.compile(r"[\s,]*")
_DECODER = json.JSONDecoder()


def shape_of(path: Path) -> Shape:
    """How the records stand in the file. Reads the start of it only.

    Raises ``ImportFault`` where the file cannot be read, or is in UTF-16 or UTF-32.
    """
    try:
        with path.open("rb") as file:
            return _shape(file, path)
    except OSError as error:
        raise ImportFault(f"{path}: cannot be read: {error.strerror}") from error


def records_of(path: Path, shape: Shape) -> Records:
    """Every record of the file, in order."""
    if shape == "text":
        return _text(path)
    return _lines(path) if shape == "lines" else _document(path)


def sample_of(path: Path, shape: Shape) -> list[Record]:
    """The first readable records of the file, by which its format is recognised."""
    sample = _PROBED_LINES if shape == "text" else _SAMPLE
    return [
        record for record in islice(records_of(path, shape), sample) if isinstance(record, Record)
    ]


def problem_of_json(error: Exception) -> str:
    """Why a text is no JSON, in words."""
    if isinstance(error, json.JSONDecodeError):
        return f"is no JSON: {error.msg} at character {error.pos}"
    if isinstance(error, RecursionError):
        return "is nested too deep to be read"
    return f"is no JSON: {error}"


def _shape(file: BinaryIO, path: Path) -> Shape:
    start = file.read(4)
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or start.startswith(b"\0\0"):
        raise ImportFault(f"{path}: is UTF-16 or UTF-32; mend: convert it to UTF-8")
    file.seek(len(codecs.BOM_UTF8) if start.startswith(codecs.BOM_UTF8) else 0)
    first = b""
    while not first.strip():
        first = file.readline(_LONGEST_PROBE)
        if not first:
            return "empty"
    whole = first.endswith(b"\n") or len(first) < _LONGEST_PROBE
    if not whole:
        _skip_line(file)
    rest = _first_line_with_text(file)
    text = first.strip()
    if not whole:
        return "lines" if rest else "document"
    try:
        value = json.loads(text.decode("utf-8", "surrogateescape"))
    except (ValueError, RecursionError):
        return _shape_after_broken_line(path, text, rest, file)
    if rest or not isinstance(value, list):
        return "lines"
    return "lines" if value and isinstance(value[0], list) else "document"


def _shape_after_broken_line(path: Path, first: bytes, rest: bytes, file: BinaryIO) -> Shape:
    if first in {b"[", b"{"}:
        return "document"
    if _TURN.match(first.decode("utf-8", "replace")):
        return "text"
    if not rest:
        return "document" if first[:1] in {b"[", b"{"} else "unknown"
    if first[:1] in {b"[", b"{"} and isinstance(next(_document(path), None), Record):
        return "document"
    for line in [rest, *islice(file, _PROBED_LINES)]:
        try:
            if isinstance(json.loads(line.strip()), dict | list):
                return "lines"
        except (ValueError, RecursionError):
            continue
    return "unknown"


def _skip_line(file: BinaryIO) -> None:
    while True:
        piece = file.readline(_LONGEST_PROBE)
        if not piece or piece.endswith(b"\n"):
            return


def _first_line_with_text(file: BinaryIO) -> bytes:
    while True:
        line = file.readline(_LONGEST_PROBE)
        if not line or line.strip():
            return line


def _lines(path: Path) -> Records:
    with path.open("rb") as file:
        offset = 0
        for number, raw in enumerate(file, 1):
            start, offset = offset, offset + len(raw)
            body = raw
            if number == 1:
                body = body.removeprefix(codecs.BOM_UTF8)
            text = body.lstrip()
            start += len(raw) - len(text)
            text = text.rstrip()
            where = f"line {number}"
            if not text:
                continue
            try:
                yield Record(where, json.loads(text.decode("utf-8")))
            except UnicodeDecodeError as error:
                yield Broken(where, _not_utf8(start + error.start))
            except (ValueError, RecursionError) as error:
                yield Broken(where, problem_of_json(error))


def _text(path: Path) -> Records:
    # A line ends with a line feed, a carriage return or both, and keeps its end and its bad bytes.
    with path.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
        offset = 0
        for number, line in enumerate(file, 1):
            raw = line.encode("utf-8", "surrogateescape")
            start, offset = offset, offset + len(raw)
            body = raw.removeprefix(codecs.BOM_UTF8) if number == 1 else raw
            where = f"line {number}"
            try:
                yield Record(where, Line(body.decode("utf-8").rstrip("\r\n")))
            except UnicodeDecodeError as error:
                yield Broken(where, _not_utf8(start + len(raw) - len(body) + error.start))


def _not_utf8(offset: int) -> str:
    return f"is no valid UTF-8 at byte {offset} of the file; mend: save it as UTF-8"


class _Window:
    """The part of a file's text that is being looked at; grows at its end, is cut at its start.

    Bytes that are no UTF-8 stand in it as lone surrogates, which valid UTF-8 cannot give.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._decode = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode
        self.text = ""
        self.at = 0
        self.ended = False
        self._start = 0
        self._cut_bytes = 0

    def grow(self) -> None:
        """Adds at least as much again as is still unread, so that retries stay linear."""
        self._cut_bytes += _bytes_in(self.text[: self.at])
        self.text = self.text[self.at :]
        self.at = 0
        raw = self._file.read(max(_CHUNK, len(self.text)))
        self.ended = not raw
        self.text += self._decode(raw, final=self.ended)

    def next_character(self) -> str:
        """The next character that is no space and no comma, "" at the end; it stays unread."""
        while True:
            blank = _BLANK.match(self.text, self.at)
            self.at = blank.end() if blank else self.at
            if self.at < len(self.text):
                return self.text[self.at]
            if self.ended:
                return ""
            self.grow()

    def value(self) -> Any:
        """The JSON value that starts here. Raises what the decoder raises."""
        while True:
            try:
                value, end = _DECODER.raw_decode(self.text, self.at)
            except json.JSONDecodeError as error:
                cut_short = error.msg.startswith("Unterminated") or error.pos > len(self.text) - 16
                if self.ended or not cut_short:
                    raise
            else:
                if end < len(self.text) or self.ended or isinstance(value, dict | list | str):
                    self._start, self.at = self.at, end
                    return value
            self.grow()

    def bad_byte(self) -> int | None:
        """Where in the file the value just read holds a byte that is no UTF-8, or None."""
        found = _BAD_BYTE.search(self.text, self._start, self.at)
        return None if found is None else self._cut_bytes + _bytes_in(self.text[: found.start()])


def _bytes_in(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))


def _document(path: Path) -> Records:
    with path.open("rb") as file:
        if file.read(3) != codecs.BOM_UTF8:
            file.seek(0)
        window = _Window(file)
        in_list = window.next_character() == "["
        if in_list:
            window.at += 1
        yield from _values(window, in_list=in_list)


def _values(window: _Window, *, in_list: bool) -> Iterator[Record | Broken]:
    number = 0
    while True:
        number += 1
        where = f"item {number}"
        character = window.next_character()
        if in_list and character == "]":
            window.at += 1
            if window.next_character():
                yield Broken(f"after item {number - 1}", "text follows the end of the list")
            return
        if not character:
            if in_list:
                yield Broken(where, "the file ends before the list does: it was cut short")
            return
        try:
            value = window.value()
        except (ValueError, RecursionError) as error:
            yield Broken(where, f"{problem_of_json(error)}; nothing after it was read")
            return
        bad_byte = window.bad_byte()
        yield Record(where, value) if bad_byte is None else Broken(where, _not_utf8(bad_byte))

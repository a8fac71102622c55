"""Texts that begin like a transcript and are none: settings, logs and tables.

Only where a file is to be recognised; ``--format transcript`` reads it as what it is said to be.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from memstream.streams.importers.file_times import read_time
from memstream.streams.importers.plain_text import LABELS, WEAK


class Doubt(NamedTuple):
    """The line by which it shows, counted from 0, and what it looks like."""

    at: int
    problem: str


class Begun(NamedTuple):
    """A line that could begin a turn: where it is, the name, the text, and the time in front."""

    at: int
    name: str
    text: str
    stamp: str


_SETTING = re.compile(r"(?P<before>\s*(?:- )?)(?P<key>[a-z][\w.-]*):(?:\s+(?P<value>.*))?")
_LISTED = re.compile(r"\s*- .+|\s*#.*|---|\.\.\.")
_BLOCK = re.compile(r"[|>][+-]?\d?")
_MODEL = re.compile(r"[A-Za-z][\w.]*[-/:][\w./:-]+")
_SENTENCE = re.compile(r"(?:\S+\s+){3}|.*[.!?…]$")
_LEVELS = frozenset("trace debug info notice warn warning error critical fatal severe".split())
_LEVEL = re.compile(r"\W*(?P<level>[A-Z]+|[a-z]+)\b")
_THOUSANDS = re.compile(r"\d,\d{3}\b")
STAMP = re.compile(r"\[(?P<stamp>[^\]]{6,40})\]\s*")
"""What may be a time in front of a line."""


def doubt(lines: Sequence[str], begun: Sequence[Begun]) -> Doubt | None:
    """Why the first lines of a file are no transcript, if they are none. ``begun`` are those that
    could begin a turn."""
    tests: tuple[Callable[[Sequence[str], Sequence[Begun]], Doubt | None], ...] = (
        _settings,
        _log,
        _table,
    )
    return next((found for test in tests if (found := test(lines, begun)) is not None), None)


def _settings(lines: Sequence[str], begun: Sequence[Begun]) -> Doubt | None:
    """YAML and the like: every line sets a key in small letters, none of them twice, and one that
    nobody speaks under."""
    keys: list[str] = []
    unsaid: list[tuple[int, str]] = []
    block: int | None = None
    for at, line in enumerate(lines):
        deep = len(line) - len(line.lstrip())
        if block is not None and deep > block:
            continue
        block = None
        found = _SETTING.fullmatch(line.rstrip())
        if found is None:
            if line.strip() and _LISTED.fullmatch(line) is None:
                return None
            continue
        key, value = found["key"], (found["value"] or "").strip()
        if not found["before"]:
            if key in keys:
                return None
            keys.append(key)
        if _BLOCK.fullmatch(value):
            block = deep
        role = LABELS.get(key)
        if role in {"user", "assistant"} and _SENTENCE.match(value):
            return None
        beside = key in WEAK and role in {LABELS.get(each) for each in keys if each not in WEAK}
        if role is None or beside or (key in WEAK and _MODEL.fullmatch(value)):
            unsaid.append((at, key))
    if not unsaid:
        return None
    at, key = unsaid[0]
    return Doubt(at, f"sets {key!r}, as every line sets something: it reads like settings")


def _log(lines: Sequence[str], begun: Sequence[Begun]) -> Doubt | None:
    """A program's log: no assistant speaks in it, and a line behind a time has a level; or, where
    no other person speaks either, nobody's name."""
    roles = {LABELS.get(each.name.casefold()) for each in begun}
    named = {each.at for each in begun if each.stamp}
    if not named or "assistant" in roles:
        return None
    nobody: Doubt | None = None
    for at, line in enumerate(lines):
        stamp = STAMP.match(line)
        if stamp is None or read_time(stamp["stamp"], None) is None:
            continue
        level = _LEVEL.match(line, stamp.end())
        if level is not None and level["level"].casefold() in _LEVELS:
            return Doubt(at, f"has the level {level['level']}: it reads like a program's log")
        if at not in named and nobody is None:
            nobody = Doubt(at, "has a time and nobody who speaks: it reads like a program's log")
    return nobody if roles == {"user"} else None


def _table(lines: Sequence[str], begun: Sequence[Begun]) -> Doubt | None:
    """Rows of one number of fields, with nothing between a field and its comma."""
    if len(begun) != 1 or begun[0].stamp:
        return None
    at = begun[0].at
    rest = [line for line in lines[at + 1 :] if line.strip()]
    if any(line.strip() for line in lines[:at]):
        return None
    texts = [begun[0].text, *rest]
    if all(_THOUSANDS.search(text) for text in texts):
        return None
    least = 2 if all(map(str.isascii, texts)) else 3  # not every script has a space behind a comma
    for mark in (",", ";", "\t"):
        try:
            rows = list(csv.reader(texts, delimiter=mark))
        except csv.Error:
            continue
        width = len(rows[0])
        spaced = any(field != field.strip() for row in rows for field in row)
        if min(len(rows), width) >= least and not spaced and {len(row) for row in rows} == {width}:
            return Doubt(at, f"is the first of rows of {width} fields: it reads like a table")
    return None

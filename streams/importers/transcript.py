"""Plain-text transcripts: "User: ..." and "Assistant: ...", a turn going on over further lines.

Names may be bold (``**User:**``), headings (``## User``), or stand behind a time in brackets
(``[2025-03-01 09:30] User:``). How the first turn begins is how all do: any other line, and all
within a fenced block of code, is text. Where the names are no roles ("Ann: ..."), every name that
begins a line speaks, and who is the user must be told or be the scope's owner.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from memstream.streams.importers.contract import Broken, Importer, Item, Records, Unreadable
from memstream.streams.importers.event_making import Making
from memstream.streams.importers.file_times import read_time
from memstream.streams.importers.other_texts import STAMP, Begun, Doubt, doubt
from memstream.streams.importers.plain_text import (
    LABELS,
    WEAK,
    Line,
    Survey,
    Told,
    ask_for_the_user,
    check_told,
    spoken,
    told_roles,
)

_NAME = r"(?P<name>[^\W\d_][^:：*_`\[\]{}()<>/\\|\"“”,;.!?。，！？]{0,30}?)"
_BOLD = r"(?:\*\*|__)"
_STYLES = {
    "plain": re.compile(rf"{_NAME}\s?[:：](?!//)(?P<text>.*)"),
    "bold": re.compile(
        rf"(?:#{{1,6}}\s+)?{_BOLD}{_NAME}\s?(?:[:：]\s*{_BOLD}|{_BOLD}\s*[:：])(?P<text>.*)"
    ),
    "heading": re.compile(rf"#{{1,6}}\s+{_NAME}(?:\s*[:：])?\s*(?P<text>)"),
}
_FENCE = re.compile(r"\s{0,3}(?P<mark>```|~~~)")
_MOST_WORDS = 3
_SAMPLED = 60


class _Start:
    """How a turn begins: the style, the name, the time in front, and the rest of the line."""

    def __init__(self, style: str, name: str, stamp: str, text: str) -> None:
        self.style, self.name, self.stamp, self.text = style, name.strip(), stamp, text


def _starts(line: str) -> Iterator[_Start]:
    """Every way in which the line could begin a turn."""
    stamp, kind = "", ""
    match = STAMP.match(line)
    if match is not None and read_time(match["stamp"], None) is not None:
        stamp, kind, line = match["stamp"], "stamped ", line[match.end() :]
    for style, pattern in _STYLES.items():
        found = pattern.fullmatch(line)
        if found is not None:
            yield _Start(kind + style, found["name"], stamp, found["text"].strip())


def _is_name(name: str) -> bool:
    """Whether it can be somebody's: a few words, none of them in small letters."""
    words = name.split()
    return len(words) <= _MOST_WORDS and not any(word[0].islower() for word in words)


def _claims(values: list[Any]) -> bool:
    lines = [value for value in values[:_SAMPLED] if isinstance(value, Line) and value.strip()]
    starts = [start for line in lines for start in _starts(line)]
    known = [name for start in starts if (name := start.name.casefold()) in LABELS]
    sides = {LABELS[name] for name in known if name not in WEAK}
    first = list(_starts(lines[0])) if lines else []
    if any(start.name.casefold() in LABELS for start in first):
        return True
    if "assistant" in sides and ("user" in sides or any(_is_name(each.name) for each in first)):
        return True
    names = Counter(start.name for start in starts if _is_name(start.name))
    often = [name for name, count in names.items() if count > 1]
    return len(often) > 1 and sum(names.values()) * 2 > len(lines)


def _doubt(values: list[Any]) -> Doubt | None:
    lines = [value if isinstance(value, Line) else "" for value in values]
    known = [
        Begun(at, start.name, start.text, start.stamp)
        for at, line in enumerate(lines)
        for start in _starts(line)
        if start.name.casefold() in LABELS or start.stamp
    ]
    return doubt(lines, known)


def _survey(records: Records, told: Told, owner: str) -> Survey:
    """Raises ``Unreadable`` where it is not clear who is the user."""
    roles = told_roles(told, owner)
    counts: dict[str, Counter[str]] = {}
    style = known_style = ""
    fence = ""
    for record in records:
        if isinstance(record, Broken) or not isinstance(record.value, Line):
            continue
        fence = _fence_after(fence, record.value)
        for start in () if fence else _starts(record.value):
            known = start.name.casefold() in LABELS or start.name.casefold() in roles
            if known or (_is_name(start.name) and not start.style.endswith("heading")):
                style = style or start.style
                counts.setdefault(start.style, Counter())[start.name] += 1
            if start.name.casefold() in LABELS:
                known_style = known_style or start.style
    style = known_style or style
    names = counts.get(style, Counter())
    check_told(told, names)
    if not names:
        return Survey({}, style)
    # A name that was told counts for what it was told to be: "AI" may be a person's.
    mine = {name.casefold(): {**LABELS, **roles}.get(name.casefold()) for name in names}
    by_role = {name: role for name, role in mine.items() if role is not None}
    if not known_style:
        if "user" not in by_role.values():
            raise ask_for_the_user(names)
        return Survey({name: role or "" for name, role in mine.items()}, style)
    strong = {role for name, role in by_role.items() if name not in WEAK or name in roles}
    by_role = {
        name: role
        for name, role in by_role.items()
        if name not in WEAK or name in roles or role not in strong
    }
    _check_both_sides(names, by_role, told)
    return Survey(by_role, style)


def _check_both_sides(names: Counter[str], roles: dict[str, str], told: Told) -> None:
    """Raises ``Unreadable`` where one side has no role's name and another name comes as often."""
    there = set(roles.values())
    if {"user", "assistant"} <= there or told.assistants:
        return
    turns = sum(count for name, count in names.items() if name.casefold() in roles)
    for name, count in names.items():
        if name.casefold() not in roles and _is_name(name) and count > 1 and count * 2 > turns:
            if "user" not in there:
                raise ask_for_the_user([name])
            raise Unreadable(
                f"{name!r} seems to speak in it, too, and it does not show who that is; mend: "
                f"--assistant {name!r}"
            )


def _fence_after(fence: str, line: str) -> str:
    """The mark of the block of code that is open after the line; "" where none is. One is closed
    by its own mark only."""
    found = _FENCE.match(line)
    if found is None:
        return fence
    return found["mark"] if not fence else "" if found["mark"] == fence else fence


class _Turn:
    """A turn as its lines come in."""

    def __init__(self, start: _Start, role: str, where: str) -> None:
        self.start, self.role, self.where = start, role, where
        self.lines = [start.text]
        self.fence, self.fenced_at = _fence_after("", start.text), where

    def add(self, line: str, where: str) -> None:
        if not self.fence:
            self.fenced_at = where
        self.fence = _fence_after(self.fence, line)
        self.lines.append(line)


def _read(records: Records, making: Making) -> Iterator[Item]:
    survey = making.survey or Survey({})
    talk = making.conversation()

    def ended(turn: _Turn | None) -> Iterator[Item]:
        if turn is None:
            return
        if turn.fence:
            yield Broken(
                turn.fenced_at,
                f"begins a block of code that never ends, so that nothing from {turn.where} on "
                "was read; mend: close it",
            )
            return
        text = "\n".join(turn.lines).strip()
        if not text:
            making.skip("turns without a word")
        time = making.instant(turn.start.stamp, turn.where)
        yield from talk.hear(spoken(turn.role, turn.start.name, text), turn.where, time=time)

    turn: _Turn | None = None
    for record in records:
        if isinstance(record, Broken):
            yield record
            continue
        line = record.value
        if not isinstance(line, Line):
            yield Broken(record.where, f"expected a line of text, got {type(line).__name__}")
            continue
        start = None if turn is not None and turn.fence else _start_in(line, survey)
        if start is not None:
            yield from ended(turn)
            turn = _Turn(start, survey.roles[start.name.casefold()], record.where)
        elif turn is not None:
            turn.add(line, record.where)
        elif line.strip():
            making.skip("lines before the first turn")
    yield from ended(turn)


def _start_in(line: str, survey: Survey) -> _Start | None:
    for start in _starts(line):
        if start.style == survey.style and start.name.casefold() in survey.roles:
            return start
    return None


IMPORTER = Importer("transcript", _claims, _read, _survey, _doubt)

"""WhatsApp's exported chats: "[12/03/2024, 10:15:03] Ann: ..." and "12/03/2024, 10:15 - Ann: ...".

Who of them is the user must be told, or be the scope's owner; the others are people, each under
their name, but for those told to be assistants. Whether the day or the month comes first is read
off the dates of the file, where one of them shows it. A message is named by its time, its sender
and its words, so that a later export of the chat, or one cut at its start, adds only what is new.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from memstream.streams.importers.contract import Broken, Importer, Item, Records, Unreadable
from memstream.streams.importers.event_making import Making
from memstream.streams.importers.plain_text import (
    LABELS,
    Line,
    Survey,
    Told,
    ask_for_the_user,
    check_told,
    spoken,
    told_roles,
)

_MARKS = dict.fromkeys(
    map(ord, "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")
)
_SPACES = str.maketrans("\u202f\u00a0", "  ")
_STAMP = (
    r"(?P<a>\d{1,4})(?P<mark>[./-])(?P<b>\d{1,2})(?P=mark)(?P<c>\d{1,4}),?\s+"
    r"(?P<half_zh>凌晨|早上|上午|中午|下午|晚上)?\s?(?P<hour>\d{1,2})[:.](?P<minute>\d{2})"
    r"(?:[:.](?P<second>\d{2}))?(?:\s?(?P<half>[ap])\.?\s?m\.?)?"
)
_LINE = re.compile(rf"(?:\[{_STAMP}\]\s?(?P<body>.*))", re.IGNORECASE)
_DASHED = re.compile(rf"{_STAMP}\s-\s(?P<body>.*)", re.IGNORECASE)
_BODY = re.compile(r"(?:~\s?)?(?P<name>[^:：]{1,60}): ?(?P<text>.*)")
_NO_WORDS = re.compile(
    r"<attached: [^<>]{0,300}>"
    r"|<[^<>]{0,12}(?:omitted|省略|忽略)[^<>]{0,12}>|<this message was edited>",
    re.IGNORECASE,
)
_ALONE = re.compile(
    r"\S+ \(file attached\)"
    r"|(?:image|photo|video|audio|sticker|gif|document|contact card) omitted",
    re.IGNORECASE,
)
_DELETED = {"this message was deleted", "you deleted this message", "this message was deleted."}
_LATE = {"中午", "下午", "晚上"}


def _stamped(line: str) -> re.Match[str] | None:
    plain = line.translate(_MARKS).translate(_SPACES)
    return _LINE.fullmatch(plain) or _DASHED.fullmatch(plain)


def _claims(values: list[Any]) -> bool:
    lines = [value for value in values if isinstance(value, Line) and value.strip()]
    senders = {_sender(line).casefold() for line in lines} - {""}
    begins = bool(lines) and _stamped(lines[0]) is not None
    return begins and bool(senders) and senders.isdisjoint(LABELS)


def _sender(line: str) -> str:
    """Who sent the message that begins here; "" where none does."""
    found = _stamped(line)
    body = _BODY.fullmatch(found["body"]) if found else None
    return body["name"].strip() if body else ""


def _survey(records: Records, told: Told, owner: str) -> Survey:
    """Raises ``Unreadable`` where it is not clear who is the user, or what the dates mean."""
    names: Counter[str] = Counter()
    shown: dict[bool, str] = {}
    ambiguous = ""
    for record in records:
        if isinstance(record, Broken) or not isinstance(record.value, Line):
            continue
        found = _stamped(record.value)
        if found is None:
            continue
        name = _sender(record.value)
        if name:
            names[name] += 1
        first, second = int(found["a"]), int(found["b"])
        day_first = found["mark"] == "." or (first > 12) if max(first, second) > 12 else None
        if len(found["a"]) > 2 or first == second:
            continue
        if found["mark"] == ".":
            day_first = True  # nobody writes a month before a day with points
        if day_first is None:
            ambiguous = ambiguous or f"{record.where}: {found[0][:20]!r}"
        else:
            shown.setdefault(day_first, record.where)
    check_told(told, names)
    roles = told_roles(told, owner)
    mine = {name.casefold(): roles.get(name.casefold(), "") for name in names}
    if names and "user" not in mine.values():
        raise ask_for_the_user(names)
    return Survey(mine, day_first=_day_first(told, shown, ambiguous))


def _day_first(told: Told, shown: dict[bool, str], ambiguous: str) -> bool:
    if told.date_order is not None:
        asked = told.date_order == "day-first"
        if shown and asked not in shown:
            raise Unreadable(
                f"{shown[not asked]} shows that its dates are not {told.date_order}; mend: leave "
                "--date-order out"
            )
        return asked
    how = "mend: --date-order day-first, or --date-order month-first"
    if len(shown) > 1:
        raise Unreadable(
            f"its dates contradict each other: the day comes first at {shown[True]}, the month at "
            f"{shown[False]}; {how}"
        )
    if not shown and ambiguous:
        raise Unreadable(
            f"no date of it shows whether the day or the month comes first ({ambiguous}); {how}"
        )
    return next(iter(shown), True)


def _time_of(found: re.Match[str], *, day_first: bool) -> datetime | None:
    first, second, third = int(found["a"]), int(found["b"]), int(found["c"])
    if len(found["a"]) == 4:
        year, month, day = first, second, third
    else:
        day, month = (first, second) if day_first else (second, first)
        year = third if third > 99 else 2000 + third
    hour = int(found["hour"])
    half, half_zh = (found["half"] or "").lower(), found["half_zh"] or ""
    if half or half_zh:
        late = half == "p" or half_zh in _LATE
        hour = hour % 12 + (12 if late else 0) if hour <= 12 else hour
    try:
        return datetime(year, month, day, hour, int(found["minute"]), int(found["second"] or 0))  # noqa: DTZ001  the caller gives it an offset
    except ValueError:
        return None


class _Message:
    """A message as its lines come in."""

    def __init__(self, name: str, time: datetime, where: str, text: str) -> None:
        self.name, self.time, self.where = name, time, where
        self.lines = [text]


def _read(records: Records, making: Making) -> Iterator[Item]:
    survey = making.survey or Survey({})
    others = [name for name, role in survey.roles.items() if role != "user"]
    talk = making.conversation(
        f"whatsapp/{others[0]}" if len(others) == 1 else "whatsapp/group" if others else "whatsapp"
    )
    minute: Counter[tuple[str, ...]] = Counter()

    def ended(message: _Message | None) -> Iterator[Item]:
        if message is None:
            return
        text = "\n".join(_words(line) for line in message.lines).strip()
        if not text or text.lower() in _DELETED:
            making.skip("messages without words of their own")
            return
        stamp = message.time.isoformat()
        if not any(key[0] == stamp for key in minute):
            minute.clear()
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        key = (stamp, message.name, digest)
        minute[key] += 1
        yield from talk.hear(
            spoken(survey.roles.get(message.name.casefold(), ""), message.name, text),
            message.where,
            time=making.instant(stamp, message.where),
            native=(*key, str(minute[key])),
        )

    message: _Message | None = None
    begun = False
    for record in records:
        if isinstance(record, Broken):
            yield record
            continue
        if not isinstance(record.value, Line):
            yield Broken(record.where, f"expected a line, got {type(record.value).__name__}")
            continue
        found = _stamped(record.value)
        if found is None:
            if message is not None:
                message.lines.append(record.value)
            elif record.value.strip() and not begun:
                yield Broken(record.where, "stands before the first message")
            continue
        yield from ended(message)
        message, begun = None, True
        time = _time_of(found, day_first=survey.day_first)
        body = _BODY.fullmatch(found["body"])
        if time is None:
            yield Broken(record.where, f"{found[0][:24]!r} begins with no day and time")
        elif body is None:
            making.skip("notices of the program")
        else:
            message = _Message(body["name"].strip(), time, record.where, body["text"])
    yield from ended(message)


def _words(line: str) -> str:
    plain = line.translate(_MARKS)
    return "" if _ALONE.fullmatch(plain) else _NO_WORDS.sub("", plain).rstrip()


IMPORTER = Importer("whatsapp", _claims, _read, _survey)

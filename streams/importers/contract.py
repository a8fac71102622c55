"""What an importer is and what it hands out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from memstream.schemas.events import Event

if TYPE_CHECKING:
    from memstream.streams.importers.event_making import Making
    from memstream.streams.importers.other_texts import Doubt
    from memstream.streams.importers.plain_text import Survey, Told


class Imported(msgspec.Struct, frozen=True):
    """One raw event, and the place in the file that it was read from."""

    event: Event
    where: str
    timed: bool = True
    """False where the event's time is only the moment of import."""


class Broken(msgspec.Struct, frozen=True):
    """One piece that could not be read; the rest of the file goes on."""

    where: str
    problem: str


class Note(msgspec.Struct, frozen=True):
    """An assumption or an omission that the user should know of; each is told once per file."""

    text: str


Item = Imported | Broken | Note


class Record(msgspec.Struct, frozen=True):
    """One JSON value of a file: a line, an element of the outermost list, or the whole."""

    where: str
    value: Any


Records = Iterator[Record | Broken]


class Importer(msgspec.Struct, frozen=True):
    """One format.

    ``claims`` says from the first records of a file whether it is in this format; it must not
    raise, whatever it is shown. ``read`` turns the records of one file into items, in file order,
    holding no more of the file than one record and the ids it has given; a record it cannot read
    becomes a ``Broken`` and never an exception. A format of text, whose records are lines, has a
    ``survey``: it goes through the whole file first, and raises ``Unreadable`` for what it must be
    told; its answer is ``making.survey``. ``doubt`` says by which of the first records a file that
    it claims is rather something else.
    """

    name: str
    claims: Callable[[list[Any]], bool]
    read: Callable[[Records, Making], Iterator[Item]]
    survey: Callable[[Records, Told, str], Survey] | None = None
    doubt: Callable[[list[Any]], Doubt | None] | None = None


class Unreadable(ValueError):
    """Raised inside an importer for one piece; becomes a ``Broken``. The message is its problem."""

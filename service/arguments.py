"""What the doors refuse before they do anything: arguments of the wrong kind, size or form."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import get_args

from memstream.schemas.errors import Fault, InvalidEvent
from memstream.schemas.events import Event
from memstream.schemas.instants import fault_of_instant
from memstream.schemas.memories import Kind, Status
from memstream.streams.log import Position

_SAY = {
    "text": "give what was said",
    "query": "ask in words, e.g. 'where does she live?'",
    "tool": "give the tool's name",
    "target": "give a context's or a memory's id",
    "event": "give an event's id, or its beginning",
    "conversation": "give the conversation's name",
    "reviewer": "say who decides",
    "replacement": "give the right value; to withdraw the memory alone, use forget",
}
"""How to mend a text that must not be blank, by the argument's name."""


def check_texts(what: str, **texts: object) -> None:
    """Raises ``InvalidEvent`` for what is no text, or says nothing."""
    faults = [
        _no_text(name, text) or Fault(name, "is blank", _SAY.get(name, ""))
        for name, text in texts.items()
        if not isinstance(text, str) or not text.strip()
    ]
    if faults:
        raise InvalidEvent(what, faults)


def check_instants(**instants: datetime | None) -> None:
    """Raises ``InvalidEvent`` for an instant without an offset or out of range."""
    faults = [
        fault
        for name, instant in instants.items()
        if instant is not None and (fault := fault_of_instant(name, instant))
    ]
    if faults:
        raise InvalidEvent("arguments", faults)


def check_counts(**counts: int | None) -> None:
    """Raises ``InvalidEvent`` for what is no count, or below 0."""
    faults = [
        Fault(name, _no_count(count), "give none, or 1 and more")
        for name, count in counts.items()
        if count is not None and _no_count(count)
    ]
    if faults:
        raise InvalidEvent("arguments", faults)


def check_lists(**lists: object) -> None:
    """Raises ``InvalidEvent`` for one text, or another single thing, where several are expected."""
    faults = [
        Fault(name, f"expected a list, got {type(given).__name__}", "put it into [ ]")
        for name, given in lists.items()
        if given is not None and not isinstance(given, list | tuple | set | frozenset)
    ]
    if faults:
        raise InvalidEvent("arguments", faults)


def check_names(names: Iterable[object] | None) -> None:
    """Raises ``InvalidEvent`` for entities that are no names."""
    faults = [
        fault
        for index, each in enumerate(names or ())
        if (fault := _no_text(f"entities[{index}]", each) or _broken(f"entities[{index}]", each))
    ]
    if faults:
        raise InvalidEvent("arguments", faults)


def _broken(name: str, text: object) -> Fault | None:
    """What is wrong with a text that is no Unicode."""
    if any("\ud800" <= each <= "\udfff" for each in str(text)):
        return Fault(name, "has half of a surrogate pair", "decode it, e.g. as UTF-8")
    return None


def check_seconds(**seconds: object) -> None:
    """Raises ``InvalidEvent`` for what is no number of seconds."""
    faults = [
        Fault(name, f"expected seconds, got {type(given).__name__}", "give a number, or none")
        for name, given in seconds.items()
        if given is not None and (isinstance(given, bool) or not isinstance(given, int | float))
    ]
    if faults:
        raise InvalidEvent("arguments", faults)


def check_sql(query: object) -> None:
    """Raises ``InvalidEvent`` for what can be no SQL."""
    fault = _no_text("query", query)
    if fault is None and not str(query).strip():
        fault = Fault("query", "is blank", "SELECT * FROM help lists what can be asked")
    try:
        str(query).encode()
    except UnicodeEncodeError as error:
        fault = Fault("query", f"is no valid Unicode at character {error.start}")
    if fault is not None:
        raise InvalidEvent("sql", [fault])


def check_position(after: object) -> None:
    """Raises ``InvalidEvent`` for what is no position."""
    if after is not None and not isinstance(after, Position):
        problem = f"expected a Position, got {type(after).__name__}"
        raise InvalidEvent("arguments", [Fault("after", problem, "give what a record call gave")])


def check_statement(text: object, attribute: object, value: object) -> None:
    """Raises ``InvalidEvent`` for a statement that says nothing; capture sees to the types."""
    if not str(text).strip() and not (attribute and str(value).strip()):
        fault = Fault("text", "is empty", "give a text, or both attribute and value")
        raise InvalidEvent("memory.stated", [fault])


def checked_events(events: Iterable[object]) -> list[Event]:
    """The events. Raises ``InvalidEvent`` where something else is among them."""
    found: list[Event] = []
    faults: list[Fault] = []
    for index, each in enumerate(events):
        if isinstance(each, Event):
            found.append(each)
        else:
            problem = f"expected an Event, got {type(each).__name__}"
            faults.append(Fault(f"events[{index}]", problem))
    if faults:
        raise InvalidEvent("append", faults)
    return found


def check_kinds(kinds: Sequence[Kind] | None) -> None:
    """Raises ``InvalidEvent`` for a kind of memory that there is not."""
    _check_known("kinds", kinds or (), get_args(Kind))


def check_status(status: Status | None) -> None:
    """Raises ``InvalidEvent`` for a status that there is not."""
    _check_known("status", () if status is None else (status,), get_args(Status))


def _check_known(name: str, given: Sequence[object], known: tuple[str, ...]) -> None:
    strange = [each for each in given if each not in known]
    if strange:
        fault = Fault(name, f"{strange[0]!r} is unknown", f"known: {', '.join(known)}")
        raise InvalidEvent("arguments", [fault])


def _no_text(name: str, given: object) -> Fault | None:
    if isinstance(given, str):
        return None
    return Fault(name, f"expected text, got {type(given).__name__}")


def _no_count(count: object) -> str:
    if not isinstance(count, int) or isinstance(count, bool):
        return f"expected a whole number, got {type(count).__name__}"
    return f"{count} is below 0" if count < 0 else ""

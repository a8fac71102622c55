"""Makes raw events of what an importer read: ids that stay the same, times, sources, notes.

Ids. A message with an id of its own gets an id derived from it. Any other gets one from the
message before it, its role, its own time where it has one, and its text; the first from the scope
and the name of the conversation. So a conversation that has grown keeps the ids of its start, a
snapshot of it that is repeated adds nothing, "ok" said twice is two events, and the name of the
file does not matter.

Times. A message keeps its own. One without takes the last one before it in its conversation,
which is known as well as that one. Where the conversation has none yet: the time that the caller
gave, else the moment of import with ``observed_known`` false, so that no "yesterday" is resolved
against it. Messages that share a time keep their order: each stands a microsecond after the one
before it.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import msgspec

from memstream.schemas.counting import quantity
from memstream.schemas.events import (
    TRUST_CEILING,
    Data,
    Event,
    MemoryStated,
    Source,
    SourceKind,
    ToolCalled,
    ToolReturned,
    Trust,
    TurnRecorded,
)
from memstream.schemas.ids import derived_id
from memstream.schemas.scope import Scope
from memstream.streams.importers.contract import Imported, Note
from memstream.streams.importers.file_times import read_time

if TYPE_CHECKING:
    from memstream.streams.importers.plain_text import Survey

_TYPES: dict[type[Data], str] = {
    TurnRecorded: "turn.recorded",
    ToolCalled: "tool.called",
    ToolReturned: "tool.returned",
    MemoryStated: "memory.stated",
}
_DEEPEST = 64
_MICROSECOND = timedelta(microseconds=1)


class Draft(msgspec.Struct, frozen=True):
    """What somebody or something said, before it has an id, a time and a conversation."""

    data: Data
    kind: SourceKind
    trust: int


def said(text: str, actor: str = "") -> Draft:
    """A person's words."""
    return _draft(TurnRecorded(role="user", text=text, actor=whole_text(actor)), "user_said")


def answered(text: str, actor: str = "") -> Draft:
    """A model's words."""
    return _draft(
        TurnRecorded(role="assistant", text=text, actor=whole_text(actor)), "model_derived"
    )


def instructed(text: str, actor: str = "") -> Draft:
    """A system prompt, or another text that its operator put in."""
    return _draft(TurnRecorded(role="system", text=text, actor=whole_text(actor)), "document")


def harnessed(text: str, actor: str = "harness") -> Draft:
    """Text that the program around the agent put into the conversation; nobody vouches for it."""
    return Draft(TurnRecorded(role="system", text=text, actor=actor), "document", int(Trust.LOW))


def summarised(text: str) -> Draft:
    """A model's summary of the conversation: derived text, marked by its actor."""
    return _draft(TurnRecorded(role="system", text=text, actor="summary"), "model_derived")


def stated(text: str) -> Draft:
    """What a person told the agent to remember."""
    return _draft(MemoryStated(text=text), "user_said")


def called(tool: str, arguments: Any, call: str = "") -> Draft:
    """A tool call. ``arguments`` may be an object, JSON text of one, or any text."""
    data = ToolCalled(
        tool=whole_text(tool) or "unknown", arguments=_object(arguments), call=whole_text(call)
    )
    return _draft(data, "model_derived")


def returned(text: str, *, tool: str = "", call: str = "", ok: bool | None = None) -> Draft:
    """A tool's result. An empty ``tool`` is looked up by its call when the event is made."""
    data = ToolReturned(tool=whole_text(tool), text=text, call=whole_text(call), ok=ok)
    return _draft(data, "tool_result")


def whole_text(text: str) -> str:
    """The text with lone surrogates replaced: for names and ids, which are compared and hashed."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def name_of(raw: Any) -> str:
    """An id or a name as text: text or a whole number; "" for anything else."""
    if isinstance(raw, str):
        return whole_text(raw.strip())
    return str(raw) if isinstance(raw, int) and not isinstance(raw, bool) else ""


class Making:
    """Makes the events of one file. Holds the ids given so far, the notes and what was left out."""

    def __init__(
        self,
        *,
        scope: Scope,
        form: str,
        now: datetime,
        observed_at: datetime | None = None,
        utc_offset: timezone | None = None,
    ) -> None:
        self.scope = scope
        self.form = form
        self.now = now
        self.observed_at = observed_at
        self.utc_offset = utc_offset
        self.survey: Survey | None = None
        self._path = scope.path
        self._given: dict[str, bytes] = {}
        self._told: set[str] = set()
        self._notes: list[Note] = []
        self._skipped: Counter[str] = Counter()
        self._repeated = 0
        self._timeless = 0

    def conversation(
        self,
        name: str = "",
        *,
        family: str = "",
        started: datetime | None = None,
        before: datetime | None = None,
    ) -> Conversation:
        """A conversation of the file. ``family`` is the format its ids hang on, where several
        formats share one. ``started`` is the time of its messages without their own; ``before``
        a time it comes after, which orders such messages but is not known to be theirs."""
        root = derived_id(self._path, "import", family or self.form, name)
        return Conversation(self, name, root, started=started, before=before)

    def instant(self, raw: Any, where: str, *, offset: Any = None) -> datetime | None:
        """A time of the file; None where there is none, or none that can be read."""
        if raw is None or raw == "":
            return None
        read = read_time(raw, self.utc_offset or offset)
        if read is None:
            self.note(f"{where}: {str(raw)[:40]!r} is no time that can be read; taken as missing")
            return None
        instant, naive = read
        if naive and offset is None and self.utc_offset is None:
            self.note(
                "times in this file carry no UTC offset; they were read as UTC; "
                "give utc_offset to change that"
            )
        return instant

    def note(self, text: str) -> None:
        """Tells the user something once."""
        if text not in self._told:
            self._told.add(text)
            self._notes.append(Note(text))

    def skip(self, what: str) -> None:
        """Counts something that is no evidence and was left out; told at the end."""
        self._skipped[what] += 1

    def take_notes(self) -> list[Note]:
        """The notes since the last call."""
        notes, self._notes = self._notes, []
        return notes

    def close(self) -> None:
        """Adds the notes that can only be written at the end of the file."""
        if self._timeless:
            self.note(
                f"{quantity(self._timeless, 'message')} had no time, and none stood before; the "
                "moment of import was used, and relative dates in them stay unresolved; give "
                "observed_at (--observed-at) to set one"
            )
        if self._repeated:
            self.note(f"{quantity(self._repeated, 'message')} stood in the file again; taken once")
        if self._skipped:
            listed = ", ".join(f"{n} {what}" for what, n in sorted(self._skipped.items()))
            self.note(f"left out, as no part of what was said: {listed}")

    def give(self, event_id: str, digest: bytes) -> str | None:
        """The id itself; another where it is taken by other content; None where it is a repeat."""
        held = self._given.setdefault(event_id, digest)
        if held is digest:
            return event_id
        if held != digest:
            self.note(
                "some message ids stand twice with different content; both were kept, the later "
                "one under another id"
            )
            return self.give(derived_id(event_id, "again", digest.hex()), digest)
        self._repeated += 1
        return None

    def time_or_fallback(self) -> tuple[datetime, bool]:
        """(the time of a message that no time is near to, whether it is known)."""
        if self.observed_at is not None:
            return self.observed_at, True
        self._timeless += 1
        return self.now, False

    def native_root(self, *parts: str) -> str:
        """The id of what the format itself names."""
        return derived_id(self._path, "import", self.form, *parts)


class Conversation:
    """One conversation of a file: gives its messages ids, times and their tools' names.

    ``name`` is its own, or else the id of its first event, so that it has one.
    """

    def __init__(
        self,
        making: Making,
        name: str,
        root: str,
        *,
        started: datetime | None,
        before: datetime | None,
    ) -> None:
        self.name = name
        self.calls: dict[str, str] = {}
        self._making = making
        self._link = root
        self._last = started or (before + _MICROSECOND if before else None)
        self._known = before is None or started is not None
        self._base: datetime | None = None
        self._ticks = 0

    @property
    def ended(self) -> datetime | None:
        """The time of the last message heard, or the one the next would take."""
        return self._last if self._base is None else self._base + self._ticks * _MICROSECOND

    def hear(
        self,
        draft: Draft,
        where: str,
        *,
        time: datetime | None = None,
        origin: str = "",
        native: tuple[str, ...] = (),
        call: str = "",
    ) -> Iterator[Imported]:
        """The event of one message: none where it is blank or was met before.

        ``native`` is what the format itself names the message by, all of it: the conversation's
        id, the message's, and a block's index where it has several; without them the id hangs on
        the message before. ``call`` is the id of a tool call for a
        draft that does not carry one.
        """
        data = self._filled(draft.data, call)
        if isinstance(data, TurnRecorded | MemoryStated) and not data.text.strip():
            return
        label, content = _content_of(data)
        digest = hashlib.sha256(content.encode("utf-8", "surrogatepass")).digest()
        if native:
            event_id = self._making.native_root(*native)
        else:
            # By the wall clock: a file without offsets keeps its ids when it is read in another.
            stamp = "" if time is None else time.replace(tzinfo=None).isoformat()
            self._link = event_id = derived_id(self._link, label, stamp, digest.hex())
        if not self.name:
            self.name = event_id
        observed, known = self._placed(time)
        given = self._making.give(event_id, digest[:12])
        if given is None:
            return
        fields: dict[str, Any] = {}
        if not isinstance(data, MemoryStated):
            fields = {"conversation": self.name, "origin": origin}
        if isinstance(data, TurnRecorded | ToolReturned):
            fields["observed_known"] = known
        event = Event(
            id=given,
            type=_TYPES[type(data)],
            subject=self._making.scope.path,
            time=observed,
            source=Source(draft.kind, draft.trust, self._making.form, self.name),
            data=msgspec.structs.replace(data, **fields),
        )
        yield Imported(event, where, known)

    def _filled(self, data: Data, call: str) -> Data:
        if isinstance(data, ToolCalled):
            if call and not data.call:
                data = msgspec.structs.replace(data, call=call)
            if data.call:
                self.calls[data.call] = data.tool
        elif isinstance(data, ToolReturned):
            known = data.call or call
            tool = data.tool or self.calls.get(known) or "unknown"
            data = msgspec.structs.replace(data, call=known, tool=tool)
        return data

    def _placed(self, time: datetime | None) -> tuple[datetime, bool]:
        if time is not None:
            self._last, self._known = time, True
        if self._last is not None:
            base, known = self._last, self._known
        else:
            base, known = self._making.time_or_fallback()
        self._ticks = self._ticks + 1 if base == self._base else 0
        self._base = base
        return base + self._ticks * _MICROSECOND, known


def _draft(data: Data, kind: SourceKind) -> Draft:
    return Draft(data, kind, int(TRUST_CEILING[kind]))


def _content_of(data: Data) -> tuple[str, str]:
    """(what sort of message it is, everything that makes it this one)."""
    if isinstance(data, TurnRecorded):
        return data.role, data.text
    if isinstance(data, ToolCalled):
        return "call", json.dumps([data.tool, data.arguments, data.call], sort_keys=True)
    if isinstance(data, ToolReturned):
        return "result", f"{data.call}\n{data.text}"
    return "stated", data.text if isinstance(data, MemoryStated) else ""


def _object(arguments: Any) -> dict[str, Any]:
    if isinstance(arguments, str):
        try:
            read = json.loads(arguments)
        except (ValueError, RecursionError):
            read = arguments
        arguments = read if isinstance(read, dict) else arguments
    if arguments is None or arguments == "":
        return {}
    if not isinstance(arguments, dict):
        arguments = {"input": arguments}
    plain = _plain(arguments, 0)
    return plain if isinstance(plain, dict) else {}


def _plain(value: Any, depth: int) -> Any:
    """The value as the log can keep it: whole numbers of 64 bits, finite ones, not too deep."""
    if depth > _DEEPEST and isinstance(value, dict | list):
        return "[nested too deep to be kept]"
    if isinstance(value, dict):
        return {str(name): _plain(inner, depth + 1) for name, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner, depth + 1) for inner in value]
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value

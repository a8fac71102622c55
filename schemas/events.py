"""What an event is: an immutable envelope around typed data.

The envelope follows CloudEvents 1.0: ``id``, ``source``, ``type``, ``subject`` (the scope path),
``time`` (observed_at) and the extension ``recordedtime``. Its fields stay readable when the data
is sealed, so nothing private stands in them. Types are past tense and stable; a change of shape
is a new ``dataversion`` with one upcast step (see ``upcasts``).
"""

from __future__ import annotations

from datetime import datetime
from enum import IntEnum
from typing import Any, Literal

import msgspec

from memstream.schemas.ids import derived_id
from memstream.schemas.memories import Assertion, Memory, Outcome

SourceKind = Literal["user_said", "tool_result", "model_derived", "document", "admin_edit"]
Role = Literal["user", "assistant", "system"]


class Trust(IntEnum):
    """How far a source is believed. Stamped at capture; only a recorded review raises it."""

    UNTRUSTED = 0
    LOW = 1
    MEDIUM = 2
    HIGH = 3
    REVIEWED = 4


TRUST_CEILING: dict[str, Trust] = {
    "tool_result": Trust.LOW,
    "model_derived": Trust.LOW,
    "document": Trust.MEDIUM,
    "user_said": Trust.HIGH,
    "admin_edit": Trust.REVIEWED,
}
"""The most a source of each kind may be trusted; a producer may stamp less, never more."""


class Source(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """Where an event comes from. ``runtime`` and ``run`` name the program, not a person."""

    kind: SourceKind
    trust: int
    runtime: str = "memstream"
    run: str = ""


class Data(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
    gc=False,
):
    """Base of all typed data. ``actor`` is who did it, as the source names them."""

    actor: str = ""


class Redaction(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """A secret that capture cut out: its kind, and where its placeholder stands in the text."""

    kind: str
    start: int
    end: int


class Part(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, forbid_unknown_fields=True):
    """One piece of an oversize text: its index, how many there are, and its first character's
    offset in the original text."""

    index: int
    count: int
    offset: int
    of: str = ""
    """The id of the event that was split, which its first piece has."""
    whole: str = ""
    """Names all that was said, by its content: pieces of another text recorded under the same id
    have another. Empty, as ``of``, where an earlier release split it."""

    def ids(self, subject: str, event_id: str) -> list[str]:
        """The ids of all pieces of the event, the first, which is its own, among them."""
        named = (self.whole,) if self.whole else ()
        others = (
            derived_id(subject, event_id, "part", str(index), *named)
            for index in range(1, self.count)
        )
        return [event_id, *others]


class Text(Data, frozen=True, kw_only=True):
    """Data that carries captured text (already normalised and redacted)."""

    text: str = ""
    served_spans: tuple[tuple[int, int], ...] = ()
    """[start, end) character ranges of ``text`` that recall had injected; never extracted."""
    redactions: tuple[Redaction, ...] = ()
    part: Part | None = None
    conversation: str = ""
    """The conversation the text belongs to, as its source names it."""
    origin: str = ""
    """The text's own id in its source, for tracing and evaluation."""
    observed_known: bool = True
    """False where the source held no time: relative dates in the text stay unresolved."""


class TurnRecorded(Text, frozen=True, kw_only=True):
    """``turn.recorded``: somebody said something."""

    role: Role


def session_of(event: Event, turn: TurnRecorded) -> str | None:
    """Whose turn in which conversation it is; None for what no user said,
    and where it is not known when."""
    by_user = turn.role == "user" and event.source.kind not in ("model_derived", "tool_result")
    if not by_user or not turn.observed_known:
        return None
    return derived_id(turn.conversation, turn.actor) if turn.conversation or turn.actor else ""


class ToolCalled(Data, frozen=True, kw_only=True):
    """``tool.called``: an agent called a tool."""

    tool: str
    arguments: dict[str, Any] = {}
    call: str = ""
    conversation: str = ""
    origin: str = ""
    redactions: tuple[Redaction, ...] = ()


class ToolReturned(Text, frozen=True, kw_only=True):
    """``tool.returned``: what the tool gave back."""

    tool: str
    call: str = ""
    ok: bool | None = None


class FeedbackGiven(Data, frozen=True, kw_only=True):
    """``feedback.given``: how a served memory or context did. Counted; changes no memory."""

    target: str
    verdict: Literal["used", "cited", "ignored", "corrected", "helpful", "harmful"]
    note: str = ""


class MemoryStated(Data, frozen=True, kw_only=True):
    """``memory.stated``: an explicit save; free ``text``, or ``attribute`` and ``value``."""

    text: str = ""
    subject: str = "user"
    attribute: str = ""
    value: str = ""
    qualifier: str = ""
    polarity: Literal["positive", "negative"] = "positive"
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    expires_at: datetime | None = None
    redactions: tuple[Redaction, ...] = ()
    part: Part | None = None


Correction = Literal["replace", "withdraw", "restore"]


class MemoryCorrected(Data, frozen=True, kw_only=True):
    """``memory.corrected``: withdraws what was said before it, and may say what is right.

    It names the withdrawn statement by content (slot and value), not by a row, so that it means
    the same in any arrival order. ``restore`` takes back earlier withdrawals of the value.
    """

    action: Correction = "withdraw"
    memory: str = ""
    subject: str = "user"
    attribute: str = ""
    qualifier: str = ""
    value: str = ""
    replacement: str = ""
    reason: str = ""
    since: datetime | None = None
    """From when the replacement holds: where the withdrawn statement's validity began. None: from
    the correction on."""


class ServedScore(
    msgspec.Struct, frozen=True, gc=False, omit_defaults=True, forbid_unknown_fields=True
):
    """How one channel found a served memory: its rank there (from 1) and that channel's score."""

    rank: int
    score: float


class ServedItem(
    msgspec.Struct, frozen=True, gc=False, omit_defaults=True, forbid_unknown_fields=True
):
    """One memory that recall served, with its rank (from 1) and score."""

    memory: str
    version: int
    rank: int
    score: float
    key: str = ""
    """Content key of the served text, by which an echo is recognised."""
    found: dict[str, ServedScore] = {}
    """By channel. Releases before the one that wrote this field recorded ``score`` alone."""


class ContextServed(Data, frozen=True, kw_only=True):
    """``context.served``: what recall answered, and with what it answered."""

    query: str
    items: tuple[ServedItem, ...] = ()
    as_of: datetime | None = None
    known_at: datetime | None = None
    channels: tuple[str, ...] = ()
    degraded: tuple[str, ...] = ()
    generation: str = ""


class ReviewDecided(Data, frozen=True, kw_only=True):
    """``review.decided``: a person approved or rejected an event that was held or quarantined.

    ``trust`` is what the reviewer vouches for; without it the source's own trust stands.
    """

    event: str
    decision: Literal["approve", "reject"]
    reviewer: str
    reason: str = ""
    trust: int | None = None


class ErasureRequested(Data, frozen=True, kw_only=True):
    """``erasure.requested``: content of this scope was destroyed; names ids, never content."""

    events: tuple[str, ...] = ()
    """The erased event ids; empty when the whole scope was erased."""
    reason: str = ""
    keys: tuple[str, ...] = ()
    """On a log that cannot be rewritten: the ids of the keys that go. What else they sealed is
    appended again under another key, after this event."""


class SessionClosed(Data, frozen=True, kw_only=True):
    """``session.closed``: a conversation ended."""

    conversation: str = ""
    reason: str = ""


class ExtractionAnswered(Data, frozen=True, kw_only=True):
    """``extraction.answered``: a model's answer, recorded once so that replay calls nothing."""

    event: str
    model: str
    prompt: str
    answer: str


class WriteDecided(Data, frozen=True, kw_only=True):
    """``write.decided``: the gate's decision on one event, with every factor of its score."""

    event: str
    outcome: Outcome
    reason: str
    score: float = 0.0
    factors: dict[str, float] = {}
    policy: str = ""


class CandidateExtracted(Data, frozen=True, kw_only=True):
    """``candidate.extracted``: one assertion found in one event, before resolution."""

    assertion: Assertion


class MemoryChanged(Data, frozen=True, kw_only=True):
    """The derived ``memory.*`` events: one new version of one memory."""

    memory: Memory


RAW_TYPES: dict[str, type[Data]] = {
    "turn.recorded": TurnRecorded,
    "tool.called": ToolCalled,
    "tool.returned": ToolReturned,
    "feedback.given": FeedbackGiven,
    "memory.stated": MemoryStated,
    "memory.corrected": MemoryCorrected,
    "context.served": ContextServed,
    "review.decided": ReviewDecided,
    "erasure.requested": ErasureRequested,
    "session.closed": SessionClosed,
    "extraction.answered": ExtractionAnswered,
}
DERIVED_TYPES: dict[str, type[Data]] = {
    "write.decided": WriteDecided,
    "candidate.extracted": CandidateExtracted,
    "memory.asserted": MemoryChanged,
    "memory.superseded": MemoryChanged,
    "memory.retracted": MemoryChanged,
    "memory.contested": MemoryChanged,
    "memory.merged": MemoryChanged,
    "memory.expired": MemoryChanged,
    "memory.erased": MemoryChanged,
}
DATA_TYPES = RAW_TYPES | DERIVED_TYPES
CURRENT_VERSION: dict[str, int] = dict.fromkeys(DATA_TYPES, 1)


class Event(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One immutable event. ``time`` keeps the speaker's UTC offset; ``recordedtime`` is UTC and
    is set by the log, once. ``id`` is unique within its scope."""

    id: str
    type: str
    subject: str
    time: datetime
    source: Source
    data: Data
    recordedtime: datetime | None = None
    dataversion: int = 1

    @property
    def part(self) -> Part | None:
        """Which piece of an oversize text it is; None where it is no piece."""
        return self.data.part if isinstance(self.data, Text | MemoryStated) else None

    @property
    def observed_at(self) -> datetime:
        """When it was said or seen; the producer's clock, with its offset."""
        return self.time

    @property
    def recorded_at(self) -> datetime:
        """When the log accepted it. An error before it has been appended."""
        if self.recordedtime is None:
            raise ValueError(f"event {self.id}: not recorded yet, so it has no recorded_at")
        return self.recordedtime

"""What a memory is, and the assertions it is resolved from."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Literal

import msgspec

Kind = Literal["profile", "fact", "episode", "experience"]
Status = Literal[
    "active",
    "superseded",
    "retracted",
    "contested",
    "pending_review",
    "quarantined",
    "expired",
    "merged",
    "erased",
]
UNDECIDED: tuple[Status, ...] = ("pending_review", "quarantined")
"""What is believed only once a review approves it."""
Outcome = Literal["stored", "rejected", "held", "quarantined"]
Standing = Literal["admitted", "held", "quarantined"]
Polarity = Literal["positive", "negative"]


class Interval(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A half-open interval of UTC instants [start, end). None means open on that side.

    ``granularity`` is the unit the text used ("day", "week", "year", ...); "instant" where the
    interval starts at an observation rather than at a date.
    """

    start: datetime | None = None
    end: datetime | None = None
    granularity: str = "instant"


class Amended(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One reading of what puts the turn before right: the attribute, and its right value.

    ``known``: the words can be no other kind of value, as a city or an occupation, or say
    themselves what they are about. ``text`` tells it of the user, where it had to be read whole.
    """

    attribute: str
    value: str
    known: bool = False
    text: str = ""


class Assertion(msgspec.Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """What one event claims. The unit that resolution works on.

    A fact has ``attribute`` and ``value``; free text (an episode) has an empty attribute, and
    its ``value`` is the text. Sorted by (valid_from, observed_at, event, ordinal).
    """

    event: str
    ordinal: int
    scope: str
    kind: Kind
    subject: str = "user"
    attribute: str = ""
    value: str
    qualifier: str = ""
    polarity: Polarity = "positive"
    valid_from: datetime
    valid_to: datetime | None = None
    observed_at: datetime
    trust: int
    source_kind: str
    confidence: float = 1.0
    text: str
    """Self-contained, with absolute dates: what a reader without the chat needs."""
    quote: str = ""
    """The evidence: the words of the event that say it."""
    context: str = ""
    """More words of the same event to find it by; indexed, never shown."""
    span: tuple[int, int] | None = None
    occurred: Interval | None = None
    """When the event told of took place; None for a lasting state."""
    withdraws: bool = False
    """True where the speaker takes back what was said before ("I misspoke")."""
    restores: bool = False
    beside: bool = False
    """True where it was said in one list with other values of its slot, which hold with it."""
    standing: Standing = "admitted"
    language: str = "en"
    reason: str = ""
    """Why it changed, in the speaker's words, where given."""
    previous: str = ""
    """The value it changed from, where the speaker said it."""
    rule: str = ""
    """The rule that read it."""
    session: str | None = None
    """Whose turn in which conversation said it, of a claim that the next turn may put right, and of
    what puts one right."""
    last: bool = False
    """True where its value is the last that its turn names, so that the next turn may put it right
    without saying what it is about."""
    amends: tuple[str, ...] = ()
    """Of what only puts the turn before right ("I meant Lyon"): attributes its value may be of."""
    readings: tuple[Amended, ...] = ()
    """The same with the value that each of them would have."""


class Memory(msgspec.Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """One version of one memory. Immutable; a change is a new version of the same ``id``.

    Valid time is [valid_from, valid_to); transaction time is [created_at, expired_at). Both are
    half-open, None is open. ``supports`` are the ids of every event that says the same.
    """

    id: str
    version: int
    scope: str
    kind: Kind
    status: Status
    subject: str = "user"
    attribute: str = ""
    value: str
    qualifier: str = ""
    text: str
    quote: str = ""
    context: str = ""
    observed_at: datetime
    valid_from: datetime
    valid_to: datetime | None = None
    created_at: datetime
    expired_at: datetime | None = None
    occurred: Interval | None = None
    update_reason: str = ""
    trust: int
    source_kind: str
    confidence: float = 1.0
    sensitivity: str = "normal"
    content_key: str
    language: str = "en"
    lemmas: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    supports: tuple[str, ...]
    conflicts: tuple[str, ...] = ()
    """Ids of contested memories that disagree with this one, or that it disagrees with."""
    previous: str = ""
    reason: str = ""
    origin: str = ""
    pipeline: str = ""
    """Fingerprint of the pipeline that made this version."""


class Tally(msgspec.Struct, frozen=True):
    """How many memory versions a store holds, and the sum of their digests."""

    count: int
    checksum: int


_CANONICAL = msgspec.json.Encoder(order="deterministic")


def canonical(memory: Memory) -> bytes:
    """The canonical serialisation: what "byte for byte the same memory" compares."""
    return _CANONICAL.encode(memory)


def digest(memory: Memory) -> int:
    """40 bits of BLAKE2b over the version as it was made (``expired_at`` comes later and is left
    out). Forty bits, so that eight million of them add up in a signed 64-bit integer."""
    return recorded_as(memory)[1]


Recorded = tuple[bytes, int]
"""What ``recorded_as`` gives of one version."""


def recorded_as(memory: Memory) -> Recorded:
    """``canonical`` and ``digest`` of a version, serialised once where it has not expired."""
    record = canonical(memory)
    made = record
    if memory.expired_at is not None:
        made = canonical(msgspec.structs.replace(memory, expired_at=None))
    return record, int.from_bytes(hashlib.blake2b(made, digest_size=5).digest(), "big")

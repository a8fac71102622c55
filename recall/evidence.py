"""What recall gives back: evidence, item by item, with how it was found."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

from memstream.recall.rendering import Order, in_order, rendered, rendered_json
from memstream.schemas.memories import Memory, Status


class Found(msgspec.Struct, frozen=True):
    """How one channel found an item, or the reranker placed it: its rank there (from 1) and that
    channel's score."""

    rank: int
    score: float


class Item(msgspec.Struct, frozen=True):
    """One piece of evidence. ``score`` is the fused score, comparable within one answer only;
    where a reranker put the items in order, ``found`` has its place and score as "rerank"."""

    memory: Memory
    score: float
    rank: int
    found: dict[str, Found]


Outcome = Literal["served", "below floor", "collapsed", "beyond limit", "over budget"]


class Considered(msgspec.Struct, frozen=True):
    """One memory that recall looked at: by which channels it was found, its place after fusion
    (None: it did not come so far), what became of it and why."""

    memory: str
    version: int
    text: str
    found: dict[str, Found]
    score: float | None
    rank: int | None
    outcome: Outcome
    detail: str = ""


class Trace(msgspec.Struct, frozen=True):
    """How an answer came about: what was considered, best first after fusion; the weights and
    floors it was fused with; where nothing was served, why; and, where a reranker put the best in
    order, which one."""

    considered: tuple[Considered, ...]
    fusion: dict[str, float]
    abstained: str = ""
    reranker: str = ""


class Evidence(msgspec.Struct, frozen=True):
    """The answer to one recall. Empty ``items`` and empty ``text`` when nothing fits.

    ``degraded`` says in words what was missing (no vectors, a stale index); empty when nothing
    was. ``tokens`` estimates what ``text`` costs in a prompt. ``context`` is the id under which
    the answer was recorded as ``context.served``, for feedback.
    """

    query: str
    text: str
    items: tuple[Item, ...]
    as_of: datetime
    known_at: datetime | None
    channels: tuple[str, ...]
    degraded: tuple[str, ...] = ()
    tokens: int = 0
    omitted: int = 0
    """Fitting items that the budget had no room for."""
    context: str = ""
    trace: Trace | None = None
    """How it came about, where it was asked to be explained."""
    abstained: str = ""
    """Why nothing was looked for, in words; empty where it was."""
    undecided: dict[Status, int] = {}
    """Where nothing was found: how many memories the scopes have that are not believed until a
    review decides, those held ("pending_review") and those in quarantine ("quarantined")."""

    def __bool__(self) -> bool:
        return bool(self.items)

    def to_text(self, *, order: Order = "rank") -> str:
        """``text``, or the same in another order: as "told" it stays the same for the same
        memories, which a prompt cache wants."""
        return rendered(in_order(self.items, order))

    def to_json(self, *, order: Order = "rank") -> str:
        """One JSON object for a prompt: a note, and the memories with id, days, validity, source,
        trust and conflicts. Empty text when nothing fits."""
        return rendered_json(in_order(self.items, order))

    def messages(self, *, role: str = "user", order: Order = "rank") -> list[dict[str, str]]:
        """The evidence as one chat message, or no message at all when nothing fits. It is data, so
        it goes into the user's turn and not into the system's unless ``role`` says so."""
        content = self.to_text(order=order)
        return [{"role": role, "content": content}] if content else []

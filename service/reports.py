"""What the doors answer with: reports that print well and encode to JSON."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from memstream.schemas.events import Event
from memstream.schemas.memories import Memory, Tally


class Check(msgspec.Struct, frozen=True):
    """One thing that was examined. ``mend`` says what to do where it is not ``ok``."""

    name: str
    ok: bool
    detail: str
    mend: str = ""


class Balance(msgspec.Struct, frozen=True):
    """Where every captured event is. Closes when nothing was lost silently:
    captured = stored + rejected + held + quarantined + dead_lettered + erased + in_flight."""

    captured: int
    stored: int
    rejected: int
    held: int
    quarantined: int
    dead_lettered: int
    erased: int
    in_flight: int

    @property
    def closes(self) -> bool:
        """Whether every captured event is accounted for."""
        return self.captured == (
            self.stored
            + self.rejected
            + self.held
            + self.quarantined
            + self.dead_lettered
            + self.erased
            + self.in_flight
        )


class Diagnosis(msgspec.Struct, frozen=True):
    """``doctor``'s answer: healthy when the balance closes and every check is ok."""

    balance: Balance
    checks: tuple[Check, ...]

    @property
    def healthy(self) -> bool:
        """Whether nothing needs mending."""
        return self.balance.closes and all(check.ok for check in self.checks)


class Served(msgspec.Struct, frozen=True):
    """One answer in which a memory was served."""

    context: str
    query: str
    observed_at: datetime
    rank: int
    score: float


class Explanation(msgspec.Struct, frozen=True):
    """The whole chain of one memory or event: what was said, what the gate decided, what was
    extracted, which versions followed, and where it was served. ``changed`` are versions of other
    memories that an event led to: what it ended, withdrew, restored or contested."""

    events: tuple[Event, ...]
    decisions: tuple[Event, ...]
    candidates: tuple[Event, ...]
    versions: tuple[Memory, ...]
    served: tuple[Served, ...]
    erased_events: tuple[str, ...] = ()
    changed: tuple[Memory, ...] = ()


class ErasureReport(msgspec.Struct, frozen=True):
    """What an erasure removed, and whether the directory still holds any of it.

    ``events`` counts what was destroyed: what was asked for, its other parts, and what carried
    its content: ``with_them`` names these, each with the reason. ``restated`` are new events that
    keep what an erased correction said is right; ``scrubbed`` are events that stay without what is
    erased (served contexts, injected spans). ``also_in`` are events of the scope that hold an
    erased text or say the same: statements of their own, to be erased by themselves.

    ``traces`` are files in which a search found something of the erased content. ``searched``
    counts the strings looked for; ``elsewhere`` those found that other scopes hold as well, about
    which a search can prove nothing. ``snapshots_renewed`` are Parquet snapshots inside the
    directory that held it and were taken again; ``snapshots_left`` lie elsewhere and still hold it.
    """

    scope: str
    events: int
    memories: int
    keys_destroyed: int
    records_removed: int
    files_searched: int
    searched: int
    traces: tuple[str, ...]
    with_them: dict[str, str] = {}
    restated: tuple[str, ...] = ()
    scrubbed: tuple[str, ...] = ()
    also_in: tuple[str, ...] = ()
    elsewhere: int = 0
    snapshots_renewed: tuple[str, ...] = ()
    snapshots_left: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether nothing of it is left: no trace, no event of the scope that says it too, and no
        snapshot that this directory knows of."""
        return not (self.traces or self.also_in or self.snapshots_left)


class RebuildReport(msgspec.Struct, frozen=True):
    """How a rebuild went. ``identical`` is None where the pipelines differ, so that no equality
    is to be expected; ``overlap`` is the share of equal results over the shadow queries."""

    generation: str
    previous: str
    events: int
    versions: int
    seconds: float
    verified: bool
    identical: bool | None
    overlap: float | None
    swapped: bool
    problems: tuple[str, ...] = ()


class ReplayReport(msgspec.Struct, frozen=True):
    """What a part of the log makes of itself, in a generation of its own that is not served."""

    events: int
    tally: Tally
    outcomes: dict[str, int]
    memories: tuple[Memory, ...]


class ImportReport(msgspec.Struct, frozen=True):
    """What an import did. ``broken`` names every piece that could not be read, with its place;
    ``differing`` the place of every event whose id was there already with other content: what
    was recorded first is kept."""

    format: str
    read: int
    added: int
    already_there: int
    broken: tuple[str, ...]
    notes: tuple[str, ...]
    last: Any = None
    differing: tuple[str, ...] = ()

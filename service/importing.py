"""Importing: a conversation file into an open memory, in durable batches, with a report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path

from memstream.schemas.errors import ImportFault, InvalidEvent
from memstream.schemas.scope import Scope
from memstream.service.memory import Memory
from memstream.service.reports import ImportReport
from memstream.streams.importers import Told, detect, read_file
from memstream.streams.importers.contract import Broken, Imported, Item
from memstream.streams.log import Position

BATCH = 500
"""Events in one durable append."""


def import_file(
    memory: Memory,
    path: Path,
    *,
    scope: Scope,
    now: datetime,
    format: str = "auto",  # noqa: A002  the name of the option on the command line
    observed_at: datetime | None = None,
    utc_offset: timezone | None = None,
    told: Told | None = None,
    progress: Callable[[int], None] | None = None,
) -> ImportReport:
    """Records every event of the file, or of all files of the folder; see ``read_file`` for the
    arguments and for what it raises.

    Importing again adds only what is new. What cannot be read, or is no valid event, is named in
    the report and the rest goes on. ``progress`` is called with the number of events recorded.
    If it is cut off, everything up to the last batch is recorded; import again to go on.
    """
    recording = _Recording(memory)
    broken: list[str] = []
    notes: list[str] = []
    batch: list[Imported] = []
    for item in read_file(
        path,
        scope=scope,
        now=now,
        format=format,
        observed_at=observed_at,
        utc_offset=utc_offset,
        told=told,
    ):
        if isinstance(item, Imported):
            batch.append(item)
        elif isinstance(item, Broken):
            broken.append(f"{item.where}: {item.problem}")
        else:
            notes.append(item.text)
        if len(batch) >= BATCH:
            recording.add(batch)
            batch = []
            if progress is not None:
                progress(recording.read)
    recording.add(batch)
    if progress is not None:
        progress(recording.read)
    return ImportReport(
        format=_format_of(path, format),
        read=recording.read,
        added=recording.added,
        already_there=recording.already_there,
        broken=(*broken, *recording.refused),
        notes=tuple(notes),
        last=recording.last,
        differing=tuple(recording.differing),
    )


def count_events(items: Iterator[Item]) -> int:
    """How many events there are to come, for a progress bar: reads all of them once."""
    return sum(1 for item in items if isinstance(item, Imported))


class _Recording:
    """Appends batches and counts. An event that capture refuses does not hold up its batch."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self.read = self.added = self.already_there = 0
        self.refused: list[str] = []
        self.differing: list[str] = []
        self.last: Position | None = None

    def add(self, batch: list[Imported]) -> None:
        try:
            self._append(batch)
        except InvalidEvent:
            # Nothing of the batch was appended. One by one, to find which it was.
            for item in batch:
                try:
                    self._append([item])
                except InvalidEvent as error:
                    self.refused.append(f"{item.where}: {error}")
        self.read += len(batch)

    def _append(self, items: list[Imported]) -> None:
        timeless = {item.event.id for item in items if not item.timed}
        positions = self._memory.append([item.event for item in items], timeless=timeless)
        for item, position in zip(items, positions, strict=True):
            if position.differs:
                self.differing.append(f"{item.where}: {position.event}")
            self.already_there += position.duplicate
            self.added += not position.duplicate
            self.last = position


def _format_of(path: Path, asked: str) -> str:
    if asked != "auto":
        return asked
    if path.is_dir():
        return "auto, by file"
    try:
        return detect(path)
    except ImportFault:
        return "none"  # an empty file: its note says so

"""Repeating: an event id counts once; where it comes again with other content, that is said."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import chain, groupby

import msgspec
import structlog

from memstream.schemas.codec import Codec, SealedRow
from memstream.schemas.errors import KeyDestroyed, MemstreamError, SealOutdated
from memstream.schemas.events import Event
from memstream.streams.log import Entry, EventLog, Position

_NAMED = 5
"""So many event ids are named in one warning."""

_LOGGER = structlog.get_logger(__name__)

Groups = Sequence[Sequence[Event]]
"""What one call records: events, each of them one, or all the pieces of an oversize one. A group
without an event is none: nothing is appended for it, and it has no position."""


def rows_of(codec: Codec, groups: Groups) -> list[SealedRow]:
    """The rows to append for the groups. A piece goes in with the first one or not at all."""
    rows = codec.to_rows(chain.from_iterable(groups))
    if all(len(group) == 1 for group in groups):
        return rows
    firsts = (group[0].id if at else None for group in groups for at in range(len(group)))
    return [
        row if first is None else msgspec.structs.replace(row, goes_with=first)
        for row, first in zip(rows, firsts, strict=True)
    ]


def appended(log: EventLog, codec: Codec, groups: Groups) -> list[Position]:
    """Seals and appends; anew where an erasure changed a key between the two."""
    while True:
        try:
            return log.append(rows_of(codec, groups))
        except SealOutdated:
            continue  # every round means that another erasure of a scope came between


def answers(
    log: EventLog,
    codec: Codec,
    groups: Groups,
    positions: Sequence[Position],
    timeless: Collection[str] = (),
) -> list[Position]:
    """One position a group, at its last event, from those that the append gave for all rows; with
    ``differs`` where the event that is there has other content or another time, and a warning that
    names them. Reads only what was a duplicate.

    ``timeless`` are the ids of events whose time nobody gave: it is that of the call, and another
    one says nothing. An event whose content was erased is not compared: nothing is left to
    compare it with.
    """
    groups = [group for group in groups if group]
    firsts: list[Position] = []
    found: list[Position] = []
    at = 0
    for group in groups:
        firsts.append(positions[at])
        at += len(group)
        found.append(msgspec.structs.replace(firsts[-1], offset=positions[at - 1].offset))
    repeated = [index for index, position in enumerate(firsts) if position.duplicate]
    differing: list[str] = []
    try:
        for index, entry in _there(log, firsts, repeated):
            event = groups[index][0]
            other = _other(codec, entry, event, timed=event.id not in timeless)
            if other is not None:
                end = _end(log, entry, other)
                found[index] = msgspec.structs.replace(found[index], offset=end, differs=True)
                differing.append(event.id)
    except MemstreamError as error:
        # The append stands; what cannot be read or opened, doctor names with its mend.
        _LOGGER.warning("duplicates_not_compared", count=len(repeated), error=str(error))
    if differing:
        _LOGGER.warning(
            "event_id_recorded_again_with_other_content",
            count=len(differing),
            events=differing[:_NAMED],
            kept="what was recorded first",
            mend="record what is new under an id of its own",
        )
    return found


def _there(
    log: EventLog, firsts: Sequence[Position], repeated: Sequence[int]
) -> Iterator[tuple[int, Entry]]:
    """What stands in the log at each repeated position. A row of neighbours is read at once, so an
    import of what is there already stays quick."""

    def line(numbered: tuple[int, int]) -> tuple[int, int]:
        place, index = numbered
        return firsts[index].partition, firsts[index].offset - place

    for _, run in groupby(enumerate(repeated), key=line):
        indexes = [index for _, index in run]
        first = firsts[indexes[0]]
        entries = log.read(first.partition, first.offset, len(indexes))
        yield from zip(indexes, entries, strict=True)


def _other(codec: Codec, entry: Entry, event: Event, *, timed: bool) -> Event | None:
    """The event that is there, where it says something else."""
    try:
        same = codec.says_the_same(entry.row, event, timed=timed)
        return None if same else codec.from_row(entry.row)
    except KeyDestroyed:
        return None


def _end(log: EventLog, entry: Entry, event: Event) -> int:
    """The offset of the event's last piece, or its own."""
    if event.part is None:
        return entry.offset
    last = log.find(event.subject, event.part.ids(event.subject, event.id)[-1])
    return entry.offset if last is None else last.offset

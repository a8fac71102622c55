"""Repeating: an event id counts once; where it comes again with other content, that is said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import msgspec
import structlog

from memstream.schemas.codec import Codec
from memstream.schemas.errors import KeyDestroyed, MemstreamError
from memstream.schemas.events import Event
from memstream.streams.log import EventLog, Position

_NAMED = 5
"""So many event ids are named in one warning."""

_LOGGER = structlog.get_logger(__name__)


def marked(
    log: EventLog, codec: Codec, events: Sequence[Event], positions: list[Position]
) -> list[Position]:
    """The positions that an append gave for the events, with ``differs`` where the event that is
    there has other content, and a warning that names them. Reads only what was a duplicate.

    Changes nothing in the log. An event whose content was erased is not compared: nothing is left
    to compare it with.
    """
    repeated = [index for index, position in enumerate(positions) if position.duplicate]
    if not repeated:
        return positions
    try:
        differing = list(_differing(log, codec, events, positions, repeated))
    except MemstreamError as error:
        # The append stands; what cannot be read or opened, doctor names with its mend.
        _LOGGER.warning("duplicates_not_compared", count=len(repeated), error=str(error))
        return positions
    if not differing:
        return positions
    found = list(positions)
    for index in differing:
        found[index] = msgspec.structs.replace(positions[index], differs=True)
    _LOGGER.warning(
        "event_id_recorded_again_with_other_content",
        count=len(differing),
        events=[positions[index].event for index in differing[:_NAMED]],
        kept="what was recorded first",
        mend="record what is new under an id of its own",
    )
    return found


def _differing(
    log: EventLog,
    codec: Codec,
    events: Sequence[Event],
    positions: Sequence[Position],
    repeated: Sequence[int],
) -> Iterator[int]:
    """Those of ``repeated`` whose event says something else than the one in the log. A row of
    neighbours is read at once, so an import of what is there already stays quick."""

    def line(numbered: tuple[int, int]) -> tuple[int, int]:
        place, index = numbered
        return positions[index].partition, positions[index].offset - place

    for _, run in groupby(enumerate(repeated), key=line):
        indexes = [index for _, index in run]
        first = positions[indexes[0]]
        entries = log.read(first.partition, first.offset, len(indexes))
        for index, entry in zip(indexes, entries, strict=True):
            try:
                if not codec.says_the_same(entry.row, events[index]):
                    yield index
            except KeyDestroyed:
                continue

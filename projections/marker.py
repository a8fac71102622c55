"""The marker: one point of a vector store that is no memory version and says what the others are.

It holds the generation's stamp, the position, and the count and checksum of the points at that
position. It has no vectors and no tenant, so no search and no IDF ever meets it. The same for
every vector store.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from memstream.projections.points import Changes
from memstream.projections.projection import Generation, offsets_after
from memstream.schemas.errors import ProjectionDamaged

MARKER = 0
"""The id of the one point that is no memory version."""


class Marker(msgspec.Struct, forbid_unknown_fields=True):
    """The payload of the marker point. ``positions`` holds the next raw offset of every partition.
    ``pending`` is the position an unfinished apply was on its way to, 0 for none; ``unswept`` is
    set from the start of an erasure to its end. While either is set, ``count`` and ``checksum``
    have to be counted anew."""

    stamp: Generation
    position: int = 0
    count: int = 0
    checksum: int = 0
    pending: int = 0
    unswept: bool = False
    positions: dict[int, int] = {}

    def after(self, change: Changes, stored: Mapping[str, int]) -> Marker:
        """The marker once the change is written; ``stored`` are the digests of the points that the
        change writes anew, as far as they are there already."""
        after = msgspec.structs.replace(
            self,
            position=change.last_seq,
            positions=offsets_after(self.positions, change.steps),
            pending=0,
        )
        for new in change.points:
            before = stored.get(new.id)
            after.count += before is None
            after.checksum += new.payload["digest"] - (before or 0)
        return after

    def payload(self) -> dict[str, Any]:
        """The marker as plain values, as it is stored."""
        built: dict[str, Any] = msgspec.to_builtins(self, str_keys=True)
        return built


def marker_of(where: object, payload: Mapping[str, Any] | None) -> Marker:
    """The marker of a stored payload, None where its point is missing. Raises
    ``ProjectionDamaged``, naming the store as ``where``."""
    try:
        return msgspec.convert(payload, Marker, str_keys=True)
    except msgspec.ValidationError as error:
        raise ProjectionDamaged(
            f"{where}: its marker point is missing or unreadable; mend: memstream rebuild"
        ) from error


def shown(generation: Generation) -> str:
    """A generation in an error message."""
    return (
        f"pipeline {generation.pipeline!r}, embedder {generation.embedder!r}, "
        f"schema {generation.schema!r}"
    )

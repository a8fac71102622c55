"""What is recorded of an answer: which memories were served, and how each was found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from memstream.schemas.events import ContextServed, ServedItem, ServedScore
from memstream.schemas.ids import served_key
from memstream.streams.log import EventLog

if TYPE_CHECKING:
    from memstream.recall.evidence import Evidence

_MOST_READ = 200


def context_of(evidence: Evidence, generation: str) -> ContextServed:
    """The data of ``context.served`` for an answer. It holds no text of a memory, only its key."""
    return ContextServed(
        query=evidence.query,
        items=tuple(
            ServedItem(
                memory=item.memory.id,
                version=item.memory.version,
                rank=item.rank,
                score=round(item.score, 6),
                key=served_key(item.memory.text),
                found={
                    channel: ServedScore(found.rank, round(found.score, 6))
                    for channel, found in sorted(item.found.items())
                },
            )
            for item in evidence.items
        ),
        as_of=evidence.as_of,
        known_at=evidence.known_at,
        channels=evidence.channels,
        degraded=evidence.degraded,
        generation=generation,
    )


def only_served(log: EventLog, positions: Mapping[int, int]) -> bool:
    """Whether all that the log has behind the positions are served contexts. No memory is made of
    one: the gate keeps it for the turn that comes next. Of very many it is not asked."""
    return all(
        len(waiting) < _MOST_READ and all(each.row.type == "context.served" for each in waiting)
        for partition in range(log.partitions)
        for waiting in [log.read(partition, positions.get(partition, 0), _MOST_READ)]
    )

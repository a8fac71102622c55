"""What is recorded of an answer: which memories were served, and how each was found."""

from __future__ import annotations

from memstream.recall.evidence import Evidence
from memstream.schemas.events import ContextServed, ServedItem, ServedScore
from memstream.schemas.ids import served_key


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

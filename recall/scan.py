"""The degraded read: BM25 over a scope's memories read straight from the state store.

Serves when the vector index is not there: another process holds it, or it is being rebuilt.
Exact, lexical only, and linear in the number of memories.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from memstream.projections.queries import Channel, Hit, IndexQuery
from memstream.schemas.instants import OPEN_MICROS, to_micros
from memstream.schemas.memories import Memory

_K1, _B = 1.2, 0.75


def scanned(memories: Iterable[Memory], query: IndexQuery) -> dict[Channel, list[Hit]]:
    """The hits of the lexical channel among the memories that the query's filters let through.

    BM25 (Robertson and Zaragoza, 2009) with the statistics of what it was given.
    """
    held = [memory for memory in memories if fits(memory, query)]
    wanted = list(dict.fromkeys(query.lexemes))
    counted = [Counter(memory.lemmas) for memory in held]
    frequency = {term: sum(1 for words in counted if term in words) for term in wanted}
    average = sum(len(memory.lemmas) for memory in held) / len(held) if held else 1.0
    scored: list[tuple[float, Memory]] = []
    for memory, words in zip(held, counted, strict=True):
        score = 0.0
        for term in wanted:
            count = words.get(term, 0)
            if count:
                rarity = math.log(1 + (len(held) - frequency[term] + 0.5) / (frequency[term] + 0.5))
                length = 1 - _B + _B * len(memory.lemmas) / max(average, 1.0)
                score += rarity * count * (_K1 + 1) / (count + _K1 * length)
        if score > 0:
            scored.append((score, memory))
    scored.sort(key=lambda pair: (-pair[0], pair[1].id))
    best = scored[: query.limit]
    return {"bm25": [Hit(memory, score, rank) for rank, (score, memory) in enumerate(best, 1)]}


def fits(memory: Memory, query: IndexQuery) -> bool:
    """Whether a version passes the query's hard filters: the same ones the index applies."""
    return (
        memory.scope in query.scopes
        and memory.status in query.statuses
        and (query.kinds is None or memory.kind in query.kinds)
        and to_micros(memory.created_at) <= query.known_at < _end(memory.expired_at)
        and (
            query.valid_at is None
            or to_micros(memory.valid_from) <= query.valid_at < _end(memory.valid_to)
        )
    )


def _end(instant: object) -> int:
    return OPEN_MICROS if instant is None else to_micros(instant)  # type: ignore[arg-type]


def newest(memories: Sequence[Memory]) -> list[Memory]:
    """The last version of each memory, in the order of their ids."""
    latest: dict[str, Memory] = {}
    for memory in memories:
        latest[memory.id] = memory
    return [latest[name] for name in sorted(latest)]

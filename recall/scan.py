"""The degraded read: BM25 over a scope's memories read straight from the state store.

Serves when the vector index is not there: another process holds it, or it is being rebuilt.
Exact, lexical only, and linear in the number of memories.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from memstream.projections.points import point_id
from memstream.projections.queries import (
    Channel,
    Hit,
    IndexQuery,
    Place,
    Surroundings,
    admits,
)
from memstream.projections.sketches import Sketch, sketch_of
from memstream.schemas.instants import to_micros
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
    scored.sort(key=lambda pair: (-pair[0], _name(pair[1])))
    best = [(score, _sketched(memory)) for score, memory in scored[: query.limit]]
    return {"bm25": [Hit(sketch, score, rank) for rank, (score, sketch) in enumerate(best, 1)]}


def _sketched(memory: Memory) -> Sketch:
    return sketch_of(memory, _name(memory))


def _name(memory: Memory) -> str:
    return point_id(memory.id, memory.version)


class Scan:
    """The memories of a question's scopes as an index: what recall asks when it has none."""

    def __init__(self, memories: Iterable[Memory]) -> None:
        self._memories = list(memories)

    def search(self, query: IndexQuery) -> dict[Channel, list[Hit]]:
        """The hits of the lexical channel."""
        return scanned(self._memories, query)

    def around(
        self, query: IndexQuery, places: Sequence[Place], *, before: int, after: int, within: int
    ) -> list[Surroundings]:
        """What was said just before and after each place."""
        told: dict[str, dict[int, list[Memory]]] = {place.scope: {} for place in places}
        for memory in self._memories:
            if memory.scope in told and fits(memory, query):
                at = to_micros(memory.observed_at)
                told[memory.scope].setdefault(at, []).append(memory)
        found: list[Surroundings] = []
        for place in places:
            moments = {at for at in told[place.scope] if abs(at - place.at) <= within}
            earlier = sorted((at for at in moments if at < place.at), reverse=True)[:before]
            later = sorted(at for at in moments if at > place.at)[:after]
            found.append(
                Surroundings(
                    tuple(self._of(told[place.scope], earlier)),
                    tuple(self._of(told[place.scope], later)),
                )
            )
        return found

    def read(self, query: IndexQuery, points: Sequence[str]) -> dict[str, Memory]:
        """The memories of points; of those that any index found."""
        wanted = frozenset(points)
        named = ((_name(each), each) for each in self._memories if each.scope in query.scopes)
        return {name: memory for name, memory in named if name in wanted}

    def _of(self, told: Mapping[int, list[Memory]], moments: Sequence[int]) -> Iterator[Sketch]:
        for at in moments:
            yield from map(_sketched, sorted(told[at], key=_name))


def fits(memory: Memory, query: IndexQuery) -> bool:
    """Whether a version passes the query's hard filters: the same ones the index applies."""
    return admits(query, memory)

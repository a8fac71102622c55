"""What recall is measured against: plain retrieval over the turns as they were said, and none.

BM25 (k1 = 1.2, b = 0.75) over lexemes, the cosine of whole turns, their reciprocal rank fusion
(Cormack, Clarke and Buettcher, 2009; k = 60), and the last turns that fit a budget.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from memstream.processors.lexemes import lexemes
from memstream.projections.embedders import Embedder
from memstream.recall.packing import estimated_tokens
from memstream.schemas.events import Event, Text
from memstream.service.evaluating_data import Question, origin
from memstream.service.evaluating_figures import BUDGETS, Answered

MEMORY_OFF = "memory off"
_K1, _B, _RRF_K = 1.2, 0.75, 60
_MOST = 50


class Turns:
    """The turns of one conversation, in the order in which they were said."""

    def __init__(self, events: Sequence[Event], embedder: Embedder) -> None:
        said = [each for each in events if isinstance(each.data, Text) and each.data.text]
        said.sort(key=lambda each: (each.time, each.id))
        self.ids = [origin(each) for each in said]
        texts = [each.data.text for each in said if isinstance(each.data, Text)]
        self._tokens = [estimated_tokens(f"- {each}") for each in texts]
        self._words = [Counter(lexemes(each)) for each in texts]
        self._lengths = np.array([float(sum(each.values())) for each in self._words] or [0.0])
        self._frequency = Counter(word for each in self._words for word in each)
        self._embedder = embedder
        self._vectors = embedder.passages(texts) if embedder.dimension else None

    def answered(self, dialogue: str, question: Question) -> dict[str, Answered]:
        """How each baseline does on a question."""
        orders = {"bm25": self._by_words(question.text)}
        if self._vectors is not None:
            near = self._vectors @ self._embedder.query(question.text)
            orders["dense"] = [int(at) for at in np.argsort(-near, kind="stable")][:_MOST]
            orders["rrf"] = _fused(list(orders.values()))
        last = list(range(len(self.ids)))[::-1]
        return {
            name: self._scored(dialogue, question, order)
            for name, order in (orders | {MEMORY_OFF: last}).items()
        }

    def _by_words(self, text: str) -> list[int]:
        count, average = len(self.ids), max(float(self._lengths.mean()), 1.0)
        scores = np.zeros(count)
        for word in dict.fromkeys(lexemes(text)):
            among = self._frequency.get(word, 0)
            if not among:
                continue
            rarity = math.log(1 + (count - among + 0.5) / (among + 0.5))
            for at, words in enumerate(self._words):
                times = words.get(word, 0)
                if times:
                    length = 1 - _B + _B * self._lengths[at] / average
                    scores[at] += rarity * times * (_K1 + 1) / (times + _K1 * length)
        order = [int(at) for at in np.argsort(-scores, kind="stable")]
        return [at for at in order if scores[at] > 0][:_MOST]

    def _scored(self, dialogue: str, question: Question, order: Sequence[int]) -> Answered:
        rank_of = {self.ids[at]: rank for rank, at in reversed(list(enumerate(order, 1)))}
        in_budget: dict[int, float] = {}
        for budget in BUDGETS:
            left, held = budget, set()
            for at in order:
                if self._tokens[at] > left:
                    break
                left -= self._tokens[at]
                held.add(self.ids[at])
            in_budget[budget] = sum(one in held for one in question.evidence) / len(
                question.evidence
            )
        found: Mapping[str, int | None] = {each: rank_of.get(each) for each in question.evidence}
        return Answered(dialogue, question, dict(found), in_budget, 0.0, items=len(order))


def _fused(orders: Sequence[Sequence[int]]) -> list[int]:
    scores: dict[int, float] = {}
    for order in orders:
        for rank, at in enumerate(order, 1):
            scores[at] = scores.get(at, 0.0) + 1 / (_RRF_K + rank)
    return sorted(scores, key=lambda at: (-scores[at], at))[:_MOST]

"""Reranking: a second opinion on the order of the best candidates, by whoever reads question and
text together. Optional; recall is whole without it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import msgspec

from memstream.recall.evidence import Found, Item
from memstream.schemas.counting import quantity
from memstream.schemas.errors import MemstreamError

RERANK = "rerank"
"""Under this name ``found`` tells an item's place and score by the reranker, as by a channel."""


class RerankerUnavailable(MemstreamError):
    """The reranker is not installed, cannot load its model, did not answer, or gave no order."""


class Reranker(Protocol):
    """Says how well each text answers a question.

    Obligations: ``scores`` gives one finite number per text, in the order of the texts; higher is
    better, on any scale, as only their order within one call counts. The same question and text
    give the same score, whatever other texts are asked for with it. Any text is accepted, also an
    empty one; calls from several threads are safe. A recall waits for the answer, and has its turn
    at the index meanwhile: answer quickly, or raise ``RerankerUnavailable`` with a message that
    quotes neither question nor texts, since readers of other scopes are told it too. ``identity``
    names the make and the model, and changes whenever a score could.
    """

    @property
    def identity(self) -> str: ...

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]: ...


def scores_of(reranker: Reranker, query: str, texts: Sequence[str]) -> list[float]:
    """Its scores, checked. Raises ``RerankerUnavailable``, whatever went wrong in it."""
    try:
        scores = [float(each) for each in reranker.scores(query, texts)]
    except RerankerUnavailable:
        raise
    except Exception as error:
        # It may be anybody's; what it raises is no reason for a question to go unanswered. What it
        # says stays here: it may quote a memory, and the reason is told in every scope.
        raise RerankerUnavailable(
            f"reranker {reranker.identity}: raised {type(error).__name__}; mend: call its scores "
            "with a question and texts to see what it says"
        ) from error
    if len(scores) != len(texts):
        raise RerankerUnavailable(
            f"reranker {reranker.identity}: {quantity(len(scores), 'score')} for "
            f"{quantity(len(texts), 'text')}; expected one for each"
        )
    if not all(map(math.isfinite, scores)):
        raise RerankerUnavailable(
            f"reranker {reranker.identity}: a score is no number (NaN or infinite)"
        )
    return scores


def reranked(reranker: Reranker, query: str, items: Sequence[Item], most: int) -> list[Item]:
    """The best ``most`` items in the reranker's order, equal ones in the order they had, counted
    anew, and then the others. Raises ``RerankerUnavailable``."""
    best = items[:most]
    scores = scores_of(reranker, query, [item.memory.text for item in best])
    order = sorted(range(len(best)), key=lambda at: -scores[at])
    return [
        msgspec.structs.replace(
            best[at], rank=place, found={**best[at].found, RERANK: Found(place, scores[at])}
        )
        for place, at in enumerate(order, start=1)
    ] + list(items[most:])

"""The figures of an evaluation: how one question went, and what many of them sum up to."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from memstream.service.evaluating_data import Question

BUDGETS = (300, 600, 1200)
"""Token budgets for which the found evidence is counted too."""


class Answered(msgspec.Struct, frozen=True):
    """How one question went. ``found`` gives for each evidence turn the rank (from 1) of the
    first result that it supports; None where none does. ``in_budget`` gives for each token budget
    the share of the evidence in what fits it."""

    dialogue: str
    question: Question
    found: dict[str, int | None]
    in_budget: dict[int, float]
    latency_ms: float
    embedding_ms: float = 0.0
    items: int = 0

    def recall_at(self, most: int) -> float:
        """The share of the evidence among the first ``most`` results."""
        ranks = list(self.found.values())
        return sum(1 for rank in ranks if rank is not None and rank <= most) / len(ranks)

    @property
    def reciprocal_rank(self) -> float:
        """1 / the rank of the first result that any evidence supports; 0 where there is none."""
        ranks = [rank for rank in self.found.values() if rank is not None]
        return 1 / min(ranks) if ranks else 0.0


class Scores(msgspec.Struct, frozen=True):
    """Means over questions, each from 0 to 1."""

    questions: int
    recall_at_5: float
    recall_at_10: float
    recall_at_limit: float
    mean_reciprocal_rank: float
    recall_in_300_tokens: float
    recall_in_600_tokens: float
    recall_in_1200_tokens: float


class Abstention(msgspec.Struct, frozen=True):
    """Whether recall keeps silent where it knows nothing.

    ``off_topic`` questions were asked where nothing answers them: those of one conversation in the
    scope of the next, and those that a data set marks as unanswerable. ``injected_share`` of them
    got something all the same. ``answered_share`` of the questions with evidence got anything.
    """

    off_topic: int
    injected_share: float
    mean_injected_items: float
    answered_share: float


class Comparison(msgspec.Struct, frozen=True):
    """The same questions asked of a generation that is not served. ``better`` and ``worse`` count
    questions whose recall at ten differs; ``changed`` names those that became worse."""

    generation: str
    against: str
    embedder: str
    scores: Scores
    difference: dict[str, float]
    better: int
    worse: int
    changed: tuple[str, ...] = ()


class EvalReport(msgspec.Struct, frozen=True):
    """What an evaluation measured. Shares are of the events; latencies are of whole recalls,
    embedding the question included, and ``search_ms`` without it.

    ``baselines``: plain BM25, plain cosine and their reciprocal rank fusion (k = 60) over the turns
    as they were said, one turn = one document; and ``memory off``: the last turns that fit the
    budget, which is what an agent without a memory has in its prompt. ``ablation``: the same
    questions without one channel, or with one weight at 0.
    """

    format: str
    embedder: str
    limit: int
    conversations: int
    turns: int
    overall: Scores
    by_category: dict[str, Scores]
    memories_by_kind: dict[str, int]
    stored_share: float
    rejected_share: float
    latency_ms_p50: float
    latency_ms_p95: float
    skipped_questions: int
    notes: tuple[str, ...] = ()
    search_ms_p50: float = 0.0
    search_ms_p95: float = 0.0
    abstention: Abstention | None = None
    baselines: dict[str, Scores] = {}
    ratio_to_best_baseline: dict[str, float] = {}
    ablation: dict[str, Scores] = {}


def scores(answered: Sequence[Answered], limit: int) -> Scores:
    """The means of what was answered."""
    return Scores(
        questions=len(answered),
        recall_at_5=mean(each.recall_at(5) for each in answered),
        recall_at_10=mean(each.recall_at(10) for each in answered),
        recall_at_limit=mean(each.recall_at(limit) for each in answered),
        mean_reciprocal_rank=mean(each.reciprocal_rank for each in answered),
        recall_in_300_tokens=mean(each.in_budget[300] for each in answered),
        recall_in_600_tokens=mean(each.in_budget[600] for each in answered),
        recall_in_1200_tokens=mean(each.in_budget[1200] for each in answered),
    )


def by_category(answered: Sequence[Answered], limit: int) -> dict[str, Scores]:
    """The means of every category, in the order of their names."""
    return {
        name: scores([each for each in answered if each.question.category == name], limit)
        for name in sorted({each.question.category for each in answered})
    }


def ratios(found: Scores, baselines: Mapping[str, Scores]) -> dict[str, float]:
    """Every figure divided by that of the best baseline; left out where no baseline has any."""
    ratio: dict[str, float] = {}
    for name in figures_of(found):
        best = max((getattr(each, name) for each in baselines.values()), default=0.0)
        if best:
            ratio[name] = round(getattr(found, name) / best, 4)
    return ratio


def compared(
    generation: str,
    against: str,
    embedder: str,
    mine: Sequence[Answered],
    other: Sequence[Answered],
    limit: int,
) -> Comparison:
    """``other``, of ``against``, held against ``mine``, of ``generation``, question by question."""
    before, after = scores(mine, limit), scores(other, limit)
    pairs = [
        (one.question.text, one.recall_at(10), two.recall_at(10))
        for one, two in zip(mine, other, strict=True)
    ]
    return Comparison(
        generation=generation,
        against=against,
        embedder=embedder,
        scores=after,
        difference={
            name: round(getattr(after, name) - getattr(before, name), 4)
            for name in figures_of(after)
        },
        better=sum(now > then for _, then, now in pairs),
        worse=sum(now < then for _, then, now in pairs),
        changed=tuple(text for text, then, now in pairs if now < then),
    )


def figures_of(found: Scores) -> list[str]:
    """The names of the means, without the count."""
    return [name for name in found.__struct_fields__ if name != "questions"]


def mean(values: Iterable[float]) -> float:
    """The mean, to four digits; 0 of nothing."""
    listed = list(values)
    return round(statistics.fmean(listed), 4) if listed else 0.0


def at_share(values: Iterable[float], share: float) -> float:
    """The value below which that share of the values lies."""
    ordered = sorted(values)
    return round(ordered[min(len(ordered) - 1, int(len(ordered) * share))], 3) if ordered else 0.0

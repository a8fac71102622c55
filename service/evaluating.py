"""Evaluating recall: how much of the evidence that a question needs is found.

A data set of conversations with questions is imported through the same importers and the same API
that an application uses, each conversation into a scope of its own, and every question is asked as
of just after its conversation ended. Nothing is answered by a model: what is measured is which of
the turns that the data set names as evidence stand behind the results.

Everything but the latencies is the same in every run.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from memstream.projections.embedders import Embedder, Vectors, embedder_named
from memstream.recall.evidence import Evidence
from memstream.recall.settings import Settings
from memstream.schemas.errors import ImportFault
from memstream.schemas.events import Text
from memstream.schemas.scope import Scope
from memstream.service.evaluating_baselines import MEMORY_OFF, Turns
from memstream.service.evaluating_data import FORMATS, Dialogue, Question, origin
from memstream.service.evaluating_figures import (
    BUDGETS,
    Abstention,
    Answered,
    EvalReport,
    Scores,
    at_share,
    by_category,
    mean,
    ratios,
    scores,
)
from memstream.service.memory import Memory
from memstream.streams.clock import ManualClock
from memstream.streams.embedded import Progress

__all__ = ["FORMATS", "Answered", "EvalReport", "Scores", "Trial", "evaluate"]

_BUDGET_LIMIT = 50
_IMPORTED_AT = datetime(2026, 1, 1, tzinfo=UTC)

Recall = Callable[[Scope, str, datetime, int, int | None], Evidence]
"""(scope, question, as_of, limit, budget in tokens) -> what is found."""


def evaluate(
    path: Path,
    *,
    format: str = "locomo",  # noqa: A002  the name of the option on the command line
    embedder: str | Embedder = "none",
    limit: int = 10,
    progress: Progress | None = None,
    settings: Settings | None = None,
    ablate: bool = False,
    baselines: bool = True,
) -> EvalReport:
    """Imports the data set into a temporary directory, asks every question, and sums up.

    ``ablate`` asks them again without each channel and each weight. ``progress`` is called with
    (questions answered, questions there are). Raises ``ImportFault`` where the format is unknown
    or the file is not in it.
    """
    with tempfile.TemporaryDirectory(prefix="memstream-eval-") as folder:
        trial = Trial(path, Path(folder), format=format, embedder=embedder)
        variants = ablations(settings or Settings(), trial.embedder) if ablate else {}
        total = len(trial.asked) * (1 + len(variants))
        counted = _Counted(progress, total)
        answered = trial.ask(limit=limit, settings=settings, progress=counted.progress)
        report = trial.report(answered, limit=limit)
        found = {}
        for name, changed in variants.items():
            counted.next_round()
            again = trial.ask(limit=limit, settings=changed, progress=counted.progress)
            found[name] = scores(again, limit)
        measured = trial.baselines(limit) if baselines else {}
        return msgspec.structs.replace(
            report,
            ablation=found,
            abstention=trial.abstention(answered, settings),
            baselines=measured,
            ratio_to_best_baseline=ratios(
                report.overall,
                {name: each for name, each in measured.items() if name != MEMORY_OFF},
            ),
        )


def ablations(settings: Settings, embedder: str) -> dict[str, Settings]:
    """The settings without each channel there is, and with each other weight at 0."""
    channels = ("bm25",) if embedder == "none" else ("bm25", "dense")
    found: dict[str, Settings] = {}
    for channel in channels if len(channels) > 1 else ():
        left = tuple(each for each in channels if each != channel)
        found[f"without {channel}"] = msgspec.structs.replace(settings, channels=left)
    for name in settings.__struct_fields__:
        of_a_channel = name in ("dense_weight", "lexical_weight", "bm25_weight")
        if name.endswith("_weight") and not of_a_channel and getattr(settings, name):
            changed = msgspec.structs.replace(settings, **{name: 0.0})
            found[f"without {name.removesuffix('_weight')}"] = changed
    return found


class Trial:
    """One data set, imported into a folder; may be asked again with other settings."""

    def __init__(
        self,
        path: Path,
        folder: Path,
        *,
        format: str = "locomo",  # noqa: A002  the name of the option on the command line
        embedder: str | Embedder = "none",
    ) -> None:
        self.format = format
        self._embedder = Remembering(
            embedder_named(embedder) if isinstance(embedder, str) else embedder
        )
        self.embedder = embedder if isinstance(embedder, str) else embedder.identity
        self.folder = folder
        self.dialogues = dialogues(path, format)
        self.origin_of: dict[str, str] = {}
        """Event id to the turn's own id in the data set."""
        self._asked_at: dict[str, datetime] = {}
        self._turns: dict[str, Turns] = {}
        self._import()

    @property
    def asked(self) -> list[tuple[Dialogue, Question]]:
        """Every question that has evidence."""
        return [(each, one) for each in self.dialogues for one in each.questions if one.evidence]

    def ask(
        self,
        *,
        limit: int = 10,
        settings: Settings | None = None,
        progress: Progress | None = None,
    ) -> list[Answered]:
        """Asks every question that has evidence."""
        answered: list[Answered] = []
        with self._asking(settings) as recall:
            for dialogue, question in self.asked:
                as_of = question.as_of or self._asked_at[dialogue.name]
                answered.append(
                    answer(
                        recall,
                        dialogue,
                        question,
                        as_of,
                        limit=max(limit, 10),
                        origin_of=self.origin_of,
                        embed=self._embedder.fresh,
                    )
                )
                if progress is not None:
                    progress(len(answered), len(self.asked))
        return answered

    def abstention(
        self, answered: Sequence[Answered], settings: Settings | None = None
    ) -> Abstention | None:
        """Asks the questions of each conversation in the scope of the next, and those that have
        no answer; None where there is nothing of either kind."""
        items: list[int] = []
        with self._asking(settings) as recall:
            for at, dialogue in enumerate(self.dialogues):
                other = self.dialogues[(at + 1) % len(self.dialogues)]
                for question in dialogue.questions:
                    where = dialogue if not question.evidence else other
                    if question.evidence and other is dialogue:
                        continue
                    if not question.evidence and not dialogue.unanswerable:
                        continue
                    as_of = self._asked_at[where.name]
                    items.append(len(recall(where.scope, question.text, as_of, 10, None).items))
        if not items:
            return None
        return Abstention(
            off_topic=len(items),
            injected_share=mean(each > 0 for each in items),
            mean_injected_items=mean(items),
            answered_share=mean(each.items > 0 for each in answered),
        )

    def baselines(self, limit: int) -> dict[str, Scores]:
        """What plain retrieval over the turns finds, and what no memory at all would."""
        found: dict[str, list[Answered]] = {}
        for dialogue, question in self.asked:
            turns = self._turns[dialogue.name]
            for name, each in turns.answered(dialogue.name, question).items():
                found.setdefault(name, []).append(each)
        return {name: scores(each, limit) for name, each in found.items()}

    def report(self, answered: Sequence[Answered], *, limit: int = 10) -> EvalReport:
        """Sums up what was answered."""
        with self._opened(None) as memory:
            balance = memory.doctor().balance
            kinds = Counter(
                each.kind
                for dialogue in self.dialogues
                for each in memory.memories(dialogue.scope, everything=True)
            )
        captured = max(balance.captured, 1)
        whole = [each.latency_ms + each.embedding_ms for each in answered]
        search = [each.latency_ms for each in answered]
        return EvalReport(
            format=self.format,
            embedder=self.embedder,
            limit=limit,
            conversations=len(self.dialogues),
            turns=len(self.origin_of),
            overall=scores(answered, limit),
            by_category=by_category(answered, limit),
            memories_by_kind=dict(sorted(kinds.items())),
            stored_share=round(balance.stored / captured, 4),
            rejected_share=round(balance.rejected / captured, 4),
            latency_ms_p50=at_share(whole, 0.5),
            latency_ms_p95=at_share(whole, 0.95),
            search_ms_p50=at_share(search, 0.5),
            search_ms_p95=at_share(search, 0.95),
            skipped_questions=sum(
                not one.evidence and not each.unanswerable
                for each in self.dialogues
                for one in each.questions
            ),
            notes=tuple(note for each in self.dialogues for note in each.notes),
        )

    @contextmanager
    def _asking(self, settings: Settings | None) -> Iterator[Recall]:
        with self._opened(settings) as memory:
            memory.flush()
            yield recall_of(memory)

    def _opened(self, settings: Settings | None) -> Memory:
        clock = ManualClock(_IMPORTED_AT, step=timedelta(milliseconds=1))
        return Memory.open(
            self.folder / "memory",
            embedder=self._embedder if self._embedder.dimension else "none",
            worker=False,
            clock=clock,
            settings=settings,
        )

    def _import(self) -> None:
        with self._opened(None) as memory:
            for dialogue in self.dialogues:
                events = dialogue.read(self.folder, _IMPORTED_AT)
                if not events:
                    raise ImportFault(f"{dialogue.name}: questions, but nothing was said there")
                for event in events:
                    if isinstance(event.data, Text):
                        self.origin_of[event.id] = origin(event)
                ended = max(event.observed_at for event in events)
                self._asked_at[dialogue.name] = ended + timedelta(minutes=1)
                self._turns[dialogue.name] = Turns(events, self._embedder)
                memory.append(events)
            memory.flush()


def dialogues(path: Path, format: str) -> list[Dialogue]:  # noqa: A002
    """The conversations of a data set. Raises ``ImportFault``."""
    if format not in FORMATS:
        raise ImportFault(
            f"evaluation format {format!r} is unknown; mend: one of {', '.join(FORMATS)}"
        )
    return FORMATS[format](path)


def recall_of(memory: Memory) -> Recall:
    """The recall of an open memory; nothing it serves is recorded."""

    def recall(
        scope: Scope, text: str, as_of: datetime, limit: int, budget: int | None
    ) -> Evidence:
        return memory.recall(
            scope, text, limit=limit, budget_tokens=budget, as_of=as_of, record=False
        )

    return recall


def answer(
    recall: Recall,
    dialogue: Dialogue,
    question: Question,
    as_of: datetime,
    *,
    limit: int,
    origin_of: dict[str, str],
    embed: Callable[[str], float] | None = None,
) -> Answered:
    """Asks one question, once for its ranks and once for every budget. ``embed`` gives the
    question its vector beforehand, and how many milliseconds that took."""
    embedding_ms = embed(question.text) if embed is not None else 0.0
    started = time.perf_counter()
    evidence = recall(dialogue.scope, question.text, as_of, limit, None)
    latency = time.perf_counter() - started
    in_budget: dict[int, float] = {}
    for budget in BUDGETS:
        within = _ranks(
            recall(dialogue.scope, question.text, as_of, _BUDGET_LIMIT, budget), origin_of
        )
        in_budget[budget] = sum(one in within for one in question.evidence) / len(question.evidence)
    ranks = _ranks(evidence, origin_of)
    return Answered(
        dialogue=dialogue.name,
        question=question,
        found={each: ranks.get(each) for each in question.evidence},
        in_budget=in_budget,
        latency_ms=latency * 1e3,
        embedding_ms=embedding_ms,
        items=len(evidence.items),
    )


def _ranks(evidence: Evidence, origin_of: dict[str, str]) -> dict[str, int]:
    """Each turn behind the results, with the rank of the first result it supports."""
    ranks: dict[str, int] = {}
    for item in evidence.items:
        for event in item.memory.supports:
            ranks.setdefault(origin_of.get(event, event), item.rank)
    return ranks


class Remembering:
    """An embedder that embeds each question once, so that a search can be timed without it."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self._vectors: dict[str, NDArray[np.float32]] = {}
        self.identity, self.dimension = inner.identity, inner.dimension

    def passages(self, texts: Sequence[str]) -> Vectors:
        return self._inner.passages(texts)

    def query(self, text: str) -> Vectors:
        if text not in self._vectors:
            self._vectors[text] = self._inner.query(text)
        return self._vectors[text]

    def fresh(self, text: str) -> float:
        """Embeds a question; the milliseconds it took."""
        started = time.perf_counter()
        self._vectors[text] = self._inner.query(text)
        return (time.perf_counter() - started) * 1e3


class _Counted:
    """Progress over several rounds of the same questions."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self._total, self._before, self._last = progress, total, 0, 0

    def progress(self, done: int, _: int) -> None:
        self._last = done
        if self._progress is not None:
            self._progress(self._before + done, self._total)

    def next_round(self) -> None:
        self._before += self._last

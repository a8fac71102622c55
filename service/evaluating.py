"""Evaluating recall: how much of the evidence that a question needs is found.

A public data set of conversations with questions is imported through the same importers and the
same API that an application uses, each conversation into a scope of its own, and every question is
asked as of just after its conversation ended. Nothing is answered by a model: what is measured is
which of the turns that the data set names as evidence stand behind the results.

Everything but the latencies is the same in every run.
"""

from __future__ import annotations

import json
import re
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from memstream.projections.embedders import Embedder
from memstream.recall.engine import Settings
from memstream.recall.evidence import Evidence
from memstream.schemas.errors import ImportFault
from memstream.schemas.events import Text
from memstream.schemas.scope import Scope
from memstream.service.memory import Memory
from memstream.streams.clock import ManualClock
from memstream.streams.embedded import Progress
from memstream.streams.importers import Broken, Imported, read_file

__all__ = ["FORMATS", "Answered", "EvalReport", "Scores", "Trial", "evaluate"]

TENANT = "evaluation"
BUDGETS = (300, 600)
"""Token budgets for which the found evidence is counted too."""
_BUDGET_LIMIT = 50
_IMPORTED_AT = datetime(2026, 1, 1, tzinfo=UTC)


class Question(msgspec.Struct, frozen=True):
    """One question, and the origins of the turns that hold its answer."""

    text: str
    category: str
    evidence: tuple[str, ...]


class Dialogue(msgspec.Struct, frozen=True):
    """One conversation: its name, its own JSON as the importer reads it, and its questions."""

    name: str
    raw: Any
    questions: tuple[Question, ...]
    notes: tuple[str, ...] = ()


class Answered(msgspec.Struct, frozen=True):
    """How one question went. ``found`` gives for each evidence turn the rank (from 1) of the
    first result that it supports; None where none does."""

    dialogue: str
    question: Question
    found: dict[str, int | None]
    in_budget: dict[int, float]
    latency_ms: float

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


class EvalReport(msgspec.Struct, frozen=True):
    """What an evaluation measured. Shares are of the events; latencies are of whole recalls."""

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


def evaluate(
    path: Path,
    *,
    format: str = "locomo",  # noqa: A002  the name of the option on the command line
    embedder: str | Embedder = "none",
    limit: int = 10,
    progress: Progress | None = None,
    settings: Settings | None = None,
) -> EvalReport:
    """Imports the data set into a temporary directory, asks every question, and sums up.

    ``progress`` is called with (questions answered, questions there are). Raises ``ImportFault``
    where the format is unknown or the file is not in it.
    """
    with tempfile.TemporaryDirectory(prefix="memstream-eval-") as folder:
        trial = Trial(path, Path(folder), format=format, embedder=embedder)
        answered = trial.ask(limit=limit, settings=settings, progress=progress)
        return trial.report(answered, limit=limit)


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
        if format not in FORMATS:
            raise ImportFault(
                f"evaluation format {format!r} is unknown; mend: one of {', '.join(FORMATS)}"
            )
        self.format = format
        self.embedder = embedder if isinstance(embedder, str) else embedder.identity
        self.folder = folder
        self.dialogues = FORMATS[format](path)
        self.origin_of: dict[str, str] = {}
        """Event id to the turn's own id in the data set."""
        self._asked_at: dict[str, datetime] = {}
        self._embedder = embedder
        self._import()

    def ask(
        self,
        *,
        limit: int = 10,
        settings: Settings | None = None,
        progress: Progress | None = None,
    ) -> list[Answered]:
        """Asks every question that has evidence."""
        asked = [
            (dialogue, each)
            for dialogue in self.dialogues
            for each in dialogue.questions
            if each.evidence
        ]
        answered: list[Answered] = []
        with self._opened(settings) as memory:
            memory.flush()
            for dialogue, question in asked:
                answered.append(self._answer(memory, dialogue, question, max(limit, 10)))
                if progress is not None:
                    progress(len(answered), len(asked))
        return answered

    def report(self, answered: Sequence[Answered], *, limit: int = 10) -> EvalReport:
        """Sums up what was answered."""
        with self._opened(None) as memory:
            balance = memory.doctor().balance
            kinds = Counter(
                each.kind
                for dialogue in self.dialogues
                for each in memory.memories(_scope(dialogue), everything=True)
            )
        categories = sorted({each.question.category for each in answered})
        latencies = sorted(each.latency_ms for each in answered)
        captured = max(balance.captured, 1)
        return EvalReport(
            format=self.format,
            embedder=self.embedder,
            limit=limit,
            conversations=len(self.dialogues),
            turns=len(self.origin_of),
            overall=_scores(answered, limit),
            by_category={
                name: _scores([each for each in answered if each.question.category == name], limit)
                for name in categories
            },
            memories_by_kind=dict(sorted(kinds.items())),
            stored_share=round(balance.stored / captured, 4),
            rejected_share=round(balance.rejected / captured, 4),
            latency_ms_p50=_at_share(latencies, 0.5),
            latency_ms_p95=_at_share(latencies, 0.95),
            skipped_questions=sum(
                1 for each in self.dialogues for one in each.questions if not one.evidence
            ),
            notes=tuple(note for each in self.dialogues for note in each.notes),
        )

    def _opened(self, settings: Settings | None) -> Memory:
        clock = ManualClock(_IMPORTED_AT, step=timedelta(milliseconds=1))
        return Memory.open(
            self.folder / "memory",
            embedder=self._embedder,
            worker=False,
            clock=clock,
            settings=settings,
        )

    def _import(self) -> None:
        with self._opened(None) as memory:
            for dialogue in self.dialogues:
                file = self.folder / "conversation.json"
                file.write_text(json.dumps(dialogue.raw, ensure_ascii=False), encoding="utf-8")
                events = []
                for item in read_file(
                    file, scope=_scope(dialogue), now=_IMPORTED_AT, format=self.format
                ):
                    if isinstance(item, Broken):
                        raise ImportFault(f"{dialogue.name}: {item.where}: {item.problem}")
                    if isinstance(item, Imported):
                        events.append(item.event)
                for event in events:
                    if isinstance(event.data, Text):
                        self.origin_of[event.id] = event.data.origin
                ended = max(event.observed_at for event in events)
                self._asked_at[dialogue.name] = ended + timedelta(minutes=1)
                memory.append(events)
            memory.flush()

    def _answer(
        self, memory: Memory, dialogue: Dialogue, question: Question, most: int
    ) -> Answered:
        scope, as_of = _scope(dialogue), self._asked_at[dialogue.name]
        started = time.perf_counter()
        evidence = memory.recall(scope, question.text, limit=most, as_of=as_of, record=False)
        latency = time.perf_counter() - started
        in_budget: dict[int, float] = {}
        for budget in BUDGETS:
            within = memory.recall(
                scope,
                question.text,
                limit=_BUDGET_LIMIT,
                budget_tokens=budget,
                as_of=as_of,
                record=False,
            )
            ranks = self._ranks(within)
            in_budget[budget] = sum(one in ranks for one in question.evidence) / len(
                question.evidence
            )
        ranks = self._ranks(evidence)
        return Answered(
            dialogue=dialogue.name,
            question=question,
            found={each: ranks.get(each) for each in question.evidence},
            in_budget=in_budget,
            latency_ms=latency * 1e3,
        )

    def _ranks(self, evidence: Evidence) -> dict[str, int]:
        """Each turn behind the results, with the rank of the first result it supports."""
        ranks: dict[str, int] = {}
        for item in evidence.items:
            for event in item.memory.supports:
                ranks.setdefault(self.origin_of.get(event, event), item.rank)
        return ranks


def _scope(dialogue: Dialogue) -> Scope:
    return Scope(tenant=TENANT, user=dialogue.name)


def _scores(answered: Sequence[Answered], limit: int) -> Scores:
    return Scores(
        questions=len(answered),
        recall_at_5=_mean(each.recall_at(5) for each in answered),
        recall_at_10=_mean(each.recall_at(10) for each in answered),
        recall_at_limit=_mean(each.recall_at(limit) for each in answered),
        mean_reciprocal_rank=_mean(each.reciprocal_rank for each in answered),
        recall_in_300_tokens=_mean(each.in_budget[300] for each in answered),
        recall_in_600_tokens=_mean(each.in_budget[600] for each in answered),
    )


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return round(statistics.fmean(listed), 4) if listed else 0.0


def _at_share(ordered: Sequence[float], share: float) -> float:
    return round(ordered[min(len(ordered) - 1, int(len(ordered) * share))], 3) if ordered else 0.0


# LoCoMo (Maharana et al., "Evaluating Very Long-Term Conversational Memory of LLM Agents", 2024).
# Category 5 asks for what was never said, so it has no evidence to find and is left out.

_LOCOMO_CATEGORIES: Mapping[int, str] = {
    1: "1 multi-hop",
    2: "2 temporal",
    3: "3 open-domain",
    4: "4 single-hop",
}
_TURN_ID = re.compile(r"D\s*:?\s*(\d+)\s*:\s*(\d+)")
_ID_LIKE = re.compile(r"[^\s;,]+")


def _locomo(path: Path) -> list[Dialogue]:
    try:
        samples = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ImportFault(f"{path}: cannot be read as LoCoMo: {error}") from error
    samples = samples if isinstance(samples, list) else [samples]
    for at, sample in enumerate(samples):
        if not isinstance(sample, dict) or not isinstance(sample.get("conversation"), dict):
            raise ImportFault(
                f"{path}: sample {at} has no conversation; mend: give the data set's own file, a "
                "list of objects with conversation and qa"
            )
    return [_locomo_dialogue(sample, at) for at, sample in enumerate(samples)]


def _locomo_dialogue(sample: Mapping[str, Any], at: int) -> Dialogue:
    name = str(sample.get("sample_id") or f"sample-{at}")
    turns = {
        str(turn["dia_id"])
        for key, session in sample["conversation"].items()
        if isinstance(session, list)
        for turn in session
        if isinstance(turn, dict) and "dia_id" in turn
    }
    questions: list[Question] = []
    unknown: list[str] = []
    for asked in sample.get("qa") or ():
        category = _LOCOMO_CATEGORIES.get(asked.get("category"))
        if category is None:
            continue
        known, strange = _locomo_evidence(asked.get("evidence") or (), turns)
        unknown += strange
        evidence = tuple(f"{name}/{each}" for each in known)
        questions.append(Question(str(asked["question"]), category, evidence))
    notes: tuple[str, ...] = ()
    if unknown:
        named = ", ".join(map(repr, unknown))
        notes = (f"{name}: {len(unknown)} evidence ids that name no turn were left out: {named}",)
    # The importer is given what was said and no more: the rest of a sample are answers.
    raw = {"sample_id": name, "conversation": sample["conversation"]}
    return Dialogue(name, raw, tuple(questions), notes)


def _locomo_evidence(given: Sequence[Any], turns: set[str]) -> tuple[list[str], list[str]]:
    """(ids of turns, ids that name none). Several ids may stand in one string, and be misspelt."""
    known: dict[str, None] = {}
    strange: list[str] = []
    for text in map(str, given):
        found = [f"D{int(session)}:{int(turn)}" for session, turn in _TURN_ID.findall(text)]
        strange += [each for each in found if each not in turns]
        known |= dict.fromkeys(each for each in found if each in turns)
        strange += _ID_LIKE.findall(_TURN_ID.sub(" ", text))
    return list(known), strange


FORMATS: dict[str, Callable[[Path], list[Dialogue]]] = {"locomo": _locomo}
"""Every data set that can be asked, by the name of the importer that reads it."""

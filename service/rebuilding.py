"""Rebuilding: the next generation from the log, beside the one that serves; and replays."""

from __future__ import annotations

import shutil
import tempfile
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from memstream.processors.lexemes import lexemes
from memstream.projections.embedders import Embedder, NoEmbedder
from memstream.projections.queries import LATEST, Channel, IndexQuery, SearchIndex
from memstream.recall.standing import newest
from memstream.schemas.errors import KeyDestroyed, ProjectionDamaged
from memstream.schemas.events import ContextServed
from memstream.schemas.memories import Tally
from memstream.schemas.scope import Scope
from memstream.service.choosing import Choice
from memstream.service.directory import REPLAY_PREFIX, stamp_of
from memstream.service.reports import RebuildReport, ReplayReport
from memstream.service.stores import Stores
from memstream.streams.embedded import EmbeddedRuntime, Progress
from memstream.streams.state_in_sqlite import StateStore

if TYPE_CHECKING:
    from memstream.service.host import Host

SHADOW_QUERIES = 50
SHADOW_LIMIT = 10
_SERVED_EVENTS_READ = 20_000

_LOGGER = structlog.get_logger(__name__)


def rebuilt(
    host: Host, embedder: Embedder, *, swap: bool, progress: Progress | None
) -> RebuildReport:
    """Builds, verifies and (``swap``) serves the next generation. The live one serves meanwhile
    and goes on processing; what it processed last is caught up before the swap."""
    started = host.clock.now()
    files = host.files
    before = host.generation
    name = files.generations.create(stamp_of(host.pipeline, embedder))
    files.building.add(name)
    try:
        beside = Stores(
            files, name, lambda: Choice(embedder), lambda: host.pipeline, writes=True, mends=True
        )
        try:
            runtime = beside.open_projections()
            runtime.drain(progress=progress)
            with host.working():
                # Up to one point of the log: others go on recording meanwhile.
                ends = files.log.end_offsets()
                live = _caught_up(host, ends)
                runtime.drain(until=ends)
                # A live one that goes on has erased by now; then this one only clears itself.
                destroyed = runtime.finish_erasures()
                problems = [beside.damage(each) for each in runtime.projections]
                problems = [each for each in problems if each]
                identical = None if live is None else beside.store.tally() == live
                if identical is False:
                    problems.append("its memories differ from those being served")
                overlap = _overlap(host, beside)
                versions = beside.store.tally().count
                beside.close()
                if swap and not problems:
                    host.serve(name)
                    files.generations.remove_all_but({name} if destroyed else {name, before})
        finally:
            beside.close()
    except BaseException:
        if files.generations.current() != name:
            files.generations.remove(name)
        raise
    finally:
        files.building.discard(name)
    return RebuildReport(
        generation=name,
        previous=before,
        events=sum(files.log.end_offsets().values()),
        versions=versions,
        seconds=round((host.clock.now() - started).total_seconds(), 3),
        verified=not problems,
        identical=identical,
        overlap=overlap,
        swapped=swap and not problems,
        problems=tuple(problems),
    )


def _caught_up(host: Host, ends: dict[int, int]) -> Tally | None:
    """What the live generation holds once it has processed the log up to there.

    None where the two cannot be compared: another pipeline made it, or it is damaged and no
    longer goes on."""
    if host.stale():
        return None
    try:
        host.runtime().drain(until=ends)
        return host.store.tally()
    except ProjectionDamaged as error:
        _LOGGER.warning("rebuilding_from_the_log_alone", problem=str(error))
        return None


def replayed(
    host: Host, since: datetime | None, until: datetime | None, progress: Progress | None
) -> ReplayReport:
    """Runs the events recorded in [since, until) through the pipeline into a throw-away state."""
    log = host.files.log
    folder = Path(tempfile.mkdtemp(prefix=REPLAY_PREFIX, dir=host.files.root))
    try:
        stamp = stamp_of(host.pipeline, NoEmbedder())
        store = StateStore.open(folder / "state.db", stamp)
        try:
            runtime = EmbeddedRuntime(
                log, host.files.codec, host.pipeline, store, [], host.clock, erases=False
            )
            ends = log.end_offsets()
            starts = dict.fromkeys(ends, 0)
            if since is not None:
                starts = {partition: log.offset_at(partition, since) for partition in ends}
            if until is not None:
                ends = {partition: log.offset_at(partition, until) for partition in ends}
            with store.transaction() as transaction:
                for partition, start in starts.items():
                    transaction.advance(partition, start)
            runtime.drain(until=ends, progress=progress)
            scopes = sorted({step.scope for step in store.steps_from(0, 1 << 40)})
            memories = [each for scope in scopes for each in newest(store.memories_of(scope))]
            return ReplayReport(
                events=sum(max(0, ends[each] - starts[each]) for each in ends),
                tally=store.tally(),
                outcomes=store.outcomes(),
                memories=tuple(memories),
            )
        finally:
            store.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)  # an erasure may have removed it


def _overlap(host: Host, beside: Stores) -> float | None:
    """Over the last questions that were asked: the mean share of equal results in the new index.
    None where nothing was asked yet or the live index is not open here."""
    live, fresh = host.stores.index, beside.index
    if live is None or fresh is None:
        return None
    shares: list[float] = []
    for scope, query in _asked(host):
        asked = _shadow_query(scope, query)
        if asked is None:
            continue
        old, new = _found(live, asked), _found(fresh, asked)
        shares.append(len(old & new) / len(old | new) if old | new else 1.0)
    return round(sum(shares) / len(shares), 4) if shares else None


def _found(index: SearchIndex, query: IndexQuery) -> set[str]:
    """The ids of the memories that an index finds."""
    points = [hit.sketch.point for hit in index.search(query)["bm25"]]
    return {memory.id for memory in index.read(query, points).values()}


def _asked(host: Host) -> list[tuple[Scope, str]]:
    """The newest distinct questions in the log."""
    log, found = host.files.log, {}
    for partition, end in log.end_offsets().items():
        for entry in log.read(partition, max(0, end - _SERVED_EVENTS_READ), _SERVED_EVENTS_READ):
            if entry.row.type != "context.served":
                continue
            try:
                event = host.files.codec.from_row(entry.row)
            except KeyDestroyed:
                continue
            if isinstance(event.data, ContextServed):
                found[event.subject, event.data.query] = event.recorded_at
    newest_first = sorted(found, key=lambda pair: (found[pair], pair), reverse=True)
    return [(Scope.parse(path), query) for path, query in newest_first[:SHADOW_QUERIES]]


def _shadow_query(scope: Scope, query: str) -> IndexQuery | None:
    words = lexemes(query)
    if not words:
        return None
    channels: tuple[Channel, ...] = ("bm25",)
    return IndexQuery(
        tenant=scope.tenant,
        scopes=(scope.path,),
        valid_at=None,
        known_at=LATEST,
        statuses=("active",),
        lexemes=words,
        limit=SHADOW_LIMIT,
        channels=channels,
    )

"""Examining: what ``doctor`` looks at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memstream.schemas.counting import quantity
from memstream.schemas.errors import MemstreamError, ProjectionDamaged
from memstream.service.reports import Balance, Check, Diagnosis

if TYPE_CHECKING:
    from memstream.service.host import Host


_REBUILD = "memstream rebuild"


def examined(host: Host, trouble: str = "") -> Diagnosis:
    """The balance of every captured event, and the checks of log, state, indexes and worker.
    ``trouble`` is why the indexes could not be opened."""
    try:
        return _examined(host, trouble)
    except ProjectionDamaged as error:
        # Without its state nothing can be said to be anywhere: the balance must not close.
        captured = sum(host.files.log.counts().values())
        unknown = Balance(captured, 0, 0, 0, 0, 0, 0, 0)
        state = Check("state", False, str(error), "memstream rebuild")
        return Diagnosis(unknown, (_log_is_whole(host), state))


def _examined(host: Host, trouble: str) -> Diagnosis:
    checks = [
        _log_is_whole(host),
        _state_matches_log(host),
        *_projections_match(host),
        _nothing_dead(host),
        _worker(host),
        _generation(host),
        _embedder(host),
        _contexts(host),
    ]
    if trouble:
        checks.append(Check("indexes", False, trouble, "memstream rebuild"))
    return Diagnosis(balance_of(host), tuple(checks))


def balance_of(host: Host) -> Balance:
    """Where every captured event is. The log is counted row by row, not by its offsets."""
    processed = sum(host.store.positions().values())
    outcomes = host.store.outcomes()
    # Read last: what is recorded meanwhile is in flight.
    captured = sum(host.files.log.counts().values())
    return Balance(
        captured=captured,
        stored=outcomes.get("stored", 0),
        rejected=outcomes.get("rejected", 0),
        held=outcomes.get("held", 0),
        quarantined=outcomes.get("quarantined", 0),
        dead_lettered=outcomes.get("dead_lettered", 0),
        erased=outcomes.get("erased", 0),
        in_flight=captured - processed,
    )


def _log_is_whole(host: Host) -> Check:
    ends, counts = host.files.log.end_offsets(), host.files.log.counts()
    # The ends were read first: rows beyond them were recorded meanwhile.
    missing = {each: ends[each] - counts[each] for each in ends if ends[each] > counts[each]}
    if missing:
        detail = f"offsets are missing: {missing}"
        return Check("log", False, detail, "restore log.db from a copy")
    return Check(
        "log",
        True,
        f"{quantity(sum(ends.values()), 'event')} in {quantity(len(ends), 'partition')}, no gap",
    )


def _state_matches_log(host: Host) -> Check:
    ends = host.files.log.end_offsets()
    ahead = {
        partition: offset
        for partition, offset in host.store.positions().items()
        if offset > ends.get(partition, 0)
    }
    if ahead:
        detail = f"the state has processed more than the log holds: {ahead}"
        return Check("state", False, detail, "restore log.db, or memstream rebuild")
    tally = host.store.tally()
    return Check(
        "state", True, f"{quantity(tally.count, 'memory version')}, checksum {tally.checksum}"
    )


def _projections_match(host: Host) -> list[Check]:
    stores = host.stores
    if stores.runtime is None:
        detail = f"not examined: {host.worker_elsewhere()} has them open"
        return [Check("indexes", True, detail)]
    checks: list[Check] = []
    for projection in stores.runtime.projections:
        try:
            problem = stores.damage(projection)
        except MemstreamError as error:
            problem = str(error)
        detail = problem or f"step {projection.position()}, counts and checksum match the state"
        mend = _REBUILD if problem else ""
        checks.append(Check(projection.name, not problem, detail, mend))
    return checks


def _nothing_dead(host: Host) -> Check:
    letters = host.store.dead_letters()
    if not letters:
        return Check("dead letters", True, "none")
    first = letters[0]
    detail = f"{len(letters)}; first: {first.scope} {first.event_id}: {first.error}"
    return Check("dead letters", False, detail, "memstream worker --retry")


def _worker(host: Host) -> Check:
    error = host.worker_error()
    if error:
        return Check("worker", False, error, "see the message")
    if host.files.lease.held:
        return Check("worker", True, "this process")
    holder = host.files.lease.holder()
    return Check(
        "worker", True, str(holder) if holder else "none; flush or memstream worker does it"
    )


def _generation(host: Host) -> Check:
    stale = host.stale()
    detail = stale or f"{host.generation}, embedder {host.stores.stamp.embedder}"
    return Check("generation", not stale, detail, _REBUILD if stale else "")


def _embedder(host: Host) -> Check:
    stores = host.stores
    detail = stores.no_vectors or stores.stamp.embedder
    return Check("embedder", not stores.no_vectors, detail, _REBUILD if stores.no_vectors else "")


def _contexts(host: Host) -> Check:
    lost = host.later.lost
    detail = f"{lost} served contexts could not be recorded" if lost else "all recorded"
    return Check("served contexts", not lost, detail, "see the log lines" if lost else "")

"""Examining a memory on Kafka: what ``doctor`` looks at there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from memstream.schemas.counting import quantity
from memstream.schemas.errors import LeaseHeld, MemstreamError
from memstream.schemas.events import ErasureRequested
from memstream.service.reports import Balance, Check, Diagnosis
from memstream.streams.bundles import BundleCodec
from memstream.streams.kafka_reading import TopicReader
from memstream.streams.kafka_topics import (
    EVENTS,
    MEMORIES,
    derived_topics,
    topic_faults,
    topics_of,
)

if TYPE_CHECKING:
    from memstream.service.cluster import ClusterHost

_SHOWN = 5
"""Unfinished erasures that are named; the others are counted."""
STALLED_S = 120
"""Workers that are at work have done something in every partition by then, a long erasure apart."""


Sql = Callable[[str], tuple[Sequence[str], Sequence[tuple[Any, ...]]]]
"""Answers a query on the analytics: names of columns, and rows."""


class Waiting(NamedTuple):
    """Events of one partition of which no bundle of memories has come yet, and since when nothing
    came: seconds since 1970 of the last bundle, or of the first event that waits."""

    events: int
    since_s: float


def examined_cluster(host: ClusterHost) -> Diagnosis:
    """The checks of topics, keys, workers, index, projector, losses and erasures, and the balance
    of the analytics in the host's directory, which another process may be projecting. An event that
    was sent twice counts once; messages that are no events are dead letters without a row.

    Raises ``NotOnKafka`` where there are no analytics.
    """
    _, ((had,),) = host.sql("SELECT positions FROM generation")
    ends = host.log.end_offsets()
    behind = sum(max(0, end - had.get(partition, 0)) for partition, end in ends.items())
    checks = (
        _check("topics", lambda: _topics(host), "memstream topics --mend"),
        _check("key ring", lambda: _keys(host), "see that the key ring's server runs"),
        workers(_waiting(host, ends), host.clock.now().timestamp(), host.generation),
        _index(host),
        Check(
            "projection",
            not host.worker_error(),
            host.worker_error() or f"{quantity(behind, 'event')} behind the log",
            "see the projector's log" if host.worker_error() else "",
        ),
        _check("losses", lambda: losses(host.sql), "rebuild the analytics from the topic"),
        _check(
            "erasures",
            lambda: _unfinished(host),
            "ask for the same erasure again: it finishes what was cut off",
        ),
    )
    return Diagnosis(_balance(host, behind), checks)


def _balance(host: ClusterHost, in_flight: int) -> Balance:
    _, rows = host.sql("SELECT outcome, count(*) FROM captured GROUP BY outcome")
    counts = {str(outcome): int(count) for outcome, count in rows}
    return Balance(
        captured=sum(counts.values()) + in_flight,
        stored=counts.get("stored", 0),
        rejected=counts.get("rejected", 0),
        held=counts.get("held", 0),
        quarantined=counts.get("quarantined", 0),
        dead_lettered=counts.get("undecided", 0),
        erased=counts.get("erased", 0),
        in_flight=in_flight,
    )


def _topics(host: ClusterHost) -> str:
    kafka = host.settings.kafka
    specs = [*topics_of(kafka), *derived_topics(kafka, host.generation)]
    return "; ".join(str(each) for each in topic_faults(kafka, specs))


def _keys(host: ClusterHost) -> str:
    host.ring.keys_by_id(())
    return ""


def workers(waiting: Mapping[int, Waiting], now_s: float, generation: str) -> Check:
    """How far behind they are, and whether they stand still in a partition."""
    told = f"{quantity(sum(each.events for each in waiting.values()), 'event')} behind the log"
    partition = min(waiting, key=lambda at: waiting[at].since_s, default=None)
    if partition is None or now_s - waiting[partition].since_s < STALLED_S:
        return Check("workers", True, told)
    stood = waiting[partition]
    return Check(
        "workers",
        False,
        f"{told}; {quantity(stood.events, 'event')} of partition {partition} wait, and nothing has "
        f"come for {now_s - stood.since_s:.0f} s",
        f"see that memstream worker --runtime faust runs for generation {generation}, see its log, "
        "and start it again",
    )


def _waiting(host: ClusterHost, ends: Mapping[int, int]) -> dict[int, Waiting]:
    """By partition, those that have any."""
    kafka = host.settings.kafka
    events = TopicReader(kafka, kafka.topic(EVENTS))
    memories = TopicReader(kafka, kafka.topic(f"{host.generation}.{MEMORIES}"))
    found: dict[int, Waiting] = {}
    try:
        for partition, end in ends.items():
            done, since_ms, last = 0, 0, memories.end_offset(partition)
            if last:
                (bundle,) = memories.records(partition, last - 1, 1)
                done = BundleCodec.decode(bundle.value, where="memories").offset + 1
                since_ms = bundle.timestamp
            if done < end:
                (first,) = events.records(partition, done, 1)
                since_ms = max(since_ms, first.timestamp)
                found[partition] = Waiting(end - done, since_ms / 1_000)
    finally:
        events.close()
        memories.close()
    return found


def _index(host: ClusterHost) -> Check:
    def damage() -> str:
        with host.index() as index:
            recorded, counted = index.recorded_tally(), index.tally()
        if recorded == counted:
            return ""
        return f"holds {quantity(counted.count, 'memory version')}, should hold {recorded.count}"

    try:
        return _check("index", damage, "rebuild the index from the topic")
    except LeaseHeld as error:
        return Check("index", True, f"not examined: {error}")


def losses(sql: Sql) -> str:
    """What the analytics lack, in words: every event has a row there, also one that was rejected or
    erased, and its decision beside it."""
    _, rows = sql("SELECT count(*) FROM silent_loss WHERE problem = 'decision without an event'")
    lost = int(rows[0][0])
    return f"{quantity(lost, 'event')} missing from the analytics" if lost else ""


def _unfinished(host: ClusterHost) -> str:
    """The erasures whose request is recorded and whose keys are not all destroyed, in words."""
    _, rows = host.sql(
        "SELECT scope, id, data FROM events WHERE type = 'erasure.requested' AND NOT erased"
        " ORDER BY recorded_at"
    )
    alive: dict[str, set[str]] = {}
    left: list[str] = []
    for scope, event, data in rows:
        named = set(msgspec.json.decode(data, type=ErasureRequested).keys)
        if named and scope not in alive:
            alive[scope] = set(host.ring.keys(scope))
        if named & alive.get(scope, set()):
            left.append(f"{scope} (request {event})")
    if not left:
        return ""
    more = f" and {len(left) - _SHOWN} more" if len(left) > _SHOWN else ""
    return f"{len(left)} cut off: {', '.join(left[:_SHOWN])}{more}"


def _check(name: str, look: Callable[[], str], mend: str) -> Check:
    try:
        fault = look()
    except LeaseHeld:
        raise
    except MemstreamError as error:
        fault = str(error)
    return Check(name, not fault, fault or "fine", mend if fault else "")

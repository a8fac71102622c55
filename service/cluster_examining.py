"""Examining a memory on Kafka: what ``doctor`` looks at there."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from memstream.projections.in_duckdb import DuckIndex
from memstream.schemas.errors import MemstreamError
from memstream.service.cluster_settings import NotOnKafka
from memstream.service.reports import Balance, Check, Diagnosis
from memstream.streams.kafka_topics import derived_topics, topic_faults, topics_of

if TYPE_CHECKING:
    from memstream.service.cluster import ClusterHost


def examined_cluster(host: ClusterHost) -> Diagnosis:
    """The checks of topics, keys, index and projector, and the balance of the analytics. An event
    that was sent twice counts once; messages that are no events are dead letters without a row."""
    duck = host.view.duck
    if duck is None:
        raise NotOnKafka(
            "doctor: this process projects no analytics, so it cannot count what became of every "
            "event; mend: memstream doctor --kafka in the projector's directory"
        )
    ends, had = host.log.end_offsets(), duck.positions()
    behind = sum(max(0, end - had.get(partition, 0)) for partition, end in ends.items())
    checks = (
        _check("topics", lambda: _topics(host), "memstream topics --mend"),
        _check("key ring", lambda: _keys(host), "see that the key ring's server runs"),
        _check("index", lambda: _index(host), "rebuild the index from the topic"),
        Check(
            "projection",
            not host.worker_error(),
            host.worker_error() or f"{behind} events behind the log",
            "see the projector's log",
        ),
    )
    return Diagnosis(_balance(duck, behind), checks)


def _balance(duck: DuckIndex, in_flight: int) -> Balance:
    _, rows = duck.sql("SELECT outcome, count(*) FROM captured GROUP BY outcome")
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


def _index(host: ClusterHost) -> str:
    recorded, counted = host.view.index.recorded_tally(), host.view.index.tally()
    if recorded == counted:
        return ""
    return f"holds {counted.count} memory versions, should hold {recorded.count}"


def _check(name: str, look: Callable[[], str], mend: str) -> Check:
    try:
        fault = look()
    except MemstreamError as error:
        fault = str(error)
    return Check(name, not fault, fault or "fine", mend if fault else "")

"""What a worker or a projector of the distributed run tells Prometheus, and the port it does so on.

Counters and times come from what the process works on; how far behind it is, is asked when
Prometheus asks. Nothing of an event's content is told, and no scope. Every metric has the label
``generation``, so that a new generation's progress shows beside the one that serves; ``part`` is a
stage of the worker (deriving, resolving) or a projection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import structlog
from prometheus_client import CollectorRegistry, Counter, Histogram, start_http_server
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from memstream.projections.projection import Step
from memstream.schemas.errors import MemstreamError
from memstream.schemas.events import WriteDecided
from memstream.streams.bundles import Bundle, BundleCodec
from memstream.streams.clock import Clock
from memstream.streams.scope_history import Message

_LOGGER = structlog.get_logger(__name__)
_BATCHES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000)
_SECONDS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300)


class InvalidMetrics(MemstreamError):
    """The address for metrics is none, or taken."""


class Reached(NamedTuple):
    """How far a part is in one partition: the offset that comes next, and its topic's end."""

    next: int
    end: int


Progress = Callable[[], Mapping[tuple[str, int], Reached]]
"""How far each (part, partition) is now."""


class Metrics:
    """The metrics of one process."""

    def __init__(self, generation: str, clock: Clock) -> None:
        self.registry = CollectorRegistry()
        self._generation = generation
        self._clock = clock
        self._newest: dict[tuple[str, int], float] = {}
        self._last: dict[tuple[str, int], int] = {}
        self._stood: dict[tuple[str, int], tuple[int, float]] = {}
        labels = ("generation", "part")

        def histogram(name: str, told: str, buckets: Sequence[float]) -> Histogram:
            return Histogram(name, told, labels, buckets=buckets, registry=self.registry)

        self._events = Counter(
            "memstream_events",
            "Recorded events that a part is done with since the process began. A projection knows "
            "the outcome (stored, rejected, held, quarantined, erased, dead_lettered, duplicate; "
            "undecided is a loss), a stage only erased, dead_lettered, duplicate or derived.",
            (*labels, "outcome"),
            registry=self.registry,
        )
        self._unaccounted = Counter(
            "memstream_unaccounted_events",
            "Recorded events that a part took or passed over without an outcome: a silent loss.",
            labels,
            registry=self.registry,
        )
        self._batch_events = histogram(
            "memstream_batch_events", "Messages taken at once.", _BATCHES
        )
        self._batch_seconds = histogram(
            "memstream_batch_seconds", "From taking a stage's batch to its being durable.", _SECONDS
        )
        self._age = histogram(
            "memstream_event_age_seconds",
            "From an event's recording to its memories (resolving) or to its being readable (a "
            "projection). Old events that are derived anew are as old as they are.",
            _SECONDS,
        )

    def ask(self, progress: Progress) -> None:
        """From now on ``progress`` is asked at every scrape, from another thread. An error that it
        states is logged and leaves those lines out, so that the others are still told."""
        self.registry.register(_Asked(self, progress))

    def watch(
        self,
        stage: str,
        partition: int,
        took: Sequence[Message],
        made: Sequence[bytes],
        seconds: float,
    ) -> None:
        """Of a worker's batch: to be given to ``FaustWorker``."""
        whole = [
            bundle for message in made if (bundle := BundleCodec.decode(message, where=stage)).last
        ]
        for bundle in whole:
            self._done(stage, bundle, bundle.outcome or "derived")
        if stage == "deriving":  # one whole bundle for each raw message
            self._unaccounted.labels(self._generation, stage).inc(max(0, len(took) - len(whole)))
        self._batch_events.labels(self._generation, stage).observe(len(took))
        self._batch_seconds.labels(self._generation, stage).observe(seconds)

    def applied(self, projection: str, bundles: Sequence[Bundle], steps: Sequence[Step]) -> None:
        """Of what a projection applied, of one partition: to be given to ``Projector``."""
        unaccounted = self._unaccounted.labels(self._generation, projection)
        unaccounted.inc(0)
        for bundle, step in zip(bundles, steps, strict=True):
            if not bundle.last:
                continue
            self._done(projection, bundle, bundle.outcome or _decided(step))
            at = projection, bundle.partition
            unaccounted.inc(max(0, bundle.offset - self._last.get(at, bundle.offset - 1) - 1))
            self._last[at] = bundle.offset
        self._batch_events.labels(self._generation, projection).observe(len(steps))

    def lag_seconds(self, part: str, partition: int, reached: Reached) -> float:
        """The age of the newest event that is done with, where others wait; else 0. Where none
        is done with since the process began, it is not known, and 0: see the lag in events."""
        newest = self._newest.get((part, partition))
        if reached.next >= reached.end or newest is None:
            return 0.0
        return max(0.0, self._clock.now().timestamp() - newest)

    def stalled_seconds(self, part: str, partition: int, reached: Reached) -> float:
        """How long the part has stood where it is while others wait, as far as it was asked; a
        part that has caught up stands for 0."""
        now = self._clock.now().timestamp()
        at, since = self._stood.get((part, partition), (-1, now))
        if at != reached.next or reached.next >= reached.end:
            since = now
        self._stood[part, partition] = reached.next, since
        return max(0.0, now - since)

    def labels(self, part: str, partition: int) -> list[str]:
        return [self._generation, part, str(partition)]

    def _done(self, part: str, bundle: Bundle, outcome: str) -> None:
        self._events.labels(self._generation, part, outcome).inc()
        if bundle.recordedtime is not None:
            recorded = bundle.recordedtime.timestamp()
            age = max(0.0, self._clock.now().timestamp() - recorded)
            self._age.labels(self._generation, part).observe(age)
            self._newest[part, bundle.partition] = recorded


class _Asked(Collector):
    """What is asked at a scrape."""

    def __init__(self, metrics: Metrics, progress: Progress) -> None:
        self._metrics = metrics
        self._progress = progress

    def describe(self) -> Iterable[GaugeMetricFamily]:
        return self._families()

    def collect(self) -> Iterable[GaugeMetricFamily]:
        families = events, seconds, stalled, share = self._families()
        try:
            reached = self._progress()
        except MemstreamError as error:
            _LOGGER.warning("lag_unknown", error=str(error))
            return ()
        for (part, partition), at in sorted(reached.items()):
            labels = self._metrics.labels(part, partition)
            events.add_metric(labels, max(0, at.end - at.next))
            seconds.add_metric(labels, self._metrics.lag_seconds(part, partition, at))
            stalled.add_metric(labels, self._metrics.stalled_seconds(part, partition, at))
            share.add_metric(labels, min(1.0, at.next / at.end) if at.end else 1.0)
        return families

    @staticmethod
    def _families() -> tuple[
        GaugeMetricFamily, GaugeMetricFamily, GaugeMetricFamily, GaugeMetricFamily
    ]:
        labels = ("generation", "part", "partition")
        return (
            GaugeMetricFamily(
                "memstream_lag_events", "Messages that wait in a partition.", labels=labels
            ),
            GaugeMetricFamily(
                "memstream_lag_seconds",
                "Age of the newest event that is done with, where others wait; else 0.",
                labels=labels,
            ),
            GaugeMetricFamily(
                "memstream_stalled_seconds",
                "How long nothing was done with in a partition where events wait, between scrapes.",
                labels=labels,
            ),
            GaugeMetricFamily(
                "memstream_progress_ratio",
                "Share of a partition that is done with: of a new generation, how far it is built.",
                labels=labels,
            ),
        )


def serve(metrics: Metrics, address: str) -> Callable[[], None]:
    """Answers HTTP on ``host:port`` in a thread, path ``/metrics``; the returned call ends it.
    Raises ``InvalidMetrics``."""
    host, _, port = address.rpartition(":")
    if not port.isdecimal():
        raise InvalidMetrics(f"metrics at {address!r}; mend: give host:port, like 127.0.0.1:9464")
    try:
        server, thread = start_http_server(int(port), host or "127.0.0.1", metrics.registry)
    except (OSError, OverflowError) as error:
        raise InvalidMetrics(
            f"metrics at {address}: {error}; mend: choose a port that is free"
        ) from error

    def stop() -> None:
        server.shutdown()
        server.server_close()
        thread.join()

    return stop


def _decided(step: Step) -> str:
    """As the balance counts it: the gate's last word."""
    if step.event is None:
        return "erased"
    decisions = [each.data.outcome for each in step.derived if isinstance(each.data, WriteDecided)]
    return decisions[-1] if decisions else "undecided"

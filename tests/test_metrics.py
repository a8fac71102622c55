"""What a worker and a projector tell Prometheus while they work, on a real broker; and that the
dashboard asks for nothing else."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from histories import PRIVATE, history
from kafka_node import free_ports
from prometheus_client.parser import text_string_to_metric_families

from memstream.projections.projection import Step
from memstream.schemas.codec import Codec
from memstream.schemas.events import Event
from memstream.schemas.sealing import Sealer
from memstream.streams.bundles import BUNDLE_VERSION, Bundle
from memstream.streams.clock import Deadline, ManualClock, SystemClock
from memstream.streams.kafka_settings import KafkaSettings
from memstream.streams.kafka_topics import make_topics, topics_of
from memstream.streams.keyring_in_sqlite import SqliteKeyRing
from memstream.streams.log_in_kafka import KafkaLog
from memstream.streams.metrics import InvalidMetrics, Metrics, Reached, serve

ROOT = Path(__file__).resolve().parents[1]
DASHBOARD = ROOT / "infra" / "grafana" / "memstream.json"

Samples = dict[tuple[str, str, str], float]
"""(metric, part, outcome) -> value, added up over partitions."""


def scraped(port: int) -> Samples:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
        text = answer.read().decode()
    found: Samples = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if "le" not in sample.labels:
                at = (sample.name, sample.labels.get("part", ""), sample.labels.get("outcome", ""))
                found[at] = found.get(at, 0.0) + sample.value
    return found


def scraped_when(port: int, holds: Callable[[Samples], bool], process: Any) -> Samples:
    """What the port tells once that holds."""
    deadline, pause = Deadline(90), threading.Event()
    found: Samples = {}
    while not deadline.passed:
        assert process.poll() is None, process.stderr.read().decode()
        try:
            found = scraped(port)
        except OSError:
            found = {}
        if found and holds(found):
            return found
        pause.wait(0.2)
    raise AssertionError(f"still: {found}")


@contextmanager
def command(words: list[str], environment: dict[str, str]) -> Iterator[Any]:
    process = subprocess.Popen(
        [sys.executable, "-c", "from memstream.service.cli import main; main()", *words],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=60)


def recorded_now(count: int) -> list[Event]:
    return history(Random(4), count, scopes=PRIVATE[:3])


def test_worker_and_projector_tell_what_they_do(kafka_bootstrap: str, tmp_path: Path) -> None:
    count = 60
    settings = KafkaSettings(
        bootstrap=kafka_bootstrap, prefix="metrics", partitions=2, replication=1, min_insync=1
    )
    make_topics(settings, topics_of(settings))
    keys = tmp_path / "keys.db"
    codec = Codec(Sealer(SqliteKeyRing(keys, SystemClock())))
    log = KafkaLog(settings, SystemClock())
    log.append([codec.to_row(each) for each in recorded_now(count)])
    written = sum(log.end_offsets().values())
    log.close()
    worker_port, projector_port = free_ports(2)
    environment = {
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": str(ROOT / "src"),
        "MEMSTREAM_KAFKA_BOOTSTRAP": kafka_bootstrap,
        "MEMSTREAM_KAFKA_PREFIX": "metrics",
        "MEMSTREAM_KAFKA_PARTITIONS": "2",
        "MEMSTREAM_KAFKA_REPLICATION": "1",
        "MEMSTREAM_KAFKA_MIN_INSYNC": "1",
        "MEMSTREAM_KEYRING": str(keys),
    }
    working = ["worker", "--runtime", "faust", "--store", "memory", "--dir", str(tmp_path / "w")]
    projecting = ["projector", "--dir", str(tmp_path / "p")]
    at = "--metrics", f"127.0.0.1:{worker_port}"
    with command([*working, *at], environment) as worker:
        told = scraped_when(worker_port, lambda found: done(found, "resolving") == written, worker)
        assert done(told, "deriving") == written
        assert total(told, "memstream_unaccounted_events_total") == 0
        assert told["memstream_lag_events", "resolving", ""] == 0
        assert told["memstream_progress_ratio", "deriving", ""] == 2, "of two partitions"
        assert told["memstream_batch_events_sum", "deriving", ""] == written
        assert told["memstream_event_age_seconds_count", "resolving", ""] == written
        environment["MEMSTREAM_METRICS"] = f"127.0.0.1:{projector_port}"
        with command(projecting, environment) as projector:
            told = scraped_when(
                projector_port,
                lambda found: (
                    len(parts(found)) == 2
                    and all(done(found, each) == written for each in parts(found))
                ),
                projector,
            )
        for part in parts(told):
            assert told["memstream_lag_events", part, ""] == 0
            assert told["memstream_events_total", part, "stored"] > 0
            assert ("memstream_events_total", part, "undecided") not in told
        assert total(told, "memstream_unaccounted_events_total") == 0


def done(found: Samples, part: str) -> float:
    return sum(
        value
        for (name, each, _), value in found.items()
        if name == "memstream_events_total" and each == part
    )


def parts(found: Samples) -> set[str]:
    return {part for name, part, _ in found if name == "memstream_lag_events"}


def total(found: Samples, name: str) -> float:
    return sum(value for (each, _, _), value in found.items() if each == name)


def bundle(offset: int, outcome: str = "") -> Bundle:
    return Bundle(
        version=BUNDLE_VERSION, partition=0, offset=offset, after=offset - 1, part=0, last=True,
        scope="acme/user:a", event_id=str(offset), outcome=outcome,
        recordedtime=datetime(2026, 1, 1, tzinfo=UTC), raw=b"", key_id="", derived=b"",
    )  # fmt: skip


def step(offset: int) -> Step:
    return Step(offset + 1, 0, offset, "acme/user:a", str(offset), None, ())


class TestCounting:
    def test_an_event_that_was_passed_over_is_a_silent_loss(self) -> None:
        metrics = Metrics("g", ManualClock(datetime(2026, 1, 1, tzinfo=UTC)))
        metrics.applied("edge", [bundle(0), bundle(1)], [step(0), step(1)])
        metrics.applied("edge", [bundle(4)], [step(4)])
        lost = metrics.registry.get_sample_value(
            "memstream_unaccounted_events_total", {"generation": "g", "part": "edge"}
        )
        assert lost == 2

    def test_a_stage_that_gives_too_few_bundles_is_a_silent_loss(self) -> None:
        metrics = Metrics("g", ManualClock(datetime(2026, 1, 1, tzinfo=UTC)))
        metrics.watch("deriving", 0, [(0, b""), (1, b"")], [], 0.1)
        lost = metrics.registry.get_sample_value(
            "memstream_unaccounted_events_total", {"generation": "g", "part": "deriving"}
        )
        assert lost == 2

    def test_who_waits_is_as_old_as_the_newest_event_that_is_done(self) -> None:
        clock = ManualClock(datetime(2026, 1, 1, tzinfo=UTC))
        metrics = Metrics("g", clock)
        metrics.applied("edge", [bundle(0, "duplicate")], [step(0)])
        clock.advance(timedelta(seconds=40))
        assert metrics.lag_seconds("edge", 0, Reached(1, 5)) == pytest.approx(40)
        assert metrics.lag_seconds("edge", 0, Reached(5, 5)) == 0

    def test_who_stands_still_while_others_wait_is_told(self) -> None:
        clock = ManualClock(datetime(2026, 1, 1, tzinfo=UTC))
        metrics = Metrics("g", clock)

        def stalled(following: int, end: int) -> int:
            clock.advance(timedelta(seconds=15))
            return round(metrics.stalled_seconds("deriving", 0, Reached(following, end)))

        assert [stalled(3, 9), stalled(3, 9), stalled(3, 12)] == [0, 15, 30]
        assert [stalled(4, 12), stalled(4, 12)] == [0, 15]
        assert [stalled(12, 12), stalled(12, 12), stalled(12, 13), stalled(12, 13)] == [
            0,
            0,
            15,
            30,
        ]

    @pytest.mark.parametrize("address", ["nine", "127.0.0.1:", "127.0.0.1:99999"])
    def test_an_address_that_is_none_is_refused(self, address: str) -> None:
        with pytest.raises(InvalidMetrics, match="mend"):
            serve(Metrics("g", SystemClock()), address)

    def test_a_port_that_is_taken_is_refused(self) -> None:
        (port,) = free_ports(1)
        stop = serve(Metrics("g", SystemClock()), f"127.0.0.1:{port}")
        try:
            with pytest.raises(InvalidMetrics, match="choose a port that is free"):
                serve(Metrics("g", SystemClock()), f"127.0.0.1:{port}")
        finally:
            stop()


def test_the_dashboard_asks_for_metrics_that_are_told() -> None:
    metrics = Metrics("g", SystemClock())
    metrics.ask(lambda: {("edge", 0): Reached(0, 1)})
    metrics.applied("edge", [bundle(0)], [step(0)])
    metrics.watch("deriving", 0, [], [], 0.1)
    names = {each.name for family in metrics.registry.collect() for each in family.samples}
    queries = [
        target["expr"]
        for panel in json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
        for target in panel.get("targets", [])
    ]
    assert len(queries) >= 8
    asked = {name for query in queries for name in re.findall(r"\bmemstream_\w+", query)}
    assert asked <= names, f"no such metric: {sorted(asked - names)}"
    told = {name for name in names if not name.endswith(("_created", "_sum", "_count", "_bucket"))}
    assert told <= asked, f"no panel shows {sorted(told - asked)}"

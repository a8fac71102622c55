"""Real workers on a real broker, killed, frozen, joined by others and bereft of their tables.

Every test ends with: nothing lost, nothing doubled, and the memories of an undisturbed run.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from kafka_installation import Installation, installed, load
from thorough import THOROUGH


@pytest.fixture
def installation(kafka_bootstrap: str, tmp_path: Path) -> Iterator[Installation]:
    with installed(kafka_bootstrap, tmp_path) as made:
        yield made


@pytest.mark.parametrize(
    ("store", "kills"), [("rocksdb", 2), pytest.param("memory", 1, marks=THOROUGH)]
)
def test_a_worker_killed_at_any_moment_under_load(
    installation: Installation, store: str, kills: int
) -> None:
    told, random = load(11, 800), Random(store)
    worker = installation.worker("one", store=store)
    with installation.recording(told):
        for _ in range(kills):
            installation.until(installation.further())
            time.sleep(random.uniform(0, 1))
            worker.kill()
            worker = installation.worker("one", store=store)
    installation.settled(told)
    assert worker.drain() == 0, installation.troubles()


@pytest.mark.parametrize(
    ("store", "standbys"),
    [
        ("rocksdb", (0, 0)),
        pytest.param("memory", (0, 0), marks=THOROUGH),
        pytest.param("rocksdb", (1, 1), marks=THOROUGH),
        pytest.param("rocksdb", (0, 1), marks=THOROUGH),
        pytest.param("rocksdb", (1, 0), marks=THOROUGH),
    ],
)
def test_workers_that_join_and_leave_under_load(
    installation: Installation, store: str, standbys: tuple[int, int]
) -> None:
    """Also with standby replicas, and while a changed number of them is rolled out."""
    told = load(12, 800)
    first = installation.worker("one", store=store, standby=standbys[0])
    with installation.recording(told):
        installation.until(installation.further())
        second = installation.worker("two", store=store, standby=standbys[1])
        installation.until(second.ready)
        assert first.drain() == 0, installation.troubles()
        installation.until(installation.further())
        first = installation.worker("one", store=store, standby=standbys[0])
        installation.until(first.ready)
        second.kill()
    installation.settled(told)


SEEKS_SLOWLY = """
import asyncio
from faust.transport.drivers import aiokafka as driver
from memstream.streams import faust_app, faust_transport

stage, consumer, place = faust_app._StageAgent, driver.Consumer, asyncio.Event()
worked, sought = stage._worked, consumer.seek_to_committed

async def held(self, batch):
    await place.wait()
    return await worked(self, batch)

async def slowly(self):
    await self.app._fetcher.maybe_start()  # as at every rebalance but the first
    await asyncio.sleep(3)
    self.app.loop.call_later(1, place.set)
    return await sought(self)

stage._worked, consumer.seek_to_committed, faust_app.MOST_IN_BATCH = held, slowly, 100
"""
"""Messages are fetched, and some taken, while Faust asks where to begin; it puts the others away
when it knows: https://github.com/faust-streaming/faust/issues/596."""


@pytest.mark.parametrize(
    "only",
    [
        pytest.param("faust_app.LOOK_S = 3600", id="to the beginning"),
        pytest.param(
            "faust_app.LOOK_S = 1; faust_transport.Consumer.seek_to_committed = slowly",
            id="an idle stage looks",
        ),
    ],
)
def test_what_came_while_a_worker_sought_its_place_comes_again(
    installation: Installation, only: str
) -> None:
    """Also where nothing is recorded any more, and each of the two ways by itself."""
    told = load(14, 400)
    installation.record(told)
    installation.worker("one", before=f"{SEEKS_SLOWLY}\n{only}")
    installation.settled(told)


@THOROUGH
def test_a_table_that_is_lost_is_recovered_from_its_changelog(installation: Installation) -> None:
    told = load(13, 600)
    ends = 200, 400, len(told)
    for begin, end in zip((0, *ends), ends, strict=False):
        worker = installation.worker("one")
        installation.record(told[begin:end])
        installation.settled(told[:end])
        if begin:
            worker.kill()
        else:
            assert worker.drain() == 0, installation.troubles()
        shutil.rmtree(installation.directory / "one" / "faust")


@THOROUGH
@pytest.mark.parametrize("seed", [1, 2])
def test_a_worker_that_was_frozen_does_not_undo_what_another_did(
    installation: Installation, seed: int
) -> None:
    """It wakes after its session is over, in the middle of a batch, and finishes that."""
    told, random = load(20 + seed, 900), Random(seed)
    frozen = installation.worker("one")
    with installation.recording(told[:700]):
        installation.until(installation.further())
        other = installation.worker("two")
        time.sleep(random.uniform(0, 2))
        frozen.freeze()
        installation.until(other.ready)
        installation.until(installation.further(20))
        frozen.thaw()
    installation.settled(told[:700])
    # Whatever it wrote to the changelogs meanwhile: a third one has only them to go by.
    other.kill()
    frozen.kill()
    installation.worker("three")
    installation.record(told[700:])
    installation.settled(told)

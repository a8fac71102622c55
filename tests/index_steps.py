"""Memory versions and steps for the suites of indexes, written by hand; and a child process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from holding import files_with

from memstream.projections.projection import Step
from memstream.projections.queries import Channel, IndexQuery, SearchIndex
from memstream.schemas.events import Event, MemoryChanged, Source
from memstream.schemas.memories import Memory, Tally, digest

DAY = timedelta(days=1)
START = datetime(2024, 3, 1, 12, tzinfo=UTC)
NOW = START + 1_000 * DAY
OTHER_WORDS = "lighthouse marmalade trombone glacier walnut saddle orchid compass velvet harbour"


def memory(name: str, text: str, **changes: Any) -> Memory:
    """A memory as the pipeline would make it. Ids are padded, so they sort as they are numbered."""
    made: dict[str, Any] = {
        "id": name,
        "version": 1,
        "scope": "acme/user:ada",
        "kind": "fact",
        "status": "active",
        "value": text,
        "text": text,
        "observed_at": START,
        "valid_from": START,
        "created_at": START,
        "trust": 3,
        "source_kind": "user_said",
        "content_key": text,
        "supports": (f"event of {name}",),
    }
    return Memory(**(made | changes))


def step(seq: int, *memories: Memory) -> Step:
    """One step that made these memory versions."""
    scope = memories[0].scope if memories else "acme/user:ada"
    derived = tuple(
        Event(
            id=f"{each.id}.{each.version}",
            type="memory.asserted",
            subject=each.scope,
            time=each.observed_at,
            source=Source("user_said", 3),
            data=MemoryChanged(memory=each),
        )
        for each in memories
    )
    return Step(
        seq=seq,
        partition=0,
        offset=seq - 1,
        scope=scope,
        event_id=f"e{seq}",
        event=None,
        derived=derived,
    )


def steps(*memories: Memory, first: int = 1) -> list[Step]:
    """A step for every memory version, numbered from ``first``."""
    return [step(first + at, each) for at, each in enumerate(memories)]


def memories(run: Iterable[Step]) -> list[Memory]:
    """Every memory version the steps make, in order."""
    made = [event.data for each in run for event in each.derived]
    return [data.memory for data in made if isinstance(data, MemoryChanged)]


def tally(*memories: Memory) -> Tally:
    """What a store of these versions has to count."""
    return Tally(len(memories), sum(digest(each) for each in memories))


def bytes_hold(directory: Path, words: str) -> bool:
    """Whether any file below the directory holds the words."""
    return bool(files_with(directory, [words.encode()]))


def found(index: SearchIndex, query: IndexQuery) -> dict[Channel, list[Memory]]:
    """The memories that each channel finds, best first."""
    answer = index.search(query)
    memory_of = index.read(query, [hit.sketch.point for hits in answer.values() for hit in hits])
    return {
        channel: [memory_of[hit.sketch.point] for hit in hits] for channel, hits in answer.items()
    }


def history() -> list[Step]:
    """Steps that make versions of a few memories, several at a time and none now and then."""
    words = OTHER_WORDS.split()
    versions: dict[str, int] = {}
    run: list[Step] = []
    for seq in range(1, 121):
        made: list[Memory] = []
        for part in range(seq % 4):
            name = f"m{seq % 6}.{part}"
            versions[name] = versions.get(name, 0) + 1
            text = f"{words[seq % 10]} chest {part} {seq}"
            at = START + seq * DAY / 4
            made.append(memory(name, text, version=versions[name], created_at=at))
        run.append(step(seq, *made))
    return run


def child_process(source: str) -> subprocess.Popen[str]:
    """A Python process running the source, with this folder and the library to import from."""
    return subprocess.Popen(
        [sys.executable, "-c", source],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )

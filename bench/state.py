"""What the state store costs per event, without any processor: bar 25 µs, flat as it grows.

    PYTHONPATH=src .venv/bin/python bench/state.py

Every event gets and puts three small values (one its scope's, hot; one of its slot, warm; one
new), adds a step with a decision and a candidate, and one memory version; 500 events a batch.
Events of one scope come in runs, as a conversation does; ``--run 1`` is the worst there is.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from memstream.processors.pipeline import key
from memstream.projections.projection import Generation
from memstream.schemas.events import (
    CandidateExtracted,
    Event,
    MemoryChanged,
    Source,
    TurnRecorded,
    WriteDecided,
)
from memstream.schemas.ids import derived_id
from memstream.schemas.memories import Assertion, Memory
from memstream.streams.state_in_sqlite import StateStore

BATCH = 500
START = datetime(2024, 3, 1, 8, tzinfo=UTC)
SOURCE = Source("user_said", 3, "bench", "state")


class Seen(msgspec.Struct, frozen=True):
    """A small value, as a processor keeps one."""

    count: int
    last: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--scopes", type=int, default=200)
    parser.add_argument("--run", type=int, default=25, help="events of one scope in a row")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "state.db"
        store = StateStore.open(path, Generation("bench", "none", "1"))
        per_event: list[float] = []
        for first in range(0, given.events, BATCH):
            numbers = range(first, first + BATCH)
            batch = [made(number, given.scopes, given.run) for number in numbers]
            started = time.perf_counter()
            write(store, batch)
            per_event.append((time.perf_counter() - started) / BATCH * 1e6)
        tenth = max(len(per_event) // 10, 1)
        for upto in range(tenth, len(per_event) + 1, tenth):
            part = per_event[upto - tenth : upto]
            print(
                f"up to {upto * BATCH:>8,} events: median {statistics.median(part):5.1f} µs an "
                f"event, mean {statistics.mean(part):5.1f}"
            )
        started = time.perf_counter()
        tally = store.tally()
        print(f"tally of {tally.count:,} versions: {(time.perf_counter() - started) * 1e3:.1f} ms")
        started = time.perf_counter()
        steps = sum(len(store.steps_from(at, 1_000)) for at in range(0, given.events, 1_000))
        print(f"reading steps: {(time.perf_counter() - started) / steps * 1e6:.1f} µs a step")
        started = time.perf_counter()
        gone = store.erase_scope("acme/user:u0")
        took = time.perf_counter() - started
        print(f"erasing one scope ({gone:,} records, whole file scrubbed): {took:.2f} s")
        print(f"file: {path.stat().st_size / 1e6:.0f} MB")
        store.close()


def write(store: StateStore, batch: list[tuple[Event, tuple[Event, ...], str]]) -> None:
    with store.transaction() as transaction:
        for number, (event, derived, slot) in enumerate(batch):
            scope = event.subject
            with transaction.isolated() as state:
                for name in (
                    key(scope, "memo"),
                    key(scope, "slot", slot),
                    key(scope, "e", event.id),
                ):
                    before = state.get(name, Seen)
                    state.put(name, Seen(before.count + 1 if before else 1, event.id))
            transaction.add_step(
                partition=0, offset=number, scope=scope, event_id=event.id, event=event,
                derived=derived,
            )  # fmt: skip
        transaction.advance(0, 0)


def made(number: int, scopes: int, run: int) -> tuple[Event, tuple[Event, ...], str]:
    scope, slot = f"acme/user:u{number // run % scopes}", f"attribute{number * 7 % 61}"
    event_id = derived_id("bench", str(number))
    text = f"Plot {number} was weighed again and its dry weight is a tenth lower."
    time_ = START + timedelta(seconds=number)
    raw = Event(
        id=event_id, type="turn.recorded", subject=scope, time=time_, source=SOURCE,
        data=TurnRecorded(role="user", text=text), recordedtime=time_,
    )  # fmt: skip
    assertion = Assertion(
        event=event_id, ordinal=0, scope=scope, kind="fact", attribute=slot, value=str(number),
        valid_from=time_, observed_at=time_, trust=3, source_kind="user_said", text=text,
        quote=text,
    )  # fmt: skip
    memory = Memory(
        id=derived_id(event_id, "m"), version=1, scope=scope, kind="fact", status="active",
        attribute=slot, value=str(number), text=text, quote=text, observed_at=time_,
        valid_from=time_, created_at=time_, trust=3, source_kind="user_said", content_key=text,
        lemmas=("plot", "weigh", "dry", "weight"), entities=("plot",), supports=(event_id,),
    )  # fmt: skip
    decision = WriteDecided(
        event=event_id, outcome="stored", reason="admitted", factors={"utility": 0.7, "risk": 0.1}
    )
    derived = tuple(
        msgspec.structs.replace(raw, id=derived_id(event_id, kind), type=kind, data=data)
        for kind, data in (
            ("write.decided", decision),
            ("candidate.extracted", CandidateExtracted(assertion=assertion)),
            ("memory.asserted", MemoryChanged(memory=memory)),
        )
    )
    return raw, derived, slot


if __name__ == "__main__":
    main()

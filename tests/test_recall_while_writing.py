"""Many readers beside a writer: every recall answers, in its own scope, while the rest goes on."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from memstream import Memory, Scope

READERS = 20
TURNS = 8
PEOPLE = [Scope(tenant="acme", user=name) for name in ("ann", "bo", "cy", "di")]
THINGS = ("kite", "cello", "harbour", "walnut", "compass")


def told(scope: Scope, number: int) -> str:
    return f"On day {number} the {THINGS[number % len(THINGS)]} of {scope.user} was repaired."


def test_readers_beside_a_writer_get_answers_of_their_own_scope(tmp_path: Path) -> None:
    done = threading.Event()
    with Memory.open(tmp_path, embedder="hash") as memory, ThreadPoolExecutor(READERS) as pool:
        for scope in PEOPLE:
            memory.record_turn(scope, text=told(scope, 0))
        memory.flush()

        def read(scope: Scope) -> tuple[int, list[object]]:
            """How often it was answered, and what was wrong with the answers."""
            answered, faults = 0, list[object]()
            while not answered or not done.is_set():
                found = memory.recall(scope, f"Which {THINGS[0]} was repaired?", record=False)
                where = {item.memory.scope for item in found.items}
                if where != {scope.path} or found.degraded:
                    faults.append((where, found.degraded))
                answered += 1
            return answered, faults

        readers = [pool.submit(read, PEOPLE[at % len(PEOPLE)]) for at in range(READERS)]
        try:
            for number in range(1, TURNS):
                for scope in PEOPLE:
                    memory.record_turn(scope, text=told(scope, number))
            memory.flush()
        finally:
            done.set()
        for each in readers:
            answered, faults = each.result()
            assert answered > 0
            assert faults == []
        last = memory.record_turn(PEOPLE[0], text=told(PEOPLE[0], TURNS))
        newest = memory.recall(PEOPLE[0], f"day {TURNS}", after=last, record=False)
    assert any(f"day {TURNS} " in item.memory.text for item in newest.items)

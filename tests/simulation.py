"""A seeded simulation of the embedded runtime: real files, a clock by hand, crashes between any two
steps.

    python tests/simulation.py --seed 7            # one run, told step by step
    python tests/simulation.py --seeds 100         # seeds 0 to 99

One seed decides everything: the history, in what batches it is recorded, what is recorded twice,
when it is processed, rebuilt, erased or asked, which index file is damaged, and at which point the
process dies. ``Deaths`` wraps the stores' own methods, so a death falls just before or just after
any durable change: an append, a batch's commit, a projection's apply, every phase of an erasure, a
swap. What is left is a copy of the files as they lie at that moment, which is what a killed
process leaves; the next process starts on it.

At the end the memories must be, byte for byte, those of an undisturbed run of the same log, and
believed must be what a run of the surviving events alone believes. ``doctor`` must be healthy.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parent))

from histories import SCOPES, history, in_any_order

from memstream import Memory, Scope
from memstream.projections.generations import Generations
from memstream.projections.in_duckdb import DuckIndex
from memstream.projections.in_edge import EdgeIndex
from memstream.schemas.errors import KeyDestroyed, MemstreamError, ProjectionDamaged
from memstream.schemas.events import ErasureRequested, Event
from memstream.schemas.memories import canonical
from memstream.streams import embedded
from memstream.streams.clock import ManualClock
from memstream.streams.keyring_in_sqlite import SqliteKeyRing
from memstream.streams.log_in_sqlite import SqliteLog
from memstream.streams.state_in_sqlite import StateStore

BEGINNING = datetime(2026, 1, 5, 9, tzinfo=UTC)
LATER = datetime(2030, 1, 1, tzinfo=UTC)

MEMORY_DISK = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""Where runs keep their files if it is there: a simulated death needs no disk to outlive it."""

DURABLE: tuple[tuple[type, str], ...] = (
    (SqliteLog, "append"),
    (SqliteLog, "replace_all"),
    (SqliteLog, "scrub"),
    (SqliteLog, "commit"),
    (SqliteKeyRing, "rotate"),
    (SqliteKeyRing, "destroy"),
    (StateStore, "erase_scope"),
    (StateStore, "scrub"),
    (EdgeIndex, "apply"),
    (EdgeIndex, "erase"),
    (EdgeIndex, "flush"),
    (DuckIndex, "apply"),
    (DuckIndex, "erase"),
    (Generations, "create"),
    (Generations, "serve"),
    (Generations, "remove"),
)
"""What changes a file, with a point of death before and after it. ``StateStore.transaction`` is
wrapped too, by its commit."""


class Died(BaseException):
    """The process was killed here. No ``except Exception`` survives it."""


class Deaths:
    """A double that kills the process at the n-th point from now on, once, and while it is dead
    at every further one, so that no clean-up of a dying process reaches a file."""

    def __init__(self) -> None:
        self._left: int | None = None
        self._dead = False
        self.last_point = ""

    def arm(self, points: int) -> None:
        """Dies at the point that many points ahead."""
        self._left = points

    def disarm(self) -> None:
        """Nobody dies for now; the next process is alive."""
        self._left, self._dead = None, False

    def point(self, name: str) -> None:
        """A place where a process may die."""
        if self._dead:
            raise Died(name)
        if self._left is not None:
            self._left -= 1
            if self._left < 0:
                self._dead, self.last_point = True, name
                raise Died(name)

    @contextmanager
    def lurking(self) -> Iterator[None]:
        """Wraps the durable methods of every store, those made meanwhile too."""
        with ExitStack() as stack:
            for owner, name in DURABLE:
                wrapped = self._wrapped(f"{owner.__name__}.{name}", getattr(owner, name))
                stack.enter_context(patch.object(owner, name, wrapped))
            transaction = self._transaction(StateStore.transaction)
            stack.enter_context(patch.object(StateStore, "transaction", transaction))
            yield

    def _wrapped(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*values: Any, **named: Any) -> Any:
            self.point(f"before {name}")
            answer = method(*values, **named)
            self.point(f"after {name}")
            return answer

        return call

    def _transaction(self, method: Callable[..., Any]) -> Callable[..., Any]:
        @contextmanager
        def transaction(store: StateStore) -> Iterator[Any]:
            with method(store) as batch:
                yield batch
                self.point("before the commit of a batch")
            self.point("after the commit of a batch")

        return transaction


class Simulation:
    """One run. ``fault`` is a context manager that breaks the runtime on purpose, for canaries."""

    def __init__(
        self,
        seed: int,
        folder: Path,
        *,
        length: int = 40,
        say: Callable[[str], None] = lambda line: None,
        fault: Callable[[], AbstractContextManager[Any]] = nullcontext,
    ) -> None:
        self.seed = seed
        self.random = Random(seed)
        self.folder = folder
        self.clock = ManualClock(BEGINNING, seed=seed)
        self.deaths = Deaths()
        self._fault = fault
        self._say = say
        told = history(self.random, length)
        self.waiting = told if self.random.random() < 0.5 else in_any_order(self.random, told)
        self.recorded: list[Event] = []
        self.erased: set[tuple[str, str]] = set()
        self.directory = folder / "life-0"
        self.lives = 0
        self.memory: Memory | None = None

    def run(self) -> None:
        """Runs to the end and checks. Raises ``AssertionError`` for anything that is not so."""
        with self._fault(), self.deaths.lurking():
            # Small batches, so that a few dozen events have many of them.
            with patch.object(embedded, "BATCH", self.random.choice((1, 3, 500))):
                while self.waiting:
                    self._step()
                self._carefully("flush", lambda memory: memory.flush())
                self._check()
            self._close()

    # Steps

    def _step(self) -> None:
        steps: tuple[tuple[str, int, Callable[[], None]], ...] = (
            ("record", 10, self._record),
            ("record again", 3, self._record_again),
            ("flush", 6, lambda: self._maybe_dying("flush", lambda memory: memory.flush())),
            ("rebuild", 1, lambda: self._maybe_dying("rebuild", lambda memory: memory.rebuild())),
            ("erase", 1, self._erase),
            ("recall", 2, self._recall),
            ("damage", 2, self._damage),
            ("restart", 1, self._close),
            ("wait", 1, lambda: self.clock.advance(timedelta(hours=5))),
        )
        names = [each for each in steps for _ in range(each[1])]
        name, _, step = self.random.choice(names)
        self.tell(name)
        step()

    def _record(self) -> None:
        count = self.random.randint(1, 6)
        batch, self.waiting = self.waiting[:count], self.waiting[count:]
        # Nobody knows whether an append that died is there; delivering it again is harmless.
        self._maybe_dying("record", lambda memory: memory.append(batch))
        self.recorded += batch

    def _record_again(self) -> None:
        if self.recorded:
            some = self.random.sample(self.recorded, min(3, len(self.recorded)))
            self._maybe_dying("record again", lambda memory: memory.append(some))

    def _erase(self) -> None:
        if not self.recorded:
            return
        event = self.random.choice(self.recorded)
        scope = Scope.parse(event.subject)
        before = self._requests(self._alive(), scope)

        def requested(memory: Memory) -> bool:
            # A request that the log has is carried out, whether or not anybody asks again.
            return self._requests(memory, scope) > before

        if self.random.random() < 0.7:
            gone = {(event.subject, event.id)}
            self._maybe_dying(
                "erase", lambda memory: memory.erase(scope, event=event.id), requested
            )
        else:
            gone = {(each.subject, each.id) for each in self.recorded if each.subject == scope.path}
            self._maybe_dying("erase a scope", lambda memory: memory.erase(scope), requested)
        self.erased |= gone

    def _requests(self, memory: Memory, scope: Scope) -> int:
        entries = memory._host.files.log.of_subject(scope.path)
        return sum(each.row.type == "erasure.requested" for each in entries)

    def _recall(self) -> None:
        scope = self.random.choice(SCOPES)
        self._maybe_dying("recall", lambda memory: memory.recall(scope, "Oslo", record=False))

    def _damage(self) -> None:
        """Damages a disposable file as a failing disk or a careless hand would."""
        self._close()
        generations = self.directory / "generations"
        files = sorted(each for each in generations.rglob("*") if each.is_file())
        kind = self.random.choice(("state.db", "analytics.duckdb", "vectors", "CURRENT", "all"))
        if kind == "all":
            shutil.rmtree(generations, ignore_errors=True)
        chosen = [each for each in files if kind in each.relative_to(generations).parts]
        if not chosen or kind == "all":
            return
        victim = self.random.choice(chosen)
        how = self.random.choice(("delete", "cut short", "empty", "overwrite the head"))
        self.tell(f"  {how}: {victim.relative_to(generations)}")
        size = victim.stat().st_size
        if how == "delete":
            victim.unlink()
        elif how == "cut short":
            with victim.open("r+b") as file:
                file.truncate(size // 2)
        elif how == "empty":
            victim.write_bytes(b"")
        else:
            with victim.open("r+b") as file:
                file.write(b"\xff" * min(size, 64))

    # Life and death

    def _maybe_dying(
        self,
        what: str,
        act: Callable[[Memory], object],
        settled: Callable[[Memory], bool] = lambda memory: False,
    ) -> None:
        if self.random.random() < 0.5:
            self.deaths.arm(self.random.choice((0, 1, 2, 3, 4, 6, 9, 14, 20)))
        self._carefully(what, act, settled)

    def _carefully(
        self,
        what: str,
        act: Callable[[Memory], object],
        settled: Callable[[Memory], bool] = lambda memory: False,
    ) -> None:
        """Does it until it is done: after a death again, in the next process, unless it is
        ``settled``."""
        for _ in range(4):
            try:
                act(self._alive())
            except Died as died:
                self.tell(f"  died {died} during {what}")
                self._die()
                if settled(self._alive()):
                    return
            except ProjectionDamaged as damage:
                # The stated mend. It is tried without deaths: one disaster at a time.
                self.tell(f"  {damage}")
                self.deaths.disarm()
                self._alive().rebuild()
            else:
                self.deaths.disarm()
                return
        raise AssertionError(f"{self}: {what} did not get done in four tries")

    def _alive(self) -> Memory:
        if self.memory is None:
            self.memory = Memory.open(self.directory, worker=False, clock=self.clock)
        return self.memory

    def _die(self) -> None:
        """The files as they lie go to the next life; what the dying process still holds goes
        nowhere."""
        self.lives += 1
        before, self.directory = self.directory, self.folder / f"life-{self.lives}"
        copy_as_it_lies(before, self.directory)
        self.deaths.disarm()
        memory, self.memory = self.memory, None
        if memory is not None:
            with suppress(MemstreamError):
                memory.close()
        shutil.rmtree(before)

    def _close(self) -> None:
        if self.memory is not None:
            self.memory.close()
            self.memory = None

    # The end

    def _check(self) -> None:
        memory = self._alive()
        diagnosis = memory.doctor()
        wrong = [check for check in diagnosis.checks if not check.ok]
        assert not wrong, f"{self}: {wrong}"
        assert diagnosis.balance.closes, f"{self}: {diagnosis.balance}"
        assert diagnosis.balance.in_flight == 0, f"{self}: {diagnosis.balance}"
        counted = sum(memory._host.files.log.counts().values())
        requests = counted - len({(each.subject, each.id) for each in self.recorded})
        assert requests >= 0, f"{self}: {-requests} recorded events are not in the log"
        assert requests <= 4 * self.lives + len(self.recorded), f"{self}: {requests} too many"
        found = versions(memory)
        believed = view(memory)
        order = self._order_of(memory)
        self._close()
        undisturbed = self.folder / "undisturbed"
        copy_as_it_lies(self.directory, undisturbed)
        shutil.rmtree(undisturbed / "generations")
        with Memory.open(undisturbed, worker=False, clock=ManualClock(LATER)) as again:
            again.flush()
            assert versions(again) == found, f"{self}: an undisturbed run makes other memories"
        shutil.rmtree(undisturbed)
        with Memory.open(undisturbed, worker=False, clock=ManualClock(BEGINNING)) as model:
            model.append(order)
            model.flush()
            assert view(model) == believed, (
                f"{self}: the surviving events alone lead to another belief: "
                f"{view(model) ^ believed}"
            )

    def _order_of(self, memory: Memory) -> list[Event]:
        """The events that survive as the log has them, in its order: each that was recorded and
        not erased must be there, scrubbed of what was, and so is what keeps a correction's right
        side where the correction went."""
        files = memory._host.files
        gone = set(self.erased)
        places: list[tuple[int, int, Event]] = []
        for scope in SCOPES:
            for entry in files.log.of_subject(scope.path):
                with suppress(KeyDestroyed):
                    event = files.codec.from_row(entry.row)
                    if isinstance(event.data, ErasureRequested):
                        gone |= {(scope.path, name) for name in event.data.events}
                    else:
                        places.append((entry.partition, entry.offset, event))
        order = [event for *_, event in sorted(places, key=lambda place: place[:2])]
        there = {(event.subject, event.id) for event in order}
        for event in self.recorded:
            name = event.subject, event.id
            assert name in there | gone, f"{self}: {event.id} was recorded and cannot be read"
        assert not there & gone, f"{self}: {there & gone} were erased and can be read"
        return order

    def tell(self, line: str) -> None:
        self._say(line)

    def __str__(self) -> str:
        return (
            f"seed {self.seed} after {self.lives} deaths, the last {self.deaths.last_point or '-'};"
            f" replay: python tests/simulation.py --seed {self.seed}"
        )


def every_death(
    prepared: Path, act: Callable[[Memory], object], examine: Callable[[Memory, str], None]
) -> list[str]:
    """Does ``act`` on copies of a prepared directory, dying at the first point, then at the
    second, and so on until it gets through; ``examine`` sees each time what the next process
    finds. Gives the points, in order."""
    points: list[str] = []
    with tempfile.TemporaryDirectory(dir=MEMORY_DISK, prefix="deaths-") as folder:
        while True:
            # A path of its own each time: DuckDB shares what a process has open by path.
            dying = Path(folder) / f"dying-{len(points)}"
            next_life = Path(folder) / f"next-{len(points)}"
            copy_as_it_lies(prepared, dying)
            deaths = Deaths()
            with deaths.lurking():
                memory = Memory.open(dying, worker=False, clock=ManualClock(BEGINNING, seed=7))
                memory.flush()
                deaths.arm(len(points))
                try:
                    act(memory)
                    point = ""
                except Died:
                    point = deaths.last_point
                copy_as_it_lies(dying, next_life)
                deaths.disarm()
                memory.close()
            with Memory.open(next_life, worker=False, clock=ManualClock(LATER, seed=8)) as memory:
                examine(memory, point or "the end")
            for each in (dying, next_life):
                shutil.rmtree(each)
            if not point:
                return points
            points.append(point)


def copy_as_it_lies(source: Path, target: Path) -> None:
    """A copy of a directory that is in use, holes kept: index files are mostly holes."""
    command = ["cp", "-a", "--sparse=always", str(source), str(target)]
    subprocess.run(command, check=True, capture_output=True)


def versions(memory: Memory, scopes: Sequence[Scope] = SCOPES) -> list[bytes]:
    """Every version of every memory, in its canonical serialisation."""
    return sorted(canonical(each) for scope in scopes for each in memory.history(scope))


def view(memory: Memory, scopes: Sequence[Scope] = SCOPES) -> set[tuple[object, ...]]:
    """What is believed now, without transaction time. What merged into another is not believed."""
    return {
        (
            each.scope, each.id, each.value, each.status, each.valid_from, each.valid_to,
            each.trust, each.supports, each.conflicts,
        )
        for scope in scopes
        for each in memory.memories(scope, everything=True, as_of=LATER)
        if each.status != "merged"
    }  # fmt: skip


def simulate(seed: int, **more: Any) -> Simulation:
    """Runs one seed in a folder of its own; gives the finished simulation."""
    with tempfile.TemporaryDirectory(dir=MEMORY_DISK, prefix=f"simulation-{seed}-") as folder:
        simulation = Simulation(seed, Path(folder), **more)
        try:
            simulation.run()
        except AssertionError:
            raise
        except Exception as error:
            raise AssertionError(f"{simulation}: {type(error).__name__}: {error}") from error
        return simulation


def main() -> int:
    """Runs the seeds given on the command line; the exit code says how many failed."""
    parser = argparse.ArgumentParser(description="Simulates the embedded runtime.")
    parser.add_argument("--seed", type=int, help="one seed, told step by step")
    parser.add_argument("--seeds", type=int, default=20, help="seeds from 0")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--length", type=int, default=40, help="events of a history")
    options = parser.parse_args()
    write = sys.stdout.write
    if options.seed is not None:
        write(
            f"{simulate(options.seed, length=options.length, say=lambda x: write(x + chr(10)))}\n"
        )
        return 0
    failed = 0
    for seed in range(options.first, options.first + options.seeds):
        try:
            simulate(seed, length=options.length)
        except AssertionError as error:
            failed += 1
            write(f"{error}\n")
    write(f"{options.seeds} seeds, {failed} failed\n")
    return min(failed, 100)


if __name__ == "__main__":
    sys.exit(main())

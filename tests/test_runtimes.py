"""One suite for every runtime with every index: the embedded run with the edge index, and Faust
workers on a real broker with the edge index and with Qdrant's.

One worker process serves the whole module. The edge and the Qdrant projector read the same topic,
so each holds what was recorded through either; every case and history has tenants of its own.
The Qdrant index is on the server of MEMSTREAM_QDRANT_URL, or else in qdrant-client's local mode:
``GAPS`` in ``qdrant_backend`` says what that does not show.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, nullcontext
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

sys.path.insert(0, str(Path(__file__).parent))

import qdrant_backend
from histories import SCOPES, history, in_any_order
from kafka_installation import Installation, installed
from simulation import versions, view
from thorough import THOROUGH

from memstream import Memory, Scope
from memstream.processors.standard import standard_pipeline
from memstream.projections.embedders import embedder_named
from memstream.schemas.events import Event, Source, TurnRecorded
from memstream.service.cases import CaseResult, clock_after, run_case
from memstream.service.directory import stamp_of
from memstream.service.importing import import_file
from memstream.streams.clock import Clock

RUNTIMES = ["embedded-edge", "faust-edge", "faust-qdrant"]
ON_KAFKA = RUNTIMES[1:]
CASES = [
    file
    for folder in (
        Path(__file__).with_name("cases"),
        Path(__file__).resolve().parents[1].parent / "shared" / "cases",
    )
    for file in sorted(folder.glob("*.json"))
]
ALL = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
PATIENCE_S = 120.0
SEEDS = (1, 2)
MARK = "Xochimilcotenango"
LENGTH = 60
TURNS = 250
"""Of a long chat; HYPOTHESIS_PROFILE=thorough takes all of all chats."""


class Runtimes:
    """Every runtime with every index, open at the same time, by one clock."""

    def __init__(self, installation: Installation, folder: Path, stack: ExitStack) -> None:
        self.installation, self.folder = installation, folder
        self.clock: Clock = clock_after(_case(file)["events"] for file in CASES)
        embedder = embedder_named("none")
        index = qdrant_backend.opened(
            folder / "qdrant", stamp_of(standard_pipeline(), embedder), embedder
        )
        cluster = installation.settings
        self.memories: dict[str, Memory] = {
            "embedded-edge": Memory.open(folder / "embedded-edge", worker=False, clock=self.clock),
            "faust-edge": Memory.connect(
                folder / "faust-edge", cluster, projects=True, clock=self.clock
            ),
            "faust-qdrant": Memory.connect(
                folder / "faust-qdrant", cluster, projects=True, index=index, clock=self.clock
            ),
        }
        for each in self.memories.values():
            stack.callback(each.close)
        self.embedded = self.memories["embedded-edge"]

    def migrated(self) -> dict[str, Any]:
        """What ``memstream migrate`` says when it has moved the embedded run's events."""
        return self.told("migrate", "embedded-edge")

    def told(self, command: str, directory: str, *options: str) -> dict[str, Any]:
        """What a command answers that another process runs in one of the directories."""
        program = [sys.executable, "-m", "memstream.service.cli", command, *options, "--json"]
        done = subprocess.run(
            [*program, "--dir", str(self.folder / directory)],
            env=self.installation.environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def flushed(self) -> None:
        """All of them have come to the end of what was recorded."""
        for each in self.memories.values():
            each.flush(PATIENCE_S)


@pytest.fixture(scope="module")
def runtimes(kafka_bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtimes]:
    folder = tmp_path_factory.mktemp("runtimes")
    with installed(kafka_bootstrap, folder) as installation, ExitStack() as stack:
        installation.worker("one")
        yield Runtimes(installation, folder, stack)


# Cases


class Shared:
    """A memory that many cases use at once. Those that wait for it to be flushed or examined are
    answered together, by one that began after all of them had asked."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._flushes, self._diagnoses = Together(memory.flush), Together(memory.doctor)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._memory, name)

    def flush(self, timeout_s: float | None = None) -> None:
        self._flushes(timeout_s)

    def doctor(self) -> Any:
        return self._diagnoses()


class Together:
    """Calls of one function, made once for all who asked before it began."""

    def __init__(self, ask: Callable[..., Any]) -> None:
        self._ask = ask
        self._asking, self._counting = threading.Lock(), threading.Lock()
        self._began, self._answered = 0, 0
        self._answer: Any = None

    def __call__(self, *arguments: Any) -> Any:
        with self._counting:
            mine = self._began + 1
        with self._asking:
            if self._answered < mine:
                with self._counting:
                    self._began += 1
                self._answer = self._ask(*arguments)
                self._answered = self._began
            return self._answer


def _case(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def moved(raw: Any, prefix: str) -> Any:
    """The case with other tenants: it shares its memory with others."""
    if isinstance(raw, dict):
        return {
            name: each | {"tenant": prefix + each["tenant"]}
            if name == "scope" and isinstance(each, dict) and "tenant" in each
            else moved(each, prefix)
            for name, each in raw.items()
        }
    return [moved(each, prefix) for each in raw] if isinstance(raw, list) else raw


def _orders(raw: dict[str, Any]) -> list[dict[str, Any]]:
    given = raw | {"orders": "given"}
    if raw.get("orders") != "all" or not ALL:
        return [given]
    return [given, given | {"events": raw["events"][::-1]}]


@pytest.fixture(scope="module")
def results(runtimes: Runtimes) -> Callable[[str], dict[str, list[CaseResult]]]:
    """What came of every case, in its order; HYPOTHESIS_PROFILE=thorough: and in the reverse,
    where it asks for all."""
    known: dict[str, dict[str, list[CaseResult]]] = {}

    def of(name: str) -> dict[str, list[CaseResult]]:
        if name not in known:
            known[name] = _ran(runtimes, name)
        return known[name]

    return of


def _ran(runtimes: Runtimes, name: str) -> dict[str, list[CaseResult]]:
    memory: Any = Shared(runtimes.memories[name])
    todo = [
        (file, moved(raw, f"{name}-{number}-{order}-"))
        for number, file in enumerate(CASES)
        for order, raw in enumerate(_orders(_case(file)))
    ]

    def run(each: tuple[Path, dict[str, Any]]) -> CaseResult:
        return run_case(
            each[1],
            runtimes.folder / "cases",
            opened=lambda *_: nullcontext(memory),
            clock=runtimes.clock,
        )

    found: dict[str, list[CaseResult]] = {}
    with ThreadPoolExecutor(len(todo)) as threads:
        for (file, _), result in zip(todo, threads.map(run, todo), strict=True):
            found.setdefault(file.stem, []).append(result)
    return found


@pytest.mark.parametrize("case", [file.stem for file in CASES])
@pytest.mark.parametrize("name", RUNTIMES)
def test_case(results: Callable[[str], dict[str, list[CaseResult]]], name: str, case: str) -> None:
    for result in results(name)[case]:
        assert result.passed, "\n".join(result.problems)


# Laws


class Told:
    """Histories of one seed. Each kind has tenants of its own; what they say is the same."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def scopes(self, kind: str) -> list[Scope]:
        return [
            Scope.parse(each.path.replace(each.tenant, f"{each.tenant}-{kind}-{self.seed}", 1))
            for each in SCOPES
        ]

    def events(self, kind: str) -> list[Event]:
        return history(Random(self.seed), LENGTH, scopes=self.scopes(kind))

    def marked(self, kind: str) -> list[Event]:
        """The same with one event more, which nothing repeats."""
        events = self.events(kind)
        marked = msgspec.structs.replace(
            events[LENGTH // 2],
            id="marked",
            type="turn.recorded",
            subject=self.scopes(kind)[0].path,
            source=Source("user_said", 3),
            data=TurnRecorded(text=f"I live in {MARK}. My locker code is {MARK}.", role="user"),
        )
        return [*events[: LENGTH // 2], marked, *events[LENGTH // 2 :]]


TOLD = [Told(seed) for seed in SEEDS]


def scopes(kind: str) -> list[Scope]:
    """Of the histories of all seeds."""
    return [each for told in TOLD for each in told.scopes(kind)]


@pytest.fixture(scope="module")
def told(runtimes: Runtimes) -> Runtimes:
    """Histories in every runtime: as told and moved by ``memstream migrate``, delivered again, in
    another order, and with an event that is erased. All are processed together."""
    embedded, edge = runtimes.embedded, runtimes.memories["faust-edge"]
    random = Random(0)
    for each in TOLD:
        for kind in ("told", "again"):
            embedded.append(each.events(kind))
        embedded.append(each.marked("erased"))
        embedded.append(each.events("order"))
        # They arrive here first in this order; the migrated ones are then delivered again.
        edge.append(in_any_order(random, each.events("order")))
    runtimes.migrated()
    log = runtimes.installation.log
    for scope in scopes("again"):
        log.append_again([each.row for each in log.of_subject(scope.path)][::-1])
    runtimes.flushed()
    for memory in (embedded, edge):
        report = memory.erase(TOLD[0].scopes("erased")[0], event="marked", reason="asked for")
        assert report.complete, report.traces
    runtimes.flushed()
    return runtimes


@pytest.mark.parametrize("kind", ["told", "again"])
@pytest.mark.parametrize("name", ON_KAFKA)
def test_the_same_events_give_the_same_memories(told: Runtimes, name: str, kind: str) -> None:
    """Record by record, with ids, times and status; also where everything came twice."""
    expected = versions(told.embedded, scopes(kind))
    assert len(expected) > LENGTH
    assert versions(told.memories[name], scopes(kind)) == expected


@pytest.mark.parametrize("name", ON_KAFKA)
def test_any_order_of_arrival_gives_the_same_view(told: Runtimes, name: str) -> None:
    assert view(told.memories[name], scopes("order")) == view(told.embedded, scopes("order"))


@pytest.mark.parametrize("name", ON_KAFKA)
def test_what_was_erased_is_gone_and_the_rest_is_the_same(told: Runtimes, name: str) -> None:
    memory, everyone = told.memories[name], scopes("erased")
    erased, kept = everyone[0], everyone[len(SCOPES)]
    assert versions(memory, everyone) == versions(told.embedded, everyone)
    assert not any(MARK.encode() in each for each in versions(memory, [erased]))
    assert any(MARK.encode() in each for each in versions(memory, [kept]))
    for query in (MARK, "Where does the user live?"):
        assert MARK not in memory.recall(erased, query, record=False).text.replace(query, "")


@pytest.mark.parametrize("name", RUNTIMES)
def test_no_scope_ever_shows_anything_of_another(told: Runtimes, name: str) -> None:
    memory, (ours, *_) = told.memories[name], scopes("told")
    for query in ("Where does the user live?", "Oslo", "tea", "lunch with Tomas", MARK):
        evidence = memory.recall(ours, query, limit=50, record=False)
        assert {item.memory.scope for item in evidence.items} <= {ours.path}


@pytest.mark.parametrize("name", RUNTIMES)
def test_the_balance_closes_and_every_index_holds_what_it_should(told: Runtimes, name: str) -> None:
    diagnosis = told.memories[name].doctor()
    assert diagnosis.healthy, diagnosis
    assert diagnosis.balance.closes
    assert not diagnosis.balance.dead_lettered
    assert not diagnosis.balance.in_flight


def test_doctor_and_sql_on_the_command_line_reach_kafka_beside_a_projector(told: Runtimes) -> None:
    found = told.told("doctor", "faust-edge", "--kafka")
    assert found["healthy"], found
    assert found["balance"]["captured"] > 4 * LENGTH * len(SEEDS)
    details = {each["name"]: each["detail"] for each in found["checks"]}
    assert details["workers"] == details["projection"] == "0 events behind the log"
    assert "another process has this index open" in details["index"]
    assert details["erasures"] == "fine"
    query = "SELECT count(*) FROM events WHERE NOT erased"
    assert told.told("sql", "faust-edge", query, "--kafka")["rows"][0][0] > 4 * LENGTH * len(SEEDS)


def test_an_index_made_anew_from_the_topic_holds_the_same(told: Runtimes) -> None:
    everything = [each for kind in ("told", "again", "order", "erased") for each in scopes(kind)]
    cluster = told.installation.settings
    with Memory.connect(told.folder / "anew", cluster, clock=told.clock) as anew:
        anew.flush(PATIENCE_S)
        assert versions(anew, everything) == versions(told.memories["faust-edge"], everything)


# A real import


@pytest.mark.parametrize(
    "turns", [pytest.param(TURNS, id="a part"), pytest.param(None, id="all", marks=THOROUGH)]
)
def test_a_directory_that_moves_to_kafka_keeps_every_memory(
    runtimes: Runtimes, shared: Path, turns: int | None
) -> None:
    """Long chats of real people, imported into a directory and moved by ``memstream migrate``."""
    file = shared / "data" / "locomo" / "locomo_dev.json"
    samples = json.loads(file.read_text(encoding="utf-8"))
    chats = [Scope(tenant=f"chats-{turns}", user=f"u{at}") for at in range(len(samples))]
    part = runtimes.folder / f"chat-{turns}.json"
    added = 0
    for scope, sample in zip(chats, samples[: 1 if turns else None], strict=False):
        part.write_text(json.dumps([_beginning(sample, turns)]), encoding="utf-8")
        report = import_file(runtimes.embedded, part, scope=scope, now=runtimes.clock.now())
        assert report.added >= (turns or 300)
        assert not report.broken
        added += report.added
    done = runtimes.migrated()
    assert done["events"] >= added
    runtimes.flushed()
    expected = versions(runtimes.embedded, chats)
    assert len(expected) > added / 4
    for name in ON_KAFKA:
        assert versions(runtimes.memories[name], chats) == expected


def _beginning(sample: dict[str, Any], turns: int | None) -> dict[str, Any]:
    """The first sessions of a chat, with that many turns at least."""
    chat, count = dict[str, Any](), 0
    for name, value in sample["conversation"].items():
        if isinstance(value, list):
            if turns is not None and count >= turns:
                continue
            count += len(value)
        chat[name] = value
    return sample | {"conversation": chat}

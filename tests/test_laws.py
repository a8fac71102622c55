"""The laws that the README promises, each as a property of generated histories.

All of them go through the public API over real files. Opening a directory and making its indexes
takes tenths of a second, so a run tries few histories; HYPOTHESIS_PROFILE=thorough tries many.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import msgspec
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))

from histories import PRIVATE, SCOPES, histories, history, in_any_order
from holding import files_with
from simulation import LATER, MEMORY_DISK, versions, view

from memstream import Memory, Scope
from memstream.processors.pipeline import Pipeline, Processor, State
from memstream.projections.in_edge import EdgeIndex
from memstream.projections.queries import IndexClosed
from memstream.schemas.errors import InvalidScope, ProjectionDamaged, UnsupportedFilter
from memstream.schemas.events import Event, Source, TurnRecorded
from memstream.schemas.memories import canonical
from memstream.service.reports import Diagnosis
from memstream.streams import embedded
from memstream.streams.clock import ManualClock

RECORDED = datetime(2026, 1, 5, 9, tzinfo=UTC)
"""When everything is recorded: after all of it was said."""

_QUICK = settings().max_examples < 1_000
# Shrinking an example of a second takes minutes; a quick run shows what it found as it is.
_PHASES = [Phase.explicit, Phase.generate] if _QUICK else list(Phase)
few = settings(max_examples=4 if _QUICK else 100, phases=_PHASES)


@contextmanager
def opened(directory: Path | None = None, *, seed: int = 0, **more: Any) -> Iterator[Memory]:
    """A memory in the directory, or in a fresh one that is removed afterwards."""
    with tempfile.TemporaryDirectory(dir=MEMORY_DISK, prefix="laws-") as fresh:
        clock = ManualClock(RECORDED, seed=seed)
        with Memory.open(directory or fresh, worker=False, clock=clock, **more) as memory:
            yield memory


def checksums(diagnosis: Diagnosis) -> str:
    """The count and checksum of the state; its indexes are compared with it by ``doctor``."""
    return next(check.detail for check in diagnosis.checks if check.name == "state")


def assert_healthy(memory: Memory) -> Diagnosis:
    diagnosis = memory.doctor()
    wrong = [check for check in diagnosis.checks if not check.ok]
    assert not wrong, wrong
    assert diagnosis.balance.closes, diagnosis.balance
    return diagnosis


# 1. The log is the truth


@few
@given(histories())
def test_deleting_every_derived_file_and_replaying_gives_the_same_bytes(
    told: list[Event],
) -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY_DISK) as folder:
        directory = Path(folder) / "memory"
        with opened(directory) as memory:
            memory.append(told)
            memory.flush()
            before, sums = versions(memory), checksums(assert_healthy(memory))
            report = memory.rebuild()
            assert report.verified, report.problems
            assert report.identical
            assert versions(memory) == before
            assert checksums(assert_healthy(memory)) == sums
        shutil.rmtree(directory / "generations")
        with opened(directory, seed=1) as memory:
            memory.flush()
            assert versions(memory) == before
            assert checksums(assert_healthy(memory)) == sums


# 2. Deterministic


@few
@given(histories())
def test_the_same_events_at_the_same_times_give_the_same_bytes(told: list[Event]) -> None:
    found: list[list[bytes]] = []
    for _ in range(2):
        with opened() as memory:
            for number, event in enumerate(told):
                memory.append([event])
                if number % 7 == 0:
                    memory.flush()
            memory.flush()
            found.append(versions(memory))
    assert found[0] == found[1]


@few
@given(histories(), st.integers(1, 4))
def test_in_what_batches_the_log_is_processed_does_not_matter(
    told: list[Event], batch: int
) -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY_DISK) as folder:
        directory = Path(folder) / "memory"
        with opened(directory) as memory:
            memory.append(told)
            memory.flush()
            before = versions(memory)
        shutil.rmtree(directory / "generations")
        with patch.object(embedded, "BATCH", batch), opened(directory, seed=1) as memory:
            memory.flush()
            assert versions(memory) == before


# 3. Arrival order does not matter


@few
@given(histories(), st.randoms(use_true_random=False))
def test_any_order_of_arrival_gives_the_same_view(told: list[Event], random: Random) -> None:
    with opened() as memory:
        memory.append(told)
        memory.flush()
        expected = view(memory)
    with opened() as memory:
        for event in in_any_order(random, told):
            memory.append([event])
        memory.flush()
        assert view(memory) == expected


# 4. Idempotent


@few
@given(histories())
def test_delivering_everything_again_changes_nothing(told: list[Event]) -> None:
    with opened() as memory:
        first = memory.append([*told, *told])
        assert [each.duplicate for each in first] == [False] * len(told) + [True] * len(told)
        memory.flush()
        before, sums = versions(memory), checksums(assert_healthy(memory))
        again = memory.append(told)
        assert all(each.duplicate for each in again)
        memory.flush()
        assert versions(memory) == before
        assert checksums(assert_healthy(memory)) == sums
    with opened() as memory:
        memory.append(told)
        memory.flush()
        assert view(memory) == {*view(memory)}
        assert len(versions(memory)) == len(before)


# 5. Nothing is lost silently


class Stumbles:
    """A gate that fails on some events, as a bug would, until it is ``mended``."""

    def __init__(self, sound: Processor, on: set[str]) -> None:
        self.sound, self.on, self.mended, self.name, self.version = sound, on, False, "gate", 1

    def __call__(self, state: State, event: Event) -> Iterator[Event]:
        yield from self.sound(state, event)
        if event.id in self.on and not self.mended:
            raise ValueError("stumbled")


def stumbling(memory: Memory, on: set[str]) -> Stumbles:
    """Puts a pipeline with a stumbling gate into an open memory whose runtime is open."""
    memory.doctor()  # opens the runtime
    runtime = memory._host.stores.runtime
    assert runtime is not None
    stumbles = Stumbles((sound := runtime.pipeline).processors[0], on)
    runtime.pipeline = Pipeline([stumbles, *sound.processors[1:]])
    runtime.pipeline.fingerprint = sound.fingerprint
    return stumbles


@few
@given(histories(shortest=4), st.randoms(use_true_random=False))
def test_the_balance_closes_after_every_step(told: list[Event], random: Random) -> None:
    stumbles = {each.id for each in random.sample(told, len(told) // 3)}
    with opened() as memory:
        pipeline = stumbling(memory, stumbles)
        recorded = 0
        while recorded < len(told):
            count = random.randint(1, 9)
            memory.append(told[recorded : recorded + count])
            recorded = min(recorded + count, len(told))
            balance = memory.doctor().balance
            assert balance.closes
            assert balance.captured == recorded
            if random.random() < 0.5:
                memory.flush()
                balance = memory.doctor().balance
                assert balance.closes
                assert balance.in_flight == 0
        memory.flush()
        balance = memory.doctor().balance
        assert balance.dead_lettered == len(stumbles)
        erased = memory.erase(Scope.parse(told[0].subject))
        assert erased.complete
        assert memory.doctor().balance.closes
        pipeline.mended = True
        memory._host.retry_dead_letters()
        balance = assert_healthy(memory).balance
        assert balance.dead_lettered == 0
        before = versions(memory)
        report = memory.rebuild()
        assert report.identical, report.problems
        assert versions(memory) == before


def test_an_event_that_goes_through_late_takes_its_place_in_the_log(tmp_path: Path) -> None:
    told = history(Random(3), 30)
    with opened(tmp_path) as memory:
        pipeline = stumbling(memory, {each.id for each in told[:15]})
        memory.append(told)
        memory.flush()
        assert memory.doctor().balance.dead_lettered == 15
        pipeline.mended = True
        memory._host.retry_dead_letters()
        assert_healthy(memory)
        found = versions(memory)
    shutil.rmtree(tmp_path / "generations")
    with opened(tmp_path, seed=1) as memory:
        memory.flush()
        assert versions(memory) == found


# 6. Scope is structural

_NAMES = st.text(min_size=1, max_size=12).filter(str.strip) | st.sampled_from(
    ["a/b", "a/user:b", "..", "../x", "%2F", "a%2Fuser:b", "*", "'; DROP", "\x1f", "user:", "名"]
)


@st.composite
def two_scopes(draw: st.DrawFn) -> tuple[Scope, Scope]:
    made: list[Scope] = []
    for _ in range(2):
        kind = draw(st.sampled_from(["user", "agent", "session", "channel", "task"]))
        try:
            made.append(Scope(tenant=draw(_NAMES), **{kind: draw(_NAMES)}))
        except InvalidScope:  # a lone surrogate: refused at the door
            made.append(Scope(tenant="acme", **{kind: "plain"}))
    if made[0] == made[1]:
        made[1] = Scope(tenant="another", user="somebody")
    return made[0], made[1]


@few
@given(two_scopes())
def test_no_scope_ever_shows_anything_of_another(pair: tuple[Scope, Scope]) -> None:
    ours, theirs = pair
    with opened() as memory:
        for scope, word in ((ours, "vermilion"), (theirs, "cerulean")):
            for number in range(3):
                memory.state(scope, f"The {word} folder number {number} is on the shelf.")
            memory.state(scope, attribute="residence", value=f"{word} town")
            memory.flush()
        for scope, foreign in ((ours, "cerulean"), (theirs, "vermilion")):
            shown = [*memory.memories(scope, everything=True), *memory.history(scope)]
            assert shown
            assert not any(foreign in canonical(each).decode() for each in shown)
            for query in (foreign, "folder shelf", "residence town", foreign + " folder"):
                evidence = memory.recall(scope, query, limit=50)
                assert {item.memory.scope for item in evidence.items} <= {scope.path}
                assert foreign not in evidence.text.replace(query, "")


def test_two_tenants_are_never_asked_in_one_question() -> None:
    with opened() as memory:
        with pytest.raises(UnsupportedFilter, match="2 tenants"):
            memory.recall(PRIVATE[0], "where?", scopes=(PRIVATE[3],))
        with pytest.raises(UnsupportedFilter, match="colour"):
            memory.recall(PRIVATE[0], "where?", colour="red")


# 7. Trust never rises by itself


@few
@given(histories())
def test_no_memory_is_more_trusted_than_its_least_trusted_source(told: list[Event]) -> None:
    trust = {(each.subject, each.id): each.source.trust for each in told}
    vouched: dict[tuple[str, str], int] = {}
    for each in told:
        if each.type == "review.decided" and getattr(each.data, "trust", None) is not None:
            target = (each.subject, each.data.event)  # type: ignore[attr-defined]
            vouched[target] = max(vouched.get(target, 0), each.data.trust)  # type: ignore[attr-defined]
    with opened() as memory:
        memory.append(told)
        memory.flush()
        for scope in SCOPES:
            for held in memory.history(scope):
                sources = [(held.scope, event) for event in held.supports]
                allowed = [max(trust[source], vouched.get(source, 0)) for source in sources]
                assert held.trust <= min(allowed)


@few
@given(histories(scopes=PRIVATE))
def test_a_less_trusted_claim_never_changes_what_is_active(told: list[Event]) -> None:
    told = [each for each in told if each.source.trust >= 3]
    with opened() as memory:
        memory.append(told)
        memory.flush()
        before = _active(memory)
        for scope in PRIVATE:
            memory.record_turn(scope, text="I live in Elsewhere.", observed_at=LATER, trust=1)
            memory.record_turn(scope, text="I don't live in Oslo.", observed_at=LATER, trust=0)
        memory.flush()
        now = {each for each in _active(memory) if each[2] != "Elsewhere"}
        assert before <= now


def _active(memory: Memory) -> set[tuple[object, ...]]:
    return {
        (each.scope, each.id, each.value, each.valid_from, each.valid_to, each.supports)
        for scope in PRIVATE
        for each in memory.memories(scope, as_of=LATER)
    }


# 8. Erasure is provable

_MARK = "Zq7Kx9Wv2Tb5-{}"


def _marked(scope: Scope, number: int, when: datetime) -> Event:
    told = history(Random(number), 1)[0]
    mark = _MARK.format(number)
    return msgspec.structs.replace(
        told,
        id=f"marked-{number}",
        type="turn.recorded",
        subject=scope.path,
        time=when,
        source=Source("user_said", 3),
        data=TurnRecorded(text=f"I live in {mark}. My 名 code is {mark}.", role="user"),
    )


def files_holding(directory: Path, text: str) -> list[str]:
    """The files in which a byte of it stands, raw or as JSON spells it."""
    forms = {text.encode(), msgspec.json.encode(text)[1:-1], text.encode("utf-16-le")}
    return files_with(directory, forms)


@few
@given(histories(shortest=5), st.booleans(), st.booleans())
def test_erasure_leaves_nothing_and_nothing_comes_back(
    told: list[Event], whole: bool, projected: bool
) -> None:
    scope = PRIVATE[0]
    secret = _marked(scope, 1, told[0].time)
    mark = _MARK.format(1)
    with tempfile.TemporaryDirectory(dir=MEMORY_DISK) as folder:
        directory = Path(folder) / "memory"
        with opened(directory) as memory:
            memory.append([*told[: len(told) // 2], secret, *told[len(told) // 2 :]])
            if projected:
                memory.flush()
                assert any(mark in each.text for each in memory.history(scope))
                memory.rebuild()  # so that there is a previous generation to clear
            others = versions(memory, SCOPES[1:])
            report = memory.erase(scope, event=None if whole else secret.id, reason="asked for")
            assert report.complete, report.traces
            assert report.searched
            assert report.events >= 1
            memory.flush()
            remaining = versions(memory, SCOPES[:1])
            if projected:
                assert versions(memory, SCOPES[1:]) == others
            assert whole <= (not remaining)
            assert memory.append([secret])[0].duplicate
            memory.flush()
            assert versions(memory, SCOPES[:1]) == remaining
            assert_healthy(memory)
            after = memory.rebuild()
            assert after.identical, after.problems
            everything = versions(memory)
            assert not files_holding(directory, mark)
        shutil.rmtree(directory / "generations")
        assert not files_holding(directory, mark)
        with opened(directory, seed=1) as memory:
            memory.flush()
            assert versions(memory) == everything
            assert_healthy(memory)
        assert not files_holding(directory, mark)
        if not whole:
            _assert_as_if_never_said(told, remaining_view(directory))


def remaining_view(directory: Path) -> set[tuple[object, ...]]:
    with opened(directory, seed=2) as memory:
        return view(memory)


def _assert_as_if_never_said(told: list[Event], found: set[tuple[object, ...]]) -> None:
    with opened() as memory:
        memory.append(told)
        memory.flush()
        assert view(memory) == found


# 9. The agent never waits on memory


class Blocked:
    """Stands in the worker's way until it is told to let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reached, self.let_go = threading.Event(), threading.Event()

        def apply(index: EdgeIndex, steps: Sequence[Any]) -> None:
            self.reached.set()
            self.let_go.wait(30)

        monkeypatch.setattr(EdgeIndex, "apply", apply)


def test_recording_does_not_wait_for_a_worker_that_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scope = PRIVATE[0]
    with Memory.open(tmp_path) as memory:
        memory.record_turn(scope, text="I live in Porto.")
        memory.flush(20)
        blocked = Blocked(monkeypatch)
        try:
            memory.record_turn(scope, text="I work at Hooli.")
            assert blocked.reached.wait(20)
            for number in range(20):
                memory.record_turn(scope, text=f"I like tea number {number}.")
            assert "Porto" in memory.recall(scope, "Where does the user live?").text
            assert memory.memories(scope)
        finally:
            blocked.let_go.set()
            monkeypatch.undo()


@pytest.mark.parametrize("error", [ProjectionDamaged("out of order"), RuntimeError("a bug")])
def test_recording_and_recall_outlive_a_projection_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    scope = PRIVATE[0]

    def fails(index: EdgeIndex, steps: Sequence[Any]) -> None:
        raise error

    with Memory.open(tmp_path) as memory:
        memory.record_turn(scope, text="I live in Porto.")
        memory.flush(20)
        monkeypatch.setattr(EdgeIndex, "apply", fails)
        memory.record_turn(scope, text="I work at Hooli.")
        _until(lambda: bool(memory._host.worker_error()))
        memory.record_turn(scope, text="I like chess.")
        evidence = memory.recall(scope, "Where does the user live?", record=False)
        assert "Porto" in evidence.text
        assert any("not being processed" in reason for reason in evidence.degraded)
        diagnosis = memory.doctor()
        assert not diagnosis.healthy
        assert any(check.name == "worker" and not check.ok for check in diagnosis.checks)
        monkeypatch.undo()
        memory._host._worker.wake()  # type: ignore[union-attr]
        memory.flush(20)
        _until(lambda: not memory._host.worker_error())
        assert "Hooli" in memory.recall(scope, "Where does the user work?", record=False).text
        assert_healthy(memory)


def _until(condition: Any) -> None:
    for _ in range(1_000):
        if condition():
            return
        threading.Event().wait(0.02)
    raise AssertionError("it did not happen within 20 s")


def test_recall_degrades_to_a_scan_while_another_keeps_the_index(tmp_path: Path) -> None:
    scope = PRIVATE[0]
    with Memory.open(tmp_path) as holder, Memory.open(tmp_path, worker=False) as reader:
        holder.record_turn(scope, text="I live in Porto.")
        holder.flush(20)
        with holder._host._turns.turn(20, keep=True):  # as a rebuild does
            evidence = reader.recall(scope, "Where does the user live?")
            assert "Porto" in evidence.text
            assert any("lexical scan" in reason for reason in evidence.degraded)
        position = reader.record_turn(scope, text="I work at Hooli.")
        reader.flush(20)
        assert position.offset >= 1
        assert "Hooli" in holder.recall(scope, "Where does the user work?").text


@pytest.mark.parametrize("error", [ProjectionDamaged("cut short"), IndexClosed("swapped")])
def test_recall_outlives_an_index_that_fails_while_it_is_asked(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    scope = PRIVATE[0]

    def fails(index: EdgeIndex, query: Any) -> None:
        raise error

    with opened() as memory:
        memory.record_turn(scope, text="I live in Porto.")
        memory.flush()
        monkeypatch.setattr(EdgeIndex, "search", fails)
        evidence = memory.recall(scope, "Where does the user live?")
        assert "Porto" in evidence.text
        assert any(str(error) in reason for reason in evidence.degraded)


def test_a_rebuild_is_served_though_others_go_on_recording() -> None:
    scope = PRIVATE[0]
    with opened() as memory:
        memory.record_turn(scope, text="I live in Porto.")
        memory.flush()
        live = memory._host.stores.runtime
        assert live is not None
        drain = live.drain

        def and_then_somebody_records(**more: Any) -> int:
            count = drain(**more)
            memory.record_turn(scope, text="I work at Hooli.")
            return count

        with patch.object(live, "drain", and_then_somebody_records):
            report = memory.rebuild()
        assert report.swapped, report.problems
        memory.flush()
        assert {each.value for each in memory.memories(scope)} == {"Porto", "Hooli"}
        assert_healthy(memory)


def test_an_erasure_waits_for_a_rebuild_that_is_under_way() -> None:
    scope, erased = PRIVATE[0], threading.Event()
    with opened() as memory:
        position = memory.record_turn(scope, text=f"My locker code is {_MARK}.")
        reports: list[Any] = []

        def erase() -> None:
            reports.append(memory.erase(position))
            erased.set()

        def progress(done: int, total: int) -> None:
            if not reports and not thread.is_alive():
                thread.start()

        thread = threading.Thread(target=erase)
        assert memory.rebuild(progress=progress).swapped
        assert erased.wait(30)
        thread.join()
        assert reports[0].complete
        assert not files_holding(memory._host.files.root, _MARK)
        assert_healthy(memory)


def test_recall_says_when_the_pipeline_that_serves_is_an_old_one(tmp_path: Path) -> None:
    scope = PRIVATE[0]
    with opened(tmp_path) as memory:
        memory.record_turn(scope, text="I live in Porto.")
        memory.flush()
    (tmp_path / "policy.toml").write_text('version = "mine"\nadmit_at = 0.3\n', encoding="utf-8")
    with opened(tmp_path, seed=1) as memory:
        memory.record_turn(scope, text="I work at Hooli.")
        evidence = memory.recall(scope, "Where does the user live?")
        assert "Porto" in evidence.text
        assert any("new events wait" in reason for reason in evidence.degraded)
        assert memory.doctor().balance.closes
        report = memory.rebuild()
        assert report.swapped, report.problems
        assert "Hooli" in memory.recall(scope, "Where does the user work?").text
        assert_healthy(memory)

"""The edge index: the suite of every search index, and what only its files can do wrong."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from index_conformance import IndexConformance
from index_steps import (
    DAY,
    START,
    bytes_hold,
    child_process,
    found,
    history,
    memories,
    memory,
    steps,
    tally,
)
from thorough import first_of

from memstream.processors.lexemes import lexemes
from memstream.projections import in_edge
from memstream.projections.edge_shard import retrieved
from memstream.projections.embedders import Embedder, HashEmbedder, NoEmbedder
from memstream.projections.in_edge import UPSERT_AT_ONCE, EdgeIndex
from memstream.projections.points import point_id
from memstream.projections.projection import Generation
from memstream.schemas.errors import LeaseHeld, ProjectionDamaged, WrongGeneration

OPENING = """
from pathlib import Path
from memstream.projections.embedders import HashEmbedder, NoEmbedder
from memstream.projections.in_edge import EdgeIndex
from memstream.projections.projection import Generation
embedder = {embedder}
generation = Generation("pipeline-1", embedder.identity, "schema-1")
index = EdgeIndex.open(Path({path!r}), generation, embedder)
"""


class TestEdgeIndexWithVectors(IndexConformance):
    """The suite of every search index, lexical and dense."""

    embedder: Embedder = HashEmbedder(32)
    embedder_source = "HashEmbedder(32)"

    def open_index(self, path: Path, embedder: Embedder, generation: Generation) -> EdgeIndex:
        return EdgeIndex.open(path, generation, embedder)

    def program(self, path: Path) -> str:
        return OPENING.format(path=str(path), embedder=self.embedder_source)

    @pytest.mark.parametrize("call", first_of(3, 2, 6))
    def test_a_crash_inside_an_apply_is_healed(self, path: Path, call: int) -> None:
        """The engine is called for "pending", points, closings and the position; the process is
        killed in the place of each of them."""
        source = self.program(path) + (
            "import os, signal\n"
            "from index_steps import history\n"
            "run = history()\n"
            "index.apply(run[:30])\n"
            "update, left = EdgeIndex._update, [" + str(call) + "]\n"
            "def dying(self, doing, operation):\n"
            "    left[0] -= 1\n"
            "    if not left[0]:\n"
            "        os.kill(os.getpid(), signal.SIGKILL)\n"
            "    update(self, doing, operation)\n"
            "EdgeIndex._update = dying\n"
            "index.apply(run[30:60])\n"
        )
        child = child_process(source)
        _, errors = child.communicate()
        assert child.returncode == -9, errors
        index = self.open_index(path, self.embedder, self.generation)
        assert index.position() == 30
        self.heal_and_compare(index, path)


class TestEdgeIndexWithoutVectors(TestEdgeIndexWithVectors):
    """The suite of every search index, lexical only."""

    embedder = NoEmbedder()
    embedder_source = "NoEmbedder()"


EMBEDDER = HashEmbedder(16)
GENERATION = Generation("pipeline-1", EMBEDDER.identity, "schema-1")


def opened(path: Path, **options: Any) -> EdgeIndex:
    return EdgeIndex.open(path, GENERATION, EMBEDDER, **options)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A closed index of a few memories, to be damaged."""
    path = tmp_path / "index"
    index = opened(path)
    index.apply(history())
    index.close()
    return path


def cut_in_half(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


@pytest.mark.parametrize("damage", [cut_in_half, Path.unlink])
@pytest.mark.parametrize(
    "name",
    [
        "shard-1/edge_config.json",
        "shard-1/segments/*/segment.json",
        "shard-1/segments/*/payload_storage/page_0.dat",
        "shard-1/segments/*/payload_storage/tracker.dat",
        "shard-1/segments/*/mutable_id_tracker.mappings",
        "shard-1/segments/*/vector_storage-bm25/store/tracker.dat",
        "shard-1/segments/*/payload_index/*-scope-map/tracker.dat",
        "shard-1/segments/*/payload_index/*/has_values/status.dat",
        "shard-1/segments/*/vector_storage-dense/vectors/status.dat",
    ],
)
def test_a_damaged_file_is_never_served_silently(
    path: Path, name: str, damage: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    damage(next(path.glob(name)))
    index, refusal = None, ""
    try:
        index = opened(path)
    except ProjectionDamaged as error:
        refusal = str(error)
    if index is None:
        assert str(path) in refusal
        assert "memstream rebuild" in refusal
        assert "panicked" not in capfd.readouterr().err
        return
    # The engine makes some files anew from others; then everything has to be there.
    assert index.tally() == index.recorded_tally() == tally(*memories(history()))
    index.close()


def test_a_wiped_payload_index_is_noticed(path: Path) -> None:
    opened(path).close()  # the first opening would still mend it from the write-ahead log
    tracker = next(path.glob("shard-1/segments/*/payload_index/*-valid_to-numeric/tracker.dat"))
    tracker.write_bytes(bytes(tracker.stat().st_size))
    with pytest.raises(ProjectionDamaged, match="payload index 'valid_to' holds 0"):
        opened(path)


def test_a_pointer_to_nowhere_is_damage(path: Path) -> None:
    (path / "CURRENT").write_text("shard-7\n")
    with pytest.raises(ProjectionDamaged, match="missing"):
        opened(path)
    (path / "CURRENT").write_text("elsewhere\n")
    with pytest.raises(ProjectionDamaged, match="elsewhere"):
        opened(path)


def test_a_creation_that_did_not_finish_is_begun_anew(tmp_path: Path) -> None:
    opened(tmp_path).close()
    (tmp_path / "CURRENT").unlink()
    index = opened(tmp_path)
    assert index.position() == 0
    index.apply(steps(memory("m1", "a compass")))
    index.close()


def test_a_process_that_holds_the_index_keeps_others_out(tmp_path: Path) -> None:
    index = opened(tmp_path)
    source = OPENING.format(path=str(tmp_path), embedder="HashEmbedder(16)")
    other = subprocess.run(
        [sys.executable, "-c", source],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "LeaseHeld" in other.stderr
    with pytest.raises(LeaseHeld, match="has this index open"):
        opened(tmp_path)
    index.close()
    opened(tmp_path).close()


def ask_for(path: Path, generation: Generation = GENERATION) -> None:
    """Another one opens the index while it is open."""
    with pytest.raises(LeaseHeld, match="has this index open"):
        EdgeIndex.open(path, generation, EMBEDDER)


def ask_elsewhere(path: Path) -> None:
    """The same from another process."""
    source = OPENING.format(path=str(path), embedder="HashEmbedder(16)")
    _, errors = child_process(source).communicate()
    assert "LeaseHeld" in errors


OTHER = Generation("pipeline-2", EMBEDDER.identity, "schema-1")


@pytest.mark.parametrize(
    "ask",
    [ask_for, lambda path: ask_for(path, OTHER), ask_elsewhere],
    ids=["here", "another generation", "another process"],
)
def test_who_asks_in_vain_does_not_disturb_who_writes(
    tmp_path: Path, ask: Callable[[Path], None]
) -> None:
    """Whatever the holder is doing: between its writes, its flushes and its erasures."""
    index, run = opened(tmp_path), history()
    doing: list[Callable[[], object]] = [
        lambda: index.apply(run[:20]),
        index.flush,
        lambda: index.apply(run[20:30]),
        index.flush,
        lambda: index.erase(run[0].scope),
        lambda: index.apply(run[30:40]),
        index.flush,
        lambda: index.apply(run[40:]),
    ]
    for each in doing:
        each()
        ask(tmp_path)
    before = index.tally()
    assert before == index.recorded_tally()
    index.close()
    again = opened(tmp_path)
    assert (again.position(), again.tally()) == (run[-1].seq, before)
    again.close()


def test_two_that_make_an_index_at_once_do_not_make_it_in_one_place(tmp_path: Path) -> None:
    made, refused = list[EdgeIndex](), list[LeaseHeld]()
    start = threading.Barrier(6)

    def make() -> None:
        start.wait()
        try:
            made.append(opened(tmp_path / "index"))
        except LeaseHeld as error:
            refused.append(error)

    threads = [threading.Thread(target=make) for _ in range(start.parties)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(made), len(refused)) == (1, 5)
    made[0].apply(history())
    made[0].close()
    opened(tmp_path / "index").close()


def test_an_index_that_was_refused_or_dropped_is_free_again(path: Path) -> None:
    with pytest.raises(WrongGeneration):
        EdgeIndex.open(path, OTHER, EMBEDDER)
    index = opened(path)
    del index
    gc.collect()
    opened(path).close()


SECRET = "bandicootcipher"


def with_secret(path: Path) -> EdgeIndex:
    index = opened(path)
    kept = [memory(f"m{at}", f"a compass {at}") for at in range(20)]
    index.apply(steps(*kept, memory("s1", f"the {SECRET}", scope="acme/user:bo")))
    return index


def test_an_erasure_that_died_while_rewriting_is_finished_at_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = with_secret(tmp_path)

    def die(path: Path, name: str) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(in_edge, "point_to", die)
        with pytest.raises(KeyboardInterrupt):
            index.erase("acme/user:bo")
    assert index.tally().count == 20  # gone from answers already, not from the files
    index.close()
    assert bytes_hold(tmp_path, SECRET)
    again = opened(tmp_path)
    assert not bytes_hold(tmp_path, SECRET)
    assert again.tally() == again.recorded_tally()
    assert again.tally().count == 20
    again.close()


def test_an_erasure_that_died_before_deleting_the_old_shard_is_finished_at_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = with_secret(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(in_edge, "sweep", lambda path, keep: None)
        index.erase("acme/user:bo")
    index.close()
    assert bytes_hold(tmp_path, SECRET)
    opened(tmp_path).close()
    assert not bytes_hold(tmp_path, SECRET)
    assert [each.name for each in tmp_path.glob("shard-*")] == ["shard-2"]


def test_an_erasure_asked_for_again_rewrites_again(tmp_path: Path) -> None:
    index = with_secret(tmp_path)
    for shard in ("shard-2", "shard-3"):
        index.erase("acme/user:bo")
        assert (tmp_path / "CURRENT").read_text().strip() == shard
    index.close()


def test_an_apply_larger_than_one_engine_call_is_whole(tmp_path: Path) -> None:
    crowd = [memory(f"m{at}", f"crate {at}") for at in range(2 * UPSERT_AT_ONCE + 7)]
    index = opened(tmp_path)
    index.apply(steps(*crowd))
    assert index.tally() == index.recorded_tally() == tally(*crowd)
    assert index.optimize() is False
    index.close()


def test_an_embedder_that_fails_leaves_the_index_as_it_was(tmp_path: Path) -> None:
    class Failing(HashEmbedder):
        def passages(self, texts: Any) -> Any:
            raise RuntimeError("out of memory")

    failing = Failing(16)
    index = EdgeIndex.open(tmp_path, GENERATION, failing)
    with pytest.raises(RuntimeError):
        index.apply(steps(memory("m1", "a compass")))
    assert (index.position(), index.tally().count) == (0, 0)
    index.close()


def test_a_failed_write_is_stated_and_can_be_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = memory("m1", "a compass")
    second = memory("m1", "a brass compass", version=2, created_at=START + DAY)
    index = opened(tmp_path)
    index.apply(steps(first))
    update = EdgeIndex._update
    calls = iter(range(10))

    def full(self: EdgeIndex, doing: str, operation: Any) -> None:
        if next(calls) == 2:
            raise ProjectionDamaged("No space left on device")
        update(self, doing, operation)

    with monkeypatch.context() as patched:
        patched.setattr(EdgeIndex, "_update", full)
        with pytest.raises(ProjectionDamaged):
            index.apply(steps(second, first=2))
    assert index.position() == 1
    index.apply(steps(second, first=2))
    assert index.tally() == index.recorded_tally() == tally(first, second)
    index.close()


def test_an_engine_error_is_restated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class PanicException(BaseException):
        """Named as the engine's own, which cannot be imported."""

    class Broken:
        def scroll(self, request: object) -> None:
            raise PanicException("index out of bounds\nat line 7")

        def close(self) -> None: ...
        def flush(self) -> None: ...

    index = opened(tmp_path)
    index._shard.close()
    monkeypatch.setattr(index, "_shard", Broken())
    with pytest.raises(ProjectionDamaged, match="reading failed: index out of bounds; mend"):
        index.tally()
    index.close()


def test_a_memory_is_found_by_its_lemmas(tmp_path: Path) -> None:
    made = msgspec.structs.replace(
        memory("m1", "Hers is the Albatross.", attribute="ship"),
        lemmas=tuple(lexemes("Hers is the Albatross. vessel 船")),
    )
    suite = TestEdgeIndexWithVectors()
    suite.embedder = EMBEDDER
    index = opened(tmp_path)
    index.apply(steps(made, memory("m2", "a compass", attribute="undeclared")))
    for question in ("which vessel?", "什么船", "albatross"):
        assert found(index, suite.query(question, channels=("bm25",)))["bm25"] == [made]
    index.close()


def test_points_hold_what_other_readers_of_the_shard_need(tmp_path: Path) -> None:
    made = memory("m1", "a compass")
    index = opened(tmp_path)
    index.apply(steps(made))
    fields = ["record", "tenant"]
    (payload,) = retrieved(tmp_path, index._shard, [point_id("m1", 1)], fields=fields)
    assert payload.payload["tenant"] == "acme"
    assert msgspec.json.decode(payload.payload["record"])["text"] == "a compass"
    index.close()

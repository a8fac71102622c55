"""The index on a Qdrant server: the suite of every search index, run where ``qdrant_backend`` says
(the class names carry it), and what only a server can do wrong."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from qdrant_client import models

sys.path.insert(0, str(Path(__file__).parent))

from index_conformance import IndexConformance
from index_steps import DAY, START, child_process, history, memory, steps, tally
from qdrant_backend import BACKEND, GAPS, URL, client, collection, opened
from thorough import first_of

from memstream.projections.embedders import Embedder, HashEmbedder, NoEmbedder
from memstream.projections.in_qdrant import UPSERT_AT_ONCE, QdrantIndex
from memstream.projections.marker import MARKER
from memstream.projections.projection import Generation
from memstream.projections.queries import SearchIndex
from memstream.schemas.errors import IndexUnavailable, ProjectionDamaged

# The local mode says so once: see GAPS, "payload indexes".
pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect:UserWarning")

OPENING = """
import os
from pathlib import Path
from qdrant_backend import opened
from memstream.projections.embedders import HashEmbedder, NoEmbedder
from memstream.projections.in_qdrant import QdrantIndex
from memstream.projections.projection import Generation
embedder = {embedder}
generation = Generation("pipeline-1", embedder.identity, "schema-1")
index = opened(Path({path!r}), generation, embedder)
"""


@pytest.fixture(autouse=True, params=[BACKEND])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Names in every test's id what it ran on; leaves nothing on a server."""
    yield str(request.param)
    if URL:
        cleaning = client(tmp_path)
        for each in cleaning.get_collections().collections:
            if each.name.startswith("memstream-test_"):
                cleaning.delete_collection(each.name)
        cleaning.close()


class TestQdrantIndexWithVectors(IndexConformance):
    """The suite of every search index, lexical and dense."""

    embedder: Embedder = HashEmbedder(32)
    embedder_source = "HashEmbedder(32)"

    def open_index(self, path: Path, embedder: Embedder, generation: Generation) -> QdrantIndex:
        return opened(path, generation, embedder)

    def program(self, path: Path) -> str:
        return OPENING.format(path=str(path), embedder=self.embedder_source)

    def holds(self, index: SearchIndex, path: Path, words: str) -> bool:
        """Whether any answer of the server could hold the words. Its files are not looked into:
        see ``GAPS``, "bytes"."""
        assert isinstance(index, QdrantIndex), GAPS["bytes"]
        found, rest = index._client.scroll(index.collection, limit=10_000, with_payload=True)
        assert rest is None
        return words in str(found)

    @pytest.mark.parametrize("call", first_of(3, 2, 4, 5))
    def test_a_crash_inside_an_apply_is_healed(self, path: Path, call: int) -> None:
        """The server is called for "pending", points, closings and the position; the process is
        killed in the place of each of them."""
        source = self.program(path) + (
            "import os, signal\n"
            "from index_steps import history\n"
            "run = history()\n"
            "index.apply(run[:30])\n"
            "usual, left = QdrantIndex._call, [" + str(call) + "]\n"
            "def dying(self, doing, call):\n"
            "    left[0] -= doing == 'writing'\n"
            "    if left[0] == 0:\n"
            "        os.kill(os.getpid(), signal.SIGKILL)\n"
            "    return usual(self, doing, call)\n"
            "QdrantIndex._call = dying\n"
            "index.apply(run[30:60])\n"
            "index.apply(run[60:61])\n"
        )
        child = child_process(source)
        _, errors = child.communicate()
        assert child.returncode == -9, errors
        index = self.open_index(path, self.embedder, self.generation)
        assert index.position() == (60 if call == 5 else 30)
        self.heal_and_compare(index, path)


class TestQdrantIndexWithoutVectors(TestQdrantIndexWithVectors):
    """The suite of every search index, lexical only."""

    embedder = NoEmbedder()
    embedder_source = "NoEmbedder()"


EMBEDDER = HashEmbedder(16)
GENERATION = Generation("pipeline-1", EMBEDDER.identity, "schema-1")


def opened_here(path: Path) -> QdrantIndex:
    return opened(path, GENERATION, EMBEDDER)


def test_points_that_went_missing_are_noticed_at_opening(tmp_path: Path) -> None:
    index = opened_here(tmp_path)
    index.apply(history())
    victim = index._client.scroll(index.collection, limit=2)[0][1]
    assert victim.id != MARKER
    index._client.delete(index.collection, [victim.id], wait=True)
    index.close()
    with pytest.raises(ProjectionDamaged, match=r"holds \d+ memory versions, should hold") as found:
        opened_here(tmp_path)
    assert collection(tmp_path) in str(found.value)
    assert "memstream rebuild" in str(found.value)


def test_vectors_that_went_missing_are_noticed_at_opening(tmp_path: Path) -> None:
    index = opened_here(tmp_path)
    index.apply(steps(memory("m1", "a compass"), memory("m2", "a sextant")))
    victim = index._client.scroll(index.collection, limit=2)[0][1]
    index._client.delete_vectors(index.collection, ["dense"], [victim.id])
    index.close()
    with pytest.raises(ProjectionDamaged, match="vector 'dense' holds 1"):
        opened_here(tmp_path)


def test_a_collection_that_is_not_ours_is_left_alone(tmp_path: Path) -> None:
    index = opened_here(tmp_path)
    index.apply(steps(memory("m1", "a compass")))
    index._client.delete(index.collection, [MARKER], wait=True)
    index.close()
    with pytest.raises(ProjectionDamaged, match="holds points but no marker"):
        opened_here(tmp_path)


def test_an_unreadable_marker_is_damage(tmp_path: Path) -> None:
    index = opened_here(tmp_path)
    index._client.set_payload(index.collection, {"position": "many"}, [MARKER], wait=True)
    with pytest.raises(ProjectionDamaged, match="marker point is missing or unreadable"):
        index.position()
    index.close()


def test_a_creation_that_did_not_finish_is_finished(tmp_path: Path) -> None:
    index = opened_here(tmp_path)
    index._client.delete(index.collection, [MARKER], wait=True)
    index.close()
    again = opened_here(tmp_path)
    again.apply(steps(memory("m1", "a compass")))
    assert (again.position(), again.tally().count) == (1, 1)
    again.close()


def test_a_writer_goes_on_from_where_another_got_to(tmp_path: Path) -> None:
    run = history()
    first = opened_here(tmp_path)
    second = QdrantIndex(first.server, first.collection, first._client, EMBEDDER)
    first.apply(run[:30])
    second.apply(run[:60])
    first.apply(run)
    assert second.position() == len(run)
    assert first.tally() == first.recorded_tally() == second.tally()
    first.close()


def test_an_apply_larger_than_one_call_is_whole(tmp_path: Path) -> None:
    crowd = [memory(f"m{at}", f"crate {at}") for at in range(2 * UPSERT_AT_ONCE + 7)]
    index = opened_here(tmp_path)
    index.apply(steps(*crowd))
    assert index.tally() == index.recorded_tally() == tally(*crowd)
    index.close()


def test_an_erasure_that_died_is_finished_by_erasing_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = [memory(f"m{at}", f"a compass {at}") for at in range(5)]
    gone = [memory(f"s{at}", "a secret", scope="acme/user:bo") for at in range(3)]
    index = opened_here(tmp_path)
    index.apply(steps(*kept, *gone))
    usual = QdrantIndex._write_marker
    calls = iter(range(10))

    def dying(self: QdrantIndex, marker: Any) -> None:
        if next(calls) == 1:
            raise KeyboardInterrupt
        usual(self, marker)

    with monkeypatch.context() as patched:
        patched.setattr(QdrantIndex, "_write_marker", dying)
        with pytest.raises(KeyboardInterrupt):
            index.erase("acme/user:bo")
    index.close()
    again = opened_here(tmp_path)
    assert again.tally() == tally(*kept)
    assert again.erase("acme/user:bo") == 0
    assert again.recorded_tally() == tally(*kept)
    again.close()


def test_a_failed_write_leaves_the_position_and_can_be_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = memory("m1", "a compass")
    second = memory("m1", "a brass compass", version=2, created_at=START + DAY)
    index = opened_here(tmp_path)
    index.apply(steps(first))
    usual = QdrantIndex._call
    calls = iter(range(10))

    def failing(self: QdrantIndex, doing: str, call: Any) -> Any:
        if doing == "writing" and next(calls) == 2:
            raise IndexUnavailable("away")
        return usual(self, doing, call)

    with monkeypatch.context() as patched:
        patched.setattr(QdrantIndex, "_call", failing)
        with pytest.raises(IndexUnavailable):
            index.apply(steps(second, first=2))
    assert index.position() == 1
    index.apply(steps(second, first=2))
    assert index.tally() == index.recorded_tally() == tally(first, second)
    index.close()


def test_what_the_backend_cannot_show_is_listed(tmp_path: Path) -> None:
    """A gap that closed by itself fails here, so that its entry is removed."""
    index = opened_here(tmp_path)
    schema = index._client.get_collection(index.collection).payload_schema
    if URL:
        assert {"tenant", "scope", "status", "valid_from", "expired_at"} <= set(schema)
        assert isinstance(schema["tenant"].params, models.KeywordIndexParams)
        assert schema["tenant"].params.is_tenant is True
    else:
        assert schema == {}, GAPS["payload indexes"]
    index.close()

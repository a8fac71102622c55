"""A memory directory that has its vectors on a Qdrant server: choosing it, losing it, moving,
swapping, erasing. The server is ``qdrant_wire.QdrantDouble``, over a real connection."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import grpc
import msgspec
import pytest
from typer.testing import CliRunner

sys.path.insert(0, str(Path(__file__).parent))

from qdrant_wire import KEY, QdrantDouble

from memstream.projections import qdrant_server
from memstream.projections.qdrant_server import QdrantServer
from memstream.schemas.errors import IndexUnavailable, MemstreamError, WrongGeneration
from memstream.schemas.scope import Scope
from memstream.service.cli import app
from memstream.service.memory import Memory

ADA = Scope(tenant="acme", user="ada")
BO = Scope(tenant="acme", user="bo")


@pytest.fixture
def double(monkeypatch: pytest.MonkeyPatch) -> Iterator[QdrantDouble]:
    monkeypatch.setattr(qdrant_server, "_sleep", lambda seconds: None)
    made = QdrantDouble()
    yield made
    made.close()


def server_of(double: QdrantDouble, **changes: Any) -> QdrantServer:
    made: dict[str, Any] = {"grpc_port": double.port, "timeout_s": 5, "attempts": 2}
    return QdrantServer(url="http://127.0.0.1:6333", **(made | changes))


def told(memory: Memory) -> None:
    said = ((ADA, "I live in Trieste."), (ADA, "My boat is blue."), (BO, "I live in Oslo."))
    when = datetime(2025, 3, 1, tzinfo=UTC)
    for number, (scope, text) in enumerate(said):
        memory.record_turn(scope, text=text, observed_at=when, event_id=f"event-{number}")
    memory.flush()


def answer(memory: Memory, scope: Scope = ADA) -> tuple[str, tuple[str, ...]]:
    found = memory.recall(scope, "where does the user live?", record=False)
    return found.text, tuple(found.degraded)


def collections(double: QdrantDouble) -> set[str]:
    return {each.name for each in double.store.get_collections().collections}


def aliases(double: QdrantDouble) -> dict[str, str]:
    found = double.store.get_aliases().aliases
    return {each.alias_name: each.collection_name for each in found}


def test_the_answers_are_those_of_the_index_in_the_process(
    tmp_path: Path, double: QdrantDouble
) -> None:
    with Memory.open(tmp_path / "here", embedder="hash:16", worker=False) as here:
        told(here)
        expected = answer(here)
    assert "Trieste" in expected[0]
    place = server_of(double)
    with Memory.open(tmp_path / "there", embedder="hash:16", index=place, worker=False) as memory:
        told(memory)
        assert answer(memory) == expected
        assert memory.doctor().healthy
    assert double.calls.count("QueryBatch") == 1
    assert aliases(double) == {"memstream": "memstream_g-000001"}
    folder = tmp_path / "there" / "generations" / "g-000001"
    assert not (folder / "vectors").exists()
    with Memory.open(tmp_path / "there", worker=False) as again:
        assert answer(again) == expected


def test_the_key_is_not_written_down(
    tmp_path: Path, double: QdrantDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    double.key = KEY
    monkeypatch.setenv("THE_KEY", KEY)
    place = server_of(double, api_key_env="THE_KEY")
    with (
        pytest.warns(UserWarning, match="insecure connection"),
        Memory.open(tmp_path, index=place, worker=False) as memory,
    ):
        told(memory)
    assert aliases(double)
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or KEY.encode() not in file.read_bytes()


def test_another_place_than_the_directorys_is_refused(tmp_path: Path, double: QdrantDouble) -> None:
    with Memory.open(tmp_path / "there", index=server_of(double), worker=False) as memory:
        told(memory)
    with Memory.open(tmp_path / "here", worker=False) as memory:
        told(memory)
    for path, index in (("there", "edge"), ("here", server_of(double))):
        with pytest.raises(WrongGeneration, match=r"rebuild\(index="):
            Memory.open(tmp_path / path, index=index)
    Memory.open(tmp_path / "there", index=server_of(double), worker=False).close()
    Memory.open(tmp_path / "here", index="edge", worker=False).close()


def test_two_directories_do_not_share_a_collection(tmp_path: Path, double: QdrantDouble) -> None:
    with Memory.open(tmp_path / "one", index=server_of(double), worker=False) as memory:
        told(memory)
    with (
        pytest.raises(
            WrongGeneration, match=r"memstream_g-000001 is there already.*another prefix"
        ),
        Memory.open(tmp_path / "two", index=server_of(double), worker=False) as memory,
    ):
        told(memory)
    other = server_of(double, prefix="other")
    with Memory.open(tmp_path / "two", index=other, worker=False) as memory:
        told(memory)
    assert collections(double) == {"memstream_g-000001", "other_g-000001"}


def test_moving_to_a_server_and_swapping_back(tmp_path: Path, double: QdrantDouble) -> None:
    with Memory.open(tmp_path, worker=False) as memory:
        told(memory)
        expected = answer(memory)
        report = memory.rebuild(index=server_of(double))
        assert report.verified
        assert report.swapped
        assert report.identical
        assert aliases(double) == {"memstream": "memstream_g-000002"}
        assert answer(memory) == expected
        memory.rebuild()  # where the live one is
        assert aliases(double) == {
            "memstream": "memstream_g-000003",
            "memstream_previous": "memstream_g-000002",
        }
        assert collections(double) == {"memstream_g-000002", "memstream_g-000003"}
        assert memory.swap_back() == "g-000002"
        assert aliases(double)["memstream"] == "memstream_g-000002"
        assert answer(memory) == expected
        memory.rebuild(index="edge")
        assert collections(double) == {"memstream_g-000002"}
        assert answer(memory) == expected


def test_an_erasure_reaches_the_server_and_drops_the_other_generations(
    tmp_path: Path, double: QdrantDouble
) -> None:
    with Memory.open(tmp_path, index=server_of(double), worker=False) as memory:
        told(memory)
        memory.rebuild()
        assert len(collections(double)) == 2
        memory.erase(ADA)
        assert collections(double) == {"memstream_g-000002"}
        stored = double.store.scroll("memstream_g-000002", limit=100)[0]
        assert "Trieste" not in str(stored)
        assert "Oslo" in str(stored)
        assert "Oslo" in answer(memory, BO)[0]
        assert memory.doctor().healthy


def test_a_server_that_is_away_degrades_reads_and_loses_nothing(
    tmp_path: Path, double: QdrantDouble
) -> None:
    with Memory.open(tmp_path, index=server_of(double), worker=False) as memory:
        told(memory)
        away = [grpc.StatusCode.UNAVAILABLE] * 100
        double.failing = {"QueryBatch": [*away], "SetPayload": [*away], "Get": [*away]}
        memory.record_turn(ADA, text="I moved to Bergen.")
        with pytest.raises(MemstreamError, match="collection memstream_g-000001"):
            memory.flush()
        text, degraded = answer(memory)
        assert "Bergen" in text
        assert any("served by a lexical scan" in each for each in degraded)
        double.failing.clear()
        memory.flush()
        text, degraded = answer(memory)
        assert "Bergen" in text
        assert degraded == ()


def test_a_collection_that_was_lost_is_made_again(tmp_path: Path, double: QdrantDouble) -> None:
    with Memory.open(tmp_path, index=server_of(double), worker=False) as memory:
        told(memory)
        expected = answer(memory)
    double.store.delete_collection("memstream_g-000001")
    with Memory.open(tmp_path, worker=False) as memory:
        memory.flush()
        assert answer(memory) == expected
    point = double.store.scroll("memstream_g-000001", limit=2)[0][1]
    double.store.delete("memstream_g-000001", [point.id])
    with Memory.open(tmp_path, worker=False) as memory:
        memory.flush()
        assert answer(memory) == expected
    assert aliases(double) == {"memstream": "memstream_g-000001"}


def test_a_server_that_cannot_be_reached_makes_no_directory_that_looks_elsewhere(
    tmp_path: Path, double: QdrantDouble
) -> None:
    place = server_of(double)
    double.close()
    with (
        pytest.raises(IndexUnavailable, match=r"http://127\.0\.0\.1:6333"),
        Memory.open(tmp_path, index=place, worker=False) as memory,
    ):
        told(memory)
    assert not list((tmp_path / "generations").glob("g-*"))


def test_without_the_client_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "qdrant_client", None)
    with (
        pytest.raises(IndexUnavailable, match=r"pip install 'memstream\[qdrant\]'"),
        Memory.open(tmp_path, index="http://localhost:6333", worker=False) as memory,
    ):
        told(memory)


def test_the_command_line_takes_a_settings_file(tmp_path: Path, double: QdrantDouble) -> None:
    settings = tmp_path / "qdrant.toml"
    settings.write_text(f'url = "http://127.0.0.1:6333"\ngrpc_port = {double.port}\n')
    where = ["--dir", str(tmp_path / "memory")]
    whose = ["--tenant", "acme", "--user", "ada"]

    def run(command: str, *arguments: str) -> str:
        found = CliRunner().invoke(app, [command, *arguments, *where])
        assert found.exit_code == 0, found.output
        return found.output

    run("record", "--text", "I live in Trieste.", "--index", str(settings), *whose)
    run("worker", "--once")
    assert collections(double) == {"memstream_g-000001"}
    assert "Trieste" in run("recall", "where does the user live?", *whose)
    run("rebuild", "--index", "edge")
    run("rebuild", "--index", str(settings))
    assert aliases(double)["memstream"] == "memstream_g-000003"
    settings.write_text('url = "nowhere"\n')
    found = CliRunner().invoke(app, ["rebuild", "--index", str(settings), *where])
    assert found.exit_code != 0
    assert "nowhere" in str(found.exception) + found.output


def test_a_url_alone_gets_a_prefix_that_no_other_directory_has(
    tmp_path: Path, double: QdrantDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = qdrant_server.connected
    monkeypatch.setattr(
        qdrant_server,
        "connected",
        lambda server: usual(msgspec.structs.replace(server, grpc_port=double.port)),
    )
    monkeypatch.setattr("memstream.projections.in_qdrant.connected", qdrant_server.connected)
    for name in ("one", "two"):
        with Memory.open(tmp_path / name, index="http://127.0.0.1:6333", worker=False) as memory:
            told(memory)
            memory.rebuild()
    prefixes = {each.rpartition("_")[0] for each in collections(double)}
    assert len(prefixes) == 2
    assert len(collections(double)) == 4

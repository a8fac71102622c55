"""The endpoint adapter, against a real server that misbehaves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from embedding_endpoint import DIMENSION, Endpoint, endpoint

from memstream import Memory, Scope
from memstream.projections import embedders_openai
from memstream.projections.embedders import EmbedderUnavailable, embedder_named, name_of
from memstream.projections.embedders_openai import AT_ONCE, LONGEST_TEXT, OpenAIEmbedder
from memstream.service import asking

ANN = Scope(tenant="acme", user="ann")
TEXTS = ["The kettle is on the stove.", "水壶在炉子上。", "", "broken \ud83d text \0 with a NUL"]


@pytest.fixture
def server() -> Iterator[Endpoint]:
    with endpoint() as state:
        yield state


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    slept: list[float] = []
    monkeypatch.setattr(embedders_openai, "_sleep", slept.append)
    return slept


def made(server: Endpoint, **options: float) -> OpenAIEmbedder:
    return OpenAIEmbedder("bge/m3", server.url, dimension=DIMENSION, **options)  # type: ignore[arg-type]


def test_vectors_are_unit_float32_in_the_order_of_the_texts(server: Endpoint) -> None:
    embedder = made(server)
    found = embedder.passages(TEXTS)
    assert found.shape == (len(TEXTS), DIMENSION)
    assert found.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1.0, atol=1e-5)
    for at, text in enumerate(TEXTS):
        np.testing.assert_array_equal(embedder.query(text), found[at])
    assert embedder.passages([]).shape == (0, DIMENSION)
    with ThreadPoolExecutor(3) as pool:
        for again in pool.map(embedder.passages, [TEXTS] * 6):
            np.testing.assert_array_equal(again, found)


def test_many_texts_go_in_batches_and_long_ones_are_cut(server: Endpoint) -> None:
    texts = [f"text {at}" for at in range(AT_ONCE * 2 + 1)] + ["字" * (LONGEST_TEXT + 5)]
    assert made(server).passages(texts).shape == (len(texts), DIMENSION)
    assert [len(body["input"]) for body in server.bodies] == [AT_ONCE, AT_ONCE, 2]
    assert len(server.texts[-1]) == LONGEST_TEXT
    assert all(each.strip() for each in server.texts)


def test_the_dimension_is_asked_for_where_it_is_not_given(server: Endpoint) -> None:
    embedder = embedder_named(f"openai:bge/m3@{server.url}")
    assert embedder.dimension == DIMENSION
    given = made(server)
    assert embedder.identity == given.identity
    asked = len(server.bodies)
    again = embedder_named(name_of(given.identity))
    assert again.identity == given.identity
    assert len(server.bodies) == asked


def test_the_key_comes_from_the_environment_and_stays_there(
    server: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = made(server)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    embedder.query("one")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-test")
    embedder.query("two")
    assert server.keys == [None, "Bearer sk-of-the-test"]
    server.script.append(401)
    with pytest.raises(EmbedderUnavailable, match=r"HTTP 401.*key in OPENAI_API_KEY") as refused:
        embedder.query("three")
    assert "sk-of" not in f"{embedder.identity} {vars(embedder)} {refused.value}"


@pytest.mark.parametrize(
    "does", [429, 500, 503, 408, "hang up", "no json", "one missing", "zeros", "ragged"]
)
def test_what_may_pass_is_tried_again(
    server: Endpoint, pauses: list[float], does: int | str
) -> None:
    server.script.extend([does, does])
    assert made(server).passages(TEXTS).shape == (4, DIMENSION)
    assert len(server.bodies) == 3
    assert pauses == [0.25, 0.5]


def test_it_waits_as_long_as_it_is_asked_to_within_bounds(
    server: Endpoint, pauses: list[float]
) -> None:
    server.script.extend([429, 429])
    server.headers["Retry-After"] = "7"
    made(server).passages(["one"])
    server.script.append(429)
    server.headers["Retry-After"] = "86400"
    made(server).passages(["one"])
    assert pauses == [7, 7, 30]


def test_in_the_end_it_gives_up_and_says_how_often_it_tried(
    server: Endpoint, pauses: list[float]
) -> None:
    server.script.extend([503] * 9)
    with pytest.raises(EmbedderUnavailable, match=r"HTTP 503 \(3 attempts\); mend: "):
        made(server, attempts=3).passages(["one"])
    assert len(server.bodies) == 3
    with pytest.raises(EmbedderUnavailable, match="HTTP 503; mend: "):
        made(server).query("asked once")
    assert len(server.bodies) == 4


@pytest.mark.parametrize("does", [400, 404, "wrong dimension"])
def test_what_will_not_pass_is_not_tried_again(
    server: Endpoint, pauses: list[float], does: int | str
) -> None:
    server.script.append(does)
    with pytest.raises(EmbedderUnavailable, match=r"bge/m3 at http://127.* mend: "):
        made(server).passages(["one"])
    assert (len(server.bodies), pauses) == (1, [])


@pytest.mark.parametrize("does", ["slow", "drip"])
def test_a_slow_endpoint_is_cut_off(server: Endpoint, does: str) -> None:
    server.script.append(does)
    with pytest.raises(EmbedderUnavailable, match=r"answer within 0\.2 s"):
        made(server, query_timeout_s=0.2).query("one")


@pytest.mark.parametrize(
    "option",
    [
        "m",
        "@http://localhost/v1",
        "m@ftp://localhost",
        "m@http://ann:secret@localhost/v1",  # the last @ ends the model's name
        "m@http://localhost/v1?key=secret",
        "m@http://localhost/v1#x",
        "m@http://localhost/v1#0",
    ],
)
def test_an_address_that_cannot_be_used_is_refused(option: str) -> None:
    with pytest.raises(EmbedderUnavailable, match="embedder 'openai'") as refused:
        embedder_named(f"openai:{option}")
    assert "key=secret" not in str(refused.value)


def test_a_url_object_with_credentials_is_refused_without_repeating_them() -> None:
    with pytest.raises(EmbedderUnavailable, match="OPENAI_API_KEY") as refused:
        OpenAIEmbedder("m", "https://ann:hunter2" + "@localhost/v1", dimension=3)
    assert "hunter2" not in str(refused.value)


def test_recall_goes_on_by_words_while_the_endpoint_is_away(
    tmp_path: Path, server: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Memory.open(tmp_path, embedder=made(server, attempts=1), worker=False) as memory:
        memory.record_turn(ANN, text="I live in Porto.")
        memory.flush()
        found = memory.recall(ANN, "Where does the user live?")
        assert found.channels == ("bm25", "dense")
        assert not found.degraded
        server.script.append(503)
        for _ in range(2):  # the second does not wait for it
            found = memory.recall(ANN, "Where does the user live?")
            assert "Porto" in found.text
            assert found.channels == ("bm25",)
            assert any("HTTP 503" in each and "by words alone" in each for each in found.degraded)
        assert not server.script
        monkeypatch.setattr(asking, "DOUBT_SECONDS", 0.0)
        memory._asking = asking.Asking(tmp_path)
        assert memory.recall(ANN, "Where does the user live?").channels == ("bm25", "dense")


def test_what_is_recorded_while_the_endpoint_is_away_is_found_by_words_at_once(
    tmp_path: Path, server: Endpoint
) -> None:
    with Memory.open(tmp_path, embedder=made(server, attempts=1), worker=False) as memory:
        memory.record_turn(ANN, text="I live in Porto.")
        memory.flush()
        memory.record_turn(ANN, text="I work at Hooli.")
        server.script.extend([503, 503])
        with pytest.raises(EmbedderUnavailable, match="HTTP 503"):
            memory.flush()
        found = memory.recall(ANN, "Where does the user work?")
        assert "Hooli" in found.text
        assert any("HTTP 503" in each and "lexical scan" in each for each in found.degraded)
        server.script.clear()
        memory.flush()
        found = memory.recall(ANN, "Where does the user work?")
        assert found.channels == ("bm25", "dense")
        assert "Hooli" in found.text
        assert not found.degraded
        assert memory.doctor().healthy


def test_a_directory_opens_while_the_endpoint_is_away(tmp_path: Path, server: Endpoint) -> None:
    name = f"openai:bge/m3@{server.url}"
    with Memory.open(tmp_path, embedder=name, worker=False) as memory:
        memory.record_turn(ANN, text="I live in Porto.")
        memory.flush()
    server.script.extend([503] * 3)
    with Memory.open(tmp_path, worker=False) as memory:
        found = memory.recall(ANN, "Where does the user live?")
        assert "Porto" in found.text
        assert any("HTTP 503" in each for each in found.degraded)


def test_no_file_of_a_directory_holds_the_key(
    tmp_path: Path, server: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-test")
    with Memory.open(tmp_path, embedder=made(server), worker=False) as memory:
        memory.record_turn(ANN, text="I live in Porto.")
        memory.flush()
        memory.recall(ANN, "Where does the user live?")
    assert all(key == "Bearer sk-of-the-test" for key in server.keys)
    files = [each for each in tmp_path.rglob("*") if each.is_file()]
    assert not [each for each in files if b"sk-of-the-test" in each.read_bytes()]
    stamps = list(tmp_path.rglob("generation.json"))
    assert "bge%2Fm3" in json.loads(stamps[0].read_text())["embedder"]

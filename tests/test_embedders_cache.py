"""The embedding cache: computed once, no text in it, gone with an erasure."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from memstream import Memory, Scope
from memstream.projections.embedders import EmbedderUnavailable, HashEmbedder, Vectors
from memstream.projections.embedders_cache import CachedEmbedder, VectorCache
from memstream.streams.clock import SystemClock

ANN = Scope(tenant="acme", user="ann")
BEN = Scope(tenant="acme", user="ben")
TEXTS = ["a kettle", "水壶", "", "a kettle", "broken \ud83d"]


class Counting:
    """An embedder that remembers what it was given to embed."""

    def __init__(self, identity: str = "counting/1/16") -> None:
        self._inner = HashEmbedder(16)
        self.dimension = 16
        self.identity = identity
        self.embedded: list[str] = []
        self.asked: list[str] = []
        self.away = False

    def passages(self, texts: Sequence[str]) -> Vectors:
        if self.away:
            raise EmbedderUnavailable("counting: away; mend: bring it back")
        self.embedded += texts
        return self._inner.passages(texts)

    def query(self, text: str) -> Vectors:
        self.asked.append(text)
        return self._inner.query(text)


def cache_at(path: Path) -> VectorCache:
    return VectorCache(path / "embeddings.db", SystemClock().entropy)


def test_a_text_is_embedded_once(tmp_path: Path) -> None:
    first, again = Counting(), Counting()
    fresh = CachedEmbedder(first, cache_at(tmp_path)).passages(TEXTS)
    kept = CachedEmbedder(again, cache_at(tmp_path)).passages([*TEXTS[::-1], "new"])
    np.testing.assert_array_equal(fresh, first._inner.passages(TEXTS))
    np.testing.assert_array_equal(kept[:5], fresh[::-1])
    assert again.embedded == ["new"]
    assert kept.dtype == np.float32


def test_another_model_has_vectors_of_its_own(tmp_path: Path) -> None:
    other = Counting("counting/2/16")
    CachedEmbedder(Counting(), cache_at(tmp_path)).passages(TEXTS)
    CachedEmbedder(other, cache_at(tmp_path)).passages(TEXTS)
    assert other.embedded == TEXTS


def test_a_question_is_not_kept(tmp_path: Path) -> None:
    embedder = CachedEmbedder(Counting(), cache_at(tmp_path))
    embedder.query("who?")
    assert not (tmp_path / "embeddings.db").exists()


def test_the_same_text_has_another_name_in_another_cache(tmp_path: Path) -> None:
    names = []
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        CachedEmbedder(Counting(), cache_at(tmp_path / folder)).passages(["a kettle"])
        with sqlite3.connect(tmp_path / folder / "embeddings.db") as file:
            names += file.execute("SELECT name FROM vectors").fetchall()
        file.close()
    assert len(set(names)) == 2


@pytest.mark.parametrize("damage", ["no database", "cut short", "another vector"])
def test_damage_is_noticed_and_computed_again(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "embeddings.db"
    texts = [f"text {at}" for at in range(400)]
    right = CachedEmbedder(Counting(), cache_at(tmp_path)).passages(texts)
    if damage == "no database":
        path.write_bytes(b"not a database" * 400)
    elif damage == "cut short":
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    else:
        with sqlite3.connect(path) as file:
            file.execute("UPDATE vectors SET vector = zeroblob(64)")
        file.close()
    again = Counting()
    for _ in range(2):
        again.embedded.clear()
        found = CachedEmbedder(again, cache_at(tmp_path)).passages(texts)
        np.testing.assert_array_equal(found, right)
    assert not again.embedded


def test_a_cache_that_cannot_be_written_only_costs_time(tmp_path: Path) -> None:
    (tmp_path / "embeddings.db").mkdir()
    embedder = Counting()
    for _ in range(2):
        assert CachedEmbedder(embedder, cache_at(tmp_path)).passages(TEXTS).shape == (5, 16)
    assert embedder.embedded == TEXTS * 2


def test_a_rebuild_takes_the_vectors_that_are_there(tmp_path: Path) -> None:
    embedder = Counting()
    with Memory.open(tmp_path, embedder=embedder, worker=False) as memory:
        memory.record_turn(ANN, text="I live in Porto.")
        memory.record_turn(ANN, text="I work at Hooli.")
        memory.flush()
        embedder.embedded.clear()
        assert memory.rebuild().swapped
        assert not embedder.embedded
        assert memory.recall(ANN, "Where does the user live?").channels == ("bm25", "dense")


@pytest.mark.parametrize("whole", [True, False])
def test_an_erasure_clears_the_cache(tmp_path: Path, whole: bool) -> None:
    with Memory.open(tmp_path, embedder=Counting(), worker=False) as memory:
        told = memory.record_turn(ANN, text="I live in Porto.")
        memory.record_turn(BEN, text="I live in Lima.")
        memory.flush()
        probe = CachedEmbedder(Counting(), cache_at(tmp_path))
        texts = [each.text for each in memory.memories(ANN)]
        assert texts
        assert len(probe._cache.get(probe.identity, texts)) == len(texts)
        report = memory.erase(ANN if whole else told)
        assert report.complete
        assert not probe._cache.get(probe.identity, texts)
        assert not memory.memories(ANN)
        assert "Lima" in memory.recall(BEN, "Where does the user live?").text


def test_an_erasure_without_the_embedder_clears_it_too(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder=Counting(), worker=False) as memory:
        memory.record_turn(ANN, text="I live in Porto.")
        memory.flush()
    assert (tmp_path / "embeddings.db").exists()
    with Memory.open(tmp_path, worker=False) as memory:
        memory.erase(ANN)
    assert not (tmp_path / "embeddings.db").exists()


def test_trouble_is_told_until_it_is_over(tmp_path: Path) -> None:
    inner = Counting()
    embedder = CachedEmbedder(inner, cache_at(tmp_path))
    inner.away = True
    with pytest.raises(EmbedderUnavailable):
        embedder.passages(["one"])
    assert "away" in embedder.trouble
    inner.away = False
    embedder.passages(["one"])
    assert not embedder.trouble

"""fastembed, on a tiny ONNX model that is built here: nothing is downloaded."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_models import DIMENSION, write_sentence_model

from memstream import Memory, Scope
from memstream.projections import fastembed_models
from memstream.projections.embedders import EmbedderUnavailable, embedder_named
from memstream.projections.embedders_fastembed import FastEmbedder

pytestmark = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("fastembed", "onnx")),
    reason="fastembed and onnx are not installed (extra 'fastembed', and 'dev')",
)
MODEL = "memstream/tiny-test-model"
ANN = Scope(tenant="acme", user="ann")
TEXTS = ["The kettle is on the stove", "水 壶", "", "broken \ud83d text \0 with a NUL"]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    fastembed: Any = import_module("fastembed")
    described: Any = import_module("fastembed.common.model_description")
    fastembed.TextEmbedding.add_custom_model(
        model=MODEL,
        pooling=described.PoolingType.MEAN,
        normalization=True,
        sources=described.ModelSource(hf="nobody/nothing"),
        dim=DIMENSION,
    )
    root = tmp_path_factory.mktemp("models")
    write_sentence_model(root / MODEL, seed=1)
    return root


@pytest.fixture
def named(models: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv(fastembed_models.MODELS_VARIABLE, str(models))
    return f"fastembed:{MODEL}"


def test_vectors_are_unit_float32_alone_in_a_batch_and_in_threads(named: str) -> None:
    embedder = embedder_named(named)
    batch = embedder.passages(TEXTS)
    assert batch.shape == (len(TEXTS), DIMENSION)
    assert batch.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(batch, axis=1), 1.0, atol=1e-5)
    for at, text in enumerate(TEXTS):
        np.testing.assert_array_equal(embedder.passages([text])[0], batch[at])
        np.testing.assert_allclose(embedder.query(text), batch[at], atol=1e-6)
    with ThreadPoolExecutor(3) as pool:
        for found in pool.map(embedder.passages, [TEXTS] * 6):
            np.testing.assert_array_equal(found, batch)
    assert embedder.passages([]).shape == (0, DIMENSION)


def test_the_identity_is_of_the_files_not_of_their_place(models: Path, tmp_path: Path) -> None:
    here = FastEmbedder(MODEL, models / MODEL).identity
    shutil.copytree(models / MODEL, tmp_path / "copy")
    write_sentence_model(tmp_path / "other", seed=2)
    assert FastEmbedder(MODEL, tmp_path / "copy").identity == here
    assert FastEmbedder(MODEL, tmp_path / "other").identity != here
    assert here.split("/")[-1] == str(DIMENSION)


def test_a_directory_keeps_its_model_and_notices_another(
    named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = tmp_path / "memory"
    with Memory.open(directory, embedder=named, worker=False) as memory:
        memory.record_turn(ANN, text="I live in Porto.")
        memory.flush()
        assert memory.recall(ANN, "Where does the user live?").channels == ("bm25", "dense")
    with Memory.open(directory, worker=False) as memory:
        assert memory.recall(ANN, "Where does the user live?").channels == ("bm25", "dense")
    write_sentence_model(tmp_path / "others" / MODEL, seed=2)
    monkeypatch.setenv(fastembed_models.MODELS_VARIABLE, str(tmp_path / "others"))
    with Memory.open(directory, worker=False) as memory:
        found = memory.recall(ANN, "Where does the user live?")
        assert found.channels == ("bm25",)
        assert any("mend: memstream rebuild" in each for each in found.degraded)


def test_a_model_that_is_not_there_is_not_downloaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(fastembed_models.MODELS_VARIABLE, raising=False)
    monkeypatch.setenv("FASTEMBED_CACHE_PATH", str(tmp_path))
    with pytest.raises(EmbedderUnavailable, match=r"fastembed's own cache.* mend: put its files"):
        embedder_named("fastembed:BAAI/bge-small-en-v1.5")


@pytest.mark.parametrize("broken", ["empty", "no onnx", "no tokenizer"])
def test_files_that_do_not_load_are_stated(models: Path, tmp_path: Path, broken: str) -> None:
    folder = tmp_path / "model"
    if broken == "empty":
        folder.mkdir()
    else:
        shutil.copytree(models / MODEL, folder)
    if broken == "no onnx":
        (folder / "onnx" / "model.onnx").write_bytes(b"not a model")
    if broken == "no tokenizer":
        (folder / "tokenizer.json").unlink()
    with pytest.raises(EmbedderUnavailable, match=f"{MODEL}: .*mend: put its files"):
        FastEmbedder(MODEL, folder).query("anything")


def test_a_model_it_does_not_know_is_refused() -> None:
    with pytest.raises(EmbedderUnavailable, match="nobody/unknown"):
        embedder_named("fastembed:nobody/unknown")


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fastembed_models, "find_spec", lambda name: None)
    with pytest.raises(EmbedderUnavailable, match=r"memstream\[fastembed\]"):
        FastEmbedder(MODEL)

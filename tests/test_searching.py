"""The search of files for bytes, by which an erasure proves that nothing is left."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from memstream.service import byte_search
from memstream.service.searching import files_that_hold, files_under


@pytest.mark.parametrize("few", [0, 1_000], ids=["in one pass", "one by one"])
def test_the_search_finds_every_string_wherever_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    monkeypatch.setattr(byte_search, "_FEW", few)
    monkeypatch.setattr(byte_search, "_READ_BYTES", 64)
    random = Random(7)
    names = [random.randbytes(random.randint(8, 40)) for _ in range(200)]
    wanted = {name: str(number) for number, name in enumerate(names)} | {b"short": "short"}
    there = random.sample(sorted(wanted), 60)
    gaps = (random.randbytes(random.randint(0, 90)) for _ in there)
    path = tmp_path / "file"
    path.write_bytes(b"".join(gap + name for gap, name in zip(gaps, there, strict=True)))
    found = byte_search.held(path, wanted, byte_search.by_start(wanted))
    assert found == {wanted[name] for name in there}


def test_what_is_removed_while_it_is_searched_holds_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who writes beside a search removes files and folders: neither stops it."""
    (tmp_path / "sub").mkdir()
    for name in ("kept", "gone", "sub/gone too"):
        (tmp_path / name).write_bytes(b"a needle")
    listed = os.walk

    def removing(*arguments: Any, **named: Any) -> Iterator[Any]:
        for found in listed(*arguments, **named):
            shutil.rmtree(tmp_path / "sub", ignore_errors=True)
            yield found

    monkeypatch.setattr(os, "walk", removing)
    files = files_under(tmp_path)
    assert [each.name for each in files] == ["gone", "kept"]
    (tmp_path / "gone").unlink()
    assert files_that_hold(files, {"needle"}) == {str(tmp_path / "kept"): ["needle"]}


@pytest.mark.parametrize("text", ["plain", 'with "quotes"', "一个秘密", "naïve 🙂"])
def test_a_text_is_found_however_it_is_spelled(tmp_path: Path, text: str) -> None:
    spellings = {
        "raw": text.encode(),
        "json": json.dumps(text, ensure_ascii=False).encode(),
        "ascii": json.dumps(text).encode(),
        "other": text.encode()[1:],
    }
    for name, content in spellings.items():
        (tmp_path / name).write_bytes(b"before " + content + b" after")
    found = files_that_hold(files_under(tmp_path), {text})
    assert {Path(each).name for each in found} == {"raw", "json", "ascii"}

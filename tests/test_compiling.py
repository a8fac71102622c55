"""Compiling the rules leaves Python's garbage collector as it was."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from memstream.processors.extract import Reader
from memstream.processors.rule_files import InvalidRule
from memstream.schemas.attributes import builtin


@pytest.mark.parametrize("collects", [True, False])
@pytest.mark.parametrize("broken", [True, False])
def test_the_collector_stays_as_it_was(tmp_path: Path, *, collects: bool, broken: bool) -> None:
    file = tmp_path / "own.toml"
    say = "~brew {value" if broken else "~brew {value}"
    file.write_text(
        'language = "en"\n[[rule]]\nid = "my.tea"\nattribute = "tea"\nvalue = "thing"\n'
        f'say = ["{say}"]\n'
    )
    before = gc.isenabled()
    (gc.enable if collects else gc.disable)()
    try:
        if broken:
            with pytest.raises(InvalidRule):
                Reader(builtin(), [file])
        else:
            Reader(builtin(), [file]).warm_up()
        assert gc.isenabled() is collects
    finally:
        (gc.enable if before else gc.disable)()

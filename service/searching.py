"""Searching files for bytes, in a process of its own: the proof that an erasure is complete.

On POSIX, closing any handle of a file drops every lock the process holds on it. The files that are
searched are open databases, so reading them here would take their locks away; a child reads them
(``byte_search``).
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from memstream.schemas.errors import MemstreamError
from memstream.service import byte_search


class SearchFailed(MemstreamError):
    """The search could not be carried out, so nothing is proved. The erasure itself stands."""


def files_under(root: Path) -> list[Path]:
    """Every file below ``root``, sorted. What is removed while they are listed is left out.

    Raises ``OSError`` where a directory may not be read.
    """

    def unless_gone(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            raise error

    walked = os.walk(root, onerror=unless_gone)
    found = (Path(folder, name) for folder, _, names in walked for name in names)
    return sorted(each for each in found if each.is_file())


def files_that_hold(files: Sequence[Path], needles: set[str]) -> dict[str, list[str]]:
    """The files in which any of the texts stands, raw or as JSON spells it, each with those texts.

    Raises ``SearchFailed`` where the child did not finish.
    """
    task = byte_search.Task([str(each) for each in files], sorted(needles))
    done = subprocess.run(  # noqa: S603 - this package's own program
        [sys.executable, byte_search.__file__],
        input=msgspec.json.encode(task),
        capture_output=True,
        check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise SearchFailed(
            f"erased, but the byte search failed: {' '.join(said)}; mend: erase again"
        )
    return msgspec.json.decode(done.stdout, type=dict[str, list[str]])

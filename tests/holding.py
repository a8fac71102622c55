"""Which files hold some bytes, looked up here and not by the product's own search. Files that are
removed meanwhile, by a worker or a server beside the test, hold none."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from memstream.service.searching import files_under


def files_with(directory: Path, forms: Collection[bytes]) -> list[str]:
    """The files below the directory, relative to it, in which any of the forms stands."""
    found: list[str] = []
    for path in files_under(directory):
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            continue
        if any(form in content for form in forms):
            found.append(path.relative_to(directory).as_posix())
    return found

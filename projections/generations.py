"""Generations: derived data side by side, one of them served.

``generations/`` holds one folder per generation and two small files, ``CURRENT`` and
``PREVIOUS``, each with a folder's name. A swap replaces ``CURRENT`` atomically, so a crash leaves
either the old or the new one served, never half of each.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec

from memstream.projections.projection import Generation
from memstream.schemas.errors import MemstreamError, NotFound, ProjectionDamaged

_CURRENT, _PREVIOUS, _STAMP = "CURRENT", "PREVIOUS", "generation.json"


class GenerationInUse(MemstreamError):
    """The generation asked to be removed is the one being served."""


class Generations:
    """The generations of one memory directory."""

    def __init__(
        self,
        root: Path,
        *,
        made: Callable[[Path], None] = lambda folder: None,
        dropped: Callable[[Path], None] = lambda folder: None,
    ) -> None:
        """``made`` is called with a new generation's folder before it is complete, ``dropped``
        before a folder is deleted: for what a generation keeps elsewhere."""
        self.root = root
        self._made = made
        self._dropped = dropped

    def current(self) -> str | None:
        """The name of the generation being served; None in a fresh directory."""
        return self._named(_CURRENT)

    def previous(self) -> str | None:
        """The one that was served before the last swap, while it is still there."""
        return self._named(_PREVIOUS)

    def names(self) -> list[str]:
        """All complete generations, oldest first."""
        if not self.root.is_dir():
            return []
        return sorted(each.name for each in self.root.iterdir() if (each / _STAMP).is_file())

    def folder(self, name: str) -> Path:
        """Where a generation keeps its stores."""
        return self.root / name

    def stamp(self, name: str) -> Generation:
        """What a generation was built by."""
        path = self.root / name / _STAMP
        try:
            return msgspec.json.decode(path.read_bytes(), type=Generation)
        except FileNotFoundError as error:
            raise NotFound(
                f"generation {name}: not in {self.root}; there: {', '.join(self.names()) or 'none'}"
            ) from error
        except (OSError, msgspec.DecodeError) as error:
            raise ProjectionDamaged(
                f"generation {name}: {path} is unreadable ({error}); mend: memstream rebuild"
            ) from error

    def create(self, stamp: Generation) -> str:
        """A new empty generation beside the others. Safe against another process doing the same."""
        self.root.mkdir(parents=True, exist_ok=True)
        taken = [int(each.name[2:]) for each in self.root.glob("g-*") if each.name[2:].isdigit()]
        number = max(taken, default=0) + 1
        while True:
            name = f"g-{number:06d}"
            try:
                (self.root / name).mkdir()
                break
            except FileExistsError:
                number += 1
        try:
            self._made(self.root / name)
        except BaseException:
            shutil.rmtree(self.root / name)
            raise
        _write_atomically(self.root / name / _STAMP, msgspec.json.encode(stamp))
        return name

    def serve(self, name: str) -> None:
        """Makes a generation the current one, and the one before it the previous."""
        self.stamp(name)
        before = self.current()
        if before is not None and before != name:
            _write_atomically(self.root / _PREVIOUS, before.encode())
        _write_atomically(self.root / _CURRENT, name.encode())

    def remove(self, name: str) -> None:
        """Deletes a generation that is not served."""
        if name == self.current():
            raise GenerationInUse(f"generation {name}: it is being served; swap to another first")
        self._dropped(self.root / name)
        if name == self.previous():
            (self.root / _PREVIOUS).unlink()
        shutil.rmtree(self.root / name)

    def remove_all_but(self, kept: set[str]) -> list[str]:
        """Deletes every generation that is neither served nor named, those that a crash left half
        made or half removed as well; gives their names."""
        there = sorted(each.name for each in self.root.glob("g-*") if each.is_dir())
        gone = [name for name in there if name not in kept and name != self.current()]
        for name in gone:
            self.remove(name)
        return gone

    def _named(self, pointer: str) -> str | None:
        path = self.root / pointer
        if not path.is_file():
            return None
        # Damaged bytes make a name that no folder has: then no generation is served.
        name = path.read_text(encoding="utf-8", errors="replace").strip()
        if not (self.root / name / _STAMP).is_file():
            return None
        return name


def _write_atomically(path: Path, content: bytes) -> None:
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    with beside.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def schema_version() -> str:
    """Of everything a generation stores: changes when a projection's layout does."""
    # To know which generation is served, neither engine is needed.
    from memstream.projections.in_duckdb import LAYOUT
    from memstream.projections.points import POINTS_SCHEMA

    return f"{POINTS_SCHEMA}+duckdb/{LAYOUT}"

"""The Parquet snapshots a directory knows of: what an erasure has to follow up.

``snapshots.json`` lists every folder a snapshot was ever written to from this directory. Parquet is
compressed, so a search over bytes would find nothing in it; the snapshots are asked instead.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from memstream.projections.snapshot import MANIFEST, holds, read_manifest, snapshot
from memstream.schemas.errors import LogUnavailable, NotFound

if TYPE_CHECKING:
    from memstream.service.host import Host

_LIST = "snapshots.json"


def remember(root: Path, target: Path) -> None:
    """Notes that a snapshot is about to be written to ``target``."""
    target = target.absolute()
    there = known(root)
    if target in there:
        return
    beside = root / f".{_LIST}"
    beside.write_bytes(msgspec.json.encode([str(each) for each in (*there, target)]))
    beside.replace(root / _LIST)


def known(root: Path) -> list[Path]:
    """The folders noted. Raises ``LogUnavailable`` where the list is damaged."""
    path = root / _LIST
    try:
        return [Path(each) for each in msgspec.json.decode(path.read_bytes(), type=list[str])]
    except FileNotFoundError:
        return []
    except msgspec.DecodeError as error:
        raise LogUnavailable(
            f"{path}: damaged ({error}); mend: delete it, and mind that snapshots it named may "
            "hold what is erased later"
        ) from error


def renewed_snapshots(
    host: Host, scope: str, events: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """After an erasure: takes the snapshots inside the directory again that hold the events (all
    of the scope's where none are named). Gives their paths, and those of the others that do."""
    root = host.files.root.absolute()
    found = {path.parent for path in root.rglob(MANIFEST)} | set(known(host.files.root))
    renewed: list[str] = []
    left: list[str] = []
    for target in sorted(found):
        for leftover in ("building", "replaced"):
            shutil.rmtree(target.with_name(f".{target.name}.{leftover}"), ignore_errors=True)
        if not _is_snapshot(target) or not holds(target, scope, events):
            continue
        duck = host.stores.duck
        if target.is_relative_to(root) and duck is not None:
            # Not overwritten: after a rebuild an older snapshot may have the higher position.
            shutil.rmtree(target)
            snapshot(duck, target)
            renewed.append(str(target))
        else:
            left.append(str(target))
    return tuple(renewed), tuple(left)


def _is_snapshot(target: Path) -> bool:
    try:
        read_manifest(target)
    except NotFound:
        return False
    return True

"""The program that searches files for bytes. Run by its path, so that it starts in a moment: it
imports nothing of the package.
"""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

import msgspec

_READ_BYTES = 1 << 22
_FEW = 1_000
"""Strings up to which each is looked for by itself. One pass for any number costs as much: measured
on 50 MB of noise, 34 s, and 27 s for a thousand one by one."""


class Task(msgspec.Struct):
    """What to look for, in which files."""

    files: list[str]
    needles: list[str]


def main() -> None:
    """Reads a task from standard input, writes the files that hold something and what."""
    task = msgspec.json.decode(sys.stdin.buffer.read(), type=Task)
    wanted = {form: each for each in task.needles for form in _forms(each)}
    starts = by_start(wanted)
    found = {each: sorted(held(Path(each), wanted, starts)) for each in task.files}
    sys.stdout.buffer.write(
        msgspec.json.encode({path: held for path, held in found.items() if held})
    )


def _forms(text: str) -> set[bytes]:
    """As it stands, and as JSON spells it with and without characters beyond ASCII."""
    return {text.encode(), msgspec.json.encode(text)[1:-1], json.dumps(text)[1:-1].encode()}


def by_start(wanted: Mapping[bytes, str]) -> dict[int, list[bytes]]:
    """What is wanted by its first eight bytes; empty where so little is wanted that looking for
    each is faster. Shorter ones stand under -1."""
    starts: dict[int, list[bytes]] = {}
    if len(wanted) > _FEW:
        for form in wanted:
            start = int.from_bytes(form[:8], sys.byteorder) if len(form) >= 8 else -1
            starts.setdefault(start, []).append(form)
    return starts


def _candidates(window: bytes, starts: Mapping[int, list[bytes]]) -> Iterator[bytes]:
    """The wanted whose first eight bytes stand in the window. One pass, however many there are."""
    yield from starts.get(-1, ())
    view = memoryview(window)
    hits: set[int] = set()
    for first in range(8):
        whole = (len(window) - first) // 8 * 8
        if whole > 0:
            hits |= set(view[first : first + whole].cast("Q")).intersection(starts)
    for hit in hits:
        yield from starts[hit]


def held(path: Path, wanted: Mapping[bytes, str], starts: Mapping[int, list[bytes]]) -> set[str]:
    """The texts of which a form stands in the file. A file that is gone holds none: who writes
    beside the search removes files too."""
    found: set[str] = set()
    if not wanted:
        return found
    overlap = max(len(each) for each in wanted)
    try:
        opened = path.open("rb")
    except FileNotFoundError:
        return found
    with opened as file:
        for start, end in _written(file):
            tail = b""
            file.seek(start)
            while start < end and (block := file.read(min(_READ_BYTES, end - start))):
                start += len(block)
                window = tail + block
                forms = _candidates(window, starts) if starts else wanted
                found |= {wanted[form] for form in forms if form in window}
                tail = window[-overlap:]
    return found


def _written(file: BinaryIO) -> Iterator[tuple[int, int]]:
    """The ranges of a file that hold data. The rest was never written and reads as zeros: the
    index makes files of many megabytes of which it has used a few kilobytes."""
    handle, end = file.fileno(), os.fstat(file.fileno()).st_size
    if not hasattr(os, "SEEK_DATA"):
        yield 0, end
        return
    position = 0
    while position < end:
        try:
            start = os.lseek(handle, position, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:  # nothing but a hole up to the end
                return
            raise
        position = os.lseek(handle, start, os.SEEK_HOLE)
        yield start, position


if __name__ == "__main__":
    main()

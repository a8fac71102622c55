"""The embedding cache: vectors that were computed once, kept for the next rebuild.

One SQLite file. It holds no text: a row is the keyed hash of (model identity, text), the vector,
and a checksum. A vector says much about its text, though, and whoever has the file can try texts
against it, so an erasure clears the whole cache: which rows a scope made, nobody recorded.
The file may be removed at any time; what it held is computed again.
"""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TypeVar

import numpy as np
import structlog

from memstream.projections.embedding import Embedder, EmbedderUnavailable, Vectors

KEY_BYTES = 32
_ROWS_AT_ONCE = 500
_Result = TypeVar("_Result")
_LOGGER = structlog.get_logger(__name__)
_TABLES = """
CREATE TABLE IF NOT EXISTS secret (key BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS vectors (
    name BLOB PRIMARY KEY, vector BLOB NOT NULL, checksum BLOB NOT NULL
) WITHOUT ROWID;
"""


class VectorCache:
    """The cache at ``path``. ``entropy(count)`` gives random bytes, for the key of its hashes.

    Nothing of it stays open between two calls, so its file can be removed by whoever erases. It
    is written without waiting for the disk: what a power failure damages fails its checksum.
    Thread-safe; several processes may use one file.
    """

    def __init__(self, path: Path, entropy: Callable[[int], bytes]) -> None:
        self.path = path
        self._entropy = entropy
        self._one_at_a_time = threading.Lock()

    def get(self, identity: str, texts: Sequence[str]) -> dict[int, bytes]:
        """The vectors that are there, by the place of their text."""

        def read(file: sqlite3.Connection) -> dict[int, bytes]:
            places: dict[bytes, list[int]] = {}
            for at, name in enumerate(self._names(file, identity, texts)):
                places.setdefault(name, []).append(at)
            found: dict[int, bytes] = {}
            wanted = list(places)
            for start in range(0, len(wanted), _ROWS_AT_ONCE):
                some = wanted[start : start + _ROWS_AT_ONCE]
                marks = ",".join("?" * len(some))
                query = f"SELECT name, vector, checksum FROM vectors WHERE name IN ({marks})"  # noqa: S608  only question marks
                for name, vector, checksum in file.execute(query, some):
                    if _checksum(name, vector) == checksum:
                        found.update((at, vector) for at in places[name])
            return found

        return self._within(read) or {}

    def put(self, identity: str, texts: Sequence[str], vectors: Vectors) -> None:
        """Keeps vectors; those of a text that is there already are replaced."""

        def write(file: sqlite3.Connection) -> None:
            rows = [
                (name, vector.tobytes(), _checksum(name, vector.tobytes()))
                for name, vector in zip(self._names(file, identity, texts), vectors, strict=True)
            ]
            file.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)

        self._within(write)

    def clear(self) -> None:
        """Removes everything, the key as well. Harmless where there is nothing."""
        with self._one_at_a_time:
            self._remove()

    def _remove(self) -> None:
        for suffix in ("-journal", ""):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)

    def _within(self, work: Callable[[sqlite3.Connection], _Result]) -> _Result | None:
        """The result of work within one transaction; None where the file cannot be used now. A
        damaged one is removed: everything in it can be computed again."""
        with self._one_at_a_time:
            try:
                with closing(sqlite3.connect(self.path, timeout=10)) as file:
                    file.execute("PRAGMA synchronous=OFF")
                    file.executescript(_TABLES)
                    with file:
                        return work(file)
            except sqlite3.OperationalError as error:  # locked, or the disk is full
                _LOGGER.warning("embedding_cache_unused", path=str(self.path), problem=str(error))
            except sqlite3.DatabaseError as error:
                _LOGGER.warning("embedding_cache_removed", path=str(self.path), problem=str(error))
                self._remove()
        return None

    def _names(self, file: sqlite3.Connection, identity: str, texts: Sequence[str]) -> list[bytes]:
        row = file.execute("SELECT key FROM secret").fetchone()
        if row is None:
            row = (self._entropy(KEY_BYTES),)
            file.execute("INSERT INTO secret VALUES (?)", row)
        model = hashlib.blake2b(identity.encode(), key=row[0]).digest()
        return [
            hashlib.blake2b(
                text.encode("utf-8", "surrogatepass"), key=model, digest_size=20
            ).digest()
            for text in texts
        ]


def _checksum(name: bytes, vector: bytes) -> bytes:
    return hashlib.blake2b(name + vector, digest_size=8).digest()


class CachedEmbedder:
    """An embedder whose stored vectors come from a cache where it has them. Questions are not
    cached: what somebody asked is nobody's to keep.

    ``trouble`` is why the last text could not be embedded; empty when it could.
    """

    def __init__(self, inner: Embedder, cache: VectorCache) -> None:
        self.inner = inner
        self._cache = cache
        self.identity = inner.identity
        self.dimension = inner.dimension
        self.trouble = ""

    def passages(self, texts: Sequence[str]) -> Vectors:
        """Vectors for what is stored, each computed once."""
        found = self._cache.get(self.identity, texts)
        missing = [at for at in range(len(texts)) if at not in found]
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for at, vector in found.items():
            vectors[at] = np.frombuffer(vector, dtype=np.float32)
        if missing:
            asked = [texts[at] for at in missing]
            try:
                fresh = self.inner.passages(asked)
            except EmbedderUnavailable as error:
                self.trouble = str(error)
                raise
            vectors[missing] = fresh
            self._cache.put(self.identity, asked, fresh)
        self.trouble = ""
        return vectors

    def query(self, text: str) -> Vectors:
        """The vector of a question."""
        return self.inner.query(text)

"""Where the vectors of a directory's generations are: in files beside the rest, or on a server.

A generation keeps the choice it was made with, as it keeps its embedder: a folder with
``qdrant.json`` has its vectors in a collection of the server named there, any other in
``vectors/``. No secret is written: the file names the environment variable that holds the API key.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from memstream.projections.generations import Generations
from memstream.schemas.errors import IndexUnavailable, ProjectionDamaged, WrongGeneration
from memstream.streams.clock import Clock, new_id

if TYPE_CHECKING:
    from memstream.projections.embedding import Embedder
    from memstream.projections.projection import Generation
    from memstream.projections.qdrant_generations import QdrantGenerations
    from memstream.projections.qdrant_server import QdrantServer
    from memstream.projections.queries import SearchIndex

Where: TypeAlias = "str | QdrantServer | None"
"""Where vectors are to be: "edge", a Qdrant server's url, a .toml file with the fields of
``QdrantServer``, one itself, or None for where the directory has them."""

EDGE = "edge"
"""The name of the index in the process."""
KEY_VARIABLE = "MEMSTREAM_QDRANT_API_KEY"
"""Where the API key of a server is looked for that was named by its url alone."""

_PLACE = "qdrant.json"


class Vectors:
    """The generations of a directory and where each of them has its vectors."""

    def __init__(self, root: Path, clock: Clock, asked: Where) -> None:
        """Raises ``WrongGeneration`` where the directory has its vectors elsewhere."""
        self._clock = clock
        self._asked = asked
        self.generations = Generations(
            root / "generations", made=self._place, dropped=self._take_away
        )
        here = self._current()
        if here is not None and asked is not None:
            wanted, there = self._wanted(), server_of(here)
            if wanted != there:
                raise WrongGeneration(
                    f"{root}: its vectors are {_shown(there)}, asked for {_shown(wanted)}; mend: "
                    "open it without naming an index, then rebuild(index=...), or memstream "
                    "rebuild --index"
                )

    @property
    def elsewhere(self) -> bool:
        """Whether the next generation is to have them in another place than the usual one."""
        return self._asked is not None and self._asked != EDGE

    def choose(self, asked: Where) -> None:
        """Where the next generation has its vectors; None leaves it as it is."""
        if asked is not None:
            self._asked = asked
            self._wanted()

    def opened(
        self, folder: Path, stamp: Generation, embedder: Embedder, *, serves: bool
    ) -> SearchIndex:
        """The vector index of a generation. ``serves``: its collection gets the alias."""
        server = server_of(folder)
        if server is None:
            from memstream.projections.in_edge import EdgeIndex

            return EdgeIndex.open(folder / "vectors", stamp, embedder)
        from memstream.projections.in_qdrant import QdrantIndex

        index = QdrantIndex.open(server, server.collection(folder.name), stamp, embedder)
        if serves:
            try:
                with _on(server) as there:
                    there.serve(folder.name)
            except BaseException:
                index.close()
                raise
        return index

    def removed(self, folder: Path) -> None:
        """Deletes the vectors of a generation, so that the next opening makes them anew."""
        server = server_of(folder)
        if server is None:
            path = folder / "vectors"
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
            return
        with _on(server) as there:
            there.delete(folder.name)

    def _place(self, folder: Path) -> None:
        """Writes down where a new generation has its vectors, before it counts as one."""
        server = self._wanted()
        if server is None:
            self._asked = None
            return
        with _on(server) as there:
            if folder.name in there.names():
                raise WrongGeneration(
                    f"Qdrant at {server.url}: collection {server.collection(folder.name)} is there "
                    "already, of another directory or an earlier one; mend: another prefix, or "
                    "delete it"
                )
        (folder / _PLACE).write_bytes(msgspec.json.encode(server))
        self._asked = None  # from now on it is what the directory has

    def _take_away(self, folder: Path) -> None:
        if server_of(folder) is not None:
            self.removed(folder)

    def _current(self) -> Path | None:
        name = self.generations.current()
        return None if name is None else self.generations.folder(name)

    def _wanted(self) -> QdrantServer | None:
        """The server of the next generation, None for the index in the process."""
        here, asked = self._current(), self._asked
        before = None if here is None else server_of(here)
        if asked is None:
            return before
        if asked == EDGE:
            return None
        _need_client()
        from memstream.projections.qdrant_server import QdrantMisconfigured, QdrantServer

        if isinstance(asked, QdrantServer):
            return asked
        if asked.endswith(".toml"):
            try:
                return msgspec.toml.decode(Path(asked).read_bytes(), type=QdrantServer)
            except (OSError, msgspec.DecodeError) as error:
                raise QdrantMisconfigured(f"index {asked}: {error}") from error
        if before is not None and before.url == asked:
            return before
        prefix = f"memstream_{new_id(self._clock)[-12:]}"
        key = KEY_VARIABLE if os.environ.get(KEY_VARIABLE) else ""
        return QdrantServer(url=asked, prefix=prefix, api_key_env=key)


def server_of(folder: Path) -> QdrantServer | None:
    """The server that has a generation's vectors; None where they are in its folder."""
    path = folder / _PLACE
    if not path.is_file():
        return None
    _need_client()
    from memstream.projections.qdrant_server import QdrantServer

    try:
        return msgspec.json.decode(path.read_bytes(), type=QdrantServer)
    except (OSError, msgspec.DecodeError) as error:
        raise ProjectionDamaged(
            f"generation {folder.name}: {path} is unreadable ({error}); mend: memstream rebuild "
            "--index"
        ) from error


def _need_client() -> None:
    try:
        import qdrant_client  # noqa: F401 - an extra; here it is only looked for
    except ModuleNotFoundError as error:
        raise IndexUnavailable(
            "vectors on a Qdrant server need qdrant-client, which is not installed; mend: pip "
            "install 'memstream[qdrant]'"
        ) from error


@contextmanager
def _on(server: QdrantServer) -> Iterator[QdrantGenerations]:
    from memstream.projections.qdrant_generations import QdrantGenerations
    from memstream.projections.qdrant_server import connected

    client = connected(server)
    try:
        yield QdrantGenerations(server, client)
    finally:
        client.close()


def _shown(server: QdrantServer | None) -> str:
    return "in the process" if server is None else f"at {server.url} under {server.prefix}"

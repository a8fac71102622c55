"""Generations on a Qdrant server: one collection each, and an alias on the one that is served.

The server's own aliases are the pointers that ``generations`` keeps in files: the prefix is the
alias of the served collection, the prefix with ``_previous`` that of the one served before. Both
change in one request, which the server does whole or not at all. What reads through the alias is
never without a collection, and never sees two.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from qdrant_client import QdrantClient, models

from memstream.projections.generations import GenerationInUse
from memstream.projections.marker import MARKER, marker_of
from memstream.projections.projection import Generation
from memstream.projections.qdrant_server import QdrantServer, in_server
from memstream.schemas.errors import NotFound

_NAME = re.compile(r"g-\d{6,}")


class QdrantGenerations:
    """The generations under one prefix of one server. The client stays the caller's to close."""

    def __init__(self, server: QdrantServer, client: QdrantClient) -> None:
        self.server = server
        self._client = client

    def current(self) -> str | None:
        """The name of the generation being served; None where none is."""
        return self._aliased(self.server.prefix)

    def previous(self) -> str | None:
        """The one that was served before the last swap, while it is still there."""
        return self._aliased(self._previous)

    def names(self) -> list[str]:
        """All generations, oldest first; also one that is only begun."""
        found = self._call("", "listing collections", self._client.get_collections)
        names = [self._generation(each.name) for each in found.collections]
        return sorted(each for each in names if each is not None)

    def next_name(self) -> str:
        """A name that no generation has; opening an index in its collection makes it."""
        taken = [int(each.removeprefix("g-")) for each in self.names()]
        return f"g-{max(taken, default=0) + 1:06d}"

    def stamp(self, name: str) -> Generation:
        """What a generation was built by. Raises ``NotFound``."""
        if name not in self.names():
            raise NotFound(
                f"generation {name}: no collection of {self.server.url} is named "
                f"{self.server.collection(name)}; there: {', '.join(self.names()) or 'none'}"
            )
        collection = self.server.collection(name)
        found = self._call(
            collection, "reading", partial(self._client.retrieve, collection, [MARKER])
        )
        where = f"Qdrant at {self.server.url}, collection {collection}"
        return marker_of(where, found[0].payload if found else None).stamp

    def serve(self, name: str) -> None:
        """Makes a generation the current one, and the one before it the previous."""
        self.stamp(name)
        before, previous = self.current(), self.previous()
        if before == name:
            return
        operations: list[Any] = []
        if before is not None:
            if previous is not None:
                operations.append(_dropping(self._previous))
            operations.append(_dropping(self.server.prefix))
            operations.append(_naming(self._previous, self.server.collection(before)))
        operations.append(_naming(self.server.prefix, self.server.collection(name)))
        swap = partial(self._client.update_collection_aliases, operations)
        self._call(self.server.collection(name), "serving", swap)

    def swap_back(self) -> str:
        """Serves the previous generation again. Raises ``NotFound`` where there is none."""
        previous = self.previous()
        if previous is None:
            raise NotFound(
                f"Qdrant at {self.server.url}: prefix {self.server.prefix} has no previous "
                "generation to swap back to"
            )
        self.serve(previous)
        return previous

    def remove(self, name: str) -> None:
        """Deletes a generation that is not served, and its alias. One that is gone is gone."""
        if name == self.current():
            raise GenerationInUse(f"generation {name}: it is being served; swap to another first")
        self.delete(name)

    def delete(self, name: str) -> None:
        """Deletes a generation's collection with its alias, served or not; its index is then made
        anew by opening it. One that is gone is gone."""
        collection = self.server.collection(name)
        self._call(collection, "deleting", partial(self._client.delete_collection, collection))

    def remove_all_but(self, kept: set[str]) -> list[str]:
        """Deletes every generation that is neither served nor named; gives their names."""
        gone = [name for name in self.names() if name not in kept and name != self.current()]
        for name in gone:
            self.remove(name)
        return gone

    @property
    def _previous(self) -> str:
        return f"{self.server.prefix}_previous"

    def _aliased(self, alias: str) -> str | None:
        found = self._call("", "reading aliases", self._client.get_aliases)
        for each in found.aliases:
            if each.alias_name == alias:
                return self._generation(each.collection_name)
        return None

    def _generation(self, collection: str) -> str | None:
        start, name = f"{self.server.prefix}_", collection.removeprefix(f"{self.server.prefix}_")
        return name if collection.startswith(start) and _NAME.fullmatch(name) else None

    def _call(self, collection: str, doing: str, call: Any) -> Any:
        return in_server(self.server, collection, doing, call)


def _naming(alias: str, collection: str) -> models.CreateAliasOperation:
    made = models.CreateAlias(alias_name=alias, collection_name=collection)
    return models.CreateAliasOperation(create_alias=made)


def _dropping(alias: str) -> models.DeleteAliasOperation:
    return models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=alias))

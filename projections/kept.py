"""Things kept at hand, decoded, so that an index need not read and decode them again."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

_Name = TypeVar("_Name", bound=Hashable)
_Thing = TypeVar("_Thing")


class Kept(Generic[_Name, _Thing]):
    """What was read last, by name.

    The index that owns it drops what it changes and clears it when it erases, so what is here is
    what is stored. Not thread-safe: the index's own lock is held around every use. Questions to
    many scopes by turns find nothing here that is smaller than what they all touch.
    """

    def __init__(self, at_most: int) -> None:
        self._at_most = at_most
        self._things: dict[_Name, _Thing] = {}

    def get(self, name: _Name) -> _Thing | None:
        """What is kept under a name, None where nothing is."""
        thing = self._things.pop(name, None)
        if thing is not None:
            self._things[name] = thing
        return thing

    def put(self, name: _Name, thing: _Thing) -> None:
        """Keeps it, and lets go of the one that was used longest ago where there is no room."""
        self._things[name] = thing
        if len(self._things) > self._at_most:
            del self._things[next(iter(self._things))]

    def drop(self, names: Iterable[_Name]) -> None:
        """Lets go of these."""
        if self._things:
            for each in names:
                self._things.pop(each, None)

    def clear(self) -> None:
        """Lets go of all."""
        self._things.clear()

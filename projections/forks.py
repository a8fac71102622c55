"""What a forked child has a copy of, though it belongs to its parent: it is told so at once."""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet


class Inherited(Protocol):
    """What must not be used by parent and child as if each had it alone."""

    def after_fork(self) -> None:
        """In the child: lets go of what is the parent's. No other thread runs there, so that a
        lock which one of the parent's held is never free again."""


_INHERITED: WeakSet[Inherited] = WeakSet()


def tell_of_forks(inherited: Inherited) -> None:
    """From now on, for as long as it is in use."""
    _INHERITED.add(inherited)


def _after_fork() -> None:
    for each in list(_INHERITED):
        each.after_fork()


if hasattr(os, "register_at_fork"):  # where there is no fork there is nothing to tell
    os.register_at_fork(after_in_child=_after_fork)

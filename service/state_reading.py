"""What is read from the state alone, while a rebuild may swap it away."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from memstream.schemas.errors import LogUnavailable

if TYPE_CHECKING:
    from memstream.service.host import Host
    from memstream.streams.state_in_sqlite import StateStore

Found = TypeVar("Found")


def from_state(host: Host, read: Callable[[StateStore], Found]) -> Found:
    """What ``read`` finds in the state that is served, be it the next one by then."""
    stores = host.stores
    try:
        return read(stores.store)
    except LogUnavailable:
        if stores is host.stores:
            raise
        return read(host.store)

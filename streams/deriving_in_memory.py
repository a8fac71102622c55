"""A scope's memories derived in memory, by the same stages, without a worker; nothing is kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from memstream.processors.pipeline import Pipeline
from memstream.schemas.codec import Codec
from memstream.schemas.events import ErasureRequested, Event, MemoryChanged
from memstream.schemas.memories import Memory
from memstream.streams.bundles import BundleCodec
from memstream.streams.stages import Deriving, Resolving


class _Table:
    """The entries of one stage."""

    def __init__(self) -> None:
        self._entries: dict[bytes, bytes] = {}

    def get(self, key: bytes) -> bytes | None:
        return self._entries.get(key)

    def put(self, key: bytes, entry: bytes) -> None:
        self._entries[key] = entry

    def delete(self, key: bytes) -> None:
        self._entries.pop(key, None)

    def keys(self, prefix: bytes) -> Iterator[bytes]:
        return iter([each for each in self._entries if each.startswith(prefix)])


def derived_versions(pipeline: Pipeline, events: Iterable[Event]) -> list[Memory]:
    """Every memory version that recorded events of one scope lead to, in their order."""
    codec = Codec()
    deriving = Deriving(pipeline, codec, _Table(), 0, lambda *_: (), generation="")
    resolving = Resolving(pipeline, codec, _Table(), 0, generation="")
    wires = [codec.to_wire(each) for each in events if not isinstance(each.data, ErasureRequested)]
    candidates = deriving(list(enumerate(wires)))
    bundles = BundleCodec(codec)
    found: list[Memory] = []
    for message in resolving(list(enumerate(candidates))):
        bundle = bundles.decode(message, where="memory")
        for event in bundles.flowing(bundle, None):
            if isinstance(event.data, MemoryChanged):
                found.append(event.data.memory)
    return found

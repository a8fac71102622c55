"""The state of a pipeline in a dict, for tests of processors by themselves."""

from __future__ import annotations

import msgspec

from memstream.processors.pipeline import Value


class DictState:
    """What ``processors.pipeline.State`` asks for, encoded as a store keeps it."""

    def __init__(self) -> None:
        self._values: dict[str, bytes] = {}

    def get(self, key: str, kind: type[Value]) -> Value | None:
        found = self._values.get(key)
        return None if found is None else msgspec.json.decode(found, type=kind)

    def put(self, key: str, value: msgspec.Struct) -> None:
        self._values[key] = msgspec.json.encode(value)

    def delete(self, key: str) -> None:
        self._values.pop(key, None)

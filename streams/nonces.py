"""Nonces for sealing, drawn from the clock's entropy ahead of their use."""

from __future__ import annotations

import os
from collections.abc import Callable
from weakref import WeakSet

from memstream.schemas.sealing import NONCE_BYTES
from memstream.streams.clock import Clock

_AT_ONCE = 512


class Nonces:
    """Fresh nonces, for any thread. A nonce must never be used twice under one key, so a child
    made by a fork starts with none; ``check`` is called before more are drawn, and may refuse."""

    def __init__(self, clock: Clock, check: Callable[[], None]) -> None:
        self._clock = clock
        self._check = check
        self._drawn: list[bytes] = []
        _ALL.add(self)

    def draw(self) -> bytes:
        """One nonce."""
        try:
            return self._drawn.pop()
        except IndexError:
            self._check()
            block = self._clock.entropy(NONCE_BYTES * _AT_ONCE)
            starts = range(NONCE_BYTES, len(block), NONCE_BYTES)
            self._drawn.extend([block[start : start + NONCE_BYTES] for start in starts])
            return block[:NONCE_BYTES]

    def forget(self) -> None:
        """Drops what was drawn ahead."""
        self._drawn.clear()


_ALL: WeakSet[Nonces] = WeakSet()


def _forget_after_fork() -> None:
    for nonces in list(_ALL):
        nonces.forget()


if hasattr(os, "register_at_fork"):  # where there is no fork there is nothing to forget
    os.register_at_fork(after_in_child=_forget_after_fork)

"""Nonces for sealing, drawn from the clock's entropy ahead of their use."""

from __future__ import annotations

from collections.abc import Callable

from memstream.projections.forks import tell_of_forks
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
        tell_of_forks(self)

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

    def after_fork(self) -> None:
        """Drops what was drawn ahead."""
        self._drawn.clear()

"""Compiling rules makes hundreds of thousands of objects that stay: Python's cyclic garbage
collector would look through them over and over for nothing, which is half of the time."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """No garbage is collected meanwhile, where the application collects any."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()

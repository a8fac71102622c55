"""Counting in words: how every text that a person reads says how many there are."""

from __future__ import annotations

_VOWELS = "aeiou"


def quantity(count: int, noun: str) -> str:
    """The number with thousands apart and the noun (given in the singular) to fit it:
    "1 memory", "2,000 memories"."""
    if count == 1:
        return f"1 {noun}"
    if noun.endswith("y") and noun[-2] not in _VOWELS:
        noun = f"{noun[:-1]}ie"
    elif noun.endswith("ch"):
        noun = f"{noun}e"
    return f"{count:,} {noun}s"

"""Packing: as many of the best items as the token budget allows, none of them split silently."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

from memstream.recall.evidence import Item

_CJK = re.compile(r"[⺀-鿿가-힯豈-﫿＀-￯]")
TOKENS_PER_CJK_CHARACTER = 0.9
CHARACTERS_PER_TOKEN = 3.8


def estimated_tokens(text: str) -> int:
    """An estimate for common tokenizers: 0.9 tokens a CJK character, one per 3.8 others."""
    cjk = len(_CJK.findall(text))
    other = len(text) - cjk
    return math.ceil(cjk * TOKENS_PER_CJK_CHARACTER + other / CHARACTERS_PER_TOKEN)


def packed(
    items: Sequence[Item], render: Callable[[Item], str], budget_tokens: int
) -> tuple[list[Item], int]:
    """The items that fit, in order, and how many did not. An item too large for what is left is
    passed over, so that smaller ones behind it still come."""
    kept: list[Item] = []
    left = budget_tokens
    for item in items:
        cost = estimated_tokens(render(item))
        if cost <= left:
            kept.append(item)
            left -= cost
    return kept, len(items) - len(kept)

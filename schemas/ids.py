"""Ids and content keys: pure functions of what they name, the same on every replay."""

from __future__ import annotations

import hashlib
import unicodedata
from functools import lru_cache
from uuid import UUID

_NAMESPACE = UUID("6f1f6b1e-6d5c-5b0e-9a53-0c7b4a1d2e90").bytes
_VARIANT = dict(zip("0123456789abcdef", "89ab" * 4, strict=True))
"""The first digit of the fourth group, its two high bits set to 1 and 0."""


def derived_id(*parts: str) -> str:
    """UUIDv5 (RFC 9562) of the parts, e.g. (scope path, event id, processor, ordinal).

    Parts are length-prefixed, so ("a", "bc") and ("ab", "c") differ.
    """
    if len(parts) == 4:
        # Most ids are of four parts, and this takes half the time.
        a, b, c, d = parts
        name = f"{len(a)}:{a}{len(b)}:{b}{len(c)}:{c}{len(d)}:{d}"
    else:
        name = "".join([f"{len(part)}:{part}" for part in parts])
    text = hashlib.sha1(_NAMESPACE + name.encode(), usedforsecurity=False).hexdigest()
    return f"{text[:8]}-{text[8:12]}-5{text[13:16]}-{_VARIANT[text[16]]}{text[17:20]}-{text[20:32]}"


def content_key(text: str) -> str:
    """The exact content of a text, blind to case, width, spacing and outer punctuation.

    NFKC, case-folded; punctuation and symbols that only decorate are dropped, those that carry
    meaning inside a word or command (``C++``, ``-v``, ``a/b``, ``0.5``) are kept. Script-aware:
    spaces between two CJK characters carry nothing and are dropped, others fold to one.
    """
    return _short_key(text) if len(text) <= _LONGEST_CACHED else _key(text)


def served_key(text: str) -> str:
    """The content of a served text as a hash: recognises an echo, shows nothing of the text."""
    return derived_id("served", content_key(text))


_LONGEST_CACHED = 256


@lru_cache(maxsize=1 << 14)
def _short_key(text: str) -> str:
    return _key(text)


def _key(text: str) -> str:
    if text.isascii():
        return " ".join([word.strip(_DECORATION) or word for word in text.lower().split()])
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    kept: list[str] = []
    for word in folded.split():
        bare = word.strip(_DECORATION) or word
        if kept and not (_is_cjk(kept[-1][-1]) and _is_cjk(bare[0])):
            kept.append(" ")
        kept.append(bare)
    return "".join(kept)


_DECORATION = ".,;:!?\"'`…。，；：！？、“”‘’（）()「」『』《》〈〉【】~～"


def _is_cjk(character: str) -> bool:
    code = ord(character)
    return (
        0x4E00 <= code <= 0x9FFF
        or 0x3400 <= code <= 0x4DBF
        or 0x3040 <= code <= 0x30FF
        or 0x20000 <= code <= 0x3FFFF
    )

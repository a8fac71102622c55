"""Cleaning: any string as valid, visible Unicode.

Text arrives from terminals, web pages and models, with broken surrogates, invisible characters
that hide words from people (or secrets from a scanner), and several spellings of one letter. A
choice, stated: a surrogate without its partner is dropped, not replaced by U+FFFD.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ["GLUE", "clean_text"]


def clean_text(text: str) -> str:
    """The text as valid Unicode, in NFC, with nothing in it that cannot be seen.

    Surrogate pairs are joined and lone surrogates dropped; control characters except newline and
    tab, bidirectional controls, zero-width characters, noncharacters and stray variation
    selectors or tags are dropped; every line break becomes ``\\n``. Joiners stay where they mean
    something: inside an emoji, and between letters of scripts that use them (Persian, Hindi).
    """
    if text.isascii() and (text.isprintable() or _ASCII_DIRT.search(text) is None):
        return text
    if _DIRT.search(text) is None and unicodedata.is_normalized("NFC", text):
        return text
    if _SURROGATE.search(text) is not None:
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore")
    while (cleaner := _cleaned_once(text)) != text:
        text = cleaner
    return text


_ASCII_DIRT = re.compile(r"[^\n\t\x20-\x7e]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_HIGHER_PLANES = range(0x10000, 0x110000, 0x10000)
_INVISIBLE = (
    "\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b"
    "\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\ufdd0-\ufdef"
    "\U0001d173-\U0001d17a"
    + "".join(chr(plane + 0xFFFE) + chr(plane + 0xFFFF) for plane in _HIGHER_PLANES)
)
_BREAKS = "\r\x0b\x0c\x85\u2028\u2029"
_JOINERS = "\u200c\u200d"
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef\u180b-\u180d"
_TAGS = "\U000e0000-\U000e007f"
_DIRT = re.compile(f"[{_INVISIBLE}{_BREAKS}{_JOINERS}{_SELECTORS}{_TAGS}\ud800-\udfff]")
_DROP = re.compile(f"[{_INVISIBLE}\ud800-\udfff]+")
_LINE_BREAK = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_PICTURE = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u21aa\u231a-\u23ff\u24c2\u25aa-\u25fe\u2600-\u27bf"
    "\u2934\u2935\u2b05-\u2b55\u3030\u303d\u3297\u3299\U0001f000-\U0001faff\ufe0f\U000e007f"
)
_JOINING = (
    "\u0600-\u08ff\u0900-\u0dff\u0e80-\u109f\u1780-\u18af\u1900-\u1cff\ua840-\uabff\ufb50-\ufdcf"
    "\ufe70-\ufefc\U00011000-\U000114ff"
)
_STRAY_JOINER = re.compile(
    f"(?<![{_PICTURE}{_JOINING}])[{_JOINERS}]"
    f"|(?<=[{_PICTURE}])(?:\u200c|\u200d(?![{_PICTURE}]))"
    f"|(?<=[{_JOINING}])[{_JOINERS}](?![{_JOINING}])"
)
_STRAY_SELECTOR = re.compile(
    f"(?:^|(?<=[\\s{_SELECTORS}]))[{_SELECTORS}]"
    "|(?<![\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])[\U000e0100-\U000e01ef]"
)
_TAG_RUN = re.compile(f"(?P<flag>\U0001f3f4[\U000e0020-\U000e007e]{{2,6}}\U000e007f)|[{_TAGS}]+")


def _cleaned_once(text: str) -> str:
    text = _DROP.sub("", text)
    text = _LINE_BREAK.sub("\n", text)
    text = _TAG_RUN.sub(lambda run: run.group("flag") or "", text)
    text = _STRAY_SELECTOR.sub("", text)
    text = _STRAY_JOINER.sub("", text)
    return unicodedata.normalize("NFC", text)


GLUE = re.compile(f"[{_JOINERS}{_SELECTORS}{_TAGS}\u0300-\u036f\u3099\u309a\u20d0-\u20ff]")
"""Characters that belong to a neighbour: a text is not cut beside one."""

"""How the gate rates what is said, and what it takes for bulk. Used by `gate`.

The words stand in ``rulebook_gate/factors.toml``. A very long text is rated by its beginning.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from tomllib import loads

import msgspec

__all__ = ["Rating", "is_bulk", "is_failure", "pasted_blocks", "rated"]

_RATED = 4_000  # characters


class Rating(msgspec.Struct, frozen=True, gc=False):
    """From 0 to 1 each: how long it holds, how much it would hurt in the wrong hands, the risk
    that it overturns what was said before."""

    lifetime: float
    sensitivity: float
    contradiction: float


def rated(text: str, *, redacted: bool) -> Rating:
    """The rating of a text; ``redacted`` where a secret was cut out of it."""
    lowered = text[:_RATED].lower().replace("’", "'")
    listed, all_signs = _signs()
    words = listed.intersection(_WORDS.findall(lowered))
    chinese = not lowered.isascii()

    def says(name: str) -> bool:
        signs = all_signs[name]
        if not signs.words.isdisjoint(words):
            return True
        for phrase in signs.phrases:
            if phrase in lowered:
                return True
        return chinese and signs.chinese.search(lowered) is not None

    lifetime = 0.3 if says("passing") else 0.9 if says("lasting") else 0.6
    sensitivity = 1.0 if redacted else 0.7 if says("sensitive") else 0.1
    contradiction = (
        0.8 if says("correcting") else 0.5 if says("changing") else 0.3 if says("denying") else 0.1
    )
    return Rating(lifetime, sensitivity, contradiction)


_WORDS = re.compile(r"[a-z][a-z']*")


class _Listed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    words: str
    phrases: tuple[str, ...]
    chinese: str


class _Signs(msgspec.Struct, frozen=True):
    words: frozenset[str]
    phrases: tuple[str, ...]
    chinese: re.Pattern[str]


@cache
def _signs() -> tuple[frozenset[str], dict[str, _Signs]]:
    """Every word that is a sign of anything, and the signs by name."""
    path = Path(__file__).with_name("rulebook_gate") / "factors.toml"
    listed = msgspec.convert(loads(path.read_text("utf-8")), dict[str, _Listed])
    signs = {
        name: _Signs(
            frozenset(each.words.split()),
            each.phrases,
            re.compile("|".join(map(re.escape, each.chinese.split()))),
        )
        for name, each in listed.items()
    }
    return frozenset().union(*(each.words for each in signs.values())), signs


# --- what tools give back -------------------------------------------------------------------------

_FAILURE = re.compile(
    r"\s*(?:error\b|fatal\b|traceback \(|exception\b|[\w.]*(?:error|exception):|exit code [1-9]"
    r"|command failed|failed to\b|http \d{3}|[45]\d\d [a-z]|<tool_use_error>|错误|失败|异常)",
    re.IGNORECASE,
)
_STRUCTURED = re.compile(r"\s*(?:[\[{<]|---\n|```|diff --git|\d+[→|\t])")
_CODE_LINE = re.compile(
    r"\s*(?:\d+[→|:\t]|[+-]{3} |@@|[$>] |[|+]|/[\w./-]+$|[\w.-]+/[\w./-]+$|[{}\[\]<#]|//|/\*|\*/"
    r"|import |from \w|def |class |function |const |let |var |return\b|if\s*\(|at \S+\("
    r"|[rwxd-]{9,10}\s|\d{4}-\d\d-\d\d[T ]\d|\[\d|[\w\"'.-]+\s*[=:]\s*\S+[,;]?$)|.*[;{}]\s*$"
)
_WORD = re.compile(r"[^\W\d_]{2,}")
_HAN = re.compile(r"[\u3400-\u9fff]")
_MARK = re.compile(r"[{}\[\]()<>=;|\\/_$&#@^~`*\"+]")


def is_failure(text: str) -> bool:
    """Whether a tool's output begins by saying that it failed."""
    return _FAILURE.match(text) is not None


def is_bulk(text: str, *, longest: int) -> bool:
    """Whether a tool's output is data rather than a few sentences: structured, long, or mostly
    lines of code, log or listing."""
    if len(text) > longest or _STRUCTURED.match(text) is not None:
        return True
    lines = [line for line in text.splitlines() if line.strip()]
    coded = sum(_CODE_LINE.match(line) is not None for line in lines)
    if coded * 2 > len(lines) or len(_MARK.findall(text)) * 10 > len(text):
        return True
    return len(_WORD.findall(text)) < 2 and len(_HAN.findall(text)) < 4


# --- what people paste ----------------------------------------------------------------------------

_PASTED = re.compile(
    r"<(?P<tag>tool_result|tool_output|web_?page|webpage|document|search_results?|email|page"
    r"|untrusted\w*)\b[^>\n]{0,200}>(?P<inside>.{1,20000}?)(?:</(?P=tag)>|$)"
    r"|-{2,}\s*begin (?:web ?page|page|e-?mail|document|tool output"
    r"|quoted text)\s*-{2,}(?P<fenced>.{1,20000}?)(?:-{2,}\s*end|$)"
    r"|(?P<quoted>(?:^>[^\n]*\n?){2,200})",
    re.IGNORECASE | re.DOTALL | re.MULTILINE,
)


def pasted_blocks(text: str) -> list[str]:
    """Stretches of a person's turn that are marked as coming from elsewhere: a page, a tool's
    output, a quoted mail."""
    if "<" not in text and "--" not in text and ">" not in text:
        return []
    return [
        re.sub(r"(?m)^>\s?", "", match.group("inside") or match.group("fenced") or match.group())
        for match in _PASTED.finditer(text)
    ]

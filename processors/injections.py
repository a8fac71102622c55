"""Text that gives orders to the model that reads it.

A tool's output, a document, a page: these report, they do not command. `suspicion` says how much
a text of that kind reads like an instruction to an assistant, and why. It is meant for what tools,
documents and models wrote; a person may give orders and is not judged by it.

Two layers. Rules know the stock phrases of attacks (override what was said, keep it from the
user, send data out, write to memory, pose as another role), in English and Chinese, plain or
disguised. Then every sentence of prose is read for its mood: an imperative of the kind one gives
to a language model, or a question, is out of place in a report. Code, listings and headings are
left out of that second reading, since a comment such as "return the total" commands nobody.

The weights are this project's own, fitted so that stock phrases suffice alone and everyday
technical imperatives do not: scores combine as independent evidence, 1 - prod(1 - weight), and
weak signs together stay below 0.5.
"""

from __future__ import annotations

import re

import msgspec

from memstream.processors.injections_disguise import HIDDEN_COMMENT, disguised, folded
from memstream.processors.injections_mood import moods
from memstream.processors.injections_rules import NOTICES, RULES

__all__ = ["SUSPICIOUS", "Suspicion", "suspicion"]

SUSPICIOUS = 0.5
"""The score from which a text counts as instruction-like."""

_WEAK_CEILING = 0.45
_LONGEST_REASONS = 8


class Suspicion(msgspec.Struct, frozen=True):
    """How instruction-like a text is: 0 (a report) to 1, the reasons, strongest first, and the
    [start, end) ranges of the text that gave them, in order."""

    score: float
    reasons: tuple[str, ...] = ()
    spans: tuple[tuple[int, int], ...] = ()


def suspicion(text: str, language: str | None = None, *, mood: bool = True) -> Suspicion:
    """How much ``text`` reads like an instruction to the model that will read it.

    ``language`` "en" or "zh" limits the rules to that language; by default both are tried where
    their script occurs. Without ``mood`` only stock phrases count, which suits text that may well
    ask and advise, such as an assistant's. Linear in the length of the text.
    """
    return _judged(text, language, mood=mood, depth=0)


def _judged(text: str, language: str | None, *, mood: bool, depth: int) -> Suspicion:
    plain, places = folded(text)
    for notice in NOTICES:
        if notice in plain:
            plain = plain.replace(notice, " " * len(notice))
    lowered = plain.lower()
    signs: list[tuple[float, str, int, int]] = []
    for rule in RULES:
        if (language is None or rule.language == language) and any(
            word in lowered for word in rule.needs
        ):
            signs += [
                (rule.weight, rule.reason, *match.span()) for match in _few(rule.pattern, plain)
            ]
    if mood:
        signs += moods(plain)
    if depth == 0 and not any(weight >= SUSPICIOUS for weight, *_ in signs):
        for hidden, how, start, end in disguised(plain):
            inner = _judged(hidden, language, mood=mood and how == HIDDEN_COMMENT, depth=1)
            if inner.score >= SUSPICIOUS:
                signs.append((max(inner.score, 0.8), f"{how}: {inner.reasons[0]}", start, end))
    if not signs:
        return Suspicion(0.0)
    strongest: dict[str, float] = {}
    for weight, reason, _, _ in signs:
        strongest[reason] = max(weight, strongest.get(reason, 0.0))
    doubt = 1.0
    for weight in strongest.values():
        doubt *= 1.0 - weight
    score = round(1.0 - doubt, 4)
    if max(strongest.values()) < SUSPICIOUS:
        score = min(score, _WEAK_CEILING)
    reasons = sorted(strongest, key=lambda reason: (-strongest[reason], reason))
    spans = sorted({(places(start), places(end)) for _, _, start, end in signs})
    return Suspicion(score, tuple(reasons[:_LONGEST_REASONS]), tuple(spans))


def _few(pattern: re.Pattern[str], text: str) -> list[re.Match[str]]:
    """The first matches; more of the same say nothing new."""
    found = []
    for match in pattern.finditer(text):
        found.append(match)
        if len(found) == 4:
            break
    return found

"""Slips that a speaker puts right at once: "I live in Paris, no wait, Lyon".

What was said first asserts nothing. The words after the marker may be a whole statement, one
without its subject, or the right value alone; each is tried, and one counts only where it states
the same attribute of the same subject with another value. The markers are data (``repairs`` and
``repairs_before_comma`` in the rule files).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memstream.processors.rules import Rulebook

LONGEST_VALUE = 60
"""Characters; what is longer is no value that replaces another."""


class Repairs:
    """Finds the markers of one language."""

    def __init__(self, book: Rulebook) -> None:
        self._chinese = book.language == "zh"
        alone = _alternatives(book.grammar("repairs"))
        paused = _alternatives(book.grammar("repairs_before_comma"))
        hesitation = _alternatives(book.grammar("hesitations"))
        if self._chinese:
            marker = (
                rf"(?:(?:{hesitation})[，,]?)*(?:(?:{alone})[，,。！!：:… ]*|(?:{paused})[，,…]+)"
            )
            self._pauses = tuple("，,；;—…")
            self._within = re.compile(rf"[，,；;—…]+ ?(?:{marker})+")
            self._at_start = re.compile(rf"(?:{marker})+")
            self._lead = re.compile(r"(?:应该|其实)?(?:就是|是)?")
            self._subjects = re.compile("[我你您他她它这那咱]")
        else:
            end = r"(?:[\s,:;.!…—–-]+|$)"
            marker = (
                rf"(?:(?:{hesitation})[\s,]+)*"
                rf"(?:(?:{alone})\b{end}|(?:{paused})\s?[,:;…—–][\s,:;.…—–-]*)"
                rf"(?:(?:{hesitation})[\s,]+)*"
            )
            self._pauses = (*",;…—–-", "...")
            self._within = re.compile(
                rf"\s?(?:[,;…—–]|--|\s-\s|\.\.\.)\s*(?:{marker})+", re.IGNORECASE
            )
            self._at_start = re.compile(rf"(?:{marker})+", re.IGNORECASE)
            self._lead = re.compile(
                r"(?:i mean(?:t)?\b[, ]*)?(?:it(?:'s|’s| is)|that(?:'s|’s| is)|make that)?\s*"
                r"(?:(?:in|at|to|on|for|as|with|of|from|a|an|the|not)\s+)*",
                re.IGNORECASE,
            )
            self._subjects = re.compile(
                r"(?:I|we|you|he|she|it|they|my|our|your|his|her|their|that|this|there|what|who)"
                r"(?:\b|['’])",
                re.IGNORECASE,
            )

    def within(self, text: str) -> tuple[str, str] | None:
        """What stands before the last marker inside a sentence, and what after; None without."""
        for sign in self._pauses:
            if sign in text:
                break
        else:
            return None
        found = list(self._within.finditer(text))
        if not found or not found[-1].start() or found[-1].end() == len(text):
            return None
        last = found[-1]
        return text[: last.start()], text[last.end() :]

    def at_start(self, text: str) -> str | None:
        """What follows a marker that opens the sentence; None where none does."""
        match = self._at_start.match(text)
        return None if match is None or match.end() == len(text) else text[match.end() :]

    def readings(self, before: str, after: str, wrong: str) -> Iterator[str]:
        """The sentences that "before, no, after" may mean, where ``wrong`` is the value that
        stands in ``before``."""
        yield after
        yield ("我" if self._chinese else "I ") + after
        place = before.rfind(wrong)
        lead = self._lead.match(after)
        right = re.split(r"[,.;:!?，。；：！？（(]", after[lead.end() if lead else 0 :])[0].strip()
        if place < 0 or not wrong or not right or len(right) > LONGEST_VALUE:
            return
        if self._subjects.match(right) is None:
            yield before[:place] + right + before[place + len(wrong) :]


def _alternatives(phrases: tuple[str, ...]) -> str:
    """A pattern for any of the phrases, the longest first; one that nothing matches for none."""
    ordered = sorted(phrases, key=lambda each: (-len(each), each))
    inner = "|".join(
        re.escape(each).replace("'", "['’]").replace(r"\ ", r",?\s+") for each in ordered
    )
    return inner or "(?!)"

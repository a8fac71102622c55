"""What a date grammar reports: the place of an expression and its meaning, not yet resolved."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from memstream.processors.dates_calendar import Interval, Meaning, Open

Bound = Literal["since", "after", "before", "until"]


@dataclass(frozen=True, slots=True)
class Expression:
    """`text[start:end]` is a date expression.

    `bound` makes the interval open-ended. `tense` reads the tense around the expression out of
    the whole text: True for the future, False for the past, None where nothing tells. `recurring`
    reads whether it is one of many, as in "we usually ski in January".
    """

    start: int
    end: int
    meaning: Meaning
    bound: Bound | None
    tense: Callable[[str, int, int], bool | None]
    recurring: Callable[[str, int, int], bool]

    def spoken_tense(self, text: str) -> bool | None:
        if self.bound == "since" and not text.endswith(_MAY_BEGIN, self.start, self.end):
            return False
        return self.tense(text, self.start, self.end)

    def is_deadline(self, text: str) -> bool:
        """ "until Friday" looks ahead unless its sentence is in the past, "until June" where it is
        in the present."""
        if not isinstance(self.meaning, Open):
            return False
        if self.meaning.cycle == "week":
            return self.bound in ("before", "until")
        yearly = self.meaning.cycle == "year" and self.bound == "until"
        return yearly and _PRESENT.search(text[max(0, self.start - 160) : self.start]) is not None

    def bounds(self, found: Interval) -> tuple[datetime | None, datetime | None]:
        if self.bound == "since":
            return found.edge, None
        if self.bound == "after":
            return found.end, None
        if self.bound in ("before", "until"):
            return None, found.edge
        return found.start, found.end


def beside(expression: Expression, first: Expression) -> Expression:
    """The 12 of "May 10 and 12", which the expression before completes: in the tense of that."""

    def tense(text: str, start: int, end: int) -> bool | None:
        return first.tense(text, first.start, first.end)

    return replace(expression, tense=tense)


_PRESENT = re.compile(
    r"(?<!used to )\b(?:(?:am|is|are|['’](?:m|re|s)) (?:\w+ )?\w+ing|lives?|works?|stays?"
    r"|(?:am|is|are|['’](?:m|re|s)) (?:staying|here|there|away|off|on)) [^.!?;]{0,60}$",
    re.IGNORECASE,
)
"""What shows, before a date, that a sentence tells of the present."""
_MAY_BEGIN = ("起", "开始", " on", " onward", " onwards", " forward")
"""What ends an open expression that may lie ahead as well as behind: "from June on"."""

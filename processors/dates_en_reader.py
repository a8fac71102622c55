"""Reading English expressions for one period, whatever their rules.

A rule is a small function from a token index to a meaning and the index after it, or None. `Points`
tries the rules that a word starts and keeps the longest reading; it also reads what many rules
share: the year that completes a date, the larger period that "of" introduces.
"""

from __future__ import annotations

from collections.abc import Callable

from memstream.processors.dates_calendar import (
    Meaning,
    Open,
    failed,
    inside,
    relative,
    with_year,
    year_number,
)
from memstream.processors.dates_en_words import (
    MODIFIERS,
    MONTHS,
    UNITS,
    Tokens,
    year,
)
from memstream.processors.dates_within import (
    month_in_year,
)

_DEPTH = 4
_YEARS_BESIDE = ((["year", "before", "last"], -2), (["year", "after", "next"], 2))
Match = tuple[Meaning, int] | None
Rule = Callable[["Points", int], Match]
PERIODS = frozenset("week month year quarter season decade century fortnight".split())


class Points:
    """Reads single periods out of a token list; holds no state but the nesting depth."""

    __slots__ = ("_digit_rules", "_rules", "depth", "range_bound", "tokens", "words")

    def __init__(
        self, tokens: Tokens, rules: dict[str, tuple[Rule, ...]], digit_rules: tuple[Rule, ...]
    ) -> None:
        self._rules = rules
        self._digit_rules = digit_rules
        self.tokens = tokens
        self.words = tokens.words
        self.depth = 0
        self.range_bound = -1  # a token that follows the hyphen of a range, as in "5/1-5/7"

    def point(self, i: int) -> Match:
        """The longest period that begins at token i."""
        word = self.words[i]
        rules = self._rules.get(word)
        if rules is None:
            if not "0" <= word[:1] <= "9":
                return None
            rules = self._digit_rules
        if self.depth >= _DEPTH:
            return None
        self.depth += 1
        best: Match = None
        for rule in rules:
            found = rule(self, i)
            if found is not None and (best is None or found[1] > best[1]):
                best = found
        self.depth -= 1
        return best

    def bare_point(self, i: int) -> Match:
        """A period after an optional article."""
        return self.point(i) or (self.point(i + 1) if self.words[i] == "the" else None)

    # What may follow: a year, or a larger period

    def year_after(self, i: int) -> Match:
        """The year that completes a month, a day, a holiday: ", 2019", "of last year", "'87"."""
        words = self.words
        j, short = i, False
        if words[j] in (",", "of", "in", "/", "-"):
            short = words[j] == "of"
            j += 2 if (words[j], words[j + 1]) == (",", "in") else 1
        if words[j] == "the":
            j += 1
        if words[j] == "year":
            j += 2 if words[j + 1] == "of" else 1
        found = year(self.tokens, j, short)
        if found is not None:
            if j == i + 1 and words[i] in ("/", "-") and not self.tokens.joined(j):
                return None
            return year_number(found[0]), found[1]
        offset = MODIFIERS.get(words[j])
        if offset is not None and words[j + 1] == "year":
            return relative("year", offset), j + 2
        for phrase, years_away in _YEARS_BESIDE:
            if words[j - 1 : j + 2] == phrase:
                return relative("year", years_away), j + 2
        if (words[j], words[j - 1], words[j - 2]) == ("year", "the", "of"):
            return relative("year"), j + 1
        return None

    def container(self, i: int) -> Match:
        """The larger period of "the first week of ...", "the end of ...", "Q3 ..."."""
        words = self.words
        j = i + 1 if words[i] in ("of", "in", "for", "during", ",", "-") else i
        stated = j > i
        if words[j] in ("the", "my", "our"):
            determined = words[j] in ("the", "my")
            j += 1
        else:
            determined = False
        named = UNITS.get(words[j])
        if named in PERIODS and (determined or stated) and words[j + 1] != "of":
            if named == "year":
                found = year(self.tokens, j + 1)
                if found:
                    return year_number(found[0]), found[1]
            if words[j] == named and not words[j + 1].isdigit():
                return relative(named), j + 1
        found = year(self.tokens, j)
        if found is not None and (self.depth < _DEPTH):
            longer = self.point(j)
            if longer and longer[1] > found[1] and longer[0].unit != "day":
                return longer
            return year_number(found[0]), found[1]
        if words[j] in MONTHS:
            return month_only(self, j)
        return self.point(j)

    def parent(self, i: int) -> Match:
        """A container that is stated, by "of" or the like, or directly as a year or "next year"."""
        word = self.words[i]
        stated = word in ("of", "in", ",", "during", "for") or word in MODIFIERS or word.isdigit()
        stated = stated or word in MONTHS or word == "the"
        return self.container(i) if stated else None


def month_only(self: Points, i: int) -> Match:
    j = i + 1
    if self.words[j] == "." and self.tokens.joined(j) and len(self.words[i]) <= 4:
        j += 1
    month = inside(month_in_year(MONTHS[self.words[i]]))
    assert isinstance(month, Open)
    later = self.year_after(j)
    return (with_year(month, later[0]), later[1]) if later else (month, i + 1)


def vague() -> Meaning:
    return failed("vague", "range")

"""Slips that a speaker puts right at once: "I live in Paris, no wait, Lyon".

What was said first asserts nothing. The words after the marker may be a whole statement, one
without its subject, the right value alone, its number, or another date; each is tried, and one
counts only where it states the same attribute of the same subject otherwise. Where what was said
first is no statement yet ("I'm 30, sorry, 31 years old"), a number or a date at its end makes place
for the one that follows. The markers are data (``repairs`` and ``repairs_before_comma`` in the rule
files), and so are the number words (``numbers``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Literal

from memstream.processors.dates import find_dates
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
        number = rf"(?:\d+|{_alternatives(book.grammar('numbers'))})"
        if self._chinese:
            marker = (
                rf"(?:(?:{hesitation})[，,]?)*(?:(?:{alone})[，,。！!：:… ]*|(?:{paused})[，,…]+)"
            )
            self._pauses = tuple("，,；;—…")
            self._within = re.compile(rf"[，,；;—…]+ ?(?:{marker})+")
            self._at_start = re.compile(rf"(?:{marker})+")
            self._clear = re.compile(rf"(?:(?:{hesitation})[，,]?)*(?:{alone})")
            counted = rf"(?:{number})+[个只条位名岁台辆件本点]?"
            self._number = re.compile(counted)
            self._number_at_end = re.compile(rf"{counted}$")
            self._lead = re.compile(r"(?:应该|其实)?(?:就是|是)?")
            self._subjects = re.compile("[我你您他她它这那咱]")
            self._whose = re.compile(
                r"(?:那|这)?是(?:说)?(?P<who>我[^，,。！!是住在]{1,4})[。！!]*$"
            )
            self._speaker = re.compile("我")
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
            self._clear = re.compile(rf"(?:(?:{hesitation})[\s,]+)*(?:{alone})\b", re.IGNORECASE)
            self._number = re.compile(rf"\b{number}\b", re.IGNORECASE)
            self._number_at_end = re.compile(rf"\b{number}$", re.IGNORECASE)
            self._lead = re.compile(
                r"(?:i mean(?:t)?\b[, ]*)?(?:it(?:'s|’s| is)|that(?:'s|’s| is)|make that)?\s*"
                r"(?:(?:in|at|to|on|for|as|with|of|from|a|an|the|not)\s+)*",
                re.IGNORECASE,
            )
            self._whose = re.compile(
                r"((?:that|it)(?:['’]s| is| was) )?(?P<who>my (?:[a-z-]+ )?[a-z-]+)"
                r"(?(1)|(?: did| does| is| was| has| do))[.!]*$",
                re.IGNORECASE,
            )
            self._speaker = re.compile(r"\b(?:I(?:['’]m)?|We|we)\b")
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

    def is_clear(self, text: str) -> bool:
        """Whether the marker that opens the sentence can be nothing else, as "sorry" can."""
        return self._clear.match(text) is not None

    def readings(self, before: str, after: str, wrong: str) -> Iterator[str]:
        """The sentences that "before, no, after" may mean, where ``wrong`` is the value that
        stands in ``before``."""
        said = self._whose.match(after)
        if said is not None:
            yield self._speaker.sub(said["who"][0].upper() + said["who"][1:], before, count=1)
            return
        yield after
        yield ("我" if self._chinese else "I ") + after
        place = before.rfind(wrong)
        right = self._value_of(after)
        if self._chinese:
            right = _without_repeated(before[:place], right)
        if place < 0 or not wrong or not right or len(right) > LONGEST_VALUE:
            return
        article = _ARTICLE.match(wrong)
        if article is not None and _ARTICLE.match(right) is None:
            yield f"{before[:place]}{article.group()}{right}{before[place + len(wrong) :]}"
        if self._subjects.match(right) is None:
            whole = before[:place] + right + before[place + len(wrong) :]
            tail = after[after.find(right) + len(right) :]
            if any(each.isalnum() for each in tail):
                yield whole + tail
            yield whole
        number = self._number.fullmatch(right) and self._number.search(wrong)
        if number:
            begin, end = place + number.start(), place + number.end()
            yield before[:begin] + right + before[end:]

    def replaced_after(self, before: str, after: str, wrong: str) -> str | None:
        """The sentence with another value after the preposition that ``after`` repeats, where that
        is not the one before ``wrong``: "I moved from Paris to Berlin, sorry, from Lyon"."""
        lead = None if self._chinese else _PREPOSITION.match(after)
        right = "" if lead is None else self._value_of(after)
        if lead is None or not right or len(right) > LONGEST_VALUE:
            return None
        sign = f" {lead.group().strip().lower()} "
        place = before.lower().rfind(sign)
        if place < 0 or before.startswith(wrong, place + len(sign)):
            return None
        begin = place + len(sign)
        end = _NEXT_PREPOSITION.search(before, begin)
        return before[:begin] + right + before[end.start() if end else len(before) :]

    def _value_of(self, after: str) -> str:
        lead = self._lead.match(after)
        return _END.split(after[lead.end() if lead else 0 :])[0].strip()

    def redated(self, before: str, after: str, anchor: datetime | None) -> list[str] | None:
        """The sentences in which ``after`` is the last date, or its year; None where ``after`` is
        no date."""
        right = self._value_of(after)
        language: Literal["en", "zh"] = "zh" if self._chinese else "en"
        if not right or len(right) > LONGEST_VALUE or not _is_date(right, anchor, language):
            return None
        known = find_dates(before, anchor, language)
        if not known:
            return None
        wrong = known[-1]
        lead = _PREPOSITION.match(wrong.text)
        begin = wrong.start_char + (lead.end() if lead else 0)
        found = [before[:begin] + right + before[wrong.end_char :]]
        year = _YEAR.search(before, begin, wrong.end_char) if _YEAR.fullmatch(right) else None
        if year is not None:
            found.append(before[: year.start()] + right + before[year.end() :])
        return found

    def completed(self, before: str, after: str, anchor: datetime | None) -> str | None:
        """The one statement that both make where a number or a date at the end of ``before`` makes
        place for that at the beginning of ``after``; None where none does."""
        lead = self._lead.match(after)
        rest = after[lead.end() if lead else 0 :]
        end, begin = self._number_at_end.search(before), self._number.match(rest)
        if end is not None and begin is not None:
            return before[: end.start()] + rest
        language: Literal["en", "zh"] = "zh" if self._chinese else "en"
        wrong = [
            each
            for each in find_dates(before, anchor, language)
            if each.end_char == len(before) and not rest.startswith(each.text)
        ]
        if not wrong:
            return None
        lead = _PREPOSITION.match(wrong[0].text)
        text = before[: wrong[0].start_char + (lead.end() if lead else 0)] + rest
        there = {each.start_char for each in find_dates(text, anchor, language)}
        return text if wrong[0].start_char in there else None


_END = re.compile(r"[,.:](?!\d)|[;!?，。；：！？（(]")
"""Where a value ends; a sign within a number ("10:30") ends none."""
_ARTICLE = re.compile(r"(?:a|an|the)\s+", re.IGNORECASE)
_YEAR = re.compile(r"(?<!\d)(?:1[89]|20)\d\d(?!\d)年?")
_PREPOSITION = re.compile(r"(?:in|on|at|to|for|with|since|from|until|by|during)\s+", re.IGNORECASE)
_NEXT_PREPOSITION = re.compile(
    r"\s(?:in|on|at|to|for|with|as|since|from|and)\s|[,.;]", re.IGNORECASE
)


def _without_repeated(before: str, right: str) -> str:
    """The value without the words before the wrong one that it repeats: "在长沙，不对，在株洲"."""
    for length in (2, 1):
        if right[:length] == before[-length:] and len(right) > length:
            return right[length:]
    return right


def _is_date(text: str, anchor: datetime | None, language: Literal["en", "zh"]) -> bool:
    """Whether a text is one date and nothing else."""
    found = find_dates(text, anchor, language)
    return len(found) == 1 and (found[0].start_char, found[0].end_char) == (0, len(text))


def _alternatives(phrases: tuple[str, ...]) -> str:
    """A pattern for any of the phrases, the longest first; one that nothing matches for none."""
    ordered = sorted(phrases, key=lambda each: (-len(each), each))
    inner = "|".join(
        re.escape(each).replace("'", "['’]").replace(r"\ ", r",?\s+") for each in ordered
    )
    return inner or "(?!)"

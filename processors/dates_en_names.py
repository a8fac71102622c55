"""Months and weekdays that are somebody's name: "my daughter April", "a cat called Monday"."""

from __future__ import annotations

from memstream.processors.dates_en_words import MONTHS, WEEKDAYS, Tokens

_WHOSE = frozenset("my our his her their your".split())
_PEOPLE = frozenset(
    "daughter son wife husband sister brother mother mom mum father dad partner girlfriend"
    " boyfriend fiancee fiance friend niece nephew cousin aunt uncle granddaughter grandson"
    " stepdaughter stepson roommate flatmate colleague coworker boss baby girl boy".split()
)
_ANIMALS = frozenset("dog cat puppy kitten horse rabbit parrot hamster bird pony".split())
_NOT_BEHIND_NAMES = frozenset("to through till until morning afternoon evening night".split())
_OPENS = frozenset(
    ("", ".", ",", "!", "?", ";", "and", "but", "so", "because", "that", "when", "if")
)


def is_a_name(tokens: Tokens, at: int) -> bool:
    """Whether the single word at a token, read as a date, is a name. The day on which somebody does
    it stands behind the verb ("my sister called Monday"), a name before it."""
    words = tokens.words
    if at < 2 or not tokens.capital(at) or words[at] not in MONTHS.keys() | WEEKDAYS.keys():
        return False
    before, earlier = words[at - 1], words[max(0, at - 5) : at - 1]
    if before in ("called", "named"):
        return earlier[-1] in ("is", "s") or not {"a", "an"}.isdisjoint(earlier[-3:])
    if before in ("is", "s", "m", "am", "'m"):
        own = before != "is" and "i" in earlier[-2:] and words[at] in MONTHS
        return (own and not words[at + 1].isdigit()) or "name" in earlier[-3:]
    known = before in _ANIMALS or (before in _PEOPLE and words[at] in MONTHS)
    if not known or not words[at + 1].isalpha() or words[at + 1] in _NOT_BEHIND_NAMES:
        return False
    start = max((n for n, word in enumerate(words[:at]) if word in _WHOSE), default=-1)
    opens = start == 0 or (start > 0 and words[start - 1] in _OPENS)
    return opens and at - start <= 3 and words[at + 1] not in MONTHS

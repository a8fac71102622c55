"""Denials that are no denials: "I don't like coffee, I love it!"

Who denies one word of liking to use another one of the same thing means the second. Such a pair is
read as the one sentence that is meant, so the rules decide what it states. The words are data
(``words_of_liking`` in the rule files).
"""

from __future__ import annotations

import re

from memstream.processors.rules import Rulebook


class Emphases:
    """Finds them in one language."""

    def __init__(self, book: Rulebook) -> None:
        self._chinese = book.language == "zh"
        words = sorted(
            map(re.escape, book.grammar("words_of_liking")), key=lambda each: (-len(each), each)
        )
        liking = "|".join(words) or "(?!)"
        if self._chinese:
            self._form = re.compile(
                r"(?P<before>.*?我们?)(?:可|并|真|根本)?(?:不是|不只是|不仅仅?是|不光是|不)"
                rf"(?:{liking})(?P<value>[^，,。！!；;是]{{1,20}}?)"
                r"[，,。！!；;…— ]+(?:而|我们?|简直|根本)*是?(?:简直|超级|超|特别|非常)*"
                rf"(?P<stronger>{liking})(?:死了?)?(?:[它他她]们?|(?P=value))?了?"
                r"(?P<after>[，,。！!；;…].*)?$"
            )
        else:
            self._form = re.compile(
                r"(?P<before>.*?\b(?P<who>I|we)\s)do(?:n['’]t| not) "
                rf"(?:just |only |merely |simply )?(?:{liking}) (?P<value>[^,.;!?—–]{{1,60}}?)"
                r"\s*(?:[,.;!—–…-]+)\s*(?:(?:no|oh|actually|in fact)[, ]+)*(?P=who)\s"
                r"(?:really |absolutely |just |truly |totally |actually )*"
                rf"(?P<stronger>{liking}) (?:it|them|him|her)\b(?P<after>\W.*)?$",
                re.IGNORECASE | re.DOTALL,
            )

    def meant(self, text: str) -> str | None:
        """The sentence that is meant; None where nothing is denied to say more."""
        if self._chinese:
            likely = "不" in text
        else:
            likely = " do" in text and any(each in text for each in _OBJECTS)
        match = self._form.match(text) if likely else None
        if match is None:
            return None
        joint = "" if self._chinese else " "
        value = f"{match['stronger']}{joint}{match['value']}"
        return f"{match['before']}{value}{match['after'] or ''}"


_OBJECTS = (" it", " them", " him", " her")

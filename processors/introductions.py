"""Names that follow an introduction: "I have a dog. His name is Rex."

The name belongs to what the sentences just before brought in. Such a pair is read as the one
sentence that says both, so the rules decide what it means.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from memstream.processors.rules import Rulebook

REACH = 2
"""Sentences back in which what has the name may be introduced."""


class Introductions:
    """Finds introductions and the names that follow them, in one language."""

    def __init__(self, book: Rulebook) -> None:
        self._chinese = book.language == "zh"
        self._attributes = book.relations
        relations = "|".join(map(re.escape, sorted(book.relations, key=len, reverse=True)))
        self._naming = _NAMING_ZH if self._chinese else _NAMING_EN
        if self._chinese:
            self._introduced = [
                re.compile(
                    r"^我们?(?:家里?)?[^，,。？?想要没不打算如若希望]{0,6}?(?:有|养|领养|收养|买|捡)(?:了|着|过)?"
                    rf"[^，,。？?]{{0,8}}?(?P<relation>{relations})(?:了|啦|呢)?(?:[，,。！!~～]|$)"
                ),
                re.compile(rf"^我们?(?:家里?)?的?(?P<relation>{relations})(?!.*[有养]了?[一两])"),
            ]
        else:
            self._introduced = [
                re.compile(
                    r"^(?:(?:so|and|well|yes|oh|hi|hey|actually|also)[, ]+)*(?:I|we)(?:['’]ve)?\s+"
                    r"(?:(?:just|also|recently|have|got|own|adopted|bought|rescued|keep)\s+){1,3}"
                    r"(?:a|an|one|two|three|four|another)\s+(?:[\w-]+\s+){0,2}?"
                    rf"(?P<relation>{relations})s?\b(?!['’])",
                    re.IGNORECASE,
                ),
                re.compile(
                    rf"^(?:my|our)\s+(?:[\w-]+\s+){{0,2}}?(?P<relation>{relations})\b(?!['’])"
                    r"(?!.*\b(?:has|have|got)\s+(?:a|an|one|two|three)\b)",
                    re.IGNORECASE,
                ),
            ]

    def names(self, text: str) -> tuple[list[str], bool] | None:
        """The names that a sentence gives to something not named in it, and whether it calls it
        "it"; None where it gives none."""
        match = self._naming.match(text)
        if match is None:
            return None
        return re.split(r" and |, |[、和]", match["name"]), (match["who"] or "").lower() in (
            "it",
            "its",
            "它",
        )

    def relation(self, before: Sequence[str], *, thing: bool) -> str:
        """What the nearest of the sentences before introduced, as a relation to the speaker;
        empty where none did. ``thing``: it was called "it"."""
        for text in reversed(before[-REACH:]):
            if text.endswith(("?", "？")):
                continue
            for pattern in self._introduced:
                match = pattern.match(text)
                if match is not None:
                    relation = match["relation"].lower()
                    animal = self._attributes[relation] == "pet"
                    return relation if animal or not thing else ""
        return ""

    def readings(self, relation: str, name: str) -> tuple[str, ...]:
        """The sentences that say both, the fullest first."""
        if self._chinese:
            return (f"我养了一只叫{name}的{relation}。", f"我的{relation}叫{name}。")
        article = "an" if relation[0] in "aeiou" else "a"
        return (f"I have {article} {relation} named {name}.", f"My {relation} is called {name}.")


_NAMING_EN = re.compile(
    r"(?:(?:And|and|Oh|oh|So|so)[, ]+)?"
    r"(?:(?P<who>[Hh]is|[Hh]er|[Ii]ts|[Tt]heir|[Tt]he|[Hh]e|[Ss]he|[Ii]t|[Tt]hey|I|[Ww]e)?"
    r"(?:(?:['’]s|['’]re| is| are) (?:called|named)| ?[Nn]ames?(?:['’]s| is| are)"
    r"| (?:named|call|called) (?:him|her|it|them)) )"
    r"(?P<name>[A-Z][\w'’-]*(?:(?: and |, )[A-Z][\w'’-]*)*)[.!]*$"
)
_NAMING_ZH = re.compile(
    r"(?P<who>[它他她]们?)?(?:的?(?:名字|大名|小名)(?:就?是|就?叫)|就?名?叫(?:做|作)?|取名叫?|起名叫?)"
    r"(?P<name>[^，,。！!？?；;：:\s的得了吗呢个什么我你]{1,12})[。！!~～]*$"
)

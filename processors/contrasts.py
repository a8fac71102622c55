"""What is denied for something else: "not blue but green", 不是蓝色，而是绿色.

Such a sentence is read as the one that states the second and denies the first ("green, not blue"),
so the rules decide what it means.
"""

from __future__ import annotations

import re

from memstream.processors.rule_patterns import third_person
from memstream.processors.rules import Rulebook


class Contrasts:
    """Finds them in one language."""

    def __init__(self, book: Rulebook) -> None:
        self._chinese = book.language == "zh"

    def turned(self, text: str) -> str | None:
        """The sentence with what is so before what is not; None where nothing is set against it."""
        if self._chinese:
            allergy = "不是对" in text and "过敏" in text  # see ``denials``
            return _turned_zh(text) if "不是" in text and not allergy else None
        if "n't" not in text and "n’t" not in text and " not " not in text:
            return None
        return _turned_en(text)


_PRONOUNS = (
    r"(?:i|we|you|he|she|they|it|my|our|your|his|her|their|this|that|there|what|who|if|when|also|me|us"
    r"|only|just|even|merely|simply|always|necessarily|really|because|so|as|to)\b"
)
_WORDS_EN = r"[^\s,.;:!?]+(?: [^\s,.;:!?]+){0,5}?"
_END_EN = r"(?P<end>[.!]*)$"
_BE_EN = re.compile(
    r"(?P<before>.*?\b(?:is|are|am|['’]s|['’]m|['’]re))(?: not|n['’]t) "
    rf"(?P<wrong>{_WORDS_EN})(?:,? but(?: rather)?(?: (?:it|that)(?:['’]s| is))?"
    rf"|(?P<its>[,;] (?:it|that)(?:['’]s| is))) (?P<right>{_WORDS_EN}){_END_EN}",
    re.IGNORECASE,
)
_DO_EN = re.compile(
    r"(?P<before>.*?\b(?:I|we|they|(?P<other>he|she|(?:my|our) [\w ]{2,20}|[A-Z][a-z]+)))"
    r" (?:do|does)(?: not|n['’]t) (?P<verb>[a-z]+) "
    rf"(?P<wrong>{_WORDS_EN}),? but(?: rather)? (?P<right>{_WORDS_EN}){_END_EN}"
)
_AFTER_EN = re.compile(
    r"(?P<before>(?:I|[Ww]e|[Tt]hey|[Hh]e|[Ss]he|[Mm]y [\w ]{2,20}) [a-z]+) not "
    rf"(?P<wrong>{_WORDS_EN}),? but(?: rather)? (?P<right>{_WORDS_EN}){_END_EN}"
)
_NOT_THESE = re.compile(rf"(?:.* )?{_PRONOUNS}", re.IGNORECASE)


def _turned_en(text: str) -> str | None:
    for form in (_BE_EN, _DO_EN, _AFTER_EN):
        match = form.match(text)
        if match is None:
            continue
        wrong, right = match["wrong"], match["right"]
        if _NOT_THESE.match(right) or re.match(_PRONOUNS, wrong, re.IGNORECASE):
            return None
        before = match["before"]
        if form is _DO_EN:
            verb = match["verb"]
            before = f"{before} {third_person(verb) if match['other'] else verb}"
        if form is _BE_EN and match["its"] and re.search(r"\b(?:I|we)\b", before):
            return None
        return f"{before} {right}, not {wrong}{match['end']}"
    return None


_WORDS_ZH = r"[^，,。！!？?；;我你您他她它这那吗呢]{1,14}?"
_FORM_ZH = re.compile(
    rf"(?P<before>[^，,。！!？?；;]*?)不是(?P<wrong>(?![不没只光仅]){_WORDS_ZH})"
    rf"(?:[，,]?而是|[，,]是)(?P<right>(?![不没]){_WORDS_ZH})(?P<end>[。！!]*)$"
)
_VERBS_ZH = ("住在", "住", "在", "叫", "喜欢", "爱", "来自", "对", "用", "养", "开", "喝", "吃")


def _turned_zh(text: str) -> str | None:
    match = _FORM_ZH.match(text)
    if match is None or not match["before"]:
        return None
    right, wrong, before = match["right"], match["wrong"], match["before"]
    acts = any(right.startswith(each) and wrong.startswith(each) for each in _VERBS_ZH)
    if before.endswith("住的"):
        before, acts = f"{before[:-1]}在", True
    return f"{before}{'' if acts else '是'}{right}，不是{wrong}{match['end']}"

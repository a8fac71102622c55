"""Facts as sentences that need no context: third person, with what changed, why and when."""

from __future__ import annotations

from collections.abc import Mapping

from memstream.processors.statements import Fact
from memstream.schemas.attributes import Attributes


def worded(
    fact: Fact,
    attributes: Attributes,
    labels: Mapping[str, str],
    language: str,
    *,
    negative: bool,
    note: str,
) -> str:
    """The fact as one sentence that stands alone. ``note`` is its time in words, ``labels`` the
    rulebook's names for qualifiers."""
    said = fact.value if fact.rule.value == "time" else fact.spoken or fact.value
    spoken = _impersonal(said, language)
    subject = fact.subject
    qualifier = fact.qualifier
    if language == "zh":
        qualifier = next((own for own, one in labels.items() if one == qualifier), qualifier)
    if language == "en" and subject.startswith("the user's"):
        subject = "T" + subject[1:]
    rule = fact.rule
    template = rule.text_not if negative else rule.text
    if template and ("{previous}" not in template or fact.previous):
        who = {"en": "The user", "zh": "用户"}[language] if subject == "user" else subject
        text = (
            template.replace("{subject}", who)
            .replace("{value}", spoken)
            .replace("{species}", fact.species)
            .replace("{qualifier}", qualifier)
            .replace("{topic}", fact.topic)
            .replace("{previous}", _impersonal(fact.previous, language))
        )
        text += "." if language == "en" else "。"
    else:
        text = attributes.sentence(
            fact.attribute, subject, spoken, qualifier=qualifier, language=language,
            negative=negative,
        )  # fmt: skip
        if fact.previous:
            before = _impersonal(fact.previous, language)
            extra = f" (before: {before})" if language == "en" else f"（之前：{before}）"
            text = text[:-1] + extra + text[-1]
    if fact.reason:
        joint = " " if language == "en" else "，"
        text = text[:-1] + joint + _impersonal(fact.reason, language) + text[-1]
    if note:
        text = text[:-1] + (f" ({note})" if language == "en" else f"（{note}）") + text[-1]
    return text


_THIRD_PERSON_EN = {
    "my": "their", "our": "their", "me": "them", "us": "them", "myself": "themselves", "i": "they",
    "we": "they", "mine": "theirs", "i'm": "they are", "ourselves": "themselves", "i’m": "they are",
    "i've": "they have", "we've": "they have", "we're": "they are",
}  # fmt: skip


def _impersonal(words: str, language: str) -> str:
    """The speaker's words as someone else would say them: "my kids" -> "their kids"."""
    if language == "zh":
        return words.replace("我们", "自己").replace("我", "自己")
    return " ".join(_THIRD_PERSON_EN.get(word.lower(), word) for word in words.split(" "))

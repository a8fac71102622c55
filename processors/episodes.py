"""What no rule covered, as one free text per event: who said it, and when things took place."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain

import msgspec

from memstream.processors.clauses import skip
from memstream.processors.dates import DateSpan, find_dates
from memstream.processors.moments import annotated, occurred
from memstream.processors.repairs import Repairs
from memstream.processors.rule_files import Language
from memstream.processors.rules import Rulebook
from memstream.processors.sentences import Sentence, is_question, language_of
from memstream.processors.words import Words, split_words
from memstream.schemas.memories import Interval

_LABELS = {
    ("user", "en"): "The user",
    ("user", "zh"): "用户",
    ("assistant", "en"): "The assistant",
    ("assistant", "zh"): "助手",
    ("system", "en"): "The system",
    ("system", "zh"): "系统",
}


_FIRST_WORD = re.compile(r"[A-Za-z]+|[^\W_]")


class Remainder(msgspec.Struct, frozen=True, gc=False):
    """The sentences of one event that are kept as free text."""

    value: str
    text: str
    start: int
    end: int
    language: str
    occurred: Interval | None


def is_small_talk(sentence: str, book: Rulebook) -> bool:
    """Whether a sentence is nothing but greeting, thanks or filler."""
    if len(sentence) > 60:
        return False
    small_talk = book.phrase_list("small_talk")
    first = _FIRST_WORD.search(sentence)
    if first is not None and not small_talk.begins(first.group().lower()):
        return False
    pieces = sentence.split(None, 3)
    if len(pieces) == 4:
        # Its first two words mostly tell, and the rest need not be taken apart.
        two = split_words(book.language, " ".join(pieces[:3])).norm[:2]
        if two[0].isalnum() and not small_talk.begins_two(two[0], two[1]):
            return False
    return _is_all_small_talk(split_words(book.language, sentence), book)


def _is_all_small_talk(words: Words, book: Rulebook) -> bool:
    at = 0
    while at < len(words):
        after = skip(book, "small_talk", words, at)
        if after == at:
            if words.norm[at].isalnum() or words.norm[at].startswith("@"):
                return False
            after = at + 1
        at = after
    return True


def kept(
    found: Sequence[Sentence], left: Sequence[bool], books: Mapping[Language, Rulebook]
) -> list[bool]:
    """Which sentences to keep of those ``left`` over: what is worth it, and a question next to
    something that is. A text of questions and pleasantries alone is not kept."""
    asks = [is_question(sentence.text) for sentence in found]
    worth = [
        keep and not ask and not is_small_talk(sentence.text, books[language_of(sentence.text)])
        for sentence, keep, ask in zip(found, left, asks, strict=True)
    ]
    return [
        own or (left[at] and asks[at] and any(worth[max(0, at - 1) : at + 2]))
        for at, own in enumerate(worth)
    ]


def remainder(
    whole: str,
    found: Sequence[Sentence],
    keep: Sequence[bool],
    speaker: str,
    anchor: datetime | None,
    repairs: Mapping[Language, Repairs],
) -> Remainder | None:
    """The kept sentences as one text. None where nothing is kept.

    ``speaker`` is "user", "assistant", "system", or a name. Equal sentences are kept once. A date
    that is put right at once ("on Monday, sorry, Tuesday") is no time at which anything took place.
    """
    chosen: list[tuple[int, Sentence]] = []
    seen: set[str] = set()
    for at, sentence in enumerate(found):
        if keep[at] and sentence.text not in seen:
            seen.add(sentence.text)
            chosen.append((at, sentence))
    if not chosen:
        return None
    zone = UTC if anchor is None or anchor.tzinfo is None else anchor.tzinfo
    plain: list[str] = []
    dated: list[str] = []
    spans: list[Sequence[DateSpan]] = []
    before: tuple[int, Sentence] | None = None
    for at, sentence in chosen:
        joint = "" if before is None else _joint(whole, before, at, sentence)
        language = language_of(sentence.text)
        dates = [] if sentence.kind == "code" else find_dates(sentence.text, anchor, language)
        meant = repairs[language].redated_within(sentence.text, anchor) if dates else None
        said = sentence.text if meant is None else meant
        spans.append(_when(said, anchor, language) if dates else [])
        if dates and meant is None and before is not None and before[0] + 1 == at:
            earlier = before[1].text.rstrip(".。!！ ")
            meant = repairs[language].redated_after(earlier, sentence.text, anchor)
            if meant is not None:
                spans[-2:] = [_when(meant, anchor, language)]
        plain += [joint, sentence.text]
        dated += [joint, annotated(sentence.text, dates, zone, language)]
        before = (at, sentence)
    value = "".join(plain)
    language = language_of(value)
    label = _LABELS.get((speaker, language), speaker)
    text = f"{label}{': ' if language == 'en' else '：'}{''.join(dated)}"
    took_place = occurred([*chain.from_iterable(spans)])
    return Remainder(value, text, chosen[0][1].start, chosen[-1][1].end, language, took_place)


def _when(text: str, anchor: datetime | None, language: Language) -> list[DateSpan]:
    """The dates at which something took place: not the year in which somebody is of an age."""
    return [
        each
        for each in find_dates(text, anchor, language)
        if not (_AGE_ZH.match(text, each.end_char) and each.text in _THIS_YEAR)
        and not (_AGE_EN.search(text, 0, each.start_char) and each.text.lower() in _THIS_YEAR)
    ]


_THIS_YEAR = frozenset(("今年", "this year"))
_AGE_ZH = re.compile(
    r"(?:就|已经|已|刚|才|都|也|快|正好|满|要|该|有|了){0,3}[\d零一二两三四五六七八九十百]+(?:周?岁|个月大)"
)
_AGE_EN = re.compile(
    r"(?:\b(?:is|am|are|be)|['’](?:s|m|re))(?: now| already| just| only)*"
    r" (?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
    r"|\w+teen|\w+ty(?:-\w+)?)"
    r"(?: years?[ -]old| years? of age)? $",
    re.IGNORECASE,
)


def _joint(whole: str, before: tuple[int, Sentence], at: int, sentence: Sentence) -> str:
    if before[1].line != sentence.line:
        return "\n"
    if before[0] + 1 == at:
        between = whole[before[1].end : sentence.start]
        if not between.strip():
            return between
    return "" if language_of(sentence.text) == "zh" else " "

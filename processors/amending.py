"""Reads turns that do nothing but put the one before right: "Sorry, I meant Lyon", 说错了，是上海.

Here only what they say is read: the value, the value it replaces where that is said, and the
attributes it may be of, by the kinds of value that the rules ask for. Which claim is meant is found
in ``amendments``, when the turn before is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime

import msgspec

from memstream.processors.amendments import ANY
from memstream.processors.clauses import Speaker
from memstream.processors.dates import find_dates
from memstream.processors.repairs import is_date, without_dates
from memstream.processors.rewordings import meant_instead, taken_back_instead
from memstream.processors.rule_files import Language, Rule
from memstream.processors.rules import Rulebook
from memstream.processors.sentences import Sentence, language_of
from memstream.processors.sorts import FAVOURITE, Sorts
from memstream.processors.statements import Statements
from memstream.processors.values import read_values
from memstream.processors.wording import worded
from memstream.processors.words import split_words
from memstream.schemas.memories import Amended, Assertion

LONGEST = 120
"""Characters; a longer turn does more than put something right."""


class Amending(msgspec.Struct, frozen=True):
    """What a turn puts right: the value, the wrong one (empty where it is not said), and what the
    value may be of."""

    value: str
    wrong: str
    readings: tuple[Amended, ...]


class Amendments:
    """Finds them in both languages."""

    def __init__(self, statements: Mapping[Language, Statements]) -> None:
        self._statements = statements
        self._sorts = Sorts(each.book for each in statements.values())
        self._kinds = {language: _kinds_of(each.book) for language, each in statements.items()}

    def read(self, text: str, speaker: Speaker, anchor: datetime | None) -> Amending | None:
        """What a turn without a statement of its own puts right; None for most."""
        if len(text) > LONGEST:
            return None
        language = language_of(text)
        text = taken_back_instead(text, language) or meant_instead(text, language) or text
        said = self._statements[language].repairs.amendment(text)
        if said is None:
            return None
        right, wrong, clear = said
        named = language == "zh" and _CALLED_ZH.match(right)
        found = [] if named else list(self._stated(language, right, speaker, anchor))
        if clear and not any(each.attribute not in _COUNTED_ATTRIBUTES for each in found):
            at_a_time = is_date(right, anchor, language) or _CLOCK.fullmatch(right) is not None
            points = _POINTS[language].match(right) or f"the {right}".lower() in text.lower()
            if not points:
                found += self._bare(language, right, at_a_time=at_a_time)
        elif not found and not clear:  # "Sorry, Anna" may speak to her, "Sorry, Lyon" does not
            found += [each for each in self._bare(language, right, at_a_time=False) if each.known]
        if not found:
            return None
        return Amending(found[-1].value, wrong, tuple(found))

    def _stated(
        self, language: Language, right: str, speaker: Speaker, anchor: datetime | None
    ) -> Iterator[Amended]:
        """What the words state where only the subject is missing: 住在天津, "allergic to nuts"; or
        where they are a number or a date."""
        statements = self._statements[language]
        number = self._statements[language].repairs.is_number(right)
        clock = number or _CLOCK.fullmatch(right) is not None
        said = right[0].lower() + right[1:] if number else right
        for frame in _FRAMES[language]:
            if frame in _TIMED[language] and not clock:
                continue
            text = frame.replace(_HERE, said if frame in _COUNTED[language] else right)
            sentence = Sentence(0, len(text), text)
            facts = statements.read(sentence, speaker, anchor, correcting=False).facts
            if len(facts) != 1 or facts[0].negative or facts[0].qualifier:
                continue
            (fact,) = facts
            timed = frame in _TIMED[language]
            counted = timed or frame in _COUNTED[language]
            fits = timed or self._is_counted(language, right, anchor)
            if not fits if counted else fact.spoken == right:
                continue
            told = worded(
                fact, statements.attributes, statements.book.labels, language,
                negative=False, note="",
            )  # fmt: skip
            yield Amended(fact.attribute, fact.value, known=True, text=told)
            if not counted:
                return

    def _is_counted(self, language: Language, right: str, anchor: datetime | None) -> bool:
        """Whether a value is a number or a date, and nothing else."""
        return self._statements[language].repairs.is_number(right) or is_date(
            right, anchor, language
        )

    def _narrowed(self, attribute: str, kind: str, value: str, book: Rulebook) -> list[str]:
        """The attributes meant by one that stands for many, of which some do not admit a value."""
        if attribute != f"{FAVOURITE}{ANY}" or not self._sorts.of(value):
            return [attribute]
        topics = (book.labels.get(each, each) for each in book.lists.get("topic", ()))
        named = sorted({FAVOURITE + re.sub(r"[\s.-]+", "_", each) for each in topics})
        return [each for each in named if self._sorts.admits(each, kind, value)]

    def _bare(self, language: Language, right: str, *, at_a_time: bool) -> Iterator[Amended]:
        """What a value alone may be of, by its kind. A time is nothing else."""
        book = self._statements[language].book
        kinds = self._kinds[language]
        lead = _LEAD_ZH.match(right) if language == "zh" else None
        if lead is not None:
            right = right[lead.end() :]
            asked = _LED_ZH.get(lead["lead"], frozenset())
            kinds = [each for each in kinds if each[1] in asked]
        words = split_words(language, right)
        sure = _sure(words.norm, book)
        found: dict[str, Amended] = {}
        for attribute, kind, rule in kinds:
            if (kind in _CERTAIN and sure and kind != sure) or (at_a_time and kind != "time"):
                continue
            if not self._sorts.admits(attribute, kind, right):
                continue
            values = read_values(right, words, 0, len(words), kind, rule, book)
            if len(values) != 1 or values[0].end != len(right) or values[0].value not in right:
                continue
            known = kind in (sure, "pet")
            for each in self._narrowed(attribute, kind, right, book):
                if each not in found or known:
                    found[each] = Amended(each, values[0].value, known=known)
        for attribute in sorted(found):
            yield found[attribute]


def _sure(norm: list[str], book: Rulebook) -> str:
    """The kind of a value that can be of one kind only; empty where there is none."""
    if norm and book.phrase_list("places").length_at(norm, 0) == len(norm):
        return "place"
    if norm and book.phrase_list("jobs").length_before(norm, len(norm)):
        return "job"
    article = norm[:1] in (["a"], ["an"], ["the"])
    animal = norm[1:] if article else norm
    return "pet" if animal and book.phrase_list("pet").length_at(animal, 0) == len(animal) else ""


_POINTS: dict[Language, re.Pattern[str]] = {
    "en": re.compile(r"(?:the|this|that|these|those|it|other|another|page)\b", re.IGNORECASE),
    "zh": re.compile(r"[这那第另]|别的|其他|天气|我是说"),
}
"""What points at something names nothing."""
_CLOCK = re.compile(
    r"\d{1,2}(?::\d\d)? ?(?:[ap]\.?m\.?|o['’]clock)|\d{1,2}:\d\d"
    r"|(?:上午|下午|早上|晚上|中午|凌晨|夜里)?[\d一二三四五六七八九十两]{1,3}点(?:半|钟|[\d一二三四五六七八九十]{1,3}分?)?",
    re.IGNORECASE,
)
_CERTAIN = frozenset(("employer", "company", "firm", "name", "job", "place", "pet"))
"""Kinds of which a value that is surely of another kind is none."""
_HERE = "\N{WHITE SQUARE}"
_COUNTED_ATTRIBUTES = frozenset(("age", "birthday", "children", "wake_time", "sleep_time"))
_TIMED: dict[Language, tuple[str, ...]] = {
    "en": (f"I get up at {_HERE}.", f"I go to bed at {_HERE}."),
    "zh": (f"我{_HERE}起床。", f"我{_HERE}睡觉。"),
}
_KEPT = ("dogs", "cats")
_COUNTED: dict[Language, tuple[str, ...]] = {
    "en": (
        f"My birthday is {_HERE}.",
        f"I'm {_HERE} years old.",
        *(f"I have {_HERE} {each}." for each in ("kids", "children", "sons", "daughters", *_KEPT)),
    ),
    "zh": (
        f"我的生日是{_HERE}。",
        f"我今年{_HERE}岁。",
        f"我今年{_HERE}。",
        *(
            f"我有{_HERE}{each}。"
            for each in ("孩子", "儿子", "女儿", "个孩子", "个儿子", "个女儿")
        ),
    ),
}
_FRAMES: dict[Language, tuple[str, ...]] = {
    "en": (f"I {_HERE}.", f"I'm {_HERE}.", *_COUNTED["en"], *_TIMED["en"]),
    "zh": (f"我{_HERE}。", *_COUNTED["zh"], *_TIMED["zh"]),
}
_LEAD_ZH = re.compile(
    "(?P<lead>(?:名字)?叫做?|名叫|住在|来自|就职于|在(?!线)|对(?=.+过敏)|喜欢|当|做|养了?|搬到|姓)"
)
_CALLED_ZH = re.compile("(?:名字)?叫|名叫")
_LED_ZH: dict[str, frozenset[str]] = {
    **dict.fromkeys(("叫", "叫做", "名叫", "名字叫", "名字叫做"), frozenset(("name",))),
    "住在": frozenset(("place",)),
    "来自": frozenset(("place",)),
    "在": frozenset(("place", "employer", "school")),
    "当": frozenset(("job",)),
    "做": frozenset(("job",)),
}
"""The kinds of value that may follow a verb or preposition said again."""


def _kinds_of(book: Rulebook) -> list[tuple[str, str, Rule]]:
    """Every attribute with every kind of value it is read as, and a rule that does."""
    found: dict[tuple[str, str], Rule] = {}
    relations = sorted(set(book.relations.values()))
    for rule in book.rules:
        if rule.fixed or rule.polarity == "negative" or rule.dates == "value" or rule.project:
            continue
        if rule.negative == "needs" or not rule.attribute or rule.value in _ACTIONS:
            continue
        if rule.attribute == "job_title" and rule.value == "thing":
            continue
        named = [rule.attribute.replace("{topic}", ANY)]
        if rule.attribute == "{relation}":
            named = relations
        elif rule.attribute == "{topic}":
            details = [book.labels.get(each, each) for each in book.lists.get("detail", ())]
            named = [re.sub(r"[\s.-]+", "_", each) for each in details]
        for attribute in named:
            found.setdefault((attribute, rule.value), rule)
    return [(attribute, kind, rule) for (attribute, kind), rule in found.items()]


_ACTIONS = frozenset(("action", "habit", "former_habit", "sentence", "time", "number"))


def ends_turn(assertion: Assertion) -> bool:
    """Whether a claim's value is the last that its turn names, so that the next turn may put it
    right without saying what it is about."""
    whole = (assertion.context or assertion.quote).rstrip()
    if not assertion.value or not whole.endswith(assertion.quote):
        return False
    chinese = assertion.language == "zh"
    place = whole.lower().rfind(assertion.value.lower())
    rest = whole[place + len(assertion.value) :]
    if place < 0 and assertion.attribute in ("wake_time", "sleep_time"):
        return _CLOCK_AT_END.search(whole) is not None
    if place < 0:
        dates = find_dates(whole, assertion.observed_at, "zh" if chinese else "en")
        return bool(dates) and not _SIGNS.sub("", whole[dates[-1].end_char :])
    if chinese:
        return len(_SIGNS.sub("", rest)) <= _MOST_CHARACTERS
    words = without_dates(rest).split()
    named = assertion.value[:1].isupper() and _AIM.match(rest.strip())
    most = _MOST_WORDS_OF_AN_AIM if named else _MOST_WORDS
    return len(words) <= most and not any(each[:1].isupper() for each in words)


_CLOCK_AT_END = re.compile(
    r"\b\d{1,2}(?::\d\d)?(?: ?[ap]\.?m\.?| o['’]clock)?(?: (?:every|each) \w+)?\W*$"
    r"|[点半刻分](?:钟)?(?:起床|睡觉|起|睡|上床)?\W*$",
    re.IGNORECASE,
)
_SIGNS = re.compile(r"[\W_]")
_AIM = re.compile(r"(?:for|because|to|so) ", re.IGNORECASE)
"""What opens words behind a name that name nothing it could be taken for."""
_MOST_CHARACTERS, _MOST_WORDS, _MOST_WORDS_OF_AN_AIM = 4, 3, 8

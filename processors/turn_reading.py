"""One turn into the facts it states: its sentences together.

What a later sentence puts right, names, withdraws or calls a joke changes what the earlier ones
state; nothing outside the turn does.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime

import msgspec

from memstream.processors import elisions
from memstream.processors.announcements import announced, holds
from memstream.processors.clauses import Speaker
from memstream.processors.denials import denied
from memstream.processors.facts import CLOSES, CONTRARY, TITLED, WITH_IT, Fact
from memstream.processors.introductions import REACH
from memstream.processors.plans import kind_of
from memstream.processors.reports import is_reported
from memstream.processors.rule_files import Language
from memstream.processors.sentences import Sentence, language_of, reworded
from memstream.processors.statements import Statement, Statements
from memstream.schemas.attributes import Attributes

MOST_OF_ONE_SLOT = 32
"""Facts that one event may state of a slot that has one value."""


class TurnReading:
    """Reads the sentences of one turn with the rules of both languages."""

    def __init__(self, statements: Mapping[Language, Statements], attributes: Attributes) -> None:
        self._statements = statements
        self._attributes = attributes
        self._cities = frozenset(statements["zh"].book.lists.get("places", ()))

    def read(
        self,
        text: str,
        found: Sequence[Sentence],
        speaker: Speaker,
        anchor: datetime | None,
    ) -> tuple[list[tuple[Sentence, Fact]], list[bool]]:
        """The facts in the sentences, and for each sentence whether something of it is left."""
        read: dict[tuple[str, bool], Statement] = {}
        facts: list[tuple[Sentence, Fact]] = []
        left: list[bool] = []
        correcting = False
        others = announced(text)
        for at, sentence in enumerate(found):
            reported = is_reported(sentence.text, language_of(sentence.text))
            if sentence.kind != "said" or reported or holds(others, sentence.start):
                left.append(True)
                continue
            place = (sentence.text, correcting)
            if place in read:
                left.append(not read[place].covered)
                continue
            statement = self._statements[language_of(sentence.text)].read(
                sentence, speaker, anchor, correcting=correcting
            )
            if not statement.facts and not correcting:
                statement = self._elided(found, at, speaker, anchor) or statement
            read[place] = statement
            if facts and not statement.facts:
                statement = self._now_there(facts[-1][1], sentence, speaker, anchor) or statement
            if at and not statement.facts:
                before = [each.text for each in found[max(0, at - REACH) : at]]
                names = self._statements[language_of(sentence.text)].named(
                    sentence, before, speaker, anchor
                )
                if names:
                    facts += [(sentence, fact) for fact in names]
                    left.append(False)
                    continue
            slip = None
            if facts:
                slip = self._slip_before(facts, sentence, statement, speaker, anchor)
            if slip is not None:
                left.append(len(slip) < len(facts))
                facts = slip
                continue
            mended = facts
            if statement.meant is not None and not statement.facts:
                mended = self._mended(facts, *statement.meant)
            left.append(not statement.covered and mended == facts)
            facts = mended
            if statement.facts and (correcting or _TAKES_BACK.match(sentence.text)):
                facts = mended = self._without_slots_of(mended, statement.facts)
            if statement.facts:
                facts = mended + [(sentence, fact) for fact in statement.facts]
            correcting = statement.corrects and not statement.facts
        stated = self._without_fiction(text, found, facts, left) if facts else []
        stated = _without_taken_back(_without_doubtful_ends(stated, found))
        needed = self._without_ends_before_it(_without_needless_ends(_without_untitled(stated)))
        unread = {each.start for each, _ in stated} - {each.start for each, _ in needed}
        left = [own or each.start in unread for own, each in zip(left, found, strict=True)]
        return self._last_of_each_slot(
            _with_districts(_with_what_it_replaces(needed), self._cities), found, left
        ), left

    def _elided(
        self, found: Sequence[Sentence], at: int, speaker: Speaker, anchor: datetime | None
    ) -> Statement | None:
        """What a sentence states that leaves out the speaker as its subject, at the beginning of a
        turn or after one that is about the speaker. None where it states anything else too."""
        sentence = found[at]
        language = language_of(sentence.text)
        text = elisions.elided(sentence.text, language)
        if text is None or sentence.quotes:
            return None
        if at and not elisions.of_the_speaker(found[at - 1].text, language):
            return None
        said = self._statements[language].read(
            reworded(sentence, text), speaker, anchor, correcting=False
        )
        own = all(fact.subject == speaker.name for fact in said.facts)
        if not (said.facts and own):
            return None
        opening = None if said.covered else elisions.opening(text, language)
        if opening is not None:
            first = self._statements[language].read(
                reworded(sentence, opening), speaker, anchor, correcting=False
            )
            if not (first.facts and first.covered):
                return None
        elif not said.covered:
            return None
        end = len(sentence.text)
        facts = tuple(msgspec.structs.replace(each, start=0, end=end) for each in said.facts)
        return msgspec.structs.replace(said, facts=facts)

    def _now_there(
        self, left: Fact, sentence: Sentence, speaker: Speaker, anchor: datetime | None
    ) -> Statement | None:
        """A home by "I'm in Lyon now", behind the one that was left: "I moved out of Paris." """
        if (left.attribute, left.negative, left.subject) != ("residence", True, speaker.name):
            return None
        there = _THERE.match(sentence.text)
        if there is None:
            return None
        text = f"I live in {there['where']}{there['rest']}"
        said = self._statements["en"].read(
            reworded(sentence, text), speaker, anchor, correcting=False
        )
        end = len(sentence.text)
        facts = tuple(msgspec.structs.replace(each, start=0, end=end) for each in said.facts)
        return msgspec.structs.replace(said, facts=facts) if facts else None

    def _without_slots_of(
        self, facts: list[tuple[Sentence, Fact]], right: Sequence[Fact]
    ) -> list[tuple[Sentence, Fact]]:
        """The facts without those in whose slots a correction puts what is right."""
        slots = {
            (fact.subject, fact.attribute)
            for fact in right
            if self._attributes.get(fact.attribute).cardinality == "one"
        }
        return [each for each in facts if (each[1].subject, each[1].attribute) not in slots]

    def _slip_before(
        self,
        facts: list[tuple[Sentence, Fact]],
        sentence: Sentence,
        statement: Statement,
        speaker: Speaker,
        anchor: datetime | None,
    ) -> list[tuple[Sentence, Fact]] | None:
        """The facts with the last one put right by this sentence: "No wait, Lyon." """
        statements = self._statements[language_of(sentence.text)]
        before, wrong = facts[-1]
        after = statements.repairs.at_start(sentence.text)
        if after is None:
            return self._meant_more(facts, sentence, speaker, anchor)
        if language_of(before.text) != language_of(sentence.text):
            return None
        many = self._attributes.get(wrong.attribute).cardinality == "many"
        if statement.facts and many and not statements.repairs.is_clear(sentence.text):
            return None
        known = [fact for each, fact in facts if each is before]
        right = statements.repaired(
            before, before.text.rstrip(".。!！ "), after, known, speaker, anchor
        )
        if right is None and statements.repairs.only_past(before.text, after):
            return facts[:-1]
        if right is None:
            return None
        kept = [(each, fact) for each, fact in facts if each is not before]
        return kept + [(before, fact) for fact in right.facts]

    def _mended(
        self, facts: list[tuple[Sentence, Fact]], right: str, wrong: str
    ) -> list[tuple[Sentence, Fact]]:
        """The facts with a slip of the same turn put right: "I meant Oslo, not Bergen"."""
        if not wrong and len(facts) != 1:
            return facts
        return [
            (sentence, msgspec.structs.replace(fact, value=right, spoken=right))
            if (
                fact.value.lower() == wrong.lower()
                if wrong
                else self._is_right(sentence, fact, right)
            )
            else (sentence, fact)
            for sentence, fact in facts
        ]

    def _is_right(self, before: Sentence, fact: Fact, right: str) -> bool:
        repairs = self._statements[language_of(before.text)].repairs
        return repairs.may_replace(before.text.rstrip(".。!！ "), fact.spoken, right)

    def _meant_more(
        self,
        facts: list[tuple[Sentence, Fact]],
        sentence: Sentence,
        speaker: Speaker,
        anchor: datetime | None,
    ) -> list[tuple[Sentence, Fact]] | None:
        """The facts where this sentence says more than the one before denied: "I don't like tea.
        I love it!"."""
        before, denied = facts[-1]
        if not (denied.negative or denied.rule.id.endswith(CONTRARY)):
            return None
        statements = self._statements[language_of(sentence.text)]
        meant = statements.emphases.meant(f"{before.text} {sentence.text}")
        if meant is None:
            return None
        said = statements.read(reworded(before, meant), speaker, anchor, correcting=False)
        end = len(before.text)
        right = [msgspec.structs.replace(each, end=min(each.end, end)) for each in said.facts]
        kept = [each for each in facts if each[0] is not before]
        return [*kept, *((before, fact) for fact in right)] if right else None

    def _without_fiction(
        self,
        text: str,
        found: Sequence[Sentence],
        facts: list[tuple[Sentence, Fact]],
        left: list[bool],
    ) -> list[tuple[Sentence, Fact]]:
        """The facts that are meant: none after a story or a role was announced, none in or
        before a sentence that says it was a joke."""
        lower = text.lower()
        dead: set[int] = set()
        for statements in self._statements.values():
            match = statements.fiction.search(lower)
            if match is not None and len(lower) == len(text):
                dead |= {at for at, each in enumerate(found) if each.end > match.start()}
            for at, sentence in enumerate(found):
                if statements.jokes.search(sentence.text.lower()):
                    dead |= {at - 1, at} if at else {0, 1}
        if not dead:
            return facts
        dead &= set(range(len(found)))
        starts = {found[at].start for at in dead}
        for at in dead:
            left[at] = True
        return [  # what denies an earlier joke is meant
            (sentence, fact)
            for sentence, fact in facts
            if sentence.start not in starts
            or (fact.withdraws and denied(sentence.text, language_of(sentence.text)))
        ]

    def _without_ends_before_it(
        self, facts: list[tuple[Sentence, Fact]]
    ) -> list[tuple[Sentence, Fact]]:
        """Without what ends an unnamed value that the same turn has told to be a new one: "I joined
        X. I quit my job last month." Where there may be many, it ends those of before: "I bought
        a Volvo and sold my car"."""
        kept: list[tuple[Sentence, Fact]] = []
        for sentence, fact in facts:
            new = _newer_than(fact, kept) if fact.negative and not fact.value else None
            if new is None:
                kept.append((sentence, fact))
            elif self._attributes.get(fact.attribute).cardinality == "many":
                kept.insert(new, (sentence, fact))
        return kept

    def _last_of_each_slot(
        self,
        facts: list[tuple[Sentence, Fact]],
        found: Sequence[Sentence],
        left: list[bool],
    ) -> list[tuple[Sentence, Fact]]:
        """At most the last ``MOST_OF_ONE_SLOT`` facts of a slot that has one value; the sentences
        of the others stay in the episode. A slot's timeline is made anew for each fact, so a turn
        of a thousand homes would cost a million steps."""
        if len(facts) <= MOST_OF_ONE_SLOT:
            return facts
        counts: Counter[tuple[str, str, str]] = Counter()
        chosen: list[tuple[Sentence, Fact]] = []
        dropped: set[int] = set()
        for sentence, fact in reversed(facts):
            slot = (fact.subject, fact.attribute, fact.qualifier)
            counts[slot] += self._attributes.get(fact.attribute).cardinality == "one"
            if counts[slot] > MOST_OF_ONE_SLOT:
                dropped.add(sentence.start)
            else:
                chosen.append((sentence, fact))
        for at, sentence in enumerate(found):
            left[at] = left[at] or sentence.start in dropped
        return chosen[::-1]


_THERE = re.compile(
    r"I(?:['’]m| am)(?: now| currently)? in (?P<where>[A-Z][\w’' -]*?)(?P<rest>(?: now)?[.!]*)$"
)
_TAKES_BACK = re.compile(
    r"(?:(?:well|oh|no|hmm|sorry)[, ]+)*actually,? (?!.*\b(?:also|too|both)\b)"
    r"|(?:其实|实际上)(?!.*[也还])",
    re.IGNORECASE,
)
"""What opens a sentence that puts right what was said before it."""


def _without_needless_ends(
    facts: list[tuple[Sentence, Fact]],
) -> list[tuple[Sentence, Fact]]:
    """Without what would end with another value, where the turn states it or another such value:
    "I left Lego, I'm a baker at Volvo" ends no title."""
    if not any(_goes_with(fact) for _, fact in facts):
        return facts
    ending = {fact.rule.id.removesuffix(WITH_IT) for _, fact in facts if _goes_with(fact)}
    slots = {(fact.subject, fact.attribute) for _, fact in facts if fact.rule.id in ending}
    held = {
        fact.subject
        for _, fact in facts
        if not fact.negative
        and (
            (fact.subject, fact.attribute) in slots
            or any(
                _goes_with(each)
                and (each.subject, each.attribute) == (fact.subject, fact.attribute)
                for _, each in facts
            )
        )
    }
    return [each for each in facts if not (_goes_with(each[1]) and each[1].subject in held)]


def _without_doubtful_ends(
    facts: list[tuple[Sentence, Fact]], found: Sequence[Sentence]
) -> list[tuple[Sentence, Fact]]:
    """Without what ends something in words that could speak of anything ("I quit"), where the turn
    says more than that and does not state what it ends."""
    if not any(fact.rule.alone for _, fact in facts):
        return facts
    stated = {(fact.subject, fact.attribute) for _, fact in facts if not fact.negative}
    ended = {
        (fact.subject, each) for _, fact in facts if fact.rule.alone for each in fact.rule.ends
    }
    sure = bool(stated & ended)
    return [
        (sentence, fact)
        for sentence, fact in facts
        if not fact.rule.alone or sure or (len(found) == 1 and _says_no_more(sentence, fact))
    ]


def _without_untitled(facts: list[tuple[Sentence, Fact]]) -> list[tuple[Sentence, Fact]]:
    """Without jobs that only somebody's title shows to be any: "First day at Camp Alder" may tell
    of a holiday, but not with "I'm a cook there"."""
    titled = {
        fact.subject for _, fact in facts if fact.attribute == "job_title" and not fact.negative
    }
    return [
        each for each in facts if each[1].subject in titled or not each[1].rule.id.endswith(TITLED)
    ]


def _says_no_more(sentence: Sentence, fact: Fact) -> bool:
    """Whether a sentence says nothing but a fact, up to when it was and two small words."""
    dates = [range(each.start_char, each.end_char) for each in fact.dates]
    around = "".join(
        " " if fact.start <= at < fact.end or any(at in each for each in dates) else sign
        for at, sign in enumerate(sentence.text)
    )
    left = around.split()
    return sum(map(len, left)) <= 4 if language_of(sentence.text) == "zh" else len(left) <= 2


def _goes_with(fact: Fact) -> bool:
    return fact.rule.yields or (not fact.value and fact.rule.id.endswith(WITH_IT))


def _newer_than(end: Fact, before: list[tuple[Sentence, Fact]]) -> int | None:
    """Where in a turn something new was told, before an end that cannot speak of it."""
    return next(
        (
            at
            for at, (sentence, fact) in enumerate(before)
            if (fact.subject, fact.attribute) == (end.subject, end.attribute)
            and not fact.negative
            and (not end.previous or kind_of(fact.value) == end.previous)
            and (fact.rule.tense == "change" or _NEW.search(sentence.text))
        ),
        None,
    )


_NEW = re.compile(r"\bnow\b|现在|目前")


def _with_what_it_replaces(
    facts: list[tuple[Sentence, Fact]],
) -> list[tuple[Sentence, Fact]]:
    """The facts, where a change names what it ends and another what begins in its place ("I quit X
    and joined Y"), with that as the value before."""
    left = {
        (fact.subject, fact.attribute): fact.value
        for _, fact in facts
        if fact.negative
        and fact.value
        and fact.rule.tense == "change"
        and not (_goes_with(fact) or fact.rule.id.endswith(CLOSES))
    }
    return (
        [
            (sentence, msgspec.structs.replace(fact, previous=before))
            if not fact.negative
            and fact.rule.tense == "change"
            and not fact.previous
            and (before := left.get((fact.subject, fact.attribute), ""))
            else (sentence, fact)
            for sentence, fact in facts
        ]
        if left
        else facts
    )


def _with_districts(
    facts: list[tuple[Sentence, Fact]], cities: AbstractSet[str]
) -> list[tuple[Sentence, Fact]]:
    """The facts, where a district that is told beside its city belongs to that home and is none of
    its own: 我搬到北京了，住在朝阳区. One that does not call itself a district must be told in the
    same sentence."""
    kept: list[tuple[Sentence, Fact]] = []
    for sentence, fact in facts:
        at = next(
            (
                at
                for at, (where, each) in enumerate(kept)
                if _may_be_city_of(each, fact)
                and (_is_district(each, fact) or (where == sentence and _is_in(each, fact, cities)))
            ),
            -1,
        )
        if at < 0:
            kept.append((sentence, fact))
            continue
        city = kept[at][1]
        home = f"{city.value}{fact.value}"
        spoken = city.spoken.replace(city.value, home)
        kept[at] = kept[at][0], msgspec.structs.replace(city, value=home, spoken=spoken)
    return kept


def _may_be_city_of(city: Fact, district: Fact) -> bool:
    """Whether two homes of one turn may be a city and a district in it."""
    return (
        city.attribute == district.attribute == "residence"
        and city.subject == district.subject
        and not (city.negative or district.negative or city.beside or district.beside)
        and not (city.former or district.former or city.qualifier or district.qualifier)
        and district.rule.tense == "present"
        and city.value not in district.value
        and not city.value.isascii()
    )


def _is_district(city: Fact, district: Fact) -> bool:
    return _DISTRICT.search(district.value) is not None and _DISTRICT.search(city.value) is None


def _is_in(city: Fact, district: Fact, cities: AbstractSet[str]) -> bool:
    """Whether a home is in the city where the same sentence says that somebody moved."""
    moved = city.rule.tense == "change" and city.value in cities
    return moved and district.value not in cities and len(district.value) <= _LONGEST_DISTRICT


_LONGEST_DISTRICT = 4
_DISTRICT = re.compile(r"^.{0,2}[^社小郊市山城地片]区$")
"""A district by its name alone: 朝阳区, and not 上海浦东新区."""


def _without_taken_back(
    facts: list[tuple[Sentence, Fact]],
) -> list[tuple[Sentence, Fact]]:
    """Without facts that a later sentence of the same turn withdraws."""
    taken = {
        (fact.subject, fact.attribute, fact.value.lower()): at
        for at, (_, fact) in enumerate(facts)
        if fact.withdraws
    }
    if not taken:
        return facts
    return [
        (sentence, fact)
        for at, (sentence, fact) in enumerate(facts)
        if fact.withdraws or at > taken.get((fact.subject, fact.attribute, fact.value.lower()), -1)
    ]

"""One sentence into the facts it states: clauses, rules and values put together.

Facts are what a rule read, before they become assertions: nothing here knows an event.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

import msgspec

from memstream.processors import aspects, habits, rewordings
from memstream.processors.animals import Animals
from memstream.processors.casing import with_names
from memstream.processors.clause_reading import IN_PASSING, Forms, SentenceReading
from memstream.processors.clauses import Speaker
from memstream.processors.contrasts import Contrasts
from memstream.processors.emphases import Emphases
from memstream.processors.facts import Fact
from memstream.processors.introductions import Introductions
from memstream.processors.plans import is_kind
from memstream.processors.repairs import Repairs
from memstream.processors.rule_files import InvalidRule
from memstream.processors.rules import Rulebook, spoken
from memstream.processors.sentence_patterns import (
    INTRODUCED_EN,
    MEANT_EN,
    MEANT_ZH,
    MEANT_ZH_ALONE,
    AnyPhrase,
    introduced_zh,
    named_group,
    named_relation,
    named_relation_zh,
)
from memstream.processors.sentences import Sentence, reworded
from memstream.processors.values import VALUE_KINDS
from memstream.processors.words import split_words
from memstream.schemas.attributes import Attributes

__all__ = ["Fact", "Statement", "Statements"]


class Statement(msgspec.Struct, frozen=True, gc=False):
    """What one sentence states. ``covered``: its facts say all of it. ``corrects``: it announces
    a correction. ``meant``: (right, wrong) of "I meant X, not Y"."""

    facts: tuple[Fact, ...] = ()
    covered: bool = False
    corrects: bool = False
    meant: tuple[str, str] | None = None


class Statements:
    """Reads sentences of one language with the rules of its rulebook."""

    def __init__(self, book: Rulebook, attributes: Attributes) -> None:
        self.book = book
        for rule, kind in book.kinds():
            if kind not in VALUE_KINDS and not kind.startswith("<"):
                known = ", ".join(sorted(VALUE_KINDS))
                raise InvalidRule(
                    f"rule {rule.id}: {kind!r} is no kind of value; known: {known}, <list>"
                )
        for rule in book.rules:
            ended = [*rule.ends, *(each for each, values in rule.ends_too.items() if "" in values)]
            ended += [each for closed in rule.closes.values() for each in closed]
            many = [
                each
                for each in ended
                if not (is_kind(each) or attributes.get(each).can_end_unnamed)
            ]
            if many or (rule.ends and rule.attribute):
                raise InvalidRule(
                    f"rule {rule.id}: 'ends' stands in place of 'attribute', and it, 'closes' and "
                    f"the empty values of 'ends_too' are for attributes of one value or "
                    f"'together'; mend: take out "
                    f"{', '.join(many) or 'attribute'}"
                )
        self.attributes = attributes
        relations = "|".join(sorted(map(re.escape, book.relations), key=len, reverse=True))
        english = book.declares("relation_adjectives")
        plural = [each for each in book.relations if each.endswith(("s", "children"))]
        self._named = named_relation(relations) if english else None
        self._group = named_group(plural) if english else None
        self._named_zh = None if english else named_relation_zh(book)
        self._related = frozenset(max(spoken(each), key=len) for each in book.relations if english)
        corrections = book.grammar("corrections")
        self._correction = AnyPhrase(corrections, book.language)
        self.fiction = AnyPhrase(book.grammar("fiction"), book.language)
        self.jokes = AnyPhrase(book.grammar("jokes"), book.language)
        self.claims = AnyPhrase(book.grammar("second_person_claims"), book.language)
        self._introduced = INTRODUCED_EN if book.language == "en" else introduced_zh(book)
        self._forms = Forms(
            book, attributes, self._introduced, self._named, self._group, Animals(book),
            next((each.text for each in book.rules if "{species}" in each.text), ""),
            next((each.text for each in book.rules if each.attribute == "{relation}"), ""),
            frozenset(plural),
        )  # fmt: skip
        self.repairs = Repairs(book)
        self.introductions = Introductions(book)
        self.emphases = Emphases(book)
        self.contrasts = Contrasts(book)
        self._meant = (MEANT_EN,) if book.language == "en" else (MEANT_ZH, MEANT_ZH_ALONE)

    def read(
        self, sentence: Sentence, speaker: Speaker, anchor: datetime | None, *, correcting: bool
    ) -> Statement:
        """The facts of a sentence. ``correcting``: the sentence before announced a correction."""
        sentence = self._with_names(sentence)
        mended = self._forms.animals.mended(sentence.text, speaker.name, self._forms.pet_named)
        if mended and not sentence.quotes:
            return Statement(tuple(mended))
        emphatic = self.emphases.meant(sentence.text)
        if emphatic is not None:
            return self._read(reworded(sentence, emphatic), speaker, anchor, correcting)
        text = sentence.text
        instead = self.repairs.named_instead(text) or self.contrasts.turned(text)
        instead = instead or self.introductions.turned_round(text)
        instead = instead or rewordings.plainly(text, self.book.language)
        instead = instead or habits.plainly(text, self.book)
        if instead is not None:
            return self._read(reworded(sentence, instead), speaker, anchor, correcting)
        also = self.introductions.told_within(text)
        if also is not None:
            first, second = (
                self._read(reworded(sentence, each), speaker, anchor, correcting) for each in also
            )
            if second.facts:
                end = len(text)
                more = [msgspec.structs.replace(e, start=0, end=end) for e in second.facts]
                return Statement((*first.facts, *more), first.covered and second.covered)
        slip = self.repairs.within(sentence.text)
        if slip is not None:
            before, after = slip
            said = self._read(reworded(sentence, before), speaker, anchor, correcting)
            right = self.repaired(sentence, before, after, said.facts, speaker, anchor)
            if right is not None:
                return right
            if said.facts and self.repairs.only_past(before, after):
                return Statement(said.facts[:-1])
        named = self.repairs.renamed(sentence.text)
        if named is not None:
            said = self._read(reworded(sentence, named[0]), speaker, anchor, correcting)
            if said.facts and self.repairs.is_name(said.facts[-1].attribute):
                right = self.repaired(sentence, *named, said.facts, speaker, anchor)
                if right is not None:
                    return right
        return self._read(sentence, speaker, anchor, correcting)

    def repaired(
        self,
        sentence: Sentence,
        before: str,
        after: str,
        facts: Sequence[Fact],
        speaker: Speaker,
        anchor: datetime | None,
    ) -> Statement | None:
        """What "before, no, after" states, where ``facts`` are those of ``before``: the last of
        them asserts nothing. None where ``after`` puts none of it right."""

        def read(text: str) -> Statement:
            return self._read(reworded(sentence, text), speaker, anchor, correcting=False)

        if not facts:
            text = self.repairs.completed(before, after, anchor)
            whole = None if text is None else read(text)
            return whole if whole is not None and whole.facts else None
        facts = sorted(
            facts, key=lambda each: before.rfind(each.spoken) if each.spoken else each.end
        )
        wrong = facts[-1]
        elsewhere = self.repairs.replaced_after(before, after, wrong.spoken)
        meant = None if elsewhere is None else read(elsewhere)
        if meant is not None and [_slot(each) for each in meant.facts] == [
            _slot(each) for each in facts
        ]:
            return meant
        dated = self.repairs.redated(before, after, anchor)
        for text in self.repairs.readings(before, after, wrong.spoken) if dated is None else ():
            meant = read(text)
            right = [
                each
                for each in meant.facts
                if _is_otherwise(each, wrong)
                or (each.value == wrong.value and _takes_back(each, wrong))
            ]
            if right:
                known = {_slot(each) for each in facts}
                right += [
                    each for each in meant.facts if _slot(each) not in known | {_slot(right[0])}
                ]
                return self._mended(sentence, facts, right, covered=meant.covered)
        for text in dated or ():
            meant = read(text)
            same = [each for each in meant.facts if each.attribute == wrong.attribute]
            if any((each.dates, each.value) != (wrong.dates, wrong.value) for each in same):
                return self._mended(sentence, facts, same, covered=meant.covered)
        if dated is not None:
            return None
        other = read(after)
        if any(_takes_back(each, wrong) for each in other.facts):
            return self._mended(sentence, facts, list(other.facts), covered=other.covered)
        return None

    def _mended(
        self, sentence: Sentence, facts: Sequence[Fact], right: Sequence[Fact], *, covered: bool
    ) -> Statement:
        """The facts with the last one, and what it went with in its slot, replaced."""
        wrong = facts[-1]
        one = self.attributes.get(wrong.attribute).cardinality == "one"
        slot = (wrong.attribute, wrong.subject)
        left = [
            each
            for each in facts[:-1]
            if (not one or (each.attribute, each.subject) != slot) and not _is_same(each, right)
        ]
        placed = [
            msgspec.structs.replace(each, start=wrong.start, end=len(sentence.text))
            for each in right
        ]
        return Statement((*left, *placed), covered)

    def named(
        self,
        sentence: Sentence,
        before: Sequence[str],
        speaker: Speaker,
        anchor: datetime | None,
    ) -> tuple[Fact, ...]:
        """The names that a sentence gives to what the ones before it introduced, or what it says of
        him or her."""
        sentence = self._with_names(sentence)
        naming = self.introductions.naming(sentence.text)
        if naming is None:
            told = self.introductions.told_of(sentence.text, before)
            if told is None:
                return ()
            said = self._read(reworded(sentence, told), speaker, anchor, correcting=False)
            end = len(sentence.text)
            return tuple(msgspec.structs.replace(each, start=0, end=end) for each in said.facts)
        relations = self.introductions.relations(before, naming)
        one = len(set(relations)) == 1
        found: list[Fact] = []
        for relation, name in zip(relations, naming.names, strict=False):
            for text in self.introductions.readings(relation, name, one=one):
                said = self._read(reworded(sentence, text), speaker, None, correcting=False)
                facts = [each for each in said.facts if each.value == name]
                if facts:
                    found += facts
                    break
        if found and naming.rest and len(naming.names) == 1:
            text = self.introductions.continued(relations[0], naming.rest)
            found += self._read(reworded(sentence, text), speaker, anchor, correcting=False).facts
        return tuple(
            msgspec.structs.replace(each, start=0, end=len(sentence.text)) for each in found
        )

    def _read(
        self, sentence: Sentence, speaker: Speaker, anchor: datetime | None, correcting: bool
    ) -> Statement:
        text, book = sentence.text, self.book
        lower = text.lower()
        triggers = book.triggers(text, lower)
        named = self._names_in_passing(text)
        corrects = self._correction.search(lower) is not None
        meant = self._what_was_meant(text) if corrects else None
        introduced = self._introduced.match(text) is not None
        parted = self._forms.animals.parted(text)
        if not (triggers or named or introduced or parted):
            return Statement(corrects=corrects, meant=meant)
        words = split_words(book.language, text)
        triggers = book.possible(triggers, words.norm)
        if not (triggers or named or introduced or parted):
            return Statement(corrects=corrects, meant=meant)
        reading = SentenceReading(self._forms, sentence, speaker, anchor, words, correcting)
        facts: list[Fact] = []
        covered = True
        for index, clause in enumerate(reading.clauses):
            found = reading.facts_of(clause, index, triggers)
            facts.extend(found)
            covered = covered and (clause.filler or reading.is_covered(clause, found))
        if book.language == "zh" and (facts or named):
            facts.extend(reading.named_before_verbs(facts))
        elif named:
            facts.extend(reading.relations(facts))
        facts = reading.animals(facts)
        if parted:
            gone = reading.parted(parted)
            facts = [each for each in facts if not _is_same(each, gone)] + gone
        facts += self._forms.animals.of_a_kind(facts)
        if introduced:
            facts.extend(reading.introduction(facts))
            covered = covered or (bool(facts) and _says_no_more(text, facts))
        together = [each for each in facts if not _has_parted(each, text, book.language, facts)]
        covered = covered and len(together) == len(facts)
        return Statement(tuple(together), covered and bool(together), corrects, meant)

    def _with_names(self, sentence: Sentence) -> Sentence:
        """The sentence with its names written as names (see ``casing``)."""
        if self.book.language != "en" or _NAMING.isdisjoint(spoken(sentence.text)):
            return sentence
        text = with_names(sentence.text, self.book)
        return sentence if text == sentence.text else reworded(sentence, text)

    def _names_in_passing(self, text: str) -> bool:
        """Whether a sentence names somebody whom it calls by a relation."""
        if self._named_zh is not None:
            return self._named_zh.search(text) is not None
        return not self._related.isdisjoint(spoken(text)) and any(
            form is not None and form.search(text) is not None
            for form in (self._named, self._group)
        )

    def _what_was_meant(self, text: str) -> tuple[str, str] | None:
        for pattern in self._meant:
            match = pattern.search(text)
            if match is not None:
                said = match.groupdict()
                return said["right"].strip(), (said.get("wrong") or "").strip()
        return None


_NAMING = frozenset(
    "name names called named call known married engaged divorced at kids children sons daughters"
    " boys girls cats dogs kittens puppies rabbits birds hamsters horses sisters brothers"
    " girlfriend boyfriend gf bf wife husband partner fiance fiancee fiancé fiancée".split()
)
"""One of these stands before every name that is known without its capital letter."""


_COURTESY = re.compile(
    r"^[\s,.;–-]*(?:and )?(?:it['’]s )?(?:nice|pleased|great|good|lovely) to (?:meet|be)\b.*"
    "|^[\\s，,。；！!]*(?:很高兴|高兴|初次见面|请多|多多|幸会).*",
    re.IGNORECASE,
)


def _says_no_more(text: str, facts: Sequence[Fact]) -> bool:
    """Whether an introduction says nothing behind its facts but a courtesy, or two small words."""
    rest = _COURTESY.sub("", text[max(each.end for each in facts) :])
    words = re.findall(r"[^\W_]+", rest)
    return len(words) <= 2 and all(each.isascii() or len(each) <= 4 for each in words)


def _has_parted(fact: Fact, text: str, language: str, others: Sequence[Fact]) -> bool:
    """Whether a fact tells of a partner from whom the same sentence says the speaker parted."""
    married = fact.attribute == "marital_status" and fact.rule.fixed != ""
    if not (married or fact.attribute in aspects.COUPLES) or fact.negative:
        return False
    ended = fact.rule.id == IN_PASSING and any(
        each.negative and each.attribute == fact.attribute and each.value in ("", fact.value)
        for each in others
    )
    return ended or aspects.parts_after(text, fact.end, language)


def _slot(fact: Fact) -> tuple[str, str]:
    return fact.attribute, fact.subject


def _is_otherwise(right: Fact, wrong: Fact) -> bool:
    """Whether a fact says the same of the same subject, but otherwise."""
    if (right.attribute, right.subject) != (wrong.attribute, wrong.subject):
        return False
    return (right.value.lower(), right.negative, right.former) != (
        wrong.value.lower(), wrong.negative, wrong.former
    )  # fmt: skip


def _takes_back(other: Fact, wrong: Fact) -> bool:
    """Whether a fact says of another what was said first, or something else with that value: "I
    live in Paris, no wait, my sister lives in Lyon"."""
    if other.attribute == wrong.attribute:
        return other.subject != wrong.subject
    return other.value.lower() == wrong.value.lower()


def _is_same(fact: Fact, others: Sequence[Fact]) -> bool:
    said = (fact.attribute, fact.subject, fact.value.lower())
    return any((each.attribute, each.subject, each.value.lower()) == said for each in others)

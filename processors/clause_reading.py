"""One sentence being read: its clauses, and the facts that rules find in each.

Facts are what a rule read, before they become assertions: nothing here knows an event.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cached_property

import msgspec

from memstream.processors import aspects, endings
from memstream.processors.animals import Animals
from memstream.processors.clause_dates import dates_known, dates_told
from memstream.processors.clause_reasons import REASONS, gives_reason
from memstream.processors.clauses import (
    Clause,
    Speaker,
    dated_words,
    qualifier_at,
    quoted_words,
)
from memstream.processors.clauses_en import english_clauses
from memstream.processors.clauses_zh import chinese_clauses
from memstream.processors.dates import find_dates
from memstream.processors.facts import CONTRARY, ONE_PARTED, Fact, over_with
from memstream.processors.moments import birthday
from memstream.processors.names import NOT_CALLED, is_name_like, relation_of
from memstream.processors.qualifiers import frequency, is_qualified, often_apart, set_apart
from memstream.processors.regions import Value
from memstream.processors.rule_files import Rule
from memstream.processors.rules import Match, Rulebook
from memstream.processors.sentences import Sentence
from memstream.processors.values import read_values
from memstream.processors.words import Words
from memstream.schemas.attributes import Attributes


class Forms(msgspec.Struct, frozen=True):
    """What the sentences of one language are read with. ``introduction`` finds "Hi, I'm Anna",
    ``named_relation`` "my wife Anna" wherever it stands, ``named_group`` "my sons Tom and Max";
    None where a language has no such form."""

    book: Rulebook
    attributes: Attributes
    introduction: re.Pattern[str]
    named_relation: re.Pattern[str] | None
    named_group: re.Pattern[str] | None
    animals: Animals
    pet_named: str
    person_named: str
    plural: frozenset[str]


class SentenceReading:
    """One sentence being read."""

    def __init__(
        self,
        forms: Forms,
        sentence: Sentence,
        speaker: Speaker,
        anchor: datetime | None,
        words: Words,
        correcting: bool,
    ) -> None:
        self._forms = forms
        self._book = forms.book
        self._sentence = sentence
        self._text = sentence.text
        self._speaker = speaker
        self._anchor = anchor
        self._words = words
        self._correcting = correcting
        self._used: set[int] = set()

    @cached_property
    def clauses(self) -> list[Clause]:
        book = self._book
        dated = dated_words(self._words, find_dates(self._text, self._anchor, book.language), book)
        quoted = quoted_words(self._words, self._sentence.quotes)
        split = english_clauses if book.language == "en" else chinese_clauses
        return split(self._words, dated, quoted, book, self._speaker)

    @cached_property
    def _corrects_anywhere(self) -> bool:
        return any(clause.correction for clause in self.clauses)

    def facts_of(self, clause: Clause, index: int, triggers: Sequence[str]) -> list[Fact]:
        """The facts of the first rule that fits the clause and finds good values."""
        self._correcting = self._correcting or clause.correction
        if not clause.alive or not len(clause.words):
            return []
        found: list[Fact] = []
        for match in self._book.matches(clause.words.norm, triggers):
            again = found and (match.rule.dates != "value" or match.rule.id == found[-1].rule.id)
            if again or not self._may(match, clause):
                continue
            facts = self._facts(match, clause)
            if facts and not found:
                facts = facts + self._contrasted(match, clause, index, facts)
            found.extend(facts)
        found = endings.of_whom(found, clause, self.clauses[max(0, index - 1)])
        return [each for fact in found for each in self._with_the_contrary(fact)]

    def _with_the_contrary(self, fact: Fact) -> list[Fact]:
        """A denial that states the opposite: "I don't like tea". What only ended ("I used to like
        tea") states nothing."""
        attribute = self._forms.attributes.get(fact.attribute)
        denied = fact.negative and fact.rule.polarity == "positive" and not fact.former
        if not denied or not attribute.denial_states_opposite:
            return [fact]
        said = attribute.en_not if self._book.language == "en" else attribute.zh_not
        contrary = msgspec.structs.replace(
            fact, attribute=attribute.opposite, negative=False, withdraws=False, corrects=False,
            rule=msgspec.structs.replace(fact.rule, id=f"{fact.rule.id}{CONTRARY}", text=said),
        )  # fmt: skip
        return [fact, contrary] if fact.withdraws else [contrary]

    def is_covered(self, clause: Clause, facts: Sequence[Fact]) -> bool:
        """Whether the facts say all that the clause says, up to two small words."""
        if id(clause) in self._used:
            return True
        if not facts:
            return clause.correction
        if any(fact.reason for fact in facts):
            return True
        end = max(fact.end for fact in facts)
        words = clause.words
        after = [at for at in range(len(words)) if words.start[at] >= end]
        trailing = self._book.phrase_list("trailing")
        left = [words.norm[at] for at in after if words.norm[at].isalnum()]
        if self._book.language == "zh":
            return len(left) <= 4
        return len(left) <= 2 or trailing.length_at(left, 0) >= len(left) - 1

    def relations(self, known: Sequence[Fact]) -> list[Fact]:
        """Names of people and animals the speaker is related to, wherever they stand."""
        found: list[Fact] = []
        for match, names in self._in_passing():
            clause = self._clause_at(match.start())
            attribute = self._book.relations.get(match.group("relation").lower(), "")
            places = (match.start(), match.end() - 1)
            if clause is None or not clause.alive or not attribute or self._is_taken(places):
                continue
            described = self._text[match.start() : match.start("relation")]
            wished = aspects.is_naming(self._text[: match.start()])
            if wished or aspects.is_former(described, attribute):
                continue
            told = {fact.value for fact in [*known, *found] if fact.attribute == attribute}
            relation = relation_of(described, match["relation"], self._book)
            found += [
                Fact(
                    rule=self._naming(_RELATION, attribute, relation), attribute=attribute,
                    topic=relation,
                    value=name, spoken=name, subject=self._speaker.name,
                    start=match.start(), end=match.end(),
                    species=match.group("relation").lower() if attribute == "pet" else "",
                )
                for name in names
                if name not in told
            ]  # fmt: skip
        return found

    def _is_taken(self, places: Sequence[int]) -> bool:
        """Whether a quotation or a date holds one of some places of the sentence."""
        taken = [(each.start_char, each.end_char) for x in self.clauses for each in x.dates]
        return any(a <= at < b for a, b in (*self._sentence.quotes, *taken) for at in places)

    def _in_passing(self) -> Iterator[tuple[re.Match[str], list[str]]]:
        """Where somebody related to the speaker is named, and the names."""
        one, group = self._forms.named_relation, self._forms.named_group
        for match in () if one is None else one.finditer(self._text):
            if self._is_called(match):
                yield match, [match["name"]]
        for match in () if group is None else group.finditer(self._text):
            names = re.split(r",? and |, ", match["names"])
            if all(is_name_like(each, self._book) for each in names):
                yield match, names

    def _is_called(self, match: re.Match[str]) -> bool:
        """Whether "my wife Anna" or "my wife is Anna" names her: "my wife is German" does not, and
        "is" with more words behind says what somebody is like."""
        name = match.group("name")
        first = name.split()[0]
        if first.lower() in self._book.phrase_list("not_names") or not (
            first[1:].islower() or not first.isascii()
        ):
            return False
        link = self._text[match.end("relation") : match.start("name")].split()
        if link == ["is"]:
            ends = _AFTER_NAME.match(self._text, match.end("name")) is not None
            return ends and is_name_like(name, self._book)
        return link != [] or is_name_like(name, self._book, apart=NOT_CALLED)

    def named_before_verbs(self, known: Sequence[Fact]) -> list[Fact]:
        """Names between a relation and what is said of who has it: 我哥哥张伟在华为工作."""
        told = {(fact.attribute, fact.value) for fact in known}
        named = [each for each in self.clauses if each.alive and each.relation and each.name]
        return [
            Fact(
                rule=self._naming(_RELATION, attribute, each.relation), attribute=attribute,
                topic=each.relation, value=each.name, spoken=each.name,
                subject=self._speaker.name, start=each.spoken.start[0],
                end=each.spoken.end[-1],
                species=each.relation if attribute == "pet" else "",
            )
            for each in named
            if (attribute := self._book.relations.get(each.relation, ""))
            and (attribute, each.name) not in told
            and (known or _FULL_NAME_ZH.fullmatch(each.name))
        ]  # fmt: skip

    def animals(self, known: Sequence[Fact]) -> list[Fact]:
        """All that is known, with the other animals of "a dog named Rex and a cat named Luna"."""
        first = next(
            (fact for fact in known if fact.attribute == "pet" and not fact.negative), None
        )
        if first is None or first.former:
            return list(known)
        found = list(known)
        for each in self._forms.animals.more(self._text, first.start, named=bool(first.species)):
            if each.name:
                same = (each.species, each.name)
                found = [x for x in found if x.attribute != "pet" or x.value not in same]
            value = each.name or each.species
            if all(fact.attribute != "pet" or fact.value != value for fact in found):
                text = self._forms.pet_named if each.name else ""
                found.append(
                    msgspec.structs.replace(
                        first, rule=msgspec.structs.replace(first.rule, text=text), value=value,
                        spoken=value, species=each.species if each.name else "",
                        start=each.start, end=each.end,
                    )
                )  # fmt: skip
        return found

    def parted(self, found: Sequence[tuple[str, int, int]]) -> list[Fact]:
        """The animals that the speaker has no more: "My dog died last month"."""
        if not found or not all(clause.alive for clause in self.clauses[:1]):
            return []
        dates = tuple(find_dates(self._text, self._anchor, self._book.language))
        return [
            Fact(
                rule=_PARTED, attribute="pet", value=value, spoken=value, negative=True,
                subject=self._speaker.name, dates=dates, start=start, end=end,
            )
            for value, start, end in found
        ]  # fmt: skip

    def introduction(self, known: Sequence[Fact]) -> list[Fact]:
        """The name in "Hi, I'm Anna", unless it is a word that only looks like one."""
        match = self._forms.introduction.match(self._text)
        clause = None if match is None else self._clause_at(match.start("name"))
        if match is None or clause is None or not clause.alive or clause.negated:
            return []
        name = match.group("name")
        inside = any(fact.start < match.end("name") and fact.attribute for fact in known)
        if inside or not is_name_like(name, self._book):
            return []
        return [
            Fact(
                rule=_INTRODUCTION, attribute="name", value=name, spoken=name,
                subject=self._speaker.name, start=match.start("said"), end=match.end("name"),
            )
        ]  # fmt: skip

    def _clause_at(self, position: int) -> Clause | None:
        found = None
        for clause in self.clauses:
            if clause.spoken.start[0] <= position:
                found = clause
        return found

    def _naming(self, rule: Rule, attribute: str, relation: str) -> Rule:
        """The rule that names somebody, in words that tell which animal it is, or who."""
        one = relation.rpartition(" ")[2] not in self._forms.plural
        person = self._forms.person_named if one else ""
        text = self._forms.pet_named if attribute == "pet" else person
        return msgspec.structs.replace(rule, text=text)

    def _may(self, match: Match, clause: Clause) -> bool:
        rule = match.rule
        if clause.subject not in rule.subjects:
            return False
        if rule.attribute == "{relation}" and not clause.relation:
            return False
        if (rule.attribute == "name" and clause.relation) or self._is_turned(match, clause):
            return False
        if (clause.negated or clause.former) and rule.negative == "blocks":
            return False
        if rule.negative == "needs" and not clause.negated:
            return False
        unvalued = rule.whole and "value" not in match.captures
        if unvalued and not self._only_trails(clause.words, match.end):
            return False
        return not (
            rule.needs_date
            and not dates_known(rule, clause, self._text, self._anchor, self._book.language)
        )

    def _is_turned(self, match: Match, clause: Clause) -> bool:
        """Whether what surrounds the words of a rule says that it is not so, or no more."""
        rule, words = match.rule, clause.words
        if rule.attribute == "{relation}" and aspects.is_former(
            clause.who, self._book.relations[clause.relation]
        ):
            return True
        if endings.only_seems(match, clause, self.clauses, self._text, self._anchor):
            return True
        if rule.dates == "value" and clause.dates:
            start = words.end[match.end - 1] if match.end else 0
            if aspects.is_denied(words, start, clause.dates[0].start_char):
                return True
        if rule.tense != "present" or clause.former or rule.dates != "validity":
            return False
        places = [match.end, *(start for start, _ in match.captures.values())]
        if not aspects.is_experience(words, places, self._book.language):
            return False
        if self._book.language == "zh":
            return not aspects.is_bounded(clause.dates, self._anchor)
        said = self._text[clause.spoken.start[0] :]
        return not aspects.lasts(said, clause.dates)

    def _only_trails(self, words: Words, start: int) -> bool:
        """Whether nothing but trailing adverbs and signs stands from a word on."""
        trailing = self._book.phrase_list("trailing")
        while start < len(words):
            length = trailing.length_at(words.norm, start)
            if not length and words.norm[start].isalnum():
                return False
            start += max(1, length)
        return True

    def _facts(self, match: Match, clause: Clause) -> list[Fact]:
        rule, book, words = match.rule, self._book, clause.words
        if rule.ends:
            return self._endings(match, clause)
        match = often_apart(book, words, match)
        values = self._main_values(match, clause)
        if not values or self._is_partial(rule, clause, values[-1]):
            return []
        topic, previous, species, often = "", "", "", 0
        qualifier = clause.qualifier if is_qualified(rule) else ""
        also: list[tuple[str, Value]] = []
        for name, (start, end) in match.captures.items():
            if name == "value":
                continue
            kind = match.kinds[name]
            if kind == "action" or (name == "previous" and kind == "thing"):
                kind = "short"
            read = read_values(self._text, clause.words, start, end, kind, rule, book)
            if not read or aspects.is_denied(words, read[-1].end, words.end[end - 1]):
                return []
            if name == "topic" and "{topic}" in rule.attribute:
                topic = read[0].value.lower()
            elif name == "previous":
                previous = read[0].value
            elif name == "species":
                species = read[0].value
            elif name == "qualifier":
                qualifier = read[0].value
            elif name in rule.also:
                also.append((rule.also[name], read[0]))
        if rule.value == "version":
            topic = self._versioned(clause.words, match)
        if rule.value == "habit":
            qualifier, often = frequency(book, self._text, clause.words, *match.captures["value"])
        negated = clause.negated and rule.negative != "needs"
        negative = negated != (rule.polarity == "negative")
        last = words.end[match.end - 1] if match.captures.get("value", (0, 0))[1] < match.end else 0
        attribute = self._attribute(rule, topic, clause)
        if rule.attribute == "{relation}":
            topic = clause.who.removeprefix(self._speaker.relative("", book.language))
            species = clause.relation if attribute == "pet" else ""
            rule = self._naming(rule, attribute, topic)
        facts = [
            Fact(
                rule=rule,
                attribute=attribute,
                value=rule.fixed.replace("{value}", value.value) or value.value,
                spoken=value.spoken
                if rule.text
                else rule.fixed.replace("{value}", value.spoken) or value.spoken,
                subject=self._subject(rule, clause),
                qualifier=value.qualifier or qualifier,
                negative=negative,
                former=clause.former,
                dates=dates_told(rule, clause, self.clauses, self._text, self._book.language),
                reason=value.reason or self._reason_after(clause),
                previous=previous,
                species=species,
                topic=topic,
                corrects=self._correcting,
                withdraws=negative and (self._correcting or self._corrects_anywhere),
                beside=len(values) > 1 and self._has_one_value(attribute),
                start=min(clause.spoken.start[0], value.start),
                end=max(last, often, value.end),
            )
            for value in values
        ]
        if is_qualified(rule):
            facts = [set_apart(fact, clause, self._text, self._words, book) for fact in facts]
        for name, value in also:
            if facts[0].negative:
                continue
            facts.append(
                msgspec.structs.replace(
                    facts[0], attribute=name, value=value.value, spoken=value.spoken, qualifier="",
                    beside=False, end=value.end, previous="",
                )
            )  # fmt: skip
        return facts + over_with(facts, book.lists)

    def _is_partial(self, rule: Rule, clause: Clause, value: Value) -> bool:
        """Whether it denies now and then, or for a while: "no meat on Fridays", 今天不喝."""
        if rule.negative != "needs" and clause.negated == (rule.polarity == "negative"):
            return False
        now = endings.is_for_now(rule, clause, self._anchor, self._book.language)
        words = self._words
        at = next((at for at in range(len(words)) if words.start[at] >= value.end), len(words))
        apart, length = qualifier_at(self._book, words, at)
        if is_qualified(rule):
            at_times = length > 0 and not apart and rule.attribute == "employer"
            return at_times or (now and rule.attribute in ("habit", "employer", "residence"))
        if clause.qualifier or clause.sometimes or length:
            return True
        if endings.must_be_whole(rule, clause) and not self._ends_there(clause.words, value):
            return True
        return now or endings.is_put_off(rule, clause)

    def _has_one_value(self, attribute: str) -> bool:
        return self._forms.attributes.get(attribute).cardinality == "one"

    def _endings(self, match: Match, clause: Clause) -> list[Fact]:
        """What a clause ends without naming it: "I quit my job", "my wife died"."""
        rule = match.rule
        ended = endings.unnamed(rule, clause, self._book.relations)
        if rule.whole and not self._only_trails(clause.words, match.end):
            return []
        for name, (start, end) in match.captures.items():
            kind = match.kinds[name]
            if not read_values(self._text, clause.words, start, end, kind, rule, self._book):
                return []
        if endings.is_for_now(rule, clause, self._anchor, self._book.language):
            return []
        own = rule.ends == (endings.RELATION,)
        return [
            Fact(
                rule=rule,
                attribute=attribute,
                value=value,
                spoken=value,
                subject=self._speaker.name if own else self._subject(rule, clause),
                negative=True,
                dates=tuple(clause.dates),
                reason=self._reason_after(clause),
                previous=kind,
                start=clause.spoken.start[0],
                end=clause.words.end[max(match.end - 1, 0)],
            )
            for attribute, kind, value in ended
        ]

    def _main_values(self, match: Match, clause: Clause) -> list[Value]:
        rule, words = match.rule, clause.words
        if "value" in match.captures:
            start, end = match.captures["value"]
            kind = match.kinds["value"]
            if end == len(words) and self._is_left_open(clause, kind):
                return []
            found = read_values(self._text, words, start, end, kind, rule, self._book)
            if (
                rule.whole
                and found
                and end == len(words)
                and not self._ends_there(words, found[-1])
            ):
                return []
            if rule.whole and end < len(words) and not self._only_trails(words, match.end):
                return []
            if rule.whole and found and "none" in rule.subjects:  # "Sue never left me"
                after = [at for at in range(start, end) if words.start[at] >= found[-1].end]
                return [] if after else found
            return found
        start_char = words.start[0]
        end_char = words.end[max(0, match.end - 1)]
        if rule.dates == "value":
            date = dates_known(rule, clause, self._text, self._anchor, self._book.language)[0]
            if date.start is None or date.granularity != "day":
                return []
            born = {"birthday", "日"}.isdisjoint(words.norm[: match.end])
            value, spoken = birthday(date, self._anchor, born=born)
            return [Value(value, spoken, start_char, max(end_char, date.end_char))]
        if rule.value.startswith("<"):
            said = self._text[start_char:end_char]
            return [Value(said, said, start_char, end_char)]
        return [Value(rule.fixed, rule.fixed, start_char, end_char)] if rule.fixed else []

    def _is_left_open(self, clause: Clause, kind: str) -> bool:
        """Whether what ends the clause shows that a value before it is not all that was meant: the
        Rex of "a dog named Rex and Max is a cat", and not that of "named Rex and I live here"."""
        if clause.ended_by not in _LEFT_OPEN.get(kind, ()):
            return False
        at = self.clauses.index(clause) + 1
        if kind != "name" or at >= len(self.clauses):
            return True
        following = self.clauses[at].spoken
        return following.raw[0][:1].isupper() and following.norm[0] not in _OWN_SUBJECTS

    def _versioned(self, words: Words, match: Match) -> str:
        """What has the version: the entry of the list right before the value."""
        end = match.captures["value"][0]
        length = self._book.phrase_list("versioned").length_before(words.norm, end)
        return " ".join(words.norm[end - length : end])

    def _ends_there(self, words: Words, value: Value) -> bool:
        after = [at for at in range(len(words)) if words.start[at] >= value.end]
        return not after or self._only_trails(words, after[0])

    def _attribute(self, rule: Rule, topic: str, clause: Clause) -> str:
        if rule.attribute == "{relation}":
            return self._book.relations[clause.relation]
        if "{topic}" in rule.attribute:
            topic = self._book.labels.get(topic, topic)
            return rule.attribute.replace("{topic}", re.sub(r"[\s.-]+", "_", topic))
        return rule.attribute

    def _subject(self, rule: Rule, clause: Clause) -> str:
        if rule.project:
            return "project"
        if rule.attribute == "{relation}" or clause.subject == "none":
            return self._speaker.name
        return clause.who

    def _reason_after(self, clause: Clause) -> str:
        """The words of a following clause that give the reason."""
        at = self.clauses.index(clause) + 1
        following = self.clauses[at] if at < len(self.clauses) else None
        if following is None or not gives_reason(following):
            return ""
        self._used.add(id(following))
        spoken = following.spoken
        words = self._text[spoken.start[0] : spoken.end[-1]].strip(" ,.;!?，。；！")
        return f"{REASONS[following.lead]}{words}"

    def _contrasted(
        self, match: Match, clause: Clause, index: int, facts: Sequence[Fact]
    ) -> list[Fact]:
        """ "I live in Oslo, not Bergen": what is not the case."""
        if index + 1 >= len(self.clauses) or "value" not in match.captures:
            return []
        following = self.clauses[index + 1]
        one = self._has_one_value(facts[0].attribute)
        joint = "" if self._book.language == "zh" else " "
        denied = following.lead == "not" or joint.join(following.spoken.norm).startswith(_CONTRASTS)
        if not denied or facts[0].negative:
            return []
        start = 0
        while start < len(following.words) and following.words.norm[start] in _BEFORE_CONTRAST:
            start += 1
        values = read_values(
            self._text, following.words, start, len(following.words), match.kinds["value"],
            match.rule, self._book,
        )  # fmt: skip
        if not values:
            return []
        self._used.add(id(following))
        if one and match.rule.tense == "change" and not self._correcting:
            return []
        return [
            msgspec.structs.replace(
                facts[0], value=value.value, spoken=value.spoken, negative=True,
                withdraws=self._correcting or one, start=value.start, end=value.end, previous="",
                reason="",
            )
            for value in values
        ]  # fmt: skip


_LEFT_OPEN = {
    "thing": frozenset("that which who whom whose where when whenever how if unless than".split()),
    "action": frozenset((":", "：", "if", "unless", "that")),
    "name": frozenset(("and", "or")),
}
"""What ends a clause so that a value before it is not all that was meant."""
_OWN_SUBJECTS = frozenset("i we my our he she they it his her their its".split())
_CONTRASTS = ("不是", "而不是", "not")
_BEFORE_CONTRAST = frozenset("not in at to for as from with on the 是 在".split())
_FULL_NAME_ZH = re.compile("(?!.*[就都也还不没很太才又再上下了的着过在是有要会])[^\\W\\d_]{3}")
_INTRODUCTION = Rule(id="name.introduced", say=(), confidence=0.8)
_PARTED = Rule(id=ONE_PARTED, say=(), tense="change", polarity="negative")
_AFTER_NAME = re.compile(r"[.,;!?)。，！]|$| and | but | who ")
IN_PASSING = "relation.named_in_passing"
_RELATION = Rule(id=IN_PASSING, say=(), confidence=0.85)

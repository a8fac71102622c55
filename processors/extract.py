"""Extract: captured text into assertions, by rules, in English and Chinese. No model takes part.

``Reader`` reads one event; ``Extract`` is the processor that turns what it finds into
``candidate.extracted`` events. A statement belongs to whoever it is about: "My sister lives in
Berlin" is a fact of the user's sister. What no rule covers stays free text (an episode) with its
dates made absolute, so a rule that is missing costs structure and not memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from pathlib import Path

import msgspec

from memstream.processors import versions
from memstream.processors.amending import Amendments, ends_turn
from memstream.processors.clauses import Speaker
from memstream.processors.compiling import uncollected
from memstream.processors.dates import DateSpan, find_dates
from memstream.processors.episodes import Remainder, kept, remainder
from memstream.processors.facts import CLOSES
from memstream.processors.gate import GateMark
from memstream.processors.moments import (
    annotated,
    first_resolved,
    occurred,
    until,
    validity_of,
    written,
)
from memstream.processors.pipeline import Reads, State, key
from memstream.processors.repairs import Repairs
from memstream.processors.rule_files import (
    Language,
    RuleFile,
    builtin_files,
    read_rule_file,
)
from memstream.processors.rules import Rulebook
from memstream.processors.sentences import Sentence, language_of, narrowed, sentences
from memstream.processors.settings import rules_fingerprint
from memstream.processors.sorts import Sorts
from memstream.processors.statements import Fact, Statements
from memstream.processors.stays import FOR_NOW, end_of_stay, is_for_now
from memstream.processors.turn_reading import TurnReading
from memstream.processors.wording import worded
from memstream.schemas.attributes import Attributes
from memstream.schemas.events import (
    CandidateExtracted,
    Event,
    MemoryStated,
    ToolReturned,
    TurnRecorded,
    session_of,
)
from memstream.schemas.ids import derived_id
from memstream.schemas.memories import Assertion, Interval, Kind, Standing
from memstream.schemas.scope import Scope

__all__ = ["Extract", "Reader"]

LONGEST_CONTEXT = 2000
"""Characters of a turn that go with each of its assertions, to find it by."""
_VERSION = versions.EXTRACT  # raised there
_LANGUAGES: tuple[Language, ...] = ("en", "zh")
_CHANGED = "switched_to"
_ASKED_OF = {
    "drink": ("drinks",),
    "food": ("eats", "diet"),
    "game": ("plays", "hobby"),
    "job": ("job_title",),
    "car": ("vehicle",),
}
"""The attributes whose aliases ask for a sort of things."""
_STANDINGS: dict[str, Standing] = {
    "stored": "admitted",
    "held": "held",
    "quarantined": "quarantined",
}


class Extract:
    """The processor. What the gate rejected yields nothing; what it held or quarantined keeps
    that standing. Types that carry no text pass through."""

    name = "extract"
    version = _VERSION

    def __init__(self, reader: Reads) -> None:
        self.reader = reader

    def __call__(self, state: State, event: Event) -> Iterable[Event]:
        """The candidates of one event, or the event itself where there is nothing to read in its
        type."""
        if event.type not in _READ_TYPES:
            return [event]
        mark = state.get(key(event.subject, "event", event.id), GateMark)
        outcome = "stored" if mark is None else mark.outcome
        standing = _STANDINGS.get(outcome)
        # A turn flows on, whatever it says: what is said next may put the one before it right.
        flowing = [event] if event.type == "turn.recorded" else []
        if standing is None:
            return flowing
        found = self.reader.read(event)
        if standing != "admitted":
            found = [msgspec.structs.replace(each, standing=standing) for each in found]
        return [*flowing, *(_candidate(event, assertion) for assertion in found)]


_READ_TYPES = frozenset(("turn.recorded", "tool.called", "tool.returned", "memory.stated"))


def _candidate(event: Event, assertion: Assertion) -> Event:
    return Event(
        id=derived_id(event.subject, event.id, Extract.name, str(assertion.ordinal)),
        type="candidate.extracted",
        subject=event.subject,
        time=event.time,
        source=event.source,
        data=CandidateExtracted(assertion=assertion),
        recordedtime=event.recordedtime,
    )


class Reader:
    """Reads events into assertions. Compiled once, with the first text, and shared; reading
    changes nothing.

    ``extra_rules`` are rule files in the form of ``rulebook/en.toml``. Raises ``InvalidRule`` for
    a file that does not follow it. ``fingerprint`` is a hash over the rules, the attributes and
    the version of this code.
    """

    def __init__(self, attributes: Attributes, extra_rules: Sequence[Path] = ()) -> None:
        self._paths = [*builtin_files(), *extra_rules]
        self._attributes = attributes
        self.fingerprint = rules_fingerprint(attributes, extra_rules)
        if extra_rules:
            self.compile()  # its owner's mistakes show now and not at the first turn

    def compile(self) -> None:
        """Compiles the rules now, and not when the first text has to be read."""
        _ = self._turns, self._amending

    def warm_up(self) -> None:
        """As ``compile``, with what matches the rules: for a process that will read texts."""
        self.compile()
        for book in self.books.values():
            book.warm_up()

    @cached_property
    def _statements(self) -> dict[Language, Statements]:
        with uncollected():
            files = [read_rule_file(path) for path in self._paths]
            return {each: Statements(_book(each, files), self._attributes) for each in _LANGUAGES}

    @cached_property
    def _repairs(self) -> dict[Language, Repairs]:
        return {language: each.repairs for language, each in self._statements.items()}

    @cached_property
    def _turns(self) -> TurnReading:
        return TurnReading(self._statements, self._attributes)

    @cached_property
    def _amending(self) -> Amendments:
        return Amendments(self._statements)

    @cached_property
    def _sorts(self) -> Sorts:
        return Sorts(self.books.values())

    @cached_property
    def books(self) -> dict[Language, Rulebook]:
        """The rulebook of each language."""
        return {language: each.book for language, each in self._statements.items()}

    def read(self, event: Event) -> list[Assertion]:
        """What the event claims, in the order of its text; the ordinals count from 0."""
        data = event.data
        if isinstance(data, MemoryStated):
            found = self._stated(event, data)
        elif isinstance(data, TurnRecorded):
            found = self._turn(event, data)
        elif isinstance(data, ToolReturned):
            left = sentences(data.text, data.served_spans)
            rest = self._remainder(event, data.text, left, [True] * len(left), data.tool or "tool")
            found = rest
        else:
            found = []
        return [
            msgspec.structs.replace(assertion, ordinal=ordinal) if ordinal else assertion
            for ordinal, assertion in enumerate(_once(found))
        ]

    def _turn(self, event: Event, data: TurnRecorded) -> list[Assertion]:
        found = sentences(data.text, data.served_spans)
        anchor = event.time if data.observed_known else None
        by_user = data.role == "user" and event.source.kind not in ("model_derived", "tool_result")
        if not by_user:
            role = "assistant" if data.role == "user" else data.role
            said = [not self._claims(each) for each in found]
            return self._remainder(event, data.text, found, said, role, anchor)
        speaker = Speaker(_speaker_of(event, data.actor))
        assertions, left = self._facts(event, data.text, found, speaker, anchor)
        session = session_of(event, data)
        amending = None
        if not assertions and session is not None:
            amending = self._amending.read(data.text, speaker, anchor)
        if session is not None:
            assertions = [
                msgspec.structs.replace(each, session=session, last=ends_turn(each))
                if each.polarity == "positive" and each.value
                else each
                for each in assertions
            ]
        denied = {each.quote for each in assertions if _denies(each) or _never_was(each)}
        left = [own or each.text in denied for own, each in zip(left, found, strict=True)]
        rest = self._remainder(event, data.text, found, left, speaker.name, anchor)
        rest = self._found_by(rest, [each.attribute for each in assertions if _denies(each)])
        if amending is not None and found:
            whole = self._assertion(event, data.text, found[-1], language_of(data.text))
            rest.append(
                msgspec.structs.replace(
                    whole, value=amending.value, previous=amending.wrong, session=session,
                    amends=tuple(each.attribute for each in amending.readings),
                    readings=amending.readings, text=data.text,
                    quote=data.text.strip(), context="", rule="amendment",
                )
            )  # fmt: skip
        return assertions + rest

    def _found_by(
        self, episodes: Sequence[Assertion], attributes: Sequence[str]
    ) -> list[Assertion]:
        """What was told of something that ended answers for its slot, so it is found by the words
        that ask for that ("where does she work": "I quit my job")."""
        words = " ".join(
            aliases
            for each in sorted({*attributes})
            if (aliases := self._attributes.get(each).aliases)
        )
        return [
            each
            if (found_by := f"{each.context} {words}".strip()) == each.context
            else msgspec.structs.replace(each, context=found_by)
            for each in episodes
        ]

    def _claims(self, sentence: Sentence) -> bool:
        """Whether a sentence tells the listener something about the listener."""
        test = self._statements[language_of(sentence.text)].claims
        return test.search(sentence.text.lower()) is not None

    def _facts(
        self,
        event: Event,
        text: str,
        found: Sequence[Sentence],
        speaker: Speaker,
        anchor: datetime | None,
    ) -> tuple[list[Assertion], list[bool]]:
        """The facts in the sentences, and for each sentence whether something of it is left."""
        found = narrowed(found, text)
        stated, left = self._turns.read(text, found, speaker, anchor)
        assertions: list[Assertion] = []
        named = {sentence.start for sentence, fact in stated if fact.withdraws}
        for sentence, fact in stated:
            if sentence.start in named and fact.corrects:
                fact = msgspec.structs.replace(fact, corrects=False)
            made = list(self._assertions(event, text, sentence, fact, speaker, anchor))
            if not made:
                left[found.index(sentence)] = True
            assertions.extend(made)
        return assertions, left

    def _assertions(
        self,
        event: Event,
        whole: str,
        sentence: Sentence,
        fact: Fact,
        speaker: Speaker,
        anchor: datetime | None,
    ) -> Iterable[Assertion]:
        language = language_of(sentence.text)
        observed = event.time
        when = validity_of(
            "future" if fact.rule.dates != "validity" else fact.rule.tense,
            fact.former, _bounding(fact), observed, language,
        )  # fmt: skip
        if when is None:
            if fact.rule.planned and _is_announced(fact, observed):
                yield from self._assertions(event, whole, sentence, _as_plan(fact), speaker, anchor)
            return
        if not fact.qualifier and is_for_now(fact, sentence.text):
            fact = msgspec.structs.replace(fact, qualifier=FOR_NOW)
        stay = end_of_stay(fact, sentence.text, observed)
        if stay is not None and when.valid_to is None:
            when = until(observed, stay, language)
        took_place: Interval | None = None
        note = when.note
        valid_from = when.valid_from
        if fact.rule.dates == "occurred":
            took_place = occurred(_dates_of(fact, observed))
            date = first_resolved(_dates_of(fact, observed))
            note = "" if date is None else written(date, observed.tzinfo or UTC, language)
            if took_place is not None and took_place.start is not None:
                valid_from = min(valid_from, took_place.start)
        elif fact.rule.tense == "change" and when.note:
            took_place = occurred(fact.dates)
        negative = fact.negative or when.ends
        attribute = self._attributes.get(fact.attribute)
        base = self._assertion(event, whole, sentence, language)
        if self._replaces(fact):
            yield msgspec.structs.replace(
                base, kind=attribute.kind, subject=fact.subject, attribute=fact.attribute,
                qualifier=fact.qualifier, polarity="negative", context="", withdraws=True,
                valid_from=valid_from.astimezone(UTC), text=base.quote,
                rule=f"{fact.rule.id}.corrected",
            )  # fmt: skip
        if when.ends and not fact.negative:
            note = ", ".join(filter(None, ("no longer" if language == "en" else "曾经如此", note)))
        text = worded(
            fact,
            self._attributes,
            self.books[language].labels,
            language,
            negative=negative,
            note=note,
        )
        finish = min(sentence.start + fact.end, sentence.end)
        begin = min(sentence.start + fact.start, finish)
        if fact.attribute == _CHANGED:
            found_by = self._kinds_of_both(fact)
            base = msgspec.structs.replace(base, context=f"{base.context} {found_by}".strip())
        yield msgspec.structs.replace(
            base,
            kind=attribute.kind,
            subject=fact.subject,
            attribute=fact.attribute,
            value=fact.value,
            qualifier=fact.qualifier or (fact.species.lower() if fact.value else ""),
            polarity="negative" if negative else "positive",
            valid_from=valid_from.astimezone(UTC),
            valid_to=None if when.valid_to is None else when.valid_to.astimezone(UTC),
            confidence=fact.rule.confidence,
            text=text,
            span=(begin, finish),
            occurred=took_place,
            withdraws=fact.withdraws,
            beside=fact.beside,
            reason=fact.reason,
            previous=fact.previous,
            rule=fact.rule.id,
        )

    def _kinds_of_both(self, fact: Fact) -> str:
        """Words that ask for the sort of thing that was changed for another: what somebody drinks
        now is found where it is told that they switched from coffee to tea."""
        sorts = self._sorts.of(fact.value) | self._sorts.of(fact.previous)
        asked = [each for sort, names in _ASKED_OF.items() if sort in sorts for each in names]
        return " ".join(self._attributes.get(each).aliases for each in asked)

    def _replaces(self, fact: Fact) -> bool:
        """Whether the fact is the right value of a slot that held a wrong one."""
        one = self._attributes.get(fact.attribute).cardinality == "one"
        return one and not fact.negative and fact.corrects

    def _assertion(self, event: Event, whole: str, sentence: Sentence, language: str) -> Assertion:
        """What every assertion of one sentence has in common."""
        quote = whole[sentence.start : sentence.end]
        return Assertion(
            event=event.id,
            ordinal=0,
            scope=event.subject,
            kind="fact",
            value="",
            valid_from=event.time.astimezone(UTC),
            observed_at=event.time,
            trust=event.source.trust,
            source_kind=event.source.kind,
            text="",
            quote=quote,
            context="" if quote == whole.strip() else whole[:LONGEST_CONTEXT],
            span=(sentence.start, sentence.end),
            language=language,
        )

    def _remainder(
        self,
        event: Event,
        whole: str,
        found: Sequence[Sentence],
        left: Sequence[bool],
        speaker: str,
        anchor: datetime | None = None,
    ) -> list[Assertion]:
        if not any(left):
            return []
        if isinstance(event.data, ToolReturned):
            anchor = event.time if event.data.observed_known else None
        keep = kept(found, left, self.books)
        rest = remainder(whole, found, keep, speaker, anchor, self._repairs)
        return [] if rest is None else [_episode(event, whole, rest, speaker)]

    def _stated(self, event: Event, data: MemoryStated) -> list[Assertion]:
        """An explicit save: as it was given, or read like a turn of the user."""
        valid_to = data.valid_to or data.expires_at
        valid_from = data.valid_from or event.time
        if data.attribute and data.value:
            return [self._given(event, data, valid_from, valid_to)]
        turn = TurnRecorded(role="user", text=data.text, actor=data.actor)
        as_turn = msgspec.structs.replace(event, type="turn.recorded", data=turn)
        found = sentences(data.text)
        speaker = Speaker(_speaker_of(event, data.actor))
        assertions, left = self._facts(as_turn, data.text, found, speaker, event.time)
        if not assertions or any(left):
            assertions = [self._verbatim(event, data, speaker)]
        elif any(_denies(each) for each in assertions):
            assertions.append(self._verbatim(event, data, speaker))
        changed: dict[str, datetime] = {}
        if data.valid_from is not None:
            changed["valid_from"] = data.valid_from.astimezone(UTC)
        if valid_to is not None:
            changed["valid_to"] = valid_to.astimezone(UTC)
        return [msgspec.structs.replace(each, **changed) for each in assertions]

    def _given(
        self, event: Event, data: MemoryStated, valid_from: datetime, valid_to: datetime | None
    ) -> Assertion:
        name = self._attributes.named(data.attribute)
        attribute = self._attributes.get(name)
        language = language_of(data.value)
        negative = data.polarity == "negative"
        text = self._attributes.sentence(
            name, data.subject, data.value, qualifier=data.qualifier,
            language=language, negative=negative,
        )  # fmt: skip
        return Assertion(
            event=event.id,
            ordinal=0,
            scope=event.subject,
            kind=attribute.kind,
            subject=data.subject,
            attribute=name,
            value=data.value,
            qualifier=data.qualifier,
            polarity=data.polarity,
            valid_from=valid_from.astimezone(UTC),
            valid_to=None if valid_to is None else valid_to.astimezone(UTC),
            observed_at=event.time,
            trust=event.source.trust,
            source_kind=event.source.kind,
            text=text,
            quote=data.text,
            language=language,
            rule="stated",
        )

    def _verbatim(self, event: Event, data: MemoryStated, speaker: Speaker) -> Assertion:
        language = language_of(data.text)
        text = data.text.strip()
        dates = find_dates(text, event.time, language)
        return Assertion(
            event=event.id,
            ordinal=0,
            scope=event.subject,
            kind="fact",
            subject=data.subject if data.subject != "user" else speaker.name,
            value=text,
            polarity=data.polarity,
            valid_from=event.time.astimezone(UTC),
            observed_at=event.time,
            trust=event.source.trust,
            source_kind=event.source.kind,
            text=annotated(text, dates, event.time.tzinfo or UTC, language),
            quote=text,
            occurred=occurred(dates),
            language=language,
            rule="stated",
        )


def _book(language: Language, files: Sequence[RuleFile]) -> Rulebook:
    others = [file for file in files if file.language != language]
    return Rulebook(language, [file for file in files if file.language == language], others)


def _speaker_of(event: Event, actor: str) -> str:
    """ "user" for the first person, unless another actor is named."""
    if not actor or actor == "user" or actor == _owner_of(event.subject):
        return "user"
    return actor


@lru_cache(maxsize=1 << 10)
def _owner_of(subject: str) -> str:
    return Scope.parse(subject).owner


def _bounding(fact: Fact) -> tuple[DateSpan, ...]:
    """The dates that bound how long a fact is true. What is not so any more is so from now on, or
    since a date, but not since the beginning of "this year"."""
    if fact.rule.dates == "ignored":
        return ()
    if fact.negative and fact.rule.tense == "present" and fact.rule.polarity == "positive":
        return tuple(each for each in fact.dates if each.end is None or each.begins)
    return fact.dates


def _dates_of(fact: Fact, observed: datetime) -> tuple[DateSpan, ...]:
    """When a fact takes place; of a plan, no date that was over when it was told: such a date
    belongs to something else in the sentence."""
    if fact.rule.tense != "future":
        return fact.dates
    return tuple(each for each in fact.dates if each.end is None or each.end > observed)


def _is_announced(fact: Fact, observed: datetime) -> bool:
    """Whether a change is still to come."""
    date = first_resolved(fact.dates)
    return date is not None and date.start is not None and date.start > observed


def _as_plan(fact: Fact) -> Fact:
    """A change that was announced, as the plan it is."""
    planned = fact.rule.planned.replace("{value}", fact.value)
    return msgspec.structs.replace(
        fact, attribute="plan", value=planned, spoken=planned, qualifier="", negative=False,
        previous="", beside=False, withdraws=False, corrects=False,
        rule=msgspec.structs.replace(
            fact.rule, id=f"{fact.rule.id}.planned", text="", text_not="", tense="future",
            dates="occurred", planned="", ends=(),
        ),
    )  # fmt: skip


def _episode(event: Event, whole: str, rest: Remainder, speaker: str) -> Assertion:
    observed = event.time.astimezone(UTC)
    begun = rest.occurred.start if rest.occurred is not None else None
    shown = whole.strip() in rest.text
    kind: Kind = "episode"
    return Assertion(
        event=event.id,
        ordinal=0,
        scope=event.subject,
        kind=kind,
        subject=speaker,
        value=rest.value,
        valid_from=observed if begun is None else min(observed, begun.astimezone(UTC)),
        observed_at=event.time,
        trust=event.source.trust,
        source_kind=event.source.kind,
        text=rest.text,
        quote=rest.value,
        context="" if shown else whole[:LONGEST_CONTEXT],
        span=(rest.start, rest.end),
        occurred=rest.occurred,
        language=rest.language,
        rule="episode",
    )


def _never_was(assertion: Assertion) -> bool:
    """Whether it takes back what may never have been told: "I've never lived in Rome"."""
    return assertion.withdraws and _NEVER.search(assertion.quote) is not None


_NEVER = re.compile(
    r"\bnever\b|没|^(?:actually|in fact|其实)"
    r"(?!.{0,30}(?:misspoke|mistake|wrong|mixed up|说错|记错|口误))",
    re.IGNORECASE,
)


def _denies(assertion: Assertion) -> bool:
    """Whether an assertion says what is not so. That ends an equal value and leaves no memory of
    its own, so its sentence is kept as said too. A withdrawal is not: it takes back what was
    said, and that stays to be seen as retracted; and what another value closes is told by that."""
    closed = assertion.withdraws or assertion.rule.endswith(CLOSES)
    return assertion.polarity == "negative" and not closed


def _once(found: Sequence[Assertion]) -> list[Assertion]:
    """Without what the same event already said."""
    if len(found) < 2:
        return list(found)
    first = {
        (each.subject, each.attribute, each.value, each.qualifier, each.polarity, each.withdraws,
         each.valid_from, each.valid_to, "" if each.value else each.previous): each
        for each in reversed(found)
    }  # fmt: skip
    return list(reversed(first.values()))

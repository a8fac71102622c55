"""What else carries an erased event's content: what must go with it or be scrubbed. Pure.

Erasing one event is asked for by its id, but its words live on in what was recorded about it. Of
the other events of its scope,

* these go with it: a correction that takes back what only the erased said, feedback on a memory
  that only the erased made or that quotes it, a review and a model's answer about an erased event,
  and what a model or a tool said that repeats the erased words;
* these stay and are scrubbed: a served context loses the memories that are gone, and its query
  where that quotes them; a text loses what recall had injected of them (blanked, so that every
  offset in it stays right).

What somebody else, or the same person, said by themselves is a statement of its own: it stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from memstream.schemas.events import (
    ContextServed,
    Event,
    ExtractionAnswered,
    FeedbackGiven,
    MemoryCorrected,
    MemoryStated,
    ReviewDecided,
    Text,
)
from memstream.schemas.ids import content_key, derived_id, served_key
from memstream.schemas.memories import Memory

SHORTEST_QUOTE = 12
"""Bytes of a text from which on another text that holds it is taken to repeat it."""
BLANK = "█"
"""Stands for each character that was scrubbed."""

_MACHINES = ("model_derived", "tool_result")


class Content(msgspec.Struct, frozen=True):
    """What is being erased, by which its carriers are known."""

    events: frozenset[str]
    memories: frozenset[str]
    """Memories that are gone: an erased event opened them."""
    slots: frozenset[tuple[str, str, str]]
    """(subject, attribute, value), as content keys, of what only erased events say."""
    values: tuple[str, ...]
    """Content keys of those values, however short."""
    quotes: tuple[str, ...]
    """Content keys of the erased texts that are long enough to be recognised."""
    served: frozenset[str]
    """Served keys of the erased memories' texts."""

    def quoted_in(self, text: str) -> bool:
        """Whether the text holds any of the erased texts."""
        said = content_key(text)
        return any(each in said for each in self.quotes)

    def mentioned_in(self, text: str) -> bool:
        """Whether the text holds an erased text, or an erased value as a word of its own."""
        said = content_key(text)
        return self.quoted_in(text) or any(_is_word_of(each, said) for each in self.values)


def erased_content(
    events: Mapping[str, Event], versions: Sequence[Memory], erased: frozenset[str]
) -> Content:
    """What the ``erased`` ids stand for. ``events`` are the readable ones of the scope by id,
    ``versions`` its memories, both as they are before the erasure."""
    newest = {each.id: each for each in versions}.values()
    gone = {each.id for each in newest if each.supports and each.supports[0] in erased}
    said = {_slot(each) for each in newest if _is_said_by_others(each, events, erased)}
    slots = {_slot(each) for each in newest if set(each.supports) & erased} - said
    texts = {text for each in erased & events.keys() for text in _texts(events[each].data)}
    for memory in versions:
        if memory.id in gone and _slot(memory) in slots:
            texts |= {memory.text, memory.quote}
    keys = {content_key(each) for each in texts}
    return Content(
        events=erased,
        memories=frozenset(gone),
        slots=frozenset(slots),
        values=tuple(sorted({value for _, _, value in slots if value})),
        quotes=tuple(sorted(each for each in keys if len(each.encode()) >= SHORTEST_QUOTE)),
        served=frozenset(served_key(each.text) for each in versions if each.id in gone),
    )


def _is_said_by_others(memory: Memory, events: Mapping[str, Event], erased: frozenset[str]) -> bool:
    """Whether an event that stays says it; a correction that takes the value back does not."""
    for name in memory.supports:
        event = events.get(name)
        data = None if event is None else event.data
        takes_back = (
            isinstance(data, MemoryCorrected)
            and content_key(data.value) == content_key(memory.value)
            and content_key(data.replacement) != content_key(memory.value)
        )
        if name not in erased and not takes_back:
            return True
    return False


class Plan(msgspec.Struct, frozen=True):
    """All that an erasure of some events does to the others of their scope."""

    content: Content
    with_them: dict[str, str]
    """What goes with them: event id -> why."""
    restated: tuple[Event, ...]
    """What keeps the right side of corrections that go."""
    scrubbed: tuple[str, ...]
    """The events that stay without what is erased."""


def planned(events: Mapping[str, Event], versions: Sequence[Memory], named: Iterable[str]) -> Plan:
    """The plan for erasing the ``named`` events; ``events`` and ``versions`` as above."""
    erased, with_them = set(named), dict[str, str]()
    kept: dict[str, Event] = {}
    while True:
        content = erased_content(events, versions, frozenset(erased))
        found = {
            name: why
            for name, event in events.items()
            if name not in with_them and (why := carries(content, event))
        }
        if not found:
            break
        with_them |= found
        for name in found:
            statement = restated(content, events[name])
            if statement is None:
                erased.add(name)
            else:
                kept[name] = statement
    # Something found later may be what an earlier replacement says.
    kept = {name: each for name in kept if (each := restated(content, events[name])) is not None}
    stay = [each for name, each in events.items() if name not in erased and name not in with_them]
    return Plan(
        content=content,
        with_them=with_them,
        restated=tuple(kept.values()),
        scrubbed=tuple(each.id for each in stay if scrubbed(content, each) is not None),
    )


def carries(content: Content, event: Event) -> str:
    """Why the event must go with what is erased; empty where it need not."""
    data = event.data
    if event.id in content.events:
        return ""
    if isinstance(data, ContextServed):
        return ""
    if isinstance(data, MemoryCorrected):
        slot = (content_key(data.subject), data.attribute, content_key(data.value))
        taken_back = data.memory in content.memories or slot in content.slots
        return "takes back what was erased" if taken_back else ""
    if isinstance(data, FeedbackGiven):
        if data.target in content.memories:
            return "feedback on what was erased"
        return "quotes what was erased" if content.mentioned_in(data.note) else ""
    if isinstance(data, ReviewDecided | ExtractionAnswered) and data.event in content.events:
        return "about an erased event"
    if event.source.kind in _MACHINES:
        text = data.text if isinstance(data, Text) else msgspec.json.encode(data).decode()
        return "repeats what was erased" if content.quoted_in(text) else ""
    return ""


def scrubbed(content: Content, event: Event) -> Event | None:
    """The event without what is erased; None where nothing of it is in there."""
    data: msgspec.Struct = event.data
    if isinstance(data, ContextServed):
        items = tuple(
            each
            for each in data.items
            if each.memory not in content.memories and each.key not in content.served
        )
        query = "" if content.mentioned_in(data.query) else data.query
        if items == data.items and query == data.query:
            return None
        return msgspec.structs.replace(
            event, data=msgspec.structs.replace(data, items=items, query=query)
        )
    if isinstance(data, Text):
        text = data.text
        for start, end in data.served_spans:
            if content.mentioned_in(data.text[start:end]):
                text = text[:start] + BLANK * (end - start) + text[end:]
        if text == data.text:
            return None
        return msgspec.structs.replace(event, data=msgspec.structs.replace(data, text=text))
    return None


def restated_id(scope: str, correction: str) -> str:
    """The id of the event that keeps what an erased correction said is right."""
    return derived_id(scope, correction, "restated")


def restated(content: Content, event: Event) -> Event | None:
    """What a correction said is right, as a statement of its own; None where it says nothing, or
    only what is erased."""
    data = event.data
    if not isinstance(data, MemoryCorrected) or data.action != "replace":
        return None
    if not data.replacement or content.mentioned_in(data.replacement):
        return None
    if content.mentioned_in(data.qualifier):
        return None
    slot = bool(data.attribute)
    return Event(
        id=restated_id(event.subject, event.id),
        type="memory.stated",
        subject=event.subject,
        time=event.time,
        source=event.source,
        data=MemoryStated(
            actor=data.actor,
            text="" if slot else data.replacement,
            subject=data.subject,
            attribute=data.attribute,
            value=data.replacement if slot else "",
            qualifier=data.qualifier,
            valid_from=data.since,
        ),
    )


def _slot(memory: Memory) -> tuple[str, str, str]:
    return content_key(memory.subject), memory.attribute, content_key(memory.value)


def _texts(data: msgspec.Struct) -> list[str]:
    named = (getattr(data, name, "") for name in ("text", "value", "note", "answer"))
    return [each for each in named if isinstance(each, str)]


def _is_word_of(word: str, text: str) -> bool:
    # Only ASCII words have edges; Chinese stands without spaces.
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.ASCII) is not None

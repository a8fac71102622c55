"""Enrich: what makes a memory findable and safe to serve. Entities, lemmas, sensitivity, links.

Adds nothing that the memory's own words do not say; never changes value, validity or status.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

import msgspec

from memstream.processors import versions
from memstream.processors.lexemes import lexemes
from memstream.processors.pipeline import State, key
from memstream.schemas.attributes import Attributes, builtin
from memstream.schemas.events import Event, MemoryChanged
from memstream.schemas.ids import content_key
from memstream.schemas.memories import Memory

MOST_LINKS = 8
_MOST_ENTITIES = 16

_NAME = re.compile(
    r"[A-Z][\w'’&.-]*(?:\s+(?:(?:of|the|de|la|van|von|der|and)\s+)?[A-Z0-9][\w'’&.-]*)*"
)
_TITLE = re.compile(r"《([^》]{1,40})》|「([^」]{1,40})」")
_NOT_NAMES = frozenset(
    """i i'm i've i'd i'll it's that's there's what's let's don't can't won't yes no yeah ok okay hi
    hey hello thanks thank wow oh ah well sure great good nice cool awesome congrats sorry please
    today tomorrow yesterday monday tuesday wednesday thursday friday saturday sunday january
    february march april may june july august september october november december user assistant
    the""".split()
)
_PRIVATE = (
    ("contact", re.compile(r"[\w.+-]+@[\w-]+\.\w+|(?<!\d)(?:\+?\d[\d ()-]{8,}\d)(?!\d)")),
    (
        "health",
        re.compile(
            r"\b(?:allerg|diagnos|disease|depress|anxiety|therap|pregnan|cancer|diabet|medicat"
            r"|surgery|doctor|hospital|asthma)\w*|过敏|医院|生病|抑郁|怀孕|糖尿病|手术|药物|诊断",
            re.IGNORECASE,
        ),
    ),
    (
        "finance",
        re.compile(
            r"\b(?:salary|debt|mortgage|loan|bank account|income)\b|工资|薪水|债|贷款|银行",
            re.IGNORECASE,
        ),
    ),
)
_PERHAPS_PRIVATE = (
    "@", "allerg", "diagnos", "disease", "depress", "anxiety", "therap", "pregnan", "cancer",
    "diabet", "medicat", "surgery", "doctor", "hospital", "asthma", "salary", "debt", "mortgage",
    "loan", "bank account", "income",
)  # fmt: skip
"""One of these stands, in lower case, in any ASCII text that a form of ``_PRIVATE`` fits, or a
run of ``_NUMBER`` does: looking for them is many times faster than trying the forms."""
_NUMBER = re.compile(r"[0-9][0-9 ()-]{8}")
_ATTRIBUTE_SENSITIVITY = {"allergy": "health", "health_condition": "health"}


class Mentions(msgspec.Struct, frozen=True, gc=False):
    """The latest memories of a scope that mention one entity."""

    memories: tuple[str, ...] = ()


class Enrich:
    """The processor: every ``memory.*`` event leaves it with what recall needs."""

    name = "enrich"
    version = versions.ENRICH

    def __init__(self, attributes: Attributes | None = None) -> None:
        self.attributes = attributes or builtin()

    def __call__(self, state: State, event: Event) -> Iterable[Event]:
        if not isinstance(event.data, MemoryChanged):
            return (event,)
        memory = event.data.memory
        entities = entities_of(memory)
        enriched = msgspec.structs.replace(
            memory,
            entities=entities,
            lemmas=tuple(lexemes(self._words_of(memory))),
            sensitivity=sensitivity_of(memory),
            links=_linked(state, memory, entities),
        )
        return (msgspec.structs.replace(event, data=MemoryChanged(memory=enriched)),)

    def _words_of(self, memory: Memory) -> str:
        aliases = self.attributes.get(memory.attribute).aliases if memory.attribute else ""
        return f"{memory.text} {aliases}"


def entities_of(memory: Memory) -> tuple[str, ...]:
    """Names in the memory's text, as written, first mention first."""
    found: dict[str, str] = {}
    for match in _NAME.finditer(memory.text):
        name = match.group().rstrip(".'’&-")
        words = name.split()
        while words and words[0].lower() in _not_names():
            words = words[1:]
        if words and len(" ".join(words)) > 1:
            found.setdefault(content_key(" ".join(words)), " ".join(words))
    for match in _TITLE.finditer(memory.text):
        title = match.group(1) or match.group(2)
        found.setdefault(content_key(title), title)
    return tuple(found.values())[:_MOST_ENTITIES]


@cache
def _not_names() -> frozenset[str]:
    """Words in lower case that begin no name. spaCy comes with them once a name is looked for:
    importing it takes longer than most of what a short command does."""
    from spacy.lang.en.stop_words import STOP_WORDS

    return _NOT_NAMES | STOP_WORDS


def sensitivity_of(memory: Memory) -> str:
    """ "normal", or what makes the memory delicate: "health", "finance", "contact"."""
    known = _ATTRIBUTE_SENSITIVITY.get(memory.attribute)
    if known:
        return known
    text = memory.text
    if text.isascii() and not _may_be_private(text.lower()):
        return "normal"
    return next((kind for kind, form in _PRIVATE if form.search(text)), "normal")


def _may_be_private(lowered: str) -> bool:
    for sign in _PERHAPS_PRIVATE:
        if sign in lowered:
            return True
    return _NUMBER.search(lowered) is not None


def _linked(state: State, memory: Memory, entities: tuple[str, ...]) -> tuple[str, ...]:
    """Other memories of the scope that share an entity, the latest first; at most MOST_LINKS.

    The speaker's own name links everything to everything, so it links nothing.
    """
    links: dict[str, None] = {}
    speaker = content_key(memory.subject)
    for entity in entities:
        name = content_key(entity)
        if name == speaker:
            continue
        place = key(memory.scope, "entity", name)
        before = (state.get(place, Mentions) or Mentions()).memories
        links |= dict.fromkeys(each for each in before if each != memory.id)
        if memory.id not in before:
            state.put(place, Mentions((memory.id, *before)[:MOST_LINKS]))
    return tuple(links)[:MOST_LINKS]

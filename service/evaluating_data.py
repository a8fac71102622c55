"""The data sets of an evaluation: conversations, and questions with the ids of their evidence.

LoCoMo and MADial-Bench as their authors publish them, and ``jsonl``, which anybody can write (see
docs/evaluation.md). What was said is read by the importers that an application uses.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from memstream.schemas.errors import Fault, ImportFault, MemstreamError
from memstream.schemas.events import Event, Text
from memstream.schemas.instants import parse_instant
from memstream.schemas.scope import OWNERS, Scope
from memstream.streams.importers import Broken, Imported, read_file
from memstream.streams.importers.own_jsonl import event_from_short

TENANT = "evaluation"


class Question(msgspec.Struct, frozen=True):
    """One question, and the ids of the turns that hold its answer; none where the conversation
    does not answer it. ``as_of`` None asks just after the conversation ended."""

    text: str
    category: str
    evidence: tuple[str, ...]
    as_of: datetime | None = None


class Dialogue(msgspec.Struct, frozen=True):
    """One conversation in a scope of its own: what was said, and the questions. ``raw`` is its own
    JSON as the importer ``importer`` reads it, or else ``events`` are given.

    ``unanswerable`` tells whether a question without evidence is one that should find nothing; in
    LoCoMo its evidence was only misspelt.
    """

    name: str
    questions: tuple[Question, ...]
    raw: Any = None
    importer: str = ""
    events: tuple[Event, ...] = ()
    notes: tuple[str, ...] = ()
    path: str = ""
    unanswerable: bool = False

    @property
    def scope(self) -> Scope:
        """Where its events go."""
        return Scope.parse(self.path) if self.path else Scope(tenant=TENANT, user=self.name)

    def read(self, folder: Path, now: datetime) -> list[Event]:
        """Its events, by its importer. Raises ``ImportFault``."""
        if self.raw is None:
            return list(self.events)
        file = folder / "conversation.json"
        file.write_text(json.dumps(self.raw, ensure_ascii=False), encoding="utf-8")
        events: list[Event] = []
        for item in read_file(file, scope=self.scope, now=now, format=self.importer):
            if isinstance(item, Broken):
                raise ImportFault(f"{self.name}: {item.where}: {item.problem}")
            if isinstance(item, Imported):
                events.append(item.event)
        return events


def origin(event: Event) -> str:
    """The id by which questions name an event: the turn's own id in the data set, else the
    event's."""
    return (event.data.origin if isinstance(event.data, Text) else "") or event.id


# LoCoMo (Maharana et al., "Evaluating Very Long-Term Conversational Memory of LLM Agents", 2024).
# Category 5 asks for what was never said, so it has no evidence to find and is left out.

_LOCOMO_CATEGORIES: Mapping[int, str] = {
    1: "1 multi-hop",
    2: "2 temporal",
    3: "3 open-domain",
    4: "4 single-hop",
}
_TURN_ID = re.compile(r"D\s*:?\s*(\d+)\s*:\s*(\d+)")
_ID_LIKE = re.compile(r"[^\s;,]+")


def _locomo(path: Path) -> list[Dialogue]:
    try:
        samples = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ImportFault(
            f"{path}: cannot be read as LoCoMo: {error}; mend: name its format, one of "
            f"{', '.join(FORMATS)}"
        ) from error
    samples = samples if isinstance(samples, list) else [samples]
    for at, sample in enumerate(samples):
        if not isinstance(sample, dict) or not isinstance(sample.get("conversation"), dict):
            raise ImportFault(
                f"{path}: sample {at} has no conversation; mend: give the data set's own file, a "
                "list of objects with conversation and qa"
            )
    return [_locomo_dialogue(sample, at) for at, sample in enumerate(samples)]


def _locomo_dialogue(sample: Mapping[str, Any], at: int) -> Dialogue:
    name = str(sample.get("sample_id") or f"sample-{at}")
    turns = {
        str(turn["dia_id"])
        for key, session in sample["conversation"].items()
        if isinstance(session, list)
        for turn in session
        if isinstance(turn, dict) and "dia_id" in turn
    }
    questions: list[Question] = []
    unknown: list[str] = []
    for asked in sample.get("qa") or ():
        category = _LOCOMO_CATEGORIES.get(asked.get("category"))
        if category is None:
            continue
        known, strange = _locomo_evidence(asked.get("evidence") or (), turns)
        unknown += strange
        evidence = tuple(f"{name}/{each}" for each in known)
        questions.append(Question(str(asked["question"]), category, evidence))
    notes: tuple[str, ...] = ()
    if unknown:
        named = ", ".join(map(repr, unknown))
        notes = (f"{name}: {len(unknown)} evidence ids that name no turn were left out: {named}",)
    # The importer is given what was said and no more: the rest of a sample are answers.
    raw = {"sample_id": name, "conversation": sample["conversation"]}
    return Dialogue(name, tuple(questions), raw, "locomo", notes=notes)


def _locomo_evidence(given: Sequence[Any], turns: set[str]) -> tuple[list[str], list[str]]:
    """(ids of turns, ids that name none). Several ids may stand in one string, and be misspelt."""
    known: dict[str, None] = {}
    strange: list[str] = []
    for text in map(str, given):
        found = [f"D{int(session)}:{int(turn)}" for session, turn in _TURN_ID.findall(text)]
        strange += [each for each in found if each not in turns]
        known |= dict.fromkeys(each for each in found if each in turns)
        strange += _ID_LIKE.findall(_TURN_ID.sub(" ", text))
    return list(known), strange


# MADial-Bench (He et al., "MADial-Bench: Towards Real-world Evaluation of Memory-Augmented Dialogue
# Generation", 2024). A question is what was said up to the turn in which the assistant should
# remember something; its category is the scene of the first memory that fits.

_LINE = re.compile(r"\s*<[^<>]+>\s*[:：]?\s*(.*?)\s*", re.DOTALL)


def _madial(language: str) -> Callable[[Path], list[Dialogue]]:
    def read(path: Path) -> list[Dialogue]:
        folder = path if path.is_dir() else path.parent
        stem = f"MADial-Bench-{language}"
        notes: dict[str, Any] = {}
        for record in _values(folder / f"{stem}-memory.json"):
            notes |= record
        questions: list[Question] = []
        for at, record in enumerate(_values(folder / f"{stem}-dialogue.json")):
            lines = record["dialogue"]
            relevant = tuple(str(each) for each in record["relevant-id"] if str(each) in notes)
            scene = str(notes[relevant[0]].get("scene", "")) if relevant else ""
            for turn in record["test-turn"]:
                said = [_words(line) for line in lines[: int(turn)]]
                text = "\n".join(each for each in said if each)
                if not text:
                    raise ImportFault(f"{folder}: dialogue {at}: nothing is said before {turn}")
                questions.append(Question(text, scene or "without scene", relevant))
        return [Dialogue(f"madial-{language}", tuple(questions), notes, "madial")]

    return read


def _values(path: Path) -> Iterator[dict[str, Any]]:
    """The JSON objects of a file in which they follow one another."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ImportFault(
            f"{path}: {error.strerror}; mend: name the folder with the four files of MADial-Bench"
        ) from error
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        if text[at].isspace() or text[at] in ",[]":
            at += 1
            continue
        try:
            value, at = decoder.raw_decode(text, at)
        except ValueError as error:
            raise ImportFault(f"{path}: {error}") from error
        yield value


def _words(line: str) -> str:
    match = _LINE.fullmatch(line)
    return (match[1] if match else line).strip(' \n"“”')


# jsonl: one object a line, an event in the short form or a question.

_QUESTION_FIELDS = ("question", "evidence", "scope", "category", "as_of")


def _jsonl(path: Path) -> list[Dialogue]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise ImportFault(f"{path}: cannot be read: {error}") from error
    events: dict[str, list[Event]] = {}
    questions: dict[str, list[Question]] = {}
    for number, line in enumerate(lines, 1):
        where = f"{path}, line {number}"
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except ValueError as error:
            raise ImportFault(f"{where}: {error}") from error
        if not isinstance(value, dict) or not isinstance(value.get("scope"), dict):
            raise ImportFault(
                f'{where}: expected an object with a scope, e.g. {{"scope": {{"user": "ann"}}}}'
            )
        value["scope"] = {"tenant": TENANT, **value["scope"]}
        scope = _scope_of(value["scope"], where)
        if "question" in value:
            questions.setdefault(scope, []).append(_question(value, where))
        else:
            if "text" in value:
                value = {"type": "turn.recorded", **value}
                value["data"] = {"text": value.pop("text"), **value.get("data", {})}
            try:
                event = event_from_short(value, where=where)
            except MemstreamError as error:
                raise ImportFault(str(error)) from error
            events.setdefault(scope, []).append(event)
    told = {origin(event) for each in events.values() for event in each}
    if events:
        for each in questions.values():
            for one in each:
                missing = [name for name in one.evidence if name not in told]
                if missing:
                    raise ImportFault(
                        f"{path}: question {one.text!r} names evidence {missing[0]!r}, which is "
                        "no event of this file; mend: give the id of an event"
                    )
    return [
        Dialogue(
            name=scope.partition("/")[2],
            questions=tuple(questions.get(scope, ())),
            events=tuple(events.get(scope, ())),
            path=scope,
            unanswerable=True,
        )
        for scope in dict.fromkeys((*events, *questions))
    ]


def _scope_of(parts: Mapping[str, Any], where: str) -> str:
    unknown = sorted(set(parts) - {"tenant", *OWNERS})
    if unknown or not all(isinstance(each, str) for each in parts.values()):
        raise ImportFault(f"{where}: scope {parts!r}; expected tenant and one of {OWNERS}")
    try:
        return Scope(**parts).path
    except MemstreamError as error:
        raise ImportFault(f"{where}: {error}") from error


def _question(value: Mapping[str, Any], where: str) -> Question:
    unknown = sorted(set(value) - set(_QUESTION_FIELDS))
    if unknown:
        raise ImportFault(
            f"{where}: {unknown[0]!r} is no field of a question; known: "
            f"{', '.join(_QUESTION_FIELDS)}"
        )
    text, evidence = value["question"], value.get("evidence")
    listed = isinstance(evidence, list) and all(isinstance(each, str) for each in evidence)
    if not isinstance(text, str) or not text.strip() or not listed:
        raise ImportFault(
            f"{where}: expected question, a text, and evidence, the ids of the events that answer "
            "it ([] where none does)"
        )
    as_of = parse_instant("as_of", value["as_of"]) if "as_of" in value else None
    if isinstance(as_of, Fault):
        raise ImportFault(f"{where}: {as_of}")
    category = str(value.get("category") or "all")
    return Question(text, category, tuple(dict.fromkeys(evidence or ())), as_of)


FORMATS: dict[str, Callable[[Path], list[Dialogue]]] = {
    "locomo": _locomo,
    "madial-zh": _madial("zh"),
    "madial-en": _madial("en"),
    "jsonl": _jsonl,
}
"""Every data set that can be asked, by the name of its format."""

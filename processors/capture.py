"""Capture: what a producer does to an event before the log sees it. Pure.

Text is made valid Unicode, secrets are cut out, trust is clamped to what the source may have,
oversize text is split. `capture` is idempotent: what it returns, it returns unchanged. Input it
cannot accept raises `InvalidEvent` naming every fault; input it accepts is never lost.

`redactions` always lists the placeholders that stand in the text, whoever put them there, so it
means the same however often an event is captured. For a statement or a tool's arguments its
offsets count in the field (or argument) that holds the placeholder.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import lru_cache
from typing import Any, get_args

import msgspec

from memstream.processors.cleaning import clean_text
from memstream.processors.secrets import find_secrets, is_secret_name, placeholder, placeholders
from memstream.processors.splitting import pieces_of
from memstream.schemas.codec import typed, validated
from memstream.schemas.errors import Fault, InvalidEvent, InvalidScope
from memstream.schemas.events import (
    RAW_TYPES,
    TRUST_CEILING,
    ContextServed,
    Data,
    Event,
    MemoryCorrected,
    MemoryStated,
    Part,
    Redaction,
    ServedItem,
    Source,
    SourceKind,
    Text,
    ToolCalled,
    ToolReturned,
    TurnRecorded,
)
from memstream.schemas.ids import derived_id
from memstream.schemas.scope import Scope

__all__ = ["capture", "clean_text", "decode_text"]

LARGEST_PART_BYTES = 65_536
_SMALLEST_PART_BYTES = 64
_DEEPEST_ARGUMENTS = 64

Span = tuple[int, int]
Spans = tuple[Span, ...]


def capture(event: Event, *, largest_part: int = LARGEST_PART_BYTES) -> list[Event]:
    """The events to append for one event as the API or an importer built it.

    One event, or several where its text has more than ``largest_part`` UTF-8 bytes (at least
    64): the first part keeps the id, the others have those of ``Part.ids``. Joined, the parts are
    the cleaned text; ``Part.offset`` counts its characters.

    Raises ``InvalidEvent`` with all faults of the event.
    """
    if largest_part < _SMALLEST_PART_BYTES:
        raise ValueError(
            f"largest_part is {largest_part} bytes; expected at least {_SMALLEST_PART_BYTES}"
        )
    faults = _faults_of(event)
    if faults:
        # What the codec has to say belongs to the same answer, as far as it can be said at all.
        raise InvalidEvent(_named(event), faults + _further_faults(event, faults))
    source = _clamped(event)
    data, cuts = _captured(event.data, largest_part, faults)
    if faults:
        raise InvalidEvent(_named(event), faults)
    if source is not event.source or data is not event.data:
        event = msgspec.structs.replace(event, source=source, data=data)
    events = [event] if len(cuts) < 2 else _pieces(event, cuts)
    where = _named(event)
    return [typed(validated(each, where=where), where=where) for each in events]


def decode_text(raw: bytes, where: str) -> str:
    """The text of UTF-8 bytes. Raises ``InvalidEvent`` naming the byte that is not UTF-8."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        broken = raw[error.start : error.start + 1].hex()
        fault = Fault(
            "$.text",
            f"is not UTF-8: byte 0x{broken} at offset {error.start} of {len(raw)}",
            "convert the input to UTF-8, e.g. iconv -f GB18030 -t UTF-8",
        )
        raise InvalidEvent(where, [fault]) from error


# --- the content of each type ---------------------------------------------------------------------

_CONTENT: dict[type[Data], tuple[str, ...]] = {
    kind: tuple(
        name
        for name in (
            "text",
            "subject",
            "attribute",
            "value",
            "qualifier",
            "replacement",
            "query",
            "note",
            "reason",
            "prompt",
            "answer",
        )
        if name in kind.__struct_fields__
    )
    for kind in RAW_TYPES.values()
}
"""Fields that people and models write: cleaned and redacted."""
_LABELS: dict[type[Data], tuple[str, ...]] = {
    kind: tuple(
        name
        for name in (
            "actor",
            "conversation",
            "origin",
            "tool",
            "call",
            "target",
            "memory",
            "reviewer",
            "event",
            "model",
            "generation",
        )
        if name in kind.__struct_fields__
    )
    for kind in RAW_TYPES.values()
}
"""Fields that programs write, to name things: cleaned."""
_TEXT_FIELDS = {kind: _CONTENT[kind] + _LABELS[kind] for kind in RAW_TYPES.values()}


def _captured(data: Data, limit: int, faults: list[Fault]) -> tuple[Data, list[Span]]:
    """The data cleaned and redacted, and the [start, end) of its parts where it must be split."""
    kind = type(data)
    changes: dict[str, Any] = {}
    for name in _LABELS[kind]:
        value = getattr(data, name)
        if value and (cleaned := clean_text(value)) != value:
            changes[name] = cleaned
    if isinstance(data, Text):
        return _captured_text(data, changes, limit)
    redactions: list[Redaction] = []
    secret_slot = isinstance(data, MemoryStated | MemoryCorrected) and is_secret_name(
        data.attribute.strip()
    )
    for name in _CONTENT[kind]:
        value = getattr(data, name)
        if not value:
            continue
        cleaned = _redacted(clean_text(value))
        if secret_slot and name in ("value", "replacement") and not _is_placeholder(cleaned):
            cleaned = placeholder("password")
        redactions += _redactions(cleaned)
        if cleaned != value:
            changes[name] = cleaned
    if isinstance(data, ToolCalled):
        arguments = _arguments(data.arguments, "$.data.arguments", 0, redactions, faults)
        if arguments != data.arguments:
            changes["arguments"] = arguments
    if isinstance(data, ContextServed) and any(item.key for item in data.items):
        items = tuple(_cleaned_item(item) for item in data.items)
        if items != data.items:
            changes["items"] = items
    if isinstance(data, MemoryStated | ToolCalled) and data.redactions != tuple(redactions):
        changes["redactions"] = tuple(redactions)
    if changes:
        data = msgspec.structs.replace(data, **changes)
    if isinstance(data, MemoryStated):
        return data, _cuts_of_statement(data, limit, faults)
    return data, []


def _cleaned_item(item: ServedItem) -> ServedItem:
    cleaned = clean_text(item.key)
    return item if cleaned == item.key else msgspec.structs.replace(item, key=cleaned)


def _captured_text(data: Text, changes: dict[str, Any], limit: int) -> tuple[Text, list[Span]]:
    given = data.text
    text = clean_text(given)
    spans = _merged(data.served_spans)
    if text is not given and text != given:
        spans = _merged(
            (len(clean_text(given[:start])), min(len(text), len(clean_text(given[:end]))))
            for start, end in spans
        )
    text, spans = _redact_with_spans(text, spans)
    pieces: list[Span] = []
    if len(text) * 4 > limit and len(text.encode()) > limit:
        pieces = pieces_of(text, limit)
        while hidden := _secrets_of_pieces(text, pieces):
            text, spans = _replaced(text, spans, hidden)
            pieces = pieces_of(text, limit)
    if text != given:
        changes["text"] = text
    if spans != data.served_spans:
        changes["served_spans"] = spans
    redactions = tuple(_redactions(text))
    if redactions != data.redactions:
        changes["redactions"] = redactions
    if changes:
        data = msgspec.structs.replace(data, **changes)
    return data, pieces


def _cuts_of_statement(data: MemoryStated, limit: int, faults: list[Fault]) -> list[Span]:
    """A free text that is too long becomes several statements; a value cannot be split."""
    for name in ("subject", "attribute", "value", "qualifier"):
        size = len(getattr(data, name).encode())
        if size > limit:
            faults.append(
                Fault(
                    f"$.data.{name}", f"has {size} bytes; at most {limit}", "state it as free text"
                )
            )
    return pieces_of(data.text, limit) if len(data.text.encode()) > limit else []


def _pieces(event: Event, cuts: list[Span]) -> list[Event]:
    """The events that an oversize text becomes. What names the whole leaves out when it was said,
    which a repeated call may tell otherwise."""
    data, source, replace = event.data, event.source, msgspec.structs.replace
    assert isinstance(data, Text | MemoryStated), "nothing else is cut"
    said = msgspec.json.encode(data, order="deterministic").decode()
    whole = derived_id(event.type, source.kind, str(source.trust), said)
    base = data.part.offset if data.part else 0
    first = Part(0, len(cuts), base, event.id, whole)
    pieces: list[Event] = []
    for index, (name, (start, end)) in enumerate(
        zip(first.ids(event.subject, event.id), cuts, strict=True)
    ):
        piece = replace(
            data,
            text=clean_text(data.text[start:end]),  # a chain of joined pictures can be cut in two
            redactions=tuple(_redactions(data.text[start:end])),
            part=replace(first, index=index, offset=base + start),
        )
        if isinstance(piece, Text):
            piece = replace(piece, served_spans=_within(piece.served_spans, start, end))
        pieces.append(replace(event, id=name, data=piece))
    return pieces


def _arguments(
    value: Any, path: str, depth: int, redactions: list[Redaction], faults: list[Fault]
) -> Any:
    """JSON arguments with every string in them cleaned and redacted."""
    if isinstance(value, str):
        cleaned = _redacted(clean_text(value))
        redactions += _redactions(cleaned)
        return cleaned
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else str(value)
    if depth >= _DEEPEST_ARGUMENTS:
        faults.append(Fault(path, f"is nested deeper than {_DEEPEST_ARGUMENTS} levels"))
        return None
    if isinstance(value, list | tuple):
        return [
            _arguments(item, f"{path}[{index}]", depth + 1, redactions, faults)
            for index, item in enumerate(value)
        ]
    if isinstance(value, dict):
        return {
            clean_text(str(name)): _argument(str(name), item, path, depth, redactions, faults)
            for name, item in value.items()
        }
    problem = f"{type(value).__name__} is no JSON value"
    faults.append(Fault(path, problem, "give text, numbers, lists, objects"))
    return None


def _argument(
    name: str, item: Any, path: str, depth: int, redactions: list[Redaction], faults: list[Fault]
) -> Any:
    if isinstance(item, str) and item.strip() and is_secret_name(name.strip()):
        cleaned = _redacted(clean_text(item))
        if not _is_placeholder(cleaned):
            cleaned = placeholder("password")
        redactions += _redactions(cleaned)
        return cleaned
    return _arguments(item, f"{path}.{name}", depth + 1, redactions, faults)


# --- redaction and spans --------------------------------------------------------------------------


def _is_placeholder(text: str) -> bool:
    found = placeholders(text)
    return len(found) == 1 and found[0][:2] == (0, len(text))


def _redacted(text: str) -> str:
    return _redact_with_spans(text, ())[0]


def _redact_with_spans(text: str, spans: Spans) -> tuple[str, Spans]:
    """Redacts until nothing is found. Ends: each round leaves less that is no placeholder."""
    while found := find_secrets(text):
        text, spans = _replaced(text, spans, found)
    return text, spans


def _redactions(text: str) -> list[Redaction]:
    return [Redaction(kind, start, end) for start, end, kind in placeholders(text)]


def _replaced(text: str, spans: Spans, found: list[tuple[int, int, str]]) -> tuple[str, Spans]:
    """The text with each found stretch replaced by its placeholder, and where the spans went."""
    pieces: list[str] = []
    moves: list[tuple[int, int, int, int]] = []
    position = length = 0
    for start, end, kind in found:
        mark = placeholder(kind)
        pieces += (text[position:start], mark)
        length += start - position
        moves.append((start, end, length, length + len(mark)))
        length += len(mark)
        position = end
    pieces.append(text[position:])

    def moved(place: int, *, is_end: bool) -> int:
        shift = 0
        for start, end, new_start, new_end in moves:
            if place <= start:
                break
            if place < end:
                # Inside a secret: the whole placeholder belongs to the span.
                return new_end if is_end else new_start
            shift = new_end - end
        return place + shift

    return "".join(pieces), _merged(
        (moved(start, is_end=False), moved(end, is_end=True)) for start, end in spans
    )


def _merged(spans: Iterable[Span]) -> Spans:
    """In order, empty ones dropped, touching and overlapping ones joined."""
    merged: list[Span] = []
    for start, end in sorted((int(start), int(end)) for start, end in spans):
        if start >= end:
            continue
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)


def _within(spans: Spans, start: int, end: int) -> Spans:
    return tuple(
        (max(first, start) - start, min(last, end) - start)
        for first, last in spans
        if first < end and start < last
    )


def _secrets_of_pieces(text: str, pieces: list[Span]) -> list[tuple[int, int, str]]:
    """Secrets that show only in a part by itself: a cut can strip what hid them."""
    return [
        (start + first, start + last, kind)
        for start, end in pieces
        for first, last, kind in find_secrets(text[start:end])
    ]


# --- faults ---------------------------------------------------------------------------------------

_KINDS = get_args(SourceKind)


def _named(event: Event) -> str:
    return f"event {str(event.id)[:80].encode('ascii', 'backslashreplace').decode()}"


def _faults_of(event: Event) -> list[Fault]:
    """Faults that would make cleaning impossible, or that the codec does not look for."""
    faults: list[Fault] = []
    for name in ("id", "type", "subject"):
        value: object = getattr(event, name)
        if not isinstance(value, str):
            faults.append(Fault(f"$.{name}", f"expected text, got {type(value).__name__}"))
        elif name == "id" and clean_text(value) != value:
            faults.append(
                Fault("$.id", "has characters that cannot be kept", "give visible Unicode in NFC")
            )
        elif name == "id" and value and not value.strip():
            faults.append(Fault("$.id", "is blank", "give one that can be asked for"))
        elif name == "subject" and (problem := _fault_of_scope(value)):
            faults.append(Fault("$.subject", problem))
    trust: object = event.source.trust
    if not isinstance(trust, int) or isinstance(trust, bool):
        faults.append(Fault("$.trust", f"expected a whole number, got {trust!r}"))
    expected = None if faults and faults[0].path == "$.type" else RAW_TYPES.get(event.type)
    if expected is None:
        known = ", ".join(sorted(RAW_TYPES))
        faults.append(Fault("$.type", f"{event.type!r} is no raw event type", f"known: {known}"))
    elif type(event.data) is expected:
        for name in _TEXT_FIELDS[expected]:
            content: object = getattr(event.data, name)
            if not isinstance(content, str):
                mend = "decode it, see decode_text" if isinstance(content, bytes) else ""
                faults.append(
                    Fault(f"$.data.{name}", f"expected text, got {type(content).__name__}", mend)
                )
        if isinstance(event.data, Text):
            faults += _faults_of_spans(event.data)
        if isinstance(event.data, MemoryStated):
            faults += _faults_of_validity(event.data, event.time)
    return faults


def _faults_of_validity(data: MemoryStated, said_at: object) -> Iterator[Fault]:
    """A statement that ends before it begins would hold at no time, yet end what holds."""
    start: object = data.valid_from or said_at
    for name in ("valid_to", "expires_at"):
        end: object = getattr(data, name)
        if not isinstance(start, datetime) or not isinstance(end, datetime):
            continue  # the codec tells what is wrong with the type
        if start.utcoffset() is None or end.utcoffset() is None or end > start:
            continue
        problem = f"{end.isoformat()} is not after {start.isoformat()}, from when it holds"
        yield Fault(f"$.data.{name}", problem, "give a later one, or an earlier valid_from")


def _faults_of_spans(data: Text) -> list[Fault]:
    faults = []
    length = len(data.text) if data.served_spans else 0
    for index, span in enumerate(data.served_spans):
        try:
            start, end = span
            good = 0 <= start <= end <= length
        except (TypeError, ValueError):
            good = False
        if not good:
            problem = f"{span!r} is no [start, end) of the text's {length} characters"
            faults.append(Fault(f"$.data.served_spans[{index}]", problem))
    return faults


def _further_faults(event: Event, faults: list[Fault]) -> list[Fault]:
    """The codec's faults, less those already found."""
    if any(fault.path in ("$.id", "$.trust") and "expected" in fault.problem for fault in faults):
        return []
    known = {fault.path for fault in faults}
    try:
        validated(event)
    except InvalidEvent as error:
        return [fault for fault in error.faults if fault.path not in known]
    return []


@lru_cache(maxsize=4096)
def _fault_of_scope(subject: str) -> str:
    try:
        Scope.parse(subject)
    except InvalidScope as error:
        return str(error)
    return ""


_NATURE: tuple[tuple[Callable[[Data], bool], SourceKind], ...] = (
    (lambda data: isinstance(data, TurnRecorded) and data.role == "assistant", "model_derived"),
    (lambda data: isinstance(data, ToolReturned), "tool_result"),
)
"""What a text is by nature, whatever kind its producer stamped: a model's or a tool's words are
never trusted like a person's (law 7)."""


def _clamped(event: Event) -> Source:
    source = event.source
    ceiling = TRUST_CEILING.get(source.kind)
    if ceiling is None:
        return source  # the codec names the known kinds
    if source.kind != "admin_edit":
        for holds, nature in _NATURE:
            if holds(event.data):
                ceiling = min(ceiling, TRUST_CEILING[nature])
    runtime, run = clean_text(source.runtime), clean_text(source.run)
    if source.trust <= ceiling and runtime == source.runtime and run == source.run:
        return source
    return Source(source.kind, min(source.trust, int(ceiling)), runtime, run)

"""memstream's own files: one event a line, as a CloudEvents object or in the short form.

The CloudEvents form is what an export writes and is read strictly by the codec. The short form is
for writing by hand: ``{"id", "type", "scope": {...}, "observed_at", "source", "role", "data"}``.
Both name their own scope. Derived events are refused: the pipeline makes them again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import msgspec

from memstream.schemas.codec import Codec, validated
from memstream.schemas.errors import Fault, InvalidEvent, InvalidScope, MemstreamError
from memstream.schemas.events import (
    RAW_TYPES,
    TRUST_CEILING,
    Data,
    Event,
    Source,
    SourceKind,
    TurnRecorded,
)
from memstream.schemas.instants import parse_instant
from memstream.schemas.scope import Scope
from memstream.streams.importers.contract import Broken, Imported, Importer, Item, Records
from memstream.streams.importers.event_making import Making, name_of, whole_text

FIELDS = {"id", "type", "scope", "observed_at", "source", "trust", "role", "actor", "data",
          "conversation", "origin", "runtime", "run"}  # fmt: skip
"""The keys of the short form."""
WIRE_FIELDS = {"specversion", "id", "type", "subject", "time", "source", "sourcekind", "trust",
               "dataversion", "datacontenttype", "recordedtime", "data", "keyid", "sealalg",
               "data_base64"}  # fmt: skip
"""The keys of the CloudEvents form."""
_ROLES = {"user_said": "user", "admin_edit": "user", "model_derived": "assistant"}
_INTO_DATA = ("role", "actor", "conversation", "origin")
_LONGEST_TEXT = 100_000_000


def event_from_short(raw: Mapping[str, Any], *, where: str) -> Event:
    """The event of one object in the short form. Text is passed on as it is, lone surrogates too.

    ``source`` is a source kind, ``user_said`` where it is missing; ``trust`` is the most that kind
    may have, where it is missing. In ``data``, ``text_parts`` are joined to ``text`` and
    ``repeat`` repeats it that often. A turn without a role is the user's where the user said it,
    the assistant's where a model did, else the system's; other types have no role, and one given
    to them says nothing. Raises ``InvalidScope``, or ``InvalidEvent`` with every fault
    found.
    """
    known = f"known: {', '.join(sorted(FIELDS))}"
    strange = sorted(str(name) for name in raw if name not in FIELDS)
    faults = [
        Fault(f"$.{name}", "is no field of an event", known if name == strange[-1] else "")
        for name in strange
    ]
    event_id, event_type = (_needed_text(raw, name, faults) for name in ("id", "type"))
    if event_type and event_type not in RAW_TYPES:
        known = f"known: {', '.join(sorted(RAW_TYPES))}"
        faults.append(Fault("$.type", f"{event_type!r} is no type of raw event", known))
        event_type = ""
    observed = _observed(raw, faults)
    source = _source(raw, faults)
    scope = _scope(raw.get("scope"), where)
    data = _data(raw, event_type, faults) if event_type else None
    if faults or observed is None or source is None or data is None:
        raise InvalidEvent(where, faults or [Fault("$.data", "is missing")])
    event = Event(
        id=event_id, type=event_type, subject=scope.path, time=observed, source=source, data=data
    )
    return validated(event, where=where)


def _claims(values: list[Any]) -> bool:
    return any(_is_wire(value) or _is_short(value) for value in values)


def _is_wire(value: Any) -> bool:
    return isinstance(value, dict) and "specversion" in value and "subject" in value


def _is_short(value: Any) -> bool:
    return (
        isinstance(value, dict) and str(value.get("type")) in RAW_TYPES and "observed_at" in value
    )


def _read(records: Records, making: Making) -> Iterator[Item]:
    codec = Codec()
    for record in records:
        if isinstance(record, Broken):
            yield record
            continue
        try:
            event = _event(record.value, record.where, codec, making.scope)
        except MemstreamError as error:
            yield Broken(record.where, str(error).removeprefix(f"{record.where}: "))
            continue
        if event.subject != making.scope.path:
            making.note(f"events of this file name scopes of their own, e.g. {event.subject}")
        yield Imported(event, record.where)


def _event(value: Any, where: str, codec: Codec, scope: Scope) -> Event:
    if not isinstance(value, dict):
        raise InvalidEvent(where, [Fault("$", "expected a JSON object")])
    if "specversion" not in value:
        if "scope" not in value:
            value = {**value, "scope": {"tenant": scope.tenant, scope.kind: scope.owner}}
        return event_from_short(value, where=where)
    try:
        event = codec.from_envelope(_repaired(value), where=where)
    except RecursionError as error:
        raise InvalidEvent(where, [Fault("$.data", "is nested too deep to be read")]) from error
    if event.type not in RAW_TYPES:
        mend = "leave derived events out; the pipeline makes them again"
        raise InvalidEvent(where, [Fault("$.type", f"{event.type} is derived", mend)])
    return msgspec.structs.replace(event, recordedtime=None)


def _repaired(value: Any) -> Any:
    """The value with lone surrogates replaced, which the codec cannot take."""
    if isinstance(value, str):
        return whole_text(value)
    if isinstance(value, dict):
        return {_repaired(name): _repaired(inner) for name, inner in value.items()}
    return [_repaired(inner) for inner in value] if isinstance(value, list) else value


def _needed_text(raw: Mapping[str, Any], name: str, faults: list[Fault]) -> str:
    value = raw.get(name)
    if isinstance(value, str) and value:
        return value
    faults.append(Fault(f"$.{name}", "is missing" if value is None else "expected text"))
    return ""


def _observed(raw: Mapping[str, Any], faults: list[Fault]) -> datetime | None:
    text = _needed_text(raw, "observed_at", faults)
    instant = parse_instant("$.observed_at", text) if text else None
    if isinstance(instant, Fault):
        faults.append(instant)
        return None
    return instant


def _source(raw: Mapping[str, Any], faults: list[Fault]) -> Source | None:
    kind = raw.get("source", "user_said")
    if not isinstance(kind, str) or kind not in TRUST_CEILING:
        known = f"known: {', '.join(TRUST_CEILING)}"
        faults.append(Fault("$.source", f"{kind!r} is no source kind", known))
        return None
    trust = raw.get("trust", int(TRUST_CEILING[kind]))
    if not isinstance(trust, int) or isinstance(trust, bool):
        faults.append(Fault("$.trust", "expected a whole number"))
        return None
    runtime, run = name_of(raw.get("runtime")) or "memstream", name_of(raw.get("run"))
    return Source(msgspec.convert(kind, type=SourceKind), trust, runtime, run)


def _scope(raw: Any, where: str) -> Scope:
    if not isinstance(raw, dict):
        raise InvalidScope(
            f"{where}: scope: expected an object, got {type(raw).__name__}; "
            'mend: {"tenant": "acme", "user": "u1"}'
        )
    try:
        return Scope(**raw)
    except TypeError as error:
        raise InvalidScope(f"{where}: scope: {error}; mend: tenant and one owner") from error
    except InvalidScope as error:
        raise InvalidScope(f"{where}: {error}") from error


def _data(raw: Mapping[str, Any], event_type: str, faults: list[Fault]) -> Data | None:
    given = raw.get("data", {})
    if not isinstance(given, dict):
        faults.append(Fault("$.data", "expected an object"))
        return None
    fields = dict(given)
    kind = RAW_TYPES[event_type]
    known = {field.name for field in msgspec.structs.fields(kind)}
    for name in _INTO_DATA:
        if name in raw and (name != "role" or "role" in known):
            fields.setdefault(name, raw[name])
    if kind is TurnRecorded:
        fields.setdefault("role", _ROLES.get(str(raw.get("source", "user_said")), "system"))
    _expand_text(fields, faults)
    strange = [name for name in fields if name not in known]
    for name in sorted(map(str, strange)):
        faults.append(Fault(f"$.data.{name}", f"is no field of {event_type}"))
    try:
        return msgspec.convert({n: v for n, v in fields.items() if n in known}, type=kind)
    except msgspec.ValidationError as error:
        problem, _, inner = str(error).partition(" - at `$")
        faults.append(Fault(f"$.data{inner.rstrip('`')}", problem))
        return None


def _expand_text(fields: dict[str, Any], faults: list[Fault]) -> None:
    """Joins ``text_parts`` and applies ``repeat``, in place."""
    parts, repeat = fields.pop("text_parts", None), fields.pop("repeat", 1)
    if parts is not None:
        if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
            faults.append(Fault("$.data.text_parts", "expected a list of text"))
            return
        fields["text"] = "".join(parts)
    if repeat == 1:
        return
    text = fields.get("text")
    if not isinstance(repeat, int) or repeat < 0 or not isinstance(text, str):
        faults.append(Fault("$.data.repeat", "expected a whole number, beside a text"))
    elif repeat * len(text) > _LONGEST_TEXT:
        faults.append(Fault("$.data.repeat", f"makes more than {_LONGEST_TEXT} characters"))
    else:
        fields["text"] = text * repeat


IMPORTER = Importer("own_jsonl", _claims, _read)

"""The codec: events to bytes and back. The only place that validates, seals and opens.

Two forms, one content:

* the wire form, one CloudEvents 1.0 JSON object (structured mode), for files and Kafka;
* the row form, envelope columns plus the data's bytes, for the embedded log.

In both the data is sealed when the codec has a sealer: ``data_base64`` with ``keyid`` and
``sealalg`` on the wire. Decoding is strict and reports every fault at once, each with its path.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

import msgspec

from memstream.schemas.counting import quantity
from memstream.schemas.errors import Fault, InvalidEvent, InvalidScope, SealBroken
from memstream.schemas.events import (
    CURRENT_VERSION,
    DATA_TYPES,
    TRUST_CEILING,
    Data,
    Event,
    Source,
    SourceKind,
    TurnRecorded,
)
from memstream.schemas.instants import fault_of_instant, parse_instant
from memstream.schemas.scope import Scope
from memstream.schemas.sealing import ALGORITHM, Sealer
from memstream.schemas.upcasts import upcast

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_ENCODER = msgspec.json.Encoder(order="deterministic")
_DECODERS = {name: msgspec.json.Decoder(kind) for name, kind in DATA_TYPES.items()}
_KINDS = get_args(SourceKind)
_LONGEST_ID = 512


class SealedRow(msgspec.Struct, frozen=True, gc=False):
    """One event as the embedded log keeps it: readable envelope, opaque payload."""

    id: str
    type: str
    subject: str
    time: datetime
    source_kind: SourceKind
    trust: int
    runtime: str
    run: str
    dataversion: int
    key_id: str
    payload: bytes
    recordedtime: datetime | None = None
    goes_with: str = ""
    """For the append alone: the id of a row before it in the same call. Where that one was there
    already, this one is not appended either."""


class Codec:
    """Encodes and decodes events; seals and opens where it was given a sealer."""

    def __init__(self, sealer: Sealer | None = None) -> None:
        self.sealer = sealer

    def to_row(self, event: Event) -> SealedRow:
        """The row form. The event must be valid (see ``validated``)."""
        return self.to_rows((event,))[0]

    def to_rows(self, events: Iterable[Event]) -> list[SealedRow]:
        """The row forms of several events, in their order; each key is looked up once."""
        sealer, encode = self.sealer, _ENCODER.encode
        sealed_by: dict[str, tuple[str, AESGCM]] = {}
        rows: list[SealedRow] = []
        for event in events:
            event_id, subject, source = event.id, event.subject, event.source
            plain, key_id = encode(event.data), ""
            if sealer is not None:
                found = sealed_by.get(subject)
                if found is None:
                    found = sealed_by[subject] = sealer.current(subject)
                key_id, cipher = found
                nonce = sealer.ring.nonce()
                plain = nonce + cipher.encrypt(nonce, plain, _bound(subject, event_id))
            rows.append(
                SealedRow(
                    event_id, event.type, subject, event.time, source.kind, source.trust,
                    source.runtime, source.run, event.dataversion, key_id, plain,
                    event.recordedtime,
                )
            )  # fmt: skip
        return rows

    def from_row(self, row: SealedRow) -> Event:
        """The event of a row. Raises ``KeyDestroyed``, ``SealBroken`` or ``UnknownEventType``."""
        plain = self.plain(row)
        return Event(
            id=row.id,
            type=row.type,
            subject=row.subject,
            time=row.time,
            source=Source(row.source_kind, row.trust, row.runtime, row.run),
            data=_decode_data(row.type, row.dataversion, plain),
            recordedtime=row.recordedtime,
            dataversion=CURRENT_VERSION[row.type],
        )

    def plain(self, row: SealedRow) -> bytes:
        """The data of a row as the JSON it was sealed from, not decoded, so of any type and
        version. Raises ``KeyDestroyed`` or ``SealBroken``."""
        if not row.key_id:
            return row.payload
        return self._open(row.key_id, row.subject, row.id, row.payload)

    def says_the_same(self, row: SealedRow, event: Event, *, timed: bool) -> bool:
        """Whether the row holds what the event says: its type, source, data and, where ``timed``,
        when it was said. Raises ``KeyDestroyed``, ``SealBroken`` or ``UnknownEventType``."""
        source = event.source
        if (row.type, row.source_kind, row.trust) != (event.type, source.kind, source.trust):
            return False
        if timed and (row.time, row.time.utcoffset()) != (event.time, event.time.utcoffset()):
            return False
        asked = _ENCODER.encode(event.data)
        return self.plain(row) == asked or _ENCODER.encode(self.from_row(row).data) == asked

    def resealed(self, row: SealedRow, scrubbed: Event | None = None) -> SealedRow:
        """The same row under its subject's current key: the data byte for byte and the envelope
        as they were, whatever release wrote them. An erasure gives the event without what it
        erases. Raises ``KeyDestroyed`` or ``SealBroken``."""
        if scrubbed is None:
            return self.with_plain(row, self.plain(row))
        fresh = self.with_plain(row, _ENCODER.encode(scrubbed.data))
        return msgspec.structs.replace(fresh, dataversion=scrubbed.dataversion)

    def with_plain(self, row: SealedRow, plain: bytes) -> SealedRow:
        """The row with other data, sealed under its subject's current key."""
        key_id = ""
        if self.sealer is not None:
            bound = _bound(row.subject, row.id)
            key_id, plain = self.sealer.seal(row.subject, bound, plain)
        return msgspec.structs.replace(row, key_id=key_id, payload=plain)

    def is_current(self, row: SealedRow) -> bool:
        """Whether the row is sealed under its subject's current key."""
        return self.sealer is None or self.sealer.ring.key_for(row.subject)[0] == row.key_id

    def to_wire(self, event: Event) -> bytes:
        """One CloudEvents JSON object, deterministic except for the seal's nonce."""
        wire: dict[str, Any] = {
            "specversion": "1.0",
            "id": event.id,
            "source": f"memstream://{event.source.runtime}/{event.source.run}",
            "type": event.type,
            "subject": event.subject,
            "time": event.time,
            "dataversion": event.dataversion,
            "sourcekind": event.source.kind,
            "trust": event.source.trust,
            "datacontenttype": "application/json",
        }
        if event.recordedtime is not None:
            wire["recordedtime"] = event.recordedtime
        if self.sealer is None:
            wire["data"] = event.data
        else:
            row = self.to_row(event)
            wire["keyid"], wire["sealalg"] = row.key_id, ALGORITHM
            wire["data_base64"] = base64.b64encode(row.payload).decode()
        return _ENCODER.encode(wire)

    def from_wire(self, wire: bytes | str, *, where: str = "event") -> Event:
        """The event of one CloudEvents JSON object.

        Raises ``InvalidEvent`` with every fault found, ``UnknownEventType``, ``KeyDestroyed``.
        """
        try:
            envelope = msgspec.json.decode(wire)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise InvalidEvent(where, [Fault("$", f"is no JSON: {error}")]) from error
        if not isinstance(envelope, dict):
            raise InvalidEvent(where, [Fault("$", "expected a JSON object")])
        return self.from_envelope(envelope, where=where)

    def from_envelope(self, envelope: Mapping[str, Any], *, where: str = "event") -> Event:
        """As ``from_wire``, from an object that is already decoded."""
        faults: list[Fault] = []
        event_id = _text(envelope, "id", faults)
        event_type = _text(envelope, "type", faults)
        subject = _text(envelope, "subject", faults)
        time = _instant(envelope, "time", faults, needed=True)
        recorded = _instant(envelope, "recordedtime", faults, needed=False)
        version = envelope.get("dataversion", 1)
        if not isinstance(version, int) or isinstance(version, bool) or version < 1:
            faults.append(
                Fault("$.dataversion", f"expected a whole number from 1, got {version!r}")
            )
            version = 1
        if envelope.get("specversion") != "1.0":
            faults.append(Fault("$.specversion", "expected '1.0'", "CloudEvents 1.0"))
        source = _source(envelope, faults)
        if subject:
            try:
                Scope.parse(subject)
            except InvalidScope as error:
                faults.append(Fault("$.subject", str(error)))
        data: Data | None = None
        if event_type and event_type not in DATA_TYPES:
            faults.append(
                Fault(
                    "$.type",
                    f"{event_type!r} is unknown",
                    f"known: {', '.join(sorted(DATA_TYPES))}",
                )
            )
        elif event_type:
            plain = self._plain_of(envelope, subject, event_id, faults)
            if plain is not None:
                try:
                    data = _decode_data(event_type, version, plain)
                except InvalidEvent as error:
                    faults.extend(error.faults)
        if faults or data is None or time is None or source is None:
            raise InvalidEvent(where, faults or [Fault("$.data", "is missing")])
        event = Event(
            id=event_id, type=event_type, subject=subject, time=time, source=source, data=data,
            recordedtime=recorded, dataversion=CURRENT_VERSION[event_type],
        )  # fmt: skip
        return validated(event, where=where)

    def _plain_of(
        self, envelope: Mapping[str, Any], subject: str, event_id: str, faults: list[Fault]
    ) -> bytes | None:
        if "keyid" not in envelope:
            if "data" not in envelope:
                faults.append(Fault("$.data", "is missing"))
                return None
            try:
                return _ENCODER.encode(envelope["data"])
            except (UnicodeError, RecursionError, TypeError) as error:
                faults.append(Fault("$.data", f"cannot be JSON: {error}"))
                return None
        key_id, algorithm = envelope["keyid"], envelope.get("sealalg")
        if algorithm != ALGORITHM:
            faults.append(Fault("$.sealalg", f"{algorithm!r} is unknown", f"known: {ALGORITHM}"))
            return None
        try:
            sealed = base64.b64decode(envelope.get("data_base64", ""), validate=True)
        except (binascii.Error, TypeError, ValueError):
            faults.append(Fault("$.data_base64", "is no base64"))
            return None
        return self._open(str(key_id), subject, event_id, sealed)

    def _open(self, key_id: str, subject: str, event_id: str, sealed: bytes) -> bytes:
        if self.sealer is None:
            raise SealBroken(
                f"event {event_id}: its data is sealed and this codec has no key ring; "
                "mend: open the memory directory that holds its keys"
            )
        return self.sealer.open(key_id, _bound(subject, event_id), sealed)


def validated(event: Event, *, where: str = "event") -> Event:
    """The event itself, or ``InvalidEvent`` with every fault of its envelope and data."""
    faults: list[Fault] = []
    if not event.id or len(event.id) > _LONGEST_ID:
        faults.append(
            Fault("$.id", f"has {quantity(len(event.id), 'character')}", f"1 to {_LONGEST_ID}")
        )
    for path, instant in (("$.time", event.time), ("$.recordedtime", event.recordedtime)):
        fault = None if instant is None else fault_of_instant(path, instant)
        if fault:
            faults.append(fault)
    ceiling = TRUST_CEILING.get(event.source.kind)
    if ceiling is None:
        faults.append(
            Fault(
                "$.sourcekind", f"{event.source.kind!r} is unknown", f"known: {', '.join(_KINDS)}"
            )
        )
    elif not 0 <= event.source.trust <= ceiling:
        faults.append(
            Fault(
                "$.trust", f"{event.source.trust} for {event.source.kind}", f"0 to {int(ceiling)}"
            )
        )
    expected = DATA_TYPES.get(event.type)
    if expected is None:
        faults.append(Fault("$.type", f"{event.type!r} is unknown"))
    elif type(event.data) is not expected:
        faults.append(
            Fault(
                "$.data", f"{event.type} needs {expected.__name__}, got {type(event.data).__name__}"
            )
        )
    faults.extend(_faults_of_data(event.data))
    if faults:
        raise InvalidEvent(where, faults)
    return event


def typed(event: Event, *, where: str = "event") -> Event:
    """The event itself, or ``InvalidEvent`` where a field of its data is not of its type: Python
    does not look when data is made, and nobody could read what the log would hold."""
    try:
        _DECODERS[event.type].decode(_ENCODER.encode(event.data))
    except (msgspec.ValidationError, TypeError, ValueError, OverflowError) as error:
        faults = [
            Fault(f"$.data.{field.name}", problem)
            for field in msgspec.structs.fields(event.data)
            if (problem := _misfit(getattr(event.data, field.name), field.type))
        ]
        raise InvalidEvent(where, faults or [Fault("$.data", str(error))]) from error
    return event


def _misfit(value: Any, kind: Any) -> str:
    """Why a value is none of the type; empty where it is."""
    try:
        msgspec.json.decode(_ENCODER.encode(value), type=kind)
    except msgspec.ValidationError as error:
        return str(error)
    except (TypeError, ValueError, OverflowError):
        return f"{type(value).__name__} cannot be kept"
    return ""


def _faults_of_data(data: Data) -> list[Fault]:
    """Faults that the types alone cannot state. Walks instants and spans."""
    faults: list[Fault] = []
    for name, allowed in _CHOICES.get(type(data), ()):
        value = getattr(data, name)
        if value not in allowed:  # compared, not hashed: it may be anything
            known = f"one of {', '.join(allowed)}"
            faults.append(Fault(f"$.data.{name}", f"{value!r} is unknown", known))
    for name in _INSTANTS.get(type(data), ()):
        value = getattr(data, name)
        if value is not None:
            fault = fault_of_instant(f"$.data.{name}", value)
            if fault:
                faults.append(fault)
    if isinstance(data, TurnRecorded):
        spans: tuple[Any, ...] = data.served_spans
        for index, span in enumerate(spans):
            whole = isinstance(span, tuple) and all(isinstance(each, int) for each in span)
            if not whole or len(span) != 2 or not 0 <= span[0] <= span[1] <= len(data.text):
                faults.append(
                    Fault(
                        f"$.data.served_spans[{index}]",
                        f"{span!r} is no [start, end) of the text of "
                        f"{quantity(len(data.text), 'character')}",
                    )
                )
    return faults


_CHOICES: dict[type[Data], tuple[tuple[str, tuple[str, ...]], ...]] = {
    kind: tuple(
        (field.name, get_args(field.type))
        for field in msgspec.structs.fields(kind)
        if get_origin(field.type) is Literal
    )
    for kind in DATA_TYPES.values()
}
"""The fields of each type that hold one of a few words, which Python does not check."""


_INSTANTS: dict[type[Data], tuple[str, ...]] = {
    kind: tuple(
        field.name
        for field in msgspec.structs.fields(kind)
        if datetime in (field.type, *get_args(field.type))
    )
    for kind in DATA_TYPES.values()
}
"""The fields of each type that hold an instant."""


def _decode_data(event_type: str, version: int, plain: bytes) -> Data:
    if CURRENT_VERSION.get(event_type) != version:
        data = upcast(event_type, version, msgspec.json.decode(plain))
        plain = _ENCODER.encode(data)
    try:
        decoded: Data = _DECODERS[event_type].decode(plain)
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        raise InvalidEvent(event_type, _all_faults(event_type, plain)) from error
    return decoded


def _all_faults(event_type: str, plain: bytes) -> list[Fault]:
    """Every fault of the data, found field by field: msgspec itself stops at the first."""
    kind = DATA_TYPES[event_type]
    try:
        raw = msgspec.json.decode(plain)
    except msgspec.DecodeError as error:
        return [Fault("$.data", f"is no JSON: {error}")]
    if not isinstance(raw, dict):
        return [Fault("$.data", "expected an object")]
    faults: list[Fault] = []
    fields = {field.name: field for field in msgspec.structs.fields(kind)}
    for name in sorted(raw.keys() - fields.keys()):
        faults.append(Fault(f"$.data.{name}", "is no field of " + event_type))
    for name, field in fields.items():
        if name not in raw:
            if field.required:
                faults.append(Fault(f"$.data.{name}", "is missing"))
            continue
        try:
            msgspec.convert(raw[name], field.type)
        except msgspec.ValidationError as error:
            problem, _, inner = str(error).partition(" - at `$")
            faults.append(Fault(f"$.data.{name}{inner.rstrip('`')}", problem))
    return faults or [Fault("$.data", "does not fit " + event_type)]


def _text(envelope: Mapping[str, Any], name: str, faults: list[Fault]) -> str:
    value = envelope.get(name)
    if isinstance(value, str) and value:
        return value
    faults.append(Fault(f"$.{name}", "is missing" if value is None else "expected text"))
    return ""


def _instant(
    envelope: Mapping[str, Any], name: str, faults: list[Fault], *, needed: bool
) -> datetime | None:
    value = envelope.get(name)
    if value is None and not needed:
        return None
    if not isinstance(value, str):
        faults.append(Fault(f"$.{name}", "is missing" if value is None else "expected text"))
        return None
    instant = parse_instant(f"$.{name}", value)
    if isinstance(instant, Fault):
        faults.append(instant)
        return None
    return instant


def _source(envelope: Mapping[str, Any], faults: list[Fault]) -> Source | None:
    kind = envelope.get("sourcekind", "user_said")
    if kind not in _KINDS:
        faults.append(Fault("$.sourcekind", f"{kind!r} is unknown", f"known: {', '.join(_KINDS)}"))
        return None
    trust = envelope.get("trust", int(TRUST_CEILING[kind]))
    if not isinstance(trust, int) or isinstance(trust, bool):
        faults.append(Fault("$.trust", "expected a whole number"))
        return None
    address = str(envelope.get("source", "memstream://memstream/"))
    runtime, _, run = address.removeprefix("memstream://").partition("/")
    return Source(kind, trust, runtime or "memstream", run)


def _bound(subject: str, event_id: str) -> bytes:
    return f"{len(subject)}:{subject}{event_id}".encode()

"""A sealed row as a Kafka message and back: one CloudEvents 1.0 JSON object (structured mode).

The key is the scope path, the header ``id`` the event's id, so that who routes or counts need not
read the value. Nothing is opened here: the data stays as sealed as it came.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec

from memstream.schemas.codec import SealedRow
from memstream.schemas.errors import Fault, InvalidEvent
from memstream.schemas.events import SourceKind
from memstream.schemas.instants import from_micros
from memstream.schemas.sealing import ALGORITHM

CONTENT_TYPE = b"application/cloudevents+json; charset=UTF-8"
OVERHEAD_BYTES = 256
"""At most what Kafka puts around one message: a batch of its own and two headers' names."""

_ADDRESS = "memstream://"
_MINUTE = timedelta(minutes=1)


class Message(NamedTuple):
    """What goes to the broker."""

    key: bytes
    value: bytes
    headers: list[tuple[str, bytes]]
    timestamp_ms: int

    @property
    def size(self) -> int:
        """Bytes of the request, rounded up."""
        return len(self.key) + len(self.value) + len(self.headers[0][1]) + OVERHEAD_BYTES


class _Wire(msgspec.Struct, omit_defaults=True):
    """The JSON object, as ``Codec.to_wire`` writes it."""

    id: str
    type: str
    subject: str
    time: datetime
    sourcekind: SourceKind
    trust: int
    dataversion: int
    source: str
    specversion: str
    datacontenttype: str = ""
    recordedtime: datetime | None = None
    keyid: str = ""
    sealalg: str = ""
    data_base64: bytes | None = None
    data: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    runtime: str | None = None
    """Only where ``source`` cannot say it: an empty runtime, or one with a slash."""


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(_Wire)


def message_of(row: SealedRow, recorded_micros: int) -> Message:
    """The message of a row (see ``check_row``) recorded at that instant."""
    sealed = bool(row.key_id)
    odd = not row.runtime or "/" in row.runtime
    wire = _Wire(
        id=row.id,
        type=row.type,
        subject=row.subject,
        time=row.time,
        sourcekind=row.source_kind,
        trust=row.trust,
        dataversion=row.dataversion,
        source=f"{_ADDRESS}{row.runtime}/{row.run}",
        specversion="1.0",
        datacontenttype="application/json",
        recordedtime=from_micros(recorded_micros),
        keyid=row.key_id,
        sealalg=ALGORITHM if sealed else "",
        data_base64=row.payload if sealed else None,
        data=msgspec.UNSET if sealed else msgspec.Raw(row.payload),
        runtime=row.runtime if odd else None,
    )
    headers = [("id", row.id.encode()), ("content-type", CONTENT_TYPE)]
    return Message(row.subject.encode(), _ENCODER.encode(wire), headers, recorded_micros // 1000)


def row_of(value: bytes | None, timestamp_ms: int, *, where: str) -> SealedRow:
    """The row of a message's value. ``InvalidEvent`` naming ``where`` (topic, partition, offset)
    for one that is no event of ours. ``recordedtime`` is the broker's timestamp where the
    message, another program's, has none."""
    if value is None:
        raise InvalidEvent(where, [Fault("$", "is a tombstone, not an event")])
    try:
        wire = _DECODER.decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidEvent(where, [Fault("$", f"is no event of memstream: {error}")]) from error
    faults: list[Fault] = []
    if wire.specversion != "1.0":
        faults.append(Fault("$.specversion", f"expected '1.0', got {wire.specversion!r}"))
    if wire.keyid and wire.sealalg != ALGORITHM:
        faults.append(Fault("$.sealalg", f"{wire.sealalg!r} is unknown", f"known: {ALGORITHM}"))
    if wire.time.utcoffset() is None:
        faults.append(Fault("$.time", "has no UTC offset"))
    plain = None if wire.data is msgspec.UNSET else bytes(wire.data)
    payload = wire.data_base64 if wire.keyid else plain
    if payload is None:
        faults.append(Fault("$.data", "is missing"))
    if faults or payload is None:
        raise InvalidEvent(where, faults)
    runtime, _, run = wire.source.removeprefix(_ADDRESS).partition("/")
    if wire.runtime is not None:
        runtime, run = wire.runtime, wire.source.removeprefix(f"{_ADDRESS}{wire.runtime}/")
    recorded = wire.recordedtime or from_micros(timestamp_ms * 1000)
    return SealedRow(
        wire.id, wire.type, wire.subject, wire.time, wire.sourcekind, wire.trust, runtime, run,
        wire.dataversion, wire.keyid, payload, recorded,
    )  # fmt: skip


def event_id_of(headers: Sequence[tuple[str, bytes]]) -> str | None:
    """The event id in a message's headers, None where there is none."""
    return next((value.decode() for name, value in headers if name == "id"), None)


def check_row(row: SealedRow) -> None:
    """``InvalidEvent`` for a row that JSON cannot hold: invalid Unicode, a UTC offset with
    seconds or none at all, unsealed data that is no JSON."""
    offset = row.time.utcoffset()
    if offset is None:
        raise InvalidEvent(row.id, [Fault("$.time", "has no UTC offset")])
    if offset % _MINUTE:
        fault = Fault("$.time", f"UTC offset {offset}", "RFC 3339 knows whole minutes only")
        raise InvalidEvent(row.id, [fault])
    try:
        for text in (row.subject, row.id, row.type, row.runtime, row.run, row.key_id):
            text.encode()
    except UnicodeEncodeError as error:
        raise InvalidEvent(repr(row.id), [Fault("$", f"cannot be stored: {error}")]) from error
    try:
        if not row.key_id:
            msgspec.json.decode(row.payload)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidEvent(row.id, [Fault("$.data", f"is no JSON: {error}")]) from error

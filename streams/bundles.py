"""Bundles: one raw event and all that a stage made of it, as one message of a stream.

The raw event travels as the log holds it, still sealed; what was derived from it is sealed as one
piece under the same scope's key, and so is a stage's state. Destroying the key erases all three,
in every topic they were written to. Part of the codec: nothing else seals or opens.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from memstream.schemas.codec import Codec
from memstream.schemas.errors import InvalidEvent, KeyDestroyed, SealBroken, UnknownEventType
from memstream.schemas.events import DATA_TYPES, Event, Source
from memstream.schemas.sealing import Sealer
from memstream.streams.kafka_messages import row_of

BUNDLE_VERSION = 1


class Bundle(msgspec.Struct, frozen=True, array_like=True):
    """One message. A raw message leads to one bundle, an erasure to several; (offset, part) and
    ``after`` tell a reader what it has read before and that nothing is missing."""

    version: int
    partition: int
    offset: int
    """Of the raw message in its partition."""
    after: int
    """The offset of the raw message before it; -1 for the first."""
    part: int
    """Counts the bundles of one raw message from 0."""
    last: bool
    """Whether it is the last of them."""
    scope: str
    event_id: str
    outcome: str
    """As the balance counts it where no decision says so: "", "erased", "dead_lettered",
    "duplicate"."""
    recordedtime: datetime | None
    """The raw event's, after clocks that ran backwards were put right."""
    raw: bytes
    """The raw event's wire form; empty where nothing may be read of it."""
    key_id: str
    derived: bytes
    """Sealed; empty for none."""
    clears: bool = False
    """Whether everything derived from the scope before this bundle is void."""
    error: str = ""
    """Of a dead letter: what went wrong."""


class Place(msgspec.Struct, frozen=True, array_like=True):
    """Of the bundle read last in one partition."""

    offset: int = -1
    part: int = 0
    last: bool = True


class _Kept(msgspec.Struct, frozen=True, array_like=True):
    """One derived event. ``data`` is null for the raw event itself, whose place this keeps."""

    id: str
    type: str
    time: datetime
    recordedtime: datetime | None
    dataversion: int
    kind: str
    trust: int
    runtime: str
    run: str
    data: msgspec.Raw


_ENCODER = msgspec.json.Encoder()
_KEPT = msgspec.json.Decoder(list[_Kept])
_DECODERS = {name: msgspec.json.Decoder(kind) for name, kind in DATA_TYPES.items()}


class _Envelope(msgspec.Struct, frozen=True):
    subject: str = ""
    id: str = ""
    keyid: str = ""


_ENVELOPE = msgspec.json.Decoder(_Envelope)
_WIRE = msgspec.msgpack.Encoder()
_BUNDLE = msgspec.msgpack.Decoder(Bundle)


class BundleCodec:
    """Bundles to bytes and back, for one codec."""

    def __init__(self, codec: Codec) -> None:
        self.codec = codec

    def with_flowing(
        self, bundle: Bundle, flowing: Sequence[Event], raw: Event | None, key_id: str
    ) -> Bundle:
        """The bundle with the events that flow on, sealed under the raw event's key; ``raw``
        among them keeps its place and is not written twice. Raises ``KeyDestroyed``."""
        if not flowing:
            return msgspec.structs.replace(bundle, key_id="", derived=b"")
        kept = [
            (
                each.id, each.type, each.time, each.recordedtime, each.dataversion,
                each.source.kind, each.source.trust, each.source.runtime, each.source.run,
                None if each is raw else each.data,
            )
            for each in flowing
        ]  # fmt: skip
        plain = _ENCODER.encode(kept)
        if key_id:
            bound = _bound(bundle.scope, bundle.event_id)
            plain = _sealer(self.codec).seal_under(key_id, bound, plain)
        return msgspec.structs.replace(bundle, key_id=key_id, derived=plain)

    def flowing(self, bundle: Bundle, raw: Event | None) -> list[Event]:
        """The events of a bundle, in order, with ``raw`` at its place. Raises ``KeyDestroyed``,
        ``SealBroken`` or ``InvalidEvent``."""
        if not bundle.derived:
            return []
        plain = bundle.derived
        if bundle.key_id:
            plain = _sealer(self.codec).open(
                bundle.key_id, _bound(bundle.scope, bundle.event_id), plain
            )
        events: list[Event] = []
        for kept in _KEPT.decode(plain):
            if bytes(kept.data) == b"null":
                if raw is not None:
                    events.append(raw)
                continue
            source = Source(kept.kind, kept.trust, kept.runtime, kept.run)  # type: ignore[arg-type]
            events.append(
                Event(
                    id=kept.id, type=kept.type, subject=bundle.scope, time=kept.time,
                    source=source, data=_DECODERS[kept.type].decode(kept.data),
                    recordedtime=kept.recordedtime, dataversion=kept.dataversion,
                )
            )  # fmt: skip
        return events

    def readable(self, bundle: Bundle, raw: Event | None) -> list[Event]:
        """As ``flowing``; nothing where the content was erased."""
        try:
            return self.flowing(bundle, raw)
        except KeyDestroyed:
            return []

    def raw(self, bundle: Bundle) -> Event | None:
        """The raw event; None where it is not there, was erased or cannot be read."""
        if not bundle.raw:
            return None
        try:
            event = event_of(self.codec, bundle.raw, where=bundle.event_id)
        except (KeyDestroyed, InvalidEvent, SealBroken, UnknownEventType):
            return None
        return msgspec.structs.replace(event, recordedtime=bundle.recordedtime)

    @staticmethod
    def follows(bundle: Bundle, place: Place) -> bool | None:
        """Whether a bundle is the next one after ``place``: None where it was read before, False
        where one is missing between."""
        if (bundle.offset, bundle.part) <= (place.offset, place.part):
            return None
        if bundle.part:
            return bundle.offset == place.offset and bundle.part == place.part + 1
        return place.last and bundle.after <= place.offset

    @staticmethod
    def names(wire: bytes) -> tuple[str, str, str]:
        """(scope, event id, key id) of a raw event's wire form, as far as they can be read."""
        try:
            envelope = _ENVELOPE.decode(wire)
        except msgspec.DecodeError:
            return "", "", ""
        return envelope.subject, envelope.id, envelope.keyid

    @staticmethod
    def encode(bundle: Bundle) -> bytes:
        """The message of a bundle."""
        return _WIRE.encode(bundle)

    @staticmethod
    def decode(message: bytes, *, where: str) -> Bundle:
        """The bundle of a message; ``SealBroken`` for anything else, with its place."""
        try:
            bundle = _BUNDLE.decode(message)
        except msgspec.DecodeError as error:
            raise SealBroken(
                f"{where}: the message is no bundle of this pipeline: {error}; mend: see what "
                "else writes to this topic"
            ) from error
        return bundle


class StateSeal:
    """Seals one stage's state values. Each scope's have a key of their own, which goes at every
    erasure in the scope while the events that stay keep theirs. What belongs to no scope holds no
    content and stays open."""

    def __init__(self, codec: Codec, stage: str) -> None:
        self._codec = codec
        self._stage = stage

    def forget(self, scope: str) -> None:
        """Nothing that was sealed for the scope opens any more."""
        sealer = self._codec.sealer
        if sealer is not None:
            sealer.ring.destroy(self._subject(scope))
            sealer.forget()

    def _subject(self, scope: str) -> str:
        return f"{scope}#{self._stage}"

    def seal(self, scope: str, name: bytes, plain: bytes) -> bytes:
        """The sealed bytes, with the key's id before them."""
        sealer = self._codec.sealer
        if sealer is None or not scope:
            return b"\x00" + plain
        key_id, sealed = sealer.seal(self._subject(scope), name, plain)
        head = key_id.encode()
        return len(head).to_bytes(1, "big") + head + sealed

    def open(self, scope: str, name: bytes, sealed: bytes) -> bytes | None:
        """The plain bytes; None where the key was destroyed."""
        size = sealed[0]
        if not size:
            return sealed[1:]
        try:
            key_id, rest = sealed[1 : 1 + size].decode(), sealed[1 + size :]
            return _sealer(self._codec).open(key_id, name, rest)
        except KeyDestroyed:
            return None


def event_of(codec: Codec, wire: bytes, *, where: str) -> Event:
    """The event of a message of the raw topic. Raises ``KeyDestroyed``, ``InvalidEvent``,
    ``UnknownEventType`` or ``SealBroken``."""
    return codec.from_row(row_of(wire, 0, where=where))


def _sealer(codec: Codec) -> Sealer:
    if codec.sealer is None:
        raise SealBroken(
            "sealed data, and this codec has no key ring; mend: give the worker the key ring "
            "that the producers use"
        )
    return codec.sealer


def _bound(scope: str, event_id: str) -> bytes:
    return f"derived:{len(scope)}:{scope}{event_id}".encode()

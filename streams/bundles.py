"""Bundles: one raw event and all that a stage made of it, as one message of a stream.

The raw event travels as the log holds it, still sealed. What a stage derived from it may hold the
words of other events of the scope (of a memory that it closes, of a name that it looked up), so it
is sealed under keys of the scope and stage, which go at the next erasure in the scope. Part of the
codec: nothing else seals or opens.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import msgspec

from memstream.schemas.codec import Codec
from memstream.schemas.errors import InvalidEvent, KeyDestroyed, SealBroken, UnknownEventType
from memstream.schemas.events import DATA_TYPES, Event, Source
from memstream.schemas.sealing import Sealer
from memstream.streams.kafka_messages import row_of

BUNDLE_VERSION = 1
LAST_PART = 2**31 - 1
"""The part that ends an erasure which was cut off and whose request cannot be read any more."""

ERASED, DEAD_LETTERED, DUPLICATE = "erased", "dead_lettered", "duplicate"
"""Outcomes of a raw event that no decision is made about."""


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
    """Of ``derived``; empty where that is not sealed."""
    derived: bytes
    """The events that flow on; of a dead letter, what went wrong. Sealed; empty for none."""
    clears: bool = False
    """Whether everything derived from the scope before this bundle is void."""
    error: str = ""
    """Of a dead letter: what kind of thing went wrong. Holds no content."""
    before: tuple[int, ...] = ()
    """Of one that clears: the offsets at which the scope's earlier erasures stand."""


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
    """Bundles to bytes and back, for one codec. A stage, which writes them, seals with ``seal``."""

    def __init__(self, codec: Codec, seal: StateSeal | None = None) -> None:
        self.codec = codec
        self._seal = seal

    def with_flowing(
        self, bundle: Bundle, flowing: Sequence[Event], raw: Event | None, since: int
    ) -> Bundle:
        """The bundle with the events that flow on; ``raw`` among them keeps its place and is not
        written twice. ``since`` is the offset of the scope's last erasure, -1 for none."""
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
        return self._sealed(bundle, _ENCODER.encode(kept), since)

    def with_error(self, bundle: Bundle, error: Exception, since: int) -> Bundle:
        """The dead letter that tells of the error. Its words may be the event's own."""
        letter = msgspec.structs.replace(
            bundle, outcome=DEAD_LETTERED, error=type(error).__name__, key_id="", derived=b""
        )
        return self._sealed(letter, f"{type(error).__name__}: {error}"[:500].encode(), since)

    def error(self, bundle: Bundle) -> str:
        """What went wrong with a dead letter, in full where it may be read still."""
        try:
            return self._opened(bundle).decode() or bundle.error
        except KeyDestroyed:
            return bundle.error

    def _sealed(self, bundle: Bundle, plain: bytes, since: int) -> Bundle:
        key_id = ""
        if self._seal is not None and bundle.scope:
            bound = _bound(bundle.scope, bundle.event_id)
            key_id, plain = self._seal.seal_derived(bundle.scope, since, bound, plain)
        return msgspec.structs.replace(bundle, key_id=key_id, derived=plain)

    def _opened(self, bundle: Bundle) -> bytes:
        if not bundle.key_id:
            return bundle.derived
        bound = _bound(bundle.scope, bundle.event_id)
        return _sealer(self.codec).open(bundle.key_id, bound, bundle.derived)

    def flowing(self, bundle: Bundle, raw: Event | None) -> list[Event]:
        """The events of a bundle, in order, with ``raw`` at its place. Raises ``KeyDestroyed``,
        ``SealBroken`` or ``InvalidEvent``."""
        if not bundle.derived or bundle.outcome == DEAD_LETTERED:
            return []
        events: list[Event] = []
        for kept in _KEPT.decode(self._opened(bundle)):
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

    def plain(self, bundle: Bundle) -> bytes:
        """What was derived, as it was sealed; nothing where its key was destroyed."""
        try:
            return self._opened(bundle)
        except KeyDestroyed:
            return b""

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
        if bundle.offset == place.offset:
            return bundle.part in {place.part + 1, LAST_PART}
        return place.last and bundle.part in {0, LAST_PART} and bundle.after <= place.offset

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
    """Seals one stage's state values and what it derives. Each scope's have keys of their own,
    which go at every erasure in the scope while the events that stay keep theirs; each
    generation's as well, since one that is rebuilt comes to old erasures while another serves.
    What belongs to no scope holds no content and stays open."""

    def __init__(self, codec: Codec, generation: str, stage: str) -> None:
        self._codec = codec
        self._generation = generation
        self._stage = stage

    def forget(self, scope: str) -> None:
        """Nothing that was sealed for the scope opens any more; what was derived does."""
        self._destroy(self._subject(scope))

    def forget_derived(self, scope: str, erasures: Iterable[int]) -> None:
        """Nothing opens any more that was derived before any erasure, or since those at the
        offsets. Apart from the rest, so that what is derived after an erasure lasts, however often
        that is done again."""
        for since in (-1, *erasures):
            self._destroy(derived_subject(self._subject(scope), since))

    def prepare(self, scopes: Mapping[str, int]) -> None:
        """Makes the keys of scopes, each with the offset of its last erasure, where they are not
        there yet: all in one commit of the ring, which would otherwise cost one each."""
        sealer = self._codec.sealer
        if sealer is None:
            return
        subjects = [self._subject(scope) for scope in scopes]
        subjects += map(derived_subject, subjects, scopes.values())
        sealer.ring.ensure(subjects)

    def seal_derived(self, scope: str, since: int, bound: bytes, plain: bytes) -> tuple[str, bytes]:
        """(key id, sealed bytes); no key id where nothing is sealed."""
        sealer = self._codec.sealer
        if sealer is None:
            return "", plain
        return sealer.seal(derived_subject(self._subject(scope), since), bound, plain)

    def _destroy(self, subject: str) -> None:
        sealer = self._codec.sealer
        if sealer is not None and sealer.ring.keys(subject):
            sealer.ring.destroy(subject)
            sealer.forget()

    def _subject(self, scope: str) -> str:
        return state_subject(scope, self._generation, self._stage)

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


def state_subject(scope: str, generation: str, stage: str) -> str:
    """Whose keys seal what a stage of a generation keeps of a scope. No scope path has a ``#``."""
    return f"{scope}#{generation}.{stage}"


def derived_subject(state_subject: str, since: int) -> str:
    """Whose keys seal what the stage derives after the erasure at that offset, until the next."""
    return f"{state_subject}@{since}"


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

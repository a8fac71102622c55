"""The history of one scope on a topic that cannot be rewritten, and what its erasures leave of it.

An event may be there more than once: an erasure appends what it keeps again, sealed under another
key. It then stands where its first copy stands, and is read from the first copy that may be read.
What is erased is decided by what the requests say, never by which keys happen to be gone already:
live workers, rebuilds and an erasure that goes on after a crash all come to the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from memstream.schemas.codec import Codec, SealedRow
from memstream.schemas.errors import InvalidEvent, KeyDestroyed, SealBroken, UnknownEventType
from memstream.schemas.events import ErasureRequested, Event
from memstream.streams.kafka_messages import row_of

_ERASURE = "erasure.requested"

Message = tuple[int, bytes]
"""(offset, value) of one message of the partition."""
Unreadable = (InvalidEvent, SealBroken, UnknownEventType)
"""What is wrong with one event only."""


_UNOPENED = (KeyDestroyed, *Unreadable)


class Copy(msgspec.Struct, frozen=True):
    """One message that holds the event."""

    offset: int
    row: SealedRow
    wire: bytes


class Told(msgspec.Struct, frozen=True):
    """One event of the scope, in all its copies, in the order of the topic."""

    id: str
    copies: list[Copy]

    @property
    def place(self) -> int:
        """The offset at which the event counts, whatever it is read from."""
        return self.copies[0].offset

    @property
    def first(self) -> SealedRow:
        """Its envelope, which is the same in every copy."""
        return self.copies[0].row


class ScopeHistory:
    """The events of one scope in the order of their places, and what its requests erase."""

    def __init__(self, codec: Codec, scope: str, messages: Iterable[Message]) -> None:
        """``messages`` are those of the raw topic, in order; what is no event of the scope is
        left out. Raises ``LogUnavailable`` where the key ring does not answer."""
        self._codec = codec
        self.events: dict[str, Told] = {}
        for offset, wire in messages:
            try:
                row = row_of(wire, 0, where="")
            except InvalidEvent:
                continue
            if row.subject == scope:
                told = self.events.setdefault(row.id, Told(row.id, []))
                told.copies.append(Copy(offset, row, wire))
        self.requests: dict[str, tuple[int, ErasureRequested]] = {}
        for told in self.events.values():
            if told.first.type == _ERASURE:
                request = self._request(told)
                if request is not None:
                    self.requests[told.id] = told.place, request
        self._named: dict[int, frozenset[str]] = {}
        self.erasures = sorted(
            copy.offset
            for told in self.events.values()
            if told.first.type == _ERASURE
            for copy in told.copies
        )
        """Every offset at which a request stands, readable or not."""
        self.void = frozenset(key for _, each in self.requests.values() for key in each.keys)
        """The ids of the keys that requests name: nothing is read with them any more."""

    def __iter__(self) -> Iterator[Told]:
        return iter(self.events.values())

    def is_erased(self, told: Told) -> bool:
        """Whether a request that came after the event names it, or everything: then all goes that
        only the keys named until then can open. What was recorded under a newer key while the
        request was written stays."""
        return any(
            place > told.place
            and (told.id in each.events if each.events else self._is_under(told, place, each))
            for place, each in self.requests.values()
        )

    def _is_under(self, told: Told, place: int, request: ErasureRequested) -> bool:
        named = self._named.get(place)
        if named is None:
            before = [each.keys for at, each in self.requests.values() if at <= place]
            named = self._named[place] = frozenset(key for keys in before for key in keys)
        return not request.keys or all(copy.row.key_id in named for copy in told.copies)

    def kept(self, told: Told) -> Copy | None:
        """The copy that stands for the event: the first that opens with a key that no request
        names. None where there is none (yet)."""
        for copy in told.copies:
            if copy.row.key_id not in self.void and self.opens(copy.row):
                return copy
        return None

    def opens(self, row: SealedRow) -> bool:
        """Whether its key is there still. What else may be wrong with it is not looked at."""
        try:
            self._codec.plain(row)
        except KeyDestroyed:
            return False
        except SealBroken:
            return True
        return True

    def _request(self, told: Told) -> ErasureRequested | None:
        for copy in told.copies:
            try:
                event = self._codec.from_row(copy.row)
            except _UNOPENED:
                continue
            if isinstance(event.data, ErasureRequested):
                return event.data
        return None


def readable(codec: Codec, history: ScopeHistory) -> dict[str, Event]:
    """The events of the scope that are not erased and can be decoded, by id, in order."""
    found: dict[str, Event] = {}
    for told in history:
        copy = None if history.is_erased(told) else history.kept(told)
        if copy is not None:
            try:
                found[told.id] = codec.from_row(copy.row)
            except _UNOPENED:
                continue
    return found

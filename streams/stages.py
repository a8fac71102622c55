"""Stages: the pipeline cut in two where the topology says so, each over one partition at a time.

    events ─▶ Deriving (gate, extract) ─▶ candidates ─▶ Resolving (resolve, enrich) ─▶ memories

A stage takes a batch of messages of one partition and gives the messages it makes of them; its
state is a ``VersionedState``, so a batch that was cut off anywhere is simply taken again. What
moves messages (Faust, a test) is not known here. The processors are those of the embedded
runtime, in the same order: the same events give the same memories.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta

import msgspec
import structlog

from memstream.processors.gate import GateMark
from memstream.processors.pipeline import Pipeline, Processor, key
from memstream.schemas.codec import Codec
from memstream.schemas.errors import (
    KeyDestroyed,
    LogUnavailable,
    MemstreamError,
    ProjectionDamaged,
)
from memstream.schemas.events import ErasureRequested, Event
from memstream.streams.bundles import (
    BUNDLE_VERSION,
    DEAD_LETTERED,
    DUPLICATE,
    ERASED,
    LAST_PART,
    Bundle,
    BundleCodec,
    Place,
    StateSeal,
    event_of,
)
from memstream.streams.scope_history import Message, ScopeHistory, Told, Unreadable
from memstream.streams.versioned_state import Table, VersionedState

DERIVING = ("gate", "extract")
RESOLVING = ("resolve", "enrich")

_LOGGER = structlog.get_logger(__name__)
_ERASURE = b"erasure.requested"
_TICK = timedelta(microseconds=1)

History = Callable[[str, int], Iterable[Message]]
"""The messages of one scope in the raw topic's partition, below an offset."""


class BrokenSequence(MemstreamError):
    """A bundle is missing before this one: the topic lost a message, or another writer is at it."""


class _Recorded(msgspec.Struct, frozen=True):
    """When the scope's last event was recorded."""

    at: datetime


class _Erasures(msgspec.Struct, frozen=True):
    """The scope's erasures: where the last one was read, and the keys that they name."""

    at: int = -1
    keys: tuple[str, ...] = ()


class _Gone(msgspec.Struct, frozen=True):
    """An event of this id was erased: it does not come back."""


_NOT_THE_EVENTS = (ProjectionDamaged, LogUnavailable)
"""The store's or the key ring's fault: the batch is taken again."""


class Deriving:
    """The first stage of one partition: raw events to bundles of decisions and candidates."""

    def __init__(
        self,
        pipeline: Pipeline,
        codec: Codec,
        table: Table,
        partition: int,
        history: History,
        *,
        generation: str,
    ) -> None:
        """``generation`` names what seals the state; two that run at once differ in it."""
        self._processors = _part(pipeline, DERIVING)
        self._codec = codec
        self._seal = StateSeal(codec, generation, "deriving")
        self._bundles = BundleCodec(codec, self._seal)
        self.state = VersionedState(table, self._seal)
        self._partition = partition
        self._position = _position_of(partition)
        self._history = history
        self.dead_letters: list[bytes] = []

    def __call__(self, messages: Sequence[Message]) -> list[bytes]:
        """The bundles of a batch, in order. ``state.flush`` before they are sent; those of
        ``dead_letters`` are to be told of as well."""
        made: list[bytes] = []
        self.dead_letters = []
        if not messages:
            return made
        names = [self._bundles.names(wire) for _, wire in messages]
        self.state.begin_batch(messages[0][0])
        self.state.begin(messages[0][0])
        _prepare(self.state, self._seal, [scope for scope, _, _ in names])
        before = self.state.get(self._position, Place) or Place()
        for (offset, wire), named in zip(messages, names, strict=True):
            self.state.begin(offset)
            bundles = list(self._bundles_of(offset, wire, named))
            for number, bundle in enumerate(bundles):
                part = bundle.part or number
                placed = msgspec.structs.replace(
                    bundle, after=before.offset, part=part, last=number == len(bundles) - 1
                )
                made.append(self._bundles.encode(placed))
                if placed.outcome == DEAD_LETTERED:
                    self.dead_letters.append(made[-1])
            before = Place(offset)
            with self.state.isolated() as state:
                state.put(self._position, before)
        return made

    def takes_long(self, messages: Sequence[Message]) -> bool:
        """Whether the batch may read a scope's history and destroy keys: for seconds, or longer."""
        return any(_ERASURE in wire for _, wire in messages)

    def _bundles_of(
        self, offset: int, wire: bytes, names: tuple[str, str, str]
    ) -> Iterable[Bundle]:
        scope, event_id, key_id = names
        empty = Bundle(
            version=BUNDLE_VERSION, partition=self._partition, offset=offset, after=-1, part=0,
            last=True, scope=scope, event_id=event_id, outcome="", recordedtime=None, raw=b"",
            key_id="", derived=b"",
        )  # fmt: skip
        replace = msgspec.structs.replace
        erasures = _erasures_of(self.state, scope)
        if erasures.at >= 0:
            if self.state.get(key(scope, "gone", event_id), _Gone) is not None:
                yield replace(empty, outcome=DUPLICATE)
                return
            if key_id in erasures.keys:
                # It was on its way when the request was written: a copy of it comes.
                yield replace(empty, outcome=ERASED)
                return
        try:
            event = self._event(offset, wire)
        except Unreadable as error:
            yield self._bundles.with_error(replace(empty, raw=wire), error, erasures.at)
            return
        if event is None:
            # Of a request, some bundles may have been sent when it could be read still.
            part = LAST_PART if _ERASURE in wire else 0
            yield replace(empty, outcome=ERASED, part=part)
        elif self._is_duplicate(event):
            yield replace(empty, outcome=DUPLICATE)
        elif isinstance(event.data, ErasureRequested):
            yield from self._derived_again(empty, wire)
        else:
            yield self._bundle(empty, self._timed(event), wire, erasures.at)

    def _is_duplicate(self, event: Event) -> bool:
        """Whether its id was met before, or is that of a piece whose whole was erased."""
        if self.state.get(key(event.subject, "event", event.id), GateMark) is not None:
            return True
        whole = "" if event.part is None else event.part.of
        return bool(whole) and self.state.get(key(event.subject, "gone", whole), _Gone) is not None

    def _bundle(self, empty: Bundle, event: Event, wire: bytes, since: int) -> Bundle:
        """One event through the processors; its failure is a dead letter."""
        replace = msgspec.structs.replace
        empty = replace(empty, event_id=event.id, recordedtime=event.recordedtime, raw=wire)
        try:
            with self.state.isolated() as state:
                flowing = _through(self._processors, state, [event])
        except _NOT_THE_EVENTS:
            raise
        except Exception as error:
            return _dead_letter(self._bundles, empty, error, since)
        return self._bundles.with_flowing(empty, flowing, event, since)

    def _derived_again(self, empty: Bundle, request: bytes) -> Iterable[Bundle]:
        """The scope as if what was erased had never been: its state is cleared, and the events
        that stay are derived anew, each at its place, the request among them."""
        scope, at = empty.scope, empty.offset
        history = ScopeHistory(self._codec, scope, [*self._history(scope, at), (at, request)])
        erasures = _Erasures(at, tuple(sorted(history.void)))
        before = tuple(each for each in history.erasures if each < at)
        _clear(self.state, self._seal, scope, before, erasures)
        yield msgspec.structs.replace(empty, clears=True, before=before)
        for told in history:
            yield self._told_again(empty, history, told)

    def _told_again(self, empty: Bundle, history: ScopeHistory, told: Told) -> Bundle:
        replace = msgspec.structs.replace
        empty = replace(empty, event_id=told.id)
        recorded = self._recorded(told.first.subject, told.first.recordedtime)
        if history.is_erased(told):
            with self.state.isolated() as state:
                state.put(key(told.first.subject, "gone", told.id), _Gone())
            return replace(empty, outcome=ERASED)
        copy = history.kept(told)
        try:
            event = None if copy is None else self._event(copy.offset, copy.wire)
        except Unreadable as error:
            assert copy is not None
            return self._bundles.with_error(replace(empty, raw=copy.wire), error, empty.offset)
        if copy is None or event is None:
            return replace(empty, outcome=ERASED)
        event = replace(event, recordedtime=recorded)
        return self._bundle(empty, event, copy.wire, empty.offset)

    def _event(self, offset: int, wire: bytes) -> Event | None:
        """The event; None where its key was destroyed. Raises an ``Unreadable`` error."""
        try:
            where = f"partition {self._partition} offset {offset}"
            return event_of(self._codec, wire, where=where)
        except KeyDestroyed:
            return None

    def _timed(self, event: Event) -> Event:
        recorded = self._recorded(event.subject, event.recorded_at)
        if recorded == event.recordedtime:
            return event
        return msgspec.structs.replace(event, recordedtime=recorded)

    def _recorded(self, scope: str, recorded: datetime | None) -> datetime:
        """A recorded time later than all before it in its scope, whatever clocks the producers
        had."""
        assert recorded is not None, "row_of always sets it"
        before = self.state.get(key(scope, "recorded"), _Recorded)
        if before is not None and recorded <= before.at:
            recorded = before.at + _TICK
        with self.state.isolated() as state:
            state.put(key(scope, "recorded"), _Recorded(recorded))
        return recorded


class Resolving:
    """The second stage of one partition: bundles of candidates to bundles of memories."""

    def __init__(
        self, pipeline: Pipeline, codec: Codec, table: Table, partition: int, *, generation: str
    ) -> None:
        self._processors = _part(pipeline, RESOLVING)
        self._seal = StateSeal(codec, generation, "resolving")
        self._bundles = BundleCodec(codec, self._seal)
        self.state = VersionedState(table, self._seal)
        self._partition = partition
        self._position = _position_of(partition)
        self._batch: tuple[Sequence[Message], list[Bundle]] = (), []
        self.dead_letters: list[bytes] = []

    def __call__(self, messages: Sequence[Message]) -> list[bytes]:
        """As ``Deriving``. Bundles met before give nothing; ``BrokenSequence`` for a gap."""
        made: list[bytes] = []
        self.dead_letters = []
        if not messages:
            return made
        bundles = self._decoded(messages)
        self.state.begin_batch(messages[0][0])
        self.state.begin(messages[0][0])
        _prepare(self.state, self._seal, [bundle.scope for bundle in bundles])
        before = self.state.get(self._position, Place) or Place()
        for (offset, _), bundle in zip(messages, bundles, strict=True):
            self.state.begin(offset)
            follows = self._bundles.follows(bundle, before)
            if follows is None:
                continue
            if not follows:
                raise BrokenSequence(
                    f"{self._where(offset)}: the bundle of event {bundle.offset} "
                    f"(part {bundle.part}, after {bundle.after}) follows that of "
                    f"{before.offset} (part {before.part}); mend: see that one application writes "
                    "to this topic, then rebuild into a new generation"
                )
            resolved = self._resolved(bundle)
            made.append(self._bundles.encode(resolved))
            if resolved.outcome == DEAD_LETTERED != bundle.outcome:
                self.dead_letters.append(made[-1])
            before = Place(bundle.offset, bundle.part, bundle.last)
            with self.state.isolated() as state:
                state.put(self._position, before)
        return made

    def takes_long(self, messages: Sequence[Message]) -> bool:
        """Whether the batch destroys keys, which takes seconds."""
        return any(each.clears for each in self._decoded(messages))

    def _decoded(self, messages: Sequence[Message]) -> list[Bundle]:
        """The bundles of a batch; those of the last one are kept, as it is asked for twice."""
        if self._batch[0] is not messages:
            decode, where = self._bundles.decode, self._where
            self._batch = messages, [decode(each, where=where(at)) for at, each in messages]
        return self._batch[1]

    def _where(self, offset: int) -> str:
        return f"candidates partition {self._partition} offset {offset}"

    def _resolved(self, bundle: Bundle) -> Bundle:
        replace = msgspec.structs.replace
        if bundle.clears:
            erasures = _Erasures(bundle.offset)
            _clear(self.state, self._seal, bundle.scope, bundle.before, erasures)
            return bundle
        if not bundle.derived or bundle.outcome == DEAD_LETTERED:
            return bundle
        raw = self._bundles.raw(bundle)
        since = _erasures_of(self.state, bundle.scope).at
        try:
            flowing = self._bundles.flowing(bundle, raw)
            with self.state.isolated() as state:
                flowing = _through(self._processors, state, flowing)
            derived = [each for each in flowing if each is not raw]
            return self._bundles.with_flowing(bundle, derived, None, since)
        except KeyDestroyed:
            return replace(bundle, outcome=ERASED, raw=b"", key_id="", derived=b"")
        except _NOT_THE_EVENTS:
            raise
        except Exception as error:
            return _dead_letter(self._bundles, bundle, error, since)


def _erasures_of(state: VersionedState, scope: str) -> _Erasures:
    return (state.get(key(scope, "erasures"), _Erasures) if scope else None) or _Erasures()


def _prepare(state: VersionedState, seal: StateSeal, scopes: Iterable[str]) -> None:
    seal.prepare({each: _erasures_of(state, each).at for each in dict.fromkeys(scopes) if each})


def _clear(
    state: VersionedState, seal: StateSeal, scope: str, before: Sequence[int], erasures: _Erasures
) -> None:
    """Destroys what was derived, and the state. Since when it was derived is not taken from the
    state: a request whose own key is gone is read over when a batch is taken again."""
    seal.forget_derived(scope, before)
    state.clear(scope)
    with state.isolated():
        state.put(key(scope, "erasures"), erasures)


def _dead_letter(codec: BundleCodec, bundle: Bundle, error: Exception, since: int) -> Bundle:
    """The bundle of an event whose processing failed: nothing is derived, and it says why."""
    _LOGGER.error(
        "dead_letter",
        scope=bundle.scope,
        event_id=bundle.event_id,
        partition=bundle.partition,
        offset=bundle.offset,
        error=type(error).__name__,
    )
    return codec.with_error(bundle, error, since)


def _position_of(partition: int) -> str:
    return key("", "position", str(partition))


def _part(pipeline: Pipeline, names: Sequence[str]) -> list[Processor]:
    chosen = [each for each in pipeline.processors if each.name in names]
    if [each.name for each in pipeline.processors] != [*DERIVING, *RESOLVING]:
        raise ValueError(
            f"a pipeline of {', '.join(each.name for each in pipeline.processors)} cannot be cut "
            f"into {DERIVING} and {RESOLVING}"
        )
    return chosen


def _through(
    processors: Sequence[Processor], state: VersionedState, flowing: list[Event]
) -> list[Event]:
    for processor in processors:
        flowing = [out for each in flowing for out in processor(state, each)]
    return flowing

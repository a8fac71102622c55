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
    InvalidEvent,
    KeyDestroyed,
    LogUnavailable,
    MemstreamError,
    ProjectionDamaged,
    SealBroken,
    UnknownEventType,
)
from memstream.schemas.events import ErasureRequested, Event
from memstream.streams.bundles import (
    BUNDLE_VERSION,
    Bundle,
    BundleCodec,
    Place,
    StateSeal,
    event_of,
)
from memstream.streams.versioned_state import Table, VersionedState

DERIVING = ("gate", "extract")
RESOLVING = ("resolve", "enrich")

ERASED, DEAD_LETTERED, DUPLICATE = "erased", "dead_lettered", "duplicate"
"""Outcomes of a raw event that no decision is made about."""

_LOGGER = structlog.get_logger(__name__)
_TICK = timedelta(microseconds=1)

Message = tuple[int, bytes]
"""(offset, value) of one message of the partition."""
History = Callable[[str, int], Iterable[Message]]
"""The messages of one scope in the raw topic's partition, below an offset."""


class BrokenSequence(MemstreamError):
    """A bundle is missing before this one: the topic lost a message, or another writer is at it."""


class _Recorded(msgspec.Struct, frozen=True):
    """When the scope's last event was recorded."""

    at: datetime


_NOT_THE_EVENTS = (ProjectionDamaged, LogUnavailable)
"""The store's or the key ring's fault: the batch is taken again."""


class Deriving:
    """The first stage of one partition: raw events to bundles of decisions and candidates."""

    def __init__(
        self, pipeline: Pipeline, codec: Codec, table: Table, partition: int, history: History
    ) -> None:
        self._processors = _part(pipeline, DERIVING)
        self._codec = codec
        self._bundles = BundleCodec(codec)
        self.state = VersionedState(table, StateSeal(codec, "deriving"))
        self._partition = partition
        self._position = _position_of(partition)
        self._history = history
        self.dead_letters: list[bytes] = []

    def __call__(self, messages: Sequence[Message]) -> list[bytes]:
        """The bundles of a batch, in order. ``state.flush`` before they are sent; those of
        ``dead_letters`` are to be told of as well."""
        made: list[bytes] = []
        self.dead_letters = []
        if messages:
            self.state.begin_batch(messages[0][0])
        for offset, wire in messages:
            self.state.begin(offset)
            before = self.state.get(self._position, Place) or Place()
            bundles = list(self._bundles_of(offset, wire))
            for part, bundle in enumerate(bundles):
                placed = msgspec.structs.replace(
                    bundle, after=before.offset, part=part, last=part == len(bundles) - 1
                )
                made.append(self._bundles.encode(placed))
                if placed.outcome == DEAD_LETTERED:
                    self.dead_letters.append(made[-1])
            with self.state.isolated() as state:
                state.put(self._position, Place(offset))
        return made

    def _bundles_of(self, offset: int, wire: bytes) -> Iterable[Bundle]:
        scope, event_id, event, error = self._read(offset, wire)
        empty = Bundle(
            version=BUNDLE_VERSION, partition=self._partition, offset=offset, after=-1, part=0,
            last=True, scope=scope, event_id=event_id, outcome="", recordedtime=None, raw=b"",
            key_id="", derived=b"",
        )  # fmt: skip
        replace = msgspec.structs.replace
        if event is None:
            outcome = DEAD_LETTERED if error else ERASED
            yield replace(empty, outcome=outcome, error=error, raw=wire if error else b"")
            return
        event, met = self._placed(event)
        if met:
            yield replace(empty, outcome=DUPLICATE)
            return
        if isinstance(event.data, ErasureRequested):
            yield from self._derived_again(empty, event, event.data)
        yield self._bundle(empty, event, wire)

    def _bundle(self, empty: Bundle, event: Event, wire: bytes) -> Bundle:
        """One event through the processors; its failure is a dead letter."""
        replace = msgspec.structs.replace
        empty = replace(empty, event_id=event.id, recordedtime=event.recordedtime, raw=wire)
        try:
            with self.state.isolated() as state:
                flowing = _through(self._processors, state, [event])
        except _NOT_THE_EVENTS:
            raise
        except Exception as error:
            return _dead_letter(empty, error)
        try:
            return self._bundles.with_flowing(empty, flowing, event, self._bundles.names(wire)[2])
        except KeyDestroyed:
            return replace(empty, outcome=ERASED, raw=b"")

    def _derived_again(
        self, empty: Bundle, request: Event, data: ErasureRequested
    ) -> Iterable[Bundle]:
        """The scope as if what the request names had never been: its state is cleared, and the
        events that stay are derived anew, in the order of the log. Decided by what the request
        says alone, never by which keys happen to be gone already."""
        scope = empty.scope
        recorded = self.state.get(key(scope, "recorded"), _Recorded)
        self.state.clear(scope)
        yield msgspec.structs.replace(empty, clears=True)
        if data.events:
            history = [
                (offset, wire, event)
                for offset, wire in self._history(scope, empty.offset)
                if (event := self._read(offset, wire)[2]) is not None
            ]
            requests = [
                (offset, event.data)
                for offset, _, event in history
                if isinstance(event.data, ErasureRequested)
            ]
            for offset, wire, event in history:
                later = [each for at, each in [*requests, (empty.offset, data)] if at > offset]
                if _is_gone(event.id, self._bundles.names(wire)[2], later):
                    continue
                event, met = self._placed(event)
                if not met:
                    yield self._bundle(empty, event, wire)
        if recorded is not None:
            with self.state.isolated() as state:
                state.put(key(scope, "recorded"), recorded)

    def _read(self, offset: int, wire: bytes) -> tuple[str, str, Event | None, str]:
        """(scope, event id, event, error). No event and no error: it was erased."""
        where = f"partition {self._partition} offset {offset}"
        try:
            event = event_of(self._codec, wire, where=where)
        except KeyDestroyed:
            return (*self._bundles.names(wire)[:2], None, "")
        except (InvalidEvent, SealBroken, UnknownEventType) as error:
            return (*self._bundles.names(wire)[:2], None, f"{type(error).__name__}: {error}"[:500])
        return event.subject, event.id, event, ""

    def _placed(self, event: Event) -> tuple[Event, bool]:
        """The event with a recorded time later than all before it in its scope, whatever clocks
        the producers had, and whether its id was met before."""
        scope, state = event.subject, self.state
        if state.get(key(scope, "event", event.id), GateMark) is not None:
            return event, True
        before = state.get(key(scope, "recorded"), _Recorded)
        recorded = event.recorded_at
        if before is not None and recorded <= before.at:
            recorded = before.at + _TICK
            event = msgspec.structs.replace(event, recordedtime=recorded)
        with state.isolated() as view:
            view.put(key(scope, "recorded"), _Recorded(recorded))
        return event, False


class Resolving:
    """The second stage of one partition: bundles of candidates to bundles of memories."""

    def __init__(self, pipeline: Pipeline, codec: Codec, table: Table, partition: int) -> None:
        self._processors = _part(pipeline, RESOLVING)
        self._bundles = BundleCodec(codec)
        self.state = VersionedState(table, StateSeal(codec, "resolving"))
        self._partition = partition
        self._position = _position_of(partition)
        self.dead_letters: list[bytes] = []

    def __call__(self, messages: Sequence[Message]) -> list[bytes]:
        """As ``Deriving``. Bundles met before give nothing; ``BrokenSequence`` for a gap."""
        made: list[bytes] = []
        self.dead_letters = []
        if messages:
            self.state.begin_batch(messages[0][0])
        for offset, message in messages:
            bundle = self._bundles.decode(
                message, where=f"candidates partition {self._partition} offset {offset}"
            )
            self.state.begin(offset)
            before = self.state.get(self._position, Place) or Place()
            follows = self._bundles.follows(bundle, before)
            if follows is None:
                continue
            if not follows:
                raise BrokenSequence(
                    f"candidates partition {self._partition} offset {offset}: the bundle of event "
                    f"{bundle.offset} (part {bundle.part}, after {bundle.after}) follows that of "
                    f"{before.offset} (part {before.part}); mend: see that one application writes "
                    "to this topic, then rebuild into a new generation"
                )
            resolved = self._resolved(bundle)
            made.append(self._bundles.encode(resolved))
            if resolved.outcome == DEAD_LETTERED != bundle.outcome:
                self.dead_letters.append(made[-1])
            with self.state.isolated() as state:
                state.put(self._position, Place(bundle.offset, bundle.part, bundle.last))
        return made

    def _resolved(self, bundle: Bundle) -> Bundle:
        replace = msgspec.structs.replace
        if bundle.clears:
            self.state.clear(bundle.scope)
            return bundle
        if not bundle.derived:
            return bundle
        raw = self._bundles.raw(bundle)
        try:
            flowing = self._bundles.flowing(bundle, raw)
            with self.state.isolated() as state:
                flowing = _through(self._processors, state, flowing)
            derived = [each for each in flowing if each is not raw]
            return self._bundles.with_flowing(bundle, derived, None, bundle.key_id)
        except KeyDestroyed:
            return replace(bundle, outcome=ERASED, raw=b"", key_id="", derived=b"")
        except _NOT_THE_EVENTS:
            raise
        except Exception as error:
            return _dead_letter(bundle, error)


def _dead_letter(bundle: Bundle, error: Exception) -> Bundle:
    """The bundle of an event whose processing failed: nothing is derived, and it says why."""
    _LOGGER.error(
        "dead_letter",
        scope=bundle.scope,
        event_id=bundle.event_id,
        partition=bundle.partition,
        offset=bundle.offset,
        error=type(error).__name__,
    )
    told = f"{type(error).__name__}: {error}"[:500]
    return msgspec.structs.replace(
        bundle, outcome=DEAD_LETTERED, error=told, key_id="", derived=b""
    )


def _position_of(partition: int) -> str:
    return key("", "position", str(partition))


def _is_gone(event_id: str, key_id: str, requests: Iterable[ErasureRequested]) -> bool:
    """Whether one of the requests names the event, its key (its copy comes later), or all."""
    return any(
        not each.events or event_id in each.events or key_id in each.keys for each in requests
    )


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

"""Cases: small inputs with what must come of them, replayed through the public API.

A case is one JSON file: ``events`` in the short form (see ``own_jsonl``), the ``orders`` they
arrive in, and what to ``expect``. Every order gets a fresh directory. A key that is not known
fails the case, so that a slip of the pen cannot pass.

``expect`` may hold

* ``current``: exactly the active memories of the attributes it names; an empty list: no active
  memory has any attribute. Fields as in ``MemoryView``; ``supports`` counts supporting events.
* ``history``: memories that must be among those believed now, whatever their status.
* ``recall``: queries, with what their evidence must contain and lack.
* ``outcomes`` (event id: stored, rejected, held, quarantined, erased), ``error`` (event id: words
  of the error that refuses it), ``absent_everywhere`` (strings no byte of any file may hold).

Text is compared case-folded, times as instants. A bare date is midnight UTC, or local midnight
where the case's events carry an offset. ``$e1`` is the recorded_at of event e1, ``$e1-`` the
microsecond before it.
"""

from __future__ import annotations

import json
import math
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import msgspec

from memstream.schemas.counting import quantity
from memstream.schemas.errors import Fault, MemstreamError
from memstream.schemas.events import ErasureRequested, Event
from memstream.schemas.instants import MICROSECOND, parse_instant
from memstream.schemas.memories import Memory as MemoryRecord
from memstream.schemas.scope import Scope
from memstream.service.memory import Memory
from memstream.service.searching import files_that_hold, files_under
from memstream.streams.clock import Clock, ManualClock, SystemClock
from memstream.streams.importers.own_jsonl import event_from_short

__all__ = ["CaseResult", "InvalidCase", "MemoryView", "clock_after", "run_case", "run_cases"]


class InvalidCase(MemstreamError):
    """A case does not have the stated form."""


Opened = Callable[[Path, Clock], AbstractContextManager[Memory]]
"""Gives a memory for a case: it works in this folder, by this clock where it can."""
_PATIENCE_S = 120.0


class CaseResult(msgspec.Struct, frozen=True):
    """How one case went. ``problems`` is empty exactly where it passed."""

    name: str
    passed: bool
    problems: tuple[str, ...]
    seconds: float
    orders: int = 1


class MemoryView(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a case says about one memory; what it leaves out may be anything.

    An instant of None is an open end.
    """

    attribute: str | msgspec.UnsetType = msgspec.UNSET
    value: str | msgspec.UnsetType = msgspec.UNSET
    subject: str | msgspec.UnsetType = msgspec.UNSET
    qualifier: str | msgspec.UnsetType = msgspec.UNSET
    kind: str | msgspec.UnsetType = msgspec.UNSET
    status: str | msgspec.UnsetType = msgspec.UNSET
    valid_from: str | msgspec.UnsetType | None = msgspec.UNSET
    valid_to: str | msgspec.UnsetType | None = msgspec.UNSET
    trust: int | msgspec.UnsetType = msgspec.UNSET
    supports: int | msgspec.UnsetType = msgspec.UNSET
    scope: dict[str, str] | None = None


class Asked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One query of a case. Without a scope it asks in the first event's."""

    query: str
    scope: dict[str, str] | None = None
    as_of: str | None = None
    known_at: str | None = None
    contains: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()


class Expected(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What must come of a case."""

    current: tuple[MemoryView, ...] | None = None
    history: tuple[MemoryView, ...] = ()
    recall: tuple[Asked, ...] = ()
    outcomes: dict[str, Literal["stored", "rejected", "held", "quarantined", "erased"]] = {}
    error: dict[str, str] = {}
    absent_everywhere: tuple[str, ...] = ()


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One case as its file states it."""

    name: str
    events: tuple[dict[str, Any], ...]
    expect: Expected
    why: str = ""
    orders: Literal["given", "all"] = "given"
    redeliver: bool = False


def run_cases(
    path: Path, *, only: str | None = None, orders_at_most: int = 120
) -> list[CaseResult]:
    """Runs every ``*.json`` of a directory, by name, or the one file; ``only`` keeps names that
    contain it.

    Raises ``InvalidCase`` where the directory holds no case; a file that is none fails.
    """
    files = sorted(path.glob("*.json")) if path.is_dir() else [path] * path.is_file()
    if not files:
        raise InvalidCase(
            f"{path}: holds no case; mend: name a folder of *.json cases, or one of them"
        )
    found: list[CaseResult] = []
    for file in files:
        if only is not None and only not in file.stem:
            continue
        try:
            raw = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            found.append(CaseResult(file.stem, False, (f"{file}: {error}",), 0.0, 0))
            continue
        with tempfile.TemporaryDirectory(prefix="memstream-case-") as folder:
            found.append(run_case(raw, Path(folder), orders_at_most=orders_at_most))
    return found


def run_case(
    raw: Any,
    folder: Path,
    *,
    orders_at_most: int = 120,
    opened: Opened | None = None,
    clock: Clock | None = None,
) -> CaseResult:
    """Runs one case, in every order it asks for (``orders_at_most`` of them, evenly spread).

    ``folder`` must be empty; a directory is made in it for each order. Stops after the first
    order that fails: the others would say the same. ``opened`` gives the memory to run in; without
    it, a new directory in this process. ``clock`` is the one that memory goes by, later than all
    that the case observes; without it, one of the case's own.
    """
    started = time.perf_counter()
    name = str(raw.get("name", "?")) if isinstance(raw, dict) else "?"
    problems: list[str] = []
    tried = 0
    try:
        case = _case_of(raw)
        for order in _orders(len(case.events), case.orders, orders_at_most):
            tried += 1
            place = folder / f"order-{tried}"
            run = _Run(case, place, opened or _in_process, clock or clock_after([case.events]))
            problems = run.problems(order)
            if problems:
                shown = ", ".join(str(case.events[at].get("id")) for at in order)
                problems = [f"arriving {shown}: {each}" for each in problems]
                break
    except InvalidCase as error:
        problems = [str(error)]
    seconds = round(time.perf_counter() - started, 3)
    return CaseResult(name, not problems, tuple(problems), seconds, tried)


def _in_process(folder: Path, clock: Clock) -> Memory:
    return Memory.open(folder, embedder="none", worker=False, clock=clock)


def _case_of(raw: Any) -> Case:
    try:
        case = msgspec.convert(raw, Case)
    except (msgspec.ValidationError, TypeError) as error:
        name = raw.get("name") if isinstance(raw, dict) else None
        raise InvalidCase(f"case {name!r}: {error}") from error
    ids = [str(each.get("id")) for each in case.events]
    for where, named in (("outcomes", case.expect.outcomes), ("error", case.expect.error)):
        for each in named:
            if each not in ids:
                raise InvalidCase(f"case {case.name!r}: expect.{where} names {each!r}, no event")
    if not case.events:
        raise InvalidCase(f"case {case.name!r}: has no events")
    if len(set(ids)) < len(ids) and case.orders == "all":
        raise InvalidCase(f"case {case.name!r}: two events have one id; orders must be 'given'")
    return case


def _orders(count: int, asked: str, at_most: int) -> Iterator[tuple[int, ...]]:
    """The orders to try, the given one first. Where there are too many, an even choice of them
    that holds the given one and its reverse."""
    if asked == "given":
        yield tuple(range(count))
        return
    total = math.factorial(count)
    tried = max(1, min(total, at_most))
    for number in range(tried):
        yield _permutation(count, number * (total - 1) // (tried - 1) if tried > 1 else 0)


def _permutation(count: int, number: int) -> tuple[int, ...]:
    """Permutation ``number``, in lexicographic order from 0, by its factorial digits."""
    left = list(range(count))
    chosen: list[int] = []
    for size in range(count, 0, -1):
        place, number = divmod(number, math.factorial(size - 1))
        chosen.append(left.pop(place))
    return tuple(chosen)


class _Run:
    """One case in one order, in one directory."""

    def __init__(self, case: Case, folder: Path, opened: Opened, clock: Clock) -> None:
        self._case = case
        self._opened = opened
        self._folder = folder
        self._found: list[str] = []
        self._scopes: dict[str, Scope] = {}
        self._scope_of: dict[str, Scope] = {}
        self._offsets: list[timedelta] = []
        self._clock = clock
        self._erased_at: dict[str, datetime] = {}

    def problems(self, order: Sequence[int]) -> list[str]:
        """Everything that is not as expected."""
        try:
            with self._opened(self._folder, self._clock) as memory:
                for _ in range(2 if self._case.redeliver else 1):
                    for at in order:
                        self._deliver(memory, at)
                    memory.flush(_PATIENCE_S)
                if self._scopes:
                    self._examine(memory)
                self._search_bytes("open")
        except (MemstreamError, TimeoutError) as error:
            self._found.append(f"{type(error).__name__}: {error}")
        self._search_bytes("closed")
        return self._found

    def _deliver(self, memory: Memory, at: int) -> None:
        """Records one event, or sees that it is refused as the case says."""
        raw = self._case.events[at]
        name = str(raw.get("id"))
        words = self._case.expect.error.get(name)
        try:
            event = event_from_short(raw, where=f"event {name}")
            self._note(event)
            if isinstance(event.data, ErasureRequested):
                self._erase(memory, event, event.data)
            else:
                memory.append([event])
        except MemstreamError as error:
            if words is None:
                self._found.append(f"{name}: refused: {error}")
            elif words.casefold() not in str(error).casefold():
                self._found.append(f"{name}: its error does not say {words!r}: {error}")
            return
        if words is not None:
            self._found.append(f"{name}: was taken; expected an error that says {words!r}")

    def _note(self, event: Event) -> None:
        scope = Scope.parse(event.subject)
        self._scopes.setdefault(scope.path, scope)
        self._scope_of[event.id] = scope
        offset = event.time.utcoffset() or timedelta(0)
        if offset not in self._offsets:
            self._offsets.append(offset)

    def _erase(self, memory: Memory, event: Event, data: ErasureRequested) -> None:
        """An erasure is asked for at the door, which makes the event itself."""
        scope = Scope.parse(event.subject)
        for target in data.events or (None,):
            report = memory.erase(scope, event=target, reason=data.reason)
            if report.traces:
                self._found.append(f"{event.id}: erased, and found again in {report.traces}")
        self._erased_at[event.id] = self._clock.now()

    def _examine(self, memory: Memory) -> None:
        expect = self._case.expect
        if expect.current is not None:
            self._check_current(memory, expect.current)
        for view in expect.history:
            self._check_history(memory, view)
        for number, asked in enumerate(expect.recall):
            self._check_recall(memory, f"recall[{number}] {asked.query!r}", asked)
        for name, outcome in expect.outcomes.items():
            found = self._outcome(memory, name)
            if found != outcome:
                self._found.append(f"{name} is {found}, expected {outcome}")
        balance = memory.doctor().balance
        if not balance.closes:
            self._found.append(f"the balance does not close: {balance}")
        if balance.dead_lettered:
            self._found.append(
                f"{quantity(balance.dead_lettered, 'dead letter')} where none is expected"
            )

    def _check_current(self, memory: Memory, views: Sequence[MemoryView]) -> None:
        """Each memory must fit a view of its own, and each view a memory."""
        named = {each.attribute.casefold() for each in views if isinstance(each.attribute, str)}
        left = [
            each
            for scope in self._scopes.values()
            for each in memory.memories(scope)
            if (each.attribute.casefold() in named if named else each.attribute)
        ]
        for view in views:
            fitting = next((each for each in left if self._fits(each, each.status, view)), None)
            if fitting is None:
                shown = ", ".join(map(_shown, left)) or "nothing else"
                self._found.append(f"current: no memory is {_said(view)}; there is {shown}")
            else:
                left.remove(fitting)
        if left and not any("current:" in each for each in self._found):
            self._found.append(f"current: also holds {', '.join(map(_shown, left))}")

    def _check_history(self, memory: Memory, view: MemoryView) -> None:
        """Of each memory the newest version counts, with its own status or the one it shows."""
        shown: list[str] = []
        for scope in self._scopes.values():
            own = {each.id: each.status for each in memory.history(scope)}
            for each in memory.memories(scope, everything=True):
                if self._fits(each, each.status, view) or self._fits(each, own[each.id], view):
                    return
                shown.append(_shown(each))
        there = "; ".join(shown) or "nothing"
        self._found.append(f"history: no memory is {_said(view)}; there is {there}")

    def _check_recall(self, memory: Memory, where: str, asked: Asked) -> None:
        scope = next(iter(self._scopes.values()))
        if asked.scope is not None:
            scope = _scope_of(asked.scope, where)
        as_of = self._instant(memory, asked.as_of, where)
        known_at = self._instant(memory, asked.known_at, where)
        evidence = memory.recall(scope, asked.query, as_of=as_of, known_at=known_at, record=False)
        text = evidence.text.casefold()
        for words in asked.contains:
            if words.casefold() not in text:
                self._found.append(f"{where} lacks {words!r}; it gave {evidence.text!r}")
        for words in asked.lacks:
            if words.casefold() in text:
                self._found.append(f"{where} holds {words!r}; it gave {evidence.text!r}")

    def _outcome(self, memory: Memory, name: str) -> str:
        """What the gate decided last on an event, or why there is no decision."""
        _, found = memory.sql(
            f"SELECT outcome FROM captured WHERE event = {_quoted(name)} "  # noqa: S608 - quoted
            f"AND scope = {_quoted(self._scope_of[name].path)}"
        )
        return str(found[0][0]) if found else "not in the log"

    def _instant(self, memory: Memory, text: str | None, where: str) -> datetime | None:
        if text is None:
            return None
        if not text.startswith("$"):
            return _instants_of(text, where, self._offsets)[0]
        name = text[1:].removesuffix("-")
        before = MICROSECOND if text.endswith("-") else timedelta(0)
        if name in self._erased_at:
            return self._erased_at[name] - before
        if name not in self._scope_of:
            raise InvalidCase(f"case {self._case.name!r}: {where}: {text!r} names no event")
        _, found = memory.sql(
            f"SELECT recorded_at FROM events WHERE id = {_quoted(name)} "  # noqa: S608 - quoted
            f"AND scope = {_quoted(self._scope_of[name].path)}"
        )
        if found:
            recorded: datetime = found[0][0]
            return recorded.astimezone(UTC) - before
        raise InvalidCase(f"case {self._case.name!r}: {where}: {name!r} is not in the log")

    def _fits(self, memory: MemoryRecord, status: str, view: MemoryView) -> bool:
        for name in ("attribute", "value", "subject", "qualifier", "kind"):
            wanted = getattr(view, name)
            found = getattr(memory, name)
            if wanted is not msgspec.UNSET and wanted.casefold() != found.casefold():
                return False
        if view.status is not msgspec.UNSET and view.status != status:
            return False
        if view.trust is not msgspec.UNSET and view.trust != memory.trust:
            return False
        if view.supports is not msgspec.UNSET and view.supports != len(memory.supports):
            return False
        if view.scope is not None and _scope_of(view.scope, "expect").path != memory.scope:
            return False
        return all(
            self._same_instant(getattr(memory, name), getattr(view, name))
            for name in ("valid_from", "valid_to")
        )

    def _same_instant(self, found: datetime | None, wanted: Any) -> bool:
        if wanted is msgspec.UNSET:
            return True
        if wanted is None or found is None:
            return wanted is None and found is None
        return found in _instants_of(wanted, "expect", self._offsets)

    def _search_bytes(self, when: str) -> None:
        for words in self._case.expect.absent_everywhere:
            for file in files_that_hold(files_under(self._folder), {words}):
                place = Path(file).relative_to(self._folder)
                self._found.append(f"{words!r} stands in {place} ({when})")


def clock_after(cases: Iterable[Sequence[Mapping[str, Any]]]) -> Clock:
    """A clock that starts after everything that these lists of events observe: now, or a day after
    the last event."""
    start = SystemClock().now()
    for raw in (each for events in cases for each in events):
        observed = parse_instant("$.observed_at", str(raw.get("observed_at")))
        if isinstance(observed, datetime):
            start = max(start, observed.astimezone(UTC) + timedelta(days=1))
    return ManualClock(start, step=timedelta(milliseconds=1))


def _scope_of(fields: Mapping[str, str], where: str) -> Scope:
    try:
        return Scope(**fields)
    except TypeError as error:
        raise InvalidCase(f"{where}: scope: {error}") from error


def _instants_of(text: str, where: str, offsets: Sequence[timedelta]) -> list[datetime]:
    """The instants a text may stand for: one, or for a bare date the midnight of each offset."""
    instant = parse_instant(where, text)
    if isinstance(instant, datetime):
        return [instant]
    midnight = parse_instant(where, f"{text.strip()}T00:00:00Z")
    if isinstance(midnight, Fault):
        raise InvalidCase(f"{where}: {text!r} is neither a time nor a date")
    return [midnight - offset for offset in offsets or [timedelta(0)]]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _said(view: MemoryView) -> str:
    given = {name: getattr(view, name) for name in view.__struct_fields__}
    shown = {
        n: v for n, v in given.items() if v is not msgspec.UNSET and not (n == "scope" and not v)
    }
    return ", ".join(f"{name}={value!r}" for name, value in shown.items())


def _shown(memory: MemoryRecord) -> str:
    until = "" if memory.valid_to is None else f" until {memory.valid_to.isoformat()}"
    what = memory.attribute or memory.kind
    return (
        f"{what}={memory.value[:60]!r} ({memory.status}, {len(memory.supports)} supports, "
        f"from {memory.valid_from.isoformat()}{until})"
    )

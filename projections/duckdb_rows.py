"""From steps to rows: what one batch of steps adds to each table of the analytics file.

Every row travels as two JSON texts, which DuckDB takes apart in one vectorised INSERT a table:

* the head: what the envelope and the step know (see ``_Head``), and
* the body: the typed data as the codec writes it (for a memory its canonical serialisation).

Measured with memory versions (41 columns, a record of 0.8 kB, batches of 600, commit included,
three rounds on two shared cores), µs of CPU per row: 19 to 21 this way, 26 to 28 with DuckDB's
appender, 39 to 40 through a Polars frame (which also needs pyarrow), 1,100 and more with
``executemany``. The rows were ready in each case; making Python rows out of structs first, which
only the last three need, costs 8 to 15 µs more, encoding the JSON 3 to 4.
"""

# ruff: noqa: S608 - the names in these statements are constants here; values are parameters

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import msgspec

from memstream.projections.projection import VOID, Step, recorded_in
from memstream.schemas.events import (
    CandidateExtracted,
    ContextServed,
    Data,
    ErasureRequested,
    Event,
    FeedbackGiven,
    MemoryChanged,
    ReviewDecided,
    WriteDecided,
)
from memstream.schemas.memories import Amended, Assertion, Interval, Memory, Recorded
from memstream.schemas.scope import Scope

TABLES = (
    "events",
    "decisions",
    "candidates",
    "memory_versions",
    "contexts",
    "context_items",
    "feedback",
    "erasures",
    "reviews",
)
"""Every table that holds rows of steps, in the order they are written."""

ERASED = "erased"
"""The type of an event whose content was destroyed before this file saw it."""

Texts = tuple[list[str], list[str | None]]
"""Heads and bodies of one table."""

_ENCODE = msgspec.json.Encoder(order="deterministic").encode


class Rows:
    """The heads and bodies of one batch, per table and in order."""

    def __init__(self) -> None:
        self.heads: dict[str, list[str]] = {}
        self.bodies: dict[str, list[str | None]] = {}

    def add(self, table: str, head: _Head, body: bytes | None) -> None:
        if table not in self.heads:
            self.heads[table], self.bodies[table] = [], []
        self.heads[table].append(_ENCODE(head).decode())
        self.bodies[table].append(None if body is None else body.decode())

    def inserts(self) -> list[tuple[str, Texts]]:
        """(statement, its two parameters) for every table that gets rows."""
        inserts = [
            (statement, (self.heads[table], self.bodies[table]))
            for table, statement in INSERTS.items()
            if table in self.heads
        ]
        if "contexts" in self.heads:
            texts = (self.heads["contexts"], self.bodies["contexts"])
            inserts.append((_INSERT_CONTEXT_ITEMS, texts))
        return inserts


def rows_of(steps: Sequence[Step]) -> Rows:
    """All rows of the steps. Raises ``InvalidScope`` for a scope path that is none."""
    rows = Rows()
    for step in steps:
        if step.offset == VOID:
            continue
        raw = step.event
        if not step.event_id:
            continue
        if raw is None:
            rows.add("events", _erased_head(step), None)
        else:
            body = _ENCODE(raw.data)
            rows.add("events", _event_head(step, raw), body)
            table = _TABLE_OF_RAW.get(type(raw.data))
            if table is not None:
                rows.add(table, _event_head(step, raw), body)
        recorded = None if raw is None else raw.recordedtime
        records = iter(recorded_in(step))
        for ordinal, event in enumerate(step.derived):
            _add_derived(rows, step, event, event.recordedtime or recorded, ordinal, records)
    return rows


class _Head(msgspec.Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """What a row knows besides its body; each table reads some of it. Times are UTC; ``event`` is
    the raw event's id."""

    seq: int
    tenant: str
    id: str | None = None
    type: str | None = None
    scope: str | None = None
    event: str | None = None
    ordinal: int | None = None
    digest: int | None = None
    observed_at: datetime | None = None
    recorded_at: datetime | None = None
    log_partition: int | None = None
    log_offset: int | None = None
    utc_offset_minutes: int | None = None
    source_kind: str | None = None
    trust: int | None = None
    runtime: str | None = None
    run: str | None = None


_TABLE_OF_RAW: dict[type[Data], str] = {
    ContextServed: "contexts",
    FeedbackGiven: "feedback",
    ErasureRequested: "erasures",
    ReviewDecided: "reviews",
}


def _erased_head(step: Step) -> _Head:
    return _Head(
        seq=step.seq,
        tenant=_tenant(step.scope),
        id=step.event_id,
        type=ERASED,
        scope=step.scope,
        log_partition=step.partition,
        log_offset=step.offset,
    )


def _event_head(step: Step, event: Event) -> _Head:
    offset = event.time.utcoffset()
    return _Head(
        seq=step.seq,
        tenant=_tenant(step.scope),
        id=event.id,
        type=event.type,
        scope=step.scope,
        observed_at=event.time.astimezone(UTC),
        recorded_at=event.recordedtime,
        log_partition=step.partition,
        log_offset=step.offset,
        utc_offset_minutes=None if offset is None else int(offset.total_seconds() // 60),
        source_kind=event.source.kind,
        trust=event.source.trust,
        runtime=event.source.runtime,
        run=event.source.run,
    )


def _add_derived(
    rows: Rows,
    step: Step,
    event: Event,
    recorded: datetime | None,
    ordinal: int,
    records: Iterator[Recorded],
) -> None:
    data = event.data
    if isinstance(data, MemoryChanged):
        memory = data.memory
        record, digest = next(records)
        head = _Head(
            seq=step.seq,
            tenant=_tenant(memory.scope),
            event=step.event_id,
            type=event.type,
            digest=digest,
        )
        rows.add("memory_versions", head, record)
    elif isinstance(data, CandidateExtracted):
        tenant = _tenant(data.assertion.scope)
        head = _Head(seq=step.seq, tenant=tenant, id=event.id, recorded_at=recorded)
        rows.add("candidates", head, _ENCODE(data.assertion))
    elif isinstance(data, WriteDecided):
        head = _Head(
            seq=step.seq,
            tenant=_tenant(event.subject),
            id=event.id,
            scope=event.subject,
            ordinal=ordinal,
            observed_at=event.time.astimezone(UTC),
            recorded_at=recorded,
        )
        rows.add("decisions", head, _ENCODE(data))
    else:
        raise TypeError(f"step {step.seq}: {event.type} is not derived, so it has no table")


@lru_cache(maxsize=4096)
def _tenant(scope: str) -> str:
    return Scope.parse(scope).tenant


# How DuckDB takes the two texts apart -------------------------------------------------------

_SCALARS: dict[object, str] = {
    str: "VARCHAR",
    int: "BIGINT",
    float: "DOUBLE",
    bool: "BOOLEAN",
    datetime: "TIMESTAMPTZ",
    tuple[str, ...]: "VARCHAR[]",
    tuple[Amended, ...]: "VARCHAR[]",  # each as JSON
    dict[str, float]: "MAP(VARCHAR, DOUBLE)",
}


def _sql_type(annotation: Any) -> str | None:
    """The SQL type of a field, or None where it does not become one column."""
    origin = get_origin(annotation)
    if origin is Literal:
        return "VARCHAR"
    if origin is Union or isinstance(annotation, UnionType):
        inner = [each for each in get_args(annotation) if each is not type(None)]
        return _sql_type(inner[0]) if len(inner) == 1 else None
    return _SCALARS.get(annotation)


def _default(field: msgspec.structs.FieldInfo) -> str | None:
    """The SQL literal of what an absent key means, or None where it means NULL."""
    value = field.default
    if value is msgspec.NODEFAULT:
        factory = field.default_factory
        value = None if factory is msgspec.NODEFAULT else factory()
    if value in ((), {}):
        return "[]" if value == () else "MAP {}"
    if isinstance(value, bool | int | float):
        return str(value).lower()
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return None


def _utc(column: str) -> str:
    """A TIMESTAMP in UTC of a TIMESTAMPTZ, whatever the session's time zone is."""
    return f"make_timestamp(epoch_us({column}))"


def _shape_and_columns(
    kind: type[msgspec.Struct], alias: str, *, without: tuple[str, ...] = ()
) -> tuple[str, dict[str, str]]:
    """The shape ``from_json`` reads a struct by, and its columns: name to SQL expression."""
    shape: dict[str, object] = {}
    columns: dict[str, str] = {}
    for field in msgspec.structs.fields(kind):
        name, sql = field.name, _sql_type(field.type)
        if name in without:
            continue
        if sql is not None:
            shape[name] = ["VARCHAR"] if sql == "VARCHAR[]" else sql
            default = _default(field)
            column = f"{alias}.{name}"
            column = _utc(column) if sql == "TIMESTAMPTZ" else column
            columns[name] = column if default is None else f"coalesce({column}, {default})"
        elif Interval in get_args(field.type):
            shape[name] = {
                "start": "TIMESTAMPTZ",
                "end": "TIMESTAMPTZ",
                "granularity": "VARCHAR",
            }
            inner = f"{alias}.{name}"
            columns[f"{name}_from"] = _utc(f"{inner}.start")
            columns[f"{name}_to"] = _utc(f'{inner}."end"')
            columns[f"{name}_granularity"] = (
                f"CASE WHEN {inner} IS NOT NULL THEN coalesce({inner}.granularity, 'instant') END"
            )
        elif name == "span":
            shape[name] = ["BIGINT"]
            columns["span_start"] = f"{alias}.span[1]"
            columns["span_end"] = f"{alias}.span[2]"
    return json.dumps(shape), columns


# The head is written here, in UTC; a body's instants may have the speaker's offset.
_HEAD_TYPES: dict[str, str] = {
    name: "TIMESTAMP" if sql == "TIMESTAMPTZ" else sql
    for name, sql in json.loads(_shape_and_columns(_Head, "h")[0]).items()
}


def _head_shape(*used: str) -> str:
    return json.dumps({name: _HEAD_TYPES[name] for name in used})


def _insert(table: str, shape: str, columns: dict[str, str]) -> str:
    """INSERT of a batch. ``h`` is the head, ``b`` the body, ``body`` the body's own text."""
    head_shape = _head_shape(*(sql[2:] for sql in columns.values() if sql.startswith("h.")))
    chosen = ",\n    ".join(f"{sql} AS {name}" for name, sql in columns.items())
    return f"""INSERT INTO {table} BY NAME
SELECT
    {chosen}
FROM (
    SELECT from_json(head, '{head_shape}') AS h, from_json(body, '{shape}') AS b, body
    FROM (SELECT unnest($1::VARCHAR[]) AS head, unnest($2::VARCHAR[]) AS body)
)"""


def _of_head(*names: str, **renamed: str) -> dict[str, str]:
    kept = {name: f"h.{name}" for name in ("seq", "tenant", *names)}
    return kept | {name: f"h.{old}" for name, old in renamed.items()}


def _insert_struct(
    table: str,
    kind: type[msgspec.Struct],
    head: dict[str, str],
    *,
    without: tuple[str, ...] = ("actor",),
    more: dict[str, str] | None = None,
) -> str:
    shape, columns = _shape_and_columns(kind, "b", without=without)
    return _insert(table, shape, columns | head | (more or {}))


_ENVELOPE = (
    "id",
    "type",
    "scope",
    "observed_at",
    "recorded_at",
    "log_partition",
    "log_offset",
    "utc_offset_minutes",
    "source_kind",
    "trust",
    "runtime",
    "run",
)
_TEXT_FIELDS = ("actor", "role", "tool", "conversation", "origin", "text")

INSERTS = {
    "events": _insert(
        "events",
        json.dumps(dict.fromkeys(_TEXT_FIELDS, "VARCHAR")),
        _of_head(*_ENVELOPE)
        | {name: f"b.{name}" for name in _TEXT_FIELDS}
        | {"data": "body", "erased": "body IS NULL"},
    ),
    "decisions": _insert_struct(
        "decisions",
        WriteDecided,
        _of_head("id", "scope", "ordinal", "observed_at", decided_at="recorded_at"),
    ),
    "candidates": _insert_struct("candidates", Assertion, _of_head("id", "recorded_at")),
    "memory_versions": _insert_struct(
        "memory_versions",
        Memory,
        _of_head("digest", "event", change="type"),
        without=("expired_at",),
        more={"record": "body"},
    ),
    "contexts": _insert_struct(
        "contexts",
        ContextServed,
        _of_head("id", "scope", "recorded_at", served_at="observed_at"),
        without=("items",),
        more={"items": "coalesce(json_array_length(body, '$.items'), 0)"},
    ),
    "feedback": _insert_struct(
        "feedback",
        FeedbackGiven,
        _of_head("id", "scope", "recorded_at", given_at="observed_at"),
        without=(),
    ),
    "erasures": _insert_struct(
        "erasures",
        ErasureRequested,
        _of_head("id", "scope", "recorded_at", requested_at="observed_at"),
        without=("keys",),
        more={"whole_scope": "coalesce(len(b.events), 0) = 0"},
    ),
    "reviews": _insert_struct(
        "reviews",
        ReviewDecided,
        _of_head("id", "scope", "recorded_at", reviewed_at="observed_at"),
        without=(),
    ),
}
"""Per table the statement that inserts a batch; $1 are the heads, $2 the bodies."""

_ITEM_HEAD = _head_shape("seq", "id", "scope", "tenant")
_ITEM_SHAPE = json.dumps(
    {
        "items": [
            {
                "memory": "VARCHAR",
                "version": "INTEGER",
                "rank": "INTEGER",
                "score": "DOUBLE",
                "found": "VARCHAR",
            }
        ]
    }
)
_INSERT_CONTEXT_ITEMS = f"""INSERT INTO context_items BY NAME
SELECT h.seq AS seq, h.id AS context, h.scope AS scope, h.tenant AS tenant,
       item.rank AS rank, item.memory AS memory, item.version AS version, item.score AS score,
       item.found AS found
FROM (
    SELECT h, unnest(b.items) AS item
    FROM (
        SELECT from_json(head, '{_ITEM_HEAD}') AS h, from_json(body, '{_ITEM_SHAPE}') AS b
        FROM (SELECT unnest($1::VARCHAR[]) AS head, unnest($2::VARCHAR[]) AS body)
    )
)"""

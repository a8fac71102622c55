"""The published JSON Schema of every event: the envelope and its typed data. Pure.

Describes the wire form, one CloudEvents 1.0 JSON object (see ``codec``), in JSON Schema 2020-12.
The data's part is generated from the types that the codec itself decodes into, so the two cannot
disagree; the envelope's part is written here and held to the codec by a test.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

import msgspec

from memstream.schemas.errors import UnknownEventType
from memstream.schemas.events import CURRENT_VERSION, DATA_TYPES, SourceKind, Trust
from memstream.schemas.scope import OWNERS
from memstream.schemas.sealing import ALGORITHM

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_REFERENCE = "#/$defs/{name}"


def event_schema(event_type: str) -> dict[str, Any]:
    """The schema of one event type. Raises ``UnknownEventType``, naming those there are."""
    if event_type not in DATA_TYPES:
        raise UnknownEventType(
            f"event type {event_type!r} is unknown; mend: one of {', '.join(sorted(DATA_TYPES))}"
        )
    return {"$schema": DIALECT, **_envelope(event_type), "$defs": _definitions([event_type])}


def all_events_schema() -> dict[str, Any]:
    """One schema for all event types: exactly one of them fits an event."""
    types = sorted(DATA_TYPES)
    return {
        "$schema": DIALECT,
        "title": "memstream event",
        "oneOf": [_envelope(event_type) for event_type in types],
        "$defs": _definitions(types),
    }


def _envelope(event_type: str) -> dict[str, Any]:
    data = DATA_TYPES[event_type]
    return {
        "title": event_type,
        "description": f"CloudEvents 1.0, structured mode; data is {data.__name__}.",
        "type": "object",
        "properties": {
            "specversion": {"const": "1.0"},
            "id": {
                "type": "string",
                "minLength": 1,
                "maxLength": 512,
                "description": "Unique within its subject; the same id again changes nothing.",
            },
            "source": {
                "type": "string",
                "description": "memstream://RUNTIME/RUN: the program it comes from.",
            },
            "type": {"const": event_type},
            "subject": {
                "type": "string",
                "pattern": f"^[^/]+/({'|'.join(OWNERS)}):.+$",
                "description": "The scope's path: tenant/kind:name, percent-escaped.",
            },
            "time": {
                "type": "string",
                "format": "date-time",
                "description": "observed_at, with the speaker's UTC offset.",
            },
            "recordedtime": {
                "type": "string",
                "format": "date-time",
                "description": "recorded_at, set by the log.",
            },
            "dataversion": {"const": CURRENT_VERSION[event_type], "default": 1},
            "sourcekind": {"enum": list(get_args(SourceKind)), "default": "user_said"},
            "trust": {
                "type": "integer",
                "minimum": int(min(Trust)),
                "maximum": int(max(Trust)),
                "description": "At most what the source kind may have, which is its default.",
            },
            "datacontenttype": {"const": "application/json"},
            "data": {"$ref": _REFERENCE.format(name=data.__name__)},
            "keyid": {"type": "string", "description": "The key that seals data_base64."},
            "sealalg": {"const": ALGORITHM},
            "data_base64": {"type": "string", "contentEncoding": "base64"},
        },
        "required": ["specversion", "id", "type", "subject", "time"],
        "oneOf": [
            {"required": ["data"]},
            {"required": ["keyid", "sealalg", "data_base64"]},
        ],
    }


def _definitions(event_types: Sequence[str]) -> dict[str, Any]:
    kinds = list(dict.fromkeys(DATA_TYPES[event_type] for event_type in event_types))
    _, components = msgspec.json.schema_components(kinds, ref_template=_REFERENCE)
    return components

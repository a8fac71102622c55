"""The nearest format to a record that is in none: what it lacks, what is strange in it, the mend.

Only the formats that a person writes by hand are compared: our own two, and plain messages. The
others are exports of programs, which nobody mends key by key.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from memstream.schemas.events import RAW_TYPES
from memstream.streams.importers import own_jsonl
from memstream.streams.importers.chat_messages import CONTENT_KEYS, ROLE_KEYS, ROLES, TIMES

_MOST_NAMED = 12


class Form(msgspec.Struct, frozen=True):
    """What a record of one format looks like. Of each tuple in ``needed`` one key must be there;
    ``words`` are the values that a key may have; ``example`` is a whole record."""

    name: str
    needed: tuple[tuple[str, ...], ...]
    allowed: frozenset[str]
    words: Mapping[tuple[str, ...], frozenset[str]]
    example: str


_TYPES = frozenset(RAW_TYPES)
FORMS = (
    Form(
        "openai_messages",
        (ROLE_KEYS, CONTENT_KEYS),
        frozenset((*ROLE_KEYS, *CONTENT_KEYS, *TIMES, "id", "name", "tool_calls", "tool_call_id")),
        {ROLE_KEYS: frozenset(ROLES)},
        '{"role": "user", "content": "I live in Oslo.", "timestamp": "2025-05-01T10:00:00Z"}',
    ),
    Form(
        "own_jsonl",
        (("id",), ("type",), ("observed_at",), ("data",)),
        frozenset(own_jsonl.FIELDS),
        {("type",): _TYPES},
        '{"id": "1", "type": "turn.recorded", "observed_at": "2025-05-01T10:00:00Z", '
        '"data": {"text": "I live in Oslo."}}',
    ),
    Form(
        "own_jsonl (CloudEvents)",
        (("specversion",), ("id",), ("type",), ("subject",), ("time",), ("data", "data_base64")),
        frozenset(own_jsonl.WIRE_FIELDS),
        {("type",): _TYPES},
        '{"specversion": "1.0", "id": "1", "type": "turn.recorded", "subject": "acme/user:u1", '
        '"time": "2025-05-01T10:00:00Z", "data": {"text": "I live in Oslo.", "role": "user"}}',
    ),
)
"""In the order in which a record that is equally near to several is told of one: the easiest
first."""


def nearest(value: Any) -> tuple[str, str]:
    """What keeps a record out of the format that it is nearest to, and the mend."""
    if not isinstance(value, dict):
        return (
            f"is {_kind(value)}, where an object is expected",
            f"write each line as {FORMS[0].example}",
        )
    form = max(FORMS, key=lambda each: _nearness(value, each))
    missing = [keys[0] for keys in form.needed if not value.keys() & set(keys)]
    strange = sorted(str(name) for name in value if name not in form.allowed)
    problems = [f"is nearest to {form.name}"]
    if missing:
        problems.append(f"missing {', '.join(missing)}")
    if strange:
        more = f" and {len(strange) - _MOST_NAMED} more" if len(strange) > _MOST_NAMED else ""
        problems.append(f"unknown {', '.join(name[:40] for name in strange[:_MOST_NAMED])}{more}")
    for keys, words in form.words.items():
        name = next((each for each in keys if each in value), "")
        if name and str(value[name]).strip().lower() not in words:
            known = ", ".join(sorted(words))
            problems.append(f"{name} {str(value[name])[:40]!r} is unknown (known: {known})")
    return ": ".join((problems[0], "; ".join(problems[1:]))), f"write each line as {form.example}"


def _nearness(value: Mapping[str, Any], form: Form) -> float:
    """The share of what it needs that is there; then how many of its keys the format knows."""
    there = sum(1 for keys in form.needed if value.keys() & set(keys))
    known = sum(1 for name in value if name in form.allowed)
    return there / len(form.needed) + known / (100 * max(1, len(value)))


def _kind(value: Any) -> str:
    if isinstance(value, str):
        return "a text"
    return "a list" if isinstance(value, list) else f"{value}"[:40]

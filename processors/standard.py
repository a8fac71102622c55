"""The standard pipeline: gate, extract, resolve, enrich, with a directory's own settings.

A memory directory may hold ``attributes.toml`` (more attributes), ``rules/*.toml`` (more rules)
and ``policy.toml`` (the gate's thresholds). They are part of the fingerprint, so a change asks for
a rebuild.
"""

from __future__ import annotations

import tomllib
from functools import lru_cache
from pathlib import Path

import msgspec

from memstream.processors.enrich import Enrich
from memstream.processors.extract import Extract, Reader
from memstream.processors.gate import Gate, GatePolicy
from memstream.processors.lexemes import LEXEMES_VERSION
from memstream.processors.pipeline import Pipeline
from memstream.processors.resolve import Resolve
from memstream.schemas.attributes import Attributes, builtin
from memstream.schemas.errors import MemstreamError


class InvalidPolicy(MemstreamError):
    """``policy.toml`` does not have the stated form."""


def standard_pipeline(settings: Path | None = None) -> Pipeline:
    """The pipeline, extended by the files in ``settings`` where there are any.

    Compiling the rules takes most of a second, so a process does it once for equal settings.
    """
    content = tuple((path, path.read_bytes()) for path in _setting_files(settings))
    return _compiled(settings if content else None, content)


@lru_cache(maxsize=8)
def _compiled(settings: Path | None, _content: tuple[tuple[Path, bytes], ...]) -> Pipeline:
    attributes = attributes_in(settings)
    rules = [path for path in _setting_files(settings) if path.parent.name == "rules"]
    policy = policy_in(settings)
    reader = Reader(attributes, rules)
    return Pipeline(
        [Gate(policy), Extract(reader), Resolve(attributes), Enrich(attributes)],
        policy=[
            policy.fingerprint(),
            attributes.fingerprint(),
            reader.fingerprint,
            f"lexemes/{LEXEMES_VERSION}",
        ],
    )


def _setting_files(settings: Path | None) -> list[Path]:
    if settings is None:
        return []
    single = [settings / "attributes.toml", settings / "policy.toml"]
    return [
        path for path in (*single, *sorted((settings / "rules").glob("*.toml"))) if path.is_file()
    ]


def attributes_in(settings: Path | None) -> Attributes:
    """The built-in attributes and those of ``attributes.toml``."""
    path = settings / "attributes.toml" if settings else None
    return builtin().extended(path) if path and path.is_file() else builtin()


def policy_in(settings: Path | None) -> GatePolicy:
    """The gate's policy: the default, changed by what ``policy.toml`` names."""
    path = settings / "policy.toml" if settings else None
    if path is None or not path.is_file():
        return GatePolicy()
    try:
        return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), GatePolicy)
    except (tomllib.TOMLDecodeError, UnicodeError, msgspec.ValidationError) as error:
        names = ", ".join(field.name for field in msgspec.structs.fields(GatePolicy))
        raise InvalidPolicy(f"{path}: {error}; mend: use the fields {names}") from error

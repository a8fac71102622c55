"""A directory's own settings of the pipeline, and the fingerprint that it has with them.

A memory directory may hold ``attributes.toml`` (more attributes), ``rules/*.toml`` (more rules)
and ``policy.toml`` (the gate's thresholds). They are part of the fingerprint, so a change asks for
a rebuild. No processor is imported here: whoever only reads wants to know whether what is there was
made by this pipeline, and does not run it.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Sequence
from pathlib import Path

import msgspec

from memstream.processors import versions
from memstream.processors.gate_policy import GatePolicy
from memstream.processors.pipeline import fingerprint_of
from memstream.processors.rule_files import builtin_files, hash_of
from memstream.schemas.attributes import Attributes, builtin
from memstream.schemas.errors import MemstreamError


class InvalidPolicy(MemstreamError):
    """``policy.toml`` does not have the stated form."""


def standard_fingerprint(settings: Path | None = None) -> str:
    """The fingerprint of ``standard_pipeline(settings)``. Raises what is wrong with attributes or
    policy; the rules are only hashed."""
    named = (
        ("gate", versions.GATE),
        ("extract", versions.EXTRACT),
        ("resolve", versions.RESOLVE),
        ("enrich", versions.ENRICH),
    )
    return fingerprint_of(
        named, policies(policy_in(settings), attributes_in(settings), rules_in(settings))
    )


def policies(policy: GatePolicy, attributes: Attributes, rules: Sequence[Path]) -> list[str]:
    """What the fingerprint of the standard pipeline says beside the versions of its processors."""
    return [
        policy.fingerprint(),
        attributes.fingerprint(),
        rules_fingerprint(attributes, rules),
        f"lexemes/{versions.LEXEMES}",
    ]


def rules_fingerprint(attributes: Attributes, extra_rules: Sequence[Path]) -> str:
    """A hash over the rules, those that come with memstream among them, the attributes and the
    version of what reads with them."""
    paths = [*builtin_files(), *extra_rules]
    parts = f"{hash_of(paths)}/{attributes.fingerprint()}/{versions.EXTRACT}"
    return hashlib.sha256(parts.encode()).hexdigest()[:16]


def setting_files(settings: Path | None) -> list[Path]:
    """All files by which the owner of a directory changed its pipeline."""
    if settings is None:
        return []
    single = [settings / "attributes.toml", settings / "policy.toml"]
    return [path for path in (*single, *rules_in(settings)) if path.is_file()]


def rules_in(settings: Path | None) -> list[Path]:
    """The owner's rule files."""
    if settings is None:
        return []
    return [path for path in sorted((settings / "rules").glob("*.toml")) if path.is_file()]


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

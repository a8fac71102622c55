"""Rule files: their form, and reading them. What the fields mean stands in ``rulebook/en.toml``."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from memstream.schemas.errors import MemstreamError

RULEBOOK = Path(__file__).with_name("rulebook")
Language = Literal["en", "zh"]
SubjectKind = Literal["self", "we", "other", "none"]


class InvalidRule(MemstreamError):
    """A rule file cannot be read, or a pattern in it does not follow the pattern language."""


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One rule; the fields are explained at the top of ``rulebook/en.toml``."""

    id: str
    say: tuple[str, ...]
    attribute: str = ""
    value: str = "thing"
    subjects: tuple[SubjectKind, ...] = ("self", "other")
    tense: Literal["present", "past", "change", "future"] = "present"
    negative: Literal["negates", "blocks", "needs"] = "negates"
    polarity: Literal["positive", "negative"] = "positive"
    many: bool = False
    confidence: float = 0.9
    also: dict[str, str] = {}
    fixed: str = ""
    stops: tuple[str, ...] = ()
    text: str = ""
    text_not: str = ""
    project: bool = False
    dates: Literal["validity", "occurred", "value", "ignored"] = "validity"
    needs_date: bool = False
    whole: bool = False
    alone: bool = False
    ends: tuple[str, ...] = ()
    ends_too: dict[str, tuple[str, ...]] = {}
    denies: dict[str, tuple[str, ...]] = {}
    closes: dict[str, tuple[str, ...]] = {}
    leaves: dict[str, str] = {}
    yields: bool = False
    planned: str = ""


class RuleFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One rule file as it is written."""

    language: Language
    rule: tuple[Rule, ...] = ()
    lists: dict[str, tuple[str, ...]] = {}
    relations: dict[str, str] = {}
    labels: dict[str, str] = {}
    grammar: dict[str, tuple[str, ...]] = {}


def read_rule_file(path: Path) -> RuleFile:
    """A rule file, checked. Raises ``InvalidRule`` saying where and how to mend it."""
    try:
        return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), RuleFile)
    except OSError as error:
        raise InvalidRule(f"{path}: cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise InvalidRule(
            f"{path.name}: {error}; mend: the form is explained at the top of rulebook/en.toml"
        ) from error


def builtin_files() -> list[Path]:
    """The rule files that come with memstream, in a fixed order."""
    return sorted(RULEBOOK.glob("*.toml"))


def hash_of(paths: Sequence[Path]) -> str:
    """A hash over the bytes of files, in the order given."""
    digest = hashlib.sha256()
    for path in paths:
        content = path.read_bytes()
        digest.update(len(content).to_bytes(8, "big") + content)
    return digest.hexdigest()

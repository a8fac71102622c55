"""The registry of attributes: what a fact can be about, how many values it has, how it reads.

The built-in list is ``attributes.toml``; a user adds a file of the same form. The registry is
part of the pipeline, so its content goes into the fingerprint.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from memstream.schemas.errors import MemstreamError
from memstream.schemas.memories import Kind


class InvalidAttribute(MemstreamError):
    """An attribute file does not have the stated form."""


class Attribute(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One attribute. ``en`` and ``zh`` are sentence templates with {subject} and {value}."""

    cardinality: Literal["one", "many"]
    kind: Kind = "fact"
    en: str = ""
    zh: str = ""
    en_not: str = ""
    zh_not: str = ""
    aliases: str = ""
    opposite: str = ""
    """The attribute of the contrary: one value cannot be under both at once."""
    goes_with: str = ""
    """The attribute with a value of which it ends, whatever its own: the title with the job. That
    says nothing where such a value was never told ("I left Instagram")."""
    denial_states_opposite: bool = False
    together: bool = False
    """Its values, few at a time, share one lane: of many, a denial without a value ends them all;
    of one, a denial without a qualifier ends what holds under any."""

    @property
    def can_end_unnamed(self) -> bool:
        """Whether "I sold my car" can end a value that it does not name."""
        return self.together or self.cardinality == "one"


class Attributes:
    """All attributes of one pipeline, by name. An unknown name is a fact with one value."""

    def __init__(self, known: Mapping[str, Attribute]) -> None:
        self._known = dict(known)
        self._with_it: dict[str, tuple[str, ...]] = {}
        for name, attribute in self._known.items():
            if attribute.goes_with:
                others = self._with_it.get(attribute.goes_with, ())
                self._with_it[attribute.goes_with] = (*others, name)
        for name, attribute in self._known.items():
            other = self._known.get(attribute.opposite)
            if attribute.opposite and (
                other is None
                or other.opposite != name
                or other.cardinality != attribute.cardinality
            ):
                raise InvalidAttribute(
                    f"attribute {name!r}: the opposite {attribute.opposite!r} must be an attribute "
                    f"that has {name!r} as its opposite, and the same cardinality; mend: make it so"
                )

    def __contains__(self, name: str) -> bool:
        return name in self._known

    def __iter__(self) -> Any:
        return iter(sorted(self._known))

    def get(self, name: str) -> Attribute:
        """The attribute of that name; for one nobody declared, one value and a plain text."""
        return self._known.get(name) or Attribute(cardinality="one")

    def named(self, name: str) -> str:
        """The name of the slot that was meant: of a known one however it is written ("Marital
        Status"), else as it was given."""
        plain = self.plain(name)
        return plain if plain in self._known else name

    @staticmethod
    def plain(name: str) -> str:
        """The name as the names of slots are written: "Marital Status" is marital_status."""
        return re.sub(r"[\s-]+", "_", name.strip()).casefold()

    def nearest(self, name: str) -> list[str]:
        """The slots that a question could ask for by this word: "job" the job_title."""
        words = set(self.plain(name).split("_"))
        return [
            slot for slot in self if words & {*slot.split("_"), *self.get(slot).aliases.split()}
        ]

    def place(self, name: str) -> str:
        """The name of the place that an attribute and its opposite compete for."""
        return min(name, self.get(name).opposite or name)

    def with_it(self, name: str) -> tuple[str, ...]:
        """The attributes that end with a value of this one."""
        return self._with_it.get(name, ())

    def sentence(
        self,
        name: str,
        subject: str,
        value: str,
        *,
        qualifier: str = "",
        language: str = "en",
        negative: bool = False,
    ) -> str:
        """The fact as one self-contained sentence, e.g. "The user lives in Hangzhou." """
        chinese = language == "zh"
        who = subject
        if subject == "user":
            who = "用户" if chinese else "The user"
        attribute = self.get(name)
        template = (
            (attribute.zh_not if negative else attribute.zh)
            if chinese
            else (attribute.en_not if negative else attribute.en)
        )
        if not template:
            label = name.replace("_", " ")
            be = ("不是" if negative else "是") if chinese else ("is not" if negative else "is")
            template = (
                "{subject}的" + label + be + "{value}"
                if chinese
                else ("{subject}'s " + label + " " + be + " {value}")
            )
        text = template.replace("{subject}", who).replace("{value}", value)
        if qualifier:
            text += f"（{qualifier}）" if chinese else f" ({qualifier})"
        return text + ("。" if chinese else ".")

    def extended(self, path: Path) -> Attributes:
        """These attributes plus those of a file; a name given again replaces the old one."""
        try:
            more = _read(path.read_text(encoding="utf-8"), str(path))
        except OSError as error:
            raise InvalidAttribute(f"{path}: cannot be read: {error.strerror}") from error
        return Attributes(self._known | more)

    def fingerprint(self) -> str:
        """A hash over every attribute; equal exactly when the registries are."""
        encoded = msgspec.json.encode(sorted(self._known.items()))
        return hashlib.sha256(encoded).hexdigest()[:16]


@cache
def builtin() -> Attributes:
    """The attributes of ``attributes.toml``."""
    path = Path(__file__).with_name("attributes.toml")
    return Attributes(_read(path.read_text(encoding="utf-8"), path.name))


def _read(text: str, where: str) -> dict[str, Attribute]:
    try:
        return msgspec.convert(tomllib.loads(text), dict[str, Attribute])
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise InvalidAttribute(
            f"{where}: {error}; mend: see schemas/attributes.toml for the form"
        ) from error

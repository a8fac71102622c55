"""What plain-text conversations share: lines, who speaks in a file, and whom that is.

A text says less than an export of a program does: the whole file is surveyed before it is read,
and what it leaves open (who of its speakers is the user, which number of a date is the day) is
asked for, never guessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from memstream.streams.importers.chat_messages import ROLES
from memstream.streams.importers.contract import Unreadable
from memstream.streams.importers.event_making import Draft, answered, instructed, said

DateOrder = Literal["day-first", "month-first"]

LABELS = {
    **{name: role for name, role in ROLES.items() if role in {"user", "assistant", "system"}},
    "me": "user", "i": "user", "you": "user", "you said": "user", "prompt": "user",
    "我": "user", "用户": "user", "人类": "user",
    "ai assistant": "assistant", "chatgpt said": "assistant", "claude": "assistant",
    "response": "assistant", "助手": "assistant", "ai助手": "assistant", "助理": "assistant",
    "机器人": "assistant", "系统": "system",
}  # fmt: skip
"""What transcripts call those who speak, in small letters, and what each is."""

WEAK = {"me", "i", "you", "prompt", "我", "bot", "model", "response", "developer"}
"""Those that are words of a text as well: nobody speaks under them where their role has a name."""


class Line(str):
    """One line of a text, without its end."""

    __slots__ = ()


class Told(msgspec.Struct, frozen=True):
    """What the caller says about the texts: the name of the user in them, those of assistants,
    and how ambiguous dates are read."""

    speaker: str = ""
    assistants: tuple[str, ...] = ()
    date_order: DateOrder | None = None


class Survey(msgspec.Struct, frozen=True):
    """What only a whole file shows. ``roles``: those who speak, in small letters, as user,
    assistant, system, or "" for another person. ``style``: how a turn begins."""

    roles: Mapping[str, str]
    style: str = ""
    day_first: bool = True


def told_roles(told: Told, owner: str) -> dict[str, str]:
    """The roles of the names that the caller gave. The name of the scope's owner is the user's
    where no other was given."""
    roles = {name.strip().casefold(): "assistant" for name in told.assistants}
    return {**roles, (told.speaker.strip() or owner).casefold(): "user"}


def check_told(told: Told, speakers: Iterable[str]) -> None:
    """Raises ``Unreadable`` where a name that the caller gave speaks nowhere."""
    known = list(speakers)
    there = {name.casefold() for name in known}
    for name in filter(None, (told.speaker, *told.assistants)):
        if name.strip().casefold() not in there:
            raise Unreadable(f"{name!r} says nothing in it; mend: name one of {_listed(known)}")


def ask_for_the_user(speakers: Iterable[str]) -> Unreadable:
    """The error where nobody is known to be the user."""
    return Unreadable(
        f"it does not show which speaker is the user; mend: --speaker NAME, one of "
        f"{_listed(list(speakers))}; and --assistant NAME for an assistant"
    )


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return ", ".join(name[:40] for name in names[:12]) + more if names else "nobody"


def spoken(role: str, name: str, text: str) -> Draft:
    """A turn: the user's own under no name, another person's under theirs."""
    if role == "user":
        return said(text)
    if role == "assistant":
        return answered(text)
    return instructed(text) if role == "system" else said(text, name)

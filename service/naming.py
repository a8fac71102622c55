"""What is meant by a name that somebody typed: a memory or an event by its id or the beginning of
it, a slot however it is written."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING

from memstream.schemas.counting import quantity
from memstream.schemas.errors import Fault, InvalidEvent, NotFound, UnsupportedFilter
from memstream.schemas.memories import Memory
from memstream.schemas.scope import Scope
from memstream.streams.log import EventLog

if TYPE_CHECKING:
    from memstream.schemas.attributes import Attributes

_NEAR = 0.8
"""How alike two names are, from 0 to 1, of which one is taken for a slip of the other."""
_MOST_NAMED = 5


def check_name(what: str, scope: Scope, name: object) -> None:
    """Raises ``NotFound`` for what can name nothing: every id begins with a blank name."""
    if not isinstance(name, str) or not name.strip() or not _is_unicode(name):
        raise NotFound(
            f"{what} {name!r} in {scope.path}: no id; mend: give an id or its beginning, see "
            "memstream memories, or recall"
        )


def _is_unicode(name: str) -> bool:
    return name.encode("utf-8", "replace").decode() == name


def memory_named(versions: Iterable[Memory], scope: Scope, name: str) -> str:
    """The id of a memory of the scope, given whole or by a beginning that only it has. Raises
    ``NotFound``."""
    check_name("memory", scope, name)
    ids = {each.id for each in versions if each.id.startswith(name)}
    if len(ids) == 1 or name in ids:
        return name if name in ids else ids.pop()
    found = f"{quantity(len(ids), 'memory')} begin so" if ids else "no memory begins so"
    mend = "give more of it" if ids else "see memstream memories for the ids"
    raise NotFound(f"memory {name!r} in {scope.path}: {found}; mend: {mend}")


def event_named(log: EventLog, scope: Scope, name: str) -> str:
    """The id of an event of the scope, given whole or by a beginning that only it has. Raises
    ``NotFound``."""
    check_name("event", scope, name)
    if log.find(scope.path, name) is not None:
        return name
    ids = {entry.row.id for entry in log.of_subject(scope.path)}
    found = [each for each in ids if each.startswith(name)]
    if len(found) == 1:
        return found[0]
    what = f"{quantity(len(found), 'event')} begin so" if found else "neither a memory nor an event"
    mend = "give more of it" if found else "see memstream memories, or recall, for the ids"
    raise NotFound(f"{name!r} in {scope.path}: {what}; mend: {mend}")


def slot_named(
    attributes: Attributes, used: Iterable[str], name: object, *, strict: bool = False
) -> str:
    """The slot that was meant: a declared one, or one that is ``used``, however it is written.

    Raises ``UnsupportedFilter`` for one that is neither, where it is near to one that is: a slip.
    ``strict``: for any that is neither. Raises ``InvalidEvent`` for what is no name.
    """
    if not isinstance(name, str) or not name.strip():
        problem = (
            "is blank" if isinstance(name, str) else f"expected text, got {type(name).__name__}"
        )
        raise InvalidEvent(
            "arguments", [Fault("attribute", problem, "give a slot, e.g. residence")]
        )
    own = {each for each in used if each}
    slot = attributes.named(name)
    if slot in attributes or name in own:
        return name if name in own else slot
    alike = sorted(each for each in own if attributes.plain(each) == attributes.plain(name))
    if alike:
        return alike[0]
    names = sorted({*attributes, *own})
    near = get_close_matches(attributes.plain(name), names, _MOST_NAMED, _NEAR)
    if not near and not strict:
        return name
    told = " or ".join(near) or f"one of {', '.join(attributes.nearest(name) or names)}"
    raise UnsupportedFilter(
        f"attribute {name!r}: no slot has this name, and no memory here is in one; mend: give "
        f"{told}, or declare it in attributes.toml"
    )

"""Which memory or event is meant by a name that somebody typed: an id, or its beginning."""

from __future__ import annotations

from collections.abc import Iterable

from memstream.schemas.counting import quantity
from memstream.schemas.errors import NotFound
from memstream.schemas.memories import Memory
from memstream.schemas.scope import Scope
from memstream.streams.log import EventLog


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

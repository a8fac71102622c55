"""Which memory or event is meant by a name that somebody typed: an id, or its beginning."""

from __future__ import annotations

from memstream.schemas.counting import quantity
from memstream.schemas.errors import NotFound
from memstream.schemas.scope import Scope
from memstream.streams.log import EventLog


def event_named(log: EventLog, scope: Scope, name: str) -> str:
    """The id of an event of the scope, given whole or by a beginning that only it has. Raises
    ``NotFound``."""
    if log.find(scope.path, name) is not None:
        return name
    ids = {entry.row.id for entry in log.of_subject(scope.path)} if name else set()
    found = [each for each in ids if each.startswith(name)]
    if len(found) == 1:
        return found[0]
    what = f"{quantity(len(found), 'event')} begin so" if found else "neither a memory nor an event"
    mend = "give more of it" if found else "see memstream memories, or recall, for the ids"
    raise NotFound(f"{name!r} in {scope.path}: {what}; mend: {mend}")

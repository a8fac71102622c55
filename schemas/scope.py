"""Scope: whose memory this is. The one place where a scope becomes a path and back.

A scope is a tenant and exactly one owner: user, agent, session, channel or task. Its path is
the partition key of the log, so all state of a scope is local and ordered. The path escapes
every separator, so no two scopes share one and no value can climb out of its place.
"""

from __future__ import annotations

from functools import lru_cache
from urllib.parse import quote, unquote

import msgspec

from memstream.schemas.counting import quantity
from memstream.schemas.errors import InvalidScope

OWNERS = ("user", "agent", "session", "channel", "task")
_SAFE = "-._~@+"
_LONGEST_PART = 512


class Scope(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Tenant plus exactly one owner. Raises ``InvalidScope`` for anything else.

    ``path`` is ``tenant/kind:name`` with every other character percent-escaped as UTF-8.
    """

    tenant: str
    user: str | None = None
    agent: str | None = None
    session: str | None = None
    channel: str | None = None
    task: str | None = None

    def __post_init__(self) -> None:
        owners = [kind for kind in OWNERS if getattr(self, kind) is not None]
        if len(owners) != 1:
            given = ", ".join(owners) or "none"
            raise InvalidScope(
                f"scope: exactly one of {', '.join(OWNERS)} is needed beside tenant, got {given}; "
                'mend: Scope(tenant="acme", user="u1")'
            )
        for name in ("tenant", owners[0]):
            _check_part(name, getattr(self, name))

    @property
    def kind(self) -> str:
        """Which owner the scope has: one of ``OWNERS``."""
        return next(kind for kind in OWNERS if getattr(self, kind) is not None)

    @property
    def owner(self) -> str:
        """The name of the owner."""
        owner: str = getattr(self, self.kind)
        return owner

    @property
    def path(self) -> str:
        """The partition key. Injective: different scopes have different paths."""
        kind = self.kind
        return _path(self.tenant, kind, getattr(self, kind))

    @classmethod
    def parse(cls, path: str) -> Scope:
        """The scope a path stands for. Raises ``InvalidScope`` if it is not one ``path`` made."""
        if not isinstance(path, str):
            raise InvalidScope(f"scope path: expected text, got {type(path).__name__}")
        tenant, slash, rest = path.partition("/")
        kind, colon, owner = rest.partition(":")
        if not slash or not colon or kind not in OWNERS:
            raise InvalidScope(
                f"scope path {path!r}: expected tenant/kind:name with kind one of "
                f"{', '.join(OWNERS)}; mend: acme/user:u1"
            )
        scope = cls(**{"tenant": unquote(tenant), kind: unquote(owner)})
        if scope.path != path:
            raise InvalidScope(f"scope path {path!r}: not escaped; mend: {scope.path!r}")
        return scope


@lru_cache(maxsize=1 << 12)
def _path(tenant: str, kind: str, owner: str) -> str:
    return f"{quote(tenant, safe=_SAFE)}/{kind}:{quote(owner, safe=_SAFE)}"


def check_scope(scope: object) -> None:
    """Raises ``InvalidScope`` for what is no scope: an argument of the wrong kind."""
    if not isinstance(scope, Scope):
        raise InvalidScope(
            f'scope: expected a Scope, got {type(scope).__name__}; mend: Scope(tenant="acme", '
            'user="u1"), or Scope.parse("acme/user:u1")'
        )


def _check_part(name: str, part: object) -> None:
    if not isinstance(part, str):
        raise InvalidScope(f"scope.{name}: expected text, got {type(part).__name__}")
    if not part.strip():
        raise InvalidScope(f"scope.{name}: is empty; every read and write needs a scope")
    if len(part) > _LONGEST_PART:
        raise InvalidScope(
            f"scope.{name}: {quantity(len(part), 'character')}; at most {_LONGEST_PART}"
        )
    try:
        part.encode()
    except UnicodeEncodeError as error:
        raise InvalidScope(f"scope.{name}: not valid Unicode at character {error.start}") from error

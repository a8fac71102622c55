"""A Qdrant server: where it is, how it is called, and what its refusals mean.

Calls go by gRPC. What may pass by itself (the server is away, too slow or too busy) is tried again
with growing pauses; every write this project makes may be repeated, since its points have ids that
follow from their content. What is left then comes out as a stated error that names the server, the
collection, what failed and how to mend it.
"""

from __future__ import annotations

import os
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import grpc
import msgspec
from qdrant_client import QdrantClient
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from memstream.schemas.counting import quantity
from memstream.schemas.errors import IndexUnavailable, MemstreamError, ProjectionDamaged

OLDEST_VERSION = (1, 19)
"""The first server that computes IDF over one tenant's points. An older one would take no notice
of being asked to, and let other tenants' words into the scores."""
FIRST_PAUSE_S = 0.1
"""Doubled after every failed attempt."""

_Result = TypeVar("_Result")
_sleep = time.sleep
_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


class QdrantMisconfigured(MemstreamError):
    """The settings of a Qdrant server cannot be used as they are."""


class QdrantServer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One server and the names used on it. Holds no secret: ``api_key_env`` names the environment
    variable that does.

    ``url`` is http://host:6333, or https:// for TLS; ``grpc_port`` is where the calls go, unless
    ``prefer_grpc`` is False. ``ca_file`` is a PEM file to check the server's certificate against
    in the place of the public authorities. ``prefix`` begins every collection's name and is the
    alias of the one that is served; two memory directories never share one. ``timeout_s`` bounds
    one call, ``attempts`` how often it is made: a call fails for good after about
    ``attempts * timeout_s`` plus the pauses. Raises ``QdrantMisconfigured``.
    """

    url: str
    prefix: str = "memstream"
    grpc_port: int = 6334
    prefer_grpc: bool = True
    api_key_env: str = ""
    ca_file: str = ""
    timeout_s: int = 10
    attempts: int = 5

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise QdrantMisconfigured(
                f"Qdrant url {self.url!r}: expected http://host:6333 or https://host:6333"
            )
        if parts.username or parts.password or parts.query:
            raise QdrantMisconfigured(
                f"Qdrant url of {parts.hostname}: holds a user, password or query, and would be "
                "stored; mend: put the API key into an environment variable and name that as "
                "api_key_env"
            )
        if not self.prefix or not _NAME.issuperset(self.prefix):
            raise QdrantMisconfigured(
                f"Qdrant prefix {self.prefix!r}: expected letters, digits, '_' and '-'"
            )
        if self.timeout_s < 1 or self.attempts < 1:
            raise QdrantMisconfigured(
                f"Qdrant at {self.url}: timeout_s is {self.timeout_s} and attempts is "
                f"{self.attempts}; expected 1 or more of each"
            )

    def collection(self, generation: str) -> str:
        """The collection of a generation."""
        return f"{self.prefix}_{generation}"


def connected(server: QdrantServer) -> QdrantClient:
    """A client of the server; nothing is sent yet. Raises ``QdrantMisconfigured``."""
    key = None
    if server.api_key_env:
        key = os.environ.get(server.api_key_env)
        if not key:
            raise QdrantMisconfigured(
                f"Qdrant at {server.url}: its API key is expected in the environment variable "
                f"{server.api_key_env}, which is not set; mend: set it"
            )
    options: dict[str, Any] = {}
    if server.ca_file:
        try:
            authority = Path(server.ca_file).read_bytes()
            verify = ssl.create_default_context(cafile=server.ca_file)
        except OSError as error:
            raise QdrantMisconfigured(
                f"Qdrant at {server.url}: ca_file {server.ca_file}: {error.strerror or error}"
            ) from error
        options = {"grpc_options": {"root_certificates": authority}, "verify": verify}
    return QdrantClient(
        url=server.url,
        grpc_port=server.grpc_port,
        prefer_grpc=server.prefer_grpc,
        api_key=key,
        timeout=server.timeout_s,
        check_compatibility=False,  # it only warns; see ``check_version``
        **options,
    )


def check_version(server: QdrantServer, client: QdrantClient) -> None:
    """Raises ``IndexUnavailable`` for a server that is too old, or none at all."""
    version = in_server(server, "", "asking for its version", client.info).version
    numbers = version.split(".")[:2]
    if not all(each.isdigit() for each in numbers) or len(numbers) < 2:
        raise IndexUnavailable(
            f"Qdrant at {server.url}: calls itself version {version!r}; mend: check the url"
        )
    if tuple(int(each) for each in numbers) < OLDEST_VERSION:
        raise IndexUnavailable(
            f"Qdrant at {server.url}: version {version} cannot compute IDF per tenant; mend: "
            f"upgrade it to {'.'.join(map(str, OLDEST_VERSION))} or newer"
        )


def in_server(
    server: QdrantServer,
    collection: str,
    doing: str,
    call: Callable[[], _Result],
) -> _Result:
    """The server's answer, asked for up to ``server.attempts`` times.

    Raises ``ProjectionDamaged`` where the collection is gone, ``IndexUnavailable`` for everything
    else the server or the way to it says.
    """
    for attempt in range(1, server.attempts + 1):
        try:
            return call()
        except (
            grpc.RpcError,
            ResourceExhaustedResponse,
            ResponseHandlingException,
            UnexpectedResponse,
        ) as error:
            wait_s = _wait_s(error, attempt)
            if wait_s is None or attempt == server.attempts:
                raise _restated(server, collection, doing, error, attempt) from error
            _sleep(wait_s)
    raise AssertionError("unreachable: attempts is 1 or more")


_AWAY = frozenset(
    {
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.RESOURCE_EXHAUSTED,
        grpc.StatusCode.ABORTED,
        grpc.StatusCode.CANCELLED,
        grpc.StatusCode.INTERNAL,
    }
)
_AWAY_HTTP = frozenset({408, 429, 500, 502, 503, 504})
_REFUSED = (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED, 401, 403)
_GONE = (grpc.StatusCode.NOT_FOUND, 404)


def _code(error: Exception) -> Any:
    """The gRPC status or HTTP status of an error, None where no answer came."""
    if isinstance(error, grpc.RpcError):
        return error.code()
    return error.status_code if isinstance(error, UnexpectedResponse) else None


def _wait_s(error: Exception, attempt: int) -> float | None:
    """How long to wait before the next attempt; None where another would fail the same way."""
    if isinstance(error, ResourceExhaustedResponse):
        return float(error.retry_after_s)
    code = _code(error)
    if code is None or code in _AWAY or code in _AWAY_HTTP:
        return FIRST_PAUSE_S * 2.0 ** (attempt - 1)
    return None


def _restated(
    server: QdrantServer, collection: str, doing: str, error: Exception, attempts: int
) -> MemstreamError:
    where = f"Qdrant at {server.url}" + (f", collection {collection}" if collection else "")
    code = _code(error)
    details = error.details() if isinstance(error, grpc.RpcError) else str(error)
    reason = " ".join(str(details or error).split())[:300]
    said = f"{where}: {doing} failed: {reason}"
    if code in _GONE and collection:
        return ProjectionDamaged(f"{said}; mend: memstream rebuild")
    if code in _REFUSED:
        variable = server.api_key_env or "named by api_key_env (none is)"
        return IndexUnavailable(
            f"{said}; mend: a key that may write, in the environment variable {variable}"
        )
    if _wait_s(error, attempts) is not None:
        port = f", gRPC port {server.grpc_port}" if server.prefer_grpc else ""
        return IndexUnavailable(
            f"{said} (asked {quantity(attempts, 'time')}); mend: see that the server runs, is "
            "reachable"
            f"{port}, and has room"
        )
    return IndexUnavailable(
        f"{said}; mend: see that the url names a Qdrant server of version "
        f"{'.'.join(map(str, OLDEST_VERSION))} or newer"
    )

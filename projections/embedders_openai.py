"""An embedding endpoint that speaks OpenAI's interface: a hosted service, vLLM, Ollama, TEI ...

``POST {url}/embeddings`` with ``model`` and ``input``. What may pass by itself (the endpoint is
away, slow, too busy, or answers nonsense) is tried again with growing pauses; a question is asked
once and briefly, since recall goes on without it. Everything else comes out as
``EmbedderUnavailable`` with the address and how to mend it.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from socket import SHUT_RDWR
from typing import Any
from urllib.parse import quote, urlsplit

import numpy as np

from memstream.projections.embedding import EmbedderUnavailable, Vectors

AT_ONCE = 64
"""Texts in one request."""
LONGEST_TEXT = 8_000
"""Characters of a text that are sent; what is behind them does not shape the vector. The models of
this kind read 8,192 tokens at most and refuse a longer text, so it would never be indexed."""
LARGEST_ANSWER = 1 << 26
"""Bytes of an answer that are read."""
FIRST_PAUSE_S = 0.25
"""Doubled after every failed attempt."""
LONGEST_PAUSE_S = 30.0
"""Also where the endpoint asks for more (``Retry-After``)."""

_PASSING = frozenset((408, 409, 425, 429, 500, 502, 503, 504, 529))
_sleep = time.sleep


class _Passing(Exception):
    """A failure that may pass by itself; ``after_s`` is how long the endpoint asks to wait."""

    def __init__(self, problem: str, after_s: float = 0.0) -> None:
        super().__init__(problem)
        self.after_s = after_s


class OpenAIEmbedder:
    """Vectors of one model behind one endpoint.

    ``url`` is the interface's base, e.g. https://host/v1. ``dimension`` None asks the endpoint
    for it, at once. The key is read from the environment variable ``key_variable`` at every
    request and kept nowhere; where it is not set, none is sent (local servers want none).
    ``timeout_s`` bounds one attempt for what is stored, of which there are ``attempts``;
    ``query_timeout_s`` bounds a question, which is tried once. The identity is address, model and
    dimension: an endpoint that changes a model under its name is not noticed.
    """

    def __init__(
        self,
        model: str,
        url: str,
        *,
        dimension: int | None = None,
        key_variable: str = "OPENAI_API_KEY",
        timeout_s: float = 30.0,
        query_timeout_s: float = 2.0,
        attempts: int = 5,
    ) -> None:
        parts = urlsplit(url)
        if not model or parts.scheme not in ("http", "https") or not parts.hostname:
            raise EmbedderUnavailable(
                f"embedder 'openai': model {model!r} at {url!r}; expected a model's name and "
                "http(s)://host[:port]/v1, e.g. openai:bge-m3@http://localhost:8000/v1"
            )
        if parts.username or parts.password or parts.query or parts.fragment:
            raise EmbedderUnavailable(
                f"embedder 'openai' at {parts.hostname}: its url holds a user, password, query or "
                f"fragment, and would be stored; mend: put the key into {key_variable}"
            )
        self.url = url.rstrip("/")
        self.model = model
        self._parts = urlsplit(self.url)
        self._key_variable = key_variable
        self._timeout_s, self._query_timeout_s = timeout_s, query_timeout_s
        self._attempts = attempts
        self.dimension = dimension or self._asked_dimension()
        self.identity = "/".join(
            ("openai", quote(model, safe=""), quote(self.url, safe=""), str(self.dimension))
        )

    def passages(self, texts: Sequence[str]) -> Vectors:
        """Vectors for what is stored. Raises ``EmbedderUnavailable`` after all attempts."""
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        return np.concatenate(
            [
                self._embedded(texts[at : at + AT_ONCE], self._timeout_s, self._attempts)
                for at in range(0, len(texts), AT_ONCE)
            ]
        )

    def query(self, text: str) -> Vectors:
        """The vector of a question. Raises ``EmbedderUnavailable`` after one attempt."""
        found: Vectors = self._embedded([text], self._query_timeout_s, 1)[0]
        return found

    def _asked_dimension(self) -> int:
        self.dimension = 0
        return int(self._embedded(["dimension"], self._timeout_s, 2).shape[1])

    def _embedded(self, texts: Sequence[str], timeout_s: float, attempts: int) -> Vectors:
        pause = FIRST_PAUSE_S
        for attempt in range(1, attempts + 1):
            try:
                return self._vectors(self._answer(texts, timeout_s), len(texts))
            except _Passing as failure:
                if attempt == attempts:
                    often = f" ({attempts} attempts)" if attempts > 1 else ""
                    raise EmbedderUnavailable(
                        f"{self._where()}: {failure}{often}; mend: see that the endpoint answers; "
                        "until then recall is by words"
                    ) from failure
                _sleep(min(LONGEST_PAUSE_S, max(pause, failure.after_s)))
                pause *= 2
        raise AssertionError("unreachable")

    def _answer(self, texts: Sequence[str], timeout_s: float) -> bytes:
        body = json.dumps(
            {
                "model": self.model,
                "input": [_sent(text) for text in texts],
                "encoding_format": "float",
            }
        )
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        key = os.environ.get(self._key_variable)
        if key:
            headers["Authorization"] = f"Bearer {key}"
        make = HTTPSConnection if self._parts.scheme == "https" else HTTPConnection
        connection = make(self._parts.hostname or "", self._parts.port, timeout=timeout_s)
        # A socket's own time-out starts anew with every byte; this one does not.
        late = threading.Event()
        cut_off: threading.Timer | None = None
        try:
            connection.connect()
            cut_off = threading.Timer(timeout_s, _shut, [connection.sock, late])
            cut_off.daemon = True
            cut_off.start()
            connection.request("POST", f"{self._parts.path}/embeddings", body.encode(), headers)
            response = connection.getresponse()
            content = response.read(LARGEST_ANSWER)
        except (OSError, HTTPException) as error:
            problem = f"{type(error).__name__}: {error}"
            if late.is_set() or isinstance(error, TimeoutError):
                problem = f"no answer within {timeout_s:g} s"
            raise _Passing(problem) from error
        finally:
            if cut_off is not None:
                cut_off.cancel()
            connection.close()
        if late.is_set():
            raise _Passing(f"no whole answer within {timeout_s:g} s")
        if response.status in _PASSING:
            raise _Passing(
                f"HTTP {response.status}", _seconds(response.headers.get("Retry-After", ""))
            )
        if response.status != 200:
            hint = (
                f"the key in {self._key_variable}"
                if response.status in (401, 403)
                else ("the url and the model's name")
            )
            said = content[:200].decode("utf-8", "replace").replace(key or "\0", "***")
            raise EmbedderUnavailable(
                f"{self._where()}: HTTP {response.status}: {said!r}; mend: see {hint}"
            )
        return content

    def _vectors(self, content: bytes, count: int) -> Vectors:
        """The vectors of an answer in the order of the texts, checked and normalised."""
        try:
            data = json.loads(content)["data"]
            by_place = {int(each["index"]): each["embedding"] for each in data}
            found = np.array([by_place[at] for at in range(count)], dtype=np.float32)
        except (ValueError, KeyError, TypeError) as error:
            raise _Passing(f"no embeddings in its answer ({type(error).__name__})") from error
        if found.ndim != 2 or (self.dimension and found.shape[1] != self.dimension):
            raise EmbedderUnavailable(
                f"{self._where()}: its vectors have {found.shape[-1]} dimensions, expected "
                f"{self.dimension}; mend: name the model that filled this index, or rebuild"
            )
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        if not np.all(np.isfinite(lengths)) or not np.all(lengths > 0):
            raise _Passing("a vector in its answer is zero or not finite")
        unit: Vectors = (found / lengths).astype(np.float32)
        return unit

    def _where(self) -> str:
        return f"embedder 'openai', {self.model} at {self.url}"


def openai_named(option: str) -> OpenAIEmbedder:
    """MODEL@URL, or MODEL@URL#DIMENSION. Raises ``EmbedderUnavailable``."""
    address, _, dimension = option.partition("#")
    model, _, url = address.rpartition("@")
    if dimension and not (dimension.isdigit() and int(dimension)):
        raise EmbedderUnavailable(f"embedder 'openai': dimension {dimension!r}; expected a number")
    return OpenAIEmbedder(model, url, dimension=int(dimension) if dimension else None)


def _sent(text: str) -> str:
    """The text as the interface takes it: not empty, not too long, no lone surrogates."""
    told = text[:LONGEST_TEXT].encode("utf-8", "replace").decode("utf-8")
    return told if told.strip() else "-"


def _seconds(text: str) -> float:
    return float(text) if text.isdigit() else 0.0


def _shut(socket: Any, late: threading.Event) -> None:
    """Ends whatever waits on the socket."""
    late.set()
    with suppress(OSError):  # it was closed meanwhile
        socket.shutdown(SHUT_RDWR)

"""An embedding endpoint for tests: a real HTTP server on loopback that misbehaves when told to."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from memstream.projections.embedders import HashEmbedder

DIMENSION = 16


class Endpoint:
    """What the server does next, and what it was asked. ``script`` holds one entry for each
    request to come: a status, or the name of a misbehaviour; when it is empty all is well."""

    def __init__(self) -> None:
        self.script: deque[int | str] = deque()
        self.bodies: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.headers: dict[str, str] = {}
        self.dimension = DIMENSION
        self.url = ""
        self.released = threading.Event()

    @property
    def texts(self) -> list[str]:
        return [text for body in self.bodies for text in body["input"]]


@contextmanager
def endpoint() -> Iterator[Endpoint]:
    """The server, running; ``url`` is its base."""
    state = Endpoint()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            state.bodies.append(body)
            state.keys.append(self.headers.get("Authorization"))
            does = state.script.popleft() if state.script else 200
            if isinstance(does, int) and does != 200:
                self._send(does, b'{"error": {"message": "told to"}}')
                return
            if does in ("slow", "drip"):
                self._stall(drip=does == "drip")
                return
            if does == "hang up":
                self.close_connection = True
                return
            model = HashEmbedder(state.dimension - (does == "wrong dimension"))
            data = [
                {"index": at, "embedding": [3 * float(value) for value in model.query(text)]}
                for at, text in enumerate(body["input"])
            ]
            if does == "one missing":
                data.pop()
            if does == "zeros":
                data[0]["embedding"] = [0.0] * state.dimension
            if does == "ragged":
                data[0]["embedding"] = [1.0]
            content = json.dumps({"data": data[::-1]}).encode()
            self._send(200, b"<html>a proxy's page" if does == "no json" else content)

        def _stall(self, *, drip: bool) -> None:
            if drip:
                self.send_response(200)
                self.end_headers()
            while not state.released.wait(0.02):
                if drip:
                    try:
                        self.wfile.write(b" ")
                    except OSError:
                        return

        def _send(self, status: int, content: bytes) -> None:
            self.send_response(status)
            for name, value in state.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield state
    finally:
        state.released.set()
        server.shutdown()
        server.server_close()
        thread.join()

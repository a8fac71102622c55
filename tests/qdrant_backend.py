"""Where the Qdrant index is tested: on the server that MEMSTREAM_QDRANT_URL names, otherwise on
what qdrant-client offers inside the process.

The local mode is a stand-in for tests: it answers as a server does, but scans every point, keeps no
payload index, and has no network. ``GAPS`` says what it therefore cannot show.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from qdrant_client import QdrantClient

from memstream.projections.embedders import Embedder
from memstream.projections.in_qdrant import QdrantIndex
from memstream.projections.projection import Generation
from memstream.projections.qdrant_server import QdrantServer, connected

URL = os.environ.get("MEMSTREAM_QDRANT_URL", "")
BACKEND = "server" if URL else "in-process"
GAPS = {
    "payload indexes": "the local mode builds none, so is_tenant and filter speed are not shown",
    "graphs": "the local mode scans every point, so HNSW and its recall are not shown",
    "durability": "the local mode writes SQLite, so a server's write-ahead log is not shown",
    "network": "the local mode has none; tests/test_qdrant_wire.py goes over one, to a double",
    "bytes": "a server's files are not this project's: it drops deleted bytes when it optimizes",
}


def server(prefix: str = "memstream-test") -> QdrantServer:
    """The server under test; in the process its url is only a name."""
    return QdrantServer(
        url=URL or "http://in-process:6333",
        prefix=prefix,
        grpc_port=int(os.environ.get("MEMSTREAM_QDRANT_GRPC_PORT", "6334")),
        api_key_env="MEMSTREAM_QDRANT_API_KEY" if "MEMSTREAM_QDRANT_API_KEY" in os.environ else "",
    )


def client(path: Path) -> QdrantClient:
    """A client of the server, or of the local mode's files at ``path``."""
    if URL:
        return connected(server())
    return QdrantClient(path=str(path), force_disable_check_same_thread=True)


def collection(path: Path) -> str:
    """A collection's name that only this path has."""
    return f"memstream-test_{hashlib.blake2b(str(path).encode(), digest_size=8).hexdigest()}"


def opened(path: Path, generation: Generation, embedder: Embedder) -> QdrantIndex:
    """The index of this path."""
    return QdrantIndex.open(server(), collection(path), generation, embedder, client=client(path))

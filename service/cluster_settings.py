"""Where a memory on Kafka has its parts: all of it from the environment, none of it stored."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from memstream.processors.pipeline import Pipeline
from memstream.schemas.errors import MemstreamError
from memstream.schemas.sealing import KeyRing
from memstream.streams.clock import Clock
from memstream.streams.kafka_settings import KafkaSettings, from_environment
from memstream.streams.keyring_in_sqlite import SqliteKeyRing

KEYRING = "MEMSTREAM_KEYRING"
EMBEDDER = "MEMSTREAM_EMBEDDER"
QDRANT_URL, QDRANT_PREFIX = "MEMSTREAM_QDRANT_URL", "MEMSTREAM_QDRANT_PREFIX"
QDRANT_KEY = "MEMSTREAM_QDRANT_API_KEY"


class InvalidCluster(MemstreamError):
    """The environment does not say where a part of the memory is."""


class NotOnKafka(MemstreamError):
    """A door that a memory directory has and a memory on Kafka does not, and what to use."""


class ClusterSettings(msgspec.Struct, frozen=True, kw_only=True):
    """A memory on Kafka. ``keyring``: the conninfo of a PostgreSQL database, or the path of a
    key ring's file where one machine does everything. ``qdrant_url`` empty: each reader keeps an
    index of its own, in its directory."""

    kafka: KafkaSettings
    keyring: str
    embedder: str = "none"
    qdrant_url: str = ""
    qdrant_prefix: str = "memstream"
    qdrant_key_env: str = ""

    def __repr__(self) -> str:
        """Without the key ring's conninfo, which may hold a password."""
        return f"ClusterSettings(kafka={self.kafka!r}, qdrant_url={self.qdrant_url!r})"


def cluster_settings(environment: Mapping[str, str]) -> ClusterSettings:
    """The settings that the environment holds. Raises ``InvalidCluster`` or
    ``InvalidKafkaSettings``."""
    kafka = from_environment(environment)
    keyring = environment.get(KEYRING, "")
    if not keyring:
        raise InvalidCluster(
            f"{KEYRING} is not set, so nothing could be sealed or read; mend: set it to a "
            "PostgreSQL conninfo (postgresql://user@host/database), or to the path of a key "
            "ring's file where producers, workers and readers are on this machine"
        )
    return ClusterSettings(
        kafka=kafka,
        keyring=keyring,
        embedder=environment.get(EMBEDDER, "none"),
        qdrant_url=environment.get(QDRANT_URL, ""),
        qdrant_prefix=environment.get(QDRANT_PREFIX, "memstream"),
        qdrant_key_env=QDRANT_KEY if environment.get(QDRANT_KEY) else "",
    )


def key_ring(keyring: str, clock: Clock) -> KeyRing:
    """The key ring: PostgreSQL for a conninfo, else the file of that path."""
    if keyring.startswith(("postgresql://", "postgres://")) or "=" in keyring:
        from memstream.streams.keyring_in_postgres import PostgresKeyRing

        return PostgresKeyRing(keyring, clock)
    return SqliteKeyRing(Path(keyring), clock)


def generation_of(pipeline: Pipeline) -> str:
    """The name of what one pipeline derives: its consumer group, topics and tables."""
    return f"g{pipeline.fingerprint[:12]}"

"""How to reach Apache Kafka and what the topics must be like. Nothing here connects."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from memstream.schemas.counting import quantity
from memstream.schemas.errors import MemstreamError

PREFIX = "MEMSTREAM_KAFKA_"

Security = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
SaslMechanism = Literal["", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]


class InvalidKafkaSettings(MemstreamError):
    """A setting of Kafka is unknown, malformed, or does not fit another."""


class KafkaSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a process needs to know of its Kafka. The environment gives each as
    ``MEMSTREAM_KAFKA_`` and the field's name in capitals, e.g. ``MEMSTREAM_KAFKA_BOOTSTRAP``."""

    bootstrap: str
    """``host:port`` of one or more brokers, with commas between."""
    prefix: str = "memstream"
    """Begins the names of all topics and consumer groups, so that installations share a Kafka."""
    partitions: int = 8
    """Of every topic. Fixed when the topics are made: a scope's events lie in one of them."""
    replication: int = 3
    min_insync: int = 2
    """How many brokers must have an event before it counts as recorded."""
    max_message_bytes: int = 4 << 20
    wait_s: float = 30.0
    """How long a call waits for the brokers before it fails."""
    security: Security = "PLAINTEXT"
    ca_file: str = ""
    """PEM file of the authorities that signed the brokers' certificates; the system's if empty."""
    cert_file: str = ""
    key_file: str = ""
    """This client's certificate and key, PEM, where the brokers ask for one."""
    key_password: str = ""
    check_hostname: bool = True
    sasl_mechanism: SaslMechanism = ""
    sasl_username: str = ""
    sasl_password: str = ""

    def __post_init__(self) -> None:
        faults = list(_faults(self))
        if faults:
            raise InvalidKafkaSettings("Kafka settings: " + "; ".join(faults))

    def __repr__(self) -> str:
        """Without secrets: this ends up in logs and tracebacks."""
        return f"KafkaSettings(bootstrap={self.bootstrap!r}, prefix={self.prefix!r})"

    def topic(self, name: str) -> str:
        """The topic's full name."""
        return f"{self.prefix}.{name}"

    def group(self, consumer: str) -> str:
        """The consumer group of a consumer's name."""
        return f"{self.prefix}.{consumer}"


def from_environment(environment: Mapping[str, str]) -> KafkaSettings:
    """The settings that the environment holds. An unknown name is an error, not left aside."""
    given = {
        name.removeprefix(PREFIX).lower(): value
        for name, value in environment.items()
        if name.startswith(PREFIX)
    }
    fields = KafkaSettings.__struct_fields__
    unknown = sorted(set(given) - set(fields))
    if unknown:
        raise InvalidKafkaSettings(
            f"{PREFIX}{unknown[0].upper()} is no setting; mend: use one of "
            + ", ".join(PREFIX + each.upper() for each in fields)
        )
    if not given.get("bootstrap"):
        raise InvalidKafkaSettings(
            f"no broker is named; mend: set {PREFIX}BOOTSTRAP to host:port of one or more brokers"
        )
    try:
        return msgspec.convert(given, KafkaSettings, strict=False)
    except msgspec.ValidationError as error:
        # msgspec wraps what __post_init__ raises only for ValueError and TypeError.
        what, _, where = str(error).partition(" - at `$.")
        name = PREFIX + where.rstrip("`").upper()
        raise InvalidKafkaSettings(f"{name}: {what}; mend: correct it") from error


def connection(settings: KafkaSettings) -> dict[str, Any]:
    """What every kafka-python client is made with: address, TLS, credentials."""
    made: dict[str, Any] = {
        "bootstrap_servers": [each.strip() for each in settings.bootstrap.split(",")],
        "client_id": f"{settings.prefix}-client",
        "security_protocol": settings.security,
        "bootstrap_timeout_ms": int(settings.wait_s * 1000),
        "request_timeout_ms": max(1_000, int(settings.wait_s * 1000 / 2)),
        "reconnect_backoff_max_ms": 1_000,
    }
    if settings.security.endswith("SSL"):
        made["ssl_context"] = tls_context(settings)
        made["ssl_check_hostname"] = settings.check_hostname
    if settings.security.startswith("SASL"):
        made["sasl_mechanism"] = settings.sasl_mechanism
        made["sasl_plain_username"] = settings.sasl_username
        made["sasl_plain_password"] = settings.sasl_password
    return made


def tls_context(settings: KafkaSettings) -> ssl.SSLContext:
    """The TLS context of these settings; every client shares its rules."""
    try:
        context = ssl.create_default_context(cafile=settings.ca_file or None)
        context.check_hostname = settings.check_hostname
        if settings.cert_file:
            context.load_cert_chain(
                settings.cert_file, settings.key_file or None, settings.key_password or None
            )
    except (OSError, ssl.SSLError) as error:
        files = ", ".join(filter(None, (settings.ca_file, settings.cert_file, settings.key_file)))
        raise InvalidKafkaSettings(
            f"TLS files {files}: {error}; mend: name PEM files that can be read and fit together"
        ) from error
    return context


def _faults(settings: KafkaSettings) -> list[str]:
    faults: list[str] = []
    if not settings.bootstrap.strip():
        faults.append("bootstrap is empty; mend: give host:port of one or more brokers")
    if not 1 <= settings.partitions <= 1024:
        faults.append(f"{quantity(settings.partitions, 'partition')}; mend: choose 1 to 1024")
    if not 1 <= settings.min_insync <= settings.replication:
        faults.append(
            f"min_insync {settings.min_insync} of replication {settings.replication}; "
            "mend: choose from 1 to the replication"
        )
    sasl = settings.security.startswith("SASL")
    if sasl and not (settings.sasl_mechanism and settings.sasl_username):
        faults.append(
            f"{settings.security} without sasl_mechanism and sasl_username; mend: set them"
        )
    if not sasl and (settings.sasl_mechanism or settings.sasl_username):
        faults.append(
            f"SASL credentials with security {settings.security} would not be used; "
            "mend: set security to SASL_SSL"
        )
    if settings.ca_file and not settings.security.endswith("SSL"):
        faults.append(
            f"ca_file with security {settings.security} would not be used; "
            "mend: set security to SSL or SASL_SSL"
        )
    return faults

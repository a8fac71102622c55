"""Kafka's topics and settings: made, compared and mended on a real broker; TLS and SASL."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from typer.testing import CliRunner

sys.path.insert(0, str(Path(__file__).parent))

from kafka_broker import need_broker
from kafka_node import HOST, KafkaCluster, free_ports
from log_conformance import everything, row
from test_log_in_kafka import alter, opened, settings_of

from memstream.schemas.errors import LogUnavailable
from memstream.service.cli import app
from memstream.streams.clock import SystemClock
from memstream.streams.kafka_settings import InvalidKafkaSettings, KafkaSettings, from_environment
from memstream.streams.kafka_topics import make_topics, mend_topics, topic_faults, topics_of
from memstream.streams.log_in_kafka import KafkaLog


@pytest.fixture
def settings(kafka_bootstrap: str, tmp_path: Path) -> KafkaSettings:
    return settings_of(kafka_bootstrap, tmp_path)


def test_topics_are_made_once_as_they_must_be(settings: KafkaSettings) -> None:
    specs = topics_of(settings)
    assert {each.what for each in topic_faults(settings, specs)} == {"it"}
    assert make_topics(settings, specs) == [each.name for each in specs]
    assert make_topics(settings, specs) == []
    assert topic_faults(settings, specs) == []


def test_a_topic_that_brokers_hear_of_only_now_is_not_missing(settings: KafkaSettings) -> None:
    """Right after a topic was made, and after a broker came back, some brokers do not know it."""
    specs = topics_of(settings)
    made = threading.Timer(1.0, make_topics, (settings, specs))
    made.start()
    try:
        assert topic_faults(settings, specs) == []
    finally:
        made.join()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("retention.ms", "604800000"),
        ("retention.bytes", "1000000"),
        ("cleanup.policy", "compact"),
        ("min.insync.replicas", "2"),
        ("max.message.bytes", "1000"),
        ("message.timestamp.type", "LogAppendTime"),
        ("unclean.leader.election.enable", "true"),
    ],
)
def test_a_setting_that_differs_stops_the_log_until_it_is_mended(
    settings: KafkaSettings, name: str, value: str
) -> None:
    specs = topics_of(settings)
    make_topics(settings, specs)
    alter(settings, settings.topic("events"), {name: value})
    with pytest.raises(LogUnavailable, match=rf"{name} is {value}.*memstream topics --mend"):
        KafkaLog(settings, SystemClock())
    assert mend_topics(settings, specs) == []
    KafkaLog(settings, SystemClock()).close()


def test_other_partitions_or_replicas_are_told_and_not_touched(settings: KafkaSettings) -> None:
    make_topics(settings, topics_of(settings))
    more = msgspec.structs.replace(settings, partitions=8)
    faults = mend_topics(more, topics_of(more))
    assert {(each.what, each.wanted, each.found) for each in faults} == {("partitions", "8", "4")}
    with pytest.raises(LogUnavailable, match="MEMSTREAM_KAFKA_PARTITIONS=4"):
        KafkaLog(more, SystemClock())
    safer = msgspec.structs.replace(settings, replication=3)
    with pytest.raises(LogUnavailable, match=r"replication is 1.*kafka-reassign-partitions"):
        KafkaLog(safer, SystemClock())


def test_more_replicas_than_brokers_are_refused_with_the_mend(settings: KafkaSettings) -> None:
    safer = msgspec.structs.replace(settings, replication=3, min_insync=2)
    with pytest.raises(LogUnavailable, match=r"mend: run that many brokers"):
        make_topics(safer, topics_of(safer))


def test_the_command_makes_checks_and_mends(
    settings: KafkaSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("bootstrap", "prefix", "partitions", "replication", "min_insync"):
        monkeypatch.setenv(f"MEMSTREAM_KAFKA_{name.upper()}", str(getattr(settings, name)))

    def run(*arguments: str) -> tuple[int, Any]:
        found = CliRunner().invoke(app, ["topics", "--json", *arguments])
        assert found.stdout, found.output
        return found.exit_code, json.loads(found.stdout)

    code, answer = run()
    assert (code, len(answer["made"]), answer["faults"]) == (0, 2, [])
    alter(settings, settings.topic("events"), {"retention.ms": "1000"})
    code, answer = run()
    assert code == 1
    assert answer["faults"][0]["topic"] == settings.topic("events")
    shown = CliRunner().invoke(app, ["topics"])
    assert shown.exit_code == 1
    assert "retention.ms" in shown.stdout
    assert run("--mend") == (0, {"made": [], "faults": []})


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({}, "MEMSTREAM_KAFKA_BOOTSTRAP"),
        ({"BOOTSTRAP": "a:1", "PARTITON": "8"}, "MEMSTREAM_KAFKA_PARTITON is no setting"),
        ({"BOOTSTRAP": "a:1", "PARTITIONS": "many"}, "MEMSTREAM_KAFKA_PARTITIONS"),
        ({"BOOTSTRAP": "a:1", "PARTITIONS": "0"}, "choose 1 to 1024"),
        ({"BOOTSTRAP": "a:1", "MIN_INSYNC": "4"}, "min_insync 4 of replication 3"),
        ({"BOOTSTRAP": "a:1", "SECURITY": "TLS"}, "MEMSTREAM_KAFKA_SECURITY"),
        ({"BOOTSTRAP": "a:1", "SECURITY": "SASL_SSL"}, "without sasl_mechanism"),
        ({"BOOTSTRAP": "a:1", "SASL_USERNAME": "me"}, "would not be used"),
        ({"BOOTSTRAP": "a:1", "CA_FILE": "ca.pem"}, "would not be used"),
    ],
)
def test_settings_that_do_not_fit_are_refused(environment: dict[str, str], said: str) -> None:
    given = {f"MEMSTREAM_KAFKA_{name}": value for name, value in environment.items()}
    with pytest.raises(InvalidKafkaSettings, match=said) as caught:
        from_environment({"PATH": "/bin", **given})
    assert "mend" in str(caught.value)


def test_settings_come_from_the_environment_and_hide_their_secrets() -> None:
    found = from_environment(
        {
            "MEMSTREAM_KAFKA_BOOTSTRAP": "a:1,b:2",
            "MEMSTREAM_KAFKA_SECURITY": "SASL_SSL",
            "MEMSTREAM_KAFKA_SASL_MECHANISM": "SCRAM-SHA-512",
            "MEMSTREAM_KAFKA_SASL_USERNAME": "agent",
            "MEMSTREAM_KAFKA_SASL_PASSWORD": "swordfish",
            "MEMSTREAM_KAFKA_CHECK_HOSTNAME": "false",
            "MEMSTREAM_KAFKA_WAIT_S": "2.5",
        }
    )
    assert (found.wait_s, found.check_hostname) == (2.5, False)
    assert found.sasl_password == "swordfish"
    assert "swordfish" not in repr(found)


# A broker that asks for TLS and a password


class Secured(msgspec.Struct):
    """A listener with TLS and SASL, and what a client of it needs."""

    bootstrap: str
    ca_file: str


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    need_broker()
    folder = tmp_path_factory.mktemp("secured")
    certificate, key = _self_signed()
    (folder / "ca.pem").write_bytes(certificate)
    (folder / "server.pem").write_bytes(key + certificate)
    plain, controller, secure = free_ports(3)
    login = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    own = f"PLAINTEXT://{HOST}:{plain},SECURE://{HOST}:{secure}"
    cluster = KafkaCluster(folder / "cluster")
    cluster.up(
        settings={
            "listeners": f"{own},CONTROLLER://{HOST}:{controller}",
            "advertised.listeners": own,
            "controller.quorum.voters": f"1@{HOST}:{controller}",
            "inter.broker.listener.name": "PLAINTEXT",
            "listener.security.protocol.map": (
                "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURE:SASL_SSL"
            ),
            "listener.name.secure.ssl.keystore.type": "PEM",
            "listener.name.secure.ssl.keystore.location": str(folder / "server.pem"),
            "listener.name.secure.sasl.enabled.mechanisms": "PLAIN",
            "listener.name.secure.plain.sasl.jaas.config": f'{login} user_agent="swordfish";',
        }
    )
    yield Secured(f"{HOST}:{secure}", str(folder / "ca.pem"))
    cluster.down()


def _self_signed() -> tuple[bytes, bytes]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "broker")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(HOST))]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return certificate.public_bytes(pem), private


def _client(secured: Secured, folder: Path, **changes: Any) -> KafkaSettings:
    given: dict[str, Any] = {
        "security": "SASL_SSL",
        "ca_file": secured.ca_file,
        "sasl_mechanism": "PLAIN",
        "sasl_username": "agent",
        "sasl_password": "swordfish",
        "wait_s": 10.0,
    }
    return settings_of(secured.bootstrap, folder, **(given | changes))


def test_the_log_works_over_tls_with_a_password(secured: Secured, tmp_path: Path) -> None:
    log = opened(_client(secured, tmp_path), SystemClock())
    log.append([row("a"), row("b")])
    assert [entry.row.id for entry in everything(log)] == ["a", "b"]
    log.commit("indexer", {0: 1})
    assert log.committed("indexer") == {0: 1}
    log.close()


@pytest.mark.parametrize(
    "changes",
    [
        {"sasl_password": "guessed"},
        {"ca_file": ""},  # the system's authorities do not know this broker
        {"security": "SASL_PLAINTEXT", "ca_file": ""},
    ],
)
def test_a_wrong_password_or_authority_is_refused(
    secured: Secured, tmp_path: Path, changes: dict[str, Any]
) -> None:
    with pytest.raises(LogUnavailable, match="mend"):
        opened(_client(secured, tmp_path, wait_s=3.0, **changes), SystemClock())


def test_a_certificate_that_is_not_there_is_named(secured: Secured, tmp_path: Path) -> None:
    with pytest.raises(InvalidKafkaSettings, match=r"absent\.pem"):
        opened(_client(secured, tmp_path, ca_file=str(tmp_path / "absent.pem")), SystemClock())

"""The Qdrant index over a real connection: what it sends, what it does when calls fail, who may
call. The other end is ``qdrant_wire.QdrantDouble``, which speaks the protocol and is no server."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import grpc
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse

sys.path.insert(0, str(Path(__file__).parent))

from index_steps import DAY, NOW, START, found, history, memories, memory, steps, tally
from qdrant_wire import KEY, QdrantDouble

from memstream.processors.lexemes import lexemes
from memstream.projections import qdrant_server
from memstream.projections.embedders import HashEmbedder
from memstream.projections.in_qdrant import QdrantIndex
from memstream.projections.projection import Generation
from memstream.projections.qdrant_server import (
    QdrantMisconfigured,
    QdrantServer,
    connected,
    in_server,
)
from memstream.projections.queries import IndexQuery
from memstream.schemas.errors import IndexUnavailable, ProjectionDamaged
from memstream.schemas.instants import to_micros

EMBEDDER = HashEmbedder(16)
STAMP = Generation("pipeline-1", EMBEDDER.identity, "schema-1")
CODE = grpc.StatusCode


@pytest.fixture
def double() -> Iterator[QdrantDouble]:
    made = QdrantDouble()
    yield made
    made.close()


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that were made between attempts, none of which takes time here."""
    made: list[float] = []
    monkeypatch.setattr(qdrant_server, "_sleep", made.append)
    return made


def server_of(double: QdrantDouble, **changes: Any) -> QdrantServer:
    scheme = changes.pop("scheme", "http")
    made: dict[str, Any] = {"grpc_port": double.port, "timeout_s": 5, "prefix": "memstream"}
    return QdrantServer(url=f"{scheme}://127.0.0.1:6333", **(made | changes))


def opened(double: QdrantDouble, **changes: Any) -> QdrantIndex:
    server = server_of(double, **changes)
    return QdrantIndex.open(server, server.collection("g-000001"), STAMP, EMBEDDER)


def query(text: str, **changes: Any) -> IndexQuery:
    made: dict[str, Any] = {
        "tenant": "acme",
        "scopes": ("acme/user:ada",),
        "valid_at": to_micros(START + DAY),
        "known_at": to_micros(NOW),
        "lexemes": lexemes(text),
        "vector": EMBEDDER.query(text).tolist(),
        "kinds": ("fact",),
    }
    return IndexQuery(**(made | changes))


def test_everything_survives_the_way_to_the_server_and_back(double: QdrantDouble) -> None:
    run = history()
    index = opened(double)
    index.apply(run[:70])
    index.apply(run)
    made = memories(run)
    assert index.tally() == index.recorded_tally() == tally(*made)
    assert (index.position(), index.positions()) == (len(run), {0: len(run)})
    asked = query("walnut chest", known_at=to_micros(START + 10 * DAY))
    answer = index.search(asked)
    for shown in found(index, asked).values():
        assert shown
        for one in shown:
            (stored,) = [each for each in made if (each.id, each.version) == (one.id, one.version)]
            assert stored.text == one.text
            assert one.created_at <= START + 10 * DAY < (one.expired_at or NOW)
    index.close()
    again = opened(double)
    assert again.search(asked) == answer
    assert again.erase("acme/user:ada") > 0
    assert again.tally() == again.recorded_tally()
    again.close()


def test_another_tenants_words_do_not_change_a_score(double: QdrantDouble) -> None:
    index = opened(double)
    index.apply(steps(memory("m1", "a walnut saddle"), memory("m2", "a velvet saddle")))
    asked = query("walnut saddle", channels=("bm25",))
    before = index.search(asked)
    crowd = [memory(f"n{at}", f"walnut {at}", scope="bmce/user:eve") for at in range(20)]
    index.apply(steps(*crowd, first=3))
    assert index.search(asked) == before
    index.close()


@pytest.mark.parametrize("code", [CODE.UNAVAILABLE, CODE.DEADLINE_EXCEEDED, CODE.INTERNAL])
@pytest.mark.parametrize("method", ["Get", "Upsert", "SetPayload", "UpdateBatch"])
def test_what_passes_by_itself_is_tried_again(
    double: QdrantDouble, pauses: list[float], method: str, code: grpc.StatusCode
) -> None:
    first = memory("m1", "a compass")
    second = memory("m1", "a brass compass", version=2, created_at=START + DAY)
    index = opened(double)
    index.apply(steps(first))
    double.failing[method] = [code, code, code]
    index.apply(steps(second, first=2))
    assert pauses == [0.1, 0.2, 0.4]
    assert index.tally() == index.recorded_tally() == tally(first, second)
    index.close()


def test_a_change_whose_answer_is_lost_is_made_once(double: QdrantDouble) -> None:
    index = opened(double)
    for method in ("Upsert", "SetPayload"):
        double.failing[method] = [None]
    index.apply(steps(memory("m1", "a compass"), memory("m2", "a sextant")))
    assert index.tally() == index.recorded_tally()
    assert index.tally().count == 2
    index.close()


@pytest.mark.parametrize("method", ["Create", "CreateFieldIndex", "Upsert", "Count"])
def test_a_creation_that_is_cut_off_is_finished(double: QdrantDouble, method: str) -> None:
    double.failing[method] = [None]
    index = opened(double)
    index.apply(steps(memory("m1", "a compass")))
    assert index.position() == 1
    index.close()


def test_a_server_that_stays_away_is_named_with_what_failed(double: QdrantDouble) -> None:
    index = opened(double, attempts=3)
    double.failing["Upsert"] = [CODE.UNAVAILABLE] * 3
    with pytest.raises(IndexUnavailable) as raised:
        index.apply(steps(memory("m1", "a compass")))
    message = str(raised.value)
    for part in (
        "http://127.0.0.1:6333",
        "collection memstream_g-000001",
        "writing failed: told to fail Upsert",
        "asked 3 times",
        "mend: ",
    ):
        assert part in message
    assert index.position() == 0
    index.apply(steps(memory("m1", "a compass")))
    assert (index.position(), index.tally()) == (1, tally(memory("m1", "a compass")))
    index.close()


def test_what_another_attempt_cannot_mend_is_not_tried_again(double: QdrantDouble) -> None:
    index = opened(double)
    double.failing["Upsert"] = [CODE.INVALID_ARGUMENT]
    double.calls.clear()
    with pytest.raises(IndexUnavailable, match="told to fail Upsert"):
        index.apply(steps(memory("m1", "a compass")))
    assert double.calls.count("Upsert") == 1
    index.close()


def test_a_collection_that_was_deleted_is_damage(double: QdrantDouble) -> None:
    index = opened(double)
    double.store.delete_collection(index.collection)
    with pytest.raises(ProjectionDamaged, match=r"memstream_g-000001.*memstream rebuild"):
        index.position()
    index.close()


def test_nobody_listening_is_said(double: QdrantDouble) -> None:
    double.close()
    with pytest.raises(IndexUnavailable, match="asking for its version failed"):
        opened(double, attempts=1)


@pytest.mark.parametrize("version", ["1.18.9", "0.11.0", "", "nightly"])
def test_a_server_that_cannot_take_idf_per_tenant_is_refused(version: str) -> None:
    double = QdrantDouble(version=version)
    with pytest.raises(IndexUnavailable, match=r"IDF per tenant|calls itself version"):
        opened(double)
    assert double.calls == ["HealthCheck"]
    double.close()


def test_the_api_key_comes_from_the_environment_and_is_never_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    double = QdrantDouble(key=KEY)
    monkeypatch.setenv("THE_KEY", KEY)
    with pytest.warns(UserWarning, match="insecure connection"):
        opened(double, api_key_env="THE_KEY").close()
    monkeypatch.setenv("THE_KEY", "another-key")
    with (
        pytest.warns(UserWarning, match="insecure connection"),
        pytest.raises(IndexUnavailable, match="environment variable THE_KEY") as raised,
    ):
        opened(double, api_key_env="THE_KEY")
    assert "another-key" not in str(raised.value)
    with pytest.raises(IndexUnavailable, match="api_key_env"):
        opened(double)
    monkeypatch.delenv("THE_KEY")
    with pytest.raises(QdrantMisconfigured, match="THE_KEY, which is not set"):
        opened(double, api_key_env="THE_KEY")
    double.close()


def certificate() -> tuple[bytes, bytes]:
    """(key, certificate) of 127.0.0.1, signed by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    today = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(today - timedelta(days=1))
        .not_valid_after(today + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]),
            critical=False,
        )
        .sign(key, hashes.SHA256())
    )
    return (
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
        made.public_bytes(serialization.Encoding.PEM),
    )


def test_tls_with_an_authority_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pair = certificate()
    double = QdrantDouble(certificate=pair, key=KEY)
    authority = tmp_path / "ca.pem"
    authority.write_bytes(pair[1])
    monkeypatch.setenv("THE_KEY", KEY)
    settings = {"scheme": "https", "api_key_env": "THE_KEY"}
    index = opened(double, ca_file=str(authority), **settings)
    index.apply(steps(memory("m1", "a compass")))
    assert index.tally().count == 1
    index.close()
    with pytest.raises(IndexUnavailable):
        opened(double, attempts=1, **settings)  # the public authorities do not know it
    with pytest.raises(QdrantMisconfigured, match="ca_file"):
        connected(server_of(double, ca_file=str(tmp_path / "none.pem"), **settings))
    double.close()


@pytest.mark.parametrize(
    "settings",
    [
        {"url": "localhost:6333"},
        {"url": "ftp://localhost"},
        {"url": ""},
        {"url": "http://me:secret@localhost:6333"},
        {"url": "http://localhost:6333?api-key=secret"},
        {"url": "http://localhost", "prefix": ""},
        {"url": "http://localhost", "prefix": "a/b"},
        {"url": "http://localhost", "timeout_s": 0},
        {"url": "http://localhost", "attempts": 0},
    ],
)
def test_settings_that_cannot_work_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(QdrantMisconfigured) as raised:
        QdrantServer(**settings)
    assert "secret" not in str(raised.value)


def test_the_server_says_how_long_to_wait(pauses: list[float]) -> None:
    answers = iter([ResourceExhaustedResponse("slow down", 7), None])

    def call() -> str:
        answer = next(answers)
        if answer is not None:
            raise answer
        return "done"

    assert in_server(QdrantServer(url="http://localhost"), "c", "writing", call) == "done"
    assert pauses == [7.0]

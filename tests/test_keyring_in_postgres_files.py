"""The PostgreSQL key ring and its server's files: what is durable, what is gone, and TLS."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from psycopg.conninfo import make_conninfo

sys.path.insert(0, str(Path(__file__).parent))

from holding import files_with
from keyring_conformance import ADA, BOB
from postgres_node import PostgresServer
from postgres_server import own_postgres

from memstream.schemas.errors import KeyDestroyed
from memstream.streams.clock import ManualClock, SystemClock
from memstream.streams.keyring_in_postgres import KeyRingUnavailable, PostgresKeyRing


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """A server of one's own, to stop and to look into."""
    with own_postgres(tmp_path_factory.mktemp("own")) as server:
        yield server


@pytest.fixture
def ring(server: PostgresServer) -> Iterator[PostgresKeyRing]:
    execute(server, "DROP TABLE IF EXISTS memstream_keys, memstream_key_ring")
    ring = PostgresKeyRing(server.conninfo, SystemClock(), cache_s=0.01)
    yield ring
    ring.close()


def execute(server: PostgresServer, statement: str) -> list[tuple[object, ...]]:
    with psycopg.connect(server.conninfo, autocommit=True) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def tables_with(server: PostgresServer, key: bytes) -> list[str]:
    """The files of the server that hold the bytes, but its write-ahead log."""
    execute(server, "CHECKPOINT")
    return [each for each in files_with(server.data, [key]) if "pg_wal" not in Path(each).parts]


def test_a_destroyed_key_is_in_no_table_file(server: PostgresServer, ring: PostgresKeyRing) -> None:
    subjects = [f"acme/user:u{number}" for number in range(700)]
    ring.ensure(subjects)
    for _ in range(150):  # reserving writes the row anew, and leaves the key in a dead row
        ring.key_for(ADA)
        ring.key_for(BOB)
    execute(server, "ANALYZE")  # copies samples of a column into the catalogue
    sampled = "SELECT attname FROM pg_stats WHERE tablename = 'memstream_keys'"
    assert ("subject",) in execute(server, sampled)
    assert ("key",) not in execute(server, sampled)
    kept = dict(ring.key_for(each) for each in subjects[1:])
    with psycopg.connect(server.conninfo) as other:
        # A snapshot from before makes VACUUM keep the dead rows. A rewrite does not.
        other.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        other.execute("SELECT count(*) FROM pg_class")
        for subject in (ADA, subjects[0]):
            key_id, key = ring.key_for(subject)
            assert tables_with(server, key)
            assert ring.destroy(subject) == [key_id]
            assert tables_with(server, key) == []
    assert ring.keys_by_id(kept) == kept
    assert ring.key_by_id(ring.key_for(BOB)[0]) == ring.key_for(BOB)[1]
    execute(server, "ANALYZE")
    assert {len(tables_with(server, key)) for key in list(kept.values())[:5]} == {1}


def test_a_destruction_outlives_a_crash_and_so_does_a_key(
    server: PostgresServer, ring: PostgresKeyRing
) -> None:
    gone, _ = ring.key_for(ADA)
    ring.destroy(ADA)
    made = ring.key_for(BOB)
    server.stop(kill=True)
    server.start()
    assert ring.key_for(BOB) == made
    with pytest.raises(KeyDestroyed):
        ring.key_by_id(gone)
    assert ring.destroyed(ADA) == [gone]


def test_a_destruction_that_a_crash_cut_off_destroyed_nothing(
    server: PostgresServer, ring: PostgresKeyRing
) -> None:
    key_id, key = ring.key_for(ADA)
    raised: list[BaseException] = []

    def destroy() -> None:
        try:
            ring.destroy(ADA)
        except KeyRingUnavailable as error:
            raised.append(error)

    other = psycopg.connect(server.conninfo)
    with suppress(psycopg.OperationalError), other:
        other.execute("SELECT count(*) FROM memstream_keys")
        thread = threading.Thread(target=destroy)
        thread.start()
        waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
        with psycopg.connect(server.conninfo, autocommit=True) as watcher:
            while watcher.execute(waiting).fetchone() == (0,):
                watcher.execute("SELECT pg_sleep(0.01)")
        server.stop(kill=True)
        thread.join()
    assert len(raised) == 1
    assert "mend: check that the server runs" in str(raised[0])
    server.start()
    assert ring.key_by_id(key_id) == key
    assert ring.destroy(ADA) == [key_id]


def test_a_server_that_is_away_is_stated_and_found_again(
    server: PostgresServer, ring: PostgresKeyRing
) -> None:
    clock = ManualClock(datetime(2024, 1, 1, tzinfo=UTC))
    worker = PostgresKeyRing(server.conninfo, clock)
    key = worker.key_for(ADA)
    server.stop()
    # For the stated age the cache goes on, and not beyond it.
    assert worker.key_for(ADA) == key
    clock.advance(timedelta(seconds=0.01))
    for call in (
        lambda: worker.key_for(ADA),
        lambda: worker.key_by_id(key[0]),
        lambda: worker.keys_by_id([key[0]]),
        lambda: worker.ensure([BOB]),
        lambda: worker.rotate(ADA),
        lambda: worker.destroy(ADA),
        lambda: worker.destroyed(ADA),
        lambda: PostgresKeyRing(server.conninfo, clock),
    ):
        with pytest.raises(KeyRingUnavailable, match=r"host=127.0.0.1.*mend: check that the serv"):
            call()
    server.start()
    assert worker.key_for(ADA)[0] == key[0]
    worker.close()


def test_a_server_that_forgets_commits_is_refused(server: PostgresServer) -> None:
    execute(server, "ALTER SYSTEM SET fsync = off")
    server.stop()
    server.start()
    with pytest.raises(KeyRingUnavailable, match="mend: set fsync = on"):
        PostgresKeyRing(server.conninfo, SystemClock())
    execute(server, "ALTER SYSTEM RESET fsync")
    server.stop()
    server.start()


def test_commits_are_flushed_whatever_the_server_defaults_to(
    server: PostgresServer, ring: PostgresKeyRing
) -> None:
    loose = make_conninfo(server.conninfo, options="-csynchronous_commit=off")
    other = PostgresKeyRing(loose, SystemClock())
    connection = other._connected()
    assert connection.execute("SHOW synchronous_commit").fetchone() == ("on",)
    other.close()


def test_tls_settings_reach_the_server(
    server: PostgresServer, ring: PostgresKeyRing, tmp_path: Path
) -> None:
    root = tmp_path / "root.crt"
    root.write_bytes(give_certificate(server))
    execute(server, "ALTER SYSTEM SET ssl = on")
    server.stop()
    server.start()
    secure = make_conninfo(server.conninfo, sslmode="verify-full", sslrootcert=str(root))
    with pytest.raises(KeyRingUnavailable, match="TLS settings"):
        # The certificate is for localhost.
        PostgresKeyRing(secure, SystemClock())
    secure = make_conninfo(secure, host="localhost", hostaddr="127.0.0.1")
    other = PostgresKeyRing(secure, SystemClock())
    query = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
    assert other._connected().execute(query).fetchone() == (True,)
    assert other.key_for(ADA) == ring.key_for(ADA)
    other.close()


def give_certificate(server: PostgresServer) -> bytes:
    """Puts a self-signed certificate for localhost where the server looks for one; returns it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(datetime(2024, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(2124, 1, 1, tzinfo=UTC))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
        .public_bytes(serialization.Encoding.PEM)
    )
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    owner = server.data.stat()
    for file, content in (("server.crt", certificate), ("server.key", private)):
        path = server.data / file
        path.touch(mode=0o600)
        path.write_bytes(content)
        os.chown(path, owner.st_uid, owner.st_gid)
    return certificate

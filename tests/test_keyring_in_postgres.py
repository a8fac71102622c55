"""The PostgreSQL key ring: the suite of every ring, and what only a server does."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from structlog.testing import capture_logs

sys.path.insert(0, str(Path(__file__).parent))

from keyring_conformance import ADA, BOB, KeyRingConformance

from memstream.schemas.errors import KeyDestroyed, LogUnavailable, SealBroken
from memstream.schemas.sealing import Sealer
from memstream.streams import keyring_in_postgres
from memstream.streams.clock import Clock, ManualClock, SystemClock
from memstream.streams.keyring_in_postgres import (
    CACHE_SECONDS,
    KeyRingUnavailable,
    PostgresKeyRing,
)

START = datetime(2024, 1, 1, tzinfo=UTC)
CACHE_S = 0.05


def in_schema(conninfo: str, directory: Path) -> str:
    """The connection string of an empty schema of one's own, named after the directory."""
    name = "t" + sha256(str(directory).encode()).hexdigest()[:16]
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {name}".encode())
    return make_conninfo(conninfo, options=f"-csearch_path={name}")


class TestPostgresKeyRing(KeyRingConformance):
    """The suite of every key ring, on PostgreSQL."""

    @pytest.fixture(autouse=True)
    def _server(self, postgres_conninfo: str) -> None:
        self.conninfo = postgres_conninfo

    def open_ring(self, directory: Path, clock: Clock) -> PostgresKeyRing:
        return PostgresKeyRing(in_schema(self.conninfo, directory), clock, cache_s=CACHE_S)

    def program(self, directory: Path) -> str:
        return (
            "from memstream.streams.clock import SystemClock\n"
            "from memstream.streams.keyring_in_postgres import PostgresKeyRing\n"
            f"ring = PostgresKeyRing({in_schema(self.conninfo, directory)!r}, SystemClock(), "
            f"cache_s={CACHE_S})\n"
        )


@pytest.fixture
def conninfo(postgres_conninfo: str, tmp_path: Path) -> str:
    return in_schema(postgres_conninfo, tmp_path)


Opener = Callable[..., PostgresKeyRing]


@pytest.fixture
def opened(conninfo: str) -> Iterator[Opener]:
    """Opens one more ring on the same keys."""
    rings: list[PostgresKeyRing] = []

    def open_one(clock: Clock | None = None, **settings: Any) -> PostgresKeyRing:
        given = {"cache_s": CACHE_S, **settings}
        rings.append(PostgresKeyRing(conninfo, clock or SystemClock(), **given))
        return rings[-1]

    yield open_one
    for each in rings:
        each.close()


def execute(conninfo: str, statement: str) -> list[tuple[object, ...]]:
    with psycopg.connect(conninfo, autocommit=True) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


# How many events a key seals.


def test_a_key_seals_no_more_than_it_may_and_stays_readable(opened: Opener) -> None:
    ring = opened(most_events_per_key=20)
    used = Counter(ring.key_for(ADA) for _ in range(100))
    assert sorted(used.values()) == [20] * 5
    assert opened().keys_by_id(dict(used.keys())) == dict(used.keys())
    assert len(Counter(opened(most_events_per_key=1).key_for(ADA) for _ in range(3))) == 3


def test_rings_that_seal_at_once_keep_within_the_bound_together(opened: Opener) -> None:
    rings = [opened(most_events_per_key=30) for _ in range(4)]
    subjects = [f"acme/user:u{number}" for number in range(5)]
    sealed: list[tuple[str, str]] = []

    def work(ring: PostgresKeyRing, step: int) -> None:
        for number in range(150):
            if number % 50 == 0:
                ring.ensure(subjects[::step])
            subject = subjects[number % 5]
            sealed.append((subject, ring.key_for(subject)[0]))

    threads = [
        threading.Thread(target=work, args=(ring, 1 if at % 2 else -1))
        for at, ring in enumerate(rings)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(sealed) == 600
    used = Counter(sealed)
    assert max(used.values()) <= 30
    assert len({key_id for _, key_id in used}) == len(used)  # no key of two subjects
    # 120 events a subject need 4 keys; blocks that nobody finished may cost a few more.
    assert 20 <= len(used) <= 20 + 4 * 5


def test_an_old_key_is_replaced(opened: Opener, conninfo: str) -> None:
    ring = opened(most_events_per_key=100)
    old = ring.key_for(ADA)
    execute(conninfo, "UPDATE memstream_keys SET made_at = made_at - interval '31 days'")
    used = Counter(ring.key_for(ADA) for _ in range(30))
    assert used[old] == 24  # the rest of the block it had
    assert len(used) == 2
    assert ring.key_by_id(old[0]) == old[1]


def test_a_block_is_sealed_without_asking_the_server(
    opened: Opener, conninfo: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ring = opened(ManualClock(START), most_events_per_key=400)
    ring.ensure([ADA, BOB])
    asked: list[Any] = []
    execute_really: Any = psycopg.Connection.execute

    def counted(self: Any, *given: Any, **named: Any) -> Any:
        asked.append(given[0])
        return execute_really(self, *given, **named)

    monkeypatch.setattr(psycopg.Connection, "execute", counted)
    sealer = Sealer(ring)
    sealed = [sealer.seal(subject, b"", b"x") for _ in range(100) for subject in (ADA, BOB)]
    assert asked == []
    for key_id, each in sealed:
        assert sealer.open(key_id, b"", each) == b"x"
    assert asked == []
    sealer.seal(ADA, b"", b"x")
    assert len(asked) == 1


# The cache.


def test_a_cache_is_used_for_the_stated_age_and_no_longer(opened: Opener) -> None:
    clock = ManualClock(START)
    worker = opened(clock, cache_s=CACHE_SECONDS)
    paused: list[float] = []
    eraser = opened(pause=paused.append)
    old = worker.key_for(ADA)
    eraser.destroy(ADA)
    # This is why destroy waits; it had not returned yet.
    assert paused == [CACHE_SECONDS]
    assert worker.key_for(ADA) == old
    clock.advance(timedelta(seconds=paused[0]))
    with pytest.raises(KeyDestroyed):
        worker.key_by_id(old[0])
    new = worker.key_for(ADA)
    assert new != old
    # A rotation is told in the same way.
    eraser.rotate(ADA)
    assert paused == [CACHE_SECONDS] * 2
    assert worker.key_for(ADA) == new
    clock.advance(timedelta(seconds=paused[1]))
    assert worker.key_for(ADA) == eraser.key_for(ADA) != new
    # Also where a call before it was cut off after its commit, before its wait.
    eraser.destroy(ADA, key_ids=[])
    assert len(paused) == 3


def test_an_erasure_of_one_subject_costs_the_others_nothing(opened: Opener, conninfo: str) -> None:
    clock = ManualClock(START)
    worker, eraser = opened(clock), opened()
    hers, his = worker.key_for(ADA), worker.key_for(BOB)
    reserved = "SELECT used FROM memstream_keys WHERE current AND subject = 'acme/user:bob'"
    before = execute(conninfo, reserved)
    for change in (eraser.rotate, eraser.destroy):
        change(ADA)
        clock.advance(timedelta(seconds=CACHE_S))
        assert worker.key_for(BOB) == his
        assert worker.key_by_id(his[0]) == his[1]
        assert worker.key_for(ADA)[0] != hers[0]
    assert execute(conninfo, reserved) == before
    with pytest.raises(KeyDestroyed):
        worker.key_by_id(hers[0])


def test_a_database_that_was_put_back_is_believed(opened: Opener, conninfo: str) -> None:
    clock = ManualClock(START)
    worker = opened(clock)
    worker.rotate(BOB)
    old = worker.key_for(ADA)
    execute(conninfo, "DELETE FROM memstream_keys")
    execute(conninfo, "UPDATE memstream_key_ring SET epoch = 1")
    clock.advance(timedelta(seconds=CACHE_S))
    assert worker.key_for(ADA) != old
    with pytest.raises(SealBroken):
        worker.key_by_id(old[0])


def test_many_subjects_take_turns_in_the_cache(
    opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyring_in_postgres, "_MOST_CACHED", 10)
    ring = opened()
    subjects = [f"acme/user:u{number}" for number in range(30)]
    ring.ensure(subjects)
    keys = dict(ring.key_for(each) for each in subjects)
    assert ring.keys_by_id(keys) == keys
    assert [ring.key_by_id(each) for each in keys] == list(keys.values())
    assert len(ring._by_id) == len(ring._current) == 10


def test_all_rings_follow_the_age_that_the_database_states(opened: Opener) -> None:
    opened(cache_s=0.01)
    paused: list[float] = []
    opened(cache_s=99, pause=paused.append).destroy(ADA)
    assert paused == [0.01]


def test_a_cache_outlives_no_change_and_no_step_back_of_the_wall_clock(opened: Opener) -> None:
    class StepsBack(ManualClock):
        def now(self) -> datetime:
            return START - timedelta(days=9)

    clock = StepsBack(START)
    worker, eraser = opened(clock), opened()
    old = worker.key_for(ADA)
    eraser.destroy(ADA)
    clock.advance(timedelta(seconds=CACHE_S))
    assert worker.key_for(ADA) != old


def test_a_ring_whose_process_uses_keys_while_others_destroy_them(opened: Opener) -> None:
    eraser, worker = opened(), opened(most_events_per_key=10)
    gone: set[str] = set()
    faults: list[str] = []
    done = threading.Event()

    def work() -> None:
        while not done.is_set():
            known = set(gone)
            key_id, key = worker.key_for(ADA)
            if key_id in known:
                faults.append(key_id)
            try:
                if worker.key_by_id(key_id) != key:
                    faults.append(f"another key of {key_id}")
            except KeyDestroyed:
                continue

    thread = threading.Thread(target=work)
    thread.start()
    for _ in range(15):
        gone.update(eraser.destroy(ADA))
    done.set()
    thread.join()
    assert len(gone) >= 10
    assert faults == []


def test_erasing_one_event_of_an_immutable_log_loses_no_other(opened: Opener) -> None:
    """The steps of docs/decisions/2026-11-30-keys-on-an-immutable-log.md, while others record."""
    topic: list[tuple[str, str, bytes]] = []  # (event id, key id, sealed), only ever appended to
    appending = threading.Lock()
    done = threading.Event()

    def append(sealer: Sealer, event: str, text: bytes) -> None:
        with appending:
            topic.append((event, *sealer.seal(ADA, event.encode(), text)))

    def record(name: str) -> None:
        sealer, number = Sealer(opened(most_events_per_key=40)), 0
        while not done.is_set():
            append(sealer, f"{name}-{number}", f"text of {name}-{number}".encode())
            number += 1

    def readable(sealer: Sealer) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for event, key_id, sealed in list(topic):
            if event not in found:
                with suppress(KeyDestroyed):
                    found[event] = sealer.open(key_id, event.encode(), sealed)
        return found

    producers = [threading.Thread(target=record, args=(name,)) for name in ("one", "two", "three")]
    ring = opened(most_events_per_key=40)
    mine = Sealer(ring)
    for each in producers:
        each.start()
    erased: set[str] = set()
    while len(topic) < 100:
        done.wait(0.01)
    for _ in range(8):
        event = topic[-1][0]
        ring.rotate(ADA)
        with appending:
            past = list(topic)
        holding = {key_id for each, key_id, _ in past if each == event}
        texts = readable(mine)
        kept = {each for each, key_id, _ in past if key_id in holding} - {event, *erased}
        for survivor in sorted(kept):
            append(mine, survivor, texts[survivor])
        ring.destroy(ADA, key_ids=holding)
        erased.add(event)
    done.set()
    for each in producers:
        each.join()
    assert set(readable(mine)) == {event for event, _, _ in topic} - erased
    assert all(text == f"text of {event}".encode() for event, text in readable(mine).items())
    assert max(Counter(key_id for _, key_id, _ in topic).values()) <= 40


# The server and the way to it.


def test_a_dead_connection_is_replaced_without_an_error(opened: Opener, conninfo: str) -> None:
    ring = opened(ManualClock(START))
    before = ring.key_for(ADA)
    for _ in range(2):
        execute(
            conninfo,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = 'memstream'",
        )
        ring.ensure(["acme/user:new", BOB])
        assert ring.key_for(ADA)[0] == before[0]


def test_who_holds_the_table_keeps_a_key_from_being_destroyed_and_is_told(
    opened: Opener, conninfo: str
) -> None:
    ring = opened(wait_s=0.2)
    key_id, key = ring.key_for(ADA)
    with psycopg.connect(conninfo) as other:
        other.execute("SELECT count(*) FROM memstream_keys")
        with pytest.raises(KeyRingUnavailable, match="mend: end the session that holds the table"):
            ring.destroy(ADA)
        assert opened().key_by_id(key_id) == key
    assert ring.destroy(ADA) == [key_id]


def test_a_role_that_may_not_destroy_is_told(opened: Opener, conninfo: str) -> None:
    opened()
    role = "r" + sha256(conninfo.encode()).hexdigest()[:16]
    (schema,) = execute(conninfo, "SELECT current_schema()")[0]
    execute(conninfo, f"CREATE ROLE {role} LOGIN PASSWORD 'simple'")
    execute(conninfo, f"GRANT USAGE ON SCHEMA {schema} TO {role}")
    execute(conninfo, f"GRANT ALL ON ALL TABLES IN SCHEMA {schema} TO {role}")
    limited = PostgresKeyRing(make_conninfo(conninfo, user=role, password="simple"), SystemClock())
    key = limited.key_for(ADA)
    with pytest.raises(KeyRingUnavailable, match=r"must be owner.*mend: let the role own"):
        limited.destroy(ADA)
    assert limited.key_by_id(key[0]) == key[1]
    limited.close()
    execute(conninfo, f"DROP OWNED BY {role}")
    execute(conninfo, f"DROP ROLE {role}")


def test_a_newer_schema_is_refused(opened: Opener, conninfo: str) -> None:
    opened()
    execute(conninfo, "UPDATE memstream_key_ring SET version = 2")
    with pytest.raises(KeyRingUnavailable, match=r"schema version 2.*mend: upgrade memstream"):
        opened()
    execute(conninfo, "DELETE FROM memstream_key_ring")
    with pytest.raises(KeyRingUnavailable, match="mend: restore the database"):
        opened()


@pytest.mark.parametrize(
    "changes",
    [
        {"password": "not-the-secret-word"},
        {"host": "127.0.0.1", "port": "1", "password": "not-the-secret-word"},
        {"sslmode": "require", "password": "not-the-secret-word"},
        {
            "sslmode": "verify-full",
            "sslrootcert": "/nowhere/root.crt",
            "password": "not-the-secret",
        },
    ],
)
def test_what_fails_names_the_place_and_never_the_password(
    conninfo: str, changes: dict[str, str]
) -> None:
    with capture_logs() as logs, pytest.raises(LogUnavailable) as caught:
        PostgresKeyRing(make_conninfo(conninfo, **changes), SystemClock())
    told = f"{caught.value!r} {caught.value} {caught.value.__cause__!r} {logs}"
    assert "not-the-secret" not in told
    assert "mend: check that the server runs" in told
    assert "host=127.0.0.1" in told
    assert "dbname=postgres" in told


@pytest.mark.parametrize(
    "line",
    [
        "host=127.0.0.1 password=secret word",
        "host=127.0.0.1 password='secret",
        "postgresql://ada:secret/word@127.0.0.1:5432/postgres",
        "postgresql://ada:secret@127.0.0.1:secret/postgres",
        "secret",
    ],
)
def test_a_connection_string_that_cannot_be_read_is_not_repeated(line: str) -> None:
    with pytest.raises(KeyRingUnavailable, match="mend: write host=") as caught:
        PostgresKeyRing(line, SystemClock())
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_a_server_that_logs_keys_is_warned_of(conninfo: str) -> None:
    told = []
    for setting in ("log_statement=all", "log_min_duration_statement=5s", "log_statement=ddl"):
        options = f"{conninfo_to_dict(conninfo)['options']} -c{setting}"
        with capture_logs() as logs:
            PostgresKeyRing(make_conninfo(conninfo, options=options), SystemClock()).close()
        told.append([each["event"] for each in logs])
    assert told == [["key_ring_server_logs_keys"], ["key_ring_server_logs_keys"], []]

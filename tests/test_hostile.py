"""Hostile input, broken files, full disks: each gets its stated error, and the rest goes on."""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import msgspec
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from growth import assert_linear
from simulation import BEGINNING, LATER, MEMORY_DISK, versions

from memstream import Memory, Scope
from memstream.processors.capture import decode_text
from memstream.processors.turn_reading import MOST_OF_ONE_SLOT
from memstream.schemas.errors import (
    InvalidEvent,
    InvalidScope,
    LogUnavailable,
    MemstreamError,
    NotFound,
    ProjectionDamaged,
    SealBroken,
    WrongGeneration,
)
from memstream.schemas.events import Event, Source, TurnRecorded
from memstream.service.importing import import_file
from memstream.streams.clock import ManualClock

ANN, BOB = Scope(tenant="acme", user="ann"), Scope(tenant="acme", user="bob")
SAID = datetime(2025, 2, 3, 10, tzinfo=UTC)


@pytest.fixture
def directory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=MEMORY_DISK, prefix="hostile-") as folder:
        yield Path(folder) / "memory"


def opened(directory: Path, **more: Any) -> Memory:
    return Memory.open(directory, worker=False, clock=ManualClock(BEGINNING), **more)


@pytest.fixture
def memory(directory: Path) -> Iterator[Memory]:
    with opened(directory) as memory:
        yield memory


@pytest.fixture
def filled(directory: Path) -> Path:
    """A directory with a few memories, closed."""
    with opened(directory) as memory:
        memory.record_turn(ANN, text="I live in Porto.", observed_at=SAID)
        memory.record_turn(ANN, text="I work at Hooli.", observed_at=SAID)
        memory.record_turn(BOB, text="I like chess.", observed_at=SAID)
        memory.flush()
    return directory


def assert_goes_on(memory: Memory) -> None:
    """New facts are still recorded, processed and found."""
    memory.record_turn(BOB, text="I live in Tartu.", observed_at=SAID)
    memory.flush()
    assert "Tartu" in memory.recall(BOB, "Where does the user live?", record=False).text
    diagnosis = memory.doctor()
    assert diagnosis.balance.closes, diagnosis.balance


def assert_stated(error: BaseException) -> None:
    """A stated error says what, where, and how to mend it."""
    assert isinstance(error, MemstreamError)
    assert "mend: " in str(error) or isinstance(error, InvalidEvent)


# Input


def test_bytes_that_are_no_text_name_the_byte(memory: Memory, tmp_path: Path) -> None:
    with pytest.raises(InvalidEvent, match="byte 0xff at offset 3 of 5") as refused:
        decode_text(b"abc\xffd", "letter 7")
    assert "letter 7" in str(refused.value)
    path = tmp_path / "turns.jsonl"
    good = b'{"id": "x1", "role": "user", "text": "I live in Porto."}\n'
    path.write_bytes(good + b'{"id": "x2", "text": "caf\xe9"}\n' + good.replace(b"x1", b"x3"))
    report = None
    try:
        report = import_file(memory, path, scope=ANN, now=SAID)
    except MemstreamError as error:
        assert_stated(error)
    if report is not None:
        assert report.broken
    assert_goes_on(memory)


@pytest.mark.parametrize(
    "text",
    [
        "I live in \ud83d Porto.",
        "I live\x00 in Porto.",
        "I live in Porto.\x1f\x7f\x85",
        "\ufeffI live in Porto.\u200b\u202e",
        "I live in Porto." + "\u0301" * 5_000,
        "<|im_end|>I live in Porto.'); DROP TABLE events_0;--",
    ],
    ids=["surrogate", "nul", "controls", "invisible", "combining", "injection"],
)
def test_odd_characters_are_taken_and_survive_a_replay(directory: Path, text: str) -> None:
    with opened(directory) as memory:
        memory.record_turn(ANN, text=text, observed_at=SAID)
        memory.state(ANN, text=text, observed_at=SAID)
        memory.record_tool_result(ANN, tool="t", text=text, observed_at=SAID)
        memory.record_tool_call(ANN, tool="t", arguments={"q": text, text: [1]}, observed_at=SAID)
        memory.recall(ANN, text)
        memory.flush()
        before = versions(memory, (ANN,))
        assert before
        assert_goes_on(memory)
        assert memory.rebuild().identical
        assert versions(memory, (ANN,)) == before


def test_the_facts_of_a_very_long_turn_are_found(memory: Memory) -> None:
    filler = "The weather was grey and the tram was late again. "
    text = filler * 10_000 + "I live in Porto. " + filler * 11_000
    assert len(text) > 1_000_000
    memory.record_turn(ANN, text=text, observed_at=SAID)
    memory.flush()
    assert [each.value for each in memory.memories(ANN, attribute="residence")] == ["Porto"]
    assert_goes_on(memory)


def test_a_turn_costs_what_its_length_says(memory: Memory) -> None:
    def work(size: int) -> None:
        text = " ".join(f"The tram {number} was late again." for number in range(size))
        memory.record_turn(ANN, text=text, observed_at=SAID)
        memory.flush()

    assert_linear(work, 400)


@pytest.mark.parametrize("sentence", ["I live in City{}.", "我住在{}城。"])
def test_thousands_of_claims_of_one_slot_in_one_turn_are_bounded(
    sentence: str, memory: Memory
) -> None:
    """The last few are read as facts; the sentences of the others are kept in the episode."""
    text = " ".join(sentence.format(number) for number in range(2_000))
    memory.record_turn(ANN, text=text, observed_at=SAID)
    memory.flush()
    kept = memory.memories(ANN, everything=True)
    facts = [each for each in kept if each.attribute]
    assert 1 <= len(facts) <= MOST_OF_ONE_SLOT
    [current] = memory.memories(ANN, attribute="residence")
    assert "1999" in current.value
    assert any("1000" in each.value for each in kept if not each.attribute)
    assert_goes_on(memory)


def test_a_tool_result_of_two_megabytes_is_kept_in_the_log_only(memory: Memory) -> None:
    text = "\n".join(f"row {number}: value {number * 7}" for number in range(90_000))
    assert len(text) > 2_000_000
    position = memory.record_tool_result(ANN, tool="query", text=text, observed_at=SAID)
    memory.flush()
    assert not memory.memories(ANN, everything=True)
    assert memory.doctor().balance.rejected == memory.doctor().balance.captured > 20
    report = memory.erase(position)
    assert report.complete
    assert memory.doctor().balance.erased == report.events > 20
    assert_goes_on(memory)


@pytest.mark.parametrize(
    "instant",
    [
        datetime(2025, 1, 1),
        datetime.min.replace(tzinfo=UTC),
        datetime.max.replace(tzinfo=UTC),
        datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))),
        datetime(9999, 12, 31, 23, tzinfo=timezone(-timedelta(hours=12))),
    ],
)
def test_absurd_times_are_refused_or_survived(memory: Memory, instant: datetime) -> None:
    for act in (
        lambda: memory.record_turn(ANN, text="Yesterday I met Ines.", observed_at=instant),
        lambda: memory.state(ANN, attribute="residence", value="Porto", valid_from=instant),
        lambda: memory.state(ANN, attribute="residence", value="Ghent", expires_at=instant),
        lambda: memory.memories(ANN, as_of=instant),
        lambda: memory.recall(ANN, "where?", known_at=instant),
    ):
        with suppress(InvalidEvent):  # or accepted; anything else is a fault
            act()
    memory.flush()
    assert not memory.doctor().balance.dead_lettered
    assert_goes_on(memory)


def test_scopes_that_are_none_are_refused(memory: Memory) -> None:
    for parts in ({"user": ""}, {"user": " "}, {}, {"user": "a", "agent": "b"}, {"user": "\ud800"}):
        with pytest.raises(InvalidScope):
            Scope(tenant="acme", **parts)
    with pytest.raises(InvalidScope):
        Scope(tenant="", user="ann")
    event = Event(
        id="x",
        type="turn.recorded",
        subject="nobody",
        time=SAID,
        source=Source("user_said", 3),
        data=TurnRecorded(text="I live in Porto.", role="user"),
    )
    with pytest.raises(InvalidEvent, match="scope path 'nobody'"):
        memory.append([event])
    assert_goes_on(memory)


def test_an_event_of_a_newer_release_waits_as_a_dead_letter(memory: Memory) -> None:
    memory.record_turn(ANN, text="I live in Porto.", observed_at=SAID)
    log, codec = memory._host.files.log, memory._host.files.codec
    event = Event(
        id="future",
        type="turn.recorded",
        subject=ANN.path,
        time=SAID,
        source=Source("user_said", 3),
        data=TurnRecorded(text="I work at Hooli.", role="user"),
    )
    row = codec.to_row(event)
    log.append(
        [
            msgspec.structs.replace(row, dataversion=99),
            msgspec.structs.replace(codec.to_row(msgspec.structs.replace(event, id="altered")),
                                    payload=row.payload),
        ]
    )  # fmt: skip
    assert_goes_on(memory)
    diagnosis = memory.doctor()
    assert diagnosis.balance.dead_lettered == 2
    (letters,) = [check for check in diagnosis.checks if check.name == "dead letters"]
    assert "UnknownEventType" in letters.detail
    assert [each.value for each in memory.memories(ANN)] == ["Porto"]
    assert memory.rebuild().identical
    assert memory.erase(ANN).complete
    assert memory.doctor().healthy


def test_thousands_of_scopes(memory: Memory) -> None:
    events = [
        Event(
            id="e",
            type="turn.recorded",
            subject=Scope(tenant=f"t{number % 50}", user=f"u{number}").path,
            time=SAID,
            source=Source("user_said", 3),
            data=TurnRecorded(text=f"I live in Town{number}.", role="user"),
        )
        for number in range(2_000)
    ]
    memory._host.files.ring.ensure(each.subject for each in events)
    memory.append(events)
    memory.flush()
    scope = Scope(tenant="t17", user="u1217")
    assert [each.value for each in memory.memories(scope)] == ["Town1217"]
    evidence = memory.recall(scope, "Where does the user live?")
    assert [item.memory.value for item in evidence.items] == ["Town1217"]
    assert memory.doctor().healthy


def test_arguments_that_are_no_json_and_ids_that_are_none_are_refused(memory: Memory) -> None:
    loop: dict[str, Any] = {}
    loop["loop"] = loop
    for arguments in ({"x": object()}, {"x": b"bytes"}, loop):
        with pytest.raises(InvalidEvent):
            memory.record_tool_call(ANN, tool="t", arguments=arguments)
    with pytest.raises(InvalidEvent):
        memory.record_turn(ANN, text="x", event_id="")
    with pytest.raises(InvalidEvent):
        memory.record_turn(ANN, text="x", source="rumour")  # type: ignore[arg-type]
    with pytest.raises(NotFound):
        memory.erase(ANN, event="never-recorded")
    assert_goes_on(memory)


def test_erasing_the_same_event_again_takes_nothing_else(memory: Memory) -> None:
    position = memory.record_turn(ANN, text="I live in Porto.", observed_at=SAID)
    memory.record_turn(ANN, text="I work at Hooli.", observed_at=SAID)
    for _ in range(2):
        assert memory.erase(position).complete
        assert [each.value for each in memory.memories(ANN)] == ["Hooli"]
    assert_goes_on(memory)


# Files


def _open_and_rebuild(directory: Path) -> None:
    with opened(directory) as memory:
        memory.doctor()
        memory.rebuild()


def _cut(path: Path, share: float = 0.5) -> None:
    with path.open("r+b") as file:
        file.truncate(int(path.stat().st_size * share))


@pytest.mark.parametrize("name", ["log.db", "keys.db"])
@pytest.mark.parametrize("share", [0.0, 0.4])
def test_a_truncated_log_or_key_ring_is_refused(filled: Path, name: str, share: float) -> None:
    _cut(filled / name, share)
    with pytest.raises(MemstreamError) as refused:
        _open_and_rebuild(filled)
    assert_stated(refused.value)
    assert name in str(refused.value)


def test_a_missing_key_ring_is_refused_and_not_replaced(filled: Path) -> None:
    kept = (filled / "keys.db").read_bytes()
    (filled / "keys.db").unlink()
    with pytest.raises(LogUnavailable, match=r"keys\.db is missing"):
        opened(filled)
    assert not (filled / "keys.db").exists()
    (filled / "keys.db").write_bytes(kept)
    with opened(filled) as memory:
        assert_goes_on(memory)


def test_the_key_ring_of_another_log_is_refused(filled: Path, tmp_path: Path) -> None:
    with opened(tmp_path / "other") as other:
        other.record_turn(ANN, text="I live in Ghent.")
    shutil.copy(tmp_path / "other" / "keys.db", filled / "keys.db")
    with pytest.raises(SealBroken, match="mend: restore the key ring"):
        opened(filled)


@pytest.mark.parametrize("how", ["empty", "cut", "head", "gone"])
@pytest.mark.parametrize("name", ["state.db", "analytics.duckdb", "vectors", "CURRENT"])
def test_a_broken_derived_file_is_made_again(filled: Path, name: str, how: str) -> None:
    generations = filled / "generations"
    files = [
        each
        for each in sorted(generations.rglob("*"))
        if each.is_file() and name in each.relative_to(generations).parts
    ]
    assert files
    for path in files:
        if how == "gone":
            path.unlink()
        elif how == "cut":
            _cut(path)
        elif how == "empty":
            _cut(path, 0)
        else:
            with path.open("r+b") as file:
                file.write(b"\xff" * min(40, path.stat().st_size))
    with opened(filled) as memory:
        memory.flush()
        assert [each.value for each in memory.memories(BOB)] == ["chess"]
        assert "Porto" in memory.recall(ANN, "Where does the user live?", record=False).text
        diagnosis = memory.doctor()
        assert diagnosis.healthy, diagnosis
        assert_goes_on(memory)


def test_pages_of_the_state_that_rot_are_reported_and_rebuilt(filled: Path) -> None:
    (path,) = filled.rglob("state.db")
    content = bytearray(path.read_bytes())
    for start in range(4096, len(content), 4096):
        content[start : start + 512] = b"\xaa" * 512
    path.write_bytes(content)
    try:
        memory = opened(filled)
    except ProjectionDamaged as error:
        pytest.fail(f"not made again: {error}")
    with memory:
        diagnosis = memory.doctor()
        if not diagnosis.healthy:
            assert any("rebuild" in check.mend for check in diagnosis.checks if not check.ok)
            assert memory.rebuild().swapped
        memory.flush()
        assert_goes_on(memory)


def test_another_embedder_or_generation_is_refused(filled: Path) -> None:
    with pytest.raises(WrongGeneration, match="vectors of two models never mix"):
        opened(filled, embedder="hash:64")
    with opened(filled) as memory:
        assert memory.rebuild(embedder="hash:64").swapped
        assert_goes_on(memory)
    with pytest.raises(WrongGeneration):
        opened(filled, embedder="none")
    (stamp,) = filled.glob("generations/g-000002/generation.json")
    stamp.write_bytes(stamp.read_bytes().replace(b"hash", b"hush"))
    with opened(filled) as memory:
        memory.flush()
        assert any("hush" in reason for reason in memory.recall(ANN, "tea").degraded)
        assert memory.rebuild().swapped
        assert_goes_on(memory)


def test_a_file_where_the_directory_should_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("not a folder", encoding="utf-8")
    for path in (tmp_path / "plain", tmp_path / "plain" / "below", Path("/proc/memory")):
        with pytest.raises(LogUnavailable, match="mend: ") as refused:
            opened(path)
        assert str(path) in str(refused.value)


def test_a_full_log_refuses_the_turn_and_keeps_the_rest(memory: Memory) -> None:
    connection = memory._host.files.log._writer
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages}")
    before = memory.doctor().balance.captured
    refusal = ""
    while not refusal:
        try:
            memory.record_turn(ANN, text=f"I like tea {before}. " * 200)
            before += 1
        except LogUnavailable as error:
            refusal = str(error)
    assert "nothing was written; mend: free disk space" in refusal
    connection.execute("PRAGMA max_page_count = 1000000")
    memory.flush()
    diagnosis = memory.doctor()
    assert diagnosis.healthy, diagnosis
    assert diagnosis.balance.captured == before
    assert_goes_on(memory)


_FILLS = """
import resource, sys
sys.path.insert(0, {source!r})
from memstream import Memory, Scope
from memstream.schemas.errors import MemstreamError
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
ann = Scope(tenant="acme", user="ann")
with Memory.open(sys.argv[1], worker=False) as memory:
    memory.flush()
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, resource.RLIM_INFINITY))
    recorded = 0
    try:
        for number in range(3_000):
            memory.record_turn(ann, text=f"I like tea {{number}}. " * 20)
            recorded += 1
            if number % 50 == 0:
                memory.flush()
    except MemstreamError as error:
        print("stated:", error)
    print("recorded", recorded, flush=True)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
"""


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="no file size limits here")
def test_a_full_disk_is_stated_and_nothing_recorded_is_lost(filled: Path) -> None:
    source = str(Path(__file__).resolve().parents[1] / "src")
    done = subprocess.run(
        [sys.executable, "-c", _FILLS.format(source=source), str(filled)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "stated:" in done.stdout
    assert "mend: " in done.stdout
    recorded = int(done.stdout.rpartition("recorded ")[2])
    with Memory.open(filled, worker=False, clock=ManualClock(LATER)) as memory:
        memory.flush()
        diagnosis = memory.doctor()
        assert diagnosis.healthy, diagnosis
        assert diagnosis.balance.captured in (3 + recorded, 4 + recorded)
        assert_goes_on(memory)


def test_nothing_is_left_open_after_a_refusal(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "log.db").write_bytes(b"not a database" * 100)
    handles = Path("/proc/self/fd")
    if not handles.is_dir():
        pytest.skip("no /proc here to count open files")
    before = len(list(handles.iterdir()))
    for _ in range(20):
        with pytest.raises(MemstreamError):
            opened(tmp_path / "memory")
    assert len(list(handles.iterdir())) <= before + 2

"""The Parquet snapshot: complete at one position, readable by DuckDB and Polars, never in the way
of anything that is not an older snapshot."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import polars
import pytest

from memstream.projections import snapshot as snapshots
from memstream.projections.duckdb_rows import TABLES
from memstream.projections.in_duckdb import DuckIndex
from memstream.projections.projection import Generation
from memstream.projections.scripted import Story, at, memory, plain_steps, tally_of
from memstream.projections.snapshot import (
    MANIFEST,
    SnapshotRefused,
    read_manifest,
    snapshot,
    verify,
)
from memstream.schemas.errors import NotFound, ProjectionDamaged
from memstream.schemas.events import ContextServed, ServedItem

STAMP = Generation("pipe-1", "none", "1")


@pytest.fixture
def index(tmp_path: Path) -> Iterator[DuckIndex]:
    opened = DuckIndex.open(tmp_path / "analytics.duckdb", STAMP)
    yield opened
    opened.close()


@pytest.fixture
def told(index: DuckIndex) -> DuckIndex:
    """Two versions of one memory with lists, times and a map, and a served context."""
    story = Story()
    story.turn("我住在奥斯陆。", memory("home", lemmas=("住", "奥斯陆")), when=at(1))
    later = memory("home", 2, status="superseded", valid_to=at(5), created_at=at(9))
    story.turn("I left Oslo.", later, when=at(9), scope="other/user:bob")
    served = ContextServed(query="home?", items=(ServedItem("home", 2, 1, 0.5),), as_of=at(3))
    story.add(served, "context.served", when=at(10))
    index.apply(story.steps)
    return index


def test_the_manifest_says_what_is_there(told: DuckIndex, tmp_path: Path) -> None:
    target = tmp_path / "out"
    manifest = snapshot(told, target)
    assert manifest == read_manifest(target) == verify(target)
    assert (manifest.position, manifest.generation) == (3, STAMP)
    assert manifest.tally == told.tally()
    assert manifest.tables.keys() == set(TABLES)
    assert {name: table.rows for name, table in manifest.tables.items() if table.rows} == {
        "events": 3,
        "decisions": 3,
        "candidates": 2,
        "memory_versions": 2,
        "contexts": 1,
        "context_items": 1,
    }
    assert manifest.tables["decisions"].columns["factors"] == "MAP(VARCHAR, DOUBLE)"
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "out") == [
        "analytics.duckdb",
        "analytics.duckdb.wal",
    ]


def test_duckdb_reads_lists_maps_and_times(told: DuckIndex, tmp_path: Path) -> None:
    snapshot(told, tmp_path / "out")
    with duckdb.connect() as reader:
        versions = f"read_parquet('{tmp_path}/out/memory_versions/*.parquet')"
        found = reader.execute(
            f"SELECT version, lemmas, valid_to, expired_at FROM {versions} ORDER BY version"
        ).fetchall()
        assert found == [
            (1, ["住", "奥斯陆"], None, datetime(2025, 3, 9, 12)),
            (2, [], datetime(2025, 3, 5, 12), None),
        ]
        decisions = f"read_parquet('{tmp_path}/out/decisions/*.parquet')"
        assert reader.execute(f"SELECT factors FROM {decisions} LIMIT 1").fetchall() == [
            ({"utility": 0.5, "trust": 1.0},)
        ]
        events = f"read_parquet('{tmp_path}/out/events/*.parquet')"
        query = f"SELECT data->>'$.conversation' FROM {events} WHERE seq = 1"
        assert reader.execute(query).fetchall() == [("c1",)]
        for table in TABLES:
            reader.execute(f"FROM read_parquet('{tmp_path}/out/{table}/*.parquet')").fetchall()


def test_polars_reads_lists_maps_and_times(told: DuckIndex, tmp_path: Path) -> None:
    target = tmp_path / "out"
    manifest = snapshot(told, target)
    versions = polars.scan_parquet(target / "memory_versions" / "*.parquet").collect()
    first = versions.filter(polars.col("version") == 1).row(0, named=True)
    assert first["lemmas"] == ["住", "奥斯陆"]
    assert first["expired_at"] == datetime(2025, 3, 9, 12)
    assert versions.schema["created_at"] == polars.Datetime("us")
    assert versions["digest"].sum() == manifest.tally.checksum
    factors = polars.scan_parquet(target / "decisions" / "*.parquet").collect()["factors"][0]
    assert factors == {"utility": 0.5, "trust": 1.0}
    events = polars.scan_parquet(target / "events" / "*.parquet").collect().sort("seq")
    assert events["text"][0] == "我住在奥斯陆。"
    assert '"text":"我住在奥斯陆。"' in events["data"][0]
    for name, table in manifest.tables.items():
        frame = polars.scan_parquet(target / name / "*.parquet").collect()
        assert frame.height == table.rows
        assert frame.columns == list(table.columns)


def test_a_snapshot_is_one_position_while_the_pipeline_goes_on(
    index: DuckIndex, tmp_path: Path
) -> None:
    steps = plain_steps(2_000)
    index.apply(steps[:100])
    halted = threading.Event()

    def pipeline() -> None:
        for start in range(100, len(steps), 20):
            index.apply(steps[start : start + 20])
        halted.set()

    worker = threading.Thread(target=pipeline)
    worker.start()
    positions: list[int] = []
    while not halted.is_set():
        target = tmp_path / f"out-{len(positions)}"
        manifest = snapshot(index, target)
        positions.append(manifest.position)
        assert manifest.tally == tally_of(steps[: manifest.position])
        for table in ("events", "decisions", "candidates", "memory_versions"):
            frame = polars.scan_parquet(target / table / "*.parquet").collect()
            assert frame.height == manifest.position
            assert frame["seq"].max() == manifest.position
    worker.join()
    assert positions == sorted(positions)
    assert positions[0] < 2_000
    assert index.tally() == tally_of(steps)


def test_release_and_erase_wait_for_a_running_snapshot(told: DuckIndex) -> None:
    order: list[str] = []

    def erase() -> None:
        told.erase("other/user:bob")
        order.append("erased")

    with told.reading() as connection:
        worker = threading.Thread(target=erase)
        worker.start()
        told.release()
        worker.join(timeout=0.3)
        count = connection.execute("SELECT count(*) FROM events").fetchone()
        assert count == (3,)
        order.append("read")
    worker.join()
    assert order == ["read", "erased"]


def test_a_path_is_read_without_its_writer(told: DuckIndex, tmp_path: Path) -> None:
    told.release()
    manifest = snapshot(told.path, tmp_path / "out")
    assert manifest.position == 3
    assert manifest.tally == told.tally()


def test_an_older_snapshot_is_replaced_only_when_asked(told: DuckIndex, tmp_path: Path) -> None:
    target = tmp_path / "out"
    snapshot(told, target)
    with pytest.raises(SnapshotRefused, match="is there already"):
        snapshot(told, target)
    snapshot(told, target, overwrite=True)
    story = Story()
    story.steps = [*plain_steps(3)]
    story.turn("one more", when=at(20))
    told.apply(story.steps[3:])
    assert snapshot(told, target, overwrite=True).position == 4
    assert verify(target).position == 4
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_a_newer_snapshot_stays(told: DuckIndex, tmp_path: Path) -> None:
    target = tmp_path / "out"
    snapshot(told, target)
    young = DuckIndex.open(tmp_path / "young.duckdb", STAMP)
    young.apply(plain_steps(1))
    with pytest.raises(SnapshotRefused, match="position 3, newer than 1"):
        snapshot(young, target, overwrite=True)
    young.close()
    assert verify(target).position == 3


def test_what_is_no_snapshot_is_never_replaced(told: DuckIndex, tmp_path: Path) -> None:
    target = tmp_path / "letters"
    target.mkdir()
    (target / "letter.txt").write_text("dear Ann")
    for overwrite in (False, True):
        with pytest.raises(SnapshotRefused, match="mend: choose a new folder"):
            snapshot(told, target, overwrite=overwrite)
    (target / MANIFEST).write_text('{"format": "something else"}')
    with pytest.raises(SnapshotRefused, match="no snapshot"):
        snapshot(told, target, overwrite=True)
    assert (target / "letter.txt").read_text() == "dear Ann"


def test_an_empty_folder_is_filled(told: DuckIndex, tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.mkdir()
    assert snapshot(told, target).position == 3


def test_a_target_that_cannot_be_made_is_refused(told: DuckIndex, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for target in (tmp_path / "file" / "snapshot", tmp_path / "file" / "deep" / "snapshot"):
        with pytest.raises(SnapshotRefused, match=r"cannot be made: .*mend: "):
            snapshot(told, target)
    assert (tmp_path / "file").read_text() == "mine"


def test_a_crash_leaves_no_half_snapshot(
    told: DuckIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "out"
    hashed: list[Path] = []

    def crash(path: Path) -> str:
        hashed.append(path)
        if len(hashed) == 4:
            raise KeyboardInterrupt
        return ""

    with monkeypatch.context() as patched:
        patched.setattr(snapshots, "_sha256", crash)
        with pytest.raises(KeyboardInterrupt):
            snapshot(told, target)
    assert not target.exists()
    with pytest.raises(NotFound, match="no snapshot"):
        read_manifest(target)
    assert snapshot(told, target).position == 3


def test_a_crash_between_the_two_renames_is_mended(told: DuckIndex, tmp_path: Path) -> None:
    target = tmp_path / "out"
    snapshot(told, target)
    target.rename(tmp_path / ".out.replaced")
    with pytest.raises(SnapshotRefused, match="is there already"):
        snapshot(told, target)
    assert verify(target).position == 3


def test_an_altered_file_is_noticed(told: DuckIndex, tmp_path: Path) -> None:
    target = tmp_path / "out"
    snapshot(told, target)
    file = target / "events" / "part-0.parquet"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0xFF
    file.write_bytes(content)
    with pytest.raises(ProjectionDamaged, match=r"part-0\.parquet"):
        verify(target)


def test_rows_are_sorted_so_that_a_tenant_is_together(index: DuckIndex, tmp_path: Path) -> None:
    story = Story()
    for number in range(12):
        story.turn(f"line {number}", when=at(1), scope=f"t{number % 3}/user:u")
    index.apply(story.steps)
    snapshot(index, tmp_path / "out")
    frame = polars.read_parquet(tmp_path / "out" / "events" / "part-0.parquet")
    assert frame["tenant"].to_list() == sorted(frame["tenant"].to_list())
    assert frame["recorded_at"].dt.replace_time_zone("UTC")[0] == datetime(
        2025, 3, 1, 12, 0, 2, tzinfo=UTC
    )

"""Questions of one's own: the simple format, two generations compared, the picture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from memstream import Memory, Scope
from memstream.schemas.errors import ImportFault, NotFound
from memstream.service.cli import app
from memstream.service.evaluating import evaluate
from memstream.service.evaluating_generations import compare
from memstream.service.evaluating_plot import plotted
from memstream.service.host import Host
from memstream.streams.clock import SystemClock

ANN: dict[str, Any] = {"user": "ann"}
BEN: dict[str, Any] = {"user": "ben"}
EVENTS: list[dict[str, Any]] = [
    {"id": "e1", "scope": ANN, "observed_at": "2024-03-01T09:00:00Z", "text": "I live in Porto."},
    {"id": "e2", "scope": ANN, "observed_at": "2024-04-01T09:00:00Z", "text": "I moved to Lima."},
    {"id": "e3", "scope": BEN, "observed_at": "2024-03-02T09:00:00Z", "text": "我对花生过敏。"},
]
QUESTIONS: list[dict[str, Any]] = [
    {"scope": ANN, "question": "Where does the user live?", "evidence": ["e2"], "category": "now"},
    {
        "scope": ANN,
        "question": "Where does the user live?",
        "evidence": ["e1"],
        "category": "then",
        "as_of": "2024-03-15T00:00:00Z",
    },
    {"scope": BEN, "question": "用户对什么过敏？", "evidence": ["e3"]},
    {"scope": BEN, "question": "Which instrument does she play?", "evidence": []},
]


def written(path: Path, lines: list[Any]) -> Path:
    text = "\n".join(each if isinstance(each, str) else json.dumps(each) for each in lines)
    path.write_text(text + "\n", encoding="utf-8")
    return path


def test_a_file_of_events_and_questions(tmp_path: Path) -> None:
    report = evaluate(written(tmp_path / "own.jsonl", [*EVENTS, "", *QUESTIONS]), format="jsonl")
    assert (report.conversations, report.turns, report.overall.questions) == (2, 3, 3)
    assert list(report.by_category) == ["all", "now", "then"]
    assert report.by_category["now"].mean_reciprocal_rank == 1.0
    assert report.by_category["then"].mean_reciprocal_rank == 1.0
    assert report.overall.recall_at_5 == 1.0
    assert report.skipped_questions == 0
    assert report.abstention is not None
    assert report.abstention.off_topic == 4
    assert report.abstention.injected_share < 1


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "line 4: "),
        ("[]", "line 4: expected an object with a scope"),
        ({"question": "x", "evidence": []}, "line 4: expected an object with a scope"),
        ({"scope": {"owner": "x"}, "question": "x", "evidence": []}, "line 4: scope"),
        ({"scope": {"user": ""}, "question": "x", "evidence": []}, "line 4: "),
        ({"scope": ANN, "question": "x"}, "line 4: expected question, a text, and evidence"),
        ({"scope": ANN, "question": " ", "evidence": []}, "line 4: expected question"),
        ({"scope": ANN, "question": "x", "evidence": "e1"}, "line 4: expected question"),
        ({"scope": ANN, "question": "x", "evidence": [], "k": 5}, "line 4: 'k' is no field"),
        ({"scope": ANN, "question": "x", "evidence": [], "as_of": "noon"}, "line 4: as_of"),
        ({"scope": ANN, "question": "x", "evidence": ["e9"]}, "names evidence 'e9'"),
        ({"scope": ANN, "id": "e4", "text": "When?"}, "line 4: "),
        ({"scope": {"user": "eve"}, "question": "x", "evidence": ["e1"]}, "nothing was said"),
    ],
)
def test_a_mistake_is_told_with_its_line(tmp_path: Path, line: Any, problem: str) -> None:
    path = written(tmp_path / "own.jsonl", [*EVENTS, line])
    with pytest.raises(ImportFault) as refused:
        evaluate(path, format="jsonl")
    assert problem in str(refused.value)


def test_two_generations_are_compared_before_a_swap(tmp_path: Path) -> None:
    directory = tmp_path / "memory"
    scope = Scope(tenant="acme", user="ann")
    with Memory.open(directory, worker=False) as memory:
        for text in ("I live in Porto.", "My sister Ida plays the cello.", "I like tea."):
            memory.record_turn(scope, text=text, event_id=f"e-{text[-5:-1]}")
        memory.flush()
        beside = memory.rebuild(embedder="hash:32", swap=False).generation
    asked = [
        {"scope": {"tenant": "acme", "user": "ann"}, "question": question, "evidence": [event]}
        for question, event in (("Where does the user live?", "e-orto"), ("Who plays?", "e-ello"))
    ]
    path = written(tmp_path / "questions.jsonl", asked)
    seen: list[tuple[int, int]] = []
    host = Host(directory, SystemClock(), embedder=None, partitions=None)
    try:
        host.start(worker=False)
        served = host.generation
        before = host.files.log.end_offsets()
        found = compare(host, path, beside, progress=lambda done, total: seen.append((done, total)))
        assert (found.generation, found.against) == (served, beside)
        assert found.embedder.startswith("hash/")
        assert found.scores.questions == 2
        assert found.scores.recall_at_10 == 1.0
        assert found.difference["recall_at_10"] == 0.0
        assert (found.better, found.worse, found.changed) == (0, 0, ())
        assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
        assert host.generation == served
        assert host.files.log.end_offsets() == before
        with pytest.raises(NotFound, match=f"g-999999: not there; there are {served}, {beside}"):
            compare(host, path, "g-999999")
    finally:
        host.close()


@pytest.mark.parametrize(
    ("scope", "event", "told"),
    [
        (
            ANN,
            "e1",
            'mend: give the question its tenant: {"scope": {"tenant": "acme", "user": "ann"}',
        ),
        (
            {"tenant": "beta", **ANN},
            "e1",
            'its tenant: {"scope": {"tenant": "acme", "user": "ann"}',
        ),
        ({"tenant": "acme", "user": "eve"}, "e1", "acme/user:eve in "),
        ({"tenant": "acme", **ANN}, "e9", "'e9', which is no event of acme/user:ann"),
        ({"tenant": "acme", **ANN}, "e9", "SELECT scope, id FROM events"),
    ],
)
def test_a_question_about_what_is_not_in_the_directory_is_refused(
    scope: dict[str, str], event: str, told: str, tmp_path: Path
) -> None:
    with Memory.open(tmp_path / "memory", worker=False) as memory:
        ann = Scope(tenant="acme", user="ann")
        memory.record_turn(ann, text="I live in Porto.", event_id="e1")
        memory.flush()
        beside = memory.rebuild(embedder="hash:32", swap=False).generation
    asked = {"scope": scope, "question": "Where does she live?", "evidence": [event]}
    path = written(tmp_path / "questions.jsonl", [asked])
    host = Host(tmp_path / "memory", SystemClock(), embedder=None, partitions=None)
    try:
        host.start(worker=False)
        with pytest.raises(ImportFault) as refused:
            compare(host, path, beside)
        assert "question 'Where does she live?' names evidence" in str(refused.value)
        assert "scopes there: acme/user:ann; mend: " in str(refused.value)
        assert told in str(refused.value)
    finally:
        host.close()


def test_the_picture_holds_every_figure_and_is_sound_xml(tmp_path: Path) -> None:
    asked = [{**each, "category": '<now> & "then"'} for each in QUESTIONS]
    path = written(tmp_path / "own.jsonl", [*EVENTS, *asked])
    report = evaluate(path, format="jsonl", embedder="hash", ablate=True)
    drawn = ElementTree.fromstring(plotted(report))  # noqa: S314  written a line above
    texts = [each.text or "" for each in drawn.iter() if each.tag.endswith("text")]
    assert '<now> & "then"' in texts
    for title in ("Beside the baselines", "By category", "Ablation", "recall@10", "MRR"):
        assert title in texts
    assert texts.count(f"{report.overall.recall_at_10:.3f}") >= 2


def test_a_picture_that_has_no_folder_is_refused_before_anything_is_measured(
    tmp_path: Path,
) -> None:
    data = written(tmp_path / "own.jsonl", [*EVENTS, *QUESTIONS])
    plot = ("--plot", str(tmp_path / "none" / "plot.svg"))
    found = CliRunner().invoke(app, ["eval", str(data), "--format", "jsonl", *plot])
    assert found.exit_code == 2
    assert "there is no folder" in found.output

"""The evaluation harness, on a small data set of our own in LoCoMo's form."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from thorough import THOROUGH

from memstream.schemas.errors import ImportFault
from memstream.service.evaluating import EvalReport, Trial, evaluate

SAID = [
    ("Nadia", "Yesterday I carried the old loom up to the attic with Pavel."),
    ("Pavel", "My knees still hurt! What will you weave first?"),
    ("Nadia", "A striped blanket for my aunt Rosa in Tallinn, from grey and orange wool."),
    ("Pavel", "Good night!"),
    ("Nadia", "I signed up for the dyeing course that starts in October."),
    ("Pavel", "I finally repaired the bicycle bell, it cost me nine euros."),
]
ASKED: list[dict[str, Any]] = [
    {"question": "Who helped with the loom?", "evidence": ["D1:1"], "category": 4},
    {"question": "Which course did Nadia sign up for?", "evidence": ["D2:1"], "category": 2},
    {
        "question": "What of Nadia's are the blanket and the course about?",
        "evidence": ["D1:3; D2:01"],
        "category": 1,
    },
    {"question": "What did the bell cost?", "evidence": ["D:2:2", "D9:9", "D"], "category": 3},
    {"question": "Where does Rosa's goat live?", "evidence": ["D9:8"], "category": 4},
    {"question": "Why did Pavel sell the piano?", "evidence": ["D1:2"], "category": 5},
]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def session(number: int, said: list[tuple[str, str]]) -> list[dict[str, str]]:
        return [
            {"speaker": who, "dia_id": f"D{number}:{at}", "text": text}
            for at, (who, text) in enumerate(said, 1)
        ]

    sample = {
        "sample_id": "weavers",
        "conversation": {
            "speaker_a": "Nadia",
            "speaker_b": "Pavel",
            "session_1_date_time": "6:05 pm on 12 September, 2023",
            "session_1": session(1, SAID[:4]),
            "session_2_date_time": "8:30 am on 20 September, 2023",
            "session_2": session(2, SAID[4:]),
        },
        "qa": ASKED,
        "session_summary": {"session_1_summary": "Zebras, only named where no one spoke of them."},
    }
    file = tmp_path_factory.mktemp("data") / "weavers.json"
    file.write_text(json.dumps([sample, {**sample, "sample_id": "again"}]), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def report(path: Path) -> EvalReport:
    return evaluate(path)


def test_evidence_is_found(report: EvalReport) -> None:
    assert report.conversations == 2
    assert report.turns == 12
    assert report.overall.questions == 8
    assert report.overall.recall_at_10 == 1.0
    assert report.overall.mean_reciprocal_rank > 0.8
    assert report.overall.recall_in_600_tokens >= report.overall.recall_in_300_tokens > 0


def test_every_category_but_the_unanswerable_one(report: EvalReport) -> None:
    assert list(report.by_category) == [
        "1 multi-hop",
        "2 temporal",
        "3 open-domain",
        "4 single-hop",
    ]
    assert report.by_category["4 single-hop"].questions == 2


def test_evidence_that_names_no_turn_is_told(report: EvalReport) -> None:
    assert report.skipped_questions == 2
    assert len(report.notes) == 2
    assert report.notes[0].startswith("weavers: 3 evidence ids")
    assert all(each in report.notes[0] for each in ("'D9:9'", "'D'", "'D9:8'"))


def test_shares_and_kinds_add_up(report: EvalReport) -> None:
    assert report.rejected_share == pytest.approx(2 / 12, abs=1e-3)
    assert report.stored_share + report.rejected_share == pytest.approx(1, abs=1e-3)
    assert report.memories_by_kind["episode"] >= 8


def test_it_is_the_same_again(path: Path, report: EvalReport) -> None:
    def timeless(given: EvalReport) -> EvalReport:
        times = ("latency_ms_p50", "latency_ms_p95", "search_ms_p50", "search_ms_p95")
        return msgspec.structs.replace(given, **dict.fromkeys(times, 0.0))

    assert timeless(evaluate(path)) == timeless(report)


def test_the_answers_are_not_imported(path: Path, tmp_path: Path) -> None:
    trial = Trial(path, tmp_path)
    with trial._opened(None) as memory:
        _, found = memory.sql("SELECT count(*) FROM events WHERE text LIKE '%Zebras%'")
        assert found == [(0,)]
        _, found = memory.sql("SELECT max(observed_at) < '2023-09-21' FROM events")
        assert found == [(True,)]


def test_ranks_are_of_the_first_result_that_a_turn_supports(path: Path, tmp_path: Path) -> None:
    answered = Trial(path, tmp_path).ask(limit=1)
    first = answered[0]
    assert first.dialogue == "weavers"
    assert first.found == {"weavers/D1:1": 1}
    assert first.recall_at(1) == first.reciprocal_rank == 1.0
    assert answered[2].recall_at(1) <= 0.5


def test_progress_counts_questions(path: Path) -> None:
    seen: list[tuple[int, int]] = []
    evaluate(path, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(number, 8) for number in range(1, 9)]


def test_baselines_and_silence_are_measured(report: EvalReport) -> None:
    assert set(report.baselines) == {"bm25", "memory off"}
    assert report.baselines["bm25"].recall_at_10 > 0.8
    assert report.baselines["memory off"].recall_in_1200_tokens == 1.0
    assert report.ratio_to_best_baseline["recall_at_10"] == pytest.approx(
        report.overall.recall_at_10 / report.baselines["bm25"].recall_at_10, abs=1e-4
    )
    silent = report.abstention
    assert silent is not None
    assert silent.off_topic == 8
    assert silent.injected_share == 1.0  # both conversations are the same: nothing is off topic
    assert silent.answered_share == 1.0


@THOROUGH
def test_every_channel_and_weight_is_left_out_once(path: Path) -> None:
    report = evaluate(path, embedder="hash", ablate=True)
    assert {"without bm25", "without dense"} <= set(report.ablation)
    assert set(report.baselines) == {"bm25", "dense", "rrf", "memory off"}
    assert len({each.questions for each in report.ablation.values()}) == 1
    assert report.ablation["without dense"] != report.ablation["without bm25"]
    with_words = evaluate(path).overall
    assert report.ablation["without dense"].recall_at_10 == with_words.recall_at_10


def test_an_unknown_format_is_refused(path: Path) -> None:
    with pytest.raises(ImportFault, match="locomo"):
        evaluate(path, format="haystack")


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "other.json"
    file.write_text('[{"messages": []}]', encoding="utf-8")
    with pytest.raises(ImportFault, match="sample 0 has no conversation"):
        evaluate(file)


@THOROUGH
def test_the_development_half_keeps_its_level(shared: Path) -> None:
    report = evaluate(shared / "data" / "locomo" / "locomo_dev.json")
    assert report.overall.questions > 700
    assert report.overall.recall_at_10 >= 0.52
    assert 0.5 < report.baselines["bm25"].recall_at_10 < report.overall.recall_at_10 + 0.1


@THOROUGH
@pytest.mark.parametrize("language", ["zh", "en"])
def test_madial_is_asked_with_what_was_said_before(shared: Path, language: str) -> None:
    report = evaluate(shared / "data" / "madial", format=f"madial-{language}")
    assert report.overall.questions > 150
    assert report.turns > 100
    assert len(report.by_category) > 3
    assert 0 < report.overall.recall_at_5 < 1
    assert report.abstention is None

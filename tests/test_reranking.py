"""Reranking: its order, and what stays as it is without one, when it fails, and around it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from memstream import Evidence, Memory, Scope, Settings
from memstream.recall.packing import estimated_tokens
from memstream.recall.reranking import RERANK, Reranker, RerankerUnavailable, reranked
from memstream.service import asking

ANN = Scope(tenant="acme", user="ann")
BOB = Scope(tenant="acme", user="bob")
AS_OF = datetime(2101, 1, 1, tzinfo=UTC)
STRANGER = Scope(tenant="other", user="ann")
ENGLISH = "What about the boat in Porto?"
CHINESE = "波尔图的船怎么样？"
SAID = {
    ENGLISH: [
        "The boat in Porto leaks a little.",
        "We painted the boat in Porto green.",
        "The boat in Porto sails on Sunday with nine friends and a very old dog.",
        "My sister sold her boat in Porto.",
        "There was fog around the boat in Porto yesterday.",
        "The harbour of Porto has room for one more boat.",
    ],
    CHINESE: [
        "波尔图的船有点漏水。",
        "我们把波尔图的船漆成了绿色。",
        "波尔图的船星期天带着九个朋友出海。",
        "我姐姐卖掉了她在波尔图的船。",
    ],
}
QUESTIONS = pytest.mark.parametrize("question", SAID)


class By:
    """A reranker that scores by a function, and keeps what it was asked."""

    identity = "by/1"

    def __init__(self, score: Callable[[str], Any]) -> None:
        self._score = score
        self.asked: list[tuple[str, list[str]]] = []

    def scores(self, query: str, texts: Sequence[str]) -> list[Any]:
        self.asked.append((query, list(texts)))
        return [self._score(text) for text in texts]


class Failing(By):
    """A reranker that gives or raises what it is made with."""

    def __init__(self, answer: object) -> None:
        super().__init__(lambda text: 0.0)
        self._answer = answer

    def scores(self, query: str, texts: Sequence[str]) -> list[Any]:
        super().scores(query, texts)
        if isinstance(self._answer, Exception):
            raise self._answer
        return list(self._answer)  # type: ignore[call-overload,no-any-return]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("reranking")
    with Memory.open(path, embedder="hash", worker=False) as memory:
        for texts in SAID.values():
            for text in texts:
                memory.record_turn(ANN, text=text)
                memory.record_turn(BOB, text=f"{text} Bob 说")
                memory.record_turn(STRANGER, text=f"{text} stranger")
        memory.flush()
    return path


@pytest.fixture(scope="module")
def opened(directory: Path) -> Iterator[Memory]:
    with Memory.open(directory, worker=False) as memory:
        yield memory


@pytest.fixture(params=["index", "scan"])
def ask(
    request: pytest.FixtureRequest, opened: Memory, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Evidence]:
    """Asks Ann's memory with a reranker: of the index, and of the scan that serves without it."""
    host = opened._host
    if request.param == "scan":
        monkeypatch.setattr(host, "_unreadable", lambda: "not now")

    def asked(
        reranker: Reranker | None, question: str, settings: Settings | None = None, **filters: Any
    ) -> Evidence:
        memory = Memory(host, settings or Settings(), reranker)
        evidence = memory.recall(ANN, question, record=False, as_of=AS_OF, **filters)
        assert any("scan" in each for each in evidence.degraded) == (request.param == "scan")
        return evidence

    return asked


def texts(evidence: Evidence) -> list[str]:
    return [item.memory.text for item in evidence.items]


@QUESTIONS
def test_the_order_is_the_rerankers(ask: Callable[..., Evidence], question: str) -> None:
    plain = ask(None, question)
    assert len(plain.items) > 2
    for score in (len, lambda text: -len(text), lambda text: 1e-9 * (sum(map(ord, text)) % 97)):
        reranker = By(score)
        found = ask(reranker, question)
        assert texts(found) == sorted(texts(plain), key=lambda text: -score(text))
        assert reranker.asked == [(question, texts(plain))]
        assert found.degraded == plain.degraded
        assert [item.rank for item in found.items] == [*range(1, len(found.items) + 1)]
        lines = found.text.splitlines()[1:-1]
        assert all(text in line for text, line in zip(texts(found), lines, strict=True))
        for place, item in enumerate(found.items, 1):
            assert item.found[RERANK].rank == place
            assert item.found[RERANK].score == score(item.memory.text)


@QUESTIONS
def test_ties_keep_the_order_they_had(ask: Callable[..., Evidence], question: str) -> None:
    plain = ask(None, question)
    assert texts(ask(By(lambda text: 0.5), question)) == texts(plain)
    last = texts(plain)[-1]
    found = ask(By(lambda text: float(text == last)), question)
    assert texts(found) == [last, *texts(plain)[:-1]]


@QUESTIONS
@pytest.mark.parametrize("explain", [False, True])
def test_without_one_nothing_changes(
    ask: Callable[..., Evidence], question: str, explain: bool
) -> None:
    plain = ask(None, question, explain=explain)
    assert ask(None, question, Settings(reranked=3), explain=explain) == plain
    off = By(len)
    assert ask(off, question, Settings(reranked=0), explain=explain) == plain
    assert not off.asked
    assert all(RERANK not in item.found for item in plain.items)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (RerankerUnavailable("the model is away"), "the model is away"),
        (TimeoutError("too late"), "by/1: raised TimeoutError;"),
        (ValueError("no such word"), "by/1: raised ValueError;"),
        ([], "by/1: 0 scores for 6 texts"),
        ([1.0], "by/1: 1 score for 6 texts"),
        ([1.0] * 7, "by/1: 7 scores for 6 texts"),
        ([1, 2, 3, math.nan, 5, 6], "by/1: a score is no number"),
        ([1, 2, 3, 4, 5, math.inf], "by/1: a score is no number"),
        ([1, 2, 3, None, 5, 6], "by/1: raised TypeError;"),
        (["a", "b", "c", "d", "e", "f"], "by/1: raised ValueError;"),
        (7, "by/1: raised TypeError;"),
    ],
)
def test_one_that_fails_leaves_the_order_and_says_why(
    ask: Callable[..., Evidence], answer: object, reason: str
) -> None:
    plain = ask(None, ENGLISH, explain=True)
    found = ask(Failing(answer), ENGLISH, Settings(reranked=6), explain=True)
    *before, said = found.degraded
    assert tuple(before) == plain.degraded
    assert reason in said
    assert said.endswith("left in the order of fusion")
    assert msgspec.structs.replace(found, degraded=plain.degraded) == plain


@QUESTIONS
def test_what_it_says_of_one_scope_is_not_told_in_another(directory: Path, question: str) -> None:
    class Quoting(By):
        def scores(self, query: str, texts: Sequence[str]) -> list[Any]:
            raise KeyError(f"{query}: {texts}")

    with Memory.open(directory, worker=False, reranker=Quoting(len)) as memory:
        for scope in (ANN, BOB, STRANGER):
            (said,) = memory.recall(scope, question, record=False).degraded
            assert "KeyError" in said
            assert not any(text in said for text in (question, *SAID[question]))


def test_one_that_failed_is_left_alone_for_a_while(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reranker = Failing(TimeoutError("too late"))
    settings = Settings(reranked=6)
    with Memory.open(directory, worker=False, settings=settings, reranker=reranker) as memory:
        for _ in range(3):
            found = memory.recall(ANN, ENGLISH, record=False)
            assert any("TimeoutError" in each for each in found.degraded)
        assert len(reranker.asked) == 1
        monkeypatch.setattr(asking, "DOUBT_SECONDS", 0.0)
        assert memory._asking.reranker is not None
        memory._asking.reranker._failed = None
        for _ in range(2):
            memory.recall(ANN, ENGLISH, record=False)
        assert len(reranker.asked) == 3
        reranker._answer = [1, 2, 3, 4, 5, 6]
        assert not memory.recall(ANN, ENGLISH, record=False).degraded


@QUESTIONS
@pytest.mark.parametrize("limit", [1, 2, 3])
def test_the_limit_holds_and_takes_the_rerankers_best(
    ask: Callable[..., Evidence], question: str, limit: int
) -> None:
    everything = ask(By(len), question)
    found = ask(By(len), question, limit=limit)
    assert texts(found) == texts(everything)[:limit]
    assert texts(ask(By(len), question, Settings(limit=limit))) == texts(found)


@QUESTIONS
def test_the_budget_holds_and_goes_by_the_rerankers_order(
    ask: Callable[..., Evidence], question: str
) -> None:
    whole = ask(By(len), question)
    for budget in range(20, whole.tokens + 40, 7):
        found = ask(By(len), question, budget_tokens=budget)
        assert estimated_tokens(found.text) <= budget
        assert len(found.items) + found.omitted == len(whole.items)
        assert texts(found) == [text for text in texts(whole) if text in texts(found)]
    assert texts(ask(By(len), question, budget_tokens=whole.tokens + 20)) == texts(whole)


@QUESTIONS
def test_only_the_best_are_put_in_order(ask: Callable[..., Evidence], question: str) -> None:
    plain = texts(ask(None, question))
    reranker = By(len)
    found = ask(reranker, question, Settings(reranked=3))
    assert texts(found) == sorted(plain[:3], key=len, reverse=True) + plain[3:]
    assert reranker.asked == [(question, plain[:3])]
    few = By(len)
    best = max(plain[:3], key=len)
    assert texts(ask(few, question, Settings(reranked=3), limit=1)) == [best]
    assert few.asked == reranker.asked


@QUESTIONS
def test_places_are_counted_anew(ask: Callable[..., Evidence], question: str) -> None:
    items = ask(None, question).items
    for most in (0, 1, 3, len(items), 99):
        placed = reranked(By(len), question, items, most)
        assert [item.rank for item in placed] == [*range(1, len(items) + 1)]
        assert {item.memory.id for item in placed} == {item.memory.id for item in items}


@QUESTIONS
def test_explaining_shows_it_and_changes_nothing(
    ask: Callable[..., Evidence], question: str
) -> None:
    plain = ask(By(len), question, limit=2)
    told = ask(By(len), question, limit=2, explain=True)
    assert msgspec.structs.replace(told, trace=None) == plain
    assert told.trace is not None
    assert told.trace.reranker == "by/1"
    places = [each.found[RERANK].rank for each in told.trace.considered if RERANK in each.found]
    assert sorted(places) == list(range(1, len(places) + 1))
    assert len(places) > 2  # also of what the limit cut off
    served = [each for each in told.trace.considered if each.outcome == "served"]
    assert {each.detail for each in served} == {"rank 1", "rank 2"}
    assert all(each.detail == f"rank {each.found[RERANK].rank}" for each in served)
    fused = [each.rank for each in told.trace.considered if each.rank is not None]
    assert fused == sorted(fused)
    without = ask(None, question, explain=True).trace
    assert without is not None
    assert without.reranker == ""


@QUESTIONS
def test_it_sees_the_scopes_that_were_asked_and_no_other(
    ask: Callable[..., Evidence], question: str
) -> None:
    reranker = By(len)
    ask(reranker, question)
    ask(reranker, question, limit=1, explain=True)
    seen = {text for _, texts in reranker.asked for text in texts}
    assert seen
    assert not any("Bob" in text or "stranger" in text for text in seen)
    both = By(len)
    ask(both, question, scopes=[BOB])
    seen = {text for _, texts in both.asked for text in texts}
    assert any("Bob" in text for text in seen)
    assert not any("stranger" in text for text in seen)


def test_what_says_the_same_is_seen_once(directory: Path, tmp_path: Path) -> None:
    reranker = By(len)
    with Memory.open(tmp_path, worker=False, reranker=reranker) as memory:
        guide = Scope(tenant="acme", agent="guide")
        for scope in (ANN, guide):
            memory.state(scope, "The boat in Porto leaks.")
            memory.state(scope, "The boat in Porto is green and old.")
        memory.flush()
        memory.recall(ANN, ENGLISH, scopes=[guide])
    ((_, seen),) = reranker.asked
    assert len(seen) == len(set(seen)) == 2


def test_it_is_not_asked_where_there_is_nothing_to_put_in_order(
    ask: Callable[..., Evidence],
) -> None:
    reranker = By(len)
    assert not ask(reranker, "Who plays the cello in Vienna?")
    assert not ask(reranker, "of the")
    assert not reranker.asked


def test_what_was_served_is_kept_with_its_score(tmp_path: Path) -> None:
    with Memory.open(tmp_path, worker=False, reranker=By(len)) as memory:
        memory.state(ANN, "The boat in Porto leaks.")
        memory.state(ANN, "The boat in Porto is green and old.")
        memory.flush()
        evidence = memory.recall(ANN, ENGLISH)
        memory.flush()
        _, rows = memory.sql("SELECT memory, found FROM context_items ORDER BY rank")
    assert [name for name, _ in rows] == [item.memory.id for item in evidence.items]
    for rank, (_, found) in enumerate(rows, 1):
        assert msgspec.json.decode(found)[RERANK]["rank"] == rank


@pytest.mark.parametrize("wrong", ["fastembed:some/model", 7, object(), By])
def test_what_is_no_reranker_is_refused(tmp_path: Path, wrong: Any) -> None:
    if wrong is By:
        wrong = type("Nameless", (), {"scores": lambda *_: []})()
    with pytest.raises(RerankerUnavailable, match=r"expected a Reranker, got .*mend: "):
        Memory.open(tmp_path, reranker=wrong)
    Memory.open(tmp_path).close()  # nothing was left open

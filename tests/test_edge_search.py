"""What an edge index has at hand is what its shard holds, whatever is written in between."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))

from index_steps import DAY, START, memory, steps

from memstream.processors.lexemes import lexemes
from memstream.projections import edge_search
from memstream.projections.edge_search import EdgeSearch
from memstream.projections.embedders import HashEmbedder
from memstream.projections.in_edge import EdgeIndex
from memstream.projections.projection import Generation
from memstream.projections.queries import LATEST, IndexQuery, Place
from memstream.schemas.errors import ProjectionDamaged
from memstream.schemas.instants import to_micros
from memstream.schemas.memories import Memory

EMBEDDER = HashEmbedder(16)
SCOPES = ("acme/user:ada", "acme/user:bo", "beta/user:ada")
WORDS = ("walnut", "saddle", "orchid", "compass")
MINUTE = timedelta(minutes=1)


@pytest.fixture
def index(tmp_path: Path) -> Iterator[EdgeIndex]:
    opened = EdgeIndex.open(tmp_path, Generation("p", EMBEDDER.identity, "s"), EMBEDDER)
    yield opened
    opened.close()


def query(scope: str = SCOPES[0], valid_at: int | None = None) -> IndexQuery:
    text = " ".join(WORDS)
    return IndexQuery(
        tenant=scope.partition("/")[0],
        scopes=(scope,),
        valid_at=valid_at,
        known_at=LATEST,
        lexemes=lexemes(text),
        vector=EMBEDDER.query(text).tolist(),
        limit=8,
    )


@st.composite
def versions(draw: st.DrawFn) -> list[Memory]:
    """Versions of a few memories, in the order in which they are made; no two make one version."""
    made: list[Memory] = []
    for number in range(draw(st.integers(1, 9))):
        name = draw(st.sampled_from(("m1", "m2", "m3")))
        days = draw(st.sampled_from((None, 2, 9)))
        made.append(
            memory(
                name,
                " ".join(draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3))),
                version=1 + sum(each.id == name for each in made),
                # A memory stays in its scope for life.
                scope=SCOPES[("m1", "m2", "m3").index(name)],
                status=draw(st.sampled_from(("active", "active", "superseded"))),
                kind=draw(st.sampled_from(("fact", "episode"))),
                observed_at=START + draw(st.integers(0, 5)) * MINUTE,
                valid_from=START + draw(st.sampled_from((0, 5))) * DAY,
                valid_to=None if days is None else START + days * DAY,
                created_at=START + number * DAY,
            )
        )
    return made


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20)
@given(data=st.data())
def test_what_is_at_hand_is_what_is_stored(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("index")
    index = EdgeIndex.open(path, Generation("p", EMBEDDER.identity, "s"), EMBEDDER)
    run = steps(*data.draw(versions()))
    kept = data.draw(st.sampled_from((1, 2, 4, edge_search.SKETCHES_KEPT)))
    asked_at = data.draw(st.sampled_from((None, START + DAY, START + 7 * DAY)))
    at = None if asked_at is None else to_micros(asked_at)
    erased = data.draw(st.sampled_from((None, *SCOPES[:2])))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(edge_search, "SKETCHES_KEPT", kept)
        for each in run:
            for scope in data.draw(st.lists(st.sampled_from(SCOPES), max_size=3)):
                index.search(query(scope, at))
            index.apply([each])
        if erased is not None:
            index.erase(erased)
        for scope in SCOPES:
            asked = query(scope, at)
            cold = EdgeSearch(path, index._shard)
            assert cold.search(asked) == index.search(asked) == index.search(asked)
            places = [Place(scope, to_micros(START + minute * MINUTE)) for minute in (0, 3, 6)]
            sides = {
                "before": 2,
                "after": 1,
                "within": to_micros(START + 4 * MINUTE) - to_micros(START),
            }
            assert index._reading._at_hand is not None
            assert cold._at_hand is None
            assert cold.around(asked, places, **sides) == index.around(asked, places, **sides)
        index.close()


def test_of_a_large_store_the_scopes_that_are_asked_again_are_at_hand(
    index: EdgeIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edge_search, "SKETCHES_KEPT", 5)
    made = [
        memory(f"{scope}{at}", "walnut", scope=scope, observed_at=START + at * MINUTE)
        for scope in SCOPES
        for at in range(3)
    ]
    index.apply(steps(*made[:4]))

    def at_hand() -> list[str]:
        held = index._reading._at_hand
        return [each for each in SCOPES if held is not None and held.holds((each,))]

    def asked(scope: str) -> int:
        return len(index.search(query(scope))["bm25"])

    assert (asked(SCOPES[0]), at_hand()) == (3, [])
    assert (asked(SCOPES[1]), at_hand()) == (1, list(SCOPES))
    index.apply(steps(*made[4:], first=5))
    assert (asked(SCOPES[2]), at_hand()) == (3, [])
    assert (asked(SCOPES[0]), at_hand()) == (3, [SCOPES[0]])
    monkeypatch.setattr(edge_search, "_PAYS_FOR", 1)
    for _ in range(2):
        assert (asked(SCOPES[1]), at_hand()) == (3, [SCOPES[0]])
    assert (asked(SCOPES[1]), at_hand()) == (3, [SCOPES[1]])
    monkeypatch.setattr(edge_search, "SKETCHES_KEPT", 2)
    for _ in range(5):
        assert (asked(SCOPES[0]), at_hand()) == (3, [SCOPES[1]])


def test_a_scope_that_outgrows_what_is_kept_is_not_read_again_and_again(
    index: EdgeIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edge_search, "SKETCHES_KEPT", 5)
    index.apply(steps(*(memory(f"b{at}", "walnut", scope=SCOPES[1]) for at in range(6))))
    for _ in range(3):
        index.search(query())  # counted while there is nothing
    read_all = EdgeSearch._read_all
    read: list[int] = []

    def counted(*given: object) -> object:
        found = read_all(*given)  # type: ignore[arg-type]
        read.append(len(found))
        return found

    monkeypatch.setattr(EdgeSearch, "_read_all", counted)
    for at in range(9):
        grown = memory(f"a{at}", "walnut")
        again = memory(grown.id, "saddle", version=2, created_at=START + DAY)
        index.apply(steps(grown, again, first=7 + 2 * at))
        assert index._reading._at_hand is not None
        assert len(index._reading._at_hand.sketches) <= 5
        assert len(index.search(query())["bm25"]) == min(at + 1, 8)
    assert sum(read) <= 5, read


def test_after_a_failed_write_nothing_is_at_hand(
    index: EdgeIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (
        memory("m1", "walnut"),
        memory("m1", "saddle", version=2, created_at=START + DAY),
    )
    index.apply(steps(first))
    for _ in range(2):
        index.search(query())

    def fails(doing: str, operation: object) -> None:
        raise ProjectionDamaged("no space")

    with monkeypatch.context() as broken:
        broken.setattr(index, "_update", fails)
        with pytest.raises(ProjectionDamaged):
            index.apply(steps(second, first=2))
    (hit,) = index.search(query())["bm25"]
    assert index.read(query(), [hit.sketch.point])[hit.sketch.point] == first


def test_the_idf_of_a_tenant_alone_is_that_of_a_tenant_among_others(index: EdgeIndex) -> None:
    of_acme = [memory(f"m{at}", WORDS[at % 3]) for at in range(7)]
    of_beta = [memory(f"n{at}", WORDS[0], scope=SCOPES[2]) for at in range(9)]
    index.apply(steps(*of_acme))
    alone = {hit.sketch.point: hit.score for hit in index.search(query())["bm25"]}
    index.apply(steps(*of_beta, first=8))
    assert {hit.sketch.point: hit.score for hit in index.search(query())["bm25"]} == alone
    index.erase(SCOPES[2])
    assert {hit.sketch.point: hit.score for hit in index.search(query())["bm25"]} == alone


@pytest.mark.parametrize("over", [0, 3, 17, 30], ids=lambda each: f"{each} of 30 over")
def test_what_is_over_takes_no_place_of_what_holds(
    index: EdgeIndex, monkeypatch: pytest.MonkeyPatch, over: int
) -> None:
    """The engine is asked for more than is wanted, of the scope alone: where too much of that is
    over, or believed no more, it is asked again."""
    made = [
        memory(
            f"m{at:02}",
            " ".join(("walnut saddle " + "orchid " * (at % 5) + "compass " * (at % 7)).split()),
            observed_at=START + at * MINUTE,
            valid_from=START,
            valid_to=START + DAY if at < over else None,
        )
        for at in range(30)
    ]
    again = [
        memory(each.id, each.text, version=2, created_at=START + 3 * DAY) for each in made[20:26]
    ]
    index.apply(steps(*made, *again))
    asked = query(valid_at=to_micros(START + 2 * DAY))
    cold = EdgeSearch(index.path, index._shard).search(asked)
    index.search(asked)
    asked_again: list[int] = []
    more = EdgeSearch._more

    def counted(*given: object) -> object:
        asked_again.append(1)
        return more(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(EdgeSearch, "_more", counted)
    assert index.search(asked) == cold
    assert index._reading._at_hand is not None
    assert bool(asked_again) == (over > 12), asked_again

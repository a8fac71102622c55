"""Sketches: what is written into a point's vector is what scoring reads, whatever the memory is."""

from __future__ import annotations

import sys
from collections import Counter
from datetime import UTC, timedelta
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))

from index_steps import memory

from memstream.processors.lexemes import lexeme_index, lexemes
from memstream.projections.facets import happened
from memstream.projections.points import point_id, words_of
from memstream.projections.queries import LATEST, IndexQuery
from memstream.projections.ranking import best
from memstream.projections.sketches import SKETCH_SIZE, sketch_of, sketches, vectors_of
from memstream.recall.analysis import Analysis
from memstream.recall.candidates import Candidates
from memstream.recall.settings import Settings
from memstream.schemas.instants import FIRST, LAST, OPEN_MICROS, to_micros
from memstream.schemas.memories import Interval, Memory

SCOPES = ("acme/user:ada", "acme/agent:波", "acme/user:a/session:1")
INSTANTS = st.datetimes(
    FIRST.replace(tzinfo=None), LAST.replace(tzinfo=None), timezones=st.just(UTC)
)
WORDS = st.sampled_from(("walnut", "saddle", "咖啡", "杭州", "Mira", "2024-03", "of", "12"))
TEXTS = st.lists(WORDS, min_size=1, max_size=200).map(" ".join)


@st.composite
def memories(draw: st.DrawFn) -> Memory:
    """Memories of every time, kind, subject and length."""
    start, end = sorted((draw(INSTANTS), draw(INSTANTS)))
    ends = draw(st.sampled_from([(start, end), (start, None), (None, end), (None, None)]))
    return memory(
        "m1",
        draw(TEXTS),
        scope=draw(st.sampled_from(SCOPES)),
        kind=draw(st.sampled_from(("episode", "fact"))),
        subject=draw(st.sampled_from(("user", "Mira", "Mira Kell van der Berg", "小明"))),
        attribute=draw(st.sampled_from(("", "residence"))),
        context=draw(st.sampled_from(("", "sailing"))),
        observed_at=draw(INSTANTS),
        occurred=draw(st.sampled_from([None, Interval(*ends, "day")])),
    )


@given(memories())
def test_what_is_written_is_what_is_read(made: Memory) -> None:
    vectors = vectors_of(made)
    assert len(vectors.sketch) == SKETCH_SIZE
    stored = np.array(vectors.sketch, dtype=np.float32)
    assert stored.astype(float).tolist() == vectors.sketch, "as the store holds it"
    (sketch,) = sketches(SCOPES, ["p"], [stored.tolist()], [(vectors.indices, vectors.weights)])
    assert sketch.scope == made.scope
    assert sketch.at == to_micros(made.observed_at)
    start, end = happened(made)
    assert (sketch.start, sketch.end) == (start, min(end, OPEN_MICROS - 1))
    assert sketch.told == (made.kind == "episode")
    assert sketch.dated == (made.occurred is not None)
    assert sketch.named == tuple(map(lexeme_index, lexemes(made.subject)[:3]))
    assert sketch.attribute == lexeme_index(made.attribute)
    assert sketch.said == sketch_of(made, "q").said


@given(memories(), st.lists(WORDS, max_size=5))
def test_words_are_counted_as_often_as_they_stand_there(made: Memory, asked: list[str]) -> None:
    words = tuple(dict.fromkeys(lexemes(" ".join(asked))))
    candidates = Candidates(Analysis(words), Settings())
    candidates.add([sketch_of(made, point_id("m1", 1))])
    stand = Counter(words_of(made))
    assert candidates.counts.tolist() == [[stand[word] for word in words]]
    assert candidates.lengths.tolist() == [stand.total()]


def test_only_the_same_text_about_the_same_subject_says_the_same() -> None:
    one = memory("m1", "The kite is torn")
    later = memory("m2", "The kite is torn", observed_at=one.observed_at + timedelta(days=9))
    others = [memory("m3", "The kite is Torn"), memory("m4", "The kite is torn", subject="Mira")]
    said = [sketch_of(each, each.id).said for each in (one, later, *others)]
    assert said[0] == said[1]
    assert len({*said}) == 3


def test_of_those_that_tie_at_the_limit_all_come_or_none() -> None:
    asked = IndexQuery(
        tenant="acme",
        scopes=SCOPES[:1],
        valid_at=None,
        known_at=LATEST,
        lexemes=("kite",),
        limit=10,
        channels=("bm25",),
    )
    stored = [(9.0, "a"), (8.0, "b"), *((5.0, f"e{at:02}") for at in range(40))]
    calls: list[int] = []

    def found(tied_from: int, limit: int) -> list[tuple[float, str]]:
        calls.append(limit)
        shuffled = stored[:tied_from] + sorted(stored[tied_from:], key=lambda e: e[1][::-1])
        return shuffled[:limit]

    first = found(2, 20)
    assert best(asked, first, lambda limit: found(2, limit)) == stored[:10]
    assert calls == [20, 80], "more than half of the list tied, so all of them were asked for"
    stored[2:2] = [(7.0 - at / 100, f"c{at}") for at in range(6)]
    calls.clear()
    assert best(asked, found(8, 20), lambda limit: found(8, limit)) == stored[:8]
    assert calls == [20]
    enough = stored[:12]
    assert best(asked, enough, lambda limit: found(8, limit)) == stored[:10]

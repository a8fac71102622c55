"""What a hit's surroundings, its sitting and the words of the question do to its place."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from index_steps import START, memory

from memstream.processors.lexemes import lexemes, sparse_weights
from memstream.projections.points import point_id, words_of
from memstream.projections.queries import Channel, Hit, IndexQuery, Place, Surroundings
from memstream.projections.sketches import Sketch, sketch_of
from memstream.recall.abstention import answerable
from memstream.recall.analysis import Analysis, analysed
from memstream.recall.candidates import Candidates
from memstream.recall.coverage import Windows, covered, idf_of
from memstream.recall.engine import Request, recalled
from memstream.recall.scan import Scan
from memstream.recall.settings import Settings
from memstream.recall.thread import Thread, moment_of
from memstream.schemas.memories import Interval, Memory
from memstream.schemas.scope import Scope

ADA = Scope(tenant="acme", user="ada")
MINUTE = timedelta(minutes=1)
AS_OF = datetime(2024, 9, 1, tzinfo=UTC)


def told(number: int, text: str, minute: float | None = None, **changes: Any) -> Memory:
    """An episode, told in that minute."""
    at = START + (number if minute is None else minute) * MINUTE
    made = {"kind": "episode", "observed_at": at, "lemmas": tuple(lexemes(text))}
    return memory(f"m{number:02}", text, **(made | changes))


def chosen(question: str, *memories: Memory, settings: Settings | None = None) -> list[str]:
    """The ids that recall gives, best first, with the memories as its index."""
    request = Request(question, (ADA,), AS_OF)
    found = recalled(request, Scan(memories), None, settings or Settings())
    return [item.memory.id for item in found.items]


def found(words: Sequence[str], memories: Sequence[Memory]) -> tuple[Candidates, list[int]]:
    """The memories as candidates for a question of these words, and their rows."""
    candidates = Candidates(Analysis(tuple(words)), Settings())
    sketches = [sketched(each) for each in memories]
    candidates.add(sketches)
    return candidates, candidates.rows(sketches)


def sketched(memory: Memory) -> Sketch:
    """What scoring reads of a memory."""
    return sketch_of(memory, point_id(memory.id, memory.version))


CHAT = (
    told(1, "What did you buy at the flea market in Lyon?"),
    told(2, "A brass telescope, for next to nothing."),
    told(3, "The weather has been grey all week."),
    told(50, "The market opens on Sundays.", 500),
    told(51, "Lyon has a new tram.", 900),
)


def test_an_answer_is_found_by_the_turn_that_asked_for_it() -> None:
    assert chosen("What was bought at the flea market in Lyon?", *CHAT)[:2] == ["m01", "m02"]


def test_an_answer_of_another_sitting_gains_nothing_from_what_was_said_before_it() -> None:
    apart = (CHAT[0], told(2, "A brass telescope, for next to nothing.", 600), *CHAT[3:])
    assert "m02" not in chosen("What was bought at the flea market in Lyon?", *apart)


def test_facts_neither_have_surroundings_nor_are_they_any() -> None:
    mango = told(1, "Ada likes mango", kind="profile")
    tea = told(2, "Ada likes tea", kind="profile")
    rain = told(3, "It rained.")
    assert chosen("mango", mango, tea, rain) == ["m01"]


def test_nothing_is_expanded_where_the_settings_say_so() -> None:
    without = Settings(expanded=0)
    assert "m02" not in chosen("the flea market in Lyon", *CHAT, settings=without)


def test_equal_scores_are_ordered_by_point() -> None:
    twins = [told(9, "A red kite", 10), told(4, "A red  kite", 900)]
    expected = sorted(("m04", "m09"), key=lambda name: point_id(name, 1))
    assert chosen("kite", *twins) == chosen("kite", *reversed(twins)) == expected


def test_who_is_asked_about_comes_first() -> None:
    hers = told(1, "The kite is torn", 10, subject="Mira")
    his = told(0, "The kite is torn", 900, subject="Jonas")
    assert chosen("Is the kite of Mira torn?", his, hers)[0] == "m01"


def test_asked_when_a_dated_event_comes_first() -> None:
    day = Interval(START, START + timedelta(days=1), "day")
    dated = told(1, "The boat race was held", 10, occurred=day)
    plain = told(0, "The boat race was loud", 900)
    assert chosen("When was the boat race?", plain, dated)[0] == "m01"
    assert chosen("赛艇比赛是什么时候？ boat race", plain, dated)[0] == "m01"


def test_a_time_that_is_named_prefers_what_took_place_in_it() -> None:
    spring = told(0, "We sailed around the island", observed_at=datetime(2024, 4, 2, tzinfo=UTC))
    summer = told(1, "We sailed around the island.", observed_at=datetime(2024, 7, 9, tzinfo=UTC))
    for question in ("Where did we sail in July 2024?", "sailed last month but one, in July"):
        assert chosen(question, spring, summer)[0] == "m01"
    assert chosen("Where did we sail in April 2024?", spring, summer)[0] == "m00"


def test_what_only_asks_comes_after_what_tells() -> None:
    asks = told(0, "Is the ferry to Brac running?", 10)
    tells = told(1, "Running is the ferry to Brac.", 900)
    assert chosen("ferry to Brac", asks, tells) == ["m01", "m00"]


def test_relative_times_are_anchored_at_the_moment_asked_as_of() -> None:
    one, other = (analysed("last month", datetime(2024, m, 10, tzinfo=UTC)) for m in (3, 8))
    assert one.times != other.times
    assert analysed("where is it", AS_OF).times == ()


def test_idf_is_read_back_from_the_scores() -> None:
    words = ["kite", "torn", "red"]
    true = np.array([1.5, 3.25, 0.5])
    memories = [
        told(1, "a kite"),
        told(2, "a red kite, torn"),
        told(3, "torn, torn"),
        told(4, "red"),
    ]
    scores = []
    for each in memories:
        parts = dict(zip(*sparse_weights(words_of(each)), strict=True))
        score = sum(
            weight * parts.get(sparse_weights([word])[0][0], 0.0)
            for word, weight in zip(words, true, strict=True)
        )
        scores.append(score)
    assert np.allclose(idf_of(*found(words, memories), scores), true, atol=1e-5)
    assert idf_of(*found([*words, "absent"], memories), scores)[-1] == 0.5
    assert idf_of(*found(words, []), []).tolist() == [0, 0, 0]


def test_covering_another_word_counts_for_more_than_repeating_one() -> None:
    both = told(1, "torn kite")
    twice = told(2, "kite kite")
    candidates, _ = found(["kite", "torn"], [both, twice])
    alone = Windows(candidates.sketches, Thread((), (), apart=0), (), ())
    score = covered(candidates, np.array([1.0, 1.0]), alone)
    assert score[0] > score[1]


def test_moments_with_something_unknown_between_them_are_not_joined() -> None:
    row = [sketched(told(at, f"thing {at}")) for at in range(6)]
    places = [moment_of(row[at]) for at in (1, 5)]
    around = [Surroundings((row[0],), (row[2],)), Surroundings((row[4],), ())]
    thread = Thread(places, around, apart=round(MINUTE.total_seconds() * 1e6))
    assert thread.before[places[0]] == moment_of(row[0])
    assert thread.after[thread.after[moment_of(row[0])]] == moment_of(row[2])
    assert moment_of(row[2]) not in thread.after
    assert thread.before[places[1]] == moment_of(row[4])
    assert thread.joined(moment_of(row[0]), moment_of(row[2]))
    assert not thread.joined(moment_of(row[2]), moment_of(row[4]))
    closer = Thread(places, around, apart=1)
    assert places[0] not in closer.before


class Asked:
    """An index that notes the places it was asked about."""

    def __init__(self, memories: Sequence[Memory]) -> None:
        self.scan = Scan(memories)
        self.places: list[Place] = []

    def search(self, query: IndexQuery) -> Any:
        return self.scan.search(query)

    def around(
        self, query: IndexQuery, places: Sequence[Place], *, before: int, after: int, within: int
    ) -> list[Surroundings]:
        self.places += places
        return self.scan.around(query, places, before=before, after=after, within=within)

    def read(self, query: IndexQuery, points: Sequence[str]) -> dict[str, Memory]:
        return self.scan.read(query, points)


def test_no_more_is_looked_up_than_the_settings_allow() -> None:
    many = [told(at, f"kite number {at}", 100.0 * at) for at in range(30)]
    index = Asked(many)
    recalled(Request("kite", (ADA,), AS_OF), index, None, Settings(expanded=7))
    assert len(index.places) == 7


def test_a_question_about_somebody_unknown_finds_nothing() -> None:
    known = told(1, "The pottery class starts in June", subject="Mira")
    assert chosen("When does the class of Mira start?", told(1, "Mira has a class in June"))
    assert chosen("When does the pottery class of Jonas start in Lisbon?", known) == []
    assert chosen("when does the pottery class start", known) == ["m01"]


def test_a_fact_answers_whatever_else_is_named_beside_it() -> None:
    fact = told(1, "The user is allergic to this food: peanuts", kind="profile")
    assert chosen("I am going to Tokyo, what food am I allergic to?", fact) == ["m01"]


def test_a_long_question_is_answered_by_rare_words() -> None:
    asked = analysed(
        "On Tuesday, you know, we talked of a concert, it rained, Pia and Otto came late, it had "
        "no bus and no taxi, and we waited for an hour. What of the zither and the theremin?",
        AS_OF,
    )
    sketch = sketched(told(1, "The zither and the theremin"))
    hits: dict[Channel, list[Hit]] = {"bm25": [Hit(sketch, 1.0, 1)]}
    candidates = Candidates(asked, Settings())
    candidates.add([sketch])
    rare, common = (np.full(len(asked.words), idf) for idf in (7.0, 2.0))
    assert answerable(hits, candidates, [0], rare, Settings())
    assert not answerable(hits, candidates, [0], common, Settings())


def test_names_are_what_a_question_writes_so() -> None:
    assert analysed("When did Mira and Jonas Kell move? They told Otto.", AS_OF).names == (
        "mira", "jona", "kell", "otto",
    )  # fmt: skip
    assert analysed("Visiting friends. Where do they live?", AS_OF).names == ()
    assert analysed("Mira在哪里见到Jonas？", AS_OF).names == ("jona",)


def test_what_is_worth_little_beside_the_best_is_not_served() -> None:
    best = told(1, "The pottery class starts in June in Porto")
    little = told(
        2, "It rained on the old harbour wall in Porto, and we counted boats all day long", 9e4
    )
    question = "When does the pottery class start in June in Porto?"
    assert chosen(question, best, little) == ["m01"]
    assert chosen(question, best, little, settings=Settings(least_share=0.0)) == ["m01", "m02"]
    assert chosen("Did it rain in Porto?", little) == ["m02"], "alone it is the best"
    talk = f"We spoke of Porto.\n{question}"
    assert chosen(talk, best, little) == ["m01", "m02"], "a talk asks for more than one thing"

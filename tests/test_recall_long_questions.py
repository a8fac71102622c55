"""Questions of several lines, and questions whose answer is a list."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from growth import assert_linear
from index_steps import START, memory

from memstream.processors.lexemes import lexemes
from memstream.recall.analysis import analysed
from memstream.recall.engine import Request, recalled
from memstream.recall.scan import Scan
from memstream.recall.settings import Settings
from memstream.schemas.memories import Memory
from memstream.schemas.scope import Scope

ADA = Scope(tenant="acme", user="ada")
AS_OF = datetime(2024, 9, 1, tzinfo=UTC)


def told(number: int, text: str, minute: float) -> Memory:
    """An episode, told in that minute."""
    at = START + timedelta(minutes=minute)
    words = tuple(lexemes(text))
    return memory(f"m{number:02}", text, kind="episode", observed_at=at, lemmas=words)


def chosen(question: str, *memories: Memory, settings: Settings | None = None) -> list[str]:
    """The ids that recall gives, best first, with the memories as its index."""
    request = Request(question, (ADA,), AS_OF)
    found = recalled(request, Scan(memories), None, settings or Settings())
    return [item.memory.id for item in found.items]


def test_of_several_lines_the_last_one_weighs_most() -> None:
    piano, kites = told(1, "I play the piano.", 1), told(2, "I build kites.", 900)
    asked = "We were talking about the piano.\nThen of lunch.\nAnd now of kites."
    assert chosen(asked, piano, kites) == ["m02", "m01"]
    swapped = "We were talking about kites.\nThen of lunch.\nAnd now of the piano."
    assert chosen(swapped, piano, kites) == ["m01", "m02"]


def test_what_a_single_line_asks_is_not_faded() -> None:
    assert analysed("Which piano? And which kites?", AS_OF).lines_ago == ()


def test_names_and_times_are_those_of_the_last_line() -> None:
    asked = analysed("When did we see Boris in May 2023?\n\nDid I tell you of Clara?\n", AS_OF)
    assert asked.names == tuple(lexemes("Clara"))
    assert not asked.times
    assert not asked.asks_when
    assert asked.lines_ago[asked.words.index("clara")] == 0
    assert asked.lines_ago[asked.words.index("bori")] == 1
    turned = analysed("Did I tell you of Clara?\nWhen did we see Boris in May 2023?", AS_OF)
    assert turned.asks_when
    assert turned.times
    assert turned.names == tuple(lexemes("Boris"))


@pytest.mark.parametrize(
    ("question", "many"),
    [
        ("What instruments does she play?", True),
        ("Which Italian dishes has he cooked?", True),
        ("How many times did they meet?", True),
        ("What do both of them collect?", True),
        ("她去过哪些城市？", True),
        ("他养了几只猫，分别叫什么？", True),
        ("What is her dog's name?", False),
        ("Where does he live?", False),
        ("What does she play?", False),
        ("他住在哪里？", False),
    ],
)
def test_a_list_is_asked_for(question: str, many: bool) -> None:
    assert analysed(question, AS_OF).asks_many is many


SITTINGS = (
    told(1, "The telescopes I repaired are in the attic, telescopes of brass.", 1),
    told(2, "I repaired telescopes all day.", 2),
    told(3, "Old telescopes, freshly repaired.", 3),
    told(4, "Yesterday's plan was to see a man about his telescopes.", 5000),
)


def test_a_list_is_gathered_from_several_sittings() -> None:
    question = "Which telescopes were repaired?"
    alone = Settings(list_repeat_weight=0.0)
    assert chosen(question, *SITTINGS, settings=alone)[-1] == "m04"
    spread = Settings(list_repeat_weight=2.0)
    assert chosen(question, *SITTINGS, settings=spread)[1] == "m04"


def test_other_questions_are_not_spread() -> None:
    question = "Where is the repaired telescope?"
    plain = chosen(question, *SITTINGS, settings=Settings(list_repeat_weight=0.0))
    assert chosen(question, *SITTINGS, settings=Settings(list_repeat_weight=2.0)) == plain


def test_a_talk_is_answered_by_a_few_of_its_words() -> None:
    note = told(1, "I learned to swim in the lake.", 1)
    talk = "\n".join(
        (
            "The hotel has a pool, a sauna, two restaurants and a terrace with olive trees.",
            "Breakfast is served until eleven, with bread, honey, fruit, eggs and mountain cheese.",
            "Maybe I should swim at the lake instead, before the others wake up and want coffee.",
        )
    )
    assert len(analysed(talk, AS_OF).words) > 20
    assert chosen(talk, note) == ["m01"]
    assert not chosen(talk, note, settings=Settings(words_needed_of=200.0))


@pytest.mark.parametrize(
    "said",
    [
        *("What are you? ", "Rome ", "Rome, on May 3, ", "where do I live in Rome ", "since 2019 "),
        *(
            "where is she ",
            "who is she ",
            "which of the ",
            "什么时候",
            "哪里人",
            "what does Anna's ",
        ),
    ],
)
def test_a_question_is_read_in_a_time_that_grows_with_its_length(said: str) -> None:
    assert_linear(lambda times: analysed(said * times, AS_OF), 800)

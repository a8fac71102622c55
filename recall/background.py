"""The background: how near, by meaning, a text comes to a question that it has nothing to do with.

A cosine means something only beside others of the same model: with one of them unrelated Chinese
sentences are 0.86 apart on average, English ones 0.77. So closeness is told against plain sentences
about anything, embedded once: how far a text is above the nearest of them, as a share of the room
that there is above what they are to each other. What is no nearer than they are is not about the
question. In speaker verification this is cohort normalisation (Auckenthaler, Carey and
Lloyd-Thomas, "Score Normalization for Text-Independent Speaker Verification Systems", 2000).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from memstream.projections.queries import Hit

LATIN = (
    "The meeting was moved to three in the afternoon.",
    "He returned the book to the library.",
    "The forecast says it will rain tonight.",
    "The train was twenty minutes late.",
    "The children are playing in the park.",
    "The computer suddenly shut down.",
    "The doctor advised drinking more water.",
    "They go fishing at the weekend.",
    "Apples are on sale at the store.",
    "The match ended in a draw.",
    "The contract is not signed yet.",
    "The road is being repaired.",
    "I forgot to bring my keys.",
    "Please always answer me briefly.",
    "I signed up for the evening course.",
    "My phone is out of battery.",
    "I was late for the meeting again.",
    "We are planning something nice for Sunday.",
    "I think that is a good idea.",
    "Yesterday I stayed at home all day.",
    "I will send you the file tomorrow.",
    "My neighbour asked me for help.",
    "I have not finished it yet.",
    "Could you help me with this text?",
)
HAN = (
    "会议改到下午三点。",
    "他把书还给了图书馆。",
    "天气预报说今晚有雨。",
    "火车晚点了二十分钟。",
    "孩子们在公园里玩耍。",
    "电脑突然关机了。",
    "医生建议多喝水。",
    "他们周末去钓鱼。",
    "超市里的苹果打折。",
    "比赛最后打成平局。",
    "合同还没有签字。",
    "小区正在修路。",
    "我忘了带钥匙。",
    "请你以后回答我简短一点。",
    "我报名了晚上的课程。",
    "我的手机没电了。",
    "我开会又迟到了。",
    "我们打算周日好好玩一玩。",
    "我觉得这个主意不错。",
    "昨天我在家待了一天。",
    "我明天把文件发给你。",
    "邻居请我帮个忙。",
    "我还没有做完。",
    "你能帮我看看这段文字吗？",
)


class Passages(Protocol):
    """The part of an embedder that makes a background."""

    def passages(self, texts: Sequence[str]) -> NDArray[np.float32]: ...


class Level(msgspec.Struct, frozen=True):
    """What closeness is told from: the cosine of the nearest unrelated text, and the room above."""

    nearest: float
    room: float

    def cosine(self, above: float) -> float:
        """The cosine that is so far above: 0 is that of the nearest unrelated text."""
        return self.nearest + above * self.room


class Levels(msgspec.Struct, frozen=True):
    """Those of one question: for memories in Chinese script and for all others."""

    latin: Level
    han: Level

    def near(self, hits: Iterable[Hit], above: float) -> list[Hit]:
        """Those of the dense channel's hits that are so far above the unrelated."""
        latin, han = self.latin.cosine(above), self.han.cosine(above)
        return [hit for hit in hits if hit.score >= (han if hit.sketch.han else latin)]


class Background:
    """The unrelated texts as an embedder sees them."""

    def __init__(self, embedder: Passages) -> None:
        """Raises what embedding raises."""
        vectors = embedder.passages([*LATIN, *HAN])
        self._latin, self._han = vectors[: len(LATIN)], vectors[len(LATIN) :]
        self._rooms = _room(self._latin), _room(self._han)

    def levels(self, question: NDArray[np.float32]) -> Levels:
        """The levels for a question's vector."""
        latin, han = (
            Level(float((each @ question).max()), room)
            for each, room in zip((self._latin, self._han), self._rooms, strict=True)
        )
        return Levels(latin, han)


def _room(vectors: NDArray[np.float32]) -> float:
    """1 less the mean cosine of two different ones of them."""
    count = len(vectors)
    total = float((vectors @ vectors.T).sum()) - count
    return max(1.0 - total / (count * (count - 1)), 1e-3)

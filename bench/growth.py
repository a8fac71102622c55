"""Whether the cost of an event stays the same as a directory grows: 10,000 against 100,000 events.

Made-up but plausible turns (see ``turns``) of ``SCOPES`` scopes, so that at 100,000 events a scope
holds 1,000 turns. Each size runs in a process of its own, so that peak memory can be told apart:
events are appended 1,000 at a time and flushed (embedder none), then the whole is rebuilt from the
log. One run a size, for these take minutes; the cost of ingest is the median of the last ten
thousand events, batch by batch, that of a rebuild its whole time.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from bench.measures import Row, row
from memstream.schemas.events import Event, Role, Source, TurnRecorded
from memstream.schemas.ids import derived_id
from memstream.schemas.scope import Scope
from memstream.service.memory import Memory

SMALL, LARGE = 10_000, 100_000
SCOPES = 100
BATCH = 1_000
START = datetime(2024, 1, 1, 8, tzinfo=UTC)
_MIB = 2**20


class Measured(msgspec.Struct, frozen=True):
    """What a child process found. Seconds per event; bytes."""

    ingest: float
    rebuild: float
    peak_ingest: int
    peak: int
    versions: int


def rows() -> Iterator[Row]:
    """Cost per event of ingest and rebuild, and peak memory, at both sizes."""
    small, large = _measured(SMALL), _measured(LARGE)
    for name in ("ingest", "rebuild"):
        yield row(
            f"{name} at {LARGE:,} events, over at {SMALL:,}",
            getattr(large, name) * 1e6,
            "µs/event",
            floor=getattr(small, name) * 1e6,
            at_most=1.3,
        )
    for name, when in (("peak_ingest", "of ingest"), ("peak", "with the rebuild")):
        yield row(
            f"peak memory {when}, same sizes",
            getattr(large, name) / _MIB,
            "MiB",
            floor=getattr(small, name) / _MIB,
        )


def turns(count: int, scopes: int, *, seed: int = 7) -> Iterator[Event]:
    """Turns as people and assistants exchange them, the scopes by turns, a minute apart.

    Of a hundred, 20 are an assistant's, 8 say nothing but thanks or a greeting, 10 ask, 12 state a
    fact (home, work, tastes, allergies), the rest tell what happened; a tenth is Chinese. Facts
    come from small vocabularies, so they are said again, changed and ended as the scopes grow.
    """
    chance = random.Random(seed)
    for number in range(count):
        kind = chance.random()
        role: Role = "assistant" if kind < 0.20 else "user"
        chinese = chance.random() < 0.10
        if kind < 0.20:
            text = chance.choice(_REPLIES) + _told(chance, chinese).replace("I ", "we ", 1)
        elif kind < 0.28:
            text = chance.choice(_SMALL_TALK)
        elif kind < 0.38:
            text = chance.choice(_QUESTIONS).format(
                place=chance.choice(_PLACES), person=chance.choice(_PEOPLE)
            )
        elif kind < 0.50:
            text = _fact(chance, chinese)
        else:
            text = _told(chance, chinese)
        yield Event(
            id=derived_id("bench", str(seed), str(number)),
            type="turn.recorded",
            subject=Scope(tenant="bench", user=f"u{number % scopes}").path,
            time=START + timedelta(minutes=number),
            source=_source(role),
            data=TurnRecorded(text=text, role=role, conversation=f"c{number // scopes // 20}"),
        )


def _source(role: Role) -> Source:
    return Source("model_derived", 1) if role == "assistant" else Source("user_said", 3)


def _told(chance: random.Random, chinese: bool) -> str:
    if chinese:
        return (
            f"{chance.choice(_WHEN_ZH)}我在{chance.choice(_PLACES_ZH)}和{chance.choice(_PEOPLE_ZH)}"
            f"{chance.choice(_DEEDS_ZH)}，{chance.choice(_AFTER_ZH)}。"
        )
    return (
        f"{chance.choice(_WHEN)} I {chance.choice(_DEEDS)} in {chance.choice(_PLACES)} with "
        f"{chance.choice(_PEOPLE)}, and {chance.choice(_AFTER)} {chance.randrange(2, 90)} "
        f"{chance.choice(_UNITS)}."
    )


def _fact(chance: random.Random, chinese: bool) -> str:
    if chinese:
        return chance.choice(_FACTS_ZH).format(
            place=chance.choice(_PLACES_ZH), thing=chance.choice(_THINGS_ZH)
        )
    return chance.choice(_FACTS).format(
        place=chance.choice(_PLACES), thing=chance.choice(_THINGS), firm=chance.choice(_FIRMS)
    )


_PLACES = (
    "Lisbon Oslo Hamburg Porto Kyoto Cairo Lima Dublin Naples Tallinn Ghent Turin Bergen Leeds "
    "Malmo Quito Hanoi Perth Tunis Basel"
).split()
_PEOPLE = (
    "Amira Tomas Yuki Priya Olek Nadia Bruno Ingrid Mateo Salma Pavel Rosa Kofi Elena Jonas Leila "
    "Marek Zoe Henrik Dalia"
).split()
_FIRMS = "Halden Corvex Brightmoor Ostrava-Works Pinehall Ledgerly Norrtec Velamar".split()
_THINGS = (
    "black tea, long walks, chess, old maps, ginger cake, jazz records, cold swims, crosswords, "
    "olives, board games, pottery, trail running, oat porridge, film cameras, rye bread, birding"
).split(", ")
_WHEN = "Yesterday|Last week|On Monday|This morning|Two days ago|Last month|Last Saturday".split(
    "|"
)
_DEEDS = (
    "repaired the garden pump|gave a talk about soil|lost a blue umbrella|planted forty seedlings|"
    "sold the green bicycle|signed up for a ceramics course|watched the harbour race|"
    "measured the attic for shelves|returned the borrowed tent|baked bread for the neighbours|"
    "visited a small print museum|hiked up to the old quarry"
).split("|")
_AFTER = (
    "it took about|we spent nearly|the bill came to|we walked for|the queue was about|it cost us"
).split("|")
_UNITS = "minutes|euros|hours|kilometres".split("|")
_REPLIES = ("Noted. ", "That sounds good. ", "Here is the summary: ", "Understood, so ")
_SMALL_TALK = ("ok thanks", "Hi there!", "great, thank you", "好的，谢谢", "see you tomorrow", "hm")
_QUESTIONS = (
    "What should I pack for {place}?",
    "Do you remember when {person} arrives?",
    "How far is {place} from here?",
    "Can you draft a note to {person}?",
)
_FACTS = (
    "I live in {place}.",
    "I moved to {place} last month.",
    "I work at {firm}.",
    "I like {thing}.",
    "I like {thing}.",
    "I don't like {thing} any more.",
    "I'm allergic to walnuts.",
    "I started working at {firm} this spring.",
)
_PLACES_ZH = "苏州 成都 青岛 厦门 西安 大连".split()
_PEOPLE_ZH = "王芳 陈明 赵磊 林雪 周杰 何静".split()
_WHEN_ZH = "昨天 上周 上个月 今天早上 前天".split()
_DEEDS_ZH = "修好了院子里的水泵 参加了陶艺课 看了一场老电影 种了四十棵树苗 逛了一家小书店".split()
_AFTER_ZH = "花了三个小时 走了很远的路 大家都很开心 回家已经很晚了".split()
_THINGS_ZH = "爬山 乌龙茶 下棋 老地图 爵士乐".split()
_FACTS_ZH = ("我住在{place}。", "我喜欢{thing}。", "我上个月搬到{place}了。", "我不喜欢{thing}了。")


def _measured(count: int) -> Measured:
    command = [sys.executable, "-m", "bench.growth", "--events", str(count)]
    found = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    # The log lines of the library, if any, come before it.
    return msgspec.json.decode(found.stdout.splitlines()[-1], type=Measured)


def _measure(count: int) -> Measured:
    made = turns(count, SCOPES)
    costs: list[float] = []
    with tempfile.TemporaryDirectory() as name, Memory.open(Path(name), worker=False) as memory:
        memory.flush()
        for _ in range(count // BATCH):
            batch = [next(made) for _ in range(BATCH)]
            started = time.perf_counter()
            memory.append(batch)
            memory.flush()
            costs.append((time.perf_counter() - started) / BATCH)
        peak_ingest = _peak()
        report = memory.rebuild()
        if not report.verified:
            raise RuntimeError(f"the rebuild is not what was built first: {report.problems}")
    return Measured(
        ingest=statistics.median(costs[-SMALL // BATCH :]),
        rebuild=report.seconds / count,
        peak_ingest=peak_ingest,
        peak=_peak(),
        versions=report.versions,
    )


def _peak() -> int:
    """The most bytes this process ever held in memory."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=SMALL)
    given = parser.parse_args()
    print(json.dumps(msgspec.to_builtins(_measure(given.events))))


if __name__ == "__main__":
    main()

"""What a few turns, read and resolved, add up to: the two processors together, with no store."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import permutations

import msgspec
import pytest

from memstream.processors.extract import Extract, Reader
from memstream.processors.pipeline import State, Value
from memstream.processors.resolve import Resolve
from memstream.schemas.attributes import Attribute, Attributes, InvalidAttribute, builtin
from memstream.schemas.events import Event, MemoryChanged, Source, TurnRecorded
from memstream.schemas.memories import Memory

SCOPE = "acme/user:u1"
BEGUN = datetime(2025, 3, 12, 9, 30, tzinfo=UTC)  # a Wednesday
READER = Reader(builtin())


class DictState:
    """State in a dict, for one conversation."""

    def __init__(self) -> None:
        self._values: dict[str, bytes] = {}

    def get(self, key: str, kind: type[Value]) -> Value | None:
        found = self._values.get(key)
        return None if found is None else msgspec.json.decode(found, type=kind)

    def put(self, key: str, value: msgspec.Struct) -> None:
        self._values[key] = msgspec.json.encode(value)

    def delete(self, key: str) -> None:
        self._values.pop(key, None)


def turns(*texts: str) -> list[Event]:
    """The turns of a user, ten days apart."""
    return [
        Event(
            id=f"e{number}",
            type="turn.recorded",
            subject=SCOPE,
            time=BEGUN + timedelta(days=10 * number),
            source=Source("user_said", 3),
            data=TurnRecorded(role="user", text=text),
            recordedtime=BEGUN + timedelta(days=10 * number),
        )
        for number, text in enumerate(texts)
    ]


def memories(events: list[Event]) -> list[Memory]:
    """The last version of every memory that reading and resolving the events makes."""
    state: State = DictState()
    extract, resolve = Extract(READER), Resolve(builtin())
    found: dict[str, Memory] = {}
    for event in events:
        for candidate in extract(state, event):
            for made in resolve(state, candidate):
                if isinstance(made.data, MemoryChanged):
                    found[made.data.memory.id] = made.data.memory
    return list(found.values())


def standing(*texts: str) -> set[str]:
    """The facts that are active after the turns, as attribute=value."""
    return {
        f"{each.attribute}={each.value}"
        for each in memories(turns(*texts))
        if each.attribute and each.status == "active"
    }


@pytest.mark.parametrize(
    ("texts", "stands", "reason"),
    [
        (("I like papaya.", "I don't like papaya because it smells."), "dislikes=papaya", "smells"),
        (("I like papaya.", "I hate papaya."), "dislikes=papaya", ""),
        (("I don't like papaya.", "I like papaya."), "likes=papaya", ""),
        (("我喜欢香菜。", "我不喜欢香菜，因为味道太怪。"), "dislikes=香菜", "味道太怪"),
        (("我喜欢香菜。", "我讨厌香菜。"), "dislikes=香菜", ""),
        (("我讨厌香菜。", "我喜欢香菜。"), "likes=香菜", ""),
    ],
)
def test_a_taste_that_turned_supersedes_the_earlier_one(
    texts: tuple[str, str], stands: str, reason: str
) -> None:
    for order in permutations(turns(*texts)):
        found = [each for each in memories(list(order)) if each.attribute]
        (now,) = [each for each in found if each.status == "active"]
        (before,) = [each for each in found if each.status == "superseded"]
        assert f"{now.attribute}={now.value}" == stands
        assert reason in now.reason
        assert before.valid_to == now.valid_from
        assert now.attribute in before.update_reason


@pytest.mark.parametrize(
    "texts", [("I like papaya.", "I don't like mango."), ("我喜欢香菜。", "我不喜欢芒果。")]
)
def test_tastes_for_different_things_live_side_by_side(texts: tuple[str, str]) -> None:
    assert len(standing(*texts)) == 2


def test_a_taste_taken_back_leaves_the_other_alone() -> None:
    assert standing("I don't like papaya.", "I misspoke, I don't hate papaya.") == set()
    assert standing("I like papaya.", "I misspoke, I don't like papaya.") == {"dislikes=papaya"}


def test_opposites_must_name_each_other() -> None:
    one = Attribute(cardinality="many", opposite="leaves")
    with pytest.raises(InvalidAttribute, match="mend"):
        Attributes({"takes": one})
    with pytest.raises(InvalidAttribute, match="same cardinality"):
        Attributes({"takes": one, "leaves": Attribute(cardinality="one", opposite="takes")})
    both = Attributes({"takes": one, "leaves": Attribute(cardinality="many", opposite="takes")})
    assert both.place("takes") == both.place("leaves") == "leaves"

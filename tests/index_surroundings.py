"""What every search index gives as the surroundings of a place; part of its conformance suite."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from index_steps import START, memory, steps

from memstream.projections.points import point_id
from memstream.projections.queries import IndexQuery, Place, SearchIndex
from memstream.projections.sketches import Sketch
from memstream.schemas.errors import UnsupportedFilter
from memstream.schemas.instants import to_micros

MINUTE = timedelta(minutes=1)


def named(index: SearchIndex, query: IndexQuery, sketches: Sequence[Sketch]) -> list[str]:
    """The ids of the memories, in the order given."""
    memory_of = index.read(query, [each.point for each in sketches])
    return [memory_of[each.point].id for each in sketches]


class Surroundings:
    """The tests; the suite that inherits them gives ``index`` and ``query``."""

    def query(self, text: str, **changes: Any) -> IndexQuery:
        """A question to the index."""
        raise NotImplementedError

    def test_surroundings_are_what_was_said_beside_a_place(self, index: SearchIndex) -> None:
        told = [
            memory(f"m{at:02}", f"thing {at}", observed_at=START + at * MINUTE) for at in range(8)
        ]
        beside = memory("m20", "of another", scope="acme/user:bob", observed_at=START + MINUTE)
        twin = memory("m21", "also thing 3", observed_at=START + 3 * MINUTE)
        gone = memory("m22", "no more", status="retracted", observed_at=START + 4.5 * MINUTE)
        index.apply(steps(*told, beside, twin, gone))
        places = [Place("acme/user:ada", to_micros(START + at * MINUTE)) for at in (4, 0, 9)]
        query = self.query("anything", scopes=("acme/user:ada", "acme/user:bob"))
        near = to_micros(START + 30 * MINUTE) - to_micros(START)
        twins = sorted(("m03", "m21"), key=lambda name: point_id(name, 1))
        found = index.around(query, places, before=2, after=1, within=near)
        assert [named(index, query, one.before) for one in found] == [
            [*twins, "m02"], [], ["m07", "m06"],
        ]  # fmt: skip
        assert [named(index, query, one.after) for one in found] == [["m05"], ["m01"], []]
        only_after = index.around(query, places[:1], before=0, after=2, within=near)
        assert [named(index, query, one.before) for one in only_after] == [[]]
        assert [named(index, query, one.after) for one in only_after] == [["m05", "m06"]]
        assert index.around(query, [], before=2, after=2, within=near) == []
        for within, expected in ((90_000_000, twins), (59_000_000, [])):
            (closer,) = index.around(query, places[:1], before=2, after=1, within=within)
            assert named(index, query, closer.before) == expected

    def test_however_much_was_said_at_once_the_nearest_moments_are_found(
        self, index: SearchIndex
    ) -> None:
        crowd = [
            memory(f"c{at:03}", f"thing {at}", observed_at=START + at * MINUTE / 60)
            for at in range(300)
        ]
        index.apply(steps(*crowd))
        query = self.query("anything")
        places = [Place("acme/user:ada", to_micros(START + at * MINUTE / 60)) for at in (150, 2)]
        found = index.around(query, places, before=2, after=1, within=3_600_000_000)
        assert [named(index, query, one.before) for one in found] == [
            ["c149", "c148"], ["c001", "c000"],
        ]  # fmt: skip
        assert [named(index, query, one.after) for one in found] == [["c151"], ["c003"]]

    def test_surroundings_of_another_tenant_are_refused(self, index: SearchIndex) -> None:
        with pytest.raises(UnsupportedFilter):
            index.around(
                self.query("anything"), [Place("other/user:ada", 0)], before=1, after=1, within=1
            )
        with pytest.raises(UnsupportedFilter):
            index.around(
                self.query("anything"), [Place("acme/user:bob", 0)], before=1, after=1, within=1
            )

"""Generations on a Qdrant server: serving by alias, swapping and swapping back, removing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import qdrant_backend
from index_steps import memory, steps, tally
from qdrant_backend import BACKEND

from memstream.projections.embedders import NoEmbedder
from memstream.projections.generations import GenerationInUse
from memstream.projections.in_qdrant import QdrantIndex
from memstream.projections.projection import Generation
from memstream.projections.qdrant_generations import QdrantGenerations
from memstream.schemas.errors import NotFound

pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect:UserWarning")

STAMP = Generation("pipeline-1", "none", "schema-1")


@pytest.fixture(params=[BACKEND])
def generations(tmp_path: Path) -> Iterator[QdrantGenerations]:
    prefix = qdrant_backend.collection(tmp_path)
    client = qdrant_backend.client(tmp_path)
    made = QdrantGenerations(qdrant_backend.server(prefix), client)
    yield made
    for each in client.get_collections().collections:
        if each.name.startswith(prefix):
            client.delete_collection(each.name)
    client.close()


def built(generations: QdrantGenerations, text: str, stamp: Generation = STAMP) -> str:
    """A new generation with one memory."""
    name = generations.next_name()
    index = opened(generations, name, stamp)
    index.apply(steps(memory("m1", text)))
    return name


def opened(generations: QdrantGenerations, name: str, stamp: Generation = STAMP) -> QdrantIndex:
    server = generations.server
    client = generations._client
    return QdrantIndex.open(server, server.collection(name), stamp, NoEmbedder(), client=client)


def served_text(generations: QdrantGenerations) -> str:
    """What a reader finds who knows the alias only."""
    found, _ = generations._client.scroll(generations.server.prefix, limit=10)
    return str([each.payload["record"] for each in found if each.payload and each.id != 0])


def test_at_first_nothing_is_served(generations: QdrantGenerations) -> None:
    assert generations.current() is None
    assert generations.previous() is None
    assert generations.names() == []
    with pytest.raises(NotFound, match="no previous generation"):
        generations.swap_back()


def test_a_swap_and_back(generations: QdrantGenerations) -> None:
    first = built(generations, "a compass")
    generations.serve(first)
    assert "a compass" in served_text(generations)
    second = built(generations, "a sextant")
    assert "a compass" in served_text(generations)  # the live one serves until the swap
    generations.serve(second)
    assert (generations.current(), generations.previous()) == (second, first)
    assert "a sextant" in served_text(generations)
    assert generations.swap_back() == first
    assert (generations.current(), generations.previous()) == (first, second)
    assert "a compass" in served_text(generations)
    third = built(generations, "a lantern")
    generations.serve(third)
    generations.serve(third)
    assert (generations.current(), generations.previous()) == (third, first)


def test_generations_are_named_in_order_and_stamped(generations: QdrantGenerations) -> None:
    other = Generation("pipeline-2", "none", "schema-1")
    names = [built(generations, "a compass"), built(generations, "a compass", other)]
    assert names == ["g-000001", "g-000002"] == generations.names()
    assert [generations.stamp(each) for each in names] == [STAMP, other]


def test_an_unknown_generation_is_neither_stamped_nor_served(
    generations: QdrantGenerations,
) -> None:
    built(generations, "a compass")
    for use in (generations.stamp, generations.serve):
        with pytest.raises(NotFound, match="there: g-000001"):
            use("g-000007")
    assert generations.current() is None


def test_the_served_one_is_not_removed(generations: QdrantGenerations) -> None:
    names = [built(generations, f"text {each}") for each in range(4)]
    generations.serve(names[0])
    generations.serve(names[1])
    with pytest.raises(GenerationInUse, match="being served"):
        generations.remove(names[1])
    assert generations.remove_all_but({names[3]}) == [names[0], names[2]]
    assert generations.names() == [names[1], names[3]]
    assert generations.previous() is None


def test_another_prefix_is_another_world(generations: QdrantGenerations) -> None:
    longer = qdrant_backend.server(f"{generations.server.prefix}_b")
    beside = QdrantGenerations(longer, generations._client)
    built(beside, "theirs")
    beside.serve("g-000001")
    assert generations.names() == []
    assert generations.current() is None
    built(generations, "ours")
    assert generations.remove_all_but(set()) == ["g-000001"]
    assert opened(beside, "g-000001").tally() == tally(memory("m1", "theirs"))

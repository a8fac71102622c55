"""Abstention: whether anything that was found is about the question at all.

The index always has a nearest text. What it found is held against the words of the question: a
question that names somebody or something is not answered by texts that share its other words only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from memstream.projections.queries import Channel, Hit
from memstream.recall.background import Levels
from memstream.recall.candidates import Candidates, Values
from memstream.recall.settings import Settings


def near_enough(
    hits: Mapping[Channel, Sequence[Hit]], levels: Levels | None, settings: Settings
) -> bool:
    """Whether one of the hits answers by its meaning alone.

    It has to be further above the unrelated the more there is, for the nearest of many is near by
    chance: ``margin`` of one memory alone, ``sure_margin`` of ``candidates`` or more.
    """
    dense = hits.get("dense", ())
    if levels is None or not dense:
        return False
    crowd = min(len(dense) / settings.candidates, 1.0)
    enough = settings.margin + crowd * (settings.sure_margin - settings.margin)
    return bool(levels.near(dense, enough))


def answerable(
    hits: Mapping[Channel, Sequence[Hit]],
    candidates: Candidates,
    rows: Sequence[int],
    idf: Values,
    settings: Settings,
) -> bool:
    """Whether one of the hits holds enough of the question. ``rows`` are those of the lexical hits
    among the candidates.

    Enough is a share of its words, where a name counts for several; of a question without names
    less is asked. It is also enough to share words that are rare together, however long the
    question: a whole turn of a conversation asks with few of its words, so the share is taken of no
    more than ``words_needed_of`` words. A fact is about its
    subject and not about whom else the question names, so for facts a name is a word like others.
    """
    asked = candidates.asked
    if not rows or not asked.words:
        return bool(hits.get("dense")) and not asked.names
    held = candidates.counts[rows] > 0
    if (held @ idf).max() >= settings.sure_lexical:
        return True
    names = frozenset(asked.names)
    worth = np.array([settings.name_worth if each in names else 1.0 for each in asked.words])
    most = settings.words_needed_of
    of_told, of_facts = min(float(worth.sum()), most), min(float(len(worth)), most)
    share = np.where(candidates.told[rows], held @ worth / of_told, held.sum(axis=1) / of_facts)
    least = settings.named_coverage if names else settings.least_coverage
    return bool(share.max() >= least)

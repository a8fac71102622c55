"""A trace: what recall considered for one question, and what became of each.

Made afterwards from what every stage of the engine let through, so that explaining an answer cannot
change it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from memstream.recall.evidence import Considered, Found, Item, Outcome, Trace
from memstream.schemas.memories import Memory

__all__ = ["Considered", "Outcome", "Trace", "traced"]

Stage = Literal["ranked", "unique", "limited"]


def traced(
    channels: Sequence[str],
    hits: Sequence[tuple[Memory, Mapping[str, Found]]],
    stages: Mapping[Stage, Sequence[Item]],
    served: Sequence[Item],
    settings: msgspec.Struct,
    reranker: str = "",
) -> Trace:
    """The trace of an answer. ``channels`` are those that were asked, ``hits`` the memories that
    they found and how; ``stages`` what was left in order
    after fusion and floor ("ranked"), after collapsing ("unique") and after the limit
    ("limited"); ``served`` what was packed; ``reranker`` whose order that is, if it is one's."""
    memory_of = {memory.id: memory for memory, _ in hits}
    found = {memory.id: dict(each) for memory, each in hits}
    ranked = {item.memory.id: item for item in stages["ranked"]}
    memory_of |= {name: item.memory for name, item in ranked.items()}
    found |= {item.memory.id: item.found for item in stages["unique"]}
    unique = {item.memory.id for item in stages["unique"]}
    limited = {item.memory.id for item in stages["limited"]}
    rank_served = {item.memory.id: item.rank for item in served}
    kept_of = {_said(item.memory): item.memory.id for item in reversed(stages["unique"])}

    def outcome(name: str) -> tuple[Outcome, str]:
        if name in rank_served:
            return "served", f"rank {rank_served[name]}"
        if name not in ranked:
            return "below floor", "no channel vouches for it, or it is worth little beside the best"
        if name not in unique:
            kept = kept_of.get(_said(memory_of[name]), "")
            return "collapsed", f"says the same as {kept}" if kept else ""
        if name not in limited:
            return "beyond limit", ""
        return "over budget", "larger than what was left of the budget"

    order = sorted(
        memory_of, key=lambda name: (ranked[name].rank if name in ranked else len(ranked) + 1, name)
    )
    considered = tuple(
        Considered(
            memory=name,
            version=memory_of[name].version,
            text=memory_of[name].text,
            found=found.get(name, {}),
            score=ranked[name].score if name in ranked else None,
            rank=ranked[name].rank if name in ranked else None,
            outcome=became,
            detail=detail,
        )
        for name in order
        for became, detail in (outcome(name),)
    )
    silence = _silence(channels, considered, served)
    return Trace(considered, fusion_of(settings), silence, reranker)


def fusion_of(settings: msgspec.Struct) -> dict[str, float]:
    """The numbers by which the channels were fused: every weight, floor and margin."""
    return {
        name: float(value)
        for name in settings.__struct_fields__
        if name.endswith(("_weight", "floor", "margin"))
        and isinstance(value := getattr(settings, name), int | float)
    }


def _silence(
    channels: Sequence[str], considered: Sequence[Considered], served: Sequence[Item]
) -> str:
    """Why nothing was served, in words; empty where something was."""
    if served:
        return ""
    if not channels:
        return "nothing in the question can be searched for"
    if not considered:
        return "no channel found anything in scope"
    if all(each.outcome == "below floor" for each in considered):
        return "everything that was found is below the floor"
    if any(each.outcome == "over budget" for each in considered):
        return "nothing that was found fits the budget"
    return "nothing that was found may be served"


def _said(memory: Memory) -> tuple[str, str]:
    return (memory.text, memory.subject)

"""What a correction says is right, where it says so in a sentence: Braga, by "I live in Braga."."""

from __future__ import annotations

import msgspec

from memstream.processors.pipeline import Reads
from memstream.schemas.events import Event, MemoryCorrected, TurnRecorded


def value_of(reader: Reads, event: Event, data: MemoryCorrected) -> str:
    """The one value that the replacement, read as a turn, states of the corrected slot; else the
    replacement as it stands, which is a value."""
    said = data.replacement
    if not data.attribute or not (" " in said.strip() or len(said.encode()) > len(said) + 4):
        return said
    turn = TurnRecorded(role="user", text=said, actor=data.actor)
    found = reader.read(msgspec.structs.replace(event, type="turn.recorded", data=turn))
    values = {
        each.value
        for each in found
        if (each.attribute, each.subject) == (data.attribute, data.subject)
        and each.polarity == "positive"
        and each.qualifier == data.qualifier
    }
    return values.pop() if len(values) == 1 else said

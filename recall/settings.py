"""Settings: how recall chooses."""

from __future__ import annotations

import msgspec

from memstream.projections.queries import Channel


class Settings(msgspec.Struct, frozen=True):
    """How recall chooses. The defaults are those that do best in ``python -m bench evaluation``.

    ``candidates`` are asked of each channel, ``list_candidates`` where the
    answer is a list. ``floor`` is the least lexical score of an item that
    was found by its words, ``margin`` how far above the unrelated (see ``background``) one has to
    be that was found by meaning alone. What was said just before and after the best ``expanded``
    items is looked up; moments more than ``apart_seconds`` apart do
    not follow each other. ``lexical_weight`` and ``dense_weight`` are the channels' shares in the
    score; of each, ``sitting_weight`` goes to the sitting, the memories within
    ``sitting_seconds``. ``neighbour_weight`` is the neighbours' share in the closeness by meaning.
    ``related_weight`` is what a word counts for that may stand for the one asked for; where nothing
    answers, the question is asked again with such words as its own, unless this is 0.
    ``vague_weight`` is what meaning gets of the words' share where no candidate holds any of the
    words; less, the more of them (by IDF) one holds, and nothing from ``clear_coverage`` (more
    than 0) on. Of a question of several lines, each line's words weigh ``line_fading`` of the next
    one's. An item loses ``repeat_weight`` for every better one of its sitting, where the answer is
    a list ``list_repeat_weight``.
    The other weights are what an item gains: it is about whom the question names (``subject``), is
    of the slot it asks for (``slot``), tells when something took place where that is asked
    (``date``), falls into the time that is named (``time``); or loses, where it only asks
    (``question``). Nothing is served where no hit holds ``named_coverage`` of the words of a
    question with names, each name worth ``name_worth`` words, or ``least_coverage`` of one without,
    of ``words_needed_of`` words where there are more; unless the words it holds have an IDF of
    ``sure_lexical`` together, or it is ``sure_margin`` above the unrelated, less where there are
    fewer memories than ``candidates`` (see ``abstention``).
    Nor is what scores less than ``least_share`` of the best, unless a list or a talk asks.
    A reranker, where there is one, puts the best ``reranked`` in order.
    ``after_seconds`` is the longest that ``recall(after=...)`` waits before it answers from what
    there is.
    """

    candidates: int = 50
    list_candidates: int = 80
    limit: int = 10
    reranked: int = 20
    floor: float = 0.0
    margin: float = 0.12
    expanded: int = 10
    apart_seconds: float = 3600.0
    lexical_weight: float = 0.8
    dense_weight: float = 0.2
    vague_weight: float = 0.5
    clear_coverage: float = 0.4
    line_fading: float = 0.8
    repeat_weight: float = 0.0
    list_repeat_weight: float = 0.1
    sitting_weight: float = 0.25
    sitting_seconds: float = 3600.0
    neighbour_weight: float = 0.5
    related_weight: float = 0.3
    subject_weight: float = 0.2
    slot_weight: float = 0.5
    date_weight: float = 0.1
    time_weight: float = 0.25
    question_weight: float = 0.1
    named_coverage: float = 0.4
    least_coverage: float = 0.1
    name_worth: float = 3.0
    words_needed_of: float = 20.0
    sure_lexical: float = 12.0
    sure_margin: float = 0.4
    least_share: float = 0.18
    after_seconds: float = 10.0
    channels: tuple[Channel, ...] | None = None
    """Those that may serve; None for all that there are."""

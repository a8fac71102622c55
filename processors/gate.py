"""The gate: which events may become memories, and why. Pure.

Every raw event is decided once: stored, rejected, held for review, or quarantined. The decision
and every factor of its score are recorded in a ``write.decided`` event. It hangs on the event
itself and on what recall served before the event was observed, never on what else happened to
arrive first; a repetition is noted (``duplication``) but weighs nothing, since it adds support.

The score of a turn is a weighted mean of five factors between 0 and 1, each better when higher:

    score = sum(weight * goodness) / sum(weights)
    goodness = utility, confidence, lifetime, 1 - sensitivity, 1 - contradiction

* utility: 0.4 + 0.06 per word that says something, at most 1; 0.2 where nothing is said
* confidence: the source's trust, of the highest trust there is
* lifetime: how long such a fact lasts: 0.9 for what is so (I am, I live, always), 0.3 for what
  is so today, else 0.6
* sensitivity: 1 where a secret was cut out, 0.7 for health, money, faith and the like, else 0.1
* contradiction: the risk that it overturns something: 0.8 for corrections, 0.5 for changes,
  0.3 for negations, else 0.1

The words for each factor stand in ``rulebook_gate/factors.toml``; the weights are this project's
own.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import cache

import msgspec

from memstream.processors import versions
from memstream.processors.gate_policy import GatePolicy
from memstream.processors.gate_words import (
    is_bulk,
    is_failure,
    pasted_blocks,
    rated,
)
from memstream.processors.injections import Suspicion, suspicion
from memstream.processors.pipeline import State, key
from memstream.processors.talk import Reading, read_turn
from memstream.schemas.events import (
    RAW_TYPES,
    ContextServed,
    Event,
    MemoryStated,
    ReviewDecided,
    Text,
    ToolReturned,
    Trust,
    TurnRecorded,
    WriteDecided,
)
from memstream.schemas.ids import content_key, derived_id, served_key
from memstream.schemas.memories import Outcome

__all__ = ["Gate", "GateMark", "GatePolicy", "ServedMark"]


class GateMark(msgspec.Struct, frozen=True, gc=False):
    """State: this event was decided, and how."""

    outcome: Outcome


class ServedMark(msgspec.Struct, frozen=True, gc=False):
    """State: a text was served, first to a context observed at ``at``."""

    at: datetime


class _Whole(msgspec.Struct, frozen=True, gc=False):
    """State: which text has the id that its pieces name."""

    name: str


class _Seen(msgspec.Struct, frozen=True, gc=False):
    """State: a text was said before."""

    event: str


class _Decision(msgspec.Struct, frozen=True, gc=False):
    outcome: Outcome
    reason: str
    score: float = 0.0
    factors: dict[str, float] = {}


_RECORDED = _Decision("stored", "recorded", 1.0)
_ANOTHER = _Decision("rejected", "a piece of another text than is recorded under its id")
_REVIEWABLE = ("held", "quarantined")
_REVIEWERS = ("user_said", "admin_edit")
"""The sources whose reviews count: a tool, a model or a document approves nothing, not even what it
brought itself."""


class Verdict(msgspec.Struct, frozen=True, gc=False):
    """State: the review that counts for one event."""

    approved: bool
    reviewer: str
    at: datetime
    event: str


def _after(verdict: Verdict) -> _Decision:
    if verdict.approved:
        return _Decision("stored", f"approved in review by {verdict.reviewer}", 1.0)
    return _Decision("rejected", f"rejected in review by {verdict.reviewer}", 0.0)


class Gate:
    """The processor. Yields ``write.decided`` and, unless rejected, the event itself."""

    name = "gate"
    version = versions.GATE

    def __init__(self, policy: GatePolicy = GatePolicy()) -> None:  # noqa: B008 - immutable
        self.policy = policy

    def __call__(self, state: State, event: Event) -> Iterable[Event]:
        """Decides one event. A derived event passes; one decided before yields nothing."""
        if event.type not in RAW_TYPES:
            return [event]
        mark = key(event.subject, "event", event.id)
        if state.get(mark, GateMark) is not None:
            return []
        decision = _ANOTHER if _is_of_another(state, event) else self._decide(state, event)
        state.put(mark, GateMark(decision.outcome))
        decisions = [self._decided(event, 0, event.id, decision)]
        if isinstance(event.data, ReviewDecided) and decision.outcome == "stored":
            decisions += self._reviewed(state, event, event.data)
        elif decision.outcome in _REVIEWABLE:
            # The review may have come first: it waited for this.
            verdict = state.get(key(event.subject, "verdict", event.id), Verdict)
            if verdict is not None:
                decisions.append(self._decided(event, 1, event.id, _after(verdict)))
        return decisions if decision.outcome == "rejected" else [*decisions, event]

    def _reviewed(self, state: State, event: Event, review: ReviewDecided) -> list[Event]:
        """Keeps the review that counts, the latest by (observed_at, id), and what it decides."""
        place = key(event.subject, "verdict", review.event)
        verdict = Verdict(review.decision == "approve", review.reviewer, event.time, event.id)
        before = state.get(place, Verdict)
        if before is not None and (before.at, before.event) >= (verdict.at, verdict.event):
            return []
        state.put(place, verdict)
        mark = state.get(key(event.subject, "event", review.event), GateMark)
        if mark is None or mark.outcome not in _REVIEWABLE:
            return []
        return [self._decided(event, 1, review.event, _after(verdict))]

    def _decided(self, cause: Event, ordinal: int, about: str, decision: _Decision) -> Event:
        return Event(
            id=derived_id(cause.subject, cause.id, "gate", str(ordinal)),
            type="write.decided",
            subject=cause.subject,
            time=cause.time,
            source=cause.source,
            recordedtime=cause.recordedtime,
            data=WriteDecided(
                event=about,
                outcome=decision.outcome,
                reason=decision.reason,
                score=decision.score,
                factors=decision.factors,
                policy=self.policy.version,
            ),
        )

    def _decide(self, state: State, event: Event) -> _Decision:
        data = event.data
        if isinstance(data, TurnRecorded):
            return self._turn(state, event, data)
        if isinstance(data, ToolReturned):
            return self._tool_result(state, event, data)
        if isinstance(data, MemoryStated):
            return self._statement(event, data)
        if event.type == "tool.called":
            return _Decision("rejected", "a call asserts nothing")
        if isinstance(data, ReviewDecided) and event.source.kind not in _REVIEWERS:
            return _Decision("rejected", "a review that no person made")
        if isinstance(data, ContextServed):
            _mark_served(state, event, data)
        return _RECORDED

    # --- turns ------------------------------------------------------------------------------------

    def _turn(self, state: State, event: Event, data: TurnRecorded) -> _Decision:
        text = _outside(data.text, data.served_spans)
        assistant = data.role == "assistant"
        reading = read_turn(text, listener_claims=assistant)
        factors = self._factors(state, event, data, text, reading)
        score = self._score(factors)
        reason = self._nothing_said(data, reading)
        if not reason and assistant and self._is_echo(state, event, text):
            reason = "an echo of what recall served"
        if reason:
            return _Decision("rejected", reason, score, factors)
        judged = self._suspicion_of_turn(event, data, text)
        if judged is not None:
            factors["suspicion"] = judged.score
            return _Decision("quarantined", _why(judged), score, factors)
        if score < self.policy.admit_at:
            reason = f"score {score} is below {self.policy.admit_at}"
            return _Decision("rejected", reason, score, factors)
        return self._admitted(event, "says something", score, factors)

    def _nothing_said(self, data: TurnRecorded, reading: Reading) -> str:
        """Why the turn cannot hold a memory, or nothing."""
        if data.role == "system":
            return "a system prompt"
        if reading.empty:
            return "an echo of what recall served" if data.served_spans else "says nothing"
        if reading.statements:
            return ""
        if reading.claims:
            return "claims about the user, made by the assistant"
        if reading.questions:
            return "asks, asserts nothing"
        return "a greeting, thanks or filler"

    def _suspicion_of_turn(self, event: Event, data: TurnRecorded, text: str) -> Suspicion | None:
        """Why a turn's words are not its speaker's to obey, or nothing.

        What a person says is not judged, except what is plainly pasted from elsewhere.
        """
        policy = self.policy
        if event.source.kind in ("tool_result", "document"):
            judged = suspicion(text)
            return judged if judged.score >= policy.suspicious_at else None
        if data.role == "assistant" and event.source.kind != "admin_edit":
            judged = suspicion(text, mood=False)
            return judged if judged.score >= policy.suspicious_model_text_at else None
        for block in pasted_blocks(text):
            judged = suspicion(block, mood=False)
            if judged.score >= policy.suspicious_model_text_at:
                return judged
        return None

    def _factors(
        self, state: State, event: Event, data: Text, text: str, reading: Reading
    ) -> dict[str, float]:
        rating = rated(text, redacted=bool(data.redactions))
        said = reading.statements or reading.claims
        return {
            "utility": round(min(1.0, 0.4 + 0.06 * reading.words), 4) if said else 0.2,
            "confidence": _confidence(event.source.trust),
            "lifetime": rating.lifetime,
            "duplication": _seen_before(state, event, text),
            "sensitivity": rating.sensitivity,
            "contradiction": rating.contradiction,
        }

    def _score(self, factors: dict[str, float]) -> float:
        policy = self.policy
        weighted = (
            policy.weight_utility * factors["utility"]
            + policy.weight_confidence * factors["confidence"]
            + policy.weight_lifetime * factors["lifetime"]
            + policy.weight_sensitivity * (1.0 - factors["sensitivity"])
            + policy.weight_contradiction * (1.0 - factors["contradiction"])
        )
        weights = (
            policy.weight_utility
            + policy.weight_confidence
            + policy.weight_lifetime
            + policy.weight_sensitivity
            + policy.weight_contradiction
        )
        return round(weighted / weights, 4) if weights else 1.0

    # --- tools and statements ---------------------------------------------------------------------

    def _tool_result(self, state: State, event: Event, data: ToolReturned) -> _Decision:
        text = _outside(data.text, data.served_spans)
        reading = read_turn(text[: 2 * self.policy.longest_tool_prose])
        factors = self._factors(state, event, data, text, reading)
        score = self._score(factors)
        if event.source.kind != "admin_edit":
            judged = suspicion(text)
            factors["suspicion"] = judged.score
            if judged.score >= self.policy.suspicious_at:
                return _Decision("quarantined", _why(judged), score, factors)
        problem = ""
        if reading.empty:
            problem = "empty"
        elif data.ok is False or is_failure(text):
            problem = "a failure"
        elif (data.part is not None and data.part.count > 1) or is_bulk(
            text, longest=self.policy.longest_tool_prose
        ):
            problem = "bulk output"
        elif not reading.statements:
            problem = "asserts nothing"
        elif self._is_echo(state, event, text):
            return _Decision("rejected", "an echo of what recall served", score, factors)
        if problem:
            reason = f"kept in the log, not in memory: {problem}"
            return _Decision("rejected", reason, score, factors)
        return self._admitted(event, "short prose from a tool", score, factors)

    def _statement(self, event: Event, data: MemoryStated) -> _Decision:
        said = " ".join(part for part in (data.text, data.value, data.qualifier) if part.strip())
        if not any(letter.isalnum() for letter in said):
            return _Decision("rejected", "says nothing")
        rating = rated(said, redacted=bool(data.redactions))
        factors = {
            "utility": 1.0,
            "confidence": _confidence(event.source.trust),
            "lifetime": 0.9,
            "duplication": 0.0,
            "sensitivity": rating.sensitivity,
            "contradiction": rating.contradiction,
        }
        score = self._score(factors)
        if event.source.kind not in ("user_said", "admin_edit"):
            judged = suspicion(said)
            factors["suspicion"] = judged.score
            if judged.score >= self.policy.suspicious_at:
                return _Decision("quarantined", _why(judged), score, factors)
        return self._admitted(event, "stated explicitly", score, factors)

    def _admitted(
        self, event: Event, reason: str, score: float, factors: dict[str, float]
    ) -> _Decision:
        """Stored, or held where others share the scope and nobody has reviewed it."""
        if (
            self.policy.shared_scopes_wait
            and event.source.kind != "admin_edit"
            and _is_shared(event.subject)
        ):
            return _Decision("held", "shared scope waits for review", score, factors)
        return _Decision("stored", reason, score, factors)

    # --- echoes -----------------------------------------------------------------------------------

    def _is_echo(self, state: State, event: Event, text: str) -> bool:
        """Whether an assistant's or a tool's words are what recall had served before them.

        The whole text, or every line of it that says something; a person who repeats a fact is
        not an echo, so this is never asked of a user's turn.
        """
        if not _served_by(state, event, ""):
            return False
        if _served_by(state, event, served_key(text)):
            return True
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        if not 0 < len(lines) <= self.policy.served_lines_at_most:
            return False
        echoed = 0
        for line in lines:
            bare = line.lstrip("-*•>0123456789.) \t")
            if _served_by(state, event, served_key(bare)) or _served_by(
                state, event, served_key(line)
            ):
                echoed += 1
            elif not line.endswith((":", "：")) and read_turn(line).statements:
                return False
        return echoed > 0


def _is_of_another(state: State, event: Event) -> bool:
    """Whether it is a piece of a text that came second under its id. What came first has the id:
    an event that was not split, or all pieces of one text, in whichever order they come."""
    part = event.part
    if part is None or not part.whole:
        return False
    place = key(event.subject, "whole", part.of)
    there = state.get(place, _Whole)
    if there is not None:
        return there.name != part.whole
    if part.index and state.get(key(event.subject, "event", part.of), GateMark) is not None:
        return True
    state.put(place, _Whole(part.whole))
    return False


@cache
def _confidence(trust: int) -> float:
    return round(trust / Trust.REVIEWED, 4)


_SHARED = ("channel:", "task:")


def _is_shared(subject: str) -> bool:
    return subject.partition("/")[2].startswith(_SHARED)


def _why(judged: Suspicion) -> str:
    return "reads like an instruction: " + "; ".join(judged.reasons)


def _outside(text: str, spans: tuple[tuple[int, int], ...]) -> str:
    """The text without the ranges that recall had injected."""
    if not spans:
        return text
    pieces: list[str] = []
    position = 0
    for start, end in sorted(spans):
        if start > position:
            pieces.append(text[position:start])
        position = max(position, end)
    pieces.append(text[position:])
    return "\n".join(pieces)


def _mark_served(state: State, event: Event, data: ContextServed) -> None:
    """Notes what was served, and when it was first; later servings change nothing."""
    texts = ["", *(item.key for item in data.items if item.key)]
    if len(texts) == 1:
        return
    for text in texts:
        place = key(event.subject, "served", text)
        before = state.get(place, ServedMark)
        if before is None or event.time < before.at:
            state.put(place, ServedMark(event.time))


def _served_by(state: State, event: Event, text: str) -> bool:
    mark = state.get(key(event.subject, "served", text), ServedMark)
    return mark is not None and mark.at <= event.time


def _seen_before(state: State, event: Event, text: str) -> float:
    """1.0 where the same words stand in the scope already. Noted, weighs nothing."""
    place = key(event.subject, "said", derived_id(content_key(text)))
    if state.get(place, _Seen) is not None:
        return 1.0
    state.put(place, _Seen(event.id))
    return 0.0

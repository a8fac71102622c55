"""The interval algebra and its processor: what competes, what coexists, what is believed when."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import combinations, pairwise, permutations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from memstream.processors.pipeline import State, Value
from memstream.processors.resolve import Resolve
from memstream.processors.timeline import Review, Span, timeline
from memstream.schemas.events import (
    CandidateExtracted,
    Event,
    MemoryChanged,
    MemoryCorrected,
    ReviewDecided,
    Source,
)
from memstream.schemas.memories import Assertion, Interval, Memory

START = datetime(2020, 1, 1, tzinfo=UTC)
SCOPE = "acme/user:u1"


def day(number: int) -> datetime:
    return START + timedelta(days=number)


def claim(event: str, value: str, start: int, end: int | None = None, **more: object) -> Assertion:
    given_fields: dict[str, object] = {
        "event": event,
        "ordinal": 0,
        "scope": SCOPE,
        "kind": "profile",
        "attribute": "residence",
        "value": value,
        "valid_from": day(start),
        "valid_to": None if end is None else day(end),
        "observed_at": day(more.pop("observed", start)),  # type: ignore[arg-type]
        "trust": 3,
        "source_kind": "user_said",
        "text": value,
    }
    return Assertion(**(given_fields | more))  # type: ignore[arg-type]


@st.composite
def claims(draw: st.DrawFn) -> list[Assertion]:
    """A lane's worth of assertions of every kind."""
    made: list[Assertion] = []
    for number in range(draw(st.integers(1, 7))):
        start = draw(st.integers(0, 30))
        ended = draw(st.none() | st.none() | st.integers(start + 1, 40))
        kind = draw(st.sampled_from(["positive"] * 4 + ["negative", "withdraws", "restores"]))
        made.append(
            claim(
                f"e{number}",
                draw(st.sampled_from(["Oslo", "oslo", "Rome", "Bonn", ""])),
                start,
                draw(st.none() | st.integers(start + 1, 40)),
                observed=draw(st.integers(0, 40)),
                trust=draw(st.integers(0, 4)),
                polarity="positive" if kind == "positive" else "negative",
                occurred=None if ended is None else Interval(day(start), day(ended), "day"),
                qualifier=draw(st.sampled_from(["", "", "winter"])),
                withdraws=kind == "withdraws",
                restores=kind == "restores",
                standing=draw(st.sampled_from(["admitted"] * 4 + ["held", "quarantined"])),
            )
        )
        if kind == "negative" and draw(st.integers(0, 2)) == 0:
            made.append(
                msgspec.structs.replace(
                    made[-1], ordinal=1, value="Bonn", polarity="positive", occurred=None,
                    valid_to=None, previous=made[-1].value,
                )
            )  # fmt: skip
        if kind == "positive" and draw(st.integers(0, 3)) == 0:
            first = msgspec.structs.replace(made.pop(), beside=True)
            other = "Rome" if first.value.lower() == "oslo" else "Oslo"
            made += [first, msgspec.structs.replace(first, ordinal=1, value=other, text=other)]
    return made


def reviews_for(assertions: Iterable[Assertion]) -> st.SearchStrategy[dict[str, Review]]:
    verdict = st.builds(
        Review,
        approved=st.booleans(),
        observed_at=st.just(day(50)),
        event=st.just("r"),
        reviewer=st.just("lead"),
        trust=st.none() | st.integers(0, 4),
    )
    return st.dictionaries(st.sampled_from(sorted(each.event for each in assertions)), verdict)


# Examples


def test_a_later_value_closes_the_earlier_one_at_its_own_start() -> None:
    first, second = timeline([claim("e2", "Rome", 10), claim("e1", "Oslo", 0)])
    assert (first.opener.value, first.status, first.valid_to) == ("Oslo", "superseded", day(10))
    assert (second.opener.value, second.status, second.valid_to) == ("Rome", "active", None)


def test_disjoint_intervals_do_not_conflict() -> None:
    spans = timeline([claim("e1", "Oslo", 0, 5), claim("e2", "Rome", 9)])
    assert [span.status for span in spans] == ["active", "active"]
    assert spans[0].valid_to == day(5)


def test_an_equal_value_adds_support_however_it_is_spelled() -> None:
    (span,) = timeline([claim("e1", "Oslo", 0), claim("e2", " OSLO. ", 9)])
    assert [each.event for each in span.sources] == ["e1", "e2"]
    assert span.opener.value == "Oslo"


def test_a_less_trusted_source_is_contested_and_closes_nothing() -> None:
    strong, weak = timeline([claim("e1", "Oslo", 0), claim("e2", "Rome", 5, trust=1)])
    assert (strong.status, strong.valid_to) == ("active", None)
    assert weak.status == "contested"
    assert strong.against == (weak.opener,)
    assert weak.against == (strong.opener,)


def test_repeating_a_value_from_a_weak_source_does_not_make_it_weak() -> None:
    spans = timeline(
        [claim("e1", "Oslo", 0), claim("e2", "Oslo", 3, trust=1), claim("e3", "Rome", 5, trust=1)]
    )
    assert [(span.opener.value, span.status) for span in spans] == [
        ("Oslo", "active"),
        ("Rome", "contested"),
    ]
    assert spans[0].trust == 1


def test_a_negation_ends_and_a_withdrawal_undoes() -> None:
    ended = timeline([claim("e1", "Oslo", 0), claim("e2", "Oslo", 8, polarity="negative")])
    assert [(span.status, span.valid_to) for span in ended] == [("superseded", day(8))]
    undone = timeline(
        [claim("e1", "Oslo", 0), claim("e2", "Oslo", 8, polarity="negative", withdraws=True)]
    )
    assert [span.status for span in undone] == ["retracted"]


def test_a_withdrawal_reaches_only_what_was_said_before_it() -> None:
    spans = timeline(
        [
            claim("e1", "Oslo", 0),
            claim("e2", "Oslo", 8, polarity="negative", withdraws=True),
            claim("e3", "Oslo", 9),
        ]
    )
    assert [(span.status, span.opener.event) for span in spans] == [
        ("retracted", "e1"),
        ("active", "e3"),
    ]


def test_a_restoration_takes_the_withdrawal_back() -> None:
    spans = timeline(
        [
            claim("e1", "Oslo", 0),
            claim("e2", "Oslo", 8, polarity="negative", withdraws=True),
            claim("e3", "Oslo", 9, polarity="negative", restores=True),
        ]
    )
    assert [(span.status, span.opener.event) for span in spans] == [("active", "e1")]


def test_a_less_trusted_withdrawal_is_contested() -> None:
    spans = timeline(
        [
            claim("e1", "Oslo", 0),
            claim("e2", "Oslo", 8, polarity="negative", withdraws=True, trust=1),
        ]
    )
    assert [span.status for span in spans] == ["active", "contested"]


def test_what_is_held_counts_only_once_a_review_approves_it() -> None:
    held = [claim("e1", "Oslo", 0), claim("e2", "Rome", 5, standing="held")]
    assert [span.status for span in timeline(held)] == ["active", "pending_review"]
    approved = Review(True, day(9), "r1", "lead")
    assert [span.status for span in timeline(held, {"e2": approved})] == ["superseded", "active"]
    rejected = Review(False, day(9), "r1", "lead")
    assert [span.status for span in timeline(held, {"e2": rejected})] == ["active", "retracted"]


def _listed(event: str, start: int, *values: str) -> list[Assertion]:
    return [
        claim(event, value, start, ordinal=number, beside=True)
        for number, value in enumerate(values)
    ]


def _standing(made: Iterable[Assertion]) -> set[str]:
    return {span.opener.value for span in timeline(made) if span.status == "active"}


def test_the_values_of_one_list_hold_side_by_side() -> None:
    """A slot of one value holds what was last said of it, and one answer may have two parts:
    one list in one sentence. Values of two sentences still close each other."""
    both = _listed("e1", 1, "Oslo", "Rome")
    assert _standing(both) == {"Oslo", "Rome"}
    assert _standing([*both, claim("e2", "Oslo", 2, polarity="negative")]) == {"Rome"}
    assert _standing([*both, claim("e2", "", 2, polarity="negative")]) == set()
    assert _standing([*both, claim("e2", "Bonn", 2)]) == {"Bonn"}
    assert _standing([*both, claim("e2", "Rome", 2)]) == {"Oslo", "Rome"}
    assert _standing([claim("e0", "Rome", 0), *both]) == {"Oslo", "Rome"}
    assert _standing([claim("e0", "Bonn", 0), *both]) == {"Oslo", "Rome"}
    assert _standing([*both, *_listed("e2", 2, "Rome", "Bonn")]) == {"Rome", "Bonn"}
    said_apart = [claim("e1", "Oslo", 1), claim("e1", "Rome", 1, ordinal=1)]
    assert _standing(said_apart) == {"Rome"}


def test_what_is_left_and_joined_in_one_breath_replaces_that_one_only() -> None:
    """ "I quit Oslo and joined Rome" says nothing of Bonn."""
    left = claim("e2", "Oslo", 5, polarity="negative")
    joined = claim("e2", "Rome", 5, ordinal=1, previous="Oslo")
    assert _standing([*_listed("e1", 1, "Oslo", "Bonn"), left, joined]) == {"Bonn", "Rome"}
    assert _standing([claim("e1", "Bonn", 1), left, joined]) == {"Bonn", "Rome"}
    # without such a denial the new one replaces what there was
    assert _standing([claim("e1", "Bonn", 1), joined]) == {"Rome"}
    other = claim("e3", "Oslo", 5, polarity="negative")
    assert _standing([claim("e1", "Bonn", 1), other, joined]) == {"Rome"}


def test_values_that_a_qualifier_sets_apart_hold_side_by_side() -> None:
    winter = claim("e1", "Oslo", 1, qualifier="winter")
    summer = claim("e2", "Rome", 2, qualifier="summer")
    assert _standing([winter, summer, claim("e3", "Bonn", 3)]) == {"Oslo", "Rome", "Bonn"}
    assert _standing([winter, summer, claim("e3", "Bonn", 3, qualifier="summer")]) == {
        "Oslo", "Bonn",
    }  # fmt: skip
    gone = claim("e3", "Oslo", 3, polarity="negative")
    assert _standing([winter, summer, gone]) == {"Rome"}
    elsewhere = claim("e3", "Oslo", 3, polarity="negative", qualifier="summer")
    assert _standing([winter, summer, elsewhere]) == {"Oslo", "Rome"}


def test_values_that_stand_together_end_by_denials_alone() -> None:
    both = [claim("e1", "Oslo", 1), claim("e2", "Rome", 2)]

    def standing(*more: Assertion) -> set[str]:
        spans = timeline([*both, *more], together=True)
        return {span.opener.value for span in spans if span.status == "active"}

    assert standing() == {"Oslo", "Rome"}
    assert standing(_changed("e3", "Bonn", 1, 3, 4)) == {"Oslo", "Rome", "Bonn"}
    assert standing(claim("e3", "Oslo", 3, polarity="negative")) == {"Rome"}
    assert standing(claim("e3", "", 3, polarity="negative")) == set()


def _changed(
    event: str, value: str, start: int, end: int, observed: int, **more: object
) -> Assertion:
    when = Interval(day(start), day(end), "range")
    return claim(event, value, start, None, observed=observed, occurred=when, **more)


def test_what_was_told_last_counts_where_a_change_is_dated_just_before_what_it_ends() -> None:
    said = claim("e1", "Oslo", 10)
    for ends in ("", "Oslo"):
        quit_it = _changed("e2", ends, 0, 7, 12, polarity="negative")
        (span,) = timeline([said, quit_it])
        assert (span.status, span.valid_from, span.valid_to) == ("superseded", day(0), day(7))
    before, after = timeline([said, _changed("e2", "Rome", 0, 7, 12)])
    assert (before.status, before.valid_from, before.valid_to) == ("superseded", day(0), day(7))
    assert (after.opener.value, after.status, after.valid_from) == ("Rome", "active", day(7))
    # within one event the order of its text counts
    assert _standing([said, _changed("e1", "Rome", 0, 7, 10, ordinal=1)]) == {"Rome"}
    quit_at_once = _changed("e1", "", 0, 7, 10, ordinal=1, polarity="negative")
    assert _standing([said, quit_at_once]) == set()
    joined = claim("e1", "Oslo", 10, ordinal=2)
    assert _standing([joined, quit_at_once]) == {"Oslo"}
    # told before, long before, of something else, or by a less trusted source
    assert _standing([said, _changed("e2", "", 0, 7, 9, polarity="negative")]) == {"Oslo"}
    assert _standing([said, _changed("e2", "", 0, 2, 12, polarity="negative")]) == {"Oslo"}
    assert _standing([said, _changed("e2", "Bonn", 0, 7, 12, polarity="negative")]) == {"Oslo"}
    weak = _changed("e2", "", 0, 7, 12, polarity="negative", trust=1)
    assert _standing([said, weak]) == {"Oslo"}
    dated = claim("e1", "Oslo", 10, observed=11)
    assert _standing([dated, _changed("e2", "Rome", 0, 7, 12)]) == {"Oslo"}


# Properties


@given(
    claims().flatmap(lambda made: st.tuples(st.just(made), st.permutations(made))), st.booleans()
)
def test_the_order_of_arrival_does_not_matter(
    orders: tuple[list[Assertion], list[Assertion]], together: bool
) -> None:
    assert timeline(orders[0], together=together) == timeline(orders[1], together=together)


@given(claims().flatmap(lambda made: st.tuples(st.just(made), reviews_for(made))))
def test_every_timeline_is_sound(drawn: tuple[list[Assertion], dict[str, Review]]) -> None:
    made, reviews = drawn
    spans = timeline(made, reviews)
    sources = [(each.event, each.ordinal) for span in spans for each in span.sources]
    assert len(sources) == len(set(sources)), "an assertion supports one span at most"
    assert set(sources) <= {(each.event, each.ordinal) for each in made}
    standing = [span for span in spans if span.status in ("active", "superseded")]
    for earlier, later in combinations(standing, 2):
        apart = earlier.valid_to is not None and earlier.valid_to <= later.valid_from
        beside = _share_a_list(earlier, later) or _are_set_apart(earlier, later)
        beside = beside or any(each.previous for each in (*earlier.sources, *later.sources))
        assert apart or beside, "what stands never overlaps"
    for span in spans:
        assert span.valid_to is None or span.valid_from <= span.valid_to
        assert span.trust <= min(_trust_of(each, reviews) for each in span.sources)


def _share_a_list(one: Span, other: Span) -> bool:
    lists = [{each.event for each in span.sources if each.beside} for span in (one, other)]
    return bool(lists[0] & lists[1])


def _are_set_apart(one: Span, other: Span) -> bool:
    return one.opener.qualifier != other.opener.qualifier


def _trust_of(assertion: Assertion, reviews: dict[str, Review]) -> int:
    review = reviews.get(assertion.event)
    if assertion.standing == "admitted" or review is None or review.trust is None:
        return assertion.trust
    return review.trust if review.approved else assertion.trust


@given(claims())
def test_a_less_trusted_claim_changes_nothing_that_is_believed(made: list[Assertion]) -> None:
    strong = [msgspec.structs.replace(each, trust=3, standing="admitted") for each in made]
    weak = claim("zz", "Elsewhere", 35, trust=1)
    before = [_shape(span) for span in timeline(strong)]
    after = [_shape(span) for span in timeline([*strong, weak]) if span.opener.event != "zz"]
    assert before == after


def _shape(span: Span) -> tuple[object, ...]:
    return (span.sources, span.status, span.valid_from, span.valid_to, span.trust)


# The processor


class DictState:
    """A state in memory."""

    def __init__(self) -> None:
        self.values: dict[str, msgspec.Struct] = {}

    def get(self, key: str, kind: type[Value]) -> Value | None:
        value = self.values.get(key)
        assert value is None or isinstance(value, kind)
        return value

    def put(self, key: str, value: msgspec.Struct) -> None:
        self.values[key] = value

    def delete(self, key: str) -> None:
        self.values.pop(key, None)


def _event(name: str, data: object, recorded: int, observed: datetime) -> Event:
    return Event(
        id=name,
        type="candidate.extracted",
        subject=SCOPE,
        time=observed,
        source=Source("user_said", 3),
        data=data,  # type: ignore[arg-type]
        recordedtime=day(1000) + timedelta(seconds=recorded),
    )


def run(events: Iterable[tuple[str, object, datetime]]) -> dict[str, list[Memory]]:
    """Every version of every memory that the events lead to, in order."""
    state: State = DictState()
    resolve = Resolve()
    versions: dict[str, list[Memory]] = {}
    for number, (name, data, observed) in enumerate(events):
        for out in resolve(state, _event(name, data, number, observed)):
            if isinstance(out.data, MemoryChanged):
                memory = out.data.memory
                versions.setdefault(memory.id, []).append(memory)
    return versions


def current(versions: dict[str, list[Memory]]) -> set[tuple[object, ...]]:
    return {
        (m.id, m.value, m.status, m.valid_from, m.valid_to, m.supports, m.trust, m.conflicts)
        for m in (history[-1] for history in versions.values())
        if m.status != "merged"
    }


def _as_events(made: list[Assertion]) -> list[tuple[str, object, datetime]]:
    return [(each.event, CandidateExtracted(assertion=each), each.observed_at) for each in made]


@given(claims().flatmap(lambda made: st.tuples(st.just(made), st.permutations(made))))
def test_the_current_view_is_the_same_in_any_order(
    orders: tuple[list[Assertion], list[Assertion]],
) -> None:
    assert current(run(_as_events(orders[0]))) == current(run(_as_events(orders[1])))


def test_a_denial_that_was_withdrawn_for_a_while_leaves_no_memory_in_any_order() -> None:
    """The restoration takes the withdrawal back, whichever arrives first."""
    made = [
        claim("e0", "Oslo", 0),
        claim("e1", "Oslo", 1, polarity="negative"),
        claim("e2", "Oslo", 2, polarity="negative", withdraws=True),
        claim("e3", "Oslo", 3, polarity="negative", restores=True),
    ]
    views = [current(run(_as_events(list(order)))) for order in permutations(made)]
    assert all(view == views[0] for view in views)
    assert {status for _, _, status, *_ in views[0]} == {"superseded"}


@given(claims())
def test_versions_count_up_and_follow_each_other_in_transaction_time(
    made: list[Assertion],
) -> None:
    for history in run(_as_events(made)).values():
        assert [memory.version for memory in history] == list(range(1, len(history) + 1))
        assert all(a.created_at <= b.created_at for a, b in pairwise(history))


@given(claims())
def test_the_same_event_again_changes_nothing(made: list[Assertion]) -> None:
    events = _as_events(made)
    assert run(events) == run([*events, *events])


def test_a_review_waits_for_its_event() -> None:
    held = claim("e1", "Oslo", 0, standing="held")
    events = [
        ("e1", CandidateExtracted(assertion=held), day(0)),
        ("r1", ReviewDecided(event="e1", decision="approve", reviewer="lead"), day(3)),
        ("r2", ReviewDecided(event="e1", decision="reject", reviewer="lead"), day(2)),
    ]
    views = [current(run(order)) for order in permutations(events)]
    assert all(view == views[0] for view in views)
    ((_, value, status, *_),) = views[0]
    assert (value, status) == ("Oslo", "active")


def test_a_correction_withdraws_and_replaces_in_any_order() -> None:
    correction = MemoryCorrected(
        action="replace", attribute="residence", value="Oslo", replacement="Bergen"
    )
    events = [
        ("e1", CandidateExtracted(assertion=claim("e1", "Oslo", 0)), day(0)),
        ("e2", correction, day(4)),
    ]
    for order in permutations(events):
        shown = {(value, status) for _, value, status, *_ in current(run(order))}
        assert shown == {("Oslo", "retracted"), ("Bergen", "active")}

"""Importers: real conversation files become raw events, again and again the same ones."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memstream.schemas.codec import Codec, validated
from memstream.schemas.errors import ImportFault
from memstream.schemas.events import Event, ToolCalled, ToolReturned, TurnRecorded
from memstream.schemas.scope import Scope
from memstream.streams.importers import (
    FORMATS,
    Broken,
    Imported,
    Item,
    Note,
    detect,
    documents,
    read_file,
)
from memstream.streams.importers.file_times import read_time
from memstream.streams.importers.own_jsonl import event_from_short

FIXTURES = Path(__file__).with_name("fixtures") / "importers"
NAMES = sorted(path.name for path in FIXTURES.iterdir())
SCOPE = Scope(tenant="acme", user="zoe")
NOW = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)
FORMAT_OF = {"claude_code_web": "claude_code", "openai_runs": "openai_messages"}


def form_of(name: str) -> str:
    stem = Path(name).stem
    return FORMAT_OF.get(stem, stem)


def items_of(path: Path, **options: Any) -> list[Item]:
    return list(read_file(path, scope=SCOPE, now=NOW, **options))


def events_of(path: Path, **options: Any) -> list[Event]:
    return [item.event for item in items_of(path, **options) if isinstance(item, Imported)]


def notes_of(path: Path, **options: Any) -> str:
    return "\n".join(item.text for item in items_of(path, **options) if isinstance(item, Note))


def broken_in(path: Path, **options: Any) -> list[Broken]:
    return [item for item in items_of(path, **options) if isinstance(item, Broken)]


def told(event: Event) -> tuple[str, str, str]:
    """(who or what, source kind, the words or the call)."""
    data = event.data
    if isinstance(data, TurnRecorded):
        return data.actor or data.role, event.source.kind, data.text
    if isinstance(data, ToolCalled):
        return f"call {data.tool}", event.source.kind, json.dumps(data.arguments)
    if isinstance(data, ToolReturned):
        return f"result {data.tool} {data.ok}", event.source.kind, data.text
    return event.type, event.source.kind, getattr(data, "text", "")


def write(folder: Path, *values: Any, name: str = "talk") -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(value) + "\n" for value in values))
    return path


def turn(text: str, role: str = "user", **more: Any) -> dict[str, Any]:
    return {"role": role, "content": text, **more}


# Every format


@pytest.mark.parametrize("name", NAMES)
def test_a_format_is_recognised_by_content_whatever_the_name(name: str, tmp_path: Path) -> None:
    copy = tmp_path / "unnamed"
    copy.write_bytes((FIXTURES / name).read_bytes())
    assert detect(copy) == form_of(name)


def test_every_format_has_a_fixture() -> None:
    assert {form_of(name) for name in NAMES} == set(FORMATS)


@pytest.mark.parametrize("name", NAMES)
def test_every_event_is_valid_and_a_second_read_gives_the_same(name: str) -> None:
    items = items_of(FIXTURES / name)
    assert items == items_of(FIXTURES / name)
    assert not [item for item in items if isinstance(item, Broken)]
    events = [item.event for item in items if isinstance(item, Imported)]
    assert events
    assert len({event.id for event in events}) == len(events)
    for event in events:
        assert validated(event).recordedtime is None
        assert Codec().from_wire(Codec().to_wire(event)) == event
    if name != "own_jsonl.jsonl":
        form = form_of(name)
        assert {event.source.runtime for event in events} == {form}
        assert {event.subject for event in events} == {SCOPE.path}


@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith(".jsonl")])
def test_a_file_of_lines_that_grows_adds_only_what_is_new(name: str, tmp_path: Path) -> None:
    lines = (FIXTURES / name).read_text().splitlines(keepends=True)
    whole = {event.id: event for event in events_of(FIXTURES / name)}
    form = form_of(name)
    before: set[str] = set()
    for count in range(1, len(lines) + 1):
        part = tmp_path / f"part-{count}"
        part.write_text("".join(lines[:count]))
        ids = {event.id for event in events_of(part, format=form)}
        assert before <= ids <= set(whole)
        before = ids
    assert before == set(whole)


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("anthropic_blocks.json", ["messages"]),
        ("claude_code_web.json", ["loglines"]),
        ("claude_export.json", [0, "chat_messages"]),
        ("everos.json", ["conversation_list"]),
        ("locomo.json", [0, "conversation", "session_1"]),
        ("openai_runs.json", [0, "traj"]),
        ("openhands.json", []),
        ("swe_agent.traj", ["history"]),
    ],
)
def test_a_conversation_that_grows_keeps_the_ids_of_its_start(
    name: str, path: list[Any], tmp_path: Path
) -> None:
    value = json.loads((FIXTURES / name).read_text())
    messages = value
    for step in path:
        messages = messages[step]
    form = form_of(name)
    whole = {event.id for event in events_of(FIXTURES / name)}
    del messages[len(messages) // 2 :]
    shorter = write(tmp_path, value)
    ids = {event.id for event in events_of(shorter, format=form)}
    assert ids < whole


def test_the_order_in_which_versions_are_imported_does_not_matter(tmp_path: Path) -> None:
    short = write(tmp_path, turn("I own a kayak."), name="a")
    long = write(tmp_path, turn("I own a kayak."), turn("It is red."), name="b")

    def united(*paths: Path) -> dict[str, Event]:
        known: dict[str, Event] = {}
        for path in paths:
            for event in events_of(path):
                known.setdefault(event.id, event)
        return known

    assert united(short, long) == united(long, short)
    assert len(united(short, long)) == 2


def test_scopes_and_conversations_do_not_share_ids(tmp_path: Path) -> None:
    words = [turn("Good to see you.")]
    one = write(tmp_path, {"id": "x", "messages": words}, {"id": "y", "messages": words})
    ids = [event.id for event in events_of(one)]
    other = Scope(tenant="acme", user="yan")
    theirs = [i.event.id for i in read_file(one, scope=other, now=NOW) if isinstance(i, Imported)]
    assert len(set(ids + theirs)) == 4


def test_the_same_words_twice_are_two_events_but_a_repeated_snapshot_is_none(
    tmp_path: Path,
) -> None:
    path = write(tmp_path, [turn("ok"), turn("ok")], [turn("ok"), turn("ok"), turn("ok")])
    assert len(events_of(path)) == 3
    assert "2 messages stood in the file again" in notes_of(path)


# Times


def test_times_without_an_offset_are_utc_unless_told_otherwise(tmp_path: Path) -> None:
    path = write(tmp_path, turn("I rowed.", timestamp="2025-03-01 21:00:00"))
    china = timezone(timedelta(hours=8))
    (default,), (local,) = events_of(path), events_of(path, utc_offset=china)
    assert default.time == datetime(2025, 3, 1, 21, tzinfo=UTC)
    assert local.time.isoformat() == "2025-03-01T21:00:00+08:00"
    assert default.id == local.id
    assert "utc_offset" in notes_of(path)
    assert "utc_offset" not in notes_of(path, utc_offset=china)


def test_without_any_time_the_moment_of_import_stands_in_and_is_not_known(tmp_path: Path) -> None:
    path = write(tmp_path, turn("I rowed yesterday."), turn("Well done.", "assistant"))
    first, second = events_of(path)
    assert first.time == NOW < second.time
    assert [getattr(e.data, "observed_known", True) for e in (first, second)] == [False, False]
    assert "unresolved" in notes_of(path)
    given_time = datetime(2024, 2, 2, tzinfo=UTC)
    first, second = events_of(path, observed_at=given_time)
    assert first.time == given_time < second.time
    assert getattr(first.data, "observed_known", False) is True
    assert not notes_of(path, observed_at=given_time)


def test_a_message_without_time_takes_the_one_before_in_its_conversation(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        {"id": "a", "messages": [turn("one", created_at=1700000000), turn("two"), turn("three")]},
        {"id": "b", "messages": [turn("four"), turn("five", created_at="nonsense")]},
    )
    events = events_of(path)
    seconds = [event.time.replace(microsecond=0) for event in events]
    assert seconds == [datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)] * 3 + [NOW] * 2
    assert [event.time.microsecond for event in events] == [0, 1, 2, 0, 1]
    assert "'nonsense' is no time" in notes_of(path)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("1:56 pm on 8 May, 2023", "2023-05-08T13:56:00+00:00"),
        ("12:09 am on 13 September, 2023", "2023-09-13T00:09:00+00:00"),
        ("May 8th, 2023 at 7:05 PM", "2023-05-08T19:05:00+00:00"),
        ("2023/05/30 (Tue) 23:40", "2023-05-30T23:40:00+00:00"),
        ("2023-05-30", "2023-05-30T00:00:00+00:00"),
        ("2024-02-29T23:59:59.5+09:00", "2024-02-29T23:59:59.500000+09:00"),
        (1700000000, "2023-11-14T22:13:20+00:00"),
        (1700000000123, "2023-11-14T22:13:20.123000+00:00"),
        ("1700000000", "2023-11-14T22:13:20+00:00"),
    ],
)
def test_times_are_read_in_the_forms_that_files_hold(raw: Any, expected: str) -> None:
    read = read_time(raw, None)
    assert read is not None
    assert read[0].isoformat() == expected


@pytest.mark.parametrize(
    "raw", [None, True, "", "soon", 12, "31 February 2023", "13:99", float("nan"), "0001-01-01", []]
)
def test_what_is_no_time_is_never_guessed(raw: Any) -> None:
    assert read_time(raw, None) is None


@given(st.datetimes(datetime(1000, 1, 2), datetime(8999, 1, 1), timezones=st.just(UTC)))
def test_every_rfc_3339_time_is_read_exactly(instant: datetime) -> None:
    assert read_time(instant.isoformat(), None) == (instant, False)
    assert read_time(instant.replace(tzinfo=None).isoformat(), UTC) == (instant, True)


# Faulty files


def test_a_broken_line_is_named_and_the_rest_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "talk"
    good = json.dumps(turn("I fish.")).encode()
    path.write_bytes(b"\xef\xbb\xbf" + good + b"\n{broken\n\n" + b'{"role": "\xff"}\n' + good)
    assert [told(event)[2] for event in events_of(path)] == ["I fish.", "I fish."]
    first, second = broken_in(path)
    assert (first.where, second.where) == ("line 2", "line 4")
    assert "no JSON" in first.problem
    offset = path.read_bytes().index(b"\xff")
    assert f"byte {offset} of" in second.problem


def test_a_broken_first_line_does_not_hide_the_format(tmp_path: Path) -> None:
    path = write(tmp_path, turn("I fish."), turn("I swim."))
    path.write_text('{"role": "user", "content": "cut\n' + path.read_text())
    assert [told(event)[2] for event in events_of(path)] == ["I fish.", "I swim."]
    assert [each.where for each in broken_in(path)] == ["line 1"]


def test_messages_that_are_none_are_named(tmp_path: Path) -> None:
    path = write(
        tmp_path, [turn("hi there"), 5, {"content": "x"}, {"role": "king", "content": "x"},
                   {"role": "user"}, turn("still here")],
    )  # fmt: skip
    assert len(events_of(path)) == 2
    assert [each.where for each in broken_in(path)] == [f"item {n}" for n in (2, 3, 4, 5)]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "its content is null"),
        ([], "its content is empty"),
        (5, "its content is 5"),
        (1.5, "its content is 1.5"),
        (False, "its content is false"),
        ({}, "its content has no text"),
        ({"type": "text", "text": None}, "its content has no text"),
        (["Hello.", 5], "block 2 of its content is 5"),
        ([[]], r"block 1 of its content is \[\]"),
        ([{"type": "text", "text": 7}], "block 1 of its content has no text"),
    ],
)
def test_a_turn_that_can_hold_no_words_is_named_and_the_rest_goes_on(
    content: Any, why: str, tmp_path: Path
) -> None:
    stranger = {"role": "user", "content": content}
    path = write(tmp_path, turn("Hi."), stranger, turn("I live in Porto."))
    (broken,) = broken_in(path)
    assert broken.where == "line 2"
    assert re.search(why, broken.problem)
    assert [told(event)[2] for event in events_of(path)] == ["Hi.", "I live in Porto."]


@pytest.mark.parametrize("content", [None, [], "", [{"type": "thinking", "thinking": "Hm."}]])
def test_a_turn_that_acts_needs_no_words(content: Any, tmp_path: Path) -> None:
    call = {"id": "c1", "function": {"name": "look", "arguments": "{}"}}
    path = write(tmp_path, {"role": "assistant", "content": content, "tool_calls": [call]})
    assert not broken_in(path)
    assert [event.type for event in events_of(path)] == ["tool.called"]


@pytest.mark.parametrize(
    "time",
    ["292277026596-12-04T15:30:07Z", "-1", -5, -1e18, 1e30, 10**40, {"a": 1}, True, "1e400"],
)
def test_an_absurd_time_is_named_with_its_place_and_taken_for_none(
    time: Any, tmp_path: Path
) -> None:
    path = write(tmp_path, turn("I live in Porto.", timestamp=time), turn("Hi."))
    assert "line 1: " in notes_of(path)
    assert "is no time that can be read" in notes_of(path)
    assert [event.time.year for event in events_of(path)] == [NOW.year] * 2


def test_a_list_that_was_cut_short_gives_what_it_has(tmp_path: Path) -> None:
    path = tmp_path / "talk"
    whole = json.dumps([turn("one"), turn("two"), turn("three")], indent=1)
    path.write_text(whole[: whole.index("three")])
    assert [told(event)[2] for event in events_of(path)] == ["one", "two"]
    (broken,) = broken_in(path)
    assert broken.where == "item 3"


def test_bad_bytes_inside_a_list_cost_one_element(tmp_path: Path) -> None:
    path = tmp_path / "talk"
    elements = [json.dumps(turn(word)).encode() for word in ("one", "two", "three")]
    elements[1] = elements[1].replace(b"two", b"t\xc3\x28")
    path.write_bytes(b"[\n" + b",\n".join(elements) + b"\n]")
    assert [told(event)[2] for event in events_of(path)] == ["one", "three"]
    (broken,) = broken_in(path)
    assert f"byte {path.read_bytes().index(bytes([0xC3]))} of" in broken.problem


@pytest.mark.parametrize("content", [b"", b"\n \n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n"])
def test_an_empty_file_gives_only_a_note(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "talk"
    path.write_bytes(content)
    (item,) = items_of(path)
    assert isinstance(item, Note)
    assert "empty" in item.text


@pytest.mark.parametrize(
    "content", [b"just words\n", b"[]", b"{}", b"\xff\xfe{\0", b"\0\0\0{", b"42", b'{"a": 1}\n']
)
def test_an_unknown_format_names_what_was_tried(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "talk"
    path.write_bytes(content)
    with pytest.raises(ImportFault, match="mend") as caught:
        items_of(path)
    assert str(path) in str(caught.value)


def test_wrong_arguments_are_refused_at_once(tmp_path: Path) -> None:
    path = write(tmp_path, turn("I fish."))
    with pytest.raises(ImportFault, match="openai_messages"):
        read_file(path, scope=SCOPE, now=NOW, format="word")
    with pytest.raises(ImportFault, match="UTC offset"):
        read_file(path, scope=SCOPE, now=datetime(2026, 1, 1))
    with pytest.raises(ImportFault, match="cannot be read"):
        read_file(tmp_path / "absent", scope=SCOPE, now=NOW)


def test_a_folder_is_read_in_order_and_strangers_are_named(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    write(tmp_path, turn("second"), name="b")
    write(tmp_path, turn("first"), name="a")
    write(inner, turn("third"), name="c")
    write(tmp_path, turn("unseen"), name=".hidden")
    (tmp_path / "notes.txt").write_text("words")
    (tmp_path / "empty").write_text("")
    assert [told(event)[2] for event in events_of(tmp_path)] == ["first", "second", "third"]
    assert [each.where for each in broken_in(tmp_path)] == ["notes.txt"]
    places = [item.where for item in items_of(tmp_path) if isinstance(item, Imported)]
    assert places == ["a, line 1", "b, line 1", "inner/c, line 1"]
    assert "empty: is empty" in notes_of(tmp_path)


def test_lone_surrogates_pass_through_untouched(tmp_path: Path) -> None:
    path = write(tmp_path, turn("half \ud83d pair", name="Z\udc00"))
    (event,) = events_of(path)
    assert told(event)[1:] == ("user_said", "half \ud83d pair")
    assert event.data.actor.isprintable()


def test_arguments_the_log_cannot_hold_are_made_plain(tmp_path: Path) -> None:
    arguments = '{"big": 1' + "0" * 30 + ', "odd": NaN, "deep": ' + "[" * 90 + "]" * 90 + "}"
    call = {"function": {"name": "count", "arguments": arguments}}
    path = write(tmp_path, {"role": "assistant", "content": None, "tool_calls": [call]})
    (event,) = events_of(path)
    assert Codec().from_wire(Codec().to_wire(event)) == event
    assert isinstance(event.data, ToolCalled)
    assert event.data.arguments["big"] == "1" + "0" * 30


# Anything at all

WORDS = st.sampled_from(
    "role content user assistant type message text tool_use tool_result id messages mapping "
    "conversation session_1 dia_id source action observation history trajectory dialogue event "
    "timestamp parent author parts sessionId uuid loglines chat_messages scope observed_at "
    "turn.recorded specversion subject data 2025-01-01T00:00:00Z".split()
)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=5),
    max_leaves=25,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(values=st.lists(JSON_VALUES, min_size=1, max_size=4), form=st.sampled_from(sorted(FORMATS)))
def test_no_json_at_all_stops_an_importer(values: list[Any], form: str, tmp_path: Path) -> None:
    for path in (write(tmp_path, *values, name="lines"), write(tmp_path, values, name="list")):
        for item in items_of(path, format=form):
            if isinstance(item, Imported):
                validated(item.event)
        try:
            detect(path)
        except ImportFault:
            continue


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from(NAMES),
    at=st.floats(0, 0.999),
    junk=st.binary(max_size=3),
    chunk=st.sampled_from([1, 7, 64, 65536]),
)
def test_damage_to_a_file_is_survived(
    name: str, at: float, junk: bytes, chunk: int, tmp_path: Path
) -> None:
    raw = (FIXTURES / name).read_bytes()
    place = int(at * len(raw))
    path = tmp_path / "damaged"
    path.write_bytes(raw[:place] + junk + raw[place + len(junk) :])
    form = form_of(name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(documents, "_CHUNK", chunk)
        events = events_of(path, format=form)
    assert events == events_of(path, format=form)


# Data of others, where it stands beside the checkout

REAL = {
    "transcripts/claude_code_log": ("claude_code", 41),
    "transcripts/claude_code_spotter": ("claude_code", 93),
    "transcripts/claude_code_transcripts": ("claude_code", 47),
    "transcripts/openhands": ("openhands", 36),
    "transcripts/swe_agent": ("swe_agent", 17),
    "transcripts/tau_bench": ("openai_messages", 620),
    "transcripts/hermes_zh.txt": ("dated_chat", 82),
    "chatgpt_export": ("chatgpt_export", 42),
    "locomo": ("locomo", 2760),
    "everos_chats": ("everos", 1227),
    "madial": ("madial", 3236),
}


@pytest.mark.parametrize("place", sorted(REAL))
def test_real_files_are_recognised_and_read_whole(place: str, shared: Path) -> None:
    path = shared / "data" / place
    form, count = REAL[place]
    events = events_of(path)
    assert Counter(event.source.runtime for event in events) == {form: count}
    assert [event.id for event in events] == [event.id for event in events_of(path)]
    for event in events:
        validated(event)


def test_the_cases_are_written_in_the_short_form(shared: Path) -> None:
    cases = sorted((shared / "cases").glob("*.json"))
    assert cases
    for case in cases:
        for raw in json.loads(case.read_text())["events"]:
            assert event_from_short(raw, where=case.stem).id == raw["id"]

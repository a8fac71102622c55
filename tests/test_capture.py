"""What capture makes of an event before the log sees it."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstream.processors.capture import capture, clean_text, decode_text
from memstream.schemas.errors import InvalidEvent
from memstream.schemas.events import (
    ContextServed,
    Data,
    Event,
    MemoryCorrected,
    MemoryStated,
    Source,
    SourceKind,
    ToolCalled,
    ToolReturned,
    TurnRecorded,
)

AT = datetime(2025, 3, 4, 5, 6, tzinfo=UTC)
GITHUB = "gh" + "p_" + "a1B2c3D4e5" * 4
AMAZON = "AK" + "IA" + "QWERTY" + "1234567890"


def event(
    data: Data, kind: SourceKind = "user_said", trust: int = 3, type_: str = "turn.recorded"
) -> Event:
    source = Source(kind, trust)
    return Event(id="e1", type=type_, subject="acme/user:u1", time=AT, source=source, data=data)


def turn(text: str, **more: Any) -> Event:
    return event(TurnRecorded(text=text, role="user", **more))


def text_of(captured: Event) -> str:
    assert isinstance(captured.data, TurnRecorded | ToolReturned)
    return captured.data.text


@pytest.mark.parametrize(
    ("given_text", "clean"),
    [
        ("plain words,\tand a tab\n", "plain words,\tand a tab\n"),
        ("one\r\ntwo\rthree\x0bfour\u2028five", "one\ntwo\nthree\nfour\nfive"),
        ("smile \ud83d\ude00!", "smile \U0001f600!"),
        ("half \ud83d, other half \ude00", "half , other half "),
        ("e\u0301te\u0301", "\u00e9t\u00e9"),
        ("nu\x00ll \x1b[0m", "null [0m"),
        ("over\u202eride\u2066d\u2069", "overrided"),
        ("zero\u200bwidth\ufeff no\u2060break soft\u00adhyphen", "zerowidth nobreak softhyphen"),
        ("\U0001f469\u200d\U0001f52c at work", "\U0001f469\u200d\U0001f52c at work"),
        ("tea\u200dcup", "teacup"),
        ("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", None),
        ("\u2764\ufe0f and\ufe0f\ufe0f", "\u2764\ufe0f and\ufe0f"),
        ("\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", None),
        ("hid\U000e0068\U000e0069den", "hidden"),
        ("我住在上海。", None),
        ("\u0928\u094d\u200d\u0926", None),
    ],
)
def test_text_becomes_valid_and_visible(given_text: str, clean: str | None) -> None:
    assert clean_text(given_text) == (given_text if clean is None else clean)


@given(st.text(st.characters(), max_size=60))
def test_clean_text_is_a_fixed_point(text: str) -> None:
    cleaned = clean_text(text)
    assert clean_text(cleaned) == cleaned
    assert unicodedata.is_normalized("NFC", cleaned)
    cleaned.encode()


TRICKY = st.text(
    st.sampled_from(
        [
            *"ab é\u0301\u200d\u200c\ufe0f\u202e\x00\r\n.。 中",
            "\ud83d",
            "\ude00",
            "\U0001f469",
            "\U000e0061",
        ]
    ),
    max_size=80,
)


@given(TRICKY)
def test_tricky_neighbours_are_cleaned_for_good(text: str) -> None:
    assert clean_text(clean_text(text)) == clean_text(text)


@given(
    st.lists(
        st.one_of(
            TRICKY,
            st.sampled_from(
                [GITHUB, AMAZON, "password: " + "open" + "9", "A sentence. ", "中文句子。"]
            ),
        ),
        max_size=12,
    ).map("".join),
    st.data(),
)
def test_capture_is_idempotent(text: str, draw: st.DataObject) -> None:
    spans = draw.draw(
        st.lists(st.tuples(st.integers(0, len(text)), st.integers(0, len(text))), max_size=3)
    )
    ordered = tuple((min(span), max(span)) for span in spans)
    for part in capture(turn(text, served_spans=ordered), largest_part=64):
        assert capture(part, largest_part=64) == [part]
        assert len(text_of(part).encode()) <= 64


@given(st.text(st.characters(codec="utf-8"), max_size=400))
def test_parts_join_to_the_cleaned_text(text: str) -> None:
    whole = text_of(capture(turn(text))[0])
    parts = capture(turn(text), largest_part=64)
    joined = "".join(text_of(part) for part in parts)
    assert joined.replace("\u200d", "") == whole.replace("\u200d", "")
    assert parts[0].id == "e1"
    assert len({part.id for part in parts}) == len(parts)
    if len(parts) > 1:
        assert parts[-1].part is not None
        assert parts[-1].part.ids("acme/user:u1", "e1") == [part.id for part in parts]


def test_a_part_says_where_it_stands_and_ends_with_a_sentence() -> None:
    text = "The kiln runs on Tuesdays. Glaze is in the blue bin. " * 40
    parts = capture(turn(text), largest_part=300)
    position = 0
    for index, part in enumerate(parts):
        data = part.data
        assert isinstance(data, TurnRecorded)
        assert data.part is not None
        assert (data.part.index, data.part.count, data.part.offset) == (index, len(parts), position)
        assert data.text.rstrip().endswith(".")
        position += len(data.text)
    assert position == len(text)


def test_spans_and_redactions_go_to_their_parts() -> None:
    text = "Filler words here. " * 10 + "served text " + GITHUB + " end. " + "More filler. " * 10
    start = text.index("served")
    parts = capture(turn(text, served_spans=((start, start + 12),)), largest_part=120)
    served = []
    for part in parts:
        data = part.data
        assert isinstance(data, TurnRecorded)
        served += [data.text[first:last] for first, last in data.served_spans]
        for redaction in data.redactions:
            assert data.text[redaction.start : redaction.end] == "[redacted:github-token]"
    assert "".join(served) == "served text "
    assert (
        sum(len(part.data.redactions) for part in parts if isinstance(part.data, TurnRecorded)) == 1
    )


def test_spans_follow_the_text_through_cleaning_and_redaction() -> None:
    text = f"x\u200by {AMAZON} served\u200b words, then mine"
    start = text.index("served")
    (captured,) = capture(turn(text, served_spans=((start, text.index(",")), (0, 0))))
    data = captured.data
    assert isinstance(data, TurnRecorded)
    assert [data.text[first:last] for first, last in data.served_spans] == ["served words"]
    assert data.text.startswith("xy [redacted:aws-access-key] served")


def test_a_secret_split_by_invisible_characters_is_found() -> None:
    hidden = AMAZON[:7] + "\u200b" + AMAZON[7:12] + "\x00" + AMAZON[12:]
    (captured,) = capture(turn(f"it is {hidden} ok"))
    assert text_of(captured) == "it is [redacted:aws-access-key] ok"


def test_secrets_leave_every_field() -> None:
    called = ToolCalled(
        tool="login",
        arguments={
            "user": "ada",
            "password": "tulip",
            "steps": [{"note": f"use {GITHUB}"}, 3, None, float("nan")],
            "headers": {"Authorization": "Bearer " + "q1w2e3r4t5y6"},
        },
    )
    (captured,) = capture(event(called, type_="tool.called"))
    assert isinstance(captured.data, ToolCalled)
    assert captured.data.arguments == {
        "user": "ada",
        "password": "[redacted:password]",
        "steps": [{"note": "use [redacted:github-token]"}, 3, None, "nan"],
        "headers": {"Authorization": "[redacted:password]"},
    }
    assert [redaction.kind for redaction in captured.data.redactions] == [
        "password", "github-token", "password",
    ]  # fmt: skip
    (stated,) = capture(
        event(MemoryStated(attribute="wifi_password", value="tulip"), type_="memory.stated")
    )
    assert isinstance(stated.data, MemoryStated)
    assert stated.data.value == "[redacted:password]"
    (corrected,) = capture(
        event(MemoryCorrected(attribute="note", replacement=GITHUB), type_="memory.corrected")
    )
    assert isinstance(corrected.data, MemoryCorrected)
    assert corrected.data.replacement == "[redacted:github-token]"
    (asked,) = capture(event(ContextServed(query=f"what is {AMAZON}"), type_="context.served"))
    assert isinstance(asked.data, ContextServed)
    assert AMAZON not in asked.data.query
    for done in (captured, stated, corrected, asked):
        assert capture(done) == [done]


@pytest.mark.parametrize(
    ("kind", "asked", "granted"),
    [("tool_result", 4, 1), ("document", 3, 2), ("user_said", 4, 3), ("admin_edit", 4, 4),
     ("user_said", 1, 1)],
)  # fmt: skip
def test_trust_is_clamped_to_what_the_kind_may_have(
    kind: SourceKind, asked: int, granted: int
) -> None:
    data = TurnRecorded(text="Rain tomorrow.", role="user")
    (captured,) = capture(event(data, kind, asked))
    assert captured.source.trust == granted


def test_a_models_words_are_not_trusted_like_a_persons() -> None:
    (captured,) = capture(event(TurnRecorded(text="Rain tomorrow.", role="assistant")))
    assert captured.source.trust == 1
    (returned,) = capture(event(ToolReturned(text="Rain.", tool="sky"), type_="tool.returned"))
    assert returned.source.trust == 1


@pytest.mark.parametrize("text", ["", " \n\t ", "\x00\u200b", "。", "\u202eabc"])
def test_empty_and_odd_text_is_accepted(text: str) -> None:
    assert len(capture(turn(text))) == 1


def test_every_fault_is_named_at_once() -> None:
    broken = msgspec.structs.replace(
        turn("hello", served_spans=((0, 99),)),
        id="",
        time=datetime(2025, 1, 1),
        subject="nowhere",
    )
    with pytest.raises(InvalidEvent) as raised:
        capture(broken)
    assert {fault.path for fault in raised.value.faults} >= {
        "$.id", "$.time", "$.subject", "$.data.served_spans[0]",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("broken", "path"),
    [
        (msgspec.structs.replace(turn("x"), id="a\x1fb"), "$.id"),
        (msgspec.structs.replace(turn("x"), id="a\ud800"), "$.id"),
        (msgspec.structs.replace(turn("x"), time=datetime(1, 1, 1, tzinfo=UTC)), "$.time"),
        (msgspec.structs.replace(turn("x"), type="turn.dreamt"), "$.type"),
        (event(MemoryStated(text="x")), "$.data"),
        (event(TurnRecorded(text="x", role="user"), trust=-1), "$.trust"),
        (turn(b"bytes"), "$.data.text"),  # type: ignore[arg-type]
        (event(ToolCalled(tool="t", arguments={"a": object()}), type_="tool.called"),
         "$.data.arguments.a"),
        (event(MemoryStated(value="v" * 70_000), type_="memory.stated"), "$.data.value"),
    ],
)  # fmt: skip
def test_what_cannot_be_accepted_says_where(broken: Event, path: str) -> None:
    with pytest.raises(InvalidEvent) as raised:
        capture(broken)
    assert path in [fault.path for fault in raised.value.faults]


def test_a_long_statement_becomes_several() -> None:
    text = "The oven needs ten minutes. " * 20
    parts = capture(event(MemoryStated(text=text), type_="memory.stated"), largest_part=128)
    texts = [part.data.text for part in parts if isinstance(part.data, MemoryStated)]
    assert len(texts) == len(parts) > 1
    assert "".join(texts) == text
    assert len({part.id for part in parts}) == len(parts)


def test_deep_arguments_are_refused_not_crashed_on() -> None:
    deep: Any = "end"
    for _ in range(500):
        deep = [deep]
    with pytest.raises(InvalidEvent, match="nested deeper"):
        capture(event(ToolCalled(tool="t", arguments={"a": deep}), type_="tool.called"))


def test_bytes_are_decoded_strictly() -> None:
    assert decode_text("grüß".encode(), "import.txt") == "grüß"
    with pytest.raises(InvalidEvent, match=r"import\.txt.*0xfc at offset 2 of 4.*iconv"):
        decode_text("grün".encode("latin-1"), "import.txt")

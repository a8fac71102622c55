"""Extraction from events: whose fact it is, when it is true, and what is kept."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))

from dict_state import DictState
from growth import assert_linear

from memstream.processors.extract import Extract, Reader
from memstream.processors.gate import GateMark
from memstream.processors.pipeline import State, key
from memstream.schemas.attributes import builtin
from memstream.schemas.events import (
    CandidateExtracted,
    Data,
    Event,
    MemoryCorrected,
    MemoryStated,
    Redaction,
    Source,
    ToolCalled,
    ToolReturned,
    TurnRecorded,
)
from memstream.schemas.memories import Assertion, Outcome

SCOPE = "acme/user:u1"
SAID_AT = datetime(2025, 3, 12, 9, 30, tzinfo=timezone(timedelta(hours=1)))  # a Wednesday
SAID = Source("user_said", 3)
READER = Reader(builtin())


def event(
    data: Data, kind: str = "turn.recorded", time: datetime = SAID_AT, **more: object
) -> Event:
    source = Source("user_said", 3)
    made = Event(id="e1", type=kind, subject=SCOPE, time=time, source=source, data=data)
    return msgspec.structs.replace(made, **more)


def read(text: str, *, actor: str = "") -> list[Assertion]:
    return READER.read(event(TurnRecorded(role="user", text=text, actor=actor)))


def facts(text: str, *, actor: str = "") -> list[Assertion]:
    return [each for each in read(text, actor=actor) if each.attribute]


def day(text: str, hours: int = 1) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=timezone(timedelta(hours=hours)))


@pytest.mark.parametrize(
    ("text", "start", "end", "polarity"),
    [
        ("In 2021 I lived in Cork.", day("2021-01-01"), day("2022-01-01"), "positive"),
        ("I moved to Graz last month.", day("2025-02-01"), None, "positive"),
        ("I have lived in Graz since 2019.", day("2019-01-01"), None, "positive"),
        ("I work at Lego.", SAID_AT, None, "positive"),
        ("I worked at Lego from 2019 to 2021.", day("2019-01-01"), None, "positive"),
        ("Until February I worked at Lego.", day("2025-02-01"), None, "negative"),
        ("I used to work at Lego.", SAID_AT, None, "negative"),
        ("I stopped drinking coffee last week.", day("2025-03-03"), None, "negative"),
        ("2021年我住在长沙。", day("2021-01-01"), day("2022-01-01"), "positive"),
        ("我去年在华为工作。", day("2024-01-01"), day("2025-01-01"), "positive"),
    ],
)
def test_dates_bound_what_is_true(
    text: str, start: datetime, end: datetime | None, polarity: str
) -> None:
    fact = facts(text)[0]
    assert (fact.valid_from, fact.polarity) == (start, polarity)
    if end is not None:
        assert fact.valid_to == end


def test_an_unresolved_date_changes_nothing() -> None:
    fact = facts("I moved to Graz a while ago.")[0]
    assert (fact.valid_from, fact.valid_to) == (SAID_AT, None)


def test_without_a_known_moment_relative_dates_stay_unresolved() -> None:
    turn = TurnRecorded(role="user", text="I moved to Graz last month.", observed_known=False)
    assert READER.read(event(turn))[0].valid_from == SAID_AT


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("My birthday is on March 6th.", "03-06"),
        ("I was born on 29 February.", "02-29"),
        ("I was born on March 6th, 1990.", "1990-03-06"),
        ("我的生日是3月6日。", "03-06"),
        ("My birthday is next Friday.", None),
        ("My birthday is tomorrow.", None),
        ("我的生日是下周五。", None),
    ],
)
def test_a_day_and_its_month_need_no_known_moment(text: str, value: str | None) -> None:
    turn = TurnRecorded(role="user", text=text, observed_known=False)
    found = [each.value for each in READER.read(event(turn)) if each.attribute == "birthday"]
    assert found == ([] if value is None else [value])


@pytest.mark.parametrize(
    ("text", "value", "said"),
    [
        ("Our daughter Mia was born yesterday.", "2025-03-11", "yesterday"),
        ("My nephew was born last Friday.", "2025-03-07", "Friday"),
        ("我女儿昨天出生了。", "2025-03-11", "昨天"),
        ("My birthday is tomorrow.", "03-13", "tomorrow"),
        ("My wife's birthday is next Friday.", "03-21", "Friday"),
        ("我的生日是明天。", "03-13", "明天"),
        ("Today is my 40th birthday!", "03-12", "oday"),
        ("hey, it's my birthday today", "03-12", "today"),
        ("Tomorrow is my wife's birthday.", "03-13", "omorrow"),
        ("明天是我老婆的生日。", "03-13", "明天"),
        ("我的生日是下周五。", "03-21", "下周五"),
    ],
)
def test_a_birthday_is_told_by_its_day_and_not_from_the_day_of_speech(
    text: str, value: str, said: str
) -> None:
    (fact,) = (each for each in read(text) if each.attribute == "birthday")
    assert (fact.value, said in fact.text) == (value, False)
    assert value in fact.text


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("我女儿上周搬去外地练琴，她今年六岁。", "2025-03-03"),
        ("他今年已经12岁了，上周学会了游泳。", "2025-03-03"),
        ("She's six this year and had her first lesson on Monday.", "2025-03-10"),
        ("他今年学会了游泳。", "2025-01-01"),
        ("He is busy this year.", "2025-01-01"),
    ],
)
def test_the_year_of_an_age_is_no_time_at_which_something_took_place(text: str, first: str) -> None:
    (episode,) = (each for each in read(text) if each.kind == "episode")
    assert episode.occurred is not None
    assert episode.occurred.start == day(first)


@pytest.mark.parametrize(
    "text", ["I work from 9 to 5.", "I'm in from 9 to 5.", "我九点到五点上班。"]
)
def test_hours_of_every_day_date_nothing(text: str) -> None:
    assert [each.occurred for each in read(text)] == [None]


def test_a_transition_keeps_from_to_and_why() -> None:
    fact = facts("I switched from cow's milk to oat drink after getting stomach cramps.")[0]
    assert (fact.value, fact.previous) == ("oat drink", "cow's milk")
    assert "stomach cramps" in fact.reason
    assert all(words in fact.text for words in ("cow's milk", "oat drink", "stomach cramps"))


def test_a_plan_occurs_when_its_date_says() -> None:
    fact = facts("I plan to visit Kraków in August.")[0]
    assert fact.occurred is not None
    assert fact.occurred.start == day("2025-08-01")
    assert "2025-08" in fact.text


@pytest.mark.parametrize("text", ["Our anniversary is on June 9.", "6月9日是我们的结婚纪念日。"])
def test_a_day_of_every_year_gets_no_year(text: str) -> None:
    (episode,) = read(text)
    assert episode.occurred is None
    assert "[" not in episode.text


def test_a_correction_withdraws() -> None:
    (fact,) = facts("I misspoke, I'm not allergic to kiwis.")
    assert fact.withdraws
    wrong, right = facts("Correction: I live in Basel.")
    assert (wrong.withdraws, wrong.polarity, wrong.value) == (True, "negative", "")
    assert (right.withdraws, right.value) == (False, "Basel")


@pytest.mark.parametrize(
    ("text", "attribute", "value"),
    [
        ("I live in St. Gallen with my cousin.", "residence", "St. Gallen"),
        ("I live in Mt. Vernon, Ohio.", "residence", "Mt. Vernon, Ohio"),
        ("I work at St. Luke's Clinic.", "employer", "St. Luke's Clinic"),
        ("I work for the U.S. Forest Service.", "employer", "U.S. Forest Service"),
        ("I work for J. Peterman now.", "employer", "J. Peterman"),
        ("My favorite movie is Mrs. Doubtfire.", "favourite_movie", "Mrs. Doubtfire"),
        ("My dentist is Dr. Lund.", "dentist", "Dr. Lund"),
        ("I wake up at 5 a.m. on Mondays.", "wake_time", "05:00"),
        ("I like fruit, e.g. plums.", "likes", "fruit"),
    ],
)
def test_the_stop_of_an_abbreviation_cuts_no_value(text: str, attribute: str, value: str) -> None:
    assert [(each.attribute, each.value) for each in facts(text)] == [(attribute, value)]


def test_values_keep_names_whole() -> None:
    (episode,) = read("I test-drove a Lancia Delta HF Integrale near Alba yesterday.")
    assert "Lancia Delta HF Integrale" in episode.text
    assert "yesterday [2025-03-11]" in episode.text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We met Ana last week.", "The user: We met Ana last week [2025-03-03 to 2025-03-09]."),
        ("We met Ana in May 2022.", "The user: We met Ana in May 2022 [2022-05]."),
        ("We met Ana the other day.", "The user: We met Ana the other day."),
        ("昨天见了老赵。", "用户：昨天[2025-03-11]见了老赵。"),
    ],
)
def test_an_episode_carries_absolute_dates(text: str, expected: str) -> None:
    (episode,) = read(text)
    assert (episode.kind, episode.text) == ("episode", expected)


@pytest.mark.parametrize(
    "text",
    [
        "Hi! How are you?",
        "ok thanks",
        "你好，在吗？",
        "What time is it?",
        "   ",
        "",
        "好的，谢谢！",
    ],
)
def test_small_talk_and_lone_questions_are_not_kept(text: str) -> None:
    assert read(text) == []


def test_a_question_beside_a_statement_is_kept_with_it() -> None:
    (episode,) = read("The boiler broke again. Who can mend it? Thanks!")
    assert episode.value == "The boiler broke again. Who can mend it?"


def test_a_covered_turn_leaves_no_episode() -> None:
    assert [each.attribute for each in read("I live in Bonn. I like tea.")] == [
        "residence",
        "likes",
    ]


def test_a_long_sentence_is_kept_beside_its_fact() -> None:
    found = read("My sister Ada lives in Bern and she showed us the bear park and the old town.")
    assert {each.kind for each in found} == {"profile", "episode"}


def test_the_rest_of_the_turn_is_context() -> None:
    text = "I like tea. The kettle is blue."
    fact, episode = read(text)
    assert fact.context == episode.context == text
    assert read("I like tea.")[0].context == ""


def test_an_actor_speaks_for_themselves() -> None:
    found = facts("I live in Bonn. My brother lives in Ulm.", actor="Lena")
    assert [each.subject for each in found] == ["Lena", "Lena's brother"]
    assert facts("I live in Bonn.", actor="u1")[0].subject == "user"
    assert facts("我哥哥在百度工作。", actor="小敏")[0].subject == "小敏的哥哥"


def test_an_assistant_never_makes_user_facts() -> None:
    text = "You told me that you love herring. I live in the cloud. The report is due in May."
    turn = TurnRecorded(role="assistant", text=text)
    (episode,) = READER.read(event(turn, source=Source("model_derived", 1)))
    assert (episode.kind, episode.source_kind) == ("episode", "model_derived")
    assert "herring" not in episode.text
    assert episode.text.startswith("The assistant: ")


def test_a_tool_result_is_free_text_of_the_tool() -> None:
    data = ToolReturned(tool="calendar", text="I live in Oslo. Dentist on 2025-04-02.")
    (episode,) = READER.read(event(data, "tool.returned"))
    assert (episode.kind, episode.subject) == ("episode", "calendar")
    assert READER.read(event(ToolCalled(tool="bash", arguments={"command": "pytest"}))) == []


def test_a_secret_is_never_a_value() -> None:
    text = "My email is [redacted:email] and we deploy on Fridays."
    turn = TurnRecorded(role="user", text=text, redactions=(Redaction("email", 12, 28),))
    found = READER.read(event(turn))
    assert any("Fridays" in each.text for each in found)
    assert not any("redacted" in each.value for each in found if each.attribute)


def test_stated_attributes_are_taken_as_given() -> None:
    until = datetime(2025, 9, 1, tzinfo=UTC)
    data = MemoryStated(
        attribute="wake_time", value="05:30", qualifier="weekdays", expires_at=until
    )
    (fact,) = READER.read(event(data, "memory.stated"))
    assert (fact.attribute, fact.value, fact.qualifier) == ("wake_time", "05:30", "weekdays")
    assert (fact.valid_from, fact.valid_to) == (SAID_AT, until)
    assert fact.text == "The user wakes up at 05:30 (weekdays)."


def test_a_stated_text_is_read_by_the_rules_or_kept_whole() -> None:
    (fact,) = READER.read(event(MemoryStated(text="I'm allergic to latex."), "memory.stated"))
    assert (fact.attribute, fact.value) == ("allergy", "latex")
    until = datetime(2025, 4, 1, tzinfo=UTC)
    data = MemoryStated(text="The summer sale gives 15% off.", expires_at=until)
    (kept,) = READER.read(event(data, "memory.stated"))
    assert (kept.kind, kept.attribute, kept.valid_to) == ("fact", "", until)
    assert kept.text == "The summer sale gives 15% off."


def test_served_text_is_never_read() -> None:
    served = "- The user likes golf. I live in Rome."
    text = f"{served}\nI live in Ulm."
    turn = TurnRecorded(role="user", text=text, served_spans=((0, len(served)),))
    (fact,) = READER.read(event(turn))
    assert (fact.value, fact.span) == ("Ulm", (len(served) + 1, len(text) - 1))


def extracted(outcome: Outcome, data: Data, kind: str = "turn.recorded") -> list[Event]:
    state: State = DictState()
    raw = event(data, kind)
    state.put(key(SCOPE, "event", raw.id), GateMark(outcome))
    first, *found = Extract(READER)(state, raw)
    assert first is raw, "a turn flows on, whatever it says"
    return found


@pytest.mark.parametrize(
    ("outcome", "standing"),
    [("stored", "admitted"), ("held", "held"), ("quarantined", "quarantined")],
)
def test_the_gate_decides_the_standing(outcome: Outcome, standing: str) -> None:
    (found,) = extracted(outcome, TurnRecorded(role="user", text="I live in Bonn."))
    assert isinstance(found.data, CandidateExtracted)
    assert found.data.assertion.standing == standing
    assert (found.type, found.subject, found.time) == ("candidate.extracted", SCOPE, SAID_AT)


def test_what_the_gate_rejected_is_not_read() -> None:
    assert extracted("rejected", TurnRecorded(role="user", text="I live in Bonn.")) == []


def test_other_events_pass_through() -> None:
    raw = event(MemoryCorrected(attribute="residence"), "memory.corrected")
    assert list(Extract(READER)(DictState(), raw)) == [raw]


def test_candidate_ids_differ_and_repeat() -> None:
    data = TurnRecorded(role="user", text="I live in Bonn and I like tea.")
    first, again = extracted("stored", data), extracted("stored", data)
    assert [each.id for each in first] == [each.id for each in again]
    assert len({each.id for each in first}) == 2


def test_a_turn_of_one_repeated_sentence_is_read_once() -> None:
    found = read("I work at Siemens. " * 2_000)
    assert [each.value for each in found] == ["Siemens"]
    assert_linear(lambda size: read("I work at Siemens. " * size), 1_000)


@pytest.mark.parametrize(
    "sentence",
    [
        "On day {} we saw bird {} and I like bird {}. ",
        "My sister lives in City{}, not Town{}, and I {} don't. ",
        "第{}天我们看到了第{}只鸟，我喜欢{}号鸟。",
    ],
)
def test_reading_grows_with_the_text_alone(sentence: str) -> None:
    def work(size: int) -> None:
        assert read("".join(sentence.format(n, n, n) for n in range(size)))

    assert_linear(work, 80)


SENTENCES = (
    "I live in Bonn and work at Telekom as a nurse.",
    "I like rowing, folk music and black tea.",
    "I moved from Ghent to Porto last month because of the sea!",
    "My wife Edith wakes up at 7 on weekdays and at 9 on weekends.",
    "We use pnpm, not npm; run the tests with `pnpm test`.",
    "If I lived in Nice, I'd swim daily.",
    'She said "I live in Oslo".',
    "我住在成都，在蚂蚁上班，是一名设计师。",
    "我对虾和螃蟹过敏，请记住。",
    "更正：我住在无锡，不是常州。",
    "我工作日七点起床，周末九点半起床。",
    "```\ncode\n```",
)
PIECES = st.one_of(
    st.sampled_from(SENTENCES),
    st.text(max_size=80),
    st.sampled_from(
        ["I", "my", "我", "the", "`x`", '"', "“", "”", "if", "not", "，", "。", "\n", "> "]
    ),
)
TEXTS: st.SearchStrategy[str] = st.lists(PIECES, max_size=6).map(" ".join)


@settings(max_examples=150, deadline=None)
@given(TEXTS, st.sampled_from(["user", "assistant", "system"]), st.booleans())
def test_any_text_is_read_without_an_error(text: str, role: str, known: bool) -> None:
    turn = TurnRecorded(role=role, text=text, observed_known=known)  # type: ignore[arg-type]
    found = READER.read(event(turn))
    assert found == READER.read(event(turn))
    assert [each.ordinal for each in found] == list(range(len(found)))
    for each in found:
        assert each.span is not None
        assert 0 <= each.span[0] < each.span[1] <= len(text)
        assert each.text
        assert each.kind == "episode" or role == "user"


@settings(max_examples=100, deadline=None)
@given(TEXTS, TEXTS, TEXTS)
def test_served_spans_are_never_extracted(before: str, served: str, after: str) -> None:
    text = before + served + after
    span = (len(before), len(before) + len(served))
    turn = TurnRecorded(role="user", text=text, served_spans=(span,))
    hidden = READER.read(event(turn))
    without = READER.read(
        event(TurnRecorded(role="user", text=f"{before}{chr(10) * len(served)}{after}"))
    )
    assert _plain(hidden) == _plain(without)


def _plain(found: Iterable[Assertion]) -> list[tuple[str, str, str, tuple[int, int] | None]]:
    return [(each.attribute, each.value, each.quote, each.span) for each in found]


@pytest.mark.parametrize(
    "text",
    [
        "I don't drink beer.",
        "I don't work at Lego anymore.",
        "I no longer live in Cork.",
        "I left Lego last month.",
        "I used to live in Cork, but moved to Graz in 2022.",
        "I'm not allergic to kiwis.",
        "我不喝啤酒。",
        "我不在华为工作了。",
        "我不住在长沙了。",
    ],
)
def test_what_is_denied_is_kept_as_said(text: str) -> None:
    denials = [each for each in facts(text) if each.polarity == "negative"]
    assert denials
    (said,) = [each for each in read(text) if each.kind == "episode"]
    assert said.value == text


@pytest.mark.parametrize(
    "text",
    [
        "I like papaya.",
        "I don't like papaya.",
        "我不喜欢吃苦瓜。",
        "我喜欢兔子，不喜欢鹦鹉。",
        "我住在长沙。",
        "I misspoke, I'm not allergic to kiwis.",
    ],
)
def test_what_is_affirmed_or_taken_back_is_not_kept_twice(text: str) -> None:
    assert all(each.attribute for each in read(text))


def test_a_denial_in_an_explicit_save_ends_and_is_kept() -> None:
    data = MemoryStated(text="I no longer live in Cork.")
    found = READER.read(event(data, "memory.stated"))
    assert [(each.attribute, each.polarity) for each in found] == [
        ("residence", "negative"),
        ("", "positive"),
    ]
    assert found[1].value == data.text


@pytest.mark.parametrize(
    ("text", "attribute", "value"),
    [
        ("我养了一条狗，名字叫阿福。", "pet", "阿福"),
        ("我家养了一只橘猫，叫团子。", "pet", "团子"),
        ("我领养了一只仓鼠，很可爱，它的名字叫球球。", "pet", "球球"),
        ("我有一个女儿，叫小雪。", "child", "小雪"),
        ("我有个弟弟，名字叫张伟。", "sibling", "张伟"),
    ],
)
def test_a_name_after_an_introduction_is_not_the_speakers(
    text: str, attribute: str, value: str
) -> None:
    found = {(each.attribute, each.value) for each in facts(text)}
    assert (attribute, value) in found
    assert "name" not in {each for each, _ in found}


def test_the_name_of_a_thing_is_nobodys() -> None:
    assert facts("我开了一家店，叫喵喵屋。") == []


@pytest.mark.parametrize(
    "text",
    ["我是一名护士，叫陈静。", "我养了一条狗，我叫陈静。", "我是护士，名字叫陈静。"],
)
def test_the_speakers_own_name_is_still_read(text: str) -> None:
    assert ("name", "陈静") in {(each.attribute, each.value) for each in facts(text)}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("我住在长沙。不对，是青岛。", "青岛"),
        ("我住在长沙。说错了，应该是青岛。", "青岛"),
        ("我叫陈静。不对，是陈婧。", "陈婧"),
    ],
)
def test_a_slip_is_put_right_in_the_same_turn_in_chinese(text: str, value: str) -> None:
    assert [each.value for each in read(text)] == [value]


def test_a_reproach_is_no_correction() -> None:
    assert [each.value for each in facts("我住在长沙。不对，是你错了。")] == ["长沙"]


def test_every_name_of_a_list_is_kept() -> None:
    found = facts("My kids are named Mia, Noah and Zoe.")
    assert [each.value for each in found] == ["Mia", "Noah", "Zoe"]

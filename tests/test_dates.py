"""Dates in text: what is found, what it means, and what is honestly left unresolved."""

from __future__ import annotations

import importlib.util
import sys
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from types import ModuleType
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))

from growth import assert_linear

from memstream.processors import dates_en_holidays, dates_en_words, dates_zh_words
from memstream.processors.dates import DateSpan, find_dates

ROOT = Path(__file__).resolve().parents[1]
MEASURES = ROOT.parent / "shared" / "data" / "temporal"

WEDNESDAY = datetime(2023, 11, 15, 10, 30, tzinfo=UTC)

# Text, and what each span in it means: "start..end" in days or minutes, either side open, or the
# reason it is unresolved. All said on Wednesday 2023-11-15 at 10:30 UTC.
ENGLISH = {
    # absolute days
    "Her flight lands 2024-02-03.": ["2024-02-03..2024-02-04"],
    "signed 2/14/2021": ["2021-02-14..2021-02-15"],
    "signed 25/12/2022": ["2022-12-25..2022-12-26"],
    "signed 2021/7/9": ["2021-07-09..2021-07-10"],
    "report-2020-05-01.pdf": ["2020-05-01..2020-05-02"],
    "born 14.3.1988": ["1988-03-14..1988-03-15"],
    "the 3rd of May 2022": ["2022-05-03..2022-05-04"],
    "Aug. 9, 2019 was hot": ["2019-08-09..2019-08-10"],
    "6 October '18": ["2018-10-06..2018-10-07"],
    "the twenty-first of April nineteen ninety nine": ["1999-04-21..1999-04-22"],
    "9-dec-2020": ["2020-12-09..2020-12-10"],
    "log 2023-05-06T23:30:00+08:00": ["2023-05-06T15:30..2023-05-06T15:30:01"],
    # days without a year or a month: the tense decides, the past by default
    "we adopted Rex on March 9": ["2023-03-09..2023-03-10"],
    "I will see Ada on March 9": ["2024-03-09..2024-03-10"],
    "we spoke on the 20th": ["2023-10-20..2023-10-21"],
    "we are going to speak on the 20th": ["2023-11-20..2023-11-21"],
    # what is arranged beforehand is told in the present
    "my flight to Cork is on March 9": ["2024-03-09..2024-03-10"],
    "the ferry leaves on March 9": ["2024-03-09..2024-03-10"],
    "we have tickets for March 9": ["2024-03-09..2024-03-10"],
    "I start at the mill on March 9": ["2024-03-09..2024-03-10"],
    "my passport expires on March 9": ["2024-03-09..2024-03-10"],
    "my flight to Cork was on March 9": ["2023-03-09..2023-03-10"],
    "the cat was ill on 20 and 21 June": ["2023-06-20..2023-06-21", "2023-06-21..2023-06-22"],
    "we were away on July 4 and 5": ["2023-07-04..2023-07-05", "2023-07-05..2023-07-06"],
    "a leap party on Feb 29th": ["2020-02-29..2020-03-01"],
    # weekdays
    "I swam on Friday": ["2023-11-10..2023-11-11"],
    "I will swim on Friday": ["2023-11-17..2023-11-18"],
    "this Friday": ["2023-11-17..2023-11-18"],
    "next Friday": ["2023-11-24..2023-11-25"],
    "last Friday": ["2023-11-10..2023-11-11"],
    "last Tuesday": ["2023-11-07..2023-11-08"],
    "this past Tuesday": ["2023-11-14..2023-11-15"],
    "the coming Tuesday": ["2023-11-21..2023-11-22"],
    "Tuesday of next week": ["2023-11-21..2023-11-22"],
    "Friday the 13th": ["2023-10-13..2023-10-14"],
    "the Saturday before 18 July 2023": ["2023-07-15..2023-07-16"],
    "two Mondays ago": ["2023-11-06..2023-11-07"],
    # plans, events ahead, ends of years
    "We are flying to Oslo in June.": ["2024-06-01..2024-07-01"],
    "She's getting married in September!": ["2024-09-01..2024-10-01"],
    "I'm moving to Leeds in March": ["2024-03-01..2024-04-01"],
    "I was moving to Leeds in March": ["2023-03-01..2023-04-01"],
    "I have an appointment with Dr. Lund on Friday": ["2023-11-17..2023-11-18"],
    "My interview is on Friday": ["2023-11-17..2023-11-18"],
    "I had an appointment with Dr. Lund on Friday": ["2023-11-10..2023-11-11"],
    "I'm visiting relatives since March": ["2023-03-01.."],
    "we met at the end of last year": ["2022-12-01..2023-01-01"],
    "she has lived here since the new year": ["2023-01-01.."],
    # relative days and counts
    "yesterday and tomorrow": ["2023-11-14..2023-11-15", "2023-11-16..2023-11-17"],
    "the day before yesterday": ["2023-11-13..2023-11-14"],
    "two weeks ago": ["2023-11-01..2023-11-02"],
    "a year and a half ago": ["2022-05-15..2022-05-16"],
    "in a fortnight": ["2023-11-29..2023-11-30"],
    "three days from now": ["2023-11-18..2023-11-19"],
    "a week from Friday": ["2023-11-24..2023-11-25"],
    "10 days before 2024-01-05": ["2023-12-26..2023-12-27"],
    "in four business days": ["2023-11-21..2023-11-22"],
    "two weekends ago": ["2023-11-04..2023-11-06"],
    "for the next 3 days": ["2023-11-16..2023-11-19"],
    "over the past two months": ["2023-09-15..2023-11-15"],
    "within a week": ["2023-11-15..2023-11-22"],
    "1,000 days ago": ["2021-02-18..2021-02-19"],
    "20 minutes ago": ["2023-11-15T10:10..2023-11-15T10:11"],
    # weeks, months, quarters, years
    "last week": ["2023-11-06..2023-11-13"],
    "the week after next": ["2023-11-27..2023-12-04"],
    "the week of May 10": ["2023-05-08..2023-05-15"],
    "week 7 of 2020": ["2020-02-10..2020-02-17"],
    "the first week of May 2022": ["2022-05-02..2022-05-09"],
    "over the weekend we hiked": ["2023-11-11..2023-11-13"],
    "next month": ["2023-12-01..2024-01-01"],
    "in June": ["2023-06-01..2023-07-01"],
    "June of last year": ["2022-06-01..2022-07-01"],
    "mid-June": ["2023-06-10..2023-06-21"],
    "the end of March 2021": ["2021-03-16..2021-04-01"],
    "Q3 2022": ["2022-07-01..2022-10-01"],
    "the second half of 2021": ["2021-07-01..2022-01-01"],
    "in 2019": ["2019-01-01..2020-01-01"],
    "early 2020": ["2020-01-01..2020-05-01"],
    "the year before last": ["2021-01-01..2022-01-01"],
    "the 90s": ["1990-01-01..2000-01-01"],
    "the nineteen seventies": ["1970-01-01..1980-01-01"],
    "the 19th century": ["1800-01-01..1900-01-01"],
    "later this year": ["2023-11-15..2024-01-01"],
    "the rest of the month": ["2023-11-15..2023-11-30"],
    # seasons and holidays
    "last summer": ["2023-06-01..2023-09-01"],
    "the winter of 2019": ["2019-12-01..2020-03-01"],
    "Halloween 2021": ["2021-10-31..2021-11-01"],
    "Thanksgiving 2023": ["2023-11-23..2023-11-24"],
    "Mother's Day last year": ["2022-05-08..2022-05-09"],
    "Easter 2024": ["2024-03-31..2024-04-01"],
    "on New Year's Eve we danced": ["2022-12-31..2023-01-01"],
    "labor day weekend 2022": ["2022-09-03..2022-09-06"],
    "the weekend of Halloween 2021": ["2021-10-30..2021-11-01"],
    # ranges and bounds
    "from March 3 to March 9": ["2023-03-03..2023-03-09"],
    "between 2014 and 2018": ["2014-01-01..2018-01-01"],
    "June 3-7, 2021": ["2021-06-03..2021-06-07"],
    "the 3rd till the 7th of June 2021": ["2021-06-03..2021-06-07"],
    "from November to February 2021": ["2020-11-01..2021-02-01"],
    "from 2007 to the end of 2008": ["2007-01-01..2009-01-01"],
    "Monday to Friday": ["2023-11-13..2023-11-17"],
    "since May": ["2023-05-01.."],
    "after 2020": ["2021-01-01.."],
    "before 2020": ["..2020-01-01"],
    "we stayed until Friday": ["..2023-11-10"],
    "finish it before Friday": ["..2023-11-17"],
    # times of day
    "yesterday at 3pm": ["2023-11-14T15:00..2023-11-14T16:00"],
    "at 8:30 pm on June 5th": ["2023-06-05T20:30..2023-06-05T20:31"],
    "tonight at 9": ["2023-11-15T21:00..2023-11-15T22:00"],
    "this morning": ["2023-11-15..2023-11-16"],
    # honestly unresolved
    "I met her the other day": ["vague"],
    "he was here recently": ["vague"],
    "a while back we moved": ["vague"],
    "a few weeks ago": ["vague"],
    "on February 30": ["impossible date"],
    "the 31st of this month": ["impossible date"],
    "in 10000000 years": ["out of range"],
    "year 99999": ["out of range"],
    "we leave on 31 December 9999": ["out of range"],
    "May 5, 20000.": ["out of range"],
    "on 5 May 20000 people came": ["2023-05-05..2023-05-06"],
    "on May 5, 30000 came": ["2023-05-05..2023-05-06"],
    "44 BC": ["out of range"],
    "that weekend was wild": ["vague"],
    "Chinese New Year": ["lunar calendar"],
}

CHINESE = {
    # what is arranged beforehand is told without a tense: the nearer one
    "我的航班是1月9日": ["2024-01-09..2024-01-10"],
    "我1月9日去苏州": ["2024-01-09..2024-01-10"],
    "护照2月3日到期": ["2024-02-03..2024-02-04"],
    "我1月9日去了苏州": ["2023-01-09..2023-01-10"],
    "我10月9日入职": ["2023-10-09..2023-10-10"],
    "合同签于2020年3月9日。": ["2020-03-09..2020-03-10"],
    "二〇二一年十月八号": ["2021-10-08..2021-10-09"],
    "2021.4.2上线": ["2021-04-02..2021-04-03"],
    "2021年4月2日（周五）": ["2021-04-02..2021-04-03"],
    "我们六月九日搬的家": ["2023-06-09..2023-06-10"],
    "我要在六月九日搬家": ["2024-06-09..2024-06-10"],
    "20号见过他": ["2023-10-20..2023-10-21"],
    "昨天": ["2023-11-14..2023-11-15"],
    "大前天": ["2023-11-12..2023-11-13"],
    "后天": ["2023-11-17..2023-11-18"],
    "三天前": ["2023-11-12..2023-11-13"],
    "一个半月前": ["2023-09-30..2023-10-01"],
    "半年后": ["2024-05-15..2024-05-16"],
    "两年零三个月前": ["2021-08-15..2021-08-16"],
    "一年前的今天": ["2022-11-15..2022-11-16"],
    "过去三年": ["2020-11-15..2023-11-15"],
    "未来两天": ["2023-11-16..2023-11-18"],
    "一周内": ["2023-11-15..2023-11-22"],
    "下周三": ["2023-11-22..2023-11-23"],
    "上上周": ["2023-10-30..2023-11-06"],
    "上个星期天": ["2023-11-12..2023-11-13"],
    "周五我们去了海边": ["2023-11-10..2023-11-11"],
    "周五我要去海边": ["2023-11-17..2023-11-18"],
    "上周末": ["2023-11-11..2023-11-13"],
    "下下個月": ["2024-01-01..2024-02-01"],
    "這個週末": ["2023-11-18..2023-11-20"],
    "去年三月": ["2022-03-01..2022-04-01"],
    "前年": ["2021-01-01..2022-01-01"],
    "零八年": ["2008-01-01..2009-01-01"],
    "2022年 5月": ["2022-05-01..2022-06-01"],
    "五月中旬": ["2023-05-11..2023-05-21"],
    "这个月初": ["2023-11-01..2023-11-16"],
    "去年年底我们见过面": ["2022-12-01..2023-01-01"],
    "我打算三月搬到厦门": ["2024-03-01..2024-04-01"],
    "我周五有个面试": ["2023-11-17..2023-11-18"],
    "我订了六月去罗马的机票": ["2024-06-01..2024-07-01"],
    "2022年底": ["2022-09-01..2023-01-01"],
    "去年上半年": ["2022-01-01..2022-07-01"],
    "2022年第三季度": ["2022-07-01..2022-10-01"],
    "三月的第一个周一": ["2023-03-06..2023-03-07"],
    "2021年的最后两个月": ["2021-11-01..2022-01-01"],
    "明年春天": ["2024-03-01..2024-06-01"],
    "90年代": ["1990-01-01..2000-01-01"],
    "上世纪80年代": ["1980-01-01..1990-01-01"],
    "康熙十年": ["1671-01-01..1672-01-01"],
    "2022年国庆节": ["2022-10-01..2022-10-02"],
    "去年圣诞节": ["2022-12-25..2022-12-26"],
    "从三月到五月": ["2023-03-01..2023-05-01"],
    "2018年和2020年之间": ["2018-01-01..2020-01-01"],
    "3到5月": ["2023-03-01..2023-05-01"],
    "5月3日-8日": ["2023-05-03..2023-05-08"],
    "2018年至今": ["2018-01-01..2023-11-15"],
    "自2019年以来": ["2019-01-01.."],
    "2015年之前": ["..2015-01-01"],
    "3月以来": ["2023-03-01.."],
    "10月1号、2号": ["2023-10-01..2023-10-02", "2023-10-02..2023-10-03"],
    "昨晚8点": ["2023-11-14T20:00..2023-11-14T21:00"],
    "明天下午三点半": ["2023-11-16T15:30..2023-11-16T15:31"],
    "两小时前": ["2023-11-15T08:30..2023-11-15T09:30"],
    "前几天": ["vague"],
    "最近": ["vague"],
    "改天": ["vague"],
    "两三年前": ["vague"],
    "二月三十日": ["impossible date"],
    "公元前221年": ["out of range"],
    "中秋节": ["lunar calendar"],
}

NOT_DATES = (
    "May I borrow your pen? You may.",
    "May said she would come, and my friend April is kind.",
    "They march to the second floor; one second, please.",
    "The sun rose and she sat down to mar the paint.",
    "Python 3.11 talks to 192.168.1.1, call 555-123-4567",
    "It costs $1999 or 2000 dollars, plus 1/2 cup of milk and 24/7 support",
    "He works on the 18th floor in Room 2019",
    "every Friday and on Mondays we rest",
    "meet me at 8pm",
    "we stayed for two weeks",
    "a christmas tree",
    "第二名住5号楼，坐3号线",
    "一周一次，每天三次，每年如此",
    "他工作了十年，还有三天假期，现在三年级",
    "下午五点见",
    "饭后30分钟散步",
)


def shown(span: DateSpan) -> str:
    if span.unresolved is not None:
        return span.unresolved
    return f"{_moment(span.start)}..{_moment(span.end)}"


def _moment(moment: datetime | None) -> str:
    if moment is None:
        return ""
    return moment.isoformat()[:19].removesuffix("T00:00:00").removesuffix(":00")


@pytest.mark.parametrize(("text", "meant"), [*ENGLISH.items(), *CHINESE.items()])
def test_an_expression_means_its_interval(text: str, meant: list[str]) -> None:
    assert [shown(span) for span in find_dates(text, WEDNESDAY)] == meant


@pytest.mark.parametrize("text", NOT_DATES)
def test_what_is_no_date_is_not_reported(text: str) -> None:
    assert [span.text for span in find_dates(text, WEDNESDAY)] == []


def test_a_span_stands_where_its_text_is() -> None:
    text = "Well — İzmir, LAST WEEK, ２０２０年 ５月 and “May 5, 2019”."
    spans = find_dates(text, WEDNESDAY)
    assert [span.text for span in spans] == ["LAST WEEK", "２０２０年 ５月", "May 5, 2019"]
    assert all(text[span.start_char : span.end_char] == span.text for span in spans)


def test_both_scripts_in_one_text() -> None:
    spans = find_dates("See you on 2024-05-01，我们上周五见过 next month", WEDNESDAY)
    assert [span.text for span in spans] == ["2024-05-01", "上周五", "next month"]


def test_the_language_decides_between_day_and_month_first() -> None:
    english = find_dates("3/7/2017", WEDNESDAY, "en")
    chinese = find_dates("3/7/2017", WEDNESDAY, "zh-CN")
    assert [shown(span) for span in english] == ["2017-03-07..2017-03-08"]
    assert [shown(span) for span in chinese] == ["2017-07-03..2017-07-04"]


@pytest.mark.parametrize(
    ("text", "granularity"),
    [
        ("in 2019", "year"),
        ("in June", "month"),
        ("last week", "week"),
        ("this weekend", "weekend"),
        ("yesterday", "day"),
        ("yesterday at 3pm", "hour"),
        ("yesterday at 3:15pm", "minute"),
        ("2024-01-01 10:20:30", "second"),
        ("Q2 2020", "quarter"),
        ("last summer", "season"),
        ("the 1980s", "decade"),
        ("the 20th century", "century"),
        ("from May to June", "range"),
        ("since May", "range"),
    ],
)
def test_granularity(text: str, granularity: str) -> None:
    assert [span.granularity for span in find_dates(text, WEDNESDAY)] == [granularity]


class TestAnchor:
    def test_days_are_the_speakers_days(self) -> None:
        late = datetime(2024, 3, 1, 2, tzinfo=timezone(timedelta(hours=8)))
        (span,) = find_dates("昨天", late)
        assert span.start == datetime(2024, 2, 28, 16, tzinfo=UTC)
        assert span.end == datetime(2024, 2, 29, 16, tzinfo=UTC)

    def test_a_named_zone_keeps_its_summer_time(self) -> None:
        winter = datetime(2024, 1, 10, 12, tzinfo=ZoneInfo("Europe/Berlin"))
        (span,) = find_dates("on 5 July 2023", winter)
        assert span.start == datetime(2023, 7, 4, 22, tzinfo=UTC)

    def test_without_one_absolute_dates_resolve_and_relative_ones_say_why_not(self) -> None:
        spans = find_dates("in June 2020, last week, in the 90s, on Friday", None)
        assert [shown(span) for span in spans] == [
            "2020-06-01..2020-07-01",
            "no anchor",
            "1990-01-01..2000-01-01",
            "no anchor",
        ]

    def test_relative_tells_what_hangs_on_it(self) -> None:
        spans = find_dates("in June 2020, last week, in June", WEDNESDAY)
        assert [span.relative for span in spans] == [False, True, True]

    def test_a_naive_one_is_refused(self) -> None:
        with pytest.raises(ValueError, match="naive"):
            find_dates("yesterday", datetime(2024, 1, 1))

    def test_an_unknown_language_is_refused(self) -> None:
        with pytest.raises(ValueError, match="'fr'"):
            find_dates("hier", WEDNESDAY, "fr")

    @pytest.mark.parametrize("year", [1, 9999])
    def test_the_ends_of_the_calendar(self, year: int) -> None:
        edge = datetime(year, 1 if year == 1 else 12, 1 if year == 1 else 31, tzinfo=UTC)
        for text in ("yesterday", "tomorrow", "last week", "next century", "in 3 years", "去年"):
            for span in find_dates(text, edge):
                assert (span.unresolved is None) == (span.start is not None)


# Properties

_WORDS = [
    *dates_en_words.MONTHS,
    *dates_en_words.WEEKDAYS,
    *dates_en_words.UNITS,
    *dates_en_words.MODIFIERS,
    *dates_en_words.PARTS,
    *dates_en_words.ONES,
    *dates_en_words.TENS,
    *dates_en_words.SCALES,
    *dates_en_words.ORDINALS,
    *dates_en_holidays.HOLIDAY_STARTS,
    *"of the a in on at from to between since until before after ago later - / , . ' s th".split(),
    *"0 1 2 4 10 12 29 31 99 2019 2020 9999 99999 12345678901234567890 8:30 3pm 1/2 now".split(),
]
_CHARS = [
    *"〇一二三四五十百千万廿半正腊大今昨明后前去本这上下周星期最近过",
    *"第初末年月季的到至和与从自天日号点内以",
    *dates_zh_words.HOLIDAYS,
    *dates_zh_words.YEARS_NAMED,
    *dates_zh_words.DAYS_NAMED,
    *dates_zh_words.ERAS,
    *"2019年 5月 31日 0 99 13月 - / . 星期一 周末 天前 个月后 小时".split(),
]
_NEAR_DATES = st.one_of(
    st.lists(st.sampled_from(sorted(_WORDS)), max_size=9).map(" ".join),
    st.lists(st.sampled_from(sorted(_CHARS)), max_size=12).map("".join),
    st.lists(st.sampled_from(sorted(_WORDS + _CHARS)), max_size=9).map("".join),
)
_ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()), max_size=80)
_ANCHORS = st.one_of(
    st.none(),
    st.datetimes(
        timezones=st.integers(-14 * 60, 14 * 60).map(
            lambda minutes: timezone(timedelta(minutes=minutes))
        )
    ),
)


@settings(max_examples=400, deadline=None)
@given(text=st.one_of(_ANY_TEXT, _NEAR_DATES), anchor=_ANCHORS)
@example(text="9" * 5000 + " years ago", anchor=WEDNESDAY)
@example(text="\ud800 yesterday \udfff昨天", anchor=WEDNESDAY)
@example(text="30,for 1,000 days", anchor=WEDNESDAY)
@example(text="5月前晚上年黑色星期五", anchor=WEDNESDAY)
@example(text="²/³/2020 ٣ days ago", anchor=WEDNESDAY)
def test_no_input_raises_and_every_span_is_sound(text: str, anchor: datetime | None) -> None:
    for language in (None, "en", "zh"):
        spans = find_dates(text, anchor, language)
        assert spans == find_dates(text, anchor, language)
        reached = 0
        for span in spans:
            assert reached <= span.start_char < span.end_char <= len(text)
            assert span.text == text[span.start_char : span.end_char]
            assert (span.unresolved is None) == ((span.start, span.end) != (None, None))
            assert span.start is None or span.end is None or span.start < span.end
            assert anchor is not None or span.unresolved is not None or not span.relative
            reached = span.end_char


@given(
    day=st.dates(min_value=datetime(1500, 1, 1).date(), max_value=datetime(2199, 12, 30).date()),
    form=st.sampled_from(
        ["{y}-{m:02}-{d:02}", "{y}/{m}/{d}", "{y}年{m}月{d}日", "{d} {name} {y}", "{name} {d}, {y}"]
    ),
)
def test_a_full_date_reads_back_in_every_form(day: datetime, form: str) -> None:
    name = datetime(2000, day.month, 1).strftime("%B")
    text = form.format(y=day.year, m=day.month, d=day.day, name=name)
    (span,) = find_dates(text, None)
    start = datetime(day.year, day.month, day.day, tzinfo=UTC)
    assert (span.start, span.end) == (start, start + timedelta(days=1))
    assert not span.relative


@given(
    anchor=st.datetimes(min_value=datetime(1900, 1, 1), max_value=datetime(2100, 1, 1)),
    days=st.integers(0, 3000),
)
def test_both_languages_count_days_alike(anchor: datetime, days: int) -> None:
    moment = anchor.replace(tzinfo=UTC)
    (english,) = find_dates(f"{days} days ago", moment)
    (chinese,) = find_dates(f"{days}天前", moment)
    assert english.start == moment.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(
        days=days
    )
    if days:
        assert (chinese.start, chinese.end) == (english.start, english.end)


@given(anchor=st.datetimes(min_value=datetime(1900, 1, 1), max_value=datetime(2100, 1, 1)))
def test_weeks_tile_the_calendar(anchor: datetime) -> None:
    spans = find_dates("last week, this week, next week", anchor.replace(tzinfo=UTC))
    starts = [span.start for span in spans]
    assert [span.end for span in spans[:-1]] == starts[1:]
    assert all(start is not None and start.weekday() == 0 for start in starts)


@pytest.mark.parametrize(
    "piece",
    [
        *("1", "1 ", "1/", "1-", "2019-", "one ", "twenty ", "a half ", "1 day and ", "May "),
        *("the end of ", "week of ", "from ", "two weeks after ", "a", " ", "\ud800"),
        *("since 2019 ", "until May ", "from 3 May ", "自2019年起", "到五月 "),
        *("一", "年", "一年", "上", "的", "前一", "1月", "、", "从"),
    ],
)
def test_repeats_take_linear_time(piece: str) -> None:
    assert_linear(lambda size: find_dates(piece * (size // len(piece)), WEDNESDAY), 6_000)


# The recorded measure


def _bench() -> ModuleType:
    spec = importlib.util.spec_from_file_location("temporal", ROOT / "bench" / "temporal.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("language", "right"), [("en", 0.96), ("zh", 0.95)])
def test_the_recorded_expressions(language: str, right: float) -> None:
    path = MEASURES / f"dev_{language}.json"
    if not path.exists():
        pytest.skip(f"{path} is not in this checkout; the figures are measured where it is")
    result = _bench().measure(path)
    assert result["right"] >= right
    assert result["wrong"] <= 0.02


@pytest.mark.parametrize(
    "text", ["农历八月十五", "农历2015年十月初一", "大年初一见", "正月三十", "腊月"]
)
def test_the_lunar_calendar_is_not_guessed(text: str) -> None:
    (span,) = find_dates(text, datetime(2017, 3, 22, tzinfo=UTC))
    assert span.unresolved == "lunar calendar"


@pytest.mark.parametrize(
    ("text", "recurs"),
    [
        ("My birthday is on May 5.", True),
        ("Our wedding anniversary's May 5.", True),
        ("May 5 is my mother's birthday.", True),
        ("我的生日是5月5日。", True),
        ("5月5日是我们的结婚纪念日。", True),
        ("My birthday is on May 5, 1990.", False),
        ("We celebrated my birthday on May 5.", False),
        ("My birthday party is on May 5.", False),
        ("We met on May 5.", False),
    ],
)
def test_the_day_of_a_birthday_is_one_of_every_year(text: str, recurs: bool) -> None:
    (found,) = find_dates(text, WEDNESDAY)
    assert found.recurs == recurs

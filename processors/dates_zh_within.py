"""Chinese periods inside a larger one: the month of a year, the last week of a month.

`narrowed` follows the chain that begins behind a period already read: 去年 / 三月 / 初. The
patterns for months, days, quarters, seasons and holidays are shared with the heads in
`dates_zh_points`.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from memstream.processors.dates_calendar import (
    Child,
    Cycle,
    Fixed,
    Interval,
    Meaning,
    Unresolvable,
    inside,
    interval,
    period_at,
    plus_days,
)
from memstream.processors.dates_holidays import (
    holiday_in_year,
)
from memstream.processors.dates_within import (
    Part,
    day_in_month,
    day_in_year,
    end_of_year,
    first_in,
    half_in_year,
    last_in,
    month_in_year,
    nth_in,
    nth_weekday,
    part,
    quarter_in_year,
    season_in_year,
    weekday_in_week,
)
from memstream.processors.dates_zh_words import (
    HOLIDAYS,
    LUNAR_HOLIDAYS,
    LUNAR_MONTHS,
    NUMBER,
    SEASONS,
    UNITS,
    WEEKDAYS,
    number,
)

DAY_CHARS = "[一二三四五六日天1-6]"
WEEK = "(?:周|星期|礼拜)"
NOT_DAY = r"(?![线楼门院机店房台文车室球码牌位床厅桌岛仓选员电])"  # "3号线" is a metro line


MONTH = re.compile(
    r"(?P<n>1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九])月份?(?![球亮])|(?P<lunar>[正腊冬])月|元月份?"
)
LUNAR_DAY = (
    r"初[一二三四五六七八九十]|廿[一二三四五六七八九]?|卅|二?十[一二三四五六七八九]?|三十一?"
)
DAY = re.compile(
    rf"(?P<n>[12][0-9]|3[01]|0?[1-9]|{LUNAR_DAY}|[一二三四五六七八九])(?:日|号){NOT_DAY}"
    r"|(?P<bare>初[一二三四五六七八九十]|廿[一二三四五六七八九]?|二?十[一二三四五六七八九]?|三十一?)"
    r"(?![个位次天年月周点人名块元斤多几分岁件份家万千百零级])"
)
FIRST_OF_DAYS = re.compile(rf"(?P<n>{NUMBER})(?= ?(?:-|~|到|至) ?{NUMBER}[日号])")
QUARTER = re.compile(
    r"第?(?P<n>[一二三四1-4首])(?:个?季度|季(?!节|[^,。的度]))|[Qq](?P<q>[1-4])(?![0-9])"
)
SEASON = re.compile(
    r"(?P<n>[春夏秋冬])(?:[天季](?!节)|日(?![子常])|(?![节游运晚联装令眠泳天季日]))"
)
HOLIDAY = re.compile(
    "(?P<solar>"
    + "|".join(sorted(HOLIDAYS, key=len, reverse=True))
    + ")(?:节|当天|那天)?(?![树歌卡帽袜颂红装]|老人|礼物)|(?P<lunar>"
    + "|".join(LUNAR_HOLIDAYS)
    + ")节?"
)
PARTS: dict[str, Part] = {"初": "early", "中": "mid", "底": "late", "末": "late"}
SHORT_HOLIDAY = re.compile(
    r"(?P<n>三八|五一|六一|八一|十一)(?![月日号点个年天万千百十一二三四五六七八九])"
)
SHORT_DAYS = {"三八": (3, 8), "五一": (5, 1), "六一": (6, 1), "八一": (8, 1), "十一": (10, 1)}


_CHILD_GAP = re.compile(r"(?:的|,|，|、)?")
_COUNTED_EDGE = re.compile(
    rf"(?P<which>前|头|最初|开始|最前面?|最后|末|后|最末)(?P<n>{NUMBER})个?(?P<unit>季度|星期|礼拜|小时|周末|月|周|天|日|年)"
    rf"(?!(?:(?<=周)|(?<=星期)|(?<=礼拜)){DAY_CHARS})"
)
_NTH = re.compile(
    rf"(?:第(?P<n>{NUMBER})|(?P<last>最后一?)|(?P<first>首|头一?))个?"
    rf"(?:(?:{WEEK})(?P<weekday>{DAY_CHARS})|(?P<unit>季度|星期|礼拜|周末|月|周|天|日))"
)
_IN_YEAR_PART = re.compile(r"年?(?P<which>[初中底末])(?:期|叶)?(?![一二三四五六七八九十级学])")
_IN_MONTH_PART = re.compile(r"月?(?P<which>[初中底末])(?![一二三四五六七八九十国学考])")
_IN_WEEK_PART = re.compile(r"(?P<which>[初中])(?![国学])")
_TEN_DAYS = re.compile(r"(?P<which>[上中下])旬")
_HALF = re.compile(r"(?P<which>[上下前后])半个?(?:年度?|月|周|星期|期)")
_WEEKDAY_INSIDE = re.compile(rf"{WEEK}?(?P<n>{DAY_CHARS})(?![个月年周号点次])")
_WEEKDAY_BESIDE = re.compile(rf"[,， (（]*{WEEK}{DAY_CHARS}[)）]?")
_REGNAL_DAY = re.compile(rf"大年(?P<n>初[一二三四五六七八九十]|{LUNAR_DAY})")


def narrowed(text: str, meaning: Meaning, end: int) -> tuple[Meaning, int]:
    """Follows the chain of smaller periods: 去年 / 三月 / 初."""
    for _ in range(4):
        if end >= len(text):
            break
        gap = _CHILD_GAP.match(text, end)
        start = gap.end() if gap else end
        found = _child(text, start, meaning)
        if found is None or (found[0].unit == "weekday" and start > end):
            break
        child, end = found
        meaning = inside(child, meaning)
    if meaning.unit == "day":
        beside = _WEEKDAY_BESIDE.match(text, end)
        end = beside.end() if beside else end
    return meaning, end


def _child(text: str, at: int, parent: Meaning) -> tuple[Child, int] | None:
    unit = parent.unit
    if at >= len(text):
        return None
    if unit == "year" and isinstance(parent, Fixed) and not parent.named_year:
        last = _IN_YEAR_PART.match(text, at)
        if last and last["which"] in "底末":
            return end_of_year(), last.end()
    for reader in _CHILDREN.get(unit, ()):
        found = reader(text, at, unit)
        if found is not None:
            return found
    return None


def _child_month(text: str, at: int, _: str) -> tuple[Child, int] | None:
    found = MONTH.match(text, at)
    return (month_in_year(month_value(found)), found.end()) if found else None


def _child_day(text: str, at: int, _: str) -> tuple[Child, int] | None:
    found = DAY.match(text, at)
    if found is None or text[at - 1] in ",、":
        return None
    value = day_value(found["n"] or found["bare"])
    return (day_in_month(value), found.end()) if 1 <= value <= 31 else None


def _child_first_day(text: str, at: int, _: str) -> tuple[Child, int] | None:
    """The 3 of "5月3-8日": the unit stands only behind the last day."""
    found = FIRST_OF_DAYS.match(text, at)
    value = int(number(found["n"])) if found else 0
    return (day_in_month(value), found.end()) if found and 1 <= value <= 31 else None


def _child_quarter(text: str, at: int, _: str) -> tuple[Child, int] | None:
    found = QUARTER.match(text, at)
    return (quarter_in_year(quarter_value(found)), found.end()) if found else None


def _child_season(text: str, at: int, _: str) -> tuple[Child, int] | None:
    found = SEASON.match(text, at)
    return (season_in_year(SEASONS[found["n"]]), found.end()) if found else None


def _child_holiday(text: str, at: int, _: str) -> tuple[Child, int] | None:
    found = HOLIDAY.match(text, at)
    if found is None:
        new_year = _REGNAL_DAY.match(text, at)
        if new_year is None:
            return None
        return day_in_year(1, day_value(new_year["n"])), new_year.end()
    if found["lunar"]:
        return Child("day", "year", _no_lunar_rule), found.end()
    return holiday_in_year(HOLIDAYS[found["solar"]]), found.end()


def _child_short_holiday(text: str, at: int, _: str) -> tuple[Child, int] | None:
    found = SHORT_HOLIDAY.match(text, at)
    return (short_holiday_child(found), found.end()) if found else None


def _no_lunar_rule(_: Interval) -> Interval:
    raise Unresolvable("lunar calendar")


def _child_half(text: str, at: int, unit: str) -> tuple[Child, int] | None:
    found = _HALF.match(text, at)
    if found is None:
        return None
    first = found["which"] in "上前"
    if unit == "year":
        return half_in_year(1 if first else 2), found.end()
    return half_of(unit, first), found.end()


def _child_part(text: str, at: int, unit: str) -> tuple[Child, int] | None:
    pattern = {"month": _IN_MONTH_PART, "week": _IN_WEEK_PART}.get(unit, _IN_YEAR_PART)
    found = pattern.match(text, at)
    return (part_of(PARTS[found["which"]], unit), found.end()) if found else None


def _child_ten_days(text: str, at: int, _: str) -> tuple[Child, int] | None:
    found = _TEN_DAYS.match(text, at)
    if found is None:
        return None
    first, last = {"上": (0, 10), "中": (10, 20), "下": (20, None)}[found["which"]]

    def build(month: Interval) -> Interval:
        end = month.end if last is None else plus_days(month.start, last)
        return interval(plus_days(month.start, first), end, "range")

    return Child("range", "month", build), found.end()


def _child_edge(text: str, at: int, unit: str) -> tuple[Child, int] | None:
    found = _COUNTED_EDGE.match(text, at)
    if found is None:
        return None
    n = int(number(found["n"]))
    if not 1 <= n <= 10_000:
        return None
    inner = UNITS[found["unit"]]
    cycle: Cycle = "month" if unit == "month" else "year"
    first = found["which"] in ("前", "头", "最初", "开始", "最前", "最前面")
    return (first_in if first else last_in)(n, inner, cycle), found.end()


def _child_nth(text: str, at: int, unit: str) -> tuple[Child, int] | None:
    found = _NTH.match(text, at)
    if found is None:
        return None
    n = -1 if found["last"] else 1 if found["first"] else int(number(found["n"]))
    if found["weekday"]:
        return nth_weekday(n, WEEKDAYS[found["weekday"]]), found.end()
    inner = UNITS[found["unit"]]
    if inner == unit or not (n == -1 or 1 <= n <= 400):
        return None
    if inner == "quarter" and 1 <= n <= 4:
        return quarter_in_year(n), found.end()
    return nth_in(n, inner, "month" if unit == "month" else "year"), found.end()


def _child_weekday(text: str, at: int, _: str) -> tuple[Child, int] | None:
    found = _WEEKDAY_INSIDE.match(text, at)
    if found is None:
        return None
    direct = text[at] not in "周星礼"
    if direct and text[at - 1] not in "周期拜":
        return None
    return weekday_in_week(WEEKDAYS[found["n"]]), found.end()


def _child_weekend(text: str, at: int, _: str) -> tuple[Child, int] | None:
    for name in ("周末", "末"):
        if text.startswith(name, at) and (name == "周末" or text[at - 1] in "周期拜"):
            return Child("weekend", "week", lambda w: period_at("weekend", w.start)), at + len(name)
    return None


_ChildReader = Callable[[str, int, str], tuple[Child, int] | None]
_CHILDREN: dict[str, tuple[_ChildReader, ...]] = {
    "year": (
        _child_edge,
        _child_nth,
        _child_short_holiday,
        _child_month,
        _child_quarter,
        _child_half,
        _child_season,
        _child_holiday,
        _child_part,
    ),
    "month": (
        _child_edge,
        _child_nth,
        _child_first_day,
        _child_day,
        _child_ten_days,
        _child_half,
        _child_part,
    ),
    "week": (_child_weekend, _child_weekday, _child_half, _child_part),
    "quarter": (_child_edge, _child_nth, _child_part),
    "decade": (_child_part,),
    "century": (_child_part,),
}


def month_value(found: re.Match[str]) -> int:
    if found["n"]:
        return int(number(found["n"]))
    return LUNAR_MONTHS[found["lunar"]] if found["lunar"] else 1


def day_value(written: str) -> int:
    return int(number(written.removeprefix("初")))


def quarter_value(found: re.Match[str]) -> int:
    written = found["n"] or found["q"]
    return 1 if written == "首" else int(number(written))


def half_of(unit: str, first: bool) -> Child:
    return part("early" if first else "late", unit)


def part_of(which: Part, unit: str) -> Child:
    return part(which, unit, named_year=True)


def short_holiday_child(found: re.Match[str]) -> Child:
    return day_in_year(*SHORT_DAYS[found["n"]])

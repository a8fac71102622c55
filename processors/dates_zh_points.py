"""Chinese expressions for one period: "2023年5月", "上上周三", "去年的最后一个星期", "三天前".

An expression is a head followed by periods inside it: a year, then its month, then a day of that.
`point` reads the longest one at a place of a folded text (see `dates_zh_words`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from memstream.processors.dates_calendar import (
    Context,
    Fixed,
    Interval,
    Meaning,
    ahead,
    behind,
    failed,
    finest_clock_unit,
    inside,
    lasting,
    moved,
    period_at,
    relative,
    year_number,
    years,
)
from memstream.processors.dates_holidays import (
    holiday_in_year,
)
from memstream.processors.dates_numeric import (
    numeric_date,
    two_digit_year,
)
from memstream.processors.dates_within import (
    day_in_month,
    half_in_year,
    month_in_year,
    nth_in,
    quarter_in_year,
    rest_of,
    season_in_year,
    weekday,
    weekday_in_week,
    whole_week,
)
from memstream.processors.dates_zh_within import (
    DAY,
    DAY_CHARS,
    HOLIDAY,
    LUNAR_DAY,
    MONTH,
    PARTS,
    QUARTER,
    SHORT_HOLIDAY,
    WEEK,
    day_value,
    half_of,
    month_value,
    narrowed,
    part_of,
    quarter_value,
    short_holiday_child,
)
from memstream.processors.dates_zh_words import (
    APPROXIMATE,
    DAYS_NAMED,
    ERAS,
    HOLIDAYS,
    LUNAR_HOLIDAYS,
    NUMBER,
    SEASONS,
    UNITS,
    WEEKDAYS,
    YEARS_NAMED,
    duration,
    number,
)

Match = tuple[Meaning, int] | None
Head = Callable[[str, int], Match]


def point(text: str, at: int) -> Match:
    """The longest period that begins at `at`."""
    best: Match = None
    for head in _HEADS.get(text[at : at + 1], ()):
        found = head(text, at)
        if found is not None:
            found = narrowed(text, *found)
            if best is None or found[1] > best[1]:
                best = found
    return best


# Years


_YEAR = re.compile(
    r"(?:公元|西元)?(?P<n>[0-9]{2,4}|[零〇一二三四五六七八九]{2,4}|[一二两]千[零〇一二三四五六七八九十百]{0,6})"
    r"年(?![代级龄纪])"
)
_ERA = re.compile(rf"(?P<era>{'|'.join(ERAS)})(?P<n>元|{NUMBER})年")
_NAMED_YEAR = re.compile("|".join(sorted(YEARS_NAMED, key=len, reverse=True)))
_BEFORE_CHRIST = re.compile(rf"(?:公元|西元|纪元)前{NUMBER}年")
_AS_DURATION = re.compile(r"(?:之|以)?[前内]|来|间|(?:之|以|过)?后|多|半|的(?:时间|历史|经验)")
_DIVIDED = re.compile(
    r"的?(?:[0-9一二三四五六七八九十正元腊]{1,3}月|[初底末中春夏秋冬]|[上下]半年|第|Q)"
)
_PASSING_YEARS = frozenset(("", *"了过来前后内间多半的，。,"))
_YEAR_LEADS = frozenset("在于从到至自是由和与跟及,、")


def _numbered_year(text: str, at: int) -> Match:
    found = _YEAR.match(text, at)
    if found is None or (at and text[at - 1] in "0123456789零〇一二三四五六七八九十百千万第.:"):
        return None
    written = found["n"]
    value = int(number(written))
    end = found.end()
    if len(written) <= 2 and not found[0].startswith(("公", "西")):
        divided = _DIVIDED.match(text, end) is not None
        lead = at > 0 and text[at - 1] in _YEAR_LEADS
        opens = at == 0 or text[at - 1] in "，。；！？,;!? \n"
        lead = lead or (opens and written.isascii() and text[end : end + 1] not in _PASSING_YEARS)
        sure = written[0] in "0零〇" or value >= 50 or divided or lead
        if not divided and (_AS_DURATION.match(text, end) and written[0] not in "0零〇"):
            return None
        if not written.isascii():
            sure = written not in APPROXIMATE or divided
        if not sure:
            return None
        value = two_digit_year(value)
    return (year_number(value), end) if 1 <= value <= 9998 else None


def _era_year(text: str, at: int) -> Match:
    found = _ERA.match(text, at)
    if found is None:
        return None
    n = 1 if found["n"] == "元" else int(number(found["n"]))
    return (year_number(ERAS[found["era"]] + n - 1), found.end()) if 1 <= n <= 150 else None


def _before_christ(text: str, at: int) -> Match:
    found = _BEFORE_CHRIST.match(text, at)
    return (failed("out of range", "year"), found.end()) if found else None


def _named_year(text: str, at: int) -> Match:
    found = _NAMED_YEAR.match(text, at)
    if found is None or (at and text[at - 1] in "0123456789一二两三四五六七八九十几"):
        return None
    if _goes_up(text, at, found.end()):
        return None
    offset = YEARS_NAMED[found[0]]
    same = _SAME_DAY.match(text, found.end())
    if same and offset:
        return moved(None, [(abs(offset), "year")], 1 if offset > 0 else -1), same.end()
    return relative("year", offset), found.end()


def _goes_up(text: str, at: int, end: int) -> bool:
    """Whether 上 or 下 is a verb, as what follows is of another word: 会上年度总结, 上年纪。"""
    if text[at] not in "上下" or text[end - 1] not in "年月周":
        return False
    if text[end - 1] == "年" and text[end : end + 1] in ("纪", "级", "龄", "会", "货", "夜"):
        return True
    led = at > 0 and text[at - 1] in "会要想得能去"
    return led and text[end : end + 1] in ("度", "会", "报", "考", "刊", "终")


# Decades and centuries

_DECADE = re.compile(
    r"(?:(?P<relative>上个?|本|这个?|下个?)世纪|(?P<century>[0-9]{1,2}|[一二三四五六七八九十]{1,3})世纪)?"
    r"的?(?P<n>[0-9]{2,4}|[一二三四五六七八九〇零]{1,4}十?)年代"
)
_CENTURY = re.compile(r"(?:公元)?(?P<n>[0-9]{1,2}|[一二三四五六七八九十]{1,3})世纪")


def _decade(text: str, at: int) -> Match:
    found = _DECADE.match(text, at)
    if found is None or (at and text[at - 1].isascii() and text[at - 1].isdigit()):
        return None
    value = int(number(found["n"]))
    if value % 10 or not (value < 100 or 1000 <= value <= 2990):
        return None
    if value >= 1000:
        return Fixed("decade", lambda _: years(value, 10, "decade")), found.end()
    if found["century"]:
        first = (int(number(found["century"])) - 1) * 100 + value
        return Fixed("decade", lambda _: years(first, 10, "decade")), found.end()
    offset = {"上": -1, "下": 1}.get((found["relative"] or "本")[0], 0)
    if found["relative"] is None and value >= 30:
        return Fixed("decade", lambda _: years(1900 + value, 10, "decade")), found.end()

    def at_anchor(context: Context) -> Interval:
        first = (context.today.year // 100 + offset) * 100 + value
        if found["relative"] is None and first > context.today.year:
            first -= 100
        return years(first, 10, "decade")

    return Fixed("decade", at_anchor), found.end()


def _century(text: str, at: int) -> Match:
    found = _CENTURY.match(text, at)
    n = int(number(found["n"])) if found else 0
    if found is None or not 1 <= n <= 90:
        return None
    first = max(1, (n - 1) * 100)
    return Fixed("century", lambda _: years(first, n * 100 - first, "century")), found.end()


# Relative periods: 上个月, 下下周, 本季度, 这个周末

_RELATIVE = re.compile(
    r"(?P<which>上+|下+|这|本|当|今|前|后)(?P<one>一)?个?(?P<unit>季度|星期|礼拜|世纪|周末|周|月|年)"
    r"(?![0-9]*半|代|初一)"
)
_HALVES = re.compile(r"(?P<which>[上下前后])半个?(?P<unit>年度?|月|周|星期|季度)")


def _relative(text: str, at: int) -> Match:
    found = _RELATIVE.match(text, at)
    if found is None or (at and text[at - 1] in "每早晚以之") or _goes_up(text, at, found.end()):
        return None
    which, unit = found["which"], UNITS[found["unit"]]
    end = found.end()
    if which in ("当", "今") and (unit not in ("month", "year", "week") or found["one"]):
        return None
    if which in ("前", "后"):  # 前一周 counts days back, 前年 is a name
        if not found["one"]:
            return None
        parts = [(1.0, unit)]
        return (behind(parts) if which == "前" else ahead(parts)), end
    offset = {"上": -1, "下": 1}.get(which[0], 0) * len(which)
    return relative(unit, offset), end


def _halves(text: str, at: int) -> Match:
    found = _HALVES.match(text, at)
    if found is None:
        return None
    unit = {"年": "year", "月": "month", "季": "quarter"}.get(found["unit"][0], "week")
    first = found["which"] in "上前"
    child = half_in_year(1 if first else 2) if unit == "year" else half_of(unit, first)
    return inside(child, relative(unit)), found.end()


# Months, days, weekdays


_LUNAR_REST = re.compile(r"[0-9零〇一二三四五六七八九十廿卅正冬腊闰初年月日号]*")
_SOLAR_CALENDARS = ("阳历", "公历", "新历")
_CALENDAR_NAME = re.compile(r"农历|阴历|旧历|夏历|阳历|公历|新历")


_NEW_YEAR_DAY = re.compile(rf"大年(?P<n>初[一二三四五六七八九十]|{LUNAR_DAY})")
_NAMED_YI = "(?!(?<=周一)[鸣帆航凡诺涵轩彤菲鹏峰楠宸铭恒卓])"  # somebody called 周一鸣
_WEEKDAY = re.compile(rf"{WEEK}(?P<n>{DAY_CHARS}){_NAMED_YI}")
_PART = "(?:早上|上午|中午|下午|傍晚|晚上|晚)?"
_OF_MANY = re.compile(  # 每周二、周四; 隔周的周三
    rf"(?:每|逢|隔|单|双)个?(?:{WEEK}{DAY_CHARS}?{_PART}(?:[、和与及跟到至,，/的]|还有|以及|或者?))+$"
    rf"|(?:每个|隔[一两二三]个?{WEEK}的)$"
)


def _month(text: str, at: int) -> Match:
    found = MONTH.match(text, at)
    if found is None or (at and text[at - 1] in "0123456789十第/.-" and not _ends_hyphen(text, at)):
        return None
    if found["lunar"]:
        return _lunar(text, at)
    return inside(month_in_year(month_value(found))), found.end()


def _ends_hyphen(text: str, at: int) -> bool:
    return text[at - 1] == "-" and at > 1


def _calendar_name(text: str, at: int) -> Match:
    """The named calendar's date. The lunar calendar is not computed here, so it is not guessed."""
    found = _CALENDAR_NAME.match(text, at)
    if found is None or found.end() >= len(text):
        return None
    for head in (_numbered_year, _named_year, _month, _day):
        inner = head(text, found.end())
        if inner:
            return inner if found.group() in _SOLAR_CALENDARS else _lunar(text, found.end())
    return None


def _lunar(text: str, at: int) -> Match:
    rest = _LUNAR_REST.match(text, at)
    return failed("lunar calendar"), rest.end() if rest else at


def _new_year_day(text: str, at: int) -> Match:
    found = _NEW_YEAR_DAY.match(text, at)
    if found is None:
        return None
    return failed("lunar calendar"), found.end()


def _day(text: str, at: int) -> Match:
    found = DAY.match(text, at)
    if found is None or found["n"] is None or (at and text[at - 1] in "0123456789第每.:/几数"):
        return None
    if (at and text[at - 1] in "一二三四五六七八九十百千零个") or text[at : at + 2] in (
        "一日",
        "三日",
    ):
        return None
    value = day_value(found["n"])
    return (inside(day_in_month(value)), found.end()) if 1 <= value <= 31 else None


def _weekday(text: str, at: int) -> Match:
    found = _WEEKDAY.match(text, at)
    if found is None or (at and text[at - 1] in "每0123456789一二两三四五六七八九十半逢前"):
        return None
    if _OF_MANY.search(text, max(0, at - 24), at):
        return None
    return weekday(WEEKDAYS[found["n"]]), found.end()


def _weekend(text: str, at: int) -> Match:
    if not text.startswith(("周末", "这周末"), at) or (at and text[at - 1] in "每个"):
        return None

    def meant(context: Context) -> Interval:
        here = period_at("weekend", context.today)
        past = context.tense() is False and here.start > context.today
        return period_at("weekend", context.today, -1) if past else here

    return Fixed("weekend", meant), at + 2


_NAMED_DAY = re.compile("|".join(sorted(DAYS_NAMED, key=len, reverse=True)))


def _named_day(text: str, at: int) -> Match:
    found = _NAMED_DAY.match(text, at)
    if found is None or (at and text[at - 1] in "0123456789一二两三四五六七八九十几以之"):
        return None
    return relative("day", DAYS_NAMED[found[0]]), found.end()


# Quarters, seasons, holidays


_SEASON_AFTER_THIS = re.compile(r"(?P<which>这|今|上+|下+|本)(?:一?个)?(?P<n>[春夏秋冬])[天季]?")


# 五一 and 十一 are holidays beside a year or a word for one, and plain numbers elsewhere.

_HOLIDAY_WORD = re.compile("节|假期|长假|小长假|期间|黄金周|当天")


def _short_holiday(text: str, at: int) -> Match:
    found = SHORT_HOLIDAY.match(text, at)
    if found is None or not _HOLIDAY_WORD.match(text, found.end()):
        return None
    return inside(short_holiday_child(found)), found.end()


def _quarter(text: str, at: int) -> Match:
    found = QUARTER.match(text, at)
    if found is None or (at and text[at - 1] in "0123456789十个"):
        return None
    if "个" in found[0] and not found[0].startswith("第"):
        return None
    return inside(quarter_in_year(quarter_value(found))), found.end()


def _season_after_this(text: str, at: int) -> Match:
    found = _SEASON_AFTER_THIS.match(text, at)
    if found is None:
        return None
    child = season_in_year(SEASONS[found["n"]])
    offset = {"上": -1, "下": 1}.get(found["which"][0], 0) * len(found["which"])
    return inside(child, relative("year", offset)), found.end()


def _holiday(text: str, at: int) -> Match:
    found = HOLIDAY.match(text, at)
    if found is None:
        return None
    if found["lunar"]:
        return failed("lunar calendar"), found.end()
    return inside(holiday_in_year(HOLIDAYS[found["solar"]])), found.end()


# Parts of the running year, month or week: 月底, 年初, 本周末尾


_RUNNING_PART = re.compile(
    r"(?P<unit>[年月季])(?P<which>[初中底末])(?![一二三四五六七八九十级学考])"
)
_NTH_WEEK = re.compile(rf"第(?P<n>{NUMBER})个?{WEEK}(?!{DAY_CHARS})")


def _running_part(text: str, at: int) -> Match:
    found = _RUNNING_PART.match(text, at)
    if found is None or (at and text[at - 1] in "0123456789一二三四五六七八九十零〇个每半"):
        return None
    unit = {"年": "year", "月": "month", "季": "quarter"}[found["unit"]]
    return inside(part_of(PARTS[found["which"]], unit), relative(unit)), found.end()


def _nth_week(text: str, at: int) -> Match:
    found = _NTH_WEEK.match(text, at)
    n = int(number(found["n"])) if found else 0
    if found is None or not 10 <= n <= 53:  # 第一周 is more often the first week of a plan
        return None
    return inside(nth_in(n, "week", "year"), relative("year")), found.end()


_REST = re.compile(
    r"(?P<unit>今年|本年|这个?月|本月|本周|这周|这个?星期|今天)(?:的)?(?:剩下|剩余|余下)(?:的)?(?:时间|日子|天数)?"
)


def _rest(text: str, at: int) -> Match:
    found = _REST.match(text, at)
    if found is None:
        return None
    unit = next((UNITS[c] for c in found["unit"] if c in "年月周"), "week")
    return rest_of(relative(unit)), found.end()


# Durations: 三天前, 两周后, 过去三年, 未来两天, 一年内

_BEHIND_LEADS = "前面|前|上|近|最近|过去|之前|以往|这|刚过去"
_AHEAD_LEADS = "后面|后|下|未来|接下来|今后|往后|将来|之后|随后|以后"
_LEAD = re.compile(
    rf"(?:(?P<behind>{_BEHIND_LEADS})|(?P<ahead>{_AHEAD_LEADS}))(?:的)?(?=[0-9一二两三四五六七八九十半百])"
)
_AFTERWARDS = re.compile(
    r"(?P<ago>(?:之|以)?前(?![往台者面进途提])|早些时候)|(?P<later>(?:之|以|过)?后(?![来面勤台])|过后)"
    r"|(?P<within>(?:之|以)?内(?![容部]))|(?P<since>(?:以)?来(?![自到源]))"
)


def _follows_noun(text: str, at: int) -> bool:
    """Whether 前 or 后 belongs to what stands before it, as in 饭后 or 比赛前."""
    return at > 0 and "\u4e00" <= text[at - 1] <= "\u9fff" and text[at - 1] not in _PARTICLES


_PARTICLES = frozenset("的在了是从于和与或跟我你他她它们就将会要这那至少")
_SAME_DAY = re.compile("的今[天日]")
_OF_WEEKDAY = re.compile(rf"的?{WEEK}(?P<n>{DAY_CHARS})")


def _led_duration(text: str, at: int) -> Match:
    lead = _LEAD.match(text, at)
    length = duration(text, lead.end()) if lead else None
    if lead is None or length is None:
        return None
    parts, end = length
    if lead[0] in ("前", "后") and (finest_clock_unit(parts) or _follows_noun(text, at)):
        return None
    if lead[0].rstrip("的") in ("上", "下") and len(parts) == 1 and parts[0][0] == 1:
        return None
    if parts[0][1] == "day" and text[end - 1] == "日" and lead["behind"] == "上":
        return None
    if lead["behind"]:
        end += 1 if text.startswith("来", end) else 0
        return behind(parts), end
    end += 1 if text.startswith(("内", "里"), end) else 0
    return ahead(parts), end


def _followed_duration(text: str, at: int) -> Match:
    if at and text[at - 1] in "0123456789.第零一二两三四五六七八九十百千万":
        return None
    length = duration(text, at)
    if length is None:
        return None
    parts, end = length
    after = _AFTERWARDS.match(text, end)
    if after is None:
        return None
    if after["ago"] or after["later"]:
        target = moved(None, parts, -1 if after["ago"] else 1)
        same = _SAME_DAY.match(text, after.end())
        near = _OF_WEEKDAY.match(text, after.end())
        if near and parts[-1][1] == "week":
            week = inside(whole_week(), target)
            return inside(weekday_in_week(WEEKDAYS[near["n"]]), week), near.end()
        return target, same.end() if same else after.end()
    return (lasting(parts, None) if after["within"] else behind(parts)), after.end()


_PASSING = re.compile(r"再?过(?![去了])")


_NOT_PASSING = frozenset(
    "超经通度越作住学当做读干待呆教养用练习活班开打弹跑喝吃戒病谈念修留租写画玩种管带见睡停职课干婚练教训播演唱拍骑爬"
)
"""Behind these, 过 says that something was done: 工作过三年."""


def _passing(text: str, at: int) -> Match:
    """ "再过三天", "过两周"."""
    lead = None if at and text[at - 1] in _NOT_PASSING else _PASSING.match(text, at)
    length = duration(text, lead.end()) if lead else None
    return (moved(None, length[0], 1), length[1]) if length else None


# Digits

_WEAK_LEADS = frozenset("在于从到至自日一二三四五六天")


def _numeric(text: str, at: int) -> Match:
    found = numeric_date(text, at, day_first=True, year_first=True)
    if found is None:
        return None
    if found.weak:
        led = at == 0 or text[at - 1] in _WEAK_LEADS
        closed = found.end == len(text) or not "\u4e00" <= text[found.end] <= "\u9fff"
        if "." in text[at : found.end] or not led or (not closed and at == 0):
            return None
    return found.meaning, found.end


# Which character starts what

_NUMERALS = "0123456789零〇一二两三四五六七八九十百千廿卅"


def _heads() -> dict[str, tuple[Head, ...]]:
    heads: dict[str, list[Head]] = {}

    def start(chars: Sequence[str], *added: Head) -> None:
        for char in chars:
            row = heads.setdefault(char, [])
            row.extend(head for head in added if head not in row)

    start(_NUMERALS, _numbered_year, _month, _day, _followed_duration, _decade, _century, _quarter)
    start("0123456789", _numeric)
    start("三五六八十", _short_holiday)
    start("半", _followed_duration)
    start("正元腊冬", _month)
    start("农阴旧夏阳公新", _calendar_name)
    start("公西", _numbered_year, _before_christ, _century)
    start("大去上昨今本当这明来下后前", _named_year, _named_day)
    start("上下这本当今前后", _relative, _halves, _season_after_this, _led_duration, _rest)
    start("上本这下", _decade)
    start("近最过未接往将之以随刚", _led_duration)
    start("再过", _passing)
    start("大", _new_year_day)
    start("周星礼", _weekday, _weekend)
    start("第首Qq", _quarter, _nth_week)
    start("年月季", _running_part)
    start([name[0] for name in (*HOLIDAYS, *LUNAR_HOLIDAYS)], _holiday)
    start([name[0] for name in ERAS], _era_year)
    return {char: tuple(row) for char, row in heads.items()}


_HEADS = _heads()
STARTS = frozenset(_HEADS)

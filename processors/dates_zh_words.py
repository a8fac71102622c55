"""The Chinese words of time: tables, folding of script and spaces, and numerals.

Everything is written in simplified characters; `Folded` brings any text to them, one character
for one, and drops the spaces that split "2009 年" so that patterns need not mention them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from memstream.processors.dates_calendar import Duration

# Folding

_TRADITIONAL = "週號個後內過來從兩萬與間農曆節國慶勞動聖誕鐘點時這幾現當禮餘頭開結東將會說幹買準備計劃預定請為歲間隨遠勢舊陰陽應親兒童師軍黨復萬感婦樹愚雙聯開屆終於進無號辦業臘鍾內歷陽紀貞觀漢寶啟順緒統豐鹹"  # noqa: E501
_SIMPLIFIED = "周号个后内过来从两万与间农历节国庆劳动圣诞钟点时这几现当礼余头开结东将会说干买准备计划预定请为岁间随远势旧阴阳应亲儿童师军党复万感妇树愚双联开届终于进无号办业腊钟内历阳纪贞观汉宝启顺绪统丰咸"  # noqa: E501
FOLD = str.maketrans(
    _TRADITIONAL + "０１２３４５６７８９：／．，～〜–—－○",
    _SIMPLIFIED + "0123456789:/.,~~---〇",
)
_SPLIT = re.compile(
    r"(?<=[\u3007\u4e00-\u9fff0-9]) (?=[\u3007\u4e00-\u9fff])|(?<=[\u3007\u4e00-\u9fff]) (?=[0-9])"
)


@dataclass(frozen=True, slots=True)
class Folded:
    """The folded text and, where spaces were dropped, the place of each of its characters."""

    text: str
    places: list[int] | None

    def place(self, at: int) -> int:
        return at if self.places is None else self.places[at]


def folded(text: str) -> Folded:
    plain = text.translate(FOLD)
    if " " not in plain:
        return Folded(plain, None)
    gaps = {found.start() for found in _SPLIT.finditer(plain)}
    if not gaps:
        return Folded(plain, None)
    places = [at for at in range(len(plain)) if at not in gaps]
    return Folded("".join(plain[at] for at in places), [*places, len(plain)])


# Numerals

DIGITS = {char: value for value, char in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_PLACES = {"十": 10, "百": 100, "千": 1000, "万": 10_000}
NUMBER = r"(?:[0-9]{1,9}(?:\.[0-9]{1,2})?|[零〇一二两三四五六七八九十百千万廿卅]{1,9})"


def number(written: str) -> float:
    """The value of a numeral that matches `NUMBER`; "二零一六" reads as digits, 2016."""
    if written[0].isascii():
        return float(written) if "." in written else int(written)
    if all(char in DIGITS for char in written):
        return int("".join(str(DIGITS[char]) for char in written))
    total = section = digit = 0
    for char in written:
        if char in DIGITS:
            digit = DIGITS[char]
        elif char in "廿卅":
            section += 20 if char == "廿" else 30
        elif char == "万":
            total = (total + section + digit) * 10_000
            section = digit = 0
        else:
            section += (digit or 1) * _PLACES[char]
            digit = 0
    return total + section + digit


# Tables

ERAS = {  # the first year of each
    "贞观": 627,
    "开元": 713,
    "天宝": 742,
    "洪武": 1368,
    "建文": 1399,
    "永乐": 1403,
    "宣德": 1426,
    "正统": 1436,
    "成化": 1465,
    "弘治": 1488,
    "正德": 1506,
    "嘉靖": 1522,
    "隆庆": 1567,
    "万历": 1573,
    "天启": 1621,
    "崇祯": 1628,
    "顺治": 1644,
    "康熙": 1662,
    "雍正": 1723,
    "乾隆": 1736,
    "嘉庆": 1796,
    "道光": 1821,
    "咸丰": 1851,
    "同治": 1862,
    "光绪": 1875,
    "宣统": 1909,
    "民国": 1912,
}
YEARS_NAMED = {
    "大前年": -3,
    "前年": -2,
    "去年": -1,
    "上年": -1,
    "昨年": -1,
    "今年": 0,
    "本年": 0,
    "这年": 0,
    "明年": 1,
    "来年": 1,
    "下年": 1,
    "后年": 2,
    "大后年": 3,
}
DAYS_NAMED = {
    name: offset
    for offset, names in {
        -4: "大大前天",
        -3: "大前天 大前日",
        -2: "前天 前日 前晚 前夜",
        -1: "昨天 昨日 昨儿 昨晚 昨夜 昨早 昨晨",
        0: "今天 今日 今儿 今晚 今夜 今早 今晨 今早上 今晚上",
        1: "明天 明日 明儿 明晚 明夜 明早 明晨 明早上 明晚上",
        2: "后天 后日 后晚",
        3: "大后天 大后日",
        4: "大大后天",
    }.items()
    for name in names.split()
}
UNITS = {
    name: unit
    for unit, names in {
        "year": "年",
        "quarter": "季度 季",
        "month": "月",
        "week": "周 星期 礼拜",
        "weekend": "周末",
        "day": "天 日",
        "business day": "工作日 交易日",
        "hour": "小时 钟头",
        "minute": "分钟",
        "second": "秒钟 秒",
        "decade": "年代",
        "century": "世纪",
    }.items()
    for name in names.split()
}
WEEKDAYS = {char: place for place, char in enumerate("一二三四五六日")} | {
    "天": 6,
    **{str(place + 1): place for place in range(6)},
}
SEASONS = {"春": "spring", "夏": "summer", "秋": "autumn", "冬": "winter"}
LUNAR_MONTHS = {"正": 1, "冬": 11, "腊": 12}
HOLIDAYS = {
    "元旦": "new year",
    "情人节": "valentine",
    "妇女节": "womens day",
    "三八节": "womens day",
    "三八妇女节": "womens day",
    "女生节": "girls day",
    "植树节": "arbor day",
    "白色情人节": "white day",
    "消费者权益日": "consumer day",
    "愚人节": "april fools",
    "地球日": "earth day",
    "劳动节": "may day",
    "五一劳动节": "may day",
    "五一节": "may day",
    "青年节": "youth day",
    "五四青年节": "youth day",
    "护士节": "nurses day",
    "母亲节": "mothers day",
    "儿童节": "childrens day",
    "六一儿童节": "childrens day",
    "六一节": "childrens day",
    "父亲节": "fathers day",
    "建党节": "party day",
    "建军节": "army day",
    "八一建军节": "army day",
    "教师节": "teachers day",
    "国庆": "chinese national day",
    "十一国庆": "chinese national day",
    "双十节": "double tenth",
    "万圣节": "halloween",
    "万圣夜": "halloween",
    "万圣节前夜": "halloween",
    "光棍节": "singles day",
    "双十一": "singles day",
    "双11": "singles day",
    "双十二": "double twelve",
    "双12": "double twelve",
    "感恩节": "thanksgiving",
    "黑色星期五": "black friday",
    "平安夜": "christmas eve",
    "圣诞夜": "christmas eve",
    "圣诞": "christmas",
    "圣诞节": "christmas",
    "复活节": "easter",
    "耶稣受难日": "good friday",
    "跨年夜": "new year eve",
}
LUNAR_HOLIDAYS = "春节 除夕 大年夜 元宵 端午 七夕 中元节 中秋 重阳 腊八 小年夜 龙抬头 清明".split()

VAGUE = re.compile(
    r"前(?:几|些|两三|三两)(?:天|日|年|周|个?月|个?星期|个?礼拜)|前些(?:日子|时候)|前(?:一)?阵子?"
    r"|前(?:一)?段(?:时间|日子)|前不久|不久(?:之|以)?前|不久(?:之|以)?后"
    r"|(?:过去|未来|最近|近|这|接下来|今后|后|下|上)(?:的)?(?:几|数|些|若干)个?"
    r"(?:天|日|年|周|月|星期|礼拜|小时|季度)(?:来|里)?"
    r"|这(?:阵子|段时间|段日子|两天)|最近|近来|近日|近期|近年来?|近些年来?|改天|改日|他日"
    r"|(?<![超经通])过(?:几|些|两)(?:天|日|年|周|个?月)|过(?:一)?阵子?|过(?:一)?段时间"
    r"|有一天|某(?:一)?(?:天|日)|总有一天|哪天"
    r"|(?:一两|一二|两三|二三|三四|三五|四五|五六|六七|七八|八九)[十百]?个?"
    r"(?:天|日|年|周|月|星期|礼拜|小时|分钟)(?:之|以)?(?:前|后|内)"
    r"|(?:好?几|数|多|许多|很多|好多|若干)个?(?:天|日|年|周|月|星期|礼拜|小时)(?:之|以)?[前后]"
    r"|(?<![0-9一二两三四五六七八九十几数多])日前|(?:好|很|许)久(?:之|以)?前|早些时候|早年间?"
)

# A text with none of these holds no date.
TRIGGER = re.compile(
    r"[0-9年月周天日号旬季今昨明晚]|星期|礼拜|世纪|小时|钟头|分钟|秒|元旦|节|圣诞|平安夜|万圣夜"
    r"|双十[一二]|假期|长假|黄金周|五一|六一|除夕|跨年|大年|初[一二三四五六七八九十]|国庆|中秋|端午|重阳|七夕|元宵|腊八|清明"
    r"|最近|近来|近期|前阵|前段|前不久|不久|过阵|过一阵|日前|过段|过一段|久前|久以前|久之前|早些时候"
)

# Duration

APPROXIMATE = frozenset("一二 一两 两三 二三 三四 三五 四五 五六 六七 七八 八九".split())
_UNIT_PATTERN = (
    r"(?:(?P<months>个(?P<half>半)?月)|个?(?P<half2>半)?"
    r"(?P<unit>季度|星期|礼拜|工作日|交易日|周末|小时|钟头|分钟|秒钟|世纪|年|周|天|日|秒)(?P<half3>半)?)"
)
DURATION_PART = re.compile(
    rf"(?:零|又|外加)?(?:(?P<number>{NUMBER})(?P<more>多|来|余)?{_UNIT_PATTERN}"
    r"|半个?(?P<halved>年|月|世纪|小时|钟头|星期|天|日))"
)


def duration(text: str, at: int) -> tuple[Duration, int] | None:
    """ "两年零三个月", "一个半月", "半年" at a place of a folded text."""
    parts: list[tuple[float, str]] = []
    while len(parts) < 4:
        found = DURATION_PART.match(text, at)
        if found is None or (found["more"] and found["months"] is None and not found["unit"]):
            break
        written = found["number"]
        if written and written.rstrip("十百") in APPROXIMATE:
            break
        if written and (
            (len(written) > 1 and written[0] in "0零〇" and "." not in written) or _is_year(found)
        ):
            break
        if found["halved"]:
            parts.append((0.5, UNITS[found["halved"]]))
        elif found["more"]:
            break
        else:
            half = 0.5 if found["half"] or found["half2"] or found["half3"] else 0
            unit = "month" if found["months"] else UNITS[found["unit"]]
            parts.append((number(found["number"]) + half, unit))
        at = found.end()
    return (parts, at) if parts else None


def _is_year(found: re.Match[str]) -> bool:
    return found["unit"] == "年" and len(found["number"]) == 4 and found["number"].isdigit()

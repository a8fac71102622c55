"""The forms of Chinese changes told in two steps or in passing (see ``retellings``): a sign that
one may be there, how it is said, and the plain sentence."""

from __future__ import annotations

import re
from collections.abc import Callable


def _followed(found: re.Match[str]) -> str:
    return f"{found['when'] or ''}{found['who']}搬到{found['place']}了"


def _elsewhere(found: re.Match[str]) -> str:
    instead = f"，我打算去{found['new']}玩" if found["new"] else ""
    return f"我不去{found['old'] or found['there']}了{instead}"


def _fell_through(found: re.Match[str]) -> str:
    return f"我不去{found['to'] or found['there']}了"


def _left_zh(found: re.Match[str]) -> str:
    return f"{found['when'] or ''}我从{found['where']}离职了"


def _begun_zh(found: re.Match[str]) -> str:
    return f"{found['when'] or ''}我入职了{found['where']}{found['rest']}"


def _sold_zh(found: re.Match[str]) -> str:
    return f"我把{found['what']}卖了{found['rest']}"


def _no_more_zh(found: re.Match[str]) -> str:
    return f"我{found['did']}，因为{found['why']}"


def _prescribed_zh(found: re.Match[str]) -> str:
    return f"我把{found['old']}换成了{found['new']}"


def _given_up(found: re.Match[str]) -> str:
    return f"我{found['when']}戒了{found['what']}{found['rest']}"


def _eaten(found: re.Match[str]) -> str:
    rest = re.sub("[，,]?[也又和跟]?(?:也|都)?不吃", "、", found["rest"])
    return f"{found['who']}不吃{found['what']}{rest}"


def _driven(found: re.Match[str]) -> str:
    return f"{found['before']}是在{found['where']}{found['what']}的{found['rest']}"


def _called_zh(found: re.Match[str]) -> str:
    return f"{found['had']}，叫{found['one']}和{found['other']}"


def _children_zh(found: re.Match[str]) -> str:
    who = found["who"]
    return f"我有两个{who}，我{who}叫{found['one']}，我{who}叫{found['other']}"


def _raised_zh(found: re.Match[str]) -> str:
    told = found.groupdict()
    return f"我们用{told['what'] or told.get('that')} {told['new']}"


_PET_NAME_ZH = (
    r"(?!(?:大|小|老)(?:的|只|狗|猫|兔|鸟|女|儿|弟|哥|姐|妹|人|孩|学))(?:[小大阿老][\u4e00-\u9fff]|(?P<{0}>[\u4e00-\u9fff])"
    r"(?P={0})|[A-Z][a-z]+)"
)
_PROJECT_ZH = "(?:我们?)?(?:的?(?:这个)?项目|后端|前端|服务)?(?:里|中)?"
FORMS_ZH: tuple[tuple[str, re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (
        "两个",
        re.compile(
            r"我们?家?有两个(?P<who>女儿|儿子)[，,：:]?(?:(?:大的|老大|一个)叫(?P<one>(?!什么)[^，,。一的]{1,4})[，,；;、]?"
            r"(?:小的|老二|另?一个|另外一个)叫(?P<other>[^，,。的]{1,4}))[。！!]*$"
        ),
        _children_zh,
    ),
    (
        "两",
        re.compile(
            r"(?P<had>我们?家?里?(?:有|养了?)两[只条匹][^，,。一叫]{1,3})[，,：:]"
            rf"(?P<one>{_PET_NAME_ZH.format('first')})[和跟与、]"
            rf"(?P<other>{_PET_NAME_ZH.format('second')})[。！!]*$"
        ),
        _called_zh,
    ),
    (
        "搬到",
        re.compile(
            r"(?:我们?)?(?:公司|单位|学校|办公室|男友|女友|男朋友|女朋友|老公|老婆|爸妈|父母|家里)"
            r"(?P<when>(?:上个?|去|今|前|昨|刚)[年月周天]?)?(?:已经|都|刚)?搬(?:到|去|来)了?"
            r"(?P<place>[^，,。了的我]{2,8})了?[，,](?:所以|于是)?(?P<who>我们?)(?:也|就|只好)+"
            r"(?:跟着|一起|随着)+(?:搬|过去|过来|去|到那边|到那儿)+了[。！]?$"
        ),
        _followed,
    ),
    (
        "戒",
        re.compile(
            r"我(?P<when>(?:已经|刚刚?|终于|最近|去年|今年|上个?月|上周)*)把(?P<what>[^，,。！!？?烟我你他她它]{1,5})"
            r"戒掉?了(?P<rest>[。！!]*)$"
        ),
        _given_up,
    ),
    (
        "不吃",
        re.compile(
            r"(?P<who>我们?|我[^，,。不吃的]{1,3})(?P<how>一般|平时|从来|都|从小)*不吃(?P<what>[^，,。！!？?不了吃的]{1,6})"
            r"(?P<rest>(?:[，,]?[也又和跟]?(?:也|都)?不吃[^，,。！!？?不了吃的]{1,6})+)[。！!]*$"
        ),
        _eaten,
    ),
    (
        "的",
        re.compile(
            r"(?P<before>(?:.*[，,])?(?:我|他|她)?[^，,。]{0,4}?)在(?P<where>[^，,。！!？?在]{2,6})"
            r"(?P<what>(?:开|跑)(?:出租车?|滴滴|网约车|货车|大车)|(?:送|跑)(?:外卖|快递))的(?P<rest>$|[，,。！!].*)"
        ),
        _driven,
    ),
    (
        "了",
        re.compile(
            r"(?:对了|算了|唉|哎)?[，,]?(?:(?:我们?)?不去(?P<there>[^，,。！!？?\s了]{2,6}?)了(?=[，,；;].*去)|(?P<old>[^，,。！!？?\s我你您他她它谁这那哪都也再就不]{2,6}?(?<![天周月年号晚早次回])"
            r")(?:我们?)?(?:还是|就|暂时)?(?:不去了|去不成了|去不了了))"
            r"(?:[，,；;](?:我们?)?(?:还是|就|决定|打算)*(?:改|换成?)(?:成|为)?去"
            r"(?P<new>[^，,。！!？?\s]{2,6}?)(?:玩|旅游|旅行|度假)?了?)?[。！!]*$"
        ),
        _elsewhere,
    ),
    (
        "了",
        re.compile(
            r"(?:对了|算了|唉|哎)?[，,]?(?:我们?)?(?:(?:去|到)(?P<to>[^，,。！!？?\s的我]{2,6})的"
            r"(?:计划|行程|旅行|旅游|事|机票|航班)|(?P<there>[^，,。！!？?\s的我]{2,6})之[行旅])"
            r"(?:已经|都|全)?(?:取消|泡汤|黄|告吹|作罢|退)了[。！!]*$"
        ),
        _fell_through,
    ),
    (
        "最后一天",
        re.compile(
            r"(?P<when>[今昨前]天|上?周[一二三四五])?(?:就)?是?我在(?P<where>[^，,。！!？?\s的]{2,12})(?:上班|工作)?的最后一天"
            r"(?:了|上班)?[。！!]*$"
        ),
        _left_zh,
    ),
    (
        "第一天",
        re.compile(
            r"(?P<when>[今昨前]天|上?周[一二三四五])?(?:就)?是?我?(?:入职|第一天(?:去|到|在))(?P<where>[^，,。！!？?\s的]{2,12}?)"
            r"(?:上班|工作|报到|的?第一天)了?(?P<rest>[。！!]*)$"
        ),
        _begun_zh,
    ),
    (
        "用",
        re.compile(
            rf"{_PROJECT_ZH}(?:现在|目前|都|统一)*用的?是? ?(?P<what>[A-Za-z][A-Za-z.]*)"
            r" ?(?P<new>\d[\d.]*)(?<!\.)(?: ?版本?)?[。！!]*$"
        ),
        _raised_zh,
    ),
    (
        "升",
        re.compile(
            rf"{_PROJECT_ZH}(?:已经|都|刚刚?|今天|昨天|上周)*把? ?(?P<what>[A-Za-z][A-Za-z.]*)?"
            r"(?: ?版本)?(?: ?从 ?(?:[A-Za-z.]+ ?)?[\d.]+)? ?(?:已经|都|刚刚?)?升级?(?:到|成|为)"
            r"了? ?(?P<that>[A-Za-z][A-Za-z.]*)? ?(?P<new>\d[\d.]*)(?<!\.) ?版?本?了?[。！!]*$"
        ),
        _raised_zh,
    ),
    (
        "卖",
        re.compile(
            r"(?:我的?|那辆|我那辆)?(?P<what>(?![^，,。]*[他她它您你的谁])[^，,。！!？?\s我把]{2,8}?)(?:已经|刚刚?|上周|昨天)?"
            r"卖(?:掉)?了(?P<rest>[，,].*|[。！!]*)$"
        ),
        _sold_zh,
    ),
    (
        "不",
        re.compile(
            r"(?:我因为|因为|我)?(?P<why>(?![妈爸哥姐弟妹爷奶老女男儿孩媳闺同朋他她它你您们])[^，,。！!？?\s不我]{1,8}?(?:[伤疼痛病]|受伤|不好|膝盖|腰|脚|手|医生)[^，,。不我]{0,4}?)"
            r"(?:[，,](?:所以|就|只能|只好|现在|我)*)?(?P<did>不(?:能)?再?[^，,。！!？?\s]{2,6}了)[。！!]*$"
        ),
        _no_more_zh,
    ),
    (
        "换成",
        re.compile(
            r"(?:(?:医生|大夫)(?:刚|最近|已经)?(?:让我|给我|帮我|建议我)?把(?P<old>[^，,。！!？?\s]{2,8})"
            r"(?:给我)?(?:换成|改成)了?(?P<new>[^，,。！!？?\s了]{2,8})了?)[。！!]*$"
        ),
        _prescribed_zh,
    ),
    (
        "停",
        re.compile(
            r"(?P<old>[^，,。！!？?\s我你他她它的]{2,8})停(?:掉)?了[，,](?:现在|我)*(?:换成|改吃|换了|改成)了?"
            r"(?P<new>[^，,。！!？?\s了]{2,8})了?[。！!]*$"
        ),
        _prescribed_zh,
    ),
)

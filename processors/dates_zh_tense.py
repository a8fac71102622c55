"""The tense around a Chinese date: whether it lies ahead, lies behind, or is one of many.

Chinese verbs have no tense, but what is done mostly has a 了 or a 过. So a plain verb right behind
a date ("六月高考") tells of what is to come, unless the words say that it is done again and again.
"""

from __future__ import annotations

import re

from memstream.processors.dates_zh_words import FOLD

__all__ = ["plainly_ahead", "recurring", "scheduled", "tense"]

_DONE = (
    r"(?<![为除])了(?!解)|(?<![不超通经难])过(?![去年节冬敏程分期于]"
    r"|生日|周末|寿|完年|暑假|寒假)"
)
_CUE = re.compile(
    r"(预?[订约]好?了|(?<!没)有[^，,。！？；!?;\n了过没]{0,4}?(?:会|会议|面试|考试|约会|预约|手术|航班|演出|比赛|课|饭局|培训|讲座|聚会|聚餐|体检|婚礼)"
    r"|想(?=[去在到送买给带约请办换学做吃搬辞找开考报租养玩拍试]|申请|参加)|(?:快|马上|即将|就?要|该)[^，,。！？；!?;\n了过]{1,6}了"
    r"|不(?:去|来|结婚|办|搬|考|参加|上班|租|干)[^，,。！？；!?;\n了过]{0,4}了"
    r"|将要?|(?<![主重只需])要(?!求)|(?<![开社机聚约大班舞晚宴年国协商学工体误唱乐动布讨谈长览员卖])会(?![议员计])|打算|准备|计划|即将|明天|明年|下个?[周月]|未来|安排|预定|预计|请|能否"
    rf"|记得|提醒|别忘)|({_DONE}|昨|曾|上个?[周月次]|去年|以前|已经?|刚|当时)"
)
_CLAUSE_END = re.compile(r"[。！？；!?;\n]|\.(?![0-9])")
_PART_END = re.compile("[，,]")
# What is put elsewhere, in the words right before the date it is put to.
_PUT_TO = re.compile(
    r"(?:(?:改签?|推迟|延期|延后|延|推后|推|提前|挪|调整?|顺延|拖|定|订|约|安排|排|改约|改期)[到在至于成为]"
    r"|(?:改|推迟|延期|提前|顺延)(?:为|成)|改期)(?:了|的是)?$"
    r"|(?:原定|原计划|预产期[是在为]?|(?:票|航班|预约)(?:订的|买的)?是)$"
)
_WAS = re.compile("(?<=.)的[^，,。！？；!?;]?$")  # 约在周四见的面
_WAITED_FOR = re.compile("(?:等到?|到)$")
_THEN = re.compile("份?[^，,。！？；!?;\n]{0,2}(?:就|再|才)(?![^，,。！？；!?;\n]*的$)")
_CELEBRATES = re.compile("过[^，,。！？；!?;了]{0,3}(?:生日|周年)[，,：: ]*$")
# What is got beforehand, for a time that is told of it.
_GOT = re.compile(
    r"(?:买|[订定抢]|预订|预定|预约|约|挂|拿|报名?)(?:到|好|上|的)?了?[^，,。！？；!?;\n]{0,8}$"
)
_GOT_WHAT = re.compile(
    r"^的?[^，,。！？；!?;\n了过]{0,8}?(?:门票|机票|车票|船票|电影票|票|航班|高铁|酒店|民宿|房间|包间|餐厅|位子|位置|座位|专家号|号|场次|场地|考试|课)"
)


def tense(text: str, start: int, end: int) -> bool | None:
    """True for the future, False for the past: the nearest cue of the clause, left before right;
    what is put elsewhere or stands in plain words behind the date goes before what other parts of
    the sentence tell."""
    left, right = _clause(text, start, end)
    own = _PART_END.split(left)[-1]
    if _PUT_TO.search(own) and not _WAS.search(right):
        return True
    if _WAITED_FOR.search(own) and _THEN.match(right):
        return True
    if _CELEBRATES.search(left) and not _LONG_AGO.search(left):
        return True
    if _GOT.search(own) and _GOT_WHAT.match(right):
        return True
    if _plainly(left, right):
        return None
    cues = list(_CUE.finditer(left))
    if cues:
        return cues[-1][1] is not None
    cue = _CUE.search(right)
    if cue is None and _DEPARTURE.match(right):
        return True
    return None if cue is None else cue[1] is not None


def _clause(text: str, start: int, end: int) -> tuple[str, str]:
    left = text[max(0, start - 30) : start].translate(FOLD)
    breaks = [found.end() for found in _CLAUSE_END.finditer(left)]
    right = text[end : end + 30].translate(FOLD)
    stop = _CLAUSE_END.search(right)
    return left[breaks[-1] if breaks else 0 :], right[: stop.start() if stop else len(right)]


_DEPARTURE = re.compile("的?(?:飞机|高铁|动车|火车|航班|机票|车票)(?![上里])")  # 他周四的飞机


# What is told in plain words

_BETWEEN = (
    r"(?:份|号?那天|当天|的时候|早上|上午|中午|下午|傍晚|晚上|夜里)?[^，,。！？；!?;\n了过的]{0,6}?"
)
_ACT = (
    r"(?:去(?!年|过|了|世|除|掉)|来(?![自年到得不过了的源])|上[^，,。！？；!?;\n了过的]{0,4}课|没空|有空|没时间|不在|值班|加班|请假|休息|飞(?:往|去|到)?|出发|启程|动身|开学|开会|开庭|考试|面试|截止|到期|开始|入职|报到|上班|搬到?|结婚|领证"
    r"|订婚|毕业(?!于)|返程|回国|回来|回家|回老家|出差|出国|手术|做手术|退房|入住|交房|高考|中考|考研|联考|期末考|上线|开业|开张|开播|首播|上映"
    r"|发版|发车|起飞|落地|比赛|演出|开演|体检|复查|复诊|拆线|出院|产检|预产|生孩子|生宝宝|休假|放假|放暑假|放寒假|旅游|旅行|度假|答辩|交稿"
    r"|交论文|交作业|开班|开工|完工|竣工|交付|报名|离职|退休|转正|退伍|入伍|入学|上小学|上初中|上高中|上大学|上学|参加|聚餐|聚会|团建|相亲|约会"
    r"|交(?![通流往易了])|发工资|涨价|降价|到货|送到|到$|裁员|买(?![了过的到])|看(?:演唱会|话剧|比赛|展|电影|球赛|演出|房)|听(?:音乐会|讲座)|见(?!过|到|了|面后)|办婚礼|办酒席|摆酒|看牙|看病|看医生|打疫苗|拔牙|跑马拉松|跑半马|考驾照|考科目|过生日|满[0-9一二两三四五六七八九十百]+岁)"
)
_PLAIN = re.compile(rf"^{_BETWEEN}{_ACT}(?P<rest>[^，,。！？；!?;\n]*)")
_TOLD_AS_DONE = re.compile(rf"{_DONE}|着|^的|的(?:时候|那)|于|[^目]的$|没|昨|曾|刚|去年|当时|以前")
_LONG_AGO = re.compile(
    r"去年|前年|当时|那[年时]|昨|曾|以前|小时候|上个?[周月次]|[0-9〇零一二]{4}年|那会"
)
_NOT_DONE = re.compile("没(?!空|时间|课|有?会)")
_MANY = r"(?:一般|通常|平时|平常|经常|总是|总会|总|往往|常常|常|时不时|固定|基本上?|大多|习惯|照例)"


def plainly_ahead(text: str, start: int, end: int) -> bool:
    """Whether a plain verb stands behind a date, so that it tells of what is to come."""
    return _plainly(*_clause(text, start, end))


def _plainly(left: str, right: str) -> bool:
    found = _PLAIN.match(right)
    if found is None or _TOLD_AS_DONE.search(found["rest"]) or re.search(_MANY, found[0]):
        return False
    if _NOT_DONE.search(found[0]):
        return False
    own = _PART_END.split(left)[-1]
    behind = right[found.end() :]
    return not (_LONG_AGO.search(left) or _CUE.search(own) or re.search(_DONE, behind))


_SCHEDULED_AFTER = re.compile(
    r"[^，,。！？；!?;\n了过]{0,6}?(?:去(?!年|过|了)|飞往?|出发|启程|动身|开学|开会|开庭|考试|面试|截止|到期|举行|开始|入职"
    r"|报到|上班|搬到?|结婚|毕业|返程|回国|回来|回家|出差|出国|手术|退房|入住|交房)"
)
_SCHEDULED_BEFORE = re.compile(
    r"(?:航班|机票|车票|门票|会议|考试|面试|手术|婚礼|演出|演唱会|比赛|决赛|签证|护照|合同|租约|预约|聚会|典礼|展览|开庭"
    r"|截止(?:日期|时间)?|到期日?)[^，,。！？；!?;\n了过]{0,6}$"
)


def scheduled(text: str, start: int, end: int) -> bool:
    """Whether the words around a date are of what is arranged beforehand, in no tense: "我的航班是
    5月3日". Told of the past they would mostly have a 了 or a 过."""
    left = text[max(0, start - 20) : start].translate(FOLD)
    right = text[end : end + 20].translate(FOLD)
    after = _SCHEDULED_AFTER.match(right)
    if after is not None and (
        _NOT_DONE.search(after[0]) or _TOLD_AS_DONE.search(_PART_END.split(right[after.end() :])[0])
    ):
        return False
    return bool(after or _SCHEDULED_BEFORE.search(left))


# What is done again and again

_MANY_BEFORE = re.compile(rf"(?:{_MANY}|每|每逢|每到|每年|逢|一到)(?:都|会|都会|在|是|是在)?的?$")
_MANY_BEHIND = re.compile(
    rf"^(?:早上|上午|中午|下午|傍晚|晚上|夜里)?(?:我|他|她|我们|都|会|都会)?{_MANY}(?!之|共|结|体|而言|算)"
    r"|^(?:早上|上午|中午|下午|傍晚|晚上|夜里)?都会?(?!是|已|没|不|到|被)"
)
_EVERY = re.compile("每个?(?:周|星期|礼拜)[一二三四五六日天]")
_ALL = re.compile("(?:我们|他们|她们|大家|全家|咱们?|俩|和.{1,4}|跟.{1,4}|、.{1,6})[^，,]{0,4}$")


def recurring(text: str, start: int, end: int) -> bool:
    """Whether a date is one of many: 我周日一般去钓鱼."""
    left, right = _clause(text, start, end)
    own, rest = _PART_END.split(left)[-1], _PART_END.split(right)[0]
    if re.search(_DONE, rest) or _LONG_AGO.search(own):
        return False
    if _EVERY.search(left) and not _CUE.search(own + rest):
        return True  # the 周四 of 每周二跑步，周四游泳
    behind = _MANY_BEHIND.match(rest)
    if behind is not None and "都" in behind[0] and _ALL.search(own):
        behind = None
    return behind is not None or _MANY_BEFORE.search(own) is not None

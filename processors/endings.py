"""Whether a clause ends what it seems to: "I retired early last night" ends no job, "I don't drink
coffee after lunch" no habit, and "the band and I broke up" no marriage.

What ends too little is told again; what ends too much is lost, so a doubtful clause ends nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import msgspec

from memstream.processors.aspects import COUPLES
from memstream.processors.clauses import Clause
from memstream.processors.facts import Fact
from memstream.processors.plans import is_kind, kind_named
from memstream.processors.rule_files import Rule
from memstream.processors.rules import Match

_NOT_FOR_GOOD = re.compile(
    r"\b(?:retired|let go)\b(?: \w+)*? (?:tonight|last night|for the (?:night|day|evening)|to bed"
    r"|early(?: today| tonight| last night| yesterday| this \w+)?[.!]?$)"
    r"|\b(?:flight|trip|train)\b.*\b(?:re-?book|re-?schedul|postpon|new date|next flight)",
    re.IGNORECASE,
)
_PARTNER = re.compile(
    r"(?:.*[, ])?(?:my (?:wife|husband|spouse|partner|girlfriend|boyfriend|fianc[eé]e?)"
    r"(?: [A-Z]\w+)?)"
)
_NAME = re.compile(r"(?:.*[, ])?(?!The )(?P<name>[A-Z][\w’'-]*(?: [A-Z]\w+)?)")
_HABITS = frozenset(("drinks", "eats", "habit", "plays", "languages_spoken", "diet"))
_BEFORE = frozenset(("before", "until", "unless", "without", "if"))


def only_seems(
    match: Match, clause: Clause, clauses: Sequence[Clause], text: str, now: datetime | None
) -> bool:
    """Whether a clause only looks like an ending, or like a home or job that lasts."""
    rule, end = match.rule, match.end
    ending = rule.ends or rule.polarity == "negative"
    if ending and _NOT_FOR_GOOD.search(text) is not None:
        return True
    at = clauses.index(clause)
    before = clauses[at - 1] if at else None
    if rule.attribute in _OF_THEIR_TIME and _OTHER_TIME.search(" ".join(clause.spoken.raw)):
        return True
    if (
        rule.attribute in _PLACES_OF_WORK
        and end
        and _ONLY_THEN.match(text, clause.words.end[end - 1])
    ):
        return True
    if end and _seems_from_behind(rule, text, clause.words.end[end - 1]):
        return True
    said = _ONLY_SEEMS.get(rule.attribute)
    if said is not None and said.search(" ".join(clause.words.norm)) is not None:
        return True
    if rule.attribute == "children" and _are_not_the_speakers(clause):
        return True
    if rule.attribute in _OF_ONESELF and _OF_A_FRIEND.match("".join(clause.words.norm)):
        return True
    if rule.attribute == "age" and _is_of_another_year(clause, now):
        return True
    return _is_with_another(rule, clause, before) or _is_for_a_day(rule, clause, now)


_OF_THEIR_TIME = frozenset(("age", "wake_time", "sleep_time"))
_OTHER_TIME = re.compile(r"[昨明后前] ?[天年]|去 ?年|今 ?[天早晚晨]|昨 ?晚")
"""When an age is not that of now, and getting up is not what is usual: 我明年三十岁."""


_PLACES_OF_WORK = frozenset(("employer", "job_title", "school"))
_ONLY_THEN = re.compile(
    r"(?:的时候|时(?![间常])|期间|那会儿|那时|那[几]?年|那段|那阵|之?前|以前|之后|以后|后(?!来))"
    r"|(?:了(?:整整|快|大概|差不多)?(?:一整?|半|整|[两几二三四五六七八九十\d]+)|一整?)个?"
    r"(?:天|晚|夜|宿|[上下]午|早上|晚上|中午|通宵|多?小时|钟头|分钟|会儿?|阵)(?!了|多?年)"
    r"|到(?!现在|至今|今天|如今|目前|底)|的(?!第|[了呢啦]?(?:[，,。！!；;]|$))"
)
"""What follows 工作 where it tells of a day or of the past, and of no job: 在星巴克工作了一下午."""


def _seems_from_behind(rule: Rule, text: str, end: int) -> bool:
    """Whether what follows says that it was so for a time or once, or is not so."""
    if rule.attribute == "employer":
        return _LEFT_THEN.match(text, end) is not None
    if rule.attribute != "wake_time":
        return False
    rose = _ROSE.match(text, end)
    return rose is not None and (rose["not"] is not None or _USUALLY.search(text) is None)


_LEFT_THEN = re.compile(
    r"(?:工作)?[，,](?:后来|然后|之后|接着|最后|又|才|(?:去年|前年|今年|上个?月|上周)?[就又]?"
    r"(?:离职|辞职|跳槽|去了|换|走了|离开|被裁|退休))"
)
"""我在腾讯干了五年，后来去了字节."""
_MARRIED_TO = re.compile(
    r"\b(?:married|divorced|separated|engaged) (?:to|from) (?:(?:my|the|this) (?:job|work|career"
    r"|idea|phone|laptop|computer|code|plan|game|sea|project|company)|reality|it|this)\b"
)
_ONLY_SEEMS = {
    "job_title": re.compile(
        r"\bwork(?:s|ed|ing)? as (?:hard|much|little|fast|long|soon|well|quickly|slowly|usual"
        r"|always|normal|before|if|(?:a |an |one )?(?:team|group|unit|pair|couple|hobby"
        r"|joke|favou?r))\b"
    ),
    "marital_status": _MARRIED_TO,
    "spouse": _MARRIED_TO,
    "partner": _MARRIED_TO,
    "pet": re.compile(
        r"\b(?:in (?:my|a|the|this|that) (?:\w+ )?(?:dreams?|head|mind|game|story|novel|video"
        r"|picture|photo|race|care|clinic|shelter|shop|zoo|fight)"
        r"|on (?:my|the|a) (?:\w+ )?(?:shirt|phone|screen|wall|desktop|arm|mug|hoodie|jacket"
        r"|poster)"
        r"|at (?:the|our|my) (?:office|shelter|clinic|zoo|shop|store)|at work)\b"
    ),
    "path": re.compile(
        r"\b(?:bugs?|errors?|issues?|problems?|crash|typos?|mistakes?|failures?|culprit|fix|change"
        r"|leak|regression|exception) (?:is|are|lives|sits|在|就 在|出 在)"
        r"|(?:问 题|错 误|报 错|故 障|漏 洞|异 常) (?:就 |出 |是 )*在"
    ),
    "health_condition": re.compile(
        r"\b(?:in|on) (?:my|our|the|his|her) [\w' ]{0,12}?(?:family|side)\b"
    ),
    "nationality": re.compile(r" at heart\b"),
}
_ROSE = re.compile(r"床?(?:(?P<not>不)|来?了(?=[，,。！!]|$))")
_USUALLY = re.compile("[改都每总]|现在|开始|平时|一般|通常|习惯|目前|最近")


_CHILDS = re.compile(
    r"(?:[子儿娃胎]|儿女)的.|在(?:我|我们|这个?)?的?(?:[一-龥]{0,2}班|课|组|队|学校|幼儿园)"
)
"""Where not the children are had, but what is theirs, or who has them: 我有两个孩子的照片. And
where a teacher has them: 我有两个孩子在我班上."""
_IN_CARE = re.compile(
    r"\b(?:(?:in|on|at|from) (?:my|our|the|this|that|each|every) (?:[\w'-]+ ){0,2}?(?:class|classes"
    r"|classroom|course|group|team|squad|school|kindergarten|preschool|nursery|daycare|club|choir"
    r"|section|ward|practice|bus|care|camp|lessons?|sessions?|program(?:me)?|caseload|grade|study)"
    r"|to (?:teach|tutor|babysit|look after|watch|coach|supervise))\b"
)
"""Where children are whom a teacher has: "two kids in my class"."""


def _are_not_the_speakers(clause: Clause) -> bool:
    norm = clause.words.norm
    if norm[-1].isascii():
        return _IN_CARE.search(" ".join(norm)) is not None
    return _CHILDS.search("".join(norm)) is not None


_OF_ONESELF = frozenset(
    "health_condition pet allergy languages_spoken plays religion learning employer residence"
    " hometown habit likes dislikes eats drinks vehicle".split()
)
_OF_A_FRIEND = re.compile(
    r"(?![和跟与同陪给帮为]|喜欢上).*(?<![我你他她您们家])的(?:朋友|同事|邻居|同学|室友|闺蜜|奶奶|爷爷"
    r"|妈妈|爸爸|女儿|儿子|妹妹|姐姐|弟弟|哥哥|老公|老婆)(?!圈|会|聚|的|[家之]间)"
)
"""What ends with who is so, and not with what the speaker is: 我有糖尿病的朋友, 我喜欢猫的朋友."""


def _is_of_another_year(clause: Clause, now: datetime | None) -> bool:
    """Whether an age was reached more than a year ago: "I turned 30 in May 2023"."""
    if now is None or _REACHED.isdisjoint(clause.spoken.norm):
        return False
    return any(end <= now - timedelta(days=365) for _, end in _bounded(clause))


_REACHED = frozenset(("turned", "满", "过"))


def _is_with_another(rule: Rule, clause: Clause, before: Clause | None) -> bool:
    """Whether a couple is said to part that is none: "the band and I broke up"."""
    parts = not COUPLES.isdisjoint(rule.ends) or any(
        not COUPLES.isdisjoint(closed) for closed in rule.closes.values()
    )
    if not parts or before is None or not _is_joint(clause):
        return False
    said = _said_of(before)
    return _PARTNER.fullmatch(said) is None and _NAME.fullmatch(said) is None


def _is_joint(clause: Clause) -> bool:
    """Whether it is what "and I" opens: the clause before is the rest of its subject."""
    return (clause.lead, clause.spoken.norm[0]) == ("and", "i")


def _said_of(before: Clause) -> str:
    said = " ".join(before.spoken.raw)
    return said[:1].lower() + said[1:] if said.startswith("My ") else said


def of_whom(facts: list[Fact], clause: Clause, before: Clause) -> list[Fact]:
    """The facts, where couples that part are named by their names: "Mia and I split up" ends
    nothing between the speaker and somebody else."""
    if before is clause or not _is_joint(clause):
        return facts
    said = _said_of(before)
    named = None if _PARTNER.fullmatch(said) else _NAME.fullmatch(said)
    if named is None:
        return facts
    name = named["name"]
    return [
        msgspec.structs.replace(each, value=name, spoken=name)
        if each.negative and not each.value and each.attribute in COUPLES
        else each
        for each in facts
    ]


RELATION = "{relation}"
"""Stands among the attributes that a rule ends for that of the relation whom its clause is of."""


def unnamed(rule: Rule, clause: Clause, relations: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """The attributes that a rule ends, whatever their values, each with the kind of value where it
    is of one kind only ("plan/move"), and with the value where the clause is of somebody by name. A
    relation ends where it is that of a couple."""
    if rule.ends == (RELATION,):
        if not clause.relation:
            return [(each, "", clause.who) for each in sorted(COUPLES)]
        attribute = relations.get(clause.relation, "")
        return [(attribute, "", "")] if attribute in COUPLES else []
    for_a_time = any(each.end is not None and not each.begins for each in clause.dates)
    put_off = clause.negated and (for_a_time or clause.ended_by in _BEFORE)
    doubtful = any(map(is_kind, rule.ends)) or not COUPLES.isdisjoint(rule.ends)
    if put_off and doubtful:  # "I'm not moving in May", "we're not together today"
        return []
    return [(*kind_named(each), "") for each in rule.ends]


def _is_for_a_day(rule: Rule, clause: Clause, now: datetime | None) -> bool:
    """ "I'm working at the library today": that is no job."""
    if (
        now is None
        or rule.attribute not in ("employer", "residence", "habit", "diet")
        or rule.tense != "present"
    ):
        return False
    return any(
        start <= now + _DAY and now < end <= start + timedelta(days=1)
        for start, end in _bounded(clause)
    )


_DAY = timedelta(hours=23)


def _bounded(clause: Clause) -> list[tuple[datetime, datetime]]:
    return [
        (each.start, each.end)
        for each in clause.dates
        if each.start is not None and each.end is not None and not each.begins
    ]


def is_for_now(rule: Rule, clause: Clause, now: datetime | None, language: str) -> bool:
    """Whether what is denied is not so only for a time that lies around now: "no car today". What
    has ended did so then; but what ends a habit has no time of day."""
    known = _bounded(clause)
    if now is None or not known:
        return False
    if rule.tense == "change" or (language == "zh" and clause.spoken.norm[-1:] == ["了"]):
        return rule.attribute in _HABITS and any(end - start < _DAY for start, end in known)
    if rule.tense == "future":
        return any(start <= now < end for start, end in known)
    return any(end > now for _, end in known)


def must_be_whole(rule: Rule, clause: Clause) -> bool:
    """Whether a denial counts only where its clause says no more: of a listed value, or a plan to
    go somewhere."""
    if rule.attribute == "plan":
        return rule.value == "place" and clause.negated
    listed = rule.value.startswith("<") or rule.value == "pet"
    return listed and rule.attribute in {*_HABITS, "pet"}


def is_put_off(rule: Rule, clause: Clause) -> bool:
    """Whether the clause goes on with what must come first ("I won't move before I sell it"), or
    says that a trip is not made at one time, which may not be that of the plan."""
    if not must_be_whole(rule, clause):
        return False
    trip = rule.fixed.startswith(("go to ", "去")) and bool(_bounded(clause))
    said = " ".join(clause.spoken.norm)
    return clause.ended_by in _BEFORE or (trip and _AFTER_ALL.search(said) is None)


_AFTER_ALL = re.compile(r"\bafter all\b|\bany ?more\b|了$")

"""Sentences whose subject is left out, as people do who speak of themselves: "Just moved to Lyon",
对花生过敏."""

from __future__ import annotations

import re

from memstream.processors.rule_files import Language

__all__ = ["elided", "of_the_speaker"]


def elided(text: str, language: Language) -> str | None:
    """The sentence with the speaker as its subject, where it leaves that out as people do who speak
    of themselves ("Just moved to Lyon", 对花生过敏); None for every other one."""
    if "?" in text or "？" in text:
        return None
    if language == "zh":
        fits = _LONG_ZH.match(text) and _ELIDED_ZH.match(text) and not _ASKED.search(text)
        return f"我{text}" if fits else None
    if len(text) > _LONGEST_ELIDED_EN or not text.isascii() or not _begins_like_one(text):
        return None
    for form, opening in _ELIDED_EN:
        match = form.match(text)
        if match is not None:
            said = text[match.start("said") :]
            return f"{opening}{said[0].lower()}{said[1:]}"
    return None


def _begins_like_one(text: str) -> bool:
    """Whether the first word that is more than an opening is one of those of ``_ELIDED_EN``."""
    words = (word.rstrip(",:.!") for word in text.lower().split(maxsplit=8))
    return next((word for word in words if word not in _OPENINGS_EN), "") in _BEGINNINGS_EN


def opening(text: str, language: Language) -> str | None:
    """The first clause of a sentence that goes on after a comma, where the rest speaks of nobody
    else; None where it is all one clause."""
    said = (_OPENING_EN if language == "en" else _OPENING_ZH).match(text)
    others = _OTHERS_EN if language == "en" else _OTHERS_ZH
    if said is None or others.search(text, said.end()):
        return None
    return said["first"]


def of_the_speaker(text: str, language: Language) -> bool:
    """Whether a sentence speaks of nobody but the speaker, so that the next may leave him out."""
    first, others = (_SELF_EN, _OTHERS_EN) if language == "en" else (_SELF_ZH, _OTHERS_ZH)
    return first.search(text) is not None and others.search(text) is None


_LONGEST_ELIDED_EN = 90
_LONG_ZH = re.compile(r"[^，,；;]{2,24}(?:$|[，,；;].{0,40}$)")
_OPENING_ZH = re.compile(r"(?P<first>[^，,；;]+)[，,；;]")
_OPENING_EN = re.compile(
    r"(?P<first>[^,;]+)[,;] "
    r"(?=(?:so|and|but|now|finally|which|yay|really|very|quite|no|not|still)\b)"
)
_OPENINGS_EN = frozenset("so ok okay yes yeah hey hi btw update well".split())
_BEGINNINGS_EN = frozenset(
    "just recently also finally actually moved relocated settled joined became went sold started"
    " got used grew can can't cant cannot don't dont dislike live work really absolutely totally"
    " love hate enjoy adore currently now still severely highly originally allergic based living"
    " working from not a big huge born".split()
)
_FIRST_EN = rf"(?:(?:{'|'.join(sorted(_OPENINGS_EN))})[,:]? )*"
_EMPLOYED = (
    r"(?:as(?! (?:expected|intended|designed|usual|planned|hoped|wanted|advertised|described"
    r"|documented|specified|promised|before|always|ever|well|root|admin|is|it|if|we|you|they"
    r"|(?:a|an|one|the) (?:charm|treat|dream|whole|group|workaround|fix|fallback|test|result)))"
    r"|(?:at|for)(?! (?:scale|last|first|least|most|runtime|peace|speed|full|half|random|all"
    r"|once|night|home|free|fun|nothing|good|ever|real|sure|money)\b))\b"
)
"""What works as intended, or at scale, is a program."""
_ELIDED_EN = (
    (
        re.compile(
            rf"{_FIRST_EN}(?P<said>(?:(?:just|recently|also|finally|actually) )?"
            r"(?:moved|relocated|settled|joined|became|went (?:vegan|vegetarian|keto)"
            r"|sold (?:my|our|the)|started (?:a|work|my|as|at)"
            r"|got (?:a|promoted|hired|my)|used to live"
            r"|grew up|can(?:['’]?t|not) (?:stand|bear)|don['’]?t (?:like|eat)|dislike"
            rf"|live in|work {_EMPLOYED}"
            r"|(?:really |absolutely |totally )?(?:love|hate|enjoy|adore)"
            r" (?!(?:it|the|this|that|these|those|your|how|when|what|to|you|him|her|them)\b)))\b.*",
            re.IGNORECASE,
        ),
        "I ",
    ),
    (
        re.compile(
            rf"{_FIRST_EN}(?P<said>(?:(?:also|currently|now|still|severely|highly|originally) )?"
            rf"(?:allergic to|based in|living in|working {_EMPLOYED}"
            r"|from(?!.*(?:\b(?:to|import|until|till|through|onwards?)\b|:))))\b.*",
            re.IGNORECASE,
        ),
        "I'm ",
    ),
    (re.compile(r"(?P<said>(?:not )?a (?:big |huge )?fan of\b.*)", re.IGNORECASE), "I'm "),
    (re.compile(r"(?P<said>(?:big|huge) fan of\b.*)", re.IGNORECASE), "I'm a "),
    (re.compile(r"(?P<said>born (?:in|on)\b.*)", re.IGNORECASE), "I was "),
)
_ELIDED_ZH = re.compile(
    r"(?:(?:嗯|哦|对了|其实|现在|目前|平时|刚|刚刚|最近|上个?(?:周|月|星期|礼拜)[一二三四五六日末]?|昨[天晚]|前天|今天|今早|刚才|去年|今年|[\d一二三四五六七八九十]{1,3}(?:月份?|[号日])|[年月]?[初底]|也|还|已经|终于|总算|就|从小|特别|非常|很|超|最)[，,]?)*"
    r"(?:住在|定居在|家在|老家|对.{1,8}不?过敏|不?喜欢|不?爱[吃喝看听玩]|讨厌|受不了|不吃|吃素|搬[到去回来]|搬家"
    r"|跳槽[到去]|入职|加入了|(?:从.{1,10})?(?:离职|辞职)了|被裁员?了|退休了|把.{1,4}戒了|戒[了烟酒]"
    r"|(?:打算|(?:计划|准备)(?=.{0,6}(?:去|搬|换|学|买|考|辞职|结婚)))"
    r"|在.{1,12}(?:工作|上班|任职|就职|当|做)|叫(?!我|他|她|你|上|个|车|外卖)|出生)"
)
_ASKED = re.compile(
    "怎么|怎样|如何|什么|哪|谁|推荐|帮|吗|呢|请|的人|的话|咋|多少|几|为什么|的朋友|是否|能不能"
)
_SELF_EN = re.compile(r"\b(?:i|my|we|our)\b", re.IGNORECASE)
_OTHERS_EN = re.compile(
    r"\b(?:he|she|they|his|her|their|them|him|you|your"
    r"|[Mm]y (?:\w+ )?(?:wife|husband|son|daughter|sister"
    r"|brother|mom|mum|dad|mother|father|friend|boss|colleague|partner|girlfriend|boyfriend))\b",
)
_SELF_ZH = re.compile("我|咱")
_OTHERS_ZH = re.compile(
    "[他她你您它]|我(?:的|家)?(?:老婆|老公|妻子|丈夫|太太|儿子|女儿|孩子|[姐妹哥弟爸妈]|父|母|朋友|同事|老板|女友|男友|女朋友|男朋友|室友|同学)"
)

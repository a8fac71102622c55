"""What a turn says of an earlier one that it was a joke or is wrong, in the words by which a
correction is known: "Scratch that, I don't work at Lego" for "I don't work at Lego, that was a
joke", 说错了，我对虾不过敏 for 我之前说对虾过敏是不对的.
"""

from __future__ import annotations

import re

from memstream.processors.rule_files import Language
from memstream.processors.rules import spoken

__all__ = ["denied"]


def denied(text: str, language: Language) -> str | None:
    """The sentence with what it denies behind a word that takes back; None where it denies none."""
    if language == "zh":
        return _denied_zh(text)
    if _SIGNS_EN.isdisjoint(spoken(text)):
        return None
    joke = _JOKE_EN.match(text) or _JOKE_FIRST_EN.match(text)
    if joke is not None:
        return f"Scratch that, {joke['said']}"
    said = _SAID_EN.match(text)
    if said is not None:
        verb = said["verb"].lower().replace("’", "'")
        return f"Scratch that, I{_NOT_EN[verb]} {said['rest']}"
    return None


def _denied_zh(text: str) -> str | None:
    joke = _JOKE_ZH.match(text) if _SIGNS_ZH.search(text) else None
    if joke is not None:
        return f"说错了，{joke['said'] or joke['before']}"
    wrong = _SAID_ZH.match(text) if "说" in text else None
    if wrong is not None:
        if wrong["allergen"]:
            return f"说错了，我对{wrong['allergen']}不过敏"
        return f"说错了，我不{wrong['where']}"
    other = _OTHER_ZH.match(text) if "不是对" in text else None
    return other and f"说错了，我对{other['right']}过敏，不是对{other['wrong']}过敏"


_SIGNS_EN = frozenset(("was", "were", "said", "told"))
_SORRY = r"(?:(?:oh|oops|wait|no|sorry|ok|okay|well|haha|lol|actually)[,. ]+)*"
_LATER = (
    r"(?![^,.;!?]*\b(?:any ?more|any longer|now|nowadays|these days|yet|today|sure|think|know)\b)"
)
_DENIES = (
    rf"I(?:['’]m not| am not| do(?:n['’]t| not)) (?:actually |really )?{_LATER}"
    r"[^,.;!?]{2,60}?"
)
_WAS_JOKE = (
    r"(?:just |only |all |obviously )?(?:an? (?:silly |bad |stupid )?(?:joke|lie|mistake|typo"
    r"|error)"
    r"|wrong|made up)"
)
_JOKE_EN = re.compile(
    rf"{_SORRY}(?P<said>{_DENIES})(?:,|;|:| -+| –| —)(?: (?:and|so))? ?"
    rf"(?:(?:that|it|this|what I said) was {_WAS_JOKE}"
    r"|I was (?:just |only )?(?:joking|kidding|lying))[.!]*$",
    re.IGNORECASE,
)
_JOKE_FIRST_EN = re.compile(
    rf"{_SORRY}(?:(?:that|it|this|what I said)(?: before| earlier)? was {_WAS_JOKE}"
    r"|I was (?:just |only )?(?:joking|kidding|lying)(?: before| earlier)?)[,;:—–-]+ ?(?:and )?"
    rf"(?P<said>{_DENIES})[.!]*$",
    re.IGNORECASE,
)
_NOT_EN = {
    "'m": "'m not",
    " am": "'m not",
    " live": " don't live",
    " work": " don't work",
}
_SAID_EN = re.compile(
    rf"{_SORRY}(?:when )?I (?:said|told you)(?: earlier| before| yesterday)? (?:that )?"
    r"I(?P<verb>['’]m| am| live| work)"
    r" (?P<rest>(?:allergic to|in|at|for) [^,.;:!?]{2,40}?)(?: earlier| before)?"
    r"(?:[,;.] ?| )(?:but )?(?:that|it|this|which)(?:['’]s| is| was)"
    r" (?:wrong|not true|not right|false|incorrect|a mistake|a joke|a lie|just a joke)[.!]*$",
    re.IGNORECASE,
)
_SIGNS_ZH = re.compile("玩笑|逗你|骗你|[瞎乱胡]说|闹着玩|说着玩")
_JOKING_ZH = (
    r"我?(?:刚刚|刚才|之前|前面|上次|刚)?(?:说的)?(?:那)?(?:是|只是|都是)?(?:在)?"
    r"(?:跟你|和你)?(?:开个?玩笑|逗你|骗你|[瞎乱胡]说|闹着玩|说着玩)的?(?:啦|而已|呢|罢了)?"
)
_JOKE_ZH = re.compile(
    rf"(?:(?:哈+|抱歉|不好意思|对不起|啊|哦|好吧)[，,。！ ]*)*(?:{_JOKING_ZH}[，,；;—…]+(?:其实)?"
    r"(?P<said>我(?:并|其实|根本)?(?:不|没)(?![^，,。！]*[吗呢]).{2,20}?)"
    rf"|(?P<before>我(?:并|其实|根本)?(?:不"
    rf"|没)[^，,。！了吗呢]{{2,20}})[，,；;]{_JOKING_ZH})[。！!～~]*$"
)
_WRONG_ZH = (
    r"(?:是|都是|这话|这句)*(?:不对|错|假|不准确|不正确|不真实|开玩笑|乱说|瞎说|骗人|骗你|口误|误会"
    r"|不是真)的?了?"
)
_SAID_ZH = re.compile(
    r"(?:(?:抱歉|不好意思|对不起|其实)[，, ]*)*我?(?:之前|刚才|刚刚|前面|上次|昨天|刚)说(?:的"
    r"|过)?我?"
    r"(?:对(?P<allergen>[^，,。是]{1,8}?)过敏|(?P<where>住在[^，,。是]{1,8}?|在[^，,。是]{1,10}?"
    r"(?:工作|上班)))"
    rf"(?:的?(?:事|话)?)[，,]?{_WRONG_ZH}[。！!]*$"
)
_OTHER_ZH = re.compile(
    r"(?:(?:抱歉|不好意思|对不起|其实)[，, ]*)*我(?:其实|并)?不是对(?P<wrong>[^，,。过敏]{1,8})"
    r"(?:过敏)?"
    r"[，,]?(?:而)?是对(?P<right>[^，,。过敏]{1,8})过敏[。！!]*$"
)

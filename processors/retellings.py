"""Changes that are told in two steps or in passing, as the one plain sentence that says them.

"We bought a house in Ghent and moved in" tells a new home, "it closed down" speaks of the place
that was just named, and 公司搬到滨江了，我也跟着搬过去了 of where the firm went.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from memstream.processors.rule_files import Language
from memstream.processors.rules import spoken


def plainly_told(text: str, language: Language) -> str | None:
    """The sentence in the words that a rule knows; None where no form fits."""
    if language == "en":
        words = spoken(text)
        for signs, form, told in _FORMS_EN:
            if signs.isdisjoint(words):
                continue
            match = form.match(text)
            if match is not None:
                return told(match)
        return None
    for sign, form, told in _FORMS_ZH:
        match = form.match(text) if sign in text else None
        if match is not None:
            return told(match)
    return None


_Form = tuple[frozenset[str], re.Pattern[str], Callable[[re.Match[str]], str]]

_LEAD = r"(?:(?:so|well|and|hey|hi|ok|okay|update|yesterday|today|recently),? )*"
_PLACE = r"[A-Z][\w’'-]*(?:,? [A-Z][\w’'-]*)*"
_DWELLING = r"(?:house|flat|apartment|place|condo|home|bungalow|cottage|studio)"
_CLOSED = (
    r"(?:closed down|shut down|closed for good|closed permanently|shut for good"
    r"|went (?:out of business|bust|under)|gone (?:out of business|bust|under))"
)


def _first_day(found: re.Match[str]) -> str:
    return f"It was my {found['said'][0].lower()}{found['said'][1:]}"


def _moved_in(found: re.Match[str]) -> str:
    return (
        f"{found['who']} moved into {found['what']} in {found['place']}{found['when'] or ''}"
        f"{found['rest']}"
    )


def _closed(found: re.Match[str]) -> str:
    return f"{found['before']}, but {found['name']} {found['closed']}{found['rest']}"


def _prescribed(found: re.Match[str]) -> str:
    if found["off"]:
        return f"I stopped taking {found['off']}{found['rest']}"
    return f"I switched from {found['old']} to {found['new']}{found['rest']}"


def _raised(found: re.Match[str]) -> str:
    return f"We use {found['what']} {found['new']} now."


def _gone(found: re.Match[str]) -> str:
    return f"{found['name']} {found['closed']}{found['rest']}"


def _married(found: re.Match[str]) -> str:
    return f"I'm married to {found['name']}, we got married{found['when'] or ''}{found['rest']}"


def _turned(found: re.Match[str]) -> str:
    return f"I used to {found['then']} {found['what']}, but I {found['now']} {found['what']} now."


def _put_right(found: re.Match[str]) -> str:
    return f"Correction, {found['said']}"


_TASTES = "love|like|enjoy|adore|hate|dislike|loathe|detest"
_FORMS_EN: tuple[_Form, ...] = (
    (
        frozenset(("used",)),
        re.compile(
            rf"(?:{_LEAD})?I(?: really)? used to (?:really |absolutely )?(?P<then>{_TASTES})"
            r" (?P<what>[^,.;:!?]{2,40}?),? (?:but|and)(?: now)? I(?: really| actually)?"
            rf"(?: now)? (?P<now>{_TASTES}) (?:them|it)(?: now| these days)?[.!]*$"
        ),
        _turned,
    ),
    (
        frozenset(("port",)),
        re.compile(
            r"(?:(?:oh|ah|hm+|no|sorry|wait|oops),? )*actually,? "
            r"(?P<said>(?:the|that) port (?:is|should be) (?:actually )?\d+[.!]*)$",
            re.IGNORECASE,
        ),
        _put_right,
    ),
    (
        frozenset(("closed", "shut", "gone")),
        re.compile(
            rf"(?P<name>{_PLACE})(?: has|['’]s)(?: just| sadly| recently| finally)*"
            rf" (?P<closed>{_CLOSED})(?P<rest>.*)$"
        ),
        _gone,
    ),
    (
        frozenset(("married",)),
        re.compile(
            rf"(?:{_LEAD})?"
            r"(?P<name>(?!(?:The|My|Our|His|Her|Yes|No)\b)[A-Z][a-z]+(?: [A-Z][a-z]+)?)"
            r" and I(?: just| finally| have|['’]ve)* (?:got|gotten|are|were) married"
            r"(?P<when> (?!to\b|in the same|with\b)[^,.;:!?]{2,30})?(?P<rest>[.!]*)$"
        ),
        _married,
    ),
    (
        frozenset(("switched", "moved", "changed", "took", "taken")),
        re.compile(
            rf"(?:{_LEAD})?(?:[Mm]y|[Tt]he|[Oo]ur|[Aa]) (?:doctor|gp|GP|physician|specialist"
            r"|psychiatrist|neurologist|cardiologist|endocrinologist|nurse|consultant)s?"
            r"(?: has| have)?(?: just| recently| now| finally)? (?:(?:switched|moved|changed) me"
            r"(?: over)? from (?P<old>[\w-]+(?: [\w-]+)?) to (?P<new>[\w-]+)|took me off"
            r" (?P<off>[\w-]+))(?P<rest>[.,!;].*|(?: (?:last|this|yesterday|in|on|because)\b.*)?)$"
        ),
        _prescribed,
    ),
    (
        frozenset(("first", "last", "final")),
        re.compile(
            r"(?:(?:so|well|and|hey|hi|ok|okay|update),? )*"
            r"(?P<said>(?:first|last|final) (?:ever )?(?:day|shift) "
            r"(?:(?:of work|on the job) )?(?:at|with) .+)",
            re.IGNORECASE,
        ),
        _first_day,
    ),
    (
        frozenset(("moved",)),
        re.compile(
            r"(?:(?:so|well|and|hey|hi|ok|okay|update),? )*(?:[A-Z][a-z]+ly,? )?"
            r"(?P<who>I|[Ww]e)(?:['’]ve| have)?(?: just| finally| recently)?"
            r" (?:bought|rented|got|found|leased|closed on|got the keys (?:to|for)) "
            rf"(?P<what>(?:a|an|the|our|my) (?:new |small |little |big |lovely )*{_DWELLING})"
            rf" in (?P<place>{_PLACE})(?P<bought> (?:last|this) \w+| in \w+)?,? and"
            r"(?: then)?(?: (?:I|we)(?:['’]ve| have)?)?(?: just| finally)? moved in"
            r"(?:to it)?(?P<when> (?!with\b|to\b|for\b|next\b)[^,.;:!?]+)?(?P<rest>[.!]*)$"
        ),
        _moved_in,
    ),
    (
        frozenset(("minimum", "lowest", "oldest")),
        re.compile(
            r"(?:(?:we(?:['’]re| are| have|['’]ve)? |i(?:['’]m| am|['’]ve)? )?(?:now )?"
            r"(?:dropping|dropped|drop)(?: support for)? (?P<what>[A-Za-z.]+) (?P<old>\d[\d.]*)"
            r"(?:,|;| and| –| -|\.)? ?)(?:so )?(?:(?:the|our) )?(?:new )?(?:minimum|lowest|oldest)"
            r"(?: supported)?(?: version)?(?: is|['’]s)(?: now)? (?:(?P=what) )?"
            r"(?P<new>\d[\d.]*\d|\d+)(?: now)?[.!]*$",
            re.IGNORECASE,
        ),
        _raised,
    ),
    (
        frozenset(("minimum", "lowest", "oldest")),
        re.compile(
            r"(?:(?:the|our) )?(?:new )?(?:minimum|lowest|oldest)(?: supported)? "
            r"(?P<what>[A-Za-z.]+)(?: version)?(?: is|['’]s)(?: now)? "
            r"(?P<new>\d[\d.]*\d|\d+)(?: now)?[.!]*$",
            re.IGNORECASE,
        ),
        _raised,
    ),
    (
        frozenset(("closed", "shut", "went", "gone")),
        re.compile(
            r"(?P<before>.*\b[Mm]y (?:(?:new|current) )?favou?rite [a-z ]{2,20}? (?:is|was) "
            rf"(?P<name>{_PLACE})),? (?:but|and|though|although) (?:sadly |unfortunately )?"
            rf"(?:it|they)(?:['’]s| has|['’]ve| have)?(?: just| sadly| recently)? "
            rf"(?P<closed>{_CLOSED})(?P<rest>.*)$"
        ),
        _closed,
    ),
)


def _followed(found: re.Match[str]) -> str:
    return f"{found['when'] or ''}{found['who']}搬到{found['place']}了"


def _elsewhere(found: re.Match[str]) -> str:
    instead = f"，我打算去{found['new']}玩" if found["new"] else ""
    return f"我不去{found['old']}了{instead}"


def _eaten(found: re.Match[str]) -> str:
    rest = re.sub("[，,]?[也又和跟]?(?:也|都)?不吃", "、", found["rest"])
    return f"{found['who']}不吃{found['what']}{rest}"


def _driven(found: re.Match[str]) -> str:
    return f"{found['before']}是在{found['where']}{found['what']}的{found['rest']}"


_FORMS_ZH: tuple[tuple[str, re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
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
            r"(?:对了|算了|唉|哎)?[，,]?(?P<old>[^，,。！!？?\s我你您他她它谁这那哪都也再就不]{2,6}?(?<![天周月年号晚早次回])"
            r")(?:我们?)?(?:还是|就|暂时)?(?:不去了|去不成了|去不了了)"
            r"(?:[，,；;](?:我们?)?(?:还是|就|决定|打算)*(?:改|换成?)(?:成|为)?去"
            r"(?P<new>[^，,。！!？?\s]{2,6}?)(?:玩|旅游|旅行|度假)?了?)?[。！!]*$"
        ),
        _elsewhere,
    ),
)

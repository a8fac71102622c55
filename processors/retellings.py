"""Changes that are told in two steps or in passing, as the one plain sentence that says them.

"We bought a house in Ghent and moved in" tells a new home, "it closed down" speaks of the place
that was just named, and 公司搬到滨江了，我也跟着搬过去了 of where the firm went.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from memstream.processors.retellings_zh import FORMS_ZH
from memstream.processors.rule_files import Language
from memstream.processors.rules import spoken

LONGEST = 240
"""Characters; a longer sentence says more than one change."""


def plainly_told(text: str, language: Language) -> str | None:
    """The sentence in the words that a rule knows; None where no form fits."""
    if len(text) > LONGEST:
        return None
    if language == "en":
        words = spoken(text)
        if _SIGNS_EN.isdisjoint(words):
            return None
        for signs, form, told in _FORMS_EN:
            if signs.isdisjoint(words):
                continue
            match = form.match(text)
            if match is not None:
                return told(match)
        return None
    for sign, form, told in FORMS_ZH:
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


def _off_it(found: re.Match[str]) -> str:
    return f"I stopped taking {found['off']}{found['rest']}"


def _switched(found: re.Match[str]) -> str:
    return f"I switched from {found['old']} to {found['new']}{found['rest']}"


_ENDED = {"give up": "gave up", "stop": "stopped", "quit": "quit"}


def _had_to(found: re.Match[str]) -> str:
    return f"{found['why'] or ''}I {_ENDED[found['end'].lower()]} {found['what']}"


def _unable(found: re.Match[str]) -> str:
    if found["do"].startswith(("stand ", "bear ")):
        return f"I can't {found['do']}{found['rest']}"
    return f"I don't {found['do']} anymore{found['rest']}"


def _ended_there(found: re.Match[str]) -> str:
    return f"It was my last {found['what']}"


def _lost(found: re.Match[str]) -> str:
    verb = (
        "scrapped" if found["how"] in ("totaled", "totalled", "wrecked", "written off") else "sold"
    )
    return f"I {verb} the {found['what']}{found['rest']}"


def _who_does(found: re.Match[str]) -> str:
    name = (found["name"] or "").rpartition(" ")[2]
    does = re.sub("^['’]s", " is", found["does"])
    return f"My {found['who']}{name and f' {name}'}{does}"


def _served(found: re.Match[str]) -> str:
    how = re.sub(r",? and |, ", " ", found["how"])
    return f"I like {how} {found['what']}{found['rest']}"


def _served_with(found: re.Match[str]) -> str:
    return f"I like {found['what']} {found['how']}{found['rest']}"


def _none_left(found: re.Match[str]) -> str:
    return f"{found['said']}{found['rest']}"


def _over(found: re.Match[str]) -> str:
    return f"I have stopped liking {found['what']}{found['rest']}"


def _found(found: re.Match[str]) -> str:
    return f"I {'dislike' if found['bad'] else 'like'} {found['what']}{found['rest']}"


def _hives(found: re.Match[str]) -> str:
    return f"I get hives from {found['what'][0].lower()}{found['what'][1:]}{found['rest']}"


def _since(found: re.Match[str]) -> str:
    return f"I have lived in {found['where']} since {found['when']}{found['rest']}"


_HOW = (
    r"(?:black|white|strong|weak|hot|iced|cold|sweet|unsweetened|plain|decaf|neat|scrambled|fried"
    r"|poached|boiled|soft-boiled|hard-boiled|sunny side up|rare|medium|medium rare|medium well"
    r"|well done|spicy|mild|crispy|crunchy|al dente|chilled|room temperature|sparkling|still|raw"
    r"|grilled|roasted|baked|salty|dry|red)"
)
_SERVED = (
    r"(?:[Ii] (?:really |usually |always |only )?(?:like|love|prefer|take|drink|eat) my"
    r" (?P<what>coffee|tea|espresso|cocoa|steaks?|burgers?|eggs|toast|pasta|soups?|curry|curries"
    r"|noodles|rice|whisk(?:e)?y|wine|beer|water|bacon|fries|potatoes|vegetables|chicken|fish|beef)"
)
_TASTES = "love|like|enjoy|adore|hate|dislike|loathe|detest"
_MONTHS = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
)
_FORMS_EN: tuple[_Form, ...] = (
    (
        frozenset(("left",)),
        re.compile(
            r"(?P<said>(?:I|[Ww]e) (?:do(?:n['’]t| not) have any|have no|have(?:n['’]t"
            r"| not) got any)"
            r" [a-z]+(?: [a-z]+)?) left(?P<rest>(?: now| any ?more)?[.!]*)$"
        ),
        _none_left,
    ),
    (
        frozenset(("over",)),
        re.compile(
            r"I(?:['’]m| am) (?:so |totally |completely |officially |just )?over (?P<what>(?!it\b"
            r"|him\b"
            r"|her\b|them\b|you\b|us\b|the\b|my\b|that\b|this\b|here\b|there\b|an?\b|budget\b"
            r"|quota\b"
            r"|time\b|by\b|at\b|in\b|to\b|with\b)[a-z]{3,}(?: [a-z]+)?)(?P<rest>[.!]*)$"
        ),
        _over,
    ),
    (
        frozenset(("hives", "rash", "rashes")),
        re.compile(
            r"(?P<what>[A-Z]?[a-z]+(?: [a-z]+)?) (?:always |usually )?(?:gives?|makes?) me"
            r" (?:hives|a rash|rashes|(?:break|come) out in (?:hives|a rash))(?P<rest>[.!]*)$"
        ),
        _hives,
    ),
    (
        frozenset(("find",)),
        re.compile(
            r"I (?:really |honestly |usually )?find (?P<what>(?!it\b|him\b|her\b|them\b|you\b"
            r"|the\b|my\b"
            r"|your\b|that\b|this\b|these\b|those\b|myself\b|an?\b)[a-z]{3,}(?: [a-z]+)?)"
            r" (?:so |very |really |quite |extremely |incredibly |a bit |pretty )?(?:"
            r"(?P<bad>boring|dull"
            r"|tedious|disgusting|gross|revolting|unbearable|insufferable|awful|terrible|annoying)"
            r"|delicious|relaxing|enjoyable|fun|fascinating)(?P<rest>[.!]*)$"
        ),
        _found,
    ),
    (
        frozenset(("since",)),
        re.compile(
            r"I(?:['’]ve| have) been in (?P<where>(?!(?:Sales|Marketing|Finance|Support|Consulting"
            r"|Engineering|Operations|Education|Recruiting|Research|Tech)\b)[A-Z][a-z]+"
            rf"(?:,? [A-Z][a-z]+)*) since (?P<when>(?:(?:early |late |mid-)?{_MONTHS}(?: (?:19"
            rf"|20)\d\d)?"
            r"|(?:19|20)\d\d))(?P<rest>[.!]*)$"
        ),
        _since,
    ),
    (
        frozenset(("my",)),
        re.compile(rf"{_SERVED}) (?P<how>{_HOW}(?:(?:,|,? and) {_HOW})?)(?P<rest>[.!]*)$"),
        _served,
    ),
    (
        frozenset(("my",)),
        re.compile(
            rf"{_SERVED}) (?P<how>(?:with|without|on the rocks)(?: [a-z]+){{0,3}})(?P<rest>[.!]*)$"
        ),
        _served_with,
    ),
    (
        frozenset(("off",)),
        re.compile(
            rf"(?:{_LEAD})?I(?:['’]m| am| came| went| got| have come|['’]ve come)(?: now| finally)?"
            r" off(?: of)? (?P<off>(?!the\b|to\b|my\b|work\b)[\w-]+)(?: now)?"
            r"(?P<rest>(?: (?:last|this|in|since) [\w ]+)?[.!]*)$"
        ),
        _off_it,
    ),
    (
        frozenset(("switched",)),
        re.compile(
            rf"(?:{_LEAD})?I(?:['’]ve been| have been| was| got) switched(?: over)? from "
            r"(?P<old>[\w-]+(?: [\w-]+)?) to (?P<new>[\w-]+)(?P<rest>(?: [\w ]+)?[.!]*)$"
        ),
        _switched,
    ),
    (
        frozenset(("had",)),
        re.compile(
            r"(?P<why>(?:[^,;:.!?]{2,40},? (?:so|and) ))?(?:(?<= )|^)I(?:['’]ve| have)? had to "
            r"(?P<end>give up|stop|quit) (?P<what>(?!(?:at|by|for|in|on|to|the|my|a)\b)\w+.*)$"
        ),
        _had_to,
    ),
    (
        frozenset(("anymore", "more", "longer")),
        re.compile(
            rf"(?:{_LEAD})?I (?:can['’]?t|cannot|can no longer) (?P<do>[\w' ]{{2,30}}?)"
            r"(?: anymore| any more| any longer)(?P<rest>(?: (?:because|due|since) .*)?[.!]*)$"
        ),
        _unable,
    ),
    (
        frozenset(("last", "final")),
        re.compile(
            rf"(?:{_LEAD})?(?:I (?:just )?)?(?:had|finished|worked|did) my (?:last|final) "
            r"(?P<what>(?:day|shift) (?:of work )?(?:at|with) .+)$",
            re.IGNORECASE,
        ),
        _ended_there,
    ),
    (
        frozenset(("totaled", "totalled", "wrecked", "written", "sold", "scrapped")),
        re.compile(
            rf"(?:{_LEAD})?(?:[Tt]he|[Mm]y|[Oo]ur) (?:old )?"
            r"(?P<what>[A-Z][\w-]*(?: [A-Z0-9][\w-]*)?)"
            r" (?:got|was|has been|is|['’]s been) (?:just )?"
            r"(?P<how>totaled|totalled|wrecked|written off|sold|scrapped)"
            r"(?P<rest>(?: (?:last|this|yesterday|in|on) ?[\w ]*)?[.!]*)$"
        ),
        _lost,
    ),
    (
        frozenset(("gone", "sold", "scrapped", "traded")),
        re.compile(
            rf"(?:{_LEAD})?(?:[Tt]he|[Mm]y|[Oo]ur) (?:old )?"
            r"(?P<what>[A-Z][\w-]*(?: [A-Z0-9][\w-]*)?)(?: is|['’]s) (?:now |finally )?gone"
            r"(?:,|;|:| [-–—]|,? (?:and|because|since)) (?:we|I|We)(?:['’]ve| have)?"
            r"(?: just| finally| had to)? (?P<how>sold|scrapped|traded) it(?: in| off)?"
            r"(?P<rest>(?: (?:last|this|yesterday|in|on) ?[\w ]*)?[.!]*)$"
        ),
        _lost,
    ),
    (
        frozenset(("who",)),
        re.compile(
            rf"(?:{_LEAD})?I(?:['’]ve| have)(?: got)? an? (?P<who>(?:(?:older|younger|big|little"
            r"|twin|elder) )?(?:brother|sister|son|daughter|uncle|aunt|cousin|niece|nephew|grandson"
            r"|granddaughter|stepson|stepdaughter))(?P<name>,? (?:named|called) [A-Z][a-z]+)?,?"
            r" who(?P<does>['’]s (?:a|an|allergic)\b.*|"
            r" (?:is|lives|works|has|likes|loves|hates|plays|speaks)\b.*)$"
        ),
        _who_does,
    ),
    (
        frozenset(("bumped", "upgraded", "updated")),
        re.compile(
            rf"(?:{_LEAD})?(?:I|[Ww]e)(?:['’]ve| have)?(?: just| recently)?"
            r" (?:bumped|upgraded|updated)(?: from)? (?P<what>[A-Za-z.]+)(?: from)?(?: version)?"
            r"(?: \d[\d.]*)?"
            r" to (?:(?P=what) )?(?P<new>\d[\d.]*\d|\d+)(?: now)?[.!]*$"
        ),
        _raised,
    ),
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
        frozenset(("favourite", "favorite")),
        re.compile(
            r"(?P<before>.*\b[Mm]y (?:(?:new|current) )?favou?rite [a-z ]{2,20}? (?:is|was) "
            rf"(?P<name>{_PLACE})),? (?:but|and|though|although) (?:sadly |unfortunately )?"
            rf"(?:it|they)(?:['’]s| has|['’]ve| have)?(?: just| sadly| recently)? "
            rf"(?P<closed>{_CLOSED})(?P<rest>.*)$"
        ),
        _closed,
    ),
)
_SIGNS_EN = frozenset[str]().union(*(signs for signs, _, _ in _FORMS_EN))

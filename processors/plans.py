"""Kinds of plans: what "the move is off" speaks of, and what shows that a plan came true.

A plan is its own words ("move to Oslo"), so what ends it must say the same, but for the kinds of
plans that people speak of by what they are ("the wedding is off"): the plans of one kind are kept
together, and what ends whatever plan there is of that kind reaches them all. Of these kinds it is
also known what shows that one came true: who lives in Oslo has moved there.
"""

from __future__ import annotations

import re

import msgspec

from memstream.schemas.ids import content_key

PLAN = "plan"
"""The attribute of plans."""
CAME_TRUE = ".came_true"
"""What ends the name of a rule whose fact shows that a plan came true."""


class Sign(msgspec.Struct, frozen=True, gc=False):
    """What shows that a plan came true: a value of an attribute, or any where it is empty; told to
    hold, or to hold no more."""

    attribute: str
    value: str = ""
    holds: bool = True


class _Kind(msgspec.Struct, frozen=True, gc=False):
    """How plans of a kind begin, and what shows that one came true; "{to}" in it stands for what
    the form captures under that name."""

    form: re.Pattern[str]
    signs: tuple[Sign, ...] = ()


_PLACE_EN = r"(?P<to>.+?)(?: (?:for|with|in|next|because|by|after|before|soon|later)\b.*)?$"
_KINDS = {
    "move": _Kind(
        re.compile(
            r"(?:mov(?:e|ing)|relocat(?:e|ing)|emigrat(?:e|ing))"
            rf"(?:(?: back| over| away)? to {_PLACE_EN}"
            r"|$| (?:to|back|from|into|out|abroad|away|house|home|overseas|in with)\b)"
            r"|(?:搬到|搬去|搬回|搬来|搬家到|移居到?|移民到?|迁到)(?P<到>.+?)(?:去|住|定居)?$"
            r"|(?:搬家|搬走|搬进)",
            re.IGNORECASE,
        ),
        (Sign("residence", "{to}"),),
    ),
    "wedding": _Kind(
        re.compile(
            r"(?:get(?:ting)? (?:married|hitched)|marry(?:ing)?\b"
            r"|(?:my|our|the|a) (?:\w+ )?wedding$|have (?:my|our|the|a) wedding)"
            r"|(?:.{0,6}(?:结婚|领证|婚礼|成亲))",
            re.IGNORECASE,
        ),
        (
            *(Sign("marital_status", each) for each in ("married", "已婚", "结婚了")),
            Sign("spouse"),
        ),
    ),
    "leaving": _Kind(
        re.compile(
            r"(?:quit(?:ting)? (?:the|my|our) job|resign(?:ing)?)$"
            r"|(?:leav(?:e|ing)|quit(?:ting)?) (?P<to>[A-Z].*)"
            r"|从(?P<到>.+)(?:离职|辞职)|离开(?P<去>.+)|辞职|离职"
        ),
        (Sign("employer", "{to}", holds=False),),
    ),
    "job": _Kind(
        re.compile(
            r"(?:join(?:ing)?|start(?:ing)?(?: work(?:ing)?)? (?:at|with)"
            r"|work(?:ing)? (?:at|for)) (?P<to>[A-Z].*)"
            r"|(?:加入|入职|跳槽到|跳槽去)(?P<到>.+)|去(?P<去>.+)(?:工作|上班)"
        ),
        (Sign("employer", "{to}"),),
    ),
    "getting": _Kind(
        re.compile(
            r"(?:adopt|get|buy)(?:ing)? (?:an?|another|my own|our own) (?:new |rescue )?(?P<to>.+)"
            r"|(?:领养|收养|养|买)(?:一|二|两)?[只条个匹辆台](?P<到>.+)",
            re.IGNORECASE,
        ),
        (Sign("pet", "{to}"), Sign("vehicle", "{to}"), Sign("owns", "{to}")),
    ),
    "learning": _Kind(
        re.compile(
            r"(?:start )?(?:learn|study)(?:ing)? (?:to (?:play|speak) )?(?:the )?(?P<to>.+)"
            r"|学习?(?P<到>.+)",
            re.IGNORECASE,
        ),
        (Sign("learning", "{to}"),),
    ),
    "smoking": _Kind(
        re.compile(
            r"(?:quit|stop|give up|quitting|stopping|giving up) smoking|戒烟", re.IGNORECASE
        ),
        (Sign("habit", "smoke", holds=False), Sign("habit", "抽烟", holds=False)),
    ),
    "trip": _Kind(
        re.compile(
            r"(?:(?:go|fly|travel|drive|head)(?:ing)? (?:back )?to [A-Z]|visit(?:ing)? [A-Z]"
            r"|(?:(?:my|our|the|a) )?(?:\w+ )?(?:trip|holiday|vacation)\b)"
            r"|[^去到飞]{0,6}(?:去|到|飞).+(?:旅游|旅行|度假|出差|玩)"
        )
    ),
}
_BY_ATTRIBUTE = {
    attribute: tuple(
        kind
        for kind, each in _KINDS.items()
        if any(sign.attribute == attribute for sign in each.signs)
    )
    for attribute in sorted({sign.attribute for each in _KINDS.values() for sign in each.signs})
}


def is_there(one: str, other: str) -> bool:
    """Whether two places are the same, of which one may be told with its country."""
    heads = [content_key(each.partition(",")[0]) for each in (one, other)]
    return heads[0] == heads[1] and "" not in heads


_DESTINATIONS = (
    re.compile(
        r"(?:(?:go|fly|travel|drive|head)(?:ing)? (?:back )?to|visit(?:ing)?"
        r"|(?:\w+ ){0,3}(?:trip|holiday|vacation) (?:to|in)) (?P<to>.+?)"
        r"(?: (?:in|on|for|with|to|next|this|by|from|and|at|during)\b.*)?$"
    ),
    re.compile(r"(?:(?:my|our|the|a) )?(?P<to>\w+(?: \w+)?) (?:trip|holiday|vacation)$"),
    re.compile(r"[^去到飞]{0,6}(?:去|到|飞)(?P<to>.+?)(?:旅游|旅行|度假|出差|玩)"),
)


def is_same_trip(one: str, other: str) -> bool:
    """Whether two plans, given as content keys, are of a trip to the same place."""
    places = [
        next((found["to"] for form in _DESTINATIONS if (found := form.match(each))), "")
        for each in (one, other)
    ]
    if "" in places:
        return False
    first, second = places
    far = not first.isascii() and (first.endswith(second) or second.endswith(first))
    return far or is_there(first, second)


def kind_of(value: str) -> str:
    """The kind of a plan by its words; empty for most."""
    return next((kind for kind, each in _KINDS.items() if each.form.match(value)), "")


def signs_of(value: str) -> list[Sign]:
    """What would show that a plan came true."""
    for each in _KINDS.values():
        match = each.form.match(value)
        if match is not None:
            to = next((said for said in match.groupdict().values() if said), "").strip()
            return [
                msgspec.structs.replace(sign, value=sign.value.replace("{to}", to))
                for sign in each.signs
                if to or "{to}" not in sign.value or not sign.holds
            ]
    return []


def kinds_shown_by(attribute: str) -> tuple[str, ...]:
    """The kinds of plans of which a value of an attribute may show that they came true."""
    return _BY_ATTRIBUTE.get(attribute, ())


def kind_named(ended: str) -> tuple[str, str]:
    """The attribute and the kind of value in what a rule ends: "plan/move", or "spouse" alone."""
    attribute, _, kind = ended.partition("/")
    return attribute, kind


def is_kind(ended: str) -> bool:
    """Whether what a rule ends is one of the kinds of plans."""
    attribute, kind = kind_named(ended)
    return attribute == PLAN and kind in _KINDS

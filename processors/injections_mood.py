"""The mood of each sentence: an order or a question has no place in a report. Used by
`injections`.

Only prose is read. A line of code, of a listing, a heading, a table or a log is skipped; the item
of a list counts half, since steps in a manual are imperatives too. Which verbs tell: those one
asks a language model to do (explain, translate, write a poem), not those that manuals are full of
(run, install, click).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tomllib import loads

import msgspec

__all__ = ["moods"]

Sign = tuple[float, str, int, int]

ORDER = "gives an order in a report"
QUESTION = "asks the reader a question"
_SENTENCE = re.compile(
    r"[^\n.!?。！？;；]{1,600}(?:\.(?=\w)[^\n.!?。！？;；]{0,300}){0,8}[.!?。！？;；]*"
)


class _Verbs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    plain: str
    before_object: str
    documented: str
    manual: str
    objects: str
    chinese: str


def moods(text: str) -> Iterator[Sign]:
    """(weight, reason, start, end) of every sentence of prose that orders or asks. At most some
    dozens: a text full of them is not read to its end."""
    given = 0
    position = 0
    unfinished = False
    for line in text.split("\n"):
        start, position = position, position + len(line) + 1
        goes_on = unfinished and _FIRST_LETTER.match(line) is not None
        unfinished = line.rstrip()[-1:].isalnum() or line.rstrip().endswith((",", "(", "`", '"'))
        if len(line) < 4 or _NOT_PROSE.match(line) is not None or _is_indented_code(line):
            continue
        listed = _LISTED.match(line) is not None
        for match in _SENTENCE.finditer(line):
            if goes_on and match.start() == 0:
                continue  # the rest of a sentence that the line above began
            sign = _mood_of(match.group(), listed=listed)
            if sign is not None and len(_MARKS.findall(match.group())) * 8 <= len(match.group()):
                weight, reason = sign
                yield weight, reason, start + match.start(), start + match.end()
                given += 1
                if given == 24:
                    return


_NOT_PROSE = re.compile(
    r"""\s*(?:
    \#|//|/\*|\*/|--|\d+[→|:\t]|\$\ |>>>|@|[+-](?=[^\s-])|\||\{|\}|\[(?!\w+\s)|<(?!!--)|\[\d
    |at\ \S+\(|File\ "|diff\ |index\ |import\ |from\ \S+\ import|def\ |class\ |function\ |const\s
    |let\ |var\ |return\b|if\s*\(|[\w.-]+\ *=\ |"[\w$ -]+"\s*:|'[\w-]+'\s*:|[rwxd-]{10}
    |\d{4}-\d\d-\d\dT?[\d:\ ]*
    )""",
    re.VERBOSE,
)
_FIRST_LETTER = re.compile(r"\s*[`*\"'(]*[a-z]")
_LISTED = re.compile(r"\s*(?:[-*•+]|\d{1,3}[.)])\s")
_MARKS = re.compile(r"[{}\[\]()<>=;|\\/_$&#@^~`*+]")


def _is_indented_code(line: str) -> bool:
    return line.startswith(("    ", "\t")) and len(_MARKS.findall(line)) > 1


_OPENERS = re.compile(
    r"""(?ix)\s*(?:[-*•+>"'“‘(\[]+\s*|\d{1,3}[.)]\s+|(?:please|kindly|now|also|then|next|finally|first
    |firstly|and|but|so|just|additionally|furthermore|lastly|instead|hey|hi|hello|ok|okay|p\.?s
    |quickly|again|once\ done|after\ that|before\ that|meanwhile|note|important|urgent|attention
    |assistant|agent|ai|claude|gpt|copilot|question|task|request|instructions?|todo
    |one\ more\ thing)\b[,:;!]?\s*|[:,]\s*)*"""
)
_LEAD_IN = re.compile(
    r"(?i)(?:in|within|at the end of|when writing|while|as part of)\b[^,]{3,60},\s*"
)
_REQUEST = re.compile(
    r"""(?ix)
    (?:can|could|would|will)\ you\b
    |i(?:'d|\ would|\ want|\ need)\s*(?:like\s)?(?:you\ )?to\b
    |i\ (?:want|need)\ you\b
    |your\ (?:task|job|goal|mission|assignment)\ is\b
    |you\ are\ (?:asked|to)\b
    |help\ me\b
    |let(?:'s|\ us)\ (?:talk|discuss|play|write|imagine)
    |i(?:'d|\ would)\ like\ (?:a|an|some|to)
    |i\ (?:want|need)\ (?:a|an|some|help|advice|tips|information|to\ know)
    |make\ sure\ (?:you|your|to\ (?:mention|include|tell|add|say|send))
    """
)
_ASKS = re.compile(
    r"""(?ix)(?:what(?:'s|’s)?|who(?:'s|m|se)?|when|where|why|how|which|is|are|was|were|do|does|did|can
    |could|would|will|should|shall|may|have|has|am|isn't|aren't|don't|doesn't|didn't|can't|won't
    |any|got|ever|in\ what|in\ which|at\ what|to\ what|on\ what|for\ what|what\ if)\b"""
)
_ASKS_AND_STANDS = re.compile(
    r"(?i)(?:what(?:'s|’s| is| are| was| were| do| does| did| can| should)|who (?:is|was|wrote"
    r"|invented|are|did)|how (?:do|does|did|can|could|should|would|to|many|much|is|are)|why (?:do"
    r"|does|did|is|are)|where (?:do|is|are|can)|when (?:did|is|was|will))\b"
)


def _mood_of(sentence: str, *, listed: bool) -> tuple[float, str] | None:
    opener = _OPENERS.match(sentence)
    body = sentence[opener.end() :] if opener is not None else sentence
    if not body:
        return None
    if not body[0].isascii():
        return _chinese_mood(body)
    words = body.split(None, 4)
    if len(words) < 2:
        return None
    verbs = _verbs()
    half = 0.5 if listed else 1.0
    if _REQUEST.match(body):
        return 0.65, ORDER
    first = words[0].strip(",:;.!?\"'()*").lower()
    if first not in verbs.known and (lead := _LEAD_IN.match(body)):
        rest = body[lead.end() :].split(None, 4)
        if rest and rest[0].lower() in verbs.known:
            words, first = rest, rest[0].lower()
    ended = sentence.rstrip("\"'”’) ")[-1:]
    if first in verbs.plain and words[0][-1:] != ":":
        return 0.6 * half, ORDER
    if first in verbs.before_object and len(words) > 1:
        following = words[1].strip(",:;.!?\"'()*").lower()
        if following in verbs.objects and words[0][-1:] not in ":,":
            return 0.55 * half, ORDER
    if first in verbs.documented and words[1:] and words[1].lower() in verbs.objects:
        return 0.4 * half, ORDER
    if ended == "?" and (len(words) > 2 or first in ("what", "who", "why", "how")):
        if _ASKS.match(body):
            return 0.55 * half, QUESTION
        return 0.35 * half, QUESTION
    if len(words) > 3 and ended in ".!" and _ASKS_AND_STANDS.match(body) and not listed:
        return 0.3, QUESTION
    if first in verbs.manual and ended in ".!":
        return 0.2 * half, ORDER
    return None


_CHINESE_ORDER = re.compile(
    r"(?:请|麻烦|帮忙|帮我|给我|替我|告诉我|劳烦|烦请|现在请|另外请|同时请)"
)
_CHINESE_COURTESY = re.compile(
    r"请(?:稍[后候等]|注意查收|联系|拨打|假|客|教|耐心|勿|您|确认|检查|查看|参[考阅见]|登录|输入"
    r"|选择|重试|稍)"
)
_CHINESE_ASKS = re.compile(
    r"什么|怎么|怎样|如何|为什么|为何|谁|哪[个些里儿位种]?|几[个点时]|多少|多久|吗[？?]?$"
    r"|呢[？?]?$|是否|能否|可否|是不是|能不能|有没有"
)


def _chinese_mood(body: str) -> tuple[float, str] | None:
    bare = body.lstrip(" 　、，,：:“\"'（(-*•·")
    if len(bare) < 4 or not "\u3400" <= bare[0] <= "\u9fff":
        return None
    if _CHINESE_ORDER.match(bare):
        return (0.25 if _CHINESE_COURTESY.match(bare) else 0.6), ORDER
    if bare.startswith(_verbs().chinese):
        return 0.55, ORDER
    ends = bare[-1] in "？?"
    if ends and _CHINESE_ASKS.search(bare):
        return 0.55, QUESTION
    return (0.4, QUESTION) if ends else None


class _Known(msgspec.Struct, frozen=True):
    plain: frozenset[str]
    before_object: frozenset[str]
    documented: frozenset[str]
    manual: frozenset[str]
    objects: frozenset[str]
    known: frozenset[str]
    chinese: tuple[str, ...]


@cache
def _verbs() -> _Known:
    path = Path(__file__).with_name("rulebook_gate") / "imperatives.toml"
    lists = msgspec.convert(loads(path.read_text("utf-8")), _Verbs)
    plain, before, documented, manual, objects = (
        frozenset(words.split())
        for words in (
            lists.plain,
            lists.before_object,
            lists.documented,
            lists.manual,
            lists.objects,
        )
    )
    known = plain | before | documented | manual
    return _Known(plain, before, documented, manual, objects, known, tuple(lists.chinese.split()))

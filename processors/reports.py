"""What others hold of the speaker: "According to Tom, I live in Rome", 据汤姆说，我住在北京.

It may be wrong, or be told because it is wrong, so that it is no statement of the speaker. What a
doctor says is the speaker's own (see ``rewordings``), and so is what their papers say.
"""

from __future__ import annotations

import re

from memstream.processors.rewordings import DOCTORS_EN
from memstream.processors.rule_files import Language
from memstream.processors.rules import spoken

__all__ = ["is_reported"]

_PAPERS = (
    r"(?:tests?|results?|records?|passport|contract|lease|calendar|schedule|scan|certificate"
    r"|papers|plan|diagnosis|bloodwork)"
)
_WHO = (
    rf"(?:(?!Like|As|What|When|If|I['’])[A-Z][\w’'-]{{1,20}}(?: [A-Z][\w’'-]{{1,20}})?"
    rf"|(?:[Mm]y|[Oo]ur|[Hh]is|[Hh]er|[Tt]heir|[Tt]he|[Aa]) (?!(?:\w+ )?{DOCTORS_EN}\b)"
    r"(?:[a-z-]{1,20} ){,2}[a-z-]{1,20}(?: [A-Z][\w’'-]{,20})?"
    r"|(?:[Ss]ome|[Ee]very)(?:one|body)|[Pp]eople|[Tt]hey|[Hh]e|[Ss]he)"
)
_OFTEN = (
    r"(?: (?:\w{2,12}ly|still|always|just|even|also|once|has|have|had|is|are|was|were|keeps?|all))*"
)
_VERBS = (
    "claim think believe insist reckon assume suppose suspect argue allege maintain imagine joke"
    " pretend report say swear"
).split()
_OTHERWISE = "thought swore said sworn convinced sure certain positive adamant".split()
_HOLDS = rf"(?:(?:{'|'.join(_VERBS)})(?:s|ed|ing)?|{'|'.join(_OTHERWISE)}|under the impression)"
_HOLDING = frozenset(
    (*(verb + end for verb in _VERBS for end in ("", "s", "ed", "ing")), *_OTHERWISE)
) | {"impression", "told", "hear", "heard", "tell"}
"""The words of which each such sentence holds one."""
_LEADS = r"(?:(?:[Aa]nd|[Bb]ut|[Ss]o|[Ww]ell|[Aa]lso|[Aa]t least|[Oo]r so|or),? )*"
_ACCORDING = re.compile(
    rf"(?:^|[,;(—–-] ?){_LEADS}[Aa]ccording to"
    rf" (?!(?:plan|schedule|me)\b|(?:my|our|the) (?:\w+ )?(?:{DOCTORS_EN}|{_PAPERS})\b)"
)
_HELD = re.compile(rf"{_LEADS}{_WHO}{_OFTEN} {_HOLDS},? (?:that )?(?:I|[Mm]y|[Ww]e|[Oo]ur)\b")
_HELD_AFTER = re.compile(
    rf", {_WHO}{_OFTEN} {_HOLDS}[.!]*$|,? or so (?:{_WHO}{_OFTEN} {_HOLDS}|I(?:['’]m| am| was) told"
    r"|I hear|I(?:['’]ve| have) heard|they tell me)[.!]*$"
)
_ACCORDING_ZH = re.compile(
    r"(?:^|[，,；;])(?:但|而|可|不过|另外)?(?:据|根据|按照?|照|听)"
    r"(?![说我称]|.{0,4}(?:医生|大夫|医师|检查|体检|化验))[^，,。；;]{1,8}?"
    r"(?:说|讲|称|透露|反映|介绍|报道|的说法|所述)(?:[，,：:。]|我|$)"
)
_HELD_ZH = re.compile(
    r"在[^，,。我]{1,6}(?:看来|眼里|眼中|心目中)[，,]?我"
    r"|(?:[他她]们?|大家|别人|有人|人家|网上|我?的?[^，,。；我你您]{,3}(?:妈|爸|爹|娘|妹|姐|哥|弟|婆|公|妻子|丈夫"
    r"|朋友|女友|男友|同事|同学|老师|老板|领导|邻居|室友|儿子|女儿|孩子|奶奶|爷爷|叔叔|舅舅|阿姨|姑姑)们?)"
    r"(?:总|老|都|也|还|一直|非|硬|曾|老是|总是|坚持)?(?:说|讲|声称|宣称|坚称|认为|觉得|以为|断定|发誓|猜)了?[，,：:]?我"
)


def is_reported(text: str, language: Language) -> bool:
    """Whether a sentence tells what others hold of its speaker."""
    if language == "zh":
        told = _ACCORDING_ZH.search(text) if "我" in text else None
        return told is not None or _HELD_ZH.match(text) is not None
    if "ccording to" in text and _ACCORDING.search(text) is not None:
        return True
    if _HOLDING.isdisjoint(spoken(text)):
        return False
    return _HELD.match(text) is not None or _HELD_AFTER.search(text) is not None

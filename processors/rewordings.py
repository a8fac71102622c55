"""What a sentence says of the speaker in words that no rule knows, said plainly.

A doctor's word about the speaker is the speaker's own ("My doctor says I have asthma"), and what
somebody likes and does not bear is named once ("I like cats but I'm allergic to them").
"""

from __future__ import annotations

import re

from memstream.processors.rule_files import Language
from memstream.processors.rules import spoken

_DOCTORS = frozenset(
    "doctor doctors gp physician specialist allergist dermatologist cardiologist dentist"
    " paediatrician pediatrician psychiatrist neurologist".split()
)
_DOCTORS_EN = f"(?:{'|'.join(sorted(_DOCTORS, reverse=True))})"
_HEALTH_EN = (
    r"i(?:['’]m| am| was)(?: now| also| severely| highly| mildly)? (?:allergic|intolerant|diabetic"
    r"|asthmatic|an[ae]mic|lactose|coeliac|celiac)|i(?:['’]ve)?(?: also)? got"
    r"|i (?:also )?have(?! to\b)"
)
_DOCTOR_EN = re.compile(
    rf"(?:(?:well|so|and|but|yesterday|today|recently),? )?(?:my|our|the|a) {_DOCTORS_EN}"
    r"(?: just| recently| once| also| has| have)* (?:says|said|tells me|told me|confirmed|confirms"
    rf"|found(?: out)?)(?: to me)?(?: that|,)? (?P<said>(?:{_HEALTH_EN})\b.*)",
    re.IGNORECASE,
)
_DOCTOR_ZH = re.compile(
    r"(?:(?:昨天|今天|上周|最近|刚才|刚刚|之前))?(?:我的|我们的|家庭|我)?(?:家庭)?(?:医生|大夫|医师)(?:刚刚|刚|也|都)?"
    r"(?:跟我|对我|和我)?(?:告诉我|说过?|确认|查出|诊断|发现|讲)了?[，,：: ]*"
    r"(?P<said>我(?:也)?(?:对.{1,12}过敏|[有得患].+|.{0,4}不耐受.*).*)"
)
_LIKED_EN = re.compile(
    r"(?P<before>.*\b(?:like|love|adore|enjoy|have)s? (?P<value>(?:[a-z]+ )?[a-z]+)"
    r",? (?:but|though|although|and|yet) .{0,30}\ballergic to )(?:them|it)\b(?P<after>.*)",
    re.IGNORECASE,
)
_LIKED_ZH = re.compile(
    r"(?P<before>.*(?:喜欢|爱)(?:吃|喝|养)?(?P<value>[^，,。但可不却而对]{1,6})[，,]?"
    r"(?:但是|但|可是|可|不过|却|然而|而).{0,4}对)(?:它们?|牠们?|这个|这些)(?P<after>.{0,4}过敏.*)"
)


def plainly(text: str, language: Language) -> str | None:
    """The sentence as the speaker could have said it of himself; None where no form fits."""
    if language == "en":
        likely = "allerg" in text or not _DOCTORS.isdisjoint(spoken(text))
    else:
        likely = "过敏" in text or "医" in text or "大夫" in text
    if not likely:
        return None
    told = (_DOCTOR_EN if language == "en" else _DOCTOR_ZH).match(text)
    if told is not None:
        return told["said"][0].upper() + told["said"][1:]
    liked = (_LIKED_EN if language == "en" else _LIKED_ZH).match(text)
    return None if liked is None else f"{liked['before']}{liked['value']}{liked['after']}"

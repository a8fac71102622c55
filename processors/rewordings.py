"""What a sentence says of the speaker in words that no rule knows, said plainly.

A doctor's word about the speaker is the speaker's own ("My doctor says I have asthma"), what
somebody likes and does not bear is named once ("I like cats but I'm allergic to them"), and who
says "Forget what I said" takes it back.
"""

from __future__ import annotations

import re

from memstream.processors.denials import denied
from memstream.processors.retellings import plainly_told
from memstream.processors.rule_files import Language
from memstream.processors.rules import spoken

_DOCTORS = frozenset(
    "doctor doctors gp physician specialist allergist dermatologist cardiologist dentist"
    " paediatrician pediatrician psychiatrist neurologist".split()
)
DOCTORS_EN = f"(?:{'|'.join(sorted(_DOCTORS, reverse=True))})"
_HEALTH_EN = (
    r"i(?:['’]m| am| was)(?: now| also| severely| highly| mildly)? (?:allergic|intolerant|diabetic"
    r"|asthmatic|an[ae]mic|lactose|coeliac|celiac)|i(?:['’]ve)?(?: also)? got"
    r"|i (?:also )?have(?! to\b)"
)
_DOCTOR_EN = re.compile(
    rf"(?:(?:well|so|and|but|yesterday|today|recently),? )?(?:my|our|the|a) {DOCTORS_EN}"
    r"(?: just| recently| once| also| has| have)* (?:says|said|tells me|told me|confirmed|confirms"
    rf"|found(?: out)?)(?: to me)?(?: that|,)? (?P<said>(?:{_HEALTH_EN})\b.*)",
    re.IGNORECASE,
)
_DOCTOR_ZH = re.compile(
    r"(?:(?:昨天|今天|上周|最近|刚才|刚刚|之前))?(?:我的|我们的|家庭|我)?(?:家庭)?(?:医生|大夫"
    r"|医师)(?:刚刚|刚|也|都)?"
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
    instead = taken_back_instead(text, language) or denied(text, language)
    instead = instead or _put_right(text, language)
    instead = instead or plainly_told(text, language)
    if instead is not None:
        return instead
    if language == "en":
        likely = "allerg" in text or not _DOCTORS.isdisjoint(spoken(text))
    else:
        likely = "过敏" in text or "医" in text or "大夫" in text
    command = _command(text, language)
    if command is not None or not likely:
        return command or _told_plainly(text, language)
    also = _ALSO.sub(r"\g<said> and I'm \g<more>", text) if language == "en" else text
    if also != text:
        return also
    told = (_DOCTOR_EN if language == "en" else _DOCTOR_ZH).match(text)
    if told is not None:
        return told["said"][0].upper() + told["said"][1:]
    liked = (_LIKED_EN if language == "en" else _LIKED_ZH).match(text)
    if liked is None:
        return _told_plainly(text, language)
    return f"{liked['before']}{liked['value']}{liked['after']}"


def _put_right(text: str, language: Language) -> str | None:
    """What denies or corrects what was said before, in the words by which a correction is known."""
    if language == "zh":
        never = _NEVER_ZH.match(text) if "过" in text else None
        if never is not None:
            return f"说错了，我不{never['verb']}{never['where']}"
        denied = _NOT_ZH.match(text) if text.startswith("其实我") else None
        return denied and f"说错了，{denied['said']}"
    about = _ABOUT_EN.match(text) if " about " in text else None
    if about is not None:
        return f"Scratch that, {_ITS.sub(about['thing'] or about['other'], about['said'])}"
    never = _NEVER_EN.match(text) if " never " in text else None
    if never is not None:
        return f"Scratch that, I don't {_PRESENT_EN[never['verb'].lower()]} {never['rest']}"
    stressed = _IT_IS_EN.match(text) if " I" in text else None
    if stressed is not None:
        other = f", not {stressed['other']}" if stressed["other"] else ""
        return f"Scratch that, {stressed['did']} {stressed['right']}{other}"
    mine = _MINE_WRONG_EN.match(text) if " my " in text else None
    if mine is not None:
        return f"Scratch that, my {mine['what']} is {mine['right']}"
    against = _AGAINST_EN.match(text) if " not " in text or " actually " in text else None
    if against is not None:
        return f"Scratch that, {against['said'] or against['mine'].replace(' actually', '')}"
    denied = _NOT_EN.match(text) if "n't" in text or "n’t" in text or " not " in text else None
    return denied and f"Scratch that, {denied['said']}"


_ABOUT_EN = re.compile(
    r"(?:(?:sorry|oh|oops|wait|no|actually)[,. ]+)*(?:what I (?:just )?(?:said|told you|wrote)"
    r" about"
    r"(?: (?:the|my|being|having))* (?P<thing>[a-z][^,.;:!?]{1,30}?) (?:was|is)"
    r" (?:wrong|not true|not right|a mistake|incorrect)"
    r"|I was (?:wrong|mistaken) about(?: the| my)? (?P<other>[^,.;:!?]{1,30}?))"
    r"[,;:.—–-]+ ?(?P<said>I\b.+)",
    re.IGNORECASE,
)
_ITS = re.compile(r"\b(?:them|it|those|that)\b", re.IGNORECASE)
_PRESENT_EN = {"lived": "live", "worked": "work"}
_NEVER_EN = re.compile(
    r"(?:(?:sorry|oh|oops|wait|no|actually|well|but)[,. ]+)*I(?:['’]ve| have)? never(?: actually)?"
    r" (?P<verb>lived|worked) (?P<rest>(?:in|at|for) [A-Z][^,;:!?]*)$",
    re.IGNORECASE,
)
_IT_IS_EN = re.compile(
    r"(?:(?:sorry|oh|oops|wait|no|actually|in fact)[,. ]+)+(?:it['’]s|it is)"
    r" (?P<right>[^,.;:!?]{1,40}?)"
    r" (?:that )?(?P<did>I(?:['’]m| am) allergic to|I (?:live in|work (?:at|for)|like|love|hate))"
    r"(?:,? not (?P<other>[^,.;:!?]{1,40}?))?[.!]*$",
    re.IGNORECASE,
)
_MINE_WRONG_EN = re.compile(
    r"(?:(?:sorry|oh|oops|wait|no|actually)[,. ]+)*you(?:['’]ve| have)? (?:got|have|had"
    r"|spelled|spelt|wrote|misspelled|saved) my (?P<what>name|birthday|job title|employer)"
    r" (?:wrong|incorrectly|down wrong)[,;:.—–-]+ ?(?:it['’]s|it is|it should be|that should be)"
    r"(?: spelled)? (?P<right>[^,;:!?]+)$",
    re.IGNORECASE,
)
_NOT_EN = re.compile(
    r"(?:(?:oh|oops|wait|no|sorry)[,. ]+)*(?:actually|in fact|wait|no|that['’]s not true"
    r"|that['’]s (?:wrong|incorrect|false|a mistake))[,;. ]+"
    r"(?P<said>I(?:['’]m not| am not| do(?:n['’]t| not) (?:actually )?(?:live|work|have))\b"
    r"(?!.*\b(?:any ?more|any longer|now|nowadays|these days|since|yet|currently|right now|today"
    r"|tomorrow|tonight|sure|going|until|recently|lately)\b).*)",
    re.IGNORECASE,
)
_AGAINST_EN = re.compile(
    r"(?:(?:oh|oops|wait|no|sorry)[,. ]+)+"
    r"(?P<said>(?:I\b|my )[^,.;:!?]{3,60}?,? not [^,.;:!?]+)[.!]*$"
    r"|(?:(?:oh|oops|wait|no|sorry)[,. ]+)*"
    r"(?=my (?:name|birthday) is actually )(?P<mine>[^,;:!?]+)$",
    re.IGNORECASE,
)
_NEVER_ZH = re.compile(
    r"(?:(?:其实|不对|抱歉|不好意思)[，, ]*)*我(?:从来|从)?没有?"
    r"(?P<verb>住)过(?P<where>[^，,。！!？?吗]{2,8})[。！!]*$"
)
_NOT_ZH = re.compile(
    r"其实(?P<said>我(?:并)?(?:不(?!再)|没有?)(?!.*(?:[了吗呢]|现在|目前|最近|今天|明天|还没)).+"
    r"|我(?:并)?对.{1,12}不过敏[。！!]*)$"
)
_BACK_EN = re.compile(
    r"(?:(?:oh|ok|okay|sorry|wait|please|no|actually|well)[,. ]+)*"
    r"(?:forget|ignore|disregard|strike|never ?mind) (?:about )?"
    r"(?:(?:what|everything|all|anything)(?: that)? I(?:['’]ve| had)?(?: just| ever)?"
    r" (?:said|told you|wrote|mentioned)(?: just now| before| earlier| above)?"
    r"|that|my (?:last|previous) (?:message|statement|sentence|line))"
    r"(?P<rest>(?:[,;:.!…—–-]+ ?|$).*)",
    re.IGNORECASE,
)
_BACK_ZH = re.compile(
    r"(?:(?:哦|啊|抱歉|不好意思|对不起|不对|请|算了)[，,。 ]*)*"
    r"(?:(?:忘了?|忘掉|忽略|无视|别管|别理|撤回|收回)(?:掉|了)?我(?:刚才|刚刚|刚|之前|前面)?"
    r"(?:说|讲|写)的?(?:话|那句话?|内容)?"
    r"|就?当我(?:刚才|刚刚|刚|之前)?(?:没说过?|什么都没说)"
    r"|我?(?:刚才|刚刚|刚|之前)(?:说|讲)的(?:话)?(?:不算数?|作废|不对))"
    r"(?:吧|了)?(?P<rest>(?:[，,。！!；;：:] ?|$).*)"
)


def taken_back_instead(text: str, language: Language) -> str | None:
    """ "Scratch that, I live in Lyon" for "Forget what I said, I live in Lyon", the words by which
    a correction is known; None for other texts."""
    if language == "zh":
        match = _BACK_ZH.match(text) if _SIGNS_ZH.search(text) else None
        return match and f"说错了{match['rest']}"
    match = None if _SIGNS_EN.isdisjoint(spoken(text)) else _BACK_EN.match(text)
    return match and f"Scratch that{match['rest']}"


_SIGNS_EN = frozenset(("forget", "ignore", "disregard", "strike", "never", "nevermind"))
_SIGNS_ZH = re.compile("[忘收撤]|忽略|无视|别[管理]|当我|[说讲]的")


def _listed(found: re.Match[str]) -> str:
    """What somebody likes, hates or does not bear, listed after a colon, as one sentence."""
    label = found["label"].lower().removeprefix("my ")
    items = [
        each for each in re.split(r"[,，、;；]| and |和", found["items"].strip(" .。！!")) if each
    ]
    if not label.isascii():
        form = next((form for sign, form in _LISTED_ZH.items() if sign in label), "我喜欢{}")
        return form.format("、".join(map(str.strip, items)))
    form = next((form for sign, form in _LISTED_EN.items() if sign in label), "I like {}")
    head, last = items[:-1], items[-1].strip()
    return form.format(f"{', '.join(map(str.strip, head))} and {last}" if head else last)


_LISTED_EN = {
    "allerg": "I'm allergic to {}",
    "dislike": "I dislike {}",
    "hate": "I hate {}",
    "diet": "I'm {}",
}
_LISTED_ZH = {"过敏": "我对{}过敏", "不喜欢": "我讨厌{}", "讨厌": "我讨厌{}"}
_LIST_EN = re.compile(
    r"(?P<label>(?:(?:things|foods?|what|stuff) )?i (?:really )?(?:like|love|enjoy|hate|dislike)"
    r"|i(?:['’]m| am) allergic(?: to)?|my (?:likes|dislikes)"
    r"|(?:my )?(?:(?:food )?allergies|diet))\s*[:：]\s*"
    r"(?P<items>[^:.!?`]{2,80}[.!]?)$",
    re.IGNORECASE,
)
_LIST_ZH = re.compile(
    r"(?P<label>(?:我的?)?(?:过敏(?:原|源|史|食物)?|不喜欢(?:的(?:东西|食物))?|讨厌的(?:东西"
    r"|食物)?|喜欢的(?:东西|食物)?))"
    r"[:：](?P<items>[^:：。！？?`]{1,40}[。！]?)$"
)


def _told_plainly(text: str, language: Language) -> str | None:
    """A second time of getting up or of going to bed with its verb ("I get up at 7, on Sundays I
    get up at 9" for "I get up at 7, on Sundays at 9"), the name of an animal beside it ("I got a
    cat named Miso" for "I got a cat and called her Miso"), and what stresses when something was
    without the stress: 我去年搬到天津 for 我是去年搬到天津的; two tastes with a comma between them:
    我喜欢茶，不喜欢咖啡 for 我喜欢茶不喜欢咖啡."""
    if language == "zh":
        first = _REASON_FIRST_ZH.match(text)
        if first is not None and (first["after"] or text.startswith(_REASON_LEADS_ZH)):
            return f"{first['did']}，因为{'要' if first['aim'] else ''}{first['why']}"
        reasoned = _REASONED_ZH.match(text) if "因为" in text or "由于" in text else None
        if reasoned is not None:
            return "".join(map(reasoned.group, ("who", "did"))) + f"，因为{reasoned['why']}"
        labelled = _BORN_LABEL_ZH.match(text) if "生" in text else None
        if labelled is not None:
            return f"我的生日是{labelled['day'] or labelled['when']}"
        born = _BORN_ZH.match(text) if "生日" in text else None
        if born is not None:
            return f"{born['whose']}的生日是{born['when']}"
        stressed = _STRESSED_ZH.match(text) if "是" in text and "的" in text else None
        if stressed is not None:
            return "".join(map(stressed.group, ("who", "when", "what")))
        against = _AGAINST_ZH.match(text) if "不喜欢" in text or "不爱" in text else None
        if against is not None:
            return f"{against['likes']}，{against['other']}"
        gone = _NOT_THERE_ZH.match(text) if "不在" in text else None
        if gone is not None:
            return f"我不在{gone['where']}工作了"
        each_named = _EACH_ZH.match(text) if "一" in text and "叫" in text else None
        if each_named is not None:
            had = each_named["had"] or "我有"
            return f"{had}{each_named['what']}，叫{each_named['one']}和{each_named['other']}"
        again = _RISEN_ZH.match(text) if "起床" in text or "睡" in text else None
        return again and f"{again['before']}{again['verb']}，{again['then']}{again['verb']}"
    dated = _BORN_LABEL_EN.match(text) if ":" in text else None
    if dated is not None:
        return f"My birthday is {dated['when']}"
    born = _BORN_EN.match(text) if "day" in text and "b" in text else None
    if born is not None:
        return f"{born['whose'] or born['own']} birthday is {born['when'] or born['day']}"
    now = _NOW_WITH_EN.match(text) if " with " in text or " at " in text else None
    if now is not None:
        return f"{now['before']}, and I now work at {now['new']}"
    most = _MOST_EN.match(text) if text.startswith(("What I", "what I")) else None
    if most is not None:
        return f"I {most['verb']} {most['what']}"
    over = _OVER_EN.match(text) if " me" in text or " my" in text else None
    if over is not None:
        return f"{over['before'] or ''}I have stopped liking {over['what']}"
    spent = _SPENT_EN.match(text) if "spent" in text else None
    if spent is not None:
        return f"{spent['before']}lived in {spent['where']} in {spent['when']}"
    given = _GIVEN_EN.match(text) if "name" in text or "call" in text else None
    if given is not None:
        return f"{given['before']} named {given['name']}{given['rest']}"
    first = _REASON_FIRST_EN.match(text) if ", I " in text else None
    if first is not None:
        return f"{first['did']} {first['why'][0].lower()}{first['why'][1:]}"
    again = _RISEN_EN.match(text) if " up " in text or " bed " in text else None
    return again and (
        f"{again['before']}{again['verb']}{again['first']}{again['join']} {again['when']}"
        f" I {again['verb']} at {again['rest']}"
    )


_GIVEN_EN = re.compile(
    r"(?P<before>.*\b(?:got|adopted|have|bought|rescued|found)(?: us| me| myself| ourselves)?"
    r" (?:an?|the) (?:[a-z-]+ ){0,3}[a-z]+)"
    r"(?:(?:,? and)?,? (?:I |[Ww]e )?(?:named|called|call) (?:him|her|it)"
    r"|(?:,? and)?,? (?:his|her|its) name(?: is|['’]s)) (?P<name>[A-Z][\w’'-]+)(?P<rest>[.!,;].*|)$"
)
_NOW_WITH_EN = re.compile(
    r"(?P<before>(?:.*\b)?I(?:['’]ve)? (?:(?:have |just )?(?:(?:switched|changed)"
    r" (?:jobs|companies|employers)|got a new job)|(?:(?:have |just )?quit"
    r"|(?:used to work|worked|was working) (?:at|for)|was (?:at|with)) [A-Z][^,.;:!?]*?))"
    r"(?:,? (?:and|but)|[,;:—–-]+)"
    r" (?:I(?:['’]m| am) now|now I(?:['’]m| am)|I(?:['’]m| am)(?=.* now\b)) (?:with|at)"
    r" (?P<new>(?!my\b|the\b)[A-Z][\w’'&.-]*(?: [A-Z][\w’'&.-]*){0,3})(?: now)?[.!]*$"
)
_MOST_EN = re.compile(
    r"[Ww]hat I (?:really |truly )?(?P<verb>love|like|enjoy|hate|dislike)"
    r"(?: (?:the )?(?:most|best))? is (?P<what>[^,;:!?]{2,40})$"
)
_OVER_EN = re.compile(
    r"(?P<before>(?:honestly|well|so|sadly|actually|turns out),? )?(?P<what>[a-z][^,.;:!?]{1,30}?)"
    r" (?:(?:is|are)(?:n['’]t| not) (?:really )?(?:for me|my thing|my cup of tea)"
    r" (?:any ?more|any longer)|(?:is|are) no longer (?:for me|my thing|my cup of tea))[.!]*$",
    re.IGNORECASE,
)
_SPENT_EN = re.compile(
    r"(?P<before>(?:I|We) )spent (?:(?:all|most|part) of )?(?P<when>(?:the (?:spring|summer|autumn"
    r"|fall|winter) of )?(?:19|20)\d\d) (?:living )?in (?P<where>[A-Z][\w’' -]*?)[.!]*$"
)
_RISEN_EN = re.compile(
    r"(?P<before>.*\bI\b.*?)(?P<verb>\b(?:wake up|get up|go to bed))(?P<first> [^,;]*?\d[^,;]*?)"
    r"(?P<join>,? (?:but|and)|[,;]) (?P<when>(?:on|during|at|in) (?:the )?[a-z]+"
    r"(?: days)?),? (?:at|by|around|only at|not before) (?P<rest>\d.*)",
    re.IGNORECASE,
)
_REASON_FIRST_EN = re.compile(
    r"(?P<why>(?:Because of|Due to|Thanks to"
    r"|After(?! \S+ (?:years?|months?|weeks?|days?|hours?)\b))"
    r" [^,]{3,60}), (?P<did>I(?: have)? (?:just |finally )?"
    r"(?:switched|changed|replaced|swapped|ditched)\b[^,]*?)[.!]?$"
)
_REASON_LEADS_ZH = ("因为", "由于", "自从", "为了")
_REASON_FIRST_ZH = re.compile(
    r"(?:(?P<aim>为了)|因为|由于|自从)?(?P<why>[^，,。我]{1,15}?)(?P<after>之后|以后|后)?[，,]"
    r"(?:所以)?"
    r"(?P<did>我们?[^，,。]*(?:换成|改[成喝吃用为]|搬[到去来回]|转到)[^，,。]*?)[。！]?$"
)
_REASONED_ZH = re.compile(
    r"(?P<who>[^，,。我]{0,6}我们?.{0,6}?)(?:因为|由于)(?P<why>[^，,。]{1,12}?)"
    r"(?P<did>(?:从[^，,。]{1,6})?(?:搬[到去来回家]|换成|改[喝吃用]|开始|不再|戒了|辞职"
    r"|离开)[^，,。]*)[。！]?$"
)
_BORN_LABEL_ZH = re.compile(
    r"我的?(?:生日|出生日期|出生年月日?)[:：] ?(?P<when>[^，,。我]{2,12})[。！]?$"
    r"|我是(?P<day>[^，,。我是的]{2,12}[日号])(?:出)?生的?[。！]?$"
)
_BORN_ZH = re.compile(
    r"(?P<when>[^，,。我]{1,8}[月/-][^，,。我]{1,6}?|今天|明天|后天)(?:就?是|为|又是)?"
    r"(?P<whose>我|本人|我[^，,。的是家]{1,4})的?生日[。！了啦]?$"
)
_BORN_LABEL_EN = re.compile(
    r"my (?:dob|d\.o\.b\.|date of birth|birth ?date|birthday|bday|b-day): ?"
    r"(?P<when>[^,;:!?]{3,20})$",
    re.IGNORECASE,
)
_BORN_EN = re.compile(
    r"(?:(?:hey|hi|so|and|well|oh|btw|actually),? )*(?:(?P<when>today|tomorrow|(?:on )?[a-z]*\.?"
    r" ?\d[\w ]{0,16}?) (?:is|it['’]s)(?: also)? (?P<whose>my|my [a-z]+(?: [A-Z][a-z]+)?['’]s)"
    r"(?: \d+(?:st|nd|rd|th))? (?:birthday|bday|b-day)"
    r"|it(?:['’]?s| is)(?: also)? (?P<own>my|my [a-z]+(?: [A-Z][a-z]+)?['’]s)"
    r"(?: \d+(?:st|nd|rd|th))? (?:birthday|bday|b-day) (?P<day>today|tomorrow))[.!]*$",
    re.IGNORECASE,
)
_STRESSED_ZH = re.compile(
    r"(?P<who>我们?|咱们?|本人)是(?P<when>(?:在|从)?[^，,。是不的]{2,12}?)(?P<what>(?:才|就)?"
    r"(?:搬[到来去回]|出生|入职|加入"
    r"|跳槽)[^，,。的]{0,12})的[。！]?$"
)
_AGAINST_ZH = re.compile(
    r"(?P<likes>.*?(?:喜欢|爱|讨厌)[^，,。！!？?；;不]{1,8}?)"
    r"(?P<other>(?:但|可|却|而|也|更)?(?:不|不太|不怎么)(?:喜欢|爱).+)"
)
_NOT_THERE_ZH = re.compile(
    r"我(?:已经|早就|现在)?不在(?P<where>(?!这|那|一起|家|国内|国外|学校"
    r"|公司)[^，,。！!？?里边上下旁吗]{2,8}?)"
    r"(?<!工作)(?<!上班)(?<!任职)(?<!生活)(?<!居住)(?<!一起)(?<!住)了[。！]*$"
)
_EACH_ZH = re.compile(
    r"(?P<had>[^，,。]{0,8}[有养]了?)?(?P<what>[两二2][只条匹个头][^，,。一叫]{1,3})[，,：:]?"
    r"(?:它们|他们|她们)?"
    r"一[只条匹个头]?(?:名字)?叫(?P<one>[^，,。一的了]{1,5}?)[，,、]?(?:另外?)?一[只条匹个头]?"
    r"(?:名字)?叫"
    r"(?P<other>[^，,。的了]{1,5})[。！]*$"
)
_RISEN_ZH = re.compile(
    r"(?P<before>.*点.*?)(?P<verb>起床|睡觉)[，,;；]"
    r"(?P<then>(?:周末|周[一二三四五六日天]|工作日|平时|放假|节假日|假期|夏天"
    r"|冬天)[^，,]{0,3}[点:：][^，,。！起睡]{0,4}?)[。！]?$"
)


def _command(text: str, language: Language) -> str | None:
    """A command after its label ("Unit tests: `make check`"), or one told instead of another, as a
    sentence; None where none is."""
    if ":" not in text and "：" not in text and "`" not in text:
        return None
    list_of = _LIST_EN.match(text) or _LIST_ZH.match(text)
    if list_of is not None:
        return _listed(list_of)
    instead = None
    if "est" in text or "ake sure" in text:
        instead = (_INSTEAD_EN if language == "en" else _INSTEAD_ZH).match(text)
        instead = instead or (language == "en" and _TESTED_EN.match(text)) or None
    labelled = instead or _LABEL_EN.match(text) or _LABEL_ZH.match(text)
    if labelled is None:
        return None
    if "run" in (told := labelled.groupdict()):
        command = told["run"] or told["done"] or told["unit"]
        return f"Run the tests with {command}"
    form = "Run the tests with {}" if language == "en" else "跑测试用{}"
    return form.format(labelled["command"])


_ALSO = re.compile(
    r"(?P<said>\bI(?:['’]m| am) (?!not\b)[^,.;!?]{2,40}?),? and (?:also )?"
    r"(?P<more>(?:(?:severely|highly|mildly) )?allergic to\b)",
    re.IGNORECASE,
)
_LABEL_EN = re.compile(
    r"(?:to )?(?:(?:run|running|execute) (?:the |all |our )?)?(?:(?:unit|integration) )?tests?"
    r"(?: suite)?(?: with| command)?\s*:\s*(?P<command>`[^`]+`[.!]?)$",
    re.IGNORECASE,
)
_TESTS = r"`[^`]*\btests?\b[^`]*`"
_INSTEAD_EN = re.compile(
    r"(?:(?:please|from now on|now|so|and|ok|okay|always|going forward),? )*"
    rf"(?:(?:don['’]t|do not|never|stop)(?: use| run|using|running)*(?: any ?more)? {_TESTS}"
    r"(?: any ?more)?[,;.—-]+(?: but| and| please| instead)* "
    r"|(?=.*` (?:instead|rather|in place|not)))"
    rf"(?:run|use|type|execute) (?P<command>{_TESTS})"
    rf"(?:,? (?:instead of|rather than|in place of|not) {_TESTS})?"
    r"(?: from now on| now| please| going forward| instead)*[.!]*$",
    re.IGNORECASE,
)
_TESTED_EN = re.compile(
    r"(?:(?:and|so|please|also|always|remember|ok),? )*(?:make sure (?:to|you|that you)"
    r"(?: always)? run"
    r" (?P<run>`[^`]*\b(?:tests?|pytest|jest|vitest|rspec|tox|nox|mocha|phpunit|ctest)"
    r"(?![\w-])[^`]*`)"
    r"(?:,? (?:before|after|first)\b[^`:?]{0,40})?"
    r"|testing (?:is|gets)(?: now)? done (?:with|using|via|in) (?P<done>`[^`]+`)"
    r"|(?:(?:the|our|all) )?unit tests (?:now )?(?:run|are run) (?:with|using|via|on) "
    r"(?P<unit>`[^`]+`)"
    r"(?:,? (?:and )?(?:the )?(?:e2e|end-to-end|integration|ui"
    r"|smoke) tests[^`]{0,20}`[^`]+`)?)[.!]*$",
    re.IGNORECASE,
)
"""A command that is told with what it is for, or when it is to be run."""
_INSTEAD_ZH = re.compile(
    r"(?:请|以后|从现在起|从今以后|今后|现在|麻烦|都|[，, ])*"
    rf"(?:不要再?用|别再?用|不再用|不用) ?{_TESTS} ?[，,。；了 ]*(?:而是|请|要|改)*用 ?"
    rf"(?P<command>{_TESTS})[。！ ]*$"
)
"""A command that runs tests, told instead of another that did."""
_LABEL_ZH = re.compile(
    r"(?:(?:跑|运行|执行)?(?:单元|集成)?(?:测试|单测)(?:用|的?命令)?)\s*[:：]\s*"
    r"(?P<command>`[^`]+`。?)$"
)


_SAID_EN = re.compile(
    r"(?:(?:sorry|oh|oops|wait|no)[,. ]+)*I(?: just)? (?:said|wrote|typed|put)"
    r" (?:(?:that )?(?:I|my (?:name|home|job|employer|birthday))(?:['’]m| am| was| is)?"
    r"(?: (?:lived?|worked?|moved?|allergic))?(?: (?:to|in|at|for|an?))* )?"
    r"(?P<wrong>[^,.;:!?]+?)(?:,? but|[,;.]) I(?: actually| really)? meant"
    r"(?: to (?:say|write|type))? (?P<right>[^,.;:!?]+?)[.!]*$",
    re.IGNORECASE,
)
_SAID_ZH = re.compile(
    r"(?:(?:抱歉|不好意思|对不起|哦|啊)[，,。 ]*)*我(?:刚才|刚刚|刚|之前|前面)?"
    r"(?:说成|写成|打成|说的是|写的是)了?(?P<wrong>[^，,。；！!？?了]+)了?[，,。；](?:但|不过)?"
    r"(?:我(?:的意思|想说的)|其实|实际上|应该|正确的?)(?:其实|应该)?是"
    r"(?P<right>[^，,。；！!？?]+)[。！!]*$"
)


def meant_instead(text: str, language: Language) -> str | None:
    """ "I meant Lyon, not Paris." for "I said Paris but I meant Lyon"; None for other texts."""
    match = (_SAID_EN if language == "en" else _SAID_ZH).match(text)
    if match is None:
        return None
    right, wrong = match["right"], match["wrong"]
    return f"I meant {right}, not {wrong}." if language == "en" else f"是{right}，不是{wrong}。"

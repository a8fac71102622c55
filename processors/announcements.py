"""What a turn announces as not its speaker's own words: a text to translate or to mend, a mail that
was received, what somebody wrote, sentences of which one is to be chosen; and what shows by its
form that it was pasted: a letter, the lines of a talk.

What stands after the colon in the same clause is silenced with the clause; here is told where the
announced text goes on, in further sentences and lines. Nothing tells where it ends, so it goes on
to the end of the turn, or of the line where somebody was quoted within one.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from operator import itemgetter

from memstream.processors.pastes import merged, pasted

_TEXTS = (
    r"(?:e-?mails?|messages?|texts?|letters?|articles?|reviews?|posts?|tweets?|transcripts?|excerpts?"
    r"|passages?|paragraphs?|sentences?|lyrics|poems?|essays?|comments?|dialogues?|chats?|bios?)"
)
_TRIED = (
    r"(?:examples?|samples?|sentences?|(?:test )?cases?|tests?|fixtures?|rows|lines|strings?"
    r"|inputs?|prompts?|utterances?|messages?|texts?|data)"
)
_LEAD = r"(?:^|(?<=[.!?。！？,，])|\b(?:please|you|me|to|and|for|let's)\b)[ \t]*"
_OPEN = r"[ \t]*[:：](?![ \t]*[\"“'‘「『/\d])"
"""What is quoted behind the colon ends with its quote; and neither "https://" nor "9:30" opens."""

_SHOWN = re.compile(
    rf"{_LEAD}(?:translate|proofread|rewrite|rephrase|paraphrase|reword)\b[^\n:：.!?]{{,40}}\b(?:this"
    r"|these|the following|below)\b[^\n:：.!?]{,30}[.!?](?![ \t]*[\"“'‘「『])"
    rf"|\b(?:is|are) (?:this|these|the following) {_TEXTS} [^\n:：.!?]{{,30}}[.!?:]"
    r"|\bwhat does (?:this|it) mean\b[^\n:：.!?]{,20}[:：]"
    r"|这(?:句话|段话|段文字|个句子|封邮件)[^\n:：。！？?]{,12}[：:？?]",
    re.IGNORECASE | re.MULTILINE,
)
"""A question about a text that is shown behind it."""
_POINTS = ("this", "these", "following", "below", "这")
"""One of these is in every such question, and one of the next."""
_ASKS = (
    "translate", "proofread", "rewrite", "rephrase", "paraphrase", "reword", "is this", "is these",
    "is the following", "are this", "are these", "are the following", "what does", "这",
)  # fmt: skip
_ANNOUNCED = (
    re.compile(
        rf"{_LEAD}(?:(?:translat|proofread|rewrit|rephras|paraphras|reword|summari[sz])\w*\b"
        rf"[^\n:：.!?]{{,60}}|(?:examples?|samples?)\b[^\n:：.!?]{{,40}}"
        rf"|(?:answer|respond|reply|speak|talk|write) (?:as|like)\b[^\n:：.!?]{{,40}}"
        rf"|(?:correct|fix|edit|improve|polish|shorten|check|explain|analy[sz]e|classify|draft|write"
        rf"|compose|answer|reply to|respond to|comment on)\b(?: \w+){{,4}} (?:{_TEXTS}|grammar"
        rf"|spelling)\b[^\n:：.!?]{{,40}}){_OPEN}",
        re.IGNORECASE | re.MULTILINE,
    ),
    re.compile(
        rf"{_LEAD}(?:add|use|put|insert|include|append|paste|try|parse|cover)\b"
        rf"(?![^\n:：]{{,80}}\b(?:memor(?:y|ies)|notes?|profile|me|my)\b)[^\n:：.!?]{{,40}}"
        rf"\b{_TRIED}\b[^\n:：.!?]{{,40}}{_OPEN}"
        rf"|\b(?:test|sample|example|fixture) {_TRIED}\b[^\n:：.!?]{{,30}}{_OPEN}"
        rf"|(?:测试(?:句子?|用例|数据|文本|输入)|样例|例句|用例)[^\n:：。！？]{{,12}}{_OPEN}",
        re.IGNORECASE | re.MULTILINE,
    ),
    re.compile(
        rf"\b(?:here(?:['’]s| is| are)|below (?:is|are)|this is|got|received|found|sent me)\b"
        rf"(?! my (?:\w+ )?{_TEXTS})[^\n:：.!?]{{,40}}?\b{_TEXTS}\b"
        rf"(?! (?:for you|about me|from me)\b)[^\n:：.!?]{{,40}}{_OPEN}",
        re.IGNORECASE,
    ),
    re.compile(
        r"^[ \t]*-{2,}[ \t]*(?:original|forwarded) message\b"
        r"|^(?:from|发件人)[:：][^\n]*\n(?:[^\n:：]{1,12}[:：][^\n]*\n){,6}?(?:subject|主题)[:：]",
        re.IGNORECASE | re.MULTILINE,
    ),
    _SHOWN,
    re.compile(
        rf"(?<![做是当学])(?:翻译|润色|改写|校对|总结|概括|修改)(?![的了过])[^\n:：。！？]{{,20}}{_OPEN}"
        r"|(?:这是|以下是|下面是|收到)(?!我的)[^\n:：。！？]{,16}"
        rf"(?:邮件|消息|信|文章|评论|短信|聊天记录|原文|歌词|段落)[^\n:：。！？]{{,6}}{_OPEN}"
    ),
)
_LABELLED = re.compile(
    r"^[ \t*_#]*(?:(?:the|original|source|input|sample) )?(?:e-?mail|letter|article|review"
    r"|transcript|excerpt|passage|paragraph|sentence|text|lyrics|poem|essay|dialogue|input|original|customer"
    r"|client|interviewer|patient|narrator|原文|文本|邮件|文章|短信|歌词|段落|句子)"
    r"[ \t*_]*[:：]"
    r"|^[ \t*_]*[\w.]{1,20}(?: [\w.]{1,20})?,? [(\[]?\d{1,2}:\d\d(?: ?[ap]m)?[)\]]?"
    r"[ \t*_]*(?:[:：]|$)",
    re.IGNORECASE | re.MULTILINE,
)
"""What stands over a text, or at the head of a line of a log, in the line's own sentence too."""
_SAID = re.compile(
    r"(?:^|(?<=[.!?,，。！？:：]))[ \t]*(?P<who>(?:[\w'’]+ ){1,4})"
    r"(?:said|says|wrote|writes|replied|answered|texted|emailed|messaged|posted|tweeted|told|reads"
    r"|goes)\b"
    rf"(?: (?:me|us|him|her|them|this|back|the following)\b){{,2}}{_OPEN}"
    r"|(?:^|(?<=[，。！？:：]))[ \t]*"
    r"(?:我的?[^\s我:：，。！？]{,2}[妈爸妹姐哥弟婆公友事板子女奶爷])?"
    r"[^\s我:：，。！？]{,6}(?<!来)(?:说|写道|写|回复|发来)"
    rf"(?:的?(?:消息|短信))?{_OPEN}",
    re.IGNORECASE | re.MULTILINE,
)
_SPEAKER = frozenset("i we i've we've i’ve we’ve as".split())


_COMPARED = re.compile(
    r"\bwhich (?:\w+ ){,5}(?:is|are|sounds?|reads?|looks?|feels?|works|flows|should|do|would|one)\b"
    r"[^\n.!?]{,60}[?:]|哪(?:一)?(?:个|句|种|条|项|段|版)[^\n。！]{,20}[？?：:]",
    re.IGNORECASE,
)
_ITEM = re.compile(
    r"^[ \t]*(?:[(（]?(?:\d{1,2}|[A-Da-d]|[①-⑨一二三四])[.)）:：、]|[①-⑨]|[-*•])[ \t]*[^\n]*$"
    r"|^[ \t]*(?:option|version|variant|选项|方案|版本)[ \t]?\w{1,2}[ \t]*[.):：][^\n]*$",
    re.IGNORECASE | re.MULTILINE,
)
"""The lines of a list that a question asks to choose from."""


def _chosen_from(text: str) -> list[tuple[int, int]]:
    """Sentences to compare: "Which is better?" with its numbered answers, before or behind it."""
    if "\n" not in text or _COMPARED.search(text) is None:
        return []
    items = [match.span() for match in _ITEM.finditer(text)]
    return items if len(items) > 1 else []


_NOBODY = (
    r"(?!(?:there|chat|gpt|chatgpt|claude|ai|assistant|bot|gemini|copilot"
    r"|siri|diary|journal|you)\b)"
)
_DEAR = re.compile(
    rf"^[ \t]*dear {_NOBODY}[^\n,:.!?]{{2,40}}(?:\. [^\n,:.!?]{{2,30}})?[,:]"
    r"|^[ \t]*(?:尊敬|敬爱|亲爱)的(?!日记|AI|小?助手|机器人|Claude|GPT|ChatGPT)"
    r"[^\n:：，,。]{1,16}[:：]",
    re.IGNORECASE | re.MULTILINE,
)
_HELLO = re.compile(
    rf"^[ \t]*(?:hi|hello|hey|good (?:morning|afternoon|evening)) {_NOBODY}[^\n,:.!?]{{2,40}},",
    re.IGNORECASE | re.MULTILINE,
)
_SIGNED = re.compile(
    r"(?:^|(?<=[.!?]))[ \t]*(?i:(?:kind|best|warm|many) (?:regards|wishes)|regards|sincerely|love"
    r"|cheers|(?:with|lots of) love|best|yours(?: \w+)?|hugs),"
    r"(?:[ \t]|\s*\n)[ \t]*[A-Z][\w. ]{,30}\s*$",
    re.MULTILINE,
)
_SIGNS_OF_LETTERS = (
    "ear ",
    "的",
    "egards",
    "incerely",
    "ove,",
    "heers",
    "est,",
    "ishes",
    "ours",
    "ugs,",
)


def _letter(text: str) -> int:
    """Where a letter begins: "Dear Ms Berg,", or "Hi Anna," with a name at its end. The end of the
    text for none; a diary and an assistant are written to by the speaker."""
    if not any(each in text for each in _SIGNS_OF_LETTERS):
        return len(text)
    match = _DEAR.search(text)
    if match is None:
        match = _HELLO.search(text)
        if match is None or _SIGNED.search(text, match.end()) is None:
            return len(text)
    return match.start()


_TOPICS = (
    r"(?!(?:Me|Myself|Note|Notes|Also|About|Hi|Hello|Hey|Well|So|Okay|Ok|Yes|No|Sorry|Thanks|Please"
    r"|Remember|Remind|Update|Edit|Info|Background|Context|Fact|Facts|Fun|Quick|Correction"
    r"|Clarification|Reminder|Disclaimer|Warning|Problem|Issue|Question|Request|Task|Goal|Error|Bug"
    r"|Summary|Situation|Answer|Story|Truth|Work|Job|Home|Family|Diet|Health|Food|Personal|Location"
    r"|Bio|Intro|Introduction|Profile|Name|Age|Hobby|Hobbies|Preference|Preferences|Status|Today|Now"
    r"|Currently|Day|Week|FYI|PS|BTW|TLDR)\b)"
)
_TALK = re.compile(
    rf"^[ \t*_-]*(?:(?:Dr|Mr|Mrs|Ms|Prof)\.? )?{_TOPICS}[A-Z][\w'’-]*(?: [A-Z][\w'’.-]*){{,2}}"
    r"[*_]*:[*_]*[ \t]+(?i:(?:hi|hello|hey|yes|no|yeah|sure|well|oh|ok|okay|thanks)\b[^.!?,\n]{,30}"
    r"[.!?,] ?){,2}(?=(?i:i|my|we|our)\b)"
    r"|^[ \t]*(?:[小老阿][^\W\da-zA-Z的是]{1,2}"
    r"|[李王张刘陈杨赵黄周吴徐孙马朱胡林郭何高罗郑梁谢宋唐许韩冯邓曹彭]"
    r"[^\W\da-zA-Z的是]{1,2}|[甲乙丙丁]|[妈爸哥姐]{2}|老[妈爸公婆师板]|客户|顾客|患者|用户|嘉宾|主持人"
    r"|面试官|医生)[:：](?:你好|您好|嗨|哈喽|是的|好的|嗯)?[，,。！! ]*(?=我)",
    re.MULTILINE,
)
"""The line of a talk: who speaks, and what they say of themselves."""


_ASKED = re.compile(
    r"(?:^|(?<=[.!?。！？]))[ \t*_]*(?:Q(?:uestion)?[ \t]?\d{,2}|问)[*_]*[:：]"
    r"[^\n?？]{2,200}[?？][*_ \t]*\n?[*_ \t]*(?:A(?:nswer)?[ \t]?\d{,2}|答)[*_]*[:：]",
    re.MULTILINE,
)
"""Questions that are shown with their answers, as of an interview."""


def _lines(text: str, pattern: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    for match in pattern.finditer(text):
        line_end = text.find("\n", match.end())
        yield match.start(), len(text) if line_end < 0 else line_end


def announced(text: str) -> list[tuple[int, int]]:
    """The [start, end) ranges of a turn that are announced as somebody else's words, or show to be
    a machine's, in order; none reaches into the next."""
    found = _announced(text)
    machine = pasted(text)
    return merged([*found, *machine]) if machine else found


def _announced(text: str) -> list[tuple[int, int]]:
    compared = _chosen_from(text)
    if compared:
        return compared
    begun = _letter(text)
    forms: Sequence[re.Pattern[str]] = _ANNOUNCED
    if ":" not in text and "：" not in text and "--" not in text:
        lower = text.lower()
        if not (any(map(lower.__contains__, _POINTS)) and any(map(lower.__contains__, _ASKS))):
            return [(begun, len(text))] if begun < len(text) else []
        forms = (_SHOWN,)
    begun = min(
        begun, *(len(text) if (m := form.search(text)) is None else m.end() for form in forms)
    )
    asked = _ASKED.search(text) if "Q" in text or "问" in text else None
    if asked is not None:
        begun = min(begun, asked.start())
    labelled = _LABELLED.search(text)
    if labelled is not None:
        begun = min(begun, labelled.start())
    said = sorted((*_said(text), *_lines(text, _TALK)))
    found: list[tuple[int, int]] = []
    for start, end in said:
        start = max(start, found[-1][1] if found else 0)
        if start < begun and start < end:
            found.append((start, min(end, begun)))
    return [*found, (begun, len(text))] if begun < len(text) else found


def holds(ranges: Sequence[tuple[int, int]], place: int) -> bool:
    """Whether a place lies in one of the ranges of ``announced``."""
    at = bisect_right(ranges, place, key=itemgetter(0))
    return at > 0 and place < ranges[at - 1][1]


def _said(text: str) -> Iterator[tuple[int, int]]:
    for match in _SAID.finditer(text):
        if not _SPEAKER.isdisjoint((match["who"] or "").lower().split()):
            continue
        line_end = text.find("\n", match.end())
        if line_end < 0 or not text[match.end() : line_end].strip():
            yield match.end(), len(text)
            return
        yield match.end(), line_end

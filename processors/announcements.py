"""What a turn announces as not its speaker's own words: a text to translate or to mend, a mail that
was received, what somebody wrote, sentences of which one is to be chosen.

What stands after the colon in the same clause is silenced with the clause; here is told where the
announced text goes on, in further sentences and lines. Nothing tells where it ends, so it goes on
to the end of the turn, or of the line where somebody was quoted within one.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from operator import itemgetter

_TEXTS = (
    r"(?:e-?mails?|messages?|texts?|letters?|articles?|reviews?|posts?|tweets?|transcripts?|excerpts?"
    r"|passages?|paragraphs?|sentences?|lyrics|poems?|essays?|comments?|dialogues?|chats?|bios?)"
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
_POINTS = re.compile(r"\b(?:this|these|following|below)\b|这[句段个封]", re.IGNORECASE)
"""What every such question says."""
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


def announced(text: str) -> list[tuple[int, int]]:
    """The [start, end) ranges of a turn that are announced as somebody else's words, in order;
    none reaches into the next."""
    compared = _chosen_from(text)
    if compared:
        return compared
    forms: Sequence[re.Pattern[str]] = _ANNOUNCED
    if ":" not in text and "：" not in text and "--" not in text:
        if _POINTS.search(text) is None:
            return []
        forms = (_SHOWN,)
    begun = min((m.end() for form in forms if (m := form.search(text))), default=len(text))
    labelled = _LABELLED.search(text)
    if labelled is not None:
        begun = min(begun, labelled.start())
    found = [(start, min(end, begun)) for start, end in _said(text) if start < begun]
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

"""What a turn says, sentence by sentence: a pleasantry, a question, a claim about the listener, or
something. Used by the gate; English and Chinese.

Only as much reading as a decision to keep or drop needs. Where it is in doubt a sentence says
something: a fact that is dropped is gone, a needless one is only ballast.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from tomllib import loads
from typing import Literal

import msgspec

__all__ = ["Reading", "read_turn"]

Saying = Literal["nothing", "pleasantry", "question", "claim", "statement"]


class Reading(msgspec.Struct, frozen=True, gc=False):
    """How many sentences of each kind a turn has, and how many words (a Chinese character counts
    as one half). ``claims`` are statements about the listener."""

    pleasantries: int = 0
    questions: int = 0
    claims: int = 0
    statements: int = 0
    words: float = 0.0

    @property
    def empty(self) -> bool:
        """Whether there is no sentence at all: white space, punctuation, pictures."""
        return not (self.pleasantries or self.questions or self.claims or self.statements)


def read_turn(text: str, *, listener_claims: bool = False) -> Reading:
    """What the sentences of ``text`` say. With ``listener_claims`` statements about "you" are
    told apart, which is of use in an assistant's words only. Reads at most some 400 sentences;
    a longer text says something in any case."""
    counts = {"pleasantry": 0, "question": 0, "claim": 0, "statement": 0}
    words = 0.0
    for number, sentence in enumerate(_split(text)):
        if not sentence or sentence.isspace():
            continue
        if number > _MOST_SENTENCES:
            counts["statement"] += 1
            words += len(text) / 8
            break
        saying, count = _saying_of(sentence.strip(), listener_claims=listener_claims)
        if saying != "nothing":
            counts[saying] += 1
            words += count
    return Reading(
        counts["pleasantry"], counts["question"], counts["claim"], counts["statement"], words
    )


def _split(text: str) -> Iterator[str]:
    begin = 0
    for end in _END.finditer(text):
        at = end.start()
        yield text[begin : at if text[at] == "\n" else at + 1]
        begin = end.end()
    yield text[begin:]


_MOST_SENTENCES = 400
_END = re.compile(
    r"[.…](?<!\bDr\.)(?<!\bMr\.)(?<!\bMs\.)(?<!\bMrs\.)(?<!\bSt\.)(?<!\bProf\.)(?<!\be\.g\.)(?<!\bi\.e\.)[\"'”’)]*\s+|[。！？!?](?![。！？!?])[\"'”’)」]*|\n+"
)
"""Begins with the sign that ends a sentence, which belongs to it: such a pattern is found fast."""
_HAN = re.compile(r"[\u3400-\u9fff\U00020000-\U0003ffff]")
_WORD = re.compile(r"[^\W_](?:[\w'’+#./@&%-]*[\w+#%])?")


def _saying_of(sentence: str, *, listener_claims: bool) -> tuple[Saying, float]:
    if not sentence.isascii() and _HAN.search(sentence) is not None:
        return _chinese_saying(sentence, listener_claims=listener_claims)
    words = _WORD.findall(sentence)
    if not words:
        # Letters of no word, such as a lone combining script, still say something.
        kept = any(unicodedata.category(letter)[0] in "LN" for letter in sentence)
        return ("statement", 1.0) if kept else ("nothing", 0.0)
    if len(words) <= _LONGEST_PLEASANTRY and _is_pleasantry(words):
        return "pleasantry", 0.0
    if _is_question(sentence, words):
        return "question", float(len(words))
    if listener_claims and _CLAIM.match(sentence) is not None:
        return "claim", float(len(words))
    return "statement", float(len(words))


# --- pleasantries ---------------------------------------------------------------------------------

_LONGEST_PLEASANTRY = 16


class _Lists(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    english_addressed: str
    english_plain: str
    english_filler: str
    chinese: str
    chinese_filler: str
    chinese_particles: str


class _Phrases(msgspec.Struct, frozen=True):
    """English phrases by first word, and by second word ("" for those of one): longest first,
    (words, whether it counts, whether a name may follow). Chinese ones: whether it counts."""

    english: dict[str, dict[str, list[tuple[tuple[str, ...], bool, bool]]]]
    chinese: dict[str, bool]
    longest_chinese: int


@cache
def _phrases() -> _Phrases:
    path = Path(__file__).with_name("rulebook_gate") / "pleasantries.toml"
    lists = msgspec.convert(loads(path.read_text("utf-8")), _Lists)
    english: dict[str, dict[str, list[tuple[tuple[str, ...], bool, bool]]]] = {}
    for text, counts, addressed in (
        (lists.english_addressed, True, True),
        (lists.english_plain, True, False),
        (lists.english_filler, False, False),
    ):
        for phrase in text.replace("\n", "|").split("|"):
            words = tuple(phrase.replace("’", "'").split())
            if words:
                first, second = (*words, "")[:2]
                following = english.setdefault(first, {}).setdefault(second, [])
                following.append((words, counts, addressed))
    chinese = dict.fromkeys(lists.chinese_particles, False)
    chinese |= dict.fromkeys(lists.chinese_filler.replace("\n", "|").strip("|").split("|"), False)
    chinese |= dict.fromkeys(
        (phrase for phrase in lists.chinese.replace("\n", "|").split("|") if phrase), True
    )
    for by_second in english.values():
        for found in by_second.values():
            found.sort(key=lambda entry: (-len(entry[0]), not entry[1]))
    return _Phrases(
        english,
        chinese,
        max(map(len, chinese)),
    )


def _is_pleasantry(words: list[str]) -> bool:
    """Whether the words are phrases of politeness from the first to the last."""
    known = _phrases().english
    first = _plain(words[0])
    if first not in known and _LAUGH.fullmatch(first) is None:
        return False
    plain = [first]
    place = 0
    counted = addressed = False
    while place < len(words):
        if place + 1 >= len(plain):
            # Most sentences are none of these by their second word: the rest is left as it is.
            plain += map(_plain, words[len(plain) : place + 2])
        found = None
        by_second = known.get(plain[place])
        if by_second is not None:
            second = plain[place + 1] if place + 1 < len(words) else ""
            for entry in (*by_second.get(second, ()), *by_second.get("", ())):
                end = place + len(entry[0])
                if end > len(plain):
                    plain += map(_plain, words[len(plain) : end])
                if tuple(plain[place:end]) == entry[0]:
                    found = entry
                    break
        if found is not None:
            place += len(found[0])
            counted |= found[1]
            addressed = found[2]
        elif _LAUGH.fullmatch(plain[place]):
            place += 1
            counted = True
        elif addressed and words[place][0].isupper() and _NO_NAME.match(plain[place]) is None:
            # A name, at most of two words: "Good morning, Ada Lovelace".
            place += 1
            if place < len(words) and words[place][0].isupper():
                place += _plain(words[place]) not in known
            addressed = False
        else:
            return False
    return counted


@lru_cache(maxsize=1 << 14)
def _plain(word: str) -> str:
    """A word in lower case, without stretched letters ("sooo") unless it is known so."""
    word = word.lower().replace("’", "'")
    if word in _phrases().english:
        return word
    short = _STRETCHED.sub(r"\1", word)
    return word if short == word or _LAUGH.fullmatch(word) else short


_NO_NAME = re.compile(
    r"(?:i|my|we|our|it|its|the|a|an|in|at|on|from|not|this|that|she|he|they|to|for|with)(?:'\w+)?$"
)
_STRETCHED = re.compile(r"(.)\1{2,}")
_LAUGH = re.compile(
    r"(?:a?(?:ha)+h?|(?:he)+h?|l+o+l+|l+mao+|hm+|mm+|u+h+|u+m+|a+h+|o+h+|a+w+|y+a+y+)s?"
)


def _is_chinese_pleasantry(bare: str) -> bool:
    phrases = _phrases()
    place = 0
    counted = False
    while place < len(bare):
        for length in range(min(phrases.longest_chinese, len(bare) - place), 0, -1):
            counts = phrases.chinese.get(bare[place : place + length])
            if counts is not None:
                break
        else:
            return False
        counted |= counts
        place += length
    return counted


# --- questions, English ---------------------------------------------------------------------------

_ASKING_START = re.compile(
    r"(?i)(?:so|and|but|well|ok|okay|hey|hi|hello|please|also|now|then|um|or)?[, ]*(?:(?:what|who"
    r"|where|when|why|how|which|whose)(?:'s|’s|'re)?\s+(?:is|are|was|were|do|does|did|can|could"
    r"|should|would|will|to|much|many|long|far|old|often|about|kind|type|time|day|if|else)\b"
    r"|(?:what|who|where|when|why|how)(?:'s|’s)\b|(?:can|could|would|will|do|does|did|should|may"
    r"|shall|have|has)\s+(?:you|i|we|he|she|they|it|the|my|there|anyone|someone)\b|(?:is|are|was"
    r"|were|am)\s+(?:there|it|this|that|the|my|your|you|i|he|she|we|they)\b)"
)
_TAG = re.compile(
    r"(?i),\s*(?:right|correct|yes|no|eh|huh|ok|okay|you know|remember|(?:is|are|was|were|do|does"
    r"|did|have|has|can|could|would|will|should)(?:n't|n’t)?\s+(?:it|i|you|he|she|we|they|that"
    r"|there))\s*\?+$"
)
_CLAUSE = re.compile(r"(?i)[,;:—–]|\b(?:and|but|so|because|since|as|that|though|although)\b")
_TOLD_BY_ASKING = re.compile(
    r"(?i)(?:did you know|do you know|guess what|you know|remember|(?:can|could|will"
    r"|would) you (?:please |kindly )?(?:remember|note|keep in mind|save|make a note)"
    r"|have i told you|did i (?:tell you|mention))\b[ ,]*(?:that\b)?\s*"
)
_FIRST_PERSON = re.compile(
    r"(?i)\s*(?:also |now |just |actually |recently )?(?:(?:i|we)(?:'m|’m|'ve|’ve|'re|’re|'d"
    r"|’d)\s+\S|(?:i|we)\s+(?!(?:should|can|could|would|may|might|shall|must|do|did|will|ought"
    r"|want to know|wonder|was wondering|am wondering|need to know|mean)\b)\w+|(?:my"
    r"|our)\s+(?:[\w'’-]+\s+){1,4}?(?:is|are|was|were|has|have|had|lives?|works?|likes?|loves?"
    r"|hates?|just|moved|got|wants?|prefers?)\b)"
)
_SUBJECT = re.compile(
    r"(?:(?i:the|this|that|it|he|she|they|there|we|i|my|our|a|an)|(?!(?i:if|when|after|before"
    r"|while|given|in|on|at|for|with|from|to|by|hi|hey|hello|ok|okay|so|well|and|but|or|please"
    r"|what|who|where|why|how|which|whose|can|could|would|will|do|does|did|should|may|is|are|was"
    r"|were|am|have|has|any|thanks|also)\b)[A-Z][\w'-]+)\s+(?:\S+\s+){2}"
)


def _is_question(sentence: str, words: list[str]) -> bool:
    """Whether it asks and asserts nothing on the way ("I'm vegan, what can I eat?" asserts)."""
    bare = sentence.rstrip(" \"'”’)*_~")
    marked = bare.endswith(("?", "？"))
    if not marked and (
        bare.endswith((".", "!"))
        or _ASKING_START.match(sentence) is None
        or (words[0].lower() in ("do", "have") and words[1:2] in (["the"], ["there"], ["it"]))
    ):
        return False
    if _TAG.search(bare) is not None:
        return False
    told = _TOLD_BY_ASKING.match(bare)
    if told is not None and _FIRST_PERSON.match(bare, told.end()):
        return False
    clauses = _CLAUSE.split(bare)
    if any(_FIRST_PERSON.match(clause) for clause in clauses if clause):
        return False
    commas = re.split(r"[,;:—–]", bare)
    return not (
        len(commas) > 1
        and len(commas[0].split()) >= 4
        and _SUBJECT.match(commas[0].strip()) is not None
    )


# --- claims about the listener --------------------------------------------------------------------

_CLAIM = re.compile(
    r"(?i)(?!if\b(?! i re)|when\b|once\b|unless\b|whenever\b|to\b)(?:(?:so|well|and|but|ah|oh"
    r"|yes|yeah"
    r"|right|sure|great|okay|ok|hi|hello|also|actually|now|noted|got it|indeed|apparently"
    r"|currently|earlier|previously|yesterday|today|last (?:time|week|month|year)|of course|as"
    r"|since|because|given|considering|based on what|knowing|i (?:also )?(?:remember|know|recall"
    r"|see|think|believe|understand|noticed?|gather|hear|heard|can see|have noted)|it (?:sounds"
    r"|seems|looks)(?: like| as if)?|(?:sounds|seems|looks) (?:like|as if)|from (?:what"
    r"|our (?:chats?"
    r"|conversations?))|(?:based on|according to) [^,.]{3,40}|if i (?:remember"
    r"|recall)(?: correctly)?"
    r"|my (?:notes|records|memory) (?:says?|shows?|tells? me)|i(?:'ve|’ve"
    r"| have)? (?:also )?(?:just )?"
    r"(?:noted|saved|recorded|stored|remembered)|i(?:'ll|’ll| will) remember"
    r"|here(?:'s|’s| is) what i (?:know|remember|have)(?: about you)?|we (?:talked"
    r"|spoke) about)(?: that)?\b[,:]?\s*){0,4}(?:you(?:'re|’re|'ve|’ve|'d|’d)\b(?! (?:welcome"
    r"|right|correct|able to|better off|going to need))|you(?:\s+(?:also|really|always|never|still"
    r"|just|already|once|often|usually|previously|recently|currently|clearly|both|all|don't|don’t"
    r"|do not|didn't|didn’t|did|do|mostly|truly|used to|had|have))*\s+(?:told|said|mentioned"
    r"|shared|asked|like[ds]?|loved?|enjoy(?:ed)?|hated?|disliked?|prefer(?:red)?|lived?"
    r"|work(?:ed)?|are|were|have|had|own(?:ed)?|moved|wanted|want (?!to)|need (?!to)|needed"
    r"|were born|grew|speak|spoke|eat|ate|drink|drank|drive|study|studied|plan(?:ned)?|know|knew"
    r"|feel|felt|seem|play|played|run|ran|travel(?:led|ed)?|visited|bought|got|went|met|started"
    r"|stopped|quit|graduated|married|support(?:ed)?|follow(?:ed)?|stud(?:y|ied)|taught|teach|use"
    r"|used)\b(?! to (?:install|restart|run|set))|your\s+(?:[\w'’-]+\s+){1,4}?(?:is|are|was|were"
    r"|has|have|lives?|works?|likes?|loves?|'s)\b"
    r"|(?:the\s+)?user(?:'s\s+(?:[\w'’-]+\s+){1,4}?(?:is|are|was|were)|\s+\w+s|\s+(?:is|was|has"
    r"|had))\b"
    r"|(?:some |the )?(?:facts|things|notes|information) (?:i know )?about you\b"
    r"|here(?:'s|’s| is) your profile\b"
    r"|(?:(?:given|considering|knowing|with|because of|due to|for) )?your (?:[\w'’-]+ ){0,2}"
    r"(?:allerg(?:y|ies)|love of|love for|preference (?:for|of)|diet|birthday|interest in|fear of"
    r"|dislike of|hatred of|job at|move to|home in|wife|husband|dog|cat)\b)"
)


# --- Chinese --------------------------------------------------------------------------------------

_NOT_LETTERS = re.compile(r"[^\w]+|_+")
_ZH_ASKS = re.compile(
    r"什么|啥|怎么|怎样|咋|如何|为何|为什么|谁|哪|几[个点时岁天号次位家条]|多少|多久|多大|多远"
    r"|多长|吗$|呢$|么$|是否|能否|可否|是不是|能不能|有没有|可不可以|要不要|会不会|好不好|行不行"
    r"|对不对"
)
_ZH_ASKING_START = re.compile(
    r"(?:请问|想问一?下?|我想问|我想知道|问一下|什么|怎么|为什么|哪|谁|几|多少|能不能|可不可以"
    r"|是不是|有没有|能否)"
)
_ZH_ASKING_END = re.compile(
    r"(?:吗|呢|么|怎么样|怎样|如何|是什么|什么|在哪|在哪里|在哪儿|去哪|去哪里|是谁|几点|多少"
    r"|多少钱|为什么|怎么办|好不好|行不行|可不可以)$"
)
_ZH_ASKING_LATE = re.compile(r"(?:什么|怎么|多少|哪)[^，,]{0,2}$")
_ZH_TAG = re.compile(r"[，,](?:对吧|是吧|对不对|是不是|没错吧|对吗|是吗)$")
_ZH_TELLS = re.compile(
    r"(?!请问|如果|要是|假如|假设|帮我|给我|告诉我|能|可以|想问|我想问|我想知道|我该|我应该|我能"
    r"|我可以|我要不要|我是不是|我有没有)(?:我|咱|本人|俺|他|她|[^，,？?]{0,40}(?:我|咱们))"
)
_ZH_CLAUSE = re.compile(r"[，,；;：:]")
_ZH_CLAIM = re.compile(
    r"(?:(?:嗯|好的|是的|对|原来|我(?:还|都)?(?:记得|知道|了解|听说|注意到)|看来|因为|既然|根据"
    r"|据我所知|(?:根据|按照|基于)[^，,。]{2,12}|如果我没记错|我(?:会|已经?|都)?(?:帮您"
    r"|帮你)?记(?:住|下|录)了?"
    r"|已(?:经)?(?:记录|记下|记住|保存)了?"
    r"|考虑到|鉴于|知道|了解到|我们(?:之前|上次|以前)?(?:聊过|聊到|说过|谈过)|之前|上次|所以"
    r"|其实|没错)[，,：: ]?)*(?:(?:您|你|用户)(?:之前|曾经?|刚才|刚刚|以前"
    r"|上次|昨天|今天|好像|似乎|一直|很|也|都|平时|最|比较|特别|非常|不|从|目前|现在|还|跟我|和我"
    r"|对我)*(?:说|告诉|提到|提过|提及|讲过|喜欢|爱|住|是(?!否|不是)|在|有(?!没有|什么)|对"
    r"|想(?!要知道)|叫|养|吃|喝|讨厌|偏好|习惯|打算|计划|工作|来自|过敏|觉得|出生|毕业|搬|结婚|学"
    r"|教)|(?:您|你|用户)的[^，,。]{1,12}?(?:是|叫|在|为|有)"
    r"|(?:您|你)(?:老婆|老公|妻子|丈夫|太太|女儿|儿子|孩子|妈妈|爸爸)(?:是|叫|在|喜欢|爱)"
    r"|用户(?:的?(?:姓名|名字|生日|职业|住址|城市|爱好|偏好|饮食)[：:]|姓名))"
)


def _chinese_saying(sentence: str, *, listener_claims: bool) -> tuple[Saying, float]:
    bare = _NOT_LETTERS.sub("", sentence)
    if not bare:
        return "nothing", 0.0
    if len(bare) <= 40 and _is_mixed_pleasantry(sentence, bare):
        return "pleasantry", 0.0
    words = len(_HAN.findall(bare)) / 2 + len(_LATIN_WORD.findall(bare))
    if _is_chinese_question(sentence.rstrip(" \"'”’」）)~～"), bare):
        return "question", words
    if listener_claims and _ZH_CLAIM.match(sentence) is not None:
        return "claim", words
    return "statement", words


_LATIN_WORD = re.compile(r"[A-Za-z]+|\d+")


def _is_mixed_pleasantry(sentence: str, bare: str) -> bool:
    """Chinese, perhaps with English words of politeness: "ok好的", "thanks啦"."""
    if not _LATIN_WORD.search(bare):
        return _is_chinese_pleasantry(bare)
    han = "".join(_HAN.findall(bare))
    latin = _WORD.findall(_HAN.sub(" ", sentence))
    return bool(latin) and _is_chinese_pleasantry(han) and _is_pleasantry(latin)


def _is_chinese_question(sentence: str, bare: str) -> bool:
    marked = sentence.endswith(("？", "?"))
    if not marked and (sentence.endswith(("。", "！", "!", ".")) or not _asks_unmarked(bare)):
        return False
    core = sentence.rstrip("？?！! ")
    if _ZH_TAG.search(core) is not None:
        return False
    clauses = [clause.strip() for clause in _ZH_CLAUSE.split(core)]
    told = clauses[:-1] if marked or len(clauses) > 1 else []
    return not any(
        len(clause) >= 3 and _ZH_TELLS.match(clause) and not _ZH_ASKS.search(clause)
        for clause in told
    )


def _asks_unmarked(bare: str) -> bool:
    if _ZH_ASKING_START.match(bare) is not None or _ZH_ASKING_END.search(bare) is not None:
        return True
    return _ZH_ASKING_LATE.search(bare) is not None and _ZH_TELLS.match(bare) is None

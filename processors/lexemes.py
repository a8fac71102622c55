"""Lexemes: the words of a text that lexical search matches on, and their BM25 weights.

``lexemes`` is used for documents and for queries alike, so both sides always agree. Pure: the
same text gives the same list everywhere; the only data read is the word list inside jieba.

* Latin and Cyrillic words are case-folded, freed of accents and stemmed (Snowball); English
  stopwords are dropped.
* Identifiers, paths, versions, dates and numbers are kept whole and also in their parts, so
  ``getUserName`` is found by "user name" and by itself.
* Han text is cut into overlapping bigrams, without those that join a function word to its
  neighbour ("我的", "了杭"), plus every dictionary word of three characters or more. A content
  character that no kept bigram covers stands alone ("住" in "住在").
* Kana, Hangul and scripts without spaces (Thai, Lao, Khmer, Burmese) are cut into bigrams.
* Words of all other scripts are case-folded and kept.

A text of nothing but stopwords, punctuation or emoji has no lexemes.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from zlib import crc32

from snowballstemmer.english_stemmer import EnglishStemmer
from snowballstemmer.russian_stemmer import RussianStemmer

from memstream.processors import versions

LEXEMES_VERSION = versions.LEXEMES

AVERAGE_LENGTH = 28.0
"""Lexemes of an average document. A constant, so that a document's weights never depend on what
else is stored. Chat turns of 23 English words have 12 on average, Chinese ones of 30 characters
20, and context, entities and aliases come on top. A value on the long side keeps one-line turns
from winning by being short: on long chats of two people, recall of the evidence among ten hits was
0.604 with 12, 0.609 with 16, 0.617 with 28 and 0.623 with 48."""

K1 = 1.2
B = 0.75


def lexemes(text: str) -> list[str]:
    """The lexemes of ``text`` in its order, repeated as often as they occur."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    found: list[str] = []
    for chunk in text.split():
        found += _of_chunk(chunk) if len(chunk) <= _LONGEST_CACHED else _cut(chunk)
    return found


def sparse_weights(found: Sequence[str]) -> tuple[list[int], list[float]]:
    """A document's sparse vector: (indices, values), the term-frequency part of BM25.

    tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / average)), Robertson and Zaragoza, "The
    Probabilistic Relevance Framework: BM25 and Beyond" (2009), section 3.2. The other factor,
    IDF, is the engine's. Indices are unique and ascending; lexemes that share one are summed.
    """
    frequencies = Counter(map(lexeme_index, found))
    saturation = K1 * (1 - B + B * len(found) / AVERAGE_LENGTH)
    weights = {tf: tf * (K1 + 1) / (tf + saturation) for tf in sorted(set(frequencies.values()))}
    indices = sorted(frequencies)
    return indices, [weights[frequencies[index]] for index in indices]


def query_weights(found: Iterable[str]) -> tuple[list[int], list[float]]:
    """A query's sparse vector: 1.0 for every distinct lexeme."""
    indices = sorted(set(map(lexeme_index, found)))
    return indices, [1.0] * len(indices)


@lru_cache(maxsize=1 << 16)
def lexeme_index(lexeme: str) -> int:
    """The dimension a lexeme stands at: CRC-32 of its UTF-8, the same on every machine."""
    return crc32(lexeme.encode("utf-8", "surrogatepass"))


_LONGEST_CACHED = 48
_LONGEST_WHOLE = 128

_SPACELESS = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f"  # Burmese
    "\u1780-\u17ff"  # Khmer
)
_HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_KANA = "\u3040-\u30ff\u31f0-\u31ff"
_HANGUL = "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"
_MARKS = "".join(
    chr(code)
    for code in range(0x300, 0x3000)
    if unicodedata.category(chr(code)) in ("Mn", "Mc") and not 0xE00 <= code <= 0x17FF
)
_LETTER = rf"(?:[^\W{_SPACELESS}{_HAN}{_KANA}{_HANGUL}]|[{_MARKS}])"
_PIECE = re.compile(
    rf"(?P<han>[{_HAN}{_KANA}]+)"
    rf"|(?P<runs>[{_HANGUL}]+|[{_SPACELESS}]+)"
    r"|(?P<thousands>\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\w,]))"
    rf"|(?P<word>{_LETTER}+(?:[-./\\:@&'’~=]{_LETTER}+)*[+#]*)"
)
_JOINER = re.compile(r"[-_./\\:@&~=+#]+")
_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_KANA_ONLY = re.compile(rf"[{_KANA}]")
_ACCENTS = re.compile("[\u0300-\u036f]")
_CYRILLIC = re.compile("[\u0400-\u04ff]+")
_SUFFIX = re.compile("'(?:s|re|ll|ve|d|m)$")


def _table(words: str) -> frozenset[str]:
    return frozenset(words.split())


_STOPWORDS = _table(
    """
    a about above after again against all also am an and any are aren arent as at be because been
    before being below between both but by can cannot cant could couldn couldnt did didn didnt do
    does doesn doesnt doing don dont down during each else ever few for from further had hadn hadnt
    has hasn hasnt have haven havent having he hed her here hers herself hes him himself his how
    hows i id if ill im in into is isn isnt it its itself ive just let lets ll me more most mustn my
    myself no nor not now of off oh ok okay on once only or other ought our ours ourselves out over
    own please quite rather re really same shan she shes should shouldn shouldnt so some such than
    that thats the their theirs them themselves then there theres these they theyd theyll theyre
    theyve this those though through to too under until up ve very was wasn wasnt we were weren
    werent weve what whats when where which while who whom whose why will with won't wont would
    wouldn wouldnt yes yet you youd youll your youre yours yourself yourselves youve
    """
)
# Characters that in Chinese mostly carry grammar. A bigram with one of them is kept only where
# the dictionary knows it as a word ("了解", "现在", "过敏"); a lexeme of nothing else is dropped.
_FUNCTION = frozenset(
    "的了吗呢吧啊嘛呀哦嗯哈么着过地得之所而且但却或与及和跟以于为因由其这那哪谁怎什"
    "们我你您他她它咱自己是有在对把被给让从到向往就都也还又再很太更最会能可要请啦哇呗"
)
_KANA_STOP = _table(
    """
    です ます でし まし した して しま まし から まで より ない たい たち これ それ あれ この その
    あの どの どれ ここ そこ どこ いる ある する なる こと もの ため よう とき でも けど だけ など
    """
)


def _cut(chunk: str) -> tuple[str, ...]:
    found: list[str] = []
    for piece in _PIECE.finditer(chunk):
        kind, text = piece.lastgroup, piece.group()
        if kind == "word":
            found += _of_word(text)
        elif kind == "thousands":
            found.append(text.replace(",", ""))
        elif kind == "runs":
            found += _bigrams(text)
        elif _KANA_ONLY.search(text):
            found += [pair for pair in _bigrams(text) if pair not in _KANA_STOP]
        else:
            found += _of_han(text)
    return tuple(found)


_of_chunk = lru_cache(maxsize=1 << 16)(_cut)


def _of_word(piece: str) -> list[str]:
    """A word, or an identifier: whole first, then its parts."""
    parts = [part for part in _JOINER.split(piece) if part]
    if len(parts) == 1 and parts[0] == piece:
        return _of_part(piece, alone=True)
    found = [lexeme for part in parts for lexeme in _of_part(part, alone=False)]
    whole = _fold(piece).strip("_")
    if len(whole) <= _LONGEST_WHOLE and whole not in found and (found or not whole.isalpha()):
        if all(_fold(part) in _STOPWORDS for part in parts):
            return found
        found.insert(0, whole)
    return found


def _of_part(part: str, *, alone: bool) -> list[str]:
    """One word without joiners: its stem, and its humps where it has several."""
    folded = _fold(part)
    if not folded or folded in _STOPWORDS or folded.endswith("n't"):
        return []
    folded = _SUFFIX.sub("", folded)
    bare = folded.replace("'", "")
    if not bare or folded in _STOPWORDS or (len(bare) == 1 and not alone and not bare.isdigit()):
        return []
    found = [_stem(bare)]
    humps: list[str] = _HUMP.findall(part) if part.isascii() and "'" not in part else []
    if len(humps) > 1:
        for hump in humps:
            lowered = hump.lower()
            if (len(hump) > 1 or hump.isdigit()) and lowered not in _STOPWORDS:
                found.append(_stem(lowered))
    return found


def _fold(word: str) -> str:
    """Case-folded; accents dropped where plain Latin letters remain ("café", "Zürich")."""
    if word.isascii():
        return word.lower()
    folded = word.replace("’", "'").casefold()
    plain = _ACCENTS.sub("", unicodedata.normalize("NFKD", folded))
    return plain if plain.isascii() else unicodedata.normalize("NFC", folded)


_STEMMING = threading.Lock()
"""Snowball stemmers keep the word they work on in themselves, so one thread at a time."""
_ENGLISH = EnglishStemmer()
_RUSSIAN = RussianStemmer()


@lru_cache(maxsize=1 << 16)
def _stem(word: str) -> str:
    if word.isascii() and word.isalpha():
        with _STEMMING:
            return str(_ENGLISH.stemWord(word))
    if _CYRILLIC.fullmatch(word):
        with _STEMMING:
            return str(_RUSSIAN.stemWord(word))
    return word


def _bigrams(run: str) -> list[str]:
    if len(run) < 2:
        return [run]
    return [run[at : at + 2] for at in range(len(run) - 1)]


def _of_han(run: str) -> list[str]:
    words, longest = _dictionary()
    size = len(run)
    function = [character in _FUNCTION for character in run]
    found: list[str] = []
    covered = -1
    for at in range(size):
        kept = False
        if at + 1 < size:
            pair = run[at : at + 2]
            grammar = function[at] + function[at + 1]
            kept = grammar == 0 or (grammar == 1 and pair in words)
            if kept:
                found.append(pair)
        if not kept and at > covered and not function[at]:
            found.append(run[at])
        if kept:
            covered = at + 1
        for end in range(at + 3, min(at + longest, size) + 1):
            if run[at:end] in words and not all(function[at:end]):
                found.append(run[at:end])
    return found


@cache
def _dictionary() -> tuple[frozenset[str], int]:
    """jieba's word list, words of 2 to 8 characters, and the length of the longest.

    Only the list is read: jieba itself spends most of a second building its tables, writes a
    cache file, and cuts a word differently by what stands beside it. Looking every substring up
    gives all dictionary words (jieba's full mode), whatever surrounds them.
    """
    spec = find_spec("jieba")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("jieba is not installed; mend: pip install jieba")
    text = Path(spec.origin).with_name("dict.txt").read_text(encoding="utf-8")
    longest = 8
    return frozenset(word for word in text.split()[::3] if 1 < len(word) <= longest), longest

"""The words of one capture: cut at what no longer belongs to it, trimmed, split into items."""

from __future__ import annotations

import re
from itertools import pairwise

import msgspec

from memstream.processors.rule_files import Rule
from memstream.processors.rules import Rulebook
from memstream.processors.words import Phrases, Words, is_capital, is_picture


class Value(msgspec.Struct, frozen=True, gc=False):
    """One value: its form in the slot, as it is spoken in a sentence, and its [start, end)."""

    value: str
    spoken: str
    start: int
    end: int
    qualifier: str = ""
    reason: str = ""


class Region:
    """The words of one capture, cut at what can no longer belong to it."""

    def __init__(
        self,
        text: str,
        words: Words,
        start: int,
        end: int,
        rule: Rule,
        book: Rulebook,
        *,
        whole: bool = False,
    ) -> None:
        self.text = text
        self.words = words
        self.rule = rule
        self.book = book
        self.start = start
        self.reason = ""
        self.cut_by = ""
        self.whole = whole
        self.end = end if whole else self._cut(start, end)
        self.trim()

    def _cut(self, start: int, end: int) -> int:
        norm = self.words.norm
        stops = self.book.phrase_list("value_stops")
        reasons = self.book.phrase_list("reasons")
        ago = None
        if start < end and _SIGN_OF_AGO[self.book.language] in self.text:
            said = _AGO[self.book.language]
            ago = said.search(self.text, self.words.start[start], self.words.end[end - 1])
        for at in range(start, end):
            if ago is not None and at > start and self.words.start[at] >= ago.start():
                return at
            gap = self.text[self.words.end[at - 1] : self.words.start[at]] if at > start else ""
            unread = gap.strip().lower()
            if unread and unread not in self.book.labels and not is_picture(unread):
                return at
            if at == start and norm[at] not in self.rule.stops:
                continue
            length = reasons.length_at(norm, at)
            if not length and self.rule.attribute == "residence":
                length = self.book.phrase_list("companions").length_at(norm, at)
            if length and at + length < end:
                self.reason = self._slice(at, end)
                self.cut_by = norm[at]
                return at
            if at > start and norm[at - 1] in _JOINS and norm[at] in _REPEATED:
                continue  # "for Lego and for Volvo"
            if norm[at] in self.rule.stops or stops.length_at(norm, at):
                self.cut_by = norm[at]
                return at
        return end

    def trim(self) -> None:
        """Drops the "both" of "both X and Y" and signs before, adverbs and punctuation after."""
        norm = self.words.norm
        trailing = self.book.phrase_list("trailing")
        changed = True
        while changed and self.end > self.start:
            changed = False
            length = trailing.length_before(norm[: self.end], self.end)
            titled = self.words.raw[self.end - 1][:1].isupper() and self.end - self.start > 1
            if length and not titled and self.end - length >= self.start:
                self.end -= length
                changed = True
            elif norm[self.end - 1] in _PUNCTUATION:
                self.end -= 1
                changed = True
        while self.start < self.end and norm[self.start] in _PUNCTUATION:
            self.start += 1
        if norm[self.start : self.start + 1] == ["both"] and "and" in norm[self.start : self.end]:
            self.start += 1

    def tells_when(self) -> bool:
        """Whether a Chinese value only says when something was: 我住在武汉的时候."""
        return self.cut_by == "的" and self.words.norm[self.end + 1 : self.end + 3] == ["时", "候"]

    @property
    def norm(self) -> list[str]:
        return self.words.norm[self.start : self.end]

    @property
    def raw(self) -> list[str]:
        return self.words.raw[self.start : self.end]

    def _slice(self, start: int, end: int) -> str:
        if start >= end:
            return ""
        return self.text[self.words.start[start] : self.words.end[end - 1]].strip(" ,.;!?，。；！")

    def part(self, start: int, end: int) -> Region:
        """Words [start, end) of this region as a region of their own."""
        return Region(
            self.text,
            self.words,
            self.start + start,
            self.start + end,
            self.rule,
            self.book,
            whole=self.whole,
        )

    def value(self, value: str = "", *, qualifier: str = "", skip: int = 0) -> Value:
        """The whole region as a value. ``skip`` first words are spoken but not part of it."""
        begin = self.words.start[self.start]
        finish = self.words.end[self.end - 1]
        spoken = self._slice(self.start, self.end)
        return Value(
            value or self._slice(self.start + skip, self.end),
            spoken,
            begin,
            finish,
            qualifier,
            self.reason,
        )


_SIGN_OF_AGO = {"en": " ago", "zh": "前"}
_AGO = {
    "en": re.compile(
        r"\b(?:(?:about|some|over|roughly|almost|nearly) )?(?:\d[\d,.]*|(?:an?|one|two|three|four"
        r"|five|six|seven|eight|nine|ten|many|several|few|countless)\b|(?:thousand|million|billion"
        r"|trillion|zillion|gazillion|hundred)s)(?: (?:hundred|thousand|million|billion|trillion"
        r"|zillion|gazillion|few|couple))*(?: of)? (?:second|minute|hour|day|night|week|fortnight"
        r"|month|year|decade|centur|moon|eon|age)(?:s|y|ies)? ago\b",
        re.IGNORECASE,
    ),
    "zh": re.compile(
        r"(?:大约|大概|差不多|好|很)?[\d零〇一二三四五六七八九十百千万亿兆两几多数半][\d零一二三四五六七八九十百千万亿兆两几多,.]*"
        r"(?:年|个月|个星期|个礼拜|周|星期|天|个?小时|分钟|个?世纪)(?:以|之)?前"
    ),
}
"""How long ago something was, in words that no date was read in."""
_PUNCTUATION = frozenset(',.;:!?-—–…，。；：！？、~～*"“”()（）') | {"...", "--"}


_INSIDE_NAMES = frozenset(
    "of de van von der den la le el al & du da di do dos das del bin ibn ter ten zu 's y".split()
)


_LONGEST_NUMBER = 6
"""Characters of a number that may belong to a name ("Studio 1969")."""


def capital_length(region: Region, start: int) -> int:
    """How many words from ``start`` on make one capitalised name."""
    raw, norm = region.raw, region.norm
    at = start
    pair = region.book.phrase_list("binomials").length_at(norm, start)
    if pair and is_capital(raw[start]):
        at += pair
    while at < len(raw):
        numbered = at > start and raw[at][:1].isdigit() and len(raw[at]) <= _LONGEST_NUMBER
        capital = is_capital(raw[at]) or numbered
        if capital and raw[at] != "I":
            at += 1
            continue
        inside = norm[at] in _INSIDE_NAMES and at > start and at + 1 < len(raw)
        if inside and (is_capital(raw[at + 1]) or norm[at] == "'s"):
            at += 1
            continue
        if norm[at] == "'s" and at > start:
            at += 1
            continue
        break
    return at - start


def time_of_day(region: Region) -> int:
    """Where a time of day begins that ends an English value: "a bakery in the mornings"."""
    norm, end = region.norm, region.end - region.start
    if end < 3 or norm[-1] not in region.book.lists["parts_of_day"]:
        return end
    for before in _BEFORE_PARTS_OF_DAY:
        begin = end - 1 - len(before)
        if begin > 0 and norm[begin : end - 1] == before:
            return begin
    return end


_BEFORE_PARTS_OF_DAY = (["in", "the"], ["at"], ["during", "the"], ["late", "at"])


def determiners(region: Region) -> int:
    count = 0
    determiners = region.book.phrase_list("determiners")
    while True:
        length = determiners.length_at(region.norm, count)
        named = region.book.language == "en" and _is_title(region, count)
        alone = region.norm[count : count + length + 1] == ["一", "个", "人"]
        if not length or count + length >= len(region.norm) or named or alone:
            return count
        count += length


def _is_title(region: Region, at: int) -> bool:
    """ "The Hague", "A positive": what has a capital within a sentence is no article."""
    word = region.raw[at] if at < len(region.raw) else ""
    return word[:1].isupper() and (len(word) > 1 or region.start + at > 0)


def parts(region: Region) -> list[Region]:
    """The items of a list. A comma counts only where a later "and" or "or" closes the list, and a
    conjunction only where both sides can stand alone."""
    if region.book.language == "zh":
        return _chinese_parts(region)
    norm = region.norm
    commas, conjunctions = _joints(region)
    if commas and not conjunctions:
        first = region.part(0, commas[0])
        adjective = len(first.norm) > 1 and first.norm[-2] in ("a", "an", "the")
        return [] if adjective else [first]
    if not conjunctions:
        return [region]
    last = conjunctions[-1]
    end = next((at for at in commas if at > last + 1), len(norm))
    cuts = sorted(at for at in (*commas, *conjunctions) if at <= last)
    found: list[Region] = []
    begin = 0
    for at in [*cuts, end]:
        if at > begin:
            found.append(region.part(begin, at))
        begin = at + 1
    found = [part for part in found if part.start < part.end]
    return found if _stand_alone(found, region.book) else [region.part(0, end)]


def alternates(region: Region, *, commas: bool) -> list[Region]:
    """The items of "X, Y and Z". ``commas``: they part too; else one belongs to its item ("Paris,
    France"). A preposition said again ("at X and at Y") belongs to none."""
    if region.book.language == "zh":
        return _chinese_parts(region)
    norm = region.norm
    parted, conjunctions = _joints(region)
    cuts = [at for at in conjunctions if norm[at] in _JOINS]
    if commas and cuts:
        cuts = sorted([*cuts, *(at for at in parted if at < cuts[-1])])
    found: list[Region] = []
    begin = 0
    for at in [*cuts, len(norm)]:
        if begin < at and begin and norm[begin] in _REPEATED:
            begin += 1
        if begin < at:
            found.append(region.part(begin, at))
        begin = at + 1
    return [each for each in found if each.start < each.end]


_JOINS = frozenset(("and", "plus"))
_REPEATED = frozenset(("in", "at", "for", "also", "as"))


def _joints(region: Region) -> tuple[list[int], list[int]]:
    """Where the commas and the conjunctions of a region are, fixed pairs left whole."""
    norm = region.norm
    binomials = region.book.phrase_list("binomials")
    commas: list[int] = []
    conjunctions: list[int] = []
    at = 0
    while at < len(norm):
        length = binomials.length_at(norm, at)
        if length:
            at += length
            continue
        if norm[at] in ("and", "or", "&", "plus"):
            conjunctions.append(at)
        elif norm[at] == ",":
            commas.append(at)
        at += 1
    return commas, conjunctions


def _stand_alone(parts: list[Region], book: Rulebook) -> bool:
    """Whether the parts are items of their own: not "the sound and look of it", "action and
    horror movies" or "improving schools and roads", where a word belongs to several of them."""
    if not parts or parts[0].norm[0] == "the":
        return len(parts) > 1 and parts[1].norm[0] == "the"
    prepositions = book.phrase_list("prepositions")
    heads = book.phrase_list("shared_heads")
    still = book.phrase_list("not_gerunds")
    for before, after in pairwise(parts):
        first = after.norm[0]
        acts = first == "to" or (first.endswith("ing") and first not in still)
        if acts:
            continue
        if before.norm[0].endswith("ing") and len(before.norm) > 1:
            return False
        if any(word in prepositions for word in before.norm):
            return False
    last = parts[-1].norm
    doing = parts[0].norm[0].endswith("ing") and not last[0].endswith("ing")
    return doing or not (len(last) > 1 and last[-1] in heads and len(parts[0].norm) == 1)


_CHINESE_JOINS = frozenset("、和跟与及")


def _chinese_parts(region: Region) -> list[Region]:
    norm = region.norm
    kept = region.book.phrase_list("binomials")
    joined = region.book.phrase_list("list_joins")
    found: list[Region] = []
    begin = at = 0
    while at < len(norm):
        length = joined.length_at(norm, at)
        apart = region.rule.attribute == "allergy"  # nothing of it is done with another
        if length and any(
            _is_kept(norm, at, place, kept)
            for place in range(max(0, at - 3), at if apart else at + 1)
        ):
            length = 0
        if not length:
            at += 1
            continue
        short = (
            norm[at] in _CHINESE_JOINS
            and norm[at] != "、"
            and (at - begin < 1 or len(norm) - at - length < 1)
        )
        if short:
            at += 1
            continue
        if at > begin:
            found.append(region.part(begin, at))
        at += length
        begin = at
    if begin < len(norm):
        found.append(region.part(begin, len(norm)))
    found = [part for part in found if part.start < part.end]
    return found if _stands_alone_in_chinese(found, region.book) else [region]


def _is_kept(norm: list[str], at: int, place: int, kept: Phrases) -> bool:
    """Whether the conjunction at a place belongs to a word or phrase that begins at ``place``:
    和平, 和狗玩, but not 猫和狗."""
    length = kept.length_at(norm, place)
    whole = place == at and at > 0 and place + length == len(norm)
    return length > at - place and not whole


def _stands_alone_in_chinese(parts: list[Region], book: Rulebook) -> bool:
    """Not "画小狗和小猫" or "数学和科学的问题", where a verb or a noun belongs to both."""
    if len(parts) < 2:
        return True
    verbs = book.phrase_list("verbs")
    if "的" in parts[-1].norm[:-1] and not any("的" in part.norm for part in parts[:-1]):
        return False
    acting = [part.norm[0] in verbs and len(part.norm) > 1 for part in parts]
    return not acting[0] or len(parts[0].norm) < 3 or all(acting)

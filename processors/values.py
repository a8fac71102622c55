"""Captured words into values: trimmed, split where they are a list, checked, and normalised.

Each ``kind`` of value has one reader. A reader gives no value rather than a doubtful one; the
sentence is then kept as free text. Values stay the speaker's words; only clock times (HH:MM),
numbers and package names take a canonical form.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import msgspec

from memstream.processors.clauses import qualifier_at
from memstream.processors.clock_times import ClockTime, chinese_time, english_time
from memstream.processors.rules import CODE, REDACTED, Rule, Rulebook
from memstream.processors.words import Words


class Value(msgspec.Struct, frozen=True):
    """One value: its form in the slot, as it is spoken in a sentence, and its [start, end)."""

    value: str
    spoken: str
    start: int
    end: int
    qualifier: str = ""
    reason: str = ""


def read_values(
    text: str, words: Words, start: int, end: int, kind: str, rule: Rule, book: Rulebook
) -> list[Value]:
    """The values in words[start:end]; none where they are not what the kind asks for."""
    region = _Region(text, words, start, end, rule, book, whole=kind == "command")
    if kind.startswith("<"):
        return list(_listed(region, kind[1:-1]))
    return _READERS[kind](region)


class _Region:
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
        for at in range(start, end):
            gap = at > start and self.text[self.words.end[at - 1] : self.words.start[at]].strip()
            if gap:
                return at
            if at == start and norm[at] not in self.rule.stops:
                continue
            length = reasons.length_at(norm, at)
            if length and at + length < end:
                self.reason = self._slice(at, end)
                self.cut_by = norm[at]
                return at
            if norm[at] in self.rule.stops or stops.length_at(norm, at):
                self.cut_by = norm[at]
                return at
        return end

    def trim(self) -> None:
        """Drops determiners before, adverbs and punctuation after."""
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

    def part(self, start: int, end: int) -> _Region:
        """Words [start, end) of this region as a region of their own."""
        return _Region(
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


_PUNCTUATION = frozenset(",.;:!?-—–…，。；：！？、~～*\"“”()（）") | {"...", "--"}


def _things(region: _Region) -> list[Value]:
    """Noun or verb phrases: "green tea", "hiking in the hills", "爬山"."""
    if region.cut_by in _RELATIVE:
        return []
    parts = _parts(region) if region.rule.many else [region]
    found: list[Value] = []
    for part in parts:
        value = _thing(part)
        if value is None:
            return found if found and region.book.language == "en" else []
        found.append(value)
    return found


_RELATIVE = frozenset("who whom whose which that where when whether if how what why".split())
_LONGEST_THING = 9
_LONGEST_CHINESE_THING = 14


def _thing(region: _Region) -> Value | None:
    norm = region.norm
    if not norm or REDACTED in norm:
        return None
    if region.book.phrase_list("not_values").length_at(norm, 0):
        return None
    if region.book.language == "zh":
        if len(norm) > _LONGEST_CHINESE_THING:
            return None
        refused = region.book.phrase_list("not_in_values")
        if refused.anywhere(norm):
            return None
        return region.value(skip=_determiners(region))
    determiners = _determiners(region)
    if len(norm) > _LONGEST_THING or determiners >= len(norm):
        return None
    refused = region.book.phrase_list("not_in_values")
    if refused.anywhere(norm):
        return None
    if not any(character.isalnum() for character in "".join(norm)):
        return None
    if norm[-1] in region.book.phrase_list("dangling"):
        return None
    return region.value(skip=determiners)


def _determiners(region: _Region) -> int:
    count = 0
    determiners = region.book.phrase_list("determiners")
    while True:
        length = determiners.length_at(region.norm, count)
        named = region.book.language == "en" and _is_title(region, count)
        if not length or count + length >= len(region.norm) or named:
            return count
        count += length


def _is_title(region: _Region, at: int) -> bool:
    """ "The Hague": a capital after the first word of a sentence keeps its article."""
    return region.raw[at][:1].isupper() and len(region.raw[at]) > 1


def _parts(region: _Region) -> list[_Region]:
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
    found: list[_Region] = []
    begin = 0
    for at in [*cuts, end]:
        if at > begin:
            found.append(region.part(begin, at))
        begin = at + 1
    found = [part for part in found if part.start < part.end]
    return found if _stand_alone(found, region.book) else [region.part(0, end)]


def _joints(region: _Region) -> tuple[list[int], list[int]]:
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


def _stand_alone(parts: list[_Region], book: Rulebook) -> bool:
    """Whether the parts are items of their own: not "the sound and look of it", "action and
    horror movies" or "improving schools and roads", where a word belongs to several of them."""
    if not parts or parts[0].norm[0] == "the":
        return len(parts) > 1 and parts[1].norm[0] == "the"
    prepositions = book.phrase_list("prepositions")
    heads = book.phrase_list("shared_heads")
    for before, after in zip(parts, parts[1:], strict=False):
        acts = after.norm[0].endswith("ing") or after.norm[0] == "to"
        if acts:
            continue
        if before.norm[0].endswith("ing") and len(before.norm) > 1:
            return False
        if any(word in prepositions for word in before.norm):
            return False
    last = parts[-1].norm
    return not (len(last) > 1 and last[-1] in heads and len(parts[0].norm) == 1)


_CHINESE_JOINS = frozenset("、和跟与及")


def _chinese_parts(region: _Region) -> list[_Region]:
    norm = region.norm
    kept = region.book.phrase_list("binomials")
    joined = region.book.phrase_list("list_joins")
    found: list[_Region] = []
    begin = at = 0
    while at < len(norm):
        whole = max(
            (kept.length_at(norm, place) - (at - place) for place in range(max(0, at - 3), at + 1)),
            default=0,
        )
        length = joined.length_at(norm, at) if whole <= 0 else 0
        if not length:
            at += 1
            continue
        short = norm[at] in _CHINESE_JOINS and norm[at] != "、" and (
            at - begin < 1 or len(norm) - at - length < 1
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


def _stands_alone_in_chinese(parts: list[_Region], book: Rulebook) -> bool:
    """Not "画小狗和小猫" or "数学和科学的问题", where a verb or a noun belongs to both."""
    if len(parts) < 2:
        return True
    verbs = book.phrase_list("verbs")
    if "的" in parts[-1].norm[:-1] and not any("的" in part.norm for part in parts[:-1]):
        return False
    acting = [part.norm[0] in verbs and len(part.norm) > 1 for part in parts]
    return not acting[0] or len(parts[0].norm) < 3 or all(acting)


def _names(region: _Region) -> list[Value]:
    """A person's or a company's name: capitalised words, with "of" or "de" between them."""
    if region.book.language == "zh":
        return _chinese_name(region)
    parts = _parts(region) if region.rule.many else [region]
    found: list[Value] = []
    for part in parts:
        length = _capital_length(part, 0)
        if not length or part.book.phrase_list("not_names").length_at(part.norm, 0):
            return found
        found.append(part.part(0, length).value())
        if length < len(part.norm):
            return found
    return found


def _chinese_name(region: _Region) -> list[Value]:
    norm = region.norm
    refused = region.book.phrase_list("not_names")
    if not norm or refused.length_at(norm, 0):
        return []
    if norm[0].isascii():
        return [region.part(0, len(norm)).value()] if len(norm) <= 3 else []
    if not 1 < len(norm) <= 4 or refused.anywhere(norm):
        return []
    return [region.value()]


_INSIDE_NAMES = frozenset("of de van von der den la le el al & du da di do 's y".split())


def _capital_length(region: _Region, start: int) -> int:
    """How many words from ``start`` on make one capitalised name."""
    raw, norm = region.raw, region.norm
    at = start
    while at < len(raw):
        capital = raw[at][:1].isupper() or (at > start and raw[at][:1].isdigit())
        if capital and raw[at] != "I":
            at += 1
            continue
        inside = norm[at] in _INSIDE_NAMES and at > start and at + 1 < len(raw)
        if inside and (raw[at + 1][:1].isupper() or norm[at] == "'s"):
            at += 1
            continue
        if norm[at] == "'s" and at > start:
            at += 1
            continue
        break
    return at - start


def _places(region: _Region) -> list[Value]:
    """Where somebody lives or comes from."""
    norm, raw = region.norm, region.raw
    if not norm or REDACTED in norm or CODE in norm:
        return []
    if region.book.phrase_list("not_places").length_at(norm, 0):
        return []
    if region.book.language == "zh":
        value = _thing(region)
        return [value] if value is not None else []
    start = 0
    while start < len(norm) and norm[start] in region.book.phrase_list("place_modifiers"):
        start += 1
    length = _capital_length(region, start)
    if not length:
        known = region.book.phrase_list("places").length_at(norm, start)
        lower = all(not word[:1].isupper() for word in raw)
        if not known or not lower:
            return []
        length = known
    end = start + length
    if end + 1 < len(norm) and norm[end] == ",":
        more = _capital_length(region, end + 1)
        if more:
            end += 1 + more
    return [region.part(0, end).value(skip=1 if norm[0] == "the" else 0)]


def _employers(region: _Region) -> list[Value]:
    """A company by name, or a kind of work place ("a hospital")."""
    norm = region.norm
    if not norm or REDACTED in norm or CODE in norm:
        return []
    if region.book.phrase_list("not_employers").length_at(norm, 0):
        return []
    if region.book.language == "zh":
        value = _thing(region)
        return [value] if value is not None else []
    start = 1 if norm[0] in ("the", "a", "an") else 0
    length = _capital_length(region, start)
    if length:
        return [region.part(start, start + length).value()]
    if start == 0 and len(norm) > 1:
        return []
    if start == 0 and not region.raw[0].islower():
        return []
    value = _thing(region)
    return [value] if value is not None and len(norm) <= 6 else []


def _actions(region: _Region) -> list[Value]:
    """What somebody does or will do: the rest of the clause."""
    norm = region.norm
    longest = 30 if region.book.language == "zh" else 18
    if not norm or len(norm) > longest or REDACTED in norm:
        return []
    if region.book.phrase_list("not_actions").length_at(norm, 0):
        return []
    refused = region.book.phrase_list("not_in_actions")
    if norm[-1] in region.book.phrase_list("dangling"):
        return []
    if refused.anywhere(norm):
        return []
    return [region.value()]


def _jobs(region: _Region) -> list[Value]:
    """An occupation: its last word, or the word before "at" or "of", is a known one."""
    norm = region.norm
    jobs = region.book.phrase_list("jobs")
    if region.book.language == "zh":
        if len(norm) <= 12 and jobs.length_before(norm, len(norm)):
            return [region.value(skip=_determiners(region))]
        return []
    skip = _determiners(region)
    for at in range(min(len(norm), skip + 5), skip, -1):
        if not jobs.length_before(norm[:at], at):
            continue
        following = norm[at] if at < len(norm) else ""
        if following and following not in _AFTER_JOBS:
            return []
        found = region.part(0, at).value(skip=skip)
        begin = region.start - 1
        if begin >= 0 and region.words.norm[begin] in ("a", "an", "the"):
            article = region.words.raw[begin].lower()
            found = msgspec.structs.replace(found, spoken=f"{article} {found.spoken}")
        return [found]
    return []


_AFTER_JOBS = frozenset("at for in by with , and from on who working based here of".split())


def _codes(region: _Region) -> list[Value]:
    """Text between backticks."""
    if region.norm[:1] != [CODE]:
        return []
    inner = region.raw[0].strip("`").strip()
    if not inner or "[redacted:" in inner:
        return []
    return [msgspec.structs.replace(region.part(0, 1).value(inner), spoken=inner)]


def _commands(region: _Region) -> list[Value]:
    """A command: between backticks, or begun by a program that is known as one."""
    if region.norm[:1] == [CODE]:
        return _codes(region)
    if region.norm[:1] and region.norm[0] in region.book.phrase_list("programs"):
        stops = region.book.phrase_list("command_stops")
        end = 1
        while end < len(region.norm) and not stops.length_at(region.norm, end):
            end += 1
        return [region.part(0, end).value()] if end <= 8 else []
    return []


def _numbers(region: _Region) -> list[Value]:
    """A whole number, in digits."""
    if region.norm and re.fullmatch(r"\d{1,6}", region.norm[0]):
        return [region.part(0, 1).value()]
    return []


def _sentences(region: _Region) -> list[Value]:
    """The clause as it was said."""
    return [region.value()] if region.norm and REDACTED not in region.norm else []


def _times(region: _Region) -> list[Value]:
    """Clock times, each with what sets it apart ("at 6 on weekdays and at 10 on weekends")."""
    found: list[Value] = []
    evening = region.rule.attribute == "sleep_time"
    read: Callable[[list[str], int, bool], ClockTime | None]
    read = chinese_time if region.book.language == "zh" else english_time
    at = 0
    words = Words()
    for each in range(region.start, region.end):
        words.add(
            region.words.norm[each],
            region.words.raw[each],
            region.words.start[each],
            region.words.end[each],
        )
    while at < len(words):
        time = read(words.norm, at, evening)
        if time is None:
            if not found and words.norm[at] not in _BEFORE_TIMES:
                return []
            if found and words.norm[at] not in _BETWEEN_TIMES:
                break
            at += 1
            continue
        begin, at = at, at + time.words
        qualifier, length = qualifier_at(region.book, words, at)
        at += length
        part = region.part(begin, begin + time.words)
        value = part.value(time.value, qualifier=qualifier)
        found.append(msgspec.structs.replace(value, end=words.end[at - 1]))
    return found


_BEFORE_TIMES = frozenset("at by around about usually normally early late 在 大 约 差 不 多".split())
_BETWEEN_TIMES = frozenset("and at , but or around about by".split())


def _listed(region: _Region, name: str) -> Iterator[Value]:
    """Entries of a list of the rule file, each followed by nothing that changes its meaning."""
    entries = region.book.phrase_list(name)
    for part in _parts(region) if region.rule.many else [region]:
        norm = part.norm
        at = _determiners(part)
        while at < len(norm) and norm[at] in region.book.phrase_list("intensifiers"):
            at += 1
        length = entries.length_at(norm, at)
        if not length:
            return
        after = norm[at + length] if at + length < len(norm) else ""
        if after and region.book.language == "en" and after not in _AFTER_LISTED:
            return
        if after and region.book.language == "zh" and not region.book.phrase_list(
            "after_listed"
        ).length_at(norm, at + length):
            return
        yield part.part(at, at + length).value()


_AFTER_LISTED = frozenset(
    ", and or in at on for with to by from as since so because but of now who . ; ! - but".split()
)

def _habits(region: _Region) -> list[Value]:
    """A repeated action, begun by a verb that is known for habits: "run", "go to the gym"."""
    norm = region.norm
    verb = region.book.phrase_list("habit_verbs").length_at(norm, 0)
    refused = region.book.phrase_list("not_in_values")
    if not verb or len(norm) > 8 or refused.anywhere(norm):
        return []
    return [region.value()]


def _companies(region: _Region) -> list[Value]:
    """A capitalised name that is no place that is known as one."""
    if region.book.language == "zh":
        return _employers(region)
    length = _capital_length(region, 0)
    if not length or length < len(region.norm):
        return []
    if region.book.phrase_list("places").length_at(region.norm, 0) == length:
        return []
    return _names(region)


def _schools(region: _Region) -> list[Value]:
    """A school by name: it says so, or it is an acronym."""
    if region.book.language == "zh":
        named = "".join(region.norm).endswith(_CHINESE_SCHOOLS)
        return [region.value()] if named and len(region.norm) <= 14 else []
    start = 1 if region.norm[:1] == ["the"] else 0
    length = _capital_length(region, start)
    if not length:
        return []
    raw = region.raw[start : start + length]
    says_so = any(word.lower() in _SCHOOLS for word in raw)
    if not says_so and not (length == 1 and raw[0].isupper() and len(raw[0]) > 2):
        return []
    return [region.part(start, start + length).value()]


_CHINESE_SCHOOLS = ("大学", "学院", "中学", "高中", "小学", "学校", "北大", "清华", "复旦", "浙大", "交大", "一中")
_SCHOOLS = frozenset("university college school institute academy polytechnic tech".split())


def _versions(region: _Region) -> list[Value]:
    """A version: "3.12", "v18"."""
    if region.norm and re.fullmatch(r"v?\d+(?:\.\d+)*(?:\+|\.x)?", region.norm[0]):
        return [region.part(0, 1).value()]
    return []


def _branches(region: _Region) -> list[Value]:
    """A branch: between backticks, or one word that is usual for one."""
    if region.norm[:1] == [CODE]:
        return _codes(region)
    if region.norm and (region.norm[0] in _BRANCHES or "/" in region.norm[0]):
        return [region.part(0, 1).value()]
    return []


_BRANCHES = frozenset("main master develop dev trunk staging production release next".split())


def _paths(region: _Region) -> list[Value]:
    """A file or folder: between backticks, or a word with a slash in it."""
    if region.norm[:1] == [CODE]:
        return _codes(region)
    if region.norm and re.fullmatch(r"~?\.?/?(?:[\w.-]+/)+[\w.-]*", region.raw[0]):
        return [region.part(0, 1).value()]
    return []


def _shorts(region: _Region) -> list[Value]:
    """One to four words that name something."""
    refused = region.book.phrase_list("not_values")
    if not 0 < len(region.norm) <= 4 or refused.length_at(region.norm, 0):
        return []
    return [region.value(skip=_determiners(region))]


def _trades(region: _Region) -> list[Value]:
    """A few words with one of the trade among them: "commit messages"."""
    trade = region.book.phrase_list("convention_words")
    named = any(trade.length_at(region.norm, at) for at in range(len(region.norm)))
    return _shorts(region) if named else []


def _conventions(region: _Region) -> list[Value]:
    """A rule of work, recognised by a word of the trade in it."""
    trade = region.book.phrase_list("convention_words")
    norm = region.norm
    if len(norm) < 2 or len(norm) > 20 or REDACTED in norm:
        return []
    clause = region.words.norm[: region.end]
    if not any(trade.length_at(clause, at) for at in range(len(clause))):
        return []
    begin = region.words.start[0]
    finish = region.words.end[region.end - 1]
    said = region.text[begin:finish].strip(" ,.;!?，。；！")
    return [Value(said, said, begin, finish)]


_READERS: dict[str, Callable[[_Region], list[Value]]] = {
    "thing": _things,
    "name": _names,
    "place": _places,
    "employer": _employers,
    "job": _jobs,
    "action": _actions,
    "code": _codes,
    "command": _commands,
    "number": _numbers,
    "sentence": _sentences,
    "time": _times,
    "habit": _habits,
    "company": _companies,
    "school": _schools,
    "version": _versions,
    "branch": _branches,
    "path": _paths,
    "short": _shorts,
    "convention": _conventions,
    "trade": _trades,
}
VALUE_KINDS = frozenset(_READERS)
"""The kinds of value a rule may ask for, beside ``<list>``."""

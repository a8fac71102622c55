"""Captured words into values: trimmed, split where they are a list, checked, and normalised.

Each ``kind`` of value has one reader. A reader gives no value rather than a doubtful one; the
sentence is then kept as free text. Values stay the speaker's words; only clock times (HH:MM),
numbers and package names take a canonical form.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import msgspec

from memstream.processors import values_daily, values_project
from memstream.processors.clauses import qualifier_at
from memstream.processors.clock_times import ClockTime, chinese_time, english_time
from memstream.processors.dates_zh_words import number
from memstream.processors.regions import (
    Region,
    Value,
    alternates,
    capital_length,
    determiners,
    parts,
    time_of_day,
)
from memstream.processors.rule_files import Rule
from memstream.processors.rules import Rulebook
from memstream.processors.values_daily import AFTER_LISTED, is_of_it
from memstream.processors.words import CODE, REDACTED, Words, is_capital


def read_values(
    text: str, words: Words, start: int, end: int, kind: str, rule: Rule, book: Rulebook
) -> list[Value]:
    """The values in words[start:end]; none where they are not what the kind asks for."""
    region = Region(text, words, start, end, rule, book, whole=kind in ("command", "program"))
    if region.start >= region.end or region.tells_when():
        return []
    if kind.startswith("<"):
        return list(_listed(region, kind[1:-1]))
    if rule.many and kind in _ONE_BY_ONE:
        return _one_by_one(region, kind)
    return _READERS[kind](region)


_ONE_BY_ONE = frozenset(("place", "town", "employer", "job", "company", "firm"))
"""Kinds whose reader reads one value, so that a list is read item by item."""


def _one_by_one(region: Region, kind: str) -> list[Value]:
    """The values of "X and Y", in which every item looks like the first; else that of the whole."""
    reader = _READERS[kind]
    found: list[Value] = []
    items = alternates(region, commas=kind not in ("place", "town"))
    for item in items if len(items) > 1 else ():
        values = reader(item)
        alike = kind == "job" or _shape(item) == _shape(items[0])
        if not values or not alike:
            break
        found += values
    return found if len(found) > 1 else reader(region)


def _shape(region: Region) -> str:
    """How an item is written: as a name, with an article, or otherwise."""
    first = region.raw[0]
    if region.book.language == "zh":
        return "latin" if first.isascii() else "han"
    return "name" if is_capital(first) else "noun" if determiners(region) else "word"


def _things(region: Region) -> list[Value]:
    """Noun or verb phrases: "green tea", "hiking in the hills", "爬山"."""
    if region.cut_by in _RELATIVE or _goes_with_on(region):
        return []
    if region.rule.attribute == "likes" and _is_plain(region):
        region = region.part(0, time_of_day(region))
    found: list[Value] = []
    for part in parts(region) if region.rule.many else [region]:
        if region.rule.attribute == "allergy" and _is_jest(part):
            continue
        value = _thing(part)
        if value is None:
            return found if found and region.book.language == "en" else []
        found.append(value)
    return found


def _is_state(region: Region) -> bool:
    """Whether a detail is not told but how it is: "my phone is broken", "my team is moving"."""
    norm, states = region.norm, region.book.phrase_list("states")
    how = states.length_at(norm, 0)
    doing = norm[0].endswith("ing") and len(norm) > 1 and region.raw[0].islower()
    return doing or (how > 0 and (how == len(norm) or norm[how] in AFTER_LISTED))


def _is_jest(region: Region) -> bool:
    """Whether nobody is allergic to it but in jest: "I'm allergic to Mondays"."""
    length = region.book.phrase_list("not_allergens").length_at(region.norm, 0)
    return length == len(region.norm) > 0


def _goes_with_on(region: Region) -> bool:
    """Whether the first sign of a Chinese thing was read as the end of the verb: 爱上|海."""
    before = region.words.norm[region.start - 1] if region.start else ""
    return before == "上" and _GOES_WITH_ON.match("".join(region.norm)) is not None


_GOES_WITH_ON = re.compile("海(?![鲜边岛洋滩底浪带])|[班课网街]|学(?!习)")
_RELATIVE = frozenset("who whom whose which that where when whether if how what why".split())
_LONGEST_THING = 9
_LONGEST_CHINESE_THING = 14


def _is_plain(region: Region) -> bool:
    """Whether a time of day says when an English thing is liked, and does not belong to it:
    "driving at night" and "the city at night" are more than driving and the city."""
    first = region.norm[0]
    return region.book.language == "en" and first != "the" and not first.endswith("ing")


def _thing(region: Region) -> Value | None:
    norm = region.norm
    if not norm or REDACTED in norm:
        return None
    if region.book.phrase_list("not_values").length_at(norm, 0):
        return None
    if region.rule.attribute == "{topic}" and _is_state(region):
        return None
    if region.book.language == "zh":
        if len(norm) > _LONGEST_CHINESE_THING:
            return None
        refused = region.book.phrase_list("not_in_values")
        if refused.anywhere(norm):
            return None
        return region.value(skip=determiners(region))
    articles = determiners(region)
    if len(norm) > _LONGEST_THING or articles >= len(norm):
        return None
    refused = region.book.phrase_list("not_in_values")
    if refused.anywhere(norm):
        return None
    if not any(character.isalnum() for character in "".join(norm)):
        return None
    if norm[-1] in region.book.phrase_list("dangling") and not region.raw[-1].isupper():
        return None
    return region.value(skip=articles)


def _names(region: Region) -> list[Value]:
    """A person's or a company's name: capitalised words, with "of" or "de" between them."""
    if region.book.language == "zh":
        return _chinese_name(region)
    found: list[Value] = []
    for part in parts(region) if region.rule.many else [region]:
        length = capital_length(part, 0)
        if not length or part.book.phrase_list("not_names").length_at(part.norm, 0):
            return found
        found.append(part.part(0, length).value())
        if length < len(part.norm):
            return found
    return found


def _chinese_name(region: Region) -> list[Value]:
    norm = region.norm
    refused = region.book.phrase_list("not_names")
    if not norm or refused.length_at(norm, 0):
        return []
    if norm[0].isascii():
        return [region.part(0, len(norm)).value()] if len(norm) <= 3 else []
    if "".join(norm) in region.book.relations:
        return []
    if not 1 < len(norm) <= 4 or refused.anywhere(norm):
        return []
    if region.book.phrase_list("cries").length_at(norm, 0):
        return []
    return [region.value()]


def _places(region: Region) -> list[Value]:
    """Where somebody lives or comes from."""
    norm, raw = region.norm, region.raw
    if not norm or REDACTED in norm or CODE in norm:
        return []
    if region.book.phrase_list("not_places").length_at(norm, 0):
        return []
    if region.book.language == "zh":
        return _chinese_place(region)
    start = 0
    while start < len(norm) and norm[start] in region.book.phrase_list("place_modifiers"):
        start += 1
    length = capital_length(region, start)
    if not length:
        known = region.book.phrase_list("places").length_at(norm, start)
        lower = all(not word[:1].isupper() for word in raw)
        if not known or not lower:
            return []
        length = known
    end = start + length
    if norm[0] == "the" and norm[end : end + 1] and norm[end] in _TEAMS:
        return []
    places = region.book.phrase_list("places")
    if raw[end - 1].isdigit() and places.length_at(norm, start) == length - 1 > 0:
        end -= 1  # a number behind a city is no part of its name
    if end + 1 < len(norm) and norm[end] == ",":
        more = capital_length(region, end + 1)
        if more:
            end += 1 + more
    found = region.part(0, end).value(skip=1 if norm[0] == "the" else 0)
    return [msgspec.structs.replace(found, reason=region.reason)]


_TEAMS = frozenset(
    "team office branch group department division squad project unit desk store site".split()
)
"""What a place only names: who moved "to the Berlin team" moved no home."""


def _towns(region: Region) -> list[Value]:
    """A place that is known as one: who moved "from Roche to Lonza" moved no home."""
    found = _places(region)
    known = region.book.phrase_list("places")
    return found if found and known.anywhere(region.norm) else []


def _chinese_place(region: Region) -> list[Value]:
    """A place without how long ("东京三年" is Tokyo) and what it is to the speaker: 老家成都."""
    value = _thing(region)
    if value is None:
        return []
    place = _OLD_HOME.sub("", _HOME.sub("", _DURATION.sub("", value.value)))
    if _NOWHERE.fullmatch(place):
        return []
    return [msgspec.structs.replace(value, value=place, spoken=place)]


_HOME = re.compile(r"^(?:(?:了|到了?))?(?:老家|家乡|故乡|娘家|婆家)(?:的|在|（|\()?(?=.)")
_OLD_HOME = re.compile(r"(?<=[\u4e00-\u9fff]{2})(?:的)?(?:老家|乡下老家|家里|家中)$")
_NOWHERE = re.compile(
    r"(?:老家|家乡|故乡|娘家|婆家)?(?:去|来)?(?:住|定居|生活|附近|那边|这边|那里|这里|发展|工作)?"
)
"""What names no place, behind words for home or alone: 搬回老家住."""
_DURATION = re.compile(
    r"(?:快|已经|有)?[一二三四五六七八九十两几半多\d]+(?:多|来)?(?:年|个月|天|个星期|周)(?:多|半)?$"
)


def _employers(region: Region) -> list[Value]:
    """A company by name, or a kind of work place ("a hospital")."""
    norm = region.norm
    if not norm or REDACTED in norm or CODE in norm:
        return []
    if region.book.phrase_list("not_employers").length_at(norm, 0):
        return []
    if region.book.language == "zh":
        return _chinese_employer(region)
    start = 1 if norm[0] in ("the", "a", "an") else 0
    named = next((at for at, word in enumerate(norm) if word in ("called", "named")), 0)
    if named and named + 1 < len(norm):
        start = named + 1
    length = capital_length(region, start)
    if length:
        end = start + length
        owner = norm.index("'s", start, end) if "'s" in norm[start:end] else 0
        if owner > start and norm[end : end + 1] and norm[end] in _TEAMS:
            end = owner  # "Google's London office"
        return [region.part(start, end).value()]
    if start == 0 and len(norm) > 1:
        return []
    if start == 0 and not region.raw[0].islower():
        return []
    last = time_of_day(region)
    when = next((at for at in range(start + 1, last) if norm[at] in _AT_TIMES), last)
    value = _thing(region.part(0, when))
    return [value] if value is not None and when <= 6 else []


_AT_TIMES = frozenset(("on", "every", "during"))
"""Words behind a kind of work place that tell when: "a bakery on Saturdays"."""


def _chinese_employer(region: Region) -> list[Value]:
    """What stands between 在 and 工作, but for a place that tells nothing of the employer (家,
    电脑上) and for what is being done: 在找工作."""
    norm, book = region.norm, region.book
    said = "".join(norm)
    if said.endswith(_NEARBY):
        return []
    beside = _BESIDE.match(said)  # 公司对面的银行
    if beside is not None:
        return _chinese_employer(region.part(len(_han(norm, beside.end())), len(norm)))
    whole = any(book.phrase_list(each).length_at(norm, 0) == len(norm) for each in _NO_WORKPLACES)
    acts = book.phrase_list("doings").length_at(norm, 0) > 0
    acts = acts and not book.phrase_list("not_doings").length_at(norm, 0)
    whose = book.phrase_list("jobs").length_at(norm, 0) == len(norm)  # 我是老师的学生
    value = None if whole or acts or whose or norm[-1] == "上" else _thing(region)
    return [] if value is None else [value]


def _han(norm: list[str], characters: int) -> list[str]:
    """The first words, that have so many characters together."""
    at = count = 0
    while count < characters:
        count += len(norm[at])
        at += 1
    return norm[:at]


_NEARBY = ("旁边", "附近", "对面", "隔壁", "楼下", "楼上", "门口", "边上", "周边", "那边", "一带")
_BESIDE = re.compile("[^的]{1,8}(?:旁边|附近|对面|隔壁|楼下|楼上|门口|边上)的(?=.)")
_NO_WORKPLACES = ("places", "not_workplaces")


def _actions(region: Region) -> list[Value]:
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
    titled = region.book.language == "en" and region.raw[0][:1].isupper()
    if refused.anywhere(norm) or (titled and not region.raw[0].isupper()):
        return []
    return [region.value()]


def _jobs(region: Region) -> list[Value]:
    """An occupation: its last word, or the word before "at" or "of", is a known one."""
    norm = region.norm
    jobs = region.book.phrase_list("jobs")
    if region.book.language == "zh":
        if (
            norm[0] in _ASPECTS_ZH
            or len(norm) > 12
            or not jobs.length_before(norm, len(norm))
            or _is_past_job(region)
        ):
            return []
        found = region.value(skip=determiners(region))
        return [msgspec.structs.replace(found, spoken=found.value)]
    skip = determiners(region)
    if _is_past_job(region):
        return []
    for at in range(min(len(norm), skip + 5), skip, -1):
        if not jobs.length_before(norm[:at], at):
            continue
        following = norm[at] if at < len(norm) else ""
        if following and following not in _AFTER_JOBS:
            return []
        if following == "by" and norm[at + 1 : at + 2] in _LEARNT:
            return []
        if norm[at - 1] in _LEADS:
            at = _field_end(norm, at)
        if norm[at - 1] == "head" or (norm[at - 1] == "resident" and _is_of_a_place(region, at)):
            return []
        found = region.part(0, at).value(skip=skip)
        begin = region.start - 1
        if begin >= 0 and region.words.norm[begin] in ("a", "an", "the"):
            article = region.words.raw[begin].lower()
            found = msgspec.structs.replace(found, spoken=f"{article} {found.spoken}")
        return [found]
    return []


def _is_of_a_place(region: Region, at: int) -> bool:
    """ "a Boston resident" lives there; "a surgical resident" is a doctor."""
    before = region.words.raw[region.start + at - 2]
    return at > 1 and before[:1].isupper() and not before.isupper()


def _is_past_job(region: Region) -> bool:
    """ "retired doctor", "former teacher", 退休教师: what somebody was, or is not yet."""
    past = region.book.phrase_list("past_jobs")
    if region.book.language == "zh":
        norm = region.norm[determiners(region) :]
        at_front = norm[:1] == ["前"] and norm[1:2] not in (["端"], ["台"], ["厅"])
        return at_front or past.length_at(norm, 0) > 0
    return past.anywhere(region.norm)


def _field_end(norm: list[str], at: int) -> int:
    """Where "of marketing" ends after "head"; ``at`` itself where no such words follow."""
    if norm[at : at + 1] != ["of"]:
        return at
    end = at + 1
    while end < len(norm) and end < at + 4 and norm[end] not in _AFTER_FIELDS:
        end += 1
    return end if end > at + 1 else at


_ASPECTS_ZH = frozenset("了过着")
_LEARNT = (["training"], ["education"], ["degree"])
"""By what somebody is what he may never have worked as."""
_LEADS = frozenset("head director vp professor chief".split())
_AFTER_FIELDS = frozenset("at for in by with , who working here there".split())
_AFTER_JOBS = frozenset("at for in by with , and from on who working based here there of".split())


def _numbers(region: Region) -> list[Value]:
    """A whole number, in digits."""
    if region.norm and re.fullmatch(r"\d{1,6}", region.norm[0]):
        return [region.part(0, 1).value()]
    said = "".join(region.norm)
    if region.book.language == "zh" and re.fullmatch("[一二两三四五六七八九十百零]{1,5}", said):
        return [region.value(str(int(number(said))))]
    return []


def _sentences(region: Region) -> list[Value]:
    """The clause as it was said."""
    return [region.value()] if region.norm and REDACTED not in region.norm else []


def _times(region: Region) -> list[Value]:
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


_BEFORE_TIMES = frozenset(
    "at by around about usually normally early late 在 大 约 差 不 多 每 天".split()
)
_BETWEEN_TIMES = frozenset("and at , but or around about by".split())


def _listed(region: Region, name: str) -> Iterator[Value]:
    """Entries of a list of the rule file, each followed by nothing that changes its meaning."""
    entries = region.book.phrase_list(name)
    for part in parts(region) if region.rule.many else [region]:
        norm = part.norm
        length = entries.length_at(norm, 0)
        at = 0 if not _JOINED.isdisjoint(norm[:length]) else determiners(part)
        while at < len(norm) and norm[at] in region.book.phrase_list("intensifiers"):
            at += 1
        length = entries.length_at(norm, at)
        if not length:
            return
        after = norm[at + length] if at + length < len(norm) else ""
        if (
            after
            and region.book.language == "en"
            and after not in AFTER_LISTED
            and not region.book.phrase_list("how_well").length_at(norm, at + length)
        ):
            return
        if (
            after
            and region.book.language == "zh"
            and not region.book.phrase_list("after_listed").length_at(norm, at + length)
            and not (name == "children" and after in _AFTER_CHILDREN)
        ):
            return
        if name == "condition" and is_of_it(norm[at + length :]):
            return
        yield part.part(at, at + length).value()


_AFTER_CHILDREN = frozenset("在都正一")
_JOINED = frozenset(("and", "和"))
"""What joins an entry that is a list by itself: "a son and a daughter"."""


def _cars(region: Region) -> list[Value]:
    """A car by a make that is known, with its model where that is named: "Toyota Corolla"."""
    norm, book = region.norm, region.book
    make = book.phrase_list("car_make").length_at(norm, 0)
    if not make:
        return []
    if book.language == "zh":
        return [region.value()] if len(norm) <= _LONGEST_CAR else []
    length = make
    while length < len(norm) and (
        is_capital(region.raw[length]) or region.raw[length][:1].isdigit()
    ):
        length += 1
    ends = length == len(norm) or norm[length] in AFTER_LISTED
    given = norm[length : length + 1] == ["for"] and norm[length + 1 : length + 2] in _OTHERS
    return [region.part(0, length).value()] if ends and not given else []


_OTHERS = (["my"], ["our"], ["his"], ["her"], ["their"])
"""For whom a car may be that somebody bought: "for my son"."""

_LONGEST_CAR = 10


def _companies(region: Region) -> list[Value]:
    """A capitalised name that is no place that is known as one."""
    if region.book.language == "zh":
        return _employers(region)
    length = capital_length(region, 0)
    if not length or length < len(region.norm):
        return []
    if region.book.phrase_list("places").length_at(region.norm, 0) == length:
        return []
    return _names(region)


def _firms(region: Region) -> list[Value]:
    """A company that is joined and left, and nothing of which one is only a member."""
    if region.book.phrase_list("not_firms").anywhere(region.norm):
        return []
    return _companies(region)


def _schools(region: Region) -> list[Value]:
    """A school by name: it says so, or it is an acronym."""
    if region.book.language == "zh":
        named = "".join(region.norm).endswith(_CHINESE_SCHOOLS)
        return [region.value()] if named and len(region.norm) <= 14 else []
    start = 1 if region.norm[:1] == ["the"] else 0
    length = capital_length(region, start)
    if not length:
        return []
    raw = region.raw[start : start + length]
    says_so = any(word.lower() in _SCHOOLS or word.endswith(_CHINESE_SCHOOLS) for word in raw)
    if not says_so and not (length == 1 and raw[0].isupper() and len(raw[0]) > 2):
        return []
    return [region.part(start, start + length).value()]


_CHINESE_SCHOOLS = tuple("大学 学院 中学 高中 小学 学校 北大 清华 复旦 浙大 交大 一中".split())
_SCHOOLS = frozenset("university college school institute academy polytechnic tech".split())


_READERS: dict[str, Callable[[Region], list[Value]]] = {
    "thing": _things,
    "name": _names,
    "place": _places,
    "town": _towns,
    "employer": _employers,
    "job": _jobs,
    "action": _actions,
    "code": values_project.codes,
    "command": values_project.commands,
    "program": values_project.programs,
    "number": _numbers,
    "sentence": _sentences,
    "time": _times,
    "habit": values_daily.habits,
    "former_habit": values_daily.former_habits,
    "company": _companies,
    "firm": _firms,
    "pet": values_daily.pets,
    "car": _cars,
    "school": _schools,
    "version": values_project.versions,
    "branch": values_project.branches,
    "path": values_project.paths,
    "short": values_project.shorts,
    "convention": values_project.conventions,
    "trade": values_project.trades,
}
VALUE_KINDS = frozenset(_READERS)
"""The kinds of value a rule may ask for, beside ``<list>``."""

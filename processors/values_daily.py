"""Values of daily life: what somebody does again and again, and the animals that live with them.

And what may follow a listed value, which animals are too.
"""

from __future__ import annotations

import msgspec

from memstream.processors.regions import Region, Value, determiners, parts

AFTER_LISTED = frozenset(
    ", and or in at on for with to by from as since so because but of now who . ; ! -"
    " named called except unless".split()
)
_OF_A_CONDITION = ("毛病", "老毛病", "问题", "症状", "病史", "困扰", "情况", "病", "倾向")


def is_of_it(after: list[str]) -> bool:
    """Whether a Chinese value only tells what something else is of: 一只猫的玩具."""
    said = "".join(after[1:]).lstrip("。！，!,了呢啊吧")
    return after[:1] == ["的"] and said != "" and not said.startswith(_OF_A_CONDITION)


def habits(region: Region) -> list[Value]:
    """A repeated action, begun by a verb that is known for habits: "run", "go to the gym"."""
    norm = region.norm
    verbs = region.book.phrase_list("habit_verbs")
    verb = verbs.length_at(norm, 0)
    if not verb and norm[0] in _GO_ZH:  # 去东湖钓鱼
        verb = max(verbs.length_at(norm, at) for at in range(1, min(7, len(norm) + 1)))
    refused = region.book.phrase_list("not_in_values")
    idle = region.book.phrase_list("not_habits").length_at(norm, 0)
    to_do = norm[0] in ("have", "has") and "to" in norm[2:]  # "have two dogs to walk"
    if region.cut_by in _BUTS or norm[-1] in _BUTS:  # "run but not every day"
        return []
    if not verb or idle or to_do or len(norm) > 8 or refused.anywhere(norm):
        return []
    return [region.value()]


_BUTS = frozenset(("but", "except", "not", "besides"))
_GO_ZH = ("去", "到")


def former_habits(region: Region) -> list[Value]:
    """The same, said of what has ended: "running", "going to the gym"."""
    verbs = region.book.phrase_list("habit_verbs")
    stem = region.norm[0].removesuffix("ing")
    if stem == region.norm[0] or len(stem) < 2 or len(region.norm) > 8:
        return []
    doubled = [stem[:-1]] if stem[-1] == stem[-2] else []
    for verb in (stem, f"{stem}e", *doubled):
        refused = region.book.phrase_list("not_in_values").anywhere(region.norm)
        if verbs.length_at([verb, *region.norm[1:]], 0) and not refused:
            said = region.value()
            value = verb + said.value[len(region.raw[0]) :]
            return [msgspec.structs.replace(said, value=value, spoken=value)]
    return []


def pets(region: Region) -> list[Value]:
    """Animals, each with an article or a number: "a dog and two old cats". An item that is none is
    passed over: "a son and a dog"."""
    found = [_pet(item) for item in parts(region)]
    return [value for value in found if value is not None]


def _pet(item: Region) -> Value | None:
    """One animal by its name in the list, several with their number and all that describes them."""
    book, norm = item.book, item.norm
    begin = determiners(item) or int(norm[0] in ("one", "another"))
    at = begin + book.phrase_list("pet_counts").length_at(norm, begin)
    several = at > begin or book.phrase_list("pets").length_at(norm, at) > 0
    length = 0
    for _ in range(_MOST_ADJECTIVES):
        length = max(book.phrase_list(each).length_at(norm, at) for each in ("pet", "pets"))
        described = 0 if length else book.phrase_list("pet_adjectives").length_at(norm, at)
        if not described:
            break
        at += described
    before = item.words.norm[item.start - 1] if item.start else ""
    counted = begin or several or before in ("a", "an")
    if not length or (book.language == "en" and not counted):
        return None
    after = norm[at + length : at + length + 1]
    if book.language == "en":
        ends = not after or after[0] in AFTER_LISTED
    else:
        ends = not after or book.phrase_list("after_listed").length_at(norm, at + length) > 0
        ends = ends and not is_of_it(norm[at + length :])
    if not ends:
        return None
    return item.part(begin if several else at, at + length).value()


_MOST_ADJECTIVES = 4

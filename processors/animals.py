"""Animals of the speaker that no rule of one clause tells: the others of a list with their names,
and those that died or were given away.

"I have two cats, Miso and Tofu, and a parrot called Rio" names three; "我家有一只狗，叫旺财" one,
and not two.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from memstream.processors.facts import IF_KNOWN, Fact
from memstream.processors.rule_files import Rule
from memstream.processors.rules import Rulebook, spoken


class Animal(msgspec.Struct, frozen=True, gc=False):
    """One animal of a sentence. ``name`` is empty where it has none; ``start`` and ``end`` are
    where the sentence tells of it."""

    species: str
    name: str
    start: int
    end: int


class Animals:
    """Finds animals in the sentences of one language."""

    def __init__(self, book: Rulebook) -> None:
        self._chinese = book.language == "zh"
        self._not_names = frozenset(each.lower() for each in book.grammar("not_names"))
        known = {each for each, attribute in book.relations.items() if attribute == "pet"}
        kinds = sorted(known | {*book.lists.get("pet", ())}, key=lambda each: (-len(each), each))
        self._singular = {
            plural: one
            for one in kinds
            for plural in (one, f"{one}s", f"{one[:-1]}ies")
            if plural == one or plural in book.lists.get("pets", ())
        }
        one = _any(kinds)
        several = _any(sorted(self._singular, key=lambda each: (-len(each), each)))
        counts = _any(sorted(book.lists.get("pet_counts", ()), key=lambda each: -len(each)))
        cars = _any(sorted(book.lists.get("car_make", ()), key=lambda each: -len(each)))
        forms = _CHINESE if self._chinese else _ENGLISH
        called, calls, self._unnamed, self._group, *parted = (
            re.compile(
                form.replace("ONE", one)
                .replace("SEVERAL", several)
                .replace("COUNT", counts)
                .replace("CARS", cars)
            )
            for form in forms
        )
        self._named = (called, calls)
        another = _ANOTHER_ZH if self._chinese else _ANOTHER_EN
        self._of_another = re.compile(another.replace("ONE", one))
        self._parted = parted
        self._others = _OTHERS_ZH if self._chinese else _OTHERS_EN

    def more(self, text: str, start: int, *, named: bool) -> Iterator[Animal]:
        """The animals from a place of a sentence on, up to where it tells of somebody else's.
        ``named``: the first one had a name, so that one without a name is another."""
        other = self._others.search(text, start)
        end = len(text) if other is None else other.start()
        for form in self._named:
            for match in form.finditer(text, start, end):
                shared = self._chinese and text[match.start() - 1] in "和跟与、"
                unclear = shared and ("，" in match.group() or "," in match.group())
                if not unclear and self._is_name(match["name"]):
                    yield Animal(
                        match["species"].lower(), match["name"], match.start(), match.end()
                    )
        for match in self._group.finditer(text, start, end):
            species = self._singular[match["species"].lower()]
            for each in re.finditer(r"[^\s,，、和跟与]+", match["names"]):
                if each.group() != "and" and self._is_name(each.group()):
                    yield Animal(species, each.group(), match.start(), match.end())
        for match in self._unnamed.finditer(text, start, end) if named else ():
            yield Animal(match["species"].lower(), "", match.start(), match.end())

    def parted(self, text: str) -> list[tuple[str, int, int]]:
        """The animals that the speaker has no more, by kind or name, and where that is said."""
        if not self._may_part(text) or text.endswith(("?", "？")):
            return []
        for form in self._parted:
            match = form.match(text)
            if match is not None:
                told = {
                    name.removeprefix("its_"): said
                    for name, said in match.groupdict().items()
                    if said
                }
                said = [told[each] for each in ("name", "alone") if each in told]
                said = [each for each in said if self._is_name(each)]
                if "species" in told:
                    said.insert(0, told["species"].lower())
                return [(each, match.start(), match.end()) for each in said]
        return []

    def _may_part(self, text: str) -> bool:
        if self._chinese:
            return any(sign in text for sign in _SIGNS_ZH)
        return not _SIGNS_EN.isdisjoint(spoken(text))

    def of_a_kind(self, found: Sequence[Fact]) -> list[Fact]:
        """The denials that reach the animals of a kind by their names: who says that the dog died,
        or that there is none, has no Rex any more."""
        denied = [each for each in found if each.negative and each.attribute == "pet"]
        kinds = [each for each in denied if self.is_kind(each.value)]
        if len(denied) > len(kinds):  # "my dog Rex died" says nothing of another dog
            return []
        return [
            msgspec.structs.replace(each, value="", qualifier=self._singular[each.value.lower()])
            for each in kinds
        ]

    def mended(self, text: str, speaker: str, text_named: str) -> list[Fact]:
        """What says of an animal by its name that it is of another kind: "Rex isn't a corgi, he's
        a husky". It counts where such an animal is known."""
        match = (
            self._of_another.match(text)
            if "not" in text or "n’t" in text or "n't" in text or "不是" in text
            else None
        )
        if match is None or not self._is_name(match["name"]):
            return []
        rule = Rule(id=f"pet.kind_mended{IF_KNOWN}", say=(), text=text_named)
        right = Fact(
            rule=rule, attribute="pet", value=match["name"], spoken=match["name"],
            species=match["right"].lower(), subject=speaker, start=match.start(), end=match.end(),
        )  # fmt: skip
        wrong = msgspec.structs.replace(
            right, species=match["wrong"].lower(), negative=True, withdraws=True
        )
        return [wrong, right]

    def is_kind(self, value: str) -> bool:
        """Whether a value is a kind of animal, and no name of one."""
        return value.lower() in self._singular

    def _is_name(self, name: str) -> bool:
        return name.lower() not in self._not_names


def _any(words: list[str]) -> str:
    return "|".join(map(re.escape, words)) or "(?!)"


_NAME = r"[A-Z][\w’'-]*"
_MINE = (
    rf"(?:(?:my|our) (?:[a-z-]+ ){{0,2}}?(?P<species>ONE)(?: (?P<name>{_NAME}))?"
    rf"|(?P<alone>{_NAME}))"
)
_TAIL = (
    r"(?: (?:peacefully|suddenly|recently|sadly|unexpectedly|yesterday|today|again"
    r"|(?:of|from) (?:old age|cancer)|(?:last|this) \w+|at (?:the|an?) (?:vet|shelter)"
    r"|(?:an?|one|two|three|four|five|several|\d+|a few|a couple of)"
    r" (?:day|week|month|year)s? ago"
    r"|(?:on|in|back in) (?:early |late )?(?:[A-Z]\w+|\d{4})))*"
    r"(?=[.,;!]|$| (?:and|but|so|because) )"
)
"""What may follow the end of an animal's story: nothing but when, and of what."""
_ENGLISH = (
    r"\b(?:an?|my|our|another|one) (?:[a-z-]+ ){0,2}?(?P<species>ONE)"
    rf"(?:(?:,? (?:named|called)|,) (?P<name>{_NAME}))"
    r"(?=[,.;!]|$| and (?:an?|two|three|one|another) )",
    "(?!)",
    r"(?:,| and|, and) (?:an?|another|one) (?:[a-z-]+ ){0,2}?(?P<species>ONE)(?=[,.;!]|$| and )",
    r"\b(?:COUNT) (?:[a-z-]+ ){0,2}?(?P<species>SEVERAL)(?:,? (?:named|called)|[,:]| [(–—-])"
    rf" ?(?P<names>{_NAME}(?:, {_NAME})*,? and {_NAME})(?=[,.;!)]|$| and )",
    r"^(?:(?:[A-Za-z]+ly|So|Well|And|But|Oh|Yesterday|Today|Last \w+)[, ]+)*"
    rf"(?:(?:[Mm]y|[Oo]ur) (?:[a-z-]+ ){{0,2}}?(?P<species>ONE)(?:,? (?P<name>{_NAME}),?)?"
    rf"|(?P<alone>{_NAME}))(?: (?:has|have|had|just|sadly|recently|unfortunately))*"
    r" (?:died|passed away|was put (?:down|to sleep)|ran away|crossed the rainbow bridge)"
    rf"{_TAIL}",
    r"^(?:(?:[A-Za-z]+ly|So|Well|And|But|Oh|Yesterday|Today|Last \w+)[, ]+)*(?:I|[Ww]e)"
    r"(?:['’]ve)?(?: (?:have|had|just|sadly|recently|to))*"
    rf" (?:(?:sold|sell|rehomed|rehome|lost|(?:gave|given|give|put) (?:away|up|down)) {_MINE}"
    r"(?=[.,;!]|$| (?:to|last|yesterday|because|this|after|two) )"
    rf"|(?:gave|given|give|put) {_MINE.replace('P<', 'P<its_')}"
    r" (?:away|up|down|to sleep"
    r"|to (?:an?|my|our|the|some)(?! (?:vet|groom|sitter|kennel))(?: \w+){1,2}?)"
    rf"{_TAIL})",
)
_THINGS = (
    r"(?:[^，,。！!\s的]{0,2}(?:[架盆粮窝屋房牌绳车包具饰垫碗砂桶鞍甲毛画票]|笼子?|衣服?|玩偶|用品|照片?"
    r"|杯子?|装备|零食|罐头))(?=送|卖)"
)
"""What names a thing of an animal and no animal: 猫粮, 狗屋."""
_CHINESE = (
    r"一?[只条匹个头](?P<species>ONE)[，,]?(?:[它他她]的?)?(?:名字)?(?:就?叫|名叫|取名叫?|起名叫?)"
    r"(?P<name>[^，,。！!？?\s的得了和、]{1,6})(?=[，,。！!]|$)",
    r"[，,、和跟与有]一?[只条匹个头](?:名叫|叫做|叫)(?P<name>[^，,。的和、]{1,8})的(?P<species>ONE)",
    r"(?:还有|以及|[和跟，,、])+(?:养了|有)?一?[只条匹个头](?P<species>ONE)(?=[，,。！!]|$)",
    r"(?:COUNT)(?P<species>SEVERAL)[，,]?(?:名字)?(?:分别)?(?:叫|名叫|取名)"
    r"(?P<names>[^，,。！!？?\s的得了和跟与、]{1,6}(?:[和跟与、][^，,。！!？?\s的得了和跟与、]{1,6})+)(?=[，,。！!]|$)",
    r"^(?:我们?家?的?(?P<species>ONE)(?P<name>(?!上|昨|前|今|刚|去|已|在|不)[^，,。！!\s的]{1,4}?)?"
    r"|(?P<alone>(?!我|他|她|你)[^，,。！!\s的]{1,4}?))"
    r"(?:(?:在|于)?(?:上个?|前|昨|今|去|刚|这|本)[^，,。！!\s]{0,5}?)?(?:已经|刚刚?|突然|不幸)?"
    r"(?:去世|过世|离世|死|病死|老死|走丢|跑丢|去汪星|去喵星)了(?=[，,。！!]|$)",
    r"^我们?(?:(?:上个?|前|昨|今|去|刚)[^，,。！!\s]{0,5}?)?(?:已经|刚刚?)?把(?:我们?)?家?里?的?"
    rf"(?:那[只条])?(?!CARS)(?:(?P<species>ONE)(?!{_THINGS})"
    r"(?P<name>[^，,。！!\s的]{1,4}?)?|(?P<alone>[^，,。！!\s的我]{1,4}?))"
    r"(?:(?:送人|送走|卖)了|(?:送给|卖给)[^，,。！!\s]{1,8}了|送给了[^，,。！!\s]{1,8})(?=[，,。！!]|$)",
)
_ANOTHER_EN = (
    rf"(?:[A-Za-z]+,? )?(?P<name>{_NAME})(?: is not|['’]s not| isn['’]t)(?: actually| really)? an? "
    r"(?P<wrong>ONE)(?:[,;.] (?:he|she|it)(?:['’]s| is)(?: actually| really)?| but) an? "
    r"(?P<right>ONE)[.!]*$"
)
_ANOTHER_ZH = (
    r"(?:其实|对了|说错了|更正一下|我?记错了)?[，,]?(?:我家)?(?P<name>[^，,。！!\s的是不我他她它这那]{1,4}?)"
    r"(?:其实|并)?不是一?[只条]?(?P<wrong>ONE)[，,](?:它|他|她|而|其实|应该)*是一?[只条]?"
    r"(?P<right>ONE)[。！!]*$"
)
_OTHERS_EN = re.compile(
    r"\b(?:my (?:wife|husband|partner|sister|brother|mother|father|mom|mum|dad|parents|friend)"
    r"|his|her|their|your|he|she|they|you|friend|has|wish|want|would|used|had)\b"
)
_OTHERS_ZH = re.compile(r"[他她你]|朋友|邻居|同事|想|没")
_SIGNS_EN = frozenset(
    "died passed put ran crossed gave give given sold sell rehomed rehome lost".split()
)
_SIGNS_ZH = ("世了", "死了", "丢了", "星了", "送", "卖")

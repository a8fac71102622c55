"""Names that follow an introduction: "I have a dog. His name is Rex."

The name belongs to what the sentences just before brought in. Such a pair is read as the one
sentence that says both, so the rules decide what it means.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from memstream.processors.names import is_name_like
from memstream.processors.rules import Rulebook

REACH = 2
"""Sentences back in which what has the name may be introduced."""


class Naming(msgspec.Struct, frozen=True, gc=False):
    """Names that a sentence gives, the pronoun that stands for who has them (empty for none), and
    what it says of them after that; or the ``relation`` it calls who has them by ("the dog")."""

    names: tuple[str, ...]
    who: str
    rest: str
    relation: str = ""


class Introductions:
    """Finds introductions and the names that follow them, in one language."""

    def __init__(self, book: Rulebook) -> None:
        self._book = book
        self._chinese = book.language == "zh"
        self._attributes = book.relations
        relations = "|".join(map(re.escape, sorted(book.relations, key=len, reverse=True)))
        bound = "" if self._chinese else r"\b"
        plural = "" if self._chinese else "s?"
        self._relation = re.compile(rf"{bound}({relations}){plural}{bound}", re.IGNORECASE)
        self._called = re.compile(
            rf"(?:那[只条个]|这[只条个])?({relations})的?(?:名字)?(?:就?叫|是叫)(?P<name>[^，,。！!？?\s个得了]{{1,8}})[。！!]*$"
            if self._chinese
            else rf"[Tt]he ({relations})(?:['’]s name)?(?: is|['’]s)(?: called| named)? "
            r"(?P<name>[A-Z][\w'’-]*)[.!]*$"
        )
        self._own_name = re.compile(
            rf"\b({relations})(?:,? (?:called|named)| is (?:called|named)|,)? [A-Z][\w’'-]*"
        )
        self._told = _TOLD_ZH if self._chinese else _TOLD_EN
        self._other = _NOBODY if self._chinese else _OTHER_NAME
        women, men = (frozenset(book.grammar(each)) for each in ("feminine", "masculine"))
        self._unfit: dict[str, frozenset[str]] = {
            **dict.fromkeys(_MASCULINE, women),
            **dict.fromkeys(_FEMININE, men),
        }
        self._naming = _NAMING_ZH if self._chinese else _NAMING_EN
        beings = "|".join(
            re.escape(each)
            for each in sorted(book.relations, key=len, reverse=True)
            if not self._chinese or self._attributes[each] != "pet"
        )
        self._turned = [
            re.compile(form.replace("RELATION", relations).replace("BEING", beings))
            for form in (_TURNED_ZH if self._chinese else _TURNED_EN)
        ]
        if self._chinese:
            self._had = re.compile(
                rf"^我们?(?:家里?)?(?!的?(?:{relations}))[^，,。？?想要没不打算如若希望]{{0,6}}?"
                r"(?:有|养|领养|收养|买|捡)(?:了|着|过)?"
                rf"[^，,。？?]{{0,8}}?(?P<relation>{relations})(?:了|啦|呢)?(?:[，,。！!~～]|$)"
            )
            self._mine = re.compile(
                rf"^我们?(?:家里?)?的?(?P<relation>{relations})(?!.*[有养]了?[一两])"
            )
        else:
            self._had = re.compile(
                r"^(?:(?:so|and|well|yes|oh|hi|hey|actually|also)[, ]+)*(?:I|we)(?:['’]ve)?\s+"
                r"(?:(?:just|also|recently|have|got|own|adopted|bought|rescued|keep)\s+){1,3}"
                r"(?:a|an|one|two|three|four|another)\s+(?:[\w-]+\s+){0,2}?"
                rf"(?P<relation>{relations})s?\b(?!['’])",
                re.IGNORECASE,
            )
            self._mine = re.compile(
                rf"^(?:my|our)\s+(?:[\w-]+\s+){{0,2}}?(?P<relation>{relations})\b(?!['’])"
                r"(?!.*\b(?:has|have|got)\s+(?:a|an|one|two|three)\b)",
                re.IGNORECASE,
            )

    def turned_round(self, text: str) -> str | None:
        """The sentence that names first whom it is about: "My wife is called Anna." for "Anna is my
        wife.", 我的哥哥叫李雷 for 我有一个哥哥叫李雷, or that says one by one what is said in a row
        ("I'm Jake, 29, from Denver"); None for other texts."""
        row = self._in_a_row(text)
        if row is not None:
            return row
        if not self._chinese and " my " not in text and " our " not in text:
            return None
        for form in self._turned:
            match = form.match(text)
            if match is None:
                continue
            said = match.groupdict()
            if "favourite" in said:
                return self._favourite(said)
            relation, name, rest = said["relation"].lower(), said["name"], said["rest"]
            if self._chinese:
                return f"我的{relation}叫{name}{rest}"
            described = f"{said['described'] or ''}{relation}"
            return f"My {described} is called {name}{rest}" if self._is_one(name) else None
        return None

    def _in_a_row(self, text: str) -> str | None:
        """What somebody says of himself without saying "I" each time."""
        if self._chinese:
            ill = _ILL_ZH.match(text)
            listed = self._book.phrase_list("condition")
            known = ill is not None and listed.length_at(list(ill["what"]), 0) == len(ill["what"])
            return f"我有{ill['what']}，我{ill['rest']}" if ill is not None and known else None
        match = _ROW_EN.match(text) if "," in text and text[:1] in "HhIi" else None
        if match is None:
            return None
        name, rest = match["name"].title(), match["rest"] or match["what"]
        article = "a " if match["what"] else ""
        more = f", I'm {article}{rest[0].lower()}{rest[1:]}" if rest else ""
        age = match["age"] or match["years"]
        told = f"My name is {name}, I'm {age} years old{more}"
        return told if self._is_one(name) else None

    def _is_one(self, name: str) -> bool:
        return is_name_like(name, self._book)

    def _favourite(self, said: dict[str, str]) -> str:
        if self._chinese:
            return f"我{said['favourite']}是{said['value']}{said['rest']}"
        return f"My {said['favourite']} is {said['value']}{said['rest']}"

    def naming(self, text: str) -> Naming | None:
        """What a sentence names that is not named in it; None where it names nothing."""
        match = self._naming.match(text)
        if match is None:
            told = self._called.match(text)
            if told is None or not self._may_name(text[: told.start("name")], told["name"]):
                return None
            return Naming((told["name"],), "", "", told[1].lower())
        names = tuple(re.split(r" and |, |[、和]", match["name"]))
        rest = match["rest"] or ""
        if rest and not self._chinese and match["verb"]:
            rest = f"is {rest}"
        return Naming(names, (match["who"] or "").lower(), rest)

    def _may_name(self, said: str, name: str) -> bool:
        """Whether "the dog is Rex" names it: "the dog is Hungry" does not."""
        outright = self._chinese or said.rstrip().endswith(("called", "named", "name is"))
        return outright or is_name_like(name, self._book)

    def relations(self, before: Sequence[str], naming: Naming) -> tuple[str, ...]:
        """Relations to the speaker of what the sentences before introduced, one for each name;
        empty where they introduced nothing, or where another one may be meant: "I have a dog. My
        friend has a cat. His name is Rex."."""
        count = len(naming.names)
        if naming.relation:
            known = any(
                self._had.match(text) and naming.relation in self._beings(text, "")
                for text in before[-REACH:]
            )
            return (naming.relation,) if known else ()
        near = [each for each in before[-REACH:] if not each.endswith(("?", "？"))]
        mentioned = [self._beings(text, naming.who) for text in near]
        for text, beings in zip(reversed(near), reversed(mentioned), strict=True):
            if not beings:
                continue
            alone = {each for others in mentioned for each in others} == set(beings)
            introduced = self._had.match(text) or (alone and self._mine.match(text))
            if introduced and len(beings) == 1:
                return beings * count
            return beings if introduced and len(beings) == count and self._alike(beings) else ()
        return ()

    def told_of(self, text: str, before: Sequence[str]) -> str | None:
        """A sentence about him or her with whom the sentences before introduced in place of the
        pronoun; None where they introduced nobody, or another may be meant."""
        match = self._told.match(text)
        if match is None:
            return None
        naming = Naming(("",), match["who"].lower(), "")
        turned = [self.turned_round(each) or each for each in before[-REACH:]]
        before = [_NAME_IS.sub(" is called", each) for each in turned]
        relation = "".join(self.relations(before, naming))
        named = any(self._other.search(self._own_name.sub(r"\1", each)) for each in before)
        several = (
            relation in ("parents", "children")
            or relation.removesuffix("s") in self._attributes.keys() - {relation}
            or any(f"{relation}s" in each.lower() for each in before)
        )
        if not relation or named or several:
            return None
        rest = f"is {match['rest']}" if match["is"] else match["rest"]
        return self.continued(relation, rest)

    def told_within(self, text: str) -> tuple[str, str] | None:
        """ "My sister lives in Ghent" and "My sister is a nurse" for "My sister lives in Ghent and
        she's a nurse"; None for other texts."""
        if self._chinese or (" she" not in text and " he" not in text):
            return None
        match = _TOLD_WITHIN.match(text)
        if match is None:
            return None
        first = _IS_NAME.sub(r"\1 is called ", match["first"])
        told = self.told_of(f"{match['who'].capitalize()}{match['rest']}", [first])
        return None if told is None else (match["first"], told)

    def _alike(self, beings: Sequence[str]) -> bool:
        """Whether all are pets, or all children: then their names come in the same order."""
        return len({self._attributes[each] for each in beings}) == 1

    def _beings(self, text: str, pronoun: str) -> tuple[str, ...]:
        """The people and animals a sentence mentions that the pronoun may stand for."""
        unfit = self._unfit.get(pronoun, frozenset())
        things = pronoun in _THINGS
        return tuple(
            each
            for each in dict.fromkeys(found.lower() for found in self._relation.findall(text))
            if each not in unfit and (not things or self._attributes[each] == "pet")
        )

    def readings(self, relation: str, name: str, *, one: bool) -> tuple[str, ...]:
        """The sentences that say both, the fullest first. ``one``: only one has that relation."""
        if self._chinese:
            plain = f"我的{relation}叫{name}。"
            return (f"我养了一只叫{name}的{relation}。", plain) if one else (plain,)
        article = "an" if relation[0] in "aeiou" else "a"
        plain = f"My {relation} is called {name}."
        return (f"I have {article} {relation} named {name}.", plain) if one else (plain,)

    def continued(self, relation: str, rest: str) -> str:
        """The sentence that says what follows the name: "and he lives in Paris"."""
        if self._chinese:
            return f"我的{relation}{rest.lstrip('它他她们还也，, ')}"
        return f"My {relation} {rest}"


_TOLD_WITHIN = re.compile(
    r"(?P<first>(?:[Mm]y|[Oo]ur|I|[Ww]e)\b[^.;:!?]+?),? (?:and|but) (?P<who>she|he)"
    r"(?P<rest>['’]s .+| .+)$"
)
_IS_NAME = re.compile(r"^((?:[Mm]y|[Oo]ur) (?:[a-z-]+ ){0,2}?[a-z-]+) is (?=[A-Z][\w’'-]*$)")
_ROW_EN = re.compile(
    r"(?:(?:hi|hello|hey)(?: there| all| everyone)?[,!.]? )?i(?:['’]?m| am) "
    r"(?P<name>[a-z]+(?: [A-Z][a-z]+)?)(?:,? (?:and i(?:['’]m|m| am) )?(?P<age>[1-9]\d)"
    r"(?: ?(?:years old|yrs old|yrs|yo|y/o))?"
    r"(?:(?:,| and|,? an?(?= ))? (?P<rest>(?:from|living in|based in|working|an? ).+)|[.!]*$)"
    r"|, an? (?P<years>[1-9]\d)[ -]years?[ -]old (?P<what>[a-z].+))",
    re.IGNORECASE,
)
_ILL_ZH = re.compile(
    r"(?:我?(?:有|得了|患有))?(?P<what>[^，,。！!？?我]{2,8})[，,](?P<rest>(?:每天|天天|每晚|每早|一直|常年|长期)"
    r"(?:都|要|都要|得|早上|晚上)?(?:在)?(?:吃|服|打|用)[^？?吗呢]+)$"
)
_NAME_IS = re.compile("['’]s name is")
_TURNED_EN = (
    r"(?P<name>[A-Z][\w’'-]*(?: [A-Z][\w’'-]*)?)(?: is|['’]s) (?:my|our) "
    r"(?P<described>(?:older |younger |little |big |best |twin |new |dear )?)"
    r"(?P<relation>RELATION)(?P<rest>[.!]*$|, .*| and .*)",
    r"(?P<value>(?!(?:That|This|It|What|He|She|Which)\b)[^,.;:!?]{1,40}) (?:is|are) my "
    r"(?P<favourite>favou?rite (?!of|to)[a-z ]{2,20}?)(?P<rest>[.!]*)$",
)
_TURNED_ZH = (
    r"我们?家?有[一]?[个位名](?P<relation>BEING)[，,]?(?:名字)?(?:名叫|叫做|叫)"
    r"(?P<name>[^，,。！!？?\s的得了吗]{1,6})(?P<rest>$|[，,。！!].*)",
    r"(?P<name>(?![我你他她它这那谁不])[^，,。！!？?\s的得了吗是]{1,4})(?:就)?是我们?家?的?"
    r"(?P<relation>RELATION)(?P<rest>$|[，,。！!].*)",
    r"(?P<value>(?![我你他她它这那谁不什])[^，,。！!？?；;是]{1,14})(?:就)?是我(?P<favourite>最[喜爱][欢爱]?(?:吃|喝|看|听)?的"
    r"[^，,。！!？?的]{1,5})(?P<rest>[。！!]*)$",
)
_THINGS = frozenset(("it", "its", "它", "它们"))
_MASCULINE = ("he", "his", "him", "他")
_FEMININE = ("she", "her", "她")
_TOLD_EN = re.compile(r"(?P<who>[Hh]e|[Ss]he)(?P<is>['’]s)? (?P<rest>.+)$")
_TOLD_ZH = re.compile(r"(?P<who>[他她])(?P<is>(?!))?(?P<rest>[^的们].*)$")
_OTHER_NAME = re.compile(
    r"(?<!^)(?<!\bin )(?<!\bat )(?<!\bto )(?<!\bfrom )(?<!\bfor )\b(?!I\b)[A-Z][a-z]+"
)
"""A name that may be another person's: no place or company, and not the first word."""
_NOBODY = re.compile("(?!)")
_NAMING_EN = re.compile(
    r"(?:(?:And|and|Oh|oh|So|so)[, ]+)?"
    r"(?:(?P<who>[Hh]is|[Hh]er|[Ii]ts|[Tt]heir|[Tt]he|[Hh]e|[Ss]he|[Ii]t|[Tt]hey|I|[Ww]e)?"
    r"(?:(?:['’]s|['’]re| is| are) (?:called|named)| ?[Nn]ames?(?:['’]s| is| are)"
    r"| (?:named|call|called) (?:him|her|it|them)) )"
    r"(?P<name>[A-Z][\w'’-]*(?:(?: and |, )[A-Z][\w'’-]*)*)"
    r"(?:(?:(?:,? and|,? but|[,;—–-])? (?:he|she|it|they)(?P<verb>['’]s|['’]re)?|,? and(?= [a-z]))"
    r" (?P<rest>.+?))?[.!]*$"
)
_NAMING_ZH = re.compile(
    r"(?P<who>[它他她]们?)?(?:的?(?:名字|大名|小名)(?:就?是|就?叫)|就?名?叫(?:做|作)?|取名叫?|起名叫?)"
    r"(?P<name>[^，,。！!？?；;：:\s的得了吗呢个什么我你]{1,12})(?:[，,](?P<rest>[^？?]+?))?[。！!~～]*$"
)

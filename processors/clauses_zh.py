"""Chinese sentences into clauses (see ``clauses``)."""

from __future__ import annotations

import re
from itertools import pairwise

from memstream.processors.aspects import is_only_wish, is_wish
from memstream.processors.clauses import (
    Clause,
    Dated,
    Speaker,
    copied,
    qualifier_at,
    skip,
)
from memstream.processors.rules import Rulebook
from memstream.processors.words import Words


def chinese_clauses(
    words: Words, dated: Dated, quoted: frozenset[int], book: Rulebook, speaker: Speaker
) -> list[Clause]:
    """The clauses of one sentence, in order; those that assert nothing are not ``alive``."""
    found = _split(words, dated, book)
    _guard(found, words, book)
    before: Clause | None = None
    introduced: str | None = None
    inside = {words.start[index] for index in quoted}
    taken = {words.start[index] for index in dated.taken}
    for clause in found:
        own = _find_subject(clause, before, taken, inside, book, speaker)
        said = "".join(clause.spoken.norm)
        if clause.subject != "none" and is_wish(said):
            clause.alive = False
            if before is not None and is_only_wish(said):
                before.alive = False
        if not own and introduced is not None:
            _name_what_was_introduced(clause, introduced, book, speaker)
        if own or _introduces(clause):
            introduced = _introduced(clause, book) if _introduces(clause) else None
        if clause.subject != "none":
            before = clause
    return found


_ENDS = frozenset("，,；;：:。！？!?…—（）()~～")


def _split(words: Words, dated: Dated, book: Rulebook) -> list[Clause]:
    joins = book.phrase_list("clause_joins")
    spared = book.phrase_list("not_joins")
    found = [Clause()]
    skipped = 0
    for index, word in enumerate(words.norm):
        clause = found[-1]
        if index in dated.by_word:
            clause.dates.append(dated.by_word[index])
        if skipped:
            skipped -= 1
            continue
        if index in dated.taken:
            clause.add(words, index)
            continue
        length = 0 if spared.length_at(words.norm, index) else joins.length_at(words.norm, index)
        if word in _ENDS or length:
            lead = "".join(words.norm[index : index + max(1, length)])
            skipped = max(0, length - 1)
            if len(clause.spoken):
                clause.ended_by = lead
                found.append(Clause(lead))
            else:
                clause.lead = lead
        else:
            clause.add(words, index)
    kept = [clause for clause in found if len(clause.spoken)]
    for dateless, clause in pairwise(found):
        if not len(dateless.spoken) and dateless.dates:
            clause.dates = [*dateless.dates, *clause.dates]
    return kept


def _guard(found: list[Clause], words: Words, book: Rulebook) -> None:
    """Marks what asserts nothing. A guard word silences its own clause and the rest."""
    silencing = [book.phrase_list(name) for name in ("conditions", "reports", "doubts", "orders")]
    corrections = book.phrase_list("corrections")
    headings = book.phrase_list("headings")
    asks = book.phrase_list("questions")
    tags = book.phrase_list("question_tags")
    silenced = _USER_STORY.match("".join(words.norm[:9])) is not None
    previous: Clause | None = None
    for clause in found:
        norm = clause.spoken.norm
        clause.filler = _is_filler(clause.spoken, book)
        clause.correction = corrections.anywhere(norm)
        if clause.lead in ("：", ":") and not (
            previous is None
            or previous.filler
            or previous.correction
            or headings.length_at(previous.spoken.norm, 0) == len(previous.spoken)
            or skip(book, "openers", previous.spoken, 0) == len(previous.spoken)
        ):
            silenced = True
        said = [*clause.lead, *norm]
        if any(phrases.anywhere(said) for phrases in silencing):
            silenced = True
        clause.alive = not silenced
        if asks.anywhere(norm) and asks.anywhere(list(_ASKS_NOT.sub("", "".join(norm)))):
            clause.alive = False
        previous = clause
    if words.norm[-1:] and words.norm[-1] in "？?":
        found[-1].alive = False
    last = found[-1].spoken.norm
    if tags.length_at(last, 0) and tags.length_at(last, 0) >= len(last) - 1:
        for clause in found:
            clause.alive = False


_USER_STORY = re.compile(
    r"作为(?:一个|一名|一位)?(?:普通|新|匿名|登录|注册)?(?:用户|管理员|访客|游客|顾客|超级管理员|客户)"
)
"""What opens a user story, which is no statement of whoever writes it."""


def _is_filler(words: Words, book: Rulebook) -> bool:
    at = 0
    while at < len(words):
        after = skip(book, "small_talk", words, skip(book, "openers", words, at))
        if after == at:
            return False
        at = after
    return True


def _find_subject(
    clause: Clause,
    before: Clause | None,
    taken: set[int],
    inside: set[int],
    book: Rulebook,
    speaker: Speaker,
) -> bool:
    """Reads who the clause is about; whether it names its own subject."""
    spoken = copied(
        clause.spoken,
        [
            at
            for at in range(len(clause.spoken))
            if clause.spoken.start[at] not in taken and clause.spoken.norm[at] not in '“”"「」'
        ],
    )
    start = _after_openers(clause, spoken, 0, book)
    if start >= len(spoken):
        return False
    if spoken.start[start] in inside:
        clause.alive = False
        return False
    length = _subject_at(clause, spoken, start, book, speaker)
    if not length and before is not None:
        clause.subject, clause.who = before.subject, before.who
    _read_predicate(clause, spoken, start + length, book)
    return length > 0


_INTRODUCES = re.compile(
    r"^(?!是)(?:.*[一两二三四五几][个只条位匹头名家款部本间辆].|.*[有养][了着]?[个只条位匹头名家].|.*养[了着]?.)"
)
_NAMES = re.compile(
    r"^(?P<pronoun>[它他她]?)的?(?:(?:大|小|全)?名字?(?:就?是|就?叫)|姓名(?:是|叫)|名?叫|[取起]名)(?!我)"
)


def _introduces(clause: Clause) -> bool:
    """Whether the clause brings in an animal, a person or a thing: 养了一条狗, 有个弟弟."""
    return _INTRODUCES.match("".join(clause.words.norm)) is not None


def _introduced(clause: Clause, book: Rulebook) -> str:
    """The relation to the speaker of what a clause brings in; empty where it is none, or where
    it brings in several ("一只狗和一只猫")."""
    if clause.subject == "other":
        return ""
    said = "".join(clause.words.norm).rstrip("了呢啦啊呀")
    if any(each in said for each in "和跟与、"):
        return ""
    return max((each for each in book.relations if said.endswith(each)), key=len, default="")


def _name_what_was_introduced(
    clause: Clause, relation: str, book: Rulebook, speaker: Speaker
) -> None:
    """A name after an introduction is the name of what was introduced, never the speaker's."""
    match = _NAMES.match("".join(clause.words.norm))
    if match is None:
        return
    clause.subject, clause.who = "none", ""
    if relation:
        clause.subject, clause.who = "other", speaker.relative(relation, "zh")
        clause.relation = relation
        clause.words = copied(clause.words, range(len(match["pronoun"]), len(clause.words)))


def _after_openers(clause: Clause, spoken: Words, start: int, book: Rulebook) -> int:
    while start < len(spoken):
        qualifier, length = qualifier_at(book, spoken, start)
        if length:
            clause.qualifier, clause.sometimes = clause.qualifier or qualifier, True
            start += length
            continue
        after = skip(book, "openers", spoken, start)
        if after == start:
            break
        start = after
    return start


def _subject_at(clause: Clause, spoken: Words, start: int, book: Rulebook, speaker: Speaker) -> int:
    norm = spoken.norm
    for pronoun in ("我们", "咱们", "咱", "我", "本人", "俺"):
        size = len(pronoun)
        if "".join(norm[start : start + size]) != pronoun:
            continue
        own = start + size
        possessive = norm[own : own + 1] == ["的"]
        at = own + possessive
        size_of_relation = _relation_length(norm, at, book)
        if not size_of_relation and norm[at : at + 1] == ["家"]:  # 我家猫, 我家的猫
            at += 1 + (norm[at + 1 : at + 2] == ["的"])
            size_of_relation = _relation_length(norm, at, book)
        if size_of_relation:
            relation = "".join(norm[at : at + size_of_relation])
            clause.subject, clause.who = "other", speaker.relative(relation, "zh")
            clause.relation = relation
            at += size_of_relation
            if not possessive and at < len(norm):
                who, clause.who = clause.who, ""
                at += _name_at(clause, spoken, at, book)
                clause.name, clause.who = clause.who, who
            return at - start
        clause.subject = "we" if pronoun.startswith(("我们", "咱")) else "self"
        clause.who = speaker.name
        return size + _family(norm[start + size :])
    return _name_at(clause, spoken, start, book)


def _family(norm: list[str]) -> int:
    """How many characters name the family as a whole before it moves: 我们家搬到杭州."""
    match = _FAMILY.match("".join(norm[:5]))
    return 0 if match is None else len(match.group())


_FAMILY = re.compile("(?:家|全家|一家人?|家人)(?=[搬迁])")


def _relation_length(norm: list[str], at: int, book: Rulebook) -> int:
    for size in (4, 3, 2, 1):
        if "".join(norm[at : at + size]) in book.relations and len(norm) > at + size:
            return size
    return 0


def _name_at(clause: Clause, spoken: Words, start: int, book: Rulebook) -> int:
    """A name before one of the verbs that statements about others use: 小明, 李雷, Tom."""
    verbs = book.phrase_list("name_verbs")
    norm, raw = spoken.norm, spoken.raw
    latin = raw[start].isascii() and raw[start][:1].isupper() and raw[start].isalpha()
    sizes = (1,) if latin else (2, 3)
    for size in sizes:
        after = skip(book, "adverbs", spoken, start + size)
        if after >= len(norm) or not verbs.length_at(norm, after):
            continue
        name = "".join(raw[start : start + size])
        surname = norm[start] in book.phrase_list("surnames") or norm[start] in "小老阿"
        related = bool(clause.relation) and _tells_of_one(name, "".join(norm[after:]), book)
        if latin or ((surname or related) and name not in book.lists.get("not_names", ())):
            clause.subject, clause.who = "other", name
            return size
    return 0


def _tells_of_one(name: str, said: str, book: Rulebook) -> bool:
    """Whether what stands between a relation and a verb is a name: 我朋友大伟住在珀斯."""
    adverb = book.phrase_list("adverbs").anywhere(list(name))
    return not adverb and said.startswith(_OF_ONE) and _NO_NAME.search(name) is None


_OF_ONE = ("住在", "搬到", "搬去", "来自", "加入", "入职", "就职于", "毕业于", "养了", "的生日")
_NO_NAME = re.compile(
    "[和跟与不没都也还就才又很更最一现已常正在到过的了是他她我们前今昨明去早刚家人俩独自单同共暂久长期临全因随突忽曾将会要想能该应先再起来]"
)


def _read_predicate(clause: Clause, spoken: Words, start: int, book: Rulebook) -> None:
    """What is said of the subject, without adverbs and negation."""
    norm = spoken.norm
    former = book.phrase_list("formerly")
    negations = book.phrase_list("negations")
    adverbs = book.phrase_list("adverbs")
    spared = book.phrase_list("not_adverbs")
    at, count = start, len(spoken)
    while at < count:
        length = former.length_at(norm, at)
        if length:
            clause.former = True
            at += length
            continue
        qualifier, length = qualifier_at(book, spoken, at)
        if length:
            clause.qualifier, clause.sometimes = clause.qualifier or qualifier, True
            at += length
            continue
        if spared.length_at(norm, at):
            break
        length = adverbs.length_at(norm, at)
        if length:
            at += length
            continue
        length = 0 if clause.negated else negations.length_at(norm, at)
        if length and clause.subject != "none":
            clause.negated = True
            at += length - (norm[at + length - 1] == "是")
            continue
        break
    clause.words = copied(spoken, range(at, count))
    if clause.negated and _NOT_YET.search("".join(norm[start:at])):  # it may come
        clause.alive = False


_ASKS_NOT = re.compile("[不没]怎么(?=[喜爱吃喝])|什么(?=.{0,4}[都也][不没])")
"""Words that ask elsewhere: 不怎么喜欢, 什么宠物都不养."""
_NOT_YET = re.compile("还[没不未]|暂时[没不]|暂不|尚未")

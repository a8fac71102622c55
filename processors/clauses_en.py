"""English sentences into clauses (see ``clauses``)."""

from __future__ import annotations

from itertools import pairwise

from memstream.processors.clauses import (
    Clause,
    Dated,
    Speaker,
    copied,
    qualifier_at,
    skip,
    without,
)
from memstream.processors.rules import PARENTS, Rulebook
from memstream.processors.words import Words, is_capital


def english_clauses(
    words: Words, dated: Dated, quoted: frozenset[int], book: Rulebook, speaker: Speaker
) -> list[Clause]:
    """The clauses of one sentence, in order; those that assert nothing are not ``alive``."""
    found = _split(words, dated, quoted, book)
    _carry_dates(found, words, dated, book)
    _guard(found, words, dated, book)
    before: Clause | None = None
    for clause in found:
        _find_subject(clause, before, dated, quoted, book, speaker, words)
        before = clause
    return found


def _split(words: Words, dated: Dated, quoted: frozenset[int], book: Rulebook) -> list[Clause]:
    norm = words.norm
    always = book.phrase_list("clause_always")
    joins = book.phrase_list("clause_joins")
    comma_joins = book.phrase_list("clause_after_comma")
    openers = book.phrase_list("openers")
    questions = book.phrase_list("questions")
    asks = "?" in norm[-3:]
    found = [Clause()]
    spared = 0
    for index, word in enumerate(norm):
        clause = found[-1]
        if not len(clause.spoken):
            spared = max(spared, index + openers.length_at(norm, index))
        if index in dated.by_word:
            clause.dates.append(dated.by_word[index])
        if index in dated.taken:
            clause.add(words, index)
            continue
        following = index + 1
        if index < spared:
            starts = False
        elif word in _ENDS and index not in quoted and not _is_joined(words, index):
            if word == ":" and norm[index - 1 : index] in (["are"], ["is"], ["include"]):
                continue
            starts = True
        elif word == ",":
            after = norm[following] if following < len(norm) else ""
            starts = (
                after in comma_joins
                or _starts_clause(words, _after_dates(words, following, dated, book), book)
                or (len(clause.spoken) == 1 and clause.spoken.raw[0][:1].isupper())
                or (asks and bool(questions.length_at(norm, following)))
                or book.phrase_list("project_openings").length_at(norm, following) > 0
                or (after in _ORDERS and clause.spoken.norm[:1] not in _PURPOSES)
                or _ends_in_filler(words, following, book)
                or _is_filler(clause.spoken, book)
            )
        elif word in always and (len(clause.spoken) or clause.lead):
            starts = True
        elif word in joins:
            begin = _after_dates(words, following, dated, book)
            starts = _starts_clause(words, begin, book, joined=begin == following)
        else:
            starts = False
        if starts:
            if len(clause.spoken):
                clause.ended_by = word
                found.append(Clause(word))
            elif word not in _ENDS or not clause.lead:
                clause.lead = word
        else:
            clause.add(words, index)
    return [clause for clause in found if len(clause.spoken)]


def _carry_dates(found: list[Clause], words: Words, dated: Dated, book: Rulebook) -> None:
    """Gives a date that stands alone before a comma to the clause behind it: "In May, I moved"."""
    taken = {words.start[index] for index in dated.taken}
    for clause, following in pairwise(found):
        spoken = without(clause.spoken, taken)
        alone = clause.dates and skip(book, "openers", spoken, 0) == len(spoken)
        if alone and following.lead == ",":
            following.dates[:0] = clause.dates
            clause.dates = []
            clause.only_dates = True


_ENDS = frozenset(
    (";", ":", "—", "–", "--", "...", "…", "(", ")", "!", "?", ".", "*", "~", "-", "•")
)
_ORDERS = frozenset(("use", "run"))
_PURPOSES = (["to"], ["for"], ["always"])
"""What an order ends that only its comma parts from what it is for: "To test, run X"."""
_LOOSE = frozenset(("-", "–", "--", ".", "*", "~", "•"))


def _is_joined(words: Words, index: int) -> bool:
    """Whether a sign belongs to the word right after it: "-x", ".env"."""
    if words.norm[index] not in _LOOSE or index + 1 >= len(words):
        return False
    return words.start[index + 1] == words.end[index]


_SUBJECTS = frozenset(
    "i we my our he she they it you your his her their its there this these those".split()
)
_GOES_ON = frozenset(("and", "or", ",", "&", "."))


def _starts_clause(words: Words, index: int, book: Rulebook, *, joined: bool = False) -> bool:
    """Whether a clause begins at a word: at a subject, or at the verb of one that is left out."""
    index = skip(book, "adverbs", words, index)
    if index >= len(words):
        return False
    word = words.norm[index]
    if word in _SUBJECTS:
        return True
    if index + 1 < len(words) and words.norm[index + 1] in _GOES_ON:
        return False
    if word in book.heads and word not in _BOUND_ONLY:
        following = book.heads[word]
        if following is None:
            return joined
        if book.heads[word] is not None:
            return index + 1 < len(words) and words.norm[index + 1] in following
    if joined and word in ("do", "does", "don't") and index + 1 < len(words):
        return words.norm[index + 1] == "not"
    named = words.raw[index][:1].isupper() and words.norm[index] != "i"
    if named and index + 1 < len(words):
        return words.norm[index + 1] in book.phrase_list("name_verbs")
    return False


def _after_dates(words: Words, index: int, dated: Dated, book: Rulebook) -> int:
    """Where the clause goes on whose first words say when: "in summer I live there"."""
    while index < len(words):
        length = 1 if index in dated.taken else qualifier_at(book, words, index)[1]
        if not length:
            break
        index += length
    return index


_BOUND_ONLY = frozenset(("'s", "been"))


def _is_filler(words: Words, book: Rulebook) -> bool:
    index = skip(book, "small_talk", words, 0)
    while index < len(words):
        after = skip(book, "openers", words, index)
        after = skip(book, "small_talk", words, after)
        if after == index:
            if words.norm[index].isalnum():
                return False
            after = index + 1
        index = after
    return True


def _ends_in_filler(words: Words, start: int, book: Rulebook) -> bool:
    """Whether nothing but filler follows: "..., please remember that"."""
    if not book.phrase_list("small_talk").length_at(words.norm, start):
        return False
    return _is_filler(copied(words, range(start, len(words))), book)


def _guard(found: list[Clause], words: Words, dated: Dated, book: Rulebook) -> None:
    """Marks what asserts nothing. A guard word silences its own clause and the rest."""
    conditions = book.phrase_list("conditions")
    reports = book.phrase_list("reports")
    orders = book.phrase_list("orders")
    doubts = book.phrase_list("doubts")
    openers = book.phrase_list("openers")
    silenced = _is_user_story(words)
    previous: Clause | None = None
    taken = {words.start[index] for index in dated.taken}
    for clause in found:
        spoken = without(clause.spoken, taken)
        start = skip(book, "openers", spoken, 0)
        first = spoken.norm[start] if start < len(spoken) else ""
        clause.filler = clause.only_dates or _is_filler(spoken, book)
        clause.correction = book.phrase_list("corrections").anywhere(spoken.norm)
        if clause.lead == ":" and not (
            previous is None
            or previous.filler
            or previous.correction
            or start >= len(spoken)
            or openers.length_at(previous.spoken.norm, 0) == len(previous.spoken)
            or skip(book, "openers", previous.spoken, 0) == len(previous.spoken)
        ):
            silenced = True
        if clause.lead in conditions or first in conditions:
            silenced = True
        if orders.length_at(spoken.norm, start) or reports.holds_any(spoken.norm[start:]):
            silenced = True
        dead = silenced or clause.lead in _SUBORDINATE or first in _SUBORDINATE
        if clause.lead == "that" and previous is not None:
            remembered = skip(book, "openers", previous.spoken, 0) == len(previous.spoken)
            dead = silenced or not remembered
        if doubts.anywhere(spoken.norm):
            dead = True
            silenced = True
        if silenced and clause.lead == "but" and first not in conditions:
            silenced = False
        clause.alive = not dead
        previous = clause
    if words.norm[-1:] == ["?"] or "?" in words.norm[-3:]:
        _silence_question(found, book)


def _is_user_story(words: Words) -> bool:
    """ "As a user, I live in Berlin so that ...": that is no statement of whoever writes it. What
    stands behind "as a" is then nobody's trade, or the sentence goes on with "so that"."""
    if words.norm[:1] != ["as"] or words.norm[1:2] not in (["a"], ["an"]):
        return False
    if any(pair == ("so", "that") for pair in pairwise(words.norm)):
        return True
    role = words.norm[2:5]
    end = role.index(",") if "," in role else role.index("i") if "i" in role else len(role)
    return not _NO_TRADES.isdisjoint(role[:end])


_NO_TRADES = frozenset(
    "user admin administrator customer visitor guest stakeholder superuser buyer shopper subscriber"
    " persona end-user moderator".split()
)
_SUBORDINATE = frozenset(
    "when whenever where which who whom whose until before after while than like that as how what "
    "why or".split()
)


def _silence_question(found: list[Clause], book: Rulebook) -> None:
    questions = book.phrase_list("questions")
    tags = book.phrase_list("question_tags")
    last = found[-1]
    start = skip(book, "openers", last.spoken, 0)
    asks = questions.length_at(last.spoken.norm, start) > 0
    tag = tags.length_at(last.spoken.norm, 0) == len(last.spoken)
    only_last = asks and not tag and len(found) > 1
    for clause in found if not only_last else found[-1:]:
        clause.alive = False


def _find_subject(
    clause: Clause,
    before: Clause | None,
    dated: Dated,
    quoted: frozenset[int],
    book: Rulebook,
    speaker: Speaker,
    all_words: Words,
) -> None:
    taken = {all_words.start[index] for index in dated.taken}
    inside = {all_words.start[index] for index in quoted}
    spoken = without(clause.spoken, taken)
    start = 0
    while start < len(spoken):
        qualifier, length = qualifier_at(book, spoken, start)
        if length and clause.alive:
            clause.qualifier, clause.sometimes = clause.qualifier or qualifier, True
            start += length
            continue
        after = skip(book, "openers", spoken, start)
        if after == start and spoken.norm[start] == ",":
            after = start + 1
        if after == start:
            break
        start = after
    if start >= len(spoken):
        clause.words = Words()
        return
    if spoken.start[start] in inside:
        clause.alive = False
        return
    length = _subject_at(clause, spoken, start, book, speaker)
    if not length and before is not None and _goes_on(clause, before, spoken, start, book):
        clause.subject, clause.who = before.subject, before.who
        clause.former = False
    _read_predicate(clause, spoken, start + length, book)


def _goes_on(clause: Clause, before: Clause, spoken: Words, start: int, book: Rulebook) -> bool:
    """Whether the subject is left out because it is that of the clause before."""
    word = spoken.norm[start]
    if clause.lead not in ("and", ",", "but", "then", "so", ";", "plus"):
        return False
    if any(each in _OTHERS for each in before.words.norm):
        return False
    return before.subject != "none" and (word in book.heads or word in ("do", "does", "no", "am"))


_OTHERS = frozenset(
    "you your people they he she them who everyone will would could ll 'll 'd".split()
)


def _subject_at(clause: Clause, spoken: Words, start: int, book: Rulebook, speaker: Speaker) -> int:
    norm, raw = spoken.norm, spoken.raw
    word = norm[start]
    following = norm[start + 1] if start + 1 < len(spoken) else ""
    if word == "i":
        clause.subject, clause.who = "self", speaker.name
        return 1 if following not in ("and", "or") else 0
    if word == "we":
        clause.subject, clause.who = "we", speaker.name
        return 1
    if word in ("my", "our"):
        return _relative_at(clause, spoken, start, book, speaker)
    if word in ("mine", "me"):
        return 0
    if word in PARENTS and word in book.relations:
        after = skip(book, "adverbs", spoken, start + 1)
        said = norm[after] if after < len(spoken) else ""
        if said in book.phrase_list("name_verbs") or said in ("'s", "does"):
            clause.relation = word
            clause.subject, clause.who = "other", speaker.relative(word, "en")
            return 1
    length = 0
    while (
        length < 3
        and start + length < len(spoken)
        and is_capital(raw[start + length])
        and raw[start + length].isalpha()
        and norm[start + length] not in book.phrase_list("not_names")
        and not (len(raw[start + length]) > 1 and raw[start + length].isupper())
    ):
        length += 1
    after = skip(book, "adverbs", spoken, start + length)
    if not length or after >= len(spoken):
        return 0
    if norm[after] not in book.phrase_list("name_verbs") and norm[after] not in ("'s", "does"):
        return 0
    clause.subject, clause.who = "other", " ".join(raw[start : start + length])
    return length


def _relative_at(
    clause: Clause, spoken: Words, start: int, book: Rulebook, speaker: Speaker
) -> int:
    """ "my wife Anna", "my older sister", "my friend's" or a plain possessive "my"."""
    norm, raw = spoken.norm, spoken.raw
    at = start + 1
    described: list[str] = []
    while at < len(spoken) and norm[at] in book.phrase_list("relation_adjectives"):
        described.append(norm[at])
        at += 1
    if at >= len(spoken) or norm[at] not in book.relations:
        clause.subject = "self" if norm[start] == "my" else "we"
        clause.who = speaker.name
        spoken.norm[start] = "'s"
        return 0
    relation = " ".join([*described, norm[at]])
    clause.relation = norm[at]
    clause.subject, clause.who = "other", speaker.relative(relation, "en")
    at += 1
    if at < len(spoken) and norm[at] == ",":
        name = _name_length(spoken, at + 1, book)
        if name and at + 1 + name < len(spoken) and norm[at + 1 + name] == ",":
            clause.name = " ".join(raw[at + 1 : at + 1 + name])
            return at + 2 + name - start
    name = _name_length(spoken, at, book)
    if name:
        clause.name = " ".join(raw[at : at + name])
        at += name
    return at - start


def _name_length(spoken: Words, start: int, book: Rulebook) -> int:
    length = 0
    while (
        length < 3
        and start + length < len(spoken)
        and is_capital(spoken.raw[start + length])
        and spoken.raw[start + length].isalpha()
        and spoken.norm[start + length] not in book.phrase_list("not_names")
    ):
        length += 1
    return length


def _read_predicate(clause: Clause, spoken: Words, start: int, book: Rulebook) -> None:
    """What is said of the subject, without adverbs, negation and auxiliaries."""
    norm = spoken.norm
    chosen: list[int] = []
    at = start
    count = len(spoken)
    if clause.subject == "none" or norm[at : at + 1] == ["'s"]:
        chosen = list(range(at, count))
        at = count
    while at < count:
        after = skip(book, "adverbs", spoken, at)
        if after > at:
            at = after
            continue
        qualifier, length = qualifier_at(book, spoken, at)
        if length and not chosen:
            clause.qualifier, clause.sometimes = clause.qualifier or qualifier, True
            at += length
            continue
        word = norm[at]
        following = norm[at + 1] if at + 1 < count else ""
        if word in ("do", "does") and following == "not":
            clause.negated = True
            at += 2
            clause.alive = clause.alive and _is_plain_negation(spoken, at)
        elif word in ("do", "does") and not chosen and following in book.heads:
            at += 1
        elif word == "used" and following == "to" and not chosen:
            clause.former = True
            at += 2
        elif word in ("will", "'ll") and following in ("not", "never") and not chosen:
            clause.negated = True
            chosen.append(at)
            at += 2
            clause.alive = clause.alive and _is_plain_negation(spoken, at)
        elif word == "no" and following == "longer":
            clause.negated = True
            at += 2
        elif word in ("have", "has", "'ve") and following == "no" and not chosen:
            clause.negated = True
            chosen.append(at)
            at += 2
        elif word in ("have", "has", "'ve", "'s") and following == "been" and not chosen:
            chosen.append(at)
            norm[at] = "be"
            at += 2
        elif word in ("have", "has", "'ve") and following in _JUST and not chosen:
            after = skip(book, "adverbs", spoken, at + 1)
            been = norm[after : after + 1] == ["been"]
            chosen.append(at)
            norm[at] = "be" if been else word
            at = after + been
        elif word in _BE and len(chosen) == 0:
            chosen.append(at)
            at += 1
            after = skip(book, "adverbs", spoken, at)
            if norm[after : after + 1] == ["not"]:
                clause.negated = True
                at = after + 1
                clause.alive = clause.alive and _is_plain_negation(spoken, at)
        elif chosen and norm[chosen[0]] in _BE and len(chosen) == 1:
            chosen.extend(range(at, count))
            break
        else:
            chosen.extend(range(at, count))
            break
    clause.words = copied(spoken, chosen)
    if clause.negated and "yet" in clause.words.norm[-2:]:  # it may come
        clause.alive = False


_JUST = frozenset(
    ("always", "just", "recently", "finally", "already", "actually", "also", "only", "now")
)
_BE = frozenset(("am", "is", "are", "be", "'m", "'re", "'s"))


def _is_plain_negation(spoken: Words, at: int) -> bool:
    """ "not" and not "not only", "not just", "not always"."""
    return spoken.norm[at : at + 1] not in (
        ["only"], ["just"], ["even"], ["always"], ["necessarily"], ["usually"], ["merely"],
        ["think"], ["believe"], ["know"], ["mean"], ["want"],
    )  # fmt: skip

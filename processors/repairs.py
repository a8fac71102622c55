"""Slips that a speaker puts right at once: "I live in Paris, no wait, Lyon".

What was said first asserts nothing. The words after the marker may be a whole statement, one
without its subject, the right value alone, its number, or another date; each is tried, and one
counts only where it states the same attribute of the same subject otherwise. Where what was said
first is no statement yet ("I'm 30, sorry, 31 years old"), a number or a date at its end makes place
for the one that follows. Where it is not clear that the words are another value of the same kind,
as in "I live in Rome. Sorry, I meant to ask about hotels", what was said first stands.

The markers are data (``repairs`` and ``repairs_before_comma`` in the rule files), and so are the
number words (``numbers``) and the words that no right value has (``not_replacements``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Literal

from memstream.processors.dates import find_dates
from memstream.processors.rules import Rulebook, spoken

LONGEST_VALUE = 60
"""Characters; what is longer is no value that replaces another."""


class Repairs:
    """Finds the markers of one language."""

    def __init__(self, book: Rulebook) -> None:
        self._chinese = book.language == "zh"
        alone = _alternatives(book.grammar("repairs"))
        paused = _alternatives(book.grammar("repairs_before_comma"))
        hesitation = _alternatives(book.grammar("hesitations"))
        markers = (*book.grammar("repairs"), *book.grammar("repairs_before_comma"))
        self._signs = frozenset(max(spoken(each), key=len, default="") for each in markers)
        self._never = frozenset(book.grammar("not_replacements"))
        self._names = frozenset(("name", *book.relations.values()))
        number = rf"(?:\d+|{_alternatives(book.grammar('numbers'))})"
        relation = _alternatives(tuple(book.relations))
        if self._chinese:
            whole = r"(?:(?<![不对])|(?=[^\u4e00-\u9fff]|$|是|应该|其实|我|叫|说))"
            clear = rf"(?:{alone}){whole}[，,。！!：:… ]*"
            marker = rf"(?:(?:{hesitation})[，,]?)*(?:{clear}|(?:{paused})[，,…]+)"
            self._within = re.compile(rf"[，,；;—…]+ ?(?:{marker})+")
            self._at_start = re.compile(rf"(?:{marker})+")
            before = rf"(?:(?:{hesitation})[，,]?|(?:{paused})[，,…]+)*"
            self._clear = re.compile(rf"{before}(?:{alone})")
            counted = rf"(?:{number})+[个只条位名岁台辆件本点]?"
            self._number = re.compile(counted)
            self._number_at_end = re.compile(rf"{counted}$")
            self._lead = re.compile(r"(?:应该|其实)?(?:就是|是)?")
            self._subjects = re.compile("[我你您他她它这那咱]")
            self._whose = re.compile(
                r"(?:那|这)?是(?:说)?(?P<who>我[^，,。！!是住在]{1,4})[。！!]*$"
            )
            self._whose_alone = re.compile("(?!)")
            self._speaker = re.compile("我")
        else:
            end = r"(?:[\s,:;.!…—–-]+|$)"
            marker = (
                rf"(?:(?:{hesitation})[\s,]+)*"
                rf"(?:(?:{alone})\b{end}|(?:{paused})\s?[,:;…—–][\s,:;.…—–-]*)"
                rf"(?:(?:{hesitation})[\s,]+)*"
            )
            self._within = re.compile(
                rf"\s?(?:[,;…—–]|--|\s-\s|\.\.\.)\s*(?:{marker})+", re.IGNORECASE
            )
            self._at_start = re.compile(rf"(?:{marker})+", re.IGNORECASE)
            before = rf"(?:(?:{hesitation})[\s,]+|(?:{paused})[\s,;:…—–-]+)*"
            self._clear = re.compile(rf"{before}(?:{alone})\b", re.IGNORECASE)
            self._number = re.compile(rf"\b{number}\b", re.IGNORECASE)
            self._number_at_end = re.compile(rf"\b{number}$", re.IGNORECASE)
            self._lead = re.compile(
                r"(?:i mean(?:t)?\b[, ]*)?(?:it(?:'s|’s| is)|that(?:'s|’s| is)|make that)?\s*"
                r"(?:(?:in|at|to|on|for|as|with|of|from|a|an|the|not)\s+)*",
                re.IGNORECASE,
            )
            self._whose = re.compile(
                r"((?:that|it)(?:['’]s| is| was) )?(?P<who>my (?:[a-z-]+ )?[a-z-]+)"
                r"(?(1)|(?: did| does| is| was| has| do))[.!]*$",
                re.IGNORECASE,
            )
            self._whose_alone = re.compile(
                rf"(?P<who>my (?:[a-z-]+ )?(?:{relation}))[.!]*$", re.IGNORECASE
            )
            self._speaker = re.compile(r"\b(?:I(?P<is>['’]m| am)?|We|we)\b")
            self._subjects = re.compile(
                r"(?:I|we|you|he|she|it|they|my|our|your|his|her|their|that|this|there|what|who)"
                r"(?:\b|['’])",
                re.IGNORECASE,
            )

    def within(self, text: str) -> tuple[str, str] | None:
        """What stands before the last marker inside a sentence, and what after; None without."""
        if not self._may_hold_marker(text):
            return None
        found = list(self._within.finditer(text))
        if not found or not found[-1].start() or found[-1].end() == len(text):
            return None
        last = found[-1]
        return text[: last.start()], text[last.end() :]

    def _may_hold_marker(self, text: str) -> bool:
        """Whether a marker can stand inside a sentence; most hold none of its words."""
        if self._chinese:
            return _PAUSE_ZH.search(text) is not None
        return not self._signs.isdisjoint(spoken(text))

    def at_start(self, text: str) -> str | None:
        """What follows a marker that opens the sentence; None where none does."""
        match = self._at_start.match(text)
        return None if match is None or match.end() == len(text) else text[match.end() :]

    def is_clear(self, text: str) -> bool:
        """Whether the marker that opens the sentence can be nothing else, as "sorry" can."""
        return self._clear.match(text) is not None

    def readings(self, before: str, after: str, wrong: str) -> Iterator[str]:
        """The sentences that "before, no, after" may mean, where ``wrong`` is the value that
        stands in ``before``."""
        said = self._whose.match(after)
        if said is None and not _MINE.match(wrong):
            said = self._whose_alone.match(after)
        if said is not None:
            who = said["who"][0].upper() + said["who"][1:]
            speaker = self._speaker.search(before)
            verb = " is" if speaker and not self._chinese and speaker["is"] else ""
            yield self._speaker.sub(who + verb, before, count=1)
            return
        yield after
        yield ("我" if self._chinese else "I ") + after
        place = before.rfind(wrong)
        right = self._value_of(after)
        if self._chinese:
            right = _without_repeated(before[:place], right)
        if not self.may_replace(before, wrong, after):
            return
        article = _ARTICLE.match(wrong)
        if article is not None and _ARTICLE.match(right) is None:
            yield f"{before[:place]}{article.group()}{right}{before[place + len(wrong) :]}"
        if self._subjects.match(right) is None or _MINE.match(right):
            whole = before[:place] + right + before[place + len(wrong) :]
            tail = after[after.find(right) + len(right) :]
            if any(each.isalnum() for each in tail):
                yield whole + tail
            yield whole
        number = self._number.fullmatch(right) and self._number.search(wrong)
        if number:
            begin, end = place + number.start(), place + number.end()
            yield before[:begin] + right + before[end:]

    def may_replace(self, before: str, wrong: str, after: str) -> bool:
        """Whether ``after`` begins with what looks like another value of the kind of ``wrong``, and
        ``wrong`` is the last value that ``before`` names."""
        place = before.rfind(wrong)
        right = self._value_of(after)
        if place < 0 or not wrong or not right or len(right) > LONGEST_VALUE:
            return False
        rest = before[place + len(wrong) :]
        if self._chinese:
            if right.endswith("了") and not before.endswith("了"):
                return False
            said = right.startswith(tuple(self._never)) or _CLAUSE_ZH.search(right)
            return not (said or _MORE_ZH.search(rest)) or right == "也门"
        if _MINE.match(right) and not _MINE.match(wrong):
            return False
        words = right.split()
        if any(each.lower() in self._never for each in words if each.islower() or len(words) == 1):
            return False
        named = any(_is_named(each) for each in words)
        if not named:
            infinitive = _TO.match(after) and not before[:place].rstrip().endswith(" to")
            all_named = all(_is_named(each) or each in _SMALL for each in wrong.split())
            if infinitive or all_named:
                return False
        lead = _PREPOSITION.match(after)
        sign = f" {lead.group().strip().lower()} " if lead else ""
        if sign and before[:place].lower().endswith(sign) and sign not in rest.lower():
            return True
        if not named:
            return not _MORE_EN.search(f"{wrong}{rest}" if " with " in wrong else rest)
        return not any(_is_named(each) for each in without_dates(rest).split())

    def is_number(self, text: str) -> bool:
        """Whether a text is a number, or one with what it counts: 35, 三个, "two kids"."""
        number = self._number.match(text)
        return number is not None and text[number.end() :].strip() in _COUNTED

    def renamed(self, text: str) -> tuple[str, str] | None:
        """What stands before the marker, and the name after it, of "My dog is Rex, sorry Max":
        markers that only a name makes clear. None where there is none."""
        if self._chinese or ("orry" not in text and "actually" not in text):
            return None
        match = _RENAMED.match(text)
        return None if match is None else (match["before"], match["right"])

    def named_instead(self, text: str) -> str | None:
        """ "My name is Rob, not Bob" for "My name is not Bob, it's Rob"; None for other texts."""
        match = None if self._chinese or "ame" not in text else _NAMED_INSTEAD.match(text)
        return match and f"{match['name']} is {match['right']}, not {match['wrong']}"

    def is_name(self, attribute: str) -> bool:
        """Whether the values of an attribute are names of people and animals."""
        return attribute in self._names

    def only_past(self, before: str, after: str) -> bool:
        """Whether ``after`` says in the past tense what ``before`` says in the present: "I live in
        Rome. Correction: I lived in Rome"."""
        if self._chinese:
            return False
        past = _PRESENT.sub(lambda found: f"I {_PAST[found['verb'].lower()]}", before, count=1)
        return past != before and past.rstrip(".! ").lower() == after.rstrip(".! ").lower()

    def replaced_after(self, before: str, after: str, wrong: str) -> str | None:
        """The sentence with another value after the preposition that ``after`` repeats, where that
        is not the one before ``wrong``: "I moved from Paris to Berlin, sorry, from Lyon"."""
        lead = None if self._chinese else _PREPOSITION.match(after)
        right = "" if lead is None else self._value_of(after)
        if lead is None or not right or len(right) > LONGEST_VALUE:
            return None
        sign = f" {lead.group().strip().lower()} "
        place = before.lower().rfind(sign)
        if place < 0 or before.startswith(wrong, place + len(sign)):
            return None
        begin = place + len(sign)
        end = _NEXT_PREPOSITION.search(before, begin)
        return before[:begin] + right + before[end.start() if end else len(before) :]

    def _value_of(self, after: str) -> str:
        lead = self._lead.match(after)
        return _END.split(after[lead.end() if lead else 0 :])[0].strip()

    def redated(self, before: str, after: str, anchor: datetime | None) -> list[str] | None:
        """The sentences in which ``after`` is the last date, or its year; None where ``after`` is
        no date."""
        right = self._value_of(after)
        language: Literal["en", "zh"] = "zh" if self._chinese else "en"
        if not right or len(right) > LONGEST_VALUE or not is_date(right, anchor, language):
            return None
        known = find_dates(before, anchor, language)
        if not known:
            return None
        wrong = known[-1]
        lead = _PREPOSITION.match(wrong.text)
        begin = wrong.start_char + (lead.end() if lead else 0)
        found = [before[:begin] + right + before[wrong.end_char :]]
        year = _YEAR.search(before, begin, wrong.end_char) if _YEAR.fullmatch(right) else None
        if year is not None:
            found.append(before[: year.start()] + right + before[year.end() :])
        return found

    def amendment(self, text: str) -> tuple[str, str, bool] | None:
        """The value of "Sorry, I meant X", the Y of "not Y" behind it, and whether the words can
        be nothing else than a correction; None where a text is not that alone."""
        text = text.strip()
        trailing = (_SORRY_AFTER_ZH if self._chinese else _SORRY_AFTER_EN).match(text)
        if trailing is not None:
            text = f"{trailing['sorry']}{'，' if self._chinese else ', '}{trailing['right']}"
        said = (_SAID_ZH if self._chinese else _SAID_EN).match(text)
        clear = said is not None or self.is_clear(text)
        after = text[said.end() :] if said is not None else self.at_start(text)
        contrasted, alone = (
            (_CONTRASTED_ZH, _AMENDED_ZH) if self._chinese else (_CONTRASTED_EN, _AMENDED_EN)
        )
        match = contrasted.match(text) or (after and contrasted.match(after))
        if match:
            clear, after = True, match["right"]
        elif after:
            match = alone.match(after)
            clear = clear or (
                trailing is not None and _ACRONYM.fullmatch(trailing["right"]) is not None
            )
        if not match or not after:
            return None
        found = match.groupdict()
        wrong = self._value_of(found["wrong"] or found.get("other") or "")
        right = self._value_of(found["right"])
        if not right or len(right) > LONGEST_VALUE or self._subjects.match(right):
            return None
        if self._chinese:
            never = right.startswith(tuple(self._never)) or right.endswith("了")
            return None if never or _CLAUSE_ZH.search(right) else (right, wrong, clear)
        words = right.split()
        unfit = any(each.lower() in self._never for each in words if each.islower())
        infinitive = _TO.match(after) and not any(_is_named(each) for each in words)
        unfit = unfit or bool(infinitive) or len(words) > _MOST_AMENDED
        return None if unfit else (right, wrong, clear)

    def redated_within(self, text: str, anchor: datetime | None) -> str | None:
        """The sentence with the date that is meant in place of the one that a slip in it names."""
        slip = self.within(text)
        found = None if slip is None else self.redated(*slip, anchor)
        return found[0] if found else None

    def redated_after(self, before: str, text: str, anchor: datetime | None) -> str | None:
        """The sentence ``before`` with the date by which ``text`` puts it right; None where
        ``text`` does nothing of the kind."""
        after = self.at_start(text)
        found = None if after is None else self.redated(before, after, anchor)
        return found[0] if found else None

    def completed(self, before: str, after: str, anchor: datetime | None) -> str | None:
        """The one statement that both make where a number or a date at the end of ``before`` makes
        place for that at the beginning of ``after``; None where none does."""
        lead = self._lead.match(after)
        rest = after[lead.end() if lead else 0 :]
        end, begin = self._number_at_end.search(before), self._number.match(rest)
        if end is not None and begin is not None:
            return before[: end.start()] + rest
        language: Literal["en", "zh"] = "zh" if self._chinese else "en"
        wrong = [
            each
            for each in find_dates(before, anchor, language)
            if each.end_char == len(before) and not rest.startswith(each.text)
        ]
        if not wrong:
            return None
        lead = _PREPOSITION.match(wrong[0].text)
        text = before[: wrong[0].start_char + (lead.end() if lead else 0)] + rest
        there = {each.start_char for each in find_dates(text, anchor, language)}
        return text if wrong[0].start_char in there else None


_COUNTED = frozenset(
    ("", "years old", "kids", "children", "sons", "daughters", "孩子", "儿子", "女儿")
)
_MOST_AMENDED = 5
_SORRY_AFTER_EN = re.compile(
    r"(?P<right>[^,.;:!?*]+?)(?:,| -+| –| —|\.) ?(?P<sorry>sorry|oops|whoops|my bad|my mistake"
    r"|i meant|i mean)[.!]*$",
    re.IGNORECASE,
)
_SORRY_AFTER_ZH = re.compile(
    r"(?P<right>[^，,。；;：:！!？?]+?)[，,。 ]+(?P<sorry>抱歉|不好意思|说错了|打错了|写错了|口误)"
    r"[。！!了]*$"
)
"""The right value with the word that puts right behind it: "Lyon, sorry"."""
_ACRONYM = re.compile("[A-Z]{2,5}")
"""Speaks to nobody: "BP, sorry"."""
_SAID_EN = re.compile(r"\*(?=[^\s*])")
_SAID_ZH = re.compile(
    "(?:(?:抱歉|不好意思|对不起|不对|哦|啊|呃|噢)[，,。！! ]*)*"
    "(?:我(?:本来|其实)?(?:想|要|是想)?(?:说|指|打)的(?:其实)?(?=是(?![实真这那气假反玩事]))"
    "|(?:其实)?应该(?=是(?![实真这那气假反玩事有]).{1,12}$))"
)
"""What opens a turn that says again what was meant: 我说的是杭州, 应该是杭州; "*Lyon"."""
_AMENDED_EN = re.compile(
    r"(?P<right>[^,.;:!?]+?)(?:,? (?:and )?not (?P<wrong>[^,.;:!?]+?))?[.!]*$", re.IGNORECASE
)
_ONE, _ONE_ZH = "[^,.;:!?]+?", "[^，,。；;：:！!？?吗呢我]+?"
_CONTRASTED_EN = re.compile(
    r"(?:(?:no|nope|sorry|wait|oh|oops)[,.]? )*"
    rf"(?:not (?P<wrong>{_ONE})(?:[,.;]| but) (?:it(?:['’]s| is) )?"
    rf"|(?:it|that)(?:['’]s| is)(?: spelled| spelt| written)? (?={_ONE},? not {_ONE}[.!]*$))"
    rf"(?P<right>{_ONE})(?:,? not (?P<other>{_ONE}))?[.!]*$",
    re.IGNORECASE,
)
_CONTRASTED_ZH = re.compile(
    rf"(?:不是(?P<wrong>{_ONE_ZH})(?:[，,。]|[，,]?而)是在?"
    rf"|是在?(?={_ONE_ZH}[，,]?不是{_ONE_ZH}[。！!]*$))"
    rf"(?P<right>{_ONE_ZH})(?:[，,]?不是在?(?P<other>{_ONE_ZH}))?[。！!]*$"
)
"""A value set against the one it replaces: "It's Oslo, not Rome", 不是罗马，是奥斯陆."""
_AMENDED_ZH = re.compile(
    r"(?P<right>[^，,。；;：:！!？?吗呢]+?)(?:[，,]?(?:而)?不是(?P<wrong>[^，,。；;：:！!？?吗呢]+?))?[。.！!～~]*$"
)
_END = re.compile(r"[,.:](?!\d)|[;!?，。；：！？（(]")
"""Where a value ends; a sign within a number ("10:30") ends none."""
_ARTICLE = re.compile(r"(?:a|an|the)\s+", re.IGNORECASE)
_YEAR = re.compile(r"(?<!\d)(?:1[89]|20)\d\d(?!\d)年?")
_MINE = re.compile(r"my\b", re.IGNORECASE)
_TO = re.compile(r"(?:i mean(?:t)?\b[, ]*)?to\b", re.IGNORECASE)
_SMALL = frozenset("of the de la and a an".split())
_MORE_EN = re.compile(r"\b(?:in|on|at|to|for|with|from|near|by|as|and)\s+\w", re.IGNORECASE)
_CLAUSE_ZH = re.compile("让我|忘了|想想|得不|得很|(?<![酒网茶])吧$|[吗呢嘛呀]$")
_MORE_ZH = re.compile(r"[在和跟与]\w{2}")
"""What names another value after the one that a rule read."""
_RENAMED = re.compile(
    r"(?P<before>.+?)\s?(?:[,;…—–]|--|\s-\s|\.\.\.)\s*"
    r"(?:(?:oh|no|oops)[, ]+)*"
    r"(?:[Ss]orry|actually,? (?:it|that)(?:['’]s| is)|(?:it|that)(?:['’]s| is) actually) "
    r"(?P<right>(?!I\b)[A-Z][\w’'-]*)[.!]*$"
)
_NAMED_INSTEAD = re.compile(
    r"(?:[Nn]o|[Aa]ctually|[Ss]orry)?[,. ]*(?P<name>[Mm]y (?:[\w’'-]+ ){0,4}name)"
    r"(?: is not|['’]s not| isn['’]t) (?P<wrong>[A-Z][\w’'-]*)"
    r"(?:[,;.]| —| –)? (?:but|it(?:['’]s| is)|my name(?:['’]s| is)) (?P<right>[A-Z][\w’'-]*)[.!]*$"
)
_PAST = {
    "live": "lived", "work": "worked", "like": "liked", "love": "loved", "hate": "hated",
    "have": "had", "own": "owned", "drive": "drove", "study": "studied", "play": "played",
    "am": "was", "'m": "was", "’m": "was",
}  # fmt: skip
_PRESENT = re.compile(rf"\bI ?(?P<verb>{'|'.join(_PAST)})\b", re.IGNORECASE)
_PREPOSITION = re.compile(r"(?:in|on|at|to|for|with|since|from|until|by|during)\s+", re.IGNORECASE)
_NEXT_PREPOSITION = re.compile(
    r"\s(?:in|on|at|to|for|with|as|since|from|and)\s|[,.;]", re.IGNORECASE
)


def _without_repeated(before: str, right: str) -> str:
    """The value without the words before the wrong one that it repeats: "在长沙，不对，在株洲"."""
    for length in (2, 1):
        if right[:length] == before[-length:] and len(right) > length:
            return right[length:]
    return right


def _is_named(word: str) -> bool:
    """Whether a word is written as names and numbers are."""
    return word[:1].isupper() or any(each.isdigit() for each in word) or not word.isascii()


def without_dates(text: str) -> str:
    """An English text without the dates in it."""
    for each in reversed(find_dates(text, None, "en")):
        text = text[: each.start_char] + text[each.end_char :]
    return text


def is_date(text: str, anchor: datetime | None, language: Literal["en", "zh"]) -> bool:
    """Whether a text is one date and nothing else."""
    found = find_dates(text, anchor, language)
    return len(found) == 1 and (found[0].start_char, found[0].end_char) == (0, len(text))


_PAUSE_ZH = re.compile("[，,；;—…]")


def _alternatives(phrases: tuple[str, ...]) -> str:
    """A pattern for any of the phrases, the longest first; one that nothing matches for none."""
    ordered = sorted(phrases, key=lambda each: (-len(each), each))
    inner = "|".join(
        re.escape(each).replace("'", "['’]").replace(r"\ ", r",?\s+") for each in ordered
    )
    return inner or "(?!)"

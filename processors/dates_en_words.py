"""The English words of time: tables, tokens, and numbers in words."""

from __future__ import annotations

import re

from memstream.processors.dates_calendar import Duration
from memstream.processors.dates_numeric import two_digit_year
from memstream.processors.dates_within import Part

# Tables

MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan",
            "february feb febr",
            "march mar",
            "april apr",
            "may",
            "june jun",
            "july jul",
            "august aug",
            "september sept sep",
            "october oct",
            "november nov",
            "december dec",
        ),
        start=1,
    )
    for name in names.split()
}
PLAIN_MONTHS = frozenset("january february july september october november december".split())
WEEKDAYS = {
    name: number
    for number, names in enumerate(
        (
            "monday mon",
            "tuesday tue tues",
            "wednesday wed weds",
            "thursday thu thur thurs",
            "friday fri",
            "saturday sat",
            "sunday sun",
        )
    )
    for name in names.split()
}
UNITS = {
    name: unit
    for unit, names in {
        "day": "day days night nights",
        "week": "week weeks wk wks",
        "fortnight": "fortnight fortnights",
        "weekend": "weekend weekends",
        "workweek": "workweek",
        "month": "month months mos mth mths",
        "quarter": "quarter quarters",
        "year": "year years yr yrs",
        "decade": "decade decades",
        "century": "century centuries",
        "hour": "hour hours hr hrs",
        "minute": "minute minutes min mins",
        "second": "second seconds sec secs",
        "business day": "weekday weekdays workday workdays",
    }.items()
    for name in names.split()
}
UNIT_PAIRS = {
    (first, second): unit
    for first in ("business", "working", "work")
    for second, unit in {
        "day": "business day",
        "days": "business day",
        "week": "workweek",
        "weeks": "workweek",
    }.items()
} | {("calendar", second): unit for second, unit in UNITS.items()}
SEASONS = {"spring": "spring", "summer": "summer", "autumn": "autumn", "fall": "autumn"} | {
    "winter": "winter",
    "springtime": "spring",
    "summertime": "summer",
    "wintertime": "winter",
}
NEXT, THIS, LAST = 1, 0, -1
MODIFIERS = {
    "this": THIS,
    "current": THIS,
    "present": THIS,
    "same": THIS,
    "that": THIS,
    "next": NEXT,
    "following": NEXT,
    "coming": NEXT,
    "upcoming": NEXT,
    "subsequent": NEXT,
    "last": LAST,
    "previous": LAST,
    "past": LAST,
    "prior": LAST,
    "preceding": LAST,
}
NEAREST = frozenset(("coming", "upcoming", "past"))  # the nearest weekday, not next week's
PARTS: dict[str, Part] = {
    "early": "early",
    "beginning": "early",
    "start": "early",
    "mid": "mid",
    "middle": "mid",
    "midway": "mid",
    "late": "late",
    "end": "late",
    "close": "late",
}
RUNNING_PARTS = {"earlier": "early", "later": "late"}
INITIALISMS: dict[str, tuple[Part, str]] = {
    "eoy": ("late", "year"),
    "eoq": ("late", "quarter"),
    "eom": ("late", "month"),
    "eow": ("late", "week"),
}
DAYS_NAMED = {
    "today": 0,
    "tonight": 0,
    "tonite": 0,
    "tomorrow": 1,
    "tomorow": 1,
    "tommorow": 1,
    "tmrw": 1,
    "tmr": 1,
    "yesterday": -1,
    "yday": -1,
}
PARTS_OF_DAY = frozenset("morning afternoon evening night noon midnight lunchtime dawn".split())
ONES = {
    word: value
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
        "fifteen sixteen seventeen eighteen nineteen".split()
    )
}
TENS = {
    word: value * 10
    for value, word in enumerate(
        "twenty thirty forty fifty sixty seventy eighty ninety".split(), start=2
    )
}
SCALES = {"hundred": 100, "thousand": 1000, "million": 1_000_000, "billion": 1_000_000_000}
ORDINALS = {
    word: value
    for value, word in enumerate(
        "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth "
        "thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth "
        "twentieth".split(),
        start=1,
    )
} | {"thirtieth": 30}
LAST_WORDS = frozenset(("last", "final"))
DECADES = {
    "noughties": 0,
    "tens": 10,
    "twenties": 20,
    "thirties": 30,
    "forties": 40,
    "fifties": 50,
    "sixties": 60,
    "seventies": 70,
    "eighties": 80,
    "nineties": 90,
}
VAGUE_COUNTS = frozenset("few several some many numerous".split())
POSSESSIVES = frozenset("my your his her its our their".split())
CONNECTORS = frozenset(("to", "till", "until", "til", "through", "thru", "-", "~"))
FULL_STOPS = frozenset((".", ",", ";", "!", "?", ")", "]", '"', "'", ":", "|", "-", ""))

# Words that may follow "on the 18th" or "in 2019"; a noun there ("the 18th floor") means no date.
AFTER_DAY = FULL_STOPS | frozenset(
    "and or at in on from to till until through with for is was will would we i he she they it "
    "you the by before after then this that but so because when if can as which where my our "
    "there has had have are were did please if works instead either too also".split()
)
NOT_AFTER_YEAR = frozenset(
    "dollars dollar usd eur euros pounds people users items times miles km kg meters metres feet "
    "percent words lines points calories steps tokens pages copies units hours hour minutes "
    "minute seconds second days day weeks week months month years year hz mb gb kb ms kcal "
    "employees students visitors views followers customers bucks cents cases rows files pieces "
    "square cubic mah rpm yen rmb yuan pm am g mg ml lbs lb oz".split()
)
BEFORE_YEAR = frozenset(
    "in since of by from before after until till during year not to through throughout between "
    "early mid late for back around circa about summer spring winter autumn fall than = ( ' ; "
    ":".split()
) | {"", ","}

# The phrases that name no time at all. Each is reported as unresolved.
VAGUE = re.compile(
    r"(?:the other (?:day|week|night|morning|evening|month|weekend)"
    r"|(?:quite )?(?:a|some) (?:little |short |long |good )?(?:while|time) (?:ago|back)"
    r"|some ?(?:day|days|weeks|months|years) ago|a long time ago|(?:not (?:so |too )?)?long ago"
    r"|(?:many |several )?(?:ages|days|weeks|months|years|decades|centuries|moons) (?:ago|back)"
    r"|in recent (?:days|weeks|months|years|times)|in the (?:near|distant) (?:future|past)"
    r"|these days|nowadays|recently|lately|someday|some day|one of these days|in a while"
    r"|in the coming (?:days|weeks|months|years)|once upon a time)(?![a-z])"
)
VAGUE_STARTS = frozenset(
    "the quite a some long not many several ages days weeks months years decades centuries moons "
    "in these nowadays recently lately someday one once".split()
)

# A sentence with none of these, and no digit, holds no date.
TRIGGERS = (
    frozenset(MONTHS)
    | frozenset(WEEKDAYS)
    | frozenset(f"{name}s" for name in WEEKDAYS)
    | frozenset(UNITS)
    | frozenset(SEASONS)
    | frozenset(DAYS_NAMED)
    | frozenset(DECADES)
    | frozenset(INITIALISMS)
    | frozenset(ORDINALS)
    | frozenset(TENS)
    | (PARTS_OF_DAY - {"noon", "midnight", "lunchtime", "dawn"})
    | frozenset("ago back recently lately nowadays someday ytd mtd qtd wtd time eighteen".split())
    | frozenset("nineteen thousand nye mlk valentine valentines fool fools juneteenth".split())
    | frozenset("halloween hallowe fawkes thanksgiving giving christmas xmas mas easter".split())
    | frozenset("pentecost christi eid eve hallows mardi mayo past future".split())
)


# Tokens


class Tokens:
    """Lower-case tokens with their places in the text; past either end they read as ""."""

    __slots__ = ("count", "ends", "raw", "starts", "text", "words")

    def __init__(self, lowered: str, raw: str) -> None:
        words: list[str] = []
        starts: list[int] = []
        ends: list[int] = []
        for found in _TOKEN.finditer(lowered):
            words.append(found[0])
            starts.append(found.start())
            ends.append(found.end())
        self.text = lowered
        self.raw = raw  # the text as written, of the same length
        self.count = len(words)
        words.extend([""] * 12)
        starts.extend([len(lowered)] * 12)
        ends.extend([len(lowered)] * 12)
        self.words = words
        self.starts = starts
        self.ends = ends

    def joined(self, i: int) -> bool:
        """Whether token i follows the one before it without a space."""
        return i > 0 and self.starts[i] == self.ends[i - 1] and self.words[i] != ""

    def capital(self, i: int) -> bool:
        return self.raw[self.starts[i] : self.starts[i] + 1].isupper()

    def index_after(self, i: int, char: int) -> int:
        """The first token from i on that starts at or after `char`."""
        while self.starts[i] < char and self.words[i]:
            i += 1
        return i


_TOKEN = re.compile(r"[0-9]+|[a-z]+|[^\sa-z0-9]")
_WORD = re.compile(r"[a-z]+")
_DIGIT = re.compile(r"[0-9]")
_NO_LETTERS = {code: " " for code in range(128) if not chr(code).islower()}
_LIKE = str.maketrans("’‘ʼ–—‐‑−〜～０１２３４５６７８９", "'''-----~~0123456789")


def lowered(text: str) -> str:
    """Lower case with the same length as `text`, its apostrophes, dashes and digits plain."""
    low = text.lower()
    if len(low) != len(text):
        low = "".join(lower if len(lower := char.lower()) == 1 else char for char in text)
    return low if low.isascii() else low.translate(_LIKE)


def may_hold_date(low: str) -> bool:
    if _DIGIT.search(low) is not None:
        return True
    words = low.translate(_NO_LETTERS).split() if low.isascii() else _WORD.findall(low)
    return not TRIGGERS.isdisjoint(words)


# Numbers


def digits(word: str, most: int = 9) -> int | None:
    return int(word) if "0" <= word[:1] <= "9" and len(word) <= most else None


def cardinal(tokens: Tokens, i: int) -> tuple[float, int] | None:
    """A count in digits or words: "3", "1.5", "twenty-one", "two hundred and five"."""
    words = tokens.words
    value = digits(words[i])
    if value is not None:
        if words[i + 1] == "," and tokens.joined(i + 1) and tokens.joined(i + 2):
            thousands = digits(words[i + 2], 3)
            if thousands is not None and len(words[i + 2]) == 3:
                return value * 1000 + thousands, i + 3
        if words[i + 1 : i + 4] == ["1", "/", "2"] and tokens.joined(i + 3):
            return value + 0.5, i + 4
        if words[i + 1] == "." and tokens.joined(i + 1) and tokens.joined(i + 2):
            fraction = digits(words[i + 2], 3)
            if fraction is not None:
                return float(f"{value}.{words[i + 2]}"), i + 3
        return value, i + 1
    return whole_number(tokens, i)


def whole_number(tokens: Tokens, i: int) -> tuple[int, int] | None:
    """A number in words, at most twelve of them."""
    words = tokens.words
    total = current = 0
    j, last = i, -1
    while j < i + 12:
        word = words[j]
        if word in ONES and (last < 0 or last >= 100 or (last >= 20 and ONES[word] < 10)):
            current += ONES[word]
            last = ONES[word]
        elif word in TENS and (last < 0 or last >= 100):
            current += TENS[word]
            last = TENS[word]
        elif word in SCALES and (j > i):
            if word == "hundred":
                current *= 100
            else:
                total += current * SCALES[word]
                current = 0
            last = SCALES[word]
        elif word in ("and", "-") and j > i and (word == "-" or last >= 100):
            following = words[j + 1]
            fits = following in ONES or following in TENS
            if not fits or (word == "-" and (last < 20 or following not in ONES)):
                break
        else:
            break
        j += 1
    return (total + current, j) if j > i else None


def ordinal(tokens: Tokens, i: int) -> tuple[int, int] | None:
    """ "3rd", "third", "twenty-first", "thirty first"."""
    words = tokens.words
    word = words[i]
    value = digits(word, 3)
    if value is not None:
        suffixed = words[i + 1] in ("st", "nd", "rd", "th") and tokens.joined(i + 1)
        return (value, i + 2) if suffixed else None
    if word in ORDINALS:
        return ORDINALS[word], i + 1
    if word in TENS:
        j = i + 2 if words[i + 1] == "-" else i + 1
        unit = ORDINALS.get(words[j], 99)
        return (TENS[word] + unit, j + 1) if unit < 10 else None
    return None


def day_number(tokens: Tokens, i: int) -> tuple[int, int] | None:
    """A day of a month, 1 to 31, as ordinal, digits or cardinal words."""
    found: tuple[int, int] | None = ordinal(tokens, i)
    if found is None:
        value = digits(tokens.words[i], 2)
        if value is not None:
            after = tokens.words[i + 1]
            if tokens.joined(i + 1) and after in (":", "%"):
                return None
            found = (value, i + 1)
        elif tokens.words[i] in ONES or tokens.words[i] in TENS:
            found = whole_number(tokens, i)
    return found if found and 1 <= found[0] <= 31 else None


def year_in_words(tokens: Tokens, i: int) -> tuple[int, int] | None:
    """ "nineteen seventy eight", "nineteen oh one", "two thousand and fifteen"."""
    words = tokens.words
    first = ONES.get(words[i], TENS.get(words[i], 0))
    if not first:
        return None
    if 10 <= first <= 20:
        j = i + 2 if words[i + 1] == "-" else i + 1
        if words[j] == "hundred":
            j += 2 if words[j + 1] == "and" else 1
            rest = whole_number(tokens, j)
            return (first * 100 + rest[0], rest[1]) if rest and rest[0] < 100 else (first * 100, j)
        if words[j] in ("zero", "oh", "o") and words[j + 1] in ONES:
            return first * 100 + ONES[words[j + 1]], j + 2
        rest = whole_number(tokens, j)
        if rest and 10 <= rest[0] < 100:
            return first * 100 + rest[0], rest[1]
        return None
    found = whole_number(tokens, i)
    return found if found and 1000 <= found[0] < 3000 else None


def year(tokens: Tokens, i: int, short: bool = False) -> tuple[int, int] | None:
    """A year in four digits or in words; with `short`, also in two digits."""
    words = tokens.words
    word = words[i]
    value = digits(word, 4)
    if value is None:
        if word == "'" and len(words[i + 1]) == 2 and tokens.joined(i + 1):
            value = digits(words[i + 1], 2)
            return None if value is None else (two_digit_year(value), i + 2)
        return year_in_words(tokens, i)
    if tokens.joined(i + 1):
        after, beyond = words[i + 1], words[i + 2]
        if after.isalpha() or after in ("%", ":"):
            return None
        if after in (".", ",") and tokens.joined(i + 2) and beyond.isdigit():
            return None
    if len(word) == 4 and 1000 <= value < 3000:
        return value, i + 1
    return (two_digit_year(value), i + 1) if short and len(word) == 2 else None


def unit(tokens: Tokens, i: int) -> tuple[str, int] | None:
    words = tokens.words
    pair = UNIT_PAIRS.get((words[i], words[i + 1]))
    if pair:
        return pair, i + 2
    single = UNITS.get(words[i])
    return (single, i + 1) if single else None


def duration(tokens: Tokens, i: int) -> tuple[Duration | None, int] | None:
    """ "2 years 1 month and 21 days", "a year and a half". None for the duration means vague."""
    parts: list[tuple[float, str]] = []
    j = i
    while len(parts) < 5:
        start = j
        if parts:
            if tokens.words[j] in (",", "and"):
                start += 2 if (tokens.words[j], tokens.words[j + 1]) == (",", "and") else 1
            elif tokens.words[j - 1] == "s" or not _counts(tokens, j):
                break
        amount = count(tokens, start)
        if amount is None:
            break
        named = unit(tokens, amount[1])
        if named is None:
            break
        value, j = amount[0], named[1]
        if value is None:
            return None, j
        if tokens.words[j] == "and" and tokens.words[j + 1 : j + 3] == ["a", "half"]:
            value, j = value + 0.5, j + 3
        parts.append((value, named[0]))
    if not parts:
        return None
    return parts, j


def _counts(tokens: Tokens, i: int) -> bool:
    word = tokens.words[i]
    return "0" <= word[:1] <= "9" or word in ONES or word in TENS


def count(tokens: Tokens, i: int) -> tuple[float | None, int] | None:
    """How many of a unit; None for the value where the words give none ("a few")."""
    words = tokens.words
    j = i
    if words[j] == "half":
        j += 2 if words[j + 1] in ("a", "an") else 1
        return 0.5, j
    if words[j] in ("a", "an"):
        following = words[j + 1]
        if following in ("couple", "dozen", "pair") or following in VAGUE_COUNTS:
            j += 1
        elif following in SCALES:
            return SCALES[following], j + 2
        elif following == "good":
            return 1, j + 2
        else:
            return 1, j + 1
    if words[j] in ("couple", "dozen", "pair"):
        value = 12 if words[j] == "dozen" else 2
        return value, j + (2 if words[j + 1] == "of" else 1)
    if words[j] in VAGUE_COUNTS:
        return None, j + 1
    found = cardinal(tokens, j)
    if found is None:
        return None
    value_found, j = found
    if words[j] == "-" and words[j + 1] in UNITS:
        j += 1
    if words[j] == "and" and "half" in words[j + 1 : j + 3]:
        return value_found + 0.5, j + (3 if words[j + 1] == "a" else 2)
    return value_found, j

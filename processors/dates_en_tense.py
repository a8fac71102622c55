"""The tense around an English date: whether it lies ahead, lies behind, or is one of many.

English marks the past in the verb. So what is told in the present beside a date is ahead, where it
is something that is arranged ("I finish in June"), or done again and again ("in winter I swim").
"""

from __future__ import annotations

import re

from memstream.processors.abbreviations import ABBREVIATIONS
from memstream.processors.dates_en_words import lowered

__all__ = ["recurring", "tense"]

_EVENT = (
    r"(?:meeting|appointment|flight|interview|exam|final|reservation|booking|wedding|surgery|"
    r"operation|conference|concert|trip|date|call|checkup|check-up|deadline|session|visit|"
    r"presentation|ticket|ceremony|exhibition|trial|hearing|launch|race|marathon|match|game|gig|"
    r"recital|party|reunion|graduation|audition|tournament|competition|scan|ultrasound|viewing|"
    r"inspection|test|workshop|seminar|webinar|dinner|lunch|brunch|festival|holiday|vacation|"
    r"defen[cs]e|checkout|delivery|half-marathon|triathlon|open day|retreat)s?"
)
_BE = r"(?:am|'m|\bim|is|'s|are|'re|\btheyre|\bshes|\bhes)"
_HAVE = r"(?:have|'ve got|has|'s got|have got|has got)"
_MINE = r"(?:an?|another|my|our|her|his|their|the|two|three|some)"
_SOON = r"(?:all|both|also|finally|probably|now|just|actually|definitely|still|not|only)"
# What one is busy with says nothing of when its dates are: "I'm still missing the summer".
_LASTING = (
    r"(?:miss|remember|recover|think|talk|lov|enjoy|us|wear|read|watch|suffer|deal|feel|"
    r"regret|hurt|griev|mourn|process|liv|work|learn|study|sleep|eat|drink)ing"
)
_BASE = (
    r"(?:fly|leave|depart|arrive|start|begin|move|travel|graduate|return|retire|finish|complete|"
    r"sit|host|submit|defend|present|perform|resume|close on|launch|come back|come home|come out|"
    r"get back|get home|get married|get out|head|"
    r"get (?:my|our|the|their|your) (?:[a-z]+ )?(?:results?|keys?|braces|cast|stitches|degrees?)|"
    r"go (?:back|on|away|live|into|in for)|turn (?:[0-9]+|[a-z]+teen|[a-z]+ty)|"
    rf"take (?:the|my|our|their|your|an?) (?:[a-z]+ )?{_EVENT})"
)
_THIRD = (
    r"(?:starts|begins|takes place|flies|leaves|departs|arrives|lands|expires|ends|opens|closes|"
    r"launches|graduates|returns|finishes|completes|retires|resumes|reopens|premieres|kicks off|"
    r"moves (?:to|in|out|away|back)|ships|airs|runs out|comes (?:back|home|out|over|for|to)|"
    r"goes (?:back|on|away|live|into|off|in for|to (?:college|school|university))|is due|"
    r"goes (?:up|down)|drops in|comes off|winds up|"
    r"gets (?:married|back|home|out|(?:her|his|the|its|their) (?:[a-z]+ )?"
    r"(?:results?|keys?|braces|cast|stitches|degree))|turns (?:[0-9]+|[a-z]+teen|[a-z]+ty)|"
    rf"(?:takes|sits) (?:the|her|his|their|its|an?) (?:[a-z]+ )?{_EVENT})"
)
_NO_NOUN = r"(?<!\ba )(?<!\ban )(?<!\bthe )(?<!\bmy )(?<!\bour )(?<!\bthis )(?<!\bthat )"
_CUE = re.compile(
    r"\b(?:((?:last|final|first) day (?:[a-z'-]+ ){0,4}(?:is|'s|will be)|"
    rf"{_BE} (?:{_SOON} )?(?:thinking (?:of|about)|considering|looking (?:at|into)) [a-z]+ing|"
    rf"{_BE} (?:{_SOON} ){{0,2}}(?!{_LASTING}\b)(?:[a-z]{{2,12}}ing\b(?: [a-z]{{2,}}ed\b)?|due)|"
    rf"{_BE} (?:so |very |really |super |pretty |all |{_SOON} )?(?:to|about to|able to|"
    r"(?:scheduled|planned|booked|slated|set|supposed|expected|meant|ready|excited|nervous|"
    r"anxious|worried) (?:for|about|to|on|in))|(?:am|are|'re|is) (?:not )?(?:closed|cancell?ed)|"
    rf"{_HAVE} (?:{_MINE} )?(?:(?!had|been|seen|done|[a-z]+ed\b)[a-z'-]+ ){{0,2}}{_EVENT}"
    r"(?= (?:on|in|at|this|for|with|to)\b| *$)|"
    r"(?:am|'m|\bim|are|'re|is) (?:in|at|on|away|off|back|out|here|there|abroad|home)|"
    r"(?:am|are|is) (?:i|you|he|she|it|we|they|my [a-z]+|your [a-z]+|[a-z]+) [a-z]{2,}ing|"
    rf"{_BE} (?:[a-z]+ ){{0,2}}(?:free|busy|available|open|closed)|"
    rf"{_EVENT} (?:is|'s|are)|{_THIRD}|(?:i|we|they|you|[a-z]{{2,}}s) {_BASE}|"
    r"(?:is|are|'s|'re)(?=(?: on| in| due| set for| planned for)?(?: the)? *$)|"
    r"(?:promised|agreed|decided|arranged) to [a-z]+|"
    r"(?:i|we|they|you|he|she|it)'d (?:call|come|be|go|send|visit|start|move|meet|let|get|"
    r"arrive|deliver|reply|finish)|"
    r"(?:have|has|got|gotta|'ve got) to|looking forward|"
    r"(?:may|might)(?! have\b) (?:not |also |well |even |just |still )?(?:be|[a-z]{2,})|"
    r"(?:i|we|they|you|he|she|it) could (?!have\b|not\b|only\b|see\b|hear\b|feel\b)[a-z]+|"
    r"will|'ll|won't|shall|going to|gonna|next|upcoming|coming|tomorrow|"
    r"let's|should(?! have\b)|(?:would|'d) (?:like|love|prefer)|wants? to|wanna|needs? to|"
    r"hopes? to|plans to|can (?:you|we|i)|could (?:you|we)|please|remind|expect(?:s|ing)?|"
    rf"intends? to|must(?! have\b)|set up|arrange|can't wait|{_NO_NOUN}(?:plan(?:ning)?|schedule|"
    r"book|meet|intend|deadline|due))"
    r"|((?:was|were|been) (?:going|supposed|meant|planning|hoping|about|due) (?:to|on|in|for)|"
    r"(?:could|might|may|should|must|would) have|used to|"
    r"was|were|went|did|(?:was|were|did|had|has|have|could)n't|had|has|have|been|ago|last|"
    r"yesterday|came|saw|got|took|made|said|told|met|left|bought|sold|born|began|became|gave|"
    r"found|felt|thought|wrote|read|ran|ate|drove|flew|spent|lost|won|sent|paid|heard|broke|fell|"
    r"held|kept|knew|led|grew|moved|swam|sang|drank|slept|woke|rode|taught|caught|chose|built|"
    r"spoke|stood|understood|forgot|hid|dug|hung|drew|threw|wore|tore|froze|stole|shook|shot|sat|"
    r"stuck|struck|swept|rang|rose|lent|dealt|learnt|fed|fought|[a-z]{3,14}ed))\b"
)
_NOUN_CUE = re.compile(
    r"\b(?:deadline|due|maybe|perhaps|possibly|probably|hopefully|plan|schedule)\b"
)
# What is put elsewhere, in the words right before the date it is put to.
_PUT_TO = re.compile(
    r"(?<!had )(?<!had been )\b(?:moved|postponed|rescheduled|re-scheduled|pushed|delayed|shifted|"
    r"switched|changed|bumped|brought|put off|put back|deferred|extended|move|postpone|"
    r"reschedule|push|delay|shift|switch|change|bump)\b"
    r"(?:[^,.!?;]{0,50}?\b(?:to|until|till|til)|"
    r" (?:it|the|my|our|his|her|their)\b[^,.!?;]{0,40}? from)(?: the)? $"
)
# What is got beforehand, for a time that is told last.
_GOT_FOR = re.compile(
    r"(?<!had )\b(?:got|get|have|has|'ve|bought|booked|reserved|snagged|grabbed|scored|ordered|"
    r"made|found)\b(?: [a-z0-9'-]+){0,4}? (?:tickets?|seats?|bookings?|reservations?|"
    r"appointments?|slots?|invitations?|invite|pass(?:es)?|spots?|table|room|flights?|trip|"
    r"cruise|interview)"
    r"(?: (?:for|to)| with)\b(?P<what>(?: (?!was\b|were\b|that\b|which\b|had\b)[a-z0-9'&-]+)*)"
    r"(?: on| in| at| this)?(?: the)? $"
)
_GOT_EVENT = re.compile(
    r"^\W*(?:just )?got an? (?:[a-z]+ )?"
    r"(?:appointment|interview|meeting|exam|viewing|scan|check-?up)"
    r"(?: (?:with|at)(?: [a-z.]+){1,3})? (?:on )?$"
)
_BOOKED_FOR = re.compile(
    r"(?<!was )(?<!were )(?<!had )\b(?:book(?:ed)?|reserved?|scheduled?|arranged?|planned|slated|"
    r"pencill?ed in|signed up|registered|rescheduled|set)\b(?: [a-z0-9'-]+){0,6}? for(?: the)? $"
)
_SIGNED_UP = re.compile(
    r"(?<!was )(?<!were )(?<!had )\b(?:signed up|registered|invited(?: [a-z]+)??|training|"
    r"preparing|practi[cs]ing|studying|packing|waiting|saving|saving up) (?:for|to)"
    rf"(?: [a-z0-9'-]+){{0,3}} {_EVENT}"
    r"(?: (?:for|at|with|in)(?: [a-z0-9'-]+){1,3})? (?:on|in|at|this)(?: the)? $"
)
_KEPT_FROM = re.compile(
    r"\b(?:notes?|photos?|pictures?|pics|e-?mails?|mails?|messages?|report|meeting|minutes|slides|"
    r"video|letter|call|invoice|recording|leftovers|receipt|homework) from(?: the)? $"
)
_OVER = re.compile(r"\b(?:last|yesterday|ago|back (?:in|then)|used to|earlier|previously|once)\b")
_WHOLE_EVENT = re.compile(
    rf"^\W*(?:(?:my|our) )?(?:(?!an?\b|great\b|nice\b|good\b|amazing\b|lovely\b|fun\b|bad\b|"
    r"awesome\b|awful\b|terrible\b|best\b|worst\b|another\b|the\b)[a-z'-]+ ){0,2}?"
    rf"{_EVENT}(?: (?:with|for|at|in)(?: [a-z'-]+){{1,3}})?,? (?:on|in|at|this)? ?$"
)
_ABOUT_TO = re.compile(
    r"^\W*(?:also |now |so )?(?:picking|flying|driving|leaving|heading|meeting|seeing|starting|"
    r"moving|visiting|going|having|taking|travell?ing|hosting|getting|finishing|joining) "
)
# What is said of a day itself: "Friday works", "the 11th is a Sunday"; "June is hot" of any.
_IS = re.compile(r"^ (?:is|are|isn't)\b")
_SUITS = re.compile(
    r"^(?: morning| afternoon| evening)? (?:works|suits|(?:is|looks) (?:fine|good|ok|okay|great|"
    r"better|perfect|free|busy|out|full|best))\b"
)
_BEGINS = re.compile(r"(?:^\W*|[,:] ?|\b(?:and|but|so) )(?:the )?$")
_NUMBERED = re.compile("[0-9]")
_NO_MORE = re.compile(r"^[,. ]*(?:(?:at|from|around|@) [0-9apm:.o' -]+|[0-9]+ ?[ap]m)?\W*$")
_CLAUSE_END = re.compile(r"[.!?;\n。！？；]")


def tense(text: str, start: int, end: int) -> bool | None:
    """True for the future, False for the past: the nearest cue of the clause, left before right."""
    left, right = _clause(text, start, end)
    if not _OVER.search(left) and _is_arranged(left, lowered(text[start:end])):
        return True
    if _KEPT_FROM.search(left):
        return False
    cues = list(_CUE.finditer(left))
    if cues:
        return cues[-1][1] is not None
    if _SUITS.match(right) or (
        _IS.match(right) and _BEGINS.search(left) and _NUMBERED.search(text, start, end)
    ):
        return True
    cue = _CUE.search(right)
    if cue is not None:
        return cue[1] is not None
    if (
        _NOUN_CUE.search(left)
        or _ABOUT_TO.match(left)
        or (_WHOLE_EVENT.match(left) and _NO_MORE.match(right))
    ):
        return True
    return None


def _is_arranged(left: str, date: str) -> bool:
    got = _GOT_FOR.search(left)
    if got is not None and not (got["what"] == "" and _GIVEN.match(date)):
        return True
    return any(each.search(left) for each in (_PUT_TO, _BOOKED_FOR, _SIGNED_UP, _GOT_EVENT))


_GIVEN = re.compile(r"christmas|xmas|valentine|mother|father|easter|hanukkah")
"""Days for which one is given something: "I got tickets for Christmas" tells when."""


def _clause(text: str, start: int, end: int) -> tuple[str, str]:
    """What stands before and behind a date in its clause, in lower case."""
    left = lowered(text[max(0, start - 80) : start])
    breaks = [found.end() for found in _CLAUSE_END.finditer(left) if _breaks(left, found)]
    right = lowered(text[end : end + 60])
    stop = _CLAUSE_END.search(right)
    return left[breaks[-1] if breaks else 0 :], right[: stop.start() if stop else len(right)]


def _breaks(text: str, found: re.Match[str]) -> bool:
    """Whether a clause ends at the sign: not after "Dr."."""
    word = _WORD_BEFORE.search(text, max(0, found.start() - 8), found.start())
    return found.group() != "." or word is None or word.group() not in ABBREVIATIONS


_WORD_BEFORE = re.compile(r"(?<![\w.])[a-z.]+$")


# What is done again and again

_OFTEN = (
    r"(?:usually|always|often|normally|typically|generally|mostly|sometimes|regularly|"
    r"never|rarely|hardly ever|tend to|tends to|every year|each year|most years|every single year)"
)
_WONT = (
    r"(?:get|love|like|hate|prefer|feel|enjoy|eat|drink|wear|go|walk|play|swim|ski|cook|bake|sleep|"
    r"work|have|need|crave|miss|spend|visit|travel|hike|celebrate|suffer|struggle|find|run|do|"
    r"watch|make|take|stay|want|avoid|garden|fish|hunt|surf|camp)"
)
_HABIT_BEFORE = re.compile(rf"\b{_OFTEN}\b[^,]*$|\b(?:every|each) ?(?:[a-z]+ )?$")
_HABIT_BEHIND = re.compile(rf"^,? (?:(?:i|we|he|she|they|it|my [a-z]+) )?{_OFTEN}\b")
_PLAIN = re.compile(
    rf"\b(?:i|we|they|you) (?:(?:don't|do not|really|also|only|never|still|just) )?{_WONT}\b"
    r"|\b(?:he|she|it) (?!is\b|was\b|has\b|does\b|this\b|us\b)[a-z]+s\b"
    r"|\b(?:he|she|it|[a-z]{2,}) (?:(?:doesn't|really|also|only|never|still|just) )?"
    r"(?:loves|likes|hates|prefers|feels|enjoys|eats|drinks|wears|walks|plays|swims|skis|cooks|"
    r"sleeps|works|needs|visits|travels|hikes|celebrates|suffers|struggles|gets (?!married))"
)


def recurring(text: str, start: int, end: int) -> bool:
    """Whether a date is one of many: "we usually ski in January", "in winter I get cravings"."""
    left, right = _clause(text, start, end)
    if _HABIT_BEFORE.search(left):
        cues = list(_CUE.finditer(left))
        return not cues or cues[-1][1] is not None
    if _HABIT_BEHIND.match(right):
        return tense(text, start, end) is not False
    if _IS.match(right) and _BEGINS.search(left) and not _NUMBERED.search(text, start, end):
        return not _SUITS.match(right)
    if tense(text, start, end) is not None:
        return False
    return bool(_PLAIN.search(left) or (_LEADS.search(left) and _PLAIN.match(right.lstrip(" ,"))))


_LEADS = re.compile(r"(?:^|[,:] ?|\band |\bbut |\bso )(?:in|during|on|over|at|around)(?: the)? $")

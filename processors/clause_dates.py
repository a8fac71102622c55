"""The dates that count for what a clause says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal

from memstream.processors.clauses import Clause
from memstream.processors.dates import DateSpan, find_dates
from memstream.processors.rule_files import Rule


def dates_known(
    rule: Rule, clause: Clause, text: str, now: datetime | None, language: Literal["en", "zh"]
) -> list[DateSpan]:
    """The dates of a clause that are known. Where the date is the value itself, a day and its
    month count without a time to reckon from too: they are the same from any."""
    known = [each for each in clause.dates if each.unresolved is None]
    if rule.tense == "future" and now is not None:
        return [each for each in known if each.end is None or each.end > now]
    if known or rule.dates != "value" or now is not None:
        return known
    one, other = (find_dates(text, each, language) for each in _ANY_TIMES)
    said = {each.start_char for each in clause.dates}
    return [
        first
        for first, second in zip(one, other, strict=True)
        if first.start_char in said
        and first.start is not None
        and second.start is not None
        and first.start.timetuple()[1:3] == second.start.timetuple()[1:3]
    ]


def dates_told(
    rule: Rule, clause: Clause, clauses: Sequence[Clause], text: str, language: str
) -> tuple[DateSpan, ...]:
    """The dates of a clause; of a Chinese one that tells a change and names none, those that open
    its sentence: 上个月我离开上海，搬到了杭州."""
    opening = clauses[0]
    if clause.dates or rule.tense != "change" or rule.dates != "validity":
        return tuple(clause.dates)
    before = clauses[: clauses.index(clause)]
    if language != "zh" or not opening.dates or _LATER_ZH.search(text):
        return ()
    alike = all(each.subject in ("none", clause.subject) for each in before)
    others = any(each.dates for each in before[1:])
    return tuple(opening.dates) if before and alike and not others else ()


_ANY_TIMES = (datetime(2024, 3, 13, tzinfo=UTC), datetime(2028, 10, 5, tzinfo=UTC))
_LATER_ZH = re.compile("后|然后|接着|现在|目前|终于|如今|[再又]")

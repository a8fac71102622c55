"""Clauses that give the reason of what the one before them says."""

from __future__ import annotations

from memstream.processors.clauses import Clause

REASONS = {
    "because": "because ", "since": "since ",
    "因为": "因为", "是因为": "因为", "由于": "由于", "是由于": "由于",
}  # fmt: skip
"""What opens such a clause, and how the reason is told."""


def gives_reason(clause: Clause) -> bool:
    """Whether a clause tells why, and not since when: "since it gave me migraines"."""
    since = clause.lead == "since" and (clause.dates or clause.subject == "self")
    return clause.lead in REASONS and not since

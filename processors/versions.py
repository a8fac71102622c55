"""The versions of the processors. Raise one whenever its processor would decide anything otherwise
than before: it is part of the pipeline's fingerprint, and so asks for a rebuild.

They stand apart from the processors because a command that only reads needs the fingerprint, and
not what it stands for.
"""

GATE = 4
EXTRACT = 50
RESOLVE = 19
ENRICH = 1
LEXEMES = 1
"""Raise it when any text could get other lexemes: stores built with another one must be rebuilt."""

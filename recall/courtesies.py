"""Courtesies: what is said to somebody and asks their memory for nothing, in English and Chinese.

An application may put every turn of a conversation as a question; for "thanks!" the nearest memory
is none that should be in the prompt.
"""

from __future__ import annotations

from memstream.processors.talk import read_turn


def is_courtesy(query: str) -> bool:
    """Whether a question is made of greetings, thanks, farewells and acknowledgements alone. A name
    is content ("Hello Kitty"), and so is a single word that is one of these
    in company only ("morning", 测试): somebody may look for it."""
    if query.strip().lower() in _SOUGHT_ALONE:
        return False
    # A name may follow a greeting only with a capital letter: without capitals it is another word.
    reading = read_turn(query.lower())
    said = reading.questions or reading.claims or reading.statements
    return reading.pleasantries > 0 and not said


_SOUGHT_ALONE = frozenset(
    "morning afternoon evening night test testing ping enjoy welcome regards deal sweet neat super "
    "back home next done ready correct true fair copy roger beautiful perfect interesting helpful "
    "测试 辛苦 加油 有趣 完美 睡了 走了".split()
)

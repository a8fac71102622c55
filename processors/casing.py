"""Names that somebody writes in small letters: "my dog is called rex".

Rules know a name by its capital letter. Who writes none at all gives his names away by the words
before them, and only those: "my son is leo" could as well be "my son is ill".
"""

from __future__ import annotations

import re

from memstream.processors.words import Phrases

_WRITTEN_SMALL = re.compile(r"(?<!^)(?!I\b)[A-Z]")
"""A capital letter that is neither the first one nor "I"."""
_NAME = r"[a-zà-ÿ][a-zà-ÿ'’-]+"
_END = (
    r"(?=\s*$|\s*[,.;!?)]|\s+(?:and|but|or|who|which|that|from|in|at|since|because|he|she|it|last|on"
    r"|yesterday|today|next|when|for|after|with)\b)"
)
_ONE = re.compile(
    r"\b(?:name(?: is|['’]s)|(?:called|named)(?: him| her| it)?|call me|known as"
    r"|(?:married|engaged) to|divorced from) "
    rf"(?P<names>{_NAME}){_END}"
)
_FIRM = re.compile(rf"\b[Ii](?:['’]m| am|m) an? (?:[a-z-]+ ){{1,4}}at (?P<names>{_NAME}){_END}")
_SEVERAL = re.compile(
    rf"\b(?:are (?:called|named)|names are) (?P<names>{_NAME}(?:(?:,? and |, ){_NAME})+)"
    r"(?=\s*$|[.;!?)])"
)
_NO_NAMES = frozenset(
    "me him them us off out up back over after myself himself herself mum mom dad earlier again"
    " once twice names something nothing unusual long short hard difficult weird strange funny"
    " common rare pretty beautiful lovely important hidden unknown secret irrelevant private"
    " spelled pronounced written very too quite rather already taken missing wrong work heart home"
    " night large present first least all times school university college last noon sea war risk"
    " peace rest best worst hand church".split()
)
"""Words that follow, and name nobody: "his name is unusual", "he called me back", "I'm a poet at
heart"."""


def with_names(text: str, not_names: Phrases) -> str:
    """The sentence with a capital letter to each name in it, where it is written without any;
    as long as it was, so that places in it stay."""
    if _WRITTEN_SMALL.search(text) is not None:
        return text

    def capital(match: re.Match[str]) -> str:
        word = match.group()
        plain = word == "and" or word in not_names or word in _NO_NAMES
        return word if plain else word[0].upper() + word[1:]

    def written(match: re.Match[str]) -> str:
        lead = match.group()[: match.start("names") - match.start()]
        return lead + re.sub(_NAME, capital, match["names"])

    for form in (_SEVERAL, _ONE, _FIRM):
        text = form.sub(written, text)
    return text

"""Names that somebody writes in small letters: "my dog is called rex".

Rules know a name by its capital letter. Who writes none at all gives his names away by the words
before them, and only those: "my son is leo" could as well be "my son is ill".
"""

from __future__ import annotations

import re

from memstream.processors.names import NOT_CALLED, is_name_like
from memstream.processors.rules import Rulebook

_WRITTEN_SMALL = re.compile(r"(?<!^)(?!I\b)[A-Z]")
"""A capital letter that is neither the first one nor "I"."""
_NAME = r"[a-zà-ÿ][a-zà-ÿ'’-]+"
_END = (
    r"(?=\s*$|\s*[,.;!?)]|\s+(?:and|but|or|who|which|that|from|in|at|since|because|he|she|it|last|on"
    r"|yesterday|today|next|when|for|after|with)\b)"
)
_ONE = re.compile(
    r"\b(?:(?<!\b[Mm]y )name(?: is|['’]s)|(?:called|named)(?: him| her| it)?|known as"
    r"|(?:married|engaged) to|divorced from) "
    rf"(?P<names>{_NAME}){_END}"
)
_OWN = re.compile(
    r"\b(?:[Mm]y name(?: is|['’]s)|[Cc]all me(?! [\w’'-]+,? but\b)) "
    rf"(?P<names>{_NAME}){_END}"
)
"""An animal may be called lucky; who says so of himself says what he is like: "call me old"."""
_FIRM = re.compile(rf"\b[Ii](?:['’]m| am|m) an? (?:[a-z-]+ ){{1,4}}at (?P<names>{_NAME}){_END}")
_BROUGHT_IN = re.compile(
    r"\b[Ii](?:['’]?ve)? (?:have |got |have got )?an? (?:girlfriend|boyfriend|gf|bf|wife|husband"
    rf"|fianc[eé]e?|partner), (?P<names>{_NAME})(?=\s*$|[.;!?)])"
)
_SEVERAL = re.compile(
    rf"\b(?:are (?:called|named)|names are) (?P<names>{_NAME}(?:(?:,? and |, ){_NAME})+)"
    r"(?=\s*$|[.;!?)])"
)
_COUNTED = re.compile(
    r"\b(?:two|three|four|\d) (?:[a-z]+ )?(?:kids|children|sons|daughters|boys|girls|cats|dogs"
    r"|kittens|puppies|rabbits|birds|hamsters|horses|sisters|brothers)(?:,|:|,? (?:called|named)) "
    rf"(?P<names>{_NAME}(?:, {_NAME})*,? and {_NAME})(?=\s*$|[.;!?)])"
)
_PARTS = (
    "branch repo repository project service server cluster host package module file folder function"
    " class variable field column table database bucket queue topic script job command flag env tag"
).split()
_OF_A_PROJECT = re.compile(rf"\b(?:{'|'.join(_PARTS)})\b")
"""What is called by a name that is written as it is: "the branch is called trunk"."""
_NO_NAMES = frozenset(
    "me him them us off out up back over after myself himself herself mum mom dad earlier again"
    " once twice names something nothing unusual long short hard difficult weird strange funny"
    " common rare pretty beautiful lovely important hidden unknown secret irrelevant private"
    " spelled pronounced written very too quite rather already taken missing wrong work heart home"
    " night large present first least all times school university college last noon sea war risk"
    " peace rest best worst hand church weekends weekdays nights mornings evenings soon often"
    " always later sometimes never sometime anytime whenever asap instead everywhere anywhere upon"
    " collect now unique similar popular biblical undecided confidential tba unpronounceable"
    " misspelled mispronounced misspelt wrongly correctly right correct mud paranoid".split()
)
"""Words that follow, and name nobody: "his name is unusual", "he called me back", "I'm a poet at
heart"."""


_ADVERBS = ("adverbs", "openers", "trailing")


def with_names(text: str, book: Rulebook) -> str:
    """The sentence with a capital letter to each name in it, where it is written without any;
    as long as it was, so that places in it stay."""
    if _WRITTEN_SMALL.search(text) is not None:
        return text
    lower = text.lower()
    if any(map(lower.__contains__, _PARTS)) and _OF_A_PROJECT.search(lower) is not None:
        return text
    not_names = book.phrase_list("not_names"), book.phrase_list("nationality")

    def capital(match: re.Match[str]) -> str:
        word = match.group()
        plain = word == "and" or word in _NO_NAMES or any(word in each for each in not_names)
        return word if plain else word[0].upper() + word[1:]

    def written(match: re.Match[str]) -> str:
        lead = match.group()[: match.start("names") - match.start()]
        return lead + re.sub(_NAME, capital, match["names"])

    def own(match: re.Match[str]) -> str:
        name = match["names"]
        fits = "-" not in name or not name.endswith("ed")
        fits = fits and name not in _NO_NAMES and is_name_like(name, book, apart=NOT_CALLED)
        fits = fits and not any(book.phrase_list(each).length_at([name], 0) for each in _ADVERBS)
        return written(match) if fits else match.group()

    def counted(match: re.Match[str]) -> str:
        names = [each for each in re.findall(_NAME, match["names"]) if each != "and"]
        fits = all(is_name_like(each, book, apart=NOT_CALLED) for each in names)
        return written(match) if fits and _NO_NAMES.isdisjoint(names) else match.group()

    text = _COUNTED.sub(counted, _BROUGHT_IN.sub(own, _OWN.sub(own, text)))
    for form in (_SEVERAL, _ONE, _FIRM):
        text = form.sub(written, text)
    return text

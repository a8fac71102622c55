"""Values of facts about a project: commands, versions, branches, paths, conventions."""

from __future__ import annotations

import re

import msgspec

from memstream.processors.regions import Region, Value, determiners
from memstream.processors.words import CODE, REDACTED


def codes(region: Region) -> list[Value]:
    """Text between backticks."""
    if region.norm[:1] != [CODE]:
        return []
    inner = region.raw[0].strip("`").strip()
    if not inner or "[redacted:" in inner:
        return []
    return [msgspec.structs.replace(region.part(0, 1).value(inner), spoken=inner)]


def commands(region: Region) -> list[Value]:
    """A command: between backticks, or begun by a program that is known as one."""
    if region.norm[:1] == [CODE]:
        return codes(region)
    if region.norm[:1] and region.norm[0] in region.book.phrase_list("programs"):
        stops = region.book.phrase_list("command_stops")
        end = 1
        while end < len(region.norm) and not stops.length_at(region.norm, end):
            end += 1
        return [region.part(0, end).value()] if end <= 8 else []
    return []


def programs(region: Region) -> list[Value]:
    """A command that begins with a program that is known as one, or with a script: what tests can
    be moved to, and no folder."""
    found = commands(region)
    said = found[0].value.split() if found else []
    known = region.book.phrase_list("programs")
    runs = bool(said) and (said[0].lower() in known or said[0].startswith("./"))
    return found if runs else []


def versions(region: Region) -> list[Value]:
    """A version: "3.12", "v18"."""
    if region.norm and re.fullmatch(r"v?\d+(?:\.\d+)*(?:\+|\.x)?", region.norm[0]):
        return [region.part(0, 1).value()]
    return []


def branches(region: Region) -> list[Value]:
    """A branch: between backticks, or one word that is usual for one."""
    if region.norm[:1] == [CODE]:
        return codes(region)
    if region.norm and (region.norm[0] in _BRANCHES or "/" in region.norm[0]):
        return [region.part(0, 1).value()]
    return []


_BRANCHES = frozenset("main master develop dev trunk staging production release next".split())


def paths(region: Region) -> list[Value]:
    """A file or folder: between backticks, or a word with a slash in it."""
    if region.norm[:1] == [CODE]:
        return codes(region)
    if region.norm and re.fullmatch(r"~?\.?/?(?:[\w.-]+/)+[\w.-]*", region.raw[0]):
        return [region.part(0, 1).value()]
    return []


def shorts(region: Region) -> list[Value]:
    """One to four words that name something."""
    refused = region.book.phrase_list("not_values")
    if not 0 < len(region.norm) <= 4 or refused.length_at(region.norm, 0):
        return []
    return [region.value(skip=determiners(region))]


def trades(region: Region) -> list[Value]:
    """A few words with one of the trade among them: "commit messages"."""
    trade = region.book.phrase_list("convention_words")
    named = any(trade.length_at(region.norm, at) for at in range(len(region.norm)))
    return shorts(region) if named else []


def conventions(region: Region) -> list[Value]:
    """A rule of work, recognised by a word of the trade in it."""
    trade = region.book.phrase_list("convention_words")
    norm = region.norm
    if len(norm) < 2 or len(norm) > 20 or REDACTED in norm:
        return []
    clause = region.words.norm[: region.end]
    if not any(trade.length_at(clause, at) for at in range(len(clause))):
        return []
    begin = region.words.start[0]
    finish = region.words.end[region.end - 1]
    said = region.text[begin:finish].strip(" ,.;!?，。；！")
    return [Value(said, said, begin, finish)]

"""Reads real conversation files into raw events. Nothing is captured or stored here.

One module per format; each recognises its files by content, never by their name. The ids are
deterministic, so importing a file again, or a longer version of it, adds only what is new (see
``event_making``). What belongs here: one adapter for one format, and what all of them share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path

from memstream.schemas.errors import ImportFault
from memstream.schemas.instants import fault_of_instant
from memstream.schemas.scope import Scope
from memstream.streams.importers import (
    anthropic_blocks,
    chatgpt_export,
    claude_code,
    claude_export,
    dated_chat,
    everos,
    locomo,
    longmemeval,
    madial,
    openai_messages,
    openhands,
    own_jsonl,
    swe_agent,
    transcript,
    whatsapp,
)
from memstream.streams.importers.contract import (
    Broken,
    Imported,
    Importer,
    Item,
    Note,
    Record,
    Unreadable,
)
from memstream.streams.importers.documents import Shape, records_of, sample_of, shape_of
from memstream.streams.importers.event_making import Making
from memstream.streams.importers.nearest import FORMS, nearest
from memstream.streams.importers.plain_text import Told

__all__ = [
    "FORMATS",
    "Broken",
    "Imported",
    "Importer",
    "Item",
    "Note",
    "Told",
    "detect",
    "read_file",
]

_Opening = Callable[[Path, str], Iterator[Item]]

FORMATS: dict[str, Importer] = {
    module.IMPORTER.name: module.IMPORTER
    for module in (
        own_jsonl,
        claude_code,
        chatgpt_export,
        claude_export,
        locomo,
        everos,
        longmemeval,
        swe_agent,
        openhands,
        madial,
        dated_chat,
        anthropic_blocks,
        openai_messages,
        whatsapp,
        transcript,
    )
}
"""Every format by name, in the order in which a file is shown to them: the narrow ones first."""


def detect(path: Path) -> str:
    """The name of the file's format, by its content. Reads the start of the file only.

    Raises ``ImportFault`` where it is empty, unreadable, or in none of the formats.
    """
    return _recognised(path, shape_of(path))[0]


def read_file(
    path: Path,
    *,
    scope: Scope,
    now: datetime,
    format: str = "auto",  # noqa: A002  the name of the option on the command line
    observed_at: datetime | None = None,
    utc_offset: timezone | None = None,
    told: Told | None = None,
) -> Iterator[Item]:
    """The events of a file, or of every file in a folder, in order.

    ``now`` is the moment of import and stands in for a time only where there is no other;
    ``observed_at`` is the time of messages in files that hold none; ``utc_offset`` is what times
    without an offset are read in (UTC where it is None); ``told`` is what a plain text may leave
    open. Hidden files of a folder are passed over;
    one that is not recognised is a ``Broken``.

    Raises ``ImportFault`` at once where the arguments are wrong, or the one file given is
    unreadable or in no known format.
    """
    for name, instant in (("now", now), ("observed_at", observed_at)):
        fault = None if instant is None else fault_of_instant(name, instant)
        if fault:
            raise ImportFault(f"import of {path}: {fault}")
    if format != "auto" and format not in FORMATS:
        raise ImportFault(f"format {format!r} is unknown; mend: --format auto, {_choices()}")

    def open_file(file: Path, where: str) -> Iterator[Item]:
        shape = shape_of(file)
        if shape == "empty":
            return iter([Note(f"{where or file.name}: is empty; nothing to import")])
        form, shape = _recognised(file, shape) if format == "auto" else (format, shape)
        making = Making(
            scope=scope, form=form, now=now, observed_at=observed_at, utc_offset=utc_offset
        )
        survey = FORMATS[form].survey
        if survey is not None:
            shape = "text"
            try:
                making.survey = survey(records_of(file, shape), told or Told(), scope.owner)
            except Unreadable as error:
                raise ImportFault(f"{file}: format {form}: {error}") from error
        elif shape == "text":
            shape = "lines"
        return _items(file, shape, FORMATS[form], making)

    if path.is_dir():
        return _folder(path, open_file)
    return open_file(path, "")


def _recognised(path: Path, shape: Shape) -> tuple[str, Shape]:
    """The format, and the shape to read it in."""
    if shape == "empty":
        raise ImportFault(f"{path}: is empty, so its format cannot be told")
    shapes: dict[Shape, tuple[Shape, ...]] = {
        "text": ("text", "lines"),
        "unknown": ("text", "unknown"),
    }
    given = shapes.get(shape, (shape,))
    records: list[Record] = []
    for each in given:
        records = sample_of(path, each)
        values = [record.value for record in records]
        for name, importer in FORMATS.items():
            if importer.claims(values):
                doubt = None if importer.doubt is None else importer.doubt(values)
                if doubt is None:
                    return name, each
                raise ImportFault(
                    f"{path}: its format is not recognised: {records[doubt.at].where} "
                    f"{doubt.problem}; mend: --format {name}, if it is a conversation all the same"
                )
    values = [record.value for record in records]
    in_json = shape not in shapes or any(isinstance(value, dict | list) for value in values)
    if not values or not in_json:
        raise ImportFault(
            f"{path}: its format is not recognised: it holds no JSON object, and no lines of a "
            f"conversation; mend: one object a line, e.g. {FORMS[0].example}, or text as "
            "'User: ...' and 'Assistant: ...'; with other names --format transcript --speaker NAME"
        )
    problem, mend = nearest(values[0])
    raise ImportFault(
        f"{path}: its format is not recognised; {records[0].where} {problem}; "
        f"mend: {mend}, or name the format with --format, if it is one of {_choices()}"
    )


def _choices() -> str:
    return ", ".join(FORMATS)


def _items(file: Path, shape: Shape, importer: Importer, making: Making) -> Iterator[Item]:
    for item in importer.read(records_of(file, shape), making):
        yield from making.take_notes()
        yield item
    making.close()
    yield from making.take_notes()


def _folder(folder: Path, open_file: _Opening) -> Iterator[Item]:
    files = sorted(
        file
        for file in folder.rglob("*")
        if file.is_file() and not any(p.startswith(".") for p in file.relative_to(folder).parts)
    )
    if not files:
        yield Note(f"{folder}: holds no files; nothing to import")
    for file in files:
        where = file.relative_to(folder).as_posix()
        try:
            for item in open_file(file, where):
                yield _placed(item, where)
        except ImportFault as fault:
            yield Broken(where, str(fault).removeprefix(f"{file}: "))


def _placed(item: Item, where: str) -> Item:
    """The item with the name of its file before its place."""
    if isinstance(item, Imported):
        return Imported(item.event, f"{where}, {item.where}")
    if isinstance(item, Broken):
        return Broken(f"{where}, {item.where}", item.problem)
    return item if item.text.startswith(where) else Note(f"{where}: {item.text}")

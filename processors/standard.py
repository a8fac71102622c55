"""The standard pipeline: gate, extract, resolve, enrich, with a directory's own ``settings``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import lru_cache
from pathlib import Path

from memstream.processors.enrich import Enrich
from memstream.processors.extract import Extract, Reader
from memstream.processors.gate import Gate
from memstream.processors.pipeline import Pipeline, Reads
from memstream.processors.resolve import Resolve
from memstream.processors.settings import (
    attributes_in,
    policies,
    policy_in,
    rules_in,
    setting_files,
)
from memstream.schemas.events import Event


def standard_pipeline(settings: Path | None = None, *, warm: bool = True) -> Pipeline:
    """The pipeline, extended by the files in ``settings`` where there are any.

    Compiling the rules takes some tenths of a second, and so does importing spaCy; a process does
    it once for equal settings. Without ``warm`` it waits for the first text that is to be read.
    """
    content = tuple((path, path.read_bytes()) for path in setting_files(settings))
    pipeline, reader = _compiled(settings if content else None, content)
    if warm:
        reader.warm_up()
    return pipeline


def reading_by(
    pipeline: Pipeline, reader: Reads, expect: Callable[[Sequence[Event]], None]
) -> Pipeline:
    """The same pipeline with its texts read by another reader, which finds in them the same and
    wants to be told what comes."""
    other = copy(pipeline)
    other.processors = tuple(
        Extract(reader) if isinstance(each, Extract) else each for each in pipeline.processors
    )
    other.expect = expect
    return other


def reader_of(pipeline: Pipeline) -> Reader:
    """What reads the texts in a standard pipeline. Raises ``TypeError`` for another one."""
    for each in pipeline.processors:
        if isinstance(each, Extract) and isinstance(each.reader, Reader):
            return each.reader
    raise TypeError("a pipeline without a reader of its own")


@lru_cache(maxsize=8)
def _compiled(
    settings: Path | None, _content: tuple[tuple[Path, bytes], ...]
) -> tuple[Pipeline, Reader]:
    attributes, policy, rules = attributes_in(settings), policy_in(settings), rules_in(settings)
    reader = Reader(attributes, rules)
    pipeline = Pipeline(
        [Gate(policy), Extract(reader), Resolve(attributes, reader), Enrich(attributes)],
        policy=policies(policy, attributes, rules),
    )
    return pipeline, reader

"""Reads texts ahead of the pipeline, in processes of their own: for large imports and rebuilds.

What a text says depends on nothing but its event and the rules, and finding it out is over half of
the work. So the events that come next are offered here; whatever process gets to them first reads
them, this one included, and the pipeline finds its answers ready. It makes no difference to what
is derived. A reading process keeps nothing, opens no file of the directory, and ends when the pipe
to it does; where one fails, this process reads what it would have.
"""

from __future__ import annotations

import gc
import os
import signal
import struct
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from pathlib import Path
from queue import SimpleQueue
from typing import IO

import msgspec
import structlog

from memstream.processors.extract import Reader
from memstream.processors.standard import reader_of, reading_by, standard_pipeline
from memstream.projections.forks import tell_of_forks
from memstream.schemas.codec import Codec, SealedRow
from memstream.schemas.errors import LogUnavailable
from memstream.schemas.events import Event
from memstream.schemas.memories import Assertion
from memstream.streams.clock import Deadline

CHUNK = 16
"""Events that a process takes at a time: so long, at most, one waits for another."""
UNDER_WAY = 3
"""Chunks that a process has been given and has not answered: its answer may wait for this
interpreter's lock, and the next chunk for the same, so long that it reads two more."""
MOST_CALLS_KEPT = 8
"""What was told before so many calls of ``expect`` is forgotten: the gate rejected it."""
PATIENCE_SECONDS = 2.0
"""So long one waits for what another process is at; then it reads it, too: that one may be
stopped."""
_LENGTH = struct.Struct(">I")
_PROGRAM = (
    "import sys; sys.path[:] = sys.argv[2:]; "
    "from memstream.streams.reading_ahead import read_for_another; "
    "read_for_another(sys.argv[1])"
)

_LOGGER = structlog.get_logger(__name__)

Found = list[list[Assertion] | None]
"""What each of some events says; None where it could not be read."""


class _Chunk:
    """Some events, and what they say once somebody has read them."""

    def __init__(self, events: Sequence[Event]) -> None:
        self.events = events
        self.found: Found | None = None


class ReadingAhead:
    """Reads events in this process and in ``processes`` others, for ``pipeline``: the standard one
    with the ``settings`` of a directory. Answers as ``Reader`` does.

    Several threads may call it. Raises ``LogUnavailable`` where this Python cannot start another.
    """

    def __init__(self, settings: Path | None, processes: int) -> None:
        self._others: list[subprocess.Popen[bytes]] = []
        for _ in range(processes):
            try:
                self._others.append(started(settings))
            except OSError as error:
                _LOGGER.warning("reading_process_not_started", error=str(error))
        alone = standard_pipeline(settings)
        self.pipeline = reading_by(alone, self, self.expect)
        self._reader = reader_of(alone)
        self._waiting: deque[_Chunk] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._places: dict[int, tuple[_Chunk, int]] = {}
        """Where the answer to each event is, by its identity."""
        self._told: deque[list[_Chunk]] = deque()
        """What was expected and is not forgotten yet."""
        self._threads = [
            threading.Thread(
                target=self._serve, args=(each,), name=f"memstream-reading-{number}", daemon=True
            )
            for number, each in enumerate(self._others)
        ]
        for thread in self._threads:
            thread.start()
        tell_of_forks(self)

    def expect(self, events: Sequence[Event]) -> None:
        """Tells which events will be read after those told before."""
        chunks = [_Chunk(events[at : at + CHUNK]) for at in range(0, len(events), CHUNK)]
        with self._changed:
            self._told.append(chunks)
            self._waiting.extend(chunks)
            if self._closed:
                self._give_up(chunks)
            for chunk in chunks:
                for at, event in enumerate(chunk.events):
                    self._places[id(event)] = chunk, at
            if len(self._told) > MOST_CALLS_KEPT:
                late = self._told.popleft()
                self._give_up([each for each in late if each in self._waiting])
                for chunk in late:
                    for event in chunk.events:
                        self._places.pop(id(event), None)
            self._changed.notify_all()

    def read(self, event: Event) -> list[Assertion]:
        """What the event claims. Raises what ``Reader.read`` does."""
        place = self._places.get(id(event))
        if place is not None:
            chunk, at = place
            found = self._finished(chunk)[at]
            if found is not None:
                return found
        return self._reader.read(event)

    @property
    def pids(self) -> list[int]:
        """The other processes."""
        return [each.pid for each in self._others]

    def close(self) -> None:
        """Ends the other processes. Afterwards all is read here."""
        with self._changed:
            self._closed = True
            self._give_up(list(self._waiting))
            self._changed.notify_all()
        self._end()

    def _end(self) -> None:
        """Kills the other processes: they keep nothing, and one that is stopped, or cannot get
        rid of its answer, would not see the end of its input."""
        for each in self._others:
            each.kill()
            each.wait()
        for thread in self._threads:
            thread.join()
        for each in self._others:
            for pipe in (each.stdin, each.stdout):
                with suppress(OSError):  # what it was not told yet has nowhere to go
                    _pipe(pipe).close()
        self._others, self._threads = [], []

    def _finished(self, chunk: _Chunk) -> Found:
        """What a chunk says. While another process is at it, this one reads what comes last, and
        then waits, but not for ever."""
        patience: Deadline | None = None
        while True:
            with self._changed:
                if chunk.found is not None:
                    return chunk.found
                if chunk in self._waiting:
                    self._waiting.remove(chunk)
                    mine = chunk
                elif self._waiting:
                    mine = self._waiting.pop()
                else:
                    patience = patience or Deadline(PATIENCE_SECONDS)
                    if not patience.passed:
                        self._changed.wait(patience.left_s)
                        continue
                    mine = chunk
            found = [_read(self._reader, partial(_same, event)) for event in mine.events]
            with self._changed:
                mine.found = found
                self._changed.notify_all()

    def _give_up(self, chunks: Iterable[_Chunk]) -> None:
        """Leaves waiting chunks to whoever asks for their events. Under the lock."""
        for chunk in chunks:
            self._waiting.remove(chunk)
            chunk.found = [None for _ in chunk.events]

    def after_fork(self) -> None:
        """In a forked child: the other processes are the parent's, and must see it end."""
        for each in self._others:
            for pipe in (each.stdin, each.stdout):
                nothing = os.open(os.devnull, os.O_RDWR)
                os.dup2(nothing, _pipe(pipe).fileno(), inheritable=False)
                os.close(nothing)
        _OF_THE_PARENT.extend(self._others)
        self._changed = threading.Condition()
        self._others, self._threads, self._closed = [], [], True
        self._waiting.clear()
        for chunk in chain.from_iterable(self._told):
            if chunk.found is None:
                chunk.found = [None for _ in chunk.events]

    def _serve(self, other: subprocess.Popen[bytes]) -> None:
        """Hands chunks to another process until it fails or this one closes."""
        given: deque[_Chunk] = deque()
        source, answers = _pipe(other.stdin), _pipe(other.stdout)
        try:
            told = _received(answers).decode()
            if told != self.pipeline.fingerprint:
                raise EOFError(f"it reads by the rules {told}, not {self.pipeline.fingerprint}")
            while True:
                with self._changed:
                    self._changed.wait_for(lambda: given or self._waiting or self._closed)
                    if self._closed:
                        return
                    fresh = []
                    while self._waiting and len(given) < UNDER_WAY:
                        fresh.append(self._waiting.popleft())
                        given.append(fresh[-1])
                for chunk in fresh:
                    _send(source, _asked(chunk.events))
                found = _FOUND.decode(_received(answers))
                with self._changed:
                    given.popleft().found = found
                    self._changed.notify_all()
        except (OSError, EOFError, ValueError, msgspec.MsgspecError) as error:
            if not self._closed:
                _LOGGER.warning(
                    "reading_process_lost",
                    error=str(error),
                    kind=type(error).__name__,
                    pid=other.pid,
                )
        finally:
            with self._changed:
                self._waiting.extendleft(given)
                self._give_up(given)
                self._changed.notify_all()


def read_for_another(settings: str) -> None:
    """What the other process does: reads events from its input until that ends. ``settings`` is
    the folder of the owner's settings, or empty."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's is for the one that asks
    source, answers = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # whatever a library prints is no answer
    pipeline = standard_pipeline(Path(settings) if settings else None)
    reader, codec = reader_of(pipeline), Codec()
    gc.freeze()  # the rules stay as they are: to look through them takes a quarter of a second
    _send(answers, pipeline.fingerprint.encode())
    asked: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_take_in, args=(source, asked), daemon=True).start()
    while True:
        rows = _ROWS.decode(asked.get())
        found: Found = [_read(reader, partial(codec.from_row, row)) for row in rows]
        try:
            _send(answers, _ENCODER.encode(found))
        except BrokenPipeError:
            os._exit(0)  # an answer that was not sent is not tried again


def _take_in(source: IO[bytes], asked: SimpleQueue[bytes]) -> None:
    """Takes everything in as it comes, so that who asks never waits for room in the pipe, and ends
    the process with its input: nobody is there any more."""
    while True:
        try:
            asked.put(_received(source))
        except EOFError:
            os._exit(0)


_ROWS = msgspec.json.Decoder(list[SealedRow])
_FOUND: msgspec.json.Decoder[Found] = msgspec.json.Decoder(Found)
_ENCODER = msgspec.json.Encoder()  # and not MessagePack, whose instants lose the speaker's offset


_OF_THE_PARENT: list[subprocess.Popen[bytes]] = []
"""What a forked child must not close: a write of the parent's may be half done in its buffer."""


def _asked(events: Sequence[Event]) -> bytes:
    return _ENCODER.encode(Codec().to_rows(events))


def _read(reader: Reader, event: Callable[[], Event]) -> list[Assertion] | None:
    """What an event says; None where reading fails: it will be read again in its own place, and
    then the failure counts."""
    try:
        return reader.read(event())
    except Exception as error:
        _LOGGER.debug("not_read_ahead", error=str(error), kind=type(error).__name__)
        return None


def _same(event: Event) -> Event:
    return event


def can_start() -> bool:
    """Whether this program can start another Python. One frozen into a single file would start
    itself."""
    return bool(sys.executable) and not getattr(sys, "frozen", False)


def started(settings: Path | None) -> subprocess.Popen[bytes]:
    """Another process that reads by the rules of these settings."""
    if not can_start():
        raise LogUnavailable(
            "readers: this program cannot start another Python (it does not know its own, or is "
            "one file that holds its Python); mend: open it with readers=0"
        )
    folder = "" if settings is None else str(settings)
    return subprocess.Popen(  # noqa: S603  this project's own program
        [sys.executable, "-c", _PROGRAM, folder, *sys.path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise OSError("the other process was started without a pipe")
    return pipe


def _send(pipe: IO[bytes], message: bytes) -> None:
    pipe.write(_LENGTH.pack(len(message)) + message)
    pipe.flush()


def _received(pipe: IO[bytes]) -> bytes:
    """One message. Raises ``EOFError`` where the other side ended."""
    (length,) = _LENGTH.unpack(_exactly(pipe, _LENGTH.size))
    return _exactly(pipe, length)


def _exactly(pipe: IO[bytes], length: int) -> bytes:
    found = pipe.read(length)
    if len(found) < length:
        raise EOFError("the other process ended")
    return found

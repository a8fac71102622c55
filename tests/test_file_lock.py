"""Locks on files where the system refuses one: nothing is left open, and nobody stands in line."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from unittest.mock import patch

import pytest

from memstream.projections import file_lock
from memstream.projections.file_lock import FileLock
from memstream.streams.line import Line
from memstream.streams.sqlite_files import FileUnavailable


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.EOPNOTSUPP, errno.EINTR])
def test_a_lock_that_is_refused_leaves_no_file_open(tmp_path: Path, code: int) -> None:
    lock = FileLock(tmp_path / "lock")
    free = os.open(tmp_path, os.O_RDONLY)
    os.close(free)
    with patch.object(file_lock, "try_lock", side_effect=OSError(code, os.strerror(code))):
        for _ in range(3):
            with pytest.raises(OSError, match=os.strerror(code)):
                lock.acquire()
    now = os.open(tmp_path, os.O_RDONLY)
    os.close(now)
    assert now == free
    assert lock.acquire()
    lock.release()


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EMFILE, errno.EROFS])
def test_who_gets_no_place_does_not_stand_in_line(tmp_path: Path, code: int) -> None:
    opened = os.open

    def refuses(path: Path, *rest: int) -> int:
        if "worker.line." in str(path):
            raise OSError(code, os.strerror(code))
        return opened(path, *rest)

    line, other = Line(tmp_path), Line(tmp_path)
    with patch.object(os, "open", refuses), pytest.raises(FileUnavailable):
        line.step()
    assert not line.standing
    assert other.step()
    assert not line.step()
    other.leave()
    assert line.step()
    line.leave()

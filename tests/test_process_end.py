"""A process that ends without closing its memories: they are closed for it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from memstream import Memory, Scope

ANN = Scope(tenant="acme", user="ann")
SOURCE = str(Path(__file__).parent.parent / "src")

_BEGIN = f"""
import atexit, os, sys, threading
sys.path.insert(0, {SOURCE!r})

def left():
    names = [each.name for each in threading.enumerate() if each.name.startswith("memstream")]
    print("left", len(names), *names, flush=True)

atexit.register(left)  # Before memstream: what is registered first is called last.
from memstream import Memory, Scope
ann = Scope(tenant="acme", user="ann")
memory = Memory.open(sys.argv[1])
memory.record_turn(ann, text="I live in Oslo.")
"""
_ENDS = {
    "at its last line": "",
    "flushed": "memory.flush()",
    "by an error": "memory.flush(); raise ValueError('of its own')",
    "by sys.exit": "sys.exit(3)",
    "with two open": "Memory.open(sys.argv[1] + '-other').record_turn(ann, text='Hi')",
    "closed": "memory.close()",
}


@pytest.mark.parametrize("end", _ENDS)
def test_no_thread_of_a_memory_outlives_the_process(tmp_path: Path, end: str) -> None:
    directory = tmp_path / "memory"
    done = subprocess.run(
        [sys.executable, "-c", _BEGIN + _ENDS[end], str(directory)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "left 0" in done.stdout, done.stdout + done.stderr
    assert done.returncode == {"by an error": 1, "by sys.exit": 3}.get(end, 0), done.stderr
    with Memory.open(directory, worker=False) as memory:
        memory.flush()
        assert [each.value for each in memory.memories(ANN)] == ["Oslo"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_closes_nothing_of_its_parents(tmp_path: Path) -> None:
    program = _BEGIN + (
        "memory.flush()\n"
        "if not (child := os.fork()):\n"
        "    sys.exit(0)\n"
        "_, status = os.waitpid(child, 0)\n"
        "memory.record_turn(ann, text='I work at Northwind.')\n"
        "memory.flush()\n"
        "print(sorted(each.value for each in memory.memories(ann)), status)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "memory")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "['Northwind', 'Oslo'] 0" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 0

"""The documentation runs.

* Every ``python`` block of README.md and docs/*.md is executed, in order, one namespace and one
  empty working directory per file.
* Every ``$ memstream ...`` line of a ``console`` block names a command and options that exist.
* A block marked ``console run`` is executed too: each ``$`` line must succeed, and print what is
  shown below it (``...`` stands for anything; nothing shown means anything may be printed).
"""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
NO_README = "no README.md in this tree: there is nothing to run"


class Block(NamedTuple):
    """A fenced block: its info string, the line its code starts on (from 1), its code."""

    info: str
    line: int
    code: str


def blocks(text: str) -> Iterator[Block]:
    """The fenced blocks of a page, in order. An unclosed fence is an error."""
    opened: tuple[str, str, int] | None = None
    code: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        fence = re.match(r"\s{0,3}(`{3,})\s*(.*)$", line)
        if opened is None:
            if fence:
                opened, code = (fence[1], fence[2].strip(), number + 1), []
        elif fence and fence[1] == opened[0] and not fence[2]:
            yield Block(opened[1], opened[2], "\n".join(code) + "\n")
            opened = None
        else:
            code.append(line)
    if opened:
        raise AssertionError(f"line {opened[2] - 1}: this fence is never closed")


def commands(block: Block) -> Iterator[tuple[int, str, str]]:
    """(line, command, output shown) of each ``$`` line; a trailing backslash continues it."""
    lines = block.code.splitlines()
    at = 0
    while at < len(lines):
        start = at
        line = lines[at]
        at += 1
        if not line.startswith("$ "):
            continue
        command = line[2:]
        while command.endswith("\\") and at < len(lines):
            command = command[:-1] + lines[at].strip()
            at += 1
        shown: list[str] = []
        while at < len(lines) and not lines[at].startswith("$ "):
            shown.append(lines[at])
            at += 1
        yield block.line + start, command, "\n".join(shown).strip()


def run_python(page: str, text: str) -> int:
    """Executes the ``python`` blocks; gives their number. A failure shows the page's own line."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    count = 0
    for block in blocks(text):
        if block.info == "python":
            code = "\n" * (block.line - 1) + block.code
            exec(compile(code, page, "exec"), namespace)  # noqa: S102  the pages are our own
            count += 1
    return count


def unknown_parts(command: str, program: Any) -> list[str]:
    """What of a ``memstream ...`` command line the program does not have."""
    words = shlex.split(command, comments=True)[1:]
    current, path, options = program, "memstream", {"--help"}
    wrong: list[str] = []
    for word in words:
        if word in {"|", ">", ">>", "<", "&&", ";"}:
            break
        options |= {name for each in current.params for name in (*each.opts, *each.secondary_opts)}
        below = getattr(current, "commands", None)
        if word.startswith("-") and len(word) > 1:
            if word.split("=")[0] not in options:
                wrong.append(f"{path} has no option {word.split('=')[0]}")
        elif below is not None:
            if word not in below:
                wrong.append(f"{path} has no command {word!r}; it has {', '.join(sorted(below))}")
                break
            current, path = below[word], f"{path} {word}"
    return wrong


def run_console(line: int, command: str, shown: str, where: Path) -> None:
    """Runs one command line in ``where`` with this tree's ``memstream`` on the path."""
    programs = where / ".programs"
    programs.mkdir(exist_ok=True)
    program = programs / "memstream"
    program.write_text(
        f"#!{sys.executable}\nfrom memstream.service.cli import main\nmain()\n", encoding="utf-8"
    )
    program.chmod(0o755)
    environment = os.environ | {
        "PATH": f"{programs}{os.pathsep}{os.environ.get('PATH', '')}",
        "PYTHONPATH": str(ROOT / "src"),
        "NO_COLOR": "1",
        "COLUMNS": "100",
    }
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=where,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, f"line {line}: {command}\n{done.stdout}{done.stderr}"
    matches = doctest.OutputChecker().check_output(
        shown + "\n", done.stdout + "\n", doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    )
    assert not shown or matches, f"line {line}: {command}\nshown:\n{shown}\ngot:\n{done.stdout}"


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def _text(page: Path) -> str:
    if not page.exists():
        pytest.skip(NO_README)
    return page.read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_python(str(page), _text(page))


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_console_lines_name_what_exists(page: Path) -> None:
    lines = [
        (line, command)
        for block in blocks(_text(page))
        if block.info.split()[:1] == ["console"]
        for line, command, _ in commands(block)
        if command.startswith("memstream")
    ]
    if not lines:
        return
    import typer.main

    from memstream.service.cli import app

    program = typer.main.get_command(app)
    wrong = [
        f"{_name(page)}:{line}: {part}"
        for line, command in lines
        for part in unknown_parts(command, program)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_marked_console_blocks_run(page: Path, tmp_path: Path) -> None:
    for block in blocks(_text(page)):
        if block.info.split() == ["console", "run"]:
            for line, command, shown in commands(block):
                run_console(line, command, shown, tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_links_inside_the_project_lead_somewhere(page: Path) -> None:
    prose = re.sub(r"(?ms)^\s{0,3}(`{3,}).*?^\s{0,3}\1\s*$", "", _text(page))
    targets = re.findall(r"\]\(([^)\s]+)\)|^\[[^\]]+\]:\s+(\S+)", prose, flags=re.MULTILINE)
    dead = [
        target
        for target in (first or second for first, second in targets)
        if not re.match(r"[a-z]+:|#", target) and not (page.parent / target.split("#")[0]).exists()
    ]
    assert not dead, f"{_name(page)} links to what is not there: {', '.join(dead)}"


# That these tests can fail:

_FENCE = "```"


def test_a_block_is_found_with_its_line() -> None:
    found = list(blocks(f"one\n{_FENCE}python\nx = 1\n{_FENCE}\n"))
    assert found == [Block("python", 3, "x = 1\n")]


def test_an_unclosed_fence_is_an_error() -> None:
    with pytest.raises(AssertionError, match="line 1"):
        list(blocks(f"{_FENCE}python\nx = 1\n"))


def test_a_wrong_block_fails_on_its_line() -> None:
    page = f"{_FENCE}python\nx = 1\n{_FENCE}\n\n{_FENCE}python\nassert x == 2\n{_FENCE}\n"
    with pytest.raises(AssertionError) as caught:
        run_python("page.md", page)
    assert caught.traceback[-1].lineno + 1 == 6


def test_a_command_line_may_go_on_and_show_output() -> None:
    block = Block("console", 10, "$ memstream find \\\n    tea\ngreen tea\n$ memstream doctor\n")
    assert list(commands(block)) == [
        (10, "memstream find tea", "green tea"),
        (13, "memstream doctor", ""),
    ]


def test_an_unknown_command_or_option_is_named() -> None:
    import typer
    import typer.main

    app = typer.Typer()

    @app.command()
    def capture(text: str, scope: str = "me") -> None: ...

    @app.command()
    def doctor() -> None: ...

    program = typer.main.get_command(app)
    assert unknown_parts("memstream capture 'tea' --scope me | cat -n", program) == []
    assert "no option --tenant" in unknown_parts("memstream capture x --tenant y", program)[0]
    assert "no command 'heal'" in unknown_parts("memstream heal", program)[0]


def test_a_marked_line_must_succeed_and_print_what_is_shown(tmp_path: Path) -> None:
    run_console(1, "echo green tea at 12:01", "green tea at ...", tmp_path)
    with pytest.raises(AssertionError, match="line 2"):
        run_console(2, "echo black tea", "green tea", tmp_path)
    with pytest.raises(AssertionError, match="line 3"):
        run_console(3, "exit 3", "", tmp_path)

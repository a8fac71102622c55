"""The wheel is tested, not only the tree: what it holds, and that it works without the tree."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("processors", "projections", "recall", "schemas", "service", "streams")


def _files_of_folders() -> set[str]:
    """Every file of the card folders, by its path in the wheel."""
    return {
        f"memstream/{path.relative_to(ROOT).as_posix()}"
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def _command(*words: str, cwd: Path, **environment: str) -> str:
    """Runs this Python; its standard output. Without the tree on its path unless given."""
    clean = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, *words],
        cwd=cwd,
        env=clean | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        shown = f"{done.stdout}{done.stderr}"[-4_000:]
        pytest.fail(f"python {' '.join(words)[:200]}\n{shown}", pytrace=False)
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy, so that no older build leaks in and none is left behind."""
    copy = tmp_path_factory.mktemp("source")
    for name in (*FOLDERS, "src"):
        shutil.copytree(
            ROOT / name,
            copy / name,
            symlinks=True,
            ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"),
        )
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        if (ROOT / name).exists():
            shutil.copy(ROOT / name, copy / name)
    out = tmp_path_factory.mktemp("dist")
    _command("-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), ".", cwd=copy)
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the unpacked wheel, for the front of the path."""
    target = tmp_path_factory.mktemp("installed")
    options = ("--quiet", "--no-index", "--no-deps", "--no-compile", "--target", str(target))
    _command("-m", "pip", "install", *options, str(wheel), cwd=target)
    return target


def test_it_holds_every_file_of_the_package_and_nothing_else(wheel: Path) -> None:
    held = set(zipfile.ZipFile(wheel).namelist())
    package = {name for name in held if PurePosixPath(name).parts[0] == "memstream"}
    expected = _files_of_folders() | {"memstream/__init__.py", "memstream/py.typed"}
    assert sorted(expected - package) == [], "missing: see packages, package-data in pyproject.toml"
    assert sorted(package - expected) == []
    others = {PurePosixPath(name).parts[0] for name in held - package}
    assert len(others) == 1
    assert others.pop().endswith(".dist-info")


def test_it_states_licence_python_and_command(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    read = {PurePosixPath(name).name: name for name in archive.namelist() if ".dist-info/" in name}
    metadata = archive.read(read["METADATA"]).decode()
    assert "License-Expression: Apache-2.0\n" in metadata
    assert "Requires-Python: >=3.11\n" in metadata
    assert "memstream = memstream.service.cli:main" in archive.read(
        read["entry_points.txt"]
    ).decode().replace("\r", "")
    assert "Apache License" in archive.read(read["LICENSE"]).decode()


def test_every_module_imports_without_the_tree(installed: Path, tmp_path: Path) -> None:
    modules = sorted(
        re.sub(r"(/__init__)?\.py$", "", name).replace("/", ".")
        for name in _files_of_folders()
        if name.endswith(".py")
    )
    code = (
        "import importlib, memstream, sys\n"
        "faults = []\n"
        "for name in sys.argv[1:]:\n"
        "    try: found = importlib.import_module(name).__file__\n"
        "    except Exception as error: found = repr(error)\n"
        "    if not found.startswith(memstream.__path__[0]): faults.append(f'{name}: {found}')\n"
        "print(memstream.__file__)\n"
        "sys.exit('\\n'.join(faults) or None)\n"
    )
    shown = _command("-c", code, *modules, cwd=tmp_path, PYTHONPATH=str(installed))
    assert Path(shown.strip()) == installed / "memstream" / "__init__.py"


def test_data_files_are_read_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    code = (
        "from memstream.schemas import attributes\n"
        "assert len(list(attributes.builtin())) > 5\n"
        "print(attributes.__file__)\n"
    )
    shown = _command("-c", code, cwd=tmp_path, PYTHONPATH=str(installed))
    assert Path(shown.strip()).is_relative_to(installed)


def test_the_command_starts(installed: Path, tmp_path: Path) -> None:
    code = "import sys; from memstream.service.cli import main; sys.argv[1:] = ['--help']; main()"
    shown = _command("-c", code, cwd=tmp_path, PYTHONPATH=str(installed), NO_COLOR="1")
    assert "Usage" in shown

"""The files of the project: what none may name, what pyproject.toml must list, what is locked."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("processors", "projections", "recall", "schemas", "service", "streams")
PYPROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SETUPTOOLS = PYPROJECT["tool"]["setuptools"]

# What no file of the project names. The patterns are written so as not to match themselves.
BANNED: Mapping[str, re.Pattern[str]] = {
    "a package registry's host; registries come from the user's own configuration": re.compile(
        r"(?<![\w-])(?:(?:test[.])?pypi[.]org|(?:files[.])?pythonhosted[.]org|registry[.]npmjs[.]org"
        r"|(?:static[.]|index[.])?crates[.]io|proxy[.]golang[.]org|repo1?[.]maven[.]|"
        r"(?:deb|security)[.]debian[.]org)",
        re.IGNORECASE,
    ),
    "an absolute path of one machine": re.compile(
        r"(?<![\w./~-])/(?:work/(?:main|shared)|root/|home/(?!user\b|me\b)[a-z]|Users/[a-z])"
    ),
    "an e-mail address (example.com and its like are free to use, RFC 2606)": re.compile(
        r"(?<![\w.+%-])[\w.+%-]+@(?!(?:[\w-]+[.])*(?:example|invalid|test|localhost)\b)"
        r"[\w-]+(?:[.][\w-]+)*[.][a-z]{2,}\b",
        re.IGNORECASE,
    ),
}
# path -> why it may hold what is banned
MAY_HOLD: Mapping[str, str] = {}


def project_files() -> list[Path]:
    """Every file git tracks or would track; without git, every file of the known folders."""
    if (ROOT / ".git").exists() and shutil.which("git"):
        listed = subprocess.run(
            ["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard", "-z"],
            capture_output=True,
            text=True,
            check=True,
        )
        paths = [ROOT / name for name in listed.stdout.split("\0") if name]
    else:
        paths = [path for path in ROOT.iterdir() if path.is_file()]
        for folder in (*FOLDERS, "bench", "docs", "infra", "requirements", "src", "tests", ".ci"):
            paths += [
                path for path in (ROOT / folder).rglob("*") if "__pycache__" not in path.parts
            ]
    return sorted(path for path in set(paths) if path.is_file())


def banned_in(text: str) -> Iterator[str]:
    """ "line: what, and the text found" for each banned thing in a text."""
    for number, line in enumerate(text.splitlines(), start=1):
        for what, pattern in BANNED.items():
            if found := pattern.search(line):
                yield f"{number}: {found[0]!r} is {what}"


def test_no_file_names_a_registry_a_machine_or_an_address() -> None:
    faults: list[str] = []
    for path in project_files():
        name = path.relative_to(ROOT).as_posix()
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        if name not in MAY_HOLD:
            faults += [f"{name}:{fault}" for fault in banned_in(text)]
    assert not faults, "\n" + "\n".join(faults)


@pytest.mark.parametrize(
    "text",
    [
        "--index-url https://" + "pypi" + ".org/simple",
        "see " + "registry.npmjs" + ".org/left-pad",
        "cd /" + "work/main && make",
        "/" + "home/alice/project",
        "/" + "root/.cache",
        "write to alice@" + "corporation.io",
    ],
)
def test_what_is_banned_is_found(text: str) -> None:
    assert list(banned_in(f"first line\n{text}\n")) != []


@pytest.mark.parametrize(
    "text",
    [
        "ann@example.com",
        "bo@mail.example.org",
        "@pytest.fixture",
        "see https://semver.org and docs/why.md",
        "~/.config, src/home/x, /tmp/x, /home/user/app",
    ],
)
def test_what_is_not_banned_is_left(text: str) -> None:
    assert list(banned_in(text)) == []


def packaged(path: PurePosixPath) -> bool:
    """Whether pyproject.toml puts a file of a card folder (path from the root) into the wheel."""
    if path.suffix == ".py":
        return "memstream." + ".".join(path.parent.parts) in SETUPTOOLS["packages"]
    for depth in range(len(path.parts) - 1, 0, -1):
        package = "memstream." + ".".join(path.parts[:depth])
        rest = PurePosixPath(*path.parts[depth:])
        for pattern in SETUPTOOLS["package-data"].get(package, ()):
            # In setuptools "**/" stands for any number of folders, none included.
            if rest.match(pattern.removeprefix("**/")) and (
                pattern.startswith("**/") or len(rest.parts) == len(PurePosixPath(pattern).parts)
            ):
                return True
    return False


def test_every_file_of_the_card_folders_is_packaged() -> None:
    files = [path.relative_to(ROOT) for path in project_files()]
    missing = [
        path.as_posix()
        for path in files
        if path.parts[0] in FOLDERS and not packaged(PurePosixPath(path))
    ]
    assert not missing, f"add to packages or package-data in pyproject.toml: {', '.join(missing)}"


def test_a_file_that_is_not_packaged_is_found() -> None:
    assert packaged(PurePosixPath("schemas/attributes.toml"))
    assert packaged(PurePosixPath("processors/rules/en/dates.toml"))
    assert not packaged(PurePosixPath("schemas/attributes.yaml"))
    assert not packaged(PurePosixPath("schemas/samples/reader.py"))


def test_the_package_list_holds_what_is_there_and_no_more() -> None:
    there = {"memstream"} | {
        "memstream." + ".".join(path.parent.relative_to(ROOT).parts)
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("__init__.py")
    }
    assert sorted(SETUPTOOLS["packages"]) == sorted(there)
    mapped = {"memstream": "src/memstream"} | {f"memstream.{each}": each for each in FOLDERS}
    assert SETUPTOOLS["package-dir"] == mapped


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_import_package_links_to_the_folder(folder: str) -> None:
    link = ROOT / "src" / "memstream" / folder
    assert link.is_symlink(), "src/memstream must hold a link: git config core.symlinks true"
    assert link.readlink().as_posix() == f"../../{folder}"


def locked(name: str) -> dict[str, list[str]]:
    """The lines of each requirement of requirements/``name``.txt, by normalised name."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        if not line.startswith(" "):
            lines = found.setdefault(_normal(line.split("==")[0]), [])
        lines.append(line)
    return found


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", re.split(r"[^\w.-]", name.strip())[0]).lower()


@pytest.mark.parametrize("name", ["base", "build", "dev", "kafka", "local"])
def test_every_requirement_is_pinned_with_hashes(name: str) -> None:
    entries = locked(name)
    assert entries
    for requirement, lines in entries.items():
        assert re.match(r"[\w.-]+==[\w.!+]+( ;.*)? \\$", lines[0]), f"{requirement}: make lock"
        assert any("--hash=sha256:" in line for line in lines), f"{requirement}: make lock"


def test_what_is_declared_is_locked() -> None:
    project = PYPROJECT["project"]
    extras = project["optional-dependencies"]
    wanted = {
        "base": project["dependencies"],
        "local": project["dependencies"] + extras["local"],
        "kafka": project["dependencies"] + extras["kafka"] + extras["qdrant"],
        "dev": [each for name in ("dev", "fastembed", "kafka", "qdrant") for each in extras[name]],
        "build": PYPROJECT["build-system"]["requires"],
    }
    for name, requirements in wanted.items():
        missing = {_normal(each) for each in requirements} - set(locked(name))
        assert not missing, f"requirements/{name}.txt lacks {sorted(missing)}: make lock"


def test_all_locks_agree() -> None:
    pins = [
        {
            requirement: [line.split()[0] for line in lines if "==" in line]
            for requirement, lines in each.items()
        }
        for each in map(locked, ("base", "build", "dev", "kafka", "local"))
    ]
    for one in pins:
        for other in pins:
            for requirement in one.keys() & other.keys():
                assert one[requirement] == other[requirement], f"{requirement}: make lock"

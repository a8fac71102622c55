"""A slot that a person names: found however it is written; what looks like a slip is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from memstream import Memory, Scope
from memstream.schemas.errors import InvalidEvent, UnsupportedFilter
from memstream.service.cli import app

ANN = Scope(tenant="acme", user="ann")
WHOSE = ("-t", "acme", "-u", "ann")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("slots")
    (path / "attributes.toml").write_text('[boat_name]\ncardinality = "one"\n')
    with Memory.open(path, worker=False) as memory:
        memory.state(ANN, attribute="marital_status", value="married")
        memory.state(ANN, attribute="Shoe Size", value="39")
        memory.state(ANN, attribute="boat_name", value="Tern")
        memory.flush()
    return path


@pytest.fixture
def memory(folder: Path) -> Iterator[Memory]:
    with Memory.open(folder, worker=False) as opened:
        yield opened


def asked(folder: Path, command: str, name: str) -> tuple[int, str]:
    arguments = [command, "--attribute", name, "--json", "--dir", str(folder), *WHOSE]
    found = CliRunner().invoke(app, arguments)
    return found.exit_code, found.output


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("marital_status", "married"),
        ("Marital Status", "married"),
        (" marital-status ", "married"),
        ("MARITAL STATUS", "married"),
        ("boat_name", "Tern"),  # the owner's
        ("Boat name", "Tern"),
        ("Shoe Size", "39"),  # nobody's, but a memory is in it
        ("shoe_size", "39"),
        ("SHOE-SIZE", "39"),
    ],
)
def test_a_slot_is_found_however_it_is_written(
    memory: Memory, folder: Path, name: str, value: str
) -> None:
    assert [each.value for each in memory.memories(ANN, attribute=name)] == [value]
    assert {each.value for each in memory.history(ANN, attribute=name)} == {value}
    for command in ("memories", "history"):
        code, output = asked(folder, command, name)
        assert (code, {each["value"] for each in json.loads(output)}) == (0, {value})


@pytest.mark.parametrize("name", ["residence", "Employer", "birthday"])
def test_a_declared_slot_that_holds_nothing_is_no_mistake(
    memory: Memory, folder: Path, name: str
) -> None:
    assert memory.memories(ANN, attribute=name) == []
    assert memory.history(ANN, attribute=name) == []
    assert asked(folder, "memories", name) == (0, "[]\n")


@pytest.mark.parametrize(
    ("slip", "near"),
    [
        ("residense", "residence"),
        ("Marital Staus", "marital_status"),
        ("shoesize", "shoe_size"),
        ("boat-names", "boat_name"),
    ],
)
def test_a_slip_is_refused_with_what_is_near(
    memory: Memory, folder: Path, slip: str, near: str
) -> None:
    for ask in (memory.memories, memory.history):
        with pytest.raises(UnsupportedFilter, match=f"{slip}.*mend: .*{near}"):
            ask(ANN, attribute=slip)
    for command in ("memories", "history"):
        code, output = asked(folder, command, slip)
        assert code == 4
        assert near in output.replace("\n", " ")


def test_a_name_like_no_other_is_a_slot_of_ones_own_to_a_program_and_an_error_to_a_person(
    memory: Memory, folder: Path
) -> None:
    assert memory.memories(ANN, attribute="wingspan") == []
    code, output = asked(folder, "memories", "wingspan")
    assert (code, "residence," in output) == (4, True)
    code, output = asked(folder, "history", "job")  # no name of a slot, but a word for some
    assert (code, "job_title" in output, "boat_name" in output) == (4, True, False)


@pytest.mark.parametrize("name", ["", "  ", 3, ("residence",)])
def test_what_is_no_name_is_refused(memory: Memory, name: object) -> None:
    for ask in (memory.memories, memory.history):
        with pytest.raises(InvalidEvent, match="attribute"):
            ask(ANN, attribute=name)  # type: ignore[arg-type]  # on purpose

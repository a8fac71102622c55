"""The case runner, this project's own cases, and those kept beside the checkout.

Cases that ask for every order run in the given one here and in the reverse, each in a directory of
its own; HYPOTHESIS_PROFILE=thorough tries all orders, and runs the other cases so too. In their
given order all cases run in test_runtimes.py, on every runtime.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from thorough import IS_THOROUGH, THOROUGH

from memstream.service.cases import (
    CaseResult,
    InvalidCase,
    _orders,
    run_case,
    run_cases,
)

OWN = Path(__file__).with_name("cases")
BESIDE = Path(__file__).resolve().parents[1].parent / "shared" / "cases"
ORDERS = 120 if IS_THOROUGH else 2


def _names(folder: Path) -> list[str]:
    return sorted(file.stem for file in folder.glob("*.json"))


def _first(folder: Path) -> list[Any]:
    """The names of a folder's cases, for a test that runs those which ask for every order."""
    orders = {
        name: '"orders": "all"' in (folder / f"{name}.json").read_text(encoding="utf-8")
        for name in _names(folder)
    }
    return [pytest.param(name, marks=[] if every else THOROUGH) for name, every in orders.items()]


def _ran(folder: Path, name: str, where: Path) -> CaseResult:
    raw = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return run_case(raw, where, orders_at_most=ORDERS)


@pytest.mark.parametrize("name", _first(OWN))
def test_own_case(name: str, tmp_path: Path) -> None:
    result = _ran(OWN, name, tmp_path)
    assert result.passed, "\n".join(result.problems)
    assert result.name == name


@pytest.mark.parametrize("name", _first(BESIDE))
def test_case_beside_the_checkout(name: str, tmp_path: Path) -> None:
    result = _ran(BESIDE, name, tmp_path)
    assert result.passed, "\n".join(result.problems)


def test_the_own_cases_cover_both_languages_and_orders() -> None:
    texts = [(OWN / f"{name}.json").read_text(encoding="utf-8") for name in _names(OWN)]
    assert len(texts) >= 25
    assert sum(any("一" <= letter <= "鿿" for letter in text) for text in texts) >= 10
    assert sum('"orders": "all"' in text for text in texts) >= 10


# What the runner itself must see. A runner that passes everything proves nothing.


def _case(expect: dict[str, Any], **more: Any) -> dict[str, Any]:
    event = {
        "id": "e1",
        "type": "memory.stated",
        "scope": {"tenant": "mill", "user": "ada"},
        "observed_at": "2024-05-04T08:00:00+02:00",
        "source": "user_said",
        "data": {"attribute": "residence", "value": "Arles", "subject": "user"},
    }
    return {"name": "canary", "events": [event], "expect": expect, **more}


WRONG: dict[str, Any] = {
    "current": [{"attribute": "residence", "value": "Nice"}, {"attribute": "diet"}],
    "history": [
        {"attribute": "residence", "status": "retracted"},
        {"value": "Arles", "valid_to": "2024-06-01"},
        {"value": "Arles", "valid_from": "2024-05-04T08:00:00Z"},
        {"value": "Arles", "supports": 2},
    ],
    "recall": [
        {"query": "Arles", "lacks": ["arles"]},
        {"query": "Arles", "contains": ["Nice"]},
        {"query": "Arles", "known_at": "$e1-", "contains": ["Arles then"]},
    ],
    "outcomes": {"e1": "rejected"},
    "absent_everywhere": ["Arles"],
}
"""Nothing of this is so."""


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> str:
    result = run_case(_case(WRONG), tmp_path_factory.mktemp("wrong"))
    assert not result.passed
    return "\n".join(result.problems)


@pytest.mark.parametrize(
    "said",
    [
        "current: no memory is attribute='residence', value='Nice'",
        "current: no memory is attribute='diet'",
        "history: no memory is attribute='residence', status='retracted'",
        "history: no memory is value='Arles', valid_to='2024-06-01'",
        "history: no memory is value='Arles', valid_from='2024-05-04T08:00:00Z'",
        "history: no memory is value='Arles', supports=2",
        "recall[0] 'Arles' holds 'arles'",
        "recall[1] 'Arles' lacks 'Nice'",
        "recall[2] 'Arles' lacks 'Arles then'; it gave ''",
        "e1 is stored, expected rejected",
        "'Arles' stands in",
    ],
)
def test_what_is_not_so_is_seen(said: str, seen: str) -> None:
    assert said in seen


@pytest.mark.parametrize(
    ("expect", "said"),
    [
        ({"current": []}, "also holds residence='Arles'"),
        ({"recall": [{"query": "Arles", "known_at": "$e9"}]}, "'$e9' names no event"),
        ({"recall": [{"query": "Arles", "as_of": "soon"}]}, "neither a time nor a date"),
        ({"outcomes": {"e2": "stored"}}, "names 'e2', no event"),
        ({"error": {"e1": "too far"}}, "was taken"),
    ],
)
def test_what_ends_a_case_is_seen(expect: dict[str, Any], said: str, tmp_path: Path) -> None:
    result = run_case(_case(expect), tmp_path)
    assert not result.passed
    assert said in "\n".join(result.problems)


def test_what_is_so_passes(tmp_path: Path) -> None:
    expect = {
        "current": [{"attribute": "RESIDENCE", "value": "arles", "supports": 1, "valid_to": None}],
        "history": [{"value": "Arles", "valid_from": "2024-05-04T06:00:00Z"}],
        "recall": [
            {"query": "Arles", "known_at": "$e1", "contains": ["ARLES"]},
            {"query": "Arles", "as_of": "2024-05-04", "lacks": ["Arles"]},
            {"query": "Arles", "scope": {"tenant": "mill", "user": "x"}, "lacks": ["a"]},
        ],
        "outcomes": {"e1": "stored"},
        "absent_everywhere": ["Avignon"],
    }
    result = run_case(_case(expect), tmp_path)
    assert result.passed, result.problems


@pytest.mark.parametrize(
    ("raw", "named"),
    [
        (_case({"recal": []}), "recal"),
        (_case({"recall": [{"query": "x", "contain": []}]}), "contain"),
        (_case({"current": [{"atribute": "x"}]}), "atribute"),
        (_case({"outcomes": {"e1": "kept"}}), "kept"),
        (_case({}, order="all"), "order"),
        (_case({}, orders="some"), "some"),
        (_case({"current": [{"scope": {"tenat": "mill"}}]}), "tenat"),
        ({**_case({}), "events": []}, "no events"),
        ([], "object"),
    ],
)
def test_a_slip_of_the_pen_cannot_pass(raw: Any, named: str, tmp_path: Path) -> None:
    result = run_case(raw, tmp_path)
    assert not result.passed
    assert named in result.problems[0]


def test_an_unknown_field_of_an_event_is_named(tmp_path: Path) -> None:
    raw = _case({})
    raw["events"][0]["mood"] = "grey"
    assert "mood" in run_case(raw, tmp_path).problems[0]


def test_the_order_that_fails_is_named(tmp_path: Path) -> None:
    raw = _case({"current": [{"attribute": "residence", "value": "Nice"}]}, orders="all")
    raw["events"].append({**raw["events"][0], "id": "e2"})
    problems = run_case(raw, tmp_path).problems
    assert problems[0].startswith("arriving e1, e2: ")


def test_a_folder_is_run_by_name(tmp_path: Path) -> None:
    for name in ("mist", "fog"):
        raw = _case({"outcomes": {"e1": "stored"}}) | {"name": name}
        (tmp_path / f"{name}.json").write_text(json.dumps(raw), encoding="utf-8")
    (tmp_path / "hail.json").write_text("{", encoding="utf-8")
    assert [(each.name, each.passed) for each in run_cases(tmp_path)] == [
        ("fog", True),
        ("hail", False),
        ("mist", True),
    ]
    assert [each.name for each in run_cases(tmp_path, only="og")] == ["fog"]


def test_a_folder_without_cases_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidCase, match="holds no case"):
        run_cases(tmp_path)


@given(count=st.integers(1, 6), at_most=st.integers(1, 130))
def test_orders_are_different_and_hold_both_ends(count: int, at_most: int) -> None:
    orders = list(_orders(count, "all", at_most))
    assert len(set(orders)) == len(orders) == min(at_most, math.factorial(count))
    assert all(sorted(order) == list(range(count)) for order in orders)
    assert orders[0] == tuple(range(count))
    if len(orders) > 1:
        assert orders[-1] == tuple(reversed(range(count)))

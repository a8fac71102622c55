"""What runs only under ``HYPOTHESIS_PROFILE=thorough``: variants of tests that take long."""

from __future__ import annotations

import os
from typing import Any

import pytest

IS_THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"

THOROUGH = pytest.mark.skipif(
    not IS_THOROUGH, reason="one of its kind runs always; HYPOTHESIS_PROFILE=thorough runs all"
)


def first_of(*values: Any) -> list[Any]:
    """Parameters of a test: the first always, the others only in a thorough run."""
    first, *others = values
    return [first, *(pytest.param(each, marks=THOROUGH) for each in others)]

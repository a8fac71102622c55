"""What all tests share: Hypothesis profiles, the path of the cases kept beside the checkout, one
Apache Kafka and one PostgreSQL per session."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))

from kafka_broker import running_broker
from postgres_server import running_postgres

# "quick" tries the same examples on every machine and every run, so a red build is never luck.
# "thorough" looks for new ones: HYPOTHESIS_PROFILE=thorough make test
settings.register_profile(
    "quick",
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "thorough",
    deadline=None,
    max_examples=2_000,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))

_SHARED = Path(__file__).resolve().parents[1].parent / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of black-box cases and sample data beside the checkout; skips where absent."""
    if not _SHARED.is_dir():
        pytest.skip("no folder ../shared beside the checkout: its cases and data are not tried")
    return _SHARED


@pytest.fixture(scope="session")
def kafka_bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a real broker that lives as long as the test session."""
    with running_broker(tmp_path_factory.mktemp("kafka")) as bootstrap:
        yield bootstrap


@pytest.fixture(scope="session")
def postgres_conninfo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The connection string of a real PostgreSQL that lives as long as the test session."""
    with running_postgres(tmp_path_factory.mktemp("postgres")) as conninfo:
        yield conninfo

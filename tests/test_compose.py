"""``infra/compose.yaml`` and the image, held against what they run: no container is needed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import typer

from memstream.service.cli import app
from memstream.service.cluster_settings import cluster_settings

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).resolve().parents[1]
COMPOSE = yaml.safe_load((ROOT / "infra" / "compose.yaml").read_text(encoding="utf-8"))
DOCKERFILE = (ROOT / "infra" / "Dockerfile").read_text(encoding="utf-8")
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = sorted(name for name, each in SERVICES.items() if each["image"] == "memstream")
CLI: Any = typer.main.get_command(app)


class Asked(Mapping[str, str]):
    """An environment that knows which of its names were asked for."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self._given = given
        self.names: set[str] = set()

    def __getitem__(self, name: str) -> str:
        self.names.add(name)
        return self._given[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._given)

    def __len__(self) -> int:
        return len(self._given)


@pytest.mark.parametrize("name", OURS)
def test_a_command_line_is_one_that_the_cli_takes(name: str) -> None:
    command, *arguments = SERVICES[name]["command"]
    taken = CLI.commands[command].make_context(command, arguments)
    assert taken.args == []


@pytest.mark.parametrize("name", OURS)
def test_every_variable_is_one_that_the_code_reads(name: str) -> None:
    given = dict(SERVICES[name]["environment"])
    given |= re.findall(r"^ENV (\w+)=(\S+)$", DOCKERFILE, re.MULTILINE)
    asked = Asked({name: str(value) for name, value in given.items()})
    settings = cluster_settings(asked)
    assert settings.keyring.startswith("postgresql://")
    assert (settings.kafka.replication, settings.kafka.min_insync) == (1, 1), "one broker is there"
    read_by_options = {
        parameter.envvar for command in CLI.commands.values() for parameter in command.params
    }
    assert set(given) <= asked.names | read_by_options


@pytest.mark.parametrize("name", OURS)
def test_what_a_process_keeps_is_in_a_volume_of_its_own(name: str) -> None:
    (directory,) = re.findall(r"^ENV MEMSTREAM_DIR=(\S+)$", DOCKERFILE, re.MULTILINE)
    volumes = [each.split(":") for each in SERVICES[name].get("volumes", [])]
    if SERVICES[name]["command"][0] != "topics":
        assert [place for _, place in volumes] == [directory]
    used = [each for service in SERVICES.values() for each in service.get("volumes", [])]
    assert len({each.split(":")[0] for each in used}) == len(used)
    assert {each.split(":")[0] for each in used} == set(COMPOSE["volumes"])


@pytest.mark.parametrize("name", SERVICES)
def test_who_is_waited_for_can_be_seen_to_be_ready(name: str) -> None:
    for awaited, how in SERVICES[name].get("depends_on", {}).items():
        if how["condition"] == "service_healthy":
            assert "healthcheck" in SERVICES[awaited]
        else:
            assert how["condition"] == "service_completed_successfully"
            assert SERVICES[awaited]["restart"] == "on-failure", "one that ends and is not started"


def test_the_servers_are_of_the_releases_that_are_tried_here() -> None:
    pom = (ROOT / "infra" / "apache-kafka" / "pom.xml").read_text(encoding="utf-8")
    assert f"<version>{SERVICES['kafka']['image'].partition(':')[2]}</version>" in pom
    locked = (ROOT / "requirements" / "kafka.txt").read_text(encoding="utf-8")
    client = re.search(r"^qdrant-client==(\d+\.\d+)\.", locked, re.MULTILINE)
    # A client is made for the server of the same minor release.
    assert client
    assert SERVICES["qdrant"]["image"].startswith(f"qdrant/qdrant:v{client[1]}.")


def test_the_image_is_built_of_files_that_are_there() -> None:
    for service in OURS:
        build = SERVICES[service]["build"]
        assert (ROOT / "infra" / build["context"] / build["dockerfile"]).is_file()
    (entry,) = re.findall(r'^ENTRYPOINT \["(\w+)"\]$', DOCKERFILE, re.MULTILINE)
    assert entry == "memstream"
    for line in re.findall(r"^COPY (.+) \S+$", DOCKERFILE, re.MULTILINE):
        assert all((ROOT / each).exists() for each in line.split())
    left_out = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    assert {".git", ".venv", "infra/.run"} <= set(left_out)

"""What only greets or thanks recalls nothing; what asks for anything does, in the same words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from memstream import Memory, Scope
from memstream.recall.courtesies import is_courtesy
from memstream.service.cli import app

ANN = Scope(tenant="acme", user="ann")


@pytest.fixture(scope="module", params=["none", "hash:64"])
def memory(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Memory]:
    path = tmp_path_factory.mktemp("courtesies") / "memory"
    with Memory.open(path, embedder=request.param, worker=False) as opened:
        opened.record_turn(ANN, text="We said thanks to our neighbour Ida for the plum jam.")
        opened.record_turn(ANN, text="Every morning I say hello to the ferry crew.")
        opened.record_turn(ANN, text="老师每天早上好好地谢谢大家帮忙搬书。")
        opened.record_turn(ANN, text="My daughter collects Hello Kitty mugs.")
        opened.flush()
        yield opened


@pytest.mark.parametrize(
    "said",
    [
        "thanks!", "Thank you so much!", "Thanks again.", "hi", "Hello there!", "HELLO",
        "Good morning", "Good Morning!", "Morning!", "ok, thanks", "Great, thank you. Bye!",
        "how are you?", "谢谢！", "谢谢大家", "非常感谢", "你好", "早上好！", "好的，谢谢", "再见",
        "ok谢谢", "Hi!\nThanks!",
    ],
)  # fmt: skip
def test_a_courtesy_recalls_nothing_and_says_so(said: str, memory: Memory) -> None:
    assert is_courtesy(said)
    found = memory.recall(ANN, said, record=False)
    assert not found
    assert found.text == ""
    assert "asks for nothing" in found.abstained
    explained = memory.recall(ANN, said, record=False, explain=True)
    assert explained.trace is not None
    assert explained.trace.abstained == found.abstained
    assert explained.trace.considered == ()


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("Whom did we say thanks to?", "plum jam"),
        ("thanks for the jam", "plum jam"),
        ("Thanks! And who gave us the plum jam?", "plum jam"),
        ("Thanks, Ida!", "plum jam"),
        ("Thanks!\nWho gave us the plum jam?", "plum jam"),
        ("morning", "ferry"),
        ("Hello Kitty", "Kitty"),
        ("谢谢大家帮忙搬书的是谁？", "搬书"),
        ("谢谢，谁在搬书？", "搬书"),
    ],
)
def test_words_of_content_ask(said: str, found: str, memory: Memory) -> None:
    assert not is_courtesy(said)
    answer = memory.recall(ANN, said, record=False)
    assert found in answer.text
    assert answer.abstained == ""


@pytest.mark.parametrize("said", ["", "...", "17", "of the", "Ida", "test", "测试", "谢谢小王的书"])
def test_what_is_no_courtesy_is_not_taken_for_one(said: str) -> None:
    assert not is_courtesy(said)


def test_the_command_says_why_nothing_is_served(tmp_path: Path) -> None:
    with Memory.open(tmp_path, worker=False) as opened:
        opened.record_turn(ANN, text="We said thanks to our neighbour Ida for the plum jam.")
        opened.flush()
    asked = ["recall", "thanks!", "-d", str(tmp_path), "-t", "acme", "--user", "ann"]
    ran = CliRunner().invoke(app, asked)
    assert (ran.exit_code, ran.stdout) == (0, "")
    assert ran.stderr.count("nothing served: a greeting, thanks or the like") == 1
    assert CliRunner().invoke(app, [*asked, "--explain"]).stderr.count("nothing served:") == 1

"""What others hold of the speaker, and sentences to choose from, state nothing of the speaker."""

from __future__ import annotations

import pytest
from conversing import standing

OTHERS = [
    "According to Ben, I live in Turin.",
    "According to my sister, I'm allergic to figs.",
    "And according to the quiz, I'm vegan.",
    "I live in Turin, according to Ben.",
    "Ben swears that I work at Volvo.",
    "Ben swears I work at Volvo.",
    "My brother Ben still thinks I live in Turin.",
    "Everybody is convinced that I live in Turin.",
    "They keep saying I live in Turin.",
    "I live in Turin, Ben claims.",
    "I work at Volvo, or so I'm told.",
    "据小李说，我住在大连。",
    "听小李说我住在大连。",
    "我住在大连，据小李说。",
    "在她看来，我喜欢红茶。",
    "我妈总说我喜欢红茶。",
    "Which is better?\n1. I live in Turin.\n2. I am living in Turin.",
    "a) I live in Turin.\nb) I'm living in Turin.\nWhich one sounds more natural?",
    "哪句更好？\n1. 我住在大连。\n2. 我在大连住。",
]


@pytest.mark.parametrize("text", OTHERS)
def test_what_others_hold_is_no_statement(text: str) -> None:
    assert standing(text) == set()


OWN = [
    ("According to my doctor, I have asthma.", "health_condition=asthma"),
    ("According to my contract, I work at Volvo.", "employer=Volvo"),
    ("According to me, I live in Turin.", "residence=Turin"),
    ("Everything goes according to plan. I live in Turin.", "residence=Turin"),
    ("Like I said, I live in Turin.", "residence=Turin"),
    ("As I said, I live in Turin.", "residence=Turin"),
    ("Ben called, I live in Turin.", "residence=Turin"),
    ("老实说，我住在大连。", "residence=大连"),
    ("据我所知，我住在大连。", "residence=大连"),
    ("说真的，我住在大连。", "residence=大连"),
    ("Which bike is better? I live in Turin.", "residence=Turin"),
    ("Which is better?\nI live in Turin, by the way.", "residence=Turin"),
    ("Which bus is better for me?\n1. I live in Turin.", "residence=Turin"),
]


@pytest.mark.parametrize(("text", "stands"), OWN)
def test_what_the_speaker_says_is_one(text: str, stands: str) -> None:
    assert standing(text) == {stands}


WITH_NUMBERS = [
    ("I moved to Turin 88888888888 days ago.", {"residence=Turin"}),
    ("I moved to Turin a zillion years ago.", {"residence=Turin"}),
    ("I live in Turin 5.", {"residence=Turin"}),
    ("I live in Sector 5.", {"residence=Sector 5"}),
    ("I live in Turin, Italy.", {"residence=Turin, Italy"}),
    ("我搬到大连一万亿年前。", {"residence=大连"}),
    ("我搬到大连很多年前。", {"residence=大连"}),
    ("我搬到大连三年前。", {"residence=大连"}),
    ("I'm a PhD student at EPFL Lausanne.", {"school=EPFL Lausanne"}),
    ("I'm a grad student at Yale.", {"school=Yale"}),
    ("I'm a student at heart.", {"job_title=student"}),
    ("I like my coffee black.", {"likes=black coffee"}),
    ("I like my coffee hot and strong.", {"likes=hot strong coffee"}),
    ("I like my tea strong, sweet.", {"likes=strong sweet tea"}),
    ("I take my tea with milk.", {"likes=tea with milk"}),
    ("I like my job.", {"likes=my job"}),
    ("I like my coffee before work.", {"likes=my coffee"}),
    ("I'm a cook at Volvo.", {"job_title=cook", "employer=Volvo"}),
]


@pytest.mark.parametrize(("text", "stands"), WITH_NUMBERS)
def test_a_value_is_what_it_names_and_no_more(text: str, stands: set[str]) -> None:
    assert standing(text) == stands

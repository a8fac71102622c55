"""What looks like a fact and is another, or none; beside what is near it and is one."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from test_rules import told

from memstream.processors.dates import find_dates

TABLE: list[tuple[str, set[str]]] = [
    # from one firm, or tool, to another: no home
    ("I've moved from Roche to Lonza.", set()),
    ("I moved from Siemens to Bosch last year.", set()),
    ("I moved from Java to Kotlin.", set()),
    ("I've moved to Google.", set()),
    ("I moved from Basel to Zug.", {"residence=Zug"}),
    ("I moved from Hastings to Porto.", {"residence=Porto"}),
    ("My brother has relocated from Bonn to Minden.", {"the user's brother: residence=Minden"}),
    # times of day are no part of where one works or what one likes
    ("I work at a bakery in the mornings.", {"employer=bakery"}),
    ("I work at a hospital at night.", {"employer=hospital"}),
    ("I work at a school in the afternoons and a bar in the evenings.",
     {"employer=school", "employer=bar"}),
    ("I work at a hospital in Bern.", {"employer=hospital in Bern"}),
    ("I don't work at Lego at night.", set()),
    ("I don't work at Lego.", {"-employer=Lego"}),
    ("I like tea and coffee in the morning.", {"likes=tea", "likes=coffee"}),
    ("I love jazz in the evening.", {"likes=jazz"}),
    ("I don't like coffee at night.", set()),
    ("I hate noise at night.", {"dislikes=noise at night"}),
    ("I like driving at night.", {"likes=driving at night"}),
    ("I love the city at night.", {"likes=city at night"}),
    ("I like Friday nights.", {"likes=Friday nights"}),
    # months that are somebody's name
    ("My daughter April started school.", {"child=April"}),
    ("My wife June works at Volvo.", {"spouse=June", "the user's wife: employer=Volvo"}),
    ("My sister's name is April.", {"sibling=April"}),
    ("I have two kids, April and Max.", {"child=April", "child=Max", "children=two kids"}),
    ("Hi, I'm June and I live in Turin.", {"name=June", "residence=Turin"}),
    ("I'm visiting my sister June 5.", set()),
    ("I'm seeing my daughter April 10 at noon.", set()),
    ("I met my brother Monday.", set()),
    # figures of speech
    ("I'm basically a doctor at this point.", set()),
    ("I basically live in Turin.", {"residence=Turin"}),
    ("I live in Excel.", set()),
    ("I work for peanuts.", set()),
    # what stands in the talk before
    ("I prefer the second one.", set()),
    ("I prefer option B.", set()),
    ("I like option trading.", {"likes=option trading"}),
    ("I like the second version better.", set()),
    ("I like the film version.", {"likes=film version"}),
    ("I don't like the tone of the second paragraph.", set()),
    ("I moved to Chapter 3.", set()),
    # members are no employees
    ("I joined Tinder.", set()),
    ("I joined Gold's Gym.", set()),
    ("I quit Twitter.", set()),
    ("I joined Volvo.", {"employer=Volvo"}),
    ("I quit Volvo last month.", {"-employer=Volvo", "-job_title="}),
    # what was, will be, or is once
    ("我住在武汉的时候喜欢喝茶。", set()),
    ("我做护士的时候很累。", set()),
    ("我住在武汉。", {"residence=武汉"}),
    ("我明年三十岁。", set()),
    ("我今年三十岁。", {"age=30"}),
    ("我今天六点起床。", set()),
    ("我昨天十二点睡的。", set()),
    ("我每天六点起床。", {"wake_time=06:00"}),
    ("我喜欢第二个版本。", set()),
    ("我喜欢一个人待着。", {"likes=一个人待着"}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), TABLE, ids=[text[:40] for text, _ in TABLE])
def test_only_what_is_meant_is_read(text: str, expected: set[str]) -> None:
    assert told(text) == expected


NAMES = [
    ("My dog Friday loves walks.", []),
    ("My daughter April started school.", []),
    ("My cat is called Sunday.", []),
    ("I adopted a cat called Monday.", []),
    ("Her name is June.", []),
    ("I'm April, 34, from Leeds.", []),
    ("我叫周一鸣。", []),
    ("我同事周一帆住在上海。", []),
    ("My sister called Monday.", ["Monday"]),
    ("My dog died Friday.", ["Friday"]),
    ("My mom Sunday morning was sick.", ["Sunday morning"]),
    ("I saw my sister Friday and we talked.", ["Friday"]),
    ("My birthday is April 5.", ["April 5"]),
    ("I'm in June.", ["June"]),
    ("我周一飞北京。", ["周一"]),
    ("周一开会。", ["周一"]),
]


@pytest.mark.parametrize(("text", "dates"), NAMES)
def test_a_name_that_is_also_a_day_or_month_is_no_date(text: str, dates: list[str]) -> None:
    found = find_dates(text, datetime(2025, 3, 12, 9, tzinfo=UTC))
    assert [each.text for each in found] == dates

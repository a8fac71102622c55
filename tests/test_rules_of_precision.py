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
    ("我在图书馆工作到很晚。", set()),
    ("我在图书馆工作。", {"employer=图书馆"}),
    ("我在星巴克工作了一下午。", set()),
    ("我在咖啡馆工作了三个小时。", set()),
    ("我在星巴克工作了三年。", {"employer=星巴克"}),
    ("我在腾讯工作三天了。", {"employer=腾讯"}),
    ("我在腾讯工作到现在。", {"employer=腾讯"}),
    ("我在字节工作到2023年。", set()),
    ("我在腾讯工作的时候认识了他。", set()),
    ("我在腾讯工作期间认识了他。", set()),
    ("我在医院工作时间很长。", {"employer=医院"}),
    ("我在腾讯工作的第三年。", {"employer=腾讯"}),
    ("我在医院工作的妹妹来了。", set()),
    ("I turned 30 in May 2023.", set()),
    ("I turned 18 two years ago.", set()),
    ("I turned 30 last month.", {"age=30"}),
    ("I just turned 30.", {"age=30"}),
    ("我2023年满30岁。", set()),
    ("我刚满30岁。", {"age=30"}),
    # what belongs to somebody with children
    ("我有两个孩子的照片。", set()),
    ("我有两个孩子。", {"children=两个孩子"}),
    ("我有两个孩子和一只猫。", {"children=两个孩子"}),
    # what is so of a friend
    ("我有糖尿病的朋友来了。", set()),
    ("我对花生过敏的同事来了。", set()),
    ("我住在上海的朋友来了。", set()),
    ("我会说法语的同事很忙。", set()),
    ("我有糖尿病。", {"health_condition=糖尿病"}),
    ("我住在上海。", {"residence=上海"}),
    # whom one marries
    ("I married my girlfriend last week.", {"marital_status=married"}),
    ("I got married to my boyfriend.", {"marital_status=married"}),
    ("I married my girlfriend's sister.", set()),
    ("I almost married my girlfriend.", set()),
    ("I married my girlfriend in 2015 and we divorced in 2019.", set()),
    ("我和女朋友领证了。", {"marital_status=已婚"}),
    ("我和女朋友还没领证。", set()),
    ("我要和女朋友领证了。", set()),
    # what stands before a colon
    ("关于我：我住在杭州。", {"residence=杭州"}),
    ("背景：我是一名护士，住在杭州。", {"job_title=护士", "residence=杭州"}),
    ("他的背景：我是一名护士。", set()),
    ("小说背景：我住在月球。", set()),
    ("关于我住在杭州这件事。", set()),
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

"""What people tell of their daily lives in words that are near others, which state nothing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from test_rules import told

TABLE: list[tuple[str, set[str]]] = [
    # homes
    ("I live just outside Ghent.", {"residence=near Ghent"}),
    ("I live in a quiet village near Bergamo.", {"residence=near Bergamo"}),
    ("My uncle lives on the outskirts of Leeds.", {"the user's uncle: residence=near Leeds"}),
    ("I live near the station.", set()),
    ("I live by myself.", set()),
    ("I don't live near Ghent.", set()),
    ("我在苏州住了快三年了。", {"residence=苏州"}),
    ("我在北京生活了十二年了，很喜欢。", {"residence=北京"}),
    ("我在苏州住了五年，后来搬走了。", set()),
    ("我在酒店住了三天。", set()),
    ("我现在常驻内罗毕。", {"residence=内罗毕"}),
    # family and friends
    ("My brother-in-law works at Philips.", {"the user's brother-in-law: employer=Philips"}),
    ("My best mate Dave lives in Perth.", {"the user's best mate: residence=Perth", "friend=Dave"}),
    ("I'm dating someone called Lea.", {"partner=Lea"}),
    ("I'm seeing a doctor named Smith.", set()),
    ("我最近在和一个叫莉亚的女生交往。", {"partner=莉亚"}),
    ("周日我和玛塔订婚了！", {"partner=玛塔"}),
    ("我和朋友在一起。", set()),
    # who somebody is
    ("I go by they/them.", {"pronouns=they/them"}),
    ("I use she/her pronouns.", {"pronouns=she/her"}),
    ("I go by bus.", set()),
    ("I grew up speaking Tagalog.", {"languages_spoken=Tagalog"}),
    ("I grew up speaking to animals.", set()),
    ("I'm bilingual in English and Welsh.", {"languages_spoken=English", "languages_spoken=Welsh"}),
    ("我上周刚满四十岁。", {"age=40"}),
    ("我弟弟刚满十八岁。", {"用户的弟弟: age=18"}),
    ("我很满意。", set()),
    # work
    ("我是急救员。", {"job_title=急救员"}),
    ("我刚升了组长。", {"job_title=组长"}),
    ("我升职当主管了。", {"job_title=主管"}),
    ("我升了职。", set()),
    ("我现在待业。", {"-employer=", "-job_title="}),
    ("我刚换了工作，现在在小米。", {"employer=小米"}),
    ("我已经不在腾讯了。", {"-employer=腾讯"}),
    ("我在百度上搜了一下。", set()),
    ("我在阿里云部署了服务。", set()),
    # beliefs and signs
    ("我信佛。", {"religion=佛"}),
    ("我信任他。", set()),
    ("我是天蝎座。", {"zodiac_sign=天蝎座"}),
    ("我属龙。", {"zodiac_sign=龙"}),
    ("I'm a Scorpio.", {"zodiac_sign=Scorpio"}),
    ("我结婚三年了。", {"marital_status=已婚"}),
    # health and food
    ("I've had migraines since childhood.", {"health_condition=migraines"}),
    ("I've had a cold for days.", set()),
    ("I've had enough since Monday.", set()),
    ("I'm just on a low-salt diet for now.", {"diet=low-salt"}),
    ("I follow a Mediterranean diet.", {"diet=Mediterranean"}),
    ("I'm on the keto diet.", {"diet=keto"}),
    ("I'm on a strict deadline.", set()),
    ("我从大学开始吃素。", {"diet=吃素"}),
    ("我吃素很多年了。", {"diet=吃素"}),
    # tastes and studies
    ("我喜欢喝茶不喜欢咖啡。", {"likes=喝茶", "dislikes=咖啡"}),
    ("我不喜欢茶也不喜欢咖啡。", {"dislikes=茶", "dislikes=咖啡"}),
    ("我喜欢不喜欢说话的人。", set()),
    ("I have a degree in physics from Bologna.", {"field_of_study=physics"}),
    ("I can't eat peanuts.", {"diet=no peanuts"}),
    ("I'm Jewish.", {"religion=Jewish"}),
    ("I'm a practising Catholic.", {"religion=Catholic"}),
    ("I've been playing the violin for ten years.", {"plays=violin"}),
    ("I'm a nurse at heart.", {"job_title=nurse"}),
    # things
    ("I drive a beat-up Corolla.", {"vehicle=Corolla"}),
    ("I drive a red Honda Civic.", {"vehicle=Honda Civic"}),
    ("I drive a little too fast.", set()),
    ("我会弹一点钢琴。", {"plays=钢琴"}),
    ("我在乐队弹贝斯。", {"plays=贝斯"}),
    ("我在餐厅弹琴。", set()),
    # what one studies, drives and speaks
    ("我在北京读研。", {"job_title=研究生"}),
    ("我在读研。", {"job_title=研究生"}),
    ("我在上海读博。", {"job_title=博士生"}),
    ("我在清华读研。", {"school=清华"}),
    ("我在清华上大三。", {"school=清华"}),
    ("我在北京读研的时候认识了他。", set()),
    ("我打算在北京读研。", {"plan=在北京读研"}),
    ("我今年高三。", {"job_title=高三学生"}),
    ("我是大三的。", {"job_title=大三学生"}),
    ("我女儿上初二。", {"用户的女儿: job_title=初二学生"}),
    ("我明年高三。", set()),
    ("我高三的时候很累。", set()),
    ("我教高三。", set()),
    ("我在武汉开出租。", {"job_title=开出租"}),
    ("我在上海送外卖。", {"job_title=送外卖"}),
    ("我在武汉开出租车的朋友来了。", set()),
    ("我在上海开滴滴的时候很累。", set()),
    ("我会说流利的法语和德语。", {"languages_spoken=法语", "languages_spoken=德语"}),
    ("我想说流利的法语。", set()),
    ("我们升级到 Python 3.12 了。", {"python_version=3.12"}),
    ("我把Node升级到20了。", {"node_version=20"}),
    ("项目用 Python 3.12。", {"python_version=3.12"}),
    ("还没升级到 Python 3.12。", set()),
    ("我用 python 3 年了。", set()),
    # what is done together
    ("We play tennis together every Monday.", {"habit=play tennis @every monday"}),
    ("We go hiking every weekend.", {"habit=go hiking @every weekend"}),
    ("We have standup every Monday.", set()),
    ("We go live every Monday.", set()),
    ("We run tests every night.", set()),
    ("We play the demo every Monday.", set()),
]


@pytest.mark.parametrize(("text", "expected"), TABLE, ids=[text[:40] for text, _ in TABLE])
def test_what_is_told_of_daily_life(text: str, expected: set[str]) -> None:
    assert told(text) == expected

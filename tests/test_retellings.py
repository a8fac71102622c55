"""Changes told in passing or in two steps: what they end, and what only sounds like it."""

from __future__ import annotations

from itertools import permutations

import pytest
from conversing import memories, standing, turns

CHANGED = [
    (("I'm vegetarian.", "I've become vegan."), {"diet=vegan"}),
    (("I'm vegetarian.", "I'm pescatarian now."), {"diet=pescatarian"}),
    (("I'm a vegan.", "I eat a flexitarian diet."), {"diet=flexitarian"}),
    (("我是素食者。", "我现在是鱼素者。"), {"diet=鱼素者"}),
    (("我是蛋奶素。", "我吃全素。"), {"diet=吃全素"}),
    (("I work at Halden.", "Yesterday was my last day at Halden."), set()),
    (("I work at Halden.", "My last day at Halden was on Friday."), set()),
    (("I work at Halden.", "Last day at Halden today!"), set()),
    (("I work at Halden Robotics as a cook.", "It's my last day at work today."), set()),
    (("I work at Halden Robotics.", "I left Halden."), set()),
    (("First day at Harbor Mill today. I'm head of design there.",),
     {"employer=Harbor Mill", "job_title=head of design"}),
    (("Today was my first day of work at Harbor Mill.",), {"employer=Harbor Mill"}),
    (("Today was my first day at Harbor Mill as a baker.",),
     {"employer=Harbor Mill", "job_title=baker"}),
    (("I moved to Ghent for a new job at Halden as a product designer.",),
     {"residence=Ghent", "employer=Halden", "job_title=product designer"}),
    (("We moved to Ghent to work for Halden.",), {"residence=Ghent", "employer=Halden"}),
    (("I drive a Toyota Corolla.", "I sold the Corolla."), set()),
    (("I drive a Toyota Corolla.", "I sold my Toyota last week."), set()),
    (("I drive a Toyota Corolla.", "I drive a Toyota Yaris.", "We sold the Yaris."),
     {"vehicle=Toyota Corolla"}),
    (("I take lisinopril twice a day.", "My doctor switched me from lisinopril to losartan."),
     {"switched_to=losartan"}),
    (("I take lisinopril twice a day.", "My cardiologist took me off lisinopril."), set()),
    (("I go running every morning.", "I stopped running because of my knee."), set()),
    (("I go running every morning.", "I hurt my knee so I've stopped running."), set()),
    (("I go swimming every Sunday.", "I've given up swimming."), set()),
    (("I go for a run every day.", "I quit running."), set()),
    (("My favourite restaurant is Blue Door but it closed down last week.",), set()),
    (("My favourite cafe is Blue Door.", "Blue Door has closed for good."), set()),
    (("I live in Ghent.", "We bought the house in Bruges and we moved in last weekend."),
     {"residence=Bruges"}),
    (("I live in Ghent.", "I rented a small flat in Bruges and moved in."), {"residence=Bruges"}),
    (("The tests are run with `pytest -x`.", "We moved the tests to `make test` now."),
     {"test_command=make test"}),
    (("The tests are run with `pytest -x`.", "The test suite has switched to `tox`."),
     {"test_command=tox"}),
    (("We use Python 3.10.", "We're dropping Python 3.10, minimum is 3.12 now."),
     {"python_version=3.12"}),
    (("We use Node 18.", "The minimum Node version is now 20."), {"node_version=20"}),
    (("I have two cats, Miso and Tofu.", "Tofu died last Friday."), {"pet=Miso"}),
    (("My girlfriend is called Mia.", "Mia and I got married last week."),
     {"spouse=Mia", "marital_status=married"}),
    (("My girlfriend is called Mia.", "I married Mia."), {"spouse=Mia"}),
    (("我女朋友叫小雪。", "我和小雪上周领证了。"), {"spouse=小雪"}),
    (("公司搬到余杭了，我也跟着搬过去了。",), {"residence=余杭"}),
    (("我住在南京。", "昨天搬到闵行了，终于不用租房了。"), {"residence=闵行"}),
    (("我住在南京。", "已经搬到上海了，住在静安。"), {"residence=上海静安"}),
    (("我在百度上班。", "上个月跳槽去了京东，工资涨了不少。"), {"employer=京东"}),
    (("I live in Ghent.", "Moved to Lyon last week, so no more rent for me."),
     {"residence=Lyon"}),
    (("我养了一只柯基叫团子。", "团子不是柯基，是柴犬。"), {"pet=团子"}),
    (("I have a corgi named Rex.", "Rex isn't a corgi, he's a husky."), {"pet=Rex"}),
    *(
        (("We're planning a trip to Porto in April.", told), set[str]())
        for told in (
            "The Porto trip is off.",
            "Our Porto trip fell through.",
            "We cancelled the trip to Porto.",
            "We cancelled our Porto trip.",
            "The trip to Porto is cancelled.",
            "We're not going to Porto after all.",
            "We won't be going to Porto.",
        )
    ),
    (("I plan to visit Porto.", "We're not going to Porto."), set()),
    (("I'm vegetarian.", "I'm going vegan."), {"diet=vegan"}),
    (("I'm vegetarian.", "Went vegan last month."), {"diet=vegan"}),
    (("I'm pescatarian.", "I switched to a vegan diet."), {"diet=vegan"}),
    (("I work at Halden.", "I had my last day at Halden on Friday."), set()),
    (("I work at Halden.", "Finished my last shift at Halden yesterday."), set()),
    (("I drive a Toyota Corolla.", "We traded the Corolla in for a Mazda CX-5."),
     {"vehicle=Mazda CX-5"}),
    (("I drive a Toyota Corolla.", "The Corolla got totaled last week."), set()),
    (("I take lisinopril every morning.", "I'm off lisinopril now."), set()),
    (("I take lisinopril every morning.", "I've been switched from lisinopril to losartan."),
     {"switched_to=losartan"}),
    (("I play tennis every Sunday.", "I had to give up tennis because of my elbow."), set()),
    (("I go running every morning.", "I can't run anymore because of my knee."), set()),
    (("I run every morning.", "I've had to stop running."), set()),
    (("My favorite bar is Blue Door.", "Blue Door shut down."), set()),
    (("My favourite restaurant is Blue Door.", "My favourite restaurant closed down."), set()),
    (("The tests are run with `npm test`.", "Tests are now `pnpm test`."),
     {"test_command=pnpm test"}),
    (("We use Python 3.10.", "We upgraded from Python 3.10 to 3.12."), {"python_version=3.12"}),
    (("我在百度上班。", "昨天是我在百度的最后一天。"), set()),
    (("我在百度上班。", "今天第一天去京东上班。"), {"employer=京东"}),
    (("我开一辆丰田卡罗拉。", "卡罗拉卖了，换了辆特斯拉。"), {"vehicle=特斯拉"}),
    (("我每天跑步。", "膝盖受伤了，不跑步了。"), set()),
    (("我每天跑步。", "我因为膝盖不跑步了。"), set()),
    (("我最喜欢的餐厅是老街。", "老街倒闭了。"), set()),
    (("我打算去丽江旅游。", "丽江之行取消了。"), set()),
    (("我打算去丽江旅游。", "去丽江的机票退了。"), set()),
    (("我打算去丽江旅游。", "不去丽江了，改去厦门。"), {"plan=去厦门玩"}),
    (("我每天吃二甲双胍。", "医生让我把二甲双胍换成司美格鲁肽。"),
     {"switched_to=司美格鲁肽"}),
    (("我每天吃二甲双胍。", "二甲双胍停了，换成司美格鲁肽。"), {"switched_to=司美格鲁肽"}),
    (("打算五一去云南丽江玩，机票已经订好了。", "丽江不去了，改去厦门。"), {"plan=去厦门玩"}),
    (("我打算去丽江玩。", "我们不去丽江了。"), set()),
]  # fmt: skip

STAYED = [
    (("I'm vegan and gluten-free.", "I'm keto."), {"diet=vegan", "diet=gluten-free", "diet=keto"}),
    (("I'm vegan.", "My sister is vegetarian."), {"diet=vegan"}),
    (("I'm vegan.", "I used to be vegetarian."), {"diet=vegan"}),
    (("我吃全素。", "我吃素。"), {"diet=吃全素", "diet=吃素"}),
    (("I work at Halden.", "Yesterday was the last day of the sale at Halden."),
     {"employer=Halden"}),
    (("I work at Halden.", "Yesterday was my last day at school."), {"employer=Halden"}),
    (("I work at Halden.", "Yesterday was my last day in Rome."), {"employer=Halden"}),
    (("I work at Halden.", "Yesterday was Tom's last day at Halden."), {"employer=Halden"}),
    (("I work at Halden.", "Next Friday is my last day at Halden."),
     {"employer=Halden", "plan=leave Halden"}),
    (("I work at Halden.", "I left Corvex."), {"employer=Halden"}),
    (("First day at Adventure Bay today. It was fun.",), set()),
    (("Today was my first day at Adventure Bay.",), set()),
    (("I drive a Toyota Corolla.", "I sold the Yaris."), {"vehicle=Toyota Corolla"}),
    (("I drive a Toyota Corolla.", "I drive a Toyota Yaris.", "I sold the Toyota."),
     {"vehicle=Toyota Corolla", "vehicle=Toyota Yaris"}),
    (("I take lisinopril twice a day.", "My doctor switched my mum from lisinopril to losartan."),
     {"habit=take lisinopril"}),
    (("I go running every morning.", "My car stopped running."), {"habit=go running"}),
    (("I go running every morning.", "I stopped running to tie my shoe."), {"habit=go running"}),
    (("My favourite restaurant is Blue Door.", "Blue Door closed early last night."),
     {"favourite_restaurant=Blue Door"}),
    (("My favourite restaurant is Blue Door but it closes at nine.",),
     {"favourite_restaurant=Blue Door"}),
    (("My favourite restaurant is Blue Door.", "Blue Door closed down the terrace."),
     {"favourite_restaurant=Blue Door"}),
    (("I live in Ghent.", "We bought a house in Bruges and the tenants moved in last week."),
     {"residence=Ghent"}),
    (("I live in Ghent.", "We bought a house in Bruges and moved in with Tom's parents."),
     {"residence=Ghent"}),
    (("The tests are run with `pytest -x`.", "We moved the tests to `tests/unit`."),
     {"test_command=pytest -x"}),
    (("We use Python 3.12.", "We're dropping Python 3.9."), {"python_version=3.12"}),
    (("We use Python 3.12.", "Our minimum order is 3."), {"python_version=3.12"}),
    (("I have two cats.", "Tofu died last Friday."), {"pet=two cats"}),
    (("I have two cats, Miso and Tofu.", "My dog Rex died."),
     {"pet=two cats", "pet=Miso", "pet=Tofu"}),
    (("My girlfriend is called Mia.", "My sister married Mia."), {"partner=Mia"}),
    (("我住在北京。", "公司搬到余杭了，我没跟着搬过去。"), {"residence=北京"}),
    (("我住在北京。", "搬到余杭了，他挺高兴的。"), {"residence=北京"}),
    (("我住在北京。", "搬到余杭的同事都说，房租太贵。"), {"residence=北京"}),
    (("Moved to Lyon last week, which her boss hated.",), set()),
    (("我养了一只柯基叫团子。", "我还有一只柯基叫可乐。", "团子不是柯基，是柴犬。"),
     {"pet=团子", "pet=可乐"}),
    (("团子不是柯基，是柴犬。",), set()),
    (("Rex isn't a corgi, he's a husky.",), set()),
    *(
        (("We're planning a trip to Porto in April.", told), {"plan=trip to Porto"})
        for told in (
            "The Porto trip is off to a good start.",
            "The Lisbon trip is off.",
            "We're not going to Porto this weekend.",
            "We're not going to Porto without Tom.",
            "Tom isn't going to Porto.",
            "We haven't cancelled the trip to Porto.",
            "We might cancel the trip to Porto.",
            "The meeting about the Porto trip is off.",
        )
    ),
    (("我打算去丽江玩。", "小明不去了。"), {"plan=去丽江玩"}),
    (("我打算去丽江玩。", "明天不去了。"), {"plan=去丽江玩"}),
    (("我打算去丽江玩。", "厦门不去了。"), {"plan=去丽江玩"}),
    (("准备会议材料。",), set()),
    (("I'm vegetarian.", "I'm thinking of going vegan."), {"diet=vegetarian"}),
    (("I'm vegetarian.", "My wife went vegan."), {"diet=vegetarian"}),
    (("I drive a Toyota Corolla.", "The Yaris got totaled last week."),
     {"vehicle=Toyota Corolla"}),
    (("I take lisinopril every morning.", "I'm off work now."), {"habit=take lisinopril"}),
    (("I take lisinopril every morning.",
      "My doctor wants to switch me from lisinopril to losartan."), {"habit=take lisinopril"}),
    (("I go running every morning.", "I can't run today."), {"habit=go running"}),
    (("I go running every morning.", "I had to stop at the shop."), {"habit=go running"}),
    (("我每天跑步。", "妈妈腰不好，不跑步了。"), {"habit=跑步"}),
    (("我打算去丽江旅游。", "还没决定去不去丽江。"), {"plan=去丽江旅游"}),
    (("我最喜欢的餐厅是老街。", "老街关门了。"), {"favourite_restaurant=老街"}),
]  # fmt: skip


@pytest.mark.parametrize(("texts", "stands"), CHANGED + STAYED, ids=lambda each: str(each)[:70])
def test_what_stands_after_a_change(texts: tuple[str, ...], stands: set[str]) -> None:
    own = {
        f"{each.attribute}={each.value}"
        for order in permutations(turns(*texts))
        for each in memories(list(order))
        if each.attribute and each.status == "active" and each.subject in ("user", "project")
    }
    assert own == stands
    assert stands <= standing(*texts)


@pytest.mark.parametrize(
    ("text", "value", "previous"),
    [
        ("Always use uv instead of pip in this repo.", "uv", "pip"),
        ("We switched from npm to pnpm in this repo.", "pnpm", "npm"),
        ("Use yarn rather than npm for the frontend.", "yarn", "npm"),
    ],
)
def test_what_was_used_before_is_a_tool_and_not_where_it_was_used(
    text: str, value: str, previous: str
) -> None:
    (found,) = [each for each in memories(turns(text)) if each.attribute == "package_manager"]
    assert (found.value, found.previous) == (value, previous)


@pytest.mark.parametrize(
    ("text", "stands"),
    [
        ("我家猫叫咪咪，五岁了。", {"user pet 咪咪", "用户的猫 age 5"}),
        ("我家的狗叫旺财。", {"user pet 旺财"}),
        ("我家老公是医生。", {"用户的老公 job_title 医生"}),
        ("我家在北京。", {"user residence 北京"}),
    ],
)
def test_who_is_of_the_family_is_the_speakers(text: str, stands: set[str]) -> None:
    found = {f"{each.subject} {each.attribute} {each.value}" for each in memories(turns(text))}
    assert found == stands


@pytest.mark.parametrize(
    ("texts", "stands"),
    [
        (("im ana, 34, from denver",), {"user name Ana", "user age 34", "user hometown denver"}),
        (("Hi, I'm Ana, 34, a nurse from Leeds.",),
         {"user name Ana", "user age 34", "user job_title nurse"}),
        (("I'm single, 29, from Denver.",), {"user marital_status single"}),
        (("I'm tired, 29, and done.",), set()),
        (("i have a gf, mia. she's a vet tech",),
         {"user partner Mia", "the user's girlfriend job_title vet tech"}),
        (("i have a gf, lately",), set()),
        (("mom lives in Tampa.",), {"the user's mom residence Tampa"}),
        (("Grandpa works at Volvo.",), {"the user's grandpa employer Volvo"}),
        (("My boss, mom of two, lives in Tampa.",), {"the user's boss residence Tampa"}),
        (("I quit smoking in January.",), {"user gave_up smoking"}),
        (("I quit smoking.", "I started smoking again."), {"user habit smoke"}),
        (("最近把烟戒了。",), {"user gave_up 抽烟"}),
        (("I used to hate beets, but I love them now.",), {"user likes beets"}),
        (("I used to love beets and now I hate them.",), {"user dislikes beets"}),
        (("I used to hate beets, but Tom loves them now.",), set()),
        (("I work from home on Mondays and Fridays.",), {"user habit work from home"}),
        (("I bought a Toyota Corolla.",), {"user vehicle Toyota Corolla"}),
        (("I bought a Toyota for my mom.",), set()),
        (("我换了辆吉利星越L。",), {"user vehicle 吉利星越L"}),
        (("我是老陈，在青岛开出租的，45了。",),
         {"user name 老陈", "user job_title 在青岛开出租", "user age 45"}),
        (("我是小白，刚入门。",), set()),
        (("我跑了45了。",), set()),
        (("我媳妇是护士。",), {"用户的老婆 job_title 护士"}),
        (("我妈83了，一个人住在黄冈老家。",),
         {"用户的妈 age 83", "用户的妈 residence 黄冈"}),
        (("我闺女王雨晴今年高三。",),
             {"user child 王雨晴", "用户的女儿 job_title 高三学生"}),
        (("我弟弟林晓东在南京读研。",),
             {"user sibling 林晓东", "用户的弟弟 job_title 研究生"}),
        (("我弟弟马上就在家。",), set()),
        (("我不吃香菜不吃葱。",), {"user diet 不吃香菜", "user diet 不吃葱"}),
        (("高血压，每天吃一片氨氯地平。",),
         {"user health_condition 高血压", "user habit 吃一片氨氯地平"}),
        (("高血压怎么办，每天吃什么药？",), set()),
        (("Postgres runs on port 5433.",), {"project port 5433"}),
        (("Postgres runs on port 5433.", "Actually the port is 5434."), {"project port 5434"}),
        (("Postgres runs on port 5433.", "Redis listens on port 6379.",
          "Actually the port is 5434."),
         {"project port 5433", "project port 6379", "project port 5434"}),
        (("The meeting is on port 3.",), set()),
        (("I'm Sam and I'm 41, from Leeds.",),
         {"user name Sam", "user age 41", "user hometown Leeds"}),
        (("I'm Lee, a 34-year-old nurse from Leeds.",),
         {"user name Lee", "user age 34", "user job_title nurse"}),
        (("I quit drinking in March.",), {"user gave_up drinking"}),
        (("I quit drinking in March.", "I drink again."), {"user drinks alcohol"}),
        (("I work from home.",), {"user habit work from home"}),
        (("I'm working from home today.",), set()),
        (("I'm training to be a paramedic.",), {"user goal become paramedic"}),
        (("My husband works as a nurse.", "My husband quit nursing."), set()),
        (("My husband works as a nurse.", "My husband left the nursing home."),
         {"the user's husband job_title nurse"}),
    ],
    ids=lambda each: str(each)[:60],
)  # fmt: skip
def test_what_is_said_in_passing_is_read(texts: tuple[str, ...], stands: set[str]) -> None:
    for order in permutations(turns(*texts)):
        found = [each for each in memories(list(order)) if each.attribute]
        active = [each for each in found if each.status == "active"]
        assert {f"{each.subject} {each.attribute} {each.value}" for each in active} == stands


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Hi, I'm Anna, nice to meet you!", False),
        ("大家好，我是张伟，很高兴认识你们。", False),
        ("I'm Anna and my cat hates the snow we got.", True),
        ("大家好，我是张伟，昨天的雪真大啊。", True),
    ],
)
def test_what_an_introduction_says_besides_a_name_is_kept(text: str, kept: bool) -> None:
    found = memories(turns(text))
    assert {each.value for each in found if each.attribute == "name"} <= {"Anna", "张伟"}
    assert any(each.kind == "episode" for each in found) == kept

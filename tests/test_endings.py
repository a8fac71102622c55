"""What begins on a day to come, and what has ended: homes, jobs, couples, cars, plans."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import permutations

import msgspec
import pytest
from conversing import BEGUN, memories, standing, turns

from memstream.schemas.memories import Memory


def _fact(text: str, attribute: str) -> Memory:
    (found,) = [each for each in memories(turns(text)) if each.attribute == attribute]
    return found


MONDAY, APRIL, JUNE = (datetime(2025, *day, tzinfo=UTC) for day in ((3, 17), (4, 1), (6, 1)))


@pytest.mark.parametrize(
    ("text", "fact", "begins"),
    [
        ("From next week I'm working at Philips.", "employer=Philips", MONDAY),
        ("I'm working at Philips from next Monday.", "employer=Philips", MONDAY),
        ("Starting next month I work at Philips.", "employer=Philips", APRIL),
        ("Starting next month, I work at Philips.", "employer=Philips", APRIL),
        ("I work at Philips starting next month.", "employer=Philips", APRIL),
        ("I'll be working at Philips from next week.", "employer=Philips", MONDAY),
        ("From next month I will work at Philips.", "employer=Philips", APRIL),
        ("Effective Monday I am a manager.", "job_title=manager", MONDAY),
        ("As of June I live in Ghent.", "residence=Ghent", JUNE),
        ("From June on, I live in Ghent.", "residence=Ghent", JUNE),
        ("As of next month I live in Ghent.", "residence=Ghent", APRIL),
        ("Starting June 1st, I'll be living in Ghent.", "residence=Ghent", JUNE),
        ("I am vegan from next week.", "diet=vegan", MONDAY),
        ("我下周开始在苹果上班。", "employer=苹果", MONDAY),
        ("下个月开始我在华为工作。", "employer=华为", APRIL),
        ("从下个月起我住在上海。", "residence=上海", APRIL),
        ("从六月起我住在上海。", "residence=上海", JUNE),
        ("我六月开始住在上海。", "residence=上海", JUNE),
        ("从周一开始我吃素。", "diet=吃素", MONDAY),
    ],
)
def test_what_begins_on_a_day_to_come_begins_then_and_stays(
    text: str, fact: str, begins: datetime
) -> None:
    attribute, value = fact.split("=")
    found = _fact(text, attribute)
    assert (found.value, found.valid_from, found.valid_to) == (value, begins, None)
    assert found.status == "active"


@pytest.mark.parametrize(
    ("text", "fact", "begins", "ends"),
    [
        ("As of 2020 I live in Ghent.", "residence=Ghent", datetime(2020, 1, 1, tzinfo=UTC), None),
        ("从2019年起我住在上海。", "residence=上海", datetime(2019, 1, 1, tzinfo=UTC), None),
        ("我从六月起就住在上海。", "residence=上海", datetime(2024, 6, 1, tzinfo=UTC), None),
        ("From 2019 to 2021 I worked at Lego.", "employer=Lego",
         datetime(2019, 1, 1, tzinfo=UTC), datetime(2021, 1, 1, tzinfo=UTC)),
    ],
)  # fmt: skip
def test_what_began_long_ago_or_is_told_for_a_time_does_not(
    text: str, fact: str, begins: datetime, ends: datetime | None
) -> None:
    attribute, value = fact.split("=")
    found = _fact(text, attribute)
    assert (found.value, found.valid_from, found.valid_to) == (value, begins, ends)


@pytest.mark.parametrize(
    ("text", "plan"),
    [
        ("I start at Philips next week.", "join Philips"),
        ("I start work at Philips on Monday.", "join Philips"),
        ("I begin my new job at Philips next month.", "join Philips"),
        ("My first day at Philips is next Monday.", "join Philips"),
        ("Next month, I'm moving to Ghent.", "move to Ghent"),
        ("我下个月去苹果报到。", "加入苹果"),
        ("我下周一到华为报到。", "加入华为"),
    ],
)
def test_a_first_day_to_come_is_a_plan_with_its_date(text: str, plan: str) -> None:
    found = _fact(text, "plan")
    assert found.value == plan
    assert found.occurred is not None


ENDED = [
    ("My wife is called Anna.", "I divorced Anna."),
    ("I'm married to Tom.", "Tom and I got divorced."),
    ("I'm married to Tom.", "I'm divorced from Tom."),
    ("My husband's name is Tom.", "I divorced my husband last week."),
    ("My wife's name is Anna.", "My wife and I separated."),
    ("My wife's name is Anna.", "I've left my wife."),
    ("My girlfriend is called Mia.", "We broke up."),
    ("My girlfriend is called Mia.", "I broke up with Mia last week."),
    ("My girlfriend is called Mia.", "Mia and I split up."),
    ("I'm dating Mia.", "I've broken up with my girlfriend."),
    ("My boyfriend Tom is great. We broke up yesterday.",),
    ("我老婆叫小王。", "我和小王离婚了。"),
    ("我和小王结婚了。", "我跟我老婆离婚了。"),
    ("我女朋友叫小雪。", "我们分手了。"),
    ("我女朋友叫小雪。", "我和女朋友分手了。"),
    ("我女朋友叫小雪。", "我跟小雪分手了。"),
    ("I live in Rome.", "I moved out of Rome."),
    ("I live in Rome.", "I've moved away from Rome."),
    ("I live in Rome.", "I left Rome for good."),
    ("I live in Rome.", "We moved away last week."),
    ("我住在罗马。", "我搬走了。"),
    ("我住在罗马。", "我从罗马搬走了。"),
    ("我住在罗马。", "我搬离了罗马。"),
    ("I drive a Tesla.", "I sold my Tesla."),
    ("I drive a Tesla.", "I sold my car."),
    ("I drive a Tesla.", "We got rid of our old car last week."),
    ("I drive a Tesla.", "I don't have a car anymore."),
    ("I own a motorbike.", "I sold my motorbike."),
    ("我开一辆特斯拉。", "我把特斯拉卖了。"),
    ("我开一辆特斯拉。", "我把车卖了。"),
    ("我开一辆特斯拉。", "我的车卖了。"),
    ("My wife is called Anna.", "My wife passed away last week."),
    ("我老婆叫小王。", "我老婆去世了。"),
    ("I have a cat named Luna.", "My cat died."),
    ("My puppy is called Rex. My dog Rex loves walks.", "I don't have a dog anymore."),
    ("我有一只叫团子的猫。", "我的猫死了。"),
    ("我有一只叫团子的猫。", "我没有猫了。"),
    ("I run every day.", "I don't run anymore."),
    ("我每天跑步。", "我不跑步了。"),
    ("I play tennis.", "I gave up tennis."),
    ("I'm learning French.", "I stopped learning French."),
    ("我在学法语。", "我不学法语了。"),
    ("I'm a student at MIT.", "I dropped out of MIT."),
    ("I plan to visit Japan.", "The trip to Japan is cancelled."),
    ("I'm moving to Berlin in May.", "I'm not moving to Berlin after all."),
    ("I'm moving to Berlin in May.", "I won't be moving to Berlin."),
    ("I'm moving to Berlin in May.", "I've decided not to move to Berlin."),
    ("I'm moving to Berlin in May.", "I cancelled my move to Berlin."),
    ("I plan to learn Thai.", "I'm not planning to learn Thai anymore."),
    ("I'm flying to Porto in May.", "I called off my trip to Porto."),
    ("我五月要搬到柏林。", "我不搬到柏林了。"),
    ("我五月要搬到柏林。", "我不打算搬到柏林了。"),
    ("我五月要搬到柏林。", "我决定不搬到柏林了。"),
    ("I work at Siemens. I got fired yesterday.",),
    ("I work at Siemens, but I quit my job last week.",),
    ("我在西门子工作。我昨天被开除了。",),
    ("我在谷歌工作。", "我从谷歌离职了。"),
]


@pytest.mark.parametrize("texts", ENDED, ids=lambda texts: " / ".join(texts)[:60])
def test_what_ended_is_over(texts: tuple[str, ...]) -> None:
    for order in permutations(turns(*texts)):
        found = [each for each in memories(list(order)) if each.attribute]
        ended = [each for each in found if each.status == "superseded"]
        assert ended, texts
        left = {each.attribute for each in found if each.status == "active"}
        assert left <= {"marital_status", "likes"}
        assert all(each.valid_to is None or each.valid_from < each.valid_to for each in found)


@pytest.mark.parametrize(
    ("texts", "stands"),
    [
        (("My wife is called Anna.", "My sister divorced Anna."), {"spouse=Anna"}),
        (("My wife is called Anna.", "I divorced Mia."), {"spouse=Anna"}),
        (("My wife is called Anna.", "We split up the work."), {"spouse=Anna"}),
        (("My wife is called Anna.", "If we broke up, I'd cry."), {"spouse=Anna"}),
        (("My wife is called Anna.", "My parents broke up."), {"spouse=Anna"}),
        (("My wife is called Anna.", "We haven't separated."), {"spouse=Anna"}),
        (("我老婆叫小王。", "我爸妈分手了。"), {"spouse=小王"}),
        (("我老婆叫小王。", "我和小王没离婚。"), {"spouse=小王"}),
        (("我女朋友叫小雪。", "我朋友分手了。"), {"partner=小雪"}),
        (("My wife is called Anna.", "My wife's mother died."), {"spouse=Anna"}),
        (("My wife is called Anna.", "My wife nearly died."), {"spouse=Anna"}),
        (("My wife is called Anna.", "I left my wife at the airport."), {"spouse=Anna"}),
        (("I'm moving to Berlin.", "I'm not moving to Berlin yet."), {"plan=move to Berlin"}),
        (("我要搬到柏林。", "我还没搬到柏林。"), {"plan=搬到柏林"}),
        (("我要搬到柏林。", "我暂时不搬到柏林。"), {"plan=搬到柏林"}),
        (("My wife is called Anna.", "My phone died."), {"spouse=Anna"}),
        (("我老婆叫小王。", "我妈去世了。"), {"spouse=小王"}),
        (("My dog is called Rex.", "My cat died."), {"pet=Rex"}),
        (("My dog is called Rex.", "My dog Max died."), {"pet=Rex"}),
        (("My dog is called Rex.", "My sister's dog died."), {"pet=Rex"}),
        (("I have a dog named Rex and a cat named Luna.", "My dog died."), {"pet=Luna"}),
        (("我有一只叫团子的猫。", "我的狗死了。"), {"pet=团子"}),
        (("I live in Rome.", "I moved out of Paris."), {"residence=Rome"}),
        (("I live in Rome.", "My brother moved away."), {"residence=Rome"}),
        (("我住在罗马。", "我邻居搬走了。"), {"residence=罗马"}),
        (("我住在罗马。", "我没有搬走。"), {"residence=罗马"}),
        (("I drive a Tesla.", "I sold my bike."), {"vehicle=Tesla"}),
        (("I drive a Tesla.", "My dad sold his car."), {"vehicle=Tesla"}),
        (("I drive a Tesla.", "I drive a Volvo."), {"vehicle=Tesla", "vehicle=Volvo"}),
        (("我开一辆特斯拉。", "我想把车卖了。"), {"vehicle=特斯拉"}),
        (("I'm moving to Berlin in May.", "I'm not moving to Porto."), {"plan=move to Berlin"}),
        (("I work at Google.", "I quit Apple."), {"employer=Google"}),
        (
            ("I work at Google.", "I quit Apple and joined Meta."),
            {"employer=Google", "employer=Meta"},
        ),
        (
            ("I work at Google and Apple.", "I quit Apple and joined Meta."),
            {"employer=Google", "employer=Meta"},
        ),
        (("I work at Apple.", "I quit Apple and joined Meta."), {"employer=Meta"}),
        (("我在谷歌工作。", "我从苹果离职，加入了微软。"), {"employer=谷歌", "employer=微软"}),
        (("I quit my job last week. I work at Lego.",), {"employer=Lego"}),
        (("I joined Lego. I quit my job last month.",), {"employer=Lego"}),
        (("I work at Lego now. I quit my old job last month.",), {"employer=Lego"}),
        (("我现在在乐高工作。我上个月辞职了。",), {"employer=乐高"}),
        (
            ("I'm divorced, but I'm married to Tom now.",),
            {"marital_status=divorced", "spouse=Tom"},
        ),
    ],
)  # fmt: skip
def test_what_did_not_end_stays(texts: tuple[str, ...], stands: set[str]) -> None:
    assert standing(*texts) == stands


@pytest.mark.parametrize("gap", [timedelta(minutes=2), timedelta(hours=5), timedelta(days=2)])
@pytest.mark.parametrize(
    ("works", "quits"),
    [
        ("I work at Volvo.", "I quit my job last week."),
        ("I work at Volvo.", "I got laid off yesterday."),
        ("我在沃尔沃工作。", "我上周辞职了。"),
        ("我在沃尔沃工作。", "我昨天被裁员了。"),
    ],
)
def test_a_job_left_some_turns_later_is_over(works: str, quits: str, gap: timedelta) -> None:
    told = turns(works, "Nice day.", "I like tea.", quits)
    told = [msgspec.structs.replace(each, time=BEGUN + at * gap) for at, each in enumerate(told)]
    for order in (told, told[::-1]):
        found = [each for each in memories(order) if each.attribute == "employer"]
        assert {each.status for each in found} == {"superseded"}


@pytest.mark.parametrize(
    ("text", "stands"),
    [
        ("I live in Rome during winter and in Oslo in summer.", {"Rome winter", "Oslo summer"}),
        ("In winter I live in Rome, in summer I live in Oslo.", {"Rome winter", "Oslo summer"}),
        ("I live in Rome on weekdays and Oslo at the weekend.", {"Rome weekdays", "Oslo weekends"}),
        ("我冬天住在三亚，夏天住在大连。", {"三亚 winter", "大连 summer"}),
        ("我工作日住在北京，周末住在天津。", {"北京 weekdays", "天津 weekends"}),
    ],
)
def test_two_homes_that_something_sets_apart_hold_together(text: str, stands: set[str]) -> None:
    found = [each for each in memories(turns(text)) if each.attribute == "residence"]
    assert {f"{each.value} {each.qualifier}" for each in found} == stands
    assert all((each.status, each.valid_to) == ("active", None) for each in found)


@pytest.mark.parametrize(
    ("text", "stands"),
    [
        ("I have a dog named Rex and I live in Ghent.", {"pet=Rex", "residence=Ghent"}),
        ("I have a dog named Rex and live in Ghent.", {"pet=Rex", "residence=Ghent"}),
        ("My name is Tom and I'm a baker.", {"name=Tom", "job_title=baker"}),
        ("My wife is called Anna and we live in Ghent.", {"spouse=Anna", "residence=Ghent"}),
        ("My blood type is A, not B.", {"blood_type=A"}),
        ("My blood type isn't B but A.", {"blood_type=A"}),
        ("My favorite color is not blue but green.", {"favourite_color=green"}),
        ("My favorite color isn't blue, it's green.", {"favourite_color=green"}),
        ("I don't live in Ghent but in Porto.", {"residence=Porto"}),
        ("I'm not a doctor but a nurse.", {"job_title=nurse"}),
        ("我的血型是A型，不是B型。", {"blood_type=A型"}),
        ("我的血型不是B型，而是A型。", {"blood_type=A型"}),
        ("我最喜欢的颜色不是蓝色，而是绿色。", {"favourite_color=绿色"}),
        ("我不是住在长沙，而是住在武汉。", {"residence=武汉"}),
        ("我不是医生而是护士。", {"job_title=护士"}),
        # nothing is set against anything
        ("I'm not only a doctor but also a nurse.", set()),
        ("I'm not a doctor but my sister is.", set()),
        ("I don't live in Ghent but I like it.", set()),
        ("我不是医生，是我老婆。", set()),
        ("My favorite color isn't blue but is it green?", set()),
    ],
)
def test_clauses_that_hang_together_are_told_apart(text: str, stands: set[str]) -> None:
    assert standing(text) == stands


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("The meeting is on Monday, sorry, I meant Tuesday.", 18),
        ("The meeting is on Monday. Sorry, I meant Tuesday.", 18),
        ("My dentist appointment is on Monday, no wait, Tuesday.", 18),
        ("The meeting is on Monday and not on Tuesday.", 17),
        ("我们周一开会，说错了，是周二。", 18),
        ("我们周一开会。说错了，是周二。", 18),
    ],
)
def test_a_date_that_is_put_right_is_when_it_takes_place(text: str, day: int) -> None:
    (found,) = memories(turns(text))
    assert found.occurred is not None
    assert found.occurred.start == datetime(2025, 3, day, tzinfo=UTC)


@pytest.mark.parametrize(
    ("texts", "stands"),
    [
        (("I don't eat meat.", "I eat meat again."), {"eats=meat"}),
        (("I eat fish.", "I don't eat fish."), {"diet=no fish"}),
        (("I eat fish.", "My wife doesn't eat fish."), {"eats=fish", "diet=no fish"}),
        (("我不吃肉。", "我又开始吃肉了。"), {"eats=肉"}),
        (("I drink coffee.", "I switched from coffee to tea."), {"switched_to=tea"}),
        (("我喝咖啡。", "我从咖啡换成了茶。"), {"switched_to=茶"}),
        (("I hate jazz.", "I've grown to like jazz."), {"likes=jazz"}),
        (("我讨厌爵士乐。", "我开始喜欢爵士乐了。"), {"likes=爵士乐"}),
        (("I'm studying at MIT.", "I graduated from MIT."), {"education=MIT"}),
        (("我在清华大学读书。", "我从清华大学毕业了。"), {"education=清华大学"}),
        (
            ("My favorite color is blue.", "My favorite color changed to green."),
            {"favourite_color=green"},
        ),
        (("我最喜欢的颜色是蓝色。", "我最喜欢的颜色变成绿色了。"), {"favourite_color=绿色"}),
        (
            ("My phone number is 555-1234.", "My new phone number is 555-9876."),
            {"phone_number=555-9876"},
        ),
        (("我的电话是5551234。", "我的新电话是5559876。"), {"phone_number=5559876"}),
        (
            ("The default branch is master.", "We renamed the default branch to main."),
            {"default_branch=main"},
        ),
        (
            ("Our tests run with `npm test`.", "Tests now run with `pnpm test`."),
            {"test_command=pnpm test"},
        ),
    ],
)
def test_a_value_shows_what_is_over(texts: tuple[str, ...], stands: set[str]) -> None:
    for order in permutations(turns(*texts)):
        found = [each for each in memories(list(order)) if each.attribute]
        assert {f"{e.attribute}={e.value}" for e in found if e.status == "active"} == stands


@pytest.mark.parametrize(
    ("works", "texts"),
    [
        (
            "I work at Lego as a baker.",
            ("I left Facebook.", "I quit Spotify.", "I resigned from the rowing club.",
             "I stopped working at Costa because it was loud.", "I left Volvo and Ikea."),
        ),
        (
            "我在华为工作，是厨师。",
            ("我离开会议室了。", "我离开上海三天。", "我离开了家长群。", "我离开公司去买菜了。",
             "我从篮球队离职了。"),
        ),
    ],
)  # fmt: skip
def test_a_title_ends_only_with_an_employer_that_was_told(
    works: str, texts: tuple[str, ...]
) -> None:
    before = standing(works)
    assert len(before) == 2
    for text in texts:
        for order in permutations(turns(works, text)):
            found = [each for each in memories(list(order)) if each.attribute]
            assert {f"{e.attribute}={e.value}" for e in found if e.status == "active"} == before


STAYS = {
    ("I work at Lego as a baker.",): (
        "I retired to my room at ten.", "I retired early tonight.", "I retired from the match.",
        "I resigned after a bad opening.", "I resigned as team captain.", "I was let go early.",
        "I was let go from the choir.", "I lost my position in the line.",
        "The backup hung, so I quit the job.", "April fools! I lost my job.",
        "I'm working at the cafe today.", "I'm working at Costa today because it is quiet.",
        "I'm living in a hotel today.", "I stopped working at ten.",
    ),
    ("我在华为工作，是厨师。",): (
        "我今天在咖啡馆工作。", "我加入了讨论群。", "我加入了会议。", "我加入了群聊。",
    ),
    ("I live in Ghent.",): ("I moved to Outlook.", "I moved to Sales last month."),
    ("我住在武汉。",): ("我搬到新座位了。", "我住在八楼。"),
    ("I'm married to Ann.",): (
        "My wife passed on the dessert.", "My wife died her jacket blue.", "My wife died smiling.",
        "My wife died a bit when she heard it.", "The committee and I broke up.",
        "My first husband and I got divorced.", "I got a divorce guide for my friend.",
    ),
    ("I'm dating Mia.",): (
        "I stopped seeing Mia as a rival.", "My band and I split up.",
        "My business partner and I split up.",
    ),
    ("我老婆叫小王。",): ("我老婆去世贸大厦了。", "我老婆去世的爷爷很高。", "我和小王分开走的。"),
    ("I have a dog named Bo and a cat named Ivy.",): (
        "Bo ran away from the hose.", "My cat ran away with my pen.", "I put Bo down on the rug.",
        "We put our dog to sleep on the couch.", "I gave my dog away for the holidays.",
        "Ivy died smiling.", "Bo died in the film I saw.", "I don't have a dog in that race.",
        "My cat died when I was six.", "My old dog died before I got Bo.",
    ),
    ("I have two dogs named Bo and Max.",): ("My dog died.", "My dog ran away last week."),
    ("我有一只叫团子的猫。",): ("我把猫送走了去洗澡。", "我的猫死了我也不知道的那本书很好看。"),
    ("I drink tea.", "I smoke.", "I speak Thai.", "I play the piano."): (
        "I stopped drinking tea at noon today.", "I don't drink tea after 6pm.",
        "I don't drink tea with sugar.", "I gave up tea for Lent.",
        "I stopped smoking for an hour.", "I don't speak Thai at home.",
        "I don't play the piano at weddings.", "I don't drink tea today.",
    ),
    ("我抽烟。", "我每天游泳。", "我会弹钢琴。"): (
        "我戒烟失败了。", "今天我没游泳。", "我今天不游泳。", "我不弹钢琴的时候弹吉他。",
    ),
    ("I drive a Tesla.",): (
        "I sold my car seat.", "I sold my car insurance.", "I wrecked my car mirror.",
        "I don't have a car today.",
    ),
    ("我开一辆特斯拉。",): ("我卖掉了车上的座椅。",),
    ("I plan to move to Porto in December.",): (
        "I'm not moving to Porto alone.", "I'm not moving to Porto this week.",
        "I won't move to Porto until I have a job.", "I'm not moving to Porto without my cat.",
    ),
    ("I plan to fly to Porto in December.",): (
        "Our flight to Porto got cancelled, so we rebooked.",
        "My flight to Porto was cancelled and rescheduled.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("told", STAYS, ids=lambda told: told[0])
def test_what_only_sounds_like_an_end_ends_nothing(told: tuple[str, ...]) -> None:
    before = standing(*told)
    assert before
    for text in STAYS[told]:
        assert before <= standing(*told, text), text
        assert not {"residence", "employer"} & {
            each.partition("=")[0] for each in standing(*told, text) - before
        }, text


def test_a_job_for_some_days_stands_beside_the_other() -> None:
    stands = {"employer=Lego", "employer=Volvo"}
    assert standing("I work at Lego.", "I work for Volvo on weekends.") == stands


@pytest.mark.parametrize(
    "texts",
    [
        ("I'm married to Ann.", "My wife passed away peacefully in March."),
        ("I'm married to Ann.", "My wife died of cancer last week."),
        ("I work at Lego.", "I got fired from my job."),
        ("I work at Lego.", "I retired after 30 years."),
        ("I work at Lego.", "I was laid off by my company yesterday."),
        ("I drive a Tesla.", "I sold my car to a friend."),
        ("我开一辆特斯拉。", "我把车卖给同事了。"),
        ("我抽烟。", "我戒烟了。"),
        ("I have a dog named Bo.", "My dog died of old age two weeks ago."),
        ("I have a dog named Bo.", "We gave our dog to a neighbour."),
        ("I have two dogs named Bo and Max.", "I don't have a dog anymore."),
        ("I drink tea.", "I don't drink tea anymore."),
        ("I'm moving to Porto in May.", "I'm not moving to Porto after all."),
    ],
)
def test_an_end_that_is_told_with_more_words_is_one(texts: tuple[str, ...]) -> None:
    assert standing(texts[0])
    assert standing(*texts).isdisjoint(
        each for each in standing(texts[0]) if not each.startswith("pet=two")
    )

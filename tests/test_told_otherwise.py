"""The same things told in other words, over several turns: what stands after them."""

from __future__ import annotations

import pytest
from conversing import memories, standing, turns

TABLE: list[tuple[tuple[str, ...], set[str]]] = [
    # homes
    (("I live in Turin.", "My new address is in Genoa."), {"residence=Genoa"}),
    (("I live in Turin.", "We finally made the move to Genoa."), {"residence=Genoa"}),
    (("I live in Turin.", "I ended up moving to Genoa last week."), {"residence=Genoa"}),
    (("I live in Turin.", "I'm a Genoa resident now."), {"residence=Genoa"}),
    (("I'm a surgical resident.",), {"job_title=surgical resident"}),
    (("I spent 2016 living in Genoa.",), {"residence=Genoa"}),
    (("I live in Turin.", "I spent the weekend in Genoa."), {"residence=Turin"}),
    (("我住在昆明。", "我们家上周搬去大理住了。"), {"residence=大理"}),
    (("我住在昆明。", "我前两天搬到大理去了。"), {"residence=大理"}),
    (("我住在昆明。", "我人在大理定居了。"), {"residence=大理"}),
    (("我住在昆明。", "我在大理住到周五。"), {"residence=昆明", "residence=大理"}),
    (("我住在昆明。", "我在大理开会开到周五。"), {"residence=昆明"}),
    # tastes that are over
    (("I love jazz.", "I've lost my taste for jazz."), set()),
    (("I love jazz.", "Jazz isn't for me anymore."), set()),
    (("I love jazz.", "I've grown tired of jazz."), set()),
    (("I love jazz.", "I've had enough of jazz for today."), {"likes=jazz"}),
    (("I love jazz.", "The parcel isn't for me."), {"likes=jazz"}),
    (("I hate olives.", "I don't mind olives now."), set()),
    (("I hate olives.", "Do you mind olives?"), {"dislikes=olives"}),
    (("我喜欢爵士乐。", "我对爵士乐没兴趣了。"), set()),
    (("我喜欢爵士乐。", "爵士乐我已经不喜欢了。"), set()),
    (("我喜欢爵士乐。", "我听腻了爵士乐。"), set()),
    (("我喜欢爵士乐。", "你为什么不怎么喜欢爵士乐？"), {"likes=爵士乐"}),
    # allergies of one and of many
    (("I have a walnut allergy.", "I'm allergic to walnuts."), {"allergy=walnut"}),
    (("I'm allergic to walnuts.", "I've outgrown my walnut allergy."), set()),
    (("I'm allergic to walnuts.", "I made a mistake, I have no walnut allergy."), set()),
    (("I'm allergic to walnuts.", "I have no nut allergy."), {"allergy=walnuts"}),
    (("I'm allergic to grass.", "I'm not allergic to glass."), {"allergy=grass"}),
    (("I'm on a keto diet.", "I stopped doing keto."), set()),
    # commands
    (("For tests we use `jest`.", "For tests we now use `tap`."), {"test_command=tap"}),
    (("`make check` runs the tests.",), {"test_command=make check"}),
    (("Run `npm run lint` before every commit.",), set()),
    (("Please run `pnpm test` instead of `npm test`.",), {"test_command=pnpm test"}),
    (("Don't use `npm test`, use `pnpm test`.",), {"test_command=pnpm test"}),
    (("Don't use `npm start`, use `pnpm start`.",), set()),
    (("以后不要用 `npm test`，改用 `pnpm test`。",), {"test_command=pnpm test"}),
    (("This repo uses poetry.", "The repo is now managed with uv."), {"package_manager=uv"}),
    # couples and animals
    (("My girlfriend is called Sue.", "She left me."), set()),
    (("My girlfriend is called Sue.", "She dumped me yesterday. I'm sad."), set()),
    (("My girlfriend is called Sue.", "She left me a note."), {"partner=Sue"}),
    (("My girlfriend is called Sue.", "My mother was strict. She left me."), {"partner=Sue"}),
    (("我女朋友叫小雪。", "她跟我分手了。"), set()),
    (("我女朋友叫小雪。", "她离开我了。"), set()),
    (("我女朋友叫小雪。", "她离开我家了。"), {"partner=小雪"}),
    (("I have two dogs.", "I have no dogs."), set()),
    (("I have two dogs.", "I have no cats."), {"pet=two dogs"}),
    (("我有两只狗。", "我没有狗了。"), set()),
    (("我养了一只猫。", "我现在什么宠物都不养了。"), set()),
    (("我养了一只猫。", "你现在什么宠物都不养吗？"), {"pet=猫"}),
    # what is taken back
    (("I'm allergic to figs.", "I was wrong about figs, I'm not allergic to them."), set()),
    (("I'm allergic to figs.", "Wait, no, I'm allergic to kiwis, not figs."), {"allergy=kiwis"}),
    (("I'm allergic to figs.", "No, it's kiwis I'm allergic to, not figs."), {"allergy=kiwis"}),
    (("I live in Bonn.", "Actually I never lived in Bonn."), set()),
    (("I live in Bonn.", "I never lived in a castle."), {"residence=Bonn"}),
    (("I live in Bonn.", "That's not true, I don't live in Bonn."), set()),
    (("My name is Jon.", "You got my name wrong, it's John."), {"name=John"}),
    (("I live in Bonn.", "No, I'm not sure."), {"residence=Bonn"}),
    (("我对虾过敏。", "其实我对虾不过敏。"), set()),
    (("我住在北京。", "我没住过北京。"), set()),
    (("我住在北京。", "其实我不喜欢北京。"), {"residence=北京", "dislikes=北京"}),
    # who is told of twice in a sentence, and new firms
    (("My sister lives in Ghent and she's a nurse.",), {"residence=Ghent", "job_title=nurse"}),
    (("My sister lives with my mother and she's a nurse.",), set()),
    (("My brother met Anna and she's a nurse.",), set()),
    (("I used to work at Nokia, now I'm with Ericsson.",), {"employer=Ericsson"}),
    (("I left Tom and now I'm with Jack.",), set()),
    # names in small letters, and of each
    (("we have two kids, mia and leo",), {"children=two kids", "child=Mia", "child=Leo"}),
    (("i have two cats, lazy and fat",), {"pet=two cats"}),
    (("我养了两只猫，一只叫大黄，一只叫小白。",), {"pet=两只猫", "pet=大黄", "pet=小白"}),
    (("We plan to buy a house.", "We bought a house."), set()),
    (("We plan to buy a house.", "We bought a bike."), {"plan=buy a house"}),
    # who somebody is
    (("I'm Tomasz, nice to meet you.",), {"name=Tomasz"}),
    (("I'm Hungry, nice to meet you.",), set()),
    (("My full name is Ana del Carmen Ruiz.",), {"name=Ana del Carmen Ruiz"}),
    (("My name is Ana.", "I changed my name to Robin."), {"name=Robin"}),
    (("My name is Ana.", "I changed my name tag."), {"name=Ana"}),
    (("我叫王伟。", "我改名叫王晨了。"), {"name=王晨"}),
    (("My DOB: 1985-12-01",), {"birthday=1985-12-01"}),
    (("DOB: 1985-12-01",), set()),
    (("我是5月4号生的。",), {"birthday=05-04"}),
    (("The main branch is called trunk.",), {"default_branch=trunk"}),
    # work
    (("I work at Roche.", "I switched jobs: I'm at Lonza now."), {"employer=Lonza"}),
    (("I work at Roche.", "Today was my last day at Roche."), set()),
    (("I work at Roche.", "Today was my last day at school."), {"employer=Roche"}),
    (("我在宝马工作。", "我已经不在宝马了。"), set()),
    (("我在宝马工作。", "我已经不在家了。"), {"employer=宝马"}),
    (("我在宝马工作。", "我现在为奔驰工作。"), {"employer=奔驰"}),
    (("我在宝马工作。", "我为自己打工。"), {"employer=宝马"}),
    # lists
    (("I enjoy reading and long walks.",), {"likes=reading", "likes=long walks"}),
    (("I like hiking and biking trips.",), {"likes=hiking and biking trips"}),
    (("我爱好摄影和登山。",), {"likes=摄影", "likes=登山"}),
    (("我对花粉和猫毛过敏。",), {"allergy=花粉", "allergy=猫毛"}),
    (("我喜欢和猫玩。",), {"likes=和猫玩"}),
    # package managers and tests
    (("We use npm.", "We dropped npm in favor of pnpm."), {"package_manager=pnpm"}),
    (("We went from Paris to Rome.",), set()),
    (("pytest is how we run tests.",), {"test_command=pytest"}),
    (("测试通过 `cargo test` 运行。",), {"test_command=cargo test"}),
    (("测试通过了。",), set()),
    # names between a relation and a verb
    (("我朋友大伟住在珀斯。",), {"residence=珀斯", "friend=大伟"}),
    (("我哥哥张强在华为工作。",), {"employer=华为", "sibling=张强"}),
    (("我朋友独自住在珀斯。",), {"residence=珀斯"}),
    (("我朋友现在住在珀斯。",), {"residence=珀斯"}),
]  # fmt: skip


@pytest.mark.parametrize(("said", "expected"), TABLE, ids=[" ".join(each) for each, _ in TABLE])
def test_what_stands(said: tuple[str, ...], expected: set[str]) -> None:
    assert standing(*said) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("I switched from coffee to tea since it gave me migraines.", "since it gave me migraines"),
        ("I moved to Ghent since I was bored.", ""),
        ("为了减肥，我把米饭换成了沙拉。", "因为要减肥"),
        ("查出乳糖不耐受之后，我把牛奶换成了燕麦奶。", "因为查出乳糖不耐受"),
        ("吃饭之后，我把牛奶喝了。", ""),
    ],
)
def test_why_something_changed(text: str, reason: str) -> None:
    assert {each.reason for each in memories(turns(text))} - {""} == ({reason} - {""})


def test_what_may_never_have_been_told_is_kept_as_said() -> None:
    (kept,) = memories(turns("Actually, I'm not married."))
    assert kept.quote == "Actually, I'm not married."


@pytest.mark.parametrize(
    "slip", ["Actually I misspoke: I'm not allergic to figs.", "其实我说错了，我对无花果不过敏。"]
)
def test_what_owns_to_a_slip_is_not_kept_beside_what_it_takes_back(slip: str) -> None:
    told = "I'm allergic to figs." if slip.isascii() else "我对无花果过敏。"
    found = memories(turns(told, slip))
    assert not [each for each in found if each.kind == "episode"]


def test_what_is_told_of_a_detail_is_worded_as_it_was_named() -> None:
    assert [each.text for each in memories(turns("我的车牌号是沪A12345。"))] == [
        "用户的车牌号是沪A12345。"
    ]


def test_what_was_changed_for_another_is_found_by_what_it_is() -> None:
    (made,) = memories(turns("I changed from running to swimming."))
    assert "sport" in made.context

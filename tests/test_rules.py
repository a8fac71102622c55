"""The rules: a table of sentences and what they state, and rule files that extend them."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from memstream.processors.extract import Reader
from memstream.processors.facts import CLOSES
from memstream.processors.rule_files import InvalidRule
from memstream.schemas.attributes import builtin
from memstream.schemas.events import Event, Source, TurnRecorded
from memstream.schemas.memories import Assertion

SAID_AT = datetime(2025, 3, 12, 9, 30, tzinfo=timezone(timedelta(hours=1)))  # a Wednesday
READER = Reader(builtin())


def turn(text: str) -> Event:
    data = TurnRecorded(role="user", text=text)
    source = Source("user_said", 3)
    return Event(
        id="e1",
        type="turn.recorded",
        subject="acme/user:u1",
        time=SAID_AT,
        source=source,
        data=data,
    )


def facts(text: str) -> list[Assertion]:
    return [each for each in READER.read(turn(text)) if each.attribute]


def told(text: str) -> set[str]:
    """The facts as "attribute=value", "-" before a negative one, the subject where it is not the
    user, "@" before a qualifier. What they show to be over is left out."""
    found = set()
    for each in facts(text):
        if each.rule.endswith(CLOSES):
            continue
        who = "" if each.subject in ("user", "project") else f"{each.subject}: "
        how = "-" if each.polarity == "negative" else ""
        when = f" @{each.qualifier}" if each.qualifier else ""
        found.add(f"{who}{how}{each.attribute}={each.value}{when}")
    return found


TABLE: list[tuple[str, set[str]]] = [
    # who somebody is
    ("My name is Greta Lind.", {"name=Greta Lind"}),
    ("Hello there, call me Jo.", {"name=Jo"}),
    ("You can call me Max", {"name=Max"}),
    ("I'm 41 years old.", {"age=41"}),
    ("My birthday is on May 5.", {"birthday=05-05"}),
    ("I was born on 7 June 1988.", {"birthday=1988-06-07"}),
    ("I was born in Ghent.", {"birthplace=Ghent"}),
    ("I grew up in Porto.", {"hometown=Porto"}),
    ("I'm originally from Chile.", {"hometown=Chile"}),
    ("I'm Norwegian.", {"nationality=Norwegian"}),
    ("My pronouns are they/them.", {"pronouns=they/them"}),
    ("I speak Dutch and Italian.", {"languages_spoken=Dutch", "languages_spoken=Italian"}),
    ("I'm learning Korean these days.", {"learning=Korean"}),
    ("I'm divorced.", {"marital_status=divorced"}),
    # home and work
    ("I live in Turin.", {"residence=Turin"}),
    ("i live in turin", {"residence=turin"}),
    ("I currently live in Den Haag.", {"residence=Den Haag"}),
    ("We live in New York now.", {"residence=New York"}),
    ("I moved to Graz last month.", {"residence=Graz"}),
    ("I've relocated to Perth.", {"residence=Perth"}),
    ("I live in constant fear of spiders.", set()),
    ("I'm based in Nairobi.", {"residence=Nairobi"}),
    ("I no longer live in Malmö.", {"-residence=Malmö"}),
    ("I used to live in Quito.", {"-residence=Quito"}),
    ("I work at Volvo.", {"employer=Volvo"}),
    ("I've just started a new job at Volvo.", {"employer=Volvo"}),
    ("I have just moved to Graz.", {"residence=Graz"}),
    ("I've just been laid off.", {"-employer=", "-job_title="}),
    ("I got fired by Volvo.", {"-employer=Volvo", "-job_title="}),
    ("I retired from Volvo.", {"-employer=Volvo", "-job_title="}),
    ("我被滴滴裁员了。", {"-employer=滴滴", "-job_title="}),
    ("I'm leaving Volvo at the end of April.", {"plan=leave Volvo"}),
    ("My last day at Volvo is April 30th.", {"plan=leave Volvo"}),
    ("My last day at Volvo was March 3rd.", {"-employer=Volvo", "-job_title="}),
    ("I left Lego. I'm a baker at Volvo.", {"-employer=Lego", "employer=Volvo", "job_title=baker"}),
    ("I stopped playing tennis.", {"-plays=tennis", "-habit=play tennis"}),
    (
        "I've given up running.",
        {"-habit=run", "-habit=go running", "-habit=go for a run"},
    ),
    ("我开的是一辆特斯拉。", {"vehicle=特斯拉"}),
    (
        "I work for Deutsche Bahn as a train driver.",
        {"employer=Deutsche Bahn", "job_title=train driver"},
    ),
    ("I work at a bakery.", {"employer=bakery"}),
    ("I work at home on Fridays.", set()),
    ("I work at night.", set()),
    ("I no longer work at Nokia.", {"-employer=Nokia"}),
    ("I joined Spotify in January.", {"employer=Spotify"}),
    ("I joined Tom for dinner.", set()),
    ("I left Ericsson.", {"-employer=Ericsson", "-job_title="}),
    ("I left Berlin.", set()),
    ("I quit my job at Philips.", {"-employer=Philips", "-job_title="}),
    ("I'm a nurse.", {"job_title=nurse"}),
    ("I'm a data engineer at Zalando.", {"job_title=data engineer", "employer=Zalando"}),
    ("I'm a huge mess today.", set()),
    ("I work as a translator.", {"job_title=translator"}),
    ("I got promoted to deputy head of sales.", {"job_title=deputy head of sales"}),
    ("I became a teacher.", {"job_title=teacher"}),
    ("I graduated from Uppsala University.", {"education=Uppsala University"}),
    (
        "I study physics at Leiden University.",
        {"school=Leiden University", "field_of_study=physics"},
    ),
    ("I majored in history.", {"field_of_study=history"}),
    ("I live in Bonn and work at Telekom.", {"residence=Bonn", "employer=Telekom"}),
    # people and animals
    ("My wife is called Edith.", {"spouse=Edith"}),
    ("My husband Karl works at Miele.", {"spouse=Karl", "the user's husband: employer=Miele"}),
    ("My older sister lives in Lima.", {"the user's older sister: residence=Lima"}),
    ("My daughter's name is Ida.", {"child=Ida"}),
    ("My best friend is Omar.", {"friend=Omar"}),
    ("Omar works at Siemens.", {"Omar: employer=Siemens"}),
    ("Everyone works at Siemens.", set()),
    ("I'm married to Ruth.", {"spouse=Ruth"}),
    ("We have two daughters.", {"children=two daughters"}),
    ("I have a cat named Miso.", {"pet=Miso @cat"}),
    ("We adopted a puppy called Kiwi.", {"pet=Kiwi @puppy"}),
    ("I have two dogs.", {"pet=two dogs"}),
    # body, food, tastes
    ("I'm allergic to walnuts.", {"allergy=walnuts"}),
    ("I'm allergic to soy and sesame, please remember that.", {"allergy=soy", "allergy=sesame"}),
    ("I have a severe shellfish allergy.", {"allergy=shellfish"}),
    ("I'm not allergic to cats.", {"-allergy=cats"}),
    ("I'm vegan.", {"diet=vegan"}),
    ("I'm a strict vegetarian.", {"diet=vegetarian"}),
    ("I'm not vegan anymore.", {"-diet=vegan"}),
    ("I don't eat pork.", {"diet=no pork"}),
    ("I never eat red meat or fish.", {"diet=no red meat", "diet=no fish"}),
    ("I don't drink alcohol.", {"-drinks=alcohol"}),
    ("I stopped drinking coffee.", {"-drinks=coffee"}),
    ("I quit smoking.", {"-habit=smoke", "gave_up=smoking"}),
    ("I have asthma and migraines.", {"health_condition=asthma", "health_condition=migraines"}),
    ("I was diagnosed with celiac disease.", {"health_condition=celiac disease"}),
    (
        "I like rowing, folk music and black tea.",
        {"likes=rowing", "likes=folk music", "likes=black tea"},
    ),
    ("I really love the sea.", {"likes=sea"}),
    ("I don't like olives any more.", {"dislikes=olives"}),
    ("I don't really like olives or capers.", {"dislikes=olives", "dislikes=capers"}),
    ("I no longer like opera.", {"dislikes=opera"}),
    ("I don't hate opera.", {"-dislikes=opera"}),
    ("I stopped liking opera.", {"-likes=opera"}),
    ("I used to like opera.", {"-likes=opera"}),
    ("My wife doesn't like herring.", {"the user's wife: dislikes=herring"}),
    ("I don't like it.", set()),
    ("I'm a big fan of Miles Davis.", {"likes=Miles Davis"}),
    ("I love it!", set()),
    ("I love how you put that.", set()),
    ("I like your idea.", set()),
    ("I like people who listen.", set()),
    ("I love mac and cheese.", {"likes=mac and cheese"}),
    ("I love fantasy and horror movies.", {"likes=fantasy and horror movies"}),
    ("I hate crowded trains.", {"dislikes=crowded trains"}),
    ("I can't stand techno.", {"dislikes=techno"}),
    ("I prefer rice over noodles.", {"prefers=rice"}),
    ("My favorite color is teal.", {"favourite_color=teal"}),
    ("My favourite film is Heat.", {"favourite_movie=Heat"}),
    ("My hobbies are chess and sailing.", {"hobby=chess", "hobby=sailing"}),
    ("I play the cello.", {"plays=cello"}),
    ("My blood type is AB.", {"blood_type=AB"}),
    # days and habits
    ("I wake up at 5:45.", {"wake_time=05:45"}),
    (
        "I get up at 7 on weekdays and at 9 on weekends.",
        {"wake_time=07:00 @weekdays", "wake_time=09:00 @weekends"},
    ),
    ("On weekends I wake up at half past eight.", {"wake_time=08:30 @weekends"}),
    ("I go to bed at 10.", {"sleep_time=22:00"}),
    ("I swim twice a week.", {"habit=swim @twice a week"}),
    ("I drive a Fiat Panda 4x4.", {"vehicle=Fiat Panda 4x4"}),
    # changes, plans, decisions
    ("I switched from butter to margarine because of my cholesterol.", {"switched_to=margarine"}),
    ("I plan to learn welding.", {"plan=learn welding"}),
    ("I'm going to climb Ben Nevis on June 3.", {"plan=climb Ben Nevis"}),
    ("I'll let you know tomorrow.", set()),
    ("I decided to sell the boat.", {"decision=sell the boat"}),
    ("My goal is to run a half marathon.", {"goal=run a half marathon"}),
    # corrections
    ("Actually I misspoke: I'm not allergic to kiwis.", {"-allergy=kiwis"}),
    ("I live in Basel, not Bern.", {"residence=Basel", "-residence=Bern"}),
    ("I live in Bern. Sorry, I meant Basel, not Bern.", {"residence=Basel", "-residence=Bern"}),
    # nothing is asserted
    ("I wish I lived in Hawaii.", set()),
    ("I'd love to work at Pixar.", set()),
    ("I want to live in Kyoto.", set()),
    ("Do I live in Oslo?", set()),
    ("Can you guess where I live?", set()),
    ("I live in Oslo, right?", set()),
    ("If I lived in Nice, I'd swim daily and I like swimming.", set()),
    ("Suppose I live in Nice.", set()),
    ('She said "I live in Oslo".', set()),
    ("My boss says that I live in the past and I like meetings.", set()),
    ("'I work at Shell,' he told us.", set()),
    ("> I live in Cork", set()),
    ("Pretend I live in Rome.", set()),
    ("Write a poem in which I live in Rome and I work at the Vatican.", set()),
    ("translate: I live in Paris", set()),
    ("Let's role-play. I am a pirate. I live in Tortuga.", set()),
    ("I live on Mars, just kidding!", set()),
    ("I live in Atlantis. Just joking.", set()),
    ("I don't think I live in Oslo.", set()),
    ("```\nI live in Oslo.\n```", set()),
    ("I don't just like jazz.", set()),
    ("Maybe I work at Acme.", set()),
    ("My passport number is [redacted:passport].", set()),
    # the rest of a sentence does not spoil a statement
    ("I live in Ulm, do you know a good baker there?", {"residence=Ulm"}),
    ("By the way, I'm vegetarian, so no ham please.", {"diet=vegetarian"}),
    ("Please remember that I'm allergic to latex.", {"allergy=latex"}),
    # work on a project
    ("We run the tests with `make check`.", {"test_command=make check"}),
    ("Run the tests with pytest -x from now on.", {"test_command=pytest -x"}),
    ("Use `tox -e py` to run the tests.", {"test_command=tox -e py"}),
    ("The build command is `cargo build`.", {"build_command=cargo build"}),
    ("Lint with `ruff check`.", {"lint_command=ruff check"}),
    ("Start the dev server with `npm run dev`.", {"run_command=npm run dev"}),
    ("Deploy to staging with `make deploy`.", {"deploy_command=make deploy"}),
    ("We migrated to poetry.", {"package_manager=poetry"}),
    ("We use pnpm, not npm.", {"package_manager=pnpm"}),
    ("We use Postgres.", {"database=Postgres"}),
    ("We use Python 3.12.", {"python_version=3.12"}),
    ("The default branch is `trunk`.", {"default_branch=trunk"}),
    ("The fixtures live in `tests/data`.", {"path=tests/data @fixtures"}),
    ("We deploy on Thursdays.", {"deploy_day=Thursdays"}),
    (
        "Always write docstrings for public functions.",
        {"convention=Always write docstrings for public functions"},
    ),
    ("Never push to main.", {"convention=Never push to main"}),
    ("Commit messages must be in German.", {"convention=Commit messages must be in German"}),
    ("Never give up!", set()),
    ("Always remember that you are loved.", set()),
    # Chinese
    ("我叫周敏。", {"name=周敏"}),
    ("大家都叫我阿强。", {"name=阿强"}),
    ("我今年28岁。", {"age=28"}),
    ("我的生日是3月9日。", {"birthday=03-09"}),
    ("我住在苏州。", {"residence=苏州"}),
    ("我现在住在新加坡。", {"residence=新加坡"}),
    ("我上个月搬到厦门了。", {"residence=厦门"}),
    ("我家在昆明。", {"residence=昆明"}),
    ("我以前住在武汉。", {"-residence=武汉"}),
    ("我老家在青岛。", {"hometown=青岛"}),
    ("我来自贵州。", {"hometown=贵州"}),
    ("我在美团工作。", {"employer=美团"}),
    ("我在一家书店上班。", {"employer=书店"}),
    ("我不在京东工作了。", {"-employer=京东"}),
    ("我加入了小米。", {"employer=小米"}),
    ("我从滴滴离职了。", {"-employer=滴滴", "-job_title="}),
    ("我是一名药剂师。", {"job_title=药剂师"}),
    (
        "我住在成都，在蚂蚁上班，是一名设计师。",
        {"residence=成都", "employer=蚂蚁", "job_title=设计师"},
    ),
    ("我升职为总监了。", {"job_title=总监"}),
    ("我毕业于南京大学。", {"education=南京大学"}),
    ("我对芒果过敏。", {"allergy=芒果"}),
    ("我对虾和螃蟹过敏，请记住。", {"allergy=虾", "allergy=螃蟹"}),
    ("我对牛奶不过敏。", {"-allergy=牛奶"}),
    ("说错了，我对芒果不过敏。", {"-allergy=芒果"}),
    ("更正：我住在无锡，不是常州。", {"residence=无锡", "-residence=常州"}),
    ("我吃素。", {"diet=吃素"}),
    ("我是素食者。", {"diet=素食者"}),
    ("我不吃羊肉。", {"diet=不吃羊肉"}),
    ("我不再喝奶茶了。", {"-drinks=奶茶"}),
    ("我戒烟了。", {"-habit=抽烟", "gave_up=抽烟"}),
    ("我有鼻炎。", {"health_condition=鼻炎"}),
    ("我喜欢下棋。", {"likes=下棋"}),
    ("我特别喜欢滑雪、书法和民谣。", {"likes=滑雪", "likes=书法", "likes=民谣"}),
    ("我喜欢和平。", {"likes=和平"}),
    ("我不喜欢榴莲。", {"dislikes=榴莲"}),
    ("我不太喜欢榴莲和苦瓜。", {"dislikes=榴莲", "dislikes=苦瓜"}),
    ("我再也不喜欢京剧了。", {"dislikes=京剧"}),
    ("我不讨厌京剧。", {"-dislikes=京剧"}),
    ("我以前喜欢京剧。", {"-likes=京剧"}),
    ("我老婆不喜欢吃鱼。", {"用户的老婆: dislikes=吃鱼"}),
    ("我不喜欢他。", set()),
    ("我讨厌排队。", {"dislikes=排队"}),
    ("我最喜欢的电影是《霸王别姬》。", {"favourite_movie=《霸王别姬》"}),
    ("我会说德语。", {"languages_spoken=德语"}),
    ("我会弹吉他。", {"plays=吉他"}),
    ("我养了一只叫团子的猫。", {"pet=团子 @猫"}),
    ("我老婆叫陈静。", {"spouse=陈静"}),
    ("我妹妹在西安读书。", set()),
    ("我弟弟在腾讯工作。", {"用户的弟弟: employer=腾讯"}),
    ("小王住在合肥。", {"小王: residence=合肥"}),
    (
        "我工作日七点起床，周末九点半起床。",
        {"wake_time=07:00 @weekdays", "wake_time=09:30 @weekends"},
    ),
    ("我晚上十一点睡觉。", {"sleep_time=23:00"}),
    ("我每天早上跑步。", {"habit=跑步 @每天早上"}),
    ("我从苹果手机换成了华为，因为信号更好。", {"switched_to=华为"}),
    ("我打算学做木工。", {"plan=学做木工"}),
    ("我决定考研。", {"decision=考研"}),
    ("我想养一只狗。", set()),
    ("我希望住在海边。", set()),
    ("如果我住在三亚，我就天天游泳。", set()),
    ("要是我在谷歌工作就好了。", set()),
    ("我住在哪里？", set()),
    ("你知道我住在宁波吗？", set()),
    ("他说我喜欢跳舞。", set()),
    ("“我住在宁波”，她说。", set()),
    ("假装我住在月球。", set()),
    ("我不觉得我喜欢他。", set()),
    ("开玩笑的，我住在火星。", set()),
    ("我住在宁波，你呢？", {"residence=宁波"}),
    ("用 `go test ./...` 跑测试。", {"test_command=go test ./..."}),
    ("测试命令是 `npm t`。", {"test_command=npm t"}),
    ("我们从 yarn 迁移到 bun 了。", {"package_manager=bun"}),
    ("提交信息必须用英文写。", {"convention=提交信息必须用英文写"}),
    # what only looks as if it were so: denied, over, wished, or a word that is no name
    ("我最喜欢的歌手不是周杰伦。", set()),
    ("我最喜欢的电影已经不是《霸王别姬》了。", set()),
    ("我最爱的食物不是披萨。", set()),
    ("我的邮箱不是ada@example.com。", set()),
    ("我的手机号不是13800138000。", set()),
    ("我的名字不是李雷。", set()),
    ("我的生日不是5月5日。", set()),
    ("我的生日是5月5日。", {"birthday=05-05"}),
    ("My birthday isn't May 5.", set()),
    ("My birthday is not on May 5.", set()),
    ("我的狗叫得很大声。", set()),
    ("我的狗叫声很大。", set()),
    ("我的猫叫起来很吵。", set()),
    ("我儿子叫得很大声。", set()),
    ("我的狗叫来福。", {"pet=来福 @狗"}),
    ("我在谷歌工作过。", set()),
    ("我在谷歌工作过三年。", set()),
    ("我当过老师。", set()),
    ("I have worked at Volvo.", set()),
    ("I've worked at Volvo and Saab.", set()),
    ("I've worked as a waiter.", set()),
    ("I've lived in Turin.", set()),
    ("I've worked at Volvo for five years.", {"employer=Volvo"}),
    ("I have lived in Turin all my life.", {"residence=Turin"}),
    ("我会说法语就好了。", set()),
    ("我住在巴黎，那就好了。", set()),
    ("叫我小明就好了。", {"name=小明"}),
    ("我女朋友叫小丽，不过我们分手了。", {"-partner=", "-spouse="}),
    ("我老婆叫小丽，但我们去年离婚了。", {"marital_status=离婚了"}),
    ("我女朋友叫小丽，她父母离婚了。", {"partner=小丽"}),
    ("My girlfriend's name is Anna, but we broke up.", {"-partner=", "-spouse="}),
    ("My late husband Tom loved jazz.", set()),
    ("My late father Tom loved jazz.", {"parent=Tom"}),
    ("I'm a retired doctor.", set()),
    ("I'm a former teacher.", set()),
    ("我是一名退休医生。", set()),
    ("我是前记者。", set()),
    ("我是前端工程师。", {"job_title=前端工程师"}),
    ("My wife is German.", {"the user's wife: nationality=German"}),
    ("My husband is Away.", set()),
    ("My dog is Hungry.", set()),
    ("My son is Exhausted.", set()),
    ("My dog is Rex.", {"pet=Rex @dog"}),
    ("My wife Anna is German.", {"the user's wife: nationality=German", "spouse=Anna"}),
    ("I'm Done.", set()),
    ("I have a dog. The dog is Hungry.", {"pet=dog"}),
    ("I moved from Rome to Paris and then to Berlin.", {"residence=Berlin"}),
    ("I moved to Paris, then to Berlin.", {"residence=Berlin"}),
    # 在 with what somebody is doing, or with where the desk is, names no employer
    ("我在找工作。", set()),
    ("我一直在找百度的工作。", set()),
    ("我在忙工作。", set()),
    ("我在回复公司的工作邮件。", set()),
    ("我在想换个工作。", set()),
    ("我在准备美团的工作面试。", set()),
    ("我在等华为工作的通知。", set()),
    ("我在完成领导布置的工作。", set()),
    ("我在为客户工作。", set()),
    ("我在用笔记本工作。", set()),
    ("我在笔记本电脑上工作。", set()),
    ("我在家里上班。", set()),
    ("我在书房工作。", set()),
    ("我老公在等新的工作。", set()),
    ("我在家乐福上班。", {"employer=家乐福"}),
    ("我在用友工作。", {"employer=用友"}),
    ("我在一家医院工作。", {"employer=医院"}),
    ("我在一家研究所工作。", {"employer=研究所"}),
    ("我在复旦大学工作。", {"employer=复旦大学"}),
    ("我在小米的工作很累。", {"employer=小米"}),
    # a reason is none of the value
    ("我搬到南京是因为工作。", {"residence=南京"}),
    ("我住在南京是由于家人。", {"residence=南京"}),
    ("我之所以搬到南京，是因为房租低。", {"residence=南京"}),
    ("我喜欢绿茶是因为它清淡。", {"likes=绿茶"}),
    ("我对虾过敏是因为遗传。", {"allergy=虾"}),
    ("我在小米工作是因为同事好。", {"employer=小米"}),
    ("我最喜欢的颜色是绿色是因为森林。", {"favourite_color=绿色"}),
    ("I moved to Oslo because my husband works there.", {"residence=Oslo"}),
    ("I moved to Oslo as my husband found work there.", {"residence=Oslo"}),
    ("I work at Volvo because of the pay.", {"employer=Volvo"}),
    ("I'm allergic to nuts because of my genes.", {"allergy=nuts"}),
    ("I prefer tea since coffee keeps me awake.", {"prefers=tea"}),
    ("I live in Oslo due to my job.", {"residence=Oslo"}),
    # a home is a place, whatever it is to the speaker, and a district told beside it is part of it
    ("我搬回老家成都了。", {"residence=成都"}),
    ("我上个月搬到北京了，住在海淀区。", {"residence=北京海淀区"}),
    ("我搬到杭州了。我住在西湖区。", {"residence=杭州西湖区"}),
    ("我住在北京，我姐姐住在朝阳区。", {"residence=北京", "用户的姐姐: residence=朝阳区"}),
    ("我以前住在北京，现在住在朝阳区。", {"-residence=北京", "residence=朝阳区"}),
    # a doctor's word about the speaker counts, nobody else's does
    ("My doctor told me I'm allergic to latex.", {"allergy=latex"}),
    ("The doctor said that I have asthma.", {"health_condition=asthma"}),
    ("Our GP confirmed I'm allergic to latex.", {"allergy=latex"}),
    ("医生说我对乳胶过敏。", {"allergy=乳胶"}),
    ("医生告诉我我有哮喘。", {"health_condition=哮喘"}),
    ("My doctor said I might have asthma.", set()),
    ("My doctor says he is allergic to latex.", set()),
    ("My neighbour said I have asthma.", set()),
    ("医生说我可能有哮喘。", set()),
    ("医生说他对乳胶过敏。", set()),
    ("同事说我对乳胶过敏。", set()),
    # what is liked and not borne
    ("I like cats but I'm allergic to them.", {"likes=cats", "allergy=cats"}),
    ("I love mango, but I am allergic to it.", {"likes=mango", "allergy=mango"}),
    ("我喜欢兔子但是对兔子过敏。", {"likes=兔子", "allergy=兔子"}),
    ("我很喜欢兔子，可是我对它们过敏。", {"likes=兔子", "allergy=兔子"}),
    ("对，我对兔子过敏。", {"allergy=兔子"}),
    # both, and one thing for another
    ("I like both tea and cocoa.", {"likes=tea", "likes=cocoa"}),
    ("I'm allergic to both nuts and milk.", {"allergy=nuts", "allergy=milk"}),
    ("I like both.", set()),
    ("I bought a used Toyota.", {"vehicle=Toyota"}),
    ("I sold my Mazda and bought a Volvo.", {"-owns=Mazda", "-vehicle=Mazda", "vehicle=Volvo"}),
    ("我卖了马自达，买了一辆沃尔沃。", {"-vehicle=马自达", "vehicle=沃尔沃"}),
    ("I bought a Switch.", set()),
    # who was a spouse is none
    ("My ex-wife Anna moved.", set()),
    ("My ex-husband Tom sold his boat.", set()),
    ("我前妻小红搬走了。", set()),
    ("我前夫叫李雷。", set()),
]


@pytest.mark.parametrize(("text", "expected"), TABLE, ids=[text[:40] for text, _ in TABLE])
def test_the_rules_read(text: str, expected: set[str]) -> None:
    assert told(text) == expected


def test_the_table_is_long_enough_in_both_languages() -> None:
    assert len(TABLE) >= 150
    assert sum(not text.isascii() for text, _ in TABLE) >= 50


def test_a_rule_file_extends_the_rules(tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text(
        'language = "en"\n[[rule]]\nid = "my.tea"\nattribute = "tea"\nvalue = "thing"\n'
        'say = ["~brew {value}"]\n'
    )
    reader = Reader(builtin(), [mine])
    (fact,) = reader.read(turn("I brew oolong."))
    assert (fact.attribute, fact.value, fact.rule) == ("tea", "oolong", "my.tea")
    assert reader.fingerprint != READER.fingerprint == Reader(builtin()).fingerprint


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("~brew {value", "unexpected"),
        ("(a|b {value}", "never closed"),
        ("brew {a} {b}", "side by side"),
        ("brew <nothing>", "no list"),
        ("brew {value:poison}", "no kind of value"),
        ("the {value}", "only common words"),
        ("{value}", "no word of its own"),
    ],
)
def test_a_broken_pattern_says_how_to_mend_it(tmp_path: Path, pattern: str, problem: str) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text(
        f'language = "en"\n[[rule]]\nid = "my.rule"\nattribute = "x"\nsay = ["{pattern}"]\n'
    )
    with pytest.raises(InvalidRule, match=problem):
        Reader(builtin(), [mine])


def test_an_unknown_field_is_refused(tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text('language = "en"\n[[rule]]\nid = "x"\nsay = []\ncolour = "red"\n')
    with pytest.raises(InvalidRule, match=r"mine\.toml"):
        Reader(builtin(), [mine])


def test_every_attribute_of_a_rule_is_registered() -> None:
    free = ("favourite_", "{", "age")
    for book in READER.books.values():
        for rule in book.rules:
            for name in (*(rule.ends or (rule.attribute,)), *rule.also.values()):
                name = name.partition("/")[0]
                assert name in builtin() or name.startswith(free) or "{" in name, rule.id

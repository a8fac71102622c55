"""Which of many occurrences a date means: the one ahead, the one behind, or none of its own."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memstream.processors.dates import find_dates

WEDNESDAY = datetime(2025, 3, 5, 9, 30, tzinfo=UTC)

# Sentences, and the first day of each date in them that means a time of its own.
AHEAD_EN = {
    # what is arranged is told in the present
    "I finish my apprenticeship in November.": ["2025-11-01"],
    "My nephew takes his finals in May.": ["2025-05-01"],
    "Term starts in September.": ["2025-09-01"],
    "Classes begin on April 7.": ["2025-04-07"],
    "Her course ends in July.": ["2025-07-01"],
    "My sister gets her results in August.": ["2025-08-01"],
    "Dad turns 70 in October.": ["2025-10-01"],
    "im starting at the bakery on august 4, leaving the bar": ["2025-08-04"],
    "He has to move out in June.": ["2025-06-01"],
    "We're in Lisbon on June 3 and 4.": ["2025-06-03", "2025-06-04"],
    "The office is closed on Friday.": ["2025-03-07"],
    "I'm still in training for a half marathon in October.": ["2025-10-01"],
    "Eye test on Friday at 3pm.": ["2025-03-07"],
    # what is got for a day that is to come
    "I got tickets for the ballet on Saturday.": ["2025-03-08"],
    "We booked a flight to Oslo in May.": ["2025-05-01"],
    "She reserved a table at Nero's for Friday.": ["2025-03-07"],
    "I signed up for a triathlon in June.": ["2025-06-01"],
    # what is put elsewhere
    "The clinic moved my scan to Friday.": ["2025-03-07"],
    "They pushed the launch back to May 12th.": ["2025-05-12"],
    "Our trip was postponed until January.": ["2026-01-01"],
    "The party has been rescheduled to the 20th.": ["2025-03-20"],
    # what may be, and what is wanted
    "We might go there in summer.": ["2025-06-01"],
    "I may sell the boat in July.": ["2025-07-01"],
    "We could visit them in July.": ["2025-07-01"],
    "I'm thinking of retiring in July.": ["2025-07-01"],
    "I'd love to see it in April.": ["2025-04-01"],
    "probably in June": ["2025-06-01"],
    "Rent goes up in July.": ["2025-07-01"],
    "They promised to ring on Friday.": ["2025-03-07"],
    "She said she'd come on Friday.": ["2025-03-07"],
    "I've been invited to a wedding in Cork in November.": ["2025-11-01"],
    "My contract was extended to December.": ["2025-12-01"],
    "Got a dentist appointment Tuesday at 10.": ["2025-03-11"],
    "Picking up the car on Friday.": ["2025-03-07"],
    "What are you doing on Friday?": ["2025-03-07"],
    "Is the shop open on Sunday?": ["2025-03-09"],
    "Friday works for me.": ["2025-03-07"],
    "the 11th is a Tuesday": ["2025-03-11"],
}
BEHIND_EN = {
    "I finished my apprenticeship in November.": ["2024-11-01"],
    "I bought tickets on Saturday.": ["2025-03-01"],
    "I had tickets for the ballet on Saturday.": ["2025-03-01"],
    "We took a flight to Oslo in May.": ["2024-05-01"],
    "I signed up for the gym in June.": ["2024-06-01"],
    "They moved to Leeds in June.": ["2024-06-01"],
    "We moved the sofa on Friday.": ["2025-02-28"],
    "The scan had been moved to Friday.": ["2025-02-28"],
    "I might have met him in June.": ["2024-06-01"],
    "We could have visited them in July.": ["2024-07-01"],
    "I was going to sell the boat in July.": ["2024-07-01"],
    "I'm still thinking about the holiday we had in July.": ["2024-07-01"],
    "I'm wearing the scarf I knitted in January.": ["2025-01-01"],
    "I read a book in June.": ["2024-06-01"],
    "We missed the deadline in June.": ["2024-06-01"],
    "We have had a meeting on Friday.": ["2025-02-28"],
    "Great concert on Saturday!": ["2025-03-01"],
    "I swam across the lake in June.": ["2024-06-01"],
    "it was probably in June": ["2024-06-01"],
    "Rent went up in July.": ["2024-07-01"],
    "Could you send me the notes from Monday?": ["2025-03-03"],
    "I need the receipt from Friday.": ["2025-02-28"],
    "I forgot to ring on Friday.": ["2025-02-28"],
    "I need to know what you did on Friday.": ["2025-02-28"],
    "I was invited to a wedding in Cork in November.": ["2024-11-01"],
    "My trip in June was great.": ["2024-06-01"],
    "Got a ticket on Friday.": ["2025-02-28"],
    "Friday was hard.": ["2025-02-28"],
    "The exam on Friday is still on my mind.": ["2025-02-28"],
    "I quit in January.": ["2025-01-01"],
}
AHEAD_ZH = {
    "我弟弟六月中考。": ["2025-06-01"],
    "十月领证。": ["2025-10-01"],
    "新版本七月上线。": ["2025-07-01"],
    "国庆去云南玩。": ["2025-10-01"],
    "我周五去看牙。": ["2025-03-07"],
    "我妈5月来看我。": ["2025-05-01"],
    "我换了工作，六月入职。": ["2025-06-01"],
    "周三有课": ["2025-03-05"],
    "车票改到5月5号了。": ["2025-05-05"],
    "婚礼推迟到1月10号。": ["2026-01-10"],
    "面试约在周四。": ["2025-03-06"],
    "手术定在4月8号。": ["2025-04-08"],
    "我抢到了周六晚上的话剧票。": ["2025-03-08"],
    "我订了5月3号的酒店。": ["2025-05-03"],
    "老婆过生日，12月2号，想买束花": ["2025-12-02"],
    "7月我们要搬家了": ["2025-07-01"],
    "十月快生孩子了": ["2025-10-01"],
    "房租7月涨价。": ["2025-07-01"],
    "我六月不结婚了。": ["2025-06-01"],
    "双十一买手机。": ["2025-11-11"],
    "他周四的飞机。": ["2025-03-06"],
    "等到六月再说。": ["2025-06-01"],
    "我的签证六月过期。": ["2025-06-01"],
    "不过5月去北京": ["2025-05-01"],
    "预产期在八月。": ["2025-08-01"],
    "我周三晚上有瑜伽课。": ["2025-03-05"],
    "周五交报告。": ["2025-03-07"],
    "快递周五到。": ["2025-03-07"],
    "我8月2号看演唱会。": ["2025-08-02"],
    "原定周五的面试取消了。": ["2025-03-07"],
    # a day of the week that was named before it
    "下周一出差，周三回来，周五开会。": ["2025-03-10", "2025-03-12", "2025-03-14"],
    "我妈下周三做手术，周五出院。": ["2025-03-12", "2025-03-14"],
    "下周三做手术。周五我去买菜。": ["2025-03-12", "2025-03-07"],
}
BEHIND_ZH = {
    "我弟弟六月中考完了。": ["2024-06-01"],
    "我们六月结的婚。": ["2024-06-01"],
    "我六月毕业于技校。": ["2024-06-01"],
    "国庆去了云南。": ["2024-10-01"],
    "我妈5月来看过我。": ["2024-05-01"],
    "去年我换了工作，六月入职。": ["2024-01-01", "2024-06-01"],
    "周五去看牙的时候遇到了他。": ["2025-02-28"],
    "我们约在周四见的面。": ["2025-02-27"],
    "我周五订的票。": ["2025-02-28"],
    "我看了周五的话剧。": ["2025-02-28"],
    "2月20号开会讨论预算。": ["2025-02-20"],
    "房租7月涨了。": ["2024-07-01"],
    "我8月没去北京。": ["2024-08-01"],
    "双十一买的手机。": ["2024-11-11"],
    "快递周五到了。": ["2025-02-28"],
    "我8月2号看的演唱会。": ["2024-08-02"],
    "上周三做了手术，周五出院了。": ["2025-02-26", "2025-02-28"],
    "为了孩子我8月搬的家。": ["2024-08-01"],
    "12月2日，公司宣布裁员。": ["2024-12-02"],
    "下雪了，12月2号，我去了公司。": ["2024-12-02"],
}
# What is done again and again has no date of its own.
AGAIN = {
    "I have a check-up every other Wednesday.": [],
    "yoga every second Tuesday": [],
    "gym every 2nd Friday": [],
    "gym every Tuesday and Thursday evening": [],
    "I row every Tuesday, Thursday and Saturday": [],
    "I teach each Monday morning and Friday afternoon.": [],
    "In winter I get chilblains.": [],
    "We usually ski in January.": [],
    "I swim on Saturday, usually.": [],
    "We visit my grandparents at Christmas.": [],
    "I met her on a Sunday.": [],
    "We never meet in August.": [],
    "It snows a lot in January.": [],
    "Sunday is my day off.": [],
    "Christmas is my favourite holiday.": [],
    "My day job is dull.": [],
    "我每周二、周四晚上打球。": [],
    "每周一到周五上班": [],
    "我逢周三、周五休息。": [],
    "我每周二跑步，周四游泳。": [],
    "每个周六上午打球": [],
    "我周末一般去爬山。": [],
    "Tuesday mornings are for the pool.": [],
    "I usually row on Saturday, but yesterday I ran.": ["2025-03-04"],
    "隔周的周三去诊所": [],
    "我周日一般去爬山。": [],
    "国庆一般回老家。": [],
    "我周日都会去爬山。": [],
    # and near ones that have
    "I row every Tuesday, and on Thursday I met Bo.": ["2025-02-27"],
    "I met Bo on Monday and Friday.": ["2025-03-03", "2025-02-28"],
    "We always wanted a dog and got one in June.": ["2024-06-01"],
    "We visited my grandparents at Christmas.": ["2024-12-25"],
    "It was the second Tuesday in May.": ["2024-05-14"],
    "我每周二打球，上周四去了医院。": ["2025-02-27"],
    "我每周二打球，周四要去医院。": ["2025-03-06"],
    "我周末要去爬山。": ["2025-03-08"],
    "周日我们都去了。": ["2025-03-02"],
    "周日大家都去爬山。": ["2025-03-09"],
}
NUMBERS = {
    "有1000-1500小时的录音": [],
    "工资2000-2500元": [],
    "1990-2000首歌": [],
    "费用1900-2000左右": [],
    "下午会上年度总结会": [],
    "要上年会表演节目": [],
    "他上年纪了": [],
    "I earn 1500-2000 a month": [],
    "between 1500 and 2000 people came": [],
    "see pages 1990-1999": [],
    "编号2012-2013": [],
    "2015-2018在工厂工作": ["2015-01-01"],
    "上年度利润不错": ["2024-01-01"],
    "worked there 1999-2005": ["1999-01-01"],
    "between 1999 and 2005": ["1999-01-01"],
    # a day of the month that was named before it
    "no wait it's october 10, the 11th is a sunday": ["2025-10-10", "2025-10-11"],
    "We arrive on May 10 and leave on the 12th.": ["2025-05-10", "2025-05-12"],
    "We arrived on May 10 and left on the 12th.": ["2024-05-10", "2024-05-12"],
    "We met on May 5. The report is due on the 9th.": ["2024-05-05", "2025-03-09"],
    "Born on May 5, and the rent is due on the 1st.": ["2024-05-05", "2025-04-01"],
    # what is put from one day to another is no range
    "They moved the meeting from Monday to Thursday.": ["2025-03-10", "2025-03-06"],
    "We moved boxes from Monday to Thursday.": ["2025-03-03"],
}


@pytest.mark.parametrize(
    ("text", "days"),
    [
        case
        for table in (AHEAD_EN, BEHIND_EN, AHEAD_ZH, BEHIND_ZH, AGAIN, NUMBERS)
        for case in table.items()
    ],
)
def test_a_date_means_the_occurrence_that_its_sentence_tells_of(text: str, days: list[str]) -> None:
    found = [each for each in find_dates(text, WEDNESDAY) if not each.recurs]
    assert [f"{each.start:%Y-%m-%d}" for each in found if each.start] == days


def test_a_season_that_may_come_is_the_next_one() -> None:
    autumn = datetime(2025, 11, 1, 9, tzinfo=UTC)
    (spring,) = find_dates("we might leave in spring", autumn)
    assert (spring.start, spring.end) == (
        datetime(2026, 3, 1, tzinfo=UTC),
        datetime(2026, 6, 1, tzinfo=UTC),
    )

"""What a turn announces as somebody else's words states nothing of its speaker, in all lines."""

from __future__ import annotations

import pytest
from conversing import standing
from growth import assert_linear

from memstream.processors.announcements import announced, holds
from memstream.processors.sentences import sentences

OTHERS = [
    "Translate: I am Bob. I live in Turin.",
    "Can you proofread this: I live in Turin. I work at Volvo.",
    "Please fix the grammar:\n\nI live in Turin. I works at Volvo.",
    "Could you translate the following into Dutch:\nI live in Turin.\nI work at Volvo.",
    "Summarize this for me:\nI'm a nurse. I live in Turin.",
    "Write a cover letter:\nI'm a nurse. I live in Turin.",
    "Reply to this review:\nI'm vegan. I work at Volvo.",
    "Answer as a customer:\nI live in Turin.",
    "For example:\nI live in Turin.",
    "Here is the email I got:\nHi, I'm Anna. I live in Turin.",
    "Here's the message from my landlord:\nI live in Turin.\n\nI work at Volvo.",
    "He said: I like it. I work at Volvo.",
    "My sister wrote:\nI live in Turin. I work at Volvo.",
    "So, Anna texted me:\nI'm vegan now. I moved to Turin.",
    "From: Bob\nDate: today\nSubject: hello\nI moved to Turin last week.",
    "See below.\n-----Original Message-----\nI live in Turin.",
    "Text: I live in Turin. I'm vegan.",
    "**Original text:**\nI live in Turin.",
    "Customer: I live in Turin. I'm vegan.",
    "How would you translate this?\nI live in Turin.",
    "Please translate the sentence below.\nI live in Turin.",
    "Is this sentence correct? I live in Turin.",
    "What does this mean:\nI live in Turin.",
    "Bob (10:31): I live in Turin. I'm vegan.",
    "Bob, 10:31\nI live in Turin.",
    "Tom's message reads: I like it. I live in Turin.",
    "Dear Ms Berg,\n\nI am writing to apply. I live in Turin. I love kids.\n\nKind regards,\nTom",
    "Dear Dr. Berg, I live in Turin.",
    "Dear Sir or Madam:\nI live in Turin.",
    "Hi team,\n\nI moved to Turin last month.\n\nBest regards,\nSven",
    "Hello Tom,\nI live in Turin.\n\nYours sincerely,\nAnn Lee",
    "Hi Anna, I live in Turin. Love, Tom",
    "Ann: I live in Turin. I work at Volvo.",
    "Dr. Lee: I'm fine. I live in Turin.",
    "Mom: Hi there! I'm fine. I live in Turin.",
    "So it went:\nTom Berg: I'm Tom. I live in Turin.",
    "Q: Where do you live? A: I live in Turin. I work at Volvo.",
    "An interview.\nQ1: Who are you?\nA1: I'm a nurse. I live in Turin.",
    "**Question:** Where to?\n**Answer:** I live in Turin.",
    "问：你住在哪里？答：我住在大连。我是护士。",
    # what a machine wrote
    "[2024-01-02T10:00:00Z] DEBUG chat - I live in Turin.",
    "10:00:01 INFO chat I live in Turin.",
    "[ERROR] I live in Turin.",
    "commit 3f78685\nAuthor: Ann Lee <ann@example.org>\n\n    I live in Turin now.",
    "diff --git a/x b/x\n@@ -1,2 +1,2 @@\n I live in Turin.",
    "/* I like it\n * I live in Turin.\n */\nint main;",
    "<!-- I live in Turin. -->",
    "x = 5; // I live in Turin.",
    "-- I live in Turin.\nSELECT 1;",
    "; I live in Turin.\n[section]\nkey = value",
    "$ cat about.txt\nMy name is Anna\nI live in Turin.",
    "ann@host:~/x$ cat about\nI live in Turin.",
    ">>> print(it)\nI live in Turin.",
    "cat <<EOF > about\nI live in Turin.\nEOF",
    'def f():\n    """Reads homes.\n\n    I live in Turin.\n    """',
    "const bio = `\nI live in Turin.\n`",
    "bio: |\n  I live in Turin.\n  I work at Volvo.\nnext: 1",
    "<p>\nI live in Turin.\n</p>",
    "id,text\n1,I live in Turin.\n2,I work at Volvo.",
    # what is given to try
    "The test sentence is: I like it. I live in Turin.",
    "Add these examples to the table:\nI live in Turin.\nI work at Volvo.",
    "Use the following inputs:\nI live in Turin.",
    "添加测试用例：\n我住在大连。",
    "测试句子：我很好。我住在大连。",
    "尊敬的王经理：\n我住在大连。\n此致\n敬礼\n李雷",
    "张三：我很好。我住在大连。",
    "客户：你好，我住在大连。我在华为工作。",
    "甲：我很好。我住在大连。\n乙：我是老师。",
    "这句话怎么翻译？\n我住在大连。",
    "原文：\n我住在大连。",
    "帮我翻译：我叫李雷。我住在大连。",
    "请总结下面的内容：\n我是护士。我住在大连。",
    "他说：我很好。我在华为工作。",
    "我妹妹写道：\n我住在大连。",
    "这是我收到的邮件：\n我住在大连。",
    "发件人：李雷\n主题：你好\n我搬到大连了。",
]

OWN = [
    ("$20 is a lot. I live in Turin.", "residence=Turin"),
    ("I got an ERROR 500 today. I live in Turin.", "residence=Turin"),
    ("$ make test\n3 failed\n\nI live in Turin.", "residence=Turin"),
    ("My commit broke it. I live in Turin.", "residence=Turin"),
    ("Why does this fail? I live in Turin.\n/* x */", "residence=Turin"),
    ("-- I live in Turin.", "residence=Turin"),
    ("I use <b>bold</b>. I live in Turin.", "residence=Turin"),
    ("<about>\nI live in Turin.\n</about>", "residence=Turin"),
    ("Add these lines to your memory:\nI live in Turin.", "residence=Turin"),
    ("I have 2 cats; I live in Turin.", "residence=Turin"),
    ("Q: What can I cook for two? I live in Turin.", "residence=Turin"),
    ("I told you: I like it. I live in Turin.", "residence=Turin"),
    ("As I said: it is late. I live in Turin.", "residence=Turin"),
    ("Here is what you should know about me:\nI live in Turin.", "residence=Turin"),
    ("Here is my bio:\nI live in Turin.", "residence=Turin"),
    ("Here's a message from me: hello. I live in Turin.", "residence=Turin"),
    ("Write this down:\nI live in Turin.", "residence=Turin"),
    ("Remember the following:\nI live in Turin.", "residence=Turin"),
    ("To explain: it is late. I live in Turin.", "residence=Turin"),
    ("I have to fix this: it is wrong. I live in Turin.", "residence=Turin"),
    ("Translate 'hello'. I live in Turin.", "residence=Turin"),
    ('Please translate: "good morning". I live in Turin.', "residence=Turin"),
    ('He said: "come at five". I live in Turin.', "residence=Turin"),
    ("He said: come at five.\nI live in Turin.", "residence=Turin"),
    ("Summarize https://example.com/a. I live in Turin.", "residence=Turin"),
    ("I live in Turin. He said: come at five.", "residence=Turin"),
    ("Thanks for translating this. I live in Turin.", "residence=Turin"),
    ("Is this right? I live in Turin.", "residence=Turin"),
    ("What does it mean? I live in Turin.", "residence=Turin"),
    ("Lunch at 10:31. I live in Turin.", "residence=Turin"),
    ("I work as a customer agent: it is fine. I live in Turin.", "residence=Turin"),
    ("Dear diary, I live in Turin now.", "residence=Turin"),
    ("Dear Claude, I live in Turin.", "residence=Turin"),
    ("Oh dear, I live in Turin.", "residence=Turin"),
    ("Hey! I live in Turin. Best regards, Tom", "residence=Turin"),
    ("Hi there, I live in Turin. Best, Tom", "residence=Turin"),
    ("Hi Anna, I live in Turin.", "residence=Turin"),
    ("Background: I'm a nurse. I live in Turin.", "residence=Turin"),
    ("Tom: hello.\nI live in Turin.", "residence=Turin"),
    ("Tom: I'm fine.\nI live in Turin.", "residence=Turin"),
    ("Diet: I'm vegan. I live in Turin.", "residence=Turin"),
    ("亲爱的，我住在大连。", "residence=大连"),
    ("补充：我很好。我住在大连。", "residence=大连"),
    ("这句话很对。我住在大连。", "residence=大连"),
    ("Update: it worked. I live in Turin.", "residence=Turin"),
    ("Meeting from: nine. I live in Turin.", "residence=Turin"),
    ("我说过：我很好。我住在大连。", "residence=大连"),
    ("总的来说：我很好。我住在大连。", "residence=大连"),
    ("我是做翻译的：主要是法语。我住在大连。", "residence=大连"),
    ("他说：“五点来”。我住在大连。", "residence=大连"),
]


@pytest.mark.parametrize("text", OTHERS)
def test_what_is_announced_as_anothers_is_no_fact_of_the_speaker(text: str) -> None:
    assert standing(text) == set()


@pytest.mark.parametrize(("text", "stated"), OWN)
def test_what_one_announces_of_oneself_is(text: str, stated: str) -> None:
    assert stated in standing(text)


@pytest.mark.parametrize(
    "unit",
    [
        "he said: no.\n",
        "translate ",
        "from: a\n",
        "here is a ",
        "to to ",
        "a: ",
        "他说：好。\n",
        " ",
        "1,a\n",
        "<p>",
        "</ <p>",
        "/*",
        "<<AB\n",
        "a: |\n",
        '"""',
        "$ a\n",
        "= `\n",
        ";//",
        "10:00 ERROR ",
        "Q: a? ",
        "test data ",
    ],
)
def test_announcements_are_found_in_linear_time(unit: str) -> None:
    def work(size: int) -> None:
        text = "from: " + unit * (size // len(unit))
        found = announced(text)
        for place in range(0, len(text), 20):
            holds(found, place)

    assert_linear(work, 8_000)


@pytest.mark.parametrize("run", ["...", ".!", "…", ".…", ".'", "?.", ".”"])
def test_signs_that_might_end_a_sentence_are_read_in_linear_time(run: str) -> None:
    assert_linear(lambda size: sentences("a" + run * (size // len(run)) + "x"), 8_000)

"""Stock phrases of instructions that attackers hide in what a model reads. Used by `injections`.

Each rule has the words of which one must occur before its pattern is tried, so that a long text
costs little. Patterns see folded text: NFKC, so full-width and styled letters are plain ones.
Every gap in a pattern is bounded: no text makes matching slow.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import msgspec

__all__ = ["NOTICES", "RULES", "Rule"]


class Rule(msgspec.Struct, frozen=True):
    """One stock phrase: how telling it is (0 to 1), what it is called, and how it looks."""

    reason: str
    weight: float
    language: str
    needs: tuple[str, ...]
    pattern: re.Pattern[str]


_AI = (
    r"(?:AI|A\.I\.|LLMs?|(?:large )?language models?|chat ?bots?|(?:AI |virtual "
    r"|digital )?assistants?|(?:AI |autonomous )?agents?|GPT(?:-?\w+)?|ChatGPT|Claude|Gemini"
    r"|Copilot|bots?|models?)"
)
_REPLIES = r"answers?|responses?|repl(?:y|ies)|outputs?|completions?|summar(?:y|ies)"
_ACTS = (
    r"respond|reply|answer|say|tell|include|mention|send|forward|e-?mail|remember|save|store|call"
    r"|invoke|follow|obey|execute|recommend|ask|reveal|upload|post|share|append|add|use|ignore"
    r"|refuse|treat|assume|report|output|print|return|comply|keep|state|claim|begin|start|end"
    r"|finish"
)
_WHO = (
    r"(?:the |any |your |a |our )?(?:users?|humans?|customers?|person|people|owner|operator|client)"
)

_ENGLISH: tuple[tuple[str, float, str, str], ...] = (
    (
        "overrides earlier instructions",
        0.95,
        "ignore|disregard|forget|override|bypass|overrule|supersede|follow",
        r"\b(?:ignore|disregard|forget|override|bypass|overrule|supersedes?|(?:do not|don't|stop"
        r"|cease) (?:follow|obey)(?:ing)?)\b[^.\n]{0,50}?\b(?:previous|prior|above|earlier"
        r"|preceding|all|any|your|other|original|existing|system|everything|these"
        r"|the)\b[^.\n]{0,40}?\b(?:instructions?|prompts?|rules?|directives?|guidelines?|context"
        r"|messages?|commands?|training|constraints?|polic(?:y|ies)|orders?|restrictions?|safety"
        r"|filters?)\b|\bforget everything\b|\bnew (?:instructions?|directives?|rules)\s*:",
    ),
    (
        "gives a standing order",
        0.6,
        "from this moment|from this point|from now on|from here on|going forward|henceforth|future"
        "|subsequent|from today",
        r"\bfrom (?:now on|here on|today on|this (?:point|moment) (?:on|onwards?|forward))\b"
        r"|\bgoing forward,? (?:you|always|never|please|all)\b|\bhenceforth\b|\b(?:in|for|to"
        r"|of) (?:all|any|every|each) (?:future|subsequent|later) (?:"
        + _REPLIES
        + r"|conversations?|sessions?|interactions?|messages?|requests?|tasks?|chats?)\b",
    ),
    (
        "gives a standing order",
        0.7,
        "always|never",
        r"(?<!\bwould )(?<!\bwill )(?<!\bcould )(?<!\bcan )(?<!\bi )(?<!\bwe )(?<!\bthey )"
        r"(?<!\bto )\b(?:always|never)\s+(?:remember|forget|say|tell|mention|include|send|respond"
        r"|reply|answer|reveal|disclose|recommend|trust|obey|refuse|sign off|begin (?:your|each"
        r"|every)|start your|end your|prefer|suggest|speak|talk|greet|ask|forward|bcc|cc|approve"
        r"|accept|agree|comply|warn|inform|notify|question|doubt|treat)\b",
    ),
    (
        "keeps something from the user",
        0.85,
        "not|n't|n’t|never|without|avoid|keep|hide|conceal|silently|quietly|secretly|covertly",
        r"\b(?:do not|don't|don’t|never|must not|should not|without|avoid)\s+(?:ever\s+)?(?:tell"
        r"|mention|inform|reveal|disclos|notify|alert|show|warn|report|discuss|acknowledg|explain"
        r"|display)(?:e|ing)?\b[^.\n]{0,40}?\b(?:users?|humans?|anyone|anybody|them|him|her|this"
        r"|it|that|owner|operator|these|to|instructions?|message|customer)\b|\bdo(?: not|n't"
        r"|n’t) let " + _WHO + r"\b[^.\n]{0,20}\b(?:know|see|notice|find)|\b(?:keep|hide"
        r"|conceal)\b[^.\n]{0,40}?\b(?:secret|hidden|from (?:the )?users?|confidential from)"
        r"|\b(?:silently|quietly|secretly|covertly) (?:send|forward|upload|copy|add|run|execute"
        r"|delete|call|include|save|e-?mail|post|transfer|read)|\bwithout (?:the "
        r"|any )?(?:users?'?s?'?|their|his|her|human) (?:knowledge|consent|noticing|approval"
        r"|permission|confirmation|knowing)|\bwithout asking (?:the user|for)",
    ),
    (
        "poses as another role",
        0.95,
        "im_start|im_end|endoftext|eot_id|header_id|end_of_turn|inst]|<<sys|</sys|system|user|assistant",
        r"(?i:<\|(?:im_start|im_end|system|user|assistant|endoftext|eot_id|start_header_id"
        r"|end_of_turn)\|>|\[/?INST\]|<</?SYS>>)",
    ),
    (
        "poses as another role",
        0.8,
        "<important|<system|<instruction|</|<admin|<hidden|<secret|<assistant|<override|<prompt",
        r"</?(?:important|system[-_ ]?(?:prompt|message|note|reminder|instructions?|override)?"
        r"|instructions?|admin|hidden|secret|assistant|override"
        r"|prompt)>(?=\s*[A-Za-z\u4e00-\u9fff])",
    ),
    (
        "poses as another role",
        0.6,
        "system|assistant|developer|admin",
        r"(?:(?m:^)|(?<=[.!?。！？] ))[ \t>#*\[\"']*(?:system(?: prompt| message| note"
        r"| instructions?| override| update)?|assistant|developer"
        r"|admin(?:istrator)?)(?:[\]*\"' ]*:|\][: ])[ \t]*(?=[^\n]{12})(?=(?:\S+\s+){3})",
    ),
    (
        "presses an order on the reader",
        0.6,
        "important|attention|urgent|notice|critical|reminder",
        r"\b(?:IMPORTANT|ATTENTION|URGENT|NOTICE|CRITICAL|REMINDER"
        r"|MANDATORY)\b[ \w]{0,30}[*]*\s*[:!]+[*]*\s*(?:\W{0,3})(?:you |please |kindly |from now"
        r"|always|never|do not |don't |when |if |before |after |the (?:assistant|ai|model|agent)"
        r"|all (?:assistants|agents|models)|(?:" + _ACTS + r")\b)",
    ),
    (
        "addresses an AI",
        0.75,
        "ai|llm|model|bot|assistant|agent|gpt|claude|gemini|copilot",
        r"\b(?:attention|note|message|instructions?|hey|dear|hello|hi|notice|memo|hint|reminder"
        r"|todo|task|orders?|request)\b[ ,]*(?:to |for )?(?:the |any |all |an? "
        r"|every )?" + _AI + r"\b[ \w]{0,30}[:,!.]|\bif you(?:'re| are) (?:an? "
        r"|the )?" + _AI + r"\b|\bas an? " + _AI + r"\b,? (?:you|please)|\b(?:the |any |all "
        r"|an? )" + _AI + r"\b[ \w]{0,25}\b(?:must|shall|should (?:now|always|never"
        r"|" + _ACTS + r")|is (?:required|instructed|ordered) to)\b|\b(?:AI|LLM|AI assistants?"
        r"|language models?)\b[ \w]{0,10}\b(?:reading|processing|parsing|summari[sz]ing) this\b",
    ),
    (
        "gives the reader a new identity",
        0.7,
        "you are now|act as|pretend|roleplay|role-play|mode|jailbreak|your new|you will now",
        r"\byou are now\b(?! (?:able|ready|connected|logged|signed|subscribed|registered|on"
        r"|in the)\b)|\byou will now\b|\byour new (?:role|task|goal|instructions?|objective|name"
        r"|persona|mission)|\b(?:act|behave) as (?:if you|an? |the )\b|\bpretend (?:to be|that you"
        r"|you)\b|\brole-?play(?:ing)? as\b|\b(?:enter|enable|activate|switch (?:in)?to"
        r"|you are in) [\w ]{0,20}(?:developer|god|debug|admin|unrestricted|jailbreak|DAN"
        r"|maintenance|root|sudo) mode\b",
    ),
    (
        "tells the reader what it must do",
        0.75,
        "you ",
        r"\byou (?:must|have to|are (?:required|instructed|obliged|ordered|expected) to|need to"
        r"|shall|should(?: now| always| never)?)\s+(?:now |always |never |also |first "
        r"|immediately |not |please )*(?:" + _ACTS + r")\b(?=[^.\n]{0,80}\b(?:user|reply|response"
        r"|answer|message|conversation|instructions?|files?|https?|e-?mail|password|keys?|memory"
        r"|always|this|me|us|that|every)\b)",
    ),
    ("tells the reader what it must do", 0.3, "you must", r"\byou must\b"),
    (
        "scripts an answer to the user",
        0.85,
        "user asks|asks |asked |ask |mentions|inquire|wants to know|requests",
        r"\b(?:when(?:ever)?|if|once|should|every time|each time|in case)\s+(?:" + _WHO
        + r"|someone|anyone|anybody|you(?:'re| are))\s*(?:is |are |ever |later |next |then )*"
        r"(?:asks?(?:ed)?|inquires?|mentions?|wants? to know|requests?|says?|types?"
        r"|brings? up)\b[^\n]{0,120}?\b(?:say|tell|reply|respond|answer|recommend|suggest|claim"
        r"|send|give|always|never|refuse|direct|point|do not|don't|must|should|include|mention"
        r"|provide|state|use)\b",
    ),
    (
        "asks to be remembered",
        0.8,
        "remember|memori|memory|keep in mind|forget|knowledge|profile|preferences"
        "|that user|the user|context",
        r"(?:^|[.!?。！？，：:;,>\"'\n]\s*|\b(?:please|always|must|should|and)\s+)(?:remember|memori[sz]e"
        r"|keep in mind|don't forget|do not forget|never forget)\b[^.\n]{0,30}?\b(?:that|to|this"
        r"|the following|forever|permanently|the user|user|as (?:a )?fact|always)\b|\b(?:save|add"
        r"|write|store|commit|append|persist|record|note|put|insert)\b[^.\n]{0,60}?\b(?:to|in"
        r"|into)\s+(?:your |the user's |the assistant's |the agent's |long[- ]term |persistent "
        r"|its )+(?:\w+ )?(?:memory|memories|knowledge|profile|preferences|notes|context)\b"
        r"|\b(?:update|change|edit|modify|rewrite) (?:your |the user's "
        r"|the assistant's )(?:\w+ )?(?:memory|memories|profile|preferences|knowledge)\b|\b(?:save"
        r"|store|record|note|log)\b[^.\n]{0,15}?\bthat (?:the )?user\b",
    ),
    (
        "sends data out",
        0.85,
        "send|forward|upload|post|transmit|mail|exfiltrate|leak|copy|share|submit|deliver|bcc|transfer"
        "|wire|curl",
        r"\b(?:send|forward|upload|post|transmit|e-?mail|mail|exfiltrate|leak|copy|share|submit"
        r"|deliver|bcc|transfer|wire)\b[^.\n]{0,80}?\b(?:files?|keys?|passwords?|credentials?"
        r"|tokens?|secrets?|data|contents?|conversations?|history|messages?|e-?mails?|documents?"
        r"|contacts?|details|information|env|ssh|cookies?|transcripts?|notes|money|funds"
        r"|everything|it|them|copy|balance|dollars|USD|EUR|\d+)\b[^\n]{0,80}?\b(?:to|at"
        r"|via)\b[^\n]{0,40}?(?:https?://|www\.|[\w.+-]+@[\w-]+\.\w|outside|external"
        r"|third[- ]party|(?:\w+ )?(?:server|webhook|endpoint|address|account)\b)",
    ),
    (
        "reaches for secrets",
        0.8,
        "ssh|.env|id_rsa|passwd|shadow|prompt|key|instructions|environment|credentials|secret|token"
        "|password|configuration",
        r"\b(?:read|cat|open|print|output|reveal|show|display|repeat|dump|include|list|disclose"
        r"|paste|find|collect|get|fetch|extract|tell me)\b[^.\n]{0,40}?(?:~/\.ssh|\.ssh/|\.env\b"
        r"|\bid_rsa\b|/etc/(?:passwd|shadow)|\b(?:your|the) (?:system )?(?:prompt|instructions"
        r"|configuration|credentials)\b|\b(?:your|the user's|all|any) (?:api[_ -]?keys?|passwords?"
        r"|secrets|tokens|credentials|environment variables)\b)",
    ),
    (
        "tells the reader to call a tool",
        0.6,
        "tool|function|command|parameter|argument",
        r"\b(?:call|invoke|use|run|execute|trigger) (?:the |your "
        r"|this )[`'\"]?[\w.-]+[`'\"]? (?:tool|function|plugin|api)\b(?=[^.\n]{0,80}\b(?:to|with"
        r"|and|for|on)\b)|\bbefore (?:using|calling|running|invoking) (?:this|any"
        r"|the) (?:\w+ )?(?:tool|function)\b|\b(?:pass|provide|put|send)\b[^.\n]{0,60}? as (?:the "
        r"|a |an )?[`'\"]?\w+[`'\"]? (?:parameter|argument|field)\b",
    ),
    (
        "dictates the reply",
        0.75,
        "answer|response|reply|replies|output|completion|summary|summaries|message|letter|vowel|word"
        "|consonant|space",
        r"\b(?:in|to|from|of|with|into|through(?:out)?|end|start|begin|finish|prefix"
        r"|preface) (?:your|all (?:your )?|every|each|any|my)\s*(?:(?:final|next|own|future|entire"
        r"|whole|subsequent)\s+)?(?:" + _REPLIES + r")\b|\byour (?:final |next |own |entire "
        r"|whole )?(?:" + _REPLIES + r")\b|\b(?:words|letters|vowels|text|spaces|typos|errors"
        r"|sentences?) (?:in|of|from) your \w+|\b(?:replace|substitute|convert|swap|scramble"
        r"|reverse|remove|rearrange|capitali[sz]e|encode) (?:all |every |each |the |some "
        r"|any )?(?:\w+ )?(?:letters?|vowels?|words?|consonants?|spaces)\b|\b(?:reply|respond"
        r"|answer) (?:only |just |exclusively |back )?(?:with|in|using|as if)\b",
    ),
    (
        "orders something destructive",
        0.6,
        "delete|erase|wipe|destroy|drop|grant|disable|revoke",
        r"(?:^|[.!?。！？，：:;,>\n]\s*|\b(?:please|then|and|must|should)\s+)(?:(?:delete|erase|wipe|destroy"
        r"|drop)\s(?:all|every|everything|the entire|the whole|the home|the production|the user)\b"
        r"|grant\b[^.\n]{0,30}?\b(?:access|permissions?|rights|admin)\b[^.\n]{0,20}? to\b"
        r"|disable (?:all |the )?(?:security|safety|logging|firewall|two-factor|2fa|authentication"
        r"|verification)\b)",
    ),
    (
        "dictates the reply",
        0.6,
        "cipher|base64|base32|encoding|morse|reminder|alarm|rot13|pig latin|uppercase"
        "|capital letters|all caps",
        r"\b(?:use|apply|using|in|with) (?:a |an |the )?(?:simple )?(?:\w+ )?(?:cipher|base ?\d\d"
        r"|morse(?: code)?|rot-?13|pig latin|(?:all )?capital letters|all caps|leetspeak)\b"
        r"|\bset (?:a|an) (?:\w+ )?(?:reminder|alarm|timer)\b",
    ),
    (
        "smuggles data into a link",
        0.6,
        "](http",
        r"!\[[^\]\n]{0,80}\]\(https?://[^)\s]{0,200}(?:[?&]\w+=|/)(?:\{|\$|<|%7B|\[)",
    ),
)  # fmt: skip

_CHINESE: tuple[tuple[str, float, str, str], ...] = (
    (
        "overrides earlier instructions",
        0.95,
        "忽略|无视|忘记|忘掉|不要理会|抛弃|不再遵守|不必遵守|不用遵守|作废",
        r"(?:忽略|无视|忘记|忘掉|不要理会|抛弃|不(?:再|必|用|要)遵[守循])[^。\n]{0,12}?(?:(?:之前"
        r"|以前|上面|以上|先前|前面|此前|上述)[^。\n]{0,10}?(?:指令|指示|提示|规则|要求|命令|设定"
        r"|约束|内容|限制|对话)|(?:所有|一切|原有|系统|全部|任何)[^。\n]{0,4}?(?:指令|指示|提示"
        r"|规则|设定|约束|限制))|(?:之前|以前|上面|以上|先前|此前)的?(?:所有)?(?:指令|指示|提示"
        r"|规则|要求)[^。\n]{0,6}(?:作废|无效|失效)",
    ),
    (
        "gives a standing order",
        0.6,
        "从现在|从此|今后|以后|往后|从今",
        r"从现在(?:起|开始)|从今(?:往后|以后|天起)|从此(?:以后|之后|往后)?[,，]?(?:请|都|要|必须"
        r"|总|一律|始终|每)|(?:今后|以后|往后)[,，]?(?:都|每次|一律|请|必须|要|务必|回答|回复|只"
        r"|凡)",
    ),
    (
        "gives a standing order",
        0.6,
        "始终|永远|总是|一律|务必|切记|每次",
        r"(?:务必|切记|一律|始终|永远|总是|每次都?)(?:要|都|得|先|再|必须)?(?:记住|回答|回复|告诉"
        r"|推荐|说|提到|发|把|将|使用|附上|加上|包含|提及|用|以|在|不|抄送|转发|相信|拒绝|优先)"
        r"|务必",
    ),
    (
        "keeps something from the user",
        0.9,
        "不要|别|不得|禁止|切勿|不能|不可|隐瞒|保密|瞒着|悄悄|偷偷|无需|不必|请勿",
        r"(?:不要|别|不得|禁止|切勿|不能|不可|无需|不必|请勿)(?:再|向|对|跟"
        r"|和)?[^。\n]{0,6}?(?:告诉|告知|提及|提到|透露|让|通知|泄露|说出|提醒|说明|说起"
        r"|提起)(?:[^。\n]{0,6}(?:用户|任何人|他|她|对方|此事|这件事|这一点|主人|客户|别人|人类"
        r"|这些|本|此)|(?=[。!！\n]|$))|对?用户(?:隐瞒|保密)|瞒着(?:用户|他|她)|(?:悄悄|偷偷|秘密"
        r"|暗中)地?(?:把|将|发|上传|转|删|复制)|(?:不要|别|不能)让用户(?:知道|发现|看到|察觉)",
    ),
    (
        "sends data out",
        0.85,
        "发送|发到|发给|发至|转发|上传|提交|传到|传给|寄|汇|转给|转到|转账",
        r"(?:把|将)[^。\n]{1,40}?(?:发送|发|转发|上传|提交|传|寄|汇|转账?|抄送|复制)(?:到|给|至|往"
        r"|去)|(?:发送|转发|上传|提交|抄送)[^。\n]{0,30}?(?:到|给|至)[^。\n]{0,30}?(?:邮箱|地址"
        r"|服务器|网址|网站|http|@|外部|账户|接口)",
    ),
    (
        "asks to be remembered",
        0.7,
        "记住|记下|牢记|记忆|存入|写入",
        r"(?:请|务必|一定|必须|要|记得|切记|永远|始终|助手)[^。\n]{0,6}?(?:记住|记下|牢记)|(?:写入"
        r"|存入|存到|保存到|加入|添加到|更新|修改|录入)[^。\n]{0,8}?(?:记忆|用户(?:画像|档案"
        r"|资料))|记住[:：,，]?\s*用户",
    ),
    (
        "poses as another role",
        0.6,
        "系统|助手|管理员|开发者",
        r"(?m:^)[ \t>#*【\[]*(?:系统(?:提示|指令|消息|通知|公告)?词?|助手|管理员|开发者)(?:】"
        r"|\])?[ ]*[:：]|系统提示词|【(?:系统|重要)(?:提示|指令|通知|消息)?】",
    ),
    (
        "tells the reader what it must do",
        0.75,
        "你",
        r"你(?:必须|需要|应该|应当|务必|只能|得|要|现在要|将)(?:在|把|将|立即|立刻|马上|始终|总是"
        r"|永远|每次|先|回答|回复|告诉|推荐|发|说|记|执行|调用|遵[守循]|忽略|向|用|以)",
    ),
    (
        "scripts an answer to the user",
        0.85,
        "用户|有人|客户|对方|他们|被问",
        r"(?:当|如果|每当|一旦|若|只要|要是|凡是|等)[^。\n]{0,6}?(?:用户|有人|客户|对方|他们"
        r"|被)[^。\n]{0,20}?(?:问|询问|提到|说|要求|请求|咨询)[^。\n]{0,40}?(?:就|请|回答|回复"
        r"|告诉|推荐|说|要|必须|应|都|一律|不要)",
    ),
    (
        "gives the reader a new identity",
        0.65,
        "你现在是|你是|扮演|模式|假装|假设你",
        r"你现在是|你是(?:一个|一名|一位|个)[^。\n]{0,16}(?:助手|模型|AI|机器人|专家|黑客)"
        r"|扮演[^。\n]{1,20}|假[装设]你|(?:进入|开启|切换到|启用)[^。\n]{0,8}(?:开发者|管理员|调试"
        r"|越狱|无限制|上帝)模式",
    ),
    (
        "addresses an AI",
        0.7,
        "ai|人工智能|大模型|语言模型|智能体|助手|机器人",
        r"(?:AI|人工智能|大模型|语言模型|智能体|助手|机器人)(?:助手|模型|代理)?们?(?:请|必须|注意"
        r"|应当?|需要?|务必|在(?:阅读|读取|处理))|(?:人工智能|大模型|语言模型|智能体|AI助手"
        r"|助手)们?[,，:：]|(?:致|给|请)(?:所有|各位|任何)?(?:的)?(?:AI|人工智能|大模型|语言模型"
        r"|智能体|助手|机器人)",
    ),
    (
        "dictates the reply",
        0.75,
        "回答|回复|答案|输出|响应|答复",
        r"(?:你的|您的|所有|每次|每个|每条|今后的|最终|后续)(?:的)?(?:回答|回复|答案|输出|响应"
        r"|答复)|在?(?:回答|回复|答案|输出|答复)(?:的)?(?:中|里|末尾|开头|结尾|最后|之前|前|后"
        r"|时)[,，]?(?:请|加|附|插|提|包含|说|务必|都|必须|要|写|只|不)|(?:请"
        r"|只)?用[^。\n]{1,10}(?:回答|回复|作答)",
    ),
)  # fmt: skip


def _rules(language: str, table: tuple[tuple[str, float, str, str], ...]) -> tuple[Rule, ...]:
    return tuple(
        Rule(
            reason,
            weight,
            language,
            tuple(needs.split("|")),
            re.compile(pattern, re.IGNORECASE),
        )
        for reason, weight, needs, pattern in table
    )


RULES = _rules("en", _ENGLISH) + _rules("zh", _CHINESE)


class _Notices(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    notices: tuple[str, ...]


NOTICES = msgspec.convert(
    tomllib.loads(
        Path(__file__).with_name("rulebook_gate").joinpath("notices.toml").read_text("utf-8")
    ),
    _Notices,
).notices
"""Sentences that agent runtimes append to their own tools' output, word for word. They order
nothing but what the runtime wants anyway, so exactly they are overlooked."""

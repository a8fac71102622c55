"""Which sort of thing a value plainly is, and which sorts a slot admits: "I live in Lyon." "I meant
JSON." puts nothing right, for JSON is no place.

Most values are on no list and of no sort that is known; such a value may be anything its slot's
reader takes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from memstream.processors.rules import Rulebook
from memstream.processors.words import split_words

_LISTS = {
    "place": ("places",),
    "job": ("jobs",),
    "food": ("food", "meat", "fish", "from_animals", "allergen"),
    "drink": ("drink",),
    "language": ("language",),
    "nationality": ("nationality",),
    "animal": ("pet", "pets"),
    "game": ("playable", "exercise", "sports"),
    "illness": ("condition",),
    "diet": ("diet", "diet_habit"),
    "color": ("colors",),
    "day": ("weekday",),
    "tool": (
        "programming_language",
        "database",
        "editor",
        "package_manager",
        "programs",
        "products",
    ),
    "technical": ("technical",),
    "car": ("car_make",),
}
"""The lists of the rule files whose entries are of a sort."""

_OF_KINDS: Mapping[str, frozenset[str]] = {
    "place": frozenset(("place",)),
    "name": frozenset(),
    "school": frozenset(("place",)),
    "pet": frozenset(("animal",)),
    "employer": frozenset(("tool", "car", "written")),
    "company": frozenset(("tool", "car", "written")),
    "firm": frozenset(("tool", "car", "written")),
}
_EATEN = frozenset(("food", "drink"))
_OF_TOPICS: Mapping[str, frozenset[str]] = {
    "color": frozenset(("color",)),
    **dict.fromkeys(
        (
            "food",
            "dish",
            "meal",
            "fruit",
            "dessert",
            "snack",
            "vegetable",
            "食物",
            "菜",
            "水果",
            "甜点",
        ),
        _EATEN,
    ),
    **dict.fromkeys(("drink", "coffee", "tea", "饮料", "咖啡", "茶"), _EATEN),
    **dict.fromkeys(("city", "country", "place", "城市", "国家", "地方"), frozenset(("place",))),
    **dict.fromkeys(("sport", "game", "运动", "游戏"), frozenset(("game",))),
    **dict.fromkeys(("animal", "动物"), frozenset(("animal",))),
    **dict.fromkeys(("颜色",), frozenset(("color",))),
}
FAVOURITE = "favourite_"
"""What begins the names of the attributes of favourites; what they are of follows."""
_ALLERGENS = _EATEN | {"animal"}


class Sorts:
    """Tells the sorts of values by the lists of both languages."""

    def __init__(self, books: Iterable[Rulebook]) -> None:
        self._books = tuple(books)

    def of(self, value: str) -> frozenset[str]:
        """The sorts that a value is known to be of; none for most."""
        found: set[str] = set()
        for book in self._books:
            norm = split_words(book.language, value).norm
            if norm[:1] in (["a"], ["an"], ["the"]):
                norm = norm[1:]
            if not norm:
                continue
            for sort, lists in _LISTS.items():
                if any(book.phrase_list(e).length_at(norm, 0) == len(norm) for e in lists):
                    found.add(sort)
        if not found and _WRITTEN.search(value):
            found.add("written")
        if not found and _COLOR_ZH.search(value):
            found.add("color")
        if not found and _THING_ZH.search(value):
            found.add("technical")
        return frozenset(found)

    def admits(self, attribute: str, kind: str, value: str) -> bool:
        """Whether a slot that is read as values of a kind may hold a value, by its sort."""
        sorts = self.of(value)
        allowed = _OF_KINDS.get(kind)
        if attribute == "allergy":
            allowed = _ALLERGENS
        elif attribute.startswith(FAVOURITE):
            allowed = _OF_TOPICS.get(attribute.removeprefix(FAVOURITE))
        return allowed is None or not sorts or not sorts.isdisjoint(allowed)


_WRITTEN = re.compile(r"\b[A-Z]{4,}\b|\b(?!Ma?c|O[’']|D[ei]|La|Van)[A-Za-z]+[a-z][A-Z]\w*")
"""What is written as a name of no place and nobody: PDFS, PostgreSQL."""
_COLOR_ZH = re.compile("[红橙黄绿蓝紫黑白灰粉棕青金银]色$")
_THING_ZH = re.compile(
    "(?:表格?|文件|代码|函数|变量|数据库?|图片|照片|邮件|列表|标题|段落|句子|单词|格式"
    "|接口|报告|文档|链接|密码|账号|消息|微信|支付宝|淘宝|抖音|电影|音乐|视频|会议|版本|软件|程序|网站|手机|电脑)$"
)

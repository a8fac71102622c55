"""Lexemes: what is matched, what is dropped, and that documents and queries agree."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))

from growth import assert_linear

from memstream.processors.lexemes import (
    AVERAGE_LENGTH,
    K1,
    B,
    lexeme_index,
    lexemes,
    query_weights,
    sparse_weights,
)

TURN = (
    "Yesterday evening my sister finally finished painting the old wooden boat, and we are "
    "hoping to sail it around the small island before September ends."
)


def shared(left: str, right: str) -> set[str]:
    return set(lexemes(left)) & set(lexemes(right))


@pytest.mark.parametrize(
    ("document", "query"),
    [
        ("She adopted two greyhounds", "which dogs were adopting? a GREYHOUND"),
        ("He was running late", "run"),
        ("the café in Zürich", "Cafe ZURICH"),
        ("ｆｕｌｌ　ｗｉｄｔｈ", "full width"),
        ("call getInvoiceTotal() first", "invoice total"),
        ("call getInvoiceTotal() first", "getinvoicetotal"),
        ("see infra/compose/redis.yaml", "redis"),
        ("see infra/compose/redis.yaml", "infra/compose/redis.yaml"),
        ("max_retry_count = 5", "retry"),
        ("upgraded to v3.12.4", "3.12.4"),
        ("a Porsche 911GT3", "911"),
        ("it cost 1,250 euros", "1250"),
        ("on 2024-11-05", "2024"),
        ("O’Connor's violin", "o'connor"),
        ("written in C++", "c++"),
        ("他在成都开了一家咖啡馆", "成都的咖啡馆"),
        ("她对芒果过敏", "芒果过敏吗？"),
        ("我住在广州", "住哪里"),
        ("东京タワーに行きました", "タワー"),
        ("부산에서 살았어요", "부산"),
        ("Она живёт в Казани", "казань"),
        ("ไปเชียงใหม่", "เชียงใหม่"),
    ],
)
def test_a_question_finds_the_words_of_a_statement(document: str, query: str) -> None:
    assert shared(document, query)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("我对海鲜过敏", "我喜欢游泳"),
        ("他的猫叫年糕", "她的车是蓝色的"),
        ("She plays the cello", "He has been to the dentist"),
        ("parse_header", "purse_leader"),
    ],
)
def test_texts_about_different_things_share_nothing(left: str, right: str) -> None:
    assert not shared(left, right)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\t",
        "?!… 🎉",
        "the of and to",
        "Don't you've we'll",
        "我们的是什么呢",
        "了吗",
        "+++ --",
    ],
)
def test_nothing_but_stopwords_has_no_lexemes(text: str) -> None:
    assert lexemes(text) == []


def test_han_is_cut_into_bigrams_and_longer_words_without_grammar() -> None:
    assert lexemes("她买了自行车") == ["买", "自行", "自行车", "行车"]
    assert lexemes("茶") == ["茶"]


def test_identifiers_are_kept_whole_and_in_parts() -> None:
    assert lexemes("src/user_cache.py") == ["src/user_cache.py", "src", "user", "cach", "py"]
    assert lexemes("HTTPServer") == ["httpserver", "http", "server"]
    assert lexemes("7.10.2") == ["7.10.2", "7", "10", "2"]


@given(st.text(max_size=300))
def test_any_text_is_survived_and_always_cut_the_same(text: str) -> None:
    found = lexemes(text)
    assert found == lexemes(text)
    assert all(found)
    indices, values = sparse_weights(found)
    assert indices == sorted(set(indices))
    assert len(indices) == len(values)
    assert all(0 <= index < 2**32 for index in indices)
    assert all(0 < value < K1 + 1 for value in values)


@given(st.lists(st.sampled_from("red green blue cyan".split()), min_size=1, max_size=60))
def test_document_weights_are_the_frequency_part_of_bm25(found: list[str]) -> None:
    indices, values = sparse_weights(found)
    counts = Counter(map(lexeme_index, found))
    for index, value in zip(indices, values, strict=True):
        tf = counts[index]
        norm = K1 * (1 - B + B * len(found) / AVERAGE_LENGTH)
        assert value == pytest.approx(tf * (K1 + 1) / (tf + norm))


def test_query_weights_are_one_for_every_distinct_lexeme() -> None:
    indices, values = query_weights(["tea", "milk", "tea"])
    assert indices == sorted({lexeme_index("tea"), lexeme_index("milk")})
    assert values == [1.0, 1.0]


def test_lexemes_that_share_an_index_are_summed() -> None:
    # CRC-32 of these two is the same.
    assert lexeme_index("plumless") == lexeme_index("buckeroo")
    together = sparse_weights(["plumless", "buckeroo"])
    assert together == sparse_weights(["plumless", "plumless"])


def test_threads_get_the_same_lexemes() -> None:
    words = [f"{stem}{end}" for stem in ("walk", "paint", "sail") for end in ("ing", "ed", "s")]
    text = " ".join(f"{word}{number}x {word}" for number in range(40) for word in words)
    with ThreadPoolExecutor(4) as pool:
        assert len({tuple(found) for found in pool.map(lexemes, [text] * 8)}) == 1


def test_another_process_with_other_hashes_gets_the_same_lexemes() -> None:
    text = "Мой кот спит; my cat_toy cost 1,300; 猫在自行车上"
    program = f"from memstream.processors.lexemes import lexemes; print(lexemes({text!r}))"
    for seed in ("1", "2"):
        run = subprocess.run(
            [sys.executable, "-X", "utf8", "-c", program],
            capture_output=True,
            encoding="utf-8",
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            check=True,
        )
        assert run.stdout.strip() == str(lexemes(text))


@pytest.mark.parametrize("piece", [TURN + " ", "a", "1,", "don't-", "猫", "猫a", "\ud800"])
def test_cutting_grows_with_the_text_alone(piece: str) -> None:
    assert_linear(lambda size: lexemes(piece * (size // len(piece))), 20_000)

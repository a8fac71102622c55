"""Tiny ONNX models in fastembed's layout, built here: nothing is downloaded."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

DIMENSION = 8
WORDS = "[PAD] [UNK] the kettle is on stove user lives in porto where does live 水 壶".split()


def write_sentence_model(folder: Path, seed: int) -> None:
    """A table of word vectors."""
    onnx: Any = import_module("onnx")
    table = np.random.default_rng(seed).normal(size=(len(WORDS), DIMENSION)).astype(np.float32)
    nodes = [onnx.helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])]
    output = ("last_hidden_state", ["batch", "length", DIMENSION])
    _write(folder, nodes, ["input_ids", "attention_mask"], output, {"table": table})


def write_cross_encoder(folder: Path, seed: int) -> None:
    """The score of a pair is the sum of the weights of the words that both texts hold; the more
    often, the more. The weights differ by ``seed`` and are above 0; unknown words count nothing."""
    onnx: Any = import_module("onnx")
    node = onnx.helper.make_node
    weights = np.random.default_rng(seed).uniform(0.5, 1.5, size=len(WORDS)).astype(np.float32)
    weights[:2] = 0.0
    nodes = [
        node("Gather", ["one_hot", "input_ids"], ["words"]),
        node("Cast", ["attention_mask"], ["told"], to=onnx.TensorProto.FLOAT),
        node("Cast", ["token_type_ids"], ["in_second"], to=onnx.TensorProto.FLOAT),
        node("Mul", ["told", "in_second"], ["second"]),
        node("Sub", ["told", "second"], ["first"]),
        node("Unsqueeze", ["first", "middle"], ["first_row"]),
        node("Unsqueeze", ["second", "last"], ["second_column"]),
        node("MatMul", ["first_row", "words"], ["first_words"]),
        node("Transpose", ["words"], ["by_word"], perm=[0, 2, 1]),
        node("MatMul", ["by_word", "second_column"], ["second_words"]),
        node("Mul", ["second_words", "weights"], ["weighed"]),
        node("MatMul", ["first_words", "weighed"], ["scores"]),
        node("Reshape", ["scores", "shape"], ["logits"]),
    ]
    constants = {
        "one_hot": np.eye(len(WORDS), dtype=np.float32),
        "weights": weights[:, np.newaxis],
        "middle": np.array([1], dtype=np.int64),
        "last": np.array([2], dtype=np.int64),
        "shape": np.array([-1, 1], dtype=np.int64),
    }
    inputs = ["input_ids", "token_type_ids", "attention_mask"]
    _write(folder, nodes, inputs, ("logits", ["batch", 1]), constants)


def _write(
    folder: Path,
    nodes: list[Any],
    inputs: list[str],
    output: tuple[str, list[Any]],
    constants: dict[str, Any],
) -> None:
    onnx: Any = import_module("onnx")
    helper, types = onnx.helper, onnx.TensorProto
    graph = helper.make_graph(
        nodes,
        "words",
        [helper.make_tensor_value_info(name, types.INT64, ["batch", "length"]) for name in inputs],
        [helper.make_tensor_value_info(output[0], types.FLOAT, output[1])],
        [onnx.numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    opset = [helper.make_opsetid("", 13)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=8)
    (folder / "onnx").mkdir(parents=True)
    (folder / "onnx" / "model.onnx").write_bytes(model.SerializeToString())
    _write_tokenizer(folder)


def _write_tokenizer(folder: Path) -> None:
    tokenizers: Any = import_module("tokenizers")
    words = tokenizers.models.WordLevel(
        {word: at for at, word in enumerate(WORDS)}, unk_token="[UNK]"
    )
    tokenizer = tokenizers.Tokenizer(words)
    tokenizer.normalizer = tokenizers.normalizers.Lowercase()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="$A", pair="$A:0 $B:1", special_tokens=[]
    )
    tokenizer.add_special_tokens(["[PAD]", "[UNK]"])
    tokenizer.save(str(folder / "tokenizer.json"))
    for name, content in {
        "config.json": {"pad_token_id": 0},
        "tokenizer_config.json": {"model_max_length": 64, "pad_token": "[PAD]"},
        "special_tokens_map.json": {"pad_token": "[PAD]", "unk_token": "[UNK]"},
    }.items():
        (folder / name).write_text(json.dumps(content), encoding="utf-8")

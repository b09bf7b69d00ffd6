"""Tests that the ONNX graph is valid and contains no weights, and that weights of the wrong size are rejected."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

from onym.errors import InputError
from onym.models.onnx_graph import encoder_graph
from onym.models.shape import read_encoder_shape
from onym.models.tensors import Arrays, quantize, read_arrays

BIAS = "encoder.layer.1.attention.self.query.bias"
QUERY = "encoder.layer.1.attention.self.query.weight"


@pytest.mark.parametrize("way", [dict, quantize])
def test_graph_is_valid_and_small(bert_folder: Path, way: Callable[[Arrays], Arrays]) -> None:
    found = encoder_graph(read_encoder_shape(bert_folder), way(read_arrays(bert_folder)))
    model = onnx.load_model_from_string(found.model)
    onnx.checker.check_model(_with_weights(model, found.weights), full_check=True)
    assert len(found.model) < 40_000
    outside = [each.name for each in model.graph.initializer if each.data_location == onnx.TensorProto.EXTERNAL]
    assert outside == list(found.weights)
    assert {node.domain for node in model.graph.node} == {""}


def _with_weights(model: onnx.ModelProto, weights: Arrays) -> onnx.ModelProto:
    found = onnx.ModelProto()
    found.CopyFrom(model)
    for each in found.graph.initializer:
        if each.name in weights:
            each.CopyFrom(onnx.numpy_helper.from_array(weights[each.name], each.name))
    return found


def test_weight_name_prefix_is_accepted(bert_folder: Path) -> None:
    arrays = read_arrays(bert_folder)
    plain = encoder_graph(read_encoder_shape(bert_folder), arrays)
    longer = encoder_graph(read_encoder_shape(bert_folder), {f"bert.{name}": values for name, values in arrays.items()})
    assert plain.model == longer.model


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda found: found.pop(QUERY), "model-malformed"),
        (lambda found: found.update({QUERY: found[QUERY][:, :-1]}), "model-malformed"),
        (lambda found: found.update({QUERY: found[QUERY][0]}), "model-malformed"),
        (lambda found: found.update({QUERY: found[QUERY] > 0}), "model-malformed"),
        (lambda found: found.update({QUERY: found[QUERY] * np.float32(np.nan)}), "model-not-finite"),
        (lambda found: found.update({QUERY: found[QUERY].astype(np.int8)}), "model-malformed"),
        (lambda found: found.update({BIAS: np.full(16, 100, np.int8)}), "model-malformed"),
        (lambda found: found.update({BIAS: np.ones(16, np.int8), f"{BIAS}_scale": np.ones(16, np.float32)}), "model-malformed"),
        (lambda found: found.pop("embeddings.word_embeddings.weight"), "model-malformed"),
        (lambda found: found.pop("embeddings.LayerNorm.bias"), "model-malformed"),
    ],
)
def test_rejects_wrong_weights(bert_folder: Path, change: Callable[[Arrays], object], code: str) -> None:
    arrays = read_arrays(bert_folder)
    change(arrays)
    with pytest.raises(InputError, match=code):
        encoder_graph(read_encoder_shape(bert_folder), arrays)


def test_rejects_non_finite_scales(bert_folder: Path) -> None:
    for name in (QUERY, "embeddings.word_embeddings.weight"):
        arrays = quantize(read_arrays(bert_folder))
        arrays[f"{name}_scale"] = arrays[f"{name}_scale"] * np.float32(np.inf)
        with pytest.raises(InputError, match="model-not-finite"):
            encoder_graph(read_encoder_shape(bert_folder), arrays)

"""Sizes of an encoder: those of the configuration, within bounds."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from onym.encoders.encoder import max_length, open_body
from onym.encoders.onnx.shape import FAMILIES, read_encoder_shape
from onym.errors import ConfigError
from onym.testing.tiny_encoder import save_encoder
from tests.encoders.spoil import configured


@pytest.mark.parametrize("family", FAMILIES)
def test_sizes_are_those_of_transformers(tmp_path: Path, family: str) -> None:
    folder = save_encoder(tmp_path / family, family)
    shape, model = read_encoder_shape(folder), open_body(folder)
    assert shape.max_length == max_length(model)
    assert (shape.hidden_size, shape.pad_token_id) == (model.config.hidden_size, model.config.pad_token_id)


@pytest.mark.parametrize(
    "changes",
    [
        {"model_type": "mpnet"},
        {"hidden_act": "relu"},
        {"hidden_act": ["gelu"]},
        {"position_embedding_type": "relative_key"},
        {"hidden_size": 10**9},
        {"hidden_size": 15},
        {"hidden_size": "16"},
        {"hidden_size": 16.0},
        {"num_attention_heads": 0},
        {"num_hidden_layers": 10**6},
        {"num_hidden_layers": True},
        {"vocab_size": -1},
        {"pad_token_id": 420},
        {"pad_token_id": -1},
        {"pad_token_id": None},
        {"max_position_embeddings": 3},
        {"layer_norm_eps": -1.0},
    ],
)
def test_others_are_refused(tmp_path: Path, saved: Path, changes: dict[str, Any]) -> None:
    folder = shutil.copytree(saved, tmp_path / "model")
    configured(**changes)(folder)
    with pytest.raises(ConfigError, match="model-family"):
        read_encoder_shape(folder)

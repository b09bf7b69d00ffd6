"""Tests of encoder configurations for ONNX Runtime: values and limits."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from onym.errors import OnymError
from onym.models.shape import FAMILIES, read_encoder_shape
from onym.models.torch_encoder import max_length, open_body
from tests.models.spoil import change_config
from tests.support.models import save_encoder


@pytest.mark.parametrize("family", FAMILIES)
def test_defaults_match_transformers(tmp_path: Path, family: str) -> None:
    folder = save_encoder(tmp_path / family, family)
    shape, model = read_encoder_shape(folder), open_body(folder)
    assert shape.max_length == max_length(model)
    assert (shape.hidden_size, shape.pad_token_id) == (model.config.hidden_size, model.config.pad_token_id)


FAMILY, LIMIT, MALFORMED = "model-family", "limit-model", "model-malformed"


@pytest.mark.parametrize(
    ("code", "changes"),
    [
        (FAMILY, {"model_type": "mpnet"}),
        (FAMILY, {"hidden_act": "relu"}),
        (FAMILY, {"hidden_act": ["gelu"]}),
        (FAMILY, {"position_embedding_type": "relative_key"}),
        (FAMILY, {"is_decoder": True}),
        (FAMILY, {"add_cross_attention": True}),
        (LIMIT, {"hidden_size": 10**9}),
        (LIMIT, {"num_attention_heads": 0}),
        (LIMIT, {"num_hidden_layers": 10**6}),
        (LIMIT, {"vocab_size": -1}),
        (LIMIT, {"pad_token_id": -1}),
        (LIMIT, {"layer_norm_eps": -1.0}),
        (MALFORMED, {"hidden_size": 15}),
        (MALFORMED, {"hidden_size": "16"}),
        (MALFORMED, {"hidden_size": 16.0}),
        (MALFORMED, {"num_hidden_layers": True}),
        (MALFORMED, {"pad_token_id": 420}),
        (MALFORMED, {"pad_token_id": None}),
        (MALFORMED, {"max_position_embeddings": 3}),
    ],
)
def test_rejects_unsupported_configurations(tmp_path: Path, bert_folder: Path, code: str, changes: dict[str, Any]) -> None:
    folder = shutil.copytree(bert_folder, tmp_path / "model")
    change_config(**changes)(folder)
    with pytest.raises(OnymError, match=code):
        read_encoder_shape(folder)

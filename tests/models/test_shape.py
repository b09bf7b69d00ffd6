"""Tests of model configurations: fields passed to transformers, and rejected values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoConfig, BartConfig, MarianConfig, T5Config

from onym.errors import ConfigError, InputError, LimitError
from onym.models.shape import config_of, read_shape
from onym.models.torch_encoder import FAMILIES
from tests.support.models import FAMILIES as TINY


def write_config(folder: Path, content: Any) -> Path:
    (folder / "config.json").write_text(json.dumps(content))
    return folder


def test_reads_family_and_configuration(tmp_path: Path) -> None:
    content = {"model_type": "bert", "hidden_size": 16}
    assert read_shape(write_config(tmp_path, content), FAMILIES, "an encoder") == ("bert", content)


@pytest.mark.parametrize("content", [[], 3, None, {}, {"model_type": 3}, {"model_type": ["bert"]}])
def test_rejects_invalid_configuration(tmp_path: Path, content: Any) -> None:
    with pytest.raises(InputError, match="model-malformed"):
        read_shape(write_config(tmp_path, content), FAMILIES, "an encoder")


def test_rejects_folder_without_configuration(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="model-malformed"):
        read_shape(tmp_path, FAMILIES, "an encoder")


def test_rejects_unsupported_family(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="model-family"):
        read_shape(write_config(tmp_path, {"model_type": "bert" * 10_000}), FAMILIES, "an encoder")


CONFIGS = {
    **{family: make().config for family, make in TINY.items()},
    "bart": BartConfig(d_model=16, decoder_layers=3),
    "marian": MarianConfig(d_model=16, vocab_size=420, pad_token_id=1, decoder_start_token_id=1),
    "t5": T5Config(d_model=16, decoder_start_token_id=0, feed_forward_proj="gated-gelu", tie_word_embeddings=False),
}


@pytest.mark.parametrize("family", CONFIGS)
def test_model_fields_are_passed_on(tmp_path: Path, family: str) -> None:
    config = CONFIGS[family]
    config.save_pretrained(tmp_path)
    said = json.loads((tmp_path / "config.json").read_text())
    left_out = {"architectures", "dtype", "_name_or_path"}
    found, wanted = (
        {key: value for key, value in each.to_dict().items() if key not in left_out}
        for each in (config_of(type(config), said), AutoConfig.from_pretrained(tmp_path))
    )
    assert found == wanted


@pytest.mark.parametrize(
    "key",
    [
        *("auto_map", "architectures", "transformers_weights", "_name_or_path", "__class__"),
        *("_attn_implementation", "attn_implementation", "quantization_config", "dtype", "torch_dtype"),
        *("per_layer_config", "fusion_config", "distributed_config"),
    ],
)
def test_other_fields_are_ignored(key: str) -> None:
    kind = type(TINY["bert"]().config)
    assert config_of(kind, {key: "evil"}).to_dict() == kind().to_dict()


@pytest.mark.parametrize(
    ("family", "said"),
    [
        ("bert", {"num_hidden_layers": 65}),
        ("bert", {"num_hidden_layers": 0}),
        ("bert", {"hidden_size": -16}),
        ("bert", {"pad_token_id": -2}),
        ("bert", {"hidden_size": 131_073}),
        ("bert", {"vocab_size": 4_000_001}),
        ("bert", {"max_position_embeddings": 1_000_001}),
        ("bert", {"pad_token_id": 10**12}),
        ("bert", {"num_attention_heads": 10**30}),
        ("bert", {"layer_norm_eps": -1e10}),
        ("modernbert", {"rope_parameters": {"full_attention": {"rope_theta": 1e300}}}),
        ("modernbert", {"layer_types": [[[10**10]]]}),
    ],
)
def test_rejects_numbers_out_of_range(family: str, said: dict[str, Any]) -> None:
    with pytest.raises(LimitError, match="limit-model"):
        config_of(type(TINY[family]().config), said)

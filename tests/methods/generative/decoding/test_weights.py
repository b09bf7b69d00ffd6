"""Tests of opening seq2seq models: complete weights, no code, no network, valid special tokens."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from onym.errors import ConfigError, InputError, LimitError
from onym.methods.generative.decoding.session import open_model
from tests.models.spoil import change_config, cut, rewrite_weights, with_own_code
from tests.support.models import add_defaults, save_model, tiny_bart


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("weights") / "model")


@pytest.fixture
def model(tmp_path: Path, model_folder: Path) -> Path:
    """Return a copy of the model that a test may modify."""
    return shutil.copytree(model_folder, tmp_path / "model")


def test_the_weights_are_those_of_the_file(model: Path) -> None:
    loaded = open_model(model, "fp32")
    wanted = tiny_bart().state_dict()
    assert all(torch.equal(tensor, wanted[name]) for name, tensor in loaded.state_dict().items())
    assert not loaded.training
    assert not any(parameter.requires_grad for parameter in loaded.parameters())


def test_prints_nothing_and_keeps_global_settings(model: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from transformers.utils import logging

    before = logging.get_verbosity(), logging.is_progress_bar_enabled()
    open_model(add_defaults(model), "fp32")
    change_config(decoder_layers=2)(model)  # the file has no weights for a second layer
    with pytest.raises(InputError):
        open_model(model)
    assert capfd.readouterr() == ("", "")
    assert (logging.get_verbosity(), logging.is_progress_bar_enabled()) == before


# Tests of opening the file layouts of published checkpoints.


def drop_bias(found: dict[str, torch.Tensor]) -> None:
    del found["final_logits_bias"]


def without_head(found: dict[str, torch.Tensor]) -> None:
    for name in list(found):
        found[name.removeprefix("model.")] = found.pop(name)


def all_tied_copies(found: dict[str, torch.Tensor]) -> None:
    for name in ("lm_head", "model.encoder.embed_tokens", "model.decoder.embed_tokens"):
        found[f"{name}.weight"] = found["model.shared.weight"].clone()


def in_bf16(found: dict[str, torch.Tensor]) -> None:
    found.update({name: tensor.bfloat16() for name, tensor in found.items()})


@pytest.mark.parametrize("change", [drop_bias, without_head, all_tied_copies, in_bf16])
def test_opens_layouts_of_published_checkpoints(model: Path, change: Callable[[dict[str, torch.Tensor]], None]) -> None:
    rewrite_weights(model, change)
    loaded, wanted = open_model(model, "fp32"), tiny_bart()
    tolerance = 0.02 if change is in_bf16 else 0.0
    assert torch.allclose(loaded.lm_head.weight, wanted.lm_head.weight, atol=tolerance)
    assert loaded.lm_head.weight is loaded.model.decoder.embed_tokens.weight


# Tests of rejecting invalid models.


@pytest.mark.parametrize(
    "spoil",
    [
        lambda folder: cut(folder, -100),
        lambda folder: cut(folder, 50),
        lambda folder: cut(folder, 0),
        lambda folder: (folder / "model.safetensors").write_bytes(b"\xff\xff" + b"\0" * 1000),
        lambda folder: (folder / "config.json").unlink(),
        lambda folder: (folder / "config.json").write_text('{"model_type"'),
        lambda folder: (folder / "config.json").write_text("[]"),
        change_config(d_model="wide"),
        change_config(d_model=32),
        change_config(activation_function="none"),
        change_config(decoder_start_token_id=None),
        change_config(pad_token_id=None),
        change_config(eos_token_id=[2, 3]),
        change_config(decoder_start_token_id=420),
    ],
)
def test_rejects_damaged_models(model: Path, spoil: Callable[[Path], Any]) -> None:
    spoil(model)
    with pytest.raises(InputError, match="model-malformed"):
        open_model(model)


@pytest.mark.parametrize("sizes", [{"d_model": -1}, {"decoder_attention_heads": 0}, {"decoder_layers": 65}])
def test_rejects_invalid_sizes(model: Path, sizes: dict[str, int]) -> None:
    change_config(**sizes)(model)
    with pytest.raises(LimitError, match="limit-model"):
        open_model(model)


@pytest.mark.parametrize("family", ["none", "gpt2", "bert", "encoder-decoder"])
def test_rejects_unknown_family(model: Path, family: str) -> None:
    change_config(model_type=family)(model)
    with pytest.raises(ConfigError, match="model-family"):
        open_model(model)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda folder: (folder / "generation_config.json").write_text("[]"),
        change_config(quantization_config={"quant_method": "bitsandbytes", "load_in_8bit": True}),
    ],
)
def test_ignores_unused_files(model: Path, spoil: Callable[[Path], Any]) -> None:
    spoil(model)
    assert torch.equal(open_model(model, "fp32").lm_head.weight, tiny_bart().lm_head.weight)


@pytest.mark.parametrize("spoil", [change_config(decoder_layers=2), change_config(encoder_layers=2)])
def test_rejects_missing_weights(model: Path, spoil: Callable[[Path], None]) -> None:
    spoil(model)
    with pytest.raises(InputError, match="weights are missing") as caught:
        open_model(model)
    assert caught.value.code == "model-malformed"


def test_ignores_bin_file_next_to_safetensors(model: Path) -> None:
    (model / "pytorch_model.bin").write_bytes(b"not even a pickle")
    assert open_model(model)


@pytest.mark.parametrize("family", ["bart", "none"])
def test_does_not_run_code_of_the_model(model: Path, monkeypatch: pytest.MonkeyPatch, family: str) -> None:
    mark = with_own_code(model, "AutoModelForSeq2SeqLM", family)
    monkeypatch.setitem(sys.modules, "evil", None)
    if family == "bart":
        assert open_model(model)
    else:
        with pytest.raises(ConfigError, match="model-family"):
            open_model(model)
    assert not mark.exists()


def test_without_transformers(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ConfigError, match="extra-missing"):
        open_model(model)

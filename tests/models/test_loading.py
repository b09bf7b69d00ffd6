"""Tests of opening models with transformers: only safetensors, complete, without custom code or network access."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from onym.errors import ConfigError, InputError, OnymError
from onym.models.device import Precision
from onym.models.torch_encoder import FAMILIES
from onym.models.torch_loading import in_precision, library, open_pretrained
from tests.models.spoil import change_config, cut, rewrite_weights, with_own_code
from tests.support.models import tiny_encoder


@pytest.fixture
def model(tmp_path: Path, bert_folder: Path) -> Path:
    """Return a copy of a model that the test may modify."""
    return shutil.copytree(bert_folder, tmp_path / "model")


def load(folder: Path, precision: Precision = "fp32", spare: str = "") -> Any:
    return open_pretrained(FAMILIES, folder, precision, what="an encoder", spare=spare)


def test_weights_match_the_file(model: Path) -> None:
    found, wanted = load(model), tiny_encoder().state_dict()
    assert all(torch.equal(tensor, wanted[name]) for name, tensor in found.state_dict().items())
    assert not found.training
    assert not any(parameter.requires_grad for parameter in found.parameters())


@pytest.mark.parametrize(("precision", "dtype"), [("fp32", torch.float32), ("bf16", torch.bfloat16)])
def test_precision(model: Path, precision: Any, dtype: torch.dtype) -> None:
    assert load(model, precision).dtype == dtype


@pytest.mark.parametrize(("is_fast", "dtype"), [(True, torch.bfloat16), (False, torch.float32)])
def test_auto_precision_is_the_faster_one(
    model: Path, monkeypatch: pytest.MonkeyPatch, is_fast: bool, dtype: torch.dtype
) -> None:
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: is_fast)
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False)
    assert load(model, "auto").dtype == dtype


def test_in_precision_does_not_change_the_model() -> None:
    model = tiny_encoder().train()
    still = in_precision(model, "bf16")
    assert (still.dtype, still.training, model.dtype, model.training) == (torch.bfloat16, False, torch.float32, True)


def test_loading_is_silent_and_restores_logging(model: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from transformers.utils import logging

    before = logging.get_verbosity(), logging.is_progress_bar_enabled()
    load(model)
    change_config(num_hidden_layers=3)(model)  # the file has no weights for a third layer
    with pytest.raises(InputError):
        load(model)
    assert capfd.readouterr() == ("", "")
    assert (logging.get_verbosity(), logging.is_progress_bar_enabled()) == before


def drop_pooler(found: dict[str, torch.Tensor]) -> None:
    for name in [name for name in found if name.startswith("pooler.")]:
        del found[name]


def test_only_unused_weights_may_be_missing(model: Path) -> None:
    rewrite_weights(model, drop_pooler)
    assert load(model, spare="pooler.")
    with pytest.raises(InputError, match="2 weights are missing, e.g. pooler"):
        load(model)
    change_config(num_hidden_layers=3)(model)
    with pytest.raises(InputError, match="weights are missing, e.g. encoder") as caught:
        load(model, spare="pooler.")
    assert caught.value.code == "model-malformed"


@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        (lambda folder: cut(folder, -100), "model-malformed"),
        (lambda folder: cut(folder, 0), "model-malformed"),
        (lambda folder: (folder / "config.json").unlink(), "model-malformed"),
        (lambda folder: (folder / "config.json").write_text("[]"), "model-malformed"),
        (change_config(model_type="none"), "model-family"),
        (change_config(model_type=3), "model-malformed"),
        (change_config(hidden_size=32), "model-malformed"),
        (change_config(hidden_size="wide"), "model-malformed"),
        (change_config(hidden_size=100_000, num_attention_heads=1, vocab_size=100_000), "model-malformed"),
        (change_config(num_attention_heads=0), "limit-model"),
        (change_config(layer_norm_eps=float("nan")), "model-malformed"),
        (change_config(num_hidden_layers=200_000), "limit-model"),
        (change_config(vocab_size=10**12), "limit-model"),
    ],
)
def test_rejects_damaged_model(model: Path, spoil: Callable[[Path], Any], code: str) -> None:
    spoil(model)
    with pytest.raises(OnymError) as caught:
        load(model)
    assert caught.value.code == code


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 3.4e38])
def test_rejects_nan_weights(model: Path, value: float) -> None:
    rewrite_weights(model, lambda found: found["encoder.layer.1.output.dense.weight"].fill_(value))
    with pytest.raises(InputError, match="model-not-finite"):
        load(model)


def test_rejects_model_with_adapter(model: Path) -> None:
    (model / "adapter_config.json").write_text('{"base_model_name_or_path": "/elsewhere"}')
    with pytest.raises(ConfigError, match="model-adapter"):
        load(model)


def test_transformers_does_not_get_the_folder(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from transformers import BertModel

    names: list[Any] = []
    plain = BertModel.from_pretrained

    def note_call(*args: Any, **more: Any) -> Any:
        names.append(args)
        return plain(*args, **more)

    monkeypatch.setattr(BertModel, "from_pretrained", note_call)
    change_config(_name_or_path="/elsewhere", transformers_weights="other.safetensors", attn_implementation="a/kernel")(model)
    found = load(model)
    assert names == [(None,)]
    assert found.config._attn_implementation in ("sdpa", "eager")
    assert not hasattr(found.config, "transformers_weights")


def test_rejects_pickled_weights_without_reading_them(model: Path) -> None:
    (model / "model.safetensors").rename(model / "pytorch_model.bin")
    with pytest.raises(ConfigError, match="model-unsafe"):
        load(model)


@pytest.mark.parametrize("family", ["bert", "none"])
def test_model_code_is_not_run(model: Path, monkeypatch: pytest.MonkeyPatch, family: str) -> None:
    mark = with_own_code(model, "AutoModel", family)
    monkeypatch.setitem(sys.modules, "evil", None)
    if family == "bert":
        assert load(model)
    else:
        with pytest.raises(ConfigError, match="model-family"):
            load(model)
    assert not mark.exists()


def test_missing_transformers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ConfigError, match="extra-missing"):
        library()

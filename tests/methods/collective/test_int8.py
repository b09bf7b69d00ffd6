"""Tests of document encoders whose layers are quantised to int8."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from onym.errors import ConfigError
from onym.methods.collective.model import Collective, Int8Linear, in_int8, precision_of
from onym.models.tensors import quantize
from onym.types import Document
from tests.support.models import save_collective


def test_tokens_are_quantised_independently() -> None:
    layer = Int8Linear(nn.Linear(64, 32))
    calm = torch.randn(1, 4, 64)
    loud = torch.cat([calm, 1e4 * torch.randn(1, 4, 64)])
    torch.testing.assert_close(layer(loud)[:1], layer(calm))


@pytest.mark.parametrize("bias", [True, False])
def test_output_is_close_to_the_original_layer(bias: bool) -> None:
    torch.manual_seed(0)
    layer = nn.Linear(64, 32, bias=bias).requires_grad_(False)
    # Tokens whose vectors differ greatly in magnitude.
    values = torch.randn(5, 7, 64) * 10 ** torch.linspace(-3, 3, 7).unsqueeze(1)
    wanted, found = layer(values), Int8Linear(layer)(values)
    assert found.shape == wanted.shape
    assert float((wanted - found).norm() / wanted.norm()) < 0.02
    assert torch.isfinite(Int8Linear(layer)(torch.zeros(2, 64))).all()


def test_weights_are_rounded_like_quantised_files() -> None:
    torch.manual_seed(0)
    layer = nn.Linear(64, 32).requires_grad_(False)
    found, wanted = Int8Linear(layer), quantize({"weight": layer.weight.numpy()})
    assert found.weight.t().tolist() == wanted["weight"].tolist()
    assert found.scales.tolist() == wanted["weight_scale"].tolist()


def test_collective_model_in_int8(tmp_path: Path) -> None:
    folder = save_collective(tmp_path / "m")
    models = {name: Collective.open(folder, name) for name in ("fp32", "int8")}
    assert {name: model.config["precision"] for name, model in models.items()} == {"fp32": "float32", "int8": "int8"}
    assert models["int8"].config["parameters"] == models["fp32"].config["parameters"]
    assert models["int8"].reader.key != models["fp32"].reader.key
    doc = Document("1", "fever and pain")
    first, second = (next(iter(model.reader.read([doc]))).states for model in models.values())
    assert 0.95 < float(nn.functional.cosine_similarity(first, second).mean()) < 1


def test_int8_requires_cpu() -> None:
    with pytest.raises(ConfigError, match="int8 is for CPUs"):
        in_int8(type("M", (nn.Module,), {"device": torch.device("meta")})())


def test_precision_of_fp32_model() -> None:
    assert precision_of(type("M", (nn.Module,), {"dtype": torch.float32})()) == "float32"

"""Tests that token-wise layers computed together give the same values as single layers."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from onym.methods.generative.decoding.adapters.base import Projection, cross_keys

STATES = torch.randn(3, 6, generator=torch.Generator().manual_seed(1))


def linear(width: int, *, has_bias: bool = True, dtype: torch.dtype = torch.float32) -> nn.Linear:
    torch.manual_seed(width)
    return nn.Linear(6, width, bias=has_bias, dtype=dtype)


@pytest.mark.parametrize("biases", [(True, True), (False, False), (True, False), (False, True)])
def test_joined_layers_agree_with_single_layers(biases: tuple[bool, bool]) -> None:
    parts = [linear(width, has_bias=has_bias) for width, has_bias in zip((4, 5), biases, strict=True)]
    found = Projection.join(parts)(STATES)
    assert torch.allclose(found, torch.cat([part(STATES) for part in parts], dim=1), atol=1e-6)
    assert not found.requires_grad
    assert torch.allclose(Projection.join(parts[:1])(STATES), parts[0](STATES), atol=1e-6)


@pytest.mark.parametrize("rows", [1, 3, 200])
@pytest.mark.parametrize("has_bias", [True, False])
def test_in_bf16(rows: int, *, has_bias: bool) -> None:
    """Weights in oneDNN's memory layout give the same result."""
    part = linear(40, has_bias=has_bias, dtype=torch.bfloat16)
    states = torch.randn(rows, 6, generator=torch.Generator().manual_seed(2)).to(torch.bfloat16)
    with torch.inference_mode():
        found = Projection.join([part])(states)
        assert found.dtype == torch.bfloat16
        assert torch.allclose(found.float(), part(states).float(), atol=0.03)


def test_keys_and_values_of_each_layer() -> None:
    layers, heads = 2, 3
    parts = [linear(12) for _ in range(2 * layers)]
    with torch.no_grad():
        for number, part in enumerate(parts):
            part.weight.add_(number)
        states = torch.randn(2, 5, 6, generator=torch.Generator().manual_seed(3))
        found = cross_keys(states, Projection.join(parts), layers, heads)
        assert len(found) == layers
        for layer, pair in enumerate(found):
            for part, mine in zip(parts[2 * layer : 2 * layer + 2], pair, strict=True):
                assert mine.shape == (2, heads, 5, 4)
                assert torch.allclose(mine, part(states).view(2, 5, heads, 4).transpose(1, 2), atol=1e-5)

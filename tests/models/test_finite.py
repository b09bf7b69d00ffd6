"""Tests that NaN and infinity in weights and vectors are rejected."""

from __future__ import annotations

import pytest
import torch

from onym.errors import InputError
from onym.models.tensors import require_finite


@pytest.mark.parametrize("values", [[torch.nan], [1.0, torch.inf], [-torch.inf, torch.inf], [3e38, 3e38]])
def test_rejects_nan_and_infinity(values: list[float]) -> None:
    with pytest.raises(InputError, match="model-not-finite") as caught:
        require_finite(torch.tensor(values), "there")
    assert caught.value.where == "there"


@pytest.mark.parametrize(
    "values",
    [torch.zeros(0), torch.tensor([1e30, -1e30]), torch.arange(3), torch.ones(2, 3).bfloat16(), torch.full((9,), 6e4).half()],
)
def test_accepts_finite_values(values: torch.Tensor) -> None:
    assert require_finite(values) is values


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_rejects_nan_and_infinity_in_half_precision(value: float) -> None:
    with pytest.raises(InputError, match="model-not-finite"):
        require_finite(torch.tensor([1.0, value]).half())

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
import torch

from onym.models.settings import Pooling, pool


def sample() -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    return torch.randn(2, 4, 3), torch.tensor([[1, 1, 0, 0], [1, 1, 1, 1]])


def test_cls_pooling_takes_first_token() -> None:
    hidden, mask = sample()
    assert torch.equal(pool(hidden, mask, "cls"), hidden[:, 0])


def test_mean_pooling_ignores_padding() -> None:
    hidden, mask = sample()
    found = pool(hidden, mask, "mean")
    assert torch.allclose(found[0], hidden[0, :2].mean(0))
    assert torch.allclose(found[1], hidden[1].mean(0))
    changed = hidden.clone()
    changed[0, 2:] = 100.0
    assert torch.equal(pool(changed, mask, "mean"), found)


def test_mean_all_pooling_includes_padding() -> None:
    hidden, mask = sample()
    assert torch.allclose(pool(hidden, mask, "mean-all"), hidden.mean(1))
    assert not torch.allclose(pool(hidden, mask, "mean-all")[0], pool(hidden, mask, "mean")[0])


@pytest.mark.parametrize("pooling", get_args(Pooling))
def test_numpy_and_torch_pooling_agree(pooling: Pooling) -> None:
    hidden, mask = sample()
    found = pool(hidden.numpy(), mask.numpy(), pooling)
    np.testing.assert_allclose(found, pool(hidden, mask, pooling).numpy(), rtol=1e-6, atol=1e-7)

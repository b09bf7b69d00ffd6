"""Closed forms of the losses in NumPy and float64, written from the papers and independent of the code under test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import Tensor

from onym.train.generative.losses import Preference

Array = npt.NDArray[np.float64]
SEEDS = range(20)
NAMES = ("preferred", "rejected", "reference_preferred", "reference_rejected")
dtypes = pytest.mark.parametrize(("dtype", "within"), [(torch.float64, 1e-6), (torch.float32, 1e-4)])


def draw_pairs(seed: int, dtype: torch.dtype = torch.float64, pairs: int = 9) -> Preference:
    """Draw realistic scores of names, from nearly certain to very unlikely."""
    generator = torch.Generator().manual_seed(seed)
    scores = -40 * torch.rand(4, pairs, generator=generator, dtype=torch.float64) ** 2
    return Preference(*scores.to(dtype))


def arrays(preference: Preference) -> dict[str, Array]:
    return {name: getattr(preference, name).double().numpy() for name in NAMES if getattr(preference, name) is not None}


def sigmoid_loss(margin: Array, smoothing: float = 0.0) -> Array:
    """Return the expected negative log-probability that the preferred name wins."""
    wins = 1 / (1 + np.exp(-margin))
    found: Array = -(1 - smoothing) * np.log(wins) - smoothing * np.log(1 / (1 + np.exp(margin)))
    return found


def log_softmax(logits: Tensor) -> Array:
    values = logits.double().numpy()
    found: Array = values - np.log(np.exp(values).sum(-1, keepdims=True))
    return found


def backward(loss: Any) -> None:
    """Call `loss.backward()`; a wrapper, because the method has no type annotations in torch."""
    loss.backward()


def same(found: Tensor, expected: Any, within: float) -> None:
    """Assert that the values are equal within an absolute and relative tolerance."""
    np.testing.assert_allclose(found.detach().double().numpy(), expected, rtol=within, atol=within)


def require_finite_gradients(loss: Callable[[Preference], Tensor]) -> None:
    """Assert that losses and gradients are finite for extreme scores (right, wrong, tied), in float32 and bfloat16."""
    for dtype in (torch.float32, torch.bfloat16):
        preferred = torch.tensor([-1e4, 0.0, -1e4, 0.0], dtype=dtype, requires_grad=True)
        rejected = torch.tensor([0.0, -1e4, -1e4, 0.0], dtype=dtype, requires_grad=True)
        losses = loss(Preference(preferred, rejected, torch.zeros(4), torch.zeros(4)))
        backward(losses.sum())
        assert losses.dtype == torch.float32
        assert losses.shape == (4,)
        assert bool(losses.isfinite().all())
        for scores, sign in ((preferred, -1), (rejected, 1)):
            assert scores.grad is not None
            assert bool(scores.grad.isfinite().all())
            assert float(scores.grad[0] * sign) > 0, "a wrongly ranked pair must have a gradient"

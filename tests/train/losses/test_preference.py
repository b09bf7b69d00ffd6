"""Pairs are scores of one shape, and what the losses share equals its closed form."""

from __future__ import annotations

import pytest
import torch

from onym.train.losses.preference import Preference, logistic
from tests.train.losses.closed import SEEDS, arrays, backward, drawn_pairs, dtypes, same, sigmoid_loss


def test_margins_are_of_the_selected_over_the_rejected() -> None:
    pairs = drawn_pairs(0)
    scores = arrays(pairs)
    same(pairs.margin, scores["preferred"] - scores["rejected"], 1e-12)
    same(pairs.reference_margin, scores["reference_preferred"] - scores["reference_rejected"], 1e-12)


def test_margins_are_taken_at_full_precision() -> None:
    preferred, rejected = torch.tensor([-257.0]).bfloat16(), torch.tensor([-0.5]).bfloat16()
    pairs = Preference(preferred, rejected, preferred, rejected)
    assert pairs.margin.dtype == pairs.reference_margin.dtype == torch.float32
    assert pairs.margin.item() == float(preferred) - float(rejected)
    assert float(preferred - rejected) != float(preferred) - float(rejected)


def test_a_reference_is_a_constant() -> None:
    reference = torch.zeros(2, requires_grad=True)
    assert not Preference(reference, reference, reference, reference).reference_margin.requires_grad
    assert Preference(reference, reference).margin.requires_grad


def test_shapes_that_would_be_broadcast_are_refused() -> None:
    two = torch.zeros(2)
    for wrong in (torch.zeros(2, 1), torch.zeros(3), torch.zeros(1), torch.zeros(())):
        with pytest.raises(ValueError, match="one shape"):
            Preference(two, wrong)
        with pytest.raises(ValueError, match="one shape"):
            Preference(two, two, two, wrong)
    with pytest.raises(ValueError, match="one shape"):
        Preference(torch.zeros(2, 1), torch.zeros(2, 1))


def test_a_reference_scores_both_names_or_none() -> None:
    two = torch.zeros(2)
    with pytest.raises(ValueError, match="both names"):
        Preference(two, two, two)
    with pytest.raises(ValueError, match="both names"):
        Preference(two, two, None, two)
    with pytest.raises(ValueError, match="no scores of a reference"):
        _ = Preference(two, two).reference_margin


@dtypes
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.4])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_logistic_loss_is_its_closed_form(seed: int, dtype: torch.dtype, within: float, smoothing: float) -> None:
    margin = 8 * torch.randn(16, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)
    same(logistic(margin, smoothing), sigmoid_loss(margin.double().numpy(), smoothing), within)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_logistic_loss_is_finite_at_extremes(smoothing: float) -> None:
    margin = torch.tensor([-1e30, -1e4, 0.0, 1e4, 1e30], requires_grad=True)
    losses = logistic(margin, smoothing)
    backward(losses.sum())
    assert bool(losses.isfinite().all())
    assert margin.grad is not None
    assert margin.grad.tolist() == pytest.approx([smoothing - 1, smoothing - 1, -0.5 + smoothing, smoothing, smoothing])

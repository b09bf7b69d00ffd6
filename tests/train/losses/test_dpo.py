"""DPO equals equation 7 of its paper."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from onym.train.losses.dpo import dpo
from onym.train.losses.pairwise import pairwise
from onym.train.losses.preference import Preference
from tests.train.losses.closed import SEEDS, arrays, backward, drawn_pairs, dtypes, require_finite_gradients, same, sigmoid_loss


@dtypes
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("beta", [0.1, 0.5])
@pytest.mark.parametrize("seed", SEEDS)
def test_it_is_the_closed_form(seed: int, beta: float, smoothing: float, dtype: torch.dtype, within: float) -> None:
    pairs = drawn_pairs(seed, dtype)
    scores = arrays(pairs)
    preferred = beta * np.log(np.exp(scores["preferred"]) / np.exp(scores["reference_preferred"]))
    rejected = beta * np.log(np.exp(scores["rejected"]) / np.exp(scores["reference_rejected"]))
    same(dpo(pairs, beta=beta, smoothing=smoothing), sigmoid_loss(preferred - rejected, smoothing), within)


def test_its_gradient_is_that_of_the_paper() -> None:
    """The gradient with respect to log p of the preferred is -beta sigmoid(-margin of rewards): section 4 of the paper."""
    pairs = drawn_pairs(1)
    preferred, rejected = pairs.preferred.clone().requires_grad_(), pairs.rejected.clone().requires_grad_()
    backward(dpo(Preference(preferred, rejected, pairs.reference_preferred, pairs.reference_rejected), beta=0.3).sum())
    scores = arrays(pairs)
    rewards = 0.3 * (scores["preferred"] - scores["reference_preferred"] - scores["rejected"] + scores["reference_rejected"])
    weight = 0.3 / (1 + np.exp(rewards))
    assert preferred.grad is not None
    assert rejected.grad is not None
    same(preferred.grad, -weight, 1e-6)
    same(rejected.grad, weight, 1e-6)


def test_a_reference_that_prefers_none_leaves_the_pairwise_loss() -> None:
    pairs = drawn_pairs(2)
    flat = torch.full_like(pairs.preferred, -3.0)
    found = dpo(Preference(pairs.preferred, pairs.rejected, flat, flat), beta=0.7)
    torch.testing.assert_close(found, pairwise(pairs, beta=0.7))


def test_nothing_flows_into_the_reference() -> None:
    scores = torch.zeros(3, requires_grad=True)
    reference = torch.zeros(3, requires_grad=True)
    backward(dpo(Preference(scores, -scores, reference, -reference)).sum())
    assert scores.grad is not None
    assert reference.grad is None


def test_a_reference_is_needed() -> None:
    with pytest.raises(ValueError, match="no scores of a reference"):
        dpo(Preference(torch.zeros(1), torch.zeros(1)))


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_gradients_are_finite_at_extremes(smoothing: float) -> None:
    require_finite_gradients(lambda pairs: dpo(pairs, smoothing=smoothing))

"""The pairwise loss equals ANGEL's equation 4."""

from __future__ import annotations

import pytest
import torch

from onym.train.losses.cpo import cpo
from onym.train.losses.pairwise import pairwise
from onym.train.losses.preference import Preference
from tests.train.losses.closed import SEEDS, arrays, drawn_pairs, dtypes, require_finite_gradients, same, sigmoid_loss


@dtypes
@pytest.mark.parametrize("beta", [0.1, 1.0])
@pytest.mark.parametrize("seed", SEEDS)
def test_it_is_the_closed_form(seed: int, beta: float, dtype: torch.dtype, within: float) -> None:
    pairs = drawn_pairs(seed, dtype)
    scores = arrays(pairs)
    same(pairwise(pairs, beta=beta), sigmoid_loss(beta * (scores["preferred"] - scores["rejected"])), within)


def test_it_is_cpo_without_the_likelihood() -> None:
    pairs = drawn_pairs(0)
    torch.testing.assert_close(pairwise(pairs, beta=0.3), cpo(pairs, beta=0.3, alpha=0))


def test_a_reference_is_passed_over() -> None:
    pairs = drawn_pairs(1)
    torch.testing.assert_close(pairwise(pairs), pairwise(Preference(pairs.preferred, pairs.rejected)))


def test_gradients_are_finite_at_extremes() -> None:
    require_finite_gradients(pairwise)

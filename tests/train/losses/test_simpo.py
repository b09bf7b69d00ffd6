"""SimPO equals its paper and TRL."""

from __future__ import annotations

import pytest
import torch

from onym.train.losses.log_probs import sequence_log_probs
from onym.train.losses.preference import Preference
from onym.train.losses.simpo import simpo
from tests.train.losses.closed import SEEDS, arrays, drawn_pairs, dtypes, require_finite_gradients, same, sigmoid_loss
from tests.train.losses.oracle import batch, gradients, oracle, own_logits, quietly, tiny_bart


@dtypes
@pytest.mark.parametrize(("beta", "gamma", "smoothing"), [(2.0, 1.0, 0.0), (2.5, 0.3, 0.1), (0.1, 0.0, 0.0)])
@pytest.mark.parametrize("seed", SEEDS)
def test_it_is_the_closed_form(
    seed: int, beta: float, gamma: float, smoothing: float, dtype: torch.dtype, within: float
) -> None:
    lengths = torch.arange(1, 10)
    sums = drawn_pairs(seed, dtype)
    scores = arrays(sums)
    expected = sigmoid_loss(
        beta / lengths.numpy() * scores["preferred"] - beta / lengths.flip(0).numpy() * scores["rejected"] - gamma, smoothing
    )
    means = Preference(sums.preferred / lengths, sums.rejected / lengths.flip(0))
    same(simpo(means, beta=beta, gamma=gamma, smoothing=smoothing), expected, within)


@quietly
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_it_is_that_of_trl(smoothing: float) -> None:
    for seed in SEEDS:
        pairs = drawn_pairs(seed)
        trainer = oracle("simpo", beta=2.0, gamma=0.7, smoothing=smoothing)
        expected, _, _ = trainer.cpo_loss(pairs.preferred, pairs.rejected)
        torch.testing.assert_close(simpo(pairs, beta=2.0, gamma=0.7, smoothing=smoothing), expected)


@quietly
def test_a_step_is_that_of_trl() -> None:
    """From the tokens of a batch to the gradients of a model: names of different lengths are scored by their means."""
    model, inputs = tiny_bart(), batch()
    trainer = oracle("simpo", beta=2.0, gamma=0.7)
    expected, _ = trainer.get_batch_loss_metrics(model, {name: value.clone() for name, value in inputs.items()})
    expected_gradients = gradients(model, expected)
    scores = [sequence_log_probs(*own_logits(model, inputs, side), "mean") for side in ("chosen", "rejected")]
    found = simpo(Preference(*scores), beta=2.0, gamma=0.7).mean()
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(gradients(model, found), expected_gradients, rtol=1e-4, atol=1e-5)


def test_a_margin_that_just_reaches_the_target_is_a_toss() -> None:
    pairs = Preference(torch.tensor([-0.5]), torch.tensor([-1.0]))
    assert simpo(pairs, beta=2.0, gamma=1.0).item() == pytest.approx(0.6931472)


def test_gradients_are_finite_at_extremes() -> None:
    require_finite_gradients(simpo)

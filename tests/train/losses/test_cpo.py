"""CPO equals its paper and TRL."""

from __future__ import annotations

import pytest
import torch

from onym.train.losses.cpo import cpo
from onym.train.losses.cross_entropy import cross_entropy
from onym.train.losses.log_probs import IGNORED, sequence_log_probs
from onym.train.losses.preference import Preference
from tests.train.losses.closed import SEEDS, arrays, backward, drawn_pairs, dtypes, require_finite_gradients, same, sigmoid_loss
from tests.train.losses.oracle import batch, gradients, oracle, own_logits, quietly, tiny_bart


@dtypes
@pytest.mark.parametrize(("alpha", "smoothing"), [(0.0, 0.0), (1.0, 0.0), (0.3, 0.2)])
@pytest.mark.parametrize("seed", SEEDS)
def test_it_is_the_closed_form(seed: int, alpha: float, smoothing: float, dtype: torch.dtype, within: float) -> None:
    pairs = drawn_pairs(seed, dtype)
    scores = arrays(pairs)
    expected = sigmoid_loss(0.1 * (scores["preferred"] - scores["rejected"]), smoothing) - alpha * scores["preferred"]
    same(cpo(pairs, -pairs.preferred, beta=0.1, alpha=alpha, smoothing=smoothing), expected, within)


@quietly
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_its_first_term_is_that_of_trl(smoothing: float) -> None:
    for seed in SEEDS:
        pairs = drawn_pairs(seed)
        expected, _, _ = oracle("sigmoid", beta=0.4, smoothing=smoothing).cpo_loss(pairs.preferred, pairs.rejected)
        torch.testing.assert_close(cpo(pairs, beta=0.4, alpha=0, smoothing=smoothing), expected)


@quietly
@pytest.mark.parametrize(("alpha", "smoothing"), [(0.0, 0.0), (1.0, 0.0), (0.5, 0.1)])
def test_a_step_is_that_of_trl(alpha: float, smoothing: float) -> None:
    """From the tokens of a batch to the gradients of a model; TRL averages the second term over all tokens together."""
    model, inputs = tiny_bart(), batch()
    trainer = oracle("sigmoid", beta=0.1, alpha=alpha, smoothing=smoothing)
    expected, _ = trainer.get_batch_loss_metrics(model, {name: value.clone() for name, value in inputs.items()})
    expected_gradients = gradients(model, expected)

    logits, labels = own_logits(model, inputs, "chosen")
    is_labelled = labels != IGNORED
    likelihood = cross_entropy(logits[is_labelled], labels[is_labelled]) / is_labelled.sum()
    preferred = sequence_log_probs(logits, labels, "sum")
    pairs = Preference(preferred, sequence_log_probs(*own_logits(model, inputs, "rejected"), "sum"))
    found = cpo(pairs, likelihood, beta=0.1, alpha=alpha, smoothing=smoothing).mean()
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(gradients(model, found), expected_gradients, rtol=1e-4, atol=1e-5)


def test_the_cross_entropy_is_learned_from() -> None:
    likelihood = torch.tensor(2.0, requires_grad=True)
    backward(cpo(Preference(torch.zeros(4), torch.zeros(4)), likelihood, alpha=0.5).mean())
    assert likelihood.grad == 0.5


def test_the_cross_entropy_is_needed_unless_alpha_is_zero() -> None:
    pairs = drawn_pairs(0)
    with pytest.raises(ValueError, match="cross-entropy of the preferred"):
        cpo(pairs)
    torch.testing.assert_close(cpo(pairs, alpha=0), cpo(pairs, torch.tensor(torch.inf), alpha=0))


def test_a_cross_entropy_that_would_be_broadcast_is_refused() -> None:
    for wrong in (torch.zeros(9, 1), torch.zeros(1), torch.zeros(8)):
        with pytest.raises(ValueError, match="shape"):
            cpo(drawn_pairs(0), wrong)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_gradients_are_finite_at_extremes(smoothing: float) -> None:
    require_finite_gradients(lambda pairs: cpo(pairs, -pairs.preferred, smoothing=smoothing))

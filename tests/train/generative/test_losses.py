"""Tests of the losses of generative models, compared with closed forms, torch and TRL."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional
from transformers.trainer_pt_utils import LabelSmoother

from onym.errors import ConfigError
from onym.train.generative.losses import (
    IGNORED,
    LOSSES,
    Preference,
    Score,
    average_tokens,
    cpo,
    cross_entropy,
    dpo,
    find_loss,
    gather_log_probs,
    logistic,
    pairwise,
    score_sequences,
    sequence_log_probs,
    simpo,
    sum_tokens,
    token_log_probs,
)
from onym.train.precision import at_least_fp32
from tests.train.closed import (
    SEEDS,
    arrays,
    backward,
    draw_pairs,
    dtypes,
    log_softmax,
    require_finite_gradients,
    same,
    sigmoid_loss,
)
from tests.train.generative.oracle import batch, gradients, oracle, own_logits, quietly, tiny_bart

both = pytest.mark.parametrize("score", ["sum", "mean"])
smoothings = pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])


def draw_labelled(seed: int, dtype: torch.dtype = torch.float64, scale: float = 5.0) -> tuple[Tensor, Tensor]:
    """Draw logits (4, 6, 11) and labels (4, 6): an unlabelled prompt, a name, and padding."""
    generator = torch.Generator().manual_seed(seed)
    logits = scale * torch.randn(4, 6, 11, generator=generator, dtype=torch.float64)
    labels = torch.randint(0, 11, (4, 6), generator=generator)
    labels[:, 0] = IGNORED
    labels[1, 4:] = IGNORED
    labels[2, 2:] = IGNORED
    return logits.to(dtype), labels


def naive(logits: Tensor, labels: Tensor) -> list[list[float]]:
    """Return the log-probabilities of the labelled tokens of each sequence, one by one."""
    table = log_softmax(logits)
    return [
        [float(table[row, position, label]) for position, label in enumerate(line) if label != IGNORED]
        for row, line in enumerate(labels.tolist())
    ]


@both
@dtypes
@pytest.mark.parametrize("seed", SEEDS)
def test_sequence_score_is_sum_or_mean_of_labelled_tokens(seed: int, dtype: torch.dtype, within: float, score: Score) -> None:
    logits, labels = draw_labelled(seed, dtype)
    expected = [sum(line) / (len(line) if score == "mean" else 1) for line in naive(logits, labels)]
    found = sequence_log_probs(logits, labels, score)
    assert found.dtype == dtype
    same(found, expected, within)


@dtypes
def test_token_log_probs_keep_positions_and_are_zero_if_ignored(dtype: torch.dtype, within: float) -> None:
    logits, labels = draw_labelled(0, dtype)
    found = token_log_probs(logits, labels)
    assert bool((found[labels == IGNORED] == 0).all())
    same(found[labels != IGNORED], [value for line in naive(logits, labels) for value in line], within)


@both
@given(seed=st.integers(0, 10_000))
def test_gathered_and_padded_layouts_agree(score: Score, seed: int) -> None:
    logits, labels = draw_labelled(seed)
    is_labelled = labels != IGNORED
    rows = is_labelled.nonzero()[:, 0]
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(seed))
    log_probs = gather_log_probs(logits[is_labelled], labels[is_labelled])
    found = score_sequences(log_probs[order], rows[order], len(labels), score)
    torch.testing.assert_close(found, sequence_log_probs(logits, labels, score))


@both
def test_both_layouts_have_the_same_gradient(score: Score) -> None:
    logits, labels = draw_labelled(3)
    padded, flat = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    is_labelled = labels != IGNORED
    backward(sequence_log_probs(padded, labels, score).square().sum())
    log_probs = gather_log_probs(flat[is_labelled], labels[is_labelled])
    backward(score_sequences(log_probs, is_labelled.nonzero()[:, 0], len(labels), score).square().sum())
    torch.testing.assert_close(padded.grad, flat.grad)


@both
@pytest.mark.parametrize("there", [0.0, math.inf, math.nan])
def test_ignored_tokens_have_no_gradient(score: Score, there: float) -> None:
    logits, labels = draw_labelled(1)
    logits[labels == IGNORED] = there
    logits.requires_grad_()
    backward(sequence_log_probs(logits, labels, score).sum())
    assert logits.grad is not None
    assert bool((logits.grad[labels == IGNORED] == 0).all())
    assert bool((logits.grad[labels != IGNORED] != 0).all())


def test_casts_to_fp32_before_softmax() -> None:
    logits, labels = draw_labelled(2, torch.bfloat16)
    found = sequence_log_probs(logits, labels, "sum")
    assert found.dtype == torch.float32
    same(found, [sum(line) for line in naive(logits, labels)], 1e-4)
    assert at_least_fp32(torch.zeros(1, dtype=torch.float16)).dtype == torch.float32


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_gradients_of_log_probs_are_finite_at_extremes(dtype: torch.dtype) -> None:
    logits = torch.tensor([[1e4, 0.0, -1e4], [0.0, 1e4, -1e4]], dtype=dtype, requires_grad=True)
    log_probs = gather_log_probs(logits, torch.tensor([2, 1]))
    backward(log_probs.sum())
    assert log_probs.tolist() == pytest.approx([-2e4, 0.0], rel=1e-2)
    assert logits.grad is not None
    assert logits.grad.tolist() == [[-1.0, 0.0, 1.0], [0.0, 0.0, 0.0]]


@both
def test_score_without_labels_is_zero(score: Score) -> None:
    logits = torch.randn(2, 3, 5, requires_grad=True)
    labels = torch.tensor([[IGNORED] * 3, [IGNORED, 1, 2]])
    found = sequence_log_probs(logits, labels, score)
    backward(found.sum())
    assert found[0] == 0
    assert logits.grad is not None
    assert bool(logits.grad.isfinite().all())
    none = torch.zeros(0, dtype=torch.long)
    assert score_sequences(torch.zeros(0), none, 2, score).tolist() == [0, 0]


def test_rejects_ignored_label_as_target() -> None:
    with pytest.raises((IndexError, RuntimeError), match="out of bounds"):
        gather_log_probs(torch.zeros(1, 3), torch.tensor([IGNORED]))


def test_sums_and_means_of_rows() -> None:
    log_probs, rows = torch.tensor([-1.0, -2.0, -4.0]), torch.tensor([2, 0, 2])
    assert sum_tokens(log_probs, rows, 4).tolist() == [-2.0, 0.0, -5.0, 0.0]
    assert average_tokens(log_probs, rows, 4).tolist() == [-2.0, 0.0, -2.5, 0.0]


def draw_targets(seed: int, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    logits = 5 * torch.randn(8, 13, generator=generator, dtype=torch.float64)
    return logits.to(dtype), torch.randint(0, 13, (8,), generator=generator)


@smoothings
@dtypes
@pytest.mark.parametrize("seed", SEEDS)
def test_cross_entropy_is_sum_of_closed_form(seed: int, dtype: torch.dtype, within: float, smoothing: float) -> None:
    logits, targets = draw_targets(seed, dtype)
    table = log_softmax(logits)
    expected = 0.0
    for token, target in enumerate(targets.tolist()):
        expected -= (1 - smoothing) * table[token, target]
        expected -= sum(smoothing / len(table[token]) * value for value in table[token])
    found = cross_entropy(logits, targets, smoothing)
    assert (found.shape, found.dtype) == ((), dtype)
    same(found, expected, within)


@smoothings
def test_cross_entropy_matches_torch_and_transformers(smoothing: float) -> None:
    logits, targets = draw_targets(0, torch.float32)
    targets[2:4] = IGNORED
    tokens = 6
    found = cross_entropy(logits, targets, smoothing) / tokens
    torch.testing.assert_close(found, functional.cross_entropy(logits, targets, label_smoothing=smoothing))
    smoother = LabelSmoother(epsilon=smoothing)
    torch.testing.assert_close(found, smoother({"logits": logits[None].clone()}, targets[None]))


def test_fairseq_smoothing_excludes_the_target() -> None:
    logits, targets = draw_targets(1)
    table, size, smoothing = log_softmax(logits), logits.shape[1], 0.1
    expected = 0.0
    for token, target in enumerate(targets.tolist()):
        others = sum(value for index, value in enumerate(table[token]) if index != target)
        expected -= (1 - smoothing) * table[token, target] + smoothing / (size - 1) * others
    same(cross_entropy(logits, targets, smoothing * size / (size - 1)), expected, 1e-6)


def test_ignored_targets_have_no_gradient() -> None:
    logits, targets = draw_targets(2)
    targets[5] = IGNORED
    logits.requires_grad_()
    backward(cross_entropy(logits, targets, 0.1))
    assert logits.grad is not None
    assert [bool((row != 0).any()) for row in logits.grad] == [token != 5 for token in range(8)]


def test_losses_of_batch_parts_add_up() -> None:
    logits, targets = draw_targets(3)
    parts = cross_entropy(logits[:3], targets[:3], 0.1) + cross_entropy(logits[3:], targets[3:], 0.1)
    torch.testing.assert_close(parts, cross_entropy(logits, targets, 0.1))
    assert cross_entropy(logits[:0], targets[:0], 0.1) == 0


@smoothings
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_gradients_of_cross_entropy_are_finite_at_extremes(dtype: torch.dtype, smoothing: float) -> None:
    logits = torch.tensor([[1e4, 0.0, -1e4], [0.0, 1e4, -1e4]], dtype=dtype, requires_grad=True)
    found = cross_entropy(logits, torch.tensor([2, 1]), smoothing)
    backward(found)
    assert found.dtype == torch.float32
    assert bool(found.isfinite())
    assert logits.grad is not None
    assert bool(logits.grad.isfinite().all())
    assert float(logits.grad[0, 0]) > 0


def test_margin_is_preferred_minus_rejected() -> None:
    pairs = draw_pairs(0)
    scores = arrays(pairs)
    same(pairs.margin, scores["preferred"] - scores["rejected"], 1e-12)
    same(pairs.reference_margin, scores["reference_preferred"] - scores["reference_rejected"], 1e-12)


def test_margins_are_computed_in_fp32() -> None:
    preferred, rejected = torch.tensor([-257.0]).bfloat16(), torch.tensor([-0.5]).bfloat16()
    pairs = Preference(preferred, rejected, preferred, rejected)
    assert pairs.margin.dtype == pairs.reference_margin.dtype == torch.float32
    assert pairs.margin.item() == float(preferred) - float(rejected)
    assert float(preferred - rejected) != float(preferred) - float(rejected)


def test_reference_margin_has_no_gradient() -> None:
    reference = torch.zeros(2, requires_grad=True)
    assert not Preference(reference, reference, reference, reference).reference_margin.requires_grad
    assert Preference(reference, reference).margin.requires_grad


def test_rejects_shapes_that_would_broadcast() -> None:
    two = torch.zeros(2)
    for wrong in (torch.zeros(2, 1), torch.zeros(3), torch.zeros(1), torch.zeros(())):
        with pytest.raises(ValueError, match="must all have the shape"):
            Preference(two, wrong)
        with pytest.raises(ValueError, match="must all have the shape"):
            Preference(two, two, two, wrong)
    with pytest.raises(ValueError, match="must all have the shape"):
        Preference(torch.zeros(2, 1), torch.zeros(2, 1))


def test_requires_reference_scores_of_both_names() -> None:
    two = torch.zeros(2)
    with pytest.raises(ValueError, match="both names"):
        Preference(two, two, two)
    with pytest.raises(ValueError, match="both names"):
        Preference(two, two, None, two)
    with pytest.raises(ValueError, match="no reference scores"):
        _ = Preference(two, two).reference_margin


@dtypes
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.4])
@pytest.mark.parametrize("seed", SEEDS)
def test_logistic_loss_matches_closed_form(seed: int, dtype: torch.dtype, within: float, smoothing: float) -> None:
    margin = 8 * torch.randn(16, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)
    same(logistic(margin, smoothing), sigmoid_loss(margin.double().numpy(), smoothing), within)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_logistic_loss_is_finite_at_extremes(smoothing: float) -> None:
    margin = torch.tensor([-1e30, -1e4, 0.0, 1e4, 1e30], requires_grad=True)
    losses = logistic(margin, smoothing)
    backward(losses.sum())
    assert bool(losses.isfinite().all())
    assert margin.grad is not None
    assert margin.grad.tolist() == pytest.approx([smoothing - 1, smoothing - 1, -0.5 + smoothing, smoothing, smoothing])


@dtypes
@pytest.mark.parametrize("beta", [0.1, 1.0])
@pytest.mark.parametrize("seed", SEEDS)
def test_pairwise_matches_closed_form(seed: int, beta: float, dtype: torch.dtype, within: float) -> None:
    pairs = draw_pairs(seed, dtype)
    scores = arrays(pairs)
    same(pairwise(pairs, beta=beta), sigmoid_loss(beta * (scores["preferred"] - scores["rejected"])), within)


def test_pairwise_is_cpo_without_cross_entropy() -> None:
    pairs = draw_pairs(0)
    torch.testing.assert_close(pairwise(pairs, beta=0.3), cpo(pairs, beta=0.3, alpha=0))


def test_pairwise_ignores_the_reference() -> None:
    pairs = draw_pairs(1)
    torch.testing.assert_close(pairwise(pairs), pairwise(Preference(pairs.preferred, pairs.rejected)))


def test_gradients_of_pairwise_are_finite_at_extremes() -> None:
    require_finite_gradients(pairwise)


@dtypes
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("beta", [0.1, 0.5])
@pytest.mark.parametrize("seed", SEEDS)
def test_dpo_matches_closed_form(seed: int, beta: float, smoothing: float, dtype: torch.dtype, within: float) -> None:
    pairs = draw_pairs(seed, dtype)
    scores = arrays(pairs)
    preferred = beta * np.log(np.exp(scores["preferred"]) / np.exp(scores["reference_preferred"]))
    rejected = beta * np.log(np.exp(scores["rejected"]) / np.exp(scores["reference_rejected"]))
    same(dpo(pairs, beta=beta, smoothing=smoothing), sigmoid_loss(preferred - rejected, smoothing), within)


def test_dpo_gradient_matches_the_paper() -> None:
    """The gradient with respect to log p of the preferred name is -beta * sigmoid(-reward margin): DPO paper, section 4."""
    pairs = draw_pairs(1)
    preferred, rejected = pairs.preferred.clone().requires_grad_(), pairs.rejected.clone().requires_grad_()
    backward(dpo(Preference(preferred, rejected, pairs.reference_preferred, pairs.reference_rejected), beta=0.3).sum())
    scores = arrays(pairs)
    rewards = 0.3 * (scores["preferred"] - scores["reference_preferred"] - scores["rejected"] + scores["reference_rejected"])
    weight = 0.3 / (1 + np.exp(rewards))
    assert preferred.grad is not None
    assert rejected.grad is not None
    same(preferred.grad, -weight, 1e-6)
    same(rejected.grad, weight, 1e-6)


def test_dpo_with_zero_reference_margin_is_pairwise() -> None:
    pairs = draw_pairs(2)
    flat = torch.full_like(pairs.preferred, -3.0)
    found = dpo(Preference(pairs.preferred, pairs.rejected, flat, flat), beta=0.7)
    torch.testing.assert_close(found, pairwise(pairs, beta=0.7))


def test_dpo_has_no_gradient_for_the_reference() -> None:
    scores = torch.zeros(3, requires_grad=True)
    reference = torch.zeros(3, requires_grad=True)
    backward(dpo(Preference(scores, -scores, reference, -reference)).sum())
    assert scores.grad is not None
    assert reference.grad is None


def test_dpo_requires_a_reference() -> None:
    with pytest.raises(ValueError, match="no reference scores"):
        dpo(Preference(torch.zeros(1), torch.zeros(1)))


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_gradients_of_dpo_are_finite_at_extremes(smoothing: float) -> None:
    require_finite_gradients(lambda pairs: dpo(pairs, smoothing=smoothing))


@dtypes
@pytest.mark.parametrize(("alpha", "smoothing"), [(0.0, 0.0), (1.0, 0.0), (0.3, 0.2)])
@pytest.mark.parametrize("seed", SEEDS)
def test_cpo_matches_closed_form(seed: int, alpha: float, smoothing: float, dtype: torch.dtype, within: float) -> None:
    pairs = draw_pairs(seed, dtype)
    scores = arrays(pairs)
    expected = sigmoid_loss(0.1 * (scores["preferred"] - scores["rejected"]), smoothing) - alpha * scores["preferred"]
    same(cpo(pairs, -pairs.preferred, beta=0.1, alpha=alpha, smoothing=smoothing), expected, within)


@quietly
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_first_term_of_cpo_matches_trl(smoothing: float) -> None:
    for seed in SEEDS:
        pairs = draw_pairs(seed)
        expected, _, _ = oracle("sigmoid", beta=0.4, smoothing=smoothing).cpo_loss(pairs.preferred, pairs.rejected)
        torch.testing.assert_close(cpo(pairs, beta=0.4, alpha=0, smoothing=smoothing), expected)


@quietly
@pytest.mark.parametrize(("alpha", "smoothing"), [(0.0, 0.0), (1.0, 0.0), (0.5, 0.1)])
def test_cpo_gradients_match_trl(alpha: float, smoothing: float) -> None:
    """Compares the gradients of a whole model. The cross-entropy is averaged over all tokens of the batch, as in TRL."""
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


def test_cpo_has_gradient_of_cross_entropy() -> None:
    likelihood = torch.tensor(2.0, requires_grad=True)
    backward(cpo(Preference(torch.zeros(4), torch.zeros(4)), likelihood, alpha=0.5).mean())
    assert likelihood.grad == 0.5


def test_cpo_requires_cross_entropy_unless_alpha_is_zero() -> None:
    pairs = draw_pairs(0)
    with pytest.raises(ValueError, match="cross-entropy of the preferred"):
        cpo(pairs)
    torch.testing.assert_close(cpo(pairs, alpha=0), cpo(pairs, torch.tensor(torch.inf), alpha=0))


def test_rejects_cross_entropy_that_would_broadcast() -> None:
    for wrong in (torch.zeros(9, 1), torch.zeros(1), torch.zeros(8)):
        with pytest.raises(ValueError, match="shape"):
            cpo(draw_pairs(0), wrong)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_gradients_of_cpo_are_finite_at_extremes(smoothing: float) -> None:
    require_finite_gradients(lambda pairs: cpo(pairs, -pairs.preferred, smoothing=smoothing))


@dtypes
@pytest.mark.parametrize(("beta", "gamma", "smoothing"), [(2.0, 1.0, 0.0), (2.5, 0.3, 0.1), (0.1, 0.0, 0.0)])
@pytest.mark.parametrize("seed", SEEDS)
def test_simpo_matches_closed_form(
    seed: int, beta: float, gamma: float, smoothing: float, dtype: torch.dtype, within: float
) -> None:
    lengths = torch.arange(1, 10)
    sums = draw_pairs(seed, dtype)
    scores = arrays(sums)
    expected = sigmoid_loss(
        beta / lengths.numpy() * scores["preferred"] - beta / lengths.flip(0).numpy() * scores["rejected"] - gamma, smoothing
    )
    means = Preference(sums.preferred / lengths, sums.rejected / lengths.flip(0))
    same(simpo(means, beta=beta, gamma=gamma, smoothing=smoothing), expected, within)


@quietly
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_simpo_matches_trl(smoothing: float) -> None:
    for seed in SEEDS:
        pairs = draw_pairs(seed)
        trainer = oracle("simpo", beta=2.0, gamma=0.7, smoothing=smoothing)
        expected, _, _ = trainer.cpo_loss(pairs.preferred, pairs.rejected)
        torch.testing.assert_close(simpo(pairs, beta=2.0, gamma=0.7, smoothing=smoothing), expected)


@quietly
def test_simpo_gradients_match_trl() -> None:
    """Compares the gradients of a whole model, with names of different lengths scored by their mean."""
    model, inputs = tiny_bart(), batch()
    trainer = oracle("simpo", beta=2.0, gamma=0.7)
    expected, _ = trainer.get_batch_loss_metrics(model, {name: value.clone() for name, value in inputs.items()})
    expected_gradients = gradients(model, expected)
    scores = [sequence_log_probs(*own_logits(model, inputs, side), "mean") for side in ("chosen", "rejected")]
    found = simpo(Preference(*scores), beta=2.0, gamma=0.7).mean()
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(gradients(model, found), expected_gradients, rtol=1e-4, atol=1e-5)


def test_simpo_loss_is_log_2_at_target_margin() -> None:
    pairs = Preference(torch.tensor([-0.5]), torch.tensor([-1.0]))
    assert simpo(pairs, beta=2.0, gamma=1.0).item() == pytest.approx(0.6931472)


def test_gradients_of_simpo_are_finite_at_extremes() -> None:
    require_finite_gradients(simpo)


def test_each_loss_has_the_score_of_its_paper() -> None:
    assert {name: find_loss(name).score for name in LOSSES} == {"dpo": "sum", "cpo": "sum", "simpo": "mean", "pairwise": "sum"}


def test_each_loss_knows_what_it_needs() -> None:
    assert [name for name in LOSSES if find_loss(name).needs_reference] == ["dpo"]
    assert [name for name in LOSSES if find_loss(name).needs_cross_entropy] == ["cpo"]
    assert not find_loss("cpo", alpha=0).needs_cross_entropy


def test_named_loss_calls_its_function_with_options() -> None:
    pairs, likelihood = draw_pairs(0), torch.tensor(1.5)
    expected = {
        "dpo": dpo(pairs, beta=0.3, smoothing=0.1),
        "cpo": cpo(pairs, likelihood, beta=0.3, smoothing=0.1),
        "simpo": simpo(pairs, beta=0.3, smoothing=0.1),
        "pairwise": pairwise(pairs, beta=0.3),
    }
    for name in LOSSES:
        options = {"beta": 0.3} if name == "pairwise" else {"beta": 0.3, "smoothing": 0.1}
        loss = find_loss(name, **options)
        torch.testing.assert_close(loss(pairs, likelihood), expected[name])
    torch.testing.assert_close(find_loss("cpo", alpha=0)(pairs), cpo(pairs, alpha=0))


def test_named_loss_has_all_options_read_only() -> None:
    loss = find_loss("cpo", beta=0.2)
    assert dict(loss.options) == {"beta": 0.2, "alpha": 1.0, "smoothing": 0.0}
    with pytest.raises(TypeError):
        loss.options["beta"] = 1.0  # type: ignore[index]
    with pytest.raises(dataclasses.FrozenInstanceError):
        loss.name = "dpo"  # type: ignore[misc]


def test_named_loss_rejects_missing_cross_entropy() -> None:
    with pytest.raises(ValueError, match="cross-entropy"):
        find_loss("cpo")(draw_pairs(0))


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("kto", {}, "unknown loss 'kto'"),
        ("", {}, "unknown loss ''"),
        ("dpo", {"gamma": 0.5}, "no option 'gamma'"),
        ("pairwise", {"smoothing": 0.1}, "no option 'smoothing'"),
        ("cpo", {"cross_entropy": 1.0}, "no option 'cross_entropy'"),
        ("dpo", {"beta": 0.0}, "beta is 0.0"),
        ("dpo", {"beta": -0.1}, "beta is -0.1"),
        ("dpo", {"beta": math.inf}, "beta is inf"),
        ("dpo", {"beta": math.nan}, "beta is nan"),
        ("dpo", {"smoothing": 0.5}, "smoothing is 0.5"),
        ("cpo", {"alpha": -1.0}, "alpha is -1.0"),
        ("simpo", {"gamma": math.nan}, "gamma is nan"),
    ],
)
def test_rejects_unknown_losses_and_invalid_options(name: str, options: dict[str, float], says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        find_loss(name, **options)
    assert caught.value.code == "config-invalid"
    assert says in caught.value.what
    assert caught.value.fix

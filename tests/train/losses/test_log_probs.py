"""Log-probabilities of tokens and sequences equal a loop over tokens, and labels alone are learned from."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from onym.train.losses.log_probs import (
    IGNORED,
    Score,
    at_least_fp32,
    average_tokens,
    gathered_log_probs,
    score_sequences,
    sequence_log_probs,
    sum_tokens,
    token_log_probs,
)
from tests.train.losses.closed import SEEDS, backward, dtypes, log_softmax, same

both = pytest.mark.parametrize("score", ["sum", "mean"])


def drawn(seed: int, dtype: torch.dtype = torch.float64, scale: float = 5.0) -> tuple[Tensor, Tensor]:
    """Draw logits (4, 6, 11) and labels (4, 6): a prompt without labels, a name, padding."""
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
def test_a_sequence_is_the_sum_or_the_mean_of_its_labelled_tokens(
    seed: int, dtype: torch.dtype, within: float, score: Score
) -> None:
    logits, labels = drawn(seed, dtype)
    expected = [sum(line) / (len(line) if score == "mean" else 1) for line in naive(logits, labels)]
    found = sequence_log_probs(logits, labels, score)
    assert found.dtype == dtype
    same(found, expected, within)


@dtypes
def test_tokens_have_their_positions_and_ignored_ones_are_zero(dtype: torch.dtype, within: float) -> None:
    logits, labels = drawn(0, dtype)
    found = token_log_probs(logits, labels)
    assert bool((found[labels == IGNORED] == 0).all())
    same(found[labels != IGNORED], [value for line in naive(logits, labels) for value in line], within)


@both
@given(seed=st.integers(0, 10_000))
def test_gathered_and_padded_agree(score: Score, seed: int) -> None:
    logits, labels = drawn(seed)
    is_labelled = labels != IGNORED
    rows = is_labelled.nonzero()[:, 0]
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(seed))
    log_probs = gathered_log_probs(logits[is_labelled], labels[is_labelled])
    found = score_sequences(log_probs[order], rows[order], len(labels), score)
    torch.testing.assert_close(found, sequence_log_probs(logits, labels, score))


@both
def test_both_layouts_have_the_same_gradient(score: Score) -> None:
    logits, labels = drawn(3)
    padded, flat = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    is_labelled = labels != IGNORED
    backward(sequence_log_probs(padded, labels, score).square().sum())
    log_probs = gathered_log_probs(flat[is_labelled], labels[is_labelled])
    backward(score_sequences(log_probs, is_labelled.nonzero()[:, 0], len(labels), score).square().sum())
    torch.testing.assert_close(padded.grad, flat.grad)


@both
@pytest.mark.parametrize("there", [0.0, math.inf, math.nan])
def test_ignored_tokens_carry_no_gradient_whatever_is_there(score: Score, there: float) -> None:
    logits, labels = drawn(1)
    logits[labels == IGNORED] = there
    logits.requires_grad_()
    backward(sequence_log_probs(logits, labels, score).sum())
    assert logits.grad is not None
    assert bool((logits.grad[labels == IGNORED] == 0).all())
    assert bool((logits.grad[labels != IGNORED] != 0).all())


def test_low_precision_is_raised_before_softmax() -> None:
    logits, labels = drawn(2, torch.bfloat16)
    found = sequence_log_probs(logits, labels, "sum")
    assert found.dtype == torch.float32
    same(found, [sum(line) for line in naive(logits, labels)], 1e-4)
    assert at_least_fp32(torch.zeros(1, dtype=torch.float16)).dtype == torch.float32


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_gradients_are_finite_at_extremes(dtype: torch.dtype) -> None:
    logits = torch.tensor([[1e4, 0.0, -1e4], [0.0, 1e4, -1e4]], dtype=dtype, requires_grad=True)
    log_probs = gathered_log_probs(logits, torch.tensor([2, 1]))
    backward(log_probs.sum())
    assert log_probs.tolist() == pytest.approx([-2e4, 0.0], rel=1e-2)
    assert logits.grad is not None
    assert logits.grad.tolist() == [[-1.0, 0.0, 1.0], [0.0, 0.0, 0.0]]


@both
def test_without_labels_the_score_is_zero(score: Score) -> None:
    logits = torch.randn(2, 3, 5, requires_grad=True)
    labels = torch.tensor([[IGNORED] * 3, [IGNORED, 1, 2]])
    found = sequence_log_probs(logits, labels, score)
    backward(found.sum())
    assert found[0] == 0
    assert logits.grad is not None
    assert bool(logits.grad.isfinite().all())
    none = torch.zeros(0, dtype=torch.long)
    assert score_sequences(torch.zeros(0), none, 2, score).tolist() == [0, 0]


def test_an_ignored_label_is_no_target() -> None:
    with pytest.raises((IndexError, RuntimeError), match="out of bounds"):
        gathered_log_probs(torch.zeros(1, 3), torch.tensor([IGNORED]))


def test_sums_and_means_of_rows() -> None:
    log_probs, rows = torch.tensor([-1.0, -2.0, -4.0]), torch.tensor([2, 0, 2])
    assert sum_tokens(log_probs, rows, 4).tolist() == [-2.0, 0.0, -5.0, 0.0]
    assert average_tokens(log_probs, rows, 4).tolist() == [-2.0, 0.0, -2.5, 0.0]

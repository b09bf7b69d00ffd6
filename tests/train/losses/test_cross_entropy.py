"""Cross-entropy equals its closed form, torch's, transformers' and, with another smoothing, fairseq's."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional
from transformers.trainer_pt_utils import LabelSmoother

from onym.train.losses.cross_entropy import cross_entropy
from onym.train.losses.log_probs import IGNORED
from tests.train.losses.closed import SEEDS, backward, dtypes, log_softmax, same

smoothings = pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])


def drawn(seed: int, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    logits = 5 * torch.randn(8, 13, generator=generator, dtype=torch.float64)
    return logits.to(dtype), torch.randint(0, 13, (8,), generator=generator)


@smoothings
@dtypes
@pytest.mark.parametrize("seed", SEEDS)
def test_it_is_the_sum_of_the_closed_form(seed: int, dtype: torch.dtype, within: float, smoothing: float) -> None:
    logits, targets = drawn(seed, dtype)
    table = log_softmax(logits)
    expected = 0.0
    for token, target in enumerate(targets.tolist()):
        expected -= (1 - smoothing) * table[token, target]
        expected -= sum(smoothing / len(table[token]) * value for value in table[token])
    found = cross_entropy(logits, targets, smoothing)
    assert (found.shape, found.dtype) == ((), dtype)
    same(found, expected, within)


@smoothings
def test_it_is_that_of_torch_and_transformers(smoothing: float) -> None:
    logits, targets = drawn(0, torch.float32)
    targets[2:4] = IGNORED
    tokens = 6
    found = cross_entropy(logits, targets, smoothing) / tokens
    torch.testing.assert_close(found, functional.cross_entropy(logits, targets, label_smoothing=smoothing))
    smoother = LabelSmoother(epsilon=smoothing)
    torch.testing.assert_close(found, smoother({"logits": logits[None].clone()}, targets[None]))


def test_fairseq_smooths_over_the_others_alone() -> None:
    logits, targets = drawn(1)
    table, size, smoothing = log_softmax(logits), logits.shape[1], 0.1
    expected = 0.0
    for token, target in enumerate(targets.tolist()):
        others = sum(value for index, value in enumerate(table[token]) if index != target)
        expected -= (1 - smoothing) * table[token, target] + smoothing / (size - 1) * others
    same(cross_entropy(logits, targets, smoothing * size / (size - 1)), expected, 1e-6)


def test_ignored_targets_carry_no_gradient() -> None:
    logits, targets = drawn(2)
    targets[5] = IGNORED
    logits.requires_grad_()
    backward(cross_entropy(logits, targets, 0.1))
    assert logits.grad is not None
    assert [bool((row != 0).any()) for row in logits.grad] == [token != 5 for token in range(8)]


def test_the_parts_of_a_batch_add_up() -> None:
    logits, targets = drawn(3)
    parts = cross_entropy(logits[:3], targets[:3], 0.1) + cross_entropy(logits[3:], targets[3:], 0.1)
    torch.testing.assert_close(parts, cross_entropy(logits, targets, 0.1))
    assert cross_entropy(logits[:0], targets[:0], 0.1) == 0


@smoothings
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_gradients_are_finite_at_extremes(dtype: torch.dtype, smoothing: float) -> None:
    logits = torch.tensor([[1e4, 0.0, -1e4], [0.0, 1e4, -1e4]], dtype=dtype, requires_grad=True)
    found = cross_entropy(logits, torch.tensor([2, 1]), smoothing)
    backward(found)
    assert found.dtype == torch.float32
    assert bool(found.isfinite())
    assert logits.grad is not None
    assert bool(logits.grad.isfinite().all())
    assert float(logits.grad[0, 0]) > 0

"""The multi-similarity loss is its closed form, and that of pytorch-metric-learning."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from benchmarks.speed import miner as benchmark
from benchmarks.speed.miner import Batch, Found
from torch import Tensor

from onym.errors import ConfigError
from onym.train.losses.miner import RowPairs, all_pairs, hard_pairs
from onym.train.losses.multi_similarity import MultiSimilarityLoss
from tests.train.losses.closed import backward, same

LOSS = MultiSimilarityLoss()


def closed_form(embeddings: Tensor, pairs: RowPairs, alpha: float, beta: float, base: float) -> float:
    """Take the sums of SapBERT's equation 2, with alpha for positives as in its code."""
    vectors = embeddings.double().numpy()
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    total = 0.0
    for row, anchor in enumerate(vectors):
        near = [np.exp(-alpha * (anchor @ vectors[other] - base)) for other in pairs.positive[row].nonzero()[:, 0].tolist()]
        far = [np.exp(beta * (anchor @ vectors[other] - base)) for other in pairs.negative[row].nonzero()[:, 0].tolist()]
        total += np.log(1 + sum(near)) / alpha + np.log(1 + sum(far)) / beta
    return float(total / len(vectors))


def with_gradient(embeddings: Tensor, pairs: RowPairs) -> tuple[Tensor, Tensor]:
    inputs = embeddings.clone().requires_grad_()
    loss = LOSS(inputs, pairs)
    backward(loss)
    assert inputs.grad is not None
    return loss.detach(), inputs.grad


def cosines(embeddings: Tensor) -> Tensor:
    unit = torch.nn.functional.normalize(embeddings)
    return unit @ unit.T


@pytest.mark.parametrize(("alpha", "beta", "base"), [(1.0, 60.0, 0.5), (2.0, 50.0, 0.5), (0.5, 3.0, -0.2)])
def test_it_is_its_closed_form(alpha: float, beta: float, base: float) -> None:
    for batch in benchmark.iter_batches(2, seed=2):
        for pairs in (all_pairs(batch.labels), hard_pairs(batch.embeddings, batch.labels)):
            found = MultiSimilarityLoss(alpha, beta, base)(batch.embeddings, pairs)
            same(found, closed_form(batch.embeddings, pairs, alpha, beta, base), 1e-9)


def test_it_is_that_of_the_reference_with_its_gradient() -> None:
    assert benchmark.worst_delta(benchmark.iter_batches(140, seed=2), benchmark.own, benchmark.reference) <= 1e-9


def test_the_benchmark_finds_what_is_wrong() -> None:
    def wrong_loss(batch: Batch) -> Found:
        return replace(benchmark.own(batch), loss=torch.tensor(0.3))

    def wrong_pairs(batch: Batch) -> Found:
        return replace(benchmark.own(batch), pairs=all_pairs(batch.labels))

    def no_number(batch: Batch) -> Found:
        return replace(benchmark.own(batch), gradient=torch.full_like(batch.embeddings, torch.nan))

    for wrong, least in ((wrong_loss, 0.1), (wrong_pairs, torch.inf), (no_number, torch.inf)):
        assert benchmark.worst_delta(benchmark.iter_batches(7), wrong, benchmark.reference) >= least


def test_a_pair_counts_once_in_however_many_triplets() -> None:
    from pytorch_metric_learning.losses import MultiSimilarityLoss as Reference

    embeddings, labels = torch.randn(4, 3, generator=torch.Generator().manual_seed(1)), torch.tensor([0, 0, 1, 1])
    triplets = torch.tensor([0, 0]), torch.tensor([1, 1]), torch.tensor([2, 3])
    doubled = tuple(each.repeat(5) for each in triplets)
    reference = Reference(alpha=1, beta=60, base=0.5)
    assert reference(embeddings, labels, doubled) == reference(embeddings, labels, triplets)
    same(LOSS(embeddings, benchmark.pairs_of(triplets, 4)), reference(embeddings, labels, triplets), 1e-6)


def test_a_single_triplet_is_not_learned_from() -> None:
    # The reference takes no loss of one triplet; SapBERT was trained so.
    batch = Batch(torch.tensor([[1.0, 0.0], [0.6, 0.8], [0.5, 1.0]]).double(), torch.tensor([0, 0, 1]), margin=-0.6)
    expected = benchmark.reference(batch)
    assert (int(expected.pairs.positive.sum()), int(expected.pairs.negative.sum())) == (1, 1)
    assert expected.loss == 0
    loss, gradient = with_gradient(batch.embeddings, expected.pairs)
    assert loss == 0
    assert not gradient.any()


def test_without_pairs_it_is_zero_and_has_a_gradient_of_zero() -> None:
    nothing = torch.zeros(4, 4, dtype=torch.bool)
    loss, gradient = with_gradient(torch.randn(4, 3), RowPairs(nothing, nothing))
    assert loss == 0
    assert not gradient.any()


def test_an_anchor_without_pairs_still_counts_in_the_mean() -> None:
    embeddings, labels = torch.eye(3), torch.tensor([0, 0, 1])
    pairs = all_pairs(labels)
    pairs.negative.fill_(False)
    same(LOSS(embeddings, pairs), 2 / 3 * np.log(1 + np.exp(0.5)), 1e-6)


def test_a_step_downhill_draws_positives_together_and_pushes_negatives_apart() -> None:
    embeddings = torch.randn(6, 4, generator=torch.Generator().manual_seed(3))
    pairs, nothing = all_pairs(torch.arange(3).repeat(2)), torch.zeros(6, 6, dtype=torch.bool)
    before = cosines(embeddings)
    _, gradient = with_gradient(embeddings, RowPairs(pairs.positive, nothing))
    assert cosines(embeddings - 0.1 * gradient)[pairs.positive].mean() > before[pairs.positive].mean()
    _, gradient = with_gradient(embeddings, RowPairs(nothing, pairs.negative))
    assert cosines(embeddings - 0.1 * gradient)[pairs.negative].max() < before[pairs.negative].max()


def test_gradients_are_finite_at_extremes() -> None:
    for dtype in (torch.float32, torch.bfloat16):
        for embeddings in (
            torch.ones(6, 4),
            torch.eye(6),
            torch.cat((torch.ones(3, 4), -torch.ones(3, 4))),
            1e4 * torch.eye(6),
        ):
            loss, gradient = with_gradient(embeddings.to(dtype), all_pairs(torch.arange(3).repeat(2)))
            assert loss.dtype == torch.float32
            assert bool(loss.isfinite())
            assert bool(gradient.isfinite().all())
    assert MultiSimilarityLoss(alpha=1e4, beta=1e4)(torch.ones(4, 2), all_pairs(torch.tensor([0, 0, 1, 1]))).isfinite()


def test_it_is_taken_at_full_precision() -> None:
    batch = next(benchmark.iter_batches(1))
    embeddings, pairs = batch.embeddings.float(), all_pairs(batch.labels)
    expected = LOSS(embeddings, pairs)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert LOSS(embeddings, pairs) == expected
    assert LOSS(embeddings.bfloat16(), pairs) == LOSS(embeddings.bfloat16().float(), pairs)


@pytest.mark.parametrize("options", [{"alpha": 0.0}, {"beta": -1.0}, {"beta": float("inf")}, {"alpha": float("nan")}])
def test_what_would_push_the_wrong_way_is_refused(options: dict[str, float]) -> None:
    with pytest.raises(ConfigError) as refused:
        MultiSimilarityLoss(**options)
    assert refused.value.code == "config-invalid"


def test_pairs_of_another_batch_are_refused() -> None:
    with pytest.raises(ValueError, match="rows"):
        LOSS(torch.eye(4), all_pairs(torch.tensor([0, 0, 1])))

"""Tests of the losses of embeddings, compared with pytorch-metric-learning and closed forms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from benchmarks.speed import miner as benchmark
from benchmarks.speed.miner import Batch, Found
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from onym.errors import ConfigError
from onym.train.dense.trainer import ContrastiveLoss, MultiSimilarityLoss, RowPairs, all_pairs, hard_pairs
from tests.train.closed import backward, same

MARGINS = st.sampled_from([0.2, 0.0, -0.3, 1.0])
SEEDS = st.integers(0, 2**31)
LOSS = MultiSimilarityLoss()


def brute_force(embeddings: Tensor, labels: Tensor, margin: float, same: Tensor | None) -> RowPairs:
    """Find hard pairs by enumerating all triplets."""
    rows = len(labels)
    distances = torch.cdist(*2 * (torch.nn.functional.normalize(embeddings),)).tolist()
    pairs = RowPairs(torch.zeros(rows, rows, dtype=torch.bool), torch.zeros(rows, rows, dtype=torch.bool))
    for a in range(rows):
        for p in range(rows):
            for n in range(rows):
                is_triplet = a != p and bool(labels[a] == labels[p]) and bool(labels[a] != labels[n])
                if same is not None and (same[a, p] or same[a, n]):
                    is_triplet = False
                if is_triplet and distances[a][n] - distances[a][p] <= margin:
                    pairs.positive[a, p] = pairs.negative[a, n] = True
    return pairs


def draw_batch(seed: int, rows: int, concepts: int, *, is_lattice: bool) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    corners = torch.randint(2, (rows, 3), generator=generator).double() * 2 - 1
    embeddings = corners if is_lattice else torch.randn(rows, 3, generator=generator, dtype=torch.float64)
    same = torch.rand(rows, rows, generator=generator) < 0.2
    return embeddings, torch.randint(concepts, (rows,), generator=generator), same | same.T


def require_equal(found: RowPairs, expected: RowPairs) -> None:
    assert torch.equal(found.positive, expected.positive)
    assert torch.equal(found.negative, expected.negative)


@given(SEEDS, st.integers(1, 8), st.integers(1, 4), MARGINS, st.booleans(), st.booleans())
def test_hard_pairs_match_brute_force(
    seed: int, rows: int, concepts: int, margin: float, is_lattice: bool, has_same: bool
) -> None:
    embeddings, labels, drawn_same = draw_batch(seed, rows, concepts, is_lattice=is_lattice)
    same = drawn_same if has_same else None
    found = hard_pairs(embeddings, labels, margin=margin, same=same)
    require_equal(found, brute_force(embeddings, labels, margin, same))


def test_hard_pairs_match_pytorch_metric_learning() -> None:
    batches = list(benchmark.iter_batches(70, seed=1))
    for batch in batches:
        found = hard_pairs(batch.embeddings, batch.labels, margin=batch.margin)
        require_equal(found, benchmark.reference(batch).pairs)
    kept = [hard_pairs(batch.embeddings, batch.labels, margin=batch.margin) for batch in batches]
    shares = [
        float(pairs.negative.sum() / all_pairs(batch.labels).negative.sum()) for pairs, batch in zip(kept, batches, strict=True)
    ]
    assert any(0.1 < share < 0.9 for share in shares), "the test needs batches in which some but not all pairs are hard"


def test_pair_exactly_at_the_margin_is_hard() -> None:
    embeddings, labels = torch.eye(3, dtype=torch.float64), torch.tensor([0, 0, 1])
    assert hard_pairs(embeddings, labels, margin=0.0).positive.sum() == 2
    assert hard_pairs(embeddings, labels, margin=-1e-12).positive.sum() == 0


@pytest.mark.parametrize("labels", [[5, 5, 5], [1, 2, 3], [4]])
def test_no_hard_pairs_without_negatives_or_positives(labels: list[int]) -> None:
    pairs = hard_pairs(torch.ones(len(labels), 4), torch.tensor(labels))
    assert not pairs.positive.any()
    assert not pairs.negative.any()


def test_same_pairs_are_ignored_by_the_miner() -> None:
    # The second row has the same vector as the first but another label; the other rows are far away.
    embeddings = torch.tensor([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.9, 0.1, 0.0], [-1.0, 0.0, 0.0]])
    labels = torch.tensor([0, 1, 0, 2])
    assert hard_pairs(embeddings, labels).positive[0, 2]
    same = torch.zeros(4, 4, dtype=torch.bool)
    same[[0, 1, 1, 2], [1, 0, 2, 1]] = True
    pairs = hard_pairs(embeddings, labels, same=same)
    assert not pairs.positive.any()
    assert not pairs.negative.any()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_miner_casts_to_fp32(dtype: torch.dtype) -> None:
    batch = next(benchmark.iter_batches(1))
    embeddings = batch.embeddings.to(dtype)
    expected = hard_pairs(embeddings.float(), batch.labels)
    require_equal(hard_pairs(embeddings, batch.labels), expected)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        require_equal(hard_pairs(embeddings.float(), batch.labels), expected)


def test_hard_pairs_do_not_depend_on_vector_norms() -> None:
    batch = next(benchmark.iter_batches(1))
    longer = replace(batch, embeddings=batch.embeddings * 2.0 ** torch.arange(len(batch.labels))[:, None].double().remainder(5))
    require_equal(hard_pairs(longer.embeddings, batch.labels), hard_pairs(batch.embeddings, batch.labels))


def test_rejects_masks_that_would_broadcast() -> None:
    good, numbers = torch.zeros(3, 3, dtype=torch.bool), torch.zeros(3, 3)
    for wrong in (good[:1], good[0], good[:2, :2], torch.zeros(3, 1, dtype=torch.bool)):
        with pytest.raises(ValueError, match="must both have the shape"):
            RowPairs(good, wrong)
        with pytest.raises(ValueError, match="boolean mask"):
            all_pairs(torch.tensor([1, 2, 3]), same=wrong)
    with pytest.raises(ValueError, match="must both have the shape"):
        RowPairs(good[:1], good[:1])
    with pytest.raises(ValueError, match="boolean"):
        RowPairs(good, numbers)
    with pytest.raises(ValueError, match="boolean"):
        all_pairs(torch.tensor([1, 2, 3]), same=numbers)


def compute_closed_form(embeddings: Tensor, pairs: RowPairs, alpha: float, beta: float, base: float) -> float:
    """Compute SapBERT's equation 2 with plain sums, with alpha for positives as in its code."""
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
def test_multi_similarity_matches_closed_form(alpha: float, beta: float, base: float) -> None:
    for batch in benchmark.iter_batches(2, seed=2):
        for pairs in (all_pairs(batch.labels), hard_pairs(batch.embeddings, batch.labels)):
            found = MultiSimilarityLoss(alpha, beta, base)(batch.embeddings, pairs)
            same(found, compute_closed_form(batch.embeddings, pairs, alpha, beta, base), 1e-9)


def test_multi_similarity_and_gradient_match_reference() -> None:
    assert benchmark.worst_delta(benchmark.iter_batches(140, seed=2), benchmark.own, benchmark.reference) <= 1e-9


def test_benchmark_detects_wrong_implementations() -> None:
    def wrong_loss(batch: Batch) -> Found:
        return replace(benchmark.own(batch), loss=torch.tensor(0.3))

    def wrong_pairs(batch: Batch) -> Found:
        return replace(benchmark.own(batch), pairs=all_pairs(batch.labels))

    def no_number(batch: Batch) -> Found:
        return replace(benchmark.own(batch), gradient=torch.full_like(batch.embeddings, torch.nan))

    for wrong, least in ((wrong_loss, 0.1), (wrong_pairs, torch.inf), (no_number, torch.inf)):
        assert benchmark.worst_delta(benchmark.iter_batches(7), wrong, benchmark.reference) >= least


def test_pair_in_several_triplets_counts_once() -> None:
    from pytorch_metric_learning.losses import MultiSimilarityLoss as Reference

    embeddings, labels = torch.randn(4, 3, generator=torch.Generator().manual_seed(1)), torch.tensor([0, 0, 1, 1])
    triplets = torch.tensor([0, 0]), torch.tensor([1, 1]), torch.tensor([2, 3])
    doubled = tuple(each.repeat(5) for each in triplets)
    reference = Reference(alpha=1, beta=60, base=0.5)
    assert reference(embeddings, labels, doubled) == reference(embeddings, labels, triplets)
    same(LOSS(embeddings, benchmark.pairs_of(triplets, 4)), reference(embeddings, labels, triplets), 1e-6)


def test_loss_of_a_single_triplet_is_zero() -> None:
    # The reference implementation, which SapBERT was trained with, returns 0 for a single triplet.
    batch = Batch(torch.tensor([[1.0, 0.0], [0.6, 0.8], [0.5, 1.0]]).double(), torch.tensor([0, 0, 1]), margin=-0.6)
    expected = benchmark.reference(batch)
    assert (int(expected.pairs.positive.sum()), int(expected.pairs.negative.sum())) == (1, 1)
    assert expected.loss == 0
    loss, gradient = with_gradient(batch.embeddings, expected.pairs)
    assert loss == 0
    assert not gradient.any()


def test_loss_and_gradient_are_zero_without_pairs() -> None:
    nothing = torch.zeros(4, 4, dtype=torch.bool)
    loss, gradient = with_gradient(torch.randn(4, 3), RowPairs(nothing, nothing))
    assert loss == 0
    assert not gradient.any()


def test_mean_includes_anchors_without_pairs() -> None:
    embeddings, labels = torch.eye(3), torch.tensor([0, 0, 1])
    pairs = all_pairs(labels)
    pairs.negative.fill_(False)
    same(LOSS(embeddings, pairs), 2 / 3 * np.log(1 + np.exp(0.5)), 1e-6)


def test_gradient_step_pulls_positives_and_pushes_negatives() -> None:
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


def test_loss_is_computed_in_fp32() -> None:
    batch = next(benchmark.iter_batches(1))
    embeddings, pairs = batch.embeddings.float(), all_pairs(batch.labels)
    expected = LOSS(embeddings, pairs)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert LOSS(embeddings, pairs) == expected
    assert LOSS(embeddings.bfloat16(), pairs) == LOSS(embeddings.bfloat16().float(), pairs)


@pytest.mark.parametrize("options", [{"alpha": 0.0}, {"beta": -1.0}, {"beta": float("inf")}, {"alpha": float("nan")}])
def test_rejects_invalid_hyper_parameters(options: dict[str, float]) -> None:
    with pytest.raises(ConfigError) as refused:
        MultiSimilarityLoss(**options)
    assert refused.value.code == "config-invalid"


def test_rejects_pairs_of_another_batch() -> None:
    with pytest.raises(ValueError, match="rows"):
        LOSS(torch.eye(4), all_pairs(torch.tensor([0, 0, 1])))


def make_batch(rows: int = 12, concepts: int = 4, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(seed)
    return torch.randn(rows, 5, dtype=torch.float64), torch.randint(concepts, (rows,))


@pytest.mark.parametrize("scale", [1.0, 20.0])
@pytest.mark.parametrize("seed", range(5))
def test_contrastive_matches_closed_form(scale: float, seed: int) -> None:
    embeddings, labels = make_batch(seed=seed)
    vectors = torch.nn.functional.normalize(embeddings).numpy()
    rows = []
    for row, anchor in enumerate(vectors):
        scores = scale * vectors @ anchor
        negatives = [scores[other] for other in range(len(labels)) if labels[other] != labels[row]]
        own = [
            np.log(1 + sum(np.exp(score - scores[other]) for score in negatives))
            for other in range(len(labels))
            if labels[other] == labels[row] and other != row
        ]
        if own:
            rows.append(np.mean(own))
    found = ContrastiveLoss(scale)(embeddings, all_pairs(labels))
    assert found.item() == pytest.approx(float(np.mean(rows)), abs=1e-9)


def test_contrastive_with_one_positive_is_cross_entropy() -> None:
    embeddings, _ = make_batch(rows=8)
    labels = torch.arange(4).repeat(2)
    unit = torch.nn.functional.normalize(embeddings)
    scores = (20.0 * unit @ unit.T).fill_diagonal_(-torch.inf)
    wanted = torch.nn.functional.cross_entropy(scores, (torch.arange(8) + 4) % 8)
    torch.testing.assert_close(ContrastiveLoss()(embeddings, all_pairs(labels)), wanted)


def test_contrastive_gradients_are_finite_without_pairs() -> None:
    for labels in (torch.arange(6), torch.zeros(6, dtype=torch.long)):
        embeddings = make_batch(rows=6)[0].requires_grad_()
        loss = ContrastiveLoss()(embeddings, all_pairs(labels))
        assert loss.item() == 0.0
        backward(loss)
        assert embeddings.grad is not None
        assert torch.isfinite(embeddings.grad).all()


def test_contrastive_casts_bf16_to_fp32() -> None:
    embeddings, labels = make_batch()
    assert ContrastiveLoss()(embeddings.bfloat16(), all_pairs(labels)).dtype == torch.float32


@pytest.mark.parametrize("scale", [0.0, -1.0, float("inf"), float("nan")])
def test_rejects_invalid_scale(scale: float) -> None:
    with pytest.raises(ConfigError, match="config-invalid"):
        ContrastiveLoss(scale)

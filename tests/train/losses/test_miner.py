"""Hard pairs are those of every hard triplet, one by one, and those of pytorch-metric-learning."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from benchmarks.speed import miner as benchmark
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from onym.train.losses.miner import RowPairs, all_pairs, hard_pairs

MARGINS = st.sampled_from([0.2, 0.0, -0.3, 1.0])
SEEDS = st.integers(0, 2**31)


def brute_force(embeddings: Tensor, labels: Tensor, margin: float, same: Tensor | None) -> RowPairs:
    """Look at every triplet."""
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


def drawn(seed: int, rows: int, concepts: int, *, is_lattice: bool) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    corners = torch.randint(2, (rows, 3), generator=generator).double() * 2 - 1
    embeddings = corners if is_lattice else torch.randn(rows, 3, generator=generator, dtype=torch.float64)
    same = torch.rand(rows, rows, generator=generator) < 0.2
    return embeddings, torch.randint(concepts, (rows,), generator=generator), same | same.T


def require_equal(found: RowPairs, expected: RowPairs) -> None:
    assert torch.equal(found.positive, expected.positive)
    assert torch.equal(found.negative, expected.negative)


@given(SEEDS, st.integers(1, 8), st.integers(1, 4), MARGINS, st.booleans(), st.booleans())
def test_they_stand_in_hard_triplets(
    seed: int, rows: int, concepts: int, margin: float, is_lattice: bool, has_same: bool
) -> None:
    embeddings, labels, drawn_same = drawn(seed, rows, concepts, is_lattice=is_lattice)
    same = drawn_same if has_same else None
    found = hard_pairs(embeddings, labels, margin=margin, same=same)
    require_equal(found, brute_force(embeddings, labels, margin, same))


def test_they_are_those_of_the_reference() -> None:
    batches = list(benchmark.iter_batches(70, seed=1))
    for batch in batches:
        found = hard_pairs(batch.embeddings, batch.labels, margin=batch.margin)
        require_equal(found, benchmark.reference(batch).pairs)
    kept = [hard_pairs(batch.embeddings, batch.labels, margin=batch.margin) for batch in batches]
    shares = [
        float(pairs.negative.sum() / all_pairs(batch.labels).negative.sum()) for pairs, batch in zip(kept, batches, strict=True)
    ]
    assert any(0.1 < share < 0.9 for share in shares), "where all or nothing is hard, nothing is tested"


def test_a_margin_that_is_met_exactly_is_hard() -> None:
    embeddings, labels = torch.eye(3, dtype=torch.float64), torch.tensor([0, 0, 1])
    assert hard_pairs(embeddings, labels, margin=0.0).positive.sum() == 2
    assert hard_pairs(embeddings, labels, margin=-1e-12).positive.sum() == 0


@pytest.mark.parametrize("labels", [[5, 5, 5], [1, 2, 3], [4]])
def test_without_negatives_or_positives_nothing_is_hard(labels: list[int]) -> None:
    pairs = hard_pairs(torch.ones(len(labels), 4), torch.tensor(labels))
    assert not pairs.positive.any()
    assert not pairs.negative.any()


def test_pairs_that_may_be_the_same_neither_count_nor_make_others_hard() -> None:
    # The second row is at the place of the first, under another label; the others are far off.
    embeddings = torch.tensor([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.9, 0.1, 0.0], [-1.0, 0.0, 0.0]])
    labels = torch.tensor([0, 1, 0, 2])
    assert hard_pairs(embeddings, labels).positive[0, 2]
    same = torch.zeros(4, 4, dtype=torch.bool)
    same[[0, 1, 1, 2], [1, 0, 2, 1]] = True
    pairs = hard_pairs(embeddings, labels, same=same)
    assert not pairs.positive.any()
    assert not pairs.negative.any()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_raised(dtype: torch.dtype) -> None:
    batch = next(benchmark.iter_batches(1))
    embeddings = batch.embeddings.to(dtype)
    expected = hard_pairs(embeddings.float(), batch.labels)
    require_equal(hard_pairs(embeddings, batch.labels), expected)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        require_equal(hard_pairs(embeddings.float(), batch.labels), expected)


def test_lengths_of_vectors_do_not_matter() -> None:
    batch = next(benchmark.iter_batches(1))
    longer = replace(batch, embeddings=batch.embeddings * 2.0 ** torch.arange(len(batch.labels))[:, None].double().remainder(5))
    require_equal(hard_pairs(longer.embeddings, batch.labels), hard_pairs(batch.embeddings, batch.labels))


def test_masks_that_would_be_broadcast_are_refused() -> None:
    good, numbers = torch.zeros(3, 3, dtype=torch.bool), torch.zeros(3, 3)
    for wrong in (good[:1], good[0], good[:2, :2], torch.zeros(3, 1, dtype=torch.bool)):
        with pytest.raises(ValueError, match="one shape"):
            RowPairs(good, wrong)
        with pytest.raises(ValueError, match="mask of all pairs"):
            all_pairs(torch.tensor([1, 2, 3]), same=wrong)
    with pytest.raises(ValueError, match="one shape"):
        RowPairs(good[:1], good[:1])
    with pytest.raises(ValueError, match="boolean"):
        RowPairs(good, numbers)
    with pytest.raises(ValueError, match="boolean"):
        all_pairs(torch.tensor([1, 2, 3]), same=numbers)

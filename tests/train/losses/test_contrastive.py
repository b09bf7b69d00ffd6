"""The contrastive loss is its closed form, and cross-entropy where each row has one positive."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from onym.errors import ConfigError
from onym.train.losses.contrastive import ContrastiveLoss
from onym.train.losses.miner import all_pairs
from tests.train.losses.closed import backward


def made(rows: int = 12, concepts: int = 4, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(seed)
    return torch.randn(rows, 5, dtype=torch.float64), torch.randint(concepts, (rows,))


@pytest.mark.parametrize("scale", [1.0, 20.0])
@pytest.mark.parametrize("seed", range(5))
def test_it_is_its_closed_form(scale: float, seed: int) -> None:
    embeddings, labels = made(seed=seed)
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


def test_with_one_positive_it_is_cross_entropy() -> None:
    embeddings, _ = made(rows=8)
    labels = torch.arange(4).repeat(2)
    unit = torch.nn.functional.normalize(embeddings)
    scores = (20.0 * unit @ unit.T).fill_diagonal_(-torch.inf)
    wanted = torch.nn.functional.cross_entropy(scores, (torch.arange(8) + 4) % 8)
    torch.testing.assert_close(ContrastiveLoss()(embeddings, all_pairs(labels)), wanted)


def test_gradients_are_numbers_where_there_are_no_pairs() -> None:
    for labels in (torch.arange(6), torch.zeros(6, dtype=torch.long)):
        embeddings = made(rows=6)[0].requires_grad_()
        loss = ContrastiveLoss()(embeddings, all_pairs(labels))
        assert loss.item() == 0.0
        backward(loss)
        assert embeddings.grad is not None
        assert torch.isfinite(embeddings.grad).all()


def test_bfloat16_is_raised() -> None:
    embeddings, labels = made()
    assert ContrastiveLoss()(embeddings.bfloat16(), all_pairs(labels)).dtype == torch.float32


@pytest.mark.parametrize("scale", [0.0, -1.0, float("inf"), float("nan")])
def test_a_scale_that_makes_no_sense(scale: float) -> None:
    with pytest.raises(ConfigError, match="config-invalid"):
        ContrastiveLoss(scale)

"""The multi-similarity loss: Wang et al. (2019), as SapBERT uses it."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import torch
from torch import Tensor
from torch.nn import functional

from onym.errors import ConfigError
from onym.train.losses.log_probs import at_least_fp32
from onym.train.losses.miner import RowPairs


@dataclass(frozen=True, slots=True)
class MultiSimilarityLoss:
    """Draws the rows of positive pairs together and pushes those of negative ones apart, by their cosine.

    Optimises    log(1 + sum over positives of e^(-alpha (S - base))) / alpha
                 + log(1 + sum over negatives of e^(beta (S - base))) / beta, averaged over all rows as anchors
    Needs        embeddings (rows, width), of any length, and pairs of the rows
    When to use  for encoders, over `hard_pairs`; the defaults are those of SapBERT's code
    Related      SapBERT's equation 2, in which alpha and beta have changed places; `MultiSimilarityLoss` of
                 pytorch-metric-learning: a pair counts once, in however many hard triplets it stands

    >>> from onym.train.losses.miner import all_pairs
    >>> pairs = all_pairs(torch.tensor([7, 7, 8]))
    >>> loss = MultiSimilarityLoss()
    >>> far, near = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.1]]), torch.tensor([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]])
    >>> loss(far, pairs), loss(near, pairs)
    (tensor(0.9794), tensor(0.3173))
    """

    alpha: float = 1.0
    beta: float = 60.0
    base: float = 0.5

    def __post_init__(self) -> None:
        """Refuse what would push the wrong way, or not at all."""
        for name, value in (("alpha", self.alpha), ("beta", self.beta)):
            if not 0 < value < inf:
                raise ConfigError("config-invalid", f"{name} is {value}", fix="give a number that is more than 0")

    def __call__(self, embeddings: Tensor, pairs: RowPairs) -> Tensor:
        """Return the loss () of a batch, float32 at least; 0 where there are no pairs."""
        if pairs.positive.shape[0] != len(embeddings):
            raise ValueError(f"the pairs are of {pairs.positive.shape[0]} rows, and there are {len(embeddings)} embeddings")
        # In bfloat16 a cosine is wrong by up to 0.002, which beta makes 0.1 in the exponent.
        with torch.autocast(embeddings.device.type, enabled=False):
            unit = functional.normalize(at_least_fp32(embeddings))
            over = unit @ unit.T - self.base  # (rows, rows)
            together = _log_one_more(-self.alpha * over, pairs.positive) / self.alpha
            apart = _log_one_more(self.beta * over, pairs.negative) / self.beta
            # A single triplet is not learned from: so it is in the loss with which SapBERT was trained.
            is_single = (pairs.positive.sum() <= 1) & (pairs.negative.sum() <= 1)
            return (together + apart).mean().masked_fill(is_single, 0.0)


def _log_one_more(exponents: Tensor, mask: Tensor) -> Tensor:
    """Return log(1 + sum of e^exponents) (rows,) over the pairs of the mask."""
    # The one more is e^0 on the diagonal, where there is no pair: no column has to be joined to the matrix.
    return exponents.masked_fill(~mask, -inf).fill_diagonal_(0.0).logsumexp(1)
